"""Media block messages: edges, fields, shapes (965 PRM vol. 4, 5.10.4)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu._native import lib
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import MEDIA_BLOCK_MESSAGE_HEADER
from tests.harness.data_port import DATA_CACHE, MEDIA_BLOCK, READ, SAMPLER_CACHE, WRITE, Port, media_block, message
from tests.harness.probe import Event, Status

OLD = 0xDEADBEEF
OVERRIDE = media_block(vertical_line_stride_override=True)
VLS = media_block(override_vertical_line_stride=True)
VLSO = media_block(override_vertical_line_stride_offset=1)
NO_CHANNEL = 0


_ONES = MEDIA_BLOCK_MESSAGE_HEADER.pack(Gen.EL, x_offset=-1, y_offset=-1, block_width=32, block_height=64)
_IGNORED = ~np.array(_ONES, np.uint32)


def pitch_of(width: int) -> int:
    return next(p for p in (4, 8, 16, 32) if p >= width)


def header(p: Port, x: int, y: int, width: int, height: int, thread: int = 0) -> None:
    """All other bits are set: kernels leave junk there."""
    fields = MEDIA_BLOCK_MESSAGE_HEADER.pack(p.gen, x_offset=x, y_offset=y, block_width=width, block_height=height)
    p.mrf(0, thread)[:] = np.array(fields, np.uint32) | _IGNORED


def read(p: Port, x: int, y: int, width: int, height: int, index: int = 0, flags: int = 0) -> list[str]:
    """Rows as hexadecimal text, without the bytes beyond the width."""
    pitch = pitch_of(width)
    registers = (pitch * height + 31) // 32
    header(p, x, y, width, height)
    for reg in range(8):
        p.grf(10 + reg)[:] = OLD
    p.send(message(READ, 1, registers, MEDIA_BLOCK | SAMPLER_CACHE | flags, index), dst=10, emask=NO_CHANNEL)
    data = b"".join(p.bytes_of(10 + reg) for reg in range(registers))
    if registers < 8:
        assert int(p.grf(10 + registers)[0]) == OLD
    return [data[r * pitch:r * pitch + width].hex(" ") for r in range(height)]


def positions(gen: Gen = Gen.EL) -> Port:
    """16x4 bytes, texel = y * 16 + x."""
    p = Port(gen)
    p.image(bytes(range(64)), 4, 4, 16)
    return p


def test_left_and_top_edges_repeat_bytes() -> None:
    assert read(positions(), -2, -1, 8, 3) == ["00 00 00 01 02 03 04 05"] * 2 + ["10 10 10 11 12 13 14 15"]


def test_right_and_bottom_edges_repeat_bytes() -> None:
    assert read(positions(), 13, 9, 8, 1) == ["3d 3e 3f 3f 3f 3f 3f 3f"]


def test_blocks_far_outside_are_all_edge() -> None:
    assert read(positions(), -0x80000000, 0x7FFFFFFF, 4, 2) == ["30 30 30 30"] * 2
    assert read(positions(), 0x7FFFFFFF, -0x80000000, 8, 1) == ["0f " * 7 + "0f"]


def test_x_is_in_bytes_on_gen45_and_in_dwords_before() -> None:
    """docs/decisions.md 33"""
    assert read(positions(Gen.EL), 3, 1, 4, 1) == ["13 14 15 16"]
    assert read(positions(Gen.CTG), 5, 1, 1, 1) == ["15"]
    assert read(positions(Gen.CL), 3, 1, 4, 1) == ["10 11 12 13"]
    assert read(positions(Gen.BW), -1, 1, 8, 1) == ["10 10 10 10 10 11 12 13"]


@pytest.mark.parametrize(("surface_format", "row", "left", "right"), [
    ("R16_UINT", "a0 a1 a2 a3 b0 b1 b2 b3", "a0 a1 a0 a1", "b2 b3 b2 b3"),
    ("R32_UINT", "a0 a1 a2 a3 b0 b1 b2 b3", "a0 a1 a2 a3", "b0 b1 b2 b3"),
    ("R8_UINT", "a0 a1 a2 a3 b0 b1 b2 b3", "a0 a0 a0 a0", "b3 b3 b3 b3"),
    ("YCRCB_NORMAL", "10 80 20 90 30 81 40 91", "10 80 10 90", "40 81 40 91"),
    ("YCRCB_SWAPUV", "10 80 20 90 30 81 40 91", "10 80 10 90", "40 81 40 91"),
    ("YCRCB_SWAPY", "80 10 90 20 81 30 91 40", "80 10 90 10", "81 40 91 40"),
    ("YCRCB_SWAPUVY", "80 10 90 20 81 30 91 40", "80 10 90 10", "81 40 91 40"),
])
def test_edges_repeat_pixels(surface_format: str, row: str, left: str, right: str) -> None:
    p = Port()
    p.image(bytes.fromhex(row) * 2, 2, 2, 8, surface_format=surface_format)
    assert read(p, -4, 0, 16, 1) == [f"{left} {row} {right}"]
    assert read(p, -12, 1, 4, 1) == [left]
    assert read(p, 100, 1, 4, 1) == [right]


BOUNDARY = [
    ("NORMAL", False, 0, "0 0 0 0 0 1 2 3 3 3 3 3"),
    ("NORMAL", True, 0, "0 0 0 0 0 2 2 2 2 2 2 2"),
    ("NORMAL", True, 1, "1 1 1 1 1 3 3 3 3 3 3 3"),
    ("PROGRESSIVE", False, 0, "0 0 0 0 0 1 2 3 3 3 3 3"),
    ("PROGRESSIVE", True, 0, "0 0 0 0 0 2 3 3 3 3 3 3"),
    ("PROGRESSIVE", True, 1, "0 0 0 0 1 3 3 3 3 3 3 3"),
    ("INTERLACED", False, 0, "0 1 0 1 0 1 2 3 2 3 2 3"),
    ("INTERLACED", True, 0, "0 0 0 0 0 2 2 2 2 2 2 2"),
    ("INTERLACED", True, 1, "1 1 1 1 1 3 3 3 3 3 3 3"),
]


def lines(rows: list[str]) -> str:
    return " ".join(str(int(row.split()[0], 16)) for row in rows)


@pytest.mark.parametrize(("mode", "fields", "offset", "expected"), BOUNDARY)
def test_rows_outside_follow_the_boundary_table(mode: str, fields: bool, offset: int, expected: str) -> None:
    """The state of a field has the height of the field, and the same through an override of a frame's."""
    p = Port(Gen.EL)
    content = b"".join(bytes([line] * 4) for line in range(4))
    p.image(content, 1, 2 if fields else 4, 4, vertical_line_stride=fields, vertical_line_stride_offset=offset,
            media_boundary_pixel_mode=mode)
    assert lines(read(p, 0, -4, 4, 12)) == expected
    p.image(content, 1, 4, 4, media_boundary_pixel_mode=mode)
    override = OVERRIDE | (VLS if fields else 0) | (VLSO if offset else 0)
    assert lines(read(p, 0, -4, 4, 12, index=1, flags=override)) == expected


