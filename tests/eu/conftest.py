"""Tests with a `machine` run on the reference and on both kinds of handlers of the C core, for both generations."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gen4emu.hw.gen import Gen
from tests.harness.machines import MACHINES, Machine

MakeMachine = Callable[..., Machine]


@pytest.fixture(params=[(name, gen) for name in MACHINES for gen in (Gen.CL, Gen.EL)],
                ids=lambda p: f"{p[0]}-{p[1].name}")
def machine(request: pytest.FixtureRequest) -> MakeMachine:
    name, gen = request.param
    return lambda **setup: MACHINES[name](gen, **setup)


@pytest.fixture(params=list(MACHINES))
def machine_45(request: pytest.FixtureRequest) -> MakeMachine:
    """A machine of Gen4.5 only."""
    return lambda **setup: MACHINES[request.param](Gen.EL, **setup)
