"""Pictures and memory after any draw of a trace, from a device of its own, and the tables of the trace's report.

The device goes wherever the page looks; the one under the debugger stays where it stopped.
"""

from __future__ import annotations

import shlex
import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np

from gen4emu.core_enums import DebugAction
from gen4emu.debugger import views
from gen4emu.debugger.history import record
from gen4emu.debugger.memory_changes import MemoryChanges
from gen4emu.debugger.model import Fragment
from gen4emu.debugger.session import Session
from gen4emu.debugger.shell import Usage, address_in, number, surface_of
from gen4emu.debugger.why import why
from gen4emu.debugger_web.shell_worker import Opener
from gen4emu.device.device import Device
from gen4emu.device.memory import Memory, Missing
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.targets import Target
from gen4emu.device.timeline import Timeline
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.gen import Gen
from gen4emu.image.canvas import canvas_bytes
from gen4emu.image.picture import read_pixels
from gen4emu.loopback.messages import packed
from gen4emu.report.chunks import deflated_json
from gen4emu.report.maps import SummedOverlays
from gen4emu.report.record import Choices, Recorded, Recorder
from gen4emu.report.states import mesh_of

_CACHE_BYTES = 192 << 20
_MOST_DUMP_BYTES = 1 << 16
_MOST_SIDE = 8192
_MOST_ENTRIES = 500  # of the history of a pixel

Answer = dict[str, Any] | bytes
Reply = Callable[[Answer], None]
Look = Callable[[Callable[[Device | None], None]], None]


class _Closing(Exception):
    """The server ends."""


@dataclass(frozen=True, slots=True)
class _Picture:
    """A target of a draw: its head for the page, and its pixels as RGBA, or as 16-bit grey."""

    head: dict[str, Any]
    pixels: bytes


def _without_pictures(options: Options) -> Choices:
    """The page gets pictures from the view; those of the first pass would only delay it."""
    return Choices(partial=True, options=options, picture_bytes=0)


