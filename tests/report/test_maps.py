"""The overlays of a report: exact counts by pixel of a draw and of its frame."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import gen4emu
from gen4emu.cli.main import run
from gen4emu.core_enums import CountedPixels as P
from gen4emu.report import maps
from gen4emu.report.maps import encoded
from tests.report.browser import browser, chromium
from tests.report.page_data import chunk, counters, overview

TRACES = Path(__file__).parents[2] / "traces"

GEARS = TRACES / "gears-g4x.aub.xz"


def plane_sums(text: str) -> dict[str, int]:
    return {name: int(plane.sum()) for name, plane in planes(text).items()}


def planes(text: str) -> dict[str, npt.NDArray[Any]]:
    """The planes of a chunk."""
    data = zlib.decompress(base64.b64decode(text))
    (size,) = struct.unpack_from("<I", data)
    head = json.loads(data[4:4 + size])
    found, at = {}, 4 + size
    for plane in head["planes"]:
        count = head["width"] * head["height"]
        found[plane["name"]] = np.frombuffer(data, f"<u{plane['bytes']}", count, at).reshape(head["height"], -1)
        at += count * plane["bytes"]
    assert at == len(data)
    return found


def text_of(report: Path, name: str) -> str:
    found = re.search(r',"([^"]*)"', (report / "data" / f"{name}.js").read_text())
    assert found is not None
    return found[1]


def made(trace: Path, to: Path, *arguments: str) -> Path:
    assert run(["-q", "report", str(trace), "-o", str(to), *arguments]) == 0
    return to


def test_the_overlays_of_a_draw_add_up_to_its_counters(tmp_path: Path) -> None:
    report = made(GEARS, tmp_path)
    rows = chunk(report, "rows-0")
    checked = 0
    for number, details in enumerate(counters(report)):
        if details["maps"] is None:
            continue
        found = plane_sums(text_of(report, details["maps"]["draw"]))
        fragments = details["fragments"]
        assert found.get("covered", 0) == rows["fragments"][number]
        assert found.get("written", 0) == fragments["written"]
        assert found.get("depth failed", 0) == fragments["early_depth_failed"] + fragments["late_depth_failed"]
        assert ("instructions" in found) == bool(fragments["shaded"])
        checked += 1
    assert checked > 3


def test_the_overlays_of_a_frame_are_the_sum_of_its_draws(tmp_path: Path) -> None:
    report = made(GEARS, tmp_path)
    named = [details["maps"] for details in counters(report) if "frame" in (details["maps"] or ())]
    (frame,) = {one["frame"] for one in named}
    whole = planes(text_of(report, frame))
    for name in ("written", "instructions", "depth failed"):
        parts = [planes(text_of(report, one["draw"])).get(name, 0) for one in named]
        assert np.array_equal(whole[name], sum(np.asarray(part, np.int64) for part in parts)), name
    assert whole["written"].max() > 1, "gears overlap"


def test_full_draws_alone_have_overlays(tmp_path: Path) -> None:
    report = made(GEARS, tmp_path, "--draws-full", "3")
    found = [details["maps"] for details in counters(report)]
    assert found[3] is not None and [one for one in found if one and "draw" in one] == [found[3]]


def test_overlays_end_at_a_limit_which_the_report_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "MOST_DRAWS", 3)
    report = made(GEARS, tmp_path)
    found = [details["maps"] for details in counters(report)]
    assert sum(one is not None for one in found) == 3
    assert not any("frame" in one for one in found if one), "the frame is not complete"
    assert "overlays of later draws (--draws-full chooses others)" in overview(report)["left_out"]


def test_without_kernels_there_are_no_overlays(tmp_path: Path) -> None:
    report = made(GEARS, tmp_path, "--no-kernels")
    assert all(details["maps"] is None for details in counters(report))


@pytest.mark.parametrize("device", ["ivb", "byt", "hsw", "kbl"])
def test_later_devices_have_overlays(tmp_path: Path, device: str) -> None:
    report = made(TRACES / "later" / f"triangle-{device}.aub.xz", tmp_path)
    named = [details["maps"]["draw"] for details in counters(report) if details["maps"]]
    assert named
    with gen4emu.open(TRACES / "later" / f"triangle-{device}.aub.xz") as trace:
        written = sum(draw.counters.fragments.written for draw in trace.draws(counting=True))
    assert sum(plane_sums(text_of(report, name)).get("written", 0) for name in named) == written


def test_killed_fragments_and_those_that_fail_alpha_are_discarded() -> None:
    zero = np.zeros((2, 2), np.uint32)
    one = np.array([[1, 0], [0, 0]], np.uint32)
    found = planes(encoded(dict.fromkeys(P, zero) | {P.SHADED: 3 * one, P.ENDED: one, P.ALPHA_FAILED: one[::-1]}))
    assert list(found) == ["discarded"]
    assert found["discarded"].tolist() == [[2, 0], [1, 0]]


def test_a_plane_has_integers_as_large_as_it_needs() -> None:
    zero = np.zeros((1, 2), np.uint64)
    found = planes(encoded(dict.fromkeys(P, zero) | {
        P.COVERED: zero + 255, P.WRITTEN: zero + 256, P.INSTRUCTIONS: zero + 70_000}))
    assert [(name, plane.dtype.itemsize, int(plane[0, 1])) for name, plane in found.items()] == [
        ("covered", 1, 255), ("written", 2, 256), ("instructions", 4, 70_000)]


@pytest.mark.client
@pytest.mark.skipif(chromium() is None, reason="chromium is not installed")
def test_overlays_stack_over_the_picture_with_legend_and_numbers(tmp_path: Path) -> None:
    report = made(GEARS, tmp_path / "out")
    number = 3
    named = counters(report)[number]["maps"]
    counts = planes(text_of(report, named["draw"]))

    def click(page: Any, text: str) -> None:
        page.evaluate("[...document.querySelectorAll('.draw .bar button')]"
                      f".find(button => button.textContent === {text!r}).click()")

    with browser(tmp_path / "profile") as page:
        page.open((report / "index.html").as_uri())
        page.go(f"pane=draw&draw={number}", "document.querySelector('.draw .bar').textContent.includes('written')")
        click(page, "written")
        page.wait("document.querySelectorAll('.ranges div').length === 1")
        click(page, "instructions")
        page.wait("document.querySelectorAll('.ranges div').length === 2")
        lines = page.evaluate("[...document.querySelectorAll('.ranges div')].map(e => e.textContent)")
        pixels = int((counts["written"] > 0).sum())
        assert lines[0].startswith("written1") and f"{pixels}pixels" in re.sub("[^0-9a-z]", "", lines[0])
        shown = page.evaluate("""(() => {
            const canvas = document.querySelector('.draw .picture canvas'), box = canvas.getBoundingClientRect();
            const found = [];
            for (let y = box.top; y < box.bottom; y += 5) for (let x = box.left; x < box.right; x += 5) {
                canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y }));
                found.push(document.querySelector('.draw .picture .value').textContent);
            }
            return found.filter(text => text);
        })()""")
        seen = set()
        for text in shown:
            x, y = (int(n) for n in text.partition(" ")[0].split(","))
            assert f"written {counts['written'][y, x]} · instructions {counts['instructions'][y, x]}" in text
            seen.add(int(counts["written"][y, x]))
        assert len(seen) > 1
        click(page, "frame")
        total = int((planes(text_of(report, named["frame"]))["written"] > 0).sum())
        page.wait(f"document.querySelector('.ranges').textContent.replace(/[^0-9a-z]/g, '').includes('{total}pixels')")
        page.screenshot(tmp_path / "overlays.png")
        assert page.console == []
