"""Parts of the native core driven one by one, for tests and benchmarks: see docs/testing.md."""
