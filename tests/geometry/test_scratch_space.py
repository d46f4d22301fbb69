"""Scratch space of threads of the geometry stages: no thread may find there what another one has written."""

from __future__ import annotations

import pytest

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.messages import UrbOpcodeGen7
from tests.harness.commands import Words
from tests.harness.messages import operand
from tests.harness.stages_gen7 import Stages, bits, clear, put, start, urb, write_row
from tests.harness.tessellation import DOMAIN, END

DEVICES = ("ivb", "hsw")
# of one register, by a channel mask and whole
SCRATCH_WRITE = operand("DATA_CACHE_DATA_PORT_MESSAGE", Gen.IVB, length=2, header_present=True, scratch=True,
                        scratch_operation="WRITE", scratch_unit="DWORD")
SCRATCH_READ = operand("DATA_CACHE_DATA_PORT_MESSAGE", Gen.IVB, response=1, header_present=True, scratch=True,
                       scratch_operation="READ")
SCRATCH = {"scratch_space_base_pointer": 0x100000, "per_thread_scratch_space": 0}
POINTS, PATCHES_OF_1 = 1, 0x20
OBJECTS = 4096
THREADS = 8
ROUNDS = 200  # so many that threads of several workers run at the same time even if there is one processor


def check(number: str, found: int) -> str:
    """Write `number` to scratch space, wait, and read it: g45 is `found` if it has changed, else 0."""
    return f"""
mov(8) g40<1>UD g0<8,8,1>UD {{ align1 WE_all 1Q }};
mov(8) g41<1>UD {number}<0,1,0>UD {{ align1 WE_all 1Q }};
send(8) null<1>UW g40<8,8,1>UD {SCRATCH_WRITE} data {{ align1 WE_all 1Q }};
mov(8) g43<1>UD 0x{ROUNDS:08x}UD {{ align1 WE_all 1Q }};
again:
add.nz.f0.0(8) g43<1>D g43<8,8,1>D -1D {{ align1 1Q }};
(+f0.0) while(8) JIP: again {{ align1 1Q }};
send(8) g44<1>UW g40<8,8,1>UD {SCRATCH_READ} data {{ align1 WE_all 1Q }};
cmp.nz.f0.0(8) null<1>UD g44<8,8,1>UD g41<8,8,1>UD {{ align1 WE_all 1Q }};
mov(8) g45<1>UD 0x00000000UD {{ align1 WE_all 1Q }};
(+f0.0) mov(8) g45<1>UD 0x{found:08x}UD {{ align1 WE_all 1Q }};
"""


def draw(machine: Stages, topology: int, count: int, *stages: list[Words]) -> None:
    """Without stream output, which would execute one range after the other."""
    machine.draw(topology, count, *stages, [machine.do("3DSTATE_STREAMOUT", rendering_disable=True)])


@pytest.mark.parametrize("threads", [64, 2])
@pytest.mark.parametrize("device", DEVICES)
def test_scratch_space_of_geometry_shaders_is_their_own(device: str, threads: int) -> None:
    """Threads that have found something else write a vertex.  Two threads are fewer than workers."""
    text = start(20) + check("g1", 1) + put("g20.2", "g45") + urb(UrbOpcodeGen7.WRITE_HWORD, 20, 0, end=True)
    machine = Stages(device, workers=4)
    draw(machine, POINTS, OBJECTS, machine.gs(text, **SCRATCH, maximum_number_of_threads=threads))
    assert machine.register("GS_INVOCATION_COUNT") == OBJECTS
    assert machine.register("GS_PRIMITIVES_COUNT") == 0


@pytest.mark.parametrize("workers", [0, 2, 4])
@pytest.mark.parametrize("device", DEVICES)
def test_numbers_of_threads_are_below_the_maximum(device: str, workers: int) -> None:
    """Beyond lies no scratch space.  0 workers: one for each processor.  Threads with larger numbers write a vertex."""
    text = start(20) + check("g1", 1) + f"""
and(8) g46<1>UD g0.5<0,1,0>UD 0x000003ffUD {{ align1 WE_all 1Q }};
cmp.ge.f0.0(8) null<1>UD g46<8,8,1>UD {THREADS}UD {{ align1 WE_all 1Q }};
mov(8) g45<1>UD 0x00000000UD {{ align1 WE_all 1Q }};
(+f0.0) mov(8) g45<1>UD 0x00000001UD {{ align1 WE_all 1Q }};
""" + put("g20.2", "g45") + urb(UrbOpcodeGen7.WRITE_HWORD, 20, 0, end=True)
    machine = Stages(device, workers=workers)
    draw(machine, POINTS, OBJECTS, machine.gs(text, **SCRATCH, maximum_number_of_threads=THREADS))
    assert machine.register("GS_INVOCATION_COUNT") == OBJECTS
    assert machine.register("GS_PRIMITIVES_COUNT") == 0


@pytest.mark.parametrize("instances", [1, 12])
@pytest.mark.parametrize("device", DEVICES)
def test_scratch_space_of_hull_shaders_is_their_own(device: str, instances: int) -> None:
    """A patch is culled unless one of its threads has found something else.  Those of 12 need two gangs."""
    number = "shl(8) g39<1>UD g0.1<0,1,0>UD 8UD { align1 WE_all 1Q };\n"
    number += "shr(8) g38<1>UD g0.2<0,1,0>UD 16UD { align1 WE_all 1Q };\n"
    number += "add(8) g39<1>UD g39<8,8,1>UD g38<8,8,1>UD { align1 WE_all 1Q };\n"
    factors = clear(21) + "".join(put(f"g21.{i}", "g45") for i in range(4, 8))
    write = ("(+f0.0) if(8) JIP: same UIP: same { align1 1Q };\n" + write_row(20, 0)
             + "same:\nendif(8) JIP: on { align1 1Q };\non:\n")
    text = start(20) + number + check("g39", bits(1.0)) + factors + write + END
    machine = Stages(device, workers=4)
    draw(machine, PATCHES_OF_1, OBJECTS, machine.tessellation(
        text, DOMAIN, hs={"instance_count": instances, "maximum_number_of_threads": 128, **SCRATCH}))
    assert machine.register("HS_INVOCATION_COUNT") == OBJECTS
    assert machine.register("DS_INVOCATION_COUNT") == 0
