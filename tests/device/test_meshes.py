"""Recorded meshes: the vertices and objects of a draw after each stage of the front end."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.recfunctions import repack_fields

from gen4emu._native import ffi, lib
from gen4emu.core_enums import MeshStage
from gen4emu.device.counters import CountedDraw
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.memory import Missing
from gen4emu.device.meshes import LIMIT, NONE, MeshRecords
from gen4emu.device.options import Options
from gen4emu.device.place import DrawKind
from gen4emu.device.replay import Replay
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.trace import open as open_trace
from tests.harness.counted_replays import CAPTURES, SQUARE, TRACES, uncounted_pictures
from tests.harness.scene import Scene, vertex
from tests.harness.stages_gen7 import Stages, clear, end_gs, put, start, write_row
from tests.harness.tessellation import DOMAIN, PATCHES_OF_3, TRI, hull

Meshes = dict[MeshStage, MeshRecords]
TRIANGLE = TRACES / "later" / "triangle-ivb.aub.xz"


def executed(path: Path, listener: Callable[[Device], Listener] | None = None, **options: Any) -> list[Meshes]:
    """The meshes of the primitive commands of a trace."""
    found = []

    def begin(device: Device) -> None:
        device.record_meshes()
        if listener is not None:
            device.add_listener(listener(device))

    def take(_: int) -> None:
        assert run.device is not None
        if run.device.numbers.kind is DrawKind.PRIMITIVE:
            found.append(run.device.mesh_records())

    run = Replay(open_trace(str(path)), None, Options(**options), on_start=begin, on_draw=take)
    for _ in run.frames():
        pass
    run.close()
    return found


def same(left: MeshRecords, right: MeshRecords) -> bool:
    def members(records: MeshRecords) -> list[bytes]:
        """Without the padding between them."""
        return [*(repack_fields(one).tobytes() for one in (records.vertices, records.objects)),
                records.corners.tobytes(), records.rows.tobytes()]

    return members(left) == members(right) and left.complete == right.complete


def corners(records: MeshRecords) -> list[list[int]]:
    return [records.corners[first:first + count].tolist() for first, count, _ in records.objects.tolist()]


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name.split(".")[0])
def test_meshes_agree_with_the_counters_for_any_number_of_workers(path: Path) -> None:
    counted: list[CountedDraw] = []
    run = Replay(open_trace(str(path)), None, Options(), on_start=lambda d: setattr(d, "counting", True),
                 on_counters=counted.append)
    for _ in run.frames():
        pass
    run.close()
    draws = [one.counters for one in counted if one.kind is DrawKind.PRIMITIVE]
    one, three = executed(path, workers=1), executed(path, workers=3)
    assert len(one) == len(three) == len(draws)
    for meshes, others, counters in zip(one, three, draws, strict=True):
        assert meshes.keys() == others.keys() and all(same(meshes[stage], others[stage]) for stage in meshes)
        clipped = meshes.get(MeshStage.CLIP)
        if clipped is None:
            assert counters.objects.objects == 0
            continue
        assert clipped.complete and len(clipped.objects) == counters.objects.objects
        assert int(clipped.objects["set_up"].sum()) == counters.objects.set_up


def test_pictures_do_not_change() -> None:
    path = TRACES / "gears-g4x.aub.xz"
    run = Replay(open_trace(str(path)), None, Options(workers=2), on_start=Device.record_meshes)
    found = b""
    for frame in run.frames():
        assert run.device is not None
        found += b"".join(run.device.memory.read(t.address, t.pitch * t.height, Missing.ZERO) for t in frame.targets)
    run.close()
    assert found == uncounted_pictures(path)


def test_positions_become_those_of_the_window() -> None:
    meshes = executed(TRIANGLE)[-1]
    shaded, clipped = meshes[MeshStage.VS], meshes[MeshStage.CLIP]
    places = [(-0.8, -0.7, 0, 1), (0.9, -0.5, 0, 1), (0.1, 0.85, 0, 1)]
    assert np.allclose(shaded.vertices["position"], places)
    assert shaded.vertices["number"].tolist() == [0, 1, 2] and corners(shaded) == [[0, 1, 2]]
    for place, corner in zip(places, clipped.vertices, strict=True):
        assert np.allclose(corner["window"], [32 + 32 * place[0], 32 + 32 * place[1], 0.5], atol=1 / 256)
    assert clipped.vertices["sources"].tolist() == [1, 1, 1]
    assert clipped.vertices["source"][:, 0].tolist() == [0, 1, 2]
    colors = shaded.rows[shaded.vertices["first_row"] + 1, :4].view(np.float32)
    assert colors.tolist() == [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]


@dataclass
class _Nearer(Listener):
    """Moves a vertex of the triangle in front of the near plane."""

    device: Device

    def draw_started(self, words: Any) -> None:
        address = int(self.device.state.gen7.vertex_buffer[0][1])
        self.device.memory.write(address + 2 * 32, struct.pack("<4f", 0.1, 0.85, -3.0, 1.0))


def test_corners_of_a_cut_object_lead_to_its_vertices() -> None:
    clipped = executed(TRIANGLE, _Nearer)[-1][MeshStage.CLIP]
    assert corners(clipped) == [[0, 1, 2], [3, 4, 5]]  # a quad without its far corner
    sources = [vertex["source"][:vertex["sources"]].tolist() for vertex in clipped.vertices]
    whole = [one for one in sources if len(one) == 1]
    assert {tuple(one) for one in whole} == {(0,), (1,)} and len(whole) == 3
    assert [one for one in sources if len(one) != 1] == [[0, 1, 2]] * 3
    cut = clipped.vertices[[len(one) == 3 for one in sources]]
    assert np.allclose(cut["position"][:, 2], -1) and np.allclose(cut["window"][:, 2], 0)


def test_points_of_a_domain_know_their_patch_and_shaded_objects_theirs() -> None:
    machine = Stages()
    machine.device.record_meshes()
    emit = start(20) + clear(21) + put("g21.4", "g2.4") + write_row(20, 0) + end_gs(20, 1)
    machine.draw(PATCHES_OF_3, 6, machine.tessellation(hull(2, 2, 2, 2), DOMAIN, **TRI), machine.gs(emit))
    found = machine.device.mesh_records()
    assert list(found) == [MeshStage.VS, MeshStage.DS, MeshStage.GS]  # rasterization is off
    assert corners(found[MeshStage.VS]) == [[0, 1, 2], [3, 4, 5]]
    assert found[MeshStage.VS].vertices["position"][:, :2].tolist() == [[i, i + 0.25] for i in range(6)]
    domain = found[MeshStage.DS]
    assert domain.vertices["number"].tolist() == [0] * 7 + [1] * 7 and len(domain.objects) == 12
    assert {i for rows in corners(domain)[6:] for i in rows} == set(range(7, 14))
    shaded = found[MeshStage.GS]
    assert shaded.vertices["number"].tolist() == list(range(12)) and len(shaded.objects) == 12
    first = [domain.vertices["position"][rows[0]][0] for rows in corners(domain)]
    assert shaded.vertices["position"][:, 0].tolist() == first


def test_the_records_end_at_the_limit() -> None:
    made = Scene(options=Options(workers=2))
    made.device.record_meshes()
    made.draw(SQUARE * 4000, T.TRILIST)
    found = made.device.mesh_records()
    for records in found.values():
        assert not records.complete and LIMIT - 3 <= len(records.vertices) <= LIMIT
        assert int(records.corners.max()) < len(records.vertices)
    made.draw([vertex(8, 8), vertex(0, 8), vertex(0, 0)], T.TRILIST)
    found = made.device.mesh_records()
    assert all(records.complete and len(records.vertices) == 3 for records in found.values())


def test_instances_are_told_apart() -> None:
    made = Scene()
    made.device.record_meshes()
    made.draw(SQUARE, T.TRILIST, instance_count=2)
    shaded = made.device.mesh_records()[MeshStage.VS]
    assert shaded.vertices[["number", "instance"]].tolist() == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert NONE not in shaded.vertices["number"]


def test_nothing_is_recorded_unless_it_is_switched_on() -> None:
    made = Scene()
    made.draw(SQUARE, T.TRILIST)
    assert made.device.mesh_records() == {}
    records = ffi.new("struct g4_mesh_records *")
    made.device.record_meshes()
    assert not lib.g4_device_mesh(made.device.native, len(MeshStage), records)
    made.device.record_meshes(False)
    assert made.device.mesh_records() == {}
