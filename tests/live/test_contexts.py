"""Hardware contexts of a connection: one for each slot of an engine map."""

from __future__ import annotations

import pytest

from gen4emu.device.device import Device
from gen4emu.hw.chips import BY_NAME
from gen4emu.live.contexts import RING_ADDRESS, Contexts, InvalidContext, LogicalContexts, contexts_of
from gen4emu.trace.events import Engine, Submission
from gen4emu.trace.ring import RingContexts, start_batch

BATCH = 0x100000
END = 0x05000000


def test_the_slots_of_an_engine_map_have_contexts_of_their_own() -> None:
    contexts = LogicalContexts()
    contexts.create(1)
    numbers = [contexts.number(context, slot) for context, slot in ((0, 0), (1, 0), (1, 2), (1, 0), (0, 0))]
    assert numbers[0] == numbers[4] and numbers[1] == numbers[3]
    assert len(set(numbers)) == 3
    contexts.destroy(1)
    contexts.create(1)
    assert contexts.number(1, 0) not in numbers


def test_slots_are_switched_in_the_ring_on_older_chips() -> None:
    chip = BY_NAME["hsw"]
    contexts, reader = contexts_of(chip), RingContexts(chip.gen)
    assert isinstance(contexts, Contexts)
    contexts.create(7)
    order = [(7, 0), (7, 1), (7, 0), (0, 0), (7, 1)]
    found = [reader.number(Engine.RENDER, contexts.ring(context, BATCH, slot)) for context, slot in order]
    assert found[0] == found[2] and found[1] == found[4]
    assert len(set(found)) == 3
    contexts.destroy(7)
    with pytest.raises(InvalidContext):
        contexts.ring(7, BATCH, 1)


def test_offsets_of_stream_output_are_reset_between_switch_and_batch() -> None:
    contexts = contexts_of(BY_NAME["ivb"])
    plain, reset = contexts.ring(0, BATCH), contexts.ring(0, BATCH, resets_offsets=True)
    assert len(plain) % 8 == len(reset) % 8 == 0
    with Device(BY_NAME["ivb"]) as device:
        offset = device.registers.offset("SO_WRITE_OFFSET0")
        device.memory.write(BATCH, END.to_bytes(4, "little"))
        for ring, expected in ((plain, 64), (reset, 0)):
            for i in range(4):
                device.registers.write(offset + 4 * i, 64)
            device.submit(Submission(0, Engine.RENDER, ring, RING_ADDRESS))
            assert [device.registers.read(offset + 4 * i) for i in range(4)] == [expected] * 4


def test_no_command_switches_the_contexts_of_execution_lists() -> None:
    contexts = contexts_of(BY_NAME["kbl"])
    assert isinstance(contexts, LogicalContexts)
    assert contexts.ring(0, 0xFFFEFFFEE000, 1) == start_batch(0xFFFEFFFEE000, is_wide=True)
    with pytest.raises(InvalidContext):
        contexts.ring(1, BATCH)
