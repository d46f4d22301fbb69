"""Finding the first place at which two executions differ (docs/bisect.md)."""
