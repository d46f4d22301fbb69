"""The debugger's commands, as text (docs/debugger.md).  They are read wherever a session stops."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from gen4emu.core_enums import (
    DEBUG_NUMBERS,
    GRF_COUNT,
    MRF_COUNT,
    BreakKind,
    DebugAction,
    DebugKind,
    ErrorPolicy,
    TrapKind,
)
from gen4emu.debugger import inspect, views
from gen4emu.debugger.backwards import DrawStart, Moment, Position, position_before, position_of
from gen4emu.debugger.debugger import Debugger, Stop, stop_lines, units_of
from gen4emu.debugger.expressions import Context, Expression, json_values, parse, value_text
from gen4emu.debugger.gl import FORMS
from gen4emu.debugger.history import SCHEMA as HISTORY_SCHEMA
from gen4emu.debugger.history import Change, fragment_lines, history_lines, object_lines, some
from gen4emu.debugger.inspect import FORMATS, LiveThread, code_at, code_lines, register_text, state_json, thread_lines
from gen4emu.debugger.messages import Message, message_lines
from gen4emu.debugger.model import STAGES, UNITS, Fate
from gen4emu.debugger.session import GoTo, Leave, Restart, Session
from gen4emu.debugger.special_numbers import pixel_of
from gen4emu.debugger.watch import Awaited, Watch, lane_lines
from gen4emu.debugger.why import CHANNELS, MOST_DEPTH, parse_channel, why
from gen4emu.debugger.why import SCHEMA as WHY_SCHEMA
from gen4emu.device.memory import Memory, Unit
from gen4emu.device.observer import Breakpoint, Trap
from gen4emu.device.options import Options
from gen4emu.device.place import Place
from gen4emu.device.targets import Target
from gen4emu.device.tiling import Tiling
from gen4emu.errors import Gen4emuError
from gen4emu.hw.chips import Device as Part
from gen4emu.hw.command_reader import Words
from gen4emu.hw.formats import SurfaceFormat
from gen4emu.image.picture import read_pixels, save_pixels
from gen4emu.isa import assemble
from gen4emu.isa.opcodes import Opcode
from gen4emu.selection import ALL, Selection
from gen4emu.trace.reader import Trace

Read = Callable[[str], str | None]  # the next command, or None when there are no more
Say = Callable[[str], None]
Command = Callable[["Shell", list[str]], DebugAction | None]


_MOST_SIDE = 8192  # of a picture of memory
_MOST_LISTED = 20  # known names in an error
SCHEMA = "gen4emu.debug/1"  # of the lines with --json


class Usage(Gen4emuError):
    """A command that is unknown, or not possible at this stop."""


class OnError(Enum):
    """The effect of a failed command on the session."""

    STOP = "stop"  # it ends with status 2: commands of a script
    COUNT = "count"  # it continues, and ends with status 2
    FORGIVE = "forgive"  # it continues: the user types the next command


class Shell:
    """Reads and executes commands; their result decides how the draw continues."""

    def __init__(self, trace: Trace, part: Part | None, options: Options, read: Read, say: Say,
                 as_json: bool = False, complain: Say | None = None, on_error: OnError = OnError.FORGIVE,
                 on_progress: Callable[[int], None] | None = None) -> None:
        """`say` gets answers, `complain` errors (by default `say` does), a line at a time."""
        self._read, self._say, self._json = read, say, as_json
        self._complain = complain if complain is not None else say
        self._on_error = on_error
        self.status = 0
        self.session = Session(trace, part, options, self._stopped, self._draw_stopped, self._message, on_progress)
        self.stop: Stop | None = None
        self.primitive: Words | None = None  # of the draw that is about to start
        self.ended = False
        self._steps = 0
        self._awaited: Awaited | None = None
        self.watches: list[Watch] = []

    # --- life -----------------------------------------------------------------------------------------------------
    def run(self) -> int:
        """Until there are no more commands; returns the exit status.  A hang of the GPU is raised."""
        if self._json:
            self._say(json.dumps({"kind": "session", "schema": SCHEMA, "file": self.session.trace.path}))
        to: int | None = None
        moment: Moment | None = None
        while True:
            try:
                self.session.prepare(self._at_start, to, moment)
                self.session.run()
                self.ended = True
                self._answer("end", ["the trace has ended"], {"end": True})
                self._check_draw()
                self._ask()
                return self.status
            except Leave:
                return self.status
            except (GoTo, Restart) as e:
                self.ended, self.stop, self.primitive = False, None, None
                to, moment = (e.draw, e.moment) if isinstance(e, GoTo) else (None, None)
            finally:
                self.session.close()

    def _check_draw(self) -> None:
        """At the end: fail if a requested draw was not reached."""
        stop = self.session.draw_stop
        wanted, stop.at = stop.at, None
        if wanted is not None and stop.required:
            assert self.session.replay is not None
            there = self.session.replay.draws
            last = f", 0 to {there - 1}" if there > 1 else ""
            self._failed(f"no draw {wanted}: the trace has {some(there, 'draw')}{last}")

    def _at_start(self) -> None:
        self._ask()

    def _stopped(self, stop: Stop) -> DebugAction:
        if self.session.is_travelling and not self.session.arrives(stop):
            return DebugAction.GO
        if self._steps > 1 and stop.reason == "step":
            self._steps -= 1
            return DebugAction.STEP
        if self._awaited is not None and stop.reason == "step" and not self._awaited.is_over(
                stop.address, Context(self.session.device, stop.live_thread)):
            return DebugAction.STEP
        self.stop, self._steps, self._awaited = stop, 0, None
        self._answer("stop", stop_lines(stop), stop.as_json())
        for watch in self.watches:
            watch.look(Context(self.session.device, stop.live_thread))
        if self.watches:
            self.answer(*self.watch_answer(), "watch")
        try:
            return self._ask() if stop.kind is not DebugKind.IN_FLIGHT else DebugAction.GO
        finally:
            self.stop = None

    def watch_answer(self) -> tuple[list[str], dict[str, Any]]:
        """The watched expressions with their values at the last stop, and those before if they differ."""
        lines = [f"watch {n}: {watch.line}" for n, watch in enumerate(self.watches, 1)]
        return lines or ["no watched expressions"], {"watches": [watch.as_json() for watch in self.watches]}

    def _draw_stopped(self, words: Words) -> None:
        self.primitive = words
        lines = list(inspect.draw_lines(self.session.device, words))
        self._answer("draw", lines, {"draw": self.session.place().draw, "text": lines})
        try:
            self._ask()
        finally:
            self.primitive = None

    def _message(self, message: Message) -> None:
        if self.session.is_travelling:
            return
        self._answer("message", message_lines(message), message.as_json())

    def _ask(self) -> DebugAction:
        """Execute commands until one of them continues the draw."""
        while True:
            line = self._read(self._prompt())
            if line is None:
                raise Leave
            try:
                action = self.command(line)
            except Gen4emuError as e:
                self._failed(str(e))
                continue
            if action is not None:
                return action

    def _failed(self, text: str) -> None:
        self._complain(text)
        if self._json:
            self._say(json.dumps({"kind": "error", "error": text}))
        if self._on_error is not OnError.FORGIVE:
            self.status = 2
        if self._on_error is OnError.STOP:
            raise Leave

    def _prompt(self) -> str:
        where = self.stop.thread.name if self.stop is not None and self.stop.thread is not None else (
            f"draw {self.session.place().draw}")
        return f"({'end' if self.ended else where}) "

    def _answer(self, kind: str, lines: Iterable[str], data: dict[str, Any]) -> None:
        if self._json:
            self._say(json.dumps({"kind": kind, **data}))
        else:
            for line in lines:
                self._say(line)

    def answer(self, lines: Iterable[str], data: dict[str, Any] | None = None, kind: str = "answer") -> None:
        lines = list(lines)
        self._answer(kind, lines, data if data is not None else {"text": lines})

    def command(self, line: str) -> DebugAction | None:
        """Execute one command; returns an action if the draw is to continue."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as e:
            raise Usage(str(e)) from None
        if not words:
            return None
        return _find(words[0])(self, words[1:])

    # --- helpers of commands --------------------------------------------------------------------------------------
    @property
    def debugger(self) -> Debugger:
        if self.session.debugger is None:
            raise Usage("no device is running")
        return self.session.debugger

    @property
    def live_thread(self) -> LiveThread:
        if self.stop is None or self.stop.live_thread is None:
            raise Usage("no thread is stopped")
        return self.stop.live_thread

    def running(self) -> None:
        if self.ended:
            raise Usage("the trace has ended; `restart` runs it again")

    def go(self, steps: int) -> None:
        self._steps = steps

    def step_until_changed(self, expression: Expression) -> None:
        """Step until an expression has another value, or the thread ends."""
        context = Context(self.session.device, self.live_thread)
        ends = frozenset(line.address for line in self.live_thread.code() if line.inst is not None and line.inst.eot)
        self._awaited = Awaited(expression, expression.values(context), ends)

    def next_draw(self) -> int:
        """The number of the next draw that begins."""
        inside = self.stop is not None or self.primitive is not None or self.ended
        return self.session.place().draw + inside

    def draw_start(self) -> DrawStart:
        """Of the draw that is stopped."""
        start = self.session.draw_start
        if start is None or start.draw != self.session.place().draw:
            raise Usage("threads of media objects and of thread groups cannot go back")
        return start

    def position(self) -> Position:
        """For comparison with stops."""
        if self.stop is None:
            return position_before(self.next_draw() if self.primitive is None else self.session.place().draw)
        found = position_of(self.stop, self.draw_start())
        if found is None:
            raise Usage("the instructions of this thread were not counted")
        return found

    def until(self) -> Place | None:
        """How far a history goes: to the end of the draw that is stopped, or all the way."""
        place = self.session.place()
        if self.stop is not None:
            return place
        if self.primitive is not None:
            return replace(place, draw=place.draw - 1)
        return None


