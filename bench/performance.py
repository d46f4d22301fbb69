"""Runs benchmarks and writes their figures into docs/performance.md.

    python bench/performance.py [NAME ...]

By default all: live workers variants glmark2 eu opencl raster cc sampler pixels shared streamer replay.

The page marks the place of each table: `<!-- bench/NAME.py -->` before it and `<!-- end -->` after it.  Figures are
comparable only if the machine is idle.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
ARGUMENTS = {"live": [], "workers": [], "variants": [], "glmark2": [], "eu": [], "opencl": [], "raster": [], "cc": [],
             "sampler": [], "pixels": [], "shared": [], "streamer": [], "replay": ["-j", "1"]}

_COLUMNS = re.compile(r"\s{2,}")
_PLACE = re.compile(r"(<!-- bench/(\w+)\.py -->\n).*?(<!-- end -->)", re.DOTALL)


def to_markdown(output: str) -> str:
    """A table if the first line has column names, else a list of the lines; before it, lines that begin with #."""
    notes = [line[1:].strip() for line in output.splitlines() if line.startswith("#")]
    lines = [line.rstrip() for line in output.splitlines() if line.strip() and not line.startswith("#")]
    return "".join(f"{note}\n\n" for note in notes) + _table(lines)


def _table(lines: list[str]) -> str:
    header = _COLUMNS.split(lines[0].strip()) if lines else []
    if len(header) < 2 or any(name[0].isdigit() for name in header[1:]):
        return "".join(f"- {' '.join(line.split())}\n" for line in lines)
    rows = [header, ["---"] * len(header)]
    for line in lines[1:]:
        # Numbers are right aligned and may touch their neighbours' columns: the name ends at the first wide gap.
        name, *rest = _COLUMNS.split(line.strip(), maxsplit=1)
        values = rest[0].split(maxsplit=len(header) - 2) if rest else []
        rows.append([name, *values, *[""] * (len(header) - 1 - len(values))])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def replaced(page: str, name: str, table: str) -> str:
    """The page with another table at the place of a benchmark."""
    text, count = _PLACE.subn(lambda m: f"{m[1]}{table}{m[3]}" if m[2] == name else m[0], page)
    if not any(m[2] == name for m in _PLACE.finditer(page)) or not count:
        raise ValueError(f"docs/performance.md has no place for bench/{name}.py")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ARGUMENTS))
    names = parser.parse_args().names or list(ARGUMENTS)
    unknown = [name for name in names if name not in ARGUMENTS]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r} (known: {', '.join(ARGUMENTS)})")
    for name in names:
        command = [sys.executable, str(ROOT / "bench" / f"{name}.py"), *ARGUMENTS[name]]
        print(f"{name} ...", file=sys.stderr, flush=True)
        output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), name, to_markdown(output)), encoding="utf-8")


if __name__ == "__main__":
    main()
