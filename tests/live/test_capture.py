"""Captures of a client: they replay to the same bits and contain each page once."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from gen4emu._native import lib
from gen4emu.check.execute import draw
from gen4emu.check.manifest import Case
from gen4emu.decode import Command, Decoder
from gen4emu.decode.options import Options as DecodeOptions
from gen4emu.device.device import Device
from gen4emu.device.memory import Missing
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.hw.chips import BY_NAME
from gen4emu.image.compare import load
from gen4emu.image.digest import pixels_digest
from gen4emu.live.contexts import Contexts
from gen4emu.live.recorder import CaptureFiles, watch_capture
from gen4emu.live.server import Server
from gen4emu.trace import events
from gen4emu.trace.reader import open as open_trace
from tests.live.fake_client import FakeClient, play

TRACES = Path(__file__).parents[2] / "traces"
BATCH, DATA, PAGE = 0x100000, 0x200000, 4096
STORE, END = 0x10400002, 0x05000000
WRITTEN = int(lib.G4_LIVE_OBJECT_WRITTEN)
DEPTH_COUNT = 0x2350


class Session:
    """A server that records, and one client with a batch buffer and a data buffer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.server = Server(BY_NAME["g45"], Options(workers=1))
        self.files = watch_capture(self.server, path)

    def __enter__(self) -> FakeClient:
        self.server.start()
        self.client = FakeClient(self.server.directory)
        self.client.bind(BATCH, 0x10000, 0x10000)
        self.client.bind(DATA, 0x10000, 0x20000)
        return self.client

    def __exit__(self, *exception: object) -> None:
        self.client.close()
        self.server.close()

    def events(self) -> list[events.Event]:
        return list(open_trace(self.path))


def submit(client: FakeClient, words: Sequence[int], context: int = 0) -> None:
    client.words(0x10000, *words, END, 0)
    client.objects((BATCH, 0, PAGE, 0, 0), (DATA, WRITTEN, 4 * PAGE, 0, 0))
    assert client.run(BATCH, context) == lib.G4_LIVE_DONE


def written(found: Sequence[events.Event]) -> list[list[tuple[int, int]]]:
    """The (address, size) of the writes before each submission."""
    out: list[list[tuple[int, int]]] = [[]]
    for event in found:
        if isinstance(event, events.MemoryWrite):
            out[-1].append((event.address, len(event.data)))
        elif isinstance(event, events.Submission):
            out.append([])
    return out[:-1]


def test_only_changed_pages_are_written(tmp_path: Path) -> None:
    session = Session(tmp_path / "a.aub")
    with session as client:
        submit(client, [])
        submit(client, [])
        client.words(0x21000, 5)  # the second page of the data buffer
        submit(client, [])
    assert written(session.events()) == [
        [(BATCH, PAGE), (DATA, 4 * PAGE)], [], [(DATA + PAGE, PAGE)]]


def test_pages_written_by_the_gpu_are_not_recorded(tmp_path: Path) -> None:
    session = Session(tmp_path / "a.aub")
    with session as client:
        submit(client, [STORE, 0, DATA + 8, 1234])
        submit(client, [STORE, 0, DATA + 8, 1234])
        client.words(0x20008, 99)
        submit(client, [STORE, 0, DATA + 8, 1234])
        assert client.dwords(0x20008, 1) == (1234,)
        submit(client, [STORE, 0, DATA + 8, 1234])
    assert written(session.events())[1:] == [[], [(DATA, PAGE)], []]


@pytest.mark.parametrize("name", ["a.aub.xz", "a.g4c"])
def test_a_replay_has_the_same_memory_after_every_submission(name: str, tmp_path: Path) -> None:
    session = Session(tmp_path / name)
    states = []
    with session as client:
        for i in range(20):
            client.words(0x20000 + 4096 * (i % 4) + 64, i)
            submit(client, [STORE, 0, DATA + 4 * (37 * i % 4096), 1000 + i])
            states.append(client.arena[0x20000:0x20000 + 4 * PAGE])
    with Device(BY_NAME["g45"], Options(workers=1)) as device:
        seen = []
        for event in session.events():
            device.apply(event)
            if isinstance(event, events.Submission):
                seen.append(device.memory.read(DATA, 4 * PAGE, Missing.ZERO))
    assert seen == states


def test_contexts_are_replayed_with_their_state(tmp_path: Path) -> None:
    """Each context has its own PS_DEPTH_COUNT, which PIPE_CONTROL writes to a different address for each context."""
    session = Session(tmp_path / "a.aub")

    def report(place: int) -> list[int]:
        return [0x7A000002 | 2 << 14, DATA + 8 * place | 4, 0, 0]

    with session as client:
        client.context(1)
        client.context(2)
        submit(client, [0x11000001, DEPTH_COUNT, 11, *report(0)], 1)
        submit(client, [*report(1)], 2)
        submit(client, [0x11000001, DEPTH_COUNT, 22, *report(2)], 2)
        submit(client, [*report(3)], 1)
        client.context(1, False)
        client.context(3)
        submit(client, [*report(4)], 3)
        submit(client, [*report(5)], 2)
        live = client.dwords(0x20000, 12)
    assert live[::2] == (11, 0, 22, 11, 0, 22)
    with Device(BY_NAME["g45"], Options(workers=1)) as device:
        for event in session.events():
            device.apply(event)
        assert device.memory.read(DATA, 48) == struct.pack("<12I", *live)


