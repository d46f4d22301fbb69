"""Commands as dwords, by name and by field, and a machine that executes batches of them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import command_named, register_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.mi import BatchMemorySpace
from gen4emu.hw.layout import masked_write
from gen4emu.trace.events import Engine, Submission

BATCH, DATA, RING = 0x20000, 0x30000, 0x10000

Words = list[int]


def command(name: str, gen: Gen = Gen.CTG, **fields: Any) -> Words:
    """A command of any generation; the fields that are not given have their defaults."""
    return command_named(name, gen).pack(gen, **fields)


NOOP = command("MI_NOOP")
END = command("MI_BATCH_BUFFER_END")


def store(address: int, *values: int) -> Words:
    """MI_STORE_DATA_IMM of one or two dwords."""
    return command("MI_STORE_DATA_IMM", use_global_gtt=True, address=address, data=values[0],
                   data_high=[{"value": value} for value in values[1:]])


def register_write(name: str, gen: Gen, **fields: Any) -> dict[str, int]:
    """The write of MI_LOAD_REGISTER_IMM that sets these fields of a register; the other bits of a masked one stay."""
    register = register_named(name, gen)
    (value,) = register.pack(gen, **fields)
    changed = sum(register.field(field, gen).mask_in(0) for field in fields)
    return {"register_offset": register.offset, "data": masked_write(value, changed) if register.masked else value}


def load_register(offset: int, value: int, **fields: Any) -> Words:
    return command("MI_LOAD_REGISTER_IMM", writes=[{"register_offset": offset, "data": value}], **fields)


def start_batch(address: int, space: BatchMemorySpace = BatchMemorySpace.GTT, **fields: Any) -> Words:
    return command("MI_BATCH_BUFFER_START", memory_space=space, address=address, **fields)


def endless_batch() -> bytes:
    """A batch at address 0 that starts itself.  It has 4096 MI_NOOP, with which it becomes too long after a thousand
    starts instead of two million."""
    return joined(NOOP * 4096, command("MI_BATCH_BUFFER_START", memory_space=BatchMemorySpace.GTT, address=0))


def joined(*commands: Sequence[int]) -> bytes:
    """Commands as they are in memory."""
    words = [word for one in commands for word in one]
    return struct.pack(f"<{len(words)}I", *words)


class Machine:
    def __init__(self, name: str = "gm45", **options: Any) -> None:
        self.device = Device(BY_NAME[name], Options(**{"workers": 1} | options))
        self.gen = self.device.info.gen
        self.streamer = self.device.streamers[Engine.RENDER]
        self.state = self.streamer.state.raw
        self.device.memory.write(DATA, bytes(0x1000))

    def run(self, *commands: Sequence[int]) -> None:
        self.put(BATCH, *commands, END)
        self.device.run_batch(BATCH)

    def put(self, address: int, *commands: Sequence[int]) -> None:
        self.device.memory.write(address, joined(*commands))

    def submit(self, *commands: Sequence[int]) -> None:
        self.device.submit(Submission(0, Engine.RENDER, joined(*commands), RING))

    def dwords(self, address: int, count: int) -> list[int]:
        return list(self.device.memory.read_dwords(address, count))

    def register(self, name: str) -> int:
        return self.device.registers.read(self.device.registers.offset(name))

    def set(self, name: str, value: int) -> None:
        """A register write by the CPU."""
        self.device.write_register(self.device.registers.offset(name), value)

    def set_ring(self, head: int, tail: int) -> None:
        """A ring of 16 KiB at RING; the write of TAIL runs it."""
        for name, value in (("START", RING), ("HEAD", head), ("CTL", 0x3001), ("TAIL", tail)):
            self.set(f"RENDER_RING_{name}", value)


class Later(Machine):
    """A machine of Gen7 whose commands have that generation's layouts, and which counts its draws."""

    def __init__(self, name: str = "ivb") -> None:
        super().__init__(name)
        self.draws: list[Words] = []
        self.device.debug.draw = lambda words, run: self.draws.append(list(words))  # type: ignore[method-assign]  # a spy

    def do(self, *commands: tuple[str, dict[str, Any]]) -> None:
        self.run(*(command(name, self.gen, **fields) for name, fields in commands))

    def offset(self, name: str) -> int:
        return self.device.registers.offset(name)

    def set_qword(self, name: str, value: int) -> None:
        self.device.registers.write(self.offset(name), value & 0xFFFFFFFF)
        self.device.registers.write(self.offset(name) + 4, value >> 32)

    def qword(self, name: str) -> int:
        read = self.device.registers.read
        return read(self.offset(name)) | read(self.offset(name) + 4) << 32


DRAW = ("3DPRIMITIVE", {"vertex_count_per_instance": 3, "instance_count": 1})
