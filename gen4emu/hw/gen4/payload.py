"""URB entries and the first registers of a thread: data that the fixed-function units and their threads exchange.

The vertex header, R0 to R2 of each kind of 3D thread, and the plane coefficients that setup threads write (G45 PRM
vol. 2, 2.6.1 and the thread payload tables of chapters 4 to 8).  Media payloads are in `gen4emu.hw.gen4.media`.
"""

from __future__ import annotations

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Fixed, Float, Ignored, Uint
from gen4emu.hw.layout import Block
from gen4emu.hw.topology import PrimitiveTopology

# Readers must not rely on bits that these tables call reserved, so they are ignored and not required to be zero.

VERTEX_HEADER = Block("VERTEX_HEADER", 8, [
    Ignored(0, doc="must be zero by the manual; two drivers keep texture coordinates in dwords 0 to 3"),
    Ignored(1, 31, 11),
    Uint("render_target_array_index", 1, 10, 0),
    Uint("viewport_index", 2, 31, 0, doc="out of range means 0"),
    Ignored(3, 31, 19),
    Fixed("point_width", 3, 18, 8, frac=3),
    Uint("user_clip_codes", 3, 7, 0, hex=True, doc="1 is outside"),
    Float("vertex_position_x", 4, 31, 0, doc="NDC, or screen space when mapped already"),
    Float("vertex_position_y", 5, 31, 0),
    Float("vertex_position_z", 6, 31, 0),
    Float("vertex_position_rhw", 7, 31, 0, doc="1 / clip space w"),
], ref="G45v2 2.6.1", align=64)


# --- R0 ---------------------------------------------------------------------------------------------------------------
def sampler_and_scratch() -> list[Field]:
    """R0.3 of VS, GS and PS threads."""
    return [
        Address("sampler_state_pointer", 3, 31, 5, base="general_state", target="SAMPLER_STATE"),
        Ignored(3, 4, 4),
        Uint("per_thread_scratch_space", 3, 3, 0, high=11, doc="bytes are 1024 << n"),
    ]


def _scratch_only() -> list[Field]:
    """R0.3 of CLIP and SF threads."""
    return [Ignored(3, 31, 4), Uint("per_thread_scratch_space", 3, 3, 0, high=11, doc="bytes are 1024 << n")]


