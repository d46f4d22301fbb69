"""Kernels and constants of thread groups in which each thread has a row of its own."""

from __future__ import annotations

from tests.harness.compute import BARRIER, SHARED, Compute

# Registers: g1 is the row of the thread; g10 the channel numbers, g11 four times that.
LANES = """mov(8) g10<1>UW 0x76543210V { align1 WE_all 1Q };
mov(8) g12<1>UD g10<8,8,1>UW { align1 WE_all 1Q };
shl(8) g11<1>UD g12<8,8,1>UD 2UD { align1 WE_all 1Q };
"""


def offset(register: int, scale: int) -> str:
    """The byte offset 4 * channel + scale * g1.0 in `register`: a place for each thread."""
    return (f"mul(8) g{register}<1>UD g1<0,1,0>UD {scale}UW {{ align1 WE_all 1Q }};\n"
            f"add(8) g{register}<1>UD g{register}<8,8,1>UD g11<8,8,1>UD {{ align1 WE_all 1Q }};\n")


def rows(threads: int) -> list[list[int]]:
    """A row for each thread, with its number."""
    return [[t] for t in range(threads)]


def per_thread(device: str) -> dict[str, int]:
    """The descriptor's fields for one row for each thread."""
    return {"constant_urb_entry_read_length": 1}


def reversed_through_shared_memory(machine: Compute, threads: int) -> str:
    """Every thread writes its number to shared memory and reads the one of the thread opposite to it."""
    return LANES + offset(20, 32) + f"""
add(8) g21<1>UD g1<0,1,0>UD 100UD {{ align1 1Q }};
{machine.store(20, SHARED)}
{BARRIER}
add(8) g24<1>D -g1<0,1,0>D {threads - 1}D {{ align1 1Q }};
mul(8) g24<1>UD g24<8,8,1>UD 32UW {{ align1 1Q }};
add(8) g24<1>UD g24<8,8,1>UD g11<8,8,1>UD {{ align1 1Q }};
{machine.load(21, 24, SHARED)}
{machine.store(20)}
"""
