"""`gen4emu run`: an unmodified program on the emulated GPU."""

from __future__ import annotations

import functools
import signal
import sys
import time
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from gen4emu.cli.options import device, hiz_option, size
from gen4emu.cli.sandbox_options import sandbox_option
from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.device.options import Options
from gen4emu.errors import Gen4emuError, NotExecutedError
from gen4emu.hw.chips import Device as Part
from gen4emu.image.raw_video import STDOUT
from gen4emu.live import program, summary
from gen4emu.live.driver_output import DriverOutput
from gen4emu.live.error_states import ErrorStates
from gen4emu.live.frames import frame_writer, watch_frames
from gen4emu.live.screen import Screen, View
from gen4emu.live.screen_link import ScreenLink
from gen4emu.live.server import Server
from gen4emu.live.server_process import Apart, ProgramEnd, Serve, Stop, Verdict
from gen4emu.ownership import is_own_process
from gen4emu.sandbox import Mode, Sandbox
from gen4emu.trace.output import Output

Command = Callable[..., Any]
# Messages about a program, by how far it used the GPU.
_ABSENCES = {"used": "", "display": "showed pictures but never drew with the GPU",
             "opened": "opened the GPU but never used it", "unused": "never opened the GPU"}
_PATIENCE = 10.0  # seconds that a server has after --timeout to execute what has arrived
PASS_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """The options that `run` and `capture` have in common."""

    device: Part
    frames: Path | None
    stats: bool
    json: str | None
    workers: int
    watchdog: int
    hiz: HierarchicalDepthMode
    error_state: Path | None
    strict: bool
    require_gpu: bool
    mode: Mode  # of --sandbox
    memory: int
    timeout: float | None
    quiet: bool
    verbose: bool


def live_options(command: Command) -> Command:
    """Adds the common options to a command, which gets them as `options`."""
    @functools.wraps(command)
    def collect(**arguments: Any) -> Any:
        options = LiveOptions(**{field.name: arguments.pop(field.name) for field in fields(LiveOptions)})
        if options.quiet and options.verbose:
            raise click.UsageError("--quiet and --verbose exclude each other")
        if options.json == "-" and options.frames == STDOUT:
            raise click.UsageError("--json - and --frames - both write to standard output")
        return command(options=options, **arguments)

    for option in reversed((
        click.option("-d", "--device", callback=device, metavar="DEVICE", default="g45", show_default=True,
                     help="The GPU that programs see: g41, g45, gm45, g965, 965gm, ivb, byt, hsw, skl, kbl, ... or a "
                          "PCI id.  `capture` also knows snb, bdw."),
        click.option("--frames", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help="Write every frame that a program shows as a picture, or each batch's render targets if it "
                          "shows none.  -: raw video (rgb24) of shown frames on standard output, for ffmpeg; PROGRAM's "
                          "own output goes to standard error."),
        click.option("--stats", is_flag=True, help="Print statistics at the end, on standard error."),
        click.option("--json", type=click.Path(dir_okay=False, allow_dash=True), metavar="FILE",
                     help="Write the result as JSON at the end; - is standard output, and PROGRAM's own output goes to "
                          "standard error."),
        click.option("-j", "--workers", type=click.IntRange(0, 64), default=0,
                     help="Worker threads for each open device; 0: one per processor."),
        click.option("--watchdog", type=click.IntRange(0), default=0,
                     help="Limit on each draw in million EU instructions; above it, the GPU hangs."),
        hiz_option,
        click.option("--error-state", "error_state", type=click.Path(path_type=Path), metavar="FILE",
                     help="Write the error state of a hang to FILE instead of a new file in the temporary directory."),
        click.option("--strict", is_flag=True,
                     help="Unknown commands hang; exit with status 1 after unmodelled or invalid operations."),
        click.option("--require-gpu", is_flag=True, help="Exit with status 1 if no program used the GPU."),
        sandbox_option,
        click.option("--memory", callback=size, metavar="SIZE",
                     help="Limit on the address space of the emulated devices, with the buffers of programs."),
        click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
                     help="End PROGRAM and the devices after this time."),
        click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
        click.option("-v", "--verbose", is_flag=True,
                     help="Report when programs open and close the device, and their unmodelled or invalid "
                          "operations."),
    )):
        collect = option(collect)
    return collect


