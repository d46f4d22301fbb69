"""Parts and chips that tests run on, from gen4emu.hw.chips: a new one joins these tests by itself."""

from __future__ import annotations

from gen4emu.hw.chips import DEVICES, Device
from gen4emu.hw.gen import Gen


def _chips(gens: Gen) -> dict[Gen, Device]:
    """The first chip of each part."""
    found: dict[Gen, Device] = {}
    for chip in DEVICES:
        if chip.gen & gens:
            found.setdefault(chip.gen, chip)
    return found


def parts(gens: Gen) -> tuple[Gen, ...]:
    """The parts of these generations, each of which has a chip."""
    return tuple(_chips(gens))


def names(gens: Gen) -> tuple[str, ...]:
    """The name of one chip of each part of these generations."""
    return tuple(chip.name for chip in _chips(gens).values())


GEN4_PARTS = parts(Gen.ALL4)
LATER = Gen.ALL & ~Gen.ALL4
LATER_EXECUTING = parts(Gen.GEN7 | Gen.GEN75 | Gen.GEN9)
