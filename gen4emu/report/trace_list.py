"""Reports of many traces, each made in a process of its own, and a page that lists them."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gen4emu import single_page
from gen4emu.children import Ended, Tell, messages
from gen4emu.errors import Gen4emuError
from gen4emu.image.picture import replacing
from gen4emu.report.record import Recorded
from gen4emu.report.writer import DATA, PAGE, encoded, write_directory
from gen4emu.sandbox import Mode, Sandbox

SCHEMA = "gen4emu.reports/1"
_CRASHED = 2  # the exit status of a trace whose process died


@dataclass(slots=True)
class Entry:
    """The row of a trace in the list."""

    file: str
    directory: Path
    status: int
    device: str | None = None
    counts: dict[str, int] = field(default_factory=dict)  # as in the overview of the report
    findings: dict[str, int] = field(default_factory=dict)  # how many of each severity
    bytes: int = 0  # of the report; 0: there is none
    errors: list[str] = field(default_factory=list)  # why the report ends early, or is missing

    def as_json(self) -> dict[str, Any]:
        """docs/json.md describes it."""
        return {"file": self.file, "page": str(self.directory / PAGE) if self.bytes else None, "device": self.device,
                "counts": self.counts, "findings": self.findings, "bytes": self.bytes, "errors": self.errors,
                "status": self.status}


def directories(names: Sequence[str]) -> list[str]:
    """A directory of its own for the report of each trace, of these names."""
    taken = {DATA}  # of a single report in the same place
    found = []
    for name in names:
        chosen, again = name, 2
        while chosen in taken:
            chosen, again = f"{name}-{again}", again + 1
        taken.add(chosen)
        found.append(chosen)
    return found


def write_reports(directory: Path, traces: Mapping[str, str], record: Callable[[str], Recorded], jobs: int,
                  idle: Callable[[int], object] = lambda done: None,
                  confined: Callable[[str, Path], Sandbox] = lambda trace, place: Sandbox(Mode.OFF)) -> list[Entry]:
    """Write a report of each trace, and the list of them as `index.html`; `jobs` traces at a time.

    `traces` has the directory of each trace, below `directory`.  `idle` is called meanwhile with how many have ended.
    `confined` is called in the process of a trace, with its directory.
    """
    directory.mkdir(parents=True, exist_ok=True)
    places = [(trace, directory / name) for trace, name in traces.items()]
    existed = [place.exists() for _, place in places]
    entries: list[Entry | None] = [None] * len(places)

    def work(trace: str, place: Path, tell: Tell) -> None:
        with confined(trace, place) as box:
            box.enter()
            entry = asdict(_entry(trace, place, record))
        tell({name: value for name, value in entry.items() if name not in ("file", "directory")})

    for i, message in messages([partial(work, trace, place) for trace, place in places], jobs,
                               lambda: idle(sum(entry is not None for entry in entries))):
        if not isinstance(message, Ended):
            entries[i] = _told(*places[i], message)
        elif entries[i] is None:
            entries[i] = Entry(*places[i], _CRASHED, errors=[message.text(f"{places[i][0]}: its process")])
            _remove(places[i][1], existed[i])
    found = [entry for entry in entries if entry is not None]
    with replacing(directory / PAGE) as file:
        file.write(encoded(_page(found)))
    return found


def _entry(trace: str, directory: Path, record: Callable[[str], Recorded]) -> Entry:
    try:
        recorded = record(trace)
        page = write_directory(directory, recorded)
    except Gen4emuError as e:
        return Entry(trace, directory, 2, errors=[str(e)])
    except MemoryError:
        return Entry(trace, directory, 2, errors=[f"{trace}: out of memory"])
    except OSError as e:
        return Entry(trace, directory, 2, errors=[f"{e.filename or trace}: {e.strerror or e}"])
    overview = recorded.overview
    return Entry(trace, directory, recorded.status, None if overview["device"] is None else overview["device"]["name"],
                 overview["counts"], dict(Counter(finding["severity"] for finding in overview["findings"])),
                 bytes_of(page), recorded.errors(trace))


def _told(trace: str, directory: Path, message: Any) -> Entry:
    """The entry that a process tells, which its trace may have taken over."""
    try:
        entry = Entry(trace, directory, **message)
        numbers = (entry.status, entry.bytes, *entry.counts.values(), *entry.findings.values())
        if not all(isinstance(number, int) for number in numbers) or \
                not all(isinstance(text, str) for text in (*entry.errors, entry.device or "")):
            raise TypeError
    except (TypeError, AttributeError):
        return Entry(trace, directory, _CRASHED, errors=[f"{trace}: its process told nonsense"])
    return entry


def bytes_of(page: Path) -> int:
    """The size of a report in a directory."""
    return page.stat().st_size + sum(path.stat().st_size for path in (page.parent / DATA).iterdir())


def _remove(directory: Path, existed: bool) -> None:
    """Leave nothing of a report whose process died while it wrote."""
    if not existed:
        shutil.rmtree(directory, ignore_errors=True)
        return
    (directory / PAGE).unlink(missing_ok=True)
    shutil.rmtree(directory / DATA, ignore_errors=True)


# --- the list --------------------------------------------------------------------------------------------------------
def _page(entries: Sequence[Entry]) -> str:
    web = files("gen4emu.report") / "web"
    style = (web / "report.css").read_text(encoding="utf-8")
    template = (web / "reports.html").read_text(encoding="utf-8")
    return single_page.fill(template, {"ROWS": "\n".join(_rows(entries))}, style=style, images="'none'")


def _rows(entries: Sequence[Entry]) -> Iterator[str]:
    names = [Path(entry.file).name for entry in entries]
    for entry, name in zip(entries, names, strict=True):
        shown = entry.file if names.count(name) > 1 else name
        text = f"<bdi>{escape(shown)}</bdi>"
        if entry.bytes:
            link = f"{quote(os.fsencode(entry.directory.name))}/{PAGE}"
            text = f'<a href="{link}">{text}</a>'
        found = Counter(entry.findings)
        numbers = (entry.counts.get("frames"), entry.counts.get("draws"), found["hang"] + found["error"],
                   found["warning"], entry.bytes)
        cells = "".join(f'<td class="number">{f"{number:,}" if entry.bytes else ""}</td>' for number in numbers)
        about = "; ".join(entry.errors) or ("see its findings" if entry.status else "")
        yield (f"<tr><td>{text}</td><td>{escape(entry.device or '')}</td>{cells}"
               f'<td class="bad"><bdi>{escape(about)}</bdi></td></tr>')
