"""The state in force at a draw: everything that it executes with, and the commands that set it (docs/json.md).

    tracker = StateTracker(device)               # listens to the command streamers; costs nothing before
    tracker.before_draw = lambda: print(tracker.in_force().text())

State blocks are read from the device's memory at the moment of the call, as the GPU may have written them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from gen4emu.decode.compiled import words_of
from gen4emu.decode.executed_nodes import Nodes, Parsed, nodes_of
from gen4emu.decode.fieldtext import PLAIN, Theme
from gen4emu.decode.json_text import JsonRenderer
from gen4emu.decode.model import Model
from gen4emu.decode.nodes import Command, Node, State
from gen4emu.decode.options import Options
from gen4emu.decode.state_parts import Part, is_state, parts_of
from gen4emu.decode.text import TextRenderer
from gen4emu.device.command_streamer import CommandListener, CommandStreamer
from gen4emu.device.device import Device
from gen4emu.device.executed_commands import ExecutedCommand
from gen4emu.device.place import DrawKind, Place
from gen4emu.hw import catalogue
from gen4emu.hw.command_reader import Words
from gen4emu.hw.layout import Client
from gen4emu.trace.events import Engine

Parts = dict[Part, ExecutedCommand]
# The number of commands, those of the blitter, and by engine those in force and those of its saved contexts.
Kept = tuple[int, dict[int | str, ExecutedCommand], dict[Engine, tuple[Parts, dict[int, Parts]]]]

_RESOLVED = frozenset({"STATE_SIP", "MEDIA_STATE_POINTERS", "MEDIA_CURBE_LOAD", "MEDIA_INTERFACE_DESCRIPTOR_LOAD"})
# commands whose pointers count from the bases of the time when they are executed
_USES_SETUP = frozenset({"XY_PIXEL_BLT", "XY_SCANLINES_BLT", "XY_TEXT_BLT", "XY_TEXT_IMMEDIATE_BLT"})
_NOUNS = {"3DSTATE_VERTEX_BUFFERS": "vertex buffer ", "3DSTATE_CHROMA_KEY": "table ",
          "3DSTATE_GS_SVB_INDEX": "index ", "URB_FENCE": "fence of ",
          "3DSTATE_SO_BUFFER": "buffer ", "3DSTATE_VF_INSTANCING": "element "}
_PENDING = "pending"  # the part of constants that do not take effect yet


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
class Look:
    """The state in force at a draw, for readers that look further."""

    state: StateInForce
    nodes: Nodes  # with the pointer follower that has found them
    drawn: Command  # the draw with the values of the registers that it reads


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
        if command is None:
            return
        name, constants = command.name, self.streamer.state.push_constants
        if command.draws:
            self.tracker._draw_begins()
        elif command.client == Client.BLT:
            self.tracker._setup(self.tracker._executed(name, words, self.streamer))
        elif name == "PIPE_CONTROL":
            if constants and command.view(words, gen=self.streamer.gen).indirect_state_pointers_disable:
                for constant in constants:
                    self._forget(constant)
        elif is_state(command):
            if name == "CS_URB_STATE":  # makes the constants invalid
                self._forget("CONSTANT_BUFFER")
            executed = self.tracker._executed(name, words, self.streamer)
            if constants.get(name):
                self.parts[name, _PENDING] = executed
                return
            for constant in (constant for constant, commit in constants.items() if commit == name):
                if (pending := self.parts.pop((constant, _PENDING), None)) is not None:
                    self.parts[constant, ""] = pending
            for part in executed.parts:
                self.parts[name, part] = executed

    def _forget(self, name: str) -> None:
        for part in ("", _PENDING):
            self.parts.pop((name, part), None)

    def context(self, left: int | None, entered: int, restored: bool) -> None:
        if left is not None:
            self.saved[left] = dict(self.parts)
        if restored:
            self.parts = dict(self.saved.get(entered, {}))

    def reset(self) -> None:
        self.parts.clear()


class StateTracker:
    """Remembers which commands set the state of a device.  Attach it before the first command; `close` takes it off."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.before_draw: Callable[[], None] | None = None  # called when a draw command is about to be executed
        self._serial = 0
        self._setups: dict[int | str, ExecutedCommand] = {}  # of the blitter, which all engines share
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

    def _executed(self, name: str, words: Words, streamer: CommandStreamer) -> ExecutedCommand:
        self._serial += 1
        layout = catalogue.command_named(name, streamer.gen)
        return ExecutedCommand(self._serial, name, streamer.position.address, words.tobytes(), self.device.place,
                               self.device.numbers.total == 0, streamer.state.bases() if name in _RESOLVED else {},
                               tuple(parts_of(name, layout.view(words, gen=streamer.gen))))

    def _setup(self, executed: ExecutedCommand) -> None:
        for part in executed.parts:
            self._setups[part] = executed

    # --- the state -------------------------------------------------------------------------------------------------
    def in_force(self) -> StateInForce:
        """The state of the draw command that began last."""
        return self.look(Options()).state

    def look(self, options: Options, parsed: Parsed | None = None) -> Look:
        """The state of the draw command that began last; `parsed` saves time if it is looked at in many draws."""
        numbers = self.device.numbers
        if numbers.total == 0:
            raise ValueError("no draw has begun")
        context = self._contexts[self.device.engine]
        nodes = nodes_of(self.device, context.streamer, options, parsed or Parsed(self.device))
        words, kind = words_of(numbers.words.tobytes()), numbers.kind
        draw = nodes.command(numbers.address, words)
        in_force = self._setups.items() if kind is DrawKind.BLIT else (
            (part, executed) for (_, part), executed in context.parts.items())
        groups: dict[ExecutedCommand, list[int | str]] = {}
        for part, executed in in_force:
            if part != _PENDING and _concerns(kind, draw.body.name, executed.name, nodes.model):
                groups.setdefault(executed, []).append(part)
        settings = _settings(nodes, groups)
        drawn = nodes.follow_draw(draw)
        draw.draw = numbers.draw
        return Look(StateInForce(self.device.place, kind, draw, settings), nodes, drawn)


def _settings(nodes: Nodes, groups: dict[ExecutedCommand, list[int | str]]) -> tuple[Setting, ...]:
    """The commands in the order of the pipeline, with what they point to."""
    position = nodes.model.position
    settings = []
    for executed in sorted(groups, key=lambda e: (position.get(e.name, len(position)), e.serial)):
        parts, place = groups[executed], executed.place
        node = nodes.command(executed.address, words_of(executed.data))
        nodes.follow(node, executed)
        settings.append(Setting(node, place.frame, place.submission, None if executed.first else place.draw,
                                tuple(parts) if len(parts) < len(set(executed.parts)) else ()))
    return tuple(settings)


def _concerns(kind: DrawKind, draw: str, name: str, model: Model) -> bool:
    """Whether a draw uses the state that a command sets."""
    if kind is DrawKind.BLIT:
        return draw in _USES_SETUP
    is_media = kind in (DrawKind.MEDIA_OBJECT, DrawKind.DISPATCH)
    return name in model.media_state if is_media else not name.startswith("MEDIA_")
