"""The hardware as data: commands, state, messages, registers, formats."""
