"""Layouts that list only the fields of the manual: the bits between them are reserved, also in their successors."""

from __future__ import annotations

import pytest

from gen4emu.hw.fields import Array, Bool, Field, Ignored, Mbz, Uint, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Engine
from gen4emu.hw.reserved import block, gfx, mi, must_be_one, register

OLD = block("OLD", 2, [Bool("on", 0, 31), Uint("size", 0, 15, 8), Uint("wide", 1, 31, 0)], ref="a manual")


def reserved(layout: Block) -> list[str]:
    return [f.name for f in layout.all_fields if isinstance(f, Mbz)]


def places(fields: tuple[Field, ...]) -> list[tuple[int, int, int]]:
    return [(f.dword, f.hi, f.lo) for f in fields]


def test_the_bits_between_the_fields_are_reserved() -> None:
    assert places(OLD.all_fields) == [(0, 31, 31), (0, 30, 16), (0, 15, 8), (0, 7, 0), (1, 31, 0)]
    assert reserved(OLD) == ["reserved_0_30_16", "reserved_0_7_0"]


def test_header_and_arrays_are_not_reserved() -> None:
    draw = gfx("3DSTATE_NAME", 0x7801, 3, [Bool("flag", 0, 15), Array("items", 2, OLD)], ref="a manual")
    assert reserved(draw) == ["reserved_0_14_8", "reserved_1_31_0", "reserved_2_31_0"]
    counted = block("COUNTED", 5, [Array("items", 1, OLD, 2)], ref="a manual")
    assert reserved(counted) == ["reserved_0_31_0"]
    assert reserved(mi("MI_SHORT", 0x0C, 1, ref="a manual")) == ["reserved_0_22_0"]
    assert reserved(mi("MI_LONG", 0x1C, 1, length=(7, 0), ref="a manual")) == ["reserved_0_22_8"]


def test_undocumented_bits_of_a_register_are_ignored() -> None:
    bit = register("REGISTER", 0x2000, [Bool("enable", 0, 0)], ref="a manual")
    assert bit.complaints([0xFFFFFFFF], gen=Gen.SNB) == []
    assert isinstance(bit.all_fields[0], Ignored)
    assert bit.changed(Bool("enable", 0, 4), Uint("n", 0, 3, 0)).complaints([0xFFFFFFFF], gen=Gen.SNB) == []


def test_a_successor_replaces_adds_and_removes() -> None:
    new = OLD.changed(Uint("size", 0, 19, 8), Bool("more", 0, 0), remove=["on"])
    assert [f.name for f in new.all_fields] == ["reserved_0_31_20", "size", "reserved_0_7_1", "more", "wide"]
    assert (new.ref, new.size(Gen.IVB)) == ("a manual", 2)
    assert places(OLD.all_fields)[0] == (0, 31, 31)


def test_a_successor_may_grow_and_has_another_name() -> None:
    new = OLD.changed(dwords=3, name="NEW", ref="a later manual", doc="longer")
    assert (new.name, new.size(Gen.IVB), new.ref, new.doc) == ("NEW", 3, "a later manual", "longer")
    assert reserved(new) == ["reserved_0_30_16", "reserved_0_7_0", "reserved_2_31_0"]


def test_reserved_bits_of_a_union_stay() -> None:
    union = block("UNION", 1, [Bool("s", 0, 31), Mbz(0, 30, 0, when=(when("s", 0),)),
                               Uint("n", 0, 30, 0, when=(when("s", 1),))], ref="a manual")
    assert [f.name for f in union.changed().all_fields] == ["s", "reserved_0_30_0", "n"]


def test_removing_what_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="OLD has no height"):
        OLD.changed(remove=["height"])


def test_a_bit_that_must_be_one_is_packed_and_checked() -> None:
    pointers = block("POINTERS", 1, [Uint("offset", 0, 31, 6), must_be_one(0, 0)], ref="a manual")
    assert pointers.pack(Gen.IVB) == [1]
    assert [c.what for c in pointers.complaints([0], gen=Gen.IVB)] == ["is 0x0, must be 0x1"]


def test_a_command_of_one_engine_keeps_it() -> None:
    assert gfx("MFX_NAME", 0x7000, 2, ref="a manual", engine=Engine.VIDEO).changed().engine is Engine.VIDEO
