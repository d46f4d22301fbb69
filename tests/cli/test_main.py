"""The command line: verbs, options, exit statuses, and what goes to which stream."""

from __future__ import annotations

import json
import lzma
import os
import pty
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import gen4emu
from gen4emu.cli.main import VERBS, run
from gen4emu.errors import HangError

TRACES = Path(__file__).parents[2] / "traces"
TRIANGLE = str(TRACES / "triangle-g4x.aub.xz")
LONG = str(TRACES / "blend-g4x.aub.xz")
CLEAR = str(TRACES / "clear-g4x.aub.xz")


@pytest.fixture
def raw(tmp_path: Path) -> str:
    """A batch with one reserved bit set."""
    path = tmp_path / "batch.bin"
    path.write_bytes(struct.pack("<6I", 0x02000000, 0x79060000, 0x00100000, 0x69040000, 0x05000000, 0))
    return str(path)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert gen4emu.__version__ in capsys.readouterr().out


def test_help_lists_every_verb_and_every_verb_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    for verb in VERBS:
        assert f"\n  {verb} " in out
        assert run([verb, "--help"]) == 0
        assert f"gen4emu {verb} " in capsys.readouterr().out.split("Example")[1]


def test_verbs_are_imported_when_used() -> None:
    code = "import sys, gen4emu.cli.main as m; m.run(['--help']); print('gen4emu.decode' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.endswith("False\n")


@pytest.mark.parametrize("arguments", [
    ["nonsense"], ["decode", "--nonsense", TRIANGLE], ["decode", "--device", "g99", TRIANGLE],
    ["decode", "--at", "xyz", TRIANGLE], ["decode", "--as", "VS_STATE", TRIANGLE], ["decode", "/no/such/file"],
    ["info", "/no/such/file"], ["decode", "--at", "0", "--as", "NO_SUCH_STATE", TRIANGLE], ["decode", __file__],
])
def test_bad_usage_and_bad_input_exit_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err and not captured.out


def test_errors_name_the_program_and_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    run(["decode", "/no/such/file"])
    assert capsys.readouterr().err.startswith("gen4emu: /no/such/file: ")


@pytest.mark.parametrize(("error", "status"), [(HangError("stuck"), 3), (KeyboardInterrupt(), 130),
                                               (OSError(5, "Input/output error", "x"), 2)])
