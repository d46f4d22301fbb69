"""What the verbs share about terminals: colour, the pager, progress on stderr, output in large pieces."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import click

from gen4emu.trace.events import Warning
from gen4emu.trace.output import Output

_PIECE = 1 << 16
Write = Callable[[str], object]


def wants_color(choice: str) -> bool:
    """`--color auto|always|never`; NO_COLOR and dumb terminals count for auto."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def output(path: str | None, pager: bool) -> Iterator[Write]:
    """Where results go: a file (whole or not at all), a pager when stdout is a terminal, or stdout; in large pieces."""
    if path is not None and path != "-":
        with Output(path) as file, _collected(lambda text: file.write(text.encode())) as write:
            yield write
        return
    less = _pager_command() if pager and sys.stdout.isatty() else None
    if less is None:
        with _collected(sys.stdout.write) as write:
            yield write
        return
    with subprocess.Popen(less, stdin=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdin is not None
        try:
            with _collected(process.stdin.write) as write:
                yield write
            process.stdin.close()
        except BrokenPipeError:
            return  # the reader has left the pager


def _pager_command() -> list[str] | None:
    pager = os.environ.get("GEN4EMU_PAGER", os.environ.get("PAGER", "less"))
    if pager in ("", "cat") or shutil.which(pager.split()[0]) is None:
        return None
    return ["less", "-FRSX"] if pager == "less" else pager.split()


@contextmanager
def _collected(write: Write) -> Iterator[Write]:
    parts: list[str] = []
    size = 0

    def collect(text: str) -> None:
        nonlocal size
        parts.append(text)
        size += len(text)
        if size >= _PIECE:
            write("".join(parts))
            parts.clear()
            size = 0

    yield collect
    write("".join(parts))


def damaged(file: str, damage: Sequence[Warning]) -> int:
    """Say where a file was cut short, after all that was good of it; the exit status.

    A compressed stream that ends early cuts a packet, too: the last warning is the cause.
    """
    for warning in damage[-1:]:
        click.echo(f"gen4emu: {file}: 0x{warning.offset:08x}: {warning.text}", err=True)
    return 2 if damage else 0


class Progress:
    """A line on stderr that says how far long work is; silent unless somebody looks, and for short work."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self.what = what
        self.active = not quiet and sys.stderr.isatty() and not sys.stdout.isatty()
        self._next = time.monotonic() + 1.0
        self._shown = False

    def tick(self, text: Callable[[], str]) -> None:
        if not self.active or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.2
        self._shown = True
        sys.stderr.write(f"\r\x1b[K{self.what}: {text()}")
        sys.stderr.flush()

    def done(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
