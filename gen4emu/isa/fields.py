"""The fields of an instruction word, one table per encoding (for Gen4: Mesa, src/intel/compiler/brw_inst.h).

An encoding serves all generations that lay out instructions in the same way; a later one starts from its predecessor's
table and replaces entries by name (`Encoding.derive`).

Bits are numbered 0 to 127 from bit 0 of the first dword, so DW1 bit 5 is bit 37.  Many bits have several meanings;
`when` names the form of instruction in which a field exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from gen4emu.hw.fields import Field, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR

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
    BRANCH = ("branches", None, None)
    SEND = ("send", None, None)

    @property
    def text(self) -> str:
        return str(self.value[0])

    @property
    def other_use(self) -> bool:
        return self in (When.IMMEDIATE, When.BRANCH, When.SEND)

    def holds(self, *, align16: bool, indirect: bool) -> bool:
        """Whether a field exists for a register operand of this form."""
        _, on_align16, on_indirect = self.value
        return not self.other_use and on_align16 in (None, align16) and on_indirect in (None, indirect)


@dataclass(frozen=True, slots=True)
class InstField:
    """Bits `hi`..`lo` of the 128-bit (or compacted 64-bit) word."""

    name: str
    hi: int
    lo: int
    when: When = When.ALWAYS
    signed: bool = False
    shift: int = 0  # number of low bits of the value that are not stored
    mask: int = field(init=False)

    def __post_init__(self) -> None:
        if not 0 <= self.lo <= self.hi < WORD_BITS or self.hi // 32 != self.lo // 32:
            raise ValueError(f"{self.name}: bits {self.hi}:{self.lo}")
        object.__setattr__(self, "mask", (1 << (self.hi - self.lo + 1)) - 1)

    @property
    def width(self) -> int:
        return self.hi - self.lo + 1

    @property
    def reserved(self) -> bool:
        return self.name.startswith("reserved")

    def get(self, word: int) -> int:
        raw = word >> self.lo & self.mask
        if self.signed and raw > self.mask >> 1:
            raw -= self.mask + 1
        return raw << self.shift

    def put(self, value: int) -> int:
        """The word with this value in the field's bits; the caller has checked its range."""
        return (value >> self.shift & self.mask) << self.lo


def _source(prefix: str, base: int) -> tuple[InstField, ...]:
    """The fields of a source operand: src0 in DW2, src1 in DW3."""
    def f(name: str, hi: int, lo: int, when: When = When.ALWAYS, **more: bool | int) -> InstField:
        return InstField(f"{prefix}_{name}", base + hi, base + lo, when, **more)  # type: ignore[arg-type]  # by name
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


def _descriptor_name(f: Field) -> str:
    return f"reserved_{96 + f.hi}_{96 + f.lo}" if isinstance(f, Mbz) else f.name


