"""Data ports of Ivy Bridge and Haswell (IVB PRM vol. 4 part 1, data port)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.messages import AtomicOperation, DataCacheTypeGen7
from gen4emu.hw.gen7.state import buffer_entry_fields
from gen4emu.hw.gen75.messages import DataCache1Type
from tests.harness.data_port_gen7 import (
    CHANNELS,
    CONSTANT_CACHE,
    DATA,
    DATA_CACHE,
    DATA_CACHE_1,
    JUNK,
    PAYLOAD,
    RENDER_CACHE,
    SCRATCH,
    STATELESS,
    TYPED_ATOMIC,
    TYPED_READ,
    TYPED_WRITE,
    Port7,
)
from tests.harness.probe import Event

T = DataCacheTypeGen7


@pytest.fixture
def port() -> Port7:
    return Port7()


def header(**dwords: int) -> np.ndarray:
    """M0; `d2` is dword 2."""
    found = np.zeros(8, np.uint32)
    for name, value in dwords.items():
        found[int(name[1:])] = value
    return found


@pytest.mark.parametrize(("size", "first", "count"), [(0, 0, 4), (1, 4, 4), (2, 0, 8), (3, 0, 16), (4, 0, 32)])
def test_oword_blocks_have_their_offset_in_owords(port: Port7, size: int, first: int, count: int) -> None:
    for sfid in (CONSTANT_CACHE, DATA_CACHE):
        got = port.message(sfid, T.OWORD_BLOCK_READ, size, header(d2=3), rlen=4)
        assert [int(x) for x in got.reshape(-1)[first:first + count]] == list(range(12, 12 + count))


def test_unaligned_blocks_have_their_offset_in_bytes(port: Port7) -> None:
    got = port.message(DATA_CACHE, T.UNALIGNED_OWORD_BLOCK_READ, 2, header(d2=20))
    assert [int(x) for x in got[0]] == list(range(5, 13))


def test_blocks_end_with_the_buffer(port: Port7) -> None:
    port.buffer(0x40)
    got = port.message(CONSTANT_CACHE, T.OWORD_BLOCK_READ, 2, header(d2=3))
    assert [int(x) for x in got[0]] == [12, 13, 14, 15, 0, 0, 0, 0]
    port.buffer(4, pitch=16, surface_format="R32G32B32A32_FLOAT")
    got = port.message(CONSTANT_CACHE, T.OWORD_BLOCK_READ, 2, header(d2=3))
    assert [int(x) for x in got[0]] == [12, 13, 14, 15, 0, 0, 0, 0]


def test_blocks_of_a_buffer_end_with_its_last_whole_dword(port: Port7) -> None:
    port.buffer(0x3B)
    got = port.message(CONSTANT_CACHE, T.OWORD_BLOCK_READ, 2, header(d2=2))
    assert [int(x) for x in got[0]] == [8, 9, 10, 11, 12, 13, 0, 0]
    got = port.message(CONSTANT_CACHE, T.OWORD_DUAL_BLOCK_READ, 0, header(), header(d0=3, d4=2))
    assert [int(x) for x in got[0]] == [12, 13, 0, 0, 8, 9, 10, 11]


def test_dual_blocks_have_an_offset_for_each_half(port: Port7) -> None:
    got = port.message(CONSTANT_CACHE, T.OWORD_DUAL_BLOCK_READ, 0, header(), header(d0=2, d4=5))
    assert [int(x) for x in got[0]] == [8, 9, 10, 11, 20, 21, 22, 23]


def test_channels_enable_the_dwords_of_a_block_write(port: Port7) -> None:
    port.message(DATA_CACHE, T.OWORD_BLOCK_WRITE, 2, header(d2=1), 100 + CHANNELS, rlen=0, emask=0x81)
    assert port.dwords(4, 8) == [100, 5, 6, 7, 8, 9, 10, 107]


def test_scratch_blocks_are_registers_at_the_base_of_the_header(port: Port7) -> None:
    base = header(d5=SCRATCH)
    write, dwords, two = 1 << 3, 1 << 2, 1 << 4
    port.message(DATA_CACHE, write | dwords, two, base, 1 + CHANNELS, 11 + CHANNELS, rlen=0, index=3, exec_size=16,
                 emask=0xFFFF, scratch=1)
    assert port.dwords(3 * 8, 16, SCRATCH) == [*range(1, 9), *range(11, 19)]
    got = port.message(DATA_CACHE, 0, two, base, rlen=2, index=3, scratch=1)
    assert [int(x) for x in got[:2].reshape(-1)] == [*range(1, 9), *range(11, 19)]


def test_scattered_dwords_and_bytes(port: Port7) -> None:
    got = port.message(DATA_CACHE, T.DWORD_SCATTERED_READ, 2, 3 * CHANNELS, header=False)
    assert [int(x) for x in got[0]] == [3 * i for i in range(8)]
    got = port.message(DATA_CACHE, T.BYTE_SCATTERED_READ, 1 << 2, 0x200 + 4 * CHANNELS, header=False)
    assert [int(x) for x in got[0]] == [0x80 + i for i in range(8)]
    port.message(DATA_CACHE, T.BYTE_SCATTERED_WRITE, 0, 0x100 + 4 * CHANNELS, 0xFFFFFF00 + CHANNELS, header=False,
                 rlen=0)
    assert port.dwords(0x40, 4) == [0x00, 0x01, 0x02, 0x03]
    port.message(DATA_CACHE, T.DWORD_SCATTERED_WRITE, 2, 0x50 + CHANNELS, 7 * CHANNELS, header=False, rlen=0)
    assert port.dwords(0x50, 8) == [7 * i for i in range(8)]


def test_untyped_reads_return_the_channels_that_are_not_masked(port: Port7) -> None:
    green_and_alpha, simd8, simd16 = 0b0101, 2 << 4, 1 << 4
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, green_and_alpha | simd8, 16 * CHANNELS, header=False, rlen=2)
    assert [int(x) for x in got[0]] == [4 * i + 1 for i in range(8)]
    assert [int(x) for x in got[1]] == [4 * i + 3 for i in range(8)]
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, 0b1110 | simd16, 4 * CHANNELS, 32 + 4 * CHANNELS,
                       header=False, rlen=2, exec_size=16, emask=0xFFFF)
    assert [int(x) for x in got[:2].reshape(-1)] == list(range(16))


@pytest.mark.parametrize("to", [PAYLOAD - 1, PAYLOAD, PAYLOAD + 1])
def test_a_response_may_overwrite_the_addresses(port: Port7, to: int) -> None:
    """As Mesa's register allocator lets it: the message is read before its response arrives."""
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, 1 << 4, 4 * CHANNELS, 32 + 4 * CHANNELS, header=False,
                       rlen=8, exec_size=16, emask=0xFFFF, to=to)
    assert [int(x) for x in got.reshape(-1)] == [i + c for c in range(4) for i in range(16)]


