"""The state of every draw, its kernels and its findings, from one pass of the decoder over a trace."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from functools import cache

from gen4emu.decode.document import Document
from gen4emu.decode.findings import Finding, findings
from gen4emu.decode.kernel_uses import KernelUse, KernelUses
from gen4emu.decode.nodes import Body, Command, Data, Item, Kernel, Node, Note, State, SubmissionStart
from gen4emu.decode.options import Options
from gen4emu.decode.state_parts import parts_of, sets_state
from gen4emu.device.device import Device
from gen4emu.device.place import DrawKind
from gen4emu.errors import DecodeError
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
class DecodedDraw:
    """A draw as the commands before it describe it."""

    frame: int
    submission: int
    blocks: list[Block]
    kernels: dict[str, tuple[int, ...]]  # numbers by stage; several: for different numbers of pixels a thread
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


@dataclass(slots=True)
class Decoded:
    """All draws of a trace, its kernels, and the rules that it breaks."""

    draws: list[DecodedDraw] = field(default_factory=list)
    kernels: list[KernelUse] = field(default_factory=list)
    surfaces: dict[int, SurfaceUse] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    groups: dict[int, str] = field(default_factory=dict)  # of captures with GL notes, by draw


class _Reader:
    """Makes blocks of commands, and remembers those that are in force."""

    def __init__(self, document: Document, full: Selection | None, shown: Container[int] | None) -> None:
        self.document, self._full, self._shown = document, full, shown
        self.found = Decoded()
        self._contexts: dict[int, dict[tuple[str, int | str], list[Block]]] = {}
        self._below: list[Block] = []  # what the last draw itself led to
        self._fields: dict[Body, tuple[Fields, frozenset[str]]] = {}
        self._parts: dict[Body, tuple[int | str, ...]] = {}
        self._uses = KernelUses(document)
        self._submission = 0
        self._mesh_values = 0

    def add(self, item: Item) -> None:
        if isinstance(item, SubmissionStart):
            self._submission = item.number
        elif isinstance(item, Note) and item.kind == "comment" and not self.found.draws:
            self.found.comments.append(item.text)
        elif isinstance(item, Command):
            self._uses.add(item)
            if item.draw is not None:
                self._draw(item)
            elif sets_state(item):
                self._setting(item)

    def end(self) -> Decoded:
        self.found.kernels = self._uses.found()
        self.found.groups = {draw: group.text for draw, group in self.document.gl.groups.items()}
        return self.found

    def _in_force(self) -> dict[tuple[str, int | str], list[Block]]:
        decoder = self.document.decoder
        return self._contexts.setdefault(0 if decoder is None else decoder.context.number, {})

    def _setting(self, command: Command) -> None:
        count = len(self.found.draws)
        when = f"after draw {count - 1}" if count else "before the first draw"
        by = f"{command.title} at 0x{command.address:08x}, submission {self._submission}, {when}"
        in_force = self._in_force()
        parts = self._parts_of(command.body)
        if parts:
            key = command.title + (f" {parts[0]}" if parts[0] != "" else "")
            blocks = list(self._blocks(command, key, by, ""))
            in_force.update({(command.title, part): blocks for part in parts})

    def _parts_of(self, body: Body) -> tuple[int | str, ...]:
        known = self._parts.get(body)
        if known is None:
            known = self._parts[body] = tuple(parts_of(body.name, body.view))
        return known

    def _draw(self, command: Command) -> None:
        by = f"the draw at 0x{command.address:08x}"
        own, *below = self._blocks(command, command.title, by, "")
        is_primitive = command.title == "3DPRIMITIVE"
        if not is_primitive:
            shown = [own, *below]
        else:
            # Tables and vertices that did not change are not repeated below the draw.
            kept = {block.key for block in below}
            has_tables = any(block.title == "BINDING_TABLE" for block in below)
            self._below = below + [block for block in self._below if block.key not in kept and not (
                has_tables and "BINDING_TABLE" in block.key)]
            settings = {id(blocks): blocks for blocks in self._in_force().values()}.values()
            shown = [own, *(block for blocks in settings for block in blocks), *self._below]
        self.found.draws.append(DecodedDraw(self.document.frames, self._submission, shown, self._kernels(command),
                                            self._vertices(command) if is_primitive else None))

    def _vertices(self, command: Command) -> Stage | None:
        number = len(self.found.draws)
        wanted = self._mesh_values < MESH_VALUES if self._full is None else number in self._full
        decoder = self.document.decoder
        if not wanted or decoder is None or (self._shown is not None and number not in self._shown):
            return None
        found = fetched_stage(decoder.follower, command, _topology(self.document, command))
        if found is not None:
            self._mesh_values += len(found["rows"]) * len(found["columns"])
        return found

    def _kernels(self, command: Command) -> dict[str, tuple[int, ...]]:
        decoder = self.document.decoder
        if decoder is None or command.title != "3DPRIMITIVE":
            return {}
        found = {}
        for stage in decoder.model.stages:
            unit = decoder.context.units.get(stage)
            if unit is not None and unit.kernels:
                found[stage] = tuple(self._uses.number_of(kernel) for kernel in unit.kernels)
        return found

    def _blocks(self, node: Node, key: str, by: str, box: str) -> Iterator[Block]:
        """A node and all below it."""
        box = _box_of(node.role, node.title, box)
        complaints = tuple(str(d) for d in node.diagnostics)
        if isinstance(node, Command | State):
            fields, flags = self._described(node.body)
            yield Block(key, _title(node), box, node.address, by, fields, flags, complaints)
            if node.title in _SURFACES:
                self._surface(node)
        elif isinstance(node, Kernel):
            fields = (("kernel", str(node.code.number)), ("instructions", str(node.code.instructions)))
            yield Block(key, _title(node), box, node.address, by, fields, frozenset(), complaints)
        elif isinstance(node, Data):
            rows = tuple((str(i), row) for i, row in enumerate(node.rows[:_MOST_ROWS]))
            yield Block(key, _title(node), box, node.address, by, (("bytes", str(node.size)), *rows), frozenset(),
                        complaints)
        seen: dict[str, int] = {}
        for child in node.children:
            name = _title(child)
            seen[name] = seen.get(name, 0) + 1
            again = f" {seen[name]}" if seen[name] > 1 else ""
            yield from self._blocks(child, f"{key}/{name}{again}", by, box)

    def _described(self, body: Body) -> tuple[Fields, frozenset[str]]:
        known = self._fields.get(body)
        if known is None:
            fields = () if body.layout is None else tuple(_fields(body.view, ""))
            flags = frozenset(_FLAGS[name] for name, text in fields if text == "true" and name in _FLAGS)
            known = self._fields[body] = fields, flags
        return known

    def _surface(self, node: Command | State) -> None:
        fields = dict(self._described(node.body)[0])
        try:
            address = int(fields["surface_base_address"], 16)
            width, height = int(fields["width"]), int(fields["height"])
        except (KeyError, ValueError):
            return
        tiled = fields.get("tiled_surface") == "true"
        tiling = "linear" if not tiled else "y" if "Y" in fields.get("tile_walk", "").upper() else "x"
        use = self.found.surfaces.setdefault(address, SurfaceUse(
            address, fields.get("surface_format", ""), width, height, int(fields.get("surface_pitch", 0)), tiling))
        if "texture" in node.role and not use.sampled:
            use.sampled = tuple(node.body.words)


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


def _topology(document: Document, command: Command) -> str:
    decoder = document.decoder
    view: View | None = command.body.view
    if view is not None and "primitive_topology_type" not in view.layout.by_name(view.gen):  # from Gen8 on
        view = None if decoder is None else decoder.context.current.get("3DSTATE_VF_TOPOLOGY")
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
            before = fetched_stage(document.decoder.follower, item, _topology(document, item))
            break
    return joined(before, executed_stages(device.mesh_records(), device.info.gen))


def decoded(trace: Trace, lint: bool = True, full: Selection | None = None, end: int | None = None,
            shown: Container[int] | None = None) -> Decoded:
    """Decode a trace up to its end, or to the place where it cannot be decoded any further.

    `full` selects the draws with meshes; without it, the first ones of those that are `shown` have them (None: all
    are).  `end` is the first draw that is not decoded.
    """
    document = Document(trace, file=trace.path, container=trace.kind, device=trace.named_device,
                        options=Options(repeat=True, lint=lint))
    reader = _Reader(document, full, shown)

    def watched() -> Iterator[Item]:
        for item in document:
            if end is not None and isinstance(item, Command) and item.draw is not None and item.draw >= end:
                break
            reader.add(item)
            yield item

    try:
        for finding in findings(watched(), document, trace.has_marks()):
            reader.found.findings.append(finding)
    except DecodeError as e:
        reader.found.comments.append(str(e))
    return reader.end()
