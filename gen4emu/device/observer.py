"""Subscriptions to the events of the core's debugger (native/debugger).

An `Observer` belongs to a device, and is attached to the core only while a subscription is active.  A user's debugger
and the debug registers that a trace programs each have a `Subscription`; all of them are served.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import BreakKind, DebugAction, DebugKind, ErrorPolicy, Status, TrapKind, Unit
from gen4emu.errors import FieldError

NONE = int(lib.G4_DEBUG_NONE)
ALL_UNITS = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Trap:
    """Threads that are flagged, and reported before they start."""

    kind: TrapKind
    units: int = ALL_UNITS  # bit n: Unit n
    value: int = 0
    mask: int = 0
    value_7: int = 0
    mask_7: int = 0
    x: int = 0
    y: int = 0
    instance: int = 0  # of a pixel: only that occurrence of its 2x2 block, from 1
    object: int | None = None  # of a pixel: only in this object
    quiet: bool = False
    unflagged: bool = False
    halt: bool = False  # the thread begins in its system routine
    owner: str = ""  # names the side that has set it


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """Instructions before which a thread stops; for writes, messages after which it stops."""

    kind: BreakKind
    low: int = 0
    high: int = 0
    mask: int = 0
    units: int = ALL_UNITS
    flagged: bool = False  # only in flagged threads


Handler = Callable[[Any], DebugAction]


@dataclass(slots=True)
class Subscription:
    """The events that one client subscribes to, and their handlers, which take a `struct g4_debug_event`."""

    traps: list[Trap] = field(default_factory=list)
    breakpoints: list[Breakpoint] = field(default_factory=list)
    handlers: dict[DebugKind, Handler] = field(default_factory=dict)
    messages: bool = False
    messages_flagged: bool = False
    message_units: int = ALL_UNITS
    pixel: tuple[int, int] | None = None  # whose fragments are reported
    gang: int = 0  # threads in lockstep; 0: as many as without a debugger
    break_flagged: bool = False
    break_all: bool = False
    system_routine: bool = False
    exceptions: int | None = None  # replaces the enables of the state: mask stack 1, illegal opcode 2, software 4
    color: int | None = None  # flagged threads paint this, in the target's format
    single_subspan: bool = False
    threads_per_eu: int = 0
    eu_masks: dict[Unit, int] = field(default_factory=dict)
    errors: ErrorPolicy = ErrorPolicy.LENIENT

    def anything(self) -> bool:
        """Whether the core has to be attached for it."""
        return bool(self.traps or self.breakpoints or self.messages or self.pixel is not None or self.gang
                    or self.break_flagged or self.break_all or self.system_routine or self.exceptions is not None
                    or self.color is not None or self.single_subspan or self.threads_per_eu or self.eu_masks
                    or self.errors is not ErrorPolicy.LENIENT)


class Observer:
    """The debugger of a device's core."""

    def __init__(self, native: Any) -> None:
        self._native = native
        self._handle: Any = None  # while attached: it keeps this object alive
        self._subscriptions: list[Subscription] = []
        self._owners: tuple[list[tuple[Subscription, Trap]], list[tuple[Subscription, Breakpoint]]] = ([], [])
        self._raised: BaseException | None = None
        self._inside = 0
        self._trapped = False  # a thread's traps are being reported: changes wait until that is done
        self._changed = False
        self.attached = False

    def add(self, subscription: Subscription) -> None:
        """Add a subscription.  Call `update` after each change of it."""
        if not any(w is subscription for w in self._subscriptions):
            self._subscriptions.append(subscription)
        self.update()

    def remove(self, subscription: Subscription) -> None:
        self._subscriptions = [w for w in self._subscriptions if w is not subscription]
        self.update()

    def close(self) -> None:
        """Detach from a device that is being freed."""
        self._subscriptions, self._handle, self.attached, self._native = [], None, False, None

    def update(self) -> None:
        """Pass all subscriptions to the core."""
        active = [w for w in self._subscriptions if w.anything()]
        _check(active)
        if self._native is None:
            return
        if self._trapped:
            self._changed = True
            return
        if not active and not self._inside:
            if self.attached:
                lib.g4_device_debug(self._native, ffi.NULL, ffi.NULL, ffi.NULL)
            self.attached, self._handle = False, None
            return
        self._owners = ([(w, t) for w in active for t in w.traps], [(w, b) for w in active for b in w.breakpoints])
        setup = _setup(active, *self._owners)
        if self._handle is None:
            self._handle = ffi.new_handle(self)
        status = lib.g4_device_debug(self._native, setup, lib.gen4emu_debug_event, self._handle)
        if status == Status.NO_MEMORY:
            raise MemoryError("the debugger could not be attached")
        assert status == Status.OK, "_check and the core agree"
        self.attached = True

    # --- events ---------------------------------------------------------------------------------------------------
    def trap_of(self, event: Any) -> tuple[Subscription, Trap] | None:
        """The trap that an event is for."""
        return self._owners[0][event.which] if event.which < len(self._owners[0]) else None

    def breakpoint_of(self, event: Any) -> tuple[Subscription, Breakpoint] | None:
        return self._owners[1][event.which] if event.which < len(self._owners[1]) else None

    def dispatch(self, event: Any) -> int:
        """Called by the core.  Returns an action; exceptions are kept for `raise_stopped`."""
        self._inside += 1
        try:
            self._trapped = event.kind == DebugKind.THREAD
            if event.kind == DebugKind.SETTLED:
                if self._changed:
                    self._changed = False
                    self.update()
                return int(DebugAction.GO)
            action = DebugAction.GO
            for subscription in self._asked(event):
                handler = subscription.handlers.get(DebugKind(event.kind))
                if handler is not None:
                    action = max(action, handler(event))
            return int(action)
        except BaseException as e:
            self._raised = e
            return int(DebugAction.ABANDON)
        finally:
            self._inside -= 1

    def _asked(self, event: Any) -> list[Subscription]:
        """The owner of the trap or breakpoint that the event is for; all if there is none."""
        if event.kind in (DebugKind.THREAD, DebugKind.VERTEX):
            found: tuple[Subscription, Any] | None = self.trap_of(event)
        elif event.kind in (DebugKind.INSTRUCTION, DebugKind.WRITE, DebugKind.NOT_FINITE, DebugKind.DENORMAL):
            found = self.breakpoint_of(event)
        else:
            found = None
        return [found[0]] if found is not None else list(self._subscriptions)

    def raise_stopped(self) -> None:
        """After a draw that ended with G4_STOPPED: raise the exception of the handler that stopped it."""
        raised, self._raised = self._raised, None
        self._trapped = False
        if not self._inside:
            self.update()
        if raised is not None:
            raise raised

    def settle(self) -> None:
        """After a draw: detach if no subscription is left."""
        if self.attached and not any(w.anything() for w in self._subscriptions):
            self.update()

    # --- the event's thread ---------------------------------------------------------------------------------------
    @property
    def native(self) -> Any:
        return self._native


