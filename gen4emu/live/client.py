"""One connection of the device server: an open device file of a program, with a device of its own (spec/80 3.7).

Packets are handled in order by one thread.  Whatever the other end does wrong ends this connection and nothing else.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gen4emu._native import ffi, lib
from gen4emu.device.device import Device
from gen4emu.errors import Gen4emuError
from gen4emu.live.contexts import RING_ADDRESS, Contexts
from gen4emu.live.link import Link, ProtocolError, text
from gen4emu.live.observers import BufferUse, Mark, Observer
from gen4emu.live.shared import Buffer
from gen4emu.live.space import Space, check_memory
from gen4emu.trace.events import Engine, Submission

if TYPE_CHECKING:
    from gen4emu.live.server import Server

_ENGINES = {int(lib.G4_LIVE_RENDER): Engine.RENDER, int(lib.G4_LIVE_VIDEO): Engine.BSD}


@dataclass(slots=True)
class Work:
    """What a connection did."""

    opened: bool = False
    used: bool = False  # a driver works with the device
    batches: int = 0
    hangs: int = 0
    marks: int = 0
    seconds: float = 0.0  # in batches


class Client:
    """Serves one connection until it ends."""

    def __init__(self, server: Server, link: Link, number: int) -> None:
        self._server = server
        self._link = link
        self.number = number
        self.pid = 0
        self.program = "?"
        self.work = Work()
        self.device: Device | None = None
        self._space = Space(server.part.gtt_entries)
        self._contexts = Contexts(server.part.gen)
        self._observers: list[Observer] = []
        self._objects: list[BufferUse] = []
        self._result = ffi.new("struct g4_live_result *")
        self._result.header.type = lib.G4_LIVE_RESULT
        self._handlers: dict[int, Callable[[], None]] = {
            lib.G4_LIVE_FILE: self._file, lib.G4_LIVE_BIND: self._bind, lib.G4_LIVE_OBJECTS: self._buffers,
            lib.G4_LIVE_EXEC: self._exec, lib.G4_LIVE_CONTEXT: self._context, lib.G4_LIVE_REGISTER: self._register,
            lib.G4_LIVE_SHARE: self._share, lib.G4_LIVE_FIND: self._find, lib.G4_LIVE_MARK: self._mark,
            lib.G4_LIVE_NOTE: self._note, lib.G4_LIVE_USED: self._used,
        }
        self.thread = threading.Thread(target=self._run, name=f"client {number}", daemon=True)

    # --- life --------------------------------------------------------------------------------------------------------
    def _run(self) -> None:
        try:
            if self._hello():
                self._serve()
        except ProtocolError as e:
            self._server.complain(f"{self}: connection closed: {e}")
        except OSError as e:
            self._server.tell(f"{self}: ended before it read an answer ({e})")
        except Exception:
            self._server.complain(f"{self}: {traceback.format_exc()}")
        finally:
            self._end()

    def _serve(self) -> None:
        handlers, receive = self._handlers, self._link.receive
        while kind := receive():
            handler = handlers.get(kind)
            if handler is None:
                raise ProtocolError(f"unknown packet type {kind}")
            handler()

    def _end(self) -> None:
        """Give everything back, and the server the sums."""
        try:
            for observer in self._observers:
                observer.close()
        except Exception as e:
            self._server.fail(f"{self}: {e}")
        self._server.shared.leave(self.number)
        self._server.ended(self)
        if self.device is not None:
            self.device.close()
            self.device = None
        self._space.close()
        self._link.close()

    def hang_up(self) -> None:
        self._link.hang_up()

    def cut(self) -> None:
        self._link.cut()

    def __str__(self) -> str:
        return f"{self.program}[{self.pid}]"

    # --- packets -----------------------------------------------------------------------------------------------------
    def _hello(self) -> bool:
        kind = self._link.receive()
        if kind == 0:
            return False
        if kind != lib.G4_LIVE_HELLO:
            raise ProtocolError(f"packet type {kind} instead of a hello")
        hello = self._link.packet("hello")
        self.pid, self.program = int(hello.pid), text(hello.program) or "?"
        if hello.version != lib.G4_LIVE_VERSION:
            raise ProtocolError(f"the shim has protocol version {hello.version}, the server {lib.G4_LIVE_VERSION}")
        self._add_file(0, int(hello.arena_size))
        part = self._server.part
        welcome = ffi.new("struct g4_live_welcome *", {
            "header": {"type": lib.G4_LIVE_WELCOME, "sequence": self._link.sequence}, "version": lib.G4_LIVE_VERSION,
            "pci_id": part.pci_id, "revision": self._server.revision, "strict": self._server.options.strict,
            "gtt_size": part.gtt_entries * 4096})
        self.work.opened = True
        self._server.tell(f"{self}: opened the device")
        self._link.send(welcome)
        return True

    def _add_file(self, number: int, size: int) -> None:
        descriptor = self._link.take_descriptor()
        if descriptor is None:
            raise ProtocolError(f"file {number} without a descriptor")
        with _closing(descriptor):
            self._space.add(number, descriptor, size)

    def _file(self) -> None:
        packet = self._link.packet("file")
        if packet.size:
            self._add_file(int(packet.file), int(packet.size))
            return
        inode = self._space.remove(int(packet.file))
        if inode is not None:
            self._server.shared.leave(self.number, inode)

    def _bind(self) -> None:
        self._running()
        self._space.bind(*self._link.counted("bind", "range"))

    def _buffers(self) -> None:
        """Kept for those who look at submissions."""
        if not self._server.wants_objects:
            return
        items, count = self._link.counted("objects", "object")
        for i in range(count):
            o = items[i]
            self._objects.append(BufferUse(o.address, o.size, bool(o.flags & lib.G4_LIVE_OBJECT_WRITTEN),
                                           bool(o.flags & lib.G4_LIVE_OBJECT_CAPTURE), o.tiling, o.pitch))
        if len(self._objects) > lib.G4_LIVE_MAX_FILES:
            raise ProtocolError("too many buffers for one batch")

    def _exec(self) -> None:
        packet = self._link.packet("exec")
        self._used()
        sequence, context, address = self._link.sequence, int(packet.context), int(packet.address)
        device = self._running()
        engine = _ENGINES.get(int(packet.engine))
        if engine is None or (engine is not Engine.RENDER and not device.info.has_bsd):
            raise ProtocolError(f"exec: unknown engine {packet.engine}")
        if address & 3:
            raise ProtocolError(f"exec: unaligned batch at 0x{address:08x}")
        ring = self._contexts.ring(context, address) if engine is Engine.RENDER else self._contexts.bare_ring(address)
        status = self._execute(device, Submission(0, engine, ring, RING_ADDRESS), context)
        self._objects = []
        self._result.header.sequence = sequence
        self._result.status, self._result.context = status, context
        self._link.send(self._result)

    def _execute(self, device: Device, submission: Submission, context: int) -> int:
        for observer in self._observers:
            observer.before(submission, self._objects)
        self.work.batches += 1
        started = time.perf_counter()
        status = int(lib.G4_LIVE_DONE)
        try:
            device.submit(submission)
        except Gen4emuError as e:
            status = int(lib.G4_LIVE_HANG)
            self.work.hangs += 1
            self._server.hang(self, device, str(e))
            device.reset()
            self._contexts.reset(context)
        self.work.seconds += time.perf_counter() - started
        for observer in self._observers:
            observer.after(submission, self._objects)
        return status

    def _context(self) -> None:
        packet = self._link.packet("context")
        if packet.alive:
            self._contexts.create(int(packet.context))
        else:
            self._contexts.destroy(int(packet.context))

    def _register(self) -> None:
        """Only the timestamp, with the bit of the interface's workaround (spec/80 5.1)."""
        packet = self._link.packet("register")
        offset = int(packet.offset)
        answer = ffi.new("struct g4_live_register *", {
            "header": {"type": lib.G4_LIVE_REGISTER, "sequence": self._link.sequence}, "offset": offset,
            "status": lib.G4_LIVE_REFUSED})
        registers = self._running().registers
        time_offset = registers.offset("TIMESTAMP")
        if offset & ~1 == time_offset:
            answer.status = lib.G4_LIVE_DONE
            answer.value = registers.read(time_offset) | registers.read(time_offset + 4) << 32
        self._link.send(answer)

    def _share(self) -> None:
        packet = self._link.packet("shared")
        size, tiling, pitch = int(packet.size), int(packet.tiling), int(packet.pitch)
        descriptor = self._link.take_descriptor()
        if descriptor is None:
            raise ProtocolError("share without a descriptor")
        with _closing(descriptor):
            inode = check_memory(descriptor, size)
            buffer = self._server.shared.share(self.number, descriptor, inode, size, tiling, pitch,
                                               bool(packet.name))
        self._link.send(self._answer(buffer))

    def _find(self) -> None:
        packet = self._link.packet("shared")
        descriptor = self._link.take_descriptor()
        if descriptor is None:
            found = self._server.shared.find(self.number, int(packet.name), None)
            self._link.send(self._answer(found), None if found is None else found.descriptor)
            return
        with _closing(descriptor):
            try:
                inode = check_memory(descriptor, 4096)
            except ProtocolError:
                found = None  # a program may look for any descriptor
            else:
                found = self._server.shared.find(self.number, 0, inode)
        self._link.send(self._answer(found))

    def _answer(self, buffer: Buffer | None) -> Any:
        answer = ffi.new("struct g4_live_shared *", {
            "header": {"type": lib.G4_LIVE_SHARED, "sequence": self._link.sequence}, "status": lib.G4_LIVE_REFUSED})
        if buffer is not None:
            answer.status = lib.G4_LIVE_DONE
            answer.name, answer.tiling, answer.pitch, answer.size = (
                buffer.name, buffer.tiling, buffer.pitch, buffer.size)
        return answer

    def _mark(self) -> None:
        packet = self._link.packet("mark")
        mark = Mark(packet.address, packet.width, packet.height, packet.pitch, packet.tiling, packet.fourcc)
        self.work.marks += 1
        self._running()
        for observer in self._observers:
            observer.mark(mark)

    def _note(self) -> None:
        self._server.note(text(self._link.packet("note").text), self)

    def _used(self) -> None:
        self.work.used = True

    # --- the device --------------------------------------------------------------------------------------------------
    def _running(self) -> Device:
        """The device, made when it is first needed: programs open device files only to look."""
        if self.device is None:
            self.device = Device(self._server.part, self._server.options)
            self._space.attach(self.device.memory)
            self._observers = self._server.observers(self, self.device)
            self.device.finds_targets = any(o.wants_targets for o in self._observers)
        return self.device


@contextmanager
def _closing(descriptor: int) -> Iterator[None]:
    """A descriptor that is closed at the end of the block."""
    try:
        yield
    finally:
        os.close(descriptor)
