"""The first registers of pixel shader threads (IVB PRM vol. 2 part 1, Pixel Shader Thread Payload)."""

from __future__ import annotations

from gen4emu.hw.fields import Address, Bool, Enum, Field, Ignored, Uint
from gen4emu.hw.gen4.payload import subspans
from gen4emu.hw.layout import Block
from gen4emu.hw.topology import PrimitiveTopology

_REF = "IVBv2p1 9.3"


def _slots(first: int) -> list[Field]:
    """R1, and R2 of threads of 32 pixels."""
    return [
        Ignored(0, 31, 16),
        Uint("sample_ids", 0, 15, 0, hex=True, doc="four bits for each subspan, in threads of samples; from Gen8 on"),
        Ignored(1),
        *subspans(first),
        Ignored(6),
        Uint("dispatched_pixels", 7, 31, 16, hex=True, doc="bit 4 * subspan + pixel"),
        Uint("lit_pixels", 7, 15, 0, hex=True),
    ]


PAYLOAD_PS_R0 = Block("PAYLOAD_PS_R0", 8, [
    Ignored(0, 31, 31),
    Uint("viewport_index", 0, 30, 27),
    Uint("render_target_array_index", 0, 26, 16),
    Bool("back_facing", 0, 15),
    Ignored(0, 14, 14),
    Bool("source_depth_present", 0, 13, doc="this and the two next: in messages that write the render target"),
    Bool("output_mask_present", 0, 12),
    Bool("source0_alpha_present", 0, 11),
    Ignored(0, 10, 8),
    Uint("starting_sample_pair", 0, 7, 6, doc="of a thread for each sample"),
    Ignored(0, 5, 5),
    Enum("primitive_topology_type", 0, 4, 0, PrimitiveTopology),
    Address("color_calculator_state_pointer", 1, 31, 6, base="dynamic_state", target="COLOR_CALC_STATE"),
    Ignored(1, 5, 0),
    Ignored(2),
    Ignored(3, doc="to R0.5: the pointers that all threads have"),
    Ignored(4),
    Ignored(5),
    Ignored(6, 31, 24),
    Uint("thread_id", 6, 23, 0),
    Ignored(7),
], ref=_REF, align=32)

PAYLOAD_PS_R1 = Block("PAYLOAD_PS_R1", 8, _slots(0), ref=_REF, align=32)

BLOCKS: tuple[Block, ...] = (PAYLOAD_PS_R0, PAYLOAD_PS_R1)