def number(text: str, what: str = "number", most: int = 0xFFFFFFFF, least: int = 0) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise Usage(f"{what} must be a number, not {text!r}") from None
    if not least <= value <= most:
        shown = f"0x{most:x}" if most > 1 << 20 else str(most)
        raise Usage(f"{what} must be {least} to {shown}, not {text}")
    return value


def _unknown(noun: str, text: str, known: Iterable[str]) -> str:
    """"unknown command 'foo'; did you mean 'bar'?"."""
    names = list(known)
    near = difflib.get_close_matches(text, names, 1)
    listed = f" (known: {', '.join(names)})" if noun != "command" and len(names) <= _MOST_LISTED else ""
    meant = f"; did you mean {near[0]!r}?" if near else listed
    return f"unknown {noun} {text!r}{meant}"


def address_in(text: str, memory: Memory) -> int:
    """An address of the device that has the memory."""
    return number(text, "address", memory.size - 1)


def _range(text: str, memory: Memory) -> tuple[int, int]:
    """A..B, both inclusive, or A alone."""
    first, _, last = text.partition("..")
    low = address_in(first, memory)
    high = address_in(last, memory) if last else low
    if high < low:
        raise Usage(f"{text}: the end comes before the start")
    return low, high


def _need(arguments: list[str], least: int, usage: str) -> None:
    if len(arguments) < least:
        raise Usage(f"usage: {usage}")


def _need_no_more(arguments: list[str], most: int, usage: str) -> None:
    if len(arguments) > most:
        raise Usage(f"usage: {usage}")


def _qualified(arguments: list[str]) -> tuple[list[str], int, bool]:
    """`in STAGE,...` and `flagged` taken off the end: the rest, units and whether flagged."""
    rest, units, flagged = list(arguments), 0xFFFFFFFF, False
    if "flagged" in rest:
        rest.remove("flagged")
        flagged = True
    if "in" in rest:
        at = rest.index("in")
        if at + 1 >= len(rest):
            raise Usage("`in` needs stages, as in `in vs,wm`")
        try:
            units = units_of(rest[at + 1])
        except ValueError as e:
            raise Usage(str(e)) from None
        del rest[at:at + 2]
    return rest, units, flagged


