"""Random damage to traces of every kind: only Gen4emuError, and bounded work."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trace.fuzz_trace import check, read, run


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mutated_files_raise_only_gen4emu_errors(seed: int) -> None:
    events, refused = run(1500, seed)
    assert events > 2 * 1500  # an intact file has about seven: the damage leaves enough to read
    assert 0 < refused < 1500 // 2


@settings(max_examples=300)
@given(st.binary(max_size=300), st.integers())
def test_random_bytes_raise_only_gen4emu_errors(data: bytes, seed: int) -> None:
    for event in read(data, random.Random(seed)):
        check(event)
