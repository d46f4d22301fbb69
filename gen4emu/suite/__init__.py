"""Suites of many cases: piglit, dEQP and traces; shards, clusters, files of results (docs/suite.md)."""
