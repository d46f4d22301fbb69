"""Prints an instruction in Mesa's syntax, so that `gen4emu.isa.assembler` gives the same bits.

Bits without a syntax are printed as `dwN^0x...` among the options.  Instructions with reserved types, strides or
opcodes have no text; the caller prints their dwords.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace

from gen4emu.core_enums import GRF_COUNT
from gen4emu.isa import codec
from gen4emu.isa.encodings import encoding_of
from gen4emu.isa.fields import Encoding, Implied
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
    is_float,
    null_compared,
    subregister_elements,
)
from gen4emu.isa.message_text import describe, sfid_name, split_words
from gen4emu.isa.opcodes import Flag, Opcode, OpcodeInfo, Shape
from gen4emu.isa.registers import (
    CHANNELS,
    EXEC_SIZES,
    HSTRIDES,
    MRF_COMPR4,
    SWIZZLE_XYZW,
    VSTRIDE_INDEXED,
    VSTRIDES,
    WIDTHS,
    WRITEMASK_XYZW,
    Align16Predicate,
    Arf,
    Compression,
    CondMod,
    ImmType,
    Predicate,
    RegFile,
    RegType,
    ThreadCtrl,
)

# columns of the operands, as in Mesa's disassembler
_COLUMNS = (16, 32, 48, 64)
_FLOAT, _NO_FLAG_WRITE, _LOGIC = (int(f) for f in (Flag.FLOAT, Flag.NO_FLAG_WRITE, Flag.LOGIC))
_JIP_BRANCHES = (Shape.BRANCH_JIP, Shape.BRANCH_JIP_UIP, Shape.BRANCH_COMPARE)
_MODIFIED = (Shape.UNARY, Shape.BINARY, Shape.TERNARY, Shape.MATH)  # may have .sat


class _NoWords(Exception):
    """The syntax cannot express this."""


def statement(inst: Instruction, targets: Sequence[str | None] = ()) -> str | None:
    """One statement with its semicolon, or None.

    `targets` are the labels of a branch in the order of `Instruction.branch_targets`; without, counts are printed.
    """
    info = inst.info
    if info is None or inst.compact_residue:
        return None
    try:
        return _statement(inst, info, targets)
    except _NoWords:
        return None


def raw_statement(data: bytes) -> str:
    """Bytes as data: dwords, or single bytes of a truncated instruction."""
    if len(data) % 4:
        return ".byte " + " ".join(f"0x{b:02x}" for b in data) + ";"
    return ".dword " + " ".join(f"0x{d:08x}" for (d,) in struct.iter_unpack("<I", data)) + ";"


def _statement(inst: Instruction, info: OpcodeInfo, targets: Sequence[str | None]) -> str:
    if info.shape is Shape.NONE:
        if inst != Instruction(inst.opcode, inst.gen, compacted=inst.compacted):
            raise _NoWords
        return f"{info.name} {{ compacted }};" if inst.compacted else f"{info.name};"
    if info.flag_bits & _FLOAT and not all(s is None or is_float(s) for s in (inst.src0, inst.src1, inst.src2)):
        raise _NoWords
    encoding = encoding_of(inst.gen)
    fields = encoding.by_name
    hidden = inst.residue
    head, unused = _head(inst, info)
    parts = [head]
    if info.shape is Shape.SEND:
        if encoding.sends_from_mrf:
            parts[0] += f" {inst.base_mrf}"
        words, shown = _send(inst)
        parts += words
        hidden &= ~shown
    elif info.shape is Shape.SPLIT_SEND:
        parts += _split_send(inst)
    elif info.shape is Shape.TERNARY:
        parts += [_dst(inst.dst, inst), *(_src(src, inst) for src in (inst.src0, inst.src1, inst.src2))]
    elif info.shape is Shape.MATH:
        parts += [_dst(inst.dst, inst), _src(inst.src0, inst), _src(inst.src1, inst)]
    elif info.shape in (Shape.UNARY, Shape.BINARY):
        parts += [_dst(inst.dst, inst), _src(inst.src0, inst)]
        if info.shape is Shape.BINARY:
            parts.append(_src(inst.src1, inst))
    elif info.shape is Shape.WAIT:
        if not isinstance(inst.src0, DirectOperand) or inst.src0.file is not RegFile.ARF or inst.src0.nr >> 4 != Arf.N:
            raise _NoWords
        parts.append(_src(inst.src0, inst))
    elif info.shape is Shape.WAIT_DESTINATION:
        if not isinstance(inst.dst, DirectOperand) or inst.dst.file is not RegFile.ARF or inst.dst.nr >> 4 != Arf.N:
            raise _NoWords
        parts.append(_dst(inst.dst, inst))
    elif info.shape is Shape.JUMP:
        parts.append(_jump_index(inst, next(iter(targets), None)))
    elif info.shape in _JIP_BRANCHES:
        counts = (inst.jip, inst.uip) if info.shape is Shape.BRANCH_JIP_UIP else (inst.jip,)
        names = [*targets, None, None]
        parts += [f"{which}: {count if name is None else name}"
                  for which, count, name in zip(("JIP", "UIP"), counts, names, strict=False)]
        if info.shape is Shape.BRANCH_COMPARE and not _compares_nothing(inst):
            parts += [_src(inst.src0, inst), _src(inst.src1, inst)]
    elif info.shape is Shape.BRANCH:
        target = next(iter(targets), None)
        if info.number != Opcode.ENDIF:
            parts.append(f"Jump: {inst.jump if target is None else target}")
        elif inst.jump:
            unused |= fields["jump_count"].put(inst.jump)
        if info.flags & Flag.POPS:
            parts.append(f"Pop: {inst.pop}")
        elif inst.pop:
            unused |= fields["pop_count"].put(inst.pop)
    options = _options if encoding.sends_from_mrf else _later_options
    return _columns(parts, options(inst, info, hidden ^ unused))


def _columns(parts: list[str], options: str) -> str:
    line = ""
    for i, part in enumerate(parts):
        if i:
            line = line.ljust(_COLUMNS[min(i, len(_COLUMNS)) - 1] - 1) + " "
        line += part
    return line.ljust(_COLUMNS[-1] - 1) + f" {{ {options} }};"


def _head(inst: Instruction, info: OpcodeInfo) -> tuple[str, int]:
    """Predicate, mnemonic, modifiers and execution size; and bits of their fields that are set without a meaning."""
    unused = 0
    fields = encoding_of(inst.gen).by_name
    text = ""
    flag = f"f{inst.flag_reg}.{inst.flag_subreg}"
    if inst.predicate:
        names: type[Predicate] | type[Align16Predicate] = Align16Predicate if inst.align16 else Predicate
        if inst.predicate not in names._value2member_map_:
            raise _NoWords
        name = names(inst.predicate).name.lower()
        text = f"({'-' if inst.predicate_inverse else '+'}{flag}{'' if name == 'normal' else '.' + name}) "
    elif inst.predicate_inverse:
        unused |= fields["predicate_inverse"].put(1)
    text += info.name
    modifiers = info.shape in _MODIFIED
    if inst.saturate:
        if modifiers:
            text += ".sat"
        else:
            unused |= fields["saturate"].put(1)
    writes_flag = False
    if info.shape is Shape.MATH:
        function = encoding_of(inst.gen).math_functions.get(inst.math_function)
        if function is None:
            raise _NoWords
        text += f" {function}"
    if inst.cond_modifier:
        if not modifiers and info.shape is not Shape.BRANCH_COMPARE:
            unused |= fields["cond_modifier"].put(inst.cond_modifier)
        elif inst.cond_modifier not in CondMod._value2member_map_:
            raise _NoWords
        else:
            writes_flag = not info.flag_bits & _NO_FLAG_WRITE
            text += f".{CondMod(inst.cond_modifier).name.lower()}{f'.{flag}' if writes_flag else ''}"
    if not inst.predicate and not writes_flag:
        prefix = "ternary_" if info.shape is Shape.TERNARY and "ternary_flag_subreg" in fields else ""
        unused |= fields[f"{prefix}flag_subreg"].put(inst.flag_subreg ^ inst.unused_flag_subreg)
        if inst.flag_reg:
            unused |= fields[f"{prefix}flag_reg"].put(inst.flag_reg)
    size = EXEC_SIZES.get(inst.exec_size)
    if size is None:
        raise _NoWords
    return f"{text}({size})", unused


def _later_options(inst: Instruction, info: OpcodeInfo, hidden: int) -> str:
    """The options since Gen6, in Mesa's order."""
    words = ["align16" if inst.align16 else "align1"]
    if inst.nomask:
        words.append("WE_all")
    if inst.no_dd_clear or inst.no_dd_check:
        words.append(",".join(word for word, is_set in (("NoDDClr", inst.no_dd_clear), ("NoDDChk", inst.no_dd_check))
                              if is_set))
    group = _channel_group(inst)
    if group:
        words.append(group)
    if inst.compacted:
        words.append("compacted")
    if inst.thread_control:
        words += [c.name.lower() for c in (ThreadCtrl.ATOMIC, ThreadCtrl.SWITCH) if inst.thread_control & c]
    if inst.breakpoint:
        words.append("breakpoint")
    if inst.acc_write:
        words.append("BranchCtrl" if info.flags & Flag.BRANCH_CONTROL else "AccWrEnable")
    if inst.implied is Implied.IGT:
        words.append("igt")
    if inst.eot:
        words.append("EOT")
    return " ".join([*words, *_hidden_words(hidden)])


