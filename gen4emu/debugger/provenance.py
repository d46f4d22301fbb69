"""Threads executed with recording: which instruction and which channel a register's bytes come from."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import (
    DEBUG_NUMBERS,
    GRF_COUNT,
    MRF_COUNT,
    BreakKind,
    DebugAction,
    DebugKind,
    OperandFile,
    TrapKind,
)
from gen4emu.debugger.inspect import InstructionTexts
from gen4emu.debugger.model import Thread, thread_of
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import Unit
from gen4emu.device.observer import Breakpoint, Subscription, Trap
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.command_reader import Words
from gen4emu.isa.message_text import describe, sfid_name
from gen4emu.isa.opcodes import Opcode
from gen4emu.isa.registers import RegType

MOST_STEPS = 20_000  # instructions of a thread that are recorded
_EVERY = Breakpoint(BreakKind.EVERY, flagged=True)  # instruction of the threads that traps flag
WHOLE = -1  # a message's response, in place of a channel
_GRF_BYTES, _MRF_BYTES = GRF_COUNT * 32, MRF_COUNT * 32
_ENTRY_DWORDS = 128  # of a vertex, that are looked up
_FLAGS = 0x30  # the number of f0 among the architecture registers
_GROUP4 = {Opcode.DP4: 4, Opcode.DPH: 4, Opcode.DP3: 3, Opcode.DP2: 2}
_CODES = {RegType.UD: "I", RegType.D: "i", RegType.UW: "H", RegType.W: "h", RegType.UB: "B", RegType.B: "b",
          RegType.F: "f", RegType.DF: "d"}


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a register: a number of bytes in a file, or a flag, or a channel of an accumulator."""

    file: OperandFile
    at: int  # bytes; the number of a flag; 16 times the accumulator, and the channel
    size: int = 4
    type: int = int(RegType.UD)

    @property
    def name(self) -> str:
        if self.file is OperandFile.ARCHITECTURE:
            return f"f{self.at // 32}.{self.at // 16 % 2} bit {self.at % 16}"
        if self.file is OperandFile.ACCUMULATOR:
            return f"acc{self.at // 16}, channel {self.at % 16}"
        letter = "g" if self.file is OperandFile.GRF else "m"
        size = max(self.size, 1)
        return f"{letter}{self.at // 32}.{self.at % 32 // size}:{_suffix(self.type)}"


def _suffix(kind: int) -> str:
    return RegType(kind).name.lower() if kind in set(RegType) else "ud"


def number_of(data: bytes, kind: int) -> float | int:
    """The bits of an element as its type has them."""
    code = _CODES.get(RegType(kind), "I") if kind in set(RegType) else "I"
    size = struct.calcsize(code)
    value: float | int = struct.unpack(f"<{code}", data[:size].ljust(size, b"\0"))[0]
    return value


@dataclass(frozen=True, slots=True)
class Texel:
    """A texel that a message reads for one channel; of a compressed surface, its block."""

    address: int
    size: int
    x: int
    y: int
    level: int
    weight: float


@dataclass(frozen=True, slots=True)
class VertexSource:
    """The element that a dword of a vertex is fetched with, and its memory; no bytes: it is a constant."""

    element: int
    component: int
    address: int
    size: int


