"""A summary of a trace: memory map, commands by kind, draws, surfaces, kernels (`gen4emu info`).

Collected from the stream of nodes; nothing here decodes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gen4emu.decode.json_text import counted
from gen4emu.decode.nodes import (
    Command,
    Data,
    Item,
    Kernel,
    Node,
    Note,
    Registers,
    State,
    SubmissionStart,
    Tally,
    TraceStart,
)
from gen4emu.hw.gen4.surface import buffer_entries
from gen4emu.hw.layout import View
from gen4emu.hw.page_tables import ADDRESS_MASK

_SURFACES = ("SURFACE_STATE", "RENDER_SURFACE_STATE")
_NULL = 7  # a surface type
_ENTRIES = re.compile(r"buffer_entries_(\d+)_(\d+)$")
DRAW_KINDS = ("draws", "blits", "media_objects")


@dataclass(slots=True, frozen=True)
class Surface:
    """One surface as some SURFACE_STATE or command describes it."""

    address: int
    what: str  # "render target", "texture", "surface", "depth buffer", "blit destination", "blit source"
    kind: str
    format: str
    size: str
    pitch_bytes: int
    tiling: str


@dataclass(slots=True, frozen=True)
class Stretch:
    """A range of memory that the trace wrote, and its name in the container."""

    start: int
    end: int
    kind: str


@dataclass(slots=True)
class Summary:
    """Everything that `gen4emu info` shows."""

    trace: TraceStart | None = None
    tally: Tally = field(default_factory=Tally)
    submissions: list[dict[str, Any]] = field(default_factory=list)
    frames: int | None = None  # that the trace marks; None if it marks none, and each submission is a frame
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DRAW_KINDS, 0))
    topologies: Counter[str] = field(default_factory=Counter)  # of the draws
    vertices: int = 0
    surfaces: dict[Surface, int] = field(default_factory=dict)
    kernels: dict[int, dict[str, Any]] = field(default_factory=dict)
    topology: str = ""  # Gen8 on: of the draws that follow
    problems: list[str] = field(default_factory=list)
    registers: Registers | None = None


def summarize(items: Iterable[Item]) -> Summary:
    summary = Summary()
    frame = 0
    for item in items:
        counted(summary.tally, item)
        if isinstance(item, Command):
            _command(summary, item)
        elif isinstance(item, TraceStart):
            summary.trace = item
        elif isinstance(item, SubmissionStart):
            summary.submissions.append({
                "number": item.number, "frame": frame, "engine": item.engine, "ring_address": item.ring_address,
                "ring_bytes": item.ring_bytes, "hung": item.hung, "commands": 0, **dict.fromkeys(DRAW_KINDS, 0)})
        elif isinstance(item, Note) and item.frame is not None:
            frame = summary.frames = item.frame + 1
        elif isinstance(item, Registers):
            summary.registers = item
    if summary.frames is None:
        for submission in summary.submissions:
            submission["frame"] = submission["number"]
    return summary


def _command(summary: Summary, node: Command) -> None:
    name = node.body.name
    current = summary.submissions[-1] if summary.submissions else None
    if current is not None:
        current["commands"] += node.repeat
    if node.draw is not None:
        kind = "draws" if name == "3DPRIMITIVE" else "blits" if "BLT" in name else "media_objects"
        for counts in (summary.counts, current):
            if counts is not None:
                counts[kind] += 1
    if name == "3DPRIMITIVE":
        view = node.body.view
        own = view.text("primitive_topology_type") if _has(view, "primitive_topology_type") else "unknown"
        summary.topologies[summary.topology or own] += 1
        if not (_has(view, "indirect_parameter_enable") and view.indirect_parameter_enable):
            summary.vertices += int(view.vertex_count_per_instance) * int(view.instance_count)
    elif name == "3DSTATE_VF_TOPOLOGY":
        summary.topology = node.body.view.text("primitive_topology_type")
    elif name == "3DSTATE_DEPTH_BUFFER" and node.body.view.raw("surface_type") != _NULL:
        _count(summary, _depth(node.body.view))
    elif "BLT" in name and node.body.layout is not None:
        for child in node.children:
            if isinstance(child, Data):
                _count(summary, _operand(child.values[0]))
    for child in node.walk() if node.children else ():
        _child(summary, child)


def _child(summary: Summary, node: Node) -> None:
    if isinstance(node, Kernel):
        entry = summary.kernels.setdefault(node.code.number, {
            "number": node.code.number, "instructions": node.code.instructions, "bytes": node.size,
            "complete": node.code.complete, "addresses": [], "stages": []})
        if node.address not in entry["addresses"] and len(entry["addresses"]) < 64:
            entry["addresses"].append(node.address)
        if node.role not in entry["stages"] and len(entry["stages"]) < 64:
            entry["stages"].append(node.role)
    elif isinstance(node, State) and node.body.name in _SURFACES:
        _count(summary, _surface(node.body.view, node.role))


def _count(summary: Summary, surface: Surface) -> None:
    if surface in summary.surfaces or len(summary.surfaces) < 65536:
        summary.surfaces[surface] = summary.surfaces.get(surface, 0) + 1


def _has(view: View, name: str) -> bool:
    return name in view.layout.by_name(view.gen)


def _tiling(view: View) -> str:
    """Gen4 to Gen7.5 have a flag and a walk, Gen8 and later a mode; their depth buffers are tiled in Y."""
    if _has(view, "tile_mode"):
        return {"LINEAR": "linear", "XMAJOR": "X", "YMAJOR": "Y", "WMAJOR": "W"}.get(
            view.text("tile_mode"), view.text("tile_mode"))
    if not _has(view, "tiled_surface"):
        return "Y"
    if not view.tiled_surface:
        return "linear"
    return "Y" if view.raw("tile_walk") else "X"


def _entries(view: View) -> int:
    """The number of entries of a buffer, which is spread over several fields."""
    last = 0
    for f, raw in view.fields():
        found = _ENTRIES.match(f.name)
        if found is not None:
            last |= raw << int(found[2])
    return last + 1 if _has(view, "buffer_entries_6_0") else buffer_entries(view)


def _surface(view: View, role: str) -> Surface:
    kind = view.text("surface_type").removeprefix("SURFTYPE_")
    what = next((w for w in ("render target", "texture") if w in role), "surface")
    if kind in ("BUFFER", "STRBUF"):
        size = f"{_entries(view)} entries"
    elif kind == "NULL":
        size = "-"
    else:
        size = f"{view.width}x{view.height}" + (f"x{view.depth}" if view.depth > 1 else "")
    address = 0 if kind == "NULL" else int(view.surface_base_address) & ADDRESS_MASK
    return Surface(address, what, kind, view.text("surface_format"), size, int(view.surface_pitch), _tiling(view))


def _depth(view: View) -> Surface:
    kind = view.text("surface_type").removeprefix("SURFTYPE_")
    return Surface(int(view.surface_base_address) & ADDRESS_MASK, "depth buffer", kind,
                   view.text("surface_format"), f"{view.width}x{view.height}", int(view.surface_pitch),
                   _tiling(view))


def _operand(o: dict[str, Any]) -> Surface:
    return Surface(o["address"], f"blit {o['side']}", "2D", o["depth"], f"{o['width']}x{o['height']}",
                   o["pitch_bytes"], o["tiling"])


def joined(ranges: Iterable[tuple[int, int, str]]) -> list[Stretch]:
    """Written ranges by address; neighbours and repetitions of one kind made one."""
    out: list[Stretch] = []
    for start, end, kind in sorted(set(ranges)):
        last = out[-1] if out else None
        if last is not None and last.kind == kind and start <= last.end:
            out[-1] = Stretch(last.start, max(last.end, end), kind)
        else:
            out.append(Stretch(start, end, kind))
    return out
