"""A generation is tables and a model: a made-up one is added to a copy of the tree, built and drawn with.

`sources` has its files; LISTINGS has the lines that it adds to files that list generations.  docs/adding.md follows
these steps.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.toy_generation.listings import LISTINGS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def add_generation(tree: Path) -> None:
    """Copy the tree and add the toy.  Its files are new; of the existing ones, only the listings change."""
    for folder in ("gen4emu", "native"):
        shutil.copytree(ROOT / folder, tree / folder,
                        ignore=shutil.ignore_patterns("*.so", "__pycache__", "generated"))
    for source in (HERE / "sources").rglob("*"):
        if source.is_file() and source.suffix in (".py", ".c"):
            target = tree / source.relative_to(HERE / "sources")
            assert not target.exists(), target
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    for name, changes in LISTINGS.items():
        path = tree / name
        text = path.read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Any:
    tree = tmp_path_factory.mktemp("toy")
    add_generation(tree)
    environment = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "native/build.py", "--core"], cwd=tree, env=environment, check=True)
    done = subprocess.run([sys.executable, str(HERE / "pictures.py")], cwd=tree, env=environment, check=True,
                          capture_output=True, encoding="utf-8")
    found = json.loads(done.stdout)
    assert Path(found["core"]).parent == tree / "gen4emu"
    return found


def lit(picture: list[list[int]]) -> set[tuple[int, int]]:
    return {(x, y) for y, row in enumerate(picture) for x, pixel in enumerate(row) if pixel}


def test_a_triangle_is_the_same_picture_as_on_the_predecessor(drawn: Any) -> None:
    assert len(lit(drawn["g45"]["triangle"])) > 250
    assert drawn["toy"]["triangle"] == drawn["g45"]["triangle"]


def test_a_command_has_another_opcode(drawn: Any) -> None:
    assert drawn["g45"]["primitive"] >> 16 == 0x7B00 and drawn["toy"]["primitive"] >> 16 == 0x7C00
    assert drawn["unknown on g45"] == ["unknown command 0x7c000004"]
    assert drawn["unknown on toy"] == ["unknown command 0x7b000004"]


def test_an_instruction_has_another_opcode(drawn: Any) -> None:
    """The pixel kernel of the triangle interpolates with `line`."""
    assert drawn["g45"]["kernel has 0x59"] and not drawn["g45"]["kernel has 0x70"]
    assert drawn["toy"]["kernel has 0x70"] and not drawn["toy"]["kernel has 0x59"]
    assert drawn["toy"]["kernel"] == drawn["g45"]["kernel"] and "line(" in drawn["toy"]["kernel"]


def test_fields_moved(drawn: Any) -> None:
    """One dword, 19 << 16 | 9: up to (9, 19) on the G45, up to (19, 9) on the toy."""
    whole = lit(drawn["g45"]["triangle"])
    assert lit(drawn["g45"]["field"]) == {(x, y) for x, y in whole if x <= 9 and y <= 19}
    assert lit(drawn["toy"]["field"]) == {(x, y) for x, y in whole if x <= 19 and y <= 9}


def test_a_limit_of_the_chip_is_another(drawn: Any) -> None:
    """The toy reads five dwords of SURFACE_STATE, and so no X offset, which is in the sixth."""
    whole = lit(drawn["g45"]["triangle"])
    assert lit(drawn["g45"]["limit"]) == {(x + 8, y) for x, y in whole if x + 8 < 32}
    assert lit(drawn["toy"]["limit"]) == whole


def test_a_unit_is_another(drawn: Any) -> None:
    """The toy's setup drops lines."""
    assert len(lit(drawn["g45"]["line"])) > 20
    assert lit(drawn["toy"]["line"]) == set()
