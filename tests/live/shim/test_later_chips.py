"""The answers of the shim to drivers of Gen6 to Gen9, and the submissions that only these make."""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Callable

from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from tests.harness.parts import LATER, names
from tests.live.shim.drm import (
    BATCH_FIRST,
    CONTEXT_CREATE,
    END,
    HANDLE_LUT,
    PAGE,
    PINNED,
    QUERY,
    SLEEP,
    WRITE,
    Device,
    Object,
    Relocs,
    address_of,
    fails,
    in_client,
)

WIDE = 1 << 3  # EXEC_OBJECT_SUPPORTS_48B_ADDRESS
TOPOLOGY, ENGINES = 1, 2
SET_PARAM, PARAM_ENGINES = 0, 10
USE_EXTENSIONS = 1
CANONICAL = 0xFFFF << 48
GTT_SIZE, PRIORITY, PERSISTENCE = 3, 6, 11
CONTEXT_GET_PARAM, CONTEXT_SET_PARAM = 0x74, 0x75


def query(d: Device, number: int) -> bytes:
    """The answer to a query item."""
    item = ctypes.create_string_buffer(struct.pack("<QiIQ", number, 0, 0, 0))
    d.call(QUERY, "IIQ", 1, 0, address_of(item))
    length = struct.unpack_from("<i", item, 8)[0]
    if length < 0:
        raise OSError(-length, errno.errorcode[-length])
    data = ctypes.create_string_buffer(length)
    item = ctypes.create_string_buffer(struct.pack("<QiIQ", number, length, 0, address_of(data)))
    d.call(QUERY, "IIQ", 1, 0, address_of(item))
    return data.raw


def engine_classes(d: Device) -> list[tuple[int, int]]:
    data = query(d, ENGINES)
    return [struct.unpack_from("<HH", data, 16 + 56 * i) for i in range(struct.unpack_from("<I", data)[0])]


# Linux 6.1: fences, bsd, blt, LLC, PPGTT, semaphores, VEBOX, command parser, revision, scheduler, isolation, timestamps
PARAMS = {
    "snb": {6: 16, 10: 1, 11: 1, 17: 1, 18: 1, 20: 0, 22: 0, 28: 0, 32: 9, 41: 0, 50: 1, 51: 12_500_000},
    "ivb": {6: 32, 10: 1, 11: 1, 17: 1, 18: 1, 20: 0, 22: 0, 28: 10, 32: 9, 41: 0, 50: 1, 51: 12_500_000},
    "byt": {6: 32, 10: 1, 11: 1, 17: 0, 18: 1, 20: 0, 22: 0, 28: 10, 32: 14, 41: 0, 50: 1, 51: 12_500_000},
    "hsw": {6: 32, 10: 1, 11: 1, 17: 1, 18: 1, 20: 0, 22: 1, 28: 10, 32: 6, 33: 2, 34: 20, 41: 0, 50: 1, 46: 1, 47: 3},
    "bdw": {6: 32, 10: 1, 11: 1, 17: 1, 18: 2, 20: 1, 22: 1, 28: 0, 32: 9, 33: 3, 34: 24, 41: 0x1B, 50: 15,
            46: 1, 47: 7},
    "skl": {6: 32, 10: 1, 11: 1, 17: 1, 18: 2, 20: 1, 22: 1, 28: 10, 32: 6, 33: 3, 34: 24, 41: 0x1F, 50: 15,
            51: 12_000_000},
    "kbl": {6: 32, 10: 1, 11: 1, 17: 1, 18: 2, 20: 1, 22: 1, 28: 10, 32: 4, 33: 3, 34: 24, 41: 0x1F, 50: 15,
            51: 12_000_000},
}


def check_params(d: Device, name: str) -> None:
    expected = PARAMS[name] | {4: BY_NAME[name].pci_id, 37: 1, 48: 1, 49: 1}
    del expected[32]  # the tests' server has a revision of its own
    assert {n: d.param(n) for n in expected} == expected
    size = d.call(CONTEXT_GET_PARAM, "IIQQ", 0, 0, GTT_SIZE, 0)[3]
    assert size == (1 << 48 if name in names(Gen.GEN8 | Gen.GEN9) else 2 << 30)


