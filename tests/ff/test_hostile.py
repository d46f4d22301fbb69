"""Setup and windower with random state and vertices: no crash, no hang, the same bits for any number of workers."""

from __future__ import annotations

import random
import struct
import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu.core_enums import PAGE_SIZE, HierarchicalDepthMode
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from tests.harness.canvas_gen7 import TARGETS, Canvas7, color, send
from tests.harness.commands import command
from tests.harness.depth_only import DEPTH, SIDE, DepthOnly, corners
from tests.harness.scene import STATE, TARGET, Scene, vertex

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 31.5, 32.0, 8191.99, 8192.0, -8192.0, 1e9, -1e30, 3e38, 1e-40,
           float("inf"), float("-inf"), float("nan")]
TOPOLOGIES = [T.POINTLIST, T.POINTLIST_BF, T.LINELIST, T.LINESTRIP, T.LINESTRIP_BF, T.LINESTRIP_CONT, T.TRILIST,
              T.TRISTRIP, T.TRISTRIP_REVERSE, T.TRIFAN, T.TRIFAN_NOSTIPPLE, T.POLYGON, T.RECTLIST, T.QUADLIST]
ENTRIES = 0x90000  # of hierarchical depth
SF, WM, CC, VIEWPORT = STATE + 0x40, STATE + 0x80, STATE + 0x100, STATE + 0x200


class Hostile(Scene):
    """State is scrambled after it was written; kernels stay where they are, so that every thread ends."""

    def __init__(self, gen: Gen, seed: int, workers: int) -> None:
        super().__init__(gen, width=48, height=40, depth_format=2, depth_clear=0x5A800000,
                         options=Options(workers=workers))
        self.dice = random.Random(seed)

    def _write_state(self) -> None:
        super()._write_state()
        for block in (SF, WM, CC):
            for dword in range(1 if block != CC else 0, 8):
                if self.dice.random() < .6:
                    self._scramble(block + 4 * dword)
        for dword in range(6, 8):
            self._scramble(VIEWPORT + 4 * dword)
        # Point and line sizes stay; so do the blocks that are read through pointers.
        for at, value in ((SF + 20, VIEWPORT | self.dice.getrandbits(2)), (CC + 16, STATE + 0x300)):
            self.memory.write(at, struct.pack("<I", value))

    def _scramble(self, address: int) -> None:
        old = int.from_bytes(self.memory.read(address, 4), "little")
        bits = self.dice.getrandbits(32) & self.dice.getrandbits(32)
        self.memory.write(address, struct.pack("<I", old ^ bits))

    def floats(self) -> list[tuple[float, ...]]:
        dice = self.dice
        return [tuple(dice.choice(SPECIAL) if dice.random() < .1 else dice.uniform(-10, 60) for _ in range(8))
                for _ in range(dice.randrange(1, 24))]


def pictures(gen: Gen, seed: int, workers: int) -> list[Any]:
    scene = Hostile(gen, seed, workers)
    out: list[Any] = []
    for _ in range(6):
        for name, words in (("line_stipple", 2), ("aa_line", 2), ("drawing_rectangle", 0), ("poly_stipple", 32)):
            field = getattr(scene.device.streamers[next(iter(scene.device.streamers))].state.raw, name)
            for i in range(words):
                field[1 + i] = scene.dice.getrandbits(32)
        vertices = scene.floats()
        try:
            scene.draw(vertices, scene.dice.choice(TOPOLOGIES))
        except Gen4emuError as error:
            out.append(str(type(error)))
        out.append(scene.memory.read(TARGET, scene.pitch * scene.height))
        out.append(scene.depths())
    return out


@pytest.mark.parametrize("gen", [Gen.CL, Gen.CTG])
@pytest.mark.parametrize("seed", range(12))
def test_random_state_and_vertices_give_the_same_picture_with_any_number_of_workers(gen: Gen, seed: int) -> None:
    assert pictures(gen, seed, 1) == pictures(gen, seed, 3)


