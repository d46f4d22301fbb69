"""tests.soak: a minute of it, and what it says of a server that does not end."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests import soak as module
from tests.live.real_client import needs_client
from tests.soak import Process, SoakError, soak


@needs_client
def test_a_server_that_does_not_end_is_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "END_SECONDS", 0.5)
    process = Process("gm45", tmp_path)
    os.kill(process.server, signal.SIGSTOP)
    try:
        with pytest.raises(SoakError, match=rf"gm45: .* not end: .* before, .*process {process.server} T after .* now"):
            process.end()
    finally:
        os.kill(process.server, signal.SIGKILL)


@needs_client
def test_threads_of_a_program_that_does_not_end_are_described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process("gm45", tmp_path)
    try:
        work = module.Soak([process], tmp_path)
        os.kill(process.server, signal.SIGSTOP)
        monkeypatch.setattr(module.real_client, "TIMEOUT", 1)
        says = r"gm45: clear does not end: program: scenes-gl S .*; server: .* T .*; program: .*; server: "
        with pytest.raises(SoakError, match=says):
            work._picture(process, "clear", tmp_path / "picture")
    finally:
        os.kill(process.server, signal.SIGKILL)
        process.process.kill()


@pytest.mark.long
@needs_client
def test_servers_survive_a_minute_of_four_clients() -> None:
    soak(1, seed=17)
