"""The kinds of table that describe an instruction word: fields, compacted fields, encodings.

An encoding serves all generations that lay out instructions in the same way.  The tables are in `gen4emu.isa.gen4`,
`gen6`, `gen7`, `gen8` and `gen9`; a later one starts from its predecessor's and replaces entries by name
(`Encoding.derive`).

Bits are numbered 0 to 127 from bit 0 of the first dword, so DW1 bit 5 is bit 37.  Many bits have several meanings;
`when` names the form of instruction in which a field exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import Any

from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block
from gen4emu.isa.registers import Arf, ImmType, RegType

WORD_BITS = 128
COMPACT_BITS = 64


class When(Enum):
    """The form of instruction or register operand in which a field exists: text, Align16 or not, indirect or not."""

    ALWAYS = ("always", None, None)
    ALIGN1_DIRECT = ("align1, direct", False, False)
    ALIGN16_DIRECT = ("align16, direct", True, False)
    ALIGN1_INDIRECT = ("align1, indirect", False, True)
    ALIGN16_INDIRECT = ("align16, indirect", True, True)
    DIRECT = ("direct", None, False)
    INDIRECT = ("indirect", None, True)
    ALIGN1 = ("align1", False, None)
    ALIGN16 = ("align16", True, None)
    # other uses of the same bits
    IMMEDIATE = ("with an immediate source", None, None)
    IMMEDIATE64 = ("with a 64-bit immediate source", None, None)
    BRANCH = ("branches", None, None)
    MATH = ("math", None, None)
    SEND = ("send", None, None)
    SPLIT_SEND = ("sends", None, None)
    SPLIT_SEND_DIRECT = ("sends, direct", None, False)
    SPLIT_SEND_INDIRECT = ("sends, indirect", None, True)
    TERNARY = ("three sources", None, None)

    @property
    def text(self) -> str:
        return str(self.value[0])

    @property
    def other_use(self) -> bool:
        return self in _OTHER_USES

    def holds(self, *, align16: bool, indirect: bool) -> bool:
        """Whether a field exists for a register operand of this form."""
        _, on_align16, on_indirect = self.value
        return not self.other_use and on_align16 in (None, align16) and on_indirect in (None, indirect)


_OTHER_USES = frozenset({When.IMMEDIATE, When.IMMEDIATE64, When.BRANCH, When.MATH, When.SEND, When.SPLIT_SEND,
                         When.SPLIT_SEND_DIRECT, When.SPLIT_SEND_INDIRECT, When.TERNARY})


@dataclass(frozen=True, slots=True)
class InstField:
    """Bits `hi`..`lo` of the 128-bit (or compacted 64-bit) word.

    `more` has the places (hi, lo) of the value's higher bits if they lie elsewhere, the next higher ones first.
    """

    name: str
    hi: int
    lo: int
    when: When = When.ALWAYS
    signed: bool = False
    shift: int = 0  # number of low bits of the value that are not stored
    more: tuple[tuple[int, int], ...] = ()
    mask: int = field(init=False)
    get: Callable[[int], int] = field(init=False, repr=False, compare=False)  # the field's value in a word

    def __post_init__(self) -> None:
        for hi, lo in self.parts:
            if not 0 <= lo <= hi < WORD_BITS:
                raise ValueError(f"{self.name}: bits {hi}:{lo}")
        object.__setattr__(self, "mask", (1 << sum(hi - lo + 1 for hi, lo in self.parts)) - 1)
        object.__setattr__(self, "get", _reader(self))

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """The places of the value's bits, from its low bits up."""
        return ((self.hi, self.lo), *self.more)

    @property
    def width(self) -> int:
        return self.mask.bit_length()

    @property
    def reserved(self) -> bool:
        return self.name.startswith("reserved")

    def put(self, value: int) -> int:
        """The word with this value in the field's bits; the caller has checked its range."""
        raw = value >> self.shift & self.mask
        if not self.more:
            return raw << self.lo
        word = 0
        for hi, lo in self.parts:
            word |= (raw & (2 << hi - lo) - 1) << lo
            raw >>= hi - lo + 1
        return word


def _reader(f: InstField) -> Callable[[int], int]:
    """The function that reads a field: decoding calls it forty times an instruction, most often for plain bits."""
    low, mask, shift, sign_bit = f.lo, f.mask, f.shift, f.mask + 1 >> 1 if f.signed else 0

    def plain(word: int) -> int:
        return word >> low & mask

    def number(word: int) -> int:
        return ((word >> low & mask ^ sign_bit) - sign_bit) << shift

    def split(word: int) -> int:
        raw = at = 0
        for hi, lo in f.parts:
            raw |= (word >> lo & (2 << hi - lo) - 1) << at
            at += hi - lo + 1
        return ((raw ^ sign_bit) - sign_bit) << shift

    if f.more:
        return split
    return number if shift or sign_bit else plain


