"""VEBOX: frames are denoised and deinterlaced, and their contrast, brightness, hue and saturation are set.

No public document has the arithmetic, so most tests state properties: pictures that stand still come back, noise falls,
lines of moving pictures no longer comb.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu.device.device import Device
from gen4emu.device.events import BlitHang
from gen4emu.device.options import Options
from gen4emu.device.tiling import Tiling, tiled_offset
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen75.vebox import IECP_PARTS, PROCAMP_DWORD
from gen4emu.trace.events import Engine
from tests.harness.commands import joined
from tests.harness.media_sampling import DEINTERLACING

DEVICES = ["hsw", "skl", "kbl"]
WIDTH, HEIGHT, PITCH = 64, 48, 128
BATCH, STATE, COLOR = 0x10000, 0x20000, 0x30000
CURRENT, PREVIOUS, MOTION_IN, MOTION_OUT, DENOISED, OUT, OUT_PREVIOUS, STATISTICS = range(0x100000, 0x180000, 0x10000)
FRAME_BYTES = 0x10000
OUT_FAR = 0x400000
NV12, YUY2, P010 = 4, 0, 12
Bytes = NDArray[np.uint8]

# What the VA driver sets, as far as the generation has the field; other thresholds where a test needs them.
DRIVER = {name: value for name, value in DEINTERLACING.items() if name != "stmm_shift_down"} | {
    "initial_denoise_history": 32, "chroma_denoise_stad_threshold": 140, "chroma_denoise_enable": 1,
    "chroma_temporal_difference_threshold": 13, "chroma_low_temporal_difference_threshold": 7,
}
TEMPORAL = {"temporal_difference_threshold": 20, "low_temporal_difference_threshold": 15,
            "denoise_moving_pixel_threshold": 4}


@dataclass
class Picture:
    luma: Bytes
    chroma: Bytes  # Cb and Cr in turn, half the lines

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picture) and np.array_equal(self.luma, other.luma) and np.array_equal(
            self.chroma, other.chroma)


def random_picture(seed: int, low: int = 0, high: int = 256) -> Picture:
    rng = np.random.default_rng(seed)
    return Picture(rng.integers(low, high, (HEIGHT, WIDTH), np.uint8),
                   rng.integers(low, high, (HEIGHT // 2, WIDTH), np.uint8))


def plain(luma: Bytes) -> Picture:
    return Picture(luma, np.tile(np.array([90, 160], np.uint8), (HEIGHT // 2, WIDTH // 2)))


def disc(time: int) -> Bytes:
    """It moves by two pixels a field."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.where((x - 2 * time - 24) ** 2 + (y - 24) ** 2 < 14 ** 2, 220, 60).astype(np.uint8)


def woven(time: int) -> Picture:
    picture = disc(time)
    picture[1::2] = disc(time + 1)[1::2]
    return plain(picture)


def error(one: Bytes, other: Bytes) -> float:
    return float(np.abs(one.astype(int) - other).mean())


