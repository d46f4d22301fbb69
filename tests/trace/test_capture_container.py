"""The `.g4c` container: round trips, pages stored once, damage limited to the damaged records."""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.errors import TraceError
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace import CaptureWriter, events
from gen4emu.trace.capture import INDEX_MAGIC, MAGIC, PAGE_BYTES, RECORD, Kind, digest, read_index
from gen4emu.trace.events import Engine, MemoryWrite, Space
from gen4emu.trace.source import fast_deflate

TRACES = Path(__file__).parents[2] / "traces"
BATCH, DATA = 0x100000, 0x200000
RING = struct.pack("<2I", 0x18800000, BATCH)
G45 = BY_NAME["g45"]


def page(seed: int) -> bytes:
    return random.Random(seed).randbytes(PAGE_BYTES)


def write(path: Path, frames: int = 3, pages: int = 100) -> None:
    """Write frames, each of which changes one page of many."""
    with CaptureWriter(path, G45, application="test") as writer:
        for frame in range(frames):
            data = b"".join(page(1000 * frame if i == frame else i) for i in range(pages))
            writer.write_memory(DATA, data)
            writer.write_memory(BATCH, struct.pack("<2I", 0x05000000, frame) + bytes(PAGE_BYTES - 8), "batch")
            writer.submit(Engine.RENDER, RING, 0x1000)
            writer.frame_boundary(f"frame {frame}")


def contents(path: Path) -> list[bytes]:
    """The bytes at DATA at each submission."""
    memory, seen = bytearray(1 << 22), []
    for event in trace.open(path):
        if isinstance(event, events.MemoryWrite):
            memory[event.address:event.address + len(event.data)] = event.data
        elif isinstance(event, events.Submission):
            seen.append(bytes(memory[DATA:DATA + 100 * PAGE_BYTES]))
    return seen


def records(path: Path) -> list[tuple[int, Kind, int]]:
    """The records of a file, as (offset, kind, stored bytes)."""
    data, at, found = path.read_bytes(), len(MAGIC), []
    while data[at + 8:at + 16] != INDEX_MAGIC:
        kind, _, size, _, _ = RECORD.unpack_from(data, at)
        found.append((at, Kind(kind), size))
        at += RECORD.size + size
    return found


def test_events_survive_a_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    dump = events.SurfaceDump(0, DATA, 1, 2, 640, 480, 4, 2560, 7, "x")
    with CaptureWriter(path, G45, application="program") as writer:
        writer.write_memory(DATA, page(1) + bytes(PAGE_BYTES) + page(1))
        writer.write_memory(DATA + 100, b"unaligned", "user")
        writer.write_memory(0xF_0000_0010, b"physical", space=Space.PHYSICAL)
        writer.write_register(events.RegisterWrite(0, 0x2040, 5))
        writer.write_gtt(events.GttWrite(0, 7, (1, 2, 3), 8))
        writer.comment("hello")
        writer.submit(Engine.BSD, RING, 0x1000)
        writer.expect(DATA, PAGE_BYTES, digest(page(1)))
        writer.dump_surface(dump)
        writer.frame_boundary("note")
    opened = trace.open(path)
    assert opened.kind == "capture" and opened.frame_count() == 2
    header, *found = list(opened)
    assert isinstance(header, events.Header) and (header.pci_id, header.application) == (0x2E22, "program")
    start = [getattr(e, "offset") for e in found]  # noqa: B009 - every event has it
    assert start == sorted(start)
    assert [type(e).__name__ for e in found] == [
        "MemoryWrite", "MemoryWrite", "MemoryWrite", "RegisterWrite", "GttWrite", "Comment", "Submission",
        "ExpectedMemory", "SurfaceDump", "FrameBoundary"]
    whole, part, physical, register, table, comment, submission, expected, picture, frame = found
    assert (whole.address, bytes(whole.data)) == (DATA, page(1) + bytes(PAGE_BYTES) + page(1))
    assert (part.address, bytes(part.data), part.kind) == (DATA + 100, b"unaligned", "user")
    assert (physical.address, bytes(physical.data), physical.space) == (0xF_0000_0010, b"physical", Space.PHYSICAL)
    assert (register.register, register.value) == (0x2040, 5)
    assert (table.first, table.entries, table.entry_bytes) == (7, (1, 2, 3), 8)
    assert (comment.text, frame.note) == ("hello", "note")
    assert (submission.engine, submission.ring, submission.ring_address) == (Engine.BSD, RING, 0x1000)
    assert (expected.address, expected.size, expected.digest) == (DATA, PAGE_BYTES, digest(page(1)))
    assert {n: getattr(picture, n) for n in ("address", "x", "y", "width", "height", "pitch_bytes", "format", "tiling",
                                             "bytes_per_pixel")} == \
        {n: getattr(dump, n) for n in ("address", "x", "y", "width", "height", "pitch_bytes", "format", "tiling",
                                       "bytes_per_pixel")}


def test_a_changed_page_costs_one_page(tmp_path: Path) -> None:
    """Three frames, the second of which changes one of 100 pages: less than 5 KiB and the list of pages."""
    one, two = tmp_path / "1.g4c", tmp_path / "2.g4c"
    write(one, 1)
    write(two, 2)
    grown = two.stat().st_size - one.stat().st_size
    assert grown < 2 * 5 * 1024  # two pages differ: frame 0's own, and frame 1's


