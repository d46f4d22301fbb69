"""Batches of Gen6 to Gen9: stages, pointers that wait for a draw, bases, contexts, memory of 48 bits."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

import pytest

from gen4emu.decode import Command, Data, Item, JsonRenderer, Kernel, TextRenderer
from gen4emu.decode.address_space import AddressSpace
from gen4emu.decode.nodes import Register
from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen
from gen4emu.trace.events import Engine, Submission
from tests.harness.batch import BATCH, commands, diagnostics, names, nodes, rules, states
from tests.harness.commands import register_write
from tests.harness.later import DEVICES, DYNAMIC, KERNELS, SURFACES, LaterDecoder
from tests.harness.parts import names as chips_of

GEN8_ON = chips_of(Gen.GEN8 | Gen.GEN9)


def below(items: Sequence[Item], command: str) -> list[str]:
    """The titles of the nodes below the commands with a name."""
    return [n.title for c in commands(items) if c.body.name == command for n in c.walk() if n is not c]


def kernels(items: Sequence[Item]) -> list[tuple[str, int]]:
    return [(n.role, n.address) for n in nodes(items) if isinstance(n, Kernel)]


# --- bases and blocks -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
def test_state_base_address_moves_only_what_its_modify_bits_say(device: str) -> None:
    machine = LaterDecoder(device)
    machine.run(machine.bases(), machine.command("STATE_BASE_ADDRESS", dynamic_state_base_address=0x7000))
    bases = machine.decoder.context.bases
    assert bases["dynamic_state"] == machine.high + DYNAMIC
    assert bases["instruction"] == machine.high + KERNELS
    assert bases["general_state"] == 0


@pytest.mark.parametrize("device", DEVICES)
def test_a_block_is_found_from_the_dynamic_state_base(device: str) -> None:
    machine = LaterDecoder(device)
    address = machine.block("COLOR_CALC_STATE", DYNAMIC + 0x140)
    on = {"color_calc_state_pointer_valid": True} if device in ("snb", *GEN8_ON) else {}
    items = machine.run(machine.bases(), machine.command("3DSTATE_CC_STATE_POINTERS", color_calc_state_pointer=0x140,
                                                         **on))
    assert [s.address for s in states(items, "COLOR_CALC_STATE")] == [address]


def test_sandy_bridge_follows_only_the_pointers_with_a_change_bit() -> None:
    machine = LaterDecoder("snb")
    machine.block("DEPTH_STENCIL_STATE", DYNAMIC + 0x40)
    items = machine.run(machine.bases(), machine.command(
        "3DSTATE_CC_STATE_POINTERS", pointer_to_depth_stencil_state=0x40, depth_stencil_state_change=True))
    assert below(items, "3DSTATE_CC_STATE_POINTERS") == ["DEPTH_STENCIL_STATE"]
    assert rules(items) == []


@pytest.mark.parametrize("device", DEVICES)
def test_blend_state_has_as_many_entries_as_the_shader_has_targets(device: str) -> None:
    machine = LaterDecoder(device)
    machine.block("BLEND_STATE", DYNAMIC + 0x80)
    machine.target_kernel(0, 2)
    machine.words(SURFACES, 0x40, 0x40, 0x40)
    machine.block("RENDER_SURFACE_STATE", SURFACES + 0x40)
    if device == "snb":
        pointer = machine.command("3DSTATE_CC_STATE_POINTERS", pointer_to_blend_state=0x80, blend_state_change=True)
    else:
        on = {"blend_state_pointer_valid": True} if device in GEN8_ON else {}
        pointer = machine.command("3DSTATE_BLEND_STATE_POINTERS", blend_state_pointer=0x80, **on)
    items = machine.run(machine.bases(), pointer, machine.table("ps", 0), *machine.pixel_shader(), machine.draw())
    assert below(items, commands(items)[1].body.name) == ["BLEND_STATE"]
    entries = states(items, "BLEND_STATE_ENTRY")
    header = 4 if device in GEN8_ON else 0
    assert [s.address - machine.high - DYNAMIC - 0x80 - header for s in entries] == [8, 16]


# --- stages -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", DEVICES)
def test_a_binding_table_waits_for_the_draw_and_its_kernel(device: str) -> None:
    machine = LaterDecoder(device)
    machine.words(SURFACES, 0x40, 0x80)
    machine.block("RENDER_SURFACE_STATE", SURFACES + 0x40)
    address = machine.block("RENDER_SURFACE_STATE", SURFACES + 0x80)
    machine.target_kernel(0, 1)
    items = machine.run(machine.bases(), machine.table("ps", 0), *machine.pixel_shader(), machine.draw(),
                        machine.draw())
    first, second = (c for c in commands(items) if c.body.name == "3DPRIMITIVE")
    assert [n.title for n in first.walk()] == ["3DPRIMITIVE", "BINDING_TABLE", "RENDER_SURFACE_STATE"]
    assert [(s.address, s.role) for s in states([first], "RENDER_SURFACE_STATE")] == [(address, "ps render target 1")]
    assert second.children == []  # nothing has changed


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("widths", "used"), [
    ((8,), {8: 0}), ((16,), {16: 0}), ((32,), {32: 0}), ((8, 16), {8: 0, 16: 2}), ((8, 32), {8: 0, 32: 1}),
    ((16, 32), {16: 2, 32: 1}), ((8, 16, 32), {8: 0, 16: 2, 32: 1}),
])
def test_each_width_of_the_pixel_shader_has_its_kernel(device: str, widths: Sequence[int],
                                                       used: dict[int, int]) -> None:
    """A width that is alone uses the first kernel pointer."""
    machine = LaterDecoder(device)
    starts = [machine.target_kernel(0x40 * i, 0) for i in range(3)]
    values: dict[str, int] = {f"dispatch_{width}_pixel_enable": 1 for width in widths}
    values |= {f"kernel_start_pointer_{i}": 0x40 * i for i in range(3)}
    items = machine.run(machine.bases(), *machine.pixel_shader(**values))
    assert dict(kernels(items)) == {f"ps simd{width}": starts[number] for width, number in used.items()}


@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
def test_a_pixel_shader_is_followed_when_it_is_enabled(device: str) -> None:
    """The command that enables it may come later: then the draw shows the kernel."""
    machine = LaterDecoder(device)
    machine.target_kernel(0, 0)
    setup, enable = machine.pixel_shader()
    disable = machine.command("3DSTATE_PS_EXTRA" if machine.has("3DSTATE_PS_EXTRA") else "3DSTATE_WM")
    items = machine.run(machine.bases(), disable, setup, machine.draw(), enable, machine.draw())
    shown = [[n.title for n in c.walk()] for c in commands(items) if c.body.name in ("3DSTATE_PS", "3DPRIMITIVE")]
    assert shown == [["3DSTATE_PS"], ["3DPRIMITIVE"], ["3DPRIMITIVE", "KERNEL"]]


@pytest.mark.parametrize("device", ["ivb", "hsw", "bdw", "kbl"])
@pytest.mark.parametrize("stage", ["VS", "HS", "DS", "GS"])
def test_a_stage_runs_its_kernel_while_it_is_enabled(device: str, stage: str) -> None:
    machine = LaterDecoder(device)
    start = machine.target_kernel(0x80, 0)
    enable = "function_enable" if stage == "DS" and device in GEN8_ON else "enable"
    command = f"3DSTATE_{stage}"
    items = machine.run(machine.bases(), machine.command(command, kernel_start_pointer=0x80, **{enable: True}))
    assert kernels(items) == [(stage.lower(), start)]
    assert stage.lower() in machine.decoder.context.units
    assert kernels(machine.run(machine.command(command, kernel_start_pointer=0x80))) == []
    assert stage.lower() not in machine.decoder.context.units


@pytest.mark.parametrize("device", ["ivb", "hsw", "bdw", "skl", "kbl"])
def test_constants_are_counted_in_rows_and_the_first_buffer_is_relative(device: str) -> None:
    machine = LaterDecoder(device)
    machine.words(DYNAMIC + 0x200, *([0x3F800000] * 8))
    length = 32 if device in GEN8_ON else 1
    command = machine.command("3DSTATE_CONSTANT_VS", pointer_to_constant_buffer_0=0x200,
                              constant_buffer_0_read_length=length)
    items = machine.run(machine.bases(), command)
    (data,) = (n for n in nodes(items) if isinstance(n, Data))
    assert (data.address, data.size, data.values[0]) == (machine.high + DYNAMIC + 0x200, 32, [1.0] * 4)


@pytest.mark.parametrize(("device", "register"), [("ivb", "RENDER_INSTPM"), ("kbl", "CS_DEBUG_MODE2")])
def test_a_register_makes_the_first_constant_buffer_absolute(device: str, register: str) -> None:
    machine = LaterDecoder(device)
    machine.dwords(0x5000, *([0] * 8))
    switch = machine.command("MI_LOAD_REGISTER_IMM", writes=[
        register_write(register, machine.gen, constant_buffer_address_offset_disable=True)])
    items = machine.run(machine.bases(), switch, machine.command(
        "3DSTATE_CONSTANT_VS", pointer_to_constant_buffer_0=0x5000,
        constant_buffer_0_read_length=32 if device == "kbl" else 1))
    assert [n.address for n in nodes(items) if isinstance(n, Data)] == [0x5000]


@pytest.mark.parametrize("device", ["snb", "ivb", "hsw", "kbl"])
def test_a_register_tiles_the_operands_of_blits_in_y(device: str) -> None:
    """BCS_SWCTRL is the engine's: other contexts keep it.  The pitch counts dwords in both tilings."""
    machine = LaterDecoder(device)
    copy = machine.command("XY_SRC_COPY_BLT", color_depth=3, destination_tiled=True, destination_pitch=128,
                           destination_x2=20, destination_y2=10, source_tiled=True, source_pitch=64)

    def load(**tiled: bool) -> list[int]:
        return machine.command("MI_LOAD_REGISTER_IMM", writes=[register_write("BCS_SWCTRL", machine.gen, **tiled)])

    items = machine.run(copy, load(destination_is_y_tiled=True), copy, load(source_is_y_tiled=True), copy,
                        load(source_is_y_tiled=False, destination_is_y_tiled=False), copy)
    found = [n.values[0] for n in nodes(items) if isinstance(n, Data)]
    assert [(o["side"], o["pitch_bytes"], o["tiling"]) for o in found] == [
        (side, pitch, tiling) for tilings in ("XX", "YX", "YY", "XX")
        for side, pitch, tiling in zip(("destination", "source"), (512, 256), tilings, strict=True)]


