"""Tables of text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "  ") -> Iterator[str]:
    """Columns as wide as they must be; numbers on the right."""
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]
    right = [bool(rows) and all(row[i].isdigit() for row in rows) for i in range(len(heads))]
    for row in (heads, *rows):
        cells = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True))
        yield f"{indent}{'  '.join(cells)}".rstrip()
