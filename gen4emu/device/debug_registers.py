"""The debug registers as a trace programs them (965 PRM vol. 4, chapter 3), and the reduction of draws.

Traps and snapshots of the fixed functions, breakpoints and halts of the thread dispatcher, debug colors, error
records, attention.  While a register enables one of these, the device draws on one thread, as for any debugger.

The fixed functions can also reduce draws, to find the one that matters: VF skips commands, limits them or changes their
vertices, SF keeps a range of objects or none, and a rectangle may replace the drawing rectangle.  Skipped draws and
objects are counted all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gen4emu._native import ffi, lib
from gen4emu.core_enums import DEBUG_NUMBERS, BreakKind, DebugAction, DebugKind, TrapKind
from gen4emu.device.memory import Unit
from gen4emu.device.observer import ALL_UNITS, NONE, Breakpoint, Observer, Subscription, Trap
from gen4emu.device.registers import RegisterFile
from gen4emu.device.state import ContextState
from gen4emu.hw.catalogue import command_named
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import debug_registers as layouts
from gen4emu.hw.gen4.media import PAYLOAD_MEDIA_R0
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR, SharedFunction
from gen4emu.hw.layout import Block, View

_CONTROLS = ("VF_CTL", "VF_STRG_VAL", "VS_CTL", "VS_STRG_VAL", "GS_CTL", "GS_STRG_VAL", "CL_CTL", "CL_STRG_VAL",
             "SF_STRG_VAL", "WIZ_CTL", "WIZ_STRG_VAL", "VFE_CTL", "VFE_STRG_VAL", "TS_CTL", "TS_STRG_0_6_VAL",
             "TS_STRG_0_7_VAL", "TD_CTL", "TD_CTL2", "TD_VF_VS_EMSK", "TD_GS_EMSK", "TD_CLIP_EMSK", "TD_SF_EMSK",
             "TD_WIZ_EMSK", "TD_TS_EMSK", "TD_0_6_EHTRG_VAL", "TD_0_7_EHTRG_VAL", "TD_0_6_EHTRG_MSK",
             "TD_0_7_EHTRG_MSK", "ISC_L1CA_BP_ADR1", "ISC_L1CA_BP_ADR2", "ISC_L1CA_BP_OPC1", "ISC_L1CA_BP_OPC2",
             "RC_CTL", "RC_DEF_CLR", "URB_CTL")
_STAGES = {"VS": Unit.VS, "GS": Unit.GS, "CL": Unit.CLIP}
_MASKS = {Unit.VS: ("vs", "TD_VF_VS_EMSK"), Unit.GS: ("gs", "TD_GS_EMSK"), Unit.CLIP: ("clip", "TD_CLIP_EMSK"),
          Unit.SF: ("sf", "TD_SF_EMSK"), Unit.WM: ("windower", "TD_WIZ_EMSK"),
          Unit.TS: ("thread_spawner", "TD_TS_EMSK")}
# The manual gives no numbers to the fixed functions: these are their order in the pipelines.
FFID = {Unit.VF: 0, Unit.VS: 1, Unit.GS: 2, Unit.CLIP: 3, Unit.SF: 4, Unit.WM: 5, Unit.VFE: 6, Unit.TS: 7}
_MATH, _SAMPLER, _URB = SharedFunction.EXTENDED_MATH, SharedFunction.SAMPLER, SharedFunction.URB
_READ, _WRITE = SharedFunction.DATA_PORT_READ, SharedFunction.DATA_PORT_WRITE
_SPAWNER = SharedFunction.THREAD_SPAWNER


class Snapshots:
    """The debug registers of one device: their effects, and the values that they show."""

    def __init__(self, native: Any, observer: Observer, registers: RegisterFile, gen: Gen) -> None:
        self._native, self._observer, self._registers, self._gen = native, observer, registers, gen
        self._subscriptions = Subscription(handlers={DebugKind.THREAD: self._thread, DebugKind.VERTEX: self._vertex,
                                        DebugKind.MESSAGE: self._message})
        self._latched: dict[str, dict[int, int]] = {}
        self._halt_pending = False
        observer.add(self._subscriptions)
        for name in _CONTROLS:
            registers.on_write(registers.offset(name), self._written(name))
        # SF_CTL and VF_CTL have other uses, too: `Debug` hooks them and calls `program`.
        reads: dict[str, Callable[[], int]] = {
            f"{unit}_RDATA": self._latched_reader(unit) for unit in ("VF", "VS", "GS", "CL", "SF", "WIZ", "VFE")}
        reads |= {"MATH_RDATA": self._math, "SAMPLER_RDATA": self._error("SAMPLER_CTL", (_SAMPLER,)),
                  "DP_RDATA": self._data_port, "TS_RDATA": self._spawner, "URB_RDATA": self._urb}
        for name, read in reads.items():
            registers.on_read(registers.offset(name), read)
        self._hook_attention()

    def save(self) -> tuple[dict[str, dict[int, int]], bool]:
        """The snapshots that were taken, and whether threads are to halt."""
        return {name: dict(data) for name, data in self._latched.items()}, self._halt_pending

    def load(self, saved: tuple[dict[str, dict[int, int]], bool]) -> None:
        """Take over what `save` has returned, and the register file's values."""
        latched, self._halt_pending = saved
        self._latched = {name: dict(data) for name, data in latched.items()}
        self.program()

    def _written(self, name: str) -> Callable[[int], None]:
        def written(value: int) -> None:
            if name == "TD_CTL":
                self._halt_pending = bool(self._view("TD_CTL").force_external_halt)
            self.program()

        return written

    def _view(self, name: str) -> View:
        return self._registers.view(name)

    # --- effects -------------------------------------------------------------------------------------------------
    def program(self) -> None:
        """Translate the registers into a subscription."""
        w = self._subscriptions
        w.traps, w.breakpoints = [], []
        self._vertex_fetch()
        for name, unit in _STAGES.items():
            self._thread_unit(name, unit, TrapKind.THREAD)
        self._thread_unit("SF", Unit.SF, TrapKind.OBJECT)
        self._windower()
        self._media()
        self._dispatcher()
        self._instruction_cache()
        color = self._view("RC_CTL")
        w.color = self._view("RC_DEF_CLR").default_color if color.default_color_enable else None
        urb = self._view("URB_CTL")
        w.messages = w.messages_flagged = bool(urb.snapshot_enable and not urb.snapshot_complete)
        self._observer.update()

    def _add(self, owner: str, trap: Trap) -> None:
        self._subscriptions.traps.append(replace(trap, owner=owner))

    def _vertex_fetch(self) -> None:
        control = self._view("VF_CTL")
        if control.snapshot_enable and not control.snapshot_complete:
            kind = TrapKind.VERTEX_INDEX if control.snapshot_by_index else TrapKind.VERTEX_SEQUENCE
            self._add("VF", Trap(kind, value=self._view("VF_STRG_VAL").vertex, unflagged=True))

    def _thread_unit(self, name: str, unit: Unit, kind: TrapKind) -> None:
        control = self._view(f"{name}_CTL")
        unflagged = not control.thread_snapshot_enable
        if control.snapshot_all_threads:
            self._add(name, Trap(TrapKind.EVERY_THREAD, units=1 << unit, unflagged=unflagged))
        elif control.snapshot_enable and not control.snapshot_complete:
            value = self._registers.read(self._registers.offset(f"{name}_STRG_VAL")) & DEBUG_NUMBERS
            self._add(name, Trap(kind, units=1 << unit, value=value, unflagged=unflagged))

    def _windower(self) -> None:
        control, trigger = self._view("WIZ_CTL"), self._view("WIZ_STRG_VAL")
        self._subscriptions.single_subspan = bool(control.single_subspan_dispatch)
        unflagged = not control.thread_snapshot_enable
        if control.snapshot_all_threads:
            self._add("WIZ", Trap(TrapKind.EVERY_THREAD, units=1 << Unit.WM, unflagged=unflagged))
        elif control.snapshot_enable and not control.snapshot_complete:
            instance = control.subspan_instance_number if control.subspan_instance_compare_enable else 0
            of = self._view("SF_STRG_VAL").snapshot_id & DEBUG_NUMBERS if control.use_upstream_snapshot_flag else None
            self._add("WIZ", Trap(TrapKind.PIXEL, x=trigger.pixel_x, y=trigger.pixel_y, instance=instance, object=of,
                                  unflagged=unflagged))

    def _media(self) -> None:
        vfe, ts = self._view("VFE_CTL"), self._view("TS_CTL")
        units = 1 << Unit.TS
        if vfe.snapshot_enable and not vfe.snapshot_complete:
            self._add("VFE", Trap(TrapKind.DEBUG_ID, units, self._view("VFE_STRG_VAL").snapshot_id & DEBUG_NUMBERS,
                                  DEBUG_NUMBERS, unflagged=True))
        if ts.snapshot_all_root_threads or ts.snapshot_all_child_threads:
            self._add("TS", Trap(TrapKind.EVERY_THREAD, units))
        elif ts.thread_snapshot_enable and not ts.snapshot_complete:
            self._add("TS", Trap(TrapKind.DEBUG_ID, units, self._view("TS_STRG_0_6_VAL").r0_6_value, DEBUG_NUMBERS,
                                 self._view("TS_STRG_0_7_VAL").r0_7_value, DEBUG_NUMBERS))

    def _dispatcher(self) -> None:
        w, control, more = self._subscriptions, self._view("TD_CTL"), self._view("TD_CTL2")
        w.break_flagged, w.break_all = bool(control.breakpoint_enable), bool(control.force_thread_breakpoint_enable)
        w.exceptions = None
        if control.exception_mask_override:
            w.exceptions = (more.mask_stack_exception_override | more.illegal_opcode_exception_override << 1
                            | more.software_exception_override << 2)
        if control.external_halt_on_r0_match:
            self._add("TD", Trap(
                TrapKind.DEBUG_ID, ALL_UNITS, self._view("TD_0_6_EHTRG_VAL").r0_6_value,
                self._view("TD_0_6_EHTRG_MSK").r0_6_mask, self._view("TD_0_7_EHTRG_VAL").r0_7_value,
                self._view("TD_0_7_EHTRG_MSK").r0_7_mask, quiet=True, unflagged=True, halt=True))
        if self._halt_pending:
            self._add("TD", Trap(TrapKind.EVERY_THREAD, unflagged=True, halt=True))
        w.threads_per_eu = more.active_thread_limit if more.active_thread_limit_enable else 0
        w.eu_masks = {unit: self._view(register).execution_mask for unit, (stage, register) in _MASKS.items()
                      if getattr(more, f"{stage}_execution_mask_enable")}
        w.system_routine = bool(w.break_all or w.break_flagged or w.exceptions is not None
                                or control.external_halt_on_r0_match or self._halt_pending)

    def _instruction_cache(self) -> None:
        found = self._subscriptions.breakpoints
        for name in ("ISC_L1CA_BP_ADR1", "ISC_L1CA_BP_ADR2"):
            at = self._view(name)
            if at.enable:
                found.append(Breakpoint(BreakKind.ADDRESS, at.breakpoint_address, at.breakpoint_address + 15))
        for name in ("ISC_L1CA_BP_OPC1", "ISC_L1CA_BP_OPC2"):
            at = self._view(name)
            if at.enable:
                found.append(Breakpoint(BreakKind.OPCODE, at.opcode & 0x7F))
        if self._view("ISC_L1CA_BP_OPC1").end_of_thread_enable:
            found.append(Breakpoint(BreakKind.END))
        if not (self._subscriptions.break_all or self._subscriptions.break_flagged):
            found.clear()  # "no effect when Breakpoint Enable is unset"

    # --- events ---------------------------------------------------------------------------------------------------
    def _complete(self, name: str, data: dict[int, int], whole: bool) -> None:
        """Record a snapshot.  Without `whole`, there is no other until software clears the bit."""
        self._latched[name] = data
        offset, masks = self._registers.offset(f"{name}_CTL"), self._registers.masks(f"{name}_CTL")
        self._registers.poke(offset, self._registers.read(offset) | masks["snapshot_complete"])
        if not whole:
            self.program()

    def _thread(self, event: Any) -> DebugAction:
        found = self._observer.trap_of(event)
        trap = found[1] if found is not None else None
        if trap is None:
            return DebugAction.GO
        owner = trap.owner
        whole = trap.kind is TrapKind.EVERY_THREAD
        if owner == "TD":
            if whole:
                self._halt_pending = False
                self.program()
            return DebugAction.GO
        data = _DATA[owner](event) if owner in _DATA else self._interface_descriptor()
        self._complete(owner, data, whole)
        return DebugAction.GO

    def _vertex(self, event: Any) -> DebugAction:
        found = self._observer.trap_of(event)
        if found is not None and found[1].owner == "VF":
            self._complete("VF", {0: 0}, False)
        return DebugAction.GO

    def _message(self, event: Any) -> DebugAction:
        message = MESSAGE_DESCRIPTOR.view((event.descriptor,), gen=self._gen)
        if message.shared_function != _URB or not event.thread.flagged:
            return DebugAction.GO
        control = self._view("URB_CTL")
        if control.snapshot_enable and not control.snapshot_complete:
            which = control.output_register_select
            header = self._payload(event.mrf)
            row = self._payload(event.mrf + which) if which < message.message_length else [0] * 8
            self._complete("URB", {1: header[6], 2: header[7]} | {8 + i: row[i] for i in range(8)}, False)
        return DebugAction.GO

    def _interface_descriptor(self) -> dict[int, int]:
        """965 PRM vol. 4, 3.3.11.1: mux 3 of TS, from R0."""
        header = ffi.unpack(lib.g4_debug_register(self._native, 1, 0), PAYLOAD_MEDIA_R0.size(self._gen))
        pointer = PAYLOAD_MEDIA_R0.field("interface_descriptor_pointer", self._gen).extract(header)
        return {3: layouts.SPAWNER_SNAPSHOT.pack(self._gen, interface_descriptor=pointer)[0]}

    def _payload(self, number: int) -> list[int]:
        return list(ffi.unpack(lib.g4_debug_register(self._native, 2, number & 15), 8))

    # --- values ---------------------------------------------------------------------------------------------------
    def _latched_reader(self, name: str) -> Callable[[], int]:
        def read() -> int:
            return self._latched.get(name, {}).get(self._view(f"{name}_CTL").output_mux_select, 0)

        return read

    def _record(self, functions: tuple[int, ...]) -> Any:
        """The first bad message of these functions, or None."""
        found = [r for f in functions if (r := lib.g4_device_error(self._native, f)).valid]
        return found[0] if found else None

    def _message_of(self, record: Any) -> View:
        return MESSAGE_DESCRIPTOR.view((int(record.descriptor),), gen=self._gen)

    def _pack(self, layout: Block, record: Any, **values: Any) -> int:
        """The error word of a bad message: its thread, and these fields."""
        tid = layout.field("tid", self._gen).mask
        return layout.pack(self._gen, ffid=FFID[Unit(record.unit)], euid=int(record.euid), tid=int(record.tid) & tid,
                           **values)[0]

    def _error(self, control: str, functions: tuple[int, ...]) -> Callable[[], int]:
        """Mux 0: thread and cause; 1 and 2: dwords 6 and 7 of the header (965 PRM vol. 4, 3.4.6.1, 3.4.9.1)."""
        def read() -> int:
            record, mux = self._record(functions), self._view(control).output_mux_select
            if record is None or mux > 2:
                return 0
            if mux:
                return int(record.header[mux - 1])
            return self._pack(layouts.SHARED_FUNCTION_ERROR, record, error_code=1 << int(record.cause))

        return read

    def _data_port(self) -> int:
        """Like other records, but with the header's dwords swapped (965 PRM vol. 4, 3.4.7.1)."""
        record, mux = self._record((_WRITE, _READ)), self._view("DP_CTL").output_mux_select
        if record is None or mux > 2:
            return 0
        if mux:
            return int(record.header[2 - mux])
        return self._pack(layouts.SHARED_FUNCTION_ERROR, record, error_code=1 << int(record.cause))

    def _math(self) -> int:
        record = self._record((_MATH,))
        if record is None or self._view("MATH_CTL").output_mux_select:
            return 0
        message = self._message_of(record)
        opcode = layouts.MATH_ERROR.field("opcode", self._gen).mask
        return self._pack(layouts.MATH_ERROR, record, response_length=message.response_length,
                          message_length=message.message_length, opcode=message.function_control & opcode,
                          error_code=1 << int(record.cause))

    def _spawner(self) -> int:
        mux = self._view("TS_CTL").output_mux_select
        if mux:
            return self._latched.get("TS", {}).get(mux, 0)
        record = self._record((_SPAWNER,))
        if record is None:
            return 0
        message = self._message_of(record)
        control = layouts.SPAWNER_ERROR.field("function_control", self._gen).mask
        return self._pack(layouts.SPAWNER_ERROR, record, function_control=message.function_control & control,
                          end_of_thread=message.end_of_thread, error_code_valid=True,
                          error_code=1 if record.cause else 0)

    def _urb(self) -> int:
        mux = self._view("URB_CTL").output_mux_select
        if mux == 0:
            record = self._record((_URB,))
            if record is None:
                return 0
            return self._pack(layouts.SHARED_FUNCTION_ERROR, record, error_code=int(record.cause))
        return self._latched.get("URB", {}).get(mux, 0)

    # --- attention ------------------------------------------------------------------------------------------------
    def _hook_attention(self) -> None:
        """965 PRM vol. 4, 3.5: EU 0 thread 0 is the highest bit of what is read, and the lowest of what is written."""
        r = self._registers
        attention, data, clear = (r.offset(f"EU_ATT{name}") for name in ("", "_DATA", "_CLR"))
        for half in (0, 1):
            r.on_read(attention + 4 * half, partial(self._attention_half, 0, half))
            r.on_read(data + 4 * half, partial(self._attention_half, 1, half))
            r.on_write(clear + 4 * half, partial(self._clear_attention, half))

    def _clear_attention(self, half: int, value: int) -> None:
        lib.g4_device_clear_attention(self._native, value << (32 * half))

    def _attention_half(self, which: int, half: int) -> int:
        return self._attention(which) >> (32 * half)

    def _attention(self, which: int) -> int:
        data = ffi.new("uint64_t *")
        waiting = lib.g4_device_attention(self._native, data)
        bits = int(data[0]) if which else int(waiting)
        threads = 64 if self._gen & Gen.GEN45 else 32
        return int(f"{bits:0{threads}b}"[::-1], 2)


