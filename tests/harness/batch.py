"""A small machine for tests: memory that blocks are packed into, and batches made of packed commands."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gen4emu.decode import Command, Decoder, Diagnostic, Item, Node, Options, State
from gen4emu.hw import catalogue
from gen4emu.hw.chips import device_named
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from gen4emu.trace.events import Engine, Submission
from tests.harness.messages import PLANES, WRITE_16

BATCH = 0x0010_0000
(END,) = catalogue.command_named("MI_BATCH_BUFFER_END", Gen.CTG).pack(Gen.CTG)
# A pixel shader that writes one color to render target 0, a vertex shader that only ends.
PS = f"send(16) 1 null<1>UW g0<8,8,1>UW {WRITE_16} {{ align1 }};"


class BatchDecoder:
    """Packs state and commands for one device, decodes them."""

    def __init__(self, device: str = "gm45", **options: Any) -> None:
        found = device_named(device)
        assert found is not None
        self.device, self.gen = found, found.gen
        self.decoder = Decoder(found, options=Options(**options))

    def put(self, name: str, address: int, **values: Any) -> int:
        block = catalogue.block_named(name, self.gen)
        self.decoder.memory.write(address, block.build(self.gen, **values))
        return address

    def dwords(self, address: int, *words: int) -> int:
        self.decoder.memory.write(address, struct.pack(f"<{len(words)}I", *words))
        return address

    def kernel(self, address: int, text: str) -> int:
        self.decoder.memory.write(address, assemble(text, self.gen))
        return address

    def command(self, name: str, **values: Any) -> list[int]:
        return catalogue.command_named(name, self.gen).pack(self.gen, **values)

    def batch(self, *commands: Sequence[int], address: int = BATCH, end: bool = True) -> int:
        words = [w for c in commands for w in c]
        return self.dwords(address, *words, *([END] if end else []))

    def run(self, *commands: Sequence[int]) -> list[Item]:
        """Decode a batch of these commands."""
        self.batch(*commands)
        return self.decode()

    def decode(self, address: int = BATCH) -> list[Item]:
        return list(self.decoder.batch(address))

    def submit(self, *ring: int, acthd: int | None = None) -> list[Item]:
        event = Submission(0, Engine.RENDER, struct.pack(f"<{len(ring)}I", *ring), 0x1000, acthd=acthd,
                           hung=acthd is not None)
        self.decoder.changed()
        return list(self.decoder.submission(event))


def commands(items: Sequence[Item]) -> list[Command]:
    return [i for i in items if isinstance(i, Command)]


def names(items: Sequence[Item]) -> list[str]:
    return [c.body.name for c in commands(items)]


def nodes(items: Sequence[Item]) -> list[Node]:
    return [n for c in commands(items) for n in c.walk()]


def states(items: Sequence[Item], name: str) -> list[State]:
    return [n for n in nodes(items) if isinstance(n, State) and n.body.name == name]


def diagnostics(items: Sequence[Item]) -> list[Diagnostic]:
    return [d for n in nodes(items) for d in n.diagnostics] + [i for i in items if isinstance(i, Diagnostic)]


def rules(items: Sequence[Item]) -> list[str]:
    return [d.rule for d in diagnostics(items)]


def bases(machine: BatchDecoder, general: int = 0, surface: int = 0) -> list[int]:
    return machine.command(
        "STATE_BASE_ADDRESS", general_state_base_address=general, general_state_base_address_modify_enable=True,
        surface_state_base_address=surface, surface_state_base_address_modify_enable=True)


def pixel_pipeline(machine: BatchDecoder, general: int = 0, kernel: str = PS, entries: int = 0,
                   samplers: int = 0) -> list[int]:
    """State for a pixel shader alone, at fixed offsets from the general state base."""
    machine.put("VS_STATE", general + 0x100, number_of_urb_entries=32, urb_entry_allocation_size=1)
    machine.put("SF_STATE", general + 0x200, kernel_start_pointer=0x1000, number_of_urb_entries=8,
                urb_entry_allocation_size=2, vertex_urb_entry_read_length=2, dispatch_grf_start_register=3)
    machine.put("WM_STATE", general + 0x300, kernel_start_pointer=0x2000, thread_dispatch_enable=True,
                binding_table_entry_count=entries, sampler_state_pointer=0x600, sampler_count=samplers,
                setup_urb_entry_read_length=4, dispatch_grf_start_register=2, maximum_number_of_threads=1)
    machine.put("COLOR_CALC_STATE", general + 0x400, color_calculator_viewport_state_pointer=0x500)
    machine.put("CC_VIEWPORT", general + 0x500, maximum_depth=1.0)
    machine.kernel(general + 0x1000, f"send(8) 0 null<1>F g0<8,8,1>F {PLANES} {{ align1 }};")
    machine.kernel(general + 0x2000, kernel)
    return machine.command(
        "3DSTATE_PIPELINED_POINTERS", pointer_to_vs_state=0x100, pointer_to_sf_state=0x200, pointer_to_wm_state=0x300,
        pointer_to_color_calc_state=0x400)


def table(machine: BatchDecoder, at: int = 0x40) -> list[int]:
    return machine.command("3DSTATE_BINDING_TABLE_POINTERS", pointer_to_ps_binding_table=at)


def surface(machine: BatchDecoder, address: int, base: int = 0x0090_0000) -> int:
    return machine.put("SURFACE_STATE", address, surface_type="SURFTYPE_2D", width=64, height=64, surface_pitch=256,
                       surface_format=SurfaceFormat.B8G8R8A8_UNORM, surface_base_address=base)


def triangle(machine: BatchDecoder) -> list[list[int]]:
    machine.dwords(0x0050_0000, *struct.unpack("<9I", struct.pack("<9f", *range(9))))
    return [
        machine.command("3DSTATE_VERTEX_BUFFERS", vertex_buffers=[
            {"vertex_buffer_index": 0, "buffer_pitch": 12, "buffer_starting_address": 0x0050_0000}]),
        machine.command("3DSTATE_VERTEX_ELEMENTS", vertex_elements=[
            {"valid": True, "source_element_format": SurfaceFormat.R32G32B32_FLOAT, "component_0_control": 1,
             "component_1_control": 1, "component_2_control": 1, "component_3_control": 3}]),
        machine.command("3DPRIMITIVE", primitive_topology_type=4, vertex_count_per_instance=3, instance_count=1),
    ]
