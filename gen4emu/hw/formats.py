"""The surface formats: their codes, the bits of each channel, and the units that accept them on each part.

One table for the sampler, vertex fetch, the render target write and the decoder (965 PRM vol. 4, 4.7.2.1; Mesa's
isl_format.c).  The conversion of a channel to a number belongs to the unit that reads it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from gen4emu.hw.gen import Gen


class SurfaceFormat(IntEnum):
    """The 9-bit code of SURFACE_STATE and VERTEX_ELEMENT_STATE.  Channels are named from bit 0 upwards."""

    R32G32B32A32_FLOAT = 0x000
    R32G32B32A32_SINT = 0x001
    R32G32B32A32_UINT = 0x002
    R32G32B32A32_UNORM = 0x003
    R32G32B32A32_SNORM = 0x004
    R64G64_FLOAT = 0x005
    R32G32B32X32_FLOAT = 0x006
    R32G32B32A32_SSCALED = 0x007
    R32G32B32A32_USCALED = 0x008
    R32G32B32_FLOAT = 0x040
    R32G32B32_SINT = 0x041
    R32G32B32_UINT = 0x042
    R32G32B32_UNORM = 0x043
    R32G32B32_SNORM = 0x044
    R32G32B32_SSCALED = 0x045
    R32G32B32_USCALED = 0x046
    R16G16B16A16_UNORM = 0x080
    R16G16B16A16_SNORM = 0x081
    R16G16B16A16_SINT = 0x082
    R16G16B16A16_UINT = 0x083
    R16G16B16A16_FLOAT = 0x084
    R32G32_FLOAT = 0x085
    R32G32_SINT = 0x086
    R32G32_UINT = 0x087
    R32_FLOAT_X8X24_TYPELESS = 0x088
    X32_TYPELESS_G8X24_UINT = 0x089
    L32A32_FLOAT = 0x08A
    R32G32_UNORM = 0x08B
    R32G32_SNORM = 0x08C
    R64_FLOAT = 0x08D
    R16G16B16X16_UNORM = 0x08E
    R16G16B16X16_FLOAT = 0x08F
    A32X32_FLOAT = 0x090
    L32X32_FLOAT = 0x091
    I32X32_FLOAT = 0x092
    R16G16B16A16_SSCALED = 0x093
    R16G16B16A16_USCALED = 0x094
    R32G32_SSCALED = 0x095
    R32G32_USCALED = 0x096
    B8G8R8A8_UNORM = 0x0C0
    B8G8R8A8_UNORM_SRGB = 0x0C1
    R10G10B10A2_UNORM = 0x0C2
    R10G10B10A2_UNORM_SRGB = 0x0C3
    R10G10B10A2_UINT = 0x0C4
    R10G10B10_SNORM_A2_UNORM = 0x0C5
    R8G8B8A8_UNORM = 0x0C7
    R8G8B8A8_UNORM_SRGB = 0x0C8
    R8G8B8A8_SNORM = 0x0C9
    R8G8B8A8_SINT = 0x0CA
    R8G8B8A8_UINT = 0x0CB
    R16G16_UNORM = 0x0CC
    R16G16_SNORM = 0x0CD
    R16G16_SINT = 0x0CE
    R16G16_UINT = 0x0CF
    R16G16_FLOAT = 0x0D0
    B10G10R10A2_UNORM = 0x0D1
    B10G10R10A2_UNORM_SRGB = 0x0D2
    R11G11B10_FLOAT = 0x0D3
    R32_SINT = 0x0D6
    R32_UINT = 0x0D7
    R32_FLOAT = 0x0D8
    R24_UNORM_X8_TYPELESS = 0x0D9
    X24_TYPELESS_G8_UINT = 0x0DA
    L16A16_UNORM = 0x0DF
    I24X8_UNORM = 0x0E0
    L24X8_UNORM = 0x0E1
    A24X8_UNORM = 0x0E2
    I32_FLOAT = 0x0E3
    L32_FLOAT = 0x0E4
    A32_FLOAT = 0x0E5
    B8G8R8X8_UNORM = 0x0E9
    B8G8R8X8_UNORM_SRGB = 0x0EA
    R8G8B8X8_UNORM = 0x0EB
    R8G8B8X8_UNORM_SRGB = 0x0EC
    R9G9B9E5_SHAREDEXP = 0x0ED
    B10G10R10X2_UNORM = 0x0EE
    L16A16_FLOAT = 0x0F0
    R32_UNORM = 0x0F1
    R32_SNORM = 0x0F2
    R10G10B10X2_USCALED = 0x0F3
    R8G8B8A8_SSCALED = 0x0F4
    R8G8B8A8_USCALED = 0x0F5
    R16G16_SSCALED = 0x0F6
    R16G16_USCALED = 0x0F7
    R32_SSCALED = 0x0F8
    R32_USCALED = 0x0F9
    B5G6R5_UNORM = 0x100
    B5G6R5_UNORM_SRGB = 0x101
    B5G5R5A1_UNORM = 0x102
    B5G5R5A1_UNORM_SRGB = 0x103
    B4G4R4A4_UNORM = 0x104
    B4G4R4A4_UNORM_SRGB = 0x105
    R8G8_UNORM = 0x106
    R8G8_SNORM = 0x107
    R8G8_SINT = 0x108
    R8G8_UINT = 0x109
    R16_UNORM = 0x10A
    R16_SNORM = 0x10B
    R16_SINT = 0x10C
    R16_UINT = 0x10D
    R16_FLOAT = 0x10E
    A8P8_UNORM_PALETTE0 = 0x10F
    A8P8_UNORM_PALETTE1 = 0x110
    I16_UNORM = 0x111
    L16_UNORM = 0x112
    A16_UNORM = 0x113
    L8A8_UNORM = 0x114
    I16_FLOAT = 0x115
    L16_FLOAT = 0x116
    A16_FLOAT = 0x117
    L8A8_UNORM_SRGB = 0x118
    R5G5_SNORM_B6_UNORM = 0x119
    B5G5R5X1_UNORM = 0x11A
    B5G5R5X1_UNORM_SRGB = 0x11B
    R8G8_SSCALED = 0x11C
    R8G8_USCALED = 0x11D
    R16_SSCALED = 0x11E
    R16_USCALED = 0x11F
    P8A8_UNORM_PALETTE0 = 0x122
    P8A8_UNORM_PALETTE1 = 0x123
    R8_UNORM = 0x140
    R8_SNORM = 0x141
    R8_SINT = 0x142
    R8_UINT = 0x143
    A8_UNORM = 0x144
    I8_UNORM = 0x145
    L8_UNORM = 0x146
    P4A4_UNORM_PALETTE0 = 0x147
    A4P4_UNORM_PALETTE0 = 0x148
    R8_SSCALED = 0x149
    R8_USCALED = 0x14A
    P8_UNORM_PALETTE0 = 0x14B
    L8_UNORM_SRGB = 0x14C
    P8_UNORM_PALETTE1 = 0x14D
    P4A4_UNORM_PALETTE1 = 0x14E
    A4P4_UNORM_PALETTE1 = 0x14F
    BC1_RGB_SRGB = 0x180
    R1_UNORM = 0x181
    YCRCB_NORMAL = 0x182
    YCRCB_SWAPUVY = 0x183
    P2_UNORM_PALETTE0 = 0x184
    P2_UNORM_PALETTE1 = 0x185
    BC1_UNORM = 0x186
    BC2_UNORM = 0x187
    BC3_UNORM = 0x188
    BC4_UNORM = 0x189
    BC5_UNORM = 0x18A
    BC1_UNORM_SRGB = 0x18B
    BC2_UNORM_SRGB = 0x18C
    BC3_UNORM_SRGB = 0x18D
    MONO8 = 0x18E
    YCRCB_SWAPUV = 0x18F
    YCRCB_SWAPY = 0x190
    BC1_RGB = 0x191
    FXT1 = 0x192
    R8G8B8_UNORM = 0x193
    R8G8B8_SNORM = 0x194
    R8G8B8_SSCALED = 0x195
    R8G8B8_USCALED = 0x196
    R64G64B64A64_FLOAT = 0x197
    R64G64B64_FLOAT = 0x198
    BC4_SNORM = 0x199
    BC5_SNORM = 0x19A
    R16G16B16_FLOAT = 0x19B
    R16G16B16_UNORM = 0x19C
    R16G16B16_SNORM = 0x19D
    R16G16B16_SSCALED = 0x19E
    R16G16B16_USCALED = 0x19F


class ChannelType(IntEnum):
    """The encoding of a channel."""

    UNUSED = 0
    ZERO = 1  # not stored: reads as 0
    ONE = 2  # not stored: reads as 1, or as integer 1 where the format is one of integers
    UNORM = 3
    SNORM = 4
    UINT = 5
    SINT = 6
    USCALED = 7
    SSCALED = 8
    FLOAT = 9
    UFLOAT = 10  # no sign, five exponent bits
    SHARED_EXPONENT = 11  # a mantissa; the exponent is the channel E
    PALETTE = 12  # an index into a texture palette
    SFIXED = 13  # a signed number with 16 fraction bits


class Encoding(IntEnum):
    """The encoding of a block of texels: packed fields, or one of the compressed encodings."""

    PLAIN = 0
    YUV_422 = 1
    BC1 = 2
    BC2 = 3
    BC3 = 4
    BC4 = 5
    BC5 = 6
    FXT1 = 7
    BC6H = 8
    BC7 = 9
    ETC2 = 10
    ETC2_PUNCH_THROUGH = 11  # alpha is 0 or 1
    ETC2_EAC = 12  # with alpha
    EAC_R = 13
    EAC_RG = 14
    ASTC = 15  # of the LDR profile


class DataClass(IntEnum):
    """The type of sampler results and of render target data in a kernel."""

    FLOAT = 0
    UINT = 1
    SINT = 2


@dataclass(frozen=True, slots=True)
class Channel:
    """`bits` bits from bit `at` of a block."""

    name: str  # R G B A, L luminance, I intensity, P palette index, E exponent, X unused
    type: ChannelType
    bits: int = 0
    at: int = 0


_NONE = Gen(0)


@dataclass(frozen=True, slots=True)
class Support:
    """The parts that support each use of a format."""

    sample: Gen = _NONE
    filter: Gen = _NONE  # as documented
    filter_on_silicon: Gen = _NONE
    shadow: Gen = _NONE  # sample_c
    chroma_key: Gen = _NONE
    render_target: Gen = _NONE
    blend: Gen = _NONE
    vertex_fetch: Gen = _NONE


@dataclass(frozen=True, slots=True)
class FormatInfo:
    """One row of the table."""

    format: IntEnum  # a SurfaceFormat, or a LaterSurfaceFormat
    block_bits: int
    block_width: int
    block_height: int
    channels: tuple[Channel, ...]  # as stored, from bit 0; none if compressed
    outputs: tuple[Channel, Channel, Channel, Channel]  # where R, G, B and A come from
    support: Support
    encoding: Encoding = Encoding.PLAIN
    srgb: bool = False
    palette: int | None = None

    @property
    def name(self) -> str:
        return self.format.name

    @property
    def bits_per_texel(self) -> int:
        return self.block_bits // (self.block_width * self.block_height)

    @property
    def components(self) -> int:
        """The number of channels of R, G, B and A that are stored, and that vertex fetch can store with STORE_SRC."""
        return sum(c.type not in (ChannelType.ZERO, ChannelType.ONE) for c in self.outputs)

    @property
    def data_class(self) -> DataClass:
        types = {c.type for c in self.outputs}
        if ChannelType.UINT in types:
            return DataClass.UINT
        return DataClass.SINT if ChannelType.SINT in types else DataClass.FLOAT

    @property
    def yuv(self) -> bool:
        return self.encoding is Encoding.YUV_422


def format_info(code: int) -> FormatInfo | None:
    """The format of a code, or None if the code is reserved."""
    return _BY_CODE.get(code)


# --- from a row of the table to a FormatInfo --------------------------------------------------------------------------
F, T, E = SurfaceFormat, ChannelType, Encoding

_ZERO, _ONE = Channel("0", T.ZERO), Channel("1", T.ONE)
_CAPABILITIES = {"S": "sample", "F": "filter", "L": "filter_on_silicon", "H": "shadow", "K": "chroma_key",
                 "R": "render_target", "B": "blend", "V": "vertex_fetch"}
_SUFFIX = {"u": T.UNORM, "s": T.SNORM}


def _support(letters: str) -> Support:
    """A capital letter: all parts; a small one: Gen4.5 only.  What filters by the manual filters on silicon, too."""
    found = {_CAPABILITIES[c.upper()]: Gen.ALL4 if c.isupper() else Gen.GEN45 for c in letters}
    if "filter" in found:
        found["filter_on_silicon"] = found["filter"]
    return Support(**found)


def _stored(layout: str, kind: ChannelType) -> tuple[Channel, ...]:
    """`R10 G10 B10 A2u`: names and widths from bit 0 upwards, with a suffix where a channel is not of the kind."""
    channels, at = [], 0
    for name, width, suffix in re.findall(r"([A-Z])(\d+)([us]?)", layout):
        type_ = {"X": T.UNUSED, "P": T.PALETTE, "E": T.UINT}.get(name, _SUFFIX.get(suffix, kind))
        channels.append(Channel(name, type_, int(width), at))
        at += int(width)
    return tuple(channels)


def _outputs(stored: tuple[Channel, ...]) -> tuple[Channel, Channel, Channel, Channel]:
    """965v4 4.7.2.1.2, with A from A8_UNORM and 0 for missing colors."""
    by_name = {c.name: c for c in reversed(stored)}
    grey = by_name.get("L") or by_name.get("I") or by_name.get("P")
    if grey is not None:
        alpha = grey if grey.name == "I" else by_name.get("A", _ONE)
        return grey, grey, grey, alpha
    return by_name.get("R", _ZERO), by_name.get("G", _ZERO), by_name.get("B", _ZERO), by_name.get("A", _ONE)


def plain_format(code: IntEnum, layout: str, kind: ChannelType, letters: str = "") -> FormatInfo:
    """A format of packed fields, from `R10 G10 B10 A2u`."""
    stored = _stored(layout, kind)
    palette = re.search(r"PALETTE(\d)", code.name)
    return FormatInfo(code, sum(c.bits for c in stored), 1, 1, stored, _outputs(stored), _support(letters),
                      srgb="SRGB" in code.name, palette=int(palette[1]) if palette else None)


_plain = plain_format


def _yuv(code: SurfaceFormat, layout: str, letters: str) -> FormatInfo:
    """Two texels in four bytes: R is Cr, G is Y (of the first texel, then of the second), B is Cb."""
    stored = _stored(layout, T.UNORM)
    return FormatInfo(code, 32, 2, 1, stored, _outputs(stored), _support(letters), E.YUV_422)


def block_format(code: IntEnum, encoding: Encoding, outputs: str, kind: ChannelType = T.UNORM,
                 letters: str = "", size: tuple[int, int] | None = None) -> FormatInfo:
    """A compressed format, from the source of each output channel: a name, 0 or 1."""
    bits = 64 if encoding in (E.BC1, E.BC4, E.ETC2, E.ETC2_PUNCH_THROUGH, E.EAC_R) else 128
    red, green, blue, alpha = ({"0": _ZERO, "1": _ONE}.get(c) or Channel(c, kind) for c in outputs)
    width, height = size or (8 if encoding is E.FXT1 else 4, 4)
    return FormatInfo(code, bits, width, height, (), (red, green, blue, alpha), _support(letters), encoding,
                      srgb="SRGB" in code.name)


def _block(code: SurfaceFormat, encoding: Encoding, outputs: str, letters: str,
           kind: ChannelType = T.UNORM) -> FormatInfo:
    return block_format(code, encoding, outputs, kind, letters)


# --- the table --------------------------------------------------------------------------------------------------------
# Capabilities: Sampling, linear Filter (L: on silicon only), sHadow compare, chroma Key, Render target, Blending,
# Vertex fetch.  A row without any is a code that the manual lists and no part supports.
FORMATS: tuple[FormatInfo, ...] = (
    _plain(F.R32G32B32A32_FLOAT, "R32 G32 B32 A32", T.FLOAT, "SRBV"),
    _plain(F.R32G32B32A32_SINT, "R32 G32 B32 A32", T.SINT, "SRV"),
    _plain(F.R32G32B32A32_UINT, "R32 G32 B32 A32", T.UINT, "SRV"),
    _plain(F.R32G32B32A32_UNORM, "R32 G32 B32 A32", T.UNORM, "V"),
    _plain(F.R32G32B32A32_SNORM, "R32 G32 B32 A32", T.SNORM, "V"),
    _plain(F.R64G64_FLOAT, "R64 G64", T.FLOAT, "V"),
    _plain(F.R32G32B32X32_FLOAT, "R32 G32 B32 X32", T.FLOAT, "S"),
    _plain(F.R32G32B32A32_SSCALED, "R32 G32 B32 A32", T.SSCALED, "V"),
    _plain(F.R32G32B32A32_USCALED, "R32 G32 B32 A32", T.USCALED, "V"),
    _plain(F.R32G32B32_FLOAT, "R32 G32 B32", T.FLOAT, "SV"),
    _plain(F.R32G32B32_SINT, "R32 G32 B32", T.SINT, "SV"),
    _plain(F.R32G32B32_UINT, "R32 G32 B32", T.UINT, "SV"),
    _plain(F.R32G32B32_UNORM, "R32 G32 B32", T.UNORM, "V"),
    _plain(F.R32G32B32_SNORM, "R32 G32 B32", T.SNORM, "V"),
    _plain(F.R32G32B32_SSCALED, "R32 G32 B32", T.SSCALED, "V"),
    _plain(F.R32G32B32_USCALED, "R32 G32 B32", T.USCALED, "V"),
    _plain(F.R16G16B16A16_UNORM, "R16 G16 B16 A16", T.UNORM, "SFRbV"),
    _plain(F.R16G16B16A16_SNORM, "R16 G16 B16 A16", T.SNORM, "SFRV"),
    _plain(F.R16G16B16A16_SINT, "R16 G16 B16 A16", T.SINT, "SRV"),
    _plain(F.R16G16B16A16_UINT, "R16 G16 B16 A16", T.UINT, "SRV"),
    _plain(F.R16G16B16A16_FLOAT, "R16 G16 B16 A16", T.FLOAT, "SFRBV"),
    _plain(F.R32G32_FLOAT, "R32 G32", T.FLOAT, "SRBV"),
    _plain(F.R32G32_SINT, "R32 G32", T.SINT, "SRV"),
    _plain(F.R32G32_UINT, "R32 G32", T.UINT, "SRV"),
    _plain(F.R32_FLOAT_X8X24_TYPELESS, "R32 X8 X24", T.FLOAT, "SH"),
    _plain(F.X32_TYPELESS_G8X24_UINT, "X32 G8 X24", T.UINT, "S"),
    _plain(F.L32A32_FLOAT, "L32 A32", T.FLOAT, "S"),
    _plain(F.R32G32_UNORM, "R32 G32", T.UNORM, "V"),
    _plain(F.R32G32_SNORM, "R32 G32", T.SNORM, "V"),
    _plain(F.R64_FLOAT, "R64", T.FLOAT, "V"),
    _plain(F.R16G16B16X16_UNORM, "R16 G16 B16 X16", T.UNORM, "SF"),
    _plain(F.R16G16B16X16_FLOAT, "R16 G16 B16 X16", T.FLOAT, "SF"),
    _plain(F.A32X32_FLOAT, "A32 X32", T.FLOAT, "S"),
    _plain(F.L32X32_FLOAT, "L32 X32", T.FLOAT, "S"),
    _plain(F.I32X32_FLOAT, "I32 X32", T.FLOAT, "S"),
    _plain(F.R16G16B16A16_SSCALED, "R16 G16 B16 A16", T.SSCALED, "V"),
    _plain(F.R16G16B16A16_USCALED, "R16 G16 B16 A16", T.USCALED, "V"),
    _plain(F.R32G32_SSCALED, "R32 G32", T.SSCALED, "V"),
    _plain(F.R32G32_USCALED, "R32 G32", T.USCALED, "V"),
    _plain(F.B8G8R8A8_UNORM, "B8 G8 R8 A8", T.UNORM, "SFKRBV"),
    _plain(F.B8G8R8A8_UNORM_SRGB, "B8 G8 R8 A8", T.UNORM, "SFRB"),
    _plain(F.R10G10B10A2_UNORM, "R10 G10 B10 A2", T.UNORM, "SFRBV"),
    _plain(F.R10G10B10A2_UNORM_SRGB, "R10 G10 B10 A2", T.UNORM, "SF"),
    _plain(F.R10G10B10A2_UINT, "R10 G10 B10 A2", T.UINT, "SRV"),
    _plain(F.R10G10B10_SNORM_A2_UNORM, "R10 G10 B10 A2u", T.SNORM, "SFV"),
    _plain(F.R8G8B8A8_UNORM, "R8 G8 B8 A8", T.UNORM, "SFRBV"),
    _plain(F.R8G8B8A8_UNORM_SRGB, "R8 G8 B8 A8", T.UNORM, "SFRB"),
    _plain(F.R8G8B8A8_SNORM, "R8 G8 B8 A8", T.SNORM, "SFRV"),
    _plain(F.R8G8B8A8_SINT, "R8 G8 B8 A8", T.SINT, "SRV"),
    _plain(F.R8G8B8A8_UINT, "R8 G8 B8 A8", T.UINT, "SRV"),
    _plain(F.R16G16_UNORM, "R16 G16", T.UNORM, "SFRbV"),
    _plain(F.R16G16_SNORM, "R16 G16", T.SNORM, "SFRV"),
    _plain(F.R16G16_SINT, "R16 G16", T.SINT, "SRV"),
    _plain(F.R16G16_UINT, "R16 G16", T.UINT, "SRV"),
    _plain(F.R16G16_FLOAT, "R16 G16", T.FLOAT, "SFRBV"),
    _plain(F.B10G10R10A2_UNORM, "B10 G10 R10 A2", T.UNORM, "SFRB"),
    _plain(F.B10G10R10A2_UNORM_SRGB, "B10 G10 R10 A2", T.UNORM, "SFRB"),
    _plain(F.R11G11B10_FLOAT, "R11 G11 B10", T.UFLOAT, "SFRBV"),
    _plain(F.R32_SINT, "R32", T.SINT, "SRV"),
    _plain(F.R32_UINT, "R32", T.UINT, "SRV"),
    _plain(F.R32_FLOAT, "R32", T.FLOAT, "SHRBV"),
    _plain(F.R24_UNORM_X8_TYPELESS, "R24 X8", T.UNORM, "SLH"),
    _plain(F.X24_TYPELESS_G8_UINT, "X24 G8", T.UINT, "S"),
    _plain(F.L16A16_UNORM, "L16 A16", T.UNORM, "SF"),
    _plain(F.I24X8_UNORM, "I24 X8", T.UNORM, "SLH"),
    _plain(F.L24X8_UNORM, "L24 X8", T.UNORM, "SLH"),
    _plain(F.A24X8_UNORM, "A24 X8", T.UNORM, "SLH"),
    _plain(F.I32_FLOAT, "I32", T.FLOAT, "SH"),
    _plain(F.L32_FLOAT, "L32", T.FLOAT, "SH"),
    _plain(F.A32_FLOAT, "A32", T.FLOAT, "SH"),
    _plain(F.B8G8R8X8_UNORM, "B8 G8 R8 X8", T.UNORM, "SFK"),
    _plain(F.B8G8R8X8_UNORM_SRGB, "B8 G8 R8 X8", T.UNORM, "SF"),
    _plain(F.R8G8B8X8_UNORM, "R8 G8 B8 X8", T.UNORM, "SF"),
    _plain(F.R8G8B8X8_UNORM_SRGB, "R8 G8 B8 X8", T.UNORM, "SF"),
    _plain(F.R9G9B9E5_SHAREDEXP, "R9 G9 B9 E5", T.SHARED_EXPONENT, "SF"),
    _plain(F.B10G10R10X2_UNORM, "B10 G10 R10 X2", T.UNORM, "SF"),
    _plain(F.L16A16_FLOAT, "L16 A16", T.FLOAT, "SF"),
    _plain(F.R32_UNORM, "R32", T.UNORM, "V"),
    _plain(F.R32_SNORM, "R32", T.SNORM, "V"),
    _plain(F.R10G10B10X2_USCALED, "R10 G10 B10 X2", T.USCALED, "V"),
    _plain(F.R8G8B8A8_SSCALED, "R8 G8 B8 A8", T.SSCALED, "V"),
    _plain(F.R8G8B8A8_USCALED, "R8 G8 B8 A8", T.USCALED, "V"),
    _plain(F.R16G16_SSCALED, "R16 G16", T.SSCALED, "V"),
    _plain(F.R16G16_USCALED, "R16 G16", T.USCALED, "V"),
    _plain(F.R32_SSCALED, "R32", T.SSCALED, "V"),
    _plain(F.R32_USCALED, "R32", T.USCALED, "V"),
    _plain(F.B5G6R5_UNORM, "B5 G6 R5", T.UNORM, "SFKRB"),
    _plain(F.B5G6R5_UNORM_SRGB, "B5 G6 R5", T.UNORM, "SFRB"),
    _plain(F.B5G5R5A1_UNORM, "B5 G5 R5 A1", T.UNORM, "SFKRB"),
    _plain(F.B5G5R5A1_UNORM_SRGB, "B5 G5 R5 A1", T.UNORM, "SFRB"),
    _plain(F.B4G4R4A4_UNORM, "B4 G4 R4 A4", T.UNORM, "SFKRB"),
    _plain(F.B4G4R4A4_UNORM_SRGB, "B4 G4 R4 A4", T.UNORM, "SFRB"),
    _plain(F.R8G8_UNORM, "R8 G8", T.UNORM, "SFRBV"),
    _plain(F.R8G8_SNORM, "R8 G8", T.SNORM, "SFKRV"),
    _plain(F.R8G8_SINT, "R8 G8", T.SINT, "SRV"),
    _plain(F.R8G8_UINT, "R8 G8", T.UINT, "SRV"),
    _plain(F.R16_UNORM, "R16", T.UNORM, "SFHRbV"),
    _plain(F.R16_SNORM, "R16", T.SNORM, "SFRV"),
    _plain(F.R16_SINT, "R16", T.SINT, "SRV"),
    _plain(F.R16_UINT, "R16", T.UINT, "SRV"),
    _plain(F.R16_FLOAT, "R16", T.FLOAT, "SFRBV"),
    _plain(F.A8P8_UNORM_PALETTE0, "A8 P8", T.UNORM, ""),
    _plain(F.A8P8_UNORM_PALETTE1, "A8 P8", T.UNORM, ""),
    _plain(F.I16_UNORM, "I16", T.UNORM, "SFH"),
    _plain(F.L16_UNORM, "L16", T.UNORM, "SFH"),
    _plain(F.A16_UNORM, "A16", T.UNORM, "SFH"),
    _plain(F.L8A8_UNORM, "L8 A8", T.UNORM, "SFK"),
    _plain(F.I16_FLOAT, "I16", T.FLOAT, "SFH"),
    _plain(F.L16_FLOAT, "L16", T.FLOAT, "SFH"),
    _plain(F.A16_FLOAT, "A16", T.FLOAT, "SFH"),
    _plain(F.L8A8_UNORM_SRGB, "L8 A8", T.UNORM, "sf"),
    _plain(F.R5G5_SNORM_B6_UNORM, "R5 G5 B6u", T.SNORM, "SFK"),
    _plain(F.B5G5R5X1_UNORM, "B5 G5 R5 X1", T.UNORM, "RB"),
    _plain(F.B5G5R5X1_UNORM_SRGB, "B5 G5 R5 X1", T.UNORM, "RB"),
    _plain(F.R8G8_SSCALED, "R8 G8", T.SSCALED, "V"),
    _plain(F.R8G8_USCALED, "R8 G8", T.USCALED, "V"),
    _plain(F.R16_SSCALED, "R16", T.SSCALED, "V"),
    _plain(F.R16_USCALED, "R16", T.USCALED, "V"),
    _plain(F.P8A8_UNORM_PALETTE0, "P8 A8", T.UNORM, ""),
    _plain(F.P8A8_UNORM_PALETTE1, "P8 A8", T.UNORM, ""),
    _plain(F.R8_UNORM, "R8", T.UNORM, "SFkRBV"),
    _plain(F.R8_SNORM, "R8", T.SNORM, "SFRV"),
    _plain(F.R8_SINT, "R8", T.SINT, "SRV"),
    _plain(F.R8_UINT, "R8", T.UINT, "SRV"),
    _plain(F.A8_UNORM, "A8", T.UNORM, "SFKRB"),
    _plain(F.I8_UNORM, "I8", T.UNORM, "SF"),
    _plain(F.L8_UNORM, "L8", T.UNORM, "SFK"),
    _plain(F.P4A4_UNORM_PALETTE0, "P4 A4", T.UNORM, "SF"),
    _plain(F.A4P4_UNORM_PALETTE0, "A4 P4", T.UNORM, "SF"),
    _plain(F.R8_SSCALED, "R8", T.SSCALED, "V"),
    _plain(F.R8_USCALED, "R8", T.USCALED, "V"),
    _plain(F.P8_UNORM_PALETTE0, "P8", T.UNORM, "sf"),
    _plain(F.L8_UNORM_SRGB, "L8", T.UNORM, "sf"),
    _plain(F.P8_UNORM_PALETTE1, "P8", T.UNORM, "sf"),
    _plain(F.P4A4_UNORM_PALETTE1, "P4 A4", T.UNORM, "sf"),
    _plain(F.A4P4_UNORM_PALETTE1, "A4 P4", T.UNORM, "sf"),
    _block(F.BC1_RGB_SRGB, E.BC1, "RGB1", "sf"),
    _plain(F.R1_UNORM, "R1", T.UNORM, "SF"),
    _yuv(F.YCRCB_NORMAL, "G8 B8 G8 R8", "SFKR"),
    _yuv(F.YCRCB_SWAPUVY, "R8 G8 B8 G8", "SFKR"),
    _plain(F.P2_UNORM_PALETTE0, "P2", T.UNORM, "sf"),
    _plain(F.P2_UNORM_PALETTE1, "P2", T.UNORM, "sf"),
    _block(F.BC1_UNORM, E.BC1, "RGBA", "SFK"),
    _block(F.BC2_UNORM, E.BC2, "RGBA", "SFK"),
    _block(F.BC3_UNORM, E.BC3, "RGBA", "SFK"),
    _block(F.BC4_UNORM, E.BC4, "R001", "SF"),
    _block(F.BC5_UNORM, E.BC5, "RG01", "SF"),
    _block(F.BC1_UNORM_SRGB, E.BC1, "RGBA", "SF"),
    _block(F.BC2_UNORM_SRGB, E.BC2, "RGBA", "SF"),
    _block(F.BC3_UNORM_SRGB, E.BC3, "RGBA", "SF"),
    _plain(F.MONO8, "I1", T.UNORM, "S"),
    _yuv(F.YCRCB_SWAPUV, "G8 R8 G8 B8", "SFR"),
    _yuv(F.YCRCB_SWAPY, "B8 G8 R8 G8", "SFR"),
    _block(F.BC1_RGB, E.BC1, "RGB1", "SF"),
    _block(F.FXT1, E.FXT1, "RGBA", "SF"),
    _plain(F.R8G8B8_UNORM, "R8 G8 B8", T.UNORM, "V"),
    _plain(F.R8G8B8_SNORM, "R8 G8 B8", T.SNORM, "V"),
    _plain(F.R8G8B8_SSCALED, "R8 G8 B8", T.SSCALED, "V"),
    _plain(F.R8G8B8_USCALED, "R8 G8 B8", T.USCALED, "V"),
    _plain(F.R64G64B64A64_FLOAT, "R64 G64 B64 A64", T.FLOAT, "V"),
    _plain(F.R64G64B64_FLOAT, "R64 G64 B64", T.FLOAT, "V"),
    _block(F.BC4_SNORM, E.BC4, "R001", "SF", T.SNORM),
    _block(F.BC5_SNORM, E.BC5, "RG01", "SF", T.SNORM),
    _plain(F.R16G16B16_FLOAT, "R16 G16 B16", T.FLOAT, ""),
    _plain(F.R16G16B16_UNORM, "R16 G16 B16", T.UNORM, "V"),
    _plain(F.R16G16B16_SNORM, "R16 G16 B16", T.SNORM, "V"),
    _plain(F.R16G16B16_SSCALED, "R16 G16 B16", T.SSCALED, "V"),
    _plain(F.R16G16B16_USCALED, "R16 G16 B16", T.USCALED, "V"),
)

_BY_CODE = {int(f.format): f for f in FORMATS}
