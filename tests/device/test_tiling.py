"""Tiles, swizzles, rectangles and fences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu.device.memory import FaultKind, Memory, MemoryFault, Missing, Pte, Unit
from gen4emu.device.tiling import (
    Aperture,
    Fence,
    SurfaceLayout,
    Swizzle,
    Tiling,
    swizzled,
    tiled_coordinates,
    tiled_offset,
)
from gen4emu.errors import FieldError

TILED = [Tiling.X, Tiling.Y, Tiling.W]

# --- formulas -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tiling", "pitch", "x", "y", "offset"), [
    (Tiling.X, 1024, 511, 7, 0xFFF),
    (Tiling.X, 1024, 512, 0, 0x1000),
    (Tiling.X, 1024, 0, 8, 0x2000),
    (Tiling.X, 1024, 700, 13, 0x3ABC),
    (Tiling.X, 1024, 1023, 15, 0x3FFF),
    (Tiling.Y, 256, 16, 0, 0x200),
    (Tiling.Y, 256, 15, 31, 0x1FF),
    (Tiling.Y, 256, 128, 0, 0x1000),
    (Tiling.Y, 256, 0, 32, 0x2000),
    (Tiling.Y, 256, 200, 45, 0x38D8),
    (Tiling.Y, 256, 255, 63, 0x3FFF),
    (Tiling.W, 128, 1, 0, 1),
    (Tiling.W, 128, 0, 1, 2),
    (Tiling.W, 128, 7, 7, 0x3F),
    (Tiling.W, 128, 8, 0, 0x200),
    (Tiling.W, 128, 0, 8, 0x40),
    (Tiling.W, 128, 37, 21, 0x8B3),
    (Tiling.W, 128, 63, 63, 0xFFF),
    (Tiling.LINEAR, 100, 99, 3, 399),
    (Tiling.Y, 1024, 160, 35, 32 * 1024 + 0x1000 + 2 * 512 + 3 * 16),
])
def test_offsets_of_known_pixels(tiling: Tiling, pitch: int, x: int, y: int, offset: int) -> None:
    assert tiled_offset(tiling, pitch, x, y) == offset
    assert tiled_coordinates(tiling, pitch, offset) == (x, y)


@pytest.mark.parametrize(("swizzle", "before", "after"), [
    (Swizzle.BIT_9_10, 0x3ABC, 0x3AFC),
    (Swizzle.BIT_9, 0x200, 0x240),
    (Swizzle.BIT_9, 0x3FFF, 0x3FBF),
    (Swizzle.NONE, 0x3FFF, 0x3FFF),
    (Swizzle.UNKNOWN, 0x3FFF, 0x3FFF),
])
def test_swizzles_of_known_addresses(swizzle: Swizzle, before: int, after: int) -> None:
    assert swizzled(swizzle, before) == after


BITS = {Swizzle.NONE: (), Swizzle.BIT_9: (9,), Swizzle.BIT_9_10: (9, 10), Swizzle.BIT_9_11: (9, 11),
        Swizzle.BIT_9_10_11: (9, 10, 11), Swizzle.UNKNOWN: (), Swizzle.BIT_9_17: (9, 17),
        Swizzle.BIT_9_10_17: (9, 10, 17)}


@given(st.sampled_from(list(Swizzle)), st.integers(0, 0xFFFFFFFF))
def test_swizzle_is_the_exclusive_or_of_its_bits_and_its_own_inverse(swizzle: Swizzle, address: int) -> None:
    flip = sum(address >> bit for bit in BITS[swizzle]) & 1
    assert swizzled(swizzle, address) == address ^ flip << 6
    assert swizzled(swizzle, swizzled(swizzle, address)) == address


def test_numbers_of_the_modes_are_those_of_linux() -> None:
    assert [(s.value, s.name) for s in Swizzle] == [
        (0, "NONE"), (1, "BIT_9"), (2, "BIT_9_10"), (3, "BIT_9_11"), (4, "BIT_9_10_11"), (5, "UNKNOWN"),
        (6, "BIT_9_17"), (7, "BIT_9_10_17")]


def test_bit_17_is_that_of_the_physical_page() -> None:
    assert swizzled(Swizzle.BIT_9_17, 0x0, physical=0x20000) == 0x40
    assert swizzled(Swizzle.BIT_9_17, 0x20000, physical=0) == 0x20000
    assert swizzled(Swizzle.BIT_9_10_17, 0x200, physical=0x20000) == 0x200


@pytest.mark.parametrize("tiling", TILED)
@pytest.mark.parametrize("swizzle", list(Swizzle))
def test_every_byte_of_a_tile_has_its_own_place(tiling: Tiling, swizzle: Swizzle) -> None:
    width, rows = tiling.tile
    assert width * rows == 4096
    pitch = 3 * width
    places = {swizzled(swizzle, tiled_offset(tiling, pitch, width + x, rows + y))
              for x in range(width) for y in range(rows)}
    assert places == set(range(4 * 4096, 5 * 4096))  # second tile of the second row of three


@given(st.sampled_from(list(Tiling)), st.integers(1, 64), st.integers(0, (1 << 48) - 1))
def test_coordinates_undo_offsets(tiling: Tiling, tiles: int, offset: int) -> None:
    pitch = tiles * tiling.tile[0]
    offset %= pitch << 31
    x, y = tiled_coordinates(tiling, pitch, offset)
    assert tiled_offset(tiling, pitch, x, y) == offset


@pytest.mark.parametrize(("tiling", "pitch"), [(Tiling.X, 256), (Tiling.X, 0), (Tiling.Y, 64), (Tiling.W, 32),
                                               (Tiling.LINEAR, 0), (Tiling.LINEAR, -4), (Tiling.Y, 1 << 32)])
def test_impossible_pitch_is_refused(tiling: Tiling, pitch: int) -> None:
    with pytest.raises(FieldError, match="pitch"):
        tiled_offset(tiling, pitch, 0, 0)


# --- rectangles -----------------------------------------------------------------------------------------------------


def numbered(count: int) -> bytes:
    return bytes((i * 7 + (i >> 8) * 31) & 0xFF for i in range(count))


@pytest.mark.parametrize("tiling", list(Tiling))
@pytest.mark.parametrize("swizzle", list(Swizzle))
def test_each_pixel_of_a_surface_lands_where_the_formula_says(tiling: Tiling, swizzle: Swizzle) -> None:
    tile_width, tile_rows = tiling.tile
    pitch = 2 * tile_width if tiling is not Tiling.LINEAR else 200
    height = tile_rows + 3
    width = pitch // 4 - 2
    layout = SurfaceLayout(0x1F000, pitch, width, height, 4, tiling, swizzle)  # crosses a change of address bit 17
    pixels = numbered(width * height * 4)
    with Memory() as memory:
        layout.write(memory, pixels)
        for y in range(height):
            for x in range(width * 4):
                address = 0x1F000 + tiled_offset(tiling, pitch, x, y)
                if tiling is not Tiling.LINEAR:
                    address = swizzled(swizzle, address)
                assert memory.read(address, 1)[0] == pixels[y * width * 4 + x]
        assert layout.read(memory) == pixels


@st.composite
def surface_and_rectangle(draw: st.DrawFn) -> tuple[SurfaceLayout, tuple[int, int, int, int]]:
    tiling = draw(st.sampled_from(list(Tiling)))
    cpp = draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16]))
    pitch = draw(st.integers(1, 3)) * max(tiling.tile[0], 48)
    pitch -= pitch % tiling.tile[0]
    width = draw(st.integers(0, pitch // cpp))
    height = draw(st.integers(0, 80))
    base = draw(st.integers(0, 64)) * (1 if tiling is Tiling.LINEAR else 4096)
    layout = SurfaceLayout(base, pitch, width, height, cpp, tiling, draw(st.sampled_from(list(Swizzle))))
    x, y = draw(st.integers(-20, 60)), draw(st.integers(-20, 90))
    return layout, (x, y, draw(st.integers(0, 90)), draw(st.integers(0, 60)))


@settings(deadline=None, max_examples=150)
@given(surface_and_rectangle())
def test_rectangle_copies_equal_cuts_of_the_surface(case: tuple[SurfaceLayout, tuple[int, int, int, int]]) -> None:
    layout, (x, y, width, height) = case
    cpp, row = layout.cpp, layout.width * layout.cpp
    before = numbered(row * layout.height)
    with Memory() as memory:
        layout.write(memory, before)
        expected = bytearray(width * height * cpp)
        after = bytearray(before)
        pixels = bytes(255 - b for b in numbered(width * height * cpp))
        for j in range(height):
            for i in range(width):
                if 0 <= x + i < layout.width and 0 <= y + j < layout.height:
                    here, there = (j * width + i) * cpp, (y + j) * row + (x + i) * cpp
                    expected[here:here + cpp] = before[there:there + cpp]
                    after[there:there + cpp] = pixels[here:here + cpp]
        assert layout.read(memory, x, y, width, height) == expected
        layout.write(memory, pixels, x, y, width, height)
        assert layout.read(memory) == after


def test_bytes_between_the_rows_of_a_linear_surface_stay() -> None:
    with Memory() as memory:
        memory.write(0x1000, b"\xEE" * 0x1000)
        SurfaceLayout(0x1000, 100, 10, 3, 4).write(memory, bytes(120))
        assert memory.read(0x1000 + 40, 60) == b"\xEE" * 60
        assert memory.read(0x1000 + 240, 100) == b"\xEE" * 100


def test_bit_17_of_the_swizzle_comes_from_the_page_table() -> None:
    with Memory(strict_pte=True) as memory:
        memory.set_gtt(0, [Pte(0x20000).encode(), Pte(0x40000).encode()])
        layout = SurfaceLayout(0, 1024, 1024, 8, 1, Tiling.X, Swizzle.BIT_9_17)
        layout.write(memory, b"\x01" + bytes(511) + b"\x02" + bytes(1023 - 512) + bytes(1024 * 7))
        assert memory.read(0x40, 1) == b"\x01"  # physical bit 17 is set
        assert memory.read(0x1000, 1) == b"\x02"


def test_missing_tiles_read_as_zeros_and_are_reported() -> None:
    layout = SurfaceLayout(0, 256, 64, 32, 4, Tiling.Y)
    with Memory() as memory:
        memory.write(0, b"\xFF" * 4096)
        pixels = layout.read(memory, missing=Missing.REPORT, unit=Unit.SAMPLER)
        assert pixels[:128] == b"\xFF" * 128
        assert pixels[128:256] == bytes(128)
        assert memory.faults.counts == {FaultKind.UNWRITTEN_READ: 1}
        assert memory.missed_reads() == [(0x1000, 0x1000)]
        with pytest.raises(MemoryFault, match="0x00001000: CPU: read of memory that nothing has written"):
            layout.read(memory, missing=Missing.RAISE)


def test_writes_beyond_the_page_table_are_dropped_with_a_fault() -> None:
    with Memory(gtt_entries=2) as memory:
        layout = SurfaceLayout(0x1000, 128, 32, 64, 4, Tiling.Y)
        with pytest.raises(MemoryFault, match="0x00002000: CPU: write to an address that nothing maps"):
            layout.write(memory, b"\x11" * (128 * 64))
        assert layout.read(memory)[:4096] == b"\x11" * 4096


def test_strict_memory_stops_at_the_first_fault() -> None:
    with Memory(gtt_entries=1, strict=True) as memory:
        layout = SurfaceLayout(0, 128, 128, 96, 1, Tiling.Y)
        layout.write(memory, bytes(128 * 96), missing=Missing.REPORT)
        assert memory.faults.counts == {FaultKind.UNMAPPED_WRITE: 1}


@pytest.mark.parametrize(("change", "text"), [
    ({"pitch_bytes": 500}, "pitch: 500 is not a multiple of 512"),
    ({"width": 129}, "width: 129 pixels of 4 bytes exceed the pitch of 512"),
    ({"base": 0x800}, "base: 0x00000800 of a tiled surface is not aligned"),
    ({"base": 0xFFFFFFFFF000, "height": 9}, "reach out of the address space"),
    ({"height": 1 << 40}, "reach out of the address space"),
    ({"cpp": 17}, "pixels of 17 bytes"),
    ({"cpp": 0}, "pixels of 0 bytes"),
    ({"height": -1}, "128 x -1 pixels"),
])
def test_impossible_layout_is_refused_with_the_reason(change: dict[str, int], text: str) -> None:
    good = {"base": 0, "pitch_bytes": 512, "width": 128, "height": 8, "cpp": 4}
    with pytest.raises(FieldError, match=text):
        SurfaceLayout(**{**good, **change}, tiling=Tiling.X)


@pytest.mark.parametrize("rectangle", [(0, 0, -1, 1), (1 << 31, 0, 1, 1), (0, -(1 << 31) - 1, 1, 1), (0, 0, 1 << 30, 1),
                                       (0, 0, 1 << 14, 1 << 20)])
def test_impossible_rectangle_is_refused(rectangle: tuple[int, int, int, int]) -> None:
    with Memory() as memory, pytest.raises(FieldError, match="rectangle"):
        SurfaceLayout(0, 512, 128, 8, 4, Tiling.X).read(memory, *rectangle)


def test_pixels_that_do_not_fill_the_rectangle_are_refused() -> None:
    with Memory() as memory, pytest.raises(FieldError, match="7 bytes are not 8 x 2"):
        SurfaceLayout(0, 512, 128, 8, 4, Tiling.X).write(memory, bytes(7), 0, 0, 2, 2)


def test_address_of_a_pixel() -> None:
    layout = SurfaceLayout(0x10000, 1024, 256, 16, 4, Tiling.X)
    assert layout.address(175, 13) == 0x13ABC  # byte 700
    with pytest.raises(FieldError):
        layout.address(256, 0)


# --- fences ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("fence", "value"), [
    (Fence(0x100000, 0x40000, 2048, Tiling.X), 0x0013F000_0010003D),
    (Fence(0x200000, 0x10000, 512, Tiling.Y), 0x0020F000_0020000F),
    (Fence(0, 1 << 32, 131072, Tiling.X, valid=False), 0xFFFFF000_00000FFC),
])
def test_values_of_known_fences(fence: Fence, value: int) -> None:
    assert fence.encode() == value
    assert Fence.decode(value) == fence


@given(st.integers(0, (1 << 64) - 1))
def test_any_fence_register_decodes_and_encodes_back(value: int) -> None:
    fence = Fence.decode(value)
    if fence.size > 0:
        assert fence.encode() == value & 0xFFFFF000_FFFFFFFF
    else:
        assert value >> 44 < (value >> 12 & 0xFFFFF)


@pytest.mark.parametrize("fence", [
    Fence(0x800, 0x1000, 512), Fence(0, 0x1001, 512), Fence(0, 0, 512), Fence(0, 0x1000, 100), Fence(0, 0x1000, 0),
    Fence(0, 0x1000, 131072 + 128), Fence(0, 0x1000, 512, Tiling.W), Fence(0x1000, 1 << 32, 512),
    Fence(-4096, 8192, 512),
])
def test_fence_that_does_not_fit_its_bits_is_refused(fence: Fence) -> None:
    with pytest.raises(FieldError, match=r"(?i)fence"):
        fence.encode()


@pytest.mark.parametrize(("tiling", "pitch", "swizzle"), [(Tiling.X, 1024, Swizzle.NONE), (Tiling.Y, 256, Swizzle.NONE),
                                                          (Tiling.X, 1024, Swizzle.BIT_9_10),
                                                          (Tiling.Y, 256, Swizzle.BIT_9)])
def test_aperture_shows_a_tiled_region_as_rows(tiling: Tiling, pitch: int, swizzle: Swizzle) -> None:
    size = 0x8000
    with Memory() as memory:
        aperture = Aperture(memory, [0, Fence(0x100000, size, pitch, tiling).encode()], swizzle, swizzle)
        data = numbered(size)
        aperture.write(0x100000, data)
        layout = SurfaceLayout(0x100000, pitch, pitch, size // pitch, 1, tiling, swizzle)
        assert layout.read(memory) == data
        assert aperture.read(0x100123, 3000) == data[0x123:0x123 + 3000]


def test_bytes_seen_through_the_aperture() -> None:
    with Memory() as memory:
        fences = [Fence(0x10000, 0x4000, 1024, Tiling.X).encode(), Fence(0x20000, 0x4000, 256, Tiling.Y).encode()]
        aperture = Aperture(memory, fences)
        aperture.write(0x10000 + 13 * 1024 + 700, b"\x5A")
        aperture.write(0x20000 + 45 * 256 + 200, b"\xA5")
        assert memory.read(0x13ABC, 1) == b"\x5A"
        assert memory.read(0x238D8, 1) == b"\xA5"


def test_aperture_is_plain_outside_of_fences_and_across_their_edge() -> None:
    with Memory() as memory:
        aperture = Aperture(memory, [Fence(0x1000, 0x1000, 512, Tiling.X).encode()])
        memory.write(0, numbered(0x3000))
        assert aperture.fence_at(0xFFF) is None
        assert aperture.fence_at(0x1000) == 0
        assert aperture.fence_at(0x1FFF) == 0
        assert aperture.fence_at(0x2000) is None
        assert aperture.read(0xF00, 0x1200) == numbered(0x3000)[0xF00:0x2100]  # one X tile of full width is linear


def test_lowest_of_overlapping_fences_counts() -> None:
    fences = [0, Fence(0x2000, 0x1000, 512).encode(), Fence(0x1000, 0x3000, 512, Tiling.Y).encode()]
    with Memory() as memory:
        aperture = Aperture(memory, fences)
        assert [aperture.fence_at(a) for a in (0x1000, 0x2000, 0x3000, 0x4000)] == [2, 1, 2, None]


def test_fence_whose_pitch_its_tiling_can_not_have_is_an_error() -> None:
    with Memory() as memory:
        aperture = Aperture(memory, [Fence(0x1000, 0x1000, 640, Tiling.X).encode()])
        with pytest.raises(FieldError, match="0x00001004: a fence there has a pitch"):
            aperture.read(0x1004, 1)


def test_aperture_refuses_more_fences_than_there_are() -> None:
    with Memory() as memory:
        with pytest.raises(FieldError):
            Aperture(memory, [0] * 17)
        with pytest.raises(FieldError):
            Aperture(memory, [1 << 64])


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=16), st.integers(0, 0xFFFFF000), st.integers(0, 4096))
def test_any_fence_registers_are_survived(values: list[int], address: int, size: int) -> None:
    with Memory(gtt_entries=64) as memory:
        aperture = Aperture(memory, values)
        try:
            assert len(aperture.read(address, size, Missing.ZERO)) == size
        except FieldError as error:
            assert "a fence there" in str(error)
