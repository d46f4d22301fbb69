"""The targets, and their seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gen4emu.hw.chips import DEVICES
from gen4emu.hw.gen import Gen
from tests.fuzz import kernel_seeds, message_seeds, readers, scenes


@dataclass(frozen=True, slots=True)
class Target:
    """Something that takes bytes from libFuzzer."""

    name: str
    subject: str
    seeds: Callable[[], Iterator[bytes]]
    most_bytes: int
    program: str = ""  # of build.PROGRAMS; else a function of readers.py
    gen: Gen | None = None  # of the scenes that the program needs
    kind: int = 0  # of these scenes


def _device(gen: Gen) -> str:
    named = ("gm45", "g45", "ivb", "hsw", "kbl")
    return next(chip.name for chip in DEVICES if chip.gen == gen and chip.name in named)


def _scene_target(name: str, subject: str, gen: Gen, kind: int) -> Target:
    device = _device(gen)
    return Target(f"{name}-{device}", f"{subject} on {device}", scenes.seeds, 512, "scene", gen, kind)


def _command_target(gen: Gen) -> Target:
    device = _device(gen)
    return Target(f"commands-{device}", f"commands without draws on {device}: many and single ones against each other",
                  scenes.commands, 512, "commands", gen, scenes.NONE)


_NATIVE = (
    Target("decode", "decoding kernels: what handlers rely on", kernel_seeds.codes, 513, "decode"),
    Target("kernel", "decoding and running kernels: general and plain handlers against each other",
           kernel_seeds.seeds, 1024, "kernel"),
    Target("machine-code", "kernels as machine code against the general handlers", kernel_seeds.seeds, 1024,
           "machine_code"),
    Target("message", "messages to samplers and data ports: vector widths against each other", message_seeds.seeds,
           message_seeds.MOST_BYTES, "message"),
    *(_command_target(gen) for gen in (Gen.CTG, Gen.IVB, Gen.HSW, Gen.KBL)),
    *(_scene_target("draw", "draws", gen, scenes.DRAWS) for gen in (Gen.CTG, Gen.EL, Gen.IVB, Gen.HSW, Gen.KBL)),
    *(_scene_target("media", "media objects and bitstreams", gen, scenes.MEDIA) for gen in (Gen.CTG, Gen.IVB, Gen.KBL)),
    *(_scene_target("compute", "GPGPU walkers", gen, scenes.COMPUTE) for gen in (Gen.IVB, Gen.HSW, Gen.KBL)),
)
_PYTHON = tuple(Target(name, reader.subject, reader.seeds, reader.most_bytes)
                for name, reader in readers.READERS.items())
TARGETS = {target.name: target for target in (*_NATIVE, *_PYTHON)}
