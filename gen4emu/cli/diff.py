"""`gen4emu diff`: compare two pictures, or two directories of pictures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from gen4emu.cli.printable import printable
from gen4emu.cli.sandbox_options import Confinement, confinement_options
from gen4emu.errors import DecodeError
from gen4emu.image.compare import compare, heat_map, pair
from gen4emu.image.pairs import Pair, compare_directories
from gen4emu.image.picture import save_pixels

SCHEMA = "gen4emu.diff/1"
_PATH = click.Path(path_type=Path, exists=True)


@click.command()
@click.argument("first", type=_PATH)
@click.argument("second", type=_PATH)
@click.option("--tolerance", type=click.FloatRange(0), default=0, show_default=True,
              help="Ignore errors of a channel up to this value.")
@click.option("--heatmap", type=click.Path(path_type=Path), metavar="PATH",
              help="Write a picture of the differences; for directories, one for each pair that differs.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write an HTML page with all pictures that differ.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="For directories, list equal pictures, too.")
@confinement_options
def diff(first: Path, second: Path, tolerance: float, heatmap: Path | None, html: Path | None, as_json: bool,
         verbose: bool, confinement: Confinement) -> int:
    """Compare two pictures (PNG or npy), or the pictures of two directories by name.

    \b
    Exit status: 0 the same, 1 different, 2 not comparable.
    Examples:
      gen4emu diff actual.png expected.png --heatmap heat.png
      gen4emu diff frames/before frames/after --html diff.html
    """
    confinement.limit(f"{first} and {second}")
    confinement.enter(str(first), str(second), outputs=(html, None if first.is_dir() else heatmap),
                      directory=heatmap if first.is_dir() else None)
    if first.is_dir() != second.is_dir():
        directory, file = (first, second) if first.is_dir() else (second, first)
        raise DecodeError(f"{directory} is a directory, {file} is a file: give two directories or two pictures")
    if first.is_dir():
        pairs = list(compare_directories(first, second, tolerance))
    else:
        _refuse_traces(first, second)
        pairs = [Pair(first.name, first, second, compare(*pair(first, second), tolerance))]
    maps = _heat_maps(pairs, heatmap, first.is_dir())
    if html is not None:
        _write_page(html, pairs, first, second)
    status = 0 if all(one.same for one in pairs) else 1
    if as_json:
        click.echo(json.dumps(_as_json(pairs, maps, first, second, status), indent=1))
    elif first.is_dir():
        _print_table(pairs, verbose)
    else:
        click.echo(str(pairs[0].difference))
    for one, path in zip(pairs, maps, strict=True):
        if path is not None and not as_json and one.difference is not None:
            click.echo(f"{printable(str(path))}: black: equal; blue, red, yellow, white: up to the largest error, "
                       f"{one.difference.max_error}")
    return status


def _refuse_traces(first: Path, second: Path) -> None:
    """Suggest the option that users of other tools expect."""
    from gen4emu.check.manifest import trace_kind

    traces = [path for path in (first, second) if path.suffix not in (".png", ".npy") and trace_kind(path) is not None]
    if len(traces) == 2:
        raise DecodeError(f"{first} and {second} are traces; diff compares pictures: replay both (gen4emu replay TRACE "
                          "-o DIRECTORY), then compare the two directories")
    if traces:
        raise DecodeError(f"{traces[0]}: is a trace; diff compares pictures, which `gen4emu replay` makes of it")


def _heat_maps(pairs: Sequence[Pair], target: Path | None, many: bool) -> list[Path | None]:
    """The heat map of each pair that differs; of two single pictures always."""
    written: list[Path | None] = []
    for one in pairs:
        path = None
        comparable = one.first is not None and one.second is not None and one.difference is not None
        if target is not None and comparable and not (many and one.same):
            assert one.first is not None and one.second is not None
            path = (target / one.name).with_suffix(".heatmap.png") if many else target
            save_pixels(path, heat_map(*pair(one.first, one.second)))
        written.append(path)
    return written


def _print_table(pairs: Sequence[Pair], verbose: bool) -> None:
    shown = [one for one in pairs if verbose or not one.same]
    width = max((len(printable(one.name)) for one in shown), default=0)
    for one in shown:
        text = "same" if one.difference is not None and one.difference.differing == 0 else one.text
        click.echo(f"{printable(one.name):<{width}}  {printable(text)}")
    missing = sum(one.first is None or one.second is None for one in pairs)
    same = sum(one.same for one in pairs)
    click.echo(f"{len(pairs)} pictures: {same} the same, {len(pairs) - same - missing} differ, {missing} missing")


def _as_json(pairs: Sequence[Pair], maps: Sequence[Path | None], first: Path, second: Path,
             status: int) -> dict[str, Any]:
    def path(file: Path | None) -> str | None:
        return None if file is None else str(file)

    return {
        "schema": SCHEMA, "file": str(first), "other": str(second), "status": status,
        "pictures": [{"name": one.name, "first": path(one.first), "second": path(one.second), "same": one.same,
                      "message": one.message or None,
                      "difference": None if one.difference is None else asdict(one.difference),
                      "heatmap": None if where is None or one.difference is None else
                      {"file": str(where), "black": 0, "white": one.difference.max_error}}
                     for one, where in zip(pairs, maps, strict=True)],
    }


def _write_page(path: Path, pairs: Sequence[Pair], first: Path, second: Path) -> None:
    from gen4emu.check.page import diff_page, write_page

    write_page(path, diff_page(pairs, str(first), str(second)))
