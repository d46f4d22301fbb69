"""Rows of docs/decisions.md have numbers of their own, and comments name rows that exist."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

NUMBERS = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"), re.MULTILINE)


def test_no_two_rows_have_the_same_number() -> None:
    assert len(NUMBERS) > 140
    assert sorted({number for number in NUMBERS if NUMBERS.count(number) > 1}) == []


def test_named_rows_exist() -> None:
    named = {(path.name, number) for folder in ("gen4emu", "native", "tests") for ending in ("*.py", "*.c", "*.h")
             for path in (ROOT / folder).rglob(ending)
             for number in re.findall(r"docs/decisions\.md[\s*#]+(\d+)", path.read_text(encoding="utf-8"))}
    assert len(named) > 50
    assert sorted(place for place in named if place[1] not in NUMBERS) == []


def test_rows_of_a_table_are_in_order() -> None:
    text = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    tables = [[int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]
              for table in re.split(r"^\|---.*$", text, flags=re.MULTILINE)]
    assert [numbers for numbers in tables if numbers != sorted(numbers)] == []