# --- continuing -------------------------------------------------------------------------------------------------------
def _continue(shell: Shell, arguments: list[str]) -> DebugAction:
    shell.running()
    return DebugAction.GO


def _step(shell: Shell, arguments: list[str]) -> DebugAction:
    _ = shell.live_thread
    shell.go(number(arguments[0], "count", 1 << 32) if arguments else 1)
    return DebugAction.STEP


def _finish(shell: Shell, arguments: list[str]) -> DebugAction:
    _ = shell.live_thread
    return DebugAction.FINISH


def _draw(shell: Shell, arguments: list[str]) -> DebugAction:
    _need(arguments, 1, "draw N")
    wanted = number(arguments[0], "draw")
    if wanted < shell.next_draw() or shell.session.has_shortcut(wanted):
        raise GoTo(wanted)
    shell.running()
    shell.session.draw_stop.at, shell.session.draw_stop.required = wanted, True
    return DebugAction.GO


def _next(shell: Shell, arguments: list[str]) -> DebugAction:
    shell.running()
    shell.session.draw_stop.at, shell.session.draw_stop.required = shell.next_draw(), False
    return DebugAction.GO


def _previous(shell: Shell, arguments: list[str]) -> DebugAction:
    here = shell.next_draw() if shell.ended else shell.session.place().draw
    found = shell.session.primitive_before(here)
    if found is None:
        raise Usage("no draw has begun before this one")
    raise GoTo(found)


def _reverse_step(shell: Shell, arguments: list[str]) -> DebugAction:
    _need_no_more(arguments, 1, "reverse-step [N]")
    count = number(arguments[0], "count", 1 << 32, 1) if arguments else 1
    _ = shell.live_thread
    stop, start = shell.stop, shell.draw_start()
    assert stop is not None and stop.thread is not None
    if stop.executed is None:
        raise Usage("the instructions of this thread were not counted: stop at its start with a trap, or set a "
                    "breakpoint")
    if count > stop.executed:
        raise Usage(f"{stop.thread.name} has executed {some(stop.executed, 'instruction')}; `reverse-continue` goes to"
                    " the stop before, `previous` to the draw before")
    moment = Moment(start, stop.thread.serial, stop.executed - count, stop.thread.flagged)
    if not shell.session.goes_back(stop, moment):
        raise GoTo(start.draw, moment)
    return DebugAction.BACK


def _reverse_continue(shell: Shell, arguments: list[str]) -> DebugAction:
    _need_no_more(arguments, 0, "reverse-continue")
    if not shell.debugger.items():
        raise Usage("there are no traps or breakpoints")
    found = shell.session.last_hit(shell.position())
    if found is None:
        raise Usage("no trap or breakpoint was hit before this")
    raise GoTo(found.start.draw, found)


def _restart(shell: Shell, arguments: list[str]) -> DebugAction:
    raise Restart


def _quit(shell: Shell, arguments: list[str]) -> DebugAction:
    raise Leave


# --- traps and breakpoints --------------------------------------------------------------------------------------------
def _trap_of(kind: str, a: list[str], units: int) -> Trap:
    if kind == "pixel":
        _need(a, 2, "trap pixel X Y [NTH] [object N]")
        of = number(a[a.index("object") + 1]) if "object" in a[:-1] else None
        rest = a[:a.index("object")] if "object" in a else a
        return Trap(TrapKind.PIXEL, x=number(a[0], "x", 8191), y=number(a[1], "y", 8191),
                    instance=number(rest[2], "count") if len(rest) > 2 else 0, object=of)
    if kind in ("primitive", "object"):
        _need(a, 1, "trap primitive N")
        return Trap(TrapKind.OBJECT, value=number(a[0]))
    if kind in ("vertex", "index"):
        _need(a, 1, "trap vertex INDEX")
        return Trap(TrapKind.VERTEX_INDEX, value=number(a[0]))
    if kind == "sequence":
        _need(a, 1, "trap sequence N")
        return Trap(TrapKind.VERTEX_SEQUENCE, value=number(a[0]))
    if kind == "thread":
        _need(a, 1, "trap thread N in STAGE")
        return Trap(TrapKind.THREAD, units=units, value=number(a[0]))
    if kind == "every":
        return Trap(TrapKind.EVERY_THREAD, units=units)
    if kind == "id":
        _need(a, 1, "trap id R0.6 [MASK [R0.7 [MASK]]]")
        v = [number(x) for x in a[:4]]
        return Trap(TrapKind.DEBUG_ID, units=units, value=v[0], mask=v[1] if len(v) > 1 else DEBUG_NUMBERS,
                    value_7=v[2] if len(v) > 2 else 0,
                    mask_7=v[3] if len(v) > 3 else DEBUG_NUMBERS if len(v) > 2 else 0)
    raise Usage(_unknown("trap", kind, ("pixel", "primitive", "vertex", "sequence", "thread", "every", "id")))


def _conditional(arguments: list[str]) -> tuple[list[str], Expression | None]:
    """`if EXPRESSION` taken off the end."""
    if "if" not in arguments:
        return arguments, None
    at = arguments.index("if")
    return arguments[:at], parse(" ".join(arguments[at + 1:]))


def _trap(shell: Shell, arguments: list[str]) -> None:
    text = " ".join(arguments)
    arguments, condition = _conditional(arguments)
    _need(arguments, 1, "trap pixel|primitive|vertex|sequence|thread|every|id ... [in STAGE,...] [quiet]"
                        " [if EXPRESSION]")
    quiet = "quiet" in arguments
    if quiet and condition is not None:
        raise Usage("a quiet trap does not stop, and takes no condition")
    rest, units, _ = _qualified([a for a in arguments if a != "quiet"])
    _need(rest, 1, "trap WHAT ... [in STAGE,...]")
    trap = _trap_of(rest[0], rest[1:], units)
    if quiet:
        trap = Trap(**{name: getattr(trap, name) for name in trap.__slots__} | {"quiet": True})
    _added(shell, trap, text, "trap", condition=condition)


