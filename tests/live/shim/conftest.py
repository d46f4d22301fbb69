"""Servers for the shim's tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.shim.server import FakeServer


@pytest.fixture
def start_live(tmp_path: Path) -> Callable[..., FakeServer]:
    return lambda device="g45", **options: FakeServer(tmp_path, device, **options)
