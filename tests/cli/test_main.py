"""The command line: verbs, options, exit statuses, and what goes to which stream."""

from __future__ import annotations

import io
import json
import lzma
import os
import pty
import re
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import click
import pytest

import gen4emu
from gen4emu._native import lib
from gen4emu.cli.main import VERBS, cli, run
from gen4emu.cli.terminal import Progress, duration
from gen4emu.errors import HangError
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace.events import Engine
from gen4emu.trace.write_aub import AubWriter

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


@pytest.mark.parametrize("arguments", [["--version", "-v"], ["-vV"]], ids=" ".join)
def test_version_names_the_back_end(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    names = ("interpreted", "AVX2 machine code", "AVX-512 machine code")
    assert run(arguments) == 0
    assert f"kernels: {names[lib.g4_variant_current()]}\n" in capsys.readouterr().out


def test_help_lists_every_verb_and_every_verb_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    for verb in VERBS:
        assert f"\n  {verb} " in out
        assert run([verb, "--help"]) == 0
        assert re.search(rf"gen4emu {verb}\b", capsys.readouterr().out.split("Example")[1])


def test_numpy_starts_no_threads_and_the_environment_stays() -> None:
    code = ("import click, os, sys, gen4emu.cli.main as m\nbefore = dict(os.environ)\n"
            "assert m.cli.get_command(click.Context(m.cli), 'replay') and 'numpy' in sys.modules\n"
            "print(len(os.listdir('/proc/self/task')), dict(os.environ) == before)")
    environment = {name: text for name, text in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1 True\n"


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
                                               (OSError(5, "Input/output error", "x"), 2), (MemoryError(), 2)])
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


def test_decode_in_color(capsys: pytest.CaptureFixture[str]) -> None:
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
    assert run(["decode", "--submissions", "1", "--headers", str(path)]) == 0
    assert [line for line in capsys.readouterr().out.split("\n") if line.startswith("submission")] == [
        "submission 1: render ring at 0x00001000, 8 bytes"]
    assert run(["decode", "--submission", "2", str(path)]) == 2
    assert capsys.readouterr().err == f"gen4emu: {path}: no submission 2: it has 2 submissions, 0 to 1\n"


def test_draws_are_numbered_through_the_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.aub"
    path.write_bytes(2 * lzma.decompress(Path(TRIANGLE).read_bytes()))
    assert run(["decode", "--submissions", "1", "--only", "3DPRIMITIVE", "--no-follow", str(path)]) == 0
    drawn = [line for line in capsys.readouterr().out.splitlines() if "3DPRIMITIVE" in line]
    assert [line.rsplit("  ", 1)[1] for line in drawn] == ["draw 3", "draw 4", "draw 5"]
    assert run(["decode", "--draws", "4", "--headers", "--no-offsets", str(path)]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "PRIMITIVE" in line] == [
        drawn[1].split("  ", 2)[2]]


