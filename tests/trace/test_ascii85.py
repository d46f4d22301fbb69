"""The kernel's ascii85."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gen4emu.trace.ascii85 import Ascii85Error, Decoder, encode


def decode(*pieces: bytes) -> bytes:
    decoder = Decoder()
    out = b"".join(decoder.feed(piece) for piece in pieces)
    decoder.finish()
    return out


def test_four_dwords_are_encoded_and_decoded() -> None:
    data = struct.pack("<4I", 0, 1, 0x05000000, 0xFFFFFFFF)
    assert encode(data) == b'z!!!!""TSN&s8W-!'
    assert decode(b'z!!!!""TSN&s8W-!') == data


def test_a_compressed_example_is_eight_dwords() -> None:
    data = decode(b"?t5^OJ7;no'nC+.!0I6]!!!!+")
    assert len(data) == 20
    stream = zlib.decompressobj()
    assert struct.unpack("<8I", stream.decompress(data)) == (0x02000000, 0x02000000, 0, 0, 0, 0, 0, 0x05000000)
    assert stream.eof


def test_the_last_dword_is_padded_with_zeros() -> None:
    assert decode(encode(b"\1\2\3\4\5")) == b"\1\2\3\4\5\0\0\0"


def test_decoding_stops_at_the_first_character_outside_the_alphabet() -> None:
    decoder = Decoder()
    assert decoder.feed(b'z!!!!"\r\nzzz') == struct.pack("<2I", 0, 1)
    assert decoder.ended
    assert decoder.feed(b"z") == b""


@pytest.mark.parametrize("text", [b"!!!z!!", b"!!!!v", b"uuuuu", b"!!!"])
def test_invalid_text_is_an_error(text: bytes) -> None:
    with pytest.raises(Ascii85Error):
        decode(text)


@given(st.binary(max_size=200), st.lists(st.integers(0, 260), max_size=5))
def test_bytes_in_pieces_survive_a_round_trip(data: bytes, cuts: list[int]) -> None:
    text = encode(data)
    edges = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    pieces = [text[a:b] for a, b in pairwise(edges)]
    assert decode(*pieces) == data + bytes(-len(data) % 4)
