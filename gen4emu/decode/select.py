"""The nodes that a user selected: by name (`--only`), by address (`--at`), by number (`--draws`, `--frames`).

A command that does not match itself is kept as one line when something below it does.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from gen4emu.decode.nodes import (
    Command,
    Diagnostic,
    Item,
    Node,
    Note,
    State,
    SubmissionEnd,
    SubmissionStart,
    TraceStart,
)
from gen4emu.errors import SelectionError
from gen4emu.hw.catalogue import generations
from gen4emu.hw.fields import Address
from gen4emu.selection import Selection

_KINDS = ("command", "state", "kernel", "data")
_PROBLEMS = ("diagnostic", "diagnostics")
_OTHER_TITLES = {"KERNEL", "BINDING_TABLE", "SURFACE", "VERTEX_DATA", "INDEX_DATA"}  # of nodes without a layout


def only(items: Iterable[Item], names: Iterable[str]) -> Iterator[Item]:
    """Commands and blocks with these names: `3DPRIMITIVE`, `SURFACE_STATE`, `XY_*`, `kernel`, `diagnostic`."""
    patterns = [n.strip().lower() for n in names if n.strip()]
    problems = any(p in _PROBLEMS for p in patterns)

    def wanted(node: Node) -> bool:
        if problems and node.diagnostics:
            return True
        title = node.title.lower()
        return any(p == node.kind if p in _KINDS else fnmatch.fnmatchcase(title, p) for p in patterns)

    return _kept(items, wanted, problems)


def check_names(names: Iterable[str], file: str) -> None:
    """Raise SelectionError if no command or block of any device matches one of the names."""
    for name in names:
        known = _known_names()
        pattern = name.strip().lower()
        if not pattern or pattern in _KINDS or pattern in _PROBLEMS or fnmatch.filter(known, pattern):
            continue
        near = difflib.get_close_matches(pattern, known, 1)
        meant = f"; did you mean {near[0].upper()}?" if near else ""
        raise SelectionError(f"{file}: unknown command or block {name.strip()!r}{meant}")


@cache
def _known_names() -> list[str]:
    """In lower case: every command and block of every generation, and the data that they point to."""
    layouts = [layout for generation in generations() for layout in generation.layouts()]
    targets = {f.target for layout in layouts for f in layout.all_fields if isinstance(f, Address)}
    return sorted({n.lower() for n in {layout.name for layout in layouts} | targets | _OTHER_TITLES if n})


def at(items: Iterable[Item], address: int) -> Iterator[Item]:
    """The node at an address, and the nodes that point to it."""

    def wanted(node: Node) -> bool:
        return node.address <= address < node.address + max(node.size, 1) or _points(node, address)

    return _kept(items, wanted, False)


def draws(items: Iterable[Item], selection: Selection) -> Iterator[Item]:
    """Draw commands with these numbers."""

    def wanted(node: Node) -> bool:
        return isinstance(node, Command) and node.draw is not None and node.draw in selection

    return _kept(items, wanted, False)


def frames(items: Iterable[Item], selection: Selection) -> Iterator[Item]:
    """The items of these frames of a trace that marks its frames."""
    frame = 0
    for item in items:
        if frame in selection or isinstance(item, TraceStart):
            yield item
        if isinstance(item, Note) and item.frame is not None:
            frame = item.frame + 1


def _points(node: Node, address: int) -> bool:
    if not isinstance(node, Command | State) or node.body.layout is None:
        return False
    view = node.body.view
    views = [view, *(item for a in node.body.layout.arrays_for(node.body.gen) for item in view.array(a))]
    return any(isinstance(f, Address) and raw and f.decode(raw) == address for v in views for f, raw in v.fields())


def _kept(items: Iterable[Item], wanted: Callable[[Node], bool], problems: bool) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Command):
            if wanted(item):
                yield item
                continue
            below = list(_below(item, wanted)) if item.children else []
            if below:
                brief = Command(item.address, item.body, item.repeat)
                brief.brief, brief.guilty, brief.draw, brief.children = True, item.guilty, item.draw, below
                yield brief
        elif isinstance(item, TraceStart | SubmissionStart | SubmissionEnd) or (
                problems and isinstance(item, Diagnostic)):
            yield item


def _below(node: Node, wanted: Callable[[Node], bool]) -> Iterator[Node]:
    """The topmost matching nodes below one."""
    for child in node.children:
        if wanted(child):
            yield child
        else:
            yield from _below(child, wanted)
