"""Fetches and steps the instructions of a thread."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gen4emu.hw.gen import Gen
from gen4emu.isa import decode_word
from gen4emu.isa.instruction import DestRegion, DirectOperand, IndirectOperand, Instruction
from gen4emu.isa.opcodes import Opcode
from gen4emu.isa.registers import TYPE_BYTES, Arf, Compression, RegFile, RegType
from tests.eu.reference import floats, operands
from tests.eu.reference.execute import Pass, execute, store
from tests.eu.reference.flow import BRANCHES, branch, jump
from tests.eu.reference.thread import Thread, Unspecified


@lru_cache(maxsize=1 << 14)
def _decode(data: bytes, part: int) -> Instruction:
    return decode_word(int.from_bytes(data, "little"), Gen(part), compacted=len(data) == 8)


def fetch(code: bytes, offset: int, gen: Gen) -> Instruction:
    """Bit 29 marks 64-bit instructions."""
    if not 0 <= offset <= len(code) - 8:
        raise Unspecified("a jump out of the program")
    size = 8 if code[offset + 3] & 0x20 else 16
    if offset + size > len(code):
        raise Unspecified("half an instruction")
    return _decode(bytes(code[offset:offset + size]), int(gen))


def run(thread: Thread, code: bytes, address: int, limit: int = 10000) -> None:
    """Run a thread from the first instruction of the kernel, at `address`, to its end."""
    thread.ip = address
    for _ in range(limit):
        if thread.ended:
            return
        step(thread, fetch(code, thread.ip - address, thread.gen))
    raise Unspecified("a thread without an end")


def step(thread: Thread, inst: Instruction) -> None:
    thread.executed += 1
    if inst.opcode in (Opcode.NOP, Opcode.NENOP):
        thread.ip += inst.size
    elif inst.opcode in BRANCHES:
        branch(thread, inst)
    elif inst.opcode == Opcode.JMPI:
        jump(thread, inst)
    elif inst.opcode == Opcode.SEND:
        send(thread, inst)
        thread.ip += inst.size
    else:
        thread.jumped = False
        execute(thread, inst)
        if not thread.jumped:
            thread.ip += inst.size


def send(thread: Thread, inst: Instruction) -> None:
    """Do the implied move, which copies a whole register, and end the thread if the message does."""
    src = inst.src0
    if inst.descriptor is None or inst.descriptor.sfid or inst.descriptor.rlen:
        raise Unspecified("a message to a shared function")
    halves = 2 if inst.compression is Compression.COMPR and thread.gen in Gen.GEN45 else 1
    if isinstance(src, DirectOperand) and src.file is RegFile.ARF and src.nr >> 4 == Arf.NULL:
        src = None
    for half in range(halves):
        if src is None:
            break
        if not isinstance(src, DirectOperand | IndirectOperand) or src.file is not RegFile.GRF:
            raise Unspecified("an implied move of something else")
        if inst.base_mrf + half > 15:
            raise Unspecified("a message beyond m15")
        n = 32 // TYPE_BYTES[src.type]
        elements = operands.read(thread, src, n, half, True, 0)
        stored: list[tuple[int, bool] | None] = []
        for e in elements:
            if not e.known:
                raise Unspecified("bits of a NaN")
            if not src.negate and not src.abs:
                stored.append((e.bits, e.free))
            elif isinstance(e.value, float):
                stored.append((floats.to_bits(e.value, alternate=bool(thread.control[0] & 1)), e.value != e.value))
            else:
                stored.append((e.value & (1 << 8 * TYPE_BYTES[src.type]) - 1, False))
        target = DirectOperand(RegFile.MRF, RegType(src.type), inst.base_mrf + half, 0, DestRegion(1))
        store(thread, replace(inst, dst=target, align16=False, compression=Compression.NONE), Pass(0, n, 0, 0, 0, 0),
              stored)
    thread.ended = inst.eot
