"""MI commands of Gen4.5 (Linux, intel_gpu_commands.h)."""

from __future__ import annotations

from gen4emu.hw.fields import Address, Bool, Mbz
from gen4emu.hw.gen4 import mi
from gen4emu.hw.layout import Command
from gen4emu.hw.layout import mi as command

REPLACED: tuple[Command, ...] = (
    mi.MI_FLUSH.changed(
        Bool("protected_memory_enable", 0, 6, doc="video ring only"),
        Bool("indirect_state_pointers_disable", 0, 5)),
    mi.MI_SET_CONTEXT.changed(Address("logical_context_address", 1, 31, 11)),
)

ADDED: tuple[Command, ...] = (
    command("MI_SUSPEND_FLUSH", 0x0B, 1, [
        Mbz(0, 22, 1),
        Bool("suspend_flush", 0, 0),
    ], ref="Linux intel_gpu_commands.h"),
)

REMOVED: tuple[str, ...] = ("MI_OVERLAY_FLIP",)
