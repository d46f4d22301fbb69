"""dEQP on an emulated device: many cases in one process, as with piglit's shader tests."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gen4emu.errors import DecodeError
from gen4emu.suite.piglit.outcome import GOOD, Outcome, warnings
from gen4emu.suite.piglit.runner import Server
from gen4emu.suite.programs import Execution, execute, pool, results

_STEP = b"Test case '"
_BEGINS = re.compile(r"^Test case '([^']+)'\.\.$", re.MULTILINE)
_RESULT = re.compile(r"^  (\w+) \(", re.MULTILINE)
_RESULT_END = re.compile(r"\)$", re.MULTILINE)  # some reasons have several lines
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
# Results of dEQP, and piglit's words for them.  Anything else is a failure.
RESULTS = {"Pass": "pass", "NotSupported": "skip", "QualityWarning": "warn", "CompatibilityWarning": "warn",
           "Waiver": "warn", "Crash": "crash", "Timeout": "timeout"}
_MOST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """A module of dEQP, such as deqp-gles2, and options for all its runs."""

    path: Path
    # Those of Mesa's CI, so that results can be compared.  Without a size, framebuffers are as large as the GPU can.
    arguments: tuple[str, ...] = ("--deqp-surface-type=pbuffer", "--deqp-gl-config-name=rgba8888d24s8ms0",
                                  "--deqp-surface-width=256", "--deqp-surface-height=256",
                                  "--deqp-visibility=hidden", "--deqp-log-images=disable",
                                  "--deqp-log-shader-sources=disable")

    def command(self, case_list: Path, log: Path) -> list[str]:
        return [str(self.path), f"--deqp-caselist-file={case_list}", f"--deqp-log-filename={log}", *self.arguments]


def read_cases(path: Path) -> list[str]:
    """The names in a list as dEQP's --deqp-caselist-file takes it: one a line, # begins a comment."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as e:
        raise DecodeError(f"{path}: {e.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise DecodeError(f"{path}: has more than {_MOST_BYTES >> 20} MiB")
    names = []
    for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
        name = line.partition("#")[0].strip()
        if name and not _NAME.fullmatch(name):
            raise DecodeError(f"{path}: line {number}: {name[:80]!r} is not the name of a test")
        names += [name] * bool(name)
    if not names:
        raise DecodeError(f"{path}: has no name of a test")
    return list(dict.fromkeys(names))


def run(program: Program, names: Sequence[str], server: Server, jobs: int, seconds: float, memory: int = 0,
        batch_size: int = 50) -> Generator[Outcome, None, None]:
    """In the order in which they end.  `seconds` is the time for a test, also for each of a batch."""
    parts = [names[i:i + batch_size] for i in range(0, len(names), batch_size)]
    with pool(jobs) as threads:
        for outcomes in results(threads, (partial(run_batch, program, part, server.environment, seconds,
                                                  server.reports.take, memory) for part in parts)):
            yield from outcomes


def run_batch(program: Program, names: Sequence[str], environment: Mapping[str, str], seconds: float,
              reports: Callable[[int], list[str]] = lambda pid: [], memory: int = 0) -> list[Outcome]:
    """A test that is not good in a batch runs again alone.

    A crash costs the tests that follow it only another process.  A batch that the server complains of runs again in
    halves, until the complaints belong to single tests.
    """
    done: list[Outcome] = []
    left = list(names)
    while len(left) > 1:
        ended, found, said = _execute(program, left, environment, seconds, reports, memory)
        if said:
            half = len(left) // 2
            return done + [outcome for part in (left[:half], left[half:])
                           for outcome in run_batch(program, part, environment, seconds, reports, memory)]
        sure = found if ended.status == 0 and not ended.stall else found[:-1]
        talks = bool(warnings(ended.stderr))
        for name, result, text in sure:
            if result in GOOD and not talks:
                share = round(ended.seconds / len(found), 3)
                done.append(Outcome(name, result, {}, share, "" if result == "pass" else text))
            else:
                done.append(_alone(program, name, environment, seconds, reports, memory))
        begun = {name for name, _, _ in sure}
        left = [name for name in left if name not in begun]
        if left:
            done.append(_alone(program, left.pop(0), environment, seconds, reports, memory))
    return done + [_alone(program, name, environment, seconds, reports, memory) for name in left]


def _alone(program: Program, name: str, environment: Mapping[str, str], seconds: float,
           reports: Callable[[int], list[str]], memory: int) -> Outcome:
    first = _single(program, name, environment, seconds, reports, memory)
    if first.result != "crash":
        return first
    again = _single(program, name, environment, seconds, reports, memory)
    again.crashed = True
    return again


def _single(program: Program, name: str, environment: Mapping[str, str], seconds: float,
            reports: Callable[[int], list[str]], memory: int) -> Outcome:
    ended, found, said = _execute(program, [name], environment, seconds, reports, memory)
    result, text = next(((result, text) for known, result, text in found if known == name), ("fail", "gave no result"))
    if ended.stall:
        result = "timeout"
    elif ended.status < 0:
        result = "crash"
    output = "" if result == "pass" else f"{text}\n{ended.stderr[-2000:]}".strip()
    return Outcome(name, result, {}, ended.seconds, output, warnings(ended.stderr), said, ended.stall)


def _execute(program: Program, names: Sequence[str], environment: Mapping[str, str], seconds: float,
             reports: Callable[[int], list[str]], memory: int) \
        -> tuple[Execution, list[tuple[str, str, str]], list[str]]:
    """How it ended, the name, the result and the reason of each test that began, and what the server said."""
    with tempfile.TemporaryDirectory(prefix="gen4emu-suite-") as place:
        case_list = Path(place) / "cases.txt"
        case_list.write_text("".join(f"{name}\n" for name in names))
        # A module looks for its data below the current directory.
        ended = execute(program.command(case_list, Path(place) / "log.qpa"), environment, seconds, memory,
                        directory=program.path.parent, step=_STEP)
    return ended, parse(ended.stdout), reports(ended.pid)


def parse(text: str) -> list[tuple[str, str, str]]:
    """The name of each test that began, its result, and the text in parentheses; `crash` if it said nothing."""
    begins = list(_BEGINS.finditer(text))
    found = []
    for i, begin in enumerate(begins):
        end = begins[i + 1].start() if i + 1 < len(begins) else len(text)
        found.append((begin[1], *_result(text, begin.end(), end)))
    return found


def _result(text: str, start: int, end: int) -> tuple[str, str]:
    """The result and the reason between two offsets of the output."""
    said = _RESULT.search(text, start, end)
    close = said and _RESULT_END.search(text, said.end(), end)
    if said is None or close is None:
        return "crash", ""
    return RESULTS.get(said[1], "fail"), f"{said[1]}: {text[said.end():close.start()]}"
