"""A device server for the shim's tests: the whole protocol, but only the commands that the tests need.

Batches are lists of dwords: MI_NOOP, MI_STORE_DATA_IMM, MI_BATCH_BUFFER_END, and the artificial commands of
tests.live.shim.drm.  The server records all packets.
"""

from __future__ import annotations

import mmap
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.hw.chips import BY_NAME
from gen4emu.live import sysfs
from gen4emu.live.connection import PacketSocket, chip_facts
from gen4emu.live.program import additions
from tests.live.shim.drm import DIE, END, GATE, HANG, SLEEP, STORE, gate_of

ROOT = Path(__file__).parents[3]
TIMESTAMP = 0x123456789
PAGE = 4096


class Died(Exception):
    """A command has requested the end of the server."""


class File:
    def __init__(self, descriptor: int, size: int) -> None:
        self.map = mmap.mmap(descriptor, size)
        status = os.fstat(descriptor)
        self.identity = status.st_dev, status.st_ino


class Connection:
    """One open device file."""

    def __init__(self, server: FakeServer, accepted: socket.socket) -> None:
        self.server = server
        self.packets = PacketSocket(accepted)
        self.files: dict[int, File] = {}
        self.pages: dict[int, tuple[int, int]] = {}  # page: file, offset
        self.contexts: set[int] = set()
        self.objects: list[Any] = []
        self.binds: list[tuple[int, int, int, int]] = []  # address, file, offset, size
        self.execs: list[dict[str, Any]] = []
        self.marks: list[tuple[int, ...]] = []
        self.notes: list[str] = []
        self.used = 0
        self.hello: dict[str, Any] = {}
        self.progress: int | None = None  # the place in the arena at which it is reported
        self.results = 0  # packets
        self.open = True

    def serve(self) -> None:
        try:
            while kind := self.packets.receive():
                self._handle(kind)
        except Died:
            self.server.stop()
        except OSError:
            pass
        except Exception as e:
            self.server.errors.append(e)
        finally:
            self.open = False
            self.packets.close()

    def _handle(self, kind: int) -> None:
        if kind == lib.G4_LIVE_HELLO:
            hello = self.packets.packet("hello")
            self.hello = {"pid": hello.pid, "program": ffi.string(hello.program).decode(), "size": hello.arena_size}
            self._add(0, hello.arena_size)
            if hello.has_progress and self.server.reports_progress:
                self.progress = int(hello.progress)
            self._answer("welcome", lib.G4_LIVE_WELCOME, version=lib.G4_LIVE_VERSION,
                         records_buffers=self.server.records_buffers,
                         chip=chip_facts(self.server.part) | {"revision": 3, "gtt_size": self.server.gtt_size})
        elif kind == lib.G4_LIVE_FILE:
            packet = self.packets.packet("file")
            if packet.size:
                self._add(packet.file, packet.size)
            else:
                assert not any(file == packet.file for file, _ in self.pages.values())
                del self.files[packet.file]
        elif kind == lib.G4_LIVE_BIND:
            items, count = self.packets.packet_array("bind", "range")
            for r in items[0:count]:
                self._bind(r.address, r.file, r.offset, r.size)
        elif kind == lib.G4_LIVE_OBJECTS:
            items, count = self.packets.packet_array("objects", "object")
            self.objects += [(o.address, o.flags, o.size, o.tiling, o.pitch) for o in items[0:count]]
        elif kind == lib.G4_LIVE_EXEC:
            self._exec(self.packets.packet("exec"))
        elif kind == lib.G4_LIVE_CONTEXT:
            packet = self.packets.packet("context")
            (self.contexts.add if packet.alive else self.contexts.remove)(packet.context)
        elif kind == lib.G4_LIVE_REGISTER:
            self._answer("register", kind, offset=self.packets.packet("register").offset, value=TIMESTAMP)
        elif kind in (lib.G4_LIVE_SHARE, lib.G4_LIVE_FIND):
            self._share(kind)
        elif kind == lib.G4_LIVE_MARK:
            m = self.packets.packet("mark")
            self.marks.append((m.address, m.width, m.height, m.pitch, m.tiling, m.fourcc))
        elif kind == lib.G4_LIVE_NOTE:
            self.notes.append(ffi.string(self.packets.packet("note").text).decode())
        elif kind == lib.G4_LIVE_FENCE:
            descriptor = self.packets.take_descriptor()
            assert descriptor is not None
            os.close(descriptor)
        elif kind == lib.G4_LIVE_USED:
            self.used += 1
        else:
            raise AssertionError(f"a packet of type {kind}")

    def _answer(self, name: str, kind: int, descriptor: int | None = None, /, **values: Any) -> None:
        header = {"type": kind, "sequence": self.packets.sequence}
        self.packets.send(ffi.new(f"struct g4_live_{name} *", {"header": header, **values}), descriptor)

    def _add(self, number: int, size: int) -> None:
        descriptor = self.packets.take_descriptor()
        assert descriptor is not None
        self.files[number] = File(descriptor, size)
        os.close(descriptor)

    def _bind(self, address: int, file: int, offset: int, size: int) -> None:
        assert (address | offset | size) % PAGE == 0
        assert address + size <= self.server.gtt_size
        self.binds.append((address, file, offset, size))
        for at in range(0, size, PAGE):
            if file == lib.G4_LIVE_UNBOUND:
                self.pages.pop((address + at) // PAGE, None)
            else:
                assert offset + size <= len(self.files[file].map)
                self.pages[(address + at) // PAGE] = file, offset + at

    # --- commands -----------------------------------------------------------------------------------------------------
    def _place(self, address: int) -> tuple[mmap.mmap, int]:
        file, offset = self.pages[address // PAGE]
        return self.files[file].map, offset + address % PAGE

    def dword(self, address: int) -> int:
        memory, offset = self._place(address)
        return int(struct.unpack_from("<I", memory, offset)[0])

    def _exec(self, packet: Any) -> None:
        sequence, context, address, end = self.packets.sequence, packet.context, packet.address, \
            packet.address + packet.length
        words = [self.dword(at) for at in range(address, min(end, address + 64), 4)]
        self.execs.append({"context": context, "engine": packet.engine, "slot": packet.slot, "address": address,
                           "length": packet.length, "objects": self.objects, "words": words})
        assert context == 0 or context in self.contexts
        self.objects = []
        status = self._run(address, end)
        if self.progress is not None and not self._report(self.progress, sequence, status):
            return
        self.results += 1
        self.packets.send(ffi.new("struct g4_live_result *", {
            "header": {"type": lib.G4_LIVE_RESULT, "sequence": sequence}, "status": status, "context": context}))

    def _report(self, place: int, sequence: int, status: int) -> bool:
        """Report the end of a batch in shared memory; true: a packet is needed, too."""
        arena = self.files[0].map
        failed = struct.unpack_from("<I", arena, place + 4)[0]
        if status != lib.G4_LIVE_DONE:
            struct.pack_into("<I", arena, place + 4, failed + 1)
            return True
        lie = self.server.lies_about_progress
        struct.pack_into("<I", arena, place, lie if lie is not None else sequence)
        return lie is not None or bool(struct.unpack_from("<I", arena, place + 8)[0])

    def _run(self, address: int, end: int) -> int:
        while address < end:
            word = self.dword(address)
            if word == END:
                break
            if word == STORE:
                target, value = self.dword(address + 8), self.dword(address + 12)
                memory, offset = self._place(target)
                struct.pack_into("<I", memory, offset, value)
                address += 12
            elif word & 0xFF000000 == SLEEP:
                time.sleep((word & 0xFFFFFF) / 1000)
            elif word == GATE:
                self.server.until(self.server.gate.exists, 60)
            elif word == HANG:
                return int(lib.G4_LIVE_HANG)
            elif word == DIE:
                raise Died
            address += 4
        return int(lib.G4_LIVE_DONE)

    def _share(self, kind: int) -> None:
        packet = self.packets.packet("shared")
        descriptor = self.packets.take_descriptor()
        shared = self.server.shared
        found: dict[str, Any] | None = None
        if descriptor is not None:
            status = os.fstat(descriptor)
            identity = status.st_dev, status.st_ino
            if kind == lib.G4_LIVE_SHARE:
                found = shared.setdefault(identity, {"name": 0, "file": os.dup(descriptor)})
                found.update(tiling=packet.tiling, pitch=packet.pitch, size=packet.size)
                if packet.name and not found["name"]:
                    found["name"] = len(shared)
            else:
                found = shared.get(identity)
            os.close(descriptor)
        else:
            found = next((s for s in shared.values() if s["name"] == packet.name), None)
        if found is None:
            self._answer("shared", lib.G4_LIVE_SHARED, status=2)
        else:
            self._answer("shared", lib.G4_LIVE_SHARED, found["file"] if descriptor is None else None,
                         **{k: found[k] for k in ("name", "tiling", "pitch", "size")})


class FakeServer:
    """Listens in a directory with the tree in which programs find a GPU."""

    def __init__(self, directory: Path, device: str = "g45", gtt_size: int = 0, records_buffers: bool = True) -> None:
        self.directory, self.part, self.records_buffers = directory, BY_NAME[device], records_buffers
        self.gtt_size = gtt_size or self.part.address_space_bytes
        self.reports_progress = True
        self.lies_about_progress: int | None = None  # what it says instead of a sequence number
        self.connections: list[Connection] = []
        self.shared: dict[tuple[int, int], dict[str, Any]] = {}
        self.gate = gate_of(directory)
        self.errors: list[Exception] = []
        self.threads: list[threading.Thread] = []
        sysfs.build(directory / "root", self.part)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(os.fspath(directory / "socket"))
        self.socket.listen()
        self._start(self._accept)

    def _start(self, body: Callable[[], None]) -> None:
        thread = threading.Thread(target=body, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection = Connection(self, self.socket.accept()[0])
                self.connections.append(connection)
                self._start(connection.serve)

    def stop(self) -> None:
        """End without notice, as if killed."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        for connection in self.connections:
            connection.packets.shut_down()

    def __enter__(self) -> FakeServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.gate.touch()
        self.stop()
        for thread in self.threads:
            if thread is not threading.current_thread():
                thread.join(10)
        for shared in self.shared.values():
            os.close(shared["file"])
        assert not self.errors, self.errors

    # --- clients ------------------------------------------------------------------------------------------------------
    def environment(self) -> dict[str, str]:
        return {**os.environ, **additions(self.directory, os.environ), "PYTHONPATH": os.fspath(ROOT),
                "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, command: list[str], **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(command, env=self.environment(), text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, **options)

    def call(self, body: Callable[..., None]) -> None:
        """Run a function of a test file under the shim, until the server has handled everything."""
        self.finish(self.start_function(body))
        self.until(lambda: not any(connection.open for connection in self.connections))

    def start_function(self, body: Callable[..., None]) -> subprocess.Popen[str]:
        return self.start([sys.executable, "-S", os.fspath(Path(__file__).with_name("child.py")),
                           body.__code__.co_filename, body.__name__])

    @staticmethod
    def finish(client: subprocess.Popen[str], timeout: float = 60) -> str:
        """Wait for a client, which must exit with status 0; return its output."""
        try:
            output, _ = client.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            client.kill()
            output, _ = client.communicate()
            raise AssertionError(f"the client did not end\n{output}") from None
        assert client.returncode == 0, f"status {client.returncode}\n{output}"
        return output

    @staticmethod
    def until(condition: Callable[[], bool], timeout: float = 20) -> None:
        deadline = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < deadline
            time.sleep(0.005)

    @property
    def execs(self) -> list[dict[str, Any]]:
        return [e for c in self.connections for e in c.execs]

    @property
    def notes(self) -> list[str]:
        return [n for c in self.connections for n in c.notes]
