"""Batches of Gen6 or later for tests: blocks of its own generation, bases, stages that run a kernel."""

from __future__ import annotations

from typing import Any

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen6.messages import RenderTargetWriteTypeGen6 as WriteType
from gen4emu.isa import assemble
from tests.harness.batch import BatchDecoder
from tests.harness.messages import ONE_CHANNEL, operand
from tests.harness.parts import LATER, names

DEVICES = names(LATER)
KERNELS, DYNAMIC, SURFACES = 0x1_0000, 0x2_0000, 0x3_0000
SAMPLING_KERNEL = 0x400  # its place in KERNELS
NO_SURFACE = 255  # binding table index


class LaterDecoder(BatchDecoder):
    """`high` is added to the places of instructions, dynamic state and surfaces: 4 GiB where addresses have 48 bits."""

    def __init__(self, device: str, **options: Any) -> None:
        super().__init__(device, **options)
        self.high = 1 << 32 if self.device.address_bits > 32 else 0
        self.catalogue = catalogue_of(self.gen)

    def block(self, name: str, address: int, **values: Any) -> int:
        self.decoder.memory.write(self.high + address, self.catalogue.block(name).build(self.gen, **values))
        return self.high + address

    def words(self, address: int, *words: int) -> int:
        return self.dwords(self.high + address, *words)

    def _target_write(self, index: int, kind: int = WriteType.SIMD8) -> str:
        """The last instruction of a pixel shader."""
        source = "m1<8,8,1>F" if self.device.name == "snb" else "g124<8,8,1>F"
        message = operand("RENDER_CACHE_DATA_PORT_MESSAGE", self.gen, length=4, end_of_thread=True,
                          message_type="RENDER_TARGET_WRITE", last_render_target_select=True,
                          render_target_write_type=kind, binding_table_index=index)
        return f"sendc(8) null<1>UW {source} {message} render {{ align1 1Q EOT }};"

    def target_kernel(self, at: int, index: int) -> int:
        """A pixel shader of 8 pixels that writes a render target."""
        text = self._target_write(index)
        self.decoder.memory.write(self.high + KERNELS + at, assemble(text, self.gen))
        return self.high + KERNELS + at

    def sampling_kernel(self, message: int, write: int, *, predicate: bool = False, target: int = 0) -> int:
        """A pixel shader of 8 pixels that samples surface 1 with sampler 0 and writes a render target.

        `message` and `write` are the types of the two messages, `predicate` is that of the write.
        """
        sample = operand("SAMPLER_MESSAGE", self.gen, length=4, response=4, simd_mode="SIMD8", message_type=message,
                         binding_table_index=1)
        condition = "(+f0.0) " if predicate else ""
        payload = "m2<8,8,1>F" if self.device.name == "snb" else "g10<8,8,1>F"
        text = (f"send(8) g2<1>UW {payload} {sample} sampler {{ align1 1Q }};\n"
                f"{condition}{self._target_write(target, write)}")
        self.decoder.memory.write(self.high + KERNELS + SAMPLING_KERNEL, assemble(text, self.gen))
        return self.high + KERNELS + SAMPLING_KERNEL

    def storing_kernel(self) -> int:
        """A pixel shader of 8 pixels that writes dwords to surface 0."""
        write = operand("DATA_CACHE_DATA_PORT_1_MESSAGE", self.gen, length=2, message_type="UNTYPED_SURFACE_WRITE",
                        simd_mode="SIMD8", channel_mask=ONE_CHANNEL)
        text = (f"send(8) null<1>UW g10<8,8,1>F {write} dp data 1 {{ align1 1Q }};\n" + self._target_write(NO_SURFACE))
        self.decoder.memory.write(self.high + KERNELS, assemble(text, self.gen))
        return self.high + KERNELS

    # --- commands -----------------------------------------------------------------------------------------------------
    def has(self, name: str) -> bool:
        return any(c.name == name for c in self.catalogue.commands)

    def bases(self, **more: Any) -> list[int]:
        """STATE_BASE_ADDRESS with the three places."""
        values: dict[str, Any] = {}
        for name, address in (("instruction", KERNELS), ("dynamic_state", DYNAMIC), ("surface_state", SURFACES)):
            values |= {f"{name}_base_address": self.high + address, f"{name}_base_address_modify_enable": True}
        return self.command("STATE_BASE_ADDRESS", **values, **more)

    def table(self, stage: str, offset: int) -> list[int]:
        """The binding table of one stage."""
        pointer = {f"pointer_to_{stage}_binding_table": offset}
        if self.device.name == "snb":
            return self.command("3DSTATE_BINDING_TABLE_POINTERS", **{f"{stage}_binding_table_change": True}, **pointer)
        return self.command(f"3DSTATE_BINDING_TABLE_POINTERS_{stage.upper()}", **pointer)

    def samplers(self, stage: str, offset: int) -> list[int]:
        pointer = {f"pointer_to_{stage}_sampler_state": offset}
        if self.device.name == "snb":
            return self.command("3DSTATE_SAMPLER_STATE_POINTERS", **{f"{stage}_sampler_state_change": True}, **pointer)
        return self.command(f"3DSTATE_SAMPLER_STATE_POINTERS_{stage.upper()}", **pointer)

    def pixel_shader(self, **values: Any) -> list[list[int]]:
        """The commands that set up a pixel shader, of 8 pixels if nothing else is said, and enable it."""
        values = values or {"dispatch_8_pixel_enable": True}
        if self.device.name == "snb":
            return [self.command("3DSTATE_WM", thread_dispatch_enable=True, **values)]
        enable = ("3DSTATE_PS_EXTRA", "pixel_shader_valid") if self.has("3DSTATE_PS_EXTRA") else \
            ("3DSTATE_WM", "thread_dispatch_enable")
        return [self.command("3DSTATE_PS", **values), self.command(enable[0], **{enable[1]: True})]

    def draw(self, **values: Any) -> list[int]:
        return self.command("3DPRIMITIVE", **{"vertex_count_per_instance": 3, "instance_count": 1, **values})
