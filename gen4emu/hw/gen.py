"""The hardware generations this project describes, as a set of flags."""

from __future__ import annotations

from enum import IntFlag


class Gen(IntFlag):
    """A set of hardware parts.  A layout or field of a table may be marked as one that only some of its parts have."""

    BW = 1  # 965G, G35, 946GZ, 965Q ("Broadwater")
    CL = 2  # 965GM, 965GME ("Crestline")
    CTG = 4  # GM45 ("Cantiga")
    EL = 8  # G45, G41, Q45, B43 ("Eaglelake")
    SNB = 16  # Sandy Bridge
    IVB = 32  # Ivy Bridge
    BYT = 64  # Bay Trail
    HSW = 128  # Haswell
    BDW = 256  # Broadwell
    SKL = 512  # Skylake
    KBL = 1024  # Kaby Lake
    GEN4 = BW | CL
    GEN45 = CTG | EL
    ALL4 = GEN4 | GEN45
    GEN6 = SNB
    GEN7 = IVB | BYT
    GEN75 = HSW
    GEN8 = BDW
    GEN9 = SKL | KBL
    ALL = (1 << 32) - 1  # of a layout or a field: all parts of the table that has it


_NAMES = {Gen.GEN4: "gen4", Gen.GEN45: "gen4.5", Gen.GEN6: "gen6", Gen.GEN7: "gen7", Gen.GEN75: "gen7.5",
          Gen.GEN8: "gen8", Gen.GEN9: "gen9"}


def generation_parts(part: Gen) -> Gen:
    """All parts of the generation that one part belongs to."""
    return next(generation for generation in _NAMES if generation & part)


def family_parts(part: Gen) -> Gen:
    """All parts whose page tables, commands and state are nearly those of a part, so that they execute its batches."""
    return next(family for family in (Gen.ALL4, Gen.GEN6, Gen.GEN7 | Gen.GEN75, Gen.GEN8, Gen.GEN9) if family & part)


def generation_name(part: Gen) -> str:
    """The generation of a part as people write it: gen4.5, gen7, ..."""
    return _NAMES[generation_parts(part)]
