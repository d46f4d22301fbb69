"""Checkpoints: an execution from any of them ends like one from the start of the trace."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gen4emu.core_enums import HierarchicalDepthMode
from gen4emu.device.checkpoints import Spare, restore, take
from gen4emu.device.device import Device
from gen4emu.device.memory import PAGE_SIZE, Memory, Missing, PageFlags
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.device.timeline import Bookmark, Bookmarks, Timeline
from gen4emu.errors import HangError, SelectionError
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace.events import Engine, Submission
from gen4emu.trace.reader import Trace
from gen4emu.trace.reader import open as open_trace
from tests.harness.commands import endless_batch
from tests.harness.device_contents import everything
from tests.harness.joined import join, join_submissions

TRACES = Path(__file__).parents[2] / "traces"
LATER = ("ivb", "byt", "hsw", "skl", "kbl")  # the last one with page tables of contexts
ALL = sorted(TRACES.glob("*.aub.xz")) + [TRACES / "later" / f"triangle-{chip}.aub.xz" for chip in LATER]
MANY_SUBMISSIONS = TRACES / "mpeg2-g4x.aub.xz"
SCENES = ("fbo", "gears", "texture", "stencil", "blend", "cubemap")
SEVERAL_DRAWS = TRACES / "gears-4frames-g4x.aub.xz"


def opened(path: Path) -> Trace:
    return open_trace(str(path))


def some(bookmarks: Sequence[Bookmark], workers: int) -> Sequence[Bookmark]:
    """All of few bookmarks; of many every second one: the others are for the other number of workers."""
    return bookmarks if len(bookmarks) <= 10 else bookmarks[workers - 1::2]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.partition(".")[0])
def test_the_end_is_the_same_from_every_checkpoint(path: Path, workers: int) -> None:
    with opened(path) as trace, Timeline(trace, options=Options(workers=workers), interval=0) as timeline:
        straight = everything(timeline.finish())
        assert timeline.bookmarks
        for bookmark in some(timeline.bookmarks, workers):
            assert everything(timeline.execute_from(bookmark)) == straight


@pytest.mark.parametrize("mode", [HierarchicalDepthMode.ON, HierarchicalDepthMode.STRICT])
@pytest.mark.parametrize("chip", ["ivb", "hsw", "kbl"])
def test_hierarchical_depth_is_a_part_of_checkpoints(chip: str, mode: HierarchicalDepthMode) -> None:
    path = TRACES / "later" / f"triangle-{chip}.aub.xz"
    with opened(path) as trace, Timeline(trace, options=Options(hierarchical_depth=mode), interval=0) as timeline:
        straight = everything(timeline.finish())
        assert timeline.bookmarks and any(straight["hierarchical depth"].values())
        for bookmark in timeline.bookmarks:
            assert everything(timeline.execute_from(bookmark)) == straight


def test_a_checkpoint_of_a_restored_device_is_the_checkpoint() -> None:
    with opened(MANY_SUBMISSIONS) as trace, Timeline(trace, interval=0) as timeline:
        timeline.finish()
        for bookmark in timeline.bookmarks:
            device, before = restore(bookmark.checkpoint)
            with device:
                again = take(device, before)
                assert again is not None
                assert again.state == bookmark.checkpoint.state
                assert again.memory.pages == bookmark.checkpoint.memory.pages
                assert again.memory.gtt == bookmark.checkpoint.memory.gtt
                assert again.memory.missed == bookmark.checkpoint.memory.missed
                assert again.memory.new_bytes == 0


def test_memory_of_a_device_that_is_gone_can_be_used_again() -> None:
    with Device(BY_NAME["g45"]) as device:
        device.memory.write(0x10000, bytes(range(256)) * 32)
        device.memory.set_gtt(7, [0x12345001])
        first = take(device)
        device.memory.write(0x11000, b"other")
        second = take(device, first)
    assert first is not None and second is not None
    device, before = restore(second)
    device.memory.write(0x10004, b"changed")
    spare = Spare(device.release(), device.page_tables, before.memory)
    restored, again = restore(first, spare)
    with restored:
        assert restored.memory is spare.memory
        assert memory_pages(restored) == first.memory.pages
        unchanged = take(restored, again)
        assert unchanged is not None
        assert (unchanged.memory.new_bytes, unchanged.memory.written) == (0, frozenset())


@pytest.mark.parametrize("change", [
    lambda memory: memory.write(0x20000, b"a page that the checkpoint has not"),
    lambda memory: memory.read(0x30000, 4, Missing.REPORT),
    lambda memory: memory.set_gtt(9, [0x12345001]),
], ids=["pages", "missed", "page table"])
def test_memory_with_more_than_the_checkpoint_has_is_not_used_again(change: Callable[[Memory], object]) -> None:
    with Device(BY_NAME["g45"]) as device:
        device.memory.write(0x10000, b"first")
        checkpoint = take(device)
    assert checkpoint is not None
    device, before = restore(checkpoint)
    change(device.memory)
    spare = Spare(device.release(), device.page_tables, before.memory)
    restored, _ = restore(checkpoint, spare)
    with restored:
        assert restored.memory is not spare.memory
        assert memory_pages(restored) == checkpoint.memory.pages
        assert restored.memory.missed() == [] and restored.memory.gtt() == b""
    with pytest.raises(ValueError, match="closed"):
        spare.memory.read(0x10000, 4)


def memory_pages(device: Device) -> dict[int, bytes]:
    numbers = device.memory.owned_pages()
    return dict(zip(numbers.tolist(), device.memory.copy_pages(numbers), strict=True))


def test_checkpoints_share_pages_that_did_not_change() -> None:
    with Device(BY_NAME["g45"]) as device:
        device.memory.write(0x10000, bytes(range(256)) * 32)
        first = take(device)
        device.memory.write(0x11000, b"other")
        second = take(device, first)
    assert first is not None
    assert second is not None
    assert second.memory.new_bytes == 4096
    assert second.memory.pages[0x10] is first.memory.pages[0x10]
    assert first.memory.pages[0x11][:5] == bytes(range(5))
    assert second.memory.pages[0x11][:5] == b"other"


def test_a_checkpoint_keeps_missed_pages_and_faults() -> None:
    with Device(BY_NAME["g45"]) as device:
        device.memory.read(0x5000, 4, Missing.REPORT)
        checkpoint = take(device)
        faults = device.faults
    assert checkpoint is not None
    restored, _ = restore(checkpoint)
    with restored:
        assert PageFlags.MISSED_READ in restored.memory.page_flags(0x5000)
        assert restored.faults == faults


def test_an_engine_that_had_run_nothing_at_a_checkpoint_has_its_initial_state_again() -> None:
    with Device(BY_NAME["ivb"]) as device:
        state, initial = device.save(), device.streamers[Engine.BLT].save()
        assert state is not None and list(state.streamers) == [Engine.RENDER]
        device.memory.write(0x10000, struct.pack("<III", 0x0F000000, 0, 0x05000000))  # unknown, then the end
        device.run_batch(0x10000, Engine.BLT)
        assert device.findings.count and device.streamers[Engine.BLT].save() != initial
        device.load(state)
        assert not device.findings.count and device.streamers[Engine.BLT].save() == initial


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 1000])
def test_all_missed_pages_are_kept(count: int) -> None:
    with Device(BY_NAME["g45"]) as device:
        for page in range(count):
            device.memory.read(0x1000 * (2 * page + 5), 4, Missing.REPORT)
        checkpoint = take(device)
    assert checkpoint is not None
    assert [page for page, _ in checkpoint.memory.missed] == [2 * page + 5 for page in range(count)]


def test_the_page_table_is_kept_up_to_its_last_entry() -> None:
    with Device(BY_NAME["g45"]) as device:
        assert device.memory.gtt() == b""
        device.memory.set_gtt(7, [0x12345001])
        checkpoint = take(device)
    assert checkpoint is not None
    assert checkpoint.memory.gtt == bytes(28) + struct.pack("<I", 0x12345001)
    with restore(checkpoint)[0] as restored:
        assert restored.memory.gtt_entry(7) == 0x12345001
        assert restored.memory.gtt_entry(6) == restored.memory.gtt_entry(8) == 0


def test_there_is_no_checkpoint_of_external_memory() -> None:
    shared = mmap.mmap(-1, 4096)
    with Device(BY_NAME["g45"]) as device:
        assert take(device) is not None
        device.memory.map_external(0x10000, shared)
        assert take(device) is None
        device.memory.unmap_external(0x10000, 4096)
        assert take(device) is not None
    shared.close()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("chip", "suffix"), [("g45", "g4x"), ("965gm", "brw")])
def test_checkpoints_between_frames_of_several_programs(tmp_path: Path, chip: str, suffix: str, workers: int) -> None:
    path = join(tmp_path / "joined.g4c", *(f"{scene}-{suffix}" for scene in SCENES), chip=chip)
    with open_trace(path) as trace, Timeline(trace, options=Options(workers=workers), interval=0) as timeline:
        straight = everything(timeline.finish())
        assert sum(not bookmark.is_inside for bookmark in timeline.bookmarks) == len(SCENES)
        inside = [bookmark for bookmark in timeline.bookmarks if bookmark.is_inside]
        assert len(inside) > len(SCENES)
        between = [bookmark for bookmark in timeline.bookmarks if not bookmark.is_inside]
        for bookmark in (*between, *inside[workers - 1::2]):
            assert everything(timeline.execute_from(bookmark)) == straight


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> str:
    return join(tmp_path_factory.mktemp("traces") / "joined.g4c", *(f"{scene}-g4x" for scene in SCENES))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_submission_of_many_draws_has_checkpoints_inside(tmp_path: Path, workers: int) -> None:
    path = join_submissions(tmp_path / "long.g4c", "gears-g4x", 20)
    with open_trace(path) as trace, Timeline(trace, options=Options(workers=workers), interval=0) as timeline:
        straight = everything(timeline.finish())
        inside = [bookmark for bookmark in timeline.bookmarks if bookmark.is_inside]
        assert straight["place"].submission == 1
        assert len(inside) == straight["numbers"][0] == 120
        for bookmark in inside[::7]:
            assert everything(timeline.execute_from(bookmark)) == straight


# XY_SRC_COPY_BLT of one pixel; the second copies the last dword of the batch to dword 28
_BLIT = 0x54F00006, 0x03CC0080, 0, 0x00010001, 0x8000, 0, 0x80, 0x9000
_BLIT_END = 0x54F00006, 0x03CC0080, 0, 0x00010001, 0x100000 + 4 * 28, 0, 0x80, 0x100000 + 4 * 41


@pytest.mark.parametrize(("change", "draws"), [
    ((0x10400002, 0, 0x100000 + 4 * 28, 0x05000000, 0, 0, 0, 0), 2),  # MI_STORE_DATA_IMM: the batch is read again
    (_BLIT_END, 4),  # drawing comes too late for dwords that were fetched
], ids=["store", "blit"])
def test_a_batch_that_changes_itself_has_checkpoints(tmp_path: Path, change: tuple[int, ...], draws: int) -> None:
    path = tmp_path / "changes.bin"
    words = (*_BLIT, *change, *_BLIT, *(0,) * 4, *(0,) * 4, *_BLIT, 0x05000000, 0x05000000)
    path.write_bytes(struct.pack(f"<{len(words)}I", *words))
    with open_trace(path, kind="raw", device="g45", base=0x100000) as trace, Timeline(
            trace, BY_NAME["g45"], interval=0) as timeline:
        straight = everything(timeline.finish())
        assert straight["numbers"][0] == draws
        assert len(timeline.bookmarks) == draws + 1
        for bookmark in timeline.bookmarks:
            assert everything(timeline.execute_from(bookmark)) == straight


@pytest.mark.parametrize("in_batch", [False, True])
def test_draws_of_a_ring_and_of_second_level_batches_have_checkpoints(in_batch: bool) -> None:
    noted: list[Any] = []
    with Device(BY_NAME["hsw"]) as device:
        device.memory.write(0x20000, struct.pack("<9I", *_BLIT, 0x05000000))
        call = 0x18C00000, 0x20000  # MI_BATCH_BUFFER_START, second level
        first = (*call, *_BLIT, *call, 0x05000000) if in_batch else (*_BLIT, 0x05000000)
        device.memory.write(0x10000, struct.pack(f"<{len(first)}I", *first))
        device.notify_at_rest(lambda: noted.append(take(device, None)))
        ring = *_BLIT, 0x18800000, 0x10000, *_BLIT, 0, 0
        device.submit(Submission(0, Engine.BLT, struct.pack(f"<{len(ring)}I", *ring), 0x30000))
        straight = everything(device)
    assert straight["numbers"][0] == len(noted) == (5 if in_batch else 3)
    for checkpoint in noted:
        assert checkpoint.state.is_inside
        restored, _ = restore(checkpoint)
        with restored:
            restored.resume()
            assert everything(restored) == straight


_EXPECTED: dict[int, dict[str, Any]] = {}


def expected_at(path: str, draw: int) -> dict[str, Any]:
    """The state after a draw of a straight replay."""
    if draw not in _EXPECTED:
        with open_trace(path) as trace, Timeline(trace, interval=1e9) as timeline:
            _EXPECTED[draw] = everything(timeline.goto(draw).device)
    return _EXPECTED[draw]


@settings(max_examples=10, deadline=None)
@given(order=st.lists(st.integers(0, 14), min_size=1, max_size=8))
@example(order=[5, 6, 10])  # a checkpoint inside a submission, taken after another one of it
def test_draws_are_the_same_in_any_order(joined: str, order: list[int]) -> None:
    with open_trace(joined) as trace, Timeline(trace, interval=0) as timeline:
        for draw in order:
            assert everything(timeline.goto(draw).device) == expected_at(joined, draw)


def test_hooks_are_attached_behind_the_last_checkpoint_before_the_draw() -> None:
    attached: list[int] = []
    with opened(MANY_SUBMISSIONS) as trace, Timeline(trace, interval=0) as timeline:
        last = timeline.finish().numbers.total - 1
        timeline.goto(last, lambda device: attached.append(device.numbers.total))
        timeline.goto(0, lambda device: attached.append(device.numbers.total))
    assert attached[0] > 0
    assert attached[1] == 0


def test_a_draw_that_does_not_exist_is_an_error() -> None:
    missing = pytest.raises(SelectionError, match="no draw 999")
    with opened(SEVERAL_DRAWS) as trace, Timeline(trace) as timeline, missing:
        timeline.goto(999)


def test_hooks_see_a_hang(tmp_path: Path) -> None:
    path = tmp_path / "endless.bin"
    path.write_bytes(endless_batch())
    attached: list[Device] = []
    with open_trace(path, kind="raw", device="g45") as trace, Timeline(trace, BY_NAME["g45"]) as timeline:
        with pytest.raises(HangError):
            timeline.goto(0, attached.append)
        assert len(attached) == 1


def test_few_bookmarks_are_spread_over_the_whole_trace(tmp_path: Path) -> None:
    path = join_submissions(tmp_path / "long.g4c", "gears-4frames-g4x", 8)  # 168 draws
    with opened(Path(path)) as trace, Timeline(trace, interval=0, most=24) as timeline:
        timeline.finish()
        draws = [bookmark.checkpoint.draws for bookmark in timeline.bookmarks]
        assert len(draws) == 24
        assert max(b - a for a, b in pairwise([0, *draws, 168])) <= 28, "four times the even distance"
        timeline.goto(20)
        near = [draw for draw in (bookmark.checkpoint.draws for bookmark in timeline.bookmarks) if 12 <= draw <= 21]
        assert len(near) >= 4, "where the execution is, they are close"


@pytest.mark.parametrize("most", [100, 4, 2])
def test_bookmarks_know_how_much_they_hold(joined: str, most: int) -> None:
    bookmarks = Bookmarks(0, most)
    with open_trace(joined) as trace:
        run = Replay(trace, on_rest=lambda: bookmarks.pass_by(run))
        for _ in run.frames():
            pages = {id(data): len(data) for bookmark in bookmarks
                     for data in bookmark.checkpoint.memory.pages.values()}
            assert bookmarks.held_bytes == sum(pages.values()) > 0
        run.close()
    assert 0 < len(list(bookmarks)) <= most


def test_too_many_checkpoints_are_thinned() -> None:
    with opened(MANY_SUBMISSIONS) as trace, Timeline(trace, interval=0, most=2) as timeline:
        straight = everything(timeline.finish())
        assert 0 < len(timeline.bookmarks) <= 2
        assert everything(timeline.execute_from(timeline.bookmarks[0])) == straight


# --- page tables ------------------------------------------------------------------------------------------------------
ROOT = 0x1000  # physical addresses of the tables of a context
FIRST = 0x7F_0000_0000  # graphics address of the first page


def map_pages(device: Device, *physical: int) -> None:
    """Let the pages from FIRST on be physical pages, by four levels of tables."""
    memory = device.memory
    for level in (3, 2, 1):
        at = ROOT + 0x1000 * (3 - level)
        memory.write_physical(at + 8 * (FIRST >> 12 + 9 * level & 511), struct.pack("<Q", at + 0x1000 | 1))
    entries = b"".join(struct.pack("<Q", page << 12 | 1) for page in physical)
    memory.write_physical(ROOT + 0x3000, entries.ljust(0x1000, b"\0"))
    device.page_tables.select(ROOT)


def mapped_device() -> Device:
    device = Device(BY_NAME["kbl"])
    for page in range(0x40, 0x44):
        device.memory.write_physical(page << 12, bytes([page]) * PAGE_SIZE)
    map_pages(device, 0x40, 0x41)
    return device


def test_a_write_by_an_address_of_a_page_table_changes_the_physical_page_in_a_checkpoint() -> None:
    with mapped_device() as device:
        first = take(device)
        device.memory.write(FIRST + 0x1004, b"mapped")
        device.memory.write_physical(0x43 << 12, b"physical")
        second = take(device, first)
    assert first is not None and second is not None
    assert second.memory.pages[0x41][4:10] == b"mapped" and second.memory.pages[0x43][:8] == b"physical"
    assert second.memory.new_bytes == 2 * PAGE_SIZE
    assert second.memory.pages[0x40] is first.memory.pages[0x40]


def test_a_page_that_was_written_and_is_mapped_no_more_is_not_taken_for_unchanged() -> None:
    with mapped_device() as device:
        first = take(device)
        device.memory.write(FIRST, b"written")
        map_pages(device, 0x42)
        second = take(device, first)
    assert second is not None
    assert second.memory.pages[0x40][:7] == b"written"


def test_mapped_memory_of_a_device_that_is_gone_can_be_used_again() -> None:
    with mapped_device() as device:
        first = take(device)
        device.memory.write(FIRST, b"second")
        map_pages(device, 0x42, 0x41)
        device.memory.write(FIRST, b"other page")
        second = take(device, first)
    assert first is not None and second is not None
    spare = None
    for checkpoint, found in ((second, b"other page"), (first, b"@@@@@@@@@@"), (second, b"other page")):
        device, before = restore(checkpoint, spare)
        assert spare is None or device.memory is spare.memory
        assert device.memory.read(FIRST, 10) == found
        assert memory_pages(device) == checkpoint.memory.pages
        device.memory.write(FIRST + 0x1000, b"scratch")
        map_pages(device, 0x41, 0x43)
        device.memory.write(FIRST, b"more scratch")
        spare = Spare(device.release(), device.page_tables, before.memory)
    spare.close()


def test_draws_behind_page_tables_are_reached_in_any_order() -> None:
    def contents(device: Device) -> tuple[dict[int, bytes], Any]:
        return memory_pages(device), device.page_tables.save()

    path = str(TRACES / "later" / "triangle-kbl.aub.xz")
    with open_trace(path, again=True) as trace, Timeline(trace, interval=0) as timeline:
        timeline.finish()
        for draw in (3, 1, 4, 0, 2, 4):
            found = contents(timeline.goto(draw).device)
            with open_trace(path, again=True) as other, Timeline(other, interval=1e9) as straight:
                assert found == contents(straight.goto(draw).device), draw
