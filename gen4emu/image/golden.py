"""Golden pictures: a manifest of traces, what each must draw, and the comparison (docs/replay.md).

The manifest is TOML: `[[trace]]` tables with `file`, `golden` (a directory of pictures, default golden/<stem>),
`tolerance` (largest error of a channel, default 0: exact) and `device` where the trace does not say.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gen4emu.device.device import Options
from gen4emu.device.replay import Replay
from gen4emu.errors import DecodeError, Gen4emuError
from gen4emu.hw.gen import Device, device_named
from gen4emu.image.compare import compare, heat_map, pair
from gen4emu.image.picture import read_channels, save, save_pixels
from gen4emu.trace.opening import open as open_trace

MANIFEST = "manifest.toml"
_KEYS = {"file", "golden", "tolerance", "device"}


@dataclass(frozen=True, slots=True)
class Case:
    """One trace of a manifest."""

    name: str
    trace: Path
    golden: Path
    tolerance: float = 0
    device: Device | None = None


@dataclass(slots=True)
class Result:
    """What came of a case."""

    case: Case
    seconds: float = 0.0
    pictures: int = 0
    failures: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)  # what --update did

    @property
    def passed(self) -> bool:
        return not self.failures


def read_manifest(path: Path) -> list[Case]:
    """The cases of a manifest file, or of the one in a directory."""
    file = path / MANIFEST if path.is_dir() else path
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as e:
        raise DecodeError(f"{file}: {e.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise DecodeError(f"{file}: {e}") from None
    entries = table.get("trace")
    if not isinstance(entries, list) or not entries:
        raise DecodeError(f"{file}: has no [[trace]] table")
    return [_case(file, i, entry) for i, entry in enumerate(entries)]


def _case(file: Path, index: int, entry: Any) -> Case:
    where = f"{file}: trace {index}"
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
        raise DecodeError(f"{where}: has no file")
    unknown = set(entry) - _KEYS
    if unknown:
        raise DecodeError(f"{where}: unknown key {sorted(unknown)[0]}")
    trace = file.parent / entry["file"]
    name = trace.name.partition(".")[0]
    tolerance = entry.get("tolerance", 0)
    if not isinstance(tolerance, int | float) or tolerance < 0:
        raise DecodeError(f"{where}: tolerance is not a number of at least 0")
    device = None
    if "device" in entry:
        device = device_named(str(entry["device"]))
        if device is None:
            raise DecodeError(f"{where}: no device is called {entry['device']}")
    return Case(name, trace, file.parent / str(entry.get("golden", f"golden/{name}")), float(tolerance), device)


def draw(case: Case, directory: Path, options: Options | None = None) -> list[Path]:
    """Replay a case; its pictures go to a directory."""
    written = []
    run = Replay(open_trace(str(case.trace), device=case.device), case.device, options)
    try:
        for frame in run.frames():
            assert run.device is not None
            for i, target in enumerate(t for t in frame.targets if t.kind != "depth"):
                path = directory / f"frame-{frame.number:04d}-{i}.png"
                save(path, read_channels(run.device.memory, target))
                written.append(path)
    finally:
        run.close()
    return written


def check(case: Case, results: Path | None = None, update: bool = False, options: Options | None = None) -> Result:
    """Replay a case and compare.  A failure leaves actual, expected and heat map under `results`."""
    result = Result(case)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="gen4emu-") as temporary:
        directory = Path(temporary)
        try:
            written = draw(case, directory, options)
        except Gen4emuError as e:
            result.failures.append(str(e))
        else:
            result.pictures = len(written)
            (_update if update else _compare)(result, written, results)
    result.seconds = time.perf_counter() - started
    return result


def _compare(result: Result, written: list[Path], results: Path | None) -> None:
    case = result.case
    expected = {p.name: p for p in sorted(case.golden.glob("*.png"))}
    if not expected:
        result.failures.append(f"{case.golden} has no pictures")
    if not written:
        result.failures.append("the trace drew nothing")
    for name in sorted(set(expected) - {p.name for p in written}):
        result.failures.append(f"{name}: was not drawn")
    for actual in written:
        golden = expected.get(actual.name)
        if golden is None:
            result.failures.append(f"{actual.name}: has no golden picture")
            _keep(results, case, {"actual": actual})
            continue
        try:
            a, b = pair(actual, golden)
        except DecodeError as e:
            result.failures.append(str(e))
            _keep(results, case, {"actual": actual, "expected": golden})
            continue
        difference = compare(a, b, case.tolerance)
        if not difference.same:
            result.failures.append(f"{actual.name}: {difference}")
            _keep(results, case, {"actual": actual, "expected": golden})
            if results is not None:
                save_pixels(results / case.name / f"{actual.stem}.heatmap.png", heat_map(a, b))


def _keep(results: Path | None, case: Case, pictures: dict[str, Path]) -> None:
    if results is None:
        return
    directory = results / case.name
    directory.mkdir(parents=True, exist_ok=True)
    for what, path in pictures.items():
        shutil.copyfile(path, directory / f"{path.stem}.{what}.png")


def _update(result: Result, written: list[Path], results: Path | None) -> None:
    golden = result.case.golden
    golden.mkdir(parents=True, exist_ok=True)
    for name in sorted({p.name for p in golden.glob("*.png")} - {p.name for p in written}):
        (golden / name).unlink()
        result.changes.append(f"{name}: removed")
    for actual in written:
        target = golden / actual.name
        change = _change(actual, target)
        if change is not None:
            shutil.copyfile(actual, target)
            result.changes.append(f"{actual.name}: {change}")


def _change(actual: Path, golden: Path) -> str | None:
    if not golden.exists():
        return "new"
    try:
        difference = compare(*pair(actual, golden))
    except DecodeError as e:
        return str(e)
    return None if difference.same else str(difference)


def check_all(cases: list[Case], results: Path | None, update: bool, jobs: int,
              options: Options | None = None) -> Iterator[Result]:
    """Every case, in order; `jobs` processes share them."""
    if jobs <= 1 or len(cases) == 1:
        for case in cases:
            yield check(case, results, update, options)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(check, case, results, update, options) for case in cases]
        for future in futures:
            yield future.result()
