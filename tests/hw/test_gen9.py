"""The Kaby Lake commands: headers from the manual, a 64-bit address, an array with nine bits of length, unions."""

from __future__ import annotations

import pytest

from gen4emu.hw import catalogue
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen9 import commands as gen9

BY_NAME = {c.name: c for c in gen9.COMMANDS}


# Command type, subtype, opcode, sub-opcode and default length of each table.
@pytest.mark.parametrize(("name", "header"), [
    ("3DPRIMITIVE", 0x7B000005),
    ("3DSTATE_AA_LINE_PARAMETERS", 0x790A0001),
    ("3DSTATE_BINDING_TABLE_EDIT_DS", 0x78460000),
    ("3DSTATE_BINDING_TABLE_EDIT_GS", 0x78440000),
    ("3DSTATE_BINDING_TABLE_EDIT_HS", 0x78450000),
    ("3DSTATE_BINDING_TABLE_EDIT_PS", 0x78470000),
    ("3DSTATE_BINDING_TABLE_EDIT_VS", 0x78430000),
    ("3DSTATE_BINDING_TABLE_POINTERS_DS", 0x78280000),
    ("3DSTATE_BINDING_TABLE_POINTERS_GS", 0x78290000),
    ("3DSTATE_BINDING_TABLE_POINTERS_HS", 0x78270000),
    ("3DSTATE_BINDING_TABLE_POINTERS_PS", 0x782A0000),
    ("3DSTATE_BINDING_TABLE_POINTERS_VS", 0x78260000),
    ("3DSTATE_BINDING_TABLE_POOL_ALLOC", 0x79190002),
])
def test_headers(name: str, header: int) -> None:
    assert BY_NAME[name].pack(Gen.KBL)[0] == header
    assert catalogue.command_for(header, Gen.KBL) is BY_NAME[name]


def test_a_64_bit_address() -> None:
    words = gen9.BINDING_TABLE_POOL_ALLOC.pack(
        Gen.KBL, binding_table_pool_base_address=0x0000_1234_5678_9000, binding_table_pool_enable=True,
        surface_object_control_state=2, binding_table_pool_buffer_size=16)
    assert words == [0x79190002, 0x56789802, 0x00001234, 0x00010000]
    view = gen9.BINDING_TABLE_POOL_ALLOC.view(words, gen=Gen.KBL)
    assert view.binding_table_pool_base_address == 0x0000_1234_5678_9000


def test_256_entries_need_the_ninth_bit_of_the_length() -> None:
    edit = BY_NAME["3DSTATE_BINDING_TABLE_EDIT_PS"]
    entries = [{"binding_table_index": i, "surface_state_pointer": 64 * i} for i in range(256)]
    words = edit.pack(Gen.KBL, binding_table_block_clear=0xFFFF, binding_table_edit_target="ALL_CORES",
                      entries=entries)
    assert words[:4] == [0x78470100, 0xFFFF0003, 0x00000000, 0x00010001]
    assert edit.length(words[0]) == len(words) == 258
    assert edit.view(words, gen=Gen.KBL).entries[255].surface_state_pointer == 64 * 255


def test_an_indirect_draw_ignores_its_operands() -> None:
    draw = gen9.PRIMITIVE
    direct = draw.pack(Gen.KBL, vertex_count_per_instance=3, instance_count=1, base_vertex_location=-1)
    assert direct == [0x7B000005, 0, 3, 0, 1, 0, 0xFFFFFFFF]
    assert draw.view(direct, gen=Gen.KBL).to_dict()["base_vertex_location"] == -1
    indirect = [direct[0] | 1 << 10, *direct[1:]]
    assert "instance_count" not in draw.view(indirect, gen=Gen.KBL).to_dict()
    to_the_end = [direct[0], 1 << 9, *direct[2:]]
    assert "vertex_count_per_instance" not in draw.view(to_the_end, gen=Gen.KBL).to_dict()
    assert draw.view(to_the_end, gen=Gen.KBL).to_dict()["instance_count"] == 1


def test_gen4_does_not_know_them() -> None:
    assert catalogue.command_for(0x78470000, Gen.EL) is None
    found = catalogue.command_for(0x7B001804, Gen.EL)
    assert found is not None
    assert found is not gen9.PRIMITIVE
