"""Scenes for native/scene.c: what the core is given at a draw, a media object or a compute walker.

A `Recorder` takes the place of the core's functions while traces are replayed and tests run, and keeps the state, the
commands and the memory of each call.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gen4emu._native import ffi, lib
from gen4emu.check.execute import draw
from gen4emu.check.manifest import Case
from gen4emu.device import device as device_module
from gen4emu.device import stored_commands
from gen4emu.device.memory import PAGE_SIZE, PageFlags
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.chips import DEVICES
from gen4emu.hw.gen import Gen
from gen4emu.image.digest import Blake3

ROOT = Path(__file__).resolve().parents[2]
TRACES = [*sorted((ROOT / "traces").glob("*.xz")), *sorted((ROOT / "traces" / "programs").glob("*.xz")),
          *(ROOT / "traces" / "later" / f"triangle-{name}.aub.xz" for name in ("ivb", "hsw", "kbl"))]
TESTS = ("tests/geometry", "tests/compute", "tests/media/test_gen7.py", "tests/media/test_vld.py",
         "tests/media/test_is.py", "tests/media/test_spawner.py", "tests/media/test_spawner_gen7.py",
         "tests/media/test_gen9.py", "tests/media/test_generic.py", "tests/media/test_every_kernel.py",
         "tests/ff/test_hostile.py", "tests/ff/test_vf_gen9.py", "tests/ff/test_vertices_gen9.py",
         "tests/ff/test_stream_output_gen9.py", "tests/ff/test_depth_only_gen9.py",
         "tests/device/test_command_streamer_gen7.py")
ADDRESS_BITS = {chip.gen: chip.address_bits for chip in DEVICES}
RECORDED = {Gen.EL: Gen.CTG}  # parts whose scenes are those of another one
MAGIC = 0x53344734
DRAWS, MEDIA, COMPUTE, NONE = range(4)
OPTION_COMPARE, OPTION_HIERARCHICAL_DEPTH, OPTION_GUARDS = 2, 4, 8  # of native/scene.c
MOST_SCENES = 240  # of a kind: an input names one by a byte
MOST_PAGES = 500
MOST_WORDS = 4096
MOST_SIDE = 40  # of the drawing rectangle: general handlers with sanitizers are slow
STATE_BYTES = ffi.sizeof("struct g4_state")
STEP_BYTES = ffi.sizeof("struct g4_step")


@dataclass(slots=True)
class Streamer:
    """The commands that a streamer knows: the steps of each, and headers with number and size."""

    state: Any
    memory: Any
    steps: list[bytes] = field(default_factory=list)
    headers: dict[int, tuple[int, int]] = field(default_factory=dict)
    constants_absolute: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    kind: int
    address: int
    state: bytes
    words: bytes
    pages: dict[int, bytes]

    def encode(self) -> bytes:
        parts = [struct.pack("<4I", len(self.words) // 4, self.address, self.kind, len(self.pages)), self.state,
                 self.words, struct.pack(f"<{len(self.pages)}Q", *self.pages), *self.pages.values()]
        return b"".join(parts)


@dataclass(slots=True)
class Scenes:
    """The scenes of one generation."""

    gen: Gen
    streamer: Streamer | None = None
    scenes: dict[str, Scene] = field(default_factory=dict)  # by their digests

    def add(self, scene: Scene) -> None:
        if self.wants(scene.kind) and len(scene.pages) <= MOST_PAGES and len(scene.words) <= 4 * MOST_WORDS:
            self.scenes.setdefault(Blake3(scene.words + scene.state).hexdigest(), scene)

    def wants(self, kind: int) -> bool:
        return sum(scene.kind == kind for scene in self.scenes.values()) < MOST_SCENES

    def write(self, path: Path, gen: Gen, kind: int) -> None:
        """Write the scenes of a kind, as those of another part with the same layouts."""
        chosen = [scene.encode() for scene in self.scenes.values() if scene.kind == kind]
        steps = [] if self.streamer is None else self.streamer.steps
        headers = {} if self.streamer is None else self.streamer.headers
        absolute = self.streamer is not None and self.streamer.constants_absolute
        with path.open("wb") as file:
            file.write(struct.pack("<9I", MAGIC, gen, ADDRESS_BITS[gen], STATE_BYTES, STEP_BYTES, len(steps),
                                   len(headers), absolute, len(chosen)))
            for step in steps:
                file.write(struct.pack("<I", len(step) // STEP_BYTES) + step)
            for header, (number, dwords) in headers.items():
                file.write(struct.pack("<3I", header, number, dwords))
            file.writelines(chosen)


class Recorder:
    """The core's functions, of which some record their arguments."""

    def __init__(self) -> None:
        self.found: dict[Gen, Scenes] = {}
        self._streamers: dict[int, Streamer] = {}
        self._devices: dict[int, tuple[Gen, Any, Any]] = {}  # generation, memory, state in use

    def __getattr__(self, name: str) -> Any:
        return getattr(lib, name)

    @contextmanager
    def installed(self) -> Iterator[None]:
        modules: list[Any] = [device_module, stored_commands]
        for module in modules:
            module.lib = self
        try:
            yield
        finally:
            for module in modules:
                module.lib = lib

    # --- functions of the core ---
    def g4_device_new(self, memory: Any, gen: int, options: Any) -> Any:
        native = lib.g4_device_new(memory, gen, options)
        self._devices[_address(native)] = Gen(gen), memory, ffi.NULL
        return native

    def g4_device_use(self, native: Any, state: Any) -> None:
        gen, memory, _ = self._devices[_address(native)]
        self._devices[_address(native)] = gen, memory, state
        lib.g4_device_use(native, state)

    def g4_streamer_new(self, state: Any, port: Any) -> Any:
        native = lib.g4_streamer_new(state, port)
        self._streamers[_address(native)] = Streamer(state, port.mem)
        return native

    def g4_streamer_add(self, native: Any, steps: Any, count: int) -> int:
        self._streamers[_address(native)].steps.append(bytes(ffi.buffer(steps))[:count * STEP_BYTES])
        return int(lib.g4_streamer_add(native, steps, count))

    def g4_streamer_learn(self, native: Any, header: int, number: int, dwords: int) -> None:
        self._streamers[_address(native)].headers[header] = number, dwords
        lib.g4_streamer_learn(native, header, number, dwords)

    def g4_streamer_constants_absolute(self, native: Any, absolute: bool) -> None:
        self._streamers[_address(native)].constants_absolute = absolute
        lib.g4_streamer_constants_absolute(native, absolute)

    def g4_streamer_run(self, native: Any, words: Any, at: int, end: int, device: Any, fault: Any, run: Any) -> int:
        streamer = self._streamers[_address(native)]
        before = bytes(ffi.buffer(streamer.state, STATE_BYTES)) if device != ffi.NULL else b""
        wanted = device != ffi.NULL and self._wants(device, DRAWS)
        pages = self._pages(streamer.memory, self._devices[_address(device)][0]) if wanted else {}
        last = int(lib.g4_streamer_run(native, words, at, end, device, fault, run))
        if pages and run.draws:
            self._add(device, DRAWS, 0, before, bytes(ffi.buffer(words + at, 4 * (last - at))), pages, streamer)
        return last

    def g4_device_draw(self, native: Any, words: Any, fault: Any) -> int:
        self._record(native, DRAWS, words, 0)
        return int(lib.g4_device_draw(native, words, fault))

    def g4_device_compute(self, native: Any, words: Any, fault: Any) -> int:
        self._record(native, COMPUTE, words, 0)
        return int(lib.g4_device_compute(native, words, fault))

    def g4_device_media(self, native: Any, words: Any, count: int, address: int, fault: Any) -> int:
        self._record(native, MEDIA, words, address)
        return int(lib.g4_device_media(native, words, count, address, fault))

    # --- scenes ---
    def _record(self, native: Any, kind: int, words: Any, address: int) -> None:
        gen, memory, state = self._devices[_address(native)]
        if self._wants(native, kind):
            streamer = next((s for s in self._streamers.values() if s.state == state), None)
            self._add(native, kind, address, bytes(ffi.buffer(state, STATE_BYTES)), bytes(ffi.buffer(words)),
                      self._pages(memory, gen), streamer)

    def _wants(self, native: Any, kind: int) -> bool:
        gen, *_ = self._devices[_address(native)]
        return self._scenes(gen).wants(kind)

    def _scenes(self, gen: Gen) -> Scenes:
        return self.found.setdefault(gen, Scenes(gen))

    def _add(self, native: Any, kind: int, address: int, state: bytes, words: bytes, pages: dict[int, bytes],
             streamer: Streamer | None) -> None:
        gen, *_ = self._devices[_address(native)]
        scenes = self._scenes(gen)
        scenes.add(Scene(kind, address, smaller(state, gen), words, pages))
        if streamer is not None and (scenes.streamer is None or len(streamer.headers) > len(scenes.streamer.headers)):
            scenes.streamer = streamer

    @staticmethod
    def _pages(memory: Any, gen: Gen) -> dict[int, bytes]:
        """The graphics pages with contents other than zeros."""
        found = {}
        page, end, data = 0, (1 << ADDRESS_BITS[gen]) // PAGE_SIZE, ffi.new("uint8_t[]", PAGE_SIZE)
        while (page := lib.g4_mem_find_page(memory, page, end, PageFlags.WRITTEN, PageFlags.WRITTEN, True)) < end:
            if lib.g4_mem_peek(memory, page * PAGE_SIZE, data, PAGE_SIZE) and any(bytes(data)):
                found[page] = bytes(data)
            page += 1
            if len(found) > MOST_PAGES:
                break
        return found