def make_server(options: LiveOptions, directory: Path | None = None, screen: Screen | None = None) -> Server:
    """A server with the observers of the options; frames go to `screen`, too."""
    if options.json not in (None, "-"):
        Output(options.json).discard()  # a file that cannot be written is an error before the program runs
    device_options = Options(workers=options.workers, watchdog=options.watchdog, strict=options.strict,
                             hierarchical_depth=options.hiz)
    server = Server(options.device, device_options, directory=directory, quiet=options.quiet, verbose=options.verbose)
    server.error_state = ErrorStates(server, options.error_state)
    factories = [frame_writer(server, options.frames)] if options.frames is not None else []
    if screen is not None:
        factories.append(screen.watcher(server))
    if factories:
        watch_frames(server, *factories)
    return server


def run_program(server: Server, command: tuple[str, ...], options: LiveOptions, trace: Path | None = None,
                view: View | None = None, driver: DriverOutput | None = None,
                link: ScreenLink | None = None, screen: Screen | None = None) -> Verdict:
    """Run a program.  The status is its own, unless that is 0 and the server has a reason for another one.

    `link` leads from `screen` to `view` if the server gets a process of its own.
    """
    stdout = sys.stderr if options.json == "-" or options.frames == STDOUT else None

    def execute() -> ProgramEnd:
        try:
            started = program.start(command, server.directory, stdout, driver)
            ended = program.wait(started, None if view is None else view.idle, options.timeout)
        except program.ProgramError as e:
            return ProgramEnd(error=str(e), error_status=e.status)
        return ProgramEnd(ended.status, f"{command[0]}: ended after {options.timeout:g} s (--timeout)"
                          if ended.timed_out else "")

    def viewed() -> ProgramEnd:
        if view is None:
            return execute()
        view.start()
        end = ProgramEnd()
        try:
            end = execute()
        finally:  # before the server closes: a pause would keep it waiting
            view.end(f"{Path(command[0]).name} has ended"
                     + ("." if end.status is None else f" with status {end.status}."))
        return end

    def serve(wait: Callable[[], ProgramEnd]) -> Verdict:
        with driver or nullcontext(), server:
            end = wait()
        if end.error:
            server.error(end.error)
        status = end.status or end.error_status
        if not end.error_status:
            verdict = _verdict(server, options, command[0], trace)
            status = status or verdict
        return _result("run" if trace is None else "capture", server, options, status, command, end.status)

    if not _is_apart(options):
        return _conclude(serve(viewed), options)
    with Sandbox(options.mode) as sandbox:
        _allow(sandbox, options, trace)
        if driver is not None:
            driver.open()

        def serve_driver(wait: Callable[[], ProgramEnd]) -> Verdict:
            if driver is not None:
                driver.started()  # the other process gives it to the program
            return _serve_screen(serve, link, screen)(wait)

        apart = _apart(server, serve_driver, sandbox, options, link)
        begin = time.monotonic()
        try:
            end = viewed()
            return _conclude(apart.end(end, _patience(options.timeout, begin)), options)
        finally:
            apart.close()
            if driver is not None:
                driver.leave()


def _patience(timeout: float | None, begin: float) -> float | None:
    """The seconds for the server to execute what has arrived; a program may have ended long before its time limit."""
    return None if timeout is None else max(0.0, begin + timeout - time.monotonic()) + _PATIENCE


def _apart(server: Server, serve: Serve, sandbox: Sandbox, options: LiveOptions, link: ScreenLink | None) -> Apart:
    """A process for the server.  A view stays here: it needs sockets or a display."""
    if link is None:
        return Apart(server, serve, sandbox, options.memory)
    apart = Apart(server, serve, sandbox, options.memory, link.drop_view)
    link.leave()
    return apart


