"""`gen4emu capture --gl`: what programs tell OpenGL, in captures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gen4emu import trace
from gen4emu.live import program
from gen4emu.report.record import Choices, Recorder
from tests.live.real_client import TIMEOUT, client, environment, needs_client

WAYS = ("linked", "egl", "dlsym", "dlopen")
DEVICES = ("gm45", "ivb", "hsw", "kbl")
PIXEL = "0 128 64 255 error 0\n"
ERRORS = "groups: NIR (not the driver's)\nNIR "  # that the program prints


def gen4emu(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gen4emu", *command], check=False, timeout=TIMEOUT,
                          capture_output=True, text=True, env=environment(EGL_PLATFORM="surfaceless", **variables))


def capture(path: Path, way: str, device: str, *options: str) -> subprocess.CompletedProcess[str]:
    done = gen4emu("capture", "--gl", "-q", "--strict", "-d", device, "-o", str(path), *options, "--",
                   client("groups"), way)
    assert (done.returncode, done.stdout, done.stderr) == (0, PIXEL, ERRORS)
    return done


@pytest.fixture(scope="module", params=DEVICES)
def captured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gl") / f"{request.param}.g4c"
    capture(path, "linked", request.param)
    return path


def notes(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gen4emu("info", "--json", str(path)).stdout)["gl"]
    return found


@needs_client
def test_sources_programs_and_labels_are_kept(captured: Path) -> None:
    found = notes(captured)
    assert found["labels"] == [{"object": "program", "name": 3, "label": "red ?[1m"},
                               {"object": "program", "name": 5, "label": "green"},
                               {"object": "texture", "name": 1, "label": "colour"}]
    red, green = found["programs"]
    assert (red["name"], red["label"], green["name"], green["label"]) == (3, "red ?[1m", 5, "green")
    assert [s["stage"] for s in red["shaders"]] == [s["stage"] for s in green["shaders"]] == ["vertex", "fragment"]
    assert red["shaders"][0] == green["shaders"][0]
    assert red["shaders"][1]["source"] == ("#version 120\n// red ?[31m café\n"
                                           "void main() { gl_FragColor = vec4(1.0, 0.0, 0.0, 1.0); }\n")
    assert "sqrt(level)" in green["shaders"][1]["source"]
    assert found["lost"] == 0


@needs_client
def test_draws_have_the_groups_and_programs_of_their_calls(captured: Path) -> None:
    """The call without vertices and the rectangles of the driver are between them."""
    red = {"program": 3, "program_label": "red ?[1m", "exact": True}
    green = {"program": 5, "program_label": "green", "exact": True}
    at = 2 if captured.stem == "ivb" else 1  # crocus begins with a draw without vertices on Ivy Bridge
    assert notes(captured)["draws"] == [
        {"draw": at, "path": ["scene", "shadow pass"], **red},
        {"draw": at + 1, "path": ["scene", "shadow pass"], **red},
        {"draw": at + 2, "path": ["scene", "light"], **green}, {"draw": at + 3, "path": [], **green}]
    lines = [line for line in gen4emu("decode", str(captured)).stdout.splitlines() if line.startswith("gl: ")]
    assert lines == ['gl: program 3 "red ?[1m": vertex shader 1, fragment shader 2',
                     'gl: program 5 "green": vertex shader 1, fragment shader 4',
                     f'gl: draws {at} to {at + 1}: scene / shadow pass, program 3 "red ?[1m"',
                     f'gl: draw {at + 2}: scene / light, program 5 "green"', f'gl: draw {at + 3}: program 5 "green"']


@needs_client
@pytest.mark.parametrize("way", WAYS[1:])
def test_calls_are_noted_however_the_program_finds_the_functions(tmp_path: Path, way: str) -> None:
    path = tmp_path / "a.g4c"
    capture(path, way, "g45")
    assert [d["path"] for d in notes(path)["draws"]] == [["scene", "shadow pass"]] * 2 + [["scene", "light"], []]
    assert [len(p["shaders"]) for p in notes(path)["programs"]] == [2, 2]


@needs_client
def test_a_capture_with_notes_replays_and_converts_with_them(captured: Path, tmp_path: Path) -> None:
    done = gen4emu("replay", "--strict", str(captured), "-o", str(tmp_path / "pictures"))
    assert done.returncode == 0, done.stderr
    copy, aub = tmp_path / "copy.g4c", tmp_path / "copy.aub"
    assert gen4emu("convert", str(captured), str(copy)).returncode == 0
    assert gen4emu("convert", str(captured), str(aub)).returncode == 0
    assert notes(copy) == notes(captured)
    assert "gl" not in json.loads(gen4emu("info", "--json", str(aub)).stdout)


def test_a_container_without_notes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.aub"
    done = gen4emu("capture", "--gl", "-o", str(path), "--", "true")
    assert done.returncode == 2
    assert f"--gl: {path} would be an AUB file" in done.stderr and not path.exists()


@needs_client
@pytest.mark.skipif(not program.GL_32.exists(), reason="there was no compiler for 32 bits")
def test_programs_of_32_bits_start_with_the_library(tmp_path: Path) -> None:
    source, built = tmp_path / "a.c", tmp_path / "a"
    source.write_text('#include <stdio.h>\n#include <string.h>\nint main(void) { char line[512]; FILE *f = '
                      'fopen("/proc/self/maps", "r"); while (fgets(line, sizeof line, f)) '
                      'if (strstr(line, "emu-gl-32.so")) { puts("loaded"); return 0; } return 1; }\n')
    subprocess.run(["gcc", "-m32", str(source), "-o", str(built)], check=True)
    done = gen4emu("capture", "--gl", "-o", str(tmp_path / "a.g4c"), "--", str(built))
    assert done.stdout == "loaded\n", done.stderr


@needs_client
def test_state_and_report_name_the_group_of_a_draw(captured: Path) -> None:
    """Rectangles of the driver have none."""
    known = notes(captured)["draws"]
    at = known[2]["draw"]
    assert gen4emu("state", str(captured), "--draw", str(at)).stdout.startswith(
        'gl: scene / light, program 5 "green"\n')
    document = json.loads(gen4emu("state", "--json", str(captured), "--draw", str(at)).stdout)
    assert document["group"] == {"path": ["scene", "light"], "program": 5, "program_label": "green", "exact": True}
    assert "group" not in json.loads(gen4emu("state", "--json", str(captured), "--draw", str(at - 3)).stdout)
    with trace.open(captured) as opened:
        found = Recorder(opened, None, "title", Choices()).record()
    rows = {draw.number: (draw.values["vertices"], draw.values["group"]) for draw in found.draws}
    assert [rows[at + i] for i in (-1, 0, 1)] == [(3, 'scene / shadow pass, program 3 "red ?[1m"'),
                                                 (4, 'scene / light, program 5 "green"'), (3, 'program 5 "green"')]
    assert rows[at - 3] == (3, "")


@needs_client
def test_kernels_have_the_source_of_their_stage(captured: Path, tmp_path: Path) -> None:
    assert gen4emu("kernels", str(captured), "-o", str(tmp_path / "k")).returncode == 0
    texts: dict[str, list[str]] = {path.name.split("-")[2]: [] for path in (tmp_path / "k").glob("*.glsl")}
    for path in (tmp_path / "k").glob("*.glsl"):
        texts[path.name.split("-")[2]].append(path.read_text())
    assert set(texts) == {"vs", "ps"}
    assert all("gl_Position" in text and "gl_FragColor" not in text for text in texts["vs"])
    assert all(text.count("gl_FragColor") == 1 for text in texts["ps"])
    assert {"sqrt" in text for text in texts["ps"]} == {True, False}


@needs_client
def test_kernels_have_the_nir_and_the_programs_that_they_were_compiled_from(captured: Path, tmp_path: Path) -> None:
    """The vertex shaders of both programs are the same kernel.  The driver's own kernels have NIR, too."""
    document = json.loads(gen4emu("kernels", "--json", str(captured), "-o", str(tmp_path)).stdout)
    known = notes(captured)["draws"]
    programs: dict[tuple[str, str], list[list[int]]] = {}
    for kernel, path in zip(document["kernels"], sorted(tmp_path.glob("*.bin")), strict=True):
        origin = kernel.get("origin")
        assert (origin is None) == (kernel["stages"][0] in ("sf", "clip"))
        if origin is None:
            continue
        nir = path.with_suffix(".nir").read_text()
        assert f"name: {origin['name']}\n" in nir and nir.count("impl main {") == 2
        assert path.with_suffix(".glsl").exists() == bool(origin["programs"])
        assert origin["name"].startswith("BLORP") == (not origin["programs"])
        if origin["programs"]:
            key = kernel["stages"][0][:2], kernel["draws"]
            programs.setdefault(key, []).append([p["name"] for p in origin["programs"]])
            assert ("fsqrt" in nir) == (origin["programs"] == [{"name": 5, "label": "green"}])
    first, last = known[0]["draw"], known[-1]["draw"]
    both = 1 if captured.stem == "gm45" else 2  # SIMD8 and SIMD16
    assert programs == {("vs", f"{first}-{last}"): [[3, 5]], ("ps", f"{first}-{first + 1}"): [[3]] * both,
                        ("ps", f"{last - 1}-{last}"): [[5]] * both}