def test_modes_of_gen45_do_not_exist_before() -> None:
    p = Port(Gen.CL)
    p.image(b"".join(bytes([line] * 4) for line in range(4)), 1, 4, 4)
    word = int.from_bytes(p.memory.read(0x100040, 4), "little")
    p.memory.write(0x100040, (word | 3 << 6).to_bytes(4, "little"))
    p.start(surface_state_base=0x100000, binding_table=0x101000)
    assert lines(read(p, 0, -2, 4, 8)) == "0 0 0 1 2 3 3 3"


def test_an_override_sees_one_field_of_a_frame() -> None:
    """Height 2, row 0 is line 1, row 5 is line 3; without the override's stride a field becomes a frame."""
    assert read(positions(), 0, 0, 4, 1, flags=OVERRIDE | VLS | VLSO) == ["10 11 12 13"]
    assert read(positions(), 0, 5, 4, 1, flags=OVERRIDE | VLS | VLSO) == ["30 31 32 33"]
    p = Port()
    p.image(bytes(range(64)), 4, 2, 16, vertical_line_stride=True, vertical_line_stride_offset=1)
    assert read(p, 0, 0, 4, 3) == ["10 11 12 13", "30 31 32 33", "30 31 32 33"]
    assert read(p, 0, 2, 4, 3, flags=OVERRIDE) == ["20 21 22 23", "30 31 32 33", "30 31 32 33"]
    assert p.events() == {}


