"""The live device: a server that executes what the preloaded shim submits for an unmodified program (spec/80 3.7)."""
