"""Each lint rule of Gen6 and later finds what it is about, and finds nothing in a batch that keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gen4emu.decode import Item
from gen4emu.decode.lint_commands import COMMAND_RULES
from gen4emu.decode.lint_draws import DRAW_RULES
from gen4emu.decode.lint_rules import _LATER_WARNINGS, RULES, Severity
from gen4emu.decode.lint_surfaces import SURFACE_RULES
from gen4emu.hw.gen import Gen
from gen4emu.hw.later_formats import AstcSurfaceFormat as Format
from gen4emu.trace.events import Engine, Submission
from tests.harness.batch import diagnostics
from tests.harness.later import DEVICES, DYNAMIC, KERNELS, SAMPLING_KERNEL, SURFACES, LaterDecoder

Values = dict[str, Any]


def lint(items: Sequence[Item]) -> list[str]:
    return [d.rule for d in diagnostics(items) if d.severity is not Severity.ERROR]


_SHORTS = Format["R16G16B16_UINT"]  # fetched from Haswell on, and by Bay Trail


# --- one command ------------------------------------------------------------------------------------------------------
# rule, device, command, fields that keep the rule, fields that break it
CASES: tuple[tuple[str, str, str, Values, Values], ...] = (
    ("primitive-counts", "kbl", "3DPRIMITIVE", {"indirect_parameter_enable": 1},
     {"indirect_parameter_enable": 1, "end_offset_enable": 1}),
    ("primitive-end-offset", "kbl", "3DPRIMITIVE", {"start_vertex_location": 1},
     {"end_offset_enable": 1, "start_vertex_location": 1}),
    ("primitive-end-offset", "ivb", "3DPRIMITIVE", {"vertex_access_type": 1},
     {"end_offset_enable": 1, "vertex_access_type": 1}),
    ("vertex-buffer-twice", "snb", "3DSTATE_VERTEX_BUFFERS",
     {"vertex_buffers": [{"vertex_buffer_index": 1}, {"vertex_buffer_index": 2}]},
     {"vertex_buffers": [{"vertex_buffer_index": 2}, {"vertex_buffer_index": 2}]}),
    ("vertex-elements", "hsw", "3DSTATE_VERTEX_ELEMENTS", {"vertex_elements": [{"valid": 1}]},
     {"vertex_elements": [{"valid": 1}] * 35}),
    ("edge-flag", "ivb", "3DSTATE_VERTEX_ELEMENTS", {"vertex_elements": [{}, {"edge_flag_enable": 1}]},
     {"vertex_elements": [{"edge_flag_enable": 1}, {}]}),
    ("stipple-counters", "kbl", "3DSTATE_LINE_STIPPLE", {"modify_enable": 1, "current_repeat_counter": 1},
     {"modify_enable": 1, "current_repeat_counter": 2}),
    ("stipple-inverse", "skl", "3DSTATE_LINE_STIPPLE",
     {"line_stipple_repeat_count": 3, "line_stipple_inverse_repeat_count": 21845 / 65536},
     {"line_stipple_repeat_count": 3, "line_stipple_inverse_repeat_count": 0.5}),
    ("chroma-range", "kbl", "3DSTATE_CHROMA_KEY",
     {"chroma_key_low_alpha": 3, "chroma_key_high_alpha": 3},
     {"chroma_key_low_green_or_y": 4, "chroma_key_high_green_or_y": 3}),
    ("depth-pitch", "kbl", "3DSTATE_DEPTH_BUFFER",
     {"surface_base_address": 0x10000, "surface_type": 1, "surface_format": 1, "width": 128, "surface_pitch": 512},
     {"surface_base_address": 0x10000, "surface_type": 1, "surface_format": 1, "width": 129, "surface_pitch": 512}),
    ("depth-pitch", "hsw", "3DSTATE_HIER_DEPTH_BUFFER", {"surface_base_address": 0x10000, "surface_pitch": 256},
     {"surface_base_address": 0x10000, "surface_pitch": 192}),
    ("depth-cube", "kbl", "3DSTATE_DEPTH_BUFFER", {"surface_type": 3, "width": 64, "height": 64},
     {"surface_type": 3, "width": 64, "height": 32}),
    ("depth-extent", "bdw", "3DSTATE_DEPTH_BUFFER",
     {"surface_type": 1, "surface_qpitch": 4, "depth": 4, "render_target_view_extent": 4},
     {"surface_type": 1, "surface_qpitch": 4, "depth": 4, "render_target_view_extent": 2}),
    ("depth-tiling", "kbl", "3DSTATE_DEPTH_BUFFER",
     {"surface_type": 1, "tiled_resource_mode": 1, "mip_tail_start_lod": 3},
     {"surface_type": 1, "mip_tail_start_lod": 3}),
    ("depth-qpitch", "skl", "3DSTATE_DEPTH_BUFFER",
     {"surface_type": 1, "depth": 2, "render_target_view_extent": 2, "surface_qpitch": 64},
     {"surface_type": 1, "depth": 2, "render_target_view_extent": 2}),
    ("depth-qpitch", "kbl", "3DSTATE_STENCIL_BUFFER", {"surface_qpitch": 64}, {"surface_qpitch": 68}),
    ("depth-alignment", "kbl", "3DSTATE_DEPTH_BUFFER",
     {"surface_type": 1, "surface_base_address": 0x10000, "surface_pitch": 128},
     {"surface_type": 1, "surface_base_address": 0x10080, "surface_pitch": 128}),
    ("clip-mode", "kbl", "3DSTATE_CLIP", {"clip_enable": 1, "perspective_divide_disable": 1, "clip_mode": 4},
     {"clip_enable": 1, "perspective_divide_disable": 1}),
    ("early-cull", "ivb", "3DSTATE_CLIP", {"early_cull_enable": 1},
     {"early_cull_enable": 1, "vertex_sub_pixel_precision_select": 1}),
    ("point-widths", "snb", "3DSTATE_CLIP", {"minimum_point_width": 1.0, "maximum_point_width": 255.0},
     {"minimum_point_width": 2.0, "maximum_point_width": 1.0}),
    ("fast-clear-dispatch", "hsw", "3DSTATE_PS", {"render_target_fast_clear_enable": 1, "dispatch_16_pixel_enable": 1},
     {"render_target_fast_clear_enable": 1, "dispatch_8_pixel_enable": 1}),
    ("fast-clear-resolve", "kbl", "3DSTATE_PS", {"render_target_resolve_type": 1},
     {"render_target_resolve_type": 1, "render_target_fast_clear_enable": 1}),
    ("invalid-shader", "kbl", "3DSTATE_PS_EXTRA", {"pixel_shader_valid": 1, "attribute_enable": 1},
     {"attribute_enable": 1}),
    ("forced-depth", "bdw", "3DSTATE_PS_EXTRA", {"pixel_shader_valid": 1},
     {"pixel_shader_valid": 1, "force_computed_depth": 1}),
    ("override-select", "kbl", "3DSTATE_SBE",
     {"primitive_id_override_attribute_select": 2, "primitive_id_override_component_x": 1},
     {"primitive_id_override_attribute_select": 2}),
    ("uav-disabled", "kbl", "3DSTATE_VS", {"enable": 1, "accesses_uav": 1}, {"accesses_uav": 1}),
    ("uav-disabled", "kbl", "3DSTATE_DS", {"function_enable": 1, "accesses_uav": 1}, {"accesses_uav": 1}),
    ("dual-patch", "kbl", "3DSTATE_HS", {"enable": 1, "dispatch_mode": 1, "include_vertex_handles": 1},
     {"enable": 1, "dispatch_mode": 1, "include_vertex_handles": 1, "instance_count": 2}),
    ("vertex-handles", "kbl", "3DSTATE_HS", {"enable": 1, "vertex_urb_entry_read_length": 1}, {"enable": 1}),
    ("vertex-handles", "ivb", "3DSTATE_GS", {"enable": 1, "include_vertex_handles": 1, "output_topology": 1},
     {"enable": 1, "output_topology": 1}),
    ("hs-primitive-id", "skl", "3DSTATE_HS",
     {"enable": 1, "include_primitive_id": 1, "dispatch_mode": 1, "include_vertex_handles": 1},
     {"enable": 1, "include_primitive_id": 1, "include_vertex_handles": 1}),
    ("ds-payload", "kbl", "3DSTATE_DS",
     {"function_enable": 1, "dispatch_mode": 2, "dispatch_grf_start_register_for_urb_data": 6},
     {"function_enable": 1, "dispatch_mode": 2, "dispatch_grf_start_register_for_urb_data": 5}),
    *((rule, "kbl", "3DSTATE_GS", {"enable": 1, "expected_vertex_count": 3, "include_vertex_handles": 1,
                                   "output_topology": 1, "maximum_number_of_threads": 8,
                                   "dispatch_grf_start_register_for_urb_data": 4, **good},
       {"enable": 1, "expected_vertex_count": 3, "include_vertex_handles": 1, "output_topology": 1,
        "maximum_number_of_threads": 8, "dispatch_grf_start_register_for_urb_data": 4, **bad})
      for rule, good, bad in (
          ("gs-vertices", {}, {"expected_vertex_count": 0}),
          ("gs-instances", {"dispatch_mode": 2}, {"dispatch_mode": 2, "instance_control": 2}),
          ("gs-instances", {"dispatch_mode": 2}, {"dispatch_mode": 2, "expected_vertex_count": 17}),
          ("gs-streams", {"control_data_format": 1, "control_data_header_size": 32},
           {"control_data_format": 1, "control_data_header_size": 32, "output_topology": 5}),
          ("gs-reorder", {}, {"reorder_mode": 1}),
          ("gs-payload", {"dispatch_mode": 0, "dispatch_grf_start_register_for_urb_data": 2},
           {"dispatch_mode": 0, "dispatch_grf_start_register_for_urb_data": 1}),
          ("gs-payload", {"dispatch_mode": 3, "dispatch_grf_start_register_for_urb_data": 5},
           {"dispatch_mode": 3, "dispatch_grf_start_register_for_urb_data": 4}),
      )),
    ("constants-total", "kbl", "3DSTATE_CONSTANT_VS",
     {"constant_buffer_2_read_length": 1024, "constant_buffer_3_read_length": 1024},
     {"constant_buffer_2_read_length": 1056, "constant_buffer_3_read_length": 1024}),
    ("constants-total", "ivb", "3DSTATE_CONSTANT_PS", {"constant_buffer_3_read_length": 64},
     {"constant_buffer_3_read_length": 65}),
    ("push-range", "kbl", "3DSTATE_PUSH_CONSTANT_ALLOC_VS",
     {"constant_buffer_offset": 24 << 10, "constant_buffer_size": 8 << 10},
     {"constant_buffer_offset": 26 << 10, "constant_buffer_size": 8 << 10}),
    ("push-range", "bdw", "3DSTATE_PUSH_CONSTANT_ALLOC_PS", {"constant_buffer_size": 2 << 10},
     {"constant_buffer_size": 3 << 10}),
    ("gather-length", "kbl", "3DSTATE_GATHER_CONSTANT_GS", {"entries": [{}] * 127}, {"entries": [{}] * 128}),
    ("edit-length", "hsw", "3DSTATE_BINDING_TABLE_EDIT_VS", {"binding_table_edit_target": 3, "entries": [{}] * 256},
     {"binding_table_edit_target": 3, "entries": [{}] * 257}),
    ("pool-size", "kbl", "3DSTATE_GATHER_POOL_ALLOC", {"gather_pool_enable": 1, "gather_pool_buffer_size": 4096},
     {"gather_pool_enable": 1}),
    ("pool-size", "kbl", "3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC", {}, {"dx9_constant_buffer_pool_enable": 1}),
    ("so-decl-length", "ivb", "3DSTATE_SO_DECL_LIST",
     {"num_entries_0": 1, "stream_to_buffer_selects_0": 1, "entries": [{}]},
     {"num_entries_0": 1, "stream_to_buffer_selects_0": 1, "entries": [{}] * 2}),
    ("so-decl-buffers", "kbl", "3DSTATE_SO_DECL_LIST",
     {"num_entries_1": 1, "stream_to_buffer_selects_1": 4, "entries": [{"stream_1_output_buffer_slot": 2}]},
     {"num_entries_1": 1, "stream_to_buffer_selects_1": 2, "entries": [{"stream_1_output_buffer_slot": 2}]}),
    ("so-decl-buffers", "kbl", "3DSTATE_SO_DECL_LIST", {}, {"stream_to_buffer_selects_3": 1}),
    ("so-pitch", "kbl", "3DSTATE_STREAMOUT", {"buffer_2_surface_pitch": 12}, {"buffer_2_surface_pitch": 10}),
    ("so-pitch", "ivb", "3DSTATE_SO_BUFFER", {"surface_pitch": 12}, {"surface_pitch": 10}),
    ("stall-missing", "kbl", "PIPE_CONTROL", {"tlb_invalidate": 1, "command_streamer_stall_enable": 1},
     {"tlb_invalidate": 1}),
    ("stall-missing", "ivb", "PIPE_CONTROL", {"store_data_index": 1, "post_sync_operation": 1},
     {"store_data_index": 1}),
    ("stall-missing", "kbl", "PIPE_CONTROL", {"flush_llc": 1, "post_sync_operation": 1},
     {"flush_llc": 1, "post_sync_operation": 3}),
    ("stall-at-scoreboard", "kbl", "PIPE_CONTROL", {"stall_at_pixel_scoreboard": 1},
     {"stall_at_pixel_scoreboard": 1, "depth_stall_enable": 1}),
    ("flush-and-count", "kbl", "PIPE_CONTROL", {"depth_cache_flush_enable": 1, "post_sync_operation": 1},
     {"depth_cache_flush_enable": 1, "post_sync_operation": 2}),
    ("stall-alone", "snb", "PIPE_CONTROL", {"command_streamer_stall_enable": 1, "stall_at_pixel_scoreboard": 1},
     {"command_streamer_stall_enable": 1}),
    ("depth-stall", "ivb", "PIPE_CONTROL", {"depth_stall_enable": 1},
     {"depth_stall_enable": 1, "depth_cache_flush_enable": 1}),
    ("gs-control", "kbl", "3DSTATE_GS",
     {"enable": 1, "static_output": 1, "static_output_vertex_count": 128, "control_data_format": 1,
      "control_data_header_size": 32},
     {"enable": 1, "static_output": 1, "static_output_vertex_count": 129, "control_data_format": 1,
      "control_data_header_size": 32}),
    ("gs-control", "bdw", "3DSTATE_GS", {}, {"enable": 1, "static_output": 1, "static_output_vertex_count": 257,
                                             "control_data_header_size": 32}),
    ("hiz-rectangle", "kbl", "3DSTATE_WM_HZ_OP", {"depth_buffer_clear_enable": 1, "clear_rectangle_x_max": 16},
     {"depth_buffer_clear_enable": 1, "clear_rectangle_x_max": 12}),
    ("hiz-rectangle", "bdw", "3DSTATE_WM_HZ_OP",
     {"depth_buffer_clear_enable": 1, "clear_rectangle_y_max": 6, "full_surface_depth_and_stencil_clear": 1},
     {"depth_buffer_clear_enable": 1, "clear_rectangle_y_max": 6}),
    ("vertex-format", "snb", "3DSTATE_VERTEX_ELEMENTS", {"vertex_elements": [{"valid": 1}]},
     {"vertex_elements": [{"valid": 1, "source_element_format": Format["L24X8_UNORM"]}]}),
    ("vertex-format", "byt", "3DSTATE_VERTEX_ELEMENTS",
     {"vertex_elements": [{"valid": 1, "source_element_format": _SHORTS}]},
     {"vertex_elements": [{"valid": 1, "source_element_format": Format["L24X8_UNORM"]}]}),
    ("vertex-format", "ivb", "3DSTATE_VERTEX_ELEMENTS", {"vertex_elements": [{"source_element_format": _SHORTS}]},
     {"vertex_elements": [{"valid": 1, "source_element_format": _SHORTS}]}),
    ("sample-order", "kbl", "3DSTATE_SAMPLE_PATTERN", {}, {"sample0_x_offset_4x": 0.0, "sample1_x_offset_4x": 0.5,
                                                           "sample1_y_offset_4x": 0.5}),
)


@pytest.mark.parametrize(("rule", "device", "command", "good", "bad"), CASES,
                         ids=[f"{rule}-{device}-{i}" for i, (rule, device, *_) in enumerate(CASES)])
def test_a_command_that_breaks_a_rule_is_found(rule: str, device: str, command: str, good: Values,
                                               bad: Values) -> None:
    machine = LaterDecoder(device, lint=True, follow=False)
    assert rule not in lint(machine.run(machine.command(command, **good)))
    assert lint(machine.run(machine.command(command, **bad))).count(rule) == 1


# Rules that the layouts have: reserved bits, ranges, enumerations, alignment and addresses.
LAYOUT_CASES: tuple[tuple[str, Sequence[int], str], ...] = (
    ("3DSTATE_BINDING_TABLE_EDIT_VS", (0x78430000, 0), "out-of-range"),  # target 0
    ("3DSTATE_MONOFILTER_SIZE", (0x79110000, 0x08), "out-of-range"),  # height 0
    ("3DSTATE_DEPTH_BUFFER", (0x78050006, 0, 0, 0, 0, 0, 0, 0), "out-of-range"),  # type 0
    ("3DSTATE_DEPTH_BUFFER", (0x78050006, 1 << 29 | 1 << 18, 0, 0, 15, 0, 0, 0), "out-of-range"),  # level 15
    ("3DSTATE_CLIP", (0x78120002, 0, 1 << 13, 0), "out-of-range"),  # mode 1
    ("3DSTATE_CLIP", (0x78120002, 0, 3, 0), "out-of-range"),  # provoking vertex 3 of a fan
    ("3DSTATE_RASTER", (0x78500003, 7 << 18, 0, 0, 0), "out-of-range"),  # forced sample count 7
    ("3DSTATE_RASTER", (0x78500003, 3 << 5, 0, 0, 0), "out-of-range"),  # fill mode 3
    ("3DSTATE_PS", (0x7820000A, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), "out-of-range"),  # one thread
    ("3DSTATE_SBE", (0x781F0004, 33 << 22, 0, 0, 0, 0), "out-of-range"),  # 33 attributes
    ("3DSTATE_VS", (0x78100007, 0, 0, 5 << 27, 0, 0, 0, 0, 0), "out-of-range"),  # 5 samplers in fours
    ("3DSTATE_HS", (0x781B0007, 0, 500 << 8, 0, 0, 0, 0, 0, 0), "out-of-range"),  # 501 threads
    ("3DSTATE_DS", (0x781D0009, 0, 0, 0, 0, 0, 65 << 11, 0, 0, 0, 0), "out-of-range"),  # 65 rows of a patch
    *((f"3DSTATE_URB_{stage}", (0x78300000 | code << 16, most + 1), "out-of-range")
      for code, (stage, most) in enumerate((("VS", 1856), ("HS", 672), ("DS", 1120), ("GS", 640)))),
    ("3DSTATE_STREAMOUT", (0x781E0003, 1 << 23, 0, 0, 0), "out-of-range"),  # force 1
    ("3DSTATE_DRAWING_RECTANGLE", (0x79000002 | 3 << 14, 0, 0, 0), "out-of-range"),  # core 3
    ("3DSTATE_DRAWING_RECTANGLE", (0x79000002, 0, 0, 0x8000), "out-of-range"),  # origin -32768
    ("3DSTATE_LINE_STIPPLE", (0x79080001, 0, 257), "out-of-range"),
    ("3DSTATE_DX9_GENERATE_ACTIVE_VS", (0x78410000, 1 << 8), "reserved-bits"),
    ("3DSTATE_POLY_STIPPLE_OFFSET", (0x79060000, 32), "reserved-bits"),
    ("3DSTATE_BLEND_STATE_POINTERS", (0x78240000, 0x20), "reserved-bits"),  # aligned to 32
    ("3DSTATE_INDEX_BUFFER", (0x780A0003, 0, 0, 1 << 16, 0), "out-of-range"),  # not canonical
    ("3DSTATE_SCISSOR_STATE_POINTERS", (0x780F0001, 0, 0), "long-command"),
    ("3DSTATE_CLEAR_PARAMS", (0x78040000, 0), "short-command"),
)


@pytest.mark.parametrize(("name", "words", "rule"), LAYOUT_CASES,
                         ids=[f"{c[0]}-{i}" for i, c in enumerate(LAYOUT_CASES)])
def test_layouts_report_what_no_device_defines(name: str, words: Sequence[int], rule: str) -> None:
    machine = LaterDecoder("kbl", follow=False)
    items = machine.run(list(words))
    assert {d.rule for d in diagnostics(items) if d.where == name} == {rule}


# --- the state at a draw ----------------------------------------------------------------------------------------------
# A state without findings.  None takes a command out, a name with a number after "#" is a second command of a name.
STATE: dict[str, Values | None] = {
    "PIPE_CONTROL": {"command_streamer_stall_enable": 1, **{f"{cache}_cache_invalidation_enable": 1 for cache in
                                                            ("state", "texture", "constant")}},
    "3DSTATE_VERTEX_ELEMENTS": {"vertex_elements": [{"valid": 1}]},
    **{f"3DSTATE_{stage}": {} for stage in ("HS", "TE", "DS", "GS", "STREAMOUT", "DRAWING_RECTANGLE")},
    "3DSTATE_SAMPLE_MASK": {"sample_mask": 1},
    "3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 4},
    "3DSTATE_URB_VS": {"vs_urb_starting_address": 32 << 10, "vs_urb_entry_allocation_size": 64,
                       "vs_number_of_urb_entries": 64},
    "3DSTATE_URB_GS": {"gs_urb_starting_address": 64 << 10, "gs_urb_entry_allocation_size": 64,
                       "gs_number_of_urb_entries": 32},
    **{f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage}": {"constant_buffer_offset": offset << 10, "constant_buffer_size": 4096}
       for offset, stage in ((0, "VS"), (4, "PS"))},
    **{f"3DSTATE_CONSTANT_{stage}": {} for stage in ("VS", "PS")},
    **{f"3DSTATE_BINDING_TABLE_POINTERS_{stage}": {} for stage in ("VS", "PS")},
    "3DSTATE_VS": {"enable": 1},
    "3DSTATE_CLIP": {"clip_enable": 1, "clipper_statistics_enable": 1, "maximum_point_width": 1.0},
    "3DSTATE_SF": {"statistics_enable": 1, "legacy_global_depth_bias_enable": 1},
    "3DSTATE_RASTER": {},
    "3DSTATE_SBE": {"force_vertex_urb_entry_read_length": 1, "vertex_urb_entry_read_length": 1},
    "3DSTATE_MULTISAMPLE": {},
    "3DSTATE_WM": {},
    "3DSTATE_PS": {"dispatch_8_pixel_enable": 1, "maximum_number_of_threads_per_psd": 64},
    "3DSTATE_PS_EXTRA": {"pixel_shader_valid": 1},
    "3DSTATE_PS_BLEND": {},
    "3DSTATE_BLEND_STATE_POINTERS": {"blend_state_pointer": 0x80, "blend_state_pointer_valid": 1},
    "3DSTATE_CC_STATE_POINTERS": {"color_calc_state_pointer": 0x40, "color_calc_state_pointer_valid": 1},
    "3DSTATE_DEPTH_BUFFER": {"surface_type": 7, "surface_format": 1},
}


def scene(device: str = "kbl") -> LaterDecoder:
    machine = LaterDecoder(device, lint=True)
    machine.block("BLEND_STATE", DYNAMIC + 0x80)
    machine.block("COLOR_CALC_STATE", DYNAMIC + 0x40)
    machine.target_kernel(0, 0)
    machine.words(SURFACES, 0x40)
    aligned = {"surface_vertical_alignment": 1, "surface_horizontal_alignment": 1} if machine.gen & Gen.GEN9 else {}
    machine.block("RENDER_SURFACE_STATE", SURFACES + 0x40, surface_type=7, **aligned)
    return machine


def state(machine: LaterDecoder, changes: Mapping[str, Values | None]) -> list[list[int]]:
    """The commands of the state, with other fields in some of them and others added."""
    names = [*STATE, *(name for name in changes if name not in STATE)]
    values = {name: changes.get(name, {}) if name not in STATE else
              changes[name] if name in changes and changes[name] is None else
              {**(STATE[name] or {}), **(changes.get(name) or {})} for name in names}
    return [machine.command(name.partition("#")[0], **fields) for name, fields in values.items() if fields is not None]


def findings(changes: Mapping[str, Values | None], *more: str, device: str = "kbl", **draw: Any) -> list[str]:
    machine = scene(device)
    between = [machine.command(name) for name in more]
    return lint(machine.run(machine.bases(), *state(machine, changes), *between, machine.draw(**draw)))


def test_the_state_without_changes_has_no_finding() -> None:
    assert findings({}) == []
    assert findings({}, device="skl") == []


_HS: dict[str, Values | None] = {
    "3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 0x22},
    "3DSTATE_CONSTANT_HS": {}, "3DSTATE_CONSTANT_DS": {},
    "3DSTATE_BINDING_TABLE_POINTERS_HS": {}, "3DSTATE_BINDING_TABLE_POINTERS_DS": {},
    "3DSTATE_HS": {"enable": 1, "include_vertex_handles": 1}, "3DSTATE_TE": {"te_enable": 1},
    "3DSTATE_DS": {"function_enable": 1}}
_GS: dict[str, Values | None] = {
    "3DSTATE_CONSTANT_GS": {}, "3DSTATE_BINDING_TABLE_POINTERS_GS": {},
    "3DSTATE_GS": {"enable": 1, "include_vertex_handles": 1, "expected_vertex_count": 3, "output_topology": 5,
                   "dispatch_grf_start_register_for_urb_data": 2, "maximum_number_of_threads": 8,
                   "output_vertex_size": 32}}
_DEPTH: Values = {"surface_type": 1, "surface_format": 1, "surface_base_address": 0x10000, "surface_pitch": 128}


def _with(base: Mapping[str, Values | None], command: str, **values: Any) -> dict[str, Values | None]:
    return {**base, command: {**(base.get(command) or {}), **values}}


# rule, state that keeps it, state that breaks it
DRAW_CASES: tuple[tuple[str, Mapping[str, Values | None], Mapping[str, Values | None]], ...] = (
    ("tessellation-stages", _HS, _with(_HS, "3DSTATE_TE", te_enable=0)),
    ("patch-topology", _HS, _with(_HS, "3DSTATE_VF_TOPOLOGY", primitive_topology_type=4)),
    ("patch-topology", {}, {"3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 0x22}}),
    ("patch-topology", _with(_HS, "3DSTATE_HS", dispatch_mode=1),
     _with(_with(_HS, "3DSTATE_HS", dispatch_mode=1), "3DSTATE_VF_TOPOLOGY", primitive_topology_type=0x24)),
    ("patch-topology", _with(_HS, "3DSTATE_HS", dispatch_mode=2, vertex_urb_entry_read_length=1),
     _with(_with(_HS, "3DSTATE_HS", dispatch_mode=2, vertex_urb_entry_read_length=1), "3DSTATE_VF_TOPOLOGY",
           primitive_topology_type=0x3F)),
    ("no-topology", {}, {"3DSTATE_VF_TOPOLOGY": None}),
    ("rectangle-fill", {"3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 15}},
     {"3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 15}, "3DSTATE_RASTER": {"back_face_fill_mode": 1}}),
    ("provoking-vertex", {"3DSTATE_CLIP": {"triangle_fan_provoking_vertex_select": 1},
                          "3DSTATE_SF": {"triangle_fan_provoking_vertex_select": 1}},
     {"3DSTATE_SF": {"triangle_fan_provoking_vertex_select": 1}}),
    ("sub-pixel-precision", {"3DSTATE_SF": {"vertex_sub_pixel_precision_select": 1},
                             "3DSTATE_CLIP": {"vertex_sub_pixel_precision_select": 1}},
     {"3DSTATE_SF": {"vertex_sub_pixel_precision_select": 1}}),
    ("barycentric-mode", {"3DSTATE_WM": {"barycentric_interpolation_mode": 8},
                          "3DSTATE_CLIP": {"non_perspective_barycentric_enable": 1}},
     {"3DSTATE_WM": {"barycentric_interpolation_mode": 8}}),
    ("clip-statistics", {}, {"3DSTATE_SF": {"statistics_enable": 0}}),
    ("line-width", {"3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 2},
                    "3DSTATE_RASTER": {"dx_multisample_rasterization_mode": 2},
                    "3DSTATE_MULTISAMPLE": {"number_of_multisamples": 2}, "3DSTATE_SF": {"line_width": 1.0}},
     {"3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 2}, "3DSTATE_MULTISAMPLE": {"number_of_multisamples": 2},
      "3DSTATE_RASTER": {"dx_multisample_rasterization_mode": 2}}),
    ("depth-bias", {"3DSTATE_RASTER": {"global_depth_offset_enable_solid": 1, "global_depth_offset_constant": 1.0}},
     {"3DSTATE_RASTER": {"global_depth_offset_enable_solid": 1, "global_depth_offset_constant": 1.0},
      "3DSTATE_SF": {"legacy_global_depth_bias_enable": 0}}),
    ("forced-samples", {"3DSTATE_RASTER": {"forced_sample_count": 2}},
     {"3DSTATE_RASTER": {"forced_sample_count": 2}, "3DSTATE_MULTISAMPLE": {"number_of_multisamples": 2}}),
    ("forced-samples", {}, {"3DSTATE_RASTER": {"forced_sample_count": 1}}),
    ("forced-samples", {"3DSTATE_RASTER": {"forced_sample_count": 2}},
     {"3DSTATE_RASTER": {"forced_sample_count": 2}, "3DSTATE_MULTISAMPLE": {"pixel_location": 1}}),
    ("forced-samples", {"3DSTATE_RASTER": {"forced_sample_count": 2}},
     {"3DSTATE_RASTER": {"forced_sample_count": 2}, "3DSTATE_PS_EXTRA": {"pixel_shader_is_per_sample": 1}}),
    ("conservative", {"3DSTATE_RASTER": {"conservative_rasterization_enable": 1}},
     {"3DSTATE_RASTER": {"conservative_rasterization_enable": 1}, "3DSTATE_WM": {"polygon_stipple_enable": 1}}),
    ("pixel-dispatch", {}, {"3DSTATE_PS": {"dispatch_8_pixel_enable": 0}}),
    ("pixel-dispatch", {"3DSTATE_PS": {"position_xy_offset_select": 3},
                        "3DSTATE_PS_EXTRA": {"pixel_shader_is_per_sample": 1}},
     {"3DSTATE_PS": {"position_xy_offset_select": 3}}),
    ("pixel-dispatch", {"3DSTATE_PS": {"dispatch_32_pixel_enable": 1}},
     {"3DSTATE_PS": {"dispatch_32_pixel_enable": 1}, "3DSTATE_MULTISAMPLE": {"number_of_multisamples": 4}}),
    ("push-enable", {"3DSTATE_PS": {"push_constant_enable": 1},
                     "3DSTATE_CONSTANT_PS": {"constant_buffer_3_read_length": 32,
                                             "pointer_to_constant_buffer_3": (1 << 32) + KERNELS}},
     {"3DSTATE_PS": {"push_constant_enable": 1}}),
    ("attribute-enable", {"3DSTATE_PS_EXTRA": {"attribute_enable": 1},
                          "3DSTATE_SBE": {"number_of_sf_output_attributes": 1}},
     {"3DSTATE_SBE": {"number_of_sf_output_attributes": 1}}),
    ("depth-coverage", {"3DSTATE_PS_EXTRA": {"input_coverage_mask_state": 3}},
     {"3DSTATE_PS_EXTRA": {"input_coverage_mask_state": 3}, "3DSTATE_WM": {"early_depth_stencil_control": 1}}),
    ("ps-blend", {}, {"3DSTATE_PS_BLEND": {"color_buffer_blend_enable": 1}}),
    ("sbe-reads", {}, {"3DSTATE_SBE": {"vertex_urb_entry_read_length": 0}}),
    ("sbe-reads", {}, {"3DSTATE_SBE": {"number_of_sf_output_attributes": 3},
                       "3DSTATE_PS_EXTRA": {"attribute_enable": 1}}),
    ("sbe-reads", {"3DSTATE_SBE": {"number_of_sf_output_attributes": 1, "attribute_swizzle_enable": 1,
                                   "attribute_0_active_component_format": 3},
                   "3DSTATE_PS_EXTRA": {"attribute_enable": 1},
                   "3DSTATE_SBE_SWIZ": {"attributes": [{"even_source_attribute": 1}]}},
     {"3DSTATE_SBE": {"number_of_sf_output_attributes": 1, "attribute_swizzle_enable": 1,
                      "attribute_0_active_component_format": 3},
      "3DSTATE_PS_EXTRA": {"attribute_enable": 1},
      "3DSTATE_SBE_SWIZ": {"attributes": [{"even_source_attribute": 2}]}}),
    ("sbe-reads", {"3DSTATE_SBE": {"vertex_urb_entry_read_length": 16}},
     {"3DSTATE_SBE": {"vertex_urb_entry_read_length": 17}}),
    ("active-components", {"3DSTATE_SBE": {"number_of_sf_output_attributes": 1,
                                           "attribute_0_active_component_format": 3},
                           "3DSTATE_PS_EXTRA": {"attribute_enable": 1}},
     {"3DSTATE_SBE": {"number_of_sf_output_attributes": 2, "attribute_0_active_component_format": 3},
      "3DSTATE_PS_EXTRA": {"attribute_enable": 1}}),
    ("ds-handles", _with(_with(_HS, "3DSTATE_DS", dispatch_mode=2, dispatch_grf_start_register_for_urb_data=6),
                         "3DSTATE_URB_HS", hs_number_of_urb_entries=2),
     _with(_with(_HS, "3DSTATE_DS", dispatch_mode=2, dispatch_grf_start_register_for_urb_data=6),
           "3DSTATE_URB_HS", hs_number_of_urb_entries=1)),
    ("missing-state", {}, {"3DSTATE_CLIP": None}),
    ("hiz-buffer", {"3DSTATE_DEPTH_BUFFER": {**_DEPTH, "hierarchical_depth_buffer_enable": 1},
                    "3DSTATE_HIER_DEPTH_BUFFER": {"surface_base_address": 0x20000, "surface_pitch": 128}},
     {"3DSTATE_DEPTH_BUFFER": {**_DEPTH, "hierarchical_depth_buffer_enable": 1}}),
    ("hiz-buffer", {}, {"3DSTATE_DEPTH_BUFFER": {"hierarchical_depth_buffer_enable": 1},
                        "3DSTATE_HIER_DEPTH_BUFFER": {"surface_base_address": 0x20000, "surface_pitch": 128}}),
    ("stencil-format", {"3DSTATE_DEPTH_BUFFER": _DEPTH, "3DSTATE_STENCIL_BUFFER": {"stencil_buffer_enable": 1}},
     {"3DSTATE_DEPTH_BUFFER": {**_DEPTH, "surface_format": 5}, "3DSTATE_STENCIL_BUFFER": {"stencil_buffer_enable": 1}}),
    ("clear-value", {"3DSTATE_DEPTH_BUFFER": _DEPTH,
                     "3DSTATE_CLEAR_PARAMS": {"depth_clear_value": 1.0, "depth_clear_value_valid": 1}},
     {"3DSTATE_DEPTH_BUFFER": _DEPTH,
      "3DSTATE_CLEAR_PARAMS": {"depth_clear_value": 1.5, "depth_clear_value_valid": 1}}),
    ("domain-w", _with(_with(_HS, "3DSTATE_TE", te_domain=1), "3DSTATE_DS", compute_w_coordinate_enable=1),
     _with(_HS, "3DSTATE_DS", compute_w_coordinate_enable=1)),
    ("gs-output", _GS, _with(_GS, "3DSTATE_GS", output_vertex_size=48)),
    ("gs-output", _with(_GS, "3DSTATE_GS", dispatch_mode=1),
     _with(_with(_GS, "3DSTATE_GS", dispatch_mode=1), "3DSTATE_URB_GS", gs_number_of_urb_entries=1)),
    ("push-area", {}, {"3DSTATE_PUSH_CONSTANT_ALLOC_PS": {"constant_buffer_offset": 2048}}),
    ("push-area", {"3DSTATE_CONSTANT_VS": {"constant_buffer_3_read_length": 64,
                                           "pointer_to_constant_buffer_3": (1 << 32) + KERNELS}},
     {"3DSTATE_CONSTANT_VS": {"constant_buffer_3_read_length": 64, "pointer_to_constant_buffer_3": (1 << 32) + KERNELS},
      "3DSTATE_PUSH_CONSTANT_ALLOC_VS": {"constant_buffer_size": 0}}),
    ("push-order", {}, {"3DSTATE_PUSH_CONSTANT_ALLOC_VS#2": {"constant_buffer_size": 4096},
                        "3DSTATE_CONSTANT_VS#2": {}}),
    ("constants-uncommitted", {"3DSTATE_CONSTANT_VS#2": {}, "3DSTATE_BINDING_TABLE_POINTERS_VS#2": {}},
     {"3DSTATE_CONSTANT_VS#2": {}}),
    ("so-pitch", {"3DSTATE_SO_DECL_LIST": {"num_entries_0": 1, "stream_to_buffer_selects_0": 1, "entries": [
        {"stream_0_component_mask": 15}]},
      "3DSTATE_STREAMOUT": {"so_function_enable": 1, "buffer_0_surface_pitch": 16}},
     {"3DSTATE_SO_DECL_LIST": {"num_entries_0": 1, "stream_to_buffer_selects_0": 1, "entries": [
         {"stream_0_component_mask": 15}]},
      "3DSTATE_STREAMOUT": {"so_function_enable": 1, "buffer_0_surface_pitch": 12}}),
    ("urb-range", {}, {"3DSTATE_URB_GS": {"gs_urb_starting_address": 32 << 10}}),
    ("urb-range", {}, {"3DSTATE_URB_VS": {"vs_urb_starting_address": 0}}),
    ("urb-vertices", {}, {"3DSTATE_URB_VS": {"vs_number_of_urb_entries": 32}}),
    ("uav-mask", {"3DSTATE_PS_EXTRA": {"pixel_shader_has_uav": 1, "pixel_shader_does_not_write_to_rt": 1},
                  "3DSTATE_SAMPLE_MASK": {"sample_mask": 1}},
     {"3DSTATE_PS_EXTRA": {"pixel_shader_has_uav": 1, "pixel_shader_does_not_write_to_rt": 1},
      "3DSTATE_SAMPLE_MASK": {"sample_mask": 0}}),
    ("point-width", {"3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 1},
                     "3DSTATE_SF": {"point_width_source": 1, "point_width": 1.0}},
     {"3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": 1}, "3DSTATE_SF": {"point_width_source": 1}}),
    ("output-length", {"3DSTATE_SBE": {"force_vertex_urb_entry_read_length": 0},
                       "3DSTATE_VS": {"vertex_urb_entry_output_length": 1}},
     {"3DSTATE_SBE": {"force_vertex_urb_entry_read_length": 0}}),
    ("cc-pointer", {}, {"3DSTATE_CC_STATE_POINTERS": {"color_calc_state_pointer_valid": 0}}),
    ("push-stall", {**_HS, "3DSTATE_PUSH_CONSTANT_ALLOC_DS": None},
     {"3DSTATE_PUSH_CONSTANT_ALLOC_DS": {}, **_HS}),
    ("so-buffer-twice", {"3DSTATE_SO_BUFFER": {"so_buffer_index": 1}, "3DSTATE_SO_BUFFER#2": {"so_buffer_index": 2}},
     {"3DSTATE_SO_BUFFER": {"so_buffer_index": 1}, "3DSTATE_SO_BUFFER#2": {"so_buffer_index": 1}}),
    ("gs-stall", _with(_with(_GS, "3DSTATE_GS", dispatch_mode=3, dispatch_grf_start_register_for_urb_data=5),
                       "3DSTATE_URB_GS", gs_number_of_urb_entries=16),
     _with(_with(_GS, "3DSTATE_GS", dispatch_mode=3, dispatch_grf_start_register_for_urb_data=5), "3DSTATE_URB_GS",
           gs_number_of_urb_entries=8)),
)


@pytest.mark.parametrize(("rule", "good", "bad"), DRAW_CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(DRAW_CASES)])
def test_a_draw_with_state_that_breaks_a_rule_is_found(rule: str, good: Mapping[str, Values | None],
                                                       bad: Mapping[str, Values | None]) -> None:
    assert rule not in findings(good)
    assert findings(bad).count(rule) == 1


# --- surfaces, samplers, blocks in memory -----------------------------------------------------------------------------
TARGET, TEXTURE, IMAGES = SURFACES + 0x100, SURFACES + 0x200, 0x8_0000
_SAMPLE, _SAMPLE_C = 0, 3
_DUAL_SOURCE, _SIMD8 = 2, 4
_LINEAR: Values = {"mag_mode_filter": 1, "min_mode_filter": 1}


def _of(name: str) -> Values:
    return {"surface_format": Format[name]}


def reach(device: str, changes: Mapping[str, Any]) -> list[str]:
    """The findings for a primitive that samples a texture and draws; `changes` is by block, command or part of the
    kernel."""
    machine = scene(device)
    surface = {"surface_type": 1, **_of("R8G8B8A8_UNORM"), "width": 16, "height": 16, "surface_pitch": 128,
               "surface_vertical_alignment": 1}
    if machine.has("3DSTATE_PS_EXTRA"):
        surface["surface_horizontal_alignment"] = 1
    for offset, name, image in ((TARGET, "target", 0), (TEXTURE, "texture", 0x1000)):
        machine.block("RENDER_SURFACE_STATE", offset, **{
            **surface, "surface_base_address": machine.high + IMAGES + image, **changes.get(name, {})})
    entry = {"write_disable_alpha": 0, **changes.get("blend", {})}
    machine.block("BLEND_STATE", DYNAMIC + 0x80, entries=[entry])
    machine.block("SAMPLER_STATE", DYNAMIC + 0x200, **changes.get("sampler", {}))
    machine.block("CC_VIEWPORT", DYNAMIC + 0x300, **changes.get("viewport", {"maximum_depth": 1.0}))
    machine.words(SURFACES, 0x100, 0x200)
    machine.sampling_kernel(changes.get("message", _SAMPLE), changes.get("write", _SIMD8),
                            predicate=changes.get("predicate", False), target=changes.get("at", 0))
    changed = {name: value for name, value in changes.items() if name.startswith("3D")}
    kernel = {"kernel_start_pointer_0": SAMPLING_KERNEL}
    if device == "kbl":
        commands = state(machine, _with(changed, "3DSTATE_PS", **kernel))
    else:
        commands = [*machine.pixel_shader(dispatch_8_pixel_enable=True, **kernel),
                    *(machine.command(name, **value) for name, value in changed.items())]
    pointers = [machine.table("ps", 0), machine.samplers("ps", 0x200)]
    if machine.has("3DSTATE_VIEWPORT_STATE_POINTERS_CC"):
        pointers += [machine.command("3DSTATE_VIEWPORT_STATE_POINTERS_CC", cc_viewport_pointer=0x300),
                     machine.command("3DSTATE_BLEND_STATE_POINTERS", blend_state_pointer=0x80,
                                     **({"blend_state_pointer_valid": 1} if device == "kbl" else {}))]
    else:
        pointers += [machine.command("3DSTATE_CC_STATE_POINTERS", pointer_to_blend_state=0x80, blend_state_change=1)]
    draws = [machine.draw(), *changes.get("again", lambda m: [])(machine)]
    return lint(machine.run(machine.bases(), *commands, *pointers, *draws))


def _drawn_again(*between: Step) -> Any:
    """A second primitive, which samples the render target of the first one; `between` are commands between them."""
    def again(machine: LaterDecoder) -> list[list[int]]:
        machine.words(SURFACES + 0x40, 0x200, 0x100)
        return [*steps(machine, between), machine.table("ps", 0x40), machine.draw()]
    return again


_BLEND: Values = {"color_buffer_blend_enable": 1, "source_blend_factor": 1, "destination_blend_factor": 1}
_DUAL: Values = {**_BLEND, "destination_blend_factor": 9}
_KEYED: Values = {"chromakey_enable": 1, "chromakey_index": 2}
_HIZ: Values = {**_DEPTH, "surface_base_address": 0x1_0009_0000, "hierarchical_depth_buffer_enable": 1}
_CLEAR: Values = {"depth_clear_value": 0.75, "depth_clear_value_valid": 1}

# rule, device, what keeps it, what breaks it
REACH_CASES: tuple[tuple[str, str, Mapping[str, Any], Mapping[str, Any]], ...] = (
    *(("target-format", device, {}, {"target": _of("L8_UNORM")}) for device in ("snb", "ivb", "hsw", "kbl")),
    *(("blend-format", device, {"blend": _BLEND, "target": _of("R32G32B32A32_FLOAT")},
       {"blend": _BLEND, "target": _of("R32G32B32A32_UINT")}) for device in ("snb", "ivb", "kbl")),
    ("sampler-format", "kbl", {}, {"texture": _of("R32G32B32A32_SSCALED")}),
    ("sampler-format", "byt", {"texture": _of("ETC2_RGB8")},  # which Haswell cannot sample
     {"texture": _of("R8G8B8_UNORM_SRGB")}),
    ("sampler-format", "hsw", {}, {"texture": _of("ETC2_RGB8")}),
    *(("filter-format", device, {"texture": _of("R32G32B32A32_UINT")},
       {"texture": _of("R32G32B32A32_UINT"), "sampler": _LINEAR}) for device in ("snb", "byt", "kbl")),
    *(("shadow-format", device, {"texture": _of("R32_FLOAT"), "message": _SAMPLE_C}, {"message": _SAMPLE_C})
      for device in ("snb", "ivb", "kbl")),
    ("chroma-format", "kbl", {"sampler": _KEYED, "texture": _of("B8G8R8A8_UNORM")}, {"sampler": _KEYED}),
    ("chroma-channels", "kbl",
     {"sampler": _KEYED, "texture": _of("B5G6R5_UNORM"),
      "3DSTATE_CHROMA_KEY": {"chroma_key_table_index": 2, "chroma_key_high_alpha": 0xFF}},
     {"sampler": _KEYED, "texture": _of("B5G6R5_UNORM"),
      "3DSTATE_CHROMA_KEY": {"chroma_key_table_index": 2, "chroma_key_high_alpha": 0x80}}),
    ("depth-target", "kbl", {"3DSTATE_DEPTH_BUFFER": _HIZ}, {"3DSTATE_DEPTH_BUFFER": {**_HIZ, "surface_type": 3}}),
    ("depth-target", "kbl", {"3DSTATE_DEPTH_BUFFER": _HIZ}, {"3DSTATE_DEPTH_BUFFER": {**_HIZ, "lod": 1}}),
    ("depth-target", "kbl",
     {"3DSTATE_DEPTH_BUFFER": {**_HIZ, "lod": 1, "width": 16, "height": 16}, "target": {"mip_count_lod": 1}},
     {"3DSTATE_DEPTH_BUFFER": {**_HIZ, "lod": 1, "width": 16, "height": 8}, "target": {"mip_count_lod": 1}}),
    ("depth-target", "kbl",
     {"3DSTATE_DEPTH_BUFFER": {**_HIZ, "depth": 4, "width": 16, "height": 16}, "target": {"depth": 4}},
     {"3DSTATE_DEPTH_BUFFER": {**_HIZ, "depth": 4, "width": 16, "height": 8}, "target": {"depth": 4}}),
    ("depth-target", "kbl", {"3DSTATE_DEPTH_BUFFER": _HIZ}, {"3DSTATE_DEPTH_BUFFER": {**_HIZ, "depth": 4}}),
    ("clear-range", "kbl", {"3DSTATE_DEPTH_BUFFER": _HIZ, "3DSTATE_CLEAR_PARAMS": _CLEAR},
     {"3DSTATE_DEPTH_BUFFER": _HIZ, "3DSTATE_CLEAR_PARAMS": _CLEAR, "viewport": {"maximum_depth": 0.5}}),
    ("sample-count", "kbl",
     {"target": {"number_of_multisamples": 2}, "3DSTATE_MULTISAMPLE": {"number_of_multisamples": 2}},
     {"target": {"number_of_multisamples": 2}}),
    ("sample-count", "snb", {"3DSTATE_MULTISAMPLE": {}}, {"3DSTATE_MULTISAMPLE": {"number_of_multisamples": 2}}),
    ("antialias-format", "kbl", {"3DSTATE_RASTER": {"antialiasing_enable": 1}},
     {"3DSTATE_RASTER": {"antialiasing_enable": 1}, "target": _of("R32G32B32A32_UINT")}),
    ("antialias-format", "ivb", {"3DSTATE_SF": {"antialiasing_enable": 1}},
     {"3DSTATE_SF": {"antialiasing_enable": 1}, "target": _of("R32G32B32A32_UINT")}),
    ("fast-clear-target", "kbl", {"3DSTATE_PS": {"render_target_fast_clear_enable": 1}},
     {"3DSTATE_PS": {"render_target_fast_clear_enable": 1}, "target": {"surface_type": 7}}),
    ("fast-clear-target", "kbl", {"3DSTATE_PS": {"render_target_resolve_type": 1}},
     {"3DSTATE_PS": {"render_target_resolve_type": 1}, "at": 1}),
    ("no-target-writes", "kbl", {}, {"3DSTATE_PS_EXTRA": {"pixel_shader_does_not_write_to_rt": 1}}),
    ("no-target-writes", "kbl", {}, {"3DSTATE_PS_EXTRA": {"pixel_shader_does_not_write_to_rt": 1,
                                                          "pixel_shader_kills_pixel": 1}}),
    ("kill-pixel", "kbl", {"3DSTATE_PS_EXTRA": {"pixel_shader_kills_pixel": 1}, "predicate": True},
     {"predicate": True}),
    ("kill-pixel", "ivb", {}, {"predicate": True}),
    ("writeable-target", "kbl", {"3DSTATE_PS_BLEND": {"has_writeable_rt": 1}}, {}),
    ("writeable-target", "kbl", {"blend": {f"write_disable_{c}": 1 for c in ("red", "green", "blue", "alpha")}}, {}),
    *(("dual-source", device, {"blend": _DUAL, "write": _DUAL_SOURCE}, {"blend": _DUAL})
      for device in ("snb", "hsw", "kbl")),
    *(("feedback", device, {"again": _drawn_again(("PIPE_CONTROL", {"render_target_cache_flush_enable": 1}))},
       {"again": _drawn_again(("PIPE_CONTROL", {"texture_cache_invalidation_enable": 1}))})
      for device in ("snb", "byt", "kbl")),
    ("feedback", "ivb", {"again": _drawn_again(("MI_FLUSH", {}))},
     {"again": _drawn_again(("MI_FLUSH", {"render_cache_flush_inhibit": 1}))}),
    ("state-rewritten", "kbl",
     {"again": lambda m: steps(m, [_FLUSH, ("MI_STORE_DATA_IMM", {"address": m.high + TARGET + 8})])},
     {"again": lambda m: steps(m, [("MI_STORE_DATA_IMM", {"address": m.high + TARGET + 8})])}),
    ("state-rewritten", "ivb", {"again": lambda m: steps(m, [("MI_STORE_DATA_IMM", {"address": IMAGES})])},
     {"again": lambda m: steps(m, [("MI_STORE_REGISTER_MEM", {"memory_address": DYNAMIC + 0x80})])}),
)


@pytest.mark.parametrize(("rule", "device", "good", "bad"), REACH_CASES,
                         ids=[f"{c[0]}-{c[1]}-{i}" for i, c in enumerate(REACH_CASES)])
def test_a_block_that_breaks_a_rule_is_found(rule: str, device: str, good: Mapping[str, Any],
                                             bad: Mapping[str, Any]) -> None:
    assert rule not in reach(device, good)
    assert reach(device, bad).count(rule) == 1


def test_an_entry_of_a_binding_table_has_no_low_bits() -> None:
    machine = scene()
    machine.words(SURFACES, 0x41)
    items = machine.run(machine.bases(), *state(machine, {}), machine.table("ps", 0), machine.draw())
    assert {d.rule for d in diagnostics(items) if d.where == "BINDING_TABLE"} == {"reserved-bits"}


def test_memory_that_shaders_write_needs_a_flush_or_coherency() -> None:
    def run(*between: Step, **draw: Any) -> list[str]:
        machine = scene()
        machine.words(SURFACES, 0x100)
        machine.block("RENDER_SURFACE_STATE", TARGET, surface_type=4, surface_format=0x1FF, surface_pitch=1,
                      surface_base_address=machine.high + IMAGES)
        machine.storing_kernel()
        return lint(machine.run(machine.bases(), *state(machine, {}), machine.table("ps", 0), machine.draw(),
                                *steps(machine, between), machine.draw(**draw)))
    assert run().count("uav-coherency") == 1
    assert "uav-coherency" not in run(uav_coherency_required=1)
    assert "uav-coherency" not in run(("PIPE_CONTROL", {"dc_flush_enable": 1}))


# --- order ------------------------------------------------------------------------------------------------------------
_STALL: Values = {"command_streamer_stall_enable": 1, "render_target_cache_flush_enable": 1}
_GPGPU = ("PIPELINE_SELECT", {"pipeline_selection": 2, "mask_bits": 3})
_3D = ("PIPELINE_SELECT", {"mask_bits": 3})
_DRAW = ("3DPRIMITIVE", {"vertex_count_per_instance": 3, "instance_count": 1})
_FLUSH = ("PIPE_CONTROL", _STALL)
_INVALIDATE = ("PIPE_CONTROL", {f"{cache}_cache_invalidation_enable": 1 for cache in ("state", "texture", "constant")})
_BUFFERS = [("3DSTATE_VERTEX_BUFFERS", {"vertex_buffers": [
    {"buffer_starting_address": address, "buffer_size": 16, "address_modify_enable": 1}]})
    for address in (0x1_0000_0000, 0x2_0000_0000)]
_MOVE = ("STATE_BASE_ADDRESS", {"surface_state_base_address": 0x1_0004_0000,
                                "surface_state_base_address_modify_enable": 1})
_POOL = ("3DSTATE_BINDING_TABLE_POOL_ALLOC", {"binding_table_pool_enable": 1, "binding_table_pool_buffer_size": 4096})
_VF_INVALIDATE = ("PIPE_CONTROL", {"vf_cache_invalidation_enable": 1, "post_sync_operation": 1})
_STREAM, _HALT = (("MI_RS_CONTROL", {"resource_streamer_control": on}) for on in (1, 0))
_GATHERS = ("3DSTATE_GATHER_POOL_ALLOC", {"gather_pool_enable": 1, "gather_pool_buffer_size": 4096})
_GATHER = ("3DSTATE_GATHER_CONSTANT_VS", {"entries": [{}]})
_VALID = ("3DSTATE_GATHER_CONSTANT_VS", {"constant_buffer_valid": 1})
_CONSTANTS = ("3DSTATE_CONSTANT_VS", {"constant_buffer_3_read_length": 32})
_PREEMPTION = ("MI_LOAD_REGISTER_IMM", {"writes": [{"register_offset": 0x2580, "data": 0x10001}]})
_INSTANCES = ("3DPRIMITIVE", {"vertex_count_per_instance": 3, "instance_count": 2})
Step = tuple[str, Values]

# rule, device, steps that keep it, steps that break it
ORDER_CASES: tuple[tuple[str, str, Sequence[Step], Sequence[Step]], ...] = (
    ("select-flush", "kbl", (_DRAW, _FLUSH, _GPGPU), (_DRAW, _GPGPU)),
    ("select-invalidate", "bdw", (_DRAW, _FLUSH, _INVALIDATE, ("PIPELINE_SELECT", {"pipeline_selection": 2})),
     (_DRAW, _FLUSH, ("PIPELINE_SELECT", {"pipeline_selection": 2}))),
    ("select-flush", "ivb", (_DRAW, _FLUSH, ("PIPELINE_SELECT", {"pipeline_selection": 2})),
     (_DRAW, ("PIPELINE_SELECT", {"pipeline_selection": 2}))),
    ("select-flush", "snb", (_DRAW, ("MI_FLUSH", {}), ("PIPELINE_SELECT", {"pipeline_selection": 1})),
     (_DRAW, ("PIPELINE_SELECT", {"pipeline_selection": 1}))),
    ("base-flush", "ivb", (_DRAW, ("MI_FLUSH", {}), ("STATE_BASE_ADDRESS", {})),
     (_DRAW, ("STATE_BASE_ADDRESS", {}))),
    ("wrong-pipeline", "kbl", (_GPGPU, _3D, _DRAW), (_GPGPU, _DRAW)),
    ("wrong-pipeline", "hsw", (("PIPELINE_SELECT", {"pipeline_selection": 2}), ("GPGPU_WALKER", {})),
     (("GPGPU_WALKER", {}),)),
    ("base-flush", "bdw", (_DRAW, _FLUSH, ("STATE_BASE_ADDRESS", {})), (_DRAW, ("STATE_BASE_ADDRESS", {}))),
    ("base-invalidate", "kbl", (_MOVE, _INVALIDATE, _DRAW), (_MOVE, _DRAW)),
    ("base-invalidate", "bdw", (_MOVE, _INVALIDATE, _DRAW),
     (_MOVE, ("PIPE_CONTROL", {"texture_cache_invalidation_enable": 1, "state_cache_invalidation_enable": 1}), _DRAW)),
    ("vfe-stall", "kbl", (_DRAW, _FLUSH, ("MEDIA_VFE_STATE", {})), (_DRAW, ("MEDIA_VFE_STATE", {}))),
    ("vfe-stall", "kbl", (("MEDIA_VFE_STATE", {}), _DRAW, ("MEDIA_VFE_STATE", {"scoreboard_mask": 3})),
     (("MEDIA_VFE_STATE", {}), _DRAW, ("MEDIA_VFE_STATE", {"number_of_urb_entries": 3}))),
    ("walker-flush", "skl", (_GPGPU, ("GPGPU_WALKER", {}), ("MEDIA_STATE_FLUSH", {}), ("MEDIA_CURBE_LOAD", {})),
     (_GPGPU, ("GPGPU_WALKER", {}), ("MEDIA_CURBE_LOAD", {}))),
    ("l3-idle", "kbl", (_DRAW, _FLUSH, ("MI_LOAD_REGISTER_IMM", {"writes": [{"register_offset": 0x7034}]})),
     (_DRAW, ("MI_LOAD_REGISTER_IMM", {"writes": [{"register_offset": 0x7034}]}))),
    ("l3-idle", "ivb", (_DRAW, ("MI_LOAD_REGISTER_IMM", {"writes": [{"register_offset": 0x2358}]})),
     (_DRAW, ("MI_LOAD_REGISTER_IMM", {"writes": [{"register_offset": 0xB020}]}))),
    ("threads-change", "kbl",
     (("3DSTATE_PS", {"maximum_number_of_threads_per_psd": 64}), _DRAW,
      ("PIPE_CONTROL", {"stall_at_pixel_scoreboard": 1}),
      ("3DSTATE_PS", {"maximum_number_of_threads_per_psd": 32}), _DRAW),
     (("3DSTATE_PS", {"maximum_number_of_threads_per_psd": 64}), _DRAW,
      ("3DSTATE_PS", {"maximum_number_of_threads_per_psd": 32}), _DRAW)),
    ("vf-invalidate", "kbl", (("PIPE_CONTROL", {}), _VF_INVALIDATE), (_VF_INVALIDATE,)),
    ("vf-invalidate", "skl", (("PIPE_CONTROL", {}), _VF_INVALIDATE),
     (("PIPE_CONTROL", {}), ("PIPE_CONTROL", {"vf_cache_invalidation_enable": 1}))),
    ("vf-invalidate", "bdw", (("PIPE_CONTROL", {"vf_cache_invalidation_enable": 1}),), ()),
    ("gpgpu-post-sync", "kbl",
     (_GPGPU, ("GPGPU_WALKER", {}), _FLUSH, ("PIPE_CONTROL", {"post_sync_operation": 1, "address": 0x1000})),
     (_GPGPU, ("GPGPU_WALKER", {}), ("PIPE_CONTROL", {"post_sync_operation": 1, "address": 0x1000}))),
    ("vertex-cache", "kbl",
     (_BUFFERS[0], ("PIPE_CONTROL", {}), _VF_INVALIDATE, _BUFFERS[1]),
     tuple(_BUFFERS)),
    ("resource-streamer", "kbl", (("MI_RS_CONTROL", {"resource_streamer_control": 1}), _POOL), (_POOL,)),
    ("resource-streamer", "kbl",
     (_STREAM, _POOL, ("3DSTATE_DX9_CONSTANTB_VS", {"entries": [[0]]})),
     (("3DSTATE_DX9_CONSTANTB_VS", {"entries": [[0]]}),)),
    ("resource-streamer", "skl", (_STREAM, _POOL, _GATHER), (_STREAM, _GATHER)),
    ("pool-order", "kbl", (_STREAM, _POOL, _HALT, _STREAM, _POOL, _GATHER), (_STREAM, _POOL, _HALT, _STREAM, _GATHER)),
    ("gather-order", "kbl", (_STREAM, _POOL, _GATHERS, _GATHER, ("3DSTATE_CONSTANT_VS", {})),
     (_STREAM, _POOL, _GATHERS, ("3DSTATE_CONSTANT_VS", {}))),
    ("gather-order", "kbl", (_STREAM, _POOL, _GATHERS, _GATHER, ("3DSTATE_CONSTANT_VS", {}), _GATHER,
                             ("3DSTATE_CONSTANT_VS", {})),
     (_STREAM, _POOL, _GATHERS, _GATHER, ("3DSTATE_CONSTANT_VS", {}), ("3DSTATE_CONSTANT_VS", {}))),
    ("gather-on-die", "kbl", (_STREAM, _POOL, _VALID, ("3DSTATE_GATHER_CONSTANT_VS", {**_VALID[1], "on_die_table": 1})),
     (_STREAM, _POOL, _VALID, ("3DSTATE_GATHER_CONSTANT_VS", {"on_die_table": 1}))),
    ("gather-on-die", "kbl", (), (_STREAM, _POOL, ("3DSTATE_GATHER_CONSTANT_VS", {"on_die_table": 1}))),
    ("gather-again", "kbl", (_STREAM, _POOL, _VALID, _CONSTANTS, *[("MI_RS_STORE_DATA_IMM", {})] * 4, _GATHER,
                             _CONSTANTS, _DRAW),
     (_STREAM, _POOL, _VALID, _CONSTANTS, *[("MI_RS_STORE_DATA_IMM", {})] * 3, _GATHER, _CONSTANTS, _DRAW)),
    ("gather-again", "kbl", (), (_STREAM, _POOL, _VALID, _CONSTANTS, _DRAW)),
    ("dx9-constants", "skl", (_STREAM, _POOL, ("3DSTATE_DX9_CONSTANTB_PS", {"entries": [[0]]}),
                              ("3DSTATE_DX9_GENERATE_ACTIVE_PS", {})),
     (_STREAM, _POOL, ("3DSTATE_DX9_CONSTANTB_VS", {"entries": [[0]]}), ("3DSTATE_DX9_GENERATE_ACTIVE_PS", {}))),
    ("hiz-samples", "kbl", (("3DSTATE_MULTISAMPLE", {"number_of_multisamples": 2}),
                            ("3DSTATE_WM_HZ_OP", {"depth_buffer_resolve_enable": 1, "number_of_multisamples": 2})),
     (("3DSTATE_MULTISAMPLE", {"number_of_multisamples": 2}),
      ("3DSTATE_WM_HZ_OP", {"depth_buffer_resolve_enable": 1}))),
    ("hiz-samples", "bdw", (("3DSTATE_MULTISAMPLE", {}), ("3DSTATE_WM_HZ_OP", {"depth_buffer_resolve_enable": 1}),
                            ("3DSTATE_WM_HZ_OP", {}), ("3DSTATE_MULTISAMPLE", {"number_of_multisamples": 1})),
     (("3DSTATE_MULTISAMPLE", {}), ("3DSTATE_WM_HZ_OP", {"depth_buffer_resolve_enable": 1}),
      ("3DSTATE_MULTISAMPLE", {"number_of_multisamples": 1}))),
    ("object-preemption", "kbl",
     (_PREEMPTION, ("3DSTATE_VF_TOPOLOGY", {"primitive_topology_type": 4}), _DRAW),
     (_PREEMPTION, ("3DSTATE_VF_TOPOLOGY", {"primitive_topology_type": 6}), _DRAW)),
    ("object-preemption", "skl",
     (_PREEMPTION, ("MI_LOAD_REGISTER_IMM", {"writes": [{"register_offset": 0x2580, "data": 0x10000}]}), _INSTANCES),
     (_PREEMPTION, _INSTANCES)),
    ("constants-slots", "kbl",
     (("3DSTATE_CONSTANT_VS", {"constant_buffer_1_read_length": 32}), _DRAW, _FLUSH,
      ("3DSTATE_CONSTANT_VS", {"constant_buffer_0_read_length": 32, "constant_buffer_3_read_length": 32}), _DRAW),
     (("3DSTATE_CONSTANT_VS", {"constant_buffer_1_read_length": 32}), _DRAW,
      ("3DSTATE_CONSTANT_VS", {"constant_buffer_0_read_length": 32, "constant_buffer_3_read_length": 32}), _DRAW)),
    ("constants-slots", "skl",
     (("3DSTATE_CONSTANT_VS", {}), _DRAW, ("3DSTATE_CONSTANT_VS", {"constant_buffer_3_read_length": 32}), _DRAW),
     (("3DSTATE_CONSTANT_VS", {}), _DRAW, ("3DSTATE_CONSTANT_VS", {"constant_buffer_0_read_length": 32}), _DRAW)),
    ("end-offset-buffer", "kbl", (_BUFFERS[0], ("3DPRIMITIVE", {"end_offset_enable": 1})),
     (("3DPRIMITIVE", {"end_offset_enable": 1}),)),
    ("kernel-bound", "kbl",
     (("STATE_BASE_ADDRESS", {"instruction_buffer_size": 4096, "instruction_buffer_size_modify_enable": 1}),
      ("3DSTATE_VS", {"enable": 1, "kernel_start_pointer": 0xFC0}), _DRAW),
     (("STATE_BASE_ADDRESS", {"instruction_buffer_size": 4096, "instruction_buffer_size_modify_enable": 1}),
      ("3DSTATE_VS", {"enable": 1, "kernel_start_pointer": 0x1000}), _DRAW)),
    ("dynamic-bound", "bdw",
     (("STATE_BASE_ADDRESS", {"dynamic_state_buffer_size": 4096, "dynamic_state_buffer_size_modify_enable": 1}),
      ("3DSTATE_VIEWPORT_STATE_POINTERS_CC", {"cc_viewport_pointer": 0xFE0}), _DRAW),
     (("STATE_BASE_ADDRESS", {"dynamic_state_buffer_size": 4096, "dynamic_state_buffer_size_modify_enable": 1}),
      ("3DSTATE_VIEWPORT_STATE_POINTERS_CC", {"cc_viewport_pointer": 0x1000}), _DRAW)),
)


def steps(machine: LaterDecoder, found: Sequence[Step]) -> list[list[int]]:
    return [machine.command(name, **values) for name, values in found]


@pytest.mark.parametrize(("rule", "device", "good", "bad"), ORDER_CASES,
                         ids=[f"{c[0]}-{c[1]}-{i}" for i, c in enumerate(ORDER_CASES)])
def test_an_order_that_breaks_a_rule_is_found(rule: str, device: str, good: Sequence[Step],
                                              bad: Sequence[Step]) -> None:
    machine = LaterDecoder(device, lint=True)
    assert rule not in lint(machine.run(*steps(machine, good)))
    machine = LaterDecoder(device, lint=True)
    assert lint(machine.run(*steps(machine, bad))).count(rule) == bool(bad)


@pytest.mark.parametrize("device", DEVICES)
def test_new_bases_need_new_pointers(device: str) -> None:
    machine = LaterDecoder(device, lint=True)
    machine.target_kernel(0, 0)
    for base in (SURFACES, SURFACES + 0x1000):
        machine.words(base, 0x40)
        machine.block("RENDER_SURFACE_STATE", base + 0x40, surface_type=7)
    moved = machine.command("STATE_BASE_ADDRESS", surface_state_base_address=machine.high + SURFACES + 0x1000,
                            surface_state_base_address_modify_enable=True)
    table, draw = machine.table("ps", 0), machine.draw()
    start = [machine.bases(), *machine.pixel_shader(), table, draw]
    assert "stale-pointers" not in lint(machine.run(*start, moved, table, draw))
    assert lint(machine.run(*start, moved, draw)).count("stale-pointers") == 1


@pytest.mark.parametrize(("engine", "command", "found"), [
    (Engine.RENDER, "XY_COLOR_BLT", True), (Engine.BLT, "XY_COLOR_BLT", False),
    (Engine.RENDER, "3DSTATE_SAMPLE_MASK", False), (Engine.BLT, "3DSTATE_SAMPLE_MASK", True),
])
def test_each_command_has_its_engine(engine: Engine, command: str, found: bool) -> None:
    machine = LaterDecoder("ivb", lint=True)
    ring = b"".join(word.to_bytes(4, "little") for word in machine.command(command))
    items = list(machine.decoder.submission(Submission(0, engine, ring, 0x1000)))
    assert ("wrong-engine" in lint(items)) is found


def test_the_kernel_flushes_between_submissions() -> None:
    machine = LaterDecoder("kbl", lint=True)
    ring = b"".join(w.to_bytes(4, "little") for w in machine.draw())
    list(machine.decoder.submission(Submission(0, Engine.RENDER, ring, 0x1000)))
    ring = b"".join(w.to_bytes(4, "little") for w in machine.command("STATE_BASE_ADDRESS"))
    assert lint(list(machine.decoder.submission(Submission(0, Engine.RENDER, ring, 0x1000)))) == []


def test_every_rule_has_a_case() -> None:
    tested = {case[0] for cases in (CASES, DRAW_CASES, ORDER_CASES, REACH_CASES) for case in cases}
    assert {rule.rule for rule in (*COMMAND_RULES, *DRAW_RULES, *SURFACE_RULES)} <= tested
    later = {name for name in RULES if RULES[name] in _LATER_WARNINGS}
    assert later - tested == {"wrong-engine"}  # above


def test_each_rule_of_a_command_applies_to_some_device() -> None:
    """A field that is renamed must not switch a rule off."""
    machines = [LaterDecoder(device) for device in DEVICES]
    for rule in COMMAND_RULES:
        for command in rule.commands:
            layouts = [(m, c) for m in machines for c in m.catalogue.commands if c.name == command]
            assert any(rule.applies(c.view([0] * c.size(m.gen), gen=m.gen)) for m, c in layouts), (rule.rule, command)
