"""Every example of README.md, docs/*.md and --help runs as it stands there, with the output that the page shows."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gen4emu.cli.main import VERBS, cli
from tests.docs.pages import PAGES, ROOT, Example, examples, is_synopsis
from tests.live import real_client
from tests.live import video_clips as video

TIMEOUT = 120

# Examples that cannot run here, each with the reason.  A key is a page and how the command begins.
NOT_RUN = {
    ("README.md", "python3 -m venv .venv && . .venv/bin/activate && python -m pip install . "):
        "installs packages from the network; CI runs it in an empty container",
    ("README.md", "python3 -m venv .venv && . .venv/bin/activate && python -m pip install -e"):
        "installs packages from the network; CI runs it in an empty container",
    ("docs/live.md", "export XDG_RUNTIME_DIR"): "needs root and Weston; tests/live/test_desktops.py runs it",
    ("docs/live.md", "printf 'Section"): "needs root and Xorg; tests/live/test_desktops.py runs it",
    ("docs/live.md", "gen4emu suite piglit"): "runs piglit for minutes; CI runs its sample",
    ("docs/suite.md", "gen4emu suite piglit"): "runs piglit for minutes; CI runs its sample",
    ("docs/suite.md", "gen4emu suite deqp"): "needs dEQP; tests/suite runs a program in its place",
    ("docs/cluster.md", "dask"): "needs several machines; tests/cluster has their processes on this one",
    ("docs/cluster.md", "sbatch"): "needs Slurm; tests/suite runs the shards",
    ("docs/cluster.md", "from dask_"): "needs Slurm or Kubernetes",
    ("docs/cluster.md", "kubectl"): "needs Kubernetes",
    ("docs/cluster.md", "gen4emu check traces/ --dask tcp"): "needs several machines; see above",
    ("docs/cluster.md", "gen4emu suite piglit"): "needs Kubernetes",
    ("docs/cluster.md", "gen4emu results"): "joins the results of Slurm's shards; tests/suite runs them",
    ("README.md", "gen4emu debug traces/gears-g4x.aub.xz --web"): "serves until Ctrl-C; tests/debugger_web starts it",
    ("debug --help", "gen4emu debug trace.aub.xz --web"): "serves until Ctrl-C; tests/debugger_web starts it",
    ("docs/live.md", "gen4emu run --web -- glmark2-es2-drm"): "prints a random address; tests/live_web runs programs",
    ("docs/testing.md", "python -m pytest"): "runs the tests that run the examples",
    ("docs/api.md", ""): "tests/api/test_docs.py runs the page in order",
    ("docs/hardware-description.md", "CS_URB_STATE = gfx"): "an excerpt of gen4emu/hw/gen4/common.py",
}
# Programs after these words draw with the installed Mesa or VA driver.
CLIENTS = ("./my-gl-program", "ffmpeg", "glmark2", "valgrind")
# Tools that a machine may lack; CI installs them.
TOOLS = ("jq", "glmark2-es2-drm", "valgrind")
# Commands whose exit status 1 is a finding, which pages may show.
FINDS = ("gen4emu lint", "gen4emu decode --lint", "gen4emu diff", "gen4emu bisect",
         "gen4emu report traces/gears-g4x.aub.xz --against", "gen4emu report traces/texture-g4x.aub.xz --options")

# The size of the frames of app.g4c, which an example writes out.
SIZE = ("640x480", "256x256")

ALL = examples()
RUN = list({e.command: e for e in reversed(ALL) if e.kind != "synopsis"}.values())[::-1]  # equal commands once


def reason_not_to_run(example: Example) -> str | None:
    return next((reason for (page, start), reason in NOT_RUN.items()
                 if example.page == page and example.text.startswith(start)
                 and (start or example.kind == "python")), None)


def parameter(example: Example) -> object:
    marks = [pytest.mark.client] if any(word in example.text for word in CLIENTS) else []
    return pytest.param(example, id=example.name, marks=marks)


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples name without making them: a trace, kernels, pictures, an error state, a program."""
    directory = tmp_path_factory.mktemp("given")
    (directory / "bin").mkdir()
    (directory / ".config" / "fish" / "completions").mkdir(parents=True)
    tool = directory / "bin" / "gen4emu"
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m gen4emu "$@"\n')
    tool.chmod(0o755)
    traces = ROOT / "traces"
    shutil.copytree(traces, directory / "traces")
    shutil.copy(traces / "gears-g4x.aub.xz", directory / "trace.aub.xz")
    shutil.copy(traces / "mpeg2-g4x.aub.xz", directory / "clip.aub.xz")
    shutil.copy(traces / "gears-g4x.aub.xz", directory / "app.aub.xz")
    for name in ("a.png", "b.png", "actual.png", "expected.png", "frames/before/x.png", "frames/after/x.png"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(traces / "gears.reference.png", directory / name)
    (directory / "batch.bin").write_bytes(struct.pack("<2I", 0x02000000, 0x05000000))  # MI_FLUSH, MI_BATCH_BUFFER_END
    assembler = (ROOT / "docs" / "assembler.md").read_text(encoding="utf-8")
    kernel = re.search(r"```asm\n(.*?)```", assembler, re.DOTALL)
    assert kernel is not None
    (directory / "kernel.g4a").write_text(kernel[1])
    hang = directory / "hang.bin"
    hang.write_bytes(bytes.fromhex("0102037a00000005"))
    script = """
        gen4emu asm kernel.g4a -o kernel.bin
        cat kernel.bin kernel.bin kernel.bin kernel.bin > heap.bin
        gen4emu lint traces/*.aub.xz --severity info --baseline lint.toml --update-baseline
        gen4emu kernels traces/triangle-g4x.aub.xz -o kernels/ > /dev/null
        gen4emu convert traces/gears-g4x.aub.xz app.g4c
        gen4emu check traces/ -k gears --jsonl before.jsonl
        cp before.jsonl after.jsonl
        cp before.jsonl part-1.jsonl
        cp before.jsonl part-2.jsonl
        gen4emu replay hang.bin --raw -d g45 --strict -o hung/ 2> /dev/null
        gzip -d < hung/hang-*.error.gz > card0-error
    """
    done = shell(script, directory, "")
    assert (directory / "card0-error").exists() and done.returncode == 0, done.stderr
    return directory


@pytest.fixture
def place(given: Path, tmp_path: Path) -> Path:
    """A directory of its own with the given files."""
    return Path(shutil.copytree(given, tmp_path / "checkout", symlinks=True))


def shell(script: str, directory: Path, typed: str) -> subprocess.CompletedProcess[str]:
    path = f"{directory / 'bin'}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    return subprocess.run(["bash", "-c", f"set -o pipefail\n{script}"], cwd=directory, input=typed, text=True,
                          capture_output=True, timeout=TIMEOUT, check=False,
                          env=real_client.environment(PATH=path, PYTHONPATH=str(ROOT), LC_ALL="C.UTF-8",
                                                      HOME=str(directory)))


