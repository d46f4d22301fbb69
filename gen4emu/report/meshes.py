"""The vertices of a draw as vertex fetch reads them, with the objects that its topology makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from gen4emu.decode.nodes import Command
from gen4emu.decode.plain_data import fetched
from gen4emu.decode.pointers import PointerFollower

MOST_VERTICES = 10_000  # of a draw
_COMPONENTS = "xyzw"

Mesh = dict[str, Any]


def mesh(follower: PointerFollower, draw: Command, topology: str) -> Mesh | None:
    """The mesh of a primitive command; None if it reads no vertices from memory."""
    found = fetched(follower, draw, MOST_VERTICES)
    order = [i for data in found if data.name == "INDEX_DATA" for row in data.values for i in row]
    attributes: dict[int, list[float | int | str]] = {}
    columns = ["vertex"]
    position: list[int | None] | None = None
    for data in found:
        if data.name != "VERTEX_DATA" or not data.values or len(data.values) < min(2, len(attributes)):
            continue  # of an instance: one row for all vertices
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
    return {"columns": columns, "rows": rows, "objects": objects,
            "note": f"{len(rows)} vertices, {len(objects)} objects, before the vertex shader{left}",
            "stages": [{"name": "vertex fetch", "columns": list(range(len(columns))), "position": position,
                        "flip": True}]}


def _number(value: float | int) -> float | int | str:
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
