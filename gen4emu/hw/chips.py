"""The chips this project models, and their limits: the one place where these numbers are written.

`generate` makes the C table of the same limits (native/core/model.h has its struct).
"""

from __future__ import annotations

from dataclasses import dataclass

from gen4emu.hw.emit_c import guarded
from gen4emu.hw.gen import Gen


@dataclass(frozen=True, slots=True)
class Device:
    """The limits of one chip."""

    pci_id: int
    name: str  # the name users type: g965, 965gm, gm45, g45, g41, ...
    marketing: str
    gen: Gen  # exactly one part
    eu_count: int
    threads_per_eu: int
    tid_mask: int  # bits of sr0.0 that hold the thread ID
    urb_rows: int  # rows of 512 bits
    surface_state_dwords: int
    gtt_entries: int
    has_bsd: bool
    executes: bool = True  # or only decode, lint, kernels, convert and capture know it
    address_bits: int = 32  # of the addresses in commands


def _gen4(pci_id: int, name: str, marketing: str, gen: Gen) -> Device:
    return Device(pci_id, name, marketing, gen, eu_count=8, threads_per_eu=4, tid_mask=0x3, urb_rows=256,
                  surface_state_dwords=5, gtt_entries=512 * 1024 // 4, has_bsd=False)


def _gen45(pci_id: int, name: str, marketing: str, gen: Gen) -> Device:
    return Device(pci_id, name, marketing, gen, eu_count=10, threads_per_eu=5, tid_mask=0x7, urb_rows=384,
                  surface_state_dwords=6, gtt_entries=2 * 1024 * 1024 // 4, has_bsd=True)


def _newer(pci_id: int, name: str, marketing: str, gen: Gen, eu_count: int, threads_per_eu: int, urb_kib: int,
           surface_state_dwords: int, gtt_mib: int = 2048, address_bits: int = 32) -> Device:
    return Device(pci_id, name, marketing, gen, eu_count, threads_per_eu, tid_mask=0, urb_rows=urb_kib * 1024 // 64,
                  surface_state_dwords=surface_state_dwords, gtt_entries=gtt_mib * 1024 // 4, has_bsd=True,
                  executes=False, address_bits=address_bits)


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
    _newer(0x0126, "snb", "Intel HD Graphics 3000 (Sandy Bridge)", Gen.SNB, 12, 5, 64, 6),
    _newer(0x0162, "ivb", "Intel HD Graphics 4000 (Ivy Bridge)", Gen.IVB, 16, 8, 256, 8),
    _newer(0x0F31, "byt", "Intel HD Graphics (Bay Trail)", Gen.BYT, 4, 8, 128, 8),
    _newer(0x0412, "hsw", "Intel HD Graphics 4600 (Haswell)", Gen.HSW, 20, 7, 256, 8),
    _newer(0x1616, "bdw", "Intel HD Graphics 5500 (Broadwell)", Gen.BDW, 24, 7, 384, 16, 4096, 48),
    _newer(0x1912, "skl", "Intel HD Graphics 530 (Skylake)", Gen.SKL, 24, 7, 384, 16, 4096, 48),
    _newer(0x5912, "kbl", "Intel HD Graphics 630 (Kaby Lake)", Gen.KBL, 24, 7, 384, 16, 4096, 48),
)

BY_PCI_ID = {d.pci_id: d for d in DEVICES}
BY_NAME = {d.name: d for d in DEVICES} | {
    # names of generations in the tools of other projects
    "brw": BY_PCI_ID[0x2A02], "crestline": BY_PCI_ID[0x2A02], "broadwater": BY_PCI_ID[0x29A2],
    "gen4": BY_PCI_ID[0x2A02], "g4x": BY_PCI_ID[0x2A42], "cantiga": BY_PCI_ID[0x2A42],
    "gen4.5": BY_PCI_ID[0x2A42], "gen45": BY_PCI_ID[0x2A42],
    "gen6": BY_PCI_ID[0x0126], "gen7": BY_PCI_ID[0x0162], "gen7.5": BY_PCI_ID[0x0412], "gen75": BY_PCI_ID[0x0412],
    "gen8": BY_PCI_ID[0x1616], "gen9": BY_PCI_ID[0x1912],
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


# Members of the C struct g4_chip after `gen`, and where their values come from.
_LIMITS = {"execution_units": "eu_count", "threads_per_unit": "threads_per_eu", "tid_mask": "tid_mask",
           "urb_rows": "urb_rows", "surface_state_dwords": "surface_state_dwords"}


def generate() -> str:
    """chips.h: a `struct g4_chip` for each part, named g4_chip_bw and so on."""
    parts: dict[Gen, Device] = {}
    for device in (device for device in DEVICES if device.executes):
        first = parts.setdefault(device.gen, device)
        if any(getattr(first, limit) != getattr(device, limit) for limit in _LIMITS.values()):
            raise ValueError(f"{device.name} and {first.name} are one part with different limits")
    rows = []
    for gen, device in parts.items():
        limits = ", ".join(f".{member} = {getattr(device, limit)}" for member, limit in _LIMITS.items())
        name = str(gen.name).lower()
        rows.append(f"static const struct g4_chip g4_chip_{name} = {{.gen = {gen.value}, {limits}}};\n")
    return guarded("gen4emu/hw/chips.py", "G4_CHIPS_H", '\n#include "core/model.h"\n\n' + "".join(rows) + "\n")
