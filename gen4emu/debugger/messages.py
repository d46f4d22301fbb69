"""Messages of threads, decoded: the request, its payload and the response."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import GRF_COUNT, MRF_COUNT
from gen4emu.debugger.model import Thread, thread_of
from gen4emu.device.device import Device
from gen4emu.device.place import Place
from gen4emu.hw.catalogue import block_named, catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MathFunction, SharedFunction
from gen4emu.isa.message_text import describe, sfid_name

Words = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """One thread's message, after its function has answered."""

    place: Place
    thread: Thread
    address: int  # of the send
    function: int  # SFID
    function_name: str
    descriptor: int
    text: str
    channels: int
    mrf: int  # first register of the payload
    from_grf: bool  # `mrf` is a GRF
    payload: tuple[Words, ...]
    grf: int | None
    response: tuple[Words, ...]
    end: bool
    bad: bool
    first_float: int | None  # register of the payload from which on text shows floats
    returns_floats: bool

    def as_json(self) -> dict[str, Any]:
        return {**self.place.as_json(), "thread": self.thread.as_json(),
                "address": self.address, "descriptor": self.descriptor, "function": self.function_name,
                "text": self.text, "channels": self.channels, "mrf": self.mrf,
                "payload": [list(p) for p in self.payload], "grf": self.grf,
                "response": [list(r) for r in self.response], "end": self.end, "bad": self.bad}


_GRF, _MRF = 1, 2


def _words(device: Device, file: int, number: int) -> Words:
    return tuple(ffi.unpack(lib.g4_debug_register(device.native, file, number), 8))


def message_of(device: Device, event: Any) -> Message:
    thread = thread_of(event)
    gen: Gen = device.info.gen
    fields = block_named("MESSAGE_DESCRIPTOR", gen).view((event.descriptor,), gen=gen)
    numbers = range(event.mrf, event.mrf + fields.message_length)
    payload = tuple(_words(device, _GRF, i % GRF_COUNT) if event.grf_payload else _words(device, _MRF, i % MRF_COUNT)
                    for i in numbers)
    registers = range(event.dst, min(event.dst + fields.response_length, GRF_COUNT)) if event.has_dst else range(0)
    response = tuple(_words(device, _GRF, i) for i in registers)
    text = describe(event.descriptor, gen, event.sfid)
    return Message(device.place, thread, event.address, event.sfid, sfid_name(event.sfid, gen), event.descriptor, text,
                   event.emask, event.mrf, bool(event.grf_payload), payload, event.dst if event.has_dst else None,
                   response, bool(event.end), bool(event.bad), _first_float(event.descriptor, event.sfid, gen),
                   _returns_floats(event.descriptor, event.sfid, gen))


# How many registers of a message are bits, not numbers.
_HEADERS = {SharedFunction.EXTENDED_MATH: 0, SharedFunction.SAMPLER: 1, SharedFunction.DATA_PORT_READ: 2,
            SharedFunction.URB: 1}
_TARGET_HEADER = 2  # registers
_INTEGER_MATH = (MathFunction.INT_DIV_BOTH, MathFunction.INT_DIV_QUOTIENT, MathFunction.INT_DIV_REMAINDER)


def _first_float(descriptor: int, sfid: int, gen: Gen) -> int | None:
    """The first register of the payload that is shown as floats; None: there is none."""
    if sfid != SharedFunction.DATA_PORT_WRITE:
        return _HEADERS.get(SharedFunction(sfid)) if sfid in set(SharedFunction) else None
    layout = catalogue_of(gen).message(sfid)
    assert layout is not None
    view = layout.view((descriptor,), gen=gen)
    if getattr(view.message_type, "name", "") not in ("RENDER_TARGET", "RENDER_TARGET_WRITE"):
        return None
    has_header = "header_present" not in layout.by_name(gen) or view.header_present
    return _TARGET_HEADER if has_header else 0


def _returns_floats(descriptor: int, sfid: int, gen: Gen) -> bool:
    if sfid != SharedFunction.EXTENDED_MATH:
        return sfid == SharedFunction.SAMPLER
    layout = catalogue_of(gen).message(sfid)
    return layout is not None and layout.view((descriptor,), gen=gen).math_function not in _INTEGER_MATH


def _row(name: str, words: Words, floats: bool) -> str:
    if floats:
        values = struct.unpack("<8f", struct.pack("<8I", *words))
        return f"    {name:<5}" + " ".join(f"{v:>12.6g}" for v in values)
    return f"    {name:<5}" + " ".join(f"{w:08x}" for w in words)


def message_lines(message: Message) -> Iterator[str]:
    m = message
    of = f" of object {m.thread.object}" if m.thread.object is not None else ""
    yield (f"{m.place}, {m.thread.name}{of}, 0x{m.address:08x}: {m.function_name} 0x{m.descriptor:08x} "
           f"{m.text}{' EOT' if m.end else ''}, channels {m.channels:04x}{', BAD' if m.bad else ''}")
    for i, words in enumerate(m.payload):
        name = f"g{m.mrf + i % GRF_COUNT}" if m.from_grf else f"m{m.mrf + i % MRF_COUNT}"
        yield _row(name, words, m.first_float is not None and i >= m.first_float)
    for i, words in enumerate(m.response):
        yield _row(f"g{(m.grf or 0) + i}", words, m.returns_floats)
