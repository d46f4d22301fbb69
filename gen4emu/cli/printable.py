"""Names from files, for terminals."""

from __future__ import annotations

import sys


def printable(text: str) -> str:
    """Names and messages with visible control characters and without characters that the terminal cannot show."""
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