def test_a_search_for_the_cut_index_counts_against_the_watchdog() -> None:
    """Of 2^32 - 2 indices none is the cut index, but the watchdog allows for 15,625 vertices."""
    scene = Scene(Gen.CTG, options=Options(workers=1, watchdog=1))
    start = time.process_time()
    with pytest.raises(HangError):
        scene.draw([vertex(0, 0)], T.TRISTRIP, [0, 0, 0], cut_index_enable=True, vertex_count_per_instance=0xFFFFFFFE)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("name", ["ivb", "hsw", "kbl"])
def test_a_number_of_vertex_elements_beyond_those_of_the_state_is_bounded(name: str) -> None:
    """Commands cannot set it."""
    canvas = Canvas7(name)
    expected = canvas.draw(color(1.0, 0.5, 0.0, 1.0) + send(canvas.write()))
    (canvas.state.gen9 if name == "kbl" else canvas.state.gen7).vertex_elements = 0xFFFFFFFF
    canvas.device.memory.write(TARGETS, bytes(expected.size))
    topology = {} if name == "kbl" else {"primitive_topology_type": T.RECTLIST}
    canvas.run(command("3DPRIMITIVE", canvas.gen, vertex_count_per_instance=3, instance_count=1, **topology))
    assert expected.any()
    assert (canvas.image() == expected).all()


@pytest.mark.parametrize("gen", [Gen.CL, Gen.CTG])
def test_elements_of_vertex_buffers_that_do_not_exist_are_zeros(gen: Gen) -> None:
    """docs/decisions.md 236: the index has five bits for 17 buffers.  Here the state of a buffer 20 would be good."""
    pictures = []
    for index in (0, 20):
        scene = Scene(gen)
        scene.run(scene.prepare([vertex(1, 1), vertex(20, 1), vertex(1, 20)]))
        state = scene.device.state
        for element in range(state.vertex_elements):
            state.vertex_element[element][0] |= index << 27
        state.vertex_element[5][1], state.vertex_element[6][0] = state.vertex_buffer[0][0], state.vertex_buffer[0][1]
        state.vertex_elements = 0xFFFFFFFF
        scene.run(scene.primitive(T.TRILIST, 3))
        pictures.append(scene.pixels())
    assert any(any(row) for row in pictures[0])
    assert not any(any(row) for row in pictures[1])


@pytest.mark.parametrize(("name", "most"), [("ivb", 3), ("hsw", 3), ("kbl", 4)])
def test_reserved_numbers_of_samples_are_taken_for_the_largest(name: str, most: int) -> None:
    """docs/decisions.md 233."""
    pictures = []
    for code in (most, 5, 7):
        canvas = Canvas7(name)
        pattern: dict[str, dict[str, Any] | None] = {
            "3DSTATE_RASTER": {"dx_multisample_rasterization_enable": True}} if name == "kbl" else {
            "3DSTATE_SF": {"multisample_rasterization_mode": 3}, "3DSTATE_WM": {"multisample_rasterization_mode": 3}}
        pictures.append(canvas.draw(color(1.0, 0.5, 0.0, 1.0) + send(canvas.write()), 3, 5, 20, 30, commands={
            **pattern, "3DSTATE_MULTISAMPLE": {"number_of_multisamples": code},
            "3DSTATE_SAMPLE_MASK": {"sample_mask": 0xFF}}))
    assert pictures[0].any()
    assert all((picture == pictures[0]).all() for picture in pictures)


def fast_clear(name: str, topology: T, points: list[tuple[float, float]]) -> NDArray[np.uint32]:
    """The pixels of a target of 128 x 128 after a fast clear of this object, of which a pixel is a block of them."""
    canvas = Canvas7(name)
    one = 0x3F800000 if name == "kbl" else 1
    canvas.surface(0, width=128, height=128, surface_pitch=512, red_clear_color=one, alpha_clear_color=one)
    kind = {"primitive_topology_type": topology}
    canvas.draw(color(1.0, 0.5, 0.0, 1.0) + send(canvas.write()), vertices=[(x, y, 0.5) for x, y in points], commands={
        "3DSTATE_PS": {"render_target_fast_clear_enable": True},
        "3DSTATE_DRAWING_RECTANGLE": {"clipped_drawing_rectangle_x_max": 127, "clipped_drawing_rectangle_y_max": 127},
        **({"3DSTATE_VF_TOPOLOGY": kind} if name == "kbl" else {"3DPRIMITIVE": kind})})
    return np.frombuffer(bytes(canvas.device.memory.read(TARGETS, 4 * 128 * 128)), np.uint32).reshape(128, 128)


