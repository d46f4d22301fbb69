"""`python -m gen4emu`: the same as `gen4emu`."""

from gen4emu.cli.main import main

main()
