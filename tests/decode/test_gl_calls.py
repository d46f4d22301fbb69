"""Which GL call a draw comes from, when the calls and the draws of a submission do not agree."""

from __future__ import annotations

import pytest

from gen4emu.decode.document import Decoder
from gen4emu.decode.gl_calls import GlCalls
from gen4emu.decode.nodes import Command
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace.gl_notes import UNKNOWN, GlNote, NoteKind
from gen4emu.trace.gl_notes import NoteKind as K

TRIANGLES, STRIP, RECTANGLES = 4, 5, 15


def call(topology: int, vertices: int, instances: int = 1, draws: int = 1, thread: int = 0) -> GlNote:
    return GlNote(K.DRAW, thread, (topology, vertices, instances, draws))


def push(name: str, thread: int = 0) -> GlNote:
    return GlNote(K.PUSH, thread, (0, 0), name)


def pop(thread: int = 0) -> GlNote:
    return GlNote(K.POP, thread)


def submit(gl: GlCalls, *shapes: tuple[int, int], first: int = 0) -> list[str]:
    """A batch of 3DPRIMITIVEs with (topology, vertices)."""
    decoder = Decoder(BY_NAME["g45"])
    words = [word for topology, vertices in shapes for word in (0x7B000004 | topology << 10, vertices, 0, 1, 0, 0)]
    decoder.memory.write(0x10000, b"".join(word.to_bytes(4, "little") for word in [*words, 0x05000000, 0]))
    number = first
    for item in decoder.batch(0x10000):
        if isinstance(item, Command):
            if item.body.name == "3DPRIMITIVE":
                item.draw, number = number, number + 1
            gl.command(item)
    return list(gl.submission_ended())


def paths(gl: GlCalls) -> dict[int, tuple[str, bool]]:
    return {draw: ("/".join(group.path), group.exact) for draw, group in gl.groups.items()}


def test_rectangles_and_workarounds_of_the_driver_are_left_out() -> None:
    gl = GlCalls()
    list(gl.add([push("a"), call(TRIANGLES, 3), pop(), push("b"), call(STRIP, 4), pop()]))
    assert submit(gl, (1, 0), (RECTANGLES, 3), (4, 3), (RECTANGLES, 3), (5, 4)) == ["draw 2: a", "draw 4: b"]
    assert paths(gl) == {2: ("a", True), 4: ("b", True)}


def test_calls_that_drew_nothing_leave_the_others_likely() -> None:
    gl = GlCalls()
    list(gl.add([push("a"), call(TRIANGLES, 3), pop(), push("b"), call(STRIP, 5), pop(),
                 push("c"), call(TRIANGLES, 9), pop()]))
    assert submit(gl, (4, 3), (4, 9)) == ["draw 0: a (likely)", "draw 1: c (likely)"]


def test_equal_numbers_of_other_shapes_are_not_exact() -> None:
    gl = GlCalls()
    list(gl.add([push("a"), call(TRIANGLES, 3), pop(), push("b"), call(TRIANGLES, 6), pop()]))
    submit(gl, (4, 3), (4, 7))
    assert paths(gl) == {0: ("a", False)}


def test_a_draw_that_fits_no_call_belongs_to_its_neighbours_if_they_agree() -> None:
    gl = GlCalls()
    list(gl.add([push("a"), call(TRIANGLES, 3), call(TRIANGLES, 6), call(TRIANGLES, 9), pop(), call(STRIP, 4)]))
    submit(gl, (4, 3), (4, 5), (4, 1), (4, 9), (5, 7), (5, 4))
    assert paths(gl) == dict.fromkeys(range(4), ("a", False))


def test_one_group_for_all_calls_needs_no_shapes() -> None:
    gl = GlCalls()
    list(gl.add([push("a"), call(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN), pop()]))
    submit(gl, (4, 3), (4, 5))
    assert paths(gl) == {0: ("a", False), 1: ("a", False)}


def test_counts_in_buffers_fit_any_draw() -> None:
    gl = GlCalls()
    list(gl.add([push("a"), call(TRIANGLES, UNKNOWN, UNKNOWN), pop(), push("b"), call(TRIANGLES, 3), pop()]))
    submit(gl, (4, 30), (4, 3))
    assert paths(gl) == {0: ("a", True), 1: ("b", True)}


def test_calls_wait_for_the_next_submission_that_draws() -> None:
    gl = GlCalls()
    list(gl.add([push("a"), call(TRIANGLES, 3)]))
    assert submit(gl) == []
    list(gl.add([pop(), call(TRIANGLES, 6)]))
    submit(gl, (4, 3), (4, 6))
    assert paths(gl) == {0: ("a", True)}


def test_each_thread_has_groups_of_its_own() -> None:
    gl = GlCalls()
    list(gl.add([push("a", 1), push("b", 2), call(TRIANGLES, 3, thread=2), call(TRIANGLES, 6, thread=1)]))
    submit(gl, (4, 3), (4, 6))
    assert paths(gl) == {0: ("b", True), 1: ("a", True)}


def test_pops_beyond_the_outermost_group_and_deep_pushes_are_harmless() -> None:
    gl = GlCalls()
    list(gl.add([pop(), pop(), *(push(str(i)) for i in range(100)), *(pop() for _ in range(99)), call(TRIANGLES, 3)]))
    submit(gl, (4, 3))
    assert paths(gl) == {0: ("0", True)}


def test_a_program_keeps_what_it_was_linked_from() -> None:
    gl = GlCalls()
    source = GlNote(K.SOURCE, 0, (1, 0x8B31), "old\n")
    lines = list(gl.add([source, GlNote(K.COMPILE, 0, (1,)), GlNote(K.ATTACH, 0, (2, 1)), GlNote(K.LINK, 0, (2,)),
                         GlNote(K.SOURCE, 0, (1, 0x8B31), "new\n"), GlNote(K.LABEL, 0, (0x82E2, 2), "p")]))
    assert lines == ['program 2 "p": vertex shader 1']
    assert [s.source for s in gl.programs[0].shaders] == ["old\n"]


@pytest.mark.parametrize("kind", list(NoteKind))
def test_notes_about_unknown_objects_are_harmless(kind: NoteKind) -> None:
    gl = GlCalls()
    list(gl.add([GlNote(kind, 9, (0xFFFFFFFF,) * 4, "x")]))
    submit(gl, (4, 3))