class ReportWorker:
    """Executes the trace once in a thread, for the list of draws, their state and counters, and kernels."""

    def __init__(self, open_trace: Opener, part: Part | None, options: Options, title: str,
                 on_done: Callable[[], None], on_progress: Callable[[int, float | None], None]) -> None:
        self._open, self._part, self._options, self._title = open_trace, part, options, title
        self._on_done, self._on_progress = on_done, on_progress
        self._is_closing = False
        self.recorded: Recorded | None = None
        self.error = ""
        self._thread = threading.Thread(target=self._run, name="report", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._is_closing = True
        self._thread.join(2)

    def _run(self) -> None:
        trace = None
        try:
            trace = self._open()
            source = trace

            def tick(unit: str, number: int) -> None:
                if self._is_closing:
                    raise _Closing
                self._on_progress(number, source.fraction)

            self.recorded = Recorder(trace, self._part, self._title, _without_pictures(self._options),
                                     tick).record()
        except _Closing:
            return
        except (Gen4emuError, OSError) as e:
            self.error = str(e)
        finally:
            if trace is not None:
                trace.close()
        self._on_done()


class ViewWorker:
    """Answers the commands of VIEW_COMMANDS, each for the end of a draw."""

    def __init__(self, open_trace: Opener, part: Part | None, options: Options, look: Look) -> None:
        """`look` calls a function with the device under the debugger."""
        self._open, self._part, self._options, self._look = open_trace, part, options, look
        self._requests: SimpleQueue[tuple[str, dict[str, Any], Reply] | None] = SimpleQueue()
        self._timeline: Timeline | None = None
        self._at = -1  # the draw after which the device rests
        self._memory: Memory | None = None
        self._gen = Gen.ALL4  # once it has been somewhere
        self._targets: dict[int, tuple[Target, ...]] = {}
        self._pictures: OrderedDict[tuple[int, Target], _Picture] = OrderedDict()
        self._cached_bytes = 0
        self._thread = threading.Thread(target=self._run, name="view", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._requests.put(None)
        self._thread.join(2)

    def ask(self, command: str, head: dict[str, Any], reply: Reply) -> None:
        """Execute a command after those before it; `head` goes into the header of the answer."""
        self._requests.put((command, head, reply))

    def _run(self) -> None:
        while (request := self._requests.get()) is not None:
            command, head, reply = request
            try:
                answer = self._command(command, head)
                if isinstance(answer, Target):
                    self._look(_live(answer, head, reply))
                else:
                    reply(answer)
            except HangError as e:
                self._forget()
                reply({**head, "error": f"the GPU hangs before that: {e}"})
            except (Gen4emuError, OSError, MemoryError) as e:
                self._forget()
                reply({**head, "error": str(e) or "out of memory"})
        if self._timeline is not None:
            self._timeline.close()

    def _forget(self) -> None:
        self._at, self._memory = -1, None

    def _command(self, line: str, head: dict[str, Any]) -> Answer | Target:
        try:
            name, *arguments = shlex.split(line)
        except ValueError as e:
            raise Usage(str(e)) from None
        known: dict[str, Callable[[list[str], dict[str, Any]], Answer | Target]] = {
            "picture": self._picture, "pixel": self._pixel, "tree": self._tree, "memory": self._dump,
            "struct": self._struct, "image": self._image, "live": self._live, "maps": self._maps, "mesh": self._mesh,
            "change": self._change}
        return known[name](arguments, head)

    # --- going places ---------------------------------------------------------------------------------------------
    def _go(self, draw: int) -> Memory:
        """The memory after a draw."""
        if self._timeline is None:
            self._timeline = Timeline(self._open(), self._part, self._options)
        if self._at != draw or self._memory is None:
            self._arrive(draw)
        assert self._memory is not None
        return self._memory

    def _arrive(self, draw: int, attach: Callable[[Device], None] | None = None,
                on_draw: Callable[[int], None] | None = None, first: int | None = None) -> Device:
        """Execute the trace to the end of a draw, as Timeline.goto does."""
        self._forget()
        assert self._timeline is not None
        device = self._timeline.goto(draw, attach, on_draw, first).device
        self._memory, self._at, self._gen = device.memory, draw, device.info.gen
        self._targets[draw] = device.targets.latest
        return device

    # --- commands -------------------------------------------------------------------------------------------------
    def _picture(self, a: list[str], head: dict[str, Any]) -> Answer:
        """picture DRAW [after|before] [INDEX]: a target of a draw."""
        if not 1 <= len(a) <= 3 or (len(a) > 1 and a[1] not in ("after", "before")):
            raise Usage("usage: picture DRAW [after|before] [INDEX]")
        draw = number(a[0], "draw")
        before = len(a) > 1 and a[1] == "before"
        if draw not in self._targets:
            self._go(draw)
        targets = views.ordered(self._targets[draw])
        titles = [views.title(target) for target in targets]
        if not targets:
            return {**head, "targets": [], "draw": draw}
        index = number(a[2], "target", len(targets) - 1) if len(a) > 2 else 0
        if before and not draw:
            raise Usage("draw 0 has no draw before it")
        found = self._target(draw - before, targets[index])
        return packed({**head, **found.head, "targets": titles, "index": index, "draw": draw}, found.pixels)

    def _target(self, draw: int, target: Target) -> _Picture:
        known = self._pictures.get((draw, target))
        if known is None:
            known = _picture_of(self._go(draw), target)
            self._pictures[draw, target] = known
            self._cached_bytes += len(known.pixels)
            while self._cached_bytes > _CACHE_BYTES and len(self._pictures) > 1:
                self._cached_bytes -= len(self._pictures.popitem(last=False)[1].pixels)
        self._pictures.move_to_end((draw, target))
        return known

    def _live(self, a: list[str], head: dict[str, Any]) -> Target:
        """live DRAW [INDEX]: a target of a draw, as the device under the debugger has it now."""
        if not 1 <= len(a) <= 2:
            raise Usage("usage: live DRAW [INDEX]")
        draw = number(a[0], "draw")
        if draw not in self._targets:
            self._go(draw)
        targets = views.ordered(self._targets[draw])
        if not targets:
            raise Usage(f"draw {draw} has no picture")
        return targets[number(a[1], "target", len(targets) - 1) if len(a) > 1 else 0]

    def _pixel(self, a: list[str], head: dict[str, Any]) -> Answer:
        """pixel DRAW X Y [INDEX]: the history of a pixel of a target, up to the end of a draw, newest first."""
        if not 3 <= len(a) <= 4:
            raise Usage("usage: pixel DRAW X Y [INDEX]")
        draw, x, y = number(a[0], "draw"), number(a[1], "x", _MOST_SIDE - 1), number(a[2], "y", _MOST_SIDE - 1)
        if draw not in self._targets:
            self._go(draw)
        targets = views.ordered(self._targets[draw])
        index = number(a[3], "target", max(0, len(targets) - 1)) if len(a) > 3 else 0
        chosen = targets[index] if targets and targets[index].kind != "depth" else None
        assert self._timeline is not None
        found = record(self._timeline.trace, self._part, self._options, x, y, Place(0, 0, draw))
        address = None if chosen is None else chosen.address
        entries = [entry for entry in found.entries if address is None or found.target_of(entry) == address]
        shown = []
        for entry in reversed(entries[-_MOST_ENTRIES:]):
            of = found.object_of(entry) if isinstance(entry, Fragment) else None
            text = entry.fate.value if isinstance(entry, Fragment) else "changed without a fragment"
            shown.append({**entry.as_json(), "text": text, "from": None if of is None else of.as_json()})
        return {**head, "pixel": [x, y], "draw": draw, "verdict": found.verdict(address), "entries": shown,
                "more": len(entries) - len(shown) + found.dropped, "hang": found.hang or None}

    def _tree(self, a: list[str], head: dict[str, Any]) -> Answer:
        """tree DRAW X Y OBJECT: what the color of a fragment was computed from."""
        if len(a) != 4:
            raise Usage("usage: tree DRAW X Y OBJECT")
        draw, x, y = number(a[0], "draw"), number(a[1], "x", _MOST_SIDE - 1), number(a[2], "y", _MOST_SIDE - 1)
        wanted = number(a[3], "object")
        self._go(draw)
        assert self._timeline is not None
        session = Session(self._timeline.trace, self._part, self._options, lambda stop: DebugAction.GO,
                          lambda words: None, lambda message: None)
        history = session.history(x, y, Place(0, 0, draw))
        entries = history.entries
        while entries and (entries[-1].place.draw, getattr(entries[-1], "object", None)) != (draw, wanted):
            entries.pop()
        if not entries:
            raise Usage(f"object {wanted} of draw {draw} has no fragment at {x},{y}")
        return {**head, "tree": why(session, history, entries[-1].target).as_json()}

    def _maps(self, a: list[str], head: dict[str, Any]) -> Answer:
        """maps DRAW [FIRST]: the overlays of a draw, or of all from draw FIRST on that write the same surface."""
        if not 1 <= len(a) <= 2:
            raise Usage("usage: maps DRAW [FIRST]")
        draw = number(a[0], "draw")
        first = number(a[1], "first draw", draw) if len(a) > 1 else draw
        if draw not in self._targets:
            self._go(draw)
        targets = views.ordered(self._targets[draw])
        if not targets:
            raise Usage(f"draw {draw} has no picture")
        sums = SummedOverlays(targets[0])
        devices: list[Device] = []

        def attach(device: Device) -> None:
            devices.append(device)
            device.counting = True
            device.count_lines()
            device.map_pixels()

        self._arrive(draw, attach, lambda n: sums.draw_done(devices[-1], n >= first), first)
        return {**head, "chunk": sums.encoded()}

    def _mesh(self, a: list[str], head: dict[str, Any]) -> Answer:
        """mesh DRAW: its vertices after each stage."""
        if len(a) != 1:
            raise Usage("usage: mesh DRAW")
        draw = number(a[0], "draw")
        if self._timeline is None:
            self._timeline = Timeline(self._open(), self._part, self._options)
        device = self._arrive(draw, Device.record_meshes)
        with closing(self._open()) as trace:
            found = mesh_of(trace, draw, device)
        return {**head, "chunk": deflated_json(found)}

    def _dump(self, a: list[str], head: dict[str, Any]) -> Answer:
        """memory ADDRESS BYTES DRAW."""
        if len(a) != 3:
            raise Usage("usage: memory ADDRESS BYTES DRAW")
        memory = self._go(number(a[2], "draw"))
        address, size = address_in(a[0], memory), number(a[1], "size", _MOST_DUMP_BYTES, 1)
        data = memory.read(address, min(size, memory.size - address), Missing.ZERO)
        return packed({**head, "address": address}, data)

    def _change(self, a: list[str], head: dict[str, Any]) -> Answer:
        """change ADDRESS BYTES DRAW: the draw or upload that changed memory last, up to the end of a draw."""
        if len(a) != 3:
            raise Usage("usage: change ADDRESS BYTES DRAW")
        draw = number(a[2], "draw")
        memory = self._go(draw)
        address = address_in(a[0], memory)
        part = address, min(number(a[1], "size", _MOST_DUMP_BYTES, 1), memory.size - address)
        assert self._timeline is not None
        change = MemoryChanges(self._timeline.trace, self._part, self._options, self._timeline.kept,
                               draw + 1).find([part])[part]
        return {**head, "text": change.text, "change": change.as_json()}

    def _struct(self, a: list[str], head: dict[str, Any]) -> Answer:
        """struct NAME ADDRESS DRAW, or the names alone."""
        if len(a) not in (1, 3):
            raise Usage("usage: struct NAME ADDRESS DRAW, or struct DRAW for the names")
        memory = self._go(number(a[-1], "draw"))
        names = views.block_names(self._gen)
        if len(a) == 1:
            return {**head, "names": names}
        if a[0] not in names:
            raise Usage(f"unknown block {a[0]!r}")
        return {**head, **views.block_view(memory, a[0], address_in(a[1], memory), self._gen).as_json()}

    def _image(self, a: list[str], head: dict[str, Any]) -> Answer:
        """image ADDRESS FORMAT WIDTH HEIGHT PITCH TILING DRAW: memory as a picture."""
        if len(a) != 7:
            raise Usage("usage: image ADDRESS FORMAT WIDTH HEIGHT PITCH linear|x|y DRAW")
        memory = self._go(number(a[6], "draw"))
        found = _picture_of(memory, surface_of(a[:6], memory))
        return packed({**head, **found.head}, found.pixels)


def _live(target: Target, head: dict[str, Any], reply: Reply) -> Callable[[Device | None], None]:
    """A function that answers with a target in the memory of a device."""
    def answer(device: Device | None) -> None:
        try:
            if device is None:
                raise Usage("the debugger has not started: `draw N` goes to a draw")
            found = _picture_of(device.memory, target)
            reply(packed({**head, **found.head, "place": str(device.place)}, found.pixels))
        except (Gen4emuError, MemoryError) as e:
            reply({**head, "error": str(e) or "out of memory"})

    return answer


def _picture_of(memory: Memory, target: Target) -> _Picture:
    pixels = read_pixels(memory, target)
    height, width = pixels.shape[:2]
    head = {"width": width, "height": height, "wide": pixels.dtype == np.uint16, "title": views.title(target)}
    return _Picture(head, canvas_bytes(pixels))
