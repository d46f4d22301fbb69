"""`gen4emu replay`: execute a trace and write what it drew as pictures."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import click

from gen4emu.cli import options
from gen4emu.cli.sandbox_options import sandbox_option
from gen4emu.cli.terminal import Progress, complain, damaged, is_quiet, some
from gen4emu.core_enums import ErrorPolicy, HierarchicalDepthMode
from gen4emu.debugger.history import trap_pixel
from gen4emu.device import bookmark_file, hierarchical_depth
from gen4emu.device.debug_registers import Reduction
from gen4emu.device.device import Device
from gen4emu.device.error_state import write_error_state
from gen4emu.device.grave import has_grave_errors
from gen4emu.device.macroblocks import MacroblockWriter
from gen4emu.device.observer import Subscription
from gen4emu.device.options import Options
from gen4emu.device.place import DrawKind, Place
from gen4emu.device.replay import Bookmark, Frame, Replay
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import FieldError, Gen4emuError, HangError
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.image.picture import AUTO_RANGE, FULL_RANGE, DepthRange
from gen4emu.image.raw_video import STDOUT, RawVideo
from gen4emu.image.store import MAX_PICTURES, PictureStore, count_text
from gen4emu.sandbox import Mode, Sandbox
from gen4emu.selection import ALL, Selection
from gen4emu.trace.reader import open as open_trace

STDIN = "-"
_LARGEST = 8192
_SURFACE = re.compile(r"(?P<address>(0x)?[0-9a-fA-F]+),(?P<format>\w+),(?P<width>\d+)x(?P<height>\d+)"
                      r",(?P<tiling>linear|x|y),(?P<pitch>\d+)", re.IGNORECASE)


def surface(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Target, ...]:
    """ADDRESS,FORMAT,WxH,TILING,PITCH."""
    return tuple(_surface(ctx, param, value) for value in values)


def _surface(ctx: click.Context, param: click.Parameter, value: str) -> Target:
    m = _SURFACE.fullmatch(value)
    if m is None:
        raise click.BadParameter(f"{value!r} is not ADDRESS,FORMAT,WxH,TILING,PITCH", ctx, param)
    name = m["format"].upper()
    if name not in SurfaceFormat.__members__:
        raise click.BadParameter(f"{name} is not a surface format", ctx, param)
    width, height, pitch = (int(m[part][:9]) for part in ("width", "height", "pitch"))
    if not (0 < width <= _LARGEST and 0 < height <= _LARGEST and 0 < pitch <= 16 * _LARGEST):
        raise click.BadParameter(f"{width}x{height}, pitch {pitch}: sizes go from 1 to {_LARGEST}", ctx, param)
    target = Target("surface", int(m["address"], 16), SurfaceFormat[name], width, height, pitch,
                    Tiling[m["tiling"].upper()])
    return target


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
            if memory.changed_since(self._mark, target.address, min(_extent(target), memory.size - target.address)):
                self._store.add(memory, target, "draw", place.draw, place, only_changes=True)
        self._mark = memory.mark()

    def write(self, device: Device, frame: Frame) -> None:
        if self._store is not None:
            for target in self._wanted(frame.targets):
                self._store.add(device.memory, target, frame.unit, frame.number, frame.place)
        if self._video is not None and frame.unit == "frame":
            self._video.add(device.memory, frame.targets)

    def _wanted(self, targets: Sequence[Target]) -> Iterator[Target]:
        """The targets that become pictures; the stencil of a depth buffer is one of its own."""
        for target in (*targets, *self._extra):
            if target.kind != "depth":
                yield target
            elif self._depth:
                yield target
                if target.stencil is not None:
                    yield replace(target, kind="stencil", format=target.stencil)


def _extent(target: Target) -> int:
    """Bytes that a target may cover, tiles made full, within the address space."""
    rows = (target.y + target.height + 31) // 32 * 32
    return target.pitch * rows


def pixels(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[int, int, int], ...]:
    """X,Y[,N]."""
    return tuple(_pixel(ctx, param, value) for value in values)


def _pixel(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, int, int]:
    m = re.fullmatch(r"(\d{1,4}),(\d{1,4})(?:,(\d{1,9}))?", value)
    if m is None or int(m[1]) >= _LARGEST or int(m[2]) >= _LARGEST or m[3] == "0":
        raise click.BadParameter(f"{value!r} is not X,Y or X,Y,N", ctx, param)
    return int(m[1]), int(m[2]), int(m[3] or 0)


def depth_range(ctx: click.Context, param: click.Parameter, value: str) -> DepthRange:
    """auto, full or LOW..HIGH."""
    named = {"auto": AUTO_RANGE, "full": FULL_RANGE}.get(value)
    if named is not None:
        return named
    try:
        low, high = (float(part) for part in value.split(".."))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not auto, full or LOW..HIGH, such as 0.9..1", ctx, param) from None
    if not -1e30 < low < high < 1e30:
        raise click.BadParameter(f"{value!r}: LOW must be less than HIGH", ctx, param)
    return low, high


@click.command()
@click.argument("trace")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Directory for the pictures and index.json.  [default: frames/NAME, the name of TRACE]")
@options.trace_options
@options.frames_option
@options.submissions_option
@click.option("--draws", "--draw", "draws", is_flag=False, flag_value="", callback=options.selection,
              metavar="[N,N-N,...]",
              help="Pictures of what each of these draws and blits changed; without numbers, of all, and frames too.")
@click.option("--surface", "surfaces", multiple=True, callback=surface, metavar="ADDRESS,FORMAT,WxH,TILING,PITCH",
              help="Write this piece of memory, too.")
@click.option("--depth", is_flag=True, help="Write depth and stencil buffers, too.")
@click.option("--depth-range", callback=depth_range, default="auto", metavar="auto|full|LOW..HIGH",
              help="The depths that become black and white; auto (the default): those of the picture; full: 0..1.")
@click.option("--npy", is_flag=True, help="Exact channel values as .npy instead of PNG.")
@click.option("--no-pictures", is_flag=True, help="Execute only.")
@click.option("--max-pictures", type=click.IntRange(0), default=MAX_PICTURES, show_default=True, metavar="N",
              help="Stop with an error instead of writing more pictures.")
@click.option("--raw-video", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write frames as raw video (rgb24) for ffmpeg, and no pictures unless -o is given; - is stdout.")
@click.option("--macroblocks", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write what every media thread starts with, one line of JSON each.")
@click.option("-j", "--workers", type=click.IntRange(0, 64), default=0, help="Worker threads; 0: one per processor.")
@click.option("--fp-rounding", type=click.Choice(["rtz", "rtne"]), default="rtz", show_default=True,
              help="How the EU rounds.")
@click.option("--watchdog", type=click.IntRange(0), default=0, help="Million EU instructions before a draw hangs.")
@options.hiz_option
@click.option("--general", is_flag=True, help="Disable fast paths: slow, identical output.")
@click.option("--skip-prims", "--skip-primitives", "skip_primitives", type=click.IntRange(0), default=0,
              help="Skip the first N 3DPRIMITIVEs.")
@click.option("--max-prims", "--max-primitives", "max_primitives", type=click.IntRange(0),
              help="Only the first N 3DPRIMITIVEs; skipped ones count.")
@click.option("--objects", nargs=2, type=click.IntRange(0, 0xFFFFFF), metavar="FIRST LAST",
              help="Draw only these objects, as numbered in R0.7.")
@click.option("--clip", nargs=4, type=click.IntRange(0, 8191), metavar="X1 Y1 X2 Y2",
              help="Override the drawing rectangle.")
@click.option("--trap-pixel", "traps", multiple=True, callback=pixels, metavar="X,Y[,N]",
              help="Print the threads that a pixel's 2x2 block goes to; only the N-th time.")
@click.option("--bad-messages", "policy", type=click.Choice([p.name.lower() for p in ErrorPolicy]), default="lenient",
              show_default=True, help="Count them; stop the draw; or let threads hang that touch the register.")
@click.option("--strict", is_flag=True, help="Exit with status 1 after unmodelled or invalid operations.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, instead of paths and a summary.")
@sandbox_option
@options.verbosity_options
def replay(trace: str, output: Path | None, kind: str | None, base: int, device: Part | None, force_device: bool,
           partial: bool, frames: Selection | None, submissions: Selection | None, draws: Selection | None,
           surfaces: tuple[Target, ...], depth: bool, depth_range: DepthRange, npy: bool, no_pictures: bool,
           max_pictures: int, raw_video: Path | None, macroblocks: Path | None, workers: int, fp_rounding: str,
           watchdog: int, hiz: HierarchicalDepthMode, general: bool, skip_primitives: int, max_primitives: int | None,
           objects: tuple[int, int] | None, clip: tuple[int, int, int, int] | None,
           traps: tuple[tuple[int, int, int], ...], policy: str, strict: bool, as_json: bool,
           sandbox: Mode) -> int:
    """Execute TRACE and write its render targets as pictures.

    \b
    Examples:
      gen4emu replay traces/triangle-g4x.aub.xz -o frames/
      gen4emu replay batch.bin --raw --base 0x12300000 --device g45
      gen4emu replay app.g4c --raw-video - | ffmpeg -f rawvideo -pixel_format rgb24 -video_size 640x480 -i - app.mp4
    """
    if as_json and raw_video == STDOUT:
        raise click.UsageError("--json and --raw-video - both want standard output")
    if no_pictures and output is not None:
        raise click.UsageError("--no-pictures and --output exclude each other")
    silent = as_json or raw_video == STDOUT
    choices = Options(round_to_nearest=fp_rounding == "rtne", general_only=general, watchdog=watchdog,
                      workers=workers, strict=strict, hierarchical_depth=hiz,
                      reduction=Reduction(skip_primitives, max_primitives, None, objects, clip))

    def after_draw(number: int) -> None:
        assert run.device is not None
        if draws is not None and run.has_ended(draws):
            writer.write_draw(run.device, run.place)
        progress.tick(lambda: f"frame {run.frame_count}, submission {run.submissions - 1}, draw {number}")

    def start(found: Device) -> None:
        for target in surfaces:
            if target.address + _extent(target) > found.memory.size:
                raise FieldError(f"--surface 0x{target.address:x}: reaches out of the address space")
        for x, y, instance in traps:
            trap_pixel(found, x, y, instance, lambda text: click.echo(text, err=silent))
        found.observer.add(Subscription(errors=ErrorPolicy[policy.upper()]))
        if lines is not None:
            MacroblockWriter(found, lines, submissions or ALL).start()
        if report.store is not None:
            report.store.device = found.info.name

    lines: TextIO | None = None
    at = None
    if device is None and kind is None and not traps and macroblocks is None and policy == "lenient":
        at = _bookmark(trace, choices, frames, submissions, draws)
    directory = output or Path("frames", trace_name(trace))
    _confine(click.get_current_context().with_resource(Sandbox(sandbox)), trace, directory, raw_video, macroblocks)
    run = Replay(open_trace(trace, device=device, force_device=force_device, base=base, kind=kind, again=True),
                 device, choices, on_start=start, on_draw=after_draw, at=at)
    report = Report(run, trace, directory, strict, partial)
    progress = Progress(f"replaying {trace}", lambda: run.trace.fraction, scrolls=not silent and not no_pictures)
    try:
        with ExitStack() as stack:
            video = None if raw_video is None else stack.enter_context(RawVideo(raw_video, complain))
            if not no_pictures and (raw_video is None or output is not None):
                report.store = PictureStore(directory, file=trace, limit=max_pictures, npy=npy,
                                            depth_range=depth_range, announce=None if silent else click.echo)
                stack.callback(report.store.close)
            if macroblocks is not None:
                lines = stack.enter_context(macroblocks.open("w", encoding="ascii"))
            writer = Writer(report.store, video, depth, surfaces)
            _replay(run, writer, report, frames, submissions, draws)
            progress.done()
        # The pictures and the index are complete now.
        status = report.status()
        report.show()
        if as_json:
            click.echo(json.dumps(report.as_json(status)))
        return status
    except (Gen4emuError, OSError) as e:
        progress.done()
        if isinstance(e, HangError):
            report.show()
        if as_json:
            report.errors.append(str(e))
            click.echo(json.dumps(report.as_json(3 if isinstance(e, HangError) else 2)))
        raise
    finally:
        progress.done()
        run.close()


def _confine(sandbox: Sandbox, trace: str, directory: Path, *files: Path | None) -> None:
    """Allow what a replay reads and writes, nothing else, from now on."""
    if trace != STDIN:
        sandbox.read(Path(trace))
    sandbox.write_directory(directory)
    for file in files:
        if file is not None and file != STDOUT:
            sandbox.write_file(file)
    sandbox.enter()


def _bookmark(trace: str, chosen: Options, *selections: Selection | None) -> Bookmark | None:
    """Where to begin: the last bookmark of the trace's index before everything that is selected."""
    firsts = [(selection.first, unit) for selection, unit in zip(selections, ("frame", "submission", "draw"),
                                                                 strict=True) if selection is not None]
    if not any(first for first, _ in firsts) or any(first == 0 for first, _ in firsts):
        return None
    index = bookmark_file.read_if_valid(trace, complain)
    if index is None:
        return None
    bookmarks = Bookmarks()
    bookmarks.add(index.with_options(chosen))
    found = [bookmarks.before(first, unit) for first, unit in firsts]
    return None if None in found else min((b for b in found if b is not None), key=lambda b: b.order)