def test_untyped_accesses_beyond_the_buffer_do_nothing(port: Port7) -> None:
    port.buffer(16)
    simd8 = 2 << 4
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, 0b1110 | simd8, 4 * CHANNELS, header=False)
    assert [int(x) for x in got[0]] == [0, 1, 2, 3, 0, 0, 0, 0]
    port.message(DATA_CACHE, T.UNTYPED_SURFACE_WRITE, 0b1110 | simd8, 4 * CHANNELS, 50 + CHANNELS, header=False, rlen=0)
    assert port.dwords(0, 8) == [50, 51, 52, 53, 4, 5, 6, 7]


def test_structures_have_a_number_and_an_offset(port: Port7) -> None:
    port.state(surface_type="SURFTYPE_STRBUF", surface_format="RAW", surface_pitch=32, **buffer_entry_fields(64))
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, 0b1110 | 2 << 4, CHANNELS, np.full(8, 8), header=False)
    assert [int(x) for x in got[0]] == [8 * i + 2 for i in range(8)]


@pytest.mark.parametrize(("operation", "first", "second", "after", "returned"), [
    (AtomicOperation.ADD, 5, 0, 15, 10), (AtomicOperation.SUB, 3, 0, 7, 10), (AtomicOperation.REVSUB, 30, 0, 20, 10),
    (AtomicOperation.AND, 6, 0, 2, 10), (AtomicOperation.OR, 5, 0, 15, 10), (AtomicOperation.XOR, 3, 0, 9, 10),
    (AtomicOperation.MOV, 99, 0, 99, 10), (AtomicOperation.INC, 0, 0, 11, 10), (AtomicOperation.DEC, 0, 0, 9, 10),
    (AtomicOperation.PREDEC, 0, 0, 9, 9), (AtomicOperation.IMAX, 2 ** 32 - 1, 0, 10, 10),
    (AtomicOperation.UMAX, 2 ** 32 - 1, 0, 2 ** 32 - 1, 10), (AtomicOperation.IMIN, 2 ** 32 - 1, 0, 2 ** 32 - 1, 10),
    (AtomicOperation.UMIN, 2 ** 32 - 1, 0, 10, 10), (AtomicOperation.CMPWR, 10, 77, 77, 10),
    (AtomicOperation.CMPWR, 11, 77, 10, 10),
])
def test_atomics(operation: AtomicOperation, first: int, second: int, after: int, returned: int) -> None:
    simd8, returns = 1 << 4, 1 << 5
    for gen, sfid, type_ in ((Gen.IVB, DATA_CACHE, T.UNTYPED_ATOMIC),
                             (Gen.HSW, DATA_CACHE_1, DataCache1Type.UNTYPED_ATOMIC)):
        port = Port7(gen)
        got = port.message(sfid, type_, operation | simd8 | returns, np.full(8, 40), np.full(8, first),
                           np.full(8, second), header=False, emask=0x01)
        assert (port.dwords(10, 1), int(got[0, 0])) == ([after], returned)
        assert got[0, 1] == JUNK


