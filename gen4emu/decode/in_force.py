"""The state in force at a draw: everything that it executes with, and the commands that set it (docs/json.md).

    tracker = StateTracker(device)               # listens to the command streamers; costs nothing before
    tracker.before_draw = lambda: print(tracker.in_force().text())

State blocks are read from the device's memory at the moment of the call, as the GPU may have written them.  Pointers
are those that the device resolved when their command arrived.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from gen4emu._native import ffi
from gen4emu.decode import gen4
from gen4emu.decode.blits import YTiled
from gen4emu.decode.compiled import complaints_of, words_of
from gen4emu.decode.fieldtext import PLAIN, Theme
from gen4emu.decode.json_text import JsonRenderer
from gen4emu.decode.kernels import Kernels
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.model import Model
from gen4emu.decode.models import model_of
from gen4emu.decode.nodes import Body, Command, Data, Node, State
from gen4emu.decode.options import Options
from gen4emu.decode.pointers import PointerFollower, diagnose
from gen4emu.decode.text import TextRenderer
from gen4emu.device.command_streamer import REGISTER_LOADS, CommandListener, CommandStreamer
from gen4emu.device.device import Device
from gen4emu.device.executed import Executed
from gen4emu.device.place import DrawKind, Place
from gen4emu.hw import catalogue
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Client
from gen4emu.trace.events import Engine

Part = tuple[str, int | str]  # a command, and one part of the state that it sets
Parts = dict[Part, Executed]
# The number of commands, those of the blitter, and by engine those in force and those of its saved contexts.
Kept = tuple[int, dict[int | str, Executed], dict[Engine, tuple[Parts, dict[int, Parts]]]]

_BASES = {
    "general_state_base_address": "general_state_base", "surface_state_base_address": "surface_state_base",
    "indirect_object_base_address": "indirect_object_base", "general_state_access_upper_bound": "general_state_bound",
    "indirect_object_access_upper_bound": "indirect_object_bound",
}  # fields of STATE_BASE_ADDRESS, and the parts of the state that they set
_FENCES = ("vs", "gs", "clip", "sf", "vfe", "cs")
_NO_STATE = frozenset({"PIPE_CONTROL", "STATE_PREFETCH", "MI_LOAD_REGISTER_IMM"})
_UNITS = {"vs": "VS_STATE", "gs": "GS_STATE", "clip": "CLIP_STATE", "sf": "SF_STATE", "ps": "WM_STATE",
          "cc": "COLOR_CALC_STATE"}
_RAW_UNITS = {"ps": "wm_state", "cc": "cc_state"}  # the core's names of their pointers; others are named like the stage
_USES_SETUP = frozenset({"XY_PIXEL_BLT", "XY_SCANLINES_BLT", "XY_TEXT_BLT", "XY_TEXT_IMMEDIATE_BLT"})
_NOUNS = {"3DSTATE_VERTEX_BUFFERS": "vertex buffer ", "3DSTATE_CHROMA_KEY": "table ",
          "3DSTATE_GS_SVB_INDEX": "index ", "URB_FENCE": "fence of "}
_WITH_PARTS = frozenset({"STATE_BASE_ADDRESS", *_NOUNS})  # commands that set a part of their state only
_CONSTANT_ROWS = 4


@dataclass(slots=True)
class Setting:
    """A command whose state, or a part of it, is in force."""

    command: Command
    frame: int
    submission: int
    after_draw: int | None  # the last draw before it; None: it came before all of them
    parts: tuple[int | str, ...] = ()  # which parts of it are in force, if later commands replaced others

    def as_json(self) -> dict[str, Any]:
        return {"frame": self.frame, "submission": self.submission, "after_draw": self.after_draw,
                "parts": list(self.parts), "command": json.loads(JsonRenderer().command(self.command))}

    def __str__(self) -> str:
        after = "before the first draw" if self.after_draw is None else f"after draw {self.after_draw}"
        noun = _NOUNS.get(self.command.body.name, "")
        parts = f"; in force: {', '.join(f'{noun}{part}' for part in self.parts)}" if self.parts else ""
        return f"submission {self.submission}, {after}{parts}"


@dataclass(slots=True)
class StateInForce:
    """Everything that a draw executes with."""

    place: Place
    kind: DrawKind
    draw: Command  # with its vertices, indices or operands below it
    settings: tuple[Setting, ...]

    def __getitem__(self, name: str) -> Command:
        """The command with this name that is in force; of several, the last."""
        found = [s.command for s in self.settings if s.command.body.name == name]
        if not found:
            raise KeyError(name)
        return found[-1]

    def __contains__(self, name: object) -> bool:
        return any(s.command.body.name == name for s in self.settings)

    def nodes(self) -> Iterator[Node]:
        """All commands, and the blocks, kernels and data that they lead to."""
        for setting in self.settings:
            yield from setting.command.walk()
        yield from self.draw.walk()

    def blocks(self, name: str) -> list[State]:
        """The state blocks with this name, without repetitions: `SURFACE_STATE`, `SAMPLER_STATE`, `WM_STATE`."""
        return [n for n in self.nodes() if isinstance(n, State) and n.body.name == name and not n.same]

    def text(self, theme: Theme = PLAIN) -> str:
        """As `gen4emu decode` shows commands, each with a line that says when it was executed."""
        render = TextRenderer(theme)
        title = f"{theme.title}{self.kind.value} {self.place.draw}{theme.off}"
        lines = [f"{title}: {self.place.text}\n", render.command(self.draw)]
        for setting in self.settings:
            lines.append(f"\n{theme.dim}{setting}{theme.off}\n{render.command(setting.command)}")
        return "".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Documented in docs/json.md, "State in force"."""
        return {**self.place.as_json(), "kind": self.kind.value,
                "command": json.loads(JsonRenderer().command(self.draw)),
                "settings": [s.as_json() for s in self.settings]}


