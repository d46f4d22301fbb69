"""Traces of Gen8 and later: 48-bit addresses, page tables, execution lists, contexts."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.decode.address_space import AddressSpace
from gen4emu.errors import FieldError, TraceError
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace.conversion import new_writer
from gen4emu.trace.events import (
    Engine,
    Event,
    FrameBoundary,
    GttWrite,
    MemoryWrite,
    Space,
    Submission,
    SurfaceDump,
    Warning,
    from_canonical,
)
from gen4emu.trace.logical_context import LogicalContext, decode, encode
from gen4emu.trace.ring import start_batch
from gen4emu.trace.write_aub import Dedup
from gen4emu.trace.write_memtrace import PageTables
from tests.trace.trace_files import block, dwords, header, memory_write, register_write, run, version

KBL, HSW = BY_NAME["kbl"], BY_NAME["hsw"]
HIGH = 0xFFFEFFFEE000
PORT = 0x2230
CONTAINERS = pytest.mark.parametrize("container", ["aub", "g4c"])


def write(path: Path, container: str = "aub") -> Path:
    """Two contexts on three engines; memory in the highest and the lowest pages."""
    with new_writer(container, path, KBL, "gears", Dedup.NONE) as writer:
        writer.write_memory(HIGH + 0xF00, bytes(range(256)) * 20)  # parts of three pages
        writer.write_memory(0x1000, b"low".ljust(4096, b"\1"))
        writer.submit(Engine.RENDER, start_batch(HIGH, is_wide=True), 0x1000, 3)
        writer.write_memory((1 << 48) - 4096, b"top".ljust(4096, b"\2"))
        writer.submit(Engine.BSD, start_batch(0x1000, is_wide=True), 0x1000, 3)
        writer.submit(Engine.RENDER, start_batch(HIGH + 64, is_wide=True), 0x1000, 5)
        writer.submit(Engine.VEBOX, start_batch(HIGH + 128, is_wide=True), 0x1000, 5)
        writer.submit(Engine.RENDER, start_batch(HIGH + 192, is_wide=True), 0x1000, 3)
    return path


def replayed(path: Path) -> Iterator[tuple[AddressSpace, Submission]]:
    memory = AddressSpace(48, 1 << 20)
    for event in trace.open(path, strict=True):
        apply(memory, event)
        if isinstance(event, Submission):
            yield memory, event


def apply(memory: AddressSpace, event: Event) -> None:
    if isinstance(event, MemoryWrite):
        (memory.write_physical if event.space is Space.PHYSICAL else memory.write)(event.address, event.data)
    elif isinstance(event, GttWrite):
        memory.set_gtt(event.first, event.entries)
    elif isinstance(event, Submission):
        memory.select(event.page_table)


def check(path: Path) -> None:
    for number, (memory, event) in enumerate(replayed(path)):
        assert memory.read(HIGH + 0xF00, 5120) == bytes(range(256)) * 20
        assert memory.read(0x1000, 4096) == b"low".ljust(4096, b"\1")
        top = memory.read((1 << 48) - 4096, 4096)
        assert top == (b"top".ljust(4096, b"\2") if number else bytes(4096))
        batch = (HIGH, 0x1000, HIGH + 64, HIGH + 128, HIGH + 192)[number]
        assert event.ring == start_batch(batch, is_wide=True)
    assert number == 4


# --- writing ----------------------------------------------------------------------------------------------------------
@CONTAINERS
def test_a_reader_finds_the_memory_and_the_batches(container: str, tmp_path: Path) -> None:
    check(write(tmp_path / f"a.{container}", container))


@CONTAINERS
def test_a_reader_tells_contexts_and_engines_apart(container: str, tmp_path: Path) -> None:
    runs = [event for _, event in replayed(write(tmp_path / f"a.{container}", container))]
    assert [e.engine for e in runs] == [Engine.RENDER, Engine.BSD, Engine.RENDER, Engine.VEBOX, Engine.RENDER]
    render = [e.context for e in runs if e.engine is Engine.RENDER]
    assert render[0] == render[2] != render[1]
    assert len({(e.engine, e.context) for e in runs}) == 4


@pytest.mark.parametrize(("first", "second"), tuple(itertools.product(("aub", "g4c"), repeat=2)))
def test_conversions_keep_everything(first: str, second: str, tmp_path: Path) -> None:
    write(tmp_path / f"a.{first}", first)
    trace.convert(tmp_path / f"a.{first}", tmp_path / f"b.{second}")
    check(tmp_path / f"b.{second}")
    trace.convert(tmp_path / f"b.{second}", tmp_path / f"c.{first}")
    check(tmp_path / f"c.{first}")


def test_pages_are_mapped_once(tmp_path: Path) -> None:
    """A second write of a page needs no further table entry."""
    with new_writer("aub", tmp_path / "a.aub", KBL, "", Dedup.NONE) as writer:
        for _ in range(3):
            writer.write_memory(HIGH, bytes(8192))
    writes = [e for e in trace.open(tmp_path / "a.aub") if isinstance(e, MemoryWrite)]
    assert [len(e.data) for e in writes] == [8] * 5 + [8192] * 3
    assert len({e.address for e in writes[5:]}) == 1


def test_page_tables_have_four_levels() -> None:
    tables = PageTables()
    physical, entries = tables.map(HIGH >> 12)
    assert len(entries) == 4
    assert [place & ~0xFFF for place, _ in entries] == [tables.root, *(value & ~0xFFF for _, value in entries[:-1])]
    assert entries[-1][1] & ~0xFFF == physical
    assert [(place & 0xFFF) // 8 for place, _ in entries] == [HIGH >> shift & 511 for shift in (39, 30, 21, 12)]
    assert tables.map(HIGH >> 12) == (physical, [])
    assert len(tables.map((HIGH >> 12) + 1)[1]) == 1


@CONTAINERS
def test_frames_beyond_32_bits_are_marked(container: str, tmp_path: Path) -> None:
    dump = SurfaceDump(0, HIGH, 0, 0, 64, 32, 4, 256, 7, "x")
    with new_writer(container, tmp_path / "a.aub", KBL, "", Dedup.NONE) as writer:
        writer.dump_surface(dump)
        writer.comment("not a frame")
        writer.frame_boundary("of a test")
    marks = [e for e in trace.open(tmp_path / "a.aub") if isinstance(e, FrameBoundary | SurfaceDump)]
    assert len(marks) == 2
    if container == "g4c":
        assert isinstance(marks[0], SurfaceDump)
        assert (marks[0].address, marks[0].width, marks[0].tiling) == (HIGH, 64, "x")
    else:
        assert isinstance(marks[0], FrameBoundary)
        assert marks[0].note == "0xfffefffee000, 64x32 at 0,0, pitch 256, 4 bytes, format 7, x"


@CONTAINERS
@pytest.mark.parametrize("address", [1 << 48, (1 << 48) - 1, -1, 1 << 60])
def test_addresses_beyond_48_bits_are_refused(container: str, address: int, tmp_path: Path) -> None:
    with pytest.raises(FieldError, match="address"), \
            new_writer(container, tmp_path / "a", KBL, "", Dedup.NONE) as writer:
        writer.write_memory(address, b"ab")


def test_context_images_hold_the_ring_and_the_root() -> None:
    context = LogicalContext(8, 0x40, 0x12000, 0x1001, 0x12_3456_7000)
    for engine, base in zip(Engine, (0x2000, 0x12000, 0x22000, 0x1A000), strict=True):
        image = encode(context, engine)
        assert decode(image) == context
        words = struct.unpack("<64I", image)
        assert dict(zip(words[2:30:2], words[3:30:2], strict=True))[base + 0x30] == 0x40  # RING_TAIL
        assert dict(zip(words[34:52:2], words[35:52:2], strict=True))[base + 0x274] == 0x12  # high half of PDP0


# --- contexts of older chips ------------------------------------------------------------------------------------------
def set_context(address: int) -> tuple[int, int]:
    return 0x0C000000, address | 0x10C


def test_contexts_in_the_ring_are_numbered_on_haswell() -> None:
    def ring(*words: int) -> bytes:
        return block(dwords(*words, 0x18800100, 0x10000), 0x1000, operation=2, kind=2)

    data = (header(HSW.pci_id) + run(0) + ring(0, *set_context(0x8000), 0) + ring() + ring(*set_context(0x9000))
            + ring(*set_context(0x8000)) + block(dwords(0x18800100, 0x10000), 0x1000, operation=2, kind=3))
    runs = [e for e in trace.open_bytes(data, "x") if isinstance(e, Submission)]
    assert [e.context for e in runs] == [0, 0, 0, 1, 0, 0]
    older = data.replace(b"PCI-ID=0x412", b"PCI-ID=0x2a42"[:12])
    assert {e.context for e in trace.open_bytes(older, "x", device="gm45", force_device=True)
            if isinstance(e, Submission)} == {0}


# --- hostile files ----------------------------------------------------------------------------------------------------
def looping_tables() -> bytes:
    """A root whose entries all lead to itself, a context on it, and a ring."""
    root = struct.pack("<Q", 0x5003) * 512
    context = encode(LogicalContext(0, 16, 0x40000, 1, 0x5000), Engine.RENDER)
    return (version(b"PCI-ID=0x5912 x") + memory_write(0x5000, root, space=2)
            + memory_write(0x40000, start_batch(HIGH, is_wide=True)) + memory_write(0x31000, context)
            + b"".join(register_write(PORT, value) for value in (0, 0, 0, 0x30001)))


def test_page_tables_that_lead_to_themselves_end() -> None:
    memory = AddressSpace(48, 1 << 20)
    for event in trace.open_bytes(looping_tables(), "x"):
        apply(memory, event)
    assert memory.read(HIGH, 8) == struct.pack("<Q", 0x5003)
    assert memory.read((1 << 48) - 8, 8) == struct.pack("<Q", 0x5003)


@pytest.mark.parametrize(("ctl", "head", "tail"), [
    (0xFFFFFFFF, 0, 0x1FFFF8), (1, 0xFFFFFFFF, 0), (1, 0, 0xFFFFFFFF), (0xFFFFFFFF, 0x1FFFF8, 0x100), (0, 0, 8)])
def test_absurd_rings_are_warnings(ctl: int, head: int, tail: int) -> None:
    context = encode(LogicalContext(head, tail, 0xFFFFF000, ctl, 1 << 51), Engine.RENDER)
    data = (version(b"PCI-ID=0x5912 x") + memory_write(0x31000, context)
            + b"".join(register_write(PORT, value) for value in (0, 0, 0xFFFFFFFF, 0x30001)))
    found = list(trace.open_bytes(data, "x"))
    assert not [e for e in found if isinstance(e, Submission)]
    assert isinstance(found[-1], Warning)


@pytest.mark.parametrize(("data", "what"), [
    (memory_write(1 << 48, b"abcd"), "block at 0x1000000000000: size 4 goes beyond the address space"),
    (memory_write((1 << 48) - 2, b"abcd"), "size 4 goes beyond"),
    (memory_write(1 << 63, b"abcd", space=1), "size 4 goes beyond"),
    (memory_write((1 << 52) - 2, b"abcd", space=2), "size 4 goes beyond"),
    (memory_write(8 << 32, bytes(8), space=4), "size 8 goes beyond"),
])
def test_addresses_beyond_the_space_are_damage_at_their_offset(data: bytes, what: str) -> None:
    start = version(b"PCI-ID=0x5912 x")
    found = list(trace.open_bytes(start + data, "x"))
    assert isinstance(found[-1], Warning) and found[-1].damage and found[-1].offset == len(start)
    assert what in found[-1].text
    with pytest.raises(TraceError, match=f"x: 0x{len(start):08x}"):
        list(trace.open_bytes(start + data, "x", strict=True))


@CONTAINERS
def test_every_prefix_of_a_file_is_readable(container: str, tmp_path: Path) -> None:
    data = write(tmp_path / "a", container).read_bytes()
    cuts = itertools.chain(range(8, min(len(data), 2000), 37), range(2000, len(data), 997))
    for cut in cuts:
        found = list(trace.open_bytes(data[:cut], "x"))
        assert sum(isinstance(e, Warning) for e in found) <= 1
        memory = AddressSpace(48, 1 << 20)
        for event in found:
            apply(memory, event)


def test_wide_records_are_damage_on_a_chip_without_wide_addresses(tmp_path: Path) -> None:
    data = bytearray(write(tmp_path / "a", "g4c").read_bytes())
    found = list(trace.open_bytes(bytes(data), "x", device="ivb", force_device=True))
    assert [e.text for e in found if isinstance(e, Warning) and "pages from page" in e.text]
    assert not [e for e in found if isinstance(e, MemoryWrite) and e.address >= 1 << 32]


@pytest.mark.parametrize(("canonical", "plain"), [
    (0xFFFF_FFFE_FFFE_E000, HIGH), (HIGH, HIGH), (0x7FFF_FFFF_F000, 0x7FFF_FFFF_F000), (0, 0), (0xFFFFFFFF, 0xFFFFFFFF),
    (0xFFFF_8000_0000_0000, 1 << 47), (0xFFFF_7000_0000_0000, 0xFFFF_7000_0000_0000), (1 << 64, 1 << 64)])
def test_canonical_addresses_lose_their_sign(canonical: int, plain: int) -> None:
    assert from_canonical(canonical) == plain
