"""The blitter: fills, copies, patterns and text, pixel by pixel."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.device.blitter import Blitter
from gen4emu.device.memory import Memory
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import blt
from gen4emu.hw.layout import Command

GEN = Gen.CTG
BASE = 0x1000


class Bench:
    def __init__(self) -> None:
        self.memory = Memory()
        self.blitter = Blitter(self.memory, GEN)
        self.memory.write(BASE, bytes(0x4000))

    def run(self, command: Command, **fields: Any) -> None:
        words = command.pack(GEN, **fields)
        self.blitter.execute(command, memoryview(struct.pack(f"<{len(words)}I", *words)).cast("I"))

    def dwords(self, address: int, count: int) -> list[int]:
        return list(self.memory.read_dwords(address, count))

    def put(self, address: int, *values: int) -> None:
        self.memory.write(address, struct.pack(f"<{len(values)}I", *values))


@pytest.fixture
def bench() -> Bench:
    return Bench()


FULL = {"write_alpha": True, "write_rgb": True, "color_depth": blt.ColorDepth.BPP_32, "destination_pitch": 64,
        "destination_base_address": BASE}


def rectangle(x1: int, y1: int, x2: int, y2: int) -> dict[str, int]:
    return {"destination_x1": x1, "destination_y1": y1, "destination_x2": x2, "destination_y2": y2}


def test_the_truth_table_of_every_raster_operation_is_its_own_code() -> None:
    for rop in range(256):
        assert lib.g4_rop3(rop, 0xF0, 0xCC, 0xAA) & 0xFF == rop


@pytest.mark.parametrize(("rop", "expected"), [
    (0xCE, 0xA5), (0x66, 0x3C), (0xFC, 0xBD), (0xCA, 0xA5), (0xAC, 0x99), (0x96, 0x00), (0x5A, 0xA5)])
def test_raster_operations_work_bit_by_bit(rop: int, expected: int) -> None:
    assert lib.g4_rop3(rop, 0x3C, 0xA5, 0x99) & 0xFF == expected


def test_a_copy_within_one_surface_is_a_memmove(bench: Bench) -> None:
    bench.put(BASE, 1, 2, 3, 4, 5)
    bench.run(blt.XY_SRC_COPY_BLT, **FULL, raster_operation=0xCC, **rectangle(1, 0, 5, 1), source_pitch=64,
              source_base_address=BASE)
    assert bench.dwords(BASE, 5) == [1, 1, 2, 3, 4]


def test_a_copy_downwards_within_one_surface_is_a_memmove(bench: Bench) -> None:
    for y in range(3):
        bench.put(BASE + 64 * y, y + 1)
    bench.run(blt.XY_SRC_COPY_BLT, **FULL, raster_operation=0xCC, **rectangle(0, 1, 1, 4), source_pitch=64,
              source_base_address=BASE)
    assert [bench.dwords(BASE + 64 * y, 1)[0] for y in range(4)] == [1, 1, 2, 3]


@pytest.mark.parametrize(("alpha", "rgb", "expected"), [
    (False, True, 0x11BBCCDD), (True, False, 0xAA223344), (False, False, 0x11223344), (True, True, 0xAABBCCDD)])
def test_the_byte_mask_at_32_bits(bench: Bench, alpha: bool, rgb: bool, expected: int) -> None:
    bench.put(BASE, 0x11223344)
    bench.put(BASE + 0x1000, 0xAABBCCDD)
    bench.run(blt.XY_SRC_COPY_BLT, **FULL | {"write_alpha": alpha, "write_rgb": rgb}, raster_operation=0xCC,
              **rectangle(0, 0, 1, 1), source_pitch=64, source_base_address=BASE + 0x1000)
    assert bench.dwords(BASE, 1) == [expected]


def test_a_tiled_pitch_counts_dwords(bench: Bench) -> None:
    bench.run(blt.XY_COLOR_BLT, **FULL | {"destination_pitch": 128}, destination_tiled=True, raster_operation=0xF0,
              **rectangle(3, 2, 4, 3), color=0x12345678)
    assert bench.dwords(BASE + 0x40C, 1) == [0x12345678]
    assert sum(bench.memory.read(BASE, 0x1000)) == 0x12 + 0x34 + 0x56 + 0x78


def test_the_setup_clip_bounds_a_fill(bench: Bench) -> None:
    bench.run(blt.XY_SETUP_CLIP_BLT, clip_x1=2, clip_y1=2, clip_x2=5, clip_y2=5)
    bench.run(blt.XY_COLOR_BLT, **FULL, clip_enable=True, raster_operation=0xF0, **rectangle(0, 0, 8, 8), color=1)
    rows = [bench.dwords(BASE + 64 * y, 16) for y in range(8)]
    assert sum(map(sum, rows)) == 9
    assert all(rows[y][x] == 1 for y in range(2, 5) for x in range(2, 5))


def test_mono_source_rows_start_at_words_and_at_the_start_bit(bench: Bench) -> None:
    bench.memory.write(BASE + 0x1000, bytes([0x1F, 0xFF, 0x00, 0x00]))
    bench.run(blt.XY_MONO_SRC_COPY_BLT, **FULL, raster_operation=0xCC, **rectangle(0, 0, 10, 2),
              monochrome_source_start=3, source_bits_address=BASE + 0x1000, foreground_color=7, background_color=9)
    assert bench.dwords(BASE, 11) == [7] * 10 + [0]
    assert bench.dwords(BASE + 64, 10) == [9] * 10


def test_pattern_coordinates_are_absolute_plus_the_seeds(bench: Bench) -> None:
    bench.put(BASE + 0x1000, *range(64))
    bench.run(blt.XY_PAT_BLT, **FULL, raster_operation=0xF0, **rectangle(5, 6, 6, 7), pattern_horizontal_seed=2,
              pattern_vertical_seed=1, pattern_address=BASE + 0x1000)
    assert bench.dwords(BASE + 64 * 6 + 20, 1) == [7 * 8 + 7]


def test_mono_pattern_bit_7_is_the_left_pixel(bench: Bench) -> None:
    bench.run(blt.XY_MONO_PAT_BLT, **FULL, raster_operation=0xF0, **rectangle(0, 0, 8, 1), pattern_data_0=0xF0,
              foreground_color=1, background_color=0)
    assert bench.dwords(BASE, 8) == [1, 1, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(("packing", "data"), [
    (blt.TextPacking.BYTE, 0x50A8), (blt.TextPacking.BIT, 0x80AA)])
def test_text_rows_by_packing(bench: Bench, packing: blt.TextPacking, data: int) -> None:
    bench.run(blt.XY_SETUP_BLT, **FULL, raster_operation=0xCC, foreground_color=1, background_color=0,
              clip_x2=100, clip_y2=100)
    bench.run(blt.XY_TEXT_IMMEDIATE_BLT, text_packing=packing, **rectangle(0, 0, 5, 2),
              data=[{"value": data}, {"value": 0}])
    assert bench.dwords(BASE, 5) == [1, 0, 1, 0, 1]
    assert bench.dwords(BASE + 64, 5) == [0, 1, 0, 1, 0]


def test_scanlines_and_pixel_draw_with_the_setup_pattern(bench: Bench) -> None:
    bench.run(blt.XY_SETUP_MONO_PATTERN_SL_BLT, **FULL, solid_pattern=True, raster_operation=0xF0,
              foreground_color=5, background_color=5, clip_x2=100, clip_y2=100)
    bench.run(blt.XY_SCANLINES_BLT, **rectangle(1, 0, 3, 1))
    bench.run(blt.XY_PIXEL_BLT, destination_x=6, destination_y=0)
    assert bench.dwords(BASE, 8) == [0, 5, 5, 0, 0, 0, 5, 0]


def test_empty_rectangles_write_nothing(bench: Bench) -> None:
    bench.run(blt.XY_COLOR_BLT, **FULL, raster_operation=0xF0, **rectangle(4, 0, 4, 8), color=1)
    bench.run(blt.XY_COLOR_BLT, **FULL, raster_operation=0xF0, **rectangle(4, 4, 8, 2), color=1)
    assert sum(bench.memory.read(BASE, 0x1000)) == 0


def test_color_and_source_copy_of_bytes(bench: Bench) -> None:
    bench.run(blt.COLOR_BLT, color_depth=blt.ColorDepth.BPP_8, raster_operation=0xF0, destination_pitch=16, height=2,
              width_bytes=3, destination_address=BASE, color=0xAB)
    bench.run(blt.SRC_COPY_BLT, color_depth=blt.ColorDepth.BPP_8, raster_operation=0xCC, destination_pitch=16,
              height=1, width_bytes=3, destination_address=BASE + 2, source_pitch=16, source_address=BASE,
              direction=blt.CopyDirection.RIGHT_TO_LEFT)
    assert bench.memory.read(BASE, 20) == bytes([0xAB] * 5 + [0] * 11 + [0xAB] * 3 + [0])


def test_chroma_skips_sources_in_range(bench: Bench) -> None:
    bench.put(BASE + 0x1000, 1, 2, 3, 4)
    bench.run(blt.XY_SRC_COPY_CHROMA_BLT, **FULL, raster_operation=0xCC, **rectangle(0, 0, 4, 1), source_pitch=64,
              source_base_address=BASE + 0x1000, transparency_color_low=2, transparency_color_high=3,
              transparency_range_mode=blt.TransparencyRangeMode.SKIP_SOURCE_IN_RANGE)
    assert bench.dwords(BASE, 4) == [1, 0, 0, 4]


def test_writes_to_memory_that_is_not_there_are_dropped() -> None:
    memory = Memory(gtt_entries=2)
    blitter = Blitter(memory, GEN)
    command = blt.XY_COLOR_BLT
    words = command.pack(GEN, **FULL | {"destination_base_address": 0x40000000}, raster_operation=0xF0,
                         **rectangle(0, 0, 16, 16), color=1)
    blitter.execute(command, memoryview(struct.pack(f"<{len(words)}I", *words)).cast("I"))
    assert not memory.is_mapped(0x40000000)
