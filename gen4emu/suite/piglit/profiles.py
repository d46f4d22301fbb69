"""The tests of an installed piglit: names, command lines, selections."""

from __future__ import annotations

import ast
import gzip
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from gen4emu.errors import SelectionError

ROOTS = (Path("/usr/lib/x86_64-linux-gnu/piglit"), Path("/usr/lib/aarch64-linux-gnu/piglit"), Path("/usr/lib/piglit"))


@dataclass(frozen=True, slots=True)
class Case:
    """`name` is as piglit's own reports have it: groups and the test, joined by @, in lower case."""

    name: str
    command: tuple[str, ...]

    @property
    def group(self) -> str:
        return "@".join(self.name.split("@")[:2])


@cache
def root() -> Path | None:
    """Where piglit is installed."""
    return next((path for path in ROOTS if (path / "tests").is_dir()), None)


def load(profile: str) -> list[Case]:
    """The tests of a profile that need no X server."""
    base = root()
    if base is None:
        raise SelectionError("piglit is not installed (the Debian package is called piglit)")
    path = base / "tests" / f"{profile}.xml.gz"
    if not path.exists():
        known = sorted(file.name.partition(".")[0] for file in path.parent.glob("*.xml.gz"))
        raise SelectionError(f"piglit has no profile {profile!r} (known: {', '.join(known)})")
    with gzip.open(path) as file:
        return [test for element in ElementTree.parse(file).getroot() if (test := _test(base, element)) is not None]


def _test(base: Path, element: ElementTree.Element) -> Case | None:
    options = {str(o.get("name")): str(o.get("value")) for o in element}
    platforms = ast.literal_eval(options.get("require_platforms", "[]"))
    if platforms and not {"gbm", "surfaceless_egl"} & set(platforms):
        return None
    return Case(str(element.get("name")).lower(), _command(base, str(element.get("type")), options))


def _command(base: Path, kind: str, options: dict[str, str]) -> tuple[str, ...]:
    if kind == "cl_prog":
        return (str(base / "bin" / "cl-program-tester"), str(base / ast.literal_eval(options["filename"])))
    program, *arguments = ast.literal_eval(options["command"])
    program = str(base / "bin" / program)
    if kind == "cl":
        return (program, *arguments)
    if kind == "gl_builtin":
        return (program, str(base / "tests" / arguments[0]), *arguments[1:])
    if kind == "shader":
        arguments[0] = str(base / arguments[0])
    flags = ["-auto", "-fbo"] if options.get("run_concurrent") == "True" else ["-auto"]
    return (program, *arguments, *flags)


def matching(tests: Iterable[Case], pattern: str) -> list[Case]:
    try:
        expression = re.compile(pattern, re.IGNORECASE)
    except re.error as e:
        raise SelectionError(f"{pattern!r} is not a regular expression: {e}") from None
    return [test for test in tests if expression.search(test.name)]


def spread(tests: Sequence[Case], count: int, seed: int) -> list[Case]:
    """`count` tests chosen at random, in turns from every group that still has some."""
    shuffled = random.Random(seed)
    groups: defaultdict[str, list[Case]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: test.name):
        groups[test.group].append(test)
    for group in groups.values():
        shuffled.shuffle(group)
    chosen: list[Case] = []
    while len(chosen) < count and groups:
        for name in sorted(groups):
            chosen.append(groups[name].pop())
            if not groups[name]:
                del groups[name]
    return chosen[:count]
