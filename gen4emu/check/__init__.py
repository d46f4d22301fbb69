"""Regression tests of traces: manifests, expectations, isolated runs, reports (docs/check.md)."""
