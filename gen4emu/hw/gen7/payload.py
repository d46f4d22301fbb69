"""URB entries of vertices, and the first register of vertex shader and media threads, on Ivy Bridge.

IVB PRM vol. 2 part 1, "Vertex URB Entry (VUE) Formats" and the thread payload of VS; part 2, media.
"""

from __future__ import annotations

from gen4emu.hw.fields import Address, Float, Ignored, Uint
from gen4emu.hw.layout import Block

_REF = "IVB PRM vol2 part1 "

VERTEX_HEADER = Block("VERTEX_HEADER", 16, [
    Ignored(0),
    Ignored(1, 31, 11),
    Uint("render_target_array_index", 1, 10, 0),
    Ignored(2, 31, 4),
    Uint("viewport_index", 2, 3, 0),
    Float("point_width", 3, 31, 0),
    *(Float(f"vertex_position_{axis}", 4 + i, 31, 0, doc="clip space") for i, axis in enumerate("xyzw")),
    *(Float(f"clip_distance_{i}", 8 + i, 31, 0, doc="if a test of 3DSTATE_CLIP needs it, else an attribute")
      for i in range(8)),
], ref=_REF + "Vertex URB Entry (VUE) Formats", align=32)

PAYLOAD_VS_R0 = Block("PAYLOAD_VS_R0", 8, [
    Ignored(0, 31, 16),
    Uint("urb_return_handle_0", 0, 15, 0),
    Ignored(1, 31, 16),
    Uint("urb_return_handle_1", 1, 15, 0),
    Ignored(2),
    Address("sampler_state_pointer", 3, 31, 5, base="dynamic_state", target="SAMPLER_STATE"),
    Ignored(3, 4, 4),
    Uint("per_thread_scratch_space", 3, 3, 0, high=11, doc="bytes are 1024 << n"),
    Address("binding_table_pointer", 4, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
    Ignored(4, 4, 0),
    Address("scratch_space_pointer", 5, 31, 10, base="general_state", target="SCRATCH"),
    Ignored(5, 9, 8),
    Uint("fftid", 5, 7, 0),
    Ignored(6, 31, 24),
    Uint("thread_id", 6, 23, 0),
    Ignored(7),
], ref=_REF + "VS Thread Payload", align=32)

# No public text describes the first three dwords; docs/decisions.md 120.
PAYLOAD_MEDIA_R0 = Block("PAYLOAD_MEDIA_R0", 8, [
    Ignored(0, 31, 16),
    Uint("urb_handle", 0, 15, 0),
    Ignored(1, 31, 25),
    Uint("scoreboard_y", 1, 24, 16, doc="from the object, or the position of the walker"),
    Ignored(1, 15, 9),
    Uint("scoreboard_x", 1, 8, 0),
    Ignored(2, 31, 10),
    Uint("interface_descriptor_offset", 2, 9, 4, doc="in descriptors"),
    Uint("scoreboard_color", 2, 3, 0),
    Address("sampler_state_pointer", 3, 31, 5, base="dynamic_state", target="SAMPLER_STATE"),
    Ignored(3, 4, 4),
    Uint("per_thread_scratch_space", 3, 3, 0, doc="as MEDIA_VFE_STATE has it"),
    Address("binding_table_pointer", 4, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
    Ignored(4, 4, 0),
    Address("scratch_space_pointer", 5, 31, 10, base="general_state", target="SCRATCH"),
    Ignored(5, 9, 8),
    Uint("fftid", 5, 7, 0),
    Ignored(6, 31, 24),
    Uint("thread_count", 6, 23, 0),
    Ignored(7),
], ref="IVB PRM vol2 part2 Root Thread Payload", align=32)

ADDED: tuple[Block, ...] = (VERTEX_HEADER, PAYLOAD_VS_R0, PAYLOAD_MEDIA_R0)
