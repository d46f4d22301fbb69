"""A draw of a trace as a script of its own: the state in force, the memory that it reads, the draw."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from tempfile import TemporaryDirectory

from gen4emu.api.device import Device as NewDevice
from gen4emu.api.trace import Draw, Trace
from gen4emu.api.trace import open as open_trace
from gen4emu.bisect import digests
from gen4emu.bisect.digests import DrawDigest, digest_of, surface_bytes, target_digest
from gen4emu.device.bookmark_file import Start
from gen4emu.device.device import Device
from gen4emu.device.memory import PAGE_SIZE, Missing
from gen4emu.device.place import DrawKind
from gen4emu.device.replay import Replay
from gen4emu.device.targets import Target
from gen4emu.errors import Gen4emuError, HangError, SelectionError
from gen4emu.hw.command_reader import Words
from gen4emu.image.picture import replacing
from gen4emu.repro.commands import StateCommands
from gen4emu.repro.inputs import kernels_of, write_inputs
from gen4emu.repro.program import program
from gen4emu.repro.reduction import leave_out
from gen4emu.repro.relocations import layout_of, load
from gen4emu.repro.script import Dwords, Script, parse
from gen4emu.selection import Selection
from gen4emu.trace import reader
from gen4emu.trace.events import Engine

_TILE_ROWS = 64  # of the tallest tile
_MOST_READS = 200  # runs that look for memory which the draw reads
_MOST_RUNS = 2000  # of the draw, to find the memory that it needs,
_MOST_BYTES = 1 << 30  # and bytes of memory and targets in all these runs
_README = """\
{draw} of a trace of a {device}, with the state in force and the memory that it needs.

batch.txt         the commands, which may be edited
memory/           the contents of memory, named by address
draw.aub.xz       the trace that `gen4emu build batch.txt -o draw.aub.xz` makes
expected.digests  what the draw writes: `gen4emu bisect draw.aub.xz --against expected.digests`
expected-N.png    its render targets; .npy: the exact values of their channels
"""
_INPUTS = {"kernels/*": "the kernels as assembly, which may be edited",
           "vertices-*.csv": "the vertices that it reads, by buffer",
           "indices.csv": "the indices", "constants.txt": "the constants, by their address",
           "texture-*.png": "the textures; .npy: the exact values of their channels"}
_PROGRAM = """\
repro.c           submits it to the i915 driver, and compares the render targets:
                  `cc repro.c -o repro && ./repro`, or `gen4emu run --device {device} -- ./repro`
