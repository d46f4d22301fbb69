"""The layout of surfaces in memory: linear, X, Y and W tiles, the bit-6 swizzle, fences.

The arithmetic is in the C core (native/core/tiling.h, native/core/aperture.c).
Coordinates are in bytes and rows where a name says so, else in pixels.  W is not a surface mode of Gen4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import Swizzle as Swizzle
from gen4emu.core_enums import Tiling as Tiling
from gen4emu.device.memory import PAGE_SIZE, Memory, Missing, ProbePort, Unit
from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.registers import FENCE_COUNT, FENCES, FenceTileWalk

MAX_COPY_BYTES = 8192 * 8192 * 16  # the largest surface that a Gen4 surface state can describe
_ADDRESS_SPACE = 1 << 48
_ROWS = 1 << 32
_HALF = 1 << 31


_FENCE = FENCES[0]
_WALKS = {Tiling.X: FenceTileWalk.XMAJOR, Tiling.Y: FenceTileWalk.YMAJOR}


def tiled_offset(tiling: Tiling, pitch_bytes: int, x_bytes: int, y: int) -> int:
    """The offset of a byte from the start of its surface, without swizzle."""
    _check_pitch(tiling, pitch_bytes)
    if not 0 <= x_bytes < pitch_bytes or not 0 <= y < _ROWS:
        raise FieldError(f"byte {x_bytes} of row {y} is outside a surface with a pitch of {pitch_bytes} bytes")
    return int(lib.g4_tiling_offset(tiling, pitch_bytes, x_bytes, y))


def tiled_coordinates(tiling: Tiling, pitch_bytes: int, offset: int) -> tuple[int, int]:
    """The (x_bytes, y) of the byte at an offset: the inverse of `tiled_offset`."""
    _check_pitch(tiling, pitch_bytes)
    if not 0 <= offset < 1 << 64:
        raise FieldError(f"offset 0x{offset:x} does not fit 64 bits")
    x, y = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    lib.g4_tiling_coordinates(tiling, pitch_bytes, offset, x, y)
    return int(x[0]), int(y[0])


def swizzled(swizzle: Swizzle, address: int, physical: int | None = None) -> int:
    """The address that the memory controller uses; applied twice it is the identity.

    Modes with bit 17 use the physical address, which defaults to the address itself.
    """
    physical = address if physical is None else physical
    if not 0 <= address < 1 << 64 or not 0 <= physical < 1 << 64:
        raise FieldError(f"address 0x{address:x} (physical 0x{physical:x}) does not fit 64 bits")
    return int(lib.g4_swizzle_address(swizzle, address, physical))


@dataclass(slots=True, frozen=True)
class SurfaceLayout:
    """The positions of the pixels of a two-dimensional surface.  `cpp` is bytes per pixel."""

    base: int
    pitch_bytes: int
    width: int
    height: int
    cpp: int
    tiling: Tiling = Tiling.LINEAR
    swizzle: Swizzle = Swizzle.NONE

    def __post_init__(self) -> None:
        _check_pitch(self.tiling, self.pitch_bytes)
        if self.width < 0 or self.height < 0 or not 0 < self.cpp <= 16:
            raise FieldError(f"surface of {self.width} x {self.height} pixels of {self.cpp} bytes")
        if self.width * self.cpp > self.pitch_bytes:
            raise FieldError(f"width: {self.width} pixels of {self.cpp} bytes exceed the pitch of {self.pitch_bytes}")
        if self.tiling is not Tiling.LINEAR and self.base % 4096:
            raise FieldError(f"base: 0x{self.base:08x} of a tiled surface is not aligned to 4096 bytes")
        if not 0 <= self.base < _ADDRESS_SPACE or self.height >= _ROWS \
                or lib.g4_layout_check(self._native()) != lib.G4_OK:
            raise FieldError(f"base: {self.height} rows of {self.pitch_bytes} bytes from 0x{self.base:x} on reach "
                             f"out of the address space")

    def address(self, x: int, y: int, byte: int = 0) -> int:
        """The graphics address of a byte of a pixel, by the tiling alone: without swizzle."""
        if not 0 <= x < self.width or not 0 <= y < self.height or not 0 <= byte < self.cpp:
            raise FieldError(f"pixel ({x}, {y}) byte {byte} is outside the surface")
        return self.base + tiled_offset(self.tiling, self.pitch_bytes, x * self.cpp + byte, y)

    def _native(self) -> Any:
        return ffi.new("struct g4_surface_layout *", (self.base, self.pitch_bytes, self.width * self.cpp, self.height,
                                                      self.tiling, self.swizzle))

    def read(self, memory: Memory, x: int = 0, y: int = 0, width: int | None = None, height: int | None = None,
             missing: Missing = Missing.ZERO, unit: Unit = Unit.CPU) -> bytearray:
        """Rows of pixels, top to bottom, without gaps; zeros where the rectangle leaves the surface."""
        rectangle = self._rectangle(x, y, width, height)
        pitch = rectangle.width_bytes
        if pitch * rectangle.height > MAX_COPY_BYTES:
            raise FieldError(f"a rectangle of {pitch} bytes x {rectangle.height} rows is more than any surface has")
        pixels = bytearray(pitch * rectangle.height)
        with ProbePort(memory, missing, unit) as port:
            lib.g4_surface_read(port, self._native(), rectangle, ffi.from_buffer(pixels), len(pixels), pitch)
        return pixels

    def write(self, memory: Memory, pixels: bytes | bytearray | memoryview, x: int = 0, y: int = 0,
              width: int | None = None, height: int | None = None, missing: Missing = Missing.RAISE,
              unit: Unit = Unit.CPU) -> None:
        """The inverse of `read`; pixels outside of the surface are dropped."""
        rectangle = self._rectangle(x, y, width, height)
        source = ffi.from_buffer("uint8_t[]", pixels)
        if len(source) != rectangle.width_bytes * rectangle.height:
            raise FieldError(f"pixels: {len(source)} bytes are not {rectangle.width_bytes} x {rectangle.height}")
        with ProbePort(memory, missing, unit) as port:
            lib.g4_surface_write(port, self._native(), rectangle, source, len(source), rectangle.width_bytes)

    def _rectangle(self, x: int, y: int, width: int | None, height: int | None) -> Any:
        width = self.width - x if width is None else width
        height = self.height - y if height is None else height
        if not (-_HALF <= x * self.cpp < _HALF and -_HALF <= y < _HALF and 0 <= width * self.cpp < _ROWS
                and 0 <= height < _ROWS):
            raise FieldError(f"rectangle at ({x}, {y}) of {width} x {height} pixels")
        return ffi.new("struct g4_rectangle *", (x * self.cpp, y, width * self.cpp, height))


@dataclass(slots=True, frozen=True)
class Fence:
    """A fence register: a tiled region of the CPU's aperture."""

    start: int
    size: int
    pitch_bytes: int
    tiling: Tiling = Tiling.X
    valid: bool = True

    @property
    def last(self) -> int:
        """The address of the last byte."""
        return self.start + self.size - 1

    def encode(self) -> int:
        if self.tiling not in _WALKS:
            raise FieldError(f"fence: tiling {self.tiling.name} is neither X nor Y")
        if self.size <= 0 or self.size % PAGE_SIZE:
            raise FieldError(f"fence: size 0x{self.size:x} is not a multiple of {PAGE_SIZE}")
        low, high = _FENCE.pack(Gen.EL, start_address=self.start, last_page_address=self.last & ~(PAGE_SIZE - 1),
                                pitch_bytes=self.pitch_bytes, tile_walk=_WALKS[self.tiling], valid=self.valid)
        return high << 32 | low

    @staticmethod
    def decode(value: int) -> Fence:
        """Any 64 bits; a region that ends before it starts has a size of 0 or less and never applies."""
        if not 0 <= value < 1 << 64:
            raise FieldError(f"fence: 0x{value:x} does not fit 64 bits")
        view = _FENCE.view((value & 0xFFFFFFFF, value >> 32), gen=Gen.EL)
        tiling = Tiling.Y if view.tile_walk == FenceTileWalk.YMAJOR else Tiling.X
        return Fence(view.start_address, view.last_page_address + PAGE_SIZE - view.start_address, view.pitch_bytes,
                     tiling, view.valid)


