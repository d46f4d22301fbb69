"""Data ports of Ivy Bridge and Haswell (IVB PRM vol. 4 part 1, data port)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.messages import AtomicOperation, DataCacheTypeGen7, RenderCacheTypeGen7
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
    Port7,
)
from tests.harness.messages import ONE_CHANNEL, channel_mask
from tests.harness.probe import Event

T = DataCacheTypeGen7
TYPED_READ, TYPED_ATOMIC, TYPED_WRITE = (
    RenderCacheTypeGen7.TYPED_SURFACE_READ, RenderCacheTypeGen7.TYPED_ATOMIC, RenderCacheTypeGen7.TYPED_SURFACE_WRITE)
EVERY_PIXEL = 0xFFFF
TWO_OWORDS = {"oword_block_size": "OWORDS_2"}
RED = {"channel_mask": ONE_CHANNEL}
EIGHT_REDS = {"simd_mode": "SIMD8", **RED}
ROW = np.zeros(8, np.uint32)


@pytest.fixture
def port() -> Port7:
    return Port7()


def halves(first: int, second: int) -> list[int]:
    """The offsets of dual blocks."""
    return block_named("OWORD_DUAL_BLOCK_OFFSETS", Gen.IVB).pack(Gen.IVB, block_offset_0=first, block_offset_1=second)


@pytest.mark.parametrize(("size", "first", "count"), [
    ("OWORDS_1_LOW", 0, 4), ("OWORDS_1_HIGH", 4, 4), ("OWORDS_2", 0, 8), ("OWORDS_4", 0, 16), ("OWORDS_8", 0, 32)])
def test_oword_blocks_have_their_offset_in_owords(port: Port7, size: str, first: int, count: int) -> None:
    for function in (CONSTANT_CACHE, DATA_CACHE):
        got = port.message(function, T.OWORD_BLOCK_READ, port.header(global_offset=3), rlen=4, oword_block_size=size)
        assert [int(x) for x in got.reshape(-1)[first:first + count]] == list(range(12, 12 + count))


def test_unaligned_blocks_have_their_offset_in_bytes(port: Port7) -> None:
    got = port.message(DATA_CACHE, T.UNALIGNED_OWORD_BLOCK_READ, port.header(global_offset=20), **TWO_OWORDS)
    assert [int(x) for x in got[0]] == list(range(5, 13))


def test_blocks_end_with_the_buffer(port: Port7) -> None:
    port.buffer(0x40)
    got = port.message(CONSTANT_CACHE, T.OWORD_BLOCK_READ, port.header(global_offset=3), **TWO_OWORDS)
    assert [int(x) for x in got[0]] == [12, 13, 14, 15, 0, 0, 0, 0]
    port.buffer(4, pitch=16, surface_format="R32G32B32A32_FLOAT")
    got = port.message(CONSTANT_CACHE, T.OWORD_BLOCK_READ, port.header(global_offset=3), **TWO_OWORDS)
    assert [int(x) for x in got[0]] == [12, 13, 14, 15, 0, 0, 0, 0]


def test_blocks_of_a_buffer_end_with_its_last_whole_dword(port: Port7) -> None:
    port.buffer(0x3B)
    got = port.message(CONSTANT_CACHE, T.OWORD_BLOCK_READ, port.header(global_offset=2), **TWO_OWORDS)
    assert [int(x) for x in got[0]] == [8, 9, 10, 11, 12, 13, 0, 0]
    got = port.message(CONSTANT_CACHE, T.OWORD_DUAL_BLOCK_READ, port.header(), halves(3, 2))
    assert [int(x) for x in got[0]] == [12, 13, 0, 0, 8, 9, 10, 11]


def test_dual_blocks_have_an_offset_for_each_half(port: Port7) -> None:
    got = port.message(CONSTANT_CACHE, T.OWORD_DUAL_BLOCK_READ, port.header(), halves(2, 5))
    assert [int(x) for x in got[0]] == [8, 9, 10, 11, 20, 21, 22, 23]


def test_channels_enable_the_dwords_of_a_block_write(port: Port7) -> None:
    port.message(DATA_CACHE, T.OWORD_BLOCK_WRITE, port.header(global_offset=1), 100 + CHANNELS, rlen=0, emask=0x81,
                 **TWO_OWORDS)
    assert port.dwords(4, 8) == [100, 5, 6, 7, 8, 9, 10, 107]


def test_scratch_blocks_are_registers_at_the_base_of_the_header(port: Port7) -> None:
    base = port.header(immediate_buffer_base_address=SCRATCH)
    two_at_3 = {"scratch_block_size": 2 - 1, "scratch_offset": 3}
    port.scratch(base, 1 + CHANNELS, 11 + CHANNELS, exec_size=16, emask=0xFFFF, scratch_operation="WRITE",
                 scratch_unit="DWORD", **two_at_3)
    assert port.dwords(3 * 8, 16, SCRATCH) == [*range(1, 9), *range(11, 19)]
    got = port.scratch(base, rlen=2, **two_at_3)
    assert [int(x) for x in got[:2].reshape(-1)] == [*range(1, 9), *range(11, 19)]


def test_scattered_dwords_and_bytes(port: Port7) -> None:
    got = port.message(DATA_CACHE, T.DWORD_SCATTERED_READ, 3 * CHANNELS, header=False)
    assert [int(x) for x in got[0]] == [3 * i for i in range(8)]
    got = port.message(DATA_CACHE, T.BYTE_SCATTERED_READ, 0x200 + 4 * CHANNELS, header=False, element_bytes_log2=1)
    assert [int(x) for x in got[0]] == [0x80 + i for i in range(8)]
    port.message(DATA_CACHE, T.BYTE_SCATTERED_WRITE, 0x100 + 4 * CHANNELS, 0xFFFFFF00 + CHANNELS, header=False,
                 rlen=0)
    assert port.dwords(0x40, 4) == [0x00, 0x01, 0x02, 0x03]
    port.message(DATA_CACHE, T.DWORD_SCATTERED_WRITE, 0x50 + CHANNELS, 7 * CHANNELS, header=False, rlen=0)
    assert port.dwords(0x50, 8) == [7 * i for i in range(8)]


def test_untyped_reads_return_the_channels_that_are_not_masked(port: Port7) -> None:
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, 16 * CHANNELS, header=False, rlen=2, simd_mode="SIMD8",
                       channel_mask=channel_mask("GA"))
    assert [int(x) for x in got[0]] == [4 * i + 1 for i in range(8)]
    assert [int(x) for x in got[1]] == [4 * i + 3 for i in range(8)]
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, 4 * CHANNELS, 32 + 4 * CHANNELS, header=False, rlen=2,
                       exec_size=16, emask=0xFFFF, simd_mode="SIMD16", channel_mask=ONE_CHANNEL)
    assert [int(x) for x in got[:2].reshape(-1)] == list(range(16))


@pytest.mark.parametrize("to", [PAYLOAD - 1, PAYLOAD, PAYLOAD + 1])
def test_a_response_may_overwrite_the_addresses(port: Port7, to: int) -> None:
    """As Mesa's register allocator lets it: the message is read before its response arrives."""
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, 4 * CHANNELS, 32 + 4 * CHANNELS, header=False, rlen=8,
                       exec_size=16, emask=0xFFFF, to=to, simd_mode="SIMD16")
    assert [int(x) for x in got.reshape(-1)] == [i + c for c in range(4) for i in range(16)]