def _kernel(event: Any) -> int:
    return int(event.thread.kernel - event.thread.general_state_base) & 0xFFFFFFFF


def _vertices(event: Any) -> list[Any]:
    t = event.thread
    return [event.origin[t.vertex[i]] for i in range(t.vertices) if t.vertex[i] < event.origins]


def _debug_id(origin: Any) -> int:
    """FFID and number: sequence numbers of fetched vertices; threads of vertices from GS and CLIP."""
    if origin.unit == Unit.VF:
        return FFID[Unit.VF if origin.thread == NONE else Unit.VS] << 28 | int(origin.output)
    return FFID[Unit(origin.unit)] << 28 | int(origin.thread)


def _relative(origin: Any) -> int:
    return 0 if origin.unit == Unit.VF else int(origin.output)


def _vf(event: Any) -> dict[int, int]:
    return {0: int(event.thread.number)}


def _vs(event: Any) -> dict[int, int]:
    found = _vertices(event)
    return {i: int(v.index) for i, v in enumerate(found)} | {2: len(found), 3: _kernel(event)}


def _gs(event: Any) -> dict[int, int]:
    found = _vertices(event)
    return {2 * i: _debug_id(v) for i, v in enumerate(found)} | {12: len(found), 13: _kernel(event)}


def _clip_or_sf(event: Any) -> dict[int, int]:
    found = _vertices(event)[:3]
    ids = {2 * i: _debug_id(v) for i, v in enumerate(found)}
    return ids | {2 * i + 1: _relative(v) for i, v in enumerate(found)} | {6: len(found), 7: _kernel(event)}