def test_the_revisions_are_those_of_the_final_steppings() -> None:
    assert {name: BY_NAME[name].kernel.revision for name in names(LATER)} == {n: p[32] for n, p in PARAMS.items()}


@in_client(device="snb")
def test_snb(d: Device) -> None:
    check_params(d, "snb")
    assert engine_classes(d) == [(0, 0), (1, 0), (2, 0)]
    for absent in (33, 34, 46, 47):
        with fails(errno.ENODEV):
            d.param(absent)
    with fails(errno.ENODEV):
        query(d, TOPOLOGY)


@in_client(device="ivb")
def test_ivb(d: Device) -> None:
    check_params(d, "ivb")
    assert engine_classes(d) == [(0, 0), (1, 0), (2, 0)]


@in_client(device="byt")
def test_byt(d: Device) -> None:
    check_params(d, "byt")


@in_client(device="hsw")
def test_hsw(d: Device) -> None:
    check_params(d, "hsw")
    assert engine_classes(d) == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert query(d, TOPOLOGY) == struct.pack("<8H2B4B", 0, 1, 2, 10, 1, 1, 2, 2, 1, 3, 0xFF, 3, 0xFF, 3)


@in_client(device="bdw")
def test_bdw(d: Device) -> None:
    check_params(d, "bdw")


@in_client(device="skl")
def test_skl(d: Device) -> None:
    check_params(d, "skl")


@in_client(device="kbl")
def test_kbl(d: Device) -> None:
    check_params(d, "kbl")
    assert engine_classes(d) == [(0, 0), (1, 0), (2, 0), (3, 0)]
    units = bytes([0xFF] * 3 + [0] * 9)  # of three slices with four subslices each
    assert query(d, TOPOLOGY) == struct.pack("<8H4B", 0, 3, 4, 8, 1, 1, 4, 1, 1, 7, 0, 0) + units


# --- addresses --------------------------------------------------------------------------------------------------------
def test_pinned_buffers_beyond_4_gib(start_live: Callable) -> None:
    with start_live("kbl") as live:
        live.call(client_with_high_buffers)
        (submission,) = live.execs
        assert submission["address"] == 0xFFFEFFFEE000
        assert [o[0] for o in submission["objects"]] == [0xFFFEFFFEE000, 0x7FFF_FFFF_F000, 0x1_0000_0000]


def client_with_high_buffers(d: Device) -> None:
    offsets = (0xFFFEFFFEE000 | CANONICAL, 0x7FFF_FFFF_F000, 0x1_0000_0000)
    handles = (d.batch(END, 0), d.create(), d.create())
    objects = [Object(h, offset=o, flags=PINNED | WIDE) for h, o in zip(handles, offsets, strict=True)]
    d.exec(objects)
    assert [o.offset for o in objects] == list(offsets)


@in_client(device="kbl")
def test_addresses_that_are_not_canonical_are_refused(d: Device) -> None:
    batch = d.batch(END, 0)
    for offset in (0xFFFEFFFEE000, 1 << 48, 0xFFFE << 48, 0x7FFF << 48 | 1 << 46):
        with fails(errno.EINVAL):
            d.exec([Object(batch, offset=offset, flags=PINNED | WIDE)])


@in_client(device="kbl")
def test_32_bit_addresses_exclude_the_last_page(d: Device) -> None:
    last = (1 << 32) - PAGE
    flags = HANDLE_LUT | BATCH_FIRST
    with fails(errno.EINVAL):
        d.exec([Object(d.batch(END, 0), offset=last, flags=PINNED)], flags=flags)
    for offset, wide in ((last, WIDE), (last - PAGE, 0)):
        batch = Object(d.batch(END, 0), offset=offset, flags=PINNED | wide)
        d.exec([batch], flags=flags)
        assert batch.offset == offset