def _channel_group(inst: Instruction) -> str:
    """The channels of an instruction among those of its thread: a nibble, a quarter or a half, counted from 1."""
    channels = inst.channels
    if channels < 8 or inst.nibble:
        return f"{2 * inst.quarter + inst.nibble + 1}N"
    if channels == 16 and not inst.quarter & 1:
        return f"{inst.quarter // 2 + 1}H"
    return "" if channels == 32 and not inst.quarter else f"{inst.quarter + 1}Q"


def _options(inst: Instruction, _: OpcodeInfo, hidden: int) -> str:
    """The options on Gen4."""
    words = ["align16" if inst.align16 else "align1"]
    if inst.nomask:
        words.append("nomask")
    if inst.no_dd_clear:
        words.append("NoDDClr")
    if inst.no_dd_check:
        words.append("NoDDChk")
    if inst.compression is Compression.RESERVED:
        words += ["sechalf", "compr"]
    elif inst.compression:
        words.append("compr4" if _is_compr4(inst) else inst.compression.name.lower())
    if inst.thread_control:
        words += [c.name.lower() for c in (ThreadCtrl.ATOMIC, ThreadCtrl.SWITCH) if inst.thread_control & c]
    if inst.breakpoint:
        words.append("breakpoint")
    if inst.mask_control_ex:
        words.append("maskctrlex")
    if inst.implied is Implied.IGT:
        words.append("igt")
    if inst.compacted:
        words.append("compacted")
    if inst.eot:
        words.append("EOT")
    return " ".join([*words, *_hidden_words(hidden)])


