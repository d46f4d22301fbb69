"""Code inside confined processes tries to break out of them."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from gen4emu._native import lib
from gen4emu.cli import main
from gen4emu.report.processes import processors
from tests.harness.joined import join

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "traces/triangle-g4x.aub.xz"
OTHER = ROOT / "traces/texture-g4x.aub.xz"

needs_sandbox = pytest.mark.skipif(not lib.g4_sandbox_available(), reason="the kernel has no Landlock or seccomp")

COMPARISON = "gen4emu.report.comparison:Recorder"
# Runs in place of a function of the verb, after everything that precedes it.
HOOK = """
import contextlib, ctypes, importlib, json, mmap, os, signal, socket, subprocess, sys, threading, time
import gen4emu.cli.main
from gen4emu.ownership import own_process

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
place, attempts = sys.argv.pop(1), json.loads(sys.argv.pop(1))

def call(function, *arguments):
    if function(*arguments) in (-1, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def hook(*arguments, **options):
    ends = {}
    for name, statements in attempts.items():
        try:
            exec(statements)
        except BaseException as e:
            ends[name] = type(e).__name__
        else:
            ends[name] = "done"
    os.write(2, f"ENDS{json.dumps(ends)}\\n".encode())
    # A copy of this process would end with it, before its own attempts.  Those of minimise wait for orders until then.
    end = time.monotonic() + (0 if place.endswith((":open_trace", ":Trial.__call__")) else 30)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) == (0, 0) and time.monotonic() < end:
            time.sleep(0.01)
    os._exit(0)

module, _, name = place.partition(":")
*parents, name = name.split(".")
owner = importlib.import_module(module)
for parent in parents:
    owner = getattr(owner, parent)
