"""The media pipeline of Gen9: payloads, groups with barriers and shared memory, the scoreboard (SKL PRM vol. 2a, 7)."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from gen4emu.device.device import EuHang
from gen4emu.device.media import MediaPayload
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen8.media import GroupIdLoop
from gen4emu.hw.gen9.state import SharedLocalMemoryCode
from tests.harness.media_gen7 import (
    DATA,
    DESCRIPTORS,
    DYNAMIC,
    END,
    KERNELS,
    PICTURES,
    SCRATCH,
    TABLE,
    block_header,
)
from tests.harness.media_gen9 import MediaGen9, media_block, shared
from tests.harness.messages import ARRIVE, BARRIER_ID, operand
from tests.harness.parts import names
from tests.harness.spawning_gen7 import CHILD_END, spawn
from tests.harness.spawning_gen7 import END as PARENT_END

PARTS = names(Gen.GEN9)
SAMPLE_8X8 = 11  # the type in messages of 32 and 64 channels
WORDS = tuple(range(0x100, 0x109))
BYTES = bytes(range(256)) * 3
FAR_PICTURES = MediaGen9.far + PICTURES
OFFSETS = """mov(8) g10<1>UW 0x76543210V { align1 WE_all 1Q };
mov(8) g11<1>UD g10<8,8,1>UW { align1 WE_all 1Q };
shl(8) g11<1>UD g11<8,8,1>UD 2UD { align1 WE_all 1Q };
"""
# The header of the message is the group's barrier, as R0.2 has it.
BARRIER = f"""and(8) g16<1>UD g0.2<0,1,0>UD {BARRIER_ID} {{ align1 WE_all 1Q }};
send(8) null<1>UD g16<8,8,1>UD {ARRIVE} gateway {{ align1 WE_all 1Q }};
wait(1) n0<1>UD {{ align1 WE_all 1N }};
"""


def started(**options: Any) -> MediaGen9:
    media = MediaGen9(**options)
    media.select()
    return media


def as_bytes(rows: tuple[tuple[int, ...], ...]) -> bytes:
    return b"".join(struct.pack("<8I", *row) for row in rows)


def run(media: MediaGen9) -> list[MediaPayload]:
    threads = media.run()
    assert media.complaints() == []
    return threads


# --- payloads ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", PARTS)
def test_inline_and_indirect_data_follow_the_constants(part: str) -> None:
    media = MediaGen9(part, constants=bytes(range(96)))
    media.kernel(3, END, constant_urb_entry_read_length=2, constant_urb_entry_read_offset=1)
    media.select()
    media.object(WORDS, BYTES, interface_descriptor_offset=3)
    (thread,) = run(media)
    assert thread.descriptor == media.far + DESCRIPTORS + 3 * 32
    assert thread.kernel == media.far + KERNELS + 3 * 0x2000
    assert thread.first == 3
    assert as_bytes(thread.constants) == bytes(range(32, 96))
    assert thread.data[:2] == (WORDS[:8], (WORDS[8], 0, 0, 0, 0, 0, 0, 0))
    assert as_bytes(thread.data[2:]) == BYTES


def test_the_header_of_a_root_thread() -> None:
    media = MediaGen9(scratch_space_base_pointer=SCRATCH, per_thread_scratch_space=2, urb_entry_allocation_size=4)
    media.kernel(5, END, sampler_state_pointer=0x7000)
    media.select()
    for place in ((3, 4), (511, 510)):
        media.object(WORDS[:1], interface_descriptor_offset=5, scoreboard_x=place[0], scoreboard_y=place[1],
                     scoreboard_color=9)
    first, second = run(media)
    assert first.header == (0, 4 << 16 | 3, 5 << 4 | 9, 0x7000 | 2, TABLE, SCRATCH, 0, 0)
    assert second.header == (4, 510 << 16 | 511, 5 << 4 | 9, 0x7000 | 2, TABLE, SCRATCH + 4096 | 1, 1, 0)


def test_an_object_of_the_fence_kind_has_inline_data_only() -> None:
    media = started()
    media.object(range(12), name="MEDIA_OBJECT_PRT")
    (thread,) = run(media)
    assert thread.data == ((0, 1, 2, 3, 4, 5, 6, 7), (8, 9, 10, 11, 0, 0, 0, 0))


def test_an_object_of_a_group_has_its_number_in_the_header() -> None:
    media = started()
    for number in (7, 7, 0xFFFFFFFF):
        media.object(WORDS[:1], name="MEDIA_OBJECT_GRPID", groupid=number, scoreboard_x=3)
    threads = run(media)
    assert [t.header[7] for t in threads] == [7, 7, 0xFFFFFFFF]
    assert [t.header[2] >> 24 for t in threads] == [0, 0, 1]  # barriers
    assert [t.header[0] >> 24 for t in threads] == [0, 0, 1]  # shared memory
    assert threads[0].header[1] == 3
    assert threads[0].data[0][0] == WORDS[0]


@pytest.mark.parametrize("name", ["MEDIA_OBJECT", "MEDIA_OBJECT_PRT"])
def test_children_start_with_rows_of_their_parents_entry(name: str) -> None:
    """The messages are those of Gen7 (tests/media/test_spawner_gen7.py)."""
    media = MediaGen9(urb_entry_allocation_size=5)
    media.kernel(0, spawn(1, 0, 1) + PARENT_END)
    media.kernel(1, CHILD_END)
    media.select()
    for first in (0, 100):
        media.object(range(first, first + 12), name=name, children_present=True)
    roots, children = [], []
    for thread in run(media):
        (children if thread.child else roots).append(thread)
    assert [t.header[0] for t in roots] == [0, 5]
    assert sorted(t.registers[0] for t in children) == [tuple(range(first, first + 8)) for first in (0, 100)]
    assert {t.descriptor for t in children} == {media.far + DESCRIPTORS + 32}


@pytest.mark.parametrize("name", ["MEDIA_OBJECT", "MEDIA_OBJECT_GRPID", "MEDIA_OBJECT_PRT", "MEDIA_OBJECT_WALKER"])
def test_a_command_that_is_cut_short_has_zeros(name: str) -> None:
    media = started()
    command = media.catalogue.command(name)
    header = struct.unpack_from("<I", command.build(media.gen))[0] & ~0xFFFF | 2
    media.commands += struct.pack("<4I", header, 0, 0, 0)
    threads = media.run()
    assert [t.header[1] for t in threads] == ([] if name == "MEDIA_OBJECT_WALKER" else [0])


def test_an_object_of_the_3d_pipeline_is_reported() -> None:
    media = started()
    media.command("PIPELINE_SELECT", mask_bits=3)
    media.object(WORDS[:1])
    assert media.run() == []
    (finding,) = media.complaints()
    assert "3D pipeline" in finding


def test_media_blocks_are_read_and_written_far_away() -> None:
    width, height, pitch = 64, 32, 128
    media = MediaGen9()
    media.kernel(0, block_header(20, "g1<0,1,0>UD", "g1.1<0,1,0>UD", 16, 4) + media_block(False, 0, 20, 2, "g21")
                 + media_block(True, 1, 20, 2) + END)
    media.select()
    source = bytes((7 * i + i // pitch) & 0xFF for i in range(pitch * height))
    media.memory.write(FAR_PICTURES, source)
    media.surface(0, FAR_PICTURES, width, height, pitch)
    media.surface(1, FAR_PICTURES + 0x10000, width, height, pitch)
    for y in range(0, height, 4):
        for x in range(0, width, 16):
            media.object((x, y))
    run(media)
    assert media.rows(FAR_PICTURES + 0x10000, width, height, pitch) == media.rows(FAR_PICTURES, width, height, pitch)
    (picture,) = media.device.targets.latest
    assert (picture.kind, picture.address, picture.width, picture.height) == (
        "media", FAR_PICTURES + 0x10000, width, height)


# --- groups -----------------------------------------------------------------------------------------------------------
def grouped(threads: int, kernel: str, **vfe: Any) -> MediaGen9:
    """Threads with g1 = inline data; the kernel leaves a row of results in g21, which goes to the row g1.0."""
    media = MediaGen9(**vfe)
    stores = block_header(20, "0UD", "g1<0,1,0>UD", 32, 1) + media_block(True, 0, 20, 1)
    media.kernel(0, OFFSETS + kernel + stores + END,
                 barrier_enable=True, number_of_threads_in_gpgpu_thread_group=threads,
                 shared_local_memory_size=SharedLocalMemoryCode.KIB_1)
    media.select()
    media.surface(0, FAR_PICTURES, 32, 64, 32)
    media.memory.write(FAR_PICTURES, bytes(32 * 64))
    return media


def results(media: MediaGen9, count: int) -> list[list[int]]:
    return [list(struct.unpack("<8I", bytes(row))) for row in media.rows(FAR_PICTURES, 32, count, 32)]


# A thread writes 100 + g1.1 to its part of the shared memory, and after the barrier reads that of thread g1.2.
EXCHANGE = """mul(8) g12<1>UD g1.1<0,1,0>UD 32UW { align1 WE_all 1Q };
add(8) g12<1>UD g12<8,8,1>UD g11<8,8,1>UD { align1 WE_all 1Q };
add(8) g13<1>UD g1.1<0,1,0>UD 100UD { align1 WE_all 1Q };
""" + shared(True, 12) + BARRIER + """mul(8) g12<1>UD g1.2<0,1,0>UD 32UW { align1 WE_all 1Q };
add(8) g12<1>UD g12<8,8,1>UD g11<8,8,1>UD { align1 WE_all 1Q };
""" + shared(False, 12, "g21")


@pytest.mark.parametrize("threads", [2, 8, 11])
def test_threads_of_a_group_exchange_values_behind_a_barrier(threads: int) -> None:
    media = grouped(threads, EXCHANGE)
    for group in range(3):
        for t in range(threads):
            media.object((threads * group + t, t, (t + 1) % threads), name="MEDIA_OBJECT_GRPID", groupid=group,
                         end_of_thread_group=t == threads - 1)
    run(media)
    assert results(media, 3 * threads) == [[100 + (t + 1) % threads] * 8 for _ in range(3) for t in range(threads)]


def test_more_groups_than_barriers_wait_for_each_other() -> None:
    media = grouped(2, EXCHANGE)
    for group in range(20):
        for t in range(2):
            media.object((2 * group + t, t, 1 - t), name="MEDIA_OBJECT_GRPID", groupid=group)
    threads = run(media)
    assert results(media, 40) == [[101 - t % 2] * 8 for t in range(40)]
    assert {t.header[2] >> 24 for t in threads} <= set(range(16))


def test_shared_memory_of_a_new_group_is_zero_and_ends_with_its_size() -> None:
    """One thread after another."""
    read = "mul(8) g12<1>UD g1.1<0,1,0>UD 1UW { align1 WE_all 1Q };\n" \
           "add(8) g12<1>UD g12<8,8,1>UD g11<8,8,1>UD { align1 WE_all 1Q };\n" + shared(False, 12, "g21") + \
           "mov(8) g13<1>UD 7UD { align1 WE_all 1Q };\n" + shared(True, 12)
    media = grouped(1, read, maximum_number_of_threads=1)
    for row, (group, offset) in enumerate([(0, 0), (0, 0), (0, 992), (0, 1008), (0, 1008), (1, 0)]):
        media.object((row, offset), name="MEDIA_OBJECT_GRPID", groupid=group)
    run(media)
    assert results(media, 6) == [[0] * 8, [7] * 8, [0] * 8, [7] * 4 + [0] * 4, [7] * 4 + [0] * 4, [0] * 8]


def test_a_walker_does_not_join_the_group_of_the_walker_before_it() -> None:
    """One thread after another; a group has all threads of a walker."""
    read = OFFSETS + "mov(1) g1<1>UD 0UD { align1 WE_all 1N };\n" + shared(False, 11, "g21") + \
        "mov(8) g12<1>UD 7UD { align1 WE_all 1Q };\n" + shared(True, 11)
    media = grouped(1, read, maximum_number_of_threads=1)
    for _ in range(2):
        media.object((), name="MEDIA_OBJECT_WALKER", **raster(1, 1),
                     group_id_loop_select=GroupIdLoop.OUTER_LOCAL_GROUPS)
    run(media)
    assert results(media, 1) == [[0] * 8]


def test_a_barrier_that_not_all_threads_reach_hangs() -> None:
    media = grouped(3, EXCHANGE)
    for t in range(2):
        media.object((t, t, t), name="MEDIA_OBJECT_GRPID", groupid=1)
    with pytest.raises(EuHang):
        media.run()


def test_a_barrier_without_a_group_is_reported() -> None:
    media = MediaGen9()
    media.kernel(0, BARRIER.replace("wait(1) n0<1>UD { align1 WE_all 1N };\n", "") + END)
    media.select()
    media.object(WORDS[:1])
    media.run()
    assert any("message" in c for c in media.complaints())


# --- the walker -------------------------------------------------------------------------------------------------------
def raster(width: int, height: int) -> dict[str, Any]:
    """The walk of a whole picture, line by line."""
    return {
        "global_loop_exec_count": 0xFFF, "local_loop_exec_count": 0xFFF, "block_resolution_x": width,
        "block_resolution_y": height, "global_resolution_x": width, "global_resolution_y": height,
        "local_outer_loop_stride_y": 1, "local_inner_loop_unit_x": 1, "global_outer_loop_stride_x": width,
        "global_inner_loop_unit_y": height}


def test_the_walker_visits_positions_of_eleven_bits() -> None:
    media = started()
    media.object(WORDS[:1], name="MEDIA_OBJECT_WALKER", **raster(2047, 2))
    threads = run(media)
    places = [(t.header[1] & 0x7FF, t.header[1] >> 16) for t in threads]
    assert places == [(x, y) for y in range(2) for x in range(2047)]
    assert all(t.data[0][0] == WORDS[0] and t.header[7] == 0 for t in threads)


@pytest.mark.parametrize(("loop", "expected"), [
    (GroupIdLoop.NO_GROUPS, [0] * 24),
    (GroupIdLoop.COLOR_GROUPS, [i // 2 for i in range(24)]),
    (GroupIdLoop.INNER_LOCAL_GROUPS, [i // 4 for i in range(24)]),
    (GroupIdLoop.MID_LOCAL_GROUPS, [i // 4 for i in range(24)]),
    (GroupIdLoop.OUTER_LOCAL_GROUPS, [i // 8 for i in range(24)]),
    (GroupIdLoop.INNER_GLOBAL_GROUPS, [i // 8 for i in range(24)]),
])
def test_a_pass_of_the_selected_loop_is_a_group(loop: GroupIdLoop, expected: list[int]) -> None:
    """Three blocks of 2x2 positions beside each other, two colors; the last block begins with the outer global loop."""
    media = started()
    walk = raster(6, 2) | {"block_resolution_x": 2, "block_resolution_y": 2, "local_loop_exec_count": 1,
                           "global_outer_loop_stride_x": 2, "global_inner_loop_unit_y": 2}
    media.object(WORDS[:1], name="MEDIA_OBJECT_WALKER", **walk, color_count_minus_one=1, group_id_loop_select=loop)
    assert [t.header[7] for t in run(media)] == expected


def test_groups_of_a_walker_share_a_barrier() -> None:
    """The threads of a line wait for each other: the number of each is its position."""
    exchange = EXCHANGE.replace("g1.1<0,1,0>UD", "g2<0,1,0>UD").replace("g1.2<0,1,0>UD", "g3<0,1,0>UD")
    places = """and(1) g2<1>UD g0.1<0,1,0>UD 0x7ffUD { align1 WE_all 1N };
