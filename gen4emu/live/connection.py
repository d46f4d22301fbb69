"""One connection of the device server: an open device file of a program, with an emulated device of its own.

One thread handles the packets of native/shim/protocol.h in order.  Invalid packets end this connection and affect
nothing else.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from typing import Any, Protocol

from gen4emu._native import ffi, lib
from gen4emu.device.device import Device
from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.device.options import Options
from gen4emu.errors import FieldError, Gen4emuError, NotExecutedError
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.chips import Device as Chip
from gen4emu.hw.gen import Gen
from gen4emu.live.acknowledger import Acknowledger
from gen4emu.live.buffer_memory import BufferMemory
from gen4emu.live.contexts import RING_ADDRESS, InvalidContext, contexts_of
from gen4emu.live.shared_buffers import SharedBuffer, SharedBuffers
from gen4emu.trace import gl_notes
from gen4emu.trace.events import Engine, Submission
from gen4emu.trace.gl_notes import GlNote

_HEADER_BYTES = ffi.sizeof("struct g4_live_header")
_PROGRESS_BYTES = ffi.sizeof("struct g4_live_progress")
_MSG_NOSIGNAL = int(socket.MSG_NOSIGNAL)  # operations on members of an enumeration take microseconds
# Waking a thread takes as long as a small frame, so short waits for a packet spin.
_LONGEST_SPIN, _SHORT_WAIT = 60_000, 120_000  # ns; the second one includes the time to wake
_CAN_SPIN = len(os.sched_getaffinity(0)) > 1
F_GET_SEALS = getattr(fcntl, "F_GET_SEALS", 1034)
F_SEAL_SHRINK = getattr(fcntl, "F_SEAL_SHRINK", 2)
_MAX_FILE_BYTES = 1 << 44
_MAX_FILES = int(lib.G4_LIVE_MAX_FILES)


_TIMESTAMP = catalogue_of(Gen.GEN4).register("TIMESTAMP").offset  # of all generations

_MAX_NOTES = 1 << 27  # bytes; the library for OpenGL drops notes beyond half of this
_MAX_SLOTS = 64  # of an engine map
_NOOPS = 2  # that a reading of the clock adds to the ring
_MAX_CLOCK_READINGS = 4096  # between two submissions; then the clock stands still
# The part of the arena whose pages are provided while the driver compiles its first shaders, as the first frame has no
# time for that: a color and a depth buffer of 512x512, a texture, and the buffers of the driver.
_READY_ARENA = 4 << 20
_READY_STEP = 256 << 10  # provided at once
# The same for the heap of the connection's thread.  Most of it is for kernels: a decoded instruction takes 1.2 KB.
_READY_HEAP, _HEAP_STEP = 4 << 20, 1 << 20
_WAIT_SECONDS = 0.001  # between two reads of the memory that a batch waits for

LiveDevice = Device | Acknowledger


class ProtocolError(Gen4emuError):
    """The shim sent something invalid; the connection ends."""


# --- packets ----------------------------------------------------------------------------------------------------------
# The NAME of each `struct g4_live_NAME`, of the packets that are more than a header.
_PACKETS = ("hello", "file", "bind", "objects", "exec", "context", "register", "shared", "mark", "note", "gl")


class PacketSocket:
    """Sends and receives packets, each with at most one descriptor.

    Checks what all packets have in common: a whole header, the size in it, whole arrays, the number of descriptors.
    There is one receive buffer: the structures that `packet` returns are valid until the next `receive`.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray(lib.G4_LIVE_MAX_PACKET)
        self._base = ffi.from_buffer(self._buffer)
        self._header = ffi.cast("struct g4_live_header *", self._base)
        self._structures = {name: (ffi.sizeof(f"struct g4_live_{name}"),
                                   ffi.cast(f"struct g4_live_{name} *", self._base)) for name in _PACKETS}
        self._size = 0
        self._descriptor: int | None = None
        self._number = connection.fileno()
        self._received = ffi.new("struct g4_packet *")
        self._patience = 0  # ns to spin

    def receive(self) -> int:
        """Receive a packet and return its type; 0 if the other end has closed."""
        if self._descriptor is not None:
            self._drop_descriptor()
        received = self._received
        waited = lib.g4_packet_receive(self._number, self._base, lib.G4_LIVE_MAX_PACKET, self._patience, received)
        self._patience = _LONGEST_SPIN if _CAN_SPIN and waited < _SHORT_WAIT else 0
        size = received.size
        if received.descriptors:
            if received.descriptors > 1:
                raise ProtocolError(f"packet with {received.descriptors} descriptors")
            self._descriptor = int(received.descriptor)
        if size <= 0:
            if size in (0, -errno.ECONNRESET):
                return 0
            raise OSError(-size, os.strerror(-size))
        if received.truncated or size < _HEADER_BYTES or self._header.size != size:
            raise ProtocolError(f"packet of {size} bytes with a size of {self._header.size} in its header")
        self._size = size
        return int(self._header.type)

    @property
    def sequence(self) -> int:
        return int(self._header.sequence)

    def packet(self, name: str) -> Any:
        """The packet as `struct g4_live_NAME *`."""
        least, structure = self._structures[name]
        if self._size < least:
            raise ProtocolError(f"{name}: packet of {self._size} bytes")
        return structure

    def packet_array(self, name: str, item: str) -> tuple[Any, int]:
        """The array of `struct g4_live_ITEM` after a `struct g4_live_NAME`, and its length."""
        head, kind = ffi.sizeof(f"struct g4_live_{name}"), f"struct g4_live_{item}"
        count = int(self.packet(name).count)
        if head + count * ffi.sizeof(kind) > self._size:
            raise ProtocolError(f"{name}: {count} items in a packet of {self._size} bytes")
        return ffi.cast(kind + " *", self._base + head), count

    def take_descriptor(self) -> int | None:
        """The descriptor that came with the packet; the caller closes it."""
        descriptor, self._descriptor = self._descriptor, None
        return descriptor

    def _drop_descriptor(self) -> None:
        descriptor = self.take_descriptor()
        if descriptor is not None:
            os.close(descriptor)

    def send(self, message: Any, descriptor: int | None = None) -> None:
        """Send a structure whose header has type and sequence; its size is filled in here."""
        data = ffi.buffer(message)
        message.header.size = len(data)
        if descriptor is None:
            self._socket.send(data, _MSG_NOSIGNAL)
        else:
            socket.send_fds(self._socket, [data], [descriptor], _MSG_NOSIGNAL)

    def has_arrived(self) -> bool:
        """True if `receive` does not wait."""
        return self._polls(select.POLLIN)

    def has_ended(self) -> bool:
        """True if no more packets can arrive, beside those that are queued."""
        return self._polls(select.POLLRDHUP)

    def _polls(self, event: int) -> bool:
        poll = select.poll()
        poll.register(self._socket, event)
        return bool(poll.poll(0))

    def shut_down_reading(self) -> None:
        """Let no more packets arrive; queued ones can still be received, and answers can still be sent."""
        self._shut_down(socket.SHUT_RD)

    def shut_down(self) -> None:
        """Let no more packets pass in either direction."""
        self._shut_down(socket.SHUT_RDWR)

    def _shut_down(self, how: int) -> None:
        with suppress(OSError):  # disconnected already
            self._socket.shutdown(how)

    def close(self) -> None:
        self._drop_descriptor()
        self._socket.close()


