"""Layouts whose bits without a name are reserved and must be zero, as manuals from Gen6 on say of nearly all of them.

These functions add the `Mbz` fields between the named ones, so a layout lists names only.  Bits that the manual calls
reserved without asking for zero are listed as `Ignored`.  A bit that some shape of a union names is not filled in.
"""

from __future__ import annotations

from collections.abc import Sequence

from gen4emu.hw.fields import Array, Field, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Client, Command


def with_mbz(dwords: int, fields: Sequence[Field | Array], *, first_dword: tuple[int, int] = (31, 0),
             ) -> list[Field | Array]:
    """The fields in the order of their bits, with `Mbz` for the bits that none of them claims.

    Of dword 0, only the bits `first_dword` are looked at: the others are the header's.
    """
    free = [0xFFFFFFFF] * dwords
    if dwords:
        hi, lo = first_dword
        free[0] = (1 << hi + 1) - (1 << lo) if hi >= lo else 0
    for f in fields:
        if isinstance(f, Array):
            end = dwords if f.count is None else f.dword + f.count * f.item.size(Gen.ALL)
            for dword in range(f.dword, min(end, dwords)):
                free[dword] = 0
            continue
        for bit in range(f.lo, f.hi + 1):
            dword = f.dword + bit // 32
            if dword < dwords:
                free[dword] &= ~(1 << bit % 32)
    out: list[Field | Array] = [*fields, *(mbz for dword in range(dwords) for mbz in _runs(dword, free[dword]))]
    return sorted(out, key=lambda f: (f.dword, -f.lo if isinstance(f, Field) else 0))


def _runs(dword: int, free: int) -> list[Field]:
    """`Mbz` fields for the bits that are set, the highest first."""
    runs: list[Field] = []
    hi: int | None = None
    for bit in range(31, -2, -1):
        if bit >= 0 and free >> bit & 1:
            hi = bit if hi is None else hi
        elif hi is not None:
            runs.append(Mbz(dword, hi, bit + 1))
            hi = None
    return runs


def _command(name: str, header: int, opcode_low: int, length: tuple[int, int] | None, dwords: int,
             fields: Sequence[Field | Array], ref: str, doc: str, *, privileged: bool = False) -> Command:
    low = 0 if length is None else length[0] + 1
    return Command(name, header, opcode_low, length, dwords,
                   with_mbz(dwords, fields, first_dword=(opcode_low - 1, low)), ref=ref, doc=doc,
                   privileged=privileged)


def gfx_command(name: str, code: int, dwords: int, fields: Sequence[Field | Array] = (), *,
                length: tuple[int, int] | None = (7, 0), ref: str, doc: str = "") -> Command:
    """A 3D, media or common command by the upper 16 bits of its header."""
    return _command(name, code << 16, 16, length, dwords, fields, ref, doc)


def mi_command(name: str, opcode: int, dwords: int, fields: Sequence[Field | Array] = (), *,
               length: tuple[int, int] = (7, 0), privileged: bool = False, ref: str, doc: str = "") -> Command:
    """A memory interface command; opcodes below 0x10 are one dword without a length."""
    return _command(name, Client.MI << 29 | opcode << 23, 23, length if opcode >= 0x10 else None, dwords, fields,
                    ref, doc, privileged=privileged)


def blt_command(name: str, opcode: int, dwords: int, fields: Sequence[Field | Array] = (), *, ref: str,
                doc: str = "") -> Command:
    """A 2D command."""
    return _command(name, Client.BLT << 29 | opcode << 22, 22, (7, 0), dwords, fields, ref, doc)


def state_block(name: str, dwords: int, fields: Sequence[Field | Array], *, ref: str, align: int = 4,
                doc: str = "") -> Block:
    """A state block in memory, or an item of a command."""
    return Block(name, dwords, with_mbz(dwords, fields), ref=ref, align=align, doc=doc)