def test_untyped_accesses_beyond_the_buffer_do_nothing(port: Port7) -> None:
    port.buffer(16)
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, 4 * CHANNELS, header=False, **EIGHT_REDS)
    assert [int(x) for x in got[0]] == [0, 1, 2, 3, 0, 0, 0, 0]
    port.message(DATA_CACHE, T.UNTYPED_SURFACE_WRITE, 4 * CHANNELS, 50 + CHANNELS, header=False, rlen=0, **EIGHT_REDS)
    assert port.dwords(0, 8) == [50, 51, 52, 53, 4, 5, 6, 7]


def test_structures_have_a_number_and_an_offset(port: Port7) -> None:
    port.state(surface_type="SURFTYPE_STRBUF", surface_format="RAW", surface_pitch=32, **buffer_entry_fields(64))
    got = port.message(DATA_CACHE, T.UNTYPED_SURFACE_READ, CHANNELS, np.full(8, 8), header=False, **EIGHT_REDS)
    assert [int(x) for x in got[0]] == [8 * i + 2 for i in range(8)]


def test_registers_beyond_the_payload_are_zeros(port: Port7) -> None:
    """`to` has other numbers, and no response goes there."""
    port.message(DATA_CACHE, T.UNTYPED_ATOMIC, np.full(8, 40), header=False, rlen=0, to=PAYLOAD + 1, emask=0x01,
                 atomic_operation="ADD", simd8=True)
    assert port.dwords(10, 1) == [10]
    port.state(surface_type="SURFTYPE_STRBUF", surface_format="RAW", surface_pitch=32, **buffer_entry_fields(64))
    port.message(DATA_CACHE, T.UNTYPED_SURFACE_WRITE, CHANNELS, np.full(8, 8), header=False, rlen=0, to=PAYLOAD + 2,
                 **EIGHT_REDS)
    assert [port.dwords(8 * i + 1, 3) for i in range(8)] == [[8 * i + 1, 0, 8 * i + 3] for i in range(8)]


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
    for gen, function, kind in ((Gen.IVB, DATA_CACHE, T.UNTYPED_ATOMIC),
                             (Gen.HSW, DATA_CACHE_1, DataCache1Type.UNTYPED_ATOMIC)):
        port = Port7(gen)
        got = port.message(function, kind, np.full(8, 40), np.full(8, first), np.full(8, second), header=False,
                           emask=0x01, atomic_operation=operation, simd8=True, return_data=True)
        assert (port.dwords(10, 1), int(got[0, 0])) == ([after], returned)
        assert got[0, 1] == JUNK