def binding_table() -> list[Field]:
    """R0.4."""
    return [Address("binding_table_pointer", 4, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
            Ignored(4, 4, 0)]


def scratch_pointer() -> Field:
    """R0.5, but for the thread's number, which every unit keeps in a width of its own."""
    return Address("scratch_space_pointer", 5, 31, 10, base="general_state", target="SCRATCH")


def _debug() -> list[Field]:
    """R0.6 and R0.7."""
    return [Ignored(6, 31, 24), Uint("thread_id", 6, 23, 0), Bool("snapshot_flag", 7, 31), Ignored(7, 30, 0)]


def _first_handle() -> list[Field]:
    """R0.0 of GS and CLIP threads, and R0.1."""
    return [Ignored(0, 31, 23), Uint("handle_id", 0, 22, 16), Ignored(0, 15, 9),
            Uint("urb_return_handle", 0, 8, 0), Ignored(1)]


def _object_topology() -> list[Field]:
    """The low bits of R0.2 of GS and CLIP threads."""
    return [
        Bool("edge_indicator_1", 2, 9, doc="POLYGON: V2 to V0 is an outside edge"),
        Bool("edge_indicator_0", 2, 8, doc="POLYGON: V0 to V1 is an outside edge"),
        Ignored(2, 7, 5),
        Enum("primitive_topology_type", 2, 4, 0, PrimitiveTopology),
    ]


def _two_way_fftid() -> list[Field]:
    """R0.5 of GS and CLIP threads: there are two of them at most."""
    return [scratch_pointer(), Ignored(5, 9, 1), Uint("fftid", 5, 0, 0)]


PAYLOAD_VS_R0 = Block("PAYLOAD_VS_R0", 8, [
    Ignored(0, 31, 25),
    Uint("handle_id_0", 0, 24, 16),
    Ignored(0, 15, 9),
    Uint("urb_return_handle_0", 0, 8, 0),
    Ignored(1, 31, 25),
    Uint("handle_id_1", 1, 24, 16),
    Ignored(1, 15, 9),
    Uint("urb_return_handle_1", 1, 8, 0, doc="equal to handle 0 when there is one vertex"),
    Ignored(2),
    *sampler_and_scratch(),
    *binding_table(),
    scratch_pointer(),
    Ignored(5, 9, 4),
    Uint("fftid", 5, 3, 0),
    *_debug(),
], ref="G45v2 4.3.1", align=32)

PAYLOAD_GS_R0 = Block("PAYLOAD_GS_R0", 8, [
    *_first_handle(),
    Ignored(2, 31, 10),
    *_object_topology(),
    *sampler_and_scratch(),
    *binding_table(),
    *_two_way_fftid(),
    *_debug(),
], ref="G45v2 5.4.2", align=32)

_OUTCODES = ("vp_x_min", "vp_x_max", "vp_y_min", "vp_y_max", "vp_z_min", "vp_z_max",
             "gb_x_min", "gb_x_max", "gb_y_min", "gb_y_max",
             "user_clip_7", "user_clip_6", "user_clip_5", "user_clip_4",
             "user_clip_3", "user_clip_2", "user_clip_1", "user_clip_0", "bad")

PAYLOAD_CLIP_R0 = Block("PAYLOAD_CLIP_R0", 8, [
    *_first_handle(),
    *(Bool(f"object_outcode_{plane}", 2, 31 - i) for i, plane in enumerate(_OUTCODES)),
    Ignored(2, 12, 12),
    Ignored(2, 11, 10),
    *_object_topology(),
    *_scratch_only(),
    *binding_table(),
    *_two_way_fftid(),
    *_debug(),
], ref="G45v2 6.7.2", align=32)

PAYLOAD_SF_R0 = Block("PAYLOAD_SF_R0", 8, [
    Uint("handle_id", 0, 31, 16),
    Uint("urb_return_handle", 0, 15, 0, doc="the primitive URB entry"),
    Ignored(1),
    Ignored(2),
    *_scratch_only(),
    *binding_table(),
    scratch_pointer(),
    Ignored(5, 9, 8),
    Uint("fftid", 5, 7, 0),
    *_debug(),
], ref="G45v2 7.5.2", align=32)

PAYLOAD_SF_R1 = Block("PAYLOAD_SF_R1", 8, [
    Ignored(0, 31, 18),
    Bool("back_facing", 0, 17),
    Bool("sprite_point_enable", 0, 16),
    Enum("primitive_type", 0, 15, 0, PrimitiveTopology),
    Uint("provoking_vertex", 1, 31, 0, high=2, doc="in the order after the reorder"),
    Float("determinant", 2, 31, 0),
    Float("dx0", 3, 31, 0, doc="X1 - X0"),
    Float("dx2", 4, 31, 0, doc="X2 - X0"),
    Float("dy0", 5, 31, 0, doc="Y1 - Y0"),
    Float("dy2", 6, 31, 0, doc="Y2 - Y0"),
    Ignored(7),
], ref="G45v2 7.5.2", align=32)

PAYLOAD_SF_R2 = Block("PAYLOAD_SF_R2", 8, [
    Float("z0", 0, 31, 0),
    Float("inverse_w0", 1, 31, 0),
    Float("z1", 2, 31, 0),
    Float("inverse_w1", 3, 31, 0),
    Float("z2", 4, 31, 0),
    Float("inverse_w2", 5, 31, 0),
    Ignored(6),
    Ignored(7),
], ref="G45v2 7.5.2", align=32)

ATTRIBUTE_COEFFICIENTS = Block("ATTRIBUTE_COEFFICIENTS", 4, [
    Float("cx", 0, 31, 0),
    Float("cy", 1, 31, 0),
    Ignored(2),
    Float("c0", 3, 31, 0),
], ref="G45v2 7.5.4", align=16, doc="the plane of one attribute, attribute-major")


# --- PS ---------------------------------------------------------------------------------------------------------------
def ps_thread() -> list[Field]:
    """R0.3 to R0.7, the same in normal and contiguous dispatch."""
    return [
        *sampler_and_scratch(),
        *binding_table(),
        scratch_pointer(),
        Uint("color_code", 5, 9, 8),
        Uint("fftid", 5, 7, 0),
        Ignored(6, 31, 24),
        Uint("thread_id", 6, 23, 0),
        Bool("snapshot_flag", 7, 31),
        Ignored(7, 30, 24),
        Uint("primitive_thread_id", 7, 23, 0),
    ]


def subspans(first: int) -> list[Field]:
    """R1.2 to R1.5 and their like: the upper-left pixels of four subspans."""
    return [Uint(f"subspan_{first + i}_{axis}", 2 + i, lo + 15, lo)
            for i in range(4) for axis, lo in (("y", 16), ("x", 0))]


PAYLOAD_PS_R0 = Block("PAYLOAD_PS_R0", 8, [
    Uint("pixel_mask", 0, 31, 16, hex=True, doc="bit 4 * subspan + pixel"),
    Uint("pixel_mask_copy", 0, 15, 0, hex=True, doc="the kernel clears the bits of killed pixels"),
    Address("color_calculator_state_pointer", 1, 31, 6, base="general_state", target="COLOR_CALC_STATE"),
    Ignored(1, 5, 0),
    Ignored(2),
    *ps_thread(),
], ref="G45v2 8.5.2", align=32)

PAYLOAD_PS_R1 = Block("PAYLOAD_PS_R1", 8, [
    Float("x_start", 0, 31, 0),
    Float("y_start", 1, 31, 0),
    *subspans(0),
    Bool("back_facing", 6, 31),
    Bool("source_depth_present", 6, 30),
    Bool("source_depth_to_render_target", 6, 29),
    Bool("destination_depth_present", 6, 28),
    Bool("destination_stencil_present", 6, 27),
    Bool("antialias_alpha_to_render_target", 6, 26),
    Bool("antialias_alpha_present", 6, 25),
    Ignored(6, 24, 5),
    Enum("primitive_topology_type", 6, 4, 0, PrimitiveTopology),
    Ignored(7, 31, 31),
    Uint("viewport_index", 7, 30, 27),
    Uint("render_target_array_index", 7, 26, 16),
    Ignored(7, 15, 0),
], ref="G45v2 8.5.2", align=32)

PAYLOAD_PS_SUBSPANS_4_7 = Block("PAYLOAD_PS_SUBSPANS_4_7", 8, [
    Uint("pixel_mask", 0, 31, 16, hex=True),
    Uint("pixel_mask_copy", 0, 15, 0, hex=True),
    Ignored(1),
    *subspans(4),
    Ignored(6),
    Ignored(7),
], ref="G45v2 8.5.2", align=32, doc="of a 32-pixel dispatch")

SUBSPAN_BYTES = Block("SUBSPAN_BYTES", 1, [
    Uint("pixel_3", 0, 31, 24),
    Uint("pixel_2", 0, 23, 16),
    Uint("pixel_1", 0, 15, 8),
    Uint("pixel_0", 0, 7, 0),
], ref="G45v2 8.5.2", doc="a byte for each pixel: upper left, upper right, lower left, lower right")

SUBSPAN_PAIR_NIBBLES = Block("SUBSPAN_PAIR_NIBBLES", 1, [
    Uint(f"subspan_{i >> 2}_pixel_{i & 3}", 0, 4 * i + 3, 4 * i) for i in reversed(range(8))
], ref="G45v2 8.5.2")

PAYLOAD_PS_ANTIALIAS_STENCIL = Block("PAYLOAD_PS_ANTIALIAS_STENCIL", 8, [
    Array("destination_stencil", 0, SUBSPAN_BYTES, 4),
    Ignored(4),
    Ignored(5),
    Array("antialias_alpha_u0_4", 6, SUBSPAN_PAIR_NIBBLES, 2),
], ref="G45v2 8.5.2", align=32, doc="present with either of the two; also in the render target message")

THREAD_STATE = Block("THREAD_STATE", 1, [
    Uint("euid", 0, 31, 8, doc="of any number of units; Gen4 has four bits"),
    Uint("tid", 0, 7, 0),
], ref="965v4 11.3.4.10", doc="sr0.0")

BLOCKS: tuple[Block, ...] = (
    THREAD_STATE,
    VERTEX_HEADER, PAYLOAD_VS_R0, PAYLOAD_GS_R0, PAYLOAD_CLIP_R0, PAYLOAD_SF_R0, PAYLOAD_SF_R1, PAYLOAD_SF_R2,
    ATTRIBUTE_COEFFICIENTS, PAYLOAD_PS_R0, PAYLOAD_PS_R1, PAYLOAD_PS_SUBSPANS_4_7, PAYLOAD_PS_ANTIALIAS_STENCIL,
)
