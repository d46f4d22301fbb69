"""Layouts compiled to fast functions of their dwords.

What a dword says depends on that dword alone, or on a few others where a union or a 64-bit field is involved.  So each
dword of each layout gets a cache from values to results, filled by a generated function where one dword is enough.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

from gen4emu.hw.fields import Address, Array, Const, Enum, Field, Fixed, Float, Ignored, Mbz, Sint, Uint
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block

T = TypeVar("T")

_CACHE_LIMIT = 1024  # values cached for one dword: bounds the memory that hostile input can use
_FLOAT = struct.Struct("<f")
_WORD = struct.Struct("<I")


Conditional = tuple[Field, str]  # a field, and a Python expression that says when it exists; empty: always


class Maker(Protocol[T]):
    """Makes and joins one kind of result.  Results are added with `+`, so they are strings or tuples."""

    zero: T

    def dword(self, layout: Block, index: int, word: int, alive: Sequence[tuple[Field, int]]) -> T:
        """The result of one dword, from its fields that exist with their raw bits."""

    def array(self, array: Array, items: Sequence[T]) -> T:
        """The result of an array, from those of its items."""

    def relevant(self, f: Field) -> bool:
        """Whether a field can contribute at all."""

    def source(self, layout: Block, index: int, fields: Sequence[Conditional], scope: dict[str, Any]) -> str | None:
        """`dword` as a Python expression of `v`, or None if the field has no simple expression."""


class _Cache(dict[Any, Any]):
    """Results by value, made on first use."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, key: Any) -> Any:
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        value = self[key] = self.make(key)
        return value


class Compiled(Generic[T]):
    """`compiled(words)`: the joined result of all dwords of one layout on one part."""

    def __init__(self, layout: Block, gen: Gen, maker: Maker[T]) -> None:
        self.layout, self.gen, self.maker = layout, gen, maker
        self.size = layout.size(gen)
        self.arrays = sorted(layout.arrays_for(gen), key=lambda a: a.dword)
        self.items = {a.name: Compiled(a.item, gen, maker) for a in self.arrays}
        fields = layout.fields_for(gen)
        self.known = max([self.size, *(f.last_dword + 1 for f in fields)])
        self.needs = [self._needs(d) for d in range(self.known)]
        self.caches = [self._cache(d) for d in range(self.known)]
        self.extra = _Cache(lambda word: maker.dword(layout, -1, word, ()))
        self.join = self._generate(range(self.size))
        last = self.arrays[0] if len(self.arrays) == 1 else None
        self.tail = last if last is not None and last.count is None and last.dword == self.size == self.known else None
        self.step = self.tail.item.size(gen) if self.tail is not None else 0

    def __call__(self, words: Sequence[int]) -> T:
        if len(words) == self.size and not self.arrays:
            return self.join(words, 0)
        tail = self.tail
        if tail is None or len(words) < self.size:
            return self._long(words)
        item, step = self.items[tail.name], self.step
        items = [item.item(words, at) for at in range(self.size, len(words) - step + 1, step)]
        out: Any = self.join(words, 0)
        out = out + self.maker.array(tail, items)
        for d in range(self.size + step * len(items), len(words)):
            out = out + self.one(words, d)
        return out  # type: ignore[no-any-return]  # a sum of T is a T

    # --- one dword -----------------------------------------------------------------------------------------------
    def _fields(self, dword: int) -> list[Field]:
        return [f for f in self.layout.fields_for(self.gen) if f.dword == dword and self.maker.relevant(f)]

    def _needs(self, dword: int) -> list[int]:
        """The dwords that the result of this one depends on, itself first."""
        needs = {dword}
        for f in self._fields(dword):
            needs.update(range(f.dword, f.last_dword + 1))
            for w in f.when:
                selector = self.layout.field(w.field, self.gen)
                needs.update(range(selector.dword, selector.last_dword + 1))
        return [dword, *sorted(needs - {dword})]

    def _cache(self, dword: int) -> _Cache:
        needs, fields = self.needs[dword], self._fields(dword)
        layout, gen, make = self.layout, self.gen, self.maker.dword
        if not any(f.hi >= 32 for f in fields):
            scope: dict[str, Any] = {}
            source = self.maker.source(layout, dword, [(f, self._condition(f, needs, scope)) for f in fields], scope)
            if source is not None:
                made = f"lambda v: {source}"
                return _Cache(eval(made if len(needs) == 1 else f"lambda k: ({made})(k[0])", scope))
        size = max(needs) + 1

        def result(key: Any) -> T:
            words = [0] * size
            for d, value in zip(needs, (key,) if len(needs) == 1 else key, strict=True):
                words[d] = value
            alive = [(f, f.extract(words)) for f in fields if not f.when or layout.exists(f, words, 0, gen)]
            return make(layout, dword, words[dword], alive)

        return _Cache(result)

    def _condition(self, f: Field, needs: Sequence[int], scope: dict[str, Any]) -> str:
        """When a field of a union exists: its selectors are in this dword, `v`, or in another of the key, `k`."""
        terms = []
        for w in f.when:
            selector = self.layout.field(w.field, self.gen)
            at = needs.index(selector.dword)
            raw = raw_source(selector, "v" if at == 0 else f"k[{at}]")
            name = f"values_{len(scope)}"
            scope[name] = w.values
            terms.append(f"{raw} {'not in' if w.negate else 'in'} {name}")
        return " and ".join(terms)

    # --- all dwords ----------------------------------------------------------------------------------------------
    def _generate(self, dwords: Sequence[int]) -> Callable[[Sequence[int], int], T]:
        """One expression that adds the cached results: as fast as this gets in Python."""
        scope: dict[str, Any] = {"zero": self.maker.zero}
        terms = []
        for d in dwords:
            if self.maker.zero == () and not self._fields(d):
                continue  # nothing can come of it
            scope[f"c{d}"] = self.caches[d]
            key = ", ".join(f"w[a + {n}]" if n else "w[a]" for n in self.needs[d])
            terms.append(f"c{d}[{key}]")
        made: Callable[[Sequence[int], int], T] = eval(f"lambda w, a: {' + '.join(terms) or 'zero'}", scope)
        return made

    def _long(self, words: Sequence[int]) -> T:
        """Commands with arrays, with optional dwords, or of an unexpected length."""
        n = len(words)
        if n < self.known:  # the missing dwords decide unions as zeros
            words = [*words, *([0] * (self.known - n))]
        out: Any = self.maker.zero
        done = 0
        for a in self.arrays:
            step = a.item.size(self.gen)
            room = max(0, n - a.dword) // step
            count = room if a.count is None else min(room, a.count)
            for d in range(done, min(a.dword, n)):
                out = out + self.one(words, d)
            item = self.items[a.name]
            out = out + self.maker.array(a, [item.item(words, a.dword + i * step) for i in range(count)])
            done = max(done, min(a.dword, n)) + count * step
        for d in range(done, n):
            out = out + self.one(words, d)
        return out  # type: ignore[no-any-return]  # a sum of T is a T

    def item(self, words: Sequence[int], at: int) -> T:
        if not self.arrays:
            return self.join(words, at)
        return self._long(words[at:at + self.size])

    def one(self, words: Sequence[int], dword: int) -> Any:
        """The result of one dword of the layout."""
        if dword >= self.known:
            return self.extra[words[dword]]
        needs = self.needs[dword]
        return self.caches[dword][words[dword] if len(needs) == 1 else tuple([words[d] for d in needs])]


