"""The files that `pip install`, the wheel and the sdist contain and leave behind; each builds from a fresh clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TRACE = ROOT / "traces" / "triangle-g4x.aub.xz"
GOLDEN = ROOT / "traces" / "golden"

pytestmark = pytest.mark.long


def run(*command: object, cwd: Path, **environment: str) -> str:
    inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env={**inherited, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout[-5000:]
    return done.stdout


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git tracks, as they are now, in a repository of their own."""
    folder = tmp_path_factory.mktemp("clone")
    for name in run("git", "ls-files", "-z", cwd=ROOT).rstrip("\0").split("\0"):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    run("git", "init", "-q", cwd=folder)
    run("git", "add", "-A", cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ".", cwd=clone)
    (built,) = folder.glob("*.whl")
    return built


def replays(package: Path, folder: Path) -> None:
    """Install PACKAGE into an empty environment, outside of the checkout, and replay a committed trace."""
    venv.create(folder / "venv", with_pip=True)
    run(folder / "venv/bin/pip", "install", "-q", package, cwd=folder)
    shutil.copy(TRACE, folder)
    shutil.copytree(GOLDEN, folder / "golden")
    (folder / "manifest.toml").write_text(f'[[trace]]\nfile = "{TRACE.name}"\n', encoding="utf-8")
    assert str(folder / "venv") in run(folder / "venv/bin/python", "-c", "import gen4emu; print(gen4emu.__file__)",
                                       cwd=folder)
    run(folder / "venv/bin/gen4emu", "check", folder, cwd=folder)
    assert "\nok (" in run(folder / "venv/bin/gen4emu", "selftest", cwd=folder)


def test_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert wheel.name.startswith("gen4emu-") and "-cp311-abi3-" in wheel.name
    assert {"gen4emu/_native.abi3.so", "gen4emu/_native.pyi", "gen4emu/py.typed",
            "gen4emu/live/libgen4emu-shim.so", "gen4emu/live/libgen4emu-gl.so"} <= names
    others = {name for name in names if not name.startswith("gen4emu/") and ".dist-info/" not in name}
    assert all(".data/data/share/" in name for name in others), others
    sources = [name for name in names if name.endswith((".c", ".h", ".o", ".pyc"))]
    assert sources == ["gen4emu/repro/program.c"], "the body of the programs that export writes, and no source of ours"
    assert not [name for name in names if "harness" in name or "probe" in name], "for tests, built in place only"


def test_equal_sources_give_the_same_bytes_in_another_directory(wheel: Path, clone: Path, tmp_path: Path) -> None:
    other = tmp_path / "a directory with a longer name"
    shutil.copytree(clone, other)
    for path in other.rglob("*.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", tmp_path, ".", cwd=other, MAX_JOBS="1",
        TMPDIR=str(tmp_path), PYTHONHASHSEED="1")
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as expected, zipfile.ZipFile(built) as found:
        names = expected.namelist()
        assert found.namelist() == names
        assert [name for name in names if found.read(name) != expected.read(name)] == []
    assert built.read_bytes() == wheel.read_bytes()


def test_wheel_replays_a_trace_outside_of_the_checkout(wheel: Path, tmp_path: Path) -> None:
    replays(wheel, tmp_path)


def test_building_a_wheel_leaves_nothing_in_the_source_tree(wheel: Path, clone: Path) -> None:
    assert run("git", "status", "--porcelain", "--ignored", "--untracked-files=all", cwd=clone).count("?? ") == 0
    assert "!! " not in run("git", "status", "--porcelain", "--ignored", cwd=clone)


def test_wheel_is_built_from_an_sdist(clone: Path, tmp_path: Path) -> None:
    """The sdist has everything that the wheel needs."""
    code = "import setuptools.build_meta as backend, sys; print(backend.build_sdist(sys.argv[1]))"
    run(sys.executable, "-c", code, tmp_path, cwd=clone)
    shutil.rmtree(clone / "gen4emu.egg-info", ignore_errors=True)  # an sdist packs it
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert not [name for name in names if "/generated/" in name or name.endswith((".so", ".o"))]
    replays(sdist, tmp_path)


def test_missing_compiler_is_named_in_one_line(clone: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--build-lib", str(tmp_path)], cwd=clone,
                          env={**os.environ, "CC": "no-such-cc"}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "C compiler 'no-such-cc' not found" in done.stderr
    assert "Traceback" not in done.stderr


def test_invalid_number_of_jobs_is_refused(clone: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--build-lib", str(tmp_path)], cwd=clone,
                          env={**os.environ, "MAX_JOBS": "0"}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "MAX_JOBS must be a number above 0: '0'" in done.stderr
    assert "Traceback" not in done.stderr