@ffi.def_extern()  # type: ignore[untyped-decorator]  # cffi has no types for it
def gen4emu_debug_event(data: Any, event: Any) -> int:
    observer = ffi.from_handle(data)
    assert isinstance(observer, Observer)
    return observer.dispatch(event)


def _check(active: list[Subscription]) -> None:
    """Raise FieldError if the subscriptions exceed the capacity of the core."""
    breakpoints = [b for w in active for b in w.breakpoints]
    watched = sum(b.high - b.low + 1 for b in breakpoints if b.kind is BreakKind.WRITE)
    for what, count, capacity in (("traps", sum(len(w.traps) for w in active), lib.G4_DEBUG_TRAPS),
                                  ("breakpoints", len(breakpoints), lib.G4_DEBUG_BREAKPOINTS),
                                  ("bytes to watch", watched, lib.G4_DEBUG_RANGE)):
        if count > capacity:
            raise FieldError(f"{count} {what}: at most {capacity} fit")


def _setup(active: list[Subscription], traps: list[tuple[Subscription, Trap]],
           breakpoints: list[tuple[Subscription, Breakpoint]]) -> Any:
    setup = ffi.new("struct g4_debug_setup *")
    setup.trap_count, setup.breakpoint_count = len(traps), len(breakpoints)
    for i, (_, t) in enumerate(traps):
        raw = setup.trap[i]
        raw.kind, raw.units, raw.value, raw.mask, raw.value_7, raw.mask_7 = (
            t.kind, t.units, t.value, t.mask, t.value_7, t.mask_7)
        raw.x, raw.y, raw.instance, raw.quiet, raw.unflagged = t.x, t.y, t.instance, t.quiet, t.unflagged
        raw.halt = t.halt
        raw.of_object, raw.object = t.object is not None, t.object or 0
    for i, (_, b) in enumerate(breakpoints):
        raw = setup.breakpoint[i]
        raw.kind, raw.units, raw.flagged, raw.low, raw.high, raw.mask = (
            b.kind, b.units, b.flagged, b.low, b.high, b.mask)
    setup.message_units = 0
    for w in active:
        setup.gang = min(w.gang, setup.gang) if w.gang and setup.gang else w.gang or setup.gang
        setup.messages_flagged = w.messages_flagged if w.messages and not setup.messages else (
            setup.messages_flagged and (w.messages_flagged or not w.messages))
        setup.messages = setup.messages or w.messages
        setup.message_units |= w.message_units if w.messages else 0
        setup.break_flagged = setup.break_flagged or w.break_flagged
        setup.break_all = setup.break_all or w.break_all
        setup.system_routine = setup.system_routine or w.system_routine
        setup.single_subspan = setup.single_subspan or w.single_subspan
        setup.threads_per_eu = w.threads_per_eu or setup.threads_per_eu
        setup.errors = max(setup.errors, w.errors)
        if w.pixel is not None:
            setup.watch_pixel, (setup.x, setup.y) = True, w.pixel
        if w.exceptions is not None:
            setup.override_exceptions, setup.exceptions = True, w.exceptions
        if w.color is not None:
            setup.debug_color, setup.color = True, w.color
        for unit, mask in w.eu_masks.items():
            setup.eu_mask[unit] = mask
    return setup
