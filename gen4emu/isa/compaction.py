"""Compacted 64-bit instructions: the four tables, expansion and compaction (Mesa, brw_eu_compact.c).

A compacted word has indices into tables of common field combinations.  Table entries fill the bits that
`fields.COMPACT_FIELDS` lists; all other bits of the full word are zero.
"""

from __future__ import annotations

from gen4emu.isa.fields import COMPACT_FIELDS, CompactField, F

CONTROL: tuple[int, ...] = (
    0x00000, 0x08000, 0x06000, 0x00002, 0x04000, 0x02000, 0x08020, 0x08100,
    0x0A020, 0x00102, 0x18000, 0x01102, 0x09100, 0x00100, 0x18020, 0x01100,
    0x16000, 0x1A020, 0x06100, 0x04100, 0x08008, 0x08004, 0x07800, 0x05600,
    0x06010, 0x02100, 0x08024, 0x08028, 0x06006, 0x0000A, 0x0A028, 0x0A024,
)

DATA_TYPE: tuple[int, ...] = (
    0x08021, 0x0B5AD, 0x08231, 0x0F7BD, 0x0B5AC, 0x081AD, 0x08020, 0x145B1,
    0x0C62D, 0x08022, 0x08236, 0x10231, 0x08232, 0x18232, 0x0F7BC, 0x08128,
    0x14631, 0x0A529, 0x08229, 0x10236, 0x28231, 0x0B62D, 0x08109, 0x0B62C,
    0x34631, 0x083BD, 0x30231, 0x1812A, 0x28229, 0x0B58C, 0x081A1, 0x0A508,
)

# (destination, source 0, source 1) in bytes
_SUBREG_BYTES: tuple[tuple[int, int, int], ...] = (
    (0, 0, 0), (0, 4, 0), (0, 16, 0), (0, 0, 2), (0, 1, 0), (0, 0, 16), (16, 0, 0), (0, 0, 6),
    (0, 0, 5), (0, 8, 0), (0, 0, 4), (8, 0, 0), (0, 2, 0), (1, 0, 0), (0, 0, 1), (0, 5, 0),
    (7, 0, 0), (0, 17, 0), (0, 0, 12), (0, 12, 0), (2, 0, 0), (4, 0, 0), (0, 3, 0), (2, 0, 2),
    (6, 6, 7), (8, 8, 7), (6, 6, 3), (24, 16, 0), (4, 4, 3), (6, 0, 6), (6, 4, 0), (16, 17, 0),
)
SUBREG: tuple[int, ...] = tuple(dst | src0 << 5 | src1 << 10 for dst, src0, src1 in _SUBREG_BYTES)

SOURCE: tuple[int, ...] = (
    0x000, 0x468, 0x588, 0x690, 0x348, 0x58A, 0x570, 0x678, 0x228, 0x028, 0x450, 0xF6C, 0x58C, 0x46C, 0x694, 0x44C,
    0x328, 0x002, 0xF4C, 0x668, 0x548, 0x004, 0x02C, 0x46A, 0x038, 0x558, 0x120, 0x580, 0x404, 0x438, 0x160, 0xF74,
)

TABLES: dict[str, tuple[int, ...]] = {"control": CONTROL, "data_type": DATA_TYPE, "subreg": SUBREG, "source": SOURCE}

_COMPACT_BIT = F["compact_control"].put(1)


def is_compacted(low_dword: int) -> bool:
    """Whether the first dword of an instruction has the compaction bit."""
    return bool(low_dword & _COMPACT_BIT)


def expand(word: int) -> int:
    """The 128-bit form of a compacted word, with the compaction bit cleared."""
    full = 0
    for f in COMPACT_FIELDS:
        if f.to:
            value = f.get(word)
            full |= _SCATTERED[f.name][value] if f.table else _scatter(f, value)
    return full


def compact(word: int) -> int | None:
    """The 64-bit form of a full word, or None if it has none.  The compaction bit of the argument is ignored."""
    word &= ~_COMPACT_BIT
    out = 0
    for f in COMPACT_FIELDS:
        if not f.to:
            out |= 1 << f.lo
            continue
        value: int | None = _gather(f, word)
        if f.table:
            value = _INDEX[f.table].get(_gather(f, word))
            if value is None:
                return None
        assert value is not None
        out |= value << f.lo
    return out if expand(out) == word else None


def _scatter(f: CompactField, value: int) -> int:
    out = 0
    for hi, lo in f.to:
        width = hi - lo + 1
        out |= (value & (1 << width) - 1) << lo
        value >>= width
    return out


def _gather(f: CompactField, word: int) -> int:
    out = at = 0
    for hi, lo in f.to:
        width = hi - lo + 1
        out |= (word >> lo & (1 << width) - 1) << at
        at += width
    return out


_SCATTERED: dict[str, tuple[int, ...]] = {
    f.name: tuple(_scatter(f, value) for value in TABLES[f.table]) for f in COMPACT_FIELDS if f.table}
_INDEX: dict[str, dict[int, int]] = {
    name: {value: index for index, value in reversed(tuple(enumerate(table)))} for name, table in TABLES.items()}
