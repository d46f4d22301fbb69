"""Generates isa.h, the C header of the instruction set: opcodes, field accessors, compaction, code tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum

from gen4emu.isa.fields import CompactField, CompactForm, Encoding, InstField
from gen4emu.isa.gen4 import GEN4
from gen4emu.isa.opcodes import GEN4_FLAGS, OPCODES, Flag, LaterOpcode, Opcode, Shape, later_rows
from gen4emu.isa.registers import (
    CONTROL_BITS,
    EXEC_SIZES,
    HSTRIDES,
    MRF_COMPR4,
    REGISTER_BYTES,
    TYPE_BYTES,
    VSTRIDE_INDEXED,
    VSTRIDES,
    WIDTHS,
    Align16Predicate,
    Arf,
    Compression,
    CondMod,
    ImmType,
    Predicate,
    RegFile,
    RegType,
    ThreadException,
)

RESERVED = 0xFF  # in a code table: an undefined code

_TOP = """/* Generated from gen4emu/isa: do not edit. */
#ifndef G4_ISA_H
#define G4_ISA_H

#include <stdint.h>
"""

def _enums(encoding: Encoding) -> tuple[tuple[str, Iterable[IntEnum]], ...]:
    """The enumerations, with the members that the encoding has.

    Those of Gen4 are also the ones of the core's decoded instructions, and have members of later parts besides.
    """
    shapes = {o.shape for o in OPCODES if o.gens & encoding.gens}
    types = {*encoding.register_types.values(), RegType.RESERVED}
    registers = set(encoding.architecture_registers)
    if encoding is GEN4:
        shapes |= {row.shape for _, row in later_rows()}
        types |= {RegType.DF, RegType.UQ, RegType.Q, RegType.HF}
        registers |= {Arf.TDR, Arf.TM}
    immediates = {*encoding.immediate_types.values()}
    return (
        ("opcode", _opcodes(encoding)), ("shape", (s for s in Shape if s in shapes)), ("file", RegFile),
        ("type", (t for t in RegType if t in types)), ("imm", (t for t in ImmType if t in immediates)),
        ("arf", (a for a in Arf if a in registers)),
        ("exception", ThreadException if encoding is GEN4 else ()),
        ("pred", Predicate), ("pred16", Align16Predicate), ("cond", CondMod), ("compression", Compression),
    )


def _opcodes(encoding: Encoding) -> list[IntEnum]:
    """The core's opcodes: those of Gen4, and in the header of Gen4 those of later parts; by number."""
    return sorted([*Opcode, *LaterOpcode], key=int) if encoding is GEN4 else []


_CODES: tuple[tuple[str, Mapping[int, int], int, str], ...] = (
    ("hstride_elements", HSTRIDES, 4, "by the code of a horizontal stride"),
    ("width_elements", WIDTHS, 8, "by the code of a region's width"),
    ("vstride_elements", VSTRIDES, 16, "by the code of a vertical stride; G4_VSTRIDE_INDEXED stands apart"),
    ("exec_size_channels", EXEC_SIZES, 8, "by the code of an execution size"),
)


def generate(encoding: Encoding = GEN4, prefix: str = "g4") -> str:
    """The whole header, for one encoding; `prefix` starts all names in it."""
    parts = [_TOP, *(_enum(name, members) for name, members in _enums(encoding) if members), _defines(encoding),
             _opcode_table(encoding), *(_code_table(*row) for row in _CODES), *_type_tables(encoding),
             *(_accessor(f) for f in encoding.fields if not f.reserved), *_compaction(encoding), "#endif\n"]
    text = "\n".join(parts)
    return text.replace("G4_", f"{prefix.upper()}_").replace("g4_", f"{prefix}_")


def _enum(name: str, members: Iterable[IntEnum]) -> str:
    """An enumeration; none if it has no members."""
    lines = [f"    G4_{name.upper()}_{member.name} = {member.value}," for member in members]
    return "\n".join([f"enum g4_{name} {{", *lines, "};\n"])


def _flags(encoding: Encoding) -> Flag:
    """The flags of opcodes that mean something."""
    return GEN4_FLAGS if encoding is GEN4 else ~Flag(0)


def _defines(encoding: Encoding) -> str:
    lines = [f"#define G4_OPF_{f.name} 0x{f.value:x}u" for f in Flag if f & _flags(encoding)]
    lines += [f"#define G4_CODE_RESERVED 0x{RESERVED:x}u", f"#define G4_VSTRIDE_INDEXED {VSTRIDE_INDEXED}u",
              f"#define G4_REGISTER_BYTES {REGISTER_BYTES}u", f"#define G4_MRF_COMPR4 0x{MRF_COMPR4:x}u"]
    if encoding is GEN4:
        lines += [f"#define G4_CR0_{name} 0x{value:x}u" for name, value in CONTROL_BITS.items()]
    return "\n".join(lines) + "\n"


