"""`gen4emu check`: results, exit statuses, isolation, reports, --update."""

from __future__ import annotations

import json
import lzma
import os
import pty
import re
import struct
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from gen4emu.cli.main import run
from gen4emu.device.options import Options

Make = Callable[..., Path]
Capture = pytest.CaptureFixture[str]
CLEAR = "clear-g4x"


def update(directory: Path) -> None:
    assert run(["check", str(directory), "--update"]) == 0


def spoil(directory: Path, name: str = CLEAR) -> Path:
    """Change a pixel of a golden picture."""
    path = sorted((directory / "golden" / name).glob("*.png"))[0]
    with Image.open(path) as image:
        spoiled = image.convert("RGBA")
    spoiled.putpixel((0, 0), (1, 2, 3, 4))
    spoiled.save(path)
    return path


def checked(directory: Path, capsys: Capture, *options: str) -> tuple[int, dict[str, dict[str, object]]]:
    """The exit status, and the cases of the JSON report by name."""
    capsys.readouterr()
    status = run(["check", str(directory), "--json", *options])
    report = json.loads(capsys.readouterr().out)
    assert report["schema"] == "gen4emu.check/1" and list(report)[1] == "file" and report["status"] == status
    return status, {case["name"]: case for case in report["cases"]}


def test_a_failure_says_where_its_pictures_are(make: Make, capsys: Capture) -> None:
    update(make(CLEAR))
    golden = spoil(Path.cwd())
    capsys.readouterr()
    assert run(["check", "."]) == 1
    out = capsys.readouterr().out
    assert f"{golden.stem}: 1 of 65536 pixels differ" in out
    for kind, word in (("actual", "actual:"), ("expected", "expected:"), ("heatmap", "heat map:")):
        path = Path("check-results") / CLEAR / f"{golden.stem}.{kind}.png"
        assert path.is_file() and re.search(rf"{word} +{re.escape(str(path))}\n", out)
    assert "to accept what is drawn now: gen4emu check . --update" in out
    update(Path.cwd())
    assert run(["check", "."]) == 0
    assert not (Path("check-results") / CLEAR).exists()  # the pictures of the failed run are gone


@pytest.mark.parametrize("options", [[], ["--update"]])
def test_a_cut_trace_is_status_2_and_named(options: list[str], cut: Path, capsys: Capture) -> None:
    Path("manifest.toml").write_text('[[trace]]\nfile = "cut.aub"\n')
    assert run(["check", "manifest.toml", *options]) == 2
    assert "cut.aub: 0x0000206c: the file ends inside a write of 4096 bytes" in capsys.readouterr().out
    assert not Path("golden").exists()


def test_a_cut_compressed_trace_is_status_2(make: Make) -> None:
    update(make(CLEAR))
    path = Path(f"{CLEAR}.aub.xz")
    path.write_bytes(path.read_bytes()[:-300])
    golden = {p.name: p.read_bytes() for p in (Path("golden") / CLEAR).iterdir()}
    assert run(["check", "."]) == 2
    assert run(["check", ".", "--update"]) == 2
    assert {p.name: p.read_bytes() for p in (Path("golden") / CLEAR).iterdir()} == golden


def test_partial_accepts_a_cut_trace(make: Make, capsys: Capture) -> None:
    """The draws before the end of the cut trace are compared; the damage is a note."""
    path = make("gears-g4x")
    data = lzma.decompress(Path("gears-g4x.aub.xz").read_bytes())
    Path("part.aub").write_bytes(data + data[:5000])
    text = '[[trace]]\nfile = "part.aub"\n'
    (path / "manifest.toml").write_text(text)
    assert run(["check", ".", "--update"]) == 2
    (path / "manifest.toml").write_text(text + "partial = true\n")
    assert run(["check", ".", "--update"]) == 0
    status, cases = checked(path, capsys)
    assert status == 0 and any("part.aub: 0x" in str(note) for note in cases["part"]["notes"])


def test_update_refuses_a_trace_that_draws_nothing(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "nothing.bin").write_bytes(struct.pack("<2I", 0x02000000, 0x05000000))
    (tmp_path / "manifest.toml").write_text('[[trace]]\nfile = "nothing.bin"\nraw = true\ndevice = "g45"\n')
    assert run(["check", ".", "--update"]) == 2
    assert "nothing.bin: draws nothing" in capsys.readouterr().out
    assert run(["check", "."]) == 1
    assert "the trace drew nothing" in capsys.readouterr().out


