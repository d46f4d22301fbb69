"""OWord block, OWord dual block and DWord scattered messages (965 PRM vol. 4, 5.10)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import OwordBlockSize as Size
from tests.harness.data_port import (
    COMMIT,
    DATA_CACHE,
    DUAL_BLOCK,
    DUAL_BLOCK_4,
    MEDIA_BLOCK,
    OWORD_BLOCK,
    READ,
    RENDER_CACHE,
    SCATTERED,
    SCATTERED_8,
    SCATTERED_16,
    STATELESS,
    WRITE,
    Port,
    message,
    oword_block,
)
from tests.harness.parts import GEN4_PARTS
from tests.harness.probe import Event, Status

INDEX = bytes(range(256))
OLD = 0xDEADBEEF
OLD_HALF = b"\xef\xbe\xad\xde" * 4
ALL = 0xFFFF
GENS = pytest.mark.parametrize("gen", GEN4_PARTS)


def port(content: bytes = INDEX, gen: Gen = Gen.EL, entries: int | None = None, threads: int = 1) -> Port:
    p = Port(gen, threads)
    p.buffer(content, entries)
    for t in range(threads):
        for reg in range(20):
            p.grf(reg, t)[:] = OLD
    return p


def header(p: Port, global_offset: int = 0, base: int = 0, thread: int = 0) -> None:
    p.mrf(0, thread)[:] = 0xFFFFFFFF, 0xFFFFFFFF, global_offset, 0xFFFFFFFF, 0xFFFFFFFF, base | 0x77, 0, 0


def block(size: Size, mlen: int = 1, rlen: int = 0, index: int = 0, function: int = READ, flags: int = 0) -> int:
    return message(function, mlen, rlen, oword_block(size) | flags, index)


# --- OWord block ---

@GENS
def test_a_read_beyond_the_last_entry_is_zero(gen: Gen) -> None:
    """Four entries of 16 bytes; M0.4 is junk, the dispatched binding table counts."""
    p = port(INDEX, gen, entries=4)
    header(p, 0x20)
    p.send(block(Size.OWORDS_4, rlen=2), dst=4, emask=ALL)
    assert p.bytes_of(4) == INDEX[0x20:0x40]
    assert p.bytes_of(5) == bytes(32)
    assert p.events() == {}


def test_an_oword_comes_when_any_of_its_four_channels_is_on() -> None:
    p = port()
    header(p, 0x20)
    p.send(block(Size.OWORDS_4, rlen=2), dst=4, emask=0x00F0)
    assert p.bytes_of(4) == OLD_HALF + INDEX[0x30:0x40]
    assert p.bytes_of(5) == OLD_HALF * 2
    p.send(block(Size.OWORDS_4, rlen=2), dst=6, emask=0x1008)
    assert p.bytes_of(6) == INDEX[0x20:0x30] + OLD_HALF
    assert p.bytes_of(7) == OLD_HALF + INDEX[0x50:0x60]


def test_a_single_oword_goes_to_the_half_that_is_named() -> None:
    p = port()
    header(p, 0)
    p.send(block(Size.OWORDS_1_HIGH, rlen=1), dst=4, emask=0xFF)
    assert p.bytes_of(4) == OLD_HALF + INDEX[:16]
    p.send(block(Size.OWORDS_1_LOW, rlen=1), dst=5, emask=0xFF)
    assert p.bytes_of(5) == INDEX[:16] + OLD_HALF
    p.send(block(Size.OWORDS_1_HIGH, rlen=1), dst=6, emask=0x0F)
    assert p.bytes_of(6) == OLD_HALF * 2


def test_eight_owords_alternate_between_low_and_high_channels() -> None:
    p = port()
    header(p, 0x47)
    p.send(block(Size.OWORDS_8, rlen=4), dst=4, emask=0x00FF)
    assert p.bytes_of(4) + p.bytes_of(6) == INDEX[0x40:0x60] + INDEX[0x80:0xA0]
    assert p.bytes_of(5) + p.bytes_of(7) == OLD_HALF * 4
    p.send(block(Size.OWORDS_8, rlen=4), dst=8, emask=0xFF00)
    assert p.bytes_of(9) + p.bytes_of(11) == INDEX[0x60:0x80] + INDEX[0xA0:0xC0]
    assert p.bytes_of(8) + p.bytes_of(10) == OLD_HALF * 4


def test_a_write_enables_single_dwords() -> None:
    p = port()
    header(p, 0)
    p.mrf(1)[:] = range(0x100, 0x108)
    p.mrf(2)[:] = range(0x200, 0x208)
    p.send(block(Size.OWORDS_4, mlen=3, function=WRITE), emask=0x0100)
    assert p.content(0, 256) == INDEX[:0x20] + (0x200).to_bytes(4, "little") + INDEX[0x24:]
    p.send(block(Size.OWORDS_4, mlen=3, function=WRITE), emask=0x0082)
    words = np.frombuffer(p.content(0, 64), np.uint32)
    assert [int(words[i]) for i in (1, 7)] == [0x101, 0x107]
    assert words[0] == 0x03020100
    assert p.events() == {}


def test_single_oword_writes_take_their_half_of_the_register() -> None:
    p = port()
    header(p, 0x50)
    p.mrf(1)[:] = range(8)
    p.send(block(Size.OWORDS_1_HIGH, mlen=2, function=WRITE), emask=0xFF)
    assert list(np.frombuffer(p.content(0, 256), np.uint32)[20:24]) == [4, 5, 6, 7]
    p.send(block(Size.OWORDS_1_LOW, mlen=2, function=WRITE), emask=0xFF)
    assert list(np.frombuffer(p.content(0, 256), np.uint32)[20:24]) == [0, 1, 2, 3]


def test_eight_owords_are_written_from_four_registers() -> None:
    p = port(bytes(256))
    header(p, 0x80)
    for k in range(4):
        p.mrf(1 + k)[:] = 0x100 * k + np.arange(8)
    p.send(block(Size.OWORDS_8, mlen=5, function=WRITE), emask=ALL)
    words = np.frombuffer(p.content(0, 256), np.uint32)
    assert list(words[32:]) == [0x100 * k + i for k in range(4) for i in range(8)]
    assert not words[:32].any()


def test_writes_outside_are_dropped_oword_by_oword() -> None:
    p = port(bytes(256), entries=3)
    header(p, 0x20)
    p.mrf(1)[:] = 1
    p.mrf(2)[:] = 1
    p.send(block(Size.OWORDS_4, mlen=3, function=WRITE), emask=ALL)
    assert p.content(0, 256) == bytes(32) + b"\1\0\0\0" * 4 + bytes(208)


def test_a_commit_leaves_its_register_alone() -> None:
    """One OWord for each of two vertices, to scratch, committed to g0."""
    p = port()
    p.memory.write(0x400000, bytes(0x1000))
    header(p, 0, base=0x400000)
    p.grf(0)[:] = range(8)
    p.mrf(1)[:] = 0x20, 0, 0, 0, 0x30, 0, 0, 0
    p.mrf(2)[:] = range(1, 9)
    p.send(message(WRITE, 3, 1, DUAL_BLOCK | COMMIT, STATELESS), dst=0, emask=0x1E)
    assert list(p.grf(0)) == list(range(8))
    assert list(np.frombuffer(p.memory.read(0x400020, 32), np.uint32)) == [0, 2, 3, 4, 5, 0, 0, 0]
    assert p.events() == {}


def test_a_destination_mask_picks_the_components_written() -> None:
    """A vertex shader stores m[i].y: ChanEn is part of the enables, also of a send with a commit."""
    p = port()
    p.memory.write(0x400000, bytes(0x1000))
    p.grf(0)[:] = 0, 0, 0, 0, 0, 0x400000, 0, 0
    p.mrf(14)[:] = 0x20, 0, 0, 0, 0x30, 0, 0, 0
    p.mrf(15)[:] = range(1, 9)
    write = message(WRITE, 3, 1, DUAL_BLOCK | COMMIT, STATELESS)
    assert p.run(f"send(8) 13 g0<1>.yF g0<4>F 0x{write:08x} {{ align16 }};") == Status.OK
    assert list(np.frombuffer(p.memory.read(0x400020, 32), np.uint32)) == [0, 2, 0, 0, 0, 6, 0, 0]


# --- OWord dual block ---

@GENS
def test_dual_blocks_have_an_offset_each_with_the_low_bits_dropped(gen: Gen) -> None:
    p = port(gen=gen)
    header(p, 0x10)
    p.mrf(1)[:] = 0x20, 9, 9, 9, 0x05, 9, 9, 9
    p.send(message(READ, 2, 1, DUAL_BLOCK, 0), dst=4)
    assert p.bytes_of(4) == INDEX[0x30:0x40] + INDEX[0x10:0x20]
    p.send(message(READ, 2, 1, DUAL_BLOCK, 0), dst=5, emask=0x80)
    assert p.bytes_of(5) == OLD_HALF + INDEX[0x10:0x20]
    assert p.events() == {}


def test_dual_blocks_of_four_run_on_in_both_halves() -> None:
    p = port()
    header(p)
    p.mrf(1)[0], p.mrf(1)[4] = 0x40, 0xA0
    p.send(message(READ, 2, 4, DUAL_BLOCK_4, 0), dst=4, emask=0x18)
    for j in range(4):
        assert p.bytes_of(4 + j) == INDEX[0x40 + 16 * j:][:16] + INDEX[0xA0 + 16 * j:][:16]


def test_dual_block_writes_repeat_the_channels_for_each_register() -> None:
    p = port(bytes(256))
    header(p)
    p.mrf(1)[0], p.mrf(1)[4] = 0, 0x80
    for j in range(4):
        p.mrf(2 + j)[:] = 0x10 * (j + 1) + np.arange(8)
    p.send(message(WRITE, 6, 0, DUAL_BLOCK_4, 0), emask=0x81)
    words = np.frombuffer(p.content(0, 256), np.uint32).reshape(16, 4)
    assert [int(words[j, 0]) for j in range(4)] == [0x10, 0x20, 0x30, 0x40]
    assert [int(words[8 + j, 3]) for j in range(4)] == [0x17, 0x27, 0x37, 0x47]
    assert np.count_nonzero(words) == 8


def test_offsets_wrap_at_32_bits() -> None:
    p = port()
    header(p, 0xFFFFFFF0)
    p.mrf(1)[0], p.mrf(1)[4] = 0x30, 0
    p.send(message(READ, 2, 1, DUAL_BLOCK, 0), dst=4)
    assert p.bytes_of(4) == INDEX[0x20:0x30] + bytes(16)


# --- DWord scattered ---

@GENS
def test_a_gather_of_sixteen(gen: Gen) -> None:
    p = port(gen=gen)
    header(p, 3)
    p.mrf(1)[:] = 4, 8, 0, 255, 256, 0xFFFFFFFC, 13, 16
    p.mrf(2)[:] = 4 * np.arange(8)
    p.send(message(READ, 3, 2, SCATTERED_16, 0), dst=4, emask=0x01FF & ~2)
    words = np.frombuffer(INDEX, np.uint32)
    # 255 + 3 is beyond; 13 + 3 is dword 4; 0xfffffffc + 3 has its low bits dropped
    assert list(p.grf(4)) == [words[1], OLD, words[0], 0, 0, 0, words[4], words[4]]
    assert list(p.grf(5)) == [words[0]] + [OLD] * 7
    assert p.events() == {}


def test_a_gather_of_eight_touches_one_register() -> None:
    p = port()
    header(p)
    p.mrf(1)[:] = 4 * np.arange(8)
    p.send(message(READ, 2, 1, SCATTERED_8, 0), dst=4, emask=0xFF)
    assert p.bytes_of(4) == INDEX[:32]
    assert p.bytes_of(5) == OLD_HALF * 2


def test_the_highest_element_wins_a_scatter() -> None:
    p = port(bytes(256))
    header(p, 0x40)
    p.mrf(1)[:] = 0, 0, 0, 4, 0x1000, 8, 8, 12
    p.mrf(2)[:] = 0
    p.mrf(3)[:] = range(1, 9)
    p.mrf(4)[:] = range(0x11, 0x19)
    p.send(message(WRITE, 5, 0, SCATTERED_16, 0), emask=0x0EFF & ~0x40)
    words = np.frombuffer(p.content(0, 256), np.uint32)
    assert list(words[16:20]) == [0x14, 4, 6, 8]
    assert np.count_nonzero(words) == 4


# --- stateless memory, bounds, surfaces ---

def test_stateless_memory_starts_at_the_general_state_base_plus_m0_5() -> None:
    p = Port(general_state_base=0x300000, threads=2)
    for t in range(2):
        header(p, 0x10, 0x4000 + 0x400 * t, t)
        p.memory.write(0x304000 + 0x400 * t, bytes([t] * 16) + INDEX[t:] + bytes(16))
    p.send(block(Size.OWORDS_2, rlen=1, index=STATELESS, flags=RENDER_CACHE), dst=4, emask=[ALL] * 2)
    assert p.bytes_of(4, 0) == INDEX[:32]
    assert p.bytes_of(4, 1) == INDEX[1:33]


def test_the_upper_bound_limits_stateless_memory() -> None:
    p = Port(general_state_base=0x300000)
    p.memory.write(0x300000, INDEX * 32)
    p.state.general_state_bound = 0x301000
    header(p, 0xFF0)
    p.send(block(Size.OWORDS_2, rlen=1, index=STATELESS), dst=4, emask=ALL)
    assert p.bytes_of(4) == INDEX[0xF0:] + bytes(16)
    header(p, 0, base=0x1000)
    p.send(block(Size.OWORDS_2, rlen=1, index=STATELESS), dst=5, emask=ALL)
    assert p.bytes_of(5) == bytes(32)
    p.mrf(1)[:] = 1
    p.send(block(Size.OWORDS_2, mlen=2, function=WRITE, index=STATELESS), emask=ALL)
    assert p.memory.read(0x301000, 32) == INDEX[:32]


def test_scratch_written_by_threads_of_a_gang_does_not_mix() -> None:
    p = Port(threads=8)
    p.memory.write(0x400000, bytes(0x4000))
    for t in range(8):
        header(p, 0x20, 0x400000 + 0x400 * t, t)
        p.mrf(1, t)[:] = 0x10 * t + np.arange(8)
    p.send(block(Size.OWORDS_2, mlen=2, rlen=1, function=WRITE, index=STATELESS, flags=COMMIT), dst=0, emask=[ALL] * 8)
    p.send(block(Size.OWORDS_2, rlen=1, index=STATELESS, flags=RENDER_CACHE), dst=4, emask=[ALL] * 8)
    for t in range(8):
        assert list(p.grf(4, t)) == list(0x10 * t + np.arange(8))
    assert p.events() == {}


def test_entries_count_from_three_fields() -> None:
    entries = (1 << 20) + (3 << 7) + 5
    p = port(bytes(16), entries=entries)
    far = 0x200000 + 16 * (entries - 1)
    p.memory.write(far & ~0xFFF, INDEX * 32)
    header(p, 16 * (entries - 1))
    p.send(block(Size.OWORDS_2, rlen=1), dst=4, emask=ALL)
    assert p.bytes_of(4) == p.memory.read(far, 16) + bytes(16)
    assert p.bytes_of(4)[:16] != bytes(16)


def test_a_null_surface_reads_zero_and_swallows_writes() -> None:
    p = Port()
    p.surface(INDEX, surface_type="SURFTYPE_NULL")
    header(p)
    p.grf(4)[:] = OLD
    p.send(block(Size.OWORDS_2, rlen=1), dst=4, emask=0x0F)
    assert p.bytes_of(4) == bytes(16) + OLD_HALF
    p.send(block(Size.OWORDS_2, mlen=2, function=WRITE), emask=ALL)
    assert p.content(0, 256) == INDEX
    assert p.events() == {}


@pytest.mark.parametrize("fields", [
    {"surface_type": "SURFTYPE_2D"},
    {"tiled_surface": True, "tile_walk": "XMAJOR"},
    {"base_offset": 8},
])
def test_surfaces_that_are_no_good_are_reported(fields: dict[str, object]) -> None:
    p = Port()
    p.buffer(INDEX, **fields)
    header(p)
    p.send(block(Size.OWORDS_2, rlen=1), dst=4, emask=ALL)
    assert p.event(Event.BAD_SURFACE).count == 1
    p = Port()
    p.buffer(INDEX, base_offset=4)
    header(p)
    p.mrf(1)[:] = 0
    p.send(message(READ, 2, 1, SCATTERED_8, 0), dst=4, emask=ALL)
    assert p.events() == {}  # elements of a scattered message need four bytes only
    assert p.bytes_of(4) == INDEX[:4] * 8


def test_reads_across_pages_and_beyond_memory_do_not_disturb() -> None:
    p = port(INDEX * 16, entries=0x7FFFFFF)
    header(p, 0xFF0)
    p.send(block(Size.OWORDS_2, rlen=1), dst=4, emask=ALL)
    assert p.bytes_of(4) == INDEX[0xF0:] + bytes(16)
    header(p, 0x7FFFFE00)
    assert p.send(block(Size.OWORDS_8, rlen=4), dst=4, emask=ALL) == Status.OK
    assert p.send(block(Size.OWORDS_8, mlen=5, function=WRITE), emask=ALL) == Status.OK


# --- descriptors ---

@pytest.mark.parametrize(("descriptor", "gen", "event"), [
    (0x04105800, Gen.CL, Event.BAD_MESSAGE),  # control bit 3 of a dual block
    (0x04185800, Gen.EL, Event.UNMODELLED),  # loop filter control
    (0x04110800, Gen.EL, Event.UNMODELLED),  # render target UNORM
    (0x04112800, Gen.EL, Event.BAD_MESSAGE),  # reserved type 5
    (0x04113800, Gen.EL, Event.BAD_MESSAGE),  # reserved type 7
    (0x04110500, Gen.EL, Event.BAD_MESSAGE),  # six OWords: later parts only
    (0x04211100, Gen.EL, Event.BAD_MESSAGE),  # reserved dual block size
    (0x04213000, Gen.EL, Event.BAD_MESSAGE),  # reserved scattered size
    (0x0411C200, Gen.EL, Event.BAD_MESSAGE),  # reserved target cache
    (0x05205000, Gen.EL, Event.UNMODELLED),  # streamed vertex buffer
    (0x05206000, Gen.EL, Event.UNMODELLED),  # render target UNORM
    (0x05205000, Gen.CL, Event.BAD_MESSAGE),
    (0x05200A00, Gen.CL, Event.BAD_MESSAGE),  # control bit 3 of a block
    (0x05200600, Gen.EL, Event.BAD_MESSAGE),
    (0x04120200, Gen.EL, Event.BAD_RESPONSE),  # two OWords are one register
    (0x05210200, Gen.EL, Event.BAD_RESPONSE),  # an answer without commit
    (0x05208200, Gen.EL, Event.BAD_RESPONSE),  # a commit without answer
    (0x05100200, Gen.EL, Event.BAD_LENGTH),
    (0x04111000, Gen.EL, Event.BAD_LENGTH),
    (0x04010200, Gen.EL, Event.BAD_LENGTH),
    (0x85200200, Gen.EL, Event.EOT_WRONG_UNIT),
])
def test_messages_that_are_none_are_reported_with_their_descriptor(descriptor: int, gen: Gen, event: Event) -> None:
    p = port(gen=gen)
    header(p)
    assert p.send(descriptor, dst=4, emask=ALL) == Status.OK
    assert p.events() == {event: p.event(event)}
    assert p.event(event).value == descriptor


def test_a_message_without_its_payload_does_nothing() -> None:
    p = port()
    header(p)
    p.mrf(1)[:] = 0
    p.send(message(READ, 1, 1, DUAL_BLOCK, 0), dst=4, emask=ALL)
    p.send(message(WRITE, 2, 0, oword_block(Size.OWORDS_4), 0), emask=ALL)
    assert p.bytes_of(4) == OLD_HALF * 2
    assert p.content(0, 256) == INDEX


@pytest.mark.parametrize("commit", [0, 1])
def test_a_flush_is_taken_and_changes_nothing(commit: int) -> None:
    p = port()
    p.send(message(WRITE, 1, commit, 7 << 12 | commit * COMMIT, 0), dst=4)
    assert p.bytes_of(4) == OLD_HALF * 2
    assert p.events() == {}


def test_any_descriptor_and_any_header_is_survived() -> None:
    """Nothing is said about the results: no crash, no fault of the host, whatever the threads send."""
    random = np.random.default_rng(60)
    p = port(INDEX * 4, threads=8)
    p.image(INDEX * 16, 16, 16, 64)
    p.image(INDEX * 16, 4, 5, 128, surface_format="YCRCB_SWAPY", tiled_surface=True, tile_walk="YMAJOR",
            vertical_line_stride=True, media_boundary_pixel_mode="INTERLACED")
    for _ in range(400):
        for reg in range(16):
            for t in range(8):
                p.mrf(reg, t)[:] = random.integers(0, 1 << 32, 8, dtype=np.uint64)
                p.mrf(reg, t)[:3] >>= random.integers(0, 32, 3, dtype=np.uint32)
        kind = int(random.choice([OWORD_BLOCK, DUAL_BLOCK, MEDIA_BLOCK, SCATTERED]))
        descriptor = (int(random.choice([READ, WRITE])) | int(random.integers(0, 256)) << 16 | kind
                      | int(random.choice([DATA_CACHE, RENDER_CACHE, COMMIT])) | int(random.integers(0, 16)) << 8
                      | int(random.choice([0, 1, 2, 3, 255])))
        assert p.send(descriptor, mrf=int(random.integers(0, 16)), dst=int(random.integers(0, 256)),
                      emask=[ALL] * 8) == Status.OK


def test_r0_as_a_header_shifts_the_fetch_by_what_its_third_dword_says() -> None:
    """The reason why R0.2 of vertex shader threads is zero, and what a debugger that puts 16 there would see."""
    for global_offset in (0, 16):
        p = port()
        p.grf(0)[:] = 0, 0, global_offset, 0, 0, 0, 0, 0
        p.mrf(1)[:] = 0x20, 0, 0, 0, 0x40, 0, 0, 0
        read = message(READ, 2, 1, DUAL_BLOCK, 0)
        p.run(f"send(8) 0 g4<1>UD g0<8,8,1>UD 0x{read:08x} read {{ align1 nomask }};\n" + p.end)
        shifted = [INDEX[at + global_offset:][:16] for at in (0x20, 0x40)]
        assert p.bytes_of(4) == shifted[0] + shifted[1]
