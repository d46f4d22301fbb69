"""The command streamer: parses rings and batches and executes MI and 3D commands (spec/05 2.1, 2.2, 3.1 to 3.9).

State commands go to the running context (state.py), primitives and media objects to the C core, BLT commands to the
blitter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from gen4emu._native import lib
from gen4emu.device.interrupts import Interrupts
from gen4emu.device.memory import Faults, Memory, Missing, Unit, port_faults
from gen4emu.device.place import DrawKind, DrawNumbers
from gen4emu.device.registers import RegisterFile
from gen4emu.device.state import ContextState, Words
from gen4emu.errors import HangError
from gen4emu.hw import catalogue
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Client, Command

Handler = Callable[[Words], None]

_U32 = _IDLE = 0xFFFFFFFF
_DECODED_HEADERS = 4096
_FETCH_DWORDS = 1024
MAX_BATCH_DWORDS = 4 << 20  # an endless batch is a hang (spec/05 3.1); 16 MiB are more than any driver writes


class BadCommand(HangError):
    """The parser met something that is no command; real hardware hangs there."""


@dataclass(slots=True)
class Position:
    """Where a command lies, for messages and for the error registers."""

    address: int
    in_batch: bool
    header: int = 0


@dataclass(slots=True)
class Work:
    """What is being executed: for the error state of a hang."""

    ring: bytes = b""
    ring_address: int = 0
    wrap: tuple[int, int] | None = None
    ring_at: int = 0  # offset of the command in `ring`
    batch: int | None = None  # where the batch of that command starts


@dataclass(slots=True)
class Findings:
    """What was met that is not modelled or not right: kind -> how often, and where first."""

    count: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, where: str) -> None:
        self.count[kind] += 1
        self.first.setdefault(kind, where)


class Window:
    """A stretch of a batch or ring as dwords, read ahead from memory in one piece."""

    __slots__ = ("address", "end", "words")

    def __init__(self) -> None:
        self.address = self.end = 0
        self.words: Words = memoryview(b"").cast("I")

    def load(self, memory: Memory, address: int, dwords: int) -> None:
        data = memory.read(address, 4 * dwords, Missing.ZERO, Unit.CS)
        self.words = memoryview(data).cast("I")
        self.address, self.end = address, address + 4 * dwords


class Listener(Protocol):
    """Notified by a command streamer of what changes the state that draws use."""

    def command(self, words: Words) -> None:
        """A known command of the pipelines or the blitter, header first, is about to be executed."""

    def context(self, left: int | None, entered: int, restored: bool) -> None:
        """MI_SET_CONTEXT: the state of the context at `left` was saved, and perhaps that of `entered` restored."""

    def reset(self) -> None:
        """The state of the running context was reset."""


class CommandStreamer:
    """One ring's parser.  `run_ring` and `run_batch` execute until there is nothing left."""

    def __init__(self, gen: Gen, memory: Memory, registers: RegisterFile, draw: Callable[[Words], None],
                 blit: Callable[[Command, Words], None], strict: bool = False,
                 max_batch_dwords: int = MAX_BATCH_DWORDS, ring: str = "RENDER",
                 numbers: DrawNumbers | None = None) -> None:
        self.gen, self.memory, self.registers, self.strict = gen, memory, registers, strict
        self.draw, self.blit = draw, blit
        self.ring = ring  # what its registers are called
        self.max_batch_dwords = max_batch_dwords
        self.numbers = numbers or DrawNumbers()
        self.state = ContextState(gen, memory)
        self.findings = Findings()
        self.position = Position(0, False)
        self.work = Work()
        self.commands = 0
        self.interrupts = Interrupts(gen, registers, self._write_status_page)
        self.on_flip: Callable[[int], None] | None = None
        self.on_count_reset: Callable[[], None] | None = None
        self.media: Callable[[Words], None] = self._unknown  # MEDIA_OBJECT and its kin
        self.media_wait: Callable[[bool], None] = self._no_threads  # until threads can do no more, or have all ended
        self._listener: Listener | None = None
        self._threads = False  # media threads may be on their way
        self._contexts: dict[int, bytes] = {}
        self._context = 0  # CCID, valid in bit 0
        self._status_page = 0
        self._batch: int | None = None  # where the batch goes on, None while in the ring
        self._batch_end = 0  # MI_BATCH_BUFFER's end address, 0: none
        self._batch_dwords = 0
        self._non_secure = False
        self._window = Window()
        self._port = memory.new_port(Unit.CS)
        self._mi = self._mi_handlers()
        if strict:
            for opcode in _PRIVILEGED:
                self._mi[opcode] = self._privileged(self._mi[opcode])
        self._pipe: dict[int, Handler] = {
            _PRIMITIVE: self.draw, _PIPE_CONTROL: self._pipe_control, **dict.fromkeys(_MEDIA_OBJECTS, self._media)}
        for command in catalogue.COMMANDS:
            if command.name in self.state.handlers:
                self._pipe[command.header >> command.opcode_low] = self.state.handlers[command.name]
        self._pipe |= dict.fromkeys(_PIPELINE_SELECT, self._pipeline_select)
        self._decoded: dict[int, tuple[int, Handler]] = {}  # by header
        self._decoded_beside = [self._decoded, {}]  # without and with media threads on their way

    # --- parsing ---------------------------------------------------------------------------------------------------
    def run_ring(self, ring: bytes, address: int, wrap: tuple[int, int] | None = None) -> None:
        """Execute ring contents that lie at a graphics address, batches included.

        `wrap` is the start and size of a ring whose end lies inside of the contents.
        """
        words = memoryview(ring + bytes(-len(ring) % 4)).cast("I")
        work = self.work = Work(ring, address, wrap)
        self._batch = None
        at = 0
        while at < len(words):
            length = min(self._length(words[at]), len(words) - at)
            where = address + 4 * at
            if wrap is not None:
                where = wrap[0] + (where - wrap[0]) % wrap[1]
            self.position = Position(where, False, words[at])
            work.ring_at, work.batch = 4 * at, None
            at += length
            self._execute(words[at - length:at])
            if self._batch is not None:
                work.batch = self._batch
                self._run_batch()
        self._wait_for_threads(finish=True)

    def run_batch(self, address: int) -> None:
        self.work = Work(batch=address & ~3)
        self._batch, self._non_secure = None, False
        self._start_batch(address, 0)
        self._run_batch()
        self._wait_for_threads(finish=True)

    def _run_batch(self) -> None:
        """Until MI_BATCH_BUFFER_END.  Handlers move `_batch`, so what they read is the return point (spec/05 3.1)."""
        window = self._window
        window.address = window.end = 0  # memory may have changed since
        position = self.position = Position(0, True)
        while (address := self._batch) is not None:
            if self._batch_end and address > self._batch_end:
                self._batch = None
                return
            if not window.address <= address < window.end:
                self._fetch(address, _FETCH_DWORDS)
            at = address - window.address >> 2
            header = window.words[at]
            length, handler = self._decoded.get(header) or self._decode(header)
            end = address + 4 * length
            if end > window.end:
                self._fetch(address, max(_FETCH_DWORDS, length))
                at = 0
            position.address, position.header = address, header
            self._batch = end & _U32
            self._batch_dwords += length
            if self._batch_dwords > self.max_batch_dwords:
                self._hang(f"the batch goes on after {self.max_batch_dwords} dwords")
            self.commands += 1
            handler(window.words[at:at + length])

    def _fetch(self, address: int, dwords: int) -> None:
        if not self.memory.is_mapped(address):
            self.interrupts.page_fault("command_fetch")
            self._hang("nothing is mapped where the batch goes on")
        self._window.load(self.memory, address, dwords)

    def _length(self, header: int) -> int:
        """Like catalogue.command_length, with the longer length fields of known MI commands."""
        if header >> 29 == Client.MI and header >> 23 in _LONG_MI:
            return (header & 0xFF) + 2
        return catalogue.command_length(header)

    def _execute(self, words: Words) -> None:
        """A command that may be cut off: the end of a ring."""
        self.commands += 1
        self._handler(words[0], len(words))(words)

    def _decode(self, header: int) -> tuple[int, Handler]:
        """A whole command's length and what executes it; the header decides both."""
        if len(self._decoded) >= _DECODED_HEADERS:
            self._decoded.clear()
        length = self._length(header)
        decoded = self._decoded[header] = length, self._handler(header, length)
        return decoded

    def _handler(self, header: int, length: int) -> Handler:
        """What executes a command of which `length` dwords are there."""
        client = header >> 29
        if client == Client.MI:
            return self._mi.get(header >> 23, self._unknown)
        command = catalogue.command_for(header, self.gen)
        handler = self._pipeline_handler(header, length, client, command)
        if self._listener is not None and command is not None:
            handler = self._notifying(handler, self._listener)
        if command is None or not command.draws:
            return handler
        return self._numbered(handler, client, command)

    def listen(self, listener: Listener | None) -> None:
        """Notify `listener` of commands and contexts from now on.  Without one, nothing is spent on it."""
        self._listener = listener
        for decoded in self._decoded_beside:
            decoded.clear()

    def _notifying(self, handler: Handler, listener: Listener) -> Handler:
        def run(words: Words) -> None:
            listener.command(words)
            handler(words)

        return run

    def _numbered(self, handler: Handler, client: int, command: Command) -> Handler:
        """A draw command: it has a number, even if nothing of it is executed."""
        kind = (DrawKind.BLIT if client == Client.BLT else
                DrawKind.MEDIA_OBJECT if command.name.startswith("MEDIA") else DrawKind.PRIMITIVE)
        begin = self.numbers.begin

        def run(words: Words) -> None:
            begin(kind, self.position.address, words)
            handler(words)

        return run

    def _pipeline_handler(self, header: int, length: int, client: int, command: Command | None) -> Handler:
        if client == Client.GFXPIPE:
            known = self._pipe.get(header >> 16)
            if known is not None and self._threads and header >> 16 in _WAITING:
                known = self._after_threads(known, _WAITING[header >> 16])
            if known is not None and length >= _MINIMUM.get(header >> 16, 1):
                return known
            if known is None or command is None:
                return self._unknown
            return self._padded(command, known)
        if client == Client.BLT and command is not None:
            blit = partial(self.blit, command)
            return blit if length >= command.size(self.gen) else self._padded(command, blit)
        return self._unknown

    # --- media -----------------------------------------------------------------------------------------------------
    def _no_threads(self, finish: bool) -> None:
        """Without a device behind it there are none."""

    def _media(self, words: Words) -> None:
        if not self.state.raw.media_selected:
            self.findings.add("MEDIA_OBJECT while the 3D pipeline is selected", self._where())
            return
        if not self._threads:
            self._set_threads(True)
        self.media(words)

    def _set_threads(self, threads: bool) -> None:
        self._threads = threads
        self._decoded = self._decoded_beside[threads]

    def _wait_for_threads(self, finish: bool) -> None:
        if self._threads:
            self._set_threads(not finish)
            self.media_wait(finish)

    def _after_threads(self, handler: Handler, finish: bool) -> Handler:
        """Media threads on their way see the state of their time; some commands wait for their end (spec/70 3.1)."""
        def wait(words: Words) -> None:
            self._wait_for_threads(finish)
            handler(words)

        return wait

    def _pipeline_select(self, words: Words) -> None:
        self.state.handlers["PIPELINE_SELECT"](words)
        self._pipe_selected()

    def _pipe_selected(self) -> None:
        """3DPRIMITIVE means something else to the media pipeline."""
        handler = self._preload if self.state.raw.media_selected else self.draw
        if self._pipe[_PRIMITIVE] != handler:
            self._pipe[_PRIMITIVE] = handler
            for decoded in self._decoded_beside:
                decoded.clear()

    def _preload(self, words: Words) -> None:
        """965: vertices go no further than the cache, which is how indirect data gets there early (spec/70 3.1)."""
        if not self.gen & Gen.GEN4:
            self.findings.add("3DPRIMITIVE while the media pipeline is selected", self._where())
        elif self.state.raw.vf_statistics:
            for counter in (lib.G4_COUNTER_IA_VERTICES, lib.G4_COUNTER_IA_PRIMITIVES):  # a list of points
                self.state.raw.counter[counter] += words[1]

    def _padded(self, command: Command, handler: Handler) -> Handler:
        """A command shorter than its layout has zero operands where it ends (CM-02)."""
        def pad(words: Words) -> None:
            missing = command.size(self.gen) - len(words)
            if missing > 0:
                self.findings.add(f"{command.name} has only {len(words)} dwords", self._where())
                words = memoryview(words.tobytes() + bytes(4 * missing)).cast("I")
            handler(words)

        return pad

    def _unknown(self, words: Words) -> None:
        what = f"unknown command 0x{words[0]:08x}"
        self.interrupts.error("instruction")
        if self.strict:
            self._hang(what)
        self.findings.add(what, self._where())

    def _where(self) -> str:
        return f"0x{self.position.address:08x}"

    @property
    def faults(self) -> Faults:
        """What its own writes met."""
        return port_faults(self._port)

    def reset(self) -> None:
        """Forget what was running, as a reset of the engine does.  The context that ran starts anew (spec/05 3.3)."""
        self._batch = None
        self._batch_end = self._batch_dwords = 0
        self._window.address = self._window.end = 0
        self.position, self.work = Position(0, False), Work()
        self.state.reset()
        if self._listener is not None:
            self._listener.reset()
        self._set_threads(False)
        self._pipe_selected()
        if self._context:
            self._contexts.pop(self._context & ~0xFFF, None)
        self._context = 0

    def _hang(self, what: str) -> None:
        self.update_error_registers()
        place = "batch" if self.position.in_batch else "ring"
        raise BadCommand(f"hang at 0x{self.position.address:08x} in the {place}: {what} "
                         f"(header 0x{self.position.header:08x})")

    def update_error_registers(self, busy: Sequence[str] = ()) -> None:
        """IPEHR, ACTHD, IPEIR, INSTDONE as an error state would show them (spec/05 2.4, 2.6).

        `busy` names units by their bits in INSTDONE and INSTDONE1; the parser waits for them.
        """
        r, p = self.registers, self.ring
        r.poke(r.offset(f"{p}_IPEHR"), self.position.header)
        r.poke(r.offset(f"{p}_ACTHD"), self.position.address | (1 if self.position.in_batch else 0))
        r.poke(r.offset(f"{p}_IPEIR"), 8 if self.position.in_batch else 0)
        for name in (f"{p}_INSTDONE", "INSTDONE1") if p == "RENDER" else (f"{p}_INSTDONE",):
            r.poke(r.offset(name), _IDLE & ~r.bits(name, ("command_parser", *busy)))

    # --- MI --------------------------------------------------------------------------------------------------------
    def _mi_handlers(self) -> dict[int, Callable[[Words], None]]:
        nothing = self._nothing
        return {
            0x00: self._noop, 0x02: self._user_interrupt, 0x03: nothing,
            0x04: self._after_threads(self._flush, finish=True), 0x05: nothing,
            0x07: self._report_head, 0x08: nothing,
            0x0A: self._after_threads(self._batch_buffer_end, finish=True), 0x0B: nothing,
            0x11: self._overlay_flip, 0x12: nothing, 0x13: nothing, 0x14: self._display_flip,
            0x18: self._after_threads(self._set_context, finish=True), 0x20: self._store_data_imm,
            0x21: self._store_data_index, 0x22: self._load_register_imm, 0x24: self._store_register_mem,
            0x30: self._batch_buffer, 0x31: self._batch_buffer_start,
        }

    def _privileged(self, handler: Handler) -> Handler:
        """What a non-secure batch may not do is dropped and is an error (spec/05 Q22, decision 37)."""

        def checked(words: Words) -> None:
            if self._batch is None or not self._non_secure:
                handler(words)
                return
            self.interrupts.error("command_privilege" if self.gen & Gen.GEN45 else "instruction")
            command = catalogue.command_for(words[0], self.gen)
            name = "a privileged command" if command is None else command.name
            self.findings.add(f"{name} in a non-secure batch", self._where())

        return checked

    def _nothing(self, words: Words) -> None:
        """Nothing that a serial machine without caches could notice (spec/05 3.7, 3.9)."""

    def _noop(self, words: Words) -> None:
        if words[0] >> 22 & 1:
            self.registers.poke(self.registers.offset("RENDER_NOPID"), words[0] & 0x3FFFFF)

    def _flush(self, words: Words) -> None:
        if words[0] & 8 and self.on_count_reset is not None:
            self.on_count_reset()

    def _user_interrupt(self, words: Words) -> None:
        self.interrupts.notify("user_interrupt")

    def _report_head(self, words: Words) -> None:
        head = self.registers.read(self.registers.offset("RENDER_RING_HEAD"))
        self._write_status_page(4 * 4, head)

    def _batch_buffer_end(self, words: Words) -> None:
        if self._batch is None:
            self.findings.add("MI_BATCH_BUFFER_END outside of a batch", self._where())
        self._batch = None

    def _start_batch(self, address: int, end: int) -> None:
        if self._batch is None:
            self._batch_dwords = 0
        self._batch, self._batch_end = address & ~3, end
        self._window.address = self._window.end = 0  # a jump sees what memory holds now

    def _batch_buffer_start(self, words: Words) -> None:
        if len(words) < 2:
            self._hang("MI_BATCH_BUFFER_START without an address")
        self._non_secure = bool(words[0] >> 8 & 1) or (self._batch is not None and self._non_secure)
        self._start_batch(words[1], 0)

    def _batch_buffer(self, words: Words) -> None:
        if len(words) < 3:
            self._hang("MI_BATCH_BUFFER without its addresses")
        self._non_secure = bool(words[1] & 1)
        self._start_batch(words[1], words[2] & ~3)

    def _overlay_flip(self, words: Words) -> None:
        self.findings.add("MI_OVERLAY_FLIP: there is no overlay", self._where())

    def _display_flip(self, words: Words) -> None:
        if self.on_flip is not None and len(words) >= 3:
            self.on_flip(words[2] & ~0xFFF)

    def _set_context(self, words: Words) -> None:
        """Spec/05 3.2.  A context is a copy of the state, known by its address; its memory image is not modelled."""
        if len(words) < 2:
            return
        address, force, inhibit = words[1] & ~0xFFF, words[1] & 2, words[1] & 1
        if self._context and address == self._context & ~0xFFF and not force:
            return
        if self._context:
            self._contexts[self._context & ~0xFFF] = self.state.save()
        saved = self._contexts.get(address)
        if saved is not None and not inhibit:
            self.state.load(saved)
            self._pipe_selected()
        if self._listener is not None:
            left = self._context & ~0xFFF if self._context else None
            self._listener.context(left, address, saved is not None and not inhibit)
        self._context = address | 1
        self.registers.poke(self.registers.offset("CCID"), words[1] & ~2 | 1)

    def _write(self, address: int, data: bytes, physical: bool = False) -> None:
        if physical:
            self.memory.write_physical(address, data)
            return
        lib.g4_mem_write(self._port, address, data, len(data))  # what is not mapped is dropped and logged

    def _write_status_page(self, offset: int, value: int) -> None:
        page = self.registers.read(self.registers.offset("RENDER_HWS_PGA")) & ~0xFFF
        if page:
            self._write(page + offset, value.to_bytes(4, "little"))

    def _store_data_imm(self, words: Words) -> None:
        if len(words) < 4:
            self.findings.add("MI_STORE_DATA_IMM without data", self._where())
            return
        data = words[3:5].tobytes()
        physical = not words[0] >> 22 & 1
        address = words[2] & ~3 | ((words[1] & 15) << 32 if physical else 0)
        self._write(address, data, physical)

    def _store_data_index(self, words: Words) -> None:
        for i, value in enumerate(words[2:4]):
            self._write_status_page((words[1] & 0xFFC) + 4 * i, value)

    def _load_register_imm(self, words: Words) -> None:
        keep = words[0] >> 8 & 15
        for at in range(1, len(words) - 1, 2):
            self.registers.write(words[at] & 0x7FFFFC, words[at + 1], keep)

    def _store_register_mem(self, words: Words) -> None:
        if len(words) < 3:
            return
        physical = not words[0] >> 22 & 1
        address = words[2] & ~3 | ((words[1] >> 28) << 32 if physical else 0)
        self._write(address, self.registers.read(words[1] & 0x7FFFFC).to_bytes(4, "little"), physical)

    # --- PIPE_CONTROL ----------------------------------------------------------------------------------------------
    def _pipe_control(self, words: Words) -> None:
        operation = words[0] >> 14 & 3
        address = words[1] & ~7
        if operation == 1:
            self._write(address, words[2:4].tobytes())
        elif operation:
            value = self.read_counter(_PS_DEPTH_COUNT) if operation == 2 else self.timestamp()
            self._write(address, value.to_bytes(8, "little"))
        if words[0] >> 8 & 1:
            self.interrupts.notify("pipe_control_notify")

    def read_counter(self, index: int) -> int:
        return int(self.state.raw.counter[index])

    def timestamp(self) -> int:
        """36 bits, units of 80 ns.  Time here is commands executed, so that every run reads the same (spec/05 3.8)."""
        return self.commands & (1 << 36) - 1


_PRIMITIVE, _PIPE_CONTROL = 0x7B00, 0x7A00
_MEDIA_OBJECTS = (0x7100, 0x7101, 0x7102)
_PIPELINE_SELECT = frozenset({0x6104, 0x6904})
# What media threads may see, or (true) waits for their end.
_WAITING = dict.fromkeys((0x6000, 0x6001, 0x6002, 0x6101, 0x6102, 0x7000), False) | dict.fromkeys(
    (_PIPE_CONTROL, *_PIPELINE_SELECT), True)
_PS_DEPTH_COUNT = int(lib.G4_COUNTER_PS_DEPTH)
_PRIVILEGED = (0x20, 0x22, 0x24)  # MI_STORE_DATA_IMM, MI_LOAD_REGISTER_IMM, MI_STORE_REGISTER_MEM
_LONG_MI = frozenset({0x22, 0x24})
_MINIMUM: dict[int, Any] = {
    c.header >> 16: c.size(Gen.CTG) for c in catalogue.COMMANDS if c.header >> 29 == Client.GFXPIPE and c.gens & Gen.CTG
}
_MINIMUM[0x7905] = 5  # six dwords only where the offsets exist
