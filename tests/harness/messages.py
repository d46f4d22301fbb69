"""Descriptors of `send` from named fields: as numbers, and as operands of assembly text."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import BARRIER_PAYLOAD
from gen4emu.hw.gen7.messages import DataCacheTypeGen7


def descriptor(name: str, gen: Gen, *, length: int = 1, response: int = 0, **fields: Any) -> int:
    """Of the message NAME, with the registers of its payload and response.

    From Gen6 on, the shared function is in the instruction.
    """
    message = next(m for m in catalogue_of(gen).messages if m.name == name)
    if gen in Gen.ALL4:
        fields["shared_function"] = message.sfid
    (word,) = message.pack(gen, message_length=length, response_length=response, **fields)
    return word


def operand(name: str, gen: Gen = Gen.CTG, **fields: Any) -> str:
    """The descriptor as the assembler reads it."""
    return f"0x{descriptor(name, gen, **fields):08x}"


def urb_write(length: int, *, end: bool = True, swizzle: str = "NONE", **fields: Any) -> str:
    """The operand of a URB write.  By default it ends the thread, and its entry is complete and used."""
    return operand("URB_MESSAGE", length=length, **{"end_of_thread": end, "complete": end, "used": True,
                                                    "swizzle_control": swizzle} | fields)


def target_write(length: int, kind: str = "SIMD8_SUBSPANS_01") -> str:
    """The operand of the render target write with which a pixel shader of Gen4 ends, to binding table entry 0."""
    return operand("DATA_PORT_WRITE_MESSAGE", length=length, end_of_thread=True, message_type="RENDER_TARGET",
                   last_render_target_select=True, render_target_write_type=kind)


def data_port_gen7(gen: Gen, length: int, response: int, kind: int, control: int, index: int, *, header: bool = True,
                   scratch: bool = False) -> int:
    """The descriptor of any data port of Gen7 to Gen9, which share this layout, from a control of any value."""
    word = descriptor("SAMPLER_CACHE_DATA_PORT_MESSAGE", gen, length=length, response=response, header_present=header,
                      message_type=kind, message_control=control, binding_table_index=index)
    return word | descriptor("DATA_CACHE_DATA_PORT_MESSAGE", gen, length=0, scratch=scratch)


_OF_THE_DATA_CACHE = [kind for kind in DataCacheTypeGen7 if not kind.name.startswith("UNTYPED")]


def data_port_control(gen: Gen, kind: IntEnum, **fields: Any) -> int:
    """The control of a message to a data port of Gen7 to Gen9, from the names of its fields.

    Messages have the same control at each port that accepts them.  Some ports describe it as a number only: the names
    are those of the data cache, and for surfaces and 64-bit addresses those of data cache 1.
    """
    if kind in _OF_THE_DATA_CACHE and isinstance(kind, DataCacheTypeGen7):
        if "DWORD_SCATTERED" in kind.name:
            fields.setdefault("reserved_scattered_dwords", 1)  # bit 9, which both sizes have
        word = descriptor("DATA_CACHE_DATA_PORT_MESSAGE", gen, message_type=kind.name, **fields)
    else:
        word = descriptor("DATA_CACHE_DATA_PORT_1_MESSAGE", Gen.KBL, message_type=kind.name, **fields)
    message = next(m for m in catalogue_of(Gen.IVB).messages if m.name == "SAMPLER_CACHE_DATA_PORT_MESSAGE")
    return message.view([word], gen=Gen.IVB).raw("message_control")


def channel_mask(names: str) -> int:
    """The channel mask of a message that transfers these of R, G, B and A: a bit disables its channel."""
    return sum(1 << i for i, channel in enumerate("RGBA") if channel not in names)


ONE_CHANNEL = channel_mask("R")

# From Gen7 on, a thread arrives at the barrier that R0.2 names.
ARRIVE = operand("GATEWAY_MESSAGE", Gen.IVB, gateway_function="BARRIER_MSG")
BARRIER_ID = f"0x{BARRIER_PAYLOAD.field('barrier_id', Gen.IVB).mask_in(2):08x}UD"

# Operands on Gen4 and Gen4.5.
INVERSE = operand("EXTENDED_MATH_MESSAGE", response=1, math_function="INV")
ROOT = operand("EXTENDED_MATH_MESSAGE", response=1, math_function="SQRT")
INVERSE_ROOT = operand("EXTENDED_MATH_MESSAGE", response=1, math_function="RSQ")
SCALAR_INVERSE = operand("EXTENDED_MATH_MESSAGE", response=1, math_function="INV", scalar=True)
SAMPLE_16 = operand("SAMPLER_MESSAGE", length=5, response=8, binding_table_index=1)  # two coordinates
WRITE_8, WRITE_8_WITH_DEPTH = target_write(6), target_write(7)
WRITE_16 = target_write(10, "SIMD16")
PLANES = urb_write(4, swizzle="TRANSPOSE")  # of setup threads: four attributes
ONE_VERTEX = urb_write(2)  # of one row, by threads of GS and CLIP; ends the thread
NO_VERTEX = urb_write(1, used=False)  # the same without output
END_MESSAGE = operand("NULL_MESSAGE", end_of_thread=True)
MEDIA_END = operand("THREAD_SPAWNER_MESSAGE", end_of_thread=True)
