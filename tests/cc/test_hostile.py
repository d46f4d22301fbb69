"""Any state, any message: no crash, and the same bits again."""

from __future__ import annotations

import random

import numpy as np

from gen4emu._native import ffi, lib
from tests.harness.native import harness
from tests.harness.parts import GEN4_PARTS
from tests.harness.pixel_probe import BINDING_TABLE, SURFACE_STATES, PixelProbe
from tests.harness.probe import THREADS

REGION, REGION_BYTES = 0x100000, 1 << 18


def random_bits(rng: random.Random, kind: int) -> int:
    """Dwords that are noise, small, or mostly zero."""
    return (rng.getrandbits(32), rng.randrange(64) << rng.randrange(27), rng.getrandbits(32) & rng.getrandbits(32)
            & rng.getrandbits(32))[kind]


def play(seed: int, rounds: int, variant: int) -> bytes:
    lib.g4_set_variant(variant)
    rng = random.Random(seed)
    noise = np.random.default_rng(seed)
    probe = PixelProbe(rng.choice(GEN4_PARTS))
    memory = probe.memory
    memory.write(REGION, noise.bytes(REGION_BYTES))
    floats = [0.0, 1.0, float("nan"), float("inf"), -1e35, 1e35, 0.5]
    for _ in range(rounds):
        for i in range(8):
            state = [random_bits(rng, rng.randrange(3)) for _ in range(6)]
            state[0] = state[0] & 0x1FFFFFFF | rng.choice([0, 1, 1, 1, 1, 2, 3, 4, 7]) << 29
            if rng.random() < 0.9:
                state[1] = REGION + rng.randrange(REGION_BYTES) & (~0xFFF if rng.random() < 0.7 else ~0)
            memory.write(SURFACE_STATES + 32 * i, b"".join(word.to_bytes(4, "little") for word in state))
            memory.write(BINDING_TABLE + 4 * i, (SURFACE_STATES + 32 * i).to_bytes(4, "little"))
        for i in range(5):
            probe.state.depth_buffer[1 + i] = random_bits(rng, rng.randrange(3))
        probe.state.depth_buffer[2] = REGION + rng.randrange(REGION_BYTES)
        for i in range(4):
            probe.state.constant_color[1 + i] = rng.getrandbits(32)
        probe.start(THREADS, binding_table=BINDING_TABLE)
        blocks = [ffi.new("uint32_t[8]", [random_bits(rng, rng.randrange(3)) for _ in range(8)]) for _ in range(2)]
        viewports = ffi.new("float[32]", [rng.choice(floats) for _ in range(32)])
        assert harness().g4_probe_pixels(probe._probe, *blocks, viewports) == lib.G4_OK
        for _ in range(4):
            for t in range(THREADS):
                for reg in range(16):
                    probe.mrf(reg, t)[:] = np.frombuffer(noise.bytes(32), np.uint32) & rng.choice(
                        [0xFFFFFFFF, 0xFFFFFFFF, 0x3FFFFFFF])
                for s in range(4):
                    if rng.random() < 0.9:
                        probe.mrf(1, t)[2 + s] = rng.randrange(40) << 16 | rng.randrange(40)
            probe.send(5 << 24 | rng.randrange(16) << 20 | 4 << 12 | rng.randrange(2) << 11 | rng.randrange(6) << 8
                       | rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 254]), exec_size=16, emask=0xFFFF)
            x, y = [rng.randrange(50) for _ in range(4)], [rng.randrange(50) for _ in range(4)]
            probe.early(x, y, rng.getrandbits(16), [rng.choice(floats) for _ in range(16)],
                        viewport=rng.randrange(16), array_index=rng.randrange(4), back_facing=rng.random() < 0.5)
            probe.destination(x, y, array_index=rng.randrange(2048))
    counts = b"".join(bytes(f"{event}{count}", "ascii") for event, count in probe.events().items())
    return memory.read(REGION, REGION_BYTES) + counts + probe.depth_count.to_bytes(8, "little")


def test_noise_gives_the_same_bits_in_every_variant() -> None:
    before = lib.g4_variant_current()
    for seed in range(6):
        first = play(seed, 6, 0)
        for variant in range(lib.g4_variant_best() + 1):
            assert play(seed, 6, variant) == first
    lib.g4_set_variant(before)
