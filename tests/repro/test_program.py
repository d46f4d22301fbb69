"""repro.c of `gen4emu export`: a draw as a C program that the i915 driver executes, here on the emulator."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gen4emu
from gen4emu.api.trace import Draw
from gen4emu.bisect.digests import surface_bytes
from gen4emu.cli.main import run
from gen4emu.device.targets import Target
from gen4emu.live import program
from gen4emu.repro import relocations
from gen4emu.repro.export import Export
from gen4emu.repro.export import export as export_draw
from gen4emu.repro.program import checksum
from gen4emu.trace.reader import open as open_trace

TRACES = Path(__file__).parents[2] / "traces"
TIMEOUT = 120
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None or not program.SHIM.exists(),
                                    reason="there is no gcc, or the shim is not built")


def exported(tmp_path: Path, name: str, draw: int) -> Path:
    directory = tmp_path / "repro"
    assert run(["export", "-q", str(TRACES / f"{name}.aub.xz"), "--draw", str(draw), "-o", str(directory)]) == 0
    return directory


def compiled(source: Path) -> Path:
    output = source.with_suffix("")
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-o", str(output), str(source)], check=True)
    return output


def executed(device: str, output: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gen4emu", "run", "-q", "--device", device, "--", str(output), *arguments]
    return subprocess.run(command, check=False, text=True, timeout=TIMEOUT, capture_output=True)


def replayed(name: str, draw: int) -> list[bytes]:
    with gen4emu.open(TRACES / f"{name}.aub.xz") as trace:
        found = trace.at(draw=draw)
        assert isinstance(found, Draw)
        return [surface_bytes(found.memory, target) for target in found.device.targets.latest]


@needs_compiler
@pytest.mark.parametrize(("name", "draw", "device"), [
    ("gears-g4x", 4, "gm45"), ("texture-g4x", 0, "gm45"), ("fbo-g4x", 3, "gm45"), ("stencil-brw", 2, "965gm"),
    ("texture-brw", 1, "965gm"), ("later/triangle-ivb", 2, "ivb"), ("later/triangle-ivb", 4, "ivb"),
    ("later/triangle-hsw", 3, "hsw"), ("later/triangle-kbl", 2, "kbl"), ("later/triangle-skl", 4, "skl")])
def test_the_program_compiles_without_warnings_and_draws_the_bits_of_the_replay(name: str, draw: int, device: str,
                                                                                tmp_path: Path) -> None:
    output = compiled(exported(tmp_path, name, draw) / "repro.c")
    done = executed(device, output, "-r", str(tmp_path / "target"))
    assert (done.returncode, done.stderr) == (0, "")
    wanted = replayed(name, draw)
    assert [(tmp_path / f"target-{i}.raw").read_bytes() for i in range(len(wanted))] == wanted
    assert re.findall("as expected: ([0-9a-f]{8})", done.stdout) == [f"{checksum(data):08x}" for data in wanted]


@needs_compiler
def test_a_picture_is_written_as_ppm(tmp_path: Path) -> None:
    directory = exported(tmp_path, "gears-g4x", 4)
    assert executed("gm45", compiled(directory / "repro.c"), "-p", str(tmp_path / "out")).returncode == 0
    head, pixels = b"P6\n256 256\n255\n", (tmp_path / "out-0.ppm").read_bytes()
    assert pixels.startswith(head)
    picture = np.frombuffer(pixels[len(head):], np.uint8).reshape(256, 256, 3)
    blue_first = np.frombuffer(replayed("gears-g4x", 4)[0], np.uint8).reshape(256, 256, 4)
    assert np.array_equal(picture, blue_first[..., 2::-1])
    assert (tmp_path / "out-1.raw").stat().st_size == 256 * 256 * 4  # PPM has no depth


@needs_compiler
def test_the_exit_status_says_that_a_target_differs(tmp_path: Path) -> None:
    source = exported(tmp_path, "later/triangle-ivb", 2) / "repro.c"
    text, count = re.subn("0x([0-9a-f]{8})},\n};$", "0x00000001},\n};", source.read_text(), count=1, flags=re.M)
    assert count == 1
    source.write_text(text)
    done = executed("ivb", compiled(source))
    assert done.returncode == 1
    assert "expected 00000001" in done.stdout


@needs_compiler
def test_without_a_device_the_program_fails(tmp_path: Path) -> None:
    output = compiled(exported(tmp_path, "later/triangle-ivb", 2) / "repro.c")
    done = subprocess.run([str(output), "-d", "/dev/null"], check=False, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (2, "repro: no device of the i915 driver\n")


# The memory controller of many chips swaps the halves of 128 bytes in tiled surfaces by bits 9 and 10 of the address.
# The emulator's does not, so this one undoes what the program does.
CONTROLLER = """
#include <sys/ioctl.h>
static int controller(int fd, unsigned long request, void *argument);
#define ioctl controller
#include "repro.c"
#undef ioctl