@dataclass(slots=True)
class _Context:
    """The commands in force of one engine, and those of its saved hardware contexts."""

    tracker: StateTracker
    streamer: CommandStreamer
    parts: Parts = field(default_factory=dict)
    saved: dict[int, Parts] = field(default_factory=dict)

    # device.command_streamer.CommandListener
    def command(self, words: Words) -> None:
        command = self.streamer.catalogue.command_for(words[0])
        if command is None or command.name in _NO_STATE or REGISTER_LOADS.get(command.name):
            return
        if command.draws:
            self.tracker._draw_begins()
            return
        executed = self.tracker._executed(command.name, words, self.streamer)
        if command.client == Client.BLT:
            self.tracker._setup(executed)
            return
        if command.name == "CS_URB_STATE":  # makes the constants invalid
            self.parts.pop(("CONSTANT_BUFFER", ""), None)
        for part in executed.parts:
            self.parts[command.name, part] = executed

    def context(self, left: int | None, entered: int, restored: bool) -> None:
        if left is not None:
            self.saved[left] = dict(self.parts)
        if restored:
            self.parts = dict(self.saved.get(entered, {}))

    def reset(self) -> None:
        self.parts.clear()


def _parts(name: str, words: Words, gen: Gen) -> Iterator[int | str]:
    """The parts of the state that a command sets; one part for most commands."""
    if name not in _WITH_PARTS and not name.startswith("XY_SETUP"):
        yield ""  # nearly all of them
        return
    fields = catalogue.command_named(name, gen).view(words, gen=gen)
    if name == "STATE_BASE_ADDRESS":
        yield from (base for field, base in _BASES.items() if getattr(fields, f"{field}_modify_enable"))
    elif name == "URB_FENCE":
        yield from (unit for unit in _FENCES if getattr(fields, f"{unit}_urb_reallocation_request"))
    elif name == "3DSTATE_VERTEX_BUFFERS":
        yield from (buffer.vertex_buffer_index for buffer in fields.vertex_buffers)
    elif name == "3DSTATE_CHROMA_KEY":
        yield fields.chroma_key_table_index
    elif name == "3DSTATE_GS_SVB_INDEX":
        yield fields.index_number
    else:
        yield from ("clip",) if name == "XY_SETUP_CLIP_BLT" else ("setup", "clip")


