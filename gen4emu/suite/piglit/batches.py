"""Many shader tests in one process: starting the driver costs more than most of them.

`shader_runner` takes many files, and reports each as a subtest. Only results that are good, and of which neither the
driver nor the server complains, are taken from a batch: all other tests run again alone, as piglit runs them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gen4emu.suite.piglit import outcome
from gen4emu.suite.piglit.outcome import GOOD, Outcome
from gen4emu.suite.piglit.profiles import Case
from gen4emu.suite.programs import execute

_BEGINS = re.compile(r"^PIGLIT TEST: \d+ - (.*)\n", re.MULTILINE)
_FLAGS = ("-auto", "-fbo")


def group(tests: Iterable[Case], size: int) -> Iterator[list[Case]]:
    """Shader tests of one runner in lists of `size`, every other test in a list of its own."""
    waiting: defaultdict[str, list[Case]] = defaultdict(list)
    for test in tests:
        program, *arguments = test.command
        if not Path(program).name.startswith("shader_runner") or tuple(arguments[1:]) != _FLAGS:
            yield [test]
            continue
        batch = waiting[program]
        batch.append(test)
        if len(batch) == size:
            yield waiting.pop(program)
    yield from waiting.values()


def run(tests: Sequence[Case], environment: Mapping[str, str], seconds: float,
        reports: Callable[[int], list[str]] = lambda pid: [], memory: int = 0) -> list[Outcome]:
    """A batch as group() gives it. A test that ends its process or takes too long costs only the rest another one."""
    done: list[Outcome] = []
    while len(tests) > 1:
        good = _batch(tests, environment, seconds, reports, memory)
        done += [result for result in good if result]
        done += [outcome.run(test, environment, seconds, reports, memory)
                 for test, result in zip(tests, good, strict=False) if not result]
        tests = tests[len(good):]
    return done + [outcome.run(test, environment, seconds, reports, memory) for test in tests]


def _batch(tests: Sequence[Case], environment: Mapping[str, str], seconds: float,
           reports: Callable[[int], list[str]], memory: int) -> list[Outcome | None]:
    """The tests up to the one that was the last to begin, which is at least one; None for those to run alone."""
    command = (tests[0].command[0], *(test.command[1] for test in tests), *_FLAGS, "-report-subtests")
    ended = execute(command, {**environment, "PIGLIT_PLATFORM": "surfaceless_egl"}, seconds, memory)
    texts, talks = _sections(ended.stdout), _sections(ended.stderr)
    if reports(ended.pid):  # which test caused them is unknown
        return [None] * max(len(texts), 1)
    good = [_good(test, text, talk, ended.seconds / len(texts))
            for test, text, talk in zip(tests, texts, talks, strict=False)]
    if ended.status != 0 and good:  # the last of them may have reported its result before it crashed
        good[-1] = None
    return good or [None]


def _sections(text: str) -> list[tuple[str, str]]:
    """The name and the output of each test that began."""
    begins = list(_BEGINS.finditer(text))
    ends = [*(begin.start() for begin in begins[1:]), len(text)]
    return [(begin[1], text[begin.end():end]) for begin, end in zip(begins, ends, strict=False)]


def _good(test: Case, text: tuple[str, str], talk: tuple[str, str], seconds: float) -> Outcome | None:
    name = Path(test.command[1]).stem
    _, subtests = outcome.parse(text[1], 0)
    result = subtests.pop(name, "")
    if {text[0], talk[0]} != {name} or not {result, *subtests.values()} <= set(GOOD) or outcome.warnings(talk[1]):
        return None
    return Outcome(test.name, result, subtests, round(seconds, 2))
