"""`--frames`: writes the frames of programs as pictures or raw video, as `replay` of a capture would."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gen4emu.device.device import Device
from gen4emu.device.place import Place
from gen4emu.device.targets import Target, check_picture_size
from gen4emu.device.tiling import Tiling
from gen4emu.errors import Gen4emuError
from gen4emu.hw.scanout import SCANOUT
from gen4emu.image.raw_video import STDOUT, RawVideo
from gen4emu.image.store import PictureStore
from gen4emu.live.connection import BufferUse, Connection, LiveDevice, Mark, Observer, executing
from gen4emu.live.server import Server
from gen4emu.trace.events import Submission

_TILINGS = (Tiling.LINEAR, Tiling.X, Tiling.Y)


def shown(mark: Mark) -> Target | None:
    """The picture that a mark shows, or None if there is none or its format is unknown."""
    form = SCANOUT.get(mark.fourcc.to_bytes(4, "little").decode("latin-1"))
    if form is None or not mark.address or mark.tiling >= len(_TILINGS) or \
            check_picture_size(mark.width, mark.height) is not None:
        return None
    return Target("shown", mark.address, form, mark.width, mark.height, mark.pitch, _TILINGS[mark.tiling])


class Frames(Observer):
    """Numbers the frames of one connection as a `replay` of its capture does, and finds their render targets.

    If the program shows frames, those count; otherwise each submission is a frame.  Frames before the first shown one
    are discarded.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._frames = self._submissions = 0
        self._marked = False

    def after(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        self._submissions += 1
        if not self._marked:
            self._end_frame(self.device.take_targets())

    def mark(self, mark: Mark) -> None:
        if not self._marked:
            self._marked = True
            self._frames = 0
            self.forget()
        drawn = self.device.take_targets()
        target = shown(mark)
        self._end_frame(drawn if target is None else [target])

    def _end_frame(self, targets: Sequence[Target]) -> None:
        place = Place(self._frames, max(0, self._submissions - 1), self.device.numbers.draw)
        self._frames += 1
        self.show(place, [t for t in targets if t.kind != "depth"])

    def forget(self) -> None:
        """Discard all frames so far."""

    def show(self, place: Place, targets: Sequence[Target]) -> None:
        """Write the frame `place.frame`."""


class Pictures(Frames):
    """Writes the frames of one connection as pictures, into its own directory."""

    def __init__(self, server: Server, connection: Connection, device: Device, directory: Callable[[], Path]) -> None:
        super().__init__(device)
        self._server, self._connection, self._directory = server, connection, directory
        self._store: PictureStore | None = None
        self._failed = False

    def before(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        self._opened()

    def _opened(self) -> PictureStore:
        if self._store is None:
            self._store = PictureStore(self._directory(), file=self._connection.program)
            self._store.device = self.device.info.name
        return self._store

    def forget(self) -> None:
        self._guarded(self._opened().forget)

    def show(self, place: Place, targets: Sequence[Target]) -> None:
        store = self._opened()
        for target in targets:
            self._guarded(partial(store.add, self.device.memory, target, "frame", place.frame, place))

    def _guarded(self, work: Callable[[], None]) -> None:
        """Report failures; after a system error, write no more pictures.  The program is not affected."""
        if self._failed:
            return
        try:
            work()
        except Gen4emuError as e:
            self._server.warn_once(f"--frames: {e}")
        except OSError as e:
            self._failed = True
            self._server.error(f"--frames: {e}")

    def close(self) -> None:
        if self._store is not None:
            self._guarded(self._store.close)


class Video(Frames):
    """Writes the frames of one connection as raw video."""

    def __init__(self, server: Server, device: Device, video: SharedVideo) -> None:
        super().__init__(device)
        self._server, self._video = server, video

    def show(self, place: Place, targets: Sequence[Target]) -> None:
        if any(target.kind == "shown" for target in targets):
            try:
                self._video.add(self, targets)
            except Gen4emuError as e:
                self._server.warn_once(f"--frames: {e}")
            except OSError as e:
                self._server.warn_once(f"--frames: standard output: {e.strerror or e}")


class Together(Frames):
    """Hands the frames of one connection to several others, in order."""

    def __init__(self, device: Device, parts: Sequence[Frames]) -> None:
        super().__init__(device)
        self._parts = parts

    def before(self, submission: Submission, buffers: Sequence[BufferUse]) -> None:
        for part in self._parts:
            part.before(submission, buffers)

    def forget(self) -> None:
        for part in self._parts:
            part.forget()

    def show(self, place: Place, targets: Sequence[Target]) -> None:
        for part in self._parts:
            part.show(place, targets)

    def close(self) -> None:
        for part in self._parts:
            part.close()


class SharedVideo:
    """The raw video of a server: only the frames of the connection that shows the first one."""

    def __init__(self, server: Server) -> None:
        self._video = RawVideo(STDOUT, server.log)
        self._lock = threading.Lock()
        self._owner: Video | None = None

    def add(self, owner: Video, targets: Sequence[Target]) -> None:
        with self._lock:
            self._owner = self._owner or owner
        if self._owner is owner:
            self._video.add(owner.device.memory, targets)
            self._video.flush()


class Directories:
    """The directories of connections: the given one, then `connection-2` and so on inside it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._count = 0

    def next(self) -> Path:
        with self._lock:
            self._count += 1
            return self._directory if self._count == 1 else self._directory / f"connection-{self._count}"


FramesFactory = Callable[[Connection, Device], Frames]


def watch_frames(server: Server, *factories: FramesFactory) -> None:
    """Create these for each connection: one observer, because targets can be taken from a device only once."""
    def create(connection: Connection, device: LiveDevice) -> Frames:
        able = executing(device)
        return Together(able, [factory(connection, able) for factory in factories])

    server.add_observer(create, targets=True)


def frame_writer(server: Server, directory: Path) -> FramesFactory:
    """For `watch_frames`: writes the frames of every connection; "-" is raw video on standard output."""
    if directory == STDOUT:
        video = SharedVideo(server)
        return lambda _, device: Video(server, device, video)
    directory.mkdir(parents=True, exist_ok=True)
    directories = Directories(directory)
    return lambda connection, device: Pictures(server, connection, device, directories.next)