def test_a_field_of_an_odd_frame_is_reported() -> None:
    p = Port()
    p.image(bytes(range(64)), 4, 1, 16)
    assert read(p, 0, 7, 4, 1, flags=OVERRIDE | VLS) == ["00 01 02 03"]
    assert p.event(Event.BAD_SURFACE).count == 1


def test_a_write_takes_rows_at_a_power_of_two() -> None:
    p = Port()
    p.image(bytes(64), 4, 4, 16)
    header(p, 4, 1, 12, 2)
    p.mrf(1)[:] = np.frombuffer(bytes(range(1, 33)), np.uint32)
    p.send(message(WRITE, 2, 0, MEDIA_BLOCK, 0), emask=NO_CHANNEL)
    expected = np.zeros((4, 16), np.uint8)
    expected[1, 4:] = range(1, 13)
    expected[2, 4:] = range(17, 29)
    assert p.content(0, 64) == expected.tobytes()
    assert p.events() == {}


def test_writes_outside_are_dropped_byte_by_byte() -> None:
    p = Port()
    p.image(bytes(64), 4, 4, 16)
    for x, y in (-6, -2), (14, 3):
        header(p, x, y, 8, 4)
        p.mrf(1)[:] = 0x01010101
        p.send(message(WRITE, 2, 0, MEDIA_BLOCK, 0))
    expected = np.zeros((4, 16), np.uint8)
    expected[:2, :2] = 1
    expected[3, 14:] = 1
    assert p.content(0, 64) == expected.tobytes()


def test_a_write_to_a_field_skips_the_lines_of_the_other() -> None:
    p = Port()
    p.image(bytes(64), 4, 2, 16, vertical_line_stride=True, vertical_line_stride_offset=1)
    header(p, 0, 0, 4, 8)
    for r in range(8):
        p.mrf(1)[r] = 0x01010101 * (r + 1)
    p.send(message(WRITE, 2, 0, MEDIA_BLOCK, 0))
    expected = np.zeros((4, 16), np.uint8)
    expected[1, :4], expected[3, :4] = 1, 2
    assert p.content(0, 64) == expected.tobytes()


def tiled_picture(tiling: int, width: int, height: int, pitch: int, size: int) -> tuple[NDArray[np.uint8], bytes]:
    picture = np.random.default_rng(7).integers(0, 256, (height, width), dtype=np.uint8)
    memory = bytearray(size)
    for y in range(height):
        for x in range(width):
            memory[lib.g4_tiling_offset(tiling, pitch, x, y)] = picture[y, x]
    return picture, bytes(memory)


@pytest.mark.parametrize(("walk", "tiling", "pitch"), [
    (None, lib.G4_TILING_LINEAR, 640), ("XMAJOR", lib.G4_TILING_X, 1024), ("YMAJOR", lib.G4_TILING_Y, 640)])
