"""The data of a report's page."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any


def chunk(report: Path, name: str) -> Any:
    text = (report / "data" / f"{name}.js").read_text()
    found = re.fullmatch(r'gen4emuChunk\("([\w-]+)","([\w+/=]+)"\);\n', text)
    assert found is not None and found[1] == name
    return json.loads(zlib.decompress(base64.b64decode(found[2])))


def row_of(columns: Any, i: int) -> Any:
    """A row of a table that is stored by columns, as the page reads it."""
    return columns[i] if isinstance(columns, list) else {name: row_of(column, i) for name, column in columns.items()}


def counters(report: Path, part: int = 0) -> list[Any]:
    """The counters of the draws in a chunk of states, and the names of the chunks that they have."""
    found = chunk(report, f"states-{part}")
    return [row_of(found["counters"], i) for i in range(len(found["draws"]))]


def overview(report: Path) -> Any:
    found = re.search(r'<script type="application/json" id="overview">(.*?)</script>',
                      (report / "index.html").read_text())
    assert found is not None
    return json.loads(found[1])
