"""The history of a pixel: every fragment that reached it, and where each came from (spec/60 9.4 D8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gen4emu.debug.model import (
    Color,
    Fate,
    Fragment,
    Object,
    Origin,
    Place,
    Thread,
    fragment_of,
    object_of,
    place_of,
    thread_of,
)
from gen4emu.device.device import Device, Options
from gen4emu.device.memory import Unit
from gen4emu.device.observer import Action, Kind, Trap, TrapKind, Wishes
from gen4emu.device.replay import Replay
from gen4emu.device.targets import Target
from gen4emu.hw.gen import Device as Part
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.image.picture import read_channels
from gen4emu.trace.opening import Trace

MOST = 100_000  # fragments, and objects, that are kept


@dataclass(frozen=True, slots=True)
class Change:
    """A pixel that became something else without a fragment: a blit, or memory that was written from outside."""

    place: Place
    target: int
    before: Color
    after: Color

    def as_json(self) -> dict[str, Any]:
        return {"submission": self.place.submission, "draw": self.place.draw, "fate": "blit", "target": self.target,
                "before": self.before, "after": self.after}


@dataclass(slots=True)
class History:
    """What happened to a pixel, in order."""

    x: int
    y: int
    entries: list[Fragment | Change] = field(default_factory=list)
    objects: dict[tuple[int, int], Object] = field(default_factory=dict)  # by draw and number
    dropped: int = 0  # what there was no room for

    def object_of(self, fragment: Fragment) -> Object | None:
        return self.objects.get((fragment.place.draw, fragment.object))

    def fragments(self, target: int | None = None) -> list[Fragment]:
        return [e for e in self.entries if isinstance(e, Fragment) and (target is None or e.target == target)]

    def targets(self) -> list[int]:
        """The surfaces that the pixel was drawn to, in order of first use."""
        return list(dict.fromkeys(e.target for e in self.entries if e.target is not None))

    def as_json(self) -> dict[str, Any]:
        entries = []
        for entry in self.entries:
            found = entry.as_json()
            if isinstance(entry, Fragment):
                of = self.object_of(entry)
                found["from"] = of.as_json() if of is not None else None
            entries.append(found)
        return {"pixel": [self.x, self.y], "history": entries, "dropped": self.dropped}


class Recorder:
    """Collects the history of a pixel while a device draws."""

    def __init__(self, device: Device, x: int, y: int) -> None:
        self.device = device
        self.history = History(x, y)
        self._wishes = Wishes(pixel=(x, y), handlers={Kind.FRAGMENT: self._fragment, Kind.OBJECT: self._object})
        self._candidates: dict[int, Object] = {}  # of the draw that runs
        self._seen: set[int] = set()
        self._first = 0  # of the draw's entries
        self._colors: dict[Target, Color] = {}
        device.observer.add(self._wishes)
        device.on_draw.append(self._drawn)

    def close(self) -> None:
        self.device.observer.remove(self._wishes)

    def _fragment(self, event: Any) -> Action:
        fragment = fragment_of(self.device, event)
        if len(self.history.entries) >= MOST:
            self.history.dropped += 1
            return Action.GO
        self.history.entries.append(fragment)
        if fragment.target is not None and fragment.fate is Fate.WRITTEN:
            self._seen.add(fragment.target)
        candidate = self._candidates.get(fragment.object)
        if candidate is not None:
            self.history.objects[fragment.place.draw, fragment.object] = candidate
        return Action.GO

    def _object(self, event: Any) -> Action:
        if len(self._candidates) < MOST:
            found = object_of(self.device, event)
            self._candidates[found.number] = found
        return Action.GO

    def _drawn(self) -> None:
        """A draw has ended: tests come before the threads of earlier objects, and some changes are no fragments."""
        h = self.history
        h.entries[self._first:] = sorted(h.entries[self._first:], key=_object_number)
        for target in self.device.targets.latest:
            if target.kind == "depth" or target.chroma or not (0 <= h.x < target.width and 0 <= h.y < target.height):
                continue
            now = _color_of(self.device, target, h.x, h.y)
            before = self._colors.get(target)
            if before is not None and now != before and target.address not in self._seen:
                h.entries.append(Change(place_of(self.device), target.address, before, now))
            self._colors[target] = now
        self._candidates.clear()
        self._seen.clear()
        self._first = len(h.entries)


def _object_number(entry: Fragment | Change) -> int:
    return entry.object if isinstance(entry, Fragment) else 1 << 24


def _color_of(device: Device, target: Target, x: int, y: int) -> Color:
    one = Target(target.kind, target.address, target.format, 1, 1, target.pitch, target.tiling, target.x + x,
                 target.y + y)
    return {name: values[0, 0].item() for name, values in read_channels(device.memory, one).items()}


def record(trace: Trace, part: Part | None, options: Options, x: int, y: int, until: Place | None = None) -> History:
    """Replay a trace and follow a pixel, up to the end of a draw, or all the way."""
    run = Replay(trace, part, options)
    recorder: Recorder | None = None
    try:
        def start(device: Device) -> None:
            nonlocal recorder
            recorder = Recorder(device, x, y)

        run.on_start = start
        if until is not None:
            run.on_draw = lambda number: run.stop() if number >= until.draw else None
        for _ in run.frames():
            pass
        return recorder.history if recorder is not None else History(x, y)
    finally:
        run.close()


# --- text -----------------------------------------------------------------------------------------------------------
def color_text(color: Color) -> str:
    if not color:
        return "?"
    return "(" + ", ".join(f"{name} {value:.4g}" for name, value in color.items()) + ")"


def origin_lines(origin: Origin | None, indent: str) -> Iterator[str]:
    """A vertex, and the vertices that it was made of."""
    if origin is None:
        yield f"{indent}not known"
    elif origin.unit is Unit.VF:
        shaded = "not shaded" if origin.thread is None else f"vs thread {origin.thread}"
        instance = f", instance {origin.instance}" if origin.instance else ""
        yield f"{indent}{shaded}: vertex index {origin.index} (sequence {origin.output}{instance})"
    else:
        yield f"{indent}{origin.unit.name.lower()} thread {origin.thread}, its vertex {origin.output}, out of"
        for vertex in origin.inputs:
            yield from origin_lines(vertex, indent + "  ")


def object_lines(of: Object, indent: str = "") -> Iterator[str]:
    """An object back to vertex indices: SF thread, vertices, CLIP, GS and VS threads."""
    kind = of.topology.name if isinstance(of.topology, PrimitiveTopology) else f"topology {of.topology}"
    facing = ", back facing" if of.back_facing else ""
    yield f"{indent}object {of.number}: {kind}{facing}, {of.thread.name}, kernel 0x{of.thread.kernel:08x}"
    for corner, at in zip(of.corners, of.positions, strict=True):
        yield f"{indent}  vertex at ({at[0]:.6g}, {at[1]:.6g}, {at[2]:.6g}), 1/w {at[3]:.6g}"
        yield from origin_lines(corner, indent + "    ")


def _thread_line(thread: Thread) -> str:
    blocks = " ".join(f"({x},{y})" for x, y in thread.subspans)
    return (f"{thread.name} ({thread.in_object} of its object), kernel 0x{thread.kernel:08x}, "
            f"2x2 blocks {blocks}")


def fragment_lines(fragment: Fragment) -> Iterator[str]:
    f = fragment
    yield f"{f.place}, object {f.object}: {f.fate.value}"
    if f.depth_before is not None and f.depth_after is not None:
        changed = f" -> {f.depth_after}" if f.depth_after != f.depth_before else ""
        yield f"  z {f.z:.7g}, depth buffer {f.depth_before}{changed}"
    if f.thread is not None:
        yield f"  {_thread_line(f.thread)}"
        if f.fate is not Fate.KILLED:
            yield (f"  sent ({', '.join(f'{v:.6g}' for v in f.sent)}) to 0x{f.target:08x} {f.format}: "
                   f"{color_text(f.before)} -> {color_text(f.after)}")


def history_lines(history: History, target: int | None = None, back_trace: bool = True) -> Iterator[str]:
    """All of it, oldest first."""
    shown = 0
    yield f"pixel {history.x},{history.y}"
    for entry in history.entries:
        if target is not None and entry.target not in (target, None):
            continue
        shown += 1
        if isinstance(entry, Change):
            yield f"{entry.place}: 0x{entry.target:08x} changed {color_text(entry.before)} -> {color_text(entry.after)}"
            yield "  by no fragment: a blit"
            continue
        yield from fragment_lines(entry)
        of = history.object_of(entry) if back_trace else None
        if of is not None:
            yield from object_lines(of, "  ")
    if history.dropped:
        yield f"{history.dropped} more are not shown"
    if not shown:
        yield "nothing was drawn there"


# --- traps of pixels ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Occurrence:
    """A pixel's 2x2 block was dispatched."""

    x: int
    y: int
    instance: int
    place: Place
    thread: Thread

    def __str__(self) -> str:
        t = self.thread
        return (f"pixel {self.x},{self.y}: instance {self.instance}, {self.place}, object {t.object}, {t.name}, "
                f"kernel 0x{t.kernel:08x}")


def trap_pixel(device: Device, x: int, y: int, instance: int = 0,
               tell: Callable[[Occurrence], object] | None = None) -> list[Occurrence]:
    """From now on note when a pixel's 2x2 block is dispatched: the n-th time, or whenever it is (spec/60 9.2)."""
    found: list[Occurrence] = []

    def handle(event: Any) -> Action:
        if len(found) < MOST:
            found.append(Occurrence(x, y, event.occurrence, place_of(device), thread_of(event)))
            if tell is not None:
                tell(found[-1])
        return Action.GO

    device.observer.add(Wishes(traps=[Trap(TrapKind.PIXEL, x=x, y=y, instance=instance)],
                               handlers={Kind.THREAD: handle}))
    return found
