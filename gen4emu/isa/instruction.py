"""An instruction as a typed value.  `gen4emu.isa.codec` decodes it from its words and encodes it to them.

Bits that a form of instruction does not use go to `residue`, which is combined by exclusive-or with the bits of the
other members.  So encoding any decoded word gives that word.
"""

from __future__ import annotations

from dataclasses import dataclass

from gen4emu.hw.gen import Gen
from gen4emu.isa.encodings import encoding_of
from gen4emu.isa.fields import Implied
from gen4emu.isa.opcodes import Opcode, OpcodeInfo, Shape, opcode_info
from gen4emu.isa.registers import (
    EXEC_SIZES,
    SWIZZLE_XYZW,
    TYPE_BYTES,
    Arf,
    Compression,
    ImmType,
    RegFile,
    RegType,
)


@dataclass(frozen=True, slots=True)
class Align1Region:
    """Source region in stride codes; `registers` has their element counts."""

    vstride: int
    width: int
    hstride: int


@dataclass(frozen=True, slots=True)
class Align16Region:
    vstride: int
    swizzle: int = SWIZZLE_XYZW  # two bits per channel, x lowest


@dataclass(frozen=True, slots=True)
class DestRegion:
    hstride: int
    writemask: int | None = None  # Align16 only; None: all channels


@dataclass(frozen=True, slots=True)
class TernaryRegion:
    """Source region of an instruction with three sources: packed 4-tuples, or one element for all channels."""

    replicate: bool = False
    swizzle: int = SWIZZLE_XYZW  # no effect on a replicated element


@dataclass(frozen=True, slots=True)
class MessageRegion:
    """Region of an operand of a split send: whole registers from the operand on."""


Region = Align1Region | Align16Region | DestRegion | TernaryRegion | MessageRegion


@dataclass(frozen=True, slots=True)
class DirectOperand:
    file: RegFile
    type: RegType
    nr: int
    subnr: int  # bytes
    region: Region
    negate: bool = False
    abs: bool = False


@dataclass(frozen=True, slots=True)
class IndirectOperand:
    file: RegFile
    type: RegType
    addr_subreg: int
    addr_imm: int  # bytes, signed
    region: Region
    negate: bool = False
    abs: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    type: ImmType
    bits: int  # the whole dword, or 64 bits; 16-bit types use the low half