def _added(shell: Shell, what: Trap | Breakpoint, text: str, kind: str, once: bool = False,
           condition: Expression | None = None) -> None:
    found = shell.debugger.add(what, text, once, condition)
    shell.answer([f"{kind} {found}: {text}"], {"added": found, "text": text})


def _break(shell: Shell, arguments: list[str]) -> None:
    text = " ".join(arguments)
    arguments, condition = _conditional(arguments)
    _need(arguments, 1, "break ip|opcode|eot|sfid|message|control|write|nan|denormal ... [in STAGE,...] [flagged]"
                        " [if EXPRESSION]")
    rest, units, flagged = _qualified(arguments)
    _need(rest, 1, "break WHERE ... [in STAGE,...]")
    kind, a = rest[0], rest[1:]
    more: dict[str, Any] = {"units": units, "flagged": flagged}
    if kind in ("ip", "address"):
        _need(a, 1, "break ip ADDRESS[..ADDRESS]")
        low, high = _range(a[0], shell.session.device.memory)
        found = Breakpoint(BreakKind.ADDRESS, low, high, **more)
    elif kind == "opcode":
        _need(a, 1, "break opcode NAME")
        found = Breakpoint(BreakKind.OPCODE, inspect.opcode(a[0]), **more)
    elif kind == "eot":
        found = Breakpoint(BreakKind.END, **more)
    elif kind == "sfid":
        _need(a, 1, "break sfid NAME|N")
        found = Breakpoint(BreakKind.FUNCTION, inspect.function(a[0], shell.session.device.info.gen), **more)
    elif kind == "message":
        _need(a, 1, "break message DESCRIPTOR [MASK]")
        mask = number(a[1]) if len(a) > 1 else 0xFFFFFFFF
        found = Breakpoint(BreakKind.MESSAGE, number(a[0]) & mask, mask=mask, **more)
    elif kind == "control":
        found = Breakpoint(BreakKind.DEBUG_CONTROL, **more)
    elif kind == "write":
        _need(a, 1, "break write ADDRESS..ADDRESS")
        low, high = _range(a[0], shell.session.device.memory)
        found = Breakpoint(BreakKind.WRITE, low, high, **more)
    elif kind == "nan":
        found = Breakpoint(BreakKind.NOT_FINITE, **more)
    elif kind == "denormal":
        found = Breakpoint(BreakKind.DENORMAL, **more)
    else:
        known = ("ip", "opcode", "eot", "sfid", "message", "control", "write", "nan", "denormal")
        raise Usage(_unknown("breakpoint", kind, known))
    _added(shell, found, text, "breakpoint", condition=condition)


def _halt(shell: Shell, arguments: list[str]) -> None:
    """External halt of the next thread, once (965 PRM vol. 4, 3.4.1.1)."""
    rest, units, _ = _qualified(arguments)
    _added(shell, Trap(TrapKind.EVERY_THREAD, units=units, unflagged=True), " ".join(["halt", *rest]), "trap", True)


def _until(shell: Shell, arguments: list[str]) -> DebugAction:
    _need(arguments, 1, "until ADDRESS, or until EXPRESSION changes")
    if len(arguments) > 1:
        if arguments[-1] != "changes":
            raise Usage("usage: until ADDRESS, or until EXPRESSION changes")
        shell.step_until_changed(parse(" ".join(arguments[:-1])))
        return DebugAction.STEP
    low, high = _range(arguments[0], shell.session.device.memory)
    _added(shell, Breakpoint(BreakKind.ADDRESS, low, high), f"until {arguments[0]}", "breakpoint", True)
    return DebugAction.GO


def _list(shell: Shell, arguments: list[str]) -> None:
    items = shell.debugger.items()
    lines = [f"{n}: {text}, {some(hits, 'hit')}" for n, text, hits in items] or ["there are no traps or breakpoints"]
    shell.answer(lines, {"items": [{"number": n, "text": text, "hits": hits} for n, text, hits in items]})


def _delete(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "delete N|all")
    wanted = [n for n, _, _ in shell.debugger.items()] if arguments[0] == "all" else [number(arguments[0])]
    for n in wanted:
        if not shell.debugger.remove(n):
            raise Usage(f"no trap or breakpoint {n}")


# --- inspection -------------------------------------------------------------------------------------------------------
def _thread(shell: Shell, arguments: list[str]) -> None:
    live_thread = shell.live_thread
    shell.answer(_thread_text(live_thread), {"thread": live_thread.thread.as_json(), "state": state_json(live_thread),
                                             "executed": shell.stop.executed if shell.stop is not None else None})


def _thread_text(live_thread: LiveThread) -> Iterator[str]:
    yield from thread_lines(live_thread)
    yield from inspect.origin_of_thread(live_thread.thread)


def _registers(shell: Shell, arguments: list[str]) -> None:
    """regs [gA..gB|mA..mB] [f|d|ud|...]"""
    form = next((a for a in arguments if a in FORMATS), "ud")
    names = [a for a in arguments if a not in FORMATS] or [f"g0..g{shell.live_thread.state().grf_count - 1}"]
    found = {}
    for name in names:
        file, numbers = inspect.registers(name)
        for n in numbers:
            found[f"{file}{n}"] = shell.live_thread.grf(n) if file == "g" else shell.live_thread.mrf(n)
    shell.answer((f"{name:<5}{register_text(words, form)}" for name, words in found.items()),
                 {"registers": {name: [int(w) for w in words] for name, words in found.items()}})


def _set(shell: Shell, arguments: list[str]) -> None:
    """set g4.2[:f] VALUE; f0.0, f0.1, cr0.0 to cr0.2 too."""
    _need(arguments, 2, "set gN.M[:TYPE] VALUE | f0.N VALUE | cr0.N VALUE")
    shell.session.change()
    inspect.assign(shell.live_thread, arguments[0], arguments[1])


