"""Commands that the core executes by itself: the same state, draws and counts as one by one in Python."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gen4emu.device.command_streamer import BadCommand, CommandStreamer
from gen4emu.device.device import Device
from gen4emu.device.events import EuHang
from gen4emu.device.listener import Listener
from gen4emu.device.options import Options
from gen4emu.device.stored_commands import StoredCommands
from gen4emu.hw.chips import BY_NAME, BY_PCI_ID
from gen4emu.hw.chips import Device as Chip
from gen4emu.hw.command_reader import Words
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.common import GraphicsAddressType, PostSyncOperation
from gen4emu.hw.layout import Client, client_of
from gen4emu.hw.topology import PrimitiveTopology
from gen4emu.isa import assemble
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.harness import commands
from tests.harness.commands import DATA, NOOP, Machine, command
from tests.harness.scene import BATCH, Scene, vertex

TRACES = Path(__file__).parents[2] / "traces"
TIMES = ("geometry_ns", "raster_ns")


@dataclass
class Run:
    """The end of a replay."""

    state: bytes
    commands: int
    timestamp: int
    draws: tuple[int, int, int]
    counts: dict[str, int]
    memory: bytes


def replayed(path: Path, *listeners: Listener, prepared: bool = False, workers: int = 1) -> Run:
    """Replay a trace; with listeners, each draw comes from Python."""
    stream = list(open_trace(str(path)))
    header = next(e for e in stream if isinstance(e, events.Header))
    with Device(BY_PCI_ID[header.pci_id or 0], Options(workers=workers), listeners, finds_targets=False) as device:
        if prepared:
            device.prepare()
        for event in stream:
            device.apply(event)
        streamer, numbers = device.streamers[events.Engine.RENDER], device.numbers
        counts = {name: count for name, count in device.counts().items() if name not in TIMES}
        pages = b"".join(device.memory.hash_pages(start // 4096, size // 4096).tobytes()
                         for start, size in device.memory.ranges())
        return Run(streamer.state.save(), streamer.commands, streamer.timestamp(),
                   (numbers.total, numbers.draw, numbers.address), counts, pages)


@pytest.mark.parametrize("name", ["gears-g4x", "gears-brw", "stencil-g4x", "fbo-brw"])
def test_draws_of_the_core_are_those_of_python(name: str) -> None:
    path = TRACES / f"{name}.aub.xz"
    assert replayed(path) == replayed(path, Listener())


@pytest.mark.parametrize("name", ["gears-g4x", "gears-brw", "stencil-g4x", "fbo-brw"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_device_that_is_prepared_draws_the_same(name: str, workers: int) -> None:
    path = TRACES / f"{name}.aub.xz"
    assert replayed(path, prepared=True, workers=workers) == replayed(path, workers=workers)


def test_preparing_a_device_that_has_run_changes_nothing() -> None:
    path = TRACES / "stencil-g4x.aub.xz"
    stream = list(open_trace(str(path)))
    header = next(e for e in stream if isinstance(e, events.Header))
    with Device(BY_PCI_ID[header.pci_id or 0], Options(workers=1)) as device:
        for event in stream:
            device.apply(event)
        before = device.streamers[events.Engine.RENDER].state.save()
        device.prepare()
        assert device.streamers[events.Engine.RENDER].state.save() == before != bytes(len(before))


@pytest.mark.parametrize("name", ["fbo-g4x", "gears-brw"])
def test_rings_that_only_start_a_batch_run_as_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = TRACES / f"{name}.aub.xz"
    usual = replayed(path)
    monkeypatch.setattr(CommandStreamer, "_is_start", lambda self, words: False)
    assert replayed(path) == usual


def test_an_engine_that_cannot_be_made_is_not_the_one_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(engine: events.Engine) -> CommandStreamer:
        raise MemoryError

    with Device(BY_NAME["g45"], Options(workers=1)) as device:
        with monkeypatch.context() as patch:
            patch.setattr(device.streamers, "_make", fail)
            with pytest.raises(MemoryError):
                device._use(events.Engine.BSD)
        assert device._use(events.Engine.BSD) is device.streamers[events.Engine.BSD]
        assert device._use(events.Engine.RENDER) is device.streamers[events.Engine.RENDER]


@pytest.mark.parametrize("chip", [chip for chip in BY_NAME.values() if chip.executes], ids=lambda chip: chip.name)
@pytest.mark.parametrize("prepared", [False, True])
def test_a_prepared_device_knows_the_usual_commands(chip: Chip, prepared: bool,
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[int] = []
    rectangle = [*command("3DSTATE_DRAWING_RECTANGLE", chip.gen), *command("3DSTATE_DRAWING_RECTANGLE", chip.gen)]
    batch = [*rectangle, *command("MI_BATCH_BUFFER_END", chip.gen)]
    with Device(chip, Options(workers=1)) as device:
        if prepared:
            device.prepare()
        monkeypatch.setattr(StoredCommands, "learn", lambda self, header, command, dwords: learned.append(header))
        device.memory.write(BATCH, struct.pack(f"<{len(batch)}I", *batch))
        device.run_batch(BATCH)
        assert learned == ([] if prepared else [rectangle[0]])
        assert device.streamers[events.Engine.RENDER].commands == 3


@pytest.mark.parametrize("name", ["fbo-g4x", "stencil-g4x", "gears-brw"])
def test_a_prepared_device_has_decoded_the_headers_of_a_driver(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    decode = CommandStreamer._decode

    def record(self: CommandStreamer, header: int, present: int | None = None) -> Any:
        decoded.append(header)
        return decode(self, header, present)

    stream = list(open_trace(str(TRACES / f"{name}.aub.xz")))
    header = next(e for e in stream if isinstance(e, events.Header))
    monkeypatch.setattr(CommandStreamer, "_decode", record)
    with Device(BY_PCI_ID[header.pci_id or 0], Options(workers=1)) as device:
        device.prepare()
        assert decoded
        decoded.clear()
        for event in stream:
            device.apply(event)
    assert {client_of(header) for header in decoded} <= {Client.MI}


def test_the_core_draws_without_python() -> None:
    scene = Scene()
    scene.device._finds_targets = False
    drawn: list[object] = []
    # A method is replaced: draws that Python runs would be noted here.
    scene.device._run_draw = drawn.append  # type: ignore[assignment, method-assign]  # a spy
    corners = [vertex(2.0, 2.0), vertex(20.0, 2.0), vertex(20.0, 20.0)]
    state = scene.prepare(corners)
    scene.run(state + scene.primitive(PrimitiveTopology.TRILIST, 3) * 5)
    assert not drawn
    assert scene.device.counts()["draws"] == scene.device.numbers.total == 5


@pytest.mark.parametrize("finds_targets", [False, True], ids=["core", "Python"])
def test_a_hang_is_at_the_draw_that_hangs(finds_targets: bool) -> None:
    scene = Scene(options=Options(workers=1, watchdog=1))
    scene.device._finds_targets = finds_targets
    corners = [vertex(2.0, 2.0), vertex(20.0, 2.0), vertex(20.0, 20.0)]
    scene.pixel_kernel = assemble("jmpi(1) -2D { align1 nomask };", Gen.CTG)
    state, primitive = scene.prepare(corners), scene.primitive(PrimitiveTopology.TRILIST, 3)
    nothing = scene.primitive(PrimitiveTopology.TRILIST, 0)
    address = BATCH + len(state) + len(nothing)
    with pytest.raises(EuHang, match=f"0x{address:08x}"):
        scene.run(state + nothing + primitive + nothing)
    numbers = scene.device.numbers
    assert (numbers.total, numbers.draw, numbers.address) == (2, 1, address)


def test_a_batch_that_leaves_memory_hangs_at_the_last_command_of_a_run() -> None:
    machine = Machine()
    rectangle = command("3DSTATE_DRAWING_RECTANGLE")
    page = 4096
    machine.put(BATCH, *[rectangle] * (page // 4 // len(rectangle)))
    with pytest.raises(BadCommand, match=f"0x{BATCH + page - 4 * len(rectangle):08x} in the batch: nothing is mapped"):
        machine.device.run_batch(BATCH)


def test_constants_that_are_not_in_memory_are_zeros() -> None:
    machine = Machine()
    machine.state.curbe[0] = 1
    machine.run(command("CONSTANT_BUFFER", valid=True, buffer_starting_address=0x7000000))
    assert (machine.state.curbe_rows, machine.state.curbe[0]) == (2, 0)


@pytest.mark.parametrize("modified", [False, True])
def test_the_core_keeps_a_line_stipple_and_leaves_its_position_to_python(modified: bool) -> None:
    machine = Machine()
    machine.state.line_stipple_position = 7
    stipple = command("3DSTATE_LINE_STIPPLE", line_stipple_pattern=0x1234, line_stipple_repeat_count=3,
                      modify_enable=modified, current_stipple_index=5, current_repeat_counter=2)
    machine.run(stipple, stipple)  # the core knows the second one
    run = machine.device.streamers[events.Engine.RENDER].state.stored.run
    assert list(machine.state.line_stipple) == list(stipple)
    assert machine.state.line_stipple_position == (5 * 3 + 2 if modified else 7)
    assert run.commands == (0 if modified else 2)


class Silent:
    """A listener for which commands are executed one by one."""

    def command(self, words: Words) -> None: ...
    def context(self, left: int | None, entered: int, restored: bool) -> None: ...
    def reset(self) -> None: ...


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("listens", [False, True], ids=["core", "Python"])
@pytest.mark.parametrize("name", ["gm45", "ivb", "kbl"])
def test_a_command_that_writes_the_next_one_executes_it_as_written(name: str, listens: bool, is_known: bool) -> None:
    machine = Machine(name)
    gen = machine.gen
    if listens:
        machine.streamer.listen(Silent())

    def rectangle(x: int) -> list[int]:
        return command("3DSTATE_DRAWING_RECTANGLE", gen, clipped_drawing_rectangle_x_min=x)

    def write(place: int) -> list[int]:
        low, high = rectangle(5)[:2]
        data = {"immediate_data": low | high << 32} if gen is Gen.KBL else {"immediate_data_low": low,
                                                                           "immediate_data_high": high}
        where = ({"destination_address": place, "destination_address_type": GraphicsAddressType.GLOBAL}
                 if gen is Gen.CTG else {"address": place})
        return command("PIPE_CONTROL", gen, post_sync_operation=PostSyncOperation.WRITE_IMMEDIATE_DATA,
                       **where, **data)

    if is_known:
        machine.run(write(DATA), rectangle(1))
    padding = NOOP * (len(write(DATA)) % 2)
    machine.run(padding, write(commands.BATCH + 4 * len(padding + write(DATA))), rectangle(7))
    assert machine.state.drawing_rectangle[1] == rectangle(5)[1]
