"""`gen4emu state`: everything that a draw executes with."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

import gen4emu
from gen4emu.cli.main import run

TRACES = Path(__file__).parents[2] / "traces"
GEARS = str(TRACES / "gears-g4x.aub.xz")


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


def test_memory_is_as_the_draw_finds_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The batch stores 1.0 to the blend constant before COLOR_CALC_STATE is loaded; the trace has written 0."""
    trace = str(TRACES / "later" / "triangle-kbl.aub.xz")
    assert run(["-q", "export", trace, "--draw", "2", "-o", str(tmp_path / "repro")]) == 0
    batch = tmp_path / "repro" / "batch.txt"
    store = "dwords 0x10000002 0xfffef208 0x00000002 0x3f800000\n"  # MI_STORE_DATA_IMM
    batch.write_text(batch.read_text().replace("3DSTATE_CC_STATE_POINTERS\n", f"{store}3DSTATE_CC_STATE_POINTERS\n"))
    assert run(["-q", "build", str(batch), "-o", str(tmp_path / "store.aub")]) == 0
    with gen4emu.open(tmp_path / "store.aub") as built:
        assert built.at(draw=0).read(0x2_FFFE_F208, 4) == struct.pack("<f", 1)
    assert run(["state", str(tmp_path / "store.aub"), "--draw", "0"]) == 0
    assert "blend_constant_color_red=1\n" in capsys.readouterr().out


@pytest.mark.parametrize("device", ["snb", "bdw"])
def test_devices_that_execute_nothing_have_state_as_decoded(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["state", str(TRACES / "later" / f"triangle-{device}.aub.xz"), "--draw", "2"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("draw 2: frame ") and "3DSTATE_WM" in text and "KERNEL" in text
    assert run(["state", "--help"]) == 0
    assert "On devices that are only decoded" in " ".join(capsys.readouterr().out.split())
