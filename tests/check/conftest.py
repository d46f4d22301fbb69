"""A manifest of one or more committed traces in a directory of its own."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

TRACES = Path(__file__).parents[2] / "traces"
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """make("clear-g4x", ..., text="...") copies traces and writes a manifest of them; the text follows."""
    def make(*names: str, text: str = "", keys: str = "") -> Path:
        lines = []
        for name in names:
            (tmp_path / f"{name}.aub.xz").write_bytes((TRACES / f"{name}.aub.xz").read_bytes())
            lines.append(f'[[trace]]\nfile = "{name}.aub.xz"\n{keys}\n')
        (tmp_path / "manifest.toml").write_text("".join(lines) + text)
        return tmp_path

    return make


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A trace that is cut short in the middle of a write."""
    path = tmp_path / "cut.aub"
    path.write_bytes(lzma.decompress((TRACES / "triangle-g4x.aub.xz").read_bytes())[:10000])
    return path


@pytest.fixture(autouse=True)
def _in_the_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
