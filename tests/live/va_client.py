"""The VA-API program in tests/live/video, on the unmodified driver, with a window that needs no X server."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from numpy.typing import NDArray

from gen4emu.live import program
from tests.live import real_client
from tests.media.mpeg2_random import Stream
from tests.media.mpeg2_stream import B_PICTURE, I_PICTURE, P_PICTURE, ZIGZAG

SOURCES = Path(__file__).parent / "video"
DRIVERS = ("/usr/lib/x86_64-linux-gnu/dri", "/usr/lib64/dri", "/usr/lib/dri")
I420, YV12 = 0x30323449, 0x32315659
INVALID_IMAGE_FORMAT = 0x16
FLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]


@cache
def missing() -> str:
    """Why the program cannot run here; empty if it can."""
    if not program.SHIM.exists():
        return "the shim is not built"
    if shutil.which("gcc") is None or shutil.which("pkg-config") is None:
        return "there is no gcc, or no pkg-config"
    if subprocess.run(["pkg-config", "--exists", "libva", "libva-drm", "libdrm"], check=False).returncode:
        return "libva, or its headers, are not installed"
    if not any(Path(p, "i965_drv_video.so").exists() for p in DRIVERS):
        return "the i965 VA driver is not installed"
    return ""


def needs_va(test: object) -> object:
    """Marks a test that runs the program."""
    return pytest.mark.client(pytest.mark.skipif(bool(missing()), reason=missing())(test))


@cache
def client() -> str:
    directory = Path(mkdtemp(prefix="gen4emu-test-"))
    include = subprocess.run(["pkg-config", "--cflags", "libdrm"], check=True, capture_output=True,
                             text=True).stdout.split()
    window = directory / "libva-x11.so.2"
    subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", f"-Wl,-soname,{window.name}", str(SOURCES / "window.c"), "-o",
                    str(window), *include], check=True)
    subprocess.run(["gcc", *FLAGS, str(SOURCES / "client.c"), "-o", str(directory / "client"), *include, "-lva",
                    "-lva-drm", str(window), f"-Wl,-rpath,{directory}"], check=True)
    return str(directory / "client")


def start(lines: Sequence[str], *arguments: str, device: str = "gm45") -> subprocess.CompletedProcess[str]:
    """Start the program with gen4emu; `arguments` are `run` or `capture` and their options."""
    return subprocess.run([sys.executable, "-m", "gen4emu.cli.main", *(arguments or ("run",)), "--device", device, "--",
                           client(), "/dev/dri/card0"], input="\n".join(lines) + "\n", capture_output=True, text=True,
                          check=False, timeout=real_client.TIMEOUT,
                          env=real_client.environment(LIBVA_DRIVER_NAME="i965", LIBVA_MESSAGING_LEVEL="0"))


def run(lines: Sequence[str], *arguments: str) -> list[list[str]]:
    """The program's answer to each line, as words."""
    done = start(lines, *arguments)
    assert done.returncode == 0, done.stderr
    assert "gen4emu: 0x" not in done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@dataclass(frozen=True)
class Image:
    """An image, as the program describes it."""

    fourcc: int
    width: int
    height: int
    size: int
    planes: tuple[tuple[int, int], ...]  # offset, pitch

    @classmethod
    def of(cls, words: list[str]) -> Image:
        """`derive 0 FOURCC WIDTH HEIGHT SIZE OFFSET PITCH ...`"""
        assert words[1] == "0", words
        numbers = [int(word) for word in words[3:]]
        return cls(int(words[2], 16), *numbers[:3], tuple(zip(numbers[3::2], numbers[4::2], strict=True)))

    def read(self, path: Path, width: int, height: int) -> list[NDArray[np.uint8]]:
        data = np.fromfile(path, np.uint8)
        found = []
        for plane, (offset, pitch) in enumerate(self.planes):
            w, h = (width, height) if plane == 0 else (width // 2, height // 2)
            rows = np.lib.stride_tricks.as_strided(data[offset:], (h, w), (pitch, 1))
            found.append(rows.copy())
        return found


def pictures(stream: Stream, size: tuple[int, int]) -> list[str]:
    """Lines that decode a stream; frame N goes to surface N."""
    lines: list[str] = []
    anchors: list[int] = []
    for coded, shown in zip(stream.pictures, stream.shown, strict=True):
        p = coded.picture
        past = [n for n in anchors if n != shown][-2:]
        forward, backward = {I_PICTURE: (-1, -1), P_PICTURE: (past[-1] if past else shown, -1),
                             B_PICTURE: (past[0], past[-1]) if past else (-1, -1)}[p.coding_type]
        codes = "".join(f"{code:x}" for codes in p.f_code for code in codes)
        flags = (p.top_field_first, p.frame_pred_frame_dct, p.concealment, p.nonlinear, p.intra_vlc, p.alternate)
        lines.append(f"picture {size[0]} {size[1]} {shown} {forward} {backward} {p.coding_type:d} {p.structure:d} "
                     f"{codes} {p.intra_dc_precision} {' '.join(str(int(f)) for f in flags)} {len(coded.slices)}")
        lines += ["matrix " + "".join(f"{int(m.reshape(-1)[at]):02x}" for at in ZIGZAG) for m in p.matrices]
        lines += [f"slice {column} {row} {quantizer} {data.hex()}" for column, row, quantizer, data in coded.slices]
        if p.coding_type != B_PICTURE and shown not in anchors:
            anchors.append(shown)
    return lines
