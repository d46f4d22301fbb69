"""Messages of Gen4.5: wider types, and more of them (Mesa's brw_eu_defines.h)."""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Bool, Enum, Ignored, Uint
from gen4emu.hw.gen4 import messages
from gen4emu.hw.gen4.messages import data_port_read_message
from gen4emu.hw.layout import Block


class DataPortReadTypeGen45(IntEnum):
    """Three bits on G4x; those without the lowest bit are the ones of 965."""

    OWORD_BLOCK = 0
    RENDER_TARGET_UNORM = 1
    OWORD_DUAL_BLOCK = 2
    AVC_LOOP_FILTER = 3
    MEDIA_BLOCK = 4
    DWORD_SCATTERED = 6


class DataPortWriteTypeGen45(IntEnum):
    """G4x adds two, which no client sends and no source lays out."""

    OWORD_BLOCK = 0
    OWORD_DUAL_BLOCK = 1
    MEDIA_BLOCK = 2
    DWORD_SCATTERED = 3
    RENDER_TARGET = 4
    STREAMED_VERTEX_BUFFER = 5
    RENDER_TARGET_UNORM = 6
    FLUSH_RENDER_CACHE = 7


_MESSAGES = {message.name: message for message in messages.MESSAGES}

REPLACED: tuple[Block, ...] = (
    _MESSAGES["SAMPLER_MESSAGE"].changed(
        Uint("message_type", 0, 15, 12, high=3, doc="with the length: see sampler_message()"),
        remove=["return_format"]),
    data_port_read_message(DataPortReadTypeGen45, 11),
    _MESSAGES["DATA_PORT_WRITE_MESSAGE"].changed(
        Enum("message_type", 0, 14, 12, DataPortWriteTypeGen45)),
    _MESSAGES["URB_MESSAGE"].changed(
        Bool("fast_composite_restriction_check_pass", 0, 12)),
    messages.GATEWAY_FORWARD_PAYLOAD.changed(
        Ignored(4, 23, 19),
        Uint("tid", 4, 18, 16, doc="an EU has five threads"),
        remove=["reserved_4_23_18"]),
)
