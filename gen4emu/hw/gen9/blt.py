"""The 2D command that Gen9 added: a copy between surfaces of any tiling, including Yf and Ys.

Linux intel_gpu_commands.h and IGT lib/intel_reg.h.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Enum, Field, Sint, Uint
from gen4emu.hw.gen8.vertex_fetch import address_48
from gen4emu.hw.layout import Client, Command
from gen4emu.hw.reserved import with_reserved


class FastCopyTiling(IntEnum):
    """The tiling of one side of a fast copy."""

    LINEAR = 0
    XMAJOR = 1
    YMAJOR_4K = 2
    TILE_64K = 3


class LegacyTileY(IntEnum):
    """Whether a Y-tiled side has legacy tiles or those of TILEYF."""

    LEGACY = 0
    TILEYF = 1


class FastCopyDepth(IntEnum):
    """The size of a pixel."""

    BPP_8 = 0
    BPP_16 = 1
    BPP_32 = 3
    BPP_64 = 4
    BPP_128 = 5


def _point(name: str, dword: int) -> list[Field]:
    return [Sint(f"{name[:-1]}y{name[-1]}", dword, 31, 16), Sint(f"{name[:-1]}x{name[-1]}", dword, 15, 0)]


_FAST_COPY = 0x42 << 22

XY_FAST_COPY_BLT = Command("XY_FAST_COPY_BLT", Client.BLT << 29 | _FAST_COPY, 22, (7, 0), 10, with_reserved([
    Enum("source_tiling_method", 0, 21, 20, enum=FastCopyTiling),
    Uint("source_horizontal_alignment", 0, 18, 17),
    Uint("source_vertical_alignment", 0, 16, 15),
    Enum("destination_tiling_method", 0, 14, 13, enum=FastCopyTiling),
    Uint("destination_horizontal_alignment", 0, 11, 10),
    Uint("destination_vertical_alignment", 0, 9, 8),
    Enum("source_tile_y_type", 1, 31, 31, enum=LegacyTileY),
    Enum("destination_tile_y_type", 1, 30, 30, enum=LegacyTileY),
    Enum("color_depth", 1, 26, 24, enum=FastCopyDepth),
    Uint("destination_pitch", 1, 15, 0, doc="bytes, or dwords when tiled"),
    *_point("destination_1", 2),
    *_point("destination_2", 3),
    *address_48("destination_base_address", 4, 0),
    *_point("source_1", 6),
    Uint("source_pitch", 7, 15, 0, doc="bytes, or dwords when tiled"),
    *address_48("source_base_address", 8, 0),
], 10, header=(*range(22, 32), *range(8))), ref="Linux intel_gpu_commands.h")

ADDED: tuple[Command, ...] = (XY_FAST_COPY_BLT,)
