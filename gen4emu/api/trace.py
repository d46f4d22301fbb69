"""Traces for programs: their contents, their pictures, and the reasons for the value of a pixel."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from html import escape
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gen4emu.api.stepper import OnProgress, Stepper, Stop
from gen4emu.api.surface import Surface
from gen4emu.decode.decoded_state import state_at
from gen4emu.decode.document import Document
from gen4emu.decode.gl_calls import DrawGroup
from gen4emu.decode.in_force import StateInForce, StateTracker
from gen4emu.decode.kernel_uses import KernelUse, KernelUses
from gen4emu.decode.nodes import Body, Command, Item, SubmissionEnd
from gen4emu.decode.options import Options as DecodeOptions
from gen4emu.decode.summary import Summary, summarize
from gen4emu.device.counters import CountedDraw, Counters
from gen4emu.device.device import Device
from gen4emu.device.landmarks import Landmarks
from gen4emu.device.memory import Memory, Missing
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.replay import Bookmark
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import Gen4emuError, SelectionError, StaleError, TraceError
from gen4emu.hw import chips
from gen4emu.hw.catalogue import command_for
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.selection import ALL, Selection
from gen4emu.trace import events, reader

if TYPE_CHECKING:
    from gen4emu.debugger.history import History
    from gen4emu.device.bookmark_file import Start

Numbers = Selection | str | int | Iterable[int] | None
_ROWS_SHOWN = 20
_BOOKMARK_BYTES = 256 << 20


def open(path: str | os.PathLike[str], *, device: str | int | chips.Device | None = None, force_device: bool = False,
         kind: str | None = None, base: int = 0, partial: bool = False, options: Options | None = None,
         progress: OnProgress | None = None) -> Trace:
    """Open a trace: an AUB file, a `.g4c` capture, an i915 error state, a raw batch or a hex dump.

    `device` names the device of a file that does not say it; one of another generation than the file's is an error
    without `force_device`.  `kind` ("raw", "hexdump", ...) says how to read a file
    that cannot be recognised, `base` is the address of a raw batch.  `partial` accepts a file that is cut short.

    `progress` is called often during long work with a unit and its number, such as "draw", 7: the draw, submission or
    frame that was executed, the submission that is decoded.  `Trace.fraction` says how much of the file that is.
    """
    source = reader.open(path, device=device, force_device=force_device, base=base, kind=kind, again=True)
    return Trace(source, partial, options, progress)


class Trace:
    """A trace: an iterable description of the work of a GPU, which is executed as far as needed.

    A trace belongs to one thread.  Traces are independent of each other.  Use `with`, or `close`, to free its memory.
    """

    def __init__(self, source: reader.Trace, partial: bool = False, options: Options | None = None,
                 progress: OnProgress | None = None, bookmarks: Iterable[Bookmark] = (),
                 start: Callable[[int], Start | None] | None = None,
                 landmarks: Callable[[], Landmarks] | None = None) -> None:
        """`bookmarks` belong to executions with these options, which begin there.

        The state of a draw is searched from the place that `start` returns for it, its group from a landmark.
        """
        self._source, self._partial, self._options, self._progress = source, partial, options, progress
        self._header: events.Header | None = None
        self._comments: list[str] | None = None
        self._own: Stepper | None = None  # of `at`
        self._bookmarks = Bookmarks(most_bytes=_BOOKMARK_BYTES)  # of `at`, and those that were given
        self._bookmarks.add(bookmarks)
        self._start_of, self._landmarks_of = start, landmarks
        self._landmarks: Landmarks | None = None
        self._without_gl = -1  # up to this draw, there are no notes of GL calls
        self._state: Stepper | None = None  # of `Draw.state`, which listens to every command
        self._tracker: StateTracker | None = None
        self._counters: dict[int, Counters] | None = None  # of every draw, by its number
        self._all: list[Stepper] = []  # of iterations that have not ended
        self._seen: list[events.Warning] = []  # damage that executions have met

    def use(self, bookmarks: Iterable[Bookmark]) -> None:
        """Begin at these, too; they belong to executions with the same options."""
        self._bookmarks.add(bookmarks)

    # --- the file -------------------------------------------------------------------------------------------------
    @property
    def path(self) -> str:
        """The name of the file."""
        return self._source.path

    @property
    def kind(self) -> str:
        """`aub`, `capture`, `error-state`, `raw` or `hexdump`."""
        return self._source.kind

    @property
    def device(self) -> chips.Device | None:
        """The device that the trace was made on; None if the file does not say and nothing was named."""
        self._read_head()
        if self._header is None:
            return self._source.named_device
        return None if self._header.pci_id is None else chips.BY_PCI_ID.get(self._header.pci_id)

    @property
    def application(self) -> str:
        """The program that made the trace, if the file says so."""
        self._read_head()
        return "" if self._header is None else self._header.application

    @property
    def comments(self) -> list[str]:
        """The comments before the first submission."""
        self._read_head()
        return list(self._comments or ())

    @property
    def fraction(self) -> float | None:
        """The part of the file that was read, from 0 to 1, by the latest execution or decoding; None if unknown."""
        return self._source.fraction

    def damage(self, *, read_on: bool = True) -> list[events.Warning]:
        """Where the file is cut short or damaged (`offset`, `text`).

        Reads it to its end, if that was not done yet; without `read_on`, the damage that executions have met so far.
        """
        return list(dict.fromkeys([*self._seen, *(self._source.damage() if read_on else ())]))

    def _read_head(self) -> None:
        if self._comments is not None:
            return
        self._comments = []
        for event in self._source:
            if isinstance(event, events.Header) and self._header is None:
                self._header = event
            elif isinstance(event, events.Comment):
                self._comments.append(event.text)
            elif isinstance(event, events.Submission):
                return

    # --- execution ------------------------------------------------------------------------------------------------
    def draws(self, numbers: Numbers = None, *, counting: bool = False) -> Iterator[Draw]:
        """Execute the trace and yield each draw when it has ended: primitives, blits, media objects.

        `numbers` selects: a number, an iterable of them, or the notation of the command line ("100-120", "0-1000/10").
        Media objects of a batch run together: the last one of them is yielded.

        With `counting`, draws are counted while they are executed, so that `Draw.counters` costs no execution of its
        own.  Then each media object is yielded, and a draw that hangs, too, before its HangError is raised.
        """
        if counting:
            yield from self._counted(_selection(numbers))
            return
        for stepper, stop in self._stops("draw", numbers):
            yield Draw(self, stepper, stop)

    def submissions(self, numbers: Numbers = None) -> Iterator[Moment]:
        """Execute the trace and yield the moment at which each submission has ended."""
        for stepper, stop in self._stops("submission", numbers):
            yield Moment(self, stepper, stop)

    def frames(self, numbers: Numbers = None) -> Iterator[Moment]:
        """Execute the trace and yield the moment at which each frame is complete.

        Where the trace does not mark its frames, each submission is one.
        """
        for stepper, stop in self._stops("frame", numbers):
            yield Moment(self, stepper, stop)

    def at(self, *, draw: int | None = None, submission: int | None = None, frame: int | None = None) -> Moment:
        """Execute the trace up to the end of a draw, of a submission, or of a frame.

        Going forward continues the execution; going back starts it again, from a checkpoint if there is one: they
        are kept on the way, in at most 256 MiB.  The moment before becomes stale.  Media
        objects of a batch run together: asking for one of them gives the last.
        """
        wanted = [(unit, n) for unit, n in (("draw", draw), ("submission", submission), ("frame", frame))
                  if n is not None]
        if len(wanted) != 1:
            raise SelectionError("at: name exactly one of draw, submission and frame")
        ((unit, number),) = wanted
        if number < 0:
            raise SelectionError(f"{self.path}: no {unit} {number}: numbers begin at 0")
        self._source.keep(_BOOKMARK_BYTES)
        stepper, bookmark = self._own, self._bookmarks.before(number, unit)
        if (stepper is None or stepper.closed or stepper.ended or stepper.counts[unit] > number
                or (bookmark is not None and bookmark.order > stepper.replay.order)):
            if stepper is not None:
                stepper.close()
            stepper = self._own = self._stepper(bookmarks=self._bookmarks, at=bookmark)
        stop = stepper.advance(lambda u, numbers: u == unit and number <= numbers[-1])
        if stop is None:
            Selection.parse(str(number)).require_any(stepper.counts[unit], unit, self.path)
            raise SelectionError(f"{self.path}: {unit} {number} does not end")
        return Draw(self, stepper, stop) if unit == "draw" else Moment(self, stepper, stop)

    def _stops(self, unit: str, numbers: Numbers) -> Iterator[tuple[Stepper, Stop]]:
        selection = _selection(numbers)
        stepper = self._stepper(at=self._bookmarks.before(selection.first, unit))
        self._all.append(stepper)
        last: int | None = None
        try:
            while last is None or not selection.is_over(last + 1):
                stop = stepper.advance(lambda u, ended: u == unit and selection.overlaps(ended[0], ended[-1]))
                if stop is None:
                    break
                last = stop.number
                yield stepper, stop
            if last is None and not selection.is_all:
                selection.require_any(stepper.counts[unit], unit, self.path)
        finally:
            stepper.close()
            self._all.remove(stepper)

    def _counted(self, selection: Selection) -> Iterator[Draw]:
        """Draws are counted before the stop after them; media objects may be counted when the next draw begins."""
        counted: deque[CountedDraw] = deque()

        def count(draw: CountedDraw) -> None:
            if draw.place.draw in selection:
                counted.append(draw)

        stepper = self._stepper(on_counters=count, at=self._bookmarks.before(selection.first))
        self._all.append(stepper)
        last: int | None = None
        error: Gen4emuError | None = None
        try:
            while last is None or not selection.is_over(last + 1):
                stop: Stop | None = None
                try:
                    stop = stepper.advance(lambda unit, numbers: bool(counted))
                except Gen4emuError as e:
                    error = e
                while counted:
                    draw = counted.popleft()
                    last = draw.place.draw
                    yield Draw(self, stepper, Stop("draw", last, draw.place, draw.targets), draw)
                if error is not None:
                    raise error
                if stop is None:
                    break
            if last is None and not selection.is_all:
                selection.require_any(stepper.replay.draws, "draw", self.path)
        finally:
            stepper.close()
            self._all.remove(stepper)

    def _stepper(self, on_start: Callable[[Device], None] | None = None,
                 on_counters: Callable[[CountedDraw], None] | None = None, bookmarks: Bookmarks | None = None,
                 at: Bookmark | None = None) -> Stepper:
        stepper = Stepper(self._source, self.device, self._options, self._partial, on_start, self._progress,
                          on_counters, bookmarks, at)
        stepper.replay.damage = self._seen
        return stepper

    def _counters_of(self, draw: int) -> Counters:
        """Counting is slower than drawing, so it is done once, when it is first wanted, for the whole trace."""
        if self._counters is None:
            counters: dict[int, Counters] = {}
            stepper = self._stepper(
                on_counters=lambda counted: counters.update({counted.place.draw: counted.counters}))
            try:
                stepper.advance(lambda unit, numbers: False)
            finally:
                stepper.close()
            self._counters = counters
        return self._counters[draw]

    def state(self, draw: int) -> StateInForce:
        """Everything that a draw executes with, and the commands that set it.

        An execution of its own listens to the commands, and rests where the draw begins; it continues when the state
        of a later draw is wanted.  Devices that execute nothing are decoded up to the draw, with memory as the trace
        wrote it.
        """
        if self.device is not None and not self.device.executes:
            return self._decoded_state(draw)
        stepper = self._state
        if stepper is None or stepper.closed or stepper.ended or stepper.begun > draw + 1:
            if stepper is not None:
                stepper.close()
            start = None if self._start_of is None else self._start_of(draw)
            at = None if start is None else start.bookmark
            stepper = self._state = self._stepper(partial(self._listen, start), at=at)
        stop = stepper.stop
        if stop is None or stop.number != draw:
            stop = stepper.advance(lambda unit, numbers: unit == "draw begins" and draw in numbers)
        if stop is None or self._tracker is None:
            Selection.parse(str(draw)).require_any(stepper.begun, "draw", self.path)
            raise SelectionError(f"{self.path}: draw {draw} does not begin")
        return self._tracker.in_force()

    def group(self, draw: int) -> DrawGroup | None:
        """The debug group and the program of a draw (`path`, `program`, `exact`, `text`), in captures with GL notes."""
        if draw <= self._without_gl or self._known().has_gl is False:
            return None
        document = self._document(DecodeOptions(max_rows=0), draw)
        for item in self._items(document):
            if document.draws > draw and (not document.gl.present or isinstance(item, SubmissionEnd)):
                break
        return document.gl.groups.get(draw)

    def _decoded_state(self, draw: int) -> StateInForce:
        document = self._document(DecodeOptions(repeat=True), draw)
        found = state_at(document, self._items(document), draw)
        if not document.gl.present:
            self._without_gl = max(self._without_gl, draw)
        if found is None:
            Selection.parse(str(draw)).require_any(document.draws, "draw", self.path)
            raise SelectionError(f"{self.path}: draw {draw} does not end")
        return found

    def _listen(self, start: Start | None, device: Device) -> None:
        assert self._state is not None
        self._tracker = StateTracker(device)
        self._tracker.before_draw = self._state.rest_before_draw
        if start is not None and start.tables.tracked is not None:
            self._tracker.restore(start.tables.tracked)

    # --- looking --------------------------------------------------------------------------------------------------
    def history(self, x: int, y: int, *, draw: int | None = None) -> History:
        """Everything that reached a pixel, in order: fragments with their fates, blits.

        `draw` ends it after that draw.  The trace is executed for it from the start.
        """
        from gen4emu.debugger.history import record

        until = None if draw is None else Place(0, 0, draw)
        return record(self._source, self.device, self._options or Options(), x, y, until)

    def decode(self, *, submissions: Numbers = None, follow: bool = True, lint: bool = False) -> Iterator[Item]:
        """The decoded trace as nodes (gen4emu.decode.nodes): submissions, batches, commands with what they point to."""
        return self._items(self._document(DecodeOptions(follow=follow, lint=lint, submissions=_selection(submissions))))

    def info(self) -> Summary:
        """The contents at a glance: commands by name, draws, surfaces, kernels."""
        return summarize(self._items(self._document(DecodeOptions(max_rows=0))))

    def kernels(self, draws: Numbers = None) -> list[KernelUse]:
        """The kernels of the trace, or those that some draws run, once each.

        Each has `number`, `code`, `stages`, `addresses`, `draws`, `text()` (assembly), `as_json()`, and
        `source_texts()` in captures with GL notes.
        """
        selection = None if draws is None else _selection(draws)
        document = self._document(DecodeOptions(max_rows=0))
        uses = KernelUses(document, selection)
        for item in self._items(document):
            uses.add(item)
        if selection is not None:
            selection.require_any(document.draws, "draw", self.path)
        return uses.found()

    def _document(self, options: DecodeOptions, draw: int | None = None) -> Document:
        """`draw` is the first that matters."""
        document = Document(self._source, file=self.path, container=self.kind, device=self._source.named_device,
                            options=options)
        landmark = None if draw is None else self._known().before(draw)
        if landmark is not None:
            document.begin_at(landmark, self._known().kernels)
        return document

    def _known(self) -> Landmarks:
        """The landmarks, which are read once."""
        if self._landmarks is None:
            self._landmarks = Landmarks() if self._landmarks_of is None else self._landmarks_of()
        return self._landmarks

    def _items(self, document: Document) -> Iterator[Item]:
        for item in document:
            if self._progress is not None and document.number:
                self._progress("submission", document.number - 1)
            yield item
        if document.damage and not self._partial:
            last = document.damage[-1]
            raise TraceError(self.path, last.offset, last.text)

    # --- life -----------------------------------------------------------------------------------------------------
    def close(self) -> None:
        """Free the devices of this trace.  Their moments and surfaces can no longer be read."""
        for stepper in (*self._all, self._own, self._state):
            if stepper is not None:
                stepper.close()
        self._own = self._state = self._tracker = None
        self._bookmarks.clear()
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_all"):
            self.close()

    def __repr__(self) -> str:
        return f"<Trace {self.path} ({self.kind})>"

    def _repr_html_(self) -> str:
        """A table of the first draws, for notebooks."""
        document = self._document(DecodeOptions(follow=False))
        commands = (item for item in document if isinstance(item, Command) and item.draw is not None)
        shown = list(islice(commands, _ROWS_SHOWN + 1))
        rows = "".join(f"<tr><td>{c.draw}</td><td>0x{c.address:08x}</td><td>{escape(c.title)}</td></tr>"
                       for c in shown[:_ROWS_SHOWN])
        more = "<tr><td colspan='3'>…</td></tr>" if len(shown) > _ROWS_SHOWN else ""
        device = "unknown device" if self.device is None else self.device.marketing
        return (f"<p>{escape(self.path)}: {escape(self.kind)}, {escape(device)}</p>"
                f"<table><tr><th>draw</th><th>address</th><th>command</th></tr>{rows}{more}</table>")


class Moment:
    """A point of rest in the execution of a trace: after a draw, a submission or a frame.

    Memory and surfaces can be read until the trace moves on.
    """

    def __init__(self, trace: Trace, stepper: Stepper, stop: Stop) -> None:
        self._trace, self._stepper, self._stop, self._epoch = trace, stepper, stop, stepper.epoch

    @property
    def unit(self) -> str:
        """`draw`, `submission` or `frame`, whichever has just ended."""
        return self._stop.unit

    @property
    def number(self) -> int:
        """Its number, from 0."""
        return self._stop.number

    @property
    def place(self) -> Place:
        """Frame, submission and draw."""
        return self._stop.place

    @property
    def targets(self) -> list[Surface]:
        """The surfaces that were drawn to, without depth buffers, in the order of first use."""
        return [self._surface(t) for t in self._stop.targets if t.kind != "depth"]

    def target(self, index: int = 0) -> Surface:
        """One of the surfaces that were drawn to."""
        found = self.targets
        if not 0 <= index < len(found):
            some = f"it has {len(found)}" if found else "it has none"
            raise SelectionError(f"{self._trace.path}: {self.unit} {self.number} has no target {index}: {some}")
        return found[index]

    @property
    def depth(self) -> Surface | None:
        """The depth buffer that was drawn with."""
        return next((self._surface(t) for t in self._stop.targets if t.kind == "depth"), None)

    def surface(self, address: int, format: str, width: int, height: int, pitch: int,
                tiling: str = "linear") -> Surface:
        """Any piece of memory as an image."""
        return self._surface(surface_target(address, format, width, height, pitch, tiling))

    @property
    def device(self) -> Device:
        """The device in this state: memory, registers, counts.  It must not be changed."""
        self._check()
        return self._stepper.device

    @property
    def memory(self) -> Memory:
        """The memory in this state."""
        return self.device.memory

    def read(self, address: int, size: int) -> bytes:
        """Bytes of memory; zeros where nothing was written."""
        return self.memory.read(address, size, Missing.ZERO)

    def _surface(self, target: Target) -> Surface:
        self._check()
        return Surface(self._stepper.device.memory, target, self._check)

    def _check(self) -> None:
        if self._stepper.epoch != self._epoch:
            raise StaleError(f"{self._trace.path}: the trace has moved on from {self.unit} {self.number}; read pixels "
                             f"and memory before that")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.unit} {self.number} ({self.place.text})>"


class Draw(Moment):
    """A draw command that has just ended: a primitive, a blit, or the last of a group of media objects."""

    def __init__(self, trace: Trace, stepper: Stepper, stop: Stop, counted: CountedDraw | None = None) -> None:
        super().__init__(trace, stepper, stop)
        self._counters = None if counted is None else counted.counters
        begun, gen = counted or stepper.device.numbers, stepper.device.info.gen
        self._topology = stepper.device.topology if counted is None else counted.topology
        self._kind, words = begun.kind, tuple(memoryview(begun.words).cast("B").cast("I"))
        layout = command_for(words[0], gen)
        name = "" if layout is None else layout.name
        self._command = Command(begun.address, Body(name, layout, words, gen))
        self._command.draw = stop.number

    @property
    def kind(self) -> str:
        """`draw` (a primitive), `blit` or `media object`."""
        return self._kind.value

    @property
    def command(self) -> Command:
        """The command: its address, name and fields (`command.body.view`)."""
        return self._command

    @property
    def topology(self) -> str | None:
        """Of a primitive: `TRILIST`, `RECTLIST`, ..."""
        return self._topology or None

    @property
    def vertex_count(self) -> int | None:
        """Of a primitive: vertices of each instance."""
        return self._field("vertex_count_per_instance")

    @property
    def instance_count(self) -> int | None:
        """Of a primitive: instances."""
        return self._field("instance_count")

    @property
    def counters(self) -> Counters:
        """The work of the draw in each unit (docs/counters.md).

        Unless the draw was executed with `counting`, the first use executes the trace once more to count.
        """
        return self._trace._counters_of(self.number) if self._counters is None else self._counters

    def state(self) -> StateInForce:
        """Everything that the draw executes with, and the commands that set it (`.text()`, `.as_json()`, `.blocks()`).

        Another execution of the trace follows for it, up to where the draw begins.
        """
        return self._trace.state(self.number)

    def _has(self, name: str) -> bool:
        layout = self._command.body.layout
        return layout is not None and name in layout.by_name(self._command.body.gen)

    def _field(self, name: str) -> int | None:
        return int(getattr(self._command.body.view, name)) if self._has(name) else None


def surface_target(address: int, format: str, width: int, height: int, pitch: int, tiling: str) -> Target:
    """A target by the names of its format and tiling."""
    name = format.upper()
    if name not in SurfaceFormat.__members__:
        raise SelectionError(f"unknown surface format {format!r}")
    if tiling.upper() not in ("LINEAR", "X", "Y"):
        raise SelectionError(f"unknown tiling {tiling!r} (known: linear, x, y)")
    return Target("surface", address, SurfaceFormat[name], width, height, pitch, Tiling[tiling.upper()])


def _selection(numbers: Numbers) -> Selection:
    if numbers is None:
        return ALL
    if isinstance(numbers, Selection):
        return numbers
    if isinstance(numbers, int | str):
        return Selection.parse(str(numbers))
    chosen: list[Any] = list(numbers)
    if not chosen:
        raise SelectionError("an empty selection")
    return Selection.parse(",".join(str(n) for n in chosen))
