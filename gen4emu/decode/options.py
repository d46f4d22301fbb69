"""Options of the decoder, apart from the layout of its output."""

from __future__ import annotations

from dataclasses import dataclass

from gen4emu.selection import ALL, Selection


@dataclass(slots=True, frozen=True)
class Options:
    """How far the decoder follows pointers, and how much of plain data it shows."""

    follow: bool = True  # follow pointers to state, kernels and data
    max_rows: int = 4  # rows of vertices, indices, constants shown for each pointer; negative: all
    repeat: bool = False  # repeat state that did not change
    lint: bool = False  # also check rules
    all_batches: bool = False  # error states: show the batch objects that the ring does not reach, too
    forget: bool = False  # memory lasts only until the next submission, as in other decoders
    strict_pte: bool = False  # memory exists only where the trace wrote a page table entry
    submissions: Selection = ALL  # shows only these
