"""The device server: listens in a private directory and serves every program that the shim brings (spec/80 3.7, 3.9).

One thread listens, one serves each connection; the C core runs without the interpreter's lock.
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

from gen4emu.device.device import Device, Options
from gen4emu.errors import Gen4emuError
from gen4emu.hw.chips import Device as Part
from gen4emu.live import directory as directories
from gen4emu.live import fake_tree, program
from gen4emu.live.client import Client
from gen4emu.live.link import Link
from gen4emu.live.observers import Observer
from gen4emu.live.shared import SharedBuffers
from gen4emu.live.totals import Capture, Hang, Totals, number

ROOT = "root"
_MAX_PATH = 107  # of a Unix socket
_MAX_NOTES = 100
_BACKLOG = 128
_MAX_CONNECTIONS = 512  # each has a thread, and a device once it is used
_PATIENCE_SECONDS = 10
_RETRY_SECONDS = 0.05
_CREDENTIALS = struct.Struct("3i")
# A thread that only waits for the interpreter's lock must not wait for 5 ms while another client's commands are parsed.
_SWITCH_SECONDS = 0.0005

Watch = Callable[[Client, Device], Observer]


class ServerError(Gen4emuError):
    """The server cannot be set up."""


class Server:
    """Serves one kind of GPU from `directory`, which it makes when none is given."""

    def __init__(self, part: Part, options: Options | None = None, *, directory: Path | None = None,
                 quiet: bool = False, verbose: bool = False, max_connections: int = _MAX_CONNECTIONS) -> None:
        self.part = part
        self.options = replace(options or Options(), strict_pte=True)
        self.revision = fake_tree.revision(part)
        self.quiet = quiet  # errors only
        self.verbose = verbose
        self.shared = SharedBuffers()
        self.totals = Totals()
        self.hangs: list[Hang] = []  # the first ones
        self.error_state: Callable[[Device, str, str, int], Path | None] | None = None  # gives the file's name
        self.captures: list[Capture] = []
        self.failures: list[str] = []
        self.wants_objects = False
        self._max_connections = max_connections
        self._watches: list[Watch] = []
        self._notes: set[str] = set()
        self._lock = threading.Lock()
        self._clients: set[Client] = set()
        self._number = 0
        self._closing = False
        self.directory = directories.make(directory)
        try:
            fake_tree.build(self.directory / ROOT, part)
            program.place_shims(self.directory)
            self._listener = self._listen()
        except BaseException:
            self._remove()
            raise
        self._thread = threading.Thread(target=self._accept, name="listener", daemon=True)

    def _listen(self) -> socket.socket:
        path = os.fspath(self.directory / directories.SOCKET)
        if len(os.fsencode(path)) > _MAX_PATH:
            raise ServerError(f"{path}: too long for the name of a socket ({_MAX_PATH} bytes)")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(_BACKLOG)
        return listener

    def watch(self, watch: Watch, objects: bool = False) -> None:
        """Before `start`: an observer for each connection that uses the device, with `objects` each batch's buffers."""
        self._watches.append(watch)
        self.wants_objects |= objects

    def start(self) -> None:
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._thread.start()

    def observers(self, client: Client, device: Device) -> list[Observer]:
        return [watch(client, device) for watch in self._watches]

    # --- connections -------------------------------------------------------------------------------------------------
    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                if self._closing:
                    return
                time.sleep(_RETRY_SECONDS)  # it was gone before it was here, or there is no descriptor left for it
                continue
            if not _same_user(connection):
                connection.close()
                continue
            if not self._admit(connection):
                connection.close()

    def _admit(self, connection: socket.socket) -> bool:
        """Give a connection a thread; false: it is refused."""
        client = None
        try:
            with self._lock:
                if self._closing:
                    return False
                if len(self._clients) < self._max_connections:
                    self._number += 1
                    client = Client(self, Link(connection), self._number)
                    self._clients.add(client)
            if client is not None:
                client.thread.start()
                return True
            refusal = f"{self._max_connections} are open already"
        except (RuntimeError, MemoryError) as e:  # a limit of the system on threads, processes or memory
            if client is not None:
                with self._lock:
                    self._clients.discard(client)
            refusal = str(e) or "out of memory"
        self.note(f"connection refused: {refusal}")
        return False

    def ended(self, client: Client) -> None:
        """A connection's thread is done; its device is still there."""
        with self._lock:
            self._clients.discard(client)
            self.totals.opened += client.work.opened
            self.totals.used += client.work.used
            if client.device is not None:
                self._add(client, client.device)
        if self.verbose and client.device is not None:
            for complaint in _complaints(client.device):
                self.say(f"{client}: {complaint}")
        self.tell(f"{client}: closed the device after {number(client.work.batches, 'batch', 'batches')}")

    def _add(self, client: Client, device: Device) -> None:
        totals, work = self.totals, client.work
        totals.connections += 1
        totals.batches += work.batches
        totals.hangs += work.hangs
        totals.marks += work.marks
        totals.seconds += work.seconds
        totals.counts.update(device.counts())
        totals.complaints.update(device.findings.count)
        totals.complaints.update({kind.text: count for kind, count in device.faults.counts.items()})
        totals.events.update({event.text: event.count for event in device.events()})

    @property
    def clients(self) -> int:
        """How many connections there are."""
        with self._lock:
            return len(self._clients)

    # --- talk --------------------------------------------------------------------------------------------------------
    def complain(self, what: str) -> None:
        """An error."""
        sys.stderr.write(f"gen4emu: {what}\n")

    def say(self, what: str) -> None:
        if not self.quiet:
            self.complain(what)

    def tell(self, what: str) -> None:
        if self.verbose:
            self.say(what)

    def note(self, what: str, client: Client | None = None) -> None:
        """Say the same text once only, unless verbose."""
        with self._lock:
            known = what in self._notes or len(self._notes) >= _MAX_NOTES
            if known and not self.verbose:
                return
            self._notes.add(what)
        self.say(what if client is None else f"{client}: {what}")

    def fail(self, what: str) -> None:
        """Something that the user wanted could not be done."""
        self.failures.append(what)
        self.complain(what)

    def hang(self, client: Client, device: Device, what: str) -> None:
        path = None if self.error_state is None else self.error_state(device, what, client.program, client.pid)
        with self._lock:
            if len(self.hangs) < _MAX_NOTES:
                self.hangs.append(Hang(client.program, client.pid, what, path))
        self.complain(f"{client}: {what}" + ("" if path is None else f"; error state in {path}"))

    def captured(self, path: Path, program: str, submissions: int) -> None:
        """A trace is complete."""
        with self._lock:
            self.captures.append(Capture(path, program, submissions, path.stat().st_size))
        self.say(f"{path}: {number(submissions, 'submission')} of {program}")

    # --- life --------------------------------------------------------------------------------------------------------
    def close(self) -> None:
        """Let what was submitted run to its end, then take everything down."""
        self._closing = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            client.hang_up()
        for client in clients:
            client.thread.join(_PATIENCE_SECONDS)
            client.cut()  # one that reads no answers would keep its thread for ever
            client.thread.join()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)  # gone already, or a client's file: nothing worth failing for

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def _complaints(device: Device) -> Iterator[str]:
    """Unmodelled or invalid operations, a line a kind."""
    yield from (f"{what}: {number(count, 'time')}" for what, count in device.findings.count.items())
    yield from (f"{kind.text}: {number(count, 'time')}" for kind, count in device.faults.counts.items())
    yield from (str(event) for event in device.events() if not event.is_note)


def _same_user(connection: socket.socket) -> bool:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return bool(user == os.geteuid())
