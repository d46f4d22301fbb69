"""Known digests on this host: the traces and digests that `gen4emu selftest` compares."""
