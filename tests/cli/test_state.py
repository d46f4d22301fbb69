"""`gen4emu state`: everything that a draw executes with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gen4emu
from gen4emu.cli.main import run

GEARS = str(Path(__file__).parents[2] / "traces" / "gears-g4x.aub.xz")


def test_the_text_names_what_is_in_force_and_who_set_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["state", GEARS, "--draw", "4"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("draw 4: frame 0, submission 0, draw 4\n0x00100460  7b001004  3DPRIMITIVE")
    for name in ("STATE_BASE_ADDRESS", "3DSTATE_DEPTH_BUFFER", "WM_STATE", "SURFACE_STATE", "KERNEL"):
        assert name in text
    assert "\nsubmission 0, after draw 1\n" in text


def test_the_json_is_that_of_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["state", "--json", GEARS, "--draw", "1"]) == 0
    document = json.loads(capsys.readouterr().out)
    with gen4emu.open(GEARS) as trace:
        expected = trace.state(1).as_json()
    assert {key: document[key] for key in expected} == json.loads(json.dumps(expected))
    assert (document["schema"], document["device"], document["status"]) == ("gen4emu.state/1", "gm45", 0)


def test_a_draw_that_does_not_exist_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["state", GEARS, "--draw", "6"]) == 2
    assert capsys.readouterr().err == f"gen4emu: {GEARS}: no draw 6: it has 6 draws, 0 to 5\n"