def test_memory_at_every_submission(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    write(path)
    for frame, data in enumerate(contents(path)):
        for i in (0, 1, 2, 50, 99):
            expected = page(1000 * frame if i == frame else i)
            assert data[i * PAGE_BYTES:(i + 1) * PAGE_BYTES] == expected


def test_the_index_lists_submissions_and_frames(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    write(path)
    with path.open("rb") as file:
        index = read_index(file)
    kinds = {at: kind for at, kind, _ in records(path)}
    assert index is not None
    assert [[kinds[at] for at in part] for part in index] == [[Kind.SUBMISSION] * 3, [Kind.FRAME] * 3]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_valid_up_to_the_cut(share: float, tmp_path: Path) -> None:
    path, cut = tmp_path / "a.g4c", tmp_path / "cut.g4c"
    write(path)
    cut.write_bytes(path.read_bytes()[:int(share * path.stat().st_size)])
    opened = trace.open(cut)
    assert opened.frame_count() is None
    found = list(opened)
    assert contents(cut) == contents(path)[:len(contents(cut))]
    assert isinstance(found[-1], events.Warning) or share == 0.999
    trace.convert(cut, tmp_path / "repaired.g4c", partial=True)
    assert contents(tmp_path / "repaired.g4c") == contents(cut)


def test_a_damaged_record_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    write(path)
    data = bytearray(path.read_bytes())
    at = next(at for at, kind, _ in records(path) if kind is Kind.SUBMISSION)
    data[at + RECORD.size] ^= 1
    path.write_bytes(data)
    warnings = [e for e in trace.open(path) if isinstance(e, events.Warning)]
    assert [w.offset for w in warnings] == [at] and "checksum" in warnings[0].text
    assert len(contents(path)) == 2


def test_lost_pages_do_not_renumber_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    write(path)
    whole = contents(path)
    data = bytearray(path.read_bytes())
    at = next(at for at, kind, _ in records(path) if kind is Kind.PAGES)
    data[at + RECORD.size] ^= 1
    path.write_bytes(data)
    assert any(isinstance(e, events.Warning) for e in trace.open(path))
    damaged = contents(path)
    assert len(damaged) == len(whole) == 3
    assert damaged[0] == bytes(64 * PAGE_BYTES) + whole[0][64 * PAGE_BYTES:]
    assert damaged[2] == bytes(PAGE_BYTES) + page(1000) + page(2000) + bytes(61 * PAGE_BYTES) \
        + whole[2][64 * PAGE_BYTES:]


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    path.write_bytes(b"G4CAP\0\2\n" + bytes(64))
    with pytest.raises(TraceError, match="version"):
        list(trace.open(path))


@pytest.mark.parametrize("suffix", ["g4c", "g4c.gz"])
def test_conversion_to_a_capture_and_back_keeps_memory(suffix: str, tmp_path: Path) -> None:
    """Every submission sees the same memory in the AUB file, the capture and the converted capture."""
    source = TRACES / "gears-4frames-g4x.aub.xz"
    there, back = tmp_path / f"a.{suffix}", tmp_path / "b.aub"
    trace.convert(source, there)
    trace.convert(there, back)

    def targets(path: Path) -> list[bytes]:
        run, out = Replay(trace.open(path), options=Options(workers=1)), []
        for frame in run.frames():
            assert run.device is not None
            out += [digest(run.device.memory.read(t.address, t.pitch * t.height)) for t in frame.targets]
        run.close()
        return out

    assert targets(there) == targets(source) == targets(back)


def test_a_replay_reports_unexpected_memory_contents(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    store = struct.pack("<6I", 0x10400002, 0, DATA, 1234, 0x05000000, 0)
    with CaptureWriter(path, G45) as writer:
        writer.write_memory(BATCH, store + bytes(PAGE_BYTES - len(store)))
        writer.write_memory(DATA, bytes(PAGE_BYTES))
        writer.submit(Engine.RENDER, RING, 0x1000)
        writer.expect(DATA, PAGE_BYTES, digest(struct.pack("<I", 1234) + bytes(PAGE_BYTES - 4)))
        writer.expect(DATA, PAGE_BYTES, digest(bytes(PAGE_BYTES)))
    run = Replay(trace.open(path), options=Options(workers=1))
    for _ in run.frames():
        pass
    run.close()
    assert run.differences == 1
    assert run.warnings == ["submission 0: 4096 bytes at 0x00200000 differ from the memory of the capture"]


def test_no_damage_crashes_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.g4c"
    write(path, frames=2, pages=4)
    whole, rng = path.read_bytes(), random.Random(3)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(rng.choice((1, 4, 30))):
            data[rng.randrange(len(MAGIC), len(data))] = rng.randrange(256)
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)):]
        try:
            for event in trace.open_bytes(bytes(data)):
                assert event is not None
        except TraceError:
            pass
        path.write_bytes(data)
        with path.open("rb") as file:
            read_index(file)


@pytest.mark.parametrize("installed", [True, False])
def test_captures_are_valid_with_and_without_isal(installed: bool, tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    if not installed:
        monkeypatch.setitem(sys.modules, "isal", None)
    fast_deflate.cache_clear()
    path = tmp_path / "a.g4c"
    with CaptureWriter(path, G45) as writer:
        writer.write_memory(DATA, bytes(range(256)) * 32)
        writer.submit(Engine.RENDER, RING, 0x1000)
    assert path.stat().st_size < PAGE_BYTES
    fast_deflate.cache_clear()
    written = [e for e in trace.open(path) if isinstance(e, MemoryWrite)]
    assert b"".join(bytes(e.data) for e in written) == bytes(range(256)) * 32
