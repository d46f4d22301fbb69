"""Runs a target of readers.py under atheris: `python -m tests.fuzz.run_reader NAME [libFuzzer options]`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["gen4emu"], enable_loader_override=False):
    from tests.fuzz import readers


def main() -> None:
    name, *options = sys.argv[1:]
    check = readers.READERS[name].check
    atheris.Setup([name, *options], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
