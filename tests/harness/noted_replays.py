"""Where executions begin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from gen4emu.device.replay import Replay


def note_beginnings(monkeypatch: pytest.MonkeyPatch, modules: Iterable[str]) -> list[int]:
    """The draws at which executions of these modules of gen4emu begin, noted as they do."""
    begun: list[int] = []

    class Noted(Replay):
        def __init__(self, *arguments: Any, at: Any = None, **more: Any) -> None:
            begun.append(0 if at is None else at.checkpoint.draws)
            super().__init__(*arguments, at=at, **more)

    for module in modules:
        monkeypatch.setattr(f"gen4emu.{module}.Replay", Noted)
    return begun