@in_client(device="kbl")
def test_buffers_without_the_flag_stay_below_4_gib(d: Device) -> None:
    batch = d.batch(END, 0)
    with fails(errno.EINVAL):
        d.exec([Object(batch, offset=1 << 32, flags=PINNED)])
    high = Object(d.create(), offset=1 << 40, flags=PINNED | WIDE)
    d.exec([Object(batch), high])
    low = Object(high.handle)
    d.exec([Object(batch), low])
    assert low.offset < 1 << 32


@in_client(device="kbl")
def test_a_pinned_address_has_the_alignment_that_is_demanded(d: Device) -> None:
    batch = d.batch(END, 0)
    with fails(errno.EINVAL):
        d.exec([Object(batch, offset=0x11000, flags=PINNED, alignment=0x10000)])
    for alignment, address in ((0x10000, 0x20000), (1, 0x11000), (0, 0x11000)):
        pinned = Object(batch, offset=address, flags=PINNED, alignment=alignment)
        d.exec([pinned])
        assert pinned.offset == address


@in_client(device="bdw")
def test_relocations_have_8_bytes(d: Device) -> None:
    high = Object(d.create(), offset=0x9234_5678_9000 | CANONICAL, flags=PINNED | WIDE)
    batch = d.batch(END, 0, 0, 0, 0, 0)
    relocs = Relocs((1, 0x10, 8, 1, 0, 0))
    d.exec([Object(batch, relocs), high])
    assert struct.unpack("<Q", d.read(batch, 8, 8)) == (CANONICAL | 0x9234_5678_9010,)
    assert relocs.presumed(0) == high.offset
    for offset in (PAGE - 4, PAGE):
        with fails(errno.EINVAL):
            d.exec([Object(batch, Relocs((1, 0, offset, 1, 0, 0))), high])


@in_client(device="kbl")
def test_a_relocation_may_point_before_its_buffer(d: Device) -> None:
    target = Object(d.create(), offset=0x1234_5678_9000, flags=PINNED | WIDE)
    batch = d.batch(END, 0, 0, 0, 0, 0)
    d.exec([Object(batch, Relocs((1, 0xFFFF_F000, 8, 1, 0, 0))), target])
    assert struct.unpack("<Q", d.read(batch, 8, 8)) == (0x1234_5678_8000,)


# --- engines ----------------------------------------------------------------------------------------------------------
def test_rings_select_engines(start_live: Callable) -> None:
    with start_live("hsw") as live:
        live.call(client_of_all_rings)
        assert [e["engine"] for e in live.execs] == [0, 0, 1, 2, 3]


def client_of_all_rings(d: Device) -> None:
    batch = d.batch(END, 0)
    for ring in range(5):
        d.exec([Object(batch)], flags=ring | HANDLE_LUT | BATCH_FIRST)
    with fails(errno.EINVAL):
        d.exec([Object(batch)], flags=5 | HANDLE_LUT | BATCH_FIRST)


@in_client(device="hsw")
def test_busy_names_the_classes_of_the_readers_and_of_the_last_writer(d: Device) -> None:
    """Rings 1 to 4 are the render, video, blitter and video enhancement engines: classes 0, 2, 1 and 3."""
    target, slow, fast = d.create(), d.batch(SLEEP | 400, END), d.batch(END, 0)
    answers = []
    for ring, flags in ((1, 0), (3, WRITE), (2, 0), (4, WRITE), (1, WRITE)):
        batch = slow if ring == 1 and not flags else fast
        d.exec([Object(batch), Object(target, flags=flags)], flags=ring | HANDLE_LUT | BATCH_FIRST)
        answers.append(d.busy(target))
    assert answers == [0x10000, 0x30002, 0x70002, 0xF0004, 0xF0001]
    assert d.busy(slow) == 0x10000
    d.wait(target)
    assert d.busy(target) == 0


