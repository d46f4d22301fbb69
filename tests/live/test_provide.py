"""Memory that is provided before it is needed: what is allocated then causes no page faults."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

# A thread, whose heap is its own, allocates blocks and writes them.  Prints its page faults meanwhile, twice for blocks
# of 200 KB, then twice for a block of 2 MB.
_PROGRAM = """
import resource, sys, threading
from gen4emu._native import lib

def faults():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt

def run():
    if sys.argv[1] == "provide":
        lib.g4_heap_provide(4 << 20)
    for count, size in ((9, 200_000), (9, 200_000), (1, 2_000_000), (1, 2_000_000)):
        before = faults()
        blocks = [bytes([1]) * size for _ in range(count)]
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
    small, again, _, _ = _faults("nothing")
    assert min(small, again) > 400  # 1.8 MB each time: large blocks go back to the system


def test_a_heap_that_is_kept_faults_once() -> None:
    small, again, _, large = _faults("keep")
    assert small > 400
    assert max(again, large) < 20


@pytest.mark.skipif(_LINUX < (5, 14), reason="the kernel cannot provide memory")
def test_a_heap_that_is_provided_does_not_fault() -> None:
    small, again, _, large = _faults("provide")
    assert max(small, again, large) < 20
