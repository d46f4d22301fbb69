"""Views, builders and checks that every layout gets, shown on small layouts made for it and on the catalogue."""

from __future__ import annotations

import struct

import pytest

from gen4emu.errors import FieldError
from gen4emu.hw import catalogue
from gen4emu.hw.fields import Address, Array, Bool, Const, Float, Mbz, Uint, unless, when
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import GEN4, command_length, common, mi
from gen4emu.hw.layout import Block, Client, gfx
from gen4emu.hw.layout import mi as mi_command
from tests.harness.parts import GEN4_PARTS

PAIR = Block("PAIR", 2, [Uint("first", 0, 31, 0), Mbz(1, 31, 16), Uint("second", 1, 15, 0, high=9)])
HOLDER = Block("HOLDER", 1, [Uint("n", 0, 31, 0), Array("pairs", 1, PAIR)])
FIXED_HOLDER = Block("FIXED_HOLDER", 5, [Uint("n", 0, 31, 0), Array("pairs", 1, PAIR, 2)])
UNION = Block("UNION", 1, [
    Bool("wide", 0, 31),
    Uint("number", 0, 30, 0, when=(when("wide", 1),)),
    Mbz(0, 30, 8, when=(unless("wide", 1),)),
    Uint("byte", 0, 7, 0, when=(unless("wide", 1),)),
])
GROWN = Block("GROWN", {Gen.GEN4: 1, Gen.GEN45: 2}, [
    Uint("old", 0, 31, 0, gens=Gen.GEN4),
    Address("new", 0, 63, 12, gens=Gen.GEN45),
    Mbz(0, 11, 0, gens=Gen.GEN45),
])


def test_a_view_reads_fields_by_name() -> None:
    view = PAIR.view([0, 7, 0x0001_0005], 1, gen=Gen.BW)
    assert view.first == 7
    assert view.second == 5
    assert view.raw("second") == 5
    assert view.to_dict() == {"first": 7, "second": 5}
    with pytest.raises(AttributeError, match="PAIR has no field third"):
        _ = view.third


def test_a_view_sees_later_changes_of_its_dwords() -> None:
    words = [1, 2]
    view = PAIR.view(words, gen=Gen.BW)
    words[0] = 9
    assert view.first == 9


def test_a_view_reads_bytes_through_a_memoryview() -> None:
    data = struct.pack("<3I", 0, 7, 5)
    assert PAIR.view(memoryview(data).cast("I"), 1, gen=Gen.BW).to_dict() == {"first": 7, "second": 5}


def test_dwords_that_are_not_there_read_as_zero() -> None:
    assert PAIR.view([7], gen=Gen.BW).to_dict() == {"first": 7, "second": 0}
    assert PAIR.view([], gen=Gen.BW).to_dict() == {"first": 0, "second": 0}
    assert PAIR.view([7, 5], gen=Gen.BW, dwords=1).to_dict() == {"first": 7, "second": 0}


def test_an_open_array_runs_to_the_end() -> None:
    words = [3, 1, 2, 3, 4, 5]
    assert [p.first for p in HOLDER.view(words, gen=Gen.BW).pairs] == [1, 3]
    assert HOLDER.view(words, gen=Gen.BW, dwords=3).to_dict() == {"n": 3, "pairs": [{"first": 1, "second": 2}]}
    assert HOLDER.view([3], gen=Gen.BW).pairs == []


def test_a_counted_array_has_its_count() -> None:
    assert [p.first for p in FIXED_HOLDER.view([0, 1, 2, 3, 4, 5, 6], gen=Gen.BW).pairs] == [1, 3]
    assert FIXED_HOLDER.pack(Gen.BW, n=1, pairs=[{"first": 2}]) == [1, 2, 0, 0, 0]
    with pytest.raises(FieldError, match="at most 2"):
        FIXED_HOLDER.pack(Gen.BW, pairs=[[0, 0]] * 3)


def test_arrays_pack_from_values_and_from_dwords() -> None:
    assert HOLDER.pack(Gen.BW, n=1, pairs=[{"first": 2, "second": 3}, (4, 5)]) == [1, 2, 3, 4, 5]
    with pytest.raises(FieldError, match="has 1 dwords, not 2"):
        HOLDER.pack(Gen.BW, pairs=[(4,)])


def test_complaints_name_the_item_and_count_dwords_from_the_outermost() -> None:
    found = HOLDER.complaints([0, 0, 0, 0, 0x0001_000A], gen=Gen.BW)
    assert [str(c) for c in found] == [
        "HOLDER.pairs[1]: reserved_1_31_16 (dword 4, bits 31:16) reserved bits are 0x1, must be zero",
        "HOLDER.pairs[1]: second (dword 4, bits 15:0) 10 is above 9",
    ]
    assert HOLDER.complaints([0, 0, 9], gen=Gen.BW) == []