def _context(shell: Shell) -> Context:
    return Context(shell.session.device, shell.stop.live_thread if shell.stop is not None else None)


def _print(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "print EXPRESSION")
    expression = parse(" ".join(arguments))
    values = expression.values(_context(shell))
    shell.answer([" ".join(value_text(value) for value in values)],
                 {"expression": expression.text, "values": json_values(values), "is_wide": expression.is_wide})


def _watch(shell: Shell, arguments: list[str]) -> None:
    """Without an expression: all that are watched, with their values."""
    if arguments:
        shell.watches.append(Watch(parse(" ".join(arguments))))
        shell.watches[-1].look(_context(shell))
    shell.answer(*shell.watch_answer(), "watch")


def _unwatch(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "unwatch N|all")
    if arguments[0] == "all":
        shell.watches.clear()
        return
    n = number(arguments[0])
    if not 1 <= n <= len(shell.watches):
        raise Usage(f"no watched expression {n}")
    del shell.watches[n - 1]


def _lanes(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "lanes EXPRESSION")
    expression = parse(" ".join(arguments))
    live_thread, context = shell.live_thread, _context(shell)
    values = expression.values(context)
    values = values if expression.is_wide else values * context.lanes
    enabled = live_thread.state().channels
    pixels = [pixel_of(live_thread.thread, lane) for lane in range(context.lanes)]
    shell.answer(lane_lines(values, enabled, pixels),
                 {"expression": expression.text, "values": json_values(values), "enabled": enabled, "pixels": pixels})


def _disasm(shell: Shell, arguments: list[str]) -> None:
    if arguments and arguments[0] != "all":
        lines = code_at(shell.session.device, address_in(arguments[0], shell.session.device.memory))
    else:
        lines = shell.live_thread.code() if arguments else shell.live_thread.around(6, 10)
    at = shell.stop.address if shell.stop is not None else 0
    shell.answer(code_lines(lines, at))


def _gl(shell: Shell, arguments: list[str]) -> None:
    _need_no_more(arguments, 0, "gl")
    _need_notes(shell)
    draw = shell.session.place().draw
    group = shell.session.gl.group(draw)
    shell.answer([f"draw {draw}: {group.text if group is not None else 'not of a noted call'}"],
                 {"draw": draw, "group": None if group is None else group.as_json()})


def _source(shell: Shell, arguments: list[str]) -> None:
    usage = "source [glsl|nir|assembly]"
    _need_no_more(arguments, 1, usage)
    form = arguments[0] if arguments else None
    if form not in (None, *FORMS):
        raise Usage(_unknown("form", form or "", FORMS))
    thread = shell.live_thread.thread
    _need_notes(shell)
    stage = "ps" if thread.unit is Unit.WM else STAGES[thread.unit]
    origin, texts = shell.session.gl.sources(inspect.kernel_at(shell.session.device, thread.kernel), stage,
                                             shell.session.place().draw)
    if not texts:
        raise Usage(f"the GL notes have no source for kernel 0x{thread.kernel:08x}")
    shown = [(title, text) for title, text in texts if title.startswith(FORMS[form])] if form is not None else (
        [one for one in texts if one[0].startswith("GLSL")] or texts)
    if form is not None and not shown:
        raise Usage(f"the GL notes have no {FORMS[form]} for kernel 0x{thread.kernel:08x}")
    lines = [] if origin is None else [f"compiled from {origin.title}"]
    for title, text in shown:
        lines += [f"{title}:", *(f"{n:5}  {line}".rstrip() for n, line in enumerate(text.splitlines(), 1))]
    shell.answer(lines, {"origin": None if origin is None else origin.as_json(),
                         "sources": [{"title": title, "text": text} for title, text in shown]})


def _need_notes(shell: Shell) -> None:
    if not shell.session.gl.present:
        raise Usage("the trace has no GL notes; `gen4emu capture --gl` keeps them")


def _memory(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "x ADDRESS [BYTES]")
    device = shell.session.device
    address = address_in(arguments[0], device.memory)
    size = number(arguments[1], "size", 1 << 16) if len(arguments) > 1 else 64
    if not inspect.is_there(device, address):
        raise Usage(f"nothing has written memory at 0x{address:08x}")
    data = inspect.peek(device, address, size)
    shell.answer(inspect.dump(address, data), {"address": address, "data": data.hex()})


def _origin(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "origin ADDRESS [BYTES]")
    address = address_in(arguments[0], shell.session.device.memory)
    size = number(arguments[1], "size", 1 << 16, 1) if len(arguments) > 1 else 4
    size = min(size, shell.session.device.memory.size - address)
    draw = shell.session.place().draw + shell.ended
    change = shell.session.watch_memory([(address, size)], draw)[address, size]
    shell.answer([f"0x{address:08x}, {some(size, 'byte')}: {change.text}"],
                 {"address": address, "bytes": size, "change": change.as_json(), "text": change.text})


def _struct(shell: Shell, arguments: list[str]) -> None:
    device = shell.session.device
    names = views.block_names(device.info.gen)
    if not arguments:
        shell.answer(names, {"names": names})
        return
    _need(arguments, 2, "struct NAME ADDRESS, or struct for the names")
    _need_block(arguments[0], names)
    view = views.block_view(device.memory, arguments[0].upper(), address_in(arguments[1], device.memory),
                            device.info.gen)
    shell.answer(view.lines(), view.as_json())


def _need_block(name: str, names: Sequence[str]) -> None:
    if name.upper() not in names:
        raise Usage(_unknown("block", name, names))


def _edit(shell: Shell, arguments: list[str]) -> None:
    """edit NAME ADDRESS FIELD VALUE"""
    _need(arguments, 4, "edit NAME ADDRESS FIELD VALUE")
    name, address, field, value = arguments[0].upper(), arguments[1], arguments[2], " ".join(arguments[3:])
    device = shell.session.device
    _need_block(name, views.block_names(device.info.gen))
    before, after = views.edit_block(device.memory, name, address_in(address, device.memory), device.info.gen, field,
                                     value)
    shell.session.change()
    shell.answer([f"{field} was {before}, is {after}"], {"field": field, "before": before, "after": after})


