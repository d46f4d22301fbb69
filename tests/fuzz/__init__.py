"""Fuzzing that is guided by coverage: `python -m tests.fuzz` (docs/testing.md)."""
