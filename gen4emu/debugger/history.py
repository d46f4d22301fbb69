"""The history of a pixel: every fragment that reached it, its fate and its origin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gen4emu.core_enums import DEBUG_NUMBERS, DebugAction, DebugKind, TrapKind
from gen4emu.debugger.model import (
    Color,
    Fate,
    Fragment,
    Object,
    Origin,
    Thread,
    fragment_of,
    object_of,
    thread_of,
)
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import Unit
from gen4emu.device.observer import Subscription, Trap
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.replay import Replay
from gen4emu.device.targets import Target
from gen4emu.errors import HangError
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.command_reader import Words
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.image.picture import read_channels
from gen4emu.selection import ALL, Selection
from gen4emu.trace.events import Warning
from gen4emu.trace.reader import Trace

SCHEMA = "gen4emu.history/1"
MOST = 100_000  # fragments, and objects, that are kept
MOST_GROUPS = 8  # that the text shows


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a pixel without a fragment: a blit, or a write to memory from outside."""

    place: Place
    target: int
    before: Color
    after: Color

    def as_json(self) -> dict[str, Any]:
        return {**self.place.as_json(), "fate": "blit", "target": self.target,
                "before": self.before, "after": self.after}


@dataclass(slots=True)
class History:
    """All entries of a pixel, in order."""

    x: int
    y: int
    entries: list[Fragment | Change] = field(default_factory=list)
    objects: dict[tuple[int, int], Object] = field(default_factory=dict)  # by draw and number
    draw_targets: dict[int, int] = field(default_factory=dict)  # by draw: its first render target
    dropped: int = 0  # entries beyond MOST
    damage: list[Warning] = field(default_factory=list)  # of the trace
    hang: str = ""  # the error, if the GPU hung

    @property
    def is_complete(self) -> bool:
        """Whether it has all entries of a trace that ends by itself."""
        return not self.dropped and not self.hang

    def up_to(self, draw: int) -> History:
        """The history that ends with a draw."""
        return History(self.x, self.y, [e for e in self.entries if e.place.draw <= draw],
                       {key: of for key, of in self.objects.items() if key[0] <= draw},
                       {number: target for number, target in self.draw_targets.items() if number <= draw},
                       damage=list(self.damage))

    def object_of(self, fragment: Fragment) -> Object | None:
        return self.objects.get((fragment.place.draw, fragment.object))

    def fragments(self, target: int | None = None) -> list[Fragment]:
        return [e for e in self.entries if isinstance(e, Fragment) and (target is None or e.target == target)]

    def targets(self) -> list[int]:
        """The surfaces that the pixel was drawn to, in order of first use."""
        return list(dict.fromkeys(e.target for e in self.entries if e.target is not None))

    def target_of(self, entry: Fragment | Change) -> int | None:
        """The surface of an entry; for fragments without a thread, the one that their draw writes."""
        return entry.target if entry.target is not None else self.draw_targets.get(entry.place.draw)

    def groups(self, target: int | None = None) -> list[Group]:
        """The entries by target and frame, newest first."""
        found: dict[tuple[int, int | None], Group] = {}
        for entry in reversed(self.entries):
            key = entry.place.frame, self.target_of(entry)
            if target is None or key[1] == target:
                found.setdefault(key, Group(*key)).entries.append(entry)
        return list(found.values())

    def as_json(self) -> dict[str, Any]:
        """Everything, oldest entry first (docs/json.md)."""
        entries = []
        for entry in self.entries:
            found = entry.as_json()
            if isinstance(entry, Fragment):
                of = self.object_of(entry)
                found["from"] = of.as_json() if of is not None else None
            entries.append(found)
        return {"pixel": [self.x, self.y], "history": entries, "dropped": self.dropped, "hang": self.hang or None,
                "verdict": self.verdict(),
                "groups": [{"frame": g.frame, "target": g.target, "entries": len(g.entries), "verdict": g.verdict}
                           for g in self.groups()]}

    @property
    def why(self) -> str:
        """The cause of the pixel's value, in one line."""
        return self.verdict()

    def verdict(self, target: int | None = None) -> str:
        """The pixel's value and its cause, in one line."""
        groups = self.groups(target)
        return groups[0].verdict if groups else "nothing covered it"


