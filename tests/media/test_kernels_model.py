"""The model of the kernels' arithmetic against the figures of spec/70 7, T8 and T9."""

from __future__ import annotations

import numpy as np
import pytest

from .kernels_model import dequantize, inverse_dct, quantizer_scale

DEFAULT_INTRA = np.array([
    8, 16, 19, 22, 26, 27, 29, 34, 16, 16, 22, 24, 27, 29, 34, 37, 19, 22, 26, 27, 29, 34, 34, 38,
    22, 22, 26, 27, 29, 34, 37, 40, 22, 26, 27, 29, 32, 35, 40, 48, 26, 27, 29, 32, 35, 40, 48, 58,
    26, 27, 29, 34, 38, 46, 56, 69, 27, 29, 35, 38, 46, 56, 69, 83], dtype=np.int64).reshape(8, 8)


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
