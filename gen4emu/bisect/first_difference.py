"""From the first draw that differs to the pixel, the fragment, the instruction and the cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

from gen4emu.api.trace import Draw, Trace
from gen4emu.bisect import digests, threads
from gen4emu.bisect.align import Alignment, Pair, align
from gen4emu.bisect.digests import DrawDigest
from gen4emu.bisect.pixels import Pixels, differing
from gen4emu.bisect.state import Cause, Difference, differences
from gen4emu.debugger.history import Recorder, some
from gen4emu.debugger.model import Fragment
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.device.timeline import Timeline
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.trace import reader

SCHEMA = "gen4emu.bisect/1"
_SHOWN = 8  # differences of the state, and draws without a counterpart, in text


@dataclass(slots=True)
class Side:
    """A trace and how it is executed."""

    name: str
    trace: Trace
    source: reader.Trace  # for executions of their own
    options: Options


@dataclass(slots=True)
class Finding:
    """The result of a comparison."""

    alignment: Alignment
    names: tuple[str, str]
    pixels: Pixels | None = None
    fragments: tuple[Fragment | None, Fragment | None] | None = None  # the first ones that differ
    parting: threads.Parting | None = None
    causes: list[Difference] = field(default_factory=list)  # the likeliest first
    verdict: str = ""
    status: int = 0
    note: str = ""  # why nothing inside the draw could be compared

    def as_json(self) -> dict[str, Any]:
        """docs/json.md describes it."""
        found, pair = self.alignment, self.alignment.first
        return {"schema": SCHEMA, "file": self.names[0], "other": self.names[1], "status": self.status,
                "same": found.same, "unmatched": {side: [draw.as_json() for draw in draws]
                                                  for side, draws in found.unmatched.items()},
                "unmatched_count": found.unmatched_count,
                "hangs": {side: found.hangs.get(side) for side in ("left", "right")},
                "draw": None if pair is None else {"left": pair.left.as_json(), "right": pair.right.as_json(),
                                                   "target": pair.target},
                "pixels": None if self.pixels is None else {
                    "count": self.pixels.count, "total": self.pixels.total, "first": [self.pixels.x, self.pixels.y],
                    "values": list(self.pixels.values)},
                "fragments": None if self.fragments is None else [
                    None if f is None else f.as_json() for f in self.fragments],
                "instruction": None if self.parting is None else self.parting.as_json(),
                "verdict": self.verdict, "causes": [cause.as_json() for cause in self.causes], "note": self.note}

    def lines(self) -> Iterator[str]:
        """The result as text."""
        found, pair = self.alignment, self.alignment.first
        for side, draws in found.unmatched.items():
            for draw in draws[:_SHOWN]:
                yield f"only {side}: {draw}, command at 0x{draw.address:08x}"
            if len(draws) > _SHOWN:
                yield f"only {side}: and {len(draws) - _SHOWN} more draws"
        for side, text in found.hangs.items():
            yield f"the GPU hung {side}: {text}"
        if pair is None:
            yield f"{some(found.same, 'draw')} the same{'' if found.differs or found.hangs else ', and nothing else'}"
            return
        yield f"{some(found.same, 'draw')} the same"
        yield from self.inside(pair)

    def inside(self, pair: Pair) -> Iterator[str]:
        """The part about the draw that differs."""
        yield from self._draw(pair)
        if self.fragments is not None:
            for side, fragment in zip(("left ", "right"), self.fragments, strict=True):
                yield f"{side}  {'no fragment' if fragment is None else _fragment_text(fragment)}"
        if self.parting is not None:
            yield from self.parting.lines()
        if self.note:
            yield self.note
        if self.verdict:
            yield f"cause: {self.verdict}"
        for other in self.causes[1:_SHOWN]:
            yield f"also: {other}"
        if len(self.causes) > _SHOWN:
            yield f"also: {len(self.causes) - _SHOWN} more differences, all in --json"

    def _draw(self, pair: Pair) -> Iterator[str]:
        left, right = pair.left, pair.right
        equal = "" if left.number == right.number else f" left = draw {right.number} right"
        yield (f"frame {left.frame}, submission {left.submission}, draw {left.number}{equal} "
               f"({left.name} {left.topology}".rstrip() + f") differs, command at 0x{left.address:08x}")
        targets = [draw.targets[pair.target] if pair.target < len(draw.targets) else None for draw in (left, right)]
        texts = ["no target" if t is None else f"{t.kind} 0x{t.address:08x} {t.width}x{t.height} {t.format}"
                 for t in targets]
        where = texts[0] if texts[0] == texts[1] else f"{texts[0]} left, {texts[1]} right"
        if self.pixels is None:
            yield where
        else:
            p = self.pixels
            yield (f"{where}: {p.count:,} of {p.total:,} pixels differ, first at ({p.x}, {p.y}): "
                   f"{p.values[0]} left, {p.values[1]} right")


def _fragment_text(fragment: Fragment) -> str:
    text = f"object {fragment.object}, {fragment.fate.value}, z {fragment.z:.7g}"
    if fragment.sent:
        text += f", sent ({', '.join(f'{v:.9g}' for v in fragment.sent)})"
    return text


def find(left: Side, right: Side) -> Finding:
    """Compare two executions, and explain the first difference."""
    found = Finding(align(digests.execute(left.trace), digests.execute(right.trace)), (left.name, right.name))
    if found.alignment.first is not None:
        _look_into(found, found.alignment.first, left, right)
    found.status = _status(found.alignment)
    return found


def explain(left: DrawDigest, right: DrawDigest, sides: tuple[Side, Side]) -> list[str]:
    """Why two draws write different pixels, as lines of text."""
    target = left.first_difference(right)
    if target is None:
        return []
    pair = Pair(left, right, target)
    found = Finding(Alignment(first=pair), (sides[0].name, sides[1].name))
    _look_into(found, pair, *sides)
    return list(found.inside(pair))


def find_against(side: Side, path: str) -> Finding:
    """Compare an execution with a file of digests, which is the left side."""
    found = Finding(align(digests.read(path), digests.execute(side.trace)), (path, side.name))
    if found.alignment.first is not None:
        found.note = "a file of digests holds no pixels: compare with its trace to see which ones differ"
    found.status = _status(found.alignment)
    return found


def _status(alignment: Alignment) -> int:
    if not alignment.comparable:
        return 2
    return 1 if alignment.differs else 0


# --- inside the draw --------------------------------------------------------------------------------------------------
def _look_into(found: Finding, pair: Pair, left: Side, right: Side) -> None:
    draws = _at(left, pair.left.number), _at(right, pair.right.number)
    targets = [draw.device.targets.latest[pair.target:pair.target + 1] for draw in draws]
    if targets[0] and targets[1]:
        images = [(draw.memory, target) for draw, (target,) in zip(draws, targets, strict=True)]
        found.pixels, _ = differing(images) or (None, None)
    try:
        states = left.trace.state(pair.left.number), right.trace.state(pair.right.number)
        found.causes = differences(*draws, states)
    except (Gen4emuError, ValueError) as e:
        found.note = f"the state could not be compared: {e}"
    if found.pixels is not None and draws[0].kind == "draw":
        _follow(found, pair, left, right)
    _judge(found, left, right)


def _at(side: Side, number: int) -> Draw:
    moment = side.trace.at(draw=number)
    assert isinstance(moment, Draw)
    return moment


def _follow(found: Finding, pair: Pair, left: Side, right: Side) -> None:
    """The fragments of the first pixel that differs, and their threads."""
    assert found.pixels is not None
    numbers = pair.left.number, pair.right.number
    with ExitStack() as stack:
        timelines = [stack.enter_context(Timeline(side.source, side.trace.device, side.options))
                     for side in (left, right)]
        _follow_threads(found, timelines, numbers)


def _follow_threads(found: Finding, timelines: Sequence[Timeline], numbers: tuple[int, int]) -> None:
    assert found.pixels is not None
    x, y = found.pixels.x, found.pixels.y
    fragments = [_fragments(timeline, x, y, number) for timeline, number in zip(timelines, numbers, strict=True)]
    for n in range(max(map(len, fragments))):
        first, second = (side[n] if n < len(side) else None for side in fragments)
        if first is None or second is None or _effect(first) != _effect(second):
            found.fragments = first, second
            break
    if found.fragments is None:
        return
    recordings = []
    for timeline, number, fragment in zip(timelines, numbers, found.fragments, strict=True):
        if fragment is None or fragment.thread is None:
            return
        recordings.append(threads.record(timeline, number, x, y, fragment.object))
    if recordings[0] is not None and recordings[1] is not None:
        found.parting = threads.part(recordings[0], recordings[1])


def _fragments(timeline: Timeline, x: int, y: int, draw: int) -> list[Fragment]:
    """The fragments of a draw that reached a pixel."""
    recorder: Recorder | None = None

    def attach(device: Device) -> None:
        nonlocal recorder
        recorder = Recorder(device, x, y)

    with suppress(HangError):
        timeline.goto(draw, attach)
    entries = [] if recorder is None else recorder.history.entries
    return [entry for entry in entries if isinstance(entry, Fragment) and entry.place.draw == draw]


def _effect(fragment: Fragment) -> tuple[object, ...]:
    return (fragment.object, fragment.fate, fragment.z, fragment.sent, fragment.after, fragment.depth_after,
            fragment.back_facing)


# --- the cause --------------------------------------------------------------------------------------------------------
_PIXEL_STATE = ("SAMPLER_STATE", "SURFACE_STATE", "SAMPLER_BORDER_COLOR")


def _judge(found: Finding, left: Side, right: Side) -> None:
    """Sort the differences by how well they explain the instruction, and name the cause."""
    found.causes.sort(key=lambda difference: _rank(difference, found.parting))
    parting = found.parting
    rounding = left.options.round_to_nearest != right.options.round_to_nearest
    devices = left.trace.device is not right.trace.device
    if rounding and parting is not None and not parting.is_message and not parting.payload:
        found.verdict = f"{Cause.ROUNDING.value}: the operands are equal, and the sides round differently"
    elif found.causes:
        found.verdict = f"{found.causes[0].cause.value}: {found.causes[0]}"
    elif rounding:
        found.verdict = (f"{Cause.ROUNDING.value}: state, code and data are equal, and the sides round differently "
                         f"in this or an earlier stage of the draw")
    elif left.options != right.options:
        found.verdict = f"{Cause.OPTION.value}: state, code and data are equal"
    elif devices:
        found.verdict = f"{Cause.DEVICE.value}: state, code and data are equal"
    else:
        found.verdict = "not known: no field, kernel or data that the draw refers to differs"


def _rank(difference: Difference, parting: threads.Parting | None) -> int:
    """0 for a difference that explains the instruction, more for others."""
    ps = " of ps" in difference.what or "SAMPLER" in difference.what
    if parting is None:
        return 0 if "render target" in difference.what else 1
    if parting.text[0] != parting.text[1]:
        return 0 if difference.cause is Cause.CODE and ps else 1
    if parting.payload:
        return {Cause.ATTRIBUTE: 0, Cause.CONSTANT: 0, Cause.CODE: 1}.get(difference.cause, 2)
    if parting.is_message:
        if difference.cause is Cause.STATE and difference.what.startswith(_PIXEL_STATE):
            return 0
        return 1 if difference.cause is Cause.TEXEL else 2
    return 0 if difference.cause is Cause.CODE and ps else 1
