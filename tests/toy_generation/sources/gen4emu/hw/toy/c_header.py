"""Generates hw_toy.h, which only load_toy.c includes."""

from __future__ import annotations

from gen4emu.hw.toy import TOY

from gen4emu.hw.c_header import family_header
from gen4emu.hw.family import Family


def generate() -> str:
    return family_header(Family("toy", (TOY,)), "G4_HW_TOY_H")
