"""Reads batches without a container: raw dwords, and hexdump text in the layouts of common decoders.

The file names neither its device nor, if raw, its address: the user gives both.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from gen4emu.errors import TraceError
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.trace.devices import DeviceCheck
from gen4emu.trace.events import Engine, Event, MemoryWrite, Submission, Warning
from gen4emu.trace.ring import spare_ring_address, start_batch
from gen4emu.trace.source import Source

_RUN_DWORDS = 16384
_LINE_BYTES = 4096

# Time is linear in the length of a line: no two parts beside each other match the same spaces.
_DWORD = rb"(?:0x)?[0-9a-fA-F]{8}(?![0-9a-zA-Z])"
_ADDRESSED = re.compile(rb"\s*((?:0x)?[0-9a-fA-F]{8})\s*:\s*(?:(?:HEAD|TAIL)\s*)?"
                        rb"(" + _DWORD + rb"(?:[ \t,]+" + _DWORD + rb"(?!\s*:))*)")
_HEX_DWORD = rb"0x[0-9a-fA-F]{8}(?![0-9a-zA-Z])"
_BARE = re.compile(rb"[\s{]*(" + _HEX_DWORD + rb"(?:[ \t]*(?:,[ \t]*)?" + _HEX_DWORD + rb")*)(?!\s*:)")
_ONE = re.compile(_DWORD)


def is_batch(head: bytes, complete: bool) -> bool:
    """True if the dwords are a batch: only known commands of one chip, up to MI_BATCH_BUFFER_END.

    `head` is the start of a file, or all of it if `complete`.  If a batch is longer than `head`, all commands in `head`
    must be known.
    """
    words = struct.unpack(f"<{len(head) // 4}I", head[:len(head) & ~3])
    return any(_ends_well(words, gen, complete) for gen in Gen.ALL4)


def _ends_well(words: tuple[int, ...], gen: Gen, complete: bool) -> bool:
    catalogue = catalogue_of(gen)
    at = 0
    while at < len(words):
        command = catalogue.command_for(words[at])
        if command is None:
            return False
        if command.name == "MI_BATCH_BUFFER_END":
            return True
        at += catalogue.length(words[at])
    return not complete


def read_raw(source: Source, check: DeviceCheck, base: int) -> Iterator[Event]:
    """Read a file of dwords as one batch at `base`."""
    end = _address_space(check)
    _check_base(source, base, end)
    yield check.header(0, None)
    address = base
    for piece in source.pieces(end - base):
        whole = len(piece) & ~3
        if whole:
            yield MemoryWrite(source.position - len(piece), address, piece[:whole], kind="batch")
            address += whole
        if whole < len(piece):
            yield Warning(source.position - len(piece) + whole, "the file does not end with a whole dword")
    if source.peek(1):
        raise TraceError(source.name, source.position, f"the batch at 0x{base:08x} goes beyond the address space")
    yield _run(0, base, check)


def read_hexdump(source: Source, check: DeviceCheck, base: int) -> Iterator[Event]:
    """Read text with dwords, with or without addresses (to which `base` is added), as one batch."""
    end = _address_space(check)
    _check_base(source, base, end)
    yield check.header(0, None)
    first: int | None = None
    run: list[int] = []
    at = address = base  # of `run`, and of the next dword
    ignored = 0
    run_offset = 0
    while True:
        offset = source.position
        line = source.line(_LINE_BYTES)
        if not line:
            break
        found = dwords_in(line)
        if found is None:
            ignored += bool(line.strip())
            continue
        where, words = found
        if where is not None:
            where += base
        if run and (len(run) >= _RUN_DWORDS or (where is not None and where != address)):
            yield _write(run_offset, at, run)
            run = []
        if where is not None:
            address = where
        if address + 4 * len(words) > end:
            raise TraceError(source.name, offset, f"dword at 0x{address:08x} is beyond the address space")
        if not run:
            at, run_offset = address, offset
        if first is None:
            first = address
        run += words
        address += 4 * len(words)
    if run:
        yield _write(run_offset, at, run)
    if ignored:
        yield Warning(0, f"{ignored} lines without dwords: skipped")
    if first is None:
        raise TraceError(source.name, None, "the text contains no dwords")
    yield _run(0, first, check)


def dwords_in(line: bytes) -> tuple[int | None, list[int]] | None:
    """The address, or None, and the dwords of a line; None if the line has no dwords."""
    found = _ADDRESSED.match(line)
    if found is not None:
        return int(found[1], 16), [int(word, 16) for word in _ONE.findall(found[2])]
    found = _BARE.match(line)
    if found is not None:
        return None, [int(word, 16) for word in _ONE.findall(found[1])]
    return None


def _address_space(check: DeviceCheck) -> int:
    return 1 << (32 if check.override is None else check.override.address_bits)


def _check_base(source: Source, base: int, end: int) -> None:
    if not 0 <= base < end or base % 4:
        limit = f"{end >> 30} GiB" if end >> 40 == 0 else f"{end >> 40} TiB"
        raise TraceError(source.name, None, f"base address 0x{base:x} is not a multiple of 4 below {limit}")


def _write(offset: int, address: int, words: list[int]) -> MemoryWrite:
    return MemoryWrite(offset, address, struct.pack(f"<{len(words)}I", *words), kind="batch")


def _run(offset: int, batch: int, check: DeviceCheck) -> Submission:
    ring = start_batch(batch, is_wide=_address_space(check) > 1 << 32)
    return Submission(offset, Engine.RENDER, ring, spare_ring_address(batch))
