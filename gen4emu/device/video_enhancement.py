"""The video enhancement engine, VEBOX: unpacks its commands and state; the C core processes frames.

A parameter that is not modelled is reported, and the frame is processed without it; a format that is not modelled is
reported, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.device.memory import Faults, Memory, Missing, Unit, load_log, port_faults, save_log
from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import Catalogue, catalogue_of
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.surface import TileWalk
from gen4emu.hw.gen6.media_sampling import MediaSurfaceFormat
from gen4emu.hw.gen75.vebox import (
    IECP_PARTS,
    PLANAR_420_16,
    PROCAMP_DWORD,
    SAMPLED_FORMATS,
    DiOutputFrames,
)
from gen4emu.hw.layout import View

ENHANCED_PIXEL = 16  # the cost of a pixel, in pixels of the blitter: for the watchdog

# Members of the core's `struct g4_deinterlacer`, and the fields of VEBOX_DNDI_STATE.
_STATE = {
    "progressive": "progressive_dn",
    "compensates": "mcdi_enable",
    "top_first": "dndi_top_first",
    "second_of_previous": "vdi_progressive_cadence_reconstruction_for_2nd_field_of_previous_frame",
    "first_of_current": "vdi_progressive_cadence_reconstruction_for_1st_field_of_current_frame",
    "stad_threshold": "denoise_stad_threshold",
    "asd_threshold": "denoise_asd_threshold",
    "scm_threshold": "denoise_threshold_for_sum_of_complexity_measure",
    "moving_pixel_threshold": "denoise_moving_pixel_threshold",
    "history_increase": "denoise_history_increase",
    "maximum_history": "denoise_maximum_history",
    "initial_history": "initial_denoise_history",
    "temporal_threshold": "temporal_difference_threshold",
    "low_temporal_threshold": "low_temporal_difference_threshold",
    "good_neighbor_threshold": "good_neighbor_threshold",
    "noise_threshold": "block_noise_estimate_noise_threshold",
    "noise_edge_threshold": "block_noise_estimate_edge_threshold",
    "stmm_c2": "stmm_c2",
    "stmm_shift_down": "stmm_shift_down",
    "stmm_shift_up": "stmm_shift_up",
    "vecm_multiplier": "multiplier_for_vecm",
    "stmm_large": "blending_constant_across_time_for_large_values_of_stmm",
    "stmm_small": "blending_constant_across_time_for_small_values_of_stmm",
    "stmm_large_at_minimum": "stmm_blending_constant_select",
    "minimum_stmm": "minimum_stmm",
    "maximum_stmm": "maximum_stmm",
    "stmm_output_shift": "stmm_output_shift",
    "sdi_threshold": "sdi_threshold",
    "sdi_delta": "sdi_delta",
    "fallback_t1": "sdi_fallback_mode_1_t1_constant",
    "fallback_t2": "sdi_fallback_mode_1_t2_constant",
    "fallback_2": "sdi_fallback_mode_2_constant",
    "film_temporal_threshold": "fmd_temporal_difference_threshold",
    "film_difference_1": "fmd_1_vertical_difference_threshold",
    "film_difference_2": "fmd_2_vertical_difference_threshold",
    "tear_threshold": "fmd_tear_threshold",
    "content_slope": "content_adaptive_threshold_slope",
    "content_threshold_1": "content_adaptive_threshold_1",
    "sad_tight": "sad_tight_threshold",
    "sad_a": "sad_threshold_a",
    "sad_b": "sad_threshold_b",
    "smooth_vector_threshold": "smooth_mv_threshold",
    "consistency_threshold": "mc_pixel_consistency_threshold",
    "neighbor_threshold": "neighbor_pixel_threshold",
}
_CHROMA = {
    "denoises_chroma": "chroma_denoise_enable",
    "chroma_stad_threshold": "chroma_denoise_stad_threshold",
    "chroma_temporal_threshold": "chroma_temporal_difference_threshold",
    "chroma_low_temporal_threshold": "chroma_low_temporal_difference_threshold",
}
_ADDRESSES = {
    "current_in": "current_frame_input", "previous_in": "previous_frame_input", "statistics_in": "stmm_input",
    "statistics_out": "stmm_output", "denoised_out": "denoised_current_frame_output",
    "current_out": "current_frame_output", "previous_out": "previous_frame_output",
}
_NOT_MODELLED = ("color_gamut_compression_enable", "color_gamut_expansion_enable", "hot_pixel_filtering_enable",
                 "alpha_plane_enable", "vignette_enable", "demosaic_enable")


class VideoEnhancement:
    """Executes VEBOX commands and keeps the state that they set.  `report` receives what is not modelled."""

    def __init__(self, memory: Memory, gen: Gen) -> None:
        self._memory, self._gen = memory, gen
        self._port = memory.new_port(Unit.SAMPLER)
        self._catalogue: Catalogue = catalogue_of(gen)
        self._set: dict[tuple[str, int], tuple[int, ...]] = {}  # by command, and surface

    @property
    def faults(self) -> Faults:
        """Failed accesses to memory."""
        return port_faults(self._port)

    def save(self) -> tuple[Any, ...]:
        """The state and faults, for `load`."""
        return dict(self._set), save_log(self._port)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Take over what `save` has returned."""
        state, log = saved
        self._set = dict(state)
        load_log(self._port, log)

    def reset(self) -> None:
        """The state that no command has set yet."""
        self._set.clear()

    def pixels(self, words: Words) -> int:
        """The pixels that VEBOX_DI_IECP visits."""
        view = self._catalogue.command("VEBOX_DI_IECP").view(words, gen=self._gen)
        last = min(view.ending_x, self._view("VEBOX_SURFACE_STATE", 0).width - 1)
        return max(0, int(last) + 1 - int(view.starting_x)) * int(self._view("VEBOX_SURFACE_STATE", 0).height)

    def execute(self, name: str, words: Words, report: Callable[[str], None]) -> None:
        """VEBOX_SURFACE_STATE, VEBOX_STATE or VEBOX_DI_IECP."""
        if name != "VEBOX_DI_IECP":
            view = self._catalogue.command(name).view(words, gen=self._gen)
            surface = int(view.surface_identification) if name == "VEBOX_SURFACE_STATE" else 0
            self._set[name, surface] = tuple(words)
        else:
            self._process(self._catalogue.command(name).view(words, gen=self._gen), report)

    # --- parameters ------------------------------------------------------------------------------------------------
    def _view(self, name: str, surface: int = 0) -> View:
        """The command that has set a part of the state; zeros before that."""
        command = self._catalogue.command(name)
        return command.view(self._set.get((name, surface), (0,) * command.size(self._gen)), gen=self._gen)

    def _dwords(self, address: int, count: int) -> list[int]:
        data = self._memory.read(address, 4 * count, Missing.REPORT, Unit.SAMPLER)
        return memoryview(data).cast("I").tolist()

    def _surface(self, number: int, report: Callable[[str], None]) -> dict[str, Any] | None:
        view = self._view("VEBOX_SURFACE_STATE", number)
        raw = view.raw("surface_format")
        if raw not in SAMPLED_FORMATS and raw != PLANAR_420_16:
            report(f"VEBOX_DI_IECP with surface format {raw}")
            return None
        tiling = Tiling.LINEAR
        if view.tiled_surface:
            tiling = Tiling.Y if view.tile_walk == TileWalk.YMAJOR else Tiling.X
        doubled = raw == PLANAR_420_16
        return {
            "format": MediaSurfaceFormat.PLANAR_420_8 if doubled else raw, "sample_bytes": 2 if doubled else 1,
            "width": view.width, "height": view.height, "pitch": view.surface_pitch,
            "interleaved": view.interleave_chroma, "half_pitch": view.half_pitch_for_chroma, "tiling": tiling,
            "cb_x": view.x_offset_for_u_cb, "cb_y": view.y_offset_for_u_cb, "cr_x": view.x_offset_for_v_cr,
            "cr_y": view.y_offset_for_v_cr,
        }

    def _denoise_and_deinterlace(self, state: View, raw: Any, report: Callable[[str], None]) -> None:
        target = raw.state
        target.denoises, target.deinterlaces = state.dn_enable, state.di_enable
        target.first_frame = state.dn_di_first_frame
        if not state.dn_enable and not state.di_enable:
            return
        block = self._catalogue.block("VEBOX_DNDI_STATE")
        table = block.view(self._dwords(state.dn_di_state_pointer, block.size(self._gen)), gen=self._gen)
        fields = {f.name for f in block.fields_for(self._gen)}
        for members, into in ((_STATE, target), (_CHROMA, raw)):
            for member, field in members.items():
                if field in fields:  # Gen9 filters with other weights than good neighbors
                    setattr(into, member, int(getattr(table, field)))
        if state.dn_enable and any(int(getattr(table, name)) for name in fields if name.startswith("range_filter")):
            report("VEBOX_DNDI_STATE with weights of the spatial filter")

    def _color(self, state: View, raw: Any, report: Callable[[str], None]) -> None:
        if not state.global_iecp_enable:
            return
        table = self._dwords(state.iecp_state_pointer, 1 + max(part[-1] for part in IECP_PARTS.values()))
        for part, dwords in IECP_PARTS.items():
            if any(table[i] for i in dwords):
                report(f"the color pipe's {part}")
        view = self._catalogue.block("VEBOX_PROCAMP_STATE").view(table, PROCAMP_DWORD, gen=self._gen)
        amplifier = raw.amplifier
        amplifier.enabled = view.enable
        amplifier.contrast, amplifier.brightness = int(view.contrast * 128), int(view.brightness * 16)
        amplifier.cosine, amplifier.sine = int(view.cos_c_s * 256), int(view.sin_c_s * 256)

    # --- frames ----------------------------------------------------------------------------------------------------
    def _process(self, command: View, report: Callable[[str], None]) -> None:
        state = self._view("VEBOX_STATE")
        surfaces = [self._surface(number, report) for number in (0, 1)]
        if surfaces[0] is None or surfaces[1] is None:
            return
        fields = {f.name for f in self._catalogue.command("VEBOX_STATE").fields_for(self._gen)}
        for name in _NOT_MODELLED:
            if name in fields and getattr(state, name):
                report(f"VEBOX_STATE with {name}")
        outputs = state.di_output_frames
        if state.di_enable and outputs not in tuple(DiOutputFrames):
            report(f"VEBOX_STATE with di_output_frames {int(outputs)}")
        both = outputs == DiOutputFrames.OUTPUT_BOTH_FRAMES
        raw = ffi.new("struct g4_video_enhancement *", {
            "input": surfaces[0], "output": surfaces[1], "averages_chroma": bool(state.downsample_method_422_to_420),
            "first_x": command.starting_x, "last_x": min(command.ending_x, surfaces[0]["width"] - 1),
            **{member: getattr(command, f"{name}_address") for member, name in _ADDRESSES.items()}})
        self._denoise_and_deinterlace(state, raw, report)
        self._color(state, raw, report)
        if state.di_enable:
            raw.writes_previous = both or outputs == DiOutputFrames.OUTPUT_PREVIOUS_FRAME_ONLY
            raw.writes_current = both or outputs == DiOutputFrames.OUTPUT_CURRENT_FRAME_ONLY
        else:  # the denoised frame is an output of its own
            raw.writes_current = bool(state.global_iecp_enable) or not state.dn_enable
        if lib.g4_enhance_video(self._port, raw) != lib.G4_OK:
            report("VEBOX_DI_IECP with these surface formats")
