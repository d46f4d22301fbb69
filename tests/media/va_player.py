"""Plays coded pictures on a device as the VA driver would, with the driver's own kernels.

Kernels, their descriptors and constants come from a capture; everything else is written here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu.device.device import Device
from gen4emu.device.media import MediaPayloads
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_PCI_ID
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace

from .kernels_model import Decoder, Macroblock, Plane, Planes
from .mpeg2_random import Coded, Stream
from .mpeg2_stream import B_PICTURE, I_PICTURE
from .va_capture import State, differences, wrong_threads

TRACES = Path(__file__).parents[2] / "traces"

VFE, EXTENDED, STATES, BATCH, SLICES, FRAMES = 0x3000000, 0x3001000, 0x3002000, 0x3100000, 0x3200000, 0x4000000
ROOM = 0x200000  # for a frame
# Descriptor of each macroblock index.
FRAME_KERNELS = (0, 1, 4, 6, 2, 5, 3, 6) * 2
FIELD_KERNELS = (8, 9, 10, 13, 11, 12, 13, 14, *([0] * 8))
WHOLE = (3, 10, 11)  # binding table entries of a field picture's frame


@dataclass
class Result:
    """A picture, as the device and as the model have it."""

    coded: Coded
    threads: list[Macroblock]
    decoded: Planes
    expected: Planes
    complaints: list[str]

    @property
    def wrong_threads(self) -> list[int]:
        return wrong_threads(self.threads, self.coded.macroblocks)

    @property
    def differences(self) -> list[int]:
        return differences(self.decoded, self.expected)


class Player:
    """Frames of one size; each is a linear buffer with three planes one after another."""

    def __init__(self, width: int, height: int) -> None:
        for event in open_trace(str(TRACES / "mpeg2-g4x.aub.xz")):
            if isinstance(event, events.Header):
                self.device = Device(BY_PCI_ID[event.pci_id or 0], Options(workers=1))
            elif isinstance(event, events.Submission):
                break
            else:
                self.device.apply(event)
        self.gen = self.device.info.gen
        state = State(self.device, memoryview(bytes(event.ring)).cast("I")[1])
        self.descriptors, self.table, self.constants = state.descriptors, state.table, state.constants
        self.pitch, self.rows = 2 * (width // 2 + 15 & ~15), height + 3 & ~3
        self.sizes = tuple((4 * self.pitch // d, self.rows // d) for d in (1, 2, 2))
        self.frames: dict[int, int] = {}
        self.anchors: list[int] = []

    def play(self, stream: Stream) -> list[Result]:
        return [self.picture(coded, shown) for coded, shown in zip(stream.pictures, stream.shown, strict=True)]

    def picture(self, coded: Coded, shown: int) -> Result:
        picture = coded.picture
        second = shown in self.frames
        target = self.frames.setdefault(shown, FRAMES + ROOM * len(self.frames))
        past = [self.frames[n] for n in self.anchors if n != shown][-2:]
        forward = backward = past[-1] if past else target
        if picture.coding_type == B_PICTURE:
            forward, backward = past
        model = Decoder(self.planes(target), self.planes(forward), self.planes(backward), *picture.matrices,
                        self.sizes)
        for macroblock in coded.macroblocks:
            model.macroblock(macroblock)
        self._state(coded)
        self._surfaces(coded, target, None if picture.coding_type == I_PICTURE else (forward, backward))
        payloads = MediaPayloads(self.device.native, len(coded.macroblocks) + 1)
        self._batch(coded)
        self.device.run_batch(BATCH)
        complaints = [str(e) for e in self.device.events()] + list(self.device.findings.count)
        if picture.coding_type != B_PICTURE and not second:
            self.anchors.append(shown)
        threads = [Macroblock.of(payloads[i].data) for i in range(len(payloads))]
        return Result(coded, threads, self.planes(target), model.target, complaints)

    def planes(self, address: int) -> Planes:
        memory: NDArray[np.int64] = np.frombuffer(self.device.memory.read(address, ROOM, Missing.ZERO),
                                                  np.uint8).astype(np.int64)
        size = self.pitch * self.rows
        return (Plane(memory, 0, self.pitch, self.rows), Plane(memory, size, self.pitch // 2, self.rows // 2),
                Plane(memory, size * 5 // 4, self.pitch // 2, self.rows // 2))

    def _state(self, coded: Coded) -> None:
        picture = coded.picture
        remap = FRAME_KERNELS if picture.frame else FIELD_KERNELS
        self.device.memory.write(EXTENDED, block_named("VLD_STATE", self.gen).build(
            self.gen, **{f"f_code_{way}_{axis}": picture.f_code[s][t] for s, way in enumerate(("forward", "backward"))
                         for t, axis in enumerate(("horizontal", "vertical"))},
            intra_dc_precision=picture.intra_dc_precision, picture_structure=picture.structure,
            top_field_first=picture.top_field_first, frame_prediction_frame_dct=picture.frame_pred_frame_dct,
            concealment_motion_vector_flag=picture.concealment, quantizer_scale_type=int(picture.nonlinear),
            intra_vlc_format=picture.intra_vlc, scan_order=int(picture.alternate),
            picture_coding_type=picture.coding_type,
            **{f"interface_descriptor_remap_{i}": number for i, number in enumerate(remap)}))
        self.device.memory.write(VFE, block_named("VFE_STATE", self.gen).build(
            self.gen, extended_vfe_state_present=True, maximum_number_of_threads=28, urb_entry_allocation_size=13,
            number_of_urb_entries=28, vfe_mode=1, interface_descriptor_base_pointer=self.descriptors))
        self.device.memory.write(self.constants, b"".join(m.astype(np.uint8).tobytes() for m in picture.matrices))

    def _surfaces(self, coded: Coded, target: int, references: tuple[int, int] | None) -> None:
        picture = coded.picture
        stride: dict[str, Any] = {}
        if not picture.frame:
            stride = {"vertical_line_stride": 1, "vertical_line_stride_offset": picture.structure - 1}
            self._frame(WHOLE, target, {})
        self._frame((0, 1, 2), target, stride)
        for first, frame in zip((4, 7), references or (), strict=False):
            self._frame((first, first + 1, first + 2), frame, {})

    def _frame(self, entries: tuple[int, ...], frame: int, more: dict[str, Any]) -> None:
        for entry, plane, d in zip(entries, self.planes(frame), (1, 2, 2), strict=True):
            state = STATES + 64 * entry
            self.device.memory.write(state, block_named("SURFACE_STATE", self.gen).build(
                self.gen, surface_type="SURFTYPE_2D", surface_format="R8_SINT", width=self.pitch // d,
                height=self.rows // d, surface_pitch=self.pitch // d, surface_base_address=frame + plane.offset,
                **more))
            self.device.memory.write(self.table + 4 * entry, struct.pack("<I", state))

    def _batch(self, coded: Coded) -> None:
        def command(name: str, **fields: Any) -> bytes:
            return command_named(name, self.gen).build(self.gen, **fields)

        batch = command("MI_FLUSH") + command("PIPELINE_SELECT", pipeline_selection=1)
        batch += command("STATE_BASE_ADDRESS", **{f"{base}_modify_enable": True for base in (
            "general_state_base_address", "surface_state_base_address", "indirect_object_base_address",
            "general_state_access_upper_bound", "indirect_object_access_upper_bound")})
        batch += command("MEDIA_STATE_POINTERS", pointer_to_vfe_state=VFE, extended_state_pointer=EXTENDED,
                         extended_vfe_state_enable=True)
        batch += command("CS_URB_STATE", urb_entry_allocation_size=16, number_of_urb_entries=1)
        batch += command("CONSTANT_BUFFER", valid=True, buffer_starting_address=self.constants, buffer_length=16)
        at = SLICES
        for column, row, quantizer, data in coded.slices:
            self.device.memory.write(at, data)
            words = block_named("MEDIA_INLINE_VLD", self.gen).pack(
                self.gen, slice_horizontal_position=column, slice_vertical_position=row, macroblock_count=127,
                first_macroblock_bit_offset=6, quantizer_scale_code=quantizer)
            batch += command("MEDIA_OBJECT", inline_data=[{"data": word} for word in words],
                             indirect_data_length=len(data), indirect_data_start_address=at)
            at += len(data)
        self.device.memory.write(BATCH, batch + struct.pack("<I", 0x05000000))
