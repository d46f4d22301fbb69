"""Payloads of media threads: the registers with which they start (native/media/)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from gen4emu._native import ffi, lib


@dataclass(frozen=True, slots=True)
class MediaPayload:
    """The initial registers of one thread.  Registers are tuples of eight dwords."""

    descriptor: int  # graphics address of the interface descriptor
    kernel: int  # graphics address of the first instruction
    mode: int  # the VfeMode that started the thread, or a reserved value; of a child: 0
    child: bool
    first: int  # the register after R0 and the constants
    registers: tuple[tuple[int, ...], ...]

    @property
    def header(self) -> tuple[int, ...]:
        return self.registers[0]

    @property
    def constants(self) -> tuple[tuple[int, ...], ...]:
        return self.registers[1:self.first]

    @property
    def data(self) -> tuple[tuple[int, ...], ...]:
        """The registers after the constants."""
        return self.registers[self.first:]


class MediaPayloads:
    """The payloads of the next `capacity` threads that start."""

    def __init__(self, native: Any, capacity: int) -> None:
        self._native, self._capacity = native, capacity
        self.restart()

    def restart(self) -> None:
        """Drop them, and collect as many again."""
        if lib.g4_device_media_watch(self._native, self._capacity) != lib.G4_OK:
            raise MemoryError("not enough memory for the payloads")

    @property
    def started(self) -> int:
        """The number of threads that started, even if their payloads were not kept."""
        return int(lib.g4_device_media_watched(self._native))

    def __len__(self) -> int:
        return min(self.started, self._capacity)

    def __getitem__(self, index: int) -> MediaPayload:
        raw = lib.g4_device_media_payload(self._native, index if index >= 0 else index + len(self))
        if raw == ffi.NULL:
            raise IndexError(f"payload {index} of {len(self)}")
        words = struct.unpack(f"<{8 * raw.registers}I", ffi.buffer(raw.data)[:32 * raw.registers])
        registers = tuple(words[at:at + 8] for at in range(0, len(words), 8))
        return MediaPayload(int(raw.descriptor), int(raw.kernel), int(raw.mode), bool(raw.child), int(raw.first),
                            registers)
