"""Answers of the children of `check`, which a trace may have taken over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gen4emu.check.manifest import read_manifest
from gen4emu.check.results import Outcome, PictureResult, Result
from gen4emu.image.compare import Difference


def _answered(tmp_path: Path, **changes: object) -> dict[str, Any]:
    """The answer of a child for a case."""
    case = read_manifest(_manifest(tmp_path)).cases[0]
    picture = PictureResult("frame", "12", is_new=True, actual=tmp_path / "results/a.png", thumbnail=b"png",
                            difference=Difference(4, 1, 2, 0.5, 0.75))
    result = Result(case, Outcome.FAIL, True, 1.5, "g45", [picture], ["wrong"], digest="34")
    answer = result.as_json(tmp_path / "results")
    assert Result.from_json(case, json.loads(json.dumps(answer)), tmp_path / "results") == result
    pictures = [answer["pictures"][0] | {name: changes.pop(name) for name in list(changes)
                                         if name in answer["pictures"][0]}]
    return answer | {"pictures": pictures} | changes


def _manifest(tmp_path: Path) -> Path:
    path = tmp_path / "manifest.toml"
    path.write_text('[[trace]]\nname = "one"\nfile = "one.aub"\n')
    return path


@pytest.mark.parametrize(("name", "value"), [
    ("actual", "../../etc/passwd"), ("actual", "/etc/passwd"), ("heatmap", 5), ("is_new", "yes"),
    ("difference", {"pixels": 1}), ("difference", []), ("outcome", "splendid"), ("seconds", "1"), ("messages", "text"),
    ("messages", [1]), ("pictures", None), ("log", None)])
def test_what_a_child_says_is_checked(name: str, value: object, tmp_path: Path) -> None:
    answer = _answered(tmp_path, **{name: value})
    case = read_manifest(tmp_path / "manifest.toml").cases[0]
    with pytest.raises((ValueError, TypeError, KeyError)):
        Result.from_json(case, answer, tmp_path / "results")
