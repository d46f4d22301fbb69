"""Random programs of Gen7, Gen7.5 and Gen9, and their comparison with the reference.

All fields of everything that the reference executes are random, with a bias to instructions that Mesa emits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble, encode_bytes
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
from gen4emu.isa.opcodes import Shape, opcode_named
from gen4emu.isa.registers import (
    EXEC_SIZE_CODES,
    HSTRIDE_CODES,
    TYPE_BYTES,
    VSTRIDE_CODES,
    VSTRIDE_INDEXED,
    WIDTH_CODES,
    ImmType,
    RegFile,
    RegType,
)
from tests.eu.differential import DMASKS, Bench, Case, Outcome, random_start
from tests.eu.generate import _COMMON_REGIONS, _SPECIALS
from tests.eu.reference.gen7 import Gang, execute
from tests.eu.reference.gen7_flow import run
from tests.eu.reference.thread import Unspecified
from tests.harness.probe import Probe, Status

T = RegType
PARTS = (Gen.IVB, Gen.HSW, Gen.KBL)
_FLOATS = ("mov", "add", "mul", "mad", "mad", "lrp", "frc", "rndd", "rnde", "rndz", "rndu", "cmp", "cmpn", "sel", "sel",
           "dp4", "dph", "dp3", "dp2", "line", "pln", "math", "math", "f32to16")
_INTEGERS = ("mov", "sel", "sel", "not", "and", "or", "xor", "shr", "shl", "asr", "cmp", "cmpn", "add", "mul", "avg",
             "lzd", "bfrev", "bfe", "bfi1", "bfi2", "fbh", "fbl", "cbit", "math", "f16to32")
_DOUBLES = ("mov", "mov", "add", "mul", "cmp", "sel", "rndd", "rnde", "rndz")
_TERNARY = ("mad", "lrp", "bfe", "bfi2")
_UNARY = ("mov", "not", "frc", "rndd", "rnde", "rndz", "rndu", "lzd", "bfrev", "fbh", "fbl", "cbit", "f32to16",
          "f16to32")
_DWORDS = ("lzd", "bfrev", "bfe", "bfi1", "bfi2", "fbh", "fbl", "cbit", "math")
_NO_CONDITION = ("math", "bfrev", "bfe", "bfi1", "bfi2", "fbh", "fbl", "cbit", "f32to16", "line", "lzd")
_DOTS = ("dp4", "dph", "dp3", "dp2")
_SCALAR = Align1Region(0, 0, 0)


def region(v: int, w: int, h: int) -> Align1Region:
    return Align1Region(VSTRIDE_CODES[v], WIDTH_CODES[w], HSTRIDE_CODES[h])


_PACKED = region(8, 8, 1)


class Generator:
    def __init__(self, rng: random.Random, gen: Gen, *, client: bool, doubles: bool = False) -> None:
        """A client's instructions have packed, scalar and immediate operands at whole registers, as compilers do.

        `doubles`: most instructions have them.
        """
        self.doubles = doubles
        self.rng = rng
        self.gen = gen
        self.client = client
        self.queue: list[Instruction] = []

    def opcode(self, name: str) -> int:
        info = opcode_named(name, self.gen)
        assert info is not None
        return info.number

    def instruction(self) -> Instruction:
        if self.queue:
            return self.queue.pop(0)
        weights = (20, 76, 0, 4) if self.doubles else (84, 7, 5, 4)
        make = self.rng.choices((self.alu, self.double, self.accumulator, self.housekeeping), weights)[0]
        return make()

    # --- forms ---

    def alu(self) -> Instruction:
        rng = self.rng
        family = rng.choices(("float", "integer", "convert"), (60, 30, 10))[0]
        names = {"float": _FLOATS, "integer": _INTEGERS, "convert": ("mov",)}[family]
        name = rng.choice([name for name in names if opcode_named(name, self.gen)])
        form = rng.choices(("align1", "wide", "align16", "words"), (38, 34, 20, 8))[0]
        if name in ("line", "pln"):
            form = rng.choice(("align1", "wide"))
        if name in _DOTS and form == "align1":
            form = "align16"
        if form == "words" and (family != "integer" or name in (*_DWORDS, "f16to32")):
            form = "wide"
        if name in _TERNARY:
            form = "align16" if self.gen is Gen.IVB or rng.random() < 0.6 else "wide16"
        if name == "f16to32":
            form = "align1" if form == "align16" else form
        size = {"align1": rng.choice((8, 8, 8, 4, 2, 1)), "wide": 16, "wide16": 16, "words": rng.choice((16, 16, 32)),
                "align16": rng.choice((8, 8, 8, 4)) if self.gen is Gen.IVB else rng.choice((8, 8, 16))}[form]
        if name in ("line", "pln", *_DOTS) or (self.client and form == "align1" and rng.random() < 0.7):
            size = max(size, 8)
        quarter = int(size <= 8 and rng.random() < 0.2)
        nibble = int(size <= 4 and rng.random() < 0.3)
        base = Instruction(self.opcode(name), self.gen, EXEC_SIZE_CODES[size], form in ("align16", "wide16"),
                           nomask=rng.random() < 0.15, quarter=quarter, nibble=nibble)
        base = self.modifiers(base, name, family)
        kinds = self.types(name, family, form)
        if name == "math":
            return self.math(base, family)
        if name in _TERNARY:
            return self.ternary(base, name)
        dst = self.destination(kinds[0], base)
        if name in ("line", "pln"):
            plane = self.grf(T.F, 4 * rng.randrange(8), _SCALAR)
            nr = rng.randrange(2, 100)
            u = DirectOperand(RegFile.GRF, T.F, nr, 0, _PACKED, rng.random() < 0.1)
            return replace(base, dst=dst, src0=plane, src1=u)
        src0 = self.source(kinds[1], base, immediate=name in _UNARY)
        if name in _UNARY:
            return replace(base, dst=dst, src0=src0)
        return replace(base, dst=dst, src0=src0, src1=self.source(kinds[2], base, immediate=True))

    def types(self, name: str, family: str, form: str) -> tuple[RegType, RegType, RegType]:
        rng = self.rng
        whole = (T.UD, T.D, T.UW, T.W, T.UB, T.B)
        if name == "f32to16":
            return (T.UD if form == "align16" else T.UW), T.F, T.F
        if name == "f16to32":
            return T.F, T.UW, T.UW
        if family == "float":
            to = T.F if rng.random() < 0.9 or name in _DOTS or name in ("sel", "cmp", "cmpn") else rng.choice(whole)
            return to, T.F, T.F
        if family == "convert":
            return rng.choice(((T.F, rng.choice(whole), T.F), (rng.choice(whole), T.F, T.F)))
        if form == "words":
            return rng.choice((T.UW, T.W)), rng.choice((T.UW, T.W, T.UB, T.B)), rng.choice((T.UW, T.W))
        if name in _DWORDS:
            kind = rng.choice((T.UD, T.D))
            return kind, kind, kind
        if rng.random() < 0.6:
            kind = rng.choice((T.UD, T.D))
            return kind, kind, kind
        return rng.choice(whole), rng.choice(whole), rng.choice(whole)

    def modifiers(self, inst: Instruction, name: str, family: str) -> Instruction:
        rng = self.rng
        predicate = condition = 0
        if name == "sel":
            if rng.random() < 0.5:
                condition = rng.choice((4, 5, 4, 5, 1, 2, 3, 6))
            else:
                predicate = 1
        elif rng.random() < 0.3:
            predicate = 1
        if predicate and rng.random() < 0.35:
            predicate = rng.randint(2, 7 if inst.align16 else 13)
        if name in ("cmp", "cmpn"):
            condition = rng.randint(1, 6)
        elif name not in (*_NO_CONDITION, "sel") and rng.random() < 0.25:
            condition = rng.choice((1, 2, 3, 4, 5, 6, 9 if family == "float" else 2))
        saturate = name not in ("cmp", "cmpn", "not", "and", "or", "xor", "bfrev", "bfe", "bfi1", "bfi2", "fbh", "fbl",
                                "cbit", "lzd") and rng.random() < 0.15
        if name == "math" and family == "integer":
            saturate = False
        return replace(inst, predicate=predicate, predicate_inverse=predicate != 0 and rng.random() < 0.4,
                       flag_subreg=int(rng.random() < 0.2), flag_reg=int(rng.random() < 0.2),
                       cond_modifier=condition, saturate=saturate)

    def math(self, base: Instruction, family: str) -> Instruction:
        rng = self.rng
        if family == "integer":
            kind = rng.choice((T.UD, T.D))
            base = replace(base, math_function=rng.choice((12, 13)))
        else:
            kind = T.F
            base = replace(base, math_function=rng.choice((1, 2, 3, 4, 5, 6, 7, 9, 10)))
        region_of = Align16Region(3) if base.align16 else None
        src0 = self.source(kind, base, immediate=False, direct=True)
        two = base.math_function >= 9
        null = DirectOperand(RegFile.ARF, kind, 0, 0, region_of or _SCALAR)
        src1 = self.source(kind, base, immediate=False, direct=True) if two else null
        if kind is not T.F:
            src0, src1 = (replace(s, negate=False, abs=False) for s in (src0, src1))  # type: ignore[misc]  # either kind of operand
        return replace(base, dst=self.destination(kind, base), src0=src0, src1=src1)

    def ternary(self, base: Instruction, name: str) -> Instruction:
        rng = self.rng
        kind = T.F if name in ("mad", "lrp") else rng.choice((T.UD, T.D))
        mask = rng.choice((15, 15, 15, rng.randint(1, 15)))
        dst = DirectOperand(RegFile.GRF, kind, rng.randrange(2, 60), 0, DestRegion(HSTRIDE_CODES[1], mask))
        operands = []
        for _ in range(3):
            replicate = rng.random() < 0.3
            swizzle = rng.choice((0xE4, 0xE4, rng.randrange(256)))
            operands.append(DirectOperand(
                RegFile.GRF, kind, rng.randrange(2, 60), 4 * rng.randrange(8) if replicate else 0,
                TernaryRegion(replicate, 0 if replicate else swizzle), kind is T.F and rng.random() < 0.2,
                kind is T.F and rng.random() < 0.1))
        return replace(base, dst=dst, src0=operands[0], src1=operands[1], src2=operands[2])

    def double(self) -> Instruction:
        rng = self.rng
        name = rng.choice(_DOUBLES)
        ivy = self.gen is Gen.IVB
        if not ivy and rng.random() < 0.15:
            return self.double_mad()
        align16 = rng.random() < 0.3
        size = 8 if ivy or align16 else rng.choice((4, 4, 8))
        if align16 and not ivy:
            size = rng.choice((4, 8))
        base = Instruction(self.opcode(name), self.gen, EXEC_SIZE_CODES[size], align16, nomask=rng.random() < 0.2,
                           nibble=int(rng.random() < 0.3) if size == 4 or ivy else 0)
        base = replace(self.modifiers(base, name, "double"), saturate=rng.random() < 0.1 and name not in ("cmp",))
        if base.cond_modifier == 9:
            base = replace(base, cond_modifier=1)
        doubles = (DirectOperand(RegFile.GRF, T.DF, rng.randrange(2, 60), 0, self._double_region(align16),
                                 rng.random() < 0.2, rng.random() < 0.1) for _ in range(2))
        src0: Operand = next(doubles)
        to = T.DF
        if name == "mov" and not align16:
            what = rng.randrange(3)
            if what == 1:
                to = rng.choice((T.F, T.D, T.UD))
            elif what == 2:
                src0 = DirectOperand(RegFile.GRF, rng.choice((T.F, T.D, T.UD)), rng.randrange(2, 60), 0,
                                     region(1, 2, 0) if ivy else region(4, 4, 1))
        stride = 1 if ivy or to is T.DF else 2
        mask = rng.choice((15, 15, 3, 5)) if align16 else None
        dst = DirectOperand(RegFile.GRF, to, rng.randrange(2, 60), 0, DestRegion(HSTRIDE_CODES[stride], mask))
        return replace(base, dst=dst, src0=src0, src1=None if name in _UNARY else next(doubles))

    def double_mad(self) -> Instruction:
        rng = self.rng
        size = rng.choice((4, 8))
        base = Instruction(self.opcode("mad"), self.gen, EXEC_SIZE_CODES[size], align16=True, nomask=rng.random() < 0.2,
                           nibble=int(size == 4 and rng.random() < 0.3), predicate=int(rng.random() < 0.2))
        a, b, c = (DirectOperand(RegFile.GRF, T.DF, rng.randrange(2, 60), 0, TernaryRegion(), rng.random() < 0.2)
                   for _ in range(3))
        dst = DirectOperand(RegFile.GRF, T.DF, rng.randrange(2, 60), 0, DestRegion(HSTRIDE_CODES[1], 15))
        return replace(base, dst=dst, src0=a, src1=b, src2=c)

    def _double_region(self, align16: bool) -> Align1Region | Align16Region:
        rng = self.rng
        if align16:
            code = 3 if self.gen is Gen.IVB else 2
            return Align16Region(rng.choice((code, code, 0)), rng.choice((0xE4, 0x44, 0xEE, 0xE4)))
        if self.gen is Gen.IVB:
            return rng.choice((_PACKED, _PACKED, region(0, 2, 1)))
        return rng.choice((region(4, 4, 1), region(4, 4, 1), _SCALAR))

    def accumulator(self) -> Instruction:
        """A pair of instructions, the second of which reads the accumulator that the first one writes."""
        rng = self.rng
        quarter, mask = int(rng.random() < 0.2), rng.random() < 0.3
        base = Instruction(self.opcode("mov"), self.gen, EXEC_SIZE_CODES[8], nomask=mask, quarter=quarter)
        acc = DirectOperand(RegFile.ARF, T.F, 0x20, 0, DestRegion(HSTRIDE_CODES[1]))
        kind = rng.choice((T.UD, T.D))
        a, b, c = (self.grf(kind, 0, _PACKED) for _ in range(3))
        out = self.destination(kind, base, direct=True)
        match rng.randrange(4):
            case 0:
                words = replace(b, type=T.UW, region=region(16, 8, 2))  # Gen9's product of dwords is whole
                first = replace(base, opcode=self.opcode("mul"), dst=replace(acc, type=kind), src0=a,
                                src1=words if self.gen is Gen.KBL else b)
                self.queue = [replace(base, opcode=self.opcode("mach"), acc_write=True, dst=out, src0=a, src1=b),
                              replace(base, dst=self.destination(kind, base, direct=True),
                                      src0=replace(acc, type=kind, region=_PACKED))]
            case 1:
                first = replace(base, opcode=self.opcode(rng.choice(("addc", "subb"))), acc_write=True,
                                dst=replace(out, type=T.UD), src0=replace(a, type=T.UD), src1=replace(b, type=T.UD))
                self.queue = [replace(base, dst=replace(c, region=DestRegion(HSTRIDE_CODES[1])),
                                      src0=replace(acc, type=kind, region=_PACKED))]
            case 2:
                floats = [self.grf(T.F, 0, _PACKED) for _ in range(4)]
                first = replace(base, opcode=self.opcode(rng.choice(("add", "mul"))), acc_write=True,
                                dst=replace(out, type=T.F), src0=floats[0], src1=floats[1])
                self.queue = [replace(base, opcode=self.opcode("mac"), dst=self.destination(T.F, base, direct=True),
                                      acc_write=rng.random() < 0.5, src0=floats[2], src1=floats[3])]
            case _:
                floats = [self.grf(T.F, 0, _PACKED) for _ in range(3)]
                first = replace(base, opcode=self.opcode("mul"), dst=acc, src0=floats[0], src1=floats[1])
                own = replace(acc, nr=0x20, region=_PACKED)
                self.queue = [replace(base, opcode=self.opcode("add"), dst=self.destination(T.F, base, direct=True),
                                      src0=own, src1=floats[2])]
        return first

    def housekeeping(self) -> Instruction:
        rng = self.rng
        base = Instruction(self.opcode("mov"), self.gen, 0, nomask=rng.random() < 0.7)
        out = DirectOperand(RegFile.GRF, T.UD, rng.randrange(2, 40), rng.randrange(0, 32, 4), DestRegion(1))
        match rng.randrange(5):
            case 0:
                dst = DirectOperand(RegFile.ARF, T.UW, 0x10, 2 * rng.randrange(addresses(self.gen)), DestRegion(1))
                return replace(base, dst=dst, src0=Immediate(ImmType.UW, 4 * rng.randrange(1000)))
            case 1:
                dst = DirectOperand(RegFile.ARF, T.UW, 0x30 + rng.randrange(2), 2 * rng.randrange(2), DestRegion(1))
                return replace(base, dst=dst, src0=Immediate(ImmType.UW, rng.getrandbits(16)))
            case 2:
                flag = DirectOperand(RegFile.ARF, T.UW, 0x30 + rng.randrange(2), 2 * rng.randrange(2), _SCALAR)
                return replace(base, dst=out, src0=flag)
            case 3:
                nr, sub = rng.choice(((0x40, 0), (0x70, 8), (0x70, 12)))
                return replace(base, dst=out, src0=DirectOperand(RegFile.ARF, T.UD, nr, sub, _SCALAR))
            case _:
                if self.gen is not Gen.HSW:
                    return Instruction(self.opcode("nop"), self.gen)
                dst = DirectOperand(RegFile.GRF, T.DF, rng.randrange(2, 40), 0, DestRegion(1))
                return replace(base, opcode=self.opcode("dim"), nomask=True, dst=dst,
                               src0=Immediate(ImmType.F, rng.getrandbits(64)))

    # --- operands ---

    def grf(self, kind: RegType, sub: int, shape: Align1Region) -> DirectOperand:
        return DirectOperand(RegFile.GRF, kind, self.rng.randrange(2, 40), sub, shape)

    def destination(self, kind: RegType, inst: Instruction, *, direct: bool = False) -> RegisterOperand:
        rng = self.rng
        mask = rng.choice((15, 15, 1, 2, 4, 8, 7, 3, rng.randint(1, 15))) if inst.align16 else None
        stride = 1 if inst.align16 or (self.client and TYPE_BYTES[kind] == 4) else rng.choice((1, 1, 1, 1, 2, 4))
        size = TYPE_BYTES[kind]
        if inst.channels * stride * size > 64:
            stride = 1
        sub = 0
        if not self.client and not inst.align16 and rng.random() < 0.3:
            sub = rng.randrange(0, max(32 - ((inst.channels - 1) * stride + 1) * size, 0) + 1) // size * size
        shape = DestRegion(HSTRIDE_CODES[stride], mask)
        what = rng.random()
        if what < 0.08 and not direct:
            return DirectOperand(RegFile.ARF, kind, 0, 0, shape)
        if what < 0.11 and not direct and not self.client:
            return IndirectOperand(RegFile.GRF, kind, rng.randrange(addresses(self.gen)), rng.randrange(0, 512, 32),
                                   shape)
        nr = rng.randrange(2, 20) if self.client else rng.randrange(2, 100)
        return DirectOperand(RegFile.GRF, kind, nr, sub, shape)

    def source(self, kind: RegType, inst: Instruction, *, immediate: bool, direct: bool = False) -> Operand:
        rng = self.rng
        if immediate and rng.random() < 0.2:
            return self.immediate(kind)
        negate, absolute = rng.random() < 0.2, rng.random() < 0.1
        what = rng.random()
        if what < 0.04 and not direct:
            shape: Align1Region | Align16Region = self.region(inst)
            if isinstance(shape, Align1Region) and rng.random() < 0.5 and inst.channels <= 8:
                shape = Align1Region(VSTRIDE_INDEXED, rng.choice((0, 0, 1, 2, 3)), rng.choice((0, 1, 1, 2)))
            return IndirectOperand(RegFile.GRF, kind, rng.randrange(addresses(self.gen)), rng.randrange(-64, 512, 32),
                                   shape, negate, absolute)
        if what < 0.05 and not inst.align16 and not direct:
            return DirectOperand(RegFile.ARF, kind, 0, 0, _SCALAR, negate, absolute)
        shape = self.region(inst)
        size = TYPE_BYTES[kind]
        sub = 0
        if shape == _SCALAR:
            sub = size * rng.randrange(32 // size)
        elif not self.client and not inst.align16:
            sub = rng.choice((0, 0, 16, size * rng.randrange(32 // size)))
        elif inst.align16:
            sub = rng.choice((0, 0, 0, 16))
        nr = rng.randrange(2, 40) if self.client else rng.randrange(2, 110)
        return DirectOperand(RegFile.GRF, kind, nr, sub, shape, negate, absolute)

    def region(self, inst: Instruction) -> Align1Region | Align16Region:
        rng = self.rng
        if inst.align16:
            swizzle = rng.choice((0xE4, 0xE4, 0x00, 0x55, 0xAA, 0xFF, rng.randrange(256)))
            return Align16Region(rng.choice((3, 3, 3, 0)), swizzle)
        if self.client:
            wide = region(16, 16, 1) if inst.channels == 16 and rng.random() < 0.3 else _PACKED
            return rng.choice((wide, wide, wide, _SCALAR))
        return region(*rng.choice(_COMMON_REGIONS))

    def immediate(self, kind: RegType) -> Immediate:
        rng = self.rng
        if kind is T.F:
            if rng.random() < 0.25:
                return Immediate(ImmType.VF, rng.getrandbits(32))
            bits = rng.choice((*_SPECIALS, 0x3F800000, 0x40000000, 0x3F000000, 0x3DCCCCCD, 0xBE99999A, 0x42280000))
            return Immediate(ImmType.F, 0x40490FDB if bits & 0x7F800000 == 0x7F800000 else bits)
        if TYPE_BYTES[kind] == 4:
            bits = rng.choice((*_SPECIALS, rng.getrandbits(32), *range(0, 33, 4), 0xFFFFFFFE))
            return Immediate(ImmType.UD if kind is T.UD else ImmType.D, bits)
        if rng.random() < 0.3:
            return Immediate(rng.choice((ImmType.V, ImmType.UV)), rng.getrandbits(32))
        low = rng.choice((rng.getrandbits(16), 0x8000, 0xFFFF, 0x7FFF, 0, 1, 2, 5, 15, 16, 255))
        return Immediate(rng.choice((ImmType.UW, ImmType.W)), low | low << 16)


# --- fixed pieces ---

def end(gen: Gen) -> Instruction:
    info = opcode_named("send", gen)
    assert info is not None
    null = DirectOperand(RegFile.ARF, T.UD, 0, 0, DestRegion(1))
    return Instruction(info.number, gen, EXEC_SIZE_CODES[8], dst=null,
                       src0=DirectOperand(RegFile.GRF, T.UD, 2, 0, _PACKED), src1=Immediate(ImmType.UD, 0x02000000),
                       end_of_thread=True)


def addresses(gen: Gen) -> int:
    """The words of a0."""
    return 16 if gen & Gen.GEN9 else 8


def prologue(gen: Gen) -> list[Instruction]:
    """Loads a0 from r127."""
    base = Instruction(1, gen, EXEC_SIZE_CODES[addresses(gen)], nomask=True)
    return [replace(base, dst=DirectOperand(RegFile.ARF, T.UW, 0x10, 0, DestRegion(1)),
                    src0=DirectOperand(RegFile.GRF, T.UW, 127, 0, _PACKED))]


def epilogue(gen: Gen) -> list[Instruction]:
    """Copies f1 and the last of a0 to r124 and r125."""
    base = Instruction(1, gen, 0, nomask=True)
    return [replace(base, dst=DirectOperand(RegFile.GRF, T.UD, 124, 0, DestRegion(1)),
                    src0=DirectOperand(RegFile.ARF, T.UD, 0x31, 0, _SCALAR)),
            replace(base, dst=DirectOperand(RegFile.GRF, T.UW, 125, 0, DestRegion(1)),
                    src0=DirectOperand(RegFile.ARF, T.UW, 0x10, 2 * addresses(gen) - 2, _SCALAR))]


def start(case: Case) -> Gang:
    n = len(case.dmasks)
    grf = np.ascontiguousarray(case.grf).view(np.uint8).reshape(n, 4096).copy()
    return Gang(case.gen, grf, list(case.flags), list(case.dmasks), case.alternate, case.wide)


@dataclass
class Straight:
    """A case, and its threads on the reference after the program."""

    case: Case
    gang: Gang
    program: list[Instruction] = field(default_factory=list)

    def extend(self, inst: Instruction) -> bool:
        """Append an instruction; False if its result is undefined."""
        moved = self.gang.clone()
        try:
            if inst.info is not None and inst.info.name != "nop":
                execute(moved, inst)
        except Unspecified:
            return False
        self.gang = moved
        self.program.append(inst)
        self.case.code += encode_bytes(inst)
        return True


def wide_start(seed: int, gen: Gen) -> Case:
    """Threads of 32 channels."""
    case = random_start(seed, gen)
    rng = random.Random(seed)
    case.wide = True
    case.dmasks = [low | rng.choice(DMASKS) << 16 for low in case.dmasks]
    return case


def straight_case(seed: int, gen: Gen, length: int, *, doubles: bool = False, wide: bool = False,
                  generator: type[Generator] = Generator) -> Straight:
    """A program without branches, already executed by the reference."""
    case = wide_start(seed, gen) if wide else random_start(seed, gen)
    if gen & Gen.GEN9:
        case.grf[:, 127, 4:] = case.grf[:, 127, :4]  # the upper half of a0
    groups = random.Random(seed)
    make = generator(random.Random(seed ^ 0x5EED), gen, client=seed // 4 % 2 == 1, doubles=doubles)
    found = Straight(case, start(case))
    for inst in prologue(gen):
        assert found.extend(inst)
    accepted = tries = 0
    while accepted < length and tries < 8 * length:
        tries += 1
        inst = make.instruction()
        if wide and inst.channels <= 16 and groups.random() < 0.6:
            inst = replace(inst, quarter=inst.quarter + 2, compacted=False)
        accepted += found.extend(inst)
    for inst in epilogue(gen):
        assert found.extend(inst)
    found.program.append(end(gen))
    case.code += encode_bytes(end(gen))
    return found


def differences(gang: Gang, outcome: Outcome) -> list[str]:
    """One line for each register dword or flag that differs from the reference."""
    found = [] if outcome.status is Status.OK else [f"status {outcome.status.name}"]
    ours = gang.grf.view(np.uint32).reshape(gang.threads, 128, 8)
    for t, reg, dword in np.argwhere(ours != outcome.grf):
        found.append(f"thread {t} r{reg}.{dword}: reference 0x{ours[t, reg, dword]:08x}, "
                     f"core 0x{outcome.grf[t, reg, dword]:08x}")
    for t in range(gang.threads):
        if gang.flags[t] & 0xFFFFFFFF != outcome.flags[t]:
            found.append(f"thread {t} f0: reference 0x{gang.flags[t] & 0xFFFFFFFF:08x}, core 0x{outcome.flags[t]:08x}")
    return found


def this_variant() -> Iterable[str]:
    """The default of check() and check_flow(): the vector variant in use."""
    return ("",)


def handlers_of(variants: Callable[[], Iterable[str]], *, fast: bool = True) -> Iterator[tuple[str, bool]]:
    """The handlers of each variant: name, and whether they are the general one."""
    for variant in variants():
        for general_only in (True, False) if fast else (True,):
            yield f"{variant} {'general' if general_only else 'fast'} handlers".strip(), general_only


def check(bench: Bench, straight: Straight, *, fast: bool = True,
          variants: Callable[[], Iterable[str]] = this_variant) -> list[str]:
    """Differences of the general handler and of the fast handlers.  `variants` selects one after the other."""
    found = []
    for name, general_only in handlers_of(variants, fast=fast):
        lines = differences(straight.gang, bench.run(straight.case, general_only=general_only))
        if lines:
            found += [f"{straight.case.gen.name}, {name}: {len(lines)}", *lines[:6]]
    return found


def first_difference(bench: Bench, straight: Straight) -> tuple[Instruction, list[str]] | None:
    """The instruction from which on a program differs."""
    for count in range(1, len(straight.program)):
        case = replace(straight.case, code=b"")
        part = Straight(case, start(case))
        for inst in straight.program[:count]:
            part.extend(inst)
        case.code += encode_bytes(end(case.gen))
        found = check(bench, part)
        if found:
            return straight.program[count - 1], found
    return None


# --- programs with branches ---

class FlowProgram:
    """Nested ifs and loops as Mesa emits them, with halts; integers in r10 to r40, loop counters from r60 on.

    `plain`: only instructions that native/eu/jit/loops.c can translate, with floats in r80 to r110 and their constants
    in r6.  `wide`: branches have 32 channels, other instructions follow each other for 16, in two sets of registers.
    `overlaps`: floats begin in any register, so that instructions use one in both halves.
    """

    def __init__(self, seed: int, gen: Gen, *, plain: bool = False, wide: bool = False,
                 overlaps: bool = False) -> None:
        self.rng = random.Random(seed)
        self.gen = gen
        self.unit = 16 if gen is Gen.KBL else 2  # of jumps, in an instruction: bytes, or 64 bits
        self.plain = plain
        self.wide = wide
        self.overlaps = overlaps
        self.size = 32 if wide else self.rng.choice((8, 16, 16))
        self.code: list[Instruction] = []
        self.loops: list[tuple[int, int]] = []  # branches of open loops: loop, index
        self.depth = 0
        self.halts: list[int] = []

    def emit(self, name: str, **members: object) -> int:
        info = opcode_named(name, self.gen)
        assert info is not None
        inst = replace(Instruction(info.number, self.gen, EXEC_SIZE_CODES[self.size]), **members)  # type: ignore[arg-type]  # any
        if self.wide and info.shape not in (Shape.BRANCH_JIP, Shape.BRANCH_JIP_UIP):
            inst = replace(inst, exec_size=EXEC_SIZE_CODES[16])
            upper = {part: self.upper(operand) for part in ("dst", "src0", "src1")
                     if isinstance(operand := getattr(inst, part), DirectOperand)}
            self.code.append(inst)
            inst = replace(inst, quarter=2, **upper)
        self.code.append(inst)
        return len(self.code) - 1

    @staticmethod
    def upper(operand: DirectOperand) -> DirectOperand:
        """The register for channels 16 to 31; those of r8 have equal limits of loops."""
        if operand.file is not RegFile.GRF or operand.region is _SCALAR or operand.nr == 8:
            return operand
        return replace(operand, nr=operand.nr + 28)

    def part(self) -> dict[str, object]:
        """Not all channels of a wide branch."""
        if not self.wide or self.rng.random() < 0.7:
            return {}
        return {"exec_size": EXEC_SIZE_CODES[16], "quarter": self.rng.choice((0, 2))}

    def register(self, nr: int | None = None, *, dst: bool = False, scalar: bool = False) -> DirectOperand:
        shape = DestRegion(1) if dst else _SCALAR if scalar else _PACKED
        return DirectOperand(RegFile.GRF, T.D, 10 + 2 * self.rng.randrange(15) if nr is None else nr, 0, shape)

    def float_number(self) -> int:
        return 80 + 2 * self.rng.randrange(15) + (self.rng.randrange(2) if self.overlaps else 0)

    def float_source(self) -> DirectOperand:
        rng = self.rng
        negate = rng.random() < 0.2
        if rng.random() < 0.25:
            return DirectOperand(RegFile.GRF, T.F, 6, 4 * rng.randrange(8), _SCALAR, negate)
        return DirectOperand(RegFile.GRF, T.F, self.float_number(), 0, _PACKED, negate)

    def ternary(self, name: str, dst: DirectOperand) -> None:
        """Sixteen channels take two instructions."""
        sources = [self.float_source() for _ in range(3)]
        scalar = [source.region is _SCALAR for source in sources]
        for half in range(self.size // 8):
            src0, src1, src2 = (replace(source, nr=source.nr + (0 if one else half), region=TernaryRegion(one))
                                for source, one in zip(sources, scalar, strict=True))
            self.emit(name, exec_size=EXEC_SIZE_CODES[8], align16=True, quarter=half, src0=src0, src1=src1, src2=src2,
                      dst=replace(dst, nr=dst.nr + half, region=DestRegion(HSTRIDE_CODES[1], 15)))

    def float_body(self) -> None:
        """Floats, and constants that no mask applies to."""
        rng = self.rng
        null = DirectOperand(RegFile.ARF, T.F, 0, 0, DestRegion(1))
        for _ in range(rng.randint(1, 4)):
            name = rng.choice(("add", "mul", "add", "mul", "mad", "mad", "lrp", "math", "frc", "rndd", "rnde", "rndz",
                               "sel", "cmp", "constant"))
            dst = DirectOperand(RegFile.GRF, T.F, self.float_number(), 0, DestRegion(1))
            if name == "constant":
                number = rng.choice((0x3F800000, 0xBF000000, 0x40490FDB, 0x3E800000))
                place = DirectOperand(RegFile.GRF, T.D, 6, 4 * rng.randrange(8), DestRegion(1))
                self.emit("mov", dst=place, src0=Immediate(ImmType.D, number), nomask=True, exec_size=0)
            elif name in ("mad", "lrp"):
                self.ternary(name, dst)
            elif name == "math":
                self.emit("math", dst=dst, src0=self.float_source(), src1=replace(null, region=_PACKED),
                          math_function=rng.choice((1, 4, 5, 4, 5, 2)))
            elif name in ("frc", "rndd", "rnde", "rndz"):
                self.emit(name, dst=dst, src0=self.float_source(), saturate=rng.random() < 0.1)
            elif name == "cmp":
                self.emit("cmp", dst=null, src0=self.float_source(), src1=self.float_source(),
                          cond_modifier=rng.randint(1, 6))
            elif name == "sel":
                choice = {"predicate": 1} if rng.random() < 0.5 else {"cond_modifier": rng.choice((4, 5))}
                self.emit("sel", dst=dst, src0=self.float_source(), src1=self.float_source(), **choice)
            else:
                self.emit(name, dst=dst, src0=self.float_source(), src1=self.float_source(),
                          predicate=int(rng.random() < 0.1), saturate=rng.random() < 0.1)

    def body(self) -> None:
        rng = self.rng
        if self.plain and rng.random() < 0.7:
            self.float_body()
            return
        for _ in range(rng.randint(1, 3)):
            name = rng.choice(("add", "xor", "mov", "shr", "sel"))
            src1 = None if name == "mov" else rng.choice(
                (self.register(), Immediate(ImmType.D, rng.randint(0, 40))))
            self.emit(name, dst=self.register(dst=True), src0=self.register(scalar=rng.random() < 0.2), src1=src1,
                      predicate=int(name == "sel" or rng.random() < 0.2),
                      nomask=not self.plain and rng.random() < 0.05, flag_reg=self.flag())

    def flag(self) -> int:
        return 0 if self.plain else self.rng.randrange(2)

    def condition(self) -> dict[str, object]:
        """A flag from data or from an earlier instruction, and a predicate on it."""
        rng = self.rng
        flag = {"flag_reg": self.flag(), "flag_subreg": 0}
        if rng.random() < 0.8:
            null = DirectOperand(RegFile.ARF, T.D, 0, 0, DestRegion(1))
            self.emit("cmp", dst=null, src0=self.register(), cond_modifier=rng.randint(1, 6),
                      src1=rng.choice((self.register(), Immediate(ImmType.D, rng.randint(-3, 8) & 0xFFFFFFFF))), **flag)
        control = 1 if self.plain else rng.choice((1, 1, 1, 1, 6, 7, 8, 9, *((12, 13) if self.wide else ())))
        return {"predicate": control, "predicate_inverse": rng.random() < 0.3, **flag}

    def block(self) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 3)):
            kind = rng.choices(("body", "if", "loop", "leave", "halt"),
                               (5, 3 if self.depth < 4 else 0, 2 if len(self.loops) < 2 and self.depth < 4 else 0,
                                2 if self.loops else 0, 0 if self.plain else 0.5))[0]
            if kind == "body":
                self.body()
            elif kind == "if":
                self.conditional()
            elif kind == "loop":
                self.loop()
            elif kind == "leave":
                name = rng.choice(("break",) if self.plain else ("break", "cont"))
                self.loops.append((self.loops[-1][0], self.emit(name, **self.condition(), **self.part())))
            else:
                self.halts.append(self.emit("halt", **self.condition(), **self.part()))

    def conditional(self) -> None:
        self.depth += 1
        first = self.emit("if", **self.condition())
        self.block()
        other = None
        if self.rng.random() < 0.6:
            other = self.emit("else")
            self.block()
        last = self.emit("endif")
        self.point(first, jip=last if other is None else other + 1, uip=last)
        if other is not None:
            self.point(other, jip=last)
        self.depth -= 1

    def loop(self) -> None:
        """Channels leave after one to four rounds, by a counter of each loop depth."""
        self.depth += 1
        counter = 60 + 2 * self.depth
        self.emit("mov", dst=self.register(counter, dst=True), src0=Immediate(ImmType.D, 0))
        top = len(self.code)
        before, self.loops = self.loops, [(top, -1)]
        self.emit("add", dst=self.register(counter, dst=True), src0=self.register(counter),
                  src1=Immediate(ImmType.D, 1))
        null = DirectOperand(RegFile.ARF, T.D, 0, 0, DestRegion(1))
        self.emit("cmp", dst=null, src0=self.register(counter), src1=self.register(8), cond_modifier=3)
        self.loops.append((top, self.emit("break", predicate=1)))
        self.block()
        last = self.repeat(top)
        for _, branch in self.loops[1:]:
            self.point(branch, uip=last)
        self.loops = before
        self.depth -= 1

    def repeat(self, top: int) -> int:
        """End a loop."""
        last = self.emit("while", **(self.condition() if self.rng.random() < 0.3 else {}))
        self.point(last, jip=top)
        return last

    def point(self, branch: int, **targets: int) -> None:
        changes = {name: self.unit * (target - branch) for name, target in targets.items()}
        self.code[branch] = replace(self.code[branch], **changes)

    def block_end(self, index: int) -> int | None:
        """The next end of a block around an instruction: endif, else, while of a loop around it, or halt."""
        depth = 0
        for at in range(index + 1, len(self.code)):
            inst = self.code[at]
            name = inst.info.name if inst.info else ""
            if name == "if" or (name == "goto" and inst.uip > 0):
                depth += 1
            elif name in ("endif", "join"):
                if depth == 0:
                    return at
                depth -= 1
            elif (name == "else" and depth == 0) or (name == "while" and at + inst.jip // self.unit <= index) or (
                    name == "halt" and depth == 0):
                return at
        return None

    def program(self) -> list[Instruction]:
        """Limits of loops, some blocks and the end."""
        and_ = opcode_named("and", self.gen)
        assert and_ is not None
        self.code.append(Instruction(and_.number, self.gen, EXEC_SIZE_CODES[16], nomask=True,
                                     dst=self.register(8, dst=True), src0=self.register(8),
                                     src1=Immediate(ImmType.D, 3)))
        for _ in range(self.rng.randint(1, 3)):
            self.block()
        return self.finish()

    def finish(self) -> list[Instruction]:
        last = self.emit("nop" if self.plain else "halt")
        if not self.plain:
            self.point(last, jip=last + 1, uip=last + 1)
        for index, inst in enumerate(self.code[:-1]):
            name = inst.info.name if inst.info else ""
            if name in ("break", "cont", "endif", "join", "halt"):
                end_of = self.block_end(index)
                self.point(index, jip=last + 1 if end_of is None else end_of)
            if name == "halt":
                self.point(index, uip=last + 1)
        return [*self.code, *epilogue(self.gen), end(self.gen)]


def flow_start(seed: int, gen: Gen, *, plain: bool = False, wide: bool = False) -> Case:
    case = wide_start(seed, gen) if wide else random_start(seed, gen)
    if plain and seed % 4:  # numbers that give no NaN, for most of the programs
        shape = case.grf[:, 80:112].shape
        case.grf[:, 80:112] = np.random.default_rng(seed).uniform(0.25, 4, shape).astype(np.float32).view(np.uint32)
        case.grf[:, 6] = 0x3F000000
    return case


def flow_case(seed: int, gen: Gen, *, plain: bool = False, wide: bool = False, overlaps: bool = False) -> Case:
    case = flow_start(seed, gen, plain=plain, wide=wide)
    make = FlowProgram(seed, gen, plain=plain, wide=wide, overlaps=overlaps)
    case.code = b"".join(encode_bytes(inst) for inst in make.program())
    return case


def check_flow(bench: Bench, case: Case, variants: Callable[[], Iterable[str]] = this_variant) -> list[str] | None:
    """Differences of a program with branches, as check() finds them; None if its result is undefined."""
    gang = start(case)
    try:
        executed = run(gang, case.code)
    except Unspecified:
        return None
    found = []
    for name, general_only in handlers_of(variants):
        outcome = bench.run(case, general_only=general_only)
        lines = differences(gang, outcome)
        if executed != outcome.instructions:
            lines.append(f"instructions: reference {executed}, core {outcome.instructions}")
        if lines:
            found += [f"{case.gen.name}, {name}: {len(lines)}", *lines[:6]]
    return found


def result(gen: Gen, code: str, registers: dict[int, list[int] | int], *, flags: int = 0, dmask: int = 0xFFFF,
           reg: int = 10, rounding_mode: int = 0, retains_denormals: bool = False) -> list[int]:
    """A register after a program, the same with both kinds of handlers."""
    found = []
    for general_only in (True, False):
        probe = Probe(gen)
        probe.start(1, dmask, rounding_mode=rounding_mode, retains_denormals=retains_denormals)
        probe.set_flags(flags)
        for nr, values in registers.items():
            probe.grf(nr)[:] = values
        assert probe.run(assemble(code, gen) + encode_bytes(end(gen)), general_only=general_only) is Status.OK
        assert not probe.events()
        found.append([int(v) for v in probe.grf(reg)])
    assert found[0] == found[1]
    return found[0]
