"""Files that a case needs on another machine: found there by their digests, or sent once and kept."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

import gen4emu
from gen4emu.image.picture import replacing
from gen4emu.suite.traces import content_digest

MOST_KEPT = 16 << 30  # bytes; what was not used for the longest time goes first


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file as it is on the submitting machine."""

    path: Path  # absolute
    digest: str
    size: int

    @classmethod
    def of(cls, path: Path) -> Wanted:
        whole = path.absolute()
        about = whole.stat()
        return cls(whole, _digest(whole, about.st_size, about.st_mtime_ns), about.st_size)

    @property
    def is_here(self) -> bool:
        """Whether this machine has the same content at the same place, as on a shared file system."""
        try:
            return Wanted.of(self.path).digest == self.digest
        except OSError:
            return False


@lru_cache(maxsize=1 << 16)
def _digest(path: Path, size: int, changed: int) -> str:
    """Of a file that keeps its size and time of change, the digest is computed once."""
    return content_digest(path)


@cache
def code_digest() -> str:
    """Of the Python files of gen4emu: machines with the same one run the same version."""
    total = blake2b(digest_size=16)
    package = Path(gen4emu.__file__).parent
    for path in sorted(package.rglob("*.py")):
        total.update(f"{path.relative_to(package)} {content_digest(path)}\n".encode())
    return total.hexdigest()


def default_store() -> Path:
    """Where a machine keeps files that it was sent."""
    base = os.environ.get("XDG_CACHE_HOME")
    directory = (Path(base) if base else Path.home() / ".cache") / "gen4emu" / "files"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        directory = Path(tempfile.gettempdir()) / f"gen4emu-files-{os.getuid()}"
        directory.mkdir(mode=0o700, exist_ok=True)
        if directory.lstat().st_uid != os.getuid():
            raise
    return directory


class Store:
    """Files by digest in a directory, which several processes may use at the same time."""

    def __init__(self, directory: Path, most: int = MOST_KEPT) -> None:
        self.directory, self._most = directory, most

    def link(self, wanted: Wanted, place: Path) -> bool:
        """Make a kept file appear at a place in the same file system; False if it is not kept."""
        kept = self._path(wanted.digest)
        try:
            place.hardlink_to(kept)
            os.utime(kept)
        except FileNotFoundError:
            return False
        return True

    def has(self, wanted: Wanted) -> bool:
        return self._path(wanted.digest).exists()

    def keep(self, wanted: Wanted, content: bytes) -> None:
        """Raises ValueError if the content is not what the digest says."""
        if blake2b(content, digest_size=16).hexdigest() != wanted.digest:
            raise ValueError(f"{wanted.path}: arrived damaged")
        with replacing(self._path(wanted.digest)) as file:
            file.write(content)
        self._shrink()

    def _path(self, digest: str) -> Path:
        return self.directory / digest

    def _shrink(self) -> None:
        found = []
        for path in self.directory.iterdir():
            with suppress(FileNotFoundError):  # another process removes, too
                if path.is_file():
                    about = path.stat()
                    found.append((about.st_mtime_ns, about.st_size, path))
        left = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if left <= self._most:
                return
            path.unlink(missing_ok=True)
            left -= size
