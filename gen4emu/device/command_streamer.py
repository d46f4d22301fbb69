"""The command streamer: parses rings and batches and executes MI and 3D commands.

State commands go to the running context (state.py), primitives and media objects to the C core, BLT commands to the
blitter.  The C core executes runs of state commands, plain draws and blits without calling back (`_run`).
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from typing import Any, Protocol

from gen4emu._native import ffi, lib
from gen4emu.core_enums import Counter
from gen4emu.device.memory import PAGE_SIZE, Faults, Memory, Missing, PageFlags, Unit, load_log, port_faults, save_log
from gen4emu.device.place import DrawKind, DrawNumbers
from gen4emu.device.registers import InterruptNames, Interrupts, RegisterFile
from gen4emu.device.state import ContextState
from gen4emu.device.stored_commands import StoredCommand, copy_blit, draw, fill, leave_if, write_immediate
from gen4emu.errors import HangError
from gen4emu.hw.catalogue import Catalogue, catalogue_of, family_of
from gen4emu.hw.command_reader import CommandReader, EndlessBatch, Headers, Position, ReaderState, Words
from gen4emu.hw.fields import Bool, Enum
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.common import PostSyncOperation
from gen4emu.hw.layout import Client, Command, Engine, View

Handler = Callable[[Words], None]

_IDLE = 0xFFFFFFFF
_PRESENT = int(PageFlags.PRESENT)
_DECODED_HEADERS = 4096
_MOST_USUAL_ITEMS = 6  # of arrays without a fixed length
_BLITS = {"XY_COLOR_BLT": fill, "XY_SRC_COPY_BLT": copy_blit}  # that the core executes in runs
_FETCH_DWORDS, _MOST_FETCH_DWORDS = 1024, 1 << 14
MAX_BATCH_DWORDS = 4 << 20  # a longer batch is taken for an endless one; 16 MiB are more than any driver writes
_MAX_JUMPS = 1 << 14  # the same for tight loops, of which millions of dwords would take minutes
_FIRST_DWORDS = 1 << 16  # that a batch runs before the first call of `waits`
_WAITING_DWORDS = 1 << 14  # that it runs between two calls


class BadCommand(HangError):
    """The parser met something that is not a command; real hardware hangs there."""


@dataclass(slots=True)
class Decoded:
    """The length of a command and the function that executes it; its header decides both."""

    dwords: int
    execute: Handler
    stored: StoredCommand | None = None  # the command, if the core can execute it in a run but has not learned it
    runs: bool = False  # the core can execute it in a run
    draws: bool = False  # but only if it may draw


@dataclass(slots=True)
class Progress:
    """The ring and the batch that are being executed, for the error state of a hang."""

    ring: bytes = b""
    ring_address: int = 0
    wrap: tuple[int, int] | None = None
    ring_at: int = 0  # offset of the command in `ring`
    batch: int | None = None  # start of the batch of that command

    def words(self) -> Words:
        return memoryview(self.ring + bytes(-len(self.ring) % 4)).cast("I")


@dataclass(slots=True, frozen=True)
class Pause:
    """A submission between two commands, after a draw."""

    ring_at: int | None  # index of the next command of the ring's contents; None: a batch runs by itself
    batch: ReaderState | None  # None: the ring's commands run
    returns: tuple[int, ...]  # of a second-level batch: where the batch that called it continues


@dataclass(slots=True, frozen=True)
class SavedContext:
    """A hardware context that does not run."""

    state: bytes
    registers: dict[int, int]  # values by offset, of those that differ from a new context's


@dataclass(slots=True, frozen=True)
class StreamerState:
    """A command streamer between two submissions, or inside one."""

    state: bytes  # of the running context
    constants_absolute: bool
    contexts: dict[int, SavedContext]  # by address
    first_values: dict[int, int]  # of the registers of contexts, by offset
    context: int | None
    non_secure: bool
    commands: int  # executed, from which TIMESTAMP is derived
    finding_counts: dict[str, int]
    findings: dict[str, str]
    position: tuple[int, bool, int]  # address, whether in a batch, header
    progress: Progress
    faults: bytes
    pause: Pause | None  # None: between two submissions


@dataclass(slots=True)
class Findings:
    """Commands that are not modelled or not valid: by kind, how often, and the first address."""

    count: collections.Counter[str] = field(default_factory=collections.Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, where: str) -> None:
        self.count[kind] += 1
        self.first.setdefault(kind, where)


@dataclass(slots=True, frozen=True)
class Executor:
    """The units behind a command streamer, as functions."""

    draw: Handler  # 3DPRIMITIVE
    drawing_core: Callable[[], Any]  # the core's device if it may draw by itself, else None
    core_drew: Callable[[int], None]  # it has drawn so many primitives
    core_failed: Callable[[int], None]  # its last draw failed, with this status
    fault: Any  # struct g4_fault *, for that draw
    depth_operation: Callable[[], None]  # the clear or resolve that 3DSTATE_WM_HZ_OP has set up
    compute: Handler  # GPGPU_WALKER, with its dimensions
    blit: Callable[[Command, Words], None]
    blitter: Any  # struct g4_blitter *, with which the core executes plain blits
    enhance: Callable[[str, Words, Callable[[str], None]], None]  # VEBOX; takes a function for what is not modelled
    media: Handler  # MEDIA_OBJECT, MEDIA_OBJECT_EX, MEDIA_OBJECT_PRT
    wait_for_media: Callable[[bool], None]  # until media threads cannot continue or, with True, have ended
    reset_counts: Callable[[], None]  # MI_FLUSH with Global Snapshot Count Reset
    flip: Callable[[int], None]  # MI_DISPLAY_FLIP to the surface at an address


VIDEO_ENHANCEMENT = ("VEBOX_SURFACE_STATE", "VEBOX_STATE", "VEBOX_DI_IECP")  # of the engine of this name
# Commands that load registers, and the field with the register, if it has one.
REGISTER_LOADS = {"MI_LOAD_REGISTER_IMM": "", "MI_LOAD_REGISTER_MEM": "register_address",
                  "MI_LOAD_REGISTER_REG": "destination_register_address"}


class CommandListener(Protocol):
    """Notified by a command streamer of changes of the state that draws use."""

    def command(self, words: Words) -> None:
        """A known command of the pipelines or the blitter, or one that loads registers, is about to be executed.

        `words` begin with its header.
        """

    def context(self, left: int | None, entered: int, restored: bool) -> None:
        """MI_SET_CONTEXT: the state of the context at `left` was saved, and perhaps that of `entered` restored."""

    def reset(self) -> None:
        """The state of the running context was reset."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Several listeners as one."""

    all: tuple[CommandListener, ...]

    def command(self, words: Words) -> None:
        for listener in self.all:
            listener.command(words)

    def context(self, left: int | None, entered: int, restored: bool) -> None:
        for listener in self.all:
            listener.context(left, entered, restored)

    def reset(self) -> None:
        for listener in self.all:
            listener.reset()


