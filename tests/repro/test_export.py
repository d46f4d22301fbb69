"""`gen4emu export` and `gen4emu build`: a draw as text, and text as a trace."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gen4emu
from gen4emu.api.trace import Draw
from gen4emu.bisect.digests import digest_of
from gen4emu.cli.main import run
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.gen import Gen
from gen4emu.repro.script import command_lines, parse

TRACES = Path(__file__).parents[2] / "traces"


def digests(trace: Path, draw: int) -> list[str]:
    with gen4emu.open(trace) as opened:
        found = opened.at(draw=draw)
        assert isinstance(found, Draw)
        return [target.digest for target in digest_of(found).targets]


@pytest.mark.parametrize(("name", "draw"), [
    ("gears-g4x", 4), ("texture-g4x", 0), ("fbo-g4x", 3), ("triangle-brw", 0), ("later/triangle-ivb", 1),
    ("later/triangle-ivb", 4),
    ("later/triangle-hsw", 3), ("later/triangle-kbl", 2), ("later/triangle-kbl", 4)])
def test_an_exported_draw_is_built_and_writes_the_same_pixels(name: str, draw: int, tmp_path: Path,
                                                              capsys: pytest.CaptureFixture[str]) -> None:
    trace, repro = TRACES / f"{name}.aub.xz", tmp_path / "repro"
    assert run(["export", str(trace), "--draw", str(draw), "-o", str(repro)]) == 0
    built = tmp_path / "built.aub"
    assert run(["build", str(repro / "batch.txt"), "-o", str(built)]) == 0
    assert digests(built, 0) == digests(trace, draw)
    assert run(["build", str(repro / "batch.txt"), "-o", f"{built}.xz"]) == 0
    assert Path(f"{built}.xz").read_bytes() == (repro / "draw.aub.xz").read_bytes()
    assert run(["bisect", str(built), "--against", str(repro / "expected.digests")]) == 0
    assert {"README", "batch.txt", "draw.aub.xz", "expected.digests", "memory"} <= {p.name for p in repro.iterdir()}
    capsys.readouterr()
    assert run(["replay", "--no-pictures", "--strict", "--json", str(built)]) == 0  # nothing is read that is missing
    assert json.loads(capsys.readouterr().out)["faults"] == []


def test_only_the_memory_that_the_draw_needs_is_written(tmp_path: Path) -> None:
    repro = tmp_path / "repro"
    assert run(["export", str(TRACES / "triangle-brw.aub.xz"), "--draw", "0", "-o", str(repro)]) == 0
    assert sum(file.stat().st_size for file in (repro / "memory").iterdir()) == 2 * 4096


def test_text_is_the_inverse_of_the_script(tmp_path: Path) -> None:
    repro, again = tmp_path / "repro", tmp_path / "again"
    assert run(["export", str(TRACES / "texture-g4x.aub.xz"), "--draw", "0", "-o", str(repro)]) == 0
    parse(repro / "batch.txt").save(again)
    lines = (repro / "batch.txt").read_text().splitlines()
    assert (again / "batch.txt").read_text().splitlines() == [line for line in lines if not line.startswith("kernel ")]


def test_an_edited_field_changes_the_picture(tmp_path: Path) -> None:
    repro, built = tmp_path / "repro", tmp_path / "edited.aub"
    assert run(["export", str(TRACES / "texture-g4x.aub.xz"), "--draw", "0", "-o", str(repro)]) == 0
    batch = repro / "batch.txt"
    text = batch.read_text()
    assert text.count("clipped_drawing_rectangle_x_max = 255") == 1
    batch.write_text(text.replace("clipped_drawing_rectangle_x_max = 255", "clipped_drawing_rectangle_x_max = 99"))
    assert run(["build", str(batch), "-o", str(built)]) == 0
    assert run(["bisect", str(built), "--against", str(repro / "expected.digests")]) == 1


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The textured quad, which no test changes."""
    repro = tmp_path_factory.mktemp("export") / "repro"
    assert run(["export", str(TRACES / "texture-g4x.aub.xz"), "--draw", "0", "-o", str(repro)]) == 0
    return repro


def edited(exported: Path, tmp_path: Path, old: str, new: str) -> Path:
    """A copy with another pixel shader."""
    repro = tmp_path / "repro"
    shutil.copytree(exported, repro)
    (kernel,) = (repro / "kernels").glob("ps-*.g4a")
    text = kernel.read_text()
    assert old in text
    kernel.write_text(text.replace(old, new, 1))
    return repro


