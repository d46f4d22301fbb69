"""A media pipeline for tests: state made with the builders, kernels with the assembler, batches on a whole Device."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gen4emu.device.device import Device
from gen4emu.device.media import MediaPayload, MediaPayloads
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.media import VfeMode
from gen4emu.hw.gen4.media_inline import PAYLOAD_VLD_R1
from gen4emu.hw.layout import View
from gen4emu.isa import assemble
from tests.harness.messages import MEDIA_END, operand

BATCH, VFE, EXTENDED, DESCRIPTORS, CURBE, DATA = 0x10000, 0x20000, 0x20100, 0x21000, 0x22000, 0x100000
KERNELS, TABLES, SURFACES, TARGETS, SCRATCH = 0x40000, 0x90000, 0x91000, 0x200000, 0xA0000
KERNEL_ROOM = 0x2000
STATELESS = 255
END = f"send(8) 0 null<1>UD g0<8,8,1>UD {MEDIA_END} {{ align1 nomask EOT }};"

_STORE = operand("DATA_PORT_WRITE_MESSAGE", length=2, oword_block_size="OWORDS_2",
                 binding_table_index=STATELESS)


def store(reg: int, address: str) -> str:
    """Write a register to memory; `address` is an operand, e.g. 0x200000UD.  Uses m12 and m13."""
    return f"""mov(8) m12<1>UD 0UD {{ align1 nomask }};
