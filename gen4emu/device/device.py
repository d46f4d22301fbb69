"""The emulated device: memory, registers, the native core and one command streamer per ring.

A device executes trace events (`apply`) or batches (`run_batch`).  Devices share no state.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, Self

from gen4emu._native import ffi, lib
from gen4emu.core_enums import Counter, MeshStage, Status
from gen4emu.device.blitter import Blitter, BlitTooLarge
from gen4emu.device.command_streamer import CommandStreamer, Executor, Findings, StreamerState
from gen4emu.device.command_streamer_gen7 import Gen7CommandStreamer
from gen4emu.device.command_streamer_gen9 import Gen9CommandStreamer
from gen4emu.device.counters import CountedDraw, KernelCount, kernel_counts, take
from gen4emu.device.debug_registers import Debug
from gen4emu.device.events import EVENT_TEXT, BlitHang, ErrorRecord, EuHang, EventCount
from gen4emu.device.executing import Executing
from gen4emu.device.listener import Listener
from gen4emu.device.media import MediaPayloads
from gen4emu.device.memory import Faults, Memory, Unit, load_log, log_faults, save_log
from gen4emu.device.meshes import MeshRecords, mesh_records
from gen4emu.device.observer import Observer
from gen4emu.device.options import Options
from gen4emu.device.page_tables import PageTables
from gen4emu.device.pixel_maps import PixelMaps, pixel_maps
from gen4emu.device.place import DrawKind, DrawNumbers, Place
from gen4emu.device.registers import RegisterFile
from gen4emu.device.ring import Ring
from gen4emu.device.targets import Target, TargetFinder
from gen4emu.device.video_enhancement import ENHANCED_PIXEL, VideoEnhancement
from gen4emu.errors import NotExecutedError
from gen4emu.hw import chips
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen45.registers import VIDEO_RING_REGISTERS
from gen4emu.hw.layout import Command
from gen4emu.trace import events

# The command streamers of generations that have their own.
_STREAMERS: dict[Gen, type[CommandStreamer]] = {
    Gen.GEN7 | Gen.GEN75: Gen7CommandStreamer, Gen.GEN9: Gen9CommandStreamer}

_Begun = tuple[Place, DrawKind, int, bytes]  # a draw command: place, kind, address, dwords
_WATCHDOG = 20000  # as in the core
_NO_PRIMITIVE = ffi.new("uint32_t[7]")

# Units that wait for threads of a hung draw, as INSTDONE and INSTDONE1 call them.
_BUSY: dict[int, tuple[str, ...]] = {
    Unit.VS: ("vs",), Unit.GS: ("gs",), Unit.CLIP: ("clip", "cl"), Unit.SF: ("strips", "setup", "sf"),
    Unit.WM: ("windower", "pixel_shader"),
}


@dataclass(frozen=True, slots=True)
class DrawStep:
    """What a draw or dispatch is doing: its ranges of objects, tiles or groups; a large draw has several such steps."""

    noun: str
    begun: int
    count: int

    def __str__(self) -> str:
        """tile 40 of 192."""
        return f"{self.noun} {self.begun} of {self.count}"


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A device between two commands, without memory; each unit knows the meaning of its part."""

    core: bytes
    registers: dict[int, int]
    streamers: dict[events.Engine, StreamerState]  # of engines that have been used
    engine: events.Engine
    numbers: tuple[object, ...]
    blitter: tuple[object, ...]
    debug: tuple[object, ...]
    targets: tuple[tuple[Target, ...], tuple[Target, ...]]
    submissions: int
    frame: int
    host_faults: bytes
    blit_budget: int  # pixels of the submission
    video_enhancement: tuple[object, ...]

    @property
    def is_inside(self) -> bool:
        """Whether this is inside a submission."""
        return self.streamers[self.engine].pause is not None


class Streamers(Mapping[events.Engine, CommandStreamer]):
    """The command streamers of all engines.  Each is made when it is first used: most programs use one engine."""

    def __init__(self, make: Callable[[events.Engine], CommandStreamer]) -> None:
        self._make = make
        self.made: dict[events.Engine, CommandStreamer] = {}

    def __getitem__(self, engine: events.Engine) -> CommandStreamer:
        if engine not in self.made:
            self.made[engine] = self._make(engine)
        return self.made[engine]

    def __iter__(self) -> Iterator[events.Engine]:
        return iter(events.Engine)

    def __len__(self) -> int:
        return len(events.Engine)


