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


def overview(report: Path) -> Any:
    found = re.search(r'<script type="application/json" id="overview">(.*?)</script>',
                      (report / "index.html").read_text())
    assert found is not None
    return json.loads(found[1])
