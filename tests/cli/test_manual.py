"""Manual pages, completion, environment variables: complete, installed, and documented."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gen4emu.cli import manual
from gen4emu.cli.completion import PLACES
from gen4emu.cli.main import VERBS, cli, run

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "share" / "man" / "man1"


def test_committed_pages_are_those_of_the_program() -> None:
    """After a change of a help text: gen4emu man --write share/man/man1"""
    names = manual.names(cli)
    assert {path.name for path in PAGES.iterdir()} == {name for name, _ in names} and len(names) == len(VERBS) + 1
    stale = [name for name, verb in names if (PAGES / name).read_text() != manual.page(cli, verb)]
    assert stale == [], "run: gen4emu man --write share/man/man1"


@pytest.mark.parametrize(("name", "verb"), manual.names(cli))
def test_a_page_has_all_sections_and_groff_accepts_it(name: str, verb: str | None) -> None:
    text = manual.page(cli, verb)
    sections = re.findall(r"^\.SH (.*)$", text, re.MULTILINE)
    assert sections[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
    assert {"EXAMPLES", "OPTIONS", "EXIT STATUS", "ENVIRONMENT"} <= set(sections)
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-Wbreak"], input=text, capture_output=True, text=True,
                          check=True)
    assert done.stderr == ""


def test_every_option_is_in_its_page() -> None:
    page = manual.page(cli, "replay").replace("\\-", "-")
    command = cli.get_command(cli.make_context("gen4emu", ["replay"]), "replay")
    assert command is not None
    assert [o for p in command.params for o in p.opts if o.startswith("-") and o not in page] == []


def test_man_prints_and_writes_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["man", "lint"]) == 0
    assert capsys.readouterr().out == manual.page(cli, "lint")
    assert run(["man", "--write", str(tmp_path / "man1")]) == 0
    assert len(list((tmp_path / "man1").iterdir())) == len(capsys.readouterr().out.splitlines()) == len(VERBS) + 1
    assert run(["man", "lnt"]) == 2
    assert "no such verb: 'lnt'; did you mean lint?" in capsys.readouterr().err


def test_man_writes_all_pages_even_if_nobody_reads_their_names(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-u", "-m", "gen4emu", "man", "--write", str(tmp_path)], stdout=writer,
                          check=False, cwd=ROOT, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    os.close(writer)
    assert done.returncode == 0
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in PAGES.iterdir()}


@pytest.mark.parametrize("shell", PLACES)
def test_completion_scripts_are_printed_and_committed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The program chooses the words; the scripts only call it."""
    assert run(["completion", shell]) == 0
    for script in (capsys.readouterr().out, (ROOT / PLACES[shell]).read_text()):
        assert f"_GEN4EMU_COMPLETE={shell}_complete" in script
        if shutil.which(shell) is not None:
            subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize(("less", "given"), [(None, "FRX"), ("i", "i")])
def test_the_pager_shows_colors(less: str | None, given: str, tmp_path: Path) -> None:
    """PAGER='less -S' once showed the codes of colors: less needs R, which LESS gives unless the user has set it."""
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\necho \"$LESS\" > {tmp_path}/less\ncat > /dev/null\n")
    pager.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("LESS", "GEN4EMU_PAGER")}
    environment |= {"PAGER": f"{pager} -S"} | ({} if less is None else {"LESS": less})
    trace = str(ROOT / "traces" / "clear-g4x.aub.xz")
    leader, follower = pty.openpty()
    subprocess.run([sys.executable, "-m", "gen4emu", "decode", trace], stdin=follower, stdout=follower, check=True,
                   env=environment)
    os.close(leader)
    os.close(follower)
    assert (tmp_path / "less").read_text() == f"{given}\n"


@pytest.mark.parametrize(("line", "found"), [
    ("gen4emu repl", ["plain,replay"]),
    ("gen4emu lint --seve", ["plain,--severity"]),
    ("gen4emu lint --severity w", ["plain,warning"]),
    ("gen4emu replay tra", ["file,tra"]),
    ("gen4emu decode -o ou", ["file,ou"]),
])
def test_verbs_options_values_and_files_are_completed(line: str, found: list[str]) -> None:
    words = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_GEN4EMU_COMPLETE": "bash_complete"}
    done = subprocess.run([sys.executable, "-m", "gen4emu"], env=os.environ | words, capture_output=True, text=True,
                          check=True)
    assert done.stdout.splitlines() == found


def test_every_variable_that_is_read_is_documented() -> None:
    sources = [path for pattern in ("gen4emu/**/*.py", "native/**/*.[chp]*", "setup.py") for path in ROOT.glob(pattern)
               if "generated" not in path.parts and path.suffix in (".py", ".c", ".h")]
    read = {name for path in sources
            for name in re.findall(r"(?:env\w*(?:\.get)?[\[(]\s*)\"([A-Z_0-9]+)\"|\b(GEN4EMU_[A-Z]+)\b",
                                   path.read_text(encoding="utf-8")) for name in name if name}
    page = (ROOT / "docs" / "environment.md").read_text()
    rows = "".join(re.findall(r"^\|([^|]*)\|", page, re.MULTILINE))
    documented = set(re.findall(r"`(\w+)`", rows))
    assert {"GEN4EMU_PAGER", "GEN4EMU_MODE", "NO_COLOR"} <= read
    assert read - documented - {"TERM"} == set()
    assert [line for name, text in manual.ENVIRONMENT.items() if (line := f"| `{name}` | {text} |") not in page] == []


def test_python_m_gen4emu_is_the_program() -> None:
    done = subprocess.run([sys.executable, "-m", "gen4emu", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("gen4emu, version ")
    failed = subprocess.run([sys.executable, "-m", "gen4emu", "nonsense"], capture_output=True, check=False)
    assert failed.returncode == 2


@pytest.mark.parametrize(("word", "meant"), [("replya", "replay"), ("decod", "decode"), ("kernel", "kernels")])
def test_an_unknown_verb_suggests_one(word: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([word]) == 2
    assert f"no such command: '{word}'; did you mean {meant}?" in capsys.readouterr().err


def test_a_file_in_the_place_of_a_verb_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(ROOT / "traces" / "clear-g4x.aub.xz")
    assert run([trace]) == 2
    assert f"'{trace}' is a file, not a command; try: gen4emu info {trace}" in capsys.readouterr().err