@pytest.mark.parametrize("suffix", ["aub", "g4c"])
@pytest.mark.parametrize("name", ["triangle-g4x", "texture-g4x", "fbo-g4x", "gears-4frames-g4x", "stencil-g4x"])
def test_a_capture_replays_to_the_golden_pictures(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.{suffix}"
    with Server(BY_NAME["gm45"], Options(workers=2)) as server:
        watch_capture(server, path)
        with FakeClient(server.directory, 256 << 20) as client:
            submissions = play(client, open_trace(TRACES / f"{name}.aub.xz"))
    golden = {pixels_digest(load(p)) for p in (TRACES / "golden" / name).glob("*.png")}
    drawn = {pixels_digest(pixels) for _, pixels in draw(Case(name, path, tmp_path))}
    assert golden and golden <= drawn
    run = Replay(open_trace(path))
    for _ in run.frames():
        pass
    assert run.submissions == submissions and not run.warnings and not run.differences
    run.close()


def test_each_open_device_has_its_own_file(tmp_path: Path) -> None:
    session = Session(tmp_path / "a.aub.gz")
    with session as client:
        submit(client, [])
        with FakeClient(session.server.directory, program="second") as other:
            other.bind(BATCH, 0x10000, 0x10000)
            other.words(0x10000, END, 0)
            other.objects((BATCH, 0, PAGE, 0, 0))
            other.run(BATCH)
        with FakeClient(session.server.directory):
            pass  # submits nothing: no file
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a-2.aub.gz", "a.aub.gz"]
    (header, *_) = open_trace(tmp_path / "a-2.aub.gz")
    assert isinstance(header, events.Header) and (header.pci_id, header.application) == (0x2E22, "second")


def test_marks_become_surface_dumps(tmp_path: Path) -> None:
    session = Session(tmp_path / "a.aub")
    with session as client:
        submit(client, [])
        client.send("mark", lib.G4_LIVE_MARK, address=DATA, width=16, height=8, pitch=512, tiling=1,
                    fourcc=int.from_bytes(b"XR24", "little"))
        client.send("mark", lib.G4_LIVE_MARK, address=DATA, width=16, height=8, pitch=512, tiling=1,
                    fourcc=int.from_bytes(b"NV12", "little"))
    last = session.events()[-2:]
    assert isinstance(last[0], events.SurfaceDump) and isinstance(last[1], events.FrameBoundary)
    assert (last[0].address, last[0].width, last[0].height, last[0].pitch_bytes, last[0].tiling, last[0].format) == \
        (DATA, 16, 8, 512, "x", 6)


def test_a_capture_that_cannot_be_written_does_not_affect_the_program(tmp_path: Path,
                                                                  capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(tmp_path / "no" / "such" / "directory" / "a.aub")
    with session as client:
        submit(client, [STORE, 0, DATA, 1])
        submit(client, [STORE, 0, DATA, 2])
        assert client.dwords(0x20000, 1) == (2,)
    assert len(session.server.totals.errors) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_many_submissions_in_bounded_memory(count: int, tmp_path: Path) -> None:
    """Only the file grows with their number, by little more than the changed pages."""
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE

    session = Session(tmp_path / "a.aub.gz")
    with session as client:
        client.words(0x10000, STORE, 0, DATA, 1, END, 0)
        client.objects((BATCH, 0, PAGE, 0, 0), (DATA, WRITTEN, 4 * PAGE, 0, 0))
        client.run(BATCH)
        before, started = resident(), time.perf_counter()
        for i in range(count):
            client.words(0x2100C, i)
            client.objects((BATCH, 0, PAGE, 0, 0), (DATA, WRITTEN, 4 * PAGE, 0, 0))
            client.run(BATCH)
        assert resident() - before < 16 << 20
        assert time.perf_counter() - started < 60
    assert (tmp_path / "a.aub.gz").stat().st_size < count * 200 + 10_000


def test_names_of_further_files() -> None:
    files = CaptureFiles(Path("/x/app.aub.xz"))
    assert [files.next().name for _ in range(3)] == ["app.aub.xz", "app-2.aub.xz", "app-3.aub.xz"]


def test_rings_follow_the_rules_for_mi_set_context() -> None:
    """An MI_NOOP must follow MI_SET_CONTEXT: regression test for an MI_BATCH_BUFFER_START directly after it."""
    contexts = Contexts(BY_NAME["g45"].gen)
    contexts.create(1)
    for context in (0, 1, 0):
        ring = contexts.ring(context, BATCH)
        assert len(ring) % 8 == 0
        decoder = Decoder(BY_NAME["g45"], options=DecodeOptions(lint=True))
        decoder.memory.write(BATCH, struct.pack("<I", END))
        items = list(decoder.submission(events.Submission(0, events.Engine.RENDER, ring, 0x1000)))
        assert [d.rule for item in items if isinstance(item, Command) for d in item.diagnostics] == []
