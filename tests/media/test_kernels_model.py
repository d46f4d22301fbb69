"""The model of the kernels' arithmetic against figures computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from .kernels_model import Decoder, Macroblock, Plane, Planes, dequantize, inverse_dct, quantizer_scale
from .mpeg2_stream import DEFAULT_INTRA


def block(values: dict[int, int]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    result = np.zeros(64, dtype=np.int64)
    for index, value in values.items():
        result[index] = value
    return result.reshape(8, 8)


def test_the_quantizer_scale_of_code_8_is_8() -> None:
    assert [quantizer_scale(c, True) for c in (1, 8, 9, 16, 17, 24, 25, 31)] == [1, 8, 10, 24, 28, 56, 64, 112]
    assert quantizer_scale(31, False) == 62


@pytest.mark.parametrize(("q", "levels", "expected"), [
    (1, (1, 1, -1, 3), (2, 2, -2, 6)), (5, (1, 1, -1, -3), (10, 10, -10, -30))])
def test_inverse_quantization_of_predicted_blocks(q: int, levels: tuple[int, ...], expected: tuple[int, ...]) -> None:
    source = block(dict(zip((0, 1, 2, 9), levels, strict=True)))
    result = dequantize(source, np.full((8, 8), 16), quantizer_scale(q, False), None).reshape(-1)
    assert tuple(result[[0, 1, 2, 9]]) == expected


def test_inverse_quantization_of_intra_blocks() -> None:
    source = block({0: -20, 1: 1, 2: -1, 9: -3})
    result = dequantize(source, DEFAULT_INTRA, quantizer_scale(5, False), 0).reshape(-1)
    assert tuple(result[[0, 1, 2, 9]]) == (-160, 10, -12, -30)
    result = dequantize(source, DEFAULT_INTRA, quantizer_scale(9, True), 2).reshape(-1)
    assert tuple(result[[0, 1, 2, 9]]) == (-40, 10, -12, -30)


@pytest.mark.parametrize(("coefficient", "value"), [(8, 1), (-8, -1), (1024, 128), (-1024, -128), (2040, 255)])
def test_the_transform_of_a_constant(coefficient: int, value: int) -> None:
    assert (inverse_dct(block({0: coefficient})) == value).all()


def test_the_transform_of_waves() -> None:
    assert inverse_dct(block({1: 100}))[5].tolist() == [17, 15, 10, 3, -3, -10, -15, -17]
    assert inverse_dct(block({8: 100}))[:, 2].tolist()[::7] == [17, -17]
    mixed = inverse_dct(block({0: 64, 1: -30, 9: 17}))
    assert mixed[0].tolist() == [7, 7, 7, 8, 8, 9, 9, 9]
    assert mixed[7].tolist() == [-1, 0, 3, 6, 10, 13, 16, 17]


# --- whole macroblocks ---

FORWARD, BACKWARD, INTRA = 1 << 17, 1 << 18, 1 << 16


def frame(luma: NDArray[np.int64], cb: NDArray[np.int64], cr: NDArray[np.int64]) -> Planes:
    memory = np.concatenate([p.reshape(-1) for p in (luma, cb, cr)])
    size = luma.size
    rows, pitch = luma.shape
    return (Plane(memory, 0, pitch, rows), Plane(memory, size, pitch // 2, rows // 2),
            Plane(memory, size * 5 // 4, pitch // 2, rows // 2))


def waves() -> Planes:
    """The reference picture."""
    y, x = np.mgrid[:32, :32]
    v, u = np.mgrid[:16, :16]
    return frame((3 * x + 5 * y) % 256, (7 * u + 11 * v) % 256, (255 - 7 * u + v) % 256)


def plain(value: int) -> Planes:
    return frame(np.full((32, 32), value), np.full((16, 16), value), np.full((16, 16), value))


def vector(x: int, y: int) -> int:
    return (y & 0xFFFF) << 16 | x & 0xFFFF


def decoded(mb: Macroblock, target: Planes, forward: Planes, backward: Planes | None = None) -> Planes:
    sizes = tuple((4 * p.pitch, p.rows) for p in target)
    Decoder(target, forward, backward or forward, DEFAULT_INTRA, np.full((8, 8), 16), sizes).macroblock(mb)
    return target


def moved(flags: int, *vectors: int, structure: int = 3, motion_type: int = 2, place: int = 0x00100010) -> Macroblock:
    """Without residual."""
    return Macroblock((flags | motion_type << 24, 0, 2 << 18 | structure << 16 | 4, place,
                       *vectors, *([0] * (4 - len(vectors)))))


def test_intra_samples() -> None:
    blocks = [block(v).reshape(8, 8) for v in ({}, {0: 10}, {0: -10}, {1: 4}, {0: 100}, {0: -128})]
    luma, cb, cr = decoded(Macroblock((INTRA, 0, 1 << 18 | 3 << 16 | 63 << 6 | 4, 0, 0, 0, 0, 0), blocks), plain(7),
                           plain(9))
    assert (luma.samples[:8, :8] == 128).all()
    assert (luma.samples[:8, 8:16] == 138).all()
    assert (luma.samples[8:16, :8] == 118).all()
    assert (luma.samples[8:16, 8:16] == [134, 133, 131, 129, 127, 125, 123, 122]).all()
    assert (cb.samples[:8, :8] == 228).all()
    assert (cr.samples[:8, :8] == 0).all()
    assert (luma.samples[16:] == 7).all()


@pytest.mark.parametrize(("move", "luma", "cb", "cr"), [
    ((3, 5), (145, 148, 151, 154, 157, 160), (159, 166, 173, 180), (205, 198, 191, 184)),
    ((-1, -3), (119, 122, 125, 128, 131, 134), (130, 137, 144, 151), (210, 203, 196, 189)),
    ((4, 0), (134, 137, 140, 143, 146, 149), (151, 158, 165, 172), (200, 193, 186, 179)),
    ((-3, 2), (129, 132, 135, 138, 141, 144), (143, 150, 157, 164), (215, 208, 201, 194))])
def test_motion(move: tuple[int, int], luma: tuple[int, ...], cb: tuple[int, ...], cr: tuple[int, ...]) -> None:
    planes = decoded(moved(FORWARD, vector(*move)), plain(0), waves())
    assert tuple(planes[0].samples[16, 16:22]) == luma
    assert tuple(planes[1].samples[8, 8:12]) == cb
    assert tuple(planes[2].samples[8, 8:12]) == cr


def test_bidirectional_chroma_takes_its_half_steps_from_behind() -> None:
    """Forward chroma at +1, +1 with the half flags of the backward vector."""
    forward, backward = waves(), plain(40)
    planes = decoded(moved(FORWARD | BACKWARD, vector(4, 4), vector(2, 2)), plain(0), forward, backward)
    u = forward[1].samples
    corner = u[9, 9] + u[9, 10] + u[10, 9] + u[10, 10] >> 2
    assert planes[1].samples[8, 8] == corner + 40 + 1 >> 1


def test_16x8_macroblocks_come_out_white() -> None:
    planes = decoded(moved(FORWARD, structure=1, place=0), plain(3), waves())
    assert (planes[0].samples[::2, :16] == 255).all()
    assert all((p.samples[::2, :8] == 127).all() for p in planes[1:])
    assert all((p.samples[1::2] == 3).all() for p in planes)


@pytest.mark.parametrize(("structure", "second", "select", "source"), [
    (2, 0, 0, "target"), (2, 0, 1, "forward"), (1, 1, 1, "forward"), (1, 1, 0, "forward")])
def test_which_frame_a_predicted_field_is_read_from(structure: int, second: int, select: int, source: str) -> None:
    """Also the bug of streams that start with the bottom field."""
    target = plain(0)
    for plane in target:
        plane.samples[:] = 10 + np.arange(plane.rows)[:, None] % 2
    mb = moved(FORWARD | second << 27 | select << 28, structure=structure, motion_type=1, place=0)
    luma, _, _ = decoded(mb, target, plain(77))
    expected = 77 if source == "forward" else 10
    assert (luma.samples[structure - 1::2, :16] == expected).all()
