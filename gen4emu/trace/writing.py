"""Which writer a file's name asks for: `.g4c` captures, or AUB."""

from __future__ import annotations

import os
from pathlib import Path

from gen4emu.hw.gen import Device
from gen4emu.trace.capture_format import SUFFIX
from gen4emu.trace.capture_writer import CaptureWriter
from gen4emu.trace.writer import AubWriter, Dedup

TraceWriter = AubWriter | CaptureWriter


def writer_for(file: str | os.PathLike[str], device: Device, application: str, dedup: Dedup) -> TraceWriter:
    """`dedup` is for AUB files; a capture stores each page once in any case."""
    if SUFFIX in Path(file).suffixes[-2:]:
        return CaptureWriter(file, device, application=application)
    return AubWriter(file, device, application=application, dedup=dedup)
