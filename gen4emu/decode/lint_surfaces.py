"""Rules of Gen6 and later about the blocks that a draw reaches: its surfaces, samplers, viewports and blend state.

`Reach` holds what the kernels of one draw can name.  Blocks are read from memory as the draw finds them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gen4emu.decode.context import Context, Unit
from gen4emu.decode.gen6 import ARRAYS, table_address
from gen4emu.decode.kernels import sends
from gen4emu.decode.lint_commands import LATER, flag, has
from gen4emu.decode.lint_draws import DrawRule, LintState
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.nodes import KernelCode
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.format_support import supports
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.sampler import MapFilter
from gen4emu.hw.gen6.messages import SamplerSimdMode, SharedFunctionGen6
from gen4emu.hw.gen7.state import StructuredSurfaceType
from gen4emu.hw.later_formats import AstcSurfaceFormat
from gen4emu.hw.layout import View
from gen4emu.isa.later_message_text import message_of

_GEN8_ON = Gen.GEN8 | Gen.GEN9
_FIRST_SPECIAL_INDEX = 252
_SAMPLER_BYTES = 16
_BUFFERS = (StructuredSurfaceType.SURFTYPE_BUFFER, StructuredSurfaceType.SURFTYPE_STRBUF)
_NULL, _1D, _2D = (StructuredSurfaceType.SURFTYPE_NULL, StructuredSurfaceType.SURFTYPE_1D,
                   StructuredSurfaceType.SURFTYPE_2D)
_FILTERING = frozenset({MapFilter.LINEAR, MapFilter.ANISOTROPIC})
_DATA_CACHES = frozenset({SharedFunctionGen6.DATA_CACHE_DATA_PORT, SharedFunctionGen6.DATA_CACHE_DATA_PORT_1})
_PLAIN_FORMAT = re.compile(r"((?:[RGBAX]\d+)+)_([A-Z]+)")
_CHROMA = {"A": "alpha", "R": "red_or_cr", "G": "green_or_y", "B": "blue_or_cb"}
_COMPONENTS = ("red", "green", "blue", "alpha")


# --- kernels ----------------------------------------------------------------------------------------------------------
@dataclass(slots=True, frozen=True)
class Message:
    """One message of a kernel that names a surface."""

    sfid: int
    kind: str  # the name of its type
    surface: int
    sampler: int
    contents: str  # of a render target write: the name of its type of registers
    predicated: bool

    @property
    def writes_target(self) -> bool:
        return self.kind == "RENDER_TARGET_WRITE"


@lru_cache(1024)
def messages_of(code: KernelCode, gen: Gen) -> tuple[Message, ...]:
    """The messages with an immediate descriptor and an index of the binding table."""
    found = []
    for _, send in sends(code.code, gen):
        descriptor = send.descriptor
        layout = None if descriptor is None else message_of(descriptor.sfid, gen)
        if descriptor is None or layout is None:
            continue
        view = layout.view((descriptor.bits,), gen=gen)
        values = {f.name: f.decode(raw) for f, raw in view.fields()}
        index = values.get("binding_table_index", _FIRST_SPECIAL_INDEX)
        media = descriptor.sfid == SharedFunctionGen6.SAMPLER and values["simd_mode"] == SamplerSimdMode.SIMD32_64
        if index < _FIRST_SPECIAL_INDEX and not media:
            found.append(Message(descriptor.sfid, _name(values.get("message_type", "")), index,
                                 values.get("sampler_index", 0), _name(values.get("render_target_write_type", "")),
                                 bool(send.predicate)))
    return tuple(dict.fromkeys(found))


def _name(value: object) -> str:
    return str(getattr(value, "name", value))


# --- what a draw reaches ----------------------------------------------------------------------------------------------
class Reach:
    """The surfaces and samplers that the kernels of one draw name."""

    def __init__(self, gen: Gen, context: Context, peek: MemoryReader) -> None:
        self.gen, self.context, self.peek = gen, context, peek
        self._catalogue = catalogue_of(gen)
        self.targets: dict[int, View] = {}  # by the index in the binding table of PS
        self.textures: list[tuple[str, View, Message, View | None]] = []  # place, surface, message, sampler
        self.memory: list[tuple[str, View, bool]] = []  # place, surface of a data port, and whether it is written
        self.blocks: list[tuple[int, int, str]] = []  # start, end and name of the state that was looked at
        self.writes: list[Message] = []  # of PS to render targets
        words: list[Hashable] = []
        for stage in ("vs", "hs", "ds", "gs", "ps"):
            unit = context.running(stage)
            if unit is not None:
                words += self._stage(stage, unit)
        self.key: Hashable = tuple(words)
        for (target, _), pointer in context.pending.items():
            if target in ARRAYS:
                size = 4 * self._catalogue.block(target).size(gen) if target != "BLEND_STATE" else 8
                start = context.absolute(pointer.base, pointer.offset)
                self.blocks.append((start, start + size, target))

    def _stage(self, stage: str, unit: Unit) -> Iterator[Hashable]:
        """Collect the surfaces of one stage; yields their contents."""
        for message in dict.fromkeys(m for code in unit.kernels for m in messages_of(code, self.gen)):
            surface = self._surface(stage, message.surface)
            if message.writes_target and stage == "ps":
                self.writes.append(message)
            if surface is None:
                continue
            yield surface.words
            if message.writes_target and stage == "ps":
                self.targets[message.surface] = surface
            elif message.sfid == SharedFunctionGen6.SAMPLER:
                sampler = self._sampler(stage, message.sampler)
                yield None if sampler is None else sampler.words
                self.textures.append((f"{stage} texture {message.surface}", surface, message, sampler))
            elif message.sfid in _DATA_CACHES:
                self.memory.append((f"{stage} surface {message.surface}", surface, "READ" not in message.kind))

    def _surface(self, stage: str, index: int) -> View | None:
        pointer = self.context.pending.get(("BINDING_TABLE_STATE", stage))
        if pointer is None:
            return None
        entry = self._catalogue.block("BINDING_TABLE_STATE").field("surface_state_pointer", self.gen)
        table = table_address(self.context, "BINDING_TABLE_STATE", pointer)
        words = self.peek.words(table + 4 * index & self.context.mask, 1)
        if words is None:
            return None
        address = self.context.absolute("surface_state", int(entry.decode(entry.extract(words))))
        return self.block("RENDER_SURFACE_STATE", address)

    def _sampler(self, stage: str, index: int) -> View | None:
        pointer = self.context.pending.get(("SAMPLER_STATE", stage))
        if pointer is None:
            return None
        return self.block("SAMPLER_STATE",
                          self.context.absolute(pointer.base, pointer.offset + _SAMPLER_BYTES * index))

    def block(self, name: str, address: int) -> View | None:
        layout = self._catalogue.block(name)
        found: View | None = self.peek.view(layout, address, self.gen)
        if found is not None:
            self.blocks.append((address, address + 4 * layout.size(self.gen), name))
        return found

    def pointed(self, target: str, number: int = 0) -> Any:
        """An element of an array in dynamic state that a command points to."""
        pointer = self.context.pending.get((target, ""))
        if pointer is None:
            return None
        step = 4 * self._catalogue.block(target).size(self.gen)
        return self.block(target, self.context.absolute(pointer.base, pointer.offset) + step * number)

    def blend_entry(self, number: int) -> Any:
        """The blend state of one render target."""
        pointer = self.context.pending.get(("BLEND_STATE", ""))
        if pointer is None:
            return None
        array = self._catalogue.block("BLEND_STATE").all_arrays[0]
        at = array.dword + number * array.item.size(self.gen)
        words = self.peek.words(self.context.absolute(pointer.base, pointer.offset) + 4 * at & self.context.mask,
                                array.item.size(self.gen))
        return None if words is None else array.item.view(words, gen=self.gen)

    def drawn(self) -> Iterator[tuple[int, int, Any]]:
        """Number, index and surface of each render target that exists.  Drivers place them in the order of their
        numbers."""
        for number, (index, surface) in enumerate(sorted(self.targets.items())):
            if surface.raw("surface_type") != _NULL:
                yield number, index, surface


def _reach(s: LintState) -> Reach:
    assert isinstance(s.reach, Reach)
    return s.reach


def _format(surface: Any) -> tuple[int, str]:
    code = surface.raw("surface_format")
    try:
        return code, AstcSurfaceFormat(code).name
    except ValueError:
        return code, f"format 0x{code:03x}"


def _can(surface: Any, use: str, gen: Gen) -> bool:
    return supports(surface.raw("surface_format"), use, gen)


# --- formats ----------------------------------------------------------------------------------------------------------
def _target_format(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    for _, index, surface in _reach(s).drawn():
        if not _can(surface, "render_target", s.gen):
            yield f"render target {index}: {_format(surface)[1]} cannot be written"


def _blend_format(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    for number, index, surface in _reach(s).drawn():
        entry = _reach(s).blend_entry(number)
        if entry is not None and entry.color_buffer_blend_enable and not _can(surface, "blend", s.gen):
            yield f"render target {index}: {_format(surface)[1]} cannot be blended"


def _sampler_format(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    found = {place: surface for place, surface, message, _ in _reach(s).textures if message.kind != "RESINFO"}
    for place, surface in found.items():
        if surface.raw("surface_type") != _NULL and not _can(surface, "sample", s.gen):
            yield f"{place}: {_format(surface)[1]} cannot be sampled"


def _filters(sampler: Any) -> bool:
    return bool({sampler.raw("mag_mode_filter"), sampler.raw("min_mode_filter")} & _FILTERING)


def _filter_format(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    found = {place: surface for place, surface, message, sampler in _reach(s).textures
             if sampler is not None and message.kind.startswith("SAMPLE") and message.kind != "SAMPLEINFO"
             and _filters(sampler)}
    for place, surface in found.items():
        if surface.raw("surface_type") != _NULL and not _can(surface, "filter", s.gen):
            yield f"{place}: {_format(surface)[1]} cannot be filtered"


def _shadow_format(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    found = {(place, message.kind): surface for place, surface, message, _ in _reach(s).textures
             if "C" in message.kind.split("_")[1:]}
    for (place, kind), surface in found.items():
        if surface.raw("surface_type") != _NULL and not _can(surface, "shadow", s.gen):
            yield f"{place}: {kind} of {_format(surface)[1]}, which cannot be compared"


def _keyed(s: LintState) -> Iterator[tuple[str, Any, int]]:
    """Place and surface of each texture with a chroma key, and the number of the key."""
    found = {}
    for place, surface, message, sampler in _reach(s).textures:
        name = "chromakey" if sampler is not None and has(sampler, "chromakey_enable") else "chroma_key"
        if sampler is not None and message.kind.startswith("SAMPLE") and flag(sampler, f"{name}_enable"):
            found[place] = surface, int(getattr(sampler, f"{name}_index"))
    for place, (surface, number) in found.items():
        yield place, surface, number


def _chroma_format(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    for place, surface, _ in _keyed(s):
        if not _can(surface, "chroma_key", s.gen):
            yield f"{place}: a chroma key with {_format(surface)[1]}"


def _chroma_channels(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    for place, surface, number in _keyed(s):
        key, parts = s.chroma_keys.get(number), _PLAIN_FORMAT.match(_format(surface)[1])
        if key is None or parts is None:
            continue
        low, high = (0xFF, 0x7F) if parts[2].startswith("S") else (0, 0xFF)
        for channel, name in _CHROMA.items():
            if channel not in parts[1] and (key.raw(f"chroma_key_low_{name}"),
                                            key.raw(f"chroma_key_high_{name}")) != (low, high):
                yield f"{place}: key {number} limits {name}, which {_format(surface)[1]} does not have"


# --- depth ------------------------------------------------------------------------------------------------------------
def _depth_target(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    depth = s.get("3DSTATE_DEPTH_BUFFER")
    if depth is None or depth.raw("surface_type") == _NULL or not depth.surface_base_address:
        return
    for _, index, surface in _reach(s).drawn():
        kinds = depth.raw("surface_type"), surface.raw("surface_type")
        if kinds[0] != kinds[1] and kinds != (_2D, _1D):
            yield f"the depth buffer is {_name(depth.surface_type)}, render target {index} " \
                  f"{_name(surface.surface_type)}"
        elif depth.lod != surface.mip_count_lod:
            yield f"level {depth.lod} of the depth buffer, {surface.mip_count_lod} of render target {index}"
        elif depth.depth != surface.depth:
            yield f"{depth.depth} layers of the depth buffer, {surface.depth} of render target {index}"
        elif (depth.lod or depth.depth > 1 or kinds[1] != _2D) and \
                (depth.width, depth.height) != (surface.width, surface.height):
            yield f"a depth buffer of {depth.width}x{depth.height}, and render target {index} of " \
                  f"{surface.width}x{surface.height} with levels, layers or slices"


def _clear_range(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    clear, viewport = s.get("3DSTATE_CLEAR_PARAMS"), _reach(s).pointed("CC_VIEWPORT")
    enabled = s.value("3DSTATE_DEPTH_BUFFER", "hierarchical_depth_buffer_enable", False)
    if clear is None or viewport is None or not enabled or not flag(clear, "depth_clear_value_valid"):
        return
    value = clear.depth_clear_value
    if isinstance(value, float) and not viewport.minimum_depth <= value <= viewport.maximum_depth:
        yield f"a depth clear value of {value:g}, and depth from {viewport.minimum_depth:g} to " \
              f"{viewport.maximum_depth:g}"


# --- samples and pixels -----------------------------------------------------------------------------------------------
def _samples(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if s.get("3DSTATE_MULTISAMPLE") is None or s.raw("3DSTATE_RASTER", "forced_sample_count") or \
            s.value("3DSTATE_SF", "rt_independent_rasterization_enable", False):
        return
    for _, index, surface in _reach(s).drawn():
        if surface.raw("number_of_multisamples") != s.samples:
            yield f"render target {index} has {_name(surface.number_of_multisamples)}, 3DSTATE_MULTISAMPLE " \
                  f"{_name(s.value('3DSTATE_MULTISAMPLE', 'number_of_multisamples'))}"


def _antialias(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = "3DSTATE_RASTER" if s.gen & _GEN8_ON else "3DSTATE_SF"
    if s.value(name, "antialiasing_enable", False):
        for _, index, surface in _reach(s).drawn():
            if _format(surface)[1].endswith(("UINT", "SINT")):
                yield f"antialiasing_enable is set, but render target {index} is {_format(surface)[1]}"


def _fast_clear_target(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    resolves = s.raw("3DSTATE_PS", "render_target_resolve_type") or s.raw("3DSTATE_PS", "render_target_resolve_enable")
    if not (s.value("3DSTATE_PS", "render_target_fast_clear_enable", False) or resolves):
        return
    what = "a resolve" if resolves else "a fast clear"
    targets = _reach(s).targets
    if targets and 0 not in targets:
        yield f"{what} of render target {min(targets)}; entry 0 of the binding table is required"
    elif targets and targets[0].raw("surface_type") == _NULL:
        yield f"{what} of a null surface"


def _no_writes(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    extra = s.get("3DSTATE_PS_EXTRA")
    if extra is None or not s.is_on("PS") or not extra.pixel_shader_does_not_write_to_rt:
        return
    if extra.pixel_shader_kills_pixel:
        yield "pixel_shader_does_not_write_to_rt with pixel_shader_kills_pixel"
    elif _reach(s).writes:
        yield "pixel_shader_does_not_write_to_rt, but the kernel writes render target " \
              f"{_reach(s).writes[0].surface}"


def _kills(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    name = "3DSTATE_PS_EXTRA" if s.gen & _GEN8_ON else "3DSTATE_WM"
    kills = s.value(name, "pixel_shader_kills_pixel", True)
    if not kills and s.is_on("PS") and any(write.predicated for write in _reach(s).writes):
        yield "the kernel writes a render target with a predicate, but pixel_shader_kills_pixel is not set"


def _writeable(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    if not s.is_on("PS") or s.value("3DSTATE_PS_BLEND", "has_writeable_rt", True):
        return
    for number, index, _ in _reach(s).drawn():
        entry = _reach(s).blend_entry(number)
        if entry is not None and not all(getattr(entry, f"write_disable_{c}") for c in _COMPONENTS):
            yield f"render target {index} is written, but has_writeable_rt is not set"


def _dual_source(s: LintState, context: Context, peek: MemoryReader) -> Iterator[str]:
    writes, entry = _reach(s).writes, _reach(s).blend_entry(0)
    if entry is None or not writes or not entry.color_buffer_blend_enable or \
            any("DUAL_SOURCE" in write.contents for write in writes) or not any(True for _ in _reach(s).drawn()):
        return
    factors: tuple[str, ...] = ("source_blend_factor", "destination_blend_factor")
    if entry.independent_alpha_blend_enable if has(entry, "independent_alpha_blend_enable") else True:
        factors += ("source_alpha_blend_factor", "destination_alpha_blend_factor")
    used = next((name for name in factors if "SRC1" in _name(getattr(entry, name))), "")
    if used:
        yield f"{used} is {_name(getattr(entry, used))}, but the kernel writes only one color"


SURFACE_RULES: tuple[DrawRule, ...] = (
    DrawRule("target-format", _target_format),
    DrawRule("blend-format", _blend_format),
    DrawRule("sampler-format", _sampler_format),
    DrawRule("filter-format", _filter_format),
    DrawRule("shadow-format", _shadow_format),
    DrawRule("chroma-format", _chroma_format),
    DrawRule("chroma-channels", _chroma_channels),
    DrawRule("depth-target", _depth_target, _GEN8_ON),
    DrawRule("clear-range", _clear_range),
    DrawRule("sample-count", _samples),
    DrawRule("antialias-format", _antialias),
    DrawRule("fast-clear-target", _fast_clear_target, Gen.GEN7 | Gen.GEN75 | _GEN8_ON),
    DrawRule("no-target-writes", _no_writes, _GEN8_ON),
    DrawRule("kill-pixel", _kills, LATER),
    DrawRule("writeable-target", _writeable, _GEN8_ON),
    DrawRule("dual-source", _dual_source),
)
