"""Real client programs: those in tests/live/programs, compiled on demand, with the installed Mesa.

Tests that use them are marked `client`: skipped if packages are missing, but never in CI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import numpy.typing as npt
import pytest

from gen4emu.live import program

SOURCES = Path(__file__).parent / "programs"
CLIENTS = Path(__file__).parent / "clients"
TIMEOUT = 120


@cache
def missing() -> str:
    """Why real clients cannot run here; empty if they can."""
    if not program.SHIM.exists():
        return "the shim is not built"
    if shutil.which("gcc") is None:
        return "there is no gcc"
    probe = "#include <EGL/egl.h>\n#include <GL/gl.h>\n#include <GLES2/gl2.h>\nint main(void) { return 0; }\n"
    done = subprocess.run(["gcc", "-xc", "-", "-o", "/dev/null", "-lEGL", "-lGL", "-lGLESv2"], input=probe.encode(),
                          capture_output=True, check=False)
    if done.returncode:
        return "the libraries of EGL, GL and GLES, or their headers, are not installed"
    if not any(Path(p, "crocus_dri.so").exists() for p in
               ("/usr/lib/x86_64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri", "/usr/lib/aarch64-linux-gnu/dri")):
        return "Mesa's crocus driver is not installed"
    return ""


def needs_client(test: object) -> object:
    """Marks a test that runs real programs."""
    return pytest.mark.client(pytest.mark.skipif(bool(missing()), reason=missing())(test))


def _compiled(name: str, *arguments: str, library: str = "-lGL") -> str:
    output = str(Path(mkdtemp(prefix="gen4emu-test-")) / name)
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", *arguments, "-o", output, "-lEGL",
                    library, "-lm"], check=True)
    return output


@cache
def scenes(api: str) -> str:
    """The program that draws scenes, for "gl" or "es"."""
    sources = map(str, sorted(SOURCES.glob("*.c")))
    if api == "es":
        return _compiled("scenes-es", "-DES2", *sources, library="-lGLESv2")
    return _compiled("scenes-gl", *sources)


@cache
def client(name: str) -> str:
    """A program for one test, from tests/live/clients."""
    return _compiled(name, str(CLIENTS / f"{name}.c"))


def environment(**more: str) -> dict[str, str]:
    """The environment, without variables that make Mesa cache shaders or choose another driver."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("LIBGL_", "GALLIUM_", "MESA_", "EGL_", "GEN4EMU_")) and name != "LD_PRELOAD"}
    return kept | {"MESA_SHADER_CACHE_DISABLE": "1"} | more


def on_server(directory: Path) -> dict[str, str]:
    """The environment of a program on the device that a server serves in `directory`."""
    base = environment()
    return base | program.additions(directory, base)


def frames(path: Path, size: int) -> npt.NDArray[np.uint8]:
    """The output of a scene: frame, row from the bottom, column, channel."""
    return np.fromfile(path, np.uint8).reshape(-1, size, size, 4)


def reference(api: str, scene: str, size: int, count: int, path: Path) -> npt.NDArray[np.uint8]:
    """A scene drawn by Mesa's software renderer."""
    subprocess.run([scenes(api), scene, str(path), str(size), str(count)], check=True, capture_output=True,
                   env=environment(LIBGL_ALWAYS_SOFTWARE="1", GALLIUM_DRIVER="llvmpipe"), timeout=TIMEOUT)
    return frames(path, size)
