"""The savings of hierarchical depth buffers: the sums of `Device.hierarchical_depth_counts` in words."""

from __future__ import annotations

from collections.abc import Mapping

_MOVED = ("entry_read_bytes", "entry_write_bytes", "depth_read_bytes", "depth_write_bytes", "expand_bytes",
          "fill_bytes", "resolve_bytes")
_BASE = ("base_read_bytes", "base_write_bytes", "base_clear_bytes")


def base_bytes(counts: Mapping[str, int]) -> int:
    """The bytes that a depth buffer without entries would have moved."""
    return sum(counts[name] for name in _BASE)


def saved_bytes(counts: Mapping[str, int]) -> int:
    """How many of them were not moved; negative if entries cost more than they saved."""
    return base_bytes(counts) - sum(counts[name] for name in _MOVED)


def summary(counts: Mapping[str, int]) -> str:
    """One line; empty without work."""
    if not any(counts.values()):
        return ""
    return (f"hierarchical depth: {counts['halves_tested']} blocks of 4x4 tested, {counts['passed']} passed, "
            f"{counts['failed']} failed, {counts['plane_exact']} decided by a plane, {counts['undecided']} undecided; "
            f"{saved_bytes(counts)} of {base_bytes(counts)} bytes saved")


def as_json(counts: Mapping[str, int]) -> dict[str, int]:
    return {**counts, "base_bytes": base_bytes(counts), "saved_bytes": saved_bytes(counts)}