def test_operands_of_fast_copies_have_tilings_of_their_own() -> None:
    machine = LaterDecoder("kbl")
    copy = machine.command("XY_FAST_COPY_BLT", color_depth=3, destination_tiling_method=2, destination_tile_y_type=1,
                           destination_pitch=128, source_tiling_method=1, source_pitch=64)
    found = [n.values[0] for n in nodes(machine.run(copy)) if isinstance(n, Data)]
    assert [(o["side"], o["pitch_bytes"], o["tiling"]) for o in found] == [
        ("destination", 512, "YF"), ("source", 256, "X")]


# --- registers, MI_MATH -----------------------------------------------------------------------------------------------
def test_a_loaded_register_is_shown_with_its_fields() -> None:
    machine = LaterDecoder("ivb")
    items = machine.run(machine.command("MI_LOAD_REGISTER_IMM", writes=[
        {"register_offset": 0x20C0, "data": 0x400040}]))
    (register,) = (n for n in nodes(items) if isinstance(n, Register))
    assert register.address == 0x20C0
    assert "(register)" in TextRenderer().render(items[1])
    shown = json.loads(JsonRenderer().command(next(iter(commands(items)))))["state"][0]
    assert (shown["kind"], shown["name"], shown["dwords"]) == ("register", register.body.name, [0x400040])