def smaller(state: bytes, gen: Gen) -> bytes:
    """A state whose drawing rectangle is the middle of what it was, if that is larger than MOST_SIDE."""
    found = ffi.new("struct g4_state *")
    ffi.memmove(found, state, STATE_BYTES)
    rectangle = command_named("3DSTATE_DRAWING_RECTANGLE", gen)
    fields = rectangle.view(list(found.drawing_rectangle), gen=gen).to_dict()
    middle: dict[str, int] = {}
    for axis in "xy":
        low, high = (f"clipped_drawing_rectangle_{axis}_{end}" for end in ("min", "max"))
        more = fields[high] - fields[low] + 1 - MOST_SIDE
        if more > 0:
            middle |= {low: fields[low] + more // 2, high: fields[low] + more // 2 + MOST_SIDE - 1}
    if not middle:
        return state
    found.drawing_rectangle = rectangle.pack(gen, **fields | middle)
    return bytes(ffi.buffer(found, STATE_BYTES))


def record() -> dict[Gen, Scenes]:
    """The scenes of the committed traces, and of some tests."""
    recorder = Recorder()
    with recorder.installed():
        for path in TRACES:
            for _ in draw(Case(path.name, path, path.parent)):
                pass
        with open(os.devnull, "w") as nothing, redirect_stdout(nothing):
            status = pytest.main(["-q", "-p", "no:cacheprovider", *(str(ROOT / test) for test in TESTS)])
    if status != 0:
        raise RuntimeError(f"the tests that scenes are recorded from fail: pytest {' '.join(TESTS)}")
    return recorder.found


def seeds() -> Iterator[bytes]:
    """Every scene by fast paths, and compared with general handlers with each option; a few with changes."""
    for scene in range(MOST_SCENES):
        for options in (0, OPTION_COMPARE, OPTION_COMPARE | OPTION_HIERARCHICAL_DEPTH, OPTION_COMPARE | OPTION_GUARDS):
            yield bytes((scene, options))
        for kind in range(3):
            yield struct.pack("<3BHB", scene, 0, kind << 6 | 3, 1, 0) + bytes(4)


def commands() -> Iterator[bytes]:
    """Every known header with dwords of zeros, ones and random numbers, and a few of them in a row."""
    chance = random.Random(1)
    for index in range(MOST_SCENES):
        yield bytes((index % 40, index)) + bytes(256)
        yield bytes((index % 40, index)) + b"\xff" * 64
        yield bytes((index % 40,)) + b"".join(bytes((chance.randrange(256),)) + chance.randbytes(8) for _ in range(12))


def _address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))
