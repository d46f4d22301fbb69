"""Captures of a real driver: against another renderer's pictures, against the golden ones, and against themselves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gen4emu._native import lib
from gen4emu.check.execute import Task, draw, run_case
from gen4emu.check.manifest import Case, read_manifest
from gen4emu.cli.main import run
from gen4emu.device.options import Options
from gen4emu.image.compare import load
from gen4emu.image.picture import without_opaque_alpha

TRACES = Path(__file__).parent.parent / "traces"
CASES = read_manifest(TRACES).cases
TOLERANCE = 4

# The share of pixels within 4/255 of the reference in every channel.  The reference is another renderer's picture.
SHARE = {"mandelbrot": 97.0}


def pictures(case: Case, **options: object) -> list[np.ndarray]:
    drawn = dict(draw(case, Task(options=Options(**options))))
    return [without_opaque_alpha(drawn[name]) for name in sorted(drawn)]


def ids(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_pictures_look_as_another_renderer_s(case: Case) -> None:
    scene = case.name.rpartition("-")[0]
    with Image.open(TRACES / f"{scene}.reference.png") as image:
        reference = np.asarray(image.convert("RGB")).astype(int)
    shares = []
    for picture in pictures(case):
        if picture.shape[:2] == reference.shape[:2]:
            error = np.abs(picture[:, :, :3].astype(int) - reference).max(axis=2)
            shares.append(100.0 * float((error <= TOLERANCE).mean()))
    assert max(shares) >= SHARE.get(scene, 99.0)


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_pictures_are_the_golden_ones_to_the_bit(case: Case) -> None:
    assert run_case(case, Task()).failures == []


@pytest.mark.parametrize("name", ["gears-g4x", "mandelbrot-brw", "blend-g4x", "texture-g4x", "cubemap-brw"])
@pytest.mark.parametrize("options", [{"workers": 1}, {"workers": 2}, {"workers": 4}, {"general_only": True}],
                         ids=["1 worker", "2 workers", "4 workers", "general handlers"])
def test_the_same_bits_whoever_works(name: str, options: dict[str, object]) -> None:
    case = next(c for c in CASES if c.name == name)
    golden = [without_opaque_alpha(load(p)) for p in sorted(case.golden.glob("*.png"))]
    drawn = pictures(case, **options)
    assert len(drawn) == len(golden)
    for a, b in zip(drawn, golden, strict=True):
        assert np.array_equal(a, b)


@pytest.fixture
def plain_vectors() -> Iterator[None]:
    before = lib.g4_variant_current()
    assert lib.g4_set_variant(lib.G4_VARIANT_PLAIN) == lib.G4_OK
    yield
    lib.g4_set_variant(before)


@pytest.mark.parametrize("name", ["gears-g4x", "mandelbrot-g4x", "texture-brw", "fbo-g4x"])
def test_the_same_bits_with_plain_vectors(name: str, plain_vectors: None) -> None:
    assert run_case(next(c for c in CASES if c.name == name), Task()).failures == []


def test_bilinear_filtering_is_exact() -> None:
    """`texture`: a 64x64 texture at u = 2.5 s - 0.4, mirrored in u and repeated in v, filtered linearly."""
    from gen4emu.device.memory import Memory
    from gen4emu.device.tiling import SurfaceLayout, Tiling
    from gen4emu.trace import events
    from gen4emu.trace.reader import open as open_trace

    memory = Memory()
    for event in open_trace(str(TRACES / "texture-g4x.aub.xz")):
        if isinstance(event, events.MemoryWrite):
            memory.write(event.address, event.data)
    data = SurfaceLayout(0x14F000, 512, 64, 64, 4, Tiling.X).read(memory)
    texels = np.frombuffer(data, np.uint8).reshape(64, 64, 4)[:, :, :3].astype(float)

    def mirrored(i: np.ndarray) -> np.ndarray:
        i = i % 128
        return np.where(i < 64, i, 127 - i)

    ys, xs = np.mgrid[0:256, 0:256]
    x = ((xs + 0.5) / 256 * 2.5 - 0.4) * 64 - 0.5
    y = ((255 - ys + 0.5) / 256 * 2.5 - 0.4) * 64 - 0.5
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = (x - x0)[..., None], (y - y0)[..., None]
    left, right, top, bottom = mirrored(x0), mirrored(x0 + 1), y0 % 64, (y0 + 1) % 64
    expected = ((texels[top, left] * (1 - fx) + texels[top, right] * fx) * (1 - fy)
                + (texels[bottom, left] * (1 - fx) + texels[bottom, right] * fx) * fy)
    picture = TRACES / "golden" / "texture-g4x" / "frame-00000-color-0010e000.png"
    drawn = np.asarray(load(picture))[:, :, :3].astype(float)
    assert np.abs(drawn - expected).max() < 1.0


def test_replay_writes_pictures_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "frames"
    assert run(["replay", str(TRACES / "triangle-g4x.aub.xz"), "-o", str(out), "--depth", "--strict"]) == 0
    listed = [Path(line) for line in capsys.readouterr().out.split()]
    assert listed and sorted(listed) == sorted(out.glob("*.png"))


def test_replay_of_every_draw(tmp_path: Path) -> None:
    out = tmp_path / "frames"
    assert run(["replay", str(TRACES / "gears-g4x.aub.xz"), "-o", str(out), "--draws"]) == 0
    assert len({p.name.split("-")[1] for p in out.glob("draw-*.png")}) >= 5


def test_replay_of_a_piece_of_memory(tmp_path: Path) -> None:
    out = tmp_path / "frames"
    where = "0x0014f000,R8G8B8A8_UNORM,64x64,x,512"
    assert run(["replay", str(TRACES / "texture-g4x.aub.xz"), "-o", str(out), "--surface", where]) == 0
    assert load(out / "frame-00000-surface-0014f000.png").shape[:2] == (64, 64)


def test_check_fails_and_leaves_the_evidence(tmp_path: Path) -> None:
    (tmp_path / "t.aub.xz").write_bytes((TRACES / "clear-g4x.aub.xz").read_bytes())
    (tmp_path / "manifest.toml").write_text('[[trace]]\nfile = "t.aub.xz"\n')
    results, report = tmp_path / "results", tmp_path / "report.xml"
    assert run(["check", str(tmp_path), "--update", "--results", str(results)]) == 0
    golden = sorted((tmp_path / "golden" / "t").glob("*.png"))
    with Image.open(golden[0]) as image:
        spoiled = image.convert("RGBA")
    spoiled.putpixel((0, 0), (1, 2, 3, 4))
    spoiled.save(golden[0])
    assert run(["check", str(tmp_path), "--results", str(results), "--junit", str(report)]) == 1
    names = {p.name.split(".")[1] for p in (results / "t").iterdir()}
    assert names == {"actual", "expected", "heatmap"}
    assert 'failures="1"' in report.read_text()
