"""Trace containers: AUB, captures of our own, i915 error states, raw dumps; one `open` that sniffs; writers.

The events that a trace consists of are in `gen4emu.trace.events`.
"""

from gen4emu.trace.capture_writer import CaptureWriter
from gen4emu.trace.convert import Converted, convert
from gen4emu.trace.opening import Kind, Trace, open, open_bytes
from gen4emu.trace.writer import AubWriter, Dedup

__all__ = ["AubWriter", "CaptureWriter", "Converted", "Dedup", "Kind", "Trace", "convert", "open", "open_bytes"]
