"""Kernels of HS and DS."""

from __future__ import annotations

from gen4emu.hw.gen7.messages import UrbOpcodeGen7
from gen4emu.hw.gen7.pipeline import TessellationDomain as Domain
from gen4emu.hw.gen7.pipeline import TessellationOutput as Output
from tests.harness.stages_gen7 import bits, clear, put, start, urb, write_row

END = urb(UrbOpcodeGen7.WRITE_HWORD, 20, 0, end=True)
TRI = {"te_domain": Domain.TRI, "output_topology": Output.TRI_CW}


def record(*factors: float) -> str:
    """Writes the first row of the patch record, whose last dwords are the factors in reverse."""
    return start(20) + clear(21) + "".join(put(f"g21.{7 - i}", bits(f)) for i, f in enumerate(factors))


def hull(*factors: float) -> str:
    return record(*factors) + write_row(20, 0) + END


# Slot 0 is U, V, W of the point and another dword; slot 1 the first dwords of the patch record's second row.
DOMAIN = start(20) + (
    "mov(8) g21<1>UD g1<8,8,1>UD { align1 WE_all 1Q };\n"
    "mov(8) g22<1>UD g3<0,4,1>UD { align1 WE_all 1Q };\n"
) + urb(UrbOpcodeGen7.WRITE_HWORD, 20, 2, interleave=True, end=True)


PATCHES_OF_3 = 0x1F + 3
