"""The surfaces that a draw writes to, for saving pictures; the C core finds them (native/draw/draw.c)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import surface_state_of
from gen4emu.hw.formats import SurfaceFormat, format_info
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.surface import SurfaceType
from gen4emu.hw.layout import View
from gen4emu.hw.page_tables import ADDRESS_MASK

_MOST = 256  # the entries of a binding table
_STATE_DWORDS = int(lib.G4_SURFACE_STATE_DWORDS)  # of the longest SURFACE_STATE
_STATE_BYTES = 4 * _STATE_DWORDS
_KNOWN_STATES = 4096
_MOST_LEVELS = 14  # of a surface
_INTERLEAVED = 1  # multisampled_surface_storage_format: as depth and stencil buffers
_MOST_SAMPLES = 4  # of a pixel, as a logarithm
_TILE_MODES = (Tiling.LINEAR, Tiling.W, Tiling.X, Tiling.Y)
_MOST_IMAGES = 64  # elements of a surface that are listed


LARGEST_SIDE = 16384  # of a picture, in pixels; no Gen4 surface has more than 8192
MOST_PIXELS = 1 << 26  # 8192 x 8192


def check_picture_size(width: int, height: int) -> str | None:
    """Why a picture that a trace, a program or a user requests cannot have this size, or None.

    This is the only limit on pictures, so it applies to all of them.
    """
    if 0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE and width * height <= MOST_PIXELS:
        return None
    return (f"{width} x {height} pixels; a picture has 1 to {LARGEST_SIDE} pixels a side "
            f"and at most {MOST_PIXELS} in all")


@dataclass(frozen=True, slots=True)
class Target:
    """An image in memory that was drawn to, or is to be shown."""

    kind: str  # "color", "depth", "blt", "media", "surface" (named by the user), "shown" (a frame, by the trace)
    address: int
    format: SurfaceFormat
    width: int
    height: int
    pitch: int
    tiling: Tiling
    x: int = 0  # start of the image in the tiled surface: levels, array elements, cube faces
    y: int = 0
    level: int = 0
    slice: int = 0
    chroma: tuple[Target, ...] = ()  # the Cb and Cr planes of a picture whose luma this is
    stencil: SurfaceFormat | None = None  # of a depth buffer: the format that reads the stencil of the same bits


class TargetFinder:
    """Collects the targets of draws."""

    def __init__(self, gen: Gen) -> None:
        self.gen = gen
        self._surface_state = surface_state_of(gen)
        self._level = "mip_count_or_lod" if self._surface_state.name == "SURFACE_STATE" else "mip_count_lod"
        self._state_dwords = self._surface_state.size(gen)
        self._has_tile_mode = "tile_mode" in self._surface_state.by_name(gen)
        # Media blocks see widths in dwords (docs/decisions.md 23); drivers of Gen4 store pixels all the same.
        self._media_in_dwords = self._surface_state.name != "SURFACE_STATE"
        self.latest: tuple[Target, ...] = ()  # of the last draw or blit alone
        self._found: dict[Target, None] = {}
        self._known: dict[bytes, tuple[Target, ...]] = {}  # by the state that selects them
        self._last: bytes | None = None  # of the last draw, whose targets are known
        # the depth target and the states that the core reports, one after the other: their bytes select the targets
        depth_bytes = ffi.sizeof("struct g4_depth_target")
        self._memory = ffi.new("uint64_t[]", (depth_bytes + _MOST * _STATE_BYTES + 7) // 8)
        self._bytes = ffi.buffer(self._memory)
        self._first_state = depth_bytes
        self._depth_target = ffi.cast("struct g4_depth_target *", self._memory)
        self._states = ffi.cast(f"uint32_t(*)[{_STATE_DWORDS}]", ffi.cast("char *", self._memory) + depth_bytes)

    def add(self, target: Target) -> None:
        self._found.setdefault(target)
        self.latest = (target,)
        self._last = None

    def put_back(self, targets: Iterable[Target]) -> None:
        """Put targets that were taken back, before those found since."""
        self._found = dict.fromkeys((*targets, *self._found))

    def save(self) -> tuple[tuple[Target, ...], tuple[Target, ...]]:
        """The targets that were found, and those of the last draw, for `load`."""
        return tuple(self._found), self.latest

    def load(self, saved: tuple[tuple[Target, ...], tuple[Target, ...]]) -> None:
        """Take over what `save` has returned."""
        found, self.latest = saved
        self._found, self._last = dict.fromkeys(found), None

    def take(self) -> list[Target]:
        found, self._found = list(self._found), {}
        self._last = None
        return found

    def add_draw(self, native: Any) -> None:
        """The render targets of the draw that just ran."""
        count = lib.g4_device_targets(native, self._states, _MOST)
        lib.g4_device_depth_target(native, self._depth_target)
        key = self._bytes[:self._first_state + _STATE_BYTES * count]
        if key == self._last:
            return
        self._last = key
        known = self._known.get(key)
        if known is None:
            colors = [self._color(words) for words in self._surfaces(count)]
            known = self._remember(key, tuple(t for t in (*colors, self._depth()) if t is not None))
        self._found.update(dict.fromkeys(known))
        self.latest = known

    def add_media(self, native: Any) -> None:
        """The surfaces that media threads have written blocks to, the planes of a picture as one."""
        count = lib.g4_device_media_targets(native, self._states, _MOST)
        key = b"media" + self._bytes[self._first_state:self._first_state + _STATE_BYTES * count]
        pictures = self._known.get(key)
        if pictures is None:
            planes = [self._color(words) for words in self._surfaces(count)]
            pictures = self._remember(key, tuple(join_planes([self._as_bytes(p) for p in planes if p is not None])))
        self._found.update(dict.fromkeys(pictures))
        self.latest, self._last = pictures, None

    def _surfaces(self, count: int) -> list[tuple[int, ...]]:
        return [tuple(self._states[i])[:self._state_dwords] for i in range(count)]

    def _remember(self, key: bytes, targets: tuple[Target, ...]) -> tuple[Target, ...]:
        if len(self._known) >= _KNOWN_STATES:
            self._known.clear()
        self._known[key] = targets
        return targets

    def _as_bytes(self, plane: Target) -> Target:
        """The unsigned format: media blocks are raw bytes, so the sign of a format does not matter."""
        grey = plane.format in (SurfaceFormat.R8_SINT, SurfaceFormat.R8_UINT, SurfaceFormat.R8_UNORM)
        info = format_info(plane.format)
        width = plane.width * 32 // info.bits_per_texel if self._media_in_dwords and info else plane.width
        return replace(plane, kind="media", width=width, format=SurfaceFormat.L8_UNORM if grey else plane.format)

    def images(self, words: tuple[int, ...]) -> Iterator[Target]:
        """The levels of each element of a sampled surface, by its SURFACE_STATE; none of a buffer.

        Elements count as they are in memory: samples that are not interleaved have one each.
        """
        surface = self._surface_state.view(words, gen=self.gen)
        base = self._color(words)
        if base is None:
            return
        samples = self.samples_of(words)
        elements = 6 if surface.surface_type == SurfaceType.SURFTYPE_CUBE else surface.depth * samples
        levels = min(getattr(surface, self._level), _MOST_LEVELS - 1) + 1
        first = surface.minimum_array_element * samples
        for element in range(first, first + min(elements, _MOST_IMAGES)):
            for level in range(levels):
                if surface.surface_type == SurfaceType.SURFTYPE_3D and element >= max(1, surface.depth >> level):
                    continue
                x, y = self._place(words, level, element)
                yield replace(base, kind="texture", width=max(1, surface.width >> level),
                              height=max(1, surface.height >> level), x=x, y=y, level=level, slice=element)

    def samples_of(self, words: tuple[int, ...]) -> int:
        """The samples of a pixel that have array elements of their own."""
        if self._surface_state.name == "SURFACE_STATE":
            return 1
        surface = self._surface_state.view(words, gen=self.gen)
        interleaved = int(surface.multisampled_surface_storage_format) == _INTERLEAVED
        return 1 if interleaved else 1 << min(int(surface.number_of_multisamples), _MOST_SAMPLES)

    def _tiling(self, surface: View) -> Tiling:
        if self._has_tile_mode:
            return _TILE_MODES[int(surface.tile_mode)]
        return Tiling.LINEAR if not surface.tiled_surface else Tiling.Y if surface.tile_walk else Tiling.X

    def _color(self, words: tuple[int, ...]) -> Target | None:
        surface = self._surface_state.view(words, gen=self.gen)
        if surface.surface_type in (SurfaceType.SURFTYPE_NULL, SurfaceType.SURFTYPE_BUFFER):
            return None
        try:
            code = SurfaceFormat(int(surface.surface_format))
        except ValueError:
            return None
        level = getattr(surface, self._level)
        return Target(
            "color", surface.surface_base_address & ADDRESS_MASK, code, max(1, surface.width >> level),
            max(1, surface.height >> level), surface.surface_pitch, self._tiling(surface),
            *self._place(words, level, surface.minimum_array_element), level, surface.minimum_array_element)

    def _place(self, words: tuple[int, ...], level: int, element: int) -> tuple[int, int]:
        """The start of an image in its surface, in texels, by the core's miptree layouts (native/core/surface.h)."""
        place = ffi.new("uint32_t[2]")
        state = ffi.new(f"uint32_t[{_STATE_DWORDS}]", list(words))
        if not lib.g4_surface_place(state, int(self.gen), level, element, place):
            return 0, 0
        return int(place[0]), int(place[1])

    def _depth(self) -> Target | None:
        depth = self._depth_target
        form = _DEPTH_FORMATS.get(depth.format)
        if depth.type == SurfaceType.SURFTYPE_NULL or form is None or depth.address == 0:
            return None
        return Target("depth", depth.address, form, depth.width, depth.height, depth.pitch_bytes, Tiling(depth.tiling),
                      0, 0, depth.level, depth.slice, stencil=_STENCIL_FORMATS.get(depth.format))


def join_planes(planes: list[Target]) -> list[Target]:
    """Luma with the two planes of half its size that follow it, as one target."""
    joined: list[Target] = []
    rest = sorted(planes, key=lambda p: p.address)
    while rest:
        luma = rest.pop(0)
        half = [p for p in rest if p.format == luma.format and (p.width, p.height) == (
            (luma.width + 1) // 2, (luma.height + 1) // 2)][:2]
        if len(half) == 2:
            luma = replace(luma, chroma=tuple(half))
            rest = [p for p in rest if p not in half]
        joined.append(luma)
    return joined


# The depth formats as the surface formats that read the same bits.
_DEPTH_FORMATS = {
    0: SurfaceFormat.R32_FLOAT_X8X24_TYPELESS, 1: SurfaceFormat.R32_FLOAT, 2: SurfaceFormat.R24_UNORM_X8_TYPELESS,
    3: SurfaceFormat.R24_UNORM_X8_TYPELESS, 5: SurfaceFormat.R16_UNORM,
}
# The stencil of those that have one.
_STENCIL_FORMATS = {0: SurfaceFormat.X32_TYPELESS_G8X24_UINT, 2: SurfaceFormat.X24_TYPELESS_G8_UINT}
