"""Flow control on 16-bit masks."""

from __future__ import annotations

from gen4emu.isa.instruction import Immediate, Instruction, signed_immediate
from gen4emu.isa.opcodes import Opcode
from gen4emu.isa.registers import RegFile
from tests.eu.reference import operands
from tests.eu.reference.execute import Pass, passes, predicate
from tests.eu.reference.thread import Thread, Unspecified

BRANCHES = (Opcode.IF, Opcode.IFF, Opcode.ELSE, Opcode.ENDIF, Opcode.DO, Opcode.WHILE, Opcode.BREAK, Opcode.CONT,
            Opcode.HALT)


def pop(thread: Thread, count: int) -> None:
    """Pop `count` entries; IMask becomes the last one."""
    for _ in range(count):
        if not thread.if_stack:
            raise Unspecified("an empty mask stack")
        thread.imask = thread.if_stack.pop()


def pop_loop(thread: Thread) -> None:
    if not thread.loop_stack:
        raise Unspecified("an empty loop stack")
    thread.lmask, thread.cmask = thread.loop_stack.pop()


def branch(thread: Thread, inst: Instruction) -> None:
    """Sets ip."""
    if inst.nomask or inst.compression or inst.channels > 16:
        raise Unspecified("a branch of an unusual form")
    op = inst.opcode
    where = Pass(0, inst.channels, 0, 0, inst.flag_subreg, 0)
    p = sum(1 << c for c in range(inst.channels) if predicate(thread, inst, where, c))
    following, target = thread.ip + inst.size, thread.ip + 16 * inst.jump
    thread.ip = following
    if op == Opcode.IF:
        thread.if_stack.append(thread.imask)
        thread.imask &= p
        if not thread.enabled:
            thread.ip = target
    elif op == Opcode.IFF:
        taken = thread.imask & p
        if not thread.amask & taken & thread.lmask & thread.cmask:
            thread.ip = target
        else:
            thread.if_stack.append(thread.imask)
            thread.imask = taken
    elif op == Opcode.ELSE:
        if not thread.if_stack:
            raise Unspecified("an empty mask stack")
        thread.imask = thread.if_stack[-1] & ~thread.imask
        if not thread.enabled:
            pop(thread, inst.pop)
            thread.ip = target
    elif op == Opcode.ENDIF:
        pop(thread, 1)
    elif op == Opcode.DO:
        thread.loop_stack.append((thread.lmask, thread.cmask))
        thread.lmask &= thread.imask & thread.cmask
        thread.cmask = 0xFFFF
    elif op == Opcode.BREAK:
        thread.lmask &= ~(thread.enabled & p)
        if not thread.amask & thread.lmask:
            pop(thread, inst.pop)
            pop_loop(thread)
            thread.ip = target
    elif op == Opcode.CONT:
        thread.cmask &= ~(thread.enabled & p)
        if not thread.amask & thread.lmask & thread.cmask:
            pop(thread, inst.pop)
            thread.ip = target
    elif op == Opcode.WHILE:
        thread.cmask = 0xFFFF
        thread.lmask &= ~(thread.enabled & ~p)
        if thread.enabled:
            thread.ip = target
        else:
            pop_loop(thread)
    else:
        thread.amask &= ~(thread.enabled & p)
        if not thread.amask:
            thread.ip = target
    if len(thread.if_stack) > 16 or len(thread.loop_stack) > 16:
        raise Unspecified("a mask stack of more than 16 entries")


def jump(thread: Thread, inst: Instruction) -> None:
    """JMPI, from the instruction that follows."""
    where = passes(inst)[0]
    src = inst.src1
    assert src is not None
    if isinstance(src, Immediate):
        distance = signed_immediate(src)
    else:
        if src.file is not RegFile.GRF:
            raise Unspecified("a jump by an architecture register")
        value = operands.read(thread, src, 1, 0, True, 0)[0]
        if not value.known or not isinstance(value.value, int):
            raise Unspecified("a jump by a float")
        distance = value.value
    taken = predicate(thread, inst, where, 0) and (inst.nomask or thread.enabled & 1)
    thread.ip = (thread.ip + 16 + 16 * distance & 0xFFFFFFFF) if taken else thread.ip + inst.size