def _opcode_table(encoding: Encoding) -> str:
    bits = next(f.width for f in encoding.fields if f.name == "opcode")
    lines = ["/* By opcode.  `gens` has the bits of G4_GEN_*; 0: no part of these generations has the opcode. */",
             "struct g4_opcode_info {", "    uint16_t flags; /* G4_OPF_* */",
             f"    uint{8 if encoding.gens < 256 else 16}_t gens;", "    uint8_t shape;",
             "    uint8_t sources;", "    const char *name;", "};", "",
             f"static const struct g4_opcode_info g4_opcode_info[{1 << bits}] = {{"]
    lines += [f"    [0x{o.number:02x}] = {{0x{o.flags & _flags(encoding):x}, 0x{o.gens & encoding.gens:x}, "
              f"G4_SHAPE_{o.shape.name}, {o.sources}, \"{o.name}\"}},"
              for o in OPCODES if o.gens & encoding.gens]
    if encoding is GEN4:
        lines += [f"    [0x{int(opcode):02x}] = {{0x{o.flags & _flags(encoding):x}, 0x0, "
                  f"G4_SHAPE_{o.shape.name}, {o.sources}, \"{o.name}\"}},"
                  for opcode, o in later_rows()]
    return "\n".join([*lines, "};\n"])


def _code_table(name: str, codes: Mapping[int, int], size: int, doc: str) -> str:
    values = [codes.get(code, RESERVED) for code in range(size)]
    return _array("uint8_t", f"g4_{name}", (str(v) for v in values), size, f"{name.replace('_', ' ')}, {doc}")


def _type_tables(encoding: Encoding) -> Iterator[str]:
    """Sizes of types, and types by code; on Gen4 a type and its code are the same number."""
    if encoding is GEN4:
        yield _code_table("type_bytes", {int(t): size for t, size in TYPE_BYTES.items()}, len(RegType), "by type")
        return
    yield _code_table("type_bytes", {int(t): size for t, size in TYPE_BYTES.items()}, len(RegType), "by type")
    codes = 1 << encoding.by_name["dst_type"].width
    yield _code_table("register_types", encoding.register_types, codes, "enum g4_type by the code of a register's type")
    yield _code_table("immediate_types", encoding.immediate_types, codes, "enum g4_imm by the code of an immediate's")
    if encoding.ternary_types:
        yield _code_table("ternary_types", encoding.ternary_types, 8, "enum g4_type by the code of three sources")


def _compaction(encoding: Encoding) -> Iterator[str]:
    """The tables of compacted words and the function that expands them."""
    forms = {"": encoding.compact_form}
    if encoding.ternary_compact_form is not None:
        forms["ternary_"] = encoding.ternary_compact_form
    for prefix, form in forms.items():
        for name, table in form.tables.items():
            kind, digits = ("uint32_t", 5) if max(table) < 1 << 32 else ("uint64_t", 13)
            yield _array(kind, f"g4_compact_{prefix}{name}", (f"0x{v:0{digits}x}" for v in table), len(table), "")
    if len(forms) > 1:
        yield _expand(encoding, forms["ternary_"], "ternary_")
    yield _expand(encoding, forms[""], "", ternary=len(forms) > 1)


def _array(kind: str, name: str, values: Iterable[str], size: int, doc: str) -> str:
    items = list(values)
    rows = ["    " + ", ".join(items[i:i + 8]) + "," for i in range(0, len(items), 8)]
    comment = [f"/* {doc[0].upper()}{doc[1:]}. */"] if doc else []
    return "\n".join([*comment, f"static const {kind} {name}[{size}] = {{", *rows, "};\n"])


def _accessor(f: InstField) -> str:
    """A function that reads one field of a full word."""
    dword, lo = divmod(f.lo, 32)
    kind = f"{'' if f.signed else 'u'}int{32 if f.width <= 32 else 64}_t"
    if f.more or f.hi // 32 != dword:
        text = _scattered(f)
    elif f.signed:  # shift to the top and back with the sign
        up = 31 - f.hi % 32
        text = f"(int32_t)(w[{dword}]{f' << {up}' if up else ''}) >> {32 - f.width}"
        if f.shift:
            text = f"({text}) * {1 << f.shift}"
    else:
        text = f"w[{dword}]{f' >> {lo}' if lo else ''}"
        if f.width < 32:
            text += f" & 0x{f.mask:x}u"
        if f.shift:
            text = f"({text}) << {f.shift}"
    note = "" if f.when.text == "always" else f" /* {f.when.text} */"
    return f"static inline {kind} g4_inst_{f.name}(const uint32_t w[4]){note}\n{{\n    return {text};\n}}\n"