def test_a_raw_batch_with_a_base_and_a_device(tmp_path: Path, capsys: Capture) -> None:
    """XY_COLOR_BLT of a 4x4 rectangle at 0x100000."""
    batch = (0x54300004, 0x03F00010, 0, 4 << 16 | 4, 0x100000, 0xFF336699, 0x05000000, 0)
    (tmp_path / "fill.bin").write_bytes(struct.pack("<8I", *batch))
    (tmp_path / "manifest.toml").write_text(
        '[[trace]]\nfile = "fill.bin"\nraw = true\nbase = 0x20000\ndevice = "g45"\nexpect = {}\n')
    update(tmp_path)
    status, cases = checked(tmp_path, capsys)
    assert (status, cases["fill"]["device"], len(cases["fill"]["pictures"])) == (0, "g45", 1)


def test_a_hang_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A command that does not exist."""
    monkeypatch.setattr("gen4emu.cli.check.Options", partial(Options, strict=True))
    (tmp_path / "bad.bin").write_bytes(struct.pack("<4I", 0, 0x7A030201, 0, 0x05000000))
    (tmp_path / "manifest.toml").write_text('[[trace]]\nfile = "bad.bin"\nraw = true\ndevice = "g45"\n')
    assert run(["check", "."]) == 1
    assert "bad.bin: the GPU hung: " in capsys.readouterr().out
    assert run(["check", ".", "--update"]) == 1


def test_a_digest_stands_for_all_pictures(make: Make, capsys: Capture) -> None:
    path = make(CLEAR, keys='expect = ""  # the scene')
    assert run(["check", "."]) == 1
    assert "no digest is recorded" in capsys.readouterr().out
    update(path)
    text = (path / "manifest.toml").read_text()
    assert "# the scene" in text and not Path("golden").exists()
    status, cases = checked(path, capsys)
    assert status == 0 and cases[CLEAR]["digest"] == tomllib.loads(text)["trace"][0]["expect"]
    (path / "manifest.toml").write_text(re.sub('"[0-9a-f]{32}"', f'"{"0" * 32}"', text))
    status, cases = checked(path, capsys)
    assert status == 1 and f"expected {'0' * 32}" in str(cases[CLEAR]["messages"])
    assert len(list((Path("check-results") / CLEAR).glob("*.actual.png"))) == 2
    update(path)
    assert (path / "manifest.toml").read_text() == text


def test_a_table_of_digests_says_which_picture_differs(make: Make, capsys: Capture) -> None:
    path = make(CLEAR, text="[trace.expect]\n")
    update(path)
    text = (path / "manifest.toml").read_text()
    first = re.findall('"([0-9a-f]{32})"', text)[0]
    (path / "manifest.toml").write_text(text.replace(first, "0" * 32, 1) + f'frame-00009-color-0 = "{first}"\n')
    status, cases = checked(path, capsys)
    wrong, right, missing = cases[CLEAR]["pictures"]
    assert status == 1 and wrong["message"] == f"the digest is {first}, expected {'0' * 32}"
    assert right["message"] is None and missing["message"] == "was not drawn"
    update(path)
    assert (path / "manifest.toml").read_text() == text


def test_another_accepted_result_passes_with_its_reason(make: Make, capsys: Capture) -> None:
    path = make(CLEAR, keys='expect = ""')
    update(path)
    text = (path / "manifest.toml").read_text()
    digest = re.findall('"([0-9a-f]{32})"', text)[0]
    other = text.replace(digest, "0" * 32) + f'[[trace.accept]]\nexpect = "{digest}"\nreason = "why not"\n'
    (path / "manifest.toml").write_text(other)
    status, cases = checked(path, capsys)
    assert (status, cases[CLEAR]["outcome"], cases[CLEAR]["reason"]) == (0, "pass", "accepted: why not")
    assert not Path("check-results").exists() or not list(Path("check-results").rglob("*.png"))
    (path / "manifest.toml").write_text(other + 'device = "g965"\n')
    assert checked(path, capsys)[0] == 1
    assert checked(path, capsys, "-d", "g965", "--force-device")[1][CLEAR]["device"] == "g965"
    assert checked(path, capsys, "-d", "g965")[0] == 2


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes in which opening certain traces crashes, or needs 64 GiB."""
    (tmp_path / "sitecustomize.py").write_text("""
import os, signal, sys
def hook(event, arguments):
    name = os.path.basename(str(arguments[0])) if event == "open" else ""
    if name == "crash.aub" or name == "once.aub" and not os.path.exists("crashed"):
        if name == "once.aub":
            os.mkdir("crashed")
        os.kill(os.getpid(), signal.SIGSEGV)
    if name == "large.aub":
        bytearray(1 << 36)
    if name == "defect.aub":
        raise RuntimeError("a defect")
sys.addaudithook(hook)
""")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def with_copies(directory: Path, *names: str) -> None:
    """More cases: copies of the cleared picture under other names."""
    text = (directory / "manifest.toml").read_text()
    data = lzma.decompress((directory / f"{CLEAR}.aub.xz").read_bytes())
    for name in names:
        (directory / f"{name}.aub").write_bytes(data)
        text += f'[[trace]]\nfile = "{name}.aub"\ngolden = "golden/{CLEAR}"\n'
    (directory / "manifest.toml").write_text(text)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_crashes_and_timeouts_cost_one_case_each(jobs: str, make: Make, audit: None) -> None:
    path = make(CLEAR)
    update(path)
    with_copies(path, "crash", "once", "large", "defect", "after")
    os.mkfifo("fifo.aub")
    (path / "manifest.toml").write_text((path / "manifest.toml").read_text() + '[[trace]]\nfile = "fifo.aub"\n')
    command = [sys.executable, "-m", "gen4emu", "check", ".", "--json", "-j", jobs, "--timeout", "5", "--memory", "8G",
               "--junit", "j.xml", "--sandbox", "off"]  # the hook of `audit` writes a file
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    cases = {case["name"]: case for case in json.loads(done.stdout)["cases"]}
    assert {name: case["outcome"] for name, case in cases.items()} == {
        CLEAR: "pass", "crash": "crash", "once": "flake", "large": "crash", "defect": "crash", "after": "pass",
        "fifo": "timeout"}
    assert cases["crash"]["messages"] == ["crashed twice: SIGSEGV, SIGSEGV"]
    assert cases["once"]["notes"] == ["crashed with SIGSEGV, and passed when it was tried again"]
    assert cases["large"]["messages"] == ["out of memory (8192 MiB)"]
    assert "RuntimeError: a defect" in cases["defect"]["messages"][0]
    assert cases["fifo"]["messages"] == ["no result after 5 s"]
    suite = ElementTree.parse("j.xml").getroot()[0]
    assert (suite.get("errors"), suite.get("failures"), suite.get("skipped")) == ("4", "0", "1")
    assert "Segmentation fault" in suite.findtext("testcase[@name='crash']/system-err", "")


