"""Input that no verb can use: exit status 2, one line that says why, and nothing half-written."""

from __future__ import annotations

import lzma
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gen4emu.cli.main import run
from gen4emu.image.picture import replacing, save_pixels

TRIANGLE = Path(__file__).parents[2] / "traces" / "triangle-g4x.aub.xz"
READERS = ["info", "decode", "disasm", "asm", "convert"]
BAD = ["missing", "directory", "below a file", "empty", "loop", "cut", "no stream", "broken"]


@pytest.fixture
def bad(tmp_path: Path) -> dict[str, Path]:
    """Paths that cannot be read, by what is wrong with them."""
    paths = {name: tmp_path / f"{name}.in" for name in BAD}
    good = TRIANGLE.read_bytes()
    paths["directory"].mkdir()
    paths["empty"].touch()
    paths["below a file"] = paths["empty"] / "file"
    paths["loop"].symlink_to(paths["loop"])
    paths["cut"].write_bytes(good[:1000])
    paths["no stream"].write_bytes(good[:6])
    paths["broken"].write_bytes(good[:600] + bytes(100) + good[700:])
    return paths


def arguments(verb: str, source: Path | str, out: Path) -> list[str]:
    if verb == "info":
        return [verb, str(source)]
    return [verb, "-q", str(source), str(out)] if verb == "convert" else [verb, str(source), "-o", str(out)]


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("verb", READERS)
def test_input_that_cannot_be_read(verb: str, what: str, bad: dict[str, Path], tmp_path: Path,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(p.name for p in tmp_path.iterdir())
    assert run(arguments(verb, bad[what], tmp_path / "out.aub")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"gen4emu: {bad[what]}: ")
    after = sorted(p.name for p in tmp_path.iterdir())
    # All that was good of a trace that is damaged is shown.
    kept = ["out.aub"] if verb == "decode" and what in ("cut", "broken") else []
    assert after == sorted(before + kept)


@pytest.mark.parametrize("verb", ["info", "decode", "convert", "asm"])
def test_binary_junk(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "junk"
    path.write_bytes(bytes(range(0x80, 0x100)) * 8)
    assert run(arguments(verb, path, tmp_path / "out.aub")) == 2
    captured = capsys.readouterr()
    assert not captured.out
    (line,) = captured.err.splitlines()
    assert line.startswith(f"gen4emu: {path}:")
    assert [p.name for p in tmp_path.iterdir()] == ["junk"]


def test_junk_disassembles_to_itself(tmp_path: Path) -> None:
    """Every bit pattern is some code: what is no instruction comes out as data."""
    junk, text, again = tmp_path / "junk", tmp_path / "text", tmp_path / "again"
    junk.write_bytes(os.urandom(4001))
    assert run(["disasm", str(junk), "-o", str(text)]) == 0
    assert run(["asm", str(text), "-o", str(again)]) == 0
    assert again.read_bytes() == junk.read_bytes()


def test_cut_trace_shows_what_is_left_and_where_it_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cut.aub"
    whole = lzma.decompress(TRIANGLE.read_bytes())
    path.write_bytes(whole[:-2])
    for verb in ("info", "decode"):
        assert run([verb, str(path)]) == 2
        captured = capsys.readouterr()
        assert "Intel GM45" in captured.out
        assert captured.err.startswith(f"gen4emu: {path}: 0x") and "the file ends inside" in captured.err
    out = tmp_path / "out.aub"
    assert run(["convert", str(path), str(out)]) == 2
    assert not out.exists()
    assert run(["convert", "--partial", str(path), str(out)]) == 0
    assert run(["info", str(out)]) == 0


@pytest.mark.parametrize(("verb", "closed"), [*[(v, False) for v in READERS], ("decode", True), ("asm", True)])
def test_standard_input_without_a_byte(verb: str, closed: bool, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gen4emu.cli.main", *arguments(verb, "-", tmp_path / "out")]
    shell = ["bash", "-c", '"$@" <&-', "bash", *command] if closed else command
    done = subprocess.run(shell, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    reason = "standard input: is closed" if closed else "standard input: the file is empty"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gen4emu: {reason}\n")
    assert not list(tmp_path.iterdir())


def source_for(verb: str, directory: Path) -> Path:
    if verb in ("decode", "convert"):
        return TRIANGLE
    path = directory / "good.in"
    path.write_bytes(b"nop;\n" if verb == "asm" else bytes(16))
    return path


@pytest.mark.parametrize("verb", ["decode", "disasm", "asm", "convert"])
def test_output_that_cannot_be_written(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = source_for(verb, tmp_path)
    (tmp_path / "directory.aub").mkdir()
    for out in (tmp_path / "no" / "out.aub", tmp_path / "directory.aub", TRIANGLE / "out.aub"):
        assert run(arguments(verb, source, out)) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"gen4emu: {out}: cannot be written: ")
    assert {p.name for p in tmp_path.rglob("*")} <= {"directory.aub", "good.in"}


@pytest.mark.parametrize("verb", ["decode", "disasm", "asm", "convert"])
def test_pipes_and_links_are_not_replaced(verb: str, tmp_path: Path) -> None:
    """A file that takes the place of a pipe or of a device would be bad news for everyone else who uses it."""
    source = source_for(verb, tmp_path)
    whole, link, pipe = tmp_path / "whole.aub", tmp_path / "link.aub", tmp_path / "pipe"
    link.symlink_to(whole)
    assert run(arguments(verb, source, link)) == 0
    assert link.is_symlink() and whole.is_file()
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        assert run(arguments(verb, source, pipe)) == 0
        assert reader.communicate()[0] == whole.read_bytes()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_pictures_are_written_into_pipes_and_through_links(tmp_path: Path) -> None:
    whole, link, pipe = tmp_path / "whole", tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(whole)
    os.mkfifo(pipe)
    with replacing(link) as file:
        file.write(b"picture")
    assert link.is_symlink() and whole.read_bytes() == b"picture"
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with replacing(pipe) as file:
            file.write(b"picture")
        assert reader.communicate()[0] == b"picture"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("verb", ["info", "decode"])
@pytest.mark.parametrize(("where", "status", "text"), [
    (">/dev/full", 2, "gen4emu: standard output: No space left on device\n"),
    (">&-", 2, "gen4emu: standard output is closed\n"),
    ("| head -1 >&2", 0, f"file         {TRIANGLE} (aub)\n"),
])
def test_standard_output_that_takes_nothing(verb: str, where: str, status: int, text: str) -> None:
    command = f'set -o pipefail; {sys.executable} -m gen4emu.cli.main {verb} "{TRIANGLE}" {where}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    expected = f"{TRIANGLE}: aub, Intel GM45 (0x2a42), glscenes\n" if (verb, status) == ("decode", 0) else text
    assert (done.returncode, done.stdout, done.stderr) == (status, "", expected)


def test_code_may_be_compressed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "code.bin.xz"
    path.write_bytes(lzma.compress(bytes.fromhex("4020 8000 bd77 c020 c000 8d00 0001 8d00".replace(" ", ""))))
    assert run(["disasm", str(path)]) == 0
    assert "add(16)" in capsys.readouterr().out


def test_a_pipe_is_replayed_and_debugged_like_a_file(tmp_path: Path) -> None:
    for name, source in (("pipe", "-"), ("file", str(TRIANGLE))):
        command = [sys.executable, "-m", "gen4emu", "replay", source, "-o", str(tmp_path / name)]
        done = subprocess.run(command, input=TRIANGLE.read_bytes(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    pictures = sorted(p.name for p in (tmp_path / "file").glob("*.png"))
    assert len(pictures) == 2
    assert pictures == sorted(p.name for p in (tmp_path / "pipe").glob("*.png"))
    assert all((tmp_path / "pipe" / p).read_bytes() == (tmp_path / "file" / p).read_bytes() for p in pictures)
    command = [sys.executable, "-m", "gen4emu", "debug", "-", "-c", "draw 1", "-c", "quit"]
    done = subprocess.run(command, input=TRIANGLE.read_bytes(), capture_output=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith(b"draw 1: 3DPRIMITIVE")


def test_an_error_of_a_full_disk_names_the_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "a.png"
    save_pixels(picture, np.zeros((40, 40, 4), np.uint8))
    assert run(["diff", str(picture), str(picture), "--heatmap", "/dev/full"]) == 2
    assert capsys.readouterr().err == "gen4emu: /dev/full: No space left on device\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_disk_that_fills_up_is_reported_whatever_python_buffers(unbuffered: str, tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the first write is a short one."""
    code = ("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); "
            "from gen4emu.cli.main import main; main()")
    with (tmp_path / "text").open("wb") as file:
        done = subprocess.run([sys.executable, "-c", code, "decode", str(TRIANGLE)], stdout=file, check=False,
                              stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stderr) == (2, "gen4emu: standard output: File too large\n")


def test_a_capture_that_cannot_be_written_is_refused_before_the_program_runs(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, ran = tmp_path / "no" / "app.aub", tmp_path / "ran"
    assert run(["capture", "-o", str(out), "--", "touch", str(ran)]) == 2
    assert capsys.readouterr().err == f"gen4emu: {out}: cannot be written: No such file or directory\n"
    assert not ran.exists()
