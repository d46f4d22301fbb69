"""Error states of hangs: a file that stays for `gen4emu decode`, and the one the program sees (spec/80 DR-55)."""

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
from gen4emu.live import fake_tree
from gen4emu.live.server import ROOT, Server

_LIMIT_BYTES = 16 << 20  # of memory in each
_MAX_FILES = 16  # a program that hangs again and again must not fill the disk


class ErrorStates:
    """Writes the first error states of one server."""

    def __init__(self, server: Server, path: Path | None) -> None:
        self._server = server
        self._seen = server.directory / ROOT / fake_tree.ERROR
        self._path = path
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, device: Device, what: str, process: str, pid: int) -> Path | None:
        """Write it; its name, or None when there is none."""
        with self._lock:
            number = next(self._numbers)
            if number > _MAX_FILES:
                return None
            path = self._name(number)
            try:
                write_error_state(device, path, reason=what, process=process, pid=pid, limit_bytes=_LIMIT_BYTES)
                shutil.copyfile(path, self._seen)
            except (OSError, Gen4emuError) as e:
                self._server.complain(f"no error state: {e}")
                return None
            return path

    def _name(self, number: int) -> Path:
        if self._path is None:
            handle, name = tempfile.mkstemp(prefix="gen4emu-error-", suffix=".txt")
            os.close(handle)
            return Path(name)
        return self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number}")
