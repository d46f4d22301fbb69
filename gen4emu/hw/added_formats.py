"""The formats that Gen7 to Gen9 read and that Gen4 does not have: their channels.

The codes are in `gen4emu.hw.later_formats`, the units that accept them in `gen4emu.hw.format_support` (IVB PRM vol. 4
part 1, SURFACE_STATE; Mesa, isl_format_layout.csv).
"""

from __future__ import annotations

from gen4emu.hw.format_support import parts_with
from gen4emu.hw.formats import FORMATS, ChannelType, Encoding, FormatInfo, block_format, format_info, plain_format
from gen4emu.hw.gen import Gen
from gen4emu.hw.later_formats import ASTC_LDR_BLOCKS, AstcSurfaceFormat

T, E = ChannelType, Encoding


def _plain(name: str, layout: str, kind: ChannelType) -> FormatInfo:
    return plain_format(AstcSurfaceFormat[name], layout, kind)


def _block(name: str, encoding: Encoding, outputs: str, kind: ChannelType = T.UNORM) -> FormatInfo:
    return block_format(AstcSurfaceFormat[name], encoding, outputs, kind)


ADDED_FORMATS: tuple[FormatInfo, ...] = (
    _plain("R32G32B32A32_SFIXED", "R32 G32 B32 A32", T.SFIXED),
    _plain("R32G32B32_SFIXED", "R32 G32 B32", T.SFIXED),
    _plain("R32G32_FLOAT_LD", "R32 G32", T.FLOAT),
    _plain("R32G32_SFIXED", "R32 G32", T.SFIXED),
    _plain("A4B4G4R4_UNORM", "A4 B4 G4 R4", T.UNORM),
    _plain("L8A8_UINT", "L8 A8", T.UINT),
    _plain("L8A8_SINT", "L8 A8", T.SINT),
    _plain("L8_UINT", "L8", T.UINT),
    _plain("L8_SINT", "L8", T.SINT),
    _plain("I8_UINT", "I8", T.UINT),
    _plain("I8_SINT", "I8", T.SINT),
    _block("BC6H_SF16", E.BC6H, "RGB1", T.FLOAT),
    _block("BC7_UNORM", E.BC7, "RGBA"),
    _block("BC7_UNORM_SRGB", E.BC7, "RGBA"),
    _block("BC6H_UF16", E.BC6H, "RGB1", T.UFLOAT),
    _plain("R8G8B8_UNORM_SRGB", "R8 G8 B8", T.UNORM),
    _block("ETC1_RGB8", E.ETC2, "RGB1"),
    _block("ETC2_RGB8", E.ETC2, "RGB1"),
    _block("EAC_R11", E.EAC_R, "R001"),
    _block("EAC_RG11", E.EAC_RG, "RG01"),
    _block("EAC_SIGNED_R11", E.EAC_R, "R001", T.SNORM),
    _block("EAC_SIGNED_RG11", E.EAC_RG, "RG01", T.SNORM),
    _block("ETC2_SRGB8", E.ETC2, "RGB1"),
    _plain("R16G16B16_UINT", "R16 G16 B16", T.UINT),
    _plain("R16G16B16_SINT", "R16 G16 B16", T.SINT),
    _plain("R32_SFIXED", "R32", T.SFIXED),
    _plain("R10G10B10A2_SNORM", "R10 G10 B10 A2", T.SNORM),
    _plain("R10G10B10A2_USCALED", "R10 G10 B10 A2", T.USCALED),
    _plain("R10G10B10A2_SSCALED", "R10 G10 B10 A2", T.SSCALED),
    _plain("R10G10B10A2_SINT", "R10 G10 B10 A2", T.SINT),
    _plain("B10G10R10A2_SNORM", "B10 G10 R10 A2", T.SNORM),
    _plain("B10G10R10A2_USCALED", "B10 G10 R10 A2", T.USCALED),
    _plain("B10G10R10A2_SSCALED", "B10 G10 R10 A2", T.SSCALED),
    _plain("B10G10R10A2_UINT", "B10 G10 R10 A2", T.UINT),
    _plain("B10G10R10A2_SINT", "B10 G10 R10 A2", T.SINT),
    _block("ETC2_RGB8_PTA", E.ETC2_PUNCH_THROUGH, "RGBA"),
    _block("ETC2_SRGB8_PTA", E.ETC2_PUNCH_THROUGH, "RGBA"),
    _block("ETC2_EAC_RGBA8", E.ETC2_EAC, "RGBA"),
    _block("ETC2_EAC_SRGB8_A8", E.ETC2_EAC, "RGBA"),
    _plain("R8G8B8_UINT", "R8 G8 B8", T.UINT),
    _plain("R8G8B8_SINT", "R8 G8 B8", T.SINT),
    _plain("RAW", "R32", T.UINT),
    *(block_format(code, E.ASTC, "RGBA", size=size) for code, size in ASTC_LDR_BLOCKS.items()),
)

ALL_FORMATS: tuple[FormatInfo, ...] = tuple(sorted((*FORMATS, *ADDED_FORMATS), key=lambda f: int(f.format)))

_ADDED = {int(f.format): f for f in ADDED_FORMATS}


def format_info_on(code: int, part: Gen) -> FormatInfo | None:
    """The format of a code on a part, or None if the code is reserved there, or its channels are not described."""
    info = format_info(code)
    if info is not None:
        return info
    return _ADDED[code] if code in _ADDED and parts_with(code) & part else None
