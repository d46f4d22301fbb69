"""The output of Mesa's drivers about the shaders that they compile, taken from a program's standard error.

INTEL_DEBUG makes a driver print the NIR of each shader, and its code with a SHA-1.  `gen4emu capture --gl` gives the
program a pipe as standard error, keeps these sections for the capture and passes on everything else.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self

from gen4emu.core_enums import NoteKind
from gen4emu.hw.chips import Device as Chip
from gen4emu.hw.gen import Gen
from gen4emu.trace.gl_notes import MAX_NOTE_BYTES, GlNote, driver_note

_STDERR = 2
_READ_BYTES = 1 << 16
_MOST_BYTES = 1 << 26  # of sections that are kept
_MOST_LOST = 1 << 12  # sections that are reported as missing
_MOST_LINE = 4096  # bytes of a line that may begin a section
_SECTION = re.compile(rb"(NIR \(.*\) for .* shader:|Native code for .*sha1 [0-9a-f]{40}\):?|"
                      rb"(?:VS|TCS|TES|GS) (?:Input |Output )?[VP]UE map \(.*)$")
_HEADS = (b"NIR (", b"Native code for ", b"ATTENTION: default value of option ", b"crocus_",
          *(b"%s %s" % (stage, end) for stage in (b"VS", b"TCS", b"TES", b"GS") for end in (b"Input ", b"Output ")))
# Lines that only the variables set here cause: Mesa reports some of them, and crocus its resolves with "blorp".
_NOTICE = re.compile(rb"ATTENTION: default value of option (mesa_glthread|sync_compile) overridden by environment\.$|"
                     rb"crocus_(resolve_color|mcs_partial_resolve|hiz_exec)\b.* to res 0x[0-9a-f]+ .*layers? [\d-]+$")
# After its maps, the compiler for four-component shaders may print its instructions, numbered from 0.
_NUMBERED = re.compile(rb" *(\d{1,7}): .")
_PART_OF_NUMBERED = re.compile(rb" *(?:\d{1,7}(?:: ?.*)?)?$")
_STAGES = ("vs", "fs", "cs", "blorp")
# On older generations, "gs" also prints the driver's own kernels, in a form that nothing marks.
_STAGES_GEN7 = ("gs", "tcs", "tes")
_ALIASES = frozenset({"wm", "hs", "ds", "all"})


class Sections:
    """Separates the driver's sections from other output; `keep` gets each that is complete."""

    def __init__(self, keep: Callable[[bytes], None]) -> None:
        self._keep = keep
        self._tail = b""  # of a line that is not complete
        self._section: list[bytes] = []  # lines
        self._bytes = 0
        self._ends = False  # whether a blank line ends the section
        self._instruction = -1  # the number that the next line may have

    def feed(self, data: bytes) -> bytes:
        """The next output; returns what is not the driver's."""
        *lines, self._tail = (self._tail + data).split(b"\n")
        passed = b"".join(self._line(line) for line in lines)
        if self._section or (self._tail and len(self._tail) < _MOST_LINE and self._may_begin(self._tail)):
            if len(self._tail) > MAX_NOTE_BYTES:
                self._tail = b""  # of a line that the note would not hold
            return passed
        tail, self._tail = self._tail, b""
        return passed + tail

    def _may_begin(self, tail: bytes) -> bool:
        """Whether a line that begins so may be the driver's."""
        return (any(head.startswith(tail) or tail.startswith(head) for head in _HEADS)
                or (self._instruction >= 0 and _PART_OF_NUMBERED.match(tail) is not None))

    def rest(self) -> bytes:
        """At the end: what did not become a section."""
        waiting, self._section = [*self._section, self._tail], []
        self._tail = b""
        return b"\n".join(waiting)

    def _line(self, line: bytes) -> bytes:
        if _SECTION.match(line, 0, _MOST_LINE):
            if self._section:
                self._complete()  # mixed with the output of another thread
            self._section, self._bytes, self._ends = [line], len(line), b"UE map" in line
        elif self._section:
            if not line and self._ends:
                self._complete()
                return b""
            self._ends = self._ends if b"UE map" in self._section[0] else line == b"}" or line.startswith(b"   END B")
            if self._bytes < MAX_NOTE_BYTES:
                self._section.append(line)
                self._bytes += len(line) + 1
        elif self._instruction >= 0 and (found := _NUMBERED.match(line)) and int(found[1]) == self._instruction:
            self._instruction += 1
        elif not _NOTICE.match(line):
            self._instruction = -1
            return line + b"\n"
        return b""

    def _complete(self) -> None:
        lines, self._section = self._section, []
        is_map = b"UE map" in lines[0]
        self._instruction = 0 if is_map else -1
        if not is_map:
            self._keep(b"\n".join([*lines, b""]))


