"""Batches as a structured tree, then as text or JSON."""
