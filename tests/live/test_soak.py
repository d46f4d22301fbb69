"""One minute of tests.soak."""

from __future__ import annotations

import pytest

from tests.live.real_client import needs_client
from tests.soak import soak


@pytest.mark.long
@needs_client
def test_servers_survive_a_minute_of_four_clients() -> None:
    soak(1, seed=17)
