"""An exact software model of the Intel Gen4 GPU family (965/G35, 965GM, GM45, G45/G41).

    import gen4emu
    with gen4emu.open("trace.aub.xz") as trace:
        for draw in trace.draws():
            print(draw.number, draw.topology)

docs/api.md describes what is public.  Modules are imported when one of their names is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

_MODULES = {
    "gen4emu.api.device": ("Device",),
    "gen4emu.api.surface": ("Surface",),
    "gen4emu.api.trace": ("Draw", "Moment", "Trace", "open"),
    "gen4emu.device.options": ("Options",),
    "gen4emu.device.place": ("Place",),
    "gen4emu.errors": ("AssemblyError", "DecodeError", "FieldError", "Gen4emuError", "HangError", "SelectionError",
                       "StaleError", "TraceError"),
    "gen4emu.selection": ("Selection",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'gen4emu' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
