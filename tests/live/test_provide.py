"""Memory that is provided before it is needed: what is allocated then causes no page faults."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# A thread, whose heap is its own, allocates blocks and writes them.  Prints its page faults meanwhile, twice.
_PROGRAM = """
import resource, sys, threading
from gen4emu._native import lib

def faults():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt

def run():
    if sys.argv[1] == "provide":
        lib.g4_heap_provide(4 << 20)
    for _ in range(2):
        before = faults()
        blocks = [bytes([1]) * 200_000 for _ in range(10)]
        print(faults() - before)
        del blocks

if sys.argv[1] != "nothing":
    lib.g4_heap_keep()
lib.g4_code_provide()
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
_LINUX = tuple(map(int, platform.release().split("-")[0].split(".")[:2]))


def _faults(what: str) -> list[int]:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, what], check=True, capture_output=True, text=True)
    return [int(line) for line in done.stdout.split()]


def test_each_page_faults_if_nothing_is_done() -> None:
    assert min(_faults("nothing")) > 400  # 2 MB each time: large blocks go back to the system


def test_a_heap_that_is_kept_faults_once() -> None:
    first, second = _faults("keep")
    assert first > 400
    assert second < 20


@pytest.mark.skipif(_LINUX < (5, 14), reason="the kernel cannot provide memory")
def test_a_heap_that_is_provided_does_not_fault() -> None:
    assert max(_faults("provide")) < 20
