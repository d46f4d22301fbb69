"""Context images of execution lists (Gen8 and later), as far as traces need them.

The state page of an image holds the ring's registers and the root of the page tables as operands of
MI_LOAD_REGISTER_IMM (Broadwell PRM, volume 7, "Logical Ring Context Format"); the per-process status page precedes it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from gen4emu.trace.events import Engine

STATUS_BYTES = 4096  # of the per-process status page
_DWORDS = 64
_IMAGE = struct.Struct(f"<{_DWORDS}I")
_NOOP, _LOAD_REGISTERS, _BATCH_END = 0, 0x11001000, 0x05000000
# Offsets from the base of the engine's registers, in the order of the image.
_RING = (0x244, 0x034, 0x030, 0x038, 0x03C, 0x168, 0x140, 0x110, 0x11C, 0x114, 0x118, 0x1C0, 0x1C4, 0x1C8)
_TABLES = (0x3A8, 0x28C, 0x288, 0x284, 0x280, 0x27C, 0x278, 0x274, 0x270)
_RING_AT, _TABLES_AT = 1, 33  # where the two lists start
_HEAD, _TAIL, _START, _CTL = (_RING_AT + 2 + 2 * _RING.index(register) for register in (0x034, 0x030, 0x038, 0x03C))
_ROOT_HIGH, _ROOT_LOW = (_TABLES_AT + 2 + 2 * _TABLES.index(register) for register in (0x274, 0x270))
_RESTORE_INHIBITED = 0x00090009  # of CTX_CONTEXT_CONTROL: synchronous switch, no restore of the engine's state

REGISTER_BASES = {Engine.RENDER: 0x2000, Engine.BSD: 0x12000, Engine.BLT: 0x22000, Engine.VEBOX: 0x1A000}
IMAGE_BYTES = 4 * (_ROOT_LOW + 1)  # that `decode` needs


@dataclass(frozen=True, slots=True)
class LogicalContext:
    """The registers of an image that decide what runs."""

    head: int
    tail: int
    start: int
    ctl: int
    page_table: int  # physical address of the root


def decode(image: bytes) -> LogicalContext:
    """The registers in the first IMAGE_BYTES of a state page."""
    words = struct.unpack_from(f"<{_ROOT_LOW + 1}I", image)
    return LogicalContext(words[_HEAD], words[_TAIL], words[_START], words[_CTL], words[_ROOT_HIGH] << 32
                          | words[_ROOT_LOW])


def encode(context: LogicalContext, engine: Engine) -> bytes:
    """A state page up to its end of commands."""
    base = REGISTER_BASES[engine]
    words = [_NOOP] * _DWORDS
    for at, registers in ((_RING_AT, _RING), (_TABLES_AT, _TABLES)):
        words[at] = _LOAD_REGISTERS | 2 * len(registers) - 1
        words[at + 1:at + 1 + 2 * len(registers):2] = [base + register for register in registers]
    words[_RING_AT + 2] = _RESTORE_INHIBITED
    words[_HEAD], words[_TAIL], words[_START], words[_CTL] = context.head, context.tail, context.start, context.ctl
    words[_ROOT_HIGH], words[_ROOT_LOW] = context.page_table >> 32, context.page_table & 0xFFFFFFFF
    words[-1] = _BATCH_END
    return _IMAGE.pack(*words)
