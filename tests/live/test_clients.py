"""A C client without libraries, in 64 and 32 bits and under valgrind; a GL program under valgrind."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.live import program
from gen4emu.live.server import Server
from tests.live.real_client import TIMEOUT, client, needs_client, on_server, scenes

HERE = Path(__file__).parent / "clients"
NATIVE = Path(__file__).parents[2] / "native"
VALGRIND = ("valgrind", "-q", "--error-exitcode=99", f"--suppressions={HERE / 'valgrind.supp'}")


@cache
def exercise(*flags: str) -> str:
    output = Path(mkdtemp(prefix="gen4emu-test-")) / "exercise"
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}", *flags,
                    str(HERE / "exercise.c"), "-o", str(output), "-pthread"], check=True)
    return str(output)


def run(*command: str, **environment: str) -> tuple[int, str, str, Server]:
    """Run a client; return exit status, standard output, standard error, and the server."""
    with Server(BY_NAME["g45"], Options(workers=1)) as server:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT,
                              env=on_server(server.directory) | environment)
    return done.returncode, done.stdout, done.stderr, server


def missing_tool(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")


def check_batches(server: Server) -> None:
    assert (server.totals.batches, server.totals.marks, server.totals.hangs) == (84, 4, 0)
    assert not server.totals.complaints
    assert not server.totals.events


@needs_client
def test_a_client_without_libraries_can_use_the_whole_device() -> None:
    status, out, err, server = run(exercise())
    assert (status, out, err) == (0, "ok\n", "")
    check_batches(server)


@needs_client
@pytest.mark.parametrize("function", ["sigaction", "signal"])
def test_a_signal_handler_may_use_the_device_from_its_installation_on(function: str) -> None:
    """Until then, the shim does not block signals.  A thread that a handler interrupts must not hold its lock."""
    for _ in range(3):
        status, out, err, _ = run(client("handlers"), function)
        assert (status, out, err) == (0, "handled\n", "")


@needs_client
@pytest.mark.skipif(not program.SHIM_32.exists(), reason="there was no compiler for 32 bits")
def test_a_32_bit_client_finds_the_same_device() -> None:
    status, out, err, server = run(exercise("-m32"))
    assert (status, out, err) == (0, "ok\n", "")
    check_batches(server)


@needs_client
@pytest.mark.skipif(not program.SHIM_32.exists(), reason="there was no compiler for 32 bits")
def test_32_and_64_bit_programs_may_start_each_other() -> None:
    status, out, err, _ = run("sh", "-c", f"{exercise('-m32')} && {exercise()}")
    assert (status, out, err) == (0, "ok\nok\n", "")


@needs_client
def test_a_client_built_with_sanitizers_runs_without_leaks() -> None:
    """Sanitizers open files before libc has the environment, and must be the first library unless told otherwise."""
    fixed = ("setarch", "-R")  # older sanitizers need fixed addresses
    command = (*fixed, exercise("-fsanitize=address,undefined"))
    if subprocess.run((*fixed, "true"), capture_output=True, check=False).returncode:
        command = command[2:]
    status, out, err, server = run(*command, ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=1")
    assert (status, out, err) == (0, "ok\n", "")
    check_batches(server)


@needs_client
@missing_tool("valgrind")
def test_valgrind_finds_neither_errors_nor_leaks_in_the_shim() -> None:
    leaks = ("--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible",
             "--show-leak-kinds=definite,indirect,possible")
    status, out, err, server = run(*VALGRIND, *leaks, exercise())
    assert (status, out, err) == (0, "ok\n", "")
    check_batches(server)


@needs_client
@missing_tool("valgrind")
def test_a_gl_program_runs_under_valgrind() -> None:
    """Leaks are not checked: Mesa has some."""
    status, out, err, server = run(*VALGRIND, scenes("gl"), "texture", "-", "32", "1")
    assert (status, err) == (0, "")
    assert "G45" in out
    assert not server.totals.complaints
