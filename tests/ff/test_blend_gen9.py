"""Blending of Gen9: what 3DSTATE_PS_BLEND says beside BLEND_STATE."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gen4emu.device.device import Device
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.hw.catalogue import block_named, command_named
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen4.state import BlendFactor
from gen4emu.trace.reader import open as open_trace

TRACE = Path(__file__).parents[2] / "traces" / "later" / "triangle-kbl.aub.xz"
SECOND_SOURCE = {"color_buffer_blend_enable": True, "source_blend_factor": BlendFactor.SRC1_COLOR,
                 "destination_blend_factor": BlendFactor.INV_SRC1_COLOR}
SUM = {"color_buffer_blend_enable": True, "source_blend_factor": BlendFactor.DST_COLOR,
       "destination_blend_factor": BlendFactor.INV_SRC_COLOR}
TARGET, TARGET_BYTES = 0xFFFEFFC00000, 64 * 256


@dataclass
class Blending(Listener):
    """Gives all draws blending, and the copy in 3DSTATE_PS_BLEND."""

    device: Device
    entry: dict[str, Any]
    copied: bool
    draws: int = field(default=0)

    def draw_started(self, words: Any) -> None:
        gen, gen9 = self.device.info.gen, self.device.state.gen9
        copy = command_named("3DSTATE_PS_BLEND", gen).by_name(gen)["color_buffer_blend_enable"]
        pointers = command_named("3DSTATE_BLEND_STATE_POINTERS", gen).view(list(gen9.blend_state_pointers), gen=gen)
        block = block_named("BLEND_STATE", gen).build(gen, entries=[self.entry] * 8)
        self.device.memory.write(gen9.dynamic_state_base + pointers.blend_state_pointer, block)
        mask = copy.mask_in(copy.dword)
        gen9.ps_blend[copy.dword] = gen9.ps_blend[copy.dword] & ~mask | (mask if self.copied else 0)
        self.draws += 1


def drawn(entry: dict[str, Any], copied: bool) -> tuple[bytes, list[str]]:
    """The target after the trace, and what was reported."""
    with Device(BY_NAME["kbl"], Options(workers=1)) as device:
        blending = Blending(device, entry, copied)
        device.add_listener(blending)
        for event in open_trace(str(TRACE)):
            device.apply(event)
        assert blending.draws == 5
        return device.memory.read(TARGET, TARGET_BYTES), [event.text for event in device.events()]


def test_without_the_copy_a_second_source_does_not_blend() -> None:
    """So drivers avoid it if the shader has no second color (docs/decisions.md 209)."""
    plain, nothing = drawn({}, copied=False)
    assert nothing == []
    assert drawn(SECOND_SOURCE, copied=False) == (plain, [])
    blended, reports = drawn(SECOND_SOURCE, copied=True)
    assert blended != plain
    assert reports == ["reserved value in a state block"]


def test_other_blending_does_not_need_the_copy() -> None:
    plain, _ = drawn({}, copied=False)
    found = drawn(SUM, copied=False)
    assert found[0] != plain
    assert found == drawn(SUM, copied=True)