def _hidden_words(hidden: int) -> list[str]:
    return [f"dw{i}^0x{hidden >> 32 * i & 0xFFFFFFFF:x}" for i in range(4) if hidden >> 32 * i & 0xFFFFFFFF]


# --- operands --------------------------------------------------------------------------------------------------------


def _is_compr4(inst: Instruction) -> bool:
    return (inst.compression is Compression.COMPR and isinstance(inst.dst, DirectOperand)
            and inst.dst.file is RegFile.MRF and bool(inst.dst.nr & MRF_COMPR4))


def _type(kind: RegType) -> str:
    name = _TYPE_NAMES.get(kind)
    if name is None:
        raise _NoWords
    return name


_TYPE_NAMES: dict[RegType, str] = {kind: kind.name for kind in RegType if kind is not RegType.RESERVED}


def _register(operand: RegisterOperand, encoding: Encoding, compr4: bool = False) -> str:
    """Register number and subregister, or the address of an indirect operand."""
    if isinstance(operand, IndirectOperand):
        file = _INDIRECT_FILES.get(operand.file)
        if file is None or (operand.file is RegFile.MRF and not encoding.mrf_count):
            raise _NoWords
        index = f".{operand.addr_subreg}" if operand.addr_subreg else ""
        offset = f" {operand.addr_imm}" if operand.addr_imm else ""
        return f"{file}[a0{index}{offset}]"
    name = _register_name(operand, encoding, compr4)
    sub = subregister_elements(operand)
    if sub is None:
        raise _NoWords
    return f"{name}.{sub}" if sub else name


_INDIRECT_FILES = {RegFile.GRF: "g", RegFile.MRF: "m"}


def _register_name(operand: DirectOperand, encoding: Encoding, compr4: bool) -> str:
    nr = operand.nr & ~MRF_COMPR4 if compr4 else operand.nr
    if operand.file is RegFile.GRF and nr < GRF_COUNT:
        return f"g{nr}"
    if operand.file is RegFile.MRF and nr < encoding.mrf_count:
        return f"m{nr}"
    if operand.file is RegFile.ARF and nr >> 4 in encoding.architecture_registers:
        kind, index = Arf(nr >> 4), nr & 15
        if kind not in (Arf.NULL, Arf.IP):
            return f"{kind.name.lower()}{index}"
        if not index:
            return kind.name.lower()
    raise _NoWords


_PLAIN_IP_DST = DirectOperand(RegFile.ARF, RegType.UD, Arf.IP << 4, 0, DestRegion(1))
_PLAIN_IP_SRC = DirectOperand(RegFile.ARF, RegType.UD, Arf.IP << 4, 0, Align1Region(0, 0, 0))


