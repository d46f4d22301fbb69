"""The hardware as data: commands, state, messages, registers, formats (spec/05 to 70)."""
