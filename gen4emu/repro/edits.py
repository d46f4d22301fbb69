"""Changes to the memory of a trace: counts of draws, instructions of kernels, fields of commands and state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gen4emu.decode import Command, Decoder, Kernel, Node, State
from gen4emu.device.memory import PAGE_SIZE
from gen4emu.hw.chips import Device
from gen4emu.hw.fields import Const, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import View
from gen4emu.isa import assemble
from gen4emu.isa.compaction import COMPACT_BIT
from gen4emu.trace.events import Event, MemoryWrite, Space, Submission

Key = tuple[bool, int]  # a page by its address, or (true) a write of the CPU by its index
Memory = dict[Key, bytes]
_VERTICES = {"POINTLIST": 1, "LINELIST": 2, "TRILIST": 3, "RECTLIST": 3, "QUADLIST": 4, "LINELIST_ADJ": 4,
             "TRILIST_ADJ": 6}  # of an object of a list


@dataclass(frozen=True, slots=True)
class Edit:
    """Bits of some bytes and their new values."""

    key: Key
    offset: int
    mask: bytes
    value: bytes

    @classmethod
    def of_bytes(cls, key: Key, offset: int, value: bytes) -> Edit:
        return cls(key, offset, b"\xff" * len(value), value)


@dataclass(frozen=True, slots=True)
class Draw:
    """The fields of a draw that say how much of it there is."""

    fields: dict[str, tuple[Key, int, int]]  # by name: place and value of a whole dword
    unit: int  # vertices of an object

    def edit(self, **values: int) -> list[Edit]:
        return [Edit.of_bytes(*self.fields[name][:2], value.to_bytes(4, "little")) for name, value in values.items()]


@dataclass(slots=True)
class Found:
    """The parts of a candidate's memory that can be changed."""

    draws: list[Draw] = field(default_factory=list)
    kernels: list[list[Edit]] = field(default_factory=list)  # each instruction as nop
    fields: list[Edit] = field(default_factory=list)  # each one that is not 0, as 0
    topology: str = ""  # of the draws that follow, where a command before them names it


def apply(memory: Memory, edits: Iterable[Edit]) -> Memory:
    """Memory with changes; what did not change is shared."""
    changed: dict[Key, bytearray] = {}
    for edit in edits:
        data = changed.setdefault(edit.key, bytearray(memory[edit.key]))
        for at, (mask, value) in enumerate(zip(edit.mask, edit.value, strict=True), edit.offset):
            data[at] = data[at] & ~mask | value
    return memory | {key: bytes(data) for key, data in changed.items()}


class _Places:
    """The event that each byte of memory comes from, up to the current event."""

    def __init__(self, pages: dict[int, bytes]) -> None:
        self.pages = pages
        self.writes: list[tuple[int, MemoryWrite]] = []

    def find(self, address: int, size: int) -> tuple[Key, int] | None:
        """None if they come from nowhere, or from more than one place."""
        for index, event in reversed(self.writes):
            if event.address < address + size and address < event.address + len(event.data):
                inside = event.address <= address and address + size <= event.address + len(event.data)
                return ((True, index), address - event.address) if inside and index >= 0 else None
        page = address & -PAGE_SIZE
        return ((False, page), address - page) if page in self.pages and address + size <= page + PAGE_SIZE else None


def find(device: Device, pages: dict[int, bytes], events: Sequence[tuple[int, Event]]) -> Found:
    """Decode a candidate: memory at its start, and events with their indices; -1 is one that must stay."""
    found, places, seen = Found(), _Places(pages), set[tuple[str, Key, int]]()
    decoder = Decoder(device)
    for page, data in pages.items():
        decoder.memory.write(page, data)
    for index, event in events:
        if isinstance(event, MemoryWrite) and event.space is Space.GRAPHICS:
            decoder.memory.write(event.address, event.data)
            places.writes.append((index, event))
        elif isinstance(event, Submission):
            decoder.changed()
            for item in decoder.submission(event):
                if isinstance(item, Command):
                    for node in item.walk():
                        _note(found, places, seen, node, device.gen)
    return found


