"""Alpha test, clamps, blending, logic ops, masks (G45 PRM vol. 2, 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gen4emu.device.tiling import Tiling
from gen4emu.hw.gen import Gen
from tests.harness.canvas import AA, Canvas, Color
from tests.harness.probe import Event


def blend(source: str, destination: str, function: str = "ADD", **more: Any) -> dict[str, Any]:
    return {"color_buffer_blend_enable": True, "source_blend_factor": source, "destination_blend_factor": destination,
            "color_blend_function": function} | more


def result(cc: dict[str, Any], source: Color, destination: int = 0, format: str = "R8G8B8A8_UNORM",
           constant: Color | None = None, **fields: Any) -> list[int]:
    """One pixel's channels after one write over `destination`."""
    board = Canvas(format, **fields)
    board.target.clear(destination)
    if constant is not None:
        board.probe.constant_color(*constant)
    board.begin(cc=cc)
    board.draw(source)
    assert board.target.channels(0, 0) == board.target.channels(7, 1)
    return board.target.channels(0, 0)


def rgba(r: int, g: int, b: int, a: int) -> int:
    return r | g << 8 | b << 16 | a << 24


OVER = blend("SRC_ALPHA", "INV_SRC_ALPHA")
FLOAT = "R32G32B32A32_FLOAT"


def floats(cc: dict[str, Any], source: Color, destination: Color = (0, 0, 0, 0), format: str = FLOAT,
           constant: Color | None = None) -> list[float]:
    kind = np.float16 if "16" in format else np.float32
    number = int.from_bytes(np.array(destination, kind).tobytes(), "little")
    codes = result(cc, source, number, format, constant, tiling=Tiling.LINEAR)
    size = np.dtype(kind).itemsize
    return [float(np.frombuffer(code.to_bytes(size, "little"), kind)[0]) for code in codes]


# --- blending ---

def test_source_alpha_blends_with_its_complement() -> None:
    assert result(OVER, (0.5, 0.25, 1, 0.5), rgba(64, 128, 255, 255)) == [96, 96, 255, 191]


def test_unorm_targets_saturate_sources_and_the_constant_before_blending() -> None:
    """No clamp enable is set (docs/decisions.md 14)."""
    assert result(blend("ONE", "ONE"), (2, 0, 0, 1)) == [255, 0, 0, 255]
    assert result(blend("CONST_COLOR", "ZERO"), (2, 2, 2, 2), constant=(0.5, 0.5, 0.5, 0.5)) == [128] * 4
    assert result(blend("CONST_COLOR", "ZERO"), (0.5, 0.5, 0.5, 0.5), constant=(2, -1, 1, 1)) == [128, 0, 128, 128]


def test_saturate_factor_is_limited_by_destination_alpha() -> None:
    """F = min(0.75, 1 - 0.5) for the colors, 1 for alpha."""
    assert floats(blend("SRC_ALPHA_SATURATE", "ZERO"), (1, 2, 4, 0.75), (0, 0, 0, 0.5)) == [0.5, 1, 2, 0.75]


# Factor by factor with numbers that a float keeps exactly: S, S1 = S without dual source, D, constant K.
S, D, K = (0.5, 0.25, 2.0, 0.75), (4.0, 0.5, 0.125, 0.25), (0.5, 3.0, 0.0, 1.5)
FACTORS: dict[str, tuple[float, ...]] = {
    "ONE": (1, 1, 1, 1), "ZERO": (0, 0, 0, 0), "SRC_COLOR": S, "SRC_ALPHA": (S[3],) * 4, "DST_COLOR": D,
    "DST_ALPHA": (D[3],) * 4, "CONST_COLOR": K, "CONST_ALPHA": (K[3],) * 4, "SRC1_COLOR": S, "SRC1_ALPHA": (S[3],) * 4,
    "SRC_ALPHA_SATURATE": (0.75, 0.75, 0.75, 1),
}
FACTORS |= {f"INV_{name}": tuple(1 - f for f in factor) for name, factor in FACTORS.items()
            if name not in ("ONE", "ZERO", "SRC_ALPHA_SATURATE")}


@pytest.mark.parametrize("name", FACTORS)
def test_every_factor_on_the_source(name: str) -> None:
    expected = [s * f for s, f in zip(S, FACTORS[name], strict=True)]
    assert floats(blend(name, "ZERO"), S, D, constant=K) == expected


@pytest.mark.parametrize("name", FACTORS)
def test_every_factor_on_the_destination(name: str) -> None:
    expected = [d * f for d, f in zip(D, FACTORS[name], strict=True)]
    assert floats(blend("ZERO", name), S, D, constant=K) == expected