class Device:
    """One GPU.  Close it (or use `with`) to free its memory at once."""

    def __init__(self, info: chips.Device, options: Options | None = None, listeners: Sequence[Listener] = (),
                 finds_targets: bool = True, memory: Memory | None = None) -> None:
        """`finds_targets` is False if `take_targets` is never called: finding them takes time.  `memory` is that of a
        device of the same part with the same options, which is gone (`release`)."""
        if not info.executes:
            raise NotExecutedError(f"{info.name} ({info.marketing}) cannot execute yet: its traces can be decoded "
                                   "(decode, info, lint, kernels, convert)")
        self.info = info
        self.options = options or Options()
        self._listeners = list(listeners)
        self.memory = memory or Memory(info.gtt_entries, strict_pte=self.options.strict_pte,
                                       address_bits=info.address_bits)
        self.page_tables = PageTables(self.memory)
        self.registers = RegisterFile(info.gen)
        self.native = self._new_native()
        self.blitter = Blitter(self.memory, info.gen)
        self.video_enhancement = VideoEnhancement(self.memory, info.gen)
        self.numbers = DrawNumbers()
        self._fault = ffi.new("struct g4_fault *")  # of the draw that runs
        self._at_rest: Callable[[], object] | None = None
        self._waits: Callable[[], bool] | None = None
        self.observer = Observer(self.native)
        self.debug = Debug(self.native, self.registers, info.gen, lambda: self._active.state, self.observer,
                           self.options.reduction)
        self.streamers = Streamers(self._new_streamer)
        self._engine = events.Engine.RENDER
        self._blitter_budget = (self.options.watchdog or _WATCHDOG) * 1_000_000
        self._active = self.streamers[self._engine]
        lib.g4_device_use(self.native, self._active.state.raw)
        self.targets = TargetFinder(info.gen)
        self._finds_targets = finds_targets
        self._counting = False
        self._counted_media: _Begun | None = None  # the media object whose threads may still run
        self.submissions = 0  # that have ended
        self.frame = 0  # the frame that is being drawn; the owner of the device sets it
        self._executing = Executing(self)
        self._hook_registers()
        self.rings = {events.Engine.RENDER: self._new_ring("RENDER", events.Engine.RENDER)}
        if info.has_bsd:
            self.rings[events.Engine.BSD] = self._new_ring("VIDEO", events.Engine.BSD)

    def _new_native(self) -> Any:
        o = self.options
        raw = ffi.new("struct g4_options *", {
            "round_to_nearest": o.round_to_nearest, "general_only": o.general_only, "dither_all": o.dither_all,
            "min_lod_erratum": o.min_lod_erratum, "gateway_time": o.gateway_time,
            "hierarchical_depth": int(o.hierarchical_depth),
            "watchdog": o.watchdog, "workers": o.workers, "draws_apart": o.draws_apart})
        device = lib.g4_device_new(self.memory.handle, int(self.info.gen), raw)
        if device == ffi.NULL:
            raise MemoryError("the native core could not be set up")
        self._free_native = weakref.finalize(self, _free_native, device, self.memory.handle, os.getpid())
        self._free_native.atexit = False
        return device

    def _new_streamer(self, engine: events.Engine) -> CommandStreamer:
        executor = Executor(draw=self._draw, drawing_core=self._drawing_core, core_drew=self.debug.count,
                            core_failed=self._core_failed, fault=self._fault,
                            depth_operation=self._depth_operation, compute=self._compute, blit=self._blit,
                            blitter=self.blitter.native, enhance=self._enhance, media=self._media,
                            wait_for_media=self._wait_for_media,
                            reset_counts=self.debug.restart, flip=self._flip)
        kind = next((kind for parts, kind in _STREAMERS.items() if self.info.gen & parts), CommandStreamer)
        streamer = kind(self.info.gen, self.memory, self.registers, executor, self.options.strict,
                        self.options.max_batch_dwords, self._ring_of(engine), self.numbers,
                        events.HARDWARE_ENGINES[engine])
        streamer.at_rest, streamer.waits = self._at_rest, self._waits
        return streamer

    def _ring_of(self, engine: events.Engine) -> str:
        """The prefix of the registers of an engine's ring."""
        return "VIDEO" if engine is events.Engine.BSD and self.info.has_bsd else "RENDER"

    def _new_ring(self, prefix: str, engine: events.Engine) -> Ring:
        return Ring(prefix, self.memory, self.registers, lambda: self.streamers[engine])

    def _hook_registers(self) -> None:
        streamer = self.streamers[events.Engine.RENDER]
        streamer.hook_registers()
        for i, name in _COUNTERS.items():
            if not self.registers.has(name):
                continue
            offset = self.registers.offset(name)
            for half in (0, 1):
                self.registers.on_read(offset + 4 * half, _counter_read(streamer, i, half))
                self.registers.on_write(offset + 4 * half, _counter_write(streamer, i, half))
        time = self.registers.offset("TIMESTAMP")
        self.registers.on_read(time, lambda: streamer.timestamp())
        self.registers.on_read(time + 4, lambda: streamer.timestamp() >> 32)

        absolute = self.registers.bits("RENDER_INSTPM", ("constant_buffer_address_offset_disable",))

        def instpm(value: int) -> None:
            streamer.state.constants_absolute = bool(value & absolute)

        self.registers.on_write(self.registers.offset("RENDER_INSTPM"), instpm)
        if self.registers.has("BCS_SWCTRL"):
            self.registers.on_write(self.registers.offset("BCS_SWCTRL"), lambda value: self._tile_blits())

    def _tile_blits(self) -> None:
        if self.registers.has("BCS_SWCTRL"):
            control = self.registers.view("BCS_SWCTRL")
            self.blitter.tile_in_y(control.source_is_y_tiled, control.destination_is_y_tiled)

    def close(self) -> None:
        if self.native is not None:
            self.release().close()

    def release(self) -> Memory:
        """Free everything but the memory."""
        self._free_native()
        self.native = None
        self.observer.close()
        return self.memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def add_listener(self, listener: Listener) -> None:
        """Notify one more listener from now on, after those that the device has."""
        self._listeners.append(listener)

    # --- execution -------------------------------------------------------------------------------------------------
    def apply(self, event: events.Event) -> None:
        """Apply a trace event.  Events without side effects are ignored."""
        if isinstance(event, events.MemoryWrite):
            if event.space is events.Space.PHYSICAL:
                self.memory.write_physical(event.address, event.data)
            else:
                self.memory.write(event.address, event.data)
        elif isinstance(event, events.Submission):
            self.submit(event)
        elif isinstance(event, events.GttWrite):
            if self.info.address_bits > 32:  # beside the tables of contexts, which are in physical memory
                self.page_tables.set_global(event.first, event.entries)
            else:
                self.memory.set_gtt(event.first, event.entries)
        elif isinstance(event, events.RegisterWrite):
            self.write_register(event.register, event.value)

    def prepare(self) -> None:
        """Do now what the first batch of the render engine would do on demand.  Results do not depend on it."""
        self.streamers[events.Engine.RENDER].prepare()
        lib.g4_device_prepare(self.native)

    def write_register(self, offset: int, value: int) -> None:
        """A register write by the CPU; the TAIL of a ring starts execution."""
        engine = events.Engine.BSD if offset in VIDEO_RING_REGISTERS else events.Engine.RENDER
        self._use(engine)
        with self._executing:
            self.registers.write(offset, value)

    def submit(self, submission: events.Submission) -> None:
        if submission.page_table is not None:
            self.page_tables.select(submission.page_table)
        streamer = self._use(submission.engine)
        streamer.enter_context(submission.context)
        with self._executing:
            streamer.run_ring(bytes(submission.ring), submission.ring_address, submission.wrap)
        self.submissions += 1

    def resume(self) -> None:
        """After `load` of a state inside a submission: execute the rest of that."""
        with self._executing:
            self._active.resume()
        self.submissions += 1

    def notify_at_rest(self, at_rest: Callable[[], object]) -> None:
        """Call a function inside submissions, too, after draws: between two commands, when `save` is possible."""
        self._at_rest = at_rest
        for streamer in self.streamers.made.values():
            streamer.at_rest = at_rest

    def wait_for_programs(self, waits: Callable[[], bool]) -> None:
        """Call a function when only a write by a program can end a batch, which otherwise hangs at once.

        The function waits a moment and returns true, or returns false if no such write is expected.
        """
        self._waits = waits
        for streamer in self.streamers.made.values():
            streamer.waits = waits

    @property
    def waited_for(self) -> set[int]:
        """Addresses that the last submission read again, because a program may have written there meanwhile."""
        return self._active.waited_for

    def run_batch(self, address: int, engine: events.Engine = events.Engine.RENDER) -> None:
        streamer = self._use(engine)
        with self._executing:
            streamer.run_batch(address)

    def _use(self, engine: events.Engine) -> CommandStreamer:
        """The command streamer of an engine, which executes from now on."""
        self.blitter.budget = self._blitter_budget
        streamer = self.streamers[engine]
        if streamer is not self._active:
            self._active, self._engine = streamer, engine
            lib.g4_device_use(self.native, streamer.state.raw)
        return streamer

    def _draw(self, words: Words) -> None:
        self.debug.draw(words, self._run_draw)

    def _drawing_core(self) -> Any:
        """The core's device unless something has to be done in Python for each draw; then None."""
        if self._listeners or self._counting or self._finds_targets or self.debug.active or self.observer.attached:
            return None
        return self.native

    def _core_failed(self, status: int) -> NoReturn:
        self.debug.count(1)
        self._hang("3DPRIMITIVE", status, _BUSY.get(self._fault.unit, ()))

    @property
    def state(self) -> Any:
        """The core's `struct g4_state` of the context that runs."""
        return self._active.state.raw

    @property
    def constants_base(self) -> int:
        """The base of the address in CONSTANT_BUFFER."""
        return 0 if self._active.state.constants_absolute else int(self.state.general_state_base)

    def _run_draw(self, words: Words) -> None:
        for listener in self._listeners:
            listener.draw_started(words)
        if self._counting:
            self._count_media()
        fault = self._fault
        status = lib.g4_device_draw(self.native, ffi.from_buffer("uint32_t[]", words), fault)
        if status != lib.G4_OK:
            if self._counting:
                self._count(self._begun())
            self._hang("3DPRIMITIVE", status, _BUSY.get(fault.unit, ()))
        if self._finds_targets:
            self.targets.add_draw(self.native)
        if self._counting:
            self._count(self._begun(), self.targets.latest)
        self._drawn()

    def _depth_operation(self) -> None:
        """The core draws the rectangle of 3DSTATE_WM_HZ_OP, whatever the 3DPRIMITIVE says."""
        status = lib.g4_device_draw(self.native, _NO_PRIMITIVE, self._fault)
        if status != lib.G4_OK:
            self._hang("3DSTATE_WM_HZ_OP", status, _BUSY.get(self._fault.unit, ()))

    # --- counters --------------------------------------------------------------------------------------------------
    @property
    def counting(self) -> bool:
        """Whether every draw is counted.  Off, which costs nothing, until it is set to True."""
        return self._counting

    @counting.setter
    def counting(self, on: bool) -> None:
        if lib.g4_device_count(self.native, on) != lib.G4_OK:
            raise MemoryError("not enough memory for counters")
        self._counting, self._counted_media = on, None

    def count_lines(self) -> None:
        """Count each instruction of each kernel, too, while draws are counted, without machine code."""
        if not self._counting:
            raise ValueError("counting is off")
        if lib.g4_device_count_lines(self.native) != lib.G4_OK:
            raise MemoryError("not enough memory for counters")

    def kernel_counts(self) -> list[KernelCount]:
        """How often each instruction was executed since `count_lines`."""
        return kernel_counts(self.native)

    @property
    def lost_line_counts(self) -> int:
        """Executions that `kernel_counts` lacks, because memory for them is bounded."""
        return int(lib.g4_device_lost_line_counts(self.native))

    def map_pixels(self, on: bool = True) -> None:
        """Count for each pixel of the window, too, while draws are counted; instructions need `count_lines`."""
        if not self._counting:
            raise ValueError("counting is off")
        if lib.g4_device_map_pixels(self.native, on) != lib.G4_OK:
            raise MemoryError("not enough memory for counters")

    def pixel_maps(self, width: int, height: int) -> PixelMaps:
        """The counts of the pixels since `map_pixels` or `clear_pixel_maps`, of a window of this size."""
        return pixel_maps(self.native, width, height)

    def clear_pixel_maps(self) -> None:
        lib.g4_device_clear_pixel_maps(self.native)

    def record_meshes(self, on: bool = True) -> None:
        """Record the vertices of each draw after each stage; costs the geometry its parallel ranges."""
        if lib.g4_device_record_meshes(self.native, on) != lib.G4_OK:
            raise MemoryError("not enough memory for meshes")

    def mesh_records(self) -> dict[MeshStage, MeshRecords]:
        """The vertices and objects of the last primitive command, by stage."""
        return mesh_records(self.native)

    @property
    def topology(self) -> str:
        """The name of the topology of the most recent draw command; empty unless it is a primitive."""
        numbers = self.numbers
        return self._active.topology(numbers.words) if numbers.kind is DrawKind.PRIMITIVE and numbers.words else ""

    def _begun(self) -> _Begun:
        """The most recent draw command."""
        numbers = self.numbers
        return self.place, numbers.kind, numbers.address, numbers.words.tobytes()

    def _count(self, draw: _Begun, targets: tuple[Target, ...] = (), blit: bool = False) -> None:
        """A draw has ended."""
        counters = take(self.native, self.blitter.pixels, self.blitter.requested()) if blit else take(self.native)
        counted = CountedDraw(*draw, targets, counters, self.topology if draw[1] is DrawKind.PRIMITIVE else "")
        for listener in self._listeners:
            listener.draw_counted(counted)

    def _count_media(self, targets: tuple[Target, ...] = ()) -> None:
        """Count the last media object, because its threads have ended or the next draw begins."""
        draw, self._counted_media = self._counted_media, None
        if draw is not None:
            self._count(draw, targets)

    # --- ends ------------------------------------------------------------------------------------------------------
    def _drawn(self) -> None:
        self.numbers.ended = True
        self._active.has_drawn = True
        for listener in self._listeners:
            listener.draw_done()
        if self.observer.attached:
            self.observer.settle()

    def _media(self, words: Words) -> None:
        raw = ffi.from_buffer("uint32_t[]", words)
        where = self._active.position.address
        if self._counting:
            self._count_media()
            self._counted_media = self._begun()
        self._media_done(lib.g4_device_media(self.native, raw, len(words), where, self._fault), "MEDIA_OBJECT")

    def _compute(self, words: Words) -> None:
        if self._counting:
            self._count_media()
        status = lib.g4_device_compute(self.native, ffi.from_buffer("uint32_t[]", words), self._fault)
        self.targets.latest = ()
        if self._counting:
            self._count(self._begun())
        if status == Status.BAD_VALUE:
            self._active.findings.add(f"GPGPU_WALKER of {self._fault.value} channels or threads is not executed",
                                      f"0x{self._active.position.address:08x}")
        elif status != Status.OK:
            self._hang("GPGPU_WALKER", status)
        self._drawn()

    def _wait_for_media(self, finish: bool) -> None:
        self._media_done(lib.g4_device_media_run(self.native, finish, self._fault), "the wait for media threads")
        if finish:
            if self._finds_targets:
                self.targets.add_media(self.native)
            if self._counting:
                self._count_media(self.targets.latest)
            self._drawn()

    def _media_done(self, status: int, doing: str) -> None:
        for listener in self._listeners:
            listener.media_done()
        if status != lib.G4_OK:
            if self._counting:
                self._count_media()
            self._hang(doing, status)

    def _hang(self, doing: str, status: int, busy: Sequence[str] = ()) -> NoReturn:
        """The core could not complete a command."""
        if status == Status.STOPPED:
            self.observer.raise_stopped()
        self._active.update_error_registers((*busy, "row_0_eu_0", "dispatcher"))
        raise EuHang(self._active.position.address, doing, status, self._fault)

    def _flip(self, address: int) -> None:
        for listener in self._listeners:
            listener.flip(address)

    def media_payloads(self, capacity: int) -> MediaPayloads:
        """Collect the payloads of the next `capacity` media threads."""
        return MediaPayloads(self.native, capacity)

    def _blit(self, command: Command, words: Words) -> None:
        if self._counting:
            self._count_media()
        try:
            target = self.blitter.execute(command, words)
        except BlitTooLarge as e:
            self._active.update_error_registers(("blt_busy", "bcs"))
            raise BlitHang(f"hang at 0x{self._active.position.address:08x} in {command.name}: {e}") from None
        if target is None:
            self.targets.latest = ()
        elif self._finds_targets:
            self.targets.add(target)
        if self._counting and command.draws:
            self._count(self._begun(), self.targets.latest, blit=True)
        self._drawn()

    def _enhance(self, name: str, words: Words, report: Callable[[str], None]) -> None:
        unit = self.video_enhancement
        if name == "VEBOX_DI_IECP":
            left = self.blitter.budget - unit.pixels(words) * ENHANCED_PIXEL
            if left < 0:
                self._active.update_error_registers()
                raise BlitHang(f"hang at 0x{self._active.position.address:08x} in {name}: more pixels than the "
                               "watchdog allows")
            self.blitter.budget = left
        unit.execute(name, words, report)

    @property
    def place(self) -> Place:
        """The draw that runs, or ran last."""
        return Place(self.frame, self.submissions, self.numbers.draw)

    @property
    def engine(self) -> events.Engine:
        """The engine that ran last: after a hang, the one that hung."""
        return self._engine

    def leave_processor(self) -> None:
        """Let the calling thread, in which submissions run, move to another processor."""
        lib.g4_device_leave_processor(self.native)

    def reset(self) -> None:
        """Recover from a hang: every engine drops its batch, rings are empty, error registers are cleared.

        Contexts that ran have their initial state; saved contexts and memory stay.
        """
        lib.g4_device_media_reset(self.native)
        self.video_enhancement.reset()
        for streamer in self.streamers.made.values():
            streamer.reset()
        for engine in events.Engine:
            prefix = self._ring_of(engine)
            if engine in self.rings:
                for name in ("HEAD", "TAIL", "CTL"):
                    self.registers.poke(self.registers.offset(f"{prefix}_RING_{name}"), 0)
            for name in ("ACTHD", "IPEHR", "IPEIR"):
                self.registers.poke(self.registers.offset(f"{prefix}_{name}"), 0)
        for name in ("EIR", "ESR", "RENDER_EIR", "RENDER_ESR", "PGTBL_ER", "ERROR_GEN6", "RENDER_FAULT_REG"):
            if self.registers.has(name):
                self.registers.poke(self.registers.offset(name), 0)

    # --- checkpoints -----------------------------------------------------------------------------------------------
    def save(self) -> DeviceState | None:
        """The state between two submissions, or when `notify_at_rest` notifies, without memory.

        None if it has parts that `load` could not set.
        """
        core = ffi.new("uint8_t[]", lib.g4_device_image_size())
        if not lib.g4_device_save(self.native, core):
            return None
        return DeviceState(bytes(ffi.buffer(core)), self.registers.save(),
                           {engine: streamer.save() for engine, streamer in self.streamers.made.items()},
                           self._engine, self.numbers.save(), self.blitter.save(), self.debug.save(),
                           self.targets.save(), self.submissions, self.frame, save_log(self.memory.port),
                           self.blitter.budget, self.video_enhancement.save())

    def load(self, saved: DeviceState) -> None:
        """Take over what `save` of a device of the same chip with the same options has returned."""
        lib.g4_device_load(self.native, saved.core)
        self.registers.load(saved.registers)
        for engine in self.streamers.made.keys() | saved.streamers.keys():
            state = saved.streamers.get(engine)
            self.streamers[engine].load(self._new_streamer(engine).save() if state is None else state)
        self._use(saved.engine)
        self.blitter.budget = saved.blit_budget
        self._tile_blits()
        self.numbers.load(saved.numbers)
        self.blitter.load(saved.blitter)
        self.video_enhancement.load(saved.video_enhancement)
        self.debug.load(saved.debug)
        self.targets.load(saved.targets)
        self.submissions, self.frame = saved.submissions, saved.frame
        load_log(self.memory.port, saved.host_faults)

    # --- results ---------------------------------------------------------------------------------------------------
    def take_targets(self) -> list[Target]:
        """The surfaces drawn to since the last call, in the order of first use."""
        return self.targets.take()

    @property
    def findings(self) -> Findings:
        """Commands that are not modelled or not valid, of all command streamers."""
        merged = Findings()
        for streamer in self.streamers.made.values():
            merged.count += streamer.findings.count
            for kind, where in streamer.findings.first.items():
                merged.first.setdefault(kind, where)
        return merged

    @property
    def faults(self) -> Faults:
        """Failed accesses to memory: of draws, blits, command streamers and the host."""
        found = self.memory.faults + log_faults(lib.g4_device_faults(self.native)) + self.blitter.faults
        found = found + self.video_enhancement.faults
        for streamer in self.streamers.made.values():
            found = found + streamer.faults
        return found

    def events(self) -> list[EventCount]:
        """Rules that kernels and messages broke, and how often."""
        found = []
        for kind, text in EVENT_TEXT.items():
            event = lib.g4_device_event(self.native, kind)
            if event.count:
                found.append(EventCount(kind, text, event.count, event.address, event.value))
        return found

    def error_records(self) -> list[ErrorRecord]:
        """The first bad message of each shared function."""
        found = []
        for function in range(16):
            raw = lib.g4_device_error(self.native, function)
            if raw.valid:
                found.append(ErrorRecord(function, Unit(raw.unit), raw.euid, raw.tid, raw.descriptor,
                                         (raw.header[0], raw.header[1]), raw.cause, raw.address))
        return found

    def counts(self) -> dict[str, int]:
        """Work done so far: draws, vertices, objects, instructions, nanoseconds per phase."""
        raw = ffi.new("struct g4_device_counts *")
        lib.g4_device_counts(self.native, raw)
        names = ("draws", "vertices", "objects", "setups", "tiles", "instructions", "channel_ops", "geometry_ns",
                 "raster_ns")
        counts = {name: int(getattr(raw, name)) for name in names}
        media = ffi.new("struct g4_media_counts *")
        lib.g4_device_media_counts(self.native, media)
        media_names = ("objects", "macroblocks", "roots", "children", "ns", "thread_ns")
        return counts | {f"media_{name}": int(getattr(media, name)) for name in media_names}

    def step(self) -> DrawStep | None:
        """What the draw or dispatch that another thread executes is doing; None between draws and before the first."""
        if self.native is None:
            return None
        raw = ffi.new("struct g4_draw_progress *")
        lib.g4_device_progress(self.native, raw)
        noun = _STEPS.get(raw.step)
        return None if noun is None else DrawStep(noun, raw.begun, raw.count)

    def hierarchical_depth_counts(self) -> dict[str, int]:
        """The work of hierarchical depth buffers so far (docs/counters.md); all 0 unless the options enable them."""
        raw = ffi.new("struct g4_hiz_counts *")
        lib.g4_device_hiz_counts(self.native, raw)
        return {name: int(getattr(raw, name)) for name, _ in ffi.typeof("struct g4_hiz_counts").fields}


