"""Reports: a directory, or one file, that shows in a browser what a trace does (docs/report.md)."""
