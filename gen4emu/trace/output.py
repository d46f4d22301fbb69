"""Output files that appear complete or not at all, compressed according to their names."""

from __future__ import annotations

import io
import os
import secrets
import stat
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from gen4emu.errors import TraceError
from gen4emu.trace.source import SUFFIXES, MissingCodec, compressor


class Output:
    """Writes to a temporary file in the same directory, and renames it in `commit`.  "-" is standard output.

    Devices and pipes are written directly.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.name = os.fspath(path)
        self._temporary: Path | None = None
        self._target = Path(os.path.realpath(self.name))  # a symbolic link is kept
        self._files = ExitStack()
        try:
            raw = self._open()
            compression = SUFFIXES.get(Path(self.name).suffix)
            self._file = raw if compression is None else self._files.enter_context(compressor(compression, raw))
        except MissingCodec as e:
            self.discard()
            raise TraceError(self.name, None, str(e)) from None
        except OSError as e:
            self.discard()
            raise self._error(e) from None

    def _open(self) -> IO[bytes]:
        if self.name == "-":
            return cast(IO[bytes], sys.stdout.buffer)
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.stat(self._target).st_mode):
                return self._files.enter_context(open(self._target, "wb"))
        temporary = self._target.with_name(f".{self._target.name}.{secrets.token_hex(4)}.part")
        raw = open(temporary, "xb")  # noqa: SIM115 - the exit stack below closes it
        self._temporary = temporary
        return self._files.enter_context(raw)

    def write(self, data: bytes | memoryview) -> None:
        try:
            self._file.write(data)
        except OSError as e:
            raise self._error(e) from None

    def commit(self) -> None:
        """Complete and rename the file."""
        try:
            self._files.close()
            if self.name == "-":
                sys.stdout.buffer.flush()
            if self._temporary is not None:
                os.replace(self._temporary, self._target)
                self._temporary = None
        except OSError as e:
            self.discard()
            raise self._error(e) from None

    def discard(self) -> None:
        """Remove the temporary file."""
        with suppress(OSError):
            self._files.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()

    def _error(self, error: OSError) -> Exception:
        if self.name == "-" and isinstance(error, BrokenPipeError):
            return error  # the reader has exited
        return TraceError(self.name, None, f"cannot be written: {error.strerror or error}")


def append(file: io.FileIO, data: bytes) -> None:
    """Add data at the end of a file that was opened to append without a buffer: all of it, or nothing.

    The kernel may write a part only: when the disk is about to be full, or a signal comes.
    """
    done = 0
    try:
        while done < len(data):
            done += file.write(data[done:])
    except OSError as e:
        end = file.seek(0, os.SEEK_END)
        with suppress(OSError):
            file.truncate(end - done)
        raise OSError(e.errno, e.strerror, file.name) from None


class Writer:
    """Base of the trace writers.  Use it in a `with` block: after an exception there is no file."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self._output = Output(file)

    def close(self) -> None:
        """Complete and rename the file."""
        self._output.commit()

    def discard(self) -> None:
        """Remove the incomplete file."""
        self._output.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()
