"""Random instructions, programs and register contents for the comparison of two EUs.

All fields of everything that the reference executes are random, with a bias to instructions that drivers emit.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gen4emu.hw.gen import Gen
from gen4emu.isa import encode_bytes
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
)
from gen4emu.isa.opcodes import Opcode
from gen4emu.isa.registers import (
    EXEC_SIZE_CODES,
    HSTRIDE_CODES,
    TYPE_BYTES,
    VSTRIDE_CODES,
    VSTRIDE_INDEXED,
    WIDTH_CODES,
    Compression,
    ImmType,
    RegFile,
    RegType,
)

T = RegType
END_OF_THREAD = Immediate(ImmType.UD, 0x80100000)
_SPECIALS = (
    0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x00FFFFFF, 0x7F7FFFFF, 0xFF7FFFFF,
    0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x7FA00001, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x3F800001,
    0x40400000, 0x3F000000, 0xBF000000, 0x3EFFFFFF, 0x3FC00000, 0x40200000, 0xC0200000, 0x40600000, 0x4B000000,
    0x4B000001, 0x4B7FFFFF, 0x4B800000, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000, 0xCF000000, 0xCF000001,
    0x7FFFFFFF, 0xFFFFFFFF, 0x0000FFFF, 0xFFFF0000, 0x00008000, 0x80008000, 0x00007FFF, 0x00FF00FF, 0x80808080,
    0x7F7F7F7F, 0x01000001, 0xFF0000FF, 0x43800000, 0x477FFF00, 0x47800000, 0xC7000000, 0xC7000100, 0x437F0000,
    0x42FE0000, 0xC3000000, 0xC3010000)


def register_dwords(rng: np.random.Generator, count: int, *, finite: bool = False) -> NDArray[np.uint32]:
    """Contents of registers: special numbers of every type, ordinary floats, small integers and noise."""
    noise = rng.integers(0, 1 << 32, count, dtype=np.uint32)
    special = np.array(_SPECIALS, np.uint32)[rng.integers(0, len(_SPECIALS), count)]
    exponent = rng.integers(97, 157, count, dtype=np.uint32)
    ordinary = noise & np.uint32(0x807FFFFF) | exponent << np.uint32(23)
    short = noise & np.uint32(0x80780000) | exponent << np.uint32(23)
    small = rng.integers(-20, 21, count).astype(np.int32).view(np.uint32)
    found = np.choose(rng.integers(0, 6, count), (noise, special, ordinary, ordinary, short, small)).astype(np.uint32)
    if finite:
        found[(found & 0x7F800000) == 0x7F800000] &= np.uint32(0xFF7FFFFF)
    return found


_INTEGERS = (T.UD, T.D, T.UW, T.W, T.UB, T.B)
_WORDS = (T.UW, T.W, T.UB, T.B)
_COMMON_REGIONS = ((8, 8, 1), (8, 8, 1), (8, 8, 1), (0, 1, 0), (0, 1, 0), (16, 16, 1), (4, 4, 1), (2, 4, 0), (16, 8, 2),
                   (1, 1, 1), (8, 8, 0), (8, 4, 1), (4, 4, 0), (8, 4, 2), (8, 1, 0), (16, 4, 4), (0, 2, 1))
_PACKED = Align1Region(VSTRIDE_CODES[8], WIDTH_CODES[8], HSTRIDE_CODES[1])
_SCALAR = Align1Region(0, 0, 0)
_FLOAT_OPS = (Opcode.MOV, Opcode.ADD, Opcode.MUL, Opcode.MAC, Opcode.FRC, Opcode.RNDD, Opcode.RNDE, Opcode.RNDZ,
              Opcode.RNDU, Opcode.CMP, Opcode.CMPN, Opcode.SEL, Opcode.DP4, Opcode.DPH, Opcode.DP3, Opcode.DP2,
              Opcode.LINE, Opcode.PLN)
_INTEGER_OPS = (Opcode.MOV, Opcode.SEL, Opcode.NOT, Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.SHR, Opcode.SHL,
                Opcode.ASR, Opcode.CMP, Opcode.CMPN, Opcode.ADD, Opcode.MUL, Opcode.AVG, Opcode.MAC, Opcode.MACH,
                Opcode.LZD, Opcode.SAD2, Opcode.SADA2, Opcode.DP4)
_MIXED_OPS = (Opcode.MOV, Opcode.MOV, Opcode.MOV, Opcode.ADD, Opcode.MUL, Opcode.CMP, Opcode.SEL)
_UNARY = (Opcode.MOV, Opcode.NOT, Opcode.FRC, Opcode.RNDD, Opcode.RNDE, Opcode.RNDZ, Opcode.RNDU, Opcode.LZD)
_DOTS = (Opcode.DP4, Opcode.DPH, Opcode.DP3, Opcode.DP2)
_ROUNDS = (Opcode.RNDD, Opcode.RNDE, Opcode.RNDZ, Opcode.RNDU)


class Generator:
    """Instructions for one device, from one source of randomness."""

    def __init__(self, rng: random.Random, gen: Gen, *, client: bool = False) -> None:
        """A client's instructions have packed, scalar and immediate operands at whole registers, as compilers do."""
        self.rng = rng
        self.gen = gen
        self.client = client
        self._last: Instruction | None = None

    def instruction(self) -> Instruction:
        rng = self.rng
        if self._last is not None and rng.random() < 0.5:
            found = self._accumulator_reader(self._last)
            self._last = None
            if found is not None:
                return found
        make = rng.choices((self.alu, self.housekeeping, self.message, self.accumulator), (88, 5, 3, 4))[0]
        found = make()
        self._last = found if found.opcode >= 0x40 or make == self.accumulator else None
        return found

    # --- forms ---

    def alu(self) -> Instruction:
        rng = self.rng
        family = rng.choices(("float", "integer", "mixed"), (60, 30, 10) if self.client else (45, 40, 15))[0]
        ops = {"float": _FLOAT_OPS, "integer": _INTEGER_OPS, "mixed": _MIXED_OPS}[family]
        op = rng.choice(ops)
        if op == Opcode.PLN and self.gen not in Gen.GEN45:
            op = Opcode.LINE
        form = rng.choices(("align1", "compressed", "align16", "words", "words32"), (40, 30, 15, 12, 3))[0]
        if op in (Opcode.LINE, Opcode.PLN) and form != "align1":
            form = "compressed"
        if form.startswith("words") and family != "integer":
            form = "compressed"
        if op in _DOTS and form == "align1" and rng.random() < 0.5:
            form = "align16"
        align16 = form == "align16"
        compression, size = Compression.NONE, 16
        if form == "compressed":
            compression = Compression.COMPR
        elif form == "words32":
            compression, size = Compression.COMPR, 32
        elif align16:
            size = rng.choice((8, 8, 4))
        elif form == "align1":
            size = rng.choice((8, 8, 8, 4, 2, 1))
            if op in _DOTS or op in (Opcode.LINE, Opcode.PLN):
                size = 8 if op not in _DOTS else rng.choice((4, 8))
            if size == 1 and op in (Opcode.SAD2, Opcode.SADA2):
                size = 2
        if self.client and form == "align1" and rng.random() < 0.7:
            size = 8
        if form in ("align1", "words", "align16") and rng.random() < 0.2:
            compression = Compression.SECHALF
        kinds = self._types(op, family, form)
        base = Instruction(op, self.gen, EXEC_SIZE_CODES[size], align16, nomask=rng.random() < 0.2,
                           compression=compression)
        base = self._modifiers(base, family)
        dst = self._destination(kinds[0], base)
        if op in (Opcode.LINE, Opcode.PLN):
            return replace(base, dst=dst, **self._plane(op))
        src0 = self._source(kinds[1], base, immediate=op in _UNARY)
        src1 = None if op in _UNARY else self._source(kinds[2], base, immediate=not isinstance(src0, Immediate))
        return replace(base, dst=dst, src0=src0, src1=src1)

    def _types(self, op: int, family: str, form: str) -> tuple[RegType, RegType, RegType]:
        rng = self.rng
        if family == "float":
            to = T.F if rng.random() < 0.85 else rng.choice((*_INTEGERS,))
            if op in _ROUNDS:
                to = T.F if rng.random() < 0.95 else T.D
            return to, T.F, T.F
        if form.startswith("words") and (form == "words32" or rng.random() < 0.9):
            return (rng.choice(_WORDS), rng.choice(_WORDS), rng.choice(_WORDS))
        if family == "mixed":
            return rng.choice((T.F, T.F, *_INTEGERS)), rng.choice((T.F, *_INTEGERS)), rng.choice((T.F, *_INTEGERS))
        if op == Opcode.LZD:
            return rng.choice((T.UD, T.D, T.UW, T.W)), rng.choice((T.UD, T.D)), T.UD
        if op == Opcode.MACH:
            kind = rng.choice((T.D, T.UD))
            return kind, kind, kind
        if op in (Opcode.SAD2, Opcode.SADA2):
            return rng.choice((T.UW, T.W)), rng.choice((T.UB, T.B)), rng.choice((T.UB, T.B))
        if op == Opcode.DP4 or op == Opcode.MAC:
            return rng.choice((T.D, T.UD, T.W)), rng.choice((T.W, T.UW, T.B)), rng.choice(_INTEGERS)
        if rng.random() < 0.6:
            kind = rng.choice((T.UD, T.D, T.UD, T.D, T.UW, T.W))
            return kind, kind, kind
        return rng.choice(_INTEGERS), rng.choice(_INTEGERS), rng.choice(_INTEGERS)

    def _modifiers(self, inst: Instruction, family: str) -> Instruction:
        rng = self.rng
        op = inst.opcode
        predicate = 0
        if op == Opcode.SEL or rng.random() < 0.3:
            predicate = rng.choice((1, 1, 1, 1, *range(1, 8 if inst.align16 else 12)))
        condition = 0
        if op in (Opcode.CMP, Opcode.CMPN):
            condition = rng.randint(1, 6)
        elif op in _ROUNDS:
            condition = rng.choice((0, 7, 7))
        elif op not in (Opcode.SEL, Opcode.SAD2, Opcode.SADA2, Opcode.MACH) and rng.random() < 0.25:
            condition = rng.choice((1, 2, 3, 4, 5, 6, 9 if family == "float" else 2))
        saturate = op not in (Opcode.CMP, Opcode.CMPN, Opcode.NOT, Opcode.AND, Opcode.OR, Opcode.XOR, Opcode.MACH) \
            and rng.random() < 0.15
        return replace(inst, predicate=predicate, predicate_inverse=predicate != 0 and rng.random() < 0.4,
                       flag_subreg=int(rng.random() < 0.3), cond_modifier=condition, saturate=saturate,
                       no_dd_clear=rng.random() < 0.05, no_dd_check=rng.random() < 0.05,
                       thread_control=rng.choice((0,) * 12 + (1, 2)))

    # --- operands ---

    def _subregister(self, kind: RegType) -> int:
        size = TYPE_BYTES[kind]
        if self.client:
            return self.rng.choice((0, 0, 0, 0, 0, 16))
        return self.rng.choice((0, 0, 0, 16, self.rng.randrange(0, 32, size)))

    def _destination(self, kind: RegType, inst: Instruction) -> RegisterOperand:
        rng = self.rng
        where = rng.choices(("grf", "mrf", "null", "indirect"), (78, 14, 8, 0 if self.client else 4))[0]
        mask = rng.choice((15, 15, 1, 2, 4, 8, 7, 3, rng.randint(1, 15))) if inst.align16 else None
        stride = 1 if inst.align16 or (self.client and TYPE_BYTES[kind] > 1) else rng.choice((1, 1, 1, 1, 1, 1, 2, 4))
        if inst.channels * stride * TYPE_BYTES[kind] > 64 and rng.random() < 0.9:
            stride = 1
        region = DestRegion(HSTRIDE_CODES[stride], mask)
        sub = 0 if self.client and rng.random() < 0.9 else self._subregister(kind)
        if inst.align16:
            sub &= 16
        if where == "null":
            return DirectOperand(RegFile.ARF, kind, 0, 0, region)
        if where == "indirect":
            offset = rng.randrange(-512, 512, 16 if inst.align16 else 4)
            return IndirectOperand(RegFile.GRF, kind, rng.randrange(7), offset, region)
        if where == "mrf":
            nr = rng.randrange(16)
            if self.gen in Gen.GEN45 and inst.compression is Compression.COMPR and rng.random() < 0.6:
                nr = rng.randrange(12) | 0x80
            return DirectOperand(RegFile.MRF, kind, nr, 0 if rng.random() < 0.8 else sub, region)
        nr = rng.choice((rng.randrange(0, 128), rng.randrange(2, 40), rng.randrange(2, 40)))
        if self.client:  # few registers, so that results meet again
            nr = rng.randrange(2, 20)
        return DirectOperand(RegFile.GRF, kind, nr, sub, region)

    def _region(self, inst: Instruction) -> Align1Region | Align16Region:
        rng = self.rng
        if inst.align16:
            swizzle = rng.choice((0xE4, 0xE4, 0x00, 0x55, 0xAA, 0xFF, rng.randrange(256)))
            return Align16Region(rng.choice((3, 3, 3, 0)), swizzle)
        if self.client:
            wide = inst.channels == 16 and inst.compression is not Compression.COMPR
            v, w, h = rng.choice(((16, 16, 1) if wide else (8, 8, 1),) * 3 + ((0, 1, 0), _COMMON_REGIONS[3]))
            return Align1Region(VSTRIDE_CODES[v], WIDTH_CODES[w], HSTRIDE_CODES[h])
        if rng.random() < 0.8:
            v, w, h = rng.choice(_COMMON_REGIONS)
            return Align1Region(VSTRIDE_CODES[v], WIDTH_CODES[w], HSTRIDE_CODES[h])
        return Align1Region(rng.randrange(7), rng.randrange(5), rng.randrange(4))

    def _source(self, kind: RegType, inst: Instruction, *, immediate: bool) -> Operand:
        rng = self.rng
        if immediate and rng.random() < 0.22:
            return self.immediate(kind)
        negate, absolute = rng.random() < 0.2, rng.random() < 0.12
        what = rng.random()
        if what < 0.05:
            offset = rng.randrange(-512, 512, 16 if inst.align16 else 4)
            region = self._region(inst)
            if isinstance(region, Align1Region) and rng.random() < 0.5:
                region = Align1Region(VSTRIDE_INDEXED, rng.choice((0, 0, 1, 2, 3)), rng.choice((0, 1, 1, 2)))
            return IndirectOperand(RegFile.GRF, kind, rng.randrange(8), offset, region, negate, absolute)
        if what < 0.07 and not inst.align16:
            nr, sub = rng.choice(((0x00, 0), (0x10, 0), (0x10, 8), (0x30, 0), (0x40, 0), (0x70, 4)))
            if nr == 0 or kind in (T.UD, T.UW):
                return DirectOperand(RegFile.ARF, kind, nr, sub, _SCALAR, negate, absolute)
        region = self._region(inst)
        sub = self._subregister(kind)
        if self.client and isinstance(region, Align1Region):
            sub = TYPE_BYTES[kind] * rng.randrange(8) if region == _SCALAR else 0
            if inst.compression is Compression.SECHALF and TYPE_BYTES[kind] == 2 and region != _SCALAR:
                sub = 16
        if inst.align16:
            sub &= 16
        nr = rng.choice((rng.randrange(0, 128), rng.randrange(2, 40), rng.randrange(2, 40)))
        if self.client:
            nr = rng.randrange(2, 40)
        elif rng.random() < 0.01:
            nr = rng.randrange(120, 256)
        return DirectOperand(RegFile.GRF, kind, nr, sub, region, negate, absolute)

    def immediate(self, kind: RegType) -> Immediate:
        rng = self.rng
        if kind is T.F:
            if rng.random() < 0.3:
                return Immediate(ImmType.VF, rng.choice((rng.getrandbits(32), 0x30, 0x48302000, 0x80B00130)))
            bits = rng.choice((*_SPECIALS, 0x3F800000, 0x40000000, 0x3F000000, 0x3DCCCCCD, 0xBE99999A, 0x42280000))
            if bits & 0x7F800000 == 0x7F800000:
                bits = 0x40490FDB
            return Immediate(ImmType.F, bits)
        if kind in (T.UD, T.D):
            bits = rng.choice((*_SPECIALS, rng.getrandbits(32), *range(0, 33, 4), 0xFFFFFFFE))
            return Immediate(ImmType.UD if kind is T.UD else ImmType.D, bits)
        if rng.random() < 0.3:
            return Immediate(ImmType.V, rng.getrandbits(32))
        low = rng.choice((rng.getrandbits(16), 0x8000, 0xFFFF, 0x7FFF, 0, 1, 2, 5, 15, 16, 255))
        high = low if rng.random() < 0.6 else rng.getrandbits(16)
        return Immediate(rng.choice((ImmType.UW, ImmType.W)), low | high << 16)

    def _plane(self, op: int) -> dict[str, Operand]:
        rng = self.rng
        plane = DirectOperand(RegFile.GRF, T.F, rng.randrange(2, 40), rng.choice((0, 16, 0, 16, 4, 20))
                              if op == Opcode.LINE else rng.choice((0, 16)), _SCALAR)
        region = _PACKED if op == Opcode.PLN or rng.random() < 0.8 else _SCALAR
        u = DirectOperand(RegFile.GRF, T.F, rng.randrange(2, 120), 0, region, rng.random() < 0.1)
        return {"src0": plane, "src1": u}

    # --- other families ---

    def _accumulator_reader(self, last: Instruction) -> Instruction | None:
        """An instruction that reads the accumulator after the last one, with its form and channels."""
        rng = self.rng
        if last.src0 is None:
            return None
        names = [o.type.name for o in (last.src0, last.src1) if o is not None]
        if any(n in ("F", "VF") for n in names):
            kind, to = T.F, rng.choice((T.F, T.F, T.F, T.D, T.W))
        elif any(n in ("D", "UD") for n in names):
            kind, to = T.D, rng.choice((T.D, T.D, T.UD, T.W, T.F))
        else:
            kind, to = T.W, rng.choice((T.W, T.UW, T.D, T.UB, T.F))
        base = replace(last, cond_modifier=0, saturate=rng.random() < 0.2, opcode=Opcode.MOV)
        if rng.random() < 0.3:
            base = replace(base, cond_modifier=rng.randint(1, 6))
        dst = self._destination(to, base)
        if base.align16 and isinstance(last.dst, DirectOperand | IndirectOperand):
            mask = last.dst.region.writemask if isinstance(last.dst.region, DestRegion) else 15
            dst = replace(dst, region=DestRegion(1, mask))
        if rng.random() < 0.5:
            op = Opcode.MAC if kind is not T.D else rng.choice((Opcode.MAC, Opcode.MACH))
            first = T.W if kind is T.D and op == Opcode.MAC else kind
            if op == Opcode.MACH:
                base, dst = replace(base, saturate=False, cond_modifier=0), replace(dst, type=T.D)
            return replace(base, opcode=op, dst=dst, src0=self._source(first, base, immediate=False),
                           src1=self._source(kind, base, immediate=True))
        nr = 0x21 if base.compression is Compression.SECHALF else 0x20
        acc = DirectOperand(RegFile.ARF, kind, nr, 0, Align16Region(3) if base.align16 else _PACKED)
        if rng.random() < 0.5:
            return replace(base, dst=dst, src0=acc, src1=None)
        if rng.random() < 0.3:
            into = DirectOperand(RegFile.ARF, kind, nr, 0, DestRegion(1, 15 if base.align16 else None))
            if not base.align16:
                dst, base = into, replace(base, saturate=False)
        op = rng.choice((Opcode.ADD, Opcode.MUL)) if kind is T.F else Opcode.ADD if kind is T.D else rng.choice(
            (Opcode.ADD, Opcode.ASR, Opcode.SHR))
        return replace(base, opcode=op, dst=dst, src0=acc, src1=self._source(kind, base, immediate=True))

    def accumulator(self) -> Instruction:
        """An instruction with an explicit accumulator as its destination."""
        rng = self.rng
        kind = rng.choice((T.F, T.F, T.D, T.W))
        compressed = kind is not T.W and rng.random() < 0.5
        size = 16 if compressed or kind is T.W else 8
        base = Instruction(Opcode.MOV, self.gen, EXEC_SIZE_CODES[size], nomask=rng.random() < 0.5,
                           compression=Compression.COMPR if compressed else Compression.NONE)
        nr = 0x20 if compressed or rng.random() < 0.8 else 0x21
        dst = DirectOperand(RegFile.ARF, kind, nr, 0, DestRegion(1))
        op = rng.choice((Opcode.MOV, Opcode.MUL, Opcode.ADD))
        src0 = self._source(kind, base, immediate=op == Opcode.MOV)
        src1 = None if op == Opcode.MOV else self._source(kind, base, immediate=True)
        return replace(base, opcode=op, dst=dst, src0=src0, src1=src1)

    def housekeeping(self) -> Instruction:
        """Address, flag and mask registers, and the instruction pointer."""
        rng = self.rng
        base = Instruction(Opcode.MOV, self.gen, 0, nomask=rng.random() < 0.6)
        grf = DirectOperand(RegFile.GRF, T.UW, rng.randrange(2, 40), rng.randrange(0, 32, 2), _SCALAR)
        out = DirectOperand(RegFile.GRF, T.UD, rng.randrange(2, 40), rng.randrange(0, 32, 4), DestRegion(1))
        match rng.randrange(8):
            case 0:
                dst = DirectOperand(RegFile.ARF, T.UW, 0x10, 2 * rng.randrange(8), DestRegion(1))
                return replace(base, dst=dst, src0=Immediate(ImmType.UW, 4 * rng.randrange(1024)))
            case 1:
                a0 = DirectOperand(RegFile.ARF, T.UW, 0x10, 2 * rng.randrange(8), _SCALAR)
                dst = DirectOperand(RegFile.ARF, T.UW, 0x10, a0.subnr, DestRegion(1))
                return replace(base, opcode=Opcode.ADD, dst=dst, src0=a0, src1=Immediate(ImmType.UW, rng.choice(
                    (4, 16, 32, 0x40, 0xFFFC))))
            case 2:
                dst = DirectOperand(RegFile.ARF, T.UW, 0x30, 2 * rng.randrange(2), DestRegion(1))
                source = grf if rng.random() < 0.5 else Immediate(ImmType.UW, rng.choice((0xF, 0xF0, 0xFF, 0x8421)))
                return replace(base, dst=dst, src0=source)
            case 3:
                flag = DirectOperand(RegFile.ARF, T.UW, 0x30, 2 * rng.randrange(2), _SCALAR)
                return replace(base, opcode=Opcode.AND, dst=out, src0=flag, src1=Immediate(ImmType.UW, 0xFF0F))
            case 4:
                mask = DirectOperand(RegFile.ARF, T.UW, 0x40, 2 * rng.randrange(4), DestRegion(1))
                value = rng.choice((0xFFFF, 0xFFFF, 0xFF, 0xF0F0, rng.getrandbits(16)))
                return replace(base, nomask=True, dst=mask, src0=Immediate(ImmType.UW, value))
            case 5:
                mask = DirectOperand(RegFile.ARF, T.UW, 0x40, 2 * rng.randrange(4), _SCALAR)
                return replace(base, dst=out, src0=mask)
            case 6:
                ip = DirectOperand(RegFile.ARF, T.UD, 0xA0, 0, _SCALAR)
                return replace(base, dst=out, src0=ip)
            case _:
                if rng.random() < 0.5:
                    return Instruction(Opcode.NOP, self.gen)
                sr = DirectOperand(RegFile.ARF, T.UW, 0x70, 4, _SCALAR)
                return replace(base, dst=out, src0=sr)

    def message(self) -> Instruction:
        """A message to the null function, for its implied move."""
        rng = self.rng
        kind = rng.choice((T.F, T.F, T.UD, T.D, T.UW, T.W, T.UB))
        base = Instruction(Opcode.SEND, self.gen, EXEC_SIZE_CODES[rng.choice((1, 4, 8, 8, 16))],
                           align16=rng.random() < 0.3, nomask=rng.random() < 0.3, base_mrf=rng.randrange(15))
        if base.align16:
            base = replace(base, exec_size=EXEC_SIZE_CODES[8])
        elif base.channels == 16 and self.gen in Gen.GEN45:
            base = replace(base, compression=Compression.COMPR)
        return replace(base, dst=DirectOperand(RegFile.ARF, T.UW, 0, 0, DestRegion(1, 15 if base.align16 else None)),
                       src0=self._source(kind, base, immediate=False), src1=Immediate(ImmType.UD, 0x00100000),
                       predicate=int(rng.random() < 0.2))

    # --- fixed pieces ---

    def prologue(self) -> list[Instruction]:
        """Loads a0 from r127, and sometimes sets masks."""
        rng = self.rng
        found = [move(self.gen, 8, arf(0x10, 0, DestRegion(1)), grf(127, T.UW, _PACKED))]
        for index in range(1, 4):
            if rng.random() < 0.15:
                found.append(move(self.gen, 1, arf(0x40, 2 * index, DestRegion(1)),
                                  Immediate(ImmType.UW, rng.getrandbits(16) | rng.getrandbits(16))))
        return found

    def epilogue(self) -> list[Instruction]:
        """Copies state that the bench does not read to r124 and r125, and ends the thread."""
        quad = Align1Region(VSTRIDE_CODES[4], WIDTH_CODES[4], HSTRIDE_CODES[1])
        return [move(self.gen, 8, grf(125, T.UW, DestRegion(1)), arf(0x10, 0, _PACKED)),
                move(self.gen, 4, grf(124, T.UW, DestRegion(1)), arf(0x40, 0, quad)), end(self.gen)]


def arf(nr: int, sub: int, region: Align1Region | DestRegion) -> DirectOperand:
    return DirectOperand(RegFile.ARF, T.UW, nr, sub, region)


def grf(nr: int, kind: RegType, region: Align1Region | DestRegion, sub: int = 0) -> DirectOperand:
    return DirectOperand(RegFile.GRF, kind, nr, sub, region)


def move(gen: Gen, size: int, dst: DirectOperand, src: Operand) -> Instruction:
    return Instruction(Opcode.MOV, gen, EXEC_SIZE_CODES[size], nomask=True, dst=dst, src0=src)


def end(gen: Gen) -> Instruction:
    null = DirectOperand(RegFile.ARF, T.UD, 0, 0, DestRegion(1))
    return Instruction(Opcode.SEND, gen, 3, dst=null, src0=replace(null, region=_PACKED),
                       src1=Immediate(ImmType.UD, END_OF_THREAD.bits))


def encoded(program: list[Instruction]) -> bytes:
    return b"".join(encode_bytes(i) for i in program)

