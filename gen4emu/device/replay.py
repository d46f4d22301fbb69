"""Replays a trace on a device: frames with the surfaces that were drawn to, and damage of the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from gen4emu.device.checkpoints import Checkpoint, Spare, restore, take
from gen4emu.device.counters import CountedDraw
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.targets import Target, check_picture_size
from gen4emu.device.tiling import Tiling
from gen4emu.errors import DecodeError
from gen4emu.hw import chips
from gen4emu.hw.scanout import DUMP_FORMATS
from gen4emu.selection import ALL, Selection
from gen4emu.trace import events
from gen4emu.trace.capture import digest_of
from gen4emu.trace.devices import unnamed
from gen4emu.trace.reader import Trace

_MAX_DIFFERENCES = 10  # that are listed
_PIECE_BYTES = 1 << 20
_LARGE_RANGE = 64 << 20  # of an expectation: a larger buffer of a program would mostly have contents


@dataclass(frozen=True, slots=True)
class Frame:
    """A moment at which pictures are taken: the end of a frame, or of a submission that was selected."""

    number: int  # of the frame, or of the submission
    place: Place  # of the last draw before it
    targets: tuple[Target, ...]
    unit: str = "frame"  # or "submission"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A replay before a submission, or inside one after a draw: the device, and the position in the trace."""

    checkpoint: Checkpoint
    position: int  # in the events of the trace: that of the submission
    submissions: int  # that have begun
    frames: int
    targets: tuple[Target, ...]  # inside a submission: those of its frame before it
    warnings: tuple[str, ...]
    damage: tuple[events.Warning, ...]
    differences: int
    since: Order | None = None  # that of the bookmark before, from which the checkpoint's image says what was written

    @property
    def is_inside(self) -> bool:
        """Whether this is inside a submission."""
        return self.checkpoint.state.is_inside

    @property
    def ended_submissions(self) -> int:
        return self.submissions - self.is_inside

    @property
    def order(self) -> Order:
        """Sorts the bookmarks of a trace."""
        return self.submissions, not self.is_inside, self.checkpoint.draws


Order = tuple[int, bool, int]


class _Stop(Exception):
    """The rest of the trace is not needed."""


class _Progress(Listener):
    """Notifies a replay, after the listeners that were added to the device at the start of the run."""

    def __init__(self, draw_done: Callable[[], None], draw_counted: Callable[[CountedDraw], None] | None) -> None:
        self._draw_done, self._draw_counted = draw_done, draw_counted

    def draw_done(self) -> None:
        self._draw_done()

    def draw_counted(self, draw: CountedDraw) -> None:
        if self._draw_counted is not None:
            self._draw_counted(draw)