def test_channels_change_a_counter_one_after_the_other(port: Port7) -> None:
    simd8, returns = 1 << 4, 1 << 5
    got = port.message(DATA_CACHE, T.UNTYPED_ATOMIC, AtomicOperation.INC | simd8 | returns, np.full(8, 40),
                       header=False)
    assert [int(x) for x in got[0]] == list(range(10, 18))


def test_a_message_can_mask_pixels(port: Port7) -> None:
    port.message(DATA_CACHE, T.UNTYPED_SURFACE_WRITE, 0b1110 | 2 << 4, header(d7=0x05), 4 * CHANNELS, 50 + CHANNELS,
                 rlen=0)
    assert port.dwords(0, 4) == [50, 1, 52, 3]


def test_typed_surfaces(port: Port7) -> None:
    port.state(surface_type="SURFTYPE_2D", surface_format="R32_UINT", width=16, height=16, depth=2, surface_pitch=64,
               surface_array=1, surface_array_spacing="LOD0", surface_vertical_alignment="VALIGN_4")
    everyone = header(d7=0xFFFF)
    got = port.message(RENDER_CACHE, TYPED_READ, 0b1110, everyone, CHANNELS, np.full(8, 3), np.full(8, 1))
    assert [int(x) for x in got[0]] == [16 * 16 + 3 * 16 + i for i in range(8)]
    got = port.message(RENDER_CACHE, TYPED_READ, 0b1110, everyone, 12 + CHANNELS, np.full(8, 3), np.full(8, 0))
    assert [int(x) for x in got[0]] == [60, 61, 62, 63, 0, 0, 0, 0], "outside"
    port.message(RENDER_CACHE, TYPED_WRITE, 0b1110, header(d7=0x02), CHANNELS, np.full(8, 0), np.full(8, 0),
                 90 + CHANNELS, rlen=0)
    assert port.dwords(0, 3) == [0, 91, 2]
    got = port.message(RENDER_CACHE, TYPED_ATOMIC, AtomicOperation.ADD | 1 << 5, everyone, np.full(8, 4), np.full(8, 0),
                       np.full(8, 0), np.full(8, 2))
    assert [int(x) for x in got[0]] == [4 + 2 * i for i in range(8)]


