"""The sampling engine of Gen9, one message at a time: its surfaces and samplers, after the interface for Gen7."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gen4emu.device.tiling import Tiling
from gen4emu.hw.added_formats import format_info_on
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen9.message_shapes import SAMPLER_MESSAGES_GEN9
from gen4emu.hw.later_formats import AstcSurfaceFormat
from tests.harness.texturing_gen7 import BORDER, IDENTITY, SAMPLERS, SURFACES, TEXTURE, Texturing7

_TILE_MODES = {Tiling.LINEAR: "LINEAR", Tiling.X: "XMAJOR", Tiling.Y: "YMAJOR", Tiling.W: "WMAJOR"}


class Texturing9(Texturing7):
    shapes = SAMPLER_MESSAGES_GEN9

    def __init__(self, gen: Gen = Gen.KBL, threads: int = 1) -> None:
        super().__init__(gen, threads)

    def surface(self, format: str, width: int = 1, height: int = 1, depth: int = 1, *, type: str = "SURFTYPE_2D",
                levels: int = 1, tiling: Tiling = Tiling.LINEAR, pitch: int | None = None, data: bytes | None = None,
                size: int = 1 << 18, **fields: Any) -> None:
        code = AstcSurfaceFormat[format]
        info = format_info_on(int(code), self.gen)
        assert info is not None
        self.tiling = tiling
        self.texel_bytes = info.block_bits // 8
        self.block_width, self.block_height = info.block_width, info.block_height
        tile = tiling.tile[0]
        blocks = (2 * width + 16) // info.block_width + 1
        self.pitch = pitch if pitch is not None else -(-max(64, blocks * self.texel_bytes) // tile) * tile
        values = IDENTITY | {
            "surface_base_address": TEXTURE, "width": width, "height": height, "depth": depth,
            "tile_mode": _TILE_MODES[tiling], "surface_vertical_alignment": "VALIGN_4",
            "surface_horizontal_alignment": "HALIGN_4", "surface_qpitch": 4 * height,
            "surface_array": type != "SURFTYPE_3D" and depth > 1,
        }
        if type == "SURFTYPE_CUBE":
            values |= {f"cube_face_enable_{sign}_{axis}": 1 for sign in ("negative", "positive") for axis in "xyz"}
        self.state = block_named("RENDER_SURFACE_STATE", self.gen).pack(
            self.gen, surface_type=type, surface_format=code, mip_count_lod=levels - 1, surface_pitch=self.pitch,
            **(values | fields))
        self.memory.write(SURFACES + 0x100, np.array(self.state, np.uint32).tobytes())
        self.memory.write(TEXTURE, data if data is not None else bytes(size))

    def sampler(self, filter: str = "NEAREST", mip: str = "NONE", mode: str = "CLAMP", *, rounding: bool = False,
                border: Sequence[float] | None = None, **fields: Any) -> None:
        values = {
            "lod_preclamp_mode": "OGL", "min_mode_filter": filter, "mag_mode_filter": filter, "mip_mode_filter": mip,
            "max_lod": 13.0, "border_color_pointer": BORDER,
            **{f"tc{axis}_address_control_mode": mode for axis in "xyz"},
            **{f"{axis}_address_{which}_filter_rounding_enable": int(rounding)
               for axis in "uvr" for which in ("mag", "min")},
        }
        words = block_named("SAMPLER_STATE", self.gen).pack(self.gen, **(values | fields))
        self.memory.write(SAMPLERS, np.array(words, np.uint32).tobytes())
        if border is not None:
            self.memory.write(BORDER, np.array(border, np.float32).tobytes())
