"""The core's debugger events as values: threads, vertices, objects, fragments (native/debugger)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from gen4emu._native import ffi, lib
from gen4emu.device.device import Device
from gen4emu.device.memory import Missing, Unit
from gen4emu.device.observer import NONE
from gen4emu.device.place import Place
from gen4emu.hw.catalogue import block_named, surface_state_of
from gen4emu.hw.formats import Encoding, FormatInfo, SurfaceFormat, format_info
from gen4emu.hw.gen4.pipeline import DepthFormat
from gen4emu.hw.layout import View
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.image.texels import decode

STAGES = {Unit.VS: "vs", Unit.GS: "gs", Unit.CLIP: "clip", Unit.SF: "sf", Unit.WM: "wm", Unit.TS: "media",
          Unit.HS: "hs", Unit.DS: "ds"}
UNITS = {name: unit for unit, name in STAGES.items()}


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a vertex: fetched (and shaded), or emitted by a GS or CLIP thread."""

    unit: Unit
    thread: int | None  # of VS, GS or CLIP; None: unshaded
    output: int  # index among the thread's vertices; VF: the sequence number
    index: int
    vertex_id: int
    instance: int
    primitive_id: int
    inputs: tuple[Origin | None, ...]  # the object of a GS or CLIP thread

    def as_json(self) -> dict[str, Any]:
        if self.unit is Unit.VF:
            return {"unit": "vf", "sequence": self.output, "vs_thread": self.thread, "index": self.index,
                    "vertex_id": self.vertex_id, "instance": self.instance, "primitive_id": self.primitive_id}
        return {"unit": STAGES[self.unit], "thread": self.thread, "output": self.output,
                "object": [i.as_json() if i is not None else None for i in self.inputs]}


