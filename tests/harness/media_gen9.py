"""A media pipeline of Gen9 for tests: that of Gen7 with bases above 4 GiB."""

from __future__ import annotations

from typing import Any

from gen4emu.hw.gen75.messages import DataCache1Type, SurfaceSimdMode
from tests.harness.media_gen7 import MediaGen7

SHARED = 254  # the binding table index of shared local memory
_SELECTION = 3  # the bits of PIPELINE_SELECT that select the pipeline
_ONE_CHANNEL = 0b1110  # disables the others


def media_block(write: bool, surface: int, header: int, registers: int, to: str = "null") -> str:
    """A media block message to data cache 1; what is written lies after the header."""
    kind = 10 if write else 4
    lengths = (registers + 1) << 25 if write else 1 << 25 | registers << 20
    return (f"send(8) {to}<1>UD g{header}<8,8,1>UD 0x{lengths | 1 << 19 | kind << 14 | surface:08x} dp data 1 "
            "{ align1 WE_all 1Q };\n")


def shared(write: bool, offsets: int, to: str = "null") -> str:
    """Eight dwords of shared local memory, at the byte offsets of a register; what is written lies after it."""
    kind = DataCache1Type.UNTYPED_SURFACE_WRITE if write else DataCache1Type.UNTYPED_SURFACE_READ
    lengths = 2 << 25 if write else 1 << 25 | 1 << 20
    control = SurfaceSimdMode.SIMD8 << 4 | _ONE_CHANNEL
    return (f"send(8) {to}<1>UD g{offsets}<8,8,1>UD 0x{lengths | kind << 14 | control << 8 | SHARED:08x} dp data 1 "
            "{ align1 WE_all 1Q };\n")


class MediaGen9(MediaGen7):
    """SKL or KBL."""

    far = 0x7 << 32

    def __init__(self, part: str = "kbl", **options: Any) -> None:
        super().__init__(part, **options)

    def select_pipeline(self) -> None:
        self.command("PIPELINE_SELECT", pipeline_selection="MEDIA", mask_bits=_SELECTION)