def text(field: Any) -> str:
    """A char array of a packet, with unprintable characters replaced."""
    return "".join(c if c.isprintable() else "?" for c in ffi.string(field).decode("utf-8", "replace"))


# --- address space ----------------------------------------------------------------------------------------------------
class MappedFile:
    """A memfd of the shim, mapped as a whole.  Its contents are never copied."""

    __slots__ = ("host", "inode", "size")

    def __init__(self, descriptor: int, size: int) -> None:
        self.size = size
        self.inode = check_memory(descriptor, size)
        self.host = lib.g4_file_map(descriptor, size)
        if self.host == ffi.NULL:
            raise ProtocolError(f"file that cannot be mapped: {os.strerror(ffi.errno)}")

    def populate(self, start: int, size: int) -> None:
        """Provide the pages of `size` bytes from `start` on, as far as it has them, now."""
        if start < self.size:
            lib.g4_provide(ffi.cast("uint8_t *", self.host) + start, min(size, self.size - start))

    def close(self) -> None:
        """Unmap it; nothing may be bound from it."""
        lib.g4_file_unmap(self.host, self.size)


def check_memory(descriptor: int, size: int) -> tuple[int, int]:
    """Check that a descriptor is memory of at least `size` bytes that cannot shrink; return its device and inode.

    Without the seal, a file could be truncated while the core reads it.  Files on hugetlbfs are refused: their pages
    may be missing.
    """
    if size <= 0 or size % PAGE_SIZE or size > _MAX_FILE_BYTES:
        raise ProtocolError(f"file of {size} bytes")
    try:
        seals = fcntl.fcntl(descriptor, F_GET_SEALS)
        status = os.fstat(descriptor)
        if not seals & F_SEAL_SHRINK or os.fstatvfs(descriptor).f_bsize != PAGE_SIZE:
            raise ProtocolError("file that could shrink")
    except OSError:
        raise ProtocolError("file that is not shared memory") from None
    if status.st_size < size:
        raise ProtocolError(f"file of {status.st_size} bytes instead of {size}")
    return status.st_dev, status.st_ino


