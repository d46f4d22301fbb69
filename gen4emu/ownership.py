"""Who the process belongs to: the command line, or a program that imports gen4emu."""

from __future__ import annotations


class _Process:
    is_ours = False


def own_process() -> None:
    """The command line's main calls this: verbs may change the process for good."""
    _Process.is_ours = True


def is_own_process() -> bool:
    return _Process.is_ours
