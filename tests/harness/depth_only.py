"""A Kaby Lake that draws into a depth buffer alone."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from gen4emu.device.tiling import SurfaceLayout, Tiling
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.topology import PrimitiveTopology as Topology
from tests.harness.commands import Machine, Words, command

VERTICES, DYNAMIC, DEPTH = 0x40000, 0x50000, 0x60000
ZERO, SRC = 2, 1  # Vertex Component Control
SIDE = 32  # of the depth buffer
SLICE = 4 * SIDE * SIDE
ALWAYS = 0  # COMPAREFUNCTION
SHIFT = 8  # the translation of viewport 1


def corners(x1: float, y1: float, x2: float, y2: float) -> list[tuple[float, float]]:
    """A RECTLIST."""
    return [(x2, y2), (x1, y2), (x1, y1)]


class DepthOnly(Machine):
    """Depth 0.5 wherever a draw has pixels.  `change` overrides fields of commands by name; None leaves one out."""

    def __init__(self, **options: Any) -> None:
        super().__init__("kbl", **options)
        viewports = b"".join(block_named("SF_CLIP_VIEWPORT", self.gen).build(
            self.gen, viewport_matrix_element_m00=1.0, viewport_matrix_element_m11=1.0, viewport_matrix_element_m22=1.0,
            viewport_matrix_element_m30=float(SHIFT * i)) for i in range(2))
        self.device.memory.write(DYNAMIC, viewports)
        self.device.memory.write(DYNAMIC + 0x800, struct.pack("<4f", 0, 1, 0, 1))

    def draw(self, vertices: list[tuple[float, float]], topology: Topology = Topology.RECTLIST, *,
             header: tuple[int, int, int, int] = (0, 0, 0, 0), distances: list[float] | None = None, slice: int = 0,
             **change: dict[str, Any] | None) -> set[tuple[int, int]]:
        """The pixels of a slice; `distances` are clip distance 0 of each vertex."""
        self.device.memory.write(DEPTH, bytes(2 * SLICE))
        self.submit([(*position, 0.5) for position in vertices], topology, header=header, distances=distances, **change)
        layout = SurfaceLayout(DEPTH + slice * SLICE, 4 * SIDE, SIDE, SIDE, 4, Tiling.Y)
        found = np.frombuffer(layout.read(self.device.memory), np.float32).reshape(SIDE, SIDE)
        assert set(np.unique(found)) <= {0.0, 0.5}
        return {(int(x), int(y)) for y, x in np.argwhere(found == 0.5)}

    def submit(self, vertices: list[tuple[float, float, float]], topology: Topology = Topology.RECTLIST, *,
               header: tuple[int, int, int, int] = (0, 0, 0, 0), distances: list[float] | None = None,
               **change: dict[str, Any] | None) -> None:
        data = b"".join(struct.pack("<4I8f", *header, *position, 1, 0 if distances is None else distances[i], 1, 1, 1)
                        for i, position in enumerate(vertices))
        self.device.memory.write(VERTICES, data.ljust(0x1000, b"\0"))
        fields: dict[str, dict[str, Any]] = {
            "STATE_BASE_ADDRESS": {"dynamic_state_base_address": DYNAMIC,
                                   "dynamic_state_base_address_modify_enable": True},
            "3DSTATE_VERTEX_BUFFERS": {"vertex_buffers": [{
                "address_modify_enable": True, "buffer_pitch": 48, "buffer_starting_address": VERTICES,
                "buffer_size": 0x1000}]},
            "3DSTATE_VERTEX_ELEMENTS": {"vertex_elements": [
                {"valid": True, "source_element_format": code, "source_element_offset": 16 * i,
                 **{f"component_{c}_control": SRC for c in range(4)}}
                for i, code in enumerate((0x002, 0x000, 0x000))]},  # R32G32B32A32: UINT, FLOAT
            "3DSTATE_VF_TOPOLOGY": {"primitive_topology_type": topology},
            "3DSTATE_URB_VS": {"vs_urb_entry_allocation_size": 64, "vs_number_of_urb_entries": 64},
            "3DSTATE_CLIP": {},
            "3DSTATE_SF": {},
            "3DSTATE_RASTER": {"cull_mode": 1},
            "3DSTATE_STREAMOUT": {},
            "3DSTATE_DRAWING_RECTANGLE": {"clipped_drawing_rectangle_x_max": SIDE - 1,
                                          "clipped_drawing_rectangle_y_max": SIDE - 1},
            "3DSTATE_SAMPLE_MASK": {"sample_mask": 1},
            "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP": {"sf_clip_viewport_pointer": 0},
            "3DSTATE_VIEWPORT_STATE_POINTERS_CC": {"cc_viewport_pointer": 0x800},
            "3DSTATE_BLEND_STATE_POINTERS": {},
            "3DSTATE_WM_DEPTH_STENCIL": {"depth_test_enable": True, "depth_test_function": ALWAYS,
                                         "depth_buffer_write_enable": True},
            "3DSTATE_STENCIL_BUFFER": {},
            "3DSTATE_DEPTH_BUFFER": {
                "surface_type": 1, "surface_format": 1, "depth_write_enable": True, "width": SIDE, "height": SIDE,
                "depth": 2, "render_target_view_extent": 2, "surface_pitch": 4 * SIDE, "surface_qpitch": SIDE,
                "surface_base_address": DEPTH},
            "3DPRIMITIVE": {"vertex_count_per_instance": len(vertices), "instance_count": 1},
        }
        words: list[Words] = []
        for name, values in fields.items():
            changed = change.get(name.removeprefix("3DSTATE_").lower(), {})
            if changed is not None:
                words.append(command(name, self.gen, **values | changed))
        self.run(*words)