def _dst(dst: RegisterOperand | None, inst: Instruction) -> str:
    if dst is None or not isinstance(dst.region, DestRegion):
        raise _NoWords
    encoding = encoding_of(inst.gen)
    if inst.align16 and dst.region.hstride != 1 and not encoding.sends_from_mrf:  # text has no other one
        raise _NoWords
    if dst.file is RegFile.ARF and dst == _PLAIN_IP_DST:
        return "ip"
    mask = dst.region.writemask
    channels = "" if mask is None or mask == WRITEMASK_XYZW else "." + "".join(
        c for i, c in enumerate(CHANNELS) if mask >> i & 1)
    name = _register(dst, encoding, _is_compr4(inst))
    return f"{name}<{HSTRIDES[dst.region.hstride]}>{channels}{_type(dst.type)}"


def _src(src: Operand | None, inst: Instruction) -> str:
    if src is None:
        raise _NoWords
    if isinstance(src, Immediate):
        return immediate(src)
    if src.file is RegFile.ARF and src == _PLAIN_IP_SRC:
        return "ip"
    encoding = encoding_of(inst.gen)
    text = (_negation(inst, encoding) if src.negate else "") + ("(abs)" if src.abs else "") + _register(src, encoding)
    region = src.region
    if isinstance(region, TernaryRegion):
        return _ternary_source(src, region, text)
    if isinstance(region, Align16Region):
        if region.vstride not in VSTRIDES:
            raise _NoWords
        return f"{text}<{VSTRIDES[region.vstride]}>{_swizzle(region.swizzle)}{_type(src.type)}"
    if not isinstance(region, Align1Region) or region.width not in WIDTHS:
        raise _NoWords
    vstride = "VxH" if region.vstride == VSTRIDE_INDEXED else VSTRIDES.get(region.vstride)
    if vstride is None:
        raise _NoWords
    return f"{text}<{vstride},{WIDTHS[region.width]},{HSTRIDES[region.hstride]}>{_type(src.type)}"


def _negation(inst: Instruction, encoding: Encoding) -> str:
    info = inst.info
    return "~" if encoding.negation_complements and info is not None and info.flag_bits & _LOGIC else "-"


def _ternary_source(src: RegisterOperand, region: TernaryRegion, text: str) -> str:
    """A source of an instruction with three: an element with its subregister, or 4-tuples with their swizzle."""
    if not region.replicate:
        return f"{text}<4,4,1>{_swizzle(region.swizzle)}{_type(src.type)}"
    if isinstance(src, DirectOperand) and not src.subnr:
        text += ".0"
    # the swizzle of a replicated element has no effect: it is shown only if it is not 0 (xxxx)
    letters = "." + "".join(CHANNELS[region.swizzle >> 2 * i & 3] for i in range(4)) if region.swizzle else ""
    return f"{text}<0,1,0>{letters}{_type(src.type)}"


def _swizzle(swizzle: int) -> str:
    if swizzle == SWIZZLE_XYZW:
        return ""
    letters = "".join(CHANNELS[swizzle >> 2 * i & 3] for i in range(4))
    return "." + (letters[0] if letters == letters[0] * 4 else letters)


def immediate(imm: Immediate) -> str:
    """An immediate with its type.  A 16-bit one is in both halves of the dword, unless it has more digits."""
    bits, kind = imm.bits, imm.type
    if kind is ImmType.RESERVED:
        raise _NoWords
    if kind in (ImmType.UQ, ImmType.Q):
        return f"0x{bits:016x}{kind.name}"
    if kind is ImmType.DF:
        return f"0x{bits:016x}DF /* {_double(bits):g}DF */"
    if kind is ImmType.HF and bits >> 16 == bits & 0xFFFF:
        return f"0x{bits & 0xFFFF:04x}HF /* {_half(bits & 0xFFFF):g}HF */"
    if kind is ImmType.F and bits >> 32:  # of dim
        return f"0x{bits:x}F /* {_double(bits):g}F */"
    if bits >> 32:
        raise _NoWords
    if kind is ImmType.D:
        return f"{bits - (1 << 32) if bits >> 31 else bits}D"
    if kind is ImmType.F:
        return f"0x{bits:x}F /* {_float(bits):g}F */"
    if kind is ImmType.VF:
        values = ", ".join(f"{restricted_float(bits >> 8 * i & 0xFF):g}F" for i in range(4))
        return f"0x{bits:08x}VF /* [{values}]VF */"
    if kind in (ImmType.UW, ImmType.W) and bits >> 16 == bits & 0xFFFF:
        low = bits & 0xFFFF
        if kind is ImmType.UW:
            return f"0x{low:04x}UW"
        return f"{low - (1 << 16) if low >> 15 else low}W"
    return f"0x{bits:08x}{kind.name}"


