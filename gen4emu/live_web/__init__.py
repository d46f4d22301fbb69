"""A live program in a browser: its frames as it shows them (docs/live.md)."""
