"""Two pieces of work at a time: results and errors come back from the child process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from gen4emu.errors import Gen4emuError, HangError, TraceError
from gen4emu.report.processes import both


def test_each_function_has_its_own_process() -> None:
    here, there = both(os.getpid, os.getpid, "right")
    assert here == os.getpid() != there


def test_objects_that_are_shared_stay_shared() -> None:
    shared = ("a", "b")
    _, (one, two) = both(lambda: None, lambda: (shared, [shared]), "right")
    assert one == shared and two[0] is one


def test_an_error_of_the_child_is_raised_with_its_attributes() -> None:
    def fail() -> None:
        raise TraceError("x.aub", 16, "ends here")

    with pytest.raises(TraceError, match=r"x\.aub: 0x00000010: ends here") as found:
        both(lambda: None, fail, "right")
    assert (found.value.file, found.value.offset, found.value.what) == ("x.aub", 16, "ends here")


def test_a_hang_of_the_child_keeps_its_reason() -> None:
    def fail() -> None:
        raise HangError("x.aub: no end (draw 1)", "no end")

    with pytest.raises(HangError) as found:
        both(lambda: None, fail, "right")
    assert (str(found.value), found.value.reason) == ("x.aub: no end (draw 1)", "no end")


@pytest.mark.parametrize(("ending", "text"), [
    (lambda: os._exit(7), "bad.aub: its process ended early: exit status 7"),
    (lambda: os.kill(os.getpid(), signal.SIGKILL), "bad.aub: its process ended early: Killed"),
])
def test_a_child_that_dies_is_an_error(ending: object, text: str) -> None:
    with pytest.raises(Gen4emuError, match=text):
        both(lambda: None, ending, "bad.aub")  # type: ignore[arg-type] - it takes no argument


def test_an_error_of_the_first_ends_the_child(tmp_path: Path) -> None:
    started = tmp_path / "pid"

    def wait() -> None:
        (tmp_path / "new").write_text(str(os.getpid()))
        (tmp_path / "new").rename(started)
        time.sleep(600)

    def fail() -> None:
        while not started.exists():
            time.sleep(0.01)
        raise Gen4emuError("left")

    with pytest.raises(Gen4emuError, match="left"):
        both(fail, wait, "right")
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
