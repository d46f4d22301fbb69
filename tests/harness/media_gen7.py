"""A media pipeline of Gen7 for tests: state in commands, kernels with the assembler, batches on a whole Device."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gen4emu.device.device import Device
from gen4emu.device.media import MediaPayload, MediaPayloads
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen7.messages import RenderCacheTypeGen7
from gen4emu.isa import assemble
from tests.harness.messages import descriptor

BATCH, CURBE, DESCRIPTORS, DATA, KERNELS = 0x1000000, 0x22000, 0x21000, 0x100000, 0x40000
DYNAMIC, SURFACES, TABLE, SCRATCH, PICTURES = 0x20000, 0x90000, 0x800, 0xA0000, 0x200000
KERNEL_ROOM = 0x2000
_KEEP = descriptor("THREAD_SPAWNER_MESSAGE", Gen.IVB, end_of_thread=True, keep_urb_handle=True)
END = f"send(1) null<1>D g0<0,1,0>UD 0x{_KEEP:08x}D thread_spawner {{ align1 nomask EOT }};"


def write_block(surface: int, header: int, registers: int) -> str:
    """A media block write of the registers after the header."""
    message = descriptor("RENDER_CACHE_DATA_PORT_MESSAGE", Gen.IVB, length=registers + 1, header_present=True,
                         message_type=RenderCacheTypeGen7.MEDIA_BLOCK_WRITE, binding_table_index=surface)
    return f"send(8) null<1>UD g{header}<8,8,1>UD 0x{message:08x} render {{ align1 nomask }};\n"


def read_block(surface: int, header: int, to: int, registers: int, *, cache: str = "dp_sampler",
               message_control: int = 0) -> str:
    """A media block read."""
    message = descriptor("RENDER_CACHE_DATA_PORT_MESSAGE", Gen.IVB, response=registers, header_present=True,
                         message_type=RenderCacheTypeGen7.MEDIA_BLOCK_READ, binding_table_index=surface,
                         message_control=message_control)
    return f"send(8) g{to}<1>UD g{header}<8,8,1>UD 0x{message:08x} {cache} {{ align1 nomask }};\n"


def block_header(reg: int, x: str, y: str, width: int, height: int) -> str:
    """The header of a media block message; x and y are operands."""
    return f"""mov(8) g{reg}<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(1) g{reg}<1>UD {x} {{ align1 nomask }};
