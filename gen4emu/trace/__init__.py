"""Trace containers: AUB, i915 error states, raw dumps; one `open` that sniffs (spec/06)."""
