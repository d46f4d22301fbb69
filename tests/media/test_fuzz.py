"""A few damaged runs; `fuzz_media.py` does as many as one likes."""

from __future__ import annotations

from collections import Counter

from .fuzz_media import Captures, run


def test_damaged_media_work_ends_in_nothing_worse_than_a_hang() -> None:
    captures = Captures()
    ends = Counter(run(number, 1, captures)[1] for number in range(40))
    assert set(ends) <= {"good", "EuHang", "BadCommand"}
    assert ends["good"] >= 10
