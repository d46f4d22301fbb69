"""AVC-IT, AVC-MC and VC1-IT: payloads, transforms, smoothing (G45 PRM vol. 2, 10.7.3)."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen4.media import VfeMode
from tests.harness.media import DATA, DESCRIPTORS, EXTENDED, Media, machine, unit

Block = NDArray[np.int64]
I_PCM = 25
ROOTS = 64  # of the queue
CODED = [f"coded_block_{name}" for name in ("y0", "y1", "y2", "y3", "cb", "cr")]


def run(media: Media, inline: str, data: bytes, **fields: Any) -> tuple[tuple[int, ...], ...]:
    media.object(block_named(inline, media.gen).pack(media.gen, **fields), data, name="MEDIA_OBJECT_EX")
    (thread,) = media.run()
    assert media.complaints() == []
    return thread.data


def blocks(rows: tuple[tuple[int, ...], ...]) -> Block:
    words = np.array(rows, dtype=np.uint32).view(np.int16).astype(np.int64)
    return words.reshape(-1, 8, 8)


def units(block: Block) -> bytes:
    """A transform block as coefficient units."""
    flat = block.reshape(-1)
    places = [int(i) for i in np.flatnonzero(flat)] or [0]
    return b"".join(unit(i, int(flat[i]), i == places[-1]) for i in places)


# --- the transforms, written as matrices ---

H4 = np.array([[1, 1, 1, 1], [1, 0.5, -0.5, -1], [1, -1, -1, 1], [0.5, -1, 1, -0.5]])


def avc_4x4(block: Block) -> Block:
    """Exact when the coefficients are multiples of 4: nothing is cut off on the way."""
    return np.floor((H4.T @ block @ H4 + 32) / 64).astype(np.int64)


def avc_8x8_basis() -> NDArray[np.float64]:
    a, b, c, d, e, f = 12 / 8, 10 / 8, 6 / 8, 3 / 8, 1, 0.5
    return np.array([[1] * 8, [a, b, c, d, -d, -c, -b, -a], [e, f, -f, -e, -e, -f, f, e],
                     [b, -d, -a, -c, c, a, d, -b], [1, -1, -1, 1, 1, -1, -1, 1], [c, -a, d, b, -b, -d, a, -c],
                     [f, -e, e, -f, -f, e, -e, f], [d, -c, b, -a, a, -b, c, -d]])


def avc_8x8(block: Block) -> Block:
    basis = avc_8x8_basis()
    return np.floor((basis.T @ block @ basis + 32) / 64).astype(np.int64)


T8 = np.array([[12] * 8, [16, 15, 9, 4, -4, -9, -15, -16], [16, 6, -6, -16, -16, -6, 6, 16],
               [15, -4, -16, -9, 9, 16, 4, -15], [12, -12, -12, 12, 12, -12, -12, 12],
               [9, -16, 4, 15, -15, -4, 16, -9], [6, -16, 16, -6, -6, 16, -16, 6], [4, -9, 15, -16, 16, -15, 9, -4]])
T4 = np.array([[17, 17, 17, 17], [22, 10, -10, -22], [17, -17, -17, 17], [10, -22, 22, -10]])


def vc1(block: Block) -> Block:
    rows, columns = block.shape
    across, down = (T8 if n == 8 else T4 for n in (columns, rows))
    half = block @ across + 4 >> 3
    extra = np.where(np.arange(rows) >= 4, rows // 8, 0)[:, None]
    return down.T @ half + 64 + extra >> 7


def random_block(seed: int, shape: tuple[int, int], count: int = 6, step: int = 64) -> Block:
    rng = np.random.default_rng(seed)
    block = np.zeros(shape, dtype=np.int64)
    for _ in range(count):
        block[tuple(rng.integers(0, n) for n in shape)] = step * int(rng.integers(-30, 30))
    return block


# --- AVC ---

MC_STATE = {"residual_data_fixed_source_offset_flag": True, "residual_data_source_offset": 16,
            "indirect_sub_field_present_flag": 3, "inter_weight_offset_grf_destination_offset": 4,
            "inter_residual_data_grf_destination_offset": 6}


def test_avc_mc_expands_vectors_weights_and_residual() -> None:
    media = machine(VfeMode.AVC_MC, **MC_STATE)
    residual = struct.pack("<64h", *range(-32, 32))
    data = struct.pack("<8I", 0x00010002, 0xFFFF0003, 0, 0, 0x11, 0x22, 0x33, 0) + bytes(32) + residual
    rows = run(media, "MEDIA_INLINE_AVC_MC", data, mv_size=2, weighted_bipred_flag=1, coded_block_y0=True, mb_type=3,
               horizontal_origin=7, vertical_origin=9)
    assert len(rows) == 1 + 6 + 24
    assert rows[1] == (0x00010002, 0xFFFF0003, 0, 0, 0, 0, 0, 0)
    assert rows[2] == rows[3] == rows[4] == (0,) * 8
    assert rows[5] == (0x11, 0x22, 0x33, 0, 0, 0, 0, 0)
    assert rows[6] == (0,) * 8
    found = blocks(rows[7:])
    assert found[0].reshape(-1).tolist() == list(range(-32, 32))
    assert not found[1:].any()
    assert rows[0][0] == 1 << 6 | 3 << 8  # without the size of the vectors
    assert rows[0][1] == 9 << 8 | 7
    assert rows[0][2] == 1 << 13


@pytest.mark.parametrize(("size", "vectors", "weights"), [(2, 4, 4), (4, 8, 16), (5, 16, 16), (6, 32, 16)])
def test_the_size_of_vectors_and_weights(size: int, vectors: int, weights: int) -> None:
    media = machine(VfeMode.AVC_IT, **MC_STATE | {"residual_data_fixed_source_offset_flag": False,
                                                  "residual_data_source_offset": 0})
    numbers = list(range(1, vectors + weights + 1))
    rows = run(media, "MEDIA_INLINE_AVC_IT", struct.pack(f"<{len(numbers)}I", *numbers), mv_size=size, mb_type=3)
    flat = [v for row in rows[1:] for v in row]
    assert flat[:32] == numbers[:vectors] + [0] * (32 - vectors)
    assert flat[32:48] == numbers[vectors:] + [0] * (16 - weights)
    assert not any(flat[48:])
    assert len(rows) == 1 + 6 + 24


def test_rows_between_weights_and_residual_are_zeros_after_other_objects() -> None:
    media = machine(VfeMode.AVC_MC, **MC_STATE | {"inter_residual_data_grf_destination_offset": 10})
    residual = struct.pack("<64h", *range(1, 65))
    for _ in range(ROOTS):
        rows = run(media, "MEDIA_INLINE_AVC_MC", bytes(64) + 6 * residual, mb_type=3, **dict.fromkeys(CODED, True))
        assert all(any(row) for row in rows[1:25])
    data = struct.pack("<8I", 1, 2, 0, 0, 3, 4, 5, 0) + bytes(32) + residual
    rows = run(media, "MEDIA_INLINE_AVC_MC", data, mv_size=2, weighted_bipred_flag=1, coded_block_y0=True, mb_type=3)
    assert rows[5] == (3, 4, 5, 0, 0, 0, 0, 0)
    assert rows[6:11] == ((0,) * 8,) * 5


def test_packed_residual_starts_at_the_next_eight_dwords() -> None:
    state = {"indirect_sub_field_present_flag": 1, "inter_residual_data_grf_destination_offset": 2}
    media = machine(VfeMode.AVC_IT, **state)
    block = random_block(1, (4, 4))
    rows = run(media, "MEDIA_INLINE_AVC_IT", struct.pack("<8I", 1, 2, 0, 0, 9, 9, 9, 9) + units(block), mv_size=2,
               mb_type=3, cbp_y=0x8000)
    assert rows[1] == (1, 2, 0, 0, 0, 0, 0, 0)
    assert rows[2] == (0,) * 8
    assert blocks(rows[3:])[0, :4, :4].tolist() == avc_4x4(block).tolist()


def test_macroblocks_without_vectors_start_with_their_residual() -> None:
    media = machine(VfeMode.AVC_IT, **MC_STATE | {"residual_data_fixed_source_offset_flag": False,
                                                  "residual_data_source_offset": 0})
    block = random_block(2, (8, 8))
    rows = run(media, "MEDIA_INLINE_AVC_IT", units(block), intra_mb_flag=True, transform_8x8_flag=True, cbp_y=0x0F00)
    found = blocks(rows[1:])
    assert found.shape == (6, 8, 8)
    assert found[1].tolist() == avc_8x8(block).tolist()
    assert rows[0][2] == 1 << 12


def test_blocks_of_four_by_four_come_in_order() -> None:
    media = machine(VfeMode.AVC_IT)
    parts = [random_block(10 + i, (4, 4)) for i in range(3)]
    rows = run(media, "MEDIA_INLINE_AVC_IT", b"".join(units(p) for p in parts), intra_mb_flag=True, cbp_y=0x9000,
               cbp_cr=0x2)
    found = blocks(rows[1:])
    assert found[0, :4, :4].tolist() == avc_4x4(parts[0]).tolist()
    assert found[0, 4:, 4:].tolist() == avc_4x4(parts[1]).tolist()
    assert found[5, 4:, :4].tolist() == avc_4x4(parts[2]).tolist()
    assert not found[0, :4, 4:].any()
    assert rows[0][2] == 1 << 13 | 1 << 8 | 0x2 << 4


@pytest.mark.parametrize("qp", [12, 35, 36, 51])
def test_luma_dc_is_transformed_and_scaled(qp: int) -> None:
    media = machine(VfeMode.AVC_IT)
    dc = random_block(3, (4, 4), step=1)
    scale = 16  # so that results fit into 16 bits
    rows = run(media, "MEDIA_INLINE_AVC_IT", units(dc), intra_mb_flag=True, mb_type=1, dc_block_coded_y_flag=True,
               qp_prime_y=qp, level_scale_y=scale)
    hadamard = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, -1, 1], [1, -1, 1, -1]])
    f = hadamard @ dc @ hadamard * scale
    scaled = f << (qp // 6 - 6) if qp >= 36 else f + (1 << (5 - qp // 6)) >> (6 - qp // 6)
    found = blocks(rows[1:])
    luma = np.block([[found[0], found[1]], [found[2], found[3]]])
    assert luma[::4, ::4].tolist() == (scaled + 32 >> 6).tolist()
    assert rows[0][0] & 0x7F0000 == 0
    assert rows[0][2] >> 8 == 0b111100


def test_chroma_dc_is_transformed_and_scaled() -> None:
    media = machine(VfeMode.AVC_IT)
    data = unit(0, 10) + unit(1, -3) + unit(3, 5, True)
    rows = run(media, "MEDIA_INLINE_AVC_IT", data, intra_mb_flag=True, dc_block_coded_cr_flag=True, qp_prime_cr=24,
               level_scale_cr=256)
    f = np.array([[12, 8], [2, 18]])
    scaled = (f * 256 << 4) >> 5
    assert blocks(rows[1:])[5, ::4, ::4].tolist() == (scaled + 32 >> 6).tolist()


@pytest.mark.parametrize("mode", [VfeMode.AVC_IT, VfeMode.AVC_MC])
def test_pcm_samples_are_bytes(mode: VfeMode) -> None:
    media = machine(mode)
    samples = bytes((7 * i) & 0xFF for i in range(384))
    coded = {f"coded_block_{b}": True for b in ("y0", "y1", "y2", "y3", "cb", "cr")} if mode == VfeMode.AVC_MC else {}
    rows = run(media, f"MEDIA_INLINE_{mode.name}", samples, intra_mb_flag=True, mb_type=I_PCM, **coded)
    assert b"".join(struct.pack("<8I", *r) for r in rows[1:]) == samples


def test_descriptors_are_remapped() -> None:
    media = machine(VfeMode.AVC_IT, **{f"interface_descriptor_remap_{i}": 15 - i for i in range(16)})
    media.object(block_named("MEDIA_INLINE_AVC_IT", media.gen).pack(media.gen), name="MEDIA_OBJECT_EX",
                 interface_descriptor_offset=4)
    assert [t.descriptor for t in media.run()] == [DESCRIPTORS + 16 * 11]


# --- VC-1 ---

@pytest.mark.parametrize(("partition", "shape", "places"), [
    (0, (8, 8), [(0, 0)]), (1, (4, 8), [(0, 0), (4, 0)]), (2, (8, 4), [(0, 0), (0, 4)]),
    (3, (4, 4), [(0, 0), (0, 4), (4, 0), (4, 4)])])
def test_vc1_transforms_by_sub_block(partition: int, shape: tuple[int, int], places: list[tuple[int, int]]) -> None:
    media = machine(VfeMode.VC1_IT)
    parts = [random_block(20 + i, shape, step=3) for i in range(len(places))]
    rows = run(media, "MEDIA_INLINE_VC1_IT", b"".join(units(p) for p in parts), coded_block_y2=True,
               subblock_present_y2=15, subblock_partitioning_y2=partition)
    (found,) = blocks(rows[2:])
    for part, (y, x) in zip(parts, places, strict=True):
        assert found[y:y + shape[0], x:x + shape[1]].tolist() == vc1(part).tolist()


def test_vc1_sub_blocks_that_are_absent_stay_zero() -> None:
    media = machine(VfeMode.VC1_IT)
    part = random_block(30, (4, 4), step=3)
    rows = run(media, "MEDIA_INLINE_VC1_IT", units(part), coded_block_cb=True, subblock_present_cb=4,
               subblock_partitioning_cb=3)
    (found,) = blocks(rows[2:])
    assert found[4:, :4].tolist() == vc1(part).tolist()
    assert not found[:4].any()


def smooth(x: list[int], even: bool) -> list[int]:
    r0, r1 = (4, 3) if even else (3, 4)
    return [7 * x[0] + x[3] + r0 >> 3, -x[0] + 7 * x[1] + x[2] + x[3] + r1 >> 3,
            x[0] + x[1] + 7 * x[2] - x[3] + r0 >> 3, x[0] + 7 * x[3] + r1 >> 3]


def test_smoothing_of_one_edge() -> None:
    assert smooth([10, 20, 60, 70], True) == [18, 32, 48, 62]
    assert smooth([10, 20, 60, 70], False) == [17, 33, 47, 63]


INTRA = {"intra_macroblock": True, "overlap_transform": True, **{
    f"coded_block_{b}": True for b in ("y0", "y1", "y2", "y3", "cb", "cr")}, **{
    f"subblock_present_{b}": 1 for b in ("y0", "y1", "y2", "y3", "cb", "cr")}}


def overlap(columns: tuple[int, int], **edges: bool) -> list[Block]:
    """Two macroblocks beside each other; their blocks afterwards."""
    media = machine(VfeMode.VC1_IT)
    for i, column in enumerate(columns):
        coded = [random_block(40 + 6 * i + b, (8, 8), step=3) for b in range(6)]
        inline = block_named("MEDIA_INLINE_VC1_IT", media.gen)
        media.object(inline.pack(media.gen, **INTRA | edges, horizontal_origin=column),
                     b"".join(units(b) for b in coded), at=DATA + 0x1000 * i, name="MEDIA_OBJECT_EX")
    threads = media.run()
    assert [t.data[0][1] & 0xFF for t in threads] == list(columns)
    return [blocks(t.data[2:]) for t in threads]


def expected() -> list[list[Block]]:
    return [[vc1(random_block(40 + 6 * i + b, (8, 8), step=3)) for b in range(6)] for i in range(2)]


def smoothed(left: Block, right: Block) -> None:
    for y in range(8):
        across = [*left[y, 6:].tolist(), *right[y, :2].tolist()]
        left[y, 6:8] = smooth(across, y % 2 == 0)[:2]
        right[y, :2] = smooth(across, y % 2 == 0)[2:]


def test_without_edges_nothing_is_smoothed() -> None:
    assert np.array_equal(np.array(overlap((4, 5))), np.array(expected()))


def test_the_edge_inside_of_a_macroblock_is_smoothed() -> None:
    wanted = expected()
    for macroblock in wanted:
        smoothed(macroblock[0], macroblock[1])
    assert np.array_equal(np.array(overlap((4, 5), edge_mask_left_y1=True)), np.array(wanted))


def test_edges_between_macroblocks_are_smoothed() -> None:
    wanted = expected()
    for left, right in ((1, 0), (3, 2), (4, 4), (5, 5)):
        smoothed(wanted[0][left], wanted[1][right])
    edges = {"edge_mask_left_y0": True, "edge_mask_left_y2": True, "edge_mask_left_chroma": True}
    assert np.array_equal(np.array(overlap((4, 5), **edges)), np.array(wanted))


def test_macroblocks_that_are_not_beside_each_other_share_no_edge() -> None:
    assert np.array_equal(np.array(overlap((4, 6), edge_mask_left_y0=True)), np.array(expected()))


# --- what VFE keeps to itself ---

def test_a_thread_does_not_see_what_vfe_consumed() -> None:
    """Bits 22:16 and 4 of dword 0, the quantisers, the scales; a derived pattern instead."""
    media = machine(VfeMode.AVC_IT)
    luma, chroma = [unit(0, 64, True)] * 4, [unit(0, 64, True)]
    rows = run(media, "MEDIA_INLINE_AVC_IT", unit(0, 1, True) + b"".join([*luma, *chroma]), intra_mb_flag=True,
               mb_type=1, dc_block_coded_y_flag=True, intra_pred_avail_flag_f=True, cbp_y=0xF000, cbp_cb=0x8,
               qp_prime_y=24, qp_prime_cb=25, qp_prime_cr=26, level_scale_y=1, level_scale_cb=2, level_scale_cr=3,
               horizontal_origin=5, vertical_origin=6, chroma_intra_pred_mode=2, luma_intra_pred_modes_3=0x1234)
    # luma blocks all have the DC flag; Cb has a coded block
    assert rows[0] == (1 << 13 | 1 << 8, 0xF000 << 16 | 6 << 8 | 5, 0b111110 << 8 | 0x8, 2 << 6, 0, 0x1234 << 16, 0, 0)


def test_the_scoreboard_of_a_later_part_is_ignored() -> None:
    gen = machine(VfeMode.AVC_MC).gen
    inline = block_named("MEDIA_INLINE_AVC_MC", gen).pack(gen, mb_type=3, horizontal_origin=1)
    payloads = []
    for dwords in ((0, 0, 0, 0), (0xC00000FF, 0x12345678, 0x9ABCDEF0, 0xFFFFFFFF)):
        media = machine(VfeMode.AVC_MC, **MC_STATE)
        media.memory.write(EXTENDED + 16, struct.pack("<4I", *dwords))
        for _ in range(3):
            media.object(inline, name="MEDIA_OBJECT_EX")
        payloads.append([t.data for t in media.run()])
    assert len(payloads[0]) == 3
    assert payloads[0] == payloads[1]


@pytest.mark.parametrize(("control", "expected"), [(0, (0, 1, 2)), (1, (0, 0, 0)), (2, (70, 71, 72))])
def test_the_debug_counter_starts_at_the_id_of_the_state(control: int, expected: tuple[int, ...]) -> None:
    """In these modes VFE_STATE_EX has the object id."""
    media = Media(mode=VfeMode.AVC_MC, extended={"object_id": 70} | MC_STATE, extended_vfe_state_present=True,
                  debug_counter_control=control)
    media.select()
    for _ in range(3):
        media.object(block_named("MEDIA_INLINE_AVC_MC", media.gen).pack(media.gen, mb_type=3), name="MEDIA_OBJECT_EX")
    threads = media.run()
    assert tuple(t.header[6] for t in threads) == expected
    assert all(t.header[7] == 0 for t in threads)  # no snapshot flag, no parents


def test_an_intra_macroblock_of_vc1_has_all_its_blocks() -> None:
    """One coefficient each, which may be 0."""
    media = machine(VfeMode.VC1_IT)
    coded = {f"coded_block_{name}": True for name in ("y0", "y1", "y2", "y3", "cb", "cr")}
    rows = run(media, "MEDIA_INLINE_VC1_IT", unit(0, 0, True) * 6, intra_macroblock=True, **coded)
    assert blocks(rows[2:]).shape == (6, 8, 8)
    assert not blocks(rows[2:]).any()
