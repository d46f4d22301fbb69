"""Two reports as one: their draws in pairs, and what differs in each pair: pictures, state, counters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from gen4emu.bisect.digests import TargetDigest, digest_of, target_digest
from gen4emu.bisect.first_difference import Side, explain
from gen4emu.bisect.pairing import Pair, pairs
from gen4emu.device.device import Device
from gen4emu.errors import Gen4emuError
from gen4emu.hw.chips import Device as Chip
from gen4emu.report.chunks import ROWS, STATES, deflated_json
from gen4emu.report.kernel_diffs import runs
from gen4emu.report.pair_pictures import PairPictures, PairReader, together
from gen4emu.report.processes import both, processors
from gen4emu.report.record import Begin, Choices, Recorded, RecordedDraw, Recorder, at_the_start
from gen4emu.report.states import Block, Fields

SIDES = ("left", "right")
FLAGS = ("equal", "different", "picture", "state", "counters", "only-left", "only-right", "blend", "depth", "stencil",
         "alpha", "logicop", "discard", "finding", "idle")
_PAIR_BYTES = 6 << 20  # of the pictures of pairs; less of each side, so that 10,000 draws take about 25 MB
_SIDE_BYTES = 1 << 20
_MOST_LISTED = 200  # differences of state in a pair
_ADDRESS = re.compile(r"0x[0-9a-f]{8}")
_OF_ADDRESS = re.compile(r"address|pointer|viewport_state_offset|access_upper_bound")
_NUMBERED = frozenset({"kernel"})  # numbers that each trace gives in its own order

Difference = tuple[str, str, str, str]  # the block, its field, its value on the left and on the right
CounterDifference = tuple[str, int, int]
Targets = dict[int, tuple[TargetDigest, ...]]  # after each draw, by its number
KernelPair = tuple[str, int, int]  # the stage, and the numbers on the left and on the right


@dataclass(slots=True)
class _Recorded:
    """A side that was executed."""

    side: Side
    recorded: Recorded
    targets: Targets

    def draw(self, at: int | None) -> RecordedDraw | None:
        return None if at is None else self.recorded.draws[at]


@dataclass(slots=True)
class _Row:
    """A pair, or a draw that one side alone has."""

    left: int | None
    right: int | None
    indices: list[int] = field(default_factory=list)  # of the targets that differ
    state: list[Difference] = field(default_factory=list)
    counters: list[CounterDifference] = field(default_factory=list)
    kernels: list[KernelPair] = field(default_factory=list)  # with other code
    pictures: PairPictures = field(default_factory=PairPictures)

    @property
    def marks(self) -> list[str]:
        if self.left is None:
            return ["different", "only-right"]
        if self.right is None:
            return ["different", "only-left"]
        marks = [name for name, found in (("picture", self.indices), ("state", self.state),
                                          ("counters", self.counters)) if found]
        return ["different", *marks] if marks else ["equal"]


def compare(sides: tuple[Side, Side], chips: tuple[Chip | None, Chip | None], titles: tuple[str, str],
            choices: Choices, confine: Callable[[], None] = lambda: None,
            begins: tuple[Begin, Begin] = (at_the_start, at_the_start)) -> Recorded:
    """The report of a comparison: the reports of both sides, and their draws in pairs.

    `confine` is called in each process that executes a side, before that.
    """
    left, right = zip(sides, chips, titles, begins, strict=True)
    if _has_room_for_two(sides):
        one, two = both(lambda: _record(*left, choices, 2), lambda: _record(*right, choices, 2), titles[1],
                        confine)
    else:
        confine()
        one, two = _record(*left, choices, 1), _record(*right, choices, 1)
    return _Comparison((_Recorded(sides[0], *one), _Recorded(sides[1], *two)), titles, begins).recorded()


def _has_room_for_two(sides: tuple[Side, Side]) -> bool:
    """Whether each side may have a process of its own."""
    reads_one_file = all(side.source.is_standard_input for side in sides)
    return processors() > 1 and all(side.options.workers != 1 for side in sides) and not reads_one_file


def _record(side: Side, chip: Chip | None, title: str, begin: Begin, choices: Choices, share: int) \
        -> tuple[Recorded, Targets]:
    """Execute a side with its share of the workers."""
    targets: Targets = {}

    def observe(device: Device, number: int) -> None:
        targets[number] = tuple(target_digest(device.memory, target) for target in device.targets.latest)

    workers = max(1, (side.options.workers or processors()) // share)
    chosen = replace(choices, options=replace(side.options, workers=workers), picture_bytes=_SIDE_BYTES)
    return Recorder(side.source, chip, title, chosen, observe=observe, begin=begin).record(), targets


class _Comparison:
    """Pairs the draws of two sides."""

    def __init__(self, sides: tuple[_Recorded, _Recorded], titles: tuple[str, str],
                 begins: tuple[Begin, Begin]) -> None:
        self._sides, self._titles, self._begins = sides, titles, begins
        self._chunks: dict[str, str] = {}
        self._fields: dict[tuple[int, int], list[tuple[str, str, str]]] = {}  # by the identities of both
        self._finding: list[str] = []

    def recorded(self) -> Recorded:
        left, right = self._sides
        rows = [self._row(pair) for pair in _aligned(left.recorded.draws, right.recorded.draws)]
        without_picture = self._look(rows)
        columns = self._columns(rows)
        for at in range(0, len(rows), ROWS):
            self._add(f"pairs-{at // ROWS}", {name: column[at:at + ROWS] for name, column in columns.items()})
        for at in range(0, len(rows), STATES):
            self._details(at // STATES, rows[at:at + STATES])
        self._diffs(rows)
        chunks = {f"{name}-{key}": text for name, side in zip(SIDES, self._sides, strict=True)
                  for key, text in side.recorded.chunks.items()}
        differs = any("different" in row.marks for row in rows) or (left.recorded.hang is None) != (
            right.recorded.hang is None)
        status = max(left.recorded.status, right.recorded.status, int(differs))
        return Recorded(self._overview(rows, without_picture), chunks | self._chunks, status,
                        [*left.recorded.damage, *right.recorded.damage], left.recorded.hang or right.recorded.hang)

    def _add(self, name: str, value: Any) -> None:
        self._chunks[name] = deflated_json(value)

    # --- pairs ----------------------------------------------------------------------------------------------------
    def _row(self, pair: Pair) -> _Row:
        row = _Row(*pair)
        left, right = (side.draw(at) for side, at in zip(self._sides, pair, strict=True))
        if left is not None and right is not None:
            targets = [side.targets.get(draw.number, ()) for side, draw in zip(self._sides, (left, right), strict=True)]
            row.indices = [i for i in range(max(map(len, targets)))
                           if i >= min(map(len, targets)) or not targets[0][i].is_like(targets[1][i])]
            row.state = self._state_differences(left, right)
            row.counters = _counter_differences(left.counters, right.counters)
            row.kernels = [(stage, left.values[stage], right.values[stage]) for stage, code in left.kernels.items()
                           if right.kernels.get(stage, code) != code]
        return row

    def _state_differences(self, left: RecordedDraw, right: RecordedDraw) -> list[Difference]:
        """Fields with other values.  Addresses do not count, nor numbers that a trace gives."""
        found: list[Difference] = []
        for stage in dict.fromkeys([*left.kernels, *right.kernels]):
            codes = left.kernels.get(stage), right.kernels.get(stage)
            if codes[0] != codes[1]:
                values = [f"kernel {draw.values[stage]}, {len(code)} bytes" if code is not None else ""
                          for draw, code in zip((left, right), codes, strict=True)]
                found.append((f"kernel of {stage}", "code", values[0], values[1]))
        blocks = [{block.key: block for block in draw.blocks} for draw in (left, right)]
        for key in dict.fromkeys([*blocks[0], *blocks[1]]):
            first, second = blocks[0].get(key), blocks[1].get(key)
            if first is None or second is None:
                found.append(((first or second or _NOTHING).title, "", "" if first is None else "present",
                              "" if second is None else "present"))
            elif first.fields is not second.fields:
                found += [(first.title, *one) for one in self._field_differences(first, second)]
        return found

    def _field_differences(self, left: Block, right: Block) -> list[tuple[str, str, str]]:
        key = id(left.fields), id(right.fields)
        known = self._fields.get(key)
        if known is None:
            known = self._fields[key] = list(_differing(left.title, left.fields, right.fields))
        return known

    # --- pictures -------------------------------------------------------------------------------------------------
    def _look(self, rows: list[_Row]) -> int:
        """The pictures of pairs with different ones, and why the first pair differs; returns how many have none."""
        reader = PairReader(self._chunks.__setitem__, _PAIR_BYTES)
        left, right = self._sides
        wanted = {(left.recorded.draws[row.left].number, right.recorded.draws[row.right].number): row for row in rows
                  if row.indices and row.left is not None and row.right is not None}
        traces = left.side.trace, right.side.trace
        if wanted:
            for side, begin in zip(self._sides, self._begins, strict=True):
                start = begin(side.side.options)
                side.side.trace.use(() if start is None else (start.bookmark,))
        first = None
        for *numbers, one, two in together(traces, list(wanted)):
            row = wanted[numbers[0], numbers[1]]
            row.pictures = reader.read((one, two), row.indices)
            if first is None:
                first = digest_of(one), digest_of(two)
        if first is not None:
            with suppress(Gen4emuError):  # the pictures show the difference without its cause
                self._finding = explain(*first, (left.side, right.side))
        return reader.without_picture

    # --- the data of the page -------------------------------------------------------------------------------------
    def _columns(self, rows: list[_Row]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        for row in rows:
            draws = [draw for side, at in zip(self._sides, (row.left, row.right), strict=True)
                     if (draw := side.draw(at)) is not None]
            values = draws[0].values
            flags = set().union(*(draw.values["flags"] for draw in draws))
            shown = {
                "left": -1 if row.left is None else row.left, "right": -1 if row.right is None else row.right,
                **{name: values[name] for name in ("frame", "name", "topology", "target", "vertices", "instances",
                                                   "written", "instructions")},
                "pixels": row.pictures.pixels, "fields": len(row.state), "counters": len(row.counters),
                "flags": [*row.marks, *sorted(flags, key=FLAGS.index)],
                "changed": list(dict.fromkeys(title.split()[0] for title, *_ in row.state)),
                "reads": list(dict.fromkeys(a for draw in draws for a in draw.values["reads"])),
                "writes": list(dict.fromkeys(a for draw in draws for a in draw.values["writes"])),
            }
            for name, value in shown.items():
                columns.setdefault(name, []).append(value)
        return columns

    def _details(self, number: int, rows: list[_Row]) -> None:
        states: dict[tuple[Difference, ...], int] = {}
        shown = [{"state": states.setdefault(tuple(row.state[:_MOST_LISTED]), len(states)), "counters": row.counters,
                  "kernels": row.kernels, "targets": row.pictures.targets} for row in rows]
        self._add(f"differences-{number}", {"states": list(states), "pairs": shown})

    def _diffs(self, rows: list[_Row]) -> None:
        """How the lines of all pairs of kernels differ."""
        found = {}
        left, right = (side.recorded.kernels for side in self._sides)
        for one, two in dict.fromkeys((pair[1], pair[2]) for row in rows for pair in row.kernels):
            if one in left and two in right:
                found[f"{one}-{two}"] = runs(left[one], right[two])
        self._add("kernel-diffs", found)

    def _overview(self, rows: list[_Row], without_picture: int) -> dict[str, Any]:
        sides = [side.recorded.overview for side in self._sides]
        marks = Counter(mark for row in rows for mark in row.marks)
        first = next((at for at, row in enumerate(rows) if "different" in row.marks), None)
        pictured = next((at for at, row in enumerate(rows) if row.indices), None)
        left_out = [] if not without_picture else [
            f"pictures of {without_picture} targets that differ, beyond {_PAIR_BYTES >> 20} MiB"]
        bands = [f"{name}: {side['band']}" for name, side in zip(SIDES, sides, strict=True) if side["band"]]
        title = self._titles[0] if self._titles[0] == self._titles[1] else " | ".join(self._titles)
        return {**sides[0], "title": title, "band": " ".join(bands), "left_out": left_out, "sides": sides,
                "comparison": {"names": [side.side.name for side in self._sides], "pairs": len(rows),
                               "marks": {name: marks[name] for name in FLAGS[:7]}, "first": first,
                               "first_picture": pictured, "finding": self._finding, "flags": list(FLAGS),
                               "listed": _MOST_LISTED}}


_NOTHING = Block("", "", "", 0, "", ())


def _differing(title: str, left: Fields, right: Fields) -> Iterator[tuple[str, str, str]]:
    """The fields of two blocks that differ, without addresses."""
    sides = dict(left), dict(right)
    is_table = title.startswith("BINDING_TABLE")
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        values = sides[0].get(name, ""), sides[1].get(name, "")
        if values[0] == values[1] or name in _NUMBERED:
            continue
        if (is_table or _OF_ADDRESS.search(name)) and all(_ADDRESS.match(value) for value in values):
            continue
        yield name, *values


def _counter_differences(left: dict[str, Any], right: dict[str, Any]) -> list[CounterDifference]:
    if left == right:
        return []
    sides = dict(_counts(left, "")), dict(_counts(right, ""))
    return [(name, sides[0].get(name, 0), sides[1].get(name, 0)) for name in dict.fromkeys([*sides[0], *sides[1]])
            if sides[0].get(name, 0) != sides[1].get(name, 0)]


def _counts(value: Any, name: str) -> Iterator[tuple[str, int]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "surfaces":
                yield from _bytes_by_role(inner)
            else:
                yield from _counts(inner, f"{name} {key}".lstrip())
    elif isinstance(value, int):
        yield name, value


def _bytes_by_role(surfaces: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Sums by role: addresses differ between captures of one program."""
    sums: Counter[str] = Counter()
    for surface in surfaces:
        for what in ("read_bytes", "written_bytes"):
            sums[f"{surface['role']} {what}"] += surface[what]
    yield from sums.items()


