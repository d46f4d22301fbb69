"""`gen4emu replay`: execute a trace and write what it drew as pictures."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import click

from gen4emu.cli import options
from gen4emu.cli.replay_parts import FrameRange, Job, Joined, parts_of, replay_parts
from gen4emu.cli.replay_run import Report, Writer, extent, replay_frames
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, complain
from gen4emu.core_enums import ErrorPolicy, HierarchicalDepthMode
from gen4emu.debugger.history import trap_pixel
from gen4emu.device import bookmark_file
from gen4emu.device.debug_registers import Reduction
from gen4emu.device.device import Device
from gen4emu.device.macroblocks import MacroblockWriter
from gen4emu.device.observer import Subscription
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import FieldError, Gen4emuError, HangError, TraceError
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.image.picture import AUTO_RANGE, FULL_RANGE, DepthRange
from gen4emu.image.raw_video import STDOUT, RawVideo
from gen4emu.image.store import MAX_PICTURES, PictureStore
from gen4emu.sandbox import Sandbox
from gen4emu.selection import ALL, Selection
from gen4emu.trace.output import Output
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
              help="Write what each of these draws and blits changed; without numbers, all of them, and frames.")
@click.option("--surface", "surfaces", multiple=True, callback=surface, metavar="ADDRESS,FORMAT,WxH,TILING,PITCH",
              help="Write this memory as a picture, too.")
@click.option("--depth", is_flag=True, help="Write depth and stencil buffers, too.")
@click.option("--depth-range", callback=depth_range, default="auto", metavar="auto|full|LOW..HIGH",
              help="The depths shown as black and white; auto (the default): the range of the picture; full: 0..1.")
@click.option("--npy", is_flag=True, help="Exact channel values as .npy instead of PNG.")
@click.option("--no-pictures", is_flag=True, help="Execute only.")
@click.option("--max-pictures", type=click.IntRange(0), default=MAX_PICTURES, show_default=True, metavar="N",
              help="Stop with an error instead of writing more pictures.")
@click.option("--raw-video", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write frames as raw video (rgb24) for ffmpeg, and no pictures unless -o is given; - is stdout.")
@click.option("--macroblocks", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the payload of each media thread as a line of JSON.")
@click.option("-j", "--workers", type=click.IntRange(0, 64), default=0, help="Worker threads; 0: one per processor.")
@click.option("--processes", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N",
              help="Execute the frames in N processes, from the checkpoints of `gen4emu index TRACE`.")
@click.option("--fp-rounding", type=click.Choice(["rtz", "rtne"]), default="rtz", show_default=True,
              help="The rounding mode of the EUs.")
@click.option("--watchdog", type=click.IntRange(0), default=0,
              help="Million EU instructions before a draw hangs; 0: 20,000, which takes half a minute or more.")
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
              help="Print the threads that shade this pixel's 2x2 block; with N, only the N-th.")
@click.option("--bad-messages", "policy", type=click.Choice([p.name.lower() for p in ErrorPolicy]), default="lenient",
              show_default=True, help="Count them; stop the draw; or hang threads that read the response.")
@click.option("--strict", is_flag=True, help="Exit with status 1 after unmodelled or invalid operations.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, instead of paths and a summary.")
@confinement_options
@options.verbosity_options
def replay(trace: str, output: Path | None, kind: str | None, base: int, device: Part | None, force_device: bool,
           partial: bool, frames: Selection | None, submissions: Selection | None, draws: Selection | None,
           surfaces: tuple[Target, ...], depth: bool, depth_range: DepthRange, npy: bool, no_pictures: bool,
           max_pictures: int, raw_video: Path | None, macroblocks: Path | None, workers: int, processes: int,
           fp_rounding: str,
           watchdog: int, hiz: HierarchicalDepthMode, general: bool, skip_primitives: int, max_primitives: int | None,
           objects: tuple[int, int] | None, clip: tuple[int, int, int, int] | None,
           traps: tuple[tuple[int, int, int], ...], policy: str, strict: bool, as_json: bool,
           confinement: Confinement) -> int:
    """Execute TRACE and write its render targets as pictures.

    --processes does not change the result; it divides the trace between frames.

    \b
    Examples:
      gen4emu replay traces/triangle-g4x.aub.xz -o frames/
      gen4emu replay batch.bin --raw --base 0x12300000 --device g45
      gen4emu replay app.g4c --raw-video - | ffmpeg -f rawvideo -pixel_format rgb24 -video_size 640x480 -i - app.mp4
    """
    if as_json and raw_video == STDOUT:
        raise click.UsageError("--json and --raw-video - both write to standard output")
    if no_pictures and output is not None:
        raise click.UsageError("--no-pictures and --output exclude each other")
    if processes > 1:
        for name, given in (("--raw", kind), ("--device", device), ("--submissions", submissions), ("--draws", draws),
                            ("--raw-video", raw_video), ("--macroblocks", macroblocks), ("--trap-pixel", traps),
                            ("--bad-messages", policy != "lenient"), ("standard input", trace == STDIN)):
            if given:
                raise click.UsageError(f"--processes and {name} exclude each other")
    confinement.limit(trace)
    silent = as_json or raw_video == STDOUT
    choices = Options(round_to_nearest=fp_rounding == "rtne", general_only=general, watchdog=watchdog,
                      workers=workers, strict=strict, hierarchical_depth=hiz,
                      reduction=Reduction(skip_primitives, max_primitives, None, objects, clip))

    def after_draw(number: int) -> None:
        assert run.device is not None
        if draws is not None and run.has_ended(draws):
            writer.write_draw(run.device, run.place)

    def start(found: Device) -> None:
        for target in surfaces:
            if target.address + extent(target) > found.memory.size:
                raise FieldError(f"--surface 0x{target.address:x}: reaches out of the address space")
        for x, y, instance in traps:
            trap_pixel(found, x, y, instance, lambda text: click.echo(text, err=silent))
        found.observer.add(Subscription(errors=ErrorPolicy[policy.upper()]))
        if lines is not None:
            MacroblockWriter(found, lines, submissions or ALL).start()
        if report.store is not None:
            report.store.device = found.info.name

    directory = output or Path("frames", trace_name(trace))
    announce = None if silent else click.echo
    if processes > 1:
        choices = replace(choices, workers=workers or max(1, (os.cpu_count() or 1) // processes))
        asked = ALL if frames is None else frames
        divided, parts = parts_of(trace, choices, asked, processes, confinement.mode)
        confinement.sandbox().write_directory(directory)

        def confined() -> Sandbox:
            inner = Sandbox(confinement.mode)
            if trace != STDIN:
                inner.read(Path(trace))
            inner.write_directory(directory)
            inner.enter()
            return inner

        def pictures(give: Callable[[dict[str, Any]], None] | None = None) -> PictureStore:
            return PictureStore(directory, file=trace, limit=max_pictures, npy=npy, depth_range=depth_range,
                                announce=announce if give is None else None, give=give)

        job = Job(trace, divided, lambda: open_trace(trace, base=base, again=True), choices, asked, directory,
                  None if no_pictures else pictures, lambda store: Writer(store, None, depth, surfaces), confined,
                  strict, partial)
        return _replay_parts(job, parts, processes, None if no_pictures else pictures(), as_json)
    lines: _Lines | None = None
    index = None
    if device is None and kind is None and not traps and macroblocks is None and policy == "lenient" \
            and _can_begin_later(frames, submissions, draws):
        index = bookmark_file.signed_if_valid(trace, complain)
    confinement.enter(trace, outputs=(raw_video, macroblocks), directory=directory)
    at = None if index is None else index.bookmark_before(_firsts(frames, submissions, draws), choices, complain)
    run = Replay(open_trace(trace, device=device, force_device=force_device, base=base, kind=kind, again=True),
                 device, choices, on_start=start, on_draw=after_draw, at=at)
    report = Report(run, trace, directory, strict, partial)
    progress = Progress(f"replaying {trace}", lambda: run.trace.fraction, scrolls=not silent and not no_pictures)
    progress.follow()
    try:
        with ExitStack() as stack:
            video = None if raw_video is None else stack.enter_context(RawVideo(raw_video, complain))
            if not no_pictures and (raw_video is None or output is not None):
                report.store = PictureStore(directory, file=trace, limit=max_pictures, npy=npy,
                                            depth_range=depth_range, announce=announce)
                stack.callback(report.store.close)
            if macroblocks is not None:
                lines = stack.enter_context(_Lines(macroblocks))
            writer = Writer(report.store, video, depth, surfaces)
            replay_frames(run, writer, report, frames, submissions, draws)
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


class _Lines:
    """The file of --macroblocks, which appears at the end: also after a hang, with what came before it."""

    def __init__(self, path: Path) -> None:
        self._output = Output(path)

    def write(self, text: str) -> None:
        try:
            self._output.write(text.encode("ascii"))
        except TraceError:
            self._output.discard()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._output.commit()


def _replay_parts(job: Job, parts: Sequence[FrameRange], processes: int, store: PictureStore | None,
                  as_json: bool) -> int:
    started = time.perf_counter()
    progress = Progress(f"replaying {job.trace}", scrolls=not as_json and store is not None)
    try:
        try:
            joined = replay_parts(job, parts, processes, store,
                                  lambda done: progress.tick(lambda: f"{done} of {len(parts)} parts"))
        finally:
            progress.done()
            if store is not None:
                store.close()
    except (Gen4emuError, OSError) as e:
        error = e if isinstance(e, Gen4emuError) else Gen4emuError(f"{e.filename}: {e.strerror}")
        joined = Joined(None, error, shows=False)
    outcome = joined.outcome
    shown = None if store is None else store.pictures
    seconds = time.perf_counter() - started
    status = 0 if outcome is None else outcome.document["status"]
    if joined.error is not None:
        status = 3 if isinstance(joined.error, HangError) else 2
    if outcome is not None and (joined.error is None or joined.shows):
        outcome.show(job.trace, job.partial, shown, seconds)
    if as_json and outcome is not None:
        click.echo(json.dumps(outcome.as_json(status, shown, [] if joined.error is None else [str(joined.error)],
                                              seconds)))
    if joined.error is not None:
        raise joined.error
    return int(status)


def _firsts(*selections: Selection | None) -> list[tuple[int, str]]:
    """The first number of each selection, and its unit."""
    return [(selection.first, unit) for selection, unit in zip(selections, ("frame", "submission", "draw"),
                                                               strict=True) if selection is not None]


def _can_begin_later(*selections: Selection | None) -> bool:
    firsts = _firsts(*selections)
    return bool(firsts) and all(first for first, _ in firsts)


def trace_name(trace: str) -> str:
    """The name of a trace without directories and suffixes."""
    return "stdin" if trace == STDIN else Path(trace).name.lstrip(".").partition(".")[0] or "trace"
