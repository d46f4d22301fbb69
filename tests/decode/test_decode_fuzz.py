"""A few seconds of what `fuzz_decode.py` does for hours."""

from __future__ import annotations

from tests.decode.fuzz_decode import fuzz


def test_hostile_input_never_gets_out_of_hand() -> None:
    failures: list[str] = []
    assert fuzz(800, 1_000_000_000, failures.append) == 0, failures
