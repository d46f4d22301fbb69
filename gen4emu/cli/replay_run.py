"""Shared by all ways to replay a trace: pictures, the result, the loop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from gen4emu.cli.terminal import complain, damaged, is_quiet, some
from gen4emu.device import hierarchical_depth
from gen4emu.device.device import Device
from gen4emu.device.error_state import write_error_state
from gen4emu.device.grave_errors import has_grave_errors
from gen4emu.device.place import DrawKind, Place
from gen4emu.device.replay import Frame, Replay
from gen4emu.device.targets import Target
from gen4emu.errors import HangError
from gen4emu.image.raw_video import RawVideo
from gen4emu.image.store import PictureStore, count_text
from gen4emu.selection import ALL, Selection
from gen4emu.trace.events import Warning

# The keys of the numbers of draws.
_KINDS = {"primitives": DrawKind.PRIMITIVE, "blits": DrawKind.BLIT, "media_objects": DrawKind.MEDIA_OBJECT,
          "dispatches": DrawKind.DISPATCH}


class Writer:
    """Takes the pictures of one replay: into a store, as raw video, or none."""

    def __init__(self, store: PictureStore | None, video: RawVideo | None, depth: bool,
                 extra: tuple[Target, ...]) -> None:
        self._store, self._video, self._depth, self._extra = store, video, depth, extra
        self._mark = 0

    def write_draw(self, device: Device, place: Place) -> None:
        """Write the surfaces that the draw or blit has changed."""
        if self._store is None:
            return
        memory = device.memory
        for target in self._wanted(device.targets.latest):
            if memory.changed_since(self._mark, target.address, min(extent(target), memory.size - target.address)):
                self._store.add(memory, target, "draw", place.draw, place, only_changes=True)
        self._mark = memory.mark()

    def write(self, device: Device, frame: Frame) -> None:
        if self._store is not None:
            for target in self._wanted(frame.targets):
                self._store.add(device.memory, target, frame.unit, frame.number, frame.place)
        if self._video is not None and frame.unit == "frame":
            self._video.add(device.memory, frame.targets)

    def _wanted(self, targets: Sequence[Target]) -> Iterator[Target]:
        """The targets that become pictures; the stencil of a depth buffer is a separate one."""
        for target in (*targets, *self._extra):
            if target.kind != "depth":
                yield target
            elif self._depth:
                yield target
                if target.stencil is not None:
                    yield replace(target, kind="stencil", format=target.stencil)


def extent(target: Target) -> int:
    """Bytes that a target may cover, tiles made full, within the address space."""
    rows = (target.y + target.height + 31) // 32 * 32
    return target.pitch * rows


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a replay, which processes exchange as JSON."""

    document: dict[str, Any]  # of `as_json`
    complaints: list[str]
    notes: list[str]
    damage: list[tuple[int, str]]  # offsets and texts
    hierarchical_depth: str

    @classmethod
    def told(cls, found: dict[str, Any]) -> Outcome:
        """From JSON.  Raises TypeError, ValueError or KeyError if `show` could not print it."""
        outcome = cls(**found)
        numbers = [outcome.document[name] for name in ("status", "submissions", *_KINDS)]
        numbers += [offset for offset, _ in outcome.damage]
        texts = [*outcome.complaints, *outcome.notes, outcome.hierarchical_depth, *(text for _, text in outcome.damage)]
        if not all(isinstance(number, int) for number in numbers) or not all(isinstance(text, str) for text in texts):
            raise TypeError("not an outcome")
        return outcome

    def show(self, trace: str, partial: bool, pictures: Sequence[dict[str, Any]] | None, seconds: float) -> None:
        """Print errors, notes and the summary."""
        for line in self.complaints + ([] if is_quiet() else self.notes):
            complain(line)
        damaged(trace, [Warning(offset, text, damage=True) for offset, text in self.damage], partial)
        if not is_quiet():
            if self.hierarchical_depth:
                click.echo(self.hierarchical_depth, err=True)
            click.echo(self._summary(pictures, seconds), err=True)

    def _summary(self, pictures: Sequence[dict[str, Any]] | None, seconds: float) -> str:
        parts = [some(self.document["submissions"], "submission")]
        counts = {kind: self.document[name] for name, kind in _KINDS.items()}
        parts += [some(count, kind.value) for kind, count in counts.items() if count or kind is DrawKind.PRIMITIVE]
        if pictures is not None:
            parts.append(count_text(pictures))
        return f"{', '.join(parts)}, {seconds:.2f} s"

    def as_json(self, status: int, pictures: Sequence[dict[str, Any]] | None, errors: Sequence[str],
                seconds: float) -> dict[str, Any]:
        """docs/json.md describes it."""
        return {**self.document, "status": status, "pictures": list(pictures or ()), "errors": list(errors),
                "seconds": round(seconds, 3)}


