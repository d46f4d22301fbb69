"""The options --sandbox, --memory and --timeout of verbs that read or execute untrusted files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gen4emu.cli.options import size
from gen4emu.limits import limit_memory, limit_time
from gen4emu.sandbox import Mode, Sandbox

Command = Callable[..., Any]
STREAM = "-"


@dataclass(frozen=True, slots=True)
class Confinement:
    """The files and resources that the process of a verb may use."""

    mode: Mode = Mode.AUTO
    memory: int = 0  # bytes; 0: no limit
    timeout: float | None = None  # seconds

    def limit(self, name: str) -> None:
        """Set the limits, before anything is read or started.  `name` appears in messages."""
        limit_time(self.timeout, name)
        limit_memory(self.memory)

    def sandbox(self) -> Sandbox:
        """For this process, which leaves it when the verb has ended."""
        return click.get_current_context().with_resource(Sandbox(self.mode))

    def enter(self, *inputs: str, outputs: tuple[Path | None, ...] = (), directory: Path | None = None) -> None:
        """Allow to read and write these, and nothing else from now on."""
        self.allowing(*inputs, outputs=outputs, directory=directory).enter()

    def allowing(self, *inputs: str, outputs: tuple[Path | None, ...] = (), directory: Path | None = None) -> Sandbox:
        """A sandbox in which these can be read and written."""
        box = self.sandbox()
        for trace in inputs:
            if trace != STREAM:
                box.read(Path(trace))
        if directory is not None:
            box.write_directory(directory)
        for file in outputs:
            if file is not None and str(file) != STREAM:
                box.write_file(file)
        return box


def _mode(ctx: click.Context, param: click.Parameter, value: str) -> Mode:
    return Mode(value)


sandbox_option = click.option("--sandbox", "mode", callback=_mode, default="auto", show_default=True,
                              type=click.Choice([mode.value for mode in Mode]),
                              help="Confine the process: no other files, sockets or programs.  auto: if possible.")
_OPTIONS = (
    sandbox_option,
    click.option("--memory", callback=size, metavar="SIZE", help="Limit on the address space, such as 4G."),
    click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
                 help="End with exit status 2 after this time."),
)


def confinement_options(command: Command) -> Command:
    """Add the options to a verb, which gets them as `confinement`."""
    @functools.wraps(command)
    def collect(mode: Mode, memory: int, timeout: float | None, **arguments: Any) -> Any:
        return command(confinement=Confinement(mode, memory, timeout), **arguments)

    for option in reversed(_OPTIONS):
        collect = option(collect)
    return collect
