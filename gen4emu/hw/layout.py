"""Blocks, commands, registers and messages: named groups of fields, and the Python operations on them.

A layout is pure data.  It provides a view (named attributes over dwords, nothing copied), a builder (`pack`) and a
check for reserved bits and ranges (`complaints`).  `gen4emu.hw.c_header` generates the C side.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, ClassVar, Self, TypeVar

from gen4emu.errors import FieldError
from gen4emu.hw.fields import Array, Const, Field, Ignored, Mbz
from gen4emu.hw.gen import Gen

E = TypeVar("E", Field, Array)


@dataclass(frozen=True, slots=True)
class Complaint:
    """A field whose bits break a rule of the manual."""

    layout: str
    field: Field
    raw: int
    what: str
    dword: int  # within the outermost layout

    def __str__(self) -> str:
        f = self.field
        bits = f"{f.hi}" if f.hi == f.lo else f"{f.hi}:{f.lo}"
        return f"{self.layout}: {f.name} (dword {self.dword}, bits {bits}) {self.what}"


class View:
    """Named, typed attributes over the dwords of one layout.  `view.width` decodes on access; nothing is copied."""

    __slots__ = ("at", "dwords", "gen", "layout", "words")

    layout: Block
    words: Sequence[int]

    def __init__(self, layout: Block, words: Sequence[int], at: int, dwords: int, gen: Gen) -> None:
        self.layout, self.words, self.at, self.dwords, self.gen = layout, words, at, dwords, gen

    def __getattr__(self, name: str) -> Any:
        layout: Block = object.__getattribute__(self, "layout")
        f = layout.by_name(self.gen).get(name)
        if f is not None:
            return f.decode(f.extract(self.words, self.at))
        a = layout.array_by_name(self.gen).get(name)
        if a is not None:
            return self.array(a)
        raise AttributeError(f"{layout.name} has no field {name} on {self.gen!r}")

    def raw(self, name: str) -> int:
        """The bits of a field as an unsigned number."""
        return self.layout.field(name, self.gen).extract(self.words, self.at)

    def text(self, name: str) -> str:
        """The value of a field as listings show it."""
        return self.layout.field(name, self.gen).text(self.raw(name))

    def array(self, a: Array) -> list[View]:
        step = a.item.size(self.gen)
        capacity = (self.dwords - a.dword) // step
        count = max(0, capacity if a.count is None else min(a.count, capacity))
        return [a.item.view(self.words, self.at + a.dword + i * step, gen=self.gen, dwords=step) for i in range(count)]

    def fields(self) -> Iterator[tuple[Field, int]]:
        """Every field that exists here and now (unions resolved) with its raw bits, in declared order."""
        for f in self.layout.fields_for(self.gen):
            if f.last_dword < self.dwords and (not f.when or self.layout.exists(f, self.words, self.at, self.gen)):
                yield f, f.extract(self.words, self.at)

    def to_dict(self) -> dict[str, Any]:
        """Names to values, without reserved and constant bits; arrays as lists of such dicts."""
        out = {f.name: f.decode(raw) for f, raw in self.fields() if not isinstance(f, Mbz | Const)}
        for a in self.layout.arrays_for(self.gen):
            out[a.name] = [v.to_dict() for v in self.array(a)]
        return out

    def __repr__(self) -> str:
        return f"<{self.layout.name} {self.to_dict()}>"


class Block:
    """A group of fields in consecutive dwords."""

    reserved: ClassVar[type[Mbz]] = Mbz  # the kind of field for bits that the manual does not define

    def __init__(self, name: str, dwords: int | Mapping[Gen, int], fields: Sequence[Field | Array], *, ref: str = "",
                 gens: Gen = Gen.ALL, align: int = 4, doc: str = "") -> None:
        self.name, self.ref, self.gens, self.align, self.doc = name, ref, gens, align, doc
        self._dwords = dwords
        self.all_fields: tuple[Field, ...] = tuple(f for f in fields if isinstance(f, Field))
        self.all_arrays: tuple[Array, ...] = tuple(a for a in fields if isinstance(a, Array))
        self._fields: dict[Gen, tuple[Field, ...]] = {}
        self._by_name: dict[Gen, dict[str, Field]] = {}
        self._arrays: dict[Gen, dict[str, Array]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    # --- shape ---------------------------------------------------------------------------------------------------
    def size(self, gen: Gen) -> int:
        """Dwords of the fixed part."""
        if isinstance(self._dwords, int):
            return self._dwords
        for gens, dwords in self._dwords.items():
            if gen & gens:
                return dwords
        raise KeyError(f"{self.name} has no size on {gen!r}")

    def fields_for(self, gen: Gen) -> tuple[Field, ...]:
        found = self._fields.get(gen)
        if found is None:
            found = self._fields[gen] = tuple(f for f in self.all_fields if f.gens & gen)
        return found

    def by_name(self, gen: Gen) -> dict[str, Field]:
        found = self._by_name.get(gen)
        if found is None:
            found = self._by_name[gen] = {f.name: f for f in self.fields_for(gen)}
        return found

    def array_by_name(self, gen: Gen) -> dict[str, Array]:
        found = self._arrays.get(gen)
        if found is None:
            found = self._arrays[gen] = {a.name: a for a in self.all_arrays if a.gens & gen}
        return found

    def arrays_for(self, gen: Gen) -> tuple[Array, ...]:
        return tuple(self.array_by_name(gen).values())

    def field(self, name: str, gen: Gen) -> Field:
        try:
            return self.by_name(gen)[name]
        except KeyError:
            raise FieldError(f"{self.name} has no field {name} on {gen!r}") from None

    def exists(self, f: Field, words: Sequence[int], at: int, gen: Gen) -> bool:
        """Whether a field of a union is the one in use, by the selectors in the same dwords."""
        return all(w.holds(self.field(w.field, gen).extract(words, at)) for w in f.when)

    # --- generations ---------------------------------------------------------------------------------------------
    def as_on(self, like: Gen, parts: Gen, items: dict[str, Block]) -> Self:
        """This layout for a table of other parts, with the fields and the size that it has on the part `like`.

        Fields that are marked for some of `parts` keep this mark.  Arrays of blocks that `items` names have the item
        from there; items that are made here are added to it.  A layout that this would not change is not copied.
        """
        if self.gens == Gen.ALL and not self.all_arrays and all(f.gens == Gen.ALL for f in self.all_fields):
            return self
        fields = [(f, _inherited(f.gens, like, parts)) for f in self.all_fields]
        arrays: list[Array] = []
        for array in self.all_arrays:
            gens = _inherited(array.gens, like, parts)
            if gens:
                if array.item.name not in items:
                    items[array.item.name] = array.item.as_on(like, parts, items)
                item = items[array.item.name]
                same = item is array.item and gens == array.gens
                arrays.append(array if same else replace(array, item=item, gens=gens))
        own = _inherited(self.gens, like, parts)
        if (own == self.gens and isinstance(self._dwords, int) and arrays == list(self.all_arrays)
                and all(gens == f.gens for f, gens in fields)):
            return self
        copied = copy(self)
        copied.define(own, self.size(like), (marked(f, gens) for f, gens in fields if gens), arrays)
        return copied

    def changed(self, *entries: Field | Array, remove: Collection[str] = (), dwords: int | None = None, name: str = "",
                ref: str = "", doc: str = "") -> Self:
        """This layout with other fields, arrays or another size, and without the entries that `remove` names.

        An entry replaces those with the same name; one that is new or moved goes where its bits are.  Bits that become
        free are reserved (of a register, ignored), and reserved bits that an entry takes are reserved no more.
        """
        names = {*(f.name for f in self.all_fields), *(a.name for a in self.all_arrays)}
        unknown = sorted(set(remove) - names)
        if unknown:
            raise KeyError(f"{self.name} has no {', '.join(unknown)}")
        reserved = {(f.dword, f.hi, f.lo): f for f in self.all_fields if type(f) is self.reserved and not f.when}
        gone = {*remove, *(f.name for f in reserved.values())} - {entry.name for entry in entries}
        fields = [f for f in self.all_fields if f.name not in gone]
        arrays = [a for a in self.all_arrays if a.name not in gone]
        old = {*(f.name for f in fields), *(a.name for a in arrays)} & {entry.name for entry in entries}
        for entry in entries:
            if isinstance(entry, Array):
                _put(arrays, entry, entry.name in old)
            else:
                _put(fields, entry, entry.name in old)
            old.discard(entry.name)
        size = self._dwords if dwords is None else dwords
        for place in free_runs((*fields, *arrays), size if isinstance(size, int) else max(size.values())):
            _put(fields, reserved.get(place) or self.reserved(*place), False)
        return self.with_fields(size, [*fields, *arrays], name=name, ref=ref, doc=doc)

    def with_fields(self, dwords: int | Mapping[Gen, int], fields: Sequence[Field | Array], *, name: str = "",
                    ref: str = "", doc: str = "") -> Self:
        """This layout with another size and other fields; `name`, `ref` and `doc` replace the old ones if given."""
        copied = copy(self)
        copied.define(self.gens, dwords, (f for f in fields if isinstance(f, Field)),
                    (a for a in fields if isinstance(a, Array)))
        copied.name, copied.ref, copied.doc = name or self.name, ref or self.ref, doc or self.doc
        return copied

    def with_count(self, array: str, count: int) -> Self:
        """This block with so many items in its last array, and as long as they are."""
        found = next(a for a in self.all_arrays if a.name == array)
        dwords = found.dword + count * found.item.size(self.gens)
        return self.with_fields(dwords, [*self.all_fields, replace(found, count=count)])

    def define(self, gens: Gen, dwords: int | Mapping[Gen, int], fields: Iterable[Field],
               arrays: Iterable[Array]) -> None:
        """Give a fresh copy of a layout other contents."""
        self.gens, self._dwords = gens, dwords
        self.all_fields, self.all_arrays = tuple(fields), tuple(arrays)
        self._fields, self._by_name, self._arrays = {}, {}, {}

    # --- reading -------------------------------------------------------------------------------------------------
    def view(self, words: Sequence[int], at: int = 0, *, gen: Gen, dwords: int | None = None) -> View:
        """A view of the layout at index `at`.  Dwords that are not there (a short command) read as zero."""
        size = self.size(gen)
        if dwords is None:
            dwords = size if not self.arrays_for(gen) else len(words) - at
        if dwords < size or at + size > len(words):
            have = list(words[at:at + dwords])
            words, at, dwords = have + [0] * (size - len(have)), 0, size
        return View(self, words, at, dwords, gen)

    def complaints(self, words: Sequence[int], at: int = 0, *, gen: Gen, dwords: int | None = None) -> list[Complaint]:
        """Reserved bits that are set, values out of range, wrong constants; arrays included."""
        view = self.view(words, at, gen=gen, dwords=dwords)
        found = []
        for f, raw in view.fields():
            what = f.complaint(raw)
            if what is not None:
                found.append(Complaint(self.name, f, raw, what, f.dword))
        for a in self.arrays_for(gen):
            for i, item in enumerate(view.array(a)):
                start = a.dword + i * a.item.size(gen)
                found += [Complaint(f"{self.name}.{a.name}[{i}]", c.field, c.raw, c.what, start + c.dword)
                          for c in a.item.complaints(item.words, item.at, gen=gen, dwords=item.dwords)]
        return found

    # --- writing -------------------------------------------------------------------------------------------------
    def pack(self, gen: Gen, **values: Any) -> list[int]:
        """The dwords of this layout with the given fields; the rest have their defaults (raw zero or the constant)."""
        words = [0] * self.size(gen)
        names = self.by_name(gen)
        arrays = self.array_by_name(gen)
        for f in self.fields_for(gen):
            if isinstance(f, Const):
                f.insert(words, f.value)
        for name, value in values.items():
            if name in arrays:
                continue
            f = names.get(name)  # type: ignore[assignment]  # mypy joins the loop variables
            if f is None:
                raise FieldError(f"{self.name} has no field {name} on {gen!r}")
            try:
                f.insert(words, f.encode(value))
            except FieldError as e:
                raise FieldError(f"{self.name}: {e}") from None
        for name, array in arrays.items():
            words = self._pack_array(words, array, values.get(name, ()), gen)
        return words

    def _pack_array(self, words: list[int], array: Array, items: Sequence[Any], gen: Gen) -> list[int]:
        if array.count is not None and len(items) > array.count:
            raise FieldError(f"{self.name}: {array.name} has at most {array.count} items, not {len(items)}")
        if array.count is None:
            words = words[:array.dword]
        step = array.item.size(gen)
        for i, item in enumerate(items):
            packed = array.item.pack(gen, **item) if isinstance(item, Mapping) else [int(w) for w in item]
            if len(packed) != step:
                raise FieldError(f"{self.name}: {array.name}[{i}] has {len(packed)} dwords, not {step}")
            at = array.dword + i * step
            words[at:at + step] = packed
        return words

    def build(self, gen: Gen, **values: Any) -> bytes:
        words = self.pack(gen, **values)
        return struct.pack(f"<{len(words)}I", *words)


class Client:
    """The top three bits of a command header."""

    MI, BLT, GFXPIPE = 0, 2, 3


class Engine(IntEnum):
    """An engine, each of which has a ring of its own, by the kernel's I915_EXEC_* numbers.

    From Gen6 on, the media commands of the render engine and the MFX commands of the video engine share their opcodes.
    """

    RENDER = 1
    VIDEO = 2
    BLITTER = 3
    VIDEO_ENHANCEMENT = 4


def _inherited(gens: Gen, like: Gen, parts: Gen) -> Gen:
    """The parts, of `parts`, that inherit from `like` something that `gens` have: Gen.ALL for all of them."""
    if gens == Gen.ALL:
        return Gen.ALL
    own = gens & parts
    return Gen.ALL if own == parts or (not own and gens & like) else own


def marked(f: Field, gens: Gen) -> Field:
    """This field, on these parts."""
    if f.gens == gens:
        return f
    copied = copy(f)
    object.__setattr__(copied, "gens", gens)  # the subclasses with fewer arguments cannot be `replace`d
    return copied


def free_runs(entries: Iterable[Field | Array], dwords: int, taken: int = 0) -> Iterator[tuple[int, int, int]]:
    """The runs of bits that no entry has, as (dword, high, low) from the top of each dword.

    Bit n of `taken` is set if bit n, counted from bit 0 of dword 0, belongs to something else.
    """
    for entry in entries:
        if isinstance(entry, Array):
            taken |= (1 << 32 * (entry.count or 0) * entry.item.size(Gen.ALL)) - 1 << 32 * entry.dword
        else:
            taken |= entry.mask << 32 * entry.dword + entry.lo
    for dword in range(dwords):
        free = ~taken >> 32 * dword & 0xFFFFFFFF
        while free:
            above = free.bit_length()  # the bit above the highest free run
            low = (free ^ (1 << above) - 1).bit_length()
            yield dword, above - 1, low
            free &= (1 << low) - 1


def _put(entries: list[E], new: E, replaces: bool) -> None:
    """Insert an entry in the order of the bits; if it replaces those with its name, in their place unless it moved."""
    at = None
    if replaces:
        same = [i for i, entry in enumerate(entries) if entry.name == new.name]
        at = next((i for i in same[:1] if _start(entries[i]) == _start(new)), None)
        entries[:] = [entry for entry in entries if entry.name != new.name]
    if at is None:
        before = [i for i, entry in enumerate(entries) if _start(entry) <= _start(new)]
        at = before[-1] + 1 if before else 0
    entries.insert(at, new)


def _start(entry: Field | Array) -> tuple[int, int]:
    """The place of an entry in the order of the bits."""
    return entry.dword, 0 if isinstance(entry, Array) else -entry.hi


def client_of(header: int) -> int:
    """The client of a command header: a constant of `Client`, or an unassigned number."""
    return header >> 29


class Command(Block):
    """A layout whose first dword is a header: client, opcode and mostly a length.

    The fields of the header are added here from the opcode; the caller lists the others, header options included.
    Two encodings of one command share a name: both are accepted, and drivers write the one that is `written`.
    `engine` is the only engine on which the opcode means this command, or None.  `optional` is the number of dwords at
    the end that a shorter form of the command leaves out.
    """

    def __init__(self, name: str, header: int, opcode_low: int, length: tuple[int, int] | None,
                 dwords: int | Mapping[Gen, int], fields: Sequence[Field | Array], *, ref: str = "",
                 gens: Gen = Gen.ALL, written: bool = True, privileged: bool = False,
                 engine: Engine | None = None, optional: int = 0, doc: str = "") -> None:
        opcode_bits = header >> opcode_low & (1 << (29 - opcode_low)) - 1
        top: list[Field | Array] = [
            Const("client", 0, 31, 29, header >> 29),
            Const("opcode", 0, 28, opcode_low, opcode_bits),
        ]
        self.length_field: Field | None = None
        if length is not None:
            self.length_field = Field("dword_length", 0, *length)
            top.append(self.length_field)
        super().__init__(name, dwords, [*top, *fields], ref=ref, gens=gens, doc=doc)
        self.header = header
        self.opcode_low = opcode_low
        self.privileged = privileged
        self.engine = engine
        self.written = written
        self.optional = optional

    def has_opcode_of(self, header: int) -> bool:
        """Whether a header has this command's client and opcode."""
        return header >> self.opcode_low == self.header >> self.opcode_low

    def least(self, gen: Gen) -> int:
        """Dwords of the shortest form."""
        return self.size(gen) - self.optional

    @property
    def client(self) -> int:
        """The unit that executes it: a constant of `Client`."""
        return client_of(self.header)

    @property
    def draws(self) -> bool:
        """Whether it is a draw: commands that draw are numbered through a trace (docs/identity.md)."""
        if self.client == Client.BLT:
            return "SETUP" not in self.name
        return self.name == "3DPRIMITIVE" or self.name.startswith(("MEDIA_OBJECT", "GPGPU_OBJECT", "GPGPU_WALKER"))

    def renumbered(self, header: int) -> Self:
        """This command with another opcode: `header` has everything in front of the options and the length."""
        copied = self.changed(*(replace(f, value=f.extract((header,))) for f in self.all_fields
                                if isinstance(f, Const) and f.name in ("client", "opcode")))
        copied.header = header
        return copied

    def with_optional(self, dwords: int) -> Self:
        """This command, of which a shorter form leaves out so many dwords at the end."""
        copied = self.changed()
        copied.optional = dwords
        return copied

    def length(self, header: int) -> int:
        """Total dwords by the command's own header."""
        return 1 if self.length_field is None else self.length_field.extract((header,)) + 2

    def pack(self, gen: Gen, **values: Any) -> list[int]:
        words = super().pack(gen, **values)
        if self.length_field is not None and "dword_length" not in values:
            try:
                self.length_field.insert(words, self.length_field.encode(len(words) - 2))
            except FieldError as e:
                raise FieldError(f"{self.name}: {e}") from None
        return words


