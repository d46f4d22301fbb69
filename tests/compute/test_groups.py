"""Thread groups of Gen7 and Gen9: payloads, barriers, shared local memory (IVB PRM vol. 2 part 2)."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu.device.device import EuHang
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.media import SimdSize
from gen4emu.hw.gen7.pipeline import RoundingMode
from gen4emu.isa.encodings import encoding_of
from tests.harness.compute import BARRIER, DYNAMIC, INDIRECT, SCRATCH, SHARED, Compute
from tests.harness.group_kernels import LANES, offset, per_thread, reversed_through_shared_memory, rows
from tests.harness.messages import operand
from tests.harness.parts import names

DEVICES = pytest.mark.parametrize("device", names(Gen.GEN7 | Gen.GEN75 | Gen.GEN9))


@DEVICES
def test_groups_are_numbered_from_the_start_to_the_end(device: str) -> None:
    machine = Compute(device)
    # 64 bytes for each group (x, y, z): its numbers, added to a place of its own
    kernel = LANES + """
mul(8) g20<1>UD g0.1<0,1,0>UD 32UW { align1 1Q };
mul(8) g21<1>UD g0.6<0,1,0>UD 128UW { align1 1Q };
mul(8) g22<1>UD g0.7<0,1,0>UD 512UW { align1 1Q };
add(8) g20<1>UD g20<8,8,1>UD g21<8,8,1>UD { align1 1Q };
add(8) g20<1>UD g20<8,8,1>UD g22<8,8,1>UD { align1 1Q };
add(8) g20<1>UD g20<8,8,1>UD g11<8,8,1>UD { align1 1Q };
mov(8) g21<1>UD 1UD { align1 1Q };
""" + machine.add(30, 20)
    machine.dispatch(kernel, (3, 2, 2), starts=(1, 0, 1))
    groups = {(x, y, z) for z in range(4) for y in range(4) for x in range(4)
              if machine.dwords(x * 8 + y * 32 + z * 128, 8) == [1] * 8}
    assert groups == {(x, y, 1) for x in (1, 2) for y in (0, 1)}
    assert sum(machine.dwords(0, 1024)) == 4 * 8


@DEVICES
@pytest.mark.parametrize("groups", [(3, 0, 2), (0, 0xFFFFFFFF, 0xFFFFFFFF)])
def test_a_group_without_threads_in_one_direction_dispatches_nothing(groups: tuple[int, int, int],
                                                                     device: str) -> None:
    machine = Compute(device)
    machine.dispatch(LANES + "mov(8) g12<1>UD 1UD { align1 1Q };\n" + machine.store(11), groups)
    assert not any(machine.dwords(0, 64))


@DEVICES
def test_the_last_thread_across_has_the_right_mask(device: str) -> None:
    """2x3x1 groups of 3 threads of 16 channels, mask 0xff: 18 threads, the last of each group with 8."""
    machine = Compute(device)
    kernel = LANES + offset(20, 64) + """
add(8) g22<1>UD g20<8,8,1>UD 32UD { align1 WE_all 2Q };
mov(8) g21<1>UD 1UD { align1 WE_all 1Q };
mov(8) g23<1>UD 1UD { align1 WE_all 1Q };
""" + machine.add(30, 20) + machine.add(31, 22).replace("1Q", "2Q")
    machine.dispatch(kernel, (2, 3, 1), 3, simd=SimdSize.SIMD16, mask=0xFF, constants=rows(3), **per_thread(device))
    assert machine.dwords(0, 48) == [6] * 40 + [0] * 8
    assert machine.register("CS_INVOCATION_COUNT") == 6 * 40


def test_constants_are_a_row_for_each_thread_from_the_offset_on() -> None:
    machine = Compute("ivb")
    kernel = LANES + offset(20, 32) + "mov(8) g21<1>UD g2<8,8,1>UD { align1 1Q };\n" + machine.store(20)
    data = [[9], *(row for t in range(3) for row in ([t], [10 * t + i for i in range(8)]))]
    machine.dispatch(kernel, (1, 1, 1), 3, constants=data, constant_urb_entry_read_length=2,
                     constant_urb_entry_read_offset=1)
    assert machine.dwords(0, 24) == [10 * t + i for t in range(3) for i in range(8)]


@DEVICES
@pytest.mark.parametrize(("mode", "expected"), [
    (RoundingMode.RTNE, 0x3F800000), (RoundingMode.RU, 0x3F800001), (RoundingMode.RTZ, 0x3F800000)])
def test_threads_round_as_their_descriptor_says(device: str, mode: RoundingMode, expected: int) -> None:
    machine = Compute(device)
    kernel = LANES + """
