"""The video engine of Broadwell, as differences to Haswell: addresses of 48 bits, VP8.  VEBOX has opaque contents.

Mesa's gen8.xml and intel-vaapi-driver (gen8_mfd.c, gen75_vpp_vebox.c).  What did not change is Haswell's layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Sint, Uint
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.gen6 import mfx as gen6
from gen4emu.hw.gen6.mfx import INDIRECT_OBJECTS, ArbitrationPriority
from gen4emu.hw.gen7 import mfx as gen7
from gen4emu.hw.gen75 import mfx as gen75
from gen4emu.hw.layout import Command, Engine
from gen4emu.hw.reserved import gfx

_REF = "Mesa gen8.xml "


class MfxSurfaceId(IntEnum):
    """The surface that MFX_SURFACE_STATE describes; 0 for a decoder."""

    DECODED_PICTURE = 0
    SOURCE_INPUT_PICTURE = 4
    RECONSTRUCTED_SCALED_REFERENCE_PICTURE = 5


def opaque(name: str, code: int, engine: Engine = Engine.VIDEO, ref: str = "Mesa gen8.xml") -> Command:
    """A command of which only the name and where the length is are described."""
    return gfx(name, code, 1, [Array("data", 1, DATA_DWORD)], length=(11, 0), engine=engine, ref=f"{ref} {name}")


def video(name: str, code: int, size: int, fields: Sequence[Field | Array] = (), *, ref: str = _REF,
          optional: int = 0, doc: str = "") -> Command:
    """A command of the video engine."""
    return gen6.video(name, code, size, fields, ref=ref, optional=optional, doc=doc)


def attributes(name: str, dword: int) -> list[Field]:
    """MEMORYADDRESSATTRIBUTES, the dword after an address."""
    return [
        Enum(f"{name}_arbitration_priority_control", dword, 8, 7, ArbitrationPriority),
        Uint(f"{name}_memory_object_control_state", dword, 6, 0, hex=True),
    ]


def buffers(names: Sequence[str], dword: int) -> list[Field]:
    """Buffers of three dwords each: an address of 48 bits, and the attributes of its accesses."""
    return [f for i, name in enumerate(names) for f in (
        Address(f"{name}_address", dword + 3 * i, 47, 6, target="DATA"), *attributes(name, dword + 3 * i + 2))]


# --- common to all standards ------------------------------------------------------------------------------------------
SURFACE_STATE = gen7.SURFACE_STATE.changed(
    Enum("surface_id", 1, 3, 0, MfxSurfaceId), ref=_REF + "MFX_SURFACE_STATE")

DESTINATIONS = ("pre_deblocking_destination", "post_deblocking_destination", "original_uncompressed_picture_source",
                "stream_out_data_destination", "intra_row_store_scratch_buffer", "deblocking_filter_row_store_scratch")
STATUS_BUFFERS = ("mb_status_buffer", "mb_ildb_stream_out_buffer", "second_mb_ildb_stream_out_buffer")
REFERENCES = tuple(Address(f"reference_picture_{i}_address", 19 + 2 * i, 63, 0, target="DATA") for i in range(16))

PIPE_BUF_ADDR_STATE = video("MFX_PIPE_BUF_ADDR_STATE", 0x7002, 61, [
    *buffers(DESTINATIONS, 1), *REFERENCES, *attributes("reference_pictures", 51), *buffers(STATUS_BUFFERS, 52),
])

IND_OBJ_BASE_ADDR_STATE = video("MFX_IND_OBJ_BASE_ADDR_STATE", 0x7003, 26, [
    f for i, name in enumerate(INDIRECT_OBJECTS) for f in (
        Address(f"{name}_address", 1 + 5 * i, 63, 12, target="DATA"), *attributes(name, 3 + 5 * i),
        Address(f"{name}_access_upper_bound", 4 + 5 * i, 63, 12))
])

_ROW_STORES = ("bsd_mpc_row_store_scratch_buffer", "mpr_row_store_scratch_buffer", "bitplane_read_buffer")
BSP_BUF_BASE_ADDR_STATE = video("MFX_BSP_BUF_BASE_ADDR_STATE", 0x7004, 10, buffers(_ROW_STORES, 1))

DEBLOCKING = ("pre_deblocking_source", "deblocking_control", "deblocking_destination", "deblock_row_store")
DBK_OBJECT = video("MFX_DBK_OBJECT", 0x7009, 13, buffers(DEBLOCKING, 1))

# --- AVC, VC-1, JPEG --------------------------------------------------------------------------------------------------
AVC_DIRECTMODE_STATE = gen75.AVC_DIRECTMODE_STATE.changed(
    *attributes("direct_mv_buffers", 33), *attributes("direct_mv_buffer_write", 36),
    ref=_REF + "MFX_AVC_DIRECTMODE_STATE")

VC1_DIRECTMODE_STATE = video("MFX_VC1_DIRECTMODE_STATE", 0x7202, 7, buffers(
    ("direct_mv_write_buffer", "direct_mv_read_buffer"), 1))

JPEG_PIC_STATE = gen75.JPEG_PIC_STATE.changed(
    Bool("horizontal_down_sampling_enable", 1, 18), ref=_REF + "MFX_JPEG_PIC_STATE")

# --- VP8 --------------------------------------------------------------------------------------------------------------
_SEGMENTS, _PARTITIONS = range(4), range(9)
_MV_PROBABILITIES = 19


def _bytes(names: Sequence[str], dword: int, kind: type[Uint | Sint] = Uint, width: int = 8) -> list[Field]:
    """Numbers in the bytes of consecutive dwords."""
    return [kind(name, dword + i // 4, i % 4 * 8 + width - 1, i % 4 * 8) for i, name in enumerate(names)]


VP8_PICTURE: tuple[Field, ...] = (
    Uint("frame_height", 1, 23, 16, bias=1, doc="in macroblocks"),
    Uint("frame_width", 1, 7, 0, bias=1, doc="in macroblocks"),
    Uint("log2_num_of_partition", 2, 25, 24),
    Uint("deblock_sharpness_level", 2, 18, 16),
    Bool("alternate_ref_pic_mv_sign_bias", 2, 13),
    Bool("golden_ref_picture_mv_sign_bias", 2, 12),
    Bool("mode_reference_loop_filter_delta_enable", 2, 11),
    Bool("mb_nocoeff_skip", 2, 10),
    Bool("update_mb_segment_map", 2, 9),
    Bool("segment_enable", 2, 8),
    Bool("segmentation_id_stream_in_enable", 2, 7),
    Bool("segmentation_id_stream_out_enable", 2, 6),
    Bool("key_frame", 2, 5),
    Uint("dblk_filter_type", 2, 4, 4),
    Bool("chroma_full_pixel_mc_filter_mode", 2, 1),
    Uint("mc_filter_select", 2, 0, 0),
    *_bytes([f"dblk_filter_level_for_segment{i}" for i in _SEGMENTS], 3, width=6),
    *(Uint(f"quantizer_value_{i}_{plane}{kind}", 4 + 3 * i + at, 16 * high + 8, 16 * high)
      for i in _SEGMENTS for at, plane in enumerate(("y1", "uv", "y2")) for high, kind in enumerate(("dc", "ac"))),
    *_bytes([f"mbsegmentidtreeprobs_{i}" for i in range(3)], 19),
    *_bytes(["interpredfromgrefrefprob", "interpredfromlastrefprob", "intrambprob", "mbnocoeffskipfalseprob"], 20),
    *_bytes([f"ymodeprob_{i}" for i in range(4)], 21),
    *_bytes([f"uvmodeprob_{i}" for i in range(3)], 22),
    *_bytes([f"mvupdateprobs_0_{i}" for i in range(_MV_PROBABILITIES)], 23),
    *_bytes([f"mvupdateprobs_1_{i}" for i in range(_MV_PROBABILITIES)], 28),
    *_bytes([f"reflfdelta{i}" for i in _SEGMENTS], 33, Sint, 7),
    *_bytes([f"modelfdelta{i}" for i in _SEGMENTS], 34, Sint, 7),
)

VP8_PIC_STATE = video("MFX_VP8_PIC_STATE", 0x7400, 38, [
    *VP8_PICTURE, *buffers(("coeffprobability_stream_in",), 16), *buffers(("segmentation_id_stream",), 35),
])

VP8_BSD_OBJECT = video("MFD_VP8_BSD_OBJECT", 0x7428, 22, [
    Uint("partition0_cpbac_entropy_count", 1, 20, 16), Uint("partition0_cpbac_entropy_range", 1, 15, 8),
    Uint("coded_num_of_coeff_token_partitions", 1, 5, 4),
    Uint("partition0_first_mb_bit_offset_from_frame_header", 1, 2, 0),
    Uint("partition0_cpbac_entropy_value", 2, 31, 24),
    *(f for i in _PARTITIONS for f in (
        Uint(f"indirect_partition{i}_data_length", 3 + 2 * i, 23, 0),
        Uint(f"indirect_partition{i}_data_start_offset", 4 + 2 * i, 31, 0, hex=True))),
    Uint("concealment_method", 21, 31, 31, doc="0 intra 16x16, 1 a copy"), Uint("concealment_picture_id", 21, 17, 16),
    Uint("bsd_premature_complete_error_handling", 21, 14, 14), Uint("mpr_error_handling", 21, 12, 12),
    Uint("entropy_error_handling", 21, 10, 10), Uint("mb_header_error_handling", 21, 8, 8),
])

VP8_PAK_OBJECT = video("MFX_VP8_PAK_OBJECT", 0x7449, 7, [
    Uint("indirect_pak_mv_data_length", 1, 9, 0),
    Uint("indirect_pak_mv_data_start_address_offset", 2, 28, 0, hex=True),
    *(Uint(f"inline_data_{i}", 3 + i, 31, 0, hex=True) for i in range(4)),
])

REPLACED: tuple[Command, ...] = (
    SURFACE_STATE, PIPE_BUF_ADDR_STATE, IND_OBJ_BASE_ADDR_STATE, BSP_BUF_BASE_ADDR_STATE, DBK_OBJECT,
    AVC_DIRECTMODE_STATE, VC1_DIRECTMODE_STATE, JPEG_PIC_STATE,
    opaque("VEBOX_STATE", 0x7402, Engine.VIDEO_ENHANCEMENT, "intel-vaapi-driver gen75_vpp_vebox.c"),
    opaque("VEBOX_DI_IECP", 0x7403, Engine.VIDEO_ENHANCEMENT, "intel-vaapi-driver gen75_vpp_vebox.c"),
)
ADDED: tuple[Command, ...] = (VP8_PIC_STATE, VP8_BSD_OBJECT, VP8_PAK_OBJECT)
REMOVED: tuple[str, ...] = ("VEBOX_DNDI_STATE", "VEBOX_PROCAMP_STATE")
