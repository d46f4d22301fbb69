"""What the user of the decoder may choose, apart from how it looks."""

from __future__ import annotations

from dataclasses import dataclass

from gen4emu.selection import ALL, Selection


@dataclass(slots=True, frozen=True)
class Options:
    """How far the decoder follows pointers, and how much of plain data it shows."""

    follow: bool = True  # follow pointers to state, kernels and data
    max_rows: int = 4  # rows of vertices, indices, constants shown for each pointer; negative: all
    repeat: bool = False  # show state again that did not change
    lint: bool = False  # look for broken rules too
    all_batches: bool = False  # error states: show the batch objects that the ring does not reach, too
    forget: bool = False  # memory lasts only until the next submission, as other decoders have it (TR-10)
    strict_pte: bool = False  # memory exists only where the trace wrote a page table entry (TR-27)
    submissions: Selection = ALL  # shows only these
