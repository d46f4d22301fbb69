"""`gen4emu capture`: records the submissions of a program as a trace that replays to the same bits.

Before each batch, the pages of its buffers that differ from the memory of the trace's reader are written.  Changes by
the batch itself are not, because a replay makes the same ones.  Buffers keep their addresses.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.errors import Gen4emuError
from gen4emu.hw.formats import format_info
from gen4emu.hw.scanout import DUMP_NUMBERS, SCANOUT
from gen4emu.live.buffer_memory import BufferMemory, Hashes
from gen4emu.live.connection import BufferUse, Connection, LiveDevice, Mark, Observer
from gen4emu.live.driver_output import DriverOutput
from gen4emu.live.server import Server
from gen4emu.trace.capture import digest
from gen4emu.trace.conversion import TraceWriter, writer_for
from gen4emu.trace.events import Submission, SurfaceDump
from gen4emu.trace.gl_notes import GlNote
from gen4emu.trace.write_aub import Dedup
from gen4emu.trace.write_capture import CaptureWriter

_RUN_PAGES = 256  # 1 MiB, the largest event of a reader
_TILINGS = ("linear", "x", "y")

_CHUNK_PAGES = 512

Pages = npt.NDArray[np.int64]


class KnownHashes:
    """A hash of 16 bytes for each page of a large address space; (0, 0) for pages that were never written here."""

    def __init__(self) -> None:
        self._chunks: dict[int, Hashes] = {}

    def read(self, first: int, count: int) -> Hashes:
        return np.concatenate([chunk[start:end] for chunk, start, end in self._parts(first, count)])

    def write(self, first: int, hashes: Hashes) -> None:
        done = 0
        for chunk, start, end in self._parts(first, len(hashes)):
            chunk[start:end] = hashes[done:done + end - start]
            done += end - start

    def _parts(self, first: int, count: int) -> Iterator[tuple[Hashes, int, int]]:
        end = first + count
        while first < end:
            number, start = divmod(first, _CHUNK_PAGES)
            chunk = self._chunks.get(number)
            if chunk is None:
                chunk = self._chunks[number] = np.zeros((_CHUNK_PAGES, 2), np.uint64)
            stop = min(_CHUNK_PAGES, start + end - first)
            yield chunk, start, stop
            first += stop - start


class ChangedPages:
    """The memory of the trace's reader, as one hash for each page."""

    def __init__(self, memory: Memory | BufferMemory) -> None:
        self._memory = memory
        self._known = KnownHashes()
        self._mark = memory.mark()

    def changed(self, buffers: Sequence[BufferUse]) -> Iterator[tuple[int, int]]:
        """The (address, size) of pages that differ from the reader's; the caller writes them to the trace."""
        self._mark = self._memory.mark()
        return self.rewritten(buffers)

    def rewritten(self, buffers: Sequence[BufferUse]) -> Iterator[tuple[int, int]]:
        """The pages of `changed`, without a new mark: for a submission that has begun."""
        for first, count in _page_ranges(buffers, self._memory.page_count):
            fresh = self._memory.hash_pages(first, count)
            known = self._known.read(first, count)
            for start, end in _runs(np.flatnonzero((fresh != known).any(axis=1))):
                for at in range(start, end, _RUN_PAGES):
                    yield (first + at) * PAGE_SIZE, (min(at + _RUN_PAGES, end) - at) * PAGE_SIZE
            self._known.write(first, fresh)

    def learn(self, buffers: Sequence[BufferUse]) -> Iterator[tuple[int, int]]:
        """The (address, size) of pages written since `changed`: the reader's replay will write them, too."""
        for first, count in _page_ranges(buffers, self._memory.page_count):
            written = self._memory.written_since(np.arange(first, first + count, dtype=np.uint64), self._mark)
            for start, end in _runs(np.flatnonzero(written)):
                self._known.write(first + start, self._memory.hash_pages(first + start, end - start))
                yield (first + start) * PAGE_SIZE, (end - start) * PAGE_SIZE


