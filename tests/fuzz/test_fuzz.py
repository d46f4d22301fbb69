"""The targets without libFuzzer: seeds that do what they are for, and what is read from libFuzzer's output."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from gen4emu._native import ffi
from gen4emu.hw.gen import Gen
from tests.fuzz import build, kernel_seeds, message_seeds, readers, scenes
from tests.fuzz.__main__ import Totals, main, outcome_of, table
from tests.fuzz.targets import TARGETS
from tests.harness.commands import command

LOG = """INFO: Seed: 1
#2\tINITED cov: 100 ft: 120 corp: 2/9b exec/s: 0 rss: 30Mb
#40\tNEW    cov: 130 ft: 150 corp: 3/12b lim: 4 exec/s: 0 rss: 30Mb L: 3/4 MS: 1 ChangeBit-
#1000\tDONE   cov: 131 ft: 152 corp: 3/12b lim: 4 exec/s: 500 rss: 30Mb
stat::number_of_executed_units: 1000
"""


@pytest.mark.parametrize("name", readers.READERS)
def test_seeds_of_readers_are_no_findings(name: str) -> None:
    reader = readers.READERS[name]
    seeds = list(islice(reader.seeds(), 40))
    assert seeds and len(set(seeds)) == len(seeds)
    for seed in seeds:
        assert len(seed) <= reader.most_bytes
        reader.check(seed)


def test_seeds_of_messages_fit_their_header() -> None:
    seeds = list(message_seeds.seeds())
    assert len(seeds) > 1000
    assert max(map(len, seeds)) <= message_seeds.MOST_BYTES
    assert {seed[0] for seed in seeds} == set(range(len(message_seeds.PARTS)))


def test_seeds_of_commands_name_many_headers_and_fit() -> None:
    seeds = list(scenes.commands())
    assert len(set(seeds)) == len(seeds)
    assert max(map(len, seeds)) <= TARGETS["commands-gm45"].most_bytes
    assert len({seed[1] for seed in seeds}) > 200


@pytest.mark.parametrize("gen", [Gen.CTG, Gen.IVB, Gen.KBL])
def test_scenes_draw_the_middle_of_large_targets(gen: Gen) -> None:
    ends = {"clipped_drawing_rectangle_x_min": 4, "clipped_drawing_rectangle_x_max": 103,
            "clipped_drawing_rectangle_y_max": 30, "drawing_rectangle_origin_y": 7}
    state = ffi.new("struct g4_state *")
    state.drawing_rectangle = command("3DSTATE_DRAWING_RECTANGLE", gen, **ends)
    small = ffi.from_buffer("struct g4_state *", scenes.smaller(bytes(ffi.buffer(state)), gen))
    middle = {"clipped_drawing_rectangle_x_min": 34, "clipped_drawing_rectangle_x_max": 73}
    assert tuple(small.drawing_rectangle) == tuple(command("3DSTATE_DRAWING_RECTANGLE", gen, **ends | middle))


def test_edges_are_counted_in_sources_that_exist() -> None:
    native = build.native_build()
    below = [str(path.relative_to(native.NATIVE)) for path in native.sources()]
    for name, program in build.PROGRAMS.items():
        for start in program.covers:
            assert any(path.startswith(start) for path in below), f"{name}: {start}"
    decode = build.PROGRAMS["decode"]
    assert build.is_covered(decode, native.NATIVE / "eu" / "decode_gen4.c", native.NATIVE)
    assert not build.is_covered(decode, native.NATIVE / "draw" / "draw.c", native.NATIVE)
    assert not build.is_covered(decode, Path("/x/variants/eu_fast_float_avx2.c"), native.NATIVE)
    assert build.is_covered(build.PROGRAMS["scene"], Path("/x/variants/eu_fast_float_avx2.c"), native.NATIVE)


def test_there_are_kernels_for_every_encoding() -> None:
    for seeds in (kernel_seeds.seeds(), kernel_seeds.codes()):
        assert {seed[0] for seed in seeds} == set(range(len(kernel_seeds.PARTS)))


def test_a_run_is_read_from_the_output_of_libfuzzer() -> None:
    found = outcome_of(LOG, 0)
    assert (found.executions, found.first_edges, found.edges, found.findings, found.failure) == (1000, 100, 131, [], "")
    found.processor = 0.5
    row = table([TARGETS["kernel"]], [found]).splitlines()[1].split()
    assert row == ["kernel", "1,000", "2,000", "100", "131", "0", "0"]


def test_executions_are_counted_over_runs(tmp_path: Path) -> None:
    found = outcome_of(LOG, 0)
    twice = found + outcome_of(LOG.replace("131", "140"), 0)
    assert (twice.executions, twice.first_edges, twice.edges) == (2000, 100, 140)
    Totals(tmp_path / "totals").add({"kernel": found, "message": found})
    later = Totals(tmp_path / "totals")
    later.add({"kernel": found})
    assert later.sum == Totals(tmp_path / "totals").sum == 3000


def test_a_finding_names_its_input_and_reports_it() -> None:
    report = ["a.c:1:2: runtime error: index 4 out of bounds", "Test unit written to /x/crash-12", "Base64: AAA="]
    found = outcome_of(LOG + "\n".join(report) + "\n", 77)
    assert found.findings == [Path("/x/crash-12")] and not found.failure
    assert found.report.splitlines()[-3:] == report and "cov: 130" not in found.report
    assert outcome_of(LOG, 0).report == ""
    assert (outcome_of(LOG, 0) + found).report == found.report


@pytest.mark.parametrize(("log", "status"), [("", 1), ("no such file", 1), (LOG, 1)])
def test_a_target_that_does_not_run_is_a_failure(log: str, status: int) -> None:
    assert outcome_of(log, status).failure.startswith("exit status 1: ")


def test_an_unknown_target_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["fuzz", "kernels"])
    with pytest.raises(SystemExit) as e:
        main()
    assert e.value.code == 2
    assert "kernels: is not a target; there are decode, kernel, machine-code" in capsys.readouterr().err