mov(8) g20<1>F 0x33000000F { align1 1Q };
add(8) g21<1>F g20<8,8,1>F 0x3f800000F { align1 1Q };
mov(8) g20<1>UD g11<8,8,1>UD { align1 1Q };
""" + machine.store(20)
    machine.dispatch(kernel, rounding_mode=mode)
    assert machine.dwords(0, 8) == [expected] * 8


@DEVICES
def test_subroutines_return_to_addresses_as_ip_has_them(device: str) -> None:
    """The second return is to an address that the kernel has computed from ip."""
    machine = Compute(device)
    unit = encoding_of(machine.gen).jmpi_unit  # of call, too
    kernel = LANES + f"""
mov(8) g21<1>UD 1UD {{ align1 1Q }};
mov(1) g22<1>UD ip<0,1,0>UD {{ align1 WE_all 1N }};
call(8) g20<1>D g0<8,8,1>D {48 // unit}D {{ align1 1Q }};
add(8) g21<1>UD g21<8,8,1>UD 0x100UD {{ align1 1Q }};
add(1) g20<1>UD g22<0,1,0>UD 112UD {{ align1 WE_all 1N }};
add(8) g21<1>UD g21<8,8,1>UD 0x10UD {{ align1 1Q }};
ret(8) null<1>D g20<2,2,1>D {{ align1 1Q }};
add(8) g21<1>UD g21<8,8,1>UD 0x1000UD {{ align1 1Q }};
add(1) g21<1>D g20<0,1,0>D -g22<0,1,0>D {{ align1 WE_all 1N }};
mov(8) g20<1>UD g11<8,8,1>UD {{ align1 1Q }};
""" + machine.store(20)
    machine.dispatch(kernel)
    assert machine.dwords(0, 8) == [112, *[0x121] * 7]


@pytest.mark.parametrize("device", ["hsw", "kbl"])
def test_constants_of_all_threads_come_first(device: str) -> None:
    machine = Compute(device)
    kernel = LANES + """
mul(8) g20<1>UD g3<0,1,0>UD 32UW { align1 1Q };
add(8) g20<1>UD g20<8,8,1>UD g11<8,8,1>UD { align1 1Q };
add(8) g21<1>UD g1<8,8,1>UD g2<8,8,1>UD { align1 1Q };
""" + machine.store(20)
    data = [list(range(8)), [100] * 8, *rows(3)]
    machine.dispatch(kernel, (1, 1, 1), 3, constants=data, constant_urb_entry_read_length=1,
                     cross_thread_constant_data_read_length=2)
    assert machine.dwords(0, 24) == [100 + i for _ in range(3) for i in range(8)]


@pytest.mark.parametrize("device", names(Gen.GEN9))
def test_indirect_data_take_the_place_of_constants(device: str) -> None:
    """A payload has the rows of its thread first, then those that all threads share."""
    machine = Compute(device)
    kernel = LANES + """
mul(8) g20<1>UD g1<0,1,0>UD 32UW { align1 1Q };
add(8) g20<1>UD g20<8,8,1>UD g11<8,8,1>UD { align1 1Q };
add(8) g21<1>UD g2<8,8,1>UD g3<8,8,1>UD { align1 1Q };
""" + machine.store(20)
    data = [list(range(8)), [100] * 8, *([t, *[0] * 7] for t in range(3))]
    start = machine.far + INDIRECT
    machine.memory.write(start + 64, np.array(data, np.uint32).tobytes())
    base = machine.command("STATE_BASE_ADDRESS", indirect_object_base_address=start,
                           indirect_object_base_address_modify_enable=True, indirect_object_buffer_size=0x10000,
                           indirect_object_buffer_size_modify_enable=True)
    batch = machine.state(kernel, constants=[[9] * 8] * 5, number_of_threads_in_gpgpu_thread_group=3,
                          constant_urb_entry_read_length=1, cross_thread_constant_data_read_length=2)
    machine.run(batch + base + machine.walker((1, 1, 1), 3, indirect_data_start_address=64,
                                              indirect_data_length=160))
    assert machine.dwords(0, 24) == [100 + i for _ in range(3) for i in range(8)]


@pytest.mark.parametrize("length", [1, 33, 0x1FFFF])
def test_indirect_data_that_nothing_maps_are_zero(length: int) -> None:
    machine = Compute("kbl")
    kernel = LANES + """
mov(8) g20<1>UD g11<8,8,1>UD { align1 1Q };
or(8) g21<1>UD g1<8,8,1>UD g2<8,8,1>UD { align1 1Q };
""" + machine.store(20)
    machine.dispatch(kernel, constants=[[9] * 8] * 2, constant_urb_entry_read_length=1,
                     cross_thread_constant_data_read_length=1,
                     walker={"indirect_data_length": length, "indirect_data_start_address": 0xFFFFFFC0})
    assert machine.dwords(0, 8) == [0] * 8


# --- barriers and shared local memory ---------------------------------------------------------------------------------
@DEVICES
def test_offsets_in_shared_local_memory_have_16_bits(device: str) -> None:
    machine = Compute(device)
    kernel = LANES + f"""
add(8) g20<1>UD g11<8,8,1>UD 0x10000000UD {{ align1 1Q }};
mov(8) g21<1>UD 5UD {{ align1 1Q }};
{machine.store(20, SHARED)}
{machine.add(30, 20, SHARED)}
{machine.load(21, 11, SHARED)}
mov(8) g20<1>UD g11<8,8,1>UD {{ align1 1Q }};
{machine.store(20)}"""
    machine.dispatch(kernel)
    assert machine.dwords(0, 8) == [10] * 8


@DEVICES
@pytest.mark.parametrize("threads", [2, 8, 9, 20, 64])
def test_threads_wait_for_all_others_of_their_group(device: str, threads: int) -> None:
    machine = Compute(device)
    machine.dispatch(reversed_through_shared_memory(machine, threads), (1, 1, 1), threads, constants=rows(threads),
                     **per_thread(device))
    assert machine.dwords(0, 8 * threads) == [100 + threads - 1 - t for t in range(threads) for _ in range(8)]


@pytest.mark.parametrize("device", ["ivb", "kbl"])
def test_barriers_follow_each_other(device: str) -> None:
    """Twenty threads add to shared memory in turns: what one sees is what all have added before the last barrier."""
    machine, threads = Compute(device), 20
    turn = f"""
mov(8) g21<1>UD 1UD {{ align1 1Q }};
{machine.add(30, 11 + 3, SHARED)}
{BARRIER}
{machine.load(31, 14, SHARED)}
{BARRIER}
add(8) g32<1>UD g32<8,8,1>UD g31<8,8,1>UD {{ align1 1Q }};
"""
    kernel = (LANES + "mov(8) g14<1>UD g11<8,8,1>UD { align1 1Q };\nmov(8) g15<1>UD 1UD { align1 1Q };\n"
              "mov(8) g32<1>UD 0UD { align1 1Q };\n" + turn * 3 + offset(20, 32)
              + "mov(8) g21<1>UD g32<8,8,1>UD { align1 1Q };\n" + machine.store(20))
    machine.dispatch(kernel, (1, 1, 1), threads, constants=rows(threads), **per_thread(device))
    assert machine.dwords(0, 8 * threads) == [20 + 40 + 60] * 8 * threads


@pytest.mark.parametrize("device", ["ivb", "kbl"])
def test_threads_that_wait_for_one_that_has_ended_hang(device: str) -> None:
    machine = Compute(device)
    kernel = (LANES + "cmp.z.f0.0(8) null<1>UD g1<0,1,0>UD 0UD { align1 1Q };\n"
              "(+f0.0) jmpi(1) without:D { align1 WE_all 1N };\n" + BARRIER + "\nwithout:")
    with pytest.raises(EuHang, match=r"threads do not end \(unit TS"):
        machine.dispatch(kernel, (1, 1, 1), 3, constants=rows(3), **per_thread(device))


@DEVICES
def test_shared_memory_is_zero_for_every_group_and_ends_with_its_size(device: str) -> None:
    machine = Compute(device)
    kernel = LANES + """
mul(8) g20<1>UD g0.1<0,1,0>UD 32UW { align1 1Q };
add(8) g20<1>UD g20<8,8,1>UD g11<8,8,1>UD { align1 1Q };
mov(8) g24<1>UD g11<8,8,1>UD { align1 1Q };
add(8) g24<1>UD g24<8,8,1>UD 8176UD { align1 1Q };
mov(8) g25<1>UD 7UD { align1 1Q };
""" + machine.add(21, 24, SHARED) + machine.add(21, 24, SHARED) + machine.store(20)
    machine.dispatch(kernel, (3, 1, 1), **machine.shared(8))
    assert machine.dwords(0, 24) == [7, 7, 7, 7, 0, 0, 0, 0] * 3


@pytest.mark.parametrize("device", ["ivb", "kbl"])
def test_without_shared_memory_reads_return_zero(device: str) -> None:
    machine = Compute(device)
    kernel = (LANES + "mov(8) g24<1>UD g11<8,8,1>UD { align1 1Q };\nmov(8) g25<1>UD 7UD { align1 1Q };\n"
              + machine.store(24, SHARED) + machine.load(12, 24, SHARED) + machine.store(11))
    machine.dispatch(kernel, **machine.shared(0))
    assert machine.dwords(0, 8) == [0] * 8


# --- order ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("device", ["ivb", "kbl"])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_what_atomics_return_does_not_depend_on_the_number_of_workers(workers: int, device: str) -> None:
    machine = Compute(device, workers=workers)
    kernel = LANES + """
mul(8) g20<1>UD g0.1<0,1,0>UD 32UW { align1 1Q };
add(8) g20<1>UD g20<8,8,1>UD g11<8,8,1>UD { align1 1Q };
mov(8) g24<1>UD 4096UD { align1 1Q };
mov(8) g25<1>UD 1UD { align1 1Q };
""" + machine.add(21, 24) + machine.store(20)
    machine.dispatch(kernel, (100, 1, 1))
    assert machine.dwords(0, 800) == list(range(800))


@pytest.mark.parametrize("device", ["hsw", "kbl"])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_last_group_that_writes_to_a_place_wins_with_any_number_of_workers(workers: int, device: str) -> None:
    machine = Compute(device, workers=workers)
    kernel = LANES + """
mov(8) g20<1>UD g11<8,8,1>UD { align1 1Q };
mov(8) g21<1>UD g0.1<0,1,0>UD { align1 1Q };
""" + machine.store(20)
    machine.dispatch(kernel, (300, 1, 1))
    assert machine.dwords(0, 8) == [299] * 8
    assert machine.register("CS_INVOCATION_COUNT") == 2400


# --- scratch, walkers -------------------------------------------------------------------------------------------------
@DEVICES
def test_threads_have_scratch_space_of_their_own(device: str) -> None:
    machine = Compute(device)
    logarithm = {"hsw": 0, "skl": 1, "kbl": 1}  # of the size, from 2 KiB and from 1 KiB on
    size = {"per_thread_scratch_space": logarithm.get(device, 2048)}
    write = operand("DATA_CACHE_DATA_PORT_MESSAGE", Gen.IVB, length=2, header_present=True, scratch=True,
                    scratch_operation="WRITE", scratch_unit="DWORD")
    kernel = LANES + f"""
mov(8) g40<1>UD g0<8,8,1>UD {{ align1 WE_all 1Q }};
mov(8) g41<1>UD g1<0,1,0>UD {{ align1 1Q }};
send(8) null<1>UW g40<8,8,1>UD {write} data {{ align1 1Q }};
"""
    machine.dispatch(kernel, (1, 1, 1), 4, constants=rows(4), **per_thread(device),
                     scratch={"scratch_space_base_pointer": SCRATCH, **size})
    assert [machine.dwords(512 * t, 1, SCRATCH) for t in range(4)] == [[t] for t in range(4)]


@pytest.mark.parametrize("device", ["hsw", "kbl"])
def test_walkers_take_dimensions_from_registers_and_obey_the_predicate(device: str) -> None:
    machine = Compute(device)
    kernel = LANES + "mov(8) g12<1>UD 1UD { align1 1Q };\n" + machine.add(30, 11)
    for axis, groups in zip("XYZ", (2, 3, 1), strict=True):
        machine.set_register(f"GPGPU_DISPATCHDIM{axis}", groups)
    machine.dispatch(kernel, walker={"indirect_parameter_enable": True})
    assert machine.dwords(0, 1) == [6]
    machine.set_register("MI_PREDICATE_RESULT", 0)
    machine.dispatch(kernel, walker={"predicate_enable": True})
    assert machine.dwords(0, 1) == [6]
    machine.set_register("MI_PREDICATE_RESULT", 1)
    machine.dispatch(kernel, walker={"predicate_enable": True})
    assert machine.dwords(0, 1) == [7]


@pytest.mark.parametrize("device", ["ivb", "kbl"])
def test_constants_and_descriptors_are_read_when_their_commands_come(device: str) -> None:
    machine = Compute(device)
    batch = machine.state(LANES + "mov(8) g12<1>UD g1<8,8,1>UD { align1 1Q };\n" + machine.store(11),
                          constants=[[1, 2, 3, 4, 5, 6, 7, 8]], constant_urb_entry_read_length=1)
    machine.run(batch)
    machine.memory.write(machine.far + DYNAMIC, bytes(0x2000))
    machine.run(machine.walker())
    assert machine.dwords(0, 8) == [1, 2, 3, 4, 5, 6, 7, 8]


@DEVICES
def test_the_last_thread_of_32_channels_has_the_right_mask(device: str) -> None:
    """Two groups of two threads; each quarter of a thread adds to a place of its own."""
    machine = Compute(device)
    quarters = "".join(f"add(8) g{20 + 2 * q}<1>UD g16<8,8,1>UD {32 * q}UD {{ align1 WE_all 1Q }};\n"
                       f"mov(8) g{21 + 2 * q}<1>UD 1UD {{ align1 WE_all 1Q }};\n"
                       + machine.add(30 + q, 20 + 2 * q).replace("1Q", f"{q + 1}Q") + "\n" for q in range(4))
    machine.dispatch(LANES + offset(16, 128) + quarters, (2, 1, 1), 2, simd=SimdSize.SIMD32, mask=0x0103FF80,
                     constants=rows(2), **per_thread(device))
    last = [2 * (0x0103FF80 >> c & 1) for c in range(32)]
    assert machine.dwords(0, 64) == [2] * 32 + last
    assert machine.register("CS_INVOCATION_COUNT") == 2 * (32 + 12)


def test_a_reserved_number_of_channels_is_reported() -> None:
    machine = Compute("ivb")
    machine.dispatch(LANES, simd=3)
    assert machine.findings == ["GPGPU_WALKER of 0 channels or threads is not executed"]
