"""Names that a user writes for registers, opcodes, functions and stages."""

from __future__ import annotations

import difflib
import re
import struct
from collections.abc import Iterator

import numpy as np

from gen4emu.debug.look import Look
from gen4emu.debug.model import STAGES
from gen4emu.device.memory import Unit
from gen4emu.errors import FieldError
from gen4emu.isa.message_text import SFIDS
from gen4emu.isa.opcodes import Opcode

_RANGE = re.compile(r"(?P<file>[gm])(?P<first>\d{1,3})(?:\.\.(?:[gm])?(?P<last>\d{1,3}))?")
_ELEMENT = re.compile(r"(?P<file>[gm])(?P<number>\d{1,3})\.(?P<element>\d{1,2})(?::(?P<type>\w+))?")
_SPECIAL = re.compile(r"(?P<file>f0|cr0)\.(?P<number>[0-2])")
_TYPES = {"f": "f", "d": "i", "ud": "I", "w": "h", "uw": "H", "b": "b", "ub": "B"}


def opcode(name: str) -> int:
    """By name or number."""
    if name.upper() in Opcode.__members__:
        return int(Opcode[name.upper()])
    if name.isdigit() and int(name) < 128:
        return int(name)
    raise FieldError(f"unknown opcode {name!r}{_meant(name, [o.name.lower() for o in Opcode])}")


def _meant(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def function(name: str) -> int:
    """A shared function by the assembler's names, or its number."""
    if name in SFIDS:
        return SFIDS[name]
    if name.isdigit() and int(name) < 16:
        return int(name)
    raise FieldError(f"unknown shared function {name!r} (known: {', '.join(n for n in SFIDS if 'sfid' not in n)})")


def units(bits: int) -> Iterator[Unit]:
    return (unit for unit in STAGES if bits >> unit & 1)


def registers(name: str) -> tuple[str, range]:
    """`g4`, `g0..g9`, `m2..5`."""
    m = _RANGE.fullmatch(name)
    if m is None:
        raise FieldError(f"invalid register {name!r} (examples: g4, g0..g9, m2..m5)")
    first = int(m["first"])
    return m["file"], range(first, int(m["last"] or first) + 1)


def assign(look: Look, name: str, text: str) -> None:
    """Give a register or a part of it a value."""
    special = _SPECIAL.fullmatch(name)
    if special is not None:
        value = _integer(text)
        if special["file"] == "cr0":
            look.set_control(int(special["number"]), value)
        elif special["number"] == "2":
            raise FieldError("f0.0 and f0.1 are the flags")
        else:
            look.set_flag(int(special["number"]), value)
        return
    m = _ELEMENT.fullmatch(name)
    kind = _TYPES.get(m["type"] or "ud") if m is not None else None
    if m is None or kind is None:
        raise FieldError(f"invalid part of a register {name!r} (examples: g4.2, g4.2:f, m2.0:uw, f0.0, cr0.1)")
    words = look.grf(int(m["number"])) if m["file"] == "g" else look.mrf(int(m["number"]))
    size = struct.calcsize(kind)
    at = int(m["element"]) * size
    if at + size > 32:
        raise FieldError(f"{name}: a register has {32 // size} elements of that type")
    try:
        packed = struct.pack(f"<{kind}", float(text) if kind == "f" else _integer(text))
    except (ValueError, struct.error, OverflowError):
        raise FieldError(f"{text!r} does not fit {name}") from None
    words.view(np.uint8)[at:at + size] = np.frombuffer(packed, np.uint8)


def _integer(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise FieldError(f"invalid number {text!r}") from None
