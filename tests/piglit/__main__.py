"""python -m tests.piglit: piglit on the emulated GPU, compared with what real silicon passes.

Example: python -m tests.piglit --profile quick_gl --device g41 -j 4 -o quick_gl.jsonl
The result file has a line of JSON a test; what is there already is not run again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from tests.piglit import profiles, runner
from tests.piglit.expectations import BAD, Expectations, Summary, names
from tests.piglit.outcome import Outcome


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.piglit", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", action="append", help="quick_gl, quick_shader, ... (default: these two)")
    parser.add_argument("--match", default="", help="only names that this regular expression finds")
    parser.add_argument("--list", type=Path, help="only the names in this file")
    parser.add_argument("--sample", type=int, default=0, help="so many tests, spread over the groups")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="g41")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--workers", type=int, default=1, help="worker threads for each of them")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for a test")
    parser.add_argument("--silicon", type=Path, help="what silicon fails; instead of the device's list; so the next")
    parser.add_argument("--flakes", type=Path)
    parser.add_argument("--ours", type=Path, help="what only we fail")
    parser.add_argument("-o", "--output", type=Path, help="result file; continued if it exists")
    parser.add_argument("--junit", type=Path)
    return parser.parse_args()


def _select(options: argparse.Namespace) -> list[profiles.Case]:
    tests = [test for profile in options.profile or ("quick_gl", "quick_shader") for test in profiles.load(profile)]
    tests = profiles.matching(tests, options.match)
    if options.list:
        wanted = set(options.list.read_text().splitlines())
        tests = [test for test in tests if test.name in wanted]
    return profiles.spread(tests, options.sample, options.seed) if options.sample else tests


def _expectations(options: argparse.Namespace) -> Expectations:
    known = Expectations.of(options.device)
    for kind in ("silicon", "flakes", "ours"):
        if path := getattr(options, kind):
            setattr(known, kind, names(path))
    return known


def _old(path: Path | None) -> list[Outcome]:
    if path is None or not path.exists():
        return []
    return [Outcome.from_json(line) for line in path.read_text().splitlines()]


def _junit(path: Path, outcomes: Iterable[Outcome], known: Expectations) -> None:
    suite = ElementTree.Element("testsuite", name="piglit")
    for outcome in outcomes:
        for name, verdict in known.judge(outcome).items():
            group, _, test = name.rpartition("@")
            case = ElementTree.SubElement(suite, "testcase", classname=group, name=test, time=str(outcome.seconds))
            if verdict in BAD:
                ElementTree.SubElement(case, "failure", message=verdict).text = outcome.output
            elif verdict == "skip":
                ElementTree.SubElement(case, "skipped")
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main() -> int:
    options = _arguments()
    known = _expectations(options)
    outcomes = _old(options.output)
    rest: list[str] = []
    done = {outcome.name for outcome in outcomes}
    left = [test for test in _select(options) if test.name not in done]
    try:
        with runner.server(options.device, options.workers) as server:
            for outcome in runner.run(left, server, options.jobs, options.timeout):
                outcomes.append(outcome)
                if options.output:
                    with options.output.open("a") as file:
                        file.write(outcome.to_json() + "\n")
                if sys.stderr.isatty():
                    sys.stderr.write(f"\r{len(outcomes) - len(done)}/{len(left)} ")
        rest = server.rest
    except KeyboardInterrupt:
        print("interrupted; so far:", file=sys.stderr)
    except runner.ServerDied as e:
        print(e, file=sys.stderr)
        return 2
    if options.junit:
        _junit(options.junit, outcomes, known)
    summary = Summary.of(outcomes, known, rest)
    print(summary.text())
    return 0 if summary.good else 1


if __name__ == "__main__":
    sys.exit(main())
