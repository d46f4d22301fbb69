"""Programs of a suite: their outputs, and that none outlives the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gen4emu.suite.interrupts import INTERRUPTS, Interrupts
from gen4emu.suite.lines import read
from gen4emu.suite.programs import Interrupted, execute, pool, results
from tests.suite.fake_deqp import FAKE
from tests.suite.processes import alive, descendants

ENVIRONMENT = {"PATH": "/bin:/usr/bin"}


def shell(text: str, seconds: float = 60, step: bytes = b"") -> tuple[str, bool]:
    """What it printed, and whether it took too long."""
    ended = execute(("sh", "-c", text), ENVIRONMENT, seconds, step=step)
    return ended.stdout, bool(ended.stall)


def commands(pids: Iterable[int]) -> dict[int, bytes]:
    """Those of the processes that still run."""
    found = {}
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes()
    return found


def test_of_a_long_output_begin_and_end_are_kept() -> None:
    text, _ = shell("echo first; head -c 90000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert text.startswith("first\nx") and text.endswith("x\nlast\n")
    assert 64 << 20 <= len(text) < 65 << 20


def test_only_a_step_at_the_begin_of_a_line_restarts_the_time() -> None:
    text = "for i in 1 2 3 4 5; do sleep 0.5; printf ste; sleep 0.1; printf 'p\\n'; done"
    assert shell(text, 2, b"step") == ("step\n" * 5, False)
    assert shell(text.replace("ste;", "'no ste';"), 2, b"step")[1]


def test_a_block_that_ends_early_ends_programs() -> None:
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), pool(1) as threads:
        running = threads.submit(shell, "sleep 60")
        waiting = threads.submit(shell, "sleep 60")
        while not running.running():
            time.sleep(0.01)
        raise KeyboardInterrupt
    assert isinstance(running.exception(), Interrupted) and waiting.cancelled()
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_server_and_programs(tmp_path: Path, number: signal.Signals) -> None:
    program = tmp_path / "deqp-fake"
    program.write_text(FAKE)
    program.chmod(0o755)
    (tmp_path / "list").write_text("t.one\nt.sleep\nt.two\n")
    suite = subprocess.Popen([sys.executable, "-m", "gen4emu", "suite", "deqp", str(program), str(tmp_path / "list"),
                              "-j", "1", "--batch", "1", "--jsonl", str(tmp_path / "r.jsonl")], stdout=subprocess.PIPE,
                             text=True)
    ran = Path(f"{program}.tests")
    while suite.poll() is None and not (ran.exists() and "t.sleep" in ran.read_text()):
        time.sleep(0.05)
    others = {}
    while suite.poll() is None and not any(command.startswith(b"sleep\0") for command in others.values()):
        time.sleep(0.05)
        others = commands(descendants(suite.pid))
    assert any(b"--serve" in command for command in others.values())
    suite.send_signal(number)
    os.kill(suite.pid, number)  # does not interrupt what the first one began
    printed, _ = suite.communicate(timeout=50)
    assert suite.returncode == 128 + number
    assert "1 pass" in printed
    assert not [pid for pid in others if alive(pid)]
    assert [line.name for line in read(tmp_path / "r.jsonl")] == ["t.one"]


def test_a_signal_interrupts_only_the_wait_for_results() -> None:
    """An exception inside the executor may leave a lock taken that its threads wait for."""
    begun: list[int] = []

    def calls() -> Iterator[Callable[[], object]]:
        for i in range(3):
            yield lambda: None
            os.kill(os.getpid(), signal.SIGTERM)
            begun.append(i)

    with INTERRUPTS.delivered():
        with pytest.raises(KeyboardInterrupt), pool(1) as threads:
            for _ in results(threads, calls()):
                raise AssertionError("the interrupt comes before the first result")
        assert begun == [0, 1, 2] and INTERRUPTS.numbers == [signal.SIGTERM] * 3


def test_signals_that_nohup_ignores_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts().delivered():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
