"""`gen4emu digest` and `gen4emu bisect`: the first draw, pixel and instruction that differ, and the cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gen4emu
from gen4emu.cli.main import run
from gen4emu.decode.nodes import Data, Kernel
from tests.harness.changed_trace import block, memory, with_change

TRACES = Path(__file__).parents[2] / "traces"
TEXTURE, GEARS = TRACES / "texture-g4x.aub.xz", TRACES / "gears-g4x.aub.xz"
IVB = TRACES / "later" / "triangle-ivb.aub.xz"
Document = dict[str, Any]


def bisect(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 1) -> Document:
    assert run(["bisect", "--json", *map(str, arguments)]) == status
    document: Document = json.loads(capsys.readouterr().out)
    assert document["status"] == status
    return document


# --- the same ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("trace", [GEARS, IVB])
def test_two_executions_of_a_trace_are_the_same(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = bisect(capsys, trace, trace, status=0)
    with gen4emu.open(trace) as opened:
        assert found["same"] == len(list(opened.draws()))
    assert (found["draw"], found["unmatched_count"], found["causes"]) == (None, 0, [])


def test_fast_paths_and_general_code_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bisect", str(GEARS), "--options", "general=off,on"]) == 0
    assert capsys.readouterr().out == "6 draws the same, and nothing else\n"


# --- causes -----------------------------------------------------------------------------------------------------------
def test_a_changed_bit_of_a_sampler_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sampler = block(TEXTURE, 0, "SAMPLER_STATE")
    bad = with_change(TEXTURE, tmp_path / "bad.aub", sampler, 2, 0x02)  # bit 17 of dword 0
    found = bisect(capsys, TEXTURE, bad)
    assert (found["same"], found["draw"]["left"]["number"], found["draw"]["right"]["number"]) == (0, 0, 0)
    assert found["pixels"]["count"] > 0
    assert found["instruction"]["text"][0].startswith("send") and found["instruction"]["payload"] == []
    (cause,) = found["causes"]
    assert cause["cause"] == "state field"
    assert cause["what"] == "SAMPLER_STATE of ps sampler, mag_mode_filter (dword 0, bits 19:17)"
    assert (cause["left"]["value"], cause["right"]["value"]) == ("LINEAR", "NEAREST")
    assert cause["left"]["address"] == 0x109100
    assert cause["left"]["set_by"].startswith("3DSTATE_PIPELINED_POINTERS at 0x00100114 (submission 0")


def test_a_changed_texel_is_found_behind_the_message_that_reads_it(tmp_path: Path,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    with gen4emu.open(TEXTURE) as opened:
        texture = next(s for s in opened.state(0).blocks("SURFACE_STATE") if "texture" in s.role)
        view = texture.body.view
        texels = opened.at(draw=0).read(view.surface_base_address, 4 * view.width)
    bad = with_change(TEXTURE, tmp_path / "bad.aub", texels, 0, 0x80)
    found = bisect(capsys, TEXTURE, bad)
    assert found["instruction"]["text"][0].startswith("send")
    (cause,) = found["causes"]
    assert cause["cause"] == "texel"
    assert cause["what"] == "level 0, element 0 of the surface of SURFACE_STATE of ps texture 1"


def test_a_changed_instruction_is_found_in_the_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = memory(GEARS, 2, Kernel, "ps")
    at = next(i for i in range(0, len(code), 8) if code[i] & 0x7F == 0x5A)  # PLN
    bad = with_change(GEARS, tmp_path / "bad.aub", code, at, 0x5A ^ 0x59)  # LINE
    found = bisect(capsys, GEARS, bad)
    assert found["draw"]["left"]["number"] == 2
    assert found["causes"][0]["cause"] == "code"
    assert found["causes"][0]["left"]["value"].startswith("pln(16)")
    assert found["causes"][0]["right"]["value"].startswith("line(16)")
    assert found["instruction"]["text"][0].startswith("pln(16)")


def test_a_changed_vertex_is_found_as_an_attribute(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vertices = memory(TEXTURE, 0, Data, "buffer 0")
    bad = with_change(TEXTURE, tmp_path / "bad.aub", vertices, 0x02, 0x40)  # an x of 1.0 becomes 1.5
    found = bisect(capsys, TEXTURE, bad)
    assert found["causes"][0]["cause"] == "attribute"
    assert found["causes"][0]["what"] == "byte 0 of VERTEX_DATA of buffer 0"


def test_a_changed_constant_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with gen4emu.open(GEARS) as opened:
        (node,) = (n for n in opened.state(2).nodes() if n.title == "CONSTANTS")
        constants = opened.at(draw=2).read(node.address, node.size)
    bad = with_change(GEARS, tmp_path / "bad.aub", constants, 0x02, 0x40)
    found = bisect(capsys, GEARS, bad)
    assert found["causes"][0]["cause"] == "constant"


def test_rounding_is_named_when_everything_else_is_equal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bisect", str(GEARS), "--options", "fp-rounding=rtz,rtne"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("2 draws the same\nframe 0, submission 0, draw 2 (3DPRIMITIVE TRILIST) differs")
    assert "\ncause: rounding: " in text


def test_ivy_bridge_is_compared_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = bisect(capsys, IVB, with_change(IVB, tmp_path / "bad.aub", memory(IVB, 4, Data, "buffer 0"), 2, 0x40))
    assert found["causes"][0]["cause"] == "attribute"
    assert found["pixels"]["count"] > 0


# --- structure --------------------------------------------------------------------------------------------------------
def test_draws_without_a_counterpart_are_listed_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    found = bisect(capsys, GEARS, TRACES / "gears-4frames-g4x.aub.xz")
    (extra,) = found["unmatched"]["right"]
    assert (extra["number"], extra["topology"], found["unmatched_count"]) == (5, "TRIFAN", 1)
    assert (found["draw"]["left"]["number"], found["draw"]["right"]["number"]) == (5, 6)  # after alignment


def test_traces_without_a_common_draw_cannot_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bisect", str(TEXTURE), str(TRACES / "mpeg2-g4x.aub.xz")]) == 2
    assert "not comparable: no draw of one side has a counterpart on the other" in capsys.readouterr().err


def test_a_hang_of_one_side_is_a_difference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repro, hang = tmp_path / "repro", str(tmp_path / "hang.aub")
    assert run(["export", str(TEXTURE), "--draw", "0", "-o", str(repro)]) == 0
    batch = repro / "batch.txt"
    batch.write_text("".join(line for line in batch.read_text().splitlines(keepends=True)
                             if not line.startswith("memory ")))
    assert run(["build", str(batch), "-o", hang]) == 0
    found = bisect(capsys, repro / "draw.aub.xz", hang)
    assert found["hangs"]["left"] is None and "a kernel could not be read" in found["hangs"]["right"]
    assert (found["same"], len(found["unmatched"]["left"])) == (0, 1)
    assert bisect(capsys, hang, hang, status=0)["hangs"]["left"] is not None
    assert run(["digest", hang, "-o", str(tmp_path / "hang.digests")]) == 3
    assert bisect(capsys, hang, "--against", tmp_path / "hang.digests", status=0)["same"] == 0


# --- files of digests -------------------------------------------------------------------------------------------------
def test_digests_stand_for_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = str(tmp_path / "gears.digests")
    assert run(["digest", str(GEARS), "-o", saved]) == 0
    rows = [json.loads(line) for line in Path(saved).read_text().splitlines()]
    assert (rows[0]["schema"], rows[0]["device"], rows[-1]) == ("gen4emu.digests/1", "gm45", {"draws": 6, "hang": None})
    assert bisect(capsys, GEARS, "--against", saved, status=0)["same"] == 6
    bad = with_change(GEARS, tmp_path / "bad.aub", block(GEARS, 2, "SF_VIEWPORT"), 2, 0x08)
    found = bisect(capsys, bad, "--against", saved)
    assert found["draw"]["right"]["number"] == 2 and "holds no pixels" in found["note"]


@pytest.mark.parametrize(("damage", "text"), [
    (lambda data: data[:data.rindex(b"{")], "is cut short: it has no last line"),
    (lambda data: data.replace(b"gen4emu.digests/1", b"gen4emu.digests/9"), "is not a file of digests"),
    (lambda data: data.replace(b'"number": 3', b'"number": "3"'), "line 5 is not a draw: number is '3'"),
    (lambda data: data[:-4], "line 8 is not an object of JSON"),
    (lambda data: b"", "line 1 is not an object of JSON"),
])
def test_a_damaged_file_of_digests_is_bad_input(damage: Any, text: str, tmp_path: Path,
                                                capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "gears.digests"
    assert run(["digest", str(GEARS), "-o", str(saved)]) == 0
    saved.write_bytes(damage(saved.read_bytes()))
    assert run(["bisect", str(GEARS), "--against", str(saved)]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "text"), [
    ([str(GEARS)], "give two traces, or one with exactly one of"),
    ([str(GEARS), str(GEARS), "--devices", "g45,gm45"], "give two traces, or one with exactly one of"),
    ([str(GEARS), "--devices", "g45"], "'g45' is not two devices"),
    ([str(GEARS), "--devices", "g45,ivb"], "ivb is too different: take two of g965, "),
    ([str(GEARS), "--devices", "g45,g4x5"], "unknown device 'g4x5'"),
    ([str(GEARS), "--options", "rounding=rtz,rtne"], "unknown option 'rounding' (known: fp-rounding, general"),
    ([str(GEARS), "--options", "general=on"], "'on' is not two of off, on, such as general=off,on"),
])
def test_usage_errors_say_what_would_be_right(arguments: list[str], text: str,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bisect", *arguments]) == 2
    assert text in " ".join(capsys.readouterr().err.split())
