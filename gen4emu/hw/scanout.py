"""The pixel formats of pictures that programs show: DRM's codes, and the numbers of dump requests in traces."""

from __future__ import annotations

from dataclasses import dataclass

from gen4emu.hw.formats import SurfaceFormat


@dataclass(frozen=True, slots=True)
class ShownFormat:
    """A format that a display or a dump request of a trace can have."""

    number: int  # in dump requests; 8 bits
    format: SurfaceFormat
    fourcc: str | None = None  # DRM's code, if a display scans it out


# The numbers below 0x80 are AUB's own (libdrm's intel_aub.h, AUB_DUMP_BMP_FORMAT_*); AUB has none for the others.
SHOWN_FORMATS = (
    ShownFormat(1, SurfaceFormat.L8_UNORM),
    ShownFormat(4, SurfaceFormat.B4G4R4A4_UNORM),
    ShownFormat(6, SurfaceFormat.B8G8R8X8_UNORM, "XR24"),
    ShownFormat(7, SurfaceFormat.B8G8R8A8_UNORM, "AR24"),
    ShownFormat(0x80, SurfaceFormat.R8G8B8X8_UNORM, "XB24"),
    ShownFormat(0x81, SurfaceFormat.R8G8B8A8_UNORM, "AB24"),
    ShownFormat(0x82, SurfaceFormat.B5G6R5_UNORM, "RG16"),
    ShownFormat(0x83, SurfaceFormat.B10G10R10X2_UNORM, "XR30"),
    ShownFormat(0x84, SurfaceFormat.B10G10R10A2_UNORM, "AR30"),
)

SCANOUT = {shown.fourcc: shown.format for shown in SHOWN_FORMATS if shown.fourcc is not None}
DUMP_FORMATS = {shown.number: shown.format for shown in SHOWN_FORMATS}
DUMP_NUMBERS = {shown.format: shown.number for shown in SHOWN_FORMATS}