@pytest.mark.parametrize(("function", "expected"), [
    ("ADD", [5, 1, 2.5, 1.5]), ("SUBTRACT", [-3, -0.5, 1.5, 0.5]), ("REVERSE_SUBTRACT", [3, 0.5, -1.5, -0.5]),
    ("MIN", [1, 0.25, 0.5, 0.5]), ("MAX", [4, 0.75, 2, 1])])
def test_every_function_after_the_factors(function: str, expected: list[float]) -> None:
    """MIN and MAX multiply by the factors, too."""
    cc = blend("CONST_COLOR", "CONST_COLOR", function)
    assert floats(cc, (0.5, 0.5, 4, 2), (2, 1.5, 1, 1), constant=(2, 0.5, 0.5, 0.5)) == expected


def test_alpha_has_its_own_set_only_when_it_is_independent() -> None:
    alpha = {"alpha_blend_function": "REVERSE_SUBTRACT", "source_alpha_blend_factor": "ONE",
             "destination_alpha_blend_factor": "DST_ALPHA"}
    assert floats(blend("ONE", "ZERO") | alpha, (2, 2, 2, 2), (1, 1, 1, 4)) == [2, 2, 2, 2]
    independent = alpha | {"independent_alpha_blend_enable": True}
    assert floats(blend("ONE", "ZERO") | independent, (2, 2, 2, 2), (1, 1, 1, 4)) == [2, 2, 2, 14]


@pytest.mark.parametrize(("format", "destination"), [("B5G6R5_UNORM", 0), ("R8_UNORM", 0), ("R16G16_FLOAT", 0)])
def test_missing_destination_alpha_is_one(format: str, destination: int) -> None:
    full = {"B5G6R5_UNORM": 31, "R8_UNORM": 255, "R16G16_FLOAT": 0x3C00}[format]
    assert result(blend("DST_ALPHA", "ZERO"), (1, 1, 1, 1), destination, format)[0] == full


def test_blending_needs_both_enables() -> None:
    cc = blend("ZERO", "ONE")
    assert result(cc, (1, 1, 1, 1), rgba(1, 2, 3, 4), color_blend_enable=False) == [255] * 4
    assert result(cc | {"color_buffer_blend_enable": False}, (1, 1, 1, 1), rgba(1, 2, 3, 4)) == [255] * 4
    assert result(cc, (1, 1, 1, 1), rgba(1, 2, 3, 4)) == [1, 2, 3, 4]


def test_reserved_factor_acts_as_zero_and_is_reported_only_while_blending() -> None:
    board = Canvas()
    board.target.clear(rgba(1, 2, 3, 4))
    board.begin(cc={"color_buffer_blend_enable": True, "source_blend_factor": 0x0B, "destination_blend_factor": "ONE"})
    board.draw((1, 1, 1, 1))
    assert board.target.channels(0, 0) == [1, 2, 3, 4]
    assert board.probe.event(Event.BAD_STATE).count == 1
    board = Canvas()
    board.begin(cc={"source_blend_factor": 0x0B})
    board.draw((1, 1, 1, 1))
    assert not board.probe.events()


def test_second_color_without_dual_source_message_is_the_first_and_reported() -> None:
    board = Canvas()
    board.begin(cc=blend("SRC1_COLOR", "ZERO"))
    board.draw((0.5, 1, 0, 1))
    assert board.target.channels(0, 0) == [64, 255, 0, 255]
    assert board.probe.event(Event.BAD_STATE).count == 1


def test_formats_that_cannot_blend_are_written_and_reported() -> None:
    board = Canvas("R8G8B8A8_SNORM")
    board.begin(cc=blend("ZERO", "ONE"))
    board.draw((1, -1, 0.5, 0))
    assert board.target.channels(0, 0) == [127, 129, 64, 0]
    assert board.probe.event(Event.BAD_FORMAT).count == 1


@pytest.mark.parametrize(("gen", "expected"), [(Gen.CL, 0xFFFF), (Gen.EL, 0x1234)])
def test_sixteen_bit_unorm_blends_on_later_parts_only(gen: Gen, expected: int) -> None:
    assert result(blend("ZERO", "ONE"), (1, 1, 1, 1), 0x1234, "R16_UNORM", gen=gen)[0] == expected


# --- clamps ---

def test_float_targets_are_not_clamped_without_the_enables() -> None:
    assert floats({}, (2, -3, 1e30, -0.5)) == [2, -3, float(np.float32(1e30)), -0.5]
    assert floats(blend("ONE", "ONE"), (2, -3, 1, 1), (1, 1, 1, 1)) == [3, -2, 2, 2]


