"""Captures of the installed drivers on chips after Gen4.5, most of which do not execute yet: crocus, iris, VA."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from gen4emu.decode.address_space import AddressSpace
from gen4emu.device.memory import PageFlags
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.chips import BY_NAME, Device
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.live.real_client import TIMEOUT, environment, needs_client, scenes

NEWER = tuple(chip.name for chip in BY_NAME.values() if not chip.executes and chip is BY_NAME[chip.name])
NARROW, WIDE = ("snb", "ivb", "byt", "hsw"), ("bdw", "skl", "kbl")


@cache
def captured(device: str, scene: str, name: str) -> tuple[Path, str]:
    """A capture of a scene, and everything that the program and gen4emu print."""
    path = Path(mkdtemp(prefix="gen4emu-test-")) / name
    command = ["capture", "--device", device, "-o", str(path), "--", scenes("gl"), scene, "/dev/null", "32", "1"]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(), check=True, text=True,
                          timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return path, done.stdout


def batches(path: Path, chip: Device) -> Iterator[tuple[AddressSpace, int]]:
    """The memory before each submission, and the address of its batch."""
    memory = AddressSpace(chip.address_bits, 1 << 20)
    for event in open_trace(path):
        assert not isinstance(event, events.Warning), event
        if isinstance(event, events.MemoryWrite):
            (memory.write_physical if event.space is events.Space.PHYSICAL else memory.write)(event.address, event.data)
        elif isinstance(event, events.GttWrite):
            memory.set_gtt(event.first, event.entries)
        elif isinstance(event, events.Submission):
            memory.select(event.page_table)
            start = catalogue_of(chip.gen).command("MI_BATCH_BUFFER_START")
            at = next(at for at in range(0, len(event.ring), 4)
                      if catalogue_of(chip.gen).command_for(struct.unpack_from("<I", event.ring, at)[0]) is start)
            words = struct.unpack_from(f"<{start.size(chip.gen)}I", event.ring, at)
            yield memory, start.view(list(words), gen=chip.gen).batch_buffer_start_address


def commands(memory: AddressSpace, address: int, chip: Device) -> Iterator[str]:
    """The names of the commands of one batch, to its end or to the next batch."""
    catalogue = catalogue_of(chip.gen)
    while True:
        assert memory.page_flags(address) & PageFlags.PRESENT
        header = struct.unpack("<I", memory.read(address, 4))[0]
        command = catalogue.command_for(header)
        assert command is not None, f"0x{address:x}: 0x{header:08x}"
        yield command.name
        if command.name in ("MI_BATCH_BUFFER_END", "MI_BATCH_BUFFER_START"):
            return
        address += 4 * catalogue.length(header)


@needs_client
@pytest.mark.parametrize("device", NEWER)
def test_a_driver_starts_draws_and_says_nothing(device: str) -> None:
    """No unknown ioctl and no complaint of the driver: there are only the lines of the scene and of gen4emu."""
    path, said = captured(device, "triangle", "a.aub")
    lines = said.splitlines()
    assert lines[0] == f"gen4emu: {device} does not execute yet: batches are recorded, pictures stay empty"
    assert lines[-1].startswith(f"gen4emu: {path}: ")
    assert all("Mesa" in line for line in lines[1:-1]), said  # renderer and version


@needs_client
@pytest.mark.parametrize("name", ["a.aub", "a.g4c"])
@pytest.mark.parametrize("device", NARROW + WIDE)
def test_the_trace_has_the_device_and_its_draws(device: str, name: str) -> None:
    chip = BY_NAME[device]
    path, _ = captured(device, "triangle", name)
    first = next(iter(open_trace(path)))
    assert isinstance(first, events.Header)
    assert (first.pci_id, first.application) == (chip.pci_id, "scenes-gl")
    found = [list(commands(memory, batch, chip)) for memory, batch in batches(path, chip)]
    assert any("3DPRIMITIVE" in names for names in found)
    assert all(names[-1] == "MI_BATCH_BUFFER_END" for names in found)


@needs_client
@pytest.mark.parametrize("name", ["a.aub", "a.g4c"])
@pytest.mark.parametrize("device", WIDE)
def test_iris_uses_addresses_beyond_32_bits(device: str, name: str) -> None:
    path, _ = captured(device, "triangle", name)
    addresses = [batch for _, batch in batches(path, BY_NAME[device])]
    assert min(addresses) >= 1 << 32
    assert max(addresses) < 1 << 48


@needs_client
@pytest.mark.parametrize("device", ["ivb", "kbl"])
def test_the_same_program_gives_the_same_trace_in_both_containers(device: str) -> None:
    """But for physical pages, which only the AUB file of a wide chip has."""
    chip = BY_NAME[device]
    paths = (captured(device, "triangle", name)[0] for name in ("a.aub", "a.g4c"))
    found = [[(batch, memory.read(batch, 4096)) for memory, batch in batches(path, chip)] for path in paths]
    assert found[0] == found[1]


@needs_client
@pytest.mark.parametrize("device", ["snb", "bdw"])
def test_queries_do_not_wait_for_ever(device: str, tmp_path: Path) -> None:
    """The values that programs poll for are written, although nothing is executed."""
    source, program = tmp_path / "query.c", tmp_path / "query"
    source.write_text(QUERY)
    subprocess.run(["gcc", str(source), "-o", str(program), "-lEGL", "-lGL"], check=True)
    command = ["capture", "-q", "-d", device, "-o", str(tmp_path / "a.aub"), "--", str(program)]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *command], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, text=True, timeout=TIMEOUT, capture_output=True)
    assert (done.returncode, done.stdout) == (0, "0 samples, time passes\n"), done.stderr


QUERY = r"""
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>

int main(void) {
    EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    EGLContext context = eglCreateContext(display, NULL, EGL_NO_CONTEXT, NULL);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);
    GLuint frame, buffer, queries[3];
    glGenRenderbuffers(1, &buffer);
    glBindRenderbuffer(GL_RENDERBUFFER, buffer);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, 16, 16);
    glGenFramebuffers(1, &frame);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, buffer);
    glGenQueries(3, queries);
    glQueryCounter(queries[1], GL_TIMESTAMP);
    glBeginQuery(GL_SAMPLES_PASSED, queries[0]);
    glRectf(-1, -1, 1, 1);
    glEndQuery(GL_SAMPLES_PASSED);
    glQueryCounter(queries[2], GL_TIMESTAMP);
    GLuint samples = 1;
    GLuint64 before = 0, after = 0;
    glGetQueryObjectuiv(queries[0], GL_QUERY_RESULT, &samples);
    glGetQueryObjectui64v(queries[1], GL_QUERY_RESULT, &before);
    glGetQueryObjectui64v(queries[2], GL_QUERY_RESULT, &after);
    printf("%u samples, time %s\n", samples, after > before ? "passes" : "stands still");
    return glGetError() ? 1 : 0;
}
"""


@pytest.mark.parametrize("device", ["snb", "bdw"])
def test_run_says_that_these_devices_only_capture(device: str, tmp_path: Path) -> None:
    for command in (["run"], ["run", "--serve", str(tmp_path / "server")],
                    ["capture", "--frames", str(tmp_path), "-o", str(tmp_path / "a.aub")]):
        program = [] if "--serve" in command else ["--", "true"]
        done = subprocess.run([sys.executable, "-m", "gen4emu", command[0], "-d", device, *command[1:], *program],
                              check=False, text=True, capture_output=True)
        assert done.returncode == 2
        assert f"{device}" in done.stderr and "does not execute yet" in done.stderr
    assert not list(tmp_path.iterdir())
