"""Why a pixel has its color: from the color back to constants, vertices, texels, and to what wrote their memory."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gen4emu.core_enums import OperandFile
from gen4emu.debugger.history import Change as PixelChange
from gen4emu.debugger.history import History, color_text
from gen4emu.debugger.memory_changes import Change
from gen4emu.debugger.model import Fate, Fragment, Origin, surface_address, surface_state
from gen4emu.debugger.provenance import (
    WHOLE,
    Element,
    Recorder,
    Recording,
    Step,
    channel_of,
    is_4x2,
    message_text,
)
from gen4emu.debugger.session import Session
from gen4emu.debugger.special_numbers import number_text
from gen4emu.device.device import Device
from gen4emu.device.memory import Missing, Unit
from gen4emu.errors import Gen4emuError
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen4.messages import UrbSwizzle
from gen4emu.hw.gen7.messages import UrbOpcodeGen7
from gen4emu.isa.message_text import sfid_name
from gen4emu.isa.registers import RegType

SCHEMA = "gen4emu.why/1"
MOST_NODES = 2_000
MOST_DEPTH = 200
_MOST_LEVELS = 3  # of textures that draws wrote
CHANNELS = ("red", "green", "blue", "alpha")
_COMPONENTS = "xyzw"
_CORNERS = ("second corner less first", "third corner less first", "unused", "first corner")
_PLANE = ("x slope", "y slope", "unused", "start value")
_SHOWN_BYTES = 16
_LEAST_FLOAT = 1 << 23
_LEAST_NORMAL = 2.0 ** -126
_PARAMETERS = re.compile(r"\(([a-z0-9_ -]+)\)")  # of a sampler message in words


@dataclass(slots=True)
class Node:
    """A value, and what it was made of."""

    kind: str  # pixel, color, before, instruction, constant, attribute, vertex, texel, message, payload, memory, ...
    text: str
    more: dict[str, Any] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    change: Change | None = None  # of memory

    def as_json(self) -> dict[str, Any]:
        found = {"kind": self.kind, "text": self.text, **self.more}
        if self.change is not None:
            found["written"] = self.change.as_json()
        return {**found, "children": [child.as_json() for child in self.children]}

    def lines(self, depth: int = MOST_DEPTH, indent: str = "") -> Iterator[str]:
        changed = f", {self.change.text}" if self.change is not None else ""
        cut = f" ... {len(self.children)} more below" if self.children and depth <= 0 else ""
        yield f"{indent}{self.text}{changed}{cut}"
        if depth > 0:
            for child in self.children:
                yield from child.lines(depth - 1, f"{indent}  ")

    def all(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.all()

    def pruned(self, depth: int) -> Node:
        """The tree down to a depth."""
        if depth <= 0 and self.children:
            return Node(self.kind, self.text, {**self.more, "cut": len(self.children)}, [], self.change)
        return Node(self.kind, self.text, self.more, [child.pruned(depth - 1) for child in self.children], self.change)


class _Builder:
    """Builds the tree of a fragment from the recorded threads of its draw."""

    def __init__(self, device: Device, recorder: Recorder, x: int, y: int,
                 corners: tuple[Origin | None, ...]) -> None:
        """`corners` are the vertices of the object."""
        self._corners = corners
        self._device, self._recorder, self._at = device, recorder, (x, y)
        self._gen = device.info.gen
        self._nodes = 0
        self._seen: dict[tuple[int, int, int, int], str] = {}
        self._shared: dict[tuple[Any, ...], str] = {}

    def node(self, kind: str, text: str, **more: Any) -> Node:
        self._nodes += 1
        return Node(kind, text, more)

    @property
    def is_full(self) -> bool:
        return self._nodes >= MOST_NODES

    # --- values of registers --------------------------------------------------------------------------------------
    def element(self, rec: Recording, element: Element, step: int, role: str = "", depth: int = MOST_DEPTH) -> Node:
        """An element of a register before a step."""
        writers, initial = rec.sources_of(element, step)
        element = self._as_written(rec, element, writers)
        value = rec.value(step, element)
        shown = element.name if value is None else f"{element.name} = {_value_text(element, value)}"
        label = f"{role} {shown}".lstrip()
        if self.is_full or depth <= 0:
            return self.node("limit", f"{label}: the tree ends here, at its limit of {MOST_NODES} nodes")
        if len(writers) == 1 and not initial:
            return self._written(rec, *writers[0], element, label, depth)
        if not writers:
            return self._payload(rec, element, label)
        found = self.node("value", f"{label}, of several parts", element=element.name)
        for number, channel in writers:
            found.children.append(self._written(rec, number, channel, element, "part", depth - 1))
        if initial:
            found.children.append(self._payload(rec, element, "part"))
        return found

    @staticmethod
    def _as_written(rec: Recording, element: Element, writers: list[tuple[int, int]]) -> Element:
        """A payload has numbers of the type with which they were written."""
        if len(writers) != 1 or element.type != RegType.F or writers[0][1] == WHOLE:
            return element
        written = rec.result(*writers[0])
        if written is None or written.size != element.size or written.file is not element.file:
            return element
        return Element(element.file, element.at, element.size, written.type)

    def _written(self, rec: Recording, number: int, channel: int, element: Element, label: str, depth: int) -> Node:
        """An element that an instruction has written in a channel, or the response of a message."""
        step = rec.steps[number]
        where = f"0x{step.address:08x} {' '.join(step.text.split())}"
        key = (rec.thread.serial, number, channel, element.at if channel == WHOLE else 0)
        more = {"address": step.address, "thread": rec.thread.name, "number": number}
        if key in self._seen:
            return self.node("again", f"{label} <- {where} (as above)", **more)
        self._seen[key] = where
        if channel == WHOLE:
            return self._message(rec, number, element, label, more, depth)
        found = self.node("instruction", f"{label} <- {where}", channel=step.channel(channel), **more)
        for role, operand in rec.operands(number, channel):
            if isinstance(operand, Element):
                found.children.append(self.element(rec, operand, number, role, depth - 1))
            else:
                found.children.append(self.node("immediate", f"{role} {number_text(operand)}", value=operand))
        return found

    # --- messages -------------------------------------------------------------------------------------------------
    def _message(self, rec: Recording, number: int, element: Element, label: str, more: dict[str, Any],
                 depth: int) -> Node:
        step = rec.steps[number]
        raw = step.raw
        found = self.node("message", f"{label} <- 0x{step.address:08x} {message_text(step, self._gen)}", **more)
        if element.file is OperandFile.MRF:  # the header that `send` moves
            at = int(raw.source[0].at[0]) // 32 * 32 + element.at % 32
            found.children.append(self.element(rec, Element(OperandFile.GRF, at, element.size, element.type), number,
                                               "moved from", depth - 1))
            return found
        register = (element.at - int(raw.destination.at[0]) // 32 * 32) // 32
        wide = raw.channels > 8
        channel = element.at % 32 // 4 + (8 * (register % 2) if wide else 0)
        component = register // 2 if wide else register
        if is_4x2(found.text):
            channel, component = element.at % 32 // 16 * 4, element.at % 16 // 4
        if sfid_name(int(raw.sfid), self._gen).startswith("sampler"):
            self._sampled(rec, number, found, channel, component, depth)
            return found
        for k in range(min(step.payload_registers, 8)):
            found.children.append(self.element(rec, self._payload_element(step, k, channel % 8), number,
                                               f"payload {k}", depth - 1))
        return found

    @staticmethod
    def _payload_element(step: Step, k: int, dword: int) -> Element:
        register = step.payload_register(k)
        return Element(register.file, register.at + 4 * dword, 4, int(RegType.F))

    def _sampled(self, rec: Recording, number: int, found: Node, channel: int, component: int, depth: int) -> None:
        step = rec.steps[number]
        raw = step.raw
        gen = self._device.info.gen
        index = int(block_named("SAMPLER_MESSAGE", gen).view((raw.descriptor,), gen=gen).binding_table_index)
        state = surface_state(self._device, rec.thread, index)
        address = surface_address(self._device, state)
        form = getattr(state.surface_format, "name", str(state.surface_format))
        found.text += (f", component {component} of surface {index} at 0x{address:08x} {form} "
                       f"{state.width}x{state.height}")
        found.more |= {"surface": address, "binding_table_index": index, "channel": channel}
        fields = block_named("SAMPLER_MESSAGE", self._gen).view((raw.descriptor,), gen=self._gen)
        header = bool(getattr(fields, "header_present", True)) if raw.grf_payload else True
        wide = 2 if raw.channels > 8 else 1
        first = 1 if header else 0
        named = _PARAMETERS.search(found.text)
        names = iter(named[1].split() if named is not None else ())
        narrow = is_4x2(found.text)
        for k in range(first * (4 if narrow else 1), step.payload_registers * (4 if narrow else 1), wide):
            place = (self._payload_element(step, k // 4, channel + k % 4) if narrow else
                     self._payload_element(step, k + (channel // 8 if wide == 2 else 0), channel % 8))
            found.children.append(self.element(rec, place, number, f"parameter {next(names, k)}", depth - 1))
        own = channel_of(rec.thread, *self._at)
        if not narrow and (own is None or (channel != own and channel != own % 8)):
            return
        for texel in step.texels:
            below = self._memory("texel", texel.address, texel.size,
                                 f"texel ({texel.x}, {texel.y}) of level {texel.level}, weight {texel.weight:.6g}")
            below.more |= {"x": texel.x, "y": texel.y, "level": texel.level, "weight": texel.weight,
                           "surface": address}
            found.children.append(below)
            if self.is_full:
                break

    # --- memory ---------------------------------------------------------------------------------------------------
    def _memory(self, kind: str, address: int, size: int, text: str) -> Node:
        data = self._device.memory.read(address, size, Missing.ZERO)
        shown = data[:_SHOWN_BYTES].hex(" ") + (" ..." if size > _SHOWN_BYTES else "")
        return self.node(kind, f"{text}: {shown} at 0x{address:08x}", memory=address, bytes=data.hex())

    # --- payloads -------------------------------------------------------------------------------------------------
    def _payload(self, rec: Recording, element: Element, label: str) -> Node:
        """An element with which a thread has started."""
        payload = rec.payload
        at = element.at
        if element.file is not OperandFile.GRF or payload is None:
            return self.node("payload", f"{label}: as at the start of {rec.thread.name}", thread=rec.thread.name)
        constant = payload.constant_address(at)
        if constant is not None:
            found = self.node("constant", f"{label}: push constant", thread=rec.thread.name, memory=constant)
            found.children.append(self._memory("memory", constant, element.size, "constant buffer"))
            return found
        row = payload.input_row(at)
        if row is not None:
            dword = at % 32 // 4
            if rec.thread.unit is Unit.WM:
                return self._attribute(rec, row, dword, label)
            if rec.thread.unit is Unit.SF:
                return self._setup_input(rec, row, dword, label)
            return self._vertex_input(rec, row, dword, label)
        return self.node("payload", f"{label}: from the fixed function that started {rec.thread.name}",
                         thread=rec.thread.name)

    def _again(self, key: tuple[Any, ...], label: str) -> Node | None:
        if key in self._shared:
            return self.node("again", f"{label}: {self._shared[key]} (as above)")
        return None

    def _attribute(self, rec: Recording, row: int, dword: int, label: str) -> Node:
        """A coefficient of an attribute of the object."""
        assert rec.payload is not None
        raw = rec.payload.raw
        if not raw.attributes:
            row += int(raw.input_offset)
            component = 2 * row + dword // 4
            text = f"attribute {component // 4} {_COMPONENTS[component % 4]}, {_PLANE[dword % 4]}"
            found = self.node("attribute", f"{label}: {text}", attribute=component // 4, component=component % 4)
            again = self._again(("setup", row, dword), label)
            if again is not None:
                return again
            self._shared["setup", row, dword] = text
            if self._recorder.setup is not None and not raw.transposed:
                found.children += self._entry(self._recorder.setup, 8 * row + dword, 0)
            return found
        number = (8 * row + dword) // 16
        component = dword // 4 + 2 * (row % 2)
        text = f"attribute {number} {_COMPONENTS[component]}, {_CORNERS[dword % 4]}"
        again = self._again(("attribute", number, component, dword % 4), label)
        if again is not None:
            return again
        self._shared["attribute", number, component, dword % 4] = text
        found = self.node("attribute", f"{label}: {text}", attribute=number, component=component)
        if number >= raw.attributes or raw.attribute_replaced[number] >> component & 1:
            found.text += ", a constant of 3DSTATE_SBE"
            return found
        place = 4 * int(raw.attribute_slot[number]) + component
        corners = self._corners
        if raw.attribute_flat[number]:
            wanted = list(range(len(corners)))[:3]
            found.text += ", of the provoking vertex"
        else:
            wanted = [0] if dword % 4 == 3 else [0, dword % 4 + 1]
        for corner in wanted:
            if corner < len(corners):
                found.children.append(self.vertex(corners[corner], place, f"corner {corner}"))
        return found

    def _setup_input(self, rec: Recording, row: int, dword: int, label: str) -> Node:
        assert rec.payload is not None
        rows = int(rec.payload.raw.input_rows)
        corner, inside = divmod(row, rows)
        place = 8 * (inside + int(rec.payload.raw.input_offset)) + dword
        if corner >= len(rec.thread.vertices):
            return self.node("payload", f"{label}: beyond the vertices of {rec.thread.name}")
        return self.vertex(rec.thread.vertices[corner], place, f"{label}: corner {corner}")

    # --- vertices -------------------------------------------------------------------------------------------------
    def vertex(self, origin: Origin | None, dword: int, label: str) -> Node:
        """A dword of a vertex in the URB."""
        what = f"dword {dword} (slot {dword // 4} {_COMPONENTS[dword % 4]})"
        if origin is None:
            return self.node("vertex", f"{label}: {what} of a vertex of unknown origin")
        key = ("vertex", origin, dword)
        again = self._again(key, label)
        if again is not None:
            return again
        if origin.unit is not Unit.VF:
            text = f"{what} of vertex {origin.output} of {origin.unit.name.lower()} thread {origin.thread}"
            self._shared[key] = text
            found = self.node("vertex", f"{label}: {text}")
            if origin.unit is Unit.CLIP:
                found.text += ", between these"
                for i, vertex in enumerate(origin.inputs):
                    found.children.append(self.vertex(vertex, dword, f"input {i}"))
            return found
        text = f"{what} of vertex {origin.index}"
        self._shared[key] = text
        found = self.node("vertex", f"{label}: {text}", index=origin.index, instance=origin.instance, dword=dword)
        for rec in self._recorder.vertices:
            for half, vertex in enumerate(rec.thread.vertices):
                if vertex is not None and (vertex.unit, vertex.index, vertex.instance) == (
                        Unit.VF, origin.index, origin.instance):
                    found.children += self._entry(rec, dword, half)
                    return found
        found.children += self._fetched(origin.index, origin.instance, dword)
        return found

    def _entry(self, rec: Recording, dword: int, half: int) -> list[Node]:
        """A dword of the URB entry that a thread has written."""
        for number in range(len(rec.steps) - 1, -1, -1):
            step = rec.steps[number]
            if step.is_message and sfid_name(int(step.raw.sfid), self._gen) == "urb":
                place = self._written_from(step, dword, half)
                if place is not None:
                    return [self.element(rec, place, number, rec.thread.name)]
        if not rec.complete:
            return [self.node("limit", f"{rec.thread.name} executes more instructions than are recorded")]
        if rec.thread.unit is Unit.VS:  # in place: what no message writes stays as it was fetched
            vertex = rec.thread.vertices[half]
            return self._fetched(vertex.index, vertex.instance, dword) if vertex is not None else []
        return []

    def _written_from(self, step: Step, dword: int, half: int) -> Element | None:
        """The register of a URB write that a dword of the entry comes from.

        `half` is the number of the entry's vertex in the thread: of two, or of eight, each in a channel.
        """
        fields = block_named("URB_MESSAGE", self._gen).view((step.raw.descriptor,), gen=self._gen)
        registers = step.payload_registers - 1
        offset = int(fields.offset)
        if step.raw.grf_payload and fields.urb_opcode == UrbOpcodeGen7.SIMD8_WRITE:
            more = int(fields.per_slot_offset) + int(fields.channel_mask_present)
            register = dword - 4 * offset
            if fields.per_slot_offset or not 0 <= register < registers - more:
                return None
            return self._payload_element(step, 1 + more + register, half)
        if step.raw.grf_payload:
            if int(fields.urb_opcode) > 1 or fields.per_slot_offset:
                return None
            unit = 1 if int(fields.urb_opcode) == 1 else 2
            slot = dword // 4 - unit * offset
            if fields.interleave:
                register, at = slot, 4 * half + dword % 4
            else:
                register, at = slot // 2, 4 * (slot % 2) + dword % 4
        elif fields.swizzle_control == UrbSwizzle.INTERLEAVED:
            register, at = dword // 4 - 2 * offset, 4 * half + dword % 4
        elif fields.swizzle_control == UrbSwizzle.TRANSPOSE:
            row = dword // 8 - offset
            part = (0, 1, -1, 2)[dword % 4]
            if part < 0 or row < 0:
                return None
            register, at = 3 * (row // 4) + part, 2 * (row % 4) + dword % 8 // 4
        else:
            register, at = dword // 8 - offset, dword % 8
        if not 0 <= register < registers:
            return None
        return self._payload_element(step, register + 1, at)

    def _vertex_input(self, rec: Recording, row: int, dword: int, label: str) -> Node:
        assert rec.payload is not None
        first = 8 * int(rec.payload.raw.input_offset)
        place, half = (first + 4 * row + dword % 4, dword // 4) if rec.payload.raw.pairs else (first + row, dword)
        vertices = rec.thread.vertices
        vertex = vertices[half] if half < len(vertices) else None
        if vertex is None:
            return self.node("payload", f"{label}: not of a vertex")
        found = self.node("fetched", f"{label}: dword {place} of vertex {vertex.index} as it was fetched",
                          index=vertex.index, dword=place)
        found.children += self._fetched(vertex.index, vertex.instance, place)
        return found

    def _fetched(self, index: int, instance: int, dword: int) -> list[Node]:
        source = self._recorder.vertex_memory.get((index, instance, dword))
        if source is None:
            return []
        text = f"vertex element {source.element}, component {source.component}"
        if not source.size:
            return [self.node("vertex element", f"{text}: a constant, or a number of the vertex",
                              element=source.element)]
        return [self._memory("memory", source.address, source.size, f"{text} of vertex {index}, in its vertex buffer")]


def _value_text(element: Element, value: float | int) -> str:
    """Large dwords are mostly floats that a kernel moves as they are, and tiny floats are integers."""
    if element.type == RegType.UD and isinstance(value, int) and value >= _LEAST_FLOAT:
        (real,) = struct.unpack("<f", struct.pack("<I", value))
        return f"0x{value:08x} ({real:.9g} as a float)"
    if element.type == RegType.F and isinstance(value, float) and 0 < abs(value) < _LEAST_NORMAL:
        (bits,) = struct.unpack("<i", struct.pack("<f", value))
        return f"{bits} ({number_text(value)} as a float)"
    return number_text(value)


def _earlier(history: History, fragment: Fragment) -> str:
    """The last write to the pixel before a fragment."""
    entries = [e for e in history.entries if history.target_of(e) == fragment.target]
    before = [e for e in entries[:entries.index(fragment)] if isinstance(e, PixelChange) or e.fate is Fate.WRITTEN]
    if not before:
        return "no fragment wrote it"
    last = before[-1]
    if isinstance(last, PixelChange):
        return f"changed by draw {last.place.draw}, without a fragment"
    return f"written by draw {last.place.draw}, object {last.object}"


def why(session: Session, history: History, target: int | None = None, channels: tuple[int, ...] = (0, 1, 2, 3),
        levels: int = _MOST_LEVELS) -> Node:
    """The tree of the color that a pixel has, from the fragment that was written last.

    Texels that a draw wrote have the tree of their pixel below them, so many times.
    """
    entries = [e for e in history.entries if (isinstance(e, PixelChange) or e.fate is Fate.WRITTEN)
               and (target is None or e.target == target)]
    root = Node("pixel", f"pixel {history.x},{history.y}: {history.verdict(target)}",
                {"pixel": [history.x, history.y]})
    if not entries:
        return root
    last = entries[-1]
    if isinstance(last, PixelChange):
        root.children.append(Node("blit", f"{last.place.text}: changed {color_text(last.before)} -> "
                                  f"{color_text(last.after)} without a fragment", {"draw": last.place.draw}))
        return root
    root.more |= {"draw": last.place.draw, "object": last.object, "target": last.target}
    root.children.append(_fragment(session, history, last, channels))
    _annotate(session, root, last.place.draw)
    if levels > 0:
        _follow(session, root, last.place.draw, channels, levels - 1)
    return root


def _follow(session: Session, root: Node, draw: int, channels: tuple[int, ...], levels: int) -> None:
    """Where a draw wrote the texel with the largest weight, its pixel's tree goes below it."""
    drawn = [node for node in root.all() if node.kind == "texel" and node.change is not None
             and node.change.by_draw and node.more["level"] == 0]
    if not drawn:
        return
    texel = max(drawn, key=lambda node: float(node.more["weight"]))
    assert texel.change is not None
    assert texel.change.place is not None
    history = session.history(int(texel.more["x"]), int(texel.more["y"]), texel.change.place)
    surface = int(texel.more["surface"])
    if surface in history.targets() and texel.change.place.draw < draw:
        texel.children.append(why(session, history, surface, channels, levels))


