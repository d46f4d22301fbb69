"""The live device: a server that executes the submissions of unmodified programs, which the preloaded shim sends."""
