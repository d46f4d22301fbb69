"""Texels of any uncompressed surface format as numpy arrays, by the format table.

Channels have the values that the hardware gives a kernel, except that sRGB stays encoded, as in picture files.
Compressed and palette formats are decoded by the sampler, not here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gen4emu.errors import DecodeError
from gen4emu.hw.formats import Channel, ChannelType, Encoding, FormatInfo

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float32]


def decode(data: bytes | bytearray, info: FormatInfo, width: int, height: int) -> dict[str, Array]:
    """The R, G, B and A channels (those that exist in memory) of rows of texels without gaps."""
    if info.encoding is Encoding.YUV_422:
        return _decode_yuv(data, width, height, info)
    if info.encoding is not Encoding.PLAIN or info.block_bits % 8 or info.palette is not None:
        raise DecodeError(f"{info.name} cannot be shown as a picture")
    texels = np.frombuffer(data, np.uint8).reshape(height, width, info.block_bits // 8)
    return {name: _channel(texels, c) for name, c in zip("RGBA", info.outputs, strict=True)
            if c.type not in (ChannelType.ZERO, ChannelType.ONE)}


def decode_channel(c: Channel) -> Array:
    """The values of all codes of a channel of at most 16 bits, as one row: entry n is what the bits n mean."""
    codes = np.arange(1 << c.bits, dtype="<u2").view(np.uint8).reshape(1, 1 << c.bits, 2)
    values = _channel(codes, Channel(c.name, c.type, c.bits, 0))
    return values.reshape(-1)


def _raw(texels: npt.NDArray[np.uint8], c: Channel) -> npt.NDArray[np.uint64]:
    """The bits of a channel, as unsigned numbers."""
    whole = _WHOLE.get(c.bits)
    if whole is not None and c.at % c.bits == 0 and texels.shape[2] % (c.bits // 8) == 0:
        return texels.view(whole)[:, :, c.at // c.bits].astype(np.uint64)
    first, last = c.at // 8, (c.at + c.bits - 1) // 8
    value = np.zeros(texels.shape[:2], np.uint64)
    for i in range(first, last + 1):
        value |= texels[:, :, i].astype(np.uint64) << np.uint64(8 * (i - first))
    value >>= np.uint64(c.at % 8)
    return value if c.bits == 64 else value & np.uint64((1 << c.bits) - 1)


_WHOLE = {8: "<u1", 16: "<u2", 32: "<u4", 64: "<u8"}


def _signed(raw: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.int64]:
    shift = np.int64(64 - bits)
    return (raw.astype(np.int64) << shift) >> shift


def _channel(texels: npt.NDArray[np.uint8], c: Channel) -> Array:
    raw = _raw(texels, c)
    match c.type:
        case ChannelType.UNORM:
            return (raw.astype(np.float64) / ((1 << c.bits) - 1)).astype(np.float32)
        case ChannelType.SNORM:
            scale = (1 << (c.bits - 1)) - 1
            return np.maximum(_signed(raw, c.bits).astype(np.float64) / scale, -1.0).astype(np.float32)
        case ChannelType.UINT:
            return raw.astype(np.uint32)
        case ChannelType.SINT:
            return _signed(raw, c.bits).astype(np.int32)
        case ChannelType.USCALED:
            return raw.astype(np.float32)
        case ChannelType.SSCALED:
            return _signed(raw, c.bits).astype(np.float32)
        case ChannelType.FLOAT:
            return _float(raw, c.bits)
        case ChannelType.UFLOAT:
            return _float(raw << np.uint64(15 - c.bits), 16)  # no sign, mantissa cut: a half float's upper bits
        case _:
            raise DecodeError(f"a {c.type.name} channel cannot be shown as a picture")


def _float(raw: npt.NDArray[np.uint64], bits: int) -> Floats:
    if bits == 16:
        return raw.astype(np.uint16).view(np.float16).astype(np.float32)
    if bits == 32:
        return raw.astype(np.uint32).view(np.float32)
    return raw.view(np.float64).astype(np.float32)


def _decode_yuv(data: bytes | bytearray, width: int, height: int, info: FormatInfo) -> dict[str, Array]:
    """Packed 4:2:2 to RGB by BT.601, studio range; two texels share their chroma."""
    pairs = np.frombuffer(data, np.uint8).reshape(height, (width + 1) // 2, 4)
    cr, y0, cb = (_raw(pairs, c).astype(np.float64) for c in info.outputs[:3])
    y1 = _raw(pairs, Channel("G", ChannelType.UNORM, 8, info.outputs[1].at + 16)).astype(np.float64)
    luma = np.stack([y0, y1], axis=2).reshape(height, -1)[:, :width]
    u = np.repeat(cb, 2, axis=1)[:, :width] - 128.0
    v = np.repeat(cr, 2, axis=1)[:, :width] - 128.0
    y = (luma - 16.0) * (255.0 / 219.0)
    rgb = {"R": y + 1.596 * v, "G": y - 0.391 * u - 0.813 * v, "B": y + 2.018 * u}
    return {name: (np.clip(value, 0, 255) / 255.0).astype(np.float32) for name, value in rgb.items()}