def test_an_edited_kernel_is_assembled_into_the_trace(exported: Path, tmp_path: Path) -> None:
    repro = edited(exported, tmp_path, "0x10101010V", "0x00000000V")
    built = tmp_path / "edited.aub"
    assert run(["build", str(repro / "batch.txt"), "-o", str(built)]) == 0
    assert run(["bisect", str(built), "--against", str(repro / "expected.digests")]) == 1


def test_a_kernel_must_fit_its_room_and_be_correct(exported: Path, tmp_path: Path,
                                                   capsys: pytest.CaptureFixture[str]) -> None:
    repro = edited(exported, tmp_path, "\n", "\nnop;\n")
    assert run(["build", str(repro / "batch.txt"), "-o", str(tmp_path / "x.aub")]) == 2
    assert "has 352 bytes of code; 336 fit at 0x001580c0" in capsys.readouterr().err
    batch = repro / "batch.txt"
    batch.write_text(batch.read_text().replace(" 0x150 = ", " 0x160 = "))
    assert run(["build", str(batch), "-o", str(tmp_path / "x.aub")]) == 0
    (kernel,) = (repro / "kernels").glob("ps-*.g4a")
    kernel.write_text("add(16) g1;\n")
    assert run(["build", str(batch), "-o", str(tmp_path / "y.aub")]) == 2
    assert f"{kernel}:1:" in capsys.readouterr().err
    assert not (tmp_path / "y.aub").exists()


def test_what_the_draw_reads_is_there_for_people(exported: Path) -> None:
    assert (exported / "vertices-0.csv").read_text().splitlines() == [
        "vertex,0.x,0.y,1.x,1.y", "0,-1.0,-1.0,0.0,0.0", "1,1.0,-1.0,1.0,0.0", "2,-1.0,1.0,0.0,1.0",
        "3,1.0,1.0,1.0,1.0"]
    assert (exported / "constants.txt").read_text().startswith("# CONSTANTS  at 0x0029f000, 64 bytes")
    with gen4emu.open(TRACES / "texture-g4x.aub.xz") as trace:
        draw = trace.at(draw=0)
        picture = draw.target().numpy()
        texture = draw.surface(0x14F000, "R8G8B8A8_UNORM", 64, 64, 512, "x")
        np.testing.assert_array_equal(np.asarray(Image.open(exported / "texture-0.png").convert("RGBA")),
                                      texture.numpy())
    np.testing.assert_array_equal(np.asarray(Image.open(exported / "expected-0.png").convert("RGBA")), picture)
    assert np.load(exported / "expected-0.npy").shape[:2] == picture.shape[:2]
    readme = (exported / "README").read_text()
    for name in ("kernels/*", "vertices-*.csv", "constants.txt", "texture-*.png"):
        assert name in readme
    assert "indices.csv" not in readme


def test_a_command_with_reserved_bits_is_written_as_dwords() -> None:
    words = command_named("MI_FLUSH", Gen.CTG).pack(Gen.CTG)
    words[0] |= 1 << 20
    text = "".join(command_lines(tuple(words), Gen.CTG))
    assert text == f"# MI_FLUSH, which names alone do not describe\ndwords 0x{words[0]:08x}\n"


# --- bad input --------------------------------------------------------------------------------------------------------
HEAD = "# gen4emu batch 1\ndevice = g45\nbatch = 0x00200000\n"


