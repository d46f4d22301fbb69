"""The messages of a server to `Link` in web/link.js."""

from __future__ import annotations

import json
import math
import struct
from typing import Any


def packed(head: dict[str, Any], data: bytes) -> bytes:
    """A binary message: the length of a JSON header in four bytes, the header, and bytes."""
    text = json.dumps(head).encode()
    return struct.pack("<I", len(text)) + text + data


def json_text(value: Any) -> str:
    """JSON in which NaN and infinities, which it lacks, are strings."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value