RegisterOperand = DirectOperand | IndirectOperand
Operand = DirectOperand | IndirectOperand | Immediate


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The immediate descriptor of a `send`; its layout is `Encoding.message_descriptor`.

    `sfid` and `eot` are bits of the descriptor on Gen4 and of the instruction later.
    """

    bits: int
    gen: Gen
    sfid: int
    eot: bool

    @property
    def function_control(self) -> int:
        return self._field("function_control")

    @property
    def rlen(self) -> int:
        return self._field("response_length")

    @property
    def mlen(self) -> int:
        return self._field("message_length")

    def _field(self, name: str) -> int:
        return encoding_of(self.gen).message_descriptor.field(name, self.gen).extract((self.bits,))


@dataclass(frozen=True, slots=True)
class Instruction:
    opcode: int
    gen: Gen
    exec_size: int = 0  # code, not channels
    align16: bool = False
    nomask: bool = False
    no_dd_clear: bool = False
    no_dd_check: bool = False
    compression: Compression = Compression.NONE  # Gen4
    quarter: int = 0  # since Gen6: the channels start at 8 * quarter + 4 * nibble
    nibble: int = 0  # since Gen7
    thread_control: int = 0
    predicate: int = 0
    predicate_inverse: bool = False
    flag_reg: int = 0  # since Gen7
    flag_subreg: int = 0
    cond_modifier: int = 0
    base_mrf: int = 0  # of a send on Gen4
    sfid: int = 0  # of a send since Gen6
    math_function: int = 0  # since Gen6
    saturate: bool = False
    mask_control_ex: bool = False  # Gen4
    acc_write: bool = False  # since Gen6; the bit is BranchCtrl of opcodes with Flag.BRANCH_CONTROL
    end_of_thread: bool = False  # of a send since Gen6
    breakpoint: bool = False
    dst: RegisterOperand | None = None
    src0: Operand | None = None
    src1: Operand | None = None
    src2: Operand | None = None
    desc: Operand | None = None  # of a split send; that of a send is src1
    ex_desc: Operand | None = None
    jump: int = 0  # Gen4
    pop: int = 0
    jip: int = 0  # since Gen6, in units of Encoding.jump_unit
    uip: int = 0
    implied: Implied = Implied.MESA
    compacted: bool = False
    residue: int = 0
    compact_residue: int = 0  # bits of the compacted word without effect; or an index that the compactor avoids

    @property
    def info(self) -> OpcodeInfo | None:
        return opcode_info(self.opcode, self.gen)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return 8 if self.compacted else 16

    @property
    def channels(self) -> int:
        """Execution size in channels; 0 for a reserved code."""
        return EXEC_SIZES.get(self.exec_size, 0)

    @property
    def unused_flag_subreg(self) -> int:
        """The flag subregister that compilers name in an instruction without a flag."""
        return int(encoding_of(self.gen).flag_follows_group and self.quarter >= 2)

    @property
    def is_send(self) -> bool:
        info = self.info
        return info is not None and info.shape in SENDS

    @property
    def second_length(self) -> int | None:
        """The registers of the second part of a split send's payload, if its extended descriptor is immediate."""
        return self.ex_desc.bits >> 6 & 15 if isinstance(self.ex_desc, Immediate) else None

    @property
    def descriptor(self) -> Descriptor | None:
        """The immediate descriptor of a `send`."""
        info = self.info
        if info is None or info.shape not in SENDS:
            return None
        desc = self.src1 if info.shape is Shape.SEND else self.desc
        if not isinstance(desc, Immediate):
            return None
        layout = encoding_of(self.gen).message_descriptor
        names = layout.by_name(self.gen)
        sfid = names["shared_function"].extract((desc.bits,)) if "shared_function" in names else self.sfid
        eot = bool(names["end_of_thread"].extract((desc.bits,))) or self.end_of_thread
        return Descriptor(desc.bits, self.gen, sfid, eot)

    @property
    def eot(self) -> bool:
        """Whether the instruction ends the thread (on Gen4 only an immediate descriptor can)."""
        if self.end_of_thread:
            return True
        descriptor = self.descriptor
        return descriptor is not None and descriptor.eot

    def branch_target(self, address: int) -> int | None:
        """The first constant jump target of the instruction at `address`, or None."""
        targets = self.branch_targets(address)
        return targets[0] if targets else None

    def branch_targets(self, address: int) -> tuple[int, ...]:
        """The constant jump targets of the instruction at `address`: of the jump count, or of JIP and UIP."""
        info = self.info
        if info is None:
            return ()
        shape = info.shape
        if shape in _BRANCHES:
            unit = encoding_of(self.gen).jump_unit
            if shape is Shape.BRANCH:
                return () if info.number == Opcode.ENDIF else (address + unit * self.jump,)
            first = address + unit * self.jip
            return (first, address + unit * self.uip) if shape is Shape.BRANCH_JIP_UIP else (first,)
        if shape is Shape.JUMP and isinstance(self.src1, Immediate):
            encoding = encoding_of(self.gen)
            base = address + (encoding.compacted_jump_size if self.compacted else 16)
            return (base + encoding.jmpi_unit * signed_immediate(self.src1),)
        if info.number == Opcode.ADD and isinstance(self.src1, Immediate) and self.src1.type in _INTEGERS \
                and is_ip(self.dst) and is_ip(self.src0):
            return (address + signed_immediate(self.src1),)
        return ()


SENDS = frozenset({Shape.SEND, Shape.SPLIT_SEND})
_BRANCHES = frozenset({Shape.BRANCH, Shape.BRANCH_JIP, Shape.BRANCH_JIP_UIP, Shape.BRANCH_COMPARE})


def signed_immediate(imm: Immediate) -> int:
    """The value of an integer immediate."""
    if imm.type in (ImmType.D, ImmType.UD):  # ip arithmetic wraps at 32 bits, so UD -16 jumps backwards, too
        return imm.bits - (1 << 32) if imm.bits >> 31 else imm.bits
    low = imm.bits & 0xFFFF
    return low - (1 << 16) if imm.type is ImmType.W and low >> 15 else low


def is_ip(operand: Operand | None) -> bool:
    return isinstance(operand, DirectOperand) and operand.file is RegFile.ARF and operand.nr >> 4 == Arf.IP


def null_compared(align16: bool) -> DirectOperand:
    """Both sources of a Gen6 `if` that compares nothing."""
    region = Align16Region(0) if align16 else Align1Region(0, 0, 0)
    return DirectOperand(RegFile.ARF, RegType.D, Arf.NULL << 4, 0, region)


def is_float(operand: Operand) -> bool:
    """Whether an operand has a floating point type (immediates and registers number their types differently)."""
    if isinstance(operand, Immediate):
        return operand.type in (ImmType.VF, ImmType.F, ImmType.DF, ImmType.HF)
    return operand.type in (RegType.F, RegType.DF, RegType.HF)


_INTEGERS = frozenset({ImmType.UD, ImmType.D, ImmType.UW, ImmType.W})


def subregister_elements(operand: DirectOperand) -> int | None:
    """The subregister in elements of the operand's type, as in assembly; None if it is between elements."""
    count, rest = divmod(operand.subnr, TYPE_BYTES[operand.type])
    return None if rest else count
