"""Flow control of gangs: masks and their stacks, groups that split and merge."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.harness.compute import end
from tests.harness.probe import Event, Probe, Status

PARTS = pytest.mark.parametrize("gen", [Gen.BW, Gen.EL])
CHANNELS = np.arange(8)


def counting_loop(probe: Probe, limits: list[list[int]]) -> list[list[int]]:
    """Each channel counts up to its own limit: do, cmp, break, add, while."""
    probe.start(len(limits), 0xFF)
    for t, row in enumerate(limits):
        probe.grf(2, t)[:] = row
    probe.run_to_end("""
        do(8) { align1 };
    L_top:
        cmp.ge.f0.0(8) null<1>D g3<8,8,1>D g2<8,8,1>D { align1 };
        (+f0.0) break(8) Jump: L_end Pop: 0 { align1 };
        add(8) g3<1>D g3<8,8,1>D 1D { align1 };
        while(8) Jump: L_top { align1 };
    L_end:
        add(8) g4<1>D g3<8,8,1>D 100D { align1 };
    """)
    assert all((probe.grf(4, t) == probe.grf(3, t) + 100).all() for t in range(len(limits)))
    return [[int(x) for x in probe.grf(3, t)] for t in range(len(limits))]


@PARTS
def test_each_channel_leaves_a_loop_when_it_is_done(gen: Gen) -> None:
    limits = [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert counting_loop(Probe(gen), limits) == limits


@PARTS
def test_threads_that_loop_longer_than_others_merge_with_them_afterwards(gen: Gen) -> None:
    limits = [[(t * 7 + c * 3) % 11 for c in range(8)] for t in range(8)]
    assert counting_loop(Probe(gen), limits) == limits


@PARTS
def test_if_and_else_split_channels_and_endif_merges_them(gen: Gen) -> None:
    probe = Probe(gen)
    probe.start(2, 0xFF)
    probe.set_flags(0x2A, 0)
    probe.set_flags(0x00, 1)  # no channel: the jump to else is taken
    probe.run_to_end("""
        (+f0.0) if(8) Jump: L_else { align1 };
        mov(8) g2<1>D 1D { align1 };
    L_else:
        else(8) Jump: L_end Pop: 1 { align1 };
        mov(8) g2<1>D 2D { align1 };
        endif(8) Pop: 1 { align1 };
    L_end:
        add(8) g2<1>D g2<8,8,1>D 10D { align1 };
        mov(1) g3<1>UD msd0<0,1,0>UD { align1 nomask };
    """)
    assert list(probe.grf(2, 0)) == [12, 11, 12, 11, 12, 11, 12, 12]
    assert list(probe.grf(2, 1)) == [12] * 8
    assert probe.grf(3, 0)[0] == 0 and probe.grf(3, 1)[0] == 0  # stacks are empty again


def test_iff_pushes_nothing_when_it_jumps() -> None:
    probe = Probe()
    probe.start(2, 0xFF)
    probe.set_flags(0xF0, 1)
    probe.run_to_end("""
        (+f0.0) iff(8) Jump: L_end { align1 };
        mov(8) g2<1>D 1D { align1 };
        endif(8) Pop: 1 { align1 };
    L_end:
        mov(1) g3<1>UD msd0<0,1,0>UD { align1 nomask };
        add(8) g2<1>D g2<8,8,1>D 10D { align1 };
    """)
    assert list(probe.grf(2, 0)) == [10] * 8
    assert list(probe.grf(2, 1)) == [10] * 4 + [11] * 4
    assert probe.grf(3, 0)[0] == 0 and probe.grf(3, 1)[0] == 0


def test_cont_skips_the_rest_of_one_iteration_only() -> None:
    """Channels with an odd count continue before the sum; break inside an if pops its mask."""
    probe = Probe()
    probe.start(3, 0xFF)
    for t in range(3):
        probe.grf(2, t)[:] = [(t + c) % 6 for c in range(8)]
    probe.run_to_end("""
        do(8) { align1 };
    L_top:
        cmp.ge.f0.0(8) null<1>D g3<8,8,1>D g2<8,8,1>D { align1 };
        (+f0.0) if(8) Jump: L_more { align1 };
        break(8) Jump: L_end Pop: 1 { align1 };
    L_more:
        endif(8) Pop: 1 { align1 };
        add(8) g3<1>D g3<8,8,1>D 1D { align1 };
        and.nz.f0.0(8) null<1>D g3<8,8,1>D 1D { align1 };
        (+f0.0) cont(8) Jump: L_while Pop: 0 { align1 };
        add(8) g4<1>D g4<8,8,1>D g3<8,8,1>D { align1 };
    L_while:
        while(8) Jump: L_top { align1 };
    L_end:
        mov(1) g5<1>UD msd0<0,1,0>UD { align1 nomask };
    """)
    for t in range(3):
        limits = [(t + c) % 6 for c in range(8)]
        assert list(probe.grf(3, t)) == limits
        assert list(probe.grf(4, t)) == [sum(range(0, n + 1, 2)) for n in limits]
        assert probe.grf(5, t)[0] == 0


def test_predicated_while_drops_channels_whose_predicate_is_false() -> None:
    probe = Probe()
    probe.start(2, 0xFF)
    for t in range(2):
        probe.grf(2, t)[:] = [1 + (c + t) % 4 for c in range(8)]
    probe.run_to_end("""
        do(8) { align1 };
    L_top:
        add(8) g3<1>D g3<8,8,1>D 1D { align1 };
        cmp.l.f0.0(8) null<1>D g3<8,8,1>D g2<8,8,1>D { align1 };
        (+f0.0) while(8) Jump: L_top { align1 };
    """)
    for t in range(2):
        assert list(probe.grf(3, t)) == [1 + (c + t) % 4 for c in range(8)]


def test_the_dispatch_mask_restores_halted_channels() -> None:
    probe = Probe()
    probe.start(1, 0xFF)
    probe.set_flags(0x0F)
    probe.run_to_end("""
        (+f0.0) halt(8) Jump: L_join { align1 };
        mov(8) g2<1>D 1D { align1 };
    L_join:
        halt(8) Jump: L_all { align1 };
    L_all:
        mov(1) mask0<1>UW sr0.2<0,1,0>UW { align1 nomask switch };
        add(8) g2<1>D g2<8,8,1>D 10D { align1 };
    """)
    assert list(probe.grf(2)) == [10] * 4 + [11] * 4


@PARTS
def test_jmpi_counts_from_the_next_instruction(gen: Gen) -> None:
    """By an immediate, and by a register with a different count in each thread."""
    probe = Probe(gen)
    probe.start(4, 0xFF)
    for t in range(4):
        probe.grf(2, t)[0] = t
    probe.run_to_end("""
        jmpi(1) g2<0,1,0>D { align1 nomask };
        add(8) g3<1>D g3<8,8,1>D 1D { align1 };
        add(8) g3<1>D g3<8,8,1>D 2D { align1 };
        add(8) g3<1>D g3<8,8,1>D 4D { align1 };
        jmpi(1) L_end:D { align1 nomask };
        mov(8) g3<1>D 99D { align1 };
    L_end:
        add(8) g3<1>D g3<8,8,1>D 8D { align1 };
    """)
    assert [probe.grf(3, t)[0] for t in range(4)] == [15, 14, 12, 8]


@pytest.mark.parametrize("gen", [Gen.BW, Gen.EL, Gen.IVB, Gen.KBL])
def test_code_that_was_not_decoded_may_jump_to_itself(gen: Gen) -> None:
    """Kernels are decoded up to 64 KiB."""
    nop = assemble("nop { align1 };", gen)
    probe = Probe(gen)
    probe.load(nop * ((1 << 16) // len(nop)) + assemble("L_self: jmpi(1) L_self:D { align1 nomask };", gen))
    assert probe.run() is Status.HANG
    assert probe.instructions == 1_000_000  # what the watchdog allows


def test_ip_reads_as_the_address_of_the_instruction_and_writes_jump() -> None:
    """Call and return of MPEG-2 kernels: mov g ip, add ip g 32; ip is relative to the state base."""
    probe = Probe()
    probe.start(2, 0xFF, general_state_base=0x8000)
    probe.run_to_end("""
        mov(1) g2<1>UD ip<0,1,0>UD { align1 nomask };
        jmpi(1) L_sub:D { align1 nomask };
        add(8) g3<1>D g3<8,8,1>D 1D { align1 };
        jmpi(1) L_end:D { align1 nomask };
    L_sub:
        add(8) g3<1>D g3<8,8,1>D 2D { align1 };
        add(1) ip<1>UD g2<0,1,0>UD 32UD { align1 nomask };
    L_end:
        add(8) g3<1>D g3<8,8,1>D 4D { align1 };
    """)
    assert probe.grf(2)[0] == probe.kernel_address - 0x8000
    assert list(probe.grf(3, 1)) == [7] * 8


def test_clip_kernels_branch_by_adding_to_ip() -> None:
    probe = Probe()
    probe.start(2, 0xF)
    probe.set_flags(1, 1)
    probe.run_to_end("""
        (+f0.0) add(1) ip<1>UD ip<0,1,0>UD 32D { align1 nomask };
        mov(1) g2<1>D 1D { align1 nomask };
        add(1) g2<1>D g2<0,1,0>D 2D { align1 nomask };
    """)
    assert [probe.grf(2, t)[0] for t in range(2)] == [3, 2]


def test_code_before_the_kernel_is_decoded_when_threads_reach_it() -> None:
    probe = Probe()
    probe.start(1, 0xFF, kernel_address=0x20000)
    probe.kernel_address = 0x1FFE0
    probe.load("add(8) g2<1>D g2<8,8,1>D 1D { align1 };\n" + probe.end)
    probe.kernel_address = 0x20000
    probe.run_to_end("""
        add(8) g2<1>D g2<8,8,1>D 2D { align1 };
        add(1) ip<1>UD ip<0,1,0>UD -48D { align1 nomask };
    """)
    assert list(probe.grf(2)) == [3] * 8


def test_code_that_needs_other_registers_is_not_decoded_at_each_instruction() -> None:
    """A loop before the kernel, with 4,096 instructions after it, in threads that do not own their registers."""
    probe = Probe()
    probe.add_parts(True)
    probe.load("""
    L_top:
        add(8) g2<1>D g2<8,8,1>D 1D { align1 };
        cmp.l.f0.0(8) null<1>D g2<8,8,1>D 5000D { align1 };
        (+f0.0) jmpi(1) L_top:D { align1 nomask };
        jmpi(1) L_end:D { align1 nomask };
    """ + "add(8) g100<1>F g100<8,8,1>F g100<8,8,1>F { align1 };\n" * 4096 + "L_end:\n" + probe.end)
    probe.start(kernel_address=probe.kernel_address + 16 * 4101, grf_count=16)
    began = time.process_time()
    probe.run_to_end("add(1) ip<1>UD ip<0,1,0>UD -65616D { align1 nomask };")
    assert list(probe.grf(2)) == [5000] * 8
    assert time.process_time() - began < 2


def test_an_endless_loop_hangs_when_its_budget_is_used_up() -> None:
    probe = Probe(watchdog=1)
    probe.start(8, 0xFFFF)
    endless = "L_top:\nadd(8) g2<1>D g2<8,8,1>D 1D { align1 };\njmpi(1) L_top:D { align1 nomask };"
    assert probe.run(endless) == Status.HANG
    assert probe.instructions == 1_000_000
    assert {probe.grf(2, t)[0] for t in range(8)} == {1_000_000 // 8 // 2}


def test_a_jump_to_itself_after_the_end_of_a_kernel_hangs() -> None:
    probe = Probe(watchdog=1)
    probe.start(1, 0xFFFF)
    assert probe.run("add(1) ip<1>UD ip<0,1,0>UD 0D { align1 nomask };") == Status.HANG


def test_stacks_deeper_than_the_hardware_has_are_reported_and_bounded() -> None:
    probe = Probe()
    probe.start(2, 0xFF)
    pushes = "if(8) Jump: 1 { align1 };\n" * 40
    pops = "endif(8) Pop: 1 { align1 };\n" * 41
    probe.run_to_end(pushes + pops + "mov(8) g2<1>D 1D { align1 };\n")
    assert probe.event(Event.MASK_STACK).count == 2 * (24 + 9)  # 17th to 40th push; 32 entries are kept
    assert list(probe.grf(2)) == [1] * 8


@PARTS
def test_merged_threads_do_not_run_what_others_skip(gen: Gen) -> None:
    """Threads jump over different instructions; each thread executes exactly its own."""
    probe = Probe(gen)
    probe.start(8, 0xFF)
    for t in range(8):
        probe.grf(2, t)[:] = t
    body = ""
    for bit in range(3):
        body += f"""
        and.z.f0.0(1) null<1>D g2<0,1,0>D {1 << bit}D {{ align1 nomask }};
        (+f0.0) jmpi(1) L_{bit}:D {{ align1 nomask }};
        add(8) g3<1>D g3<8,8,1>D {1 << bit}D {{ align1 }};
    L_{bit}:
        """
    probe.run_to_end(body)
    assert [probe.grf(3, t)[5] for t in range(8)] == list(range(8))


@pytest.mark.parametrize("general", [False, True])
def test_channels_join_after_a_break_that_a_single_flow_does_not_take(general: bool) -> None:
    """`else` parks channels 0 to 7 at L_join, right after the break."""
    probe = Probe(Gen.KBL)
    probe.start(1, 0xFFFF, single_program_flow=True)
    probe.load(assemble("""
        else(8) JIP: L_join UIP: L_join { align1 1Q };
        (+f0.0) break(8) JIP: L_end UIP: L_end { align1 1Q };
    L_join:
        add(16) g2<1>D g2<8,8,1>D 1D { align1 1H };
    L_end:
        illegal { align1 };
    """, Gen.KBL))
    probe.run(general_only=general)
    assert [list(probe.grf(r)) for r in (2, 3)] == [[1] * 8] * 2


@pytest.mark.parametrize("general", [False, True])
def test_channels_wait_inside_a_loop_of_code_that_is_reached_later(general: bool) -> None:
    """The `if` of the kernel lets channels 4 to 7 wait at L_join, in a loop that is decoded as a part."""
    probe = Probe(Gen.IVB)
    probe.add_parts(True)
    probe.load(assemble("""
        mov(8) g26<1>UW 0x76543210V { align1 nomask };
        cmp.l.f0.0(8) null<1>UW g26<8,8,1>UW 4UW { align1 nomask };
        (+f0.0) if(8) JIP: L_join UIP: L_join { align1 1Q };
        jmpi(1) L_part:D { align1 nomask };
    """ + end() + "\n" + "nop { align1 };\n" * 4400 + """
    L_part:
        nop { align1 };
    L_top:
        add(8) g24<1>UD g24<8,8,1>UD 1UD { align1 1Q };
        if(8) JIP: L_join UIP: L_join { align1 1Q };
        add(8) g25<1>UD g25<8,8,1>UD 1UD { align1 1Q };
    L_join:
        endif(8) JIP: L_end { align1 1Q };
        cmp.l.f0.0(8) null<1>UD g24<8,8,1>UD 3UD { align1 1Q };
    L_end:
        (+f0.0) while(8) JIP: L_top { align1 1Q };
    """ + end() + "\n", Gen.IVB))
    probe.start(1, 0xFF)
    probe.run_to_end(general_only=general)
    assert list(probe.grf(24)) == [3] * 8
