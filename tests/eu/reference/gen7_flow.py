"""Flow control of Gen7: each channel has an instruction pointer, and every instruction looks for channels that wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from gen4emu.hw.gen import Gen
from gen4emu.isa import decode_word
from gen4emu.isa.instruction import Immediate, Instruction, signed_immediate
from gen4emu.isa.opcodes import Shape
from tests.eu.reference.gen7 import Gang, execute, predicate
from tests.eu.reference.thread import Unspecified


@lru_cache(maxsize=1 << 14)
def _decode(data: bytes, part: int) -> Instruction:
    return decode_word(int.from_bytes(data, "little"), Gen(part), compacted=len(data) == 8)


def fetch(code: bytes, offset: int, gen: Gen) -> Instruction:
    if not 0 <= offset <= len(code) - 8:
        raise Unspecified("a jump out of the program")
    size = 8 if code[offset + 3] & 0x20 else 16
    return _decode(bytes(code[offset:offset + size]), int(gen))


@dataclass
class Walk:
    """One thread on its way through a program."""

    gang: Gang  # of one thread
    code: bytes
    ip: int = 0
    pointers: list[int] = field(default_factory=lambda: [0] * 32)
    executed: int = 0
    ended: bool = False

    @property
    def channels(self) -> int:
        return 32 if self.gang.wide else 16

    def step(self) -> None:
        inst = fetch(self.code, self.ip, self.gang.gen)
        dispatched = self.gang.dmask[0]
        on = sum(1 << n for n in range(self.channels) if dispatched >> n & 1 and self.pointers[n] == self.ip)
        self.gang.on[0] = on
        self.executed += 1
        assert inst.info is not None
        name, following = inst.info.name, self.ip + inst.size
        if inst.info.shape in (Shape.BRANCH_JIP, Shape.BRANCH_JIP_UIP):
            self._branch(inst, name, on, following)
            return
        target = following
        if name == "jmpi":
            target = self._jump(inst, on, following)
        elif name in ("send", "sendc"):
            if inst.sfid or not inst.end_of_thread:
                raise Unspecified("a message")
            self.ended = True
        elif name != "nop":
            execute(self.gang, inst)
        self._move(on, target)
        self.ip = target

    def _move(self, channels: int, target: int) -> None:
        for n in range(self.channels):
            if channels >> n & 1:
                self.pointers[n] = target

    def _waits(self, target: int) -> bool:
        return any(self.gang.dmask[0] >> n & 1 and self.pointers[n] == target for n in range(self.channels))

    def _branch(self, inst: Instruction, name: str, on: int, following: int) -> None:
        group = 8 * inst.quarter + 4 * inst.nibble
        flags = self.gang.flags[0]
        active = sum(1 << n for n in range(group, min(group + inst.channels, self.channels)) if on >> n & 1)
        taken = sum(1 << n for n in range(self.channels)
                    if active >> n & 1 and predicate(flags, inst, group, n - group))
        unit = 1 if self.gang.gen & Gen.GEN9 else 8
        jip, uip = self.ip + unit * inst.jip, self.ip + unit * inst.uip
        self._move(on, following)
        if name == "goto" and inst.acc_write:  # which is BranchCtrl
            self._move(active & ~taken, jip)
            self._move(taken, uip)
            self.ip = uip if taken else following if self._waits(following) else jip
            return
        if name == "while":
            self._move(taken, jip)
            self.ip = jip if taken else following
            return
        if name == "if":
            self._move(active & ~taken, jip)
        elif name == "else":
            self._move(active, jip)
        elif name == "break":  # after the while that UIP names
            self._move(taken, uip + fetch(self.code, uip, self.gang.gen).size)
        elif name in ("cont", "halt", "brc"):
            self._move(taken, uip)
        elif name == "goto":
            self._move(active & ~taken, uip)
        elif name == "brd":
            self._move(taken, jip)
        self.ip = following if self._waits(following) else jip

    def _jump(self, inst: Instruction, on: int, following: int) -> int:
        if not isinstance(inst.src1, Immediate):
            raise Unspecified("a jump by a register")
        first = predicate(self.gang.flags[0], inst, 0, 0) and (inst.nomask or bool(on & 1))
        unit = 8 if self.gang.gen is Gen.IVB else 1
        return following + unit * signed_immediate(inst.src1) if first else following


def run(gang: Gang, code: bytes, limit: int = 4000) -> int:
    """Run all threads to their ends, and put the results into `gang`; the number of executed instructions."""
    executed = 0
    for t in range(gang.threads):
        own = Gang(gang.gen, gang.grf[t:t + 1].copy(), [gang.flags[t]], [gang.dmask[t]], gang.alternate,
                   gang.wide)
        walk = Walk(own, code)
        while not walk.ended:
            if walk.executed > limit:
                raise Unspecified("a thread without an end")
            walk.step()
        gang.grf[t] = own.grf[0]
        gang.flags[t] = own.flags[0]
        gang.address[t] = own.address[0]
        executed += walk.executed
    return executed
