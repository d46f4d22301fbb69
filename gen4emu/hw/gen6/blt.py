"""The commands of the blitter from Sandy Bridge on: an engine with a ring of its own, and the commands of Gen4.

xf86-video-intel (sna_blt.c) and Linux i915_cmd_parser.c: no encoding changed.  A header still says only that a surface
is tiled; that it is tiled in Y, the register BCS_SWCTRL says.
"""

from __future__ import annotations

from gen4emu.hw.fields import Bool, Field
from gen4emu.hw.gen4 import blt as gen4
from gen4emu.hw.layout import Block, Command

_TILED = ("source_tiled", "destination_tiled")


def _with_both_tilings(command: Command) -> Command:
    fields: list[Field] = [Bool(f.name, f.dword, f.lo, doc="in X, or in Y if BCS_SWCTRL says so")
                           for f in command.all_fields if f.name in _TILED]
    return command.changed(*fields)


REPLACED: tuple[Block, ...] = tuple(_with_both_tilings(command) for command in gen4.COMMANDS)
