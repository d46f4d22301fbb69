"""Makes the data of a report: one pass that executes and counts a trace, and one that decodes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gen4emu
from gen4emu.decode.in_force import Kept
from gen4emu.decode.kernel_uses import KernelUse
from gen4emu.device.bookmark_file import Start
from gen4emu.device.counters import FUNCTIONS, CountedDraw, Counters, KernelCount, LineCount
from gen4emu.device.device import Device
from gen4emu.device.grave_errors import has_grave_errors
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.device.place import DrawKind
from gen4emu.device.replay import Replay
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import HangError
from gen4emu.hw import chips
from gen4emu.hw.catalogue import command_for
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.isa import disassemble
from gen4emu.isa.liveness import live_registers
from gen4emu.report.chunks import ROWS, STATES, THUMBNAILS, by_columns, deflated_json
from gen4emu.report.decoded import Decoded, decoded
from gen4emu.report.kernel_diffs import compared_lines
from gen4emu.report.kernel_lines import line_counts
from gen4emu.report.maps import PixelOverlays
from gen4emu.report.meshes import ExecutedMeshes
from gen4emu.report.pictures import PICTURE_BYTES, SHEET_COLUMNS, Pictures, Thumbnails
from gen4emu.report.states import BOXES, FLAGS, OTHER_BOX, Block, DrawStates, SurfaceUse
from gen4emu.report.surfaces import SurfaceContents
from gen4emu.selection import ALL, Selection
from gen4emu.trace import events
from gen4emu.trace.reader import Trace

SCHEMA = "gen4emu.report/1"
MOST_SOURCES = 16 << 20  # characters of GLSL and NIR
_MOST_FINDINGS = 2000
_COUNTED_AS = {"ps": "wm"}  # stages whose counters have another name
_STAGES = ("vs", "hs", "ds", "gs", "clip", "sf", "ps")
_UNSTAGED = ("media", "cs")  # of kernels that descriptors name, not the state of a stage
_MESSAGE_NAMES = tuple(name for name in FUNCTIONS if name != "null")

Tick = Callable[[str, int], None]
Begin = Callable[[Options], Start | None]  # where an execution with these options begins; None: at the start


def at_the_start(options: Options) -> None:
    """For traces without an index."""


@dataclass(slots=True)
class Choices:
    """The contents of a report."""

    thumbnail_width: int = 96
    full: Selection | None = None  # the draws with full pictures; None: all, up to a limit of bytes
    frames: Selection | None = None  # that are shown
    kernels: bool = True
    lint: bool = True
    partial: bool = False  # damage of the trace is accepted
    options: Options = field(default_factory=Options)
    picture_bytes: int = PICTURE_BYTES  # the limit without `full`; 0: no overlays, either


@dataclass(slots=True)
class RecordedDraw:
    """A row of a report, as the comparison with another report reads it."""

    number: int  # in the trace
    values: dict[str, Any]  # by column
    counters: dict[str, Any]
    blocks: list[Block]
    kernels: dict[str, bytes]  # the code by stage


@dataclass(slots=True)
class Recorded:
    """The data of a report: the part that the page needs at once, and chunks by name."""

    overview: dict[str, Any]
    chunks: dict[str, str]
    status: int
    damage: list[events.Warning]
    hang: str | None  # why the report ends before the trace
    draws: list[RecordedDraw] = field(default_factory=list)
    kernels: dict[int, list[str]] = field(default_factory=dict)  # their instructions, for comparisons

    def errors(self, trace: str) -> list[str]:
        """Why the report ends before the trace."""
        damage = [f"{trace}: 0x{found.offset:08x}: {found.text}" for found in self.damage]
        return damage if self.hang is None else [*damage, self.hang]


@dataclass(slots=True)
class _Taken:
    """The pictures of a draw."""

    thumbnail: int = -1
    pictures: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class _Row:
    """A draw that has been executed."""

    counted: CountedDraw
    taken: _Taken
    counters: dict[str, Any]  # as JSON


class _Counted(Listener):
    """Collects the draws that a device counts."""

    def __init__(self, draws: list[CountedDraw]) -> None:
        self._draws = draws

    def draw_counted(self, draw: CountedDraw) -> None:
        self._draws.append(draw)


class Recorder:
    """Executes a trace and collects its report."""

    def __init__(self, trace: Trace, part: chips.Device | None, title: str, choices: Choices,
                 tick: Tick = lambda unit, number: None,
                 observe: Callable[[Device, int], None] = lambda device, draw: None,
                 begin: Begin = at_the_start) -> None:
        """`observe` is called when a draw that is shown has ended.  `begin` returns a place before the first frame."""
        self._observe, self._begin = observe, begin
        self._trace, self._part, self._title, self._choices, self._tick = trace, part, title, choices, tick
        self.chunks: dict[str, str] = {}
        self._frames = ALL if choices.frames is None else choices.frames
        self._counted: list[CountedDraw] = []  # media objects are counted when the next draw begins
        self._kernel_counts: list[KernelCount] = []  # of earlier frames, before others that are not shown
        self._taken: dict[int, _Taken] = {}
        self._rows: list[_Row] = []
        self._thumbnails = Thumbnails(self._add, choices.thumbnail_width)
        self._pictures = Pictures(self._add, self._thumbnails)
        self._overlays = PixelOverlays(self._add, has_limit=choices.full is None)
        self._meshes = ExecutedMeshes(choices.full)
        self._states = DrawStates(choices.full)
        self._kernel_numbers: dict[bytes, int] = {}  # of kernels, by code
        self._without_picture = self._surfaces_lost = 0
        self._error = ""
        self._hang: dict[str, Any] | None = None

    def record(self) -> Recorded:
        begin = self._begin(self._choices.options)
        run = Replay(self._trace, self._part, self._choices.options,
                     on_start=lambda device: self._start(run, device, None if begin is None else begin.tables.tracked),
                     on_draw=lambda n: self._draw_done(run, n),
                     on_rest=None if self._frames.is_all else lambda: self._follow(run),
                     at=None if begin is None else begin.bookmark)
        try:
            try:
                for _ in run.frames(self._frames):
                    pass
            except HangError as e:
                place = run.place
                self._hang = {"text": str(e), "draw": place.draw}
                self._error = f"The GPU hangs in {place.text}: {e}. The report ends there."
            if not self._choices.partial:
                run.look_for_damage()
            if run.damage:
                last = run.damage[-1]
                self._error = self._error or f"The trace is damaged at 0x{last.offset:08x}: {last.text}. " \
                                             "The report ends there."
            if not self._frames.is_all:
                self._frames.require_any(run.frame_count, "frame", self._trace.path)
            end = None if self._frames.last is None else run.draws
            return self._finish(run, decoded(self._trace, self._states.kernels, self._choices.lint, end))
        finally:
            run.close()

    def _add(self, name: str, text: str) -> None:
        self.chunks[name] = text

    # --- while the trace is executed ------------------------------------------------------------------------------
    def _start(self, run: Replay, device: Device, tracked: Kept | None) -> None:
        device.add_listener(_Counted(self._counted))
        self._states.listen(device, tracked)
        self._follow(run)

    def _follow(self, run: Replay) -> None:
        """The device is at rest: count the next draws if they are shown, otherwise execute them with machine code."""
        device = run.device
        assert device is not None
        is_shown = run.frame_count in self._frames
        if is_shown == device.counting:
            return
        if not is_shown:
            self._kernel_counts += device.kernel_counts()
            device.counting = False
            self._meshes.end(device)
            return
        device.counting = True
        self._meshes.begin(device, run.draws)
        if self._choices.kernels:
            device.count_lines()
            if self._has_overlays and not self._overlays.is_full:
                device.map_pixels()

    def _draw_done(self, run: Replay, number: int) -> None:
        self._tick("draw", number)
        device = run.device
        if device is None or not device.counting:
            return
        self._meshes.draw_done(device, number)
        self._observe(device, number)
        targets = device.targets.latest
        taken = self._taken[number] = _Taken()
        full = self._wants_full(number)
        if full:
            for target in targets:
                found = self._pictures.before_and_after(device.memory, target)
                if found is not None:
                    taken.pictures.append(found)
        else:
            self._without_picture += 1
        shown = next((t for t in targets if t.kind != "depth"), None) or next(iter(targets), None)
        if shown is not None:
            taken.thumbnail = self._pictures.thumbnail(device.memory, shown)
        if self._has_overlays:
            self._overlays.draw_done(device, number, run.place.frame, shown, full)

    @property
    def _has_overlays(self) -> bool:
        return self._choices.kernels and (self._choices.full is not None or self._choices.picture_bytes > 0)

    def _wants_full(self, number: int) -> bool:
        full = self._choices.full
        return self._pictures.bytes < self._choices.picture_bytes if full is None else number in full

    # --- at the end -----------------------------------------------------------------------------------------------
    def _finish(self, run: Replay, known: Decoded) -> Recorded:
        self._rows = [_Row(counted, self._taken.get(counted.place.draw, _Taken()), counted.counters.as_json())
                      for counted in self._counted]
        self._thumbnails.flush()
        self._kernel_numbers = {use.code.code: use.number for use in known.kernels}
        self._states.number_kernels(self._kernel_numbers)
        kernels = self._kernels(run.device, known) if self._choices.kernels else []
        self._add("kernels", deflated_json(kernels))
        surfaces = self._surfaces(run.device)
        self._add("surfaces", deflated_json(surfaces))
        rows = self._columns(run.device, known, {kernel["number"]: kernel["cost"] for kernel in kernels})
        for at in range(0, len(self._rows), ROWS):
            self._add(f"rows-{at // ROWS}",
                      deflated_json({name: column[at:at + ROWS] for name, column in rows.items()}))
        self._add_states()
        overview = self._overview(run, known, rows, kernels)
        return Recorded(overview, self.chunks, self._status(run), list(run.damage),
                        None if self._hang is None else self._hang["text"] + f" (draw {self._hang['draw']})",
                        self._recorded_draws(rows),
                        {kernel["number"]: compared_lines(kernel) for kernel in kernels})

    def _status(self, run: Replay) -> int:
        if self._hang is not None:
            return 3
        if run.damage and not self._choices.partial:
            return 2
        return 1 if run.differences or (run.device is not None and has_grave_errors(run.device)) else 0

    def _blocks(self, row: _Row) -> list[Block]:
        return self._states.at(row.counted.place.draw).blocks

    def _kernels_of(self, row: _Row) -> dict[str, tuple[int, ...]]:
        """The numbers of the kernels of a draw, by stage."""
        kernels = self._states.at(row.counted.place.draw).kernels
        return {stage: tuple(self._kernel_numbers.get(code.code, 0) for code in codes)
                for stage, codes in kernels.items()}

    def _columns(self, device: Device | None, known: Decoded, costs: Mapping[int, int]) -> dict[str, list[Any]]:
        """The rows by column; `costs` are those of the kernels, by number."""
        columns: dict[str, list[Any]] = {}
        troubled = {f.place.draw for f in known.findings if f.severity.value == "error"}
        before: dict[str, Block] = {}
        gen = device.info.gen if device is not None else Gen.ALL4
        for row in self._rows:
            counted = row.counted
            blocks = self._blocks(row)
            now = {block.key: block for block in blocks}
            changed = sorted({block.title.split()[0] for key, block in now.items()
                              if key not in before or before[key].fields != block.fields}) if before else []
            before = now
            flags = set().union(*(block.flags for block in blocks)) if blocks else set()
            if counted.place.draw in troubled or (self._hang and self._hang["draw"] == counted.place.draw):
                flags.add("finding")
            values = _row_values(counted, gen, self._kernels_of(row), sorted(flags, key=FLAGS.index), changed, costs)
            values["thumb"] = row.taken.thumbnail
            if known.groups:
                values["group"] = known.groups.get(counted.place.draw, "")
            for name, value in values.items():
                columns.setdefault(name, []).append(value)
        return columns

    def _recorded_draws(self, rows: dict[str, list[Any]]) -> list[RecordedDraw]:
        found = []
        for at, row in enumerate(self._rows):
            number = row.counted.place.draw
            state = self._states.at(number)
            found.append(RecordedDraw(number, {name: column[at] for name, column in rows.items()},
                                      row.counters, state.blocks,
                                      {stage: first.code for stage, (first, *_) in state.kernels.items()}))
        return found

    def _add_states(self) -> None:
        before: list[Block] | None = None
        maps = self._overlays.names()
        for at in range(0, len(self._rows), STATES):
            blocks: dict[int, int] = {}
            fields: dict[int, int] = {}
            texts: list[Any] = []
            field_texts: list[Any] = []

            def number(block: Block, blocks: dict[int, int] = blocks, fields: dict[int, int] = fields,
                       texts: list[Any] = texts, field_texts: list[Any] = field_texts) -> int:
                found = blocks.get(id(block))
                if found is None:
                    which = fields.get(id(block.fields))
                    if which is None:
                        which = fields[id(block.fields)] = len(field_texts)
                        field_texts.append([text for pair in block.fields for text in pair])
                    found = blocks[id(block)] = len(texts)
                    texts.append({"key": block.key, "title": block.title, "box": block.box, "address": block.address,
                                  "by": block.by, "fields": which, "complaints": list(block.complaints)})
                return found

            rows = self._rows[at:at + STATES]
            first = None if before is None else [number(block) for block in before]
            draws = []
            for row in rows:
                before = self._blocks(row)
                draws.append([number(block) for block in before])
            counters = [row.counters
                        | {"pictures": row.taken.pictures, "mesh": self._mesh(row),
                           "maps": maps.get(row.counted.place.draw)} for row in rows]
            self._add(f"states-{at // STATES}", deflated_json(
                {"before": first, "draws": draws, "blocks": by_columns(texts), "fields": field_texts,
                 "counters": by_columns(counters)}))

    def _mesh(self, row: _Row) -> str | None:
        """The chunk of the mesh of a draw."""
        number = row.counted.place.draw
        found = self._meshes.mesh(number, self._states.at(number).vertices)
        if found is None:
            return None
        self._add(f"mesh-{number}", deflated_json(found))
        return f"mesh-{number}"

    def _kernels(self, device: Device | None, known: Decoded) -> list[dict[str, Any]]:
        draws: dict[int, list[int]] = {}
        cost: Counter[int] = Counter()
        shared: set[int] = set()  # kernels of a stage that has several
        for at, row in enumerate(self._rows):
            for stage, numbers in self._kernels_of(row).items():
                ran = row.counted.counters.stages.get(_COUNTED_AS.get(stage, stage))
                if ran is not None and ran.threads:
                    cost[numbers[0]] += ran.instructions
                    shared.update(numbers if len(numbers) > 1 else ())
                    for kernel in numbers:
                        draws.setdefault(kernel, []).append(at)
        codes = [use.code.code for use in known.kernels]
        counts = [None] * len(codes) if device is None else line_counts(
            codes, [*self._kernel_counts, *device.kernel_counts()])
        for use, executed in zip(known.kernels, counts, strict=True) if device is not None else ():
            if use.number in shared:  # the counters of a draw do not tell them apart
                cost[use.number] = sum(line.executions for line in (executed or {}).values())
                if executed is None:
                    del draws[use.number]
        rows = {row.counted.place.draw: at for at, row in enumerate(self._rows)}
        for use, executed in zip(known.kernels, counts, strict=True):
            if use.number in draws or not any(stage.split()[0] in _UNSTAGED for stage in use.stages):
                continue
            places = [rows[number] for first, last in use.draws for number in range(first, last + 1) if number in rows]
            if places and executed is not None:
                draws[use.number], cost[use.number] = places, sum(line.executions for line in executed.values())
        sources = _Sources()
        return [_kernel(use, draws.get(use.number, []), cost[use.number],
                        None if device is None else live_registers(use.code.code, use.gen), counted)
                | sources.of(use) for use, counted in zip(known.kernels, counts, strict=True)]

    def _surfaces(self, device: Device | None) -> list[dict[str, Any]]:
        found: dict[int, dict[str, Any]] = {}
        for at, row in enumerate(self._rows):
            for used in row.counted.counters.surfaces:
                entry = found.setdefault(used.address, {
                    "address": used.address, "kinds": {}, "read_bytes": 0, "written_bytes": 0, "writers": [],
                    "readers": []})
                entry["kinds"][used.role] = None
                entry["read_bytes"] += used.read_bytes
                entry["written_bytes"] += used.written_bytes
                if used.written_bytes and at not in entry["writers"][-1:]:
                    entry["writers"].append(at)
                if used.read_bytes and at not in entry["readers"][-1:]:
                    entry["readers"].append(at)
        end = 1 << 32 if device is None else device.memory.size
        targets: dict[int, Target] = {}
        for target in self._pictures.targets():
            targets.setdefault(target.address, target)
        shown = []
        contents = None if device is None or self._choices.full is not None else SurfaceContents(
            self._add, self._pictures, device)
        for address in sorted(found):
            entry = found[address]
            use = self._states.surfaces.get(address)
            chosen = targets.get(address) or _described(use, end)
            images = [] if contents is None else contents.images(chosen, use)
            entry["kind"] = ", ".join(entry.pop("kinds"))
            entry |= {"format": "" if chosen is None else chosen.format.name,
                      "width": 0 if chosen is None else chosen.width, "height": 0 if chosen is None else chosen.height,
                      "pitch": 0 if chosen is None else chosen.pitch,
                      "tiling": "" if chosen is None else chosen.tiling.name.lower(),
                      "level": 0 if chosen is None else chosen.level, "slice": 0 if chosen is None else chosen.slice,
                      "first_written": entry["writers"][0] if entry["writers"] else None,
                      "written_by": self._numbers(entry["writers"]), "read_by": self._numbers(entry["readers"]),
                      "images": images,
                      "bytes": None if contents is None else contents.bytes_of(address, chosen)}
            shown.append(entry)
        self._surfaces_lost = 0 if contents is None else contents.lost
        return shown

    def _numbers(self, rows: list[int]) -> str:
        """The draws of rows as people name them."""
        return _ranges([self._rows[at].counted.place.draw for at in rows])

    def _overview(self, run: Replay, known: Decoded, rows: dict[str, list[Any]],
                  kernels: list[dict[str, Any]]) -> dict[str, Any]:
        device = run.device
        info = None if device is None else device.info
        left_out = []
        if self._without_picture:
            left_out.append(f"full-size pictures of {self._without_picture} draws (--draws-full chooses others)")
        if self._surfaces_lost:
            left_out.append(f"{self._surfaces_lost} images and byte dumps of surfaces")
        if self._overlays.is_full:
            left_out.append("overlays of later draws (--draws-full chooses others)")
        if self._overlays.incomplete:
            left_out.append(f"overlays of {self._overlays.incomplete} draws with too many pixels")
        return {
            "schema": SCHEMA, "version": gen4emu.__version__, "title": self._title,
            "device": None if info is None else {"name": info.name, "marketing": info.marketing},
            "container": self._trace.kind, "application": "", "comments": known.comments[:8],
            "band": self._error, "left_out": left_out,
            "counts": {"frames": len(set(rows.get("frame", ()))), "submissions": run.submissions,
                       "draws": len(self._rows), "kernels": len(kernels)},
            "chunks": {"rows": ROWS, "states": STATES, "thumbs": THUMBNAILS},
            "thumbs": {"width": self._thumbnails.width, "height": self._thumbnails.height, "columns": SHEET_COLUMNS,
                       "type": self._thumbnails.type},
            "boxes": [{"name": name, "title": title} for name, (title, _) in BOXES.items()]
            + [{"name": OTHER_BOX[0], "title": OTHER_BOX[1]}],
            "flags": list(FLAGS), "frames": _frames(rows), "findings": self._findings(run, known),
            "features": _features(rows, [row.counted.counters for row in self._rows],
                                  [use.format for use in self._states.surfaces.values()]),
        }

    def _findings(self, run: Replay, known: Decoded) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        if self._hang is not None:
            found.append({"severity": "hang", "text": self._hang["text"], "count": 1, "draw": self._hang["draw"]})
        found += [{"severity": "error", "text": f"0x{d.offset:08x}: {d.text}", "count": 1, "draw": None}
                  for d in run.damage]
        device = run.device
        if device is not None:
            found += [{"severity": "error", "text": f"{kind.text}, first at 0x{device.faults.first[kind].address:08x}",
                       "count": count, "draw": None} for kind, count in device.faults.counts.items()]
            found += [{"severity": "warning", "text": f"{text}, first at {device.findings.first[text]}",
                       "count": count, "draw": None} for text, count in device.findings.count.items()]
            found += [{"severity": "note" if event.is_note else "warning", "text": event.text, "count": event.count,
                       "draw": None} for event in device.events()]
        found += [{"severity": "warning", "text": text, "count": 1, "draw": None} for text in run.warnings]
        rules: dict[str, dict[str, Any]] = {}
        for finding in known.findings:
            text = f"{finding.diagnostic.where}: {finding.diagnostic.text} ({finding.rule})"
            entry = rules.setdefault(text, {"severity": finding.severity.value, "text": text, "count": 0,
                                            "draw": finding.place.draw})
            entry["count"] += 1
        return [*found, *rules.values()][:_MOST_FINDINGS]


def _kernel_of(numbers: Sequence[int], costs: Mapping[int, int]) -> int:
    """The kernel that stands for all of a stage, which may have one for each number of pixels: the costliest."""
    return max(numbers, key=lambda number: costs.get(number, 0))


def _row_values(counted: CountedDraw, gen: Gen, stages: Mapping[str, tuple[int, ...]], flags: list[str],
                changed: list[str], costs: Mapping[int, int]) -> dict[str, Any]:
    counters, place = counted.counters, counted.place
    fragments = counters.fragments
    words = tuple(memoryview(counted.words).cast("B").cast("I"))
    layout = command_for(words[0], gen)
    name = "unknown" if layout is None else layout.name
    fields = {} if layout is None else {
        f.name: f.text(raw) for f, raw in layout.view(words, gen=gen, dwords=len(words)).fields()}
    target = next((t for t in counted.targets if t.kind != "depth"), None) or next(iter(counted.targets), None)
    is_blit = counted.kind is DrawKind.BLIT
    written = counters.pixels_blitted if is_blit else fragments.written
    idle = counted.kind is DrawKind.PRIMITIVE and not counters.written_bytes
    return {
        "draw": place.draw, "frame": place.frame, "submission": place.submission, "name": name,
        "topology": counted.topology.removeprefix("_3DPRIM_"),
        "target": "" if target is None
        else f"0x{target.address:08x} {target.width}x{target.height} {target.format.name}",
        "vertices": int(fields.get("vertex_count_per_instance", 0)), "instances": int(fields.get("instance_count", 0)),
        "objects": counters.objects.objects, "culled": counters.objects.culled, "fragments": fragments.fragments,
        "shaded": fragments.shaded, "killed": fragments.killed, "stencil_failed": fragments.stencil_failed,
        "depth_failed": fragments.depth_failed, "written": written, "instructions": counters.instructions,
        "channel_ops": counters.channel_ops, "threads": counters.threads, "read_bytes": counters.read_bytes,
        "written_bytes": counters.written_bytes, "changes": len(changed),
        **{stage: _kernel_of(stages.get(stage, (0,)), costs) for stage in _STAGES}, "idle": int(idle),
        "flags": [*flags, *(["idle"] if idle else [])], "changed": changed,
        "reads": [s.address for s in counters.surfaces if s.read_bytes],
        "writes": [s.address for s in counters.surfaces if s.written_bytes],
    }


class _Sources:
    """GLSL and NIR of kernels, in captures with GL notes, as long as they fit."""

    def __init__(self) -> None:
        self._left = MOST_SOURCES  # characters

    def of(self, use: KernelUse) -> dict[str, Any]:
        texts = use.source_texts()
        if not texts:
            return {}
        origin = "" if use.origin is None else use.origin.title
        size = sum(len(text) for _, text in texts)
        if size > self._left:
            return {"origin": origin, "sources": None}
        self._left -= size
        return {"origin": origin, "sources": [{"title": title, "text": text} for title, text in texts]}


def _kernel(use: KernelUse, draws: list[int], cost: int, live: dict[int, int] | None,
            counted: dict[int, LineCount] | None) -> dict[str, Any]:
    never = LineCount(0, 0)
    counts = {line.offset: (counted or {}).get(line.offset, never)
              for line in disassemble(use.code.code, use.gen, end=len(use.code.code))}
    lines = [{"offset": line.offset, "text": line.text, "label": line.label,
              "executions": None if counted is None else counts[line.offset].executions,
              "channels": None if counted is None else counts[line.offset].channels,
              "nan": counts[line.offset].nans, "inf": counts[line.offset].infinities,
              "live": None if live is None else live.get(line.offset), "target": None,
              "message": line.comment}
             for line in disassemble(use.code.code, use.gen, end=len(use.code.code))]
    labels = {str(line["label"]): line["offset"] for line in lines if line["label"]}
    for line in lines:
        words = str(line["text"]).replace(",", " ").split()
        line["target"] = next((labels[word] for word in words if word in labels), None)
    return {"number": use.number, "stages": use.stages, "addresses": use.addresses, "draws": _runs(draws),
            "draw_count": len(draws), "cost": cost, "complete": use.code.complete, "live_known": live is not None,
            "lines": lines}


def _described(use: SurfaceUse | None, end: int) -> Target | None:
    """A surface that was only read, as its state block describes it."""
    if use is None or use.format not in SurfaceFormat.__members__ or use.height < 2 or use.address >= end:
        return None
    return Target("surface", use.address, SurfaceFormat[use.format], use.width, use.height, use.pitch,
                  Tiling[use.tiling.upper()])


def _frames(rows: dict[str, list[Any]]) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for at, frame in enumerate(rows.get("frame", ())):
        entry = found.setdefault(frame, {"number": frame, "first": at, "last": at, "draws": 0, "instructions": 0,
                                         "written": 0})
        entry["last"] = at
        entry["draws"] += 1
        entry["instructions"] += rows["instructions"][at]
        entry["written"] += rows["written"][at]
    return list(found.values())


def _features(rows: dict[str, list[Any]], counters: list[Counters], surface_formats: list[str]) -> list[dict[str, Any]]:
    flags = Counter(flag for flags in rows.get("flags", ()) for flag in flags)
    topologies = Counter(text for text in rows.get("topology", ()) if text)
    messages: Counter[str] = Counter()
    stages: Counter[str] = Counter()
    for one in counters:
        messages.update({name: one.messages[i] for i, name in enumerate(FUNCTIONS) if one.messages[i]})
        stages.update({name: stage.threads for name, stage in one.stages.items() if stage.threads})
    formats = Counter(target.rsplit(" ", 1)[-1] for target in rows.get("target", ()) if target)
    textures = Counter(name for name in surface_formats if name)

    def group(name: str, used: Counter[str], names: tuple[str, ...] = ()) -> dict[str, Any]:
        return {"group": name, "used": [[n, used[n]] for n in sorted(used, key=lambda n: (-used[n], n))],
                "unused": [n for n in names if not used[n]]}

    threads = tuple(_COUNTED_AS.get(stage, stage) for stage in _STAGES)
    found = [group("draws with", flags, FLAGS), group("topologies", topologies), group("threads of", stages, threads),
             group("messages", messages, _MESSAGE_NAMES), group("target formats", formats),
             group("surface states", textures)]
    return [one for one in found if one["used"] or one["unused"]]


def _runs(numbers: list[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _ranges(numbers: list[int], most: int = 6) -> str:
    runs = _runs(numbers)
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:most]]
    return ", ".join(texts) + (" ..." if len(runs) > most else "")