def _serve_screen(serve: Serve, link: ScreenLink | None, screen: Screen | None) -> Serve:
    """In the process of the server: `serve`, with a screen that is linked to the view."""
    def linked(wait: Callable[[], ProgramEnd]) -> Verdict:
        if link is not None and screen is not None:
            link.serve(screen)
        return serve(wait)

    return linked


def _is_apart(options: LiveOptions) -> bool:
    """Whether the server gets a process of its own."""
    if is_own_process():
        return True
    if options.mode is Mode.ON or options.memory:
        raise click.UsageError("--sandbox on and --memory are for a process of gen4emu itself")
    return False


def _allow(sandbox: Sandbox, options: LiveOptions, trace: Path | None = None) -> None:
    """Allow what a server writes."""
    if options.frames is not None and options.frames != STDOUT:
        sandbox.write_directory(options.frames)
    for file in (options.error_state, trace):
        if file is not None:
            sandbox.write_file(file)


def _verdict(server: Server, options: LiveOptions, name: str, trace: Path | None = None) -> int:
    """Report what the server has seen; returns the exit status for that.  Without a program, `name` is empty."""
    complaints = summary.print_totals(server.totals, options.stats, options.strict or not options.quiet)
    use = summary.gpu_use(server.totals)
    absence = f"{name} {_ABSENCES[use]}" if name else "no program used the GPU"
    missing = trace is not None and not server.totals.captures and not server.totals.errors
    if missing:
        server.log_always(f"{trace}: not written, {name} submitted nothing" if use == "used" else
                        f"{trace}: not written, {absence}")
    elif use != "used" and options.require_gpu:
        server.log_always(absence)
    elif use != "used" and name:
        server.log(absence)
    if options.strict and server.totals.hangs:
        return 3
    failed = (server.totals.errors or missing or (complaints and options.strict)
              or (use != "used" and options.require_gpu))
    return 1 if failed else 0


def _result(verb: str, server: Server, options: LiveOptions, status: int, command: tuple[str, ...] = (),
            program_status: int | None = None) -> Verdict:
    return Verdict(status, "" if options.json is None else
                   summary.result_json(verb, server.chip.name, server.totals, status, command, program_status),
                   tuple(str(captured.path) for captured in server.totals.captures))


def _conclude(verdict: Verdict, options: LiveOptions) -> Verdict:
    if options.json is not None:
        with Output(options.json) as output:
            output.write(verdict.document.encode())
    return verdict


@click.command(context_settings=PASS_ON)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] PROGRAM [ARGUMENTS]...")
@live_options
@click.option("--serve", type=click.Path(path_type=Path), metavar="DIR",
              help="Run no program; serve any that connects through the new directory DIR, until interrupted.")
@click.option("--attach", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
              help="Replace this process with PROGRAM, on the device that serves DIR.")
@click.option("--web", is_flag=True,
              help="Serve a page that shows the frames in a browser on this machine, and print its address.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port of --web.  [default: a free one]")
