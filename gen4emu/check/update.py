"""Writing digests into a manifest in place: comments, order and layout of all other lines stay as they are."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from gen4emu.check.manifest import Digests
from gen4emu.check.results import Outcome, Result
from gen4emu.errors import DecodeError
from gen4emu.image.picture import replacing

_TRACE = re.compile(r"\s*\[\[\s*trace\s*\]\]\s*(#.*)?")
_EXPECT_TABLE = re.compile(r"\s*\[\s*trace\s*\.\s*expect\s*\]\s*(#.*)?")
_HEADER = re.compile(r"\s*\[")
_EXPECT = re.compile(r"""(\s*expect\s*=\s*)(?:"[^"]*"|'[^']*'|\{[^{}]*\})(.*)""")
_ENTRY = re.compile(r"""(\s*["']?)([^"'=\s]+)(["']?\s*=\s*)(?:"[^"]*"|'[^']*')(.*)""")


def update_manifests(results: Iterable[Result]) -> None:
    """Record the digests that good results have drawn, and note the changes in the results."""
    by_manifest: dict[Path, list[Result]] = {}
    for result in results:
        if result.case.digests is not None and result.outcome is Outcome.PASS:
            by_manifest.setdefault(result.case.manifest, []).append(result)
    for file, changed in by_manifest.items():
        new: dict[int, Digests] = {}
        for result in changed:
            drawn = {p.name: p.digest for p in result.pictures}
            digests: Digests = result.digest if isinstance(result.case.digests, str) else drawn
            result.changes += _changes(result.case.digests, digests)
            if result.changes:
                new[result.case.index] = digests
        if new:
            text = with_digests(file, file.read_text(encoding="utf-8"), new)
            with replacing(file) as out:
                out.write(text.encode())


def _changes(old: Digests | None, new: Digests) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        return ([f"{name}: removed" for name in sorted(set(old) - set(new))]
                + [f"{name}: {'new' if name not in old else f'{digest}, was {old[name]}'}"
                   for name, digest in new.items() if old.get(name) != digest])
    return [] if old == new else [f"expect: {new}" + (f", was {old}" if old else "")]


def with_digests(file: Path, text: str, new: dict[int, Digests]) -> str:
    """The text of a manifest with other digests for some [[trace]] tables, by index.

    Raises DecodeError if its layout is too unusual to be edited line by line.
    """
    wanted = tomllib.loads(text)
    for index, digests in new.items():
        wanted["trace"][index]["expect"] = digests
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if _TRACE.fullmatch(line)]
    for index in sorted(new, reverse=True):  # from the end, so that earlier line numbers stay right
        if index < len(starts):
            end = starts[index + 1] if index + 1 < len(starts) else len(lines)
            lines[starts[index]:end] = _with_digests(lines[starts[index]:end], new[index])
    edited = "\n".join(lines) + "\n"
    if not _reads_as(edited, wanted):
        names = ", ".join(str(index) for index in sorted(new))
        raise DecodeError(f"{file}: the layout of trace {names} is too unusual to update: write each `expect` in a "
                          "line of its own, or as a [trace.expect] table")
    return edited


def _reads_as(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _with_digests(block: list[str], digests: Digests) -> list[str]:
    """The lines of one [[trace]] table, up to the next one."""
    headers = [i for i, line in enumerate(block) if i and _HEADER.match(line)] + [len(block)]
    own = headers[0]  # the end of the keys in front of any other header
    for i in range(own):
        found = _EXPECT.fullmatch(block[i])
        if found is None:
            continue
        if isinstance(digests, str):
            return [*block[:i], f'{found[1]}"{digests}"{found[2]}', *block[i + 1:]]
        end = _last_line(block, 0, own) + 1
        comment = [found[2].strip()] if found[2].strip() else []
        table = [*comment, "[trace.expect]", *(_entry(n, d) for n, d in digests.items())]
        return [*block[:i], *block[i + 1:end], *table, *block[end:]]
    if isinstance(digests, dict):
        for start, end in pairwise(headers):
            if _EXPECT_TABLE.fullmatch(block[start]):
                last = _last_line(block, start, end) + 1
                return [*block[:start + 1], *_entries(block[start + 1:last], digests), *block[last:]]
    return copy.copy(block)


def _entries(lines: list[str], digests: dict[str, str]) -> list[str]:
    """The lines of a [trace.expect] table: known names stay where they are."""
    edited = []
    left = dict(digests)
    for line in lines:
        found = _ENTRY.fullmatch(line)
        if found is None:
            edited.append(line)
        elif found[2] in left:
            edited.append(f'{found[1]}{found[2]}{found[3]}"{left.pop(found[2])}"{found[4]}')
    return edited + [_entry(name, digest) for name, digest in left.items()]


def _entry(name: str, digest: str) -> str:
    return f'{name} = "{digest}"'


def _last_line(block: list[str], start: int, end: int) -> int:
    """The last line with a key or a header: the lines after it belong to the next table."""
    return max(i for i in range(start, end) if i == start or block[i].partition("#")[0].strip())
