"""Live registers of kernels, counted by hand."""

from __future__ import annotations

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from gen4emu.isa.liveness import live_registers
from tests.harness.messages import urb_write

END = f"send(8) 0 null<1>F g0<8,8,1>F {urb_write(4, swizzle='TRANSPOSE', offset=4)} urb {{ align1 EOT }};"
GEN4 = pytest.mark.parametrize("gen", [Gen.CL, Gen.EL])
RT_WRITE = "sendc(16) null<1>UW g119<0,1,0>UD 0x90031000 render MsgDesc: RT write SIMD16 LastRT Surface = 0 mlen 8 " \
           "rlen 0 { align1 1H EOT };"


def live(gen: Gen, *lines: str, end: str = END) -> list[int] | None:
    found = live_registers(assemble("\n".join((*lines, end)), gen), gen)
    return None if found is None else list(found.values())


@GEN4
def test_a_register_is_live_from_its_write_to_its_last_read(gen: Gen) -> None:
    assert live(gen, "mov(8) g2<1>F 1F { align1 };",
                "mov(8) g3<1>F 2F { align1 };",
                "add(8) g4<1>F g2<8,8,1>F g3<8,8,1>F { align1 };",
                "add(8) g5<1>F g4<8,8,1>F g4<8,8,1>F { align1 };") == [1, 2, 3, 2, 1]


@GEN4
def test_an_element_that_is_read_as_a_scalar_is_live_like_others(gen: Gen) -> None:
    assert live(gen, "mov(8) g2<1>F 1F { align1 };",
                "add(8) g4<1>F g2<8,8,1>F g3<0,1,0>F { align1 };") == [2, 3, 1]


@GEN4
def test_a_part_of_a_register_keeps_the_others_alive(gen: Gen) -> None:
    """The first mov writes channels 0 to 3 of g2 only, so that the others come from the payload."""
    assert live(gen, "mov(4) g2<1>F 1F { align1 };",
                "add(8) g4<1>F g2<8,8,1>F g2<8,8,1>F { align1 };") == [2, 2, 1]
    assert live(gen, "mov(4) g2<1>F 1F { align1 };",
                "add(4) g4<1>F g2<4,4,1>F g2<4,4,1>F { align1 };") == [1, 2, 1]


@GEN4
def test_a_write_with_a_predicate_ends_nothing(gen: Gen) -> None:
    assert live(gen, "(+f0) mov(8) g2<1>F 1F { align1 };",
                "add(8) g4<1>F g2<8,8,1>F g2<8,8,1>F { align1 };") == [2, 2, 1]
    assert live(gen, "(+f0) sel(8) g2<1>F g3<8,8,1>F 1F { align1 };",
                "add(8) g4<1>F g2<8,8,1>F g2<8,8,1>F { align1 };") == [2, 2, 1]


@GEN4
def test_live_registers_are_unknown_where_any_register_may_be_read(gen: Gen) -> None:
    assert live(gen, "mov(8) g4<1>F g[a0]<8,8,1>F { align1 };") is None


@GEN4
def test_code_behind_the_end_of_the_kernel_has_no_count(gen: Gen) -> None:
    assert live(gen, END, "mov(8) g2<1>F g3<8,8,1>F { align1 };") == [1]


@GEN4
def test_what_a_loop_reads_again_is_live_to_its_end(gen: Gen) -> None:
    """g2 is read in the next round, g5 once after the loop."""
    lines = ("again:", "add(8) g3<1>F g2<8,8,1>F 1F { align1 };", "mov(8) g5<1>F g3<8,8,1>F { align1 };",
             "(+f0) jmpi(1) again:D { align1 };", "mov(8) g6<1>F g5<8,8,1>F { align1 };")
    assert live(gen, *lines) == [2, 3, 3, 2, 1]


@pytest.mark.parametrize("gen", [Gen.SKL, Gen.KBL])
def test_payloads_and_responses_are_ranges_of_registers(gen: Gen) -> None:
    """Coordinates from planes and barycentrics, a lookup of four registers, a write of eight."""
    assert live(gen, "pln(16) g16<1>F g6<0,1,0>F g2<8,8,1>F { align1 1H compacted };",
                "pln(16) g18<1>F g6.4<0,1,0>F g2<8,8,1>F { align1 1H compacted };",
                "send(16) g119<1>UW g16<0,1,0>UD 0x08840001 sampler MsgDesc: sample SIMD16 Surface = 1 Sampler = 0 "
                "mlen 4 rlen 8 { align1 1H };", end=RT_WRITE) == [5, 7, 4, 8]


@pytest.mark.parametrize("gen", [Gen.SKL, Gen.KBL])
def test_both_parts_of_a_split_send_are_read(gen: Gen) -> None:
    assert live(gen, "mov(8) g118<1>F g7<8,8,1>F { align1 1Q };",
                end="sends(8) nullUD g126UD g118UD 0x02080017 0x00000200 urb MsgDesc: offset 1 SIMD8 write mlen 1 "
                    "ex_mlen 8 rlen 0 { align1 1Q EOT };") == [9, 9]
