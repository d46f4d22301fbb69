"""The encoding of Gen7.5: that of Gen7, except that `jmpi` and `call` count bytes (Haswell PRM vol. 7; kernels of the
VA driver).  The targets of `call` are numbers in assembly, not labels."""

from __future__ import annotations

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen75 import messages
from gen4emu.isa.gen7 import GEN7

GEN75 = GEN7.derive("gen75", Gen.GEN75, message_descriptor=messages.MESSAGE_DESCRIPTOR, jmpi_unit=1)
