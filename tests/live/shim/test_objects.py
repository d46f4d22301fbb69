"""GEM objects."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from pathlib import Path

from tests.live.shim.drm import (
    APERTURE,
    CARD,
    CLOSE,
    CREATE,
    CREATE_EXT,
    END,
    FLINK,
    FROM_FD,
    GET_CACHING,
    GET_TILING,
    GTT,
    MADVISE,
    MAP_FIXED,
    MAP_OFFSET,
    MAP_SHARED,
    MMAP,
    OPEN,
    PAGE,
    PREAD,
    PROT_RW,
    PWRITE,
    SET_CACHING,
    SET_DOMAIN,
    SET_TILING,
    STORE,
    SW_FINISH,
    TO_FD,
    USERPTR,
    WC,
    WRITE,
    Device,
    Map,
    Object,
    Relocs,
    address_of,
    fails,
    in_client,
    libc,
)

X, Y = 1, 2


# --- creating and closing ---------------------------------------------------------------------------------------------
@in_client
def test_handles_start_at_one_and_the_lowest_free_one_comes_next(d: Device) -> None:
    assert [d.create() for _ in range(3)] == [1, 2, 3]
    d.drop(2)
    d.drop(1)
    assert [d.create() for _ in range(3)] == [1, 2, 4]


@in_client
def test_sizes_are_rounded_up_to_pages_and_zero_is_refused(d: Device) -> None:
    assert d.call(CREATE, "QII", 4097, 0, 0)[0] == 8192
    with fails(errno.EINVAL):
        d.create(0)
    with fails(errno.EINVAL):  # wraps to 0
        d.create((1 << 64) - 1)
    for absurd in (1 << 40, 1 << 62, 0xFFFFFFFF << 32):
        with fails(errno.E2BIG, errno.ENOMEM):
            d.create(absurd)


@in_client
def test_create_ext_without_extensions_is_create(d: Device) -> None:
    assert d.call(CREATE_EXT, "QIIQ", 1, 0, 0, 0)[:2] == (4096, 1)
    with fails(errno.EFAULT):
        d.call(CREATE_EXT, "QIIQ", 4096, 0, 0, 64)


@in_client
def test_create_ext_takes_system_memory_as_the_only_region(d: Device) -> None:
    def create(regions: list[tuple[int, int]], *, name: int = 0, flags: int = 0, pad: int = 0, chain: int = 0) -> int:
        places = ctypes.create_string_buffer(b"".join(struct.pack("<2H", *region) for region in regions), 8)
        link = ctypes.create_string_buffer(struct.pack("<Q6I2IQ", chain, name, flags, 0, 0, 0, 0, pad, len(regions),
                                                       address_of(places)))
        return int(d.call(CREATE_EXT, "QIIQ", 4096, 0, 0, address_of(link))[1])

    handle = create([(0, 0)])
    d.write(handle, b"memory")
    assert d.read(handle, 6) == b"memory"
    second = ctypes.create_string_buffer(struct.pack("<Q6I2IQ", 0, 0, 0, 0, 0, 0, 0, 0, 1, 0))
    for wrong in ({"regions": [(1, 0)]}, {"regions": [(0, 1)]}, {"regions": []}, {"regions": [(0, 0), (0, 0)]},
                  {"pad": 1}, {"flags": 1}, {"name": 2}, {"chain": address_of(second)}):
        with fails(errno.EINVAL):
            create(**{"regions": [(0, 0)], **wrong})  # type: ignore[arg-type]  # wrong on purpose
    with fails(errno.EFAULT):
        create([(0, 0)], chain=64)
    with fails(errno.ENODEV):  # protected content
        create([(0, 0)], name=1)
    with fails(errno.EINVAL):  # the only flag needs a second region
        d.call(CREATE_EXT, "QIIQ", 4096, 0, 1, 0)


@in_client
def test_pwrite_reads_memory_that_is_mapped_for_writing_only(d: Device) -> None:
    """process_vm_readv() does not, but the kernel does."""
    size = 3 * PAGE
    address = libc.mmap(None, size + PAGE, 2, 0x22, -1, 0)  # PROT_WRITE, private and anonymous
    assert libc.munmap(address + size, PAGE) == 0
    data = bytes(range(256)) * (size // 256)
    ctypes.memmove(address, data, size)
    handle = d.create(2 * size)
    d.call(PWRITE, "IIQQQ", handle, 0, 8, size, address)
    assert d.read(handle, 2 * size)[8:8 + size] == data
    with fails(errno.EFAULT):
        d.call(PWRITE, "IIQQQ", handle, 0, 0, size, address + PAGE)


@in_client
def test_unknown_handles_are_errors(d: Device) -> None:
    with fails(errno.EINVAL):
        d.drop(1)
    for number, layout in ((SW_FINISH, "I"), (GET_TILING, "IIII"), (GET_CACHING, "II"), (MAP_OFFSET, "IIQ"),
                           (MADVISE, "III"), (SET_TILING, "IIII"), (TO_FD, "IIi")):
        with fails(errno.ENOENT):
            d.call(number, layout, 9, *[0] * (len(layout) - 1))


@in_client
def test_new_memory_is_zero_even_if_reused(d: Device) -> None:
    first = d.create(16 * PAGE)
    d.write(first, b"\xAA" * 16 * PAGE)
    d.drop(first)
    assert d.read(d.create(16 * PAGE), 16 * PAGE) == bytes(16 * PAGE)


# --- memory that is kept ----------------------------------------------------------------------------------------------
MIB = 1 << 20
KEPT, LARGEST = 256 * MIB, 16 * MIB  # the most that is kept of freed buffers in all, and of one


def arena_bytes() -> int:
    """The pages of the buffers that are not shared."""
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return next(os.stat(link).st_blocks * 512 for link in links
                if os.path.lexists(link) and "gen4emu-arena" in os.readlink(link))


def filled(d: Device, size: int, handles: int = 1) -> list[int]:
    created = [d.create(size) for _ in range(handles)]
    for handle in created:
        m = d.map(handle, size)
        ctypes.memset(m.address, 0xAA, size)
        m.unmap()
    return created


@in_client
def test_a_new_buffer_takes_the_pages_of_a_freed_one_and_is_zero(d: Device) -> None:
    for size in (PAGE, MIB, LARGEST):
        before = arena_bytes()
        d.drop(filled(d, size)[0])
        assert arena_bytes() == before + size
        again = d.create(size)
        assert d.read(again, size) == bytes(size)
        assert arena_bytes() == before + size
        d.store(again, 8, 5)
        d.wait(again)
        assert d.read(again, 12, 4) == struct.pack("<3I", 0, 5, 0)


@in_client
def test_pages_that_a_freed_buffer_does_not_have_are_not_created(d: Device) -> None:
    first = d.create(LARGEST)
    before = arena_bytes()
    for at in (0, 5 * MIB, LARGEST - 1):
        d.write(first, b"x", at)
    d.drop(first)
    again = d.create(LARGEST)
    assert arena_bytes() == before + 3 * PAGE
    m = d.map(again, LARGEST)
    assert [m[at] for at in (0, 5 * MIB, LARGEST - 1)] == [0, 0, 0]


@in_client
def test_the_pages_that_are_kept_have_a_limit(d: Device) -> None:
    before = arena_bytes()
    for handle in filled(d, 8 * MIB, KEPT // (8 * MIB) + 4):
        d.drop(handle)
    assert arena_bytes() == before + KEPT
    d.drop(filled(d, LARGEST + PAGE)[0])
    assert arena_bytes() == before + KEPT
    for handle in filled(d, PAGE, 600):
        d.drop(handle)
    assert arena_bytes() < before + 2 * MIB  # small ones have taken their place, a limited number of them


@in_client
def test_kept_pages_are_freed_where_addresses_run_short(d: Device) -> None:
    before = arena_bytes()
    handles = filled(d, LARGEST, 4)
    handles.append(d.create((16 << 30) - 5 * LARGEST))
    for handle in handles[:4]:
        d.drop(handle)
    assert arena_bytes() == before + 4 * LARGEST
    large = d.create(4 * LARGEST)
    assert arena_bytes() == before
    assert d.read(large, 4 * LARGEST) == bytes(4 * LARGEST)


@in_client
def test_kept_pages_are_freed_when_the_last_device_file_is_closed(d: Device) -> None:
    d.drop(filled(d, MIB)[0])
    assert arena_bytes() >= MIB
    d.close()
    assert arena_bytes() == 0


@in_client
def test_a_map_of_a_freed_buffer_does_not_show_a_new_one(d: Device) -> None:
    """Nor does the memory of a shared one."""
    old = filled(d, MIB)[0]
    m = d.map(old, MIB)
    shared = filled(d, MIB)[0]
    fd = d.export(shared)
    d.drop(old)
    d.drop(shared)
    new = filled(d, MIB, 3)
    for handle in new:
        d.write(handle, b"\x55" * MIB)
    assert m.bytes() == b"\xAA" * MIB
    assert os.pread(fd, MIB, 0) == b"\xAA" * MIB
    ctypes.memset(m.address, 0x77, MIB)
    os.pwrite(fd, b"\x77" * MIB, 0)
    for handle in new:
        assert d.read(handle, MIB) == b"\x55" * MIB


@in_client
def test_a_child_of_a_fork_takes_no_kept_pages_of_its_parent(d: Device) -> None:
    d.drop(filled(d, MIB)[0])
    kept = arena_bytes()
    child = os.fork()
    if child == 0:
        own = Device()
        own.drop(filled(own, MIB)[0])
        same = own.read(own.create(MIB), MIB) == bytes(MIB)
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert arena_bytes() == kept
    assert d.read(d.create(MIB), MIB) == bytes(MIB)


# --- contents ---------------------------------------------------------------------------------------------------------
@in_client
def test_pread_returns_what_pwrite_wrote(d: Device) -> None:
    handle = d.create(3 * PAGE)
    d.write(handle, b"hello", PAGE - 2)
    assert d.read(handle, 9, PAGE - 4) == b"\0\0hello\0\0"
    d.call(PREAD, "IIQQQ", handle, 0, 0, 0, 0)
    for number in (PREAD, PWRITE):
        with fails(errno.EINVAL):
            d.call(number, "IIQQQ", handle, 0, 2 * PAGE, PAGE + 1, 1 << 20)
        with fails(errno.EINVAL):
            d.call(number, "IIQQQ", handle, 0, (1 << 64) - 4, 8, 1 << 20)
        with fails(errno.EFAULT):
            d.call(number, "IIQQQ", handle, 0, 0, 8, 16)
        with fails(errno.ENOENT):
            d.call(number, "IIQQQ", handle + 1, 0, 0, 8, 16)


# --- maps -------------------------------------------------------------------------------------------------------------
@in_client
def test_every_kind_of_map_shows_the_same_memory(d: Device) -> None:
    handle = d.create(2 * PAGE)
    maps = [d.map(handle, 2 * PAGE, kind) for kind in range(4)]
    gtt = d.call(MAP_OFFSET, "IIQ", handle, 0, 0)[2]
    maps.append(d.map_at(gtt, 2 * PAGE))
    address = d.call(MMAP, "IIQQQQ", handle, 0, PAGE, PAGE, 0, 1)[4]
    for i, m in enumerate(maps):
        m[i] = i + 1
    assert d.read(handle, 6) == bytes([1, 2, 3, 4, 5, 0])
    maps[0][PAGE] = 77
    assert ctypes.c_uint8.from_address(address).value == 77


@in_client
def test_a_map_outlives_its_handle_until_it_is_unmapped(d: Device) -> None:
    handle = d.create()
    m = d.map(handle)
    m[5] = 99
    d.drop(handle)
    other = d.create()
    d.write(other, b"\1" * PAGE)
    assert m[5] == 99
    m.unmap()


@in_client
def test_a_part_of_a_buffer_can_be_mapped_over_something_else(d: Device) -> None:
    handle = d.create(4 * PAGE)
    d.write(handle, b"x", 2 * PAGE)
    m = d.map(handle, 4 * PAGE)
    part = d.map_at(d.offset(handle) + 2 * PAGE, PAGE, m.address + PAGE, MAP_SHARED | MAP_FIXED)
    assert part.address == m.address + PAGE
    assert m[PAGE] == m[2 * PAGE] == ord("x")
    part.unmap()
    m[3 * PAGE] = 1
    d.drop(handle)
    assert m[0] == 0


@in_client
def test_invalid_maps_are_refused(d: Device) -> None:
    handle = d.create(2 * PAGE)
    offset = d.offset(handle)
    for at, size in ((offset, 3 * PAGE), (offset + PAGE, 2 * PAGE), (offset + 2 * PAGE, PAGE), (0, PAGE),
                     (offset + (1 << 36), PAGE), (PAGE, PAGE)):
        with fails(errno.EINVAL):
            d.map_at(at, size)
    other = Device()
    with fails(errno.EACCES):
        other.map_at(offset, PAGE)
    with fails(errno.EINVAL):
        d.call(MAP_OFFSET, "IIQQQ", handle, 0, 0, 4, 0)
    with fails(errno.EFAULT):
        d.call(MAP_OFFSET, "IIQQQ", handle, 0, 0, WC, 8)
    link = ctypes.create_string_buffer(32)
    with fails(errno.EINVAL):
        d.call(MAP_OFFSET, "IIQQQ", handle, 0, 0, WC, address_of(link))
    with fails(errno.EINVAL):
        d.call(MMAP, "IIQQQQ", handle, 0, PAGE, 2 * PAGE, 0, 0)
    with fails(errno.EINVAL):
        d.call(MMAP, "IIQQQQ", handle, 0, 0, PAGE, 0, 2)


@in_client
def test_device_maps_can_move_and_shrink_but_not_grow(d: Device) -> None:
    libc.mremap.restype = ctypes.c_void_p
    libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
    handle = d.create(2 * PAGE)
    m = d.map(handle, 2 * PAGE)
    m[0] = 7
    assert libc.mremap(m.address, 2 * PAGE, 4 * PAGE, 1) == ctypes.c_void_p(-1).value
    assert ctypes.get_errno() == errno.EFAULT
    assert libc.mremap(m.address, 2 * PAGE, PAGE, 0) == m.address
    d.drop(handle)
    assert m[0] == 7


# --- tiling -----------------------------------------------------------------------------------------------------------
@in_client
def test_set_tiling_checks_strides_and_reports_the_present_tiling_on_failure(d: Device) -> None:
    handle = d.create(64 * PAGE)
    assert d.set_tiling(handle, X, 512) == (X, 512)
    for mode, stride in ((X, 640), (Y, 192), (3, 512), (X, 0x20200), (X, 0)):
        with fails(errno.EINVAL):
            d.set_tiling(handle, mode, stride)
        assert bytes(d.error_data)[4:12] == b"\1\0\0\0\0\2\0\0"
    assert d.set_tiling(handle, X, 0x20000) == (X, 0x20000)
    assert d.set_tiling(handle, Y, 128) == (Y, 128)
    assert d.call(GET_TILING, "IIII", handle, 9, 9, 9)[1:] == (Y, 0, 0)
    assert d.set_tiling(handle, 0, 777) == (0, 0)
    assert d.set_tiling(d.create(), X, 512) == (X, 512)  # crocus's probe


@in_client
def test_x_tiled_buffers_are_linear_through_the_aperture(d: Device) -> None:
    handle = d.create(16 * 1024)
    d.set_tiling(handle, X, 1024)
    view, raw = d.map(handle, 16 * 1024, GTT), d.map(handle, 16 * 1024, WC)
    view[13 * 1024 + 700] = 0x5A
    assert d.read(handle, 1, 0x3ABC) == b"\x5A"
    assert raw[0x3ABC] == 0x5A
    pattern = bytes(i * 7 & 0xFF for i in range(16 * 1024))
    view.fill(pattern)
    tiled = d.read(handle, 16 * 1024)
    for y in range(16):
        for x in (0, 511, 512, 1023):
            assert tiled[(y // 8) * 8192 + (x // 512) * 4096 + (y % 8) * 512 + x % 512] == pattern[y * 1024 + x]


@in_client
def test_y_tiled_buffers_are_linear_through_the_aperture(d: Device) -> None:
    handle = d.create(64 * 256)
    d.set_tiling(handle, Y, 256)
    view = d.map(handle, 64 * 256, GTT)
    view[45 * 256 + 200] = 0x5A
    offset = (45 // 32) * 256 * 32 + (200 // 128) * 4096 + ((200 % 128) // 16) * 512 + (45 % 32) * 16 + 200 % 16
    assert d.read(handle, 1, offset) == b"\x5A"
    d.write(handle, b"\x77", 0x1005)
    assert view[0x85] == 0x77  # PWRITE writes tiled memory, and the view is updated


@in_client
def test_bytes_after_the_last_whole_row_of_tiles_are_not_tiled(d: Device) -> None:
    handle = d.create(5 * PAGE)  # a row of tiles has four pages
    d.set_tiling(handle, X, 2048)
    view = d.map(handle, 5 * PAGE, GTT)
    view[4 * PAGE + 3] = 9
    view[2048] = 8
    assert d.read(handle, 1, 4 * PAGE + 3) == b"\x09"
    assert d.read(handle, 1, 512) == b"\x08"


@in_client
def test_a_new_tiling_changes_the_view_and_not_the_bytes(d: Device) -> None:
    handle = d.create(4 * PAGE)
    view = d.map(handle, 4 * PAGE, GTT)
    view[5000] = 1  # byte 5000 of the linear buffer
    d.set_tiling(handle, X, 1024)
    data = d.read(handle, 4 * PAGE)
    assert data[5000] == 1
    y, x = (5000 % 4096) // 512, 512 + 5000 % 512
    assert view[y * 1024 + x] == 1
    view[0] = 5
    d.set_tiling(handle, 0, 0)
    assert view[5000] == 1
    assert view[0] == 5


# --- hints ------------------------------------------------------------------------------------------------------------
@in_client
def test_memory_is_never_purged(d: Device) -> None:
    handle = d.create()
    assert d.call(MADVISE, "III", handle, 1, 0)[2] == 1
    assert d.call(MADVISE, "III", handle, 0, 0)[2] == 1
    with fails(errno.EINVAL):
        d.call(MADVISE, "III", handle, 2, 0)


@in_client
def test_set_domain_accepts_cpu_domains_only(d: Device) -> None:
    handle = d.create()
    for read, write in ((1, 0), (1, 1), (0x40, 0x40), (0x80, 0x80), (0, 0), (0x41, 0)):
        d.call(SET_DOMAIN, "III", handle, read, write)
    for read, write in ((2, 0), (2, 2), (0x20, 0), (1, 0x40)):
        with fails(errno.EINVAL):
            d.call(SET_DOMAIN, "III", handle, read, write)
    with fails(errno.ENOENT):
        d.call(SET_DOMAIN, "III", handle + 1, 1, 1)


@in_client
def test_g4x_can_snoop(d: Device) -> None:
    handle = d.create()
    d.call(SET_CACHING, "II", handle, 1)
    d.call(SET_CACHING, "II", handle, 2)
    d.call(SET_CACHING, "II", handle, 0)
    with fails(errno.EINVAL):
        d.call(SET_CACHING, "II", handle, 3)


@in_client(device="g965")
def test_broadwater_cannot_snoop(d: Device) -> None:
    handle = d.create()
    with fails(errno.ENODEV):
        d.call(SET_CACHING, "II", handle, 1)
    d.call(SET_CACHING, "II", handle, 0)
    assert d.call(APERTURE, "QQ", 0, 0) == (512 << 20, 512 << 20)


@in_client
def test_the_aperture_is_the_whole_gtt(d: Device) -> None:
    size, available = d.call(APERTURE, "QQ", 0, 0)
    assert size == 2 << 30
    assert 0 < available <= size


# --- the program's memory ---------------------------------------------------------------------------------------------
PROT_READ, MAP_PRIVATE, MAP_ANONYMOUS = 1, 2, 0x20


def memory(pages: int = 4, protection: int = PROT_RW, flags: int = MAP_PRIVATE | MAP_ANONYMOUS,
           address: int = 0) -> Map:
    return Map(libc.mmap(address, pages * PAGE, protection, flags, -1, 0), pages * PAGE)


def user(d: Device, where: Map, first: int = 0, pages: int | None = None, flags: int = 2) -> int:
    size = where.size - first * PAGE if pages is None else pages * PAGE
    return d.call(USERPTR, "QQII", where.address + first * PAGE, size, flags, 0)[3]


def kind(where: Map) -> set[str]:
    """How the memory is mapped: private or shared, and as which file."""
    found = set()
    for line in Path("/proc/self/maps").read_text(encoding="ascii").splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if start < where.address + where.size and end > where.address:
            found.add(" ".join([line.split()[1][3], *line.split()[5:6]]))
    return found


@in_client(device="byt")
def test_bay_trail_has_no_cache_of_its_own_but_takes_the_programs_memory(d: Device) -> None:
    place = memory()
    handle = user(d, place)
    d.store(handle, 4, 7)
    d.wait(handle)
    assert place.dword(4) == 7


@in_client(device="hsw")
def test_batches_write_to_the_programs_memory_and_are_read_from_it(d: Device) -> None:
    place = memory()
    place.fill(b"before" * 100)
    handle = user(d, place)
    assert place.bytes().startswith(b"before" * 100)
    d.store(handle, 3 * PAGE + 8, 0x12345678)
    d.wait(handle)
    assert place.dword(3 * PAGE + 8) == 0x12345678
    place.set(PAGE, STORE, 0, 0, 77, END, 0)
    target = d.create()
    d.exec([Object(handle, Relocs((1, 4, PAGE + 8, 1, 0, 0))), Object(target, flags=WRITE)], start=PAGE)
    d.wait(target)
    assert d.read(target, 4, 4) == (77).to_bytes(4, "little")


@in_client(device="ivb")
def test_the_memory_is_private_again_when_the_last_handle_of_it_is_closed(d: Device) -> None:
    place = memory()
    place[5] = 5
    whole, part = user(d, place), user(d, place, 1, 2)
    assert kind(place) == {"s /memfd:gen4emu-buffer"}
    d.store(part, 4, 99)
    d.wait(part)
    d.drop(whole)
    assert kind(place) == {"s /memfd:gen4emu-buffer"}
    d.drop(part)
    assert kind(place) == {"p"}
    assert (place[5], place.dword(PAGE + 4)) == (5, 99)
    child = os.fork()
    if child == 0:
        place[5] = 6
        os._exit(0)
    os.waitpid(child, 0)
    assert place[5] == 5


@in_client(device="hsw")
def test_what_replaced_the_memory_is_not_touched(d: Device) -> None:
    place = memory()
    handle = user(d, place)
    Map(place.address + PAGE, PAGE).unmap()
    memory(1, flags=MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, address=place.address + 2 * PAGE)
    place[2 * PAGE] = 42
    d.drop(handle)
    assert place[2 * PAGE] == 42
    assert kind(Map(place.address + PAGE, PAGE)) == set()
    assert kind(place) == {"p"}


def file_of_program(size: int, flags: int = os.MFD_ALLOW_SEALING) -> int:
    fd = os.memfd_create("program", flags)
    os.ftruncate(fd, size)
    return fd


@in_client(device="hsw")
def test_a_file_of_the_program_is_shared_as_it_is(d: Device) -> None:
    """Mesa's Vulkan driver of Haswell keeps state in one."""
    fd = file_of_program(8 * PAGE)
    first, second = (Map(libc.mmap(0, 4 * PAGE, PROT_RW, MAP_SHARED, fd, 4 * PAGE), 4 * PAGE) for _ in range(2))
    handles = user(d, first), user(d, second, 1, 2)
    assert kind(first) == kind(second) == {"s /memfd:program"}
    d.store(handles[0], PAGE, 11)
    d.store(handles[1], 4, 22)
    for handle in handles:
        d.wait(handle)
    assert (first.dword(PAGE), second.dword(PAGE), second.dword(PAGE + 4)) == (11, 11, 22)
    assert os.pread(fd, 8, 5 * PAGE) == struct.pack("II", 11, 22)
    with fails(errno.EPERM):
        os.ftruncate(fd, PAGE)  # the device uses its pages
    for handle in handles:
        d.drop(handle)
    assert kind(first) == {"s /memfd:program"} and second.dword(PAGE) == 11


