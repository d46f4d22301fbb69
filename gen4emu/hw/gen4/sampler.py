"""The sampler's own state: SAMPLER_STATE, border colors, the chroma key table and the texture palettes.

965 PRM vol. 4, 4.7.3 to 4.7.6; where the manual contradicts itself, as in Mesa's gen4.xml.  Surfaces are in
`gen4emu.hw.gen4.surface`, the sampler's messages in `gen4emu.hw.gen4.messages`.
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Fixed, Float, Ignored, Mbz, Uint, unless, when
from gen4emu.hw.layout import Block, Command, gfx


class MipFilter(IntEnum):
    """MIPFILTER_*."""

    NONE = 0
    NEAREST = 1
    LINEAR = 3


class MapFilter(IntEnum):
    """MAPFILTER_*."""

    NEAREST = 0
    LINEAR = 1
    ANISOTROPIC = 2
    MONO = 6


class PrefilterOperation(IntEnum):
    """PREFILTEROP_*: true where the texel counts as zero, the inverse of the function in APIs."""

    ALWAYS = 0
    NEVER = 1
    LESS = 2
    EQUAL = 3
    LEQUAL = 4
    GREATER = 5
    NOTEQUAL = 6
    GEQUAL = 7


class CubeSurfaceControlMode(IntEnum):
    """CUBECTRLMODE_*: the use of the three address control modes by a cube surface."""

    PROGRAMMED = 0
    OVERRIDE = 1


class TextureCoordinateMode(IntEnum):
    """TEXCOORDMODE_*."""

    WRAP = 0
    MIRROR = 1
    CLAMP = 2
    CUBE = 3
    CLAMP_BORDER = 4
    MIRROR_ONCE = 5


class ChromaKeyMode(IntEnum):
    """KEYFILTER_*."""

    KILL_ON_ANY_MATCH = 0
    REPLACE_BLACK = 1


_MONO = (when("mag_mode_filter", MapFilter.MONO),)
_NOT_MONO = (unless("mag_mode_filter", MapFilter.MONO),)

SAMPLER_STATE = Block("SAMPLER_STATE", 4, [
    Bool("sampler_disable", 0, 31, doc="every channel returns 0"),
    Mbz(0, 30, 30),
    Ignored(0, 29, 29, doc="two drivers set it; it is a border color mode from the next generation on"),
    Bool("lod_preclamp_enable", 0, 28, doc="clamp before deciding between mag and min"),
    Mbz(0, 27, 27),
    Fixed("base_mip_level", 0, 26, 22, frac=1, high=13.0),
    Enum("mip_mode_filter", 0, 21, 20, MipFilter),
    Enum("mag_mode_filter", 0, 19, 17, MapFilter),
    Enum("min_mode_filter", 0, 16, 14, MapFilter),
    Fixed("texture_lod_bias", 0, 13, 3, signed=True, frac=6),
    Enum("shadow_function", 0, 2, 0, PrefilterOperation),
    Fixed("min_lod", 1, 31, 22, frac=6, high=13.0),
    Fixed("max_lod", 1, 21, 12, frac=6, high=13.0),
    Mbz(1, 11, 10),
    Enum("cube_surface_control_mode", 1, 9, 9, CubeSurfaceControlMode),
    Enum("tcx_address_control_mode", 1, 8, 6, TextureCoordinateMode),
    Enum("tcy_address_control_mode", 1, 5, 3, TextureCoordinateMode),
    Enum("tcz_address_control_mode", 1, 2, 0, TextureCoordinateMode),
    Address("border_color_pointer", 2, 31, 5, base="general_state", target="SAMPLER_BORDER_COLOR_STATE"),
    Mbz(2, 4, 0),
    Uint("monochrome_filter_height", 3, 31, 29, low=1, when=_MONO),
    Uint("monochrome_filter_width", 3, 28, 26, low=1, when=_MONO),
    Ignored(3, 31, 26, when=_NOT_MONO),
    Bool("chroma_key_enable", 3, 25),
    Uint("chroma_key_index", 3, 24, 23),
    Enum("chroma_key_mode", 3, 22, 22, ChromaKeyMode),
    Uint("maximum_anisotropy", 3, 21, 19, bias=1, scale=2, doc="n in n:1"),
    Bool("u_address_mag_filter_rounding_enable", 3, 18),
    Bool("u_address_min_filter_rounding_enable", 3, 17),
    Bool("v_address_mag_filter_rounding_enable", 3, 16),
    Bool("v_address_min_filter_rounding_enable", 3, 15),
    Bool("r_address_mag_filter_rounding_enable", 3, 14),
    Bool("r_address_min_filter_rounding_enable", 3, 13),
    Mbz(3, 12, 0),
], ref="965v4 4.7.3", align=32, doc="an array of up to 16; only its start is aligned")

SAMPLER_BORDER_COLOR_STATE = Block("SAMPLER_BORDER_COLOR_STATE", 4, [
    Float("border_color_red", 0, 31, 0, doc="also for all channels of L and I formats"),
    Float("border_color_green", 1, 31, 0),
    Float("border_color_blue", 2, 31, 0),
    Float("border_color_alpha", 3, 31, 0),
], ref="965v4 4.7.4", align=32)

SAMPLER_PALETTE_RGB_ENTRY = Block("SAMPLER_PALETTE_RGB_ENTRY", 1, [
    Ignored(0, 31, 24, doc="a client keeps an alpha there"),
    Uint("palette_color_red", 0, 23, 16),
    Uint("palette_color_green", 0, 15, 8),
    Uint("palette_color_blue", 0, 7, 0),
], ref="965v4 4.7.6")


def _key(dword: int, bound: str) -> list[Field]:
    """One bound of a key, inclusive: unsigned bytes, or sign and magnitude for SNORM formats."""
    return [Uint(f"chroma_key_{bound}_{channel}", dword, lo + 7, lo, hex=True)
            for channel, lo in (("alpha", 24), ("red_or_cr", 16), ("green_or_y", 8), ("blue_or_cb", 0))]


COMMANDS: tuple[Command, ...] = (
    gfx("3DSTATE_SAMPLER_PALETTE_LOAD0", 0x7902, 1, [
        Mbz(0, 15, 8),
        Array("palette_colors", 1, SAMPLER_PALETTE_RGB_ENTRY),
    ], ref="965v4 4.7.6", doc="from entry 0 on; the other entries keep their colors"),
    gfx("3DSTATE_CHROMA_KEY", 0x7904, 4, [
        Mbz(0, 15, 8),
        Uint("chroma_key_table_index", 1, 31, 30),
        Mbz(1, 29, 0),
        *_key(2, "low"),
        *_key(3, "high"),
    ], ref="965v4 4.7.5"),
)

BLOCKS: tuple[Block, ...] = (
    SAMPLER_STATE, SAMPLER_BORDER_COLOR_STATE, SAMPLER_PALETTE_RGB_ENTRY,
)