setattr(owner, name, hook)
own_process()
sys.exit(gen4emu.cli.main.run(sys.argv[1:]))
"""

# Arguments, and the function that is replaced.
VERBS = {
    "replay": (["replay", str(TRACE), "-o", "output"], "gen4emu.cli.replay:Replay"),
    "replay with limits": (["replay", str(TRACE), "-o", "output", "--timeout", "300", "--memory", "4G"],
                           "gen4emu.cli.replay:Replay"),
    "info": (["info", str(TRACE)], "gen4emu.cli.info:traces.open"),
    "info --draws": (["info", str(TRACE), "--draws"], "gen4emu.cli.draw_list:open_trace"),
    "decode": (["decode", str(TRACE)], "gen4emu.cli.decode:traces.open"),
    "lint": (["lint", str(TRACE)], "gen4emu.cli.lint:traces.open"),
    "kernels": (["kernels", str(TRACE), "-o", "output"], "gen4emu.cli.kernels:open_trace"),
    "state": (["state", str(TRACE), "--draw", "0"], "gen4emu.cli.state:Trace"),
    "digest": (["digest", str(TRACE)], "gen4emu.cli.digest:open_trace"),
    "bisect": (["bisect", str(TRACE), str(OTHER)], "gen4emu.cli.bisect:open_trace"),
    "convert": (["convert", str(TRACE), "output/x.g4c"], "gen4emu.cli.convert:traces.open"),
    "index": (["index", str(TRACE)], "gen4emu.cli.index:Replay"),
    "trim": (["trim", str(TRACE), "--draws", "1", "-o", "output/x.aub"], "gen4emu.cli.trim:open_trace"),
    "minimise": (["minimise", str(TRACE), "--pixel", "9,9", "-o", "output/x.aub"], "gen4emu.cli.minimise:open_trace"),
    "minimise -j": (["minimise", str(TRACE), "--pixel", "9,9", "-o", "output/x.aub", "-j", "2"],
                    "gen4emu.cli.minimise:open_trace"),
    "candidates of minimise -j": (["minimise", str(TRACE), "--pixel", "9,9", "-o", "output/x.aub", "-j", "2"],
                                  "gen4emu.repro.minimise:Trial.__call__"),
    "minimise -- COMMAND": (["minimise", str(TRACE), "-o", "output/x.aub", "--", "true"],
                            "gen4emu.cli.minimise:open_trace"),
    "candidates of minimise -j -- COMMAND": (["minimise", str(TRACE), "-o", "output/x.aub", "-j", "2", "--", "true"],
                                             "gen4emu.repro.minimise:Trial.__call__"),
    "export": (["export", str(TRACE), "--draw", "1", "-o", "output/x"], "gen4emu.cli.export:open_trace"),
    "build": (["build", "batch/batch.txt", "-o", "output/x.aub"], "gen4emu.cli.build:parse"),
    "diff": (["diff", "picture.png", "picture.png"], "gen4emu.cli.diff:pair"),
    "debug": (["debug", str(TRACE), "-c", "draws"], "gen4emu.cli.debug:Shell"),
    "debug --web": (["debug", str(TRACE), "--web"], "gen4emu.debugger_web.app:WebDebugger.start"),
    "the shell of debug --web": (["debug", str(TRACE), "--web"], "gen4emu.debugger_web.shell_worker:_Shell"),
    "report": (["report", str(TRACE), "-o", "output"], "gen4emu.cli.report:Recorder"),
    "report that compares": (["report", str(TRACE), "--against", str(OTHER), "-o", "output"],
                             COMPARISON),
    "report that compares alone": (["report", str(TRACE), "--against", str(OTHER), "-o", "output", "-j", "1"],
                                   COMPARISON),
    "report of several traces": (["report", str(TRACE), str(OTHER), "-o", "output", "-j", "1"],
                                 "gen4emu.cli.report:Recorder"),
    "check": (["check", "traces", "-k", "=triangle", "--results", "output"], "gen4emu.check.worker:run_case"),
    "run": (["run", "--", "true"], "gen4emu.live.server:Server.start"),
    "run --serve": (["run", "--serve", "live"], "gen4emu.live.server:Server.start"),
    "run --web": (["run", "--web", "--", "true"], "gen4emu.live.server:Server.start"),
    "run --window": (["run", "--window", "--", "true"], "gen4emu.live.server:Server.start"),
    "capture": (["capture", "-o", "output/x.g4c", "--", "true"], "gen4emu.live.server:Server.start"),
}
# Those that read an index, which a process that was taken over may have written.
INDEX = "gen4emu.device.bookmark_file:Signed.contents"
VERBS |= {
    "replay from an index": (["replay", "app.g4c", "--frames", "1", "-o", "output"], INDEX),
    "replay --processes": (["replay", "app.g4c", "--processes", "2", "-o", "output"], INDEX),
    "debug from an index": (["debug", "app.g4c", "-c", "draw 3"], INDEX),
    "info from an index": (["info", "app.g4c", "--draws", "3"], INDEX),
    "state from an index": (["state", "app.g4c", "--draw", "3"], INDEX),
    "export from an index": (["export", "app.g4c", "--draw", "3", "-o", "output/x"], INDEX),
    "report from an index": (["report", "app.g4c", "-o", "output", "--frames", "1"], INDEX),
    "reports from indexes": (["report", "app.g4c", "./app.g4c", "-o", "output", "--frames", "1"], INDEX),
    "report that compares from indexes": (["report", "app.g4c", "--against", "./app.g4c", "-o", "output", "--frames",
                                           "1"], INDEX),
}
# Verbs that are not confined, and why.
UNCONFINED = {
    "asm": "reads text, which nothing executes", "disasm": "reads code, which nothing executes",
    "results": "reads files of results, in Python alone", "selftest": "replays traces of its own installation",
    "suite": "`traces` is check, the others use the server of run",
    "completion": "reads no files", "devices": "reads no files", "man": "reads no files",
}
PROCESSES = {"report of several traces": 2, "report that compares": min(2, processors()), "reports from indexes": 2,
             "report that compares from indexes": min(2, processors())}  # that are confined
SERVERS = ("run", "run --serve", "run --web", "run --window", "capture")

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
    "move another process to a processor": "os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0))",
    "change its own limits": "call(libc.setrlimit, 7, (ctypes.c_uint64 * 2)(64, 64))",
    "make a call of another architecture's numbers": "call(libc.syscall, 0x40000000 + 39)",
}
ALLOWED = {
    "start a thread": "t = threading.Thread(target=int); t.start(); t.join()",
    "write a picture": "open('{output}/picture', 'w').write('x')",
    "replace a picture": "open('{output}/a', 'w'); os.replace('{output}/a', '{output}/b')",
    "import a module": "import sqlite3, wave",
    "make a temporary file": "import tempfile; tempfile.TemporaryFile().write(b'x')",
    "map code": "call(libc.mmap, None, ctypes.c_size_t(4096), 5, 0x22, -1, ctypes.c_size_t(0))",
    "move to a processor": "os.sched_setaffinity(0, os.sched_getaffinity(0))",
    "read its limits": "__import__('resource').getrlimit(7)",
    "signal itself": "os.kill(os.getpid(), 0)",
}


# Of servers only: programs load the libraries that this directory names.
DENIED_TO_SERVERS = {
    "replace the socket": "os.unlink(arguments[0].directory / 'socket')",
    "create a file beside the socket": "open(arguments[0].directory / 'new', 'w')",
    "make a directory beside the socket": "os.mkdir(arguments[0].directory / 'new')",
}


def attempt(verb: str, attempts: Mapping[str, str], tmp_path: Path, mode: str = "on") -> dict[str, str]:
    """The outcome of statements in the process of a verb: for each the exception's name, or done."""
    folder, output = tmp_path / "folder", tmp_path / "output"
    folder.mkdir()
    output.mkdir()
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/manifest.toml").write_text(f'[[trace]]\nname = "triangle"\nfile = "{TRACE}"\n')
    (tmp_path / "picture.png").write_bytes((ROOT / "traces/triangle.reference.png").read_bytes())
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "SDL_VIDEODRIVER": "dummy",
                   "XDG_STATE_HOME": str(tmp_path / "state")}
    if VERBS[verb][1] == INDEX:
        join(tmp_path / "app.g4c", "triangle-g4x", "fbo-g4x")
        subprocess.run([sys.executable, "-m", "gen4emu", "-q", "index", "app.g4c", "--interval", "0"], check=True,
                       cwd=tmp_path, env=environment)
    outside = folder / "outside"
    outside.write_text("secret")
    arguments, place = VERBS[verb]
    statements = {name: text.format(outside=outside, folder=folder, output=output) for name, text in attempts.items()}
    done = subprocess.run([sys.executable, "-c", HOOK, place, json.dumps(statements), *arguments, "--sandbox", mode]
                          if "--" not in arguments else
                          [sys.executable, "-c", HOOK, place, json.dumps(statements), arguments[0], "--sandbox", mode,
                           *arguments[1:]], capture_output=True, text=True, check=False, cwd=tmp_path,
                          stdin=subprocess.DEVNULL, env=environment)
    found = re.findall("ENDS({.*?})", done.stderr + done.stdout)
    assert len(found) == PROCESSES.get(verb, 1), done.stderr + done.stdout
    if mode == "on":
        assert outside.read_text() == "secret"
        assert [path.name for path in folder.iterdir()] == ["outside"]
    ends: dict[str, str] = json.loads(found[0])
    assert list(ends) == list(attempts)
    assert all(json.loads(other) == ends for other in found[1:])
    return ends


