"""Regression tests of traces: manifests, what they expect, isolated runs, reports (docs/check.md)."""
