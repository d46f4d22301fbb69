"""Pictures of `clients/fixed.c`, which draws with random state of OpenGL's fixed functions, and how they differ."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.live.real_client import client, environment, on_server

WIDTH, HEIGHT, NUMBERS = 72, 56, 16
PICTURE = np.dtype([("color", np.uint8, (HEIGHT, WIDTH, 4)), ("stencil", np.uint8, (HEIGHT, WIDTH)),
                    ("depth", np.float32, (HEIGHT, WIDTH)), ("numbers", np.uint32, (NUMBERS,))])
COLOR_STEP, IS_OTHER = NUMBERS - 2, NUMBERS - 1  # numbers with the step between colors; 1 if a format is missing
TOLERANCES = {"color": 5, "stencil": 0, "depth": 1e-3}
PIXELS = WIDTH * HEIGHT // 100  # that may differ: where objects of random vertices meet, and chains of operations there
SAMPLES, SHARE = 8, 0.03  # by which the number of samples that pass may differ


class Difference(NamedTuple):
    """How many pixels and numbers differ."""

    color: int
    stencil: int
    depth: int
    numbers: int

    def __bool__(self) -> bool:
        return max(self.color, self.stencil, self.depth) > PIXELS or self.numbers > 0


def _outside(found: npt.NDArray[np.float64], other: npt.NDArray[np.float64], tolerance: float) -> npt.NDArray[np.bool_]:
    """The pixels that are not between the values around the same pixel of the other picture."""
    padded = np.pad(other, ((1, 1), (1, 1), (0, 0)), mode="edge")
    around = [padded[y:y + HEIGHT, x:x + WIDTH] for y in range(3) for x in range(3)]
    inside: npt.NDArray[np.bool_] = (found >= np.min(around, 0) - tolerance) & (found <= np.max(around, 0) + tolerance)
    return ~inside.all(-1)


def difference(found: np.void, other: np.void) -> Difference:
    """Compares pictures.  Edges may be a pixel apart, but each pixel must have its like in the other picture."""
    counts = []
    for part, tolerance in TOLERANCES.items():
        a, b = (picture[part].astype(np.float64).reshape(HEIGHT, WIDTH, -1) for picture in (found, other))
        if part == "color":
            tolerance += int(found["numbers"][COLOR_STEP])
        counts.append(int((_outside(a, b, tolerance) | _outside(b, a, tolerance)).sum()))
    a, b = (picture["numbers"][:COLOR_STEP].astype(np.int64) for picture in (found, other))
    return Difference(*counts, int((np.abs(a - b) > SAMPLES + SHARE * np.maximum(a, b)).sum()))


@cache
def features() -> tuple[str, ...]:
    done = subprocess.run([client("fixed"), "features"], check=True, capture_output=True, text=True)
    return tuple(done.stdout.splitlines())


def mask(*without: str) -> int:
    """All features without some."""
    return sum(1 << bit for bit, name in enumerate(features()) if name not in without)


class Painter:
    """A program that draws seeds on a renderer: a software renderer by name, or the device of a server's directory."""

    def __init__(self, renderer: str | Path) -> None:
        variables = (environment(LIBGL_ALWAYS_SOFTWARE="1", GALLIUM_DRIVER=renderer) if isinstance(renderer, str)
                     else on_server(renderer))
        pipe = Path(mkdtemp(prefix="gen4emu-test-")) / "pictures"
        os.mkfifo(pipe)
        self._program = subprocess.Popen([client("fixed"), "-", "-", str(pipe)], stdin=subprocess.PIPE, text=True,
                                         env=variables | {"EGL_PLATFORM": "surfaceless"})
        self._pictures: BinaryIO = pipe.open("rb")

    def __enter__(self) -> Painter:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._program.stdin
        self._program.stdin.close()
        self._pictures.close()
        self._program.wait(timeout=60)

    def picture(self, seed: int, features: int) -> np.void:
        assert self._program.stdin
        self._program.stdin.write(f"{seed} {features:x}\n")
        self._program.stdin.flush()
        data = self._pictures.read(PICTURE.itemsize)
        if len(data) < PICTURE.itemsize:
            raise RuntimeError(f"seed {seed}: the program ended")
        found: np.void = np.frombuffer(data, PICTURE)[0]
        return found


def differs_from_all(seed: int, features: int, painter: Painter, others: list[Painter]) -> Difference | None:
    """The difference from the first of the other renderers if the picture differs from those of all.

    Renderers differ from each other in what GL leaves open, as lines of many samples, and have errors of their own.
    """
    picture = painter.picture(seed, features)
    first = None
    for other in others:
        theirs = other.picture(seed, features)
        if theirs["numbers"][IS_OTHER] != picture["numbers"][IS_OTHER]:
            continue
        found = difference(picture, theirs)
        if not found:
            return None
        first = first or found
    return first


def needed(seed: int, all_features: int, painter: Painter, others: list[Painter]) -> int:
    """A small set of features with which a picture still differs from those of all others."""
    bits = [bit for bit in range(len(features())) if all_features >> bit & 1]
    size = len(bits) // 2
    while size:
        at = 0
        while at < len(bits):
            rest = bits[:at] + bits[at + size:]
            if differs_from_all(seed, sum(1 << bit for bit in rest), painter, others):
                bits = rest
            else:
                at += size
        size //= 2
    return sum(1 << bit for bit in bits)
