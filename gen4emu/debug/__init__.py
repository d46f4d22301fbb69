"""The debugger: where threads and pixels come from, one stop at a time (spec/60 9, docs/debugging.md)."""
