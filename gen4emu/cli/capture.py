"""`gen4emu capture`: run a program on the emulated GPU and keep its submissions as a trace."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gen4emu.cli.index import write_index
from gen4emu.cli.options import seconds
from gen4emu.cli.run import PASS_ON, LiveOptions, live_options, make_server, run_program
from gen4emu.errors import NotExecutedError
from gen4emu.live.driver_output import DriverOutput
from gen4emu.live.recorder import watch_capture
from gen4emu.trace.capture import SUFFIX
from gen4emu.trace.conversion import container_for
from gen4emu.trace.output import Output


@click.command(context_settings=PASS_ON)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True, metavar="[--] PROGRAM [ARGUMENTS]...")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, metavar="FILE",
              help="The trace: a capture in the g4c format if its name ends in .g4c, otherwise an AUB file; .xz, .gz "
                   "or .zst at the end compresses it.")
@click.option("--checkpoints", callback=seconds, metavar="TIME",
              help="When the program has ended, replay the trace and write checkpoints at this interval, such as 100ms "
                   "or 1s, to FILE.index, as `gen4emu index` does.")
@click.option("--gl", is_flag=True,
              help="Keep shader sources, programs, labels and debug groups of OpenGL, and Mesa's NIR of the kernels; "
                   "FILE is then a .g4c capture.")
@live_options
def capture(command: tuple[str, ...], output: Path, checkpoints: float | None, gl: bool, options: LiveOptions) -> int:
    """Run PROGRAM on the emulated GPU and write its submissions to FILE; `gen4emu replay` draws the same pictures.

    Chips that do not execute yet (see `gen4emu devices`) complete their batches at once: they are recorded, but
    draw nothing.

    If programs open the device several times, the first trace is FILE, and the names of the others are numbered.

    \b
    Example:
      gen4emu capture -o app.aub.xz -- ./my-gl-program
    """
    if not options.device.executes and options.frames is not None:
        raise NotExecutedError(f"--frames: {options.device.name} does not execute yet, so there are no pictures")
    if not options.device.executes and checkpoints is not None:
        raise NotExecutedError(f"--checkpoints: {options.device.name} does not execute yet")
    if gl and container_for(output) != "g4c":
        raise click.UsageError(f"--gl: {output} would be an AUB file, which cannot hold what it keeps; use a name that "
                               f"ends in {SUFFIX}")
    if not output.exists() or output.is_file():
        Output(output).discard()  # a file that cannot be written is an error before the program runs
    server = make_server(options)
    driver = DriverOutput(options.device, os.environ) if gl else None
    watch_capture(server, output, driver)
    if not options.device.executes:
        server.log(f"{options.device.name} does not execute yet: batches are recorded, pictures stay empty")
    verdict = run_program(server, command, options, output, driver=driver)
    status = verdict.status
    if checkpoints is not None:
        for captured in verdict.captures:
            if Path(captured).parent == output.parent:
                status = write_index(captured, checkpoints, options.mode) or status
    return status
