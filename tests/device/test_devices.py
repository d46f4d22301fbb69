"""The devices that execute, and those that do not."""

from __future__ import annotations

import pytest

from gen4emu.device.device import Device
from gen4emu.errors import NotExecutedError
from gen4emu.hw import chips
from gen4emu.hw.gen import Gen, generation_name
from gen4emu.trace.events import Engine


@pytest.mark.parametrize("info", chips.DEVICES, ids=lambda info: info.name)
def test_devices_of_later_generations_refuse_to_execute(info: chips.Device) -> None:
    assert info.executes == bool(info.gen & (Gen.ALL4 | Gen.GEN7 | Gen.GEN75 | Gen.GEN9))
    if info.executes:
        with Device(info) as device:
            assert device.info is info
        return
    with pytest.raises(NotExecutedError, match=rf"^{info.name} \(Intel .*\) cannot execute yet"):
        Device(info)


@pytest.mark.parametrize("name", ["g45", "ivb", "hsw", "kbl"])
def test_command_streamers_are_made_when_their_engines_are_used(name: str) -> None:
    with Device(chips.BY_NAME[name]) as device:
        assert list(device.streamers.made) == [Engine.RENDER]
        rests: list[Engine] = []
        device.notify_at_rest(lambda: rests.append(device.engine))
        blitter = device.streamers[Engine.BLT]
        assert blitter is device.streamers[Engine.BLT] and blitter.at_rest is not None
        assert list(device.streamers.made) == [Engine.RENDER, Engine.BLT]
        assert list(device.streamers) == list(Engine)


def test_every_part_has_a_generation_with_a_name() -> None:
    assert [generation_name(part) for part in Gen] == [
        "gen4", "gen4", "gen4.5", "gen4.5", "gen6", "gen7", "gen7", "gen7.5", "gen8", "gen9", "gen9"]