class Vebox:
    """A device with frames of NV12 in memory, of WIDTH x HEIGHT."""

    def __init__(self, name: str, watchdog: int = 0) -> None:
        self.device = Device(BY_NAME[name], Options(workers=1, watchdog=watchdog))
        self.gen = self.device.info.gen
        self.surfaces = [self.surface(), self.surface()]
        for address in range(CURRENT, STATISTICS + FRAME_BYTES, FRAME_BYTES):
            self.device.memory.write(address, bytes(FRAME_BYTES))

    def surface(self, **changes: Any) -> dict[str, Any]:
        return {"surface_format": NV12, "width": WIDTH, "height": HEIGHT, "surface_pitch": PITCH,
                "interleave_chroma": True, "y_offset_for_u_cb": HEIGHT, "y_offset_for_v_cr": HEIGHT} | changes

    def put(self, address: int, picture: Picture) -> None:
        data = np.zeros((HEIGHT * 3 // 2, PITCH), np.uint8)
        data[:HEIGHT, :WIDTH] = picture.luma
        data[HEIGHT:, :WIDTH] = picture.chroma
        self.device.memory.write(address, data.tobytes())

    def rows(self, address: int, count: int = HEIGHT * 3 // 2) -> Bytes:
        data = self.device.memory.read(address, count * PITCH)
        return np.frombuffer(data, np.uint8).reshape(count, PITCH)

    def get(self, address: int) -> Picture:
        rows = self.rows(address)
        return Picture(rows[:HEIGHT, :WIDTH], rows[HEIGHT:, :WIDTH])

    def set_state(self, **changes: Any) -> None:
        block = block_named("VEBOX_DNDI_STATE", self.gen)
        fields = block.by_name(self.gen)
        values = {name: value for name, value in (DRIVER | changes).items() if name in fields}
        self.device.memory.write(STATE, block.build(self.gen, **values))

    def set_color(self, dwords: dict[int, int] | None = None, **amplifier: Any) -> None:
        table = [0] * 128
        table[PROCAMP_DWORD:PROCAMP_DWORD + 2] = block_named("VEBOX_PROCAMP_STATE", self.gen).pack(
            self.gen, **amplifier)
        for at, value in (dwords or {}).items():
            table[at] = value
        self.device.memory.write(COLOR, np.array(table, np.uint32).tobytes())

    def words(self, name: str, **fields: Any) -> list[int]:
        return list(command_named(name, self.gen).pack(self.gen, **fields))

    def run(self, starting_x: int = 0, ending_x: int = WIDTH - 1, current: int = CURRENT, denoised: int = DENOISED,
            out: int = OUT, motion_out: int = MOTION_OUT, repeat: int = 1, **state: Any) -> list[str]:
        """The findings after one VEBOX_DI_IECP with this VEBOX_STATE."""
        frame = self.words(
            "VEBOX_DI_IECP", starting_x=starting_x, ending_x=ending_x, current_frame_input_address=current,
            previous_frame_input_address=PREVIOUS, stmm_input_address=MOTION_IN, stmm_output_address=motion_out,
            denoised_current_frame_output_address=denoised, current_frame_output_address=out,
            previous_frame_output_address=OUT_PREVIOUS, statistics_output_address=STATISTICS)
        setup = self.words("VEBOX_STATE", **{"dn_di_state_pointer": STATE, "iecp_state_pointer": COLOR,
                                             "downsample_method_422_to_420": 1} | state)
        surfaces = [self.words("VEBOX_SURFACE_STATE", surface_identification=i, **fields)
                    for i, fields in enumerate(self.surfaces)]
        self.device.memory.write(BATCH, joined(setup, *surfaces, *[frame] * repeat, self.words("MI_BATCH_BUFFER_END")))
        self.device.run_batch(BATCH, Engine.VEBOX)
        return list(self.device.findings.count)


@pytest.fixture(params=DEVICES)
def vebox(request: pytest.FixtureRequest) -> Vebox:
    return Vebox(request.param)


# --- deinterlace ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("denoises", [False, True])
@pytest.mark.parametrize("top_first", [0, 1])
def test_a_picture_that_stands_still_comes_back(vebox: Vebox, top_first: int, denoises: bool) -> None:
    still = random_picture(1)
    vebox.put(CURRENT, still)
    vebox.put(PREVIOUS, still)
    # No neighbor counts as good, so the spatial filter leaves the random picture as it is.
    vebox.set_state(dndi_top_first=top_first, good_neighbor_threshold=0)
    assert vebox.run(di_enable=True, dn_enable=denoises) == []
    assert vebox.get(OUT) == still
    assert vebox.get(OUT_PREVIOUS) == still
    assert (vebox.get(DENOISED) == still) is denoises


def test_lines_of_a_moving_picture_no_longer_comb(vebox: Vebox) -> None:
    vebox.put(PREVIOUS, woven(0))
    vebox.put(CURRENT, woven(2))
    vebox.set_state()
    assert vebox.run(di_enable=True) == []
    for address, time in ((OUT_PREVIOUS, 1), (OUT, 2)):
        found = vebox.get(address)
        assert error(found.luma, disc(time)) < 0.5 * error(woven(time).luma, disc(time))
        assert np.array_equal(found.chroma, woven(0).chroma)
    own = vebox.get(OUT).luma[0::2]
    assert np.array_equal(own, disc(2)[0::2])  # the lines of the field itself are not changed


@pytest.mark.parametrize(("outputs", "written"), [
    ("OUTPUT_BOTH_FRAMES", {OUT, OUT_PREVIOUS}), ("OUTPUT_PREVIOUS_FRAME_ONLY", {OUT_PREVIOUS}),
    ("OUTPUT_CURRENT_FRAME_ONLY", {OUT})])
def test_only_the_frames_of_the_command_are_written(vebox: Vebox, outputs: str, written: set[int]) -> None:
    vebox.put(CURRENT, plain(np.full((HEIGHT, WIDTH), 77, np.uint8)))
    vebox.put(PREVIOUS, plain(np.full((HEIGHT, WIDTH), 77, np.uint8)))
    vebox.set_state()
    vebox.run(di_enable=True, di_output_frames=outputs)
    assert {a for a in (OUT, OUT_PREVIOUS, DENOISED) if vebox.rows(a).any()} == written


def test_reserved_output_frames_are_reported_and_nothing_is_written(vebox: Vebox) -> None:
    vebox.put(CURRENT, random_picture(16))
    vebox.set_state()
    assert vebox.run(di_enable=True, di_output_frames=3) == ["VEBOX_STATE with di_output_frames 3 is not executed"]
    assert not vebox.rows(OUT).any()
    assert not vebox.rows(OUT_PREVIOUS).any()


def test_the_first_frame_uses_its_own_field_only(vebox: Vebox) -> None:
    vebox.put(CURRENT, woven(2))
    vebox.put(PREVIOUS, random_picture(3))  # whatever is there
    vebox.set_state()
    assert vebox.run(di_enable=True, dn_di_first_frame=True, di_output_frames="OUTPUT_CURRENT_FRAME_ONLY") == []
    assert error(vebox.get(OUT).luma, disc(2)) < 0.5 * error(woven(2).luma, disc(2))
    assert (vebox.rows(MOTION_OUT, HEIGHT)[:, :WIDTH // 2] == 255).all()


def test_motion_is_kept_for_the_next_frame(vebox: Vebox) -> None:
    vebox.put(PREVIOUS, woven(0))
    vebox.put(CURRENT, woven(2))
    vebox.set_state()
    vebox.run(di_enable=True)
    motion = vebox.rows(MOTION_OUT, HEIGHT)
    assert motion[:, :WIDTH // 2].max() > 100
    assert not motion[:8].any()  # nothing moves there
    vebox.device.memory.write(MOTION_IN, motion.tobytes())
    vebox.put(PREVIOUS, woven(2))
    vebox.run(di_enable=True)  # it stands still now
    after = vebox.rows(MOTION_OUT, HEIGHT)
    assert 0 < after.max() < motion.max()


# --- denoise ----------------------------------------------------------------------------------------------------------
def test_noise_over_time_falls(vebox: Vebox) -> None:
    rng = np.random.default_rng(4)
    clean = plain(np.where(np.mgrid[0:HEIGHT, 0:WIDTH][1] < 32, 60, 200).astype(np.uint8))

    def noisy() -> Picture:
        luma, chroma = (np.clip(plane + rng.integers(-4, 5, plane.shape), 0, 255).astype(np.uint8)
                        for plane in (clean.luma, clean.chroma))
        return Picture(luma, chroma)

    first = noisy()
    vebox.put(PREVIOUS, first)
    vebox.set_state(progressive_dn=1, good_neighbor_threshold=0, **TEMPORAL)
    for _ in range(40):  # the history grows
        current = noisy()
        vebox.put(CURRENT, current)
        assert vebox.run(dn_enable=True) == []
        found = vebox.get(DENOISED)
        vebox.put(PREVIOUS, found)
        vebox.device.memory.write(MOTION_IN, vebox.rows(MOTION_OUT).tobytes())
    assert error(found.luma, clean.luma) < 0.55 * error(current.luma, clean.luma)
    assert error(found.chroma, clean.chroma) < 0.55 * error(current.chroma, clean.chroma)
    assert np.abs(np.diff(found.luma.astype(int))).max() >= 130  # of 140: the edge is not blurred
    assert not vebox.rows(OUT).any()  # only the denoised frame is an output
    history = vebox.rows(MOTION_OUT, HEIGHT // 4)[:, PITCH // 2:PITCH // 2 + WIDTH // 4]
    assert (history == 192).all()  # the maximum


def test_good_neighbors_of_haswell_are_averaged() -> None:
    vebox = Vebox("hsw")
    luma = (100 + np.random.default_rng(5).integers(-3, 4, (HEIGHT, WIDTH))).astype(np.uint8)
    vebox.put(CURRENT, plain(luma))
    vebox.set_state(progressive_dn=1)
    assert vebox.run(dn_enable=True) == []
    assert error(vebox.get(DENOISED).luma, np.full_like(luma, 100)) < 0.5 * error(luma, np.full_like(luma, 100))


def test_chroma_is_left_alone_if_its_filter_is_off(vebox: Vebox) -> None:
    vebox.put(CURRENT, random_picture(6))
    vebox.set_state(chroma_denoise_enable=0)
    vebox.run(dn_enable=True)
    assert np.array_equal(vebox.get(DENOISED).chroma, random_picture(6).chroma)


@pytest.mark.parametrize("device", ["skl", "kbl"])
def test_weights_of_the_spatial_filter_are_reported(device: str) -> None:
    vebox = Vebox(device)
    vebox.set_state(range_filter_6=1)
    assert vebox.run(dn_enable=True) == ["VEBOX_DNDI_STATE with weights of the spatial filter is not executed"]


# --- color ------------------------------------------------------------------------------------------------------------
def test_contrast_brightness_hue_and_saturation(vebox: Vebox) -> None:
    picture = random_picture(7)
    vebox.put(CURRENT, picture)
    vebox.set_color(enable=True, contrast=1.5, brightness=-10.0, cos_c_s=1.25, sin_c_s=-0.5)
    assert vebox.run(global_iecp_enable=True) == []
    found = vebox.get(OUT)
    luma = np.floor((picture.luma - 16.0) * 1.5 - 10 + 16 + 0.5)
    cb, cr = (picture.chroma[:, i::2] - 128.0 for i in (0, 1))
    assert np.array_equal(found.luma, np.clip(luma, 0, 255))
    assert np.array_equal(found.chroma[:, 0::2], np.clip(np.floor(cb * 1.25 - cr * 0.5 + 128.5), 0, 255))
    assert np.array_equal(found.chroma[:, 1::2], np.clip(np.floor(cr * 1.25 + cb * 0.5 + 128.5), 0, 255))


def test_without_filters_a_frame_is_copied(vebox: Vebox) -> None:
    vebox.put(CURRENT, random_picture(8))
    vebox.set_color()
    assert vebox.run(global_iecp_enable=True) == []
    assert vebox.get(OUT) == random_picture(8)


@pytest.mark.parametrize("part", IECP_PARTS)
def test_other_parts_of_the_color_pipe_are_reported(vebox: Vebox, part: str) -> None:
    vebox.put(CURRENT, random_picture(9))
    vebox.set_color({IECP_PARTS[part][-1]: 1})
    assert vebox.run(global_iecp_enable=True) == [f"the color pipe's {part} is not executed"]
    assert vebox.get(OUT) == random_picture(9)


def test_gamut_compression_is_reported(vebox: Vebox) -> None:
    vebox.set_color()
    assert vebox.run(global_iecp_enable=True, color_gamut_compression_enable=True) == [
        "VEBOX_STATE with color_gamut_compression_enable is not executed"]


# --- surfaces ---------------------------------------------------------------------------------------------------------
def test_tiles(vebox: Vebox) -> None:
    picture = random_picture(10)
    data = np.zeros(FRAME_BYTES, np.uint8)
    for y in range(HEIGHT * 3 // 2):
        for x in range(WIDTH):
            row = picture.luma[y] if y < HEIGHT else picture.chroma[y - HEIGHT]
            data[tiled_offset(Tiling.Y, PITCH, x, y)] = row[x]
    vebox.device.memory.write(CURRENT, data.tobytes())
    vebox.surfaces = [vebox.surface(tiled_surface=True, tile_walk=1)] * 2
    vebox.set_color()
    assert vebox.run(global_iecp_enable=True) == []
    assert vebox.device.memory.read(OUT, FRAME_BYTES) == data.tobytes()


def test_formats_are_converted(vebox: Vebox) -> None:
    picture = random_picture(11)
    vebox.put(CURRENT, picture)
    vebox.set_color()
    vebox.surfaces[1] = vebox.surface(surface_format=YUY2, interleave_chroma=False)
    assert vebox.run(global_iecp_enable=True) == []
    packed = vebox.rows(OUT, HEIGHT)
    assert np.array_equal(packed[:, 0::2], picture.luma)
    for i in range(2):
        assert np.array_equal(packed[:, 1 + 2 * i::4], np.repeat(picture.chroma[:, i::2], 2, axis=0))
    vebox.surfaces = [vebox.surfaces[1], vebox.surfaces[0]]
    assert vebox.run(global_iecp_enable=True, current=OUT, out=OUT_PREVIOUS) == []
    assert vebox.get(OUT_PREVIOUS) == picture


def test_of_samples_of_16_bits_the_upper_byte_counts(vebox: Vebox) -> None:
    words = np.random.default_rng(12).integers(0, 1 << 16, (HEIGHT * 3 // 2, WIDTH), np.uint16)
    data = np.zeros((HEIGHT * 3 // 2, PITCH), np.uint8)
    data[:, :2 * WIDTH] = words.view(np.uint8)
    vebox.device.memory.write(CURRENT, data.tobytes())
    vebox.surfaces[0] = vebox.surface(surface_format=P010)
    vebox.set_color()
    assert vebox.run(global_iecp_enable=True) == []
    assert np.array_equal(vebox.rows(OUT)[:, :WIDTH], words >> 8)
    vebox.surfaces = [vebox.surface(), vebox.surface(surface_format=P010)]
    assert vebox.run(global_iecp_enable=True, current=OUT, out=OUT_PREVIOUS) == []
    assert np.array_equal(vebox.rows(OUT_PREVIOUS)[:, :2 * WIDTH].copy().view(np.uint16), words & 0xFF00)


def test_a_sample_of_16_bits_may_be_in_two_pages(vebox: Vebox) -> None:
    picture = random_picture(15)
    vebox.put(CURRENT, picture)
    vebox.set_color()
    vebox.surfaces[1] = vebox.surface(surface_format=P010, surface_pitch=0xFFF)
    for page in reversed(range(100)):  # so that the host's pages are not in order
        vebox.device.memory.write(OUT_FAR + page * 0x1000, bytes(0x1000))
    assert vebox.run(global_iecp_enable=True, out=OUT_FAR) == []
    assert vebox.device.memory.read(OUT_FAR + 0xFFF, 4) == bytes([0, picture.luma[1, 0], 0, picture.luma[1, 1]])


@pytest.mark.parametrize("surface", [0, 1])
def test_other_formats_are_reported_and_nothing_is_written(vebox: Vebox, surface: int) -> None:
    vebox.put(CURRENT, random_picture(13))
    vebox.set_color()
    vebox.surfaces[surface] = vebox.surface(surface_format=9)
    assert vebox.run(global_iecp_enable=True) == ["VEBOX_DI_IECP with surface format 9 is not executed"]
    assert not vebox.rows(OUT).any()


def test_only_the_columns_of_the_command_are_processed(vebox: Vebox) -> None:
    vebox.put(CURRENT, plain(np.full((HEIGHT, WIDTH), 99, np.uint8)))
    vebox.set_color()
    vebox.run(global_iecp_enable=True, starting_x=16, ending_x=31)
    rows = vebox.rows(OUT)
    assert (rows[:HEIGHT, 16:32] == 99).all()
    assert not rows[:, :16].any()
    assert not rows[:, 32:].any()


# --- hostile commands -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("changes", [
    {"width": 1, "height": 1}, {"width": 16384, "height": 3}, {"surface_pitch": 1}, {"surface_pitch": 131072},
    {"y_offset_for_u_cb": 0x7FFF, "x_offset_for_u_cb": 0x1FFF}, {"tiled_surface": True, "surface_pitch": 5},
    {"half_pitch_for_chroma": True, "surface_pitch": 1, "interleave_chroma": False}])
@pytest.mark.parametrize("format_number", [NV12, YUY2, P010])
def test_surfaces_of_any_shape_stay_in_their_memory(vebox: Vebox, changes: dict[str, int], format_number: int) -> None:
    vebox.surfaces = [vebox.surface(surface_format=format_number, **changes)] * 2
    vebox.set_state()
    vebox.set_color(enable=True, contrast=1.0)
    before = vebox.device.memory.read(STATE, 0x1000)
    assert vebox.run(ending_x=16383, di_enable=True, dn_enable=True, global_iecp_enable=True) == []
    assert vebox.device.memory.read(STATE, 0x1000) == before


def test_memory_that_is_not_there_is_a_fault(vebox: Vebox) -> None:
    vebox.set_state()
    vebox.run(current=0x4000000, denoised=0x5000000, out=0x6000000, motion_out=0x7000000, di_enable=True,
              dn_enable=True)
    assert vebox.device.faults


def test_a_batch_with_too_many_pixels_hangs() -> None:
    vebox = Vebox("hsw", watchdog=1)
    vebox.set_color()
    with pytest.raises(BlitHang, match="VEBOX_DI_IECP: more pixels than the watchdog allows"):
        vebox.run(global_iecp_enable=True, repeat=40)


def test_outputs_may_be_the_input(vebox: Vebox) -> None:
    results = []
    for _ in range(2):
        vebox.put(CURRENT, woven(2))
        vebox.put(PREVIOUS, woven(0))
        vebox.set_state()
        vebox.run(di_enable=True, dn_enable=True, denoised=CURRENT, out=CURRENT, motion_out=MOTION_IN)
        results.append(vebox.rows(CURRENT).tobytes())
        vebox.device.memory.write(MOTION_IN, bytes(FRAME_BYTES))
    assert results[0] == results[1]


# --- the engine -------------------------------------------------------------------------------------------------------
def test_other_engines_do_not_have_the_commands(vebox: Vebox) -> None:
    vebox.device.memory.write(BATCH, joined(vebox.words("VEBOX_STATE"), vebox.words("MI_BATCH_BUFFER_END")))
    vebox.device.run_batch(BATCH)
    assert len(vebox.device.findings.count) == 1


def test_a_reset_clears_the_state(vebox: Vebox) -> None:
    vebox.set_color()
    vebox.run(global_iecp_enable=True)
    vebox.device.reset()
    vebox.put(CURRENT, random_picture(17))
    vebox.device.memory.write(OUT, bytes(FRAME_BYTES))
    frame = vebox.words("VEBOX_DI_IECP", ending_x=WIDTH - 1, current_frame_input_address=CURRENT,
                        current_frame_output_address=OUT)
    vebox.device.memory.write(BATCH, joined(frame, vebox.words("MI_BATCH_BUFFER_END")))
    vebox.device.run_batch(BATCH, Engine.VEBOX)
    assert not vebox.get(OUT).luma[1:].any()  # surfaces have the size 1 x 1 again


def test_state_survives_a_checkpoint(vebox: Vebox) -> None:
    vebox.put(CURRENT, random_picture(14))
    vebox.set_color(enable=True, contrast=2.0, cos_c_s=1.0)
    vebox.run(global_iecp_enable=True)
    expected = vebox.get(OUT)
    saved = vebox.device.save()
    assert saved is not None
    other = Vebox(vebox.device.info.name)
    other.put(CURRENT, random_picture(14))
    other.set_color(enable=True, contrast=2.0, cos_c_s=1.0)
    other.device.load(saved)
    frame = other.words("VEBOX_DI_IECP", ending_x=WIDTH - 1, current_frame_input_address=CURRENT,
                        current_frame_output_address=OUT)
    other.device.memory.write(BATCH, joined(frame, other.words("MI_BATCH_BUFFER_END")))
    other.device.run_batch(BATCH, Engine.VEBOX)
    assert other.get(OUT) == expected
