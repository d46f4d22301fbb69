"""The tests and rules that docs/kaby-lake.md names exist."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "kaby-lake.md").read_text(encoding="utf-8")


def test_named_tests_exist() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 30
    missing = [f"{path}::{name}" for path, name in named
               if not (ROOT / path).is_file() or (name and f"\ndef {name}(" not in (ROOT / path).read_text())]
    assert missing == []


def test_named_rules_are_rules() -> None:
    rules = re.findall(r"\| `([a-z-]+)` \|\n", PAGE)
    known = (ROOT / "docs" / "lint.md").read_text(encoding="utf-8")
    assert len(rules) == 11
    assert [rule for rule in rules if f"| `{rule}` |" not in known] == []


def test_each_point_has_its_row() -> None:
    rows = {part.split("\n")[0]: part.count("\n| ") - 1 for part in PAGE.split("\n## ")[1:]}
    assert (rows["Behaviour"], rows["Memory"]) == (36, 12)
