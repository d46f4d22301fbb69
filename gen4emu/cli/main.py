"""The command line: `gen4emu VERB ...`.  Verbs are imported when used, errors are turned into exit statuses here.

Exit status: 0 fine, 1 a difference or a finding, 2 bad input or usage, 3 the GPU hung, 130 interrupted.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

import gen4emu
from gen4emu.errors import Gen4emuError, HangError

# verb -> where its click command is, and what `gen4emu --help` says about it
VERBS: dict[str, tuple[str, str]] = {
    "info": ("gen4emu.cli.info:info", "What a trace holds: device, memory, commands, surfaces, kernels."),
    "decode": ("gen4emu.cli.decode:decode", "Every submission of a trace as text or JSON; --lint looks for mistakes."),
    "replay": ("gen4emu.cli.replay:replay", "Execute a trace and write what it drew as pictures."),
    "debug": ("gen4emu.cli.debug:debug", "Stop a trace anywhere; who drew a pixel, what threads and messages did."),
    "diff": ("gen4emu.cli.diff:diff", "Compare two pictures."),
    "check": ("gen4emu.cli.check:check", "Replay traces and compare with golden pictures, for CI."),
    "disasm": ("gen4emu.cli.disasm:disasm", "EU machine code to assembly."),
    "asm": ("gen4emu.cli.asm:asm", "Assembly to EU machine code."),
    "run": ("gen4emu.cli.run:run", "An unmodified program on the emulated GPU."),
    "capture": ("gen4emu.cli.capture:capture", "Run a program and keep what it submits as a trace."),
    "convert": ("gen4emu.cli.convert:convert", "From one trace container to another."),
}


class ReaderGone(Exception):
    """Whoever read our output has seen enough.  Not a BrokenPipeError: click would exit with status 1."""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        module, _, name = verb[0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gen4emu.__version__, "-V", "--version", prog_name="gen4emu")
def cli() -> None:
    """An exact software model of the Intel Gen4 GPUs (965G to G45), and the tools around it.

    \b
    Example:
      gen4emu decode trace.aub.xz
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status."""
    try:
        status = cli.main(args=None if arguments is None else list(arguments), prog_name="gen4emu",
                          standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as e:
        return e.exit_code
    except click.ClickException as e:
        e.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (ReaderGone, BrokenPipeError):  # the latter from the flush above
        _give_up_stdout()
        return 0
    except HangError as e:
        return _complain(e, 3)
    except Gen4emuError as e:
        return _complain(e, 2)
    except OSError as e:
        if e.filename is None:  # of a stream that is open
            _give_up_stdout()
            return _complain(f"standard output: {e.strerror or e}", 2)
        return _complain(f"{e.filename}: {e.strerror}", 2)


def _buffer_stdout() -> None:
    """Under PYTHONUNBUFFERED, Python drops what a disk that is nearly full does not take, and says nothing."""
    raw = sys.stdout.buffer
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=sys.stdout.encoding, errors=sys.stdout.errors,
                                      line_buffering=raw.isatty())


def _give_up_stdout() -> None:
    """Keep the interpreter from flushing what is left into a stream that does not take it."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(what: object, status: int) -> int:
    click.echo(f"gen4emu: {what}", err=True)
    return status


def main() -> None:
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as long as the process
    if sys.stdout is None:
        sys.exit(_complain("standard output is closed", 2))
    _buffer_stdout()
    gc.set_threshold(50_000, 20, 100)  # decoding makes many short-lived objects and no cycles: 5 to 10 % less time
    sys.exit(run())


if __name__ == "__main__":
    main()