def origin_of(event: Any, number: int, depth: int = 4) -> Origin | None:
    """The origin with a number, with its inputs down to a limited depth."""
    if number >= event.origins or depth == 0:
        return None
    raw = event.origin[number]
    thread = None if raw.thread == NONE else int(raw.thread)
    inputs = tuple(origin_of(event, raw.input[i], depth - 1) for i in range(min(raw.inputs, lib.G4_DEBUG_INPUTS)))
    return Origin(Unit(raw.unit), thread, raw.output, raw.index, raw.id, raw.instance, raw.primitive_id, inputs)


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as the unit that started it knows it."""

    serial: int
    unit: Unit
    number: int
    kernel: int
    general_state_base: int
    surface_state_base: int
    binding_table: int
    euid: int
    tid: int
    fftid: int
    object: int | None
    in_object: int
    subspans: tuple[tuple[int, int], ...]
    vertices: tuple[Origin | None, ...]
    flagged: bool

    @property
    def name(self) -> str:
        return f"{STAGES[self.unit]} thread {self.number}"

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"stage": STAGES[self.unit], "number": self.number, "kernel": self.kernel,
                                 "euid": self.euid, "tid": self.tid, "fftid": self.fftid, "flagged": self.flagged}
        if self.object is not None:
            found["object"] = self.object
        if self.unit is Unit.WM:
            found |= {"in_object": self.in_object, "subspans": [list(s) for s in self.subspans]}
        elif self.unit is not Unit.TS:
            found["vertices"] = [v.as_json() if v is not None else None for v in self.vertices]
        return found


def thread_of(event: Any) -> Thread:
    raw = event.thread
    return Thread(
        raw.serial, Unit(raw.unit), raw.number, raw.kernel, raw.general_state_base, raw.surface_state_base,
        raw.binding_table, raw.euid, raw.tid, raw.fftid, None if raw.object == NONE else int(raw.object),
        raw.in_object, tuple((int(raw.x[i]), int(raw.y[i])) for i in range(raw.subspans)),
        tuple(origin_of(event, raw.vertex[i]) for i in range(raw.vertices)), bool(raw.flagged))


@dataclass(frozen=True, slots=True)
class Object:
    """An object as SF sets it up."""

    place: Place
    number: int
    topology: PrimitiveTopology | int
    thread: Thread | None  # of SF; None: from Gen6 on, the fixed function does it
    corners: tuple[Origin | None, ...]
    positions: tuple[tuple[float, float, float, float], ...]
    back_facing: bool
    bounds: tuple[int, int, int, int]  # pixels, inclusive

    def as_json(self) -> dict[str, Any]:
        return {"number": self.number, "topology": _name(self.topology),
                "sf_thread": self.thread.as_json() if self.thread is not None else None,
                "vertices": [{"position": list(p), "origin": c.as_json() if c is not None else None}
                             for p, c in zip(self.positions, self.corners, strict=True)],
                "back_facing": self.back_facing, "bounds": list(self.bounds)}


def object_of(device: Device, event: Any) -> Object:
    corners = range(event.corners)
    topology = PrimitiveTopology(event.topology) if event.topology in set(PrimitiveTopology) else int(event.topology)
    return Object(
        device.place, event.object, topology, thread_of(event) if event.thread.serial else None,
        tuple(origin_of(event, event.corner[i]) for i in corners),
        tuple((event.position[i][0], event.position[i][1], event.position[i][2], event.position[i][3])
              for i in corners),
        bool(event.back_facing), (event.x_min, event.y_min, event.x_max, event.y_max))


class Fate(Enum):
    """The fate of a fragment; the value is its text in reports."""

    STIPPLED = "left out by the stipple pattern"
    EARLY_STENCIL = "failed the stencil test before the shader"
    EARLY_DEPTH = "failed the depth test before the shader"
    DEPTH_ONLY = "passed the depth test; no shader runs"
    KILLED = "killed by the shader"
    ALPHA = "failed the alpha test"
    STENCIL = "failed the stencil test"
    DEPTH = "failed the depth test"
    OUTSIDE = "lies outside of the render target"
    NO_COLOR = "passed; no color is written"
    WRITTEN = "written"


_FATES = {getattr(lib, f"G4_FATE_{fate.name}"): fate for fate in Fate}


@dataclass(frozen=True, slots=True)
class DepthStencil:
    """A pixel of the depth buffer."""

    depth: float
    raw: int
    stencil: int | None

    def __str__(self) -> str:
        text = f"{self.depth:.7g} (0x{self.raw:06x})"
        return text if self.stencil is None else f"{text}, stencil {self.stencil}"


def _depth_stencil(form: int, raw: Any) -> DepthStencil:
    if form in (DepthFormat.D32_FLOAT, DepthFormat.D32_FLOAT_S8X24_UINT):
        (value,) = struct.unpack("<f", struct.pack("<I", raw[0]))
        return DepthStencil(value, raw[0], raw[1] & 0xFF if form == DepthFormat.D32_FLOAT_S8X24_UINT else None)
    if form == DepthFormat.D16_UNORM:
        return DepthStencil(raw[0] / 0xFFFF, raw[0], None)
    stencil = raw[0] >> 24 if form == DepthFormat.D24_UNORM_S8_UINT else None
    return DepthStencil((raw[0] & 0xFFFFFF) / 0xFFFFFF, raw[0] & 0xFFFFFF, stencil)


Color = dict[str, float]


@dataclass(frozen=True, slots=True)
class Fragment:
    """The effect of an object on a pixel, if any."""

    place: Place
    fate: Fate
    object: int
    back_facing: bool
    z: float
    depth_before: DepthStencil | None
    depth_after: DepthStencil | None
    thread: Thread | None  # None: none ran
    target: int | None  # address of the surface
    format: str
    sent: tuple[float, ...]  # by the shader: red, green, blue, alpha
    before: Color
    after: Color

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {**self.place.as_json(), "object": self.object, "fate": self.fate.name.lower(),
                                 "z": self.z, "back_facing": self.back_facing}
        for name, depth in (("depth_before", self.depth_before), ("depth_after", self.depth_after)):
            if depth is not None:
                found[name] = {"depth": depth.depth, "raw": depth.raw, "stencil": depth.stencil}
        if self.thread is not None:
            found["thread"] = self.thread.as_json()
        if self.target is not None:
            found |= {"target": self.target, "format": self.format, "sent": list(self.sent), "before": self.before,
                      "after": self.after}
        return found


def fragment_of(device: Device, event: Any) -> Fragment:
    raw = event.fragment
    thread = thread_of(event) if raw.has_thread else None
    depths = (_depth_stencil(raw.depth_format, raw.depth_before), _depth_stencil(raw.depth_format, raw.depth_after))
    before, after = depths if raw.tested else (None, None)
    target: int | None = None
    name = ""
    sent: tuple[float, ...] = ()
    colors: tuple[Color, Color] = {}, {}
    if thread is not None:
        target = int(raw.base)
        info = _format(device, thread, raw.target)
        name = info.name if info is not None else "unknown format"
        sent = _sent(raw, info)
        if info is not None and info.encoding is Encoding.PLAIN and info.palette is None:
            colors = (_color(bytes(raw.before), info), _color(bytes(raw.after), info))
    return Fragment(device.place, _FATES[raw.fate], raw.object, bool(raw.back_facing), raw.z, before, after, thread,
                    target, name, sent, *colors)


def _format(device: Device, thread: Thread, index: int) -> FormatInfo | None:
    """The format of a surface by its binding table index."""
    form = int(surface_state(device, thread, index).surface_format)
    return format_info(SurfaceFormat(form)) if form in set(SurfaceFormat) else None


def surface_state(device: Device, thread: Thread, index: int) -> View:
    """The SURFACE_STATE at an index of the thread's binding table."""
    memory, gen = device.memory, device.info.gen
    layout = surface_state_of(gen)
    size = layout.size(gen)
    at = thread.binding_table + 4 * index & memory.size - 1
    entry = block_named("BINDING_TABLE_STATE", gen).view(struct.unpack("<I", memory.read(at, 4, Missing.ZERO)), gen=gen)
    at = thread.surface_state_base + int(entry.surface_state_pointer) & memory.size - 1
    return layout.view(struct.unpack(f"<{size}I", memory.read(at, 4 * size, Missing.ZERO)), gen=gen)


def surface_address(device: Device, surface: View) -> int:
    """Where a surface begins; the state of Gen8 and later repeats bit 47 above it."""
    return int(surface.surface_base_address) & device.memory.size - 1



def _sent(raw: Any, info: FormatInfo | None) -> tuple[float, ...]:
    kind = "i" if info is not None and info.name.endswith("_SINT") else (
        "I" if info is not None and info.name.endswith("_UINT") else "f")
    return struct.unpack(f"<4{kind}", bytes(ffi.buffer(raw.color)))


def _color(data: bytes, info: FormatInfo) -> Color:
    channels = decode(data[:info.block_bits // 8], info, 1, 1)
    return {name: values[0, 0].item() if isinstance(values[0, 0], np.generic) else float(values[0, 0])
            for name, values in channels.items()}


def _name(value: PrimitiveTopology | int) -> str:
    return value.name if isinstance(value, PrimitiveTopology) else f"topology {value}"
