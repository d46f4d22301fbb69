"""Surfaces as pixels: the core's conversion against the one that defines it, PNG files, digests, limits."""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gen4emu._native import lib
from gen4emu.device.device import Device
from gen4emu.device.memory import Memory
from gen4emu.device.targets import LARGEST_SIDE, Target
from gen4emu.device.tiling import Swizzle, Tiling
from gen4emu.errors import DecodeError, FieldError
from gen4emu.hw.chips import device_named
from gen4emu.hw.formats import Encoding, SurfaceFormat, format_info
from gen4emu.image import picture
from gen4emu.image.digest import PixelsDigest, pixels_digest
from gen4emu.image.picture import read_channels, read_pixels, save_npy, save_pixels, to_pixels
from gen4emu.image.png import write_png

BASE = 0x100000


@pytest.fixture
def memory() -> Memory:
    part = device_named("g45")
    assert part is not None
    return Device(part).memory


def shown(form: SurfaceFormat) -> bool:
    """Whether the defining conversion knows the format."""
    info = format_info(form)
    if info is None or info.encoding not in (Encoding.PLAIN, Encoding.YUV_422) or info.block_bits > 128:
        return False  # wider ones are formats of vertices
    width = info.block_width
    try:
        picture.decode(bytes(info.block_bits // 8), info, width, 1)
    except DecodeError:
        return False
    return True


FORMATS = [form for form in SurfaceFormat if shown(form)]
PLACES = [(Tiling.LINEAR, 0, 0), (Tiling.X, 0, 0), (Tiling.Y, 0, 0), (Tiling.X, 7, 5), (Tiling.Y, 13, 30),
          (Tiling.LINEAR, 1, 1)]


def surface(form: SurfaceFormat, width: int, height: int, tiling: Tiling = Tiling.LINEAR, x: int = 0, y: int = 0,
            address: int = BASE) -> Target:
    info = format_info(form)
    assert info is not None
    row = (x + width) * info.block_bits // 8
    return Target("color", address, form, width, height, -(-row // 512) * 512, tiling, x, y)


def fill(memory: Memory, seed: int, size: int = 1 << 20) -> None:
    memory.write(BASE, np.random.default_rng(seed).bytes(size))


def reference(memory: Memory, target: Target, swizzle: Swizzle = Swizzle.NONE) -> np.ndarray:
    with np.errstate(all="ignore"):
        pixels = to_pixels(read_channels(memory, target, swizzle))
    opaque = pixels.ndim == 3 and pixels.shape[2] == 4 and (pixels[:, :, 3] == 255).all()
    return pixels[:, :, :3] if opaque else pixels


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_format_converts_like_the_reference(form: SurfaceFormat, memory: Memory) -> None:
    fill(memory, int(form))
    for tiling, x, y in PLACES:
        target = surface(form, 70, 37, tiling, x, y)
        with np.errstate(all="ignore"):
            found = read_pixels(memory, target)
        expected = reference(memory, target)
        assert found.dtype == expected.dtype and np.array_equal(found, expected), (tiling, x, y)


def test_every_code_of_16_bits_converts_like_the_reference(memory: Memory) -> None:
    for form in (SurfaceFormat.R16_UNORM, SurfaceFormat.R16_FLOAT, SurfaceFormat.B5G6R5_UNORM,
                 SurfaceFormat.B4G4R4A4_UNORM, SurfaceFormat.R8G8_SNORM):
        memory.write(BASE, np.arange(1 << 16, dtype="<u2").tobytes())
        target = surface(form, 256, 256)
        assert np.array_equal(read_pixels(memory, target), reference(memory, target)), form.name


@pytest.mark.parametrize("tiling", [Tiling.X, Tiling.Y])
@pytest.mark.parametrize("swizzle", [Swizzle.BIT_9, Swizzle.BIT_9_10, Swizzle.BIT_9_11])
def test_swizzled_surfaces_are_read_by_their_layout(tiling: Tiling, swizzle: Swizzle, memory: Memory) -> None:
    fill(memory, 7)
    target = surface(SurfaceFormat.B8G8R8A8_UNORM, 300, 90, tiling, 5, 3)
    assert np.array_equal(read_pixels(memory, target, swizzle), reference(memory, target, swizzle))


def test_unmapped_memory_reads_as_black(memory: Memory) -> None:
    target = surface(SurfaceFormat.B8G8R8X8_UNORM, 64, 64, address=0x8000000)
    pixels = read_pixels(memory, target)
    assert pixels.shape == (64, 64, 3) and not pixels.any()
    assert not memory.faults.total


def test_opaque_alpha_is_left_out_and_any_other_stays(memory: Memory) -> None:
    target = surface(SurfaceFormat.B8G8R8A8_UNORM, 128, 64)
    memory.write(BASE, b"\x01\x02\x03\xff" * (128 * 64))
    assert read_pixels(memory, target).shape == (64, 128, 3)
    assert read_pixels(memory, target)[5, 5].tolist() == [3, 2, 1]
    memory.write(BASE + 4 * (128 * 64 - 1), b"\x01\x02\x03\xfe")  # the last pixel
    pixels = read_pixels(memory, target)
    assert pixels.shape == (64, 128, 4) and pixels[-1, -1].tolist() == [3, 2, 1, 254]


def test_pixels_are_read_into_the_given_buffer(memory: Memory) -> None:
    fill(memory, 3)
    reader = picture.PixelReader(memory, surface(SurfaceFormat.B8G8R8X8_UNORM, 32, 32))
    buffer = np.empty(reader.max_bytes, np.uint8)
    assert np.shares_memory(reader.read(buffer), buffer)


@pytest.mark.parametrize("size", [(LARGEST_SIDE + 1, 1), (1, LARGEST_SIDE + 1), (16384, 16384), (0, 4)])
def test_a_picture_has_a_largest_size(size: tuple[int, int], memory: Memory) -> None:
    target = Target("shown", 0, SurfaceFormat.L8_UNORM, *size, 1 << 17, Tiling.LINEAR)
    with pytest.raises(DecodeError, match="pixels"):
        read_pixels(memory, target)
    with pytest.raises(DecodeError, match="pixels"):
        read_channels(memory, target)


def test_the_layout_of_a_surface_is_checked(memory: Memory) -> None:
    with pytest.raises(FieldError, match="pitch"):
        read_pixels(memory, Target("shown", 0, SurfaceFormat.B8G8R8X8_UNORM, 64, 4, 64, Tiling.LINEAR))


# --- PNG -------------------------------------------------------------------------------------------------------------
def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    write_png(file, pixels)
    return file.getvalue()


def contents(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Pixels that exercise one path of the encoder each."""
    rng = np.random.default_rng(1)
    noise = rng.integers(0, 256, shape, np.uint8)
    if kind == "flat":
        noise[:] = 7
    elif kind == "half":
        noise[::2] = 7
    elif kind == "sparse":
        noise[rng.random(shape) < 0.97] = 0
    elif kind == "skewed":  # the rarest bytes would have codes that are too long
        noise = np.minimum(rng.geometric(0.4, shape), 255).astype(np.uint8)
    elif kind == "repeats":
        noise.reshape(-1)[:] = np.resize(noise.reshape(-1)[:max(1, noise.size // 7)], noise.size)
    elif kind == "bytes":  # runs of equal bytes and of equal pixels, of any length, after the filter
        noise[:] = np.cumsum(runs(rng, noise.size, 1).reshape(shape), axis=0, dtype=np.uint8)
    elif kind == "pixels":
        noise[:] = np.cumsum(runs(rng, noise.size, shape[-1]).reshape(shape), axis=0, dtype=np.uint8)
    return noise


def runs(rng: np.random.Generator, size: int, distance: int) -> np.ndarray:
    """Bytes that repeat the `distance` bytes before them 1 to 1000 times."""
    pieces, total = [], 0
    while total < size:
        count = distance * int(rng.choice([1, 2, 3, 5, 86, 87, 129, 130, rng.integers(1, 1000)]))
        pieces.append(np.resize(rng.integers(0, 3, distance, np.uint8), count))
        total += count
    return np.concatenate(pieces)[:size]


@pytest.fixture(params=range(lib.g4_variant_best() + 1))
def variant(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each set of vector instructions in turn."""
    before = lib.g4_variant_current()
    assert lib.g4_set_variant(request.param) == lib.G4_OK
    yield request.param
    lib.g4_set_variant(before)


@pytest.mark.parametrize("kind", ["noise", "flat", "half", "sparse", "skewed", "repeats", "bytes", "pixels"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5, 3), (37, 1, 4), (1, 300, 3), (700, 900, 3), (257, 256, 4),
                                   (600, 700), (2, 16384, 4)])
def test_png_files_hold_the_pixels(kind: str, shape: tuple[int, ...], variant: int) -> None:
    pixels = contents(kind, shape)
    file = png(pixels)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(file))), pixels)
    assert file == png(pixels.copy())
    assert len(file) < pixels.size * 1.01 + 200
    if kind == "flat" and pixels.size > 100_000:
        assert len(file) < pixels.size / 100
    if kind in ("bytes", "pixels") and pixels.size > 100_000 and len(shape) == 3:
        assert len(file) < pixels.size / 20


@pytest.mark.parametrize("kind", ["noise", "sparse", "bytes", "pixels"])
def test_the_file_depends_on_the_pixels_only(kind: str) -> None:
    """Not on the vector instructions, nor on the pictures before it or the thread."""
    before, files = lib.g4_variant_current(), []
    pixels = contents(kind, (300, 500, 3))
    try:
        for variant in range(lib.g4_variant_best() + 1):
            assert lib.g4_set_variant(variant) == lib.G4_OK
            files.append(png(pixels))
            png(contents("noise", (variant + 1, 900, 4)))
            files.append(png(pixels))
    finally:
        lib.g4_set_variant(before)
    with ThreadPoolExecutor(1) as thread:
        files.append(thread.submit(png, pixels).result())
    assert all(file == files[0] for file in files)


@pytest.mark.parametrize("length", [*range(1, 9), 63, 64, 65, *range(257, 266), *range(515, 525)])
@pytest.mark.parametrize("start", [0, 1, 60, 63, 64])
def test_runs_of_any_length_and_place_hold_the_pixels(start: int, length: int, variant: int) -> None:
    row = np.arange(1, 801, dtype=np.uint8) * 7
    for distance in (1, 3):
        pixels = row.copy()
        pixels[start:start + length] = np.resize(row[start:start + distance], length)
        for width in (start + length, 800):
            picture_of_row = pixels[:width - width % 3].reshape(1, -1, 3)
            if picture_of_row.size:
                assert np.array_equal(np.asarray(Image.open(io.BytesIO(png(picture_of_row)))), picture_of_row)


@pytest.mark.parametrize("kind", ["noise", "half"])
def test_a_picture_in_bands_holds_the_pixels_and_has_the_digest(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gen4emu.image.png._BAND_BYTES", 100_000)
    pixels = contents(kind, (400, 900, 3))
    digest = PixelsDigest(pixels.shape, pixels.dtype)
    file = io.BytesIO()
    write_png(file, pixels, digest)
    assert file.getvalue().count(b"IDAT") >= 11
    assert np.array_equal(np.asarray(Image.open(file)), pixels)
    assert digest.hexdigest() == pixels_digest(pixels)


@pytest.mark.parametrize("form", [SurfaceFormat.B8G8R8X8_UNORM, SurfaceFormat.R8G8B8X8_UNORM,
                                  SurfaceFormat.B8G8R8A8_UNORM, SurfaceFormat.R8G8B8A8_UNORM])
def test_rows_of_x_tiles_are_converted_from_any_column_and_row(variant: int, form: SurfaceFormat,
                                                              memory: Memory) -> None:
    memory.write(0, np.random.default_rng(3).bytes(1024 * 64))
    for x, y, width, height in ((0, 0, 256, 64), (1, 3, 200, 9), (127, 7, 2, 2), (5, 0, 7, 1), (120, 15, 136, 17)):
        target = Target("shown", 0, form, width, height, 1024, Tiling.X, x=x, y=y)
        assert np.array_equal(read_pixels(memory, target), to_pixels(read_channels(memory, target)))
    memory.write(0, b"\xff" * 1024 * 64)
    assert read_pixels(memory, target).shape == (17, 136, 3)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (400, 500), (33, 20, 1)])
