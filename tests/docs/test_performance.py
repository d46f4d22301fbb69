"""bench/performance.py writes the tables of docs/performance.md."""

from __future__ import annotations

import re

import pytest

from bench.performance import ARGUMENTS, PAGE, ROOT, replaced, to_markdown


def test_right_aligned_numbers_become_the_columns_of_a_table() -> None:
    output = ("million pixels/s                      plain     AVX2  AVX-512\n"
              "B8G8R8A8 over, X tiled                   68      239      240\n"
              "null message                         4225.1   4211.2\n")
    assert to_markdown(output).splitlines() == [
        "| million pixels/s | plain | AVX2 | AVX-512 |",
        "| --- | --- | --- | --- |",
        "| B8G8R8A8 over, X tiled | 68 | 239 | 240 |",
        "| null message | 4225.1 | 4211.2 |  |",
    ]


def test_output_without_columns_becomes_a_list() -> None:
    assert to_markdown("large triangles:     9368 M pixels/s\n") == "- large triangles: 9368 M pixels/s\n"


def test_only_the_place_of_the_named_benchmark_changes() -> None:
    page = "<!-- bench/eu.py -->\nold\n<!-- end -->\n<!-- bench/cc.py -->\nkept\n<!-- end -->\n"
    assert replaced(page, "eu", "new\n") == page.replace("old", "new")
    with pytest.raises(ValueError, match=r"no place for bench/live\.py"):
        replaced(page, "live", "new\n")


def test_the_page_has_a_place_for_every_benchmark_and_each_exists() -> None:
    places = re.findall(r"<!-- bench/(\w+)\.py -->", PAGE.read_text(encoding="utf-8"))
    assert sorted(places) == sorted(ARGUMENTS)
    assert all((ROOT / "bench" / f"{name}.py").is_file() for name in places)
