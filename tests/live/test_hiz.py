"""Hierarchical depth buffers of real drivers: every mode draws the same, and a missing resolve is found."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from gen4emu.core_enums import Event, HierarchicalDepthMode
from gen4emu.device.checkpoints import restore, take
from gen4emu.device.device import Device
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.harness.commands import command
from tests.live.real_client import TIMEOUT, client, environment, needs_client, scenes

MODES = [mode.name.lower() for mode in HierarchicalDepthMode]


@cache
def result(device: str, mode: str, *what: str) -> tuple[bytes, dict[str, object]]:
    """Everything that the client prints, and the result as JSON."""
    path = Path(mkdtemp(prefix="gen4emu-test-")) / "result.json"
    arguments = ["run", "-q", "--strict", "--device", device, "--hiz", mode, "--json", str(path), "--", client("depth"),
                 *what]
    done = subprocess.run([sys.executable, "-m", "gen4emu", *arguments], env=environment(EGL_PLATFORM="surfaceless"),
                          check=False, timeout=TIMEOUT, capture_output=True)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (done.returncode, document["events"]) == (0, []), done.stderr
    return done.stdout, document


@needs_client
@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
@pytest.mark.parametrize("mode", MODES[1:])
def test_depths_colors_and_counts_are_those_without_hierarchical_depth(device: str, mode: str) -> None:
    """D16, D24, D32F, with 1, 4 and 8 samples; partial clears, discarded pixels and computed depths."""
    printed, document = result(device, mode)
    plain, other = result(device, "off")
    assert len(plain) == 4 * (4 * 77 * 50 * 8 + 3 * 4)
    assert printed == plain
    assert document["counts"] == other["counts"]
    counts = document["hierarchical_depth"]
    assert isinstance(counts, dict)
    assert counts["contradictions"] == 0
    assert all(counts[name] for name in ("passed", "failed", "undecided", "plane_exact", "expand_bytes",
                                         "resolve_bytes"))
    assert "hierarchical_depth" not in other


@needs_client
@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize(("what", "size"), [(("2", "16"), 4 * (2 * 77 * 50 * 8 + 2 * 4)),
                                            (("layers",), 4 * 6 * 77 * 50 * 8)])
def test_gen9_counts_pixels_and_samples_through_entries(what: tuple[str, ...], size: int, mode: str) -> None:
    """2 and 16 samples, which Gen7 lacks; and an array with levels, which is sampled without resolving it."""
    printed, document = result("kbl", mode, *what)
    plain, _ = result("kbl", "off", *what)
    assert len(plain) == size
    assert printed == plain
    counts = document["hierarchical_depth"]
    assert isinstance(counts, dict)
    assert (counts["contradictions"], counts["base_clear_bytes"] > 0) == (0, True)


@needs_client
@pytest.mark.parametrize("scene", ["gears", "cubemap", "fbo", "grid", "sprites"])
def test_no_entry_contradicts_the_depth_buffer_and_pictures_are_the_same(scene: str, tmp_path: Path) -> None:
    for mode in MODES:
        arguments = ["run", "-q", "--device", "ivb", "--hiz", mode, "--json", str(tmp_path / f"{mode}.json"), "--",
                     scenes("gl"), scene, str(tmp_path / mode), "64", "2"]
        subprocess.run([sys.executable, "-m", "gen4emu", *arguments], env=environment(), check=True, timeout=TIMEOUT,
                       capture_output=True)
        assert (tmp_path / mode).read_bytes() == (tmp_path / "off").read_bytes()
        document = json.loads((tmp_path / f"{mode}.json").read_text(encoding="utf-8"))
        if mode != "off":
            assert document["hierarchical_depth"]["base_clear_bytes"] > 0
            assert document["hierarchical_depth"]["contradictions"] == 0
            assert not any("depth" in event["text"] for event in document["events"])


@needs_client
@pytest.mark.parametrize(("more", "devices"), [((), 1), (("--hiz", "off"), 0)])
def test_programs_can_be_made_to_check_their_entries(more: tuple[str, ...], devices: int, tmp_path: Path) -> None:
    """The effect of --check-depth on all programs of these tests; those that choose a mode keep it."""
    (tmp_path / "log").touch()
    arguments = ["run", "-q", "--device", "hsw", *more, "--", client("depth")]
    subprocess.run([sys.executable, "-m", "gen4emu", *arguments], check=True, timeout=TIMEOUT, capture_output=True,
                   env=environment(EGL_PLATFORM="surfaceless", PYTHONPATH=str(Path(__file__).parent / "checked"),
                                   CHECKED_DEPTH_LOG=str(tmp_path / "log")))
    found = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert len(found) == devices
    assert all(counts["groups_tested"] > 1000 and counts["contradictions"] == 0 for counts in found)


@cache
def trace() -> Path:
    path = Path(mkdtemp(prefix="gen4emu-test-")) / "depth.g4c"
    arguments = ["capture", "-q", "--device", "ivb", "-o", str(path), "--", client("depth")]
    subprocess.run([sys.executable, "-m", "gen4emu", *arguments], env=environment(EGL_PLATFORM="surfaceless"),
                   check=True, timeout=TIMEOUT, stdout=subprocess.DEVNULL)
    return path


def forget_resolves(data: bytes) -> bytes:
    """A batch without the bits that make a rectangle resolve depth."""
    chip = BY_NAME["ivb"]
    wm = catalogue_of(chip.gen).command("3DSTATE_WM")
    resolve = command("3DSTATE_WM", chip.gen, depth_buffer_resolve_enable=True)
    header = resolve[0]
    changed = bytearray(data)
    at = changed.find(struct.pack("<I", header))
    while at >= 0:
        words = list(struct.unpack_from("<3I", changed, at))
        view = wm.view(words, gen=chip.gen)
        if at % 4 == 0 and view.depth_buffer_resolve_enable:
            struct.pack_into("<I", changed, at + 4, words[1] & ~resolve[1])
        at = changed.find(struct.pack("<I", header), at + 4)
    return bytes(changed)


def replayed(mode: HierarchicalDepthMode, *, resolves: bool = True) -> dict[Event, int]:
    """The events of a replay of the client."""
    found = BY_NAME["ivb"]
    with Device(found, Options(hierarchical_depth=mode, workers=1)) as device:
        for event in open_trace(trace()):
            if isinstance(event, events.MemoryWrite) and not resolves:
                event = replace(event, data=forget_resolves(bytes(event.data)))
            device.apply(event)
        return {Event(event.kind): event.count for event in device.events()}


@needs_client
def test_a_missing_resolve_is_found_behind_every_checkpoint() -> None:
    """Images whose depths are only in entries are remembered."""
    options = Options(hierarchical_depth=HierarchicalDepthMode.STRICT, workers=1)
    checkpoint, counted = None, []
    with Device(BY_NAME["ivb"], options) as device:
        for event in open_trace(trace()):
            if isinstance(event, events.Submission):
                checkpoint = take(device, checkpoint)
                assert checkpoint is not None
                with restore(checkpoint)[0] as restored:
                    assert restored.hierarchical_depth_counts() == device.hierarchical_depth_counts()
                    counted.append(stale_after(restored, event))
            before = stale(device)
            device.apply(event if not isinstance(event, events.MemoryWrite) else
                         replace(event, data=forget_resolves(bytes(event.data))))
            if isinstance(event, events.Submission):
                assert counted[-1] == stale(device) - before
    assert sum(counted) > 0


def stale(device: Device) -> int:
    return sum(event.count for event in device.events() if event.kind == Event.STALE_DEPTH)


def stale_after(device: Device, event: events.Submission) -> int:
    """The reads of stale depth that a submission adds."""
    before = stale(device)
    device.apply(event)
    return stale(device) - before


@needs_client
@pytest.mark.contradicts_depth
def test_a_missing_resolve_is_reported() -> None:
    assert replayed(HierarchicalDepthMode.STRICT) == {}
    assert replayed(HierarchicalDepthMode.STRICT, resolves=False)[Event.STALE_DEPTH] > 0
    assert Event.STALE_DEPTH not in replayed(HierarchicalDepthMode.ON, resolves=False)  # memory has every depth
