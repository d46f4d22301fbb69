"""A debugger for fuzzing: random traps and breakpoints on everything, random answers."""

from __future__ import annotations

import random
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import BreakKind, DebugAction, DebugKind, ErrorPolicy, TrapKind
from gen4emu.debugger.inspect import LiveThread, origin_of_thread, surfaces, thread_lines
from gen4emu.debugger.messages import message_lines, message_of
from gen4emu.debugger.model import Thread, fragment_of, object_of, thread_of
from gen4emu.debugger.provenance import Element, Payload, Recording, Step
from gen4emu.device.device import Device
from gen4emu.device.memory import Unit
from gen4emu.device.observer import Breakpoint, Subscription, Trap
from gen4emu.errors import Gen4emuError

_STAGES = (Unit.VS, Unit.GS, Unit.CLIP, Unit.SF, Unit.WM, Unit.TS)
_PATIENCE = 40  # events that are looked at closely


class Enough(Gen4emuError):
    """The debugger leaves in the middle of a draw."""


class Nosy:
    """Looks on at one device; `change` before each run."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.rng = random.Random(0)
        self.events = 0
        kinds = [kind for kind in DebugKind if kind is not DebugKind.SETTLED]
        self.subscription = Subscription(handlers=dict.fromkeys(kinds, self._event))
        device.observer.add(self.subscription)

    def change(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        w = self.subscription
        self.events = 0
        w.traps = [self._trap() for _ in range(rng.randrange(4))]
        w.breakpoints = [self._breakpoint() for _ in range(rng.randrange(4))]
        w.pixel = (rng.randrange(40), rng.randrange(40)) if rng.random() < 0.7 else None
        w.messages, w.messages_flagged = rng.random() < 0.3, rng.random() < 0.5
        w.gang = rng.choice((0, 0, 1, 3, 8))
        w.break_all, w.break_flagged, w.system_routine = (rng.random() < 0.2 for _ in range(3))
        w.exceptions = rng.randrange(8) if rng.random() < 0.2 else None
        w.color = rng.getrandbits(32) if rng.random() < 0.3 else None
        w.single_subspan = rng.random() < 0.2
        w.threads_per_eu = rng.randrange(7) if rng.random() < 0.2 else 0
        w.eu_masks = {unit: rng.getrandbits(16) for unit in _STAGES if rng.random() < 0.2}
        w.errors = rng.choice(list(ErrorPolicy))
        self.device.observer.update()

    def _trap(self) -> Trap:
        rng = self.rng
        return Trap(rng.choice(list(TrapKind)), units=rng.getrandbits(16), value=rng.randrange(8),
                    mask=rng.getrandbits(24) & rng.getrandbits(24), mask_7=rng.getrandbits(24) & 1,
                    x=rng.randrange(40), y=rng.randrange(40), instance=rng.choice((0, 0, 1, 2)),
                    object=rng.choice((None, None, 0, 1)), quiet=rng.random() < 0.3, halt=rng.random() < 0.1)

    def _breakpoint(self) -> Breakpoint:
        rng = self.rng
        kind = rng.choice(list(BreakKind))
        low = rng.choice((rng.getrandbits(32), 0x8000000, 0x30000)) & ~0xFFFF
        if kind is BreakKind.OPCODE:
            return Breakpoint(kind, rng.randrange(128))
        if kind is BreakKind.MESSAGE:
            return Breakpoint(kind, rng.randrange(8) << 24, mask=0xF000000)
        size = 0x800 if kind is BreakKind.WRITE else rng.choice((0, 15, 0xFFFF))
        return Breakpoint(kind, low, low + size, flagged=rng.random() < 0.3)

    def _event(self, event: Any) -> DebugAction:
        self.events += 1
        if self.events > _PATIENCE:
            if self.events == _PATIENCE + 1:
                self.subscription.traps, self.subscription.breakpoints, self.subscription.messages = [], [], False
                self.device.observer.update()
            return DebugAction.GO
        kind = DebugKind(event.kind)
        if kind is DebugKind.FRAGMENT:
            fragment_of(self.device, event).as_json()
        elif kind is DebugKind.OBJECT:
            object_of(self.device, event).as_json()
        elif kind is DebugKind.MESSAGE:
            list(message_lines(message_of(self.device, event)))
        elif kind is not DebugKind.VERTEX:
            thread = thread_of(event)
            live_thread = LiveThread(self.device, thread, event.address)
            list(thread_lines(live_thread))
            list(origin_of_thread(thread))
            surfaces(self.device, thread)
            self._trace_back(event, thread)
            self._meddle(live_thread)
        if self.rng.random() < 0.01:
            raise Enough
        return self.rng.choice((DebugAction.GO, DebugAction.GO, DebugAction.STEP, DebugAction.FINISH))

    def _trace_back(self, event: Any, thread: Thread) -> None:
        """The calls of `why`: operands, payloads, vertices, texels."""
        native, image = self.device.native, bytes(144 * 32)
        payload = ffi.new("struct g4_debug_payload *")
        has_payload = lib.g4_debug_read_payload(native, payload)
        found = Recording(thread, Payload(payload, 0) if has_payload else None, self.device.info.gen)
        raw = ffi.new("struct g4_debug_instruction *")
        if lib.g4_debug_read_instruction(native, raw):
            found.steps.append(Step(event.address, "", raw, image))
            found.note_writes()
            for index in range(min(raw.channels, lib.G4_DEBUG_CHANNELS)):
                for _, operand in found.operands(0, index):
                    if isinstance(operand, Element):
                        found.value(0, operand)
                        found.sources_of(operand, 1)
            lib.g4_debug_log_texels(native, self.rng.randrange(40))
        lib.g4_debug_read_texels(native, ffi.new("struct g4_debug_texel[]", lib.G4_DEBUG_TEXELS))
        source = ffi.new("struct g4_debug_vertex_source *")
        for number in range(min(event.origins, 3)):
            lib.g4_debug_read_vertex_source(native, ffi.addressof(event.origin[number]), self.rng.randrange(80), source)

    def _meddle(self, live_thread: LiveThread) -> None:
        """Debuggers may change what threads have."""
        rng = self.rng
        choice = rng.randrange(12)
        if choice == 0:
            live_thread.grf(rng.randrange(128))[rng.randrange(8)] = rng.getrandbits(32)
        elif choice == 1:
            live_thread.set_flag(rng.randrange(2), rng.getrandbits(16))
        elif choice == 2:
            live_thread.set_control(rng.randrange(3), rng.getrandbits(32) & 0x8000F807)
        elif choice == 3:
            self.subscription.pixel = (rng.randrange(40), rng.randrange(40))
            self.subscription.breakpoints = [self._breakpoint() for _ in range(rng.randrange(3))]
            self.device.observer.update()
