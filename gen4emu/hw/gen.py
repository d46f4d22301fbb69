"""The hardware generations this project describes, as a set of flags."""

from __future__ import annotations

from enum import IntFlag


class Gen(IntFlag):
    """A set of hardware parts.  A layout or a field names the parts that have it."""

    BW = 1  # 965G, G35, 946GZ, 965Q ("Broadwater")
    CL = 2  # 965GM, 965GME ("Crestline")
    CTG = 4  # GM45 ("Cantiga")
    EL = 8  # G45, G41, Q45, B43 ("Eaglelake")
    KBL = 16  # Kaby Lake: a few commands only, which keep the description language general
    GEN4 = BW | CL
    GEN45 = CTG | EL
    ALL4 = GEN4 | GEN45
    GEN9 = KBL
    ALL = ALL4 | GEN9