def surface_of(arguments: list[str], memory: Memory) -> Target:
    """ADDRESS FORMAT WIDTH HEIGHT PITCH linear|x|y as a surface."""
    address, form, width, height, pitch, tiling = arguments
    if form.upper() not in SurfaceFormat.__members__:
        raise Usage(_unknown("format", form, SurfaceFormat.__members__))
    if tiling not in ("linear", "x", "y"):
        raise Usage(f"unknown tiling {tiling!r} (known: linear, x, y)")
    return Target("surface", address_in(address, memory), SurfaceFormat[form.upper()],
                  number(width, "width", _MOST_SIDE, 1), number(height, "height", _MOST_SIDE, 1),
                  number(pitch, "pitch", 1 << 20, 1), Tiling[tiling.upper()])


def _latest_targets(shell: Shell) -> list[Target]:
    """Of the last draw or blit that has ended."""
    targets = views.ordered(shell.session.device.targets.latest) if shell.session.started else []
    if not targets:
        raise Usage("nothing has been drawn yet")
    return targets


def _image(shell: Shell, arguments: list[str]) -> None:
    """A target of the last draw, or memory, as a PNG file."""
    usage = "image FILE [INDEX], or image FILE ADDRESS FORMAT WIDTH HEIGHT PITCH linear|x|y"
    if not arguments:
        titles = [views.title(target) for target in _latest_targets(shell)]
        shell.answer((f"{i}: {text}" for i, text in enumerate(titles)), {"targets": titles})
        return
    path, *rest = arguments
    if len(rest) == 6:
        target = surface_of(rest, shell.session.device.memory)
    elif len(rest) <= 1:
        targets = _latest_targets(shell)
        target = targets[number(rest[0], "target", len(targets) - 1) if rest else 0]
    else:
        raise Usage(f"usage: {usage}")
    save_pixels(Path(path), read_pixels(shell.session.device.memory, target))
    shell.answer([f"{path}: {views.title(target)}"], {"file": path, "target": views.title(target)})


def _compare(shell: Shell, arguments: list[str]) -> None:
    """The last draw with what `set` and `patch` have changed, and without."""
    if len(arguments) > 1:
        raise Usage("usage: compare [DIRECTORY]")
    targets, memory = _latest_targets(shell), shell.session.device.memory
    found = []
    with shell.session.unchanged(at_end=shell.ended) as device:
        for i, target in enumerate(targets):
            found.append(views.deviation(target, device.memory, memory))
            if arguments:
                Path(arguments[0]).mkdir(parents=True, exist_ok=True)
                save_pixels(Path(arguments[0], f"target-{i}-unchanged.png"), read_pixels(device.memory, target))
                save_pixels(Path(arguments[0], f"target-{i}-now.png"), read_pixels(memory, target))
    shell.answer((of_target.line() for of_target in found), {"compared": [of_target.as_json() for of_target in found]})


def _surfaces(shell: Shell, arguments: list[str]) -> None:
    found = inspect.surfaces(shell.session.device, shell.live_thread.thread)
    shell.answer((f"{i}: {text}" for i, text in found), {"surfaces": dict(found)})


def _where(shell: Shell, arguments: list[str]) -> None:
    device = shell.session.device
    if shell.stop is not None:
        shell.answer(stop_lines(shell.stop), shell.stop.as_json())
    elif shell.primitive is not None:
        shell.answer(inspect.draw_lines(device, shell.primitive))
    else:
        shell.answer(["at the end of the trace" if shell.ended else "before the first submission"])


def _bases(shell: Shell, arguments: list[str]) -> None:
    shell.answer(inspect.base_lines(shell.session.device))


def _errors(shell: Shell, arguments: list[str]) -> None:
    records = shell.session.device.error_records()
    shell.answer([str(r) for r in records] or ["no bad messages"], {"errors": [r.as_json() for r in records]})


# --- pixels -----------------------------------------------------------------------------------------------------------
def _pixel(shell: Shell, arguments: list[str], usage: str) -> tuple[int, int, int | None, Selection]:
    a = [x for x in arguments if x != "pixel"]
    _need(a, 2, usage)
    frames = ALL
    if len(a) > 2 and a[-2] in ("frame", "frames"):
        frames = Selection.parse(a[-1])
        a = a[:-2]
    _need(a, 2, usage)
    if len(a) > 3:
        raise Usage(f"usage: {usage}")
    most = shell.session.device.memory.size - 1
    target = number(a[2], "target address", most) if len(a) > 2 else None
    return number(a[0], "x", 8191), number(a[1], "y", 8191), target, frames


def _history(shell: Shell, arguments: list[str]) -> None:
    x, y, target, frames = _pixel(shell, arguments, "history X Y [TARGET ADDRESS] [frame N|N-M]")
    found = shell.session.history(x, y, shell.until(), frames)
    shell.answer(history_lines(found, target, back_trace=False), {"schema": HISTORY_SCHEMA, **found.as_json()},
                 "history")


def _back_trace(shell: Shell, arguments: list[str]) -> None:
    """Of the fragment that was written last, or of one in a given target."""
    x, y, target, frames = _pixel(shell, arguments, "back-trace X Y [TARGET ADDRESS] [frame N|N-M]")
    found = shell.session.history(x, y, shell.until(), frames)
    written = [f for f in found.fragments(target) if f.fate in (Fate.WRITTEN, Fate.DEPTH_ONLY)]
    if not written:
        shell.answer([f"pixel {x},{y}: {found.verdict(target)}"], {"pixel": [x, y], "fragment": None})
        return
    last = written[-1]
    of = found.object_of(last)
    later = [e for e in found.entries if isinstance(e, Change) and e.target == last.target
             and e.place.draw > last.place.draw]
    lines = [*fragment_lines(last), *(object_lines(of, "  ") if of is not None else ()),
             *(f"{e.place} changed it later, without a fragment" for e in later)]
    shell.answer(lines, {"pixel": [x, y], "fragment": last.as_json(), "from": of.as_json() if of else None},
                 "back-trace")


