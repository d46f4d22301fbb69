"""Mappings that stay while their buffer changes its tiling or its memory."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from collections.abc import Callable
from pathlib import Path

from tests.live.shim.drm import (
    CARD,
    END,
    FLINK,
    GET_TILING,
    GTT,
    MAP_FIXED,
    MAP_SHARED,
    OPEN,
    PAGE,
    WB,
    Device,
    Map,
    Object,
    fails,
    in_client,
    libc,
)

LINEAR, X, Y = 0, 1, 2
SIZE, PITCH = 64 * 1024, 1024
GUARD = 64 * 1024
MAP_PRIVATE, MAP_ANONYMOUS = 2, 0x20


def mappings() -> list[str]:
    return Path("/proc/self/maps").read_text().splitlines()


def is_mapped(address: int) -> bool:
    ranges = (line.split(" ", 1)[0].split("-") for line in mappings())
    return any(int(start, 16) <= address < int(end, 16) for start, end in ranges)


def write_behind(view: Map) -> None:
    """Write beyond a map, as crocus does with small levels of volumes: there must be memory, but no buffer."""
    ctypes.memset(view.address + view.size, 0xEE, GUARD)


def check_tiled(d: Device, handle: int, view: Map) -> None:
    """The map is linear, the buffer has X tiles: byte 512 of row 0 is the first byte of the second tile."""
    for value in (0x51, 0x52):
        view[512] = value
        d.exec([Object(d.batch(END, 0)), Object(handle)])
        assert d.read(handle, 1, PAGE) == bytes([value])


@in_client
def test_the_guard_behind_a_map_outlives_every_change_of_the_tiling(d: Device) -> None:
    handle = d.create(SIZE)
    d.set_tiling(handle, X, PITCH)
    view = d.map(handle, SIZE, GTT)
    for mode, pitch in ((LINEAR, 0), (X, PITCH), (Y, PITCH), (X, 2 * PITCH), (LINEAR, 0), (X, PITCH)):
        write_behind(view)
        d.set_tiling(handle, mode, pitch)
        write_behind(view)
        view[3] = 7
        assert d.read(handle, 4) == b"\0\0\0\7"
    check_tiled(d, handle, view)


@in_client
def test_the_memory_behind_a_map_never_belongs_to_another_buffer_after_a_tiling_change(d: Device) -> None:
    handle, neighbour = d.create(SIZE), d.create(SIZE)
    d.set_tiling(handle, X, PITCH)
    view = d.map(handle, SIZE, GTT)
    d.set_tiling(handle, LINEAR, 0)
    others = [d.map(neighbour, SIZE, kind) for kind in (GTT, WB) for _ in range(20)]
    write_behind(view)
    assert d.read(neighbour, SIZE) == bytes(SIZE)
    assert others[0].bytes() == bytes(SIZE)


@in_client
def test_every_map_through_the_aperture_has_a_guard(d: Device) -> None:
    """A map of a part of the buffer, a second map of a buffer, and a map older than the tiling."""
    handle = d.create(SIZE)
    old = d.map(handle, SIZE, GTT)
    d.set_tiling(handle, X, PITCH)
    part = d.map_at(d.offset(handle, GTT) + 4 * PAGE, 2 * PAGE)
    second = d.map(handle, SIZE, GTT)
    for view in (old, part, second):
        write_behind(view)
    old[512] = 9
    assert second[512] == 9
    assert d.read(handle, SIZE).count(0) == SIZE - 1


@in_client
def test_a_guard_goes_with_its_map(d: Device) -> None:
    handle = d.create(SIZE)
    d.set_tiling(handle, X, PITCH)

    def cycle() -> None:
        view = d.map(handle, SIZE, GTT)
        for mode, pitch in ((LINEAR, 0), (Y, PITCH), (X, PITCH)):
            d.set_tiling(handle, mode, pitch)
        view.unmap()
        whole = d.map(handle, SIZE, GTT)
        Map(whole.address + PAGE, PAGE).unmap()
        assert is_mapped(whole.address + SIZE)
        Map(whole.address, PAGE).unmap()
        Map(whole.address + 2 * PAGE, SIZE - 2 * PAGE).unmap()

    cycle()
    before = len(mappings())
    for _ in range(20):
        cycle()
    assert len(mappings()) <= before + 1


@in_client
def test_what_the_program_maps_over_a_guard_stays_when_the_map_goes(d: Device) -> None:
    handle = d.create(SIZE)
    view = d.map(handle, SIZE, GTT)
    over = libc.mmap(view.address + SIZE, PAGE, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
    assert over == view.address + SIZE
    own = Map(over, PAGE)
    own[1] = 5
    view.unmap()
    assert own[1] == 5


@in_client
def test_replacing_a_map_by_an_equal_one_keeps_the_view(d: Device) -> None:
    handle = d.create(SIZE)
    d.set_tiling(handle, X, PITCH)
    view = d.map(handle, SIZE, GTT)
    view[512] = 1
    again = d.map_at(d.offset(handle, GTT), SIZE, view.address, MAP_SHARED | MAP_FIXED)
    assert again[512] == 1
    other = d.create(SIZE)
    d.set_tiling(other, X, PITCH)
    d.map(other, SIZE, GTT).fill(b"\xAA" * SIZE)  # would reuse the memory of a freed view
    assert again[512] == 1
    check_tiled(d, handle, again)


@in_client
def test_a_larger_map_may_replace_a_smaller_one_and_its_guard(d: Device) -> None:
    small, large = d.create(PAGE), d.create(SIZE)
    view = d.map(small, PAGE, GTT)
    over = d.map_at(d.offset(large), SIZE, view.address, MAP_SHARED | MAP_FIXED)
    over[SIZE - 1] = 3
    assert d.read(large, 1, SIZE - 1) == b"\3"


@in_client
def test_a_map_that_moves_or_shrinks_keeps_the_view(d: Device) -> None:
    libc.mremap.restype = ctypes.c_void_p
    libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
    may_move, fixed = 1, 2
    handle, other = d.create(SIZE), d.create(SIZE)
    for buffer in (handle, other):
        d.set_tiling(buffer, X, PITCH)
    view = d.map(handle, SIZE, GTT)
    view[512] = 1
    place = d.map(d.create(2 * PAGE), 2 * PAGE, GTT).address  # the address of a small map with a guard
    assert libc.mremap(view.address, SIZE, SIZE, may_move | fixed, place) == place
    d.map(other, SIZE, GTT).fill(b"\xAA" * SIZE)
    moved = Map(place, SIZE)
    assert moved[512] == 1
    moved[SIZE - 1] = 2
    check_tiled(d, handle, moved)
    assert libc.mremap(place, SIZE, SIZE // 2, 0, None) == place
    check_tiled(d, handle, Map(place, SIZE // 2))


@in_client
def test_a_private_map_stays_private_when_the_memory_moves(d: Device) -> None:
    handle = d.create(SIZE)
    private = d.map_at(d.offset(handle), SIZE, 0, MAP_PRIVATE)
    os.close(d.export(handle))
    private[0] = 9
    assert d.read(handle, 1) == b"\0"


@in_client
def test_an_exported_buffer_keeps_its_maps_views_and_guards(d: Device) -> None:
    handle = d.create(SIZE)
    d.set_tiling(handle, X, PITCH)
    view = d.map(handle, SIZE, GTT)
    view[700] = 4
    os.close(d.export(handle))
    assert view[700] == 4
    write_behind(view)
    check_tiled(d, handle, view)


@in_client
def test_a_tiling_change_without_memory_is_refused_and_changes_nothing(d: Device) -> None:
    size = 64 << 20
    handle = d.create(size)
    view = d.map(handle, size, GTT)
    view[5] = 6
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * PAGE + size // 2, resource.RLIM_INFINITY))
    with fails(errno.ENOMEM):
        d.set_tiling(handle, X, PITCH)
    assert d.call(GET_TILING, "IIII", handle, 0, 0, 0)[1] == LINEAR
    view[PAGE] = 7
    assert d.read(handle, 1, PAGE) == b"\7"
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    d.set_tiling(handle, X, PITCH)
    check_tiled(d, handle, view)


def test_a_tiling_change_by_another_process_is_adopted(start_live: Callable, tmp_path: Path) -> None:
    with start_live() as live:
        first = live.start_function(client_with_an_old_tiling)
        live.until((tmp_path / "name").exists)
        live.finish(live.start_function(client_that_tiles_another_s_buffer))
        live.finish(first)


def meeting_point(name: str) -> Path:
    return Path(os.environ["GEN4EMU_LIVE"], name)


def client_with_an_old_tiling(render: Device) -> None:
    d = Device(CARD)
    handle = d.create(SIZE)
    view = d.map(handle, SIZE, GTT)
    name = d.call(FLINK, "II", handle, 0)[1]
    meeting_point("new").write_text(str(name))
    meeting_point("new").rename(meeting_point("name"))
    while not meeting_point("tiled").exists():
        pass
    again = d.call(OPEN, "IIQ", name, 0, 0)[1]
    assert d.call(GET_TILING, "IIII", again, 0, 0, 0)[1] == X
    check_tiled(d, handle, view)
    assert render.fd != d.fd


def client_that_tiles_another_s_buffer(render: Device) -> None:
    d = Device(CARD)
    handle = d.call(OPEN, "IIQ", int(meeting_point("name").read_text()), 0, 0)[1]
    d.set_tiling(handle, X, PITCH)
    meeting_point("tiled").touch()
    assert render.fd != d.fd
