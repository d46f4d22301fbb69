"""MPEG-2 pictures of random syntax, within the rules of ISO/IEC 13818-2, and what VFE must make of them.

Vectors stay inside of the picture, coefficients within the range of the inverse quantiser; everything else is chance:
macroblock types, motion types, skipped macroblocks, slices, quantisers, patterns, and every word of every code in turn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from gen4emu.hw.gen4.media_inline import PictureCodingType
from gen4emu.hw.mpeg2 import END_OF_BLOCK, ESCAPE, TABLES

from . import mpeg2_stream as stream
from .kernels_model import Macroblock, quantizer_scale
from .mpeg2_stream import (
    B_PICTURE,
    BACKWARD,
    BOTTOM,
    DUAL_PRIME,
    FIELD_MOTION,
    FORWARD,
    FRAME,
    FRAME_MOTION,
    I_PICTURE,
    INTRA,
    P_PICTURE,
    PATTERN,
    QUANT,
    SIXTEEN_BY_EIGHT,
    TOP,
    Bits,
    Picture,
)

_MOST = 2047  # of what the inverse quantiser may give
_ENERGY = 1500  # sum of a block's magnitudes: most samples shall not saturate

Vector = tuple[int, int]


T = TypeVar("T")


class Turns(Generic[T]):
    """Gives everything once before it gives anything twice."""

    def __init__(self, rng: random.Random, things: list[T]) -> None:
        self._rng, self._all, self._left = rng, things, list[T]()

    def __next__(self) -> T:
        if not self._left:
            self._left = list(self._all)
            self._rng.shuffle(self._left)
        return self._left.pop()


def half(a: int) -> int:
    """Half, away from zero (ISO/IEC 13818-2, 7.6.3)."""
    return (a + (a > 0)) >> 1


@dataclass
class Coded:
    """A picture: its headers, its slices as a VA client hands them over, and the payloads of its threads."""

    picture: Picture
    slices: list[tuple[int, int, int, bytes]] = field(default_factory=list)  # column, row, quantizer, data
    macroblocks: list[Macroblock] = field(default_factory=list)


class Writer:
    """Random pictures of one size."""

    def __init__(self, seed: int | str, width: int, height: int) -> None:
        self.rng = random.Random(seed)
        self.width, self.height = width, height
        self.bits = Bits()
        self.patterns = Turns(self.rng, list(range(1, 64)))
        self.codes = {name: Turns(self.rng, [divmod(c.value, 256) for c in TABLES[name]
                                             if c.value not in (ESCAPE, END_OF_BLOCK)])
                      for name in ("coefficients_b14", "coefficients_b15")}
        self.dc_sizes = Turns(self.rng, list(range(12)))
        self.skips = Turns(self.rng, list(range(1, 45)))

    def picture(self, picture: Picture) -> Coded:
        coded = Coded(picture)
        stream.put_picture(self.bits, picture)
        rows = self.height // 16 if picture.frame else self.height // 32
        for row in range(rows):
            for first, last in self._cut(self.width // 16):
                quantizer = self.rng.randint(1, 31)
                stream.put_slice(self.bits, row, quantizer)
                body = _Slice(self, coded, row, quantizer).run(first, last)
                self.bits.code(body.text())
                # From the end of the start code on: six bits of header, then macroblocks.
                whole = Bits()
                whole.put((quantizer, 5), (0, 1))
                whole.code(body.text())
                coded.slices.append((first, row, quantizer, whole.data()))
        return coded

    def _cut(self, columns: int) -> list[tuple[int, int]]:
        """A row of macroblocks as one slice, or as several."""
        wanted = min(columns, self.rng.choice((1, 1, 2, 3)))
        starts = sorted({0, *self.rng.sample(range(columns), wanted - 1)})
        return [(a, b - 1) for a, b in zip(starts, [*starts[1:], columns], strict=True)]


class _Slice:
    """The macroblocks of one slice, with the predictions that run through it."""

    def __init__(self, writer: Writer, coded: Coded, row: int, quantizer: int) -> None:
        self.writer, self.coded, self.picture, self.row, self.quantizer = writer, coded, coded.picture, row, quantizer
        self.rng = writer.rng
        self.bits = Bits(writer.bits.used)
        self.pmv = [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]  # [r][s][t]
        self.dc = [0, 0, 0]
        self.previous = 0

    def run(self, first: int, last: int) -> Bits:
        increment = first + 1
        column = first
        while column <= last:
            if first < column < last and self.rng.random() < 0.25 + 0.25 * (last - first > 40):
                wanted = self.rng.randint(1, 3)
                if last - first > 20:
                    wanted = next(self.writer.skips)
                skipped = 0
                while skipped < wanted and column + skipped < last and self._skip(column + skipped):
                    skipped += 1
                increment += skipped
                column += skipped
            stream.put_increment(self.bits, increment)
            self._macroblock(column)
            increment = 1
            column += 1
        return self.bits

    # --- what threads are told ---
    def _emit(self, column: int, flags: int, motion_type: int = 0, dct: bool = False, pattern: int = 0,
              vectors: dict[tuple[int, int], Vector] | None = None, selects: dict[tuple[int, int], int] | None = None,
              blocks: list[NDArray[np.int64]] | None = None) -> None:
        picture = self.picture
        second = picture.coding_type == P_PICTURE and picture.structure == (
            BOTTOM if picture.top_field_first else TOP)
        moves = ((vectors or {}).get((r, s), (0, 0)) for r in (0, 1) for s in (0, 1))
        header = (sum(select << 28 + 2 * r + s for (r, s), select in (selects or {}).items())
                  | second << 27 | motion_type << 24 | dct << 21
                  | bool(flags & BACKWARD) << 18 | bool(flags & FORWARD) << 17 | bool(flags & INTRA) << 16)
        self.coded.macroblocks.append(Macroblock(
            (header, 0,
             picture.coding_type << 18 | picture.structure << 16 | picture.intra_dc_precision << 13 | pattern << 6
             | picture.nonlinear << 5 | self.quantizer,
             self.row << 20 | column << 4, *((y & 0xFFFF) << 16 | x & 0xFFFF for x, y in moves)), blocks or []))

    # --- skipped ---
    def _skip(self, column: int) -> bool:
        """Whether this one could be left out (ISO 7.6.6)."""
        picture = self.picture
        own = int(picture.structure == BOTTOM)
        motion_type = FRAME_MOTION if picture.frame else FIELD_MOTION
        if picture.coding_type == P_PICTURE:
            self._reset_vectors()
            self._emit(column, FORWARD, motion_type, selects={(0, 0): own})
        elif picture.coding_type == B_PICTURE and not self.previous & INTRA:
            sides = [s for s, flag in enumerate((FORWARD, BACKWARD)) if self.previous & flag]
            vectors = {(0, s): (self.pmv[0][s][0], self.pmv[0][s][1]) for s in sides}
            if not all(self._inside(v, column, 0, 16, fields=not picture.frame) for v in vectors.values()):
                return False
            selects = {(0, s): own for s in sides}
            self._emit(column, self.previous & (FORWARD | BACKWARD), motion_type, vectors=vectors, selects=selects)
        else:
            return False
        self.dc = [0, 0, 0]
        return True

    def _reset_vectors(self) -> None:
        self.pmv = [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]

    # --- coded ---
    def _macroblock(self, column: int) -> None:
        picture, bits, rng = self.picture, self.bits, self.rng
        types = TABLES[stream.TYPES[picture.coding_type]]
        flags = rng.choice(types).value
        if picture.coding_type != I_PICTURE and flags & INTRA and rng.random() < 0.5:  # a few are enough
            flags = rng.choice(types).value
        moves = flags & (FORWARD | BACKWARD)
        motion_type = self._motion_type(flags) if moves else 0
        chosen = self._choose(column, motion_type, flags) if moves else {}
        bits.word(stream.TYPES[picture.coding_type], flags)
        if moves and not (picture.frame and picture.frame_pred_frame_dct):
            bits.put((motion_type, 2))
        dct = False
        if picture.frame and not picture.frame_pred_frame_dct and flags & (INTRA | PATTERN):
            dct = rng.random() < 0.5
            bits.put((dct, 1))
        if flags & QUANT:
            self.quantizer = rng.randint(1, 31)
            bits.put((self.quantizer, 5))
        vectors: dict[tuple[int, int], Vector] = {}
        selects: dict[tuple[int, int], int] = {}
        if flags & INTRA:
            self._concealment(column)
        elif moves:
            for s, flag in enumerate((FORWARD, BACKWARD)):
                if flags & flag:
                    self._put_vectors(s, motion_type, chosen, vectors, selects)
        else:  # of a P picture, pattern alone
            self._reset_vectors()
            flags |= FORWARD
            motion_type = FRAME_MOTION if picture.frame else FIELD_MOTION
            selects[0, 0] = int(picture.structure == BOTTOM)
        pattern = 63 if flags & INTRA else 0
        if flags & PATTERN:
            pattern = next(self.writer.patterns)
            bits.word("coded_block_pattern", pattern)
        if not flags & INTRA:
            self.dc = [0, 0, 0]
        blocks = [self._block(b, bool(flags & INTRA)) for b in range(6) if pattern >> 5 - b & 1]
        self.previous = flags
        self._emit(column, flags, motion_type, dct, pattern, vectors, selects, blocks)

    # --- motion ---
    def _motion_type(self, flags: int) -> int:
        picture = self.picture
        if picture.frame and picture.frame_pred_frame_dct:
            return FRAME_MOTION
        kinds = [FIELD_MOTION, FRAME_MOTION]  # or 16x8
        if self.picture.dual_prime and flags & FORWARD and not flags & BACKWARD:
            kinds.append(DUAL_PRIME)
        return self.rng.choice(kinds)

    def _inside(self, vector: Vector, column: int, r: int, rows: int, *, fields: bool) -> bool:
        """Whether a vector points to samples that exist; rows: of the block it moves."""
        height = self.writer.height // 2 if fields else self.writer.height
        top = self.row * 16 + 8 * r
        if fields and self.picture.frame:
            top = self.row * 8
        x, y = 32 * column + vector[0], 2 * top + vector[1]
        return 0 <= x <= 2 * (self.writer.width - 16) and 0 <= y <= 2 * (height - rows)

    def _limits(self, s: int, t: int, halved: bool) -> tuple[int, int]:
        f = 1 << self.picture.f_code[s][t] - 1
        return (-8 * f, 8 * f - 1) if halved else (-16 * f, 16 * f - 1)

    def _vector(self, column: int, s: int, r: int, rows: int, fields: bool) -> Vector:
        """A random one inside of the picture."""
        height = self.writer.height // 2 if fields else self.writer.height
        top = self.row * 16 + 8 * r
        if fields and self.picture.frame:
            top = self.row * 8
        found = []
        for t, (low, high) in enumerate(((-32 * column, 2 * (self.writer.width - 16) - 32 * column),
                                         (-2 * top, 2 * (height - rows) - 2 * top))):
            least, most = self._limits(s, t, fields and self.picture.frame and t == 1)
            low, high = max(low, least), min(high, most)
            near = self.rng.random() < 0.4  # small ones, too
            found.append(self.rng.randint(max(low, -3), min(high, 3)) if near else self.rng.randint(low, high))
        return found[0], found[1]

    def _choose(self, column: int, motion_type: int, flags: int) -> dict[tuple[int, int], Vector]:
        """Vectors for all that a macroblock moves."""
        picture = self.picture
        fields = not picture.frame or motion_type != FRAME_MOTION
        if motion_type == DUAL_PRIME:
            return self._choose_dual_prime(column)
        two = motion_type == (FIELD_MOTION if picture.frame else SIXTEEN_BY_EIGHT)
        rows = 8 if two else 16
        return {(r, s): self._vector(column, s, 0 if picture.frame else r, rows, fields)
                for s, flag in enumerate((FORWARD, BACKWARD)) if flags & flag for r in range(1 + two)}

    def _choose_dual_prime(self, column: int) -> dict[tuple[int, int], Vector]:
        """(0, 0): the vector; (2, 0): the differentials."""
        rows = 8 if self.picture.frame else 16
        for _ in range(100):
            vector = self._vector(column, 0, 0, rows, True)
            dm = (self.rng.randint(-1, 1), self.rng.randint(-1, 1))
            derived = self._derive(vector, dm).values()
            if all(self._inside(v, column, 0, rows, fields=True) for v in derived):
                return {(0, 0): vector, (2, 0): dm}
        return {(0, 0): self._still(column), (2, 0): (0, 0)}

    def _still(self, column: int) -> Vector:
        """A vector that dual prime can always use: a little off the edges."""
        bottom = self.row * 16 + 16 >= (self.writer.height if self.picture.frame else self.writer.height // 2)
        return 0, -4 if bottom else 4 if self.row == 0 else 0

    def _derive(self, vector: Vector, dm: Vector) -> dict[tuple[int, int], Vector]:
        """Vectors of dual prime (ISO/IEC 13818-2, 7.6.3)."""
        (x, y), picture = vector, self.picture
        if not picture.frame:
            sign = 1 if picture.structure == BOTTOM else -1
            return {(0, 0): vector, (0, 1): (half(x) + dm[0], half(y) + dm[1] + sign)}
        near, far = (1, 3) if picture.top_field_first else (3, 1)
        return {(0, 0): vector, (1, 0): vector,
                (0, 1): (half(near * x) + dm[0], half(near * y) + dm[1] - 1),
                (1, 1): (half(far * x) + dm[0], half(far * y) + dm[1] + 1)}

    def _put_vectors(self, s: int, motion_type: int, chosen: dict[tuple[int, int], Vector],
                     vectors: dict[tuple[int, int], Vector], selects: dict[tuple[int, int], int]) -> None:
        picture = self.picture
        two = (1, s) in chosen
        for r in range(1 + two):
            if motion_type == DUAL_PRIME:
                self._put_vector(chosen[0, 0], 0, 0, True, chosen[2, 0])
                continue
            fields = not picture.frame or motion_type == FIELD_MOTION
            if fields:
                selects[r, s] = self.rng.randint(0, 1)
                self.bits.put((selects[r, s], 1))
            self._put_vector(chosen[r, s], r, s, fields)
            vectors[r, s] = chosen[r, s]
        if not two:
            self.pmv[1][s] = list(self.pmv[0][s])
        if motion_type == DUAL_PRIME:
            vectors.update(self._derive(chosen[0, 0], chosen[2, 0]))
            own = int(picture.structure == BOTTOM)
            selects.update({(0, 1): 1, (1, 0): 1} if picture.frame else {(0, 0): own, (0, 1): 1 - own})

    def _put_vector(self, vector: Vector, r: int, s: int, fields: bool, dm: Vector | None = None) -> None:
        for t in (0, 1):
            code = self.picture.f_code[s][t]
            halve = fields and t == 1 and self.picture.frame
            predicted = self.pmv[r][s][t] >> 1 if halve else self.pmv[r][s][t]
            limit = 16 << code - 1
            delta = vector[t] - predicted
            if delta < -limit:
                delta += 2 * limit
            elif delta > limit - 1:
                delta -= 2 * limit
            stream.put_motion(self.bits, delta, code)
            if dm is not None:
                stream.put_dual_prime(self.bits, dm[t])
            self.pmv[r][s][t] = 2 * vector[t] if halve else vector[t]

    def _concealment(self, column: int) -> None:
        if not self.picture.concealment:
            self._reset_vectors()
            return
        if not self.picture.frame:
            self.bits.put((self.rng.randint(0, 1), 1))
        vector = self._vector(column, 0, 0, 16, not self.picture.frame)
        self._put_vector(vector, 0, 0, not self.picture.frame)
        self.pmv[1][0] = list(self.pmv[0][0])
        self.bits.put((1, 1))

    # --- blocks ---
    def _block(self, number: int, intra: bool) -> NDArray[np.int64]:
        picture, rng = self.picture, self.rng
        block = np.zeros(64, dtype=np.int64)
        table = "coefficients_b15" if intra and picture.intra_vlc else "coefficients_b14"
        matrix = picture.matrices[0 if intra else 1].reshape(-1)
        scale = quantizer_scale(self.quantizer, picture.nonlinear)
        energy = 0
        at = 0
        if intra:
            at = 1
            block[0] = self._dc(0 if number < 4 else number - 3)
            energy = abs(int(block[0])) * (8 >> picture.intra_dc_precision)
        pairs = []
        for _ in range(rng.choice((0, 1, 2, 3, 6)) if intra else rng.choice((1, 1, 2, 3, 6))):
            pair = self._pair(table)
            for run, level in (pair, (0, 1), (1, 1), (3, 1)):  # small ones where the random one does not fit
                if at + run > 63:
                    continue
                place = picture.scan[at + run]
                size = ((2 * level + (not intra)) * int(matrix[place]) * scale) // 32
                if size <= _MOST and energy + size <= _ENERGY + (_MOST - _ENERGY) * (not pairs and not intra):
                    break
            else:
                continue
            level = -level if rng.random() < 0.5 else level
            block[place] = level
            energy += size
            pairs.append((run, level))
            at += run + 1
            if at > 63:
                break
        if not intra and not pairs:  # a coded block has something: take what is quantised least
            run = min(range(64), key=lambda n: int(matrix[picture.scan[n]]))
            block[picture.scan[run]] = 1
            pairs = [(run, 1)]
        stream.put_coefficients(self.bits, pairs, table, not intra)
        return block.reshape(8, 8)

    def _pair(self, table: str) -> tuple[int, int]:
        if self.rng.random() < 0.1:  # an escape
            return self.rng.choice(((self.rng.randint(0, 63), 1), (0, self.rng.randint(1, _MOST)),
                                    (self.rng.randint(0, 31), self.rng.randint(1, 60))))
        return next(self.writer.codes[table])

    def _dc(self, component: int) -> int:
        """The first coefficient: a difference of the next size that stays in range, from base 0."""
        limit = 128 << self.picture.intra_dc_precision
        before = self.dc[component]
        size = min(next(self.writer.dc_sizes), 8 + self.picture.intra_dc_precision)
        difference = 0
        if size:
            difference = self.rng.randint(1 << size - 1, (1 << size) - 1) * self.rng.choice((-1, 1))
        if not -limit <= before + difference < limit:
            difference = -difference
        if not -limit <= before + difference < limit:
            difference = self.rng.randint(-limit, limit - 1) - before
        self.dc[component] = before + difference
        stream.put_dc(self.bits, difference, component > 0)
        return self.dc[component]


# --- whole streams ---

@dataclass(frozen=True)
class Step:
    """A frame, in coding order: its type, where it is shown, and whether it is two fields, and which comes first."""

    coding_type: int
    shown: int
    fields: tuple[int, ...] = (FRAME,)
    dual_prime: bool = False


_ORDERS = {"": (FRAME,), "t": (TOP, BOTTOM), "b": (BOTTOM, TOP)}


def steps(text: str, *, dual_prime: bool = False) -> tuple[Step, ...]:
    """Words of a type, a number, and t or b for two fields with the top or the bottom one first."""
    words = (re.fullmatch(r"([IPB])(\d+)([tb]?)", word) for word in text.split())
    return tuple(Step(PictureCodingType[f"{m[1]}_PICTURE"], int(m[2]), _ORDERS[m[3]], dual_prime) for m in words if m)


WITH_B = steps("I0 P2 B1 P4t B3 I6t B5t P8b B7b")
DUAL = steps("I0t P1 P2t P3b P4 I5b I6", dual_prime=True)


@dataclass
class Stream:
    """A file, its pictures in coding order, and where each frame is shown."""

    data: bytes
    pictures: list[Coded]
    shown: list[int]  # for each picture
    used: set[tuple[str, int]]


def random_stream(seed: int | str, width: int, height: int, steps: tuple[Step, ...]) -> Stream:
    writer = Writer(seed, width, height)
    stream.put_sequence(writer.bits, width, height)
    stream.put_group(writer.bits, 0)
    pictures, shown = [], []
    for step in steps:
        for picture in _headers(writer, step):
            pictures.append(writer.picture(picture))
            shown.append(step.shown)
    stream.put_sequence_end(writer.bits)
    return Stream(writer.bits.data(), pictures, shown, writer.bits.used)


def _headers(writer: Writer, step: Step) -> Iterator[Picture]:
    rng = writer.rng
    frame = step.fields == (FRAME,)
    for number, structure in enumerate(step.fields):
        # the second field of an I frame may be predicted, from the first one and from the frame before
        later = step.coding_type == I_PICTURE and number and step.shown
        coding_type = P_PICTURE if later and rng.random() < 0.5 else step.coding_type
        concealment = rng.random() < 0.4
        forward = coding_type != I_PICTURE or concealment
        yield Picture(
            coding_type, structure, step.shown,
            tuple((rng.randint(1, 7), rng.randint(1, 5)) if moves else (15, 15)
                  for moves in (forward, coding_type == B_PICTURE)),
            intra_dc_precision=rng.randint(0, 3), top_field_first=frame and rng.random() < 0.5,
            frame_pred_frame_dct=frame and not step.dual_prime and rng.random() < 0.2, concealment=concealment,
            nonlinear=rng.random() < 0.5, intra_vlc=rng.random() < 0.5, alternate=rng.random() < 0.5,
            matrices=_matrices(rng), dual_prime=step.dual_prime)


def _matrices(rng: random.Random) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The standard's, or others; the first intra value is always 8 (ISO 6.3.11)."""
    if rng.random() < 0.4:
        return stream.DEFAULT_INTRA, stream.FLAT
    intra, others = (np.array([rng.randint(4, rng.choice((20, 60, 255))) for _ in range(64)],
                              dtype=np.int64).reshape(8, 8) for _ in range(2))
    intra[0, 0] = 8
    return intra, others
