"""`--frames DIR`: what a program shows, or draws when it shows nothing, as pictures (spec/80 DR-43)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from pathlib import Path

from gen4emu.device.device import Device
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import Gen4emuError
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.image.picture import read_channels, save
from gen4emu.live.client import Client
from gen4emu.live.observers import BufferUse, Mark, Observer
from gen4emu.live.server import Server
from gen4emu.trace.events import Submission

# DRM formats that can be scanned out, by their four characters.
SCANOUT = {"XR24": SurfaceFormat.B8G8R8X8_UNORM, "AR24": SurfaceFormat.B8G8R8A8_UNORM,
           "XB24": SurfaceFormat.R8G8B8X8_UNORM, "AB24": SurfaceFormat.R8G8B8A8_UNORM,
           "RG16": SurfaceFormat.B5G6R5_UNORM, "XR30": SurfaceFormat.B10G10R10X2_UNORM,
           "AR30": SurfaceFormat.B10G10R10A2_UNORM}
_TILINGS = (Tiling.LINEAR, Tiling.X, Tiling.Y)


def shown(mark: Mark) -> Target | None:
    """The picture that a mark says is shown."""
    form = SCANOUT.get(mark.fourcc.to_bytes(4, "little").decode("latin-1"))
    if form is None or not mark.address or mark.tiling >= len(_TILINGS):
        return None
    return Target("shown", mark.address, form, mark.width, mark.height, mark.pitch, _TILINGS[mark.tiling])


class Pictures(Observer):
    """The pictures of one connection."""

    wants_targets = True

    def __init__(self, server: Server, device: Device, directory: Path, numbers: _Numbers) -> None:
        self._server, self._device, self._directory, self._numbers = server, device, directory, numbers
        self._marks = False

    def after(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        targets = [t for t in self._device.take_targets() if t.kind != "depth"]
        if targets and not self._marks:
            self._write(targets)

    def mark(self, mark: Mark) -> None:
        self._marks = True
        target = shown(mark)
        if target is not None:
            self._write([target])

    def _write(self, targets: Sequence[Target]) -> None:
        number = self._numbers.next()
        for target in targets:
            where = f"{target.kind}-{target.address:08x}"
            if target.level or target.slice:
                where += f"-l{target.level}-s{target.slice}"
            try:
                save(self._directory / f"frame-{number:05d}-{where}.png", read_channels(self._device.memory, target))
            except (Gen4emuError, OSError) as e:
                self._server.note(f"--frames: {e}")


class _Numbers:
    """Frames are numbered through, over all connections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = itertools.count()

    def next(self) -> int:
        with self._lock:
            return next(self._count)


def watch_pictures(server: Server, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    numbers = _Numbers()

    def watch(client: Client, device: Device) -> Observer:
        return Pictures(server, device, directory, numbers)

    server.watch(watch)
