"""A second EU of Gen7, Gen7.5 and Gen9 in NumPy: the arithmetic of all threads of a gang at once.

It shares nothing with the C core but the decoder of instruction words.  Whatever it does not define raises
`Unspecified`.  Flow control is in `gen7_flow`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gen4emu.hw.gen import Gen
from gen4emu.isa.instruction import (
    Align1Region,
    Align16Region,
    DestRegion,
    DirectOperand,
    Immediate,
    IndirectOperand,
    Instruction,
    Operand,
    RegisterOperand,
    TernaryRegion,
)
from gen4emu.isa.opcodes import Flag, Shape
from gen4emu.isa.registers import (
    HSTRIDES,
    TYPE_BYTES,
    VSTRIDE_INDEXED,
    VSTRIDES,
    WIDTHS,
    Arf,
    CondMod,
    ImmType,
    RegFile,
    RegType,
)
from tests.eu.reference.thread import Unspecified

Array = NDArray[np.generic]
T = RegType
SIGNED = {T.Q: 64, T.D: 32, T.W: 16, T.B: 8}
UNSIGNED = {T.UQ: 64, T.UD: 32, T.UW: 16, T.UB: 8}
FLOATS = (T.HF, T.F, T.DF)
WIDTH = SIGNED | UNSIGNED
INF32 = 0x7F800000


# --- numbers ----------------------------------------------------------------------------------------------------------

def float_of(bits: Array) -> Array:
    """32-bit floats as doubles; denormals are zeros."""
    b = bits.astype(np.uint32)
    b = np.where(b & INF32 == 0, b & 0x80000000, b).astype(np.uint32)
    with np.errstate(invalid="ignore"):
        return b.view(np.float32).astype(np.float64)


def double_of(bits: Array) -> Array:
    return flushed(bits.astype(np.uint64).view(np.float64))


def flushed(d: Array) -> Array:
    return np.where(np.abs(d) < 2.0 ** -1022, np.copysign(0.0, d), d)


def round_float(d: Array, alternate: Array) -> Array:
    """Doubles to the nearest floats, as doubles: denormal results are zeros, NaN has one pattern."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        f = d.astype(np.float32)
        scaled = (d * 2.0 ** 64).astype(np.float32).astype(np.float64)
    out = float_of(f.view(np.uint32))
    # a result is a denormal if it is one after rounding with an unbounded exponent
    out = np.where(np.abs(scaled) < 2.0 ** -62, np.copysign(0.0, d), out)
    out = np.where(np.isinf(out) & alternate, np.copysign(float(np.finfo(np.float32).max), out), out)
    return np.where(np.isnan(d), np.nan, out)


def float_bits(d: Array) -> Array:
    with np.errstate(invalid="ignore"):
        bits = d.astype(np.float32).view(np.uint32).astype(np.uint64)
    return np.where(np.isnan(d), np.uint64(0x7FC00000), bits)


def double_bits(d: Array) -> Array:
    return np.where(np.isnan(d), np.uint64(0x7FF8000000000000), d.view(np.uint64))


def exponent_of(x: Fraction) -> int:
    """The least e with abs(x) < 2 ** e."""
    magnitude = abs(x)
    e = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return e + 1 if magnitude >= Fraction(2) ** e else e


def nearest(x: Fraction, precision: int) -> Fraction:
    """Rounded to `precision` bits, ties to even."""
    if not x:
        return x
    scale = Fraction(2) ** (precision - exponent_of(x))
    return Fraction(round(x * scale)) / scale


def to_odd(x: Fraction, precision: int) -> Fraction:
    """Cut to `precision` bits, the last of which is set if others are lost; rounding to fewer gives the nearest."""
    if not x:
        return x
    scale = Fraction(2) ** (precision - exponent_of(x))
    whole = abs(x) * scale
    kept = whole.numerator // whole.denominator
    return (kept if kept == whole else kept | 1) / scale * (1 if x > 0 else -1)


def half_bits(value: Array) -> Array:
    """The nearest half floats, denormals too, of floats or whole numbers below 2 ** 53; NaN has one pattern."""
    number = value.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        found = number.astype(np.float16).view(np.uint16).astype(np.uint64)
    return np.where(np.isnan(number), np.uint64(0x7E00), found)


def half_values(bits: Array) -> Array:
    return (bits & np.uint64(0xFFFF)).astype(np.uint16).view(np.float16).astype(np.float64)


def fused(a: Array, b: Array, c: Array, precision: int,
          rounding: Callable[[Fraction, int], Fraction] = nearest) -> Array:
    """a + b * c, rounded once."""
    with np.errstate(all="ignore"):
        product = b * c
        plain = a + product
        part = plain - a
        lost = (a - (plain - part)) + (product - part)  # exact if the product is
    out = plain.copy()
    for i in np.ndindex(plain.shape):
        if (precision == 24 or rounding is to_odd) and lost[i] == 0:
            continue
        if not (np.isfinite(b[i]) and np.isfinite(c[i])):
            continue
        if not np.isfinite(a[i]):
            out[i] = a[i]  # the exact product is finite, even where the one above is not
            continue
        exact = Fraction(float(a[i])) + Fraction(float(b[i])) * Fraction(float(c[i]))
        if exact:
            try:
                out[i] = float(rounding(exact, precision))
            except OverflowError:
                out[i] = np.inf if exact > 0 else -np.inf
    return out


def wrap(value: Array, kind: RegType) -> Array:
    """The low bits of integers, extended as the type demands."""
    bits = WIDTH[kind]
    value = value.astype(object) if bits == 64 else value
    low = value & ((1 << bits) - 1)
    return np.where(low >> (bits - 1) != 0, low - (1 << bits), low) if kind in SIGNED else low


def bounds(kind: RegType) -> tuple[int, int]:
    bits = WIDTH[kind]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind in SIGNED else (0, (1 << bits) - 1)