shr(1) g4<1>UD g0.1<0,1,0>UD 16UD { align1 WE_all 1N };
add(1) g3<1>D -g2<0,1,0>D 3D { align1 WE_all 1N };
shl(1) g1<1>UD g4<0,1,0>UD 2UD { align1 WE_all 1N };
add(1) g1<1>UD g1<0,1,0>UD g2<0,1,0>UD { align1 WE_all 1N };
"""
    media = grouped(4, places + exchange)
    media.object((), name="MEDIA_OBJECT_WALKER", **raster(4, 5), group_id_loop_select=GroupIdLoop.INNER_LOCAL_GROUPS)
    run(media)
    assert results(media, 20) == [[103 - t % 4] * 8 for t in range(20)]


# --- the scoreboard ---------------------------------------------------------------------------------------------------
# A thread at (x, y) reads the row 8 * y + x - 1, adds 1, and writes its own row: a chain along each line.
CHAIN = """and(1) g2<1>UD g0.1<0,1,0>UD 0x7ffUD { align1 WE_all 1N };
shr(1) g4<1>UD g0.1<0,1,0>UD 16UD { align1 WE_all 1N };
shl(1) g4<1>UD g4<0,1,0>UD 3UD { align1 WE_all 1N };
add(1) g4<1>UD g4<0,1,0>UD g2<0,1,0>UD { align1 WE_all 1N };
add(1) g5<1>D g4<0,1,0>D -1D { align1 WE_all 1N };
""" + block_header(20, "0UD", "g5<0,1,0>UD", 32, 1) + media_block(False, 0, 20, 1, "g21") + """
add(8) g21<1>UD g21<8,8,1>UD 1UD { align1 WE_all 1Q };
mov(1) g20.1<1>UD g4<0,1,0>UD { align1 WE_all 1N };
""" + media_block(True, 0, 20, 1) + END


def chain(enable: bool, mask: int, distance: tuple[int, int], color: int = 0) -> list[int]:
    """A line of eight threads; the first dword of each row after a row of zeros."""
    media = MediaGen9(scoreboard_enable=enable, scoreboard_mask=2, scoreboard_1_delta_x=distance[0],
                      scoreboard_1_delta_y=distance[1])
    media.kernel(0, CHAIN)
    media.select()
    media.surface(0, FAR_PICTURES + 32, 32, 64, 32)
    media.memory.write(FAR_PICTURES, bytes(32 * 64))
    for x in range(8):
        media.object((), scoreboard_x=x, use_scoreboard=True, scoreboard_mask=mask, scoreboard_color=x if color else 0)
    run(media)
    return [row[0] for row in results(media, 9)][1:]


def test_a_thread_waits_for_those_on_which_it_depends() -> None:
    assert chain(True, 2, (-1, 0)) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(("enable", "mask", "distance", "color"), [
    (False, 2, (-1, 0), 0), (True, 1, (-1, 0), 0), (True, 2, (-1, -1), 0), (True, 2, (-1, 0), 1)])
def test_other_threads_start_together(enable: bool, mask: int, distance: tuple[int, int], color: int) -> None:
    """The mask of the object and that of VFE select distances; threads of other colors do not count."""
    assert chain(enable, mask, distance, color) == [1] * 8


def test_the_threads_of_a_walker_depend_on_each_other() -> None:
    media = MediaGen9(scoreboard_enable=True, scoreboard_mask=1, scoreboard_0_delta_x=-1)
    media.kernel(0, CHAIN)
    media.select()
    media.surface(0, FAR_PICTURES + 32, 32, 64, 32)
    media.memory.write(FAR_PICTURES, bytes(32 * 64))
    media.object((), name="MEDIA_OBJECT_WALKER", **raster(8, 1), use_scoreboard=True, scoreboard_mask=1)
    run(media)
    assert [row[0] for row in results(media, 9)][1:] == [1, 2, 3, 4, 5, 6, 7, 8]


# --- indirect data ----------------------------------------------------------------------------------------------------
def test_indirect_data_of_missing_memory_is_zero_and_reported() -> None:
    media = started()
    media.object(WORDS[:1], indirect_data_length=32, indirect_data_start_address=DATA + 0x100000)
    (thread,) = media.run()
    assert thread.data[1] == (0,) * 8
    assert media.device.faults.total


# --- scaling ----------------------------------------------------------------------------------------------------------
def scaled(payload: dict[str, float | int], sharpness: int = 255, shift: int = 0) -> MediaGen9:
    """A thread that sends sample_8x8 of a ramp, whose table 0 has one tap of 1 in x, and linear taps in y."""
    words = [0, 0, 0, 0, 0, 0, 0, 0]
    for index, value in {2: 0.25, 4: 1 / 64, 5: 1 / 32}.items():
        words[index] = struct.unpack("<I", struct.pack("<f", value))[0]
    words[7] = payload.get("flags", 1 << 27)
    media = MediaGen9()
    text = "mov(8) g16<1>UD g0<8,8,1>UD { align1 WE_all 1Q };\nmov(1) g16.2<1>UD 0x0000d000UD { align1 WE_all 1N };\n"
    text += "mov(8) g17<1>UD g1<8,8,1>UD { align1 WE_all 1Q };\n"
    sample = operand("SAMPLER_MESSAGE", Gen.SKL, length=2, response=4, header_present=True, simd_mode="SIMD32_64",
                     message_type=SAMPLE_8X8)
    text += f"send(8) g21<1>UW g16<8,8,1>UD {sample} sampler {{ align1 WE_all 1Q }};\n"
    text += block_header(20, "0UD", "0UD", 32, 4) + media_block(True, 1, 20, 4) + END
    media.kernel(0, text, sampler_state_pointer=0x4000)
    media.select()
    phases = []
    for phase in range(32):
        taps = {f"table_0x_filter_coefficient_{3 + shift}": 64 / 64,
                "table_0y_filter_coefficient_3": (64 - phase) / 64, "table_0y_filter_coefficient_4": phase / 64}
        phases.append(media.catalogue.block("AVS_COEFFICIENTS").pack(media.gen, **taps))
    media.memory.write(media.far + DYNAMIC + 0x4000, media.build(
        "SAMPLER_8x8", default_sharpness_level=sharpness, bypass_x_adaptive_filtering=True,
        bypass_y_adaptive_filtering=True, coefficients=phases[:17], more_coefficients=phases[17:]))
    media.media_surface(0, FAR_PICTURES, 64, 32, 64)
    media.memory.write(FAR_PICTURES, bytes(x + 3 * y for y in range(32) for x in range(64)))
    media.surface(1, FAR_PICTURES + 0x10000, 32, 4, 32)
    media.object(words)
    media.run()
    return media


def values(media: MediaGen9) -> list[list[float]]:
    """Rows of 16 pixels, from 8.8 fixed point."""
    rows = media.rows(FAR_PICTURES + 0x10000, 32, 4, 32)
    return [[value / 256 for value in struct.unpack("<16H", bytes(row))] for row in rows]


def test_video_is_scaled_with_the_taps_of_the_table() -> None:
    media = scaled({})
    assert media.complaints() == []
    assert values(media) == [[16 + x + 3 * y for x in range(16)] for y in range(4)]
    assert values(scaled({}, shift=2)) == [[18 + x + 3 * y for x in range(16)] for y in range(4)]


def test_without_sharpness_only_the_nearest_texels_count() -> None:
    assert values(scaled({}, sharpness=0, shift=2)) == [[16 + x + 3 * y for x in range(16)] for y in range(4)]


@pytest.mark.parametrize("flags", [0, 1 << 27 | 2 << 25])
def test_the_enhancement_filter_and_other_blocks_are_reported(flags: int) -> None:
    assert any("modelled" in complaint for complaint in scaled({"flags": flags}).complaints())
