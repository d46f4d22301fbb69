"""IS mode (G45 PRM vol. 2, 10.4.2.2)."""

from __future__ import annotations

import struct

from gen4emu.hw.gen4.media import VfeMode
from tests.harness.media import Media, unit, words


def blocks_of(rows: tuple[tuple[int, ...], ...]) -> list[dict[int, int]]:
    found = []
    for at in range(0, len(rows), 4):
        values = struct.unpack("<64h", b"".join(struct.pack("<8I", *r) for r in rows[at:at + 4]))
        found.append({i: v for i, v in enumerate(values) if v})
    return found


def start(*blocks: str, data: bytes = b"", count: int = 10) -> tuple[Media, tuple[tuple[int, ...], ...], list[int]]:
    media = Media(mode=VfeMode.IS)
    media.select()
    inline = words(media, *blocks, count=count)
    media.object(inline, data)
    (thread,) = media.run()
    return media, thread.data, inline


def test_coefficients_become_blocks() -> None:
    data = unit(0, 5) + unit(19, -3, True) + unit(63, 7, True)
    media, rows, inline = start("y0", "cr", data=data)
    assert (*rows[0], *rows[1][:2]) == tuple(inline)
    assert rows[1][2:] == (0,) * 6
    assert blocks_of(rows[2:]) == [{0: 5, 19: -3}, {63: 7}]
    assert media.complaints() == []


def test_without_coded_blocks_there_is_the_inline_data_alone() -> None:
    _, rows, _ = start()
    assert len(rows) == 2


def test_a_longer_inline_part_moves_the_blocks() -> None:
    _, rows, inline = start("y1", data=unit(1, -32768, True), count=17)
    assert tuple(v for row in rows[:3] for v in row)[:17] == tuple(inline)
    assert blocks_of(rows[3:]) == [{1: -32768}]


def test_data_that_runs_out_ends_the_block() -> None:
    _, rows, _ = start("y0", "y1", data=unit(3, 1) + unit(4, 2))
    assert blocks_of(rows[2:]) == [{3: 1, 4: 2}, {}]


def test_too_little_inline_data_is_reported() -> None:
    media = Media(mode=VfeMode.IS)
    media.select()
    media.object((1, 2, 3))
    assert media.run() == []
    assert media.complaints() != []
