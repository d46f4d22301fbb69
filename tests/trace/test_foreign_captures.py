"""Captures of Gen9 as another tool writes them: Mesa's intel_dump_gpu, whose layout is built here byte by byte.

Rings, status pages and context images lie in a fixed part of the global GTT, whose entries are written first.  Batches
and buffers are in physical pages, which four levels of page tables map.  A submission writes the ring and the head and
tail in the context image, then four dwords to the port of the execution list.
"""

from __future__ import annotations

import struct
from itertools import count
from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.cli.main import run
from gen4emu.device.memory import Missing
from gen4emu.device.replay import Replay
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen

PAGE = 4096
GGTT_PAGES = 64  # of the fixed part
RING, STATE = 0x0, 0x1000  # of the render engine, in the global GTT: ring, then status page and context image
STATE_PAGES = 15
PORT, STATUS, MODE, HARDWARE_STATUS = 0x2230, 0x2234, 0x229C, 0x2080
CONTEXT_ID = 2
GLOBAL, PHYSICAL, ENTRIES = 0, 2, 4  # address spaces
BATCH, DATA, FAR = 0x10000, 0x7FFF_FFFF_F000, 0x1234_5678_9000


class DumpGpu:
    """Writes one file; graphics memory gets physical pages on its first write."""

    def __init__(self, device: str) -> None:
        chip = BY_NAME[device]
        name = f"PCI-ID=0x{chip.pci_id:X} my program".encode()
        name += bytes(-len(name) % 4 or 4)
        self.data = bytearray()
        self._packet(0x0E, struct.pack("<4I", 1, 0x16 << 8 | 1 << 18, 0, 0) + name)
        self._pages = count(0x80)  # physical
        self._tables: dict[tuple[int, int], int] = {}
        entries = b"".join(struct.pack("<Q", (next(self._pages) * PAGE) | 1) for _ in range(GGTT_PAGES))
        self._write(ENTRIES, 0, entries)
        self._root = next(self._pages) * PAGE
        self._context()

    def _packet(self, sub_opcode: int, body: bytes) -> None:
        self.data += struct.pack("<I", 7 << 29 | 0x2E << 23 | sub_opcode << 16 | len(body) // 4) + body

    def _write(self, space: int, address: int, data: bytes) -> None:
        padded = data + bytes(-len(data) % 4)
        self._packet(0x06, struct.pack("<QII", address, space << 28, len(data)) + padded)

    def _register(self, offset: int, value: int) -> None:
        self._packet(0x03, struct.pack("<5I", offset, 2 << 16, 0xFFFFFFFF, 0, value))

    def _context(self) -> None:
        """The state page: registers of the ring, then the roots of the tables, as operands of loads."""
        words = [0] * (PAGE // 4)
        ring = [(0x2244, 0x90009), (0x2034, 0), (0x2030, 0), (0x2038, RING), (0x203C, 0 << 12 | 1), (0x2168, 0),
                (0x2140, 0), (0x2110, 0x20), (0x211C, 0), (0x2114, 0), (0x2118, 0), (0x21C0, 0), (0x21C4, 0),
                (0x21C8, 0)]
        roots = [(0x23A8, 0), (0x228C, 0), (0x2288, 0), (0x2284, 0), (0x2280, 0), (0x227C, 0), (0x2278, 0),
                 (0x2274, self._root >> 32), (0x2270, self._root & 0xFFFFFFFF)]
        for at, pairs in ((1, ring), (33, roots)):
            words[at] = 0x11001000 | 2 * len(pairs) - 1
            words[at + 1:at + 1 + 2 * len(pairs)] = [word for pair in pairs for word in pair]
        words[52] = 0x05000000
        self._write(GLOBAL, STATE, bytes(PAGE) + struct.pack("<1024I", *words) + bytes((STATE_PAGES - 2) * PAGE))
        self._register(MODE, 0x80008000)  # execution lists
        self._register(HARDWARE_STATUS, STATE)

    def _page(self, address: int) -> int:
        """The physical page of a graphics address, whose tables are completed."""
        table = self._root
        for level in (3, 2, 1, 0):
            index = address >> 12 + 9 * level & 511
            key = (table, index)
            if key not in self._tables:
                self._tables[key] = next(self._pages) * PAGE
                self._write(PHYSICAL, table + 8 * index, struct.pack("<Q", self._tables[key] | 3))
            table = self._tables[key]
        return table

    def memory(self, address: int, data: bytes) -> None:
        for at in range(0, len(data), PAGE):
            self._write(PHYSICAL, self._page(address + at), data[at:at + PAGE])

    def submit(self, batch: int) -> None:
        """MI_BATCH_BUFFER_START in the ring, then head 0 and tail 16 in the image, then the port."""
        start = 0x31 << 23 | 1 << 8 | 1
        self._write(GLOBAL, RING, struct.pack("<IQI", start, batch, 0))
        self._write(GLOBAL, STATE + PAGE + 4 * 5, struct.pack("<I", 0))
        self._write(GLOBAL, STATE + PAGE + 4 * 7, struct.pack("<I", 16))
        descriptor = CONTEXT_ID << 32 | STATE | 1 | 3 << 3 | 1 << 5 | 1 << 8
        for value in (0, 0, descriptor >> 32, descriptor & 0xFFFFFFFF):
            self._register(PORT, value)
        self._packet(0x05, struct.pack("<6I", STATUS, 2 << 16 | 1 << 24, 0x10, 0, 0, 0))  # wait until it is idle


def batch(*commands: tuple[str, dict[str, int]]) -> bytes:
    return b"".join(command_named(name, Gen.KBL).build(Gen.KBL, **fields) for name, fields in commands) \
        + command_named("MI_BATCH_BUFFER_END", Gen.KBL).build(Gen.KBL)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A dword is stored in the highest page and copied; the second batch adds what a new write has put beside it."""
    file = DumpGpu("kbl")
    file.memory(FAR, bytes(PAGE))
    file.memory(DATA, bytes(PAGE))
    file.memory(BATCH, batch(
        ("MI_STORE_DATA_IMM", {"address": DATA + 8, "data_dword_0": 0x1234}),
        ("MI_COPY_MEM_MEM", {"destination_memory_address": FAR + 4, "source_memory_address": DATA + 8})))
    file.submit(BATCH)
    file.memory(FAR + PAGE, struct.pack("<I", 0x5678))
    file.memory(BATCH, batch(
        ("MI_COPY_MEM_MEM", {"destination_memory_address": FAR, "source_memory_address": FAR + PAGE})))
    file.submit(BATCH)
    path = tmp_path / "foreign.aub"
    path.write_bytes(file.data)
    return path


def test_batches_read_and_write_through_the_page_tables(capture: Path) -> None:
    with trace.open(capture) as events:
        replay = Replay(events)
        for _ in replay.frames():
            pass
    assert replay.submissions == 2
    assert replay.device is not None
    assert replay.device.info.name == "kbl"
    memory = replay.device.memory
    assert struct.unpack("<II", memory.read(FAR, 8, Missing.ZERO)) == (0x5678, 0x1234)
    assert replay.device.faults.total == 0


def test_tools_name_the_chip_and_the_program(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(capture)]) == 0
    said = capsys.readouterr().out
    assert "Kaby Lake" in said
    assert "my program" in said
    assert "2 submissions" in said
    assert run(["decode", str(capture)]) == 0
    said = capsys.readouterr().out
    assert said.count("MI_COPY_MEM_MEM") == 2
    assert run(["replay", str(capture), "-o", str(capture.parent / "frames")]) == 0
