"""The parts this project models: hardware generations and the devices of each, by PCI id (spec/05 2.10)."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Device:
    """What differs between two chips that run the same commands."""

    pci_id: int
    name: str  # the name users type: g965, 965gm, gm45, g45, g41, ...
    marketing: str
    gen: Gen  # exactly one part
    eu_count: int
    threads_per_eu: int
    urb_rows: int  # rows of 512 bits
    gtt_entries: int
    has_bsd: bool


def _gen4(pci_id: int, name: str, marketing: str, gen: Gen) -> Device:
    return Device(pci_id, name, marketing, gen, eu_count=8, threads_per_eu=4, urb_rows=256,
                  gtt_entries=512 * 1024 // 4, has_bsd=False)


def _gen45(pci_id: int, name: str, marketing: str, gen: Gen) -> Device:
    return Device(pci_id, name, marketing, gen, eu_count=10, threads_per_eu=5, urb_rows=384,
                  gtt_entries=2 * 1024 * 1024 // 4, has_bsd=True)


DEVICES: tuple[Device, ...] = (
    _gen4(0x29A2, "g965", "Intel 965G", Gen.BW),
    _gen4(0x2972, "946gz", "Intel 946GZ", Gen.BW),
    _gen4(0x2982, "g35", "Intel G35", Gen.BW),
    _gen4(0x2992, "965q", "Intel 965Q", Gen.BW),
    _gen4(0x2A02, "965gm", "Intel 965GM", Gen.CL),
    _gen4(0x2A12, "965gme", "Intel 965GME/GLE", Gen.CL),
    _gen45(0x2A42, "gm45", "Intel GM45", Gen.CTG),
    _gen45(0x2E02, "eaglelake", "Intel Eaglelake (engineering sample)", Gen.EL),
    _gen45(0x2E12, "q45", "Intel Q45/Q43", Gen.EL),
    _gen45(0x2E22, "g45", "Intel G45/G43", Gen.EL),
    _gen45(0x2E32, "g41", "Intel G41", Gen.EL),
    _gen45(0x2E42, "b43", "Intel B43", Gen.EL),
    _gen45(0x2E92, "b43-2", "Intel B43", Gen.EL),
)

BY_PCI_ID = {d.pci_id: d for d in DEVICES}
BY_NAME = {d.name: d for d in DEVICES} | {
    # what the tools of other projects call a generation
    "brw": BY_PCI_ID[0x2A02], "crestline": BY_PCI_ID[0x2A02], "broadwater": BY_PCI_ID[0x29A2],
    "gen4": BY_PCI_ID[0x2A02], "g4x": BY_PCI_ID[0x2A42], "cantiga": BY_PCI_ID[0x2A42],
    "gen4.5": BY_PCI_ID[0x2A42], "gen45": BY_PCI_ID[0x2A42],
}


def device_named(text: str) -> Device | None:
    """The device that a user means by a name (`g45`) or a PCI id (`0x2e22`)."""
    found = BY_NAME.get(text.lower())
    if found is not None:
        return found
    try:
        return BY_PCI_ID.get(int(text, 16))
    except ValueError:
        return None
