"""Copies a trace into an AUB file or a `.g4c` capture, event by event, and chooses the writer for a file name."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gen4emu.errors import TraceError
from gen4emu.hw.chips import BY_PCI_ID, Device
from gen4emu.trace import driver_block, reader
from gen4emu.trace.capture import SUFFIX
from gen4emu.trace.devices import unnamed
from gen4emu.trace.events import (
    Comment,
    ErrorState,
    Event,
    ExpectedMemory,
    FrameBoundary,
    GlNotes,
    GttWrite,
    Header,
    MemoryWrite,
    RegisterWrite,
    Submission,
    SurfaceDump,
    Warning,
)
from gen4emu.trace.ring import STARTS_WORK
from gen4emu.trace.source import SUFFIXES
from gen4emu.trace.write_aub import AubWriter, Dedup
from gen4emu.trace.write_capture import CaptureWriter
from gen4emu.trace.write_memtrace import MemtraceWriter

# --- choice of the writer ---------------------------------------------------------------------------------------------
TraceWriter = AubWriter | CaptureWriter
CONTAINERS = ("aub", "g4c")


def writer_for(file: str | os.PathLike[str], device: Device, application: str, dedup: Dedup) -> TraceWriter:
    """A CaptureWriter if the name ends in .g4c, else an AubWriter."""
    return new_writer(container_for(file), file, device, application, dedup)


def container_for(file: str | os.PathLike[str]) -> str:
    """The container of a capture with this name."""
    return "g4c" if SUFFIX in Path(file).suffixes[-2:] else "aub"


def new_writer(container: str, file: str | os.PathLike[str], device: Device, application: str,
               dedup: Dedup) -> TraceWriter:
    """A writer for "aub" or "g4c".  `dedup` applies to AUB files; a capture stores each page once in any case."""
    if container == "g4c":
        return CaptureWriter(file, device, application=application)
    if device.address_bits > 32:
        return MemtraceWriter(file, device, application=application, dedup=dedup)
    return AubWriter(file, device, application=application, dedup=dedup)


def container_of(file: str | os.PathLike[str]) -> str:
    """The container for a file name; raises TraceError if the suffix is unknown.

    Standard output, pipes and devices always get AUB.
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


# --- copying ----------------------------------------------------------------------------------------------------------
_MAX_WARNINGS = 1000


@dataclass(slots=True, frozen=True)
class Converted:
    """Counts of a conversion."""

    submissions: int
    frames: int  # marked in the source
    bytes_read: int  # memory contents in the source, before removing repetitions
    warnings: tuple[Warning, ...]  # of the source's reader, the first _MAX_WARNINGS


def convert(src: str | os.PathLike[str] | reader.Trace, dst: str | os.PathLike[str], *,
            device: Device | str | int | None = None, base: int = 0, dedup: Dedup = Dedup.SUBMISSION,
            partial: bool = False, container: str | None = None,
            watch: Callable[[int], object] | None = None) -> Converted:
    """Copy a trace of any kind to an AUB file, or to a `.g4c` capture.  The result replays exactly as the source does.

    `container` is "aub" or "g4c"; by default, the suffix of `dst` determines it, and an unknown one is an error.
    `device` and `base` are those of `open`.  `dedup` is SUBMISSION by default because the writes of the GPU are not
    known here.  A truncated or damaged source is an error unless `partial`.  `watch` is called after every event with
    the number of submissions so far.
    """
    container = container_of(dst) if container is None else container
    trace = src if isinstance(src, reader.Trace) else reader.open(src, device=device, base=base)
    submissions = frames = size = 0
    warnings: list[Warning] = []
    with ExitStack() as stack:
        writer: TraceWriter | None = None
        for event in trace:
            if isinstance(event, Warning):
                if event.damage and not partial:
                    raise TraceError(trace.path, event.offset, event.text)
                warnings += [event] if len(warnings) < _MAX_WARNINGS else []
            elif writer is None:
                writer = _writer(trace, event, dst, dedup, container)
                stack.enter_context(writer)
                if not isinstance(event, Header):
                    copy_event(event, writer)
            else:
                copy_event(event, writer)
            submissions += isinstance(event, Submission)
            frames += isinstance(event, FrameBoundary | SurfaceDump)
            size += len(event.data) if isinstance(event, MemoryWrite) else 0
            if watch is not None:
                watch(submissions)
        if writer is None:
            raise TraceError(trace.path, None, "holds nothing to convert")
    return Converted(submissions, frames, size, tuple(warnings))


def _writer(trace: reader.Trace, first: Event, dst: str | os.PathLike[str], dedup: Dedup,
            container: str) -> TraceWriter:
    pci_id = first.pci_id if isinstance(first, Header) else None
    if pci_id is None:
        raise unnamed(trace.path)
    application = first.application if isinstance(first, Header) else ""
    return new_writer(container, dst, BY_PCI_ID[pci_id], application, dedup)


def copy_event(event: Event, writer: TraceWriter) -> None:
    """Write an event.  Those that the container cannot hold are left out or become comments."""
    if isinstance(event, MemoryWrite):
        writer.write_memory(event.address, event.data, event.kind, event.space)
    elif isinstance(event, Submission):
        if event.hung:
            where = "" if event.acthd is None else f" at 0x{event.acthd:08x}"
            writer.comment(f"the {event.engine.value} engine hung{where}")
        writer.submit(event.engine, event.ring[:len(event.ring) & ~3], event.ring_address, event.context,
                      event.page_table)
    elif isinstance(event, RegisterWrite):
        if event.register not in STARTS_WORK:  # the reader has turned such writes into submissions, which are copied
            writer.write_register(event)
    elif isinstance(event, GttWrite):
        writer.write_gtt(event)
    elif isinstance(event, SurfaceDump):
        writer.dump_surface(event)
    elif isinstance(event, FrameBoundary):
        writer.frame_boundary(event.note)
    elif isinstance(event, ExpectedMemory):
        if isinstance(writer, CaptureWriter):
            writer.expect(event.address, event.size, event.digest)
    elif isinstance(event, GlNotes):
        if isinstance(writer, CaptureWriter):
            writer.gl_notes(event.notes)
    elif isinstance(event, Comment):
        if not event.text.startswith(driver_block.NOTE):  # a reader of the copy makes this comment again
            writer.comment(event.text)
    elif isinstance(event, ErrorState):
        for name, text in event.fields.items():
            writer.comment(f"{name}: {text}")
        for name, value in event.registers.items():
            writer.comment(f"{name}: 0x{value:08x}")
    elif isinstance(event, Header) and event.pci_id is not None:
        writer.header(event.pci_id, event.application)
