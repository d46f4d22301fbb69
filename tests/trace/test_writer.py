"""The AUB writer, and conversion."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gen4emu import trace
from gen4emu.errors import FieldError, TraceError
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace import AubWriter, Dedup
from gen4emu.trace.aub import KINDS
from gen4emu.trace.events import (
    Comment,
    Engine,
    ErrorState,
    Event,
    FrameBoundary,
    GttWrite,
    Header,
    MemoryWrite,
    RegisterWrite,
    Space,
    Submission,
    SurfaceDump,
)
from tests.trace.trace_files import ERROR_STATES, HEXDUMP, aub, block, dwords, everything, header, memory_write, run

GM45 = BY_NAME["gm45"]
TRACES = Path(__file__).parents[2] / "traces"
PAGE = 4096


def plain(event: Event) -> Event:
    """An event without its offset."""
    values = {name: getattr(event, name) for name in event.__dataclass_fields__}
    values["offset"] = 0
    return type(event)(**values)


def written(path: Path) -> list[Event]:
    return [plain(event) for event in trace.open(path, strict=True)]


def memory_of(path: Path) -> list[dict[int, int]]:
    """The memory of a reader at each submission."""
    memory: dict[int, int] = {}
    states = []
    for event in trace.open(path):
        if isinstance(event, MemoryWrite):
            memory.update(enumerate(bytes(event.data), event.address))
        elif isinstance(event, Submission):
            states.append(dict(memory))
    return states


# --- bytes ------------------------------------------------------------------------------------------------------------
def test_bytes_of_header_ring_and_data(tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    with AubWriter(path, GM45, application="glxgears") as writer:
        writer.write_memory(0x10000, b"abcdefgh", "batch")
        writer.submit(Engine.RENDER, dwords(0x18800000, 0x10000), 0x1000)
    assert path.read_bytes() == header() + block(b"abcdefgh", 0x10000, kind=1) + run(0x10000)


def test_every_event_survives(tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    dump = SurfaceDump(0, 0x200000, 16, 32, 200, 100, 4, 1024, 7, "x")
    with AubWriter(path, GM45) as writer:
        writer.write_memory(0x1000, b"odd", "surface_state")
        writer.write_memory(0x123456789, b"far", space=Space.PHYSICAL)
        writer.write_gtt(GttWrite(0, 5, (0x1003, 0x2003)))
        writer.write_gtt(GttWrite(0, 5, (0x100001003,), 8))
        writer.write_register(RegisterWrite(0, 0x2080, 0x1FFFF000))
        writer.submit(Engine.BSD, dwords(0, 0x18800000, 0x2000, 0), 0x7000)
        writer.submit(Engine.BLT, dwords(0), 0x8000)
        writer.dump_surface(dump)
        writer.comment("grüße")
        writer.frame_boundary()
        writer.frame_boundary("swap 7")
    assert written(path) == [
        Header(0, 0x2A42, "", "PCI-ID=0x2a42"), MemoryWrite(0, 0x1000, b"odd", kind="surface_state"),
        MemoryWrite(0, 0x123456789, b"far", Space.PHYSICAL), GttWrite(0, 5, (0x1003, 0x2003)),
        GttWrite(0, 5, (0x100001003,), 8), RegisterWrite(0, 0x2080, 0x1FFFF000),
        Submission(0, Engine.BSD, dwords(0, 0x18800000, 0x2000, 0), 0x7000),
        Submission(0, Engine.BLT, dwords(0), 0x8000),
        dump, Comment(0, "grüße"), FrameBoundary(0), FrameBoundary(0, "swap 7")]


@pytest.mark.parametrize("kind", sorted(set(KINDS.values())))
def test_every_kind_survives(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    with AubWriter(path, GM45) as writer:
        writer.write_memory(0, b"abcd", kind)
    assert written(path)[1] == MemoryWrite(0, 0, b"abcd", kind=kind)


def test_blocks_hold_32_kib_at_most(tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    with AubWriter(path, GM45) as writer:
        writer.write_memory(0x10000, os.urandom(70000))
    assert [len(e.data) for e in written(path) if isinstance(e, MemoryWrite)] == [32768, 32768, 4464]


@pytest.mark.parametrize(("address", "size"), [(-1, 1), (0xFFFFFFFF, 2), (1 << 32, 0)])
def test_addresses_too_large_for_a_block_are_refused(address: int, size: int, tmp_path: Path) -> None:
    with pytest.raises(FieldError), AubWriter(tmp_path / "x.aub", GM45) as writer:
        writer.write_memory(address, bytes(size))
    assert list(tmp_path.iterdir()) == []


# --- repetitions ------------------------------------------------------------------------------------------------------
def test_page_that_the_reader_holds_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    pages = bytearray(os.urandom(100 * PAGE))
    with AubWriter(path, GM45) as writer:
        writer.write_memory(0x100000, pages)
        writer.submit(Engine.RENDER, dwords(0), 0)
        pages[50 * PAGE + 7] ^= 1
        writer.write_memory(0x100000, pages)
    found = [e for e in written(path) if isinstance(e, MemoryWrite)][13:]
    assert [(e.address, bytes(e.data)) for e in found] == [(0x100000 + 50 * PAGE, bytes(pages[50 * PAGE:51 * PAGE]))]


def test_a_known_part_of_a_page_does_not_cover_the_page(tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    with AubWriter(path, GM45) as writer:
        for data in (b"aaaa", b"aaaa", b"bb", b"aaaa", b"aaaa"):
            writer.write_memory(0x1010, data)
        writer.write_memory(0x1014, b"cccc")
        writer.write_memory(0x1010, b"aaaa")
        writer.write_memory(0x1014, b"cccc")
    assert [bytes(e.data) for e in written(path) if isinstance(e, MemoryWrite)] == [b"aaaa", b"bb", b"aaaa", b"cccc"]


def test_pages_written_by_the_gpu_are_written_again(tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    with AubWriter(path, GM45) as writer:
        for gpu in ((), (0x2FFF, 1), (0, 1 << 32)):
            if gpu:
                writer.gpu_wrote(*gpu)
            writer.write_memory(0x1000, bytes(3 * PAGE))
    assert [(e.address, len(e.data)) for e in written(path) if isinstance(e, MemoryWrite)] == [
        (0x1000, 3 * PAGE), (0x2000, PAGE), (0x1000, 3 * PAGE)]


@pytest.mark.parametrize(("dedup", "count"), [(Dedup.TRACE, 1), (Dedup.SUBMISSION, 2), (Dedup.NONE, 4)])
def test_dedup_limits_how_long_a_page_is_known(dedup: Dedup, count: int, tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    with AubWriter(path, GM45, dedup=dedup) as writer:
        for _ in range(2):
            writer.write_memory(0, bytes(PAGE))
            writer.write_memory(0, bytes(PAGE))
            writer.submit(Engine.RENDER, dwords(0), 0)
    assert len([e for e in written(path) if isinstance(e, MemoryWrite)]) == count


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 3 * PAGE), st.integers(0, 2), st.integers(0, 2 * PAGE)), max_size=20))
def test_memory_is_the_same_with_and_without_repetitions(tmp_path_factory: pytest.TempPathFactory,
                                                         writes: list[tuple[int, int, int]]) -> None:
    folder = tmp_path_factory.mktemp("dedup")
    for dedup in (Dedup.TRACE, Dedup.NONE):
        with AubWriter(folder / dedup.value, GM45, dedup=dedup) as writer:
            for address, value, size in writes:
                writer.write_memory(address, bytes([value]) * size)
                writer.submit(Engine.RENDER, dwords(0), 0x100000)
    assert memory_of(folder / "trace") == memory_of(folder / "none")


# --- files ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("suffix", "compression"), [("", ""), (".xz", "xz"), (".gz", "gzip"), (".zst", "zstd")])
def test_suffix_selects_the_compression(suffix: str, compression: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.aub{suffix}"
    trace.convert(TRACES / "triangle-g4x.aub.xz", path)
    assert trace.open(path).compression == compression
    assert written(path) == [plain(e) for e in trace.open(TRACES / "triangle-g4x.aub.xz")]


def test_equal_events_give_equal_files(tmp_path: Path) -> None:
    for suffix in ("", ".xz", ".gz", ".zst"):
        paths = [tmp_path / f"{name}.aub{suffix}" for name in "ab"]
        for path in paths:
            trace.convert(TRACES / "clear-g4x.aub.xz", path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), AubWriter(path, GM45) as writer:
        writer.write_memory(0, bytes(PAGE))
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.aub"]


def test_new_file_has_default_permissions_and_links_are_kept(tmp_path: Path) -> None:
    link = tmp_path / "link.aub"
    link.symlink_to("real.aub")
    with AubWriter(link, GM45):
        assert not (tmp_path / "real.aub").exists()
    assert link.is_symlink()
    mask = os.umask(0o022)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "real.aub").stat().st_mode) == 0o666 & ~mask


def test_devices_are_written_in_place() -> None:
    with AubWriter("/dev/null", GM45) as writer:
        writer.comment("gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with AubWriter("-", GM45, application="glxgears"):
        pass
    assert capfdbinary.readouterr().out == header()


def test_unwritable_directory_is_a_trace_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"absent/x\.aub: cannot be written: No such file or directory"):
        AubWriter(tmp_path / "absent" / "x.aub", GM45)
    with pytest.raises(TraceError, match="cannot be written: No space left on device"), \
            AubWriter("/dev/full", GM45) as writer:
        writer.write_memory(0, bytes(1 << 20))


def test_missing_zstd_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(TraceError, match=r"zstd needs the package backports.zstd: pip install"):
        AubWriter(tmp_path / "x.aub.zst", GM45)
    assert list(tmp_path.iterdir()) == []


# --- conversion -------------------------------------------------------------------------------------------------------
def test_aub_survives_conversion(tmp_path: Path) -> None:
    source = tmp_path / "a.aub"
    source.write_bytes(aub())
    done = trace.convert(source, tmp_path / "b.aub")
    assert (done.submissions, done.bytes_read, done.warnings) == (1, 116, ())
    assert written(tmp_path / "b.aub") == written(source)


def test_conversion_runs_each_submission_once(tmp_path: Path) -> None:
    for name in ("registers", "execlist", "raw", "hexdump"):
        source = tmp_path / name
        source.write_bytes(everything()[name])
        trace.convert(source, tmp_path / "b.aub", device="gm45")
        runs = [[(e.engine, e.ring, e.ring_address) for e in trace.open(path) if isinstance(e, Submission)]
                for path in (source, tmp_path / "b.aub")]
        assert len(runs[0]) == 1
        assert runs[0] == runs[1]


@pytest.mark.parametrize("variant", ERROR_STATES)
def test_error_state_becomes_an_aub_file(variant: str, tmp_path: Path) -> None:
    source = tmp_path / "error"
    source.write_text(ERROR_STATES[variant])
    trace.convert(source, tmp_path / "error.aub")
    assert memory_of(tmp_path / "error.aub") == memory_of(source)
    found = written(tmp_path / "error.aub")
    texts = {e.text for e in found if isinstance(e, Comment)}
    assert "the render engine hung at 0x00100004" in texts
    assert "render.IPEHR: 0x02000000" in texts
    assert not any(isinstance(e, ErrorState) for e in found)


def test_conversion_without_a_device_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "dump.txt"
    source.write_text(HEXDUMP)
    with pytest.raises(TraceError, match="does not say which device it is for"):
        trace.convert(source, tmp_path / "b.aub")
    assert [p.name for p in tmp_path.iterdir()] == ["dump.txt"]


def test_corrupt_source_leaves_no_file(tmp_path: Path) -> None:
    source = tmp_path / "a.aub"
    source.write_bytes(aub() + dwords(0x12345678))
    with pytest.raises(TraceError, match="is not the header of an AUB packet"):
        trace.convert(source, tmp_path / "b.aub")
    assert [p.name for p in tmp_path.iterdir()] == ["a.aub"]


def test_rewritten_target_survives_conversion(tmp_path: Path) -> None:
    """A buffer cleared before each run is cleared in the copy, too, although the GPU draws into it in between."""
    source = tmp_path / "a.aub"
    source.write_bytes(header() + (block(bytes(PAGE), 0x10000) + run(0x20000)) * 2)
    trace.convert(source, tmp_path / "b.aub")
    assert [type(e) for e in written(tmp_path / "b.aub")] == [Header, MemoryWrite, Submission, MemoryWrite, Submission]


def test_physical_writes_invalidate_known_pages(tmp_path: Path) -> None:
    source = tmp_path / "a.aub"
    source.write_bytes(header() + block(bytes(PAGE), 0x10000) + memory_write(0x5000, b"abcd", space=2)
                       + block(bytes(PAGE), 0x10000))
    trace.convert(source, tmp_path / "b.aub")
    assert len([e for e in written(tmp_path / "b.aub") if isinstance(e, MemoryWrite)]) == 3