@pytest.mark.parametrize(("range", "expected"), [("UNORM", [1, 0, 0.5, 0]), ("SNORM", [1, -1, 0.5, -0.5]),
                                                 ("RTFORMAT", [2, -3, 0.5, -0.5])])
def test_pre_blend_clamp_of_float_targets(range: str, expected: list[float]) -> None:
    assert floats({"pre_blend_color_clamp_enable": True, "color_clamp_range": range}, (2, -3, 0.5, -0.5)) == expected


def test_pre_blend_clamp_also_takes_destination_and_constant() -> None:
    cc = blend("CONST_COLOR", "ONE") | {"pre_blend_color_clamp_enable": True}
    assert floats(cc, (4, 4, 4, 4), (8, 0.25, -3, 0), constant=(9, 0.5, -1, 2)) == [2, 0.75, 0, 1]


@pytest.mark.parametrize(("range", "expected"), [("UNORM", [1, 0, 0.5, 0]), ("SNORM", [1, -1, 0.5, -0.5])])
def test_post_blend_clamp_of_float_targets(range: str, expected: list[float]) -> None:
    cc = blend("ONE", "ONE") | {"post_blend_color_clamp_enable": True, "color_clamp_range": range}
    assert floats(cc, (3, -3, 0.25, -1), (1, -1, 0.25, 0.5)) == expected


def test_blender_clamps_halves_to_their_range_but_a_plain_write_overflows() -> None:
    half = "R16G16B16A16_FLOAT"
    assert floats(blend("ONE", "ONE"), (65504, -65504, 0, 0), (65504, -65504, 0, 0), half) == [65504, -65504, 0, 0]
    assert floats({}, (65536, -1e9, 65519, 65520), format=half) == [np.inf, -np.inf, 65504, np.inf]


def test_minimum_with_nan_is_the_number() -> None:
    assert floats(blend("ONE", "ONE", "MIN"), (np.nan, 1, 2, 3), (5, np.nan, 1, 4)) == [5, 1, 1, 3]
    assert floats(blend("ONE", "ONE", "MAX"), (np.nan, 1, 2, 3), (5, np.nan, 1, 4)) == [5, 1, 2, 4]


def test_nan_out_of_the_blender_has_one_pattern() -> None:
    board = Canvas("R32_FLOAT")
    board.target.clear(0xFFC12345)
    board.begin(cc=blend("ONE", "ONE"))
    board.draw((np.nan, 0, 0, 0))
    assert board.target.raw(0, 0) == 0x7FC00000


# --- alpha test and coverage ---

@pytest.mark.parametrize(("function", "passing"), [
    ("ALWAYS", "<=>"), ("NEVER", ""), ("LESS", "<"), ("EQUAL", "="), ("LEQUAL", "<="), ("GREATER", ">"),
    ("NOTEQUAL", "<>"), ("GEQUAL", "=>")])
def test_alpha_test_compares_floats_on_any_target(function: str, passing: str) -> None:
    board = Canvas()
    board.begin(cc={"alpha_test_enable": True, "alpha_test_format": "FLOAT32", "alpha_test_function": function,
                    "alpha_reference_value_as_float32": 0.5})
    colors = np.ones((16, 4), np.float32)
    colors[:, 3] = [(0.25, 0.5, 0.75)[i % 3] for i in range(16)]
    board.draw(colors)
    upper = [0, 1, 4, 5, 8, 9, 12, 13]
    assert [value != 0 for value in board.target.row(0)] == ["<=>"[i % 3] in passing for i in upper]


def test_nan_alpha_passes_only_notequal_and_always() -> None:
    for function, passes in (("LESS", False), ("EQUAL", False), ("GEQUAL", False), ("NOTEQUAL", True),
                             ("ALWAYS", True)):
        cc = {"alpha_test_enable": True, "alpha_test_format": "FLOAT32", "alpha_test_function": function,
              "alpha_reference_value_as_float32": 0.5}
        assert result(cc, (1, 1, 1, np.nan))[0] == (255 if passes else 0)


def test_alpha_test_in_eight_bits_rounds_before_it_compares() -> None:
    cc = {"alpha_test_enable": True, "alpha_test_format": "UNORM8", "alpha_test_function": "EQUAL",
          "alpha_reference_value_as_unorm8": 128}
    assert result(cc, (1, 1, 1, 0.5))[0] == 255  # 127.5 goes up
    assert result(cc, (1, 1, 1, 0.49))[0] == 0
    cc["alpha_reference_value_as_unorm8"] = 255
    assert result(cc, (1, 1, 1, 7.0))[0] == 255