class Replay:
    """Feeds a trace to a device and stops at selected frames and submissions."""

    def __init__(self, trace: Trace, info: chips.Device | None = None, options: Options | None = None, *,
                 on_start: Callable[[Device], None] | None = None, on_draw: Callable[[int], None] | None = None,
                 on_counters: Callable[[CountedDraw], None] | None = None,
                 on_rest: Callable[[], object] | None = None, at: Bookmark | None = None,
                 spare: Spare | None = None, compares: bool = True) -> None:
        """`on_start` is called with the device before the first submission, `on_draw` with the number of every draw
        that has ended, `on_counters` with the counters of each draw.  Draws are counted if `on_counters` is given.
        `on_rest` is called while the device rests: before every submission, and inside submissions after draws.  `at`
        is where the replay begins: a bookmark of a replay of the same trace on the same chip with the same options;
        `spare` is what such a replay has left (`release`).  Without `compares`, memory is not compared with what the
        trace expects."""
        self.trace = trace
        self.options = options
        self.device: Device | None = Device(info, options) if info is not None and at is None else None
        self._on_rest, self._at, self._spare, self._compares = on_rest, at, spare, compares
        if at is None:
            self._close_spare()
        self._is_inside = False  # a submission
        self._targets_before: tuple[Target, ...] = ()  # of the frame, before the submission that runs
        self._has_started = False
        self._position = 0  # in the events of the trace
        self._before: Checkpoint | None = None  # the last checkpoint
        self._before_order: Order | None = None
        self._on_start, self._on_draw, self._on_counters = on_start, on_draw, on_counters
        self.submissions = 0  # that have begun
        self.frame_count = 0  # frames that have ended
        self.warnings: list[str] = []
        self.damage: list[events.Warning] = []  # where the file is cut short
        self.differences = 0  # from what the trace expects
        self._marked = False
        self._selected: tuple[Selection | None, Selection | None, Selection | None] = (ALL, None, None)

    def close(self) -> None:
        if self.device is not None:
            self.device.close()
        self._close_spare()

    def release(self) -> Spare | None:
        """Close the replay but for its memory, which another replay may use."""
        self._close_spare()
        device = self.device
        if device is None or device.native is None or self._before is None:
            self.close()
            return None
        return Spare(device.release(), device.page_tables, self._before.memory)

    def _close_spare(self) -> None:
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def frames(self, frames: Selection | None = ALL, submissions: Selection | None = None,
               draws: Selection | None = None) -> Iterator[Frame]:
        """Run the trace; yields each selected frame, and each selected submission, when memory shows it.

        A trace that marks its frames (dump requests, boundaries) has those; any other one has a frame for each
        submission.  The run ends after the last frame, submission and draw that is selected.
        """
        if self._at is not None:
            self._begin_at(self._at)
        self._marked = self.trace.has_marks()
        self._selected = frames, submissions, draws
        with suppress(_Stop):
            for frame in self._all_frames(submissions):
                selected = submissions if frame.unit == "submission" else frames
                if selected is not None and frame.number in selected:
                    yield frame
                if self._is_done():
                    return

    def _begin_at(self, bookmark: Bookmark) -> None:
        spare, self._spare = self._spare, None
        self.device, self._before = restore(bookmark.checkpoint, spare)
        self._before_order = bookmark.order
        self.submissions, self.frame_count = bookmark.submissions, bookmark.frames
        self.warnings = list(bookmark.warnings)
        self.damage += [found for found in bookmark.damage if found not in self.damage]
        self.differences = bookmark.differences
        self._targets_before = bookmark.targets

    def bookmark(self) -> Bookmark | None:
        """For use in `on_rest`: where the replay is now; None if the device has state that cannot be kept."""
        checkpoint = take(self._running(), self._before)
        if checkpoint is None:
            return None
        since, self._before, self._before_order = self._before_order, checkpoint, self.order
        return Bookmark(checkpoint, self._position, self.submissions, self.frame_count, self._targets_before,
                        tuple(self.warnings), tuple(self.damage), self.differences, since)

    @property
    def order(self) -> Order:
        """For use in `on_rest`: that of a bookmark here."""
        return self.submissions, not self._is_inside, self.draws

    def look_for_damage(self) -> None:
        """After a run that ended early: read the rest of the file, too, so that `damage` is complete."""
        self.damage += [found for found in self.trace.damage() if found not in self.damage]

    def stop(self) -> None:
        """For use in `on_draw`: end the run."""
        raise _Stop

    @property
    def draws(self) -> int:
        """The number of draw commands that have begun: primitives, blits and media objects."""
        return 0 if self.device is None else self.device.numbers.total

    def has_ended(self, draws: Selection) -> bool:
        """For use in `on_draw`: whether the draw that has ended is selected, or one of several media objects."""
        assert self.device is not None
        return draws.overlaps(self.device.numbers.first, self.device.numbers.draw)

    @property
    def place(self) -> Place:
        """The draw that runs, or ran last."""
        return Place(0, 0, 0) if self.device is None else self.device.place

    def _is_done(self) -> bool:
        """Whether nothing that follows is selected."""
        ended = 0 if self.device is None else self.device.submissions
        following = (self.frame_count, ended, self.draws)
        return all(s is None or s.is_over(n) for s, n in zip(self._selected, following, strict=True))

    def _all_frames(self, submissions: Selection | None) -> Iterator[Frame]:
        first = 0 if self._at is None else self._at.position
        for position, event in self.trace.from_position(first):
            self._position = position
            if isinstance(event, events.Header):
                self._start(event)
            elif isinstance(event, events.Warning):
                self._warn(event)
            elif isinstance(event, events.ExpectedMemory):
                if self._compares:
                    self._compare(event)
            elif isinstance(event, events.SurfaceDump):
                yield self._end_frame(self._dumped(event))
            elif isinstance(event, events.FrameBoundary):
                yield self._end_frame(tuple(self._running().take_targets()))
            elif isinstance(event, events.Submission):
                yield from self._submit(event, submissions)
            else:
                self._running().apply(event)

    def _warn(self, warning: events.Warning) -> None:
        if warning.damage:
            self.damage.append(warning)
        else:
            self.warnings.append(f"0x{warning.offset:08x}: {warning.text}")

    def _start(self, header: events.Header) -> None:
        if self.device is None:
            info = chips.BY_PCI_ID.get(header.pci_id or 0)
            if info is None:
                raise unnamed(self.trace.path)
            self.device = Device(info, self.options)

    def _running(self) -> Device:
        if self.device is None:
            raise unnamed(self.trace.path)
        return self.device

    def _submit(self, event: events.Submission, selected: Selection | None) -> Iterator[Frame]:
        device = self._running()
        resumed = self._at is not None and self._at.is_inside and not self._has_started
        if not resumed and self._on_rest is not None:
            self._on_rest()
        if not self._has_started:
            self._has_started = True
            self._prepare(device)
        if not resumed:
            device.frame = self.frame_count
            self._targets_before = tuple(device.take_targets())
            self.submissions += 1
        number = self.submissions - 1
        self._is_inside = True
        if resumed:
            device.resume()
        else:
            device.submit(event)
        self._is_inside = False
        before, self._targets_before = self._targets_before, ()
        if selected is not None and number in selected:
            drawn = tuple(device.take_targets())
            yield Frame(number, Place(device.frame, number, device.numbers.draw), drawn, "submission")
            device.targets.put_back(drawn)
        device.targets.put_back(before)  # they belong to the frame, too
        if not self._marked:
            yield self._end_frame(tuple(device.take_targets()))

    def _prepare(self, device: Device) -> None:
        """Notify this replay of what the device does."""
        if self._on_start is not None:
            self._on_start(device)
        device.add_listener(_Progress(self._draw_done, self._on_counters))
        if self._on_counters is not None:
            device.counting = True
        if self._on_rest is not None:
            device.notify_at_rest(self._on_rest)

    def _draw_done(self) -> None:
        """A draw of the device has ended."""
        if self._on_draw is not None:
            self._on_draw(self.place.draw)
        if self._is_done():
            raise _Stop

    def _dumped(self, dump: events.SurfaceDump) -> tuple[Target, ...]:
        """The picture that a trace requests.  An impossible size is damage."""
        self._running().take_targets()  # this frame is the surface that is shown
        target = _dump_target(dump)
        problem = check_picture_size(target.width, target.height)
        if problem is None:
            return (target,)
        self._warn(events.Warning(dump.offset, f"a picture of {problem}", damage=True))
        return ()

    def _compare(self, expected: events.ExpectedMemory) -> None:
        """Compare memory with the expectation of a capture."""
        if self._holds(expected):
            return
        self.differences += 1
        if self.differences <= _MAX_DIFFERENCES:
            self.warnings.append(f"submission {self.submissions - 1}: {expected.size} bytes at "
                                 f"0x{expected.address:08x} differ from the memory of the capture")

    def _holds(self, expected: events.ExpectedMemory) -> bool:
        """Large ranges are read in pieces, and only if memory has that much: a record of 40 bytes must be cheap."""
        memory = self._running().memory
        if expected.size > _LARGE_RANGE and memory.owned_bytes < expected.size:
            return False
        pieces = (memory.read(at, min(_PIECE_BYTES, expected.address + expected.size - at), Missing.ZERO)
                  for at in range(expected.address, expected.address + expected.size, _PIECE_BYTES))
        return digest_of(pieces) == expected.digest

    def _end_frame(self, targets: tuple[Target, ...]) -> Frame:
        place = Place(self.frame_count, max(0, self.submissions - 1), self.place.draw)
        frame = Frame(self.frame_count, place, targets)
        self.frame_count += 1
        return frame


_DUMP_TILINGS = {"linear": Tiling.LINEAR, "x": Tiling.X, "y": Tiling.Y}


def _dump_target(dump: events.SurfaceDump) -> Target:
    form = DUMP_FORMATS.get(dump.format)
    if form is None:
        raise DecodeError(f"dump request at 0x{dump.offset:08x}: format {dump.format} is unknown")
    return Target("shown", dump.address, form, dump.width, dump.height, dump.pitch_bytes, _DUMP_TILINGS[dump.tiling],
                  dump.x, dump.y)
