"""Data ports of Gen7 and later: one buffer, messages of one thread, their responses."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any

import numpy as np

from gen4emu.device.memory import Memory
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import SharedFunctionGen6
from gen4emu.hw.gen7.state import buffer_entry_fields
from tests.harness.messages import data_port_control, data_port_gen7, descriptor
from tests.harness.probe import Probe

SURFACES, TABLE, DATA, SCRATCH = 0x1000, 0x2000, 0x100000, 0x200000
RESPONSE, PAYLOAD = 20, 40
JUNK = 0xDEADBEEF
RENDER_CACHE, CONSTANT_CACHE = SharedFunctionGen6.RENDER_CACHE_DATA_PORT, SharedFunctionGen6.CONSTANT_CACHE_DATA_PORT
DATA_CACHE, DATA_CACHE_1 = SharedFunctionGen6.DATA_CACHE_DATA_PORT, SharedFunctionGen6.DATA_CACHE_DATA_PORT_1
STATELESS = 255
CHANNELS = np.arange(8, dtype=np.uint32)


class Port7(Probe):
    """Surface 1 with DATA, which has the dwords 0, 1, 2, ..."""

    def __init__(self, gen: Gen = Gen.IVB, memory: Memory | None = None) -> None:
        super().__init__(gen, memory)
        self.memory.write(DATA, np.arange(0x4000, dtype=np.uint32).tobytes())
        self.memory.write(SCRATCH, bytes(4096))
        self.memory.write(TABLE, struct.pack("<4I", 0, SURFACES + 0x100, 0, 0))
        self.buffer(0x400)

    def state(self, **fields: Any) -> None:
        block = block_named("RENDER_SURFACE_STATE", self.gen)
        words = block.pack(self.gen, surface_base_address=DATA, **fields)
        self.memory.write(SURFACES + 0x100, np.array(words, np.uint32).tobytes())

    def buffer(self, entries: int, pitch: int = 1, **fields: Any) -> None:
        """Fewer than 2^21 entries: only the field of the bits above has another name on Gen9."""
        count = {name: value for name, value in buffer_entry_fields(entries).items() if value}
        self.state(**{"surface_type": "SURFTYPE_BUFFER", "surface_format": "RAW", "surface_pitch": pitch,
                      **count} | fields)

    def header(self, **fields: Any) -> list[int]:
        return block_named("DATA_PORT_MESSAGE_HEADER", self.gen).pack(self.gen, **fields)

    def message(self, function: SharedFunctionGen6, kind: int, *registers: Any, header: bool = True, rlen: int = 1,
                index: int = 1, exec_size: int = 8, emask: int = 0xFF, to: int = RESPONSE,
                **control: Any) -> np.ndarray:
        """The response, in eight registers, to a message with these payload registers and fields of its control.

        A kind that is not a member of an enumeration has no control.
        """
        bits = data_port_control(self.gen, kind, **control) if isinstance(kind, IntEnum) else 0
        word = data_port_gen7(self.gen, len(registers), rlen, kind, bits, index, header=header)
        return self._send(function, word, registers, rlen, exec_size, emask, to)

    def scratch(self, *registers: Any, rlen: int = 0, exec_size: int = 8, emask: int = 0xFF,
                **fields: Any) -> np.ndarray:
        """The response to a scratch block message."""
        word = descriptor("DATA_CACHE_DATA_PORT_MESSAGE", self.gen, length=len(registers), response=rlen,
                          header_present=True, scratch=True, **fields)
        return self._send(DATA_CACHE, word, registers, rlen, exec_size, emask, RESPONSE)

    def _send(self, function: SharedFunctionGen6, word: int, registers: tuple[Any, ...], rlen: int, exec_size: int,
              emask: int, to: int) -> np.ndarray:
        self.start(1, binding_table=TABLE)
        for k in range(8):
            self.grf(to + k)[:] = JUNK
        for i, register in enumerate(registers):
            self.grf(PAYLOAD + i)[:] = np.asarray(register, np.uint32)
        self.send_gen7(function, word, PAYLOAD, to if rlen else None, exec_size=exec_size, emask=emask)
        return np.array([self.grf(to + k) for k in range(8)])

    def dwords(self, first: int, count: int, base: int = DATA) -> list[int]:
        return [int(x) for x in np.frombuffer(self.memory.read(base + 4 * first, 4 * count), np.uint32)]
