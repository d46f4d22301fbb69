"""The page of a run: self-contained, readable, and safe with hostile names."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from gen4emu.check.page import Budget, page
from gen4emu.cli.main import run

Make = Callable[..., Path]
CLEAR = "clear-g4x"
HOSTILE = "<img src=x onerror=document.title='owned'><b>&amp;<!--"


class Elements(HTMLParser):
    """The elements of a page, and what is in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attributes = self.found[-1]
            self.texts.setdefault(attributes.get("id") or tag, data)  # not what follows the end of the element


@pytest.fixture
def failures(make: Make) -> Path:
    """A page with a difference, a new picture, a missing one, and a case with a hostile name."""
    path = make(CLEAR, "triangle-g4x")
    assert run(["check", ".", "--update"]) == 0
    first, second = sorted((path / "golden" / CLEAR).glob("*.png"))
    with Image.open(first) as image:
        image.convert("RGB").rotate(180).point(lambda value: 255 - value).save(first)
    second.rename(second.with_name("frame-00007-color-00000000.png"))
    with (path / "manifest.toml").open("a") as file:
        file.write(f'[[trace]]\nfile = "{CLEAR}.aub.xz"\nname = "{HOSTILE}"\n')
    assert run(["check", ".", "--html", "page.html"]) == 1
    return path / "page.html"


