"""Clipper, setup and samples of Gen6 and later alone: vertices in clip space in, objects and covered samples out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gen4emu.core_enums import Status
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from tests.harness.native import ffi, harness
from tests.harness.probe import Probe

SIZE = 64  # of the viewport, pixels
SAMPLES = {1: ((8, 8),), 2: ((12, 12), (4, 4)), 4: ((6, 2), (14, 6), (2, 10), (10, 14)),
           8: ((9, 5), (7, 11), (13, 9), (5, 3), (3, 13), (1, 7), (11, 15), (15, 1))}  # 1/16 pixel
DEFAULT = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Corner:
    """A vertex."""

    position: tuple[float, float, float, float]  # clip space
    first: tuple[float, float, float, float] = DEFAULT  # attributes
    second: tuple[float, float, float, float] = DEFAULT
    distances: tuple[float, ...] = (1.0,) * 8
    edge_flag: bool = True


def on_screen(x: float, y: float, z: float = 0.0, w: float = 1.0, **more: Any) -> Corner:
    """The vertex that appears at a place of the screen, in pixels from the upper left corner."""
    return Corner(((x / (SIZE / 2) - 1) * w, (1 - y / (SIZE / 2)) * w, z * w, w), **more)


@dataclass(slots=True)
class Fixed:
    """The state: no culling, no guardband, one sample in the center."""

    samples: int = 1
    fields: dict[str, Any] = field(default_factory=dict)
    gen: Gen = Gen.IVB
    objects: int = 0
    _probe: Any = None
    _handle: Any = None

    def __post_init__(self) -> None:
        places = SAMPLES[self.samples]
        state = ffi.new("struct g4_fixed_state *", {
            "width": SIZE, "height": SIZE, "test_xy": True, "test_z": True, "cull_mode": 1, "front_winding": 1,
            "samples": self.samples, "sample_mask": 0xFF, "point_width": 1.0, "line_width": 1.0,
            "sample_x": [x for x, _ in places], "sample_y": [y for _, y in places]} | self.fields)
        self._probe = Probe(self.gen)
        self._handle = ffi.gc(harness().g4_fixed_new(self._probe.handle, state), harness().g4_fixed_free)

    def run(self, corners: Sequence[Corner], topology: PrimitiveTopology = PrimitiveTopology.TRILIST) -> Fixed:
        vertices = ffi.new("struct g4_fixed_vertex[]", [
            {"position": c.position, "distance": c.distances, "attribute": [c.first, c.second],
             "inner": not c.edge_flag} for c in corners])
        count = ffi.new("uint32_t *")
        status = harness().g4_fixed_run(self._handle, int(topology), vertices, len(corners), count)
        assert status == Status.OK
        self.objects = count[0]
        return self

    def view(self, i: int = 0) -> Any:
        view = ffi.new("struct g4_fixed_view *")
        harness().g4_fixed_object(self._handle, i, view)
        return view

    def coefficients(self, attribute: int, i: int = 0) -> list[list[float]]:
        """Four numbers of each of an attribute's components."""
        view = self.view(i)  # owns the rows
        numbers = [*view.entry[2 * attribute], *view.entry[2 * attribute + 1]]
        return [numbers[4 * c:4 * c + 4] for c in range(4)]

    def covered(self, x: int, y: int, i: int = 0) -> int:
        return int(harness().g4_fixed_covered(self._handle, i, x, y))

    def inside(self, x: int, y: int, i: int = 0) -> bool:
        return bool(harness().g4_fixed_is_inside(self._handle, i, x, y))

    def values(self, x: float, y: float, i: int = 0) -> Any:
        """At a place of the screen, in pixels from the upper left corner."""
        return harness().g4_fixed_values(self._handle, i, x - 0.5, y - 0.5)
