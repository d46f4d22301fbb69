"""Data types of operands and conversions between them."""

from __future__ import annotations

from enum import Enum

from gen4emu.isa.registers import ImmType, RegType


class Exec(Enum):
    """Execution type."""

    F = "F"
    D = "D"
    W = "W"


BITS = {RegType.UD: 32, RegType.D: 32, RegType.UW: 16, RegType.W: 16, RegType.UB: 8, RegType.B: 8}
SIGNED = (RegType.D, RegType.W, RegType.B)


def bounds(kind: RegType) -> tuple[int, int]:
    bits = BITS[kind]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind in SIGNED else (0, (1 << bits) - 1)


def wrap(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> bits - 1 else value


def wrap_to(value: int, kind: RegType) -> int:
    return wrap(value, BITS[kind], kind in SIGNED)


def is_float(kind: RegType | ImmType) -> bool:
    return kind in (ImmType.VF, ImmType.F) if isinstance(kind, ImmType) else kind is RegType.F


def execution_type(kinds: list[RegType | ImmType]) -> Exec:
    if any(is_float(k) for k in kinds):
        return Exec.F
    if any(k.name in ("D", "UD") for k in kinds):
        return Exec.D
    return Exec.W
