"""A render target and a depth buffer on the bench of the color calculator, looked at pixel by pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu.device.tiling import SurfaceLayout, Tiling
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.hw.gen import Gen
from tests.harness.pixel_probe import PixelProbe, header_flag

TARGETS, DEPTH = 0x100000, 0x800000
DEPTH_BYTES = {"D32_FLOAT_S8X24_UINT": 8, "D32_FLOAT": 4, "D24_UNORM_S8_UINT": 4, "D24_UNORM_X8_UINT": 4,
               "D16_UNORM": 2}
Color = Sequence[float]

BACK, SOURCE_DEPTH, DEST_DEPTH, DEST_STENCIL, AA = (header_flag(name) for name in (
    "back_facing", "source_depth_to_render_target", "destination_depth_present", "destination_stencil_present",
    "antialias_alpha_to_render_target"))


class Target:
    """A surface of its own, `width` x `height` pixels."""

    def __init__(self, probe: PixelProbe, name: str, width: int, height: int, tiling: Tiling,
                 **fields: Any) -> None:
        info = format_info(SurfaceFormat[name])
        assert info is not None
        self.info, self.width, self.height = info, width, height
        self.bytes = 2 if info.yuv else info.block_bits // 8
        across = {Tiling.LINEAR: 64, Tiling.X: 512, Tiling.Y: 128}[tiling]
        self.pitch = -(-width * self.bytes // across) * across
        self.address = TARGETS + probe.surfaces * 0x80000
        self.memory = probe.memory
        self.layout = SurfaceLayout(self.address, self.pitch, self.pitch, (height + 31) // 32 * 32 + 32, 1, tiling)
        self.memory.write(self.address, bytes(0x20000))
        wanted: dict[str, Any] = {
            "surface_type": "SURFTYPE_2D", "surface_format": SurfaceFormat[name], "width": width, "height": height,
            "depth": 1, "surface_pitch": self.pitch, "surface_base_address": self.address,
            "tiled_surface": tiling is not Tiling.LINEAR, "color_blend_enable": True,
            "tile_walk": "YMAJOR" if tiling is Tiling.Y else "XMAJOR"} | fields
        self.index = probe.add_surface(**{name: value for name, value in wanted.items() if value is not None})

    def clear(self, value: int) -> None:
        count = self.pitch // self.bytes * self.layout.height
        self.layout.write(self.memory, value.to_bytes(self.bytes, "little") * count)

    def image(self) -> NDArray[np.uint8]:
        """[row][pixel][byte]"""
        data = np.frombuffer(bytes(self.layout.read(self.memory)), np.uint8)
        return data.reshape(self.layout.height, self.pitch // self.bytes, self.bytes)

    def raw(self, x: int, y: int) -> int:
        return int.from_bytes(self.image()[y, x].tobytes(), "little")

    def row(self, y: int, count: int = 8) -> list[int]:
        return [int.from_bytes(self.image()[y, x].tobytes(), "little") for x in range(count)]

    def channels(self, x: int, y: int) -> list[int]:
        """R, G, B, A codes of a pixel; -1 for those the format lacks."""
        value = self.raw(x, y)
        return [value >> c.at & ((1 << c.bits) - 1) if c.bits else -1 for c in self.info.outputs]


class Canvas:
    """Draws four subspans at a time: 8x2 pixels from (x, y) on."""

    def __init__(self, name: str = "R8G8B8A8_UNORM", width: int = 64, height: int = 32,
                 tiling: Tiling = Tiling.Y, gen: Gen = Gen.EL, zbuffer: str | None = None,
                 depth_fields: dict[str, Any] | None = None, **fields: Any) -> None:
        self.probe = PixelProbe(gen)
        self.memory = self.probe.memory
        self.target = Target(self.probe, name, width, height, tiling, **fields)
        self.depth_layout: SurfaceLayout | None = None
        self.depth_bytes = 4
        if zbuffer is not None:
            self.depth_bytes = DEPTH_BYTES[zbuffer]
            wanted: dict[str, Any] = {
                "surface_type": "SURFTYPE_2D", "surface_format": zbuffer, "width": width, "height": height, "depth": 1,
                "surface_pitch": 512, "surface_base_address": DEPTH, "tiled_surface": True, "tile_walk": "YMAJOR"}
            wanted |= depth_fields or {}
            tiled = Tiling.Y if wanted["tiled_surface"] else Tiling.LINEAR
            pitch = wanted["surface_pitch"]
            self.depth_layout = SurfaceLayout(DEPTH, pitch, pitch, 128, 1, tiled)
            self.memory.write(DEPTH, bytes(0x20000))
            self.probe.depth_buffer(**wanted)

    def add(self, name: str = "R8G8B8A8_UNORM", tiling: Tiling = Tiling.Y, **fields: Any) -> Target:
        return Target(self.probe, name, self.target.width, self.target.height, tiling, **fields)

    def begin(self, threads: int = 1, **blocks: Any) -> None:
        self.probe.begin(threads, **blocks)

    def message(self, color: Color | NDArray[Any], x: int = 0, y: int = 0, *, thread: int = 0,
                pixels: int = 0xFFFF, flags: int = 0, payload: Sequence[NDArray[Any]] = (), first: int = 2,
                **header: Any) -> None:
        """Lay out a SIMD16 message: one color for all pixels, or sixteen."""
        colors = np.asarray(color, np.float32) if not isinstance(color, np.ndarray) else color
        if colors.ndim == 1:
            colors = np.tile(colors, (16, 1))
        self.probe.header(thread, pixels=pixels, x=[x, x + 2, x + 4, x + 6], y=[y] * 4, flags=flags, **header)
        self.probe.color16(colors, thread, first)
        for i, register in enumerate(payload):
            self.probe.mrf(first + 8 + i, thread)[:] = np.ascontiguousarray(register).view(np.uint32)

    def draw(self, color: Color | NDArray[Any], x: int = 0, y: int = 0, *, index: int | None = None,
             last: bool = True, length: int = 10, **message: Any) -> None:
        """One thread's write."""
        self.message(color, x, y, **message)
        self.probe.write(index=self.target.index if index is None else index, last=last, length=length)

    # --- depth and stencil ---

    def depth_raw(self, x: int, y: int) -> int:
        assert self.depth_layout is not None
        data = bytes(self.depth_layout.read(self.memory, x * self.depth_bytes, y, self.depth_bytes, 1))
        return int.from_bytes(data, "little")

    def clear_depth(self, value: int) -> None:
        layout = self.depth_layout
        assert layout is not None
        count = layout.pitch_bytes // self.depth_bytes * layout.height
        layout.write(self.memory, value.to_bytes(self.depth_bytes, "little") * count)

    def early(self, z: float | Sequence[float], lit: int = 0xFFFF, x: int = 0, y: int = 0, **more: Any) -> int:
        depths = [z] * 16 if isinstance(z, float) else list(z)
        return self.probe.early([x, x + 2, x + 4, x + 6], [y] * 4, lit, depths, **more)

    def late(self, z: float | Sequence[float], color: Color = (1, 1, 1, 1), *, flags: int = SOURCE_DEPTH | DEST_DEPTH,
             **message: Any) -> None:
        """A write whose message has source depth; `flags` are those of its header."""
        depths = np.full(16, z, np.float32) if isinstance(z, float) else np.asarray(z, np.float32)
        payload = [depths[:8], depths[8:]]
        length = 12 + (2 if flags & DEST_DEPTH else 0)
        if flags & (DEST_STENCIL | AA):
            length += 1
            message["first"] = 3
        self.draw(color, flags=flags, payload=payload, length=length, **message)