@pytest.mark.parametrize("name", ["ivb", "kbl"])
def test_a_fast_clear_of_a_small_triangle_clears_its_bounds(name: str) -> None:
    """docs/decisions.md 235."""
    expected = fast_clear(name, T.RECTLIST, [(2, 2), (0, 2), (0, 0)])
    assert expected.any()
    assert not expected.all()
    assert (fast_clear(name, T.TRILIST, [(2.5, 2.5), (-1, 2.5), (-1, -1)]) == expected).all()


def depths_at(address: int, mode: HierarchicalDepthMode) -> bytes:
    """Memory around a depth buffer whose host pages are not in the order of their addresses."""
    machine = DepthOnly(hierarchical_depth=mode)
    for page in reversed(range(8)):
        machine.device.memory.write(DEPTH + PAGE_SIZE * page, bytes(PAGE_SIZE))
    machine.device.memory.write(ENTRIES, bytes(PAGE_SIZE))
    machine.run(command("3DSTATE_HIER_DEPTH_BUFFER", machine.gen, surface_base_address=ENTRIES, surface_pitch=128))
    machine.submit([(x, y, .3) for x, y in corners(0, 0, SIDE, SIDE)], depth_buffer={
        "surface_base_address": address, "hierarchical_depth_buffer_enable": True})
    return bytes(machine.device.memory.read(DEPTH, 8 * PAGE_SIZE))


@pytest.mark.parametrize("address", [DEPTH + 2, DEPTH + 2 * PAGE_SIZE - 1])
def test_a_depth_buffer_with_entries_may_start_at_any_byte(address: int) -> None:
    """Depths that cross the end of a page are in both pages."""
    expected = depths_at(address, HierarchicalDepthMode.OFF)
    assert expected.count(struct.pack("<f", .3)) == SIDE * SIDE
    assert depths_at(address, HierarchicalDepthMode.ON) == expected


@pytest.mark.parametrize("name", ["ivb", "hsw", "kbl"])
def test_threads_of_eight_pixels_have_only_the_lower_slots(name: str) -> None:
    """docs/decisions.md 234: the upper ones would be those of the threads of 32 pixels that ran before."""
    canvas = Canvas7(name)
    expected = canvas.draw(color(1.0, 0.5, 0.0, 1.0) + send(canvas.write()))
    assert expected.any()
    canvas.device.memory.write(TARGETS, bytes(expected.size))
    assert (canvas.draw(color(1.0, 0.5, 0.0, 1.0) + send(canvas.write(slot_group=True))) == expected).all()


@pytest.mark.parametrize("name", ["ivb", "kbl"])
@pytest.mark.parametrize(("surface_format", "codes"), [
    ("R32_UNORM", (0, 0x40000000, 0xBFFFFFFF, 0xFFFFFFFF, 0)),
    ("R32_SNORM", (0, 0x20000000, 0x5FFFFFFF, 0x7FFFFFFF, 0x80000001)),
    ("R24_UNORM_X8_TYPELESS", (0, 0x400000, 0xBFFFFF, 0xFFFFFF, 0))])
def test_normalized_channels_of_many_bits_have_no_overflow(name: str, surface_format: str,
                                                           codes: tuple[int, ...]) -> None:
    """No render target has them, but they are written (docs/decisions.md 56)."""
    found = []
    for value in (0.0, 0.25, 0.75, 1.0, -1.0):
        canvas = Canvas7(name, (surface_format,))
        pixels = canvas.draw(color(value, 0, 0, 0) + send(canvas.write()))
        found.append(int.from_bytes(pixels[0, 0].tobytes(), "little"))
    assert tuple(found) == codes
