"""A private tree with the files by which programs find a GPU: /dev/dri and parts of /sys.

The shim redirects paths into it.  Device nodes are plain files that the shim makes look like devices.  Symbolic links
are relative, so they stay inside the tree.
"""

from __future__ import annotations

import struct
from pathlib import Path

from gen4emu.hw.chips import Device as Chip
from gen4emu.hw.gen import Gen

_SLOT = "0000:00:02.0"
_DEVICE = f"sys/devices/pci0000:00/{_SLOT}"
_VENDOR, _SUBSYSTEM_VENDOR, _SUBSYSTEM = 0x8086, 0x1028, 0x0420
_MIB = 1 << 20
_DEBUG = "sys/kernel/debug/dri"
# Directories of the system that must list the device, too, and the name of its entry.
_LISTS = {"sys/class": "drm", "sys/bus/pci/devices": _SLOT}
NODES = {"card0": 0, "renderD128": 128}  # name: minor number
# The modes of the shim's connector (native/shim/kms/modes.c), the preferred one first.
_MODES = ("1024x768", "2560x1440", "1920x1200", "1920x1080", "1600x1200", "1680x1050", "1600x900", "1280x1024",
          "1366x768", "1280x800", "1280x720", "800x600", "640x480")
ERROR = f"{_DEVICE}/drm/card0/error"
NO_ERROR = "No error state collected\n"


def build(root: Path, chip: Chip) -> None:
    """Create the tree in an empty directory."""
    _nodes(root)
    _pci(root, chip)
    for name, minor in NODES.items():
        _drm(root, name, minor)
    _connector(root)
    _lists(root)
    _text(root, "sys/class/drm/version", "drm 1.1.0 20060810\n")
    _debug(root)


def _debug(root: Path) -> None:
    """Create the files of debugfs that IGT's tests need: a directory for each node, with the name of the device.

    The tests write to the knobs and parameters, and read them again; nothing else depends on them.
    """
    for minor in NODES.values():
        _text(root, f"{_DEBUG}/{minor}/name", f"i915 dev={_SLOT} unique={_SLOT}\n")
    for knob in ("i915_gem_drop_caches", "i915_wedged"):
        _text(root, f"{_DEBUG}/0/{knob}", "0x0\n")
    for parameter, value in (("reset", "3"), ("enable_hangcheck", "Y")):
        _text(root, f"{_DEBUG}/0/i915_params/{parameter}", value + "\n")


def _lists(root: Path) -> None:
    """Create the listings: names only, because the shim redirects the paths below them."""
    for folder, ours in _LISTS.items():
        system = Path("/", folder)
        names = {entry.name for entry in system.iterdir()} if system.is_dir() else set()
        for name in sorted(names | {ours}):
            (root / "lists" / folder / name).mkdir(parents=True)


def _nodes(root: Path) -> None:
    for name in NODES:
        _text(root, f"dev/dri/{name}", "")
    for name, kind in (("card0", "card"), ("renderD128", "render")):
        _link(root, f"dev/dri/by-path/pci-{_SLOT}-{kind}", f"../{name}")


def _pci(root: Path, chip: Chip) -> None:
    files = {
        "vendor": f"0x{_VENDOR:04x}", "device": f"0x{chip.pci_id:04x}", "class": "0x030000",
        "subsystem_vendor": f"0x{_SUBSYSTEM_VENDOR:04x}", "subsystem_device": f"0x{_SUBSYSTEM:04x}",
        "revision": f"0x{chip.kernel.revision:02x}", "irq": "16", "enable": "1", "boot_vga": "1", "numa_node": "-1",
        "resource": _resource(chip),
        "uevent": "\n".join((
            "DRIVER=i915", "PCI_CLASS=30000", f"PCI_ID={_VENDOR:04X}:{chip.pci_id:04X}",
            f"PCI_SUBSYS_ID={_SUBSYSTEM_VENDOR:04X}:{_SUBSYSTEM:04X}", f"PCI_SLOT_NAME={_SLOT}",
            f"MODALIAS=pci:v{_VENDOR:08X}d{chip.pci_id:08X}sv{_SUBSYSTEM_VENDOR:08X}sd{_SUBSYSTEM:08X}bc03sc00i00")),
    }
    for name, text in files.items():
        _text(root, f"{_DEVICE}/{name}", text + "\n")
    (root / _DEVICE / "config").write_bytes(_config(chip))
    for folder in ("sys/bus/pci/devices", "sys/bus/pci/drivers/i915"):
        (root / folder).mkdir(parents=True)
    _link(root, f"sys/bus/pci/devices/{_SLOT}", f"../../../devices/pci0000:00/{_SLOT}")
    _link(root, f"{_DEVICE}/subsystem", "../../../bus/pci")
    _link(root, f"{_DEVICE}/driver", "../../../bus/pci/drivers/i915")


