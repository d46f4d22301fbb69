"""Pixel shaders in place of those of a capture of Gen7."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import RenderTargetWriteTypeGen6 as WriteType
from gen4emu.hw.gen7.messages import RenderCacheTypeGen7
from tests.harness.messages import descriptor

PLACE_8, PLACE_16 = 0x800, 0xC00  # of the shaders, from the instruction base on


def target_write(kind: WriteType, registers: int) -> str:
    """The last message of a shader, of Ivy Bridge and Haswell, as hexadecimal digits."""
    message = descriptor("RENDER_CACHE_DATA_PORT_MESSAGE", Gen.IVB, length=registers, end_of_thread=True,
                         message_type=RenderCacheTypeGen7.RENDER_TARGET_WRITE, last_render_target_select=True,
                         render_target_write_type=kind)
    return f"0x{message:08x}"


WRITE_8 = f"sendc(8) null<1>UW g124<8,8,1>UD {target_write(WriteType.SIMD8, 4)} render {{ align1 1Q EOT }};"
WRITE_16 = f"sendc(16) null<1>UW g120<8,8,1>UD {target_write(WriteType.SIMD16, 8)} render {{ align1 1H EOT }};"
REPLICATED = (f"sendc(16) null<1>UW g114<8,8,1>F {target_write(WriteType.SIMD16_REPLICATED, 1)} "
              "render { align1 1H EOT };")
# the constant terms of the four channels
FLAT_8 = [f"mov(8) g{124 + i}<1>F g{4 + i // 2}.{3 + 4 * (i % 2)}<0,1,0>F {{ align1 1Q }};" for i in range(4)]
FLAT_16 = [f"mov(16) g{120 + 2 * i}<1>F g{6 + i // 2}.{3 + 4 * (i % 2)}<0,1,0>F {{ align1 1H }};" for i in range(4)]


@dataclass
class Shader(Listener):
    """Gives all pixel shaders other instructions, and all targets other blending."""

    device: Device
    kernels: tuple[bytes, bytes]
    blending: dict[str, Any] = field(default_factory=dict)

    def draw_started(self, words: Any) -> None:
        gen7 = self.device.state.gen7
        for kernel, place in zip(self.kernels, (PLACE_8, PLACE_16), strict=True):
            self.device.memory.write(gen7.instruction_base + place, kernel)
        if gen7.ps[1] and gen7.ps[7]:  # of 8 and of 16 pixels
            gen7.ps[1], gen7.ps[7] = PLACE_8, PLACE_16
        if self.blending:
            gen = self.device.info.gen
            pointers = command_named("3DSTATE_BLEND_STATE_POINTERS", gen).view(list(gen7.blend_state_pointers), gen=gen)
            at = gen7.dynamic_state_base + pointers.blend_state_pointer
            blend = block_named("BLEND_STATE", gen).build(gen, entries=[self.blending] * 8)
            self.device.memory.write(at, blend)
