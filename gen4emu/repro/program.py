"""A draw as a C program that submits it to the i915 driver: on hardware, or on the emulator."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from importlib.resources import files

from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import Gen4emuError
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.hw.gen import Gen
from gen4emu.repro.relocations import Layout
from gen4emu.repro.script import Script
from gen4emu.trace.events import Engine

_DWORDS_A_LINE = 10
_GAP = 8  # dwords of zeros that end a run
_TILINGS = {Tiling.LINEAR: "LINEAR", Tiling.X: "X_TILES", Tiling.Y: "Y_TILES"}
_ENGINES = {Engine.RENDER: "I915_EXEC_RENDER", Engine.BLT: "I915_EXEC_BLT"}
_PPM = {
    SurfaceFormat.B8G8R8A8_UNORM: "BGR", SurfaceFormat.B8G8R8A8_UNORM_SRGB: "BGR",
    SurfaceFormat.B8G8R8X8_UNORM: "BGR", SurfaceFormat.B8G8R8X8_UNORM_SRGB: "BGR",
    SurfaceFormat.R8G8B8A8_UNORM: "RGB", SurfaceFormat.R8G8B8A8_UNORM_SRGB: "RGB",
    SurfaceFormat.R8G8B8X8_UNORM: "RGB", SurfaceFormat.R8G8B8X8_UNORM_SRGB: "RGB",
    SurfaceFormat.B5G6R5_UNORM: "B5G6R5", SurfaceFormat.R8_UNORM: "GREY", SurfaceFormat.L8_UNORM: "GREY",
}


def checksum(data: bytes) -> int:
    """The checksum of the bytes of a target that the program prints."""
    return zlib.crc32(data)


def program(title: str, script: Script, layout: Layout, targets: Sequence[tuple[Target, bytes]]) -> str:
    """The source text; `targets` come with the bytes that are expected."""
    if not targets:
        raise Gen4emuError("the draw writes no render target")
    source = files("gen4emu.repro").joinpath("program.c").read_text(encoding="utf-8")
    data = "".join(f"{line}\n" for line in _data(script, layout, targets))
    for name, text in (("TITLE", _comment(title)), ("CHIP", _comment(script.device.marketing)),
                       ("DEVICE", script.device.name)):
        source = source.replace(f"@{name}@", text, 1)
    return source.replace("/* @DATA@ */\n", data, 1)


def _comment(text: str) -> str:
    """Text of a trace in a comment cannot end it."""
    return "".join(c if c.isalnum() or c in " .,:;()[]_-+=%#<>!" else "_" for c in text)


def _canonical(address: int) -> int:
    """The canonical form of an address, which the kernel requires: bits 63 to 48 repeat bit 47."""
    return address | 0xFFFF << 48 if address >> 47 else address


def _data(script: Script, layout: Layout, targets: Sequence[tuple[Target, bytes]]) -> Iterator[str]:
    if script.engine not in _ENGINES:
        raise Gen4emuError(f"the {script.engine.value} engine is not supported")
    # Before Gen6, the render engine executes blits.
    engine = _ENGINES[script.engine] if not script.device.gen & Gen.ALL4 else _ENGINES[Engine.RENDER]
    lines, runs = _contents(layout)
    yield (f"enum {{ CHIP = 0x{script.device.pci_id:04x}, ENGINE = {engine}, OBJECTS = {len(layout.buffers)}, "
           f"RUNS = {len(runs)}, RELOCATIONS = {len(layout.relocations)}, TILED_RANGES = {len(layout.tiles)}, "
           f"TARGETS = {len(targets)}, BATCH_BYTES = {len(script.batch_bytes)}, PINNED = {int(layout.is_pinned)} }};\n")
    yield "static const struct object objects[OBJECTS] = {"
    for buffer in layout.buffers:
        yield f"    {{0x{len(buffer.data):x}, 0x{_canonical(buffer.address):08x}, {int(buffer.is_written)}}},"
    yield "};\n"
    yield from lines
    yield "\nstatic const struct run runs[RUNS] = {"
    yield from (f"    {{{number}, 0x{offset:x}, {count}, contents_{run}}},"
                for run, (number, offset, count) in enumerate(runs))
    yield "};\n"
    yield "static const struct relocation relocations[RELOCATIONS + 1] = {"
    yield from (f"    {{{r.buffer}, 0x{r.offset:x}, {r.target}, 0x{r.delta:x}}}," for r in layout.relocations)
    yield "    {0, 0, 0, 0},\n};\n"
    yield "static const struct tiles tiled_ranges[TILED_RANGES + 1] = {"
    yield from (f"    {{{t.buffer}, 0x{t.offset:x}, 0x{t.size:x}, {_TILINGS[t.tiling]}}}," for t in layout.tiles)
    yield "    {0, 0, 0, 0},\n};\n"
    yield "static const struct target targets[TARGETS] = {"
    yield from (_target(layout, target, data) for target, data in targets)
    yield "};"


def _contents(layout: Layout) -> tuple[list[str], list[tuple[int, int, int]]]:
    """Arrays of everything but zeros: their lines, and the buffer, offset and dwords of each."""
    lines: list[str] = []
    runs: list[tuple[int, int, int]] = []
    for number, buffer in enumerate(layout.buffers):
        words = struct.unpack(f"<{len(buffer.data) // 4}I", buffer.data)
        for start, end in _runs(words):
            lines.append(f"static const uint32_t contents_{len(runs)}[] = {{")
            lines += [f"    {', '.join(f'0x{word:x}' for word in words[at:min(at + _DWORDS_A_LINE, end)])},"
                      for at in range(start, end, _DWORDS_A_LINE)]
            lines.append("};")
            runs.append((number, 4 * start, end - start))
    return lines, runs


def _runs(words: Sequence[int]) -> Iterator[tuple[int, int]]:
    start = end = 0
    for at, word in enumerate(words):
        if word:
            if at >= end + _GAP or end == 0:
                if end > start:
                    yield start, end
                start = at
            end = at + 1
    if end > start:
        yield start, end


def _target(layout: Layout, target: Target, data: bytes) -> str:
    info = format_info(int(target.format))
    if info is None or target.tiling not in _TILINGS:
        raise Gen4emuError(f"a target of format {target.format.name} is not supported")
    size = info.block_bits // 8
    row, rows = -(-target.width // info.block_width) * size, -(-target.height // info.block_height)
    number, offset = layout.find(target.address)
    return (f'    {{"{target.format.name}", {number}, 0x{offset:x}, {target.pitch}, {_TILINGS[target.tiling]}, '
            f"{target.x * size}, {target.y}, {row}, {rows}, {size}, {_PPM.get(target.format, 'NO_PPM')}, "
            f"0x{checksum(data):08x}}},")