@pytest.mark.parametrize("device", ["hsw", "kbl"])
def test_mi_math_is_shown_as_instructions(device: str) -> None:
    machine = LaterDecoder(device)
    items = machine.run([0x0D000003, 0x08008000, 0x08008401, 0x10000000, 0x18000831])
    text = "".join(TextRenderer().render(c) for c in commands(items))
    assert [line.split(None, 1)[1] for line in text.splitlines()[1:5]] == [
        "LOAD SRCA REG0", "LOAD SRCB REG1", "ADD", "STORE REG2 ACCU"]


# --- batches and contexts ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", ["hsw", "bdw", "kbl"])
def test_a_second_level_batch_returns(device: str) -> None:
    machine = LaterDecoder(device)
    machine.batch(machine.command("MI_USER_INTERRUPT"), address=0x20_0000)
    start = machine.command("MI_BATCH_BUFFER_START", batch_buffer_start_address=0x20_0000, second_level_batch_buffer=1)
    items = machine.run(start, machine.command("MI_ARB_CHECK"))
    assert names(items) == ["MI_BATCH_BUFFER_START", "MI_USER_INTERRUPT", "MI_BATCH_BUFFER_END", "MI_ARB_CHECK",
                            "MI_BATCH_BUFFER_END"]


@pytest.mark.parametrize("device", GEN8_ON)
def test_a_batch_chains_above_4_gib(device: str) -> None:
    machine = LaterDecoder(device)
    machine.batch(machine.command("MI_ARB_CHECK"), address=0x12_3456_7000)
    items = machine.run(machine.command("MI_BATCH_BUFFER_START", batch_buffer_start_address=0x12_3456_7000))
    assert [hex(c.address) for c in commands(items)] == [hex(BATCH), "0x1234567000", "0x1234567004"]


