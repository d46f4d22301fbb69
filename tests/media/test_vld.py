"""VLD mode with the examples T1 to T7 of spec/70: slices in, thread payloads out."""

from __future__ import annotations

import pytest

from gen4emu.hw.mpeg2 import ALTERNATE, ZIGZAG

from .machine import DESCRIPTORS, coefficients, vld


def test_an_intra_slice_of_one_macroblock() -> None:
    media = vld()
    media.slice(bytes.fromhex("EDD4921153C0"), q=4)
    (thread,) = media.run()
    assert thread.data[0] == (0x00010000, 0, 0x00070FC4, 0, 0, 0, 0, 0)
    assert coefficients(thread) == [{0: 5, 1: 1}, {0: 5}, {0: 2}, {0: 1}, {}, {0: 2, 8: -1}]
    assert thread.descriptor == DESCRIPTORS
    assert media.complaints() == []


def test_a_predicted_slice_with_skipped_macroblocks() -> None:
    media = vld(picture_coding_type=2)
    media.slice(bytes.fromhex("91356554"), y=1, q=4)
    threads = media.run()
    assert [t.descriptor for t in threads] == [DESCRIPTORS + 16] * 4
    assert threads[0].data == ((0x02020000, 0, 0x000B0004, 0x00100000, 0xFFFF0003, 0, 0, 0),)
    assert [t.data[0][3:5] for t in threads[1:3]] == [(0x00100010, 0), (0x00100020, 0)]
    assert threads[3].data[0] == (0x02020000, 0, 0x000B0804, 0x00100030, 0x0002FFFF, 0, 0, 0)
    assert coefficients(threads[3]) == [{0: 1}]


def test_field_motion_in_both_directions() -> None:
    media = vld(picture_coding_type=3, frame_prediction_frame_dct=False, **{
        f"f_code_{way}_{axis}": 2 for way in ("forward", "backward") for axis in ("horizontal", "vertical")})
    media.slice(bytes.fromhex("C8BDB960"), x=2, q=6)
    (thread,) = media.run()
    assert thread.data[0] == (0x61060000, 0, 0x000F0006, 0x00000020, 4, 0, 0xFFFF0000, 2)
    assert thread.descriptor == DESCRIPTORS + 16 * 7


@pytest.mark.parametrize(("state", "expected"), [
    ({"top_field_first": True}, (0x63020000, 0x00020003, 0xFFFF0002, 0x00020003, 0x00030005)),
    ({"top_field_first": False}, (0x63020000, 0x00020003, 0x00010005, 0x00020003, 0x00010002)),
    ({"picture_structure": 2}, (0x13020000, 0x00020003, 0x00010002, 0, 0)),
])
def test_dual_prime_vectors_are_derived(state: dict[str, int], expected: tuple[int, ...]) -> None:
    media = vld(picture_coding_type=2, **{"frame_prediction_frame_dct": False} | state)
    media.slice(bytes.fromhex("9C42C0"), x=1, q=6)
    (thread,) = media.run()
    row = thread.data[0]
    assert (row[0] & ~0xC0000000 | expected[0] & 0xC0000000, *row[4:]) == expected
    assert thread.descriptor == DESCRIPTORS + 16 * 3


def test_field_pictures_without_motion() -> None:
    for structure, first, last in ((1, 0x09020000, 0x19020000), (2, 0x11020000, 0x11020000)):
        media = vld(picture_coding_type=2, picture_structure=structure, frame_prediction_frame_dct=False)
        media.slice(bytes.fromhex("B748BC"), q=6)
        threads = media.run()
        assert len(threads) == 4
        assert threads[0].data[0][0] == first
        assert len(coefficients(threads[0])) == 1
        assert threads[3].data[0][0] == last
        parity = (structure == 2) << 28
        assert all(t.data[0][0] & 0x10000000 == parity for t in threads[1:3])
    media = vld(picture_coding_type=2, picture_structure=1, frame_prediction_frame_dct=False)
    media.slice(bytes.fromhex("B748BC"), q=6)
    assert media.run()[0].data[0][2] == 0x00090406


@pytest.mark.parametrize("data", ["EDD4921153C0" + "000000" + "B5A7", "EDD4921153C0" + "0000", "EDD4921153C0"])
def test_zeros_end_a_slice_and_may_be_missing(data: str) -> None:
    media = vld()
    media.slice(bytes.fromhex(data), q=4)
    (thread,) = media.run()
    assert coefficients(thread) == [{0: 5, 1: 1}, {0: 5}, {0: 2}, {0: 1}, {}, {0: 2, 8: -1}]
    assert media.complaints() == []


def test_the_position_is_that_of_the_command() -> None:
    for bits in ("1", "0001 1"[:4] + "1"):  # increments of 1 and 5
        text = bits + "1" + "100100" * 0 + "".join(f"{v:08b}" for v in b"")
        del text
    first = int("EDD4921153C0", 16)
    for increment in ("1", "0010"):
        media = vld()
        text = increment + f"{first:048b}"[1:]
        text += "0" * (-len(text) % 8)
        media.slice(int(text, 2).to_bytes(len(text) // 8, "big"), x=5, q=4)
        (thread,) = media.run()
        assert thread.data[0][3] == 0x50


def test_the_bit_offset_says_where_the_slice_starts() -> None:
    media = vld()
    text = "101" + f"{int('EDD4921153C0', 16):048b}" + "00000"
    media.slice(int(text, 2).to_bytes(7, "big"), bit=3, q=4)
    (thread,) = media.run()
    assert coefficients(thread)[0] == {0: 5, 1: 1}


def test_scans_cover_the_block() -> None:
    assert sorted(ZIGZAG) == sorted(ALTERNATE) == list(range(64))
    assert ZIGZAG[:6] == (0, 1, 8, 16, 9, 2)
    assert ALTERNATE[:6] == (0, 8, 16, 24, 1, 9)
