"""docs/api.md is true: its examples run, and its reference names everything that is public."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gen4emu

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def test_the_examples_run_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "traces").symlink_to(ROOT / "traces")
    monkeypatch.chdir(tmp_path)
    blocks = list(re.finditer(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    assert len(blocks) >= 8
    names: dict[str, object] = {}
    for block in blocks:
        line = PAGE.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], "docs/api.md", "exec"), names)
    assert (tmp_path / "window.png").is_file()


def test_the_reference_names_everything_public() -> None:
    reference = PAGE[PAGE.index("## Reference"):]
    assert [name for name in gen4emu.__all__ if f"`{name}" not in reference] == []
    assert all(getattr(gen4emu, name) is not None for name in gen4emu.__all__)
    assert set(gen4emu.__all__) <= set(dir(gen4emu))


@pytest.mark.parametrize("name", ["Trace", "Moment", "Draw", "Surface", "Device", "Place"])
def test_members_in_the_reference_exist(name: str) -> None:
    row = next(line for line in PAGE[PAGE.index("## Reference"):].splitlines() if line.startswith(f"| `{name}`"))
    members = re.findall(r"`(\w+)(?:\([^`]*\))?`", row.split("|", 2)[2])
    known = gen4emu.__getattr__(name)
    fields = {*dir(known), *getattr(known, "__dataclass_fields__", ()), "memory", "registers"}
    assert members
    assert [m for m in members if m not in fields and m not in ("Moment",)] == []


def test_importing_the_package_is_cheap() -> None:
    import subprocess
    import sys

    code = "import gen4emu, sys; print(sorted(m for m in ('numpy', 'cffi', 'PIL', 'click') if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'gen4emu' has no attribute 'Trance'"):
        _ = gen4emu.Trance
