"""Each rule of `--lint` finds what it is about, and finds nothing in a batch that keeps it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.decode import Document, Item, Options, lint_rules
from gen4emu.decode.lint_rules import RULES, Severity, documentation
from gen4emu.hw.formats import SurfaceFormat
from tests.harness.batch import PS, BatchDecoder, bases, diagnostics, pixel_pipeline, rules, surface, table, triangle
from tests.harness.messages import PLANES, WRITE_16, operand, target_write, urb_write

TRACES = Path(__file__).parents[2] / "traces"
UNITS = ("vs", "gs", "clip", "sf", "cs")
FLUSH, MEDIA, THREE_D = (BatchDecoder().command(*name, **fields) for name, fields in (
    (("MI_FLUSH",), {}), (("PIPELINE_SELECT",), {"pipeline_selection": "MEDIA"}), (("PIPELINE_SELECT",), {})))


def fences(*rows: int) -> list[int]:
    """URB_FENCE with the ends of the regions of all units; media has none."""
    values: dict[str, object] = {f"{unit}_fence": row for unit, row in zip(UNITS, rows, strict=True)}
    return BatchDecoder().command("URB_FENCE", **values, **{f"{unit}_urb_reallocation_request": True
                                                       for unit in (*UNITS, "vfe")})


FENCE = fences(64, 72, 82, 98, 384)


def lint(*commands: list[int], machine: BatchDecoder | None = None) -> list[str]:
    machine = machine or BatchDecoder()
    machine = _with_lint(machine)
    return [d.rule for d in diagnostics(machine.run(*commands)) if d.severity is not Severity.ERROR]


def _with_lint(machine: BatchDecoder) -> BatchDecoder:
    if machine.decoder.options.lint:
        return machine
    other = BatchDecoder(machine.device.name, lint=True)
    other.decoder.memory = machine.decoder.memory
    other.decoder.peek.memory = machine.decoder.memory
    return other


def drawing(**changes: object) -> tuple[BatchDecoder, list[list[int]]]:
    """A batch that draws a triangle and breaks no rule."""
    machine = BatchDecoder(lint=True)
    pointers = pixel_pipeline(machine, kernel=str(changes.get("kernel", PS)))
    machine.dwords(0x40, 0x80)
    surface(machine, 0x80)
    machine.kernel(0x1000, f"send(8) 1 null<1>F g0<8,8,1>F {PLANES} {{ align1 }};")
    constants = machine.command("CS_URB_STATE", number_of_urb_entries=1)
    return machine, [FLUSH, bases(machine), pointers, [0] * 3, FENCE, constants, table(machine),
                     *triangle(machine)]


def test_a_good_batch_has_no_finding() -> None:
    machine, batch = drawing()
    assert rules(machine.run(*batch)) == []


def test_switch_of_pipeline_needs_a_flush_and_a_fence() -> None:
    machine, batch = drawing()
    assert lint(*batch, MEDIA, machine=machine) == ["select-flush"]
    machine, batch = drawing()
    assert lint(*batch, FLUSH, MEDIA, FLUSH, THREE_D, batch[-1], machine=machine) \
        == ["fence-after-select"]


def test_work_needs_its_pipeline() -> None:
    machine, batch = drawing()
    assert "wrong-pipeline" in lint(MEDIA, FENCE, *batch, machine=machine)


def test_new_bases_need_new_pointers() -> None:
    machine, batch = drawing()
    assert lint(*batch, bases(machine), batch[-1], machine=machine) == ["stale-pointers"] * 2


def test_fences_rise_and_end_within_the_urb() -> None:
    """384 rows on G4x, 256 on 965."""
    assert lint(fences(64, 72, 70, 98, 384)) == ["urb-overlap"]
    assert lint(fences(64, 72, 82, 98, 385)) == ["urb-capacity"]
    assert lint(FENCE) == []
    assert lint(FENCE, machine=BatchDecoder("965gm")) == ["urb-capacity"]


@pytest.mark.parametrize(("noops", "found"), [(13, []), (14, ["urb-fence-line"]), (15, ["urb-fence-line"]), (16, [])])
def test_fence_stays_within_a_line(noops: int, found: list[str]) -> None:
    assert lint([0] * noops, FENCE) == found


def test_entries_fit_their_region() -> None:
    machine, batch = drawing()
    batch[4] = fences(16, 24, 34, 50, 384)  # 32 entries of 1 row in 16 rows
    assert lint(*batch, machine=machine) == ["urb-region"]


def test_constants_need_entries_and_must_fit() -> None:
    machine = BatchDecoder()
    machine.dwords(0x1000, *[0] * 1024)
    buffer = machine.command("CONSTANT_BUFFER", valid=True, buffer_starting_address=0x1000, buffer_length=4)
    entries = machine.command("CS_URB_STATE", number_of_urb_entries=1, urb_entry_allocation_size=3)
    none = machine.command("CS_URB_STATE", number_of_urb_entries=0)
    assert lint(buffer, machine=machine) == ["constants-order"]
    assert lint(entries, buffer, machine=machine) == ["constants-length"]
    assert lint(none, buffer, machine=machine) == ["constants-entries"]


def test_constants_that_a_stage_reads_must_be_loaded() -> None:
    machine, batch = drawing()
    machine.put("WM_STATE", 0x300, kernel_start_pointer=0x2000, thread_dispatch_enable=True,
                constant_urb_entry_read_length=2, setup_urb_entry_read_length=4, dispatch_grf_start_register=2,
                maximum_number_of_threads=1)
    assert lint(*batch, machine=machine) == ["constants-missing"]


def test_payload_fits_the_registers() -> None:
    machine, batch = drawing()
    machine.put("WM_STATE", 0x300, kernel_start_pointer=0x2000, thread_dispatch_enable=True, grf_register_count=16,
                setup_urb_entry_read_length=15, dispatch_grf_start_register=2, maximum_number_of_threads=1)
    assert lint(*batch, machine=machine) == ["payload"]


def element(at: int, *controls: int, **more: object) -> dict[str, object]:
    return {"valid": True, "source_element_format": SurfaceFormat.R32G32_FLOAT, "destination_element_offset": at,
            **{f"component_{i}_control": c for i, c in enumerate(controls)}, **more}


@pytest.mark.parametrize(("elements", "found"), [
    ([element(0, 1, 1, 2, 3), element(4, 1, 1, 2, 3)], []),
    ([element(0, 1, 1, 2, 3), element(8, 1, 1, 2, 3)], ["vertex-order"]),
    ([element(0, 1, 1, 2, 3), element(0, 1, 1, 2, 3)], ["vertex-order"]),
    ([element(0, 1, 0, 1, 0)], ["vertex-order"]),
    ([element(0, 1, 1, 2, 3, source_element_format=SurfaceFormat.R64_FLOAT, source_element_offset=4)],
     ["vertex-alignment"]),
    ([element(0, 1, 1, 2, 3, source_element_format=SurfaceFormat.BC1_UNORM)], ["vertex-format"]),
    ([{"valid": False}], ["no-vertex-elements"]),
])
def test_vertex_elements(elements: list[dict[str, object]], found: list[str]) -> None:
    """The destination vertex has no holes and is written in order."""
    assert lint(BatchDecoder().command("3DSTATE_VERTEX_ELEMENTS", vertex_elements=elements)) == found


def test_vertex_buffer_is_listed_once() -> None:
    buffers = [{"vertex_buffer_index": 1}, {"vertex_buffer_index": 1}]
    assert lint(BatchDecoder().command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=buffers)) == ["vertex-buffer-twice"]


def test_topologies() -> None:
    machine, batch = drawing()
    quads = machine.command("3DPRIMITIVE", primitive_topology_type=7, vertex_count_per_instance=4, instance_count=1)
    adjacent = machine.command("3DPRIMITIVE", primitive_topology_type=0x0B, vertex_count_per_instance=6,
                               instance_count=1)
    nothing = machine.command("3DPRIMITIVE", primitive_topology_type=4, instance_count=1)
    assert lint(*batch, quads, machine=machine) == ["topology-needs-gs"]
    assert lint(*batch, adjacent, machine=machine) == ["adjacency"]
    assert lint(*batch, nothing, machine=machine) == ["no-vertices"]


def test_cut_index_with_a_topology_that_has_none() -> None:
    machine, batch = drawing()
    machine.dwords(0x0060_0000, 0x00020001, 0)
    index = machine.command("3DSTATE_INDEX_BUFFER", index_format=1, cut_index_enable=True,
                            buffer_starting_address=0x0060_0000)
    fan = machine.command("3DPRIMITIVE", vertex_access_type=1, primitive_topology_type=6, vertex_count_per_instance=3,
                          instance_count=1)
    assert lint(*batch, index, fan, machine=machine) == ["cut-index"]


def test_index_buffer_alignment_and_range() -> None:
    machine = BatchDecoder()
    assert lint(machine.command("3DSTATE_INDEX_BUFFER", index_format=2, buffer_starting_address=0x1002,
                                buffer_ending_address=0x1000)) == ["index-alignment", "index-range"]


def test_depth_buffer_alignment() -> None:
    machine = BatchDecoder()
    depth = machine.command("3DSTATE_DEPTH_BUFFER", surface_type=1, tiled_surface=True, tile_walk=1, surface_format=5,
                            surface_base_address=0x1800, surface_pitch=192)
    assert lint(depth) == ["depth-alignment", "depth-pitch"]


@pytest.mark.parametrize(("changes", "found"), [
    ({}, []),
    ({"tiled_surface": True, "tile_walk": 0, "surface_pitch": 512}, []),
    ({"tiled_surface": True, "surface_base_address": 0x0090_0100, "surface_pitch": 512}, ["surface-alignment"]),
    ({"tiled_surface": True, "surface_pitch": 640}, ["surface-pitch"]),
    ({"width": 65}, ["surface-pitch"]),
    ({"surface_format": SurfaceFormat.B8G8R8X8_UNORM}, ["target-format"]),
    ({"surface_format": SurfaceFormat.R8G8B8A8_SNORM, "color_blend_enable": True}, ["blend-format"]),
    ({"vertical_line_stride": True}, ["target-line-stride"]),
])
def test_surfaces(changes: dict[str, object], found: list[str]) -> None:
    machine, batch = drawing()
    values = {"surface_type": 1, "surface_format": SurfaceFormat.B8G8R8A8_UNORM, "surface_base_address": 0x0090_0000,
              "width": 64, "height": 64, "surface_pitch": 256, **changes}
    machine.put("SURFACE_STATE", 0x80, **values)
    assert lint(*batch, machine=machine) == found


# Types 2 and 3 with 9 registers, as G4x has them.
SAMPLE_C, LD = (f"send(16) 1 g10<1>UW g0<8,8,1>UW {message} {{ align1 }};\n{PS}" for message in (
    operand("SAMPLER_MESSAGE", length=9, response=8, message_type=kind, binding_table_index=1) for kind in (2, 3)))


@pytest.mark.parametrize(("kernel", "kind", "found"), [
    (SAMPLE_C, {"surface_type": 3}, ["shadow-cube"]),
    (SAMPLE_C, {"surface_type": 1}, []),
    (LD, {"surface_type": 2, "mip_count_or_lod": 1}, ["ld-3d-mipmap"]),
    (LD, {"surface_type": 2, "mip_count_or_lod": 0}, []),
])
def test_what_real_g4x_gets_wrong(kernel: str, kind: dict[str, int], found: list[str]) -> None:
    """Decision 34."""
    machine, batch = drawing(kernel=kernel)
    machine.dwords(0x40, 0x80, 0xC0)
    machine.put("SURFACE_STATE", 0xC0, surface_format=SurfaceFormat.L16_UNORM, surface_base_address=0x0090_0000,
                width=64, height=64, surface_pitch=256, **kind)
    machine.put("SAMPLER_STATE", 0x600)
    assert lint(*batch, machine=machine) == found


def sending(message: str) -> str:
    return f"send(8) 2 g10<1>F g11<8,8,1>F {message} {{ align1 }};\n{PS}"


@pytest.mark.parametrize(("kernel", "found"), [
    (PS, []),
    (PS.replace("null", "g10"), ["eot-destination"]),
    (PS.replace("null", "acc0"), ["eot-accumulator"]),
    (PS.replace("send(16) 1", "send(16) 0"), ["message-at-m0"]),
    (PS.replace(WRITE_16, target_write(11, "SIMD16")), ["alpha-without-depth"]),
    (f"send(8) 1 null<1>F g0<8,8,1>F {urb_write(2, swizzle='INTERLEAVED')} {{ align1 }};", ["urb-half-row"]),
    (sending(operand("SAMPLER_MESSAGE", length=5, response=8)), []),
    (sending(operand("SAMPLER_MESSAGE", response=1)), ["message"]),
    (sending(operand("EXTENDED_MATH_MESSAGE", response=1, math_function="POW")), ["message-length"]),
])
def test_what_shipped_kernels_do(kernel: str, found: list[str]) -> None:
    """Decision 26."""
    machine, batch = drawing(kernel=kernel)
    machine.put("SAMPLER_STATE", 0x600)
    assert lint(*batch, machine=machine) == found


def test_privileged_commands_in_a_batch() -> None:
    store = BatchDecoder().command("MI_STORE_DATA_IMM", use_global_gtt=True, address=0x1000, data=1)
    assert lint(store) == ["privileged"]


def test_set_context_is_followed_by_a_noop() -> None:
    switch = BatchDecoder().command("MI_SET_CONTEXT", logical_context_address=0x1000)
    assert lint(switch, [0]) == []
    assert lint(switch, FLUSH) == ["set-context-noop"]


def test_blits() -> None:
    machine = BatchDecoder()
    fill = {"color_depth": 3, "raster_operation": 0xF0, "destination_x2": 4, "destination_y2": 4}
    assert lint(machine.command("XY_COLOR_BLT", **fill, destination_pitch=64)) == ["blit-mask"]
    assert lint(machine.command("XY_COLOR_BLT", **fill, write_rgb=True, destination_pitch=66)) == ["blit-pitch"]
    assert lint(machine.command("XY_COLOR_BLT", **fill, write_rgb=True, destination_tiled=True, destination_pitch=128,
                                destination_base_address=0x1100)) == ["blit-alignment"]


def _findings(path: Path) -> list[Item]:
    return list(Document(trace.open(path), options=Options(lint=True)))


def test_captures_have_only_the_deviations_that_are_known() -> None:
    """crocus builds SF and CLIP messages at m0 and never writes the constants of some shaders; the VA driver leaves
    entries of binding tables unset, and its kernels end with acc0 as destination (docs/decisions.md 26)."""
    for path in sorted(TRACES.glob("*.aub*")):
        found = diagnostics(_findings(path))
        assert {d.severity for d in found} <= {Severity.INFO}, path.name
        assert {d.rule for d in found} <= {"message-at-m0", "unset-constants", "unset-surface", "urb-fence-line",
                                           "eot-accumulator"}, path.name


READS_CONSTANTS = "mov(8) g20<1>F g2<8,8,1>F { align1 };\n"
READS_ATTRIBUTES = "mov(16) g20<1>F g4<0,1,0>F { align1 };\n"


@pytest.mark.parametrize(("kernel", "written", "found"), [
    (READS_CONSTANTS, False, ["unset-constants", "constants-unwritten"]),
    (READS_CONSTANTS, True, []),
    (READS_ATTRIBUTES, False, ["unset-constants"]),
    ("mov(16) g20<1>F g[a0 0]<8,8,1>F { align1 };\n", False, ["unset-constants", "constants-unwritten"]),
])
def test_unwritten_constants_matter_to_kernels_that_read_them(kernel: str, written: bool, found: list[str]) -> None:
    """Two registers of constants lie in g2 and g3, after the header."""
    machine, batch = drawing(kernel=kernel + PS)
    machine.put("WM_STATE", 0x300, kernel_start_pointer=0x2000, thread_dispatch_enable=True,
                constant_urb_entry_read_length=2, setup_urb_entry_read_length=4, dispatch_grf_start_register=2,
                maximum_number_of_threads=1)
    if written:
        machine.dwords(0x70_0000, *[0] * 16)
    constants = machine.command("CONSTANT_BUFFER", valid=True, buffer_starting_address=0x70_0000, buffer_length=1)
    assert lint(*batch[:-1], constants, batch[-1], machine=machine) == found


def test_every_rule_of_the_decoder_is_registered() -> None:
    """A rule without an entry would raise KeyError when it finds something."""
    source = "".join(path.read_text() for path in sorted(Path(lint_rules.__file__).parent.glob("*.py"))
                     if path.name != "lint_rules.py")
    used = set(re.findall(r"(?:find|omplain|_diagnostic|_lost)\(\w+, (?:[a-z, ]+, )?\"([a-z0-9-]+)\"", source))
    used |= set(re.findall(r"found\.append\(\(\"([a-z0-9-]+)\"", source))
    assert len(used) > 60 and used <= set(RULES)


def test_documentation_lists_the_rules_of_the_code() -> None:
    page = (TRACES.parent / "docs" / "lint.md").read_text()
    assert page.partition("## Rules\n\n")[2] == documentation()
