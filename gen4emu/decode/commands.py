"""Walks rings, batches and commands in the order of execution, without executing them.

Yields nodes.  Unknown opcodes, short or truncated commands, batches that loop or run into unmapped memory are reported
where they happen and do not stop the rest.  `gen4emu.decode.pointers` adds the data that commands point to.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import lru_cache, partial

from gen4emu.decode.compiled import complaints_of, follow_of, words_of
from gen4emu.decode.context import OPAQUE, Context
from gen4emu.decode.lint_rules import Severity
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.nodes import BatchEnd, BatchStart, Body, Command, Diagnostic
from gen4emu.decode.options import Options
from gen4emu.decode.pointers import PointerFollower, diagnose
from gen4emu.hw import catalogue
from gen4emu.hw.command_reader import CommandReader, Headers, Words
from gen4emu.hw.gen import Gen, generation_name
from gen4emu.hw.gen4.common import is_media
from gen4emu.hw.gen4.mi import later_name
from gen4emu.hw.generation import Generation
from gen4emu.hw.layout import Client, Engine, View, client_of
from gen4emu.hw.layout import Command as Layout
from gen4emu.trace import events
from gen4emu.trace.events import Submission

_WINDOW_DWORDS = 1 << 16  # of a batch fetched at once
_BODIES_KEPT = 1 << 16
_HEADERS_KEPT = 1 << 14
_SCAN_LIMIT = 1024  # dwords skipped at once in search of a plausible header
_DEPTH_LIMIT = 8
_BUDGET_BYTES = 1 << 18  # plus four times the size of memory: overlapping batches must not multiply the work

Yielded = Command | BatchStart | BatchEnd | Diagnostic
_Run = Generator[Yielded, None, int | None]
_FLOW = {"MI_BATCH_BUFFER_START": "start", "MI_BATCH_BUFFER": "range", "MI_BATCH_BUFFER_END": "end"}


class Kind:
    """Properties of all commands with one layout: the lengths that they may have, and the walker's action."""

    __slots__ = ("action", "draws", "flow", "layout", "least", "limited", "most", "target")

    def __init__(self, layout: Layout, gen: Gen, actions: dict[str, Callable[[Command], None]]) -> None:
        self.layout = layout
        self.least = layout.least(gen)
        self.most = layout.size(gen)
        self.limited = not any(a.count is None for a in layout.arrays_for(gen))
        self.flow = _FLOW.get(layout.name, "")
        self.target = _target_field(layout, gen) if self.flow else ""
        self.action = actions.get(layout.name)
        if self.action is None and any(f.target not in OPAQUE for f in follow_of(layout, gen).fields):
            self.action = actions["*"]
        if layout.client == Client.BLT:
            self.action = actions["BLT"]
        if self.flow:
            self.action = None
        self.draws = layout.draws


def actions_of(follower: PointerFollower) -> dict[str, Callable[[Command], None]]:
    """The functions for `Kind` that follow the pointers of commands, by name; "BLT" and "*" are for all others."""
    context = follower.context

    def pipeline_select(node: Command) -> None:
        context.pipeline = "media" if is_media(node.body.view) else "3D"

    return {
        "STATE_BASE_ADDRESS": lambda node: context.set_bases(node.body),
        "PIPELINE_SELECT": pipeline_select,
        "3DSTATE_VERTEX_BUFFERS": lambda node: context.set_vertex_buffers(node.body),
        "3DSTATE_VERTEX_ELEMENTS": lambda node: context.set_vertex_elements(node.body),
        "3DSTATE_INDEX_BUFFER": lambda node: context.set_index_buffer(node.body),
        "3DPRIMITIVE": follower.primitive,
        "BLT": follower.blit,
        "*": follower.pointers,
        **{name: partial(action, follower) for name, action in follower.model.actions.items()},
    }


class Header:
    """Properties of a command that its header determines.

    A command is `odd` if the walker has to look at it even if its fields are valid: MI_NOOP, an unknown one, or one of
    an invalid length.
    """

    __slots__ = ("action", "draws", "dwords", "flow", "layout", "least", "most", "name", "odd", "target")

    def __init__(self, header: int, kind: Kind | None, generation: Generation) -> None:
        if kind is None:
            self.dwords, self.name = generation.unknown_length(header), _unknown_name(header)
            self.layout: Layout | None = None
            self.action: Callable[[Command], None] | None = None
            self.flow, self.target, self.least, self.most = "", "", 0, self.dwords
            self.draws, self.odd = False, True
            return
        self.draws = kind.draws
        self.layout, self.action, self.flow, self.least = kind.layout, kind.action, kind.flow, kind.least
        self.target = kind.target
        self.dwords, self.name = kind.layout.length(header), kind.layout.name
        self.most = kind.most if kind.limited else max(self.dwords, kind.most)
        self.odd = kind.layout.header == 0 or not self.least <= self.dwords <= self.most


