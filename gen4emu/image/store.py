"""A directory of pictures: converted where they are taken, encoded and written by other threads, listed in index.json.

The thread that calls `add` only converts the surface into a buffer of a pool.  Compression, digest and file are the
work of a few threads; how much waits for them is bounded in bytes.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gen4emu.device.memory import Memory
from gen4emu.device.place import Place
from gen4emu.device.targets import Target
from gen4emu.errors import DecodeError
from gen4emu.image.digest import pixels_digest
from gen4emu.image.picture import (
    AUTO_RANGE,
    Buffer,
    DepthRange,
    PixelReader,
    Pixels,
    replacing,
    save_npy,
    save_planes,
    save_stripped,
)
from gen4emu.image.picture_names import picture_name
from gen4emu.image.yuv import read_planes

SCHEMA = "gen4emu.pictures/1"
INDEX = "index.json"
MAX_PICTURES = 100_000
_MAX_WAITING_BYTES = 192 << 20  # of pixels that are being encoded; one picture may have more
_MAX_THREADS = 4
_NICER = 10

Planes = Sequence[npt.NDArray[np.uint8]]


class _Buffers:
    """Memory for pixels.  Buffers are used again: the system takes longer to clear them than we to fill them."""

    def __init__(self, most: int) -> None:
        self._most = most  # buffers in use at a time
        self._free: list[Buffer] = []
        self._used = 0
        self._bytes = 0
        self._changed = threading.Condition()

    def take(self, size: int) -> Buffer:
        """A buffer of at least `size` bytes; waits until others have been given back, if many are in use."""
        with self._changed:
            while self._used and (self._used >= self._most or self._bytes + size > _MAX_WAITING_BYTES):
                self._changed.wait()
            fitting = next((i for i, b in enumerate(self._free) if size <= b.nbytes <= 2 * size + 4096), None)
            if fitting is not None:
                buffer = self._free.pop(fitting)
            else:
                self._free = self._free[-1:]  # of another size: sizes rarely change
                buffer = np.empty(size, np.uint8)
            self._used += 1
            self._bytes += buffer.nbytes
            return buffer

    def give_back(self, buffer: Buffer) -> None:
        with self._changed:
            self._used -= 1
            self._bytes -= buffer.nbytes
            if buffer.nbytes <= _MAX_WAITING_BYTES // 4:
                self._free.append(buffer)
            self._changed.notify()


@dataclass(slots=True)
class _Job:
    path: Path
    entry: dict[str, Any]
    done: bool = False
    error: BaseException | None = None
    files: list[Path] = field(default_factory=list)


class PictureStore:
    """Names pictures, writes them, and lists them in index.json at `close`."""

    def __init__(self, directory: Path, *, file: str | None = None, limit: int = MAX_PICTURES, npy: bool = False,
                 depth_range: DepthRange = AUTO_RANGE, announce: Callable[[Path], None] | None = None,
                 give: Callable[[dict[str, Any]], None] | None = None) -> None:
        """`file` is the trace; `announce` is called with each path when its file is complete, in order of `add`.

        `give` gets the entries of the index instead, for a store that takes them over (`take_over`) and writes it.
        """
        self.directory = directory
        self.device = ""
        self.error_states: list[str] = []
        self._file, self._limit, self._npy, self._depth_range = file, limit, npy, depth_range
        self._announce, self._give = announce, give
        self._entries: list[dict[str, Any]] = []
        self._count = 0
        self._moment: tuple[str, int] | None = None
        self._names: set[str] = set()  # of this moment
        self._seen: dict[Target, str] = {}
        self._waiting: deque[_Job] = deque()
        self._lock = threading.Condition()
        self._error: BaseException | None = None
        threads = max(1, min(_MAX_THREADS, os.cpu_count() or 1))
        self._buffers = _Buffers(4 * threads)
        self._threads = ThreadPoolExecutor(threads, "pictures", _give_way)

    # --- adding ------------------------------------------------------------------------------------------------------
    def add(self, memory: Memory, target: Target, unit: str, number: int, place: Place,
            only_changes: bool = False) -> None:
        """Take a picture now; its file is written later.  `only_changes`: skip it if it equals that of the last call.

        Raises what went wrong with files of earlier calls, too.
        """
        self._raise_error()
        if self._npy:
            self._add_npy(memory, target, unit, number, place, only_changes)
            return
        reader = PixelReader(memory, target, depth_range=self._depth_range)
        buffer = self._buffers.take(reader.max_bytes)
        try:
            pixels = reader.read(buffer)
            if only_changes and not self._is_new(target, _identity(reader, target, pixels)):
                self._buffers.give_back(buffer)
                return
            planes = [plane.copy() for plane in read_planes(memory, target)] if target.chroma else []
            job = self._job(target, unit, number, place, ".png")
        except BaseException:
            self._buffers.give_back(buffer)
            raise
        if reader.range is not None:
            job.entry["range"] = list(reader.range)
        self._threads.submit(self._write, job, pixels, planes, buffer)

    def _add_npy(self, memory: Memory, target: Target, unit: str, number: int, place: Place,
                 only_changes: bool) -> None:
        if only_changes:
            reader = PixelReader(memory, target)
            if not self._is_new(target, _identity(reader, target, None)):
                return
        job = self._job(target, unit, number, place, ".npy")
        try:
            job.entry["digest"] = save_npy(job.path, memory, target)
            job.files.append(job.path)
            if target.chroma:
                self._write_planes(job, read_planes(memory, target))
        finally:
            self._complete(job)

    def _is_new(self, target: Target, identity: str) -> bool:
        if self._seen.get(target) == identity:
            return False
        self._seen[target] = identity
        return True

    def _job(self, target: Target, unit: str, number: int, place: Place, suffix: str) -> _Job:
        self._check_limit()
        if self._count == 0:  # here, because several threads may write first
            self.directory.mkdir(parents=True, exist_ok=True)
        self._count += 1
        path = self.directory / self._name(target, unit, number, suffix)
        entry = {"file": path.name, "unit": unit, "number": number, **place.as_json(), "kind": target.kind,
                 "address": target.address, "format": target.format.name, "width": target.width,
                 "height": target.height, "pitch": target.pitch, "tiling": target.tiling.name.lower(),
                 "level": target.level, "slice": target.slice}
        job = _Job(path, entry)
        with self._lock:
            self._waiting.append(job)
        return job

    def _check_limit(self) -> None:
        if self._count >= self._limit:
            raise DecodeError(f"{self.directory}: more than {self._limit} pictures (--max-pictures)")

    def _name(self, target: Target, unit: str, number: int, suffix: str) -> str:
        """A name that no other picture of this moment has."""
        if self._moment != (unit, number):
            self._moment = unit, number
            self._names.clear()
        name = picture_name(unit, number, target, suffix)
        again = 2
        while name in self._names:
            name = picture_name(unit, number, target, f"-{again}{suffix}")
            again += 1
        self._names.add(name)
        return name

    # --- writing, on the threads -------------------------------------------------------------------------------------
    def _write(self, job: _Job, pixels: Pixels, planes: Planes, buffer: Buffer) -> None:
        try:
            if self._error is None:
                job.entry["digest"] = save_stripped(job.path, pixels)
                job.files.append(job.path)
                self._write_planes(job, planes)
        except BaseException as e:
            job.error = e
        finally:
            self._buffers.give_back(buffer)
            self._complete(job)

    def _write_planes(self, job: _Job, planes: Planes) -> None:
        """Decoded video as it is, beside the picture of it."""
        if planes:
            path = job.path.with_suffix(".yuv")
            save_planes(path, planes)
            job.files.append(path)
            job.entry["planes"] = path.name

    def _complete(self, job: _Job) -> None:
        """Announce what is complete, in order.  The first error in this order is raised by the next call."""
        with self._lock:
            job.done = True
            while self._waiting and self._waiting[0].done:
                first = self._waiting.popleft()
                self._error = self._error or first.error
                if not first.files:
                    continue
                try:
                    first.entry["bytes"] = sum(path.stat().st_size for path in first.files)
                    self._enter(first.entry, first.files)
                except BaseException as e:
                    self._error = self._error or e
            self._lock.notify_all()

    def _enter(self, entry: dict[str, Any], files: Sequence[Path]) -> None:
        self._entries.append(entry)
        if self._give is not None:
            self._give(entry)
        if self._announce is not None:
            for path in files:
                self._announce(path)

    def take_over(self, entry: dict[str, Any]) -> None:
        """Enter a picture that another store has written to the same directory."""
        self._check_limit()
        self._count += 1
        self._enter(entry, [self.directory / name for name in files_of(entry)])

    # --- the end -----------------------------------------------------------------------------------------------------
    def _raise_error(self) -> None:
        if self._error is not None:
            error, self._error = self._error, None
            self._count = self._limit  # nothing more
            raise error

    def wait(self) -> None:
        """Until all files are written; raises what went wrong."""
        with self._lock:
            while self._waiting:
                self._lock.wait()
        self._raise_error()

    @property
    def pictures(self) -> list[dict[str, Any]]:
        """The entries of index.json of what is complete."""
        with self._lock:
            return list(self._entries)

    def forget(self) -> None:
        """Remove all pictures so far, and count from the start."""
        self.wait()
        with self._lock:
            for entry in self._entries:
                for name in files_of(entry):
                    (self.directory / name).unlink(missing_ok=True)
            self._entries.clear()
        self._count = 0

    def close(self) -> None:
        """Wait for the files, and write index.json if there is a picture or an error state."""
        self._threads.shutdown(wait=True)
        if self._give is None and (self._entries or self.error_states):
            self._write_index()
        self._raise_error()

    def _write_index(self) -> None:
        head: dict[str, Any] = {"schema": SCHEMA, "file": self._file, "device": self.device}
        if self.error_states:
            head["error_states"] = self.error_states
        with replacing(self.directory / INDEX) as file:
            file.write(json.dumps(head)[:-1].encode() + b', "pictures": [')
            for i, entry in enumerate(self._entries):
                file.write((b",\n" if i else b"\n") + json.dumps(entry).encode())
            file.write(b"]}\n")


def files_of(entry: dict[str, Any]) -> list[str]:
    """The names of the files of a picture."""
    return [entry["file"], *([entry["planes"]] if "planes" in entry else [])]


def _give_way() -> None:
    """Let this thread run after those that draw, where the system has priorities of threads."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), os.getpriority(os.PRIO_PROCESS, 0) + _NICER)


def _identity(reader: PixelReader, target: Target, pixels: Pixels | None) -> str:
    """Differs for two states of a surface that differ in any bit that counts."""
    if target.chroma or (pixels is not None and reader.is_exact):
        return pixels_digest(reader.read() if pixels is None else pixels)
    return pixels_digest(np.frombuffer(reader.raw(), np.uint8).reshape(1, 1, -1))


def count_text(pictures: Sequence[dict[str, Any]]) -> str:
    """"5 pictures", or "5 pictures (5 .png, 5 .yuv)" if there are files of several kinds."""
    suffixes: dict[str, int] = {}
    for entry in pictures:
        for name in files_of(entry):
            suffix = Path(name).suffix
            suffixes[suffix] = suffixes.get(suffix, 0) + 1
    text = "1 picture" if len(pictures) == 1 else f"{len(pictures)} pictures"
    if len(suffixes) < 2:
        return text
    return f"{text} ({', '.join(f'{count} {suffix}' for suffix, count in suffixes.items())})"