@dataclass(slots=True)
class Group:
    """The entries of one pixel of one target in one frame, newest first."""

    frame: int
    target: int | None
    entries: list[Fragment | Change] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The entry that the pixel shows, and the fate of later ones."""
        last = next((i for i, e in enumerate(self.entries) if isinstance(e, Change) or e.fate in _SHOWN), None)
        if last is None:
            return _rejected(some(len(self.entries), "fragment"), self.entries)
        entry = self.entries[last]
        if isinstance(entry, Change):
            text = f"changed last by draw {entry.place.draw}, which drew no fragment here (a blit or media objects)"
        else:
            kernel = f", ps kernel 0x{entry.thread.kernel:08x}" if entry.thread is not None else ""
            did = "drawn last" if entry.fate is Fate.WRITTEN else "only depth written, last"
            text = f"{did} by draw {entry.place.draw}, object {entry.object}{kernel}"
        if last:
            text += f"; {_rejected(some(last, 'later fragment'), self.entries[:last])}"
        return text

    @property
    def format(self) -> str:
        return next((e.format for e in self.entries if isinstance(e, Fragment) and e.format), "")


_SHOWN = (Fate.WRITTEN, Fate.DEPTH_ONLY)


def _rejected(subject: str, entries: Sequence[Fragment | Change]) -> str:
    """"3 fragments failed the depth test", "3 fragments rejected: 2 failed the depth test, 1 killed by the shader"."""
    counts = Counter(e.fate for e in entries if isinstance(e, Fragment))
    if len(counts) == 1:
        return f"{subject} {next(iter(counts)).value}"
    return f"{subject} rejected: {', '.join(f'{n} {fate.value}' for fate, n in counts.most_common())}"


def some(n: int, noun: str) -> str:
    """1 draw, 2 draws."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


class Recorder(Listener):
    """Collects the history of a pixel while a device draws."""

    def __init__(self, device: Device, x: int, y: int, frames: Selection = ALL) -> None:
        """Outside `frames` the device draws at full speed, and only colors are compared."""
        self.device = device
        self.history = History(x, y)
        self._frames = frames
        self._attached = False
        self._subscriptions = Subscription(pixel=(x, y), handlers={DebugKind.FRAGMENT: self._fragment,
                                                      DebugKind.OBJECT: self._object})
        self._candidates: dict[int, Object] = {}  # of the draw that runs
        self._seen: set[int] = set()
        self._first = 0  # of the draw's entries
        self._colors: dict[Target, Color] = {}
        self.attach()
        device.add_listener(self)

    def attach(self) -> None:
        """Subscribe while the frame is selected."""
        wanted = self.device.frame in self._frames
        if wanted != self._attached:
            self._attached = wanted
            (self.device.observer.add if wanted else self.device.observer.remove)(self._subscriptions)

    def close(self) -> None:
        self.device.observer.remove(self._subscriptions)

    def _fragment(self, event: Any) -> DebugAction:
        fragment = fragment_of(self.device, event)
        if len(self.history.entries) >= MOST:
            self.history.dropped += 1
            return DebugAction.GO
        self.history.entries.append(fragment)
        if fragment.target is not None and fragment.fate is Fate.WRITTEN:
            self._seen.add(fragment.target)
        candidate = self._candidates.get(fragment.object)
        if candidate is not None:
            self.history.objects[fragment.place.draw, fragment.object] = candidate
        return DebugAction.GO

    def _object(self, event: Any) -> DebugAction:
        if len(self._candidates) < MOST:
            found = object_of(self.device, event)
            self._candidates[found.number] = found
        return DebugAction.GO

    def draw_started(self, words: Words) -> None:
        if not self._frames.is_all:
            self.attach()

    def draw_done(self) -> None:
        """After a draw: sort its fragments by object, and record changes without a fragment."""
        h = self.history
        h.entries[self._first:] = sorted(h.entries[self._first:], key=_object_number)
        if len(h.entries) > self._first:
            colors = [t.address for t in self.device.targets.latest if t.kind == "color"]
            if colors:
                h.draw_targets[self.device.place.draw] = colors[0]
        for target in self.device.targets.latest:
            if target.kind == "depth" or target.chroma or not (0 <= h.x < target.width and 0 <= h.y < target.height):
                continue
            now = _color_of(self.device, target, h.x, h.y)
            before = self._colors.get(target)
            changed = before is not None and now != before and target.address not in self._seen
            if before is not None and changed and self.device.frame in self._frames:
                h.entries.append(Change(self.device.place, target.address, before, now))
            self._colors[target] = now
        self._candidates.clear()
        self._seen.clear()
        self._first = len(h.entries)


def _object_number(entry: Fragment | Change) -> int:
    return entry.object if isinstance(entry, Fragment) else DEBUG_NUMBERS + 1


def _color_of(device: Device, target: Target, x: int, y: int) -> Color:
    one = Target(target.kind, target.address, target.format, 1, 1, target.pitch, target.tiling, target.x + x,
                 target.y + y)
    return {name: values[0, 0].item() for name, values in read_channels(device.memory, one).items()}


def record(trace: Trace, part: Part | None, options: Options, x: int, y: int, until: Place | None = None,
           frames: Selection = ALL, on_draw: Callable[[int], None] | None = None) -> History:
    """Replay a trace and follow a pixel: up to the end of the draw `until`, in `frames` only.

    `on_draw` is called after every draw with its number.  A hang ends the history, and is noted in it.
    """
    recorder: Recorder | None = None

    def start(device: Device) -> None:
        nonlocal recorder
        recorder = Recorder(device, x, y, frames)

    def drawn(number: int) -> None:
        if on_draw is not None:
            on_draw(number)
        if until is not None and number >= until.draw:
            run.stop()

    run = Replay(trace, part, options, on_start=start, on_draw=drawn, compares=False)
    try:
        if until is not None and until.draw < 0:
            return History(x, y)
        hang = ""
        try:
            for _ in run.frames(frames):
                pass
            if until is None and not frames.is_all:
                frames.require_any(run.frame_count, "frame", trace.path)
        except HangError as e:
            hang = str(e)
        found = recorder.history if recorder is not None else History(x, y)
        found.damage, found.hang = list(run.damage), hang
        return found
    finally:
        run.close()