class StateTracker:
    """Remembers which commands set the state of a device.  Attach it before the first command; `close` takes it off."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.before_draw: Callable[[], None] | None = None  # called when a draw command is about to be executed
        self._serial = 0
        self._setups: dict[int | str, Executed] = {}  # of the blitter, which all engines share
        self._kernels = Kernels(device.info.gen, model_of(device.info.gen).resource_of)
        self._contexts = {engine: _Context(self, streamer) for engine, streamer in device.streamers.items()}
        for context in self._contexts.values():
            context.streamer.listen(context)

    def close(self) -> None:
        for context in self._contexts.values():
            context.streamer.listen(None)

    def listener(self, engine: Engine) -> CommandListener:
        """The listener of an engine, if others listen, too."""
        return self._contexts[engine]

    def kept(self) -> Kept:
        """The data for `load` by another tracker, of a device in the same state."""
        return self._serial, dict(self._setups), {
            engine: (dict(context.parts), {number: dict(parts) for number, parts in context.saved.items()})
            for engine, context in self._contexts.items()}

    def restore(self, kept: Kept) -> None:
        """Take over what `save` of another tracker has returned."""
        self._serial, setups, contexts = kept
        self._setups = dict(setups)
        for engine, (parts, saved) in contexts.items():
            context = self._contexts[engine]
            context.parts = dict(parts)
            context.saved = {number: dict(found) for number, found in saved.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- called by the contexts ------------------------------------------------------------------------------------
    def _draw_begins(self) -> None:
        if self.before_draw is not None:
            self.before_draw()

    def _executed(self, name: str, words: Words, streamer: CommandStreamer) -> Executed:
        self._serial += 1
        raw = streamer.state.raw
        return Executed(self._serial, name, streamer.position.address, words.tobytes(), self.device.place,
                        self.device.numbers.total == 0,
                        (raw.general_state_base, raw.surface_state_base, raw.indirect_object_base),
                        tuple(_parts(name, words, streamer.gen)))

    def _setup(self, executed: Executed) -> None:
        for part in executed.parts:
            self._setups[part] = executed

    # --- the state -------------------------------------------------------------------------------------------------
    def in_force(self, rows: int = _CONSTANT_ROWS) -> StateInForce:
        """The state of the draw command that began last.  `rows`: of vertices, indices, constants shown."""
        numbers = self.device.numbers
        if numbers.total == 0:
            raise ValueError("no draw has begun")
        view = _Builder(self.device, self._contexts[self.device.engine].streamer, self._kernels, rows)
        kind = numbers.kind
        draw = view.body(numbers.words.tobytes())
        if kind is DrawKind.BLIT:
            in_force = [(part, executed) for part, executed in self._setups.items()]
        else:
            in_force = [(key[1], executed) for key, executed in self._contexts[self.device.engine].parts.items()]
        groups: dict[Executed, list[int | str]] = {}
        for part, executed in in_force:
            if _concerns(kind, draw.name, executed.name, view.model):
                groups.setdefault(executed, []).append(part)
        settings = view.settings(groups)
        return StateInForce(self.device.place, kind, view.draw(kind, numbers.address, draw), settings)


def _concerns(kind: DrawKind, draw: str, name: str, model: Model) -> bool:
    """Whether a draw uses the state that a command sets."""
    if kind is DrawKind.BLIT:
        return draw in _USES_SETUP
    is_media = kind in (DrawKind.MEDIA_OBJECT, DrawKind.DISPATCH)
    return name in model.media_state if is_media else name != "MEDIA_STATE_POINTERS"


class _Builder:
    """Makes nodes of commands and of the data that they point to in memory now."""

    def __init__(self, device: Device, streamer: CommandStreamer, kernels: Kernels, rows: int) -> None:
        self.gen, self.streamer, self.raw = device.info.gen, streamer, streamer.state.raw
        self.rows = rows
        self.model = model_of(self.gen)
        self.context = self.model.new_context()
        if device.registers.has("BCS_SWCTRL"):
            control = device.registers.view("BCS_SWCTRL")
            self.context.y_tiled = YTiled(control.source_is_y_tiled, control.destination_is_y_tiled)
        kernels.forget()
        kernels.new_submission(device.memory.owned_bytes)
        memory = MemoryReader(device.memory)
        self.follower = PointerFollower(memory, self.gen, self.model, self.context, kernels, Options(max_rows=rows))
        self.follower.new_submission()

    def body(self, data: bytes) -> Body:
        words = words_of(data)
        layout = catalogue.command_for(words[0], self.gen)
        assert layout is not None  # or it would not have been executed
        return Body(layout.name, layout, words, self.gen, complaints_of(layout, self.gen)(words))

    def command(self, address: int, body: Body) -> Command:
        node = Command(address, body)
        node.diagnostics += diagnose(body, address)
        return node

    def settings(self, groups: dict[Executed, list[int | str]]) -> tuple[Setting, ...]:
        """The commands in the order of the pipeline.  Pointers are followed in the order of execution."""
        found: list[tuple[Executed, Setting]] = []
        for executed, parts in sorted(groups.items(), key=lambda group: group[0].serial):
            node = self.command(executed.address, self.body(executed.data))
            some = tuple(parts) if len(parts) < len(set(executed.parts)) else ()
            place = executed.place
            found.append((executed, Setting(node, place.frame, place.submission,
                                            None if executed.first else place.draw, some)))
        position = self.model.position
        found.sort(key=lambda f: (position.get(f[0].name, len(position)), f[0].serial))
        for executed, setting in found:
            self._follow(setting.command, executed.bases)
        return tuple(setting for _, setting in found)

    def draw(self, kind: DrawKind, address: int, body: Body) -> Command:
        node = self.command(address, body)
        if kind is DrawKind.BLIT:
            self.follower.blit(node)
        elif kind is DrawKind.MEDIA_OBJECT:
            self._bases_now()
            gen4.media_object(self.follower, node)
        elif kind is DrawKind.DISPATCH:
            self._bases_now()
        else:
            self._bases_now()
            self.context.state_changed, self.context.vertices_changed = False, True
            self.follower.primitive(node)
        return node

    def _bases_now(self) -> None:
        raw = self.raw
        self._bases((raw.general_state_base, raw.surface_state_base, raw.indirect_object_base))

    def _bases(self, bases: tuple[int, int, int]) -> None:
        for name, address in zip(("general_state", "surface_state", "indirect_object"), bases, strict=True):
            self.context.rebase(name, int(address))

    def _follow(self, node: Command, bases: tuple[int, int, int]) -> None:
        """Add the data below a command: its own pointers as resolved at execution, those of blocks by current bases."""
        name, follower = node.body.name, self.follower
        self._bases_now()
        if name == "3DSTATE_PIPELINED_POINTERS":
            self._units(node)
        elif name == "3DSTATE_BINDING_TABLE_POINTERS":
            self._tables(node)
        elif name == "3DSTATE_VERTEX_BUFFERS":
            self.context.set_vertex_buffers(node.body)
        elif name == "3DSTATE_VERTEX_ELEMENTS":
            self.context.set_vertex_elements(node.body)
        elif name == "3DSTATE_INDEX_BUFFER":
            self.context.set_index_buffer(node.body)
        elif name == "CONSTANT_BUFFER":
            self._constants(node)
        elif name == "MEDIA_STATE_POINTERS":
            self._bases(bases)
            gen4.media_pointers(follower, node)
        elif name == "STATE_SIP":
            self._bases(bases)
            follower.pointers(node)

    def _units(self, node: Command) -> None:
        """VS, GS, CLIP, SF, WM and CC units with all below them; GS and CLIP only if they are enabled."""
        for stage, block in _UNITS.items():
            if int(getattr(self.raw, f"{stage}_enable", 1)):
                address = int(getattr(self.raw, _RAW_UNITS.get(stage, f"{stage}_state")))
                self.follower.block(node, catalogue.block_named(block, self.gen), address, "")

    def _tables(self, node: Command) -> None:
        """The binding tables of the stages whose kernels use surfaces."""
        for i, stage in enumerate(gen4.STAGES):
            unit = self.context.units.get(stage)
            if unit is not None and unit.use is not None:
                declared = int(unit.body.view.binding_table_entry_count)
                self.follower.table(node, int(self.raw.binding_table[i]), declared, unit.use, stage)

    def _constants(self, node: Command) -> None:
        """The constants that were copied when the command was executed: memory may hold others by now."""
        size = 32 * int(self.raw.curbe_rows)
        if not size:
            return
        view = node.body.view
        base = 0 if self.streamer.state.constants_absolute else self.context.bases["general_state"]
        found = Data(base + int(view.buffer_starting_address) & 0xFFFFFFFF, "copied by the command", "CONSTANTS", size)
        data = bytes(ffi.buffer(self.raw.curbe, size))
        limit = len(data) if self.rows < 0 else 16 * self.rows
        for values in struct.iter_unpack("<4f", data[:limit]):
            found.rows.append(" ".join(f"{v:.6g}" for v in values))
            found.values.append(list(values))
        found.more = size // 16 - len(found.rows)
        node.children.append(found)
