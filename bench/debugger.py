"""How fast the debugger goes places: milliseconds of commands in one session, the best of several.

    python bench/debugger.py [-n REPEATS] [-x X -y Y] [TRACE ...]

The first command executes the whole trace.  Then come a draw in its middle, the draw before that, an instruction back
in the last thread that drew a pixel, and the history and the tree of the pixel.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from gen4emu.debugger.history import record
from gen4emu.debugger.model import Fragment
from gen4emu.debugger.shell import OnError, Shell
from gen4emu.device.options import Options
from gen4emu.trace.reader import open as open_trace

TRACE = Path(__file__).parent.parent / "traces" / "gears-4frames-g4x.aub.xz"


def timed(path: Path, commands: list[str]) -> list[float]:
    """The seconds that each command takes until the session reads the next one."""
    waiting = iter(commands)
    seconds: list[float] = []
    started: float | None = None

    def read(prompt: str) -> str | None:
        nonlocal started
        now = time.perf_counter()
        if started is not None:
            seconds.append(now - started)
        command = next(waiting, None)
        started = None if command is None else time.perf_counter()
        return command

    def fail(text: str) -> None:
        raise SystemExit(f"{path}: {text}")

    with open_trace(str(path), again=True) as trace:
        Shell(trace, None, Options(), read, lambda line: None, complain=fail, on_error=OnError.FORGIVE).run()
    return seconds


def measure(path: Path, x: int, y: int, repeats: int) -> None:
    with open_trace(str(path), again=True) as trace:
        found = record(trace, None, Options(), x, y)
    fragments = [entry for entry in found.entries if isinstance(entry, Fragment) and entry.thread is not None]
    if not fragments:
        raise SystemExit(f"{path}: no pixel shader thread has drawn {x},{y}")
    last = fragments[-1]
    middle = max(1, last.place.draw // 2)
    plan = [("the whole trace", "continue"), (f"draw {middle}", f"draw {middle}"), ("the draw before", "previous"),
            ("", f"trap pixel {x} {y} object {last.object}"), (f"draw {last.place.draw}", f"draw {last.place.draw}"),
            ("its thread", "continue"), ("4 instructions", "step 4"), ("an instruction back", "reverse-step"),
            ("one more", "reverse-step"), ("", "delete all"), ("history of the pixel", f"history {x} {y}"),
            ("why", f"why {x} {y}")]
    runs = [timed(path, [command for _, command in plan]) for _ in range(repeats)]
    print(f"{path.name}, pixel {x},{y}, {last.place.draw + 1} draws up to it")
    for (name, _), *of in zip(plan, *runs, strict=False):
        if name:
            print(f"  {name:<24}{1e3 * min(of):>10.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--repeats", type=int, default=3)
    parser.add_argument("-x", type=int, default=130)
    parser.add_argument("-y", type=int, default=130)
    parser.add_argument("traces", nargs="*", type=Path, default=[TRACE])
    args = parser.parse_args()
    for path in args.traces:
        measure(path, args.x, args.y, args.repeats)


if __name__ == "__main__":
    main()
