"""The state in force at a draw of a decoded trace: the last commands before it, by what they set.

It is for devices that are only decoded.  `in_force` has the state of those that execute the trace.
"""

from __future__ import annotations

from collections.abc import Iterable

from gen4emu.decode.document import Document
from gen4emu.decode.in_force import Setting, StateInForce
from gen4emu.decode.nodes import Command, Item, SubmissionStart
from gen4emu.decode.state_parts import Part, parts_of, sets_state
from gen4emu.device.place import DrawKind, Place

Found = dict[Part, tuple[Command, Place, bool]]  # the place is that of the last draw before it, if there is one


def state_at(document: Document, items: Iterable[Item], draw: int) -> StateInForce | None:
    """The state with which a draw begins; None if the trace has no such draw."""
    contexts: dict[int, Found] = {}
    submission, before = 0, 0
    for item in items:
        if isinstance(item, SubmissionStart):
            submission, before = item.number, document.draws  # submissions before it may have been left out
        elif isinstance(item, Command) and document.decoder is not None:
            found = contexts.setdefault(document.decoder.context.number, {})
            if item.draw == draw:
                return _in_force(document, found, item, Place(document.frames, submission, draw))
            if item.draw is not None:
                before = item.draw + 1
            elif sets_state(item):
                place = Place(document.frames, submission, max(before - 1, 0))
                for part in parts_of(item.body.name, item.body.view):
                    found[item.body.name, part] = item, place, before == 0
            if before == draw:  # tables and vertices belong to the state, also if the draw before had the same ones
                context = document.decoder.context
                context.state_changed = context.vertices_changed = True
    return None


def _in_force(document: Document, found: Found, draw: Command, place: Place) -> StateInForce:
    assert document.decoder is not None
    model = document.decoder.model
    name = draw.body.name
    kind = DrawKind.of(name)
    groups: dict[int, list[int | str]] = {}
    settings: dict[int, tuple[Command, Place, bool]] = {}
    for (command_name, part), setting in found.items():
        if kind is DrawKind.PRIMITIVE or (kind is not DrawKind.BLIT and command_name in model.media_state):
            groups.setdefault(id(setting[0]), []).append(part)
            settings[id(setting[0])] = setting
    order = sorted(settings, key=lambda i: model.position.get(settings[i][0].body.name, len(model.position)))
    shown = []
    for i in order:
        command, at, first = settings[i]
        parts = groups[i]
        some = tuple(parts) if len(parts) < len(set(parts_of(command.body.name, command.body.view))) else ()
        shown.append(Setting(command, at.frame, at.submission, None if first else at.draw, some))
    return StateInForce(place, kind, draw, tuple(shown))
