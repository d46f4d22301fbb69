"""The comparison of a report in a browser: its list, its filter, and the pictures of a pair."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gen4emu
from gen4emu.cli.main import run
from gen4emu.image.compare import heat_map
from gen4emu.image.picture import read_pixels
from tests.report.browser import HOSTILE, Page, Pixels, browser, canvas, chromium, holds
from tests.report.changed_gears import GEARS, MORE_GEARS, bad_gears, turned_gears

pytestmark = [pytest.mark.client, pytest.mark.skipif(chromium() is None, reason="chromium is not installed")]
PAIR = 3  # the second wheel


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        found.send("Emulation.setDeviceMetricsOverride", width=1280, height=1000, deviceScaleFactor=1, mobile=False)
        yield found


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with other pixels, and with a hostile name."""
    directory = tmp_path_factory.mktemp("bad")
    return Path(turned_gears(directory)).rename(directory / f"{HOSTILE}.aub")


@pytest.fixture(scope="module")
def report(bad: Path) -> Path:
    assert run(["-q", "report", str(GEARS), "--against", str(bad), "-o", str(bad.parent / "out")]) == 1
    return bad.parent / "out" / "index.html"


@pytest.fixture
def opened(page: Page, report: Path) -> Iterator[Page]:
    """The page, which must print nothing and load nothing but its own files."""
    page.console.clear()
    page.requests.clear()
    page.send("Page.navigate", url="about:blank")
    yield page.open(f"{report.as_uri()}#pane=compare&pair={PAIR}")
    assert page.console == []
    assert [url for url in page.requests if not url.startswith((report.parent.as_uri(), "about:", "blob:"))] == []


@pytest.fixture(scope="module")
def pictures(bad: Path) -> list[Pixels]:
    """The first target of both sides after the pair."""
    found = []
    for path in (GEARS, bad):
        with gen4emu.open(path) as trace:
            draw: Any = trace.at(draw=PAIR)
            found.append(read_pixels(draw.memory, draw.device.targets.latest[0])[:, :, :3].astype(np.uint8))
    return found


def press(page: Page, text: str) -> None:
    page.wait(f"[...document.querySelectorAll('.compare button')].some(b => b.textContent === {text!r})")
    page.evaluate(f"[...document.querySelectorAll('.compare button')].find(b => b.textContent === {text!r}).click()")
    page.wait(f"""[...document.querySelectorAll('.compare button[aria-pressed="true"]')]
        .some(b => b.textContent === {text!r})""")
    time.sleep(0.2)  # until the canvas has the size of its place


def listed(page: Page) -> list[list[str]]:
    """The sign and the draws of each row."""
    found = page.evaluate("""[...document.querySelectorAll('.compare .inner .row')]
        .sort((a, b) => a.dataset.index - b.dataset.index)
        .map(row => [...row.querySelectorAll('.mark, .which')].map(cell => cell.textContent))""")
    assert isinstance(found, list)
    return found


def type_filter(page: Page, text: str) -> None:
    page.evaluate(f"""(() => {{ const input = document.querySelector('.compare input[type=search]');
        input.value = {text!r}; input.dispatchEvent(new Event('input')); }})()""")


def test_a_hostile_name_stays_text(opened: Page) -> None:
    assert HOSTILE in opened.evaluate("document.querySelector('.first').textContent")
    assert opened.evaluate("document.querySelectorAll('img').length") == 0
    assert opened.evaluate("document.title").startswith(f"{GEARS.name} | {HOSTILE}")


def test_pairs_are_marked_and_filtered(opened: Page) -> None:
    opened.wait("document.querySelector('.compare .inner .row') !== null")
    assert listed(opened) == [[sign, str(i), str(i)] for i, sign in enumerate("==\u2260\u2260\u2260\u2260")]
    press(opened, "equal 2")
    assert [row[1] for row in listed(opened)] == ["0", "1"]
    type_filter(opened, "different and not state")
    assert [row[1] for row in listed(opened)] == ["3", "4", "5"]
    type_filter(opened, "left<4 and pixels>1000")
    assert [row[1] for row in listed(opened)] == ["2", "3"]
    type_filter(opened, "only-left or only-right")
    assert listed(opened) == []


def test_both_pictures_are_shown_side_by_side(opened: Page, pictures: list[Pixels]) -> None:
    press(opened, "side by side")
    assert not opened.evaluate("document.querySelectorAll('.pairs .picture')[1].hidden")
    assert holds(canvas(opened), pictures[0])
    opened.evaluate("(([first, second]) => first.replaceWith(second))(document.querySelectorAll('.pairs .picture')); 0")
    assert holds(canvas(opened), pictures[1])


