"""`gen4emu lint`: rules, severities, baselines, exit statuses, JSON; `decode --lint` does the same."""

from __future__ import annotations

import json
import lzma
import struct
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from gen4emu.decode.lint_rules import RULES

TRACES = Path(__file__).parents[2] / "traces"
TRIANGLE = str(TRACES / "triangle-g4x.aub.xz")
G45 = ["--raw", "--base", "0x1000", "--device", "g45"]


@pytest.fixture
def raw(tmp_path: Path) -> str:
    """A batch with one reserved bit set (an error) and a URB_FENCE that crosses a line (info)."""
    path = tmp_path / "batch.bin"
    fence = (0x60003F01, 0x05212040, 0x18000062)
    path.write_bytes(struct.pack("<18I", 0x02000000, 0x79060000, 0x00100000, *[0] * 11, *fence, 0x05000000))
    return str(path)


RESERVED = ("0x00001004: error: 3DSTATE_POLY_STIPPLE_OFFSET: dword 1 bits 31:13: reserved bits are 0x80, must be zero "
            "(reserved-bits, submission 0, draw 0)")


@pytest.mark.parametrize("verb", [["lint"], ["decode", "--lint"]])
def test_findings_are_listed_and_counted(verb: list[str], raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*verb, raw, *G45]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{raw}: {RESERVED}", "1 finding: 1 reserved-bits (error)", "not reported: 1 urb-fence-line (info)"]


def test_a_clean_batch_exits_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "clean.bin"
    path.write_bytes(struct.pack("<2I", 0x02000000, 0x05000000))
    assert run(["lint", str(path), *G45]) == 0
    assert capsys.readouterr().out == "no findings\n"


def test_the_committed_traces_are_clean() -> None:
    assert run(["lint", *map(str, sorted(TRACES.glob("*.aub.xz")))]) == 0


