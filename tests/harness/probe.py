"""One gang of EU threads: registers in, a kernel or a single message, registers out (native/harness/probe.c).

No fixed functions: the caller fills the registers that a thread starts with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gen4emu.core_enums import Event, Status, Unit
from gen4emu.device.memory import Memory
from gen4emu.errors import FieldError, HangError
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble
from tests.harness.messages import END_MESSAGE
from tests.harness.native import ffi, harness

THREADS = 8
ALL_CHANNELS = 0xFFFF
KERNEL_ADDRESS = 0x10000


@dataclass(frozen=True, slots=True)
class EventCount:
    count: int
    address: int  # of the first instruction that did it
    value: int


@dataclass(frozen=True, slots=True)
class Heard:
    """A message to the owner of a thread: to the URB with Complete or Allocate, or to the spawner."""

    thread: int
    descriptor: int
    header: tuple[int, ...]


class Probe:
    """Up to eight threads of one kernel.

    `start` gives them cleared registers; then fill registers through the views of `grf` and `mrf`, `run` a kernel or
    `send` a message, and look at the same views.  A kernel given as text is assembled; it ends with a message that
    ends the thread (`end` is one).
    """

    def __init__(self, gen: Gen = Gen.EL, memory: Memory | None = None, *, round_to_nearest: bool = False,
                 general_only: bool = False, watchdog: int = 1, min_lod_erratum: bool = False,
                 gateway_time: bool = False) -> None:
        self.gen = gen
        self.memory = memory if memory is not None else Memory()
        options = ffi.new("struct g4_options *", {
            "round_to_nearest": round_to_nearest, "general_only": general_only, "watchdog": watchdog,
            "min_lod_erratum": min_lod_erratum, "gateway_time": gateway_time})
        handle = harness().g4_probe_new(self.memory.handle, int(gen), options)
        if handle == ffi.NULL:
            raise MemoryError("no memory for a probe")
        self._probe = ffi.gc(handle, harness().g4_probe_free)
        self.threads = 0
        self.kernel_address = KERNEL_ADDRESS
        self.start()

    @property
    def handle(self) -> Any:
        """The core's `struct g4_probe *`, for benchmarks."""
        return self._probe

    @property
    def end(self) -> str:
        """An instruction that ends a thread: a message to the null function."""
        return f"send(8) 0 null<1>UD null<8,8,1>UD {END_MESSAGE}UD {{ align1 }};\n"

    @property
    def state(self) -> Any:
        """The core's `struct g4_state *`, for messages that use it."""
        return harness().g4_probe_state(self._probe)

    def start(self, threads: int = 1, dmask: int | Sequence[int] = ALL_CHANNELS, *,
              unit: Unit = Unit.WM, kernel_address: int = KERNEL_ADDRESS, general_state_base: int = 0,
              surface_state_base: int = 0, binding_table: int = 0, sampler_state: int = 0, scratch_base: int = 0,
              scratch_bytes: int = 0, grf_count: int = 128, alternate_fp: bool = False,
              single_program_flow: bool = False, rounding_mode: int = 0, retains_denormals: bool = False,
              exceptions: int = 0, urb_rows: int = 0, wide: bool = False) -> None:
        """Reset the threads: registers zero, dispatch masks from `dmask`, one for each or one for all.

        `wide`: the masks have 32 channels.
        """
        masks = [dmask] * threads if isinstance(dmask, int) else list(dmask)
        if not 1 <= threads <= THREADS or len(masks) != threads:
            raise FieldError(f"{threads} threads with {len(masks)} dispatch masks: 1 to {THREADS}, as many masks")
        setup = ffi.new("struct g4_probe_setup *", {
            "unit": unit, "kernel_address": kernel_address, "general_state_base": general_state_base,
            "surface_state_base": surface_state_base, "binding_table": binding_table, "sampler_state": sampler_state,
            "scratch_base": scratch_base, "scratch_bytes": scratch_bytes, "grf_count": grf_count,
            "alternate_fp": alternate_fp, "single_program_flow": single_program_flow, "rounding_mode": rounding_mode,
            "retains_denormals": retains_denormals, "exceptions": exceptions,
            "threads": threads, "urb_rows": urb_rows, "wide": wide})
        if harness().g4_probe_start(self._probe, setup, ffi.new("uint32_t[]", masks)) != Status.OK:
            raise FieldError(f"{threads} threads with {urb_rows} URB rows can not be started")
        self.threads = threads
        self.kernel_address = kernel_address

    def add_parts(self, add: bool) -> None:
        """Add code that threads reach to their kernel, as in media objects."""
        harness().g4_probe_add_parts(self._probe, add)

    # --- registers: views of eight dwords, to be read and written; .view(np.float32) for floats ---

    def grf(self, reg: int, thread: int = 0) -> NDArray[np.uint32]:
        return self._register(1, reg, thread)

    def mrf(self, reg: int, thread: int = 0) -> NDArray[np.uint32]:
        return self._register(2, reg, thread)

    def urb_row(self, row: int, thread: int = 0) -> NDArray[np.uint32]:
        return self._view(harness().g4_probe_urb_row(self._probe, thread, row), f"URB row {row} of thread {thread}")

    def _register(self, file: int, reg: int, thread: int) -> NDArray[np.uint32]:
        if min(reg, thread) < 0:
            raise FieldError(f"register {reg} of thread {thread} does not exist")
        place = harness().g4_probe_register(self._probe, file, reg, thread)
        return self._view(place, f"register {reg} of thread {thread}")

    @staticmethod
    def _view(place: Any, what: str) -> NDArray[np.uint32]:
        if place == ffi.NULL:
            raise FieldError(f"{what} does not exist")
        return np.frombuffer(ffi.buffer(place, 32), dtype=np.uint32)

    def flags(self, thread: int = 0) -> int:
        """f0.1 in the high half, f0.0 in the low half."""
        return int(harness().g4_probe_flags(self._probe, thread))

    def set_flags(self, flags: int, thread: int = 0) -> None:
        harness().g4_probe_set_flags(self._probe, thread, flags)

    # --- actions ---

    def load(self, code: str | bytes) -> None:
        """Place a kernel where the threads start."""
        self.memory.write(self.kernel_address, assemble(code, self.gen) if isinstance(code, str) else code)

    def run(self, code: str | bytes | None = None, *, general_only: bool = False) -> Status:
        """Run until all threads have ended or wait.  `code` is placed first; text without an ending gets one."""
        if code is not None:
            if isinstance(code, str):
                code = assemble(code + "\n" + self.end, self.gen)
            self.load(code)
        return Status(harness().g4_probe_run(self._probe, general_only))

    def run_to_end(self, code: str | bytes | None = None, *, general_only: bool = False) -> None:
        """`run` for kernels that must end: any other status is an error."""
        status = self.run(code, general_only=general_only)
        if status != Status.OK:
            raise HangError(f"the kernel at 0x{self.kernel_address:08x} did not end: {status.name}")

    def send(self, descriptor: int, mrf: int = 0, dst: int | None = None, *, exec_size: int = 8,
             emask: int | Sequence[int] = 0xFF, threads: int = 0xFF) -> Status:
        """One message with the payload from MRF `mrf` on; the response goes to GRF `dst`.

        Of all threads, or of those whose bit is set in `threads`.
        """
        masks = [emask] * self.threads if isinstance(emask, int) else list(emask)
        if len(masks) != self.threads:
            raise FieldError(f"{len(masks)} channel masks for {self.threads} threads")
        return Status(harness().g4_probe_send_from(self._probe, threads, descriptor, mrf, 255 if dst is None else dst,
                                                    exec_size, ffi.new("uint16_t[]", masks)))

    def send_gen7(self, sfid: int, descriptor: int, src: int, dst: int | None = None, *, exec_size: int = 8,
                  emask: int | Sequence[int] = 0xFF) -> Status:
        """One message of Gen7 of all threads, with the payload from GRF `src` on."""
        masks = [emask] * self.threads if isinstance(emask, int) else list(emask)
        return Status(harness().g4_probe_send_gen7(self._probe, sfid, descriptor, src, 255 if dst is None else dst,
                                                   exec_size, ffi.new("uint16_t[]", masks)))

    def listen(self, handle: int = 0) -> None:
        """Record messages to the owner of the threads until `start`; an URB handle that is allocated is this one."""
        harness().g4_probe_listen(self._probe, handle)

    def heard(self) -> list[Heard]:
        """The first messages to the owner."""
        count = min(int(harness().g4_probe_heard_count(self._probe)), 64)
        found = (harness().g4_probe_heard(self._probe, i) for i in range(count))
        return [Heard(int(h.thread), int(h.descriptor), tuple(h.header)) for h in found]

    # --- results ---

    @property
    def instructions(self) -> int:
        """Executed since the probe was made, one for each thread."""
        return int(harness().g4_probe_instructions(self._probe))

    @property
    def channel_ops(self) -> int:
        """Channels of all executed instructions."""
        return int(harness().g4_probe_channel_ops(self._probe))

    def messages(self, sfid: int) -> int:
        """Sent to a shared function since the probe was made."""
        return int(harness().g4_probe_messages(self._probe, sfid))

    def event(self, event: Event) -> EventCount:
        found = harness().g4_probe_event(self._probe, int(event))
        return EventCount(int(found.count), int(found.address), int(found.value))

    def events(self) -> dict[Event, EventCount]:
        """Every kind that happened since the probe was made."""
        found = {event: self.event(event) for event in Event}
        return {event: count for event, count in found.items() if count.count}
