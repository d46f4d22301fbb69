"""Typed surfaces of Skylake and Kaby Lake: messages without a header, and formats that only they read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.messages import AtomicOperation
from gen4emu.hw.gen75.messages import DataCache1Type as Type
from tests.harness.probe import Event
from tests.shared.test_data_port_gen7 import CHANNELS, DATA, DATA_CACHE_1, Port7

LOW, RETURNS = 1 << 4, 1 << 5
ROW = np.zeros(8, np.uint32)


class Port9(Port7):
    def __init__(self) -> None:
        super().__init__(Gen.KBL)

    def buffer(self, entries: int, pitch: int = 1, **fields: Any) -> None:
        """Port7 begins with a buffer; here surfaces are images."""

    def image(self, format: str, **fields: Any) -> None:
        self.state(**{"surface_type": "SURFTYPE_2D", "surface_format": format, "width": 16, "height": 4, "depth": 1,
                      "surface_pitch": 64, "surface_vertical_alignment": "VALIGN_4",
                      "surface_horizontal_alignment": "HALIGN_4"} | fields)

    def typed(self, type: Type, control: int, *registers: Any, rlen: int = 1, emask: int = 0xFF) -> np.ndarray:
        return self.message(DATA_CACHE_1, type, control, *registers, header=False, rlen=rlen, emask=emask)


@pytest.fixture
def port() -> Port9:
    return Port9()


def test_messages_to_typed_surfaces_need_no_header(port: Port9) -> None:
    port.image("R32_UINT")
    got = port.typed(Type.TYPED_SURFACE_READ, LOW | 0b1110, CHANNELS, ROW + 3)
    assert [int(x) for x in got[0]] == [48 + i for i in range(8)]
    port.typed(Type.TYPED_SURFACE_WRITE, LOW | 0b1110, CHANNELS, ROW, 90 + CHANNELS, rlen=0, emask=0b101)
    assert port.dwords(0, 4) == [90, 1, 92, 3]
    got = port.typed(Type.TYPED_ATOMIC, LOW | RETURNS | AtomicOperation.ADD, ROW + 5, ROW, ROW + 2)
    assert [int(x) for x in got[0]] == [5 + 2 * i for i in range(8)]
    assert port.events() == {}


def test_haswell_needs_the_header() -> None:
    port = Port7(Gen.HSW)
    port.message(DATA_CACHE_1, Type.TYPED_SURFACE_READ, LOW | 0b1110, CHANNELS, ROW, header=False)
    assert set(port.events()) == {Event.BAD_MESSAGE}


def test_half_floats_are_widened(port: Port9) -> None:
    halves = np.array([0.0, -0.0, 1.5, -65504, 2 ** -24, -(2 ** -15), np.inf, 0.333], np.float16)
    port.memory.write(DATA, halves.tobytes())
    port.image("R16_FLOAT")
    got = port.typed(Type.TYPED_SURFACE_READ, LOW, CHANNELS, ROW, rlen=4)
    assert got[0].tobytes() == halves.astype(np.float32).tobytes()
    assert got[1:4].view(np.float32)[:, 0].tolist() == [0.0, 0.0, 1.0]


def test_wide_formats_are_read(port: Port9) -> None:
    port.image("R32G32B32A32_UINT")
    got = port.typed(Type.TYPED_SURFACE_READ, LOW, CHANNELS[:1].repeat(8) + 1, ROW, rlen=4)
    assert got[:4, 0].tolist() == [4, 5, 6, 7]
    assert port.events() == {}


def test_normalized_formats_are_written_and_not_read(port: Port9) -> None:
    port.image("R8G8B8A8_UNORM")
    half = np.full(8, 0.5, np.float32).view(np.uint32)
    port.typed(Type.TYPED_SURFACE_WRITE, LOW, CHANNELS, ROW, half, half, half, half, rlen=0)
    assert port.dwords(7, 2) == [0x80808080, 8]
    assert port.events() == {}
    port.typed(Type.TYPED_SURFACE_READ, LOW, CHANNELS, ROW, rlen=4)
    assert set(port.events()) == {Event.BAD_FORMAT}


def test_the_minimum_level_is_accessed(port: Port9) -> None:
    """Level 1 lies below the four rows of level 0."""
    port.image("R32_UINT", surface_min_lod=1)
    got = port.typed(Type.TYPED_SURFACE_READ, LOW | 0b1110, CHANNELS + 1, ROW + 1)
    assert [int(x) for x in got[0]] == [16 * 5 + i + 1 for i in range(7)] + [0]


def test_slices_of_volumes_count_from_the_first_of_the_view(port: Port9) -> None:
    port.image("R32_UINT", surface_type="SURFTYPE_3D", depth=4, minimum_array_element=2, surface_qpitch=8)
    got = port.typed(Type.TYPED_SURFACE_READ, LOW | 0b1110, CHANNELS, ROW, ROW + 1)
    assert [int(x) for x in got[0]] == [16 * 8 * 3 + i for i in range(8)]
    got = port.typed(Type.TYPED_SURFACE_READ, LOW | 0b1110, CHANNELS, ROW, ROW + 2)
    assert not got[0].any(), "beyond the last slice"