def test_lists_excuse_failures_and_are_reported_when_they_no_longer_apply(make: Make, capsys: Capture) -> None:
    path = make(CLEAR, "triangle-g4x", "blend-g4x", "fbo-g4x")
    update(path)
    for name in (CLEAR, "triangle-g4x"):
        spoil(path, name)
    (path / "expect.toml").write_text("""
[[fail]]
names = ["clear-*", "blend-g4x"]
reason = "bug 1"
[[flake]]
names = ["triangle-g4x"]
reason = "bug 2"
[[skip]]
names = ["fbo*", "gone"]
reason = "bug 3"
""")
    capsys.readouterr()
    assert run(["check", "."]) == 1
    out = capsys.readouterr().out
    for line in ("clear-g4x: expected failure", "blend-g4x: UNEXPECTED PASS", "triangle-g4x: flake",
                 "fbo-g4x: skipped (bug 3)", "passes, but expect.toml lists it as failing (bug 1): remove it there",
                 "expect.toml: skip: no trace matches 'gone'"):
        assert line in out
    (path / "expect.toml").write_text('[[fail]]\nnames = ["clear-*"]\nreason = "bug 1"\n'
                                      '[[flake]]\nnames = ["triangle-g4x"]\nreason = "bug 2"\n')
    assert run(["check", "."]) == 0
    golden = (path / "golden" / CLEAR).iterdir()
    before = {p.name: p.read_bytes() for p in golden}
    assert run(["check", ".", "--update", "-k", "clear"]) == 0
    assert {p.name: p.read_bytes() for p in (path / "golden" / CLEAR).iterdir()} == before
    assert "listed as failing, so not updated" in capsys.readouterr().out


def test_an_expected_failure_does_not_excuse_a_damaged_trace(cut: Path) -> None:
    Path("manifest.toml").write_text('[[trace]]\nfile = "cut.aub"\n[[fail]]\nnames = ["cut"]\nreason = "bug"\n')
    assert run(["check", "."]) == 2


def test_k_selects_and_a_selection_of_nothing_is_an_error(make: Make, capsys: Capture) -> None:
    path = make(CLEAR, "triangle-g4x")
    update(path)
    assert list(checked(path, capsys, "-k", "not clear")[1]) == ["triangle-g4x"]
    assert run(["check", ".", "-k", "traingle-g4x"]) == 2
    assert capsys.readouterr().err == "gen4emu: no trace matches -k 'traingle-g4x' (did you mean triangle-g4x?)\n"


