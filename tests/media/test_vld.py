"""VLD mode: slices in, thread payloads out (G45 PRM vol. 2, 10.4.2.3)."""

from __future__ import annotations

import pytest

from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.mpeg2 import ALTERNATE, ZIGZAG
from gen4emu.hw.mpeg2 import TABLES as TABLES_OF_CODES
from tests.harness.media import (
    BLOCKS,
    DESCRIPTORS,
    END,
    TABLES,
    VFE,
    Media,
    coefficients,
    fields_of,
    macroblock,
    packed,
    vld,
)

INTRA = macroblock(BLOCKS, macroblock_intra_type=True, picture_coding_type="I_PICTURE", picture_structure="FRAME",
                   quantizer_scale_code=4)
PREDICTED = {"picture_coding_type": "P_PICTURE", "picture_structure": "FRAME", "quantizer_scale_code": 4}
FORWARD = {"macroblock_motion_forward": True, "motion_type": "FRAME_OR_16X8"}


def test_an_intra_slice_of_one_macroblock() -> None:
    media = vld()
    media.slice(bytes.fromhex("EDD4921153C0"), q=4)
    (thread,) = media.run()
    assert thread.data[0] == INTRA
    assert coefficients(thread) == [{0: 5, 1: 1}, {0: 5}, {0: 2}, {0: 1}, {}, {0: 2, 8: -1}]
    assert thread.descriptor == DESCRIPTORS
    assert media.complaints() == []


def test_a_predicted_slice_with_skipped_macroblocks() -> None:
    media = vld(picture_coding_type=2)
    media.slice(bytes.fromhex("91356554"), y=1, q=4)
    threads = media.run()
    assert [t.descriptor for t in threads] == [DESCRIPTORS + 16] * 4
    assert threads[0].data == (macroblock(**PREDICTED, **FORWARD, vertical_origin=1, motion_vector_0_0_horizontal=1.5,
                                          motion_vector_0_0_vertical=-0.5),)
    assert [(r1.horizontal_origin, r1.vertical_origin, r1.motion_vector_0_0_horizontal, r1.motion_vector_0_0_vertical)
            for r1 in map(fields_of, threads[1:3])] == [(1, 1, 0, 0), (2, 1, 0, 0)]
    assert threads[3].data[0] == macroblock(
        "y0", **PREDICTED, **FORWARD, horizontal_origin=3, vertical_origin=1, motion_vector_0_0_horizontal=-0.5,
        motion_vector_0_0_vertical=1.0)
    assert coefficients(threads[3]) == [{0: 1}]


def test_field_motion_in_both_directions() -> None:
    media = vld(picture_coding_type=3, frame_prediction_frame_dct=False, **{
        f"f_code_{way}_{axis}": 2 for way in ("forward", "backward") for axis in ("horizontal", "vertical")})
    media.slice(bytes.fromhex("C8BDB960"), x=2, q=6)
    (thread,) = media.run()
    assert thread.data[0] == macroblock(
        motion_type="FIELD", macroblock_motion_forward=True, macroblock_motion_backward=True,
        motion_vertical_field_select_1_0=True, motion_vertical_field_select_0_1=True,
        picture_coding_type="B_PICTURE", picture_structure="FRAME", quantizer_scale_code=6, horizontal_origin=2,
        motion_vector_0_0_horizontal=2.0, motion_vector_1_0_vertical=-0.5, motion_vector_1_1_horizontal=1.0)
    assert thread.descriptor == DESCRIPTORS + 16 * 7


