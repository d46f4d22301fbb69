"""Captures decode without a complaint, and the summary says what is in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.decode import Document, Kernel, Note, Options, State, summarize
from gen4emu.decode.select import at, only
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.harness.batch import commands, diagnostics, names, nodes, states

TRACES = Path(__file__).parents[2] / "traces"
ALL = sorted(TRACES.glob("*.aub*"))
TRIANGLE = TRACES / "triangle-g4x.aub.xz"


def decoded(path: Path) -> Document:
    opened = trace.open(path)
    return Document(opened, file=path.name, container=opened.kind)


@pytest.mark.parametrize("path", ALL, ids=lambda p: p.name)
def test_no_diagnostics_no_unknown_command_no_lost_pointer(path: Path) -> None:
    items = list(decoded(path))
    assert diagnostics(items) == []
    assert not [n for n in names(items) if n.startswith("UNKNOWN")]
    assert not [i for i in items if isinstance(i, Note) and i.kind in ("warning", "missing")]
    assert names(items)[-1] == "MI_BATCH_BUFFER_END"
    kernels = [n for n in nodes(items) if isinstance(n, Kernel)]
    assert all(k.code.complete for k in kernels)


@pytest.mark.parametrize("path", ALL, ids=lambda p: p.name)
def test_kernels_assemble_from_the_text_shown(path: Path) -> None:
    gen = Gen.CTG if "g4x" in path.name else Gen.CL
    for node in nodes(list(decoded(path))):
        if isinstance(node, Kernel) and node.first:
            rows = [row for line in node.code.lines for row in line.split("\n")]
            text = "\n".join(row if row.endswith(":") else row[6:] for row in rows)
            assert assemble(text, gen) == node.code.code


def test_what_the_triangle_capture_holds() -> None:
    summary = summarize(decoded(TRIANGLE))
    assert summary.trace is not None and summary.trace.device is not None
    assert (summary.trace.device.name, summary.trace.application) == ("gm45", "glscenes")
    assert (summary.tally.submissions, summary.tally.commands, summary.tally.errors) == (1, 45, 0)
    assert dict(summary.topologies) == {"RECTLIST": 2, "TRILIST": 1}
    assert summary.vertices == 9
    found = {(s.address, s.what, s.format, s.size, s.tiling) for s in summary.surfaces}
    assert found == {
        (0x00113000, "render target", "B8G8R8A8_UNORM", "256x256", "X"),
        (0x00113000, "texture", "B8G8R8A8_UNORM", "256x256", "X"),
        (0x00154000, "depth buffer", "D24_UNORM_S8_UINT", "256x256", "Y"),
        (0x00397000, "render target", "R8G8B8A8_UNORM", "256x256", "linear"),
    }
    assert {stage for k in summary.kernels.values() for stage in k["stages"]} == {"vs", "clip", "sf", "ps"}


def test_memory_map_of_the_triangle_capture() -> None:
    document = decoded(TRIANGLE)
    for _ in document:
        pass
    assert (0x00100000, 0x00101000) in {(start, end) for start, end, _ in document.written}


def test_only_keeps_what_has_the_name() -> None:
    items = list(only(decoded(TRIANGLE), ["3DPRIMITIVE"]))
    assert names(items) == ["3DPRIMITIVE"] * 3
    items = list(only(decoded(TRIANGLE), ["surface_*"]))
    assert set(names(items)) == {"3DPRIMITIVE"}
    assert all(c.brief for c in commands(items))
    assert len(states(items, "SURFACE_STATE")) == 4
    assert names(list(only(decoded(TRIANGLE), ["diagnostic"]))) == []
    kernels = [n for n in nodes(list(only(decoded(TRIANGLE), ["kernel"]))) if isinstance(n, Kernel)]
    assert len({k.code.number for k in kernels}) == 7


def test_at_keeps_what_lives_there_and_what_points_there() -> None:
    items = list(at(decoded(TRIANGLE), 0x001092E4))
    assert [s.title for s in nodes(items) if isinstance(s, State)] == ["VS_STATE"]
    items = list(at(decoded(TRIANGLE), 0x001092E0))
    assert [(c.body.name, c.brief) for c in commands(items)] == [("3DSTATE_PIPELINED_POINTERS", False)]
    items = list(at(decoded(TRIANGLE), 0x00100008))
    assert names(items) == ["STATE_SIP"]


def test_one_place_of_memory_as_a_block() -> None:
    (_, holder) = list(decoded(TRIANGLE).block("SURFACE_STATE", 0x00109260))
    (state,) = states([holder], "SURFACE_STATE")
    assert (state.body.view.width, state.body.view.surface_pitch) == (256, 1024)


def test_forgotten_memory_is_missed_and_kept_memory_is_not() -> None:
    """Memory lasts between submissions (docs/decisions.md 40); aubinator drops it."""
    opened = list(trace.open(TRIANGLE))
    again = [*opened, next(e for e in opened if isinstance(e, trace.events.Submission))]
    assert diagnostics(list(Document(again))) == []
    found = diagnostics(list(Document(again, options=Options(forget=True))))
    assert [d.rule for d in found] == ["batch-end"]


def test_strict_page_table_hides_what_is_not_mapped() -> None:
    """Memory writes map their own pages; no other pages exist."""
    found = diagnostics(list(Document(trace.open(TRIANGLE), options=Options(strict_pte=True))))
    assert found == []