static int swaps;

static void swap_halves(uint32_t handle, uint64_t data) {
    uint8_t *const bytes = (uint8_t *)(uintptr_t)data;
    for (int i = 0; i < TILED_RANGES; i++) {
        const struct tiles *const range = &tiled_ranges[i];
        for (uint32_t at = range->offset; handles[range->object] == handle && at < range->offset + range->size; at++) {
            const uint32_t bits = range->tiling == X_TILES ? at >> 9 ^ at >> 10 : at >> 9;
            if (!(at & 64) && (bits & 1)) {
                const uint8_t byte = bytes[at];
                bytes[at] = bytes[at + 64];
                bytes[at + 64] = byte;
                swaps++;
            }
        }
    }
}

static int controller(int file, unsigned long request, void *argument) {
    struct drm_i915_gem_pwrite *const write = argument;
    if (request == DRM_IOCTL_I915_GEM_PWRITE) {
        swap_halves(write->handle, write->data_ptr);
    }
    const int status = ioctl(file, request, argument);
    if (request == DRM_IOCTL_I915_GEM_PREAD) {
        swap_halves(write->handle, write->data_ptr); /* has the same layout */
        if (!swaps) {
            exit(3);
        }
    } else if (request == DRM_IOCTL_I915_GEM_GET_TILING) {
        struct drm_i915_gem_get_tiling *const get = argument;
        get->swizzle_mode = get->tiling_mode == I915_TILING_X ? I915_BIT_6_SWIZZLE_9_10 : I915_BIT_6_SWIZZLE_9;
    }
    return status;
}
"""


@needs_compiler
@pytest.mark.parametrize(("name", "draw", "device"), [("texture-g4x", 0, "gm45"), ("later/triangle-ivb", 4, "ivb")])
def test_the_program_swizzles_tiled_surfaces_as_the_memory_controller_does(name: str, draw: int, device: str,
                                                                           tmp_path: Path) -> None:
    source = exported(tmp_path, name, draw) / "controller.c"
    source.write_text(CONTROLLER)
    done = executed(device, compiled(source))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


# --- addresses --------------------------------------------------------------------------------------------------------
def export_of(name: str, draw: int) -> Export:
    source = open_trace(str(TRACES / f"{name}.aub.xz"), again=True)
    with gen4emu.open(TRACES / f"{name}.aub.xz") as trace:
        return export_draw(trace, source, draw)


def moved(layout: relocations.Layout, draw: Export, targets: tuple[Target, ...]) -> bool:
    with gen4emu.Device(draw.script.device) as device:
        relocations.load(device.memory, draw.script)
        device.run_batch(draw.script.batch, draw.script.engine)
        wanted = relocations.picture(device.memory, targets)
    return relocations.is_relocatable(draw.script, layout, targets, wanted)


@pytest.mark.parametrize(("name", "draw", "needed"), [("texture-g4x", 0, 15), ("later/triangle-ivb", 4, 6)])
def test_a_layout_without_an_address_is_noticed(name: str, draw: int, needed: int) -> None:
    """Of each address that the draw needs; others are those of state that it does not use."""
    found = export_of(name, draw)
    layout = relocations.layout_of(found.script, found.targets)
    assert moved(layout, found, found.targets)
    noticed = 0
    for left_out in layout.relocations:
        others = tuple(relocation for relocation in layout.relocations if relocation is not left_out)
        noticed += not moved(replace(layout, relocations=others), found, found.targets)
    assert noticed == needed


def test_a_batch_that_is_not_made_of_known_addresses_has_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                                     capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(relocations, "_point", lambda *arguments: None)
    trace, repro = str(TRACES / "texture-g4x.aub.xz"), tmp_path / "repro"
    assert run(["export", trace, "--draw", "0", "-o", str(repro)]) == 0
    assert "without repro.c: it writes different pixels, or none, when its buffers are moved" in capsys.readouterr().err
    assert not (repro / "repro.c").exists()
    assert "repro.c" not in (repro / "README").read_text()
