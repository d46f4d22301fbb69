"""Instructions to words and back, for every encoding.

`decode` never fails: bits that a form of instruction does not use go to `Instruction.residue`.  So encoding any decoded
word gives that word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial, reduce
from operator import or_
from typing import Any, NamedTuple

from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen
from gen4emu.isa.compaction import COMPACT_BIT, Compactor
from gen4emu.isa.encodings import encoding_of
from gen4emu.isa.fields import Encoding, Hidden, HiddenOperands, Implied, InstField
from gen4emu.isa.instruction import (
    Align1Region,
    Align16Region,
    DestRegion,
    DirectOperand,
    Immediate,
    IndirectOperand,
    Instruction,
    MessageRegion,
    Operand,
    Region,
    RegisterOperand,
    TernaryRegion,
)
from gen4emu.isa.opcodes import OPCODES, Flag, OpcodeInfo, Shape, opcode_info
from gen4emu.isa.registers import IMM64_TYPES, WRITEMASK_XYZW, Arf, Compression, ImmType, RegFile, RegType


def decode(words: Sequence[int], gen: Gen) -> Instruction:
    """Decode four dwords, or two if the first one has the compaction bit."""
    if len(words) not in (2, 4):
        raise FieldError(f"an instruction has 2 or 4 dwords, not {len(words)}")
    word = sum((w & 0xFFFFFFFF) << 32 * i for i, w in enumerate(words))
    return decode_word(word, gen, compacted=len(words) == 2)


def decode_word(word: int, gen: Gen, *, compacted: bool = False) -> Instruction:
    """Decode an integer of 128 bits, or of 64 bits for a compacted instruction."""
    codec = codec_of(gen)
    full = codec.compactor(word).expand(word) if compacted else word
    found = codec.decode(full, gen, compacted)
    residue = 0
    if not codec.is_complete(found, full):
        residue = full ^ codec.pack(found)
        if residue and found.info is not None:
            for convention in codec.other_conventions:
                other = replace(found, implied=convention)
                if full == codec.pack(other):
                    found, residue = other, 0
                    break
    if not compacted:
        return replace(found, residue=residue) if residue else found
    if not word & COMPACT_BIT:  # a 64-bit word without the compaction bit: encode it without, too
        residue ^= COMPACT_BIT
    unusual = codec.compactor(word).unusual_bits(word | COMPACT_BIT, full)
    return replace(found, residue=residue, compact_residue=unusual) if residue or unusual else found


def encode(inst: Instruction) -> tuple[int, ...]:
    """Encode to four dwords, or two for a compacted instruction.  Raises FieldError if a member does not fit."""
    word = encode_word(inst)
    return tuple(word >> 32 * i & 0xFFFFFFFF for i in range(inst.size // 4))


def encode_word(inst: Instruction) -> int:
    codec = codec_of(inst.gen)
    word = codec.pack(inst) ^ inst.residue
    if not inst.compacted:
        return word
    short = codec.compactor(word).compact(word)
    if short is None:
        raise FieldError(f"{_name(inst)} has no compacted form")
    return short ^ inst.compact_residue ^ word & COMPACT_BIT


def encode_bytes(inst: Instruction) -> bytes:
    return encode_word(inst).to_bytes(inst.size, "little")


def compact(inst: Instruction) -> int | None:
    """The compacted 64-bit word of an instruction, or None if it has none."""
    codec = codec_of(inst.gen)
    word = codec.pack(replace(inst, compacted=True)) ^ inst.residue
    return codec.compactor(word).compact(word)


def codec_of(gen: Gen) -> Codec:
    """The codec of a device."""
    return _codec_of(encoding_of(gen))


def _name(inst: Instruction) -> str:
    info = inst.info
    return info.name if info else f"opcode 0x{inst.opcode:02x}"


# --- the fields of an encoding, by their use --------------------------------------------------------------------------


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


class _DestinationFields(NamedTuple):
    file: InstField
    type: InstField
    subreg_nr: InstField
    subreg16: InstField
    reg_nr: InstField
    addr_imm: InstField
    addr_imm16: InstField
    addr_subreg: InstField
    addr_mode: InstField
    hstride: InstField
    writemask: InstField


class _TernarySourceFields(NamedTuple):
    replicate: InstField
    swizzle: InstField
    subreg_nr: InstField
    reg_nr: InstField
    abs: InstField
    negate: InstField


# Member of Instruction, its field and the kind of its values, for bits with one meaning in all forms.  An encoding that
# lacks the field lacks the member.
_CONTROL: tuple[tuple[str, str, Callable[[int], Any]], ...] = (
    ("exec_size", "exec_size", int), ("align16", "access_mode", bool), ("nomask", "mask_control", bool),
    ("no_dd_clear", "no_dd_clear", bool), ("no_dd_check", "no_dd_check", bool),
    ("compression", "compression", tuple(Compression).__getitem__), ("quarter", "quarter_control", int),
    ("nibble", "nibble_control", int), ("thread_control", "thread_control", int),
    ("predicate", "predicate_control", int), ("predicate_inverse", "predicate_inverse", bool),
    ("flag_reg", "flag_reg", int), ("flag_subreg", "flag_subreg", int), ("saturate", "saturate", bool),
    ("mask_control_ex", "mask_control_ex", bool), ("acc_write", "acc_write_control", bool),
    ("breakpoint", "debug_control", bool))

_FILES = tuple(RegFile)

_IMMEDIATE64 = int(Flag.IMMEDIATE64)
_REGISTERS = (Shape.UNARY, Shape.BINARY, Shape.MATH, Shape.SEND)
_WHOLE = MessageRegion()

# Few different regions occur, and creating one takes longer than looking it up.
_dest_region = lru_cache(maxsize=1 << 12)(DestRegion)
_align1_region = lru_cache(maxsize=1 << 12)(Align1Region)
_align16_region = lru_cache(maxsize=1 << 12)(Align16Region)


class Codec:
    """Decodes and packs the 128-bit words of one encoding."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        names = encoding.by_name
        self._names = names
        self._opcode = names["opcode"]
        self._control = tuple((member, names[f], kind) for member, f, kind in _CONTROL if f in names)
        self._ternary_control = tuple((member, names.get(f"ternary_{f}", names[f]), kind)
                                      for member, f, kind in _CONTROL if f in names)
        self._control_bits, self._ternary_control_bits = (
            tuple((member, f.lo, f.mask, kind) for member, f, kind in control)
            for control in (self._control, self._ternary_control))
        # the bits of the condition modifier, by shape
        self._condition = ("cond_modifier", names["cond_modifier"])
        self._functions = {Shape.SEND: ("base_mrf", names["base_mrf"])} if "base_mrf" in names else {
            Shape.SEND: ("sfid", names["sfid"]), Shape.SPLIT_SEND: ("sfid", names["sfid"]),
            Shape.MATH: ("math_function", names["math_function"])}
        self._dst = _DestinationFields(*(names[f"dst_{name}"] for name in _DestinationFields._fields))
        self._src0, self._src1 = (_SourceFields(*(names[f"{src}_{name}"] for name in _SourceFields._fields))
                                  for src in ("src0", "src1"))
        # Operands repeat in instructions that differ, and decoding one takes longer than looking it up.
        self._dst_bits, self._src0_bits, self._src1_bits = (
            reduce(or_, (f.put(f.mask << f.shift) for f in fields)) for fields in (self._dst, self._src0, self._src1))
        self._destination = lru_cache(maxsize=1 << 14)(self._decode_dst)
        self._register0 = lru_cache(maxsize=1 << 14)(partial(self._decode_register, self._src0))
        self._register1 = lru_cache(maxsize=1 << 14)(partial(self._decode_register, self._src1))
        self._immediate = names["immediate"]
        self._immediate64 = names.get("immediate64")
        # the control fields that a 64-bit immediate covers: the flag of Gen7
        self._under_wide_immediate = tuple(member for member, f, _ in self._control
                                           if self._immediate64 is not None and f.lo >= self._immediate64.lo)
        self._eot = names.get("send_end_of_thread")
        self._descriptor = names.get("send_descriptor")
        self._ternary_sources = tuple(
            _TernarySourceFields(*(names[f"ternary_{src}_{name}"] for name in _TernarySourceFields._fields))
            for src in ("src0", "src1", "src2")) if "ternary_src0_reg_nr" in names else ()
        type_codes = 1 << self._dst.type.width
        self._types = tuple(encoding.register_types.get(code, RegType.RESERVED) for code in range(type_codes))
        self._imm_types = tuple(encoding.immediate_types.get(code, ImmType.RESERVED) for code in range(type_codes))
        self._ternary_types = tuple(encoding.ternary_types.get(code, RegType.RESERVED) for code in range(8))
        # a reserved type packs as the first reserved code; residue has the difference
        self._type_codes = {t: code for code, t in reversed(tuple(enumerate(self._types)))}
        self._imm_type_codes = {t: code for code, t in reversed(tuple(enumerate(self._imm_types)))}
        self._ternary_type_codes = {t: code for code, t in reversed(tuple(enumerate(self._ternary_types)))}
        self._jumps = self._jump_fields()
        self._hidden: dict[tuple[object, ...], int] = {}
        self._read_bits: dict[tuple[object, ...], int] = {}
        self.other_conventions = tuple(c for c in encoding.hidden if c is not Implied.MESA)
        self._compactor = Compactor(encoding, encoding.compact_form)
        form = encoding.ternary_compact_form
        self._ternary_compactor = self._compactor if form is None else Compactor(encoding, form)
        self._ternary_opcodes = frozenset(o.number for o in OPCODES
                                          if o.shape is Shape.TERNARY and o.gens & encoding.gens)

    def _jump_fields(self) -> dict[Shape, tuple[tuple[str, InstField], ...]]:
        """Members for the jump counts of each shape of branch, and their fields."""
        names = self._names
        if "pop_count" in names:
            return {Shape.BRANCH: (("jump", names["jump_count"]), ("pop", names["pop_count"]))}
        one = (("jip", names.get("jump_count", names["jip"])),)
        return {Shape.BRANCH_JIP: one, Shape.BRANCH_COMPARE: one,
                Shape.BRANCH_JIP_UIP: (("jip", names["jip"]), ("uip", names["uip"]))}

    def jump_field(self, shape: Shape, member: str) -> InstField:
        """The field of a jump count."""
        return dict(self._jumps[shape])[member]

    def compactor(self, word: int) -> Compactor:
        """The compactor for a word: compacted and full words have the opcode in the same place."""
        return self._ternary_compactor if word & self._opcode.mask in self._ternary_opcodes else self._compactor

    # --- decoding ------------------------------------------------------------------------------------------------

    def decode(self, word: int, gen: Gen, compacted: bool) -> Instruction:
        """The members of an instruction other than residue."""
        opcode = self._opcode.get(word)
        info = opcode_info(opcode, gen)
        if info is None:
            return Instruction(opcode, gen, compacted=compacted)
        shape = info.shape
        control = self._ternary_control_bits if shape is Shape.TERNARY else self._control_bits
        members: dict[str, Any] = {member: kind(word >> lo & mask) for member, lo, mask, kind in control}
        member, f = self._functions.get(shape, self._condition)
        members[member] = f.get(word)
        align16 = members["align16"]
        if shape in _REGISTERS:
            members["dst"] = self._destination(word & self._dst_bits, align16)
            members["src0"] = self._decode_src0(word, align16, info)
            if shape is not Shape.UNARY and not isinstance(members["src0"], Immediate):
                members["src1"] = self._decode_src1(word, align16, info)
            if shape is Shape.SEND and self._eot is not None:
                members["end_of_thread"] = bool(self._eot.get(word))
            if self._has_wide_immediate(members["src0"], info):
                members |= dict.fromkeys(self._under_wide_immediate, 0)
        elif shape is Shape.TERNARY:
            self._decode_ternary(word, members)
        elif shape is Shape.SPLIT_SEND:
            self._decode_split_send(word, members)
        elif shape is Shape.WAIT_DESTINATION:
            members["dst"] = self._destination(word & self._dst_bits, align16)
        elif shape is Shape.WAIT:
            members["src0"] = self._decode_src0(word, align16, info)
        elif shape is Shape.JUMP:
            members["src1"] = self._decode_src1(word, align16, info)
        else:
            if shape is Shape.BRANCH_COMPARE:
                members["src0"] = self._decode_src0(word, align16, info)
                members["src1"] = self._decode_src1(word, align16, info)
            for member, f in self._jumps.get(shape, ()):
                members[member] = f.get(word)
        return Instruction(opcode, gen, compacted=compacted, **members)

    def _decode_dst(self, word: int, align16: bool) -> RegisterOperand:
        f = self._dst
        file, kind = _FILES[f.file.get(word)], self._types[f.type.get(word)]
        region = _dest_region(f.hstride.get(word), f.writemask.get(word) if align16 else None)
        if f.addr_mode.get(word):
            offset = (f.addr_imm16 if align16 else f.addr_imm).get(word)
            return IndirectOperand(file, kind, f.addr_subreg.get(word), offset, region)
        return DirectOperand(file, kind, f.reg_nr.get(word), (f.subreg16 if align16 else f.subreg_nr).get(word), region)

    def _decode_src0(self, word: int, align16: bool, info: OpcodeInfo) -> Operand:
        if _FILES[self._src0.file.get(word)] is RegFile.IMM:
            return self._decode_immediate(word, self._src0, info)
        return self._register0(word & self._src0_bits, align16)

    def _decode_src1(self, word: int, align16: bool, info: OpcodeInfo) -> Operand:
        if _FILES[self._src1.file.get(word)] is RegFile.IMM:
            return self._decode_immediate(word, self._src1, info)
        return self._register1(word & self._src1_bits, align16)

    def _decode_immediate(self, word: int, f: _SourceFields, info: OpcodeInfo) -> Immediate:
        kind = self._imm_types[f.type.get(word)]
        return Immediate(kind, self._immediate_field(f, kind, info).get(word))

    def _decode_register(self, f: _SourceFields, word: int, align16: bool) -> RegisterOperand:
        file, kind = _FILES[f.file.get(word)], self._types[f.type.get(word)]
        region: Region
        if align16:
            swizzle = (f.swizzle_x.get(word) | f.swizzle_y.get(word) << 2 | f.swizzle_z.get(word) << 4
                       | f.swizzle_w.get(word) << 6)
            region = _align16_region(f.vstride.get(word), swizzle)
        else:
            region = _align1_region(f.vstride.get(word), f.width.get(word), f.hstride.get(word))
        negate, absolute = bool(f.negate.get(word)), bool(f.abs.get(word))
        if f.addr_mode.get(word):
            offset = (f.addr_imm16 if align16 else f.addr_imm).get(word)
            return IndirectOperand(file, kind, f.addr_subreg.get(word), offset, region, negate, absolute)
        sub = (f.subreg16 if align16 else f.subreg_nr).get(word)
        return DirectOperand(file, kind, f.reg_nr.get(word), sub, region, negate, absolute)

    def _immediate_field(self, f: _SourceFields, kind: ImmType, info: OpcodeInfo) -> InstField:
        """The bits of an immediate source, of which only source 0 can have 64."""
        if info.shape is Shape.SEND and self._descriptor is not None:
            return self._descriptor
        wide = kind in IMM64_TYPES or info.flag_bits & _IMMEDIATE64
        if self._immediate64 is not None and f is self._src0 and wide and info.shape is Shape.UNARY:
            return self._immediate64
        return self._immediate

    def _has_wide_immediate(self, src0: Operand | None, info: OpcodeInfo) -> bool:
        return isinstance(src0, Immediate) and self._immediate_field(self._src0, src0.type, info) is self._immediate64

    def _decode_ternary(self, word: int, members: dict[str, Any]) -> None:
        names = self._names
        types = [self._ternary_types[names[f"ternary_{which}_type"].get(word)] if f"ternary_{which}_type" in names
                 else RegType.F for which in ("dst", "src")]
        file = RegFile.MRF if "ternary_dst_file" in names and names["ternary_dst_file"].get(word) else RegFile.GRF
        region = DestRegion(1, names["ternary_dst_writemask"].get(word))
        members["dst"] = DirectOperand(file, types[0], names["ternary_dst_reg_nr"].get(word),
                                       names["ternary_dst_subreg_nr"].get(word), region)
        for i, f in enumerate(self._ternary_sources):
            half = names.get(f"ternary_src{i}_half")
            kind = RegType.HF if half is not None and half.get(word) else types[1]
            members[f"src{i}"] = DirectOperand(
                RegFile.GRF, kind, f.reg_nr.get(word), f.subreg_nr.get(word),
                TernaryRegion(bool(f.replicate.get(word)), f.swizzle.get(word)), bool(f.negate.get(word)),
                bool(f.abs.get(word)))

    def _decode_split_send(self, word: int, members: dict[str, Any]) -> None:
        names = self._names
        get = {name: f.get(word) for name, f in names.items() if name.startswith("split_")}
        file = _FILES[get["split_dst_file"]]
        if get["split_dst_addr_mode"]:
            members["dst"] = IndirectOperand(file, RegType.UD, get["split_dst_addr_subreg"],
                                             get["split_dst_addr_imm16"], _WHOLE)
        else:
            members["dst"] = DirectOperand(file, RegType.UD, get["split_dst_reg_nr"], get["split_dst_subreg16"], _WHOLE)
        if get["split_src0_addr_mode"]:
            members["src0"] = IndirectOperand(RegFile.GRF, RegType.UD, get["split_src0_addr_subreg"],
                                              get["split_src0_addr_imm16"], _WHOLE)
        else:
            members["src0"] = DirectOperand(RegFile.GRF, RegType.UD, get["split_src0_reg_nr"],
                                            get["split_src0_subreg16"], _WHOLE)
        members["src1"] = DirectOperand(_FILES[get["split_src1_file"]], RegType.UD, get["split_src1_reg_nr"], 0, _WHOLE)
        members["desc"] = _address_register(0) if get["split_desc_in_register"] else Immediate(
            ImmType.UD, get["split_descriptor"])
        members["ex_desc"] = _address_register(get["split_ex_desc_subreg"]) if get["split_ex_desc_in_register"] \
            else Immediate(ImmType.UD, get["split_ex_desc_mlen"] | get["split_ex_desc_function"])
        members["end_of_thread"] = bool(get["split_end_of_thread"])

    def is_complete(self, inst: Instruction, word: int) -> bool:
        """Whether the members certainly represent all bits of the word: a fast check before `pack`."""
        info = inst.info
        if info is None:
            return word == inst.opcode
        dst, src0, src1 = inst.dst, inst.src0, inst.src1
        key = (info.number, inst.align16, type(dst), type(src0), type(src1),
               src0.type if isinstance(src0, Immediate) else None)
        read = self._read_bits.get(key)
        if read is None:
            read = self._read_bits[key] = self._find_read_bits(inst, info)
        if not read or word & ~read != self._hidden_bits(inst, info):
            return False
        return not ((dst is not None and dst.type is RegType.RESERVED)
                    or (src0 is not None and _is_reserved(src0))
                    or (src1 is not None and _is_reserved(src1)))

    def _find_read_bits(self, inst: Instruction, info: OpcodeInfo) -> int:
        """The bits that decoding reads in an instruction of this form; 0 where that is not worth knowing."""
        if info.shape in (Shape.TERNARY, Shape.SPLIT_SEND):
            return 0
        fields = [self._opcode, *(f for _, f, _ in self._control), self._functions.get(info.shape, self._condition)[1],
                  *(f for _, f in self._jumps.get(info.shape, ()))]
        if info.shape is Shape.SEND and self._eot is not None:
            fields.append(self._eot)
        operands: tuple[tuple[str, Operand | None, tuple[InstField, ...]], ...] = (
            ("dst", inst.dst, self._dst), ("src0", inst.src0, self._src0), ("src1", inst.src1, self._src1))
        for prefix, operand, all_fields in operands:
            if isinstance(operand, Immediate):
                fs = self._src0 if prefix == "src0" else self._src1
                fields += [fs.file, fs.type, self._immediate_field(fs, operand.type, info)]
            elif operand is not None:
                fields += [f for f in all_fields if f.when.holds(
                    align16=inst.align16, indirect=isinstance(operand, IndirectOperand))]
        bits = 0
        for f in fields:
            bits |= f.put(-1)
        return bits

    # --- encoding ------------------------------------------------------------------------------------------------

    def pack(self, inst: Instruction) -> int:
        """The 128 bits of all members other than residue.  Raises FieldError if a member does not fit."""
        info = inst.info
        word = _put(self._opcode, inst.opcode)
        if info is None:
            return word
        shape = info.shape
        for member, f, _ in self._ternary_control if shape is Shape.TERNARY else self._control:
            word |= _put(f, int(getattr(inst, member)))
        member, f = self._functions.get(shape, self._condition)
        word |= _put(f, getattr(inst, member))
        if shape is Shape.TERNARY:
            return word | self._pack_ternary(inst)
        if shape is Shape.SPLIT_SEND:
            return word | self._pack_split_send(inst)
        if inst.dst is not None:
            word |= self._pack_dst(inst.dst, inst.align16)
        if inst.src0 is not None:
            word |= self._pack_src(inst.src0, self._src0, inst.align16, info)
            if self._has_wide_immediate(inst.src0, info):
                for member in self._under_wide_immediate:
                    if getattr(inst, member):
                        raise FieldError(f"{member}: a 64-bit immediate takes the place of this field")
        if inst.src1 is not None:
            word |= self._pack_src(inst.src1, self._src1, inst.align16, info)
        for member, f in self._jumps.get(shape, ()):
            word |= _put(f, getattr(inst, member))
        if shape is Shape.SEND and self._eot is not None:
            word |= _put(self._eot, inst.end_of_thread)
        return word | self._hidden_bits(inst, info)

    def _pack_dst(self, dst: RegisterOperand, align16: bool) -> int:
        f = self._dst
        word = _put(f.file, dst.file) | self._put_type(f.type, dst.type)
        if not isinstance(dst.region, DestRegion):
            raise FieldError("a destination has a horizontal stride and no source region")
        word |= _put(f.hstride, dst.region.hstride)
        if align16:
            word |= _put(f.writemask, WRITEMASK_XYZW if dst.region.writemask is None else dst.region.writemask)
        elif dst.region.writemask is not None:
            raise FieldError("dst_writemask: only Align16 instructions have one")
        if isinstance(dst, IndirectOperand):
            offset = f.addr_imm16 if align16 else f.addr_imm
            return word | _put(f.addr_mode, 1) | _put(offset, dst.addr_imm) | _put(f.addr_subreg, dst.addr_subreg)
        return word | _put(f.reg_nr, dst.nr) | _put(f.subreg16 if align16 else f.subreg_nr, dst.subnr)

    def _pack_src(self, src: Operand, f: _SourceFields, align16: bool, info: OpcodeInfo) -> int:
        if isinstance(src, Immediate):
            code = self._imm_type_codes.get(src.type)
            if code is None:
                raise FieldError(f"{f.type.name}: no immediate has type {src.type.name} on {self.encoding.name}")
            word = _put(f.file, RegFile.IMM) | _put(f.type, code)
            return word | _put(self._immediate_field(f, src.type, info), src.bits)
        word = _put(f.file, src.file) | self._put_type(f.type, src.type) | _put(f.abs, src.abs) | _put(
            f.negate, src.negate)
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

    def _put_type(self, f: InstField, kind: RegType) -> int:
        code = self._type_codes.get(kind)
        if code is None:
            raise FieldError(f"{f.name}: no register has type {kind.name} on {self.encoding.name}")
        return _put(f, code)

    def _pack_ternary(self, inst: Instruction) -> int:
        names = self._names
        dst, sources = inst.dst, (inst.src0, inst.src1, inst.src2)
        if not isinstance(dst, DirectOperand) or not isinstance(dst.region, DestRegion):
            raise FieldError("an instruction with three sources has a direct destination")
        mask = WRITEMASK_XYZW if dst.region.writemask is None else dst.region.writemask
        word = (_put(names["ternary_dst_reg_nr"], dst.nr) | _put(names["ternary_dst_subreg_nr"], dst.subnr)
                | _put(names["ternary_dst_writemask"], mask))
        if "ternary_dst_file" in names:
            word |= _put(names["ternary_dst_file"], dst.file == RegFile.MRF)
        elif dst.file is not RegFile.GRF:
            raise FieldError("the destination of an instruction with three sources is a g register")
        kinds = []
        for i, (src, f) in enumerate(zip(sources, self._ternary_sources, strict=True)):
            if not isinstance(src, DirectOperand) or not isinstance(src.region, TernaryRegion):
                raise FieldError(f"source {i} of an instruction with three sources is a g register")
            word |= (_put(f.reg_nr, src.nr) | _put(f.subreg_nr, src.subnr) | _put(f.abs, src.abs)
                     | _put(f.negate, src.negate) | _put(f.replicate, src.region.replicate)
                     | _put(f.swizzle, src.region.swizzle))
            kinds.append(src.type)
        return word | self._ternary_type_bits(dst.type, kinds)

    def _ternary_type_bits(self, dst: RegType, sources: Sequence[RegType]) -> int:
        """The types of an instruction with three sources: one for all sources, but that the last two may be HF."""
        names = self._names
        word = 0
        for i in (1, 2):
            half = names.get(f"ternary_src{i}_half")
            if half is not None and sources[i] is RegType.HF and sources[0] is not RegType.HF:
                word |= _put(half, 1)
            elif sources[i] is not sources[0]:
                raise FieldError(f"source {i} has type {sources[i].name}, and source 0 {sources[0].name}")
        for which, kind in (("dst", dst), ("src", sources[0])):
            f = names.get(f"ternary_{which}_type")
            code = self._ternary_type_codes.get(kind)
            if f is None and kind is RegType.F:
                continue
            if f is None or code is None:
                raise FieldError(f"no operand of {self.encoding.name}'s three-source opcodes has type {kind.name}")
            word |= _put(f, code)
        return word

    def _pack_split_send(self, inst: Instruction) -> int:
        names = self._names
        dst, src0, src1, desc, ex_desc = inst.dst, inst.src0, inst.src1, inst.desc, inst.ex_desc
        if dst is None or src0 is None or isinstance(src0, Immediate) or not isinstance(src1, DirectOperand) \
                or desc is None or ex_desc is None:
            raise FieldError("a split send has a destination, two payload registers and two descriptors")
        values: dict[str, int] = {"dst_file": dst.file, "src1_file": src1.file, "src1_reg_nr": src1.nr,
                                  "end_of_thread": inst.end_of_thread}
        for name, operand in (("dst", dst), ("src0", src0)):
            if isinstance(operand, IndirectOperand):
                values |= {f"{name}_addr_mode": 1, f"{name}_addr_subreg": operand.addr_subreg,
                           f"{name}_addr_imm16": operand.addr_imm}
            else:
                values |= {f"{name}_reg_nr": operand.nr, f"{name}_subreg16": operand.subnr}
        if isinstance(desc, Immediate):
            values["descriptor"] = desc.bits
        else:
            values["desc_in_register"] = 1
        if isinstance(ex_desc, Immediate):
            low = names["split_ex_desc_mlen"]
            mlen = ex_desc.bits & low.mask << low.shift
            values |= {"ex_desc_mlen": mlen, "ex_desc_function": ex_desc.bits ^ mlen}
        else:
            values |= {"ex_desc_in_register": 1, "ex_desc_subreg": _address_dword(ex_desc)}
        word = 0
        for name, value in values.items():
            word |= _put(names[f"split_{name}"], int(value))
        return word

    # --- operands that text does not show ------------------------------------------------------------------------

    def _hidden_bits(self, inst: Instruction, info: OpcodeInfo) -> int:
        """The operand bits that assembly text does not show."""
        shape = info.shape
        if shape is Shape.NONE:  # the compaction tables always fill some operand bits of a nop
            return self._compactor.expand(inst.opcode) if inst.compacted else 0
        if shape is Shape.UNARY:
            src0 = inst.src0
            if isinstance(src0, Immediate) and inst.implied is Implied.MESA and src0.type not in IMM64_TYPES \
                    and not (inst.compacted and self.encoding.compaction_clears_src1_type):
                return _put(self._src1.type, self._imm_type_codes[src0.type])
            return 0
        hidden = self.encoding.hidden[inst.implied].get(info.name)
        if hidden is None:
            return 0
        if hidden[0] is Hidden.SOURCE or hidden[1] is Hidden.DESTINATION:
            return self._find_hidden_bits(inst, info, hidden)
        key = (info.number, inst.implied, inst.align16, inst.exec_size == 0)
        bits = self._hidden.get(key)
        if bits is None:
            bits = self._hidden[key] = self._find_hidden_bits(inst, info, hidden)
        return bits

    def _find_hidden_bits(self, inst: Instruction, info: OpcodeInfo, hidden: HiddenOperands) -> int:
        dst, src0_is, src1_is = hidden
        word = 0
        if dst is Hidden.STRIDE_1:
            word |= _put(self._dst.hstride, 1)
        elif dst is Hidden.SOURCE:
            src = inst.src0
            if isinstance(src, DirectOperand):
                word |= self._pack_dst(DirectOperand(src.file, src.type, src.nr, src.subnr, DestRegion(1)),
                                       inst.align16)
        elif dst in (Hidden.IMMEDIATE_W, Hidden.IMMEDIATE_D):
            word |= _put(self._dst.file, RegFile.IMM) | self._put_type(self._dst.type, _HIDDEN_TYPES[dst])
        elif dst is not None:
            word |= self._pack_dst(DirectOperand(RegFile.ARF, _HIDDEN_TYPES[dst], _HIDDEN_REGISTERS[dst], 0,
                                                 DestRegion(1)), inst.align16)
        if src0_is is not None:
            word |= self._hidden_source(inst, src0_is, self._src0, info)
        if src1_is is not None:
            word |= self._hidden_source(inst, src1_is, self._src1, info)
        return word

    def _hidden_source(self, inst: Instruction, which: Hidden, f: _SourceFields, info: OpcodeInfo) -> int:
        if which is Hidden.STRIDE_1:
            return _put(f.hstride, 1)
        if which is Hidden.DESTINATION:
            return self._pack_src(_as_source(inst.dst), f, inst.align16, info) if isinstance(
                inst.dst, DirectOperand) else 0
        kind = _HIDDEN_TYPES[which]
        if which in (Hidden.IMMEDIATE_W, Hidden.IMMEDIATE_D):
            word = _put(f.file, RegFile.IMM) | self._put_type(f.type, kind)
            # source 1 gets the type of an immediate source 0, where the upper jump count does not take its place
            if f is self._src0 and info.shape is Shape.BRANCH_JIP:
                word |= self._put_type(self._src1.type, kind)
            return word
        register = DirectOperand(RegFile.ARF, kind, _HIDDEN_REGISTERS[which], 0, _hidden_region(inst, which))
        return self._pack_src(register, f, inst.align16, info)


