"""What a ring was running when the GPU hung: the ring of an error state, from head to tail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gen4emu.trace.events import Engine, Submission, Warning
from gen4emu.trace.ring import (
    MAX_RING_BYTES,
    RingPosition,
    command_is_in_ring,
    head_offset,
    ring_enabled,
    ring_size,
    spare_ring_address,
    start_batch,
    starts_batch,
    tail_offset,
)


@dataclass(slots=True)
class Ring:
    """A ring's contents."""

    address: int
    data: bytearray = field(default_factory=bytearray)

    def put(self, at: int, data: bytes) -> None:
        if at > len(self.data):
            self.data.extend(bytes(at - len(self.data)))
        self.data[at:at + len(data)] = data


def submission(offset: int, engine: Engine, registers: Mapping[str, int], ring: Ring | None,
               batches: Sequence[tuple[int, int]]) -> Iterator[Submission | Warning]:
    """What one engine was running.

    The ring tells, if the dump has it and says where its head was; else the batch is all there is to start from.
    """
    size = _size(registers, ring)
    acthd = _acthd(registers, ring, size, batches)
    batch = _guilty(batches, acthd)
    hung = bool(registers.get("hung", 1))
    position = None if ring is None else _position(registers, ring, size)
    if ring is not None and position is not None and position.head != position.tail:
        spans = position.spans()
        contents = b"".join(ring.data[at:at + count] for at, count in spans)
        if len(contents) < sum(count for _, count in spans):
            yield Warning(offset, f"{engine.value} ring: the dump ends before the tail 0x{position.tail:x}")
        yield Submission(offset, engine, contents, ring.address + position.head, acthd, hung, batch, position.wrap)
    elif batch is not None:
        if batch >= 1 << 32:
            yield Warning(offset, f"batch at 0x{batch:x}: beyond what a Gen4 command can name")
            return
        yield Submission(offset, engine, start_batch(batch), spare_ring_address(batch), acthd, hung, batch)
    elif ring is not None and position is None:
        yield Warning(offset, f"{engine.value} ring: the dump does not say where its head is: all of it is shown")
        yield Submission(offset, engine, bytes(ring.data), ring.address, acthd, hung)


def _size(registers: Mapping[str, int], ring: Ring | None) -> int:
    """The ring's length: a disabled ring's CTL does not tell."""
    ctl = registers.get("CTL", 0)
    if ring_enabled(ctl):
        return ring_size(ctl)
    return MAX_RING_BYTES if ring is None else len(ring.data)


def _acthd(registers: Mapping[str, int], ring: Ring | None, size: int,
           batches: Sequence[tuple[int, int]]) -> int | None:
    """The address of the command that hung.  Dumps without START may give an offset in the ring instead.

    Without ACTHD the head is what there is: the command that it stands at, or the batch that was started last.
    """
    acthd = registers.get("ACTHD")
    if acthd is None:
        head = registers.get("HEAD")
        return None if head is None or ring is None else ring.address + _last_start(ring, size, head_offset(head))
    acthd &= ~3  # bit 0 says that it is in a batch
    known = any(address <= acthd < address + length for address, length in batches)
    if ring is None or known or "START" in registers or ring.address <= acthd < ring.address + size:
        return acthd
    return ring.address + acthd if command_is_in_ring(acthd, None, size) else acthd


def _guilty(batches: Sequence[tuple[int, int]], acthd: int | None) -> int | None:
    """The batch that was running: the one that ACTHD points into, or the first."""
    for address, size in batches:
        if acthd is not None and address <= acthd < address + size:
            return address
    return batches[0][0] if batches else None


def _position(registers: Mapping[str, int], ring: Ring, size: int) -> RingPosition | None:
    """Head and tail, if the dump says them.

    The start of the guilty request is best; the driver's own head lies before it; the register lies behind the
    MI_BATCH_BUFFER_START that was executed last.
    """
    tail = registers.get("TAIL", registers.get("ring->tail"))
    software = registers.get("request_head", registers.get("ring->head"))
    hardware = registers.get("HEAD")
    if tail is None or (software is None and hardware is None):
        return None
    head = head_offset(hardware or 0) if software is None else head_offset(software)
    if software is None:
        head = _last_start(ring, size, head)
    position = RingPosition(ring.address, size, head, tail_offset(tail))
    return position if max(position.head, position.tail) < size else None


def _last_start(ring: Ring, size: int, head: int) -> int:
    """The offset of the MI_BATCH_BUFFER_START that the head lies behind, else the head."""
    before = (head - 8) % size if size else 0
    return before if starts_batch(int.from_bytes(ring.data[before:before + 4], "little")) else head
