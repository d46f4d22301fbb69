"""Compacted 64-bit instructions: expansion and compaction (Mesa, brw_eu_compact.c).

A compacted word has indices into tables of common field combinations.  The tables, and the bits of the full word that
their entries fill, are in the encoding; all other bits of the full word are zero.
"""

from __future__ import annotations

from gen4emu.isa.fields import COMPACT_BITS, CompactField, CompactForm, Encoding
from gen4emu.isa.registers import RegFile

COMPACT_BIT = 1 << 29  # in all generations
_OPCODE_MASK = 0x7F


def is_compacted(low_dword: int) -> bool:
    """Whether the first dword of an instruction has the compaction bit."""
    return bool(low_dword & COMPACT_BIT)


class Compactor:
    """Expands and compacts the words of one form."""

    def __init__(self, encoding: Encoding, form: CompactForm) -> None:
        self._form = form
        self._fields = tuple(f for f in form.fields if f.to)
        self._constant = sum(1 << f.lo for f in form.fields if f.name == "compact_control")
        self._scattered = {f.name: tuple(_scatter(f.to, value) for value in form.tables[f.table])
                           for f in self._fields if f.table}
        self._index = {f.name: self._indices(f) for f in self._fields if f.table}
        used = sum(f.hi - f.lo + 1 for f in form.fields if f.to or f.name == "compact_control")
        self._is_one_to_one = not form.immediate and used == COMPACT_BITS and all(
            len(table) == len(set(table)) for table in form.tables.values())
        # with an immediate, the fields of source 1 hold its bits
        self._immediate = encoding.by_name["immediate"]
        self._files = tuple(encoding.by_name[name] for name in ("src0_file", "src1_file"))
        self._with_immediate = tuple(
            CompactField(f.name, f.hi, f.lo, tuple(place for place in f.to if place[1] < self._immediate.lo), f.table)
            for f in self._fields if f.to[0][1] < self._immediate.lo)
        self._index_with_immediate = {f.name: self._indices(f) for f in self._with_immediate if f.table}

    def expand(self, word: int) -> int:
        """The 128-bit form of a compacted word, with the compaction bit cleared."""
        full = 0
        for f in self._fields:
            value = f.get(word)
            full |= self._scattered[f.name][value] if f.table else _scatter(f.to, value)
        if self._form.immediate and self._has_immediate(full):
            return full & ~self._immediate.put(-1) | self._immediate.put(self._expand_immediate(word))
        return full

    def compact(self, word: int) -> int | None:
        """The 64-bit form of a full word, or None if it has none.  Its compaction bit is ignored."""
        word &= ~COMPACT_BIT
        out = self._constant
        fields, indices = self._fields, self._index
        if self._form.immediate and self._has_immediate(word):
            fields, indices = self._with_immediate, self._index_with_immediate
            value = self._immediate.get(word)
            for hi, lo in self._form.immediate:
                out |= (value & (2 << hi - lo) - 1) << lo
                value >>= hi - lo + 1
        for f in fields:
            value = _gather(f.to, word)
            if f.table:
                index = indices[f.name].get(value)
                if index is None:
                    return None
                value = index
            out |= value << f.lo
        return out if self.expand(out) == word else None

    def unusual_bits(self, word: int, full: int) -> int:
        """How a compacted word differs from the one that `compact` makes of its full form."""
        if self._is_one_to_one:
            return 0
        short = self.compact(full)
        return 0 if short is None else short ^ word

    def _indices(self, f: CompactField) -> dict[int, int]:
        """Index by value of the bits that a field fills: of the first entry that has no other bits, else of any."""
        width = sum(hi - lo + 1 for hi, lo in f.to)
        table = tuple(enumerate(self._form.tables[f.table]))
        return {value & (1 << width) - 1: index
                for index, value in sorted(table, key=lambda entry: (entry[1] >> width == 0, -entry[0]))}

    def _has_immediate(self, full: int) -> bool:
        return any(f.get(full) == RegFile.IMM for f in self._files)

    def _expand_immediate(self, word: int) -> int:
        value = bits = 0
        for hi, lo in self._form.immediate:
            value |= (word >> lo & (2 << hi - lo) - 1) << bits
            bits += hi - lo + 1
        return value - (1 << bits) if value >> bits - 1 else value


def _scatter(places: tuple[tuple[int, int], ...], value: int) -> int:
    out = 0
    for hi, lo in places:
        width = hi - lo + 1
        out |= (value & (1 << width) - 1) << lo
        value >>= width
    return out


def _gather(places: tuple[tuple[int, int], ...], word: int) -> int:
    out = at = 0
    for hi, lo in places:
        width = hi - lo + 1
        out |= (word >> lo & (1 << width) - 1) << at
        at += width
    return out
