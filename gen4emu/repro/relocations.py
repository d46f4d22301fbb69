"""The addresses in the memory of a script, and buffers that a kernel may put elsewhere.

The decoder finds the addresses.  Buffers are runs of pages; what one base address reaches stays in one of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from gen4emu.api.device import Device as NewDevice
from gen4emu.bisect.digests import surface_bytes
from gen4emu.decode import Command, Data, Decoder, Options, State
from gen4emu.decode.context import Context
from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.hw.fields import Address
from gen4emu.hw.layout import View
from gen4emu.repro.script import Script

MOST_BYTES = 256 << 20  # of all buffers
_MOST_SURFACE_BYTES = 64 << 20
_NEAR = 16  # pages between two that one buffer has nevertheless
_MOVED = 0x0C00_0000  # where buffers lie to test their relocations: in the address space of every chip
_SPACING = 37  # pages between them then
_ENDS = ("bound", "end_address", "ending_address")  # of fields that name the end of something


@dataclass(frozen=True, slots=True)
class Pointer:
    """A dword in memory that holds an address, with other fields in its low bits perhaps."""

    at: int
    word: int
    address: int
    is_end: bool = False  # it points beyond something


@dataclass(frozen=True, slots=True)
class Relocation:
    """A dword at an offset of a buffer is an address: of the target, plus delta."""

    buffer: int
    offset: int
    target: int
    delta: int


@dataclass(frozen=True, slots=True)
class Buffer:
    """Consecutive memory."""

    address: int
    data: bytes
    is_written: bool = False

    @property
    def end(self) -> int:
        return self.address + len(self.data)


@dataclass(frozen=True, slots=True)
class Tiles:
    """A tiled range of a buffer."""

    buffer: int
    offset: int
    size: int
    tiling: Tiling


@dataclass(frozen=True, slots=True)
class Layout:
    """Buffers, of which the last one is the batch.  Those of chips with 48-bit addresses stay where they are."""

    buffers: tuple[Buffer, ...]
    relocations: tuple[Relocation, ...]
    tiles: tuple[Tiles, ...]
    is_pinned: bool = False

    def find(self, address: int) -> tuple[int, int]:
        """The buffer that has an address, and its offset there."""
        for number, buffer in enumerate(self.buffers):
            if buffer.address <= address < buffer.end:
                return number, address - buffer.address
        raise Gen4emuError(f"0x{address:08x} is in no buffer")


@dataclass(slots=True)
class _Addresses:
    """The addresses that the commands of a script and the state below them hold."""

    pointers: dict[int, Pointer] = field(default_factory=dict)  # by the address of the dword
    related: list[tuple[int, int]] = field(default_factory=list)  # addresses that are relative to each other
    surfaces: list[tuple[int, int, Tiling]] = field(default_factory=list)  # address, bytes


def layout_of(script: Script, targets: Sequence[Target]) -> Layout:
    """The buffers of a script.

    It was executed with all of them elsewhere, and has written the same pixels; or the buffers need not move, because
    programs choose addresses of 48 bits themselves.
    """
    if script.device.address_bits > 32:
        return _pinned(script, targets)
    with NewDevice(script.device) as device:
        load(device.memory, script)
        found = _addresses(script, device.memory)
    pages, written, wanted = _execute(script, targets)
    for is_whole in (False, True):
        layout = _arranged(script, found, pages, written, targets, is_whole)
        if layout is not None and is_relocatable(script, layout, targets, wanted):
            return layout
    raise Gen4emuError("it writes different pixels, or none, when its buffers are moved: not all addresses are known")


def picture(memory: Memory, targets: Iterable[Target]) -> list[bytes]:
    return [surface_bytes(memory, target) for target in targets]


def load(memory: Memory, script: Script) -> None:
    """Write the memory of a script, and its batch."""
    for at, data in script.memory:
        memory.write(at, data)
    memory.write(script.batch, script.batch_bytes)


# --- addresses --------------------------------------------------------------------------------------------------------
def _addresses(script: Script, memory: Memory) -> _Addresses:
    found = _Addresses()
    decoder = Decoder(script.device, memory, Options(max_rows=0))
    for item in decoder.batch(script.batch):
        if isinstance(item, Command):
            for node in item.walk():
                if isinstance(node, State | Command) and node.kind != "register" and node.body.layout is not None:
                    _note(found, node.body.view, node.address, decoder.context)
                elif isinstance(node, Data) and node.name == "BINDING_TABLE":
                    for number, offset in enumerate(node.values):
                        _point(found, decoder.context, "surface_state", node.address + 4 * number, offset, offset)
    return found


def _note(found: _Addresses, view: View, address: int, context: Context) -> None:
    fields = list(view.fields())
    for f, raw in fields:
        if not isinstance(f, Address) or f.last_dword != f.dword:
            continue
        base = "" if context.absolute_constants and f.name.endswith("constant_buffer_0") else f.base
        at, value = address + 4 * f.dword, int(f.decode(raw))
        _point(found, context, base, at, view.words[view.at + f.dword], value, f.name.endswith(_ENDS))
    names = {f.name: f.decode(raw) for f, raw in fields}
    surface = names.get("surface_base_address")
    if surface and "surface_pitch" in names:
        tiling = Tiling.LINEAR
        if names.get("tiled_surface"):
            tiling = Tiling.Y if names.get("tile_walk") else Tiling.X
        rows = -(-int(names.get("height", 1)) // 32) * 32
        found.surfaces.append((surface, min(int(names["surface_pitch"]) * rows, _MOST_SURFACE_BYTES), tiling))
    for array in view.layout.arrays_for(view.gen):
        for item in view.array(array):
            _note(found, item, address + 4 * (item.at - view.at), context)


def _point(found: _Addresses, context: Context, base: str, at: int, word: int, value: int,
           is_end: bool = False) -> None:
    start = context.bases.get(base, 0)
    if start:
        found.related.append((start, context.absolute(base, value)))
    elif value:
        found.pointers[at] = Pointer(at, word, value, is_end)


# --- buffers ----------------------------------------------------------------------------------------------------------
def _execute(script: Script, targets: Sequence[Target]) -> tuple[set[int], set[int], list[bytes]]:
    """The pages that a script needs, those that it writes, and the pixels."""
    with NewDevice(script.device) as device:
        memory = device.memory
        load(memory, script)
        mark = memory.mark()
        with_batch = _pages(script.batch, len(script.batch_bytes))
        device.run_batch(script.batch, script.engine)
        written = set(memory.written_pages(mark))
        missed = {page for start, size in memory.missed_reads() for page in _pages(start, size)}
        return ({page.address for page in memory.pages()} | missed).difference(with_batch), written, \
            picture(memory, targets)


def _pages(address: int, size: int) -> range:
    return range(address & -PAGE_SIZE, address + size, PAGE_SIZE)


def _arranged(script: Script, found: _Addresses, pages: set[int], written: set[int], targets: Sequence[Target],
              is_whole: bool) -> Layout | None:
    """Buffers and relocations; with `is_whole`, everything but the batch is one buffer."""
    ranges = [(page, page + PAGE_SIZE) for page in pages]
    ranges += [(address, address + size) for address, size, _ in found.surfaces]
    ranges += [(target.address, target.address + target.pitch * (target.y + target.height)) for target in targets]
    ranges += [(min(pair), max(pair) + 1) for pair in found.related
               if {address & -PAGE_SIZE for address in pair} <= pages]
    parts = _joined(ranges)
    if is_whole and parts:
        parts = [(parts[0][0], parts[-1][1])]
    if sum(end - start for start, end in parts) > MOST_BYTES:
        return None
    buffers = [_buffer(start, end, script.memory, written) for start, end in parts]
    size = -(-len(script.batch_bytes) // PAGE_SIZE) * PAGE_SIZE
    buffers.append(Buffer(script.batch, script.batch_bytes.ljust(size, b"\0")))
    layout = Layout(tuple(buffers), (), ())
    starts = sorted((buffer.address, number) for number, buffer in enumerate(buffers))
    return replace(layout, relocations=tuple(_relocations(found, buffers, starts)), tiles=tuple(_tiles(found, layout)))


def _pinned(script: Script, targets: Sequence[Target]) -> Layout:
    """Buffers where the trace has them.  Memory controllers of these chips do not swizzle tiles."""
    pages, written, _ = _execute(script, targets)
    ranges = [(page, page + PAGE_SIZE) for page in pages]
    ranges += [(target.address, target.address + target.pitch * (target.y + target.height)) for target in targets]
    buffers = [_buffer(start, end, script.memory, written) for start, end in _joined(ranges)]
    size = -(-len(script.batch_bytes) // PAGE_SIZE) * PAGE_SIZE
    buffers.append(Buffer(script.batch, script.batch_bytes.ljust(size, b"\0")))
    if sum(len(buffer.data) for buffer in buffers) > MOST_BYTES:
        raise Gen4emuError(f"its buffers have more than {MOST_BYTES >> 20} MiB")
    return Layout(tuple(buffers), (), (), is_pinned=True)


def _joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of whole pages, those that are near each other as one."""
    parts: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        start, end = start & -PAGE_SIZE, -(-end // PAGE_SIZE) * PAGE_SIZE
        if parts and start <= parts[-1][1] + _NEAR * PAGE_SIZE:
            parts[-1] = parts[-1][0], max(parts[-1][1], end)
        else:
            parts.append((start, end))
    return parts


def _buffer(start: int, end: int, memory: Iterable[tuple[int, bytes]], written: set[int]) -> Buffer:
    data = bytearray(end - start)
    for at, contents in memory:
        if start <= at < end:
            data[at - start:at - start + len(contents)] = contents
    return Buffer(start, bytes(data), any(start <= page < end for page in written))


def _relocations(found: _Addresses, buffers: Sequence[Buffer], starts: Sequence[tuple[int, int]]) \
        -> Iterator[Relocation]:
    def buffer_at(address: int) -> int | None:
        index = bisect_right(starts, (address, len(buffers))) - 1
        if index < 0 or address >= buffers[starts[index][1]].end:
            return None
        return starts[index][1]

    for pointer in sorted(found.pointers.values(), key=lambda pointer: pointer.at):
        source = buffer_at(pointer.at)
        target = buffer_at(pointer.address - 1 if pointer.is_end else pointer.address)
        if source is not None and target is not None:
            yield Relocation(source, pointer.at - buffers[source].address, target,
                             pointer.word - buffers[target].address & 0xFFFF_FFFF)


def _tiles(found: _Addresses, layout: Layout) -> Iterator[Tiles]:
    """The tiled ranges, each up to the next surface."""
    surfaces = sorted({address: (size, tiling) for address, size, tiling in found.surfaces}.items())
    for index, (address, (size, tiling)) in enumerate(surfaces):
        if tiling is not Tiling.LINEAR:
            number, offset = layout.find(address)
            end = layout.buffers[number].end
            if index + 1 < len(surfaces):
                end = min(end, max(surfaces[index + 1][0] & -PAGE_SIZE, address))
            yield Tiles(number, offset, min(end - address, max(size, PAGE_SIZE)), tiling)


# --- a test -----------------------------------------------------------------------------------------------------------
def is_relocatable(script: Script, layout: Layout, targets: Sequence[Target], wanted: Sequence[bytes]) -> bool:
    """Execute the script with its buffers elsewhere, in another order."""
    places, at = [0] * len(layout.buffers), _MOVED
    for number in reversed(range(len(layout.buffers))):
        places[number] = at
        at += -(-len(layout.buffers[number].data) // PAGE_SIZE) * PAGE_SIZE + _SPACING * PAGE_SIZE
    moved = [bytearray(buffer.data) for buffer in layout.buffers]
    for of in layout.relocations:
        word = places[of.target] + of.delta & 0xFFFF_FFFF
        moved[of.buffer][of.offset:of.offset + 4] = word.to_bytes(4, "little")
    with NewDevice(script.device) as device:
        for place, data in zip(places, moved, strict=True):
            device.memory.write(place, bytes(data))
        try:
            device.run_batch(places[-1], script.engine)
        except HangError:
            return False
        if next(iter(device.memory.missed_reads()), None) is not None:
            return False
        elsewhere = []
        for target in targets:
            number, offset = layout.find(target.address)
            elsewhere.append(replace(target, address=places[number] + offset))
        return picture(device.memory, elsewhere) == list(wanted)