def test_the_page_loads_nothing_and_holds_everything(failures: Path) -> None:
    text = failures.read_text()
    elements = Elements(text)
    assert [tag for tag, _ in elements.found if tag in ("script", "style", "link", "img", "b")] == [
        "style", "script", "script"]
    assert not any({"src", "href", "onerror"} & set(attributes) for _, attributes in elements.found)
    policy = next(a["content"] for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None and policy.startswith("default-src 'none'; img-src data:; ")
    for kind in ("style", "script"):
        digest = base64.b64encode(sha256(elements.texts[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    data = json.loads(elements.texts["data"])
    assert [case["name"] for case in data["cases"]] == [CLEAR, HOSTILE, "triangle-g4x"]
    assert data["counts"] == {"fail": 2, "pass": 1} and "fail" in data["bad"] and "pass" not in data["bad"]
    differs, new, missing = data["cases"][0]["pictures"]
    assert all(differs[kind].startswith("data:image/png;base64,") for kind in ("actual", "expected", "heatmap"))
    assert (new["new"], new["expected"], missing["actual"]) == (True, "", "") and missing["expected"]
    assert data["cases"][0]["accept"] == f"gen4emu check . --update -k ={CLEAR}"
    assert all(p["thumbnail"] for p in data["cases"][2]["pictures"])


def test_a_hostile_text_cannot_leave_the_data() -> None:
    text = page({"title": "</script><script>alert(1)</script><!--", "cases": []})
    assert [tag for tag, _ in Elements(text).found].count("script") == 2


def test_a_page_has_a_limit(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(bytes(600))
    budget = Budget(1000)
    assert budget.picture(tmp_path / "a.png") and not budget.picture(tmp_path / "a.png")


def chromium(address: str, profile: Path) -> tuple[str, str]:
    """The document after its script has run, and the messages of its console."""
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
               "--disable-background-networking", "--disable-component-update", "--disable-sync",
               f"--user-data-dir={profile}", "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom",
               address]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout, "\n".join(re.findall(r".*CONSOLE.*", done.stderr))


@pytest.mark.client
@pytest.mark.client
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.parametrize("view", [1, 2, 3, 4])
def test_the_page_in_a_browser(view: int, failures: Path, tmp_path: Path) -> None:
    document, console = chromium(f"{failures.as_uri()}#{view}", tmp_path / "profile")
    assert console == ""
    body = document.partition("<header>")[2]
    assert body.count('<article class="case bad">') == 2 and "triangle-g4x" not in body  # failures only
    assert "&lt;img src=x onerror=" in body and "<img src=x" not in body
    assert "<title>gen4emu check</title>" in document
    images = re.findall(r'<img[^>]*alt="([^"]*)"[^>]*width="\d+"', re.sub(r'src="[^"]*"', "", body))
    assert len(images) >= (3, 2, 2, 1)[view - 1]  # loaded: the script has given them a size
    assert "swipe" in body and ("divider" in body) == (view == 2)
    if view == 2:  # each picture has its own half: one may be transparent
        assert re.findall(r'clip-path: inset\(([^)]*)\)', body) == ["0px 0px 0px 50%", "0px 50% 0px 0px"]
    if view == 3:
        assert len(re.findall(r'visibility: hidden', body)) == 1


@pytest.mark.client
@pytest.mark.client
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_the_page_of_a_comparison_in_a_browser(tmp_path: Path) -> None:
    for side, shade in (("a", 0), ("b", 90)):
        (tmp_path / side).mkdir()
        Image.new("RGB", (8, 8), (shade, 0, 0)).save(tmp_path / side / "<i>x.png")
        Image.new("RGB", (8, 8)).save(tmp_path / side / "same.png")
    Image.new("L", (8, 8)).save(tmp_path / "a" / "only.png")
    assert run(["diff", "a", "b", "--html", "diff.html"]) == 1
    document, console = chromium((tmp_path / "diff.html").as_uri(), tmp_path / "profile")
    body = document.partition("<header>")[2]
    assert console == "" and "&lt;i&gt;x.png" in body and body.count('<article class="case bad">') == 2
    assert "error 90" in body and "is missing in b" in body


def history_of(path: Path, name: str) -> list[tuple[str, str, bool]]:
    cases = json.loads(Elements(path.read_text()).texts["data"])["cases"]
    (case,) = (case for case in cases if case["name"] == name)
    return [(run["revision"], run["outcome"], run["changed"]) for run in case["history"]]


def test_results_over_revisions(make: Make) -> None:
    path = make(CLEAR, "triangle-g4x")
    arguments = ["check", ".", "--html", "page.html", "--history", "runs.jsonl", "--revision"]
    assert run(["check", ".", "--update"]) == 0
    assert run([*arguments, "one"]) == 0
    first, _ = sorted((path / "golden" / CLEAR).glob("*.png"))
    with Image.open(first) as image:
        image.convert("RGB").point(lambda value: 255 - value).save(first)
    assert run([*arguments, HOSTILE]) == 1
    assert run([*arguments, "three", "-k", "triangle*"]) == 0
    assert history_of(path / "page.html", "triangle-g4x") == [
        ("one", "pass", False), (HOSTILE, "pass", False), ("three", "pass", False)]
    runs = [json.loads(line) for line in (path / "runs.jsonl").read_text().splitlines()]
    runs[1]["cases"][f"{path.name}/{CLEAR}"][1] = "0" * 32
    (path / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in runs))
    assert run([*arguments, "four"]) == 1
    assert history_of(path / "page.html", CLEAR) == [
        ("one", "pass", False), (HOSTILE, "fail", True), ("three", "", False), ("four", "fail", True)]


def test_a_file_that_is_no_history_is_not_changed(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    path = make(CLEAR)
    (path / "runs.jsonl").write_text('{"schema": "gen4emu.history/1"}\n')
    assert run(["check", ".", "--update", "--history", "runs.jsonl"]) == 2
    assert "runs.jsonl: line 1 is not a run" in capsys.readouterr().err
    assert (path / "runs.jsonl").read_text() == '{"schema": "gen4emu.history/1"}\n'


@pytest.mark.client
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_the_page_shows_revisions_in_a_browser(make: Make, tmp_path: Path) -> None:
    path = make(CLEAR)
    assert run(["check", ".", "--update", "--history", "runs.jsonl", "--revision", HOSTILE]) == 0
    assert run(["check", ".", "--history", "runs.jsonl", "--html", "page.html", "--revision", "second"]) == 0
    document, console = chromium((path / "page.html").as_uri(), tmp_path / "profile")
    body = document.partition("<header>")[2]
    assert console == "" and body.count('<i class="good"') == 2
    assert ">second</span>" in body and "<img src=x" not in body and "&lt;img src=x onerror=" in body