class Aperture:
    """Memory as the CPU accesses it: regions that a fence covers look linear."""

    def __init__(self, memory: Memory, fences: Sequence[int] = (), swizzle_x: Swizzle = Swizzle.NONE,
                 swizzle_y: Swizzle = Swizzle.NONE) -> None:
        if len(fences) > FENCE_COUNT:
            raise FieldError(f"fences: {len(fences)} values, there are {FENCE_COUNT} registers")
        regions = [Fence.decode(value) for value in fences]
        native = [(f.start, f.last, f.pitch_bytes, f.tiling, f.valid and f.size > 0) for f in regions]
        self._memory = memory
        self._native = ffi.new("struct g4_aperture *", (native, swizzle_x, swizzle_y))

    def fence_at(self, address: int) -> int | None:
        """The number of the fence that covers an address; the lowest of several."""
        _check_span(address, 1)
        number = int(lib.g4_aperture_find_fence(self._native, address))
        return None if number < 0 else number

    def read(self, address: int, size: int, missing: Missing = Missing.RAISE) -> bytes:
        _check_span(address, size)
        data = bytearray(size)
        with ProbePort(self._memory, missing, Unit.APERTURE) as port:
            self._check(address, lib.g4_aperture_read(port, self._native, address, ffi.from_buffer(data), size))
        return bytes(data)

    def write(self, address: int, data: bytes | bytearray | memoryview, missing: Missing = Missing.RAISE) -> None:
        source = ffi.from_buffer("uint8_t[]", data)
        _check_span(address, len(source))
        with ProbePort(self._memory, missing, Unit.APERTURE) as port:
            self._check(address, lib.g4_aperture_write(port, self._native, address, source, len(source)))

    def _check(self, address: int, status: int) -> None:
        if status == lib.G4_BAD_VALUE:
            raise FieldError(f"0x{address:08x}: a fence there has a pitch that its tiling cannot have, "
                             f"or reaches out of the address space")


def _check_span(address: int, size: int) -> None:
    if address < 0 or size < 0 or address + size > _ADDRESS_SPACE:
        raise FieldError(f"0x{address:x}: {size} bytes reach out of the address space")


def _check_pitch(tiling: Tiling, pitch_bytes: int) -> None:
    if not 0 < pitch_bytes < _ROWS or pitch_bytes % tiling.tile[0]:
        raise FieldError(f"pitch: {pitch_bytes} is not a multiple of {tiling.tile[0]} bytes ({tiling.name} tiling)")
