"""The debugger shows the groups of draws and the sources of kernels that a capture has in its GL notes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from tests.decode.gl_capture import GLSL, HOSTILE, noted

TRACES = Path(__file__).parents[2] / "traces"
TRIANGLE = TRACES / "triangle-g4x.aub.xz"
PIXEL = ("trap every in wm", "continue")
TITLE = f'program 3 "{HOSTILE}", fragment shader 2'

Text = pytest.CaptureFixture[str]


def debug(capsys: Text, trace: Path, *commands: str, status: int = 0) -> list[str]:
    arguments = [argument for command in commands for argument in ("-c", command)]
    assert run(["debug", str(trace), "--json", *arguments]) == status
    return capsys.readouterr().out.splitlines()


def last(lines: list[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(lines[-1])
    return found


def the_draw(capsys: Text, trace: Path) -> int:
    """The draw of the noted call."""
    assert run(["info", "--json", str(trace)]) == 0
    (group,) = json.loads(capsys.readouterr().out)["gl"]["draws"]
    number: int = group["draw"]
    return number


def test_a_draw_has_its_group(tmp_path: Path, capsys: Text) -> None:
    trace = noted(TRIANGLE, tmp_path / "a.g4c")
    draw = the_draw(capsys, trace)
    assert last(debug(capsys, trace, f"draw {draw}", "gl")) == {"kind": "answer", "draw": draw, "group": {
        "path": [HOSTILE], "program": 3, "program_label": HOSTILE, "exact": True}}
    assert last(debug(capsys, trace, "draw 0", "gl"))["group"] is None
    arguments = ["-c", f"draw {draw}", "-c", "gl", "-c", "draw 0", "-c", "gl"]
    assert run(["debug", str(trace), *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f'draw {draw}: {HOSTILE}, program 3 "{HOSTILE}"' in lines and lines[-1] == "draw 0: not of a noted call"


def test_a_kernel_has_its_source_in_all_forms(tmp_path: Path, capsys: Text) -> None:
    trace = noted(TRIANGLE, tmp_path / "a.g4c")
    stop = (f"draw {the_draw(capsys, trace)}", *PIXEL)
    found = last(debug(capsys, trace, *stop, "source"))
    assert found["sources"] == [{"title": "GLSL, fragment shader 2", "text": GLSL}]
    forms = {form: [one["title"] for one in last(debug(capsys, trace, *stop, f"source {form}"))["sources"]]
             for form in ("nir", "assembly")}
    assert forms == {"nir": ["NIR, SSA form", "NIR, final form"], "assembly": ["driver's assembly"]}
    arguments = [argument for command in (*stop, "source") for argument in ("-c", command)]
    assert run(["debug", str(trace), *arguments]) == 0
    assert capsys.readouterr().out.splitlines()[-4:] == [
        f"compiled from {TITLE}", "GLSL, fragment shader 2:", f"    1  // {HOSTILE}",
        "    2  void main() { gl_FragColor = vec4(1.0); }"]


def test_a_kernel_that_was_not_printed_has_the_source_of_the_draw(tmp_path: Path, capsys: Text) -> None:
    trace = noted(TRIANGLE, tmp_path / "a.g4c", printed=False)
    found = last(debug(capsys, trace, f"draw {the_draw(capsys, trace)}", *PIXEL, "source"))
    assert (found["origin"], found["sources"]) == (None, [{"title": "GLSL, fragment shader 2", "text": GLSL}])


@pytest.mark.parametrize(("commands", "message"), [
    (("source",), "no thread is stopped"), ((*PIXEL, "source spv"), "unknown form 'spv' (known: glsl, nir, assembly)"),
    (("trap every in vs", "continue", "source"), "the GL notes have no source for kernel 0x"),
    (("gl 1",), "usage: gl"), ((*PIXEL, "source nir x"), "usage: source [glsl|nir|assembly]"),
])
def test_what_cannot_be_shown_is_an_error(tmp_path: Path, capsys: Text, commands: tuple[str, ...],
                                          message: str) -> None:
    arguments = [argument for command in commands for argument in ("-c", command)]
    assert run(["debug", str(noted(TRIANGLE, tmp_path / "a.g4c")), *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("commands", [("gl",), (*PIXEL, "source")])
def test_a_trace_without_notes_says_so(capsys: Text, commands: tuple[str, ...]) -> None:
    arguments = [argument for command in commands for argument in ("-c", command)]
    assert run(["debug", str(TRIANGLE), *arguments]) == 2
    assert "the trace has no GL notes; `gen4emu capture --gl` keeps them" in capsys.readouterr().err
