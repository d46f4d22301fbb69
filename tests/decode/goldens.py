"""The decoded text of the small traces of Gen6 to Gen9: `python -m tests.decode.goldens` writes it again.

Look at the difference before you commit it: a test compares these files with what `gen4emu decode` prints.
"""

from __future__ import annotations

import lzma
from pathlib import Path

from gen4emu import trace
from gen4emu.decode import Document, TextRenderer

TRACES = sorted((Path(__file__).parents[2] / "traces" / "later").glob("*.aub.xz"))
_GOLDEN = Path(__file__).parent / "golden"


def path_of(capture: Path) -> Path:
    return _GOLDEN / f"{capture.name.partition('.')[0]}.txt.xz"


def decoded(capture: Path) -> str:
    opened = trace.open(capture)
    render = TextRenderer().render
    return "".join(render(item) for item in Document(opened, file=capture.name, container=opened.kind))


def golden(capture: Path) -> str:
    return lzma.decompress(path_of(capture).read_bytes()).decode()


def main() -> None:
    _GOLDEN.mkdir(exist_ok=True)
    for capture in TRACES:
        text = decoded(capture)
        if not path_of(capture).exists() or golden(capture) != text:
            path_of(capture).write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
