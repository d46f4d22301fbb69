"""Surfaces, images and presentation of the VA driver, with the program in tests/live/video."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.image.picture import read_channels
from gen4emu.trace.reader import open as open_trace
from tests.live.va_client import I420, INVALID_IMAGE_FORMAT, YV12, Image, needs_va, pictures, run, start
from tests.media.mpeg2_random import DUAL, WITH_B, Step, random_stream
from tests.media.va_player import Player

NONE = 0  # no pixel format


@needs_va
def test_images_equal_their_surfaces(tmp_path: Path) -> None:
    sizes = [(64, 32), (64, 36), (720, 32), (720, 36), (736, 32), (736, 36)]
    lines: list[str] = []
    for number, (width, height) in enumerate(sizes):
        noise = tmp_path / f"noise-{number}"
        noise.write_bytes(np.random.default_rng(number).bytes(stored_width(width) * height * 3 // 2))
        whole = f"{number} 0 0 {width} {height} {tmp_path}"
        lines += [f"surfaces {width} {height} {I420:x} 1", f"fill {number} {noise}",
                  f"derive {number} {tmp_path}/derived-{number}", f"image {I420:x} {width} {height}",
                  f"get {whole}/got-{number}", f"get {number} 16 8 32 16 {tmp_path}/part-{number}",
                  f"image {YV12:x} {width} {height}", f"get {whole}/none-{number}"]
    said = run(lines)
    for number, size in enumerate(sizes):
        check_images(tmp_path, number, size, said[7 * number:7 * number + 7])


def stored_width(width: int) -> int:
    return 2 * (width // 2 + 15 & ~15)


def check_images(directory: Path, number: int, size: tuple[int, int], said: list[list[str]]) -> None:
    width, height = size
    inside, pitch = stored_width(width), width + 127 & ~127
    of_surface, of_image = Image.of(said[1]), Image.of(said[2])
    assert of_surface == Image(I420, width, height, -(-inside * height * 3 // 2 // 4096) * 4096, (
        (0, inside), (inside * height, inside // 2), (inside * height * 5 // 4, inside // 2)))
    assert of_image.planes == ((0, pitch), (pitch * height, pitch // 2), (pitch * height * 5 // 4, pitch // 2))
    derived, noise = (directory / f"{name}-{number}" for name in ("derived", "noise"))
    assert derived.read_bytes().startswith(noise.read_bytes())
    ones = of_surface.read(derived, width, height)
    others, parts = (of_image.read(directory / f"{name}-{number}", width, height) for name in ("got", "part"))
    for whole, image, part in zip(ones, others, parts, strict=True):
        assert np.array_equal(whole, image)
        scale = width // whole.shape[1]
        rows, columns = slice(8 // scale, 24 // scale), slice(16 // scale, 48 // scale)
        assert np.array_equal(whole[rows, columns], part[rows, columns])  # the driver reads the same position
    assert int(said[6][1]) == INVALID_IMAGE_FORMAT


@needs_va
@pytest.mark.parametrize(("device", "decodes"), [("g41", True), ("965gm", False)])
def test_mpeg_2_is_available_on_g4x_only(device: str, decodes: bool) -> None:
    """The driver has its own list of chips, and queries the ring of the bitstream engine."""
    done = start([f"surfaces 64 32 {I420:x} 1", "context 64 32"], device=device)
    assert (done.returncode == 0) == decodes, done.stderr
    assert decodes or "vaInitialize" in done.stderr


@needs_va
def test_deriving_an_image_gives_a_surface_its_format(tmp_path: Path) -> None:
    """I420 with an MPEG-2 context, else YV12, whose planes are in the other order."""
    alone = run([f"surfaces 64 32 {NONE} 1", f"derive 0 {tmp_path / 'a'}"])
    assert Image.of(alone[0]).fourcc == YV12
    decoder = run([f"surfaces 64 32 {NONE} 1", "context 64 32", f"derive 0 {tmp_path / 'b'}"])
    assert Image.of(decoder[0]).fourcc == I420


@needs_va
@pytest.mark.parametrize(("size", "steps"), [((64, 64), WITH_B), ((96, 64), DUAL)], ids=["b", "dual-prime"])
def test_decoded_frames_are_read_back(size: tuple[int, int], steps: tuple[Step, ...], tmp_path: Path) -> None:
    """Random syntax; the images of vaGetImage equal the model of the kernels."""
    stream = random_stream(f"client-{size}", *size, steps)
    count = max(stream.shown) + 1
    said = run([f"surfaces {size[0]} {size[1]} {I420:x} {count}", f"context {size[0]} {size[1]}",
                *pictures(stream, size), f"image {I420:x} {size[0]} {size[1]}",
                *(f"get {n} 0 0 {size[0]} {size[1]} {tmp_path / str(n)}" for n in range(count))])
    assert said[:len(stream.pictures)] == [["picture", "done"]] * len(stream.pictures)
    expected = dict(zip(stream.shown, Player(*size).play(stream), strict=True))  # the last picture of each frame
    for number in range(count):
        read = Image.of(said[-count + number]).read(tmp_path / str(number), *size)
        model = expected[number].expected
        for scale, a, b in zip((1, 2, 2), read, model, strict=True):
            assert np.array_equal(a, b.samples[:, :size[0] // scale])


# --- vaPutSurface: the 3D pipe, into a buffer that the program declares as a window ---

BT601 = ((1.164, 0, 1.596), (1.164, -0.392, -0.813), (1.164, 2.017, 0))
BT709 = ((1.164, 0, 1.793), (1.164, -0.213, -0.533), (1.164, 2.112, 0))
STANDARDS = {0x10: BT601, 0x20: BT709}  # VA_SRC_BT601, VA_SRC_BT709
ROUGH = 0x55  # previous contents of the buffer
SURFACE = (64, 32)
ALL = (0, 0, *SURFACE)
WINDOW, BUFFER = (80, 48), (128, 64)

Plane = NDArray[np.float64]
Rectangle = tuple[int, int, int, int]  # x, y, width, height


def sample(plane: Plane, source: Rectangle, size: tuple[int, int]) -> Plane:
    """A bilinear lookup for each of width x height pixels; `source` in pixels of luma."""
    scale = plane.shape[1] / SURFACE[0]
    for axis, (first, length, count) in enumerate(((source[1], source[3], size[1]), (source[0], source[2], size[0]))):
        at = (first + (np.arange(count) + 0.5) * length / count) * scale - 0.5
        low = np.floor(at).astype(int)
        weight = np.expand_dims(at - low, 1 - axis)
        last = plane.shape[axis] - 1
        plane = (plane.take(np.clip(low, 0, last), axis) * (1 - weight)
                 + plane.take(np.clip(low + 1, 0, last), axis) * weight)
    return plane


def shown(planes: list[Plane], source: Rectangle, size: tuple[int, int], standard: int) -> NDArray[np.uint8]:
    """Blue, green, red and an alpha of 255, by the driver's coefficients (intel-vaapi-driver, i965_render.c)."""
    luma, cb, cr = (sample(p / 255, source, size) for p in planes)
    values = np.stack([luma - 0.06275, cb - 0.50196, cr - 0.50196])
    colors = [np.tensordot(row, values, 1) for row in reversed(STANDARDS[standard])]
    return np.stack([*(np.floor(np.clip(c, 0, 1) * 255 + 0.5) for c in colors), np.full(luma.shape, 255)],
                    axis=-1).astype(np.uint8)