@pytest.mark.parametrize("device", ["ivb", "hsw"])
def test_each_context_keeps_its_state(device: str) -> None:
    machine = LaterDecoder(device)
    enter = [machine.command("MI_SET_CONTEXT", logical_context_address=a) for a in (0x8000, 0x9000)]
    machine.run(enter[0], machine.bases(), enter[1])
    assert machine.decoder.context.bases["instruction"] == 0
    machine.run(enter[0])
    assert machine.decoder.context.bases["instruction"] == KERNELS


def test_an_execution_list_reads_through_its_page_table() -> None:
    """Four levels; the entry for 0x10_0000_5000 leads to the physical page 0x70000."""
    machine = LaterDecoder("kbl")
    memory = machine.decoder.memory
    address, tables = 0x10_0000_5000, (0x1000, 0x2000, 0x3000, 0x4000)
    for level, (table, entry) in enumerate(zip(tables, (*tables[1:], 0x70000), strict=True)):
        index = address >> 39 - 9 * level & 511
        memory.write_physical(table + 8 * index, struct.pack("<Q", entry | 3))
    memory.write_physical(0x70000, struct.pack("<2I", 5 << 23, 10 << 23))
    ring = machine.command("MI_BATCH_BUFFER_START", batch_buffer_start_address=address)
    event = Submission(0, Engine.RENDER, struct.pack("<3I", *ring), 0x1000, page_table=0x1000)
    items = list(machine.decoder.submission(event))
    assert names(items) == ["MI_BATCH_BUFFER_START", "MI_ARB_CHECK", "MI_BATCH_BUFFER_END"]
    assert rules(items) == []


@pytest.mark.parametrize(("device", "header", "text"), [
    ("kbl", 0x60000001, "URB_FENCE of gen4, gen4.5"),
    ("snb", 0x61040000, "PIPELINE_SELECT of gen4, gen4.5; GPGPU_CSR_BASE_ADDRESS of gen7.5, gen8, gen9"),
    ("kbl", 0x780B0000, "3DSTATE_VF_STATISTICS of gen4"),
    ("ivb", 0x78010004, "3DSTATE_BINDING_TABLE_POINTERS of gen4"),
])
def test_a_command_of_another_generation_is_named(device: str, header: int, text: str) -> None:
    found = diagnostics(LaterDecoder(device).run([header, 0, 0, 0, 0, 0]))
    assert found[0].rule == "unknown-command"
    assert text in found[0].text


@pytest.mark.parametrize(("device", "header", "name"), [
    ("snb", 0x78050001, "3DSTATE_URB"), ("ivb", 0x78050005, "3DSTATE_DEPTH_BUFFER"),
    ("snb", 0x790E0001, "3DSTATE_STENCIL_BUFFER"), ("hsw", 0x790E0004, "3DSTATE_RAST_MULTISAMPLE"),
    ("hsw", 0x61040000, "GPGPU_CSR_BASE_ADDRESS"), ("kbl", 0x61040001, "GPGPU_CSR_BASE_ADDRESS"),
    ("kbl", 0x70000007, "MEDIA_VFE_STATE"),
])
def test_an_opcode_has_the_meaning_of_its_generation(device: str, header: int, name: str) -> None:
    machine = LaterDecoder(device)
    found = commands(machine.run([header, *([0] * (machine.catalogue.length(header) - 1))]))
    assert found[0].body.name == name