def test_a_swipe_shows_left_and_right(opened: Page, pictures: list[Pixels]) -> None:
    press(opened, "swipe")
    shown = canvas(opened)
    half = shown.shape[1] // 2
    top, left = ((size - 256) // 2 for size in shown.shape[:2])
    wanted = np.concatenate([pictures[0][:, :128], pictures[1][:, 128:]], axis=1)
    found = shown[top:top + 256, left:left + 256]
    assert half - left == 128
    same = (found == wanted).all(axis=2)
    same[:, 127:131] = True  # the divider
    same[:2] = same[-2:] = same[:, :2] = same[:, -2:] = True  # the frame
    assert same.all() and not np.array_equal(pictures[0], pictures[1])


def test_flicker_shows_one_after_the_other(opened: Page, pictures: list[Pixels]) -> None:
    press(opened, "flicker")
    seen = set()
    for _ in range(40):
        shown = canvas(opened)
        seen |= {side for side in (0, 1) if holds(shown, pictures[side])}
        if seen == {0, 1}:
            return
        time.sleep(0.2)
    raise AssertionError(f"only {seen} of both sides")


def test_the_heat_map_has_the_pixels_that_are_counted(opened: Page, pictures: list[Pixels]) -> None:
    press(opened, "heat map")
    assert holds(canvas(opened), heat_map(*pictures))
    count = int((pictures[0] != pictures[1]).any(axis=2).sum())
    note = opened.evaluate("document.querySelector('.compare .note').textContent")
    assert f"{count:,} of 65,536 pixels differ" in note and count > 1000


def test_fields_that_differ_are_shown(opened: Page) -> None:
    opened.go("pane=compare&pair=2", "document.querySelector('.compare').textContent.includes('pair 2:')")
    text = opened.wait("document.querySelector('.differences .fields')?.textContent")
    assert "CONSTANTS" in text


def test_a_kernel_that_differs_is_shown_line_by_line(page: Page, tmp_path: Path) -> None:
    assert run(["-q", "report", str(GEARS), "--against", bad_gears(tmp_path), "-o", str(tmp_path / "out")]) == 1
    page.console.clear()
    page.open(f"{(tmp_path / 'out' / 'index.html').as_uri()}#pane=compare&pair={PAIR}")
    page.wait("document.querySelector('.diff') !== null")
    assert page.evaluate("document.querySelector('.diff table') === null"), "it is made when it is opened"
    page.evaluate("document.querySelector('.diff').open = true")
    assert page.wait("document.querySelector('.diff p')?.textContent").startswith("1 of 23 instructions differ")
    for side, name in (("left", "pln"), ("right", "line")):
        lines = page.evaluate(f"[...document.querySelectorAll('.diff .{side}')].map(one => one.textContent)")
        assert [line.split("(")[0] for line in lines] == [name]
    assert len(page.evaluate("[...document.querySelectorAll('.diff tr')].map(one => one.cells.length)")) == 23
    assert page.console == []


def test_a_side_has_all_other_screens(opened: Page) -> None:
    for pane in ("overview", "events", "draw", "mesh", "surfaces", "kernels", "statistics"):
        for side in ("left", "right"):
            shown = f"document.querySelector('.pane.{pane}:not([hidden])') !== null"
            opened.go(f"pane={pane}&draw=3&side={side}", shown)
            opened.wait("document.querySelector('.pane:not([hidden])').textContent.length > 0")
    opened.key("8")
    opened.wait("document.querySelector('.pane.compare:not([hidden])') !== null")


def test_keys_step_through_the_pairs_of_the_filter(opened: Page) -> None:
    opened.wait("document.querySelector('.compare .inner .row') !== null")
    type_filter(opened, "only-left or equal")
    opened.key("j")
    opened.wait("location.hash.includes('pair=0')")
    opened.key("j")
    opened.wait("location.hash.includes('pair=1')")
    opened.evaluate("history.back()")
    opened.wait("location.hash.includes('pair=0') && document.querySelector('main').textContent.includes('pair 0:')")


def test_two_quick_keys_are_two_steps(opened: Page) -> None:
    opened.wait("document.querySelector('.compare .inner .row') !== null")
    assert opened.evaluate("""(() => {
        for (const _ of 'kk') document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'k', bubbles: true}));
        return location.hash; })()""").endswith(f"pair={PAIR - 2}")
    opened.wait(f"document.querySelector('main').textContent.includes('pair {PAIR - 2}:')")


def test_a_draw_without_a_counterpart_is_in_one_file(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "one.html"
    assert run(["-q", "report", str(GEARS), "--against", str(MORE_GEARS), "--single-file", str(path)]) == 1
    page.send("Page.navigate", url="about:blank")
    page.wait("location.href === 'about:blank'")
    page.console.clear()
    page.requests.clear()
    page.open(f"{path.as_uri()}#pair=6")
    page.wait("document.querySelector('.compare .inner .row') !== null")
    assert listed(page)[6] == ["+", "", "6"]
    page.wait("document.querySelector('.differences').textContent === 'Only the right execution has this draw.'")
    assert page.console == [] and [url for url in page.requests if not url.startswith("blob:")] == [path.as_uri()]
