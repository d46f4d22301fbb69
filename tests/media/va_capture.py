"""Captures of the VA driver decoding MPEG-2, next to the model of its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gen4emu.device.device import Device
from gen4emu.device.media import MediaPayloads
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Command
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace

from .kernels_model import Decoder, Macroblock, Plane, Planes

TARGET, FORWARD, BACKWARD = slice(0, 3), slice(4, 7), slice(7, 10)  # of the binding table
_BATCH_BUFFER_START, _POINTERS, _CONSTANTS = (command_named(name, Gen.CTG) for name in (
    "MI_BATCH_BUFFER_START", "MEDIA_STATE_POINTERS", "CONSTANT_BUFFER"))
_MACROBLOCKS = 20000
BEHIND = 0x10000  # bytes; more than a row of macroblocks


@dataclass
class Picture:
    """One submission: what the device decoded, and what the model says."""

    coding_type: int
    address: int  # of the surface
    threads: list[Macroblock]  # what each was told
    decoded: Planes
    expected: Planes
    complaints: list[str]

    @property
    def differences(self) -> list[int]:
        return differences(self.decoded, self.expected)

    def wrong_threads(self, expected: list[Macroblock]) -> list[int]:
        """Numbers of the macroblocks whose threads were told something else."""
        return wrong_threads(self.threads, expected)


def wrong_threads(ones: list[Macroblock], others: list[Macroblock]) -> list[int]:
    pairs = zip(ones, others, strict=True)
    return [i for i, (a, b) in enumerate(pairs) if a.row != b.row or not np.array_equal(a.blocks, b.blocks)]


def differences(ones: Planes, others: Planes) -> list[int]:
    """In how many samples planes differ."""
    return [int((a.samples != b.samples).sum()) for a, b in zip(ones, others, strict=True)]


class State:
    """The memory that the batch of one picture points to."""

    def __init__(self, device: Device, batch: int) -> None:
        self.device = device
        words = self.dwords(batch, 64)
        gen = device.info.gen
        vfe = block_named("VFE_STATE", gen).view(self.dwords(words[_place(words, _POINTERS) + 2], 3), gen=gen)
        self.descriptors = vfe.interface_descriptor_base_pointer
        self.table = self.dwords(self.descriptors, 4)[3]
        self.surfaces: list[Any] = [
            block_named("SURFACE_STATE", gen).view(self.dwords(entry, 6), gen=gen) if entry else None
            for entry in self.dwords(self.table, 12)]
        self.constants = words[_place(words, _CONSTANTS) + 1] & ~63
        constants = device.memory.read(self.constants, 128)
        self.matrices = np.frombuffer(constants, np.uint8).astype(np.int64).reshape(2, 8, 8)

    def dwords(self, address: int, count: int) -> tuple[int, ...]:
        return tuple(self.device.memory.read_dwords(address, count, Missing.ZERO))

    def planes(self, which: slice) -> Planes:
        """References that do not exist are never read: the target stands in for them."""
        chosen = [s or t for s, t in zip(self.surfaces[which], self.surfaces[TARGET], strict=True)]
        return planes(self.device, chosen)


def planes(device: Device, surfaces: list[Any]) -> Planes:
    """Copies of the planes of one buffer, with some of what lies beyond it."""
    start = min(s.surface_base_address for s in surfaces)
    end = max(s.surface_base_address + s.surface_pitch * s.height for s in surfaces) + BEHIND
    memory = np.frombuffer(device.memory.read(start, end - start, Missing.ZERO), np.uint8).astype(np.int64)
    luma, first, second = (Plane(memory, s.surface_base_address - start, s.surface_pitch, s.height) for s in surfaces)
    return luma, first, second


def decode(path: Path, **options: Any) -> Iterator[Picture]:
    """Every picture of a capture."""
    device: Device | None = None
    for event in open_trace(str(path)):
        if isinstance(event, events.Header):
            device = Device(BY_PCI_ID[event.pci_id or 0], Options(**{"workers": 1} | options))
        elif isinstance(event, events.Submission):
            assert device is not None
            yield _picture(device, event)
        elif device is not None:
            device.apply(event)


def _place(words: Iterable[int], command: Command) -> int:
    return next(i for i, word in enumerate(words) if command.has_opcode_of(word))


def _picture(device: Device, submission: events.Submission) -> Picture:
    ring = memoryview(bytes(submission.ring)).cast("I")
    state = State(device, ring[_place(ring, _BATCH_BUFFER_START) + 1])
    sizes = tuple((4 * s.width, s.height) for s in state.surfaces[TARGET])  # dwords, as media blocks see it
    model = Decoder(state.planes(TARGET), state.planes(FORWARD), state.planes(BACKWARD), *state.matrices, sizes)
    payloads = MediaPayloads(device.native, _MACROBLOCKS)
    device.submit(submission)
    macroblocks = [Macroblock.of(p.data) for p in payloads]
    for macroblock in macroblocks:
        model.macroblock(macroblock)
    complaints = [str(e) for e in device.events()] + list(device.findings.count)
    return Picture(macroblocks[0].bit(2, 18, 2), state.surfaces[0].surface_base_address, macroblocks,
                   state.planes(TARGET), model.target, complaints)
