"""Error states of hangs: a file that stays for `gen4emu decode`, and the one the program sees (spec/80 DR-55)."""

from __future__ import annotations

import itertools
import os
import tempfile
import threading
from pathlib import Path

from gen4emu.device.device import Device
from gen4emu.device.memory import Missing
from gen4emu.live import fake_tree
from gen4emu.live.server import ROOT, Server
from gen4emu.trace.events import Submission

_BATCH_DWORDS = 1024
_MAX_FILES = 16  # a program that hangs again and again must not fill the disk


class ErrorStates:
    """Writes the first error states of one server."""

    def __init__(self, server: Server, path: Path | None) -> None:
        self._seen = server.directory / ROOT / fake_tree.ERROR
        self._path = path
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, device: Device, submission: Submission, what: str) -> str:
        """Write it; what to tell the user about it."""
        with self._lock:
            number = next(self._numbers)
            if number > _MAX_FILES:
                return ""
            text = error_text(device, submission, what)
            path = self._name(number)
            path.write_text(text, encoding="utf-8")
            self._seen.write_text(text, encoding="utf-8")
            return f"; error state in {path}"

    def _name(self, number: int) -> Path:
        if self._path is None:
            handle, name = tempfile.mkstemp(prefix="gen4emu-error-", suffix=".txt")
            os.close(handle)
            return Path(name)
        return self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number}")


def error_text(device: Device, submission: Submission, what: str) -> str:
    """Registers, and the batch as text."""
    r = device.registers
    batch = int.from_bytes(submission.ring[-4:], "little")
    dwords = device.memory.read_dwords(batch, _BATCH_DWORDS, Missing.ZERO)
    lines = [f"PCI ID: 0x{device.info.pci_id:04x}", f"EIR: 0x{r.read(r.offset('EIR')):08x}", "render command stream:"]
    lines += [f"  {name}: 0x{r.read(r.offset('RENDER_' + name)):08x}" for name in ("ACTHD", "IPEIR", "IPEHR")]
    lines.append(f"render ring (submitted by {what}) --- gtt_offset = 0x{batch:08x}")
    lines += [f"{4 * i:08x} :  {dword:08x}" for i, dword in enumerate(dwords)]
    return "\n".join(lines) + "\n"