class AddressSpace:
    """The graphics address space of one connection: the shim's files, and the pages bound from them.

    Used by one thread.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._files: dict[int, MappedFile] = {}
        self._memory: Memory | BufferMemory | None = None
        self._keeps_arena = False
        self.largest = 0  # bytes of the largest file so far, which no buffer exceeds

    def attach(self, memory: Memory | BufferMemory) -> None:
        self._memory = memory

    def add(self, number: int, descriptor: int, size: int) -> None:
        """Add a file.  Its number must be free, or nothing may be bound from the file that has it."""
        if number >= _MAX_FILES:
            raise ProtocolError(f"invalid file number {number}")
        self.remove(number)
        self._files[number] = MappedFile(descriptor, size)
        self.largest = max(self.largest, size)

    def remove(self, number: int) -> tuple[int, int] | None:
        """Remove a file and return its device and inode numbers; None if there is none."""
        old = self._files.get(number)
        if old is None:
            return None
        if number == 0 and self._keeps_arena:
            raise ProtocolError("the arena is removed while progress is reported there")
        # The core must not keep pointers into a mapping that disappears.
        if self._memory is not None and self._memory.uses(old.host, old.size):
            raise ProtocolError(f"file {number} removed while pages of it are bound")
        del self._files[number]
        old.close()
        return old.inode

    def progress(self, offset: int) -> Any:
        """The `struct g4_live_progress *` at an offset of the arena, which stays mapped from now on."""
        arena = self._files[0]
        if offset % _PROGRESS_BYTES or offset >= arena.size:
            raise ProtocolError(f"hello: progress at 0x{offset:x} of an arena of {arena.size} bytes")
        self._keeps_arena = True
        return ffi.cast("struct g4_live_progress *", ffi.cast("uint8_t *", arena.host) + offset)

    def populate(self, start: int, size: int) -> None:
        """Provide pages of the arena now, where the first buffers of the program will be."""
        if 0 in self._files:  # a client may have removed it
            self._files[0].populate(start, size)

    def bind(self, ranges: Any, count: int) -> None:
        """Bind and unbind ranges: an array of `struct g4_live_range`."""
        assert self._memory is not None
        memory, limit = self._memory, self.size
        for i in range(count):
            r = ranges[i]
            address, size, offset = r.address, r.size, r.offset
            if (address | size | offset) & PAGE_SIZE - 1 or not 0 < size <= limit - address:
                raise ProtocolError(f"bind: 0x{size:x} bytes at 0x{address:08x}")
            if r.file == lib.G4_LIVE_UNBOUND:
                memory.unbind(address, size)
                continue
            file = self._files.get(r.file)
            if file is None or offset > file.size or size > file.size - offset:
                raise ProtocolError(f"bind: 0x{size:x} bytes at 0x{offset:x} of file {r.file}")
            host = ffi.cast("uint8_t *", file.host)
            if not memory.bind(address, host + offset, size):
                raise ProtocolError(f"bind: 0x{size:x} bytes at 0x{address:08x}")

    def close(self) -> None:
        """Unmap all files; the device's memory must be closed before."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._memory = None


