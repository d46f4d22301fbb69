"""An exact software model of the Intel Gen4 GPU family (965/G35, 965GM, GM45, G45/G41).

    import gen4emu
    with gen4emu.open("trace.aub.xz") as trace:
        for draw in trace.draws():
            print(draw.number, draw.topology)

docs/api.md describes what is public.  Modules are imported when one of their names is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gen4emu.deferred import deferred

if TYPE_CHECKING:
    from gen4emu.api.device import Device
    from gen4emu.api.surface import Surface
    from gen4emu.api.trace import Draw, Moment, Trace, open
    from gen4emu.device.options import Options
    from gen4emu.device.place import Place
    from gen4emu.errors import (
        AssemblyError,
        DecodeError,
        FieldError,
        Gen4emuError,
        HangError,
        SelectionError,
        StaleError,
        TraceError,
    )
    from gen4emu.selection import Selection

__version__ = "0.1.0"

__all__ = [
    "AssemblyError", "DecodeError", "Device", "Draw", "FieldError", "Gen4emuError", "HangError", "Moment", "Options",
    "Place", "Selection", "SelectionError", "StaleError", "Surface", "Trace", "TraceError", "__version__", "open",
]

__getattr__, __dir__ = deferred(__name__, {
    "gen4emu.api.device": ("Device",),
    "gen4emu.api.surface": ("Surface",),
    "gen4emu.api.trace": ("Draw", "Moment", "Trace", "open"),
    "gen4emu.device.options": ("Options",),
    "gen4emu.device.place": ("Place",),
    "gen4emu.errors": ("AssemblyError", "DecodeError", "FieldError", "Gen4emuError", "HangError", "SelectionError",
                       "StaleError", "TraceError"),
    "gen4emu.selection": ("Selection",),
})
