"""Trace containers: AUB, i915 error states, raw dumps; one `open` that sniffs; a writer of AUB (spec/06).

The events that a trace consists of are in `gen4emu.trace.events`.
"""

from gen4emu.trace.convert import Converted, convert
from gen4emu.trace.opening import Kind, Trace, open, open_bytes
from gen4emu.trace.writer import AubWriter, Dedup

__all__ = ["AubWriter", "Converted", "Dedup", "Kind", "Trace", "convert", "open", "open_bytes"]
