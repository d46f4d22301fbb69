"""Weston and Xorg on the live device's display, each with a GL program in it (docs/live.md).

They need root and a virtual terminal, so they do not run in CI.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.live import real_client

SOME_PIXELS = 2000
NO_INPUT = 'Section "ServerFlags"\n Option "AutoAddDevices" "false"\n Option "AllowEmptyInput" "true"\nEndSection\n'
XORG = "/usr/lib/xorg/Xorg"


def missing(*programs: str) -> str:
    absent = [name for name in programs if shutil.which(name) is None]
    try:
        os.close(os.open("/dev/tty1", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        absent.append("a virtual terminal")
    return real_client.missing() or ", ".join(absent)


def desktop(*programs: str) -> object:
    reason = missing(*programs)
    return lambda test: pytest.mark.long(pytest.mark.client(pytest.mark.skipif(bool(reason), reason=reason)(test)))


def show(script: str, directory: Path, **environment: str) -> list[np.ndarray]:
    """The frames shown while a script runs."""
    frames = directory / "frames"
    done = subprocess.run([sys.executable, "-m", "gen4emu.cli.main", "run", "--strict", "--frames", str(frames), "--",
                           "sh", "-c", script], check=False, capture_output=True, text=True, cwd=directory,
                          timeout=real_client.TIMEOUT, env=real_client.environment(
                              XDG_RUNTIME_DIR=str(directory), PYTHONPATH=os.pathsep.join(sys.path), **environment))
    assert done.returncode == 0, done.stderr
    assert "unknown ioctl" not in done.stderr
    return [np.asarray(Image.open(path).convert("RGB")).astype(int) for path in sorted(frames.rglob("*shown*"))]


def moves(frames: list[np.ndarray]) -> bool:
    """True if many pixels change between two frames."""
    return max((int(np.count_nonzero((a != b).any(axis=2))) for a, b in pairwise(frames)),
               default=0) > SOME_PIXELS


@desktop("weston", "weston-simple-egl")
@pytest.mark.parametrize("atomic", ["0", "1"])
def test_weston_shows_a_program(atomic: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    frames = show("weston --backend=drm-backend.so --tty=1 --continue-without-input --idle-time=0 & W=$!; sleep 2; "
                  "WAYLAND_DISPLAY=wayland-1 timeout 4 weston-simple-egl; kill $W; wait $W; exit 0", tmp_path,
                  GEN4EMU_ATOMIC=atomic)
    assert {frame.shape for frame in frames} == {(768, 1024, 3)}
    assert moves(frames)


@desktop(XORG, "glxgears")
def test_xorg_shows_a_program(tmp_path: Path) -> None:
    (tmp_path / "xorg.conf").write_text(NO_INPUT)
    frames = show(f"{XORG} :87 -config $PWD/xorg.conf -logfile $PWD/log -sharevts -novtswitch -noreset & X=$!; "
                  "sleep 2; DISPLAY=:87 timeout 4 glxgears; kill $X; wait $X; exit 0", tmp_path)
    assert {frame.shape for frame in frames} == {(768, 1024, 3)}
    assert moves(frames)
