"""The errors a user can meet.  Each is raised where the cause is known and caught once, in `gen4emu.cli`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Gen4emuError(Exception):
    """Bad input or usage: the command line prints the text and exits with status 2."""

    def __reduce__(self) -> tuple[Callable[..., Gen4emuError], tuple[Any, ...]]:
        """Constructors of subclasses take other arguments than the text that `args` holds."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[Gen4emuError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> Gen4emuError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class TraceError(Gen4emuError):
    """A trace file cannot be read: says which file, at which byte, and what is wrong there."""

    def __init__(self, file: str, offset: int | None, what: str) -> None:
        self.file, self.offset, self.what = file, offset, what
        where = f"{file}: " if offset is None else f"{file}: 0x{offset:08x}: "
        super().__init__(where + what)


class FieldError(Gen4emuError):
    """A value does not fit the field it was given for."""


class DecodeError(Gen4emuError):
    """Commands or state that cannot be decoded at all."""


class SelectionError(Gen4emuError):
    """A selection of frames, submissions or draws that cannot be read, or that selects nothing."""


class StaleError(Gen4emuError):
    """Memory or pixels of a moment of a trace that has moved on."""


class AssemblyError(Gen4emuError):
    """EU assembly that cannot be encoded: says file, line and column."""

    def __init__(self, file: str, line: int, column: int, what: str) -> None:
        self.file, self.line, self.column, self.what = file, line, column, what
        super().__init__(f"{file}:{line}:{column}: {what}")


class NotExecutedError(Gen4emuError):
    """A device that can be decoded is asked to execute."""


class HangError(Gen4emuError):
    """The GPU hung: the command line exits with status 3.

    `reason` is the text without the names of a file and a place.
    """

    def __init__(self, text: str, reason: str | None = None) -> None:
        self.reason = text if reason is None else reason
        super().__init__(text)
