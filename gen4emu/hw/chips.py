"""The chips this project models, and their limits: the one place where these numbers are written.

`generate` makes the C table of the same limits (native/core/model.h has its struct).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gen4emu.hw.emit_c import guarded
from gen4emu.hw.gen import Gen


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """The properties of a chip that Linux 6.1's i915 driver reports (include/uapi/drm/i915_drm.h, I915_PARAM_*)."""

    revision: int  # PCI revision of the final stepping
    engines: tuple[str, ...] = ("render",)  # of render, video, blitter, video_enhance
    fences: int = 16
    tiled_pitch: int = 128 << 10  # the largest of a buffer with tiles, bytes
    can_snoop: bool = False
    has_llc: bool = False
    ppgtt: int = 0  # HAS_ALIASING_PPGTT: 0 none, 1 aliasing, 2 full
    isolation: int = 0  # HAS_CONTEXT_ISOLATION: bits of engine classes
    scheduler: int = 0  # HAS_SCHEDULER: capabilities
    parser: int = 0  # CMD_PARSER_VERSION
    timestamp: int = 12_500_000  # CS_TIMESTAMP_FREQUENCY, Hz
    subslices: int = 0  # of the one slice; 0: no topology is reported
    units: int = 0  # EUs of a subslice
    slice_limit: int = 0  # of the topology query, for the whole family
    subslice_limit: int = 0
    secure_batches: bool = False  # HAS_SECURE_BATCHES, for root
    offset_reset: bool = False  # I915_EXEC_GEN7_SOL_RESET is accepted


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
    kernel: KernelFacts
    executes: bool = True  # or only decode, lint, kernels, convert and capture know it
    address_bits: int = 32  # of the addresses in commands

    @property
    def address_space_bytes(self) -> int:
        """The size of the address space that programs have."""
        return self.gtt_entries * 4096 if self.address_bits == 32 else 1 << self.address_bits


def _gen4(pci_id: int, name: str, marketing: str, gen: Gen) -> Device:
    return Device(pci_id, name, marketing, gen, eu_count=8, threads_per_eu=4, tid_mask=0x3, urb_rows=256,
                  surface_state_dwords=5, gtt_entries=512 * 1024 // 4, has_bsd=False,
                  kernel=KernelFacts(0x02 if gen is Gen.BW else 0x0C, secure_batches=True))


def _gen45(pci_id: int, name: str, marketing: str, gen: Gen) -> Device:
    return Device(pci_id, name, marketing, gen, eu_count=10, threads_per_eu=5, tid_mask=0x7, urb_rows=384,
                  surface_state_dwords=6, gtt_entries=2 * 1024 * 1024 // 4, has_bsd=True,
                  kernel=KernelFacts(0x07 if gen is Gen.CTG else 0x03, ("render", "video"), can_snoop=True,
                                     secure_batches=True))


def _newer(pci_id: int, name: str, marketing: str, gen: Gen, eu_count: int, threads_per_eu: int, urb_kib: int,
           surface_state_dwords: int, kernel: KernelFacts) -> Device:
    wide = bool(gen & (Gen.GEN8 | Gen.GEN9))
    return Device(pci_id, name, marketing, gen, eu_count, threads_per_eu, tid_mask=0, urb_rows=urb_kib * 1024 // 64,
                  surface_state_dwords=surface_state_dwords, gtt_entries=(4096 if wide else 2048) * 1024 // 4,
                  has_bsd=True, kernel=kernel, executes=bool(gen & (Gen.GEN7 | Gen.GEN75 | Gen.GEN9)),
                  address_bits=48 if wide else 32)


_ENGINES6 = ("render", "video", "blitter")
_ENGINES75 = (*_ENGINES6, "video_enhance")
_EXECLISTS = 0x1B  # scheduler: enabled, priorities, semaphores, busy statistics; 4: preemption
_SNB = KernelFacts(0x09, _ENGINES6, can_snoop=True, has_llc=True, ppgtt=1, isolation=1)
_IVB = replace(_SNB, fences=32, tiled_pitch=256 << 10, parser=10, offset_reset=True)
_BYT = replace(_IVB, revision=0x0E, has_llc=False)
_HSW = replace(_IVB, revision=0x06, engines=_ENGINES75, subslices=2, units=10, slice_limit=1, subslice_limit=2)
_BDW = replace(_SNB, engines=_ENGINES75, fences=32, tiled_pitch=256 << 10, ppgtt=2, isolation=0xF, scheduler=_EXECLISTS,
               subslices=3, units=8, slice_limit=3, subslice_limit=3)