mov(1) m12.2<1>UD {address} {{ align1 nomask }};
mov(8) m13<1>UD g{reg}<8,8,1>UD {{ align1 nomask }};
send(8) 12 null<1>UD null<8,8,1>UD {_STORE} {{ align1 nomask }};
"""


class Media:
    """A device with the media pipeline selected and its state in memory; objects run when `run` is called."""

    def __init__(self, part: str = "gm45", mode: VfeMode = VfeMode.GENERIC, *, extended: dict[str, Any] | None = None,
                 constants: bytes | None = None, options: Options | None = None, **vfe: Any) -> None:
        self.device = Device(BY_NAME[part], options or Options(workers=1))
        self.gen = self.device.info.gen
        self.memory = self.device.memory
        self.mode = mode
        self.commands = b""
        self.constants = constants
        self.extended = extended
        self.vfe: dict[str, Any] = {
            "maximum_number_of_threads": 28, "urb_entry_allocation_size": 13, "number_of_urb_entries": 28,
            "vfe_mode": int(mode), "interface_descriptor_base_pointer": DESCRIPTORS} | vfe
        self.write_state()
        for number in range(16):
            self.kernel(number, END)

    def write_state(self) -> None:
        self.memory.write(VFE, block_named("VFE_STATE", self.gen).build(self.gen, **self.vfe))
        if self.extended is not None:
            name = "VLD_STATE" if self.mode == VfeMode.VLD else "VFE_STATE_EX"
            has_layout = self.gen & Gen.GEN45 or (name == "VLD_STATE" and self.gen == Gen.CL)
            gen = self.gen if has_layout else Gen.EL
            self.memory.write(EXTENDED, block_named(name, gen).build(gen, **self.extended))
        if self.constants is not None:
            self.memory.write(CURBE, self.constants)

    def kernel(self, number: int, text: str, **descriptor: Any) -> int:
        """The kernel of an interface descriptor; returns its address."""
        address = KERNELS + KERNEL_ROOM * number
        self.memory.write(address, assemble(text, self.gen))
        self.memory.write(DESCRIPTORS + 16 * number, block_named("INTERFACE_DESCRIPTOR", self.gen).build(self.gen, **{
            "kernel_start_pointer": address, "grf_register_count": 128, "binding_table_pointer": TABLES} | descriptor))
        return address

    def surface(self, index: int, address: int, width: int, height: int, pitch: int, **fields: Any) -> None:
        """Width as media blocks see it is in dwords; drivers store pixels."""
        state = SURFACES + 0x40 * index
        self.memory.write(state, block_named("SURFACE_STATE", self.gen).build(self.gen, **{
            "surface_type": "SURFTYPE_2D", "surface_format": "R8_SINT", "width": width, "height": height,
            "surface_pitch": pitch, "surface_base_address": address} | fields))
        self.memory.write(TABLES + 4 * index, struct.pack("<I", state))

    def command(self, name: str, **fields: Any) -> None:
        self.commands += command_named(name, self.gen).build(self.gen, **fields)

    def words(self, *words: int) -> None:
        self.commands += struct.pack(f"<{len(words)}I", *words)

    def store_dword(self, address: int, value: int) -> None:
        """By the command streamer, MI_STORE_DATA_IMM."""
        self.command("MI_STORE_DATA_IMM", use_global_gtt=True, address=address, data=value)

    def select(self) -> None:
        """The commands before the objects."""
        self.command("MI_FLUSH")
        self.command("PIPELINE_SELECT", pipeline_selection=1)
        self.command("STATE_BASE_ADDRESS", **{f"{base}_modify_enable": True for base in (
            "general_state_base_address", "surface_state_base_address", "indirect_object_base_address",
            "general_state_access_upper_bound", "indirect_object_access_upper_bound")})
        self.pointers()
        self.command("CS_URB_STATE", urb_entry_allocation_size=16, number_of_urb_entries=1)
        if self.constants is not None:
            self.command("CONSTANT_BUFFER", valid=True, buffer_starting_address=CURBE, buffer_length=16)

    def pointers(self) -> None:
        self.command("MEDIA_STATE_POINTERS", pointer_to_vfe_state=VFE, extended_state_pointer=EXTENDED,
                     extended_vfe_state_enable=self.extended is not None)

    def object(self, words: Sequence[int] = (), data: bytes = b"", *, at: int = DATA, name: str = "MEDIA_OBJECT",
               **fields: Any) -> None:
        if data:
            self.memory.write(at, data)
            fields = {"indirect_data_length": len(data), "indirect_data_start_address": at} | fields
        self.command(name, inline_data=[{"data": word} for word in words], **fields)

    def slice(self, data: bytes, *, x: int = 0, y: int = 0, q: int, bit: int = 0, count: int = 127, at: int = DATA,
              **fields: Any) -> None:
        """A MEDIA_OBJECT of VLD mode."""
        words = block_named("MEDIA_INLINE_VLD", self.gen).pack(
            self.gen, slice_horizontal_position=x, slice_vertical_position=y, macroblock_count=count,
            first_macroblock_bit_offset=bit, quantizer_scale_code=q)
        self.object(words, data, at=at, **fields)

    def execute(self) -> None:
        self.memory.write(BATCH, self.commands + command_named("MI_BATCH_BUFFER_END", self.gen).build(self.gen))
        self.commands = b""
        self.device.run_batch(BATCH)

    def run(self, room: int = 256) -> list[MediaPayload]:
        """Execute what was collected; the threads that started."""
        payloads = MediaPayloads(self.device.native, room)
        self.execute()
        return list(payloads)

    def complaints(self) -> list[str]:
        return [str(event) for event in self.device.events()] + list(self.device.findings.count)

    def dwords(self, address: int, count: int) -> list[int]:
        return list(self.memory.read_dwords(address, count, Missing.ZERO))

    def rows(self, address: int, width: int, height: int, pitch: int) -> list[list[int]]:
        return [list(self.memory.read(address + y * pitch, width, Missing.ZERO)) for y in range(height)]


def vld(part: str = "gm45", **state: Any) -> Media:
    """The pipeline in VLD mode, ready for slices.  By default: I frame, frame prediction, identity remapping."""
    fields: dict[str, Any] = {
        "picture_structure": 3, "frame_prediction_frame_dct": True, "picture_coding_type": 1,
        **{f"f_code_{way}_{axis}": 1 for way in ("forward", "backward") for axis in ("horizontal", "vertical")}} | state
    if part == "gm45":
        fields = {f"interface_descriptor_remap_{i}": i for i in range(16)} | fields
    media = Media(part, VfeMode.VLD, extended=fields, extended_vfe_state_present=True) if part == "gm45" else \
        Media(part, VfeMode.VLD, extended=fields)
    media.select()
    return media


BLOCKS = "y0 y1 y2 y3 cb cr"


def macroblock(coded: str = "", **fields: Any) -> tuple[int, ...]:
    """The dwords of R1 of a thread of VLD mode; `coded` names the blocks with coefficients."""
    return tuple(PAYLOAD_VLD_R1.pack(Gen.CTG, **{f"coded_block_{block}": True for block in coded.split()}, **fields))


def fields_of(payload: MediaPayload) -> View:
    """R1 of a thread of VLD mode."""
    return PAYLOAD_VLD_R1.view(payload.data[0], gen=Gen.CTG)


def coefficients(payload: MediaPayload) -> list[dict[int, int]]:
    """The coded blocks of a VLD or IS payload: raster index to value, without zeros."""
    rows = payload.data[1:]
    blocks = []
    for at in range(0, len(rows), 4):
        words = struct.unpack("<64h", struct.pack("<32I", *(v for row in rows[at:at + 4] for v in row)))
        blocks.append({i: v for i, v in enumerate(words) if v})
    return blocks


def unit(index: int, value: int, end: bool = False) -> bytes:
    return struct.pack("<I", (value & 0xFFFF) << 16 | index << 1 | end)


def words(media: Media, *blocks: str, count: int = 10) -> list[int]:
    inline = list(block_named("MEDIA_INLINE_IS", media.gen).pack(
        media.gen, motion_type=2, picture_coding_type=2, **{f"coded_block_{b}": True for b in blocks}))
    return inline + list(range(count - 10))


def machine(mode: VfeMode, **extended: Any) -> Media:
    media = Media(mode=mode, extended=extended, extended_vfe_state_present=True)
    media.select()
    return media


def packed(text: str) -> bytes:
    """Bits, spaces for the eye."""
    bits = text.replace(" ", "")
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big")
