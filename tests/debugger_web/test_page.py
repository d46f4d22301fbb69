"""The page of `gen4emu debug --web` in a browser, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from gen4emu.cli.main import run
from gen4emu.debugger_web.app import WebDebugger
from gen4emu.device.options import Options
from gen4emu.trace.reader import open as open_trace
from tests.report.browser import Page, browser, chromium

TRACES = Path(__file__).parents[2] / "traces"
HOSTILE = "<img src=x onerror=document.title='owned'>"
BUTTON = "(text => [...document.querySelectorAll('.thread .bar button')].find(b => b.textContent === text))"
SHOWN = "document.querySelector('.pane:not([hidden])')"

pytestmark = [pytest.mark.client, pytest.mark.skipif(chromium() is None, reason="chromium is not installed")]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def debugger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDebugger]:
    """A trace with a hostile name."""
    trace = tmp_path_factory.mktemp("trace") / f"{HOSTILE}.aub.xz"
    trace.write_bytes((TRACES / "gears-g4x.aub.xz").read_bytes())
    made = WebDebugger(lambda: open_trace(str(trace), again=True), str(trace), None, Options())
    made.start()
    yield made
    made.close()


@pytest.fixture
def opened(page: Page, debugger: WebDebugger) -> Iterator[Page]:
    """The page, which must print nothing and load nothing but its own files."""
    page.console.clear()
    page.requests.clear()
    page.send("Page.navigate", url="about:blank")
    yield page.open(debugger.server.url)
    assert page.console == []
    places = (f"http://{debugger.server.host}/", "about:", "blob:", "data:,")
    assert [url for url in page.requests if not url.startswith(places)] == []


def settle(page: Page) -> None:
    """Wait until the canvas of the shown pane has kept its place for 0.2 s: parts around it may still arrive."""
    place, since = None, time.monotonic()
    while time.monotonic() < since + 0.2:
        now = page.evaluate(f"""(() => {{ const canvas = {SHOWN}.querySelector('.picture canvas');
            const box = canvas.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height, canvas.width, canvas.height]; }})()""")
        if now != place:
            place, since = now, time.monotonic()
        time.sleep(0.02)


def canvas(page: Page) -> npt.NDArray[np.uint8]:
    """The canvas of the shown pane with its picture at 1:1."""
    settle(page)
    page.evaluate(f"[...{SHOWN}.querySelectorAll('.picture button')].find(b => b.textContent === '1:1').click()")
    uri = page.evaluate(f"{SHOWN}.querySelector('.picture canvas').toDataURL()")
    with Image.open(BytesIO(base64.b64decode(uri.partition(",")[2]))) as image:
        return np.array(image.convert("RGB"))


def holds(whole: npt.NDArray[np.uint8], picture: npt.NDArray[np.uint8]) -> bool:
    """Whether a picture is in the middle of a larger one, but for its frame."""
    height, width = picture.shape[:2]
    inner = picture[2:-2, 2:-2]
    for y in ((whole.shape[0] - height) // 2 + d for d in (-1, 0, 1)):
        for x in ((whole.shape[1] - width) // 2 + d for d in (-1, 0, 1)):
            if np.array_equal(whole[y + 2:y + height - 2, x + 2:x + width - 2], inner):
                return True
    return False


def note(page: Page, text: str) -> None:
    page.wait(f"document.querySelector('.pane.draw .note')?.textContent.startsWith({text!r})")


def test_the_token_leaves_the_address_and_survives_a_reload(opened: Page, debugger: WebDebugger) -> None:
    assert debugger.server.token not in opened.evaluate("location.href")
    opened.send("Page.reload")
    opened.wait("document.querySelector('main .pane') !== null")


def test_a_hostile_name_stays_text(opened: Page) -> None:
    assert opened.evaluate("document.querySelector('h1').textContent") == f"{HOSTILE}.aub.xz"
    assert opened.evaluate("document.title") == f"{HOSTILE}.aub.xz: gen4emu debugger"
    assert opened.evaluate("document.querySelectorAll('img').length") == 0


def test_scrubbing_shows_the_picture_after_each_draw(opened: Page, tmp_path: Path) -> None:
    trace = TRACES / "gears-g4x.aub.xz"
    assert run(["-q", "replay", str(trace), "-o", str(tmp_path), "--draws", "0-5"]) == 0
    wanted = {int(path.name.split("-")[1]): path for path in tmp_path.glob("*color*.png")}
    assert sorted(wanted) == [1, 2, 3, 4, 5], "draw 0 writes depth only"
    for draw in (0, 5, 3, 4, 2, 1):
        opened.evaluate(f"""(() => {{ const bar = document.querySelector('.scrub input'); bar.value = {draw};
            bar.dispatchEvent(new Event('input')); }})()""")
        note(opened, f"after draw {draw}:")
        if draw:
            with Image.open(wanted[draw]) as image:
                assert holds(canvas(opened), np.array(image.convert("RGB"))), draw
        assert opened.evaluate("document.querySelector('.draws .row.current .draw').textContent") == str(draw)


def test_a_draw_shows_its_state_and_what_it_changed(opened: Page) -> None:
    opened.go("draw=3&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(opened, "after draw 3:")
    opened.wait("document.querySelector('.pipeline').textContent.includes('320 in')")
    assert "960 was 1920" in opened.evaluate("document.querySelector('.state details.changed tr.changed').textContent")
    opened.evaluate("[...document.querySelectorAll('.draw .bar button')].find(b => b.textContent === 'before').click()")
    note(opened, "before draw 3:")


@pytest.mark.parametrize("pane", ["overview", "events", "mesh", "surfaces", "kernels", "statistics"])
def test_the_panes_of_the_report_are_there(opened: Page, pane: str) -> None:
    opened.go(f"pane={pane}&draw=3", f"document.querySelector('.pane.{pane}:not([hidden])') !== null")
    opened.wait(f"{SHOWN}.textContent.length > 0")


def test_overlays_are_counted_for_any_draw(opened: Page) -> None:
    opened.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(opened, "after draw 4:")
    press(opened, ".pane.draw .bar button", "written")
    legend = "document.querySelector('.pane.draw .ranges')?.textContent"
    opened.wait(f"{legend}.includes('3.48 k in all')")
    press(opened, ".pane.draw .bar button", "frame so far")
    opened.wait(f"{legend}.includes('86.6 k in all')")
    press(opened, ".pane.draw .bar button", "written")
    opened.wait(f"{legend} === ''")


def test_nothing_is_left_out(opened: Page) -> None:
    opened.go("pane=overview", "document.querySelector('.pane.overview .facts') !== null")
    assert not opened.evaluate("document.querySelector('.pane.overview .facts').textContent.includes('left out')")


def test_the_picture_stays_visible_in_a_narrow_window(opened: Page) -> None:
    """Below, the pixel box and the state; the pane scrolls."""
    opened.resize(900, 800)
    try:
        opened.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
        note(opened, "after draw 4:")
        settle(opened)
        click_pixel(opened, 100, 150, 256)
        opened.wait("document.querySelector('.pixel li button') !== null")
        settle(opened)
        picture, box = opened.evaluate("""['.middle .picture', '.pixel'].map(name =>
            document.querySelector(`.pane.draw ${name}`).getBoundingClientRect()).map(box => [box.top, box.bottom])""")
        assert picture[1] - picture[0] >= 100 and picture[1] <= box[0] < box[1]
    finally:
        opened.resize(1280, 800)


def test_every_draw_has_a_mesh(opened: Page) -> None:
    opened.go("draw=4&pane=mesh", "document.querySelector('.pane.mesh .bar')?.textContent.includes('960 vertices')")
    opened.go("draw=5&pane=mesh", "document.querySelector('.pane.mesh .bar')?.textContent.includes('3 vertices')")


def test_a_click_on_a_dword_names_its_origin(opened: Page) -> None:
    opened.go("draw=5&pane=memory", "document.querySelector('.pane.memory .dump') !== null")
    opened.evaluate("""(() => { const input = document.querySelector('.pane.memory input'); input.value = '0x0010e004';
        input.dispatchEvent(new Event('change')); })()""")
    opened.wait("document.querySelector('.pane.memory .note').textContent"
                ".includes('last written by draw 4; no later draw')")
    opened.evaluate("document.querySelector('.pane.memory .dword').click()")
    opened.wait("[...document.querySelectorAll('.pane.memory .note')].some(p => p.textContent === "
                "'0x0010e004: written by draw 1')")


def type_command(page: Page, text: str) -> None:
    page.evaluate(f"""(() => {{ const input = document.querySelector('.console input'); input.value = {text!r};
        input.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'Enter', bubbles: true }})); }})()""")


def test_the_command_line_takes_the_commands_of_the_debugger(opened: Page) -> None:
    type_command(opened, "draw 2")
    opened.wait("document.querySelector('.console code').textContent === '(draw 2)'")
    assert "3DPRIMITIVE" in opened.evaluate("document.querySelector('.log').textContent")
    type_command(opened, "<b>x")
    opened.wait("document.querySelector('.log .bad') !== null")
    assert opened.evaluate("document.querySelectorAll('.log b').length") == 0


def test_a_second_page_asks_before_it_takes_over(opened: Page, debugger: WebDebugger, tmp_path: Path) -> None:
    with browser(tmp_path) as second:
        second.send("Page.navigate", url=debugger.server.url)
        second.wait("document.querySelector('.boot button') !== null")
        assert opened.evaluate("document.querySelector('.band.ended')") is None
        second.evaluate("document.querySelector('.boot button').click()")
        second.wait("document.querySelector('main .pane') !== null")
        opened.wait("document.querySelector('.band.ended')?.textContent === 'Another page has taken over.'")


def test_a_wrong_token_is_a_message(page: Page, debugger: WebDebugger) -> None:
    page.send("Page.navigate", url="about:blank")
    page.send("Page.navigate", url=f"http://{debugger.server.host}/#token=wrong")
    page.wait("document.querySelector('.band.ended')?.textContent === 'wrong token'")


def press(page: Page, selector: str, text: str) -> None:
    """Press the first of these buttons with a text."""
    page.evaluate(f"[...document.querySelectorAll({selector!r})].find(b => b.textContent === {text!r}).click()")


def click_pixel(page: Page, x: int, y: int, size: int = 256) -> None:
    """Click a pixel of the picture, which is in the middle at 1:1."""
    canvas(page)
    place = page.evaluate(f"""(() => {{ const canvas = {SHOWN}.querySelector('.picture canvas');
        const box = canvas.getBoundingClientRect();
        return [box.left + canvas.clientWidth / 2, box.top + canvas.clientHeight / 2]; }})()""")
    at = {"x": place[0] - size // 2 + x + 0.5, "y": place[1] - size // 2 + y + 0.5}
    for kind in ("mousePressed", "mouseReleased"):
        page.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)


def test_a_click_shows_the_history_of_the_pixel(opened: Page) -> None:
    opened.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(opened, "after draw 4:")
    click_pixel(opened, 160, 140)
    opened.wait("document.querySelector('.pixel .verdict') !== null")
    head = opened.evaluate("document.querySelector('.pixel h2').textContent")
    assert "after draw 4: drawn last by draw 3, object" in head
    opened.evaluate("document.querySelector('.pixel li.written a').click()")
    opened.wait("location.hash.includes('draw=3')")
    opened.wait("document.querySelector('.pixel h2').textContent.includes('after draw 3')")


def test_a_picture_stays_in_the_middle_when_its_pane_gets_smaller(opened: Page) -> None:
    opened.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(opened, "after draw 4:")
    before = canvas(opened)
    click_pixel(opened, 160, 140)
    opened.wait("document.querySelector('.pixel .verdict') !== null")
    opened.wait(f"{SHOWN}.querySelector('.picture canvas').height < {before.shape[0]}")
    settle(opened)
    uri = opened.evaluate(f"{SHOWN}.querySelector('.picture canvas').toDataURL()")
    with Image.open(BytesIO(base64.b64decode(uri.partition(",")[2]))) as image:
        now = np.array(image.convert("RGB"))
    top = (before.shape[0] - now.shape[0]) // 2
    rows = [np.array_equal(now[5:40], before[top + 5 + d:top + 40 + d]) for d in (-1, 0, 1)]
    assert any(rows), "the mark of the pixel is below"


def drag(page: Page, *pixels: tuple[int, int]) -> None:
    """With shift, from one pixel of the picture over others; one alone is a click."""
    canvas(page)
    left, top = page.evaluate(f"""(() => {{ const canvas = {SHOWN}.querySelector('.picture canvas');
        const box = canvas.getBoundingClientRect();
        return [box.left + canvas.clientWidth / 2 - 128, box.top + canvas.clientHeight / 2 - 128]; }})()""")
    kinds = ["mousePressed", *["mouseMoved"] * (len(pixels) - 1), "mouseReleased"]
    for kind, (x, y) in zip(kinds, (*pixels, pixels[-1]), strict=True):
        page.send("Input.dispatchMouseEvent", type=kind, button="left", buttons=int(kind != "mouseReleased"),
                  clickCount=1, modifiers=8, x=left + x + 0.5, y=top + y + 0.5)


def test_a_drag_with_shift_chooses_a_rectangle(opened: Page, tmp_path: Path) -> None:
    """Its values are those of the picture, and it does not move the picture."""
    opened.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(opened, "after draw 4:")
    before = canvas(opened)
    drag(opened, (150, 160), (120, 100), (110, 90))
    text = opened.wait("document.querySelector('.picture .area').textContent")
    assert run(["-q", "replay", str(TRACES / "gears-g4x.aub.xz"), "-o", str(tmp_path), "--draws", "4"]) == 0
    (picture,) = tmp_path.glob("*color*.png")
    with Image.open(picture) as image:
        pixels = np.array(image.convert("RGBA"))
    left, top, right, bottom = (int(n) for n in text.partition("--clip ")[2].rstrip("×").split())
    assert abs(left - 110) <= 1 and abs(top - 90) <= 1, "the middle of the canvas may be between two pixels"
    part = pixels[top:bottom + 1, left:right + 1]
    ranges = [f"{name} {part[..., c].min()} to {part[..., c].max()}" for c, name in enumerate("rgb")]
    assert text.startswith(f"{left},{top} to {right},{bottom}, 41×71 pixels · {' · '.join(ranges)} · a 255")
    assert opened.evaluate("document.querySelector('.pixel').hidden")
    opened.evaluate("document.querySelector('.picture .area button').click()")
    opened.wait("document.querySelector('.picture .area').textContent === ''")
    assert np.array_equal(canvas(opened), before)


def test_a_click_with_shift_is_why(opened: Page) -> None:
    opened.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(opened, "after draw 4:")
    drag(opened, (160, 140))
    opened.wait("document.querySelectorAll('.tree .why').length > 8")
    assert "the shader sent R 0, G 0.7576, B 0.1894, A 1" in opened.evaluate(
        "document.querySelector('.tree').textContent")


def test_why_leads_from_the_color_to_the_vertices(opened: Page) -> None:
    opened.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(opened, "after draw 4:")
    click_pixel(opened, 160, 140)
    opened.wait("document.querySelector('.pixel li.written button') !== null")
    press(opened, ".pixel li.written button", "why?")
    opened.wait("document.querySelectorAll('.tree .why').length > 8")
    text = opened.evaluate("document.querySelector('.tree').textContent")
    assert "the shader sent R 0, G 0.7576, B 0.1894, A 1" in text and "pixel shader thread" in text
    assert "object 814: TRILIST" in text and "vertex 514 of the vertex buffers, vertex shader thread 1219" in text
    assert ".0 x " in text, "the attributes of the vertex"


def test_a_color_leads_to_instructions_and_to_bytes(opened: Page) -> None:
    opened.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(opened, "after draw 4:")
    click_pixel(opened, 160, 140)
    opened.wait("document.querySelector('.pixel li.written button') !== null")
    press(opened, ".pixel li.written button", "why?")
    opened.wait("document.querySelectorAll('.computed').length > 3")
    for _ in range(30):
        opened.evaluate("document.querySelectorAll('details.computed:not([open])')"
                        ".forEach(one => { one.open = true; })")
        opened.evaluate("new Promise(done => setTimeout(done, 10))")
    text = opened.evaluate("document.querySelector('.tree').textContent")
    assert "in its vertex buffer: " in text and "push constant" in text and ", uploaded before draw 0" in text
    press(opened, ".computed button", "stop here")
    opened.wait("document.querySelector('.pane.thread .instruction.current') !== null")
    opened.go("draw=4&pane=draw", "document.querySelector('.computed button') !== null")
    press(opened, ".computed button", "bytes")
    opened.wait("document.querySelector('.pane.memory .note')?.textContent.startsWith('after draw 3')")


def registers(page: Page) -> list[str]:
    found = page.evaluate("[...document.querySelectorAll('.grf tr')].map(row => row.textContent)")
    assert isinstance(found, list)
    return found


def steps(page: Page, count: int) -> None:
    instructions = f"{count} instruction{'' if count == 1 else 's'}"
    page.wait(f"document.querySelector('.thread .note').textContent.endsWith(', {instructions} after its start')")


def debug_fragment(page: Page) -> None:
    """Stop at the thread of a fragment of draw 3."""
    page.go("draw=4&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
    note(page, "after draw 4:")
    click_pixel(page, 160, 140)
    page.wait("document.querySelector('.pixel li.written button') !== null")
    press(page, ".pixel li.written button", "debug this")
    page.wait("document.querySelector('.pane.thread .instruction.current') !== null")
    steps(page, 0)


def test_ten_steps_forward_and_back_lead_to_the_same_registers(opened: Page) -> None:
    debug_fragment(opened)
    assert ", object 814, kernel" in opened.evaluate("document.querySelector('.thread .note').textContent")
    blocks = opened.evaluate("[...document.querySelectorAll('.lane b')].map(b => b.textContent)")
    assert blocks[:8] == ["160,140", "161,140", "160,141", "161,141", "162,142", "163,142", "162,143", "163,143"]
    seen = [registers(opened)]
    for count in range(1, 11):
        press(opened, ".thread .bar button", "step ▶")
        steps(opened, count)
        seen.append(registers(opened))
    assert seen[10] != seen[0] and "20.675" in opened.evaluate("document.querySelector('.lanes').textContent")
    for count in reversed(range(10)):
        press(opened, ".thread .bar button", "◀ back")
        steps(opened, count)
        assert registers(opened) == seen[count], count
    assert opened.evaluate(f"{BUTTON}('◀ back').disabled && {BUTTON}('◀◀ continue back').disabled")


def click_line(page: Page, line: int) -> None:
    """The listing is written again after each answer of the server: the line may not be there at once."""
    place = f"document.querySelectorAll('.listing .instruction')[{line}]"
    page.wait(f"{place} !== undefined")
    page.evaluate(f"{place}.click()")


def test_continue_back_leads_to_the_breakpoint_before(opened: Page) -> None:
    debug_fragment(opened)
    current = "[...document.querySelectorAll('.listing .instruction')].findIndex(l => l.classList.contains('current'))"
    for line in (4, 8):
        click_line(opened, line)
        opened.wait(f"document.querySelectorAll('.listing .instruction')[{line}]?.classList.contains('has-stop')")
    for line in (4, 8):
        press(opened, ".thread .bar button", "continue")
        opened.wait(f"{current} === {line}")
    press(opened, ".thread .bar button", "◀◀ continue back")
    opened.wait(f"{current} === 4")
    type_command(opened, "delete all")
    opened.wait("document.querySelector('.thread .stops .stop button') === null")


def test_breakpoints_are_set_in_the_code_and_deleted(opened: Page) -> None:
    debug_fragment(opened)
    click_line(opened, 8)
    opened.wait("document.querySelector('.listing .instruction.has-stop') !== null")
    press(opened, ".thread .bar button", "continue")
    opened.wait("document.querySelectorAll('.listing .instruction')[8]?.classList.contains('current')")
    press(opened, ".thread .stops .stop button", "delete")
    opened.wait("document.querySelector('.thread .stops .stop button') === null")
    press(opened, ".thread .stops .add-stop button", "denormal")
    opened.wait("document.querySelector('.thread .stops .stop')?.textContent.includes(': denormal, 0 hits')")
    press(opened, ".thread .bar button", "next draw")
    opened.wait("document.querySelector('.thread .note').textContent.startsWith('No thread is stopped')")


def test_memory_is_shown_in_four_ways(opened: Page) -> None:
    opened.go("draw=3&pane=memory", "document.querySelector('.pane.memory .dump div') !== null")
    begins = opened.evaluate("document.querySelector('.memory input').value")
    assert begins == "0x0010e000", "a surface that draw 3 writes"
    press(opened, ".memory .bar button", "picture")
    opened.wait("document.querySelector('.memory .note').textContent.includes('B8G8R8A8_UNORM')")
    press(opened, ".memory .bar button", "dwords")
    opened.evaluate("""(() => { const input = document.querySelector('.memory input'); input.value = '0x001093c0';
        input.dispatchEvent(new Event('change')); })()""")
    opened.wait("document.querySelector('.memory .dump').textContent.startsWith('0x001093c0')")
    press(opened, ".memory .bar button", "floats")
    opened.wait("document.querySelector('.memory .bar button[aria-pressed=true]').textContent === 'floats'")
    opened.evaluate("""(() => { const input = document.querySelector('.options input');
        input.value = 'COLOR_CALC_STATE'; input.dispatchEvent(new Event('change')); })()""")
    press(opened, ".memory .bar button", "struct")
    opened.wait("document.querySelector('.memory .facts')?.textContent.includes('color_buffer_blend_enable')")
    opened.evaluate("document.querySelector('.memory input').value = '0x0010e000'")
    press(opened, ".memory .bar button", "picture")
    opened.wait("document.querySelector('.memory .note').textContent.includes('256x256')")
    opened.evaluate("""(() => { const input = document.querySelectorAll('.options input')[1]; input.value = '<b>';
        input.dispatchEvent(new Event('change')); })()""")
    opened.wait("document.querySelector('.memory .note').textContent.startsWith(\"unknown format '<b>'\")")


def test_memory_beyond_4_gib_is_paged_through(opened: Page) -> None:
    opened.go("draw=3&pane=memory", "document.querySelector('.pane.memory .dump div') !== null")
    opened.evaluate("document.querySelector('.memory input').value = '0xfffefdd00000'")
    for text, place in (("▶", "0xfffefdd00400"), ("▶", "0xfffefdd00800"), ("◀", "0xfffefdd00400")):
        press(opened, ".memory .bar button", text)
        assert opened.evaluate("document.querySelector('.memory input').value") == place
    opened.wait("document.querySelector('.memory .note').textContent.includes('address must be')")


def test_an_edited_register_changes_pixels_that_are_compared(opened: Page) -> None:
    debug_fragment(opened)
    opened.evaluate("""(() => { const input = document.querySelector('.watches input'); input.value = 'g1.0';
        input.dispatchEvent(new Event('change')); })()""")
    opened.wait("document.querySelector('.watched')?.textContent.includes('g1.0')")
    opened.evaluate("""(() => { const cell = document.querySelectorAll('.grf tr')[4].cells[4];
        cell.dispatchEvent(new MouseEvent('dblclick')); const input = cell.querySelector('input');
        input.value = '1'; input.dispatchEvent(new Event('change')); })()""")
    opened.wait("document.querySelectorAll('.grf tr')[4].cells[4].textContent === '1'")
    press(opened, ".thread .bar button", "next draw")
    opened.wait("document.querySelector('.thread .note').textContent.startsWith('No thread is stopped')")
    opened.go("draw=3&pane=draw", "document.querySelector('.pane.draw:not([hidden])') !== null")
    note(opened, "after draw 3:")
    press(opened, ".draw .bar button", "edited")
    opened.wait("document.querySelector('.pane.draw .note').textContent.startsWith('differences between')")
    shown = canvas(opened).astype(int)
    lit = int(((shown[:, :, 0] >= 80) & (shown[:, :, 1] >= 40) & (shown[:, :, 2] == 0)).sum())
    assert 1 <= lit <= 5, "the five pixels of the object in that thread; the mark covers some"
    press(opened, ".draw .bar button", "after")


def compared(page: Page, *commands: str) -> str:
    """The line of `compare` about the color, after these commands."""
    for command in (*commands, "compare"):
        lines = page.evaluate("document.querySelector('.log').textContent.length")
        type_command(page, command)
        page.wait(f"document.querySelector('.log').textContent.length > {lines} && "
                  "!document.querySelector('.console').classList.contains('busy')")
    page.wait("document.querySelector('.log').textContent.trim().split('compare').pop().includes('depth 0x')")
    text = page.evaluate("document.querySelector('.log').textContent.split('compare').pop()")
    return str(text).partition("depth 0x")[0]


@pytest.mark.parametrize(("device", "draw", "kernel", "register", "block"), [
    ("ivb", 4, 0x0010B080, 124, "0x00107560"), ("hsw", 3, 0x0010B080, 124, "0x00107560"),
    ("kbl", 2, 0xFFFFB080, 123, "0x1ff7ef140")])
def test_registers_code_and_state_are_edited_on_later_chips(device: str, draw: int, kernel: int, register: int,
                                                            block: str, page: Page) -> None:
    trace = str(TRACES / "later" / f"triangle-{device}.aub.xz")
    made = WebDebugger(lambda: open_trace(trace, again=True), trace, None, Options())
    made.start()
    try:
        page.console.clear()
        page.open(made.server.url)
        page.go(f"draw={draw}&pane=draw", "document.querySelector('.pane.draw .pipeline button') !== null")
        note(page, f"after draw {draw}:")
        click_pixel(page, 30, 30, 64)
        page.wait("document.querySelector('.pixel li.written button') !== null")
        press(page, ".pixel li.written button", "debug this")
        page.wait("document.querySelector('.pane.thread .instruction.current') !== null")
        steps(page, 0)
        before = registers(page)
        for _ in range(3):
            press(page, ".thread .bar button", "step ▶")
        steps(page, 3)
        assert registers(page) != before
        for _ in range(3):
            press(page, ".thread .bar button", "◀ back")
        steps(page, 0)
        assert registers(page) == before
        page.evaluate("""(() => { const cell = document.querySelectorAll('.grf tr')[4].cells[4];
            cell.dispatchEvent(new MouseEvent('dblclick')); const input = cell.querySelector('input');
            input.value = '0.25'; input.dispatchEvent(new Event('change')); })()""")
        page.wait("document.querySelectorAll('.grf tr')[4].cells[4].textContent === '0.25'")
        press(page, ".thread .bar button", "next draw")
        page.wait("document.querySelector('.thread .note').textContent.startsWith('No thread is stopped')")
        assert " 4 of 4096 pixels differ, in 30,30 to 31,31" in compared(page)
        page.go(f"draw={draw}&pane=draw", "document.querySelector('.pane.draw:not([hidden])') !== null")
        press(page, ".draw .bar button", "edited")
        page.wait("document.querySelector('.pane.draw .note').textContent.startsWith('differences between')")
        lit = (canvas(page).astype(int).sum(2) > 60).sum()
        assert lit >= 1, "the four pixels of the block; the mark covers some"
        here = (f"draw {draw}", "delete all")
        red = compared(page, *here, f"patch {kernel:#x} 'mov(8) g{register}<1>F 0.5F {{ align1 1Q }};'", "next")
        assert ": 13 of 4096 pixels differ" in red, "of threads with eight channels"
        swapped = compared(page, *here, f"edit RENDER_SURFACE_STATE {block} surface_format B8G8R8A8_UNORM", "next")
        assert ": 1253 of 4096 pixels differ" in swapped and "[4, 3, 248] unchanged, [248, 3, 4] now" in swapped
        assert page.console == []
    finally:
        made.close()
