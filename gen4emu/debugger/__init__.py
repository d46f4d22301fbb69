"""The debugger: the origin of threads and pixels, one stop at a time (docs/debugger.md)."""