mov(1) g{reg}.1<1>UD {y} {{ align1 nomask }};
mov(1) g{reg}.2<1>UD 0x{(height - 1) << 16 | width - 1:08x}UD {{ align1 nomask }};
"""


class MediaGen7:
    """A device with the media pipeline selected; objects run when `run` is called."""

    far = 0  # what every base and all memory after it have above the addresses of this module

    def __init__(self, part: str = "ivb", *, constants: bytes = b"", workers: int = 1, options: Options | None = None,
                 **vfe: Any) -> None:
        self.device = Device(BY_NAME[part], options or Options(workers=workers))
        self.gen = self.device.info.gen
        self.memory = self.device.memory
        self.catalogue = catalogue_of(self.gen)
        self.commands = b""
        self.descriptors: dict[int, bytes] = {}
        self.constants = constants
        self.vfe = {"maximum_number_of_threads": 32, "number_of_urb_entries": 32, "urb_entry_allocation_size": 16} | vfe
        self.kernel(0, END)

    def build(self, name: str, **fields: Any) -> bytes:
        return bytes(self.catalogue.block(name).build(self.gen, **fields))

    def kernel(self, number: int, text: str, **descriptor: Any) -> int:
        """The kernel of an interface descriptor; returns its offset from the instruction base."""
        offset = KERNEL_ROOM * number
        self.memory.write(self.far + KERNELS + offset, assemble(text, self.gen))
        self.descriptors[number] = self.build("INTERFACE_DESCRIPTOR_DATA", **{
            "kernel_start_pointer": offset, "binding_table_pointer": TABLE} | descriptor)
        return offset

    # --- surfaces ---------------------------------------------------------------------------------------------------
    def _surface(self, index: int, state: bytes) -> None:
        self.memory.write(self.far + SURFACES + 0x40 * index, state)
        self.memory.write(self.far + SURFACES + TABLE + 4 * index, struct.pack("<I", 0x40 * index))

    def surface(self, index: int, address: int, width: int, height: int, pitch: int, **fields: Any) -> None:
        """Of bytes, for media blocks, which see the width in dwords."""
        self._surface(index, self.build("RENDER_SURFACE_STATE", **{
            "surface_type": "SURFTYPE_2D", "surface_format": "R8_UNORM", "width": width // 4, "height": height,
            "surface_pitch": pitch, "surface_base_address": address} | fields))

    def media_surface(self, index: int, address: int, width: int, height: int, pitch: int, **fields: Any) -> None:
        """For the sampler's media messages."""
        self._surface(index, self.build("MEDIA_SURFACE_STATE", **{
            "surface_format": "Y8_UNORM", "width": width, "height": height, "surface_pitch": pitch,
            "surface_base_address": address} | fields))

    # --- commands ---------------------------------------------------------------------------------------------------
    def command(self, name: str, **fields: Any) -> None:
        self.commands += self.catalogue.command(name).build(self.gen, **fields)

    def select(self) -> None:
        """The commands before the objects."""
        self.select_pipeline()
        bases = {"general_state_base_address": 0, "surface_state_base_address": SURFACES,
                 "dynamic_state_base_address": DYNAMIC, "indirect_object_base_address": 0,
                 "instruction_base_address": KERNELS}
        self.command("STATE_BASE_ADDRESS", **{name: self.far + base for name, base in bases.items()},
                     **{f"{name}_modify_enable": True for name in bases})
        self.command("MEDIA_VFE_STATE", **self.vfe)
        self.load()

    def select_pipeline(self) -> None:
        self.command("PIPELINE_SELECT", pipeline_selection="MEDIA")

    def load(self) -> None:
        """Constants and descriptors."""
        if self.constants:
            self.memory.write(self.far + CURBE, self.constants)
            self.command("MEDIA_CURBE_LOAD", curbe_total_data_length=len(self.constants),
                         curbe_data_start_address=CURBE - DYNAMIC)
        count = max(self.descriptors) + 1
        for number, block in self.descriptors.items():
            self.memory.write(self.far + DESCRIPTORS + 32 * number, block)
        self.command("MEDIA_INTERFACE_DESCRIPTOR_LOAD", interface_descriptor_total_length=32 * count,
                     interface_descriptor_data_start_address=DESCRIPTORS - DYNAMIC)

    def object(self, words: Sequence[int] = (), data: bytes = b"", *, name: str = "MEDIA_OBJECT",
               **fields: Any) -> None:
        if data:
            self.memory.write(self.far + DATA, data)
            fields = {"indirect_data_length": len(data), "indirect_data_start_address": DATA} | fields
        self.command(name, inline_data=[[word] for word in words], **fields)

    def execute(self) -> None:
        self.memory.write(BATCH, self.commands + self.catalogue.command("MI_BATCH_BUFFER_END").build(self.gen))
        self.commands = b""
        self.device.run_batch(BATCH)

    def run(self, room: int = 4096) -> list[MediaPayload]:
        """Execute what was collected; the threads that started."""
        payloads = MediaPayloads(self.device.native, room)
        self.execute()
        return list(payloads)

    def complaints(self) -> list[str]:
        return [str(event) for event in self.device.events()] + list(self.device.findings.count)

    def rows(self, address: int, width: int, height: int, pitch: int) -> list[list[int]]:
        return [list(self.memory.read(address + y * pitch, width, Missing.ZERO)) for y in range(height)]
