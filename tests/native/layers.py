"""Arrows between the files of a source tree: includes and calls in C, imports in Python."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_NAME = re.compile(r"\b(?<!struct )(?<!enum )(?<!union )g4_\w+")  # a function and a tag may have the same name
# A definition begins in the first column, is not static, and its first brace or equals sign comes before a semicolon.
_TOP_LEVEL = re.compile(r"^(?!static\b|typedef\b|extern\b|#|\}|/)[A-Za-z_][^;{}]*?[{;]", re.MULTILINE)
_DEFINED = re.compile(r"\b(g4_\w+)\s*(?:\(|\[[^\]]*\]\s*=|=)")
_TAG = re.compile(r"^(?:const\s+)?(?:struct|enum|union)\s+\w+\s*\{")


@dataclass(frozen=True, order=True, slots=True)
class Arrow:
    """`source` needs `target`, because of `reason`: the header that it includes, or the function that it calls."""

    source: str
    target: str
    reason: str


def code(text: str) -> str:
    """The text without comments; strings become empty."""
    return _COMMENT.sub(lambda m: '""' if m[0].startswith('"') else " ", text)


def c_files(root: Path, leave_out: Iterable[str] = ()) -> dict[str, str]:
    """The C files and headers below ROOT by their path in it, without the folders LEAVE_OUT."""
    found = (path for path in sorted(root.rglob("*.[ch]")))
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in found
            if path.relative_to(root).parts[0] not in leave_out}


def includes(files: Mapping[str, str]) -> Iterator[Arrow]:
    """Includes by path below the root; a name that is no file there is a generated or a system header."""
    for name, text in files.items():
        for header in _INCLUDE.findall(text):
            yield Arrow(name, header, header)


def definitions(files: Mapping[str, str]) -> dict[str, str]:
    """The file of each function and variable with external linkage."""
    found = {}
    for name, text in files.items():
        if name.endswith(".h"):
            continue
        for head in _TOP_LEVEL.findall(code(text)):
            symbol = _DEFINED.search(head.split("{")[0])
            is_definition = head.endswith("{") or "=" in head
            if symbol and is_definition and not _TAG.match(head):
                found[symbol[1]] = name
    return found


def calls(files: Mapping[str, str]) -> Iterator[Arrow]:
    """From each C file to the files of the functions and variables that it names."""
    defined = definitions(files)
    for name, text in files.items():
        if name.endswith(".c"):
            for symbol in sorted(set(_NAME.findall(code(text)))):
                if defined.get(symbol, name) != name:
                    yield Arrow(name, defined[symbol], symbol)


def python_imports(root: Path, package: str) -> list[Arrow]:
    """Imports of PACKAGE's modules in it, those within functions too."""
    files = {path.relative_to(root).as_posix(): path for path in sorted((root / package).rglob("*.py"))}
    modules = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}
    found = []
    for source, path in files.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module:
                each = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in modules else node.module for name in each]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            found += [Arrow(source, name.replace(".", "/"), name) for name in names if name.split(".")[0] == package]
    return found


def circles(arrows: Iterable[Arrow]) -> list[list[str]]:
    """Files that need each other, directly or through others: strongly connected components of several members."""
    graph: dict[str, set[str]] = defaultdict(set)
    for arrow in arrows:
        if arrow.source != arrow.target:
            graph[arrow.source].add(arrow.target)
    reachable = {name: _reach(graph, name) for name in list(graph)}
    found, seen = [], set()
    for name in sorted(graph):
        circle = {other for other in reachable[name] if name in reachable.get(other, set())}
        if len(circle) > 1 and name not in seen:
            seen |= circle
            found.append(sorted(circle))
    return found


def _reach(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for target in graph.get(waiting.pop(), ()):
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return seen