# (operation, sources of both halves, dwords 10 and 20 after it): they were 10 and 20
_HALVES = [("ADD", (5, 6), (0, 0), (15, 26)), ("INC", (0, 0), (0, 0), (11, 21)),
           ("CMPWR", (10, 20), (77, 88), (77, 88)),
           ("CMPWR", (11, 20), (77, 88), (10, 88)), ("CMPWR", (10, 19), (0, 88), (0, 20))]


def four(first: tuple[int, ...], second: tuple[int, ...]) -> list[int]:
    """A register of SIMD4x2, whose other dwords do not count."""
    return [*first, *[JUNK] * (4 - len(first)), *second, *[JUNK] * (4 - len(second))]


@pytest.mark.parametrize(("operation", "sources", "seconds", "after"), _HALVES)
def test_atomics_of_simd4x2_have_both_sources_in_one_register(operation: str, sources: tuple[int, int],
                                                              seconds: tuple[int, int], after: tuple[int, int]) -> None:
    """The driver of Haswell sends them from vertex, tessellation and geometry shaders."""
    port = Port7(Gen.HSW)
    registers = [four((40,), (80,))] + ([] if operation == "INC" else [four(*zip(sources, seconds, strict=True))])
    got = port.message(DATA_CACHE_1, DataCache1Type.UNTYPED_ATOMIC_SIMD4X2, *registers, header=False,
                       atomic_operation=operation, return_data=True)
    assert (port.dwords(10, 1), port.dwords(20, 1)) == ([after[0]], [after[1]])
    assert [int(x) for x in got[0]] == four((10,), (20,))


def test_an_atomic_of_simd4x2_leaves_halves_that_are_not_enabled() -> None:
    port = Port7(Gen.HSW)
    got = port.message(DATA_CACHE_1, DataCache1Type.UNTYPED_ATOMIC_SIMD4X2, four((40,), (80,)), four((5,), (6,)),
                       header=False, atomic_operation="ADD", return_data=True, emask=0x1E)
    assert (port.dwords(10, 1), port.dwords(20, 1)) == ([10], [26])
    assert [int(x) for x in got[0]] == four((JUNK,), (20,))


def test_atomics_of_simd4x2_to_structures_have_number_and_offset_in_one_register() -> None:
    port = Port7(Gen.HSW)
    port.state(surface_type="SURFTYPE_STRBUF", surface_format="RAW", surface_pitch=32, **buffer_entry_fields(64))
    port.message(DATA_CACHE_1, DataCache1Type.UNTYPED_ATOMIC_SIMD4X2, four((1, 8), (2, 16)),
                 four((10, 77), (20, 88)), header=False, rlen=0, atomic_operation="CMPWR")
    assert (port.dwords(10, 1), port.dwords(20, 1)) == ([77], [88])


