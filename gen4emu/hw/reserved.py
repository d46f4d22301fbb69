"""Layouts whose unlisted bits are reserved: commands, blocks and registers that list only the fields of the manual.

`block`, `gfx` and `mi` are the constructors of `gen4emu.hw.layout`, which claim every bit that no field claims as
`Mbz`; `register` claims them as `Ignored`.  `Block.changed` does the same for a layout of a later generation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gen4emu.hw import layout
from gen4emu.hw.fields import Array, Bool, Const, Field, Ignored, Mbz
from gen4emu.hw.layout import Block, Command, Engine, Register, free_runs

_Fields = Iterable[Field | Array]


def _in_order(item: Field | Array) -> tuple[int, int]:
    return item.dword, 0 if isinstance(item, Array) else -item.hi


def with_reserved(fields: _Fields, dwords: int, kind: type[Mbz] = Mbz, *,
                  header: Sequence[int] = ()) -> list[Field | Array]:
    """The fields in the order of their bits, and a reserved field for each run of bits that they leave.

    `header` are bits of dword 0 that the caller does not list: opcode and length.
    """
    listed = list(fields)
    runs = free_runs(listed, dwords, sum(1 << bit for bit in header))
    return sorted([*listed, *(kind(*run) for run in runs)], key=_in_order)


def block(name: str, dwords: int, fields: _Fields, *, ref: str, align: int = 4, doc: str = "") -> Block:
    """A state block."""
    return Block(name, dwords, with_reserved(fields, dwords), ref=ref, align=align, doc=doc)


def gfx(name: str, code: int, dwords: int, fields: _Fields = (), *, length: tuple[int, int] | None = (7, 0), ref: str,
        engine: Engine | None = None, optional: int = 0, doc: str = "") -> Command:
    """A 3D, media or common command by the upper 16 bits of its header."""
    header = (*range(16, 32), *(range(length[0] + 1) if length else ()))
    return layout.gfx(name, code, dwords, with_reserved(fields, dwords, header=header), length=length, ref=ref,
                      engine=engine, optional=optional, doc=doc)


def mi(name: str, opcode: int, dwords: int, fields: _Fields = (), *, length: tuple[int, int] = (5, 0), ref: str,
       privileged: bool = False, doc: str = "") -> Command:
    """A memory interface command; opcodes below 0x10 are one dword without a length."""
    header = (*range(23, 32), *(range(length[0] + 1) if opcode >= 0x10 else ()))
    return layout.mi(name, opcode, dwords, with_reserved(fields, dwords, header=header), length=length, ref=ref,
                     privileged=privileged, doc=doc)


def register(name: str, offset: int, fields: _Fields, *, dwords: int = 1, masked: bool = False, ref: str,
             doc: str = "") -> Register:
    """An MMIO register.  Undocumented bits are ignored: it is not an error if a dump has them set."""
    return Register(name, offset, with_reserved(fields, dwords, Ignored), dwords=dwords, masked=masked, ref=ref,
                    doc=doc)


def bits(names: dict[int, str], dword: int = 0) -> list[Field]:
    """Single bits of a dword by number."""
    return [Bool(name, dword, bit) for bit, name in names.items()]


def must_be_one(dword: int, bit: int) -> Const:
    """A reserved bit that must be set."""
    return Const(f"must_be_one_{dword}_{bit}", dword, bit, bit, 1)
