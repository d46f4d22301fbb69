"""The units of Gen6 to Gen9 that accept each surface format, by the generation that began to.

The facts are those of Mesa's isl_format.c, which has them from the tables of the manuals (SNB PRM vol. 4 part 1,
2.12.2.1.2; IVB PRM vol. 2 part 1, 2.5.11).  For Gen4, `gen4emu.hw.formats` has them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from gen4emu.hw.formats import format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.later_formats import AstcSurfaceFormat

_NONE = Gen(0)


@dataclass(frozen=True, slots=True)
class LaterSupport:
    """The parts from Gen6 on that support each use of a format."""

    sample: Gen = _NONE
    filter: Gen = _NONE
    shadow: Gen = _NONE  # sample_c
    chroma_key: Gen = _NONE
    render_target: Gen = _NONE
    blend: Gen = _NONE
    vertex_fetch: Gen = _NONE
    streamed_output: Gen = _NONE
    color_processing: Gen = _NONE
    typed_write: Gen = _NONE
    typed_read: Gen = _NONE
    lossless_compression: Gen = _NONE
    typed_atomics: Gen = _NONE


_USES = dict(zip("SFHKRBVOPWTCA", LaterSupport.__dataclass_fields__, strict=True))
_FROM_GEN9 = Gen.GEN9
_FROM_GEN8 = _FROM_GEN9 | Gen.GEN8
_FROM_GEN75 = _FROM_GEN8 | Gen.GEN75
_FROM_GEN7 = _FROM_GEN75 | Gen.GEN7
_SINCE = {"": _FROM_GEN7 | Gen.GEN6, "7": _FROM_GEN7, "7.5": _FROM_GEN75, "8": _FROM_GEN8, "9": _FROM_GEN9}

# Uses: Sampling, linear Filter, sHadow compare, chroma Key, Render target, Blending, Vertex fetch, streamed Output,
# color Processing, typed Write, Typed read, lossless Compression, typed Atomics; with the first generation if it is
# later than Gen6.
_ROWS: tuple[tuple[str, str], ...] = (
    ("S F R B V O W7 T9 C9", "R32G32B32A32_FLOAT R32G32_FLOAT"),
    ("S R V O W7 T9 C9", "R32G32B32A32_SINT R32G32B32A32_UINT R32G32_SINT R32G32_UINT"),
    ("V",
     "R32G32B32A32_UNORM R32G32B32A32_SNORM R64G64_FLOAT R32G32B32A32_SSCALED R32G32B32A32_USCALED R32G32B32_UNORM "
     "R32G32B32_SNORM R32G32B32_SSCALED R32G32B32_USCALED R32G32_UNORM R32G32_SNORM R16G16B16A16_SSCALED "
     "R16G16B16A16_USCALED R32G32_SSCALED R32G32_USCALED R32_UNORM R32_SNORM R10G10B10X2_USCALED R8G8B8A8_SSCALED "
     "R8G8B8A8_USCALED R16G16_SSCALED R16G16_USCALED R32_SSCALED R32_USCALED R8G8_SSCALED R8G8_USCALED R16_SSCALED "
     "R16_USCALED R8_SSCALED R8_USCALED R8G8B8_SSCALED R8G8B8_USCALED R64G64B64A64_FLOAT R64G64B64_FLOAT "
     "R16G16B16_SSCALED R16G16B16_USCALED"),
    ("S F",
     "R32G32B32X32_FLOAT L32A32_FLOAT R16G16B16X16_UNORM A32X32_FLOAT L32X32_FLOAT I32X32_FLOAT L16A16_UNORM "
     "R8G8B8X8_UNORM R8G8B8X8_UNORM_SRGB R9G9B9E5_SHAREDEXP B10G10R10X2_UNORM L16A16_FLOAT A8P8_UNORM_PALETTE0 "
     "A8P8_UNORM_PALETTE1 L8A8_UNORM_SRGB P8A8_UNORM_PALETTE0 P8A8_UNORM_PALETTE1 I8_UNORM P4A4_UNORM_PALETTE0 "
     "A4P4_UNORM_PALETTE0 P8_UNORM_PALETTE0 L8_UNORM_SRGB P8_UNORM_PALETTE1 P4A4_UNORM_PALETTE1 "
     "A4P4_UNORM_PALETTE1 BC1_RGB_SRGB R1_UNORM P2_UNORM_PALETTE0 P2_UNORM_PALETTE1 BC4_UNORM BC5_UNORM "
     "BC1_UNORM_SRGB BC2_UNORM_SRGB BC3_UNORM_SRGB BC1_RGB FXT1 BC4_SNORM BC5_SNORM"),
    ("V7.5",
     "R32G32B32A32_SFIXED R32G32B32_SFIXED R32G32_SFIXED R32_SFIXED R10G10B10A2_SNORM R10G10B10A2_USCALED "
     "R10G10B10A2_SSCALED R10G10B10A2_SINT B10G10R10A2_SNORM B10G10R10A2_USCALED B10G10R10A2_SSCALED "
     "B10G10R10A2_UINT B10G10R10A2_SINT"),
    ("V8", "R64G64_PASSTHRU R64G64B64A64_PASSTHRU R64G64B64_PASSTHRU"),
    ("S F V O", "R32G32B32_FLOAT"),
    ("S V O", "R32G32B32_SINT R32G32B32_UINT"),
    ("S F R B V P W7 C9", "R16G16B16A16_UNORM R8G8B8A8_UNORM"),
    ("S F R B V W7 C9", "R16G16B16A16_SNORM R8G8B8A8_SNORM R16G16_UNORM R16G16_SNORM"),
    ("S R V W7 T9 C9", "R16G16B16A16_SINT R8G8B8A8_SINT R16G16_SINT"),
    ("S R V W7 T7.5 C9", "R16G16B16A16_UINT R8G8B8A8_UINT R16G16_UINT"),
    ("S F R B V W7 T9 C9", "R16G16B16A16_FLOAT R16G16_FLOAT"),
    ("S7 F7 R7 B7 V7 O7", "R32G32_FLOAT_LD"),
    ("S F H",
     "R32_FLOAT_X8X24_TYPELESS R24_UNORM_X8_TYPELESS I24X8_UNORM L24X8_UNORM A24X8_UNORM I32_FLOAT L32_FLOAT "
     "A32_FLOAT I16_UNORM L16_UNORM A16_UNORM I16_FLOAT L16_FLOAT A16_FLOAT"),
    ("S", "X32_TYPELESS_G8X24_UINT X24_TYPELESS_G8_UINT MONO8"),
    ("V A9", "R64_FLOAT"),
    ("S F R9 B9 C9", "R16G16B16X16_FLOAT"),
    ("V8 A9", "R64_PASSTHRU"),
    ("S F K R B V P W7 C9", "B8G8R8A8_UNORM"),
    ("S F R B", "B8G8R8A8_UNORM_SRGB B5G6R5_UNORM_SRGB B5G5R5A1_UNORM_SRGB B4G4R4A4_UNORM_SRGB"),
    ("S F R B V P W7", "R10G10B10A2_UNORM"),
    ("S F P", "R10G10B10A2_UNORM_SRGB"),
    ("S R V W7", "R10G10B10A2_UINT"),
    ("S F V", "R10G10B10_SNORM_A2_UNORM R16G16B16_FLOAT"),
    ("S F R B P", "R8G8B8A8_UNORM_SRGB B10G10R10A2_UNORM_SRGB"),
    ("S F R B V7.5 P W7", "B10G10R10A2_UNORM"),
    ("S F R B V W7", "R11G11B10_FLOAT R8G8_UNORM R16_SNORM R8_SNORM"),
    ("S R V O W7 T7 C9 A7", "R32_SINT R32_UINT"),
    ("S F H R B V O W7 T7 C9", "R32_FLOAT"),
    ("S F K R8 B8 P C9", "B8G8R8X8_UNORM"),
    ("S F R8 B8", "B8G8R8X8_UNORM_SRGB"),
    ("S F K R B W7", "B5G6R5_UNORM B5G5R5A1_UNORM B4G4R4A4_UNORM A8_UNORM"),
    ("S F K R B V W7", "R8G8_SNORM R8_UNORM"),
    ("S R V W7 T9", "R8G8_SINT R16_SINT R8_SINT"),
    ("S R V W7 T7.5", "R8G8_UINT R16_UINT R8_UINT"),
    ("S F H R B V P7 W7", "R16_UNORM"),
    ("S F R B V W7 T9", "R16_FLOAT"),
    ("S F K", "L8A8_UNORM R5G5_SNORM_B6_UNORM L8_UNORM BC1_UNORM BC2_UNORM BC3_UNORM"),
    ("R B W7", "B5G5R5X1_UNORM"),
    ("R B", "B5G5R5X1_UNORM_SRGB"),
    ("S8 F8 R9", "A4B4G4R4_UNORM"),
    ("S9", "L8A8_UINT L8A8_SINT L8_UINT L8_SINT I8_UINT I8_SINT"),
    ("S F K R P", "YCRCB_NORMAL YCRCB_SWAPUVY"),
    ("S F R P", "YCRCB_SWAPUV YCRCB_SWAPY"),
    ("S7.5 F7.5 V", "R8G8B8_UNORM R8G8B8_SNORM R16G16B16_UNORM R16G16B16_SNORM"),
    ("S7 F7", "BC6H_SF16 BC7_UNORM BC7_UNORM_SRGB BC6H_UF16"),
    ("S8 F8",
     "R8G8B8_UNORM_SRGB ETC1_RGB8 ETC2_RGB8 EAC_R11 EAC_RG11 EAC_SIGNED_R11 EAC_SIGNED_RG11 ETC2_SRGB8 "
     "ETC2_RGB8_PTA ETC2_SRGB8_PTA ETC2_EAC_RGBA8 ETC2_EAC_SRGB8_A8"),
    ("S9 V7.5", "R16G16B16_UINT R16G16B16_SINT R8G8B8_UINT R8G8B8_SINT"),
)
_ASTC_LDR = "S9 F9"  # no part here samples the HDR profile

# Bay Trail samples ETC, which other parts do from Gen8 on, and fetches the vertices of Haswell.
_ETC = re.compile(r"ETC|EAC")


def _on_bay_trail(name: str, use: str, parts: Gen) -> Gen:
    early = Gen.GEN8 if use in "SF" and _ETC.match(name) else Gen.GEN75 if use == "V" else _NONE
    return parts | Gen.BYT if parts & early else parts


def _support(name: str, uses: str) -> LaterSupport:
    return LaterSupport(**{_USES[use[0]]: _on_bay_trail(name, use[0], _SINCE[use[1:]]) for use in uses.split()})


LATER_SUPPORT: dict[IntEnum, LaterSupport] = {
    **{code: LaterSupport() for code in AstcSurfaceFormat},
    **{AstcSurfaceFormat[name]: _support(name, uses) for uses, names in _ROWS for name in names.split()},
    **{code: _support(code.name, _ASTC_LDR) for code in AstcSurfaceFormat if code.name.startswith("ASTC_LDR")},
}


def supports(code: int, use: str, part: Gen) -> bool:
    """Whether a part supports a use of a format: the name of a field of `LaterSupport`."""
    if part & Gen.ALL4:
        info = format_info(code)
        return info is not None and bool(getattr(info.support, use, _NONE) & part)
    try:
        return bool(getattr(LATER_SUPPORT[AstcSurfaceFormat(code)], use) & part)
    except ValueError:
        return False


_GEN7 = Gen.GEN7 | Gen.GEN75
_DESCRIBED = Gen.ALL4 | _GEN7 | Gen.GEN9


def supporting(code: int, use: str) -> Gen:
    """Of Gen4, Gen7, Gen7.5 and Gen9, the parts that support a use of a format; `filter_on_silicon` included."""
    info = format_info(code)
    found = getattr(info.support, use, _NONE) if info is not None else _NONE
    later = LATER_SUPPORT.get(AstcSurfaceFormat(code))
    documented = use.removesuffix("_on_silicon")
    return (found | getattr(later, documented, _NONE)) & _DESCRIBED


def parts_with(code: int) -> Gen:
    """Of Gen4, Gen7, Gen7.5 and Gen9, the parts that have a code."""
    if format_info(code) is not None:
        return _DESCRIBED
    users = _NONE
    for use in LaterSupport.__dataclass_fields__:
        users |= supporting(code, use)
    return Gen.GEN9 if users and not users & _GEN7 else _GEN7 | Gen.GEN9