@pytest.mark.parametrize(("gen", "register", "expected"), [
    (Gen.EL, [0, 0, 0, 0, 0x804000FF, 0, 0, 0xFF000000], [255, 0, 64, 128]),
    (Gen.CL, [0, 0, 0, 0, 0, 0, 0x0000840F, 0xF0000000], [255, 0, 68, 136])])
def test_coverage_scales_alpha_before_the_alpha_test(gen: Gen, register: list[int], expected: list[int]) -> None:
    """Eight bits a pixel on later parts, four on the first."""
    board = Canvas(gen=gen)
    cc = {"alpha_test_enable": True, "alpha_test_format": "FLOAT32", "alpha_test_function": "GREATER",
          "alpha_reference_value_as_float32": 0.0}
    board.begin(cc=cc)
    board.message((1, 1, 1, 1), flags=AA, first=3)
    board.probe.mrf(2)[:] = np.array(register, np.uint32)
    board.probe.write(index=board.target.index, length=11)
    alphas = [board.target.channels(x, y)[3] for y in (0, 1) for x in (0, 1)]
    assert alphas == expected
    assert board.target.channels(1, 0)[0] == 0  # no coverage, no pixel
    assert board.target.channels(7, 1)[3] == 255
    assert board.target.channels(6, 1)[3] == 0


# --- logic ops, masks ---

@pytest.mark.parametrize("function", range(16))
def test_every_logic_op_on_raw_bits(function: int) -> None:
    """Bit 3 of the code is the result for S=1 D=1, bit 2 for S=1 D=0, bit 1 for S=0 D=1, bit 0 for S=0 D=0."""
    s, d = 0xF0, 0xCC
    expected = sum((function >> (2 * (s >> i & 1) + (d >> i & 1)) & 1) << i for i in range(8))
    cc = {"logic_op_enable": True, "logic_op_function": function}
    assert result(cc, (s / 255, s / 255, s / 255, s / 255), rgba(d, d, d, d)) == [expected] * 4


def test_logic_op_combines_bytes() -> None:
    cc = {"logic_op_enable": True, "logic_op_function": "XOR"}
    assert result(cc, (0.94118, 0, 0, 0), 0xAA)[0] == 0x5A


def test_logic_op_is_ignored_on_floats_and_srgb() -> None:
    cc = {"logic_op_enable": True, "logic_op_function": "CLEAR"}
    assert floats(cc, (1, 2, 3, 4)) == [1, 2, 3, 4]
    assert result(cc, (1, 1, 1, 1), format="R8G8B8A8_UNORM_SRGB") == [255] * 4


def test_logic_op_wins_over_blending_and_that_is_reported() -> None:
    board = Canvas()
    board.target.clear(rgba(0xAA, 0xAA, 0xAA, 0xAA))
    board.begin(cc=blend("ZERO", "ZERO") | {"logic_op_enable": True, "logic_op_function": "COPY_INVERTED"})
    board.draw((1, 0, 1, 0))
    assert board.target.channels(0, 0) == [0, 255, 0, 255]
    assert board.probe.event(Event.BAD_STATE).count == 1


@pytest.mark.parametrize(("format", "before"), [("R8G8B8A8_UNORM", 0x04030201), ("B5G5R5A1_UNORM", 0x0421),
                                                ("R16G16B16A16_UNORM", 0x0004000300020001)])
def test_disabled_channels_keep_their_bits(format: str, before: int) -> None:
    reference = Canvas(format)
    reference.target.clear(before)
    old = reference.target.channels(0, 0)
    names = ("red", "green", "blue", "alpha")
    for off in range(4):
        got = result({}, (1, 1, 1, 1), before, format, **{f"color_write_disable_{names[off]}": True})
        full = [(1 << c.bits) - 1 for c in reference.target.info.outputs]
        assert got == [old[c] if c == off else full[c] for c in range(4)]


def test_pixels_that_are_not_live_keep_their_bits_while_others_blend() -> None:
    board = Canvas()
    board.target.clear(rgba(10, 20, 30, 40))
    board.begin(cc=blend("ONE", "ONE"))
    board.draw((1, 0, 0, 0), pixels=0b1000_0001_0110_1001)
    lit = {(0, 0), (1, 1), (3, 0), (2, 1), (4, 0), (7, 1)}
    for y in range(2):
        for x in range(8):
            assert board.target.channels(x, y) == [255 if (x, y) in lit else 10, 20, 30, 40]
