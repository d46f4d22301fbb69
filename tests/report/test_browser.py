"""The page of `gen4emu report` in a browser: opened from a file, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import csv
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gen4emu.api.trace import open as open_api
from gen4emu.cli.main import run
from gen4emu.report.chunks import ROWS, STATES, by_columns, deflated_json, script
from gen4emu.report.record import Choices, Recorded, Recorder
from gen4emu.report.writer import write_directory
from gen4emu.trace.reader import open as open_trace
from tests.decode.gl_capture import GLSL, noted
from tests.report.browser import HOSTILE, SHOWN, Page, browser, canvas, chromium, holds
from tests.report.page_data import row_of

TRACES = Path(__file__).parents[2] / "traces"
pytestmark = [pytest.mark.client, pytest.mark.skipif(chromium() is None, reason="chromium is not installed")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a trace with a hostile name."""
    directory = tmp_path_factory.mktemp("report")
    trace = directory / f"{HOSTILE}.aub.xz"
    trace.write_bytes((TRACES / "gears-g4x.aub.xz").read_bytes())
    assert run(["-q", "report", str(trace), "-o", str(directory / "out")]) == 0
    return directory / "out" / "index.html"


@pytest.fixture
def opened(page: Page, report: Path) -> Iterator[Page]:
    """The page, which must print nothing and load nothing but its own files."""
    page.console.clear()
    page.requests.clear()
    page.send("Page.navigate", url="about:blank")
    yield page.open(report.as_uri())
    assert page.console == []
    places = (report.parent.as_uri(), "about:", "blob:")
    assert [url for url in page.requests if not url.startswith(places)] == []


def rows(page: Page) -> list[str]:
    """The commands of the rows of the list, from the top."""
    found = page.evaluate("""[...document.querySelectorAll('.inner .row')]
        .sort((a, b) => a.dataset.index - b.dataset.index).map(row => row.querySelector('.draw').textContent)""")
    assert isinstance(found, list)
    return found


def type_filter(page: Page, text: str) -> None:
    page.evaluate(f"""(() => {{ const input = document.querySelector('.events input'); input.value = {text!r};
        input.dispatchEvent(new Event('input')); }})()""")


def test_a_hostile_name_stays_text(opened: Page) -> None:
    assert opened.evaluate("document.querySelector('h1').textContent") == f"{HOSTILE}.aub.xz"
    assert opened.evaluate("document.title") == f"{HOSTILE}.aub.xz: gen4emu report"
    assert opened.evaluate("document.querySelectorAll('img').length") == 0


@pytest.mark.parametrize("pane", ["overview", "events", "draw", "mesh", "surfaces", "kernels", "statistics"])
def test_every_pane_opens(opened: Page, pane: str) -> None:
    opened.go(f"pane={pane}&draw=3", f"document.querySelector('.pane.{pane}:not([hidden])') !== null")
    opened.wait(f"{SHOWN}.textContent.length > 0")


def test_names_of_fields_break_behind_underscores_and_addresses_nowhere(opened: Page) -> None:
    opened.go("pane=draw&draw=3", "document.querySelector('.draw .fields') !== null")
    parts = opened.evaluate("""(() => {
        document.querySelectorAll('.state details').forEach(one => { one.open = true; });
        return [...document.querySelectorAll('.fields td')].flatMap(cell => [...cell.childNodes])
            .filter(node => node.nodeType === Node.TEXT_NODE)
            .filter(node => node.parentNode.cellIndex === 0 || /^0x[0-9a-f]{8}$/.test(node.data)).map(node => {
                const range = document.createRange();
                range.selectNodeContents(node);
                return [node.data, new Set([...range.getClientRects()].map(box => box.top)).size];
            });
    })()""")
    assert max(len(text) for text, _ in parts) > 8 and any(text.endswith("_") for text, _ in parts)
    assert any(text.startswith("0x") for text, _ in parts)
    assert [text for text, lines in parts if lines != 1] == []


