"""Generates the C side of the hardware description: structs, unpack functions, enumerations, opcodes, registers.

Headers are written for a family of generations, at build time, so that no layout is typed twice.  All their names have
the prefix of the family.  Fixed point stays an integer whose format is in the member's name (`lod_bias_s4_6`);
everything else has the value that the Python view shows.

The layouts of Gen4 and Gen4.5 come in three headers, because units may not see commands:

    hw_enums.h     the enumerations of all fields, G4_GEN_*, and sizes of data
    hw_messages.h  message descriptors, and the data that threads and the VFE read and write
    hw_state.h     commands, state blocks and registers
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator

from gen4emu.hw import emit_c
from gen4emu.hw.catalogue import FAMILIES
from gen4emu.hw.emit_c import c_name
from gen4emu.hw.family import Family
from gen4emu.hw.fields import Address, Bool, Const, Enum, Field, Fixed, Float, Mbz, Sint, Uint
from gen4emu.hw.gen import Gen
from gen4emu.hw.generation import ordered
from gen4emu.hw.layout import Block, Command, Message

# These are read once for every message, a field or two at a time: they get a function for each field besides `_unpack`,
# as do all message descriptors.
ACCESSIBLE = frozenset({
    "MESSAGE_DESCRIPTOR", "SAMPLER_MESSAGE_HEADER", "DATA_PORT_MESSAGE_HEADER", "OWORD_DUAL_BLOCK_OFFSETS",
    "MEDIA_BLOCK_MESSAGE_HEADER", "RENDER_TARGET_WRITE_HEADER", "URB_WRITE_MESSAGE_HEADER", "URB_ALLOCATE_RESPONSE",
    "GATEWAY_OPEN_PAYLOAD", "GATEWAY_CLOSE_PAYLOAD", "GATEWAY_FORWARD_PAYLOAD", "GATEWAY_RESPONSE", "PAYLOAD_PS_R1",
    "GATEWAY_TIME_STAMP_PAYLOAD", "GATEWAY_TIME_STAMP_RESPONSE", "THREAD_STATE", "URB_SIMD8_HANDLE",
    "URB_SIMD8_OFFSET", "URB_SIMD8_CHANNEL_MASK",
})

# Thread data that hot code packs or tests a dword at a time: they get the dword and the shift of each field.
PLACED = frozenset({"PAYLOAD_CLIP_R0", "PAYLOAD_PS_R0", "PAYLOAD_PS_R1"})

# Thread data whose name does not say it.
_THREAD_DATA = frozenset({
    "MESSAGE_DESCRIPTOR", "OWORD_DUAL_BLOCK_OFFSETS", "RENDER_TARGET_WRITE_HEADER", "VERTEX_HEADER",
    "ATTRIBUTE_COEFFICIENTS", "COEFFICIENT", "THREAD_STATE", "URB_SIMD8_HANDLE", "URB_SIMD8_OFFSET",
    "URB_SIMD8_CHANNEL_MASK",
})

# Besides payloads, these are written by the core, too.
_PACKED = frozenset({"GATEWAY_RESPONSE", "GATEWAY_TIME_STAMP_RESPONSE", "THREAD_STATE"})

# Sizes that units reserve for data whose length is a field: the field, and the layouts that have it.
_CAPACITIES = {"G4_INDIRECT_DATA_BYTES": ("indirect_data_length", frozenset({"MEDIA_OBJECT", "GPGPU_WALKER"}))}

_TOP = """
#include "core/util.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

