"""Which nodes a user asked for: by name (`--only`) or by address (`--at`).

A command that does not match itself is kept as one line when something below it does.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Iterator

from gen4emu.decode.nodes import Command, Diagnostic, Item, Node, State, SubmissionEnd, SubmissionStart, TraceStart
from gen4emu.hw.fields import Address

_KINDS = ("command", "state", "kernel", "data")


def only(items: Iterable[Item], names: Iterable[str]) -> Iterator[Item]:
    """Commands and blocks with these names: `3DPRIMITIVE`, `SURFACE_STATE`, `XY_*`, `kernel`, `diagnostic`."""
    patterns = [n.strip().lower() for n in names if n.strip()]
    problems = any(p in ("diagnostic", "diagnostics") for p in patterns)

    def wanted(node: Node) -> bool:
        if problems and node.diagnostics:
            return True
        title = node.title.lower()
        return any(p == node.kind if p in _KINDS else fnmatch.fnmatchcase(title, p) for p in patterns)

    return _kept(items, wanted, problems)


def at(items: Iterable[Item], address: int) -> Iterator[Item]:
    """What lives at an address, and what points to it."""

    def wanted(node: Node) -> bool:
        return node.address <= address < node.address + max(node.size, 1) or _points(node, address)

    return _kept(items, wanted, False)


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
                brief.brief, brief.guilty, brief.children = True, item.guilty, below
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
