"""Trace containers: readers and writers of AUB files, `.g4c` captures, i915 error states and raw dumps.

`open` detects the kind of a file.  The events that a trace consists of are in `gen4emu.trace.events`.
Writers are imported when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gen4emu.deferred import deferred
from gen4emu.trace.reader import Kind, Trace, open, open_bytes

if TYPE_CHECKING:
    from gen4emu.trace.conversion import Converted, convert
    from gen4emu.trace.write_aub import AubWriter, Dedup
    from gen4emu.trace.write_capture import CaptureWriter

__all__ = ["AubWriter", "CaptureWriter", "Converted", "Dedup", "Kind", "Trace", "convert", "open", "open_bytes"]

__getattr__, __dir__ = deferred(__name__, {
    "gen4emu.trace.conversion": ("Converted", "convert"),
    "gen4emu.trace.write_aub": ("AubWriter", "Dedup"),
    "gen4emu.trace.write_capture": ("CaptureWriter",),
})
