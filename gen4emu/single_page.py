"""HTML pages that hold all they need, and whose policy forbids every script and style but their own."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from typing import Any


def fill(template: str, parts: dict[str, str], *, style: str, script: str = "", images: str,
         scripts: str = "") -> str:
    """Replace each @@NAME@@ of a template by its part; POLICY, STYLE and SCRIPT are known.

    `images` and `scripts` are the sources of images and of further scripts that the policy allows.  Without `script`
    no script may run.
    """
    sources = f"'{_hash(script)}' {scripts}".rstrip() if script else "'none'"
    policy = (f"default-src 'none'; img-src {images}; style-src '{_hash(style)}'; script-src {sources}; "
              "base-uri 'none'; form-action 'none'")
    known = {**parts, "POLICY": policy, "STYLE": style, "SCRIPT": script}
    before, *rest = template.split("@@")
    return before + "".join(part if i % 2 else known[part] for i, part in enumerate(rest))


def data(value: Any) -> str:
    """JSON for a <script>, in which HTML looks for nothing but "</script" and "<!--": without "<" there is neither."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()
