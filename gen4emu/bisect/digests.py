"""Digests of the surfaces that each draw of a trace has written, and files of them.

A file has a line of JSON for the head, one for each draw, and one for the end, so that a file that was cut is noticed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import gen4emu
from gen4emu.api.trace import Draw, Trace
from gen4emu.device.memory import Memory
from gen4emu.device.targets import Target
from gen4emu.device.tiling import SurfaceLayout
from gen4emu.errors import FieldError, Gen4emuError, HangError, TraceError
from gen4emu.hw.formats import format_info
from gen4emu.image.digest import Blake3
from gen4emu.trace.output import Output

SCHEMA = "gen4emu.digests/1"
_MOST_LINE_BYTES = 1 << 20  # of a line of a file


@dataclass(frozen=True, slots=True)
class TargetDigest:
    """A surface after a draw that has written it."""

    kind: str
    address: int
    format: str
    width: int
    height: int
    level: int
    slice: int
    digest: str  # of the exact bytes; empty if the surface cannot be read

    def is_like(self, other: TargetDigest) -> bool:
        """Whether both have the same pixels, wherever they lie."""
        return self.shape == other.shape and self.digest == other.digest

    @property
    def shape(self) -> tuple[str, str, int, int]:
        return self.kind, self.format, self.width, self.height


@dataclass(frozen=True, slots=True)
class DrawDigest:
    """A draw and the surfaces that it has written."""

    number: int
    frame: int
    submission: int
    address: int
    name: str
    topology: str
    vertices: int
    instances: int
    targets: tuple[TargetDigest, ...]

    @property
    def key(self) -> tuple[str, str, int, int]:
        """The part that two executions share if they do the same work."""
        return self.name, self.topology, self.vertices, self.instances

    def __str__(self) -> str:
        what = f"{self.name} {self.topology}".strip()
        return f"draw {self.number} ({what}{f', {self.vertices} vertices' if self.vertices else ''})"

    def first_difference(self, other: DrawDigest) -> int | None:
        """The index of the first target that differs; None if there is none."""
        pairs = zip(self.targets, other.targets, strict=False)
        for index, (left, right) in enumerate(pairs):
            if not left.is_like(right):
                return index
        if len(self.targets) != len(other.targets):
            return min(len(self.targets), len(other.targets))
        return None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def surface_bytes(memory: Memory, target: Target) -> bytes:
    """The exact bytes of an image of a surface, row by row, whatever its tiling; then those of its chroma planes."""
    info = format_info(int(target.format))
    if info is None:
        raise FieldError(f"format 0x{int(target.format):03x} is reserved")
    columns, rows = -(-target.width // info.block_width), -(-target.height // info.block_height)
    layout = SurfaceLayout(target.address, target.pitch, target.x + columns, target.y + rows, info.block_bits // 8,
                           target.tiling)
    planes = [bytes(layout.read(memory, target.x, target.y, columns, rows))]
    return b"".join([*planes, *(surface_bytes(memory, plane) for plane in target.chroma)])


def target_digest(memory: Memory, target: Target) -> TargetDigest:
    """The digest of an image in memory."""
    try:
        digest = Blake3(surface_bytes(memory, target)).hexdigest()
    except FieldError:  # it leaves the address space, or its pitch is less than its width
        digest = ""
    return TargetDigest(target.kind, target.address, target.format.name, target.width, target.height, target.level,
                        target.slice, digest)


def digest_of(draw: Draw) -> DrawDigest:
    """The digests of a draw that has just ended."""
    targets = tuple(target_digest(draw.memory, target) for target in draw.device.targets.latest)
    return DrawDigest(draw.number, draw.place.frame, draw.place.submission, draw.command.address,
                      draw.command.body.name, draw.topology or "", draw.vertex_count or 0, draw.instance_count or 0,
                      targets)


class Stream:
    """The draws of one side, one after the other; a hang ends them."""

    def __init__(self, name: str, rows: Iterator[DrawDigest]) -> None:
        self.name, self.hang = name, ""
        self._rows = rows
        self._ahead: list[DrawDigest] = []
        self._ended = False

    def window(self, size: int) -> list[DrawDigest]:
        """The next draws, which `skip` takes; fewer at the end."""
        while len(self._ahead) < size and not self._ended:
            try:
                row = next(self._rows, None)
            except HangError as e:
                self.hang, row = e.reason or str(e), None
            if row is None:
                self._ended = True
            else:
                self._ahead.append(row)
        return self._ahead[:size]

    def skip(self, count: int) -> None:
        del self._ahead[:count]


def execute(trace: Trace) -> Stream:
    """Execute a trace and digest each draw."""
    return Stream(trace.path, (digest_of(draw) for draw in trace.draws()))


# --- files ------------------------------------------------------------------------------------------------------------
def write(path: str | os.PathLike[str], trace: Trace, stream: Stream, name: str = "") -> int:
    """Write a file of digests; return the number of draws.  The file gets its name when it is complete.

    `name` is the name of the trace, if its file has a different one now.
    """
    device = trace.device
    with Output(path) as file:
        def line(value: dict[str, Any]) -> None:
            file.write(json.dumps(value).encode() + b"\n")

        line({"schema": SCHEMA, "file": name or trace.path, "device": None if device is None else device.name,
              "version": gen4emu.__version__})
        count = 0
        for row in _rows(stream):
            line(row.as_json())
            count += 1
        line({"draws": count, "hang": stream.hang or None})
    return count


def _rows(stream: Stream) -> Iterator[DrawDigest]:
    while window := stream.window(1):
        stream.skip(1)
        yield window[0]


def read(path: str | os.PathLike[str]) -> Stream:
    """The draws of a file that `write` has made."""
    name = os.fspath(path)
    lines = open(name, "rb")  # noqa: SIM115 - the generator closes it
    head = _parse(name, 1, lines.readline(_MOST_LINE_BYTES))
    if head.get("schema") != SCHEMA:
        lines.close()
        raise TraceError(name, None, f"is not a file of digests: it does not begin with the schema {SCHEMA}")

    def rows() -> Iterator[DrawDigest]:
        with lines:
            for number, value in _numbered(name, lines):
                if "draws" in value:
                    if value.get("hang"):
                        raise HangError(str(value["hang"]))
                    return
                yield _draw(name, number, value)
        raise TraceError(name, None, "is cut short: it has no last line")

    return Stream(name, rows())


def _numbered(name: str, lines: Any) -> Iterable[tuple[int, dict[str, Any]]]:
    number = 1
    while text := lines.readline(_MOST_LINE_BYTES):
        number += 1
        yield number, _parse(name, number, text)


def _parse(name: str, number: int, text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise TraceError(name, None, f"line {number} is not an object of JSON")
    return value


_TYPES = {"str": str, "int": int}


def _draw(name: str, number: int, value: dict[str, Any]) -> DrawDigest:
    try:
        targets = value["targets"]
        if not isinstance(targets, list):
            raise TypeError("targets is not a list")
        return DrawDigest(**_typed(DrawDigest, {**value, "targets": ()}),
                          targets=tuple(TargetDigest(**_typed(TargetDigest, target)) for target in targets))
    except (KeyError, TypeError) as e:
        raise Gen4emuError(f"{name}: line {number} is not a draw: {e}") from None


def _typed(kind: type[DrawDigest | TargetDigest], value: Any) -> dict[str, Any]:
    """The members of a value with the types that the class declares, without `targets`."""
    if not isinstance(value, dict):
        raise TypeError("a target is not an object")
    members = {member: str(of) for member, of in kind.__annotations__.items() if member != "targets"}
    for member, of in members.items():
        if type(value.get(member)) is not _TYPES[of]:
            raise TypeError(f"{member} is {value.get(member)!r}")
    return {member: value[member] for member in members}
