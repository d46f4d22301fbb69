"""Parameters, capabilities and queries of each chip."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable

from tests.live.shim.drm import (
    CARD,
    GET_CAP,
    GETPARAM,
    QUERY,
    REG_READ,
    RENDER,
    VERSION,
    Device,
    address_of,
    fails,
    in_client,
)

ONES = (5, 8, 9, 12, 13, 15, 16, 19, 21, 24, 25, 26, 29, 30, 35, 37, 43, 44, 45, 48, 49, 52, 53, 55, 56)
ZEROS = (7, 11, 17, 18, 20, 22, 27, 28, 31, 36, 38, 39, 41, 50)
ABSENT = (1, 2, 3, 14, 33, 34, 42, 46, 47)


def _params(d: Device, pci_id: int, video: int) -> None:
    expected = dict.fromkeys(ONES, 1) | dict.fromkeys(ZEROS, 0)
    secure_batches = int(os.geteuid() == 0)
    expected |= {4: pci_id, 6: 16, 10: video, 23: secure_batches, 32: 3, 40: 4, 51: 12_500_000, 54: 5}
    assert {n: d.param(n) for n in expected} == expected
    for number in ABSENT:
        with fails(errno.ENODEV):
            d.param(number)
    for number in (0, 57, 1000, -1):
        with fails(errno.EINVAL):
            d.param(number)
    with fails(errno.EFAULT):
        d.call(GETPARAM, "iIQ", 4, 0, 16)


@in_client(device="g45")
def test_parameters_of_g45(d: Device) -> None:
    _params(d, 0x2E22, 1)


@in_client(device="g41")
def test_parameters_of_g41(d: Device) -> None:
    _params(d, 0x2E32, 1)


@in_client(device="gm45")
def test_parameters_of_gm45(d: Device) -> None:
    _params(d, 0x2A42, 1)


@in_client(device="g965")
def test_parameters_of_g965(d: Device) -> None:
    _params(d, 0x29A2, 0)


@in_client(device="965gm")
def test_parameters_of_965gm(d: Device) -> None:
    _params(d, 0x2A02, 0)


@in_client
def test_capabilities(d: Device) -> None:
    values = {1: 1, 2: 1, 3: 24, 4: 1, 5: 3, 6: 1, 7: 0, 8: 256, 9: 256, 0x10: 1, 0x11: 0, 0x12: 1, 0x13: 1, 0x14: 1}
    assert {n: d.call(GET_CAP, "QQ", n, 9)[1] for n in values} == values
    for number in (0, 10, 0x15, 1 << 40):
        with fails(errno.EINVAL):
            d.call(GET_CAP, "QQ", number, 0)


@in_client
def test_query_items_fail_individually(d: Device) -> None:
    items = ctypes.create_string_buffer(b"".join(struct.pack("<QiIQ", n, 0, 0, 0) for n in (1, 2, 3, 4, 5, 6, 7, 0)))
    d.call(QUERY, "IIQ", 7, 0, address_of(items))
    lengths = [struct.unpack_from("<i", items, 24 * i + 8)[0] for i in range(7)]
    with fails(errno.EINVAL):  # 0 is not a query of an unknown kind
        d.call(QUERY, "IIQ", 8, 0, address_of(items))
    no = -errno.ENODEV
    assert lengths == [no, 16 + 2 * 56, no, 16 + 88, no, no, -errno.EINVAL]
    room = ctypes.create_string_buffer(128)
    one = ctypes.create_string_buffer(struct.pack("<QiIQ", 2, 128, 0, address_of(room)))
    d.call(QUERY, "IIQ", 1, 0, address_of(one))
    assert struct.unpack_from("<I", room)[0] == 2
    assert [struct.unpack_from("<HH", room, 16 + 56 * i) for i in range(2)] == [(0, 0), (2, 0)]
    for number in (2, 4):  # the memory has the number of engines: it must be 0
        one = ctypes.create_string_buffer(struct.pack("<QiIQ", number, 128, 0, address_of(room)))
        d.call(QUERY, "IIQ", 1, 0, address_of(one))
        assert struct.unpack_from("<i", one, 8)[0] == -errno.EINVAL
    for length in (128, -14, 103):
        one = ctypes.create_string_buffer(struct.pack("<QiIQ", 4, length, 0, 16))
        d.call(QUERY, "IIQ", 1, 0, address_of(one))
        assert struct.unpack_from("<i", one, 8)[0] == (-errno.EINVAL if length == 103 else -errno.EFAULT)
    room = ctypes.create_string_buffer(128)
    one = ctypes.create_string_buffer(struct.pack("<QiIQ", 4, 128, 0, address_of(room)))
    d.call(QUERY, "IIQ", 1, 0, address_of(one))
    probed, unallocated, visible_probed, visible_unallocated = struct.unpack_from("<4Q", room, 24)
    links = (f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd"))
    arena = next(os.stat(link).st_size for link in links
                 if os.path.lexists(link) and "gen4emu-arena" in os.readlink(link))
    assert probed == min(arena, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    assert (unallocated, visible_probed, visible_unallocated) == (probed, probed, probed)
    with fails(errno.EFAULT):
        d.call(QUERY, "IIQ", 1, 0, 16)
    with fails(errno.EINVAL):
        d.call(QUERY, "IIQ", 0, 1, 0)


@in_client
def test_the_timestamp_is_the_servers(d: Device) -> None:
    assert d.call(REG_READ, "QQ", 0x2358, 0)[1] == 0x123456789
    assert d.call(REG_READ, "QQ", 0x2359, 0)[1] == 0x123456789
    with fails(errno.EINVAL):
        d.call(REG_READ, "QQ", 0x2350, 0)


@in_client
def test_old_and_later_interfaces_fail_as_on_the_real_machine(d: Device) -> None:
    card = Device(CARD)
    for number in (0x40, 0x45, 0x48, 0x53):
        card.call(number, "Q", 0)
    for number, wrong in ((0x54, errno.EINVAL), (0x55, errno.ENODEV), (0x56, errno.ENODEV), (0x76, errno.ENODEV),
                          (0x7A, errno.ENODEV), (0x7B, errno.ENODEV)):
        with fails(wrong):
            card.call(number, "Q", 0)
    assert card.call(0x05, "iiQQQQ", 0, 0, 0, 0, 0, 0)[1] == 1
    with fails(errno.EINVAL):
        card.call(0x05, "iiQQQQ", 1, 0, 0, 0, 0, 0)
    assert card.call(0x02, "I", 0)[0] > 0
    assert card.call(0x01, "QQ", 0, 0)[0] == 0
    assert card.call(0x07, "iiii", 1, 4, -1, -1) == (1, 4, 1, 6)
    assert card.call(0x01, "QQ", 0, 0)[0] == len("pci:0000:00:02.0")
    for number in (0x02, 0x07, 0x0A, 0x0B):  # not allowed on render nodes
        with fails(errno.EACCES):
            d.call(number, "IIII", 0, 0, 0, 0)


def test_unknown_ioctls_are_logged_once(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_of_the_unknown)
        assert live.notes == ["unknown ioctl 0x9e", "unknown ioctl 0xff"]


def client_of_the_unknown(d: Device) -> None:
    for number in (0x9E, 0x9E, 0xFF, 0x9E):
        with fails(errno.EINVAL):
            d.call(number, "Q", 0)


@in_client(path=RENDER)
def test_ioctl_arguments_may_be_shorter_or_longer_or_absent(d: Device) -> None:
    handle = d.create()
    assert d.call(0x5E, "IIQQQ", handle, 0, 0, 4096, 0)[4] > 0  # MMAP without flags, as in old libraries
    assert d.call(0x57, "IIQQ", handle, 9, 1, 2) == (handle, 0, 1, 2)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.ioctl(d.fd, ctypes.c_ulong(0xC0106446), None) == -1
    assert ctypes.get_errno() == errno.EFAULT
    assert libc.ioctl(d.fd, ctypes.c_ulong(0xC0106446), ctypes.c_void_p(4096)) == -1
    assert ctypes.get_errno() == errno.EFAULT
    assert libc.ioctl(d.fd, ctypes.c_ulong(0x6458)) == 0  # THROTTLE


def test_the_shim_reports_when_a_driver_uses_the_device(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_that_only_probes)
        assert [c.used for c in live.connections] == [0]
        live.call(client_that_works)
        assert [c.used for c in live.connections] == [0, 1, 0]


def client_that_only_probes(d: Device) -> None:
    """As drivers for other devices do: hasvk reads parameters and detects swizzling, kms_swrast reads the version."""
    d.param(4)
    d.call(VERSION, "iiiIQQQQQQ", *[0] * 10)
    d.call(GET_CAP, "QQ", 1, 0)
    handle = d.create()
    d.set_tiling(handle, 1, 512)
    d.drop(handle)


def client_that_works(d: Device) -> None:
    m = d.map(d.create())
    m[0] = 1
    d.write(d.create(), b"x")
    card = Device(CARD)
    card.param(4)
