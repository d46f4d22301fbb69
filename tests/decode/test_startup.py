"""What a command pays before it reads the first byte."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import sys
from gen4emu.cli.main import run
status = run(["{verb}", "traces/triangle-g4x.aub.xz"])
print(sorted(m for m in sys.modules if m.startswith("gen4emu.hw.gen") and m.count(".") == 2), file=sys.stderr)
sys.exit(status)
"""


def test_a_gen4_trace_needs_no_table_of_a_later_generation() -> None:
    for verb in ("decode", "info", "lint"):
        done = subprocess.run([sys.executable, "-c", _PROGRAM.format(verb=verb)], capture_output=True, text=True,
                              check=True)
        tables = {"gen4emu.hw.gen", "gen4emu.hw.generation", "gen4emu.hw.gen4", "gen4emu.hw.gen45"}
        assert done.stderr.strip().splitlines()[-1] == str(sorted(tables)), verb
