"""Pointers to state, kernels and data, and what decides how far they reach."""

from __future__ import annotations

import random
import struct

import pytest

from gen4emu.decode import Data, Kernel
from gen4emu.decode.blits import operands
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import blt
from tests.harness.batch import (
    PS,
    BatchDecoder,
    bases,
    commands,
    diagnostics,
    nodes,
    pixel_pipeline,
    rules,
    states,
    surface,
    table,
    triangle,
)
from tests.harness.messages import MEDIA_END, WRITE_16, operand

GENERAL, SURFACE = 0x0040_0000, 0x0080_0000
SAMPLE_1 = operand("SAMPLER_MESSAGE", length=5, response=8, sampler_index=1, binding_table_index=3)
SAMPLE = f"""
send(16) 1 g10<1>UW g0<8,8,1>UW {SAMPLE_1} {{ align1 }};
send(16) 1 null<1>UW g0<8,8,1>UW {WRITE_16} {{ align1 }};
"""


def test_pointers_are_relative_to_their_bases() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine, GENERAL)
    machine.dwords(SURFACE + 0x40, 0x80)
    surface(machine, SURFACE + 0x80)
    items = machine.run(bases(machine, GENERAL, SURFACE), pointers, table(machine), *triangle(machine))
    assert not diagnostics(items)
    assert [s.address for s in states(items, "WM_STATE")] == [GENERAL + 0x300]
    assert [s.address for s in states(items, "CC_VIEWPORT")] == [GENERAL + 0x500]
    assert [(s.address, s.role) for s in states(items, "SURFACE_STATE")] == [(SURFACE + 0x80, "ps render target 0")]
    assert [k.address for k in nodes(items) if isinstance(k, Kernel)] == [GENERAL + 0x1000, GENERAL + 0x2000]


def test_base_without_its_modify_bit_stays() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine, GENERAL)
    keep = machine.command("STATE_BASE_ADDRESS", general_state_base_address=0x00700000)
    items = machine.run(bases(machine, GENERAL), keep, pointers)
    assert [s.address for s in states(items, "VS_STATE")] == [GENERAL + 0x100]


def test_kernel_decides_which_surfaces_are_followed_when_the_count_is_zero() -> None:
    """The entry count is only a prefetch hint."""
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine, kernel=SAMPLE, samplers=4)
    machine.dwords(0x40, *(0x80 + 0x20 * i for i in range(8)))
    for i in range(8):
        surface(machine, 0x80 + 0x20 * i)
    machine.put("SAMPLER_STATE", 0x600)
    machine.put("SAMPLER_STATE", 0x610)
    items = machine.run(pointers, table(machine), *triangle(machine))
    assert [s.role for s in states(items, "SURFACE_STATE")] == ["ps render target 0", "ps texture 3"]


def test_kernel_decides_how_many_samplers_there_are() -> None:
    """Counts come in fours and reach into whatever follows: the message names sampler 1."""
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine, kernel=SAMPLE, samplers=4)
    machine.put("SAMPLER_STATE", 0x600)
    machine.put("SAMPLER_STATE", 0x610)
    machine.dwords(0x620, *[0xFFFFFFFF] * 8)
    items = machine.run(pointers)
    assert [s.role for s in states(items, "SAMPLER_STATE")] == ["ps sampler 0", "ps sampler 1"]
    assert not diagnostics(items)


def test_border_color_is_followed_only_by_samplers_that_use_it() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine, kernel=SAMPLE, samplers=4)
    machine.put("SAMPLER_STATE", 0x600, border_color_pointer=0x700)
    machine.put("SAMPLER_STATE", 0x610, border_color_pointer=0x720, tcx_address_control_mode="CLAMP_BORDER")
    machine.put("SAMPLER_BORDER_COLOR_STATE", 0x720)
    items = machine.run(pointers)
    assert [s.address for s in states(items, "SAMPLER_BORDER_COLOR_STATE")] == [0x720]