def _replay(run: Replay, writer: Writer, report: Report, frames: Selection | None, submissions: Selection | None,
            draws: Selection | None) -> None:
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
    for selected, count, noun in ((frames, run.frame_count, "frame"), (submissions, run.submissions, "submission"),
                                  (draws, run.draws, "draw")):
        if selected is not None and not selected.is_all:
            selected.require_any(count, noun, report.trace)


def trace_name(trace: str) -> str:
    """The name of a trace without directories and suffixes."""
    return "stdin" if trace == STDIN else Path(trace).name.lstrip(".").partition(".")[0] or "trace"


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

    def show(self) -> None:
        """Print errors, notes and the summary."""
        device = self._run.device
        notes = [] if device is None else [str(event) for event in device.events() if event.is_note]
        for line in self._complaints() + ([] if is_quiet() else notes):
            complain(line)
        damaged(self.trace, self._run.damage, self.partial)
        if not is_quiet():
            hiz = "" if device is None else hierarchical_depth.summary(device.hierarchical_depth_counts())
            if hiz:
                click.echo(hiz, err=True)
            click.echo(self._summary(), err=True)

    def _summary(self) -> str:
        parts = [some(self._run.submissions, "submission")]
        counts = self._counts()
        parts += [some(count, kind.value) for kind, count in counts.items() if count or kind is DrawKind.PRIMITIVE]
        if self.store is not None:
            parts.append(count_text(self.store.pictures))
        return f"{', '.join(parts)}, {time.perf_counter() - self._started:.2f} s"

    def _counts(self) -> dict[DrawKind, int]:
        device = self._run.device
        return dict.fromkeys(DrawKind, 0) if device is None else device.numbers.counts

    def as_json(self, status: int) -> dict[str, Any]:
        """docs/json.md describes it."""
        run, counts = self._run, self._counts()
        document: dict[str, Any] = {
            "schema": "gen4emu.replay/1", "file": self.trace,
            "device": None if run.device is None else run.device.info.name, "status": status,
            "submissions": run.submissions, "frames": run.frame_count, "draws": run.draws,
            "primitives": counts[DrawKind.PRIMITIVE], "blits": counts[DrawKind.BLIT],
            "media_objects": counts[DrawKind.MEDIA_OBJECT], "dispatches": counts[DrawKind.DISPATCH],
            "directory": None if self.store is None else str(self.store.directory),
            "pictures": [] if self.store is None else self.store.pictures,
            "warnings": run.warnings, "damage": [f"0x{d.offset:08x}: {d.text}" for d in run.damage],
            "differences": run.differences, "findings": [], "events": [], "faults": [], "hang": self._hang,
            "errors": self.errors, "seconds": round(time.perf_counter() - self._started, 3)}
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
