"""The instructions with which a thread computed its first NaN or infinity, and met its first denormal."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gen4emu.core_enums import DebugKind
from gen4emu.debugger.model import Thread
from gen4emu.device.memory import Unit
from gen4emu.isa.disassembler import Line
from gen4emu.isa.registers import RegType

_CODES = {RegType.UD: "I", RegType.D: "i", RegType.UW: "H", RegType.W: "h", RegType.UB: "B", RegType.B: "b",
          RegType.F: "f", RegType.DF: "d"}


_RESULT = 3  # in place of an operand


@dataclass(frozen=True, slots=True)
class SpecialNumber:
    """A NaN, an infinity or a denormal in a channel of an instruction."""

    address: int  # of the instruction
    text: str
    channel: int
    pixel: tuple[int, int] | None
    result: float | None  # None: not in a register that the instruction names
    sources: tuple[float | int | None, ...]  # before the instruction; None: not in a register
    denormal: int | None  # the operand that is one; 3: the result; None: the result is not finite

    @property
    def reason(self) -> str:
        where = f" (pixel {self.pixel[0]},{self.pixel[1]})" if self.pixel is not None else ""
        return f"0x{self.address:08x} has {self._event} in channel {self.channel}{where}"

    @property
    def _event(self) -> str:
        if self.denormal is not None and self.denormal < _RESULT:
            return f"read a denormal as operand {self.denormal}"
        if self.denormal is not None:
            return "flushed a denormal result to 0" if self.result == 0 else "computed a denormal"
        assert self.result is not None
        return f"computed {'a NaN' if math.isnan(self.result) else '-infinity' if self.result < 0 else 'infinity'}"

    def as_json(self) -> dict[str, Any]:
        found = {"address": self.address, "text": self.text, "channel": self.channel,
                 "pixel": list(self.pixel) if self.pixel is not None else None,
                 "result": None if self.result is None else number_text(self.result),
                 "sources": [None if value is None else number_text(value) for value in self.sources]}
        if self.denormal is not None:
            found["operand"] = self.denormal if self.denormal < _RESULT else None
        return found


def number_text(value: float | int) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def special_number_of(event: Any, thread: Thread, code: list[Line]) -> SpecialNumber:
    text = next((line.text for line in code if line.address == event.value), "")
    last = max((i + 1 for i in range(3) if event.has_source[i]), default=0)
    sources = tuple(_number(event.source[i], event.source_type[i]) if event.has_source[i] else None
                    for i in range(last))
    return SpecialNumber(event.value, text, event.channel, pixel_of(thread, event.channel),
                         float(_number(event.result, event.result_type)) if event.has_result else None, sources,
                         event.denormal if event.kind == DebugKind.DENORMAL else None)


def pixel_of(thread: Thread, channel: int) -> tuple[int, int] | None:
    """The pixel of a channel, if the thread shades pixels: four channels for each 2x2 block."""
    block, pixel = divmod(channel, 4)
    if thread.unit is not Unit.WM or block >= len(thread.subspans):
        return None
    x, y = thread.subspans[block]
    return x + pixel % 2, y + pixel // 2


def _number(bits: int, kind: int) -> float | int:
    code = _CODES.get(RegType(kind), "I")
    value: float | int = struct.unpack(f"<{code}", bits.to_bytes(8, "little")[:struct.calcsize(code)])[0]
    return value


def special_number_lines(found: SpecialNumber) -> Iterator[str]:
    """The instruction and the operands of the channel."""
    yield f"   0x{found.address:08x}  {found.text}"
    operands = ", ".join("not known" if value is None else number_text(value) for value in found.sources)
    result = "no float" if found.result is None else number_text(found.result)
    yield f"   channel {found.channel}: {operands or 'no operands'} -> {result}"