@needs_sandbox
@pytest.mark.parametrize("verb", VERBS)
def test_a_confined_process_cannot_break_out(verb: str, tmp_path: Path) -> None:
    if "window" in verb:
        pytest.importorskip("sdl2", reason="the extra gen4emu[window] is not installed")
    attempts = DENIED | (DENIED_TO_SERVERS if verb in SERVERS else {})
    ends = attempt(verb, attempts, tmp_path)
    assert {name: end for name, end in ends.items() if end not in ("PermissionError", "OSError")} == {}


@needs_sandbox
def test_a_confined_replay_can_work(tmp_path: Path) -> None:
    assert set(attempt("replay", ALLOWED, tmp_path).values()) == {"done"}


@pytest.mark.parametrize("verb", ["replay", "check", "run"])
def test_without_confinement_it_can_break_out(verb: str, tmp_path: Path) -> None:
    attempts = {name: DENIED[name] for name in ("read a file", "make a socket", "start a program")}
    assert set(attempt(verb, attempts, tmp_path, "off").values()) == {"done"}


def test_every_verb_is_confined_or_need_not_be() -> None:
    """A new verb that reads files needs a row in VERBS above, which fails if the verb is not confined."""
    confined = {arguments[0] for arguments, _ in VERBS.values()}
    assert confined.isdisjoint(UNCONFINED) and confined | UNCONFINED.keys() == set(main.VERBS)
    rows = [line for line in (ROOT / "docs/sandbox.md").read_text().splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`([a-z]+)[^`]*`", row.split("|")[1])}
    assert confined - documented == set()
    for verb in confined:
        command = main.cli.get_command(main.cli.make_context("gen4emu", [verb]), verb)
        assert command is not None and any("--sandbox" in option.opts for option in command.params), verb


def test_functions_that_are_replaced_exist() -> None:
    for _, place in VERBS.values():
        module, _, name = place.partition(":")
        owner = importlib.import_module(module)
        for part in name.split("."):
            owner = getattr(owner, part)
        assert callable(owner)


@needs_sandbox
def test_a_confined_replay_writes_the_same_pictures(tmp_path: Path) -> None:
    pictures = []
    for mode in ("on", "off"):
        subprocess.run([sys.executable, "-m", "gen4emu", "replay", "-q", str(TRACE), "-o", str(tmp_path / mode),
                        "--sandbox", mode], check=True, cwd=ROOT)
        pictures.append({path.name: path.read_bytes() for path in (tmp_path / mode).iterdir()})
    assert pictures[0] == pictures[1] and len(pictures[0]) == 3


@needs_sandbox
def test_a_confined_list_of_draws_reads_its_selection(tmp_path: Path) -> None:
    (tmp_path / "draws").write_text("1\n")
    listed = [subprocess.run([sys.executable, "-m", "gen4emu", "info", "-q", str(TRACE), "--draws", draws, "--sandbox",
                              "on"], check=True, cwd=ROOT, capture_output=True).stdout
              for draws in ("1", f"@{tmp_path / 'draws'}")]
    assert listed[0] == listed[1] != b""


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


def run(*arguments: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gen4emu", *arguments], cwd=cwd, check=False, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(ROOT), **more})


def test_a_replay_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace")
    started = time.monotonic()
    with open(os.open(tmp_path / "trace", os.O_RDWR), "wb"):  # a trace that never comes
        done = run("replay", "trace", "-o", "out", "--timeout", "2", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "gen4emu: trace: not done after 2 s (--timeout)\n"
    assert time.monotonic() - started < 60
    assert [path.name for path in tmp_path.iterdir()] == ["trace"]


def test_a_replay_within_its_limits_ends_as_without(tmp_path: Path) -> None:
    done = run("replay", str(TRACE), "-q", "--timeout", "300", "--memory", "4G", "-o", "out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((tmp_path / "out").glob("*.png"))) == 2
    assert run("replay", "missing", "--timeout", "300", cwd=tmp_path).returncode == 2


def test_a_replay_that_needs_more_memory_than_it_may_is_an_error(tmp_path: Path) -> None:
    done = run("replay", str(TRACE), "--memory", "256M", "-o", "out", "--surface",
               "0x0,B8G8R8A8_UNORM,8192x8192,linear,32768", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "out of memory" in done.stderr
    assert not list(tmp_path.rglob("*surface*"))


def test_a_program_that_takes_too_long_is_ended_with_its_server(tmp_path: Path) -> None:
    done = run("run", "--timeout", "1", "--", "sleep", "300", cwd=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 128 + 15
    assert "gen4emu: sleep: ended after 1 s (--timeout)\n" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_takes_too_long_ends(tmp_path: Path) -> None:
    done = run("run", "--serve", "gpu", "--timeout", "1", cwd=tmp_path, TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert "gen4emu: ended after 1 s (--timeout)\n" in done.stderr
    assert list(tmp_path.iterdir()) == []


BROKEN_SERVERS = {
    "dies": ("gen4emu.live.server.Server.close = lambda self: os.kill(os.getpid(), signal.SIGSEGV)",
             "the device server ended with SIGSEGV"),
    "answers nonsense": ("gen4emu.cli.run._result = lambda *a, **k: gen4emu.live.server_process.Verdict('nonsense')",
                         "the device server ended with exit status 0"),
    "cannot be confined": ("gen4emu.sandbox.lib = type('', (), {'g4_sandbox_available': lambda: True,"
                           " 'g4_sandbox_enter': lambda *a: 38})",
                           "--sandbox on: Function not implemented"),
}


def run_with(statement: str, tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`gen4emu run -q` of `true`, in a process that first executes a statement."""
    code = f"""
import os, signal, sys, time
import gen4emu.cli.main, gen4emu.cli.run, gen4emu.live.server_process, gen4emu.live.server, gen4emu.sandbox
from gen4emu.ownership import own_process
{statement}
own_process()
sys.exit(gen4emu.cli.main.run(sys.argv[1:]))
"""
    return subprocess.run([sys.executable, "-c", code, "run", "-q", *options, "--", "true"], cwd=ROOT, check=False,
                          capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})


@pytest.mark.parametrize("name", BROKEN_SERVERS)
def test_a_server_that_fails_is_an_error_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    statement, message = BROKEN_SERVERS[name]
    done = run_with(statement, tmp_path, "--sandbox", "on" if name == "cannot be confined" else "auto")
    assert (done.returncode, done.stderr) == (2, f"gen4emu: {message}\n")
    assert list(tmp_path.iterdir()) == []


SLOW_SERVER = ("gen4emu.cli.run._PATIENCE = 0.0; close = gen4emu.live.server.Server.close; "
               "gen4emu.live.server.Server.close = lambda self: (time.sleep(2), close(self))")


def test_a_server_has_the_rest_of_the_time_after_its_program(tmp_path: Path) -> None:
    done = run_with(SLOW_SERVER, tmp_path, "--timeout", "300")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_server_that_is_not_done_in_time_is_killed_and_that_is_said(tmp_path: Path) -> None:
    done = run_with(SLOW_SERVER, tmp_path, "--timeout", "1")
    assert done.returncode == 2
    assert re.fullmatch(r"gen4emu: the device server was killed: [01] s after it had been told to end, it was "
                        r"still executing what programs had submitted\n", done.stderr)
    assert list(tmp_path.iterdir()) == []