@pytest.mark.parametrize(("options", "text"), [
    (["--only", "3DPRIMITVE"], "unknown command or block '3DPRIMITVE'; did you mean 3DPRIMITIVE?"),
    (["--only", "3DPRIMITIVE,surface_stat"], "unknown command or block 'surface_stat'; did you mean SURFACE_STATE?"),
    (["--only", "frob*"], "unknown command or block 'frob*'"),
    (["--only", "XY_*"], "no XY_* in this trace"),
    (["--only", "MI_STORE_REGISTER_MEM"], "no MI_STORE_REGISTER_MEM in this trace"),
    (["--at", "0x7000"], "nothing at 0x00007000 or pointing there in this trace"),
    (["--only", "VS_STATE", "--at", "0x7000"], "no VS_STATE at 0x00007000 or pointing there in this trace"),
])
def test_an_empty_selection_is_an_error(options: list[str], text: str,
                                                  capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", *options, TRIANGLE]) == 2
    assert capsys.readouterr().err == f"gen4emu: {TRIANGLE}: {text}\n"


def test_a_block_where_nothing_was_written_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", TRIANGLE, "--at", "0x7000", "--as", "SURFACE_STATE"]) == 2
    assert capsys.readouterr().err == f"gen4emu: {TRIANGLE}: nothing in this trace wrote 0x00007000\n"
    assert run(["decode", TRIANGLE, "--at", "0x7000", "--as", "SURFACE_STAT"]) == 2
    assert capsys.readouterr().err == "gen4emu: unknown block 'SURFACE_STAT'; did you mean SURFACE_STATE?\n"


def test_raw_batch(raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", raw, "--raw", "--base", "0x12300000", "--device", "g45"]) == 0
    captured = capsys.readouterr()
    assert "0x1230000c  69040000  PIPELINE_SELECT" in captured.out
    assert "!! reserved-bits" in captured.out
    assert "1 problem found" in captured.err


def test_raw_batch_needs_a_device(raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decode", raw, "--raw"]) == 2
    assert "--device" in capsys.readouterr().err


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
    assert "holds        no marked frames, 1 submission, 45 commands in 904 bytes" in out
    assert "draws        3 draws of 9 vertices, 0 blits, 0 media objects" in out
    assert "  number  frame  ring    at          bytes  commands  draws  blits  media objects\n" in out
    assert "  from        to          bytes\n" in out  # nothing in this trace names its memory
    assert "  0x00154000  depth buffer   2D    D24_UNORM_S8_UINT  256x256   1024  Y" in out


def test_info_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--json", TRIANGLE]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "gen4emu.info/2"
    assert found["counts"] == {"submissions": 1, "frames": None, "draws": 3, "blits": 0, "media_objects": 0}
    assert found["commands"]["3DPRIMITIVE"] == 3
    assert {"address": 0x00100000, "bytes": 4096, "kind": ""} in found["memory"]
    assert len(found["kernels"]) == 7


def test_info_counts_media_objects_apart_from_draws(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--json", str(TRACES / "mpeg2-g4x.aub.xz")]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert counts["draws"] == 0 and counts["media_objects"] > 0


def test_info_in_brief_shows_20_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.aub"
    path.write_bytes(25 * lzma.decompress(Path(CLEAR).read_bytes()))
    assert run(["info", "--brief", str(path)]) == 0
    out = capsys.readouterr().out
    assert "\n      19     19  render" in out and "\n      20     20  render" not in out
    assert "  ... and 5 more\n" in out


def test_info_shows_the_frame_of_each_submission(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "frames.aub"
    ring = struct.pack("<2I", 0, 0)
    with AubWriter(path, BY_NAME["g45"]) as writer:
        for frame in range(3):
            for _ in range(2):
                writer.submit(Engine.RENDER, ring, 0x1000)
            writer.frame_boundary(f"frame {frame}")
    assert run(["info", "--json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"]["frames"] == 3
    assert [s["frame"] for s in found["submissions"]] == [0, 0, 1, 1, 2, 2]


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
def test_the_pager_may_exit_early(pager: str, lines: int | None) -> None:
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


# --- convert ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["copy.xyz", "copy", "copy.xz", "copy.aub.bz2"])
def test_convert_refuses_suffixes_that_it_does_not_know(name: str, tmp_path: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", TRIANGLE, str(tmp_path / name)]) == 2
    assert "(known: .aub and .g4c, each also with .xz, .gz, .zst)" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert run(["convert", "-q", "--to", "g4c", TRIANGLE, str(tmp_path / name)]) == 0


def test_convert_does_not_replace_its_source_unless_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, link = tmp_path / "a.aub", tmp_path / "b.aub"
    source.write_bytes(lzma.decompress(Path(TRIANGLE).read_bytes()))
    link.symlink_to(source)
    before = source.read_bytes()
    for destination in (source, link):
        assert run(["convert", str(source), str(destination)]) == 2
        assert capsys.readouterr().err == (f"gen4emu: {destination}: is SOURCE itself: use another name, or --force to "
                                           "replace it\n")
        assert source.read_bytes() == before
    assert run(["convert", "-q", "--force", str(source), str(source)]) == 0
    assert run(["info", str(source)]) == 0


def test_convert_reports_the_saved_bytes_unless_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, copy = tmp_path / "a.aub", tmp_path / "b.g4c"
    source.write_bytes(lzma.decompress(Path(TRIANGLE).read_bytes()))
    assert run(["convert", str(source), str(copy)]) == 0
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err.startswith(f"{source}: ") and f", {copy}: " in captured.err and " % saved)" in captured.err
    assert "1 submission, " in captured.err
    for arguments in (["convert", "-q"], ["-q", "convert"]):
        assert run([*arguments, str(source), str(copy)]) == 0
        assert not capsys.readouterr().err


# --- progress ---------------------------------------------------------------------------------------------------------
def progress(monkeypatch: pytest.MonkeyPatch, stdout: bool, stderr: bool, share: float = 0.5, **options: bool) -> str:
    """The progress line after 10 seconds of work."""
    now = [100.0]
    monkeypatch.setattr("gen4emu.cli.terminal.time.monotonic", lambda: now[0])
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: stderr, raising=False)
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: stdout, raising=False)
    line = Progress("reading x", lambda: share, **options)
    for now[0] in (100.5, 110.0):
        line.tick(lambda: "7 draws")
    return shown.getvalue()


def test_progress_shows_the_share_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = "\r\x1b[Kreading x: 50 %, 0:10 left, 7 draws"
    assert progress(monkeypatch, stdout=True, stderr=True) == expected
    assert progress(monkeypatch, stdout=False, stderr=True, scrolls=True) == expected
    assert progress(monkeypatch, stdout=True, stderr=True, scrolls=True) == ""
    assert progress(monkeypatch, stdout=False, stderr=False) == ""


def test_progress_without_a_terminal_needs_verbose(monkeypatch: pytest.MonkeyPatch) -> None:
    with click.Context(cli) as context:
        context.meta["gen4emu.verbose"] = True
        assert progress(monkeypatch, stdout=False, stderr=False) == "reading x: 50 %, 0:10 left, 7 draws\n"
        context.meta["gen4emu.quiet"] = True
        assert progress(monkeypatch, stdout=False, stderr=True) == ""


def test_progress_estimates_no_end_once_the_whole_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress(monkeypatch, stdout=True, stderr=True, share=1.0) == "\r\x1b[Kreading x: 99 %, 7 draws"


def test_durations() -> None:
    assert [duration(s) for s in (0, 7.4, 754, 3723)] == ["0:00", "0:07", "12:34", "1:02:03"]
