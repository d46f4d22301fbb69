"""Writes i915 error states as Linux 5.6 and later print them.

Knows the layout, not the device: the contents come in a `Report`.  No date is written, so equal hangs give equal files.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gen4emu.trace import ascii85
from gen4emu.trace.events import Engine

_NAMES = {Engine.RENDER: "rcs0", Engine.BSD: "vcs0", Engine.BLT: "bcs0", Engine.VEBOX: "vecs0"}
_MASKS = {Engine.RENDER: 1, Engine.BSD: 2, Engine.BLT: 4, Engine.VEBOX: 8}
_FILE_FENCE_DIGITS = 16


@dataclass(slots=True, frozen=True)
class Section:
    """The contents of a buffer; `kind` is the kernel's name: batch, ring, user, HW Status."""

    kind: str
    address: int
    data: bytes


@dataclass(slots=True)
class Report:
    """The contents of an error state, in the order of printing."""

    engine: Engine
    pci_id: int
    platform: str
    creator: str
    reason: str = ""
    process: str = ""
    pid: int = 0
    gen: int = 4
    registers: list[tuple[str, int]] = field(default_factory=list)
    fences: list[int] = field(default_factory=list)
    engine_registers: list[tuple[str, int]] = field(default_factory=list)
    request_head: int | None = None  # ring offsets of the request that hung
    request_tail: int = 0
    batch: tuple[int, int] | None = None  # first and last address but one


def write_report(report: Report, sections: Sequence[Section] | Iterator[Section],
                 write: Callable[[bytes], object]) -> None:
    """Write the whole file, piece by piece."""
    for line in _lines(report):
        write(line.encode("utf-8", "replace") + b"\n")
    name = _NAMES[report.engine]
    for section in sections:
        title = f"{name} --- {section.kind} = 0x{section.address >> 32:08x} {section.address & 0xFFFFFFFF:08x}\n"
        write(title.encode())
        write(b":" + ascii85.encode(zlib.compress(section.data, 1)) + b"\n")


def _lines(report: Report) -> Iterator[str]:
    known = dict(report.engine_registers)
    code = known.get("IPEHR", 0) ^ known.get("INSTDONE", 0)
    process = _one_line(report.process) or "unknown"
    yield f"GPU HANG: ecode {report.gen}:{_MASKS[report.engine]:x}:{code:08x}, in {process} [{report.pid}]"
    yield f"Kernel: {_one_line(report.creator)}"
    if report.reason:
        yield f"Reason: {_one_line(report.reason)}"
    yield f"Active process (on ring {_NAMES[report.engine]}): {process} [{report.pid}]"
    yield f"Platform: {report.platform}"
    yield f"PCI ID: 0x{report.pci_id:04x}"
    for name, value in report.registers:
        yield f"{name}: 0x{value:08x}"
    for number, value in enumerate(report.fences):
        yield f"  fence[{number}] = {value:0{_FILE_FENCE_DIGITS}x}"
    yield f"{_NAMES[report.engine]} command stream:"
    for name, value in report.engine_registers:
        yield f"  {name}: {_register(report, name, value)}"
    if report.batch is not None:
        start, end = report.batch
        yield f"  batch: [0x{start >> 32:08x}_{start & 0xFFFFFFFF:08x}, 0x{end >> 32:08x}_{end & 0xFFFFFFFF:08x}]"
    yield "  hung: 1"


def _register(report: Report, name: str, value: int) -> str:
    if name == "ACTHD":
        return f"0x{value >> 32:08x} {value & 0xFFFFFFFF:08x}"
    if report.request_head is not None and name == "HEAD":
        return f"0x{value:08x} [0x{report.request_head:08x}]"
    if report.request_head is not None and name == "TAIL":
        return f"0x{value:08x} [0x{report.request_tail:08x}, 0x{report.request_tail:08x}]"
    return f"0x{value:08x}"


def _one_line(text: str) -> str:
    """Text on one line, so that it cannot imitate lines of the report."""
    return "".join(c if c.isprintable() else "?" for c in text).strip()
