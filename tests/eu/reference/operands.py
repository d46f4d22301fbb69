"""The addresses of operands, and reading them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gen4emu.isa.instruction import (
    Align1Region,
    Align16Region,
    DirectOperand,
    Immediate,
    IndirectOperand,
    Operand,
    RegisterOperand,
)
from gen4emu.isa.registers import (
    HSTRIDES,
    TYPE_BYTES,
    VSTRIDE_INDEXED,
    VSTRIDES,
    WIDTHS,
    Arf,
    ImmType,
    RegFile,
    RegType,
)
from tests.eu.reference import floats
from tests.eu.reference.thread import NAN_MARKS, Thread, Unspecified
from tests.eu.reference.types import SIGNED, Exec, wrap


@dataclass
class Element:
    """One channel of a source: its bits, and its value with modifiers applied at its own width."""

    bits: int
    value: float | int
    known: bool = True  # False: bytes of a NaN read as something else
    free: bool = False  # a NaN with a free payload

    def number(self, kind: Exec) -> float | int:
        """In the execution type."""
        if not self.known:
            raise Unspecified("bits of a NaN")
        if kind is Exec.F:
            return floats.from_int(self.value) if isinstance(self.value, int) else self.value
        return self.value


def sign_extended(bits: int, kind: RegType) -> int:
    return wrap(bits, 8 * TYPE_BYTES[kind], kind in SIGNED)


def modified(value: float | int, kind: RegType | ImmType, absolute: bool, negate: bool) -> float | int:
    """abs, then negate; D at its own width, UD and narrower types with room for the sign."""
    if isinstance(value, float):
        value = math.fabs(value) if absolute else value
        return -value if negate else value
    own_width = kind.name == "D"
    if absolute:
        value = wrap(abs(value), 32, True) if own_width else abs(value)
    if negate:
        value = wrap(-value, 32, True) if own_width else -value
    return value


def immediate_element(imm: Immediate, channel: int) -> Element:
    bits = imm.bits
    match imm.type:
        case ImmType.F:
            return Element(bits, floats.from_bits(bits))
        case ImmType.VF:
            value = floats.vector_element(bits >> 8 * (channel & 3) & 0xFF)
            return Element(floats.to_bits(value), value)
        case ImmType.V:
            return Element(0, wrap(bits >> 4 * (channel & 7), 4, True))
        case ImmType.UD:
            return Element(bits, bits)
        case ImmType.D:
            return Element(bits, wrap(bits, 32, True))
        case ImmType.UW:
            return Element(bits & 0xFFFF, bits & 0xFFFF)
        case ImmType.W:
            return Element(bits & 0xFFFF, wrap(bits, 16, True))
        case _:
            return Element(bits & 0xFF, bits & 0xFF)


def indirect_address(thread: Thread, operand: IndirectOperand, index: int) -> int:
    """Register and subregister are added separately; the carry between them is lost."""
    if not 0 <= index < 8:
        raise Unspecified("address register beyond a0.7")
    address, offset = thread.address[index], operand.addr_imm
    reg = (address >> 5) + (offset >> 5)
    return 32 * reg + ((address & 31) + (offset & 31) & 31)


def is_scalar(region: Align1Region | Align16Region) -> bool:
    return isinstance(region, Align1Region) and region.vstride == 0 and region.width == 0


def second_pass(src: DirectOperand, dword_execution: bool) -> int:
    """Bytes by which a source moves in the second pass of a compressed instruction."""
    region = src.region
    assert isinstance(region, Align1Region)
    if is_scalar(region):
        return 0
    if TYPE_BYTES[src.type] == 2 and HSTRIDES[region.hstride] == 1 and dword_execution:
        return 16
    return 32


def offsets(region: object, n: int, size: int) -> list[int]:
    """Byte offsets of n channels from the operand's first byte."""
    if isinstance(region, Align16Region):
        if region.vstride not in (0, 3):
            raise Unspecified("Align16 with another vertical stride than 0 and 4")
        row = VSTRIDES[region.vstride]
        return [(c // 4 * row + (region.swizzle >> 2 * (c & 3) & 3)) * size for c in range(n)]
    assert isinstance(region, Align1Region)
    if region.vstride not in VSTRIDES or region.width not in WIDTHS:
        raise Unspecified("a reserved stride")
    v, w, h = VSTRIDES[region.vstride], WIDTHS[region.width], HSTRIDES[region.hstride]
    return [(c // w * v + c % w * h) * size for c in range(n)]


def source_addresses(thread: Thread, src: RegisterOperand, n: int, half: int, dword_execution: bool) -> list[int]:
    """Flat byte addresses in the GRF."""
    size = TYPE_BYTES[src.type]
    region = src.region
    if isinstance(src, DirectOperand):
        base = 32 * src.nr + src.subnr + (second_pass(src, dword_execution) if half else 0)
        return [base + o for o in offsets(region, n, size)]
    if isinstance(region, Align1Region) and region.vstride == VSTRIDE_INDEXED:
        if half:
            raise Unspecified("one address register a row in a compressed instruction")
        w, h = WIDTHS[region.width], HSTRIDES[region.hstride]
        return [indirect_address(thread, src, src.addr_subreg + c // w) + c % w * h * size for c in range(n)]
    base = indirect_address(thread, src, src.addr_subreg + half)
    return [base + o for o in offsets(region, n, size)]


def grf_element(thread: Thread, address: int, src: RegisterOperand) -> Element:
    size = TYPE_BYTES[src.type]
    data, marks = bytearray(size), bytearray(size)
    for i in range(size):
        if 0 <= address + i < len(thread.grf):  # reads past the registers give 0
            data[i], marks[i] = thread.grf[address + i], thread.grf_marks[address + i]
    bits = int.from_bytes(data, "little")
    if src.type is RegType.F:
        free = bytes(marks) == NAN_MARKS
        value: float | int = floats.from_bits(bits)
        known = free or not any(marks)
    else:
        free, known = False, not any(marks)
        value = sign_extended(bits, src.type)
    return Element(bits, modified(value, src.type, src.abs, src.negate), known, free)


def accumulator_element(thread: Thread, index: int, channel: int, kind: Exec) -> Element:
    """All the bits an accumulator has, modifiers ignored."""
    slot = thread.acc[index][channel]
    return Element(0, slot.value, slot.kind is kind)


def kind_of(kind: RegType) -> Exec:
    return Exec.F if kind is RegType.F else Exec.D if TYPE_BYTES[kind] == 4 else Exec.W


def is_accumulator(operand: Operand | None) -> bool:
    return isinstance(operand, DirectOperand) and operand.file is RegFile.ARF and operand.nr >> 4 == Arf.ACC


def read(thread: Thread, src: Operand, n: int, half: int, dword_execution: bool, acc: int) -> list[Element]:
    """All channels of a source in one pass."""
    if isinstance(src, Immediate):
        return [immediate_element(src, c) for c in range(n)]
    if src.file is RegFile.MRF:
        raise Unspecified("a message register as a source")
    if src.file is RegFile.ARF:
        if isinstance(src, IndirectOperand):
            raise Unspecified("an indirect architecture register")
        if is_accumulator(src):
            return [accumulator_element(thread, acc, c, kind_of(src.type)) for c in range(n)]
        return arf_elements(thread, src, n, half, dword_execution)
    return [grf_element(thread, a, src) for a in source_addresses(thread, src, n, half, dword_execution)]


def arf_elements(thread: Thread, src: DirectOperand, n: int, half: int, dword_execution: bool) -> list[Element]:
    size = TYPE_BYTES[src.type]
    if src.nr >> 4 == Arf.NULL:
        zero: float | int = 0.0 if src.type is RegType.F else 0
        return [Element(0, modified(zero, src.type, src.abs, src.negate))] * n
    image = thread.arf(src.nr)
    base = src.subnr + (second_pass(src, dword_execution) if half else 0)
    found = []
    for o in offsets(src.region, n, size):
        if base + o + size > 32:
            raise Unspecified("an architecture register crossed")
        bits = int.from_bytes(image[base + o:base + o + size], "little")
        value = floats.from_bits(bits) if src.type is RegType.F else sign_extended(bits, src.type)
        found.append(Element(bits, modified(value, src.type, src.abs, src.negate)))
    return found
