"""The reports of the device server on each of its programs, read from its standard error."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import defaultdict
from typing import IO

_LINE = re.compile(r"gen4emu: .*\[(\d+)\]: (.*)")
_OPENED, _CLOSED, _LATE = "opened the device", "closed the device after", "ended before it read an answer"
# Where and how often: left out of what is counted.
_DETAILS = (re.compile(r": \d+ times?.*"), re.compile(r"; error state in .*"), re.compile(r"\b0x[0-9a-f]{8}\b"))
_PATIENCE_SECONDS = 10.0


def kind(report: str) -> str:
    """A report without its numbers, to count those that differ only in them."""
    for detail, replacement in zip(_DETAILS, ("", "", "0x..."), strict=True):
        report = detail.sub(replacement, report)
    return report


class Reports:
    """Follows the stream in a thread of its own, until it ends; lines about no program are passed on."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._changed = threading.Condition()
        self._open: defaultdict[int, int] = defaultdict(int)
        self._said: defaultdict[int, list[str]] = defaultdict(list)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        for line in self._stream:
            match = _LINE.fullmatch(line.rstrip("\n"))
            if match is None:
                sys.stderr.write(line)
                continue
            with self._changed:
                self._enter(int(match[1]), match[2])
                self._changed.notify_all()

    def _enter(self, pid: int, text: str) -> None:
        if text == _OPENED:
            self._open[pid] += 1
        elif text.startswith(_CLOSED):
            self._open[pid] -= 1
        elif not text.startswith(_LATE):
            self._said[pid].append(text)

    def take(self, pid: int) -> list[str]:
        """Everything about a program that has ended, once the server has noticed that."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        with self._changed:
            while self._open[pid] > 0 and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            self._open.pop(pid, None)
            return self._said.pop(pid, [])

    def join(self) -> None:
        """Until the stream ends."""
        self._thread.join()

    def take_rest(self) -> list[str]:
        """Warnings of programs that are not tests, such as children of tests, since the last call."""
        with self._changed:
            found = [text for texts in self._said.values() for text in texts]
            self._said.clear()
            return found