def _family(gen: Gen) -> list[Catalogue]:
    """Commands are executed even if only other parts of the family document them."""
    return [catalogue_of(generation.parts) for generation in family_of(gen)]


@lru_cache(_DECODED_HEADERS)
def _known(header: int, gen: Gen, engine: Engine) -> Command | None:
    """The command that a header starts, on this part or on another one of the family."""
    found = (catalogue.command_for(header, engine) for catalogue in _family(gen))
    return next((command for command in found if command is not None), None)


@lru_cache(_DECODED_HEADERS)
def _least_dwords(header: int, gen: Gen, engine: Engine) -> int:
    """The dwords that a command has on the part of the family where it is shortest."""
    found = ((catalogue.command_for(header, engine), catalogue.gen) for catalogue in _family(gen))
    return min(command.size(parts) for command, parts in found if command is not None)


def _usual_arrays(command: Command, gen: Gen) -> list[dict[str, list[list[int]]]]:
    """The arrays of a command as drivers write them: with their fixed length, or with a few items."""
    found = []
    for array in command.arrays_for(gen):
        counts = [array.count] if array.count else range(1, _MOST_USUAL_ITEMS + 1)
        found += [{array.name: [[0] * array.item.size(gen)] * count} for count in counts]
    return found or [{}]


def _usual_options(command: Command, gen: Gen) -> list[dict[str, int]]:
    """The options in the header of a command: none; except of MI, each flag or value alone, and all flags."""
    fields = [f for f in command.fields_for(gen) if f.dword == 0] if command.client != Client.MI else []
    flags = {f.name: 1 for f in fields if isinstance(f, Bool)}
    found = [{}, *({name: 1} for name in flags), *([flags] if len(flags) > 1 else [])]
    return found + [{f.name: int(value)} for f in fields if isinstance(f, Enum) for value in f.enum if value]


@cache
def _usual_headers(gen: Gen) -> tuple[int, ...]:
    """The headers of the commands that drivers write, in usual lengths."""
    return tuple(command.pack(gen, **arrays, **options)[0] for command in catalogue_of(gen).commands
                 if command.written and (command.client != Client.BLT or command.name in _BLITS)
                 for arrays in _usual_arrays(command, gen) for options in _usual_options(command, gen))