def test_typed_writes_convert_to_the_format(port: Port7) -> None:
    everyone = header(d7=0xFFFF)
    half, one, two, minus = (np.full(8, x, np.float32).view(np.uint32) for x in (0.5, 1.0, 2.0, -1.0))
    for name, expected in (("R8G8B8A8_UNORM", 0x00FFFF80), ("R8G8B8A8_SNORM", 0x817F7F40)):
        port.state(surface_type="SURFTYPE_1D", surface_format=name, width=16, height=1, depth=1, surface_pitch=64)
        port.message(RENDER_CACHE, TYPED_WRITE, 0, everyone, CHANNELS, half, one, two, minus, rlen=0)
        assert port.dwords(0, 1) == [expected], name
    for name, whole in (("R32_UNORM", 0xFFFFFFFF), ("R32_SNORM", 0x7FFFFFFF)):
        port.state(surface_type="SURFTYPE_1D", surface_format=name, width=16, height=1, depth=1, surface_pitch=64)
        port.message(RENDER_CACHE, TYPED_WRITE, 0b1110, everyone, CHANNELS, two, rlen=0)
        assert port.dwords(0, 1) == [whole], name
    port.state(surface_type="SURFTYPE_1D", surface_format="R16G16_FLOAT", width=16, height=1, depth=1, surface_pitch=64)
    port.message(RENDER_CACHE, TYPED_WRITE, 0b1100, everyone, CHANNELS, half, minus, rlen=0)
    assert port.dwords(0, 1) == [0xBC003800]


@pytest.mark.parametrize(("name", "disabled"), [("R16_FLOAT", 0b1110), ("R11G11B10_FLOAT", 0b1000)])
def test_typed_writes_round_floats_to_nearest_even(port: Port7, name: str, disabled: int) -> None:
    port.state(surface_type="SURFTYPE_1D", surface_format=name, width=16, height=1, depth=1, surface_pitch=64)
    values = np.array([0, 0.25, 33, 2 ** -14, 2 ** -20, 1 + 2 ** -5 + 2 ** -7, 61440, 1e9], np.float32)
    channels = 4 - disabled.bit_count()
    port.message(RENDER_CACHE, TYPED_WRITE, disabled, header(d7=0xFFFF), CHANNELS, *[values.view(np.uint32)] * channels,
                 rlen=0)
    if name == "R16_FLOAT":
        with np.errstate(over="ignore"):
            expected = values.astype(np.float16).view(np.uint16)
        assert port.memory.read(DATA, 16) == expected.tobytes()
    else:
        red = [x & 0x7FF for x in port.dwords(0, 8)]
        assert red == [0, 13 << 6, 20 << 6 | 2, 1 << 6, 1, 15 << 6 | 2, 30 << 6 | 56, 31 << 6]
        assert [x >> 22 for x in port.dwords(0, 2)] == [0, 13 << 5]


def test_the_null_surface_and_stateless_memory(port: Port7) -> None:
    port.state(surface_type="SURFTYPE_NULL", surface_format="RAW")
    got = port.message(CONSTANT_CACHE, T.OWORD_BLOCK_READ, 2, header(d2=3))
    assert not got[0].any()
    got = port.message(DATA_CACHE, T.OWORD_BLOCK_READ, 2, header(d2=1, d5=DATA), index=STATELESS)
    assert [int(x) for x in got[0]] == list(range(4, 12))
    assert port.events() == {}


def test_messages_that_do_not_exist_are_reported(port: Port7) -> None:
    port.message(DATA_CACHE, 9, 0, header())
    assert set(port.events()) == {Event.BAD_MESSAGE}