@pytest.mark.parametrize(("operation", "sources", "seconds", "after"), _HALVES)
def test_typed_atomics_of_simd4x2_do_so_too(operation: str, sources: tuple[int, int], seconds: tuple[int, int],
                                            after: tuple[int, int]) -> None:
    port = Port7(Gen.HSW)
    port.state(surface_type="SURFTYPE_2D", surface_format="R32_UINT", width=16, height=16, surface_pitch=64)
    registers = [port.header(), four((10, 0, 0, 0), (4, 1, 0, 0))]
    registers += [] if operation == "INC" else [four(*zip(sources, seconds, strict=True))]
    got = port.message(DATA_CACHE_1, DataCache1Type.TYPED_ATOMIC_SIMD4X2, *registers,
                       atomic_operation=operation, return_data=True)
    assert (port.dwords(10, 1), port.dwords(20, 1)) == ([after[0]], [after[1]])
    assert [int(x) for x in got[0]] == four((10,), (20,))


def test_channels_change_a_counter_one_after_the_other(port: Port7) -> None:
    got = port.message(DATA_CACHE, T.UNTYPED_ATOMIC, np.full(8, 40), header=False, atomic_operation="INC", simd8=True,
                       return_data=True)
    assert [int(x) for x in got[0]] == list(range(10, 18))


def test_a_message_can_mask_pixels(port: Port7) -> None:
    port.message(DATA_CACHE, T.UNTYPED_SURFACE_WRITE, port.header(pixel_mask=0b101), 4 * CHANNELS, 50 + CHANNELS,
                 rlen=0, **EIGHT_REDS)
    assert port.dwords(0, 4) == [50, 1, 52, 3]


def test_typed_surfaces(port: Port7) -> None:
    port.state(surface_type="SURFTYPE_2D", surface_format="R32_UINT", width=16, height=16, depth=2, surface_pitch=64,
               surface_array=1, surface_array_spacing="LOD0", surface_vertical_alignment="VALIGN_4")
    everyone = port.header(pixel_mask=EVERY_PIXEL)
    got = port.message(RENDER_CACHE, TYPED_READ, everyone, CHANNELS, np.full(8, 3), np.full(8, 1), **RED)
    assert [int(x) for x in got[0]] == [16 * 16 + 3 * 16 + i for i in range(8)]
    got = port.message(RENDER_CACHE, TYPED_READ, everyone, 12 + CHANNELS, np.full(8, 3), np.full(8, 0), **RED)
    assert [int(x) for x in got[0]] == [60, 61, 62, 63, 0, 0, 0, 0], "outside"
    port.message(RENDER_CACHE, TYPED_WRITE, port.header(pixel_mask=0b010), CHANNELS, np.full(8, 0), np.full(8, 0),
                 90 + CHANNELS, rlen=0, **RED)
    assert port.dwords(0, 3) == [0, 91, 2]
    got = port.message(RENDER_CACHE, TYPED_ATOMIC, everyone, np.full(8, 4), np.full(8, 0), np.full(8, 0), np.full(8, 2),
                       atomic_operation="ADD", return_data=True)
    assert [int(x) for x in got[0]] == [4 + 2 * i for i in range(8)]


def test_messages_to_typed_surfaces_access_the_first_level_of_the_view(port: Port7) -> None:
    """Level 1 lies below the sixteen rows of level 0."""
    port.state(surface_type="SURFTYPE_2D", surface_format="R32_UINT", width=16, height=16, depth=1, surface_pitch=64,
               surface_vertical_alignment="VALIGN_4", surface_min_lod=1)
    got = port.message(RENDER_CACHE, TYPED_READ, port.header(pixel_mask=EVERY_PIXEL), CHANNELS + 1, ROW + 2, ROW, **RED)
    assert [int(x) for x in got[0]] == [16 * 18 + i + 1 for i in range(7)] + [0]


def test_messages_to_volumes_count_slices_from_the_first_of_the_view(port: Port7) -> None:
    """Slice 3 of level 1 is the second one of the second row of slices."""
    port.state(surface_type="SURFTYPE_3D", surface_format="R32_UINT", width=8, height=8, depth=8, surface_pitch=64,
               surface_vertical_alignment="VALIGN_4", surface_min_lod=1, minimum_array_element=2)
    got = port.message(RENDER_CACHE, TYPED_READ, port.header(pixel_mask=EVERY_PIXEL), CHANNELS, ROW, ROW + 1, **RED)
    assert [int(x) for x in got[0]] == [16 * (8 * 8 + 4) + 4 + i for i in range(4)] + [0] * 4
    got = port.message(RENDER_CACHE, TYPED_READ, port.header(pixel_mask=EVERY_PIXEL), CHANNELS, ROW, ROW + 2, **RED)
    assert not got[0].any(), "beyond the last slice"


