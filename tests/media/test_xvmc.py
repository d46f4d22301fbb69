"""Batches like those of XvMC, which decodes MPEG-2 in generic mode: the host has done the transform.

The kernel is ours: residual to samples, as for an intra macroblock.  965G's reads the residual from a buffer by OWord
blocks; on later parts it comes with the thread.
"""

from __future__ import annotations

import struct

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu.device.media import MediaPayload
from gen4emu.hw.catalogue import block_named
from tests.harness.media import DATA, END, SURFACES, TABLES, TARGETS, Media
from tests.harness.messages import operand

WIDTH, HEIGHT = 64, 48
BLOCKS = 3  # binding table entry of the residual
MACROBLOCK_BYTES = 6 * 128
INDIRECT, INLINE = 0, 0xFFFFFFFF  # the last inline dword: where a kernel finds the residual
PLANES = ((TARGETS, WIDTH, HEIGHT), (TARGETS + WIDTH * HEIGHT, WIDTH // 2, HEIGHT // 2),
          (TARGETS + WIDTH * HEIGHT * 5 // 4, WIDTH // 2, HEIGHT // 2))
PARTS = {"g965": INDIRECT, "965gm": INLINE, "gm45": INLINE}
# Messages of XvMC's kernels: two OWords from the data cache, 16x16 and 8x8 samples.
READ_TWO_OWORDS = operand("DATA_PORT_READ_MESSAGE", response=1, oword_block_size="OWORDS_2", binding_table_index=BLOCKS)


def read_residual() -> str:
    """24 registers from where g1.2 points to; m1 has the offset."""
    lines = ["mov(8) m1<1>UD g0<8,8,1>UD { align1 nomask };",
             "mov(1) g30.2<1>UD g1.2<0,1,0>UD { align1 nomask };"]
    for i in range(24):
        lines += ["mov(1) m1.2<1>UD g30.2<0,1,0>UD { align1 nomask };",
                  f"send(16) 1 g{3 + i}<1>UD null<8,8,1>UD {READ_TWO_OWORDS} {{ align1 nomask }};",
                  "add(1) g30.2<1>UD g30.2<0,1,0>UD 32UD { align1 nomask };"]
    return "\n".join(lines) + "\n"


def write_plane(first: int, count: int, size: int, plane: int, shift: int) -> str:
    """Registers of words, saturated, two of them to a register of bytes."""
    lines = []
    message = operand("DATA_PORT_WRITE_MESSAGE", length=1 + count // 2, message_type="MEDIA_BLOCK",
                      binding_table_index=plane)
    for i in range(count):
        half = f"{16 * (i % 2)}"
        lines += [f"mov.sat(16) g40<2>UB g{first + i}<16,16,1>W {{ align1 nomask }};",
                  f"mov(16) m{2 + i // 2}.{half}<1>UB g40<32,16,2>UB {{ align1 nomask }};"]
    return "\n".join([*lines, "mov(8) m1<1>UD 0UD { align1 nomask };",
                      f"shr(2) m1<1>UD g1<2,2,1>UD {shift}UD {{ align1 nomask }};",
                      f"mov(1) m1.2<1>UD 0x{(size - 1) << 16 | size - 1:x}UD {{ align1 nomask }};",
                      f"send(16) 1 acc0<1>UW null<8,8,1>UW {message} {{ align1 nomask }};"]) + "\n"


def kernel(*, reads: bool) -> str:
    text = read_residual() if reads else ""
    text += write_plane(3, 16, 16, 0, 0)
    for plane in (1, 2):
        text += write_plane(15 + 4 * plane, 4, 8, plane, 1)
    return text + END


class Client:
    """State and objects as XvMC makes them."""

    def __init__(self, part: str) -> None:
        self.where = PARTS[part]
        # Three rows of URB and no more, although a thread gets 26 registers; no constants.
        self.media = Media(part, maximum_number_of_threads=32, number_of_urb_entries=1, urb_entry_allocation_size=3)
        self.media.kernel(0, kernel(reads=self.where == INDIRECT))
        for index, (address, width, height) in enumerate(PLANES):
            self.media.surface(index, address, width, height, width)
        self.count = 0
        self.media.select()

    def buffer(self, size: int) -> None:
        """The residual of all macroblocks.  XvMC counts bytes where the message counts OWords."""
        state = SURFACES + 0x40 * BLOCKS
        last = size - 1
        self.media.memory.write(state, block_named("SURFACE_STATE", self.media.gen).build(
            self.media.gen, surface_type="SURFTYPE_BUFFER", surface_format="R8_UINT", surface_base_address=DATA,
            buffer_entries_6_0=last & 0x7F, buffer_entries_19_7=last >> 7 & 0x1FFF, buffer_entries_26_20=last >> 20,
            surface_pitch=size))
        self.media.memory.write(TABLES + 4 * BLOCKS, struct.pack("<I", state))

    def macroblock(self, x: int, y: int, residual: NDArray[np.int16], *, pattern: int = 63, beyond: int = 0) -> None:
        """Luma as 16 lines of 16 words, then Cb and Cr as 8 lines of 8 each."""
        offset = MACROBLOCK_BYTES * self.count + beyond
        self.count += not beyond
        data = residual.astype("<i2").tobytes()
        assert len(data) == MACROBLOCK_BYTES
        vectors = range(100, 108)
        words = struct.unpack("<9I", struct.pack("<3I9H2BI", 16 * x, 16 * y, offset, pattern, *vectors, 0, 0xF0,
                                                 self.where))
        self.media.memory.write(DATA + offset, data)
        where = {} if self.where == INDIRECT else {
            "indirect_data_length": len(data), "indirect_data_start_address": DATA + offset}
        self.media.object(words, **where)

    def run(self) -> list[MediaPayload]:
        self.buffer(MACROBLOCK_BYTES * self.count)
        return self.media.run()

    def planes(self) -> list[NDArray[np.uint8]]:
        return [np.array(self.media.rows(address, width, height, width), np.uint8)
                for address, width, height in PLANES]


def residuals(count: int) -> list[NDArray[np.int16]]:
    return list(np.random.default_rng(count).integers(-300, 600, (count, 384)).astype(np.int16))


@pytest.mark.parametrize("part", PARTS)
def test_residual_reaches_the_picture(part: str) -> None:
    client = Client(part)
    places = [(x, y) for y in range(HEIGHT // 16) for x in range(WIDTH // 16)]
    expected = [np.zeros((h, w), np.uint8) for _, w, h in PLANES]
    for (x, y), residual in zip(places, residuals(len(places)), strict=True):
        client.macroblock(x, y, residual)
        samples = np.clip(residual, 0, 255)
        expected[0][16 * y:16 * y + 16, 16 * x:16 * x + 16] = samples[:256].reshape(16, 16)
        for plane in (1, 2):
            block = samples[192 + 64 * plane:][:64].reshape(8, 8)
            expected[plane][8 * y:8 * y + 8, 8 * x:8 * x + 8] = block
    client.run()
    assert all(np.array_equal(a, b) for a, b in zip(client.planes(), expected, strict=True))
    assert client.media.complaints() == []


@pytest.mark.parametrize("part", PARTS)
def test_the_inline_layout(part: str) -> None:
    client = Client(part)
    residual, = residuals(1)
    client.macroblock(2, 1, residual, pattern=0x2A)
    (thread,) = client.run()
    assert thread.first == 1  # there are no constants
    first, second = thread.data[:2]
    assert first[:3] == (32, 16, 0)
    assert struct.unpack("<9H2B", struct.pack("<5I", *first[3:])) == (0x2A, *range(100, 108), 0, 0xF0)
    assert second == (PARTS[part], *([0] * 7))
    rest = struct.pack(f"<{8 * (len(thread.data) - 2)}I", *(word for row in thread.data[2:] for word in row))
    assert rest == (b"" if part == "g965" else residual.astype("<i2").tobytes())


def test_residual_behind_the_buffer_reads_as_zero() -> None:
    client = Client("g965")
    first, second = residuals(2)
    client.macroblock(0, 0, first)
    client.macroblock(1, 0, second, beyond=15 * MACROBLOCK_BYTES - 64)  # all but 64 bytes of it are after 16 * size
    client.run()
    luma, cb, cr = client.planes()
    assert np.array_equal(luma[:16, :16], np.clip(first[:256], 0, 255).reshape(16, 16))
    assert np.array_equal(luma[:2, 16:32], np.clip(second[:32], 0, 255).reshape(2, 16))
    assert not luma[2:16, 16:32].any()
    assert not cb[:8, 8:16].any()
    assert not cr[:8, 8:16].any()