def to_integer(d: Array, kind: RegType) -> Array:
    """Toward zero, clamped; NaN is 0."""
    low, high = bounds(kind)
    if WIDTH[kind] == 64:
        whole = [0 if np.isnan(x) else max(min(int(np.clip(x, -1e30, 1e30)), high), low) for x in d.ravel()]
        return np.array(whole, object).reshape(d.shape)
    return np.clip(np.trunc(np.where(np.isnan(d), 0.0, d)), low, high).astype(np.int64)


def low_bits(value: Array) -> Array:
    """The low 64 bits of integers of any size."""
    if value.dtype != object:
        return value.astype(np.uint64)
    return np.array([int(v) & (1 << 64) - 1 for v in value.ravel()], np.uint64).reshape(value.shape)


def whole_float(value: Array) -> Array:
    """The bits of the floats that are nearest to integers."""
    if value.dtype != object:
        return value.astype(np.float32).view(np.uint32).astype(np.uint64)
    return float_bits(np.array([float(nearest(Fraction(int(v)), 24)) for v in value.ravel()]).reshape(value.shape))


def compare(cond: int, a: Array, b: Array) -> Array:
    """A comparison with NaN is false, except for `nz`."""
    match cond:
        case CondMod.Z:
            return a == b
        case CondMod.NZ:
            return a != b
        case CondMod.G:
            return a > b
        case CondMod.GE:
            return a >= b
        case CondMod.L:
            return a < b
        case CondMod.LE:
            return a <= b
        case CondMod.U:
            return np.isnan(a) | np.isnan(b)
        case _:
            raise Unspecified(f"condition {cond}")


def compare_n(cond: int, a: Array, b: Array) -> Array:
    """If one side is NaN, the other one is selected."""
    if a.dtype.kind != "f":
        return compare(cond, a, b)
    return np.where(np.isnan(b), cond != CondMod.NZ, compare(cond, a, b))


# --- state ------------------------------------------------------------------------------------------------------------

@dataclass
class Gang:
    """The registers of some threads; `on` has the enabled channels, 16 for each thread, or 32 of wide ones."""

    gen: Gen
    grf: NDArray[np.uint8]  # threads, 4096
    flags: list[int]  # f1 in the high half of 64 bits
    dmask: list[int]
    alternate: bool = False
    wide: bool = False
    on: list[int] = field(default_factory=list)
    address: NDArray[np.uint16] = field(init=False)
    acc_float: NDArray[np.float64] = field(init=False)  # threads, accumulator, channel
    acc_int: NDArray[np.int64] = field(init=False)
    acc_kind: NDArray[np.uint8] = field(init=False)  # 0 undefined, 1 float, 2 dword

    def __post_init__(self) -> None:
        n = len(self.dmask)
        self.on = list(self.dmask)
        self.address = np.zeros((n, 16 if self.gen & Gen.GEN9 else 8), np.uint16)
        self.acc_float = np.zeros((n, 2, 16))
        self.acc_int = np.zeros((n, 2, 16), np.int64)
        self.acc_kind = np.zeros((n, 2, 16), np.uint8)

    @property
    def threads(self) -> int:
        return len(self.dmask)

    def clone(self) -> Gang:
        other = Gang(self.gen, self.grf.copy(), list(self.flags), list(self.dmask), self.alternate, self.wide)
        other.on = list(self.on)
        other.address = self.address.copy()
        other.acc_float, other.acc_int = self.acc_float.copy(), self.acc_int.copy()
        other.acc_kind = self.acc_kind.copy()
        return other


# --- operands ---------------------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Form:
    """How an instruction is executed: its channels, and their distribution to passes."""

    n: int  # channels
    passes: int
    group: int
    same_enables: bool  # both passes use the enables of the first
    doubled: bool  # Ivy Bridge: channels are pairs of dwords
    kind: str  # W D Q F DF

    @property
    def per_pass(self) -> int:
        return self.n // self.passes

    def first(self, index: int) -> int:
        return self.group + (0 if self.same_enables else index * self.per_pass)


def sources(inst: Instruction) -> list[Operand]:
    info = inst.info
    assert info is not None
    count = 2 if info.shape is Shape.MATH else info.sources
    found = [inst.src0, inst.src1, inst.src2][:count]
    return [s for s in found if s is not None]


def type_of(operand: Operand) -> RegType:
    if isinstance(operand, Immediate):
        return {ImmType.V: T.W, ImmType.UV: T.UW, ImmType.VF: T.F}.get(
            operand.type, RegType.__members__.get(operand.type.name, T.UD))
    return operand.type


