"""Files of results: a line of JSON for each case of a run (docs/suite.md)."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import gen4emu
from gen4emu.check.results import BAD, Outcome
from gen4emu.errors import DecodeError
from gen4emu.trace.output import append

SCHEMA = "gen4emu.results/1"
_MOST_BYTES = 1 << 30
_MOST_SECONDS = 1e9
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "suite": str, "name": str, "device": str, "outcome": str, "seconds": (int, float), "digest": str,
    "messages": list, "reason": str, "host": str, "version": str, "details": dict}


@cache
def host() -> str:
    return socket.gethostname()


@dataclass(slots=True)
class Line:
    """The result of a case, of any suite."""

    suite: str  # traces, piglit, deqp
    name: str  # unique in its suite
    device: str
    outcome: Outcome
    seconds: float = 0.0
    digest: str = ""  # of everything that was drawn; empty if the suite has none
    messages: list[str] = field(default_factory=list)
    reason: str = ""  # of the list that the case is on
    host: str = field(default_factory=host)
    version: str = gen4emu.__version__
    details: dict[str, Any] = field(default_factory=dict)  # of the suite

    @property
    def key(self) -> tuple[str, str, str]:
        return self.suite, self.device, self.name

    @property
    def is_bad(self) -> bool:
        return self.outcome in BAD

    def to_json(self) -> str:
        return json.dumps({"schema": SCHEMA, **asdict(self)}, separators=(",", ":"))


def read(path: Path, *, cut_is_fine: bool = False) -> list[Line]:
    """All results of a file.  A last line without its end, as a run that was killed leaves it, is left out or an error.
    """
    return [_line(path, number, text) for number, text in enumerate(_texts(path, cut_is_fine), 1)]


def _texts(path: Path, cut_is_fine: bool) -> list[bytes]:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as e:
        raise DecodeError(f"{path}: {e.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise DecodeError(f"{path}: has more than {_MOST_BYTES >> 20} MiB")
    texts = data.split(b"\n")
    if texts.pop() and not cut_is_fine:
        raise DecodeError(f"{path}: line {len(texts) + 1} is cut short: was the run killed? --resume continues it")
    return texts


def _line(path: Path, number: int, text: bytes) -> Line:
    where = f"{path}: line {number}"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise DecodeError(f"{where}: is not JSON") from None
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise DecodeError(f"{where}: is not a result ({SCHEMA})")
    for name, kind in _TYPES.items():
        if not isinstance(value.get(name), kind) or isinstance(value[name], bool):
            raise DecodeError(f"{where}: {name}: {json.dumps(value.get(name))[:80]} is invalid")
    if not all(isinstance(message, str) for message in value["messages"]):
        raise DecodeError(f"{where}: messages: is not a list of texts")
    if not 0 <= value["seconds"] <= _MOST_SECONDS:
        raise DecodeError(f"{where}: seconds: {str(value['seconds'])[:80]} is invalid")
    try:
        outcome = Outcome(value["outcome"])
    except ValueError:
        raise DecodeError(f"{where}: outcome: {value['outcome']!r} is not one of {', '.join(Outcome)}") from None
    return Line(**{f.name: value[f.name] for f in fields(Line)} | {"outcome": outcome})


class Writer:
    """Adds lines to a file, each whole at once.

    Without `resume` the file is emptied. With it, `done` has the lines of the file; one that was cut short is removed.
    """

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        self.done: list[Line] = []
        if resume and path.exists():
            self.done = read(path, cut_is_fine=True)
            kept = sum(len(text) + 1 for text in _texts(path, True))
            with path.open("r+b") as file:
                file.truncate(kept)
        self._file = path.open("ab" if resume else "wb", buffering=0)

    def add(self, line: Line) -> None:
        append(self._file, line.to_json().encode() + b"\n")

    def close(self) -> None:
        self._file.close()


def durations(lines: Iterable[Line], suite: str) -> dict[str, float]:
    """Seconds by name, the latest ones."""
    return {line.name: line.seconds for line in lines if line.suite == suite and line.outcome is not Outcome.SKIP}
