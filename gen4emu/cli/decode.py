"""`gen4emu decode`: every submission of a trace as text or JSON; `--lint` is `gen4emu lint` of a selection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click

from gen4emu import trace as traces
from gen4emu.cli import options
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.cli.terminal import Progress, Write, complain, damaged, output, some, uses_pager, wants_color
from gen4emu.decode import select
from gen4emu.decode.compatible_text import RENDERERS
from gen4emu.decode.document import Document
from gen4emu.decode.fieldtext import COLOR, PLAIN
from gen4emu.decode.json_text import JsonRenderer, counted
from gen4emu.decode.nodes import Item, Tally, TraceStart
from gen4emu.decode.options import Options
from gen4emu.errors import SelectionError
from gen4emu.hw.chips import Device
from gen4emu.selection import ALL, Selection


@click.command()
@click.argument("file", default="-")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of text (docs/decode-json.md).")
@click.option("--lint", is_flag=True, help="List only findings, as `gen4emu lint` does.")
@options.submissions_option
@options.frames_option
@options.draws_option
@click.option("--only", metavar="NAME,...", help="Only commands and blocks with these names (* is a wildcard), or of a "
              "kind: command, state, kernel, data, diagnostic.")
@click.option("--at", callback=options.address, metavar="ADDRESS",
              help="Only commands and blocks at this address, or pointing to it.")
@click.option("--as", "as_name", metavar="NAME", help="With --at: decode that memory as this block, KERNEL or BATCH.")
@click.option("--count", type=click.IntRange(1, 4096), default=1, help="With --as: the number of blocks.")
@click.option("--layout", type=click.Choice(sorted(RENDERERS)), default="compact", help="Layout of the text.")
@click.option("--headers", is_flag=True, help="Only the names of commands.")
@click.option("--no-offsets", is_flag=True, help="Omit addresses and raw dwords.")
@click.option("--no-follow", is_flag=True, help="Do not follow pointers to state, kernels and data.")
@click.option("--repeat", is_flag=True, help="Show unchanged state each time.")
@click.option("--max-vbo-lines", type=int, default=4, metavar="N", help="Show at most N rows of data; negative: all.")
@click.option("--all-bb", is_flag=True, help="Error states: show batch objects that the ring did not reach, too.")
@click.option("--forget", is_flag=True, help="Forget memory after each submission, as aubinator does.")
@click.option("--strict-pte", is_flag=True, help="Memory exists only where FILE maps it in the page table.")
@options.trace_options
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Use colors.")
@click.option("--pager/--no-pager", default=True, help="On a terminal, use a pager.")
@click.option("-o", "--output", "output_path", metavar="PATH", help="Write to this file.")
@confinement_options
@options.verbosity_options
def decode(file: str, as_json: bool, lint: bool, submissions: Selection | None, frames: Selection | None,
           draws: Selection | None, only: str | None, at: int | None, as_name: str | None, count: int, layout: str,
           headers: bool, no_offsets: bool, no_follow: bool, repeat: bool, max_vbo_lines: int, all_bb: bool,
           forget: bool, strict_pte: bool, kind: str | None, base: int, device: Device | None,
           force_device: bool, partial: bool, color: str, pager: bool, output_path: str | None,
           confinement: Confinement) -> int:
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
    names = only.split(",") if only is not None else []
    select.check_names(names, file)
    choices = Options(follow=not no_follow, max_rows=max_vbo_lines, repeat=repeat, lint=lint, all_batches=all_bb,
                      forget=forget, strict_pte=strict_pte, submissions=submissions or ALL)
    confinement.limit(file)
    if output_path is not None or as_json or not uses_pager(pager):
        confinement.enter(file, outputs=(None if output_path is None else Path(output_path),))
    trace = traces.open(file, device=device, force_device=force_device, base=base, kind=kind,
                        again=frames is not None or lint)
    marked = (frames is not None or lint) and trace.has_marks()
    if frames is not None and not marked:
        choices = replace(choices, submissions=frames)
    document = Document(trace, file=file, container=trace.kind, device=device, options=choices)
    tally = Tally()
    reported = 0
    if as_name is not None and at is not None:
        items: Iterable[Item] = document.block(as_name, at, count)
    else:
        items = document
        if only is not None:
            items = select.only(items, names)
        if at is not None:
            items = select.at(items, at)
        if draws is not None:
            items = select.draws(items, draws)
        if frames is not None and marked:
            items = select.frames(items, frames)
    to_stdout = output_path in (None, "-")
    items = _watched(items, tally, Progress(f"decoding {file}", lambda: trace.fraction, scrolls=to_stdout))
    with output(output_path, pager and not as_json) as write:
        if lint:
            reported = _lint(items, write, document, marked, as_json, partial)
        elif as_json:
            _json(items, write, tally)
        else:
            theme = COLOR if output_path is None and wants_color(color) else PLAIN
            renderer = RENDERERS[layout](theme, offsets=not no_offsets, headers=headers)
            for item in items:
                write(renderer.render(item))
    status = damaged(file, document.damage, partial)
    if as_name is None:
        for selected, there, noun in ((submissions, document.number, "submission"), (draws, document.draws, "draw"),
                                      (frames, document.frames if marked else document.number, "frame")):
            if selected is not None:
                selected.require_any(there, noun, file)
    if as_name is not None and at is not None and not document.has(at):
        raise SelectionError(f"{file}: nothing in this trace wrote 0x{at:08x}")
    if (only is not None or at is not None) and as_name is None and not tally.commands and not tally.errors:
        raise SelectionError(f"{file}: {_nothing(only, at)} in this trace")
    if status:
        return status
    if lint:
        return 1 if reported else 0
    if tally.errors:
        complain(f"{file}: {some(tally.errors, 'problem')} found: see !!")
    return 0


def _nothing(only: str | None, at: int | None) -> str:
    """"no 3DSTATE_X at or pointing to 0x00100000"."""
    names = "no " + " or ".join(n.strip() for n in only.split(",")) if only is not None else "nothing"
    return names if at is None else f"{names} at 0x{at:08x} or pointing there"


def _watched(items: Iterable[Item], tally: Tally, progress: Progress) -> Iterable[Item]:
    """Counts the items and shows progress."""
    try:
        for item in items:
            counted(tally, item)
            progress.tick(lambda: f"{some(tally.submissions, 'submission')}, {some(tally.commands, 'command')}")
            yield item
    finally:
        progress.done()


def _lint(items: Iterable[Item], write: Write, document: Document, marked: bool, as_json: bool, partial: bool) -> int:
    """Write the broken rules as `gen4emu lint` does; returns their number."""
    from gen4emu.cli.lint import write_json, write_text
    from gen4emu.decode.findings import Baseline, Report, damage_texts, findings
    from gen4emu.decode.lint_rules import RuleSelection

    report = Report(RuleSelection(), Baseline())
    found = report.sort(findings(items, document, marked))
    if as_json:
        write_json(found, write, (document.file,), report, lambda: [] if partial else damage_texts(document))
    else:
        write_text(found, write, report)
    return report.reported.total()


def _json(items: Iterable[Item], write: Write, tally: Tally) -> None:
    renderer = JsonRenderer()
    for item in items:
        write(renderer.begin(item) if isinstance(item, TraceStart) else renderer.render(item))
    write(renderer.finish(tally))
