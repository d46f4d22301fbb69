"""The batch that hung and the command that the streamer stood in, for every kernel variant."""

from __future__ import annotations

import pytest

from gen4emu import trace
from gen4emu.decode import BatchStart, Command, Document, Item, SubmissionStart, TextRenderer
from tests.decode.hang_dumps import BATCH, RING_AT, RING_BYTES, VARIANTS, Hang, dump
from tests.harness.batch import commands, diagnostics

DRAW = 0x00100268
FLUSH, NOOP, START = 0x02000000, 0, 0x18800180


def decoded(text: str) -> list[Item]:
    opened = trace.open_bytes(text.encode())
    return list(Document(opened, container=opened.kind))


def guilty(items: list[Item]) -> list[tuple[int, str]]:
    return [(c.address, c.body.name) for c in commands(items) if c.guilty]


@pytest.mark.parametrize("variant", VARIANTS)
def test_command_in_a_batch(variant: str) -> None:
    items = decoded(dump(variant, Hang(acthd=DRAW)))
    assert guilty(items) == [(DRAW, "3DPRIMITIVE")]
    assert [i.address for i in items if isinstance(i, BatchStart)] == [BATCH]
    assert [(i.hung, i.acthd) for i in items if isinstance(i, SubmissionStart)] == [(True, DRAW)]
    assert not diagnostics(items)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("offset", [1, 4, 9, 0x14])
def test_any_place_inside_the_command_will_do(variant: str, offset: int) -> None:
    """The streamer may have read on, and bit 0 of ACTHD says that it is in a batch."""
    assert guilty(decoded(dump(variant, Hang(acthd=DRAW + offset)))) == [(DRAW, "3DPRIMITIVE")]


@pytest.mark.parametrize("variant", "BCDE")
def test_command_in_the_ring(variant: str) -> None:
    items = decoded(dump(variant, Hang(acthd=RING_AT + 0x10)))
    assert guilty(items) == [(RING_AT + 0x10, "MI_BATCH_BUFFER_START")]


WRAPPED = [FLUSH, NOOP, START, BATCH, *[NOOP] * (RING_BYTES // 4 - 8), FLUSH, START, 0x200000, FLUSH]


@pytest.mark.parametrize("variant", "BCDE")
@pytest.mark.parametrize(("acthd", "found"), [
    (RING_AT + 0xFF0, [(RING_AT + 0xFF0, "MI_FLUSH")]),
    (RING_AT + 0xFFC, [(RING_AT + 0xFFC, "MI_FLUSH")]),
    (RING_AT, [(RING_AT, "MI_FLUSH")]),
    (RING_AT + 0xC, [(RING_AT + 8, "MI_BATCH_BUFFER_START")]),
    (DRAW, [(DRAW, "3DPRIMITIVE")]),
    (RING_AT + 0x800, []),  # executed long ago: between tail and head
])
def test_ring_that_goes_over_its_end(variant: str, acthd: int, found: list[tuple[int, str]]) -> None:
    items = decoded(dump(variant, Hang(acthd, WRAPPED, head=0xFF0, tail=0x10)))
    assert guilty(items) == found
    in_ring = [c.address - RING_AT for c in commands(items) if RING_AT <= c.address < RING_AT + RING_BYTES]
    assert in_ring == [0xFF0, 0xFF4, 0xFFC, 0, 4, 8]


@pytest.mark.parametrize("acthd", [RING_AT + 0xFFC, RING_AT])
def test_command_that_goes_over_the_end_of_the_ring_is_marked_in_both_halves(acthd: int) -> None:
    ring = [BATCH, FLUSH, *[NOOP] * (RING_BYTES // 4 - 3), START]
    items = decoded(dump("B", Hang(acthd, ring, head=0xFFC, tail=8)))
    assert guilty(items) == [(RING_AT + 0xFFC, "MI_BATCH_BUFFER_START")]


def test_one_of_many_noops() -> None:
    """A run of MI_NOOP is one line; the streamer may stand in its middle."""
    items = decoded(dump("B", Hang(RING_AT + 0x18, [FLUSH, *[NOOP] * 9, START, BATCH], head=0, tail=0x30)))
    (found,) = [c for c in commands(items) if c.guilty]
    assert (found.address, found.body.name, found.repeat) == (RING_AT + 4, "MI_NOOP", 9)


def test_unknown_command() -> None:
    items = decoded(dump("B", Hang(RING_AT + 8, [FLUSH, 0x7FFF0001, 1, 2, FLUSH, START, BATCH], head=0, tail=0x1C)))
    assert [a for a, _ in guilty(items)] == [RING_AT + 4]


def test_command_that_the_tail_cuts_off() -> None:
    items = decoded(dump("B", Hang(RING_AT + 4, [FLUSH, 0x7A000002, 0, 0], head=0, tail=8)))
    assert guilty(items) == [(RING_AT + 4, "PIPE_CONTROL")]


@pytest.mark.parametrize(("head", "found"), [
    (0x10, [(RING_AT + 0x10, "MI_BATCH_BUFFER_START")]),
    (0x18, [(RING_AT + 0x10, "MI_BATCH_BUFFER_START")]),  # it lies after the command that was executed last
])
def test_without_acthd_the_head_says_where(head: int, found: list[tuple[int, str]]) -> None:
    ring = [FLUSH, NOOP, FLUSH, NOOP, START, BATCH, FLUSH, NOOP]
    assert guilty(decoded(dump("B", Hang(None, ring, head=head, tail=0x20)))) == found


def test_without_start_acthd_is_an_offset_in_the_ring() -> None:
    items = decoded(dump("B", Hang(0x10, start=None)))
    assert guilty(items) == [(RING_AT + 0x10, "MI_BATCH_BUFFER_START")]


@pytest.mark.parametrize("variant", VARIANTS)
def test_text_marks_one_line(variant: str) -> None:
    render = TextRenderer().render
    lines = "".join(render(i) for i in decoded(dump(variant, Hang(DRAW)))).split("\n")
    (at,) = [i for i, line in enumerate(lines) if line == "==> the command streamer stopped here"]
    assert lines[at + 1].startswith(f"0x{DRAW:08x}  7b001004  3DPRIMITIVE")


def test_nothing_is_marked_when_nothing_hung() -> None:
    text = dump("E", Hang(DRAW)).replace("hung: 1", "hung: 0")
    assert not any(isinstance(i, Command) and i.guilty for i in decoded(text))
