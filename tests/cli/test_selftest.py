"""`gen4emu selftest`: known digests on this host."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import gen4emu
from gen4emu._native import lib
from gen4emu.cli.main import run
from gen4emu.image.compare import load
from gen4emu.image.digest import pictures_digest, pixels_digest
from gen4emu.selftest import cases, host

ROOT = Path(__file__).resolve().parents[2]
LAST = f"{host.VARIANTS[lib.g4_variant_best()]}, all processors"


@pytest.fixture
def two_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the digests with the first two traces, the first with the digest of the second."""
    (first, _), (second, digest) = list(json.loads(cases.DIGESTS.read_text(encoding="utf-8")).items())[:2]
    for name in (first, second):
        (tmp_path / "traces").mkdir(exist_ok=True)
        shutil.copy(ROOT / "traces" / name, tmp_path / "traces")
    (tmp_path / "digests.json").write_text(json.dumps({first: digest, second: digest}), encoding="utf-8")
    monkeypatch.setattr(cases, "HERE", tmp_path)
    monkeypatch.setattr(cases, "DIGESTS", tmp_path / "digests.json")
    return tmp_path / "traces" / first


def test_this_host_draws_what_is_expected(capsys: pytest.CaptureFixture[str]) -> None:
    before = lib.g4_variant_current()
    assert run(["selftest"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ok \(\d+ replays, ", out, re.MULTILINE)
    assert re.search(rf"^gen4emu +{re.escape(gen4emu.__version__)}$", out, re.MULTILINE)
    assert re.search(r"^processor +\S", out, re.MULTILINE) and LAST in out
    assert lib.g4_variant_current() == before


def test_a_digest_that_differs_is_named_for_each_way(two_traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["selftest", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == 1 and found["replays"] == 2 * len(found["ways"])
    assert [f["way"] for f in found["findings"]] == found["ways"] and LAST in found["ways"]
    assert {f["trace"] for f in found["findings"]} == {two_traces.name}
    assert all("expected a3e1e76edfd681ce4f71458a27d54644" in f["message"] for f in found["findings"])


def test_a_damaged_installation_fails(two_traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two_traces.unlink()
    assert run(["selftest"]) == 1
    out = capsys.readouterr().out
    assert f"{two_traces}: cannot be opened" in out and "FAILED: " in out


def test_the_digests_are_those_of_the_golden_pictures() -> None:
    compared = 0
    for trace, digest in cases.traces().items():
        golden = ROOT / "traces/golden" / trace.name.removesuffix(".aub.xz")
        if golden.is_dir():
            compared += 1
            assert pictures_digest({p.stem: pixels_digest(load(p)) for p in golden.glob("*.png")}) == digest, trace
    assert compared == 9