@pytest.mark.parametrize(("state", "select", "vectors"), [
    ({"top_field_first": True}, "0_1", ((1.5, 1.0), (1.0, -0.5), (1.5, 1.0), (2.5, 1.5))),
    ({"top_field_first": False}, "0_1", ((1.5, 1.0), (2.5, 0.5), (1.5, 1.0), (1.0, 0.5))),
    ({"picture_structure": 2}, "0_0", ((1.5, 1.0), (1.0, 0.5), (0, 0), (0, 0))),
])
def test_dual_prime_vectors_are_derived(state: dict[str, int], select: str,
                                        vectors: tuple[tuple[float, float], ...]) -> None:
    media = vld(picture_coding_type=2, **{"frame_prediction_frame_dct": False} | state)
    media.slice(bytes.fromhex("9C42C0"), x=1, q=6)
    (thread,) = media.run()
    row, r1 = thread.data[0], fields_of(thread)
    fields = {f"motion_vertical_field_select_1_{s}": getattr(r1, f"motion_vertical_field_select_1_{s}") for s in (0, 1)}
    fields[f"motion_vertical_field_select_{select}"] = True
    for number, (horizontal, vertical) in zip(("0_0", "0_1", "1_0", "1_1"), vectors, strict=True):
        fields[f"motion_vector_{number}_horizontal"] = horizontal
        fields[f"motion_vector_{number}_vertical"] = vertical
    expected = macroblock(motion_type="DUAL_PRIME", macroblock_motion_forward=True, **fields)
    assert (row[0], *row[4:]) == (expected[0], *expected[4:])
    assert thread.descriptor == DESCRIPTORS + 16 * 3


def test_field_pictures_without_motion() -> None:
    forward = {"motion_type": "FIELD", "macroblock_motion_forward": True}
    second, bottom = {"second_field": True}, {"motion_vertical_field_select_0_0": True}
    for structure, first, last in ((1, second, second | bottom), (2, bottom, bottom)):
        media = vld(picture_coding_type=2, picture_structure=structure, frame_prediction_frame_dct=False)
        media.slice(bytes.fromhex("B748BC"), q=6)
        threads = media.run()
        assert len(threads) == 4
        assert threads[0].data[0][0] == macroblock(**forward, **first)[0]
        assert len(coefficients(threads[0])) == 1
        assert threads[3].data[0][0] == macroblock(**forward, **last)[0]
        assert [fields_of(t).motion_vertical_field_select_0_0 for t in threads[1:3]] == [structure == 2] * 2
    media = vld(picture_coding_type=2, picture_structure=1, frame_prediction_frame_dct=False)
    media.slice(bytes.fromhex("B748BC"), q=6)
    expected = macroblock("y1", picture_coding_type="P_PICTURE", picture_structure="TOP_FIELD", quantizer_scale_code=6)
    assert media.run()[0].data[0][2] == expected[2]


@pytest.mark.parametrize("data", ["EDD4921153C0" + "000000" + "B5A7", "EDD4921153C0" + "0000", "EDD4921153C0"])
def test_zeros_end_a_slice_and_may_be_missing(data: str) -> None:
    media = vld()
    media.slice(bytes.fromhex(data), q=4)
    (thread,) = media.run()
    assert coefficients(thread) == [{0: 5, 1: 1}, {0: 5}, {0: 2}, {0: 1}, {}, {0: 2, 8: -1}]
    assert media.complaints() == []


INTRA_BITS = f"{int('EDD4921153C0', 16):048b}"[1:]  # one macroblock, without its address increment


@pytest.mark.parametrize("increment", ["1", "0010", "00000001000 011"])
def test_the_position_is_that_of_the_command(increment: str) -> None:
    media = vld()
    media.slice(packed(increment + INTRA_BITS), x=5, q=4)
    (thread,) = media.run()
    assert thread.data[0][3] == 0x50


def test_the_bit_offset_says_where_the_slice_starts() -> None:
    media = vld()
    media.slice(packed("101" + "1" + INTRA_BITS), bit=3, q=4)
    (thread,) = media.run()
    assert coefficients(thread)[0] == {0: 5, 1: 1}


def test_scans_cover_the_block() -> None:
    assert sorted(ZIGZAG) == sorted(ALTERNATE) == list(range(64))
    assert ZIGZAG[:6] == (0, 1, 8, 16, 9, 2)
    assert ALTERNATE[:6] == (0, 8, 16, 24, 1, 9)


# --- macroblocks by hand: P and B, frame prediction unless it says otherwise ---

def test_the_quantiser_stays_in_force() -> None:
    media = vld(picture_coding_type=2)
    # macroblocks with a pattern of Y1 (1011) that holds one coefficient (1 and its sign, end of block 10)
    media.slice(packed("1 01 1011 10 10" + "1 00001 10111 1011 10 10" + "1 01 1011 11 10"), q=4)
    rows = [t.data[0] for t in media.run()]
    assert [row[2] & 31 for row in rows] == [4, 23, 23]
    assert [row[2] >> 6 & 63 for row in rows] == [16] * 3


