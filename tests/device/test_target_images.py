"""The images of a sampled surface: levels, array elements, faces, slices and samples."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.device.targets import TargetFinder
from gen4emu.hw.catalogue import surface_state_of
from gen4emu.hw.chips import device_named
from gen4emu.hw.gen4.surface import SurfaceType


def images(device: str, **fields: Any) -> list[tuple[int, int, int, int]]:
    """Level, slice, width and height of each."""
    gen = device_named(device).gen
    block = surface_state_of(gen)
    data = block.build(gen, **{"surface_type": "SURFTYPE_2D", "surface_format": "R8G8B8A8_UNORM", "width": 16,
                               "height": 8, "surface_pitch": 64, "surface_base_address": 0x10000} | fields)
    words = struct.unpack(f"<{len(data) // 4}I", data)
    return [(t.level, t.slice, t.width, t.height) for t in TargetFinder(gen).images(words)]


def level(device: str, count: int) -> dict[str, int]:
    return {"mip_count_lod" if device in ("ivb", "hsw") else "mip_count_or_lod": count}


@pytest.mark.parametrize("device", ["965gm", "g45", "ivb", "hsw"])
def test_levels_and_slices_of_a_volume_become_fewer(device: str) -> None:
    found = images(device, surface_type=SurfaceType.SURFTYPE_3D, depth=4, **level(device, 2))
    assert sorted(found) == [(0, 0, 16, 8), (0, 1, 16, 8), (0, 2, 16, 8), (0, 3, 16, 8), (1, 0, 8, 4), (1, 1, 8, 4),
                             (2, 0, 4, 2)]


@pytest.mark.parametrize("device", ["g45", "ivb"])
def test_a_cube_has_six_faces(device: str) -> None:
    found = images(device, surface_type=SurfaceType.SURFTYPE_CUBE, width=16, height=16, **level(device, 1))
    assert sorted(found) == [(0, i, 16, 16) for i in range(6)] + [(1, i, 8, 8) for i in range(6)]


@pytest.mark.parametrize(("storage", "slices"), [("MSS", 8), ("DEPTH_STENCIL", 2)])
def test_samples_have_elements_unless_they_are_interleaved(storage: str, slices: int) -> None:
    found = images("ivb", surface_array=True, depth=2, number_of_multisamples=2,
                   multisampled_surface_storage_format=storage)
    assert [number for _, number, _, _ in found] == list(range(slices))
