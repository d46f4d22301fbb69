"""The lines of an i915 error state, one function per shape: titles, registers, table rows, dwords.

Knows how every kernel since 2.6.30 prints a Gen4 machine; keeps no state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gen4emu.trace.events import Engine

_DMESG = re.compile(rb"(?:<\d+>)?(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ (?:kernel: )?)?\[[ \d]{1,12}\.\d{1,9}\] ?")
_TITLE = re.compile(r"(.*?) ?--- (.+?) = 0x([0-9a-fA-F]{1,8})(?:[ _]([0-9a-fA-F]{8}))?\s*$")
_ENGINE_TITLE = re.compile(r"(\w[\w ()]*?) command stream:")
_TABLE_TITLE = re.compile(r"((?:Active|Pinned)\b[^\[]*?) ?\[\s*\d+\]:")
_TABLE_ROW = re.compile(r"\s+(?:0x)?([0-9a-fA-F]{8})(?:[_ ]([0-9a-fA-F]{8})(?=\s+\d))?\s+(\d+)\b")
_DWORD = re.compile(rb"\s*([0-9a-fA-F]{8}) ?: {0,2}([0-9a-fA-F]{8})\s*$")
_FOUR_DWORDS = re.compile(rb"\s*\[([0-9a-fA-F]{4,8})\] ((?:[0-9a-fA-F]{8} ){0,3}[0-9a-fA-F]{8})\s*$")
# What intel_error_decode makes of those: titles and dwords with their addresses, and each explained.
_EXPLAINED_TITLE = re.compile(r"(batchbuffer|ringbuffer|batch|ring)(?: \((.+?)\))? at 0x([0-9a-fA-F]{8})"
                              r"(?:_([0-9a-fA-F]{8}))?(?:; HEAD points to: 0x[0-9a-fA-F_]{8,17})?:?\s*$")
_EXPLAINED_DWORD = re.compile(rb"0x(?:0{8}_)?([0-9a-fA-F]{8}):\s+(?:HEAD|TAIL)?\s*0x([0-9a-fA-F]{8}): ")
_FENCE = re.compile(r"\s*fence\[\s*(\d{1,2})\] = ([0-9a-fA-F]{1,16})\b")
_FIELD = re.compile(r"([A-Za-z][^:]{0,79}?)\s*: ?(.*)$")
_REGISTER = re.compile(r"\s+([A-Za-z][\w>\[\] -]{0,39}?)\s*: *(.*)$")
_VALUE = re.compile(r"0x([0-9a-fA-F]{1,16})(?:[ _]([0-9a-fA-F]{8})\b)?"
                    r"(?: \[0x([0-9a-fA-F]{1,8})(?:, 0x([0-9a-fA-F]{1,8}))?\])?")
_RANGE = re.compile(r"\[0x([0-9a-fA-F]{8})_([0-9a-fA-F]{8}), 0x([0-9a-fA-F]{8})_([0-9a-fA-F]{8})\]")
_PROCESS = re.compile(r"(?:submitted by|\bin) (.{1,64}?) ?\[\d+\]")

_ENGINES = {"rcs": Engine.RENDER, "render": Engine.RENDER, "vcs": Engine.BSD, "bsd": Engine.BSD, "video": Engine.BSD,
            "bcs": Engine.BLT, "blt": Engine.BLT, "blitter": Engine.BLT}

# What a section holds, by how its title begins; of two that fit the longer one is meant.
_KINDS = {
    "gtt_offset": "batch", "batch": "batch", "batch buffer": "batch", "ringbuffer": "ring", "ring": "ring",
    "hw context": "hw_context", "hw status": "hw_status", "wa context": "wa_context", "wa batchbuffer": "wa_batch",
    "null context": "null_context", "user": "user", "semaphore": "semaphores", "guc log buffer": "guc_log",
}


@dataclass(slots=True, frozen=True)
class Title:
    """The head of a memory dump."""

    engine: str  # an Engine's value, or what the kernel calls another one
    kind: str
    address: int
    process: str


def strip(line: bytes) -> bytes:
    """A line without its end and without what a log puts before it (T15)."""
    line = line.rstrip(b"\r\n")
    prefix = _DMESG.match(line)
    return line if prefix is None else line[prefix.end():]


def engine_name(text: str) -> str:
    """`rcs0`, `render ring`, `Video (BSD)` as the value of an Engine; other names as they are."""
    word = re.match(r"[a-z]*", text.strip().lower())
    name = "" if word is None else word[0]
    return _ENGINES[name].value if name in _ENGINES else name or Engine.RENDER.value


def title(line: str) -> Title | None:
    found = _TITLE.match(line)
    if found is None:
        return _explained_title(line)
    who, what, first, second = found.groups()
    address = int(first, 16) if second is None else int(first, 16) << 32 | int(second, 16)
    kind = section_kind(what)
    if kind == "batch" and "(w/a)" in who:
        kind = "wa_batch"
    return Title(engine_name(who), kind, address, process(who))


def _explained_title(line: str) -> Title | None:
    found = _EXPLAINED_TITLE.match(line)
    if found is None:
        return None
    what, who, first, second = found.groups()
    address = int(first, 16) if second is None else int(first, 16) << 32 | int(second, 16)
    return Title(engine_name(who or ""), "ring" if what.startswith("ring") else "batch", address, "")


def section_kind(what: str) -> str:
    fitting = [name for name in _KINDS if what.lower().startswith(name)]
    return _KINDS[max(fitting, key=len)] if fitting else "unknown"


def process(text: str) -> str:
    """The program that a line blames."""
    found = _PROCESS.search(text)
    return "" if found is None else found[1]


def engine_title(line: str) -> str | None:
    found = _ENGINE_TITLE.match(line)
    return None if found is None else engine_name(found[1])


def table_title(line: str) -> str | None:
    found = _TABLE_TITLE.match(line)
    return None if found is None else found[1]


def table_row(line: str) -> tuple[int, int] | None:
    """Address and size of a buffer."""
    found = _TABLE_ROW.match(line)
    if found is None:
        return None
    first, second, size = found.groups()
    return (int(first, 16) if second is None else int(first, 16) << 32 | int(second, 16)), int(size[:12])


def dwords(line: bytes) -> tuple[int, list[int]] | None:
    """Offset in the section, and one or four dwords."""
    found = _DWORD.match(line)
    if found is not None:
        return int(found[1], 16), [int(found[2], 16)]
    found = _FOUR_DWORDS.match(line)
    if found is not None:
        return int(found[1], 16), [int(word, 16) for word in found[2].split()]
    return None


def explained_dword(line: bytes) -> tuple[int, int] | None:
    """Address and value."""
    found = _EXPLAINED_DWORD.match(line)
    return None if found is None else (int(found[1], 16), int(found[2], 16))


def fence(line: str) -> tuple[str, int] | None:
    found = _FENCE.match(line)
    return None if found is None else (f"fence[{int(found[1])}]", int(found[2], 16))


def field(line: str) -> tuple[str, str] | None:
    """`Key: value` at the start of a line."""
    found = _FIELD.match(line)
    return None if found is None else (found[1], found[2].strip())


def register(line: str) -> tuple[str, str] | None:
    """`  NAME: value`."""
    found = _REGISTER.match(line)
    return None if found is None else (found[1], found[2].strip())


def values(name: str, text: str) -> dict[str, int]:
    """The numbers of a register line, by name; empty when it shows none."""
    found = _RANGE.match(text)
    if found is not None:
        words = [int(word, 16) for word in found.groups()]
        return {f"{name}_start": words[0] << 32 | words[1], f"{name}_end": words[2] << 32 | words[3]}
    found = _VALUE.match(text)
    if found is None:
        return {name: int(text)} if re.fullmatch(r"\d{1,10}", text) else {}
    first, low, third, fourth = found.groups()
    out = {name: int(first, 16) if low is None else int(first, 16) << 32 | int(low, 16)}
    if fourth is not None:
        out["request_post"], out["request_tail"] = int(third, 16), int(fourth, 16)
    elif third is not None:
        out["request_head"] = int(third, 16)
    return out