def mi(name: str, opcode: int, dwords: int, fields: Sequence[Field | Array] = (), *, length: tuple[int, int] = (5, 0),
       ref: str = "", gens: Gen = Gen.ALL, privileged: bool = False, doc: str = "") -> Command:
    """A memory interface command; opcodes below 0x10 are one dword without a length."""
    return Command(name, Client.MI << 29 | opcode << 23, 23, length if opcode >= 0x10 else None, dwords, fields,
                   ref=ref, gens=gens, privileged=privileged, doc=doc)


def blt(name: str, opcode: int, dwords: int, fields: Sequence[Field | Array] = (), *, ref: str = "",
        gens: Gen = Gen.ALL, doc: str = "") -> Command:
    """A 2D command."""
    return Command(name, Client.BLT << 29 | opcode << 22, 22, (7, 0), dwords, fields, ref=ref, gens=gens, doc=doc)


def gfx(name: str, code: int, dwords: int | Mapping[Gen, int], fields: Sequence[Field | Array] = (), *,
        length: tuple[int, int] | None = (7, 0), ref: str = "", gens: Gen = Gen.ALL,
        written: bool = True, engine: Engine | None = None, optional: int = 0, doc: str = "") -> Command:
    """A 3D, media or common command by the upper 16 bits of its header."""
    return Command(name, code << 16, 16, length, dwords, fields, ref=ref, gens=gens, written=written, engine=engine,
                   optional=optional, doc=doc)