def _ranges(chip: Chip) -> list[tuple[int, int, int]]:
    """Start, size and flags of the BARs: registers, aperture, I/O ports."""
    if chip.gen & Gen.GEN4:
        return [(0xFEB00000, _MIB // 2, 0x00040200), (0, 0, 0), (0xD0000000, 256 * _MIB, 0x0014220C), (0, 0, 0),
                (0xE100, 8, 0x00040101), (0, 0, 0), (0, 0, 0)]
    return [(0xFE400000, 4 * _MIB, 0x00140204), (0, 0, 0), (0xD0000000, 256 * _MIB, 0x0014220C), (0, 0, 0),
            (0xF110, 8, 0x00040101), (0, 0, 0), (0, 0, 0)]


def _resource(chip: Chip) -> str:
    return "\n".join(f"0x{start:016x} 0x{start + size - 1 if size else 0:016x} 0x{flags:016x}"
                     for start, size, flags in _ranges(chip))


def _config(chip: Chip) -> bytes:
    """The standard PCI header; the rest of the 256 bytes is zero."""
    config = bytearray(256)
    struct.pack_into("<4HBBHBBBB", config, 0, _VENDOR, chip.pci_id, 0x0007, 0x0090, chip.kernel.revision, 0, 0x0300, 0,
                     0, 0, 0)
    for number, (start, _, flags) in enumerate(_ranges(chip)[:6]):
        struct.pack_into("<I", config, 0x10 + 4 * number, start | flags & 0xF)
    struct.pack_into("<2H", config, 0x2C, _SUBSYSTEM_VENDOR, _SUBSYSTEM)
    struct.pack_into("<2B", config, 0x3C, 16, 1)
    return bytes(config)


def _drm(root: Path, name: str, minor: int) -> None:
    folder = f"{_DEVICE}/drm/{name}"
    _text(root, f"{folder}/dev", f"226:{minor}\n")
    _text(root, f"{folder}/uevent", f"MAJOR=226\nMINOR={minor}\nDEVNAME=dri/{name}\nDEVTYPE=drm_minor\n")
    _link(root, f"{folder}/device", f"../../../{_SLOT}")
    _link(root, f"{folder}/subsystem", "../../../../../class/drm")
    _link(root, f"sys/class/drm/{name}", f"../../devices/pci0000:00/{_SLOT}/drm/{name}")
    _link(root, f"sys/dev/char/226:{minor}", f"../../devices/pci0000:00/{_SLOT}/drm/{name}")
    if minor == 0:
        _text(root, f"{folder}/error", NO_ERROR)


def _connector(root: Path) -> None:
    name = "card0-VGA-1"
    folder = f"{_DEVICE}/drm/card0/{name}"
    for file, text in (("status", "connected"), ("enabled", "enabled"), ("dpms", "On"), ("modes", "\n".join(_MODES))):
        _text(root, f"{folder}/{file}", text + "\n")
    _text(root, f"{folder}/edid", "")
    _link(root, f"{folder}/device", "../../card0")
    _link(root, f"sys/class/drm/{name}", f"../../devices/pci0000:00/{_SLOT}/drm/card0/{name}")


def _text(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="ascii")


def _link(root: Path, name: str, target: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
