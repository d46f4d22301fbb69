"""Which surfaces a draw writes to, found in the pixel shader's binding table, for saving pictures (spec/06 3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Memory, Missing, Unit
from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.hw.state import WM_STATE
from gen4emu.hw.surface import SURFACE_STATE, SurfaceType
from gen4emu.isa import instructions, kernel_length

_KERNEL_BYTES = 64 << 10
_SFID_DATAPORT_WRITE = 5
_RENDER_TARGET_WRITE = 4


@dataclass(frozen=True, slots=True)
class Target:
    """An image in memory that was drawn to, or is to be shown."""

    kind: str  # "color", "depth", "blt"
    address: int
    format: SurfaceFormat
    width: int
    height: int
    pitch: int
    tiling: Tiling
    x: int = 0  # where the image starts in the tiled whole: levels, array elements, cube faces
    y: int = 0
    level: int = 0
    slice: int = 0


class TargetFinder:
    """Collects the targets of draws."""

    def __init__(self, memory: Memory, gen: Gen) -> None:
        self.memory, self.gen = memory, gen
        self._found: dict[Target, None] = {}
        self._written: dict[bytes, tuple[int, ...]] = {}

    def add(self, target: Target) -> None:
        self._found.setdefault(target)

    def take(self) -> list[Target]:
        found, self._found = list(self._found), {}
        return found

    def add_draw(self, state: Any) -> None:
        """The render targets of the draw that just ran."""
        wm = WM_STATE.view(self._dwords(state.wm_state, 8), gen=self.gen)
        if wm.thread_dispatch_enable:
            kernel = state.general_state_base + wm.kernel_start_pointer & 0xFFFFFFFF
            for index in self._targets_of(kernel):
                self._add_color(state, index)
        self._add_depth(state)

    def _dwords(self, address: int, count: int) -> Any:
        return self.memory.read_dwords(address, count, Missing.ZERO, Unit.CPU)

    def _targets_of(self, kernel: int) -> tuple[int, ...]:
        """Binding table indices that a kernel's render target writes name."""
        code = self.memory.read(kernel, _KERNEL_BYTES, Missing.ZERO, Unit.CPU)
        code = code[:kernel_length(code, self.gen)]
        found = self._written.get(code)
        if found is None:
            indices = []
            for _, inst in instructions(code, self.gen):
                d = inst.descriptor
                if d is not None and d.sfid == _SFID_DATAPORT_WRITE and \
                        d.function_control >> 12 & 7 == _RENDER_TARGET_WRITE:
                    indices.append(d.function_control & 0xFF)
            found = self._written[code] = tuple(dict.fromkeys(indices))
        return found

    def _add_color(self, state: Any, index: int) -> None:
        entry = self._dwords(state.binding_table[4] + 4 * index, 1)[0] & ~31
        words = tuple(self._dwords(state.surface_state_base + entry & 0xFFFFFFFF, SURFACE_STATE.size(self.gen)))
        surface = SURFACE_STATE.view(words, gen=self.gen)
        if surface.surface_type in (SurfaceType.SURFTYPE_NULL, SurfaceType.SURFTYPE_BUFFER):
            return
        if not isinstance(surface.surface_format, SurfaceFormat):
            return
        level = surface.mip_count_or_lod
        self.add(Target(
            "color", surface.surface_base_address, surface.surface_format, max(1, surface.width >> level),
            max(1, surface.height >> level), surface.surface_pitch, _tiling(surface.tiled_surface, surface.tile_walk),
            *self._place(words, level, surface.minimum_array_element), level, surface.minimum_array_element))

    def _place(self, words: tuple[int, ...], level: int, element: int) -> tuple[int, int]:
        """Where an image of a surface starts, in texels; the core knows the miptree layouts (native/surface.h)."""
        place = ffi.new("uint32_t[2]")
        if not lib.g4_surface_place(ffi.new("uint32_t[6]", list(words)), int(self.gen), level, element, place):
            return 0, 0
        return int(place[0]), int(place[1])

    def _add_depth(self, state: Any) -> None:
        command = command_named("3DSTATE_DEPTH_BUFFER", self.gen)
        words = (0, *state.depth_buffer)
        depth = command.view(words, gen=self.gen, dwords=command.size(self.gen))
        form = _DEPTH_FORMATS.get(int(depth.surface_format))
        if depth.surface_type == SurfaceType.SURFTYPE_NULL or form is None or depth.surface_base_address == 0:
            return
        self.add(Target("depth", depth.surface_base_address, form, depth.width, depth.height, depth.surface_pitch,
                        _tiling(depth.tiled_surface, depth.tile_walk), 0, 0, depth.lod, depth.minimum_array_element))


def _tiling(tiled: bool, walk: int) -> Tiling:
    if not tiled:
        return Tiling.LINEAR
    return Tiling.Y if walk else Tiling.X


# The depth formats as the surface formats that read the same bits.
_DEPTH_FORMATS = {
    0: SurfaceFormat.R32_FLOAT_X8X24_TYPELESS, 1: SurfaceFormat.R32_FLOAT, 2: SurfaceFormat.R24_UNORM_X8_TYPELESS,
    3: SurfaceFormat.R24_UNORM_X8_TYPELESS, 5: SurfaceFormat.R16_UNORM,
}