"""


def enumerations() -> str:
    """hw_enums.h."""
    family = FAMILIES[0]
    enums = _Writer(family).enums(family.layouts)
    return emit_c.guarded("gen4emu/hw", "G4_HW_ENUMS_H", "\n".join(["", _gens(), _capacities(), *enums]))


def messages() -> str:
    """hw_messages.h."""
    return message_header(FAMILIES[0], "G4_HW_MESSAGES_H")


def state() -> str:
    """hw_state.h."""
    return state_header(FAMILIES[0], "G4_HW_STATE_H")


def message_header(family: Family, guard: str, *, enums: bool = False) -> str:
    """The layouts that units see: message descriptors and thread data.  `enums`: with their enumerations."""
    writer, blocks = _Writer(family), _thread_data(family)
    return _header(guard, [*(writer.enums(blocks) if enums else ()), *writer.layouts(blocks)])


def state_header(family: Family, guard: str, *, enums: bool = False) -> str:
    """The layouts that only loaders see: commands, state blocks and registers."""
    writer, apart = _Writer(family), {block.name for block in _thread_data(family)}
    blocks = [b for b in family.layouts if b.name not in apart]
    return _header(guard, [*(writer.enums(blocks) if enums else ()), writer.defines(), *writer.layouts(blocks)])


def family_header(family: Family, guard: str) -> str:
    """All layouts and enumerations of a family.  Headers of two families can be included by one file."""
    writer = _Writer(family)
    return _header(guard, [*writer.enums(family.layouts), writer.defines(), *writer.layouts(family.layouts)])


def _header(guard: str, parts: Iterable[str]) -> str:
    return emit_c.guarded("gen4emu/hw", guard, "\n".join([_TOP, *parts, ""]))


def _thread_data(family: Family) -> tuple[Block, ...]:
    """The layouts for units, items of arrays before the layouts that hold them."""
    return ordered(block for block in family.layouts if _is_thread_data(block))


def _is_thread_data(block: Block) -> bool:
    """Whether a layout is a message descriptor, or data that a thread or the VFE reads or writes."""
    return (isinstance(block, Message) or block.name in _THREAD_DATA
            or block.name.startswith(("PAYLOAD_", "PATCH_HEADER_"))
            or block.name.endswith(("_MESSAGE_HEADER", "_PAYLOAD", "_RESPONSE")))


def is_accessible(block: Block) -> bool:
    """Whether every field of a layout has a function of its own."""
    return isinstance(block, Message) or block.name in ACCESSIBLE


def member(f: Field) -> str:
    """The struct member of a field; fixed point carries its format."""
    if isinstance(f, Fixed):
        whole = f.width - f.frac - (1 if f.signed else 0)
        return f"{f.name}_{'s' if f.signed else 'u'}{whole}_{f.frac}"
    return f.name


def _gens() -> str:
    return "".join(f"#define G4_GEN_{g.name} {int(g)}u\n" for g in (*Gen, Gen.GEN4, Gen.GEN45, Gen.ALL4))


def _capacities() -> str:
    """One more than the largest value of a length, on any generation."""
    blocks = [block for family in FAMILIES for block in family.layouts]
    lines = []
    for name, (length, layouts) in _CAPACITIES.items():
        width = max(f.width for block in blocks if block.name in layouts for f in block.all_fields if f.name == length)
        lines.append(f"#define {name} 0x{1 << width:x}\n")
    return "".join(lines)


def _upper(name: str) -> str:
    out = ""
    for i, c in enumerate(name):
        if c.isupper() and i and (not name[i - 1].isupper()) and name[i - 1] != "_":
            out += "_"
        out += c.upper()
    return out


def _members(block: Block) -> dict[str, list[Field]]:
    """Struct member -> the fields (one per generation) that fill it."""
    members: dict[str, list[Field]] = {}
    for f in block.all_fields:
        if not isinstance(f, Mbz | Const):
            members.setdefault(member(f), []).append(f)
    return members


def _type(f: Field) -> str:
    if isinstance(f, Bool):
        return "bool"
    if isinstance(f, Float):
        return "float"
    wide = f.hi >= 32 and (f.width > 32 or isinstance(f, Address))
    if isinstance(f, Sint) or (isinstance(f, Fixed) and f.signed):
        return "int64_t" if wide else "int32_t"
    if isinstance(f, Uint) and f.bias < 0:
        return "int32_t"
    return "uint64_t" if wide else "uint32_t"


def _raw(f: Field) -> str:
    if f.hi >= 32:
        both = f"((uint64_t)dw[{f.dword}] | (uint64_t)dw[{f.dword + 1}] << 32)"
        text = both if f.lo == 0 else f"({both} >> {f.lo})"
        return text if f.width == 64 else f"({text} & 0x{f.mask:x}ull)"
    if f.width == 32:
        return f"dw[{f.dword}]"
    return f"(dw[{f.dword}] >> {f.lo} & 0x{f.mask:x}u)" if f.lo else f"(dw[{f.dword}] & 0x{f.mask:x}u)"


def _value(f: Field) -> str:
    raw, kind = _raw(f), _type(f)
    if isinstance(f, Bool):
        return f"{raw} != 0"
    if isinstance(f, Float):
        return f"g4_hw_float({raw})"
    if isinstance(f, Address):
        return f"({kind}){raw} << {f.lo}" if f.lo else f"({kind}){raw}"
    if isinstance(f, Sint) or (isinstance(f, Fixed) and f.signed):
        bits = 64 if kind == "int64_t" else 32
        shift = bits - f.width
        return f"({kind})((uint{bits}_t){raw} << {shift}) >> {shift}" if shift else f"({kind}){raw}"
    text = f"({kind}){raw}"
    if isinstance(f, Uint):
        if f.bias:
            text = f"({text} {'+' if f.bias > 0 else '-'} {abs(f.bias)})"
        if f.scale != 1:
            text = f"{text} * {f.scale}"
    return text


def _bits(f: Field) -> str:
    """The bits of a member, shifted to their position."""
    if isinstance(f, Float):
        return f"g4_hw_bits(in->{f.name})"
    value = f"(uint32_t)in->{member(f)}"
    if isinstance(f, Address):
        value = f"({value} >> {f.lo})" if f.lo else value
    elif isinstance(f, Uint):
        value = f"({value} / {f.scale} - {f.bias})" if f.bias or f.scale != 1 else value
    text = value if f.width == 32 else f"({value} & 0x{f.mask:x}u)"
    return f"{text} << {f.lo}" if f.lo else text


class _Writer:
    """Writes the C of one family."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._prefix, self._macro = family.prefix, family.prefix.upper()

    def _name(self, block: Block) -> str:
        return f"{self._prefix}_{c_name(block.name)}"

    def enums(self, blocks: Iterable[Block]) -> Iterator[str]:
        seen: dict[str, type[enum.IntEnum]] = {}
        for block in blocks:
            for f in block.all_fields:
                if isinstance(f, Enum):
                    seen.setdefault(f.enum.__name__, f.enum)
        for name, members in seen.items():
            yield emit_c.enum(f"{self._prefix}_{_upper(name).lower()}", f"{self._macro}_{_upper(name)}", members)

    def defines(self) -> str:
        lines = [f"#define {self._macro}_CMD_{self._command_name(c)} 0x{c.header:08x}u" for c in self._family.commands]
        lines += [f"#define {self._macro}_REG_{c_name(r.name).upper()} 0x{r.offset:x}u" for r in self._family.registers]
        return "\n".join([*lines, "", self._command_of()]) + "\n"

    def _command_of(self) -> str:
        """A function from the header of a command to its constant: the header without its length and options."""
        lows = sorted({c.client: c.opcode_low for c in self._family.commands}.items())
        cases = [f"    case {client}:\n        return header >> {low} << {low};" for client, low in lows]
        return "\n".join([f"static inline uint32_t {self._prefix}_command_of(uint32_t header)", "{",
                          "    switch (header >> 29) {", *cases,
                          "    default:", "        return header;", "    }", "}"])

    def _command_name(self, command: Command) -> str:
        """The name of a command; of two encodings, each with the first generation whose drivers write it."""
        name = c_name(command.name).upper()
        twins = sum(c.name == command.name for c in self._family.commands)
        if twins == 1:
            return name
        written_in = self._family.written_in(command)
        return f"{name}_{command.header >> 16:X}" if written_in is None else f"{name}_{written_in.name.upper()}"

    def layouts(self, blocks: Iterable[Block]) -> Iterator[str]:
        for block in blocks:
            yield self.struct(block)
            yield from self.items(block)
            yield self.unpack(block)
            if block.name.startswith("PAYLOAD_") or block.name in _PACKED:
                yield self.pack(block)
            if block.name in PLACED:
                yield self.places(block)
            if is_accessible(block):
                yield self.accessors(block)

    def struct(self, block: Block) -> str:
        lines = [f"struct {self._name(block)} {{"]
        for name, fields in _members(block).items():
            kinds = {_type(f) for f in fields}
            kind = kinds.pop() if len(kinds) == 1 else ("float" if "float" in kinds else "uint64_t")
            lines.append(f"    {kind} {name};")
        for a in block.all_arrays:
            if a.count is not None:
                lines.append(f"    struct {self._name(a.item)} {a.name}[{a.count}];")
        if len(lines) == 1:
            lines.append("    uint32_t unused;")
        return "\n".join([*lines, "};\n"])

    def unpack(self, block: Block) -> str:
        name = self._name(block)
        lines = [f"static inline void {name}_unpack(const uint32_t *dw, uint32_t gen, struct {name} *out)", "{",
                 "    (void)gen;", "    memset(out, 0, sizeof *out);"]
        if not _members(block):
            lines.append("    (void)dw;")
        for fields in _members(block).values():
            for f in fields:
                assign = f"out->{member(f)} = {_value(f)};"
                everywhere = (f.gens & block.gens) == block.gens and len(fields) == 1
                guard = "" if everywhere else f"if (gen & {int(f.gens)}u)\n        "
                lines.append(f"    {guard}{assign}")
        for a in block.all_arrays:
            if a.count is not None:
                item = f"{self._name(a.item)}_unpack({name}_{a.name}(dw, i), gen, &out->{a.name}[i]);"
                everywhere = (a.gens & block.gens) == block.gens
                guard = f"i < {a.count}" if everywhere else f"gen & {int(a.gens)}u && i < {a.count}"
                lines.append(f"    for (uint32_t i = 0; {guard}; i++)\n        {item}")
        lines.append("}\n")
        text = "\n".join(lines)
        if isinstance(block, Command) or block.all_arrays or block.ref:
            text = f"/* {block.name}{', ' + block.ref if block.ref else ''} */\n" + text
        return text

    def items(self, block: Block) -> Iterator[str]:
        """For each array, a function that returns the dwords of an item, for callers that unpack only some items."""
        for a in block.all_arrays:
            if a.count is not None:
                (step,) = {a.item.size(g) for g in Gen if g & block.gens}
                head = f"static inline const uint32_t *{self._name(block)}_{a.name}(const uint32_t *dw, uint32_t i)"
                yield f"{head}\n{{\n    return dw + {a.dword} + i * {step};\n}}\n"

    def accessors(self, block: Block) -> str:
        """One function per field: of the descriptor, or of a pointer to the header, and of `gen` if generations differ.

        A field of a union is read whether or not its selector chooses it.  Flags of headers also have their mask.
        """
        name = self._name(block)
        by_value = isinstance(block, Message) or block.name == "MESSAGE_DESCRIPTOR"
        source = "uint32_t descriptor" if by_value else "const uint32_t *dw"
        parts = []
        for field, fields in _members(block).items():
            where: dict[str, Gen] = {}
            for f in fields:
                value = _value(f).replace("dw[0]", "descriptor") if by_value else _value(f)
                where[value] = where.get(value, Gen(0)) | f.gens & block.gens
            everywhere = where if list(where.values()) == [block.gens] else {}
            choice = "".join(f"gen & {int(gens)}u ? {value} : " for value, gens in where.items())
            arguments = source if everywhere else f"{source}, uint32_t gen"
            parts.append(f"static inline {_type(fields[0])} {name}_{field}({arguments})\n{{\n"
                         f"    return {next(iter(everywhere), f'{choice}0')};\n}}\n")
            if not by_value and isinstance(fields[0], Bool):
                mask = fields[0].mask << fields[0].lo
                parts.append(f"#define {name.upper()}_{field.upper()}_MASK 0x{mask:x}u\n")
        return "\n".join(parts)

    def places(self, block: Block) -> str:
        """The dword and the shift of every field that all generations of the family have in one place."""
        name = self._name(block).upper()
        lines = []
        for field, fields in _members(block).items():
            if len({(f.dword, f.lo) for f in fields}) == 1:
                lines += [f"#define {name}_{field.upper()}_DWORD {fields[0].dword}",
                          f"#define {name}_{field.upper()}_SHIFT {fields[0].lo}"]
        return "\n".join(lines) + "\n"

    def pack(self, block: Block) -> str:
        """The inverse of `_unpack`, for thread payloads, which the core writes."""
        name = self._name(block)
        size = block.size(next(g for g in Gen if g & block.gens))
        lines = [f"static inline void {name}_pack(const struct {name} *in, uint32_t gen, uint32_t *dw)", "{",
                 "    (void)in;", "    (void)gen;", f"    memset(dw, 0, {4 * size});"]
        for f in (f for fields in _members(block).values() for f in fields):
            guard = "" if (f.gens & block.gens) == block.gens else f"if (gen & {int(f.gens)}u)\n        "
            lines.append(f"    {guard}dw[{f.dword}] |= {_bits(f)};")
        return "\n".join([*lines, "}\n"])