# --- alignment --------------------------------------------------------------------------------------------------------
def _aligned(left: list[RecordedDraw], right: list[RecordedDraw]) -> list[Pair]:
    """The draws in pairs: by frames, then by what they execute with, with what kernels, and how much."""
    numbers: dict[Hashable, int] = {}
    contents: dict[int, int] = {}
    items = [_items(draws, numbers, contents) for draws in (left, right)]
    found: list[Pair] = []
    for i, j in pairs([keys for keys, _ in items[0]], [keys for keys, _ in items[1]]):
        pair = None if i is None else items[0][i][1], None if j is None else items[1][j][1]
        if pair != (None, None):
            found.append(pair)
    return found


def _items(draws: list[RecordedDraw], numbers: dict[Hashable, int],
           contents: dict[int, int]) -> list[tuple[tuple[int, int, int], int | None]]:
    """Keys, the strictest first, and the draw: None for the beginning of a frame, which keeps frames together."""
    found: list[tuple[tuple[int, int, int], int | None]] = []
    frame = None
    for at, draw in enumerate(draws):
        values = draw.values
        if values["frame"] != frame:
            frame = values["frame"]
            found.append(((0, 0, 0), None))
        loose = values["name"], values["topology"], values["vertices"], values["instances"]
        target = values["target"].partition(" ")[2]
        kernels = loose, target, tuple(draw.kernels.items())
        state = kernels, tuple(_content(block, numbers, contents) for block in draw.blocks)
        found.append(((_number(numbers, state), _number(numbers, kernels), _number(numbers, loose)), at))
    return found


def _number(numbers: dict[Hashable, int], key: Hashable) -> int:
    return numbers.setdefault(key, len(numbers) + 1)


def _content(block: Block, numbers: dict[Hashable, int], contents: dict[int, int]) -> int:
    """A number for the fields of a block but for addresses; `contents` holds it by the identity of the fields."""
    known = contents.get(id(block.fields))
    if known is None:
        known = contents[id(block.fields)] = _number(numbers, (block.title, tuple(
            one for one in block.fields if one[0] not in _NUMBERED and not _ADDRESS.match(one[1]))))
    return known
