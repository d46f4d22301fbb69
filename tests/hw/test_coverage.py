"""The rules that every layout obeys: each bit claimed once in every shape, names unique, arrays inside, sizes right."""

from __future__ import annotations

import pytest

from gen4emu.hw.fields import Array, Bool, Mbz, Uint, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block
from tests.hw.claims import misclaimed
from tests.hw.everything import LAYOUTS, names, parts_of


@pytest.mark.parametrize("layout", LAYOUTS, ids=names)
def test_every_bit_is_claimed_once(layout: Block) -> None:
    for part in parts_of(layout):
        assert misclaimed(layout, part) == [], part


@pytest.mark.parametrize("layout", LAYOUTS, ids=names)
def test_a_name_means_one_field_on_each_part(layout: Block) -> None:
    for part in parts_of(layout):
        seen = [f.name for f in layout.fields_for(part) if not isinstance(f, Mbz)]
        seen += [a.name for a in layout.arrays_for(part)]
        assert sorted(set(seen)) == sorted(seen), part


@pytest.mark.parametrize("layout", LAYOUTS, ids=names)
def test_unions_select_by_fields_that_exist(layout: Block) -> None:
    for part in parts_of(layout):
        known = layout.by_name(part)
        for f in layout.fields_for(part):
            for rule in f.when:
                assert rule.field in known, (f.name, part)
                assert max(rule.values) <= known[rule.field].mask, (f.name, part)


@pytest.mark.parametrize("layout", LAYOUTS, ids=names)
def test_every_layout_says_where_it_comes_from(layout: Block) -> None:
    assert layout.ref or layout.doc


# The check itself must notice what it is there for.
def _wrong(*fields: Uint | Bool | Mbz | Array) -> list[str]:
    return misclaimed(Block("B", 1, list(fields)), Gen.BW)


def test_a_gap_is_noticed() -> None:
    assert _wrong(Uint("a", 0, 31, 1)) == ["dword 0 bit 0: unclaimed"]


def test_an_overlap_is_noticed() -> None:
    assert _wrong(Uint("a", 0, 31, 1), Uint("b", 0, 1, 0)) == ["dword 0 bit 1: a, b"]


def test_a_gap_in_one_shape_of_a_union_is_noticed() -> None:
    assert _wrong(Bool("s", 0, 31), Uint("a", 0, 30, 0, when=(when("s", 1),)), Mbz(0, 30, 1, when=(when("s", 0),))) == [
        "dword 0 bit 0: unclaimed"]


def test_a_field_beyond_the_end_is_noticed() -> None:
    assert _wrong(Uint("a", 0, 31, 0), Bool("b", 1, 7)) == ["dword 1 bit 7: b"]


def test_an_array_beyond_the_end_is_noticed() -> None:
    item = Block("I", 1, [Uint("x", 0, 31, 0)])
    assert len(_wrong(Uint("a", 0, 31, 0), Array("items", 1, item, 1))) == 32
