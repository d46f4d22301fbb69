"""Replaying one case and comparing its pictures with those that its manifest expects; --update of golden pictures."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from gen4emu.check.manifest import Case
from gen4emu.check.results import Outcome, PictureResult, Result
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.errors import DecodeError, Gen4emuError, HangError
from gen4emu.hw.chips import Device
from gen4emu.image.compare import Pixels, alike, compare, heat_map, load
from gen4emu.image.digest import pictures_digest, pixels_digest
from gen4emu.image.picture import read_pixels, replacing, save_pixels
from gen4emu.image.picture_names import picture_name
from gen4emu.trace.reader import open as open_trace

THUMBNAIL = 96
_EVIDENCE = (".actual.png", ".expected.png", ".heatmap.png")
_MAX_NOTES = 10


@dataclass(frozen=True, slots=True)
class Task:
    """How cases are run; the same for all cases of a run."""

    results: Path | None = None  # where failures leave pictures
    update: bool = False
    options: Options = field(default_factory=Options)
    device: Device | None = None  # replaces the device of every case
    force_device: bool = False  # even if the trace names one of another generation
    thumbnails: bool = False

    def device_of(self, case: Case) -> Device | None:
        return self.device or case.device


class TraceDamaged(Gen4emuError):
    """The trace is cut short, and its manifest does not say that this is meant."""


def draw(case: Case, task: Task | None = None, result: Result | None = None) -> Iterator[tuple[str, Pixels]]:
    """Replay a case; yields the name and the pixels of each picture.  Raises what replay raises, and TraceDamaged."""
    task = task or Task()
    device = task.device_of(case)
    trace = open_trace(str(case.trace), device=device, force_device=task.force_device, base=case.base,
                       kind="raw" if case.is_raw else None)
    run = Replay(trace, device, task.options)
    try:
        for frame in run.frames():
            assert run.device is not None
            for target in (t for t in frame.targets if t.kind != "depth"):
                name = picture_name(frame.unit, frame.number, target, "")
                yield name, with_channels(read_pixels(run.device.memory, target))
        notes = [*run.warnings[:_MAX_NOTES]]
        for damage in run.damage[-1:]:
            text = f"{case.trace}: 0x{damage.offset:08x}: {damage.text}"
            if not case.allows_damage:
                raise TraceDamaged(text)
            notes.append(text)
        if result is not None:
            result.notes += notes
    finally:
        if result is not None and run.device is not None:
            result.device = run.device.info.name
        run.close()


def with_channels(pixels: npt.NDArray[np.generic]) -> Pixels:
    """Pixels with an axis of channels."""
    return pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels


def run_case(case: Case, task: Task) -> Result:
    """Replay a case and compare, or update its golden pictures.  Lists of expected failures do not count here."""
    result = Result(case)
    started = time.perf_counter()
    try:
        if task.results is not None:
            remove_evidence(task.results / case.name)
        (_update if task.update else _compare)(result, task)
    except HangError as e:
        result.messages.append(f"{case.trace}: the GPU hung: {e}")
    except Gen4emuError as e:
        result.messages.append(str(e))
        result.is_error = True
    except OSError as e:
        result.messages.append(f"{e.filename or case.trace}: {e.strerror or e}")
        result.is_error = True
    if result.failures:
        result.outcome = Outcome.FAIL
    result.digest = pictures_digest(_drawn(result))
    result.seconds = time.perf_counter() - started
    return result


def _drawn(result: Result) -> dict[str, str]:
    return {p.name: p.digest for p in result.pictures if p.digest}


# --- comparison -------------------------------------------------------------------------------------------------------

def _compare(result: Result, task: Task) -> None:
    case = result.case
    expected = {} if isinstance(case.digests, str) else case.digests
    golden = {p.stem: p for p in sorted(case.golden.glob("*.png"))}
    if case.digests is None and not golden:
        result.messages.append(f"{case.golden} has no pictures; `check --update` makes them")
    if case.digests is not None and not case.digests:
        result.messages.append("no digest is recorded; `check --update` writes it")
    kept: dict[str, Pixels] = {}  # of a case with a single digest: which picture is wrong is known at the end
    for name, pixels in draw(case, task, result):
        picture = PictureResult(name, pixels_digest(pixels))
        result.pictures.append(picture)
        if task.thumbnails:
            picture.thumbnail = thumbnail(pixels)
        if expected is None:
            _compare_with_golden(picture, pixels, golden.get(name), case.tolerance)
        elif isinstance(case.digests, dict):
            _compare_with_digest(picture, expected.get(name, ""))
        if task.results is None:
            continue
        if picture.message:
            _keep(picture, pixels, golden.get(name), task.results / case.name)
        elif isinstance(case.digests, str):
            _keep_back(kept, name, pixels)
    if not result.pictures:
        result.messages.append("the trace drew nothing")
    drawn = _drawn(result)
    for name in sorted(set(golden if expected is None else expected) - set(drawn)):
        result.pictures.append(_missing(name, golden.get(name), task, case))
    if isinstance(case.digests, str) and case.digests and pictures_digest(drawn) != case.digests:
        result.messages.append(f"the digest of all pictures is {pictures_digest(drawn)}, expected {case.digests}")
        for picture in result.pictures:
            if task.results is not None and picture.name in kept:
                _keep(picture, kept[picture.name], golden.get(picture.name), task.results / case.name)
    if result.failures:
        _accept(result, task, drawn)


_MAX_KEPT_BYTES = 256 << 20


def _keep_back(kept: dict[str, Pixels], name: str, pixels: Pixels) -> None:
    if sum(p.nbytes for p in kept.values()) + pixels.nbytes <= _MAX_KEPT_BYTES:
        kept[name] = pixels


def _compare_with_golden(picture: PictureResult, pixels: Pixels, golden: Path | None, tolerance: float) -> None:
    if golden is None:
        picture.is_new = True
        picture.message = "has no golden picture"
        return
    try:
        expected = load(golden)
        picture.expected_digest = pixels_digest(expected)
        a, b = alike(pixels, expected, "the drawn picture", str(golden))
    except DecodeError as e:
        picture.message = str(e)
        return
    difference = compare(a, b, tolerance)
    if not difference.same:
        picture.difference = difference
        picture.message = str(difference)


def _compare_with_digest(picture: PictureResult, expected: str) -> None:
    picture.expected_digest = expected
    if not expected:
        picture.is_new = True
        picture.message = "has no digest in the manifest"
    elif picture.digest != expected:
        picture.message = f"the digest is {picture.digest}, expected {expected}"


def _missing(name: str, golden: Path | None, task: Task, case: Case) -> PictureResult:
    picture = PictureResult(name, message="was not drawn")
    if golden is not None and task.results is not None:
        picture.expected = _copy(golden, task.results / case.name / f"{name}.expected.png")
    return picture


def _keep(picture: PictureResult, pixels: Pixels, golden: Path | None, directory: Path) -> None:
    """Leave the pictures of a difference for a person to look at."""
    picture.actual = directory / f"{picture.name}.actual.png"
    save_pixels(picture.actual, _for_png(pixels))
    if golden is None:
        return
    picture.expected = _copy(golden, directory / f"{picture.name}.expected.png")
    try:
        a, b = alike(pixels, load(golden), "the drawn picture", str(golden))
    except DecodeError:
        return  # sizes differ: nothing to lay over each other; the message says so
    if picture.difference is None:
        picture.difference = compare(a, b)
    picture.heatmap = directory / f"{picture.name}.heatmap.png"
    save_pixels(picture.heatmap, heat_map(a, b))


def _copy(source: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    return target


def _for_png(pixels: Pixels) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
    if pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    return pixels.astype(np.uint16) if pixels.dtype == np.uint16 else pixels.astype(np.uint8)


def _accept(result: Result, task: Task, drawn: dict[str, str]) -> None:
    """Another accepted result makes a pass of a failure."""
    for other in result.case.accepted:
        if other.device is not None and other.device.name != result.device:
            continue
        if other.golden is not None:
            expected = {p.stem: pixels_digest(load(p)) for p in sorted(other.golden.glob("*.png"))}
            matches = bool(expected) and expected == drawn
        else:
            matches = other.digests in (drawn, pictures_digest(drawn))
        if matches:
            result.messages.clear()
            result.pictures = [PictureResult(p.name, p.digest, p.digest, thumbnail=p.thumbnail)
                               for p in result.pictures if p.digest]
            result.reason = f"accepted: {other.reason}"
            if task.results is not None:
                remove_evidence(task.results / result.case.name)
            return


def remove_evidence(directory: Path) -> None:
    """Remove the pictures that an earlier run left for a case that passes now."""
    if not directory.is_dir():
        return
    for path in directory.iterdir():
        if path.name.endswith(_EVIDENCE):
            path.unlink()
    if not any(directory.iterdir()):
        directory.rmdir()


def thumbnail(pixels: Pixels) -> bytes:
    """A small PNG."""
    flat = _for_png(pixels)
    if flat.dtype == np.uint16:
        flat = (flat >> 8).astype(np.uint8)
    image = Image.fromarray(flat)
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


# --- update -----------------------------------------------------------------------------------------------------------

def _update(result: Result, task: Task) -> None:
    """Store the pictures as golden ones; for a case with digests, only draw, since the manifest is written once.

    Nothing changes unless the whole trace is good.
    """
    case = result.case
    if case.digests is not None:
        result.pictures = [PictureResult(name, pixels_digest(pixels))
                           for name, pixels in draw(case, task, result)]
        _refuse_nothing(result)
        return
    with tempfile.TemporaryDirectory(prefix="gen4emu-") as temporary:
        for name, pixels in draw(case, task, result):
            result.pictures.append(PictureResult(name, pixels_digest(pixels)))
            save_pixels(Path(temporary) / f"{name}.png", _for_png(pixels))
        if _refuse_nothing(result):
            return
        case.golden.mkdir(parents=True, exist_ok=True)
        for golden in sorted(case.golden.glob("*.png")):
            if not (Path(temporary) / golden.name).exists():
                golden.unlink()
                result.changes.append(f"{golden.name}: removed")
        for actual in sorted(Path(temporary).iterdir()):
            change = _change(actual, case.golden / actual.name)
            if change is not None:
                with replacing(case.golden / actual.name) as file:
                    file.write(actual.read_bytes())
                result.changes.append(f"{actual.name}: {change}")


def _refuse_nothing(result: Result) -> bool:
    if result.pictures:
        return False
    result.messages.append(f"{result.case.trace}: draws nothing, which is not accepted as a golden result")
    result.is_error = True
    return True


def _change(actual: Path, golden: Path) -> str | None:
    if not golden.exists():
        return "new"
    try:
        a, b = alike(load(actual), load(golden), str(actual), str(golden))
    except DecodeError as e:
        return str(e)
    difference = compare(a, b)
    return None if difference.same else str(difference)
