"""Live registers of kernels, counted by hand.  R0, the payload of the last message, is live everywhere."""

from __future__ import annotations

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from gen4emu.report.kernel_lines import live_registers
from tests.harness.messages import urb_write

END = f"send(8) 0 null<1>F g0<8,8,1>F {urb_write(4, swizzle='TRANSPOSE', offset=4)} urb {{ align1 EOT }};"
GENS = (Gen.CL, Gen.EL)


def live(gen: Gen, *lines: str) -> dict[int, int] | None:
    return live_registers(assemble("\n".join((*lines, END)), gen), gen)


@pytest.mark.parametrize("gen", GENS)
def test_a_register_is_live_from_its_write_to_its_last_read(gen: Gen) -> None:
    assert live(gen, "mov(8) g2<1>F 1F { align1 };",
                "mov(8) g3<1>F 2F { align1 };",
                "add(8) g4<1>F g2<8,8,1>F g3<8,8,1>F { align1 };",
                "add(8) g5<1>F g4<8,8,1>F g4<8,8,1>F { align1 };") == {0: 1, 16: 2, 32: 3, 48: 2, 64: 1}


@pytest.mark.parametrize("gen", GENS)
def test_a_register_that_is_read_as_a_scalar_counts_everywhere(gen: Gen) -> None:
    assert live(gen, "mov(8) g2<1>F 1F { align1 };",
                "add(8) g4<1>F g2<8,8,1>F g3<0,1,0>F { align1 };") == {0: 2, 16: 3, 32: 2}


@pytest.mark.parametrize("gen", GENS)
def test_live_registers_are_unknown_where_any_register_may_be_read(gen: Gen) -> None:
    assert live(gen, "mov(8) g4<1>F g[a0]<8,8,1>F { align1 };") is None


@pytest.mark.parametrize("gen", GENS)
def test_code_behind_the_end_of_the_kernel_has_no_count(gen: Gen) -> None:
    assert live(gen, END, "mov(8) g2<1>F g3<8,8,1>F { align1 };") == {0: 1}
