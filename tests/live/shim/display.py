"""Ioctls of mode setting, with the structures of the kernel."""

from __future__ import annotations

import ctypes
import os
import struct

from tests.live.shim.drm import Device, address_of

CRTC, CONNECTOR, ENCODER = 40, 50, 51
SET_CAP, WAIT_VBLANK, GET_SEQUENCE, QUEUE_SEQUENCE, GET_PIPE = 0x0D, 0x3A, 0x3B, 0x3C, 0x65
RESOURCES, GET_CRTC, SET_CRTC, CURSOR, GET_GAMMA, SET_GAMMA, GET_ENCODER, GET_CONNECTOR = range(0xA0, 0xA8)
GET_PROPERTY, SET_PROPERTY, GET_BLOB, GET_FB, ADD_FB, REMOVE_FB, FLIP, DIRTY = range(0xAA, 0xB2)
CREATE_DUMB, MAP_DUMB, DESTROY_DUMB, PLANES, GET_PLANE, SET_PLANE, ADD_FB2, GET_PROPERTIES = range(0xB2, 0xBA)
XR24, AR24 = 0x34325258, 0x34325241
MODE = "I5H5H3I32s"
MODE_BYTES = 68


class Mode:
    """A mode of the connector."""

    def __init__(self, d: Device, number: int = 0) -> None:
        count = mode_count(d)
        room = ctypes.create_string_buffer(MODE_BYTES * count)
        d.call(GET_CONNECTOR, "QQQQ12I", 0, address_of(room), 0, 0, count, 0, 0, 0, CONNECTOR, *[0] * 7)
        self.data = ctypes.create_string_buffer(room.raw[MODE_BYTES * number:MODE_BYTES * (number + 1)], MODE_BYTES)
        self.fields = struct.unpack("<" + MODE, self.data.raw)
        self.clock, self.width, self.height, self.flags, self.type = (self.fields[i] for i in (0, 1, 6, 12, 13))
        self.name = self.fields[14].rstrip(b"\0").decode()
        self.refresh = self.clock * 1000 / (self.fields[4] * self.fields[9])


def mode_count(d: Device) -> int:
    return d.call(GET_CONNECTOR, "QQQQ12I", 0, 0, 0, 0, 0, 0, 0, 0, CONNECTOR, *[0] * 7)[4]


def all_modes(d: Device) -> list[Mode]:
    return [Mode(d, i) for i in range(mode_count(d))]


def dumb(d: Device, width: int = 1024, height: int = 768, bpp: int = 32) -> tuple[int, int, int]:
    """Create a dumb buffer; return handle, pitch and size."""
    result = d.call(CREATE_DUMB, "6IQ", height, width, bpp, 0, 0, 0, 0)
    return result[4], result[5], result[6]


def new_fb(d: Device, handle: int, pitch: int, width: int = 1024, height: int = 768) -> int:
    return d.call(ADD_FB, "7I", 0, width, height, pitch, 32, 24, handle)[0]


def fb2(d: Device, handle: int, pitch: int, modifier: int | None = None, fourcc: int = XR24) -> int:
    flags = 0 if modifier is None else 2
    return d.call(ADD_FB2, "5I4I4I4I4x4Q", 0, 1024, 768, fourcc, flags, handle, 0, 0, 0, pitch, 0, 0, 0, 0, 0, 0, 0,
                  modifier or 0, 0, 0, 0)[0]


def set_mode(d: Device, fb: int, mode: Mode) -> None:
    connectors = ctypes.c_uint32(CONNECTOR)
    d.call(SET_CRTC, f"Q7I{MODE_BYTES}s", address_of(connectors), 1, CRTC, fb, 0, 0, 0, 1, mode.data.raw)


def next_event(d: Device) -> tuple[int, ...]:
    return struct.unpack("<IIQIIII", os.read(d.fd, 1024))
