"""The emulated device: memory, command streamer, state."""
