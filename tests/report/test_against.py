"""`gen4emu report --against`: the pairs of draws of two executions, and what differs in each."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import gen4emu
from gen4emu.bisect.digests import surface_bytes
from gen4emu.cli.main import run
from tests.harness.changed_trace import block, with_change
from tests.report.changed_gears import GEARS, MORE_GEARS, TRACES, bad_gears, turned_gears

TEXTURE = TRACES / "texture-g4x.aub.xz"

Compare = Callable[..., Path]


@pytest.fixture
def compare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compare:
    """compare(argument, ..., status=1) makes a report; returns its directory."""
    monkeypatch.chdir(tmp_path)

    def made(*arguments: object, status: int = 1, to: str = "report") -> Path:
        assert run(["-q", "report", *map(str, arguments), "-o", to]) == status
        return tmp_path / to

    return made


def chunk(report: Path, name: str) -> Any:
    text = (report / "data" / f"{name}.js").read_text()
    found = re.fullmatch(r'gen4emuChunk\("([\w-]+)","([\w+/=]+)"\);\n', text)
    assert found is not None and found[1] == name
    return json.loads(zlib.decompress(base64.b64decode(found[2])))


def comparison(report: Path) -> Any:
    found = re.search(r'<script type="application/json" id="overview">(.*?)</script>',
                      (report / "index.html").read_text())
    assert found is not None
    return json.loads(found[1])["comparison"]


def test_a_trace_is_equal_to_itself(compare: Compare) -> None:
    report = compare(GEARS, "--against", GEARS, status=0)
    about = comparison(report)
    assert (about["first"], about["first_picture"], about["finding"]) == (None, None, [])
    assert about["marks"] == {"equal": 6, "different": 0, "picture": 0, "state": 0, "counters": 0, "only-left": 0,
                              "only-right": 0}
    assert not list((report / "data").glob("picture-*"))


def test_two_processes_make_the_same_report_as_one(compare: Compare, tmp_path: Path) -> None:
    bad = bad_gears(tmp_path)
    one, two = (compare(MORE_GEARS, "--against", bad, "-j", n, to=f"report-{n}") for n in (1, 2))
    files = {file.relative_to(one): file.read_bytes() for file in one.rglob("*.*")}
    assert files == {file.relative_to(two): file.read_bytes() for file in two.rglob("*.*")}


@pytest.mark.parametrize("damaged", ["left", "right"])
def test_the_error_of_either_side_is_shown(damaged: str, compare: Compare, tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    """The right side is executed in a process of its own."""
    batch = tmp_path / "no-device.bin"
    batch.write_bytes(bytes.fromhex("00000002 00000005".replace(" ", "")) * 4)
    sides = [batch, GEARS] if damaged == "left" else [GEARS, batch]
    compare(sides[0], "--against", sides[1], status=2)
    assert f"{batch}: " in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_draws_of_one_side_alone_have_no_counterpart(compare: Compare) -> None:
    report = compare(GEARS, "--against", MORE_GEARS)
    pairs = chunk(report, "pairs-0")
    with gen4emu.open(MORE_GEARS) as trace:
        assert [n for n in pairs["right"] if n >= 0] == [draw.number for draw in trace.draws()]
    assert [n for n in pairs["left"] if n >= 0] == list(range(6))
    alone = [flags for left, flags in zip(pairs["left"], pairs["flags"], strict=True) if left < 0]
    assert len(alone) == comparison(report)["marks"]["only-right"] == 15
    assert all("only-right" in flags for flags in alone)


def test_differing_pixels_are_counted_exactly(compare: Compare, tmp_path: Path) -> None:
    bad = bad_gears(tmp_path)
    report = compare(GEARS, "--against", bad)
    pairs, found = chunk(report, "pairs-0"), chunk(report, "differences-0")
    with gen4emu.open(GEARS) as one, gen4emu.open(bad) as other:
        for left, right in zip(one.draws(), other.draws(), strict=True):
            count = 0
            for first, second in zip(left.device.targets.latest, right.device.targets.latest, strict=True):
                data = surface_bytes(left.memory, first), surface_bytes(right.memory, second)
                size = len(data[0]) // (first.width * first.height)
                count += sum(data[0][i:i + size] != data[1][i:i + size] for i in range(0, len(data[0]), size))
            assert pairs["pixels"][left.number] == count
            assert sum(t["pixels"]["count"] for t in found["pairs"][left.number]["targets"]) == count
    assert pairs["pixels"][:2] == [0, 0] and pairs["pixels"][2] == 8712


def test_the_first_difference_is_explained(compare: Compare, tmp_path: Path) -> None:
    about = comparison(compare(GEARS, "--against", bad_gears(tmp_path)))
    assert about["first_picture"] == 2 and "draw 2" in about["finding"][0]
    (cause,) = (text for text in about["finding"] if text.startswith("cause:"))
    assert cause.startswith("cause: code: ") and "pln(16)" in cause and "line(16)" in cause


def test_the_field_that_was_changed_is_the_one_that_differs(compare: Compare, tmp_path: Path) -> None:
    bad = with_change(TEXTURE, tmp_path / "bad.aub", block(TEXTURE, 0, "SAMPLER_STATE"), 2, 0x02)
    report = compare(TEXTURE, "--against", bad)
    found = chunk(report, "differences-0")
    state = found["states"][found["pairs"][0]["state"]]
    assert state == [["SAMPLER_STATE ps sampler", "mag_mode_filter", "LINEAR", "NEAREST"]]
    assert chunk(report, "pairs-0")["changed"][0] == ["SAMPLER_STATE"]


def test_counters_that_differ_are_listed(compare: Compare, tmp_path: Path) -> None:
    bad = turned_gears(tmp_path)
    report = compare(GEARS, "--against", bad)
    with gen4emu.open(GEARS) as one, gen4emu.open(bad) as other:
        written = [next(trace.draws(2, counting=True)).counters.fragments.written for trace in (one, other)]
    assert written[0] != written[1]
    assert ["fragments written", *written] in chunk(report, "differences-0")["pairs"][2]["counters"]
    assert "counters" in chunk(report, "pairs-0")["flags"][2]


def test_kernels_that_differ_are_compared_line_by_line(compare: Compare, tmp_path: Path) -> None:
    report = compare(GEARS, "--against", bad_gears(tmp_path))
    pairs = chunk(report, "differences-0")["pairs"]
    assert [stage for pair in pairs for stage, *_ in pair["kernels"]].count("ps") == 3, "the wheels"
    _, *numbers = pairs[3]["kernels"][0]
    runs = chunk(report, "kernel-diffs")["-".join(map(str, numbers))]
    listings = [next(kernel["lines"] for kernel in chunk(report, f"{side}-kernels") if kernel["number"] == number)
                for side, number in zip(("left", "right"), numbers, strict=True)]
    changed = [[line["text"].split("(")[0] for line in lines[at:end]] for is_same, *places in runs if not is_same
               for lines, at, end in zip(listings, places[::2], places[1::2], strict=True)]
    assert changed == [["pln"], ["line"]]
    assert all(listings[0][i]["text"] == listings[1][j]["text"] for is_same, a, b, c, d in runs if is_same
               for i, j in zip(range(a, b), range(c, d), strict=True))


def test_two_ways_are_compared(compare: Compare) -> None:
    about = comparison(compare(GEARS, "--options", "fp-rounding=rtz,rtne"))
    assert about["marks"]["picture"] > 0 and about["marks"]["state"] == 0
    assert any(text.startswith("cause: rounding") for text in about["finding"])


def test_two_devices_are_compared(compare: Compare) -> None:
    report = compare(TEXTURE, "--devices", "g45,gm45", status=0)
    assert comparison(report)["names"] == [f"{TEXTURE} on g45", f"{TEXTURE} on gm45"]
    assert comparison(report)["marks"]["different"] == 0


@pytest.mark.parametrize("arguments", [["--against", GEARS, "--devices", "g45,gm45"], ["--devices", "g45"],
                                       ["--options", "hiz=off"], ["--devices", "g45,gm45", "-d", "g45"]])
def test_there_is_one_way_to_name_the_other_side(arguments: list[object], tmp_path: Path) -> None:
    assert run(["-q", "report", str(GEARS), *map(str, arguments), "-o", str(tmp_path)]) == 2


def test_the_same_comparison_gives_the_same_bytes(compare: Compare) -> None:
    def digests(to: str) -> dict[str, str]:
        report = compare(GEARS, "--against", MORE_GEARS, to=to)
        return {str(path.relative_to(report)): sha256(path.read_bytes()).hexdigest()
                for path in sorted(report.rglob("*.*"))}

    assert digests("one") == digests("two")


def test_one_file_leaves_out_the_pictures_of_pairs_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.html"
    arguments = ["report", str(GEARS), "--against", bad_gears(tmp_path), "--single-file", str(path)]
    assert run(["-q", *arguments]) == 1
    most = path.stat().st_size - 60_000  # the pictures of the sides take more, those of pairs are as large
    capsys.readouterr()
    assert run([*arguments, "--max-size", str(most)]) == 1
    error = capsys.readouterr().err
    assert "left out full-size pictures of the sides" in error and "thumbnails" not in error
    text = path.read_text()
    assert path.stat().st_size <= most
    assert 'id="chunk-picture-0"' in text and 'id="chunk-left-picture-0"' not in text


def test_a_side_that_hangs_is_compared_up_to_there(compare: Compare, tmp_path: Path) -> None:
    batch = tmp_path / "h.bin"
    batch.write_bytes(bytes.fromhex("0102037a00000005"))  # a command that swallows the end of the batch
    report = compare(batch, "--against", batch, "--raw", "-d", "g45", status=3)
    assert comparison(report)["pairs"] == 0