@pytest.mark.parametrize("example", [parameter(e) for e in RUN if reason_not_to_run(e) is None])
def test_an_example_runs(example: Example, place: Path) -> None:
    for tool in TOOLS:
        if re.search(rf"\b{tool}\b", example.text) and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    needed = [word for word in CLIENTS if word in example.text]
    if needed:
        provide_clients(place, needed)
    if example.kind == "python":
        done = subprocess.run([sys.executable, "-"], cwd=place, input=example.text, text=True, capture_output=True,
                              timeout=TIMEOUT, check=False, env=real_client.environment(PYTHONPATH=str(ROOT)))
    else:
        done = shell(example.text.replace(*SIZE), place, example.input)
    allowed = (0, 1) if example.text.startswith(FINDS) else (0,)
    assert done.returncode in allowed, f"exit status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr
    if example.output:
        compare(example.output, done.stdout + done.stderr)


def provide_clients(place: Path, needed: list[str]) -> None:
    """The programs behind the names that examples use."""
    if real_client.missing():
        pytest.skip(real_client.missing())
    program = place / "my-gl-program"
    program.write_text(f'#!/bin/sh\nexec {real_client.scenes("gl")} gears /dev/null 64 1\n')
    program.chmod(0o755)
    if "ffmpeg" in needed:
        if video.missing():
            pytest.skip(video.missing())
        video.encode(place / "clip.m2v", "64x48", 3, [])


def compare(shown: tuple[str, ...], printed: str) -> None:
    """The lines that a page shows are printed in this order; `...` stands for any text, spaces count as one."""
    lines, at = [" ".join(line.split()) for line in printed.splitlines()], 0
    for row in shown:
        if row.strip() == "...":
            continue
        pattern = ".*".join(re.escape(" ".join(part.split())) for part in row.split("..."))
        found = next((i for i in range(at, len(lines)) if re.fullmatch(pattern, lines[i])), None)
        assert found is not None, f"not printed: {row}\nafter line {at} of:\n{printed}"
        at = found + 1


@pytest.mark.parametrize("example", [pytest.param(e, id=e.name) for e in ALL if e.kind == "synopsis"])
def test_a_synopsis_names_a_verb_and_its_options(example: Example) -> None:
    words = example.text.split()[1:]
    if words[0].startswith("-") or words[0] in ("VERB", "COMMAND"):
        return
    assert words[0] in VERBS, words[0]
    command = cli.get_command(click.Context(cli), words[0])
    if isinstance(command, click.Group):
        if len(words) == 1:
            return
        command = command.get_command(click.Context(command), words[1])
    assert command is not None
    known = {"--help", "-h"} | {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    options = words[1:words.index("--")] if "--" in words else words[1:]
    assert {o for o in options if o.startswith("-") and o != "-"} <= known


def test_every_exception_is_an_example() -> None:
    used = {key for key in NOT_RUN for e in RUN if e.page == key[0] and e.text.startswith(key[1])}
    assert used == set(NOT_RUN)


@pytest.mark.parametrize(("shown", "found"), [
    (("a b", "c"), True), (("c",), True), (("a ... b", "...", "c d"), False), (("c", "a b"), False), (("a...",), True),
])
def test_output_is_compared_loosely(shown: tuple[str, ...], found: bool) -> None:
    if found:
        compare(shown, "x\na   b\nc\n")
    else:
        with pytest.raises(AssertionError, match="not printed"):
            compare(shown, "x\na   b\nc\n")


@pytest.mark.parametrize(("command", "synopsis"), [
    ("gen4emu decode", True), ("gen4emu decode --json", True), ("gen4emu replay TRACE -o DIR", True),
    ("gen4emu capture -o app.g4c", True), ("gen4emu decode --only 3DPRIMITIVE a.aub", False),
    ("gen4emu lint --rules", False), ("gen4emu diff a.png b.png", False), ("gen4emu devices", False),
])
def test_a_synopsis_lacks_an_operand(command: str, synopsis: bool) -> None:
    assert is_synopsis(command) == synopsis


def test_examples_are_found() -> None:
    """The harness would pass if it found nothing."""
    assert len(RUN) > 40
    assert {e.kind for e in ALL} == {"shell", "python", "session", "synopsis"}
    assert {"README.md", "docs/live.md", "docs/replay.md", "lint --help"} <= {e.page for e in ALL} <= {
        *(p.relative_to(ROOT).as_posix() for p in PAGES), *(f"{verb} --help" for verb in VERBS)}
