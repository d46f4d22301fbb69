"""Options of verbs that run many cases: files of results, shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from gen4emu.cluster.pool import check_address
from gen4emu.errors import SelectionError
from gen4emu.suite.lines import Line, Writer, durations, read
from gen4emu.suite.shards import Shard

Command = Callable[..., Any]


def _shard(ctx: click.Context, param: click.Parameter, value: str | None) -> Shard | None:
    if value is None:
        return None
    try:
        return Shard.parse(value)
    except SelectionError as e:
        raise click.BadParameter(str(e), ctx, param) from None


_OPTIONS = (
    click.option("--shard", callback=_shard, metavar="I/N", help="Only part I of N, from 1; balanced by --durations."),
    click.option("--durations", "earlier", type=click.Path(path_type=Path, exists=True, dir_okay=False),
                 multiple=True, metavar="FILE", help="Results of an earlier run, whose times balance the shards."),
    click.option("--jsonl", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                 help="Write a line of JSON for each case as it ends; see `gen4emu results`."),
    click.option("--resume", is_flag=True, help="Continue the --jsonl FILE: its cases are not run again."),
)


def results_options(command: Command) -> Command:
    """Gives a verb `shard`, `earlier`, `jsonl` and `resume`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _cluster(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    try:
        check_address(value)
    except SelectionError as e:
        raise click.BadParameter(str(e), ctx, param) from None
    return value


dask_option = click.option("--dask", callback=_cluster, metavar="CLUSTER",
                           help="Run the cases on a Dask cluster, tcp://HOST:PORT, or local:N; -j is ignored.  "
                                "Needs `pip install 'gen4emu[cluster]'`.")


def writer(jsonl: Path | None, resume: bool) -> Writer | None:
    """The file of results, if there is one."""
    if resume and jsonl is None:
        raise click.UsageError("--resume needs the file of --jsonl")
    return None if jsonl is None else Writer(jsonl, resume=resume)


def in_shard(names: Sequence[str], suite: str, shard: Shard | None, earlier: Sequence[Path]) -> Sequence[str]:
    """The names that this run is for."""
    if shard is None:
        if earlier:
            raise click.UsageError("--durations is for --shard")
        return names
    lines: list[Line] = [line for path in earlier for line in read(path)]
    return shard.of(names, durations(lines, suite))