def test_disabled_units_are_not_followed() -> None:
    machine = BatchDecoder()
    pixel_pipeline(machine)
    pointers = machine.command(
        "3DSTATE_PIPELINED_POINTERS", pointer_to_vs_state=0x100, pointer_to_sf_state=0x200, pointer_to_wm_state=0x300,
        pointer_to_color_calc_state=0x400)
    pointers[2] = 0xDEADBE00  # a GS pointer, GS is off
    items = machine.run(pointers)
    assert not states(items, "GS_STATE")
    assert not [d for d in diagnostics(items) if d.rule == "unmapped"]


def test_unchanged_state_is_referred_to() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine)
    items = machine.run(pointers, pointers, pointers)
    assert [s.same for s in states(items, "WM_STATE")] == [False, True, True]
    third, second = commands(items)[2], commands(items)[1]
    assert third.children == second.children


def test_repeat_shows_everything_again() -> None:
    machine = BatchDecoder(repeat=True)
    pointers = pixel_pipeline(machine)
    items = machine.run(pointers, pointers)
    assert [s.same for s in states(items, "CC_VIEWPORT")] == [False, False]


def test_state_that_changed_between_submissions_is_shown_again() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine)
    assert [s.same for s in states(machine.run(pointers), "CC_VIEWPORT")] == [False]
    assert [s.same for s in states(machine.run(pointers), "CC_VIEWPORT")] == [True]
    machine.put("CC_VIEWPORT", 0x500, maximum_depth=0.5)
    items = machine.run(pointers)
    assert [s.same for s in states(items, "CC_VIEWPORT")] == [False]
    assert [s.same for s in states(items, "COLOR_CALC_STATE")] == [True]


def test_one_kernel_at_two_addresses_is_shown_once() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine)
    machine.kernel(0x3000, PS)
    machine.put("WM_STATE", 0x340, kernel_start_pointer=0x3000, thread_dispatch_enable=True,
                setup_urb_entry_read_length=4, maximum_number_of_threads=1)
    other = list(pointers)
    other[5] = 0x340
    kernels = [n for n in nodes(machine.run(pointers, other)) if isinstance(n, Kernel) and n.role == "ps"]
    assert [(k.address, k.code.number, k.first) for k in kernels] == [(0x2000, 2, True), (0x3000, 2, False)]


def test_unmapped_state_names_block_and_address() -> None:
    machine = BatchDecoder()
    items = machine.run(machine.command("3DSTATE_PIPELINED_POINTERS", pointer_to_vs_state=0x00F00000))
    found = diagnostics(items)[0]
    assert (found.rule, found.value) == ("unmapped", 0x00F00000)
    assert "VS_STATE is at 0x00f00000" in found.text


def test_kernel_without_end_is_reported() -> None:
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine, kernel="mov(8) g1<1>F g2<8,8,1>F { align1 };")
    machine.dwords(0x2010, *[0] * 8)
    assert "kernel-end" in rules(machine.run(pointers))


def test_vertices_are_shown_by_their_elements_formats() -> None:
    machine = BatchDecoder()
    items = machine.run(pixel_pipeline(machine), table(machine), *triangle(machine))
    (data,) = [n for n in nodes(items) if isinstance(n, Data) and n.name == "VERTEX_DATA"]
    assert data.rows == ["[0] (0, 1, 2)", "[1] (3, 4, 5)", "[2] (6, 7, 8)"]
    assert data.values[1] == {"vertex": 1, "elements": [[3.0, 4.0, 5.0]]}


def test_indices_select_the_vertices() -> None:
    machine = BatchDecoder()
    setup = triangle(machine)[:2]
    machine.dwords(0x0060_0000, 0x0002_0001, 0xFFFF_0000)
    index = machine.command("3DSTATE_INDEX_BUFFER", index_format=1, cut_index_enable=True,
                            buffer_starting_address=0x0060_0000)
    draw = machine.command("3DPRIMITIVE", vertex_access_type=1, primitive_topology_type=5, vertex_count_per_instance=4,
                           instance_count=1)
    found = {n.name: n for n in nodes(machine.run(*setup, index, draw)) if isinstance(n, Data)}
    assert found["INDEX_DATA"].rows == ["1 2 0 cut"]
    assert found["VERTEX_DATA"].rows == ["[1] (3, 4, 5)", "[2] (6, 7, 8)", "[0] (0, 1, 2)"]


