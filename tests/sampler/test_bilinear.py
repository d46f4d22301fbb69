"""The fixed-point fast path of bilinear lookups returns the bits of the general path."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.device.tiling import Tiling
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.formats import SurfaceFormat as F
from gen4emu.hw.gen4.sampler import MapFilter as Map
from gen4emu.hw.gen4.sampler import MipFilter as Mip
from gen4emu.hw.gen4.sampler import TextureCoordinateMode as Mode
from gen4emu.hw.gen4.surface import SurfaceType
from tests.harness.texturing import PAYLOAD, RESPONSE, SAMPLERS, TEXTURE, Texturing, Words

VARIANTS = range(lib.g4_variant_best() + 1)
MODES = (Mode.WRAP, Mode.MIRROR, Mode.CLAMP, Mode.MIRROR_ONCE, Mode.CUBE, Mode.CLAMP_BORDER)
THREADS = 8
MANY = 40  # messages: after so many, what lies in one piece is known


@pytest.fixture(autouse=True)
def keep_variant() -> Iterator[None]:
    before = lib.g4_variant_current()
    yield
    lib.g4_set_variant(before)


def coordinates(rng: np.random.Generator, kind: str) -> list[list[np.ndarray]]:
    """Payload registers of each thread: u and v of sixteen pixels."""
    threads = []
    for t in range(THREADS):
        lane = np.arange(16)
        x, y = lane // 4 * 2 + lane % 2, lane // 2 % 2
        if kind == "screen":
            u, v = (x + 8 * t) * 0.0217 + rng.uniform(-1, 1), y * 0.0391 + rng.uniform(-1, 1)
        elif kind == "exact":
            u, v = rng.integers(-64, 128, 16) / 64, rng.integers(-64, 128, 16) / 64
        else:
            u, v = rng.normal(size=16) * 10.0 ** rng.integers(-3, 9), rng.normal(size=16) * 3
            u[rng.integers(0, 16, 4)] = [np.nan, np.inf, -np.inf, -1e-10]
            v[rng.integers(0, 16, 4)] = [np.nan, 3e38, -0.0, 1.0]
        uv = [np.asarray(c, np.float32) for c in (u, v)]
        threads.append([uv[0][:8], uv[0][8:], uv[1][:8], uv[1][8:]])
    return threads


def responses(t: Texturing, payloads: list[list[list[np.ndarray]]], emask: int = 0xFFFF,
              header: dict[str, int] | None = None) -> list[Words]:
    """Of one start of the bench, as a draw would be."""
    descriptor = t.descriptor("sample", "16", mlen=1 + len(payloads[0][0]))
    t.probe.start(t.threads, surface_state_base=0, binding_table=0x2000)
    return [np.array(t.send(descriptor, payload, emask=emask, header=header, start=False)) for payload in payloads]


def same_in_all_variants(t: Texturing, payloads: list[list[list[np.ndarray]]], **more: object) -> None:
    lib.g4_set_variant(lib.G4_VARIANT_PLAIN)
    general = responses(t, payloads, **more)
    events = t.events()
    for variant in VARIANTS:
        lib.g4_set_variant(variant)
        for got, want in zip(responses(t, payloads, **more), general, strict=True):
            assert np.array_equal(got, want)
        assert t.events() == events


def test_a_byte_over_255_is_its_bits_repeated_and_its_highest_bit() -> None:
    for c in range(256):
        top = 1 << c.bit_length() >> 1
        assert np.float32(c) / np.float32(255) == np.float32(c * 65793 / 2**24 + top / 2**31)
        assert float(np.float32(c) / np.float32(255)) == c * 65793 / 2**24 + top / 2**31


@pytest.mark.parametrize("tiling", list(Tiling)[:3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(1, 1), (33, 7), (150, 40), (256, 64)])
@pytest.mark.parametrize("filter", [Map.NEAREST, Map.LINEAR])
def test_bits_do_not_depend_on_the_variant(tiling: Tiling, mode: Mode, size: tuple[int, int], filter: Map) -> None:
    rng = np.random.default_rng([*size, mode, tiling.value])
    t = Texturing(threads=THREADS)
    data = rng.choice(np.array([0, 1, 2, 127, 128, 254, 255, *rng.integers(0, 256, 9)], np.uint8), 1 << 18).tobytes()
    t.surface(F.B8G8R8A8_UNORM, *size, tiling=tiling, data=data)
    t.sampler(filter, mode=(mode, MODES[int(rng.integers(6))], mode), rounding=bool(rng.integers(2)))
    payloads = [coordinates(rng, kind) for kind in ("screen", "exact", "wild")] * 2
    same_in_all_variants(t, payloads)
    same_in_all_variants(t, payloads, emask=0x5A3C, header={"u_offset": -8, "v_offset": 7})


def enlarged(rng: np.random.Generator, size: tuple[int, int], scale: float) -> list[list[np.ndarray]]:
    """u and v of threads whose pixels are 1 / `scale` texels apart, anywhere in the image."""
    lane = np.arange(16)
    x, y = (lane // 4 * 2 + lane % 2) / scale, lane // 2 % 2 / scale
    threads = []
    for _ in range(THREADS):
        u, v = ((c + rng.uniform(0, side)).astype(np.float32) / np.float32(side)
                for c, side in zip((x, y), size, strict=True))
        threads.append([u[:8], u[8:], v[:8], v[8:]])
    return threads


@pytest.mark.parametrize("tiling", list(Tiling)[:3])
@pytest.mark.parametrize("size", [(64, 64), (150, 40), (12, 33)])
@pytest.mark.parametrize("mode", [Mode.WRAP, Mode.CLAMP, Mode.MIRROR])
def test_enlarged_images_do_not_depend_on_the_variant(tiling: Tiling, size: tuple[int, int], mode: Mode) -> None:
    rng = np.random.default_rng([*size, mode, tiling.value])
    t = Texturing(threads=THREADS)
    t.surface(F.B8G8R8A8_UNORM, *size, tiling=tiling, data=rng.integers(0, 256, 1 << 18, np.uint8).tobytes())
    t.sampler(Map.LINEAR, mode=(mode, mode, mode))
    payloads = [enlarged(rng, size, scale) for scale in (1.0, -1.0, 1.7, 4.3)] * (MANY // 4)
    same_in_all_variants(t, payloads)


@pytest.mark.parametrize("format", [F.R8G8B8A8_UNORM, F.B8G8R8X8_UNORM, F.B8G8R8A8_UNORM_SRGB])
@pytest.mark.parametrize("mip", [Mip.NONE, Mip.NEAREST, Mip.LINEAR])
@pytest.mark.parametrize("magnified", [Map.NEAREST, Map.LINEAR])
def test_levels_do_not_depend_on_the_variant(format: F, mip: Mip, magnified: Map) -> None:
    rng = np.random.default_rng([format, mip])
    t = Texturing(threads=THREADS)
    t.surface(format, 100, 60, levels=6, tiling=Tiling.X, data=rng.integers(0, 256, 1 << 18, np.uint8).tobytes())
    t.sampler(Map.LINEAR, mip, Mode.WRAP, mag_mode_filter=magnified)
    payloads = [coordinates(rng, kind) for kind in ("screen", "exact", "wild")] * 3
    same_in_all_variants(t, payloads)
    same_in_all_variants(t, payloads, emask=0xF060)


BYTES = (F.L8_UNORM, F.A8_UNORM, F.I8_UNORM, F.R8_UNORM, F.L8A8_UNORM, F.R8G8_UNORM)
WORDS = (F.B5G6R5_UNORM, F.B5G5R5A1_UNORM, F.B4G4R4A4_UNORM, F.R10G10B10A2_UNORM, F.R16_UNORM, F.R16G16_UNORM,
         F.R16G16B16A16_UNORM, F.R8G8B8A8_UNORM_SRGB, F.B8G8R8X8_UNORM_SRGB, F.L8_UNORM_SRGB, F.R16_FLOAT,
         F.R16G16_FLOAT, F.R16G16B16A16_FLOAT, F.L16_UNORM, F.R32_FLOAT, F.R32G32_FLOAT)
BLOCKS = (F.BC1_UNORM, F.BC2_UNORM, F.BC3_UNORM, F.BC1_UNORM_SRGB, F.BC3_UNORM_SRGB, F.BC4_UNORM, F.BC4_SNORM,
          F.BC5_UNORM, F.BC5_SNORM, F.FXT1)


@pytest.mark.parametrize("format", BYTES + WORDS + BLOCKS)
@pytest.mark.parametrize("filter", [Map.NEAREST, Map.LINEAR, Map.ANISOTROPIC])
def test_formats_do_not_depend_on_the_variant(format: F, filter: Map) -> None:
    """Also in images so large that blocks share slots of the cache."""
    rng = np.random.default_rng([format, 3])
    for tiling, size, mode in ((Tiling.LINEAR, (60, 36), Mode.CLAMP), (Tiling.X, (256, 128), Mode.WRAP),
                               (Tiling.Y, (64, 64), Mode.MIRROR)):
        t = Texturing(threads=THREADS)
        t.surface(format, *size, levels=4, tiling=tiling, data=rng.integers(0, 256, 1 << 18, np.uint8).tobytes())
        t.sampler(filter, Mip.LINEAR, mode, maximum_anisotropy=16)
        payloads = [coordinates(rng, kind) for kind in ("screen", "exact", "wild", "screen", "screen")]
        payloads += [gradient(scale) for scale in (0.3, 0.8, 1.5, 2.7)]
        same_in_all_variants(t, payloads * 3)
        same_in_all_variants(t, payloads, emask=0x5A3C, header={"u_offset": -8, "v_offset": 7})


def directions(rng: np.random.Generator, step: float) -> list[list[np.ndarray]]:
    """Payload registers of each thread: u, v and r of adjacent pixels, all around one point of one face."""
    face, sign = int(rng.integers(3)), rng.choice([-1.0, 1.0])
    start = rng.uniform(-1, 1, 2) * rng.choice([0.5, 1.0])
    threads = []
    for t in range(THREADS):
        lane = np.arange(16)
        s = start[0] + step * (lane // 4 * 2 + lane % 2 + 8 * (t % 4))
        r = start[1] + step * (lane // 2 % 2 + 2 * (t // 4))
        where = np.asarray(np.roll([s, r, np.full(16, sign)], face, axis=0), np.float32)
        threads.append([half for c in where for half in (c[:8], c[8:])])
    return threads


@pytest.mark.parametrize("format", [F.B8G8R8A8_UNORM, F.L8_UNORM, F.B5G6R5_UNORM, F.R16G16B16A16_FLOAT, F.BC1_UNORM,
                                    F.BC3_UNORM, F.BC5_SNORM])
@pytest.mark.parametrize("filter", [Map.NEAREST, Map.LINEAR])
def test_cubes_do_not_depend_on_the_variant(format: F, filter: Map) -> None:
    """Lookups inside of one face, across edges and corners, and in several faces; in a disabled face."""
    rng = np.random.default_rng([format, 5])
    for tiling, size, mode in ((Tiling.LINEAR, 16, Mode.CUBE), (Tiling.X, 64, Mode.CUBE), (Tiling.Y, 20, Mode.CUBE),
                               (Tiling.Y, 64, Mode.CLAMP), (Tiling.LINEAR, 1, Mode.CUBE)):
        t = Texturing(threads=THREADS)
        t.surface(format, size, size, levels=4 if size > 1 else 1, type=SurfaceType.SURFTYPE_CUBE, tiling=tiling,
                  cube_face_enable_negative_y=size != 64,
                  data=rng.integers(0, 256, 1 << 18, np.uint8).tobytes())
        t.sampler(filter, Mip.LINEAR, mode)
        steps = [1 / size, 0.3 / size, 2.5 / size, 0.01 / size]
        same_in_all_variants(t, [directions(rng, step) for step in steps * 12])
        same_in_all_variants(t, [directions(rng, step) for step in steps], emask=0x5A3C)


@pytest.mark.parametrize(("width", "height"), [(8, 16), (16, 8)])
@pytest.mark.parametrize(("format", "filter"), [(F.B8G8R8A8_UNORM, Map.NEAREST), (F.B8G8R8A8_UNORM, Map.LINEAR),
                                               (F.L32A32_FLOAT, Map.NEAREST)])
def test_cubes_of_faces_that_are_not_squares_do_not_depend_on_the_variant(format: F, filter: Map, width: int,
                                                                          height: int) -> None:
    """Not allowed by the manual; lookups inside of one face, and in several."""
    rng = np.random.default_rng([width, 6])
    t = Texturing(threads=THREADS)
    t.surface(format, width, height, levels=3, type=SurfaceType.SURFTYPE_CUBE,
              data=rng.integers(0, 256, 1 << 18, np.uint8).tobytes())
    for mode in (Mode.CUBE, Mode.CLAMP):
        t.sampler(filter, Mip.LINEAR, mode)
        same_in_all_variants(t, [directions(rng, step / width) for step in [1, 0.3, 2.5, 0.01] * 12])


@pytest.mark.parametrize("filter", [Map.LINEAR, Map.ANISOTROPIC])
def test_blocks_of_one_lookup_may_share_a_slot_of_the_cache(filter: Map) -> None:
    """Those of the first and of the last row do, in an image of this size, and WRAP joins them."""
    rng = np.random.default_rng(17)
    t = Texturing(threads=THREADS)
    t.surface(F.BC1_UNORM, 64, 264, pitch=128, data=rng.integers(0, 256, 1 << 14, np.uint8).tobytes())
    t.sampler(filter, Mip.NONE, Mode.WRAP, maximum_anisotropy=4)
    pixels = np.arange(8, dtype=np.float32)
    v = [np.zeros(8, np.float32), pixels / 4096]
    same_in_all_variants(t, [[[(pixels + x) / 64, (pixels + x + 4) / 64, *v]] * THREADS for x in range(0, 64, 5)])


def gradient(texels_per_pixel: float, slope: float = 0.0) -> list[list[np.ndarray]]:
    """Payloads of a screen that shows so many texels a pixel, more and more with a slope, of 128."""
    lane = np.arange(16)
    x, y = lane // 4 * 2 + lane % 2, lane // 2 % 2
    threads = []
    for t in range(THREADS):
        scale = texels_per_pixel * (1 + slope * (x + 8 * t)) / 128
        u, v = np.float32(0.31 + (x + 8 * t) * scale), np.float32(0.77 + y * scale)
        threads.append([u[:8], u[8:], v[:8], v[8:]])
    return threads


@pytest.mark.parametrize("mip", [Mip.NONE, Mip.NEAREST, Mip.LINEAR])
@pytest.mark.parametrize("preclamp", [0, 1])
@pytest.mark.parametrize("filter", [Map.NEAREST, Map.LINEAR])
def test_common_and_mixed_levels_do_not_depend_on_the_variant(mip: Mip, preclamp: int, filter: Map) -> None:
    rng = np.random.default_rng([mip, preclamp])
    t = Texturing(threads=THREADS)
    t.surface(F.B8G8R8A8_UNORM, 128, 128, levels=7, tiling=Tiling.Y,
              data=rng.integers(0, 256, 1 << 18, np.uint8).tobytes())
    t.sampler(filter, mip, Mode.WRAP, lod_preclamp_enable=preclamp, min_lod=0.5, max_lod=4.25,
              texture_lod_bias=0.25)
    payloads = [gradient(scale, slope) for scale in (0.5, 1, 1.5, 2, 3, 7, 100) for slope in (0, 1e-7, 0.003, 0.02)]
    for emask in (0xFFFF, 0x7FFE, 0x0F00):
        same_in_all_variants(t, payloads, emask=emask)
    same_in_all_variants(t, payloads, header={"green_write_channel_mask": 1, "u_offset": 3})
    same_in_all_variants(t, payloads, header={"force_lod_to_zero": 1})


@pytest.mark.parametrize("filter", [Map.NEAREST, Map.LINEAR])
def test_the_general_path_gives_the_same(filter: Map) -> None:
    data = np.random.default_rng(22).integers(0, 256, 1 << 18, np.uint8).tobytes()
    seen = []
    for general in (False, True):
        t = Texturing(threads=THREADS, general_only=general)
        t.surface(F.B8G8R8A8_UNORM, 128, 128, levels=7, tiling=Tiling.Y, data=data)
        t.sampler(filter, Mip.LINEAR, Mode.WRAP)
        rng = np.random.default_rng(23)
        payloads = [gradient(scale, slope) for scale in (0.5, 2, 3.3) for slope in (0, 0.02)]
        seen.append(responses(t, payloads + [coordinates(rng, kind) for kind in ("screen", "exact", "wild")] * 10))
    assert all(np.array_equal(a, b) for a, b in zip(*seen, strict=True))


def test_messages_of_eight_pixels_do_not_depend_on_the_variant() -> None:
    rng = np.random.default_rng(21)
    t = Texturing(threads=THREADS)
    t.surface(F.R8G8B8X8_UNORM, 128, 128, levels=7, tiling=Tiling.X,
              data=rng.integers(0, 256, 1 << 18, np.uint8).tobytes())
    t.sampler(Map.LINEAR, Mip.LINEAR, Mode.MIRROR)
    sixteen = [gradient(scale) for scale in (0.5, 1.5, 2)] * 2
    payloads = [[[p[0], p[2], np.zeros(8, np.float32)] for p in payload] for payload in sixteen]
    descriptor = t.descriptor("sample", "8", mlen=4)
    seen = []
    for variant in VARIANTS:
        lib.g4_set_variant(variant)
        t.probe.start(THREADS, surface_state_base=0, binding_table=0x2000)
        masks = ({}, {"red_write_channel_mask": 1})
        seen.append([np.array(t.send(descriptor, payload, emask=0xFF, header=mask, start=False))
                     for payload in payloads for mask in masks])
    assert all(np.array_equal(a, b) for other in seen for a, b in zip(seen[0], other, strict=True))
    assert np.all(seen[0][0][:, 3].view(np.float32) == 1.0)


def test_a_message_with_an_unlike_header_in_one_thread_uses_each_header() -> None:
    """After messages with the header of the other threads only, which are recognized."""
    t = Texturing(threads=THREADS)
    t.surface(F.R8G8B8A8_UNORM, 128, 128, tiling=Tiling.X,
              data=np.random.default_rng(24).integers(0, 256, 1 << 18, np.uint8).tobytes())
    t.sampler(Map.LINEAR, Mip.NONE, Mode.WRAP)
    descriptor = t.descriptor("sample", "16", mlen=5)
    payload = coordinates(np.random.default_rng(25), "screen")
    moved = {"u_offset": 3}
    for variant in VARIANTS:
        lib.g4_set_variant(variant)
        usual, other = (responses(t, [payload] * MANY, header=header)[-1] for header in ({}, moved))
        responses(t, [payload] * MANY)
        t.probe.mrf(PAYLOAD, 5)[:] = block_named("SAMPLER_MESSAGE_HEADER", t.gen).pack(
            t.gen, sampler_state_pointer=SAMPLERS, **moved)
        t.probe.send(descriptor, PAYLOAD, RESPONSE, exec_size=16, emask=0xFFFF)
        for thread in range(THREADS):
            got = [t.probe.grf(RESPONSE + k, thread) for k in range(8)]
            assert np.array_equal(got, (other if thread == 5 else usual)[thread][:8])
        assert not np.array_equal(usual[5], other[5])


def test_every_weight_of_every_pair_of_bytes_is_right() -> None:
    """Four texels in a row of a magnified texture: the sum of exact products, rounded once."""
    rng = np.random.default_rng(7)
    t = Texturing(threads=THREADS)
    texels = rng.integers(0, 256, (4, 64, 4), np.uint8)
    t.surface(F.R8G8B8A8_UNORM, 64, 4)
    t.texels(texels)
    t.sampler(Map.LINEAR)
    floats = texels.astype(np.float32) / np.float32(255)
    for _ in range(MANY):
        x, y = rng.integers(0, 63 * 256, (THREADS, 16)), rng.integers(0, 3 * 256, (THREADS, 16))
        u, v = ((x + 128) / 16384).astype(np.float32), ((y + 128) / 1024).astype(np.float32)
        got = responses(t, [[[a[:8], a[8:], b[:8], b[8:]] for a, b in zip(u, v, strict=True)]])[0]
        i, j, wx, wy = x >> 8, y >> 8, (x & 255)[..., None], (y & 255)[..., None]
        want = sum(wa * wb / 65536 * floats[j + b, i + a].astype(np.float64)
                   for a, wa in ((0, 256 - wx), (1, wx)) for b, wb in ((0, 256 - wy), (1, wy)))
        red_first = got[:, :8].view(np.float32).reshape(THREADS, 4, 16).transpose(0, 2, 1)
        assert np.array_equal(red_first, np.float32(want))


def test_pages_that_do_not_follow_each_other_give_the_same() -> None:
    rng = np.random.default_rng(11)
    t = Texturing(threads=THREADS)
    pages = rng.integers(0, 256, (32, 4096), np.uint8)
    t.surface(F.R8G8B8A8_UNORM, 128, 64, tiling=Tiling.Y, data=b"")
    for page in rng.permutation(32):  # host pages are given out in the order of writing
        t.memory.write(TEXTURE + 4096 * int(page), pages[page].tobytes())
    t.sampler(Map.LINEAR, mode=Mode.WRAP)
    payloads = [coordinates(rng, "screen") for _ in range(MANY)]
    scattered = responses(t, payloads)
    same_in_all_variants(t, payloads)

    flat = Texturing(threads=THREADS)
    flat.surface(F.R8G8B8A8_UNORM, 128, 64, tiling=Tiling.Y, data=pages.tobytes())
    flat.sampler(Map.LINEAR, mode=Mode.WRAP)
    assert all(np.array_equal(a, b) for a, b in zip(responses(flat, payloads), scattered, strict=True))


def test_missing_pages_are_zeros_and_reported_in_all_variants() -> None:
    rng = np.random.default_rng(12)
    t = Texturing(threads=THREADS)
    t.surface(F.R8G8B8A8_UNORM, 128, 64, data=b"\xff" * 8192)
    t.sampler(Map.LINEAR, mode=Mode.WRAP)
    payloads = [coordinates(rng, "screen") for _ in range(MANY)]
    same_in_all_variants(t, payloads)
    seen = np.array(responses(t, payloads))[:, :, :8].view(np.float32)
    assert seen.min() == 0.0 and seen.max() == 1.0


def test_a_texture_at_the_end_of_memory_continues_at_its_start_in_all_variants() -> None:
    rng = np.random.default_rng(13)
    t = Texturing(threads=THREADS)
    t.surface(F.R8G8B8A8_UNORM, 64, 64, base=0xFFFFF000, data=b"")
    t.memory.write(0x5000, rng.integers(0, 256, 1 << 15, np.uint8).tobytes())
    t.sampler(Map.LINEAR, mode=Mode.WRAP)
    same_in_all_variants(t, [coordinates(rng, "screen") for _ in range(MANY)])


@pytest.mark.parametrize("format", [F.R16_FLOAT, F.R16G16B16A16_FLOAT])
def test_sums_of_nan_do_not_depend_on_the_variant(format: F) -> None:
    """Of the samples along a gradient, many are NaN, and the bits of the first stay."""
    rng = np.random.default_rng(14)
    t = Texturing(threads=THREADS)
    halves = rng.integers(0, 1 << 16, 1 << 17).astype(np.uint16)
    halves[rng.random(halves.size) < 0.7] |= 0x7C01
    t.surface(format, 64, 64, data=halves.tobytes())
    t.sampler(Map.ANISOTROPIC, mode=Mode.WRAP, maximum_anisotropy=16)
    same_in_all_variants(t, [coordinates(rng, "screen") for _ in range(4)])