class Report:
    """The result of a replay: as text on stderr, as JSON, as an exit status."""

    def __init__(self, run: Replay, trace: str, directory: Path, strict: bool, partial: bool) -> None:
        self.trace = trace
        self.store: PictureStore | None = None
        self.errors: list[str] = []
        self.error_state: Path | None = None
        self._run, self._directory, self._strict, self.partial = run, directory, strict, partial
        self._hang: dict[str, Any] | None = None
        self._started = time.perf_counter()

    def hang(self, error: HangError) -> None:
        """Write the error state, which `gen4emu decode` reads to show where the GPU stopped."""
        device, place = self._run.device, self._run.place
        assert device is not None
        self._directory.mkdir(parents=True, exist_ok=True)
        self.error_state = self._directory / f"hang-{place.submission:05d}.error.gz"
        write_error_state(device, self.error_state, reason=str(error))
        self._hang = {"reason": str(error), **place.as_json(), "error_state": str(self.error_state)}
        if self.store is not None:
            self.store.error_states.append(self.error_state.name)

    def status(self) -> int:
        if self._run.damage and not self.partial:
            return 2
        device = self._run.device
        if device is None:
            return 0
        grave = self._run.differences or has_grave_errors(device)
        return 1 if grave or (self._strict and self._complaints()) else 0

    def _complaints(self) -> list[str]:
        complaints = list(self._run.warnings)
        device = self._run.device
        if device is not None:
            found, faults = device.findings, device.faults
            complaints += [f"{what}: {some(count, 'time')}, first at {found.first[what]}"
                           for what, count in found.count.items()]
            complaints += [str(event) for event in device.events() if not event.is_note]
            complaints += [f"{kind.text}: {some(count, 'time')}, first at 0x{faults.first[kind].address:08x} by "
                           f"{faults.first[kind].unit.name}" for kind, count in faults.counts.items()]
        return complaints

    def outcome(self) -> Outcome:
        """The result so far."""
        device = self._run.device
        return Outcome(self._document(), self._complaints(),
                       [] if device is None else [str(event) for event in device.events() if event.is_note],
                       [(d.offset, d.text) for d in self._run.damage],
                       "" if device is None else hierarchical_depth.summary(device.hierarchical_depth_counts()))

    def show(self) -> None:
        """Print errors, notes and the summary."""
        self.outcome().show(self.trace, self.partial, self._pictures(), self._seconds())

    def as_json(self, status: int) -> dict[str, Any]:
        """docs/json.md describes it."""
        return self.outcome().as_json(status, self._pictures(), self.errors, self._seconds())

    def _pictures(self) -> list[dict[str, Any]] | None:
        return None if self.store is None else self.store.pictures

    def _seconds(self) -> float:
        return time.perf_counter() - self._started

    def _counts(self) -> dict[DrawKind, int]:
        device = self._run.device
        return dict.fromkeys(DrawKind, 0) if device is None else device.numbers.counts

    def _document(self) -> dict[str, Any]:
        run, counts = self._run, self._counts()
        document: dict[str, Any] = {
            "schema": "gen4emu.replay/1", "file": self.trace,
            "device": None if run.device is None else run.device.info.name, "status": 0,
            "submissions": run.submissions, "frames": run.frame_count, "draws": run.draws,
            **{name: counts[kind] for name, kind in _KINDS.items()},
            "directory": None if self.store is None else str(self.store.directory),
            "pictures": [],
            "warnings": run.warnings, "damage": [f"0x{d.offset:08x}: {d.text}" for d in run.damage],
            "differences": run.differences, "findings": [], "events": [], "faults": [], "hang": self._hang,
            "errors": [], "seconds": 0.0}
        if run.device is not None:
            found, faults = run.device.findings, run.device.faults
            document["findings"] = [{"text": text, "count": count, "first": found.first[text]}
                                    for text, count in found.count.items()]
            document["events"] = [{"text": e.text, "count": e.count, "note": e.is_note, "address": e.address,
                                   "value": e.value} for e in run.device.events()]
            document["faults"] = [{"text": kind.text, "count": count, "address": faults.first[kind].address,
                                   "unit": faults.first[kind].unit.name} for kind, count in faults.counts.items()]
            hiz = run.device.hierarchical_depth_counts()
            if any(hiz.values()):
                document["hierarchical_depth"] = hierarchical_depth.as_json(hiz)
        return document


def replay_frames(run: Replay, writer: Writer, report: Report, frames: Selection | None, submissions: Selection | None,
                  draws: Selection | None, *, is_part: bool = False) -> None:
    """Execute a trace, or a selected part of it, and write the pictures.

    `is_part`: the frames are a part of those that were selected, which need not be in the trace.
    """
    if frames is None and submissions is None and (draws is None or draws.is_all):
        frames = ALL
    try:
        for frame in run.frames(frames, submissions, draws):
            assert run.device is not None
            writer.write(run.device, frame)
    except HangError as e:
        report.hang(e)
        raise HangError(f"{report.trace}: {e} ({run.place.text}); error state: {report.error_state}") from e
    if not report.partial:
        run.look_for_damage()
    if is_part:
        return
    for selected, count, noun in ((frames, run.frame_count, "frame"), (submissions, run.submissions, "submission"),
                                  (draws, run.draws, "draw")):
        if selected is not None and not selected.is_all:
            selected.require_any(count, noun, report.trace)