"""
_FIRST_FREE = 0x0010_0000  # below are rings and tables of most traces


class _OtherPixels(Gen4emuError):
    """The draw alone does something else than in its trace."""


@dataclass(slots=True)
class _Moment:
    """The state and all memory after the draw before the exported one."""

    commands: dict[Engine, tuple[Dwords, ...]]
    registers: dict[Engine, tuple[Dwords, ...]]  # commands that load those which others have computed
    pages: dict[int, bytes]


@dataclass(frozen=True, slots=True)
class Export:
    """A draw as a script, the surfaces that it writes, and their digests in the trace."""

    script: Script
    targets: tuple[Target, ...]
    expected: DrawDigest


def export(trace: Trace, source: reader.Trace, number: int, start: Start | None = None) -> Export:
    """Export a draw of a trace, with the state and the memory that it needs.

    `start` is a place before it at which an execution can begin.
    """
    draw = trace.at(draw=number)
    assert isinstance(draw, Draw)
    if draw.kind not in (DrawKind.PRIMITIVE.value, DrawKind.BLIT.value):
        raise SelectionError(f"{trace.path}: draw {number} is a {draw.kind}; primitives and blits can be exported")
    if trace.device is None:
        raise SelectionError(f"{trace.path}: the device is unknown")
    targets, digest = draw.device.targets.latest, digest_of(draw)
    moment = _before(source, trace, number, start)
    engine, free = draw.device.engine, free_address(moment.pages)

    def script(*registers: Dwords) -> Script:
        commands = [*moment.commands[engine], *registers, tuple(draw.command.body.words)]
        found = Script(device, trace.application, engine, free, free + PAGE_SIZE, [], commands)
        found.memory = joined(_needed(found, moment.pages, targets, digest))
        return found

    device, registers = trace.device, moment.registers[engine]
    try:
        found = script()
    except _OtherPixels:
        if not registers:
            raise
        found = script(*registers)  # kernels of real machines accept fewer of them from programs
    return Export(found, targets, digest)


def write(draw: Export, directory: Path) -> str:
    """Write a directory with the script, its trace, a C program, digests and pictures.

    It gets its name when all is verified.  Returns why there is no C program, or nothing.
    """
    script, expected = draw.script, draw.expected
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise Gen4emuError(f"{directory}: exists already")
    directory.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as name:
        place = Path(name, "new")
        script.save(place)
        built = place / "draw.aub.xz"
        parse(place / "batch.txt").build(built)
        inputs = _check(place, expected)
        inputs += _write_kernels(script, place, built)
        without = _write_program(draw, place)
        with replacing(place / "README") as file:
            file.write(_readme(draw, inputs, not without).encode())
        if directory.is_dir():
            directory.rmdir()
        place.rename(directory)
    return without


def _readme(draw: Export, inputs: list[str], has_program: bool) -> str:
    device = draw.script.device
    text = _README.format(draw=draw.expected, device=device.marketing)
    text += "".join(f"{pattern:<17} {meaning}\n" for pattern, meaning in _INPUTS.items()
                    if any(fnmatch(name, pattern) for name in inputs))
    return text + _PROGRAM.format(device=device.name) if has_program else text


def _write_kernels(script: Script, place: Path, built: Path) -> list[str]:
    """Write the kernels as assembly, and batch.txt again, which names them and builds the same trace.

    Returns the names of the files.
    """
    with open_trace(built) as trace:
        kernels = kernels_of(trace)
    again = place / "again.aub.xz"
    script.save(place, kernels)
    parse(place / "batch.txt").build(again)
    if again.read_bytes() != built.read_bytes():
        raise Gen4emuError(f"{place}: the trace with kernels as assembly is different")
    again.unlink()
    return [kernel.name for kernel in kernels]


def _write_program(draw: Export, place: Path) -> str:
    """Write repro.c; returns why that is impossible, or nothing."""
    title = f"{draw.expected} of a trace of a {draw.script.device.marketing}, by gen4emu export."
    try:
        layout = layout_of(draw.script, draw.targets)
        with NewDevice(draw.script.device) as device:
            load(device.memory, draw.script)
            device.run_batch(draw.script.batch, draw.script.engine)
            targets = [(target, surface_bytes(device.memory, target)) for target in draw.targets]
        text = program(title, draw.script, layout, targets)
    except Gen4emuError as e:
        return str(e)
    with replacing(place / "repro.c") as file:
        file.write(text.encode())
    return ""


def _check(place: Path, expected: DrawDigest) -> list[str]:
    """Execute the trace that was built; write its digests, pictures and inputs if it draws as the original.

    Returns the names of the inputs.
    """
    trace = str(place / "draw.aub.xz")
    with open_trace(trace) as built:
        draw = built.at(draw=0)
        assert isinstance(draw, Draw)
        if digest_of(draw).first_difference(expected) is not None:
            raise Gen4emuError(f"draw {expected.number}: the trace built from it writes different pixels")
        for number, surface in enumerate(draw.targets):
            surface.save(place / f"expected-{number}.png")
            surface.save(place / f"expected-{number}.npy")
        inputs = write_inputs(draw, place / "draw.aub.xz", place)
    with open_trace(trace) as built:
        digests.write(place / "expected.digests", built, digests.execute(built), "draw.aub.xz")
    return inputs


def _before(source: reader.Trace, trace: Trace, number: int, start: Start | None) -> _Moment:
    """Execute the trace up to a draw, which is not executed."""
    listeners: dict[Engine, StateCommands] = {}
    found: list[_Moment] = []

    def keep(words: Words, draws: bool) -> None:
        assert run.device is not None
        if draws and run.device.numbers.total == number + 1 and not found:  # the draw has its number already
            memory = run.device.memory
            pages = {page.address: memory.read(page.address, PAGE_SIZE, Missing.ZERO) for page in memory.pages()}
            found.append(_Moment({engine: tuple(of.found.values()) for engine, of in listeners.items()},
                                 {engine: of.registers() for engine, of in listeners.items()}, pages))

    def listen(device: Device) -> None:
        for engine, streamer in device.streamers.items():
            listeners[engine] = StateCommands(streamer, keep)
            if start is not None:
                listeners[engine].restore(start.tables.commands[engine])
            streamer.listen(listeners[engine])

    def drawn(draw: int) -> None:
        if draw >= number:
            run.stop()

    run = Replay(source, trace.device, None, on_start=listen, on_draw=drawn,
                 at=None if start is None else start.bookmark)
    try:
        with suppress(HangError):  # perhaps of the draw itself
            for _ in run.frames():
                pass
        if not found:
            Selection.parse(str(number)).require_any(run.draws, "draw", trace.path)
    finally:
        run.close()
    return found[0]


# --- memory -----------------------------------------------------------------------------------------------------------
def free_address(pages: Iterable[int]) -> int:
    """An unused address: the one after all pages, or a gap below them."""
    used = sorted(pages)
    room = 1 << 20
    last = used[-1] + PAGE_SIZE if used else 0
    if last + room < 1 << 31:
        return max(-(-last // room) * room, _FIRST_FREE)
    start = _FIRST_FREE
    for at in used:
        if at - start >= room:
            return start
        start = max(start, at + PAGE_SIZE)
    raise Gen4emuError("no address is free for a batch of 1 MiB")


def _needed(script: Script, pages: dict[int, bytes], targets: tuple[Target, ...], expected: DrawDigest) \
        -> dict[int, bytes]:
    """The pages without which the script reads missing memory or writes other pixels.

    These are the pages that it misses, and the pages of its targets that depend on their earlier contents.
    Ranges of them are left out one after the other, in halves, quarters and so on, as long as the result stays.
    """
    kept = {at: data for at, data in pages.items() if any(data)}  # memory without contents reads as zeros
    whole = _run(script, kept, targets, with_pages=True)
    if whole is None or whole.digests != [target.digest for target in expected.targets]:
        raise _OtherPixels("the draw writes different pixels from those in its trace: it depends on more than the "
                           "state in force and memory, such as constants that were overwritten, or registers")

    def stays(order: Iterable[int]) -> bool:
        found = _run(script, {at: kept[at] for at in order}, targets)
        return found is not None and (found.digests, found.faults) == (whole.digests, whole.faults)

    found = _read(script, kept, targets)
    alone = _run(script, {at: kept[at] for at in found}, targets, with_pages=True)
    if alone is not None:
        found |= {at for at, data in whole.pages.items() if alone.pages[at] != data} & kept.keys()
    order = sorted(found) if stays(found) else list(kept)
    size = max(PAGE_SIZE * (len(order) + len(whole.pages)), 1)
    return {at: kept[at] for at in leave_out(order, stays, min(_MOST_RUNS, _MOST_BYTES // size))}


def _read(script: Script, kept: dict[int, bytes], targets: tuple[Target, ...]) -> set[int]:
    """The pages that a script reads: those that it misses, until it misses no more."""
    found: set[int] = set()
    for _ in range(_MOST_READS):
        run = _run(script, {at: kept[at] for at in found}, targets)
        if run is None:
            return set(kept)  # without memory it does something else, and hangs
        more = run.missed & kept.keys() - found
        if not more:
            return found
        found |= more
    return set(kept)


def _near(target: Target) -> range:
    """The pages of a target, and some beside it."""
    rows = -(-(target.y + target.height) // _TILE_ROWS) * _TILE_ROWS
    return range(target.address & -PAGE_SIZE, target.address + target.pitch * rows + PAGE_SIZE, PAGE_SIZE)


@dataclass(frozen=True, slots=True)
class _Result:
    """The results of a script with some of its memory."""

    digests: list[str]  # of the targets
    faults: int
    missed: set[int]  # pages that are read without contents
    pages: dict[int, bytes]  # if they are wanted: of the targets, and some beside them


def _run(script: Script, pages: dict[int, bytes], targets: tuple[Target, ...], *, with_pages: bool = False) \
        -> _Result | None:
    """Run a script with this memory; None if it hangs."""
    with NewDevice(script.device) as device:
        load(device.memory, replace(script, memory=joined(pages)))
        try:
            device.run_batch(script.batch, script.engine)
        except HangError:
            return None
        missed = {page for start, size in device.memory.missed_reads()
                  for page in range(start, start + size, PAGE_SIZE)}
        digests = [target_digest(device.memory, target).digest for target in targets]
        near = {page: device.memory.read(page, PAGE_SIZE, Missing.ZERO)
                for target in targets if with_pages for page in _near(target)}
        return _Result(digests, device.faults.total, missed, near)


def joined(pages: dict[int, bytes]) -> list[tuple[int, bytes]]:
    """Pages that follow each other, joined."""
    found: list[tuple[int, bytearray]] = []
    for at in sorted(pages):
        if found and found[-1][0] + len(found[-1][1]) == at:
            found[-1][1].extend(pages[at])
        else:
            found.append((at, bytearray(pages[at])))
    return [(at, bytes(data)) for at, data in found]
