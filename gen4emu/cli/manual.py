"""Manual pages, from what click knows of the verbs: roff for man(1)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

import gen4emu

# Environment variables of the program, the shim and the C core.  A test compares them with docs/environment.md.
ENVIRONMENT = {
    "GEN4EMU_PAGER": "The pager for long text on a terminal; overrides PAGER. Empty or cat: none.",
    "PAGER": "The pager if GEN4EMU_PAGER is not set; less by default.",
    "LESS": "Options of less. If it is not set, the pager gets FRX, so that colors show.",
    "NO_COLOR": "If set and not empty, output has no colors unless --color always.",
    "GEN4EMU_VARIANT": "The variant of the C core: plain, avx2 or avx512; by default the best that the processor has.",
    "GEN4EMU_MODE": "run, capture: preferred and largest mode, WIDTHxHEIGHT; by default 1024x768 and larger ones.",
    "XDG_CACHE_HOME": "check, suite: the files that a --dask worker was sent, under gen4emu/; by default ~/.cache.",
    "XDG_STATE_HOME": "index: the directory with the user's key of indexes, under gen4emu/; by default ~/.local/state.",
    "GEN4EMU_ATOMIC": "run, capture: 1 offers atomic mode setting.",
    "GEN4EMU_LIVE": "The directory of the device server. Set by run and capture for the program; see run --serve.",
    "INTEL_DEBUG": "capture --gl: Mesa's; extended for the program, so that the driver prints its shaders.",
    "TMPDIR": "The directory for temporary files.",
}
STATUSES = {
    0: "Success; nothing differs, nothing was found.",
    1: "A difference or a finding.",
    2: "Bad input or usage, or a damaged trace.",
    3: "The GPU hung.",
    130: "Interrupted.",
}


def page(group: click.Group, verb: str | None = None) -> str:
    """The manual page of the program, or of one verb, as roff."""
    context = click.Context(group, info_name="gen4emu", **group.context_settings)
    if verb is None:
        return _text(_program(group, context))
    command = group.get_command(context, verb)
    if command is None:
        raise KeyError(verb)
    return _text(_verb(command, click.Context(command, info_name=verb, parent=context)))


def names(group: click.Group) -> list[tuple[str, str | None]]:
    """File names of all pages, each with its verb."""
    verbs = group.list_commands(click.Context(group))
    return [("gen4emu.1", None), *((f"gen4emu-{verb}.1", verb) for verb in verbs)]


def _program(group: click.Group, context: click.Context) -> Iterator[str]:
    yield from _head("gen4emu", _first_line(group))
    yield ".SH SYNOPSIS"
    yield ".B gen4emu\n\\fIVERB\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]"
    yield from _description(group)
    yield ".SH VERBS"
    for verb in group.list_commands(context):
        command = group.get_command(context, verb)
        assert command is not None
        yield f".TP\n.BR gen4emu\\-{_escape(verb)} (1)\n{_escape(_first_line(command))}"
    yield from _options(context)
    yield from _closing()


def _verb(command: click.Command, context: click.Context) -> Iterator[str]:
    name = context.command_path
    yield from _head(name.replace(" ", "-"), _first_line(command))
    yield ".SH SYNOPSIS"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".B {_escape(name)}\n{_escape(usage)}"
    yield from _description(command)
    if isinstance(command, click.Group):
        yield from _subcommands(command, context)
    else:
        yield from _options(context)
    yield from _closing("gen4emu")


def _subcommands(group: click.Group, context: click.Context) -> Iterator[str]:
    """Each command of a verb that is a group, with its options."""
    yield ".SH OPTIONS"
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        usage = " ".join(command.collect_usage_pieces(inner))
        yield f".SS {_escape(name)}\n{_escape(inner.command_path)} {_escape(usage)}"
        yield f".PP\n{_escape(_first_line(command))}"
        yield from _listed(inner)


def _head(name: str, text: str) -> Iterator[str]:
    yield f'.TH "{_escape(name.upper())}" 1 "" "gen4emu {_escape(gen4emu.__version__)}" "gen4emu"'
    yield f".SH NAME\n{_escape(name)} \\- {_escape(text.rstrip('.'))}"


def _first_line(command: click.Command) -> str:
    paragraph = (command.help or "").strip().partition("\n\n")[0]
    return re.split(r"(?<=\.)\s", " ".join(paragraph.split()), maxsplit=1)[0]


def _description(command: click.Command) -> Iterator[str]:
    """The help text; paragraphs that click must not wrap (\\b) become lines as they are."""
    yield ".SH DESCRIPTION"
    for paragraph in (command.help or "").strip().split("\n\n"):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        if lines[0] != "\b":
            yield f".PP\n{_escape(' '.join(lines))}"
            continue
        for line in lines[1:]:
            if re.fullmatch(r"Examples?:", line):
                yield ".SH EXAMPLES"
            elif line.startswith("gen4emu "):
                yield f".PP\n.nf\n.RS\n{_escape(line)}\n.RE\n.fi"
            else:
                yield f".PP\n{_escape(line)}"


def _options(context: click.Context) -> Iterator[str]:
    yield ".SH OPTIONS"
    yield from _listed(context)


def _listed(context: click.Context) -> Iterator[str]:
    for parameter in context.command.params:
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            yield f".TP\n.B {_escape(record[0])}\n{_escape(record[1])}"
    # click keeps the option for help as the first context wanted it.
    yield f".TP\n.B {_escape('-h, --help')}\nShow this message and exit."


def _closing(*see_also: str) -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for status, text in STATUSES.items():
        yield f".TP\n.B {status}\n{_escape(text)}"
    yield ".SH ENVIRONMENT"
    for name, text in ENVIRONMENT.items():
        yield f".TP\n.B {name}\n{_escape(text)}"
    if see_also:
        yield ".SH SEE ALSO\n" + ",\n".join(f".BR {name} (1)" for name in see_also)


def _escape(text: str) -> str:
    """Text that roff shows as it is: hyphens stay ASCII, no line is taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"