@click.option("--open", "opens", is_flag=True, help="With --web: show the page in a browser.")
@click.option("--window", is_flag=True, help="Show the frames in a window; needs the extra gen4emu[window].")
def run(command: tuple[str, ...], options: LiveOptions, serve: Path | None, attach: Path | None, web: bool, port: int,
        opens: bool, window: bool) -> int:
    """Run PROGRAM on the emulated GPU, with the installed drivers.

    With --web or --window, frames are shown as PROGRAM draws them. It never waits for the page or the window, unless it
    is paused there. The page can be reached only from this machine, at the printed address.

    \b
    Examples:
      gen4emu run --device g45 --stats -- ./my-gl-program
      gen4emu run --web -- ./my-gl-program
    """
    if (serve is None) == (not command) or (serve is not None and attach is not None):
        raise click.UsageError("name a PROGRAM to run, or --serve DIR")
    if web and window:
        raise click.UsageError("--web and --window exclude each other")
    if (port or opens) and not web:
        raise click.UsageError("--port and --open need --web")
    if attach is not None:
        if options.json is not None or options.require_gpu or web or window:
            raise click.UsageError("--json, --require-gpu, --web and --window belong to the server, not to --attach")
        try:
            program.replace_self(command, attach)
        except program.ProgramError as e:
            click.echo(f"gen4emu: {e}", err=True)
            return e.status
    if not options.device.executes:
        raise NotExecutedError(f"{options.device.name} does not execute yet: gen4emu capture "
                               f"--device {options.device.name} records what a program submits")
    screen = Screen() if web or window else None
    with ExitStack() as cleanup:
        view = link = None
        if screen is not None:
            title = Path(command[0]).name if command else "gen4emu"
            link = ScreenLink(lambda text: click.echo(f"gen4emu: {text}", err=True)) if _is_apart(options) else None
            shown = screen if link is None else link.remote

            def make() -> View:
                return _web_view(shown, title, options, port, opens) if web else _window_view(shown, title, options)

            view = make() if link is None else link.made(make)
            cleanup.callback(view.end, "The server has ended.")
        server = make_server(options, serve, screen)
        if serve is None:
            return run_program(server, command, options, view=view, link=link, screen=screen).status
        return _serve(server, options, view, link, screen).status


def _web_view(screen: Screen, title: str, options: LiveOptions, port: int, opens: bool) -> View:
    from gen4emu.live_web.app import WebView  # other runs need no web server

    try:
        view = WebView(screen, title, options.device.name, port)
    except OSError as e:
        raise Gen4emuError(f"port {port} of 127.0.0.1: {e.strerror}") from None
    click.echo(f"gen4emu: watch {title} at {view.server.url}", err=True)
    if opens:
        webbrowser.open(view.server.url)
    return view


def _window_view(screen: Screen, title: str, options: LiveOptions) -> View:
    from gen4emu.live.window import WindowView

    return WindowView(screen, f"{title} on {options.device.name}",
                      lambda text: None if options.quiet else click.echo(f"gen4emu: {text}", err=True))


def _serve(server: Server, options: LiveOptions, view: View | None, link: ScreenLink | None,
           screen: Screen | None) -> Verdict:
    """Serve until SIGINT or SIGTERM, or until the end of --timeout."""
    def serve(wait: Callable[[], ProgramEnd]) -> Verdict:
        with server:
            try:
                for name, value in program.additions(server.directory, {}, for_shells=True).items():
                    click.echo(f"{name}={value}")
                sys.stdout.flush()
            except Gen4emuError as e:
                click.echo(f"gen4emu: {e}", err=True)
                return Verdict(2)
            end = wait()
        if end.error:
            server.error(end.error)
        return _result("run", server, options, end.error_status or _verdict(server, options, ""))

    stop = Stop()
    end = ProgramEnd()

    def timed_out(number: int, frame: object) -> None:
        nonlocal end
        end = ProgramEnd(error=f"ended after {options.timeout:g} s (--timeout)", error_status=1)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    signal.signal(signal.SIGALRM, timed_out)
    if options.timeout is not None:
        signal.setitimer(signal.ITIMER_REAL, options.timeout)

    def viewed(wait: Callable[[], object]) -> None:
        if view is not None:
            view.start()
        wait()
        if view is not None:
            view.end("The server has ended.")

    def stopped() -> None:
        if view is None or view.idle is None:
            stop.wait()
        while view is not None and view.idle is not None and not stop.is_set():
            view.idle()

    def wait() -> ProgramEnd:
        viewed(stopped)
        return end

    if not _is_apart(options):
        return _conclude(serve(wait), options)
    with Sandbox(options.mode) as sandbox:
        _allow(sandbox, options)
        apart = _apart(server, _serve_screen(serve, link, screen), sandbox, options, link)
        begin = time.monotonic()
        try:
            viewed(lambda: apart.wait_until(stop, None if view is None else view.idle))
            return _conclude(apart.end(end, _patience(options.timeout, begin)), options)
        finally:
            apart.close()