@pytest.mark.parametrize(("name", "size"), [("R8_UINT", 1), ("R16_UINT", 2)])
def test_typed_reads_of_small_texels_are_not_reported(name: str, size: int) -> None:
    """Ivy Bridge does not document them, but crocus uses them without masking the result."""
    first_slots = {"simd_mode": "SIMD16"}
    for gen, function, kind, mode in ((Gen.IVB, RENDER_CACHE, TYPED_READ, {}),
                                      (Gen.HSW, DATA_CACHE_1, DataCache1Type.TYPED_SURFACE_READ, first_slots)):
        port = Port7(gen)
        port.memory.write(DATA, bytes(range(1, 33)))
        port.state(surface_type="SURFTYPE_2D", surface_format=name, width=16, height=1, depth=1, surface_pitch=64,
                   surface_vertical_alignment="VALIGN_4")
        got = port.message(function, kind, port.header(pixel_mask=EVERY_PIXEL), CHANNELS, ROW, ROW, **RED, **mode)
        texels = [bytes(range(1 + size * i, 1 + size * i + size)) for i in range(8)]
        assert [int(x) for x in got[0]] == [int.from_bytes(texel, "little") for texel in texels], gen
        assert port.events() == {}, gen


def test_typed_writes_convert_to_the_format(port: Port7) -> None:
    everyone = port.header(pixel_mask=EVERY_PIXEL)
    half, one, two, minus = (np.full(8, x, np.float32).view(np.uint32) for x in (0.5, 1.0, 2.0, -1.0))
    for name, expected in (("R8G8B8A8_UNORM", 0x00FFFF80), ("R8G8B8A8_SNORM", 0x817F7F40)):
        port.state(surface_type="SURFTYPE_1D", surface_format=name, width=16, height=1, depth=1, surface_pitch=64)
        port.message(RENDER_CACHE, TYPED_WRITE, everyone, CHANNELS, half, one, two, minus, rlen=0)
        assert port.dwords(0, 1) == [expected], name
    for name, whole in (("R32_UNORM", 0xFFFFFFFF), ("R32_SNORM", 0x7FFFFFFF)):
        port.state(surface_type="SURFTYPE_1D", surface_format=name, width=16, height=1, depth=1, surface_pitch=64)
        port.message(RENDER_CACHE, TYPED_WRITE, everyone, CHANNELS, two, rlen=0, **RED)
        assert port.dwords(0, 1) == [whole], name
    port.state(surface_type="SURFTYPE_1D", surface_format="R16G16_FLOAT", width=16, height=1, depth=1, surface_pitch=64)
    port.message(RENDER_CACHE, TYPED_WRITE, everyone, CHANNELS, half, minus, rlen=0, channel_mask=channel_mask("RG"))
    assert port.dwords(0, 1) == [0xBC003800]


@pytest.mark.parametrize(("name", "channels"), [("R16_FLOAT", "R"), ("R11G11B10_FLOAT", "RGB")])
def test_typed_writes_round_floats_to_nearest_even(port: Port7, name: str, channels: str) -> None:
    port.state(surface_type="SURFTYPE_1D", surface_format=name, width=16, height=1, depth=1, surface_pitch=64)
    values = np.array([0, 0.25, 33, 2 ** -14, 2 ** -20, 1 + 2 ** -5 + 2 ** -7, 61440, 1e9], np.float32)
    port.message(RENDER_CACHE, TYPED_WRITE, port.header(pixel_mask=EVERY_PIXEL), CHANNELS,
                 *[values.view(np.uint32)] * len(channels), rlen=0, channel_mask=channel_mask(channels))
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
    got = port.message(CONSTANT_CACHE, T.OWORD_BLOCK_READ, port.header(global_offset=3), **TWO_OWORDS)
    assert not got[0].any()
    got = port.message(DATA_CACHE, T.OWORD_BLOCK_READ, port.header(global_offset=1, immediate_buffer_base_address=DATA),
                       index=STATELESS, **TWO_OWORDS)
    assert [int(x) for x in got[0]] == list(range(4, 12))
    assert port.events() == {}


def test_messages_that_do_not_exist_are_reported(port: Port7) -> None:
    assert 9 not in list(T)
    port.message(DATA_CACHE, 9, port.header())
    assert set(port.events()) == {Event.BAD_MESSAGE}
