"""Test reduction by debug registers and by options (965 PRM vol. 4, chapter 3)."""

from __future__ import annotations

import pytest

from gen4emu.device.debug_registers import Reduction
from gen4emu.device.options import Options
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology as T
from tests.harness.commands import command, joined, load_register
from tests.harness.scene import Scene, vertex

POINTS = [vertex(x + 0.5, 3.5) for x in range(6)]


def lit_columns(scene: Scene, batch_head: bytes = b"", separate: bool = True) -> list[int]:
    """Six points, each its own 3DPRIMITIVE, or all in one."""
    batch = batch_head + scene.prepare(POINTS)
    if separate:
        batch += b"".join(scene.primitive(T.POINTLIST, 1, start_vertex_location=i) for i in range(6))
    else:
        batch += scene.primitive(T.POINTLIST, 6)
    scene.run(batch)
    return sorted(x for x, _ in scene.lit())


def load(scene: Scene, **registers: int) -> bytes:
    """MI_LOAD_REGISTER_IMM of each."""
    return joined(*(load_register(scene.device.registers.offset(name), value) for name, value in registers.items()))


@pytest.mark.parametrize(("reduction", "separate", "expected"), [
    (Reduction(), True, [0, 1, 2, 3, 4, 5]),
    (Reduction(skip_primitives=4), True, [4, 5]),
    (Reduction(max_primitives=2), True, [0, 1]),
    (Reduction(skip_primitives=1, max_primitives=3), True, [1, 2]),  # skipped ones count towards the limit
    (Reduction(skip_primitives=1, max_primitives=1), True, []),
    (Reduction(max_primitives=0), True, []),
    (Reduction(vertices=(2, 3)), False, [2, 3, 4]),
    (Reduction(objects=(1, 4)), False, [1, 2, 3, 4]),
    (Reduction(objects=(5, 5)), True, [5]),
    (Reduction(objects=(1, 0)), False, []),
    (Reduction(rectangle=(2, 0, 3, 9)), False, [2, 3]),
    (Reduction(rectangle=(2, 4, 3, 9)), False, []),
])
def test_a_reduction_draws_only_its_part(reduction: Reduction, separate: bool, expected: list[int]) -> None:
    scene = Scene(Gen.CTG, 16, 16, options=Options(workers=1, reduction=reduction))
    assert lit_columns(scene, separate=separate) == expected


@pytest.mark.parametrize(("registers", "separate", "expected"), [
    ({"VF_STR_PSKIP": 4, "VF_CTL": 8}, True, [4, 5]),
    ({"VF_MAX_PRIM": 2, "VF_CTL": 4}, True, [0, 1]),
    ({"VF_STR_VL_OVR": 1, "VF_VC_OVR": 2, "VF_CTL": 2}, False, [1, 2]),
    ({"SF_MIN_PR_IND": 2, "SF_MAX_PR_IND": 3, "SF_CTL": 1 << 4}, False, [2, 3]),
    ({"SF_CTL": 1 << 30}, False, []),
    ({"SF_CLIP_RMIN": 4, "SF_CLIP_RMAX": 9 << 16 | 9, "SF_CTL": 1 << 3}, False, [4, 5]),
    ({"SF_CTL": 1 << 30, "VF_CTL": 0, "SF_MAX_PR_IND": 0}, False, []),
])
def test_a_batch_can_program_a_reduction(registers: dict[str, int], separate: bool,
                                                     expected: list[int]) -> None:
    scene = Scene(Gen.CTG, 16, 16)
    assert lit_columns(scene, load(scene, **registers), separate) == expected
    off = load(scene, VF_CTL=0, SF_CTL=0)
    assert lit_columns(scene, off, separate) == [0, 1, 2, 3, 4, 5]


def test_skipped_objects_count_until_a_flush_resets_the_count() -> None:
    scene = Scene(Gen.CTG, 16, 16, options=Options(workers=1, reduction=Reduction(objects=(0, 2))))
    assert lit_columns(scene, separate=False) == [0, 1, 2]
    scene.memory.write(0x8000000, bytes(0x2000))
    assert lit_columns(scene, separate=False) == []  # these are objects 6 to 11
    flush = joined(command("MI_FLUSH", global_snapshot_count_reset=True))
    assert lit_columns(scene, flush, separate=False) == [0, 1, 2]


def test_a_reduction_restores_the_drawing_rectangle() -> None:
    scene = Scene(Gen.CTG, 16, 16, options=Options(workers=1, reduction=Reduction(rectangle=(2, 0, 3, 9))))
    lit_columns(scene)
    raw = scene.device.streamers[scene.device.engine].state.raw
    assert list(raw.drawing_rectangle) == command(
        "3DSTATE_DRAWING_RECTANGLE", clipped_drawing_rectangle_x_max=15, clipped_drawing_rectangle_y_max=15)


def test_svg_rdata_shows_the_selected_base_address() -> None:
    scene = Scene(Gen.CTG, 16, 16)
    state = scene.device.streamers[scene.device.engine].state.raw
    state.general_state_base, state.surface_state_base, state.system_instruction_pointer = 0x1000, 0x2000, 0x3000
    for select, expected in ((0, 0x1000), (1, 0x2000), (5, 0x3000), (6, 0), (255, 0)):
        scene.device.write_register(scene.device.registers.offset("SVG_CTL"), select << 8)
        assert scene.device.registers.read(scene.device.registers.offset("SVG_RDATA")) == expected
