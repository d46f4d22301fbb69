"""Sixteen pixels at once have the bits of eight at a time and of one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.device.tiling import Tiling
from tests.harness.canvas import Canvas

VARIANTS = range(lib.g4_variant_best() + 1)
OVER: dict[str, Any] = {"color_buffer_blend_enable": True, "source_blend_factor": "SRC_ALPHA",
                        "destination_blend_factor": "INV_SRC_ALPHA"}
SOME = np.array([0, -0.0, 1, 1 / 255, 0.5, 254 / 255, 0.99999994, 1.0000001, 1e-30, -1, 2, np.nan, np.inf, -np.inf],
                np.float32)


@pytest.fixture(autouse=True)
def keep_variant() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    lib.g4_set_variant(before)


def expected(color: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Single precision, operation by operation; the sum is saturated, then scaled and cut off."""
    one, zero = np.float32(1), np.float32(0)
    source = np.where(color > 0, np.minimum(color, one), zero).astype(np.float32)
    alpha = source[..., 3:]
    mixed = source * alpha + old.astype(np.float32) / np.float32(255) * (one - alpha)
    return (np.clip(mixed, zero, one) * np.float32(255) + np.float32(0.5)).astype(np.uint8)


def colors(rng: np.random.Generator) -> np.ndarray:
    plain = rng.random((16, 4), np.float32)
    return np.where(rng.random((16, 4)) < 0.3, rng.choice(SOME, (16, 4)), plain).astype(np.float32)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tiling", [Tiling.LINEAR, Tiling.X, Tiling.Y])
@pytest.mark.parametrize("name", ["R8G8B8A8_UNORM", "B8G8R8A8_UNORM"])
def test_over_is_right_wherever_the_pixels_lie(name: str, tiling: Tiling, variant: int) -> None:
    lib.g4_set_variant(variant)
    rng = np.random.default_rng(5)
    board = Canvas(name, tiling=tiling)
    board.target.layout.write(board.memory, rng.bytes(board.target.pitch * board.target.layout.height))
    board.begin(cc=OVER)
    order = [2, 1, 0, 3] if name.startswith("B") else [0, 1, 2, 3]
    lane = np.arange(16)
    dx, dy = lane // 4 * 2 + lane % 2, lane // 2 % 2
    for i in range(60):
        # also where columns of a Y tile are crossed, at the right edge and beyond it, with pixels off
        x, y = int(rng.integers(0, 32)) * 2, int(rng.integers(0, 16)) * 2
        pixels = 0xFFFF if i % 2 else int(rng.integers(0, 1 << 16))
        want = board.target.image().copy()
        color = colors(rng)
        inside = (pixels >> lane & 1).astype(bool) & (x + dx < 64)
        at = y + dy[inside], x + dx[inside]
        old = want[at][:, order]
        board.draw(color, x, y, pixels=pixels)
        want[at] = expected(color[inside], old)[:, order]
        assert np.array_equal(board.target.image()[:32, :64], want[:32, :64])


def test_every_byte_under_every_alpha_of_a_byte() -> None:
    seen = []
    grid = np.arange(256, dtype=np.uint8)
    for variant in VARIANTS:
        lib.g4_set_variant(variant)
        board = Canvas("R8G8B8A8_UNORM", width=256, height=2, tiling=Tiling.LINEAR)
        board.begin(cc=OVER)
        rows = []
        for alpha in range(0, 256, 5):
            board.target.layout.write(board.memory, np.repeat(np.tile(grid, 2), 4).tobytes()
                                      + bytes(board.target.pitch * (board.target.layout.height - 2)))
            for x in range(0, 256, 8):
                board.draw(tuple(np.float32(c) / np.float32(255) for c in (0, alpha, 255, alpha)), x)
            got = board.target.image()[:2]
            color = np.float32([0, alpha, 255, alpha]) / np.float32(255)
            old = np.repeat(grid, 4).reshape(1, 256, 4)
            assert np.array_equal(got, np.repeat(expected(np.broadcast_to(color, (1, 256, 4)), old), 2, axis=0))
            rows.append(got.tobytes())
        seen.append(rows)
    assert all(rows == seen[0] for rows in seen)


@pytest.mark.parametrize("fields", [{}, {"color_write_disable_green": True}])
@pytest.mark.parametrize("cc", [{}, OVER, {"logic_op_enable": True, "logic_op_function": "XOR"},
                                OVER | {"destination_blend_factor": "ONE"}])
def test_what_is_not_plain_is_the_same_in_all_variants(fields: dict[str, Any], cc: dict[str, Any]) -> None:
    pictures = []
    for variant in VARIANTS:
        lib.g4_set_variant(variant)
        rng = np.random.default_rng(6)
        board = Canvas("B8G8R8A8_UNORM", tiling=Tiling.X, **fields)
        board.target.layout.write(board.memory, rng.bytes(board.target.pitch * board.target.layout.height))
        board.begin(cc=cc)
        for _ in range(20):
            board.draw(colors(rng), int(rng.integers(0, 32)) * 2, int(rng.integers(0, 16)) * 2,
                       pixels=int(rng.integers(0, 1 << 16)))
        pictures.append(board.target.image().tobytes())
    assert all(picture == pictures[0] for picture in pictures)


FACTORS = ["ONE", "SRC_COLOR", "SRC_ALPHA", "DST_ALPHA", "DST_COLOR", "SRC_ALPHA_SATURATE", "CONST_COLOR",
           "CONST_ALPHA", "ZERO", "INV_SRC_COLOR", "INV_SRC_ALPHA", "INV_DST_ALPHA", "INV_DST_COLOR", "INV_CONST_COLOR",
           "INV_CONST_ALPHA", "SRC1_ALPHA"]


@pytest.mark.parametrize("function", ["ADD", "SUBTRACT", "REVERSE_SUBTRACT", "MIN", "MAX"])
@pytest.mark.parametrize("factor", FACTORS)
def test_every_blend_is_the_same_in_all_variants(factor: str, function: str) -> None:
    pictures = []
    for variant in VARIANTS:
        lib.g4_set_variant(variant)
        rng = np.random.default_rng(8)
        board = Canvas("B8G8R8A8_UNORM", tiling=Tiling.Y)
        board.target.layout.write(board.memory, rng.bytes(board.target.pitch * board.target.layout.height))
        other = FACTORS[int(rng.integers(len(FACTORS)))]
        board.begin(cc={"color_buffer_blend_enable": True, "color_blend_function": function,
                        "source_blend_factor": factor, "destination_blend_factor": other})
        for i in range(12):
            board.draw(colors(rng), 8 * (i % 8), 2 * i, pixels=0xFFFF if i % 2 else int(rng.integers(0, 1 << 16)))
        pictures.append(board.target.image().tobytes())
    assert all(picture == pictures[0] for picture in pictures)
