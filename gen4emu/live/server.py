"""The device server: listens in a private directory and serves all programs connected through the shim.

One thread listens, and one serves each connection; the C core runs without the interpreter's lock.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError
from gen4emu.hw.chips import Device as Chip
from gen4emu.live import program, socket_directory, sysfs
from gen4emu.live.connection import Connection, LiveDevice, Observer, PacketSocket, executing
from gen4emu.live.rehearsal import rehearse
from gen4emu.live.shared_buffers import SharedBuffers
from gen4emu.live.summary import Capture, Hang, Totals, number

ROOT = "root"
_MAX_PATH = 107  # of a Unix socket
_MAX_WARNINGS = 100  # different ones that are printed
_MAX_HANGS = 100  # that are reported in detail
_BACKLOG = 128
_MAX_CONNECTIONS = 512  # each has a thread and, once it is used, an emulated device
_CLOSE_SECONDS = 10
_PATIENCE_SECONDS = 10.0  # i915 resets an engine after about four heartbeats of 2.5 s
_RETRY_SECONDS = 0.05
_CREDENTIALS = struct.Struct("3i")
# The default of 5 ms is too long for a thread that waits while the commands of another connection are parsed.
_SWITCH_SECONDS = 0.0005

ObserverFactory = Callable[[Connection, LiveDevice], Observer]


class ServerError(Gen4emuError):
    """The server cannot be set up."""


class Server:
    """Serves one kind of GPU from `directory`, by default a temporary one."""

    def __init__(self, chip: Chip, options: Options | None = None, *, directory: Path | None = None,
                 quiet: bool = False, verbose: bool = False, max_connections: int = _MAX_CONNECTIONS,
                 patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self.chip = chip
        self.options = replace(options or Options(), strict_pte=True)
        self.quiet = quiet  # print errors only
        self.verbose = verbose
        self.patience_seconds = patience_seconds  # with a batch that only a write by its program can end
        self.shared = SharedBuffers()
        self.totals = Totals()
        self.error_state: Callable[[Device, str, str, int], Path | None] | None = None  # returns the file
        self.records_buffers = False
        self.finds_targets = False
        self.keeps_directory = False  # another process removes it
        self._max_connections = max_connections
        self._factories: list[ObserverFactory] = []
        self._warnings: set[str] = set()
        self._lock = threading.Lock()
        self._connections: set[Connection] = set()
        self._number = 0
        self._closing = False
        self.directory = socket_directory.create(directory)
        try:
            sysfs.build(self.directory / ROOT, chip)
            program.place_shims(self.directory)
            self._listener = self._listen()
        except BaseException:
            self.remove_directory()
            raise
        self._thread = threading.Thread(target=self._accept, name="listener", daemon=True)

    def _listen(self) -> socket.socket:
        path = os.fspath(self.directory / socket_directory.SOCKET)
        if len(os.fsencode(path)) > _MAX_PATH:
            raise ServerError(f"{path}: too long for the name of a socket ({_MAX_PATH} bytes)")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(_BACKLOG)
        return listener

    def add_observer(self, factory: ObserverFactory, buffers: bool = False, targets: bool = False) -> None:
        """Before `start`: create an observer for each connection that uses the device.

        With `buffers`, observers receive the buffers of each submission; with `targets`, devices keep track of their
        render targets.
        """
        self._factories.append(factory)
        self.records_buffers |= buffers
        self.finds_targets |= targets

    def start(self) -> None:
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._thread.start()

    @property
    def error_file(self) -> Path:
        """The error state that programs see."""
        return self.directory / ROOT / sysfs.ERROR

    def observers(self, connection: Connection, device: LiveDevice) -> list[Observer]:
        return [factory(connection, device) for factory in self._factories]

    # --- connections --------------------------------------------------------------------------------------------------
    def _accept(self) -> None:
        lib.g4_heap_keep()
        lib.g4_code_provide()
        rehearse(self.chip)
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                if self._closing:
                    return
                time.sleep(_RETRY_SECONDS)  # the client has disconnected, or the process is out of descriptors
                continue
            if not _same_user(accepted) or not self._admit(accepted):
                accepted.close()

    def _admit(self, accepted: socket.socket) -> bool:
        """Start a thread for a connection; false: it is refused."""
        connection = None
        try:
            with self._lock:
                if self._closing:
                    return False
                if len(self._connections) < self._max_connections:
                    self._number += 1
                    connection = Connection(self, PacketSocket(accepted), self._number)
                    self._connections.add(connection)
            if connection is not None:
                connection.thread.start()
                return True
            refusal = f"{self._max_connections} are open already"
        except (RuntimeError, MemoryError) as e:  # a limit of the system on threads, processes or memory
            if connection is not None:
                with self._lock:
                    self._connections.discard(connection)
            refusal = str(e) or "out of memory"
        self.warn_once(f"connection refused: {refusal}")
        return False

    def connection_ended(self, connection: Connection) -> None:
        """Add a connection's counters to the totals; its device must still exist."""
        device, activity = connection.device, connection.activity
        with self._lock:
            self.totals.opened += activity.opened
            self.totals.used += activity.used
            if device is not None:
                self._add(connection, device)
        if self.verbose and device is not None:
            for complaint in _complaints(device):
                self.log(f"{connection}: {complaint}")
        self.log_verbose(f"{connection}: closed the device after {number(activity.batches, 'batch', 'batches')}")

    def connection_closed(self, connection: Connection) -> None:
        """Forget a connection that holds nothing any more: `close` waits for all others."""
        with self._lock:
            self._connections.discard(connection)

    def _add(self, connection: Connection, device: LiveDevice) -> None:
        totals, activity = self.totals, connection.activity
        totals.connections += 1
        totals.batches += activity.batches
        totals.hangs += activity.hangs
        totals.marks += activity.marks
        totals.seconds += activity.seconds
        totals.counts.update(device.counts())
        totals.hierarchical_depth.update(device.hierarchical_depth_counts())
        totals.complaints.update(device.findings.count)
        totals.complaints.update({kind.text: count for kind, count in device.faults.counts.items()})
        totals.events.update({event.text: event.count for event in device.events()})

    @property
    def connections(self) -> int:
        """The number of open connections."""
        with self._lock:
            return len(self._connections)

    # --- messages, on standard error ----------------------------------------------------------------------------------
    def log_always(self, message: str) -> None:
        """Print a message even if the server is quiet."""
        sys.stderr.write(f"gen4emu: {message}\n")

    def log(self, message: str) -> None:
        """Print a message unless the server is quiet."""
        if not self.quiet:
            self.log_always(message)

    def log_verbose(self, message: str) -> None:
        """Print a message if the server is verbose."""
        if self.verbose:
            self.log(message)

    def warn_once(self, message: str, connection: Connection | None = None) -> None:
        """Print a warning, but each one only once unless the server is verbose."""
        with self._lock:
            known = message in self._warnings or len(self._warnings) >= _MAX_WARNINGS
            if known and not self.verbose:
                return
            self._warnings.add(message)
        self.log(message if connection is None else f"{connection}: {message}")

    def error(self, message: str) -> None:
        """Report that something the user requested could not be done; the exit status becomes 1."""
        self.totals.errors.append(message)
        self.log_always(message)

    def report_hang(self, connection: Connection, device: LiveDevice, reason: str) -> None:
        path = None
        if self.error_state is not None:
            path = self.error_state(executing(device), reason, connection.program, connection.pid)
        with self._lock:
            if len(self.totals.hang_reports) < _MAX_HANGS:
                self.totals.hang_reports.append(Hang(connection.program, connection.pid, reason, path))
        self.log_always(f"{connection}: {reason}" + ("" if path is None else f"; error state in {path}"))

    def add_capture(self, path: Path, program: str, submissions: int) -> None:
        """Report a complete trace."""
        with self._lock:
            self.totals.captures.append(Capture(path, program, submissions, path.stat().st_size))
        self.log(f"{path}: {number(submissions, 'submission')} of {program}")

    # --- closing ------------------------------------------------------------------------------------------------------
    def close(self) -> None:
        """Finish the submissions that have arrived, then end all connections and remove the directory."""
        self._closing = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.shut_down_reading()
        for connection in connections:
            connection.thread.join(_CLOSE_SECONDS)
            connection.shut_down()  # a client that reads no answers would block the thread forever
            connection.thread.join()
        if not self.keeps_directory:
            self.remove_directory()

    def close_listener(self) -> None:
        """Of this process: another one has the same socket."""
        self._listener.close()

    def remove_directory(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)  # missing, or a client has written into it: not an error

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _complaints(device: LiveDevice) -> Iterator[str]:
    """Unmodelled or invalid operations, one line for each kind."""
    yield from (f"{text}: {number(count, 'time')}" for text, count in device.findings.count.items())
    yield from (f"{kind.text}: {number(count, 'time')}" for kind, count in device.faults.counts.items())
    yield from (str(event) for event in device.events() if not event.is_note)


def _same_user(accepted: socket.socket) -> bool:
    credentials = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return bool(user == os.geteuid())
