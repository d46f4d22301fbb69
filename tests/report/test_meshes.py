"""Meshes: what vertex fetch reads, and the objects of each topology."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

import gen4emu
from gen4emu.report.meshes import assembled
from gen4emu.report.record import Choices, Recorder
from gen4emu.selection import Selection
from gen4emu.trace.reader import open as open_trace
from tests.harness.joined import join

GEARS = Path(__file__).parents[2] / "traces" / "gears-g4x.aub.xz"


def test_rows_are_the_vertices_in_memory() -> None:
    found = mesh(3)[0]
    with gen4emu.open(GEARS) as trace:
        buffer = trace.state(3)["3DSTATE_VERTEX_BUFFERS"].body.view.vertex_buffers[0]
        data = trace.at(draw=3).read(int(buffer.buffer_starting_address), 960 * int(buffer.buffer_pitch))
    assert found["columns"][:4] == ["vertex", "0.0 x", "0.0 y", "0.0 z"] and len(found["rows"]) == 960
    for number, x, y, z, *_ in found["rows"]:
        assert (x, y, z) == struct.unpack_from("<3f", data, number * int(buffer.buffer_pitch))
    assert [o["vertices"] for o in found["objects"][:2]] == [[0, 1, 2], [3, 4, 5]] and len(found["objects"]) == 320


def test_the_user_selects_the_draws() -> None:
    chunks = Recorder(open_trace(str(GEARS), again=True), None, "gears",
                      Choices(full=Selection.parse("2,4"))).record().chunks
    assert [name for name in chunks if name.startswith("mesh-")] == ["mesh-2", "mesh-4"]


def test_draws_that_are_not_shown_take_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gen4emu.report.states.MESH_VALUES", 1)  # the mesh of one draw
    trace = open_trace(join(tmp_path / "app.g4c", "triangle-g4x", "triangle-g4x"), again=True)
    chunks = Recorder(trace, None, "triangles", Choices(frames=Selection.parse("1"))).record().chunks
    meshes = [json.loads(zlib.decompress(base64.b64decode(text)))["stages"] for name, text in chunks.items()
              if name.startswith("mesh-")]
    assert [stages[0]["name"] for stages in meshes].count("vertex fetch") == 1


def mesh(number: int, **choices: Any) -> list[dict[str, Any]]:
    """The stages of a draw, as the page gets them."""
    chunks = Recorder(open_trace(str(GEARS), again=True), None, "gears", Choices(**choices)).record().chunks
    stages: list[dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(chunks[f"mesh-{number}"])))["stages"]
    return stages


def test_a_vertex_can_be_followed_through_the_stages() -> None:
    fetched, shaded, clipped = mesh(3)
    assert [stage["name"] for stage in (fetched, shaded, clipped)] == ["vertex fetch", "after VS", "after CLIP"]
    assert len(shaded["rows"]) == len(clipped["rows"]) == 960, "vertices that ranges share come once"
    assert shaded["from"] == clipped["from"] == [[i] for i in range(960)]
    assert sum(one["culled"] for one in clipped["objects"]) == 1 and len(clipped["objects"]) == 320
    for stage in (shaded, clipped):
        at = stage["columns"].index("window x")
        assert stage["position"] == [at, at + 1, None] and not stage["flip"]
    at = [stage["columns"].index("window x") for stage in (shaded, clipped)]
    assert [row[at[0]:at[0] + 3] for row in shaded["rows"]] == [row[at[1]:at[1] + 3] for row in clipped["rows"]]
    assert [row[1] for row in clipped["rows"]] == list(range(960))


def test_executed_meshes_are_those_that_the_user_selects() -> None:
    chunks = Recorder(open_trace(str(GEARS), again=True), None, "gears",
                      Choices(full=Selection.parse("2,4"))).record().chunks
    assert sorted(name for name in chunks if name.startswith("mesh-")) == ["mesh-2", "mesh-4"]
    assert len(mesh(4, full=Selection.parse("2,4"))) == 3


@pytest.mark.parametrize(("topology", "objects"), [
    ("TRILIST", [(0, 1, 2), (3, 4, 5)]), ("RECTLIST", [(0, 1, 2), (3, 4, 5)]),
    ("TRISTRIP", [(0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4, 5)]),
    ("TRIFAN", [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]), ("POLYGON", [(0, 1, 2, 3, 4, 5)]),
    ("QUADLIST", [(0, 1, 2, 3)]), ("QUADSTRIP", [(0, 1, 3, 2), (2, 3, 5, 4)]),
    ("LINELIST", [(0, 1), (2, 3), (4, 5)]), ("LINESTRIP", [(i, i + 1) for i in range(5)]),
    ("LINELOOP", [*((i, i + 1) for i in range(5)), (5, 0)]), ("POINTLIST", []), ("TRISTRIP_ADJ", []),
])
def test_objects_of_topologies(topology: str, objects: list[tuple[int, ...]]) -> None:
    assert assembled(range(6), topology) == objects
    assert assembled([], topology) == []


def test_one_object_is_no_plural() -> None:
    """The rectangle with which the driver clears."""
    trace = GEARS.parent / "later" / "triangle-kbl.aub.xz"
    chunks = Recorder(open_trace(str(trace), again=True), None, "triangle", Choices()).record().chunks
    stages = json.loads(zlib.decompress(base64.b64decode(chunks["mesh-1"])))["stages"]
    assert stages[-1]["note"] == "3 vertices, 1 object, 1 of them set up"