def source_fields(prefix: str, base: int) -> tuple[InstField, ...]:
    """The fields of a source operand: src0 in DW2, src1 in DW3."""
    def f(name: str, hi: int, lo: int, when: When = When.ALWAYS, *, signed: bool = False, shift: int = 0) -> InstField:
        return InstField(f"{prefix}_{name}", base + hi, base + lo, when, signed, shift)
    return (
        f("subreg_nr", 4, 0, When.ALIGN1_DIRECT),
        f("addr_imm", 9, 0, When.ALIGN1_INDIRECT, signed=True),
        f("swizzle_x", 1, 0, When.ALIGN16),
        f("swizzle_y", 3, 2, When.ALIGN16),
        f("subreg16", 4, 4, When.ALIGN16_DIRECT, shift=4),
        f("addr_imm16", 9, 4, When.ALIGN16_INDIRECT, signed=True, shift=4),
        f("reg_nr", 12, 5, When.DIRECT),
        f("addr_subreg", 12, 10, When.INDIRECT),
        f("abs", 13, 13),
        f("negate", 14, 14),
        f("addr_mode", 15, 15),
        f("hstride", 17, 16, When.ALIGN1),
        f("swizzle_z", 17, 16, When.ALIGN16),
        f("width", 20, 18, When.ALIGN1),
        f("swizzle_w", 19, 18, When.ALIGN16),
        InstField(f"reserved_{prefix}_20", base + 20, base + 20, When.ALIGN16),
        f("vstride", 24, 21),
    )


@dataclass(frozen=True, slots=True)
class CompactField:
    """Bits `hi`..`lo` of the compacted 64-bit word.

    `to` lists the bits (hi, lo) of the full word that the value fills, from its low bits up.  With a table, the value
    is the entry at the field's index.
    """

    name: str
    hi: int
    lo: int
    to: tuple[tuple[int, int], ...]
    table: str = ""

    @property
    def mask(self) -> int:
        return (1 << (self.hi - self.lo + 1)) - 1

    def get(self, word: int) -> int:
        return word >> self.lo & self.mask


@dataclass(frozen=True, eq=False, slots=True)
class CompactForm:
    """A layout of compacted words.  Bits of the full word that no field fills are zero.

    An immediate of a compacted word has 13 bits on Gen6 and later: `immediate` lists their places (hi, lo) from the
    low bits up, where the fields of source 1 are otherwise.  Its top bit repeats to the left.
    """

    fields: tuple[CompactField, ...]
    tables: Mapping[str, tuple[int, ...]]
    immediate: tuple[tuple[int, int], ...] = ()


class Hidden(Enum):
    """An operand that assembly text does not show and that a compiler fills in."""

    NULL_F = "null:F"
    NULL_D = "null:D"
    SCALAR_NULL_D = "null<0,1,0>:D"
    IP = "ip"
    IP_IGT = "ip<0,1,1>"
    IMMEDIATE_W = "immediate:W"  # its bits are the jump counts
    IMMEDIATE_D = "immediate:D"
    SOURCE = "the register of source 0"
    DESTINATION = "the register of the destination"
    STRIDE_1 = "a horizontal stride of 1"


class Implied(IntEnum):
    """The compiler whose convention fills operand bits that assembly does not show (flow control, unused src1)."""

    MESA = 0
    IGT = 1


HiddenOperands = tuple[Hidden | None, Hidden | None, Hidden | None]  # destination, source 0, source 1


@dataclass(frozen=True, eq=False, slots=True)
class Encoding:
    """The instruction words of the generations in `gens`."""

    name: str
    gens: Gen
    fields: tuple[InstField, ...]
    register_types: Mapping[int, RegType]  # by code; codes that are not listed are reserved
    immediate_types: Mapping[int, ImmType]
    message_descriptor: Block  # the fields that descriptors of all shared functions have
    shared_functions: Mapping[int, str]  # their names in assembly, by SFID
    compact_form: CompactForm
    hidden: Mapping[Implied, Mapping[str, HiddenOperands]]  # by convention and opcode
    architecture_registers: Mapping[Arf, int]  # number of registers of each kind
    mrf_count: int
    address_subregs: int  # of a0, words
    flag_registers: int
    jump_unit: int  # bytes that a jump count of one means
    jmpi_unit: int  # and of jmpi
    compacted_jump_size: int  # distance from a compacted jmpi to the base of its jump count
    ternary_types: Mapping[int, RegType] = field(default_factory=dict)
    ternary_compact_form: CompactForm | None = None
    compaction_clears_src1_type: bool = False  # of an instruction whose only source is an immediate
    negation_complements: bool = False  # of the sources of logic opcodes
    math_functions: Mapping[int, str] = field(default_factory=dict)  # of the opcode, by code
    describe_message: Callable[[int, int, Gen], str] | None = None  # words for descriptor and SFID; None: message_text
    flag_follows_group: bool = False  # compilers name f0.1 in instructions for channels from 16 on, used or not
    by_name: Mapping[str, InstField] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {f.name: f for f in self.fields})

    @property
    def sends_from_mrf(self) -> bool:
        """Whether text is that of Gen4 and Gen4.5, with compression and message registers in a send."""
        return "base_mrf" in self.by_name

    def derive(self, name: str, gens: Gen, *, changes: tuple[InstField, ...] = (),
               without: frozenset[str] = frozenset(), **members: Any) -> Encoding:
        """A later encoding: this one, except that the fields `changes` replace or extend its fields, `without` are
        gone, and `members` have other values."""
        unknown = without - set(self.by_name)
        if unknown:
            raise KeyError(f"{self.name} has no field {', '.join(sorted(unknown))}")
        table = {f.name: f for f in self.fields if f.name not in without} | {f.name: f for f in changes}
        return replace(self, name=name, gens=gens, fields=tuple(table.values()), **members)

    def register_fields(self, *, align16: bool, dst: bool = False, src0: bool = False,
                        src1: bool = False) -> Iterator[InstField]:
        """The fields of an instruction without immediates, by access mode and by which operands are indirect."""
        indirect = {"dst": dst, "src0": src0, "src1": src1}
        for f in self.fields:
            operand = f.name.removeprefix("reserved_").split("_")[0]
            if f.when.holds(align16=align16, indirect=indirect.get(operand, False)):
                yield f