def _why(shell: Shell, arguments: list[str]) -> None:
    """The tree of the fragment that was written last, or of one in a given target."""
    usage = "why X Y [TARGET ADDRESS] [red|green|blue|alpha] [depth N] [frame N|N-M]"
    rest, depth = list(arguments), MOST_DEPTH
    channels: tuple[int, ...] = (0, 1, 2, 3)
    if "depth" in rest[:-1]:
        at = rest.index("depth")
        depth = number(rest[at + 1], "depth", MOST_DEPTH)
        del rest[at:at + 2]
    for word in rest:
        if word[:1].isalpha() and word not in ("pixel", "frame", "frames"):
            channels = parse_channel(word)
            rest.remove(word)
            break
    x, y, target, frames = _pixel(shell, rest, usage)
    history = shell.session.history(x, y, shell.until(), frames)
    tree = why(shell.session, history, target, channels)
    shell.answer(tree.lines(depth), {"schema": WHY_SCHEMA, "tree": tree.pruned(depth).as_json()}, "why")


# --- settings ---------------------------------------------------------------------------------------------------------
def _trace(shell: Shell, arguments: list[str]) -> None:
    rest, units, flagged = _qualified(arguments)
    if rest not in (["messages"], ["off"]):
        raise Usage("usage: trace messages [in STAGE,...] [flagged] | trace off")
    w = shell.debugger.subscription
    w.messages, w.message_units, w.messages_flagged = rest == ["messages"], units, flagged
    shell.debugger.update()


def _gang(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "gang 1..8")
    shell.debugger.subscription.gang = number(arguments[0], "count of threads", 8, 1)
    shell.debugger.update()


def _exceptions(shell: Shell, arguments: list[str]) -> None:
    bits = {"mask-stack": 1, "illegal-opcode": 2, "software": 4}
    unknown = set(arguments) - set(bits) - {"state", "none"}
    if not arguments or unknown:
        raise Usage(f"usage: exceptions {'|'.join(bits)} ... | none | state")
    shell.debugger.subscription.exceptions = None if "state" in arguments else sum(bits.get(a, 0) for a in arguments)
    shell.debugger.update()


def _color(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "color VALUE|off")
    shell.debugger.subscription.color = None if arguments[0] == "off" else number(arguments[0], "color")
    shell.debugger.update()


def _policy(shell: Shell, arguments: list[str]) -> None:
    if len(arguments) != 1 or arguments[0].upper() not in ErrorPolicy.__members__:
        raise Usage("usage: policy lenient|strict|hardware")
    shell.debugger.subscription.errors = ErrorPolicy[arguments[0].upper()]
    shell.debugger.update()


def _limit(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "limit THREADS (of an execution unit; 0: no limit)")
    shell.debugger.subscription.threads_per_eu = number(arguments[0], "count", 5)
    shell.debugger.update()


def _eu(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 2, "eu STAGE MASK")
    try:
        units = units_of(arguments[0])
    except ValueError as e:
        raise Usage(str(e)) from None
    for unit in inspect.units(units):
        shell.debugger.subscription.eu_masks[unit] = number(arguments[1], "mask", 0xFFFF)
    shell.debugger.update()


def _toggle(name: str) -> Command:
    def run(shell: Shell, arguments: list[str]) -> None:
        if arguments not in (["on"], ["off"]):
            raise Usage("expected `on` or `off`")
        setattr(shell.debugger.subscription, name, arguments == ["on"])
        shell.debugger.update()

    return run


def _clear(shell: Shell, arguments: list[str]) -> None:
    if shell.stop is None or shell.stop.kind is not DebugKind.ATTENTION:
        raise Usage("no thread is waiting for attention")
    shell.debugger.clear_attention()


def _patch(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 2, "patch ADDRESS 'ASSEMBLY'")
    code = assemble(arguments[1], shell.session.device.info.gen)
    shell.session.change()
    shell.debugger.write_code(address_in(arguments[0], shell.session.device.memory), code)


def _help(shell: Shell, arguments: list[str]) -> None:
    shell.answer(f"{name:<34}{text}" for name, _, text in COMMANDS)