# --- observers --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class BufferUse:
    """A buffer that a submission lists."""

    address: int
    size: int
    written: bool  # the batch may write it
    capture: bool  # include it in error states
    tiling: int
    pitch: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A frame is complete; address 0: nothing is shown."""

    address: int
    width: int
    height: int
    pitch: int
    tiling: int
    fourcc: int


class Observer:
    """Base of classes that follow one connection (gen4emu.live.recorder, gen4emu.live.frames), in its thread."""

    def before(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        """A submission is about to run."""

    def program_wrote(self, submission: Submission, buffers: Sequence[BufferUse], address: int) -> None:
        """A submission has run that read memory of the buffer at `address` again: the program may have changed it."""

    def after(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        """A submission has run, or hung."""

    def gl_notes(self, notes: Sequence[GlNote]) -> None:
        """GL notes of the program that precede the next submission."""

    def mark(self, mark: Mark) -> None:
        """A frame is complete."""

    def close(self) -> None:
        """The connection ends; the device's memory still exists."""


# --- the chip ---------------------------------------------------------------------------------------------------------
# By the kernel's name: the number in the protocol, and the engine in traces.
_ENGINES = {"render": (int(lib.G4_LIVE_RENDER), Engine.RENDER), "video": (int(lib.G4_LIVE_VIDEO), Engine.BSD),
            "blitter": (int(lib.G4_LIVE_BLITTER), Engine.BLT),
            "video_enhance": (int(lib.G4_LIVE_VIDEO_ENHANCE), Engine.VEBOX)}


def chip_facts(chip: Chip) -> dict[str, int]:
    """The fields of `struct g4_live_chip`."""
    facts = {field.name: getattr(chip.kernel, field.name) for field in fields(chip.kernel) if field.name != "engines"}
    engines = sum(1 << _ENGINES[name][0] for name in chip.kernel.engines)
    return facts | {"pci_id": chip.pci_id, "engines": engines, "wide": chip.address_bits > 32,
                    "gtt_size": chip.address_space_bytes}


# --- connections ------------------------------------------------------------------------------------------------------
class Host(Protocol):
    """The interface of the server to its connections.  Any thread may call the methods."""

    chip: Chip
    options: Options
    shared: SharedBuffers
    records_buffers: bool
    finds_targets: bool
    patience_seconds: float

    def observers(self, connection: Connection, device: LiveDevice) -> list[Observer]: ...
    def connection_ended(self, connection: Connection) -> None: ...
    def connection_closed(self, connection: Connection) -> None: ...
    def report_hang(self, connection: Connection, device: LiveDevice, reason: str) -> None: ...
    def log_always(self, message: str) -> None: ...
    def log_verbose(self, message: str) -> None: ...
    def warn_once(self, message: str, connection: Connection | None = None) -> None: ...
    def error(self, message: str) -> None: ...


@dataclass(slots=True)
class Activity:
    """Counters of one connection."""

    opened: bool = False
    used: bool = False  # by a driver
    batches: int = 0
    hangs: int = 0
    marks: int = 0
    seconds: float = 0.0  # in batches


