"""Error states of hangs: a file for `gen4emu decode`, and the one that the program sees in /sys."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import threading
from pathlib import Path

from gen4emu.device.device import Device
from gen4emu.device.error_state import write_error_state
from gen4emu.errors import Gen4emuError
from gen4emu.live.server import Server

_LIMIT_BYTES = 16 << 20  # of buffer contents in each file
_MAX_FILES = 16  # a program that hangs repeatedly must not fill the disk


class ErrorStates:
    """Writes the first _MAX_FILES error states of a server."""

    def __init__(self, server: Server, path: Path | None) -> None:
        self._server = server
        self._in_sysfs = server.error_file
        self._path = path
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, device: Device, reason: str, process: str, pid: int) -> Path | None:
        """Write an error state; its path, or None if none was written."""
        with self._lock:
            number = next(self._numbers)
            if number > _MAX_FILES:
                return None
            path = self._name(number)
            try:
                write_error_state(device, path, reason=reason, process=process, pid=pid, limit_bytes=_LIMIT_BYTES)
                shutil.copyfile(path, self._in_sysfs)
            except (OSError, Gen4emuError) as e:
                self._server.log_always(f"no error state: {e}")
                return None
            return path

    def _name(self, number: int) -> Path:
        if self._path is None:
            handle, name = tempfile.mkstemp(prefix="gen4emu-error-", suffix=".txt")
            os.close(handle)
            return Path(name)
        return self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number}")
