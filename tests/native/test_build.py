"""Errors of native/build.py are messages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"


def build(statement: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """native/build.py after a statement, with the generated files in a folder."""
    code = f"import pathlib, sys, build; build.GENERATED = pathlib.Path({str(folder)!r}); {statement}; build.main()"
    return subprocess.run([sys.executable, "-c", code, *arguments], cwd=NATIVE, check=False, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(folder), **environment})


@pytest.mark.parametrize(("raises", "message"), [
    ("ValueError('tbl and kbl are one part with different limits')", "tbl and kbl are one part with different limits"),
    ("KeyError('gen8 has no MI_MADE_UP')", "gen8 has no MI_MADE_UP"),
])
def test_an_error_of_a_description_is_one_line(raises: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "described.py").write_text(f"def generate():\n    raise {raises}\n")
    done = build("build.DERIVED = {'chips.h': 'described'}", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    place = os.path.relpath(tmp_path / "described.py", NATIVE.parent)
    assert done.stderr == f"native/build.py: chips.h: {message} ({place}:2)\n"
    assert not (tmp_path / "chips.h").exists()


def test_an_error_of_another_kind_keeps_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "described.py").write_text("def generate():\n    return 1 + ''\n")
    done = build("build.DERIVED = {'chips.h': 'described'}", tmp_path)
    assert "Traceback" in done.stderr and "TypeError" in done.stderr


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    done = build("pass", tmp_path, "--core", CC="no-such-compiler")
    assert done.returncode == 1
    assert done.stderr.startswith("native/build.py: error: C compiler 'no-such-compiler' not found")


def test_the_end_of_setup_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "gen4emu").mkdir()
    done = build("build.DERIVED = {}; build.ROOT = build.GENERATED", tmp_path, "--output", str(tmp_path / "out"))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "native/build.py: setup.py ended with status 2; its messages are above"
    assert "Traceback" not in done.stderr