def _wiz(event: Any) -> dict[int, int]:
    return {0: _kernel(event), 1: int(event.occurrence), 2: int(event.thread.object)}


_DATA: dict[str, Callable[[Any], dict[int, int]]] = {
    "VF": _vf, "VS": _vs, "GS": _gs, "CL": _clip_or_sf, "SF": _clip_or_sf, "WIZ": _wiz}


_ALL = 0xFFFFFFFF
_VF = ("VF_CTL", "VF_STR_VL_OVR", "VF_VC_OVR", "VF_STR_PSKIP", "VF_MAX_PRIM")
_SF = ("SF_CTL", "SF_MIN_PR_IND", "SF_MAX_PR_IND", "SF_CLIP_RMIN", "SF_CLIP_RMAX")


@dataclass(slots=True)
class Reduction:
    """The part of each draw that is executed; all of it by default."""

    skip_primitives: int = 0  # 3DPRIMITIVEs from the start
    max_primitives: int | None = None  # counted from the start, skipped ones too (965 PRM vol. 4, 3.3.4.6)
    vertices: tuple[int, int] | None = None  # start and count that every 3DPRIMITIVE takes
    objects: tuple[int, int] | None = None  # first and last object, as numbered in R0.7
    rectangle: tuple[int, int, int, int] | None = None  # x and y of both corners, inclusive