@in_client(device="ivb")
def test_files_that_could_lose_their_pages_are_refused(d: Device) -> None:
    fd = file_of_program(PAGE, 0)
    with fails(errno.EFAULT):
        user(d, Map(libc.mmap(0, PAGE, PROT_RW, MAP_SHARED, fd, 0), PAGE))
    closed = file_of_program(PAGE)
    place = Map(libc.mmap(0, PAGE, PROT_RW, MAP_SHARED, closed, 0), PAGE)
    os.close(closed)
    with fails(errno.EFAULT):
        user(d, place)
    grown = file_of_program(PAGE)
    handle = user(d, Map(libc.mmap(0, PAGE, PROT_RW, MAP_SHARED, grown, 0), PAGE))
    os.ftruncate(grown, 2 * PAGE)
    with fails(errno.EFAULT):
        user(d, Map(libc.mmap(0, 2 * PAGE, PROT_RW, MAP_SHARED, grown, 0), 2 * PAGE))
    d.drop(handle)
    user(d, Map(libc.mmap(0, 2 * PAGE, PROT_RW, MAP_SHARED, grown, 0), 2 * PAGE))


@in_client(device="hsw")
def test_ranges_that_a_kernel_refuses(d: Device) -> None:
    place = memory()
    for address, size, flags, error in (
            (place.address, 0, 0, errno.EINVAL), (place.address + 64, PAGE, 0, errno.EINVAL),
            (place.address, PAGE + 1, 0, errno.EINVAL), (place.address, PAGE, 4, errno.EINVAL),
            (place.address, PAGE, 1, errno.ENODEV), (place.address, PAGE, 1 << 31, errno.ENODEV),
            (place.address, 1 << 50, 0, errno.E2BIG), ((1 << 64) - PAGE, PAGE, 0, errno.EFAULT),
            (PAGE, PAGE, 2, errno.EFAULT)):
        with fails(error):
            d.call(USERPTR, "QQII", address, size, flags, 0)
    with fails(errno.EFAULT):
        user(d, memory(protection=PROT_READ))
    Map(place.address + 2 * PAGE, PAGE).unmap()
    with fails(errno.EFAULT):
        user(d, place, 0, 4)
    with fails(errno.EFAULT):
        user(d, memory(flags=MAP_SHARED | MAP_ANONYMOUS))
    with fails(errno.EFAULT):
        user(d, d.map(d.create()))
    user(d, place, 0, 1)
    with fails(errno.EFAULT):
        user(d, place, 0, 2)  # only a part of it is that of another object
    assert kind(Map(place.address + PAGE, PAGE)) == {"p"}