_SKL = replace(_BDW, revision=0x06, scheduler=_EXECLISTS | 4, parser=10, timestamp=12_000_000, subslice_limit=4)
_KBL = replace(_SKL, revision=0x04)


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
    _newer(0x0126, "snb", "Intel HD Graphics 3000 (Sandy Bridge)", Gen.SNB, 12, 5, 64, 6, _SNB),
    _newer(0x0162, "ivb", "Intel HD Graphics 4000 (Ivy Bridge)", Gen.IVB, 16, 8, 256, 8, _IVB),
    _newer(0x0F31, "byt", "Intel HD Graphics (Bay Trail)", Gen.BYT, 4, 8, 128, 8, _BYT),
    _newer(0x0412, "hsw", "Intel HD Graphics 4600 (Haswell)", Gen.HSW, 20, 7, 256, 8, _HSW),
    _newer(0x1616, "bdw", "Intel HD Graphics 5500 (Broadwell)", Gen.BDW, 24, 7, 384, 16, _BDW),
    _newer(0x1912, "skl", "Intel HD Graphics 530 (Skylake)", Gen.SKL, 24, 7, 384, 16, _SKL),
    _newer(0x5912, "kbl", "Intel HD Graphics 630 (Kaby Lake)", Gen.KBL, 24, 7, 384, 16, _KBL),
)

# Chips with the commands and state of a modelled one; only their numbers of units differ: its name, theirs, PCI ids.
_SIMILAR: tuple[tuple[str, str, str], ...] = (
    ("snb", "Sandy Bridge", "0102 0106 010a 0112 0116 0122"),
    ("ivb", "Ivy Bridge", "0152 0156 015a 0166 016a"),
    ("byt", "Bay Trail", "0155 0157 0f30 0f32 0f33"),
    ("hsw", "Haswell", "0402 0406 040a 040b 040e 0416 041a 041b 041e 0422 0426 042a 042b 042e 0a02 0a06 0a0a 0a0b 0a0e "
                       "0a12 0a16 0a1a 0a1b 0a1e 0a22 0a26 0a2a 0a2b 0a2e 0c02 0c06 0c0a 0c0b 0c0e 0c12 0c16 0c1a 0c1b "
                       "0c1e 0c22 0c26 0c2a 0c2b 0c2e 0d02 0d06 0d0a 0d0b 0d0e 0d12 0d16 0d1a 0d1b 0d1e 0d22 0d26 0d2a "
                       "0d2b 0d2e"),
    ("bdw", "Broadwell", "1602 1606 160a 160b 160d 160e 1612 161a 161b 161d 161e 1622 1626 162a 162b 162d 162e"),
    ("bdw", "Cherryview", "22b0 22b1 22b2 22b3"),
    ("skl", "Skylake", "1902 1906 190a 190b 190e 1913 1915 1916 1917 191a 191b 191d 191e 1921 1923 1926 1927 192a 192b "
                       "192d 1932 193a 193b 193d"),
    ("skl", "Broxton", "0a84 1a84 1a85 5a84 5a85"),
    ("kbl", "Kaby Lake", "5902 5906 5908 590a 590b 590e 5913 5915 5916 5917 591a 591b 591c 591d 591e 5921 5923 5926 "
                         "5927 593b 87c0"),
    ("kbl", "Gemini Lake", "3184 3185"),
    ("kbl", "Coffee Lake", "3e90 3e91 3e92 3e93 3e94 3e96 3e98 3e99 3e9a 3e9b 3e9c 3ea0 3ea1 3ea2 3ea3 3ea4 3ea5 3ea6 "
                           "3ea7 3ea8 3ea9 87ca 9b21 9b41 9ba0 9ba2 9ba4 9ba5 9ba8 9baa 9bab 9bac 9bc0 9bc2 9bc4 9bc5 "
                           "9bc6 9bc8 9bca 9bcb 9bcc 9be6 9bf6"),
)


def _similar() -> Iterator[Device]:
    modelled = {device.name: device for device in DEVICES}
    for name, marketing, ids in _SIMILAR:
        for pci_id in ids.split():
            yield replace(modelled[name], pci_id=int(pci_id, 16), marketing=f"Intel {marketing}, like {name}")


BY_PCI_ID = {d.pci_id: d for d in (*DEVICES, *_similar())}
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
