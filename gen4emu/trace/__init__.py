"""Trace containers: AUB, i915 error states, raw dumps; one `open` that sniffs (spec/06).

The events that a trace consists of are in `gen4emu.trace.events`.
"""

from gen4emu.trace.opening import Kind, Trace, open, open_bytes

__all__ = ["Kind", "Trace", "open", "open_bytes"]
