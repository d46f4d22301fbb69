"""A look at the thread that stopped: registers, masks, code, payload."""

from __future__ import annotations

import struct
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu._native import ffi, lib
from gen4emu.debug.model import Thread
from gen4emu.device.device import Device
from gen4emu.device.memory import Missing, Unit
from gen4emu.errors import FieldError
from gen4emu.hw.fields import Const, Ignored, Mbz
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block
from gen4emu.hw.media import PAYLOAD_MEDIA_R0
from gen4emu.hw.payload import (
    PAYLOAD_CLIP_R0,
    PAYLOAD_GS_R0,
    PAYLOAD_PS_R0,
    PAYLOAD_PS_R1,
    PAYLOAD_SF_R0,
    PAYLOAD_SF_R1,
    PAYLOAD_SF_R2,
    PAYLOAD_VS_R0,
)
from gen4emu.isa import disassemble
from gen4emu.isa.disassembler import Line

_BLOCKS = {
    Unit.VS: (PAYLOAD_VS_R0,), Unit.GS: (PAYLOAD_GS_R0,), Unit.CLIP: (PAYLOAD_CLIP_R0,),
    Unit.SF: (PAYLOAD_SF_R0, PAYLOAD_SF_R1, PAYLOAD_SF_R2), Unit.WM: (PAYLOAD_PS_R0, PAYLOAD_PS_R1),
    Unit.TS: (PAYLOAD_MEDIA_R0,),
}
_CODE = 1 << 16  # bytes around an instruction that are looked at
CR0_STATUS = {27: "mask stack", 28: "illegal opcode", 29: "software", 30: "external halt", 31: "breakpoint"}


@dataclass(frozen=True, slots=True)
class State:
    """What a thread has besides its general registers."""

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


class Look:
    """The thread of an event, as long as its handler has not returned."""

    def __init__(self, device: Device, thread: Thread, address: int) -> None:
        self.device, self.thread, self.address = device, thread, address

    def _register(self, file: int, number: int, name: str) -> NDArray[np.uint32]:
        raw = lib.g4_debug_register(self.device.native, file, number) if number >= 0 else ffi.NULL
        if raw == ffi.NULL:
            raise FieldError(f"the stopped thread has no register {name}{number}")
        return np.frombuffer(ffi.buffer(raw, 32), np.uint32)

    def grf(self, number: int) -> NDArray[np.uint32]:
        """Eight dwords that may be written, too."""
        return self._register(1, number, "g")

    def mrf(self, number: int) -> NDArray[np.uint32]:
        return self._register(2, number, "m")

    def state(self) -> State:
        raw = ffi.new("struct g4_debug_state *")
        if not lib.g4_debug_look(self.device.native, raw):
            raise FieldError("no thread is stopped")
        return State(
            raw.ip, raw.grf_count, raw.dmask, raw.amask, raw.imask, raw.lmask, raw.cmask,
            (raw.flags & 0xFFFF, raw.flags >> 16), tuple(raw.a0), (raw.cr0[0], raw.cr0[1], raw.cr0[2]), raw.sr0,
            (raw.notify[0], raw.notify[1]), tuple(raw.if_stack)[:raw.if_depth], tuple(raw.lmask_stack)[:raw.loop_depth],
            tuple(raw.cmask_stack)[:raw.loop_depth],
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
        for number, block in enumerate(_BLOCKS[self.thread.unit]):
            words = [int(w) for w in self.grf(number)]
            found[f"g{number}"] = _fields(block, words, self.device.info.gen)
        return found


def _fields(block: Block, words: list[int], gen: Gen) -> dict[str, Any]:
    view = block.view(words, gen=gen)
    return {f.name: f.decode(raw) for f, raw in view.fields() if not isinstance(f, Mbz | Const | Ignored)}


def code_at(device: Device, address: int) -> list[Line]:
    code = device.memory.read(address, min(_CODE, (1 << 32) - address), Missing.ZERO)
    return list(disassemble(code, device.info.gen, base=address))


def code_lines(lines: list[Line], address: int) -> Iterator[str]:
    """A listing with an arrow where the thread stands."""
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


def thread_lines(look: Look) -> Iterator[str]:
    """Everything about a thread but its many registers."""
    t, s = look.thread, look.state()
    flagged = ", flagged" if t.flagged else ""
    yield f"{t.name}{flagged}: eu {t.euid}, slot {t.tid}, scratch slot {t.fftid}, kernel 0x{t.kernel:08x}"
    yield f"next 0x{look.address:08x} (ip 0x{s.ip:x}), {s.grf_count} registers"
    yield (f"channels {s.channels:04x}: dispatched {s.dmask:04x}, amask {s.amask:04x}, imask {s.imask:04x}, "
           f"lmask {s.lmask:04x}, cmask {s.cmask:04x}")
    yield f"f0.0 {s.flags[0]:04x}, f0.1 {s.flags[1]:04x}, a0 {' '.join(f'{a:04x}' for a in s.a0)}"
    status = [name for bit, name in CR0_STATUS.items() if s.cr0[1] >> bit & 1]
    enabled = [name for bit, name in CR0_STATUS.items() if s.cr0[1] >> (bit - 16) & 1]
    yield (f"cr0 {s.cr0[0]:08x} {s.cr0[1]:08x} {s.cr0[2]:08x}: {'ALT' if s.cr0[0] & 1 else 'IEEE'} mode"
           f"{', single program flow' if s.cr0[0] & 4 else ''}"
           f"{', in the system routine' if s.cr0[0] >> 31 else ''}"
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
    for name, fields in look.payload().items():
        yield from textwrap.wrap(f"{name}: {', '.join(f'{k} {_value(v)}' for k, v in fields.items())}", 120,
                                 subsequent_indent="    ")


def state_json(look: Look) -> dict[str, Any]:
    s = look.state()
    found: dict[str, Any] = {name: getattr(s, name) for name in (
        "ip", "dmask", "amask", "imask", "lmask", "cmask", "flags", "a0", "cr0", "sr0", "notify", "if_stack",
        "lmask_stack", "cmask_stack", "acc_integer")}
    found["grf"] = [[int(w) for w in look.grf(n)] for n in range(s.grf_count)]
    found["mrf"] = [[int(w) for w in look.mrf(n)] for n in range(int(lib.G4_DEBUG_MRF))]
    return found
