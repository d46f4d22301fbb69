"""Mode setting."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import time
from collections.abc import Callable
from pathlib import Path

from tests.live.shim.display import (
    ADD_FB,
    AR24,
    CONNECTOR,
    CREATE_DUMB,
    CRTC,
    CURSOR,
    DESTROY_DUMB,
    DIRTY,
    ENCODER,
    FLIP,
    GET_BLOB,
    GET_CONNECTOR,
    GET_CRTC,
    GET_ENCODER,
    GET_FB,
    GET_GAMMA,
    GET_PIPE,
    GET_PLANE,
    GET_PROPERTIES,
    GET_PROPERTY,
    GET_SEQUENCE,
    MAP_DUMB,
    MODE_BYTES,
    PLANES,
    QUEUE_SEQUENCE,
    REMOVE_FB,
    RESOURCES,
    SET_CAP,
    SET_CRTC,
    SET_GAMMA,
    SET_PROPERTY,
    WAIT_VBLANK,
    XR24,
    Mode,
    all_modes,
    dumb,
    fb2,
    mode_count,
    new_fb,
    next_event,
    set_mode,
)
from tests.live.shim.drm import CARD, GTT, RENDER, SLEEP, Device, address_of, fails, in_client

X_TILED, Y_TILED = 0x0100000000000001, 0x0100000000000002


# --- resources --------------------------------------------------------------------------------------------------------
@in_client(path=CARD)
def test_one_crtc_encoder_and_connector(d: Device) -> None:
    assert d.call(RESOURCES, "QQQQ8I", *[0] * 12)[4:] == (0, 1, 1, 1, 0, 8192, 0, 8192)
    ids = (ctypes.c_uint32 * 3)()
    pointers = [address_of(ids) + 4 * i for i in range(3)]
    d.call(RESOURCES, "QQQQ8I", 0, *pointers, 0, 1, 1, 1, 0, 0, 0, 0)
    assert list(ids) == [CRTC, CONNECTOR, ENCODER]
    encoder = d.call(GET_ENCODER, "5I", ENCODER, 0, 0, 0, 0)
    assert encoder[1:] == (1, 0, 1, 0)
    connector = d.call(GET_CONNECTOR, "QQQQ12I", 0, 0, 0, 0, 0, 0, 0, 0, CONNECTOR, *[0] * 7)
    assert connector[4:15] == (13, 2, 1, 0, CONNECTOR, 1, 1, 1, 270, 203, 1)
    assert d.call(GET_PIPE, "II", CRTC, 9) == (CRTC, 0)
    for number, layout in ((GET_ENCODER, "5I"), (GET_CRTC, f"Q7I{MODE_BYTES}x"), (GET_PIPE, "II")):
        with fails(errno.ENOENT):
            d.call(number, layout, *[7] * len(struct.unpack("<" + layout, bytes(struct.calcsize("<" + layout)))))


@in_client(path=CARD)
def test_the_default_mode(d: Device) -> None:
    fields = Mode(d).fields
    assert fields[:14] == (65000, 1024, 1048, 1184, 1344, 0, 768, 771, 777, 806, 0, 60, 0xA, 0x48)
    assert round(fields[0] * 1000 / (fields[4] * fields[9])) == 60
    assert fields[14].rstrip(b"\0") == b"1024x768"


SIZES = ["1024x768", "2560x1440", "1920x1200", "1920x1080", "1600x1200", "1680x1050", "1600x900", "1280x1024",
         "1366x768", "1280x800", "1280x720", "800x600", "640x480"]
PREFERRED, DRIVER = 8, 0x40


@in_client(path=CARD)
def test_common_sizes_come_after_the_preferred_one(d: Device) -> None:
    modes = all_modes(d)
    assert [mode.name for mode in modes] == SIZES
    assert [mode.type for mode in modes] == [PREFERRED | DRIVER] + [DRIVER] * 12
    assert Path("/sys/class/drm/card0-VGA-1/modes").read_text().split() == SIZES
    for mode in modes:
        assert mode.name == f"{mode.width}x{mode.height}"
        assert abs(mode.refresh - 60) < 0.35 and mode.fields[11] == 60
        for edges in (mode.fields[1:5], mode.fields[6:10]):
            assert list(edges) == sorted(set(edges))


@in_client(path=CARD)
def test_timings_are_those_of_the_standards(d: Device) -> None:
    """VESA Display Monitor Timings; Coordinated Video Timings with reduced blanking for 2560x1440."""
    timings = {mode.name: mode.fields[:5] + mode.fields[6:10] + (mode.flags,) for mode in all_modes(d)}
    assert timings["640x480"] == (25175, 640, 656, 752, 800, 480, 490, 492, 525, 0xA)
    assert timings["800x600"] == (40000, 800, 840, 968, 1056, 600, 601, 605, 628, 5)
    assert timings["1280x720"] == (74250, 1280, 1390, 1430, 1650, 720, 725, 730, 750, 5)
    assert timings["1280x800"] == (83500, 1280, 1352, 1480, 1680, 800, 803, 809, 831, 6)
    assert timings["1280x1024"] == (108000, 1280, 1328, 1440, 1688, 1024, 1025, 1028, 1066, 5)
    assert timings["1366x768"] == (85500, 1366, 1436, 1579, 1792, 768, 771, 774, 798, 5)
    assert timings["1600x900"] == (108000, 1600, 1624, 1704, 1800, 900, 901, 904, 1000, 5)
    assert timings["1600x1200"] == (162000, 1600, 1664, 1856, 2160, 1200, 1201, 1204, 1250, 5)
    assert timings["1680x1050"] == (146250, 1680, 1784, 1960, 2240, 1050, 1053, 1059, 1089, 6)
    assert timings["1920x1080"] == (148500, 1920, 2008, 2052, 2200, 1080, 1084, 1089, 1125, 5)
    assert timings["1920x1200"] == (193250, 1920, 2056, 2256, 2592, 1200, 1203, 1209, 1245, 6)
    assert timings["2560x1440"] == (241500, 2560, 2608, 2640, 2720, 1440, 1443, 1448, 1481, 9)


@in_client(path=CARD)
def test_modes_are_written_if_the_array_has_the_capacity(d: Device) -> None:
    room = ctypes.create_string_buffer(b"\xEE" * MODE_BYTES * 14, MODE_BYTES * 14)
    for count, written in ((1, 0), (12, 0), (13, 13), (14, 13)):
        answer = d.call(GET_CONNECTOR, "QQQQ12I", 0, address_of(room), 0, 0, count, 0, 0, 0, CONNECTOR, *[0] * 7)
        assert answer[4] == 13
        assert room.raw[MODE_BYTES * written:] == b"\xEE" * MODE_BYTES * (14 - written)


def test_every_mode_can_be_set(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_that_sets_every_mode)
        (connection,) = [c for c in live.connections if c.marks]
        assert [f"{mark[1]}x{mark[2]}" for mark in connection.marks] == SIZES


def client_that_sets_every_mode(render: Device) -> None:
    d = Device(CARD)
    for mode in all_modes(d):
        handle, pitch, _ = dumb(d, mode.width, mode.height)
        fb = new_fb(d, handle, pitch, mode.width, mode.height)
        set_mode(d, fb, mode)
        crtc = d.call(GET_CRTC, f"Q7I{MODE_BYTES}s", 0, 0, CRTC, 0, 0, 0, 0, 0, b"")
        assert (crtc[3], crtc[8]) == (fb, mode.data.raw)
    assert render.fd != d.fd


def test_the_preferred_mode_can_be_chosen(start_live: Callable) -> None:
    os.environ["GEN4EMU_MODE"] = "640x480"
    try:
        with start_live() as live:
            live.call(client_with_a_mode)
    finally:
        del os.environ["GEN4EMU_MODE"]


def client_with_a_mode(d: Device) -> None:
    mode = Mode(Device(CARD))
    assert (mode.width, mode.height) == (640, 480)
    assert abs(mode.fields[0] * 1000 / (mode.fields[4] * mode.fields[9]) - 60) < 0.1
    assert (mode.name, mode.type) == ("640x480", PREFERRED | DRIVER)
    assert mode_count(Device(CARD)) == 1


def test_a_monitor_of_a_named_size_has_no_larger_modes(start_live: Callable) -> None:
    """Some programs choose the largest mode."""
    os.environ["GEN4EMU_MODE"] = "1280x800"
    try:
        with start_live() as live:
            live.call(client_with_a_small_monitor)
    finally:
        del os.environ["GEN4EMU_MODE"]


def client_with_a_small_monitor(d: Device) -> None:
    card = Device(CARD)
    names = ["1280x800", "1280x720", "1024x768", "800x600", "640x480"]
    assert [mode.name for mode in all_modes(card)] == names
    assert edid_sizes(read_edid(card)) == set(names)
    assert d.fd != card.fd


def test_the_preferred_size_may_be_uncommon(start_live: Callable) -> None:
    os.environ["GEN4EMU_MODE"] = "4096x3000"
    try:
        with start_live() as live:
            live.call(client_with_a_size_of_its_own)
    finally:
        del os.environ["GEN4EMU_MODE"]


def client_with_a_size_of_its_own(d: Device) -> None:
    card = Device(CARD)
    modes = all_modes(card)
    assert [mode.name for mode in modes] == ["4096x3000", *sorted(SIZES, key=area, reverse=True)]
    assert edid_sizes(read_edid(card)) == set(SIZES)  # an EDID cannot express the large one


def area(name: str) -> int:
    width, height = name.split("x")
    return int(width) * int(height)


def read_edid(d: Device) -> bytes:
    numbers, values = (ctypes.c_uint32 * 2)(), (ctypes.c_uint64 * 2)()
    d.call(GET_PROPERTIES, "QQ3I4x", address_of(numbers), address_of(values), 2, CONNECTOR, 0)
    edid = ctypes.create_string_buffer(128)
    d.call(GET_BLOB, "IIQ", values[0], 128, address_of(edid))
    return edid.raw


def edid_sizes(edid: bytes) -> set[str]:
    """All sizes that an EDID 1.3 lists."""
    sizes = {name for byte, bit, name in ((35, 0x20, "640x480"), (35, 1, "800x600"), (36, 8, "1024x768"))
             if edid[byte] & bit}
    for at in range(38, 54, 2):
        if edid[at:at + 2] != b"\1\1":
            assert edid[at + 1] & 0x3F == 0  # 60 Hz
            width = (edid[at] + 31) * 8
            wide, high = ((16, 10), (4, 3), (5, 4), (16, 9))[edid[at + 1] >> 6]
            sizes.add(f"{width}x{width * high // wide}")
    for at in range(54, 126, 18):
        if edid[at] | edid[at + 1]:
            sizes.add(f"{edid[at + 2] | (edid[at + 4] & 0xF0) << 4}x{edid[at + 5] | (edid[at + 7] & 0xF0) << 4}")
    return sizes


@in_client(path=CARD)
def test_the_edid_lists_the_modes_of_the_connector(d: Device) -> None:
    edid = read_edid(d)
    assert edid_sizes(edid) == set(SIZES)
    assert b"\0\0\0\xfc\0gen4emu\n" in edid
    for at, name in ((54, "1024x768"), (72, "2560x1440"), (90, "1366x768")):
        mode = next(mode for mode in all_modes(d) if mode.name == name)
        hblank = edid[at + 3] | (edid[at + 4] & 0xF) << 8
        vblank = edid[at + 6] | (edid[at + 7] & 0xF) << 8
        assert (edid[at] | edid[at + 1] << 8) * 10 == mode.clock
        assert (mode.width + hblank, mode.height + vblank) == (mode.fields[4], mode.fields[9])
        hfront, hsync = edid[at + 8] | edid[at + 11] >> 6 << 8, edid[at + 9] | (edid[at + 11] >> 4 & 3) << 8
        assert (mode.width + hfront, mode.width + hfront + hsync) == mode.fields[2:4]
        assert edid[at + 17] == 0x18 | (mode.flags & 1) << 1 | (mode.flags & 4)


@in_client
def test_render_nodes_have_no_display(d: Device) -> None:
    assert RENDER.endswith("128")
    for number in (RESOURCES, GET_CRTC, SET_CRTC, ADD_FB, FLIP, CREATE_DUMB, SET_CAP, WAIT_VBLANK, GET_PIPE):
        with fails(errno.EACCES):
            d.call(number, "16Q", *[0] * 16)


@in_client(path=CARD)
def test_properties_and_blobs(d: Device) -> None:
    numbers, values = (ctypes.c_uint32 * 2)(), (ctypes.c_uint64 * 2)()
    assert d.call(GET_PROPERTIES, "QQ3I4x", address_of(numbers), address_of(values), 2, CONNECTOR, 0)[2] == 2
    named = {}
    for number, value in zip(numbers, values, strict=True):
        named[d.call(GET_PROPERTY, "QQII32sII", 0, 0, number, 0, b"", 0, 0)[4].rstrip(b"\0")] = number, value
    assert set(named) == {b"EDID", b"DPMS"}
    edid = ctypes.create_string_buffer(128)
    assert d.call(GET_BLOB, "IIQ", named[b"EDID"][1], 0, 0)[1] == 128
    d.call(GET_BLOB, "IIQ", named[b"EDID"][1], 128, address_of(edid))
    assert edid.raw[:8] == b"\0\xff\xff\xff\xff\xff\xff\0"
    assert sum(edid.raw) % 256 == 0
    assert edid.raw[54] | edid.raw[55] << 8 == 6500
    assert edid.raw[56] | (edid.raw[58] & 0xF0) << 4 == 1024
    dpms = named[b"DPMS"][0]
    d.call(SET_PROPERTY, "QII", 3, dpms, CONNECTOR)
    d.call(GET_PROPERTIES, "QQ3I4x", address_of(numbers), address_of(values), 2, CONNECTOR, 0)
    assert dict(zip(numbers, values, strict=True))[dpms] == 3
    with fails(errno.EINVAL):
        d.call(SET_PROPERTY, "QII", 9, dpms, CONNECTOR)
    with fails(errno.ENOENT):
        d.call(GET_BLOB, "IIQ", 9, 0, 0)


@in_client(path=CARD)
def test_planes_need_the_universal_planes_capability(d: Device) -> None:
    planes = (ctypes.c_uint32 * 2)()
    assert d.call(PLANES, "QI4x", 0, 0)[1] == 0
    d.call(SET_CAP, "QQ", 2, 1)
    assert d.call(PLANES, "QI4x", address_of(planes), 2)[1] == 2
    formats = (ctypes.c_uint32 * 4)()
    assert d.call(GET_PLANE, "6IQ", planes[0], 0, 0, 0, 0, 4, address_of(formats))[5] == 4
    assert {XR24, AR24} < set(formats)
    kinds = []
    for plane in planes:
        numbers, values = (ctypes.c_uint32 * 4)(), (ctypes.c_uint64 * 4)()
        d.call(GET_PROPERTIES, "QQ3I4x", address_of(numbers), address_of(values), 4, plane, 0)
        kinds.append(values[0])
    assert kinds == [1, 2]
    for capability in (3, 5, 99):  # capability 3 is atomic: programs fall back
        with fails(errno.EOPNOTSUPP):
            d.call(SET_CAP, "QQ", capability, 1)


# --- framebuffers -----------------------------------------------------------------------------------------------------
@in_client(path=CARD)
def test_dumb_buffers(d: Device) -> None:
    handle, pitch, size = dumb(d, 1000, 10, 16)
    assert pitch == 2048
    assert size == 20480
    m = d.map_at(d.call(MAP_DUMB, "IIQ", handle, 0, 0)[2], size)
    m[20479] = 5
    assert d.read(handle, 1, 20479) == b"\5"
    d.call(DESTROY_DUMB, "I", handle)
    with fails(errno.EINVAL):
        d.call(DESTROY_DUMB, "I", handle)
    with fails(errno.EINVAL):
        dumb(d, 0, 10)


@in_client(path=CARD)
def test_framebuffers_must_fit_into_their_buffers(d: Device) -> None:
    handle, pitch, _ = dumb(d)
    fb = new_fb(d, handle, pitch)
    assert d.call(GET_FB, "7I", fb, 0, 0, 0, 0, 0, 0)[1:6] == (1024, 768, 4096, 32, 24)
    for wrong in ((handle, 4032), (handle, 4100), (handle, 32 << 11)):
        with fails(errno.EINVAL):
            new_fb(d, *wrong)
    with fails(errno.EINVAL):
        new_fb(d, handle, pitch, 1024, 769)
    with fails(errno.ENOENT):
        new_fb(d, 99, pitch)
    with fails(errno.EINVAL):
        fb2(d, handle, pitch, Y_TILED)
    with fails(errno.EINVAL):
        fb2(d, handle, pitch, None, 0x20203852)
    tiled = d.create(4096 * 768)
    d.set_tiling(tiled, 1, 4096)
    fb2(d, tiled, 4096, X_TILED)
    with fails(errno.EINVAL):
        fb2(d, tiled, 4096, 0)
    with fails(errno.EBUSY):
        d.set_tiling(tiled, 0, 0)
    y_tiled = d.create(4096 * 768)
    d.set_tiling(y_tiled, 2, 4096)
    with fails(errno.EINVAL):
        new_fb(d, y_tiled, 4096)
    d.call(REMOVE_FB, "I", fb)
    with fails(errno.ENOENT):
        d.call(REMOVE_FB, "I", fb)


# --- showing ----------------------------------------------------------------------------------------------------------
def test_every_shown_framebuffer_sends_a_mark(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_that_shows)
        (connection,) = [c for c in live.connections if c.marks]
        first, second, third = connection.marks
        assert first[1:] == (1024, 768, 4096, 0, XR24)
        assert second[1:] == (1024, 768, 4096, 1, XR24)
        assert third == second
        assert first[0] % 65536 == second[0] % 65536 == 0
        bound = {address: size for address, file, _, size in connection.binds}
        assert bound[first[0]] == bound[second[0]] == 4096 * 768


def client_that_shows(render: Device) -> None:
    d = Device(CARD)
    mode = Mode(d)
    handle, pitch, _ = dumb(d)
    fb = new_fb(d, handle, pitch)
    set_mode(d, fb, mode)
    crtc = d.call(GET_CRTC, f"Q7I{MODE_BYTES}s", 0, 0, CRTC, 0, 0, 0, 0, 0, b"")
    assert crtc[3] == fb
    assert crtc[6:8] == (256, 1)
    assert crtc[8] == mode.data.raw
    assert d.call(GET_ENCODER, "5I", ENCODER, 0, 0, 0, 0)[2] == CRTC
    assert d.call(GET_CONNECTOR, "QQQQ12I", 0, 0, 0, 0, 0, 0, 0, 0, CONNECTOR, *[0] * 7)[7] == ENCODER
    tiled = d.create(4096 * 768)
    d.set_tiling(tiled, 1, 4096)
    d.map(tiled, 4096 * 768, GTT)[5] = 1
    shown = fb2(d, tiled, 4096, X_TILED)
    set_mode(d, shown, mode)
    d.call(DIRTY, "4IQ", fb, 0, 0, 0, 0)  # not the shown framebuffer
    d.call(DIRTY, "4IQ", shown, 0, 0, 0, 0)
    d.call(SET_CRTC, f"Q7I{MODE_BYTES}x", 0, 0, CRTC, 0, 0, 0, 0, 0)
    with fails(errno.EBUSY):
        d.call(FLIP, "4IQ", CRTC, fb, 1, 0, 0)
    assert render.create() == 1


@in_client(path=CARD)
def test_invalid_modes_are_refused(d: Device) -> None:
    mode = Mode(d)
    handle, pitch, _ = dumb(d)
    small = new_fb(d, handle, pitch, 1024, 700)
    with fails(errno.ENOSPC):
        set_mode(d, small, mode)
    with fails(errno.ENOENT):
        set_mode(d, 77, mode)
    connectors = ctypes.c_uint32(7)
    for number, values in ((errno.ENOENT, (address_of(connectors), 1, CRTC)), (errno.EINVAL, (0, 0, CRTC)),
                           (errno.EFAULT, (16, 1, CRTC)), (errno.ENOENT, (address_of(connectors), 1, 9))):
        with fails(number):
            d.call(SET_CRTC, f"Q7I{MODE_BYTES}s", *values, new_fb(d, handle, pitch), 0, 0, 0, 1, mode.data.raw)


@in_client(path=CARD)
def test_flips_wait_for_the_gpu_and_send_events(d: Device) -> None:
    mode = Mode(d)
    buffers = [dumb(d) for _ in range(2)]
    fbs = [new_fb(d, handle, pitch) for handle, pitch, _ in buffers]
    set_mode(d, fbs[0], mode)
    sequences = []
    for i in range(4):
        d.store(buffers[i & 1][0], 0, i, SLEEP | 20)
        d.call(FLIP, "4IQ", CRTC, fbs[i & 1], 1, 0, 0xABC00 + i)
        assert d.busy(buffers[i & 1][0]) == 0
        if i == 0:
            with fails(errno.EBUSY):
                d.call(FLIP, "4IQ", CRTC, fbs[1], 1, 0, 0)
        epoll = select.epoll()
        epoll.register(d.fd, select.EPOLLIN)
        assert epoll.poll(1)
        event = next_event(d)
        assert event[:3] == (2, 32, 0xABC00 + i)
        assert event[6] == CRTC
        assert abs(event[3] + event[4] / 1e6 - time.monotonic()) < 1
        sequences.append(event[5])
    assert sequences == sorted(set(sequences))
    assert select.select([d.fd], [], [], 0)[0] == []
    d.call(FLIP, "4IQ", CRTC, fbs[0], 0, 0, 0)
    assert select.select([d.fd], [], [], 0)[0] == []
    with fails(errno.ENOENT):
        d.call(FLIP, "4IQ", CRTC, 99, 1, 0, 0)
    with fails(errno.ENOENT):
        d.call(FLIP, "4IQ", 9, fbs[1], 1, 0, 0)
    with fails(errno.EINVAL):
        d.call(FLIP, "4IQ", CRTC, fbs[1], 2, 0, 0)


@in_client(path=CARD)
def test_there_are_sixty_vertical_blanks_a_second(d: Device) -> None:
    now = d.call(WAIT_VBLANK, "IIQQ", 1, 0, 0, 0)[1]
    start = time.monotonic()
    later = d.call(WAIT_VBLANK, "IIQQ", 1, 6, 0, 0)[1]
    assert later >= now + 6
    assert 0.06 < time.monotonic() - start < 1
    assert d.call(WAIT_VBLANK, "IIQQ", 0, now, 0, 0)[1] >= later  # has passed
    d.call(WAIT_VBLANK, "IIQQ", 0x4000001, 1, 0x55, 0)
    assert next_event(d)[:3] == (1, 32, 0x55)
    active, sequence = d.call(GET_SEQUENCE, "IIQQ", CRTC, 0, 0, 0)[1:3]
    assert active == 0
    assert sequence >= later
    d.call(QUEUE_SEQUENCE, "IIQQ", CRTC, 1, 1, 0x66)
    kind, length, user, _, reached = struct.unpack("<IIQQQ", os.read(d.fd, 1024))
    assert (kind, length, user) == (3, 32, 0x66)
    assert reached > sequence
    with fails(errno.EINVAL):
        d.call(WAIT_VBLANK, "IIQQ", 0x40000000, 0, 0, 0)


@in_client(path=CARD)
def test_cursor_and_gamma_are_accepted(d: Device) -> None:
    handle = d.create(64 * 64 * 4)
    d.call(CURSOR, "2I2i3I", 1, CRTC, 0, 0, 64, 64, handle)
    d.call(CURSOR, "2I2i3I", 2, CRTC, -5, 7, 0, 0, 0)
    d.call(0xBB, "2I2i3I2i", 1, CRTC, 0, 0, 64, 64, 0, 1, 1)
    with fails(errno.ENOENT):
        d.call(CURSOR, "2I2i3I", 1, CRTC, 0, 0, 64, 64, 99)
    ramps = [(ctypes.c_uint16 * 256)(*[i * 3 + c for i in range(256)]) for c in range(3)]
    d.call(SET_GAMMA, "IIQQQ", CRTC, 256, *[address_of(r) for r in ramps])
    back = [(ctypes.c_uint16 * 256)() for _ in range(3)]
    d.call(GET_GAMMA, "IIQQQ", CRTC, 256, *[address_of(r) for r in back])
    assert [list(r) for r in back] == [list(r) for r in ramps]
    with fails(errno.EINVAL):
        d.call(GET_GAMMA, "IIQQQ", CRTC, 16, 0, 0, 0)


@in_client(path=CARD)
def test_leases_and_masters(d: Device) -> None:
    for number in (0x1E, 0x1F):
        d.call(number, "Q", 0)
    for number in range(0xC6, 0xCA):
        with fails(errno.EINVAL):
            d.call(number, "4Q", 0, 0, 0, 0)