def _double(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _half(bits: int) -> float:
    return float(struct.unpack("<e", struct.pack("<H", bits))[0])


def _float(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def restricted_float(byte: int) -> float:
    """The value of one byte of a VF immediate: s eee ffff, exponent eee + 124 (docs/decisions.md 4)."""
    sign = -1.0 if byte & 0x80 else 1.0
    if not byte & 0x7F:
        return sign * 0.0
    return sign * (1 + (byte & 15) / 16) * 2.0 ** ((byte >> 4 & 7) - 3)


def _jump_index(inst: Instruction, target: str | None) -> str:
    src = inst.src1
    if target is not None and isinstance(src, Immediate) and src.type in (ImmType.D, ImmType.UD):
        return f"{target}:{src.type.name}"
    return _src(src, inst)


def _compares_nothing(inst: Instruction) -> bool:
    """Whether the sources of a Gen6 `if` are those of an `if` without a comparison."""
    return inst.src0 == inst.src1 == null_compared(inst.align16)


def _send(inst: Instruction) -> tuple[list[str], int]:
    """The operands of a send, and the bits of residue that they show."""
    if isinstance(inst.src0, Immediate) or inst.src1 is None:
        raise _NoWords
    parts = [_dst(inst.dst, inst), _src(inst.src0, inst)]
    if encoding_of(inst.gen).sends_from_mrf:
        if not isinstance(inst.src1, Immediate):
            return [*parts, _src(inst.src1, inst)], 0
    elif not isinstance(inst.src1, Immediate):  # Mesa prints the dword that holds the register
        word = codec.encode_word(replace(inst, compacted=False, compact_residue=0))
        name = sfid_name(inst.sfid, inst.gen)
        return [*parts, _src(inst.src1, inst), f"0x{word >> 96:08x} {name} MsgDesc: indirect"], 0xFFFFFFFF << 96
    if inst.src1.type not in (ImmType.UD, ImmType.D):
        raise _NoWords
    descriptor = inst.descriptor
    assert descriptor is not None
    bits = descriptor.bits | inst.end_of_thread << 31
    text = f"0x{bits:08x}{'' if inst.src1.type is ImmType.UD else 'D'}"
    words = describe(descriptor.bits, inst.gen, descriptor.sfid)
    return [*parts, f"{text} {sfid_name(descriptor.sfid, inst.gen)} MsgDesc: {words}"], 0


def _split_send(inst: Instruction) -> list[str]:
    """The operands of a split send: whole registers, and two descriptors."""
    parts = [_whole_registers(operand, inst) for operand in (inst.dst, inst.src0, inst.src1)]
    desc, ex_desc = inst.desc, inst.ex_desc
    words = "indirect"
    if isinstance(desc, Immediate):
        words, lengths = split_words(describe(desc.bits, inst.gen, inst.sfid))
        if inst.second_length is not None:
            mlen, rlen = lengths.split(" rlen ")
            lengths = f"{mlen} ex_mlen {inst.second_length} rlen {rlen}"
        words = f"{words} {lengths}".lstrip()
    elif inst.second_length is not None:
        words += f" ex_mlen {inst.second_length}"
    parts += [_descriptor(desc), f"{_descriptor(ex_desc)} {sfid_name(inst.sfid, inst.gen)} MsgDesc: {words}"]
    return parts


def _whole_registers(operand: Operand | None, inst: Instruction) -> str:
    if operand is None or isinstance(operand, Immediate):
        raise _NoWords
    if isinstance(operand, IndirectOperand):
        if operand.file is not RegFile.GRF:
            raise _NoWords
        return f"{_register(operand, encoding_of(inst.gen))}UD"
    if operand.file is RegFile.ARF and operand.nr >> 4 != Arf.NULL:
        raise _NoWords
    return f"{_register_name(operand, encoding_of(inst.gen), False)}{'.1' if operand.subnr else ''}UD"


def _descriptor(operand: Operand | None) -> str:
    """A descriptor of a split send: 32 bits, or a part of a0."""
    if isinstance(operand, Immediate):
        return f"0x{operand.bits:08x}"
    if not isinstance(operand, DirectOperand):
        raise _NoWords
    return f"a0{f'.{operand.subnr // 4}' if operand.subnr else ''}<0>UD"
