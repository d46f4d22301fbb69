"""Runs damaged batches on whole devices: commands, state, kernels, surfaces, vertices with random changes.

    python tests/device/fuzz_batches.py --count N [--seed S] [--first I] [--only NAME] [--trace]

Subjects are small scenes, a batch of MI and BLT commands, a kernel that sends messages to everybody, and captures of a
real driver with their drawing rectangles made small.  Nothing but the project's own errors may come out, and every run
must end soon.  Each run depends on the seed and its number; `--trace` prints the number before each run, for those that
do not come back.  Run it on a core with sanitizers (native/build.py --sanitize) to see more.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parent.parent.parent))

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen8.media import GroupIdLoop
from gen4emu.hw.gen9.state import SharedLocalMemoryCode
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from gen4emu.trace.events import GttWrite, MemoryWrite, Submission
from gen4emu.trace.reader import open as open_trace
from tests.debugger.nosy import Nosy
from tests.harness import media_gen7
from tests.harness.commands import END, command, joined, load_register
from tests.harness.media_gen7 import block_header
from tests.harness.media_gen9 import MediaGen9, media_block, shared
from tests.harness.messages import ARRIVE, INVERSE, NO_VERTEX, WRITE_8, operand
from tests.harness.scene import BATCH, DEPTH, DEVICES, KERNELS, STATE, SURFACES, TARGET, VERTICES, Scene, vertex

ROOT = Path(__file__).parent.parent.parent
SLOW_SECONDS = 20.0
MOST_PAGES = 4096  # of one subject: what draws have written all over the place is forgotten then
INTERESTING = [0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7F800000, 0x7FC00000, 0xFF800000, 0x3F800000, 0x00010000]
OPTIONS = Options(workers=1, watchdog=1, max_batch_dwords=1 << 12)
DRAWING_RECTANGLE = command("3DSTATE_DRAWING_RECTANGLE")[0]
PARTS = {"brw": "965gm", "g4x": "gm45", "ivb": "ivb", "hsw": "hsw", "kbl": "kbl"}  # of captures: devices
CAPTURES = ("clear", "triangle", "texture", "blend", "stencil", "fbo", "sprites", "cubemap", "mandelbrot")


@dataclass(slots=True)
class Subject:
    """Something to run, and the memory in which it may be damaged."""

    name: str
    device: Device
    run: Callable[[], None]
    regions: list[tuple[int, bytes]]  # address, contents when sound
    places: list[list[int]] = field(default_factory=list)  # for each region, the offsets worth changing
    kernels: list[int] = field(default_factory=list)  # regions that hold messages

    def __post_init__(self) -> None:
        for _, data in self.regions:
            words = np.frombuffer(data[:len(data) & ~3], dtype="<u4")
            offsets = (np.flatnonzero(words) * 4).tolist()
            self.places.append(offsets or [0])


def scene_subject(name: str, scene: Scene, batch_bytes: int = 0x180) -> Subject:
    regions = [(STATE, 0x700), (SURFACES, 0x404), (KERNELS, 0x400), (KERNELS + 0x1000, 0x200),
               (KERNELS + 0x2000, 0x100), (BATCH, batch_bytes), (VERTICES, 0x80)]
    return Subject(name, scene.device, lambda: scene.device.run_batch(BATCH),
                   [(at, scene.memory.read(at, size, Missing.ZERO)) for at, size in regions], kernels=[2, 3, 4])


GIVE_BACK = f"""
mov(8) m0<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(8) m1<1>UD g1<8,8,1>UD {{ align1 nomask }};
send(8) 0 null<1>UD null<8,8,1>UD {NO_VERTEX} urb {{ align1 nomask EOT }};
"""
_SAMPLE = operand("SAMPLER_MESSAGE", length=4, response=4, binding_table_index=1)
_READ_OWORDS = operand("DATA_PORT_READ_MESSAGE", response=1, oword_block_size="OWORDS_2")
_READ_BLOCK = operand("DATA_PORT_READ_MESSAGE", length=2, response=1, message_type="MEDIA_BLOCK",
                      vertical_line_stride_override=True)
_WRITE_BLOCK = operand("DATA_PORT_WRITE_MESSAGE", length=2, message_type="MEDIA_BLOCK",
                       override_vertical_line_stride=True)
TO_EVERYBODY = f"""
mov(8) m1<1>UD g1<8,8,1>UD {{ align1 nomask }};
mov(8) m2<1>UD g2<8,8,1>UD {{ align1 nomask }};
mov(8) m3<1>F 0.5F {{ align1 }};
mov(8) m4<1>F 0.25F {{ align1 }};
send(8) 1 g20<1>F g3<8,8,1>F {INVERSE} math {{ align1 }};
send(8) 1 g24<1>UW g0<8,8,1>UW {_SAMPLE} sampler {{ align1 }};
send(8) 1 g28<1>UW g0<8,8,1>UW {_READ_OWORDS} read {{ align1 }};
send(8) 1 g32<1>UW g0<8,8,1>UW {_READ_BLOCK} read {{ align1 }};
send(8) 1 null<1>UW g0<8,8,1>UW {_WRITE_BLOCK} write {{ align1 }};
send(8) 1 null<1>UW g0<8,8,1>UW {operand("GATEWAY_MESSAGE")} gateway {{ align1 }};
send(8) 1 null<1>UW g0<8,8,1>UW {operand("URB_MESSAGE", length=2, swizzle_control="INTERLEAVED")} urb {{ align1 }};
send(8) 1 null<1>UW g0<8,8,1>UW {operand("NULL_MESSAGE")} null {{ align1 }};
send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8} write {{ align1 EOT }};
"""


def scenes() -> list[Subject]:
    made = []
    triangle = [vertex(1, 1), vertex(14, 2, 0.5), vertex(3, 13, 1.0)]
    clip = {"guardband_clip_test_enable": True, "viewport_z_clip_test_enable": True,
            "kernel_start_pointer": KERNELS + 0x2000, "number_of_urb_entries": 5, "urb_entry_allocation_size": 2}
    tests = {"depth_test_enable": True, "depth_test_function": 2, "depth_buffer_write_enable": True,
             "stencil_test_enable": True, "color_buffer_blend_enable": True, "alpha_test_enable": True,
             "alpha_test_function": 7}
    gs = {"kernel_start_pointer": KERNELS + 0x2000, "number_of_urb_entries": 5, "urb_entry_allocation_size": 2,
          "vertex_urb_entry_read_length": 1, "single_program_flow": True}
    kinds: dict[str, tuple[PrimitiveTopology, dict[str, dict[str, object]]]] = {
        "triangle": (PrimitiveTopology.TRILIST, {}),
        "clip": (PrimitiveTopology.TRILIST, {"clip": clip}),
        "tests": (PrimitiveTopology.TRIFAN, {"cc": tests}),
        "gs": (PrimitiveTopology.TRISTRIP, {"gs": gs}),
        "lines": (PrimitiveTopology.LINESTRIP, {"sf": {"line_width": 3.0}, "wm": {
            "line_stipple_enable": True, "line_antialiasing_region_width": 1}}),
        "points": (PrimitiveTopology.POINTLIST, {"sf": {"point_width": 4.0}}),
        "rectangle": (PrimitiveTopology.RECTLIST, {"wm": {"statistics_enable": True}}),
    }
    for gen in DEVICES:
        for name, (topology, blocks) in kinds.items():
            scene = Scene(gen, 16, 16, options=OPTIONS, depth_format=2, **blocks)
            scene.memory.write(KERNELS + 0x2000, assemble(GIVE_BACK, gen))
            scene.draw(triangle, topology)
            made.append(scene_subject(f"{name} {gen.name}", scene))
        scene = Scene(gen, 16, 16, options=OPTIONS)
        scene.pixel_kernel = assemble(TO_EVERYBODY, gen)
        scene.draw(triangle)
        made.append(scene_subject(f"messages {gen.name}", scene))
    return made


def blits(gen: Gen) -> Subject:
    """MI and BLT commands, one of each kind that has an effect."""
    device = Device(DEVICES[gen], OPTIONS)
    surface = {"write_alpha": True, "write_rgb": True, "color_depth": 3, "destination_pitch": 64,
               "destination_base_address": TARGET}
    box = {"destination_x1": 1, "destination_y1": 1, "destination_x2": 9, "destination_y2": 7}
    source = {"source_base_address": TARGET + 0x1000, "source_pitch": 64}
    fields: list[tuple[str, dict[str, object]]] = [
        ("XY_COLOR_BLT", surface | box | {"color": 0x55, "raster_operation": 0xF0}),
        ("XY_SRC_COPY_BLT", surface | box | source | {"raster_operation": 0xCC}),
        ("XY_FULL_BLT", surface | box | source | {"raster_operation": 0xCA, "pattern_address": TARGET}),
        ("XY_PAT_BLT", surface | box | {"raster_operation": 0x5A, "pattern_address": TARGET}),
        ("XY_MONO_SRC_COPY_BLT", surface | box | {"raster_operation": 0xCC, "source_bits_address": TARGET}),
        ("XY_SETUP_BLT", surface | {"raster_operation": 0xCC, "clip_x2": 16, "clip_y2": 16}),
        ("XY_TEXT_BLT", box | {"source_bits_address": TARGET}),
        ("XY_PIXEL_BLT", {"destination_x": 3, "destination_y": 4}),
        ("XY_SCANLINES_BLT", box),
        ("MI_STORE_DATA_IMM", {}), ("MI_STORE_REGISTER_MEM", {}), ("MI_FLUSH", {}),
        ("MI_SET_CONTEXT", {}), ("MI_USER_INTERRUPT", {}), ("MI_DISPLAY_FLIP", {}),
        ("PIPE_CONTROL", {"post_sync_operation": 1}), ("CONSTANT_BUFFER", {"valid": True}), ("URB_FENCE", {}),
        ("CS_URB_STATE", {}), ("STATE_SIP", {}), ("3DSTATE_CHROMA_KEY", {}),
        ("3DSTATE_LINE_STIPPLE", {}),
    ]
    words = load_register(device.registers.offset("IA_VERTICES_COUNT"), 5)
    for name, values in fields:
        layout = command_named(name, gen)
        known = {key: value for key, value in values.items() if key in layout.by_name(gen)}
        words += layout.pack(gen, **known)
    data = joined(words, END)
    device.memory.write(BATCH, data)
    device.memory.write(TARGET, bytes(range(256)) * 32)
    return Subject(f"blits {gen.name}", device, lambda: device.run_batch(BATCH), [(BATCH, data)])


# Dwords of shared memory are written and, after a barrier, read; a row of a surface is read, changed and written.
TAKE_TURNS = """mov(8) g10<1>UW 0x76543210V { align1 WE_all 1Q };
mov(8) g12<1>UD g10<8,8,1>UW { align1 WE_all 1Q };
shl(8) g12<1>UD g12<8,8,1>UD 2UD { align1 WE_all 1Q };
mov(8) g13<1>UD g0.1<0,1,0>UD { align1 WE_all 1Q };
""" + shared(True, 12) + f"""send(8) null<1>UD g0<8,8,1>UD {ARRIVE} gateway {{ align1 WE_all 1Q }};
wait(1) n0<1>UD {{ align1 WE_all 1N }};
""" + shared(False, 12, "g22") + block_header(20, "0UD", "g0.1<0,1,0>UW", 32, 1)
TAKE_TURNS += media_block(False, 0, 20, 1, "g21") + """add(8) g21<1>UD g21<8,8,1>UD g22<8,8,1>UD { align1 WE_all 1Q };
""" + media_block(True, 0, 20, 1) + media_gen7.END


def media_objects() -> Subject:
    """Media objects of Kaby Lake: groups, a walker with the scoreboard, and objects with all kinds of data."""
    media = MediaGen9("kbl", options=OPTIONS, constants=bytes(range(64)), scoreboard_enable=True, scoreboard_mask=3,
                      scoreboard_0_delta_x=-1, scoreboard_1_delta_y=-1)
    media.kernel(0, TAKE_TURNS, barrier_enable=True, number_of_threads_in_gpgpu_thread_group=2,
                 constant_urb_entry_read_length=1, shared_local_memory_size=SharedLocalMemoryCode.KIB_1)
    media.kernel(1, media_gen7.END)
    media.select()
    media.surface(0, media.far + media_gen7.PICTURES, 32, 16, 32)
    media.memory.write(media.far + media_gen7.PICTURES, bytes(512))
    for i in range(4):
        media.object((i, i), name="MEDIA_OBJECT_GRPID", groupid=i // 2, end_of_thread_group=bool(i & 1), scoreboard_x=i)
    media.object((1,), name="MEDIA_OBJECT_WALKER", global_loop_exec_count=3, local_loop_exec_count=3,
                 block_resolution_x=4, block_resolution_y=2, global_resolution_x=4, global_resolution_y=2,
                 local_outer_loop_stride_y=1, local_inner_loop_unit_x=2, global_outer_loop_stride_x=4,
                 global_inner_loop_unit_y=4, use_scoreboard=True, scoreboard_mask=2,
                 group_id_loop_select=GroupIdLoop.INNER_LOCAL_GROUPS)
    media.object((2, 3), bytes(range(48)), interface_descriptor_offset=1, use_scoreboard=True, scoreboard_mask=3)
    media.object(range(12), name="MEDIA_OBJECT_PRT", interface_descriptor_offset=1)
    data = media.commands
    media.execute()
    regions = [(media_gen7.BATCH, media.memory.read(media_gen7.BATCH, len(data) + 4))]
    regions += [(media.far + at, media.memory.read(media.far + at, size)) for at, size in (
        (media_gen7.DESCRIPTORS, 64), (media_gen7.KERNELS, 0x400), (media_gen7.SURFACES, 64),
        (media_gen7.KERNELS + media_gen7.KERNEL_ROOM, 0x40), (media_gen7.SURFACES + media_gen7.TABLE, 8))]
    return Subject("media kbl", media.device, lambda: media.device.run_batch(media_gen7.BATCH), regions, kernels=[2])


def capture(name: str, part: str) -> Subject | None:
    """A capture whose drawing rectangles end at 15, 15."""
    path = ROOT / "traces" / f"{name}-{part}.aub.xz"
    if not path.exists():
        return None
    device = Device(BY_NAME[PARTS[part]], OPTIONS)
    submission: Submission | None = None
    for event in open_trace(str(path)):
        if isinstance(event, MemoryWrite | GttWrite):
            device.apply(event)
        elif isinstance(event, Submission):
            if event.page_table is not None:
                device.page_tables.select(event.page_table)
            submission = replace(event, page_table=None)
    if submission is None:
        return None
    regions = []
    for address, size in device.memory.ranges():
        words = np.frombuffer(device.memory.read(address, size), dtype="<u4").copy()
        for at in np.flatnonzero(words == DRAWING_RECTANGLE).tolist():
            words[at + 2] = 15 << 16 | 15
        device.memory.write(address, words.tobytes())
        regions.append((address, words.tobytes()))
    run = submission
    return Subject(f"{name}-{part}", device, lambda: device.submit(run), regions)


def subjects() -> list[Subject]:
    captures = [capture(name, part) for name in CAPTURES for part in ("brw", "g4x")]
    captures += [capture("later/triangle", part) for part in ("ivb", "hsw", "kbl")]
    return [*scenes(), *(blits(gen) for gen in DEVICES), media_objects(), *(c for c in captures if c is not None)]


def damage(rng: random.Random, subject: Subject) -> list[int]:
    """One to six changed dwords, bits or bytes; the regions that are not sound any more."""
    touched = []
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        region = rng.randrange(len(subject.regions))
        address, good = subject.regions[region]
        places = subject.places[region]
        at = places[int(rng.random() * len(places))] if rng.random() < 0.8 else rng.randrange(len(good) // 4) * 4
        kind = rng.random()
        if region in subject.kernels and kind < 0.2:  # another message
            at |= 12
            value = rng.getrandbits(32) & 0x8FFFFFFF
        elif kind < 0.35:
            value = rng.choice(INTERESTING)
        elif kind < 0.7:
            value = int.from_bytes(good[at:at + 4], "little") ^ 1 << rng.randrange(32)
        elif kind < 0.85:
            value = rng.getrandbits(32)
        else:
            other = places[int(rng.random() * len(places))]
            value = int.from_bytes(good[other:other + 4], "little")
        subject.device.memory.write(address + min(at, len(good) - 4), value.to_bytes(4, "little"))
        touched.append(region)
    return touched


class Fuzzer:
    def __init__(self, seed: int, only: str = "", nosy: bool = False) -> None:
        self.seed = seed
        self.subjects = [s for s in subjects() if only in s.name]
        self.weights = [1.0 if s.kernels else 0.3 for s in self.subjects]
        self.errors = 0
        self.slowest = (0.0, 0, "")
        self.nosy = {s.name: Nosy(s.device) for s in self.subjects} if nosy else {}
        self.seconds: Counter[str] = Counter()
        self.runs: Counter[str] = Counter()

    def one(self, number: int) -> None:
        """Damage one subject, run it, mend it."""
        rng = random.Random(self.seed << 32 | number)
        subject = rng.choices(self.subjects, self.weights)[0]
        memory = subject.device.memory
        started = time.perf_counter()
        touched = damage(rng, subject)
        if subject.name in self.nosy:
            self.nosy[subject.name].change(self.seed << 32 | number)
        try:
            subject.run()
        except Gen4emuError:
            self.errors += 1
        # A draw may have written anywhere, which makes the next runs stranger; from time to time all is put right.
        whole = number % 8 == 0
        if lib.g4_mem_owned_pages(memory.handle) > MOST_PAGES:
            memory.clear()
            whole = True
        for i in range(len(subject.regions)) if whole else touched:
            memory.write(*subject.regions[i])
        if number % 64 == 0:
            memory.write(TARGET, bytes(0x2000))
            memory.write(DEPTH, bytes(0x1000))
            subject.device.reset()
        took = time.perf_counter() - started
        self.seconds[subject.name] += took
        self.runs[subject.name] += 1
        self.slowest = max(self.slowest, (took, number, subject.name))
        assert took < SLOW_SECONDS, f"run {number} ({subject.name}) took {took:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--only", default="", help="subjects whose name contains this")
    parser.add_argument("--debug", action="store_true", help="with a debugger that watches everything")
    parser.add_argument("--trace", action="store_true")
    args = parser.parse_args()
    fuzzer = Fuzzer(args.seed, args.only, nosy=args.debug)
    started = time.monotonic()
    for i in range(args.first, args.first + args.count):
        if args.trace:
            print(i, file=sys.stderr, flush=True)
        fuzzer.one(i)
        if (i + 1) % 10000 == 0:
            print(f"{i + 1} runs, {fuzzer.errors} with an error, {time.monotonic() - started:.0f} s", flush=True)
    for name, seconds in fuzzer.seconds.most_common():
        print(f"{name:24} {fuzzer.runs[name]:8} runs {1000 * seconds / fuzzer.runs[name]:8.3f} ms each")
    print(f"slowest: run {fuzzer.slowest[1]} of {fuzzer.slowest[2]}, {1000 * fuzzer.slowest[0]:.1f} ms")
    print(f"{args.count} runs, {fuzzer.errors} ended with an error, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
