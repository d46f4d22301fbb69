"""The device of a trace: the one that its header names, unless the user names another."""

from __future__ import annotations

from gen4emu.errors import TraceError
from gen4emu.hw.chips import BY_PCI_ID, DEVICES, Device, device_named
from gen4emu.hw.gen import family_parts, generation_parts
from gen4emu.trace.events import Header


class DeviceCheck:
    """Creates the Header events of one file."""

    def __init__(self, file: str, device: Device | str | int | None, *, force: bool = False,
                 in_family: bool = False) -> None:
        """`device` is for files that do not name one.  A device of another generation is an error unless `force`.

        With `in_family`, it may be of the same family.
        """
        self._file = file
        self._force, self._in_family = force, in_family
        self.override = _device(file, device)

    def header(self, offset: int, pci_id: int | None, application: str = "", comment: str = "") -> Header:
        """A Header with the PCI id of the override, with a known one, or with None."""
        named = BY_PCI_ID.get(pci_id) if pci_id is not None else None
        if self.override is not None:
            parts = family_parts if self._in_family else generation_parts
            if named is not None and not self._force and not parts(named.gen) & self.override.gen:
                like = ", ".join(d.name for d in DEVICES if d.gen & parts(named.gen))
                if self._in_family:
                    raise TraceError(self._file, offset, (
                        f"was made for {named.marketing} ({named.name}), {self.override.name} is too different: take "
                        f"two of {like}, or add --force-device"))
                raise TraceError(self._file, offset, (
                    f"was made for {named.marketing} ({named.name}), {self.override.name} is of another generation: "
                    "omit --device, or add --force-device"))
            pci_id = self.override.pci_id
        elif pci_id is not None and named is None:
            raise TraceError(self._file, offset, f"unknown PCI id 0x{pci_id:04x}: name a device that is like it with "
                                                 "--device (see `gen4emu devices`)")
        return Header(offset, pci_id, application, comment)


def unnamed(file: str) -> TraceError:
    """The error for a trace without a device, if the user names none either."""
    return TraceError(file, None, "does not say which device it is for: name it with --device (see `gen4emu devices`)")


def _device(file: str, device: Device | str | int | None) -> Device | None:
    if device is None or isinstance(device, Device):
        return device
    found = BY_PCI_ID.get(device) if isinstance(device, int) else device_named(device)
    if found is None:
        shown = f"0x{device:04x}" if isinstance(device, int) else repr(device)
        raise TraceError(file, None, f"unknown device {shown} (known: {', '.join(d.name for d in DEVICES)})")
    return found
