"""3D commands of Gen4.5: what it added to those of Gen4 (G45 PRM vol. 2, chapters 3 and 8)."""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Fixed, Mbz, Sint, Uint, unless, when
from gen4emu.hw.gen4 import pipeline
from gen4emu.hw.layout import Command, gfx


class SoftwareTiledRendering(IntEnum):
    """Restrictions that the driver promises to keep, for less memory traffic.  The picture is the same."""

    NORMAL = 0
    STR1 = 1
    STR2 = 3


REPLACED: tuple[Command, ...] = (
    pipeline.DEPTH_BUFFER.changed(
        Enum("software_tiled_rendering_mode", 1, 24, 23, SoftwareTiledRendering),
        Sint("depth_coordinate_offset_y", 5, 31, 16, low=-8192, high=8191),
        Sint("depth_coordinate_offset_x", 5, 15, 0, low=-8192, high=8191), dwords=6),
    pipeline.PRIMITIVE.changed(
        Bool("indirect_vertex_count", 0, 9),
        Uint("vertex_count_per_instance", 1, 31, 0, when=(unless("indirect_vertex_count", 1),)),
        Address("vertex_count_address", 1, 31, 0, target="DATA", when=(when("indirect_vertex_count", 1),))),
)

ADDED: tuple[Command, ...] = (
    gfx("3DSTATE_AA_LINE_PARAMETERS", 0x790A, 3, [
        Mbz(0, 15, 8),
        Mbz(1, 31, 24),
        Fixed("aa_coverage_bias", 1, 23, 16, frac=8),
        Mbz(1, 15, 8),
        Fixed("aa_coverage_slope", 1, 7, 0, frac=8, doc="0 is the legacy coverage"),
        Mbz(2, 31, 24),
        Fixed("aa_coverage_endcap_bias", 2, 23, 16, frac=8),
        Mbz(2, 15, 8),
        Fixed("aa_coverage_endcap_slope", 2, 7, 0, frac=8),
    ], ref="G45v2 8.3.2.2"),
    # The manual names this command but not its fields, which are those of the next generations.
    gfx("3DSTATE_GS_SVB_INDEX", 0x790B, 4, [
        Mbz(0, 15, 8),
        Mbz(1, 31, 31),
        Uint("index_number", 1, 30, 29),
        Mbz(1, 28, 1),
        Bool("load_internal_vertex_count", 1, 0),
        Uint("streamed_vertex_buffer_index", 2, 31, 0),
        Uint("maximum_index", 3, 31, 0),
    ], ref="Mesa gen6.xml"),
)
