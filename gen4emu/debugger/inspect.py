"""The thread that stopped and its surroundings: registers, masks, code, payload, draw, surfaces, memory."""

from __future__ import annotations

import difflib
import re
import struct
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu._native import ffi, lib
from gen4emu.debugger.history import origin_lines
from gen4emu.debugger.model import STAGES, Thread, surface_address, surface_state
from gen4emu.device.device import Device
from gen4emu.device.memory import MemoryFault, Missing, Unit
from gen4emu.device.place import DrawKind
from gen4emu.errors import FieldError
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.command_reader import Words
from gen4emu.hw.fields import Const, Ignored, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.surface import SurfaceType
from gen4emu.hw.layout import Block, View
from gen4emu.isa import disassemble, kernel_length
from gen4emu.isa.disassembler import Line
from gen4emu.isa.message_text import sfid_names
from gen4emu.isa.opcodes import Opcode
from gen4emu.isa.registers import CONTROL_BITS


class InstructionTexts:
    """The disassembly of single instructions in a device's memory, each as it is when first needed."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._texts: dict[int, str] = {}

    def __call__(self, address: int) -> str:
        if address not in self._texts:
            code = self._device.memory.read(address, 16, Missing.ZERO)
            line = next(iter(disassemble(code, self._device.info.gen, base=address)), None)
            self._texts[address] = "no instruction" if line is None else line.text
        return self._texts[address]


_RANGE = re.compile(r"(?P<file>[gm])(?P<first>\d{1,3})(?:\.\.(?:[gm])?(?P<last>\d{1,3}))?")
_ELEMENT = re.compile(r"(?P<file>[gm])(?P<number>\d{1,3})\.(?P<element>\d{1,2})(?::(?P<type>\w+))?")
_SPECIAL = re.compile(r"(?P<file>f0|cr0)\.(?P<number>[0-2])")
_TYPES = {"f": "f", "d": "i", "ud": "I", "w": "h", "uw": "H", "b": "b", "ub": "B"}


def opcode(name: str) -> int:
    """An opcode by name or number."""
    if name.upper() in Opcode.__members__:
        return int(Opcode[name.upper()])
    if name.isdigit() and int(name) < 128:
        return int(name)
    raise FieldError(f"unknown opcode {name!r}{_meant(name, [o.name.lower() for o in Opcode])}")


def _meant(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def function(name: str, gen: Gen) -> int:
    """A shared function of a device by the assembler's names, or its number."""
    numbers = {known: number for number, known in sfid_names(gen).items()}
    if name in numbers:
        return numbers[name]
    number = name.removeprefix("sfid")
    if number.isdigit() and int(number) < 16:
        return int(number)
    raise FieldError(f"unknown shared function {name!r} (known: {', '.join(numbers)})")


def units(bits: int) -> Iterator[Unit]:
    return (unit for unit in STAGES if bits >> unit & 1)


def registers(name: str) -> tuple[str, range]:
    """`g4`, `g0..g9`, `m2..5`."""
    m = _RANGE.fullmatch(name)
    if m is None:
        raise FieldError(f"invalid register {name!r} (examples: g4, g0..g9, m2..m5)")
    first = int(m["first"])
    return m["file"], range(first, int(m["last"] or first) + 1)


def assign(live_thread: LiveThread, name: str, text: str) -> None:
    """Set a register or a part of it."""
    special = _SPECIAL.fullmatch(name)
    if special is not None:
        value = _integer(text)
        if special["file"] == "cr0":
            live_thread.set_control(int(special["number"]), value)
        elif special["number"] == "2":
            raise FieldError("f0.0 and f0.1 are the flags")
        else:
            live_thread.set_flag(int(special["number"]), value)
        return
    m = _ELEMENT.fullmatch(name)
    kind = _TYPES.get(m["type"] or "ud") if m is not None else None
    if m is None or kind is None:
        raise FieldError(f"invalid part of a register {name!r} (examples: g4.2, g4.2:f, m2.0:uw, f0.0, cr0.1)")
    words = live_thread.grf(int(m["number"])) if m["file"] == "g" else live_thread.mrf(int(m["number"]))
    size = struct.calcsize(kind)
    at = int(m["element"]) * size
    if at + size > 32:
        raise FieldError(f"{name}: a register has {32 // size} elements of that type")
    try:
        packed = struct.pack(f"<{kind}", float(text) if kind == "f" else _integer(text))
    except (ValueError, struct.error, OverflowError):
        raise FieldError(f"{text!r} does not fit {name}") from None
    words.view(np.uint8)[at:at + size] = np.frombuffer(packed, np.uint8)