@needs_va
@pytest.mark.parametrize(("tiling", "corner", "source", "target", "standard"), [
    (0, (0, 0), ALL, (4, 6, *SURFACE), 0x10), (1, (8, 4), ALL, (4, 6, *SURFACE), 0x20),
    (1, (16, 0), (16, 8, 32, 16), (0, 0, 64, 32), 0x10)], ids=["linear", "tiled", "scaled"])
def test_a_surface_is_shown_by_the_3d_pipe(tiling: int, corner: tuple[int, int], source: Rectangle, target: Rectangle,
                                           standard: int, tmp_path: Path) -> None:
    width, height = SURFACE
    data = np.random.default_rng(standard).integers(0, 256, width * height * 3 // 2, np.uint8)
    noise, pixels, trace = tmp_path / "noise", tmp_path / "pixels", tmp_path / "trace.aub"
    noise.write_bytes(data.tobytes())
    pitch = 4 * BUFFER[0]
    said = run([f"surfaces {width} {height} {I420:x} 1", f"fill 0 {noise}",
                f"window {WINDOW[0]} {WINDOW[1]} {pitch} {tiling} {corner[0]} {corner[1]} {BUFFER[1]}",
                "show 0 " + " ".join(map(str, (*source, *target))) + f" {standard:x} {pixels}"],
               "capture", "-o", str(trace))
    assert said[-1] == ["show", "0", "1"]
    chroma = data[width * height:].reshape(2, height // 2, width // 2).astype(float)
    planes = [data[:width * height].reshape(height, width).astype(float), *chroma]
    expected = np.full((BUFFER[1], BUFFER[0], 4), ROUGH, np.uint8)
    rows, columns = (slice(first, first + length) for first, length in zip(reversed(corner), reversed(WINDOW),
                                                                           strict=True))
    expected[rows, columns] = 0  # the driver clears the window first
    x, y = corner[0] + target[0], corner[1] + target[1]
    expected[y:y + target[3], x:x + target[2]] = shown(planes, source, target[2:], standard)
    found = np.fromfile(pixels, np.uint8).reshape(expected.shape)
    assert np.array_equal(found, expected)
    replay = Replay(open_trace(str(trace)), None, Options(workers=1))
    (frame,) = replay.frames()
    device, (color,) = replay.device, (t for t in frame.targets if t.kind == "color")
    assert device is not None
    assert (device.counts()["draws"], device.counts()["media_objects"]) == (1, 0)
    assert device.events() == []
    channels = read_channels(device.memory, color)
    height, width = channels["R"].shape
    assert all(np.array_equal(np.rint(channels[name] * 255), found[:height, :width, i])
               for i, name in enumerate("BGR"))
