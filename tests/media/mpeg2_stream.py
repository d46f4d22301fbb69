"""Writes MPEG-2 video: syntax elements in, bits out (ISO/IEC 13818-2 6.2).

Headers, and the codes of macroblocks.  The caller chooses the contents; `mpeg2_random.py` chooses them at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gen4emu.hw.gen4.media_inline import MotionType, PictureCodingType, PictureStructure
from gen4emu.hw.mpeg2 import ALTERNATE, END_OF_BLOCK, ESCAPE, TABLES, ZIGZAG, MacroblockFlag

INTRA, PATTERN, BACKWARD, FORWARD, QUANT = (MacroblockFlag[n] for n in ("INTRA", "PATTERN", "BACKWARD", "FORWARD",
                                                                        "QUANT"))
I_PICTURE, P_PICTURE, B_PICTURE = PictureCodingType
TOP, BOTTOM, FRAME = PictureStructure
_, FIELD_MOTION, FRAME_MOTION, DUAL_PRIME = MotionType
SIXTEEN_BY_EIGHT = FRAME_MOTION  # in field pictures
DEFAULT_INTRA = np.array([
    8, 16, 19, 22, 26, 27, 29, 34, 16, 16, 22, 24, 27, 29, 34, 37, 19, 22, 26, 27, 29, 34, 34, 38,
    22, 22, 26, 27, 29, 34, 37, 40, 22, 26, 27, 29, 32, 35, 40, 48, 26, 27, 29, 32, 35, 40, 48, 58,
    26, 27, 29, 34, 38, 46, 56, 69, 27, 29, 35, 38, 46, 56, 69, 83], dtype=np.int64).reshape(8, 8)
FLAT = np.full((8, 8), 16, dtype=np.int64)

WORDS = {name: {code.value: code.bits for code in codes} for name, codes in TABLES.items()}
TYPES = {I_PICTURE: "macroblock_type_i", P_PICTURE: "macroblock_type_p", B_PICTURE: "macroblock_type_b"}


class Bits:
    """A growing string of bits; `used` collects the words of codes that it took."""

    def __init__(self, used: set[tuple[str, int]] | None = None) -> None:
        self._parts: list[str] = []
        self.length = 0
        self.used = set() if used is None else used

    def word(self, table: str, value: int) -> None:
        self.used.add((table, value))
        self.code(WORDS[table][value])

    def code(self, bits: str) -> None:
        self._parts.append(bits)
        self.length += len(bits)

    def put(self, *fields: tuple[int, int]) -> None:
        """Values and their widths."""
        for value, width in fields:
            assert 0 <= value < 1 << width
            self.code(f"{value:0{width}b}" if width else "")

    def start_code(self, value: int) -> None:
        self.code("0" * (-self.length % 8))
        self.put((1, 24), (value, 8))

    def text(self) -> str:
        return "".join(self._parts)

    def data(self) -> bytes:
        text = self.text()
        text += "0" * (-len(text) % 8)
        return int(text, 2).to_bytes(len(text) // 8, "big")


@dataclass(frozen=True)
class Picture:
    """The contents of the headers of a picture."""

    coding_type: int
    structure: int = FRAME
    temporal_reference: int = 0
    f_code: tuple[tuple[int, int], tuple[int, int]] = ((15, 15), (15, 15))  # [s][t]
    intra_dc_precision: int = 0
    top_field_first: bool = False
    frame_pred_frame_dct: bool = False
    concealment: bool = False
    nonlinear: bool = False
    intra_vlc: bool = False
    alternate: bool = False
    dual_prime: bool = False  # no header says so: whether macroblocks may use it
    matrices: tuple[NDArray[np.int64], NDArray[np.int64]] = field(default=(DEFAULT_INTRA, FLAT))  # intra, others

    @property
    def frame(self) -> bool:
        return self.structure == FRAME

    @property
    def scan(self) -> tuple[int, ...]:
        return ALTERNATE if self.alternate else ZIGZAG


def put_sequence(bits: Bits, width: int, height: int, *, progressive: bool = False) -> None:
    """Sequence header and extension, main profile at main level, 25 pictures a second."""
    bits.start_code(0xB3)
    bits.put((width & 0xFFF, 12), (height & 0xFFF, 12), (2, 4), (3, 4), (0x3FFF, 18), (1, 1), (112, 10), (0, 3))
    bits.start_code(0xB5)
    bits.put((1, 4), (0x48, 8), (progressive, 1), (1, 2), (width >> 12, 2), (height >> 12, 2), (0, 12), (1, 1), (0, 8),
             (0, 1), (0, 2), (0, 5))


def put_group(bits: Bits, first: int) -> None:
    """A closed group of pictures whose time code is that of picture `first`."""
    seconds, pictures = divmod(first, 25)
    bits.start_code(0xB8)
    bits.put((0, 1), (0, 5), (seconds // 60, 6), (1, 1), (seconds % 60, 6), (pictures, 6), (1, 1), (0, 1))


def put_sequence_end(bits: Bits) -> None:
    bits.start_code(0xB7)


def put_picture(bits: Bits, picture: Picture) -> None:
    """Picture header, coding extension and matrices."""
    bits.start_code(0)
    bits.put((picture.temporal_reference, 10), (picture.coding_type, 3), (0xFFFF, 16))
    for _ in range(picture.coding_type - 1):  # what MPEG-1 had for vectors
        bits.put((0, 1), (7, 3))
    bits.put((0, 1))
    bits.start_code(0xB5)
    bits.put((8, 4), *((code, 4) for codes in picture.f_code for code in codes), (picture.intra_dc_precision, 2),
             (picture.structure, 2), (picture.top_field_first, 1), (picture.frame_pred_frame_dct, 1),
             (picture.concealment, 1), (picture.nonlinear, 1), (picture.intra_vlc, 1), (picture.alternate, 1), (0, 1),
             (0, 1), (0, 1), (0, 1))
    bits.start_code(0xB5)
    bits.put((3, 4))
    for matrix in picture.matrices:
        bits.put((1, 1), *((int(matrix.reshape(-1)[at]), 8) for at in ZIGZAG))
    bits.put((0, 2))


def put_slice(bits: Bits, row: int, quantizer: int) -> None:
    bits.start_code(row + 1)
    bits.put((quantizer, 5), (0, 1))


def put_increment(bits: Bits, increment: int) -> None:
    while increment > 33:
        bits.word("address_increment", ESCAPE)
        increment -= 33
    bits.word("address_increment", increment)


def put_motion(bits: Bits, delta: int, f_code: int) -> None:
    """One component's difference, already wrapped."""
    if delta == 0:
        bits.word("motion_code", 0)
        return
    magnitude, residual = divmod(abs(delta) - 1, 1 << f_code - 1)
    bits.word("motion_code", magnitude + 1)
    bits.put((delta < 0, 1), (residual, f_code - 1))


def put_dual_prime(bits: Bits, differential: int) -> None:
    bits.code({0: "0", 1: "10", -1: "11"}[differential])


def put_dc(bits: Bits, difference: int, chroma: bool) -> None:
    size = abs(difference).bit_length()
    bits.word("dc_size_chroma" if chroma else "dc_size_luma", size)
    bits.put((difference if difference >= 0 else difference + (1 << size) - 1, size))


def put_coefficients(bits: Bits, pairs: Sequence[tuple[int, int]], table: str, first_is_short: bool) -> None:
    """Runs and levels, then the end of the block; `first_is_short` where no end of block could be."""
    for i, (run, level) in enumerate(pairs):
        value = run << 8 | abs(level)
        if i == 0 and first_is_short and run == 0 and abs(level) == 1:
            bits.put((1, 1), (level < 0, 1))
        elif abs(level) < 256 and value in WORDS[table]:
            bits.word(table, value)
            bits.put((level < 0, 1))
        else:
            bits.word(table, ESCAPE)
            bits.put((run, 6), (level & 0xFFF, 12))
    bits.word(table, END_OF_BLOCK)