def test_a_trace_instead_of_a_manifest_is_named(make: Make, capsys: Capture) -> None:
    make(CLEAR)
    assert run(["check", f"{CLEAR}.aub.xz"]) == 2
    assert capsys.readouterr().err.startswith(f"gen4emu: {CLEAR}.aub.xz: is a trace (aub); check takes manifests (")
    Path("other.bin").write_bytes(b"\xff\xfe")
    assert run(["check", "other.bin"]) == 2
    assert "other.bin: not a manifest: byte 0 is not UTF-8 text" in capsys.readouterr().err


def test_junit_has_one_failure_a_case_with_paths(make: Make) -> None:
    """By the rules of Jenkins' junit-10.xsd."""
    path = make(CLEAR, "triangle-g4x")
    update(path)
    golden = sorted((path / "golden" / CLEAR).glob("*.png"))
    for picture in golden:
        with Image.open(picture) as image:
            image.convert("RGBA").rotate(90).point(lambda value: 255 - value).save(picture)
    (path / "expect.toml").write_text('[[skip]]\nnames = ["tri*"]\nreason = "a \\u0007 bell"\n')
    assert run(["check", ".", "--junit", "junit.xml"]) == 1
    root = ElementTree.parse("junit.xml").getroot()
    assert root.tag == "testsuites" and [suite.tag for suite in root] == ["testsuite"]
    suite = root[0]
    for name, value in (("tests", "2"), ("failures", "1"), ("errors", "0"), ("skipped", "1")):
        assert suite.get(name) == root.get(name) == value
    assert suite.get("name") and suite.get("hostname") and re.fullmatch(r"\d+\.\d+", suite.get("time", ""))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp", ""))
    for case in suite:
        assert case.tag == "testcase" and case.get("classname") == "manifest.toml" and case.get("name")
        tags = [child.tag for child in case]
        assert tags[0] == "properties" and set(tags[1:]) <= {"failure", "error", "skipped", "system-out", "system-err"}
        assert len({"failure", "error", "skipped"} & set(tags)) <= 1 and len(tags) == len(set(tags))
        assert all(p.tag == "property" and p.get("name") and p.get("value") is not None for p in case[0])
    failure = suite.find("testcase/failure")
    assert failure is not None and failure.get("type") == "fail" and failure.text is not None
    assert all(picture.stem in failure.text for picture in golden)
    properties = [(p.get("name"), p.get("value")) for p in suite[0][0]]
    assert ("device", "gm45") in properties and ("trace", f"{CLEAR}.aub.xz") in properties
    for kind in ("actual", "expected", "heatmap"):
        assert sum(name == kind and Path(str(value)).is_file() for name, value in properties) == 2
    assert "[[ATTACHMENT|" in suite.findtext("testcase/system-out", "")
    assert suite[1][1].get("message") == "skip: a \N{REPLACEMENT CHARACTER} bell"


def test_quiet_and_verbose(make: Make, capsys: Capture) -> None:
    update(make(CLEAR))
    capsys.readouterr()
    assert run(["check", ".", "-q"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["check", ".", "-v"]) == 0
    lines = re.findall(r"^  frame-00000-color-[0-9a-f]{8}: [0-9a-f]{32}$", capsys.readouterr().out, re.MULTILINE)
    assert len(lines) == 2


def test_failures_are_colored_on_a_terminal_only(make: Make) -> None:
    update(make(CLEAR))
    spoil(Path.cwd())
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"}
    done = subprocess.run([sys.executable, "-m", "gen4emu", "check", "."], stdout=theirs, env=environment, check=False)
    os.close(theirs)
    out = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:
            break
        out += piece
    os.close(ours)
    assert done.returncode == 1 and b"\x1b[31m\x1b[1mFAILED\x1b[0m" in out
    done = subprocess.run([sys.executable, "-m", "gen4emu", "check", "."], capture_output=True, check=False)
    assert b"FAILED" in done.stdout and b"\x1b" not in done.stdout


def test_equal_names_in_two_manifests_leave_pictures_apart(make: Make, tmp_path: Path) -> None:
    make(CLEAR)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for file in (f"{CLEAR}.aub.xz", "manifest.toml"):
            (tmp_path / name / file).write_bytes((tmp_path / file).read_bytes())
    assert run(["check", "a", "b", "--update"]) == 0
    for name in ("a", "b"):
        spoil(tmp_path / name)
    assert run(["check", "a", "b"]) == 1
    assert sorted(p.name for p in Path("check-results").iterdir()) == ["a", "b"]


@pytest.mark.parametrize("size", ["x", "12", "-1G", "4Q"])
def test_invalid_sizes_are_refused(size: str, make: Make, capsys: Capture) -> None:
    make(CLEAR)
    assert run(["check", ".", "--memory", size]) == 2
    assert "Invalid value for '--memory'" in capsys.readouterr().err
