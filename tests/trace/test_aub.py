"""AUB files: every packet, mixtures, truncation, corruption."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gen4emu import trace
from gen4emu.errors import TraceError
from gen4emu.trace.events import (
    Comment,
    Engine,
    Event,
    FrameBoundary,
    GttWrite,
    Header,
    MemoryWrite,
    RegisterWrite,
    Space,
    Submission,
    SurfaceDump,
    Warning,
)
from tests.trace.trace_files import (
    BATCH,
    aub,
    block,
    bmp,
    dwords,
    execlist_aub,
    header,
    memory_write,
    memtrace,
    pair_aub,
    register_write,
    ring_block,
    ring_registers_aub,
    run,
    scattered_write,
    version,
)

_Kind = TypeVar("_Kind")
TRACES = Path(__file__).parents[2] / "traces"


def events(data: bytes, **options: Any) -> list[Event]:
    return list(trace.open_bytes(data, "test.aub", **options))


def only(data: bytes, kind: type[_Kind]) -> list[_Kind]:
    return [event for event in events(data) if isinstance(event, kind)]


def contents(data: bytes) -> dict[int, bytes]:
    return {e.address: bytes(e.data) for e in events(data) if isinstance(e, MemoryWrite)}


# --- header -----------------------------------------------------------------------------------------------------------
def test_header_with_a_pci_id_names_gm45() -> None:
    data = header(0x2A42, "glxgears")
    assert len(data) == 68
    assert data[:12] == bytes.fromhex("0f0085e0 00000004 676c7867")
    assert events(data) == [Header(0, 0x2A42, "glxgears", "PCI-ID=0x2a42")]


def test_old_libdrm_header_names_no_device() -> None:
    assert events(header(None)) == [Header(0, None, "glxgears", "")]


@pytest.mark.parametrize("text", ["PCI-ID=0x2a42", "PCI-ID=0X2A42", "PCI-ID=10818", "PCI-ID=025102"])
def test_pci_id_may_have_any_base(text: str) -> None:
    comment = text.encode()
    body = dwords(4 << 24) + bytes(32) + dwords(0, 0, len(comment)) + comment + bytes(-len(comment) % 4)
    assert events(dwords(0xE0850000 | (len(body) // 4 - 1)) + body) == [Header(0, 0x2A42, "", text)]


def test_version_packet_names_device_and_program() -> None:
    data = version(b"PCI-ID=0x2A42 gears")  # 19 bytes: no NUL if the name fills the last dword
    assert events(data) == [Header(0, 0x2A42, "gears", "PCI-ID=0x2A42 gears")]
    assert events(version(b"PCI-ID=0x2A42 gear\0\0")) == [Header(0, 0x2A42, "gear", "PCI-ID=0x2A42 gear")]


def test_unknown_pci_id_is_an_error_that_names_it() -> None:
    with pytest.raises(TraceError, match="0x00000000: unknown PCI id 0x8a52"):
        events(header(0x8a52))


def test_device_option_overrides_the_header() -> None:
    assert events(header(0x8a52), device="g45")[0] == Header(0, 0x2E22, "glxgears", "PCI-ID=0x8a52")


def test_device_option_replaces_a_missing_header() -> None:
    assert events(run(0x10000), device=0x2A02)[0] == Header(0, 0x2A02)


# --- legacy blocks ----------------------------------------------------------------------------------------------------
def test_data_block_is_a_memory_write() -> None:
    data = block(b"abcdefgh", 0x10000, kind=1)
    assert data[:20] == dwords(0xE0C10003, 0x00000101, 0, 0x10000, 8)
    assert events(data) == [MemoryWrite(0, 0x10000, b"abcdefgh", kind="batch")]


def test_odd_sizes_are_rounded_up_to_dwords() -> None:
    data = block(b"abcde", 0x10000) + block(b"next", 0x20000)
    assert [(e.offset, bytes(e.data)) for e in only(data, MemoryWrite)] == [(0, b"abcde"), (28, b"next")]


@pytest.mark.parametrize(("kind", "subtype", "name"), [
    (5, 0, "vertex_buffer"), (12, 0, "constant_urb"), (14, 1, "vs_state"), (14, 0xB, "kernel"), (14, 0x99, "general"),
    (15, 0x100, "binding_table"), (15, 0x200, "surface_state"), (99, 0, ""),
])
def test_types_and_subtypes_become_kinds(kind: int, subtype: int, name: str) -> None:
    assert events(block(b"abcd", 0, kind=kind, subtype=subtype)) == [MemoryWrite(0, 0, b"abcd", kind=name)]


@pytest.mark.parametrize(("kind", "engine"), [(2, Engine.RENDER), (3, Engine.BSD), (4, Engine.BLT)])
def test_command_write_runs_its_ring(kind: int, engine: Engine) -> None:
    ring = dwords(0x18800000, 0x00010000)
    assert events(ring_block(0x18800000, 0x10000, kind=kind)) == [Submission(0, engine, ring, 0x1000)]


def test_gtt_entry_block_is_the_identity_map() -> None:
    table = dwords(*range(0x00200003, 0x04200003, 0x1000))
    data = block(table, 0, space=4)
    assert data[:20] == dwords(0xE0C10003, 0x00040001, 0, 0, 0x10000)
    (event,) = only(data, GttWrite)
    assert isinstance(event, GttWrite)
    assert (event.first, len(event.entries), event.entry_bytes) == (0, 16384, 4)
    assert (event.entries[0], event.entries[-1]) == (0x00200003, 0x041FF003)


def test_nonlocal_block_of_old_libdrm_is_the_page_table() -> None:
    assert events(block(dwords(0x200003, 0x201003), 8, space=2)) == [GttWrite(0, 2, (0x200003, 0x201003))]


def test_gen8_block_has_48_address_bits() -> None:
    data = dwords(0xE0C10004, 0x101, 0, 0x1000, 4, 0x7F) + b"abcd"
    assert events(data) == [MemoryWrite(0, 0x7F00001000, b"abcd", kind="batch")]


def test_register_block_writes_consecutive_registers() -> None:
    data = block(dwords(1, 2), 0x2080, operation=3)
    assert events(data) == [RegisterWrite(0, 0x2080, 1), RegisterWrite(0, 0x2084, 2)]


def test_comment_block_is_text_without_control_characters() -> None:
    assert events(block(b"a\x1b[31mb\0junk", 0, operation=0)) == [Comment(0, "a?[31mb")]


def test_bmp_packet_is_a_surface_dump() -> None:
    assert events(bmp()) == [SurfaceDump(0, 0x200000, 16, 32, 200, 100, 4, 1024, 7, "y")]


def test_other_operations_are_reported_once_and_counted() -> None:
    data = block(b"abcd", 0, operation=9) * 3 + run(0x10000)
    what = "legacy block of operation 9, type 0, space 0: skipped"
    assert [type(e) for e in events(data)] == [Warning, Submission, Warning]
    assert only(data, Warning) == [Warning(0, what), Warning(len(data), f"{what[:-9]}: skipped 3 times in all")]


# --- memtrace ---------------------------------------------------------------------------------------------------------
def test_memory_write_of_three_bytes_is_six_dwords() -> None:
    data = memory_write(0x1000, b"abc")
    assert data[:20] == dwords(0xF7060005, 0x1000, 0, 0, 3)
    assert len(data) == 24
    assert events(data + version(b"PCI-ID=0x2a42"))[0] == MemoryWrite(0, 0x1000, b"abc")


def test_memtrace_register_write() -> None:
    data = register_write(0x2030, 0x10)
    assert data == dwords(0xF7030005, 0x2030, 0x00020000, 0xFFFFFFFF, 0, 0x10)
    assert events(data) == [RegisterWrite(0, 0x2030, 0x10)]


@pytest.mark.parametrize(("space", "expected"), [
    (0, MemoryWrite(0, 0x1000, dwords(1, 0))),
    (1, MemoryWrite(0, 0x1000, dwords(1, 0))),
    (2, MemoryWrite(0, 0x1000, dwords(1, 0), Space.PHYSICAL)),
    (4, GttWrite(0, 0x200, (1,), 8)),
    (3, Warning(0, "memory write to space 3: skipped")),
])
def test_memory_write_to_each_space(space: int, expected: Event) -> None:
    assert events(memory_write(0x1000, dwords(1, 0), space)) == [expected]


def test_scattered_write_advances_through_its_data() -> None:
    data = scattered_write([(0x1000, b"abc"), (0x2000, b"defgh"), (0x3000, b"")])
    assert events(data) == [MemoryWrite(0, 0x1000, b"abc"), MemoryWrite(0, 0x2000, b"defgh")]


def test_informational_packets_are_skipped() -> None:
    data = memtrace(0x09, dwords(1, 2)) + memtrace(0x07, dwords(0)) + memtrace(0x08, dwords(0) + b"note\0") + run(0)
    found = events(data)
    assert found[0] == Warning(0, "memtrace packet TRACE_DELAY: skipped")
    assert [type(e) for e in found[1:]] == [FrameBoundary, Comment, Submission]


def test_writing_the_tail_of_a_ring_starts_work() -> None:
    found = events(ring_registers_aub())
    assert found[-1] == Submission(found[-1].offset, Engine.RENDER, dwords(0x02000000, 0, 0x18800000, 0x10000), 0x8000)


def test_tail_that_wraps_runs_both_ends() -> None:
    ring = bytearray(4096)
    struct.pack_into("<2I", ring, 4088, 1, 2)
    struct.pack_into("<2I", ring, 0, 3, 4)
    data = (version(b"PCI-ID=0x2a42") + memory_write(0x8000, bytes(ring)) + register_write(0x2038, 0x8000)
            + register_write(0x2034, 4088) + register_write(0x203C, 1) + register_write(0x2030, 8))
    last = events(data)[-1]
    assert isinstance(last, Submission)
    assert (last.ring, last.ring_address) == (dwords(1, 2, 3, 4), 0x8FF8)
    assert [last.address_of(at) for at in (0, 4, 8, 12)] == [0x8FF8, 0x8FFC, 0x8000, 0x8004]


def test_ring_continues_where_it_stopped() -> None:
    found = [e for e in events(ring_registers_aub() + register_write(0x2030, 0x18)) if isinstance(e, Submission)]
    assert [(e.ring_address, len(e.ring)) for e in found] == [(0x8000, 16), (0x8010, 8)]


def test_unwritten_ring_is_reported() -> None:
    data = b"".join(register_write(r, v) for r, v in [(0x2038, 0x8000), (0x203C, 1), (0x2030, 8)])
    assert [e.text for e in only(data, Warning)] == [
        "ring at 0x00008000: the file does not write it, so it cannot run"]


def test_execution_list_runs_the_ring_of_its_context() -> None:
    last = events(execlist_aub())[-1]
    assert last == Submission(last.offset, Engine.RENDER, dwords(0x18800000, 0x10000), 0x40000,
                              page_table=0x100005000)


def batches(data: bytes) -> list[int]:
    return [struct.unpack_from("<I", e.ring, 4)[0] for e in events(data) if isinstance(e, Submission)]


def test_both_elements_of_a_pair_run() -> None:
    assert batches(pair_aub((1, 2))) == [0x1000, 0x2000]
    assert batches(pair_aub((1, 0))) == [0x1000]


def test_an_element_that_waits_does_not_run_twice() -> None:
    assert batches(pair_aub((1, 2), (3, 2))) == [0x1000, 0x2000, 0x3000]
    assert batches(pair_aub((1, 2), (2, 3))) == [0x1000, 0x2000, 0x3000]
    assert batches(pair_aub((1, 2), (2, 3), (2, 0))) == [0x1000, 0x2000, 0x3000, 0x2000]


# --- mixtures, truncation, corruption ---------------------------------------------------------------------------------
def test_mixed_file_runs_one_batch() -> None:
    data = header() + memory_write(0, dwords(1, 0), space=4) + block(BATCH, 0x10000, kind=1) + run(0x10000)
    found = events(data)
    assert [type(e) for e in found] == [Header, GttWrite, MemoryWrite, Submission]
    assert found[1] == GttWrite(68, 0, (1,), 8)


def test_tail_of_zeros_ends_the_trace_without_a_warning() -> None:
    assert events(aub() + bytes(4096)) == events(aub())


def test_truncation_in_the_header_leaves_no_event() -> None:
    assert events(header()[:60]) == [Warning(0, "the file ends inside the header packet: no header")]


def test_truncation_in_the_second_submission_keeps_the_first() -> None:
    first = header() + block(BATCH, 0x10000) + run(0x10000)
    second = block(b"abcdefgh", 0x10000) + run(0x10000)
    found = events(first + second[:24])
    assert [type(e) for e in found] == [Header, MemoryWrite, Submission, MemoryWrite, Warning]
    assert found[3] == MemoryWrite(len(first), 0x10000, b"abcd")
    assert found[4] == Warning(len(first), "the file ends inside a write of 8 bytes, 4 of which are missing")


@pytest.mark.parametrize("name", ["aub", "execlist", "registers"])
def test_every_prefix_gives_a_prefix_of_the_events(name: str) -> None:
    data = {"aub": aub, "execlist": execlist_aub, "registers": ring_registers_aub}[name]()
    whole = events(data)
    for cut in range(8, len(data), 7):
        part = events(data[:cut])
        good = [e for e in part if not isinstance(e, Warning)]
        same = sum(a == b for a, b in zip(good, whole, strict=False))
        assert same >= len(good) - 1  # only the truncated piece may differ
        assert len(part) - len(good) <= 1


def test_strict_turns_truncation_into_an_error() -> None:
    with pytest.raises(TraceError, match=r"test.aub: 0x00000044: the file ends inside"):
        events(header() + block(b"abcd", 0)[:20], strict=True)


@pytest.mark.parametrize(("data", "what"), [
    (dwords(0x12345678), "0x12345678 is not the header of an AUB packet"),
    (dwords(0xE2850000), "is not the header of an AUB packet"),
    (dwords(0xE0C10001, 0, 0), "packet of 3 dwords: a block's header needs 5"),
    (block(b"", 0xFFFFF000, size=0x2000), "block at 0xfffff000: size 8192 goes beyond the address space"),
    (dwords(0xE0C10004, 0x202, 0, 0x1000, 8, 0x10000, 0, 0), "block at 0x1000000001000: size 8 goes beyond"),
    (block(dwords(1, 2), 0xFFFFFFFC, operation=3), "block at 0xfffffffc: size 8 goes beyond"),
    (block(b"", 0, operation=2, kind=2, size=0xFFFFFFFC), "ring block: size 4294967292 is more than a ring can hold"),
    (dwords(0xF7060005, 0, 0, 0, 5, 0), "memory write: size 5 is more than its packet holds"),
    (block(b"abcd", 2, space=4), "page table: address 0x2 and size 4 are not whole entries of 4 bytes"),
    (scattered_write([(0, b"abcd")])[:-4][:2] + b"\x0b\xf7" + scattered_write([(0, b"abcd")])[4:16]
     + dwords(0xFFFF) + scattered_write([(0, b"abcd")])[20:], "scattered write: its sizes are"),
])
def test_corruption_is_damage_at_its_offset_after_the_valid_events(data: bytes, what: str) -> None:
    first, last = events(header() + data)
    assert first == Header(0, 0x2A42, "glxgears", "PCI-ID=0x2a42")
    assert isinstance(last, Warning) and last.damage and last.offset == 0x44
    assert what in last.text
    with pytest.raises(TraceError, match=r"test.aub: 0x00000044"):
        events(header() + data, strict=True)
    with pytest.raises(TraceError, match=r"test.aub: 0x00000000"):  # no valid packet before it
        list(trace.open_bytes(data, "test.aub", kind="aub"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028"])
def test_text_in_a_trace_becomes_one_line(end: str) -> None:
    """It cannot imitate lines of a decoder."""
    forged = f"a comment{end}0x00100000  05000000  MI_BATCH_BUFFER_END".encode()
    (comment,) = [e for e in events(header() + memtrace(0x08, dwords(0) + forged)) if isinstance(e, Comment)]
    assert comment.text == "a comment 0x00100000  05000000  MI_BATCH_BUFFER_END"


def test_huge_size_is_not_allocated_before_data_arrive() -> None:
    found = events(header() + block(b"abcd", 0x1000, size=0xFFFF0000))
    assert found[1] == MemoryWrite(68, 0x1000, b"abcd")
    assert found[2] == Warning(68, "the file ends inside a write of 4294901760 bytes, 4294901756 of which are missing")


def test_large_writes_are_split_into_pieces_of_1_mib() -> None:
    found = [e for e in events(block(bytes(2500000), 0x100000)) if isinstance(e, MemoryWrite)]
    assert [(e.address, len(e.data)) for e in found] == [(0x100000, 1 << 20), (0x200000, 1 << 20), (0x300000, 402848)]


# --- real captures ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "pci_id"), [("triangle-g4x", 0x2A42), ("triangle-brw", 0x2A02),
                                              ("clear-g4x", 0x2A42)])
def test_captures_of_mesa_are_read_without_warnings(name: str, pci_id: int) -> None:
    found = list(trace.open(TRACES / f"{name}.aub.xz", strict=True))
    assert found[0] == Header(0, pci_id, "glscenes", f"PCI-ID=0x{pci_id:x}")
    assert Comment(found[3].offset, "driver: Crocus 22.3.6 build , frame 0") in found
    assert [e for e in found if isinstance(e, Submission)] == [
        Submission(found[-1].offset, Engine.RENDER, dwords(0x18800080, 0x100000), 0x1000)]
