"""The data port of Skylake and Kaby Lake: typed surfaces without a header, 64-bit addresses, atomics on floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gen4emu.device.memory import Memory
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.messages import AtomicOperation
from gen4emu.hw.gen75.messages import DataCache1Type as Type
from gen4emu.hw.gen75.messages import FloatAtomicOperation, SurfaceSimdMode
from tests.harness.data_port_gen7 import CHANNELS, DATA, DATA_CACHE_1, Port7
from tests.harness.messages import ONE_CHANNEL, channel_mask
from tests.harness.probe import Event

LOW = {"simd_mode": SurfaceSimdMode.SIMD16}  # of typed messages, whose eight channels are then the lower slots
RED = {"channel_mask": ONE_CHANNEL}
ROW = np.zeros(8, np.uint32)


class Port9(Port7):
    def __init__(self) -> None:
        super().__init__(Gen.KBL, Memory(address_bits=48))

    def image(self, format: str, **fields: Any) -> None:
        self.state(**{"surface_type": "SURFTYPE_2D", "surface_format": format, "width": 16, "height": 4, "depth": 1,
                      "surface_pitch": 64, "surface_vertical_alignment": "VALIGN_4",
                      "surface_horizontal_alignment": "HALIGN_4"} | fields)

    def typed(self, kind: Type, *registers: Any, rlen: int = 1, emask: int = 0xFF, **control: Any) -> np.ndarray:
        return self.message(DATA_CACHE_1, kind, *registers, header=False, rlen=rlen, emask=emask, **control)


@pytest.fixture
def port() -> Port9:
    return Port9()


def test_messages_to_typed_surfaces_need_no_header(port: Port9) -> None:
    port.image("R32_UINT")
    got = port.typed(Type.TYPED_SURFACE_READ, CHANNELS, ROW + 3, **LOW, **RED)
    assert [int(x) for x in got[0]] == [48 + i for i in range(8)]
    port.typed(Type.TYPED_SURFACE_WRITE, CHANNELS, ROW, 90 + CHANNELS, rlen=0, emask=0b101, **LOW, **RED)
    assert port.dwords(0, 4) == [90, 1, 92, 3]
    got = port.typed(Type.TYPED_ATOMIC, ROW + 5, ROW, ROW + 2, atomic_operation="ADD", simd8=True, return_data=True)
    assert [int(x) for x in got[0]] == [5 + 2 * i for i in range(8)]
    assert port.events() == {}


def test_haswell_needs_the_header() -> None:
    port = Port7(Gen.HSW)
    port.message(DATA_CACHE_1, Type.TYPED_SURFACE_READ, CHANNELS, ROW, header=False, **LOW, **RED)
    assert set(port.events()) == {Event.BAD_MESSAGE}


def test_half_floats_are_widened(port: Port9) -> None:
    halves = np.array([0.0, -0.0, 1.5, -65504, 2 ** -24, -(2 ** -15), np.inf, 0.333], np.float16)
    port.memory.write(DATA, halves.tobytes())
    port.image("R16_FLOAT")
    got = port.typed(Type.TYPED_SURFACE_READ, CHANNELS, ROW, rlen=4, **LOW)
    assert got[0].tobytes() == halves.astype(np.float32).tobytes()
    assert got[1:4].view(np.float32)[:, 0].tolist() == [0.0, 0.0, 1.0]


def test_wide_formats_are_read(port: Port9) -> None:
    port.image("R32G32B32A32_UINT")
    got = port.typed(Type.TYPED_SURFACE_READ, CHANNELS[:1].repeat(8) + 1, ROW, rlen=4, **LOW)
    assert got[:4, 0].tolist() == [4, 5, 6, 7]
    assert port.events() == {}


def test_normalized_formats_are_written_and_not_read(port: Port9) -> None:
    port.image("R8G8B8A8_UNORM")
    half = np.full(8, 0.5, np.float32).view(np.uint32)
    port.typed(Type.TYPED_SURFACE_WRITE, CHANNELS, ROW, half, half, half, half, rlen=0, **LOW)
    assert port.dwords(7, 2) == [0x80808080, 8]
    assert port.events() == {}
    port.typed(Type.TYPED_SURFACE_READ, CHANNELS, ROW, rlen=4, **LOW)
    assert set(port.events()) == {Event.BAD_FORMAT}


def test_the_minimum_level_is_accessed(port: Port9) -> None:
    """Level 1 lies below the four rows of level 0."""
    port.image("R32_UINT", surface_min_lod=1)
    got = port.typed(Type.TYPED_SURFACE_READ, CHANNELS + 1, ROW + 1, **LOW, **RED)
    assert [int(x) for x in got[0]] == [16 * 5 + i + 1 for i in range(7)] + [0]


def test_slices_of_volumes_count_from_the_first_of_the_view(port: Port9) -> None:
    port.image("R32_UINT", surface_type="SURFTYPE_3D", depth=4, minimum_array_element=2, surface_qpitch=8)
    got = port.typed(Type.TYPED_SURFACE_READ, CHANNELS, ROW, ROW + 1, **LOW, **RED)
    assert [int(x) for x in got[0]] == [16 * 8 * 3 + i for i in range(8)]
    got = port.typed(Type.TYPED_SURFACE_READ, CHANNELS, ROW, ROW + 2, **LOW, **RED)
    assert not got[0].any(), "beyond the last slice"


# ---- addresses of 64 bits ----

STATELESS_GEN8 = 253  # not coherent
FAR = 0x7FFE_1234_5000  # beyond 4 GiB; its upper half is not 0
SIXTEEN: dict[str, Any] = {"exec_size": 16, "emask": 0xFFFF}


class FarPort(Port9):
    """Memory at FAR has the dwords 0, 1, 2, ...; the last page is missing."""

    def __init__(self) -> None:
        super().__init__()
        self.memory.write(FAR, np.arange(0x800, dtype=np.uint32).tobytes())

    def far(self, kind: Type, *registers: Any, **more: Any) -> np.ndarray:
        return self.message(DATA_CACHE_1, kind, *registers, index=STATELESS_GEN8, **{"header": False} | more)

    def at(self, first: int, count: int) -> list[int]:
        return self.dwords(first, count, FAR)


@pytest.fixture
def far() -> FarPort:
    return FarPort()


def places(offsets: Any) -> list[np.ndarray]:
    """Two registers for each eight channels."""
    return list((np.asarray(offsets, np.uint64) + np.uint64(FAR)).view(np.uint32).reshape(-1, 8))


def data_bits(bits: int) -> dict[str, bool]:
    """The field by which the data of A64 atomics have 32 or 64 bits."""
    return {"simd8": bits == 64}


def wide(values: Any) -> list[np.ndarray]:
    return list(np.asarray(values, np.uint64).view(np.uint32).reshape(-1, 8))


def test_untyped_accesses_of_16_channels(far: FarPort) -> None:
    offsets = 16 * np.arange(16)
    got = far.far(Type.A64_UNTYPED_SURFACE_READ, *places(offsets), rlen=4, simd_mode="SIMD16",
                  channel_mask=channel_mask("RB"), **SIXTEEN)
    assert got[:2].reshape(-1).tolist() == [4 * i for i in range(16)]
    assert got[2:4].reshape(-1).tolist() == [4 * i + 2 for i in range(16)]
    far.far(Type.A64_UNTYPED_SURFACE_WRITE, *places(offsets), 100 + CHANNELS, 108 + CHANNELS, 200 + CHANNELS,
            208 + CHANNELS, rlen=0, simd_mode="SIMD16", channel_mask=channel_mask("RG"), **SIXTEEN | {"emask": 0x8001})
    assert far.at(0, 5) == [100, 200, 2, 3, 4]
    assert far.at(59, 5) == [59, 115, 215, 62, 63]
    assert far.events() == {}


def test_untyped_accesses_of_8_channels(far: FarPort) -> None:
    got = far.far(Type.A64_UNTYPED_SURFACE_READ, *places(0x100 + 20 * CHANNELS), rlen=4, simd_mode="SIMD8")
    assert [got[c].tolist() for c in range(4)] == [[0x40 + 5 * i + c for i in range(8)] for c in range(4)]


@pytest.mark.parametrize(("log2", "mask"), [(0, 0xFF), (1, 0xFFFF), (2, 0xFFFFFFFF)])
def test_scattered_bytes_fill_dwords(far: FarPort, log2: int, mask: int) -> None:
    """At any address, across pages too."""
    offsets = np.array([0, 1, 2, 7, 0xFFD, 0xFFE, 0xFFF, 0x1003])
    data = np.random.default_rng(1).integers(0, 256, 0x2000, np.uint8)
    far.memory.write(FAR, data.tobytes())
    got = far.far(Type.A64_SCATTERED_READ, *places(offsets), element="BYTE", element_count_log2=log2)
    assert got[0].tolist() == [int.from_bytes(data[o:o + 4].tobytes(), "little") & mask for o in offsets]
    far.far(Type.A64_SCATTERED_WRITE, *places(offsets), 0x55667700 + CHANNELS, rlen=0, emask=0x48, element="BYTE",
            element_count_log2=log2)
    for i in (3, 6):
        data[offsets[i]:offsets[i] + (1 << log2)] = list((0x55667700 + i).to_bytes(4, "little"))[:1 << log2]
    assert far.memory.read(FAR, 0x2000) == data.tobytes()


def test_eight_bytes_fill_two_dwords(far: FarPort) -> None:
    got = far.far(Type.A64_SCATTERED_READ, *places(4 + 8 * CHANNELS), rlen=2, element="BYTE", element_count_log2=3)
    assert got[:2].tolist() == [[2 * i + 1 for i in range(8)], [2 * i + 2 for i in range(8)]]


def test_scattered_dwords_and_qwords(far: FarPort) -> None:
    got = far.far(Type.A64_SCATTERED_READ, *places(12 * CHANNELS), rlen=2, element="DWORD", element_count_log2=1)
    assert got[:2].tolist() == [[3 * i for i in range(8)], [3 * i + 1 for i in range(8)]]
    offsets = 24 * np.arange(16)
    got = far.far(Type.A64_SCATTERED_READ, *places(offsets), rlen=4, element="QWORD", simd16=True, **SIXTEEN)
    assert got[:4].reshape(-1).tolist() == [6 * i + half for i in range(16) for half in range(2)]
    far.far(Type.A64_SCATTERED_WRITE, *places(offsets), *wide(0x700000000 + np.arange(16)), rlen=0, element="QWORD",
            simd16=True, **SIXTEEN | {"emask": 0x0202})
    assert far.at(6, 2) == [1, 7]
    assert far.at(54, 4) == [9, 7, 56, 57]
    assert far.at(0, 2) == [0, 1]


@pytest.mark.parametrize(("size", "first", "count"), [
    ("OWORDS_1_LOW", 0, 4), ("OWORDS_1_HIGH", 4, 4), ("OWORDS_2", 0, 8), ("OWORDS_4", 0, 16), ("OWORDS_8", 0, 32)])
def test_blocks_have_their_address_in_the_header(far: FarPort, size: str, first: int, count: int) -> None:
    place = [*(np.array([FAR + 0x38], np.uint64).view(np.uint32)), 0, 0, 0, 0, 0, 0]
    got = far.far(Type.A64_OWORD_BLOCK_READ, place, header=True, rlen=4, oword_block_size=size)
    assert got.reshape(-1)[first:first + count].tolist() == list(range(12, 12 + count))
    got = far.far(Type.A64_OWORD_BLOCK_READ, place, header=True, rlen=4, oword_block_size=size, alignment=1)
    assert got.reshape(-1)[first:first + count].tolist() == list(range(14, 14 + count))
    far.far(Type.A64_OWORD_BLOCK_WRITE, place, 100 + CHANNELS, header=True, rlen=0, emask=0x82,
            oword_block_size="OWORDS_2")
    assert far.at(12, 8) == [12, 101, 14, 15, 16, 17, 18, 107]


def test_blocks_without_a_header_are_reported(far: FarPort) -> None:
    far.far(Type.A64_OWORD_BLOCK_READ, *places(8 * CHANNELS), oword_block_size="OWORDS_2")
    assert set(far.events()) == {Event.BAD_MESSAGE}


@pytest.mark.parametrize(("operation", "first", "second", "after", "returned"), [
    (AtomicOperation.ADD, 5, 0, 15, 10), (AtomicOperation.INC, 0, 0, 11, 10), (AtomicOperation.PREDEC, 0, 0, 9, 9),
    (AtomicOperation.REVSUB, 30, 0, 20, 10), (AtomicOperation.IMAX, -1, 0, 10, 10),
    (AtomicOperation.IMIN, -1, 0, -1, 10), (AtomicOperation.UMAX, -1, 0, -1, 10),
    (AtomicOperation.UMIN, -1, 0, 10, 10), (AtomicOperation.XOR, 3, 0, 9, 10),
    (AtomicOperation.MOV, -7, 0, -7, 10), (AtomicOperation.CMPWR, 10, 77, 77, 10),
    (AtomicOperation.CMPWR, 11, 77, 10, 10),
])
@pytest.mark.parametrize("bits", [32, 64])
def test_atomics_of_both_sizes(far: FarPort, bits: int, operation: AtomicOperation, first: int, second: int, after: int,
                               returned: int) -> None:
    lanes, size = 0x21, bits // 8
    far.memory.write(FAR + 0x200, np.full(128 // size, 10, f"<u{size}").tobytes())

    def sources(value: int) -> list[np.ndarray]:
        return list(np.full(8, value, f"<i{size}").view(np.uint32).reshape(-1, 8))

    got = far.far(Type.A64_UNTYPED_ATOMIC, *places(0x200 + 16 * CHANNELS), *sources(first), *sources(second),
                  rlen=bits // 32, emask=lanes, atomic_operation=operation, return_data=True, **data_bits(bits))
    stored = np.frombuffer(far.memory.read(FAR + 0x200, 128), f"<i{size}")[::16 // size].tolist()
    results = got[:bits // 32].reshape(-1).view(f"<i{size}").tolist()
    for i in range(8):
        touched = bool(lanes >> i & 1)
        assert stored[i] == (after if touched else 10)
        assert not touched or results[i] == returned
    assert far.events() == {}


def test_64_bits_of_an_operand_count(far: FarPort) -> None:
    far.memory.write(FAR, np.array([0xFFFFFFFF, 1 << 63], np.uint64).tobytes())
    operands = wide(np.full(8, 1))
    far.far(Type.A64_UNTYPED_ATOMIC, *places(8 * CHANNELS), *operands, rlen=0, emask=1, atomic_operation="ADD",
            **data_bits(64))
    got = far.far(Type.A64_UNTYPED_ATOMIC, *places(8 * CHANNELS), *operands, rlen=2, emask=3, atomic_operation="IMIN",
                  return_data=True, **data_bits(64))
    assert got[:2].reshape(-1).view(np.uint64)[:2].tolist() == [1 << 32, 1 << 63]
    assert np.frombuffer(far.memory.read(FAR, 16), np.uint64).tolist() == [1, 1 << 63]


MAX, MIN, COMPARE = FloatAtomicOperation.FMAX, FloatAtomicOperation.FMIN, FloatAtomicOperation.FCMPWR
NAN = float("nan")


@pytest.mark.parametrize(("operation", "old", "first", "second", "after"), [
    (MAX, 1.5, 2.5, 0, 2.5), (MAX, -1.5, -2.5, 0, -1.5), (MAX, -0.0, 0.0, 0, 0.0), (MAX, NAN, -5, 0, -5),
    (MAX, 7, NAN, 0, 7), (MIN, 1.5, 2.5, 0, 1.5), (MIN, 0.0, -0.0, 0, -0.0), (MIN, NAN, 5, 0, 5), (MIN, 7, NAN, 0, 7),
    (COMPARE, 0.0, -0.0, 9, 9), (COMPARE, 1.0, 2.0, 9, 1.0), (COMPARE, NAN, NAN, 9, NAN),
])
@pytest.mark.parametrize("surface", [False, True])
def test_atomics_of_floats(far: FarPort, surface: bool, operation: FloatAtomicOperation, old: float, first: float,
                           second: float, after: float) -> None:
    def bits(value: float) -> np.ndarray:
        return np.full(8, value, np.float32).view(np.uint32)

    place = DATA if surface else FAR
    far.memory.write(place, bits(old).tobytes())
    sources = (bits(first), bits(second))
    control = {"float_atomic_operation": operation, "return_data": True}
    if surface:
        far.buffer(256)
        got = far.message(DATA_CACHE_1, Type.UNTYPED_ATOMIC_FLOAT, 4 * CHANNELS, *sources, header=False, emask=0x7F,
                          simd8=True, **control)
    else:
        got = far.far(Type.A64_UNTYPED_ATOMIC_FLOAT, *places(4 * CHANNELS), *sources, emask=0x7F, **control)
    assert got[0, :7].tolist() == bits(old)[:7].tolist()
    assert far.dwords(0, 8, place) == [*bits(after)[:7].tolist(), int(bits(old)[7])]
    assert far.events() == {}


def test_missing_memory_reads_as_zero_and_bits_beyond_48_are_ignored(far: FarPort) -> None:
    canonical = np.uint64(0xFFFF_0000_0000_0000)
    addresses = np.array([FAR + 4, FAR + 4 | int(canonical), FAR + 0x2000, 0x4000_0000_0000] * 2, np.uint64)
    got = far.far(Type.A64_UNTYPED_SURFACE_READ, *addresses.view(np.uint32).reshape(-1, 8), simd_mode="SIMD8", **RED)
    assert got[0].tolist() == [1, 1, 0, 0] * 2
