"""Counts of the same kernel add up."""

from __future__ import annotations

from gen4emu.device.counters import KernelCount, LineCount
from gen4emu.report.kernel_lines import line_counts


def test_all_counts_of_a_line_are_added() -> None:
    code = bytes(range(32))
    parts = [KernelCount(code[:end], {16: LineCount(2, 16, nans, 3)}, 0) for end, nans in ((24, 1), (32, 4))]
    assert line_counts([code, b"\xff" * 16], parts) == [{16: LineCount(4, 32, 5, 6)}, None]
