"""A debugger for a device: traps, breakpoints, stops.

    debugger = Debugger(device, lambda stop: DebugAction.GO)
    debugger.add(Trap(TrapKind.PIXEL, x=100, y=50), "pixel 100,50")

`on_stop` is called from within the draw, with a `Stop` whose thread may be looked at and changed until it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import DebugAction, DebugKind
from gen4emu.debugger.expressions import Context, Expression
from gen4emu.debugger.inspect import LiveThread, code_at, code_lines
from gen4emu.debugger.messages import Message, message_of
from gen4emu.debugger.model import STAGES, Origin, Thread, origin_of, thread_of
from gen4emu.debugger.special_numbers import SpecialNumber, special_number_lines, special_number_of
from gen4emu.device.device import Device
from gen4emu.device.memory import Unit
from gen4emu.device.observer import Breakpoint, Subscription, Trap
from gen4emu.device.place import Place
from gen4emu.errors import Gen4emuError

_EXCEPTIONS = {0: "mask stack exception", 1: "illegal opcode exception", 2: "software exception", 4: "breakpoint"}


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop within a draw."""

    kind: DebugKind
    place: Place
    reason: str
    number: int | None  # of the trap or breakpoint
    address: int = 0
    value: int = 0
    instance: int = 0
    thread: Thread | None = None
    vertex: Origin | None = None
    live_thread: LiveThread | None = None
    executed: int | None = None  # instructions of the thread; None: not counted
    special: SpecialNumber | None = None  # of NOT_FINITE and DENORMAL

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"stop": self.kind.name.lower(), **self.place.as_json(), "reason": self.reason,
                                 "number": self.number}
        if self.thread is not None:
            found |= {"thread": self.thread.as_json(), "address": self.address, "executed": self.executed}
        if self.instance:
            found["instance"] = self.instance
        if self.special is not None:
            found[self.kind.name.lower()] = self.special.as_json()
        if self.vertex is not None:
            found["vertex"] = self.vertex.as_json()
        return found


def stop_lines(stop: Stop) -> Iterator[str]:
    if stop.thread is None:
        yield f"{stop.place}: {stop.reason}"
        return
    t = stop.thread
    of = f" of object {t.object}" if t.object is not None else ""
    yield f"{stop.place}, {t.name}{of}: {stop.reason}"
    if stop.special is not None:
        yield from special_number_lines(stop.special)
    if stop.live_thread is not None:
        yield from code_lines(stop.live_thread.around(0, 0), stop.address)


@dataclass(slots=True)
class _Item:
    number: int
    what: Trap | Breakpoint
    text: str
    once: bool
    condition: Expression | None = None
    hits: int = 0


OnStop = Callable[[Stop], DebugAction]


