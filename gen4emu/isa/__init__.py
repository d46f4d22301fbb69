"""The EU instruction set as data: decode, disassemble, assemble (spec/40)."""
