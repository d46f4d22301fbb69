"""A model of the VA driver's MPEG-2 kernels, written from their closed form.

Independent of the emulator: payloads and pictures in, pictures out, in plain numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Plane:
    """A part of a buffer that others may lie after: what goes beyond it meets those."""

    memory: NDArray[np.int64]  # bytes
    offset: int
    pitch: int
    rows: int

    @property
    def samples(self) -> NDArray[np.int64]:
        return self.memory[self.offset:self.offset + self.pitch * self.rows].reshape(self.rows, self.pitch)


Planes = tuple[Plane, Plane, Plane]  # Y, U, V

_C = {1: 22725, 2: 21407, 3: 19266, 4: 16383, 5: 12873, 6: 8867, 7: 4520}
_FIRST_ROWS = ((4, 1, 2, 3, 4, 5, 6, 7), (4, 3, 6, -7, -4, -1, -2, -5), (4, 5, -6, -1, -4, 7, 2, 3),
               (4, 7, -2, -5, 4, 3, -6, -1))


def _basis() -> NDArray[np.int64]:
    """Row k is the basis of output sample k."""
    top = [[_C[abs(c)] * (1 if c > 0 else -1) for c in row] for row in _FIRST_ROWS]
    low = [[-v if u % 2 else v for u, v in enumerate(row)] for row in reversed(top)]
    return np.array(top + low, dtype=np.int64)


BASIS = _basis()


def _low16(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return ((values & 0xFFFF) ^ 0x8000) - 0x8000


def quantizer_scale(code: int, nonlinear: bool) -> int:
    """K1."""
    if not nonlinear:
        return 2 * code
    if code < 9:
        return code
    for first, base, step in ((9, 10, 2), (17, 28, 4), (25, 64, 8)):
        if code < first + 8:
            return base + step * (code - first)
    raise ValueError(code)


def dequantize(block: NDArray[np.int64], matrix: NDArray[np.int64], scale: int,
               dc_precision: int | None) -> NDArray[np.int64]:
    """K2; a precision of None: not an intra block."""
    result = _low16(block * matrix * scale >> 4)
    if dc_precision is not None:
        result[0, 0] = block[0, 0] * (8 >> dc_precision)
    return result


def inverse_dct(block: NDArray[np.int64]) -> NDArray[np.int64]:
    """K3."""
    rows = _low16(block @ BASIS.T + 1024 >> 11)
    return _low16(BASIS @ rows + 524288 >> 20)


@dataclass
class Macroblock:
    """The fields of R1, and the coefficients after it."""

    row: tuple[int, ...]
    blocks: list[NDArray[np.int64]] = field(default_factory=list)

    @classmethod
    def of(cls, data: tuple[tuple[int, ...], ...]) -> Macroblock:
        words = np.array(data[1:], dtype=np.uint32).view(np.int16).astype(np.int64)
        return cls(data[0], list(words.reshape(-1, 8, 8)))

    def bit(self, dword: int, bit: int, width: int = 1) -> int:
        return self.row[dword] >> bit & (1 << width) - 1

    @property
    def intra(self) -> bool:
        return bool(self.bit(0, 16))

    @property
    def structure(self) -> int:
        return self.bit(2, 16, 2)

    @property
    def motion_type(self) -> int:
        return self.bit(0, 24, 2)

    def field_select(self, r: int, s: int) -> int:
        return self.bit(0, 28 + 2 * r + s)

    def vector(self, r: int, s: int) -> tuple[int, int]:
        word = self.row[4 + 2 * r + s]
        return tuple((v ^ 0x8000) - 0x8000 for v in (word & 0xFFFF, word >> 16))

    def residual(self, intra_matrix: NDArray[np.int64], matrix: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Six blocks of differences (K1 to K3)."""
        scale = quantizer_scale(self.bit(2, 0, 5), bool(self.bit(2, 5)))
        coded = iter(self.blocks)
        result = []
        for b in range(6):
            if not self.bit(2, 11 - b):
                result.append(np.zeros((8, 8), dtype=np.int64))
                continue
            precision = self.bit(2, 13, 2) if self.intra else None
            result.append(inverse_dct(dequantize(next(coded), intra_matrix if self.intra else matrix, scale,
                                                 precision)))
        return result


def _fetch(plane: Plane, x: int, y: int, step: int, width: int, height: int, halves: tuple[int, int],
           clamp: tuple[int, int]) -> NDArray[np.int64]:
    """K6: a block with half sample steps; `clamp` is the plane's size as media blocks see it."""
    right, bottom = clamp
    memory = plane.memory

    def samples(dx: int, dy: int) -> NDArray[np.int64]:
        columns = np.clip(np.arange(x + dx, x + dx + width), 0, right - 1)
        rows = np.clip(np.arange(y + dy * step, y + (dy + height) * step, step), 0, bottom - 1)
        places = plane.offset + rows[:, None] * plane.pitch + columns[None, :]
        return np.where(places < memory.size, memory[np.minimum(places, memory.size - 1)], 0)

    h, v = halves
    if h and v:
        return samples(0, 0) + samples(1, 0) + samples(0, 1) + samples(1, 1) >> 2
    if h or v:
        return samples(0, 0) + samples(h, v) + 1 >> 1
    return samples(0, 0)


