"""The state in force at a draw of a decoded trace: the last commands before it, by what they set.

`in_force` has the same for devices of Gen4 and Gen4.5, which execute the trace and know what the GPU has written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gen4emu.decode.document import Document
from gen4emu.decode.in_force import Setting, StateInForce
from gen4emu.decode.nodes import Command, Item, SubmissionStart
from gen4emu.device.place import DrawKind, Place
from gen4emu.hw.layout import Client, View
from gen4emu.hw.layout import Command as Layout

_NO_STATE = frozenset({"PIPE_CONTROL", "MEDIA_STATE_FLUSH", "STATE_PREFETCH"})
_PART_FIELDS = {"3DSTATE_VF_INSTANCING": "vertex_element_index", "3DSTATE_SO_BUFFER": "so_buffer_index",
                "3DSTATE_CHROMA_KEY": "chroma_key_table_index", "3DSTATE_GS_SVB_INDEX": "index_number"}
_CHANGES = ("_change", "_modify_enable")  # the ends of the names of flags that say what a command sets

Part = tuple[str, int | str]
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


def sets_state(command: Command) -> bool:
    """Whether later draws depend on a command."""
    layout = command.body.layout
    return isinstance(layout, Layout) and layout.client == Client.GFXPIPE and layout.name not in _NO_STATE


def parts_of(name: str, view: View) -> Iterator[int | str]:
    """The parts of the state that a command sets; one part for most commands."""
    if name in _PART_FIELDS:
        yield view.raw(_PART_FIELDS[name])
    elif name == "3DSTATE_VERTEX_BUFFERS":
        yield from (int(buffer.vertex_buffer_index) for buffer in view.vertex_buffers)
    else:
        flags = [f for f, _ in view.fields() if f.name.endswith(_CHANGES)]
        if not flags:
            yield ""
        for f in flags:
            if getattr(view, f.name):
                yield f.name.removesuffix(next(end for end in _CHANGES if f.name.endswith(end)))


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
