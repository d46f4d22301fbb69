"""A sampler on a bench for tests: one surface, one sampler, messages of one to eight threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory
from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import block_named, catalogue_of
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.message_shapes import SAMPLER_MESSAGES, SamplerMessage
from gen4emu.hw.gen4.sampler import MapFilter, MipFilter, TextureCoordinateMode
from gen4emu.hw.gen4.surface import SurfaceType, TileWalk, buffer_entry_fields
from tests.harness.messages import descriptor as message_descriptor
from tests.harness.probe import Event, Probe

SURFACES, TABLE, SAMPLERS, BORDER, TEXTURE = 0x1000, 0x2000, 0x3000, 0x4000, 0x100000
RESPONSE, PAYLOAD = 20, 1
JUNK = 0xDEADBEEF

Floats = NDArray[np.float32]
Words = NDArray[np.uint32]


class Texturing:
    """Surface 1 and sampler 0.  The defaults are a 2D texture, linear memory, NEAREST, CLAMP, LOD pre-clamp."""

    def __init__(self, gen: Gen = Gen.EL, threads: int = 1, **options: Any) -> None:
        self.gen = gen
        self.threads = threads
        self.memory = Memory()
        self.probe = Probe(gen, self.memory, **options)
        self.memory.write(TABLE, np.array([SURFACES + 0x100 * i for i in range(16)], np.uint32).tobytes())
        self.memory.write(BORDER, bytes(4096))
        self.memory.write(SAMPLERS, bytes(4096))
        self.sampler()

    # --- state ---

    def surface(self, format: SurfaceFormat, width: int = 1, height: int = 1, depth: int = 1, *,
                type: SurfaceType = SurfaceType.SURFTYPE_2D, levels: int = 1, tiling: Tiling = Tiling.LINEAR,
                pitch: int | None = None, data: bytes | None = None, base: int = TEXTURE, size: int = 1 << 18,
                **fields: Any) -> None:
        self.format, self.tiling, self.base = format, tiling, base
        info = format_info(format)
        assert info is not None
        self.texel_bytes = info.bits_per_texel // 8 if info.yuv else max(1, info.block_bits // 8)
        blocks = (2 * width + 16) // (1 if info.yuv else info.block_width)
        tile = tiling.tile[0]
        least = max(64, blocks * max(1, self.texel_bytes))
        self.pitch = pitch if pitch is not None else -(-least // max(4, tile)) * max(4, tile)
        if type == SurfaceType.SURFTYPE_BUFFER:
            fields |= buffer_entry_fields(width)
            self.pitch = pitch if pitch is not None else self.texel_bytes
        else:
            fields |= {"width": width, "height": height, "depth": depth}
        if tiling is not Tiling.LINEAR:
            fields["tile_walk"] = TileWalk.YMAJOR if tiling is Tiling.Y else TileWalk.XMAJOR
        if type == SurfaceType.SURFTYPE_CUBE:
            faces = ("negative_x", "positive_x", "negative_y", "positive_y", "negative_z", "positive_z")
            fields = {f"cube_face_enable_{face}": 1 for face in faces} | fields
        if type != SurfaceType.SURFTYPE_NULL:
            fields["surface_base_address"] = base
        self.state = block_named("SURFACE_STATE", self.gen).pack(
            self.gen, surface_type=type, surface_format=format, mip_count_or_lod=levels - 1,
            surface_pitch=self.pitch, tiled_surface=tiling is not Tiling.LINEAR, **fields)
        self.memory.write(SURFACES + 0x100, np.array(self.state, np.uint32).tobytes())
        self.memory.write(base, data if data is not None else bytes(size))

    def sampler(self, filter: MapFilter = MapFilter.NEAREST, mip: MipFilter = MipFilter.NONE,
                mode: TextureCoordinateMode | Sequence[TextureCoordinateMode] = TextureCoordinateMode.CLAMP, *,
                rounding: bool = False, border: Sequence[float] | None = None, **fields: Any) -> None:
        modes = [mode] * 3 if isinstance(mode, TextureCoordinateMode) else list(mode)
        values = {
            "lod_preclamp_enable": 1, "min_mode_filter": filter, "mag_mode_filter": filter, "mip_mode_filter": mip,
            "max_lod": 13.0, "border_color_pointer": BORDER, "tcx_address_control_mode": modes[0],
            "tcy_address_control_mode": modes[1], "tcz_address_control_mode": modes[2],
        }
        values |= {f"{axis}_address_{which}_filter_rounding_enable": int(rounding)
                   for axis in "uvr" for which in ("mag", "min")}
        words = block_named("SAMPLER_STATE", self.gen).pack(self.gen, **(values | fields))
        self.memory.write(SAMPLERS, np.array(words, np.uint32).tobytes())
        if border is not None:
            self.memory.write(BORDER, np.array(border, np.float32).tobytes())

    def place(self, level: int = 0, slice: int = 0) -> tuple[int, int]:
        place = ffi.new("uint32_t[2]")
        state = [*self.state, 0][:6]
        assert lib.g4_surface_place(ffi.new("uint32_t[6]", state), int(self.gen), level, slice, place)
        return int(place[0]), int(place[1])

    def texels(self, values: ArrayLike, level: int = 0, slice: int = 0) -> None:
        """Rows of texels (blocks) of one level and slice; each texel is one element, or the last axis its bytes."""
        image = np.asarray(values)
        if image.dtype.itemsize == self.texel_bytes:
            image = image[..., np.newaxis]
        image = image.view(np.uint8)
        x0, y0 = self.place(level, slice)
        info = format_info(self.format)
        assert info is not None
        if not info.yuv:
            x0, y0 = x0 // info.block_width, y0 // info.block_height
        for y, row in enumerate(image):
            if self.tiling is Tiling.LINEAR:
                self.memory.write(self.base + (y0 + y) * self.pitch + x0 * self.texel_bytes, row.tobytes())
                continue
            for x, texel in enumerate(row):
                at = int(lib.g4_tiling_offset(self.tiling, self.pitch, (x0 + x) * self.texel_bytes, y0 + y))
                self.memory.write(self.base + at, texel.tobytes())

    # --- messages ---

    def descriptor(self, name: str, simd: str, mlen: int | None = None, rlen: int | None = None, **bits: int) -> int:
        for (type_, length), message in SAMPLER_MESSAGES.items():
            if message.name == name and message.simd == simd and mlen in (None, length):
                fields = {"sampler_index": bits.get("sampler", 0), "binding_table_index": bits.get("surface", 1)}
                if not self.gen & Gen.GEN45:
                    fields["return_format"] = bits.get("return_format", 0)
                return message_descriptor("SAMPLER_MESSAGE", self.gen, length=length, message_type=type_,
                                          response=message.response_length if rlen is None else rlen, **fields)
        raise AssertionError(f"no message {name} {simd} {mlen}")

    def send(self, descriptor: int, parameters: Sequence[Sequence[ArrayLike]], *, emask: int = 0xFFFF,
             header: dict[str, Any] | None = None, start: bool = True) -> list[Words]:
        """The response registers [thread][register][8].  `parameters`: registers of the payload, for each thread."""
        if start:
            self.probe.start(self.threads, surface_state_base=0, binding_table=TABLE)
        words = block_named("SAMPLER_MESSAGE_HEADER", self.gen).pack(
            self.gen, **{"sampler_state_pointer": SAMPLERS, **(header or {})})
        for t in range(self.threads):
            self.probe.mrf(PAYLOAD, t)[:] = words
            for i, register in enumerate(parameters[t % len(parameters)]):
                self.probe.mrf(PAYLOAD + 1 + i, t)[:] = np.asarray(register).view(np.uint32)
            for k in range(9):
                self.probe.grf(RESPONSE + k, t)[:] = JUNK
        self.probe.send(descriptor, PAYLOAD, RESPONSE, exec_size=16, emask=emask)
        return [np.array([self.probe.grf(RESPONSE + k, t) for k in range(9)]) for t in range(self.threads)]

    def message(self, name: str, simd: str, *values: ArrayLike, mlen: int | None = None, emask: int = 0xFFFF,
                header: dict[str, Any] | None = None, integers: bool = False, **bits: int) -> Words:
        """A message of one thread; each parameter a number for all lanes or an array of them.  Result [lane][RGBA]."""
        assert self.threads == 1
        mask = "8" if simd == "4x2" else simd
        lanes = 2 if simd == "4x2" else int(mask)
        kind = np.uint32 if integers else np.float32
        columns = [np.broadcast_to(np.asarray(v, dtype=np.int64 if integers else np.float32), lanes).astype(kind)
                   for v in values]
        descriptor = self.descriptor(name, simd, mlen, **bits)
        if simd == "4x2":
            count = ((descriptor >> 20 & 15) - 1) * 4
            columns += [np.zeros(2, kind)] * (count - len(columns))
            registers = [np.array([columns[4 * r + c][s] for s in range(2) for c in range(4)], kind)
                         for r in range(count // 4)]
            return self.send(descriptor, [registers], emask=emask, header=header)[0][0].reshape(2, 4)
        registers = [c[8 * h:8 * h + 8] for c in columns for h in range(lanes // 8)]
        count = (descriptor >> 20 & 15) - 1
        assert len(registers) <= count, (len(registers), count)
        registers += [np.zeros(8, kind)] * (count - len(registers))
        response = self.send(descriptor, [registers], emask=emask, header=header)[0]
        if simd == "16":
            return response[:8].reshape(4, 16).T.copy()
        return response[:4].T.copy()

    def sample(self, u: ArrayLike, v: ArrayLike = 0.0, r: ArrayLike = 0.0, **more: Any) -> Floats:
        """SIMD16 sample; coordinates one by one: `flat` gives each its own subspan, so that no gradient is seen."""
        return self.message("sample", "16", u, v, r, mlen=7, **more).view(np.float32)

    def at(self, u: float, v: float = 0.5, r: float = 0.0) -> list[float]:
        """R, G, B, A at one place, magnified."""
        return [float(x) for x in self.sample(u, v, r)[0]]

    def at_level(self, lod: float, u: float = 0.5, v: float = 0.5, r: float = 0.0) -> list[float]:
        return [float(x) for x in self.message("sample_l", "16", u, v, r, lod).view(np.float32)[0]]

    def load(self, u: ArrayLike, v: ArrayLike = 0, r: ArrayLike = 0, lod: ArrayLike = 0, **more: Any) -> Words:
        return self.message("ld", "16", u, v, r, lod, mlen=9, integers=True, **more)

    def events(self) -> set[Event]:
        return set(self.probe.events())


def message_of(descriptor: int, gen: Gen) -> SamplerMessage | None:
    message = next(m for m in catalogue_of(gen).messages if m.name == "SAMPLER_MESSAGE")
    fields = message.view([descriptor], gen=gen)
    return SAMPLER_MESSAGES.get((fields.message_type, fields.message_length))