def test_16_bit_grey_is_big_endian_in_the_file(shape: tuple[int, ...]) -> None:
    pixels = np.random.default_rng(2).integers(0, 65536, shape, np.uint16)
    with Image.open(io.BytesIO(png(pixels))) as image:
        assert image.mode == "I;16"
        assert np.array_equal(np.asarray(image), pixels.reshape(shape[:2]))


def test_the_checksums_of_every_chunk_are_right() -> None:
    with Image.open(io.BytesIO(png(np.zeros((50, 60, 3), np.uint8)))) as image:
        image.verify()  # checks every chunk


@pytest.mark.parametrize("pixels", [np.zeros((4, 4, 2), np.uint8), np.zeros((4, 4), np.float32),
                                    np.zeros((4, 4, 3), np.uint16), np.zeros((0, 4), np.uint8)])
def test_pixels_that_png_does_not_have_are_refused(pixels: np.ndarray) -> None:
    with pytest.raises(FieldError, match="not a PNG picture"):
        png(pixels)


# --- files -----------------------------------------------------------------------------------------------------------
def test_the_digest_is_that_of_the_pixels_not_of_the_file(tmp_path: Path) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (300, 700, 3), np.uint8)
    opaque = np.dstack([pixels, np.full((300, 700), 255, np.uint8)])
    Image.fromarray(opaque).save(tmp_path / "a.png")
    save_pixels(tmp_path / "b.png", opaque)
    digests = {pixels_digest(np.asarray(Image.open(tmp_path / name))) for name in ("a.png", "b.png")}
    assert digests == {pixels_digest(pixels), pixels_digest(opaque)}


def test_the_digest_of_an_npy_file_is_that_of_its_array(tmp_path: Path, memory: Memory) -> None:
    fill(memory, 5)
    for form in (SurfaceFormat.R32G32_UINT, SurfaceFormat.B8G8R8X8_UNORM):
        digest = save_npy(tmp_path / "a.npy", memory, surface(form, 100, 60))
        assert digest == pixels_digest(np.load(tmp_path / "a.npy"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("dtype", "bits"), [("<u4", 0x7FA00000), ("<u4", 0xFFC00000), ("<u2", 0x7D00)])
def test_nan_is_black_without_a_warning(dtype: str, bits: int) -> None:
    """Also a signaling NaN, whose conversion is an invalid operation."""
    channel = np.full((1, 1), bits, dtype).view(dtype.replace("u", "f"))
    assert not to_pixels(dict.fromkeys("RGB", channel)).any()