def test_long_increments_skip_many() -> None:
    media = vld(picture_coding_type=2)
    media.slice(packed("1 01 1011 10 10" + "00000001000 00000001000 011 01 1011 10 10"), q=4)
    assert [t.data[0][3] >> 4 for t in media.run()] == list(range(69))


def test_skipped_macroblocks_of_b_pictures_go_on_as_before() -> None:
    media = vld(picture_coding_type=3, **{f"f_code_{way}_{axis}": 1 for way in ("forward", "backward")
                                          for axis in ("horizontal", "vertical")})
    # backward, no pattern (010), vector (+1, -2); three skipped; forward (0010), vector (0, 0)
    media.slice(packed("1 010 010 0011" + "0011 0010 1 1"), q=4)
    rows = [t.data[0] for t in media.run()]
    backward = macroblock(motion_type="FRAME_OR_16X8", macroblock_motion_backward=True,
                          motion_vector_0_1_horizontal=0.5, motion_vector_0_1_vertical=-1.0)
    assert [(row[0], row[4], row[5]) for row in rows[:4]] == [(backward[0], 0, backward[5])] * 4
    assert rows[4][0] == macroblock(**FORWARD)[0]


def test_vectors_wrap_around() -> None:
    media = vld(picture_coding_type=2)
    # +15 and +3 from 15: 18 wraps to -14 with f_code 1
    media.slice(packed("1 001 00000011010 1" + "1 001 00010 1"), q=4)
    rows = [t.data[0] for t in media.run()]
    assert [row[4] & 0xFFFF for row in rows] == [15, 0xFFF2]


def test_larger_vectors_have_residuals() -> None:
    media = vld(picture_coding_type=2, f_code_forward_horizontal=3)
    media.slice(packed("1 001 0010 11 1"), q=4)  # code +2, residual 3: (2 - 1) * 4 + 3 + 1
    assert media.run()[0].data[0][4] == 8


def test_concealment_vectors_are_parsed_and_not_delivered() -> None:
    media = vld(concealment_motion_vector_flag=True)
    intra = INTRA_BITS  # type 1: intra; then the vector, the marker, the blocks
    media.slice(packed("1" + intra[0] + "010 0011 1" + intra[1:]), q=4)
    (thread,) = media.run()
    assert thread.data[0] == INTRA
    assert coefficients(thread)[0] == {0: 5, 1: 1}


def test_dc_prediction_restarts_after_other_macroblocks() -> None:
    media = vld(picture_coding_type=2)
    intra = "00011" + INTRA_BITS[1:47]
    media.slice(packed("1" + intra), q=4)
    first = coefficients(media.run()[0])
    media.slice(packed("1" + intra.rstrip("0") + "0" + "1 001 1 1" + "1" + intra), q=4)
    threads = media.run()
    assert coefficients(threads[-1]) == first


def test_the_intra_table_is_for_intra_blocks_alone() -> None:
    media = vld(picture_coding_type=2, intra_vlc_format=True)
    # Y1: 1s for the first coefficient; in table B-14 11s is run 0 level 1, 10 ends the block
    media.slice(packed("1 01 1011 10 111 10"), q=4)
    assert coefficients(media.run()[0]) == [{0: 1, 1: -1}]


def test_escapes_and_scans() -> None:
    for order, scan in enumerate((ZIGZAG, ALTERNATE)):
        media = vld(picture_coding_type=2, scan_order=order)
        media.slice(packed("1 01 1011" + "000001 000101 100000000001" + "000001 000000 011111111111" + "10"), q=4)
        assert coefficients(media.run()[0]) == [{scan[5]: -2047, scan[6]: 2047}]


def test_a_run_beyond_the_block_ends_the_slice() -> None:
    media = vld(picture_coding_type=2)
    media.slice(packed("1 01 1011 10 10" + "1 01 1011 000001 111111 000000000001 000001 000001 000000000001 10"), q=4)
    assert len(media.run()) == 1
    assert any("illegal code" in c for c in media.complaints())


@pytest.mark.parametrize("bad", [
    "1 0000001", "1 01 000000001", "1 001 0000000001", "00000000001", "1 01 1011 0000000000001"])