def _note(found: Found, places: _Places, seen: set[tuple[str, Key, int]], node: Node, gen: Gen) -> None:
    place = places.find(node.address, 4)
    if place is None or node.kind == "register" or (node.kind, *place) in seen:
        return
    seen.add((node.kind, *place))
    if isinstance(node, Kernel):
        found.kernels.append(list(_instructions(places, node.address, node.code.code, gen)))
    elif isinstance(node, State | Command) and node.body.layout is not None:
        view = node.body.view
        if node.body.name == "3DSTATE_VF_TOPOLOGY":
            found.topology = view.text("primitive_topology_type")
        if isinstance(node, Command) and "vertex_count_per_instance" in view.layout.by_name(gen):
            draw = _draw(places, node.address, view, found.topology)
            found.draws += [draw] if draw is not None else []
        found.fields += _fields(places, node.address, view)


def _draw(places: _Places, address: int, view: View, topology: str) -> Draw | None:
    fields = {}
    for f, raw in view.fields():
        if f.name in ("vertex_count_per_instance", "start_vertex_location", "instance_count"):
            place = places.find(address + 4 * f.dword, 4)
            if place is None:
                return None
            fields[f.name] = (*place, raw)
    if "primitive_topology_type" in view.layout.by_name(view.gen):
        topology = view.text("primitive_topology_type")
    unit = int(topology.removeprefix("PATCHLIST_")) if topology.startswith("PATCHLIST_") else _VERTICES.get(topology, 1)
    return Draw(fields, unit) if len(fields) == 3 else None


def _fields(places: _Places, address: int, view: View) -> Iterator[Edit]:
    for f, raw in view.fields():
        if raw and not isinstance(f, Const | Mbz) and f.name != "dword_length" and f.last_dword == f.dword:
            place = places.find(address + 4 * f.dword, 4)
            if place is not None:
                mask = (1 << f.hi + 1) - (1 << f.lo)
                yield Edit(*place, mask.to_bytes(4, "little"), bytes(4))
    for array in view.layout.arrays_for(view.gen):
        for item in view.array(array):
            yield from _fields(places, address + 4 * (item.at - view.at), item)


def _instructions(places: _Places, address: int, code: bytes, gen: Gen) -> Iterator[Edit]:
    """Each instruction of a kernel as nop, whose size is the same."""
    nop = assemble("nop;", gen)
    at = 0
    while at < len(code):
        size = 8 if int.from_bytes(code[at:at + 4], "little") & COMPACT_BIT else 16
        place = places.find(address + at, size)
        value = nop if size == 16 else (int.from_bytes(nop[:8], "little") | COMPACT_BIT).to_bytes(8, "little")
        if place is not None and code[at:at + size] != value:
            yield Edit.of_bytes(*place, value)
        at += size


def without_nops(memory: Memory, kernel: Sequence[Edit]) -> list[Edit]:
    """The instructions of a kernel, which are in `memory` and lie one after the other, without those that are nop."""
    if not kernel or len({edit.key for edit in kernel}) != 1:
        return []
    data, key = memory[kernel[0].key], kernel[0].key
    start, end = kernel[0].offset, kernel[-1].offset + len(kernel[-1].value)
    kept = b"".join(data[edit.offset:edit.offset + len(edit.value)] for edit in kernel
                    if data[edit.offset:edit.offset + len(edit.value)] != edit.value)
    if len(kept) == end - start or sum(len(edit.value) for edit in kernel) != end - start:
        return []
    return [Edit.of_bytes(key, start, kept.ljust(end - start, b"\0"))]


def shrink(start: int, count: int, unit: int, stays: Callable[[int, int], bool]) -> None:
    """Leave out the begin or the end of a range, in halves, quarters and so on down to `unit`, as long as it stays."""
    size = count
    while size > unit:
        size = max(size // unit // 2, 1) * unit
        while count > size and stays(start + size, count - size):
            start, count = start + size, count - size
        while count > size and stays(start, count - size):
            count -= size