class Debug:
    """The reduction of one device, and the registers that set it."""

    def __init__(self, native: Any, registers: RegisterFile, gen: Gen, state: Callable[[], ContextState],
                 observer: Observer, reduction: Reduction) -> None:
        self._native, self._registers, self._gen, self._state = native, registers, gen, state
        self._primitives = 0
        self._reduce(reduction)
        primitive = command_named("3DPRIMITIVE", gen)
        self._vertex_dwords = tuple(primitive.field(name, gen).dword for name in (
            "start_vertex_location", "vertex_count_per_instance"))
        self.snapshots: Snapshots | None = None
        if not registers.has("SVG_RDATA"):  # the debug registers of Gen6 and later are not public
            return
        self.snapshots = Snapshots(native, observer, registers, gen)
        for name in _VF + _SF:
            registers.on_write(registers.offset(name), lambda _: self._from_registers())
        registers.on_read(registers.offset("SVG_RDATA"), self._base_address)

    def save(self) -> tuple[Any, ...]:
        """The state that register writes set outside of the register file, and snapshots, for `load`."""
        snapshots = None if self.snapshots is None else self.snapshots.save()
        return self._primitives, replace(self._reduction), snapshots

    def load(self, saved: tuple[Any, ...]) -> None:
        """Take over what `save` has returned.  The register file has its values already."""
        self._primitives, reduction, snapshots = saved
        self._reduce(replace(reduction))
        if self.snapshots is not None:
            self.snapshots.load(snapshots)

    def _reduce(self, reduction: Reduction) -> None:
        self._reduction = reduction
        self.active = reduction != Reduction()  # draws are reduced
        first, last = reduction.objects or (0, _ALL)
        lib.g4_device_objects_range(self._native, first, last)

    def restart(self) -> None:
        """MI_FLUSH with the global snapshot count reset: commands and objects are numbered from 0 again."""
        self._primitives = 0
        lib.g4_device_restart_objects(self._native)

    def count(self, draws: int) -> None:
        """Count 3DPRIMITIVEs that were drawn whole."""
        self._primitives += draws

    def draw(self, words: Words, run: Callable[[Words], None]) -> None:
        """Draw a 3DPRIMITIVE, or the part of it that is left."""
        number = self._primitives
        self._primitives += 1
        if not self.active:
            run(words)
            return
        r = self._reduction
        if number < r.skip_primitives or (r.max_primitives is not None and number >= r.max_primitives):
            return
        if r.vertices is not None:
            changed = memoryview(bytearray(words)).cast("I")
            for dword, value in zip(self._vertex_dwords, r.vertices, strict=True):
                changed[dword] = value
            words = changed
        if r.rectangle is None:
            run(words)
            return
        raw = self._state().raw
        saved = tuple(raw.drawing_rectangle)
        x1, y1, x2, y2 = r.rectangle
        raw.drawing_rectangle[1], raw.drawing_rectangle[2] = y1 << 16 | x1, y2 << 16 | x2
        try:
            run(words)
        finally:
            raw.drawing_rectangle = saved

    # --- registers -------------------------------------------------------------------------------------------------
    def _view(self, name: str) -> View:
        return self._registers.view(name)

    def _from_registers(self) -> None:
        assert self.snapshots is not None
        self.snapshots.program()
        vf, sf = self._view("VF_CTL"), self._view("SF_CTL")
        reduction = Reduction()
        if vf.skip_initial_primitives:
            reduction.skip_primitives = self._view("VF_STR_PSKIP").starting_primitives_skipped
        if vf.max_primitives_limit_enable:
            reduction.max_primitives = self._view("VF_MAX_PRIM").max_primitives
        if vf.vertex_range_limit_enable:
            reduction.vertices = (self._view("VF_STR_VL_OVR").start_vertex_location_override,
                                  self._view("VF_VC_OVR").vertex_count_per_instance_override)
        if sf.cull_all:
            reduction.objects = (1, 0)
        elif sf.primitive_range_enable:
            reduction.objects = (self._view("SF_MIN_PR_IND").minimum_primitive_index,
                                 self._view("SF_MAX_PR_IND").maximum_primitive_index)
        if sf.debug_clip_rectangle_enable:
            low, high = self._view("SF_CLIP_RMIN"), self._view("SF_CLIP_RMAX")
            reduction.rectangle = low.minimum_x, low.minimum_y, high.maximum_x, high.maximum_y
        self._reduce(reduction)

    def _base_address(self) -> int:
        """SVG_RDATA: the base address or bound that SVG_CTL selects."""
        raw = self._state().raw
        selected = (raw.general_state_base, raw.surface_state_base, raw.indirect_object_base, raw.general_state_bound,
                    raw.indirect_object_bound, raw.system_instruction_pointer)
        select = self._view("SVG_CTL").output_mux_select
        return int(selected[select]) if select < len(selected) else 0