_GEN4_FIELDS: tuple[InstField, ...] = (
    # DW0
    InstField("opcode", 6, 0),
    InstField("reserved_7", 7, 7),
    InstField("access_mode", 8, 8),
    InstField("mask_control", 9, 9),
    InstField("no_dd_clear", 10, 10),
    InstField("no_dd_check", 11, 11),
    InstField("compression", 13, 12),
    InstField("thread_control", 15, 14),
    InstField("predicate_control", 19, 16),
    InstField("predicate_inverse", 20, 20),
    InstField("exec_size", 23, 21),
    InstField("cond_modifier", 27, 24),
    InstField("base_mrf", 27, 24, When.SEND),
    InstField("mask_control_ex", 28, 28),
    InstField("compact_control", 29, 29),
    InstField("debug_control", 30, 30),
    InstField("saturate", 31, 31),
    # DW1
    InstField("dst_file", 33, 32),
    InstField("dst_type", 36, 34),
    InstField("src0_file", 38, 37),
    InstField("src0_type", 41, 39),
    InstField("src1_file", 43, 42),
    InstField("src1_type", 46, 44),
    InstField("reserved_47", 47, 47),
    InstField("dst_subreg_nr", 52, 48, When.ALIGN1_DIRECT),
    InstField("dst_addr_imm", 57, 48, When.ALIGN1_INDIRECT, signed=True),
    InstField("dst_writemask", 51, 48, When.ALIGN16),
    InstField("dst_subreg16", 52, 52, When.ALIGN16_DIRECT, shift=4),
    InstField("dst_addr_imm16", 57, 52, When.ALIGN16_INDIRECT, signed=True, shift=4),
    InstField("dst_reg_nr", 60, 53, When.DIRECT),
    InstField("dst_addr_subreg", 60, 58, When.INDIRECT),
    InstField("dst_hstride", 62, 61),
    InstField("dst_addr_mode", 63, 63),
    # DW2
    *_source("src0", 64),
    InstField("flag_subreg", 89, 89),
    InstField("reserved_95_90", 95, 90),
    # DW3
    *_source("src1", 96),
    InstField("reserved_127_121", 127, 121),
    InstField("immediate", 127, 96, When.IMMEDIATE),
    InstField("jump_count", 111, 96, When.BRANCH, signed=True),
    InstField("pop_count", 115, 112, When.BRANCH),
    InstField("reserved_127_116", 127, 116, When.BRANCH),
    # the message descriptor, whose layout is in hw/gen4/messages.py
    *(InstField(_descriptor_name(f), 96 + f.hi, 96 + f.lo, When.SEND) for f in MESSAGE_DESCRIPTOR.all_fields),
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


# Bits of the full word that no row fills are zero.
_GEN4_COMPACT_FIELDS: tuple[CompactField, ...] = (
    CompactField("opcode", 6, 0, ((6, 0),)),
    CompactField("debug_control", 7, 7, ((30, 30),)),
    CompactField("control_index", 12, 8, ((23, 8), (31, 31)), "control"),
    CompactField("data_type_index", 17, 13, ((46, 32), (63, 61)), "data_type"),
    CompactField("subreg_index", 22, 18, ((52, 48), (68, 64), (100, 96)), "subreg"),
    CompactField("mask_control_ex", 23, 23, ((28, 28),)),
    CompactField("cond_modifier", 27, 24, ((27, 24),)),
    CompactField("flag_subreg", 28, 28, ((89, 89),)),
    CompactField("compact_control", 29, 29, ()),
    CompactField("src0_index", 34, 30, ((88, 77),), "source"),
    CompactField("src1_index", 39, 35, ((120, 109),), "source"),
    CompactField("dst_reg_nr", 47, 40, ((60, 53),)),
    CompactField("src0_reg_nr", 55, 48, ((76, 69),)),
    CompactField("src1_reg_nr", 63, 56, ((108, 101),)),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The instruction words of the generations in `gens`."""

    name: str
    gens: Gen
    fields: tuple[InstField, ...]
    compact_fields: tuple[CompactField, ...]

    def derive(self, name: str, gens: Gen, *, changes: tuple[InstField, ...] = (),
               without: frozenset[str] = frozenset(),
               compact_fields: tuple[CompactField, ...] | None = None) -> Encoding:
        """A later encoding: these fields, except that `changes` replace or extend them and `without` are gone."""
        table = {f.name: f for f in self.fields if f.name not in without} | {f.name: f for f in changes}
        return Encoding(name, gens, tuple(table.values()),
                        self.compact_fields if compact_fields is None else compact_fields)


GEN4 = Encoding("gen4", Gen.ALL4, _GEN4_FIELDS, _GEN4_COMPACT_FIELDS)
ENCODINGS: tuple[Encoding, ...] = (GEN4,)

# The encoding that instruction.py, compaction.py and the C header read and write.
FIELDS = GEN4.fields
COMPACT_FIELDS = GEN4.compact_fields
F: dict[str, InstField] = {f.name: f for f in FIELDS}


def encoding_of(gen: Gen) -> Encoding:
    """The encoding of a device's generation."""
    for encoding in ENCODINGS:
        if encoding.gens & gen:
            return encoding
    raise ValueError(f"no instruction encoding for {gen!r}")


def register_fields(*, align16: bool, dst: bool = False, src0: bool = False, src1: bool = False) -> Iterator[InstField]:
    """The fields of an instruction without immediates, by access mode and by which of its operands are indirect."""
    indirect = {"dst": dst, "src0": src0, "src1": src1}
    for f in FIELDS:
        operand = f.name.removeprefix("reserved_").split("_")[0]
        if f.when.holds(align16=align16, indirect=indirect.get(operand, False)):
            yield f
