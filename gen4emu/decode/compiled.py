"""Layouts compiled to fast functions of their dwords.

What a dword says depends on that dword alone, or on a few others where a union or a 64-bit field is involved.  So each
dword of each layout gets a cache from values to results, and each layout a generated function that joins them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, Protocol, TypeVar

from gen4emu.hw.fields import Address, Array, Const, Field, Ignored, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block

T = TypeVar("T")

_CACHE_LIMIT = 8192  # values kept for one dword: hostile input must not fill memory


class Maker(Protocol[T]):
    """How one kind of result is made and joined.  Results are added with `+`, so strings and tuples serve."""

    zero: T

    def dword(self, layout: Block, index: int, word: int, alive: Sequence[tuple[Field, int]]) -> T:
        """The result of one dword, from its fields that exist with their raw bits."""

    def array(self, array: Array, items: Sequence[T]) -> T:
        """The result of an array, from those of its items."""


class _Cache(dict[Any, Any]):
    """Results by value, made when first asked for."""

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
        self.caches = [self._cache(d, [f for f in fields if f.dword == d]) for d in range(self.known)]
        self.keys = [self._key(d) for d in range(self.known)]
        self.extra = _Cache(lambda word: maker.dword(layout, -1, word, ()))
        self.join: Callable[[Sequence[int], int], T] = self._generate(range(self.size))

    def __call__(self, words: Sequence[int]) -> T:
        if len(words) == self.size and not self.arrays:
            return self.join(words, 0)
        return self._long(words)

    # --- one dword -----------------------------------------------------------------------------------------------
    def _needs(self, dword: int) -> list[int]:
        """The dwords that decide what this one says, itself first."""
        needs = {dword}
        for f in self.layout.fields_for(self.gen):
            if f.dword == dword:
                needs.update(range(f.dword, f.last_dword + 1))
                for w in f.when:
                    selector = self.layout.field(w.field, self.gen)
                    needs.update(range(selector.dword, selector.last_dword + 1))
        return [dword, *sorted(needs - {dword})]

    def _cache(self, dword: int, fields: Sequence[Field]) -> _Cache:
        needs = self._needs(dword)
        layout, gen, make = self.layout, self.gen, self.maker.dword
        size = max(needs) + 1

        def result(key: Any) -> T:
            words = [0] * size
            for d, value in zip(needs, (key,) if len(needs) == 1 else key, strict=True):
                words[d] = value
            alive = [(f, f.extract(words)) for f in fields if not f.when or layout.exists(f, words, 0, gen)]
            return make(layout, dword, words[dword], alive)

        return _Cache(result)

    def _key(self, dword: int) -> str:
        return ", ".join(f"w[a + {d}]" if d else "w[a]" for d in self._needs(dword))

    # --- all dwords ----------------------------------------------------------------------------------------------
    def _generate(self, dwords: Sequence[int]) -> Callable[[Sequence[int], int], T]:
        """One expression that adds the cached results: as fast as this gets in Python."""
        terms = [f"c{d}[{self.keys[d]}]" for d in dwords]
        scope: dict[str, Any] = {f"c{d}": self.caches[d] for d in dwords}
        scope["zero"] = self.maker.zero
        source = f"lambda w, a: {' + '.join(terms) or 'zero'}"
        made: Callable[[Sequence[int], int], T] = eval(source, scope)
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
            out = out + self._plain(words, done, min(a.dword, n))
            item = self.items[a.name]
            out = out + self.maker.array(a, [item.item(words, a.dword + i * step) for i in range(count)])
            done = max(done, min(a.dword, n)) + count * step
        return out + self._plain(words, done, n)  # type: ignore[no-any-return]  # a sum of T is a T

    def item(self, words: Sequence[int], at: int) -> T:
        if not self.arrays:
            return self.join(words, at)
        return self._long(words[at:at + self.size])

    def _plain(self, words: Sequence[int], first: int, end: int) -> Any:
        parts = [self.one(words, d) for d in range(first, end)]
        if not parts:
            return self.maker.zero
        if isinstance(parts[0], str):
            return "".join(parts)
        out = parts[0]
        for part in parts[1:]:
            out = out + part
        return out

    def one(self, words: Sequence[int], dword: int) -> Any:
        """The result of one dword of the layout."""
        if dword >= self.known:
            return self.extra[words[dword]]
        needs = self._needs(dword)
        return self.caches[dword][words[dword] if len(needs) == 1 else tuple(words[d] for d in needs)]


class _Complaints:
    """Reserved bits, values out of range and wrong constants, as (rule, field, raw, what)."""

    zero: tuple[tuple[str, str, int, str], ...] = ()

    def dword(self, layout: Block, index: int, word: int,
              alive: Sequence[tuple[Field, int]]) -> tuple[tuple[str, str, int, str], ...]:
        found = []
        for f, raw in alive:
            what = f.complaint(raw)
            if what is not None:
                found.append((_rule(f), _place(f), raw, what))
        return tuple(found)

    def array(self, array: Array,
              items: Sequence[tuple[tuple[str, str, int, str], ...]]) -> tuple[tuple[str, str, int, str], ...]:
        return tuple((rule, f"{array.name}[{i}].{name}", raw, what)
                     for i, item in enumerate(items) if item for rule, name, raw, what in item)


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


class Follow:
    """The pointers of one layout: fields of its own, and those of its arrays' items."""

    __slots__ = ("arrays", "fields")

    def __init__(self, layout: Block, gen: Gen) -> None:
        self.fields = tuple(f for f in layout.fields_for(gen) if isinstance(f, Address) and f.target)
        self.arrays = tuple(a for a in layout.arrays_for(gen) if _points(a.item, gen))

    def __bool__(self) -> bool:
        return bool(self.fields or self.arrays)


def _points(item: Block, gen: Gen) -> bool:
    return any(isinstance(f, Address) and f.target for f in item.fields_for(gen))


@cache
def complaints_of(layout: Block, gen: Gen) -> Compiled[tuple[tuple[str, str, int, str], ...]]:
    return Compiled(layout, gen, _Complaints())


@cache
def follow_of(layout: Block, gen: Gen) -> Follow:
    return Follow(layout, gen)


def shown(f: Field, raw: int) -> bool:
    """Whether a field tells the reader something: not constants, lengths, zero reserved bits."""
    if isinstance(f, Mbz | Ignored):
        return raw != 0
    return not isinstance(f, Const) and f.name != "dword_length"


def words_of(raw: bytes | memoryview) -> tuple[int, ...]:
    return struct.unpack(f"<{len(raw) // 4}I", raw[:len(raw) & ~3])