_STEPS = {lib.G4_DRAW_STEP_OBJECTS: "range of objects", lib.G4_DRAW_STEP_TILES: "tile",
          lib.G4_DRAW_STEP_GROUPS: "thread group"}
_COUNTERS = {
    Counter.IA_VERTICES: "IA_VERTICES_COUNT", Counter.IA_PRIMITIVES: "IA_PRIMITIVES_COUNT",
    Counter.VS_INVOCATIONS: "VS_INVOCATION_COUNT", Counter.GS_INVOCATIONS: "GS_INVOCATION_COUNT",
    Counter.GS_PRIMITIVES: "GS_PRIMITIVES_COUNT", Counter.CL_INVOCATIONS: "CL_INVOCATION_COUNT",
    Counter.CL_PRIMITIVES: "CL_PRIMITIVES_COUNT", Counter.PS_INVOCATIONS: "PS_INVOCATION_COUNT",
    Counter.PS_DEPTH: "PS_DEPTH_COUNT", Counter.HS_INVOCATIONS: "HS_INVOCATION_COUNT",
    Counter.DS_INVOCATIONS: "DS_INVOCATION_COUNT", Counter.CS_INVOCATIONS: "CS_INVOCATION_COUNT",
}


def _counter_read(streamer: CommandStreamer, index: int, half: int) -> Callable[[], int]:
    return lambda: int(streamer.state.raw.counter[index]) >> (32 * half)


def _counter_write(streamer: CommandStreamer, index: int, half: int) -> Callable[[int], None]:
    def write(value: int) -> None:
        counter = streamer.state.raw.counter
        keep = 0xFFFFFFFF << (32 * (1 - half))
        counter[index] = int(counter[index]) & keep | value << (32 * half)

    return write


def _free_native(native: Any, memory: Any, process: int) -> None:
    """Free a device of the core before `memory`, which it uses.  A copy of the process does not have its threads."""
    if os.getpid() == process:
        lib.g4_device_free(native)