def test_the_list_is_filtered_and_sorted(opened: Page) -> None:
    opened.go("pane=events", "document.querySelector('.events .inner .row') !== null")
    every = rows(opened)
    assert every == [str(i) for i in range(len(every))]
    type_filter(opened, "TRILIST and vertices>1000")
    assert rows(opened) == ["2"]
    type_filter(opened, "not (vertices=3 or depth)")
    assert rows(opened) == []
    type_filter(opened, "writes:0x0010e000 depth")
    assert rows(opened) == ["2", "3", "4"]
    type_filter(opened, "written>")
    assert "a value is missing" in opened.evaluate("document.querySelector('.events .bar .bad').textContent")
    type_filter(opened, "wriiten>1")
    assert "unknown column 'wriiten'" in opened.evaluate("document.querySelector('.events .bar .bad').textContent")
    type_filter(opened, "")
    opened.evaluate("[...document.querySelectorAll('.head .instructions')][0].click()")
    costs = opened.evaluate("document.querySelector('.inner .row[data-index=\"0\"] .draw').textContent")
    assert costs != "0", "the dearest draw comes first"


def change_chunk(report: Path, name: str, change: Callable[[Any], None]) -> None:
    """Change the data of a report."""
    path = report / "data" / f"{name}.js"
    _, text, _ = path.read_text().rsplit('"', 2)
    value = json.loads(zlib.decompress(base64.b64decode(text)))
    change(value)
    path.write_text(script(name, deflated_json(value)))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report whose 21 draws are said to be of four frames, the first of which has two submissions and groups."""
    def change(rows: dict[str, Any]) -> None:
        rows["frame"] = [number // 6 for number in range(21)]
        rows["submission"] = [0, 0, 1, 1, 1, 1] + [2] * 15
        rows["group"] = ["", 'a / b, program 3 "x"', "a / b", 'program 3 "x"', "", "a"] + [""] * 15

    made = tmp_path_factory.mktemp("several")
    assert run(["-q", "report", str(TRACES / "gears-4frames-g4x.aub.xz"), "-o", str(made)]) == 0
    change_chunk(made, "rows-0", change)
    return made / "index.html"


ABOVE = "[...document.querySelectorAll('.row.above')].map(row => row.querySelector('.name').textContent)"


def test_draws_stand_below_their_frames(page: Page, several: Path) -> None:
    page.send("Page.navigate", url="about:blank")
    page.open(several.as_uri())
    page.go("pane=events", "document.querySelector('.row.above') !== null")
    page.evaluate("[...document.querySelectorAll('.bar button')].find(b => b.textContent === 'frames only').click()")
    page.wait(f"{ABOVE}.join() === 'frame 0,frame 1,frame 2,frame 3'")
    page.evaluate("document.querySelectorAll('.row.above')[1].click()")
    page.wait("document.querySelectorAll('.inner .row:not(.above)').length === 6")
    assert page.evaluate(ABOVE) == ["frame 0", "frame 1", "frame 2", "frame 3"]
    page.go("draw=20&pane=events", "document.querySelector('.row.current .draw')?.textContent === '20'")
    type_filter(page, "draw=14")
    assert page.evaluate(ABOVE) == ["frame 2"]
    page.evaluate("document.querySelector('.row.head .written').click()")
    page.wait("document.querySelectorAll('.row.above').length === 0")


def test_debug_groups_are_levels(page: Page, several: Path) -> None:
    page.send("Page.navigate", url="about:blank")
    page.open(several.as_uri())
    page.go("pane=events", "document.querySelector('.row.above') !== null")
    found = page.evaluate("""[...document.querySelectorAll('.inner .row')]
        .sort((a, b) => a.dataset.index - b.dataset.index).slice(0, 12).map(row => row.className === 'row above'
        ? `${row.style.paddingLeft} ${row.querySelector('.name').textContent}`
        : row.querySelector('.draw').textContent)""")
    assert found == ["14px frame 0", "30px submission 0", "0", "46px a", "62px b", "1", "30px submission 1", "46px a",
                     "62px b", "2", "3", "4"]


def test_keys_go_through_the_draws(opened: Page) -> None:
    opened.go("pane=draw&draw=1", "document.querySelector('.pane.draw .pipeline button') !== null")
    opened.key("j")
    opened.wait("location.hash.includes('draw=2')")
    opened.key("k")
    opened.wait("location.hash.includes('draw=1')")
    opened.key("6")
    opened.wait("document.querySelector('.pane.kernels:not([hidden])') !== null")


def test_a_draw_shows_its_state_and_counters(opened: Page) -> None:
    opened.go("pane=draw&draw=3", "document.querySelector('.pane.draw .pipeline button') !== null")
    assert "320 in" in opened.wait("document.querySelector('.pipeline').textContent")
    changed = opened.evaluate("document.querySelector('.state details.changed tr.changed').textContent")
    assert "960 was 1920" in changed
    opened.evaluate(
        "[...document.querySelectorAll('.pipeline button')].find(b => b.textContent.startsWith('WM')).click()")
    titles = opened.evaluate("[...document.querySelectorAll('.state summary b')].map(b => b.textContent)")
    assert "WM_STATE" in titles and "VS_STATE" not in titles


def test_pixels_are_those_of_replay(opened: Page, tmp_path: Path) -> None:
    trace = TRACES / "gears-g4x.aub.xz"
    assert run(["-q", "replay", str(trace), "-o", str(tmp_path), "--draws", "3"]) == 0
    (path,) = tmp_path.glob("*color*.png")
    with Image.open(path) as image:
        wanted = np.array(image.convert("RGB"))
    opened.go("pane=draw&draw=3", "document.querySelector('.pane.draw .note').textContent.startsWith('color')")
    assert holds(canvas(opened), wanted)
    opened.evaluate("[...document.querySelectorAll('.draw .bar button')].find(b => b.textContent === 'before').click()")
    opened.wait("document.querySelector('.draw .bar button[aria-pressed=true]').textContent === 'before'")
    assert not holds(canvas(opened), wanted)


def test_a_kernel_is_shown_and_its_draws_are_links(opened: Page) -> None:
    opened.go("pane=kernels", "document.querySelector('.kernels .lines tbody tr') !== null")
    assert opened.evaluate("document.querySelectorAll('.kernels .kernel').length") > 4
    row = "document.querySelector('.kernels .lines tbody tr')"
    titles = opened.evaluate("[...document.querySelectorAll('.kernels .lines th')].map(one => one.textContent)")
    assert titles[2:5] == ["executed", "channels", "share"]
    assert float(opened.evaluate(f"{row}.cells[3].textContent")) > 0
    assert opened.evaluate(f"getComputedStyle({row}.querySelector('.text')).backgroundColor") != "rgba(0, 0, 0, 0)"
    href = opened.evaluate("document.querySelector('.kernels .code p a').getAttribute('href')")
    assert href.endswith("&pane=draw")


def test_glsl_and_nir_stand_beside_a_kernel(page: Page, tmp_path: Path) -> None:
    """Of two pixel shaders, one has notes.  Its texts are hostile."""
    trace = noted(TRACES / "triangle-g4x.aub.xz", tmp_path / "a.g4c")
    assert run(["-q", "report", str(trace), "-o", str(tmp_path / "out")]) == 0
    with open_api(trace) as opened_trace:
        kernel = next(use.number for use in opened_trace.kernels() if use.origin is not None)
    page.console.clear()
    page.open((tmp_path / "out" / "index.html").as_uri())
    page.go(f"pane=kernels&kernel={kernel}", "document.querySelector('.sources li') !== null")
    assert page.evaluate("document.querySelector('.code .origin').textContent") == (
        f'compiled from program 3 "{HOSTILE}", fragment shader 2')
    lines = "[...document.querySelectorAll('.sources li')].map(line => line.textContent)"
    assert page.evaluate(lines) == GLSL.splitlines()
    boxes = ("['.listing', '.sources'].map(name => document.querySelector(name).getBoundingClientRect())"
             ".map(box => [box.left, box.right, box.top, box.bottom])")
    listing, sources = page.evaluate(boxes)
    assert sources[3] <= listing[2] and listing[1] - listing[0] > 900, "instructions need the width of this window"
    page.resize(1800, 800)
    listing, sources = page.evaluate(boxes)
    page.resize(1280, 800)
    assert listing[1] <= sources[0] and listing[2] == sources[2] and sources[1] <= 1800
    page.evaluate("document.querySelectorAll('.sources button')[2].click()")
    assert f"\t{HOSTILE} final form" in page.evaluate(lines)
    page.go(f"pane=kernels&kernel={kernel % 2 + 1}", "document.querySelector('.sources') === null")
    page.go(f"pane=kernels&kernel={kernel}", "document.querySelector('.sources li') !== null")
    pressed = page.evaluate("document.querySelector('.sources button[aria-pressed=true]').textContent")
    assert pressed == "NIR, final form"  # stays chosen
    assert page.evaluate("document.querySelectorAll('img').length") == 0 and page.console == []


def test_one_file_is_the_same_report(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "one.html"
    assert run(["-q", "report", str(TRACES / "triangle-g4x.aub.xz"), "--single-file", str(path)]) == 0
    page.console.clear()
    page.open(path.as_uri())
    page.go("pane=draw&draw=1", "document.querySelector('.pane.draw .note').textContent.startsWith('color')")
    page.go("pane=kernels", "document.querySelector('.kernels .lines tbody tr') !== null")
    assert page.console == []


def test_a_device_of_the_seventh_generation_has_its_pipeline(page: Page, tmp_path: Path) -> None:
    trace = TRACES / "later" / "triangle-ivb.aub.xz"
    assert run(["-q", "report", str(trace), "-o", str(tmp_path)]) == 0
    page.open((tmp_path / "index.html").as_uri())
    page.go("pane=draw&draw=1", "document.querySelector('.pane.draw .pipeline button') !== null")
    boxes = page.evaluate("[...document.querySelectorAll('.pipeline b')].map(b => b.textContent)")
    assert boxes[:6] == ["VF", "VS", "HS", "TE", "DS", "GS"]


def test_faces_channels_ranges_and_bytes_of_a_surface_can_be_selected(page: Page, tmp_path: Path) -> None:
    assert run(["-q", "report", str(TRACES / "cubemap-g4x.aub.xz"), "-o", str(tmp_path)]) == 0
    page.console.clear()
    page.open((tmp_path / "index.html").as_uri() + "#pane=surfaces")
    page.wait("document.querySelector('.surfaces tbody tr') !== null")
    page.evaluate("""[...document.querySelectorAll('.surfaces tbody tr')]
        .find(row => row.cells[1].textContent === 'texture').click()""")
    page.wait("document.querySelectorAll('.surfaces select[name=slice] option').length === 6")

    def press(text: str) -> None:
        page.evaluate(f"[...{SHOWN}.querySelectorAll('button')].find(b => b.textContent === {text!r}).click()")

    page.wait("document.querySelector('.surfaces .range .value') !== null")
    first = canvas(page)
    page.evaluate("""(() => { const select = document.querySelector('.surfaces select');
        document.querySelector('.surfaces .range .value').className = 'of the first';
        select.value = '3'; select.dispatchEvent(new Event('change')); })()""")
    page.wait("document.querySelector('.surfaces .range .value') !== null")  # made again with the picture
    fourth = canvas(page)
    assert fourth.shape == first.shape and not np.array_equal(fourth, first)
    middle = fourth.shape[0] // 2, fourth.shape[1] // 2
    press("all")
    assert page.evaluate("""document.querySelector('.surfaces .histogram').getContext('2d').getImageData(0, 0, 256, 40)
        .data.some(n => n)""")
    press("g")
    press("b")
    assert len(set(canvas(page)[middle].tolist())) == 1 and canvas(page)[middle][0] == fourth[middle][0], "red as grey"
    press("fit range")
    low, _, high = page.evaluate("document.querySelector('.surfaces .range .value').textContent").split()
    assert 0 <= float(low) < float(high) <= 1
    press("bytes")
    page.wait("document.querySelector('.surfaces .bytes .row') !== null")
    line = page.evaluate("document.querySelector('.surfaces .bytes .row[data-index=\"0\"]').textContent")
    press("dwords")
    words = page.evaluate("document.querySelector('.surfaces .bytes .row[data-index=\"0\"]').textContent")
    assert line[:10] == words[:10] and line[10:].startswith(" ".join(
        words[10:18][at:at + 2] for at in (6, 4, 2, 0)))
    assert page.console == []


def test_srgb_is_shown_as_a_sampler_reads_it(page: Page, tmp_path: Path) -> None:
    def name_srgb(surfaces: list[dict[str, Any]]) -> None:
        for surface in surfaces:
            surface["format"] += "_SRGB" if surface["kind"] == "texture" else ""

    assert run(["-q", "report", str(TRACES / "texture-g4x.aub.xz"), "-o", str(tmp_path)]) == 0
    change_chunk(tmp_path, "surfaces", name_srgb)
    page.open((tmp_path / "index.html").as_uri())
    page.go("pane=surfaces", "document.querySelector('.surfaces tbody tr') !== null")
    page.evaluate("""[...document.querySelectorAll('.surfaces tbody tr')]
        .find(row => row.cells[1].textContent === 'texture').click()""")
    linear = "[...document.querySelectorAll('.surfaces .range button')].find(b => b.textContent === 'linear')"
    page.wait(f"{linear} !== undefined")
    stored = canvas(page)
    page.evaluate(f"{linear}.click()")
    page.wait(f"{linear}.getAttribute('aria-pressed') === 'true'")
    x = stored / 255
    wanted = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4) * 255
    middle = stored.shape[0] // 2, stored.shape[1] // 2
    inner = tuple(slice(at - 20, at + 20) for at in middle)
    np.testing.assert_array_equal(canvas(page)[inner], np.floor(wanted[inner] + 0.5))
    assert (stored[inner] != canvas(page)[inner]).any()


def saved(page: Page, button: str) -> str:
    """The text of a file that a button of the statistics saves."""
    page.go("pane=statistics", "document.querySelector('.pane.statistics .bar button') !== null")
    return str(page.evaluate(f"""(async () => {{
        let text = null;
        const create = URL.createObjectURL;
        URL.createObjectURL = blob => {{ text = blob.text(); return create.call(URL, blob); }};
        HTMLAnchorElement.prototype.click = () => {{}};
        [...document.querySelectorAll('.statistics .bar button')].find(b => b.textContent === '{button}').click();
        URL.createObjectURL = create;
        delete HTMLAnchorElement.prototype.click;
        return await text;
    }})()"""))


def test_exports_are_complete_and_can_be_read(opened: Page, report: Path) -> None:
    text = (report.parent / "data" / "rows-0.js").read_text().split('"')[3]
    wanted = json.loads(zlib.decompress(base64.b64decode(text)))
    del wanted["thumb"]
    count = len(wanted["frame"])
    assert json.loads(saved(opened, "JSON")) == [
        {name: column[i] for name, column in wanted.items()} for i in range(count)]

    lines = list(csv.DictReader(saved(opened, "CSV").splitlines()))
    assert len(lines) == count
    for i, line in enumerate(lines):
        assert line["draw"] == str(i) and line.keys() == wanted.keys()
        for name, cell in line.items():
            value = wanted[name][i]
            shown = [f"0x{one:08x}" if isinstance(one, int) else one for one in value] if isinstance(value, list) \
                else [str(value)]
            assert cell == " ".join(shown), name

    events = json.loads(saved(opened, "Chrome trace"))["traceEvents"]
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} == {
        f"{HOSTILE}.aub.xz", "frames", "draws"}
    draws = [event for event in events if event["ph"] == "X" and event["tid"] == 2]
    assert [event["args"]["instructions"] for event in draws] == wanted["instructions"]
    assert [event["dur"] for event in draws] == [n / 1000 for n in wanted["instructions"]]
    for one, after in pairwise(draws):
        assert after["ts"] == pytest.approx(one["ts"] + one["dur"])
    (frame,) = [event for event in events if event["ph"] == "X" and event["tid"] == 1]
    assert frame["name"] == "frame 0" and frame["dur"] == pytest.approx(sum(wanted["instructions"]) / 1000)


def test_draws_are_named_by_their_numbers_in_the_trace(page: Page, report: Path, tmp_path: Path) -> None:
    """Of which some have no row: they draw nothing, or belong to a frame that is not in the report."""
    copytree(report.parent, tmp_path / "gaps")
    made = tmp_path / "gaps" / report.name
    numbers = [1, 2, 5, 6, 9, 12]
    change_chunk(made.parent, "rows-0", lambda rows: rows.update(draw=numbers))
    title = "document.querySelector('.pane.draw:not([hidden]) h2')?.textContent"
    page.console.clear()
    page.open(made.as_uri() + "#pane=events")
    page.wait("document.querySelector('.events .inner .row') !== null")
    assert rows(page) == [str(number) for number in numbers]
    titles = page.evaluate("""[...document.querySelectorAll('.inner .row')]
        .map(row => row.querySelector('.name').firstChild.data)""")
    type_filter(page, "draw>=5 and draw<9")
    assert rows(page) == ["5", "6"]
    for wanted, row in ((1, 0), (5, 2), (7, 3), (100, 5), (0, 0)):
        page.go(f"pane=draw&draw={wanted}", f"document.querySelector('.steps input').value === '{numbers[row]}'")
        page.wait(f"{title} === {titles[row]!r}")
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'j' }))")
    assert page.evaluate("new URLSearchParams(location.hash.slice(1)).get('draw')") == "2"
    page.go("pane=kernels", "document.querySelector('.pane.kernels:not([hidden]) a') !== null")
    links = page.evaluate("""[...document.querySelectorAll('.pane.kernels a')]
        .map(link => link.textContent).filter(text => /^[0-9-]+$/.test(text))""")
    assert links and {int(part) for text in links for part in text.split("-")} <= set(numbers)
    assert page.console == []


def test_nothing_overlaps_in_a_narrow_window(opened: Page) -> None:
    opened.resize(700, 900)
    try:
        opened.go("pane=draw&draw=3", "document.querySelector('.pane.draw .pipeline button') !== null")
        state, side, middle = opened.evaluate("""['.state', '.side', '.middle'].map(name =>
            document.querySelector(`.pane.draw ${name}`).getBoundingClientRect())
            .map(box => [box.left, box.right, box.top, box.bottom])""")
        assert middle[:2] == [0, 700] and middle[3] - middle[2] > 300, "the picture above"
        assert middle[3] <= min(state[2], side[2]) and state[1] <= side[0] and side[1] <= 700
        opened.go("pane=overview", "document.querySelector('.pane.overview:not([hidden])') !== null")
        assert opened.evaluate("""[...document.querySelectorAll('.pane.overview section')].every(box =>
            box.getBoundingClientRect().right <= 700)""")
        assert opened.evaluate("""[...document.querySelectorAll('.pane.overview section')].every(box =>
            box.scrollHeight <= box.clientHeight)"""), "boxes are as high as their contents"
    finally:
        opened.resize(1280, 800)


def repeated(recorded: Recorded, draws: int) -> Recorded:
    """A report of so many draws, which are those of a short one again and again."""
    def read(name: str) -> Any:
        return json.loads(zlib.decompress(base64.b64decode(recorded.chunks[name])))

    rows, states = read("rows-0"), read("states-0")
    count = recorded.overview["counts"]["draws"]
    order = [i % count for i in range(draws)]
    chunks = {name: text for name, text in recorded.chunks.items() if not name.startswith(("rows-", "states-"))}
    for at in range(0, draws, ROWS):
        part = order[at:at + ROWS]
        chunks[f"rows-{at // ROWS}"] = deflated_json(
            {name: [column[i] for i in part] for name, column in rows.items()}
            | {"draw": list(range(at, at + len(part)))})
    for at in range(0, draws, STATES):
        part = order[at:at + STATES]
        chunks[f"states-{at // STATES}"] = deflated_json(
            states | {"draws": [states["draws"][i] for i in part],
                      "counters": by_columns([row_of(states["counters"], i) for i in part])})
    overview = recorded.overview | {"counts": recorded.overview["counts"] | {"draws": draws}}
    return Recorded(overview, chunks, 0, [], None)


def test_ten_thousand_draws_are_usable_at_once(page: Page, tmp_path: Path) -> None:
    trace = open_trace(str(TRACES / "gears-g4x.aub.xz"), again=True)
    path = write_directory(tmp_path, repeated(Recorder(trace, None, "many", Choices()).record(), 10_000))
    assert sum(file.stat().st_size for file in tmp_path.rglob("*.*")) < 24_000_000
    page.console.clear()
    page.open(path.as_uri() + "#pane=events")
    page.wait("document.querySelectorAll('.inner .row').length > 10")
    usable = page.evaluate("performance.now()")
    print("usable", usable)
    assert usable < 5_000, "milliseconds; it takes about a tenth of that on an idle machine"
    assert page.evaluate("document.querySelectorAll('.inner .row').length") < 60, "only rows in sight exist"
    page.go("pane=events&draw=9000", "document.querySelector('.inner .row[data-index=\"9000\"]') !== null")
    type_filter(page, "vertices>1000")
    assert page.evaluate("document.querySelector('.events .bar span').textContent") == "1667 of 10000 draws"
    page.go("pane=draw&draw=7777", "document.querySelector('.pane.draw .pipeline button') !== null")
    assert page.console == []


def test_a_hang_without_draws_is_a_report_with_a_band(page: Page, tmp_path: Path) -> None:
    batch = tmp_path / "h.bin"
    batch.write_bytes(struct.pack("<2I", 0x7A030201, 0x05000000))  # a command that swallows the end of the batch
    assert run(["-q", "report", str(batch), "--raw", "-d", "g45", "-o", str(tmp_path / "out")]) == 3
    page.console.clear()
    page.open((tmp_path / "out" / "index.html").as_uri())
    for pane in ("events", "draw", "mesh", "surfaces", "kernels", "statistics", "overview"):
        page.go(f"pane={pane}", f"document.querySelector('.pane.{pane}:not([hidden])') !== null")
    assert page.evaluate("document.querySelector('.band').textContent").startswith("The GPU hangs in frame 0")
    assert page.console == []


def test_a_mesh_has_rows_and_a_wire_frame(opened: Page) -> None:
    opened.go("pane=mesh&draw=3", "document.querySelector('.pane.mesh .inner .row') !== null")
    bar = "document.querySelector('.pane.mesh .bar')"
    assert "960 vertices, 320 objects, 319 of them set up" in opened.evaluate(f"{bar}.textContent")
    lit = opened.evaluate("""[...document.querySelectorAll('.wire')].map(canvas =>
        canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(n => n))""")
    assert lit == [True, True]
    labels = "[...document.querySelectorAll('.wires .label')].map(one => one.textContent)"
    assert opened.evaluate(labels) == ["after VS", "after CLIP"]
    opened.evaluate("document.querySelectorAll('.pane.mesh .inner .row')[5].click()")
    chosen = "[...document.querySelectorAll('.pane.mesh .row.current span')].slice(0, 2).map(one => one.textContent)"
    assert opened.evaluate(chosen) == ["1", "5"]
    opened.evaluate(f"[...{bar}.querySelectorAll('button')].find(b => b.textContent === 'vertex fetch').click()")
    assert opened.evaluate("document.querySelector('.pane.mesh .row.current span').textContent") == "5"
    assert "before the vertex shader" in opened.evaluate(f"{bar}.textContent")
    assert opened.evaluate("[...document.querySelectorAll('.wires > div')].map(one => one.hidden)") == [True, False]
