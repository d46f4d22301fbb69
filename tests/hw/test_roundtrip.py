"""Values from dwords and dwords from values: nothing is lost in any layout, on any part, in any shape of a union."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu.hw.fields import Const, Field, Float, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, View
from tests.hw.everything import LAYOUTS, names, parts_of, random_dwords


def _is_nan(f: Field, raw: int) -> bool:
    return isinstance(f, Float) and raw & 0x7FFFFFFF > 0x7F800000


def without_reserved_bits(view: View) -> list[int]:
    """The dwords of a view with reserved bits zeroed."""
    words = [int(w) for w in view.words[view.at:view.at + view.dwords]]
    for f, _ in view.fields():
        if isinstance(f, Mbz):
            f.insert(words, 0)
    for a in view.layout.arrays_for(view.gen):
        for i, item in enumerate(view.array(a)):
            at = a.dword + i * item.dwords
            words[at:at + item.dwords] = without_reserved_bits(item)
    return words


def packed_from_values(view: View) -> list[int]:
    """The dwords that the view's values make.  NaNs go through their bits: Python may change their payload."""
    layout, gen = view.layout, view.gen
    present = [(f, raw) for f, raw in view.fields() if not isinstance(f, Mbz | Const)]
    values: dict[str, object] = {f.name: f.decode(raw) for f, raw in present if not _is_nan(f, raw)}
    for a in layout.arrays_for(gen):
        values[a.name] = [packed_from_values(item) for item in view.array(a)]
    words = layout.pack(gen, **values)
    for f, raw in present:
        if _is_nan(f, raw):
            f.insert(words, raw)
    return words


def check(layout: Block, part: Gen, words: list[int]) -> None:
    view = layout.view(words, gen=part)
    assert packed_from_values(view) == without_reserved_bits(view), part


@pytest.mark.parametrize("layout", LAYOUTS, ids=names)
def test_every_layout_packs_what_it_showed(layout: Block) -> None:
    rng = random.Random(layout.name)
    for part in parts_of(layout):
        for words in random_dwords(layout, part, rng):
            check(layout, part, words)


@settings(max_examples=400)
@given(st.sampled_from(LAYOUTS), st.data())
def test_any_dwords_pack_as_they_were(layout: Block, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from(list(parts_of(layout))))
    items = data.draw(st.integers(0, 4))
    tail = max((items * a.item.size(part) for a in layout.arrays_for(part) if a.count is None), default=0)
    size = layout.size(part) + tail
    words = data.draw(st.lists(st.integers(0, 2**32 - 1), min_size=size, max_size=size))
    for f in layout.fields_for(part):
        if isinstance(f, Const):
            f.insert(words, f.value)
    check(layout, part, words)


@pytest.mark.parametrize("layout", LAYOUTS, ids=names)
def test_defaults_have_no_reserved_bits_and_show_as_values(layout: Block) -> None:
    for part in parts_of(layout):
        zero = layout.view([0] * layout.size(part), gen=part)
        for f, raw in zero.fields():
            assert isinstance(f.text(raw), str)
            if isinstance(f, Mbz):
                assert f.complaint(raw) is None


@pytest.mark.parametrize("layout", LAYOUTS, ids=names)
def test_every_reserved_bit_is_complained_about(layout: Block) -> None:
    rng = random.Random(layout.name)
    for part in parts_of(layout):
        for words in random_dwords(layout, part, rng):
            view = layout.view(words, gen=part)
            reserved = [f.name for f, raw in view.fields() if type(f) is Mbz and raw]
            found = [c.field.name for c in layout.complaints(words, gen=part) if c.layout == layout.name]
            assert [name for name in reserved if name not in found] == [], part


@pytest.mark.parametrize("layout", LAYOUTS, ids=names)
def test_short_and_empty_input_reads_as_zero(layout: Block) -> None:
    for part in parts_of(layout):
        for have in range(min(layout.size(part), 8)):
            view = layout.view([0xFFFFFFFF] * have, gen=part)
            view.to_dict()
            layout.complaints([0xFFFFFFFF] * have, gen=part)
            assert all(raw == 0 for f, raw in view.fields() if f.dword >= have)
