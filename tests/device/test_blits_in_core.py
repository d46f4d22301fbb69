"""Blits that the core executes by itself: the same bytes, numbers and faults as one by one in Python."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gen4emu.device.device import Device
from gen4emu.device.events import BlitHang
from gen4emu.device.options import Options
from gen4emu.device.place import DrawKind
from gen4emu.device.tiling import SurfaceLayout, Tiling
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import blt
from tests.harness.commands import BATCH, END, Machine, Words, command, joined, register_write

SURFACES = 0x100000
SIZE = 0x40000  # of the memory of surfaces, from SURFACES on
DEVICES = ["g965", "gm45", "ivb", "hsw", "kbl"]
FULL: dict[str, Any] = {"write_alpha": True, "write_rgb": True, "color_depth": blt.ColorDepth.BPP_32}


@dataclass
class End:
    """Memory and registers at the end of a batch."""

    memory: bytes
    counts: dict[DrawKind, int]
    total: int
    kind: DrawKind
    address: int
    commands: int
    budget: int
    faults: object


def executed(name: str, batch: list[Words], by_core: bool) -> End:
    with Device(BY_NAME[name], Options(workers=1), finds_targets=not by_core) as device:
        data = np.random.default_rng(1).integers(0, 256, SIZE, np.uint8).tobytes()
        device.memory.write(SURFACES, data)
        device.memory.write(BATCH, joined(*batch, END))
        blits: list[object] = []
        run = device._blit
        device._blit = lambda c, words: (blits.append(c), run(c, words))[1]  # type: ignore[method-assign]  # a spy
        streamer = device._new_streamer(device._engine)  # which has the spy
        device.streamers.made[device._engine] = streamer
        device.run_batch(BATCH)
        draws = sum("BLT" in command_name(words, device.info.gen) for words in batch)
        assert (len(blits) < draws) is by_core
        n = device.numbers
        return End(device.memory.read(SURFACES, SIZE), n.counts, n.total, n.kind, n.address, streamer.commands,
                   device.blitter.budget, device.faults)


def command_name(words: Words, gen: Gen) -> str:
    found = catalogue_of(gen).command_for(words[0])
    assert found is not None
    return found.name


def random_blit(rng: random.Random, gen: Gen) -> Words:
    """A fill or a copy with any fields, most of them in mapped memory."""
    def side(name: str, inside: bool) -> dict[str, Any]:
        tiled = rng.random() < 0.5
        pitch = rng.choice([512, 1024, 1536]) if tiled else rng.choice([64, 130, 256, 1000])
        base = SURFACES + rng.randrange(0, SIZE, 4096 if tiled else 2) // (2 if inside else 1)
        if rng.random() < 0.03:
            base = 0x2000000 - rng.randrange(0, 8192, 4)
        if rng.random() < 0.05:
            pitch = -pitch
        return {f"{name}_tiled": tiled, f"{name}_pitch": pitch // 4 if tiled else pitch, f"{name}_base_address": base}

    x, y = rng.randrange(-3, 40), rng.randrange(-2, 40)
    fields = side("destination", True) | {
        "color_depth": rng.choice(list(blt.ColorDepth)), "write_rgb": rng.random() < 0.9,
        "write_alpha": rng.random() < 0.9, "clip_enable": rng.random() < 0.1,
        "destination_x1": x, "destination_y1": y, "destination_x2": x + rng.randrange(-1, 90),
        "destination_y2": y + rng.randrange(-1, 40)}
    if rng.random() < 0.4:
        rop = rng.choice([0xF0, 0xF0, 0x00, 0xFF, rng.randrange(256)])
        return command("XY_COLOR_BLT", gen, **fields, raster_operation=rop, color=rng.getrandbits(32))
    fields |= side("source", True) | {"source_x1": rng.randrange(-2, 30), "source_y1": rng.randrange(-2, 30)}
    if rng.random() < 0.2:  # within one surface
        fields |= {f"source_{part}": fields[f"destination_{part}"] for part in ("tiled", "pitch", "base_address")}
    rop = rng.choice([0xCC, 0xCC, 0xCC, rng.randrange(256)])
    return command("XY_SRC_COPY_BLT", gen, **fields, raster_operation=rop)


@pytest.mark.parametrize("name", DEVICES)
@pytest.mark.parametrize("seed", range(3))
def test_blits_of_the_core_are_those_of_python(name: str, seed: int) -> None:
    rng, gen = random.Random(seed), BY_NAME[name].gen
    batch = [random_blit(rng, gen) for _ in range(120)]
    by_core = executed(name, batch, True)
    assert by_core == executed(name, batch, False)
    assert by_core.counts[DrawKind.BLIT] == by_core.total == 120


TILINGS = {"linear": (False, 0), "X": (True, 0), "Y": (True, 1)}  # tiled, and whether BCS_SWCTRL says Y


@pytest.mark.parametrize("pitch", [512, 544, 388])
@pytest.mark.parametrize(("name", "source", "destination"), [
    ("gm45", "X", "linear"), ("gm45", "linear", "X"), ("gm45", "X", "X"), ("gm45", "linear", "linear"),
    ("kbl", "Y", "linear"), ("kbl", "X", "Y"), ("kbl", "Y", "Y")])
def test_rows_are_copied_as_pixels_are(name: str, source: str, destination: str, pitch: int) -> None:
    """A color compare that never holds makes the blitter draw pixel by pixel; so does a pattern of pixels."""
    rng, gen = random.Random(pitch), BY_NAME[name].gen
    (source_tiled, source_in_y), (tiled, in_y) = TILINGS[source], TILINGS[destination]
    control = [command("MI_LOAD_REGISTER_IMM", writes=[register_write(
        "BCS_SWCTRL", gen, destination_is_y_tiled=in_y, source_is_y_tiled=source_in_y)])] if name == "kbl" else []
    for _ in range(8):
        x, y = rng.randrange(120), rng.randrange(9)
        place = FULL | {
            "color_depth": rng.choice(list(blt.ColorDepth)), "destination_tiled": tiled,
            "destination_pitch": pitch // 4 if tiled else pitch, "destination_base_address": SURFACES + SIZE // 2,
            "destination_x1": x, "destination_y1": y, "destination_x2": x + rng.randrange(1, 200),
            "destination_y2": y + rng.randrange(1, 30)}
        copy = place | {
            "raster_operation": 0xCC, "source_tiled": source_tiled,
            "source_pitch": (pitch + 64) // 4 if source_tiled else pitch + 64, "source_base_address": SURFACES,
            "source_x1": rng.randrange(99), "source_y1": rng.randrange(9)}
        rows = [*control, command("XY_SRC_COPY_BLT", gen, **copy),
                command("XY_COLOR_BLT", gen, **place | {"destination_y2": y + 1}, raster_operation=0xF0,
                        color=0x34343434)]
        pixels = [*control, command("XY_SRC_COPY_CHROMA_BLT", gen, **copy, transparency_color_low=1,
                                    transparency_range_mode=blt.TransparencyRangeMode.SKIP_SOURCE_IN_RANGE),
                  command("XY_PAT_BLT_IMMEDIATE", gen, **place | {"destination_y2": y + 1}, raster_operation=0xF0,
                          data=[{"value": 0x34343434}] * 64)]
        assert executed(name, rows, True).memory == executed(name, pixels, False).memory


@pytest.mark.parametrize("name", ["ivb", "kbl"])
@pytest.mark.parametrize("by_core", [True, False], ids=["core", "Python"])
def test_tiled_surfaces_are_tiled_in_y_if_the_register_says_so(name: str, by_core: bool) -> None:
    machine = Machine(name)
    machine.device._finds_targets = not by_core
    memory = machine.device.memory
    rows = np.arange(64 * 64, dtype=np.uint32).reshape(64, 64)
    linear, in_y, in_x = SURFACES, SURFACES + 0x10000, SURFACES + 0x20000
    for address in (in_y, in_x):
        memory.write(address, bytes(0x8000))
    memory.write(linear, rows.tobytes())

    def tile_in_y(**sides: int) -> Words:
        both = {"source_is_y_tiled": 0, "destination_is_y_tiled": 0}
        return command("MI_LOAD_REGISTER_IMM", writes=[register_write("BCS_SWCTRL", machine.gen, **both | sides)])

    box = {"raster_operation": 0xCC, "destination_x2": 64, "destination_y2": 64} | FULL
    machine.run(
        tile_in_y(destination_is_y_tiled=1),
        command("XY_SRC_COPY_BLT", machine.gen, **box, source_pitch=256, source_base_address=linear,
                destination_tiled=True, destination_pitch=64 * 2, destination_base_address=in_y),
        tile_in_y(source_is_y_tiled=1),
        command("XY_SRC_COPY_BLT", machine.gen, **box, source_tiled=True, source_pitch=64 * 2,
                source_base_address=in_y, destination_tiled=True, destination_pitch=64 * 2,
                destination_base_address=in_x))
    for address, tiling in ((in_y, Tiling.Y), (in_x, Tiling.X)):
        read = np.frombuffer(SurfaceLayout(address, 512, 256, 64, 1, tiling).read(memory), np.uint32)
        assert np.array_equal(read.reshape(64, 64), rows)


def test_the_tiling_of_blits_survives_a_checkpoint() -> None:
    machine, other = Machine("ivb"), Machine("ivb")
    machine.set("BCS_SWCTRL", 0x30003)
    saved = machine.device.save()
    assert saved is not None
    other.device.load(saved)
    assert other.device.blitter.native.destination_tiling == Tiling.Y


def test_blits_of_the_core_that_do_not_end_are_a_hang() -> None:
    machine = Machine("gm45", watchdog=1)
    machine.device._finds_targets = False
    fill = command("XY_COLOR_BLT", machine.gen, **FULL, raster_operation=0xF0, destination_pitch=64,
                   destination_base_address=SURFACES, destination_x2=1000, destination_y2=600)
    machine.device.memory.write(SURFACES, bytes(4096))
    with pytest.raises(BlitHang, match="do not end"):
        machine.run(fill, fill)
    assert machine.device.numbers.counts[DrawKind.BLIT] == 2