def _scattered(f: InstField) -> str:
    """The value of a field that is not in one place of one dword."""
    terms, at = [], 0
    wide = f.width > 32
    for part_hi, part_lo in f.parts:
        for hi, lo in _within_dwords(part_hi, part_lo):
            bits = f"(w[{lo // 32}] >> {lo % 32} & 0x{(1 << hi - lo + 1) - 1:x}u)"
            terms.append(f"{'(uint64_t)' if wide else ''}{bits} << {at}")
            at += hi - lo + 1
    text = " | ".join(f"({term})" for term in terms)
    if f.signed:
        size = 64 if wide else 32
        text = f"(int{size}_t)(({text}) << {size - f.width}) >> {size - f.width}"
        return f"({text}) * {1 << f.shift}" if f.shift else text
    return f"({text}) << {f.shift}" if f.shift else text


def _within_dwords(hi: int, lo: int) -> Iterator[tuple[int, int]]:
    """Bits in pieces that do not cross a dword, from the low ones up."""
    while lo <= hi:
        top = min(hi, lo | 31)
        yield top, lo
        lo = top + 1


def _expand(encoding: Encoding, form: CompactForm, prefix: str, *, ternary: bool = False) -> str:
    """The function that expands a compacted word."""
    lines = ["/* The full form of a compacted instruction, its compaction bit cleared. */",
             f"static inline void g4_inst_{prefix}expand(const uint32_t c[2], uint32_t w[4])", "{"]
    if ternary:
        opcode = f"c[0] & 0x{encoding.by_name['opcode'].mask:x}u"
        lines += [f"    if (g4_opcode_info[{opcode}].shape == G4_SHAPE_TERNARY) {{",
                  "        g4_inst_ternary_expand(c, w);", "        return;", "    }"]
    lines.append("    w[0] = w[1] = w[2] = w[3] = 0;")
    for f in form.fields:
        if f.to:
            kind = "uint64_t" if f.table and max(form.tables[f.table]) >> 32 else "uint32_t"
            lines += ["    {", f"        {kind} v = {_compact_value(f, prefix)}; /* {f.name} */",
                      *(f"        {line}" for line in _places(f, kind)), "    }"]
    if form.immediate:
        lines += _immediate(form)
    return "\n".join([*lines, "}\n"])


def _immediate(form: CompactForm) -> Iterator[str]:
    """An immediate takes the place of source 1, and its top bit repeats to the left."""
    terms, at = [], 0
    for hi, lo in form.immediate:
        terms.append(f"(c[{lo // 32}] >> {lo % 32} & 0x{(1 << hi - lo + 1) - 1:x}u) << {at}")
        at += hi - lo + 1
    yield "    if (g4_inst_src0_file(w) == G4_FILE_IMM || g4_inst_src1_file(w) == G4_FILE_IMM) {"
    yield f"        uint32_t v = {' | '.join(f'({term})' for term in terms)}; /* immediate */"
    yield f"        w[3] = (uint32_t)((int32_t)(v << {32 - at}) >> {32 - at});"
    yield "    }"


def _compact_value(f: CompactField, prefix: str) -> str:
    dword, lo = divmod(f.lo, 32)
    if f.hi // 32 != dword:  # the first source's index crosses the two dwords
        raw = f"(c[{dword}] >> {lo} | c[{dword + 1}] << {32 - lo}) & 0x{f.mask:x}u"
    else:
        raw = f"c[{dword}]{f' >> {lo}' if lo else ''} & 0x{f.mask:x}u"
    return f"g4_compact_{prefix}{f.table}[{raw}]" if f.table else raw


def _places(f: CompactField, kind: str) -> Iterator[str]:
    at = 0
    for place in f.to:
        for hi, lo in _within_dwords(*place):
            width = hi - lo + 1
            dword, shift = divmod(lo, 32)
            value = f"(v{f' >> {at}' if at else ''} & 0x{(1 << width) - 1:x}u)"
            if kind == "uint64_t":
                value = f"(uint32_t){value}"
            yield f"w[{dword}] |= {value}{f' << {shift}' if shift else ''};"
            at += width
