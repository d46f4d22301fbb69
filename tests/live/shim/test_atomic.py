"""Atomic mode setting, which is offered with GEN4EMU_ATOMIC=1 only."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable

from tests.live.shim.display import (
    CONNECTOR,
    CRTC,
    GET_BLOB,
    GET_CRTC,
    GET_PROPERTIES,
    GET_PROPERTY,
    MODE_BYTES,
    PLANES,
    REMOVE_FB,
    SET_CAP,
    Mode,
    all_modes,
    dumb,
    fb2,
    new_fb,
    next_event,
    set_mode,
)
from tests.live.shim.drm import CARD, Device, address_of, fails, in_client

ATOMIC, CREATE_BLOB, DESTROY_BLOB = 0xBC, 0xBD, 0xBE
EVENT, ASYNC, TEST_ONLY, NONBLOCK, ALLOW_MODESET = 1, 2, 0x100, 0x200, 0x400
PRIMARY, CURSOR = 60, 61
FLIP_COMPLETE = 2


class Screen:
    """A device file with atomic mode setting, two framebuffers and a mode."""

    def __init__(self) -> None:
        os.environ["GEN4EMU_ATOMIC"] = "1"
        self.d = Device(CARD)
        self.d.call(SET_CAP, "QQ", 3, 1)
        handle, pitch, _ = dumb(self.d)
        self.pictures = [fb2(self.d, handle, pitch) for _ in range(2)]
        self.mode = Mode(self.d)
        self.numbers: dict[tuple[int, str], int] = {}
        for thing in (PRIMARY, CURSOR, CRTC, CONNECTOR):
            for name, (number, _) in self.properties(thing).items():
                self.numbers[thing, name] = number
        self.blob = self.new_blob(self.mode.data.raw)

    def new_blob(self, data: bytes) -> int:
        raw = ctypes.create_string_buffer(data, len(data))
        return int(self.d.call(CREATE_BLOB, "QII", address_of(raw), len(data), 0)[2])

    def properties(self, thing: int) -> dict[str, tuple[int, int]]:
        """The number and value of each property, by name."""
        numbers, values = (ctypes.c_uint32 * 16)(), (ctypes.c_uint64 * 16)()
        count = self.d.call(GET_PROPERTIES, "QQ3I4x", address_of(numbers), address_of(values), 16, thing, 0)[2]
        found = {}
        for number, value in list(zip(numbers, values, strict=True))[:count]:
            name = self.d.call(GET_PROPERTY, "QQII32sII", 0, 0, number, 0, b"", 0, 0)[4]
            found[name.rstrip(b"\0").decode()] = number, value
        return found

    def value(self, thing: int, name: str) -> int:
        return self.properties(thing)[name][1]

    def commit(self, flags: int, *changes: tuple[int, dict[str, int]], user: int = 0) -> None:
        things = (ctypes.c_uint32 * len(changes))(*[thing for thing, _ in changes])
        counts = (ctypes.c_uint32 * len(changes))(*[len(values) for _, values in changes])
        flat = [(self.numbers[thing, name], value) for thing, values in changes for name, value in values.items()]
        numbers = (ctypes.c_uint32 * max(len(flat), 1))(*[number for number, _ in flat])
        values = (ctypes.c_uint64 * max(len(flat), 1))(*[value for _, value in flat])
        self.d.call(ATOMIC, "IIQQQQQQ", flags, len(changes), address_of(things), address_of(counts),
                    address_of(numbers), address_of(values), 0, user)

    def on(self, picture: int) -> tuple[tuple[int, dict[str, int]], ...]:
        width, height = self.mode.width, self.mode.height
        return ((CONNECTOR, {"CRTC_ID": CRTC}), (CRTC, {"MODE_ID": self.blob, "ACTIVE": 1}),
                (PRIMARY, {"FB_ID": picture, "CRTC_ID": CRTC, "SRC_X": 0, "SRC_Y": 0, "SRC_W": width << 16,
                           "SRC_H": height << 16, "CRTC_X": 0, "CRTC_Y": 0, "CRTC_W": width, "CRTC_H": height}))

    def off(self) -> tuple[tuple[int, dict[str, int]], ...]:
        return ((CONNECTOR, {"CRTC_ID": 0}), (CRTC, {"MODE_ID": 0, "ACTIVE": 0}),
                (PRIMARY, {"FB_ID": 0, "CRTC_ID": 0}))


@in_client(path=CARD)
def test_atomic_mode_setting_is_off_by_default(d: Device) -> None:
    """i915 offers it before Ironlake only with its parameter nuclear_pageflip."""
    with fails(errno.EOPNOTSUPP):
        d.call(SET_CAP, "QQ", 3, 1)
    with fails(errno.EOPNOTSUPP):
        d.call(ATOMIC, "8Q", *[0] * 8)
    os.environ["GEN4EMU_ATOMIC"] = "1"
    late = Device(CARD)
    with fails(errno.EINVAL):
        late.call(ATOMIC, "8Q", *[0] * 8)  # the client capability is not set
    assert late.call(PLANES, "QI4x", 0, 0)[1] == 0
    late.call(SET_CAP, "QQ", 3, 1)
    assert late.call(PLANES, "QI4x", 0, 0)[1] == 2
    late.call(ATOMIC, "8Q", *[0] * 8)


@in_client(path=CARD)
def test_properties_report_the_state(d: Device) -> None:
    s = Screen()
    assert s.value(CRTC, "ACTIVE") == s.value(CRTC, "MODE_ID") == s.value(PRIMARY, "FB_ID") == 0
    s.commit(ALLOW_MODESET, *s.on(s.pictures[0]))
    assert (s.value(CRTC, "ACTIVE"), s.value(CONNECTOR, "CRTC_ID")) == (1, CRTC)
    plane = {name: value for name, (_, value) in s.properties(PRIMARY).items()}
    assert (plane["FB_ID"], plane["CRTC_ID"], plane["SRC_W"], plane["CRTC_H"]) == (
        s.pictures[0], CRTC, 1024 << 16, 768)
    assert plane["IN_FENCE_FD"] == 2**64 - 1
    raw = ctypes.create_string_buffer(MODE_BYTES)
    assert s.d.call(GET_BLOB, "IIQ", s.value(CRTC, "MODE_ID"), MODE_BYTES, address_of(raw))[1] == MODE_BYTES
    assert raw.raw == s.mode.data.raw
    assert s.d.call(GET_CRTC, f"Q7I{MODE_BYTES}s", 0, 0, CRTC, 0, 0, 0, 0, 0, b"")[3] == s.pictures[0]
    limits = (ctypes.c_uint64 * 2)()
    answer = s.d.call(GET_PROPERTY, "QQII32sII", address_of(limits), 0, s.numbers[PRIMARY, "CRTC_X"], 0, b"", 2, 0)
    assert (answer[3], list(limits)) == (0x80000080, [2**64 - 2**31, 2**31 - 1])
    assert d.call(PLANES, "QI4x", 0, 0)[1] == 0  # another file of the same process


def test_commits_show_their_framebuffers(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_that_commits)
        (connection,) = [c for c in live.connections if c.marks]
        assert [mark[1:3] for mark in connection.marks] == [(1024, 768)] * 4


def client_that_commits(d: Device) -> None:
    s = Screen()
    s.commit(TEST_ONLY | ALLOW_MODESET, *s.on(s.pictures[0]))
    assert s.value(CRTC, "ACTIVE") == 0
    s.commit(ALLOW_MODESET | EVENT, *s.on(s.pictures[0]), user=5)
    assert next_event(s.d)[:3] == (FLIP_COMPLETE, 32, 5)
    fence = ctypes.c_int32(-5)
    s.commit(NONBLOCK | EVENT, (PRIMARY, {"FB_ID": s.pictures[1]}), (CRTC, {"OUT_FENCE_PTR": address_of(fence)}),
             user=6)
    assert fence.value >= 0
    with fails(errno.EBUSY):
        s.commit(NONBLOCK | EVENT, (PRIMARY, {"FB_ID": s.pictures[0]}))
    assert next_event(s.d)[2] == 6
    s.commit(0, (PRIMARY, {"FB_ID": s.pictures[0], "IN_FENCE_FD": fence.value}))
    s.commit(ALLOW_MODESET, (CRTC, {"ACTIVE": 0}))
    assert (s.value(CRTC, "ACTIVE"), s.value(PRIMARY, "FB_ID")) == (0, s.pictures[0])
    s.commit(0, (PRIMARY, {"FB_ID": s.pictures[1]}))  # while the CRTC is inactive
    s.commit(ALLOW_MODESET, (CRTC, {"ACTIVE": 1}))
    s.commit(ALLOW_MODESET, *s.off())
    assert s.value(CONNECTOR, "CRTC_ID") == 0


@in_client(path=CARD)
def test_invalid_commits_change_nothing(d: Device) -> None:
    s = Screen()
    off, on = s.off(), s.on(s.pictures[0])
    connector, crtc, plane = on
    with fails(errno.EINVAL):
        s.commit(0, *on)  # sets a mode without ALLOW_MODESET
    for changes in ((crtc, plane), (connector, plane), (connector, (CRTC, {"ACTIVE": 1}))):
        with fails(errno.EINVAL):
            s.commit(ALLOW_MODESET, *changes)
    s.commit(ALLOW_MODESET, *on)
    for flags in (ASYNC, TEST_ONLY | EVENT, 0x800):
        with fails(errno.EINVAL):
            s.commit(flags, plane)
    refused = [(errno.ERANGE, {"SRC_W": 512 << 16}), (errno.ENOSPC, {"SRC_X": 1 << 16}), (errno.EINVAL, {"FB_ID": 99}),
               (errno.EINVAL, {"FB_ID": 0}), (errno.EINVAL, {"CRTC_ID": 7}), (errno.EINVAL, {"CRTC_X": 1}),
               (errno.EINVAL, {"IN_FENCE_FD": 0}), (errno.EINVAL, {"type": 1}), (errno.EINVAL, {"SRC_X": 1 << 40}),
               (errno.EINVAL, {"SRC_W": 512 << 16, "CRTC_W": 512})]
    for error, values in refused:
        with fails(error):
            s.commit(0, (PRIMARY, values))
    for values in ({"MODE_ID": 9999}, {"MODE_ID": s.new_blob(b"short")}, {"ACTIVE": 2}):
        with fails(errno.EINVAL):
            s.commit(ALLOW_MODESET, (CRTC, values))
    s.numbers[CURSOR, "ACTIVE"] = s.numbers[CRTC, "ACTIVE"]
    s.numbers[77, "ACTIVE"] = s.numbers[CRTC, "ACTIVE"]
    for thing in (CURSOR, 77):
        with fails(errno.ENOENT):
            s.commit(0, (thing, {"ACTIVE": 1}))
    with fails(errno.EFAULT):
        s.d.call(ATOMIC, "IIQQQQQQ", 0, 1, 16, 16, 16, 16, 0, 0)
    assert (s.value(CRTC, "ACTIVE"), s.value(PRIMARY, "FB_ID")) == (1, s.pictures[0])
    s.commit(ALLOW_MODESET, *off)
    with fails(errno.EINVAL):
        s.commit(EVENT, (CRTC, {"ACTIVE": 0}))  # an event without a flip


@in_client(path=CARD)
def test_legacy_and_atomic_calls_share_state(d: Device) -> None:
    s = Screen()
    set_mode(s.d, s.pictures[1], s.mode)
    assert (s.value(CRTC, "ACTIVE"), s.value(PRIMARY, "FB_ID")) == (1, s.pictures[1])
    s.commit(0, (CURSOR, {"FB_ID": s.pictures[0], "CRTC_ID": CRTC, "SRC_W": 64 << 16, "SRC_H": 64 << 16, "CRTC_W": 64,
                          "CRTC_H": 64, "CRTC_X": 2**64 - 20}))
    assert s.value(CURSOR, "CRTC_X") == 2**64 - 20
    s.d.call(REMOVE_FB, "I", s.pictures[0])
    assert s.value(CURSOR, "FB_ID") == 0
    s.commit(0, (CRTC, {"ACTIVE": 1}))
    s.d.call(REMOVE_FB, "I", s.pictures[1])
    assert s.value(CRTC, "ACTIVE") == 0


@in_client(path=CARD)
def test_blobs_do_not_need_atomic_mode_setting(d: Device) -> None:
    data, raw = ctypes.create_string_buffer(b"hello", 5), ctypes.create_string_buffer(5)
    blob = d.call(CREATE_BLOB, "QII", address_of(data), 5, 0)[2]
    assert d.call(GET_BLOB, "IIQ", blob, 5, address_of(raw))[1] == 5
    assert raw.raw == b"hello"
    d.call(DESTROY_BLOB, "I", blob)
    with fails(errno.ENOENT):
        d.call(DESTROY_BLOB, "I", blob)
    with fails(errno.ENOENT):
        d.call(GET_BLOB, "IIQ", blob, 0, 0)
    for error, address, length in ((errno.EINVAL, address_of(data), 0), (errno.EFAULT, 16, 5),
                                   (errno.ENOMEM, address_of(data), 1 << 30)):
        with fails(error):
            d.call(CREATE_BLOB, "QII", address, length, 0)


@in_client(path=CARD)
def test_every_mode_of_the_connector_can_be_set(d: Device) -> None:
    s = Screen()
    assert d.fd != s.d.fd
    for mode in all_modes(s.d):
        s.mode, s.blob = mode, s.new_blob(mode.data.raw)
        handle, pitch, _ = dumb(s.d, mode.width, mode.height)
        picture = new_fb(s.d, handle, pitch, mode.width, mode.height)
        s.commit(TEST_ONLY | ALLOW_MODESET, *s.on(picture))
        s.commit(ALLOW_MODESET, *s.on(picture))
        assert s.value(PRIMARY, "FB_ID") == picture
