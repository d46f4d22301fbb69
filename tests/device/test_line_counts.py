"""Executions and enabled channels of each instruction: as the debugger sees them, for any number of workers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gen4emu._native import ffi, lib
from gen4emu.core_enums import BreakKind, DebugAction, DebugKind
from gen4emu.device.device import Device
from gen4emu.device.observer import Breakpoint, Subscription
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.hw.chips import device_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.isa import assemble, disassemble
from gen4emu.trace import open as open_trace
from tests.harness import messages
from tests.harness.counted_replays import CAPTURES, SQUARE, TRACES, count_lines, counted, uncounted_pictures
from tests.harness.replacement_shaders import FLAT_8, FLAT_16, WRITE_8, WRITE_16, Shader
from tests.harness.scene import Scene

END = f"send(8) 0 null<1>UW g0<8,8,1>UW {messages.WRITE_8} write {{ align1 EOT }};"


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.removesuffix(".aub.xz"))
def test_lines_add_up_to_the_instructions_of_the_draws(path: Path) -> None:
    kernels, draws, pictures = counted(path, workers=1)
    total = sum(line.executions for kernel in kernels for line in kernel.lines.values())
    if any(draw.counters.media.media_objects for draw in draws):
        # media kernels call code beyond their end; `instructions` has one more for each piece of it that is decoded
        assert any(kernel.elsewhere for kernel in kernels)
        total += sum(kernel.elsewhere for kernel in kernels)
        assert 0 <= sum(draw.counters.instructions for draw in draws) - total < 20
    else:
        assert all(kernel.elsewhere == 0 for kernel in kernels)
        assert total == sum(draw.counters.instructions for draw in draws)
    assert pictures == uncounted_pictures(path)
    for workers, general in ((2, False), (3, False), (1, True)):
        assert counted(path, workers=workers, general_only=general) == (kernels, draws, pictures)


class Stepped:
    """Counts every instruction at which the debugger stops a thread."""

    def __init__(self) -> None:
        self.executions: Counter[tuple[int, int]] = Counter()
        self.masks: Counter[tuple[int, int, int, int]] = Counter()  # with the channels and flags at that moment
        self.state = ffi.new("struct g4_debug_state *")
        self.device: Device | None = None

    def start(self, device: Device) -> None:
        self.device = device
        device.observer.add(Subscription(breakpoints=[Breakpoint(BreakKind.EVERY)],
                                         handlers={DebugKind.INSTRUCTION: self.stop}))

    def stop(self, event: Any) -> DebugAction:
        assert self.device is not None and lib.g4_debug_read_thread(self.device.native, self.state)
        s = self.state
        place = event.thread.kernel, event.address - event.thread.kernel
        self.executions[place] += 1
        self.masks[*place, s.amask & s.imask & s.lmask & s.cmask, s.flags & 0xFFFF] += 1
        return DebugAction.GO


def is_plain(text: str) -> bool:
    return not re.search(r"sechalf|[2-4]Q|2H|^\([+-]f0\.0\.|^nenop", text)


def enabled(text: str, mask: int, flags: int) -> int:
    """The enabled channels of an instruction of the first half, with an ordinary predicate."""
    found = re.match(r"(?:\(([+-])f0\.0\) )?(\w+)(?:\.\S+)? *\((\d+)\)", text)
    assert found is not None, text
    sign, opcode, size = found[1], found[2], int(found[3])
    channels = (0xFFFF if re.search("nomask|WE_all", text) else mask) & ((1 << size) - 1)
    if sign and opcode not in ("sel", "if", "iff", "else", "while", "break", "cont", "halt", "jmpi"):
        channels &= flags if sign == "+" else ~flags
    return channels.bit_count()


@pytest.mark.parametrize("name", ["triangle-g4x", "triangle-brw", "later/triangle-ivb", "later/triangle-hsw"])
def test_counts_are_those_of_the_debugger(name: str) -> None:
    path = TRACES / f"{name}.aub.xz"
    kernels, _, _ = counted(path, workers=2)
    stepped = Stepped()
    run = Replay(open_trace(str(path)), None, Options(workers=1), on_start=stepped.start)
    for _ in run.frames():
        pass
    assert run.device is not None
    gen = run.device.info.gen
    codes = {kernel: [k for k in kernels if run.device.memory.read(kernel, len(k.code)) == k.code]
             for kernel in {place[0] for place in stepped.executions}}
    assert all(len(found) == 1 for found in codes.values())
    executions = {(codes[kernel][0].code, offset): count for (kernel, offset), count in stepped.executions.items()}
    assert executions == {(k.code, offset): line.executions for k in kernels for offset, line in k.lines.items()}
    checked = 0
    texts = {k.code: {line.offset: line.text for line in disassemble(k.code, gen, end=len(k.code))} for k in kernels}
    channels: Counter[tuple[bytes, int]] = Counter()
    for (kernel, offset, mask, flags), count in stepped.masks.items():
        code = codes[kernel][0].code
        if is_plain(texts[code][offset]):
            channels[code, offset] += count * enabled(texts[code][offset], mask, flags)
    for k in kernels:
        for offset, line in k.lines.items():
            if is_plain(texts[k.code][offset]):
                assert channels[k.code, offset] == line.channels, texts[k.code][offset]
                checked += 1
    assert checked > 15
    run.close()


def test_a_loop_counts_the_channels_that_are_still_in_it() -> None:
    scene = Scene(options=Options(workers=2))
    scene.pixel_kernel = assemble("\n".join((
        "mov(8) g10<1>UD 0UD { align1 };",
        "mov(8) g11<1>UW 0x76543210V { align1 };",
        "mov(8) g12<1>UD g11<8,8,1>UW { align1 };",
        "do(8) { align1 };",
        "add(8) g10<1>UD g10<8,8,1>UD 1UD { align1 };",
        "cmp.ge.f0(8) null<1>UD g10<8,8,1>UD g12<8,8,1>UD { align1 };",
        "(-f0) while(8) -3 { align1 };",
        END)), Gen.CTG)
    count_lines(scene.device)
    scene.draw(SQUARE, T.RECTLIST)
    (kernel,) = (k for k in scene.device.kernel_counts() if k.code[:16] == scene.pixel_kernel[:16])
    lines = {line.offset: line.text for line in disassemble(kernel.code, Gen.CTG, end=len(kernel.code))}
    (add,) = (kernel.lines[offset] for offset, text in lines.items() if text.startswith("add(8)"))
    threads = kernel.lines[0].executions
    # channel n stays for max(1, n) turns: the longest 7, all together 1 + 1 + 2 + ... + 7
    assert threads > 0 and add.executions == 7 * threads and add.channels == 29 * threads


@pytest.mark.parametrize("general_only", [False, True])
def test_float_results_that_are_not_finite_are_counted(general_only: bool) -> None:
    scene = Scene(options=Options(workers=2, general_only=general_only))
    scene.pixel_kernel = assemble("\n".join((
        "mov(8) g10<1>UD 0x7f800000UD { align1 };",  # bits, not a float result
        "mov(8) g11<1>F g10<8,8,1>F { align1 };",
        "mul(8) g12<1>F g11<8,8,1>F 0F { align1 };",
        "mov(8) g14<1>UW 0x76543210V { align1 };",
        "mov(8) g15<1>F g14<8,8,1>UW { align1 };",
        "cmp.l.f0(8) null<1>F g15<8,8,1>F 0x40400000F { align1 };",
        "(+f0) mov(8) g12<1>F g10<8,8,1>F { align1 };",
        "add(8) g13<1>F g12<8,8,1>F g11<8,8,1>F { align1 };",
        END)), Gen.CTG)
    count_lines(scene.device)
    scene.draw(SQUARE, T.RECTLIST)
    (kernel,) = (k for k in scene.device.kernel_counts() if k.code[:16] == scene.pixel_kernel[:16])
    lines = [kernel.lines[line.offset] for line in disassemble(kernel.code, Gen.CTG, end=len(kernel.code))]
    threads = lines[0].executions
    found = [(line.nans // threads, line.infinities // threads) for line in lines]
    assert found == [(0, 0), (0, 8), (8, 0), (0, 0), (0, 0), (0, 0), (0, 3), (5, 3), (0, 0)]


def test_counting_has_to_be_on_before_lines_are_counted() -> None:
    with pytest.raises(ValueError, match="counting is off"):
        Scene().device.count_lines()


@pytest.mark.parametrize("device", ["ivb", "hsw"])
def test_instructions_with_doubles_are_counted(device: str) -> None:
    info = device_named(device)
    double = "add(4) g60<1>DF g60<4,4,1>DF g60<4,4,1>DF { align1 WE_all 1N };"
    codes = [assemble("\n".join([double, *flat, write]), info.gen)
             for flat, write in ((FLAT_8, WRITE_8), (FLAT_16, WRITE_16))]
    with Device(info, Options(workers=1)) as made:
        made.add_listener(Shader(made, (codes[0], codes[1])))
        count_lines(made)
        for event in open_trace(str(TRACES / "later" / f"triangle-{device}.aub.xz")):
            made.apply(event)
        kernels = {kernel.code: kernel for kernel in made.kernel_counts()}
    for code in codes:
        executions = {line.executions for line in kernels[code].lines.values()}
        assert len(executions) == 1 and executions != {0}