class Register(Block):
    """An MMIO register of one or two dwords.  Writes to masked registers name the bits that change (`masked_write`)."""

    reserved: ClassVar[type[Mbz]] = Ignored  # it is not an error if a dump has undocumented bits set

    def __init__(self, name: str, offset: int, fields: Sequence[Field | Array] = (), *, dwords: int = 1,
                 masked: bool = False, reset: int = 0, ref: str = "", gens: Gen = Gen.ALL, doc: str = "") -> None:
        super().__init__(name, dwords, fields, ref=ref, gens=gens, doc=doc)
        self.offset, self.masked, self.reset = offset, masked, reset


def written_bits(value: int) -> int:
    """The bits of the lower half that a write of `value` to a masked register changes."""
    return value >> 16


def masked_write(value: int, changed: int = 0xFFFF) -> int:
    """The write to a masked register after which the `changed` bits of its lower half are those of `value`."""
    return changed << 16 | value


class Message(Block):
    """The descriptor dword of a `send` to one shared function."""

    def __init__(self, name: str, sfid: int, fields: Sequence[Field | Array], *, ref: str = "",
                 gens: Gen = Gen.ALL, doc: str = "") -> None:
        super().__init__(name, 1, fields, ref=ref, gens=gens, doc=doc)
        self.sfid = sfid
