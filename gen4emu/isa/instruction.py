"""An instruction as a typed value: decoded from its words and encoded to the identical bits.

`decode` never fails.  Bits that a form of instruction does not use go to `residue`, which is combined by exclusive-or
with the bits of the other members.  So encoding any decoded word gives that word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from typing import NamedTuple

from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR
from gen4emu.isa import compaction
from gen4emu.isa.fields import F, InstField
from gen4emu.isa.opcodes import Opcode, OpcodeInfo, Shape, opcode_info
from gen4emu.isa.registers import (
    EXEC_SIZES,
    SWIZZLE_XYZW,
    TYPE_BYTES,
    WRITEMASK_XYZW,
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


Region = Align1Region | Align16Region | DestRegion


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
    bits: int  # the whole dword; 16-bit types use the low half


RegisterOperand = DirectOperand | IndirectOperand
Operand = DirectOperand | IndirectOperand | Immediate


class Implied(IntEnum):
    """The compiler whose convention fills operand bits that assembly does not show (flow control, unused src1)."""

    MESA = 0
    IGT = 1


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The immediate of a `send`; its layout is `gen4emu.hw.gen4.messages.MESSAGE_DESCRIPTOR`."""

    bits: int

    @property
    def function_control(self) -> int:
        return _FUNCTION_CONTROL.extract((self.bits,))

    @property
    def rlen(self) -> int:
        return _RESPONSE_LENGTH.extract((self.bits,))

    @property
    def mlen(self) -> int:
        return _MESSAGE_LENGTH.extract((self.bits,))

    @property
    def sfid(self) -> int:
        return _SHARED_FUNCTION.extract((self.bits,))

    @property
    def eot(self) -> bool:
        return bool(_END_OF_THREAD.extract((self.bits,)))


_FUNCTION_CONTROL, _RESPONSE_LENGTH, _MESSAGE_LENGTH, _SHARED_FUNCTION, _END_OF_THREAD = (
    MESSAGE_DESCRIPTOR.field(name, Gen.CTG)
    for name in ("function_control", "response_length", "message_length", "shared_function", "end_of_thread"))


@dataclass(frozen=True, slots=True)
class Instruction:
    opcode: int
    gen: Gen
    exec_size: int = 0  # code, not channels
    align16: bool = False
    nomask: bool = False
    no_dd_clear: bool = False
    no_dd_check: bool = False
    compression: Compression = Compression.NONE
    thread_control: int = 0
    predicate: int = 0
    predicate_inverse: bool = False
    flag_subreg: int = 0
    cond_modifier: int = 0
    base_mrf: int = 0
    saturate: bool = False
    mask_control_ex: bool = False
    breakpoint: bool = False
    dst: RegisterOperand | None = None
    src0: Operand | None = None
    src1: Operand | None = None
    jump: int = 0
    pop: int = 0
    implied: Implied = Implied.MESA
    compacted: bool = False
    residue: int = 0

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
    def descriptor(self) -> Descriptor | None:
        """The immediate descriptor of a `send`."""
        if self.opcode == Opcode.SEND and isinstance(self.src1, Immediate):
            return Descriptor(self.src1.bits)
        return None

    @property
    def eot(self) -> bool:
        """Whether the instruction ends the thread (only an immediate descriptor can)."""
        descriptor = self.descriptor
        return descriptor is not None and descriptor.eot

    def branch_target(self, address: int) -> int | None:
        """The constant jump target of the instruction at `address`, or None.  Jump counts are in units of 16 bytes."""
        info = self.info
        if info is None:
            return None
        if info.shape is Shape.BRANCH and info.opcode is not Opcode.ENDIF:
            return address + 16 * self.jump
        if info.shape is Shape.JUMP and isinstance(self.src1, Immediate):
            return address + 16 + 16 * signed_immediate(self.src1)
        if info.opcode is Opcode.ADD and isinstance(self.src1, Immediate) and self.src1.type in _INTEGERS \
                and is_ip(self.dst) and is_ip(self.src0):
            return address + signed_immediate(self.src1)
        return None


def decode(words: Sequence[int], gen: Gen) -> Instruction:
    """Decode four dwords, or two if the first one has the compaction bit."""
    if len(words) not in (2, 4):
        raise FieldError(f"an instruction has 2 or 4 dwords, not {len(words)}")
    word = sum((w & 0xFFFFFFFF) << 32 * i for i, w in enumerate(words))
    return decode_word(word, gen, compacted=len(words) == 2)


