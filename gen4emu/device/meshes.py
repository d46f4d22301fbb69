"""The vertices and objects of the last draw after each stage of the front end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import MeshStage

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

LIMIT = int(lib.G4_MESH_LIMIT)  # vertices of a stage
NONE = int(lib.G4_MESH_NONE)


@dataclass(slots=True)
class MeshRecords:
    """One stage; native/api/mesh.h says what the members of vertices and objects are."""

    vertices: npt.NDArray[np.void]
    objects: npt.NDArray[np.void]
    corners: npt.NDArray[np.uint32]
    rows: npt.NDArray[np.uint32]  # of URB entries, eight dwords each
    complete: bool  # False: the draw has more vertices than are recorded


def mesh_records(native: Any) -> dict[MeshStage, MeshRecords]:
    """The stages that have vertices; {} unless they are recorded."""
    import numpy as np

    vertex = np.dtype({"names": ["number", "instance", "position", "window", "has_window", "sources", "source",
                                 "first_row", "rows"],
                       "formats": ["u4", "u4", ("f4", 4), ("f4", 3), "?", "u1", ("u4", 3), "u4", "u4"],
                       "offsets": [ffi.offsetof("struct g4_mesh_vertex", name) for name in (
                           "number", "instance", "position", "window", "has_window", "sources", "source", "first_row",
                           "rows")],
                       "itemsize": ffi.sizeof("struct g4_mesh_vertex")})
    item = np.dtype({"names": ["first", "count", "set_up"], "formats": ["u4", "u4", "?"],
                     "offsets": [ffi.offsetof("struct g4_mesh_object", name) for name in ("first", "count", "set_up")],
                     "itemsize": ffi.sizeof("struct g4_mesh_object")})
    found = {}
    records = ffi.new("struct g4_mesh_records *")

    def array(pointer: Any, count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        return np.frombuffer(ffi.buffer(pointer, count * dtype.itemsize), dtype).copy() if count \
            else np.zeros(0, dtype)

    for stage in MeshStage:
        if lib.g4_device_mesh(native, stage, records) and records.vertices:
            found[stage] = MeshRecords(
                array(records.vertex, records.vertices, vertex), array(records.object, records.objects, item),
                array(records.corner, records.corners, np.dtype("u4")),
                array(records.row, 8 * records.rows, np.dtype("u4")).reshape(-1, 8), bool(records.complete))
    return found