def test_illegal_codes_end_the_slice_and_leave_what_came_before(bad: str) -> None:
    media = vld(picture_coding_type=2)
    media.slice(packed("1 01 1011 10 10" + bad + "1111111111111111"), q=4)
    media.slice(packed("1 01 1011 10 10"), y=1, q=4, at=0x180000)
    assert [(r1.horizontal_origin, r1.vertical_origin) for r1 in map(fields_of, media.run())] == [(0, 0), (0, 1)]
    assert any("illegal code" in c for c in media.complaints())


def test_the_count_limits_the_slice() -> None:
    macroblock = "1 01 1011 10 10"
    for count, expected in ((1, 1), (3, 3), (5, 4), (127, 4)):
        media = vld(picture_coding_type=2)
        media.slice(packed(macroblock * 4), q=4, count=count)
        assert len(media.run()) == expected


def test_field_dct_has_kernels_of_its_own() -> None:
    media = vld(picture_coding_type=2, frame_prediction_frame_dct=False)
    # pattern alone with field DCT; forward with frame motion (10) and field DCT; intra with field DCT
    media.slice(packed("1 01 1 1011 10 10" + "1 1 10 1 1 1 1011 10 10" + "1 00011 1" + INTRA_BITS[1:]), q=4)
    threads = media.run()
    assert [(t.descriptor - DESCRIPTORS) // 16 for t in threads] == [9, 9, 8]
    assert all(t.data[0][0] >> 21 & 1 for t in threads)


def test_descriptors_are_remapped() -> None:
    media = vld(picture_coding_type=2, interface_descriptor_remap_1=12)
    media.slice(packed("1 01 1011 10 10"), q=4)
    assert media.run()[0].descriptor == DESCRIPTORS + 16 * 12


def test_965gm_has_no_table() -> None:
    media = vld("965gm", picture_coding_type=2)
    media.slice(packed("1 01 1011 10 10"), q=4)
    assert media.run()[0].descriptor == DESCRIPTORS + 16


def test_965g_has_no_such_mode() -> None:
    media = Media("g965")
    media.memory.write(VFE, block_named("VFE_STATE", Gen.CL).build(Gen.CL, **media.vfe | {"vfe_mode": 1}))
    media.select()
    media.object((0, 1 << 24), b"\xFF")
    assert media.run() == []
    assert any("reserved value" in c for c in media.complaints())


def test_constants_and_header_of_a_macroblock() -> None:
    media = vld(picture_coding_type=2)
    media.memory.write(0x30000, bytes(range(256)) * 4)
    media.command("CONSTANT_BUFFER", valid=True, buffer_starting_address=0x30000, buffer_length=16)
    media.kernel(1, END, constant_urb_entry_read_length=30, sampler_state_pointer=0x7000)
    media.slice(packed("1 01 1011 10 10" * 6), q=4)
    media.slice(packed("1 01 1011 10 10" * 4), y=1, q=4, at=0x180000)
    threads = media.run()
    assert [t.header[6] for t in threads] == list(range(10))
    assert all(t.first == 31 and (t.header[0], t.header[3]) == (0, 0) for t in threads)
    assert threads[0].header[2:5] == (DESCRIPTORS + 16, 0, TABLES)
    assert threads[0].constants[0] == (0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C, 0x13121110, 0x17161514,
                                       0x1B1A1918, 0x1F1E1D1C)


def test_codes_are_complete_and_none_begins_another() -> None:
    for name, codes in TABLES_OF_CODES.items():
        words = [c.bits for c in codes]
        assert len(set(words)) == len(words), name
        assert not any(a != b and b.startswith(a) for a in words for b in words), name
        assert sum(2.0 ** -len(w) for w in words) <= 1


@pytest.mark.parametrize(("structure", "tff", "expected"), [
    (1, False, 1), (2, False, 0), (1, True, 0), (2, True, 1), (3, False, 0), (3, True, 0)])
def test_the_second_field_is_named_by_the_bit_as_it_is(structure: int, tff: bool, expected: int) -> None:
    """Only in P pictures."""
    for coding_type, backward in ((2, 0), (3, 1)):
        media = vld(picture_coding_type=coding_type, picture_structure=structure, top_field_first=tff)
        motion = "" if structure == 3 else "01 0"  # from the field, its parity
        media.slice(packed(f"1 {'010' if backward else '001'} {motion} 1 1"), q=4)
        (thread,) = media.run()
        assert thread.data[0][0] >> 27 & 1 == (expected if coding_type == 2 else 0)