class Connection:
    """Serves one connection until it ends."""

    def __init__(self, host: Host, packets: PacketSocket, number: int) -> None:
        self._host = host
        self._packets = packets
        self.number = number
        self.pid = 0
        self.program = "?"
        self.activity = Activity()
        self.device: LiveDevice | None = None
        self._ready: LiveDevice | None = None  # the device before its first use
        self._preparation: Iterator[None] | None = None  # what is left of it
        self._engines = dict(_ENGINES[name] for name in host.chip.kernel.engines)  # by number in the protocol
        self._space = AddressSpace(host.chip.address_space_bytes)
        self._contexts = contexts_of(host.chip)
        self._observers: list[Observer] = []
        self._buffers: list[BufferUse] = []
        self._notes = bytearray()  # of GL calls, before the next submission
        self._waits_since: float | None = None  # the submission waits for the program
        self._clock_readings = 0  # by the program since the last submission to the render engine
        self._progress: tuple[Any, Any, Any, Any] | None = None  # completed, failed, sleeping, processor
        self._result = ffi.new("struct g4_live_result *")
        self._result.header.type = lib.G4_LIVE_RESULT
        self._handlers: dict[int, Callable[[], None]] = {
            lib.G4_LIVE_FILE: self._file, lib.G4_LIVE_BIND: self._bind, lib.G4_LIVE_OBJECTS: self._objects,
            lib.G4_LIVE_EXEC: self._exec, lib.G4_LIVE_CONTEXT: self._context, lib.G4_LIVE_REGISTER: self._register,
            lib.G4_LIVE_SHARE: self._share, lib.G4_LIVE_FIND: self._find, lib.G4_LIVE_MARK: self._mark,
            lib.G4_LIVE_NOTE: self._note, lib.G4_LIVE_USED: self._used,
            lib.G4_LIVE_GL: self._gl, lib.G4_LIVE_FENCE: self._fence,
        }
        self.thread = threading.Thread(target=self._run, name=f"client {number}", daemon=True)

    def _run(self) -> None:
        try:
            if self._hello():
                self._serve()
        except (ProtocolError, InvalidContext) as e:
            self._host.log_always(f"{self}: connection closed: {e}")
        except OSError as e:
            self._host.log_verbose(f"{self}: ended before it read an answer ({e})")
        except Exception:
            self._host.log_always(f"{self}: {traceback.format_exc()}")
        finally:
            try:
                self._end()
            finally:
                self._host.connection_closed(self)

    def _serve(self) -> None:
        handlers, receive = self._handlers, self._packets.receive
        while kind := receive():
            handler = handlers.get(kind)
            if handler is None:
                raise ProtocolError(f"unknown packet type {kind}")
            handler()
            if self._preparation is not None:
                self._prepare_until_packet()

    def _end(self) -> None:
        """Let the server add up the counters, and release everything."""
        try:
            for observer in self._observers:
                observer.close()
        except Exception as e:
            self._host.error(f"{self}: {e}")
        self._host.shared.leave(self.number)
        self._host.connection_ended(self)
        if self.device is not None:
            self.device.close()
            self.device = None
        if self._ready is not None:
            self._ready.close()
            self._ready = None
        self._space.close()
        self._packets.close()

    def shut_down_reading(self) -> None:
        """Handle the packets that have arrived, then end."""
        self._packets.shut_down_reading()

    def shut_down(self) -> None:
        self._packets.shut_down()

    def __str__(self) -> str:
        return f"{self.program}[{self.pid}]"

    # --- packets ------------------------------------------------------------------------------------------------------
    def _hello(self) -> bool:
        kind = self._packets.receive()
        if kind == 0:
            return False
        if kind != lib.G4_LIVE_HELLO:
            raise ProtocolError(f"packet type {kind} instead of a hello")
        hello = self._packets.packet("hello")
        self.pid, self.program = int(hello.pid), text(hello.program) or "?"
        if hello.version != lib.G4_LIVE_VERSION:
            raise ProtocolError(f"the shim has protocol version {hello.version}, the server {lib.G4_LIVE_VERSION}")
        self._add_file(0, int(hello.arena_size))
        if hello.has_progress:
            progress = self._space.progress(int(hello.progress))
            self._progress = tuple(ffi.addressof(progress, name)
                                   for name in ("completed", "failed", "sleeping", "processor"))
        chip = self._host.chip
        welcome = ffi.new("struct g4_live_welcome *", {
            "header": {"type": lib.G4_LIVE_WELCOME, "sequence": self._packets.sequence}, "version": lib.G4_LIVE_VERSION,
            "strict": self._host.options.strict, "records_buffers": self._host.records_buffers,
            "chip": chip_facts(chip)})
        self.activity.opened = True
        self._host.log_verbose(f"{self}: opened the device")
        self._packets.send(welcome)
        return True

    def _add_file(self, number: int, size: int) -> None:
        descriptor = self._packets.take_descriptor()
        if descriptor is None:
            raise ProtocolError(f"file {number} without a descriptor")
        with _closing(descriptor):
            self._space.add(number, descriptor, size)

    def _file(self) -> None:
        packet = self._packets.packet("file")
        if packet.size:
            self._add_file(int(packet.file), int(packet.size))
            return
        inode = self._space.remove(int(packet.file))
        if inode is not None:
            self._host.shared.leave(self.number, inode)

    def _bind(self) -> None:
        self._running_device()
        self._space.bind(*self._packets.packet_array("bind", "range"))

    def _objects(self) -> None:
        """Collect the buffers of the next submission, if an observer needs them."""
        if not self._host.records_buffers:
            return
        items, count = self._packets.packet_array("objects", "object")
        largest = self._space.largest
        for i in range(count):
            o = items[i]
            if o.size > largest:  # observers look at each page
                raise ProtocolError(f"objects: 0x{o.size:x} bytes at 0x{o.address:08x}, and the largest file has "
                                    f"0x{largest:x}")
            self._buffers.append(BufferUse(o.address, o.size, bool(o.flags & lib.G4_LIVE_OBJECT_WRITTEN),
                                           bool(o.flags & lib.G4_LIVE_OBJECT_CAPTURE), o.tiling, o.pitch))
        if len(self._buffers) > lib.G4_LIVE_MAX_FILES:
            raise ProtocolError("too many buffers for one batch")

    def _gl(self) -> None:
        packet, head = self._packets.packet("gl"), ffi.sizeof("struct g4_live_gl")
        count = int(packet.count)
        if head + count != packet.header.size:
            raise ProtocolError(f"gl: {count} bytes in a packet of {packet.header.size}")
        if len(self._notes) + count > _MAX_NOTES:
            raise ProtocolError(f"gl: more than {_MAX_NOTES} bytes before a batch")
        self._notes += ffi.buffer(ffi.cast("uint8_t *", packet) + head, count)

    def _pass_notes(self) -> None:
        try:
            notes = tuple(gl_notes.unpack(bytes(self._notes)))
        except FieldError as e:
            raise ProtocolError(str(e)) from None
        self._notes.clear()
        for observer in self._observers:
            observer.gl_notes(notes)

    def _exec(self) -> None:
        packet = self._packets.packet("exec")
        self.activity.used = True
        sequence, context, address, slot = packet.header.sequence, packet.context, packet.address, packet.slot
        device = self._running_device()
        engine = self._engines.get(packet.engine)
        if engine is None:
            raise ProtocolError(f"exec: unknown engine {packet.engine}")
        if address & 3 or address >= self._space.size:
            raise ProtocolError(f"exec: batch at 0x{address:08x}")
        if slot >= _MAX_SLOTS:
            raise ProtocolError(f"exec: slot {slot} of an engine map")
        ring_start = b"" if engine is not Engine.RENDER else self._pass_time()
        resets_offsets = bool(packet.flags & lib.G4_LIVE_EXEC_RESET_OFFSETS)
        if resets_offsets and (engine is not Engine.RENDER or not self._host.chip.kernel.offset_reset):
            raise ProtocolError("exec: a reset of offsets that the engine does not have")
        ring = (self._contexts.ring(context, address, slot, resets_offsets) if engine is Engine.RENDER
                else self._contexts.bare_ring(address))
        submission = Submission(0, engine, ring_start + ring, RING_ADDRESS, batch_address=address,
                                context=self._contexts.number(context, slot))
        status = self._execute(device, submission, context)
        if not self._report(device, sequence, status):
            self._result.header.sequence = sequence
            self._result.status, self._result.context = status, context
            self._packets.send(self._result)
        self._buffers = []

    def _report(self, device: LiveDevice, sequence: int, status: int) -> bool:
        """Report the end of a submission in shared memory; false: the caller must send a packet."""
        if self._progress is None:
            return False
        completed, failed, sleeping, processor = self._progress
        if status != lib.G4_LIVE_DONE:
            lib.g4_live_failed(failed)
            return False
        waiting = lib.g4_live_completed(completed, sleeping, processor, sequence)
        if waiting == lib.G4_LIVE_SHARES_PROCESSOR:
            device.leave_processor()
        return bool(waiting != lib.G4_LIVE_SLEEPS)

    def _execute(self, device: LiveDevice, submission: Submission, context: int) -> int:
        if self._notes:
            self._pass_notes()
        for observer in self._observers:
            observer.before(submission, self._buffers)
        self.activity.batches += 1
        started = time.perf_counter()
        status = int(lib.G4_LIVE_DONE)
        self._waits_since = None
        try:
            device.submit(submission)
            for observer in self._observers:
                for address in sorted(device.waited_for):
                    observer.program_wrote(submission, self._buffers, address)
        except Gen4emuError as e:
            status = int(lib.G4_LIVE_HANG)
            self.activity.hangs += 1
            self._host.report_hang(self, device, str(e))
            device.reset()
            self._contexts.reset(context)
        self.activity.seconds += time.perf_counter() - started
        for observer in self._observers:
            observer.after(submission, self._buffers)
        return status

    def _wait_for_program(self) -> bool:
        """A batch loops or waits for a value.  The program may end that by a write, until the kernel's heartbeat would
        find that the engine hangs."""
        now = time.monotonic()
        if self._waits_since is None:
            self._waits_since = now
        if now - self._waits_since >= self._host.patience_seconds or self._packets.has_ended():
            return False
        time.sleep(_WAIT_SECONDS)
        return True

    def _fence(self) -> None:
        """Close the server's end of a sync file: the submissions before have ended."""
        descriptor = self._packets.take_descriptor()
        if descriptor is None:
            raise ProtocolError("a fence without a descriptor")
        os.close(descriptor)

    def _context(self) -> None:
        packet = self._packets.packet("context")
        if packet.alive:
            self._contexts.create(int(packet.context))
        else:
            self._contexts.destroy(int(packet.context))

    def _register(self) -> None:
        """Read the timestamp, the only register that I915_REG_READ offers; bit 0 is I915_REG_READ_8B_WA."""
        packet = self._packets.packet("register")
        offset = int(packet.offset)
        answer = ffi.new("struct g4_live_register *", {
            "header": {"type": lib.G4_LIVE_REGISTER, "sequence": self._packets.sequence}, "offset": offset,
            "status": lib.G4_LIVE_REFUSED})
        if offset & ~1 == _TIMESTAMP:
            answer.status = lib.G4_LIVE_DONE
            answer.value = self._read_clock()
        self._packets.send(answer)

    def _read_clock(self) -> int:
        """The time, in commands.  Each read advances it, so that a program that waits for time to pass can end."""
        device = self._running_device()
        if isinstance(device, Acknowledger):
            return device.timestamp()
        self._clock_readings = min(self._clock_readings + 1, _MAX_CLOCK_READINGS)
        commands = device.registers.read(_TIMESTAMP) | device.registers.read(_TIMESTAMP + 4) << 32
        return commands + _NOOPS * self._clock_readings

    def _pass_time(self) -> bytes:
        """Ring contents that take the time by which reads have advanced the clock, in captures, too: an even number of
        MI_NOOP for each."""
        readings, self._clock_readings = self._clock_readings, 0
        return bytes(4 * _NOOPS * readings)

    def _share(self) -> None:
        packet = self._packets.packet("shared")
        size, tiling, pitch = int(packet.size), int(packet.tiling), int(packet.pitch)
        descriptor = self._packets.take_descriptor()
        if descriptor is None:
            raise ProtocolError("share without a descriptor")
        with _closing(descriptor):
            inode = check_memory(descriptor, size)
            buffer = self._host.shared.share(self.number, descriptor, inode, size, tiling, pitch, bool(packet.name))
        self._packets.send(self._shared_answer(buffer))

    def _find(self) -> None:
        packet = self._packets.packet("shared")
        descriptor = self._packets.take_descriptor()
        if descriptor is None:
            found = self._host.shared.find(self.number, int(packet.name), None)
            self._packets.send(self._shared_answer(found), None if found is None else found.descriptor)
            return
        with _closing(descriptor):
            try:
                inode = check_memory(descriptor, PAGE_SIZE)
            except ProtocolError:
                found = None  # programs may look any descriptor up
            else:
                found = self._host.shared.find(self.number, 0, inode)
        self._packets.send(self._shared_answer(found))

    def _shared_answer(self, buffer: SharedBuffer | None) -> Any:
        answer = ffi.new("struct g4_live_shared *", {
            "header": {"type": lib.G4_LIVE_SHARED, "sequence": self._packets.sequence}, "status": lib.G4_LIVE_REFUSED})
        if buffer is not None:
            answer.status = lib.G4_LIVE_DONE
            answer.name, answer.tiling, answer.pitch, answer.size = (
                buffer.name, buffer.tiling, buffer.pitch, buffer.size)
        return answer

    def _mark(self) -> None:
        packet = self._packets.packet("mark")
        mark = Mark(packet.address, packet.width, packet.height, packet.pitch, packet.tiling, packet.fourcc)
        self.activity.marks += 1
        self._running_device()
        for observer in self._observers:
            observer.mark(mark)

    def _note(self) -> None:
        self._host.warn_once(text(self._packets.packet("note").text), self)

    def _used(self) -> None:
        self.activity.used = True
        if self.device is None and self._ready is None:
            self._preparation = self._prepare()

    def _prepare(self) -> Iterator[None]:
        """Make the device, and pages for the first frame, while the driver compiles its first shaders: step by step."""
        self._ready = self._new_device()
        if not isinstance(self._ready, Device):
            return
        yield
        self._ready.prepare()
        for size in range(_HEAP_STEP, _READY_HEAP + 1, _HEAP_STEP):
            yield
            lib.g4_heap_provide(size)
        for start in range(0, _READY_ARENA, _READY_STEP):
            yield
            self._space.populate(start, _READY_STEP)

    def _prepare_until_packet(self) -> None:
        """Go on preparing until a packet arrives: the program may be waiting for its answer."""
        assert self._preparation is not None
        while not self._packets.has_arrived():
            try:
                next(self._preparation)
            except StopIteration:
                self._preparation = None
                return

    def _new_device(self) -> LiveDevice:
        chip, options = self._host.chip, self._host.options
        if not chip.executes:
            return Acknowledger(chip)
        device = Device(chip, options, finds_targets=self._host.finds_targets)
        device.wait_for_programs(self._wait_for_program)
        return device

    def _running_device(self) -> LiveDevice:
        """The device, created on first use: many programs open device files only to probe them."""
        if self.device is None:
            self.device, self._ready = self._ready or self._new_device(), None
            self._preparation = None  # too late for the rest
            self._space.attach(self.device.memory)
            self._observers = self._host.observers(self, self.device)
        return self.device


def executing(device: LiveDevice) -> Device:
    """The device of an observer that looks at pictures, which only devices that execute draw."""
    if isinstance(device, Device):
        return device
    raise NotExecutedError(f"{device.info.name} does not execute yet, so there are no pictures")


@contextmanager
def _closing(descriptor: int) -> Iterator[None]:
    """Close a descriptor at the end of the block."""
    try:
        yield
    finally:
        os.close(descriptor)