@dataclass(slots=True)
class Step:
    """One executed instruction."""

    address: int
    text: str
    raw: Any  # struct g4_debug_instruction
    image: bytes  # GRF and MRF before it
    accumulators: tuple[tuple[float, ...], ...] = ()  # after it, if it writes them
    texels: tuple[Texel, ...] = ()

    @property
    def opcode(self) -> int:
        return int(self.raw.opcode)

    @property
    def is_message(self) -> bool:
        return bool(self.raw.is_message)

    @property
    def payload_registers(self) -> int:
        return int(self.raw.payload_length) + int(self.raw.second_length)

    def payload_register(self, k: int) -> Element:
        """Register k of a message's payload, which may consist of two ranges."""
        raw = self.raw
        if not raw.grf_payload:
            return Element(OperandFile.MRF, 32 * ((int(raw.payload) + k) % MRF_COUNT), 32)
        first = int(raw.payload_length)
        register = int(raw.payload) + k if k < first or not raw.second_length else int(raw.second_payload) + k - first
        return Element(OperandFile.GRF, 32 * (register % GRF_COUNT), 32)

    def channel(self, index: int) -> int:
        """The channel of the thread that one of the instruction is."""
        first: int = self.raw.first_channel[index // max(self.raw.per_pass, 1) & 1]
        return first + index % max(int(self.raw.per_pass), 1)


@dataclass(slots=True)
class Payload:
    """Where the registers of a thread come from that it starts with (struct g4_debug_payload)."""

    raw: Any
    curbe_address: int  # of the first row of Gen4's constants

    def constant_address(self, at: int) -> int | None:
        """The memory of a byte of the GRF that has push constants."""
        raw = self.raw
        row, rest = at // 32 - int(raw.constant_register), at % 32
        if not 0 <= row < raw.constant_rows:
            return None
        if not any(raw.constant_buffer_rows):
            return self.curbe_address + 32 * (int(raw.constant_offset) + row) + rest & 0xFFFFFFFF
        for address, rows in zip(raw.constant_address, raw.constant_buffer_rows, strict=True):
            if row < rows:
                return int(address) + 32 * row + rest
            row -= int(rows)
        return None

    def input_row(self, at: int) -> int | None:
        """The number of a register among those of URB entries."""
        row = at // 32 - int(self.raw.input_register)
        return row if row >= 0 and self.raw.input_rows else None


@dataclass(slots=True)
class Recording:
    """A thread: its registers at the start, and the instructions that it executed."""

    thread: Thread
    payload: Payload | None
    gen: Any
    steps: list[Step] = field(default_factory=list)
    complete: bool = True
    writers: dict[tuple[int, int], list[tuple[int, int, int, int]]] = field(default_factory=dict)
    # of the watched pixel: the step with its message, and the registers of its color
    color: tuple[int, tuple[Element | None, ...]] | None = None
    blends: bool = False

    # --- values ---------------------------------------------------------------------------------------------------
    def bytes_before(self, step: int, element: Element) -> bytes | None:
        """The bytes of an element before a step."""
        image = self.steps[step].image if step < len(self.steps) else None
        if image is None or element.file not in (OperandFile.GRF, OperandFile.MRF):
            return None
        at = element.at + (_GRF_BYTES if element.file is OperandFile.MRF else 0)
        return image[at:at + element.size]

    def value(self, step: int, element: Element) -> float | int | None:
        """The number in an element before a step."""
        if element.file is OperandFile.ACCUMULATOR:
            found = self._last(element, step)
            values = self.steps[found].accumulators if found is not None else ()
            return values[element.at // 16][element.at % 16] if values else None
        data = self.bytes_before(step, element)
        return None if data is None else number_of(data, element.type)

    def _last(self, element: Element, step: int) -> int | None:
        entries = self.writers.get((int(element.file), element.at), [])
        return next((entry[0] for entry in reversed(entries) if entry[0] < step), None)

    # --- the slice ------------------------------------------------------------------------------------------------
    def sources_of(self, element: Element, step: int) -> tuple[list[tuple[int, int]], bool]:
        """The instructions and channels that wrote an element's bytes last, and whether some are as at the start."""
        if element.file in (OperandFile.ARCHITECTURE, OperandFile.ACCUMULATOR):
            entries = self.writers.get((int(element.file), element.at), [])
            found = next(((s, c) for s, c, _, _ in reversed(entries) if s < step), None)
            return ([found] if found is not None else []), found is None
        wanted = set(range(element.at, element.at + element.size))
        entries = sorted({entry for dword in range(element.at // 4, (element.at + element.size + 3) // 4)
                          for entry in self.writers.get((int(element.file), dword), ()) if entry[0] < step},
                         reverse=True)
        writers: dict[tuple[int, int], None] = {}
        for number, channel, low, high in entries:
            covered = wanted.intersection(range(low, high))
            if covered:
                writers[number, channel] = None
                wanted -= covered
            if not wanted:
                break
        return list(writers), bool(wanted)

    def operands(self, number: int, index: int) -> Iterator[tuple[str, Element | int | float]]:
        """The elements and immediates that channel `index` of an instruction reads; of messages, only math."""
        step = self.steps[number]
        raw = step.raw
        if step.is_message:
            yield from self._math_operands(step, index)
            return
        for s in range(min(raw.sources, 3)):
            operand = raw.source[s]
            name = f"source {s}"
            if operand.file == OperandFile.IMMEDIATE:
                data = int(operand.value[index]).to_bytes(8, "little")
                yield name, number_of(data, operand.type if operand.size >= 4 else _wide(operand.type))
            elif operand.file in (OperandFile.GRF, OperandFile.MRF):
                for at in self._places(step.opcode, s, operand, index, int(raw.per_pass)):
                    yield name, Element(OperandFile(operand.file), at, operand.size, operand.type)
            elif operand.file == OperandFile.ACCUMULATOR:
                yield name, self._accumulator(raw, index)
            elif operand.file == OperandFile.ARCHITECTURE and operand.at[index] // 32 & 0xF0 == _FLAGS:
                first = 32 * (operand.at[index] // 32 - _FLAGS) + 8 * (operand.at[index] % 32)
                for bit in range(8 * min(operand.size, 4)):
                    if (int(OperandFile.ARCHITECTURE), first + bit) in self.writers:
                        yield name, Element(OperandFile.ARCHITECTURE, first + bit, 0)
        if raw.reads_accumulator:
            yield "accumulator", self._accumulator(raw, index)
        if raw.predicated:
            yield "predicate", Element(OperandFile.ARCHITECTURE, int(raw.flag[index]), 0)

    def _accumulator(self, raw: Any, index: int) -> Element:
        per_pass = max(int(raw.per_pass), 1)
        number = int(raw.accumulator[index // per_pass & 1])
        return Element(OperandFile.ACCUMULATOR, 16 * number + index % per_pass % 16, 0)

    def _places(self, opcode: int, source: int, operand: Any, index: int, per_pass: int) -> list[int]:
        """The bytes that a channel reads of an operand; some instructions read more than their own element."""
        at = int(operand.at[index])
        if opcode == Opcode.LINE and source == 0:
            return [at, at + 12]
        if opcode == Opcode.PLN:
            return [at, at + 4, at + 12] if source == 0 else [at, at + 32 * max(1, per_pass // 8)]
        if opcode in _GROUP4:
            first = index & ~3
            return list(dict.fromkeys(int(operand.at[first + i]) for i in range(4)
                                      if i < _GROUP4[Opcode(opcode)] or source == 1))
        return [at]

    def _math_operands(self, step: Step, index: int) -> Iterator[tuple[str, Element]]:
        """Of a message to the math function of Gen4: its payload, whose first register may be an operand of `send`."""
        raw = step.raw
        part, channel = divmod(index, 8)
        for k in range(max(1, int(raw.payload_length))):
            implied = raw.source[0]
            if k == 0 and implied.file == OperandFile.GRF:
                yield "operand", Element(OperandFile.GRF, int(implied.at[index]), 4, int(RegType.F))
            else:
                at = 32 * ((int(raw.payload) + part + k) % 16) + 4 * channel
                yield "operand", Element(OperandFile.MRF, at, 4, int(RegType.F))

    def result(self, number: int, index: int) -> Element | None:
        """The destination of a channel."""
        raw = self.steps[number].raw
        operand = raw.destination
        if operand.file in (OperandFile.GRF, OperandFile.MRF):
            return Element(OperandFile(operand.file), int(operand.at[index]), operand.size, operand.type)
        if operand.file == OperandFile.ACCUMULATOR or raw.writes_accumulator:
            return self._accumulator(raw, index)
        return None

    # --- recording ------------------------------------------------------------------------------------------------
    def note_writes(self) -> None:
        """Enter the last step into the table of writers."""
        number = len(self.steps) - 1
        step = self.steps[number]
        raw = step.raw
        if step.is_message and not is_math(step, self.gen):
            self._note_message(number, raw)
            return
        operand = raw.destination
        for index in range(min(int(raw.channels), lib.G4_DEBUG_CHANNELS)):
            if not raw.enabled >> index & 1:
                continue
            if operand.file in (OperandFile.GRF, OperandFile.MRF):
                at = int(operand.at[index])
                if operand.file == OperandFile.MRF:
                    at %= _MRF_BYTES
                self._note(OperandFile(operand.file), at, max(operand.size, 1), number, index)
            elif operand.file == OperandFile.ARCHITECTURE and operand.at[index] // 32 & 0xF0 == _FLAGS:
                first = 32 * (operand.at[index] // 32 - _FLAGS) + 8 * (operand.at[index] % 32)
                for bit in range(8 * operand.size):
                    self._note_whole(OperandFile.ARCHITECTURE, first + bit, number, index)
            if raw.writes_flags:
                self._note_whole(OperandFile.ARCHITECTURE, int(raw.flag[index]), number, index)
            if raw.writes_accumulator or operand.file == OperandFile.ACCUMULATOR:
                self._note_whole(OperandFile.ACCUMULATOR, self._accumulator(raw, index).at, number, index)

    def _note_message(self, number: int, raw: Any) -> None:
        fields = block_named("MESSAGE_DESCRIPTOR", self.gen).view((raw.descriptor,), gen=self.gen)
        if raw.destination.file == OperandFile.GRF:
            first = int(raw.destination.at[0]) // 32 * 32
            self._note(OperandFile.GRF, first, 32 * int(fields.response_length), number, WHOLE)
        if not raw.grf_payload and raw.source[0].file == OperandFile.GRF:
            self._note(OperandFile.MRF, 32 * (int(raw.payload) % 16), 32, number, WHOLE)

    def _note(self, file: OperandFile, at: int, size: int, number: int, channel: int) -> None:
        for dword in range(at // 4, (at + size + 3) // 4):
            self.writers.setdefault((int(file), dword), []).append((number, channel, at, at + size))

    def _note_whole(self, file: OperandFile, at: int, number: int, channel: int) -> None:
        self.writers.setdefault((int(file), at), []).append((number, channel, 0, 0))


def is_math(step: Step, gen: Any) -> bool:
    """Whether a step is a message to the math function, which works on channels as an instruction does."""
    return step.is_message and not step.raw.grf_payload and sfid_name(int(step.raw.sfid), gen) == "math"


def _wide(kind: int) -> int:
    """Immediates of words are kept as dwords."""
    return int(RegType.D) if kind in (RegType.W, RegType.B) else int(RegType.UD)


class Recorder(Listener):
    """Records threads of one draw: the pixel shader thread of a fragment, the setup thread of its object, the vertex
    shader threads of some vertices."""

    def __init__(self, device: Device, draw: int, x: int, y: int, fragment: Any, indices: set[int]) -> None:
        self.found: dict[int, Recording] = {}  # by serial
        self.pixel: Recording | None = None
        self.setup: Recording | None = None
        self.vertices: list[Recording] = []
        self.vertex_memory: dict[tuple[int, int, int], VertexSource] = {}
        self._device, self._draw, self._at = device, draw, (x, y)
        self._fragment = fragment
        self._text_at = InstructionTexts(device)
        self._wants_texels: Step | None = None
        setup = [] if fragment.object is None else [
            Trap(TrapKind.OBJECT, units=1 << Unit.SF, value=fragment.object & DEBUG_NUMBERS)]
        self._subscription = Subscription(
            traps=[Trap(TrapKind.PIXEL, x=x, y=y, object=fragment.object), *setup,
                   *(Trap(TrapKind.VERTEX_INDEX, value=index) for index in sorted(indices)[:32])],
            breakpoints=[_EVERY], pixel=(x, y), gang=1,
            handlers={DebugKind.THREAD: self._thread, DebugKind.INSTRUCTION: self._instruction,
                      DebugKind.FRAGMENT: self._pixel_written, DebugKind.VERTEX: self._vertex})
        device.add_listener(self)

    def draw_started(self, words: Words) -> None:
        if self._device.place.draw == self._draw:
            self._device.observer.add(self._subscription)

    def draw_done(self) -> None:
        if self._device.place.draw == self._draw:
            self._device.observer.remove(self._subscription)

    def _thread(self, event: Any) -> DebugAction:
        thread = thread_of(event)
        if thread.serial in self.found or len(self.found) > 64:
            return DebugAction.GO
        raw = ffi.new("struct g4_debug_payload *")
        payload = None
        if lib.g4_debug_read_payload(self._device.native, raw):
            state = self._device.state
            address = state.curbe_address - state.general_state_base + self._device.constants_base
            payload = Payload(raw, address & 0xFFFFFFFF)
        found = Recording(thread, payload, self._device.info.gen)
        if thread.unit is Unit.WM:
            self.pixel = found
        elif thread.unit is Unit.SF:
            self.setup = found
        elif thread.unit is Unit.VS:
            self.vertices.append(found)
            for number in event.thread.vertex[0:event.thread.vertices]:
                if number < event.origins:
                    self._read_vertex(event.origin[number])
        else:
            return DebugAction.GO
        self.found[thread.serial] = found
        self._observe([_EVERY])
        return DebugAction.GO

    def _observe(self, breakpoints: list[Breakpoint]) -> None:
        if self._subscription.breakpoints != breakpoints:
            self._subscription.breakpoints = breakpoints
            self._device.observer.update()

    def _image(self) -> bytes:
        native = self._device.native
        parts = [bytes(ffi.buffer(lib.g4_debug_register(native, 1, n), 32)) for n in range(GRF_COUNT)]
        parts += [bytes(ffi.buffer(lib.g4_debug_register(native, 2, n), 32)) for n in range(MRF_COUNT)]
        return b"".join(parts)

    def _instruction(self, event: Any) -> DebugAction:
        found = self.found.get(event.thread.serial)
        if found is None or not found.complete:
            return DebugAction.GO
        if found.steps:
            self._end_step(found.steps[-1])
        if len(found.steps) == MOST_STEPS:
            found.complete = False
            self._observe([])  # what is left of the thread runs at full speed
            return DebugAction.GO
        raw = ffi.new("struct g4_debug_instruction *")
        if not lib.g4_debug_read_instruction(self._device.native, raw):
            return DebugAction.GO
        step = Step(event.address, self._text_at(event.address), raw, self._image())
        found.steps.append(step)
        found.note_writes()
        if found.thread.unit is Unit.WM and step.is_message:
            self._log_texels(found, step)
        return DebugAction.GO

    def _log_texels(self, found: Recording, step: Step) -> None:
        channel = channel_of(found.thread, *self._at)
        if is_4x2(message_text(step, found.gen)):
            channel = 0
        if channel is not None:
            lib.g4_debug_log_texels(self._device.native, channel if step.raw.channels > 8 else channel % 8)
            self._wants_texels = step

    def _end_step(self, step: Step) -> None:
        raw = step.raw
        if raw.writes_accumulator or raw.destination.file == OperandFile.ACCUMULATOR:
            state = ffi.new("struct g4_debug_state *")
            if lib.g4_debug_read_thread(self._device.native, state):
                step.accumulators = tuple(tuple(row) for row in state.acc_float)
        if self._wants_texels is step:
            texels = ffi.new("struct g4_debug_texel[]", lib.G4_DEBUG_TEXELS)
            count = lib.g4_debug_read_texels(self._device.native, texels)
            step.texels = tuple(Texel(int(t.address), t.bytes, t.x, t.y, t.level, t.weight) for t in texels[0:count])
            self._wants_texels = None

    def _pixel_written(self, event: Any) -> DebugAction:
        raw = event.fragment
        found = self.found.get(event.thread.serial) if raw.has_thread else None
        if found is None or not found.steps or raw.base != self._fragment.target:
            return DebugAction.GO
        elements = tuple(
            Element(OperandFile(raw.color_file[c]), 32 * raw.color_register[c] + 4 * raw.color_element, 4,
                    int(RegType.F)) if raw.color_file[c] else self._replicated(found, c) for c in range(4))
        found.color = (len(found.steps) - 1, elements)
        found.blends = bool(raw.blends)
        self.pixel = found
        return DebugAction.GO

    def _replicated(self, found: Recording, component: int) -> Element | None:
        """The color of a message with one for all pixels is in the last register of its payload."""
        step = found.steps[-1]
        if not step.payload_registers:
            return None
        last = step.payload_register(step.payload_registers - 1)
        return Element(last.file, last.at + 4 * component, 4, int(RegType.F))

    def _read_vertex(self, raw: Any) -> None:
        """The memory that a vertex is fetched from, by index, instance and dword of the entry."""
        if raw.unit != Unit.VF:
            return
        source = ffi.new("struct g4_debug_vertex_source *")
        for dword in range(_ENTRY_DWORDS):
            if lib.g4_debug_read_vertex_source(self._device.native, ffi.addressof(raw), dword, source):
                self.vertex_memory[raw.index, raw.instance, dword] = VertexSource(
                    source.element, source.component, int(source.address), source.bytes)

    def _vertex(self, event: Any) -> DebugAction:
        self._read_vertex(event.origin[event.value])
        return DebugAction.GO


def channel_of(thread: Thread, x: int, y: int) -> int | None:
    """The channel of a pixel in a pixel shader thread."""
    for block, (left, top) in enumerate(thread.subspans):
        if 0 <= x - left < 2 and 0 <= y - top < 2:
            return 4 * block + (x - left) + 2 * (y - top)
    return None


def is_4x2(text: str) -> bool:
    """Whether a sampler message, in words, has four components of two samples in each register."""
    return "SIMD4x2" in text


def message_text(step: Step, gen: Any) -> str:
    """A message in words."""
    return f"{sfid_name(int(step.raw.sfid), gen)} {describe(int(step.raw.descriptor), gen, int(step.raw.sfid))}"
