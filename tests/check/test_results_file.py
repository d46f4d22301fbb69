"""`check --shard --jsonl --resume`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from gen4emu.suite.lines import read

Make = Callable[..., Path]
NAMES = ("clear-g4x", "triangle-g4x", "blend-g4x")


def check(directory: Path, *options: str) -> int:
    return run(["check", str(directory), "-j", "1", "--jsonl", "r.jsonl", *options])


@pytest.fixture
def place(make: Make) -> Path:
    directory = make(*NAMES)
    assert run(["check", str(directory), "--update"]) == 0
    return directory


def test_shards_join_to_the_whole(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(place) == 0
    whole = {line.name: line.digest for line in read(Path("r.jsonl"))}
    assert {name.rpartition("/")[2] for name in whole} == set(NAMES)
    Path("r.jsonl").rename("before.jsonl")
    joined: dict[str, str] = {}
    for part in ("1/2", "2/2"):
        assert check(place, "--shard", part, "--durations", "before.jsonl") == 0
        found = {line.name: line.digest for line in read(Path("r.jsonl"))}
        assert 0 < len(found) < 3 and not found.keys() & joined.keys()
        joined |= found
    assert joined == whole


def test_a_resumed_run_replays_what_is_missing_or_has_changed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(place) == 0
    path = Path("r.jsonl")
    path.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n")
    golden = sorted((place / "golden" / "clear-g4x").glob("*.png"))[0]
    golden.write_bytes((place / "golden" / "triangle-g4x").joinpath(golden.name).read_bytes()
                       if (place / "golden" / "triangle-g4x" / golden.name).exists() else b"not a picture")
    capsys.readouterr()
    assert check(place, "--resume", "--json") == 1
    cases = {case["name"]: case for case in json.loads(capsys.readouterr().out)["cases"]}
    assert {name: case["outcome"] for name, case in cases.items()} == {
        "clear-g4x": "fail", "triangle-g4x": "pass", "blend-g4x": "pass"}
    assert [line.name.rpartition("/")[2] for line in read(path)] == [
        "clear-g4x", "triangle-g4x", "clear-g4x", "blend-g4x"]
    assert check(place, "--resume", "-d", "g45") == 1
    assert len(read(path)) == 7, "another device is another run"


def test_an_empty_shard_is_fine(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = next(i for i in range(1, 100) if check(place, "--shard", f"{i}/99") == 0 and not read(Path("r.jsonl")))
    assert "0 passed, 0 failed" in capsys.readouterr().out and empty


def test_update_and_results_exclude_each_other(place: Path) -> None:
    assert check(place, "--update") == 2
    assert not Path("r.jsonl").exists()
