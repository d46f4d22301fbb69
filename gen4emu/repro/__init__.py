"""Draws as directories that a person can read, edit and build again (docs/export.md)."""