_HIDDEN_TYPES = {Hidden.NULL_F: RegType.F, Hidden.NULL_D: RegType.D, Hidden.SCALAR_NULL_D: RegType.D,
                 Hidden.IP: RegType.UD, Hidden.IP_IGT: RegType.UD, Hidden.IMMEDIATE_W: RegType.W,
                 Hidden.IMMEDIATE_D: RegType.D}
_HIDDEN_REGISTERS = {Hidden.NULL_F: Arf.NULL << 4, Hidden.NULL_D: Arf.NULL << 4, Hidden.SCALAR_NULL_D: Arf.NULL << 4,
                     Hidden.IP: Arf.IP << 4, Hidden.IP_IGT: Arf.IP << 4}


def _hidden_region(inst: Instruction, which: Hidden) -> Region:
    if which is Hidden.SCALAR_NULL_D:
        return Align16Region(0) if inst.align16 else Align1Region(0, 0, 0)
    if inst.align16:
        return Align16Region(3)
    if which is Hidden.IP:  # Mesa's ip register is <4,1,0>, which its emitter makes scalar for one channel
        return Align1Region(0 if inst.exec_size == 0 else 3, 0, 0)
    return Align1Region(0, 0, 1) if which is Hidden.IP_IGT else Align1Region(4, 3, 1)