@pytest.mark.parametrize(("options", "rules"), [
    ([], {"reserved-bits"}),
    (["--severity", "info"], {"reserved-bits", "urb-fence-line"}),
    (["--select", "urb-fence-line"], {"urb-fence-line"}),
    (["--rule", "urb-fence-line"], {"urb-fence-line"}),
    (["--select", "-reserved-bits"], set()),
    (["--select", "-reserved-bits", "--severity", "info"], {"urb-fence-line"}),
])
def test_rules_are_selected(options: list[str], rules: set[str], raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", raw, *G45, "--json", *options]) == (1 if rules else 0)
    document = json.loads(capsys.readouterr().out)
    assert {finding["rule"] for finding in document["findings"]} == set(document["counts"]["reported"]) == rules


def test_json_has_places_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--json", "--severity", "info", TRIANGLE]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["file"], document["status"]) == ("gen4emu.lint/1", TRIANGLE, 1)
    assert document["errors"] == []
    last = document["findings"][-1]
    assert (last["rule"], last["severity"], last["where"], last["address"]) == (
        "unset-constants", "info", "CONSTANT_BUFFER", 0x00100260)
    assert last["place"] == {"frame": 0, "submission": 0, "draw": 1}
    assert sum(document["counts"]["reported"].values()) == len(document["findings"]) == 5


def test_decode_lint_json_is_the_same_document(capsys: pytest.CaptureFixture[str], raw: str) -> None:
    """It once printed the whole decoded trace."""
    assert run(["lint", "--json", raw, *G45]) == 1
    document = json.loads(capsys.readouterr().out)
    assert run(["decode", "--lint", "--json", raw, *G45]) == 1
    assert json.loads(capsys.readouterr().out) == document


def test_a_baseline_silences_known_findings(tmp_path: Path, raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = tmp_path / "lint.toml"
    assert run(["lint", raw, *G45, "--baseline", str(baseline), "--update-baseline"]) == 0
    assert capsys.readouterr().out == f"{baseline}: 1 known finding\n"
    assert run(["lint", raw, *G45, "--baseline", str(baseline)]) == 0
    assert "no findings\nknown: 1 reserved-bits (error)\n" in capsys.readouterr().out
    words = Path(raw).read_bytes()
    Path(raw).write_bytes(words[:-4] + words[4:12] + words[-4:])  # the same mistake again
    assert run(["lint", raw, *G45, "--baseline", str(baseline)]) == 1
    assert capsys.readouterr().out.splitlines()[1:3] == ["1 finding: 1 reserved-bits (error)",
                                                         "known: 1 reserved-bits (error)"]


def test_a_stale_baseline_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = tmp_path / "lint.toml"
    baseline.write_text('[[known]]\nfile = "triangle-g4x.aub.xz"\nrule = "payload"\nwhere = "3DPRIMITIVE"\ncount = 2\n')
    assert run(["lint", TRIANGLE, "--baseline", str(baseline)]) == 0
    assert capsys.readouterr().err == (f"gen4emu: {baseline}: triangle-g4x.aub.xz: payload in 3DPRIMITIVE: "
                                       "2 known, 0 found\n")


@pytest.mark.parametrize(("text", "message"), [
    ("[[trace]]\nfile = 'x'\n", "only [[known]] tables are allowed"),
    ("known = 1\n", "only [[known]] tables are allowed"),
    ("[[known]]\nfile = 'x'\n", "known 0: needs file, rule, where and count"),
    ("[[known]]\nfile = 'x'\nrule = 'payload'\nwhere = 'x'\ncount = 0\n", "known 0: count is not a number"),
    ("[[known]]\nfile = 'x'\nrule = 'paylod'\nwhere = 'x'\ncount = 1\n", "did you mean payload?"),
    ("\xff", "not a baseline of gen4emu lint"),
    ("known = " + "[" * 100000, "not a baseline of gen4emu lint"),
    ("known = 1" + "0" * 5000, "not a baseline of gen4emu lint"),
])
def test_a_broken_baseline_exits_with_2(text: str, message: str, tmp_path: Path,
                                        capsys: pytest.CaptureFixture[str]) -> None:
    baseline = tmp_path / "lint.toml"
    baseline.write_text(text, encoding="latin-1")
    assert run(["lint", TRIANGLE, "--baseline", str(baseline)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "message"), [
    ([], "name a TRACE, or --rules"),
    ([TRIANGLE, "--select", "paylod"], "unknown rule 'paylod': did you mean payload?"),
    (["--explain", "zzz"], "unknown rule 'zzz': gen4emu lint --rules lists them"),
    ([TRIANGLE, "--update-baseline"], "--update-baseline needs --baseline FILE"),
])
def test_wrong_usage_exits_with_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_damage_wins_over_findings_and_the_other_traces_are_checked(
        tmp_path: Path, raw: str, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.aub"
    cut.write_bytes(lzma.decompress(Path(TRIANGLE).read_bytes())[:10000])
    assert run(["lint", "--json", "/no/such/file", str(cut), raw, *G45[1:], "--raw"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == 2 and "/no/such/file" in document["errors"][0]
    assert document["file"] is None and document["files"] == ["/no/such/file", str(cut), raw]
    assert run(["lint", str(cut)]) == 2
    assert run(["lint", "--partial", str(cut)]) == 0
    assert "warning: " in capsys.readouterr().err
    baseline = tmp_path / "lint.toml"
    assert run(["lint", str(cut), "--baseline", str(baseline), "--update-baseline"]) == 2
    assert not baseline.exists()


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(RULES)
    assert any(line.split()[:4] == ["urb-overlap", "warning", "URB_FENCE", "gives"] for line in lines)
    assert run(["lint", "--rules", "--json"]) == 0
    assert {rule["rule"] for rule in json.loads(capsys.readouterr().out)["rules"]} == set(RULES)
    assert run(["lint", "--explain", "urb-fence-line"]) == 0
    assert "erratum" in capsys.readouterr().out
