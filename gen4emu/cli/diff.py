"""`gen4emu diff`: compare two pictures."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from gen4emu.image.compare import compare, heat_map, pair
from gen4emu.image.picture import save_pixels

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE)
@click.option("--tolerance", type=click.FloatRange(0), default=0, show_default=True,
              help="Largest error of a channel that does not count.")
@click.option("--heatmap", type=click.Path(path_type=Path, dir_okay=False), help="Write a picture of the differences.")
@click.option("--json", "as_json", is_flag=True, help="The numbers as JSON.")
def diff(first: Path, second: Path, tolerance: float, heatmap: Path | None, as_json: bool) -> int:
    """Compare two pictures (PNG or npy).  Exit status: 0 the same, 1 different, 2 not comparable.

    \b
    Example:
      gen4emu diff actual.png expected.png --heatmap heat.png
    """
    a, b = pair(first, second)
    difference = compare(a, b, tolerance)
    click.echo(json.dumps(asdict(difference)) if as_json else str(difference))
    if heatmap is not None:
        save_pixels(heatmap, heat_map(a, b))
    return 0 if difference.same else 1
