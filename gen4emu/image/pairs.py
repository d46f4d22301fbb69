"""Pictures of two directories, paired by name and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gen4emu.errors import DecodeError
from gen4emu.image.compare import Difference, compare, pair

SUFFIXES = (".png", ".npy")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two pictures of one name.  One of the files is None where the other directory lacks the name."""

    name: str
    first: Path | None
    second: Path | None
    difference: Difference | None = None
    message: str = ""  # why they cannot be compared

    @property
    def same(self) -> bool:
        return self.difference is not None and self.difference.same

    @property
    def text(self) -> str:
        return self.message or str(self.difference)


def pictures_in(directory: Path) -> dict[str, Path]:
    """The pictures of a directory and those below it, by relative name."""
    return {path.relative_to(directory).as_posix(): path for path in sorted(directory.rglob("*"))
            if path.suffix in SUFFIXES and path.is_file()}


def compare_directories(first: Path, second: Path, tolerance: float) -> Iterator[Pair]:
    """Every name in either directory, in order."""
    a, b = pictures_in(first), pictures_in(second)
    for directory, found in ((first, a), (second, b)):
        if not found:
            raise DecodeError(f"{directory}: has no pictures ({' or '.join(SUFFIXES)})")
    for name in sorted(a | b):
        if name not in a or name not in b:
            yield Pair(name, a.get(name), b.get(name), message=f"is missing in {first if name in b else second}")
            continue
        try:
            difference = compare(*pair(a[name], b[name]), tolerance)
        except DecodeError as e:
            yield Pair(name, a[name], b[name], message=str(e))
        else:
            yield Pair(name, a[name], b[name], difference)
