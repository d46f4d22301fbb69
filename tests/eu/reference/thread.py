"""The state of one EU thread: byte arrays, masks, stacks and accumulators.

Every register byte has a mark: 0, or 1 to 4 for the bytes of a NaN whose payload is undefined.  Reading such a byte as
anything but that whole float raises `Unspecified`, and so does everything else that the documentation leaves open; a
comparison with another implementation ends there.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field

from gen4emu.hw.gen import Gen
from gen4emu.isa.registers import Arf, RegFile
from tests.eu.reference.types import Exec

GRF_BYTES = 128 * 32
MRF_BYTES = 16 * 32
A0_MASKS = (0xFFFF, 0xFFFF, 0xFFF, 0xFFF, 0xFFF, 0xFFF, 0xFFF, 0xFFF)
NAN_MARKS = bytes((1, 2, 3, 4))


class Unspecified(Exception):
    """The documentation does not define the result."""


@dataclass
class Slot:
    """One channel of an accumulator, and the kind of number that was written last; None: undefined."""

    kind: Exec | None
    value: float | int


@dataclass
class Thread:
    gen: Gen
    dmask: int = 0xFFFF
    ip: int = 0
    alternate: bool = False
    grf: bytearray = field(default_factory=lambda: bytearray(GRF_BYTES))
    mrf: bytearray = field(default_factory=lambda: bytearray(MRF_BYTES))
    grf_marks: bytearray = field(default_factory=lambda: bytearray(GRF_BYTES))
    mrf_marks: bytearray = field(default_factory=lambda: bytearray(MRF_BYTES))
    address: list[int] = field(default_factory=lambda: [0] * 8)
    flags: list[int] = field(default_factory=lambda: [0, 0])
    acc: list[list[Slot]] = field(default_factory=lambda: [[Slot(None, 0) for _ in range(16)] for _ in range(2)])
    imask: int = 0xFFFF
    lmask: int = 0xFFFF
    cmask: int = 0xFFFF
    if_stack: list[int] = field(default_factory=list)
    loop_stack: list[tuple[int, int]] = field(default_factory=list)
    control: list[int] = field(default_factory=lambda: [0, 0, 0])
    notifications: list[int] = field(default_factory=lambda: [0, 0])
    ended: bool = False
    jumped: bool = False  # ip was written
    executed: int = 0
    amask: int = field(init=False)

    def __post_init__(self) -> None:
        self.amask = self.dmask
        self.control[0] = int(self.alternate)

    @property
    def enabled(self) -> int:
        return self.amask & self.imask & self.lmask & self.cmask

    def clone(self) -> Thread:
        """A copy to try an instruction on."""
        other = copy(self)
        for name in ("grf", "mrf", "grf_marks", "mrf_marks", "address", "flags", "if_stack", "loop_stack", "control",
                     "notifications"):
            setattr(other, name, getattr(self, name)[:])
        other.acc = [list(slots) for slots in self.acc]
        return other

    # --- registers by file ---

    def file(self, file: RegFile) -> tuple[bytearray, bytearray]:
        return (self.mrf, self.mrf_marks) if file is RegFile.MRF else (self.grf, self.grf_marks)

    def arf(self, nr: int) -> bytearray:
        """The bytes of an architecture register; those that do not exist read as 0."""
        kind, index = nr >> 4, nr & 15
        words: list[int] = []
        if kind == Arf.A and not index:
            words = self.address
        elif kind == Arf.F and not index:
            words = self.flags
        elif kind == Arf.MASK and not index:
            words = [self.amask, self.imask, self.lmask, self.cmask]
        elif kind == Arf.MSD and not index:
            words = [len(self.if_stack), len(self.loop_stack)]
        elif kind == Arf.SR and not index:
            words = [0, 0, self.dmask, 0]
        elif kind == Arf.CR and not index:
            words = [half for d in self.control for half in (d & 0xFFFF, d >> 16)]
        elif kind == Arf.N and index < 2:
            words = [self.notifications[index] & 0xFFFF, self.notifications[index] >> 16]
        elif kind == Arf.IP:
            words = [self.ip & 0xFFFF, self.ip >> 16]
        image = bytearray(b"".join(w.to_bytes(2, "little") for w in words))
        return image.ljust(32, b"\0")

    def set_arf(self, nr: int, image: bytearray) -> None:
        kind, index = nr >> 4, nr & 15
        words = [int.from_bytes(image[i:i + 2], "little") for i in range(0, 32, 2)]
        if kind == Arf.A and not index:
            self.address = [w & m for w, m in zip(words, A0_MASKS, strict=False)]
        elif kind == Arf.F and not index:
            self.flags = words[:2]
        elif kind == Arf.MASK and not index:
            self.amask, self.imask, self.lmask, self.cmask = words[:4]
        elif kind == Arf.MSD and not index:
            if words[0] > len(self.if_stack) or words[1] > len(self.loop_stack):
                raise Unspecified("a deeper mask stack")
            del self.if_stack[words[0]:]
            del self.loop_stack[words[1]:]
        elif kind == Arf.CR and not index:
            self.control = [words[2 * i] | words[2 * i + 1] << 16 for i in range(3)]
        elif kind == Arf.MS:
            if any(words):
                raise Unspecified("a mask stack with new entries")
            self.if_stack = [0] * len(self.if_stack)