def _integer(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise FieldError(f"invalid number {text!r}") from None


_BLOCKS = {
    Unit.VS: ("PAYLOAD_VS_R0",), Unit.GS: ("PAYLOAD_GS_R0",), Unit.CLIP: ("PAYLOAD_CLIP_R0",),
    Unit.SF: ("PAYLOAD_SF_R0", "PAYLOAD_SF_R1", "PAYLOAD_SF_R2"), Unit.WM: ("PAYLOAD_PS_R0", "PAYLOAD_PS_R1"),
    Unit.TS: ("PAYLOAD_MEDIA_R0",), Unit.HS: ("PAYLOAD_HS_R0",), Unit.DS: ("PAYLOAD_VS_R0", "PAYLOAD_DS_R1"),
}
_GROUPS = ("PAYLOAD_GPGPU_R0",)  # of threads that GPGPU_WALKER starts
_CODE = 1 << 16  # bytes around an instruction that are disassembled
_EXCEPTIONS = ("mask stack", "illegal opcode", "software", "external halt", "breakpoint")  # by ThreadException


@dataclass(frozen=True, slots=True)
class State:
    """The state of a thread besides its general registers."""

    ip: int
    grf_count: int
    dmask: int
    amask: int
    imask: int
    lmask: int
    cmask: int
    flags: tuple[int, int]
    a0: tuple[int, ...]
    cr0: tuple[int, int, int]
    sr0: int
    notify: tuple[int, int]
    if_stack: tuple[int, ...]
    lmask_stack: tuple[int, ...]
    cmask_stack: tuple[int, ...]
    acc_float: tuple[tuple[float, ...], tuple[float, ...]]
    acc_integer: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def channels(self) -> int:
        """Channels that an instruction without predicate works on."""
        return self.amask & self.imask & self.lmask & self.cmask


class LiveThread:
    """The thread of an event, as long as its handler has not returned."""

    def __init__(self, device: Device, thread: Thread, address: int) -> None:
        self.device, self.thread, self.address = device, thread, address

    def _register(self, file: int, number: int, name: str) -> NDArray[np.uint32]:
        raw = lib.g4_debug_register(self.device.native, file, number) if number >= 0 else ffi.NULL
        if raw == ffi.NULL:
            raise FieldError(f"the stopped thread has no register {name}{number}")
        return np.frombuffer(ffi.buffer(raw, 32), np.uint32)

    def grf(self, number: int) -> NDArray[np.uint32]:
        """Eight dwords, which may also be written."""
        return self._register(1, number, "g")

    def mrf(self, number: int) -> NDArray[np.uint32]:
        return self._register(2, number, "m")

    def state(self) -> State:
        raw = ffi.new("struct g4_debug_state *")
        if not lib.g4_debug_read_thread(self.device.native, raw):
            raise FieldError("no thread is stopped")
        addresses = 16 if self.device.info.gen & (Gen.GEN8 | Gen.GEN9) else 8
        return State(
            raw.ip, raw.grf_count, raw.dmask, raw.amask, raw.imask, raw.lmask, raw.cmask,
            (raw.flags & 0xFFFF, raw.flags >> 16), tuple(raw.a0)[:addresses], (raw.cr0[0], raw.cr0[1], raw.cr0[2]),
            raw.sr0, (raw.notify[0], raw.notify[1]), tuple(raw.if_stack)[:raw.if_depth],
            tuple(raw.lmask_stack)[:raw.loop_depth], tuple(raw.cmask_stack)[:raw.loop_depth],
            (tuple(raw.acc_float[0]), tuple(raw.acc_float[1])),
            (tuple(raw.acc_integer[0]), tuple(raw.acc_integer[1])))

    def set_flag(self, number: int, value: int) -> None:
        flags = list(self.state().flags)
        flags[number] = value & 0xFFFF
        lib.g4_debug_set_flags(self.device.native, flags[0] | flags[1] << 16)

    def set_control(self, number: int, value: int) -> None:
        lib.g4_debug_set_control(self.device.native, number, value & 0xFFFFFFFF)

    # --- code -----------------------------------------------------------------------------------------------------
    def code(self) -> list[Line]:
        """The kernel, from its first instruction to its end."""
        return code_at(self.device, self.thread.kernel)

    def around(self, before: int, after: int) -> list[Line]:
        """Lines of the kernel around the next instruction; code elsewhere is shown from there on."""
        lines = self.code()
        at = next((i for i, line in enumerate(lines) if line.address == self.address), None)
        if at is None:
            return code_at(self.device, self.address)[:after + 1]
        return lines[max(0, at - before):at + after + 1]

    # --- payload --------------------------------------------------------------------------------------------------
    def payload(self) -> dict[str, dict[str, Any]]:
        """The fields of the registers that the fixed function filled, as they are now."""
        found = {}
        dispatch = self.thread.unit == Unit.TS and self.device.numbers.kind is DrawKind.DISPATCH
        for number, name in enumerate(_GROUPS if dispatch else _BLOCKS[self.thread.unit]):
            words = [int(w) for w in self.grf(number)]
            found[f"g{number}"] = _fields(block_named(name, self.device.info.gen), words, self.device.info.gen)
        return found


def _fields(block: Block, words: list[int], gen: Gen) -> dict[str, Any]:
    view = block.view(words, gen=gen)
    return {f.name: f.decode(raw) for f, raw in view.fields() if not isinstance(f, Mbz | Const | Ignored)}


def code_at(device: Device, address: int) -> list[Line]:
    return list(disassemble(_code_bytes(device, address), device.info.gen, base=address))


def kernel_at(device: Device, address: int) -> bytes:
    """The code of a kernel, up to its end."""
    code = _code_bytes(device, address)
    return code[:kernel_length(code, device.info.gen)]


def _code_bytes(device: Device, address: int) -> bytes:
    return bytes(device.memory.read(address, min(_CODE, device.memory.size - address), Missing.ZERO))


def code_lines(lines: list[Line], address: int) -> Iterator[str]:
    """A listing with an arrow at the next instruction."""
    for line in lines:
        if line.label:
            yield f"{line.label}:"
        arrow = "=>" if line.address == address else "  "
        yield f"{arrow} 0x{line.address:08x}  {line.text}{f'  // {line.comment}' if line.comment else ''}"


_FORMATS = {"ud": "I", "d": "i", "f": "f", "uw": "H", "w": "h", "ub": "B", "b": "b"}
FORMATS = tuple(_FORMATS)


def register_text(words: NDArray[np.uint32], form: str = "ud") -> str:
    data = words.tobytes()
    code = _FORMATS[form]
    values = struct.unpack(f"<{32 // struct.calcsize(code)}{code}", data)
    if form == "f":
        return " ".join(f"{v:>12.6g}" for v in values)
    width = {"ud": 8, "uw": 4, "ub": 2}.get(form)
    return " ".join(f"{v:0{width}x}" if width else f"{v:>{1 + len(str(1 << 8 * struct.calcsize(code)))}}"
                    for v in values)


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    name = getattr(value, "name", None)
    if isinstance(name, str):
        return name
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) and value > 9 else str(value)


