"""Writes the state of a hung device in the text format of the kernel's error states.

Unlike the kernel's, this error state holds all of memory up to a limit, so that a replay of it hangs again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import gen4emu
from gen4emu.core_enums import FENCE_COUNT
from gen4emu.device.command_streamer import CommandStreamer
from gen4emu.device.device import Device
from gen4emu.device.memory import PAGE_SIZE, Memory, Missing
from gen4emu.trace.output import Output
from gen4emu.trace.write_error_state import Report, Section, write_report

DEFAULT_LIMIT_BYTES = 64 << 20
_BATCH_BYTES = 256 << 10
_PIECE_BYTES = 1 << 20
_RING_BYTES = 2 << 20  # the maximum of RING_CTL
_NEAR_BYTES = 256 << 10  # around an address in the state

# The kernel's names, and the project's on the generations; those that a generation does not have are left out.
_GLOBAL = (("EIR", ("EIR", "RENDER_EIR")), ("IER", ("IER", "GTIER")), ("PGTBL_ER", ("PGTBL_ER",)),
           ("ERROR", ("ERROR_GEN6",)))
# The kernel's names, and the project's names after the prefix of the ring.
_ENGINE = (("IPEIR", "IPEIR"), ("IPEHR", "IPEHR"), ("INSTDONE", "INSTDONE"), ("INSTPS", "INSTPS"), ("HWS", "HWS_PGA"),
           ("FADDR", "DMA_FADD"))
_RENDER = (("INSTDONE1", "INSTDONE1"), ("INSTPM", "RENDER_INSTPM"))


def write_error_state(device: Device, destination: str | os.PathLike[str] | BinaryIO, *, reason: str = "",
                      process: str = "", pid: int = 0, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
    """Write the error state of a device whose engine has just hung.  Call it before `device.reset()`.

    `destination` is a path, which appears complete or not at all and is compressed as its name says (.xz, .gz), or a
    binary stream.  `reason` is the text of the HangError; `process` and `pid` say whose batch it was.
    """
    report, ring = _report(device, reason, process, pid)
    sections = _sections(device, ring, limit_bytes)
    if isinstance(destination, str | os.PathLike):
        with Output(destination) as output:
            write_report(report, sections, output.write)
    else:
        write_report(report, sections, destination.write)


def _report(device: Device, reason: str, process: str, pid: int) -> tuple[Report, Section | None]:
    registers, streamer = device.registers, device.streamers[device.engine]
    prefix = streamer.ring

    def read(name: str) -> int:
        return registers.read(registers.offset(name))

    report = Report(device.engine, device.info.pci_id, device.info.name.upper(), f"gen4emu {gen4emu.__version__}",
                    reason, process, pid)
    report.registers = [(name, read(ours)) for name, places in _GLOBAL for ours in places if registers.has(ours)]
    report.fences = [read(f"FENCE_{i}") | registers.read(registers.offset(f"FENCE_{i}") + 4) << 32
                     for i in range(FENCE_COUNT)]
    ring = _ring(streamer)
    start, size, head, tail = (read(f"{prefix}_RING_START"), 0, 0, 0)
    if ring is not None:
        at = streamer.progress.ring_address - ring.address
        start, size = ring.address, len(ring.data)
        head = (at + streamer.progress.ring_at) % size
        tail = (at + len(streamer.progress.ring)) % size
        report.request_head, report.request_tail = head, tail
    report.engine_registers = [
        ("CCID", read("CCID")), ("START", start), ("HEAD", head), ("TAIL", tail),
        ("CTL", (size - PAGE_SIZE | 1) if size else 0), ("ACTHD", read(f"{prefix}_ACTHD")),
        *((name, read(f"{prefix}_{ours}")) for name, ours in _ENGINE)]
    if prefix == "RENDER":
        report.engine_registers += [(name, read(ours)) for name, ours in _RENDER if registers.has(ours)]
    batch = _batch(device.memory, streamer)
    if batch is not None:
        report.batch = batch[0], batch[1]
    return report, ring


def _ring(streamer: CommandStreamer) -> Section | None:
    """The ring contents that were submitted; None for a batch without a ring."""
    progress = streamer.progress
    if not progress.ring:
        return None
    if progress.wrap is not None:
        start, size = progress.wrap
    else:
        start = progress.ring_address & ~(PAGE_SIZE - 1)
        used = progress.ring_address - start + len(progress.ring)
        size = (used // PAGE_SIZE + 1) * PAGE_SIZE  # head and tail differ
    if not 0 < size <= _RING_BYTES:
        return None
    data = bytearray(size)
    at = progress.ring_address - start
    first = progress.ring[:size - at]
    data[at:at + len(first)] = first
    data[:len(progress.ring) - len(first)] = progress.ring[len(first):]
    return Section("ring", start, bytes(data))


def _batch(memory: Memory, streamer: CommandStreamer) -> tuple[int, int] | None:
    """Start and end of the batch that the ring started: at most to the end of the memory that has contents there."""
    start = streamer.progress.batch
    if start is None:
        return None
    for address, size in memory.ranges():
        if address <= start < address + size:
            return start, min(address + size, start + _BATCH_BYTES)
    return None


def _sections(device: Device, ring: Section | None, limit: int) -> Iterator[Section]:
    """The batch, the ring, then all other memory, beginning with the memory that the state points to."""
    memory = device.memory
    streamer = device.streamers[device.engine]
    batch = _batch(memory, streamer)
    taken: list[tuple[int, int]] = []
    if batch is not None:
        yield Section("batch", batch[0], memory.read(batch[0], batch[1] - batch[0], Missing.ZERO))
        taken.append(batch)
    if ring is not None:
        yield ring
        taken.append((ring.address, ring.address + len(ring.data)))
    pieces = list(_pieces(memory, taken))
    if sum(end - start for start, end in pieces) > limit:
        pointers = _pointers(streamer)
        pieces.sort(key=lambda piece: (_distance(piece, pointers), piece))
    for start, end in pieces:
        if end - start > limit:
            continue
        limit -= end - start
        yield Section("user", start, memory.read(start, end - start, Missing.ZERO))


def _pieces(memory: Memory, taken: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Written memory in pieces of limited size, without the parts that are in sections already."""
    for address, size in memory.ranges():
        parts = [(address, address + size)]
        for low, high in taken:
            parts = [part for start, end in parts for part in ((start, min(end, low)), (max(start, high), end))
                     if part[0] < part[1]]
        for start, end in parts:
            for at in range(start, end, _PIECE_BYTES):
                yield at, min(at + _PIECE_BYTES, end)


def _pointers(streamer: CommandStreamer) -> list[int]:
    """The addresses in the state of the context, most important first."""
    raw = streamer.state.raw
    addresses = [raw.wm_state, raw.sf_state, raw.vs_state, raw.gs_state, raw.clip_state, raw.cc_state,
                 *raw.binding_table, raw.surface_state_base, raw.general_state_base]
    addresses += [raw.vertex_buffer[i][1] for i in range(17) if raw.vertex_buffer_valid >> i & 1]
    return [streamer.position.address, *(int(a) for a in addresses if a)]


def _distance(piece: tuple[int, int], pointers: list[int]) -> int:
    """The rank of the first pointer whose neighbourhood touches the piece."""
    start, end = piece
    near = (i for i, p in enumerate(pointers) if start < p + _NEAR_BYTES and p - _NEAR_BYTES < end)
    return next(near, len(pointers))
