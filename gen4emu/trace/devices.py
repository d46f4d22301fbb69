"""Which device a trace is for: what its header says, unless the user says otherwise (spec/06 T12)."""

from __future__ import annotations

from gen4emu.errors import TraceError
from gen4emu.hw.gen import BY_PCI_ID, Device, device_named
from gen4emu.trace.events import Header


class DeviceCheck:
    """Makes the Header events of one file."""

    def __init__(self, file: str, device: Device | str | int | None) -> None:
        self._file = file
        self.override = _device(file, device)

    def header(self, offset: int, pci_id: int | None, application: str = "", comment: str = "") -> Header:
        """A Header whose PCI id is the override's, or is known, or is None."""
        if self.override is not None:
            pci_id = self.override.pci_id
        elif pci_id is not None and pci_id not in BY_PCI_ID:
            raise TraceError(self._file, offset, f"PCI id 0x{pci_id:04x} is no device that this program knows: "
                                                 "name the one to take it for (--device)")
        return Header(offset, pci_id, application, comment)


def _device(file: str, device: Device | str | int | None) -> Device | None:
    if device is None or isinstance(device, Device):
        return device
    found = BY_PCI_ID.get(device) if isinstance(device, int) else device_named(device)
    if found is None:
        shown = f"0x{device:04x}" if isinstance(device, int) else repr(device)
        raise TraceError(file, None, f"device {shown} is not known")
    return found
