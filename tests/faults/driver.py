"""Runs verbs of gen4emu with faults.c preloaded: `python -m tests.faults.driver`, a request and an answer a line.

A request is {"directory", "arguments", "fault": [kind, at, errno]}; the answer has "status", "calls" (of the kind) and
"stderr".  Each is executed by a copy of this process, which has imported the verbs already.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import sys
import tempfile

import gen4emu.cli.main as cli

VERBS = ("asm", "bisect", "build", "check", "convert", "decode", "diff", "digest", "disasm", "export", "index",
         "kernels", "lint", "man", "minimise", "replay", "report", "results", "trim")


def execute(request: dict[str, object], library: ctypes.CDLL) -> dict[str, object]:
    with tempfile.TemporaryFile() as log, tempfile.TemporaryFile() as result:
        child = os.fork()
        if child == 0:
            try:
                os.chdir(str(request["directory"]))
                os.dup2(log.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                library.arm(*request["fault"])  # type: ignore[misc]  # JSON that the test has written
                status = cli.run(list(request["arguments"]))  # type: ignore[call-overload]  # JSON that the test has written
                calls = library.calls()
                library.arm(0, 0, 0)
                sys.stderr.flush()
                os.write(result.fileno(), json.dumps({"status": status, "calls": calls}).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        result.seek(0)
        log.seek(0)
        text = result.read()
        return {**(json.loads(text) if text else {"status": None, "calls": 0}), "stderr": log.read().decode()}


def main() -> None:
    library = ctypes.CDLL(None)
    for verb in VERBS:
        importlib.import_module(f"gen4emu.cli.{verb}")
    for line in sys.stdin:
        print(json.dumps(execute(json.loads(line), library)), flush=True)


if __name__ == "__main__":
    main()