def thread_lines(live_thread: LiveThread) -> Iterator[str]:
    """Everything about a thread except its general registers."""
    t, s = live_thread.thread, live_thread.state()
    flagged = ", flagged" if t.flagged else ""
    yield f"{t.name}{flagged}: eu {t.euid}, slot {t.tid}, scratch slot {t.fftid}, kernel 0x{t.kernel:08x}"
    yield f"next 0x{live_thread.address:08x} (ip 0x{s.ip:x}), {s.grf_count} registers"
    yield (f"channels {s.channels:04x}: dispatched {s.dmask:04x}, amask {s.amask:04x}, imask {s.imask:04x}, "
           f"lmask {s.lmask:04x}, cmask {s.cmask:04x}")
    yield f"f0.0 {s.flags[0]:04x}, f0.1 {s.flags[1]:04x}, a0 {' '.join(f'{a:04x}' for a in s.a0)}"
    status, enabled = ([name for bit, name in enumerate(_EXCEPTIONS) if s.cr0[1] >> CONTROL_BITS[shift] + bit & 1]
                       for shift in ("STATUS_SHIFT", "ENABLE_SHIFT"))
    alternate, single, master = (s.cr0[0] & CONTROL_BITS[name] for name in ("ALTERNATE", "SINGLE_FLOW", "MASTER"))
    yield (f"cr0 {s.cr0[0]:08x} {s.cr0[1]:08x} {s.cr0[2]:08x}: {'ALT' if alternate else 'IEEE'} mode"
           f"{', single program flow' if single else ''}{', in the system routine' if master else ''}"
           f"{', exceptions enabled: ' + ', '.join(enabled) if enabled else ''}"
           f"{', met: ' + ', '.join(status) if status else ''}")
    yield f"sr0 {s.sr0:08x}, n0 {s.notify[0]}, n1 {s.notify[1]}"
    for name, stack in (("if", s.if_stack), ("lmask", s.lmask_stack), ("cmask", s.cmask_stack)):
        if stack:
            yield f"{name} stack {' '.join(f'{m:04x}' for m in reversed(stack))}"
    for i in range(2):
        if any(s.acc_integer[i]):
            yield f"acc{i} {' '.join(f'{v:.9g}' for v in s.acc_float[i])} as floats"
            yield f"acc{i} {' '.join(str(v) for v in s.acc_integer[i])} as integers"
    for name, fields in live_thread.payload().items():
        yield from textwrap.wrap(f"{name}: {', '.join(f'{k} {_value(v)}' for k, v in fields.items())}", 120,
                                 subsequent_indent="    ")


