"""A self-contained HTML page of compared pictures: failures first, and ways to see the difference (docs/check.md).

Names and messages come from traces and manifests, which may be hostile: they enter the page as JSON, and its script
shows them as text.  The page loads nothing, and its policy forbids every script but its own.
"""

from __future__ import annotations

import base64
import shlex
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import gen4emu
from gen4emu import single_page
from gen4emu.check.history import Run, of_case
from gen4emu.check.reports import Report
from gen4emu.check.results import BAD, Outcome, PictureResult, Result, count
from gen4emu.check.selecting import name_expression
from gen4emu.errors import DecodeError
from gen4emu.image.compare import Pixels, alike, heat_map, load
from gen4emu.image.pairs import Pair
from gen4emu.image.picture import replacing

MAX_BYTES = 96 << 20  # of pictures in a page; what is beyond is named, not shown


class Budget:
    """How many bytes of pictures still fit."""

    def __init__(self, left: int = MAX_BYTES) -> None:
        self.left = left

    def picture(self, path: Path | None) -> str:
        """A picture file as a data: URI; empty if it is missing or exceeds the size limit of the page."""
        if path is None:
            return ""
        return self.add(path.read_bytes())

    def add(self, png: bytes) -> str:
        if len(png) > self.left:
            return ""
        self.left -= len(png)
        return data_uri(png)


def data_uri(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode() if png else ""


def check_page(report: Report, arguments: Sequence[str], budget: Budget | None = None,
               runs: Sequence[Run] = ()) -> dict[str, Any]:
    """The data that the page of a run shows; `runs` are those of earlier revisions and this one."""
    counts = count(report.results)
    budget = budget or Budget()
    order = sorted(report.results, key=lambda result: _ORDER.index(result.outcome))
    return {
        "title": "gen4emu check",
        "version": gen4emu.__version__,
        "subtitle": ", ".join(str(path) for path in report.manifests),
        "seconds": round(report.seconds, 1),
        "labels": ["actual", "expected"],
        "counts": {outcome.value: counts[outcome] for outcome in _ORDER if counts[outcome]},
        "bad": [outcome.value for outcome in Outcome if outcome in BAD],
        "notes": report.stale,
        "cases": [_case(result, arguments, budget) | {"history": of_case(runs, result.case)} for result in order],
    }


_ORDER = (Outcome.CRASH, Outcome.TIMEOUT, Outcome.FAIL, Outcome.UNEXPECTED_PASS, Outcome.FLAKE, Outcome.EXPECTED_FAIL,
          Outcome.SKIP, Outcome.PASS)


def _case(result: Result, arguments: Sequence[str], budget: Budget) -> dict[str, Any]:
    accept = ""
    if result.outcome is Outcome.FAIL and not result.is_error:
        accept = shlex.join(["gen4emu", "check", *arguments, "--update", "-k", name_expression(result.case.name)])
    about = [str(result.case.trace), result.device, f"{result.seconds:.2f} s", result.reason]
    return {
        "name": result.case.name,
        "outcome": result.outcome.value,
        "new": any(p.is_new for p in result.pictures),
        "about": " · ".join(text for text in about if text),
        "messages": [*result.messages, *result.notes, *result.changes],
        "log": result.log,
        "accept": accept,
        "pictures": [_picture(picture, budget) for picture in result.pictures],
    }


def _picture(picture: PictureResult, budget: Budget) -> dict[str, Any]:
    shown = [budget.picture(path) for path in (picture.actual, picture.expected, picture.heatmap)]
    files_left_out = [str(path) for path, uri in zip((picture.actual, picture.expected, picture.heatmap), shown,
                                                     strict=True) if path is not None and not uri]
    return {
        "name": picture.name,
        "message": picture.message,
        "new": picture.is_new,
        "white": 0 if picture.difference is None else picture.difference.max_error,
        "thumbnail": data_uri(picture.thumbnail),
        "actual": shown[0], "expected": shown[1], "heatmap": shown[2],
        "files": files_left_out,
    }


def diff_page(pairs: Sequence[Pair], first: str, second: str, budget: Budget | None = None) -> dict[str, Any]:
    """The data that the page of a comparison shows."""
    budget = budget or Budget()
    cases = []
    for one in sorted(pairs, key=lambda pair: pair.same):
        shown = {"name": "", "message": "" if one.same else one.text, "new": False, "white": 0, "thumbnail": "",
                 "actual": "", "expected": "", "heatmap": "", "files": []}
        if not one.same:
            shown |= _pixels_of(one, budget)
        outcome = "same" if one.same else "differs" if one.first and one.second else "missing"
        cases.append({"name": one.name, "outcome": outcome, "new": False, "about": "", "messages": [], "log": "",
                      "accept": "", "history": [], "pictures": [shown]})
    counts = Counter(case["outcome"] for case in cases)
    return {
        "title": "gen4emu diff", "version": gen4emu.__version__, "subtitle": f"{first} · {second}", "seconds": None,
        "labels": [first, second], "counts": {o: counts[o] for o in ("differs", "missing", "same") if counts[o]},
        "bad": ["differs", "missing"], "notes": [], "cases": cases,
    }


def _pixels_of(one: Pair, budget: Budget) -> dict[str, Any]:
    """The pictures of a pair: of .npy files, what a PNG can hold."""
    shown: dict[str, Any] = {"files": []}
    loaded = {}
    for key, path in (("actual", one.first), ("expected", one.second)):
        if path is None:
            continue
        try:
            loaded[key] = load(path)
            shown[key] = budget.add(_png(loaded[key]))
        except DecodeError as e:
            shown["message"] = str(e)
            continue
        if not shown[key]:
            shown["files"].append(str(path))
    if one.difference is not None and len(loaded) == 2:
        shown["white"] = one.difference.max_error
        shown["heatmap"] = budget.add(_png(heat_map(*alike(loaded["actual"], loaded["expected"], "", ""))))
    return shown


def _png(pixels: Pixels) -> bytes:
    if pixels.dtype.kind == "f":
        flat = np.floor(np.clip(np.nan_to_num(pixels.astype(np.float64)), 0, 1) * 255 + 0.5)
    else:
        flat = pixels.astype(np.int64) >> (8 if pixels.dtype == np.uint16 else 0)
    bytes_ = np.clip(flat, 0, 255).astype(np.uint8)
    if bytes_.shape[2] == 2:
        bytes_ = np.concatenate([bytes_, np.zeros_like(bytes_[:, :, :1])], axis=2)
    out = BytesIO()
    Image.fromarray(bytes_[:, :, 0] if bytes_.shape[2] == 1 else bytes_[:, :, :4]).save(out, "PNG")
    return out.getvalue()


def page(data: dict[str, Any]) -> str:
    """The page as text."""
    web = files("gen4emu.check") / "web"
    style, script = ((web / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    template = (web / "page.html").read_text(encoding="utf-8")
    return single_page.fill(template, {"DATA": single_page.data(data)}, style=style, script=script, images="data:")


def write_page(path: Path, data: dict[str, Any]) -> None:
    with replacing(path) as file:
        file.write(page(data).encode())