# --- text -----------------------------------------------------------------------------------------------------------
def color_text(color: Color) -> str:
    if not color:
        return "?"
    return "(" + ", ".join(f"{name} {value:.4g}" for name, value in color.items()) + ")"


def origin_lines(origin: Origin | None, indent: str) -> Iterator[str]:
    """A vertex, and the vertices that it was derived from."""
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
    thread = f", {of.thread.name}, kernel 0x{of.thread.kernel:08x}" if of.thread is not None else ""
    yield f"{indent}object {of.number}: {kind}{facing}{thread}"
    for corner, at in zip(of.corners, of.positions, strict=True):
        yield f"{indent}  vertex at ({at[0]:.6g}, {at[1]:.6g}, {at[2]:.6g}), 1/w {at[3]:.6g}"
        yield from origin_lines(corner, indent + "    ")


def _thread_line(thread: Thread) -> str:
    blocks = " ".join(f"({x},{y})" for x, y in thread.subspans)
    return (f"{thread.name} ({thread.in_object} of its object), kernel 0x{thread.kernel:08x}, "
            f"2x2 blocks {blocks}")


def fragment_lines(fragment: Fragment) -> Iterator[str]:
    f = fragment
    yield f"{f.place.text}, object {f.object}: {f.fate.value}"
    if f.depth_before is not None and f.depth_after is not None:
        changed = f" -> {f.depth_after}" if f.depth_after != f.depth_before else ""
        yield f"  z {f.z:.7g}, depth buffer {f.depth_before}{changed}"
    if f.thread is not None:
        yield f"  {_thread_line(f.thread)}"
        if f.fate is not Fate.KILLED:
            yield (f"  sent ({', '.join(f'{v:.6g}' for v in f.sent)}) to 0x{f.target:08x} {f.format}: "
                   f"{color_text(f.before)} -> {color_text(f.after)}")


def history_lines(history: History, target: int | None = None, back_trace: bool = True,
                  most: int = MOST_GROUPS) -> Iterator[str]:
    """The verdict first, then the entries by target and frame, newest first."""
    h, groups = history, history.groups(target)
    yield f"pixel {h.x},{h.y}: {h.verdict(target)}"
    if h.hang:
        yield f"the GPU hung: {h.hang}"
    if groups:
        targets, frames = ({g.target for g in groups}, {g.frame for g in groups})
        yield (f"{_entries_text([e for g in groups for e in g.entries])}, {some(len(targets), 'target')}, "
               f"{some(len(frames), 'frame')}")
    for group in groups[:most]:
        yield ""
        where = "depth buffer only" if group.target is None else f"target 0x{group.target:08x} {group.format}"
        yield f"{where.rstrip()}, frame {group.frame}, {_entries_text(group.entries)}: {group.verdict}"
        for entry in group.entries:
            yield from (f"  {line}" for line in _entry_lines(h, entry, back_trace))
    if len(groups) > most:
        yield ""
        yield (f"{len(groups) - most} older groups of a target and a frame are not shown: "
               f"`history {h.x} {h.y} frame N` selects frames, --json has everything")
    if h.dropped:
        yield f"only the first {MOST} entries were kept, {h.dropped} later ones are missing"


def _entries_text(entries: Sequence[Fragment | Change]) -> str:
    """"3 fragments, 1 other change"."""
    fragments = sum(isinstance(e, Fragment) for e in entries)
    others = len(entries) - fragments
    return some(fragments, "fragment") + (f", {some(others, 'other change')}" if others else "")


def _entry_lines(history: History, entry: Fragment | Change, back_trace: bool) -> Iterator[str]:
    if isinstance(entry, Change):
        yield f"{entry.place.text}: changed {color_text(entry.before)} -> {color_text(entry.after)} without a fragment"
        return
    yield from fragment_lines(entry)
    of = history.object_of(entry) if back_trace else None
    if of is not None:
        yield from object_lines(of, "  ")


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
    """Record dispatches of a pixel's 2x2 block: the n-th one, or all."""
    found: list[Occurrence] = []

    def handle(event: Any) -> DebugAction:
        if len(found) < MOST:
            found.append(Occurrence(x, y, event.occurrence, device.place, thread_of(event)))
            if tell is not None:
                tell(found[-1])
        return DebugAction.GO

    device.observer.add(Subscription(traps=[Trap(TrapKind.PIXEL, x=x, y=y, instance=instance)],
                               handlers={DebugKind.THREAD: handle}))
    return found