def state_json(live_thread: LiveThread) -> dict[str, Any]:
    s = live_thread.state()
    found: dict[str, Any] = {name: getattr(s, name) for name in (
        "ip", "dmask", "amask", "imask", "lmask", "cmask", "flags", "a0", "cr0", "sr0", "notify", "if_stack",
        "lmask_stack", "cmask_stack", "acc_integer")}
    found["grf"] = [[int(w) for w in live_thread.grf(n)] for n in range(s.grf_count)]
    found["mrf"] = [[int(w) for w in live_thread.mrf(n)] for n in range(int(lib.G4_DEBUG_MRF))]
    return found


_STATES = (("vs", "VS_STATE", "vs_state"), ("gs", "GS_STATE", "gs_state"), ("clip", "CLIP_STATE", "clip_state"),
           ("sf", "SF_STATE", "sf_state"), ("wm", "WM_STATE", "wm_state"))
_ENTRIES = 32  # of a binding table that are shown
_ROW = 32  # bytes of memory in a line


def peek(device: Device, address: int, size: int) -> bytes:
    return device.memory.read(address, min(size, device.memory.size - address), Missing.ZERO)


def is_there(device: Device, address: int) -> bool:
    """Whether there is memory at an address."""
    try:
        device.memory.read(address, 1)
    except MemoryFault:
        return False
    return True