@pytest.mark.parametrize(("count", "missing"), [(341, False), (342, True)])
def test_all_vertices_of_a_primitive_must_be_there(count: int, missing: bool) -> None:
    """A page holds 341 vertices of 12 bytes."""
    machine = BatchDecoder()
    setup = triangle(machine)[:2]
    draw = machine.command("3DPRIMITIVE", primitive_topology_type=1, vertex_count_per_instance=count, instance_count=1)
    assert ("unmapped" in rules(machine.run(*setup, draw))) is missing


def test_constants_are_shown_as_floats() -> None:
    machine = BatchDecoder(max_rows=2)
    machine.dwords(0x0070_0000, *struct.unpack("<16I", struct.pack("<16f", *range(16))))
    items = machine.run(machine.command("CONSTANT_BUFFER", valid=True, buffer_starting_address=0x0070_0000,
                                        buffer_length=1))
    (data,) = [n for n in nodes(items) if isinstance(n, Data)]
    assert (data.rows, data.more, data.length) == (["0 1 2 3", "4 5 6 7"], 2, 64)


def test_picture_of_the_va_driver() -> None:
    """VLD mode: the remap table of VLD_STATE says which descriptors count."""
    machine = BatchDecoder()
    remap = {f"interface_descriptor_remap_{i}": [0, 1, 0, 1][i % 4] for i in range(16)}
    machine.put("VLD_STATE", 0x100, picture_structure=3, picture_coding_type=1, **remap)
    machine.put("VFE_STATE", 0x140, extended_vfe_state_present=True, maximum_number_of_threads=28,
                urb_entry_allocation_size=13, number_of_urb_entries=28, vfe_mode=1,
                interface_descriptor_base_pointer=0x200)
    for i in range(3):
        machine.put("INTERFACE_DESCRIPTOR", 0x200 + 16 * i, kernel_start_pointer=0x1000, grf_register_count=128,
                    constant_urb_entry_read_length=30, binding_table_pointer=0x40)
    read = operand("DATA_PORT_READ_MESSAGE", response=1, target_cache="SAMPLER", message_type="MEDIA_BLOCK",
                   binding_table_index=3)
    machine.kernel(0x1000, f"""send(16) 0 g10<1>UW g0<8,8,1>UW {read} {{ align1 }};
                              send(16) 0 acc0<1>UW g0<8,8,1>UW {MEDIA_END} {{ align1 }};""")
    machine.dwords(0x40, 0, 0, 0, 0x80)
    surface(machine, 0x80)
    machine.dwords(0x0070_0000, *range(4))
    pointers = machine.command("MEDIA_STATE_POINTERS", extended_state_pointer=0x100, extended_vfe_state_enable=True,
                               pointer_to_vfe_state=0x140)
    slice_ = machine.command("MEDIA_OBJECT", indirect_data_length=16, indirect_data_start_address=0x0070_0000,
                             inline_data=[[0x7F00], [0x0500_0000]])
    items = machine.run(machine.command("PIPELINE_SELECT", pipeline_selection="MEDIA"), pointers, slice_, slice_)
    assert not diagnostics(items)
    assert [s.role for s in states(items, "INTERFACE_DESCRIPTOR")] == ["media 0", "media 1"]
    assert next(s.role for s in states(items, "SURFACE_STATE")) == "media 0 surface 3"
    data = [n for n in nodes(items) if isinstance(n, Data) and n.name == "INDIRECT_DATA"]
    assert data[0].rows == ["00 00 00 00 01 00 00 00 02 00 00 00 03 00 00 00"]


def test_operands_of_a_copy_are_surfaces() -> None:
    """Pitches are dwords when tiled."""
    machine = BatchDecoder()
    copy = machine.command(
        "XY_SRC_COPY_BLT", write_alpha=True, write_rgb=True, color_depth=3, raster_operation=0xCC,
        destination_tiled=True, destination_pitch=128, destination_x1=4, destination_y1=2, destination_x2=20,
        destination_y2=10, destination_base_address=0x00100000, source_pitch=-256, source_x1=1,
        source_base_address=0x00200000)
    found = [n for n in nodes(machine.run(copy)) if isinstance(n, Data)]
    assert [(n.address, n.role, n.rows) for n in found] == [
        (0x00100000, "destination", ["16x8 at (4, 2), BPP_32, pitch 512, X"]),
        (0x00200000, "source", ["16x8 at (1, 0), BPP_32, pitch -256, linear"])]


