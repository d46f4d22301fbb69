"""The pixel shader thread of a pixel, instruction by instruction, and where two of them diverge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from gen4emu._native import lib
from gen4emu.core_enums import DebugAction, DebugKind, TrapKind
from gen4emu.debugger.inspect import InstructionTexts, LiveThread
from gen4emu.debugger.model import Thread, thread_of
from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.observer import Subscription, Trap
from gen4emu.device.timeline import Timeline
from gen4emu.errors import FieldError, HangError
from gen4emu.hw.command_reader import Words

MOST_STEPS = 100_000  # instructions that are recorded
_HEADER = "g0"  # holds addresses and numbers of threads, which may differ without an effect
_SHOWN = 4  # differing dwords of an instruction in a result
_OPERAND = re.compile(r"\bg(\d+)")

Registers = dict[str, tuple[int, ...]]


@dataclass(slots=True)
class Step:
    """One executed instruction, and the registers that hold other values after it."""

    offset: int  # from the start of the kernel
    text: str
    changed: Registers = field(default_factory=dict)


@dataclass(slots=True)
class Recording:
    """A thread: its registers at the start, and the instructions that it executes."""

    thread: Thread
    start: Registers
    steps: list[Step]
    complete: bool = True


class _Recorder(Listener):
    """Records the first thread of an object of a draw that a pixel's block goes to."""

    def __init__(self, device: Device, draw: int, x: int, y: int, of: int) -> None:
        self.found: Recording | None = None
        self._device, self._draw = device, draw
        self._last: Registers = {}
        self._text_at = InstructionTexts(device)
        self._subscription = Subscription(
            traps=[Trap(TrapKind.PIXEL, x=x, y=y, object=of)], gang=1,
            handlers={DebugKind.THREAD: self._thread, DebugKind.INSTRUCTION: self._instruction})
        device.add_listener(self)

    def draw_started(self, words: Words) -> None:
        if self._device.place.draw == self._draw:
            self._device.observer.add(self._subscription)

    def _thread(self, event: Any) -> DebugAction:
        if self.found is not None:
            return DebugAction.GO
        thread = thread_of(event)
        self._last = self._read(LiveThread(self._device, thread, event.address))
        self.found = Recording(thread, dict(self._last), [])
        return DebugAction.STEP

    def _instruction(self, event: Any) -> DebugAction:
        found = self.found
        if found is None or not event.stepped or event.thread.serial != found.thread.serial:
            return DebugAction.GO
        self._note(found, LiveThread(self._device, found.thread, event.address))
        if len(found.steps) == MOST_STEPS:
            found.complete = False
            return DebugAction.GO
        found.steps.append(Step(event.address - found.thread.kernel, self._text_at(event.address)))
        return DebugAction.STEP

    def _note(self, found: Recording, live: LiveThread) -> None:
        """The registers that the instruction before has changed."""
        now = self._read(live)
        if found.steps:
            found.steps[-1].changed = {name: words for name, words in now.items() if self._last.get(name) != words}
        self._last = now

    def _read(self, live: LiveThread) -> Registers:
        state = live.state()
        found = {f"g{n}": tuple(live.grf(n).tolist()) for n in range(state.grf_count)}
        with suppress(FieldError):  # of a generation without message registers
            found |= {f"m{n}": tuple(live.mrf(n).tolist()) for n in range(int(lib.G4_DEBUG_MRF))}
        with np.errstate(all="ignore"):
            accumulators = np.array(state.acc_float, np.float32).view(np.uint32)
        return found | {"flags": state.flags, "a0": state.a0, "acc": tuple(accumulators.ravel().tolist())}


def record(timeline: Timeline, draw: int, x: int, y: int, of: int) -> Recording | None:
    """Go to a draw, and record the thread that an object starts for a pixel; None if it starts none."""
    recorder: _Recorder | None = None

    def attach(device: Device) -> None:
        nonlocal recorder
        recorder = _Recorder(device, draw, x, y, of)

    with suppress(HangError):  # the search may be for the thread that hangs
        timeline.goto(draw, attach)
    return None if recorder is None else recorder.found


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two threads diverge: an instruction whose results differ, or the one before different instructions."""

    number: int  # of the instruction, in the order of execution
    kernel: tuple[int, int]  # addresses
    offset: tuple[int, int]
    text: tuple[str, str]
    results: tuple[tuple[str, int, int], ...]  # g12.3, left, right
    payload: tuple[str, ...]  # operands that differed when the threads began

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_message(self) -> bool:
        return self.text[0].lower().startswith("send")

    def lines(self) -> Iterator[str]:
        for side, kernel, offset, text in zip(("left ", "right"), self.kernel, self.offset, self.text, strict=True):
            yield f"{side}  ps kernel at 0x{kernel:08x}+0x{offset:03x}  {text}"
        for name, left, right in self.results[:_SHOWN]:
            yield f"       {name}: {_number(left)} left, {_number(right)} right"
        if len(self.results) > _SHOWN:
            yield f"       and {len(self.results) - _SHOWN} more channels"


def _number(word: int) -> str:
    value = np.uint32(word & 0xFFFFFFFF).view(np.float32)
    return f"0x{word:08x} ({value:.9g})"


def part(left: Recording, right: Recording) -> Parting | None:
    """The first instruction at which two threads diverge; None if they do not."""
    excused = {pair for _, pair in _pairs(left.start, right.start, only=_HEADER)}
    began = {name for name, _ in _pairs(left.start, right.start) if not name.startswith(f"{_HEADER}.")}
    registers = {name.partition(".")[0] for name in began}
    now = dict(left.start), dict(right.start)
    for number, steps in enumerate(zip(left.steps, right.steps, strict=False)):
        for registers_now, step in zip(now, steps, strict=True):
            registers_now |= step.changed
        changed = {name for step in steps for name in step.changed}
        before, after = ({name: words for name, words in side.items() if name in changed} for side in now)
        results = [(name, *pair) for name, pair in _pairs(before, after) if pair not in excused]
        following = left.steps[number + 1:number + 2], right.steps[number + 1:number + 2]
        apart = [step.offset for step in following[0]] != [step.offset for step in following[1]]
        if results or steps[0].text != steps[1].text or apart:
            payload = tuple(name for name in dict.fromkeys(f"g{n}" for n in _operands(steps[0].text))
                            if name in registers)
            return Parting(number, (left.thread.kernel, right.thread.kernel), (steps[0].offset, steps[1].offset),
                           (steps[0].text, steps[1].text), tuple(results), payload)
    return None


def _operands(text: str) -> list[int]:
    """The numbers of the registers that an instruction reads, and of those after them that wide ones read."""
    sources = " ".join(text.split()[2:])  # without the name and the destination
    numbers = [int(n) for n in _OPERAND.findall(sources)]
    return [n + more for n in numbers for more in range(2)]


def _pairs(left: Registers, right: Registers, only: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    """The elements of registers that differ; a register that one side lacks counts as zeros."""
    for name in dict.fromkeys([*left, *right]):
        if only and name != only:
            continue
        values = left.get(name), right.get(name)
        if values[0] == values[1]:
            continue
        size = len(values[0] or values[1] or ())
        for number, pair in enumerate(zip(values[0] or (0,) * size, values[1] or (0,) * size, strict=False)):
            if pair[0] != pair[1]:
                yield f"{name}.{number}", (int(pair[0]), int(pair[1]))
