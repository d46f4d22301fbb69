"""Commands of Gen4.5 that the 3D and the media pipeline share: other numbers, two more bits of PIPE_CONTROL."""

from __future__ import annotations

from gen4emu.hw.fields import Bool, Enum, Mbz
from gen4emu.hw.gen4 import common
from gen4emu.hw.gen4.common import Pipeline, pipeline_select, vf_statistics
from gen4emu.hw.layout import Command

_SELECTION = (Mbz(0, 15, 2), Enum("pipeline_selection", 0, 1, 0, enum=Pipeline))

REPLACED: tuple[Command, ...] = (
    pipeline_select(0x6104, *_SELECTION, written=False),
    pipeline_select(0x6904, *_SELECTION, written=True),
    vf_statistics(0x780B, written=False),
    vf_statistics(0x680B, written=True),
    common.PIPE_CONTROL.changed(
        Bool("texture_cache_flush_enable", 0, 10),
        Bool("indirect_state_pointers_disable", 0, 9)),
)
