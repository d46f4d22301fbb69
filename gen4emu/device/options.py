"""Options of a device."""

from __future__ import annotations

from dataclasses import dataclass, field

from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.device.command_streamer import MAX_BATCH_DWORDS
from gen4emu.device.debug_registers import Reduction


@dataclass(frozen=True, slots=True)
class Options:
    """How a device behaves where the manual leaves a choice (docs/decisions.md)."""

    round_to_nearest: bool = False  # docs/decisions.md 1
    general_only: bool = False  # no fast paths, in the EU and in other units
    dither_all: bool = False  # docs/decisions.md 13
    min_lod_erratum: bool = False  # docs/decisions.md 35
    gateway_time: bool = False  # the gateway answers GetTimeStamp, which Gen4 reserves
    hierarchical_depth: HierarchicalDepthMode = HierarchicalDepthMode.OFF
    watchdog: int = 0  # million instructions for a draw, million pixels for the blits of a batch; 0: the default
    workers: int = 0  # 0: one for each processor
    draws_apart: bool = False  # each draw ends before the next one starts; else some are drawn together, tile by tile
    strict: bool = False  # unknown commands hang, as they do in hardware
    max_batch_dwords: int = MAX_BATCH_DWORDS  # a longer batch hangs
    reduction: Reduction = field(default_factory=Reduction)  # the part of the draws that is executed
    strict_pte: bool = False  # only pages exist that the page table or `Memory.map_external` has
