"""`gen4emu kernels` and `gen4emu devices`."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from gen4emu.hw.chips import BY_NAME, DEVICES

TRACES = Path(__file__).parents[2] / "traces"
TRIANGLE = str(TRACES / "triangle-g4x.aub.xz")


def test_kernels_are_listed_with_stages_and_draws(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernels", TRIANGLE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["number", "instructions", "bytes", "stages", "draws", "at"],
        ["1", "8", "128", "sf", "0,2", "0x0010e280"], ["2", "6", "96", "ps", "0", "0x0010e200"]]
    assert len(lines) == 8


def test_kernels_of_one_draw(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernels", "--json", "--draws", "1", TRIANGLE]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [k["stages"] for k in found["kernels"]] == [["vs"], ["clip"], ["sf"], ["ps"]]
    assert {k["draws"] for k in found["kernels"]} == {"1"}
    assert run(["kernels", "--draws", "9", TRIANGLE]) == 2
    assert "no draw 9" in capsys.readouterr().err


def test_kernels_that_media_objects_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernels", "--json", str(TRACES / "mpeg2-g4x.aub.xz")]) == 0
    found = json.loads(capsys.readouterr().out)["kernels"]
    assert [k["stages"] for k in found] == [[f"media {i}"] for i in range(7)]
    assert {(k["draws"], k["draw_count"]) for k in found} == {("0-29", 30)}


@pytest.mark.parametrize("trace", ["triangle-g4x", "triangle-brw", "mpeg2-g4x"])
def test_written_kernels_assemble_and_disassemble(trace: str, tmp_path: Path,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kernels"
    assert run(["kernels", str(TRACES / f"{trace}.aub.xz"), "-o", str(out)]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    index = json.loads((out / "index.json").read_text())
    assert [p.name for p in paths] == [k[kind] for k in index["kernels"] for kind in ("code", "assembly")]
    for kernel in index["kernels"]:
        code, text = out / kernel["code"], out / kernel["assembly"]
        assert code.stat().st_size == kernel["bytes"]
        again = tmp_path / "again.bin"
        assert run(["asm", str(text), "-d", index["device"], "-o", str(again)]) == 0
        assert again.read_bytes() == code.read_bytes()
        assert run(["disasm", str(code), "-d", index["device"], "--no-offsets"]) == 0
        assert capsys.readouterr().out == text.read_text()


def test_kernels_of_a_damaged_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.aub"
    cut.write_bytes(lzma.decompress(Path(TRIANGLE).read_bytes())[:10000])
    assert run(["kernels", str(cut)]) == 2
    captured = capsys.readouterr()
    assert captured.out == f"{cut}: no kernels\n" and str(cut) in captured.err
    assert run(["kernels", "--partial", "--json", str(cut)]) == 0
    assert json.loads(capsys.readouterr().out)["errors"] == []


def test_devices_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("965gm "))
    assert row.split() == [
        "965gm", "brw,", "crestline,", "gen4", "0x2a02", "gen4", "Intel", "965GM", "8", "x", "4", "256", "-"]
    assert run(["devices", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["devices"]
    assert len(found) == len(DEVICES)
    assert {name for d in found for name in (d["name"], *d["aliases"])} == set(BY_NAME)
