"""Selections of frames, submissions and draws: one notation for every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu.errors import SelectionError
from gen4emu.selection import ALL, Selection


@pytest.mark.parametrize(("text", "inside", "outside"), [
    ("4", [4], [3, 5]),
    ("100-120", [100, 110, 120], [99, 121]),
    ("4,9", [4, 9], [5, 8, 10]),
    ("0-1000/10", [0, 10, 1000], [1, 999, 1010]),
    ("50-", [50, 10**9], [49]),
    ("7/2", [7, 9, 101], [6, 8]),
    ("all", [0, 10**9], []),
    ("all/5", [0, 5, 1000], [1, 4]),
    ("2-3, 8", [2, 3, 8], [4, 7]),
])
def test_what_a_selection_holds(text: str, inside: list[int], outside: list[int]) -> None:
    selection = Selection.parse(text)
    assert [n for n in inside if n not in selection] == []
    assert [n for n in outside if n in selection] == []


def test_a_file_holds_selections_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "draws.txt"
    path.write_text("# the interesting ones\n4 9\n100-102,7 # and a few\n")
    selection = Selection.parse(f"@{path}")
    assert [n for n in range(200) if n in selection] == [4, 7, 9, 100, 101, 102]


@pytest.mark.parametrize(("text", "message"), [
    ("", "invalid selection ''"), ("x", "invalid selection 'x'"), ("-4", "invalid selection '-4'"),
    ("4,,9", "invalid selection '' in '4,,9'"), ("9-4", "it ends before it starts"), ("0-9/0", "a step of 0"),
    ("1" * 40, "invalid selection"), ("@/nonexistent", "/nonexistent: cannot be opened"),
])
def test_a_selection_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        Selection.parse(text)


def test_a_file_that_selects_nothing(tmp_path: Path) -> None:
    path = tmp_path / "none"
    path.write_text("# nothing\n")
    with pytest.raises(SelectionError, match="selects nothing"):
        Selection.parse(f"@{path}")


def test_a_selection_knows_when_it_is_over() -> None:
    assert not Selection.parse("4,9").is_over(9)
    assert Selection.parse("4,9").is_over(10)
    assert not ALL.is_over(1 << 40)
    assert not Selection.parse("5-").is_over(1 << 40)


@pytest.mark.parametrize("text", ["4", "4,9", "0-1000/10", "3-17/7", "5-/3", "all/5"])
def test_a_selection_overlaps_a_range_if_it_holds_one_of_its_numbers(text: str) -> None:
    selection = Selection.parse(text)
    for first in range(25):
        for last in range(first, 25):
            assert selection.overlaps(first, last) == any(n in selection for n in range(first, last + 1))


def test_a_selection_that_selects_nothing_is_an_error() -> None:
    Selection.parse("3-5").require_any(4, "draw", "t.aub")
    for count, there in ((0, "it has no draws"), (1, "it has 1 draw, 0"), (3, "it has 3 draws, 0 to 2")):
        with pytest.raises(SelectionError, match=f"^t.aub: no draw 3-5: {there}$"):
            Selection.parse("3-5").require_any(count, "draw", "t.aub")
