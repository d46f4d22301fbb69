"""Random draws with a stencil buffer in W tiles leave the memory and the counts of the general path."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from gen4emu._native import lib
from gen4emu.core_enums import FaultKind, HierarchicalDepthMode, Unit
from gen4emu.hw.topology import PrimitiveTopology as Topology
from tests.harness.commands import command
from tests.harness.depth_only import DEPTH, DepthOnly, corners
from tests.harness.random_state import STENCIL as STENCIL_OPERATIONS
from tests.harness.random_state import depth_state_of

VARIANTS = range(lib.g4_variant_best() + 1)
STENCIL, HIZ = 0x80000, 0xA0000
D32, D24X8, D16 = 1, 3, 5
BYTES = 0x10000  # of each buffer
ROWS = 96  # between slices
NULL_SURFACE = 7
TILE = 64  # columns and rows of a W tile
REPLACE = 2  # of STENCIL_OPERATION
HIZ_BYTES = 0x10000


@pytest.fixture(autouse=True)
def keep_variant() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    lib.g4_set_variant(before)


def triangles(rng: random.Random, width: int, height: int) -> list[tuple[float, float, float]]:
    found = []
    for _ in range(20):
        size = rng.choice([8, 40, 300])
        x, y, z = rng.uniform(0, width), rng.uniform(0, height), rng.uniform(0.2, 0.8)
        found += [(x + rng.uniform(-size, size), y + rng.uniform(-size, size), z + rng.uniform(-0.2, 0.2))
                  for _ in range(3)]
    return found


def outcome(seed: int, variant: int, **options: Any) -> tuple[Any, ...]:
    lib.g4_set_variant(variant)
    rng = random.Random(seed)
    machine = DepthOnly(**options)
    memory = machine.device.memory
    width, height = rng.choice([(32, 32), (96, 64), (100, 70), (131, 97)])
    state = depth_state_of(rng) | {"stencil_test_enable": rng.random() < 0.9}
    before = [rng.randbytes(BYTES) for _ in range(2)]
    for address, data in zip((DEPTH, STENCIL), before, strict=True):
        memory.write(address, data)
    machine.submit(
        triangles(rng, width, height), Topology.TRILIST,
        drawing_rectangle={"clipped_drawing_rectangle_x_max": width - 1, "clipped_drawing_rectangle_y_max": height - 1},
        wm_depth_stencil=state,
        depth_buffer={"surface_type": rng.choice([1, 1, 1, NULL_SURFACE]),
                      "surface_format": rng.choice([D32, D24X8, D24X8, D16]), "depth_write_enable": True,
                      "stencil_write_enable": True, "width": width - rng.randrange(4),
                      "height": height - rng.randrange(4), "lod": rng.randrange(2), "surface_pitch": 768,
                      "surface_qpitch": ROWS},
        stencil_buffer={"stencil_buffer_enable": True, "surface_pitch": 384, "surface_base_address": STENCIL,
                        "surface_qpitch": ROWS},
        raster={"cull_mode": 1, "front_winding": rng.randrange(2)})
    counts = {name: count for name, count in machine.device.counts().items() if not name.endswith("_ns")}
    after = [memory.read(address, BYTES) for address in (DEPTH, STENCIL)]
    return after, counts, after[1] != before[1]


@cache
def general_outcome(seed: int) -> tuple[Any, ...]:
    return outcome(seed, 0, general_only=True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_draws_have_the_bits_of_the_general_path(variant: int) -> None:
    changed = 0
    for seed in range(60):
        expected = general_outcome(seed)
        assert outcome(seed, variant) == expected, seed
        changed += expected[-1]
    assert changed > 10


def clear_outcome(seed: int, variant: int, **options: Any) -> tuple[Any, ...]:
    """Rectangles that give all their pixels one depth and, often, one stencil value, as drivers clear both."""
    lib.g4_set_variant(variant)
    rng = random.Random(seed)
    machine = DepthOnly(**options)
    memory = machine.device.memory
    width, height = rng.choice([(96, 64), (128, 96), (131, 97)])
    hiz = rng.random() < 0.3
    before = bytes(BYTES) if hiz else rng.randbytes(BYTES), rng.randbytes(BYTES)
    for address, data in zip((DEPTH, STENCIL), before, strict=True):
        memory.write(address, data)
    machine.run(command("3DSTATE_WM", machine.gen, statistics_enable=rng.random() < 0.8))
    if hiz:
        memory.write(HIZ, bytes(HIZ_BYTES))  # all depths are clear: 0
        machine.run(command("3DSTATE_HIER_DEPTH_BUFFER", machine.gen, surface_pitch=128, surface_base_address=HIZ,
                            surface_qpitch=ROWS))
    state = depth_state_of(rng) if rng.random() < 0.3 else {
        "depth_test_enable": rng.random() < 0.5, "depth_test_function": "ALWAYS", "depth_buffer_write_enable": True,
        "stencil_test_enable": True, "stencil_buffer_write_enable": rng.random() < 0.9,
        "stencil_test_function": "ALWAYS", "stencil_pass_depth_pass_op": rng.choice(STENCIL_OPERATIONS),
        "stencil_fail_op": "INVERT", "stencil_pass_depth_fail_op": "INVERT",
        "stencil_reference_value": rng.randrange(256), "stencil_test_mask": 255,
        "stencil_write_mask": rng.choice([255, 0x3C, 0])}
    if hiz:
        state["stencil_test_enable"] = True  # tiles without it have the same depths in other entries
    level, small, depth_format = rng.choice([0, 0, 0, 1]), rng.randrange(4), rng.choice([D32, D24X8, D24X8, D16])
    for _ in range(2):
        x, y = rng.choice([0, 32, rng.randrange(60)]), rng.choice([0, 32, rng.randrange(60)])
        slope = rng.choice([0, 0, 0, 0.1])
        z = rng.random()
        machine.submit(
            [(right, bottom, z + slope * right / width)
             for right, bottom in corners(x, y, x + rng.randrange(1, width), y + rng.randrange(1, height))],
            Topology.RECTLIST, header=(0, rng.randrange(3), 0, 0),
            drawing_rectangle={"clipped_drawing_rectangle_x_max": width - 1,
                               "clipped_drawing_rectangle_y_max": height - 1},
            wm_depth_stencil=state,
            depth_buffer={"surface_format": depth_format, "depth_write_enable": True,
                          "hierarchical_depth_buffer_enable": hiz, "stencil_write_enable": True,
                          "width": width - small, "height": height - small, "lod": level, "surface_pitch": 768,
                          "surface_qpitch": ROWS},
            stencil_buffer={"stencil_buffer_enable": True, "surface_pitch": 384, "surface_base_address": STENCIL,
                            "surface_qpitch": ROWS})
    counts = {name: count for name, count in machine.device.counts().items() if not name.endswith("_ns")}
    after = [memory.read(address, size)
             for address, size in ((DEPTH, BYTES), (STENCIL, BYTES), (HIZ, HIZ_BYTES if hiz else 0))]
    return after, counts, [int(c) for c in machine.state.counter], after[1] != before[1]


@pytest.mark.parametrize("hierarchical", list(HierarchicalDepthMode))
def test_clears_of_depth_and_stencil_have_the_bits_and_counts_of_the_general_path(
        hierarchical: HierarchicalDepthMode) -> None:
    changed = 0
    for seed in range(80):
        expected = clear_outcome(seed, 0, general_only=True, hierarchical_depth=hierarchical)
        assert clear_outcome(seed, seed % len(VARIANTS), hierarchical_depth=hierarchical) == expected, seed
        changed += expected[-1]
    assert changed > 20


def column_that_replaces(memory: bytes, **options: Any) -> DepthOnly:
    """A column of pixels that goes on below the buffers; `memory` is that of the stencil buffer."""
    machine = DepthOnly(**options)
    machine.device.memory.write(DEPTH, bytes(BYTES))
    machine.device.memory.write(STENCIL, memory)
    machine.submit(
        [(*corner, 0.5) for corner in corners(2, 0, 3, 2 * TILE)],
        drawing_rectangle={"clipped_drawing_rectangle_x_max": 127, "clipped_drawing_rectangle_y_max": 127},
        wm_depth_stencil={"stencil_test_enable": True, "stencil_buffer_write_enable": True, "stencil_write_mask": 255,
                          "stencil_reference_value": 7, "stencil_pass_depth_pass_op": REPLACE},
        depth_buffer={"surface_format": D32, "stencil_write_enable": True, "width": TILE, "height": TILE,
                      "surface_pitch": 768, "surface_qpitch": ROWS},
        stencil_buffer={"stencil_buffer_enable": True, "surface_pitch": 2 * TILE, "surface_base_address": STENCIL,
                        "surface_qpitch": ROWS})
    return machine


@pytest.mark.parametrize("general", [False, True])
def test_pixels_below_the_stencil_buffer_read_no_memory(general: bool) -> None:
    """Nothing is mapped after the only tile of the buffer."""
    device = column_that_replaces(bytes(TILE * TILE), general_only=general).device
    assert sorted(device.memory.read(STENCIL, TILE * TILE)) == [0] * (TILE * TILE - TILE) + [7] * TILE
    assert device.faults.counts == {}


def test_reads_of_a_missing_stencil_buffer_are_those_of_the_windower() -> None:
    faults = column_that_replaces(b"").device.faults
    assert faults.first[FaultKind.UNWRITTEN_READ].unit is Unit.WM
