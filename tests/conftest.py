"""Settings of all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine and its load than about the code.
settings.register_profile("gen4emu", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gen4emu")
