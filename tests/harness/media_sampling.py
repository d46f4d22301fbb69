"""The sampler's media messages for tests: pictures in memory, threads that send one message each, their responses."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu.device.memory import Missing
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen
from tests.harness.media_gen7 import DYNAMIC, END, PICTURES, MediaGen7, block_header, write_block
from tests.harness.messages import descriptor

Bytes = NDArray[np.uint8]

STATES, TABLES = 0x4000, 0x5000  # from DYNAMIC
CURRENT, PREVIOUS, STATISTICS, RESPONSES = (PICTURES + 0x100000 * i for i in range(4))
PITCH = 256
_IVB = catalogue_of(Gen.IVB)  # Haswell has no DNDI_STATE
_OUTPUT, _SURFACE = 20, 3  # binding table indices


def _kernel(message: int, response: int, payload: str) -> str:
    """Send a message whose header is g16, and store the response in rows of 32 bytes from row g1.2 on."""
    text = "mov(8) g16<1>UD g0<8,8,1>UD { align1 nomask };\n" + payload
    text += f"send(8) g40<1>UW g16<8,8,1>UD 0x{message:08x} sampler {{ align1 nomask }};\n"
    for first in range(0, response, 4):
        count = min(4, response - first)
        text += block_header(20, "0UD", "g1.2<0,1,0>UD", 32, count)
        text += f"add(1) g20.1<1>UD g20.1<0,1,0>UD {first}UD {{ align1 nomask }};\n"
        text += "".join(f"mov(8) g{21 + i}<1>UD g{40 + first + i}<8,8,1>UD {{ align1 nomask }};\n"
                        for i in range(count))
        text += write_block(_OUTPUT, 20, count)
    return text + END


def sampler_message(kind: int, response: int, index: int = 0) -> int:
    """Two registers of payload, with a header, SIMD32 or SIMD64."""
    return descriptor("SAMPLER_MESSAGE", Gen.IVB, length=2, response=response, header_present=True,
                      simd_mode="SIMD32_64", message_type=kind, sampler_index=index, binding_table_index=_SURFACE)


def run(media: MediaGen7, words: Sequence[Sequence[int]], message: int, response: int, payload: str,
        complaint: str = "") -> Bytes:
    """The responses of threads with these inline data: thread, register, byte.  `complaint` is expected, if any."""
    media.kernel(0, _kernel(message, response, payload), sampler_state_pointer=STATES)
    media.select()
    media.surface(_OUTPUT, RESPONSES, 32, len(words) * response, 32)
    for number, (first, second) in enumerate(words):
        media.object((first, second, number * response))
    media.execute()
    assert [c for c in media.complaints() if not complaint or complaint not in c] == []
    assert bool(complaint) == bool(media.complaints())
    data = media.memory.read(RESPONSES, 32 * len(words) * response, Missing.ZERO)
    return np.frombuffer(data, np.uint8).reshape(len(words), response, 32)


# --- denoise and deinterlace ------------------------------------------------------------------------------------------
# The settings of intel-vaapi-driver for deinterlacing.
DEINTERLACING: dict[str, Any] = {
    "denoise_stad_threshold": 140, "denoise_maximum_history": 192, "denoise_history_increase": 7,
    "denoise_asd_threshold": 38, "stmm_c2": 2, "denoise_moving_pixel_threshold": 1,
    "denoise_threshold_for_sum_of_complexity_measure": 38, "good_neighbor_threshold": 12,
    "content_adaptive_threshold_slope": 10, "sad_tight_threshold": 5, "block_noise_estimate_edge_threshold": 1,
    "block_noise_estimate_noise_threshold": 20, "blending_constant_across_time_for_large_values_of_stmm": 64,
    "blending_constant_across_time_for_small_values_of_stmm": 125, "multiplier_for_vecm": 30, "maximum_stmm": 150,
    "minimum_stmm": 118, "stmm_shift_down": 3, "stmm_shift_up": 1, "stmm_output_shift": 5, "sdi_threshold": 100,
    "sdi_delta": 5, "sdi_fallback_mode_1_t1_constant": 50, "sdi_fallback_mode_1_t2_constant": 100,
    "sdi_fallback_mode_2_constant": 37, "fmd_temporal_difference_threshold": 175,
    "fmd_1_vertical_difference_threshold": 16, "fmd_2_vertical_difference_threshold": 100, "fmd_tear_threshold": 2,
    "dndi_top_first": True, "neighbor_pixel_threshold": 10, "mc_pixel_consistency_threshold": 25,
    "sad_threshold_a": 5, "sad_threshold_b": 10, "column_width": 1,
}


# The payload of denoise and deinterlace: the position of the block.
BLOCK = ("mov(1) g17.2<1>UD g1<0,1,0>UD { align1 nomask };\n"
         "mov(1) g17.6<1>UD g1.1<0,1,0>UD { align1 nomask };\n")


@dataclass(frozen=True)
class Outcome:
    """A picture, from the responses of all its blocks."""

    previous: Bytes  # the frame at the time of the second field of the previous frame; denoised only: the picture
    current: Bytes  # the frame at the time of the first field of the current one
    chroma: Bytes  # of `current`: V and U in turn, 4:2:2
    stmm: Bytes
    history: Bytes
    statistics: list[tuple[int, ...]]  # of each block: 32 bytes as eight dwords


def deinterlace(current: Bytes, previous: Bytes, *, denoise: bool = False, stmm: int = 0, history: int = 0,
                chroma: tuple[Bytes, Bytes] | None = None, part: str = "ivb", workers: int = 1, complaint: str = "",
                **state: Any) -> Outcome:
    """Deinterlace luma, or with `chroma`, of current and previous, rows of NV12."""
    height, width = current.shape
    media = _prepared(current, previous, part, workers, chroma)
    motion = np.zeros((height, PITCH), np.uint8)
    motion[:, :PITCH // 2], motion[:, PITCH // 2:] = stmm, history
    media.memory.write(STATISTICS, motion.tobytes())
    media.memory.write(DYNAMIC + STATES, _IVB.block("DNDI_STATE").build(Gen.IVB, **{
        **DEINTERLACING, "di_enable": True, "dn_enable": denoise, **state}))
    response = 11 if denoise else 10
    words = [(x, y) for y in range(0, height, 4) for x in range(0, width, 16)]
    out = run(media, words, sampler_message(8, response), response, BLOCK, complaint)
    frames = np.zeros((3, height, width), np.uint8)
    measures, histories = np.zeros((height, width // 2), np.uint8), np.zeros((height // 4, width // 4), np.uint8)
    for (x, y), block in zip(words, out, strict=True):
        for k, first in enumerate((0, 4, 6)):
            frames[k, y:y + 4, x:x + 16] = block[first:first + 2].reshape(4, 16)
        measures[y:y + 4, x // 2:x // 2 + 8] = block[8].reshape(4, 8)
        histories[y // 4, x // 4:x // 4 + 4] = block[9][:4]
    statistics = [struct.unpack("<8I", block[9].tobytes()) for block in out]
    return Outcome(frames[0], frames[1], frames[2], measures, histories, statistics)


def denoise(current: Bytes, previous: Bytes, *, history: int = 0, part: str = "ivb", **state: Any) -> Outcome:
    height, width = current.shape
    media = _prepared(current, previous, part, 1, None)
    motion = np.zeros((height, PITCH), np.uint8)
    motion[:, PITCH // 2:] = history
    media.memory.write(STATISTICS, motion.tobytes())
    media.memory.write(DYNAMIC + STATES, _IVB.block("DNDI_STATE").build(Gen.IVB, **{
        **DEINTERLACING, "dn_enable": True, **state}))
    words = [(x, y) for y in range(0, height, 8) for x in range(0, width, 16)]
    out = run(media, words, sampler_message(8, 5), 5, BLOCK)
    frame, histories = np.zeros_like(current), np.zeros((height // 4, width // 4), np.uint8)
    for (x, y), block in zip(words, out, strict=True):
        frame[y:y + 8, x:x + 16] = block[:4].reshape(8, 16)
        for row in range(2):
            histories[y // 4 + row, x // 4:x // 4 + 4] = block[4][4 * row:4 * row + 4]
    statistics = [struct.unpack("<8I", block[4].tobytes()) for block in out]
    return Outcome(frame, frame, frame, frame, histories, statistics)


def _prepared(current: Bytes, previous: Bytes, part: str, workers: int,
              chroma: tuple[Bytes, Bytes] | None) -> MediaGen7:
    media = MediaGen7(part, workers=workers)
    height, width = current.shape
    for i, (address, picture) in enumerate(((CURRENT, current), (PREVIOUS, previous))):
        rows = [picture] if chroma is None else [picture, chroma[i]]
        stored = np.zeros((sum(len(r) for r in rows), PITCH), np.uint8)
        stored[:, :width] = np.concatenate(rows)
        media.memory.write(address, stored.tobytes())
        fields = {} if chroma is None else {
            "surface_format": "PLANAR_420_8", "interleave_chroma": True, "y_offset_for_cb": height}
        media.media_surface(_SURFACE + i, address, width, height, PITCH, **fields)
    media.surface(_SURFACE + 2, STATISTICS, width, height, PITCH)
    return media


# --- sample_8x8 -------------------------------------------------------------------------------------------------------
def linear(phase: int) -> list[int]:
    """The coefficients of a bilinear filter."""
    return [0, 0, 0, 64 - 2 * phase, 2 * phase, 0, 0, 0]


def scaled(picture: Bytes, blocks: Sequence[tuple[float, float]], *, step: tuple[float, float], mask: int = 0b1101,
           taps: Callable[[int], list[int]] = linear, number: int = 0, acceleration: float = 0.0, part: str = "ivb",
           surface: dict[str, Any] | None = None, sampler: dict[str, Any] | None = None,
           **state: Any) -> NDArray[np.uint16]:
    """16x4 words of each channel that `mask` does not drop, for blocks that begin at normalized positions."""
    height, width = picture.shape
    media = MediaGen7(part)
    stored = np.zeros((height, PITCH), np.uint8)
    stored[:, :width] = picture
    media.memory.write(CURRENT, stored.tobytes())
    media.media_surface(_SURFACE, CURRENT, **{"width": width, "height": height, "pitch": PITCH, **(surface or {})})
    media.memory.write(DYNAMIC + STATES + 64, media.build("SAMPLER_8x8", **{
        "ief_bypass": True, "sampler_8x8_state_pointer": TABLES, **(sampler or {})}))
    tables = [{f"table_{table}_filter_coefficient_{i}": tap / 64 for table in ("0x", "0y", "1x", "1y")
               for i, tap in enumerate(taps(phase))} for phase in range(17)]
    media.memory.write(DYNAMIC + TABLES, media.build("SAMPLER_8x8_STATE", **{
        "coefficients": tables, "default_sharpness_level": 255, "bypass_x_adaptive_filtering": True,
        "bypass_y_adaptive_filtering": True, **state}))
    fixed = {1: number, 4: _float(step[0]), 5: _float(step[1]), 6: _float(acceleration)}
    payload = f"mov(1) g16.2<1>UD 0x{mask << 12:08x}UD {{ align1 nomask }};\n"
    payload += "".join(f"mov(1) g17.{at}<1>UD 0x{value:08x}UD {{ align1 nomask }};\n" for at, value in fixed.items())
    payload += ("mov(1) g17.2<1>UD g1<0,1,0>UD { align1 nomask };\n"
                "mov(1) g17.3<1>UD g1.1<0,1,0>UD { align1 nomask };\n")
    channels = 4 - mask.bit_count()
    out = run(media, [(_float(u), _float(v)) for u, v in blocks], sampler_message(11, 4 * channels, 4), 4 * channels,
              payload)
    return out.view(np.uint16).reshape(len(blocks), channels, 4, 16)


# --- sample_unorm -----------------------------------------------------------------------------------------------------
def unorm(picture: Bytes, blocks: Sequence[tuple[float, float]], *, step: tuple[float, float], kind: int = 12,
          mask: int = 0b1101, part: str = "ivb", complaint: str = "", surface: dict[str, Any] | None = None,
          **sampler: Any) -> tuple[NDArray[np.uint16], Bytes]:
    """8x4 words of each channel that `mask` does not drop, for blocks that begin at normalized positions; and the
    registers after the channels."""
    height, width = picture.shape
    media = MediaGen7(part)
    stored = np.zeros((height, PITCH), np.uint8)
    stored[:, :width] = picture
    media.memory.write(CURRENT, stored.tobytes())
    media.media_surface(_SURFACE, CURRENT, **{"width": width, "height": height, "pitch": PITCH, **(surface or {})})
    media.memory.write(DYNAMIC + STATES + 64, media.build("SAMPLER_STATE", **{
        "mag_mode_filter": "LINEAR", "tcx_address_control_mode": "CLAMP", "tcy_address_control_mode": "CLAMP",
        **sampler}))
    payload = f"mov(1) g16.2<1>UD 0x{mask << 12:08x}UD {{ align1 nomask }};\n"
    payload += "".join(f"mov(1) g17.{at}<1>UD 0x{_float(value):08x}UD {{ align1 nomask }};\n"
                       for at, value in ((4, step[0]), (5, step[1])))
    payload += ("mov(1) g17.2<1>UD g1<0,1,0>UD { align1 nomask };\n"
                "mov(1) g17.3<1>UD g1.1<0,1,0>UD { align1 nomask };\n")
    channels = 4 - mask.bit_count()
    response = 2 * channels + (kind in (2, 10))
    out = run(media, [(_float(u), _float(v)) for u, v in blocks], sampler_message(kind, response, 4), response, payload,
              complaint)
    words = np.ascontiguousarray(out[:, :2 * channels]).view(np.uint16)
    return words.reshape(len(blocks), channels, 4, 8), out[:, 2 * channels:]


def _float(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
