"""Kernels line by line."""

from __future__ import annotations

from typing import Any

from gen4emu.report.kernel_diffs import compared_lines, runs


def kernel(*lines: tuple[str, str]) -> dict[str, Any]:
    return {"lines": [{"label": label, "text": text} for label, text in lines]}


def test_names_of_labels_do_not_count() -> None:
    left = kernel(("", "if(8) else0 end0"), ("else0", "mov(8) g1"), ("end0", "endif(8)"))
    right = kernel(("", "if(8) else7 end7"), ("else7", "mov(8) g1"), ("end7", "endif(8)"))
    assert compared_lines(left) == compared_lines(right)
    assert compared_lines(kernel(("", "mov(8) else0"))) == ["mov(8) else0"], "there it is no label"


def test_runs_cover_both_kernels() -> None:
    assert runs(["a", "b", "c"], ["a", "x", "y", "c", "d"]) == [
        (True, 0, 1, 0, 1), (False, 1, 2, 1, 3), (True, 2, 3, 3, 4), (False, 3, 3, 4, 5)]
    assert runs([], []) == []


def test_long_kernels_with_lines_that_repeat_are_compared() -> None:
    left = ["mov"] * 6000
    assert runs(left, [*left[:3000], "add", *left[3000:]])[-1][2] == 6000
