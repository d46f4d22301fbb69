"""`gen4emu decode`: every submission of a trace as text or JSON, or only what is wrong with it (`--lint`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from gen4emu import trace as traces
from gen4emu.cli import options
from gen4emu.cli.terminal import Progress, Write, damaged, output, wants_color
from gen4emu.decode import select
from gen4emu.decode.document import Document, located
from gen4emu.decode.fieldtext import COLOR, PLAIN
from gen4emu.decode.json_text import JsonRenderer, counted
from gen4emu.decode.layouts import RENDERERS
from gen4emu.decode.nodes import Command, Diagnostic, Item, SubmissionStart, Tally, TraceStart
from gen4emu.decode.options import Options
from gen4emu.errors import DecodeError
from gen4emu.hw.gen import Device


@click.command()
@click.argument("file", default="-")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/decode-json.md).")
@click.option("--lint", is_flag=True, help="List only what breaks a rule; exit status 1 if something does.")
@click.option("--submission", type=click.IntRange(1), metavar="N", help="Only submission N, counted from 1.")
@click.option("--only", metavar="NAME,...", help="Only commands and blocks with these names (* is a wildcard), or of a "
              "kind: command, state, kernel, data, diagnostic.")
@click.option("--at", callback=options.address, metavar="ADDRESS", help="Only what lives there or points there.")
@click.option("--as", "as_name", metavar="NAME", help="With --at: take what is there for this block, KERNEL or BATCH.")
@click.option("--count", type=click.IntRange(1, 4096), default=1, help="With --as: how many of them.")
@click.option("--layout", type=click.Choice(sorted(RENDERERS)), default="compact", help="How the text looks.")
@click.option("--headers", is_flag=True, help="Only the names of commands.")
@click.option("--no-offsets", is_flag=True, help="Without addresses and raw dwords.")
@click.option("--no-follow", is_flag=True, help="Do not follow pointers to state, kernels and data.")
@click.option("--repeat", is_flag=True, help="Show state again that did not change since it was last shown.")
@click.option("--max-vbo-lines", type=int, default=4, metavar="N", help="Rows of plain data shown; negative: all.")
@click.option("--all-bb", is_flag=True, help="Error states: show batch objects that the ring did not reach, too.")
@click.option("--forget", is_flag=True, help="Forget memory after each submission, as aubinator does.")
@click.option("--strict-pte", is_flag=True, help="Memory exists only where FILE maps it in the page table.")
@options.raw_option
@options.hexdump_option
@options.base_option
@options.device_option
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colours.")
@click.option("--pager/--no-pager", default=True, help="On a terminal, use less.")
@click.option("-o", "--output", "output_path", metavar="PATH", help="Write to this file.")
def decode(file: str, as_json: bool, lint: bool, submission: int | None, only: str | None, at: int | None,
           as_name: str | None, count: int, layout: str, headers: bool, no_offsets: bool, no_follow: bool, repeat: bool,
           max_vbo_lines: int, all_bb: bool, forget: bool, strict_pte: bool, kind: str | None, base: int,
           device: Device | None, color: str, pager: bool, output_path: str | None) -> int:
    """Decode FILE (AUB, error state, raw batch or hex dump; also compressed; - is stdin).

    \b
    Examples:
      gen4emu decode trace.aub.xz
      gen4emu decode --only 3DPRIMITIVE,SURFACE_STATE trace.aub.xz
      gen4emu decode --lint trace.aub.xz
      gen4emu decode batch.bin --raw --base 0x12300000 --device g45
    """
    if as_name is not None and at is None:
        raise click.UsageError("--as needs --at")
    choices = Options(follow=not no_follow, max_rows=max_vbo_lines, repeat=repeat, lint=lint, all_batches=all_bb,
                      forget=forget, strict_pte=strict_pte, submission=submission)
    trace = traces.open(file, device=device, base=base, kind=kind)
    document = Document(trace, file=file, container=trace.kind, device=device, options=choices)
    tally = Tally()
    if as_name is not None and at is not None:
        items: Iterable[Item] = document.block(as_name, at, count)
    else:
        items = document
        if only is not None:
            items = select.only(items, only.split(","))
        if at is not None:
            items = select.at(items, at)
    items = _watched(items, tally, file)
    with output(output_path, pager and not as_json) as write:
        if as_json:
            _json(items, write, tally)
        elif lint:
            _findings(items, write, file)
        else:
            theme = COLOR if output_path is None and wants_color(color) else PLAIN
            renderer = RENDERERS[layout](theme, offsets=not no_offsets, headers=headers)
            for item in items:
                write(renderer.render(item))
    if submission is not None and document.number < submission:
        raise DecodeError(f"{file}: there is no submission {submission}, only {document.number}")
    if (only is not None or at is not None) and not tally.commands and not tally.errors:
        what = "" if only is None else f" is called {only}"
        where = "" if at is None else f"{' and' if only is not None else ''} is at 0x{at:08x} or points there"
        click.echo(f"gen4emu: {file}: nothing{what}{where}", err=True)
    if document.damage:
        return damaged(file, document.damage)
    if lint:
        return 1 if tally.errors or tally.lint else 0
    if tally.errors:
        click.echo(f"gen4emu: {file}: {tally.errors} problem{'s' if tally.errors > 1 else ''} found: see !!", err=True)
    return 0


def _watched(items: Iterable[Item], tally: Tally, file: str) -> Iterable[Item]:
    """Counts what goes by and tells a waiting user."""
    progress = Progress(f"decoding {file}", quiet=not sys.stderr.isatty())
    try:
        for item in items:
            counted(tally, item)
            progress.tick(lambda: f"{tally.submissions} submissions, {tally.commands} commands")
            yield item
    finally:
        progress.done()


def _json(items: Iterable[Item], write: Write, tally: Tally) -> None:
    renderer = JsonRenderer()
    for item in items:
        write(renderer.begin(item) if isinstance(item, TraceStart) else renderer.render(item))
    write(renderer.finish(tally))


def _findings(items: Iterable[Item], write: Write, file: str) -> None:
    number = 0
    for item in items:
        if isinstance(item, SubmissionStart):
            number = item.number
        elif isinstance(item, Diagnostic):
            write(located(item, file, number) + "\n")
        elif isinstance(item, Command) and (item.children or item.diagnostics):
            for node in item.walk():
                for d in node.diagnostics:
                    write(located(d, file, number) + "\n")
