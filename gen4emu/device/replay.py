"""Replaying a trace on a device: what was drawn, when a frame is complete, what went wrong (spec/06 3.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from gen4emu.device.device import Device, Options
from gen4emu.device.memory import Missing
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import DecodeError
from gen4emu.hw import gen as parts
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.trace import events
from gen4emu.trace.capture_format import digest
from gen4emu.trace.opening import Trace

_MAX_DIFFERENCES = 10  # that are told of


@dataclass(frozen=True, slots=True)
class Frame:
    """A moment at which pictures are to be taken."""

    number: int
    submission: int
    targets: tuple[Target, ...]


class _Stop(Exception):
    """Whoever replays has seen enough."""


class Replay:
    """Feeds a trace to a device and stops where pictures are wanted."""

    def __init__(self, trace: Trace, info: parts.Device | None = None, options: Options | None = None) -> None:
        self.trace = trace
        self.options = options
        self.device: Device | None = Device(info, options) if info is not None else None
        self.on_start: Callable[[Device], None] | None = None  # told of the device before the first submission
        self.on_draw: Callable[[int], None] | None = None  # told the number of every draw or blit, when it is done
        self.submissions = 0
        self.draws = 0
        self.warnings: list[str] = []
        self.differences = 0  # from what the trace expects
        self._frames = 0

    def close(self) -> None:
        if self.device is not None:
            self.device.close()

    def frames(self, only: int | None = None) -> Iterator[Frame]:
        """Run the trace; yields each frame when it is complete, so that memory shows it.

        A trace that marks its frames (dump requests, boundaries) yields those; any other one frame a submission.
        """
        marked = self.has_marks()
        with suppress(_Stop):
            yield from self._frames_of(marked, only)

    def stop(self) -> None:
        """From `on_draw`: nothing more of the trace."""
        raise _Stop

    def _frames_of(self, marked: bool, only: int | None) -> Iterator[Frame]:
        for event in self.trace:
            if isinstance(event, events.Header):
                self._start(event)
            elif isinstance(event, events.Warning):
                self.warnings.append(f"0x{event.offset:08x}: {event.text}")
            elif isinstance(event, events.ExpectedMemory):
                self._compare(event)
            elif isinstance(event, events.SurfaceDump):
                yield self._frame((_dump_target(event),))
            elif isinstance(event, events.FrameBoundary):
                yield self._frame(tuple(self._running().take_targets()))
            elif isinstance(event, events.Submission):
                if only is not None and self.submissions > only:
                    return
                self._submit(event)
                if not marked and (only is None or only == self.submissions - 1):
                    yield self._frame(tuple(self._running().take_targets()))
            else:
                self._running().apply(event)

    def has_marks(self) -> bool:
        """Whether the container says where frames end."""
        count = self.trace.frame_count()
        if count is not None:
            return count > 0
        return any(isinstance(e, events.SurfaceDump | events.FrameBoundary) for e in self.trace)

    def _start(self, header: events.Header) -> None:
        if self.device is None:
            info = parts.BY_PCI_ID.get(header.pci_id or 0)
            if info is None:
                raise DecodeError(f"{self.trace.path}: no device is known for this trace; name one with --device")
            self.device = Device(info, self.options)

    def _running(self) -> Device:
        if self.device is None:
            raise DecodeError(f"{self.trace.path}: the trace does not say its device; name one with --device")
        return self.device

    def _submit(self, event: events.Submission) -> None:
        device = self._running()

        if self.submissions == 0 and self.on_start is not None:
            self.on_start(device)
        if self._after_draw not in device.on_draw:
            device.on_draw.append(self._after_draw)
        device.submit(event)
        self.submissions += 1

    def _after_draw(self) -> None:
        number = self.draws
        self.draws += 1
        if self.on_draw is not None:
            self.on_draw(number)

    def _compare(self, expected: events.ExpectedMemory) -> None:
        """Memory against what the capture says it held."""
        data = self._running().memory.read(expected.address, expected.size, Missing.ZERO)
        if digest(data) == expected.digest:
            return
        self.differences += 1
        if self.differences <= _MAX_DIFFERENCES:
            self.warnings.append(f"submission {self.submissions - 1}: {expected.size} bytes at "
                                 f"0x{expected.address:08x} are not what the capture has seen there")

    def _frame(self, targets: tuple[Target, ...]) -> Frame:
        frame = Frame(self._frames, self.submissions - 1, targets)
        self._frames += 1
        return frame


_DUMP_TILINGS = {"linear": Tiling.LINEAR, "x": Tiling.X, "y": Tiling.Y}
_DUMP_FORMATS = {1: SurfaceFormat.L8_UNORM, 4: SurfaceFormat.B4G4R4A4_UNORM, 6: SurfaceFormat.B8G8R8X8_UNORM,
                 7: SurfaceFormat.B8G8R8A8_UNORM}


def _dump_target(dump: events.SurfaceDump) -> Target:
    form = _DUMP_FORMATS.get(dump.format)
    if form is None:
        raise DecodeError(f"dump request at 0x{dump.offset:08x}: format {dump.format} is unknown")
    return Target("dump", dump.address, form, dump.width, dump.height, dump.pitch_bytes, _DUMP_TILINGS[dump.tiling],
                  dump.x, dump.y)
