"""Which writer a file's name asks for: `.g4c` captures, or AUB."""

from __future__ import annotations

import os
from pathlib import Path

from gen4emu.errors import TraceError
from gen4emu.hw.chips import Device
from gen4emu.trace.capture_format import SUFFIX
from gen4emu.trace.capture_writer import CaptureWriter
from gen4emu.trace.compression import SUFFIXES
from gen4emu.trace.writer import AubWriter, Dedup

TraceWriter = AubWriter | CaptureWriter
CONTAINERS = ("aub", "g4c")


def writer_for(file: str | os.PathLike[str], device: Device, application: str, dedup: Dedup) -> TraceWriter:
    """A capture if the name ends in .g4c, else an AUB file."""
    container = "g4c" if SUFFIX in Path(file).suffixes[-2:] else "aub"
    return new_writer(container, file, device, application, dedup)


def new_writer(container: str, file: str | os.PathLike[str], device: Device, application: str,
               dedup: Dedup) -> TraceWriter:
    """`dedup` is for AUB files; a capture stores each page once in any case."""
    if container == "g4c":
        return CaptureWriter(file, device, application=application)
    return AubWriter(file, device, application=application, dedup=dedup)


def container_of(file: str | os.PathLike[str]) -> str:
    """The container that a name stands for; raises TraceError if its suffix is unknown.

    Standard output, pipes and devices get AUB whatever their names are.
    """
    name = os.fspath(file)
    if name == "-" or (os.path.exists(name) and not os.path.isfile(name) and not os.path.isdir(name)):
        return "aub"
    path = Path(name)
    suffix = path.with_suffix("").suffix if path.suffix in SUFFIXES else path.suffix
    if suffix not in (".aub", SUFFIX):
        shown = f"unknown suffix {path.name[len(path.name.split('.')[0]):]!r}" if path.suffix else "no suffix"
        raise TraceError(name, None, f"{shown} (known: .aub and {SUFFIX}, each also with {', '.join(SUFFIXES)})")
    return "g4c" if suffix == SUFFIX else "aub"
