"""URB entries of vertices and patches and the first registers of the threads that write them, on Ivy Bridge.

IVB PRM vol. 2 part 1, "Vertex URB Entry (VUE) Formats", the thread payloads of VS, HS, DS and GS, and the patch
record; part 2, media.
"""

from __future__ import annotations

from gen4emu.hw.fields import Address, Field, Float, Ignored, Uint
from gen4emu.hw.gen4 import media as gen4
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


def state_pointers(scratch: Field, fftid_bits: int = 8) -> list[Field]:
    """Dwords 3 to 5 of R0, which differ in how they give the size of scratch space and in the bits of FFTID."""
    return [
        Address("sampler_state_pointer", 3, 31, 5, base="dynamic_state", target="SAMPLER_STATE"),
        Ignored(3, 4, 4),
        scratch,
        Address("binding_table_pointer", 4, 31, 5, base="surface_state", target="BINDING_TABLE_STATE"),
        Ignored(4, 4, 0),
        Address("scratch_space_pointer", 5, 31, 10, base="general_state", target="SCRATCH"),
        Ignored(5, 9, fftid_bits),
        Uint("fftid", 5, fftid_bits - 1, 0),
    ]


MEDIA_SCRATCH = Uint("per_thread_scratch_space", 3, 3, 0, doc="as MEDIA_VFE_STATE has it")


def _end_of_r0() -> list[Field]:
    """Dwords 3 to 7 of R0, which all stages of the geometry have alike."""
    return [
        *state_pointers(Uint("per_thread_scratch_space", 3, 3, 0, high=11, doc="bytes are 1024 << n")),
        Ignored(6, 31, 24),
        Uint("thread_id", 6, 23, 0),
        Ignored(7),
    ]


PAYLOAD_VS_R0 = Block("PAYLOAD_VS_R0", 8, [
    Ignored(0, 31, 16),
    Uint("urb_return_handle_0", 0, 15, 0),
    Ignored(1, 31, 16),
    Uint("urb_return_handle_1", 1, 15, 0),
    Ignored(2),
    *_end_of_r0(),
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
    *state_pointers(MEDIA_SCRATCH),
    Ignored(6, 31, 24),
    Uint("thread_count", 6, 23, 0),
    Ignored(7),
], ref="IVB PRM vol2 part2 Root Thread Payload", align=32)


# As on Gen4, but for the descriptor of the child, which R0 of a root thread has in the same place.
THREAD_SPAWNER_MESSAGE_HEADER = gen4.THREAD_SPAWNER_MESSAGE_HEADER.changed(
    Uint("dispatch_urb_handle", 0, 15, 0, doc="in rows of 256 bits"),
    Ignored(2, 31, 10),
    Uint("interface_descriptor_offset", 2, 9, 4, doc="in descriptors; of the child to be spawned"),
    remove=["interface_descriptor_pointer"], ref="IVB PRM vol2 part2 Thread Spawn Message")


def payload_hs_r0(instance: int, barrier: int) -> Block:
    """R0 of a hull shader thread, by the low bits of the instance and of the barrier."""
    return Block("PAYLOAD_HS_R0", 8, [
        Ignored(0, 31, 16),
        Uint("urb_return_handle", 0, 15, 0, doc="of the patch"),
        Uint("primitive_id", 1, 31, 0),
        Ignored(2, 31, instance + 7),
        Uint("instance_number", 2, instance + 6, instance),
        Uint("barrier_id", 2, barrier + 3, barrier),
        Ignored(2, barrier - 1, 0),
        *_end_of_r0(),
    ], ref=_REF + "HS Thread Payload", align=32)


PAYLOAD_HS_R0 = payload_hs_r0(16, 12)

# R0 is that of a vertex shader thread.
PAYLOAD_DS_R1 = Block("PAYLOAD_DS_R1", 8, [
    *(Float(f"domain_point_0_{axis}", i, 31, 0) for i, axis in enumerate("uvw")),
    Ignored(3, 31, 13),
    Uint("patch_urb_handle", 3, 12, 0),
    *(Float(f"domain_point_1_{axis}", 4 + i, 31, 0) for i, axis in enumerate("uvw")),
    Uint("primitive_id", 7, 31, 0),
], ref=_REF + "DS Thread Payload", align=32)

PAYLOAD_GS_R0 = Block("PAYLOAD_GS_R0", 8, [
    Uint("instance_id_0", 0, 31, 27),
    Ignored(0, 26, 16),
    Uint("urb_return_handle_0", 0, 15, 0),
    Uint("instance_id_1", 1, 31, 27),
    Ignored(1, 26, 16),
    Uint("urb_return_handle_1", 1, 15, 0),
    Ignored(2, 31, 5),
    Uint("primitive_topology_type", 2, 4, 0),
    *_end_of_r0(),
], ref=_REF + "GS Thread Payload", align=32)

PAYLOAD_GS_PRIMITIVE_IDS = Block("PAYLOAD_GS_PRIMITIVE_IDS", 8, [
    Uint("primitive_id_0", 0, 31, 0),
    *(Ignored(dword) for dword in (1, 2, 3)),
    Uint("primitive_id_1", 4, 31, 0, doc="of the second object"),
    *(Ignored(dword) for dword in (5, 6, 7)),
], ref=_REF + "GS Thread Payload", align=32)


def _patch(domain: str, **factors: int) -> Block:
    used = set(factors.values())
    return Block(f"PATCH_HEADER_{domain}", 8, [
        *(Ignored(dword) for dword in range(8) if dword not in used),
        *(Float(name, dword, 31, 0) for name, dword in factors.items()),
    ], ref=_REF + "Patch URB Entry (Patch Record) Output", align=32, doc="tessellation factors")


PATCH_HEADER_QUAD = _patch("QUAD", inside_v=2, inside_u=3, edge_v1=4, edge_u1=5, edge_v0=6, edge_u0=7)
PATCH_HEADER_TRI = _patch("TRI", inside=4, edge_w0=5, edge_v0=6, edge_u0=7)
PATCH_HEADER_ISOLINE = _patch("ISOLINE", line_density=6, line_detail=7)

ADDED: tuple[Block, ...] = (
    VERTEX_HEADER, PAYLOAD_VS_R0, PAYLOAD_MEDIA_R0, THREAD_SPAWNER_MESSAGE_HEADER, PAYLOAD_HS_R0,
    PAYLOAD_DS_R1, PAYLOAD_GS_R0, PAYLOAD_GS_PRIMITIVE_IDS, PATCH_HEADER_QUAD, PATCH_HEADER_TRI, PATCH_HEADER_ISOLINE)
