"""What the debug registers of the fixed functions do to draws: fewer of them, to find the one that matters (spec/60 9).

VF skips commands, limits them or changes their vertices, SF keeps a range of objects or none, and a rectangle may stand
for the drawing rectangle.  What is skipped counts all the same.  Traps, snapshots and breakpoints: snapshots.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gen4emu._native import lib
from gen4emu.device.observer import Observer
from gen4emu.device.registers import RegisterFile
from gen4emu.device.snapshots import Snapshots
from gen4emu.device.state import ContextState, Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import View

_ALL = 0xFFFFFFFF
_VF = ("VF_CTL", "VF_STR_VL_OVR", "VF_VC_OVR", "VF_STR_PSKIP", "VF_MAX_PRIM")
_SF = ("SF_CTL", "SF_MIN_PR_IND", "SF_MAX_PR_IND", "SF_CLIP_RMIN", "SF_CLIP_RMAX")


@dataclass(slots=True)
class Reduction:
    """Which part of the work is done; everything, unless told."""

    skip_primitives: int = 0  # 3DPRIMITIVEs from the start
    max_primitives: int | None = None  # counted from the start, skipped ones too (965v4 3.3.4.6)
    vertices: tuple[int, int] | None = None  # start and count that every 3DPRIMITIVE takes
    objects: tuple[int, int] | None = None  # first and last object, as numbered in R0.7
    rectangle: tuple[int, int, int, int] | None = None  # x and y of both corners, inclusive


class Debug:
    """The reduction of one device, and the registers that set it."""

    def __init__(self, native: Any, registers: RegisterFile, gen: Gen, state: Callable[[], ContextState],
                 observer: Observer) -> None:
        self._native, self._registers, self._gen, self._state = native, registers, gen, state
        self._primitives = 0
        self._reduction = Reduction()
        self._active = False
        self.snapshots = Snapshots(native, observer, registers, gen)
        for name in _VF + _SF:
            registers.on_write(registers.offset(name), lambda _: self._from_registers())
        registers.on_read(registers.offset("SVG_RDATA"), self._base_address)

    @property
    def reduction(self) -> Reduction:
        return self._reduction

    @reduction.setter
    def reduction(self, reduction: Reduction) -> None:
        self._reduction = reduction
        self._active = reduction != Reduction()
        first, last = reduction.objects or (0, _ALL)
        lib.g4_device_objects_range(self._native, first, last)

    def restart(self) -> None:
        """MI_FLUSH with the global snapshot count reset: commands and objects are numbered from 0 again."""
        self._primitives = 0
        lib.g4_device_restart_objects(self._native)

    def draw(self, words: Words, run: Callable[[Words], None]) -> None:
        """A 3DPRIMITIVE, or what is left of it."""
        number = self._primitives
        self._primitives += 1
        if not self._active:
            run(words)
            return
        r = self._reduction
        if number < r.skip_primitives or (r.max_primitives is not None and number >= r.max_primitives):
            return
        if r.vertices is not None:
            changed = memoryview(bytearray(words)).cast("I")
            changed[2], changed[1] = r.vertices
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
        self.reduction = reduction

    def _base_address(self) -> int:
        """SVG_RDATA: the base address or bound that SVG_CTL selects."""
        raw = self._state().raw
        selected = (raw.general_state_base, raw.surface_state_base, raw.indirect_object_base, raw.general_state_bound,
                    raw.indirect_object_bound, raw.system_instruction_pointer)
        select = self._view("SVG_CTL").output_mux_select
        return int(selected[select]) if select < len(selected) else 0