@in_client(device="hsw", path=CARD)
def test_calls_that_need_memory_of_the_driver_fail_for_the_programs(d: Device) -> None:
    handle = user(d, memory())
    for number, layout, values, error in (
            (MMAP, "IIQQQQ", (handle, 0, 0, PAGE, 0, 0), errno.ENXIO),
            (MAP_OFFSET, "IIQQQ", (handle, 0, 0, 2, 0), errno.ENODEV),
            (MAP_OFFSET, "IIQ", (handle, 0, 0), errno.ENODEV),
            (SET_TILING, "IIII", (handle, X, 512, 0), errno.ENXIO), (SET_CACHING, "II", (handle, 0), errno.ENXIO),
            (PREAD, "IIQQQ", (handle, 0, 0, 4, 0), errno.EINVAL), (PWRITE, "IIQQQ", (handle, 0, 0, 4, 0), errno.EINVAL),
            (TO_FD, "IIi", (handle, 0, -1), errno.EINVAL), (FLINK, "II", (handle, 0), errno.EINVAL)):
        with fails(error):
            d.call(number, layout, *values)
    d.call(SET_CACHING, "II", handle, 1)
    assert d.call(GET_CACHING, "II", handle, 0)[1] == 1
    assert d.call(GET_TILING, "IIII", handle, 9, 0, 0)[1] == 0
    d.call(SET_DOMAIN, "III", handle, 1, 1)


