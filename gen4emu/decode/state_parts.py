"""Which commands set state, and which parts of it: a later command replaces only the parts that it sets."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from gen4emu.decode.nodes import Command
from gen4emu.hw.fields import Field
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Client, View
from gen4emu.hw.layout import Command as Layout

Part = tuple[str, int | str]  # a command, and one part of the state that it sets

_NO_STATE = frozenset({"PIPE_CONTROL", "MEDIA_STATE_FLUSH", "STATE_PREFETCH"})
_PART_FIELDS = {"3DSTATE_VF_INSTANCING": "vertex_element_index", "3DSTATE_SO_BUFFER": "so_buffer_index",
                "3DSTATE_CHROMA_KEY": "chroma_key_table_index", "3DSTATE_GS_SVB_INDEX": "index_number"}
_FLAGS = ("_change", "_address_modify_enable", "_access_upper_bound_modify_enable", "_modify_enable",
          "_urb_reallocation_request")  # the ends of the names of flags that say what a command sets
_BOUND = "_bound"


def is_state(layout: Layout) -> bool:
    """Whether a command sets state of the pipelines."""
    return layout.client == Client.GFXPIPE and layout.name not in _NO_STATE and not layout.draws


def sets_state(command: Command) -> bool:
    """Whether later draws depend on a command."""
    layout = command.body.layout
    return isinstance(layout, Layout) and is_state(layout)


def parts_of(name: str, view: View) -> Iterator[int | str]:
    """The parts of the state that a command sets; one part, "", for most commands."""
    if name in _PART_FIELDS:
        yield view.raw(_PART_FIELDS[name])
    elif name == "3DSTATE_VERTEX_BUFFERS":
        yield from (int(buffer.vertex_buffer_index) for buffer in view.vertex_buffers)
    elif name.startswith("XY_SETUP"):
        yield from ("clip",) if name == "XY_SETUP_CLIP_BLT" else ("setup", "clip")
    else:
        flags = _flags(view.layout, view.gen)
        if not flags:
            yield ""
        yield from (part for f, part in flags if f.extract(view.words, view.at))


@cache
def _flags(layout: Block, gen: Gen) -> tuple[tuple[Field, str], ...]:
    """The flags of a command, and the part that each is for: "dynamic_state_base", "indirect_object_bound", "vs"."""
    found = []
    for f in layout.fields_for(gen):
        end = next((end for end in _FLAGS if f.name.endswith(end)), None)
        if end is not None:
            found.append((f, f.name.removesuffix(end) + (_BOUND if "bound" in end else "")))
    return tuple(found)
