"""Suites on a Dask cluster (docs/cluster.md)."""
