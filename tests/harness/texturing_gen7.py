"""A sampler of Gen7 on a bench for tests: one surface, one sampler, messages of one thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory
from gen4emu.device.tiling import Tiling
from gen4emu.hw.added_formats import format_info_on
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import SamplerMessageType as Message
from gen4emu.hw.gen6.messages import SamplerSimdMode as Simd
from gen4emu.hw.gen7.message_shapes import SAMPLER_MESSAGES_GEN7
from gen4emu.hw.gen7.state import buffer_entry_fields
from gen4emu.hw.later_formats import LaterSurfaceFormat
from tests.harness.messages import descriptor
from tests.harness.probe import Event, Probe

SURFACES, TABLE, SAMPLERS, BORDER, TEXTURE, CONTROL = 0x1000, 0x2000, 0x3000, 0x4000, 0x100000, 0x800000
RESPONSE, PAYLOAD = 20, 40
JUNK = 0xDEADBEEF
SAMPLER = 2
IDENTITY = {f"shader_channel_select_{name}": 4 + i for i, name in enumerate(("red", "green", "blue", "alpha"))}

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]


class Texturing7:
    """Surface 1 and sampler 0.  The defaults are a 2D texture, linear memory, NEAREST, CLAMP, LOD pre-clamp."""

    shapes = SAMPLER_MESSAGES_GEN7

    def __init__(self, gen: Gen = Gen.IVB, threads: int = 1, memory: Memory | None = None) -> None:
        self.gen = gen
        self.threads = threads
        self.memory = memory or Memory()
        self.probe = Probe(gen, self.memory)
        self.memory.write(TABLE, np.array([SURFACES + 0x100 * i for i in range(16)], np.uint32).tobytes())
        self.memory.write(BORDER, bytes(4096))
        self.memory.write(SAMPLERS, bytes(4096))
        self.sampler()

    # --- state ---

    def surface(self, format: str, width: int = 1, height: int = 1, depth: int = 1, *, type: str = "SURFTYPE_2D",
                levels: int = 1, tiling: Tiling = Tiling.LINEAR, pitch: int | None = None, data: bytes | None = None,
                size: int = 1 << 18, **fields: Any) -> None:
        block = block_named("RENDER_SURFACE_STATE", self.gen)
        code = LaterSurfaceFormat[format]
        info = format_info_on(int(code), self.gen)
        assert info is not None
        self.tiling = tiling
        self.texel_bytes = info.block_bits // 8
        self.block_width, self.block_height = info.block_width, info.block_height
        tile = tiling.tile[0]
        blocks = (2 * width + 16) // info.block_width
        self.pitch = pitch if pitch is not None else -(-max(64, blocks * self.texel_bytes) // tile) * tile
        if type in ("SURFTYPE_BUFFER", "SURFTYPE_STRBUF"):
            fields |= buffer_entry_fields(width)
            self.pitch = pitch if pitch is not None else self.texel_bytes
        else:
            fields |= {"width": width, "height": height, "depth": depth}
        if tiling is not Tiling.LINEAR:
            fields["tile_walk"] = "YMAJOR" if tiling is Tiling.Y else "XMAJOR"
        if type == "SURFTYPE_CUBE":
            faces = ("negative_x", "positive_x", "negative_y", "positive_y", "negative_z", "positive_z")
            fields = {f"cube_face_enable_{face}": 1 for face in faces} | fields
        if self.gen & Gen.HSW:
            fields = IDENTITY | fields
        if type != "SURFTYPE_NULL":
            fields["surface_base_address"] = TEXTURE
        self.state = block.pack(self.gen, surface_type=type, surface_format=code, mip_count_lod=levels - 1,
                                surface_pitch=self.pitch, tiled_surface=tiling is not Tiling.LINEAR, **fields)
        self.memory.write(SURFACES + 0x100, np.array(self.state, np.uint32).tobytes())
        self.memory.write(TEXTURE, data if data is not None else bytes(size))

    def sampler(self, filter: str = "NEAREST", mip: str = "NONE", mode: str = "CLAMP", *, rounding: bool = False,
                border: Sequence[float] | None = None, **fields: Any) -> None:
        values = {
            "lod_preclamp_enable": 1, "min_mode_filter": filter, "mag_mode_filter": filter, "mip_mode_filter": mip,
            "max_lod": 13.0, "border_color_pointer": BORDER,
            **{f"tc{axis}_address_control_mode": mode for axis in "xyz"},
            **{f"{axis}_address_{which}_filter_rounding_enable": int(rounding)
               for axis in "uvr" for which in ("mag", "min")},
        }
        words = block_named("SAMPLER_STATE", self.gen).pack(self.gen, **(values | fields))
        self.memory.write(SAMPLERS, np.array(words, np.uint32).tobytes())
        if border is not None:
            self.memory.write(BORDER, np.array(border, np.float32).tobytes())

    def place(self, level: int = 0, slice: int = 0) -> tuple[int, int]:
        place = ffi.new("uint32_t[2]")
        assert lib.g4_surface_place(ffi.new("uint32_t[]", list(self.state)), int(self.gen), level, slice, place)
        return int(place[0]), int(place[1])

    def texels(self, values: ArrayLike, level: int = 0, slice: int = 0) -> None:
        """Rows of texels (blocks) of one level and slice; each texel is one element, or the last axis its bytes."""
        image = np.asarray(values)
        if image.dtype.itemsize == self.texel_bytes:
            image = image[..., np.newaxis]
        image = image.view(np.uint8)
        x0, y0 = self.place(level, slice)
        self.rows(image, x0 // self.block_width, y0 // self.block_height)

    def rows(self, image: NDArray[np.uint8], x0: int, y0: int) -> None:
        """Bytes of texels, from a place in the whole surface on."""
        for y, row in enumerate(image):
            for x, texel in enumerate(row):
                at = int(lib.g4_tiling_offset(self.tiling, self.pitch, (x0 + x) * self.texel_bytes, y0 + y))
                self.memory.write(TEXTURE + at, texel.tobytes())

    # --- messages ---

    def send(self, message: int, registers: Sequence[ArrayLike], *, emask: int = 0xFFFF) -> Words:
        """The response registers [register][8] of a payload, its header included."""
        self.probe.start(self.threads, binding_table=TABLE, sampler_state=SAMPLERS)
        for i, register in enumerate(registers):
            self.probe.grf(PAYLOAD + i)[:] = np.asarray(register).view(np.uint32)
        for k in range(9):
            self.probe.grf(RESPONSE + k)[:] = JUNK
        self.probe.send_gen7(SAMPLER, message, PAYLOAD, RESPONSE, exec_size=16, emask=emask)
        return np.array([self.probe.grf(RESPONSE + k) for k in range(9)])

    def header(self, **fields: Any) -> Words:
        words = block_named("SAMPLER_MESSAGE_HEADER", self.gen).pack(
            self.gen, **{"sampler_state_pointer": SAMPLERS, **fields})
        return np.array(words, np.uint32)

    def message(self, message: Message, simd: Simd = Simd.SIMD8, *, header: dict[str, Any] | None = None,
                emask: int = 0xFFFF, rlen: int | None = None, integers: bool = False, **parameters: ArrayLike) -> Words:
        """A message whose parameters are given by name; each a number or one for each lane.  Result [lane][RGBA]."""
        shape = self.shapes[message, simd]
        names = shape.parameters.split()
        assert set(parameters) <= set(names), (sorted(parameters), names)
        last = max((names.index(name) for name in parameters), default=-1)
        kind = np.uint32 if integers else np.float32
        lanes = 2 if simd is Simd.SIMD4X2 else 16 if simd is Simd.SIMD16 else 8
        columns = [np.broadcast_to(np.asarray(parameters.get(name, 0), np.int64 if integers else np.float32),
                                   lanes).astype(kind) for name in names[:last + 1]]
        if simd is Simd.SIMD4X2:
            columns += [np.zeros(2, kind)] * (-len(columns) % 4)
            data = [np.array([columns[4 * r + c][s] for s in range(2) for c in range(4)], kind)
                    for r in range(len(columns) // 4)]
        else:
            data = [column[8 * h:8 * h + 8] for column in columns for h in range(lanes // 8)]
        registers = [*([self.header(**header)] if header is not None else []), *data]
        length = shape.response_length if rlen is None else rlen
        sent = descriptor("SAMPLER_MESSAGE", self.gen, length=len(registers), response=length, simd_mode=simd,
                          header_present=header is not None, message_type=message, binding_table_index=1)
        response = self.send(sent, registers, emask=emask)
        if simd is Simd.SIMD4X2:
            return response[0].reshape(2, 4)
        if simd is Simd.SIMD16:
            return response[:8].reshape(4, 16).T.copy()
        return response[:4].T.copy()

    def at(self, u: float, v: float = 0.5, r: float = 0.0, **more: Any) -> list[float]:
        """R, G, B, A at one place, magnified."""
        return [float(x) for x in self.message(Message.SAMPLE, u=u, v=v, r=r, **more).view(np.float32)[0]]

    def at_level(self, lod: float, u: float = 0.5, v: float = 0.5, r: float = 0.0) -> list[float]:
        return [float(x) for x in self.message(Message.SAMPLE_L, lod=lod, u=u, v=v, r=r).view(np.float32)[0]]

    def load(self, u: int, v: int = 0, r: int = 0, lod: int = 0) -> list[int]:
        return [int(x) for x in self.message(Message.LD, u=u, v=v, r=r, lod=lod, integers=True)[0]]

    def events(self) -> set[Event]:
        return set(self.probe.events())
