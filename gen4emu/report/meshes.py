"""The vertices and objects of a draw: as vertex fetch reads them, and after each stage that executed them.

A mesh is a list of stages.  Each has a table of vertices, the objects that connect its rows, the columns of positions,
and for each row the rows of the stage before that it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from gen4emu.core_enums import MeshStage
from gen4emu.decode.nodes import Command
from gen4emu.decode.plain_data import fetched
from gen4emu.decode.pointers import PointerFollower
from gen4emu.device.device import Device
from gen4emu.device.meshes import LIMIT, NONE, MeshRecords
from gen4emu.device.place import DrawKind
from gen4emu.hw.gen import Gen
from gen4emu.selection import Selection

MOST_VERTICES = LIMIT  # of a draw
MESH_VALUES = 300_000  # attributes of all meshes before shaders, and of all after them, unless the user names draws
FETCHED = "vertex fetch"
_COMPONENTS = "xyzw"
_HEADER_SLOTS = 2  # of four dwords; the second one is the position
_MOST_SLOTS = 14

Mesh = dict[str, Any]
Stage = dict[str, Any]
_Column = tuple[str, list[Any]]


def fetched_stage(follower: PointerFollower, draw: Command, topology: str) -> Stage | None:
    """The vertices that vertex fetch reads for the first instance; None if a command reads none from memory."""
    found = fetched(follower, draw, MOST_VERTICES)
    order = [i for data in found if data.name == "INDEX_DATA" for row in data.values for i in row]
    attributes: dict[int, list[float | int | str]] = {}
    columns = ["vertex"]
    position: list[int | None] | None = None
    most = max((len(data.values) for data in found if data.name == "VERTEX_DATA"), default=0)
    for data in found:
        if data.name != "VERTEX_DATA" or len(data.values) < min(2, most):
            continue  # one row for all vertices: of an instance, or constant
        for number, element in enumerate(data.values[0]["elements"]):
            width = len(element or ())
            if width >= 3 and position is None:
                position = [len(columns), len(columns) + 1, None]
            columns += [f"{data.role.removeprefix('buffer ')}.{number} {name}" for name in _COMPONENTS[:width]]
        for row in data.values:
            values = [_number(value) for element in row["elements"] for value in element or ()]
            attributes.setdefault(row["vertex"], [row["vertex"]]).extend(values)
    rows = [row for row in attributes.values() if len(row) == len(columns)]
    if not rows:
        return None
    if position is None and len(columns) > 2:
        position = [1, 2, None]
    at = {row[0]: i for i, row in enumerate(rows)}
    start = int(draw.body.view.start_vertex_location)
    base = int(draw.body.view.base_vertex_location) if order else 0
    count = int(draw.body.view.vertex_count_per_instance)
    sequence = [i + base for i in order] or list(range(start, start + min(count, MOST_VERTICES)))
    runs = [list(run) for is_vertex, run in groupby(sequence, at.__contains__) if is_vertex]  # a cut index is none
    objects = [{"vertices": [at[v] for v in vertices], "culled": 0}
               for run in runs for vertices in assembled(run, topology)]
    left = f", the first {len(sequence)} of {count} vertices" if count > len(sequence) else ""
    return {"name": FETCHED, "columns": columns, "rows": rows, "objects": objects, "position": position, "flip": True,
            "from": [[] for _ in rows],
            "note": f"{_counted(len(rows), len(objects))}, before the vertex shader{left}"}


class ExecutedMeshes:
    """Takes the meshes of draws from the device: of those that the user names, or until they have enough values."""

    def __init__(self, full: Selection | None) -> None:
        self._full = full
        self._values = 0
        self._stages: dict[int, list[Stage]] = {}

    def begin(self, device: Device, number: int) -> None:
        """Draws that are shown begin, with this one."""
        device.record_meshes(self._wants(number))

    def end(self, device: Device) -> None:
        """Draws that are not shown begin."""
        device.record_meshes(False)

    def draw_done(self, device: Device, number: int) -> None:
        """Take the mesh of a draw that is shown."""
        if self._wants(number) and device.numbers.kind is DrawKind.PRIMITIVE:
            stages = executed_stages(device.mesh_records(), device.info.gen)
            self._values += sum(len(stage["rows"]) * len(stage["columns"]) for stage in stages)
            if stages:
                self._stages[number] = stages
        device.record_meshes(self._wants(number + 1))

    def _wants(self, number: int) -> bool:
        return self._values < MESH_VALUES if self._full is None else number in self._full

    def mesh(self, number: int, before: Stage | None) -> Mesh | None:
        """The mesh of a draw; `before`: its vertices as they are fetched."""
        return joined(before, self._stages.get(number, []))


def joined(before: Stage | None, stages: list[Stage]) -> Mesh | None:
    """A mesh of the vertices as they are fetched and after the stages that executed them; None without any."""
    if before is not None:
        rows = {row[0]: i for i, row in enumerate(before["rows"])}
        if stages:
            stages[0]["from"] = [[rows[row[0]]] if row[0] in rows else [] for row in stages[0]["rows"]]
        stages = [before, *stages]
    return {"stages": stages} if stages else None


def executed_stages(records: dict[MeshStage, MeshRecords], gen: Gen) -> list[Stage]:
    """The stages that executed a draw, in order."""
    found: list[Stage] = []
    numbers = _Numbers([], [])
    for stage, one in records.items():
        kept, objects = _kept(one, stage is MeshStage.VS)
        vertices = one.vertices[kept.first]
        sources = _sources(stage, vertices, numbers)
        columns = [*_origin(stage, vertices, kept, objects, sources), *_positions(stage, vertices, gen),
                   *_slots(one, vertices)]
        names = [name for name, _ in columns]
        at = names.index("x")
        window = names.index("window x") if "window x" in names else None
        divisor = at + 3 if names[at + 3] == "w" else None
        dropped = [int(stage is MeshStage.CLIP and not set_up) for set_up in one.objects["set_up"].tolist()]
        found.append({
            "name": f"after {stage.name}", "columns": names,
            "rows": [list(row) for row in zip(*(values for _, values in columns), strict=True)],
            "objects": [{"vertices": vertices, "culled": culled}
                        for vertices, culled in zip(objects, dropped, strict=True)],
            "position": [at, at + 1, divisor] if window is None else [window, window + 1, None],
            "flip": window is None, "from": sources,
            "note": _counted(len(vertices), len(objects))
                    + (f", {len(objects) - sum(dropped)} of them set up" if stage is MeshStage.CLIP else "")
                    + ("" if one.complete else f", the first ones of more than {LIMIT} vertices")})
        numbers = _Numbers(kept.number, objects)
    return found


@dataclass(slots=True)
class _Numbers:
    """The stage before: rows by the number of a recorded vertex, and of its objects."""

    rows: list[int]
    objects: list[list[int]]


@dataclass(slots=True)
class _Kept:
    """The vertices that are different."""

    first: list[int]  # by row, the number of the recorded vertex
    number: list[int]  # by recorded vertex, the row


def _kept(records: MeshRecords, merge: bool) -> tuple[_Kept, list[list[int]]]:
    """The vertices, and the objects as rows.  Ranges of a draw record a vertex that they share twice."""
    kept = _Kept([], [])
    known: dict[tuple[int, int, bytes], int] = {}
    for i, vertex in enumerate(records.vertices):
        first = int(vertex["first_row"])
        key = (int(vertex["number"]), int(vertex["instance"]),
               records.rows[first:first + int(vertex["rows"])].tobytes()) if merge else (i, 0, b"")
        row = known.setdefault(key, len(kept.first))
        if row == len(kept.first):
            kept.first.append(i)
        kept.number.append(row)
    corners = records.corners.tolist()
    objects = [[kept.number[c] for c in corners[first:first + count]]
               for first, count in zip(records.objects["first"].tolist(), records.objects["count"].tolist(),
                                       strict=True)]
    return kept, objects


def _sources(stage: MeshStage, vertices: npt.NDArray[np.void], before: _Numbers) -> list[list[int]]:
    """For each row, those of the stage before."""
    if stage is MeshStage.VS:
        return [[] for _ in vertices]
    if stage is MeshStage.CLIP:
        return [[before.rows[i] for i in sources[:count]] for sources, count in zip(
            vertices["source"].tolist(), vertices["sources"].tolist(), strict=True)]
    return [[] if number == NONE else before.objects[number] for number in vertices["number"].tolist()]


def _origin(stage: MeshStage, vertices: npt.NDArray[np.void], kept: _Kept, objects: list[list[int]],
            sources: list[list[int]]) -> list[_Column]:
    if stage is MeshStage.CLIP:
        of = {row: i for i, rows in enumerate(objects) for row in rows}
        return [("object", [of.get(row, "") for row in range(len(kept.first))]),
                ("row before", [rows[0] if len(rows) == 1 else "cut" if rows else "new" for rows in sources])]
    numbers = vertices["number"].tolist()
    if stage is not MeshStage.VS:
        return [("of object", ["" if number == NONE else number for number in numbers])]
    found: list[_Column] = [("vertex", numbers)]
    if vertices["instance"].any():
        found.append(("instance", vertices["instance"].tolist()))
    return found


def _positions(stage: MeshStage, vertices: npt.NDArray[np.void], gen: Gen) -> list[_Column]:
    divided = stage is MeshStage.CLIP or gen in Gen.ALL4
    names = ("x", "y", "z", "1/w" if divided else "w")
    found: list[_Column] = [(name, _shown(vertices["position"][:, i])) for i, name in enumerate(names)]
    if vertices["has_window"].any():
        window = np.where(vertices["has_window"][:, np.newaxis], vertices["window"], np.float32("nan"))
        found += [(f"window {name}", _shown(window[:, i])) for i, name in enumerate("xyz")]
    return found


def _slots(records: MeshRecords, vertices: npt.NDArray[np.void]) -> list[_Column]:
    """The attributes after the position, but for slots that are zero everywhere."""
    most = int(vertices["rows"].max())
    rows = np.zeros((len(vertices), most, 8), np.uint32)
    for row in range(most):
        has = vertices["rows"] > row
        rows[has, row] = records.rows[vertices["first_row"][has] + row]
    slots = rows.reshape(len(vertices), 2 * most, 4)
    used = [slot for slot in range(_HEADER_SLOTS, 2 * most) if slots[:, slot].any()][:_MOST_SLOTS]
    return [(f"slot {slot} {name}", _shown(np.ascontiguousarray(slots[:, slot, i]).view(np.float32)))
            for slot in used for i, name in enumerate(_COMPONENTS)]


def _shown(values: npt.NDArray[np.float32]) -> list[float | str]:
    """The shortest numbers that stand for these."""
    return [_number(float(text)) for text in values.astype(str).tolist()]


def _number(value: float) -> float | str:
    """JSON has no NaN."""
    return value if abs(value) < float("inf") else str(value)


def assembled(vertices: Sequence[int], topology: str) -> list[tuple[int, ...]]:
    """The objects of a topology, without adjacent vertices; [] for one that is not drawn as a wire frame."""
    n = len(vertices)
    triples = [tuple(vertices[i:i + 3]) for i in range(n - 2)]
    if topology in ("TRILIST", "RECTLIST"):
        return triples[::3]
    if topology.startswith("TRISTRIP") and "ADJ" not in topology:
        return triples
    if topology in ("TRIFAN", "TRIFAN_NOSTIPPLE"):
        return [(vertices[0], vertices[i], vertices[i + 1]) for i in range(1, n - 1)]
    if topology == "POLYGON":
        return [tuple(vertices)] if n > 2 else []
    if topology == "QUADLIST":
        return [tuple(vertices[i:i + 4]) for i in range(0, n - 3, 4)]
    if topology == "QUADSTRIP":
        return [(vertices[i], vertices[i + 1], vertices[i + 3], vertices[i + 2]) for i in range(0, n - 3, 2)]
    if topology == "LINELIST":
        return [tuple(vertices[i:i + 2]) for i in range(0, n - 1, 2)]
    if topology.startswith("LINESTRIP") and "ADJ" not in topology:
        return [tuple(vertices[i:i + 2]) for i in range(n - 1)]
    if topology == "LINELOOP":
        return [(vertices[i], vertices[(i + 1) % n]) for i in range(n)] if n > 1 else []
    return []


def _counted(vertices: int, objects: int) -> str:
    return f"{vertices} {'vertex' if vertices == 1 else 'vertices'}, {objects} object{'s' * (objects != 1)}"