def test_exceptions_become_statuses(error: BaseException, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("gen4emu.trace.open", fail)
    assert run(["decode", TRIANGLE]) == status


@pytest.mark.parametrize("options", ["--max-vbo-lines -1", "--json --repeat", "--headers"])
def test_closed_pipe_is_quiet(options: str) -> None:
    """Whether it breaks in the midst of a long output or when the last of a short one is flushed."""
    command = f"{sys.executable} -m gen4emu.cli.main decode {LONG} {options} | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


def test_decode_to_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", TRIANGLE]) == 0
    captured = capsys.readouterr()
    assert "0x00100268  7b001004  3DPRIMITIVE" in captured.out
    assert "\x1b[" not in captured.out
    assert captured.err == ""


def test_decode_to_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", "--json", TRIANGLE]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "gen4emu.decode/1"
    assert found["device"]["name"] == "gm45"
    assert found["summary"]["errors"] == 0


def test_decode_in_colour(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", "--color", "always", CLEAR]) == 0
    assert "\x1b[1;36m3DPRIMITIVE\x1b[0m" in capsys.readouterr().out


def test_decode_options_choose_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", "--only", "3dprimitive", "--headers", TRIANGLE]) == 0
    lines = [line for line in capsys.readouterr().out.split("\n") if line.startswith("0x")]
    assert len(lines) == 3 and all("3DPRIMITIVE" in line for line in lines)
    assert run(["decode", "--at", "0x00109260", "--as", "SURFACE_STATE", TRIANGLE]) == 0
    assert "height=256, width=256" in capsys.readouterr().out
    assert run(["decode", "--layout", "libdrm", "--no-follow", TRIANGLE]) == 0
    assert "0x00100268:      0x7b001004: 3DPRIMITIVE" in capsys.readouterr().out


def test_one_of_several_submissions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.aub"
    path.write_bytes(2 * lzma.decompress(Path(CLEAR).read_bytes()))
    assert run(["decode", "--submission", "2", "--headers", str(path)]) == 0
    assert [line for line in capsys.readouterr().out.split("\n") if line.startswith("submission")] == [
        "submission 2: render ring at 0x00001000, 8 bytes"]
    assert run(["decode", "--submission", "3", str(path)]) == 2
    assert capsys.readouterr().err == f"gen4emu: {path}: there is no submission 3, only 2\n"


@pytest.mark.parametrize(("options", "text"), [
    (["--only", "3DPRIMITVE"], "nothing is called 3DPRIMITVE"),
    (["--at", "0x7000"], "nothing is at 0x00007000 or points there"),
    (["--only", "VS_STATE", "--at", "0x7000"], "nothing is called VS_STATE and is at 0x00007000 or points there"),
])
def test_a_choice_that_leaves_nothing(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", *options, TRIANGLE]) == 0
    assert capsys.readouterr().err == f"gen4emu: {TRIANGLE}: {text}\n"


def test_raw_batch(raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", raw, "--raw", "--base", "0x12300000", "--device", "g45"]) == 0
    captured = capsys.readouterr()
    assert "0x1230000c  69040000  PIPELINE_SELECT" in captured.out
    assert "!! reserved-bits" in captured.out
    assert "1 problem found" in captured.err


def test_raw_batch_needs_a_device(raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", raw, "--raw"]) == 2
    assert "--device" in capsys.readouterr().err


def test_lint_lists_findings_and_exits_with_1(raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", "--lint", raw, "--raw", "--base", "0x1000", "--device", "g45"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"{raw}: 0x00001004: 3DSTATE_POLY_STIPPLE_OFFSET: dword 1 bits 31:13: reserved bits are 0x80, "
                     "must be zero (reserved-bits, submission 1)"]


def test_lint_of_a_clean_batch_exits_with_0(tmp_path: Path) -> None:
    path = tmp_path / "clean.bin"
    path.write_bytes(struct.pack("<2I", 0x02000000, 0x05000000))
    assert run(["decode", "--lint", str(path), "--raw", "--device", "g45"]) == 0


def test_output_file_is_whole_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.txt"
    assert run(["decode", TRIANGLE, "-o", str(out)]) == 0
    assert out.read_text().endswith("224 dwords\n\n")
    monkeypatch.setattr("gen4emu.decode.text.TextRenderer.command", _interrupted)
    other = tmp_path / "other.txt"
    assert run(["decode", TRIANGLE, "-o", str(other)]) == 130
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.txt"]


def _interrupted(*_: object) -> str:
    raise KeyboardInterrupt


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", TRIANGLE]) == 0
    out = capsys.readouterr().out
    assert "device       Intel GM45 (0x2a42)" in out
    assert "holds        1 submission, 45 commands in 904 bytes, 3 draws of 9 vertices" in out
    assert "  0x00154000  depth buffer   2D    D24_UNORM_S8_UINT  256x256   1024  Y" in out


def test_info_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--json", TRIANGLE]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "gen4emu.info/1"
    assert found["commands"]["3DPRIMITIVE"] == 3
    assert {"address": 0x00100000, "bytes": 4096, "kind": ""} in found["memory"]
    assert len(found["kernels"]) == 7


def test_convert_keeps_what_decode_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.aub.gz"
    assert run(["convert", TRIANGLE, str(copy)]) == 0
    assert copy.read_bytes()[:2] == b"\x1f\x8b"
    capsys.readouterr()
    run(["decode", TRIANGLE])
    original = capsys.readouterr().out.split("\n", 1)[1]
    run(["decode", str(copy)])
    assert capsys.readouterr().out.split("\n", 1)[1] == original


def test_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    with open(TRIANGLE, "rb") as file:
        done = subprocess.run([sys.executable, "-m", "gen4emu.cli.main", "decode", "--headers", "-"], stdin=file,
                              capture_output=True, text=True, check=True)
    assert "MI_BATCH_BUFFER_END" in done.stdout


@pytest.mark.parametrize(("pager", "lines"), [("head -n 1", 1), ("cat", None), ("", None)])
def test_pager_on_a_terminal_may_leave_early(pager: str, lines: int | None) -> None:
    command = [sys.executable, "-m", "gen4emu.cli.main", "decode", TRIANGLE]
    leader, follower = pty.openpty()
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower,
                          env=os.environ | {"GEN4EMU_PAGER": pager, "TERM": "xterm"}) as process:
        os.close(follower)
        shown = bytearray()
        with open(leader, "rb", buffering=0) as terminal, suppress(OSError):  # EIO when the other side is closed
            while part := terminal.read(4096):
                shown += part
        assert process.wait() == 0
    text = shown.decode()
    assert text.startswith(f"\x1b[1m{TRIANGLE}\x1b[0m: aub")
    assert text.count("\n") == lines if lines is not None else "MI_BATCH_BUFFER_END" in text
