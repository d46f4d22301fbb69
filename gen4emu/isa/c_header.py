"""Generates isa.h, the C header of the instruction set: opcodes, field accessors, compaction, code tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum

from gen4emu.isa.fields import CompactField, Encoding, InstField
from gen4emu.isa.gen4 import GEN4
from gen4emu.isa.opcodes import GEN4_FLAGS, OPCODES, Flag, Opcode, Shape
from gen4emu.isa.registers import (
    EXEC_SIZES,
    GRF_COUNT,
    HSTRIDES,
    MRF_COMPR4,
    MRF_COUNT,
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
)

RESERVED = 0xFF  # in a code table: an undefined code

_TOP = """/* Generated from gen4emu/isa: do not edit. */
#ifndef G4_ISA_H
#define G4_ISA_H

#include <stdint.h>
"""

def _enums(encoding: Encoding) -> tuple[tuple[str, Iterable[IntEnum]], ...]:
    """The enumerations, with the members that the encoding has."""
    shapes = {o.shape for o in OPCODES if o.gens & encoding.gens}
    types = {*encoding.register_types.values(), RegType.RESERVED}
    immediates = {*encoding.immediate_types.values()}
    return (
        ("opcode", Opcode), ("shape", (s for s in Shape if s in shapes)), ("file", RegFile),
        ("type", (t for t in RegType if t in types)), ("imm", (t for t in ImmType if t in immediates)),
        ("arf", (a for a in Arf if a in encoding.architecture_registers)),
        ("pred", Predicate), ("pred16", Align16Predicate), ("cond", CondMod), ("compression", Compression),
    )

_CODES: tuple[tuple[str, Mapping[int, int], int, str], ...] = (
    ("hstride_elements", HSTRIDES, 4, "by the code of a horizontal stride"),
    ("width_elements", WIDTHS, 8, "by the code of a region's width"),
    ("vstride_elements", VSTRIDES, 16, "by the code of a vertical stride; G4_VSTRIDE_INDEXED stands apart"),
    ("exec_size_channels", EXEC_SIZES, 8, "by the code of an execution size"),
    ("type_bytes", {int(t): size for t, size in TYPE_BYTES.items() if t < 8}, 8, "by the code of a register's type"),
)


def generate(encoding: Encoding = GEN4) -> str:
    """The whole header, for one encoding."""
    parts = [_TOP, *(_enum(name, members) for name, members in _enums(encoding)), _defines(), _opcode_table(encoding),
             *(_code_table(*row) for row in _CODES), *(_accessor(f) for f in encoding.fields if not f.reserved),
             *(_compaction_table(name, table) for name, table in encoding.compact_form.tables.items()),
             _expand(encoding), "#endif\n"]
    return "\n".join(parts)


def _enum(name: str, members: Iterable[IntEnum]) -> str:
    lines = [f"    G4_{name.upper()}_{member.name} = {member.value}," for member in members]
    return "\n".join([f"enum g4_{name} {{", *lines, "};\n"])


def _defines() -> str:
    lines = [f"#define G4_OPF_{f.name} 0x{f.value:x}u" for f in Flag if f & GEN4_FLAGS]
    lines += [f"#define G4_CODE_RESERVED 0x{RESERVED:x}u", f"#define G4_VSTRIDE_INDEXED {VSTRIDE_INDEXED}u",
              f"#define G4_GRF_COUNT {GRF_COUNT}u", f"#define G4_MRF_COUNT {MRF_COUNT}u",
              f"#define G4_REGISTER_BYTES {REGISTER_BYTES}u", f"#define G4_MRF_COMPR4 0x{MRF_COMPR4:x}u"]
    return "\n".join(lines) + "\n"


def _opcode_table(encoding: Encoding) -> str:
    bits = next(f.width for f in encoding.fields if f.name == "opcode")
    lines = ["/* By opcode.  `gens` has the bits of G4_GEN_*; 0: no part has the opcode. */",
             "struct g4_opcode_info {", "    uint16_t flags; /* G4_OPF_* */", "    uint8_t gens;", "    uint8_t shape;",
             "    uint8_t sources;", "    const char *name;", "};", "",
             f"static const struct g4_opcode_info g4_opcode_info[{1 << bits}] = {{"]
    lines += [f"    [0x{o.number:02x}] = {{0x{o.flags & GEN4_FLAGS:x}, 0x{o.gens & encoding.gens:x}, "
              f"G4_SHAPE_{o.shape.name}, {o.sources}, \"{o.name}\"}},"
              for o in OPCODES if o.gens & encoding.gens]
    return "\n".join([*lines, "};\n"])


def _code_table(name: str, codes: Mapping[int, int], size: int, doc: str) -> str:
    values = [codes.get(code, RESERVED) for code in range(size)]
    return _array("uint8_t", f"g4_{name}", (str(v) for v in values), size, f"{name.replace('_', ' ')}, {doc}")


def _compaction_table(name: str, table: tuple[int, ...]) -> str:
    return _array("uint32_t", f"g4_compact_{name}", (f"0x{v:05x}" for v in table), len(table), "")


def _array(kind: str, name: str, values: Iterable[str], size: int, doc: str) -> str:
    items = list(values)
    rows = ["    " + ", ".join(items[i:i + 8]) + "," for i in range(0, len(items), 8)]
    comment = [f"/* {doc[0].upper()}{doc[1:]}. */"] if doc else []
    return "\n".join([*comment, f"static const {kind} {name}[{size}] = {{", *rows, "};\n"])


def _accessor(f: InstField) -> str:
    """A function that reads one field of a full word."""
    dword, lo = divmod(f.lo, 32)
    kind = "int32_t" if f.signed else "uint32_t"
    if f.signed:  # shift to the top and back with the sign
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


def _expand(encoding: Encoding) -> str:
    """The function that expands a compacted word."""
    lines = ["/* The full form of a compacted instruction, its compaction bit cleared. */",
             "static inline void g4_inst_expand(const uint32_t c[2], uint32_t w[4])", "{",
             "    w[0] = w[1] = w[2] = w[3] = 0;"]
    for f in encoding.compact_form.fields:
        if f.to:
            lines += ["    {", f"        uint32_t v = {_compact_value(f)}; /* {f.name} */",
                      *(f"        {line}" for line in _places(f)), "    }"]
    return "\n".join([*lines, "}\n"])


def _compact_value(f: CompactField) -> str:
    dword, lo = divmod(f.lo, 32)
    if f.hi // 32 != dword:  # the first source's index crosses the two dwords
        raw = f"(c[{dword}] >> {lo} | c[{dword + 1}] << {32 - lo}) & 0x{f.mask:x}u"
    else:
        raw = f"c[{dword}]{f' >> {lo}' if lo else ''} & 0x{f.mask:x}u"
    return f"g4_compact_{f.table}[{raw}]" if f.table else raw


def _places(f: CompactField) -> Iterator[str]:
    at = 0
    for hi, lo in f.to:
        width = hi - lo + 1
        dword, shift = divmod(lo, 32)
        value = f"(v{f' >> {at}' if at else ''} & 0x{(1 << width) - 1:x}u)"
        yield f"w[{dword}] |= {value}{f' << {shift}' if shift else ''};"
        at += width
