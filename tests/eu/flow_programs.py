"""Random programs with nested ifs and loops as compilers emit them, with small bodies."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from gen4emu.hw.gen import Gen
from gen4emu.isa.instruction import Align1Region, DestRegion, DirectOperand, Immediate, Instruction
from gen4emu.isa.opcodes import Opcode
from gen4emu.isa.registers import (
    EXEC_SIZE_CODES,
    HSTRIDE_CODES,
    VSTRIDE_CODES,
    WIDTH_CODES,
    Compression,
    ImmType,
    RegFile,
    RegType,
)
from tests.eu.differential import Case, random_start
from tests.eu.generate import Generator, encoded, end, grf

T = RegType
_PACKED = Align1Region(VSTRIDE_CODES[8], WIDTH_CODES[8], HSTRIDE_CODES[1])
_SCALAR = Align1Region(0, 0, 0)
_NULL = DirectOperand(RegFile.ARF, T.D, 0, 0, DestRegion(1))
_NULL_F = DirectOperand(RegFile.ARF, T.F, 0, 0, DestRegion(1))
COUNTERS = 100  # r100 and up, two registers for each depth of loops


class FlowProgram:
    """Integers in r10 to r29, floats in r40 to r59, loop counters above; no integer instruction reads a NaN.

    `plain`: loops and branches contain only common instructions, those that native/eu/jit/loops.c can translate.
    """

    def __init__(self, seed: int, gen: Gen, *, plain: bool = False) -> None:
        self.rng = random.Random(seed)
        self.gen = gen
        self.plain = plain
        self.size = EXEC_SIZE_CODES[self.rng.choice((16, 16, 8))]
        self.code: list[Instruction] = []
        self.loops: list[tuple[int, list[int], int]] = []  # do, branches out and to the while, open ifs
        self.ifs = 0

    def emit(self, op: int, **members: object) -> int:
        base = Instruction(op, self.gen, self.size)
        if op < 0x20 or op >= 0x40:
            wide = self.size == EXEC_SIZE_CODES[16]
            base = replace(base, compression=Compression.COMPR if wide else Compression.NONE)
        self.code.append(replace(base, **members))
        return len(self.code) - 1

    def jump(self, branch: int, target: int, pop: int | None = None) -> None:
        changes = {"jump": target - branch} if pop is None else {"jump": target - branch, "pop": pop}
        self.code[branch] = replace(self.code[branch], **changes)

    def register(self) -> int:
        return 10 + 2 * self.rng.randrange(10)

    def float_register(self) -> int:
        return 40 + 2 * self.rng.randrange(10)

    def float_operand(self, *, raw: bool = False) -> DirectOperand:
        """Packed; sometimes scalar or, unless `raw`, with a modifier."""
        rng = self.rng
        found = grf(self.float_register(), T.F, _SCALAR if rng.random() < 0.2 else _PACKED)
        return found if raw else replace(found, negate=rng.random() < 0.2, abs=rng.random() < 0.1)

    def float_source(self) -> DirectOperand | Immediate:
        if self.rng.random() < 0.2:
            bits = self.rng.choice((0x3F800000, 0xBF000000, 0x40490FDB, 0x7F000000, 0x00000000))
            return Immediate(ImmType.F, bits)
        return self.float_operand()

    def float_body(self) -> None:
        rng = self.rng
        for _ in range(rng.randint(1, 4)):
            dst = grf(self.float_register(), T.F, DestRegion(1))
            if self.plain and rng.random() < 0.2:
                self.message(dst)
                continue
            op = rng.choice((Opcode.ADD, Opcode.ADD, Opcode.MUL, Opcode.MUL, Opcode.MOV, Opcode.FRC, Opcode.RNDD,
                             Opcode.SEL, Opcode.CMP))
            first = self.float_operand(raw=op == Opcode.SEL)
            second = None if op in (Opcode.MOV, Opcode.FRC, Opcode.RNDD) else self.float_source()
            more: dict[str, object] = {"predicate": int(op == Opcode.SEL or rng.random() < 0.1)}
            if op == Opcode.CMP:
                dst, more["cond_modifier"] = _NULL_F, rng.randint(1, 6)
            elif op != Opcode.SEL:
                more["saturate"] = rng.random() < 0.1
            self.emit(op, dst=dst, src0=first, src1=second, **more)

    def message(self, dst: DirectOperand) -> None:
        """A message to the math unit, as compilers emit it."""
        function = self.rng.choice((1, 4, 5, 4, 5, 1, 2, 6))
        source = grf(self.float_register(), T.F, _PACKED)
        self.emit(Opcode.SEND, dst=dst, src0=source, src1=Immediate(ImmType.UD, 0x01110000 | function), base_mrf=2)

    def body(self) -> None:
        rng = self.rng
        if rng.random() < (0.7 if self.plain else 0.3):
            self.float_body()
            return
        for _ in range(rng.randint(1, 3)):
            op = rng.choice((Opcode.ADD, Opcode.XOR, Opcode.MOV, Opcode.SHR))
            dst = grf(self.register(), T.D, DestRegion(1))
            src0 = grf(self.register(), T.D, rng.choice((_PACKED, _PACKED, _SCALAR)))
            src1 = None if op == Opcode.MOV else rng.choice(
                (grf(self.register(), T.D, _PACKED), Immediate(ImmType.D, rng.randint(0, 40))))
            predicate = int(rng.random() < 0.2)
            self.emit(op, dst=dst, src0=src0, src1=src1, predicate=predicate,
                      cond_modifier=rng.choice((0, 0, 0, 2)) if op in (Opcode.ADD, Opcode.MOV) else 0)

    def condition(self) -> dict[str, object]:
        """A flag from data or from an earlier instruction, and a predicate on it."""
        rng = self.rng
        if rng.random() < 0.8:
            src1 = rng.choice((grf(self.register(), T.D, _PACKED), Immediate(ImmType.D, rng.choice(
                (0, 5, 0x40000000, 0xFFFFFFF0)))))
            self.emit(Opcode.CMP, dst=_NULL, src0=grf(self.register(), T.D, _PACKED), src1=src1,
                      cond_modifier=rng.randint(1, 6))
        whole = () if self.plain else (6, 7, 8)
        return {"predicate": rng.choice((1, 1, 1, 1, *whole)), "predicate_inverse": rng.random() < 0.4}

    def statement(self, depth: int) -> None:
        rng = self.rng
        kind = rng.choices(("body", "if", "iff", "loop", "leave", "jump"), (30, 24, 8, 16, 16, 6))[0]
        if kind == "leave" and not self.loops:
            kind = "body"
        if self.plain and (kind == "jump" or (kind == "leave" and self.ifs > self.loops[-1][2] and rng.random() < 0.9)):
            kind = "body"
        if depth >= 4 and kind != "leave":
            kind = "body"
        if kind == "body":
            self.body()
        elif kind == "if":
            self.conditional(depth)
        elif kind == "iff":
            branch = self.emit(Opcode.IFF, **self.condition())
            self.ifs += 1
            self.branch(depth + 1)
            self.ifs -= 1
            self.emit(Opcode.ENDIF)
            self.jump(branch, len(self.code))
        elif kind == "loop":
            self.loop(depth)
        elif kind == "leave":
            self.leave()
        else:
            flag = {"predicate": 1, "predicate_inverse": rng.random() < 0.5} if rng.random() < 0.5 else {}
            nomask = rng.random() < 0.3
            branch = self.emit(Opcode.JMPI, exec_size=0, nomask=nomask, **flag)
            self.body()
            distance = len(self.code) - branch - 1
            self.code[branch] = replace(self.code[branch], src1=Immediate(ImmType.D, distance))

    def block(self, depth: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth)

    def branch(self, depth: int) -> None:
        """A block, in which sometimes all channels leave the loop."""
        self.block(depth)
        if self.loops and self.rng.random() < (0.3 if self.plain else 0.05):
            leaving = self.emit(Opcode.BREAK, pop=self.ifs - self.loops[-1][2])
            self.loops[-1][1].append(leaving)

    def conditional(self, depth: int) -> None:
        branch = self.emit(Opcode.IF, **self.condition())
        self.ifs += 1
        self.branch(depth + 1)
        if self.rng.random() < 0.6:
            other = self.emit(Opcode.ELSE)
            self.jump(branch, other)
            self.branch(depth + 1)
            last = self.emit(Opcode.ENDIF, pop=self.rng.choice((0, 1)))
            self.jump(other, last + 1, 1)
        else:
            last = self.emit(Opcode.ENDIF, pop=1)
            self.jump(branch, last)
        self.ifs -= 1

    def loop(self, depth: int) -> None:
        """A few iterations: a counter ends each channel and also counts iterations that end with cont."""
        rng = self.rng
        counter = COUNTERS + 4 * len(self.loops)
        packed = grf(counter, T.D, _PACKED)
        self.emit(Opcode.MOV, dst=grf(counter, T.D, DestRegion(1)), src0=Immediate(ImmType.D, 0))
        start = self.emit(Opcode.DO)
        self.loops.append((start, [], self.ifs))
        self.emit(Opcode.ADD, dst=grf(counter, T.D, DestRegion(1)), src0=packed, src1=Immediate(ImmType.D, 1))
        self.emit(Opcode.CMP, dst=_NULL, src0=packed, src1=grf(self.register(), T.D, _PACKED)
                  if rng.random() < 0.3 else Immediate(ImmType.D, rng.randint(1, 4)), cond_modifier=3)
        self.loops[-1][1].append(self.emit(Opcode.BREAK, predicate=1))
        self.emit(Opcode.CMP, dst=_NULL, src0=packed, src1=Immediate(ImmType.D, 5), cond_modifier=3)
        self.loops[-1][1].append(self.emit(Opcode.BREAK, predicate=1))
        self.block(depth + 1)
        condition = self.condition() if rng.random() < 0.4 else {}
        last = self.emit(Opcode.WHILE, **condition)
        self.jump(last, start + 1)
        for branch in self.loops.pop()[1]:
            self.jump(branch, last if self.code[branch].opcode == Opcode.CONT else last + 1)

    def leave(self) -> None:
        op = Opcode.BREAK if self.plain else self.rng.choice((Opcode.BREAK, Opcode.CONT))
        branch = self.emit(op, pop=self.ifs - self.loops[-1][2], **self.condition())
        self.loops[-1][1].append(branch)

    def finish(self) -> list[Instruction]:
        make = Generator(self.rng, self.gen)
        return [*self.code, *make.epilogue()[:-1], end(self.gen)]


def flow_case(seed: int, gen: Gen, *, plain: bool = False) -> Case:
    case = random_start(seed, gen)
    program = FlowProgram(seed, gen, plain=plain)
    for _ in range(4):
        program.statement(0)
    case.code = encoded(program.finish())
    small = np.random.default_rng(seed).integers(-6, 7, case.grf.shape).astype(np.int32).view(np.uint32)
    case.grf[:, 10:30] = np.where(small[:, 10:30] & 1, small[:, 10:30], case.grf[:, 10:30])
    if plain and seed % 4:  # numbers that give no NaN, for most of the programs
        numbers = np.random.default_rng(seed).uniform(0.25, 4, case.grf[:, 40:60].shape).astype(np.float32)
        case.grf[:, 40:60] = numbers.view(np.uint32)
    case.dmasks = [d & (0xFF if program.size == EXEC_SIZE_CODES[8] else 0xFFFF) or 1 for d in case.dmasks]
    return case