class Debugger:
    """The traps, breakpoints and settings of one user."""

    def __init__(self, device: Device, on_stop: OnStop, on_message: Callable[[Message], None] | None = None) -> None:
        self.device, self.on_stop, self.on_message = device, on_stop, on_message
        self.subscription = Subscription(handlers={
            DebugKind.THREAD: self._trapped, DebugKind.VERTEX: self._vertex, DebugKind.INSTRUCTION: self._instruction,
            DebugKind.WRITE: self._write, DebugKind.MESSAGE: self._message, DebugKind.EXCEPTION: self._exception,
            DebugKind.ATTENTION: self._attention, DebugKind.NOT_FINITE: self._special_number,
            DebugKind.DENORMAL: self._special_number, DebugKind.IN_FLIGHT: self._in_flight})
        self._items: list[_Item] = []
        self._next = 1
        self.is_attached = True
        self._doubt = ""  # why the condition of the last hit had no value
        self._thread = 0  # the serial of the thread that hit something last, apart from traps
        self._hits: list[tuple[int, bool, _Item]] = []  # its hits: instructions, whether after the last, what
        device.observer.add(self.subscription)

    def close(self) -> None:
        self.device.observer.remove(self.subscription)

    @property
    def is_watching(self) -> bool:
        """Whether there is something to stop at or to report; the size of gangs alone does not count."""
        return replace(self.subscription, gang=0).anything()

    @property
    def alters(self) -> bool:
        """Whether draws may have other results than without the debugger, apart from flags of threads that trap."""
        s = self.subscription
        only_watching = replace(s, gang=0, traps=[t for t in s.traps if t.halt], breakpoints=[], messages=False)
        return only_watching.anything()

    @property
    def has_single_stops(self) -> bool:
        """Whether a trap or breakpoint is removed when it is hit."""
        return any(item.once for item in self._items)

    def attach(self, wanted: bool) -> None:
        """Whether the device draws under the debugger.  Without it, it draws at full speed.  Only between draws."""
        if wanted == self.is_attached:
            return
        self.is_attached = wanted
        if wanted:
            self.device.observer.add(self.subscription)
        else:
            self.device.observer.remove(self.subscription)

    # --- traps and breakpoints ------------------------------------------------------------------------------------
    def add(self, what: Trap | Breakpoint, text: str, once: bool = False, condition: Expression | None = None) -> int:
        """Add a trap or breakpoint; returns its number, for `remove`.  It stops only where `condition` is true."""
        item = _Item(self._next, what, text, once, condition)
        self._items.append(item)
        try:
            self.update()
        except Exception:
            self._items.remove(item)
            self.update()
            raise
        self._next += 1
        return item.number

    def remove(self, number: int) -> bool:
        kept = [item for item in self._items if item.number != number]
        found = len(kept) != len(self._items)
        self._items = kept
        self.update()
        return found

    def items(self) -> list[tuple[int, str, int]]:
        """Number, text and hits of all traps and breakpoints."""
        return [(item.number, item.text, item.hits) for item in self._items]

    def set_hits(self, hits: dict[int, int]) -> None:
        """The counts of traps and breakpoints by their numbers."""
        for item in self._items:
            item.hits = hits.get(item.number, 0)

    def copy_to(self, other: Debugger) -> None:
        """A debugger with the same traps and settings for another device."""
        other._items = [_Item(i.number, i.what, i.text, i.once, i.condition) for i in self._items]
        other._next = self._next
        handlers = other.subscription.handlers
        for name in self.subscription.__slots__:
            setattr(other.subscription, name, getattr(self.subscription, name))
        other.subscription.handlers = handlers
        other.update()

    def update(self) -> None:
        """`subscription` have changed."""
        self.subscription.traps = [item.what for item in self._items if isinstance(item.what, Trap)]
        self.subscription.breakpoints = [item.what for item in self._items if isinstance(item.what, Breakpoint)]
        self.device.observer.update()

    def _hit(self, event: Any, what: Trap | Breakpoint | None) -> _Item | None:
        """Count a hit, unless the condition is false here."""
        item = next((i for i in self._items if i.what is what), None)
        self._doubt = ""
        if item is not None and item.condition is not None and not self._is_true(item.condition, event):
            return None
        if item is not None:
            item.hits += 1
            self._remember_hit(event, item)
            if item.once:
                self._items.remove(item)
                self.update()
        return item

    def _remember_hit(self, event: Any, item: _Item) -> None:
        if event.kind in (DebugKind.THREAD, DebugKind.VERTEX) or not event.counted:
            return
        if event.thread.serial != self._thread:
            self._thread, self._hits = event.thread.serial, []
        self._hits.append((event.executed, event.kind != DebugKind.INSTRUCTION, item))

    def go_back(self, stop: Stop, executed: int) -> bool:
        """Prepare the thread of a stop to be executed again up to an instruction, when DebugAction.BACK is returned.

        False: that needs another execution of the draw.
        """
        assert stop.thread is not None
        start = ffi.new("uint64_t *")
        if not lib.g4_debug_go_back(self.device.native, executed, start):
            return False
        if self._thread == stop.thread.serial:
            kept = [hit for hit in self._hits if hit[0] < start[0] or (hit[0] == start[0] and hit[1])]
            for hit in self._hits[len(kept):]:
                hit[2].hits -= 1
            self._hits = kept
        return True

    def _is_true(self, condition: Expression, event: Any) -> bool:
        """A condition that has no value counts as true: the stop shows the error."""
        thread = None
        if event.kind != DebugKind.VERTEX:
            thread = LiveThread(self.device, thread_of(event), event.address)
        try:
            return condition.is_true(Context(self.device, thread))
        except Gen4emuError as e:
            self._doubt = f", its condition has no value: {e}"
            return True

    # --- events ---------------------------------------------------------------------------------------------------
    def _stop(self, event: Any, reason: str, item: _Item | None = None, **more: Any) -> DebugAction:
        thread = thread_of(event)
        doubt = self._doubt if item is not None else ""
        stop = Stop(DebugKind(event.kind), self.device.place, reason + doubt, item.number if item else None,
                    event.address, event.value, thread=thread,
                    live_thread=LiveThread(self.device, thread, event.address),
                    executed=event.executed if event.counted else None, **more)
        return self.on_stop(stop)

    def _trapped(self, event: Any) -> DebugAction:
        found = self.device.observer.trap_of(event)
        item = self._hit(event, found[1] if found else None)
        if item is None:
            return DebugAction.GO
        more = {"instance": event.occurrence} if event.occurrence else {}
        nth = f", instance {event.occurrence}" if event.occurrence else ""
        return self._stop(event, f"trap {item.number} ({item.text}){nth}", item, **more)

    def _vertex(self, event: Any) -> DebugAction:
        found = self.device.observer.trap_of(event)
        item = self._hit(event, found[1] if found else None)
        if item is None:
            return DebugAction.GO
        reason = f"trap {item.number} ({item.text}), not shaded{self._doubt}"
        return self.on_stop(Stop(DebugKind.VERTEX, self.device.place, reason, item.number,
                                 vertex=origin_of(event, event.value)))

    def _instruction(self, event: Any) -> DebugAction:
        if event.stepped:
            return self._stop(event, "step")
        found = self.device.observer.breakpoint_of(event)
        if found is None:
            return self._stop(event, "breakpoint of the instruction")
        item = self._hit(event, found[1])
        return self._stop(event, f"breakpoint {item.number} ({item.text})", item) if item else DebugAction.GO

    def _write(self, event: Any) -> DebugAction:
        found = self.device.observer.breakpoint_of(event)
        item = self._hit(event, found[1] if found else None)
        if item is None:
            return DebugAction.GO
        return self._stop(event, f"breakpoint {item.number} ({item.text}), 0x{event.value:08x} has changed", item)

    def _special_number(self, event: Any) -> DebugAction:
        found = self.device.observer.breakpoint_of(event)
        item = self._hit(event, found[1] if found else None)
        if item is None:
            return DebugAction.GO
        thread = thread_of(event)
        seen = special_number_of(event, thread, code_at(self.device, event.value)[:1])
        return self._stop(event, f"breakpoint {item.number} ({item.text}), {seen.reason}", item, special=seen)

    def _message(self, event: Any) -> DebugAction:
        if self.subscription.messages and self.on_message is not None:
            self.on_message(message_of(self.device, event))
        return DebugAction.GO

    def _exception(self, event: Any) -> DebugAction:
        return self._stop(event, _EXCEPTIONS.get(event.value, f"exception {event.value}"))

    def _attention(self, event: Any) -> DebugAction:
        return self._stop(event, f"attention, data {event.value}")

    def _in_flight(self, event: Any) -> DebugAction:
        return self._stop(event, f"g{event.value} is in flight for ever: the GPU hangs")

    # --- actions of the host --------------------------------------------------------------------------------------
    def clear_attention(self) -> None:
        """Let the thread of an attention stop continue."""
        lib.g4_debug_clear_attention(self.device.native)

    def write_code(self, address: int, code: bytes) -> None:
        """Change a kernel while it runs; stopped threads run the new code, too."""
        self.device.memory.write(address, code)
        lib.g4_debug_code_changed(self.device.native)


def units_of(names: str) -> int:
    """`vs,wm` as bits."""
    units = {name: unit for unit, name in STAGES.items()} | {"ps": Unit.WM, "ts": Unit.TS}
    bits = 0
    for name in names.split(","):
        if name not in units:
            raise ValueError(f"unknown stage {name!r} (known: {', '.join(sorted(units))})")
        bits |= 1 << units[name]
    return bits