class Decoder:
    """Macroblocks of one picture into the target's planes."""

    def __init__(self, target: Planes, forward: Planes, backward: Planes, intra_matrix: NDArray[np.int64],
                 matrix: NDArray[np.int64], sizes: tuple[tuple[int, int], ...]) -> None:
        self.target, self.forward, self.backward = target, forward, backward
        self.intra_matrix, self.matrix = intra_matrix, matrix
        self.sizes = sizes  # of each plane: bytes across as a media block sees it, rows

    def macroblock(self, mb: Macroblock) -> None:
        x, y = mb.row[3] & 0xFFFF, mb.row[3] >> 16
        residual = mb.residual(self.intra_matrix, self.matrix)
        field_picture = mb.structure != 3
        if field_picture and not mb.intra and mb.motion_type == 2:  # K11
            for plane, value, scale in ((0, 0xFF, 1), (1, 0x7F, 2), (2, 0x7F, 2)):
                size = 16 // scale
                self._store(plane, x // scale, y // scale, np.full((size, size), value), mb)
            return
        luma = np.block([[residual[0], residual[1]], [residual[2], residual[3]]])
        if mb.bit(0, 21):  # K4: field DCT
            interleaved = np.empty_like(luma)
            interleaved[0::2], interleaved[1::2] = luma[:8], luma[8:]
            luma = interleaved
        for plane, difference in enumerate((luma, residual[4], residual[5])):
            scale = 1 if plane == 0 else 2
            size = 16 // scale
            base: NDArray[np.int64] | int = 128
            if not mb.intra:
                base = self._predict(mb, plane, x // scale, y // scale, size)
            self._store(plane, x // scale, y // scale, np.clip(difference + base, 0, 255), mb)

    def _store(self, plane: int, x: int, y: int, samples: NDArray[np.int64], mb: Macroblock) -> None:
        target = self.target[plane]
        step = 1 if mb.structure == 3 else 2
        first = 1 if mb.structure == 2 else 0
        rows = self.sizes[plane][1]
        for i, line in enumerate(samples):
            at = (y + i) * step + first
            if y + i < rows:
                start = target.offset + at * target.pitch + x
                target.memory[start:start + len(line)] = line[:max(0, target.memory.size - start)]

    def _predict(self, mb: Macroblock, plane: int, x: int, y: int, size: int) -> NDArray[np.int64]:
        forward, backward = bool(mb.bit(0, 17)), bool(mb.bit(0, 18))
        dual = mb.motion_type == 3
        if mb.structure != 3:
            return self._predict_field_picture(mb, plane, x, y, size, forward, backward or dual)
        if mb.motion_type == 2:
            return self._predict_frame(mb, plane, x, y, size, forward, backward)
        parts = []
        for r in (0, 1):  # K9
            sides = []
            for s, wanted in ((0, forward), (1, backward or dual)):
                if wanted:
                    reference = (self.forward, self.backward)[s]  # of P pictures they are the same
                    sides.append(self._fetch_field(mb, reference, plane, x, y, r, s, size))
            parts.append(_mean(sides))
        result = np.empty((size, size), dtype=np.int64)
        result[0::2], result[1::2] = parts
        return result

    def _fetch_field(self, mb: Macroblock, reference: Planes, plane: int, x: int, y: int, r: int, s: int,
                     size: int) -> NDArray[np.int64]:
        mx, my = mb.vector(r, s)
        if plane:
            mx, my = mx >> 1, my >> 1
        return _fetch(reference[plane], x + (mx >> 1), y + 2 * (my >> 1) + mb.field_select(r, s), 2, size, size // 2,
                      (mx & 1, my & 1), self.sizes[plane])

    def _predict_frame(self, mb: Macroblock, plane: int, x: int, y: int, size: int, forward: bool,
                       backward: bool) -> NDArray[np.int64]:
        sides = []
        for s, wanted in ((0, forward), (1, backward)):
            if not wanted:
                continue
            mx, my = mb.vector(0, s)
            if plane:  # K5
                mx, my = mx >> 1, my >> 1
            halves = (mx & 1, my & 1)
            if plane and s == 0 and forward and backward:  # K8
                bx, by = (v >> 1 for v in mb.vector(0, 1))
                halves = (bx & 1, by & 1)
            reference = (self.forward, self.backward)[s]
            sides.append(_fetch(reference[plane], x + (mx >> 1), y + (my >> 1), 1, size, size, halves,
                                self.sizes[plane]))
        return _mean(sides)

    def _predict_field_picture(self, mb: Macroblock, plane: int, x: int, y: int, size: int, forward: bool,
                               backward: bool) -> NDArray[np.int64]:
        """K10."""
        sides = []
        for s, wanted in ((0, forward), (1, backward)):
            if not wanted:
                continue
            mx, my = mb.vector(0, s)
            if plane:
                mx, my = mx >> 1, my >> 1
            select = mb.field_select(0, s)
            reference = (self.forward, self.backward)[s]
            if s == 0 and not backward and not mb.bit(0, 27) and mb.structure == 2 and select == 0:
                reference = self.target
            sides.append(_fetch(reference[plane], x + (mx >> 1), 2 * (y + (my >> 1)) + select, 2, size, size,
                                (mx & 1, my & 1), self.sizes[plane]))
        return _mean(sides)


def _mean(sides: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """K7."""
    return sides[0] if len(sides) == 1 else sides[0] + sides[1] + 1 >> 1
