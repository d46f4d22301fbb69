"""Chunks of a report: deflated JSON or pixels in base64, which a page loads as scripts, also from file://."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

ROWS = 4096  # draws in a chunk of rows
STATES = 256  # draws in a chunk of states and counters
THUMBNAILS = 256  # small pictures in a sheet
CHUNK_START = "gen4emuChunk("  # of the file of a chunk
_LEVEL = 6


def json_bytes(value: Any) -> bytes:
    """JSON as bytes; equal values give equal bytes."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def by_columns(rows: Sequence[Any]) -> Any:
    """Rows with the same names as a list for each name, which deflates better; so are values that are such rows."""
    first = rows[0] if rows else None
    if not isinstance(first, dict) or not first or any(not isinstance(row, dict) or row.keys() != first.keys()
                                                       for row in rows):
        return list(rows)
    return {name: by_columns([row[name] for row in rows]) for name in first}


def deflated_json(value: Any) -> str:
    return base64.b64encode(zlib.compress(json_bytes(value), _LEVEL)).decode()


def packed(head: dict[str, Any], data: bytes | memoryview) -> str:
    """A JSON header, and bytes after it."""
    text = json_bytes(head)
    deflate = zlib.compressobj(_LEVEL)
    return base64.b64encode(deflate.compress(struct.pack("<I", len(text)) + text) + deflate.compress(data)
                            + deflate.flush()).decode()


def plain(data: bytes) -> str:
    return base64.b64encode(data).decode()


def script(name: str, text: str) -> str:
    """The file of a chunk."""
    return f'{CHUNK_START}"{name}","{text}");\n'
