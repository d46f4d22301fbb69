"""Tables of text for the terminal."""

from __future__ import annotations

from gen4emu.cli.tables import table


def test_columns_are_as_wide_as_their_longest_cell_and_numbers_are_on_the_right() -> None:
    assert list(table(("name", "n"), [("a", "1"), ("longer", "234")])) == [
        "  name      n", "  a         1", "  longer  234"]


def test_a_table_without_rows_is_its_heads() -> None:
    assert list(table(("name", "n"), [])) == ["  name  n"]