@needs_client
def test_what_is_noted_leaves_the_batches_as_they_are(captured: Path, tmp_path: Path) -> None:
    path = tmp_path / "plain.g4c"
    done = gen4emu("capture", "-q", "-d", captured.stem, "-o", str(path), "--", client("groups"), GALLIUM_THREAD="0",
                   mesa_glthread="false")
    assert done.stdout == PIXEL
    digests = [gen4emu("digest", str(one)).stdout.split("\n", 1)[1] for one in (path, captured)]  # the head has names
    assert digests[0] == digests[1] != ""


@needs_client
def test_the_debugger_has_the_group_of_a_draw_and_the_source_of_a_thread(captured: Path) -> None:
    at = notes(captured)["draws"][2]["draw"]
    done = gen4emu("debug", str(captured), "-c", f"draw {at}", "-c", "gl", "-c", "trap every in wm", "-c", "continue",
                   "-c", "source", "-c", "source nir")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert f'draw {at}: scene / light, program 5 "green"' in lines
    compiled = lines.index('compiled from program 5 "green", fragment shader 4')
    assert lines[compiled + 1:compiled + 5] == [
        "GLSL, fragment shader 4:", "    1  #version 120", "    2  uniform float level;",
        "    3  void main() { gl_FragColor = vec4(0.0, sqrt(level), 0.25, 1.0); }"]
    assert sum("fsqrt" in line for line in lines) == 2  # in both forms of NIR


@needs_client
def test_kernels_of_all_stages_have_nir(tmp_path: Path) -> None:
    """The compiler for four-component shaders prints more than NIR and code about tessellation."""
    path = tmp_path / "a.g4c"
    done = gen4emu("capture", "--gl", "-q", "-d", "hsw", "-o", str(path), "--", client("geometry"))
    assert (done.returncode, done.stderr) == (0, "")
    kernels = json.loads(gen4emu("kernels", "--json", str(path)).stdout)["kernels"]
    assert {stage[:2] for kernel in kernels for stage in kernel["stages"]} == {"vs", "hs", "ds", "gs", "ps"}
    assert [kernel["number"] for kernel in kernels if "origin" not in kernel] == []