@pytest.mark.parametrize("device", ["ivb", "hsw", "bdw", "kbl"])
def test_a_walker_is_a_draw_and_starts_its_descriptor(device: str) -> None:
    machine = LaterDecoder(device)
    start = machine.target_kernel(0x40, 0)
    machine.words(SURFACES, 0x40)
    machine.block("RENDER_SURFACE_STATE", SURFACES + 0x40)
    machine.block("INTERFACE_DESCRIPTOR_DATA", DYNAMIC + 0x20, kernel_start_pointer=0x40)
    mask = {"mask_bits": 3} if device == "kbl" else {}
    items = machine.submit(*machine.command("MI_BATCH_BUFFER_START", batch_buffer_start_address=machine.batch(
        machine.command("PIPELINE_SELECT", pipeline_selection=2, **mask), machine.bases(),
        machine.command("MEDIA_INTERFACE_DESCRIPTOR_LOAD", interface_descriptor_data_start_address=0,
                        interface_descriptor_total_length=64),
        machine.command("GPGPU_WALKER", interface_descriptor_offset=1))))
    walker = next(c for c in commands(items) if c.body.name == "GPGPU_WALKER")
    assert walker.draw == 0
    assert ("cs 1", start) in kernels(items)
    model, follower = machine.decoder.model, machine.decoder.follower
    assert model.descriptors(follower, walker.body.view) == [(1, machine.high + DYNAMIC + 0x20)]


# --- memory -----------------------------------------------------------------------------------------------------------
def test_pages_are_their_own_unless_a_table_maps_them() -> None:
    memory = AddressSpace(48, 1 << 20)
    memory.write(0xFFFF_FFFF_F000, b"end of memory")
    assert memory.read(0xFFFF_FFFF_F000, 13) == b"end of memory"
    memory.set_gtt(5, [0x9001])
    memory.write(0x5004, b"graphics")
    memory.write_physical(0x9000, b"phys")
    assert memory.read(0x5000, 12) == b"physgraphics"
    assert memory.ranges() == [(0x5000, 0x1000), (0xFFFF_FFFF_F000, 0x1000)]
    assert memory.unmapped(0x5000, 0x2000) == [(0x6000, 0x1000)]
    memory.set_gtt(5, [0])
    assert memory.unmapped(0x5000, 4) == [(0x5000, 4)]


def test_memory_is_bounded() -> None:
    memory = AddressSpace(48, 1 << 20, limit_bytes=2 * 4096)
    memory.write(0, b"1")
    memory.write_physical(0x1000, b"2")
    with pytest.raises(FieldError, match="more than 0 MiB"):
        memory.write(0x5000, b"3")
    with pytest.raises(FieldError, match="reach out"):
        memory.write((1 << 48) - 1, b"12")


def test_a_large_page_maps_2_mib() -> None:
    memory = AddressSpace(48, 1 << 20)
    for table, entry in ((0x1000, 0x2003), (0x2000, 0x3003), (0x3000, 0x40_0083)):
        memory.write_physical(table, struct.pack("<Q", entry))
    memory.write_physical(0x40_0000 + 0x12345, b"large")
    assert memory.select(0x1000)
    assert memory.read(0x12345, 5) == b"large"
    assert memory.mapped(0x1000) == [(0x12000, 0x1000)]


def test_a_table_tells_which_memory_a_context_has() -> None:
    memory = AddressSpace(48, 1 << 20)
    for table, index, entry in ((0x1000, 511, 0x2003), (0x2000, 0, 0x3003), (0x3000, 0, 0x4003),
                                (0x4000, 3, 0x8003), (0x4000, 4, 0x9003), (0x4000, 7, 0xA003), (0x4000, 8, 0x8002)):
        memory.write_physical(table + 8 * index, struct.pack("<Q", entry))
    memory.write_physical(0x8000, b"1")
    memory.write_physical(0x9000, b"2")
    assert memory.mapped(0x1000) == [((511 << 39) + 0x3000, 0x2000)]


def test_a_table_that_refers_to_itself_is_bounded() -> None:
    memory = AddressSpace(48, 1 << 20)
    memory.write_physical(0x1000, struct.pack("<512Q", *[0x1003] * 512))
    assert len(memory.mapped(0x1000)) == 1


def test_commands_of_a_machine_with_48_bits_are_aligned_in_text() -> None:
    machine = LaterDecoder("kbl")
    found = commands(machine.run(machine.command("PIPE_CONTROL")))
    lines = TextRenderer().render(found[0]).splitlines()
    assert lines[0].startswith(f"0x{BATCH:012x}  7a000004")
    assert lines[1].startswith(" " * 16 + "00000000")
    assert isinstance(found[0], Command)
