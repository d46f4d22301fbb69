"""The pytest plugin: our manifests become tests, files of other projects are left alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from gen4emu.cli.main import run

Make = Callable[..., Path]
CLEAR = "clear-g4x"


def pytest_of(directory: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", f"--rootdir={directory}", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("content", [
    b"# caf\xe9\n", b"\x00\xff" * 100, b"[[trace]]\nlevel = 3\n", b"[[trace\n", b"trace = [1]", b"",
    b"[[trace]]\n[other]\nfile = 3\n", b"#" * (2 << 20) + b'\n[[trace]]\nfile = "a"\n',
], ids=["latin-1", "binary", "other keys", "broken", "no tables", "empty", "a file elsewhere", "too large"])
def test_a_manifest_of_another_project_is_left_alone(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_bytes(content)
    (tmp_path / "test_other.py").write_text("def test_passes(): pass\n")
    status, out = pytest_of(tmp_path)
    assert status == 0 and "1 passed" in out and "manifest.toml" not in out


def test_an_unreadable_manifest_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").symlink_to("nowhere")
    (tmp_path / "test_other.py").write_text("def test_passes(): pass\n")
    assert pytest_of(tmp_path)[0] == 0


def test_the_plugin_imports_nothing_heavy() -> None:
    code = ("import sys, gen4emu.pytest_plugin; "
            "print([m for m in ('numpy', 'PIL', 'gen4emu.check', 'gen4emu._native') if m in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(("text", "words"), [
    ('[[trace]]\nfile = "a"\ncolour = 1\n', "unknown key colour"),
    ('[[trace]]\nfile = "a"\noops\n', "not a manifest: "),
    ('[[trace]]\nfile = "gone.aub"\n', "gone.aub: cannot be opened: No such file or directory"),
])
def test_a_broken_manifest_of_ours_is_a_failing_test(text: str, words: str, tmp_path: Path) -> None:
    """And not an error of collection, which would keep all other tests from running."""
    (tmp_path / "manifest.toml").write_text(text)
    (tmp_path / "test_other.py").write_text("def test_passes(): pass\n")
    status, out = pytest_of(tmp_path)
    assert status == 1 and words in out and "1 failed, 1 passed" in out


def test_a_failure_leaves_pictures_and_says_where(make: Make, tmp_path: Path) -> None:
    make(CLEAR)
    assert run(["check", ".", "--update"]) == 0
    golden = sorted((tmp_path / "golden" / CLEAR).glob("*.png"))[0]
    with Image.open(golden) as image:
        image.convert("RGB").rotate(180).point(lambda value: 255 - value).save(golden)
    for options, directory in (([], "check-results"), (["--gen4emu-results=evidence"], "evidence")):
        status, out = pytest_of(tmp_path, *options)
        assert status == 1 and f"{golden.stem}: 65536 of 65536 pixels differ" in out
        for kind, name in (("actual", "actual"), ("expected", "expected"), ("heat map", "heatmap")):
            path = tmp_path / directory / CLEAR / f"{golden.stem}.{name}.png"
            assert path.is_file() and f"{kind}: {path}" in out


def test_lists_are_honoured_and_passes_leave_nothing(make: Make, tmp_path: Path) -> None:
    make(CLEAR, "triangle-g4x", "blend-g4x")
    assert run(["check", ".", "--update", "-k", "triangle"]) == 0
    (tmp_path / "expect.toml").write_text('[[fail]]\nnames = ["clear-*"]\nreason = "bug 1"\n'
                                          '[[skip]]\nnames = ["blend-*"]\nreason = "bug 2"\n')
    status, out = pytest_of(tmp_path, f"--gen4emu-results={tmp_path / 'r'}")
    assert status == 0 and "1 passed, 1 skipped, 1 xfailed" in out and "bug 1" in out and "bug 2" in out
    assert [p.name for p in (tmp_path / "r").iterdir()] == [CLEAR]
