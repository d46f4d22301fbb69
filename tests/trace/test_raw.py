"""Raw batches and hexdump text."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gen4emu import trace
from gen4emu.errors import TraceError
from gen4emu.trace.events import Engine, Event, Header, MemoryWrite, Submission, Warning
from tests.trace.trace_files import BATCH, HEXDUMP, dwords

THREE = dwords(0x61040000, 0x02000000, 0x05000000)


def events(data: bytes, **options: Any) -> list[Event]:
    return list(trace.open_bytes(data, "x", **options))


def test_raw_batch_is_placed_and_started_at_its_base() -> None:
    assert events(BATCH, base=0x12300000, device="gm45") == [
        Header(0, 0x2A42), MemoryWrite(0, 0x12300000, BATCH, kind="batch"),
        Submission(0, Engine.RENDER, dwords(0x18800000, 0x12300000), 0)]


def test_synthetic_ring_does_not_overlap_a_batch_at_zero() -> None:
    last = events(BATCH)[-1]
    assert isinstance(last, Submission)
    assert (last.ring, last.ring_address) == (dwords(0x18800000, 0), 0x1FFFF000)


def test_bytes_after_the_last_dword_are_reported() -> None:
    found = events(BATCH + b"\1\2", base=0x1000)
    assert found[1:3] == [MemoryWrite(0, 0x1000, BATCH, kind="batch"),
                          Warning(16, "the file does not end with a whole dword")]


def test_batch_beyond_the_address_space_is_an_error() -> None:
    with pytest.raises(TraceError, match="0x00000008: the batch at 0xfffffff8 goes beyond the address space"):
        events(BATCH, base=0xFFFFFFF8)


@pytest.mark.parametrize("base", [2, -4, 1 << 32])
def test_base_must_be_a_dword_address(base: int) -> None:
    with pytest.raises(TraceError, match="base address"):
        events(BATCH, base=base)


@pytest.mark.parametrize("text", [
    HEXDUMP,
    "12300000 : 61040000\n12300004 : 02000000\n12300008 : 05000000\n",
    "12300000 :  61040000\r\n12300004 :  02000000\r\n12300008 :  05000000\r\n",
    "0x12300000: 0x61040000 0x02000000 0x05000000\n",
    "0x12300000:  0x61040000: PIPELINE_SELECT\n  12300004:  02000000:  MI_FLUSH 0x00000000\n0x12300008: 0x05000000\n",
])
def test_addressed_dumps(text: str) -> None:
    assert events(text.encode()) == [
        Header(0, None), MemoryWrite(0, 0x12300000, THREE, kind="batch"),
        Submission(0, Engine.RENDER, dwords(0x18800000, 0x12300000), 0)]


@pytest.mark.parametrize("text", ["0x61040000\n0x02000000\n0x05000000\n", "{ 0x61040000, 0x02000000, 0x05000000 }"])
def test_dumps_without_addresses_start_at_the_base(text: str) -> None:
    assert events(text.encode(), base=0x4000)[1] == MemoryWrite(0, 0x4000, THREE, kind="batch")


def test_jumps_start_a_new_write_and_other_lines_are_counted() -> None:
    found = events(b"# a dump\n00001000 : 00000001\n00002000 : 00000002\n00002004 : 00000003\nthe end\n")
    assert found[1:] == [
        MemoryWrite(9, 0x1000, dwords(1), kind="batch"), MemoryWrite(29, 0x2000, dwords(2, 3), kind="batch"),
        Warning(0, "2 lines without dwords: skipped"), Submission(0, Engine.RENDER, dwords(0x18800000, 0x1000), 0)]


def test_base_is_added_to_the_addresses_of_a_dump() -> None:
    assert events(b"00000010 : 00000001\n", base=0x1000)[1] == MemoryWrite(0, 0x1010, dwords(1), kind="batch")


def test_dump_beyond_the_address_space_is_an_error() -> None:
    with pytest.raises(TraceError, match="0x00000000: dword at 0xfffffffe is beyond"):
        events(b"fffffffe : 00000001\n")


@pytest.mark.parametrize("start", [b"12300000:", b"0x61040000", b"0x61040000 "])
def test_spaces_take_linear_time(start: bytes) -> None:
    begun = time.process_time()
    events(start + b" " * (1 << 17) + b"x\n0x05000000\n", base=0x1000)
    assert time.process_time() - begun < 3


def test_kind_can_be_forced() -> None:
    text = HEXDUMP.encode().ljust(400)
    assert events(text, kind="raw")[1] == MemoryWrite(0, 0, text, kind="batch")
    with pytest.raises(TraceError, match="the text contains no dwords"):
        events(BATCH, kind="hexdump")
    with pytest.raises(TraceError, match="unknown kind 'bmp' \\(known: aub, capture, error-state, raw, hexdump\\)"):
        events(BATCH, kind="bmp")
