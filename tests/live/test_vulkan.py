"""Vulkan on Mesa's unmodified drivers, from Ivy Bridge on: a program of its own, and OpenGL on top of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from tests.live import real_client
from tests.live.real_client import CLIENTS, TIMEOUT, client, environment

PARTS = ("kernels", "transfers", "masks", "resolves")
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]
DEVICES = ("kbl", "skl", "hsw", "ivb", "byt")
_INCOMPLETE = re.compile(r"MESA-INTEL: warning: .* Vulkan support is incomplete\n")  # on all chips before Gen9


@cache
def missing() -> str:
    if real_client.missing():
        return real_client.missing()
    if not Path("/usr/share/vulkan/icd.d").is_dir():
        return "Mesa's Vulkan drivers are not installed"
    if shutil.which("glslangValidator") is None:
        return "glslangValidator is not installed"
    probe = "#include <vulkan/vulkan.h>\nint main(void) { return vkCreateInstance == 0; }\n"
    done = subprocess.run(["gcc", "-xc", "-", "-o", os.devnull, "-lvulkan"], input=probe.encode(), capture_output=True,
                          check=False)
    return "the Vulkan loader, or its headers, are not installed" if done.returncode else ""


@cache
def program() -> str:
    """The program with its shaders, which become headers."""
    directory = Path(mkdtemp(prefix="gen4emu-test-"))
    for shader in sorted((CLIENTS / "vulkan").iterdir()):
        subprocess.run(["glslangValidator", "-V", "--quiet", "--vn", shader.stem, "-o", directory / f"{shader.stem}.h",
                        shader], check=True)
    output = str(directory / "vulkan")
    subprocess.run(["gcc", *FLAGS, f"-I{directory}", str(CLIENTS / "vulkan.c"), "-o", output, "-lvulkan"], check=True)
    return output


def run(device: str, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    options = ["-q", "--strict", "--require-gpu", "--device", device]
    return subprocess.run([sys.executable, "-m", "gen4emu", "run", *options, "--", *command], check=False,
                          env=environment(**variables), timeout=TIMEOUT, capture_output=True, text=True)


pytestmark = [pytest.mark.client, pytest.mark.skipif(bool(missing()), reason=missing())]


@pytest.mark.parametrize("device", DEVICES)
def test_results_of_kernels_transfers_and_draws_are_exact(device: str) -> None:
    """Among them draws whose sample mask leaves nothing of the only sample, which OpenGL cannot ask for."""
    done = run(device, program())
    assert (done.returncode, _INCOMPLETE.sub("", done.stderr)) == (0, "")
    assert done.stdout.splitlines() == [f"{part}: right" for part in PARTS]


@pytest.mark.parametrize(("device", "samples"), [("kbl", "2"), ("kbl", "8"), ("skl", "8"), ("hsw", "8")])
def test_samples_of_opengl_on_vulkan_are_what_gl_says(device: str, samples: str) -> None:
    """zink is Mesa's OpenGL driver that draws with Vulkan."""
    done = run(device, client("samples"), samples, EGL_PLATFORM="surfaceless", MESA_LOADER_DRIVER_OVERRIDE="zink")
    assert (done.stdout, done.returncode) == ("", 0), done.stderr