class DriverOutput:
    """The standard error of a program.  Enter it before the program starts, and leave it when the program has ended."""

    def __init__(self, chip: Chip, environment: Mapping[str, str]) -> None:
        """`environment`: the user's variables, which may ask for the same output."""
        stages = _STAGES if chip.gen & (Gen.ALL4 | Gen.GEN6) else _STAGES + _STAGES_GEN7
        own = environment.get("INTEL_DEBUG", "")
        self.variables = {"INTEL_DEBUG": ",".join(([own] if own else []) + list(stages)),
                          "MESA_SHADER_CACHE_DISABLE": "true"}  # shaders of the cache are not compiled
        if chip.gen & (Gen.GEN8 | Gen.GEN9):
            self.variables["sync_compile"] = "true"  # iris would compile in several threads
        self._echoes = bool({*_STAGES, *_STAGES_GEN7, *_ALIASES} & set(re.split(r"[\s,;:]+", own)))
        self._notes: list[GlNote] = []
        self._kept = 0  # bytes
        self._lost = 0  # sections
        self._sections = Sections(self._keep)
        self._lock = threading.Lock()
        self._ended = False
        self._passes = True
        self._is_open = False
        self._thread = threading.Thread(target=self._run, name="driver output")

    def open(self) -> None:
        """Make the pipe, before a process that reads it is forked from the one that starts the program."""
        if not self._is_open:
            self._is_open = True
            self._pipe, self.descriptor = os.pipe()
            self._stopped, self._stop = os.pipe()
            os.set_blocking(self._pipe, False)
            self._capacity = fcntl.fcntl(self._pipe, fcntl.F_GETPIPE_SZ)

    def __enter__(self) -> Self:
        self.open()
        self._thread.start()
        return self

    def started(self) -> None:
        """The program has the other end of the pipe, or another process gives it to the program."""
        os.close(self.descriptor)
        self.descriptor = -1

    def leave(self) -> None:
        """Close the pipe in a process that does not read it."""
        if self.descriptor >= 0:
            self.started()
        for descriptor in (self._pipe, self._stopped, self._stop):
            os.close(descriptor)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self.descriptor >= 0:
            self.started()
        os.close(self._stop)
        self._thread.join()
        self._drain()  # processes that the program has left behind may keep the pipe open
        if not self._echoes:
            self._pass(self._sections.rest())
        os.close(self._pipe)
        os.close(self._stopped)

    def notes(self, first: int) -> Sequence[GlNote]:
        """All notes from the number `first` on, about what the program has printed up to now."""
        self._drain()
        with self._lock:
            return self._notes[first:]

    def _run(self) -> None:
        while not self._ended:
            if self._stopped in select.select([self._pipe, self._stopped], [], [])[0]:
                return
            self._drain()

    def _drain(self) -> None:
        with self._lock:
            count = 0
            while not self._ended and count < self._capacity:  # more was printed meanwhile
                try:
                    data = os.read(self._pipe, _READ_BYTES)
                except BlockingIOError:
                    return
                self._ended = not data
                count += len(data)
                passed = self._sections.feed(data)
                self._pass(data if self._echoes else passed)

    def _keep(self, section: bytes) -> None:
        if self._kept + len(section) > _MOST_BYTES:
            if self._lost < _MOST_LOST:
                self._notes.append(GlNote(NoteKind.LOST, 0, (1,)))
            self._lost += 1
            return
        self._kept += len(section)
        self._notes.append(driver_note(section))

    def _pass(self, data: bytes) -> None:
        while data and self._passes:
            try:
                data = data[os.write(_STDERR, data):]
            except OSError:
                self._passes = False  # it is closed, which must not end the capture
