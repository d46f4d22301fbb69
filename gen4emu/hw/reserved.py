"""Layouts whose unlisted bits are reserved: commands, blocks and registers that list only the fields of the manual.

`block`, `gfx` and `mi` are the constructors of `gen4emu.hw.layout`, which claim every bit that no field claims as
`Mbz`; `register` claims them as `Ignored`.  `changed` makes the layout of a later generation from an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from gen4emu.hw import layout
from gen4emu.hw.fields import Array, Bool, Const, Field, Ignored, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Command, Engine, Register

B = TypeVar("B", bound=Block)
_Fields = Iterable[Field | Array]


def _claimed(item: Field | Array) -> int:
    """The bits of a field or an array, as a mask that starts with bit 0 of dword 0."""
    if isinstance(item, Array):
        return ((1 << 32 * (item.count or 0) * item.item.size(Gen.ALL)) - 1) << 32 * item.dword
    return item.mask << 32 * item.dword + item.lo


def _in_order(item: Field | Array) -> tuple[int, int]:
    return item.dword, 0 if isinstance(item, Array) else -item.hi


def with_reserved(fields: _Fields, dwords: int, kind: type[Mbz] = Mbz, *,
                  header: Sequence[int] = ()) -> list[Field | Array]:
    """The fields in the order of their bits, and a reserved field for each run of bits that they leave.

    `header` are bits of dword 0 that the caller does not list: opcode and length.
    """
    listed = list(fields)
    taken = sum(1 << bit for bit in header)
    for item in listed:
        taken |= _claimed(item)
    for dword in range(dwords):
        free = ~taken >> 32 * dword & 0xFFFFFFFF
        while free:
            above = free.bit_length()  # the bit above the highest free run
            low = (free ^ (1 << above) - 1).bit_length()
            listed.append(kind(dword, above - 1, low))
            free &= (1 << low) - 1
    return sorted(listed, key=_in_order)


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


def changed(old: B, *fields: Field | Array, remove: Collection[str] = (), dwords: int | None = None, name: str = "",
            ref: str = "", doc: str = "") -> B:
    """A layout of the predecessor with other fields: those in `fields` replace those with the same names.

    `remove` names fields that are gone.  Bits that become free are reserved (of a register, ignored), and reserved
    bits may be claimed.
    """
    kind = Ignored if isinstance(old, Register) else Mbz
    items: tuple[Field | Array, ...] = (*old.all_fields, *old.all_arrays)
    missing = set(remove) - {item.name for item in items}
    if missing:
        raise KeyError(f"{old.name} has no {', '.join(sorted(missing))}")
    names = {f.name for f in fields} | set(remove)
    kept = [item for item in items if item.name not in names and not (type(item) is kind and not item.when)]
    size = old.size(Gen.ALL) if dwords is None else dwords
    return old.with_fields(size, with_reserved((*kept, *fields), size, kind), name=name, ref=ref, doc=doc)


def must_be_one(dword: int, bit: int) -> Const:
    """A reserved bit that must be set."""
    return Const(f"must_be_one_{dword}_{bit}", dword, bit, bit, 1)