@in_client
def test_chips_without_a_shared_cache_have_no_user_pointers(d: Device) -> None:
    with fails(errno.ENODEV):
        user(d, memory())


# --- sharing ----------------------------------------------------------------------------------------------------------
@in_client
def test_a_dma_buf_has_a_size_and_imports_as_the_same_handle(d: Device) -> None:
    handle = d.create(4097)
    m = d.map(handle, 8192)
    m[3] = 1
    fd = d.export(handle)
    assert os.lseek(fd, 0, os.SEEK_END) == 8192
    assert d.import_(fd) == handle
    assert os.pread(fd, 4, 0) == b"\0\0\0\1"
    m[0] = 9  # existing mappings show the memory at its new place
    assert os.pread(fd, 1, 0) == b"\x09"
    other = Device()
    foreign = other.import_(fd)
    assert other.import_(fd) == foreign
    assert other.read(foreign, 4) == b"\x09\0\0\1"
    d.drop(handle)
    with fails(errno.EINVAL):
        d.drop(handle)
    m.unmap()
    d.close()
    assert other.read(foreign, 4) == b"\x09\0\0\1"


@in_client
def test_a_dma_buf_has_a_size_but_no_positions(d: Device) -> None:
    handle = d.create(4 * PAGE)
    fd = d.export(handle)
    for _ in range(2):
        assert os.lseek(fd, 0, os.SEEK_END) == 4 * PAGE
        assert os.lseek(fd, 0, os.SEEK_SET) == 0
        for offset, whence in ((-1, os.SEEK_END), (1, os.SEEK_END), (1, os.SEEK_SET), (4 * PAGE, os.SEEK_SET),
                               (0, os.SEEK_CUR), (0, os.SEEK_DATA)):
            with fails(errno.EINVAL):
                os.lseek(fd, offset, whence)
        d.drop(handle)  # the descriptor is the only reference left
        handle = d.create()
    own = os.memfd_create("gen4emu", os.MFD_ALLOW_SEALING)
    os.ftruncate(own, PAGE)
    fcntl.fcntl(own, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    assert os.lseek(own, 5, os.SEEK_SET) == os.lseek(own, 0, os.SEEK_CUR) == 5


@in_client
def test_a_map_of_a_dma_buf_is_inside_it(d: Device) -> None:
    fd = d.export(d.create(4 * PAGE))

    def mapped(size: int, offset: int) -> bool:
        return bool(libc.mmap(None, size, PROT_RW, MAP_SHARED, fd, offset) != ctypes.c_void_p(-1).value)

    assert mapped(4 * PAGE, 0)
    assert mapped(PAGE, 3 * PAGE)
    for size, offset in ((8 * PAGE, 0), (4 * PAGE + 1, 0), (4 * PAGE, 2 * PAGE), (PAGE, 4 * PAGE), (PAGE, 8 * PAGE)):
        assert not mapped(size, offset)
        assert ctypes.get_errno() == errno.EINVAL


@in_client
def test_synchronisation_of_a_dma_buf_names_an_access(d: Device) -> None:
    sync, read, write, end = 0x40086200, 1, 2, 4
    fd = d.export(d.create(4096))
    for flags in (read, write, read | write, read | end, write | end):
        assert fcntl.ioctl(fd, sync, struct.pack("Q", flags)) == struct.pack("Q", flags)
    for flags in (0, end, 8 | read, 1 << 32 | read, 2 ** 64 - 1):
        with fails(errno.EINVAL):
            fcntl.ioctl(fd, sync, struct.pack("Q", flags))


@in_client
def test_only_buffers_can_be_imported(d: Device) -> None:
    with fails(errno.EBADF):
        d.call(FROM_FD, "IIi", 0, 0, 333)
    with fails(errno.EINVAL):
        d.import_(os.memfd_create("foreign"))
    with fails(errno.EINVAL):
        d.import_(0)
    with fails(errno.EINVAL):
        d.call(TO_FD, "IIi", d.create(), 0x1000, 0)


@in_client(path=CARD)
def test_global_names_open_the_same_memory(d: Device) -> None:
    handle = d.create(2 * PAGE)
    d.set_tiling(handle, X, 512)
    name = d.call(FLINK, "II", handle, 0)[1]
    assert name > 0
    assert d.call(FLINK, "II", handle, 0)[1] == name
    other = Device(CARD)
    opened, size = other.call(OPEN, "IIQ", name, 0, 0)[1:]
    assert size == 2 * PAGE
    assert other.call(GET_TILING, "IIII", opened, 0, 0, 0)[1] == X
    d.write(handle, b"shared")
    assert other.read(opened, 6) == b"shared"
    with fails(errno.ENOENT):
        d.call(OPEN, "IIQ", 12345, 0, 0)
    d.call(CLOSE, "II", handle, 0)
    assert other.read(opened, 6) == b"shared"
