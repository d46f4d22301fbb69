"""`gen4emu replay`: execute a trace and write what it drew as pictures."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from typing import TextIO

import click

from gen4emu.cli.options import device_option
from gen4emu.debug.history import trap_pixel
from gen4emu.device.debug import Reduction
from gen4emu.device.device import Device, Options
from gen4emu.device.error_state import write_error_state
from gen4emu.device.macroblocks import MacroblockWriter
from gen4emu.device.observer import ErrorPolicy, Wishes
from gen4emu.device.replay import Frame, Replay
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import HangError
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Device as Part
from gen4emu.image.picture import read_channels, save, save_planes
from gen4emu.image.yuv import read_planes
from gen4emu.trace.opening import open as open_trace

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
        raise click.BadParameter(f"{name} is no surface format", ctx, param)
    width, height, pitch = (int(m[part][:9]) for part in ("width", "height", "pitch"))
    if not (0 < width <= _LARGEST and 0 < height <= _LARGEST and 0 < pitch <= 16 * _LARGEST):
        raise click.BadParameter(f"{width}x{height}, pitch {pitch}: sizes go from 1 to {_LARGEST}", ctx, param)
    target = Target("surface", int(m["address"], 16), SurfaceFormat[name], width, height, pitch,
                    Tiling[m["tiling"].upper()])
    if target.address + _extent(target) > 1 << 32:
        raise click.BadParameter(f"{value!r} reaches out of the address space", ctx, param)
    return target


class Writer:
    """Names and writes the pictures of one replay."""

    def __init__(self, directory: Path, depth: bool, npy: bool, extra: tuple[Target, ...]) -> None:
        self.directory, self.depth, self.npy, self.extra = directory, depth, npy, extra
        self.written: list[Path] = []
        self._mark = 0
        self._seen: dict[Target, bytes] = {}

    def write_draw(self, device: Device, number: int) -> None:
        """What the draw or blit that just ended has changed: `draw-00012-color-00800000.png`."""
        memory = device.memory
        wanted = [t for t in (*device.targets.latest, *self.extra)
                  if memory.changed_since(self._mark, t.address, min(_extent(t), (1 << 32) - t.address))]
        changed = []
        for target in wanted:
            pixels = b"".join(c.tobytes() for c in read_channels(memory, target).values())
            digest = blake2b(pixels, digest_size=16).digest()
            if self._seen.get(target) != digest:
                self._seen[target] = digest
                changed.append(target)
        self._save(device, f"draw-{number:05d}", changed)
        self._mark = memory.mark()

    def write(self, device: Device, prefix: str, targets: tuple[Target, ...]) -> None:
        self._save(device, prefix, (*targets, *self.extra))

    def _save(self, device: Device, prefix: str, targets: Sequence[Target]) -> None:
        for target in targets:
            if target.kind == "depth" and not self.depth:
                continue
            where = f"{target.kind}-{target.address:08x}"
            if target.level or target.slice:
                where += f"-l{target.level}-s{target.slice}"
            channels = read_channels(device.memory, target)
            path = self.directory / f"{prefix}-{where}.{'npy' if self.npy else 'png'}"
            save(path, channels)
            self.written.append(path)
            if target.chroma:
                planes = path.with_suffix(".yuv")
                save_planes(planes, read_planes(device.memory, target))
                self.written.append(planes)


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


@click.command()
@click.argument("trace")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), default="frames", show_default=True,
              help="Directory for the pictures.")
@device_option
@click.option("--draws", is_flag=True, help="Also pictures of what each draw and blit has changed.")
@click.option("--surface", "surfaces", multiple=True, callback=surface, metavar="ADDRESS,FORMAT,WxH,TILING,PITCH",
              help="Write this piece of memory, too.")
@click.option("--depth", is_flag=True, help="Write depth buffers, too.")
@click.option("--npy", is_flag=True, help="Exact channel values as .npy instead of PNG.")
@click.option("--macroblocks", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write what every media thread starts with, one line of JSON each.")
@click.option("--submission", type=click.IntRange(0), help="Stop after submission N and write only its pictures.")
@click.option("-j", "--workers", type=click.IntRange(0, 64), default=0, help="Worker threads; 0: one per processor.")
@click.option("--fp-rounding", type=click.Choice(["rtz", "rtne"]), default="rtz", show_default=True,
              help="How the EU rounds.")
@click.option("--watchdog", type=click.IntRange(0), default=0, help="Million EU instructions before a draw hangs.")
@click.option("--general", is_flag=True, help="Only the EU's general handlers: slow, the same bits.")
@click.option("--skip-prims", "--skip-primitives", "skip_primitives", type=click.IntRange(0), default=0,
              help="Leave out the first N 3DPRIMITIVEs.")
@click.option("--max-prims", "--max-primitives", "max_primitives", type=click.IntRange(0),
              help="Only the first N 3DPRIMITIVEs; skipped ones count.")
@click.option("--objects", nargs=2, type=click.IntRange(0, 0xFFFFFF), metavar="FIRST LAST",
              help="Draw only these objects, as numbered in R0.7.")
@click.option("--clip", nargs=4, type=click.IntRange(0, 8191), metavar="X1 Y1 X2 Y2",
              help="Take this for the drawing rectangle.")
@click.option("--trap-pixel", "traps", multiple=True, callback=pixels, metavar="X,Y[,N]",
              help="Say which threads a pixel's 2x2 block goes to; only the N-th time.")
@click.option("--bad-messages", "policy", type=click.Choice([p.name.lower() for p in ErrorPolicy]), default="lenient",
              show_default=True, help="Count them; stop the draw; or let threads hang that touch the register.")
@click.option("--strict", is_flag=True, help="Exit with status 1 when anything is not modelled or not right.")
def replay(trace: str, output: Path, device: Part | None, draws: bool, surfaces: tuple[Target, ...], depth: bool,
           npy: bool, macroblocks: Path | None, submission: int | None, workers: int, fp_rounding: str,
           watchdog: int, general: bool, skip_primitives: int, max_primitives: int | None,
           objects: tuple[int, int] | None, clip: tuple[int, int, int, int] | None,
           traps: tuple[tuple[int, int, int], ...], policy: str, strict: bool) -> int:
    """Execute TRACE and write its render targets as pictures.

    \b
    Example:
      gen4emu replay traces/triangle-g4x.aub.xz -o frames/
    """
    options = Options(round_to_nearest=fp_rounding == "rtne", general_only=general, watchdog=watchdog,
                      workers=workers, strict=strict,
                      reduction=Reduction(skip_primitives, max_primitives, None, objects, clip))
    run = Replay(open_trace(trace, device=device, again=True), device, options)
    writer = Writer(output, depth, npy, surfaces)
    show = sys.stderr.isatty()

    def after_draw(number: int) -> None:
        assert run.device is not None
        if draws:
            writer.write_draw(run.device, number)
        if show and number % 16 == 0:
            click.echo(f"\rsubmission {run.submissions}, draw {number}", err=True, nl=False)

    def start(found: Device) -> None:
        for x, y, instance in traps:
            trap_pixel(found, x, y, instance, click.echo)
        found.observer.add(Wishes(errors=ErrorPolicy[policy.upper()]))
        if lines is not None:
            MacroblockWriter(found, lines, lambda: run.submissions, submission).start()

    lines: TextIO | None = None
    run.on_start = start
    run.on_draw = after_draw
    started = time.perf_counter()
    with ExitStack() as stack:
        if macroblocks is not None:
            lines = stack.enter_context(macroblocks.open("w", encoding="ascii"))
        return _replay(run, writer, trace, started, submission, strict)


def _replay(run: Replay, writer: Writer, trace: str, started: float, submission: int | None, strict: bool) -> int:
    try:
        for frame in run.frames(submission):
            _write_frame(run, writer, frame)
        return _summary(run, writer, time.perf_counter() - started, strict)
    except HangError as e:
        _summary(run, writer, time.perf_counter() - started, strict)
        where = _write_error_state(run, writer.directory, str(e))
        raise HangError(f"{trace}: {e} (submission {run.submissions}); error state: {where}") from e
    finally:
        run.close()


def _write_frame(run: Replay, writer: Writer, frame: Frame) -> None:
    assert run.device is not None
    writer.write(run.device, f"frame-{frame.number:04d}", frame.targets)


def _write_error_state(run: Replay, directory: Path, reason: str) -> Path:
    """What `gen4emu decode` reads to show where the GPU stopped."""
    assert run.device is not None
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"hang-{run.submissions:04d}.error.gz"
    write_error_state(run.device, path, reason=reason)
    return path


def _summary(run: Replay, writer: Writer, seconds: float, strict: bool) -> int:
    """What happened, to stderr; 1 when --strict and there is something to complain about."""
    if sys.stderr.isatty():
        click.echo("\r\033[K", err=True, nl=False)
    for path in writer.written:
        click.echo(path)
    complaints = list(run.warnings)
    notes: list[str] = []
    if run.device is not None:
        complaints += [f"{kind}: {count} times, first at {run.device.findings.first[kind]}"
                       for kind, count in run.device.findings.count.items()]
        events = run.device.events()
        notes = [str(event) for event in events if event.is_note]
        complaints += [str(event) for event in events if not event.is_note]
        faults = run.device.faults
        complaints += [f"{kind.text}: {count} times, first at 0x{faults.first[kind].address:08x} by "
                       f"{faults.first[kind].unit.name}" for kind, count in faults.counts.items()]
    for complaint in complaints + notes:
        click.echo(f"gen4emu: {complaint}", err=True)
    click.echo(f"{run.submissions} submissions, {run.draws} draws, {len(writer.written)} pictures, {seconds:.2f} s",
               err=True)
    return 1 if strict and complaints else 0