def test_blocks_by_name() -> None:
    machine = BatchDecoder()
    surface(machine, 0x80)
    machine.kernel(0x2000, PS)
    (holder,) = commands(list(machine.decoder.block("surface_state", 0x80)))
    assert holder.children[0].title == "SURFACE_STATE"
    (holder,) = commands(list(machine.decoder.block("kernel", 0x2000)))
    assert isinstance(holder.children[0], Kernel)


def test_tables_that_no_primitive_used_are_shown_at_the_end() -> None:
    """A dump may stop before the first primitive."""
    machine = BatchDecoder()
    pointers = pixel_pipeline(machine)
    machine.dwords(0x40, 0x80)
    surface(machine, 0x80)
    items = machine.run(pointers, table(machine))
    assert commands(items)[-1].body.name == "(no primitive used this state)"
    assert [s.role for s in states(items, "SURFACE_STATE")] == ["ps render target 0"]


def test_rows_are_bounded_by_memory_even_when_all_are_asked_for() -> None:
    machine = BatchDecoder(max_rows=-1)
    setup = triangle(machine)[:2]
    draw = machine.command("3DPRIMITIVE", primitive_topology_type=1, vertex_count_per_instance=0x7FFFFFFF,
                           instance_count=1)
    buffers = [machine.command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
        {"vertex_buffer_index": 0, "buffer_pitch": i, "buffer_starting_address": 0x0050_0000}]) for i in range(8)]
    found = machine.run(*setup, *(c for b in buffers for c in (b, draw)))
    assert sum(len(n.rows) for n in nodes(found) if isinstance(n, Data)) < 8192


def test_kernels_that_overlap_are_not_looked_at_for_ever() -> None:
    machine = BatchDecoder()
    machine.kernel(0x0100_0000, "mov(8) g1<1>F g2<8,8,1>F { align1 };\n" * 4096)
    pointers = []
    for i in range(400):
        machine.put("WM_STATE", 0x0200_0000 + 64 * i, kernel_start_pointer=0x0100_0000 + 64 * i,
                    thread_dispatch_enable=True, setup_urb_entry_read_length=4, maximum_number_of_threads=1)
        pointers.append(machine.command("3DSTATE_PIPELINED_POINTERS", pointer_to_wm_state=0x0200_0000 + 64 * i))
    found = machine.run(*pointers)
    assert "too-much-state" in rules(found)
    assert sum(isinstance(n, Kernel) for n in nodes(found)) < 20


def test_operands_of_every_blit_agree_with_its_fields() -> None:
    chance = random.Random(1)
    for layout in blt.COMMANDS:
        words = [layout.header, *(chance.getrandbits(32) for _ in range(layout.size(Gen.CTG) - 1))]
        view = layout.view(words, gen=Gen.CTG)
        names = layout.by_name(Gen.CTG)
        for o in operands(view):
            base = f"{o.side}_base_address" if f"{o.side}_base_address" in names else f"{o.side}_address"
            assert o.address == getattr(view, base)
            tiled = f"{o.side}_tiled" in names and getattr(view, f"{o.side}_tiled")
            pitch = getattr(view, f"{o.side}_pitch") if f"{o.side}_pitch" in names else 0
            assert (o.tiled, o.pitch_bytes) == (tiled, pitch * (4 if tiled else 1))
            if "destination_x2" in names:
                assert (o.width, o.height) == (view.destination_x2 - view.destination_x1,
                                               view.destination_y2 - view.destination_y1)


def test_only_pipelined_pointers_change_the_units() -> None:
    """The third equal CONSTANT_BUFFER once brought back the units of the second, and with them other kernels."""
    machine = BatchDecoder()
    first = pixel_pipeline(machine)
    second = pixel_pipeline(machine, general=0x10000, kernel="mov(8) g5<1>F g4<8,8,1>F { align1 };\n" + PS)
    constants = machine.command("CONSTANT_BUFFER")
    machine.run(machine.command("MI_FLUSH"), bases(machine), first, constants, constants, bases(machine, 0x10000),
                second, constants, bases(machine), constants)
    assert machine.decoder.context.units["ps"].address == 0x10300
