"""Which unit tests depth and stencil, and what payload and message carry (G45 PRM vol. 2, 8.4.3)."""

from __future__ import annotations

from itertools import product

import pytest

from tests.harness.pixel_probe import IzDecision, PixelProbe

# G45 PRM vol. 2, 8.4.3.2: the rows S SW, Z ZW and the columns D K = 00, 01, 10, 11.
TABLE = """
00 00 P0000 P0000 P0000 P0000
00 01 P0000 N1100 N0100 N0100
00 10 P0000 P0000 C0110 C0110
00 11 P0000 N1100 C0110 C0110
10 00 P0000 P0000 P0000 P0000
10 01 P0000 N1101 N0101 N0101
10 10 P0000 P0000 C0111 C0111
10 11 P0000 N1101 C0111 C0111
11 00 P0000 C0001 P0000 C0101
11 01 P0000 C1101 C0101 C0101
11 10 P0000 C1111 C0111 C0111
11 11 P0000 C1111 C0111 C0111
"""
ROWS = [line.split() for line in TABLE.split("\n") if line]
CASES = [(row[0], row[1], column, row[2 + column]) for row in ROWS for column in range(4)]


def decide(stencil: str, depth: str, computes: bool, kills: bool, *, early: bool = True, depth_buffer: bool = True,
           **wm: bool) -> IzDecision:
    cc = {"stencil_test_enable": stencil[0] == "1", "stencil_buffer_write_enable": stencil[1] == "1",
          "depth_test_enable": depth[0] == "1", "depth_buffer_write_enable": depth[1] == "1"}
    return PixelProbe().iz(depth_buffer=depth_buffer, cc=cc, wm={
        "early_depth_test_enable": early, "pixel_shader_computed_depth": computes,
        "pixel_shader_kill_pixel": kills} | wm)


def cell(text: str) -> IzDecision:
    return IzDecision(text[0], int(text[1:], 2))


@pytest.mark.parametrize(("stencil", "depth", "column", "expected"), CASES)
def test_early_table_has_the_manuals_rows(stencil: str, depth: str, column: int, expected: str) -> None:
    assert decide(stencil, depth, column >> 1 == 1, column & 1 == 1) == cell(expected)


def test_without_early_tests_everything_that_is_on_is_done_after_the_shader() -> None:
    assert decide("00", "00", False, True, early=False) == cell("P0000")
    assert decide("00", "00", True, False, early=False) == cell("C0100")
    assert decide("00", "11", False, False, early=False) == cell("C1110")
    assert decide("10", "01", True, False, early=False) == cell("C0101")
    assert decide("11", "00", False, False, early=False) == cell("C0001")


def test_null_depth_buffer_switches_every_test_off() -> None:
    for stencil, depth, computes, kills in product(("00", "11"), ("00", "11"), (False, True), (False, True)):
        assert decide(stencil, depth, computes, kills, depth_buffer=False) == cell("P0000")


def test_stencil_write_needs_the_stencil_test() -> None:
    assert decide("01", "00", False, True) == cell("P0000")


def test_alpha_test_counts_as_killing() -> None:
    decision = PixelProbe().iz(wm={"early_depth_test_enable": True}, cc={
        "alpha_test_enable": True, "depth_test_enable": True, "depth_buffer_write_enable": True})
    assert decision == cell("N1100")


def test_statistics_turn_promoted_killers_into_non_promoted_ones_with_source_depth() -> None:
    """Discard inside an occlusion query."""
    assert decide("00", "00", False, True, statistics_enable=True) == cell("N1100")
    assert decide("00", "00", False, False, statistics_enable=True) == cell("P0000")
    assert decide("00", "00", True, True, statistics_enable=True) == cell("N1100")
    assert decide("00", "11", True, True, statistics_enable=True) == cell("C0110")


def test_shader_that_reads_depth_gets_it() -> None:
    assert decide("00", "00", False, False, pixel_shader_uses_source_depth=True) == cell("P1000")