def test_a_union_shows_the_part_in_use() -> None:
    assert UNION.view([0x80000103], gen=Gen.BW).to_dict() == {"wide": True, "number": 0x103}
    assert UNION.view([0x00000103], gen=Gen.BW).to_dict() == {"wide": False, "byte": 3}
    assert [c.field.name for c in UNION.complaints([0x00000103], gen=Gen.BW)] == ["reserved_0_30_8"]
    assert UNION.complaints([0x80000103], gen=Gen.BW) == []


def test_generations_may_differ_in_size_and_fields() -> None:
    assert GROWN.size(Gen.CL) == 1
    assert GROWN.size(Gen.EL) == 2
    assert GROWN.pack(Gen.CL, old=5) == [5]
    assert GROWN.pack(Gen.EL, new=0x1_0000_1000) == [0x1000, 1]
    with pytest.raises(FieldError, match="GROWN has no field old"):
        GROWN.pack(Gen.EL, old=5)
    with pytest.raises(AttributeError):
        _ = GROWN.view([0], gen=Gen.CL).new
    with pytest.raises(KeyError):
        GROWN.size(Gen.KBL)


def test_pack_names_the_layout_in_its_errors() -> None:
    with pytest.raises(FieldError, match=r"PAIR: second: 65536 does not fit bits 15:0 of dword 1"):
        PAIR.pack(Gen.BW, second=65536)
    with pytest.raises(FieldError, match="PAIR has no field third on"):
        PAIR.pack(Gen.BW, third=1)


def test_build_makes_little_endian_bytes() -> None:
    assert PAIR.build(Gen.BW, first=1, second=2) == b"\1\0\0\0\2\0\0\0"


def test_float_and_constant_in_one_block() -> None:
    block = Block("B", 1, [Const("tag", 0, 31, 31, 1), Uint("low", 0, 30, 0)])
    assert block.pack(Gen.BW) == [0x80000000]
    assert block.view([0xC0000000], gen=Gen.BW).to_dict() == {"low": 0x40000000}
    assert [c.what for c in block.complaints([0], gen=Gen.BW)] == ["is 0x0, must be 0x1"]
    assert Block("F", 1, [Float("f", 0, 31, 0)]).pack(Gen.BW, f=1.5) == [0x3FC00000]


def test_a_command_writes_its_own_header_and_length() -> None:
    command = gfx("TEST", 0x7801, 3, [Mbz(0, 15, 8), Uint("a", 1, 31, 0), Uint("b", 2, 31, 0)])
    assert command.pack(Gen.BW, a=1, b=2) == [0x78010001, 1, 2]
    assert command.pack(Gen.BW, dword_length=3) == [0x78010003, 0, 0]
    assert command.length(0x78010005) == 7


def test_the_length_of_an_open_array_is_written() -> None:
    command = gfx("TEST", 0x7808, 1, [Mbz(0, 15, 8), Array("pairs", 1, PAIR)])
    assert command.pack(Gen.BW, pairs=[(1, 2), (3, 4)]) == [0x78080003, 1, 2, 3, 4]
    with pytest.raises(FieldError, match="TEST: dword_length"):
        command.pack(Gen.BW, pairs=[(0, 0)] * 129)


def test_a_command_may_have_a_shorter_form() -> None:
    command = gfx("3DSTATE_NAME", 0x7801, 3, [Uint("low", 1, 31, 0), Uint("high", 2, 31, 0)], optional=1)
    assert (command.least(Gen.EL), command.size(Gen.EL)) == (2, 3)
    assert command.view([0x78010000, 7], gen=Gen.EL).to_dict() == {"dword_length": 0, "low": 7, "high": 0}


def test_mi_opcodes_below_16_have_no_length() -> None:
    assert mi_command("A", 0x0F, 1).length_field is None
    assert mi_command("B", 0x10, 2).length_field is not None


# --- the catalogue ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("header", "name"), [
    (0x05000000, "MI_BATCH_BUFFER_END"),
    (0x18800180, "MI_BATCH_BUFFER_START"),
    (0x7A004002, "PIPE_CONTROL"),
    (0x54F00006, "XY_SRC_COPY_BLT"),
    (0x60003F01, "URB_FENCE"),
    (0x7B001804, "3DPRIMITIVE"),
])
def test_commands_are_found_by_their_header(header: int, name: str) -> None:
    for gen in GEN4_PARTS:
        command = catalogue.command_for(header, gen)
        assert command is not None
        assert command.name == name


@pytest.mark.parametrize("header", [0x0B000000, 0x20000000, 0x41000000, 0x7C000000, 0x80000000, 0xE0000000])
def test_unknown_headers_have_no_command(header: int) -> None:
    assert catalogue.command_for(header, Gen.EL) is None


def test_both_encodings_of_a_command_are_known_everywhere_and_written_in_one_way() -> None:
    for gen, select, statistics in ((Gen.CL, 0x6104, 0x780B), (Gen.CTG, 0x6904, 0x680B)):
        for code in (0x6104, 0x6904):
            assert catalogue.command_for(code << 16, gen) is not None
        assert catalogue.command_named("PIPELINE_SELECT", gen).header == select << 16
        assert catalogue.command_named("3DSTATE_VF_STATISTICS", gen).header == statistics << 16


