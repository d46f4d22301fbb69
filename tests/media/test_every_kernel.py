"""Every kernel of the VA driver with random macroblocks against the model.

The kernels, their constants and surfaces come from a capture; generic objects hand them what VLD mode would.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace

from .kernels_model import Decoder, Macroblock, Planes
from .va_capture import BACKWARD, FORWARD, TARGET, State, differences

TRACES = Path(__file__).parents[2] / "traces"

VFE, BATCH, STATES = 0x700000, 0x710000, 0x720000
WIDTH, HEIGHT = 128, 96
FRAME, TOP, BOTTOM = 3, 1, 2
FORWARD_BIT, BACKWARD_BIT, INTRA_BIT, FIELD_DCT = 1 << 17, 1 << 18, 1 << 16, 1 << 21


class Kernels:
    """A device at the second picture of a capture, which has references, with random planes."""

    def __init__(self, structure: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.structure = structure
        submissions = 0
        for event in open_trace(str(TRACES / "mpeg2-g4x.aub.xz")):
            if isinstance(event, events.Header):
                self.device = Device(BY_PCI_ID[event.pci_id or 0], Options(workers=1))
            elif isinstance(event, events.Submission):
                submissions += 1
                if submissions == 3:  # a B picture: two references
                    self.state = State(self.device, memoryview(bytes(event.ring)).cast("I")[1])
                    break
            else:
                self.device.apply(event)
        self.constants, self.descriptors, self.table = self.state.constants, self.state.descriptors, self.state.table
        for which in (TARGET, FORWARD, BACKWARD):
            for surface in self.state.surfaces[which]:
                self.device.memory.write(surface.surface_base_address,
                                         self.rng.bytes(surface.surface_pitch * surface.height))
        if structure != FRAME:
            self._view_fields()

    def _view_fields(self) -> None:
        """The target is written by lines of one field, and read as a frame through entries 3, 10 and 11."""
        for i, (surface, whole) in enumerate(zip(self.state.surfaces[TARGET], (3, 10, 11), strict=True)):
            gen = self.device.info.gen
            layout = block_named("SURFACE_STATE", gen)
            fields = {n: getattr(surface, n) for n in layout.by_name(gen) if not n.startswith("reserved")}
            for entry, more in ((i, {"vertical_line_stride": 1, "vertical_line_stride_offset": self.structure - 1}),
                                (whole, {})):
                address = STATES + 64 * entry
                self.device.memory.write(address, layout.build(gen, **fields | more))
                self.device.memory.write(self.table + 4 * entry, struct.pack("<I", address))

    def macroblock(self, column: int, row: int, flags: int, motion_type: int, *, precision: int = 0) -> Macroblock:
        """Random vectors, field selects and coefficients."""
        rng = self.rng
        pattern = 63 if flags & INTRA_BIT else int(rng.integers(0, 64))
        coded = [np.zeros((8, 8), dtype=np.int64) for _ in range(pattern.bit_count())]
        for block in coded:
            for _ in range(int(rng.integers(1, 6))):
                block[tuple(rng.integers(0, 8, 2))] = int(rng.integers(-8, 9))  # legal streams stay within 16 bits
        vectors = [(int(rng.integers(-24, 24)) & 0xFFFF) << 16 | int(rng.integers(-24, 24)) & 0xFFFF for _ in range(4)]
        second = int(rng.integers(0, 2)) << 27 if self.structure != FRAME else 0
        header = (int(rng.integers(0, 16)) << 28 | second | motion_type << 24 | flags, 0,
                  3 << 18 | self.structure << 16 | precision << 13 | pattern << 6 | int(rng.integers(0, 2)) << 5
                  | int(rng.integers(1, 25)), row << 20 | column << 4, *vectors)
        return Macroblock(header, coded)

    def run(self, work: list[tuple[int, Macroblock]]) -> tuple[Planes, Planes]:
        """Descriptor numbers with macroblocks: what the device made of the target, and what the model says."""
        gen = self.device.info.gen
        sizes = tuple((4 * s.width, s.height) for s in self.state.surfaces[TARGET])
        model = Decoder(self.state.planes(TARGET), self.state.planes(FORWARD), self.state.planes(BACKWARD),
                        *self.state.matrices, sizes)
        self.device.memory.write(VFE, block_named("VFE_STATE", gen).build(
            gen, maximum_number_of_threads=28, urb_entry_allocation_size=13, number_of_urb_entries=28,
            interface_descriptor_base_pointer=self.descriptors))

        def command(name: str, **fields: Any) -> bytes:
            return command_named(name, gen).build(gen, **fields)

        batch = command("PIPELINE_SELECT", pipeline_selection=1)
        batch += command("STATE_BASE_ADDRESS", **{f"{base}_modify_enable": True for base in (
            "general_state_base_address", "surface_state_base_address", "indirect_object_base_address")})
        batch += command("MEDIA_STATE_POINTERS", pointer_to_vfe_state=VFE)
        batch += command("CS_URB_STATE", urb_entry_allocation_size=16, number_of_urb_entries=1)
        batch += command("CONSTANT_BUFFER", valid=True, buffer_starting_address=self.constants, buffer_length=16)
        for number, macroblock in work:
            blocks = b"".join(b.astype("<i2").tobytes() for b in macroblock.blocks)
            words = (*macroblock.row, *struct.unpack(f"<{len(blocks) // 4}I", blocks))
            batch += command("MEDIA_OBJECT", interface_descriptor_offset=number,
                             inline_data=[{"data": word} for word in words])
            model.macroblock(macroblock)
        self.device.memory.write(BATCH, batch + command("MI_BATCH_BUFFER_END"))
        self.device.run_batch(BATCH)
        assert [str(e) for e in self.device.events()] == []
        return self.state.planes(TARGET), model.target


# Descriptor number, flags, motion type.
FRAME_KERNELS = [(0, INTRA_BIT, 0), (1, FORWARD_BIT, 2), (2, BACKWARD_BIT, 2), (3, FORWARD_BIT | BACKWARD_BIT, 2),
                 (4, FORWARD_BIT, 1), (5, BACKWARD_BIT, 1), (6, FORWARD_BIT | BACKWARD_BIT, 1), (6, FORWARD_BIT, 3)]
FIELD_KERNELS = [(8, INTRA_BIT, 0), (9, FORWARD_BIT, 1), (11, BACKWARD_BIT, 1), (13, FORWARD_BIT | BACKWARD_BIT, 1),
                 (10, FORWARD_BIT, 2), (12, BACKWARD_BIT, 2), (14, FORWARD_BIT | BACKWARD_BIT, 2)]


def check(structure: int, kernel: tuple[int, int, int], dct: int = 0) -> None:
    number, flags, motion_type = kernel
    kernels = Kernels(structure, 100 * structure + number + dct)
    rows = HEIGHT // 16 if structure == FRAME else HEIGHT // 32
    # Away from the edges: what lies beyond a plane is not the model's business.
    work = [(number, kernels.macroblock(x, y, flags | dct, motion_type, precision=x % 4))
            for y in range(1, rows - 1) for x in range(1, WIDTH // 16 - 1)]
    assert differences(*kernels.run(work)) == [0, 0, 0]


@pytest.mark.parametrize("dct", [0, FIELD_DCT], ids=["frame-dct", "field-dct"])
@pytest.mark.parametrize("kernel", FRAME_KERNELS, ids=lambda k: f"{k[0]}-{k[2]}")
def test_kernels_of_frame_pictures(kernel: tuple[int, int, int], dct: int) -> None:
    check(FRAME, kernel, dct)


@pytest.mark.parametrize("structure", [TOP, BOTTOM])
@pytest.mark.parametrize("kernel", FIELD_KERNELS, ids=lambda k: f"{k[0]}-{k[2]}")
def test_kernels_of_field_pictures(kernel: tuple[int, int, int], structure: int) -> None:
    check(structure, kernel)
