"""Terminal output shared by the verbs: color, the pager, progress on stderr, buffered output."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

import click

from gen4emu.device.executing import now
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
    less = _pager_command() if uses_pager(pager) else None
    if less is None:
        with _collected(sys.stdout.write) as write:
            yield write
        return
    # Without R, less shows the codes of colors instead of the colors.
    environment = {"LESS": "FRX", **os.environ}
    with subprocess.Popen(less, stdin=subprocess.PIPE, text=True, encoding="utf-8", env=environment) as process:
        assert process.stdin is not None
        try:
            with _collected(process.stdin.write) as write:
                yield write
            process.stdin.close()
        except BrokenPipeError:
            return  # the reader has left the pager


def uses_pager(wanted: bool) -> bool:
    """Whether results for standard output go to a pager."""
    return wanted and sys.stdout.isatty() and _pager_command() is not None


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


def damaged(file: str, damage: Sequence[Warning], partial: bool = False) -> int:
    """Report where a file is cut short or damaged, after everything that was read of it; returns the exit status.

    `partial` means that the user accepts it (`--partial`): then it is a warning, and the status is 0.
    """
    if not damage:
        return 0
    # A compressed stream that ends early also cuts a packet: the last warning is the cause.
    complain(f"{'warning: ' if partial else ''}{file}: 0x{damage[-1].offset:08x}: {damage[-1].text}")
    return 0 if partial else 2


def complain(text: str) -> None:
    """One line on stderr."""
    click.echo(f"gen4emu: {text}", err=True)


def is_quiet() -> bool:
    """Whether the user gave -q."""
    return _setting("quiet")


def is_verbose() -> bool:
    """Whether the user gave -v."""
    return _setting("verbose")


def _setting(name: str) -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(f"gen4emu.{name}"))


class Progress:
    """A line on stderr that shows how far long work is and how long the rest will take.

    Shown if stderr is a terminal, from the second second on, and not with -q.  With -v a stderr that is not a terminal
    gets a line every ten seconds.
    """

    def __init__(self, what: str, fraction: Callable[[], float | None] | None = None, *, scrolls: bool = False,
                 quiet: bool = False) -> None:
        """`fraction` says how much of the work is done, from 0 to 1, or None.

        `scrolls`: results go to standard output meanwhile; a progress line on the same terminal would disturb them.
        """
        self.what = what
        self._fraction = fraction
        self._started = time.monotonic()
        self._on_terminal = sys.stderr.isatty()
        disturbs = scrolls and self._on_terminal and sys.stdout.isatty()
        self.active = not (quiet or is_quiet()) and not disturbs and (self._on_terminal or is_verbose())
        self._interval = 0.2 if self._on_terminal else 10.0
        self._next = self._started + (1.0 if self._on_terminal else self._interval)
        self._shown = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, text: Callable[[], str] = now) -> None:
        """Call `tick` on a thread of its own until `done`, because the work may not call it for a long time.

        By default the line shows what devices of this process execute.  Call it after the process is confined.
        """
        if self.active:
            self._thread = threading.Thread(target=self._follow, args=(text,), name="gen4emu progress", daemon=True)
            self._thread.start()

    def _follow(self, text: Callable[[], str]) -> None:
        while not self._ended.wait(self._interval):
            self.tick(text)

    def tick(self, text: Callable[[], str]) -> None:
        """Call this often; `text` (counts of what was done) is only called when the line is drawn."""
        if not self.active:
            return
        moment = time.monotonic()
        if moment < self._next:
            return
        with self._lock:
            if moment < self._next or not self.active:  # another thread was faster
                return
            line = ", ".join(part for part in (self._share(moment), text()) if part)
            if not line:
                return
            self._next = moment + self._interval
            self._shown = self._on_terminal
            sys.stderr.write(f"\r\x1b[K{self.what}: {line}" if self._on_terminal else f"{self.what}: {line}\n")
            sys.stderr.flush()

    def _share(self, moment: float) -> str:
        """"42 %, 0:13 left"."""
        done = self._fraction() if self._fraction is not None else None
        if done is None or done <= 0:
            return ""
        left = round((moment - self._started) * (1 - done) / done)
        # The end of a file may be read long before the work on it is done.
        return f"{min(99, int(100 * done))} %" + (f", {duration(left)} left" if left else "")

    def clear(self) -> None:
        """Take the line away, for other output; the next `tick` draws it again."""
        with self._lock:
            if self._shown:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
                self._shown = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.done()

    def done(self) -> None:
        self.active = False
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.clear()


def duration(seconds: float) -> str:
    """0:07, 12:34, 1:02:03."""
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02}:{s:02}" if hours else f"{m}:{s:02}"


def size_text(size: int) -> str:
    """Bytes as a person reads them: 512 bytes, 12.3 KiB, 4.5 MiB."""
    if size < 1024:
        return f"{size} bytes"
    value, unit = float(size), "bytes"
    for unit in ("KiB", "MiB", "GiB"):  # noqa: B007 - the last one is used
        value /= 1024
        if value < 1000:
            break
    return f"{value:.1f} {unit}"


def some(n: int, noun: str) -> str:
    """1 draw, 2 draws, 2 dispatches."""
    return f"{n} {noun}{'' if n == 1 else 'es' if noun.endswith('ch') else 's'}"
