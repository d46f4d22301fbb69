"""A device to build and run batches on, without a trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gen4emu.api.surface import Surface
from gen4emu.api.trace import surface_target
from gen4emu.device import device as model
from gen4emu.device.options import Options
from gen4emu.errors import FieldError
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.chips import device_named
from gen4emu.isa import assemble

_BATCH = 0x0010_0000


class Device(model.Device):
    """A GPU: memory, registers, and everything that executes.

    `device` is a name (`"g45"`, `"965gm"`) or a PCI id; `options` says how it behaves where there is a choice.
    Use `with`, or `close`, to free its memory.
    """

    def __init__(self, device: str | int | Part = "g45", options: Options | None = None) -> None:
        super().__init__(_part(device), options)

    def command(self, name: str, **fields: Any) -> bytes:
        """A command by the names of its fields, as it lies in memory."""
        try:
            layout = command_named(name, self.info.gen)
        except KeyError:
            raise FieldError(f"{self.info.name} has no command {name}") from None
        return layout.build(self.info.gen, **fields)

    def block(self, name: str, **fields: Any) -> bytes:
        """A state block by the names of its fields, as it lies in memory."""
        try:
            layout = block_named(name, self.info.gen)
        except KeyError:
            raise FieldError(f"no state block is called {name}") from None
        return layout.build(self.info.gen, **fields)

    def assemble(self, text: str) -> bytes:
        """EU code for this device."""
        return assemble(text, self.info.gen)

    def run(self, commands: Iterable[bytes], address: int = _BATCH) -> None:
        """Write commands and MI_BATCH_BUFFER_END to memory as a batch, and run it; raises HangError if it hangs."""
        self.memory.write(address, b"".join([*commands, self.command("MI_BATCH_BUFFER_END")]))
        self.run_batch(address)

    def surface(self, address: int, format: str, width: int, height: int, pitch: int,
                tiling: str = "linear") -> Surface:
        """Any piece of memory as an image."""
        return Surface(self.memory, surface_target(address, format, width, height, pitch, tiling))


def _part(device: str | int | Part) -> Part:
    if isinstance(device, Part):
        return device
    found = device_named(device if isinstance(device, str) else f"0x{device:04x}")
    if found is None:
        raise FieldError(f"unknown device {device!r}; `gen4emu devices` lists them")
    return found
