"""The commands of Haswell's video enhancement engine: denoise, deinterlace and the image enhancement color pipe.

The layouts as intel-vaapi-driver (gen75_vpp_vebox.c) sends them.  The state of denoise and deinterlace is in
`gen4emu.hw.gen75.media_sampling`; of the color pipe's tables, no public source has the layout of every dword.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from gen4emu.hw.fields import Address, Bool, Enum, Field, Fixed, Uint
from gen4emu.hw.gen4.surface import TileWalk
from gen4emu.hw.gen6.media_sampling import MediaSurfaceFormat
from gen4emu.hw.layout import Block, Command, Engine
from gen4emu.hw.reserved import block, gfx


class DiOutputFrames(IntEnum):
    """The frames that the deinterlacer writes."""

    OUTPUT_BOTH_FRAMES = 0
    OUTPUT_PREVIOUS_FRAME_ONLY = 1
    OUTPUT_CURRENT_FRAME_ONLY = 2


def vebox(name: str, code: int, dwords: int, fields: Sequence[Field]) -> Command:
    """A command of this engine."""
    return gfx(name, code, dwords, fields, length=(11, 0), ref="intel-vaapi-driver gen75_vpp_vebox.c",
               engine=Engine.VIDEO_ENHANCEMENT)


SURFACE_FIELDS: tuple[Field, ...] = (
    Uint("surface_identification", 1, 0, 0, doc="0 is the input, 1 the output"),
    Uint("height", 2, 31, 18, bias=1),
    Uint("width", 2, 17, 4, bias=1),
    Enum("surface_format", 3, 31, 28, MediaSurfaceFormat),
    Bool("interleave_chroma", 3, 27),
    Uint("surface_pitch", 3, 19, 3, bias=1, doc="in bytes"),
    Bool("half_pitch_for_chroma", 3, 2),
    Bool("tiled_surface", 3, 1),
    Enum("tile_walk", 3, 0, 0, TileWalk),
    Uint("x_offset_for_u_cb", 4, 28, 16), Uint("y_offset_for_u_cb", 4, 14, 0),
    Uint("x_offset_for_v_cr", 5, 28, 16), Uint("y_offset_for_v_cr", 5, 14, 0),
)
SURFACE_STATE = vebox("VEBOX_SURFACE_STATE", 0x7400, 6, SURFACE_FIELDS)

OPERATION: tuple[Field, ...] = (
    Enum("di_output_frames", 1, 9, 8, DiOutputFrames),
    Uint("downsample_method_444_to_422", 1, 7, 7),
    Uint("downsample_method_422_to_420", 1, 6, 6, doc="1 is the mean of two lines"),
    Bool("dn_di_first_frame", 1, 5),
    Bool("di_enable", 1, 4),
    Bool("dn_enable", 1, 3),
    Bool("global_iecp_enable", 1, 2),
    Bool("color_gamut_compression_enable", 1, 1),
    Bool("color_gamut_expansion_enable", 1, 0),
)
STATE = vebox("VEBOX_STATE", 0x7402, 6, [
    Uint("state_surface_control_bits", 1, 31, 26, hex=True),
    Bool("pipe_synchronize_disable", 1, 10),
    *OPERATION,
    Address("dn_di_state_pointer", 2, 31, 12, target="VEBOX_DNDI_STATE"),
    Address("iecp_state_pointer", 3, 31, 12, target="DATA"),
    Address("gamut_state_pointer", 4, 31, 12, target="DATA"),
    Address("vertex_table_state_pointer", 5, 31, 12, target="DATA"),
])

FRAMES = ("current_frame_input", "previous_frame_input", "stmm_input", "stmm_output", "denoised_current_frame_output",
          "current_frame_output", "previous_frame_output", "statistics_output")


def _frame(name: str, dword: int) -> list[Field]:
    return [
        Address(f"{name}_address", dword, 31, 12, target="SURFACE_DATA"),
        Uint(f"{name}_surface_control_bits", dword, 10, 0, hex=True),
    ]


COLUMNS: tuple[Field, ...] = (
    Uint("starting_x", 1, 29, 16),
    Uint("ending_x", 1, 13, 0),
)
DI_IECP = vebox("VEBOX_DI_IECP", 0x7403, 10, [
    *COLUMNS,
    *(f for i, name in enumerate(FRAMES) for f in _frame(name, 2 + i)),
])

# Formats of the sampler that this engine has, too, with the same numbers; and one of its own, P010 and P016.
SAMPLED_FORMATS = (MediaSurfaceFormat.YCRCB_NORMAL, MediaSurfaceFormat.YCRCB_SWAPUVY, MediaSurfaceFormat.YCRCB_SWAPUV,
                   MediaSurfaceFormat.YCRCB_SWAPY, MediaSurfaceFormat.PLANAR_420_8)
PLANAR_420_16 = 12

# --- the color pipe ---------------------------------------------------------------------------------------------------
# Dwords of its tables, at iecp_state_pointer.
IECP_PARTS = {"skin tone": range(29), "contrast": range(29, 42), "total color control": range(42, 53),
              "color space": range(55, 67)}
PROCAMP_DWORD = 53
PROCAMP_STATE = block("VEBOX_PROCAMP_STATE", 2, [
    Fixed("contrast", 0, 27, 17, frac=7, signed=False),
    Fixed("brightness", 0, 12, 1, frac=4, signed=True),
    Bool("enable", 0, 0),
    Fixed("cos_c_s", 1, 31, 16, frac=8, signed=True, doc="of the hue, times contrast and saturation"),
    Fixed("sin_c_s", 1, 15, 0, frac=8, signed=True),
], ref="intel-vaapi-driver gen75_vpp_vebox.c", doc="dwords 53 and 54 of the color pipe's tables")

ADDED: tuple[Block, ...] = (SURFACE_STATE, STATE, DI_IECP, PROCAMP_STATE)
