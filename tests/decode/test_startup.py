"""The cost of a command before it reads the first byte."""

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


_MODULES = """
import sys
from gen4emu.cli.main import run
status = run({arguments})
print(*sorted(sys.modules), file=sys.stderr)
sys.exit(status)
"""


def modules(*arguments: str) -> set[str]:
    """The modules that a command has imported at its end."""
    done = subprocess.run([sys.executable, "-c", _MODULES.format(arguments=list(arguments))], capture_output=True,
                          text=True, check=True)
    return set(done.stderr.split())


def test_decode_imports_neither_rules_nor_writers_nor_numpy() -> None:
    for trace in ("traces/triangle-g4x.aub.xz", "traces/later/triangle-kbl.aub.xz"):
        loaded = modules("decode", trace)
        assert "gen4emu.decode.document" in loaded
        assert not loaded & {"numpy", "gen4emu.decode.lint", "gen4emu.decode.lint_order", "gen4emu.isa.assembler",
                             "gen4emu.trace.write_aub", "gen4emu.trace.error_state", "gen4emu.decode.summary"}


def test_lint_imports_the_rules_of_one_family() -> None:
    assert "gen4emu.decode.lint_order" not in modules("lint", "traces/triangle-g4x.aub.xz")
    assert "gen4emu.decode.lint" not in modules("lint", "traces/later/triangle-kbl.aub.xz")


def test_a_gen4_trace_needs_no_table_of_a_later_generation() -> None:
    for verb in ("decode", "info", "lint"):
        done = subprocess.run([sys.executable, "-c", _PROGRAM.format(verb=verb)], capture_output=True, text=True,
                              check=True)
        tables = {"gen4emu.hw.gen", "gen4emu.hw.generation", "gen4emu.hw.gen4", "gen4emu.hw.gen45"}
        assert done.stderr.strip().splitlines()[-1] == str(sorted(tables)), verb
