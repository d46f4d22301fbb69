"""A generation that no other file mentions: everything of G45, but for one moved field, one new opcode, and so on."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import gen4emu
from gen4emu.hw.catalogue import FAMILIES, GEN4, GEN45, Catalogue, catalogue_of, generations
from gen4emu.hw.command_reader import CommandReader, Headers, Words
from gen4emu.hw.fields import Array, Mbz, Uint
from gen4emu.hw.gen import Gen
from gen4emu.hw.generation import Generation
from gen4emu.hw.layout import Block, Register, gfx

TOY = Gen(1 << 12)
G45 = catalogue_of(Gen.EL)
FLUSH = G45.command("MI_FLUSH").renumbered(0x26 << 23)
OFFSET = G45.command("3DSTATE_POLY_STIPPLE_OFFSET").changed(
    Uint("polygon_stipple_x_offset", 1, 28, 24), Uint("new_field", 1, 15, 14))
BUFFER = G45.block("VERTEX_BUFFER_STATE").changed(Uint("buffer_pitch", 0, 12, 1))


@pytest.fixture(scope="module")
def toy() -> Catalogue:
    table = GEN45.derive("toy", TOY, like=Gen.EL, replace=[FLUSH, OFFSET, BUFFER],
                        add=[gfx("3DSTATE_TOY", 0x7A7E, 2, [Uint("value", 1, 31, 0)]), Register("TOY", 0x9000)],
                        remove=["URB_FENCE", "CS_URB_STATE"])
    return Catalogue(TOY, table)


def test_entries_are_inherited_with_the_layout_of_the_predecessor(toy: Catalogue) -> None:
    assert len(toy.commands) == len(G45.commands) + 1 - 2
    for name in ("PIPE_CONTROL", "3DPRIMITIVE", "MI_STORE_DATA_IMM", "XY_COLOR_BLT", "3DSTATE_DEPTH_BUFFER"):
        ours, theirs = toy.command(name), G45.command(name)
        assert (ours.header, ours.size(TOY), [f.name for f in ours.fields_for(TOY)]) == (
            theirs.header, theirs.size(Gen.EL), [f.name for f in theirs.fields_for(Gen.EL)])
        assert ours.pack(TOY) == theirs.pack(Gen.EL)
    assert toy.register("RENDER_ACTHD").offset == 0x2074
    assert toy.register_at(0x9000) is toy.register("TOY")


def test_the_predecessor_does_not_change(toy: Catalogue) -> None:
    assert G45.command_for(0x7A7E0000) is None and G45.register_at(0x9000) is None
    assert G45.command("MI_FLUSH").header == 0x04 << 23
    assert G45.command_for(0x26 << 23) is None
    assert G45.command("3DSTATE_POLY_STIPPLE_OFFSET").pack(Gen.EL, polygon_stipple_x_offset=3)[1] == 3 << 8
    assert toy.command("3DSTATE_POLY_STIPPLE_OFFSET") is not G45.command("3DSTATE_POLY_STIPPLE_OFFSET")


def test_a_layout_that_does_not_change_is_shared(toy: Catalogue) -> None:
    assert toy.command("3DSTATE_LINE_STIPPLE") is G45.command("3DSTATE_LINE_STIPPLE")
    assert toy.block("SURFACE_STATE") is G45.block("SURFACE_STATE")


def test_a_field_moves(toy: Catalogue) -> None:
    command = toy.command("3DSTATE_POLY_STIPPLE_OFFSET")
    assert command.pack(TOY, polygon_stipple_x_offset=3, new_field=2)[1] == 3 << 24 | 2 << 14
    assert command.view((command.header, 9 << 24), gen=TOY).polygon_stipple_x_offset == 9


def test_a_changed_field_stays_in_the_order_of_the_bits(toy: Catalogue) -> None:
    fields = toy.command("3DSTATE_POLY_STIPPLE_OFFSET").fields_for(TOY)
    assert [f.name for f in fields if f.dword == 1] == [
        "reserved_1_31_29", "polygon_stipple_x_offset", "reserved_1_23_16", "new_field", "reserved_1_13_5",
        "polygon_stipple_y_offset"]


def test_a_changed_layout_may_have_another_size() -> None:
    grown = G45.command("3DSTATE_POLY_STIPPLE_OFFSET").changed(Uint("more", 2, 31, 0), dwords=3)
    assert grown.pack(Gen.EL, more=7) == [0x79060001, 0, 7]


def test_a_new_command_of_a_second_generation_is_found_by_its_name(toy: Catalogue) -> None:
    second = Gen(1 << 13)
    table = toy.generation.derive("second", second, like=TOY, add=[gfx("3DSTATE_NEW", 0x7A7D, 1)])
    assert Catalogue(second, table).command("3DSTATE_NEW").header == 0x7A7D0000


def test_an_opcode_is_renumbered(toy: Catalogue) -> None:
    assert toy.command_for(0x26 << 23) is toy.command("MI_FLUSH")
    assert toy.command_for(0x04 << 23) is None
    assert toy.command("MI_FLUSH").pack(TOY) == [0x26 << 23]
    assert not toy.command("MI_FLUSH").complaints([0x26 << 23], gen=TOY)


def test_a_block_changes_inside_the_arrays_that_hold_it(toy: Catalogue) -> None:
    command = toy.command("3DSTATE_VERTEX_BUFFERS")
    assert command.array_by_name(TOY)["vertex_buffers"].item is toy.block("VERTEX_BUFFER_STATE")
    words = command.pack(TOY, vertex_buffers=[{"buffer_pitch": 16}])
    assert words[1] == 16 << 1
    assert command.view(words, gen=TOY, dwords=len(words)).vertex_buffers[0].buffer_pitch == 16


def test_removed_commands_are_unknown(toy: Catalogue) -> None:
    assert toy.command_for(0x60000000) is None
    with pytest.raises(KeyError):
        toy.command("URB_FENCE")


def test_names_that_the_predecessor_does_not_have_are_errors() -> None:
    with pytest.raises(KeyError, match="NO_SUCH_COMMAND"):
        GEN45.derive("toy", TOY, like=Gen.EL, remove=["NO_SUCH_COMMAND"])
    with pytest.raises(KeyError, match="3DSTATE_TOY"):
        GEN45.derive("toy", TOY, like=Gen.EL, replace=[gfx("3DSTATE_TOY", 0x7A7E, 2)])
    with pytest.raises(KeyError, match="no_such_field"):
        G45.command("MI_FLUSH").changed(remove=["no_such_field"])


def test_what_other_parts_have_is_not_inherited() -> None:
    table = GEN4.derive("toy", TOY, like=Gen.BW)
    toy = Catalogue(TOY, table)
    assert toy.command_for(0x790A0001) is None  # 3DSTATE_AA_LINE_PARAMETERS, which G4x added
    assert toy.command("3DSTATE_DEPTH_BUFFER").size(TOY) == 5
    assert {f.name for f in toy.command("MI_FLUSH").fields_for(TOY)} == {
        f.name for f in GEN4_FLUSH.fields_for(Gen.BW)}


GEN4_FLUSH = catalogue_of(Gen.BW).command("MI_FLUSH")


def test_a_generation_of_its_own_has_its_own_length_rule() -> None:
    item = Block("TOY_ITEM", 1, [Uint("value", 0, 31, 0)])
    command = gfx("TOY_LIST", 0x7A7E, 1, [Array("items", 1, item)], length=(9, 0))
    toy = Catalogue(TOY, Generation("toy", TOY, lambda header: 3, (command,)))
    assert toy.length(0x7A7E0000 | 0x3FE) == 0x400
    assert toy.length(0x12345678) == 3
    assert [b.name for b in toy.all_layouts()] == ["TOY_ITEM", "TOY_LIST"]


def test_the_reader_reads_its_commands(toy: Catalogue) -> None:
    @dataclass
    class Entry:
        name: str
        dwords: int

    def decode(header: int) -> Entry:
        command = toy.command_for(header)
        return Entry("" if command is None else command.name, toy.length(header))

    dwords = [*toy.command("MI_FLUSH").pack(TOY), *toy.command("3DSTATE_TOY").pack(TOY), 0x60000001, 0, 0]

    def fetch(address: int, count: int) -> Words:
        data = b"".join(dword.to_bytes(4, "little") for dword in dwords[address // 4:address // 4 + count])
        return memoryview(data).cast("I")

    reader = CommandReader(Headers(decode, 64), fetch, 64)
    reader.jump(0)
    assert [(entry.name, len(words)) for entry, words in reader.batch()] == [
        ("MI_FLUSH", 1), ("3DSTATE_TOY", 2), ("", 3)]


def test_a_new_field_goes_where_its_bits_are() -> None:
    block = Block("B", 2, [Uint("a", 0, 31, 16), Mbz(0, 15, 0), Uint("b", 1, 31, 0)])
    changed = block.changed(Uint("c", 0, 15, 8), Uint("d", 2, 31, 0), dwords=3)
    assert [f.name for f in changed.all_fields] == ["a", "c", "reserved_0_7_0", "b", "d"]
    assert changed.size(TOY) == 3 and block.size(TOY) == 2
    assert [f.name for f in changed.changed(Uint("a", 0, 31, 20)).all_fields] == [
        "a", "reserved_0_19_16", "c", "reserved_0_7_0", "b", "d"]


def test_a_mark_of_the_new_parts_stays_and_one_of_the_old_parts_is_resolved() -> None:
    first, second = Gen(1 << 12), Gen(1 << 13)
    mode = Block("MODE", 1, [Uint("mode", 0, 31, 0, gens=Gen.CL), Mbz(0, gens=Gen.BW),
                             Uint("late", 0, 7, 0, gens=second)])
    old = Generation("old", Gen.GEN4, lambda header: 1, (), (mode,))
    table = old.derive("new", first | second, like=Gen.CL)
    names = [[f.name for f in Catalogue(part, table).block("MODE").fields_for(part)] for part in (first, second)]
    assert names == [["mode"], ["mode", "late"]]


def test_gen45_is_written_as_differences() -> None:
    shared = {id(layout) for layout in GEN4.layouts()}
    inherited = [layout for layout in GEN45.layouts() if id(layout) in shared]
    assert len(inherited) > 200 and len(GEN45.layouts()) - len(inherited) < 100


def test_no_table_marks_parts_of_another_generation() -> None:
    for generation in generations():
        for layout in generation.layouts():
            marks = [layout.gens, *(f.gens for f in layout.all_fields), *(a.gens for a in layout.all_arrays)]
            assert all(gens == Gen.ALL or gens & generation.parts for gens in marks), layout.name


def _imported_layouts() -> Iterator[tuple[str, Block]]:
    """Layouts that modules outside of the description import by name."""
    package = Path(gen4emu.__file__).parent
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        if parts[0] != "hw" and not parts[-1].startswith("__"):
            module = ".".join(("gen4emu", *parts))
            for value in vars(importlib.import_module(module)).values():
                if isinstance(value, Block):
                    yield module, value


def test_code_imports_only_layouts_that_are_the_same_on_all_parts_that_execute() -> None:
    """Any other layout has to come from the catalogue of the device's part."""
    tables = [{layout.name: layout for layout in generation.layouts()} for generation in FAMILIES[0].generations]
    imported = list(_imported_layouts())
    assert imported
    for module, layout in imported:
        assert all(table[layout.name] is layout for table in tables), (module, layout.name)