class CommandStreamer:
    """Parses one ring of Gen4 or Gen4.5.  `run_ring` and `run_batch` return after the last command."""

    # The differences of other generations, whose command streamers are derived from this one.
    state_class: type[ContextState] = ContextState
    interrupt_names = InterruptNames()
    idle_registers: tuple[str, ...] = ("RENDER_INSTDONE", "INSTDONE1")  # of the render engine
    contexts_have_registers = False  # those that batches write

    def __init__(self, gen: Gen, memory: Memory, registers: RegisterFile, executor: Executor, strict: bool = False,
                 max_batch_dwords: int = MAX_BATCH_DWORDS, ring: str = "RENDER",
                 numbers: DrawNumbers | None = None, engine: Engine = Engine.RENDER) -> None:
        self.engine = engine
        self.gen, self.memory, self.registers, self.strict = gen, memory, registers, strict
        self.catalogue = catalogue_of(gen)
        self.executor = executor
        self.ring = ring  # the prefix of its registers
        self.max_batch_dwords = max_batch_dwords
        self.numbers = numbers or DrawNumbers()
        self._port = memory.new_port(Unit.CS)
        self.state = self.state_class(gen, memory, self._port)
        self.findings = Findings()
        self.position = Position(0, False)
        self.progress = Progress()
        self.commands = 0
        self.interrupts = Interrupts(registers, self._write_status_page, self.interrupt_names)
        self._listener: CommandListener | None = None
        self._threads = False  # media threads may be running
        self._contexts: dict[int, SavedContext] = {}
        self._first_values: dict[int, int] = {}  # of registers that batches have written: those of new contexts
        self._context: int | None = None  # the address of the context that runs, if there is one
        self._non_secure = False
        self.at_rest: Callable[[], object] | None = None  # called between two commands, after draws
        self.has_drawn = False  # since `at_rest` was called
        # Called when only a write by a program can end a batch.  Waits a moment; false: no such write is expected.
        self.waits: Callable[[], bool] | None = None
        self.waited_for: set[int] = set()  # addresses that the last submission read again: they may change
        self._left_dwords = 0  # of the batch, beyond those that the reader has
        self._pause: Pause | None = None  # during `at_rest`, and between `load` and `resume`
        self._short_handlers: dict[str, Handler] = {}  # of commands whose shorter form does something else
        self._handlers = self._own_handlers()
        self._draws = self._handlers["3DPRIMITIVE"]
        self.state.stored.use_blitter(executor.blitter)
        self._blits = {name: self.state.stored.add(step()) for name, step in _BLITS.items()}
        self._start = self.catalogue.command("MI_BATCH_BUFFER_START")
        self._timestamp_mask = self.catalogue.register("TIMESTAMP").field("ticks", gen).mask
        if strict:
            for name in {c.name for catalogue in _family(gen) for c in catalogue.commands if c.privileged}:
                self._handlers[name] = self._privileged(name, self._handlers[name])
        self._headers = tuple(Headers(self._decode, _DECODED_HEADERS) for _ in range(2))  # by `_threads`
        self._reader = CommandReader(self._headers[False], self._fetch, _FETCH_DWORDS, skip=self._run,
                                     extend=self._extend_batch, most_dwords=_MOST_FETCH_DWORDS)
        self.state.stored.rewritten = self._reader.read_again
        self.position = self._reader.position
        self._ring_reader = CommandReader(self._headers[False], self._fetch, _FETCH_DWORDS, self.position)

    def _own_handlers(self) -> dict[str, Handler]:
        """The handlers of all commands but BLT by name."""
        return {**self.state.handlers, **self._mi_handlers(), **dict.fromkeys(_MEDIA_OBJECTS, self._media),
                "3DPRIMITIVE": self._draw_handler(), "PIPE_CONTROL": self._pipe_control(),
                "PIPELINE_SELECT": self._pipeline_select}

    def _draw_handler(self) -> Handler:
        """3DPRIMITIVE of the 3D pipeline."""
        return self.state.stored.add(draw(), fallback=self.executor.draw)

    def hook_registers(self) -> None:
        """Give the registers of this engine that its state keeps their meaning."""

    def enter_context(self, number: int) -> None:
        """A submission of this logical context follows.  Before Gen8, commands switch contexts."""

    def prepare(self) -> None:
        """Decode the usual commands before the first batch has them, and let the state have its memory."""
        self.state.load(self.state.save())
        headers = self._headers[False]
        for header in _usual_headers(self.gen):
            self._learn(header, headers[header])

    def _learn(self, header: int, decoded: Decoded) -> None:
        """Let the core execute a command in runs, if it can and does not do so yet."""
        if decoded.stored is not None:
            self.state.stored.learn(header, decoded.stored, decoded.dwords)
            decoded.stored = None

    # --- parsing ---------------------------------------------------------------------------------------------------
    def run_ring(self, ring: bytes, address: int, wrap: tuple[int, int] | None = None) -> None:
        """Execute ring contents at a graphics address, batches included.

        `wrap` is the start and size of a ring whose end lies inside of the contents.
        """
        self.progress = Progress(ring, address, wrap)
        self.waited_for.clear()
        self._reader.stop()
        self.has_drawn = False
        words = self.progress.words()
        if self._is_start(words) and self.at_rest is None:  # without a reader
            self.position.address, self.position.in_batch, self.position.header = address, False, words[0]
            self._run_in_ring(self._headers[self._threads][words[0]], words)
            self._wait_for_threads(finish=True)
        else:
            self._run_ring(words, 0)

    def _is_start(self, words: Words) -> bool:
        """Whether these ring contents are one MI_BATCH_BUFFER_START, as those of most submissions of programs."""
        return bool(words) and self._start.has_opcode_of(words[0]) and self._start.length(words[0]) == len(words)

    def _run_in_ring(self, decoded: Decoded, words: Words) -> bool:
        """Execute a command of the ring, and the batch that it starts; false: it starts none."""
        self.commands += 1
        decoded.execute(words)
        if self._reader.target is None:
            return False
        self.progress.batch = self._reader.target
        self._run_batch()
        self.position.in_batch = False
        return True

    def _run_ring(self, words: Words, at: int) -> None:
        """Execute the ring contents from an index on."""
        progress, position, reader = self.progress, self.position, self._ring_reader
        reader.headers = self._headers[self._threads]
        position.in_batch = False
        for decoded, command in reader.ring(words, progress.ring_address, progress.wrap, at):
            progress.ring_at, progress.batch = 4 * reader.at, None
            if len(command) != decoded.dwords:  # the ring's contents end inside the command
                decoded = self._decode(command[0], len(command))
            if not self._run_in_ring(decoded, command) and self.has_drawn:
                self._rest(in_batch=False)
            reader.headers = self._headers[self._threads]
        self._wait_for_threads(finish=True)

    def run_batch(self, address: int) -> None:
        start = address & ~3
        self.progress = Progress(batch=start)
        self.has_drawn = False
        self._non_secure = False
        self._reader.jump(start)
        self._run_batch()
        self._wait_for_threads(finish=True)

    def _run_batch(self) -> None:
        """Execute the batch at the reader's target, until MI_BATCH_BUFFER_END."""
        self.position.address, self.position.in_batch, self.position.header = 0, True, 0
        self._continue_batch()

    def _continue_batch(self) -> None:
        first = self.max_batch_dwords if self.waits is None else min(self.max_batch_dwords, _FIRST_DWORDS)
        self._left_dwords = self.max_batch_dwords - first
        try:
            for decoded, command in self._reader.batch(first, self.max_batch_dwords // _MAX_JUMPS):
                self.commands += 1
                decoded.execute(command)
                if self.has_drawn and self.at_rest is not None:
                    self._rest(in_batch=True)
        except EndlessBatch:
            self._hang(f"the batch does not end after {self.max_batch_dwords} dwords or {_MAX_JUMPS} jumps")
        if self._reader.loop is not None:
            self.waited_for.add(self._reader.loop)

    def _extend_batch(self) -> int:
        """Dwords that a batch may still have.  A loop may wait for the program."""
        waits = self._reader.loop is not None and self._waits_for_program()
        if self._left_dwords <= 0 and not waits:
            return 0
        self._left_dwords -= _WAITING_DWORDS
        return _WAITING_DWORDS

    def _waits_for_program(self) -> bool:
        return self.waits is not None and self.waits()

    def _rest(self, in_batch: bool) -> None:
        """A draw has ended, and the next command has not begun."""
        self.has_drawn = False
        if self.at_rest is None or self._threads:
            return
        self._pause = Pause(self._ring_reader.following if self.progress.ring else None,
                            self._reader.save() if in_batch else None, self._saved_returns())
        try:
            self.at_rest()
        finally:
            self._pause = None

    def _saved_returns(self) -> tuple[int, ...]:
        return ()

    def _load_returns(self, returns: tuple[int, ...]) -> None:
        """Take over what `_saved_returns` has returned."""

    def resume(self) -> None:
        """Execute the rest of the submission that was loaded."""
        pause, self._pause = self._pause, None
        assert pause is not None
        self._ring_reader.following = pause.ring_at or 0
        if pause.batch is not None:
            self._load_returns(pause.returns)
            self._reader.resume(pause.batch)
            self.state.stored.use_window(pause.batch.start, self._reader.window)
            self._continue_batch()
        if pause.ring_at is not None:
            self._run_ring(self.progress.words(), pause.ring_at)
        else:
            self._wait_for_threads(finish=True)

    def _fetch(self, address: int, dwords: int) -> Words:
        if address + 4 * dwords <= self.memory.size:
            words = self.state.stored.fetch(address, dwords)
            if words is not None:
                return words
        if not self._is_mapped(address):
            self.interrupts.page_fault("command_fetch")
            self._hang("nothing is mapped where the batch continues")
        words = self.memory.read_dwords(address, dwords, Missing.ZERO, Unit.CS)
        self.state.stored.use_window(address, words)
        return words

    def _is_mapped(self, address: int) -> bool:
        page = address // PAGE_SIZE
        return page < self.memory.page_count and bool(lib.g4_mem_page_flags(self.memory.handle, page) & _PRESENT)

    def _run(self, start: int, at: int, end: int) -> int:
        """Let the core execute commands of the window at `start`, and return the index of the first that it leaves."""
        if self._threads:
            return at
        words = self._reader.window
        first, device = self._headers[False][words[at]], self.executor.drawing_core()
        if not first.runs or (first.draws and device is None):
            return at
        stored, run = self.state.stored, self.state.stored.run
        while True:
            at = stored.execute(at, end, device or ffi.NULL, self.executor.fault)
            if run.commands:
                self.commands += run.commands
                last = run.last
                self.position.address, self.position.header = start + 4 * last, words[last]
                if run.draws or run.blits or run.status:
                    self._count_draws(start, words, run)
            if at >= end or run.rewritten:
                return at
            decoded = self._headers[False][words[at]]
            if decoded.stored is None:
                return at
            self._learn(words[at], decoded)

    def _count_draws(self, start: int, window: Words, run: Any) -> None:
        """The core has drawn by itself, commands of the window at `start`."""
        at, draws = run.last_draw, run.draws
        address, words = start + 4 * at, window[at:at + self._headers[False][window[at]].dwords]
        if draws or run.blits:
            self.numbers.core_drew(draws, run.blits, DrawKind.BLIT if run.last_is_blit else DrawKind.PRIMITIVE,
                                   address, words)
        if draws:
            self.executor.core_drew(draws)
        if run.status:
            self.numbers.begin(DrawKind.PRIMITIVE, address, words)
            self.executor.core_failed(run.status)

    def _decode(self, header: int, present: int | None = None) -> Decoded:
        """The command that a header starts, of which `present` dwords are there; by default those its header says."""
        known = _known(header, self.gen, self.engine)
        if known is None:
            return Decoded(present or self.catalogue.generation.unknown_length(header), self._unknown)
        length = present or known.length(header)
        command = self.catalogue.command_for(header, self.engine)  # None: only other parts document it
        stored = self._stored(known, command, length)
        return Decoded(length, self._handler(known, command, length), stored, stored is not None,
                       stored is not None and stored.draws)

    def _stored(self, known: Command, command: Command | None, length: int) -> StoredCommand | None:
        """The command, if the core may execute it without a notification and its operands are complete."""
        handler = self._blits.get(known.name) or self._handlers.get(known.name)
        if (not isinstance(handler, StoredCommand) or self._threads or self._listener is not None
                or command is None or length < _least_dwords(known.header, self.gen, self.engine)):
            return None
        return handler

    def _handler(self, known: Command, command: Command | None, length: int) -> Handler:
        """The function that executes a command of which `length` dwords are present."""
        if known.engine not in (None, Engine.RENDER):  # the fixed functions of the other engines
            if known.engine is Engine.VIDEO_ENHANCEMENT and command is not None and known.name in VIDEO_ENHANCEMENT:
                enhance = partial(self._enhance, known.name)
                return enhance if length >= command.size(self.gen) else self._padded(command, enhance)
            return self._not_executed(known.name)
        if known.client == Client.MI:
            handler = self._waiting(known.name, self._handlers.get(known.name, self._unknown))
            if self._listener is not None and known.name in REGISTER_LOADS:
                handler = self._notifying(handler, self._listener)
            return handler
        handler = self._pipeline_handler(known, length, command)
        if command is None:
            return handler
        if self._listener is not None:
            handler = self._notifying(handler, self._listener)
        return self._numbered(handler, command) if command.draws else handler

    def listen(self, listener: CommandListener | None) -> None:
        """Notify `listener` of commands and contexts from now on.  None costs nothing."""
        self._listener = listener
        self._forget_headers()

    def _forget_headers(self) -> None:
        for headers in self._headers:
            headers.clear()
        self.state.stored.forget()

    def _notifying(self, handler: Handler, listener: CommandListener) -> Handler:
        def run(words: Words) -> None:
            listener.command(words)
            handler(words)

        return run

    def _numbered(self, handler: Handler, command: Command) -> Handler:
        """A draw command has a number, even if nothing of it is executed."""
        kind, begin = DrawKind.of(command.name), self.numbers.begin

        def run(words: Words) -> None:
            begin(kind, self.position.address, words)
            handler(words)

        return run

    def _pipeline_handler(self, known: Command, length: int, command: Command | None) -> Handler:
        if known.client == Client.BLT:
            if command is None:
                return self._unknown
            blit = partial(self.executor.blit, command)
            return blit if length >= command.size(self.gen) else self._padded(command, blit)
        handler = self._handlers.get(known.name)
        if handler is None:
            return self._unknown
        if isinstance(handler, StoredCommand):
            handler = handler.alone
        if length >= _least_dwords(known.header, self.gen, self.engine):
            return self._waiting(known.name, handler)
        if command is None:
            return self._unknown
        return self._padded(command, self._waiting(known.name, self._short_handlers.get(known.name, handler)))

    # --- media -----------------------------------------------------------------------------------------------------
    def _media(self, words: Words) -> None:
        if not self.state.raw.media_selected:
            self.findings.add("MEDIA_OBJECT while the 3D pipeline is selected", self._where())
            return
        if not self._threads:
            self._set_threads(True)
        self.executor.media(words)

    def _set_threads(self, threads: bool) -> None:
        self._threads = threads
        self._reader.headers = self._headers[threads]

    def _wait_for_threads(self, finish: bool) -> None:
        if self._threads:
            self._set_threads(not finish)
            self.executor.wait_for_media(finish)

    def _waiting(self, name: str, handler: Handler) -> Handler:
        """The handler of a command while media threads may be running."""
        return self._after_threads(handler, _WAITING[name]) if self._threads and name in _WAITING else handler

    def _after_threads(self, handler: Handler, finish: bool) -> Handler:
        """Wait for media threads first: running threads use the state from when they started."""
        def wait(words: Words) -> None:
            self._wait_for_threads(finish)
            handler(words)

        return wait

    def _pipeline_select(self, words: Words) -> None:
        self.state.handlers["PIPELINE_SELECT"](words)
        self._pipe_selected()

    def _pipe_selected(self) -> None:
        """Select the meaning of 3DPRIMITIVE, which depends on the pipeline."""
        handler = self._preload if self.state.raw.media_selected else self._draws
        if self._handlers["3DPRIMITIVE"] != handler:
            self._handlers["3DPRIMITIVE"] = handler
            self._forget_headers()

    def _preload(self, words: Words) -> None:
        """3DPRIMITIVE of the media pipeline: 965 fetches vertices and drops them, to prefetch indirect data."""
        if not self.gen & Gen.GEN4:
            self.findings.add("3DPRIMITIVE while the media pipeline is selected", self._where())
        elif self.state.raw.vf_statistics:
            for counter in (Counter.IA_VERTICES, Counter.IA_PRIMITIVES):  # a list of points
                self.state.raw.counter[counter] += words[1]

    def _padded(self, command: Command, handler: Handler) -> Handler:
        """Execute a command that is shorter than its layout with zeros for the missing operands, and report it if it
        has no such form."""
        least = command.least(self.gen)

        def pad(words: Words) -> None:
            missing = command.size(self.gen) - len(words)
            if missing > 0:
                if len(words) < least:
                    self.findings.add(f"{command.name} has only {len(words)} dwords", self._where())
                words = memoryview(words.tobytes() + bytes(4 * missing)).cast("I")
            handler(words)

        return pad

    def _unknown(self, words: Words) -> None:
        what = f"unknown command 0x{words[0]:08x}"
        self.interrupts.error("instruction")
        if self.strict:
            self._hang(what)
        self.findings.add(what, self._where())

    def _not_executed(self, name: str) -> Handler:
        def report(words: Words) -> None:
            self.findings.add(f"{name} is not executed", self._where())

        return report

    def _enhance(self, name: str, words: Words) -> None:
        self.executor.enhance(name, words, lambda what: self.findings.add(f"{what} is not executed", self._where()))

    def _where(self) -> str:
        return f"0x{self.position.address:08x}"

    def save(self) -> StreamerState:
        """The state between two submissions, or during `at_rest`, for `load`."""
        return StreamerState(self.state.save(), self.state.constants_absolute, dict(self._contexts),
                             dict(self._first_values), self._context, self._non_secure, self.commands,
                             dict(self.findings.count), dict(self.findings.first),
                             (self.position.address, self.position.in_batch, self.position.header),
                             replace(self.progress), save_log(self._port), self._pause)

    def load(self, saved: StreamerState) -> None:
        """Take over what `save` has returned.  If it is inside a submission, `resume` executes the rest of that."""
        self._reader.stop()
        self.state.load(saved.state)
        self.state.constants_absolute = saved.constants_absolute
        self._contexts, self._context = dict(saved.contexts), saved.context
        self._first_values = dict(saved.first_values)
        self._non_secure, self.commands = saved.non_secure, saved.commands
        self.findings = Findings(collections.Counter(saved.finding_counts), dict(saved.findings))
        self.position.address, self.position.in_batch, self.position.header = saved.position
        self.progress, self._pause = replace(saved.progress), saved.pause
        load_log(self._port, saved.faults)
        self._set_threads(False)
        self._pipe_selected()

    @property
    def faults(self) -> Faults:
        """Faults of its own writes."""
        return port_faults(self._port)

    def reset(self) -> None:
        """Drop the running batch, as a reset of the engine does.  The context that ran has its initial state."""
        self._reader.stop()
        self.position.address, self.position.in_batch, self.position.header = 0, False, 0
        self.progress = Progress()
        self.state.reset()
        if self._listener is not None:
            self._listener.reset()
        self._set_threads(False)
        self._pipe_selected()
        if self._context is not None:
            self._contexts.pop(self._context, None)
        self._context = None
        self._load_registers({})

    def _hang(self, what: str) -> None:
        self.update_error_registers()
        place = "batch" if self.position.in_batch else "ring"
        raise BadCommand(f"hang at 0x{self.position.address:08x} in the {place}: {what} "
                         f"(header 0x{self.position.header:08x})")

    def update_error_registers(self, busy: Sequence[str] = ()) -> None:
        """Set IPEHR, ACTHD, IPEIR and INSTDONE for an error state.

        `busy` names units by their bits in INSTDONE and INSTDONE1; the parser waits for them.
        """
        r, p, in_batch = self.registers, self.ring, self.position.in_batch
        r.poke(r.offset(f"{p}_IPEHR"), self.position.header)
        r.poke(r.offset(f"{p}_ACTHD"), self.position.address | (r.bits(f"{p}_ACTHD", ("in_batch",)) if in_batch else 0))
        r.poke(r.offset(f"{p}_IPEIR"), r.bits(f"{p}_IPEIR", ("in_batch",)) if in_batch else 0)
        for name in self.idle_registers if p == "RENDER" else (f"{p}_INSTDONE",):
            r.poke(r.offset(name), _IDLE & ~r.bits(name, ("command_parser", *busy)))

    # --- MI --------------------------------------------------------------------------------------------------------
    def _mi_handlers(self) -> dict[str, Handler]:
        return {
            "MI_NOOP": self._noop(),
            "MI_USER_INTERRUPT": self._user_interrupt,
            "MI_WAIT_FOR_EVENT": self._nothing,
            "MI_FLUSH": self._flush(),
            "MI_ARB_CHECK": self._nothing,
            "MI_REPORT_HEAD": self._report_head,
            "MI_ARB_ON_OFF": self._nothing,
            "MI_BATCH_BUFFER_END": self._batch_buffer_end,
            "MI_SUSPEND_FLUSH": self._nothing,
            "MI_OVERLAY_FLIP": self._overlay_flip,
            "MI_LOAD_SCAN_LINES_INCL": self._nothing,
            "MI_LOAD_SCAN_LINES_EXCL": self._nothing,
            "MI_DISPLAY_FLIP": self._display_flip,
            "MI_SET_CONTEXT": self._set_context,
            "MI_STORE_DATA_IMM": self._store_data_imm,
            "MI_STORE_DATA_INDEX": self._store_data_index,
            "MI_LOAD_REGISTER_IMM": self._load_register_imm,
            "MI_STORE_REGISTER_MEM": self._store_register_mem,
            "MI_BATCH_BUFFER": self._batch_buffer,
            "MI_BATCH_BUFFER_START": self._batch_buffer_start(),
        }

    def _privileged(self, name: str, handler: Handler) -> Handler:
        """Drop a privileged command in a non-secure batch, and report an error (docs/decisions.md 37)."""
        errors = self.catalogue.register("EIR").by_name(self.gen)
        error = "command_privilege" if "command_privilege" in errors else "instruction"

        def checked(words: Words) -> None:
            if not (self.position.in_batch and self._non_secure):
                handler(words)
                return
            self.interrupts.error(error)
            self.findings.add(f"{name} in a non-secure batch", self._where())

        return checked

    def _view(self, name: str, words: Words) -> View:
        return self.catalogue.command(name).view(words, gen=self.gen)

    def _mask(self, name: str, field: str, dword: int) -> int:
        """The mask of a field, for the handlers of frequent commands."""
        return self.catalogue.command(name).field(field, self.gen).mask_in(dword)

    def _nothing(self, words: Words) -> None:
        """Without effect in an emulator that executes in order and has no caches."""

    def _noop(self) -> Handler:
        writes, identification = (self._mask("MI_NOOP", name, 0)
                                  for name in ("identification_write_enable", "identification"))

        def write_identification(words: Words) -> None:
            self.registers.poke(self.registers.offset("RENDER_NOPID"), words[0] & identification)

        return self.state.stored.add(leave_if(0, writes), fallback=write_identification)

    def _flush(self) -> Handler:
        resets_count = self._mask("MI_FLUSH", "global_snapshot_count_reset", 0)

        def reset(words: Words) -> None:
            self.executor.reset_counts()

        return self.state.stored.add(leave_if(0, resets_count), fallback=reset)

    def _user_interrupt(self, words: Words) -> None:
        self.interrupts.notify("user_interrupt")

    def _report_head(self, words: Words) -> None:
        head = self.registers.read(self.registers.offset("RENDER_RING_HEAD"))
        self._write_status_page(_STATUS_PAGE_RING_HEAD, head)

    def _batch_buffer_end(self, words: Words) -> None:
        if not self.position.in_batch:
            self.findings.add("MI_BATCH_BUFFER_END outside of a batch", self._where())
        self._reader.stop()

    def _batch_buffer_start(self) -> Handler:
        command = self.catalogue.command("MI_BATCH_BUFFER_START")
        non_secure, address = self._mask(command.name, "non_secure", 0), self._mask(command.name, "address", 1)

        def start(words: Words) -> None:
            if len(words) < 2:
                self._hang("MI_BATCH_BUFFER_START without an address")
            self._non_secure = bool(words[0] & non_secure) or (self.position.in_batch and self._non_secure)
            self._reader.jump(words[1] & address)

        return start

    def _batch_buffer(self, words: Words) -> None:
        if len(words) < 3:
            self._hang("MI_BATCH_BUFFER without its addresses")
        view = self._view("MI_BATCH_BUFFER", words)
        self._non_secure = view.non_secure
        self._reader.jump(view.start_address, limit=view.end_address + 4 if view.end_address else None)

    def _overlay_flip(self, words: Words) -> None:
        self.findings.add("MI_OVERLAY_FLIP: there is no overlay", self._where())

    def parameters(self, words: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Offsets of the registers that a draw command reads, and its dwords with the parameters that it has there."""
        return (), words

    def topology(self, words: Words) -> str:
        """The name of the topology that a 3DPRIMITIVE draws."""
        return self._view("3DPRIMITIVE", words).text("primitive_topology_type")

    def _display_flip(self, words: Words) -> None:
        if len(words) >= 3:
            self.executor.flip(self._view("MI_DISPLAY_FLIP", words).base_address)

    def _set_context(self, words: Words) -> None:
        """Switch contexts.  A context is a copy of the state, known by its address, and not an image in memory.

        From Gen7 on, the registers that batches write belong to it (docs/decisions.md 19).
        """
        if len(words) < 2:
            return
        view = self._view("MI_SET_CONTEXT", words)
        address = view.logical_context_address
        if address == self._context and not view.force_restore:
            return
        self._switch_context(address, restore=not view.restore_inhibit)
        r, force_restore = self.registers, self._mask("MI_SET_CONTEXT", "force_restore", 1)
        r.poke(r.offset("CCID"), words[1] & ~force_restore | r.bits("CCID", ("valid",)))

    def _switch_context(self, entered: int, restore: bool) -> None:
        """Save the running context, if there is one, and continue with another."""
        if self._context is not None:
            registers = {offset: value for offset, first in self._first_values.items()
                         if (value := self.registers.read(offset)) != first}
            self._contexts[self._context] = SavedContext(self.state.save(), registers)
        saved = self._contexts.get(entered) if restore else None
        if saved is not None:
            self.state.load(saved.state)
            self._load_registers(saved.registers)
            self._pipe_selected()
        if self._listener is not None:
            self._listener.context(self._context, entered, saved is not None)
        self._context = entered

    def _load_registers(self, values: dict[int, int]) -> None:
        """Continue with the registers of a context: those that it does not have are as in a new one."""
        for offset, first in self._first_values.items():
            value = values.get(offset, first)
            if self.registers.read(offset) != value:
                self.registers.restore(offset, value)

    def _write_register(self, offset: int, value: int, keep_bytes: int = 0) -> None:
        """A command writes a register."""
        if self.contexts_have_registers and self.position.in_batch and self.registers.is_stored(offset):
            self._first_values.setdefault(offset, self.registers.read(offset))
        self.registers.write(offset, value, keep_bytes)

    def _write(self, address: int, data: bytes, physical: bool = False) -> None:
        if physical:
            self.memory.write_physical(address, data)
            self._reader.read_again()
            return
        lib.g4_mem_write(self._port, address, data, len(data))  # writes to unmapped pages are dropped and logged
        self._reader.written(address, len(data))

    def _read_dword(self, address: int) -> int:
        return self.memory.read_dwords(address, 1)[0]

    def _store(self, view: View, data: bytes) -> None:
        """Write to the address of an MI command, which may be physical."""
        if view.use_global_gtt:
            self._write(view.address, data)
        else:
            self._write(view.physical_address_high << 32 | view.address, data, physical=True)

    def _write_status_page(self, offset: int, value: int) -> None:
        page = self.registers.view("RENDER_HWS_PGA").status_page_address
        if page:
            self._write(page + offset, value.to_bytes(4, "little"))

    def _store_data_imm(self, words: Words) -> None:
        if len(words) < 4:
            self.findings.add("MI_STORE_DATA_IMM without data", self._where())
            return
        view = self._view("MI_STORE_DATA_IMM", words)
        self._store(view, b"".join(value.to_bytes(4, "little") for value in _stored(view)))

    def _store_data_index(self, words: Words) -> None:
        if len(words) < 3:
            return
        view = self._view("MI_STORE_DATA_INDEX", words)
        for i, value in enumerate(_stored(view)):
            self._write_status_page(view.offset + 4 * i, value)

    def _load_register_imm(self, words: Words) -> None:
        view = self._view("MI_LOAD_REGISTER_IMM", words)
        keep = view.byte_write_disables
        for write in view.writes:
            self._write_register(write.register_offset, write.data, keep)

    def _store_register_mem(self, words: Words) -> None:
        if len(words) < 3:
            return
        view = self._view("MI_STORE_REGISTER_MEM", words)
        self._store(view, self.registers.read(view.register_offset).to_bytes(4, "little"))

    # --- PIPE_CONTROL ----------------------------------------------------------------------------------------------
    def _pipe_control(self) -> Handler:
        command = self.catalogue.command("PIPE_CONTROL")
        post_sync, destination, notify = (self._mask("PIPE_CONTROL", name, dword) for name, dword in (
            ("post_sync_operation", 0), ("destination_address", 1), ("notify_enable", 0)))
        immediate, depth_count = (
            command.pack(self.gen, post_sync_operation=operation)[0] & post_sync
            for operation in (PostSyncOperation.WRITE_IMMEDIATE_DATA, PostSyncOperation.WRITE_PS_DEPTH_COUNT))

        def synchronize(words: Words) -> None:
            """The core leaves notifications, and writes of numbers that it does not know."""
            header = words[0]
            operation = header & post_sync
            if operation:
                address = words[1] & destination
                if operation == immediate:
                    self._write(address, words[2:4].tobytes())
                else:
                    value = self.depth_count() if operation == depth_count else self.timestamp()
                    self._write(address, value.to_bytes(8, "little"))
            if header & notify:
                self.interrupts.notify("pipe_control_notify")

        return self.state.stored.add(
            leave_if(0, notify | post_sync & ~immediate),
            write_immediate(command.field("destination_address", self.gen), destination, 2, 0, immediate),
            fallback=synchronize)

    def depth_count(self) -> int:
        """PS_DEPTH_COUNT."""
        return self.read_counter(_PS_DEPTH_COUNT)

    def read_counter(self, index: int) -> int:
        return int(self.state.raw.counter[index])

    def timestamp(self) -> int:
        """36 bits in units of 80 ns.  Time is the number of commands executed, so that every run reads the same."""
        return self.commands & self._timestamp_mask


def _stored(view: View) -> list[int]:
    """The dword or two dwords that MI_STORE_DATA_IMM or MI_STORE_DATA_INDEX writes."""
    return [view.data, *(high.value for high in view.data_high[:1])]


_MEDIA_OBJECTS = ("MEDIA_OBJECT", "MEDIA_OBJECT_EX", "MEDIA_OBJECT_PRT")
# Commands that change what running media threads see, and (True) those that wait until the threads have ended.
_WAITING = {
    "URB_FENCE": False, "CS_URB_STATE": False, "CONSTANT_BUFFER": False, "STATE_BASE_ADDRESS": False,
    "STATE_SIP": False, "MEDIA_STATE_POINTERS": False, "PIPE_CONTROL": True, "PIPELINE_SELECT": True,
    "MEDIA_VFE_STATE": False, "MEDIA_CURBE_LOAD": False, "MEDIA_INTERFACE_DESCRIPTOR_LOAD": False,
    "MEDIA_STATE_FLUSH": True, "MI_FLUSH": True, "MI_FLUSH_DW": True, "MI_BATCH_BUFFER_END": True,
    "MI_SET_CONTEXT": True,
}
_STATUS_PAGE_RING_HEAD = 4 * 4  # where MI_REPORT_HEAD stores the head pointer
_PS_DEPTH_COUNT = int(Counter.PS_DEPTH)
