"""Render target writes of Gen7 to Gen9: a rectangle in one draw, whose pixel shader is given as text."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu.hw.catalogue import block_named
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from tests.harness.commands import Machine, command
from tests.harness.messages import descriptor

VERTICES, SURFACES, DYNAMIC, KERNEL, TARGETS = 0x40000, 0x50000, 0x60000, 0x70000, 0x100000
SIDE = 32  # of the targets, in pixels
_TABLE, _STATE, _TARGET_BYTES = 0x0, 0x100, 0x10000  # in SURFACES; of one surface state, of one target
_STORE_SRC = {f"component_{c}_control": "STORE_SRC" for c in range(4)}
_COLOR = 120  # the first of the registers that `color` fills


def target_write(gen: Gen, length: int = 4, kind: str = "SIMD8", *, target: int = 0, last: bool = True,
                 **fields: Any) -> str:
    """The operand of a render target write; the last one of a shader ends the thread."""
    word = descriptor("RENDER_CACHE_DATA_PORT_MESSAGE", gen, length=length, end_of_thread=last,
                      message_type="RENDER_TARGET_WRITE", last_render_target_select=last,
                      render_target_write_type=kind, binding_table_index=target, **fields)
    return f"0x{word:08x} render"


def color(red: float, green: float, blue: float, alpha: float, first: int = _COLOR) -> str:
    """Fill four registers with a color."""
    return "".join(f"mov(8) g{first + i}<1>F {value!r}F {{ align1 1Q }};\n"
                   for i, value in enumerate((red, green, blue, alpha)))


def send(message: str, first: int = _COLOR, *, last: bool = True) -> str:
    """Send registers from `first` on to a render target."""
    return f"sendc(8) null<1>UW g{first}<8,8,1>UD {message} {{ align1 1Q{' EOT' if last else ''} }};\n"


class Canvas7(Machine):
    """Targets of SIDE x SIDE pixels, linear, at binding table entries 0, 1, ..."""

    def __init__(self, name: str = "ivb", formats: tuple[str, ...] = ("R8G8B8A8_UNORM",), **options: Any) -> None:
        super().__init__(name, **options)
        self.pixel_bytes: list[int] = []
        self.device.memory.write(SURFACES, bytes(0x1000))
        for i, surface_format in enumerate(formats):
            info = format_info(SurfaceFormat[surface_format])
            assert info is not None
            self.pixel_bytes.append(info.block_bits // 8)
            self.device.memory.write(self.address(i), bytes(_TARGET_BYTES))
            self.surface(i, surface_format=surface_format)
        self.device.memory.write(DYNAMIC, struct.pack("<2f", 0.0, 1.0).ljust(0x1000, b"\0"))

    @staticmethod
    def address(target: int) -> int:
        return TARGETS + _TARGET_BYTES * target

    def surface(self, target: int, **fields: Any) -> None:
        """Write the surface state of a target, and its entry in the binding table."""
        state = _STATE + 64 * target
        entry = {"surface_type": "SURFTYPE_2D", "width": SIDE, "height": SIDE, "depth": 1,
                 "surface_pitch": SIDE * self.pixel_bytes[target], "surface_base_address": self.address(target),
                 "surface_vertical_alignment": "VALIGN_4", "surface_horizontal_alignment": "HALIGN_4"} | fields
        self.device.memory.write(SURFACES + state, block_named("RENDER_SURFACE_STATE", self.gen).build(
            self.gen, **entry))
        self.device.memory.write(SURFACES + _TABLE + 4 * target, struct.pack("<I", state))

    def image(self, target: int = 0) -> NDArray[np.uint8]:
        """[row][pixel][byte]"""
        size = self.pixel_bytes[target]
        data = self.device.memory.read(self.address(target), SIDE * SIDE * size)
        return np.frombuffer(bytes(data), np.uint8).reshape(SIDE, SIDE, size)

    def write(self, length: int = 4, kind: str = "SIMD8", **fields: Any) -> str:
        """The operand of a render target write of this part (`target_write`)."""
        return target_write(self.gen, length, kind, **fields)

    def draw(self, kernel: str, x1: int = 0, y1: int = 0, x2: int = SIDE, y2: int = SIDE, *,
             vertices: Sequence[tuple[float, float, float]] | None = None, blend: dict[str, Any] | None = None,
             commands: dict[str, dict[str, Any] | None] | None = None) -> NDArray[np.uint8]:
        """Draw a rectangle with a shader of eight pixels; returns the image of target 0.

        `vertices` are drawn instead: x, y and z of each; they are rectangles unless `commands` says otherwise.
        `blend` are fields of the entries of BLEND_STATE.  `commands` overrides fields of commands by name, and adds
        other commands before the draw; None leaves one out.
        """
        memory = self.device.memory
        memory.write(KERNEL, assemble(kernel, self.gen))
        memory.write(DYNAMIC + 0x100, block_named("BLEND_STATE", self.gen).build(
            self.gen, entries=[blend or {}] * len(self.pixel_bytes)))
        vertices = vertices or [(x2, y2, 0.5), (x1, y2, 0.5), (x1, y1, 0.5)]
        memory.write(VERTICES, b"".join(struct.pack("<4I4f", 0, 0, 0, 0, *vertex, 1.0) for vertex in vertices))
        fields = self._commands(len(vertices))
        primitive = fields.pop("3DPRIMITIVE")
        for name, values in (commands or {}).items():
            if values is None:
                del fields[name]
            elif name == "3DPRIMITIVE":
                primitive |= values
            else:
                fields[name] = fields.get(name, {}) | values
        fields["3DPRIMITIVE"] = primitive
        self.run(*(command(name, self.gen, **values) for name, values in fields.items()))
        return self.image()

    def _commands(self, vertices: int) -> dict[str, dict[str, Any]]:
        gen9 = bool(self.gen & Gen.GEN9)
        bases = {f"{name}_base_address": value for name, value in (
            ("surface_state", SURFACES), ("dynamic_state", DYNAMIC), ("instruction", KERNEL))}
        elements = [{"valid": True, "source_element_format": SurfaceFormat[name], "source_element_offset": 16 * i,
                     **_STORE_SRC} for i, name in enumerate(("R32G32B32A32_UINT", "R32G32B32A32_FLOAT"))]
        buffer = {"address_modify_enable": True, "buffer_pitch": 32, "buffer_starting_address": VERTICES,
                  **({"buffer_size": 32 * vertices} if gen9 else {"end_address": VERTICES + 32 * vertices - 1})}
        topology = {"primitive_topology_type": PrimitiveTopology.RECTLIST}
        threads = {"maximum_number_of_threads_per_psd": 32} if gen9 else {"maximum_number_of_threads": 32}
        own: dict[str, dict[str, Any]] = {
            "3DSTATE_VF_TOPOLOGY": topology, "3DSTATE_SF": {}, "3DSTATE_RASTER": {"cull_mode": "NONE"},
            "3DSTATE_WM": {}, "3DSTATE_PS_EXTRA": {"pixel_shader_valid": True},
            "3DSTATE_PS_BLEND": {"has_writeable_rt": True}} if gen9 else {
            "3DSTATE_SF": {"cull_mode": "NONE"}, "3DSTATE_WM": {"thread_dispatch_enable": True}}
        return {
            "STATE_BASE_ADDRESS": bases | {f"{name}_modify_enable": True for name in bases},
            "3DSTATE_VERTEX_BUFFERS": {"vertex_buffers": [buffer]},
            "3DSTATE_VERTEX_ELEMENTS": {"vertex_elements": elements},
            "3DSTATE_URB_VS": {"vs_urb_entry_allocation_size": 64, "vs_number_of_urb_entries": 64},
            "3DSTATE_CLIP": {},
            "3DSTATE_STREAMOUT": {},
            **own,
            "3DSTATE_SBE": {"vertex_urb_entry_read_length": 1, "vertex_urb_entry_read_offset": 1},
            "3DSTATE_PS": {"dispatch_8_pixel_enable": True, **threads},
            "3DSTATE_BINDING_TABLE_POINTERS_PS": {"pointer_to_ps_binding_table": _TABLE},
            "3DSTATE_VIEWPORT_STATE_POINTERS_CC": {"cc_viewport_pointer": 0},
            "3DSTATE_BLEND_STATE_POINTERS": {"blend_state_pointer": 0x100,
                                             **({"blend_state_pointer_valid": True} if gen9 else {})},
            "3DSTATE_SAMPLE_MASK": {"sample_mask": 1},
            "3DSTATE_DRAWING_RECTANGLE": {"clipped_drawing_rectangle_x_max": SIDE - 1,
                                          "clipped_drawing_rectangle_y_max": SIDE - 1},
            "3DPRIMITIVE": {"vertex_count_per_instance": vertices, "instance_count": 1, **({} if gen9 else topology)},
        }
