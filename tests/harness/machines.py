"""One thread of one kernel on the reference or on the C core, with one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.eu.reference import Thread, run
from tests.harness.messages import END_MESSAGE
from tests.harness.probe import KERNEL_ADDRESS, Probe, Status

DTYPES = {"F": np.float32, "D": np.int32, "UD": np.uint32, "W": np.int16, "UW": np.uint16, "B": np.int8,
          "UB": np.uint8}
END = f"send(8) 0 null<1>UD null<8,8,1>UD {END_MESSAGE}UD {{ align1 }};\n"


class Machine(ABC):
    """Write registers, run a text, read registers."""

    def __init__(self, gen: Gen, *, dmask: int = 0xFFFF, alternate: bool = False) -> None:
        self.gen = gen
        self.dmask = dmask
        self.alternate = alternate
        self._grf = np.zeros((128, 32), np.uint8)
        self._mrf = np.zeros((16, 32), np.uint8)
        self.flags = 0  # f0.1 in the high half

    def put(self, reg: int, kind: str, values: Sequence[float] | float, byte: int = 0) -> None:
        """Write elements of a type to a GRF, starting at a byte."""
        data = np.atleast_1d(np.asarray(values)).astype(DTYPES[kind])
        self._grf.reshape(-1)[32 * reg + byte:][:data.nbytes] = data.view(np.uint8)

    def get(self, reg: int, kind: str = "UD", count: int = 8, byte: int = 0) -> list[int] | list[float]:
        return self._read(self._grf, reg, kind, count, byte)

    def message(self, reg: int, kind: str = "UD", count: int = 8) -> list[int] | list[float]:
        """Write elements of a type to an MRF."""
        return self._read(self._mrf, reg, kind, count, 0)

    @staticmethod
    def _read(file: NDArray[np.uint8], reg: int, kind: str, count: int, byte: int) -> list[int] | list[float]:
        size = np.dtype(DTYPES[kind]).itemsize
        found: list[int] | list[float] = file.reshape(-1)[32 * reg + byte:][:size * count].view(DTYPES[kind]).tolist()
        return found

    def run(self, text: str) -> None:
        """Assemble a text, append the end of thread, and execute."""
        self.execute(assemble(text + "\n" + END, self.gen))

    @abstractmethod
    def execute(self, code: bytes) -> None:
        """Run the code with the registers that were written."""


class ReferenceMachine(Machine):
    def execute(self, code: bytes) -> None:
        thread = Thread(self.gen, self.dmask, 0, self.alternate)
        thread.grf[:], thread.mrf[:] = self._grf.tobytes(), self._mrf.tobytes()
        thread.flags = [self.flags & 0xFFFF, self.flags >> 16]
        run(thread, code, KERNEL_ADDRESS)
        self._grf = np.frombuffer(thread.grf, np.uint8).reshape(128, 32).copy()
        self._mrf = np.frombuffer(thread.mrf, np.uint8).reshape(16, 32).copy()
        self.flags = thread.flags[0] | thread.flags[1] << 16


class CoreMachine(Machine):
    general_only = True

    def execute(self, code: bytes) -> None:
        probe = Probe(self.gen)
        probe.start(1, self.dmask, alternate_fp=self.alternate)
        for r in range(128):
            probe.grf(r)[:] = self._grf[r].view(np.uint32)
        for r in range(16):
            probe.mrf(r)[:] = self._mrf[r].view(np.uint32)
        probe.set_flags(self.flags)
        assert probe.run(code, general_only=self.general_only) is Status.OK
        self._grf = np.stack([probe.grf(r).view(np.uint8) for r in range(128)])
        self._mrf = np.stack([probe.mrf(r).view(np.uint8) for r in range(16)])
        self.flags = probe.flags()


class FastMachine(CoreMachine):
    general_only = False


MACHINES = {"reference": ReferenceMachine, "general": CoreMachine, "fast": FastMachine}