# --- values as source -----------------------------------------------------------------------------------------------
def raw_source(f: Field, word: str = "v") -> str:
    """The raw bits of a field of one dword."""
    if f.width == 32:
        return word
    return f"({word} >> {f.lo} & {f.mask})" if f.lo else f"({word} & {f.mask})"


def number_source(f: Field, scope: dict[str, Any]) -> str | None:
    """The value of a numeric field of one dword `v` as Python source, or None for kinds without one."""
    raw = raw_source(f)
    half = 1 << (f.width - 1)
    if isinstance(f, Uint):
        text = f"({raw} + {f.bias})" if f.bias else raw
        return f"{text} * {f.scale}" if f.scale != 1 else text
    if isinstance(f, Sint):
        return f"(({raw} ^ {half}) - {half})"
    if isinstance(f, Fixed):
        return f"(({raw} ^ {half}) - {half}) / {1 << f.frac}" if f.signed else f"{raw} / {1 << f.frac}"
    if isinstance(f, Float):
        scope["unpack_float"], scope["pack_word"] = _FLOAT.unpack, _WORD.pack
        return "unpack_float(pack_word(v))[0]"
    if isinstance(f, Address):
        return f"(v & {f.mask << f.lo})"
    return None


def named_source(f: Enum, scope: dict[str, Any], text: Callable[[int], str]) -> str:
    """The text of an enumeration's value as a lookup."""
    name = f"names_{len(scope)}"
    scope[name] = _Cache(text)
    return f"{name}[{raw_source(f)}]"


