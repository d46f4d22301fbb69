"""Traces of a draw whose kernel is a loop without end."""

from __future__ import annotations

from pathlib import Path

from gen4emu.cli.main import run

TRACES = Path(__file__).parents[2] / "traces"


def endless(name: str, draw: str, tmp_path: Path) -> Path:
    """A trace of this draw of a trace, with such a kernel."""
    repro, path = tmp_path / "repro", tmp_path / "endless.aub"
    assert run(["export", str(TRACES / f"{name}.aub.xz"), "--draw", draw, "-o", str(repro)]) == 0
    for kernel in (repro / "kernels").glob("ps*"):
        first, second, rest = kernel.read_text().split("\n", 2)
        kept = rest if "compacted" in first else f"{second}\n{rest}"
        kernel.write_text(f"again:\njmpi(1) again:D {{ align1 }};\n{kept}")
    assert run(["build", str(repro / "batch.txt"), "-o", str(path)]) == 0
    return path
