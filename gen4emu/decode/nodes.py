"""The decoder's results: values in the order of execution.

A submission is a list of starts, commands and ends; each command has a tree of the data that it points to.
Renderers turn nodes into text or JSON; programs may use them directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gen4emu.decode.lint_rules import Severity
from gen4emu.hw.chips import Device
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, View
from gen4emu.trace.events import ErrorState


@dataclass(slots=True, frozen=True)
class Diagnostic:
    """A broken rule: address, command or block, field and value, and text."""

    severity: Severity
    rule: str  # a name in lint_rules.RULES: "reserved-bits", "unmapped", "unknown-command", ...
    address: int
    where: str  # the command, block or kernel
    text: str
    field: str = ""
    value: int | None = None

    def __str__(self) -> str:
        return f"0x{self.address:08x}: {self.where}: {self.text}"


class Body:
    """The dwords of one command or block with their layout.  Shared by all nodes with the same bytes."""

    __slots__ = ("complaints", "gen", "json", "layout", "name", "text", "words")

    def __init__(self, name: str, layout: Block | None, words: Sequence[int], gen: Gen,
                 complaints: tuple[tuple[str, str, int, str], ...] = ()) -> None:
        self.name, self.layout, self.words, self.gen = name, layout, words, gen
        self.complaints = complaints  # (rule, field, raw, what)
        self.text: str | None = None  # renderers keep their result here
        self.json: str | None = None

    @property
    def view(self) -> View:
        """Named fields: `body.view.surface_type`."""
        if self.layout is None:
            raise AttributeError(f"{self.name} has no layout")
        return self.layout.view(self.words, gen=self.gen, dwords=len(self.words))

    def fields(self) -> dict[str, Any]:
        return {} if self.layout is None else self.view.to_dict()


class Node:
    """Anything that lives at an address below a command."""

    __slots__ = ("address", "children", "diagnostics", "role")

    kind = "node"

    def __init__(self, address: int, role: str = "") -> None:
        self.address, self.role = address, role
        self.children: list[Node] = []
        self.diagnostics: list[Diagnostic] = []

    @property
    def title(self) -> str:
        return self.kind

    @property
    def size(self) -> int:
        """Bytes from `address` on."""
        return 0

    def walk(self) -> Iterator[Node]:
        """This node and all below, depth first, without recursion limits."""
        todo: list[Node] = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))


class Shared(list[Node]):
    """Children that several commands have in common; renderers keep their result here."""

    __slots__ = ("json", "text")

    def __init__(self, nodes: Iterable[Node]) -> None:
        super().__init__(nodes)
        self.text: str | None = None
        self.json: str | None = None


class State(Node):
    """A state block.  `same`: an identical block at this address was shown before."""

    __slots__ = ("body", "same")

    kind = "state"

    def __init__(self, address: int, role: str, body: Body, same: bool = False) -> None:
        super().__init__(address, role)
        self.body, self.same = body, same

    @property
    def title(self) -> str:
        return self.body.name

    @property
    def size(self) -> int:
        return 4 * len(self.body.words)


class Register(State):
    """The value that a command loads into a register; `address` is the register's offset."""

    __slots__ = ()

    kind = "register"

    @property
    def size(self) -> int:
        return 0


@dataclass(slots=True, frozen=True)
class KernelCode:
    """One kernel.  Kernels are distinguished by content, not by address."""

    number: int
    code: bytes
    lines: tuple[str, ...]
    instructions: int
    complete: bool  # an end of thread was found


class Kernel(Node):
    """A kernel that a state block starts.  `first`: this node shows the code, others refer to it."""

    __slots__ = ("code", "first")

    kind = "kernel"

    def __init__(self, address: int, role: str, code: KernelCode, first: bool) -> None:
        super().__init__(address, role)
        self.code, self.first = code, first

    @property
    def title(self) -> str:
        return "KERNEL"

    @property
    def size(self) -> int:
        return len(self.code.code)


class Data(Node):
    """Memory without a layout: vertices, indices, constants, inline or indirect data.  Shows its first rows."""

    __slots__ = ("length", "more", "name", "rows", "values")

    kind = "data"

    def __init__(self, address: int, role: str, name: str, length: int) -> None:
        super().__init__(address, role)
        self.name, self.length = name, length
        self.rows: list[str] = []  # as text
        self.values: list[Any] = []  # the same for programs
        self.more = 0  # rows that were left out

    @property
    def title(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return self.length


class Command(Node):
    """One command, or a run of identical one-dword commands."""

    __slots__ = ("body", "brief", "draw", "guilty", "repeat")

    kind = "command"

    def __init__(self, address: int, body: Body, repeat: int = 1) -> None:
        self.address, self.body, self.repeat = address, body, repeat
        self.role = ""
        self.guilty = False  # the command streamer stopped here
        self.brief = False  # shown only for the nodes below it
        self.draw: int | None = None  # the number of a draw command in its trace
        self.children = []
        self.diagnostics = []

    @property
    def title(self) -> str:
        return self.body.name

    @property
    def size(self) -> int:
        return 4 * len(self.body.words) * self.repeat


@dataclass(slots=True, frozen=True)
class TraceStart:
    """The trace and the device it ran on: always the first node."""

    file: str
    container: str
    device: Device | None
    application: str = ""


@dataclass(slots=True, frozen=True)
class SubmissionStart:
    number: int  # from 0
    engine: str
    ring_address: int
    ring_bytes: int
    device: Device
    hung: bool = False
    acthd: int | None = None


@dataclass(slots=True, frozen=True)
class SubmissionEnd:
    number: int


@dataclass(slots=True, frozen=True)
class BatchStart:
    address: int
    origin: str  # "ring": called by the ring; "chain": jumped to; "call": second level; "object": not run, only shown


@dataclass(slots=True, frozen=True)
class BatchEnd:
    address: int
    dwords: int
    why: str  # "end", "chain", "truncated", "loop", "bound"


@dataclass(slots=True, frozen=True)
class Registers:
    """The registers of an error state: each with its decoded meaning in words."""

    state: ErrorState
    lines: tuple[tuple[str, int, str], ...]  # name, value, meaning


@dataclass(slots=True, frozen=True)
class Note:
    """An item between submissions: a comment, a frame boundary, a damaged packet."""

    kind: str  # "comment", "frame", "surface-dump", "warning", "register"
    text: str
    offset: int = 0
    frame: int | None = None  # the number of the frame that ends here


Item = (TraceStart | SubmissionStart | SubmissionEnd | BatchStart | BatchEnd | Command | Registers | Note | Diagnostic)


@dataclass(slots=True)
class Tally:
    """Counts of items, for exit statuses and summaries."""

    submissions: int = 0
    commands: int = 0
    dwords: int = 0
    errors: int = 0
    lint: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