def form_of(inst: Instruction) -> Form:
    assert inst.dst is not None and inst.info is not None
    kinds = [type_of(s) for s in sources(inst)]
    if inst.info.name == "dim":
        kinds = [T.DF]
    kind = "F" if inst.info.flags & Flag.FLOAT else "W"
    for k in kinds:
        own = "DF" if k is T.DF else "F" if k in FLOATS else {8: "Q", 4: "D"}.get(TYPE_BYTES[k], "W")
        kind = max(kind, own, key=("W", "D", "Q", "F", "DF").index)
    n = inst.channels
    doubled = inst.gen in Gen.GEN7 and (inst.dst.type is T.DF or T.DF in kinds)
    size, stride = TYPE_BYTES[inst.dst.type], destination_stride(inst)
    if doubled:
        n = max(n // 2, 1)
        stride *= 1 if inst.dst.type is T.DF or inst.align16 else 2
    span = ((n - 1) * stride + 1) * size
    dst = inst.dst
    if isinstance(dst, DirectOperand) and dst.file is RegFile.GRF:
        span += dst.subnr
    elif isinstance(dst, DirectOperand):
        span = n * max([size, *(TYPE_BYTES[k] for k in kinds)])
    return Form(n, 2 if span > 32 and n > 1 else 1, 8 * inst.quarter + 4 * inst.nibble, doubled, doubled, kind)


def destination_stride(inst: Instruction) -> int:
    assert inst.dst is not None
    region = inst.dst.region
    if inst.align16 or not isinstance(region, DestRegion):
        return 1
    return HSTRIDES[region.hstride] or 1


def element_offsets(src: DirectOperand | IndirectOperand, form: Form, n: int) -> list[int]:
    """Byte offsets of elements of up to 32 bits."""
    region, size = src.region, TYPE_BYTES[src.type]
    if isinstance(region, TernaryRegion):
        if region.replicate:
            return [0] * n
        return [(c // 4 * 4 + (region.swizzle >> 2 * (c & 3) & 3)) * size for c in range(n)]
    if isinstance(region, Align16Region):
        row = VSTRIDES.get(region.vstride)
        if region.vstride not in (0, 3) or row is None:
            raise Unspecified("Align16 with another vertical stride than 0 and 4")
        return [(c // 4 * row + (region.swizzle >> 2 * (c & 3) & 3)) * size for c in range(n)]
    assert isinstance(region, Align1Region)
    if region.vstride not in VSTRIDES or region.width not in WIDTHS:
        raise Unspecified("a reserved stride")
    v, w, h = VSTRIDES[region.vstride], WIDTHS[region.width], HSTRIDES[region.hstride]
    step = 2 if form.doubled else 1
    unit = 4 if form.doubled and src.type is T.DF else size
    return [(c * step // w * v + c * step % w * h) * unit for c in range(n)]


def double_offsets(src: DirectOperand | IndirectOperand, form: Form, n: int) -> list[tuple[int, int]]:
    """Byte offsets of the halves of doubles."""
    region = src.region
    if isinstance(region, Align16Region):
        if region.vstride not in (0, 2, 3):
            raise Unspecified("Align16 doubles with another vertical stride")
        rows = [(c % form.per_pass // 2 * 16 if region.vstride else 0) + 32 * (c // form.per_pass) for c in range(n)]
        return [(row + 4 * (region.swizzle >> 4 * (c & 1) & 3), row + 4 * (region.swizzle >> 4 * (c & 1) + 2 & 3))
                for c, row in enumerate(rows)]
    if isinstance(region, TernaryRegion):
        return [(0, 4) if region.replicate else (8 * c, 8 * c + 4) for c in range(n)]
    return [(o, o + 4) for o in element_offsets(src, form, n)]


def indirect(gang: Gang, operand: IndirectOperand, row: int) -> Array:
    """The first byte by thread; the carry out of the low five bits is lost."""
    if operand.addr_subreg + row >= gang.address.shape[1]:
        raise Unspecified("an address register that does not exist")
    address = gang.address[:, operand.addr_subreg + row].astype(np.int64)
    if np.any((address & 31) + (operand.addr_imm & 31) > 31):
        raise Unspecified("a carry into the register number")
    return address + operand.addr_imm


def gather(gang: Gang, first: Array, offsets: list[int], size: int) -> Array:
    """Elements of all threads; the first byte is `first` by thread."""
    at = first[:, None] + np.array(offsets)[None, :]
    if np.any(at < 0) or np.any(at + size > gang.grf.shape[1]):
        raise Unspecified("a register that does not exist")
    out = np.zeros(at.shape, np.uint64)
    rows = np.arange(gang.threads)[:, None]
    for i in range(size):
        out |= gang.grf[rows, at + i].astype(np.uint64) << np.uint64(8 * i)
    return out


def immediate_bits(imm: Immediate, n: int, step: int = 1) -> list[int]:
    """`step`: of the elements of packed integers, from channel to channel."""
    bits = imm.bits
    match imm.type:
        case ImmType.V:
            return [((bits >> 4 * (c * step & 7) & 15) ^ 8) - 8 & 0xFFFF for c in range(n)]
        case ImmType.UV:
            return [bits >> 4 * (c * step & 7) & 15 for c in range(n)]
        case ImmType.VF:
            return [_vector_float(bits >> 8 * (c & 3) & 0xFF) for c in range(n)]
        case ImmType.UW | ImmType.W | ImmType.HF:
            return [bits & 0xFFFF] * n
        case _:
            return [bits] * n


def _vector_float(byte: int) -> int:
    sign = (byte & 0x80) << 24
    return sign | (((byte >> 4 & 7) + 124) << 23 | (byte & 15) << 19 if byte & 0x7F else 0)


def architecture_bits(gang: Gang, src: DirectOperand, inst: Instruction, n: int) -> Array:
    """One element of an architecture register for all channels."""
    region = src.region
    if not (isinstance(region, Align1Region) and region.vstride == 0 and region.width == 0):
        raise Unspecified("a region of an architecture register")
    size, kind, index = TYPE_BYTES[src.type], src.nr >> 4, src.nr & 15
    values = []
    for t in range(gang.threads):
        if kind == Arf.NULL:
            image = bytes(32)
        elif kind == Arf.A:
            image = gang.address[t].tobytes().ljust(32, b"\0")
        elif kind == Arf.F:
            image = (gang.flags[t] >> 32 * (index & 1) & 0xFFFFFFFF).to_bytes(32, "little")
        elif kind == Arf.MASK:  # ce0: channels that are not dispatched count as enabled
            on = 0xFFFFFFFF if inst.nomask else (gang.on[t] | ~gang.dmask[t]) & 0xFFFFFFFF
            image = on.to_bytes(32, "little")
        elif kind == Arf.SR and src.subnr in (8, 12):
            image = (gang.dmask[t] << 64 | gang.dmask[t] << 96).to_bytes(32, "little")
        else:
            raise Unspecified("another architecture register")
        values.append(int.from_bytes(image[src.subnr:src.subnr + size], "little"))
    return np.repeat(np.array(values, np.uint64)[:, None], n, axis=1)


def is_accumulator(operand: Operand | None) -> bool:
    return isinstance(operand, DirectOperand) and operand.file is RegFile.ARF and operand.nr >> 4 == Arf.ACC


def words_of_a_channel(dst: Operand | None) -> int:
    """How far the results of two channels are apart."""
    if not isinstance(dst, RegisterOperand) or not isinstance(dst.region, DestRegion):
        return 1
    return max(1, TYPE_BYTES[dst.type] * (HSTRIDES[dst.region.hstride] or 1) // 2)


def read_bits(gang: Gang, src: Operand, inst: Instruction, form: Form, index: int) -> Array:
    """The bits of the elements of one pass."""
    n, at = form.n, slice(index * form.per_pass, (index + 1) * form.per_pass)
    if isinstance(src, Immediate):
        step = words_of_a_channel(inst.dst) if gang.gen & Gen.GEN9 else 1
        return np.repeat(np.array(immediate_bits(src, n, step), np.uint64)[None, at], gang.threads, axis=0)
    if isinstance(src, DirectOperand) and src.file is RegFile.ARF:
        return architecture_bits(gang, src, inst, form.per_pass)
    size = TYPE_BYTES[src.type]
    if isinstance(src, IndirectOperand):
        region = src.region
        if isinstance(region, Align1Region) and region.vstride == VSTRIDE_INDEXED:
            if index or form.passes > 1 or region.width not in WIDTHS or form.doubled:
                raise Unspecified("one address a row in two passes")
            w, h = WIDTHS[region.width], HSTRIDES[region.hstride]
            columns = [gather(gang, indirect(gang, src, c // w), [c % w * h * size], size) for c in range(n)]
            return np.concatenate(columns, axis=1)
        first = indirect(gang, src, 0)
    else:
        first = np.full(gang.threads, 32 * src.nr + src.subnr)
    if size == 8:
        halves = double_offsets(src, form, n)[at]
        low = gather(gang, first, [h[0] for h in halves], 4)
        return low | gather(gang, first, [h[1] for h in halves], 4) << np.uint64(32)
    return gather(gang, first, element_offsets(src, form, n)[at], size)


def values_of(bits: Array, src: Operand, kind: str, *, complement: bool = False) -> Array:
    """Numbers with modifiers, in the type of the arithmetic.  `complement`: negation inverts all bits."""
    own = type_of(src)
    negate = not isinstance(src, Immediate) and src.negate
    absolute = not isinstance(src, Immediate) and src.abs
    if own in FLOATS:
        d = float_of(bits) if own is T.F else double_of(bits) if own is T.DF else half_values(bits)
        d = np.abs(d) if absolute else d
        return -d if negate else d
    i = wrap(bits.astype(object if WIDTH[own] == 64 or kind == "Q" else np.int64), own)
    if complement and negate:
        return ~i
    if absolute:
        i = wrap(np.abs(i), own) if own in (T.D, T.Q) else np.abs(i)
    if negate:
        i = wrap(-i, own) if own in (T.D, T.Q) else -i
    if kind == "F":
        if i.dtype == object:
            raise Unspecified("64 bits beside a float")
        return float_of(i.astype(np.float32).view(np.uint32))
    return i.astype(np.float64) if kind == "DF" else i


# --- masks ------------------------------------------------------------------------------------------------------------

def predicate(flags: int, inst: Instruction, first: int, channel: int) -> bool:
    """The predicate of a channel whose flag is `channel` after that of the first channel."""
    control = inst.predicate
    if not control:
        return True
    base = 32 * inst.flag_reg + 16 * inst.flag_subreg
    bit = base + first + channel & 63
    if inst.align16 and 2 <= control <= 5:
        found = bool(flags >> (base + first + (channel & ~3) + control - 2 & 63) & 1)
    elif control == 1:
        found = bool(flags >> bit & 1)
    elif control in (2, 3):
        one, other = flags >> (bit & 31) & 1, flags >> 32 + (bit & 31) & 1
        found = bool(one | other) if control == 2 else bool(one & other)
    elif control <= (7 if inst.align16 else 13):
        size = 2 << (control - 4) // 2
        group = flags >> (bit & -size) & (1 << size) - 1
        found = group == (1 << size) - 1 if control & 1 else group != 0
    else:
        raise Unspecified(f"predicate control {control}")
    return found != inst.predicate_inverse


def masks(gang: Gang, inst: Instruction, form: Form, index: int) -> tuple[Array, Array]:
    """Of one pass: channels that are written, and predicates."""
    n, first = form.per_pass, form.first(index)
    chosen = np.array([[predicate(gang.flags[t], inst, first, c) for c in range(n)] for t in range(gang.threads)])
    # the enables of 16 channels repeat, of which a wide thread has two sets; all of them for 32 channels
    upper = form.group & 16 if gang.wide else 0
    every = gang.wide and inst.channels == 32
    bits = [index * n + c if every else upper + (first + c & 15) for c in range(n)]
    on = np.array([[inst.nomask or bool(gang.on[t] >> bit & 1) for bit in bits] for t in range(gang.threads)])
    mask = inst.dst.region.writemask if inst.dst is not None and isinstance(inst.dst.region, DestRegion) else None
    if mask is not None and inst.align16:
        on &= np.array([bool(mask >> (c & 3) & 1) for c in range(n)])[None, :]
    gated = inst.info is not None and inst.info.name != "sel"
    return on & chosen if gated else on, chosen


# --- operations -------------------------------------------------------------------------------------------------------

def _tuple(x: Array, k: int) -> Array:
    if x.shape[1] % 4:
        raise Unspecified("a dot product of less than four channels")
    return np.repeat(x[:, k::4], 4, axis=1)


def _dot(a: Array, b: Array, count: int) -> Array:
    found = _tuple(a, 0) * _tuple(b, 0)
    for k in range(1, count):
        found = found + _tuple(a, k) * _tuple(b, k)
    return found


def _round_even(x: Array) -> Array:
    return np.copysign(np.rint(x), x)


def _fraction(x: Array) -> Array:
    part = x - np.floor(x)
    return np.where(part.astype(np.float32) >= 1, 1 - 2.0 ** -24, part)


FLOAT: dict[str, Callable[..., Array]] = {
    "add": lambda a, b: a + b, "mul": lambda a, b: a * b, "frc": _fraction,
    "rndu": lambda a: np.copysign(np.ceil(a), a),
    "rndd": np.floor, "rnde": _round_even, "rndz": np.trunc, "lrp": lambda a, b, c: a * b + (1 - a) * c,
    "dp4": lambda a, b: _dot(a, b, 4), "dp3": lambda a, b: _dot(a, b, 3), "dp2": lambda a, b: _dot(a, b, 2),
    "dph": lambda a, b: _dot(a, b, 3) + _tuple(b, 3), "mov": lambda a: a,
}

DOUBLE = {"add", "mul", "mov", "rndu", "rndd", "rnde", "rndz"}


def _reverse(a: Array) -> Array:
    out = np.zeros_like(a)
    for i in range(32):
        out |= (a >> i & 1) << 31 - i
    return out


def _first_high(a: Array, kind: RegType) -> Array:
    found = []
    for value in a.ravel():
        v = int(value)
        bits = (~v if kind in SIGNED and v < 0 else v) & 0xFFFFFFFF
        found.append(32 - bits.bit_length() if bits else 0xFFFFFFFF)
    return np.array(found, np.int64).reshape(a.shape)


def _first_low(a: Array) -> Array:
    b = a & 0xFFFFFFFF
    low = b & -b
    return np.where(b == 0, 0xFFFFFFFF, np.log2(np.maximum(low, 1)).astype(np.int64))


def _bit_field(width: Array, offset: Array, value: Array, kind: RegType) -> Array:
    out = []
    for w, o, v in zip((width & 31).ravel(), (offset & 31).ravel(), value.ravel(), strict=True):
        bits, w, o = int(v) & 0xFFFFFFFF, int(w), int(o)
        if kind is T.D and bits >> 31:
            bits -= 1 << 32
        if not w:
            out.append(0)
        elif w + o < 32:
            field_bits = bits >> o & (1 << w) - 1
            out.append(field_bits - (1 << w) if kind is T.D and field_bits >> w - 1 else field_bits)
        else:
            out.append(bits >> o)
    return np.array(out, np.int64).reshape(width.shape)


def _insert(mask: Array, insert: Array, base: Array) -> Array:
    m, v, b = mask & 0xFFFFFFFF, insert & 0xFFFFFFFF, base & 0xFFFFFFFF
    shift = np.where(m == 0, 0, _first_low(m))
    return np.where(m == 0, b, (b & ~m) | ((v << shift) & m)) & 0xFFFFFFFF


def _integer(name: str, values: list[Array], inst: Instruction, kind: str) -> Array:
    a, b = values[0], values[-1]
    assert inst.dst is not None
    longs = (T.Q, T.UQ)
    if name in ("shl", "shr", "asr") and (inst.dst.type in longs or type_of(sources(inst)[0]) in longs):
        a = a.astype(object)
        return a << (b & 63) if name == "shl" else a >> (b & 63)
    first = type_of(sources(inst)[0])
    match name:
        case "not":
            return ~a
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "shl":
            return a << (b & 31)
        case "shr" | "asr":
            return a >> (b & 31)
        case "add":
            return a + b
        case "avg":
            return a + b + 1 >> 1
        case "mul":
            dwords = all(TYPE_BYTES[type_of(s)] == 4 for s in sources(inst))
            if inst.gen & Gen.GEN9:
                return a.astype(object) * b if dwords else a * b
            if not dwords:
                return a * b
            low = b & 0xFFFF
            signed = type_of(sources(inst)[1]) is T.D and not is_accumulator(inst.dst)
            return a * (np.where(low >> 15 != 0, low - 0x10000, low) if signed else low)
        case "addc":
            return a + b & 0xFFFFFFFF
        case "subb":
            return a - b & 0xFFFFFFFF
        case "bfrev":
            return _reverse(a & 0xFFFFFFFF)
        case "bfe":
            return _bit_field(values[0], values[1], values[2], type_of(sources(inst)[2]))
        case "bfi1":
            return ((1 << (a & 31)) - 1 << (b & 31)) & 0xFFFFFFFF
        case "bfi2":
            return _insert(values[0], values[1], values[2])
        case "fbh":
            return _first_high(a, first)
        case "fbl":
            return _first_low(a)
        case "cbit":
            return sum((a >> i & 1 for i in range(32)), np.zeros_like(a))
        case "lzd":
            return _leading_zeros(a)
        case "mov":
            return a
        case _:
            raise Unspecified(f"{name} of integers")


def _leading_zeros(a: Array) -> Array:
    return np.array([32 - (int(v) & 0xFFFFFFFF).bit_length() for v in a.ravel()], np.int64).reshape(a.shape)


def _plane(gang: Gang, inst: Instruction, form: Form, index: int) -> Array:
    """line and pln: the 16-byte group of src0 has p, q, -, r."""
    p, u = inst.src0, inst.src1
    if not (isinstance(p, DirectOperand) and isinstance(u, DirectOperand) and p.file is u.file is RegFile.GRF
            and p.type is u.type is T.F and isinstance(p.region, Align1Region) and isinstance(u.region, Align1Region)
            and (p.region.vstride, p.region.width) == (0, 0) and not inst.align16):
        raise Unspecified("an unusual plane")
    first = 32 * p.nr + p.subnr
    name = inst.info.name if inst.info else ""

    def scalar(at: int) -> Array:
        bits = gather(gang, np.full(gang.threads, at), [0] * form.per_pass, 4)
        return values_of(bits, p, "F")

    def coordinate(shift: int) -> Array:
        at = slice(index * form.per_pass, (index + 1) * form.per_pass)
        base = 32 * u.nr + u.subnr + 32 * shift
        region_offsets = element_offsets(u, form, form.n)
        if name == "pln":  # every eight channels have two registers
            base += 64 * index
            at = slice(0, form.per_pass)
        return values_of(gather(gang, np.full(gang.threads, base), region_offsets[at], 4), u, "F")

    group = first & ~15
    if name == "line":
        return scalar(first) * coordinate(0) + scalar(group + 12)
    return scalar(group) * coordinate(0) + scalar(group + 4) * coordinate(1) + scalar(group + 12)


_MATH: dict[int, Callable[..., Array]] = {
    1: lambda x, y: 1 / x, 2: lambda x, y: np.where(x < 0, np.nan, np.log2(x)), 3: lambda x, y: np.exp2(x),
    4: lambda x, y: np.sqrt(x), 5: lambda x, y: 1 / np.sqrt(x), 6: lambda x, y: np.sin(x), 7: lambda x, y: np.cos(x),
    9: lambda x, y: x / y, 10: lambda x, y: np.exp2(y * np.log2(np.abs(x))),
}


def math_bits(gang: Gang, inst: Instruction, bits: list[Array], on: Array) -> Array:
    """The results of the opcode math on floats."""
    x_bits, y_bits = (_modified_bits(b, s) for b, s in zip(bits, sources(inst), strict=True))
    function = inst.math_function
    if function not in _MATH:
        raise Unspecified("a math function")
    if gang.alternate and function in (2, 4, 5):
        x_bits = x_bits & np.uint64(0x7FFFFFFF)
    x, y = float_of(x_bits), float_of(y_bits)
    if function in (6, 7) and np.any(on & (np.abs(x) > 1e5)):
        raise Unspecified("the sine of a large angle")
    with np.errstate(all="ignore"):
        value = _MATH[function](x, y)
    if function == 6:
        value = np.where(x == 0, x, value)
    out = float_bits(round_float(_rounded_as_denormal(value), np.array(gang.alternate)))
    nan = np.isnan(value)
    zero = (y_bits & np.uint64(INF32)) == 0
    for own, source in ((y_bits, np.isnan(y)), (x_bits, np.isnan(x))):  # a NaN operand stays; the first one wins
        if own is y_bits and function not in (9, 10):
            continue
        kept = (own & np.uint64(0x7FFFFFFF) if function == 10 and own is x_bits else own) | np.uint64(0x7FC00000)
        out = np.where(nan & source, kept, out)
    if gang.alternate and function == 10:
        out = np.where(zero & ~np.isnan(x), np.uint64(0x3F800000), out)
    if inst.saturate:
        negative = (out >> np.uint64(31) != 0) | ((out & np.uint64(0x7FFFFFFF)) > INF32)
        out = np.where(negative, np.uint64(0), np.minimum(out, np.uint64(0x3F800000)))
    return out


def _modified_bits(bits: Array, src: Operand) -> Array:
    if isinstance(src, Immediate):
        return bits
    bits = bits & np.uint64(0x7FFFFFFF) if src.abs else bits
    return bits ^ np.uint64(0x80000000) if src.negate else bits


def divide(n: int, d: int, signed: bool) -> tuple[int, int]:
    if not signed:
        return (n // d, n % d) if d else (0xFFFFFFFF, 0xFFFFFFFF)
    if d == 0:
        most = 0x80000000 if n < 0 else 0x7FFFFFFF
        return most, most
    quotient = abs(n) // abs(d) * (1 if (n < 0) == (d < 0) else -1)
    return quotient & 0xFFFFFFFF, n - quotient * d & 0xFFFFFFFF


# --- accumulators -----------------------------------------------------------------------------------------------------

def accumulator_index(inst: Instruction, form: Form, index: int) -> int:
    for operand in (*sources(inst), inst.dst):
        if is_accumulator(operand) and isinstance(operand, DirectOperand):
            return (operand.nr & 1) + index & 1
    own = form.group >> 3 & 1 if form.kind in ("F", "DF") else 0
    return own + index & 1


def read_accumulator(gang: Gang, acc: int, n: int, kind: str, on: Array) -> Array:
    if n > 8 or kind not in ("F", "D"):
        raise Unspecified("an accumulator of another form")
    if np.any((gang.acc_kind[:, acc, :n] != (1 if kind == "F" else 2)) & on):
        raise Unspecified("an accumulator of another kind")
    return gang.acc_float[:, acc, :n] if kind == "F" else gang.acc_int[:, acc, :n]


def write_accumulator(gang: Gang, acc: int, value: Array, kind: str, on: Array) -> None:
    n = value.shape[1]
    if n > 8 or kind not in ("F", "D"):
        raise Unspecified("an accumulator of another form")
    gang.acc_kind[:, acc, :] = 0
    gang.acc_kind[:, acc, :n] = np.where(on, 1 if kind == "F" else 2, 0)
    if kind == "F":
        gang.acc_float[:, acc, :n] = value
    else:
        gang.acc_int[:, acc, :n] = value


# --- execution --------------------------------------------------------------------------------------------------------

@dataclass
class Result:
    """Full precision; `raw` has bits to store unchanged where `kept` is true."""

    value: Array
    raw: Array | None = None
    kept: Array | None = None
    flag: Array | None = None
    acc: Array | None = None


def copies(inst: Instruction, src: Operand) -> bool:
    assert inst.dst is not None
    if inst.saturate or type_of(src) is not inst.dst.type or is_accumulator(inst.dst) or is_accumulator(src):
        return False
    return isinstance(src, Immediate) or not (src.negate or src.abs)


def moves_nan(inst: Instruction, src: Operand) -> bool:
    """Whether a NaN keeps its payload, if source modifiers make it quiet."""
    assert inst.dst is not None
    return (not inst.saturate and type_of(src) is T.F and inst.dst.type is T.F
            and not is_accumulator(inst.dst) and not is_accumulator(src))


def compute(gang: Gang, inst: Instruction, form: Form, index: int, on: Array, chosen: Array) -> Result:
    assert inst.info is not None and inst.dst is not None
    name, kind, n = inst.info.name, form.kind, form.per_pass
    operands = sources(inst)
    if name in ("line", "pln"):
        return Result(_plane(gang, inst, form, index))
    acc = accumulator_index(inst, form, index)
    if sum(is_accumulator(s) for s in operands) > 1 or any(is_accumulator(s) for s in operands[1:]):
        raise Unspecified("an accumulator that is not the first source")
    bits = [np.zeros((gang.threads, n), np.uint64) if is_accumulator(s)
            else read_bits(gang, s, inst, form, index) for s in operands]
    if name == "math":
        return _math(gang, inst, form, bits, on)
    values = []
    for s, b in zip(operands, bits, strict=True):
        if is_accumulator(s):
            own = "F" if type_of(s) is T.F else "D"
            if own != kind:
                raise Unspecified("an accumulator as another type")
            values.append(read_accumulator(gang, acc, n, own, on))
        else:
            complement = bool(inst.gen & Gen.GEN9) and name in ("not", "and", "or", "xor")
            values.append(values_of(b, s, kind, complement=complement))
    if name in ("mov", "dim"):
        keep = np.full(on.shape, copies(inst, operands[0]) or name == "dim")
        if name == "mov" and moves_nan(inst, operands[0]):
            quiet = _modified_bits(bits[0], operands[0]) | np.uint64(0x00400000)
            return Result(values[0], np.where(keep, bits[0], quiet), keep | np.isnan(values[0]))
        return Result(values[0], bits[0], keep)
    if name == "sel":
        first = compare_n(inst.cond_modifier, *values) if inst.cond_modifier else chosen
        if not inst.cond_modifier and not inst.predicate:
            raise Unspecified("sel of nothing")
        kept = np.where(first, copies(inst, operands[0]), copies(inst, operands[1]))
        return Result(np.where(first, *values), np.where(first, *bits), kept)
    if name in ("cmp", "cmpn"):
        test = compare if name == "cmp" else compare_n
        flag = test(inst.cond_modifier, *values)
        ones = np.where(flag, np.uint64((1 << 8 * TYPE_BYTES[inst.dst.type]) - 1), np.uint64(0))
        return Result(np.zeros(on.shape, np.int64), ones, np.full(on.shape, True), flag)
    if name == "f32to16":
        value = np.clip(np.where(np.isnan(values[0]), 0.0, values[0]), 0, 1) + 0.0 if inst.saturate else values[0]
        with np.errstate(over="ignore"):
            half = value.astype(np.float16).view(np.uint16).astype(np.uint64)
        half = np.where(np.isnan(value), np.uint64(0x7E00), half)
        if inst.cond_modifier or np.any(on & np.isnan(value)):
            raise Unspecified("the sign of a NaN as a half float")
        return Result(np.zeros(on.shape, np.int64), half, np.full(on.shape, True))
    if name == "f16to32":
        value = (bits[0] & np.uint64(0xFFFF)).astype(np.uint16).view(np.float16).astype(np.float64)
        source = operands[0]
        if not isinstance(source, Immediate):  # modifiers are those of a float
            value = np.abs(value) if source.abs else value
            value = -value if source.negate else value
        return Result(value)
    if name == "csel":
        return Result(np.where(compare(inst.cond_modifier, values[2], np.zeros(1)), values[0], values[1]))
    if name in ("add", "mad") and kind == "F" and inst.dst.type is T.HF:
        terms = values if name == "mad" else [values[0], values[1], np.ones(on.shape)]
        return Result(fused(*terms, 53, to_odd))
    if name == "mad":
        if kind not in ("F", "DF"):
            raise Unspecified("mad of integers")
        return Result(fused(values[0], values[1], values[2], 24 if kind == "F" else 53))
    if name == "mac":
        if kind != "F":
            raise Unspecified("mac of integers")
        return Result(values[0] * values[1] + read_accumulator(gang, acc, n, kind, on))
    if name == "mach":
        if kind != "D" or not all(TYPE_BYTES[type_of(s)] == 4 for s in operands):
            raise Unspecified("mach of other types")
        old = read_accumulator(gang, acc, n, "D", on)
        return Result(old + (values[0] * (values[1] >> 16) << 16))
    if kind in ("F", "DF"):
        if name not in FLOAT or (kind == "DF" and name not in DOUBLE):
            raise Unspecified(f"{name} of {kind}")
        return Result(FLOAT[name](*values))
    value = _integer(name, values, inst, kind)
    if name in ("addc", "subb"):
        a, b = (v & 0xFFFFFFFF for v in values)
        return Result(value, acc=(a + b >> 32 if name == "addc" else (a < b).astype(np.int64)))
    if name == "mul" and kind == "D" and all(TYPE_BYTES[type_of(s)] == 4 for s in operands) and not inst.gen & Gen.GEN9:
        return Result(value, acc=values[0] * (values[1] & 0xFFFF))
    return Result(value)


def _math(gang: Gang, inst: Instruction, form: Form, bits: list[Array], on: Array) -> Result:
    operands = sources(inst)
    assert inst.dst is not None
    if inst.math_function in (12, 13):
        if type_of(operands[0]) not in (T.D, T.UD) or type_of(operands[1]) is not type_of(operands[0]):
            raise Unspecified("a division of other types")
        signed = type_of(operands[0]) is T.D
        a, b = (values_of(x, s, "D") for x, s in zip(bits, operands, strict=True))
        pairs = [divide(int(x) if signed else int(x) & 0xFFFFFFFF, int(y) if signed else int(y) & 0xFFFFFFFF, signed)
                 for x, y in zip(a.ravel(), b.ravel(), strict=True)]
        found = np.array([p[inst.math_function - 12] for p in pairs], np.uint64).reshape(on.shape)
    elif inst.dst.type is T.F and all(type_of(s) is T.F for s in operands):
        found = math_bits(gang, inst, bits, on)
    elif inst.dst.type is T.HF and all(type_of(s) is T.HF for s in operands):
        floats = math_bits(gang, inst, [float_bits(half_values(b)) for b in bits], on)
        found = half_bits(float_of(floats))
    else:
        raise Unspecified("math of other types")
    return Result(np.zeros(on.shape, np.int64), found, np.full(on.shape, True))


def finish(gang: Gang, inst: Instruction, form: Form, result: Result) -> tuple[Array, Array | None]:
    """The bits to store, and the flags."""
    assert inst.dst is not None and inst.info is not None
    to, name, cond = inst.dst.type, inst.info.name, inst.cond_modifier
    value = result.value
    if name == "mach":
        value = value >> 32
    alternate = np.array(gang.alternate)
    seen: Array
    if value.dtype.kind == "f":
        single = form.kind != "DF"
        if to is T.F and not single:
            value = _rounded_as_denormal(value)
        if to is T.HF and (gang.alternate or not single):
            raise Unspecified("half floats in the alternate mode, or of doubles")
        if to is not T.HF:
            value = round_float(value, alternate) if single or to is T.F else _round_double(value, alternate)
        if inst.saturate and to in FLOATS:
            value = np.clip(np.where(np.isnan(value), 0.0, value), 0, 1) + 0.0
        if to is T.HF:
            bits = half_bits(value)
            bits = np.where(bits == 0x3C00, np.uint64(0x3BFF), bits) if name == "frc" else bits
            seen = half_values(bits)
        elif to is T.F:
            bits, seen = float_bits(value), value
        elif to is T.DF:
            bits, seen = double_bits(value), value
        else:
            whole = to_integer(value, to)
            bits, seen = low_bits(whole), (value if cond == CondMod.U else whole)
    else:
        if name in ("not", "and", "or", "xor"):
            value = wrap(value, T.D if to is T.F else to)
        elif inst.saturate:
            wide = value.astype(object) if TYPE_BYTES[to] == 8 else value
            value = (value > 0).astype(np.int64) if to in FLOATS else np.clip(wide, *bounds(to))
        seen = value if inst.saturate or to in FLOATS else wrap(value, to)
        if to is T.HF and (gang.alternate or form.kind == "Q"):
            raise Unspecified("half floats in the alternate mode, or of 64 bits")
        if to is T.HF:
            bits = half_bits(value)
        elif to is T.F:
            bits = whole_float(value)
        elif to is T.DF:
            bits = value.astype(np.float64).view(np.uint64)
        else:
            bits = low_bits(value)
    flag = result.flag
    if flag is None and cond and not inst.info.flags & Flag.NO_FLAG_WRITE:
        flag = compare(cond, seen, np.zeros_like(seen))
    if result.raw is not None and result.kept is not None:
        bits = np.where(result.kept, result.raw, bits)
    return bits & np.uint64((1 << 8 * TYPE_BYTES[to]) - 1), flag


def _rounded_as_denormal(d: Array) -> Array:
    """Doubles below the normal floats, to multiples of the least denormal: docs/decisions.md 147."""
    with np.errstate(all="ignore"):
        rounded = np.copysign(np.rint(d * 2.0 ** 149) * 2.0 ** -149, d)
    return np.where(np.abs(d) < 2.0 ** -126, rounded, d)


def _round_double(d: Array, alternate: Array) -> Array:
    out = flushed(d)
    return np.where(np.isinf(out) & alternate, np.copysign(float(np.finfo(np.float64).max), out), out)


def store(gang: Gang, inst: Instruction, form: Form, index: int, bits: Array, on: Array) -> None:
    dst = inst.dst
    assert dst is not None
    size, stride = TYPE_BYTES[dst.type], destination_stride(inst)
    if form.doubled and dst.type is not T.DF and not inst.align16:
        stride *= 2
    offsets = [(index * form.per_pass + c) * stride * size for c in range(form.per_pass)]
    if isinstance(dst, IndirectOperand):
        first = indirect(gang, dst, 0)
    elif dst.file is RegFile.GRF:
        first = np.full(gang.threads, 32 * dst.nr + dst.subnr)
    else:
        _store_architecture(gang, dst, offsets, size, bits, on)
        return
    for t in range(gang.threads):
        for c in range(form.per_pass):
            if not on[t, c]:
                continue
            at = int(first[t]) + offsets[c]
            if at < 0 or at + size > gang.grf.shape[1]:
                raise Unspecified("a register that does not exist")
            gang.grf[t, at:at + size] = np.frombuffer(int(bits[t, c]).to_bytes(8, "little")[:size], np.uint8)


def _store_architecture(gang: Gang, dst: DirectOperand, offsets: list[int], size: int, bits: Array, on: Array) -> None:
    kind = dst.nr >> 4
    if kind == Arf.NULL:
        return
    for t in range(gang.threads):
        image = bytearray(32)
        if kind == Arf.A:
            image[:2 * gang.address.shape[1]] = gang.address[t].tobytes()
        elif kind == Arf.F:
            shift = 32 * (dst.nr & 1)
            image[:4] = (gang.flags[t] >> shift & 0xFFFFFFFF).to_bytes(4, "little")
        else:
            raise Unspecified("another architecture register")
        for c, offset in enumerate(offsets):
            if on[t, c]:
                at = dst.subnr + offset
                if at + size > (2 * gang.address.shape[1] if kind == Arf.A else 4):
                    raise Unspecified("an architecture register crossed")
                image[at:at + size] = int(bits[t, c]).to_bytes(8, "little")[:size]
        if kind == Arf.A:
            gang.address[t] = np.frombuffer(bytes(image[:2 * gang.address.shape[1]]), np.uint16)
        else:
            value = int.from_bytes(image[:4], "little")
            gang.flags[t] = gang.flags[t] & ~(0xFFFFFFFF << shift) | value << shift


def execute(gang: Gang, inst: Instruction) -> None:
    """Execute any instruction other than sends and branches."""
    info = inst.info
    if info is None or info.shape not in (Shape.UNARY, Shape.BINARY, Shape.MATH, Shape.TERNARY):
        raise Unspecified(f"opcode 0x{inst.opcode:02x}")
    form = form_of(inst)
    for index in range(form.passes):
        on, chosen = masks(gang, inst, form, index)
        with np.errstate(all="ignore"):
            result = compute(gang, inst, form, index, on, chosen)
            bits, flag = finish(gang, inst, form, result)
        explicit = is_accumulator(inst.dst)
        if explicit or (inst.acc_write and info.flags & Flag.ACC_WRITE):
            acc = accumulator_index(inst, form, index)
            value = result.value if result.acc is None else result.acc
            write_accumulator(gang, acc, value, "F" if value.dtype.kind == "f" else form.kind, on)
        if flag is not None:
            base = 32 * inst.flag_reg + 16 * inst.flag_subreg + form.first(index)
            for t in range(gang.threads):
                for c in range(form.per_pass):
                    bit = 1 << (base + c & 63)
                    if on[t, c]:
                        gang.flags[t] = gang.flags[t] | bit if flag[t, c] else gang.flags[t] & ~bit
        if not explicit:
            store(gang, inst, form, index, bits, on)