# The first dwords of the commands of a GM45 capture , and other lengths.
@pytest.mark.parametrize(("header", "dwords"), [
    (0x69040000, 1), (0x79090000, 2), (0x61020000, 2), (0x680B0000, 1), (0x61010004, 6), (0x78010004, 6),
    (0x79010003, 5), (0x79050004, 6), (0x78000005, 7), (0x60003F01, 3), (0x60010000, 2), (0x79000002, 4),
    (0x78080003, 5), (0x78090001, 3), (0x60020100, 2), (0x7B001804, 6), (0x61040000, 1), (0x780B0001, 1),
    (0x71000102, 0x104), (0x00000000, 1), (0x05000000, 1), (0x18800180, 2), (0x10800001, 3), (0x11000003, 5),
    (0x12000001, 3), (0x54F00006, 8), (0x80000005, 1), (0xE0000005, 1), (0x20000005, 1),
])
def test_lengths_come_from_the_header(header: int, dwords: int) -> None:
    assert command_length(header) == dwords


def test_long_register_lists_have_eight_bits_of_length() -> None:
    assert command_length(0x1100004F) == 0x51
    assert mi.MI_LOAD_REGISTER_IMM.length(0x1100004F) == 0x51
    assert command_length(0x10800041) == 3


def test_every_command_agrees_with_the_length_rule_of_its_client() -> None:
    for command in (*GEN4.commands, *catalogue.GEN45.commands):
        for length in (0, 1, 0x3F):
            words = [command.header]
            if command.length_field is not None:
                command.length_field.insert(words, length)
            assert command_length(words[0]) == command.length(words[0]), command.name


def test_only_known_commands_have_two_encodings() -> None:
    for part in GEN4_PARTS:
        table = catalogue.catalogue_of(part)
        headers_by_name: dict[str, set[int]] = {}
        for c in table.commands:
            headers_by_name.setdefault(c.name, set()).add(c.header)
        assert {name for name, headers in headers_by_name.items() if len(headers) > 1} == {
            "PIPELINE_SELECT", "3DSTATE_VF_STATISTICS"}
        by_name: dict[str, list[Block]] = {}
        for layout in (*table.blocks, *table.messages, *table.registers):
            by_name.setdefault(layout.name, []).append(layout)
        assert [name for name, layouts in by_name.items() if len(layouts) > 1] == []


def test_an_enumeration_s_name_means_one_class() -> None:
    classes: dict[str, set[type]] = {}
    for layout in catalogue.FAMILIES[0].layouts:
        for f in layout.all_fields:
            enum = getattr(f, "enum", None)
            if enum is not None:
                classes.setdefault(enum.__name__, set()).add(enum)
    assert {name for name, found in classes.items() if len(found) > 1} == set()


def test_pointers_point_to_layouts_and_counts_are_fields() -> None:
    words = {"KERNEL", "SCRATCH", "VERTEX_DATA", "INDEX_DATA", "CONSTANTS", "SURFACE_DATA", "INDIRECT_DATA", "BATCH",
             "DATA", ""}
    names = {b.name for b in catalogue.FAMILIES[0].layouts} | words
    bases = {"", "general_state", "surface_state", "indirect_object", "instruction"}
    for layout in catalogue.FAMILIES[0].layouts:
        for f in layout.all_fields:
            if isinstance(f, Address):
                assert f.target in names, (layout.name, f.name, f.target)
                assert f.base in bases, (layout.name, f.name, f.base)
                if isinstance(f.count, str):
                    assert any(o.name == f.count for o in layout.all_fields), (layout.name, f.name, f.count)


def test_registers_are_found_by_any_of_their_dwords() -> None:
    low, high = (catalogue.register_at(offset, Gen.EL) for offset in (0x2350, 0x2354))
    assert low is not None
    assert low is high
    assert low.name == "PS_DEPTH_COUNT"
    assert catalogue.register_at(0x4030, Gen.CL) is None
    assert catalogue.register_at(0x2, Gen.CL) is None


def test_blocks_are_found_by_name() -> None:
    assert catalogue.block_named("PIPE_CONTROL", Gen.CL) is common.PIPE_CONTROL
    with pytest.raises(KeyError):
        catalogue.block_named("NO_SUCH_STATE", Gen.CL)
    with pytest.raises(KeyError):
        catalogue.command_named("NO_SUCH_COMMAND", Gen.EL)


def test_later_mi_opcodes_are_none_of_ours() -> None:
    ours = {c.header >> 23 for c in catalogue.FAMILIES[0].commands if c.header >> 29 == Client.MI}
    assert not ours & set(mi.LATER_MI_OPCODES)
    assert mi.LATER_MI_OPCODES[0x26] == "MI_FLUSH_DW"
    assert len(mi.LATER_MI_OPCODES) == 19
