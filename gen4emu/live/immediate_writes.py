"""The writes of a batch that programs poll for: stores of immediate data, and post-sync writes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from gen4emu.hw.chips import Device
from gen4emu.hw.gen import Gen
from gen4emu.trace.events import from_canonical

_MAX_COMMANDS = 1 << 18
_MAX_DEPTH = 3

Read = Callable[[int, int], bytes]


def writes(chip: Device, read: Read, batch: int, clock: Callable[[], int]) -> Iterator[tuple[int, bytes]]:
    """(address, data) of each write, in order.  Statistics and depth counts are 0; `clock` gives timestamps."""
    wide = chip.address_bits > 32
    gen6 = bool(chip.gen & Gen.GEN6)
    returns: list[int] = []
    address = batch
    for _ in range(_MAX_COMMANDS):
        head = int.from_bytes(read(address, 4), "little")
        length = _length(head)
        words = struct.unpack(f"<{length}I", read(address, 4 * length))
        address += 4 * length
        client, opcode = head >> 29, head >> 23
        if client == 0 and opcode == 0x0A:
            if not returns:
                return
            address = returns.pop()
        elif client == 0 and opcode == 0x31:
            target = words[1] | (words[2] << 32 if wide else 0)
            if head >> 22 & 1 and len(returns) < _MAX_DEPTH:
                returns.append(address)
            address = from_canonical(target & ~3)
        elif client == 0 and opcode == 0x20:
            at, data = (words[1] | words[2] << 32, words[3:]) if wide else (words[2], words[3:])
            yield from_canonical(at), struct.pack(f"<{len(data)}I", *data)
        elif client == 0 and opcode == 0x26 and length >= 4:
            at, data = (words[1] | words[2] << 32, words[3:]) if wide else (words[1], words[2:])
            yield from _post_sync(head >> 14 & 3, from_canonical(at) & ~7, data, clock)
        elif head >> 16 == 0x7A00 and length >= 4:
            at, data = (words[2] | words[3] << 32, words[4:]) if wide else (words[2], words[3:])
            if not (gen6 and words[2] & 4):
                yield from _post_sync(words[1] >> 14 & 3, from_canonical(at) & ~7, data, clock)


def _post_sync(operation: int, address: int, data: tuple[int, ...],
               clock: Callable[[], int]) -> Iterator[tuple[int, bytes]]:
    if operation == 1:
        yield address, struct.pack(f"<{len(data)}I", *data)
    elif operation == 2:
        yield address, bytes(8)
    elif operation == 3:
        yield address, struct.pack("<Q", clock())


def _length(head: int) -> int:
    client = head >> 29
    if client == 0:
        return 1 if head >> 23 < 0x10 else (head & 0xFF) + 2
    if client == 2:
        return (head & 0xFF) + 2
    if client == 3:
        pipeline = head >> 27 & 3
        return 1 if pipeline == 1 else (head & (0xFFFF if pipeline == 2 else 0xFF)) + 2
    return 1
