"""A model of ISO/IEC 13818-2 for macroblocks, with ffmpeg's `simple` inverse transform: to check the writer of streams.

Takes the payloads that VFE would make and frames as three arrays.  Vectors stay inside of the picture.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .kernels_model import BASIS, Macroblock, quantizer_scale
from .mpeg2_random import Stream
from .mpeg2_stream import B_PICTURE, BOTTOM, DUAL_PRIME, FIELD_MOTION, SIXTEEN_BY_EIGHT, Picture

Samples = NDArray[np.int64]
Frame = tuple[Samples, Samples, Samples]
_COLUMN_ROUNDING = 16383 * 32  # where the kernels have 2**19


def dequantize(block: Samples, matrix: Samples, scale: int, precision: int | None) -> Samples:
    """ISO 7.4, for coefficients that need no saturation; a precision of None: not an intra block."""
    size = abs(block)
    if precision is None:
        result = np.sign(block) * ((2 * size + (size > 0)) * matrix * scale >> 5)
    else:
        result = np.sign(block) * (size * matrix * scale >> 4)
        result[0, 0] = (block[0, 0] + (128 << precision)) * (8 >> precision)
    if result.sum() % 2 == 0:  # mismatch control
        result[7, 7] ^= 1
    return result


def inverse_dct(block: Samples) -> Samples:
    rows = block @ BASIS.T + 1024 >> 11
    rows = np.where(block[:, 1:].any(axis=1)[:, None], rows, block[:, :1] * 8)
    return BASIS @ rows + _COLUMN_ROUNDING >> 20


def residual(mb: Macroblock, matrices: tuple[Samples, Samples]) -> list[Samples]:
    scale = quantizer_scale(mb.bit(2, 0, 5), bool(mb.bit(2, 5)))
    coded = iter(mb.blocks)
    return [inverse_dct(dequantize(next(coded), matrices[not mb.intra], scale,
                                   mb.bit(2, 13, 2) if mb.intra else None))
            if mb.bit(2, 11 - b) else np.zeros((8, 8), np.int64) for b in range(6)]


def fetch(plane: Samples, x: int, y: int, width: int, height: int, vector: tuple[int, int]) -> Samples:
    """A block moved by half samples (ISO 7.6.4)."""
    mx, my = vector
    x, y, h, v = x + (mx >> 1), y + (my >> 1), mx & 1, my & 1
    assert x >= 0 and y >= 0 and x + width + h <= plane.shape[1] and y + height + v <= plane.shape[0]
    a, b, c, d = (plane[y + j:y + j + height, x + i:x + i + width] for j in (0, v) for i in (0, h))
    return a + b + c + d + 2 >> 2  # rounds halves of two the same way


def chroma(vector: tuple[int, int]) -> tuple[int, int]:
    """Half of it, toward zero."""
    x, y = (abs(v) // 2 * (1 if v > 0 else -1) for v in vector)
    return x, y


class Decoder:
    """One picture; `references` are frames, of the second field of a P frame with the first one in place."""

    def __init__(self, picture: Picture, target: Frame, forward: Frame, backward: Frame) -> None:
        self.picture, self.target, self.forward, self.backward = picture, target, forward, backward
        self.first_field: int | None = None  # of this frame: parity, if it may be referred to

    def macroblock(self, mb: Macroblock) -> None:
        column, row = mb.row[3] >> 4 & 0x7F, mb.row[3] >> 20
        blocks = residual(mb, self.picture.matrices)
        luma = np.block([blocks[:2], blocks[2:4]])
        if mb.bit(0, 21):
            luma = luma.reshape(2, 8, 16).swapaxes(0, 1).reshape(16, 16)
        for p, difference in enumerate((luma, *blocks[4:])):
            size = len(difference)
            plane = self.target[p] if self.picture.frame else self.target[p][self.picture.structure - 1::2]
            here = plane[row * size:(row + 1) * size, column * size:(column + 1) * size]
            base = 0 if mb.intra else self._predict(mb, p, column * size, row * size, size)
            here[:] = np.clip(difference + base, 0, 255)

    def _predict(self, mb: Macroblock, p: int, x: int, y: int, size: int) -> Samples:
        sides = [s for s in (0, 1) if mb.bit(0, 17 + s) or (s and mb.motion_type == DUAL_PRIME)]
        if self.picture.frame:
            if mb.motion_type in (FIELD_MOTION, DUAL_PRIME):
                result = np.empty((size, size), np.int64)
                for r in (0, 1):
                    result[r::2] = _mean(self._field(mb, p, r, s, x, y // 2, size, size // 2) for s in sides)
                return result
            return _mean(fetch((self.forward, self.backward)[s][p], x, y, size, size, _vector(mb, 0, s, p))
                         for s in sides)
        if mb.motion_type == SIXTEEN_BY_EIGHT:
            return np.vstack([_mean(self._field(mb, p, r, s, x, y + r * size // 2, size, size // 2) for s in sides)
                              for r in (0, 1)])
        return _mean(self._field(mb, p, 0, s, x, y, size, size) for s in sides)

    def _field(self, mb: Macroblock, p: int, r: int, s: int, x: int, y: int, width: int, height: int) -> Samples:
        parity = mb.field_select(r, s)
        frame = self.backward if s and mb.motion_type != DUAL_PRIME else self.forward
        if parity == self.first_field:
            frame = self.target
        return fetch(frame[p][parity::2], x, y, width, height, _vector(mb, r, s, p))


def _vector(mb: Macroblock, r: int, s: int, p: int) -> tuple[int, int]:
    return chroma(mb.vector(r, s)) if p else mb.vector(r, s)


def _mean(sides: Iterable[Samples]) -> Samples:
    first, *others = sides
    return first + others[0] + 1 >> 1 if others else first


def decode(stream: Stream, width: int, height: int) -> list[Frame]:
    """All frames, in the order in which they are shown."""
    frames: dict[int, Frame] = {}
    anchors: list[int] = []  # numbers of frames that others refer to
    for coded, shown in zip(stream.pictures, stream.shown, strict=True):
        picture = coded.picture
        second = shown in frames
        if not second:
            frames[shown] = tuple(np.zeros((height // d, width // d), np.int64) for d in (1, 2, 2))
        target = frames[shown]
        past = [n for n in anchors if n != shown][-2:]
        if picture.coding_type == B_PICTURE:
            forward, backward = (frames[n] for n in past)
        else:
            forward = backward = frames[past[-1]] if past else target
        decoder = Decoder(picture, target, forward, backward)
        if second and picture.coding_type != B_PICTURE:
            decoder.first_field = int(picture.structure != BOTTOM)  # parity of the other one
        for mb in coded.macroblocks:
            decoder.macroblock(mb)
        if picture.coding_type != B_PICTURE and not second:
            anchors.append(shown)
    return [frames[n] for n in sorted(frames)]


