"""The names of pictures, the same for `replay`, `run --frames`, `capture --frames` and `check` (docs/identity.md)."""

from __future__ import annotations

from gen4emu.device.targets import Target


def picture_name(unit: str, number: int, target: Target, suffix: str = ".png") -> str:
    """`frame-00002-shown-00ab0000.png`: the frame, submission or draw (`unit`), its number, and the surface."""
    level = f"-l{target.level}-s{target.slice}" if target.level or target.slice else ""
    return f"{unit}-{number:05d}-{target.kind}-{target.address:08x}{level}{suffix}"