def dump(address: int, data: bytes) -> Iterator[str]:
    for at in range(0, len(data), _ROW):
        row = data[at:at + _ROW]
        words = struct.unpack(f"<{len(row) // 4}I", row[:len(row) // 4 * 4])
        rest = row[len(row) // 4 * 4:].hex(" ")
        yield f"0x{address + at:08x}  {' '.join(f'{w:08x}' for w in words)} {rest}".rstrip()


def draw_lines(device: Device, words: Words) -> Iterator[str]:
    """The 3DPRIMITIVE that is about to start, and its kernels."""
    gen = device.info.gen
    p = command_named("3DPRIMITIVE", gen).view(words, gen=gen, dwords=len(words))
    access = "indexed" if p.vertex_access_type else "sequential"
    instances = f", {p.instance_count} instances" if p.instance_count != 1 else ""
    yield (f"{device.place}: 3DPRIMITIVE {device.topology}, {p.vertex_count_per_instance} vertices from "
           f"{p.start_vertex_location}, {access}{instances}")
    if not gen & Gen.ALL4:  # later ones have commands instead of these blocks
        return
    state = device.state
    kernels = []
    for stage, block, pointer in _STATES:
        if (stage == "gs" and not state.gs_enable) or (stage == "clip" and not state.clip_enable):
            continue
        layout = block_named(block, gen)
        size = layout.size(gen)
        view = layout.view(struct.unpack(f"<{size}I", peek(device, getattr(state, pointer), 4 * size)), gen=gen)
        if stage == "vs" and not view.vs_function_enable:
            continue
        kernels.append(f"{stage} 0x{state.general_state_base + view.kernel_start_pointer & 0xFFFFFFFF:08x}")
    yield f"  kernels: {', '.join(kernels)}"


def base_lines(device: Device) -> Iterator[str]:
    """The state that SVG shows of the running context (965 PRM vol. 4, 3.3.3)."""
    state = device.state
    for name in ("general_state_base", "surface_state_base", "indirect_object_base", "general_state_bound",
                 "indirect_object_bound", "system_instruction_pointer"):
        yield f"{name.replace('_', ' ')} 0x{getattr(state, name):08x}"


def surfaces(device: Device, thread: Thread) -> list[tuple[int, str]]:
    """The thread's binding table, up to the first entry that is empty."""
    found = []
    for index in range(_ENTRIES):
        at = thread.binding_table + 4 * index & device.memory.size - 1
        (entry,) = struct.unpack("<I", peek(device, at, 4).ljust(4, b"\0"))
        if entry == 0:
            break
        s = surface_state(device, thread, index)
        kind = getattr(s.surface_type, "name", str(s.surface_type)).removeprefix("SURFTYPE_")
        form = getattr(s.surface_format, "name", str(s.surface_format))
        if s.surface_type == SurfaceType.SURFTYPE_BUFFER:
            text = f"{kind} 0x{surface_address(device, s):08x} {form}"
        else:
            tiling = _tiling(s)
            text = (f"{kind} 0x{surface_address(device, s):08x} {form} {s.width}x{s.height}x{s.depth}, "
                    f"pitch {s.surface_pitch}, {tiling}")
        found.append((index, text))
    return found


def _tiling(surface: View) -> str:
    """Gen4 to Gen7.5 have a flag and a walk, Gen9 a mode."""
    fields = surface.layout.by_name(surface.gen)
    walk = surface.text("tile_mode" if "tile_mode" in fields else "tile_walk")
    is_linear = walk == "LINEAR" if "tile_mode" in fields else not surface.tiled_surface
    return "linear" if is_linear else f"tiled {walk[0]}"


def origin_of_thread(thread: Thread) -> Iterator[str]:
    """The object, pixels or vertices of the thread."""
    if thread.unit is Unit.WM:
        blocks = " ".join(f"({x},{y})" for x, y in thread.subspans)
        yield f"object {thread.object}, thread {thread.in_object} of it, 2x2 blocks {blocks}"
    elif thread.object is not None:
        yield f"object {thread.object}"
    for vertex in thread.vertices:
        yield from origin_lines(vertex, "  ")
