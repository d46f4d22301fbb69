"""Every writer of a file, on disks that fill up, without descriptors or memory, and with slow, short writes and reads.

A fault ends in exit status 2 and a message that names a file and the reason.  No temporary file stays, and no file that
is not as a run without faults writes it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TRACE = str(ROOT / "traces/triangle-g4x.aub.xz")
MEDIA = str(ROOT / "traces/mpeg2-g4x.aub.xz")
WRITE, CREATE, RENAME, SHORT = 1, 2, 3, 4  # enum kind of faults.c

# The arguments; {input} is a directory with files for them.
WRITERS = {
    "pictures": ["replay", TRACE, "-o", "out"],
    "exact values": ["replay", TRACE, "-o", "out", "--npy"],
    "raw video": ["replay", TRACE, "--raw-video", "video.raw"],
    "macroblocks": ["replay", MEDIA, "--no-pictures", "--macroblocks", "media.jsonl"],
    "report": ["report", TRACE, "-o", "out"],
    "report, two traces": ["report", TRACE, "--against", TRACE, "-o", "out", "-j", "1"],
    "reports": ["report", TRACE, MEDIA, "-o", "out", "-j", "1"],
    "report, one file": ["report", TRACE, "--single-file", "report.html"],
    "index": ["index", "{input}/copy.aub.xz", "--interval", "0"],
    "digests": ["digest", TRACE, "-o", "out"],
    "decode": ["decode", TRACE, "-o", "out.txt"],
    "decode, JSON": ["decode", TRACE, "--json", "-o", "out.json"],
    "lint": ["lint", TRACE, "-o", "out.txt"],
    "baseline": ["lint", TRACE, "--baseline", "lint.toml", "--update-baseline"],
    "kernels": ["kernels", TRACE, "-o", "out"],
    "capture format": ["convert", TRACE, "out.g4c"],
    "AUB": ["convert", TRACE, "out.aub"],
    "AUB, xz": ["convert", TRACE, "out.aub.xz"],
    "AUB, gz": ["convert", TRACE, "out.aub.gz"],
    "AUB, zst": ["convert", TRACE, "out.aub.zst"],
    "trim": ["trim", TRACE, "--draws", "0", "-o", "out.aub.xz"],
    "minimise": ["minimise", TRACE, "--pixel", "128,128", "--tries", "2", "-o", "out.g4c"],
    "export": ["export", TRACE, "--draw", "0", "-o", "out"],
    "build": ["build", "{input}/export/batch.txt", "-o", "out.g4c"],
    "disassembly": ["disasm", "{input}/nop.bin", "-o", "out.txt"],
    "assembly": ["asm", "{input}/nop.g4a", "-o", "out.bin"],
    "heat map": ["diff", "{input}/one.png", "{input}/two.png", "--heatmap", "heat.png"],
    "page of differences": ["diff", "{input}/frames", "{input}/other", "--html", "diff.html"],
    "manual": ["man", "--write", "."],
    "JUnit": ["check", "{input}/good", "--junit", "out.xml", "-j", "1"],
    "page of a run": ["check", "{input}/good", "--html", "out.html", "-j", "1"],
    "history": ["check", "{input}/good", "--history", "out.jsonl", "-j", "1"],
    "results": ["check", "{input}/good", "--jsonl", "out.jsonl", "-j", "1"],
    "merged results": ["results", "merge", "{input}/results.jsonl", "-o", "all.jsonl"],
    "merged results, JUnit": ["results", "merge", "{input}/results.jsonl", "-o", os.devnull, "--junit", "all.xml"],
    "merged results, page": ["results", "merge", "{input}/results.jsonl", "-o", os.devnull, "--html", "all.html"],
}
DIFFERENT = {"heat map", "page of differences"}  # exit status 1
# Times are in them, or the name of the directory, or a key that is made for the user.
VARYING = re.compile(r"out\.(xml|html|jsonl)|all\.(xml|html|jsonl)|overview.*|index\.json|expected\.digests|"
                     r".*\.index|index\.key|report\.html")


@dataclass(frozen=True)
class Ended:
    status: int | None
    calls: int
    stderr: str
    files: dict[str, bytes]


class Driver:
    """The process of driver.py."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        library = folder / "faults.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-o",
                        str(library), str(Path(__file__).with_name("faults.c")), "-ldl"], check=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=ROOT, env={**os.environ, "LD_PRELOAD": str(library), "OPENBLAS_NUM_THREADS": "1",
                           "PYTHONDONTWRITEBYTECODE": "1", "XDG_STATE_HOME": str(self.state),
                           "TMPDIR": str(folder)})

    def run(self, directory: Path, arguments: Sequence[str], fault: tuple[int, int, int] = (0, 0, 0)) -> Ended:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"directory": str(directory), "arguments": arguments, "fault": fault})
                                  + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        files = {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*"))
                 if path.is_file()}
        return Ended(answer["status"], answer["calls"], answer["stderr"], files)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    made = Driver(tmp_path_factory.mktemp("driver"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def given(driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that commands read."""
    folder = tmp_path_factory.mktemp("input")
    shutil.copy(TRACE, folder / "copy.aub.xz")
    (folder / "nop.g4a").write_text("nop;\n")
    (folder / "nop.bin").write_bytes(bytes((0x7E,)) + bytes(15))
    (folder / "good").mkdir()
    (folder / "good/manifest.toml").write_text(f'[[trace]]\nname = "triangle"\nfile = "{TRACE}"\nexpect = ""\n')
    for arguments in (["replay", TRACE, "-o", "frames"], ["replay", TRACE, "--fp-rounding", "rtne", "-o", "other"],
                      ["export", TRACE, "--draw", "0", "-o", "export"], ["check", "good", "--update"],
                      ["check", "good", "--jsonl", "results.jsonl"]):
        assert driver.run(folder, arguments).status == 0
    shutil.copy(next((folder / "frames").glob("*113000*.png")), folder / "one.png")
    data = bytearray(next((folder / "frames").glob("*397000*.png")).read_bytes())
    (folder / "two.png").write_bytes(data)
    shutil.copy(folder / "two.png", next((folder / "other").glob("*113000*.png")))
    return folder


def _directory(parent: Path, name: str) -> Path:
    directory = parent / name
    directory.mkdir()
    return directory


@pytest.mark.parametrize("name", WRITERS)
def test_a_fault_while_a_file_is_written_is_an_error_and_leaves_no_part_of_it(
        name: str, driver: Driver, given: Path, tmp_path: Path) -> None:
    arguments = [argument.replace("{input}", str(given)) for argument in WRITERS[name]]
    index = given / "copy.aub.xz.index"

    def run(case: str, fault: tuple[int, int, int]) -> Ended:
        index.unlink(missing_ok=True)
        shutil.rmtree(driver.state, ignore_errors=True)
        before = {path: path.read_bytes() for path in given.rglob("*") if path.is_file()}
        ended = driver.run(_directory(tmp_path, case), arguments, fault)
        after = {path: path.read_bytes() for path in given.rglob("*") if path.is_file() and path != index}
        assert after == before
        return ended

    fine = 1 if name in DIFFERENT else 0
    faults = []
    for kind, errors in ((WRITE, (errno.ENOSPC,)), (CREATE, (errno.EMFILE, errno.ENOMEM)), (RENAME, (errno.ENOSPC,))):
        whole = run(f"count-{kind}", (kind, 1 << 30, 0))
        assert whole.status == fine, whole.stderr
        # an added line needs no other name; the key of an index is linked
        assert whole.calls > 0 or (kind == RENAME and name in ("history", "results")) or arguments[0] == "index"
        places = sorted({1, whole.calls // 2 + 1, whole.calls} - {0}) if whole.calls else []
        faults += [(kind, at, errors[i % len(errors)]) for i, at in enumerate(places)]
    assert whole.files or name == "index"
    for kind, at, error in faults:
        ended = run(f"fault-{kind}-{at}", (kind, at, error))
        where = f"{kind} {at} {errno.errorcode[error]}: {ended.stderr}"
        assert ended.status == 2, where
        assert os.strerror(error) in ended.stderr and "Traceback" not in ended.stderr, where
        for path, content in ended.files.items():
            assert path in whole.files, where
            if not VARYING.fullmatch(Path(path).name):
                assert content == whole.files[path], where
    slow = run("short", (SHORT, 0, 0))
    assert slow.status == fine and slow.calls > 0, slow.stderr
    assert slow.files.keys() == whole.files.keys()
    for path, content in slow.files.items():
        if not VARYING.fullmatch(Path(path).name):
            assert content == whole.files[path], path
