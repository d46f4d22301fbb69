"""Batches that are acknowledged: the writes that programs poll for, and damaged batches."""

from __future__ import annotations

import ctypes
import random
import struct
import time
from collections.abc import Iterator

import pytest

from gen4emu._native import ffi
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.chips import BY_NAME, Device
from gen4emu.live.acknowledger import Acknowledger
from gen4emu.live.buffer_memory import BufferMemory
from gen4emu.trace.events import Engine, Submission

BATCH, SECOND, DATA, BYTES = 0x10000, 0x14000, 0x18000, 0x10000
DEVICES = ("snb", "ivb", "byt", "hsw", "bdw", "skl", "kbl")


class Machine:
    """A device with 64 KiB of memory at BATCH, or 4 GiB above it on chips with wide addresses."""

    def __init__(self, name: str) -> None:
        self.chip = BY_NAME[name]
        self.device = Acknowledger(self.chip)
        self.base = 1 << 40 if self.chip.address_bits > 32 else 0
        self.host = ctypes.create_string_buffer(BYTES + 4096)
        aligned = -ctypes.addressof(self.host) % 4096
        self.place = ctypes.addressof(self.host) + aligned
        self.device.memory.bind(self.base + BATCH, ffi.cast("uint8_t *", self.place), BYTES)

    def put(self, address: int, *words: int) -> None:
        ctypes.memmove(self.place + address - BATCH, struct.pack(f"<{len(words)}I", *words), 4 * len(words))

    def qword(self, address: int) -> int:
        return int(struct.unpack("<Q", self.device.memory.read(self.base + address, 8))[0])

    def run(self) -> None:
        self.device.submit(Submission(0, Engine.RENDER, b"", 0, batch_address=self.base + BATCH))

    def command(self, name: str, address: int, *data: int, **fields: int) -> list[int]:
        """A command with an address, the data after it, and the fields of Gen6 to Gen9 that it has."""
        return command(self.chip, name, self.base + address, *data, **fields)


def command(chip: Device, name: str, address: int, *data: int, **fields: int) -> list[int]:
    layout = catalogue_of(chip.gen).command(name)
    known = {field.name: field for field in layout.fields_for(chip.gen)}
    key = "batch_buffer_start_address" if name == "MI_BATCH_BUFFER_START" else "address"
    words = layout.pack(chip.gen, **{key: address}, **{k: v for k, v in fields.items() if k in known})
    first = known[key].dword + 1 + known[key].hi // 32
    words = [*words[:first], *data]
    words[0] = words[0] & ~0xFF | len(words) - 2
    return words


@pytest.fixture(params=DEVICES)
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    yield Machine(request.param)


END = 0x05000000


def test_immediate_data_are_stored(machine: Machine) -> None:
    machine.put(BATCH, *machine.command("MI_STORE_DATA_IMM", DATA, 1, 2),
                *machine.command("MI_STORE_DATA_IMM", DATA + 8, 3), END)
    machine.run()
    assert (machine.qword(DATA), machine.qword(DATA + 8)) == (2 << 32 | 1, 3)


@pytest.mark.parametrize("name", ["PIPE_CONTROL", "MI_FLUSH_DW"])
def test_post_sync_writes_are_done(machine: Machine, name: str) -> None:
    machine.put(DATA + 16, 7, 7)
    machine.put(BATCH, *machine.command(name, DATA, 5, 6, post_sync_operation=1),
                *machine.command(name, DATA + 8, 0, 0, post_sync_operation=3),
                *machine.command(name, DATA + 24, 0, 0, post_sync_operation=3),
                *machine.command(name, DATA + 16, 9, 9, post_sync_operation=0), END)
    machine.run()
    assert machine.qword(DATA) == 6 << 32 | 5
    assert machine.qword(DATA + 24) > machine.qword(DATA + 8) > 0
    assert machine.qword(DATA + 16) == 7 << 32 | 7


def test_depth_counts_are_0(machine: Machine) -> None:
    machine.put(DATA, 7, 7)
    machine.put(BATCH, *machine.command("PIPE_CONTROL", DATA, 5, 5, post_sync_operation=2), END)
    machine.run()
    assert machine.qword(DATA) == 0


def test_chained_batches_are_followed(machine: Machine) -> None:
    machine.put(BATCH, *machine.command("MI_BATCH_BUFFER_START", SECOND), 0, 0)
    machine.put(SECOND, *machine.command("MI_STORE_DATA_IMM", DATA, 1), END)
    machine.run()
    assert machine.qword(DATA) == 1


@pytest.mark.parametrize("device", ["hsw", "kbl"])
def test_second_level_batches_return(device: str) -> None:
    machine = Machine(device)
    machine.put(BATCH, *machine.command("MI_BATCH_BUFFER_START", SECOND, second_level_batch_buffer=1),
                *machine.command("MI_STORE_DATA_IMM", DATA, 1), END)
    machine.put(SECOND, END)
    machine.run()
    assert machine.qword(DATA) == 1


def test_a_batch_that_chains_to_itself_ends(machine: Machine) -> None:
    machine.put(BATCH, *machine.command("MI_STORE_DATA_IMM", DATA, 1), *machine.command("MI_BATCH_BUFFER_START", BATCH))
    begin = time.process_time()
    machine.run()
    assert time.process_time() - begin < 10
    assert machine.qword(DATA) == 1


def test_random_batches_do_no_harm(machine: Machine) -> None:
    rng = random.Random(machine.chip.pci_id)
    names = ("MI_STORE_DATA_IMM", "PIPE_CONTROL", "MI_FLUSH_DW")
    for _ in range(3):
        words: list[int] = []
        for _ in range(50):
            words += machine.command(rng.choice(names), rng.randrange(0, 1 << 20, 8), 1, 2, post_sync_operation=1)
        for _ in range(20):
            words[rng.randrange(len(words))] = rng.choice((rng.getrandbits(32), 0xFFFFFFFF, 0x7A000000, 0x18800000))
        machine.put(BATCH, *words[:2000], END)
        machine.device.submit(Submission(0, Engine.RENDER, b"", 0, batch_address=machine.base + BATCH))


# --- memory -----------------------------------------------------------------------------------------------------------
def test_bindings_replace_each_other_and_leave_the_rest() -> None:
    """Random bindings of pages, compared with a table of pages."""
    rng = random.Random(5)
    pages = 64
    host = ctypes.create_string_buffer(bytes(range(1, 65)) * 4096, pages * 4096)
    for page in range(pages):
        ctypes.memset(ctypes.addressof(host) + 4096 * page, page + 1, 4096)
    base = 1 << 47
    memory, table = BufferMemory(1 << 48), dict[int, int]()
    for _ in range(500):
        first, count, source = rng.randrange(32), rng.randrange(1, 9), rng.randrange(pages - 9)
        if rng.random() < 0.7:
            part = ffi.cast("uint8_t *", ctypes.addressof(host) + 4096 * source)
            memory.bind(base + 4096 * first, part, 4096 * count)
            table |= {first + i: source + i + 1 for i in range(count)}
        else:
            memory.unbind(base + 4096 * first, 4096 * count)
            for i in range(count):
                table.pop(first + i, None)
        assert memory.read(base, 40 * 4096)[::4096] == bytes(table.get(i, 0) for i in range(40))
        used = ffi.cast("uint8_t *", ctypes.addressof(host) + 4096 * source)
        assert memory.uses(used, 4096) == (source + 1 in table.values())
