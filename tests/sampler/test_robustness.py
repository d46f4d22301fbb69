"""Any state and any message: no crash, and the same bits from every vector variant."""

from __future__ import annotations

import numpy as np
import pytest

from gen4emu._native import lib
from gen4emu.device.memory import MAX_GTT_ENTRIES, Memory
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.formats import FORMATS
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.message_shapes import SAMPLER_MESSAGES
from tests.harness.parts import GEN4_PARTS
from tests.harness.texturing import PAYLOAD, RESPONSE, SAMPLERS, SURFACES, TABLE, TEXTURE, Texturing
from tests.harness.texturing_gen7 import Texturing7


def noise(t: Texturing, rng: np.random.Generator, plausible: bool) -> int:
    """Random state and a random message; `plausible` keeps the fields that decide whether anything is read."""
    surface = rng.integers(0, 1 << 32, 6, np.uint32)
    if plausible:
        formats = [f.format for f in FORMATS if f.support.sample & t.gen]
        width, height, depth = (int(2 ** rng.uniform(0, 7)) for _ in range(3))
        layout = block_named("SURFACE_STATE", t.gen)
        surface[:layout.size(t.gen)] = layout.pack(
            t.gen, surface_type=int(rng.choice([0, 1, 1, 1, 2, 3])), surface_format=formats[rng.integers(len(formats))],
            width=width, height=height, depth=min(depth, 9), mip_count_or_lod=int(rng.integers(0, 8)),
            surface_base_address=TEXTURE, surface_pitch=int(rng.integers(1, 9)) * 512,
            tiled_surface=int(rng.integers(2)), surface_min_lod=int(rng.choice([0, 0, 1, 5])))
    t.memory.write(SURFACES + 0x100, surface.tobytes())
    sampler = rng.integers(0, 1 << 32, 4, np.uint32)
    if plausible:
        sampler[0] &= np.uint32(0x7FFFC007)
        sampler[2] = np.uint32(0x4000)
    t.memory.write(SAMPLERS, sampler.tobytes())
    t.memory.write(0x4000, rng.normal(size=4).astype(np.float32).tobytes())
    key = list(SAMPLER_MESSAGES)[rng.integers(len(SAMPLER_MESSAGES))]
    shift = 12 if t.gen & Gen.GEN45 else 14
    descriptor = 0x02000001 | key[1] << 20 | 8 << 16 | key[0] << shift
    t.probe.start(t.threads, binding_table=TABLE)
    for thread in range(t.threads):
        t.probe.mrf(PAYLOAD, thread)[:] = [0, 0, int(rng.choice([0, 0, 0x12F80])), SAMPLERS, 0, 0, 0, 0]
        for i in range(10):
            values = rng.uniform(-1, 2, 8).astype(np.float32).view(np.uint32)
            if key[0] == 3 or rng.random() < 0.03:
                values = rng.integers(0, 40 if rng.random() < 0.9 else 1 << 32, 8, np.uint32)
            t.probe.mrf(PAYLOAD + 1 + i, thread)[:] = values
    t.probe.send(descriptor, PAYLOAD, RESPONSE, exec_size=16, emask=list(rng.integers(0, 1 << 16, t.threads)))
    return descriptor


def responses(t: Texturing) -> np.ndarray:
    return np.array([[t.probe.grf(RESPONSE + k, thread) for k in range(8)] for thread in range(t.threads)])


@pytest.mark.parametrize("plausible", [True, False])
@pytest.mark.parametrize("gen", GEN4_PARTS)
def test_all_vector_variants_give_the_same_bits_for_any_state(gen: Gen, plausible: bool) -> None:
    t = Texturing(gen, threads=8)
    t.memory.write(TEXTURE, np.random.default_rng(0).integers(0, 256, 1 << 20, np.uint8).tobytes())
    variants = list(range(lib.g4_variant_best() + 1))
    before = lib.g4_variant_current()
    try:
        for seed in range(100):
            found = []
            for variant in variants:
                lib.g4_set_variant(variant)
                noise(t, np.random.default_rng(seed), plausible)
                found.append(responses(t))
            first = found[0].view(np.float32)
            for other in found[1:]:
                nan = np.isnan(first) & np.isnan(other.view(np.float32))
                assert ((found[0] == other) | nan).all(), seed
    finally:
        lib.g4_set_variant(before)


def test_surfaces_beyond_every_limit_are_read_as_far_as_memory_goes() -> None:
    t = Texturing()
    t.memory.write(SURFACES + 0x100, b"\xff" * 24)
    for type_ in range(8):
        for format in (0x000, 0x0C0, 0x186, 0x192, 0x182, 0x18E, 0x181):
            words = np.full(6, 0xFFFFFFFF, np.uint32)
            words[0] = type_ << 29 | format << 18
            t.memory.write(SURFACES + 0x100, words.tobytes())
            t.at(0.99, 0.99, 0.99)
            t.load(8191, 8191, 3)
            t.message("resinfo", "16", 0, integers=True)


@pytest.mark.parametrize("format", ["R8G8B8A8_UNORM", "R16G16B16A16_UNORM"])
@pytest.mark.parametrize("filter", ["NEAREST", "LINEAR"])
def test_levels_may_be_more_than_2_gib_after_the_start_of_their_surface(format: str, filter: str) -> None:
    level = 13
    before = lib.g4_variant_current()
    try:
        for variant in range(lib.g4_variant_best() + 1):
            lib.g4_set_variant(variant)
            t = Texturing7(memory=Memory(MAX_GTT_ENTRIES))
            t.surface(format, 4, 8192, levels=level + 1, pitch=1 << 18, size=4096)
            assert t.place(level)[1] * t.pitch > 1 << 31
            t.texels(np.full((1, 1, t.texel_bytes), 0xFF, np.uint8), level)
            t.sampler(filter, mip="NEAREST", min_lod=level, max_lod=level)
            assert t.at(0.5) == t.at_level(0) == [1.0, 1.0, 1.0, 1.0], variant
    finally:
        lib.g4_set_variant(before)
