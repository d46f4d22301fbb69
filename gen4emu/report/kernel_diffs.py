"""Kernels of two executions line by line: which instructions are the same, and which one side alone has."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

MOST_EXACT_LINES = 4096  # longer kernels are compared without their most frequent lines

# Instructions from..to on the left and on the right, as indices; the same in both if the first member is true.
Run = tuple[bool, int, int, int, int]


def compared_lines(kernel: dict[str, Any]) -> list[str]:
    """The instructions of a kernel of the report for a comparison: the names of labels do not count."""
    labels = {str(line["label"]) for line in kernel["lines"] if line["label"]}
    return [" ".join("label" if word.rstrip(",") in labels else word for word in str(line["text"]).split())
            for line in kernel["lines"]]


def runs(left: Sequence[str], right: Sequence[str]) -> list[Run]:
    """Both kernels from the first line to the last."""
    matcher = SequenceMatcher(None, left, right, autojunk=max(len(left), len(right)) > MOST_EXACT_LINES)
    return [(tag == "equal", a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes()]
