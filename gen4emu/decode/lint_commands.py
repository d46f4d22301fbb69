"""Rules of Gen6 and later that one command can break: a table of fields that do not go together.

Ranges, enumerations and reserved bits are in the layouts.  A rule applies to layouts that have all fields it names, so
one entry serves every generation with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from gen4emu.hw.format_support import supports
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import View

LATER = Gen.GEN6 | Gen.GEN7 | Gen.GEN75 | Gen.GEN8 | Gen.GEN9
_GEN8_ON = Gen.GEN8 | Gen.GEN9
_PUSH_CONSTANT_BYTES = 2048
_TILE_BYTES = 128  # the width of a Y tile
_DEPTH_BYTES = {1: 4, 3: 4, 5: 2}  # by surface format: D32_FLOAT, D24_UNORM_X8_UINT, D16_UNORM
_2D, _CUBE, _NULL = 1, 3, 7
_PS_DEPTH_COUNT = 2
_LIMIT = 0x100


@dataclass(slots=True, frozen=True)
class CommandRule:
    """One check of one command.  `broken` returns the problem as text, or an empty text."""

    rule: str  # a name in lint_rules.RULES
    commands: tuple[str, ...]
    needs: tuple[str, ...]  # fields
    broken: Callable[[Any], str]
    gens: Gen = LATER

    def applies(self, view: View) -> bool:
        names = view.layout.by_name(view.gen)
        return bool(self.gens & view.gen) and all(name in names for name in self.needs)


def has(view: View, *names: str) -> bool:
    known = view.layout.by_name(view.gen)
    return all(name in known for name in names)


def flag(view: View, name: str) -> bool:
    """A flag, false where the layout does not have it."""
    return has(view, name) and bool(getattr(view, name))


def stages(prefix: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}{name}" for name in names or ("VS", "HS", "DS", "GS", "PS"))


# --- checks that are longer than a line -------------------------------------------------------------------------------
def _end_offset(view: Any) -> str:
    if not view.end_offset_enable:
        return ""
    if view.raw("vertex_access_type"):
        return "end_offset_enable with random access"
    starts = ("start_vertex_location", "start_instance_location", "base_vertex_location")
    used = [name for name in starts if int(getattr(view, name))]
    return f"end_offset_enable with {used[0]}" if used else ""


def _inverse(view: Any) -> str:
    count = int(view.line_stipple_repeat_count)
    if not count:
        return ""
    field = view.layout.field("line_stipple_inverse_repeat_count", view.gen)
    one = 1 << field.frac
    right, raw = one // count, view.raw("line_stipple_inverse_repeat_count")
    if abs(raw - right) <= 1:
        return ""
    return f"line_stipple_inverse_repeat_count is {raw}/{one}; 1/{count} is {right}/{one}"


def _chroma(view: Any) -> str:
    for channel in ("alpha", "red_or_cr", "green_or_y", "blue_or_cb"):
        low, high = (int(getattr(view, f"chroma_key_{bound}_{channel}")) for bound in ("low", "high"))
        if high < low:
            return f"chroma_key_high_{channel} 0x{high:02x} is below the low value 0x{low:02x}"
    return ""


def _depth_pitch(view: Any) -> str:
    if has(view, "surface_type") and view.raw("surface_type") == _NULL:
        return ""
    if not view.surface_base_address:
        return ""  # no buffer
    pitch = int(view.surface_pitch)
    if pitch % _TILE_BYTES:
        return f"surface_pitch {pitch} is not a multiple of {_TILE_BYTES}"
    if has(view, "width", "surface_format"):
        row = int(view.width) * _DEPTH_BYTES.get(view.raw("surface_format"), 0) >> int(view.lod)
        if row > pitch:
            return f"surface_pitch {pitch} is less than a row of {row} bytes"
    return ""


def _depth_cube(view: Any) -> str:
    if view.raw("surface_type") != _CUBE:
        return ""
    if view.width != view.height:
        return f"a cube of {view.width}x{view.height}"
    return "" if view.depth == view.render_target_view_extent == 1 else "a cube with a depth or an extent other than 1"


def _depth_extent(view: Any) -> str:
    if view.raw("surface_type") not in (0, _2D) or view.depth == view.render_target_view_extent:
        return ""
    return f"render_target_view_extent {view.render_target_view_extent}, depth {view.depth}"


def _depth_tiling(view: Any) -> str:
    if view.raw("surface_type") == _NULL:
        return ""
    return "mip_tail_start_lod without a tiled resource" \
        if view.mip_tail_start_lod not in (0, 15) and not view.raw("tiled_resource_mode") else ""


def _qpitch(view: Any) -> str:
    if has(view, "surface_type"):
        needed = view.raw("surface_type") != _NULL and view.depth > 1
        return "surface_qpitch 0 with several slices" if needed and not view.surface_qpitch else ""
    return f"surface_qpitch {view.surface_qpitch} is not a multiple of 8 rows" if view.surface_qpitch % 8 else ""


def _sample_order(view: Any) -> str:
    for count in (4, 8, 16):
        if not has(view, f"sample0_x_offset_{count}x"):
            continue
        places = [tuple(getattr(view, f"sample{i}_{axis}_offset_{count}x") - 0.5 for axis in "xy")
                  for i in range(count)]
        distances = [x * x + y * y for x, y in places]
        late = next((i for i in range(1, count) if distances[i] < distances[i - 1]), None)
        if late is not None:
            return f"sample {late} of {count} is nearer to the centre than sample {late - 1}"
    return ""


def _handles(view: Any) -> str:
    broken = view.enable and not view.include_vertex_handles and not view.vertex_urb_entry_read_length
    return "neither vertex handles nor vertex data" if broken else ""


def _gs_instances(view: Any) -> str:
    if not view.enable or _name(view.dispatch_mode) != "DUAL_OBJECT":
        return ""
    if view.instance_control > 1:
        return f"DUAL_OBJECT with {view.instance_control} instances"
    vertices = int(view.expected_vertex_count) if has(view, "expected_vertex_count") else 0
    return f"DUAL_OBJECT with objects of {vertices} vertices" if vertices > 16 else ""


def _gs_control(view: Any) -> str:
    """Cut bits need one bit a vertex, stream numbers two."""
    if not (view.enable and view.static_output and view.control_data_header_size):
        return ""
    bits = 2 if _name(view.control_data_format) == "SID" else 1
    need, size = bits * int(view.static_output_vertex_count), 8 * int(view.control_data_header_size)
    return f"{need} bits of control data for {view.static_output_vertex_count} vertices in {size}" \
        if need > size else ""


def _hiz_rectangle(view: Any) -> str:
    if not (view.depth_buffer_clear_enable or view.stencil_buffer_clear_enable) or \
            view.full_surface_depth_and_stencil_clear or not view.depth_buffer_clear_enable:
        return ""
    edges = [f"clear_rectangle_{axis}_{end}" for axis in "xy" for end in ("min", "max")]
    odd = next((name for name in edges if getattr(view, name) % (8 if "_x_" in name else 4)), "")
    return f"{odd} is {getattr(view, odd)}" if odd else ""


def _gs_start(view: Any) -> str:
    if not (view.enable and view.include_vertex_handles):
        return ""
    mode, vertices = _name(view.dispatch_mode), int(view.expected_vertex_count)
    start = int(view.dispatch_grf_start_register_for_urb_data)
    if has(view, "dispatch_grf_start_register_for_urb_data_5_4"):
        start |= int(view.dispatch_grf_start_register_for_urb_data_5_4) << 4
    if mode == "SIMD8":
        need = (vertices if view.instance_control == 1 else -(-vertices // 8)) + 2
    else:
        need = -(-(2 * vertices if mode == "DUAL_OBJECT" else vertices) // 8) + 1
    need += bool(view.include_primitive_id)
    return f"URB data starts at register {start}; the handles end beyond {need - 1}" if start < need else ""


def _name(value: Any) -> str:
    return str(getattr(value, "name", value))


def constant_bytes(view: View) -> list[int]:
    """The sizes of the four buffers of 3DSTATE_CONSTANT_*."""
    row = 1 if view.gen & _GEN8_ON else 32
    return [row * int(getattr(view, f"constant_buffer_{i}_read_length"))
            if not has(view, f"buffer_{i}_valid") or getattr(view, f"buffer_{i}_valid") else 0 for i in range(4)]


def _constants_total(view: Any) -> str:
    total = sum(constant_bytes(view))
    return f"{total} bytes; a stage has at most {_PUSH_CONSTANT_BYTES}" if total > _PUSH_CONSTANT_BYTES else ""


def _push_range(view: Any) -> str:
    offset, size = int(view.constant_buffer_offset), int(view.constant_buffer_size)
    if offset + size > 32768:
        return f"{size} bytes at {offset} end beyond 32 KiB"
    if view.gen & _GEN8_ON and (offset | size) % 2048:
        return f"{size} bytes at {offset} are not in steps of 2 KiB"
    return ""


def _pool_size(pool: str, view: View) -> str:
    return "enabled with size 0" if flag(view, f"{pool}_enable") and not getattr(view, f"{pool}_buffer_size") else ""


def _gather_length(view: Any) -> str:
    count = len(view.entries)
    if flag(view, "on_die_table") and view.raw("on_die_table") and count:
        return f"reads the table on the die, and lists {count} entries"
    return f"{count} entries; at most 127" if count > 127 else ""


def decls(view: View) -> Iterator[tuple[int, Any]]:
    """Stream and entry of each declaration that counts."""
    entries = view.entries
    for stream in range(4):
        for entry in entries[:int(getattr(view, f"num_entries_{stream}"))]:
            yield stream, entry


def _decl_length(view: Any) -> str:
    most = max(int(getattr(view, f"num_entries_{i}")) for i in range(4))
    count = len(view.entries)
    return "" if count == most else f"{count} entries; the longest stream has {most}"


def _decl_buffers(view: Any) -> str:
    used = [0] * 4
    for stream, entry in decls(view):
        used[stream] |= 1 << int(getattr(entry, f"stream_{stream}_output_buffer_slot"))
    for stream, mask in enumerate(used):
        selected = int(getattr(view, f"stream_to_buffer_selects_{stream}"))
        if selected != mask:
            return f"stream {stream} selects buffers 0x{selected:x}, its declarations name 0x{mask:x}"
    return ""


def _so_pitch(view: Any) -> str:
    names = ([f"buffer_{i}_surface_pitch" for i in range(4)] if has(view, "buffer_0_surface_pitch")
             else ["surface_pitch"])
    odd = next((name for name in names if int(getattr(view, name)) % 4), None)
    return f"{odd} {getattr(view, odd)} is not a multiple of 4" if odd else ""


def _stalls(view: Any) -> str:
    stall, write = flag(view, "command_streamer_stall_enable"), view.raw("post_sync_operation")
    if flag(view, "tlb_invalidate") and not (stall or write):
        return "tlb_invalidate without a command streamer stall"
    for name in ("generic_media_state_clear", "indirect_state_pointers_disable"):
        if flag(view, name) and not stall:
            return f"{name} without a command streamer stall"
    if flag(view, "store_data_index") and not write:
        return "store_data_index without a post-sync operation"
    return "flush_llc without an immediate write" if flag(view, "flush_llc") and write != 1 else ""


def _scoreboard(view: Any) -> str:
    if not view.stall_at_pixel_scoreboard:
        return ""
    other = next((name for name in ("depth_stall_enable", "render_target_cache_flush_enable") if flag(view, name)), "")
    return f"stall_at_pixel_scoreboard with {other}" if other else ""


def _flush_and_count(view: Any) -> str:
    if view.raw("post_sync_operation") < _PS_DEPTH_COUNT:
        return ""
    other = next((name for name in ("render_target_cache_flush_enable", "depth_cache_flush_enable")
                  if flag(view, name)), "")
    return f"{other} with a count or a timestamp" if other else ""


def _stall_alone(view: Any) -> str:
    """A stall of the command streamer needs company (Sandy Bridge and Ivy Bridge PRM vol. 2 part 1, PIPE_CONTROL)."""
    if not view.command_streamer_stall_enable or view.raw("post_sync_operation"):
        return ""
    company = ("render_target_cache_flush_enable", "depth_cache_flush_enable", "stall_at_pixel_scoreboard",
               "depth_stall_enable", "dc_flush_enable")
    return "" if any(flag(view, name) for name in company) else "command_streamer_stall_enable and nothing else"


def _edge_flag(view: Any) -> str:
    elements = view.vertex_elements
    early = next((i for i, e in enumerate(elements[:-1]) if e.edge_flag_enable), None)
    return "" if early is None else f"element {early} has the edge flag, and is not the last one"


def _element_formats(view: Any) -> str:
    for i, element in enumerate(view.vertex_elements):
        if element.valid and not supports(element.raw("source_element_format"), "vertex_fetch", view.gen):
            return f"element {i}: {_name(element.source_element_format)} cannot be fetched"
    return ""


def _elements_range(view: Any) -> str:
    count = len(view.vertex_elements)
    return f"{count} elements; 1 to 34 are possible" if not 1 <= count <= 34 else ""


def _buffers_twice(view: Any) -> str:
    numbers = [int(b.vertex_buffer_index) for b in view.vertex_buffers]
    twice = next((n for i, n in enumerate(numbers) if n in numbers[:i]), None)
    return "" if twice is None else f"buffer {twice} is listed twice"


COMMAND_RULES: tuple[CommandRule, ...] = (
    # primitives and vertices
    CommandRule("primitive-counts", ("3DPRIMITIVE",), ("indirect_parameter_enable", "end_offset_enable"),
                lambda v: "indirect_parameter_enable and end_offset_enable together"
                if v.indirect_parameter_enable and v.end_offset_enable else ""),
    CommandRule("primitive-end-offset", ("3DPRIMITIVE",), ("end_offset_enable",), _end_offset),
    CommandRule("vertex-buffer-twice", ("3DSTATE_VERTEX_BUFFERS",), (), _buffers_twice),
    CommandRule("vertex-elements", ("3DSTATE_VERTEX_ELEMENTS",), (), _elements_range),
    CommandRule("vertex-format", ("3DSTATE_VERTEX_ELEMENTS",), (), _element_formats),
    CommandRule("edge-flag", ("3DSTATE_VERTEX_ELEMENTS",), (), _edge_flag),
    # stipple, tables of the sampler
    CommandRule("stipple-counters", ("3DSTATE_LINE_STIPPLE",), ("modify_enable",),
                lambda v: "modify_enable resets the counters to 1 and 0 only"
                if v.modify_enable and (v.current_repeat_counter, v.current_stipple_index) != (1, 0) else "", _GEN8_ON),
    CommandRule("stipple-inverse", ("3DSTATE_LINE_STIPPLE",), ("line_stipple_inverse_repeat_count",), _inverse),
    CommandRule("chroma-range", ("3DSTATE_CHROMA_KEY",), ("chroma_key_low_alpha",), _chroma),
    # depth and stencil
    CommandRule("depth-pitch", ("3DSTATE_DEPTH_BUFFER", "3DSTATE_STENCIL_BUFFER", "3DSTATE_HIER_DEPTH_BUFFER"),
                ("surface_pitch",), _depth_pitch, Gen.GEN7 | Gen.GEN75 | _GEN8_ON),
    CommandRule("depth-cube", ("3DSTATE_DEPTH_BUFFER",), ("render_target_view_extent",), _depth_cube,
                Gen.GEN7 | Gen.GEN75 | _GEN8_ON),
    CommandRule("depth-extent", ("3DSTATE_DEPTH_BUFFER",), ("render_target_view_extent",), _depth_extent, _GEN8_ON),
    CommandRule("depth-tiling", ("3DSTATE_DEPTH_BUFFER",), ("tiled_resource_mode",), _depth_tiling),
    CommandRule("depth-qpitch", ("3DSTATE_DEPTH_BUFFER", "3DSTATE_STENCIL_BUFFER", "3DSTATE_HIER_DEPTH_BUFFER"),
                ("surface_qpitch",), _qpitch),
    CommandRule("depth-alignment",
                ("3DSTATE_DEPTH_BUFFER", "3DSTATE_STENCIL_BUFFER", "3DSTATE_HIER_DEPTH_BUFFER"),
                ("surface_base_address",), lambda v: f"base 0x{v.surface_base_address:08x} is not aligned to 4096"
                if v.surface_base_address % 4096 else ""),
    CommandRule("hiz-rectangle", ("3DSTATE_WM_HZ_OP",), ("clear_rectangle_x_min",), _hiz_rectangle),
    # clip, setup, multisampling
    CommandRule("clip-mode", ("3DSTATE_CLIP",), ("perspective_divide_disable",),
                lambda v: "no perspective divide, and clip_mode NORMAL"
                if v.clip_enable and v.perspective_divide_disable and not v.raw("clip_mode") else ""),
    CommandRule("early-cull", ("3DSTATE_CLIP",), ("early_cull_enable", "vertex_sub_pixel_precision_select"),
                lambda v: "early_cull_enable with four bits of sub-pixel precision"
                if v.early_cull_enable and v.raw("vertex_sub_pixel_precision_select") else ""),
    CommandRule("point-widths", ("3DSTATE_CLIP",), ("minimum_point_width",),
                lambda v: f"minimum_point_width {v.minimum_point_width:g} is above the maximum "
                          f"{v.maximum_point_width:g}" if v.minimum_point_width > v.maximum_point_width else ""),
    CommandRule("sample-order", ("3DSTATE_SAMPLE_PATTERN",), (), _sample_order),
    # pixel shader, SBE
    CommandRule("fast-clear-dispatch", ("3DSTATE_PS",), ("render_target_fast_clear_enable",),
                lambda v: "8 pixels with a fast clear or a resolve" if v.dispatch_8_pixel_enable and
                (v.render_target_fast_clear_enable or _resolves(v)) else ""),
    CommandRule("fast-clear-resolve", ("3DSTATE_PS",), ("render_target_fast_clear_enable",),
                lambda v: "a fast clear and a resolve together"
                if v.render_target_fast_clear_enable and _resolves(v) else ""),
    CommandRule("invalid-shader", ("3DSTATE_PS_EXTRA",), ("pixel_shader_valid",),
                lambda v: "state of a pixel shader that is not valid"
                if not v.pixel_shader_valid and v.words[v.at + 1] else ""),
    CommandRule("forced-depth", ("3DSTATE_PS_EXTRA",), ("force_computed_depth",),
                lambda v: "force_computed_depth is set" if v.force_computed_depth else ""),
    CommandRule("override-select", ("3DSTATE_SBE",), ("primitive_id_override_attribute_select",),
                lambda v: "primitive_id_override_attribute_select without a component"
                if v.primitive_id_override_attribute_select and not any(
                    getattr(v, f"primitive_id_override_component_{c}") for c in "xyzw") else ""),
    # stages
    CommandRule("uav-disabled", stages("3DSTATE_", "VS", "HS", "GS"), ("accesses_uav", "enable"),
                lambda v: "accesses_uav in a stage that is off" if v.accesses_uav and not v.enable else ""),
    CommandRule("uav-disabled", ("3DSTATE_DS",), ("accesses_uav", "function_enable"),
                lambda v: "accesses_uav in a stage that is off" if v.accesses_uav and not v.function_enable else ""),
    CommandRule("dual-patch", ("3DSTATE_HS",), ("dispatch_mode",),
                lambda v: f"DUAL_PATCH with {v.instance_count} instances"
                if v.enable and _name(v.dispatch_mode) == "DUAL_PATCH" and v.instance_count != 1 else ""),
    CommandRule("vertex-handles", ("3DSTATE_HS", "3DSTATE_GS"), ("include_vertex_handles", "enable"), _handles),
    CommandRule("hs-primitive-id", ("3DSTATE_HS",), ("include_primitive_id", "dispatch_mode"),
                lambda v: "include_primitive_id counts in DUAL_PATCH mode only"
                if v.enable and v.include_primitive_id and _name(v.dispatch_mode) != "DUAL_PATCH" else ""),
    CommandRule("ds-payload", ("3DSTATE_DS",), ("dispatch_mode", "dual_patch_kernel_start_pointer"),
                lambda v: f"two patches need register 6 or later for URB data, not "
                          f"{v.dispatch_grf_start_register_for_urb_data}"
                if v.function_enable and _name(v.dispatch_mode) == "SIMD8_SINGLE_OR_DUAL_PATCH" and
                v.dispatch_grf_start_register_for_urb_data < 6 else ""),
    CommandRule("gs-vertices", ("3DSTATE_GS",), ("expected_vertex_count",),
                lambda v: f"expected_vertex_count {v.expected_vertex_count}; 1 to 32 are possible"
                if v.enable and not 1 <= v.expected_vertex_count <= 32 else ""),
    CommandRule("gs-instances", ("3DSTATE_GS",), ("dispatch_mode", "instance_control"), _gs_instances),
    CommandRule("gs-streams", ("3DSTATE_GS",), ("control_data_format", "output_topology"),
                lambda v: f"stream numbers with {_name(v.output_topology)}; only points have them"
                if v.enable and v.control_data_header_size and _name(v.control_data_format) == "SID" and
                _name(v.output_topology) != "POINTLIST" else ""),
    CommandRule("gs-reorder", ("3DSTATE_GS",), ("reorder_mode", "static_output"),
                lambda v: "reorder_mode is not LEADING" if v.enable and v.raw("reorder_mode") else ""),
    CommandRule("gs-control", ("3DSTATE_GS",), ("static_output", "control_data_format"), _gs_control),
    CommandRule("gs-payload", ("3DSTATE_GS",), ("expected_vertex_count", "include_primitive_id"), _gs_start),
    # constants and the resource streamer
    CommandRule("constants-total", stages("3DSTATE_CONSTANT_"), ("constant_buffer_0_read_length",), _constants_total),
    CommandRule("push-range", stages("3DSTATE_PUSH_CONSTANT_ALLOC_"), ("constant_buffer_size",), _push_range),
    CommandRule("edit-length", stages("3DSTATE_BINDING_TABLE_EDIT_"), (),
                lambda v: f"{len(v.entries)} entries; at most {_LIMIT}" if len(v.entries) > _LIMIT else ""),
    *(CommandRule("pool-size", (command,), (f"{pool}_enable", f"{pool}_buffer_size"), partial(_pool_size, pool))
      for command, pool in (("3DSTATE_BINDING_TABLE_POOL_ALLOC", "binding_table_pool"),
                            ("3DSTATE_GATHER_POOL_ALLOC", "gather_pool"),
                            ("3DSTATE_DX9_CONSTANT_BUFFER_POOL_ALLOC", "dx9_constant_buffer_pool"))),
    CommandRule("gather-length", stages("3DSTATE_GATHER_CONSTANT_"), (), _gather_length),
    # stream output
    CommandRule("so-decl-length", ("3DSTATE_SO_DECL_LIST",), ("num_entries_0",), _decl_length),
    CommandRule("so-decl-buffers", ("3DSTATE_SO_DECL_LIST",), ("num_entries_0",), _decl_buffers),
    CommandRule("so-pitch", ("3DSTATE_STREAMOUT",), ("buffer_0_surface_pitch",), _so_pitch),
    CommandRule("so-pitch", ("3DSTATE_SO_BUFFER",), ("surface_pitch",), _so_pitch),
    # PIPE_CONTROL
    CommandRule("stall-missing", ("PIPE_CONTROL",), ("command_streamer_stall_enable",), _stalls),
    CommandRule("stall-at-scoreboard", ("PIPE_CONTROL",), ("stall_at_pixel_scoreboard",), _scoreboard),
    CommandRule("flush-and-count", ("PIPE_CONTROL",), ("depth_cache_flush_enable",), _flush_and_count, _GEN8_ON),
    CommandRule("stall-alone", ("PIPE_CONTROL",), ("command_streamer_stall_enable", "depth_stall_enable"),
                _stall_alone, Gen.GEN6 | Gen.GEN7 | Gen.GEN75 | Gen.GEN8),
    CommandRule("depth-stall", ("PIPE_CONTROL",), ("depth_stall_enable",),
                lambda v: "depth_stall_enable with a flush"
                if v.depth_stall_enable and (v.depth_cache_flush_enable or v.render_target_cache_flush_enable) else "",
                Gen.GEN6 | Gen.GEN7),
)


def _resolves(view: Any) -> bool:
    name = "render_target_resolve_type" if has(view, "render_target_resolve_type") else "render_target_resolve_enable"
    return bool(view.raw(name))
