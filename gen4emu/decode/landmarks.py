"""Places at which decoding can begin, with the part of the trace before them that still matters.

State in force was set by few submissions, which are decoded again, with memory as it was then.  Kernels have the
same numbers as in a decoder that has seen the whole trace.
"""

from __future__ import annotations

from collections.abc import Iterator

from gen4emu.decode.document import Document
from gen4emu.decode.nodes import Command, Item, SubmissionStart
from gen4emu.decode.options import Options
from gen4emu.decode.state_parts import parts_of, sets_state
from gen4emu.device.landmarks import Landmark, Landmarks
from gen4emu.errors import DecodeError, Gen4emuError
from gen4emu.trace.reader import Trace

LANDMARK_DRAWS = 32  # between two places, at least
_SUBMISSIONS = 64  # between two places, if few of them draw
_MOST = 1024
_MOST_NEEDED = 4096  # submissions before a place: a trace may use another context in each one
_BASES = "STATE_BASE_ADDRESS"

_Place = tuple[int, int]  # a submission, and the draws before it
_Part = tuple[str, object]
_Setters = dict[_Part, tuple[_Place, frozenset[_Place]]]  # where each part was set, and the bases of that time


class _Finder:
    """Notes where the state in force was set."""

    def __init__(self, document: Document, draws: int) -> None:
        self.document, self._draws = document, draws
        self._contexts: dict[int, _Setters] = {}
        self._bases: dict[int, frozenset[_Place]] = {}  # by context
        self._registers: _Setters = {}
        self._uses: dict[_Place, int] = {}  # parts, in all contexts, that were set at a place or with its bases
        self._now: _Place = (0, 0)
        self._submissions = _SUBMISSIONS
        self.places: list[Landmark] = []

    def begin(self, submission: int) -> None:
        """A submission begins."""
        draws = self.document.draws
        self._now = submission, draws
        last = self.places[-1] if self.places else Landmark(0, 0, (), 0, 0, None)
        if draws - last.draws < self._draws and submission - last.submission < self._submissions:
            return
        if len(self._uses) > _MOST_NEEDED:
            return
        calls, topology = self.document.gl.waiting
        self.places.append(Landmark(submission, draws, tuple(sorted(self._uses)), self._kernels, calls, topology))
        if len(self.places) > _MOST:
            del self.places[::2]
            self._draws *= 2
            self._submissions *= 2

    @property
    def _kernels(self) -> int:
        return 0 if self.document.decoder is None else self.document.decoder.kernels.count

    def command(self, command: Command) -> None:
        assert self.document.decoder is not None
        name, context = command.body.name, self.document.decoder.context.number
        if name == "MI_LOAD_REGISTER_IMM":
            self._set(self._registers, (str(context), command.body.words[1::2]), frozenset())
        elif command.draw is None and sets_state(command):
            setters = self._contexts.setdefault(context, {})
            bases = self._bases.get(context, frozenset())
            for part in parts_of(name, command.body.view):
                self._set(setters, (name, part), bases)
            if name == _BASES:
                self._bases[context] = frozenset(place for (of, _), (place, _) in setters.items() if of == _BASES)

    def _set(self, setters: _Setters, part: _Part, bases: frozenset[_Place]) -> None:
        """A part is set now; `_uses` follows, so that a landmark does not visit all parts of all contexts."""
        place, before = setters.get(part, (None, frozenset()))
        setters[part] = self._now, bases
        for at in (self._now, *bases):
            self._uses[at] = self._uses.get(at, 0) + 1
        for at in () if place is None else (place, *before):
            self._uses[at] -= 1
            if not self._uses[at]:
                del self._uses[at]


def find_landmarks(trace: Trace, draws: int = LANDMARK_DRAWS) -> Landmarks:
    """The places in a trace, `draws` apart, up to where it can be decoded."""
    document = Document(trace, file=trace.path, container=trace.kind, options=Options(max_rows=0))
    finder = _Finder(document, draws)
    kernels: dict[bytes, None] = {}
    has_gl: bool | None = None
    try:
        for item in _items(document, kernels):
            if isinstance(item, SubmissionStart):
                finder.begin(item.number)
            elif isinstance(item, Command):
                finder.command(item)
        has_gl = document.gl.present
    except Gen4emuError:
        pass  # decoding reports the error when it gets there
    return Landmarks(tuple(finder.places), tuple(kernels), has_gl)


def _items(document: Document, kernels: dict[bytes, None]) -> Iterator[Item]:
    """The items of a document; its kernels are collected in the order of their numbers.

    Raises DecodeError where the decoder forgets kernels.
    """
    for item in document:
        if document.decoder is not None and document.decoder.kernels.count != len(kernels):
            kernels.update(dict.fromkeys(document.decoder.kernels.by_code))
            if document.decoder.kernels.count != len(kernels):
                raise DecodeError("too many kernels")
        yield item
