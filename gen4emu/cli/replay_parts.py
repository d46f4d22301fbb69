"""Replay by ranges of frames, each in a separate process that begins at a checkpoint of the trace's index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gen4emu.children import Ended, Tell, messages
from gen4emu.cli.replay_run import Outcome, Report, Writer, replay_frames
from gen4emu.device import bookmark_file
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.image.store import PictureStore, files_of
from gen4emu.sandbox import Mode, Sandbox
from gen4emu.selection import Selection
from gen4emu.trace.reader import Trace

_PARTS_OF_A_PROCESS = 2  # so that one which takes longer does not leave the others idle for long


@dataclass(frozen=True, slots=True)
class Start:
    """A bookmark, of which this process knows no more: others read the index, when they are confined."""

    number: int  # in the index
    frames: int  # that begin before it
    draws: int


@dataclass(frozen=True, slots=True)
class FrameRange:
    """A range of frames, and where its execution begins."""

    at: Start | None  # None: at the start of the trace
    frames: Selection
    is_last: bool


@dataclass(frozen=True, slots=True)
class Job:
    """The arguments that all parts share."""

    trace: str
    index: bookmark_file.Signed
    opened: Callable[[], Trace]
    options: Options
    asked: Selection  # frames
    directory: Path
    store: Callable[[Callable[[dict[str, Any]], None]], PictureStore] | None
    writer: Callable[[PictureStore | None], Writer]
    confined: Callable[[], Sandbox]
    strict: bool
    partial: bool


@dataclass(slots=True)
class Joined:
    """The result of all parts, or of those up to the first one that failed."""

    outcome: Outcome | None
    error: Gen4emuError | None
    shows: bool  # the outcome, although there is an error


def parts_of(trace: str, options: Options, frames: Selection, processes: int,
             mode: Mode) -> tuple[bookmark_file.Signed, list[FrameRange]]:
    """The index of a trace, and parts with about as many draws each.  Raises BadIndexError without a good index."""
    path = bookmark_file.path_of(trace)
    if not path.is_file():
        raise bookmark_file.BadIndexError(f"--processes needs {path}: `gen4emu index {trace}` writes it")
    index = bookmark_file.signed(trace)
    return index, _divided(_starts(index, options, mode), frames, processes)


def _starts(index: bookmark_file.Signed, options: Options, mode: Mode) -> list[Start]:
    """The bookmarks of an index, which a confined process reads."""
    def read(tell: Tell) -> None:
        with Sandbox(mode) as box:
            box.enter()
            try:
                contents = index.contents()
                bookmarks = contents.with_options(options)
                if contents.bookmarks and not bookmarks:
                    raise bookmark_file.BadIndexError(f"{index.path}: has no checkpoint for these options")
                tell([[bookmark.frames, bookmark.checkpoint.draws] for bookmark in bookmarks])
            except bookmark_file.BadIndexError as e:
                tell(str(e))

    found: Any = None
    for _, message in messages([read], 1):
        if not isinstance(message, Ended):
            found = message
        elif found is None:
            raise bookmark_file.BadIndexError(message.text(f"{index.path}: the process that reads it"))
    if isinstance(found, str):
        raise bookmark_file.BadIndexError(found)
    try:
        return [Start(number, int(first), int(draws)) for number, (first, draws) in enumerate(found)]
    except (TypeError, ValueError, OverflowError):
        raise bookmark_file.BadIndexError(f"{index.path}: has no valid contents") from None


def _divided(bookmarks: Sequence[Start], frames: Selection, processes: int) -> list[FrameRange]:
    last = frames.last
    starts = {bookmark.frames: bookmark for bookmark in bookmarks}  # the nearest to the end of each frame
    before = [number for number in starts if number <= frames.first]
    begin = starts[max(before)] if before and frames.first else None
    cuts = _cuts([bookmark for number, bookmark in starts.items()
                  if number > frames.first and (last is None or number <= last)],
                 0 if begin is None else begin.draws, _PARTS_OF_A_PROCESS * processes)
    ranges = []
    for (number, at), end in zip([(frames.first, begin), *cuts.items()], [*cuts, None], strict=True):
        selected = frames.within(number, end)
        if selected is not None:
            ranges.append((at, selected))
    return [FrameRange(at, selected, i == len(ranges) - 1) for i, (at, selected) in enumerate(ranges)]


def _cuts(bookmarks: Sequence[Start], first_draw: int, count: int) -> dict[int, Start]:
    """The frames at which parts with about as many draws begin, and their bookmarks."""
    if not bookmarks:
        return {}
    draws = bookmarks[-1].draws - first_draw

    def nearest(draw: int) -> Start:
        return min(bookmarks, key=lambda bookmark: abs(bookmark.draws - draw))

    chosen = (nearest(first_draw + draws * i // count) for i in range(1, count))
    return {bookmark.frames: bookmark for bookmark in chosen}


def replay_parts(job: Job, parts: Sequence[FrameRange], processes: int, store: PictureStore | None,
                 tick: Callable[[int], object]) -> Joined:
    """Execute the parts, and take over their pictures in the order of the trace; `tick` gets the parts that ended."""
    told: list[list[dict[str, Any]]] = [[] for _ in parts]  # pictures that are not in the store yet
    ends: list[Joined | None] = [None] * len(parts)
    current = 0  # the first part that has not ended

    def take_over() -> None:
        nonlocal current
        while current < len(parts):
            pictures = told[current]
            while store is not None and pictures:
                store.take_over(pictures[0])
                pictures.pop(0)
            end = ends[current]
            if end is None or end.error is not None:
                return
            current += 1

    def receive(i: int, message: Any) -> None:
        frames = parts[i].frames
        name = f"{job.trace}: the process of frames {frames.first}-{'' if frames.last is None else frames.last}"
        if isinstance(message, Ended):
            if ends[i] is None:
                ends[i] = Joined(None, Gen4emuError(message.text(name)), False)
            return
        try:
            take(i, message)
        except (TypeError, ValueError, KeyError, AttributeError):
            ends[i] = Joined(None, Gen4emuError(f"{name} told nonsense"), False)

    def take(i: int, message: dict[str, Any]) -> None:
        """Enter what a process tells, which its trace may have taken over."""
        if "picture" in message:
            if all(Path(name).name == name for name in files_of(message["picture"])):
                told[i].append(message["picture"])
        elif "device" in message:
            if store is not None:
                store.device = message["device"]
        else:
            error = message["error"]
            kind = HangError if message["hung"] else Gen4emuError
            ends[i] = Joined(Outcome.told(message["outcome"]), None if error is None else kind(error), message["hung"])
            if store is not None and all(ends[:i]):
                store.error_states += message["error_states"]

    before = _pictures_in(job.directory)
    works = [partial(_execute, job, part) for part in parts]
    running = messages(works, processes, lambda: tick(sum(end is not None for end in ends)), receive)
    try:
        for i, message in running:
            receive(i, message)
            take_over()
            if current < len(parts) and (end := ends[current]) is not None and end.error is not None:
                return end
    finally:
        running.close()
        if store is not None and current < len(parts):
            # of frames that a single replay would not have reached: also those that are written, but not told of yet
            taken = {name for entry in store.pictures for name in files_of(entry)}
            for name in _pictures_in(job.directory) - before - taken:
                (job.directory / name).unlink(missing_ok=True)
    end = ends[-1]
    assert end is not None
    return end


def _pictures_in(directory: Path) -> set[str]:
    return {path.name for path in directory.glob("*-[0-9][0-9][0-9][0-9][0-9]-*")}


def _execute(job: Job, part: FrameRange, tell: Tell) -> None:
    with ExitStack() as stack:
        stack.enter_context(job.confined())
        at = None
        if part.at is not None:
            at = job.index.contents().with_options(job.options)[part.at.number]
        run = Replay(job.opened(), None, job.options, at=at,
                     on_start=lambda device: tell({"device": device.info.name}))
        stack.callback(run.close)
        report = Report(run, job.trace, job.directory, job.strict, job.partial or not part.is_last)
        error, hung = None, False
        try:
            with ExitStack() as files:
                if job.store is not None:
                    report.store = job.store(lambda entry: tell({"picture": entry}))
                    files.callback(report.store.close)
                replay_frames(run, job.writer(report.store), report, part.frames, None, None, is_part=True)
            if part.is_last and not job.asked.is_all:
                job.asked.require_any(run.frame_count, "frame", job.trace)
        except (Gen4emuError, OSError, MemoryError) as e:
            error, hung = _text(e), isinstance(e, HangError)
        report.partial = job.partial
        outcome = report.outcome()
        outcome.document["status"] = report.status()
        tell({"outcome": asdict(outcome), "error": error, "hung": hung,
              "error_states": [] if report.store is None else report.store.error_states})


def _text(error: BaseException) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}"
    return "out of memory" if isinstance(error, MemoryError) else str(error)