def decode_word(word: int, gen: Gen, *, compacted: bool = False) -> Instruction:
    """Decode an integer of 128 bits, or of 64 bits for a compacted instruction."""
    full = compaction.expand(word) if compacted else word
    found = _decode(full, gen, compacted)
    residue = full ^ (full & _read_bits(found) | _implied_bits(found))
    if residue and found.info is not None:
        other = replace(found, implied=Implied.IGT)
        if full == full & _read_bits(other) | _implied_bits(other):
            found, residue = other, 0
    if compacted and not _COMPACT.get(word):  # a 64-bit word without the compaction bit: encode it without, too
        residue ^= _COMPACT.put(1)
    return replace(found, residue=residue) if residue else found


def encode(inst: Instruction) -> tuple[int, ...]:
    """Encode to four dwords, or two for a compacted instruction.  Raises FieldError if a member does not fit."""
    word = encode_word(inst)
    return tuple(word >> 32 * i & 0xFFFFFFFF for i in range(inst.size // 4))


def encode_word(inst: Instruction) -> int:
    word = _pack(inst) ^ inst.residue
    if not inst.compacted:
        return word
    short = compaction.compact(word)
    if short is None:
        raise FieldError(f"{_name(inst)} has no compacted form")
    return short ^ word & _COMPACT.put(1)


def encode_bytes(inst: Instruction) -> bytes:
    return encode_word(inst).to_bytes(inst.size, "little")


def compact(inst: Instruction) -> int | None:
    """The compacted 64-bit word of an instruction, or None if it has none."""
    return compaction.compact(_pack(inst) ^ inst.residue)


def signed_immediate(imm: Immediate) -> int:
    """The value of an integer immediate."""
    if imm.type in (ImmType.D, ImmType.UD):  # ip arithmetic wraps at 32 bits, so UD -16 jumps backwards, too
        return imm.bits - (1 << 32) if imm.bits >> 31 else imm.bits
    low = imm.bits & 0xFFFF
    return low - (1 << 16) if imm.type is ImmType.W and low >> 15 else low


def is_ip(operand: Operand | None) -> bool:
    return isinstance(operand, DirectOperand) and operand.file is RegFile.ARF and operand.nr >> 4 == Arf.IP


def is_float(operand: Operand) -> bool:
    """Whether an operand has a floating point type (immediates and registers number their types differently)."""
    if isinstance(operand, Immediate):
        return operand.type in (ImmType.VF, ImmType.F)
    return operand.type is RegType.F


# --- fields by operand -----------------------------------------------------------------------------------------------


class _SourceFields(NamedTuple):
    file: InstField
    type: InstField
    subreg_nr: InstField
    subreg16: InstField
    reg_nr: InstField
    addr_imm: InstField
    addr_imm16: InstField
    addr_subreg: InstField
    abs: InstField
    negate: InstField
    addr_mode: InstField
    hstride: InstField
    width: InstField
    vstride: InstField
    swizzle_x: InstField
    swizzle_y: InstField
    swizzle_z: InstField
    swizzle_w: InstField


_SRC0, _SRC1 = (_SourceFields(*(F[f"{src}_{name}"] for name in _SourceFields._fields)) for src in ("src0", "src1"))

_OPCODE, _COMPACT, _IMMEDIATE = F["opcode"], F["compact_control"], F["immediate"]
_JUMP, _POP, _BASE_MRF, _COND = F["jump_count"], F["pop_count"], F["base_mrf"], F["cond_modifier"]
_DST_FILE, _DST_TYPE, _DST_HSTRIDE, _DST_ADDR_MODE = (F[f"dst_{n}"] for n in ("file", "type", "hstride", "addr_mode"))
_DST_MASK, _DST_REG, _DST_SUB, _DST_SUB16 = (F[f"dst_{n}"] for n in ("writemask", "reg_nr", "subreg_nr", "subreg16"))
_DST_ADDR_IMM, _DST_ADDR_IMM16, _DST_ADDR_SUB = (F[f"dst_{n}"] for n in ("addr_imm", "addr_imm16", "addr_subreg"))

# member of Instruction and its field, for bits with one meaning in all forms
_CONTROL: tuple[tuple[str, InstField], ...] = tuple((member, F[name]) for member, name in (
    ("exec_size", "exec_size"), ("align16", "access_mode"), ("nomask", "mask_control"), ("no_dd_clear", "no_dd_clear"),
    ("no_dd_check", "no_dd_check"), ("compression", "compression"), ("thread_control", "thread_control"),
    ("predicate", "predicate_control"), ("predicate_inverse", "predicate_inverse"), ("flag_subreg", "flag_subreg"),
    ("saturate", "saturate"), ("mask_control_ex", "mask_control_ex"), ("breakpoint", "debug_control")))
_CONTROL_FIELDS = tuple(f for _, f in _CONTROL)

_REG_TYPES, _IMM_TYPES, _FILES = tuple(RegType), tuple(ImmType), tuple(RegFile)
_COMPRESSIONS = tuple(Compression)
_INTEGERS = frozenset({ImmType.UD, ImmType.D, ImmType.UW, ImmType.W})


def _name(inst: Instruction) -> str:
    info = inst.info
    return info.name if info else f"opcode 0x{inst.opcode:02x}"


# --- decoding --------------------------------------------------------------------------------------------------------


def _decode(word: int, gen: Gen, compacted: bool) -> Instruction:
    opcode = _OPCODE.get(word)
    info = opcode_info(opcode, gen)
    if info is None:
        return Instruction(opcode, gen, compacted=compacted)
    size, a16, nomask, dd_clear, dd_check, compr, thread, pred, inverse, flag, sat, mask_ex, debug = (
        f.get(word) for f in _CONTROL_FIELDS)
    align16 = bool(a16)
    shape = info.shape
    dst: RegisterOperand | None = None
    src0: Operand | None = None
    src1: Operand | None = None
    cond = mrf = jump = pop = 0
    if shape is Shape.SEND:
        mrf = _BASE_MRF.get(word)
    else:
        cond = _COND.get(word)
    if shape in (Shape.UNARY, Shape.BINARY, Shape.SEND):
        dst = _decode_dst(word, align16)
        src0 = _decode_src(word, _SRC0, align16)
        if shape is not Shape.UNARY and not isinstance(src0, Immediate):
            src1 = _decode_src(word, _SRC1, align16)
    elif shape is Shape.WAIT:
        src0 = _decode_src(word, _SRC0, align16)
    elif shape is Shape.JUMP:
        src1 = _decode_src(word, _SRC1, align16)
    elif shape is Shape.BRANCH:
        jump, pop = _JUMP.get(word), _POP.get(word)
    return Instruction(
        opcode, gen, size, align16, bool(nomask), bool(dd_clear), bool(dd_check), _COMPRESSIONS[compr], thread, pred,
        bool(inverse), flag, cond, mrf, bool(sat), bool(mask_ex), bool(debug), dst, src0, src1, jump, pop,
        Implied.MESA, compacted)


def _decode_dst(word: int, align16: bool) -> RegisterOperand:
    file, kind = _FILES[_DST_FILE.get(word)], _REG_TYPES[_DST_TYPE.get(word)]
    region = DestRegion(_DST_HSTRIDE.get(word), _DST_MASK.get(word) if align16 else None)
    if _DST_ADDR_MODE.get(word):
        offset = (_DST_ADDR_IMM16 if align16 else _DST_ADDR_IMM).get(word)
        return IndirectOperand(file, kind, _DST_ADDR_SUB.get(word), offset, region)
    return DirectOperand(file, kind, _DST_REG.get(word), (_DST_SUB16 if align16 else _DST_SUB).get(word), region)


def _decode_src(word: int, f: _SourceFields, align16: bool) -> Operand:
    file = _FILES[f.file.get(word)]
    code = f.type.get(word)
    if file is RegFile.IMM:
        return Immediate(_IMM_TYPES[code], _IMMEDIATE.get(word))
    region: Region
    if align16:
        swizzle = (f.swizzle_x.get(word) | f.swizzle_y.get(word) << 2 | f.swizzle_z.get(word) << 4
                   | f.swizzle_w.get(word) << 6)
        region = Align16Region(f.vstride.get(word), swizzle)
    else:
        region = Align1Region(f.vstride.get(word), f.width.get(word), f.hstride.get(word))
    negate, absolute = bool(f.negate.get(word)), bool(f.abs.get(word))
    if f.addr_mode.get(word):
        offset = (f.addr_imm16 if align16 else f.addr_imm).get(word)
        return IndirectOperand(file, _REG_TYPES[code], f.addr_subreg.get(word), offset, region, negate, absolute)
    sub = (f.subreg16 if align16 else f.subreg_nr).get(word)
    return DirectOperand(file, _REG_TYPES[code], f.reg_nr.get(word), sub, region, negate, absolute)


# --- encoding --------------------------------------------------------------------------------------------------------


def _put(f: InstField, value: int) -> int:
    """The value in the bits of its field.  Raises FieldError if it does not fit."""
    raw = value >> f.shift
    low, high = (-(f.mask + 1 >> 1), f.mask >> 1) if f.signed else (0, f.mask)
    if not low <= raw <= high or raw << f.shift != value:
        raise FieldError(f"{f.name}: {value} does not fit bits {f.hi % 32}:{f.lo % 32} of dword {f.lo // 32}")
    return (raw & f.mask) << f.lo


def _pack(inst: Instruction) -> int:
    """The 128 bits of all members other than residue."""
    info = inst.info
    word = _put(_OPCODE, inst.opcode)
    if info is None:
        return word
    for member, f in _CONTROL:
        word |= _put(f, int(getattr(inst, member)))
    shape = info.shape
    word |= _put(_BASE_MRF, inst.base_mrf) if shape is Shape.SEND else _put(_COND, inst.cond_modifier)
    if inst.dst is not None:
        word |= _pack_dst(inst.dst, inst.align16)
    if inst.src0 is not None:
        word |= _pack_src(inst.src0, _SRC0, inst.align16)
    if inst.src1 is not None:
        word |= _pack_src(inst.src1, _SRC1, inst.align16)
    if shape is Shape.BRANCH:
        word |= _put(_JUMP, inst.jump) | _put(_POP, inst.pop)
    return word | _implied_bits(inst)


def _pack_dst(dst: RegisterOperand, align16: bool) -> int:
    word = _put(_DST_FILE, dst.file) | _put(_DST_TYPE, dst.type)
    if not isinstance(dst.region, DestRegion):
        raise FieldError("a destination has a horizontal stride and no source region")
    word |= _put(_DST_HSTRIDE, dst.region.hstride)
    if align16:
        word |= _put(_DST_MASK, WRITEMASK_XYZW if dst.region.writemask is None else dst.region.writemask)
    elif dst.region.writemask is not None:
        raise FieldError("dst_writemask: only Align16 instructions have one")
    if isinstance(dst, IndirectOperand):
        offset = _DST_ADDR_IMM16 if align16 else _DST_ADDR_IMM
        return word | _put(_DST_ADDR_MODE, 1) | _put(offset, dst.addr_imm) | _put(_DST_ADDR_SUB, dst.addr_subreg)
    return word | _put(_DST_REG, dst.nr) | _put(_DST_SUB16 if align16 else _DST_SUB, dst.subnr)


def _pack_src(src: Operand, f: _SourceFields, align16: bool) -> int:
    if isinstance(src, Immediate):
        return _put(f.file, RegFile.IMM) | _put(f.type, src.type) | _put(_IMMEDIATE, src.bits)
    word = _put(f.file, src.file) | _put(f.type, src.type) | _put(f.abs, src.abs) | _put(f.negate, src.negate)
    region = src.region
    if align16:
        if not isinstance(region, Align16Region):
            raise FieldError("an Align16 source has a vertical stride and a swizzle")
        s = region.swizzle
        word |= (_put(f.vstride, region.vstride) | _put(f.swizzle_x, s & 3) | _put(f.swizzle_y, s >> 2 & 3)
                 | _put(f.swizzle_z, s >> 4 & 3) | _put(f.swizzle_w, s >> 6))
    else:
        if not isinstance(region, Align1Region):
            raise FieldError("an Align1 source has a region <vstride,width,hstride>")
        word |= _put(f.vstride, region.vstride) | _put(f.width, region.width) | _put(f.hstride, region.hstride)
    if isinstance(src, IndirectOperand):
        offset = f.addr_imm16 if align16 else f.addr_imm
        return word | _put(f.addr_mode, 1) | _put(offset, src.addr_imm) | _put(f.addr_subreg, src.addr_subreg)
    return word | _put(f.reg_nr, src.nr) | _put(f.subreg16 if align16 else f.subreg_nr, src.subnr)


def _read_bits(inst: Instruction) -> int:
    """The bits of the word that members other than residue represent."""
    info = inst.info
    if info is None:
        return _OPCODE.put(_OPCODE.mask)
    dst, src0, src1 = (type(o).__name__ for o in (inst.dst, inst.src0, inst.src1))
    return _form_bits(info.shape, inst.align16, dst, src0, src1)


@cache
def _form_bits(shape: Shape, align16: bool, dst: str, src0: str, src1: str) -> int:
    """These bits by form of instruction and operand classes: the union of the fields that decoding reads."""
    fields = [_OPCODE, *_CONTROL_FIELDS, _BASE_MRF if shape is Shape.SEND else _COND]
    if shape is Shape.BRANCH:
        fields += [_JUMP, _POP]
    for prefix, kind in (("dst", dst), ("src0", src0), ("src1", src1)):
        if kind == Immediate.__name__:
            fields += [F[f"{prefix}_file"], F[f"{prefix}_type"], _IMMEDIATE]
        elif kind in (DirectOperand.__name__, IndirectOperand.__name__):
            fields += [f for name, f in F.items() if name.startswith(f"{prefix}_") and f.when.holds(
                align16=align16, indirect=kind == IndirectOperand.__name__)]
    bits = 0
    for f in fields:
        bits |= f.mask << f.lo
    return bits


def _implied_bits(inst: Instruction) -> int:
    """The operand bits that assembly text does not show.

    Both conventions are those of existing kernels: of Mesa's compiler and assembler, and of IGT's assembler.
    """
    info = inst.info
    if info is None or info.shape in (Shape.BINARY, Shape.SEND):
        return 0
    igt = inst.implied is Implied.IGT
    if info.shape is Shape.NONE:  # the compaction tables always fill some operand bits of a nop
        return compaction.expand(inst.opcode) if inst.compacted else 0
    if info.shape is Shape.UNARY:
        if isinstance(inst.src0, Immediate) and not igt:
            return _put(_SRC1.type, inst.src0.type)
        return 0
    if info.shape is Shape.JUMP:
        return _implied_ip(inst, igt)
    if info.shape is Shape.BRANCH:
        immediate = _put(_SRC1.file, RegFile.IMM) | _put(_SRC1.type, ImmType.D)
        if info.opcode is not Opcode.ENDIF:
            return immediate | _implied_ip(inst, igt)
        if igt:
            return _put(_SRC1.file, RegFile.IMM) | _put(_SRC1.type, ImmType.D)
        return immediate | _implied_null_dst(inst, RegType.D) | _implied_null(inst, _SRC0, RegType.D)
    if info.shape is Shape.BARE and not igt:
        return (_implied_null_dst(inst, RegType.F) | _implied_null(inst, _SRC0, RegType.F)
                | _implied_null(inst, _SRC1, RegType.F))
    if info.shape is Shape.WAIT and isinstance(inst.src0, DirectOperand):
        if igt:
            return _put(_DST_HSTRIDE, 1) | _put(_SRC1.hstride, 1)
        src = inst.src0
        dst = DirectOperand(src.file, src.type, src.nr, src.subnr, DestRegion(1))
        return _pack_dst(dst, inst.align16) | _implied_null(inst, _SRC1, RegType.F)
    return 0


def _implied_ip(inst: Instruction, igt: bool) -> int:
    dst = DirectOperand(RegFile.ARF, RegType.UD, Arf.IP << 4, 0, DestRegion(1))
    region: Region
    if inst.align16:
        region = Align16Region(3)
    elif igt:
        region = Align1Region(0, 0, 1)
    else:  # Mesa's ip register is <4,1,0>, which its emitter makes scalar for one channel
        region = Align1Region(0 if inst.exec_size == 0 else 3, 0, 0)
    src = DirectOperand(RegFile.ARF, RegType.UD, Arf.IP << 4, 0, region)
    return _pack_dst(dst, inst.align16) | _pack_src(src, _SRC0, inst.align16)


def _implied_null_dst(inst: Instruction, kind: RegType) -> int:
    return _pack_dst(DirectOperand(RegFile.ARF, kind, 0, 0, DestRegion(1)), inst.align16)


def _implied_null(inst: Instruction, f: _SourceFields, kind: RegType) -> int:
    region = Align16Region(3) if inst.align16 else Align1Region(4, 3, 1)
    return _pack_src(DirectOperand(RegFile.ARF, kind, 0, 0, region), f, inst.align16)


def subregister_elements(operand: DirectOperand) -> int | None:
    """The subregister in elements of the operand's type, as in assembly; None if it is between elements."""
    count, rest = divmod(operand.subnr, TYPE_BYTES[operand.type])
    return None if rest else count
