"""Rules of Gen6 and later about the state with which a draw begins: commands that must agree with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gen4emu.decode.context import Context
from gen4emu.decode.lint_commands import LATER, constant_bytes, decls, flag, has
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import View

_GEN7_ON = Gen.GEN7 | Gen.GEN75 | Gen.GEN8 | Gen.GEN9
_GEN8_ON = Gen.GEN8 | Gen.GEN9
STAGES = ("VS", "HS", "DS", "GS", "PS")
_LINEAR = 0x38  # of the barycentric modes: those without perspective
_D16, _D32 = 5, 1  # SURFACE_FORMAT of 3DSTATE_DEPTH_BUFFER
_1D, _NULL = 0, 7


@dataclass(slots=True)
class LintState:
    """The last command of each name in one logical context, and when it came."""

    gen: Gen
    commands: dict[str, View] = field(default_factory=dict)
    serials: dict[str, int] = field(default_factory=dict)
    serial: int = 0
    draw: View | None = None  # the primitive that is checked
    checked: dict[Any, None] = field(default_factory=dict)  # states without findings to report again
    drawn: bool = False  # something, in this context
    object_preemption: bool = False
    reach: object = None  # the surfaces that its kernels name: a lint_surfaces.Reach
    chroma_keys: dict[int, Any] = field(default_factory=dict)  # by number

    def get(self, name: str) -> Any:
        return self.commands.get(name)

    def value(self, name: str, field_name: str, otherwise: Any = None) -> Any:
        """A field of the last command of a name; `otherwise` if there is none, or it has no such field."""
        view = self.commands.get(name)
        return getattr(view, field_name) if view is not None and has(view, field_name) else otherwise

    def raw(self, name: str, field_name: str, otherwise: int = 0) -> int:
        view = self.commands.get(name)
        return view.raw(field_name) if view is not None and has(view, field_name) else otherwise

    def is_on(self, stage: str) -> bool:
        """Whether a stage is enabled."""
        if stage == "PS":
            if self.gen & _GEN8_ON:
                return bool(self.value("3DSTATE_PS_EXTRA", "pixel_shader_valid", False))
            return bool(self.value("3DSTATE_WM", "thread_dispatch_enable", False))
        name = f"3DSTATE_{stage}"
        return bool(self.value(name, "enable", False) or self.value(name, "function_enable", False))

    @property
    def topology(self) -> str:
        view = self.draw if not self.gen & _GEN8_ON else self.commands.get("3DSTATE_VF_TOPOLOGY")
        value = None if view is None or not has(view, "primitive_topology_type") else view.primitive_topology_type
        return str(getattr(value, "name", value))

    @property
    def samples(self) -> int:
        """As a logarithm."""
        return self.raw("3DSTATE_MULTISAMPLE", "number_of_multisamples")

    @property
    def pixel_shader(self) -> str:
        """The command that has the dispatch of pixels."""
        return "3DSTATE_WM" if self.gen & Gen.GEN6 else "3DSTATE_PS"


Check = Callable[[LintState, Context, MemoryReader], Iterator[str]]


@dataclass(slots=True, frozen=True)
class DrawRule:
    """One check of the state at a draw."""

    rule: str
    check: Check
    gens: Gen = LATER


def _tessellation(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    on = {"HS": s.is_on("HS"), "TE": bool(s.value("3DSTATE_TE", "te_enable", False)), "DS": s.is_on("DS")}
    if any(on.values()) and not all(on.values()):
        yield ", ".join(f"{name} is {'on' if state else 'off'}" for name, state in on.items())


def _patches(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    points = int(s.topology.rpartition("_")[2]) if s.topology.startswith("PATCHLIST_") else 0
    if not s.is_on("HS"):
        if points and not s.is_on("GS"):
            yield f"{s.topology} and no hull shader"
        return
    if not points:
        yield f"a hull shader with {s.topology}"
        return
    mode = str(getattr(s.value("3DSTATE_HS", "dispatch_mode"), "name", ""))
    if mode == "DUAL_PATCH" and points > 4:
        yield f"DUAL_PATCH with patches of {points} points"
    reads = s.value("3DSTATE_HS", "vertex_urb_entry_read_length", 0)
    most = 28 if s.value("3DSTATE_HS", "include_primitive_id", False) else 29
    if mode == "EIGHT_PATCH" and reads and s.value("3DSTATE_HS", "include_vertex_handles", False) and points > most:
        yield f"EIGHT_PATCH with handles and data of {points} points"


def _no_topology(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if s.get("3DSTATE_VF_TOPOLOGY") is None:
        yield "no 3DSTATE_VF_TOPOLOGY before the first primitive"


def _end_offset(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if s.draw is not None and flag(s.draw, "end_offset_enable"):
        buffer = context.vertex_buffers.get(0)
        if buffer is None or flag(buffer, "null_vertex_buffer"):
            yield "end_offset_enable needs vertex buffer 0"


def _rectangle_fill(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if s.topology == "RECTLIST":
        name = "3DSTATE_RASTER" if s.gen & _GEN8_ON else "3DSTATE_SF"
        split = "_" if s.gen & _GEN8_ON else ""
        if s.raw(name, f"front{split}face_fill_mode") or s.raw(name, f"back{split}face_fill_mode"):
            yield "rectangles with a fill mode other than SOLID"


def _provoking(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if not s.value("3DSTATE_CLIP", "clip_enable", False):
        return
    for kind in ("triangle_strip_list", "line_strip_list", "triangle_fan"):
        name = f"{kind}_provoking_vertex_select"
        clip, sf = s.value("3DSTATE_CLIP", name), s.value("3DSTATE_SF", name)
        if None not in (clip, sf) and clip != sf:
            yield f"{name} is {clip} in 3DSTATE_CLIP and {sf} in 3DSTATE_SF"


def _precision(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = "vertex_sub_pixel_precision_select"
    clip, sf = s.value("3DSTATE_CLIP", name), s.value("3DSTATE_SF", name)
    if clip is not None and sf is not None and s.value("3DSTATE_CLIP", "clip_enable", False) and clip != sf:
        yield f"{name} is {clip} in 3DSTATE_CLIP and {sf} in 3DSTATE_SF"
    if s.value("3DSTATE_RASTER", "conservative_rasterization_enable", False) and sf:
        yield "conservative rasterization with four bits of sub-pixel precision"


def _barycentric(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    linear = s.value("3DSTATE_WM", "barycentric_interpolation_mode", 0) & _LINEAR
    if linear and s.is_on("PS") and not s.value("3DSTATE_CLIP", "non_perspective_barycentric_enable", True):
        yield "3DSTATE_WM interpolates without perspective, but 3DSTATE_CLIP does not support it"


def _clip_statistics(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    clip = s.get("3DSTATE_CLIP")
    if clip is None or s.get("3DSTATE_SF") is None:
        return
    name = "clipper_statistics_enable" if has(clip, "clipper_statistics_enable") else "statistics_enable"
    counts, on = bool(s.value("3DSTATE_SF", "statistics_enable", False)), bool(clip.clip_enable)
    if counts != (on and bool(getattr(clip, name))):
        yield f"3DSTATE_SF counts: {counts}; 3DSTATE_CLIP: {bool(getattr(clip, name))}, clip_enable {on}"


def _line_width(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    mode = s.raw("3DSTATE_RASTER", "dx_multisample_rasterization_mode")
    lines = s.topology.startswith("LINE")
    if lines and mode >= 2 and s.samples and not s.value("3DSTATE_SF", "line_width", 1):
        yield "line_width 0 with multisample rasterization"


def _depth_bias(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = "3DSTATE_RASTER" if s.gen & _GEN8_ON else "3DSTATE_SF"
    enabled = any(s.value(name, f"global_depth_offset_enable_{kind}", False)
                  for kind in ("solid", "wireframe", "point"))
    if enabled and s.value(name, "global_depth_offset_constant", 0) and \
            not s.value("3DSTATE_SF", "legacy_global_depth_bias_enable", True):
        yield "a depth offset without legacy_global_depth_bias_enable"


def _forced_samples(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    forced = s.raw("3DSTATE_RASTER", "forced_sample_count")  # 0 is not forced, 1 is one sample
    if s.samples and forced > 1:
        yield f"forced_sample_count {forced} with several samples"
    if not s.samples and forced == 1:
        yield "one sample is forced where there is one"
    if forced and s.raw("3DSTATE_MULTISAMPLE", "pixel_location"):
        yield "a forced sample count needs pixel_location CENTER"
    if forced > 1 and s.value("3DSTATE_PS_EXTRA", "pixel_shader_is_per_sample", False):
        yield "a shader for each sample with a forced sample count"


def _conservative(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if s.value("3DSTATE_RASTER", "conservative_rasterization_enable", False):
        if s.raw("3DSTATE_MULTISAMPLE", "pixel_location"):
            yield "conservative rasterization needs pixel_location CENTER"
        if s.value("3DSTATE_WM", "polygon_stipple_enable", False):
            yield "conservative rasterization with polygon stipple"


def _dispatch(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = s.pixel_shader
    if not s.is_on("PS") or s.get(name) is None:
        return
    widths = [w for w in (8, 16, 32) if s.value(name, f"dispatch_{w}_pixel_enable", False)]
    if not widths:
        yield "a pixel shader without a dispatch width"
    per_sample = s.value("3DSTATE_PS_EXTRA", "pixel_shader_is_per_sample", False)
    if 32 in widths and s.samples == 4 and not per_sample:
        yield "32 pixels with 16 samples"
    if s.gen & _GEN8_ON and s.raw(name, "position_xy_offset_select") == 3 and not per_sample:
        yield "sample positions in a shader that does not run for each sample"
    if s.value(name, "render_target_fast_clear_enable", False) and per_sample:
        yield "a fast clear in a shader that runs for each sample"


def _push_enable(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    constants = s.get("3DSTATE_CONSTANT_PS")
    enabled = s.value("3DSTATE_PS", "push_constant_enable")
    if constants is None or enabled is None or not s.is_on("PS"):
        return
    total = sum(constant_bytes(constants))
    if bool(total) != enabled:
        yield f"push_constant_enable is {enabled}, 3DSTATE_CONSTANT_PS has {total} bytes"


def _attributes(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = "3DSTATE_PS_EXTRA" if s.gen & _GEN8_ON else "3DSTATE_PS"
    enabled, count = s.value(name, "attribute_enable"), s.value("3DSTATE_SBE", "number_of_sf_output_attributes")
    if enabled is not None and count is not None and s.is_on("PS") and bool(count) != enabled:
        yield f"attribute_enable is {enabled}, 3DSTATE_SBE has {count} attributes"


def _depth_coverage(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    state = str(getattr(s.value("3DSTATE_PS_EXTRA", "input_coverage_mask_state"), "name", ""))
    if state == "DEPTH_COVERAGE" and s.raw("3DSTATE_WM", "early_depth_stencil_control") == 1:
        yield "DEPTH_COVERAGE, but depth is tested after the shader"


def _ps_blend(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    pointer, blend = context.pending.get(("BLEND_STATE", "")), s.get("3DSTATE_PS_BLEND")
    if pointer is None or blend is None or not s.is_on("PS"):
        return
    block = catalogue_of(s.gen).block("BLEND_STATE")
    array = block.all_arrays[0]
    words = peek.words(context.absolute(pointer.base, pointer.offset), array.dword + array.item.size(s.gen))
    if words is None:
        return
    view = block.view(words, gen=s.gen)
    entry: Any = array.item.view(words, array.dword, gen=s.gen)
    if blend.color_buffer_blend_enable != entry.color_buffer_blend_enable:
        yield f"color_buffer_blend_enable is {blend.color_buffer_blend_enable} in 3DSTATE_PS_BLEND and " \
              f"{entry.color_buffer_blend_enable} in BLEND_STATE"
    elif blend.color_buffer_blend_enable:
        for name in ("source_blend_factor", "destination_blend_factor"):
            if blend.raw(name) != entry.raw(name):
                yield f"{name} differs between 3DSTATE_PS_BLEND and BLEND_STATE"
    for name in ("alpha_to_coverage_enable", "alpha_test_enable"):
        if has(view, name) and bool(getattr(blend, name)) != bool(getattr(view, name)):
            yield f"{name} differs between 3DSTATE_PS_BLEND and BLEND_STATE"


def _last_source(s: LintState, sbe: Any, count: int) -> int:
    """The last attribute of the vertex that SBE gives to PS; -1 for none."""
    if not sbe.attribute_swizzle_enable:
        return count - 1
    swizzles = s.get("3DSTATE_SBE_SWIZ") or sbe
    if not has(swizzles, "attributes") and not swizzles.layout.all_arrays:
        return -1
    sources = [int(getattr(pair, f"{which}_source_attribute")) for pair in swizzles.attributes
               for which in ("even", "odd")]
    return max([*sources[:count], count - 1 if count > len(sources) else -1], default=-1)


def _sbe_reads(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = "3DSTATE_SF" if s.gen & Gen.GEN6 else "3DSTATE_SBE"
    sbe = s.get(name)
    if sbe is None or not s.is_on("PS"):
        return
    length, count = int(sbe.vertex_urb_entry_read_length), int(sbe.number_of_sf_output_attributes)
    if flag(sbe, "force_vertex_urb_entry_read_length") or not has(sbe, "force_vertex_urb_entry_read_length"):
        if not length:
            yield "vertex_urb_entry_read_length 0"
        elif length > 16:
            yield f"vertex_urb_entry_read_length {length}; at most 16"
        else:
            last = _last_source(s, sbe, count)
            if last >= 2 * length:
                yield f"attribute {last} does not come from {length} rows of two"


def _active_components(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    sbe = s.get("3DSTATE_SBE")
    if sbe is None or not s.is_on("PS"):
        return
    for i in range(min(int(sbe.number_of_sf_output_attributes), 32)):
        if not sbe.raw(f"attribute_{i}_active_component_format"):
            yield f"attribute {i} of {sbe.number_of_sf_output_attributes} has no active component"
            return


def _domain_handles(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    mode = str(getattr(s.value("3DSTATE_DS", "dispatch_mode"), "name", ""))
    entries = s.value("3DSTATE_URB_HS", "hs_number_of_urb_entries")
    if s.is_on("DS") and mode == "SIMD8_SINGLE_OR_DUAL_PATCH" and entries is not None and entries < 2:
        yield f"{mode}, and HS has {entries} URB entries"


_NO_OBJECT_PREEMPTION = ("TRIFAN", "LINELOOP")


def _preemption(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if not s.object_preemption:
        return
    if s.topology in _NO_OBJECT_PREEMPTION or (s.topology == "LINESTRIP_ADJ" and s.is_on("GS")):
        yield f"CS_CHICKEN1.replay_mode allows it for {s.topology}"
    elif s.draw is not None and has(s.draw, "instance_count") and s.draw.instance_count > 1:
        yield f"CS_CHICKEN1.replay_mode allows it for {s.draw.instance_count} instances"


# State that each primitive needs, as far as the generation has the command.
_NEEDED = ("3DSTATE_VERTEX_ELEMENTS", "3DSTATE_VS", "3DSTATE_GS", "3DSTATE_CLIP", "3DSTATE_SF", "3DSTATE_WM",
           "3DSTATE_PS", "3DSTATE_PS_EXTRA", "3DSTATE_RASTER", "3DSTATE_SBE", "3DSTATE_HS", "3DSTATE_TE", "3DSTATE_DS",
           "3DSTATE_STREAMOUT", "3DSTATE_MULTISAMPLE", "3DSTATE_SAMPLE_MASK", "3DSTATE_DRAWING_RECTANGLE",
           "3DSTATE_DEPTH_BUFFER")


def _missing_state(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if s.drawn or s.draw is None or not (s.draw.raw("vertex_count_per_instance") or
                                         flag(s.draw, "indirect_parameter_enable")):
        return  # drivers draw nothing, as a workaround
    names = catalogue_of(s.gen).names
    missing = [name for name in _NEEDED if name in names and name not in s.commands]
    if missing:
        yield f"no {', '.join(missing[:4])}{f' and {len(missing) - 4} more' if len(missing) > 4 else ''} before the " \
              "first primitive"


def _kernel_bound(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    bound = context.bounds.get("instruction", 0)
    if not bound:
        return
    for stage in STAGES:
        view = s.get(f"3DSTATE_{stage}")
        name = "kernel_start_pointer_0" if stage == "PS" else "kernel_start_pointer"
        if view is not None and s.is_on(stage) and getattr(view, name) >= bound:
            yield f"the kernel of {stage} starts at 0x{getattr(view, name):x}, beyond 0x{bound:x} bytes of instructions"


def _dynamic_bound(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    bound = context.bounds.get("dynamic_state", 0)
    if not bound:
        return
    for (target, stage), pointer in context.pending.items():
        if pointer.base == "dynamic_state" and pointer.offset >= bound:
            of = f" of {stage}" if stage else ""
            yield f"{target}{of} at 0x{pointer.offset:x}, beyond 0x{bound:x} bytes of state"


def _hiz(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = "3DSTATE_DEPTH_BUFFER"
    if not s.value(name, "hierarchical_depth_buffer_enable", False):
        return
    if s.raw(name, "surface_type") in (_1D, _NULL):
        yield "a hierarchical depth buffer, and a depth buffer of type 1D or NULL"
    if not s.value("3DSTATE_HIER_DEPTH_BUFFER", "surface_base_address", 0):
        yield "hierarchical_depth_buffer_enable is set, but 3DSTATE_HIER_DEPTH_BUFFER has no address"


def _stencil(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = "3DSTATE_DEPTH_BUFFER"
    if not s.value("3DSTATE_STENCIL_BUFFER", "stencil_buffer_enable", False) or s.get(name) is None:
        return
    if s.raw(name, "surface_format") == _D16:
        yield "a stencil buffer with a depth buffer of D16_UNORM"
    if s.raw(name, "surface_type") == _NULL:
        yield "a stencil buffer with a depth buffer of type NULL"


def _clear_value(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    clear = s.get("3DSTATE_CLEAR_PARAMS")
    if clear is None or not flag(clear, "depth_clear_value_valid"):
        return
    value = clear.depth_clear_value
    if isinstance(value, float) and s.raw("3DSTATE_DEPTH_BUFFER", "surface_format") == _D32 and not 0 <= value <= 1:
        yield f"a depth clear value of {value:g}"


def _domain(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    domain = str(getattr(s.value("3DSTATE_TE", "te_domain"), "name", "TRI"))
    if s.is_on("DS") and s.value("3DSTATE_DS", "compute_w_coordinate_enable", False) and domain != "TRI":
        yield f"compute_w_coordinate_enable with the domain {domain}"


def _gs(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    gs = s.get("3DSTATE_GS")
    if gs is None or not s.is_on("GS") or not has(gs, "dispatch_mode"):
        return
    mode = str(getattr(gs.dispatch_mode, "name", ""))
    entries = s.value("3DSTATE_URB_GS", "gs_number_of_urb_entries")
    if mode.startswith("DUAL") and entries is not None and entries < 2:
        yield f"{mode} with {entries} URB entries"
    if has(gs, "static_output") and gs.output_vertex_size % 32 and not (
            gs.output_vertex_size == 16 and s.value("3DSTATE_STREAMOUT", "api_rendering_disable", False)):
        yield f"output_vertex_size {gs.output_vertex_size} is not a multiple of 32"


def _push_areas(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    areas = []
    for stage in STAGES:
        alloc, constants = s.get(f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage}"), s.get(f"3DSTATE_CONSTANT_{stage}")
        if alloc is None:
            continue
        start, size = int(alloc.constant_buffer_offset), int(alloc.constant_buffer_size)
        if size:
            areas.append((start, start + size, stage))
        if constants is not None and s.is_on(stage):
            need = -(-sum(constant_bytes(constants)) // 64) * 64
            if need > size:
                yield f"{stage} has {need} bytes of constants and {size} bytes for them"
    areas.sort()
    for (_, end, first), (start, _, second) in pairwise(areas):
        if start < end:
            yield f"the areas of {first} and {second} overlap"


def _push_order(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    for stage in STAGES:
        alloc = s.serials.get(f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage}", 0)
        if not alloc or not s.is_on(stage):
            continue
        for name in (f"3DSTATE_CONSTANT_{stage}", f"3DSTATE_BINDING_TABLE_POINTERS_{stage}"):
            if s.serials.get(name, 0) < alloc:
                yield f"no {name} since 3DSTATE_PUSH_CONSTANT_ALLOC_{stage}"


def _uncommitted(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    for stage in STAGES:
        constants = s.serials.get(f"3DSTATE_CONSTANT_{stage}", 0)
        if constants > s.serials.get(f"3DSTATE_BINDING_TABLE_POINTERS_{stage}", 0) and s.is_on(stage):
            yield f"no 3DSTATE_BINDING_TABLE_POINTERS_{stage} since 3DSTATE_CONSTANT_{stage}"


def _so_pitch(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    listed = s.get("3DSTATE_SO_DECL_LIST")
    if listed is None or not s.value("3DSTATE_STREAMOUT", "so_function_enable", False):
        return
    sizes: dict[int, int] = {}
    for stream, entry in decls(listed):
        slot = int(getattr(entry, f"stream_{stream}_output_buffer_slot"))
        sizes[slot] = sizes.get(slot, 0) + 4 * int(getattr(entry, f"stream_{stream}_component_mask")).bit_count()
    for slot, size in sizes.items():
        pitch = s.value("3DSTATE_STREAMOUT", f"buffer_{slot}_surface_pitch")
        if pitch is not None and size > pitch:
            yield f"buffer {slot} has a pitch of {pitch}, a vertex {size} bytes"


def _urb(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    areas = []
    pushed = max((int(a.constant_buffer_offset) + int(a.constant_buffer_size) for stage in STAGES
                  if (a := s.get(f"3DSTATE_PUSH_CONSTANT_ALLOC_{stage}")) is not None), default=0)
    for stage in STAGES[:-1]:
        urb, low = s.get(f"3DSTATE_URB_{stage}"), stage.lower()
        if urb is None:
            continue
        count = int(getattr(urb, f"{low}_number_of_urb_entries"))
        start = int(getattr(urb, f"{low}_urb_starting_address"))
        size = int(getattr(urb, f"{low}_urb_entry_allocation_size")) * (1 if s.gen & _GEN8_ON else 64)
        if count:
            areas.append((start, start + count * size, stage))
    areas.sort()
    for (_, end, first), (start, _, second) in pairwise(areas):
        if start < end:
            yield f"the regions of {first} and {second} overlap"
    if areas and areas[0][0] < pushed:
        yield f"the region of {areas[0][2]} starts at {areas[0][0]}, inside the {pushed} bytes of push constants"


def _vs_entries(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    entries = s.value("3DSTATE_URB_VS", "vs_number_of_urb_entries")
    if entries is not None and entries < 64:
        yield f"{entries} URB entries for vertices; at least 64"


def _uav_mask(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    extra = s.get("3DSTATE_PS_EXTRA")
    if extra is None or not (s.is_on("PS") and extra.pixel_shader_has_uav and extra.pixel_shader_does_not_write_to_rt):
        return
    every, mask = (1 << (1 << s.samples)) - 1, s.value("3DSTATE_SAMPLE_MASK", "sample_mask", 0xFFFF)
    if mask & every != every:
        yield f"a shader that only writes memory, and sample mask 0x{mask:x}"


def _points(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if s.topology.startswith("POINT") and s.raw("3DSTATE_SF", "point_width_source") and \
            not s.value("3DSTATE_SF", "point_width", 1):
        yield "the state has the width of points, and it is 0"


def _output(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    """Without the force bit of SBE the last stage says how much of a vertex there is."""
    if s.get("3DSTATE_SBE") is None or s.value("3DSTATE_SBE", "force_vertex_urb_entry_read_length", True):
        return
    last = next((stage for stage in ("GS", "DS", "VS") if s.is_on(stage)), "")
    length = s.value(f"3DSTATE_{last}", "vertex_urb_entry_output_length", 1)
    if not 1 <= length <= 16:
        yield f"{last}: vertex_urb_entry_output_length {length}; 1 to 16 are possible"


def _cc_pointer(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if s.value("3DSTATE_CC_STATE_POINTERS", "color_calc_state_pointer_valid") is False:
        yield "the pointer to COLOR_CALC_STATE is not valid"


DRAW_RULES: tuple[DrawRule, ...] = (
    DrawRule("tessellation-stages", _tessellation, _GEN7_ON),
    DrawRule("patch-topology", _patches, _GEN7_ON),
    DrawRule("no-topology", _no_topology, _GEN8_ON),
    DrawRule("end-offset-buffer", _end_offset, _GEN7_ON),
    DrawRule("rectangle-fill", _rectangle_fill),
    DrawRule("provoking-vertex", _provoking),
    DrawRule("sub-pixel-precision", _precision),
    DrawRule("barycentric-mode", _barycentric),
    DrawRule("clip-statistics", _clip_statistics, _GEN8_ON),
    DrawRule("line-width", _line_width, _GEN8_ON),
    DrawRule("depth-bias", _depth_bias),
    DrawRule("forced-samples", _forced_samples, _GEN8_ON),
    DrawRule("conservative", _conservative, Gen.GEN9),
    DrawRule("pixel-dispatch", _dispatch),
    DrawRule("push-enable", _push_enable, _GEN7_ON),
    DrawRule("attribute-enable", _attributes, _GEN7_ON),
    DrawRule("depth-coverage", _depth_coverage, Gen.GEN9),
    DrawRule("ps-blend", _ps_blend, _GEN8_ON),
    DrawRule("sbe-reads", _sbe_reads),
    DrawRule("active-components", _active_components, Gen.GEN9),
    DrawRule("ds-handles", _domain_handles, Gen.GEN9),
    DrawRule("object-preemption", _preemption, Gen.GEN9),
    DrawRule("missing-state", _missing_state),
    DrawRule("kernel-bound", _kernel_bound, _GEN8_ON),
    DrawRule("dynamic-bound", _dynamic_bound, _GEN8_ON),
    DrawRule("hiz-buffer", _hiz),
    DrawRule("stencil-format", _stencil, _GEN8_ON),
    DrawRule("clear-value", _clear_value, _GEN8_ON),
    DrawRule("domain-w", _domain, _GEN7_ON),
    DrawRule("gs-output", _gs, _GEN7_ON),
    DrawRule("push-area", _push_areas, _GEN7_ON),
    DrawRule("push-order", _push_order, _GEN8_ON),
    DrawRule("constants-uncommitted", _uncommitted, Gen.GEN9),
    DrawRule("so-pitch", _so_pitch, _GEN8_ON),
    DrawRule("urb-range", _urb, _GEN7_ON),
    DrawRule("urb-vertices", _vs_entries, _GEN8_ON),
    DrawRule("uav-mask", _uav_mask, _GEN8_ON),
    DrawRule("point-width", _points),
    DrawRule("output-length", _output, _GEN8_ON),
    DrawRule("cc-pointer", _cc_pointer, _GEN8_ON),
)