def _as_source(dst: DirectOperand) -> DirectOperand:
    """The register of a destination as a scalar, whose swizzle has the channels of the write mask."""
    mask = dst.region.writemask if isinstance(dst.region, DestRegion) else None
    if mask is None:
        return replace(dst, region=Align1Region(0, 0, 0))
    channel = next((c for c in range(4) if mask >> c & 1), 0)
    swizzle = 0
    for c in range(4):
        channel = c if mask >> c & 1 else channel
        swizzle |= channel << 2 * c
    return replace(dst, region=Align16Region(0, swizzle))


def _is_reserved(operand: Operand) -> bool:
    """Whether an operand's type is reserved (`in` would take immediates for registers: both are integers)."""
    return operand.type is RegType.RESERVED or operand.type is ImmType.RESERVED


def _address_register(dword: int) -> DirectOperand:
    """The part of a0 that holds a descriptor."""
    return DirectOperand(RegFile.ARF, RegType.UD, Arf.A << 4, 4 * dword, Align1Region(0, 0, 0))


def _address_dword(operand: Operand) -> int:
    if not isinstance(operand, DirectOperand) or operand.file is not RegFile.ARF or operand.nr >> 4 != Arf.A:
        raise FieldError("the extended descriptor of a split send is an immediate or in a0")
    return operand.subnr // 4


def _put(f: InstField, value: int) -> int:
    """The value in the bits of its field.  Raises FieldError if it does not fit."""
    raw = value >> f.shift
    low, high = (-(f.mask + 1 >> 1), f.mask >> 1) if f.signed else (0, f.mask)
    if not low <= raw <= high or raw << f.shift != value:
        raise FieldError(f"{f.name}: {value} does not fit bits {f.hi % 32}:{f.lo % 32} of dword {f.lo // 32}")
    return f.put(value) if f.more else (raw & f.mask) << f.lo


@cache
def _codec_of(encoding: Encoding) -> Codec:
    return Codec(encoding)
