"""The command line: `gen4emu VERB ...`.  Verbs are imported when used, errors are turned into exit statuses here.

Exit status: 0 fine, 1 a difference or a finding, 2 bad input or usage, 3 the GPU hung, 130 interrupted.
"""

from __future__ import annotations

import difflib
import gc
import importlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

import gen4emu
from gen4emu.errors import Gen4emuError, HangError
from gen4emu.ownership import own_process

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# verb -> the place of its click command, and its line in `gen4emu --help`
VERBS: dict[str, tuple[str, str]] = {
    "info": ("gen4emu.cli.info:info", "Summarize a trace: device, memory, commands, surfaces, kernels."),
    "decode": ("gen4emu.cli.decode:decode", "Show every submission of a trace as text or JSON."),
    "lint": ("gen4emu.cli.lint:lint", "List the rules that a trace breaks, for CI."),
    "replay": ("gen4emu.cli.replay:replay", "Execute a trace and write its render targets as pictures."),
    "report": ("gen4emu.cli.report:report", "Write a page for the browser that shows a trace draw by draw."),
    "debug": ("gen4emu.cli.debug:debug", "Stop a trace anywhere; inspect threads, messages, the history of pixels."),
    "diff": ("gen4emu.cli.diff:diff", "Compare two pictures, or two directories of them."),
    "bisect": ("gen4emu.cli.bisect:bisect", "Find the first draw, pixel and instruction that differ, and why."),
    "digest": ("gen4emu.cli.digest:digest", "Write a digest of each draw of a trace, for bisect."),
    "check": ("gen4emu.cli.check:check", "Replay traces and compare with golden pictures or digests, for CI."),
    "suite": ("gen4emu.cli.suite:suite", "Run piglit, dEQP or traces, and compare with known results."),
    "results": ("gen4emu.cli.results:results", "Join and compare files of results of check and suite."),
    "disasm": ("gen4emu.cli.disasm:disasm", "Disassemble EU machine code."),
    "state": ("gen4emu.cli.state:state", "Show the state in force at a draw."),
    "kernels": ("gen4emu.cli.kernels:kernels", "List the kernels of a trace, or write them to files."),
    "asm": ("gen4emu.cli.asm:asm", "Assemble EU machine code."),
    "run": ("gen4emu.cli.run:run", "Run an unmodified program on the emulated GPU."),
    "capture": ("gen4emu.cli.capture:capture", "Run a program and record its submissions as a trace."),
    "index": ("gen4emu.cli.index:index", "Write checkpoints of a trace, so that debug and replay begin near a draw."),
    "convert": ("gen4emu.cli.convert:convert", "Convert a trace from one container to another."),
    "trim": ("gen4emu.cli.trim:trim", "Write a part of a trace as a separate trace."),
    "minimise": ("gen4emu.cli.minimise:minimise", "Remove everything from a trace that a problem does not need."),
    "export": ("gen4emu.cli.export:export", "Write a draw as a directory that can be read, edited and built again."),
    "build": ("gen4emu.cli.build:build", "Build a trace from the commands of a batch.txt."),
    "selftest": ("gen4emu.cli.selftest:selftest", "Check this installation with known digests."),
    "devices": ("gen4emu.cli.devices:devices", "List the devices that are modelled, and their names."),
    "completion": ("gen4emu.cli.completion:completion", "Print shell completion for bash, zsh and fish."),
    "man": ("gen4emu.cli.man:man", "Write manual pages."),
}


class ReaderGone(Exception):
    """The reader of our output has left.  Not a BrokenPipeError: click would exit with status 1."""


class _File(click.types.StringParamType):
    """Text that a shell completes as the name of a file."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


@contextmanager
def _without_threads_of_numpy() -> Iterator[None]:
    """numpy, if imported here, starts no threads for linear algebra.  They would spin a while, unused.

    The environment is restored, for it is that of the programs that `run` and `capture` start.
    """
    name = "OPENBLAS_NUM_THREADS"
    if name in os.environ:
        yield
        return
    os.environ[name] = "1"
    try:
        yield
    finally:
        del os.environ[name]


def _complete_files(command: click.Command) -> None:
    for parameter in command.params:
        if isinstance(parameter.type, click.types.StringParamType) and (
                isinstance(parameter, click.Argument) or parameter.metavar in ("PATH", "FILE")):
            parameter.type = _File()


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run."""

    def invoke(self, ctx: click.Context) -> object:
        if ctx.params.pop("version"):
            click.echo(_version(with_variant=ctx.params["verbose"]))
            ctx.exit()
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
        with _without_threads_of_numpy():
            command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)
        if ctx.resilient_parsing:  # a shell completes a command line
            _complete_files(command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) \
            -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], VERBS, 1)
            if near:
                ctx.fail(f"no such command: '{args[0]}'; did you mean {near[0]}?")
            if os.path.isfile(args[0]):
                ctx.fail(f"'{args[0]}' is a file, not a command; try: gen4emu info {args[0]}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


def _version(*, with_variant: bool) -> str:
    text = f"gen4emu, version {gen4emu.__version__}"
    if with_variant:
        from gen4emu._native import lib
        from gen4emu.selftest.host import VARIANTS, back_end

        text += f"\nvectors: {VARIANTS[lib.g4_variant_current()]}\nkernels: {back_end()}"
    return text


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-q", "--quiet", is_flag=True, help="Only results and errors: no progress, no closing summary.")
@click.option("-v", "--verbose", is_flag=True, help="Show progress even if stderr is not a terminal.")
@click.option("-V", "--version", is_flag=True,
              help="Show the version and exit; with -v, also how this processor executes kernels.")
@click.pass_context
def cli(ctx: click.Context, quiet: bool, verbose: bool) -> None:
    """An exact software model of Intel GPUs (965G to G45, Ivy Bridge, Haswell, Skylake, Kaby Lake), and tools
    around it.

    \b
    Example:
      gen4emu decode trace.aub.xz
    """
    ctx.meta["gen4emu.quiet"], ctx.meta["gen4emu.verbose"] = quiet, verbose  # see terminal.is_quiet


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
    except MemoryError:
        return _complain("out of memory", 2)
    except OSError as e:
        if e.filename is None:  # of a stream that is open
            _give_up_stdout()
            return _complain(f"standard output: {e.strerror or e}", 2)
        return _complain(f"{e.filename}: {e.strerror}", 2)


def _buffer_stdout() -> None:
    """Under PYTHONUNBUFFERED, Python silently drops the part of a write that a nearly full disk does not take."""
    raw = sys.stdout.buffer
    if isinstance(raw, io.RawIOBase):
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=sys.stdout.encoding, errors=sys.stdout.errors,
                                      line_buffering=raw.isatty())


def _give_up_stdout() -> None:
    """Keep the interpreter from flushing the rest into a stream that does not take it."""
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
    own_process()
    gc.set_threshold(50_000, 20, 100)  # decoding makes many short-lived objects and no cycles: 5 to 10 % less time
    status = run()
    gc.freeze()  # the interpreter collects once more when it ends, which takes 10 to 80 ms and frees nothing of use
    sys.exit(status)


if __name__ == "__main__":
    main()
