"""Setup and rasterization alone: state as fields, vertices as tuples, objects and pixels as answers."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu._native import lib
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from tests.harness.native import ffi, harness

Fields = dict[str, Any]
STATE_OF = {"3DSTATE_DRAWING_RECTANGLE": "drawing_rectangle", "3DSTATE_LINE_STIPPLE": "line_stipple",
            "3DSTATE_AA_LINE_PARAMETERS": "aa_line", "3DSTATE_DEPTH_BUFFER": "depth_buffer",
            "3DSTATE_POLY_STIPPLE_OFFSET": "poly_stipple_offset",
            "3DSTATE_GLOBAL_DEPTH_OFFSET_CLAMP": "depth_offset_clamp"}


class Setup:
    """An object after setup; payload registers by name."""

    def __init__(self, gen: Gen, view: Any) -> None:
        self.view = view
        self.r1 = block_named("PAYLOAD_SF_R1", gen).view(list(view.r1), gen=gen).to_dict()
        self.r2 = block_named("PAYLOAD_SF_R2", gen).view(list(view.r2), gen=gen).to_dict()
        self.vertices = tuple(view.vertex[i] for i in range(view.vertices))
        self.start = (view.x_start, view.y_start)

    @property
    def deltas(self) -> tuple[float, float, float, float]:
        """dX0, dY0, dX2, dY2"""
        return self.r1["dx0"], self.r1["dy0"], self.r1["dx2"], self.r1["dy2"]


class Bench:
    """Bias 0.5 and 64x64 pixels unless the state says otherwise."""

    def __init__(self, gen: Gen = Gen.EL, *, width: int = 64, height: int = 64, sf: Fields | None = None,
                 wm: Fields | None = None, viewports: Sequence[Fields] = (), commands: dict[str, Fields] | None = None,
                 poly_stipple: Sequence[int] = ()) -> None:
        self.gen, self.width, self.height = gen, width, height
        self.state = ffi.new("struct g4_state *")
        self.state.depth_buffer[1] = 7 << 29
        for i, row in enumerate(poly_stipple, 1):
            self.state.poly_stipple[i] = row
        self._command("3DSTATE_DRAWING_RECTANGLE", {"clipped_drawing_rectangle_x_max": width - 1,
                                                    "clipped_drawing_rectangle_y_max": height - 1})
        for name, fields in (commands or {}).items():
            self._command(name, fields)
        blocks = ffi.new("struct g4_bench_blocks *")
        blocks.sf_state = block_named("SF_STATE", gen).pack(gen, **{
            "cull_mode": "NONE", "destination_origin_horizontal_bias": 0.5, "destination_origin_vertical_bias": 0.5,
            "use_point_width_state": True, "point_width": 1.0, "line_width": 1.0} | (sf or {}))
        blocks.wm_state = block_named("WM_STATE", gen).pack(gen, **(wm or {}))
        for i, viewport in enumerate(viewports):
            blocks.sf_viewport[i] = block_named("SF_VIEWPORT", gen).pack(gen, **viewport)
        self._bench = ffi.gc(harness().g4_bench_new(int(gen), self.state, blocks), harness().g4_bench_free)

    def _command(self, name: str, fields: Fields) -> None:
        data = command_named(name, self.gen).build(self.gen, **fields)
        for i, word in enumerate(struct.unpack(f"<{len(data) // 4}I", data)):
            getattr(self.state, STATE_OF[name])[i] = word

    def primitive(self, vertices: Sequence[Sequence[float]], topology: PrimitiveTopology = PrimitiveTopology.TRILIST,
                  **fields: Sequence[int]) -> list[Setup | None]:
        """Set up x, y[, z[, rhw]]; `fields` are point_width, viewport, array_index of each vertex. Culled: None."""
        given = ffi.new("struct g4_bench_vertex[]", len(vertices))
        for i, v in enumerate(vertices):
            given[i].x, given[i].y, given[i].z, given[i].rhw = (*v, *(0.0, 1.0)[len(v) - 2:])
            for name, values in fields.items():
                setattr(given[i], name, values[i])
        count = ffi.new("uint32_t *")
        assert harness().g4_bench_setup(self._bench, int(topology), given, len(vertices), count) == lib.G4_OK
        out: list[Setup | None] = []
        for k in range(count[0]):
            view = ffi.new("struct g4_setup_view *")
            assert harness().g4_bench_view(self._bench, k, view) == lib.G4_OK
            out.append(None if view.culled else Setup(self.gen, view))
        return out

    def one(self, vertices: Sequence[Sequence[float]], topology: PrimitiveTopology = PrimitiveTopology.TRILIST,
            **fields: Sequence[int]) -> Setup:
        setups = self.primitive(vertices, topology, **fields)
        assert len(setups) == 1
        assert setups[0] is not None
        return setups[0]

    def hits(self) -> NDArray[np.uint8]:
        """How often each pixel was lit by the last primitive."""
        image = np.zeros((self.height, self.width), np.uint8)
        hits = ffi.from_buffer("uint8_t[]", image)
        harness().g4_bench_raster(self._bench, self.width, self.height, 1, hits, ffi.NULL)
        return image

    def coverage(self) -> NDArray[np.uint8]:
        image = np.zeros((self.height, self.width), np.uint8)
        coverage = ffi.from_buffer("uint8_t[]", image)
        harness().g4_bench_raster(self._bench, self.width, self.height, 1, ffi.NULL, coverage)
        return image

    def count(self, repeat: int = 1) -> int:
        return int(harness().g4_bench_raster(self._bench, self.width, self.height, repeat, ffi.NULL, ffi.NULL))

    def lit(self, vertices: Sequence[Sequence[float]], topology: PrimitiveTopology = PrimitiveTopology.TRILIST,
            **fields: Sequence[int]) -> set[tuple[int, int]]:
        """The (x, y) that a primitive lights; none twice."""
        self.primitive(vertices, topology, **fields)
        hits = self.hits()
        assert hits.max() <= 1
        return {(int(x), int(y)) for y, x in np.argwhere(hits)}

    def depth_offset(self, cx: float, cy: float, z: Sequence[float]) -> float:
        return float(harness().g4_bench_depth_offset(self._bench, cx, cy, ffi.new("float[]", z)))

    def dispatch(self, subspans: int) -> tuple[int, int]:
        """Pixels of the next thread, its kernel entry point."""
        found = int(harness().g4_bench_dispatch(self._bench, subspans))
        return found & 0xff, found >> 8

    def dispatch_contiguous(self, both_halves: bool) -> tuple[int, int]:
        found = int(harness().g4_bench_dispatch_contiguous(self._bench, both_halves))
        return found & 0xff, found >> 8


def box(x: range, y: range) -> set[tuple[int, int]]:
    return {(i, j) for i in x for j in y}
