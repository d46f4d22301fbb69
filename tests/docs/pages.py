"""The examples of README.md, docs/*.md and --help: blocks of shell and Python, sessions with `$ `, inline commands.

A command with placeholders (`gen4emu replay TRACE -o DIR`, `gen4emu debug`) is a synopsis: it cannot run, but its verb
and options must exist.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from gen4emu.cli.main import cli

ROOT = Path(__file__).parent.parent.parent
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(gen4emu [^`]+)`")
_COMMENT = re.compile(r"\s+#\s.*$")
_PROMPT = re.compile(r"\([a-z0-9 ,]+\) ")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9,.:]*(\[.*)?|\.\.\.")


@dataclass(frozen=True, slots=True)
class Example:
    """Something that a page says one can run: `text` is a script for the shell, or Python."""

    page: str
    line: int
    text: str
    kind: str  # "shell", "python", "session", "synopsis"
    output: tuple[str, ...] = ()  # lines that the page shows
    input: str = ""  # lines that it types

    @property
    def name(self) -> str:
        first = next((line for line in self.text.splitlines() if line.strip() and not line.startswith("#")), "")
        return f"{self.page}:{self.line} {first}"


    @property
    def command(self) -> str:
        """The text without comments: where it is equal, so is the example."""
        return "\n".join(_COMMENT.sub("", line) for line in self.text.splitlines())


def examples() -> list[Example]:
    return [*(example for page in PAGES for example in _of(page)), *_of_help()]


def _of_help() -> Iterator[Example]:
    """The examples of `gen4emu VERB --help`."""
    context = click.Context(cli)
    for verb in cli.list_commands(context):
        command = cli.get_command(context, verb)
        assert command is not None
        text = (command.help or "").partition("Example")[2]
        for line, example in enumerate(text.splitlines()):
            if "gen4emu " in example:
                yield Example(f"{verb} --help", line, example.strip(), "shell")


def _of(path: Path) -> Iterator[Example]:
    page, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    for block in _BLOCK.finditer(page):
        line = page.count("\n", 0, block.start(2)) + 1
        language, text = block[1], block[2]
        if language == "python":
            yield Example(name, line, text, "python")
        elif language in ("sh", "bash", "shell") or text.startswith("gen4emu "):
            yield from (Example(name, line + at, command, "shell") for at, command in _commands(text))
        elif text.startswith("$ "):
            yield from _sessions(name, line, text)
    prose = _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page)
    for inline in _INLINE.finditer(prose):
        command = " ".join(inline[1].split())
        kind = "synopsis" if is_synopsis(command) else "shell"
        yield Example(name, prose.count("\n", 0, inline.start()) + 1, command, kind)


def is_synopsis(command: str) -> bool:
    """Whether a command has placeholders, or lacks what it works on."""
    words = shlex.split(command)
    if any(_PLACEHOLDER.fullmatch(word) for word in words[1:]):
        return True
    verb = cli.get_command(click.Context(cli), words[1])
    if verb is None or "--help" in words:
        return False
    if isinstance(verb, click.Group):
        return len(words) == 2
    values, _, _ = verb.make_parser(click.Context(verb)).parse_args(words[2:])
    if values.get("rules") or values.get("explain"):
        return False
    given = (values.get(p.name or "") for p in verb.params if isinstance(p, click.Argument))
    return not all(isinstance(value, str | tuple) and any(value) for value in given)


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """The commands of a block, each with the number of its first line; lines that set something go to the next."""
    lines, start = text.splitlines(), 0
    pending: list[str] = []
    for i, line in enumerate(lines):
        if not pending:
            start = i
        if not line.strip() or line.startswith("#"):
            continue
        pending.append(line)
        script = "\n".join(pending)
        if not _is_complete(script) or re.match(r"[A-Z_]+=|export |printf ", line):
            continue
        yield start, script
        pending = []
    assert not pending, pending


def _is_complete(script: str) -> bool:
    try:
        shlex.split(script, comments=True)
    except ValueError:
        return False
    return not script.endswith("\\")


def _sessions(page: str, line: int, text: str) -> Iterator[Example]:
    """Commands after `$ ` with what they print; `(draw 0) ` is the debugger's prompt."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *rest = part.splitlines()
        typed, shown = [], []
        for row in rest:
            prompt = _PROMPT.match(row)
            if prompt and "gen4emu debug" in command:
                typed.append(_COMMENT.sub("", row[prompt.end():]))
            elif row.strip():
                shown.append(row)
        script = _COMMENT.sub("", command)
        yield Example(page, line, script, "session", tuple(shown), "".join(f"{t}\n" for t in typed))
        line += len(rest) + 1
