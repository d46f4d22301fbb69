"""Code inside a confined process tries to break out of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gen4emu._native import lib

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "traces/triangle-g4x.aub.xz"

needs_sandbox = pytest.mark.skipif(not lib.g4_sandbox_available(), reason="the kernel has no Landlock or seccomp")

# Runs in place of the replay, after everything that precedes it in the command.
HOOK = """
import ctypes, mmap, os, signal, socket, subprocess, sys, threading
import gen4emu.cli.main, gen4emu.cli.replay
from gen4emu.ownership import own_process

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p

def call(function, *arguments):
    if function(*arguments) in (-1, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def attempt(*arguments, **options):
    {attempt}

def hook(*arguments, **options):
    try:
        attempt()
    except BaseException as e:
        print(type(e).__name__)
    else:
        print("done")
    sys.stdout.flush()
    os._exit(0)

gen4emu.cli.replay.Replay = hook
own_process()
sys.exit(gen4emu.cli.main.run(sys.argv[1:]))
"""

DENIED = {
    "read a file": "open('{outside}').read()",
    "list a directory": "os.listdir('{folder}')",
    "write a file": "open('{outside}', 'w')",
    "create a file": "open('{folder}/new', 'w')",
    "remove a file": "os.unlink('{outside}')",
    "rename a file": "os.rename('{outside}', '{folder}/other')",
    "change a mode": "os.chmod('{outside}', 0o777)",
    "truncate a file": "os.truncate('{outside}', 0)",
    "make a link": "os.symlink('/', '{folder}/link')",
    "read memory of another process": "open('/proc/1/environ').read()",
    "make a socket": "socket.socket()",
    "make a local socket": "socket.socket(socket.AF_UNIX)",
    "make a pair of sockets": "socket.socketpair()",
    "execute": "os.execv('/bin/true', ['true'])",
    "start a program": "subprocess.run(['/bin/true'])",
    "fork": "os.fork()",
    "trace a process": "call(libc.ptrace, 16, os.getppid(), 0, 0)",
    "signal another process": "os.kill(os.getppid(), 0)",
    "make a namespace": "call(libc.unshare, 0x10000000)",
    "map writable code": "call(libc.mmap, None, ctypes.c_size_t(4096), 7, 0x22, -1, ctypes.c_size_t(0))",
    "type into the terminal": "__import__('fcntl').ioctl(0, 0x5412, b'x')",
    "change limits of another process":
        "__import__('resource').prlimit(os.getppid(), __import__('resource').RLIMIT_NOFILE)",
    "make a call of another architecture's numbers": "call(libc.syscall, 0x40000000 + 39)",
}
ALLOWED = {
    "start a thread": "t = threading.Thread(target=int); t.start(); t.join()",
    "write a picture": "open('{output}/picture', 'w').write('x')",
    "replace a picture": "open('{output}/a', 'w'); os.replace('{output}/a', '{output}/b')",
    "import a module": "import sqlite3, wave",
    "make a temporary file": "import tempfile; tempfile.TemporaryFile().write(b'x')",
    "map code": "call(libc.mmap, None, ctypes.c_size_t(4096), 5, 0x22, -1, ctypes.c_size_t(0))",
    "signal itself": "os.kill(os.getpid(), 0)",
}


def attempt(text: str, tmp_path: Path, mode: str = "on") -> str:
    """What happens to the statements in a confined replay: the exception's name, or done."""
    folder, output = tmp_path / "folder", tmp_path / "output"
    folder.mkdir()
    outside = folder / "outside"
    outside.write_text("secret")
    statements = text.format(outside=outside, folder=folder, output=output)
    done = subprocess.run([sys.executable, "-c", HOOK.replace("{attempt}", statements), "replay", str(TRACE), "-o",
                           str(output), "--sandbox", mode], capture_output=True, text=True, check=False, cwd=ROOT,
                          stdin=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    if mode == "on":
        assert outside.read_text() == "secret"
        assert [path.name for path in folder.iterdir()] == ["outside"]
    return done.stdout


@needs_sandbox
@pytest.mark.parametrize("name", DENIED)
def test_a_confined_replay_cannot(name: str, tmp_path: Path) -> None:
    assert attempt(DENIED[name], tmp_path) in ("PermissionError\n", "OSError\n")


@needs_sandbox
@pytest.mark.parametrize("name", ALLOWED)
def test_a_confined_replay_can(name: str, tmp_path: Path) -> None:
    assert attempt(ALLOWED[name], tmp_path) == "done\n"


@pytest.mark.parametrize("name", ["read a file", "make a socket", "start a program"])
def test_a_replay_without_confinement_can(name: str, tmp_path: Path) -> None:
    assert attempt(DENIED[name], tmp_path, "off") == "done\n"


@needs_sandbox
def test_a_confined_replay_writes_the_same_pictures(tmp_path: Path) -> None:
    pictures = []
    for mode in ("on", "off"):
        subprocess.run([sys.executable, "-m", "gen4emu", "replay", "-q", str(TRACE), "-o", str(tmp_path / mode),
                        "--sandbox", mode], check=True, cwd=ROOT)
        pictures.append({path.name: path.read_bytes() for path in (tmp_path / mode).iterdir()})
    assert pictures[0] == pictures[1] and len(pictures[0]) == 3


@needs_sandbox
def test_a_trace_from_a_pipe_is_replayed_confined(tmp_path: Path) -> None:
    with TRACE.open("rb") as file:
        subprocess.run([sys.executable, "-m", "gen4emu", "replay", "-q", "-", "-o", str(tmp_path / "out"), "--sandbox",
                        "on"], check=True, cwd=ROOT, stdin=file, env={"TMPDIR": str(tmp_path), "PATH": ""})
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@needs_sandbox
def test_a_bad_trace_leaves_no_directory(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "gen4emu", "replay", str(tmp_path / "missing"), "-o",
                           str(tmp_path / "a/b"), "--sandbox", "on"], check=False, cwd=ROOT, capture_output=True)
    assert done.returncode == 2
    assert not list(tmp_path.iterdir())


def test_a_program_that_calls_the_command_line_is_not_confined(capsys: pytest.CaptureFixture[str]) -> None:
    from gen4emu.cli.main import run

    assert run(["replay", str(TRACE), "--no-pictures", "--sandbox", "on"]) == 2
    assert capsys.readouterr().err == "gen4emu: --sandbox on: only a process of gen4emu itself can be confined\n"
