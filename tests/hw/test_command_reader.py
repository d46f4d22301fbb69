"""The reader that the command streamer and the decoder share."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gen4emu.hw.catalogue import command_named
from gen4emu.hw.command_reader import CommandReader, EndlessBatch, Headers, Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import command_length

WINDOW = 8
BATCH = 0x1000
FLUSH = command_named("MI_FLUSH", Gen.EL).pack(Gen.EL)
RECTANGLE = command_named("3DSTATE_DRAWING_RECTANGLE", Gen.EL).pack(Gen.EL)
POINTERS = command_named("3DSTATE_PIPELINED_POINTERS", Gen.EL).pack(Gen.EL)


@dataclass
class Length:
    dwords: int


class Stream:
    """Dwords from address BATCH on, and a reader that fetches WINDOW of them at once."""

    def __init__(self, *commands: list[int]) -> None:
        self.dwords = [dword for command in commands for dword in command]
        self.fetched: list[tuple[int, int]] = []
        self.reader = CommandReader(Headers(lambda header: Length(command_length(header)), 64), self.fetch, WINDOW)

    def fetch(self, address: int, dwords: int) -> Words:
        self.fetched.append((address, dwords))
        first = (address - BATCH) // 4
        return words(self.dwords[first:first + dwords])

    def read(self, limit: int | None = None) -> list[tuple[int, int]]:
        """Address and length of each command."""
        self.reader.jump(BATCH, limit)
        return [(self.reader.position.address, len(command)) for _, command in self.reader.batch()]


def words(dwords: list[int]) -> Words:
    return memoryview(b"".join(dword.to_bytes(4, "little") for dword in dwords)).cast("I")


def test_commands_follow_each_other_by_their_lengths() -> None:
    stream = Stream(FLUSH, RECTANGLE, FLUSH)
    assert stream.read() == [(BATCH, 1), (BATCH + 4, 4), (BATCH + 20, 1)]
    assert stream.reader.end == BATCH + 24


def test_a_command_across_the_end_of_the_window_is_whole() -> None:
    stream = Stream(RECTANGLE, POINTERS, FLUSH)
    assert stream.read() == [(BATCH, 4), (BATCH + 16, 7), (BATCH + 44, 1)]
    assert stream.fetched[:2] == [(BATCH, WINDOW), (BATCH + 16, WINDOW)]


def test_a_command_longer_than_the_window_is_whole() -> None:
    stream = Stream(command_named("3DSTATE_POLY_STIPPLE_PATTERN", Gen.EL).pack(Gen.EL), FLUSH)
    assert stream.read() == [(BATCH, 33), (BATCH + 132, 1)]


def test_a_command_that_memory_ends_in_is_cut() -> None:
    stream = Stream(FLUSH, POINTERS[:3])
    assert stream.read() == [(BATCH, 1), (BATCH + 4, 3)]
    assert stream.reader.end == BATCH + 16


def test_no_command_starts_at_the_limit_but_the_last_one_is_whole() -> None:
    assert Stream(FLUSH, FLUSH, FLUSH).read(limit=BATCH + 8) == [(BATCH, 1), (BATCH + 4, 1)]
    assert Stream(FLUSH, RECTANGLE, FLUSH).read(limit=BATCH + 8) == [(BATCH, 1), (BATCH + 4, 4)]
    assert Stream(FLUSH).read(limit=BATCH) == []


def test_a_jump_reads_memory_again() -> None:
    stream = Stream(FLUSH, FLUSH, RECTANGLE)
    stream.reader.jump(BATCH)
    commands = stream.reader.batch()
    next(commands)
    stream.dwords[1:2] = RECTANGLE
    stream.reader.jump(BATCH + 4)
    assert len(next(commands)[1]) == 4


def test_windows_grow_until_a_jump() -> None:
    stream = Stream(*[FLUSH] * 100)
    stream.reader = CommandReader(stream.reader.headers, stream.fetch, WINDOW, most_dwords=4 * WINDOW)
    stream.reader.jump(BATCH)
    for _ in stream.reader.batch():
        if stream.reader.position.address == BATCH + 4 * 70 and len(stream.fetched) == 4:
            stream.reader.jump(BATCH + 4 * 80)
    assert stream.fetched == [(BATCH + 4 * at, dwords) for at, dwords in
                              ((0, 8), (8, 16), (24, 32), (56, 32), (80, 8), (88, 16), (100, 32))]


@pytest.mark.parametrize(("at", "size", "lengths"), [
    (8, 4, [1, 1, 4]), (-4, 16, [1, 1, 4]), (31, 1, [1, 1, 4]), (-4, 4, [1, 1, 1]), (32, 4, [1, 1, 1])])
def test_commands_that_a_command_has_changed_are_read_again(at: int, size: int, lengths: list[int]) -> None:
    """Writes outside of the window do not matter."""
    stream = Stream(*[FLUSH] * 3, *[FLUSH] * 8)
    stream.reader.jump(BATCH)
    found = []
    for _, command in stream.reader.batch():
        found.append(len(command))
        if len(found) == 2:
            stream.dwords[2:6] = RECTANGLE
            stream.reader.written(BATCH + at, size)
    assert found[:3] == lengths


def test_stop_ends_the_batch() -> None:
    stream = Stream(FLUSH, FLUSH)
    stream.reader.jump(BATCH)
    commands = stream.reader.batch()
    next(commands)
    stream.reader.stop()
    assert list(commands) == []


def test_skip_to_continues_at_an_index_of_the_window() -> None:
    stream = Stream(FLUSH, RECTANGLE, POINTERS)
    stream.reader.jump(BATCH)
    commands = stream.reader.batch()
    next(commands)
    stream.reader.skip_to(5)
    assert (len(next(commands)[1]), stream.reader.position.address) == (7, BATCH + 20)


def test_a_batch_has_no_more_dwords_than_allowed() -> None:
    stream = Stream(*[FLUSH] * 3 * WINDOW)
    stream.reader.jump(BATCH)
    with pytest.raises(EndlessBatch):
        list(stream.reader.batch(max_dwords=2 * WINDOW + 3))
    assert stream.reader.position.address == BATCH + 4 * (2 * WINDOW + 3)
    stream = Stream(*[FLUSH] * WINDOW)
    stream.reader.jump(BATCH)
    with pytest.raises(EndlessBatch):  # jumps do not start the count again
        for _ in stream.reader.batch(max_dwords=100):
            stream.reader.jump(BATCH)


def test_a_ring_continues_at_its_start_and_cuts_its_last_command() -> None:
    stream = Stream()
    ring = stream.reader.ring(words([*FLUSH, *RECTANGLE, *POINTERS[:2]]), 0x2000, (0x2000, 16))
    found = [(stream.reader.position.address, len(command)) for _, command in ring]
    assert found == [(0x2000, 1), (0x2004, 4), (0x2004, 2)]


def test_decoded_headers_are_bounded() -> None:
    headers = Headers(Length, 2)
    for header in range(5):
        assert headers[header].dwords == header
        assert len(headers) <= 2