COMMANDS: tuple[tuple[str, Command, str], ...] = (
    ("continue", _continue, "run to the next stop"),
    ("step [N]", _step, "one instruction of the thread"),
    ("finish", _finish, "to the instruction that ends the thread"),
    ("until ADDRESS", _until, "to an instruction; until EXPRESSION changes: after the one that changes it, or to the"
                              " end of the thread"),
    ("next", _next, "to the next draw"),
    ("previous", _previous, "back to the draw before"),
    ("reverse-step [N]", _reverse_step, "back one instruction of the thread"),
    ("reverse-continue", _reverse_continue, "back to the stop of a trap or breakpoint before this"),
    ("draw N", _draw, "to draw N, forwards or back, at full speed if there is nothing to stop at before"),
    ("restart", _restart, "the trace from its start; traps and breakpoints stay"),
    ("quit", _quit, "end the session"),
    ("trap WHAT", _trap, "pixel X Y [NTH] [object N] | primitive N | vertex INDEX | sequence N |"
                         " thread N | every | id R0.6 [MASK [R0.7 [MASK]]]; [in STAGE,...] [quiet]"
                         " [if EXPRESSION]"),
    ("break WHERE", _break, "ip A[..B] | opcode NAME | eot | sfid NAME | message DESCRIPTOR [MASK] | control |"
                            " write A..B | nan | denormal; [in STAGE,...] [flagged] [if EXPRESSION]"),
    ("halt", _halt, "at the next thread; [in STAGE,...]"),
    ("list", _list, "traps and breakpoints"),
    ("delete N|all", _delete, "one of them, or all"),
    ("where", _where, "where this is"),
    ("thread", _thread, "masks, flags, control registers, payload of the thread"),
    ("regs [gA..gB|mA..mB] [TYPE]", _registers, f"registers; types are {', '.join(FORMATS)}"),
    ("print EXPRESSION", _print, "registers, memory and arithmetic: g4.2:f + 0.5, [0x1000]:ud & 0xff"),
    ("watch [EXPRESSION]", _watch, "show an expression at every stop; alone: all of them"),
    ("unwatch N|all", _unwatch, "one of them no more, or none"),
    ("lanes EXPRESSION", _lanes, "an expression in each channel, as 2x2 blocks of pixels: lanes g4:f"),
    ("set REGISTER VALUE", _set, "gN.M[:TYPE], f0.N, cr0.N"),
    ("disasm [all|ADDRESS]", _disasm, "code around the thread, all of its kernel, or the code at an address"),
    ("source [FORM]", _source, "GLSL of the thread's kernel, or another form: nir, assembly; with GL notes"),
    ("gl", _gl, "the debug group and the program of the draw; with GL notes"),
    ("patch ADDRESS ASSEMBLY", _patch, "change code; it counts from the next instruction on"),
    ("x ADDRESS [BYTES]", _memory, "memory"),
    ("origin ADDRESS [BYTES]", _origin, "the draw or upload that changed memory last"),
    ("struct [NAME ADDRESS]", _struct, "memory as a state block; alone: the names of those"),
    ("edit NAME ADDRESS FIELD VALUE", _edit, "change a field of a state block in memory"),
    ("image [FILE [INDEX]]", _image, "a target of the last draw as a PNG file, or memory: FILE ADDRESS FORMAT WIDTH"
                                     " HEIGHT PITCH linear|x|y; alone: the targets"),
    ("compare [DIRECTORY]", _compare, "the last draw's targets beside those of the unchanged trace; pictures of both"),
    ("surfaces", _surfaces, "the thread's binding table"),
    ("bases", _bases, "base addresses of the context"),
    ("history X Y [TARGET]", _history, "every fragment that reached a pixel so far, and what became of it;"
                                       " [frame N|N-M]"),
    ("back-trace X Y [TARGET]", _back_trace, "from a pixel to its thread, object, vertices; [frame N|N-M]"),
    ("why X Y [TARGET] [CHANNEL]", _why, "from a pixel's color back to the bytes of constants, vertices and texels;"
                                         " red|green|blue|alpha, [depth N], [frame N|N-M]"),
    ("trace messages|off", _trace, "every message with payload and response; [in STAGE,...] [flagged]"),
    ("errors", _errors, "the first bad message of each shared function"),
    ("policy lenient|strict|hardware", _policy, "how bad messages end"),
    ("exceptions NAME...|none|state", _exceptions, "mask-stack, illegal-opcode, software, instead of the state's"),
    ("sip on|off", _toggle("system_routine"), "breakpoints and exceptions go to the system routine"),
    ("breakpoints-all on|off", _toggle("break_all"), "cr0.1 bit 15 of all threads"),
    ("breakpoints-flagged on|off", _toggle("break_flagged"), "cr0.1 bit 15 of flagged threads"),
    ("color VALUE|off", _color, "flagged threads paint this, in the target's format"),
    ("single-subspan on|off", _toggle("single_subspan"), "one 2x2 block a thread where shaders test depth"),
    ("clear", _clear, "let the thread that waits for attention continue"),
    ("limit N", _limit, "threads of an execution unit; 0: all"),
    ("eu STAGE MASK", _eu, "execution units that a stage's threads run on"),
    ("gang N", _gang, "threads that run in lockstep; 1 by default"),
    ("help", _help, "this list"),
)

_SHORT = {"c": "continue", "s": "step", "n": "next", "q": "quit", "b": "break", "bt": "back-trace", "r": "regs",
          "t": "thread", "d": "disasm", "run": "continue", "rs": "reverse-step", "rc": "reverse-continue",
          "catch": "break", "p": "print", "w": "where", "u": "until"}
_BY_NAME = {name.split()[0]: run for name, run, _ in COMMANDS}


def _find(word: str) -> Command:
    name = _SHORT.get(word, word)
    found = [n for n in _BY_NAME if n == name] or [n for n in _BY_NAME if n.startswith(name)]
    if len(found) != 1:
        raise Usage(f"ambiguous command {word!r}: {', '.join(found)}" if found else
                    f"{_unknown('command', word, (*_BY_NAME, *_SHORT))}; `help` lists all")
    return _BY_NAME[found[0]]


def completions(before: str, word: str) -> list[str]:
    """Completions of a command line: commands first, then their arguments and registers."""
    words = before.split()
    if not words:
        return sorted(n for n in _BY_NAME if n.startswith(word))
    name = _SHORT.get(words[0], words[0])
    known = [*_ARGUMENTS.get(name, ())]
    if name in ("regs", "set"):
        known += [f"{file}{n}" for file, count in (("g", GRF_COUNT), ("m", MRF_COUNT)) for n in range(count)]
    if len(words) > 1 and words[1] == "opcode":
        known = [o.name.lower() for o in Opcode]
    elif len(words) > 1 and words[-1] == "in":
        known = [*UNITS]
    return [k for k in known if k.startswith(word)]


_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "trap": ("pixel", "primitive", "vertex", "sequence", "thread", "every", "id", "in", "object", "quiet"),
    "break": ("ip", "opcode", "eot", "sfid", "message", "control", "write", "nan", "denormal", "in", "flagged"),
    "regs": FORMATS, "set": ("f0.0", "f0.1", "cr0.0", "cr0.1", "cr0.2"), "delete": ("all",), "disasm": ("all",),
    "source": tuple(FORMS),
    "history": ("frame",), "back-trace": ("frame",), "why": (*CHANNELS, "depth", "frame"),
    "halt": ("in",), "eu": tuple(UNITS),
    "trace": ("messages", "off", "in", "flagged"), "policy": ("lenient", "strict", "hardware"),
    "exceptions": ("mask-stack", "illegal-opcode", "software", "none", "state"), "color": ("off",),
    **dict.fromkeys(("sip", "breakpoints-all", "breakpoints-flagged", "single-subspan"), ("on", "off")),
}
