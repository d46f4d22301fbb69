"""What a reader's memory holds after the blocks that were written so far, by hash: enough to leave out repetitions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

PAGE_BYTES = 4096
_DIGEST_BYTES = 16
_MAX_PIECES = 8  # of one page that are remembered


class KnownPages:
    """Remembers pieces of pages (whole pages, as a rule).  Some 200 bytes a page, whatever is in it."""

    def __init__(self) -> None:
        self._pages: dict[int, list[tuple[int, int, bytes]]] = {}  # page: first byte, end, digest

    def changed(self, address: int, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        """The runs of pages, of those that `data` covers, that do not hold these bytes yet.  They do from now on."""
        run_start: int | None = None
        at = 0
        while at < len(data):
            page, first = divmod(address + at, PAGE_BYTES)
            piece = data[at:at + PAGE_BYTES - first]
            if self._note(page, first, piece):
                run_start = at if run_start is None else run_start
            elif run_start is not None:
                yield address + run_start, data[run_start:at]
                run_start = None
            at += len(piece)
        if run_start is not None:
            yield address + run_start, data[run_start:]

    def _note(self, page: int, first: int, piece: memoryview) -> bool:
        """Whether the piece is news."""
        entry = (first, first + len(piece), hashlib.blake2b(piece, digest_size=_DIGEST_BYTES).digest())
        known = self._pages.get(page, [])
        if entry in known:
            return False
        kept = [old for old in known if old[1] <= entry[0] or entry[1] <= old[0]]
        self._pages[page] = [*kept[-_MAX_PIECES + 1:], entry]
        return True

    def forget(self, address: int, size: int) -> None:
        """These bytes may have become others."""
        first, last = address // PAGE_BYTES, (address + size - 1) // PAGE_BYTES
        if last - first >= len(self._pages):
            self._pages = {p: known for p, known in self._pages.items() if not first <= p <= last}
            return
        for page in range(first, last + 1):
            self._pages.pop(page, None)

    def forget_all(self) -> None:
        self._pages.clear()
