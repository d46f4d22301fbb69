"""Payload registers of pixel shader threads: a kernel shows four of them in the pixels it writes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gen4emu.hw.formats import SurfaceFormat
from gen4emu.hw.gen import Gen
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from gen4emu.trace.events import Engine
from tests.harness.scene import TARGET, Scene

SHOWN = 4
UNTOUCHED = 0xEE
WRITE_8, WRITE_16 = 0x85604C00, 0x85A04800


def dump_kernel(gen: Gen, registers: Sequence[int], wide: bool = False, before: Sequence[str] = ()) -> bytes:
    """SIMD8: dword c of the four registers goes to the four channels of pixel c.  SIMD16: four for pixels
    0 to 7, then four for pixels 8 to 15."""
    send = WRITE_16 if wide else WRITE_8
    count = 8 if wide else SHOWN
    shown = [*registers, *[registers[0]] * count][:count]
    lines = [f"mov(8) g{100 + i}<1>UD g{r}<8,8,1>UD {{ align1 nomask }};" for i, r in enumerate(shown)]
    lines += ["mov(8) m1<1>UD g1<8,8,1>UD { align1 nomask };", *before,
              "mov(1) m1.6<1>UD 0x0UD { align1 nomask };"]
    lines += [f"mov(8) m{2 + i}<1>UD g{100 + i}<8,8,1>UD {{ align1 nomask }};" for i in range(count)]
    lines.append(f"send({16 if wide else 8}) 0 null<1>UW g0<8,8,1>UW 0x{send:08x} write {{ align1 EOT }};")
    return assemble("\n".join(lines), gen)


class Dump(Scene):
    """A scene whose pixels are payload registers."""

    def __init__(self, gen: Gen = Gen.CTG, *, wide: bool = False, before: Sequence[str] = (), **arguments: Any) -> None:
        self.wide, self.before = wide, before
        wm = {"dispatch_8_pixel_enable": not wide, "dispatch_16_pixel_enable": wide} | arguments.pop("wm", {})
        super().__init__(gen, format=SurfaceFormat.R32G32B32A32_UINT, wm=wm, **arguments)
        self.memory.write(TARGET, bytes([UNTOUCHED]) * (self.pitch * self.height))

    @property
    def raw(self) -> Any:
        return self.device.streamers[Engine.RENDER].state.raw

    def show(self, registers: Sequence[int], vertices: Sequence[Sequence[float]],
             topology: PrimitiveTopology = PrimitiveTopology.RECTLIST) -> dict[tuple[int, int], tuple[int, ...]]:
        """Draw; the four dwords in each lit pixel."""
        self.pixel_kernel = dump_kernel(self.gen, registers, self.wide, self.before)
        self.draw(vertices, topology)
        return {(x, y): struct.unpack("<4I", value.to_bytes(16, "little"))
                for y, row in enumerate(self.pixels()) for x, value in enumerate(row)
                if value != int.from_bytes([UNTOUCHED] * 16, "little")}

    def registers(self, numbers: Sequence[int], vertices: Sequence[Sequence[float]],
                  topology: PrimitiveTopology = PrimitiveTopology.RECTLIST,
                  at: tuple[int, int] = (0, 0)) -> list[list[int]]:
        """Up to four whole registers of the thread whose first two subspans lie at `at`, all of their pixels lit."""
        pixels = self.show(numbers, vertices, topology)
        places = [(at[0] + 2 * (c // 4) + c % 2, at[1] + c % 4 // 2) for c in range(8)]
        return [[pixels.get(place, (0, 0, 0, 0))[i] for place in places] for i in range(len(numbers))]


def rectangle(x0: float, y0: float, x1: float, y1: float, z: float = 0.0) -> list[tuple[float, ...]]:
    return [(x1, y1, z, 1.0), (x0, y1, z, 1.0), (x0, y0, z, 1.0)]