def test_any_tiling_reads_and_writes_the_same_picture(walk: str | None, tiling: int, pitch: int) -> None:
    width, height = 600, 40
    picture, content = tiled_picture(tiling, width, height, pitch, 0xC000)
    fields = {} if walk is None else {"tiled_surface": True, "tile_walk": walk}
    p = Port()
    p.image(content, width // 4, height, pitch, **fields)
    for x, y in (0, 0), (13, 5), (117, 30), (500, 33), (579, 35), (-9, -3), (590, 38):
        columns = np.clip(np.arange(x, x + 32), 0, width - 1)
        rows = np.clip(np.arange(y, y + 8), 0, height - 1)
        expected = picture[rows][:, columns]
        assert read(p, x, y, 32, 8) == [bytes(row).hex(" ") for row in expected]
        block = np.random.default_rng(x & 0xFF).integers(0, 256, (8, 32), dtype=np.uint8)
        header(p, x, y, 32, 8)
        for r in range(8):
            p.mrf(1 + r)[:] = block[r].view(np.uint32)
        p.send(message(WRITE, 9, 0, MEDIA_BLOCK, 0))
        for r in range(max(0, -y), min(8, height - y)):
            left, right = max(0, -x), min(32, width - x)
            picture[y + r, x + left:x + right] = block[r, left:right]
    assert read(p, 480, 32, 32, 8) == [bytes(row).hex(" ") for row in picture[32:40, 480:512]]
    assert p.events() == {}


def test_threads_of_a_gang_read_their_own_blocks() -> None:
    p = Port(threads=8)
    p.image(bytes(range(64)), 4, 4, 16)
    for t in range(8):
        header(p, t, t % 4, 4, 1, t)
    p.send(message(READ, 1, 1, MEDIA_BLOCK | SAMPLER_CACHE, 0), dst=10, emask=[0] * 8)
    for t in range(8):
        first = 16 * (t % 4) + t
        assert p.bytes_of(10, t) == bytes(range(first, first + 4)) + bytes(28)


@pytest.mark.parametrize(("width", "height", "fits"), [
    (4, 64, True), (5, 32, True), (5, 33, False), (16, 16, True), (9, 17, False), (32, 8, True), (17, 9, False)])
def test_a_block_has_eight_registers_at_most(width: int, height: int, fits: bool) -> None:
    p = positions()
    header(p, 0, 0, width, height)
    p.grf(10)[:] = OLD
    p.send(message(READ, 1, 8, MEDIA_BLOCK | SAMPLER_CACHE, 0), dst=10)
    assert (p.event(Event.BAD_LENGTH).count == 0) == fits
    assert (int(p.grf(10)[0]) != OLD) == fits


def test_the_data_cache_has_no_blocks() -> None:
    p = positions()
    header(p, 0, 0, 4, 1)
    p.grf(10)[:] = OLD
    p.send(message(READ, 1, 1, MEDIA_BLOCK | DATA_CACHE, 0), dst=10)
    assert p.event(Event.BAD_MESSAGE).count == 1
    assert int(p.grf(10)[0]) == OLD


def test_surfaces_that_have_no_blocks_are_reported() -> None:
    p = Port()
    p.buffer(bytes(range(64)))
    p.image(bytes(64), 4, 4, 16, base_offset=4)
    p.surface(bytes(64), surface_type="SURFTYPE_NULL")
    assert read(p, 0, 0, 4, 1, index=0) == ["00 00 00 00"]
    assert p.event(Event.BAD_SURFACE).count == 1
    read(p, 0, 0, 4, 1, index=1)
    assert p.event(Event.BAD_SURFACE).count == 2
    assert read(p, 0, 0, 4, 1, index=2) == ["00 00 00 00"]
    assert p.event(Event.BAD_SURFACE).count == 2
    read(p, 0, 0, 4, 1, index=255)
    assert p.event(Event.BAD_SURFACE).count == 3


def test_a_block_beyond_memory_reads_as_zero() -> None:
    """MPEG-2's states call the width four times too large: reads run past the last plane (docs/decisions.md 23)."""
    p = Port()
    p.image(bytes([7] * 0x1000), 1024, 16, 4096)
    assert read(p, 0, 0, 4, 2) == ["07 07 07 07", "00 00 00 00"]
    header(p, 0, 8, 32, 8)
    assert p.send(message(WRITE, 9, 0, MEDIA_BLOCK, 0)) == Status.OK


def test_an_answer_of_the_wrong_length_is_reported() -> None:
    p = positions()
    header(p, 0, 0, 8, 4)
    wrong = message(READ, 1, 2, MEDIA_BLOCK | SAMPLER_CACHE, 0)
    p.send(wrong, dst=10)
    assert p.event(Event.BAD_RESPONSE).value == wrong
    header(p, 0, 0, 8, 5)
    p.send(message(WRITE, 2, 0, MEDIA_BLOCK, 0))
    assert p.event(Event.BAD_LENGTH).count == 1
    assert p.content(0, 64) == bytes(range(64))
