"""The state of every draw, as the device executes it and `gen4emu state` shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from gen4emu.decode.context import Context
from gen4emu.decode.document import Document
from gen4emu.decode.executed_nodes import Parsed
from gen4emu.decode.in_force import Kept, Look, Setting, StateTracker
from gen4emu.decode.nodes import Body, Command, Data, Kernel, KernelCode, Node, State
from gen4emu.decode.options import Options
from gen4emu.decode.state_parts import parts_of
from gen4emu.device.device import Device
from gen4emu.device.place import DrawKind
from gen4emu.hw.fields import Const, Mbz
from gen4emu.hw.layout import View
from gen4emu.report.meshes import MESH_VALUES, Mesh, Stage, executed_stages, fetched_stage, joined
from gen4emu.selection import Selection
from gen4emu.trace.reader import Trace

Fields = tuple[tuple[str, str], ...]

# The boxes of the pipeline, in its order, and the names of commands and blocks that belong to each.
BOXES = {
    "vf": ("VF", r"VERTEX|INDEX|_VF|3DPRIMITIVE"), "vs": ("VS", r"_VS\b|VS_STATE|_VS$|\bvs\b"),
    "hs": ("HS", r"_HS\b|_HS$|\bhs\b"), "te": ("TE", r"_TE$"), "ds": ("DS", r"_DS\b|_DS$|\bds\b"),
    "gs": ("GS", r"_GS\b|GS_STATE|_GS$|GS_SVB|\bgs\b"), "so": ("SO", r"_SO_|STREAMOUT"),
    "clip": ("CLIP", r"CLIP|\bclip\b"), "sf": ("SF", r"SF_|_SF$|_SF\b|SBE|SCISSOR|LINE|STIPPLE|DRAWING_RECT|\bsf\b"),
    "wm": ("WM", r"WM|_PS|SAMPLE|CHROMA|\bps\b|\bwm\b"), "cc": ("CC", r"CC_|_CC|COLOR|BLEND|DEPTH|STENCIL|HIER|CLEAR"),
    "media": ("Media", r"MEDIA|VFE|VLD|GPGPU|INTERFACE|\bcs\b"), "blt": ("BLT", r"BLT"),
}
OTHER_BOX = "other", "Common"
_BOX_PATTERNS = [(name, re.compile(pattern)) for name, (_, pattern) in BOXES.items()]

# Fields that make a flag of the draw.
_FLAGS = {"color_buffer_blend_enable": "blend", "depth_test_enable": "depth", "stencil_enable": "stencil",
          "stencil_test_enable": "stencil", "alpha_test_enable": "alpha", "logic_op_enable": "logicop",
          "pixel_shader_kills_pixel": "discard", "pixel_shader_kill_pixel": "discard"}
FLAGS = (*dict.fromkeys(_FLAGS.values()), "finding", "idle")
_SURFACES = frozenset({"SURFACE_STATE", "RENDER_SURFACE_STATE"})
_MOST_ROWS = 16
_UNINTERESTING = frozenset({"dword_length"})


@dataclass(slots=True, eq=False)
class Block:
    """A command, state block or piece of data with which a draw executes.  Unchanged ones are the same object."""

    key: str  # the place that it takes: a later block with this key replaces it
    title: str
    box: str
    address: int
    by: str  # the command that set it, and when
    fields: Fields
    flags: frozenset[str] = frozenset()
    complaints: tuple[str, ...] = ()


@dataclass(slots=True)
class DrawState:
    """Everything with which a draw executes."""

    blocks: list[Block] = field(default_factory=list)
    kernels: dict[str, tuple[KernelCode, ...]] = field(default_factory=dict)
    # by stage; several: for different numbers of pixels a thread
    vertices: Stage | None = None  # of a mesh


@dataclass(slots=True)
class SurfaceUse:
    """A surface as a state block describes it."""

    address: int
    format: str
    width: int
    height: int
    pitch: int
    tiling: str
    sampled: tuple[int, ...] = ()  # the block, if it is a sampler's


class DrawStates:
    """Looks at the state of each draw that is counted, when the draw is about to be executed."""

    def __init__(self, full: Selection | None) -> None:
        """`full` selects the draws with meshes; without it, the first ones have them."""
        self.draws: dict[int, DrawState] = {}
        self.surfaces: dict[int, SurfaceUse] = {}  # by address, as the first draw describes them
        self._kernels: dict[tuple[bytes, int, str], Kernel] = {}  # by code, address and role
        self._full = full
        self._mesh_values = 0
        self._blocks: dict[tuple[object, ...], Block] = {}
        self._kernel_blocks: dict[Block, KernelCode] = {}
        self._fields: dict[Body, tuple[Fields, frozenset[str]]] = {}
        self._texts: dict[Fields, Fields] = {}
        self._surfaces: dict[Body, SurfaceUse | None] = {}
        self._parts: dict[Body, int | str] = {}

    def listen(self, device: Device, kept: Kept | None) -> None:
        """Listen to a device; `kept` is what a tracker has kept where it begins, unless that is the start."""
        tracker, parsed = StateTracker(device), Parsed(device)
        if kept is not None:
            tracker.restore(kept)

        def before_draw() -> None:
            if device.counting:
                self._add(tracker.look(Options(repeat=True), parsed))

        tracker.before_draw = before_draw

    @property
    def kernels(self) -> list[Kernel]:
        """Those that the state of any draw leads to."""
        return list(self._kernels.values())

    def at(self, draw: int) -> DrawState:
        """The state of a draw; an empty one if it was not looked at."""
        return self.draws.get(draw, _NO_STATE)

    def _add(self, look: Look) -> None:
        state, name = look.state, look.state.draw.title
        own, *below = self._blocks_of(state.draw, name, "the draw", "")
        shown = [own]
        for setting in state.settings:
            command = setting.command
            key = f"{command.title} {self._part_of(setting)}".rstrip()
            by = f"{command.title} at 0x{command.address:08x}, {setting}"
            shown += self._blocks_of(command, key, by, "")
        found = self.draws[state.place.draw] = DrawState(shown + below)
        if state.kind is DrawKind.PRIMITIVE:
            units = look.nodes.context.units
            found.kernels = {stage: units[stage].kernels for stage in look.nodes.model.stages
                             if stage in units and units[stage].kernels}
            found.vertices = self._vertices(look)

    def _part_of(self, setting: Setting) -> int | str:
        """The first part of the state that a command has in force."""
        if setting.parts:
            return setting.parts[0]
        body = setting.command.body
        if body not in self._parts:
            self._parts[body] = next(parts_of(body.name, body.view))
        return self._parts[body]

    def _vertices(self, look: Look) -> Stage | None:
        wanted = self._mesh_values < MESH_VALUES if self._full is None else look.state.place.draw in self._full
        if not wanted:
            return None
        follower = look.nodes.follower
        found = fetched_stage(follower, look.drawn, _topology(follower.context, look.drawn))
        if found is not None:
            self._mesh_values += len(found["rows"]) * len(found["columns"])
        return found

    def _blocks_of(self, node: Node, key: str, by: str, box: str) -> Iterator[Block]:
        """A node and all below it."""
        box = _box_of(node.role, node.title, box)
        if isinstance(node, Command | State):
            yield self._block(node, key, by, box, *self._described(node.body))
            if node.title in _SURFACES:
                self._surface(node)
        elif isinstance(node, Kernel):
            self._kernels.setdefault((node.code.code, node.address, node.role), node)
            block = self._block(node, key, by, box, self._shared(_kernel_fields(node.code, node.code.number)))
            self._kernel_blocks[block] = node.code
            yield block
        elif isinstance(node, Data):
            rows = tuple((str(i), row) for i, row in enumerate(node.rows[:_MOST_ROWS]))
            yield self._block(node, key, by, box, self._shared((("bytes", str(node.size)), *rows)))
        seen: dict[str, int] = {}
        for child in node.children:
            name = _title(child)
            seen[name] = seen.get(name, 0) + 1
            again = f" {seen[name]}" if seen[name] > 1 else ""
            yield from self._blocks_of(child, f"{key}/{name}{again}", by, box)

    def _block(self, node: Node, key: str, by: str, box: str, fields: Fields,
               flags: frozenset[str] = frozenset()) -> Block:
        """A block, which is the same object as long as nothing about it changes."""
        complaints = tuple(str(d) for d in node.diagnostics) if node.diagnostics else ()
        contents = key, node.address, by, id(fields), complaints  # `_texts` keeps the fields
        block = self._blocks.get(contents)
        if block is None:
            block = self._blocks[contents] = Block(key, _title(node), box, node.address, by, fields, flags, complaints)
        return block

    def _shared(self, fields: Fields) -> Fields:
        return self._texts.setdefault(fields, fields)

    def _described(self, body: Body) -> tuple[Fields, frozenset[str]]:
        known = self._fields.get(body)
        if known is None:
            fields = () if body.layout is None else self._shared(tuple(_fields(body.view, "")))
            flags = frozenset(_FLAGS[name] for name, text in fields if text == "true" and name in _FLAGS)
            known = self._fields[body] = fields, flags
        return known

    def _surface(self, node: Command | State) -> None:
        if node.body not in self._surfaces:
            self._surfaces[node.body] = _surface_use(dict(self._described(node.body)[0]))
        described = self._surfaces[node.body]
        if described is not None:
            use = self.surfaces.setdefault(described.address, described)
            if "texture" in node.role and not use.sampled:
                use.sampled = tuple(node.body.words)

    def number_kernels(self, numbers: Mapping[bytes, int]) -> None:
        """Give kernels their numbers in the trace, by code, instead of those in the order of execution."""
        for block, code in self._kernel_blocks.items():
            block.fields = self._shared(_kernel_fields(code, numbers.get(code.code, 0)))


_NO_STATE = DrawState()


def _kernel_fields(code: KernelCode, number: int) -> Fields:
    return ("kernel", str(number)), ("instructions", str(code.instructions))


def _surface_use(fields: dict[str, str]) -> SurfaceUse | None:
    try:
        address = int(fields["surface_base_address"], 16)
        width, height = int(fields["width"]), int(fields["height"])
    except (KeyError, ValueError):
        return None
    tiled = fields.get("tiled_surface") == "true"
    tiling = "linear" if not tiled else "y" if "Y" in fields.get("tile_walk", "").upper() else "x"
    return SurfaceUse(address, fields.get("surface_format", ""), width, height, int(fields.get("surface_pitch", 0)),
                      tiling)


def _title(node: Node) -> str:
    return f"{node.title} {node.role}" if node.role else node.title


@cache
def _box_of(role: str, title: str, inherited: str) -> str:
    for text in (role, title):
        for name, pattern in _BOX_PATTERNS:
            if text and pattern.search(text):
                return name
    return inherited or OTHER_BOX[0]


def _fields(view: View, prefix: str) -> Iterator[tuple[str, str]]:
    for f, raw in view.fields():
        if not isinstance(f, Mbz | Const) and f.name not in _UNINTERESTING:
            yield prefix + f.name, f.text(raw)
    for array in view.layout.arrays_for(view.gen):
        for i, item in enumerate(view.array(array)[:_MOST_ROWS]):
            yield from _fields(item, f"{prefix}[{i}] ")


def _topology(context: Context, draw: Command) -> str:
    view: View | None = draw.body.view
    if view is not None and "primitive_topology_type" not in view.layout.by_name(view.gen):  # from Gen8 on
        view = context.current.get("3DSTATE_VF_TOPOLOGY")
    if view is None:
        return ""
    return view.layout.field("primitive_topology_type", view.gen).text(view.raw("primitive_topology_type"))


def mesh_of(trace: Trace, draw: int, device: Device) -> Mesh | None:
    """The mesh of a draw that a device with `record_meshes` has executed last.  Decodes the trace up to the draw."""
    if device.numbers.kind is not DrawKind.PRIMITIVE:
        return None
    document = Document(trace, file=trace.path, container=trace.kind, device=trace.named_device, options=Options())
    before = None
    for item in document:
        if isinstance(item, Command) and item.draw == draw and document.decoder is not None:
            before = fetched_stage(document.decoder.follower, item, _topology(document.decoder.context, item))
            break
    return joined(before, executed_stages(device.mesh_records(), device.info.gen))
