"""The payloads and responses of the sampler's media messages, as the VA driver's kernels write and read them."""

from __future__ import annotations

from gen4emu.hw.fields import Field, Float, Ignored, Uint
from gen4emu.hw.layout import Block

_REF = "intel-vaapi-driver src/shaders/post_processing/gen7"


def _words(dword: int, low: str, high: str) -> list[Field]:
    """Two words of a dword."""
    return [Uint(high, dword, 31, 16), Uint(low, dword, 15, 0)]


SAMPLE_8X8_PAYLOAD = Block("SAMPLE_8X8_PAYLOAD", 8, [
    Ignored(0),
    Uint("vertical_block_number", 1, 31, 0, high=3, doc="of 16x4 pixels"),
    Float("u", 2, 31, 0, doc="normalized, of the first pixel"),
    Float("v", 3, 31, 0),
    Float("delta_u", 4, 31, 0),
    Float("delta_v", 5, 31, 0),
    Float("second_derivative_of_u", 6, 31, 0),
    Ignored(7),
], ref=_REF, align=32, doc="the pixels of sample_8x8")

DEINTERLACE_PAYLOAD = Block("DEINTERLACE_PAYLOAD", 8, [
    Ignored(0), Ignored(1), Ignored(2, 31, 16),
    Uint("x", 2, 15, 0, doc="of the block, in pixels"),
    Ignored(3), Ignored(4), Ignored(5), Ignored(6, 31, 16),
    Uint("y", 6, 15, 0),
    Ignored(7),
], ref=_REF, align=32)

PAYLOAD_DENOISE_STATISTICS = Block("PAYLOAD_DENOISE_STATISTICS", 8, [
    Uint("history_0", 0, 31, 0, hex=True, doc="a byte for each 4x4 pixels"),
    Uint("history_1", 1, 31, 0, hex=True),
    Ignored(2, 31, 8),
    Uint("block_noise_estimate", 2, 7, 0),
    Ignored(3, 31, 0),
    *_words(4, "svcm_1", "shcm_1"),
    *_words(5, "stad_1", "svcm_0"),
    *_words(6, "shcm_0", "stad_0"),
    *_words(7, "x", "y"),
], ref=_REF, align=32, doc="of the lower (1) and the upper (0) 16x4 pixels of a block that is only denoised")

PAYLOAD_DEINTERLACE_STATISTICS = Block("PAYLOAD_DEINTERLACE_STATISTICS", 8, [
    Uint("history", 0, 31, 0, hex=True, doc="a byte for each 4x4 pixels"),
    Uint("tear_count", 1, 31, 24),
    Uint("tear_count_first_field", 1, 23, 16, doc="of the first field with the second one of the previous frame"),
    Uint("moving_count", 1, 15, 8),
    Uint("block_noise_estimate", 1, 7, 0),
    Ignored(2, 31, 0),
    *_words(3, "current_bottom_previous_top", "current_top_previous_bottom"),
    *_words(4, "current_top_current_bottom", "current_bottom_previous_bottom"),
    *_words(5, "current_top_previous_top", "svcm"),
    *_words(6, "shcm", "stad"),
    *_words(7, "x", "y"),
], ref=_REF, align=32, doc="of a block that is deinterlaced; sums of differences are those of fields")

ADDED: tuple[Block, ...] = (SAMPLE_8X8_PAYLOAD, DEINTERLACE_PAYLOAD, PAYLOAD_DENOISE_STATISTICS,
                            PAYLOAD_DEINTERLACE_STATISTICS)