def _page_ranges(buffers: Sequence[BufferUse], pages: int) -> Iterator[tuple[int, int]]:
    """(first page, number of pages) of each buffer, clipped to the address space."""
    for buffer in buffers:
        first = buffer.address // PAGE_SIZE
        last = min(-(-(buffer.address + buffer.size) // PAGE_SIZE), pages)
        if first < last:
            yield first, last - first


def _runs(indices: Pages) -> Iterator[tuple[int, int]]:
    """The runs of consecutive indices, as (first, end)."""
    if not len(indices):
        return
    breaks = np.flatnonzero(np.diff(indices) != 1)
    starts = indices[np.concatenate(([0], breaks + 1))]
    ends = indices[np.concatenate((breaks, [len(indices) - 1]))] + 1
    yield from zip(starts.tolist(), ends.tolist(), strict=True)


class Recorder(Observer):
    """Records one connection into one file, which gets its name when the connection ends."""

    def __init__(self, connection: Connection, device: LiveDevice, path: Callable[[], Path], server: Server,
                 driver: DriverOutput | None = None) -> None:
        self._program = connection.program
        self._device = device
        self._make_path = path
        self._server = server
        self._driver = driver
        self._driver_notes = 0  # that are written
        self._pages = ChangedPages(device.memory)
        self._writer: TraceWriter | None = None
        self._path: Path | None = None
        self._submissions = 0
        self._failed = False

    def before(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        self._guarded(self._record, submission, buffers)

    def _record(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        self._opened()
        self._note_driver()
        self._write(submission, self._pages.changed(buffers))

    def _write(self, submission: Submission, pages: Iterable[tuple[int, int]]) -> None:
        batch = submission.batch_address or 0
        memory, writer = self._device.memory, self._opened()
        for address, size in pages:
            kind = "batch" if address <= batch < address + size else ""
            writer.write_memory(address, memory.read(address, size), kind)

    def program_wrote(self, submission: Submission, buffers: Sequence[BufferUse], address: int) -> None:
        batch = [buffer for buffer in buffers if buffer.address <= address < buffer.address + buffer.size]
        self._guarded(self._write, submission, self._pages.rewritten(batch))

    def _opened(self) -> TraceWriter:
        if self._writer is None:
            self._path = self._make_path()
            self._writer = writer_for(self._path, self._device.info, self._program, Dedup.NONE)
        return self._writer

    def after(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        self._guarded(self._submit, submission)
        self._guarded(self._learn, buffers)

    def _submit(self, submission: Submission) -> None:
        self._opened().submit(submission.engine, submission.ring, submission.ring_address, submission.context)
        self._submissions += 1

    def _learn(self, buffers: Sequence[BufferUse]) -> None:
        for address, size in self._pages.learn(buffers):
            if isinstance(self._writer, CaptureWriter):
                self._writer.expect(address, size, digest(self._device.memory.read(address, size)))

    def gl_notes(self, notes: Sequence[GlNote]) -> None:
        self._guarded(self._note, notes)

    def _note(self, notes: Sequence[GlNote]) -> None:
        writer = self._opened()
        if isinstance(writer, CaptureWriter):
            writer.gl_notes(notes)

    def _note_driver(self) -> None:
        notes = self._driver.notes(self._driver_notes) if self._driver is not None else ()
        if notes and isinstance(self._writer, CaptureWriter):
            self._writer.gl_notes(notes)
            self._driver_notes += len(notes)

    def mark(self, mark: Mark) -> None:
        self._guarded(self._end_frame, mark)

    def _end_frame(self, mark: Mark) -> None:
        dump = _dump(mark)
        if dump is not None:
            self._opened().dump_surface(dump)
        else:
            self._opened().frame_boundary()

    def _guarded(self, record: Callable[..., None], *arguments: Any) -> None:
        """Record, and stop recording on failure, which must not affect the program."""
        if self._failed:
            return
        try:
            record(*arguments)
        except (Gen4emuError, MemoryError) as e:
            self._failed = True
            if self._writer is not None:
                self._writer.discard()
            self._server.error(f"{self._path}: out of memory" if isinstance(e, MemoryError) else str(e))

    def close(self) -> None:
        if self._writer is not None and not self._failed:
            self._guarded(self._note_driver)
        if self._writer is not None and not self._failed:
            self._guarded(self._writer.close)
            if not self._failed and self._path is not None:
                self._server.add_capture(self._path, self._program, self._submissions)


def _dump(mark: Mark) -> SurfaceDump | None:
    """A mark as a request to dump a surface, or None if AUB cannot express it."""
    form = SCANOUT.get(mark.fourcc.to_bytes(4, "little").decode("latin-1"))
    if form is None or not mark.address or mark.tiling >= len(_TILINGS) or mark.pitch % 4 or \
            max(mark.width, mark.height) > 0xFFFF or mark.pitch // 4 > 0x7FFFF:
        return None
    info = format_info(form)
    assert info is not None
    return SurfaceDump(0, mark.address, 0, 0, mark.width, mark.height, info.bits_per_texel // 8, mark.pitch,
                       DUMP_NUMBERS[form], _TILINGS[mark.tiling])


class CaptureFiles:
    """The files of one capture: the given name, then the same with numbers."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.used: list[Path] = []

    def next(self) -> Path:
        with self._lock:
            number = len(self.used) + 1
            stem, dot, suffixes = self._path.name.partition(".")
            path = self._path if number == 1 else self._path.with_name(f"{stem}-{number}{dot}{suffixes}")
            self.used.append(path)
            return path


def watch_capture(server: Server, path: Path, driver: DriverOutput | None = None) -> CaptureFiles:
    """Record every connection of a server that submits something, into one file each, with the driver's output."""
    files = CaptureFiles(path)

    def observe(connection: Connection, device: LiveDevice) -> Observer:
        return Recorder(connection, device, files.next, server, driver)

    server.add_observer(observe, buffers=True)
    return files
