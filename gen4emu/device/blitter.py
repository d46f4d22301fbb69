"""The blitter: unpacks 2D commands; the C core draws them.

The core also unpacks plain fills and copies, unless something observes draws (command_streamer.py).

The fields of a command's layout tell which parameters it has; PIXEL, SCANLINES and TEXT draw with what the last SETUP
command left.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import BltPattern, BltSource
from gen4emu.device.counters import BLIT_DESTINATION, BLIT_SOURCE, SurfaceBytes
from gen4emu.device.memory import Faults, Memory, Missing, Unit, load_log, port_faults, save_log
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import Gen4emuError
from gen4emu.hw.command_reader import Words
from gen4emu.hw.fields import Field
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import blt
from gen4emu.hw.gen9.blt import FastCopyDepth, FastCopyTiling
from gen4emu.hw.layout import Command

_BYTES = {blt.ColorDepth.BPP_8: 1, blt.ColorDepth.BPP_16_565: 2, blt.ColorDepth.BPP_16_1555: 2,
          blt.ColorDepth.BPP_32: 4}
_FORMATS = {1: SurfaceFormat.L8_UNORM, 2: SurfaceFormat.B5G6R5_UNORM, 4: SurfaceFormat.B8G8R8A8_UNORM}

# The 8x8 shapes of XY_MONO_PAT_FIXED_BLT, a byte a row, after the hatches with these names: no public
# table has the exact bits.
_FIXED: dict[int, bytes] = {
    blt.FixedPattern.HORIZONTAL: bytes([0, 0, 0, 0xFF, 0, 0, 0, 0]),
    blt.FixedPattern.VERTICAL: bytes([0x08] * 8),
    blt.FixedPattern.FORWARD_DIAGONAL: bytes(0x80 >> i for i in range(8)),
    blt.FixedPattern.BACKWARD_DIAGONAL: bytes(1 << i for i in range(8)),
    blt.FixedPattern.CROSS: bytes([8, 8, 8, 0xFF, 8, 8, 8, 8]),
    blt.FixedPattern.DIAGONAL_CROSS: bytes(0x80 >> i | 1 << i for i in range(8)),
    blt.FixedPattern.SCREEN_DOOR: bytes([0xAA, 0x55] * 4),
    blt.FixedPattern.WIDE_SCREEN_DOOR: bytes([0xCC, 0xCC, 0x33, 0x33] * 2),
    blt.FixedPattern.WALKING_ONE: bytes([0x88, 0x44, 0x22, 0x11] * 2),
    blt.FixedPattern.WALKING_ZERO: bytes([0x77, 0xBB, 0xDD, 0xEE] * 2),
}
FAST_COPY_TILINGS = {FastCopyTiling.LINEAR: Tiling.LINEAR, FastCopyTiling.XMAJOR: Tiling.X,
                     FastCopyTiling.YMAJOR_4K: Tiling.Y}
FAST_COPY_BYTES = {FastCopyDepth.BPP_8: 1, FastCopyDepth.BPP_16: 2, FastCopyDepth.BPP_32: 4, FastCopyDepth.BPP_64: 8,
                   FastCopyDepth.BPP_128: 16}
_COPY_SOURCE = 0xCC
_USES_SETUP = {"XY_PIXEL_BLT", "XY_SCANLINES_BLT", "XY_TEXT_BLT", "XY_TEXT_IMMEDIATE_BLT"}
_SETUPS = {"XY_SETUP_BLT", "XY_SETUP_MONO_PATTERN_SL_BLT"}


class _Brought:
    """The fields of a command as attributes.

    They are read all at once, because reading them one by one through a view takes most of the time of a small blit.
    """

    def __init__(self, command: Command, words: Words, gen: Gen) -> None:
        self.command, self.words, self.gen = command, words, gen
        values = self.__dict__
        for f, name, dword, low, mask, is_plain in _plan(command, gen):
            if f.last_dword < len(words):
                raw = words[dword] >> low & mask if mask else f.extract(words)
                values[name] = raw if is_plain else f.decode(raw)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.command.name} has no field {name} on {self.gen!r}")


@cache
def _plan(command: Command, gen: Gen) -> list[tuple[Field, str, int, int, int, bool]]:
    """The fields of a command: dword, lowest bit and mask, which is 0 for those of two dwords, and whether the raw
    number is the value."""
    return [(f, f.name, f.dword, f.lo, f.mask if f.hi < 32 else 0, type(f).decode is Field.decode)
            for f in command.fields_for(gen)]


class BlitTooLarge(Gen4emuError):
    """More pixels than the watchdog allows."""


class Blitter:
    """Executes BLT commands and keeps the state that SETUP commands set."""

    def __init__(self, memory: Memory, gen: Gen) -> None:
        self.memory, self.gen = memory, gen
        self._port = memory.new_port(Unit.BLT)
        self._setup: dict[str, Any] = {}
        self.native = ffi.new("struct g4_blitter *", {
            "port": self._port, "address_mask": memory.size - 1, "budget": 1 << 40, "source_tiling": Tiling.X,
            "destination_tiling": Tiling.X})
        self.pixels = 0  # of the last blit, clipped
        self._drawn: Any = None  # the last blit: the core's `struct g4_blit`
        self._clip = (0, 0, 0, 0)  # x1, y1, x2, y2 of the last SETUP or SETUP_CLIP

    @property
    def budget(self) -> int:
        """The pixels that the blits of a submission may still visit."""
        return int(self.native.budget)

    @budget.setter
    def budget(self, pixels: int) -> None:
        self.native.budget = pixels

    def tile_in_y(self, source: bool, destination: bool) -> None:
        """Whether surfaces that a command calls tiled are tiled in Y instead of X."""
        self.native.source_tiling, self.native.destination_tiling = (
            Tiling.Y if in_y else Tiling.X for in_y in (source, destination))

    @property
    def faults(self) -> Faults:
        """Faults of blits."""
        return port_faults(self._port)

    def save(self) -> tuple[dict[str, Any], tuple[int, ...], bytes]:
        """The state of SETUP commands, and faults, for `load`."""
        return dict(self._setup), self._clip, save_log(self._port)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Take over what `save` has returned."""
        setup, self._clip, log = saved
        self._setup = dict(setup)
        load_log(self._port, log)
        self.pixels, self._drawn = 0, None

    def execute(self, command: Command, words: Words) -> Target | None:
        """Draw.  Returns the surface that was drawn to."""
        v = _Brought(command, words, self.gen)
        self.pixels, self._drawn = 0, None
        if command.name == "XY_SETUP_CLIP_BLT" or command.name in _SETUPS:
            self._clip = (v.clip_x1, v.clip_y1, v.clip_x2, v.clip_y2)
            if command.name in _SETUPS:
                self._setup = self._common(v) | self._destination(v) | self._pattern(v) | self._colors(v)
            return None
        if command.name in ("COLOR_BLT", "SRC_COPY_BLT"):
            raw = self._rows_of_bytes(v)
        elif command.name == "XY_FAST_COPY_BLT":
            raw = self._fast_copy(v)
        elif command.name in _USES_SETUP:
            raw = self._setup_drawing(v, command.name)
        else:
            raw = self._common(v) | self._destination(v) | self._rectangle(v) | self._pattern(v) | self._colors(v)
            raw |= self._source(v, raw) | self._range(v)
        return self._draw(raw) if raw else None

    # --- the parameters of a command -------------------------------------------------------------------------------
    def _has(self, v: _Brought, name: str) -> bool:
        return name in v.__dict__

    def _get(self, v: _Brought, name: str, default: Any = 0) -> Any:
        return v.__dict__.get(name, default)

    def _common(self, v: _Brought) -> dict[str, Any]:
        size = _BYTES[v.color_depth]
        mask = 0xFFFFFFFF
        if size == 4:
            mask = (0x00FFFFFF if self._get(v, "write_rgb") else 0) | (0xFF000000 if self._get(v, "write_alpha") else 0)
        return {
            "bytes": size, "is_565": v.color_depth == blt.ColorDepth.BPP_16_565, "rop": v.raster_operation,
            "write_mask": mask, "clip": bool(self._get(v, "clip_enable")),
            "source_transparent": bool(self._get(v, "monochrome_source_transparency")),
        }

    def _destination(self, v: _Brought) -> dict[str, Any]:
        tiled = bool(self._get(v, "destination_tiled"))
        return {"destination": v.destination_base_address,
                "destination_tiling": self.native.destination_tiling if tiled else Tiling.LINEAR,
                "destination_pitch": _pitch(v.destination_pitch, tiled)}

    def _rectangle(self, v: _Brought) -> dict[str, Any]:
        return {"x1": v.destination_x1, "y1": v.destination_y1, "x2": v.destination_x2, "y2": v.destination_y2}

    def _colors(self, v: _Brought) -> dict[str, Any]:
        return {"foreground": self._get(v, "foreground_color"), "background": self._get(v, "background_color")}

    def _pattern(self, v: _Brought) -> dict[str, Any]:
        seeds = {"seed_x": self._get(v, "pattern_horizontal_seed"), "seed_y": self._get(v, "pattern_vertical_seed")}
        if self._has(v, "color"):
            return seeds | {"pattern_kind": BltPattern.SOLID, "pattern_foreground": v.color}
        if self._has(v, "pattern_data_0") or self._has(v, "fixed_pattern"):
            return seeds | self._mono_pattern(v)
        if self._has(v, "pattern_address"):
            size = _BYTES[v.color_depth]
            data = self.memory.read(v.pattern_address, 64 * size, Missing.REPORT, Unit.BLT)
            return seeds | {"pattern_kind": BltPattern.COLOR, "pattern": _pixels(data, size)}
        if _immediate_pattern(v.command.name):
            size = _BYTES[v.color_depth]
            return seeds | {"pattern_kind": BltPattern.COLOR, "pattern": _pixels(_data(v), size)}
        return {}

    def _mono_pattern(self, v: _Brought) -> dict[str, Any]:
        if self._has(v, "fixed_pattern"):
            rows = _FIXED.get(int(v.fixed_pattern), bytes(8))
        else:
            rows = int(v.pattern_data_0).to_bytes(4, "little") + int(v.pattern_data_1).to_bytes(4, "little")
        prefix = "pattern_" if self._has(v, "pattern_foreground_color") else ""
        solid = bool(self._get(v, "solid_pattern"))
        return {
            "pattern_kind": BltPattern.SOLID if solid else BltPattern.MONO,
            "pattern": [row >> (7 - x) & 1 for row in rows for x in range(8)],
            "pattern_foreground": getattr(v, f"{prefix}foreground_color"),
            "pattern_background": getattr(v, f"{prefix}background_color"),
            "pattern_transparent": bool(self._get(v, "monochrome_pattern_transparency")),
        }

    def _source(self, v: _Brought, raw: dict[str, Any]) -> dict[str, Any]:
        if self._has(v, "source_base_address"):
            tiled = bool(self._get(v, "source_tiled"))
            return {"source_kind": BltSource.COLOR, "source": v.source_base_address,
                    "source_tiling": self.native.source_tiling if tiled else Tiling.LINEAR,
                    "source_pitch": _pitch(v.source_pitch, tiled), "source_x": v.source_x1, "source_y": v.source_y1}
        immediate = v.command.name in ("XY_MONO_SRC_COPY_IMMEDIATE_BLT",)
        if not immediate and not self._has(v, "source_bits_address"):
            return {}
        start = self._get(v, "monochrome_source_start")
        width = max(0, raw["x2"] - raw["x1"])
        mono = {"source_kind": BltSource.MONO, "bits_start": start, "bits_row": 16 * -(-(start + width) // 16)}
        if self._has(v, "source_foreground_color"):
            mono |= {"foreground": v.source_foreground_color, "background": v.source_background_color}
        return mono | ({"bits": _data(v)} if immediate else {"source": v.source_bits_address})

    def _range(self, v: _Brought) -> dict[str, Any]:
        if not self._has(v, "transparency_range_mode"):
            return {}
        return {"range_mode": int(v.transparency_range_mode), "range_low": v.transparency_color_low,
                "range_high": v.transparency_color_high}

    def _setup_drawing(self, v: _Brought, name: str) -> dict[str, Any]:
        """PIXEL, SCANLINES and TEXT, with the colors, pattern and destination of the last SETUP."""
        if not self._setup:
            return {}
        raw = dict(self._setup)
        if self._get(v, "destination_tiled"):
            raw["destination_tiling"] = self.native.destination_tiling
        if name == "XY_PIXEL_BLT":
            return raw | {"x1": v.destination_x, "y1": v.destination_y, "x2": v.destination_x + 1,
                          "y2": v.destination_y + 1}
        raw |= self._rectangle(v)
        if name == "XY_SCANLINES_BLT":
            return raw | {"seed_x": v.pattern_horizontal_seed, "seed_y": v.pattern_vertical_seed}
        width = max(0, raw["x2"] - raw["x1"])
        packed = v.text_packing == blt.TextPacking.BYTE
        raw |= {"source_kind": BltSource.MONO, "bits_row": 8 * -(-width // 8) if packed else width}
        return raw | ({"source": v.source_bits_address} if name == "XY_TEXT_BLT" else {"bits": _data(v)})

    def _rows_of_bytes(self, v: _Brought) -> dict[str, Any]:
        """COLOR_BLT and SRC_COPY_BLT: a width in bytes, no coordinates."""
        raw = self._common(v) | {
            "destination": v.destination_address, "destination_pitch": v.destination_pitch, "y2": v.height,
            "x2": v.width_bytes // _BYTES[v.color_depth], "write_mask": 0xFFFFFFFF}
        if self._has(v, "color"):
            return raw | {"pattern_kind": BltPattern.SOLID, "pattern_foreground": v.color}
        return raw | {
            "bytes": 1, "x2": v.width_bytes, "source_kind": BltSource.COLOR, "source": v.source_address,
            "source_pitch": v.source_pitch, "right_to_left": v.direction == blt.CopyDirection.RIGHT_TO_LEFT}

    def _fast_copy(self, v: _Brought) -> dict[str, Any]:
        """A copy without raster operations; pixels of 8 and 16 bytes are several of 4."""
        size = FAST_COPY_BYTES[v.color_depth]
        scale = max(size // 4, 1)
        raw: dict[str, Any] = {
            "bytes": min(size, 4), "rop": _COPY_SOURCE, "write_mask": 0xFFFFFFFF, "source_kind": BltSource.COLOR,
            "x1": scale * v.destination_x1, "y1": v.destination_y1, "x2": scale * v.destination_x2,
            "y2": v.destination_y2, "source_x": scale * v.source_x1, "source_y": v.source_y1}
        for side in ("source", "destination"):
            tiling = FAST_COPY_TILINGS[getattr(v, f"{side}_tiling_method")]
            raw |= {side: getattr(v, f"{side}_base_address"), f"{side}_tiling": tiling,
                    f"{side}_pitch": _pitch(getattr(v, f"{side}_pitch"), tiling is not Tiling.LINEAR)}
        return raw

    # --- counters --------------------------------------------------------------------------------------------------
    def requested(self) -> tuple[SurfaceBytes, ...]:
        """The bytes that the last blit requested: every pixel of its rectangle, transparent ones included."""
        raw, pixels = self._drawn, self.pixels
        if not pixels:
            return ()
        size = pixels * raw.bytes
        found = [SurfaceBytes(BLIT_DESTINATION, raw.destination, size if _reads_destination(raw) else 0, size)]
        if raw.source_kind == BltSource.COLOR:
            found.insert(0, SurfaceBytes(BLIT_SOURCE, raw.source, size, 0))
        elif raw.source_kind == BltSource.MONO and raw.bits == ffi.NULL:
            found.insert(0, SurfaceBytes(BLIT_SOURCE, raw.source, -(-pixels // 8), 0))
        return tuple(found)

    # --- drawing ---------------------------------------------------------------------------------------------------
    def _draw(self, raw: dict[str, Any]) -> Target | None:
        bits = raw.pop("bits", None)
        keep = ffi.from_buffer(bits) if bits is not None else None
        if raw.get("clip"):
            raw |= dict(zip(("clip_x1", "clip_y1", "clip_x2", "clip_y2"), self._clip, strict=True))
        native = ffi.new("struct g4_blt *", raw | {"address_mask": self.memory.size - 1})
        if keep is not None:
            native.bits, native.bits_size = keep, len(keep)
        self.pixels, self._drawn = int(lib.g4_blt_pixels(native)), native
        if self.pixels > self.budget:
            raise BlitTooLarge("the blits of this batch do not end")
        self.budget -= self.pixels
        lib.g4_blt(self._port, native)
        if native.x2 <= native.x1 or native.y2 <= native.y1 or native.destination_pitch <= 0:
            return None
        tiling = Tiling(native.destination_tiling)
        width = min(native.destination_pitch // native.bytes, max(0, native.x2))
        if width == 0 or native.y2 <= 0:
            return None
        return Target("blt", native.destination & (~0xFFF if native.destination_tiling else ~0),
                      _FORMATS[native.bytes], width, native.y2, native.destination_pitch, tiling)


def _reads_destination(raw: Any) -> bool:
    """Whether the new pixel depends on the old one."""
    every_bit = (1 << 8 * raw.bytes) - 1
    operation = (raw.rop ^ raw.rop >> 1) & 0x55 != 0
    return bool(operation or raw.write_mask & every_bit != every_bit or raw.range_mode == 2)


def _pitch(pitch: int, tiled: bool) -> int:
    """The pitch in bytes.  The hardware ignores the low two bits of a linear pitch."""
    return pitch * 4 if tiled else pitch & ~3


def _pixels(data: bytes, size: int) -> list[int]:
    data = data[:64 * size].ljust(64 * size, b"\0")
    return [int.from_bytes(data[i:i + size], "little") for i in range(0, 64 * size, size)]


def _data(v: _Brought) -> bytes:
    """The immediate dwords at the end of a command."""
    array = v.command.array_by_name(v.gen)["data"]
    return b"".join(int(w).to_bytes(4, "little") for w in v.words[array.dword:])


def _immediate_pattern(name: str) -> bool:
    return name in ("XY_PAT_BLT_IMMEDIATE", "XY_PAT_CHROMA_BLT_IMMEDIATE", "XY_FULL_IMMEDIATE_PATTERN_BLT",
                    "XY_FULL_MONO_SRC_IMMEDIATE_PATTERN_BLT")