@in_client(device="ivb")
def test_ivb_has_no_video_enhancement(d: Device) -> None:
    batch = d.batch(END, 0)
    with fails(errno.EINVAL):
        d.exec([Object(batch)], flags=4 | HANDLE_LUT | BATCH_FIRST)


def context_with_engines(d: Device, *engines: tuple[int, int]) -> int:
    value = ctypes.create_string_buffer(struct.pack("<Q", 0) + b"".join(struct.pack("<HH", *e) for e in engines))
    size = 8 + 4 * len(engines)
    extension = ctypes.create_string_buffer(
        struct.pack("<QII4I", 0, SET_PARAM, 0, 0, 0, 0, 0) + struct.pack("<IIQQ", 0, size, PARAM_ENGINES,
                                                                        address_of(value)))
    return d.call(CONTEXT_CREATE, "IIQ", 0, USE_EXTENSIONS, address_of(extension))[0]


def test_a_context_maps_rings_to_engines(start_live: Callable) -> None:
    with start_live("kbl") as live:
        live.call(client_with_an_engine_map)
        assert [(e["engine"], e["slot"], e["context"] > 0) for e in live.execs] == [
            (3, 0, True), (0, 2, True), (1, 3, True)]


def client_with_an_engine_map(d: Device) -> None:
    context = context_with_engines(d, (3, 0), (0xFFFF, 0xFFFF), (0, 0), (2, 0))
    batch = d.batch(END, 0)
    for ring in (0, 2, 3):
        d.exec([Object(batch)], flags=ring | HANDLE_LUT | BATCH_FIRST, context=context)
    for ring in (1, 4):  # a hole, and the end of the map
        with fails(errno.EINVAL):
            d.exec([Object(batch)], flags=ring | HANDLE_LUT | BATCH_FIRST, context=context)
    with fails(errno.ENOENT):
        context_with_engines(d, (2, 1))
    with fails(errno.ENOENT):
        context_with_engines(d, (4, 0))
    assert context_with_engines(d) > 0  # an empty map: nothing can be submitted


@in_client(device="kbl")
def test_kbl_has_priorities_and_preemption(d: Device) -> None:
    context = d.call(CONTEXT_CREATE, "II", 0, 0)[0]
    d.call(CONTEXT_SET_PARAM, "IIQQ", context, 0, PRIORITY, (1 << 64) - 500)
    assert d.call(CONTEXT_GET_PARAM, "IIQQ", context, 0, PRIORITY, 0)[3] == (1 << 64) - 500
    with fails(errno.EINVAL):
        d.call(CONTEXT_SET_PARAM, "IIQQ", context, 0, PRIORITY, 1024)
    d.call(CONTEXT_SET_PARAM, "IIQQ", context, 0, PERSISTENCE, 0)
    assert d.call(CONTEXT_GET_PARAM, "IIQQ", context, 0, PERSISTENCE, 1)[3] == 0


@in_client(device="hsw")
def test_hsw_has_neither(d: Device) -> None:
    context = d.call(CONTEXT_CREATE, "II", 0, 0)[0]
    for param, value in ((PRIORITY, 1), (PRIORITY, 0), (PERSISTENCE, 0)):
        with fails(errno.ENODEV):
            d.call(CONTEXT_SET_PARAM, "IIQQ", context, 0, param, value)
    d.call(CONTEXT_SET_PARAM, "IIQQ", context, 0, PERSISTENCE, 1)
    assert d.call(CONTEXT_GET_PARAM, "IIQQ", context, 0, PERSISTENCE, 0)[3] == 1


@in_client(device="ivb")
def test_tiled_buffers_may_have_twice_the_pitch_of_older_chips(d: Device) -> None:
    """As wide as the largest texture with 16 bytes a pixel."""
    handle = d.create(1 << 20)
    for mode in (1, 2):
        assert d.set_tiling(handle, mode, 16384 * 16) == (mode, 16384 * 16)
        with fails(errno.EINVAL):
            d.set_tiling(handle, mode, 16384 * 16 + 512)
