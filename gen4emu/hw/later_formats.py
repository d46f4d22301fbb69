"""The codes of surface formats that Gen5 to Gen9 added to those of Gen4, for the layouts of these generations.

Mesa's isl.h has the codes.  The channels of the formats are in `gen4emu.hw.added_formats`, and the units that accept
them in `gen4emu.hw.format_support`.
"""

from __future__ import annotations

from gen4emu.hw.enumeration import enumeration
from gen4emu.hw.formats import SurfaceFormat

_ADDED: dict[str, int] = {
    "R32G32B32A32_SFIXED": 0x020,
    "R64G64_PASSTHRU": 0x021,
    "R32G32B32_SFIXED": 0x050,
    "R32G32_FLOAT_LD": 0x097,
    "R32G32_SFIXED": 0x0A0,
    "R64_PASSTHRU": 0x0A1,
    "R10G10B10_FLOAT_A2_UNORM": 0x0D5,
    "L32_UNORM": 0x0DD,
    "A32_UNORM": 0x0DE,
    "X8B8_UNORM_G8R8_SNORM": 0x0E6,
    "A8X8_UNORM_G8R8_SNORM": 0x0E7,
    "B8X8_UNORM_G8R8_SNORM": 0x0E8,
    "A1B5G5R5_UNORM": 0x124,
    "A4B4G4R4_UNORM": 0x125,
    "L8A8_UINT": 0x126,
    "L8A8_SINT": 0x127,
    "Y8_UNORM": 0x150,
    "L8_UINT": 0x152,
    "L8_SINT": 0x153,
    "I8_UINT": 0x154,
    "I8_SINT": 0x155,
    "BC6H_SF16": 0x1A1,
    "BC7_UNORM": 0x1A2,
    "BC7_UNORM_SRGB": 0x1A3,
    "BC6H_UF16": 0x1A4,
    "PLANAR_420_8": 0x1A5,
    "PLANAR_420_16": 0x1A6,
    "R8G8B8_UNORM_SRGB": 0x1A8,
    "ETC1_RGB8": 0x1A9,
    "ETC2_RGB8": 0x1AA,
    "EAC_R11": 0x1AB,
    "EAC_RG11": 0x1AC,
    "EAC_SIGNED_R11": 0x1AD,
    "EAC_SIGNED_RG11": 0x1AE,
    "ETC2_SRGB8": 0x1AF,
    "R16G16B16_UINT": 0x1B0,
    "R16G16B16_SINT": 0x1B1,
    "R32_SFIXED": 0x1B2,
    "R10G10B10A2_SNORM": 0x1B3,
    "R10G10B10A2_USCALED": 0x1B4,
    "R10G10B10A2_SSCALED": 0x1B5,
    "R10G10B10A2_SINT": 0x1B6,
    "B10G10R10A2_SNORM": 0x1B7,
    "B10G10R10A2_USCALED": 0x1B8,
    "B10G10R10A2_SSCALED": 0x1B9,
    "B10G10R10A2_UINT": 0x1BA,
    "B10G10R10A2_SINT": 0x1BB,
    "R64G64B64A64_PASSTHRU": 0x1BC,
    "R64G64B64_PASSTHRU": 0x1BD,
    "ETC2_RGB8_PTA": 0x1C0,
    "ETC2_SRGB8_PTA": 0x1C1,
    "ETC2_EAC_RGBA8": 0x1C2,
    "ETC2_EAC_SRGB8_A8": 0x1C3,
    "R8G8B8_UINT": 0x1C8,
    "R8G8B8_SINT": 0x1C9,
    "RAW": 0x1FF,
}

# An ASTC code is a base for the mode, and the indices of the block's width and height.
_ASTC_MODES = {("LDR", "U8SRGB"): 0x200, ("LDR", "FLT16"): 0x240, ("HDR", "FLT16"): 0x340}
_ASTC_SIZES = {4: 0, 5: 1, 6: 2, 8: 4, 10: 6, 12: 7}
_ASTC_BLOCKS = ((4, 4), (5, 4), (5, 5), (6, 5), (6, 6), (8, 5), (8, 6), (8, 8), (10, 5), (10, 6), (10, 8), (10, 10),
                (12, 10), (12, 12))
_ASTC: dict[str, int] = {
    f"ASTC_{profile}_2D_{width}X{height}_{channels}": base + 8 * _ASTC_SIZES[width] + _ASTC_SIZES[height]
    for (profile, channels), base in _ASTC_MODES.items() for width, height in _ASTC_BLOCKS
}

_GEN4 = {f.name: int(f) for f in SurfaceFormat}

LaterSurfaceFormat = enumeration("LaterSurfaceFormat", "The 9-bit code from Gen5 on.", {**_GEN4, **_ADDED}, __name__)
AstcSurfaceFormat = enumeration("AstcSurfaceFormat", "The 10-bit code of Gen9's surfaces.",
                                {**_GEN4, **_ADDED, **_ASTC}, __name__)

# The size of a block in texels, of each ASTC format whose texels are of the LDR profile.
ASTC_LDR_BLOCKS = {
    AstcSurfaceFormat[f"ASTC_LDR_2D_{width}X{height}_{channels}"]: (width, height)
    for channels in ("U8SRGB", "FLT16") for width, height in _ASTC_BLOCKS
}