# --- complaints -----------------------------------------------------------------------------------------------------
Complaints = tuple[tuple[str, str, int, str], ...]  # rule, field, raw, what


class _Complaints:
    """Reserved bits, values out of range and wrong constants."""

    zero: Complaints = ()

    def dword(self, layout: Block, index: int, word: int, alive: Sequence[tuple[Field, int]]) -> Complaints:
        found = []
        for f, raw in alive:
            what = f.complaint(raw)
            if what is not None:
                found.append((_rule(f), _place(f), raw, what))
        return tuple(found)

    def array(self, array: Array, items: Sequence[Complaints]) -> Complaints:
        return tuple([(rule, f"{array.name}[{i}].{name}", raw, what)
                      for i, item in enumerate(items) if item for rule, name, raw, what in item])

    def relevant(self, f: Field) -> bool:
        if isinstance(f, Uint | Sint | Fixed):
            return f.low is not None or f.high is not None
        return type(f).complaint is not Field.complaint and not isinstance(f, Ignored)

    def source(self, layout: Block, index: int, fields: Sequence[Conditional], scope: dict[str, Any]) -> str | None:
        """One condition for all rules; only if it fails, fields are checked one by one."""
        mask = want = 0
        terms = []
        for f, condition in fields:
            if isinstance(f, Const | Mbz) and not condition:
                mask |= f.mask << f.lo
                want |= f.value << f.lo if isinstance(f, Const) else 0
                continue
            right = self._right(f, scope)
            if right is None:
                return None
            if right:
                terms.append(f"(not ({condition}) or {right})" if condition else right)
        if mask:
            terms.insert(0, f"v & {mask} == {want}")
        if not terms:
            return "()"
        scope["slow"] = lambda v, exist: self.dword(layout, index, v, [
            (f, v >> f.lo & f.mask) for (f, _), exists in zip(fields, exist, strict=True) if exists])
        exist = "".join(f"{condition or True}, " for _, condition in fields)
        return f"() if {' and '.join(terms)} else slow(v, ({exist}))"

    def _right(self, f: Field, scope: dict[str, Any]) -> str | None:
        """The condition of one field: empty if every value is valid, None if it is not a simple one."""
        if isinstance(f, Mbz):
            return f"{raw_source(f)} == 0"
        if isinstance(f, Enum):
            name = f"enum_{len(scope)}"
            scope[name] = frozenset(f.enum._value2member_map_)
            return f"{raw_source(f)} in {name}" if len(scope[name]) <= f.mask else ""
        if isinstance(f, Uint | Sint | Fixed):
            low = "" if f.low is None else f"{f.low} <= "
            high = "" if f.high is None else f" <= {f.high}"
            return f"{low}{number_source(f, scope)}{high}"
        return None


def _rule(f: Field) -> str:
    if isinstance(f, Mbz):
        return "reserved-bits"
    return "wrong-constant" if isinstance(f, Const) else "out-of-range"


def _place(f: Field) -> str:
    """A reserved field has no better name than its place."""
    if not isinstance(f, Mbz):
        return f.name
    bits = f"bit {f.lo}" if f.hi == f.lo else f"bits {f.hi}:{f.lo}"
    return f"dword {f.dword} {bits}"


@cache
def complaints_of(layout: Block, gen: Gen) -> Compiled[Complaints]:
    return Compiled(layout, gen, _Complaints())


# --- pointers -------------------------------------------------------------------------------------------------------
class Follow:
    """The pointers of one layout: fields of its own, and those of its arrays' items."""

    __slots__ = ("arrays", "fields")

    def __init__(self, layout: Block, gen: Gen) -> None:
        self.fields = tuple(_targeted(layout, gen))
        self.arrays = tuple(a for a in layout.arrays_for(gen) if any(_targeted(a.item, gen)))


def _targeted(layout: Block, gen: Gen) -> Iterator[Address]:
    return (f for f in layout.fields_for(gen) if isinstance(f, Address) and f.target)


@cache
def follow_of(layout: Block, gen: Gen) -> Follow:
    return Follow(layout, gen)


def shown(f: Field, raw: int) -> bool:
    """Whether a field is informative: not a constant, a length or zero reserved bits."""
    if isinstance(f, Mbz):
        return raw != 0
    return not isinstance(f, Const) and f.name != "dword_length"


def showable(f: Field) -> bool:
    """Whether a field may ever be shown."""
    return not isinstance(f, Const) and f.name != "dword_length"


def words_of(raw: bytes | memoryview) -> tuple[int, ...]:
    return struct.unpack(f"<{len(raw) // 4}I", raw[:len(raw) & ~3])