@pytest.mark.parametrize(("text", "error"), [
    ("", ":1: does not begin with '# gen4emu batch 1'"),
    ("# gen4emu batch 1\n", ": names no device"),
    ("# gen4emu batch 1\ndevice = g45\n", ": has no address of the batch"),
    ("# gen4emu batch 1\ndevice = g4\n", ":2: device: unknown device 'g4'"),
    ("# gen4emu batch 1\nMI_FLUSH\n", ":2: MI_FLUSH: the device must be named before the first command"),
    (HEAD + "batch = 0x2001z\n", ":4: batch: '0x2001z' is not a number"),
    (HEAD + "batch = 0x00200004\n", ": 0x200004 is not an address of 8 bytes that is a multiple of 8"),
    (HEAD + "engine = warp\n", ":4: engine: unknown engine 'warp'"),
    (HEAD + "MI_FLUSHED\n", ":4: unknown command 'MI_FLUSHED'"),
    (HEAD + "3DSTATE_DRAWING_RECTANGLE\n  width = 4\n", ":5: 3DSTATE_DRAWING_RECTANGLE: no field is called width"),
    (HEAD + "3DSTATE_DRAWING_RECTANGLE\n  clipped_drawing_rectangle_x_max = 65536\n",
     ":5: 3DSTATE_DRAWING_RECTANGLE: clipped_drawing_rectangle_x_max: 65536 does not fit bits 12:0 of dword 2"),
    (HEAD + "3DSTATE_DRAWING_RECTANGLE\n  clipped_drawing_rectangle_x_max = wide\n",
     ":5: clipped_drawing_rectangle_x_max: 'wide' is not a number"),
    (HEAD + "PIPELINE_SELECT\n  pipeline_selection = 4D\n", ":5: pipeline_selection: '4D' is not a number"),
    (HEAD + "3DSTATE_VERTEX_BUFFERS\n  vertex_buffers[1].buffer_pitch = 4\n",
     ":5: 3DSTATE_VERTEX_BUFFERS: vertex_buffers[1] does not follow 0 items"),
    (HEAD + f"3DSTATE_VERTEX_BUFFERS\n  vertex_buffers[{'1' * 5000}].buffer_pitch = 4\n",
     ":5: 3DSTATE_VERTEX_BUFFERS: 'vertex_buffers[111"),
    (HEAD + "  x = 1\n", ":4: a field without a command before it"),
    (HEAD + "dwords 0x100000000\n", ":4: dwords: 0x100000000 does not fit 32 bits"),
    (HEAD + "memory 0x1000 = ../../etc/passwd\n", ":4: memory: ../../etc/passwd is outside the directory"),
    (HEAD + "memory 0x1000 = a\0b\n", r":4: memory: 'a\x00b': embedded null byte"),
    (HEAD + "memory 0x1000 = gone.bin\n", ":4: memory: gone.bin: No such file or directory"),
    (HEAD + "kernel 0x1000 64 = /etc/passwd\n", ":4: kernel: /etc/passwd is outside the directory"),
    (HEAD + "kernel 0x1000 64 = gone.g4a\n", ":4: kernel: gone.g4a: No such file or directory"),
    (HEAD + "kernel 0x1000 0x7fffffffffff = gone.g4a\n", ":4: kernel: 140737488355327 bytes are more than the 64 MiB"),
    ("# gen4emu batch 1\nkernel 0x1000 64 = x.g4a\n", ":2: kernel: the device must be named before"),
])
def test_errors_name_line_field_and_value_and_nothing_is_written(text: str, error: str, tmp_path: Path,
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    batch, built = tmp_path / "batch.txt", tmp_path / "x.aub"
    batch.write_text(text)
    assert run(["build", str(batch), "-o", str(built)]) == 2
    assert f"{batch}{error}" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["batch.txt"]


def test_a_file_that_is_a_loop_of_links_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = tmp_path / "batch.txt"
    batch.write_text(HEAD + "memory 0x1000 = loop\n")
    (tmp_path / "loop").symlink_to("loop")
    assert run(["build", str(batch), "-o", str(tmp_path / "x.aub")]) == 2
    assert f"{batch}:4: memory: " in capsys.readouterr().err


def test_media_objects_cannot_be_exported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(TRACES / "mpeg2-g4x.aub.xz"), "--draw", "3", "-o", str(tmp_path / "repro")]) == 2
    assert "draw 3 is a media object; primitives and blits can be exported" in capsys.readouterr().err


def test_an_export_needs_a_draw_that_exists_and_an_empty_directory(tmp_path: Path,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(TRACES / "texture-g4x.aub.xz")
    assert run(["export", trace, "--draw", "9", "-o", str(tmp_path / "repro")]) == 2
    assert "no draw 9: it has 2 draws, 0 to 1" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert run(["export", trace, "--draw", "0", "-o", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_blit_that_draws_nothing_is_exported(tmp_path: Path) -> None:
    """It has no target and needs no memory."""
    text, trace, repro = tmp_path / "batch.txt", tmp_path / "blit.aub", tmp_path / "repro"
    fill = command_named("XY_COLOR_BLT", Gen.CTG).pack(Gen.CTG, destination_pitch=64, destination_x1=8,
                                                       destination_x2=4, destination_y2=4)
    text.write_text(HEAD + "".join(command_lines(tuple(fill), Gen.CTG)))
    assert run(["build", str(text), "-o", str(trace)]) == 0
    assert run(["export", str(trace), "--draw", "0", "-o", str(repro)]) == 0
    assert parse(repro / "batch.txt").memory == []
