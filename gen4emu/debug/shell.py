"""The debugger's commands, as text (docs/debugging.md).  `Shell.ask` is called wherever a session stops."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gen4emu.debug import inspect, places
from gen4emu.debug.debugger import Debugger, Stop, stop_lines, units_of
from gen4emu.debug.history import Change, fragment_lines, history_lines, object_lines
from gen4emu.debug.look import FORMATS, Look, code_at, code_lines, register_text, state_json, thread_lines
from gen4emu.debug.messages import Message, message_lines
from gen4emu.debug.model import Fate, Place
from gen4emu.debug.session import Leave, Restart, Session
from gen4emu.device.device import Options
from gen4emu.device.observer import Action, BreakKind, Breakpoint, ErrorPolicy, Kind, Trap, TrapKind
from gen4emu.device.state import Words
from gen4emu.errors import Gen4emuError
from gen4emu.hw.gen import Device as Part
from gen4emu.isa import assemble
from gen4emu.trace.opening import Trace

Read = Callable[[str], str | None]  # the next command, or None when there are no more
Say = Callable[[str], None]
Command = Callable[["Shell", list[str]], Action | None]


class Usage(Gen4emuError):
    """A command that makes no sense; the session goes on."""


class Shell:
    """Reads commands, answers them, and says how the draw goes on."""

    def __init__(self, trace: Trace, part: Part | None, options: Options, read: Read, say: Say,
                 as_json: bool = False) -> None:
        self._read, self._say, self._json = read, say, as_json
        self.session = Session(trace, part, options, self._stopped, self._draw_stopped, self._message)
        self.stop: Stop | None = None
        self.primitive: Words | None = None  # of the draw that is about to start
        self.ended = False
        self._steps = 0

    # --- life -----------------------------------------------------------------------------------------------------
    def run(self) -> None:
        """Until there are no more commands.  A hang is the caller's to tell of."""
        while True:
            try:
                self.session.prepare(self._at_start)
                self.session.run()
                self.ended = True
                self._answer("end", ["the trace has ended"], {"end": True})
                self._ask()
                return
            except Leave:
                return
            except Restart:
                self.ended, self.stop, self.primitive = False, None, None
            finally:
                self.session.close()

    def _at_start(self) -> None:
        self._ask()

    def _stopped(self, stop: Stop) -> Action:
        if self._steps > 1 and stop.reason == "step":
            self._steps -= 1
            return Action.STEP
        self.stop, self._steps = stop, 0
        self._answer("stop", stop_lines(stop), stop.as_json())
        try:
            return self._ask() if stop.kind is not Kind.IN_FLIGHT else Action.GO
        finally:
            self.stop = None

    def _draw_stopped(self, words: Words) -> None:
        self.primitive = words
        lines = list(places.draw_lines(self.session.device, words))
        self._answer("draw", lines, {"draw": self.session.place().draw, "text": lines})
        try:
            self._ask()
        finally:
            self.primitive = None

    def _message(self, message: Message) -> None:
        self._answer("message", message_lines(message), message.as_json())

    def _ask(self) -> Action:
        """Commands until one of them goes on."""
        while True:
            line = self._read(self._prompt())
            if line is None:
                raise Leave
            try:
                action = self.command(line)
            except Gen4emuError as e:
                self._answer("error", [str(e)], {"error": str(e)})
                continue
            if action is not None:
                return action

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

    def command(self, line: str) -> Action | None:
        """Run one; an action when the draw is to go on."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as e:
            raise Usage(str(e)) from None
        if not words:
            return None
        return _find(words[0])(self, words[1:])

    # --- what commands need ---------------------------------------------------------------------------------------
    @property
    def debugger(self) -> Debugger:
        if self.session.debugger is None:
            raise Usage("nothing runs")
        return self.session.debugger

    @property
    def look(self) -> Look:
        if self.stop is None or self.stop.look is None:
            raise Usage("no thread is stopped")
        return self.stop.look

    def running(self) -> None:
        if self.ended:
            raise Usage("the trace has ended; `restart` starts it anew")

    def go(self, steps: int) -> None:
        self._steps = steps

    def until(self) -> Place | None:
        """How far a history goes: to the end of the draw that is stopped, or all the way."""
        place = self.session.place()
        if self.stop is not None:
            return place
        if self.primitive is not None:
            return Place(place.submission, place.draw - 1)
        return None


def number(text: str, what: str = "number", most: int = 0xFFFFFFFF) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise Usage(f"{text!r} is no {what}") from None
    if not 0 <= value <= most:
        raise Usage(f"{text} is no {what}: 0 to {most}")
    return value


def _range(text: str) -> tuple[int, int]:
    """A..B, both inclusive, or A alone."""
    first, _, last = text.partition("..")
    low = number(first, "address")
    high = number(last, "address") if last else low
    if high < low:
        raise Usage(f"{text}: the end comes before the start")
    return low, high


def _need(arguments: list[str], least: int, usage: str) -> None:
    if len(arguments) < least:
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
            raise Usage("in which stages?")
        try:
            units = units_of(rest[at + 1])
        except ValueError as e:
            raise Usage(str(e)) from None
        del rest[at:at + 2]
    return rest, units, flagged


# --- going on ---------------------------------------------------------------------------------------------------------
def _continue(shell: Shell, arguments: list[str]) -> Action:
    shell.running()
    return Action.GO


def _step(shell: Shell, arguments: list[str]) -> Action:
    _ = shell.look
    shell.go(number(arguments[0], "count", 1 << 32) if arguments else 1)
    return Action.STEP


def _finish(shell: Shell, arguments: list[str]) -> Action:
    _ = shell.look
    return Action.FINISH


def _draw(shell: Shell, arguments: list[str]) -> Action:
    shell.running()
    _need(arguments, 1, "draw N")
    shell.session.draw_stop.at = number(arguments[0])
    return Action.GO


def _next(shell: Shell, arguments: list[str]) -> Action:
    shell.running()
    inside = shell.stop is not None or shell.primitive is not None
    shell.session.draw_stop.at = shell.session.place().draw + (1 if inside else 0)
    return Action.GO


def _restart(shell: Shell, arguments: list[str]) -> Action:
    raise Restart


def _quit(shell: Shell, arguments: list[str]) -> Action:
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
        return Trap(TrapKind.DEBUG_ID, units=units, value=v[0], mask=v[1] if len(v) > 1 else 0xFFFFFF,
                    value_7=v[2] if len(v) > 2 else 0, mask_7=v[3] if len(v) > 3 else 0xFFFFFF if len(v) > 2 else 0)
    raise Usage(f"trap what? {kind!r} is none of pixel, primitive, vertex, sequence, thread, every, id")


def _trap(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "trap pixel|primitive|vertex|sequence|thread|every|id ... [in STAGE,...] [quiet]")
    quiet = "quiet" in arguments
    rest, units, _ = _qualified([a for a in arguments if a != "quiet"])
    trap = _trap_of(rest[0], rest[1:], units)
    if quiet:
        trap = Trap(**{name: getattr(trap, name) for name in trap.__slots__} | {"quiet": True})
    _added(shell, trap, " ".join(arguments), "trap")


def _added(shell: Shell, what: Trap | Breakpoint, text: str, kind: str, once: bool = False) -> None:
    found = shell.debugger.add(what, text, once)
    shell.answer([f"{kind} {found}: {text}"], {"added": found, "text": text})


def _break(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "break ip|opcode|eot|sfid|message|control|write ... [in STAGE,...] [flagged]")
    rest, units, flagged = _qualified(arguments)
    kind, a = rest[0], rest[1:]
    more: dict[str, Any] = {"units": units, "flagged": flagged}
    if kind in ("ip", "address"):
        _need(a, 1, "break ip ADDRESS[..ADDRESS]")
        low, high = _range(a[0])
        found = Breakpoint(BreakKind.ADDRESS, low, high, **more)
    elif kind == "opcode":
        _need(a, 1, "break opcode NAME")
        found = Breakpoint(BreakKind.OPCODE, inspect.opcode(a[0]), **more)
    elif kind == "eot":
        found = Breakpoint(BreakKind.END, **more)
    elif kind == "sfid":
        _need(a, 1, "break sfid NAME|N")
        found = Breakpoint(BreakKind.MESSAGE, inspect.function(a[0]) << 24, mask=0xF000000, **more)
    elif kind == "message":
        _need(a, 1, "break message DESCRIPTOR [MASK]")
        mask = number(a[1]) if len(a) > 1 else 0xFFFFFFFF
        found = Breakpoint(BreakKind.MESSAGE, number(a[0]) & mask, mask=mask, **more)
    elif kind == "control":
        found = Breakpoint(BreakKind.DEBUG_CONTROL, **more)
    elif kind == "write":
        _need(a, 1, "break write ADDRESS..ADDRESS")
        low, high = _range(a[0])
        found = Breakpoint(BreakKind.WRITE, low, high, **more)
    else:
        raise Usage(f"break at what? {kind!r} is none of ip, opcode, eot, sfid, message, control, write")
    _added(shell, found, " ".join(arguments), "breakpoint")


def _halt(shell: Shell, arguments: list[str]) -> None:
    """External halt (965v4 3.4.1.1): the next thread, once."""
    rest, units, _ = _qualified(arguments)
    _added(shell, Trap(TrapKind.EVERY_THREAD, units=units, unflagged=True), " ".join(["halt", *rest]), "trap", True)


def _until(shell: Shell, arguments: list[str]) -> Action:
    _need(arguments, 1, "until ADDRESS")
    low, high = _range(arguments[0])
    _added(shell, Breakpoint(BreakKind.ADDRESS, low, high), f"until {arguments[0]}", "breakpoint", True)
    return Action.GO


def _list(shell: Shell, arguments: list[str]) -> None:
    items = shell.debugger.items()
    lines = [f"{n}: {text}, {hits} hits" for n, text, hits in items] or ["no traps, no breakpoints"]
    shell.answer(lines, {"items": [{"number": n, "text": text, "hits": hits} for n, text, hits in items]})


def _delete(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "delete N|all")
    wanted = [n for n, _, _ in shell.debugger.items()] if arguments[0] == "all" else [number(arguments[0])]
    for n in wanted:
        if not shell.debugger.remove(n):
            raise Usage(f"there is no {n}")


# --- looking ----------------------------------------------------------------------------------------------------------
def _thread(shell: Shell, arguments: list[str]) -> None:
    look = shell.look
    shell.answer(_thread_text(look), {"thread": look.thread.as_json(), "state": state_json(look)})


def _thread_text(look: Look) -> Iterator[str]:
    yield from thread_lines(look)
    yield from places.origin_of_thread(look.thread)


def _registers(shell: Shell, arguments: list[str]) -> None:
    """regs [gA..gB|mA..mB] [f|d|ud|...]"""
    form = next((a for a in arguments if a in FORMATS), "ud")
    names = [a for a in arguments if a not in FORMATS] or [f"g0..g{shell.look.state().grf_count - 1}"]
    found = {}
    for name in names:
        file, numbers = inspect.registers(name)
        for n in numbers:
            found[f"{file}{n}"] = shell.look.grf(n) if file == "g" else shell.look.mrf(n)
    shell.answer((f"{name:<5}{register_text(words, form)}" for name, words in found.items()),
                 {"registers": {name: [int(w) for w in words] for name, words in found.items()}})


def _set(shell: Shell, arguments: list[str]) -> None:
    """set g4.2[:f] VALUE; f0.0, f0.1, cr0.0 to cr0.2 too."""
    _need(arguments, 2, "set gN.M[:TYPE] VALUE | f0.N VALUE | cr0.N VALUE")
    inspect.assign(shell.look, arguments[0], arguments[1])


def _disasm(shell: Shell, arguments: list[str]) -> None:
    if arguments and arguments[0] != "all":
        lines = code_at(shell.session.device, number(arguments[0], "address"))
    else:
        lines = shell.look.code() if arguments else shell.look.around(6, 10)
    at = shell.stop.address if shell.stop is not None else 0
    shell.answer(code_lines(lines, at))


def _memory(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "x ADDRESS [BYTES]")
    size = number(arguments[1], "size", 1 << 16) if len(arguments) > 1 else 64
    data = places.peek(shell.session.device, number(arguments[0], "address"), size)
    shell.answer(places.dump(number(arguments[0]), data), {"address": number(arguments[0]), "data": data.hex()})


def _surfaces(shell: Shell, arguments: list[str]) -> None:
    found = places.surfaces(shell.session.device, shell.look.thread)
    shell.answer((f"{i}: {text}" for i, text in found), {"surfaces": dict(found)})


def _where(shell: Shell, arguments: list[str]) -> None:
    device = shell.session.device
    if shell.stop is not None:
        shell.answer(stop_lines(shell.stop), shell.stop.as_json())
    elif shell.primitive is not None:
        shell.answer(places.draw_lines(device, shell.primitive))
    else:
        shell.answer(["at the end of the trace" if shell.ended else "before the first submission"])


def _bases(shell: Shell, arguments: list[str]) -> None:
    shell.answer(places.base_lines(shell.session.device))


def _errors(shell: Shell, arguments: list[str]) -> None:
    records = shell.session.device.error_records()
    shell.answer([str(r) for r in records] or ["no bad messages"], {"errors": [r.as_json() for r in records]})


# --- pixels -----------------------------------------------------------------------------------------------------------
def _pixel(arguments: list[str], usage: str) -> tuple[int, int, int | None]:
    a = [x for x in arguments if x != "pixel"]
    _need(a, 2, usage)
    return number(a[0], "x", 8191), number(a[1], "y", 8191), number(a[2]) if len(a) > 2 else None


def _history(shell: Shell, arguments: list[str]) -> None:
    x, y, target = _pixel(arguments, "history X Y [TARGET ADDRESS]")
    found = shell.session.history(x, y, shell.until())
    shell.answer(history_lines(found, target, back_trace=False), found.as_json(), "history")


def _back_trace(shell: Shell, arguments: list[str]) -> None:
    """Of the fragment that was written last, or of one in a given target."""
    x, y, target = _pixel(arguments, "back-trace X Y [TARGET ADDRESS]")
    found = shell.session.history(x, y, shell.until())
    written = [f for f in found.fragments(target) if f.fate in (Fate.WRITTEN, Fate.DEPTH_ONLY)]
    if not written:
        shell.answer([f"nothing has written pixel {x},{y}"], {"pixel": [x, y], "fragment": None})
        return
    last = written[-1]
    of = found.object_of(last)
    later = [e for e in found.entries if isinstance(e, Change) and e.target == last.target
             and e.place.draw > last.place.draw]
    lines = [*fragment_lines(last), *(object_lines(of, "  ") if of is not None else ()),
             *(f"{e.place} changed it by a blit" for e in later)]
    shell.answer(lines, {"pixel": [x, y], "fragment": last.as_json(), "from": of.as_json() if of else None},
                 "back-trace")


# --- settings ---------------------------------------------------------------------------------------------------------
def _trace(shell: Shell, arguments: list[str]) -> None:
    rest, units, flagged = _qualified(arguments)
    if rest not in (["messages"], ["off"]):
        raise Usage("usage: trace messages [in STAGE,...] [flagged] | trace off")
    w = shell.debugger.wishes
    w.messages, w.message_units, w.messages_flagged = rest == ["messages"], units, flagged
    shell.debugger.update()


def _gang(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "gang 1..8")
    shell.debugger.wishes.gang = number(arguments[0], "count of threads", 8)
    shell.debugger.update()


def _exceptions(shell: Shell, arguments: list[str]) -> None:
    bits = {"mask-stack": 1, "illegal-opcode": 2, "software": 4}
    unknown = set(arguments) - set(bits) - {"state", "none"}
    if not arguments or unknown:
        raise Usage(f"usage: exceptions {'|'.join(bits)} ... | none | state")
    shell.debugger.wishes.exceptions = None if "state" in arguments else sum(bits.get(a, 0) for a in arguments)
    shell.debugger.update()


def _color(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "color VALUE|off")
    shell.debugger.wishes.color = None if arguments[0] == "off" else number(arguments[0], "colour")
    shell.debugger.update()


def _policy(shell: Shell, arguments: list[str]) -> None:
    if len(arguments) != 1 or arguments[0].upper() not in ErrorPolicy.__members__:
        raise Usage("usage: policy lenient|strict|hardware")
    shell.debugger.wishes.errors = ErrorPolicy[arguments[0].upper()]
    shell.debugger.update()


def _limit(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 1, "limit THREADS (of an execution unit; 0: no limit)")
    shell.debugger.wishes.threads_per_eu = number(arguments[0], "count", 5)
    shell.debugger.update()


def _eu(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 2, "eu STAGE MASK")
    try:
        units = units_of(arguments[0])
    except ValueError as e:
        raise Usage(str(e)) from None
    for unit in inspect.units(units):
        shell.debugger.wishes.eu_masks[unit] = number(arguments[1], "mask", 0xFFFF)
    shell.debugger.update()


def _toggle(name: str) -> Command:
    def run(shell: Shell, arguments: list[str]) -> None:
        if arguments not in (["on"], ["off"]):
            raise Usage("on or off?")
        setattr(shell.debugger.wishes, name, arguments == ["on"])
        shell.debugger.update()

    return run


def _clear(shell: Shell, arguments: list[str]) -> None:
    if shell.stop is None or shell.stop.kind is not Kind.ATTENTION:
        raise Usage("no thread waits for attention")
    shell.debugger.clear_attention()


def _patch(shell: Shell, arguments: list[str]) -> None:
    _need(arguments, 2, "patch ADDRESS 'ASSEMBLY'")
    code = assemble(arguments[1], shell.session.device.info.gen)
    shell.debugger.write_code(number(arguments[0], "address"), code)


def _help(shell: Shell, arguments: list[str]) -> None:
    shell.answer(f"{name:<34}{text}" for name, _, text in COMMANDS)


COMMANDS: tuple[tuple[str, Command, str], ...] = (
    ("continue", _continue, "go on"),
    ("step [N]", _step, "one instruction of the thread"),
    ("finish", _finish, "to the instruction that ends the thread"),
    ("until ADDRESS", _until, "to an instruction"),
    ("next", _next, "to the next draw"),
    ("draw N", _draw, "to a draw, numbered as `replay --draws` does"),
    ("restart", _restart, "the trace from its start; traps and breakpoints stay"),
    ("quit", _quit, ""),
    ("trap WHAT", _trap, "pixel X Y [NTH] [object N] | primitive N | vertex INDEX | sequence N |"
                         " thread N | every | id R0.6 [MASK [R0.7 [MASK]]]; [in STAGE,...] [quiet]"),
    ("break WHERE", _break, "ip A[..B] | opcode NAME | eot | sfid NAME | message DESCRIPTOR [MASK] | control |"
                            " write A..B; [in STAGE,...] [flagged]"),
    ("halt", _halt, "at the next thread; [in STAGE,...]"),
    ("list", _list, "traps and breakpoints"),
    ("delete N|all", _delete, "one of them, or all"),
    ("where", _where, "where this is"),
    ("thread", _thread, "masks, flags, control registers, payload of the thread"),
    ("regs [gA..gB|mA..mB] [TYPE]", _registers, f"registers; types are {', '.join(FORMATS)}"),
    ("set REGISTER VALUE", _set, "gN.M[:TYPE], f0.N, cr0.N"),
    ("disasm [all|ADDRESS]", _disasm, "code around the thread, all of its kernel, or what lies somewhere"),
    ("patch ADDRESS ASSEMBLY", _patch, "change code; it counts from the next instruction on"),
    ("x ADDRESS [BYTES]", _memory, "memory"),
    ("surfaces", _surfaces, "the thread's binding table"),
    ("bases", _bases, "base addresses of the context"),
    ("history X Y [TARGET]", _history, "every fragment that reached a pixel so far, and what became of it"),
    ("back-trace X Y [TARGET]", _back_trace, "from a pixel to its thread, object, vertices"),
    ("trace messages|off", _trace, "every message with payload and response; [in STAGE,...] [flagged]"),
    ("errors", _errors, "the first bad message of each shared function"),
    ("policy lenient|strict|hardware", _policy, "what becomes of bad messages"),
    ("exceptions NAME...|none|state", _exceptions, "mask-stack, illegal-opcode, software, whatever states say"),
    ("sip on|off", _toggle("system_routine"), "breakpoints and exceptions go to the system routine"),
    ("breakpoints-all on|off", _toggle("break_all"), "cr0.1 bit 15 of all threads"),
    ("breakpoints-flagged on|off", _toggle("break_flagged"), "cr0.1 bit 15 of flagged threads"),
    ("color VALUE|off", _color, "what flagged threads paint, in the target's format"),
    ("single-subspan on|off", _toggle("single_subspan"), "one 2x2 block a thread where shaders test depth"),
    ("clear", _clear, "the thread that waits for attention goes on"),
    ("limit N", _limit, "threads of an execution unit; 0: all"),
    ("eu STAGE MASK", _eu, "execution units that a stage's threads run on"),
    ("gang N", _gang, "threads that run in lockstep; 1 unless told"),
    ("help", _help, "this"),
)

_SHORT = {"c": "continue", "s": "step", "n": "next", "q": "quit", "b": "break", "bt": "back-trace", "r": "regs",
          "t": "thread", "d": "disasm", "run": "continue"}
_BY_NAME = {name.split()[0]: run for name, run, _ in COMMANDS}


def _find(word: str) -> Command:
    name = _SHORT.get(word, word)
    found = [n for n in _BY_NAME if n == name] or [n for n in _BY_NAME if n.startswith(name)]
    if len(found) != 1:
        raise Usage(f"{word!r} {'may be ' + ', '.join(found) if found else 'is no command; `help` lists them'}")
    return _BY_NAME[found[0]]
