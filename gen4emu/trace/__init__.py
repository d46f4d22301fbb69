"""Trace containers: readers and writers of AUB files, `.g4c` captures, i915 error states and raw dumps.

`open` detects the kind of a file.  The events that a trace consists of are in `gen4emu.trace.events`.
"""

from gen4emu.trace.conversion import Converted, convert
from gen4emu.trace.reader import Kind, Trace, open, open_bytes
from gen4emu.trace.write_aub import AubWriter, Dedup
from gen4emu.trace.write_capture import CaptureWriter

__all__ = ["AubWriter", "CaptureWriter", "Converted", "Dedup", "Kind", "Trace", "convert", "open", "open_bytes"]
