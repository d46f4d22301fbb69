"""Runs a program on the reference and on the C core, and lists the registers that differ.

Straight programs grow instruction by instruction on the reference; an instruction with an undefined result is dropped
and another one is tried.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gen4emu._native import ffi
from gen4emu.hw.gen import Gen
from gen4emu.isa import Instruction, encode_bytes, listing
from tests.eu.generate import Generator, register_dwords
from tests.eu.reference import Thread, Unspecified, run, step
from tests.harness.native import harness
from tests.harness.parts import GEN4_PARTS
from tests.harness.probe import KERNEL_ADDRESS, Event, Probe, Status

THREADS = 8
PARTS = GEN4_PARTS
DMASKS = (0xFFFF, 0xFFFF, 0xFFFF, 0x00FF, 0x000F, 0x0001, 0xF0F0, 0x0FF0, 0x8001, 0xFF00)


@dataclass
class Case:
    """A program and the initial state of its threads."""

    gen: Gen
    code: bytes
    dmasks: list[int]
    grf: NDArray[np.uint32]  # threads, 128, 8
    mrf: NDArray[np.uint32]  # threads, 16, 8
    flags: list[int]  # f0.1 in the high half
    alternate: bool = False
    wide: bool = False  # threads have 32 channels

    def thread(self, t: int) -> Thread:
        thread = Thread(self.gen, self.dmasks[t], KERNEL_ADDRESS, self.alternate)
        thread.grf[:] = self.grf[t].tobytes()
        thread.mrf[:] = self.mrf[t].tobytes()
        thread.flags = [self.flags[t] & 0xFFFF, self.flags[t] >> 16]
        return thread


@dataclass
class Outcome:
    """The final state of the threads of a core."""

    status: Status
    grf: NDArray[np.uint32]
    mrf: NDArray[np.uint32]
    flags: list[int]
    instructions: int
    channel_ops: int
    math_messages: int
    events: dict[Event, int]


class Bench:
    """A probe of one device, with registers as two arrays: register, thread, dword."""

    def __init__(self, gen: Gen, watchdog: int = 1) -> None:
        """`watchdog` is in million instructions: machine code of loops runs only if enough of them are left."""
        self.probe = Probe(gen, watchdog=watchdog)
        self.probe.start(THREADS)
        self.grf = self._array(1, 128)
        self.mrf = self._array(2, 16)

    def _array(self, file: int, count: int) -> NDArray[np.uint32]:
        first = harness().g4_probe_register(self.probe._probe, file, 0, 0)
        for reg, thread in ((0, 1), (1, 0), (count - 1, THREADS - 1)):
            place = harness().g4_probe_register(self.probe._probe, file, reg, thread)
            assert place == first + 8 * (THREADS * reg + thread)
        data = np.frombuffer(ffi.buffer(first, 32 * THREADS * count), dtype=np.uint32)
        return data.reshape(count, THREADS, 8)

    def run(self, case: Case, *, general_only: bool) -> Outcome:
        n = len(case.dmasks)
        probe = self.probe
        probe.start(n, case.dmasks, alternate_fp=case.alternate, wide=case.wide)
        self.grf[:, :n] = case.grf.transpose(1, 0, 2)
        self.mrf[:, :n] = case.mrf.transpose(1, 0, 2)
        for t, flags in enumerate(case.flags):
            probe.set_flags(flags, t)
        before = (probe.instructions, probe.channel_ops, probe.messages(1))
        counted = self._events()
        status = probe.run(case.code, general_only=general_only)
        return Outcome(status, self.grf[:, :n].transpose(1, 0, 2).copy(), self.mrf[:, :n].transpose(1, 0, 2).copy(),
                       [probe.flags(t) for t in range(n)], probe.instructions - before[0],
                       probe.channel_ops - before[1], probe.messages(1) - before[2],
                       {event: n - counted.get(event, 0) for event, n in self._events().items()
                        if n != counted.get(event, 0)})

    def _events(self) -> dict[Event, int]:
        return {event: found.count for event, found in self.probe.events().items()}


def compare(bench: Bench, case: Case) -> None:
    """Fast handlers and machine code have the results and counts of the general handler."""
    expected = bench.run(case, general_only=True)
    for _ in range(2):
        found = bench.run(case, general_only=False)
        assert found.status == expected.status, text(case)
        assert np.array_equal(found.grf, expected.grf), text(case)
        assert np.array_equal(found.mrf, expected.mrf), text(case)
        assert found.flags == expected.flags, text(case)
        assert found.instructions == expected.instructions, text(case)
        assert found.channel_ops == expected.channel_ops, text(case)
        assert found.math_messages == expected.math_messages, text(case)
        assert found.events == expected.events, text(case)


def random_start(seed: int, gen: Gen) -> Case:
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    n = rng.randint(1, THREADS)
    alternate = rng.random() < 0.15
    grf = register_dwords(numbers, n * 128 * 8, finite=alternate).reshape(n, 128, 8)
    mrf = register_dwords(numbers, n * 16 * 8, finite=alternate).reshape(n, 16, 8)
    addresses = numbers.integers(0, 1000, (n, 8)) * 4
    if rng.random() < 0.3:
        addresses[:] = addresses[0]
    grf[:, 127, :4] = np.ascontiguousarray(addresses.astype(np.uint16)).view(np.uint32)
    uniform = rng.random() < 0.5
    dmasks = [rng.choice(DMASKS) for _ in range(n)]
    flags = [rng.choice((rng.getrandbits(32), 0xFFFFFFFF, 0x00FF00FF, 0)) for _ in range(n)]
    return Case(gen, b"", [dmasks[0]] * n if uniform else dmasks, grf, mrf, flags, alternate)


@dataclass
class Straight:
    """A case, and its threads on the reference after the program."""

    case: Case
    threads: list[Thread]
    program: list[Instruction] = field(default_factory=list)


def straight_case(seed: int, gen: Gen, length: int) -> Straight:
    """A program without branches, already executed by the reference."""
    case = random_start(seed, gen)
    make = Generator(random.Random(seed ^ 0x5EED), gen, client=seed // 4 % 2 == 1)
    found = Straight(case, [case.thread(t) for t in range(len(case.dmasks))])
    for inst in make.prologue():
        assert extend(found, inst)
    accepted = tries = 0
    while accepted < length and tries < 8 * length:
        tries += 1
        accepted += extend(found, make.instruction())
    for inst in make.epilogue():
        assert extend(found, inst)
    return found


def extend(straight: Straight, inst: Instruction) -> bool:
    """Append an instruction; False if its result is undefined."""
    moved = [t.clone() for t in straight.threads]
    try:
        for t in moved:
            step(t, inst)
    except Unspecified:
        return False
    straight.threads = moved
    straight.program.append(inst)
    straight.case.code += encode_bytes(inst)
    return True


def reference_run(case: Case) -> list[Thread]:
    threads = [case.thread(t) for t in range(len(case.dmasks))]
    for t in threads:
        run(t, case.code, KERNEL_ADDRESS)
    return threads


def differences(threads: list[Thread], outcome: Outcome) -> list[str]:
    """One line for each register dword or flag that differs from the reference."""
    found = [] if outcome.status is Status.OK else [f"status {outcome.status.name}"]
    for t, thread in enumerate(threads):
        for name, data, marks, other in (("r", thread.grf, thread.grf_marks, outcome.grf[t]),
                                         ("m", thread.mrf, thread.mrf_marks, outcome.mrf[t])):
            theirs = other.tobytes()
            if theirs == data:
                continue
            for at in range(0, len(data), 4):
                ours, there, mark = bytes(data[at:at + 4]), theirs[at:at + 4], bytes(marks[at:at + 4])
                if ours == there:
                    continue
                if mark == b"\1\2\3\4" and int.from_bytes(there, "little") & 0x7FFFFFFF > 0x7F800000:
                    continue  # any NaN
                if all(m or a == b for a, b, m in zip(ours, there, mark, strict=True)) and mark != b"\1\2\3\4":
                    continue  # parts of one
                found.append(f"thread {t} {name}{at // 32}.{at % 32 // 4}: reference 0x{_dword(ours):08x}, "
                             f"core 0x{_dword(there):08x}")
        flags = thread.flags[0] | thread.flags[1] << 16
        if flags != outcome.flags[t]:
            found.append(f"thread {t} flags: reference 0x{flags:08x}, core 0x{outcome.flags[t]:08x}")
    executed = sum(t.executed for t in threads)
    if executed != outcome.instructions:
        found.append(f"instructions: reference {executed}, core {outcome.instructions}")
    return found


def _dword(data: bytes) -> int:
    return int.from_bytes(data, "little")


def text(case: Case) -> str:
    return listing(case.code, case.gen, end=len(case.code), hexadecimal=True)