def _unknown_name(header: int) -> str:
    client = client_of(header)
    if client == Client.MI:
        return later_name(header) or "UNKNOWN_MI"
    return {Client.BLT: "UNKNOWN_BLT", Client.GFXPIPE: "UNKNOWN_GFXPIPE"}.get(client, "UNKNOWN")


@lru_cache(1024)
def _elsewhere(header: int, gen: Gen) -> str:
    """The meaning of an opcode on other generations: `URB_FENCE of gen4, gen4.5`."""
    found: dict[str, list[str]] = {}
    for generation in catalogue.generations():
        if not generation.parts & gen:
            layout = catalogue.catalogue_of(generation.parts).command_for(header)
            if layout is not None:
                found.setdefault(layout.name, []).append(generation_name(generation.parts))
    return "; ".join(f"{name} of {', '.join(names)}" for name, names in found.items())


class CommandWalker:
    """Walks the rings and batches of one decoder."""

    def __init__(self, peek: MemoryReader, gen: Gen, context: Context, follower: PointerFollower,
                 options: Options) -> None:
        self.peek, self.gen, self.context, self.follower, self.options = peek, gen, context, follower, options
        self.catalogue = catalogue.catalogue_of(gen)
        self._headers_of = {engine: Headers(partial(self._header, engine), _HEADERS_KEPT) for engine in Engine}
        self._headers = self._headers_of[Engine.RENDER]
        self._kinds: dict[Layout, Kind] = {}
        self._bodies_of: dict[Engine, dict[bytes, Body]] = {engine: {} for engine in Engine}
        self._bodies = self._bodies_of[Engine.RENDER]
        self._actions = actions_of(follower)
        self.draws = 0  # draw commands so far, of batches that run
        self._runs = True  # whether this batch runs, or is only shown
        self._draws_of: dict[int, int] = {}  # the number in each batch of this submission, by its address
        self._started: set[int] = set()  # batches of this submission
        self._budget = 0
        self._watch: int | None = None  # the address at which the command streamer hung
        self._ring: Submission | None = None

    def submission(self, event: Submission) -> Iterator[Yielded]:
        """Everything that the ring's contents run."""
        self.begin(events.HARDWARE_ENGINES[event.engine])
        self._watch = event.acthd if event.hung else None
        self._ring = event
        yield from self._ring_commands(event)
        yield from self._leftovers()

    def begin(self, engine: Engine = Engine.RENDER) -> None:
        """Forget the batches of the last submission; the next one is for this engine."""
        self._headers, self._bodies = self._headers_of[engine], self._bodies_of[engine]
        self._started.clear()
        self._draws_of.clear()
        self._watch = self._ring = None
        self._budget = _BUDGET_BYTES + 4 * self.peek.memory.owned_bytes

    def batch(self, address: int, origin: str) -> Iterator[Yielded]:
        """A batch that the ring did not call."""
        if address not in self._started:
            self._runs = False
            yield from self._enter(address, origin, 1, None)
            self._runs = True
            yield from self._leftovers()

    def reached(self, address: int, size: int) -> bool:
        """Whether a batch that starts in this range was decoded."""
        return any(address <= start < address + size for start in self._started)

    # --- the loop ------------------------------------------------------------------------------------------------
    def _ring_commands(self, ring: Submission) -> Iterator[Yielded]:
        """The commands of a ring, each followed by the batch that it calls."""
        reader = CommandReader(self._headers, self._fetch, _WINDOW_DWORDS)
        for info, words in reader.ring(_dwords(bytes(ring.ring)), ring.ring_address, ring.wrap):
            raw = words.tobytes()
            node = self._command(reader, info, raw, self._bodies.get(raw))
            if len(words) < info.dwords or not info.flow:
                yield node
            elif info.flow == "end":
                self._complain(node, "stray-end", "ends no batch: it is in the ring")
                yield node
            else:
                yield node
                yield from self._call(node, info, "ring", 0)

    def _batch_commands(self, start: int, depth: int, limit: int | None) -> _Run:
        """The commands of one batch.  Returns the address of the batch that it chains to, or None."""
        reader = CommandReader(self._headers, self._fetch, _WINDOW_DWORDS)
        reader.jump(start, limit)
        bodies, position, watched = self._bodies, reader.position, self._watch is not None
        for info, words in reader.batch():
            raw = words.tobytes()
            body = bodies.get(raw)
            if body is None or info.odd or body.complaints or watched:
                node = self._command(reader, info, raw, body)
            else:  # nearly every command of a driver
                node = Command(position.address, body)
                if info.draws:
                    self._number(node)
                if info.action is not None:
                    info.action(node)
            yield node
            if not info.flow or len(words) < info.dwords:
                continue
            dwords = (node.address - start) // 4 + info.dwords
            if info.flow == "end":
                yield BatchEnd(start, dwords, "end")
                return None
            if not _second_level(node.body.view):
                yield BatchEnd(start, dwords, "chain")
                return self._target(node, info)
            yield from self._call(node, info, "call", depth)
        yield from self._ran_out(start, reader.end, limit)
        return None

    def _command(self, reader: CommandReader[Header], info: Header, raw: bytes, body: Body | None) -> Command:
        """The node of the command that was just read, with its diagnostics and everything that it points to.  `body` is
        what `_bodies` has of it."""
        address, dwords = reader.position.address, info.dwords
        if body is None and len(raw) < 4 * dwords:
            node = self._cut(address, raw, info)
            dwords = len(raw) // 4
            if info.draws:
                self._number(node)
        else:
            if body is None:
                body = self._body(raw, info)
            node = Command(address, body)
            if info.odd or body.complaints:
                dwords = self._examine(reader, node, info)
            if info.draws:
                self._number(node)
            if info.action is not None:
                info.action(node)
        if self._watch is not None and self._holds(self._watch, address, 4 * dwords):
            node.guilty = True
        return node

    def _examine(self, reader: CommandReader[Header], node: Command, info: Header) -> int:
        """Complete the node of an odd command, or of one with invalid fields.

        Returns its length with repetitions and skipped dwords.
        """
        window, at = reader.window, reader.at
        following = at + info.dwords
        if node.body.words[0] == 0 and following < len(window) and not window[following]:
            node.repeat = _zeros(window[at:])
            following = at + node.repeat
            reader.skip_to(following)
        elif info.layout is None:
            following = self._resynchronise(window, at, following)
            self._unknown(node, info, window[at:following].tobytes())
            reader.skip_to(following)
        else:
            self._diagnose(node, info)
        return following - at

    def _holds(self, watched: int, address: int, size: int) -> bool:
        """Whether a range that may go over the end of the ring holds an address."""
        wrap = None if self._ring is None else self._ring.wrap
        if wrap is not None and wrap[0] <= address < wrap[0] + wrap[1]:
            start, length = wrap
            return start <= watched < start + length and (watched - address) % length < size
        return address <= watched < address + size

    def _call(self, node: Command, info: Header, origin: str, depth: int) -> Iterator[Yielded]:
        to = self._target(node, info)
        if depth >= _DEPTH_LIMIT:
            yield self._diagnostic(node, "batch-depth", f"batches are nested more than {_DEPTH_LIMIT} deep", to)
        elif to in self._started:
            self.draws += self._draws_of.get(to, 0)
            yield self._diagnostic(node, "batch-loop" if depth else "batch-again",
                                   f"the batch at 0x{to:08x} was decoded above", to)
        else:
            limit = int(node.body.view.end_address) + 4 if info.flow == "range" else None
            yield from self._enter(to, origin, depth + 1, limit)

    def _target(self, node: Command, info: Header) -> int:
        return int(getattr(node.body.view, info.target)) & self.context.mask

    def _enter(self, address: int, origin: str, depth: int, limit: int | None) -> Iterator[Yielded]:
        """A batch and those it chains to."""
        first, draws = address, self.draws
        after: int | None = address
        try:
            while after is not None:
                address = after
                self._started.add(address)
                yield BatchStart(address, origin)
                after = yield from self._batch_commands(address, depth, limit)
                if after is not None and after in self._started:
                    yield Diagnostic(Severity.ERROR, "batch-loop", address, "batch",
                                     f"continues at 0x{after:08x}, which was decoded above", value=after)
                    return
                origin, limit = "chain", None
        finally:
            self._draws_of[first] = self.draws - draws

    def _fetch(self, address: int, dwords: int) -> Words:
        """The next dwords of a batch; none where memory ends or the budget of the submission is spent."""
        chunk = self.peek.available(address, 4 * dwords) if self._budget > 0 else b""
        self._budget -= len(chunk)
        return _dwords(chunk)

    def _ran_out(self, start: int, where: int, limit: int | None) -> Iterator[Yielded]:
        if limit is not None and where >= limit:
            yield BatchEnd(start, (where - start) // 4, "end")
            return
        text = (f"runs into 0x{where:08x}, which nothing in the trace wrote, without MI_BATCH_BUFFER_END"
                if self._budget > 0 else "the batches of this submission overlap too much: decoding stops")
        rule = "batch-end" if self._budget > 0 else "too-long"
        yield Diagnostic(Severity.ERROR, rule, where, "batch", text, value=where)
        yield BatchEnd(start, (where - start) // 4, "truncated")

    def _leftovers(self) -> Iterator[Yielded]:
        """State that was set and that no primitive used any more."""
        if not (self.context.state_changed and self.options.follow and self.context.units):
            return
        node = Command(0, Body("(no primitive used this state)", None, (), self.gen))
        self.follower.pending_state(node)
        if node.children or node.diagnostics:
            yield node

    # --- one command ---------------------------------------------------------------------------------------------
    def _header(self, engine: Engine, header: int) -> Header:
        layout = self.catalogue.command_for(header, engine)
        kind = None
        if layout is not None:
            kind = self._kinds.get(layout)
            if kind is None:
                kind = self._kinds[layout] = Kind(layout, self.gen, self._actions)
        return Header(header, kind, self.catalogue.generation)

    def _body(self, raw: bytes, info: Header) -> Body:
        if len(self._bodies) >= _BODIES_KEPT:
            self._bodies.clear()
        words = words_of(raw)
        if info.layout is None:
            body = Body(info.name, None, words, self.gen)
        else:
            body = Body(info.name, info.layout, words, self.gen, complaints_of(info.layout, self.gen)(words))
        self._bodies[raw] = body
        return body

    def _diagnose(self, node: Command, info: Header) -> None:
        """Report invalid fields, and a length in the header that the layout does not allow."""
        if info.dwords < info.least:
            self._complain(node, "short-command", f"{info.dwords} dwords, needs {info.least}; the rest reads as zero")
        elif info.dwords > info.most:
            self._complain(node, "long-command", f"{info.dwords} dwords; its layout has {info.most}")
        if node.body.complaints:
            node.diagnostics += diagnose(node.body, node.address)

    def _cut(self, address: int, raw: bytes, info: Header) -> Command:
        node = Command(address, Body(info.name, info.layout, words_of(raw), self.gen))
        self._complain(node, "truncated", f"{info.dwords} dwords according to its header; only {len(raw) // 4} are "
                                          "present")
        return node

    def _unknown(self, node: Command, info: Header, raw: bytes) -> None:
        node.body = Body(info.name, None, words_of(raw), self.gen)
        header = node.body.words[0]
        elsewhere = _elsewhere(header, self.gen)
        if info.name == later_name(header):
            what = "a command of later generations"
        else:
            what = f"not a command of this device{f' ({elsewhere})' if elsewhere else ''}"
        skipped = len(node.body.words)
        self._complain(node, "unknown-command", f"0x{header:08x} is {what}; skipped {skipped} "
                                                f"dword{'s' if skipped > 1 else ''}", header)

    def _resynchronise(self, words: memoryview, i: int, end: int) -> int:
        """The index after an unknown header: the end by its length if a command is there, else the next command."""
        if client_of(words[i]) in (Client.MI, Client.BLT, Client.GFXPIPE) and self._plausible(words, end):
            return end
        for j in range(i + 1, min(i + _SCAN_LIMIT, len(words))):
            if self._plausible(words, j):
                return j
        return min(i + _SCAN_LIMIT, len(words))

    def _plausible(self, words: memoryview, i: int) -> bool:
        """Whether a known command without complaints starts here, followed by another."""
        for _ in range(2):
            if i >= len(words):
                return True
            info = self._headers[words[i]]
            if info.layout is None or not info.least <= info.dwords <= info.most:
                return False
            if info.flow == "end":
                return words[i] == info.layout.header
            command = words[i:i + info.dwords]
            if len(command) == info.dwords and complaints_of(info.layout, self.gen)(command):
                return False
            i += info.dwords
        return True

    def _number(self, node: Command) -> None:
        """Give a draw command its number (docs/identity.md)."""
        if self._runs:
            node.draw = self.draws
            self.draws += 1

    def _complain(self, node: Command, rule: str, text: str, value: int | None = None) -> None:
        node.diagnostics.append(self._diagnostic(node, rule, text, value))

    def _diagnostic(self, node: Command, rule: str, text: str, value: int | None = None) -> Diagnostic:
        return Diagnostic(Severity.ERROR, rule, node.address, node.body.name, text, value=value)


def _second_level(view: View) -> bool:
    """Gen7.5 and later can call from a batch and return; before, a batch that starts another leaves for good."""
    return "second_level_batch_buffer" in view.layout.by_name(view.gen) and bool(view.raw("second_level_batch_buffer"))


def _target_field(layout: Layout, gen: Gen) -> str:
    """The field with the address of the batch that a command starts."""
    return next((name for name in ("address", "batch_buffer_start_address", "start_address")
                 if name in layout.by_name(gen)), "")


def _dwords(data: bytes) -> Words:
    return memoryview(data[:len(data) & ~3]).cast("I")


def _zeros(words: Words) -> int:
    """The number of dwords at the start that are zero."""
    data = words.tobytes()
    return (len(data) - len(data.lstrip(b"\0"))) // 4