def _fragment(session: Session, history: History, fragment: Fragment, channels: tuple[int, ...]) -> Node:
    of = history.object_of(fragment)
    recorder: Recorder | None = None

    def attach(device: Device) -> None:
        nonlocal recorder
        recorder = Recorder(device, fragment.place.draw, history.x, history.y, fragment,
                            set(_indices(of.corners)) if of is not None else set())

    found = Node("fragment", f"{fragment.place.text}, object {fragment.object}: the shader sent "
                 f"({', '.join(f'{v:.6g}' for v in fragment.sent)}), the pixel became {color_text(fragment.after)}",
                 {"draw": fragment.place.draw, "object": fragment.object})
    with session.at_end_of(fragment.place.draw, attach) as device:
        assert recorder is not None
        pixel = recorder.pixel
        if pixel is None or pixel.color is None:
            at_limit = pixel is not None and not pixel.complete
            found.children.append(Node("limit", "the thread executes more instructions than are recorded" if at_limit
                                       else "the thread of this fragment was not seen again"))
            return found
        if pixel.blends:
            found.children.append(Node("before", f"blended or combined with the pixel before, "
                                       f"{color_text(fragment.before)}: {_earlier(history, fragment)}"))
        builder = _Builder(device, recorder, history.x, history.y, of.corners if of is not None else ())
        number, elements = pixel.color
        for c in channels:
            element = elements[c]
            if element is not None:
                found.children.append(builder.element(pixel, element, number, CHANNELS[c]))
    return found


def _indices(corners: tuple[Origin | None, ...]) -> Iterator[int]:
    for corner in corners:
        if corner is None:
            continue
        if corner.unit is Unit.VF:
            yield corner.index
        yield from _indices(corner.inputs)


def _annotate(session: Session, root: Node, draw: int) -> None:
    """Find out what wrote the memory of the leaves."""
    leaves = [node for node in root.all() if "bytes" in node.more]
    ranges = {(int(node.more["memory"]), len(node.more["bytes"]) // 2) for node in leaves}
    if not ranges:
        return
    changes = session.watch_memory(ranges, draw)
    for node in leaves:
        node.change = changes.get((int(node.more["memory"]), len(node.more["bytes"]) // 2))


def parse_channel(text: str) -> tuple[int, ...]:
    """One of `red`, `green`, `blue`, `alpha`, or its first letter."""
    for number, name in enumerate(CHANNELS):
        if text in (name, name[0]):
            return (number,)
    raise Gen4emuError(f"unknown channel {text!r} (known: {', '.join(CHANNELS)})")
