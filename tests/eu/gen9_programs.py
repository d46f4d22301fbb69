"""Random programs with what Gen9 adds: integers of 64 bits, half floats, conversions, whole products, compaction.

The other instructions are those of `gen7_programs`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from gen4emu.hw.gen import Gen
from gen4emu.isa import compact, encode_bytes
from gen4emu.isa.instruction import (
    Align1Region,
    DestRegion,
    DirectOperand,
    Immediate,
    Instruction,
    Operand,
    TernaryRegion,
)
from gen4emu.isa.opcodes import Shape
from gen4emu.isa.registers import EXEC_SIZE_CODES, HSTRIDE_CODES, TYPE_BYTES, ImmType, RegFile, RegType
from tests.eu import gen7_programs
from tests.eu.differential import Case
from tests.eu.gen7_programs import FlowProgram, Generator, Straight, region

T = RegType
GEN = Gen.KBL
_SCALAR = region(0, 1, 0)
_LONG = ("mov", "mov", "add", "add", "sel", "sel", "cmp", "cmp", "and", "or", "xor", "not", "shl", "shr", "asr")
_HALF = ("mov", "add", "add", "mul", "mul", "mad", "mad", "cmp", "sel", "sel", "frc", "rndd", "rnde", "rndz", "rndu",
         "math")
_LOGIC = ("and", "or", "xor", "not")
_UNARY = ("mov", "not", "frc", "rndd", "rnde", "rndz", "rndu")
_LONG_BITS = (0, 1, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, 1 << 53, (1 << 53) + 1)


class LaterGenerator(Generator):
    """A `Generator` half of whose instructions only Gen9 has, and that compacts what has a short form."""

    def instruction(self) -> Instruction:
        rng = self.rng
        if self.queue or rng.random() < 0.45:
            found = super().instruction()
        else:
            make = rng.choices((self.long, self.half, self.conversion, self.product, self.csel, self.complement),
                               (30, 30, 18, 10, 6, 6))[0]
            found = make()
        if rng.random() < 0.5 and compact(found) is not None:
            return replace(found, compacted=True)
        return found

    def base(self, name: str, family: str, sizes: Sequence[int]) -> Instruction:
        rng = self.rng
        size = rng.choice(sizes)
        found = Instruction(self.opcode(name), self.gen, EXEC_SIZE_CODES[size], nomask=rng.random() < 0.15,
                            quarter=int(size <= 8 and rng.random() < 0.2), nibble=int(size <= 4 and rng.random() < 0.3))
        return self.modifiers(found, name, family)

    def plain(self, kind: RegType, channels: int, *, modifiers: bool = True) -> DirectOperand:
        """A packed or scalar source, or one with a gap after each element."""
        rng = self.rng
        size = TYPE_BYTES[kind]
        row = min(channels, 32 // size)
        shapes: list[Align1Region] = [region(row, row, 1)] * 4 + [_SCALAR]
        if row > 1 and not self.client:
            shapes.append(region(row, row // 2, 2))
        shape = rng.choice(shapes)
        sub = size * rng.randrange(32 // size) if shape == _SCALAR else 0
        return DirectOperand(RegFile.GRF, kind, rng.randrange(2, 60), sub, shape, modifiers and rng.random() < 0.2,
                             modifiers and rng.random() < 0.1)

    def to(self, kind: RegType, stride: int = 1) -> DirectOperand:
        rng = self.rng
        if rng.random() < 0.06:
            return DirectOperand(RegFile.ARF, kind, 0, 0, DestRegion(HSTRIDE_CODES[stride]))
        return DirectOperand(RegFile.GRF, kind, rng.randrange(2, 60), 0, DestRegion(HSTRIDE_CODES[stride]))

    def long(self) -> Instruction:
        rng = self.rng
        name = rng.choice(_LONG)
        base = self.base(name, "integer", (1, 2, 4, 4, 8, 8))
        kind = rng.choice((T.Q, T.UQ))
        if name in ("shl", "shr", "asr"):
            base = replace(base, saturate=False)
        src0: Operand = self.plain(kind, base.channels, modifiers=name not in _LOGIC)
        if name in _LOGIC and isinstance(src0, DirectOperand):
            src0 = replace(src0, negate=rng.random() < 0.3)
        if name == "mov" and rng.random() < 0.3:
            bits = rng.choice((*_LONG_BITS, rng.getrandbits(64)))
            src0 = Immediate(ImmType.Q if kind is T.Q else ImmType.UQ, bits)
        if name in _UNARY:
            return replace(base, dst=self.to(rng.choice((kind, T.Q, T.UQ)) if name == "mov" else kind), src0=src0)
        if name in ("shl", "shr", "asr"):
            if rng.random() < 0.3:
                src0 = self.plain(rng.choice((T.D, T.UD)), base.channels, modifiers=False)
            shift = rng.choice((T.UD, T.UW, kind))
            src1: Operand = Immediate(ImmType.UD, rng.choice((0, 1, 31, 32, 40, 63, 64)))
            if rng.random() < 0.5:
                src1 = self.plain(shift, base.channels, modifiers=False)
        elif name in _LOGIC:
            src1 = replace(self.plain(kind, base.channels, modifiers=False), negate=rng.random() < 0.3)
        else:
            other = rng.choice((kind, kind, T.Q, T.UQ, T.D, T.UD))
            src1 = self.plain(other, base.channels)
            if rng.random() < 0.15:
                src1 = self.immediate(rng.choice((T.D, T.UD)))
        return replace(base, dst=self.to(kind), src0=src0, src1=src1)

    def half(self) -> Instruction:
        rng = self.rng
        name = rng.choice(_HALF)
        if name == "mad":
            return self.half_mad()
        base = self.base(name, "float", (1, 8, 8, 8, 16, 16) if name != "math" else (8,))
        mixed = name in ("add", "mul", "cmp") and rng.random() < 0.25
        kinds = [T.HF, T.F] if mixed else [T.HF, T.HF]
        rng.shuffle(kinds)
        to = T.HF if name in ("math", "sel") else rng.choice((T.HF, T.HF, T.HF, T.F))
        src0 = self.plain(kinds[0], base.channels)
        dst = self.to(to, rng.choice((1, 1, 2)) if to is T.HF and base.channels <= 16 else 1)
        if name == "math":
            base = replace(base, math_function=rng.choice((1, 2, 3, 4, 5, 9, 10)), cond_modifier=0)
            two = base.math_function >= 9
            null = DirectOperand(RegFile.ARF, T.HF, 0, 0, _SCALAR)
            return replace(base, dst=dst, src0=src0, src1=self.plain(T.HF, base.channels) if two else null)
        if base.cond_modifier == 9:
            base = replace(base, cond_modifier=1)
        if name in _UNARY:
            return replace(base, dst=dst, src0=src0)
        src1: Operand = self.plain(kinds[1], base.channels)
        if kinds[1] is T.HF and rng.random() < 0.15:
            number = rng.choice((0x3C00, 0xBC00, 0x3800, 0x0001, 0x7BFF, 0x4248))
            src1 = Immediate(ImmType.HF, number | number << 16)
        return replace(base, dst=dst, src0=src0, src1=src1)

    def half_mad(self) -> Instruction:
        """Half floats alone, or as factors beside a float."""
        rng = self.rng
        base = replace(self.base("mad", "float", (8, 8, 16)), align16=True, predicate=int(rng.random() < 0.2))
        if base.cond_modifier == 9:
            base = replace(base, cond_modifier=1)
        first = rng.choice((T.HF, T.HF, T.F))
        kinds = (T.HF,) * 3 if first is T.HF else (T.F, rng.choice((T.HF, T.F)), T.HF)
        sources = []
        for kind in kinds:
            replicate = rng.random() < 0.3
            size = TYPE_BYTES[kind]
            sources.append(DirectOperand(
                RegFile.GRF, kind, rng.randrange(2, 60), size * rng.randrange(32 // size) if replicate else 0,
                TernaryRegion(replicate, 0 if replicate else rng.choice((0xE4, 0xE4, rng.randrange(256)))),
                rng.random() < 0.2, rng.random() < 0.1))
        mask = rng.choice((15, 15, rng.randint(1, 15)))
        dst = DirectOperand(RegFile.GRF, rng.choice((first, T.HF, T.F)), rng.randrange(2, 60), 0,
                            DestRegion(HSTRIDE_CODES[1], mask))
        return replace(base, dst=dst, src0=sources[0], src1=sources[1], src2=sources[2])

    def conversion(self) -> Instruction:
        rng = self.rng
        narrow = rng.choice((T.D, T.UD, T.W, T.UW))
        small = rng.choice((T.D, T.UD, T.W, T.UW, T.B, T.UB))
        long = rng.choice((T.Q, T.UQ))
        source, to = rng.choice(((long, T.DF), (T.DF, long), (long, T.F), (T.F, long), (long, narrow), (narrow, long),
                                 (T.HF, T.F), (T.F, T.HF), (T.HF, small), (small, T.HF), (T.Q, T.UQ), (T.UQ, T.Q)))
        sizes = (1, 4, 4, 8) if 8 in (TYPE_BYTES[source], TYPE_BYTES[to]) else (1, 8, 8, 16)
        base = self.base("mov", "integer", sizes)
        gap = TYPE_BYTES[source] // TYPE_BYTES[to]
        stride = rng.choice((1, gap)) if 1 < gap <= 4 else 1
        return replace(base, dst=self.to(to, stride), src0=self.plain(source, base.channels))

    def product(self) -> Instruction:
        """All bits of two dwords, in 32 or 64 bits."""
        rng = self.rng
        long = rng.random() < 0.4
        base = self.base("mul", "integer", (1, 4, 8) if long else (1, 8, 16))
        first = rng.choice((T.D, T.UD))
        second = first if rng.random() < 0.8 else rng.choice((T.D, T.UD))
        to = (T.Q if T.D in (first, second) else T.UQ) if long else first
        src1: Operand = self.plain(second, base.channels)
        if rng.random() < 0.3:
            src1 = self.immediate(second)
        return replace(base, dst=self.to(to), src0=self.plain(first, base.channels), src1=src1)

    def csel(self) -> Instruction:
        base = replace(self.base("mov", "float", (8, 8, 16)), align16=True, cond_modifier=self.rng.randint(1, 6))
        return self.ternary(replace(base, opcode=self.opcode("csel"), predicate=int(self.rng.random() < 0.2)), "mad")

    def complement(self) -> Instruction:
        """A logic instruction with inverted operands of 32 or 16 bits."""
        rng = self.rng
        name = rng.choice(_LOGIC)
        kind = rng.choice((T.D, T.UD, T.D, T.UD, T.W, T.UW))
        base = self.base(name, "integer", (1, 8, 8, 16))
        src0, src1 = (replace(self.plain(kind, base.channels, modifiers=False), negate=rng.random() < 0.6)
                      for _ in range(2))
        return replace(base, dst=self.to(kind), src0=src0, src1=None if name == "not" else src1)


def straight_case(seed: int, length: int, *, wide: bool = False) -> Straight:
    return gen7_programs.straight_case(seed, GEN, length, wide=wide, generator=LaterGenerator)


def compacted(program: list[Instruction], rng: random.Random) -> list[Instruction]:
    """A program with short forms of some instructions, and the jumps that follow from them."""
    sizes = []
    short = []
    for inst in program:
        branch = inst.info is not None and inst.info.shape in (Shape.BRANCH_JIP, Shape.BRANCH_JIP_UIP)
        short.append(not branch and rng.random() < 0.7 and compact(inst) is not None)
        sizes.append(8 if short[-1] else 16)
    at = [sum(sizes[:index]) for index in range(len(program) + 1)]
    found = []
    for index, inst in enumerate(program):
        jumps = {name: at[index + count // 16] - at[index]
                 for name in ("jip", "uip") if (count := getattr(inst, name))}
        found.append(replace(inst, compacted=short[index], **jumps))  # type: ignore[arg-type]  # jumps are numbers
    return found


def flow_case(seed: int, *, wide: bool = False) -> Case:
    """A program with branches, with instructions of 64 bits and half floats in its blocks, and short forms."""
    case = gen7_programs.flow_start(seed, GEN, wide=wide)
    make = LaterFlowProgram(seed, GEN, wide=wide)
    case.code = b"".join(encode_bytes(inst) for inst in compacted(make.program(), random.Random(seed)))
    return case


class LaterFlowProgram(FlowProgram):
    """Half floats are in r80 to r95, integers of 64 bits in r96 to r111.

    Some blocks are skipped, or repeated, with `goto`.
    """

    def conditional(self) -> None:
        if self.rng.random() < 0.5:
            super().conditional()
            return
        self.depth += 1
        first = self.emit("goto", **self.condition())
        self.block()
        last = self.emit("join")
        self.point(first, jip=last, uip=last)
        self.depth -= 1

    def repeat(self, top: int) -> int:
        if self.rng.random() < 0.5:
            return super().repeat(top)
        last = self.emit("goto", acc_write=True, **self.condition())  # the bit is BranchCtrl here
        self.point(last, jip=self.emit("join"), uip=top)
        return last

    def body(self) -> None:
        rng = self.rng
        if self.wide or rng.random() < 0.5:
            super().body()
            return
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.5:
                half = [DirectOperand(RegFile.GRF, T.HF, 80 + rng.randrange(16), 0, region(8, 8, 1)) for _ in range(3)]
                self.emit(rng.choice(("add", "mul", "cmp")), src0=half[0], src1=half[1],
                          dst=replace(half[2], region=DestRegion(1)), cond_modifier=rng.choice((1, 3, 5)),
                          flag_reg=self.flag())
                continue
            long = [DirectOperand(RegFile.GRF, T.Q, 96 + 2 * rng.randrange(7), 0, region(4, 4, 1)) for _ in range(3)]
            name = rng.choice(("add", "xor", "sel"))
            predicate = int(name == "sel" or rng.random() < 0.2)
            for half_index in range(self.size // 8):
                self.emit(name, exec_size=EXEC_SIZE_CODES[8], quarter=half_index, src0=long[0], src1=long[1],
                          dst=replace(long[2], region=DestRegion(1)), predicate=predicate)
