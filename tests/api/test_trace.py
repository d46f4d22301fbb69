"""`gen4emu.open`: execution to any draw, submission and frame, and what can be seen there."""

from __future__ import annotations

import gc
import lzma
import threading
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gen4emu
from gen4emu.device.timeline import Bookmarks
from gen4emu.image.compare import load
from tests.harness.joined import join

TRACES = Path(__file__).parent.parent.parent / "traces"
GEARS, FBO, MPEG2, TRIANGLE = (TRACES / f"{name}-g4x.aub.xz" for name in ("gears", "fbo", "mpeg2", "triangle"))


def test_the_file_says_who_made_it_and_where() -> None:
    with gen4emu.open(GEARS) as trace:
        assert (trace.kind, trace.path, trace.application) == ("aub", str(GEARS), "glscenes")
        assert trace.device is not None and trace.device.name == "gm45"


def test_draws_come_in_order_with_their_commands() -> None:
    with gen4emu.open(GEARS) as trace:
        draws = [(d.number, d.place.draw, d.kind, d.topology, d.vertex_count, d.instance_count, d.command.address)
                 for d in trace.draws()]
        decoded = [item.address for item in trace.decode() if getattr(item, "draw", None) is not None]
    assert [d[:2] for d in draws] == [(n, n) for n in range(6)]
    assert draws[2][2:6] == ("draw", "TRILIST", 1920, 1)
    assert [d[-1] for d in draws] == decoded


def test_a_topology_may_come_from_the_command_before_the_draw() -> None:
    with gen4emu.open(TRACES / "later" / "triangle-kbl.aub.xz") as trace:
        assert [draw.topology for draw in trace.draws()] == ["RECTLIST", "RECTLIST", "TRILIST", "RECTLIST", "RECTLIST"]
        assert [draw.topology for draw in trace.draws(counting=True)][2] == "TRILIST"


@pytest.mark.parametrize(("numbers", "found"), [("1-2", [1, 2]), (4, [4]), ([0, 5], [0, 5]), ("0-5/3", [0, 3]),
                                                (range(2, 4), [2, 3])])
def test_draws_can_be_selected(numbers: object, found: list[int]) -> None:
    with gen4emu.open(GEARS) as trace:
        assert [d.number for d in trace.draws(numbers)] == found


def test_frames_are_the_golden_pictures() -> None:
    with gen4emu.open(FBO) as trace:
        (frame,) = trace.frames()
    with gen4emu.open(FBO) as trace:
        found = [t.numpy() for t in trace.at(frame=0).targets]
        names = [f"frame-00000-color-{t.address:08x}.png" for t in trace.at(frame=0).targets]
    assert frame.place == gen4emu.Place(0, 0, 3)
    golden = [load(TRACES / "golden" / "fbo-g4x" / name) for name in names]
    assert len(golden) == 3
    for ours, theirs in zip(found, golden, strict=True):
        channels = theirs.shape[2]
        assert np.array_equal(ours[:, :, :channels], theirs)


def test_going_forward_continues_and_going_back_starts_again() -> None:
    trace = gen4emu.open(GEARS)
    later = trace.at(draw=4).target().numpy()
    earlier = trace.at(draw=1).target().numpy()
    assert (later != earlier).any()
    assert np.array_equal(trace.at(draw=4).target().numpy(), later)
    trace.close()


@pytest.mark.parametrize("unit", ["draw", "submission", "frame"])
def test_places_are_the_same_in_any_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str) -> None:
    path = join(tmp_path / "joined.g4c", "fbo-g4x", "gears-g4x", "texture-g4x", "stencil-g4x")

    def look(trace: gen4emu.Trace, number: int) -> tuple[object, ...]:
        moment = trace.at(**{unit: 4 * number if unit == "draw" else number})
        surfaces = [(s.address, s.digest) for s in moment.targets]
        return (moment.unit, moment.number, moment.place, surfaces, moment.device.numbers.total,
                {name: n for name, n in moment.device.counts().items() if not name.endswith("ns")})

    with gen4emu.open(path) as trace:
        expected = [look(trace, number) for number in range(4)]
    monkeypatch.setattr("gen4emu.api.trace.Bookmarks", lambda most_bytes: Bookmarks(0, most_bytes=most_bytes))
    with gen4emu.open(path) as trace:
        for number in (3, 1, 2, 0, 3, 3, 0, 1):
            assert look(trace, number) == expected[number]
        place = expected[3][2]
        assert isinstance(place, gen4emu.Place)
        assert sum(not bookmark.is_inside for bookmark in trace._bookmarks) == place.submission + 1 > 2


def test_a_moment_that_was_left_is_stale() -> None:
    with gen4emu.open(GEARS) as trace:
        before = trace.at(draw=1)
        surface = before.target()
        trace.at(draw=2)
        for read in (surface.numpy, before.target, lambda: before.read(0, 4), lambda: before.memory):
            with pytest.raises(gen4emu.StaleError, match="the trace has moved on from draw 1"):
                read()
        assert (before.number, before.place.draw) == (1, 1)
        last = trace.at(draw=5)
    with pytest.raises(gen4emu.StaleError):
        last.target()


def test_iterations_are_independent_of_each_other() -> None:
    with gen4emu.open(GEARS) as trace:
        pairs = [(a.number, trace.at(draw=0).number, b.number) for a, b in zip(trace.draws(), trace.draws(),
                                                                              strict=True)]
    assert pairs == [(n, 0, n) for n in range(6)]


def test_two_traces_in_two_threads() -> None:
    found: dict[str, int] = {}

    def work(name: str) -> None:
        with gen4emu.open(TRACES / name) as trace:
            found[name] = sum(int(d.target().numpy().sum()) for d in trace.draws("1-"))

    names = ["gears-g4x.aub.xz", "gears-brw.aub.xz"]
    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = dict(found)
    found.clear()
    for name in names:
        work(name)
    assert found == alone and len(found) == 2


@pytest.mark.parametrize(("where", "message"), [
    ({"draw": 6}, "no draw 6: it has 6 draws, 0 to 5"), ({"frame": 1}, "no frame 1: it has 1 frame, 0"),
    ({"submission": 9}, "no submission 9: it has 1 submission, 0"), ({"draw": -1}, "no draw -1"),
    ({}, "exactly one of"), ({"draw": 1, "frame": 0}, "exactly one of"),
])
def test_a_place_that_is_not_there(where: dict[str, int], message: str) -> None:
    with gen4emu.open(GEARS) as trace, pytest.raises(gen4emu.SelectionError, match=message):
        trace.at(**where)


def test_a_target_that_is_not_there() -> None:
    with gen4emu.open(GEARS) as trace:
        with pytest.raises(gen4emu.SelectionError, match="draw 0 has no target 0: it has none"):
            trace.at(draw=0).target()
        with pytest.raises(gen4emu.SelectionError, match="draw 1 has no target 3: it has 1"):
            trace.at(draw=1).target(3)
        with pytest.raises(gen4emu.SelectionError, match="no draw 77"):
            list(trace.draws(77))


def test_media_objects_rest_where_they_have_ended() -> None:
    with gen4emu.open(MPEG2) as trace:
        assert [(d.number, d.kind, d.topology) for d in trace.draws()] == [
            (n, "media object", None) for n in (5, 11, 17, 23, 29)]
        assert (trace.at(draw=3).number, trace.at(draw=6).number) == (5, 11)
        assert [d.number for d in trace.draws("7-8,20")] == [11, 23]
        assert trace.at(frame=1).target().numpy().shape == (96, 128, 4)


def test_surfaces_show_themselves() -> None:
    with gen4emu.open(GEARS) as trace:
        moment = trace.at(draw=4)
        target, depth = moment.target(), moment.depth
        assert depth is not None
        shown = np.asarray(Image.open(BytesIO(target._repr_png_())).convert("RGBA"))
        assert np.array_equal(shown, target.numpy())
        assert depth.numpy().dtype == np.uint16
        exact = depth.float()
        assert exact.shape == (256, 256, 1) and 0 < exact.min() < exact.max() <= 1
        assert moment.read(target.address, 8) == moment.memory.read(target.address, 8)
        same = moment.surface(target.address, target.format, 256, 256, target.pitch, target.tiling)
        assert np.array_equal(same.numpy(), target.numpy())
        assert repr(target) == "<Surface color 0x0010e000 B8G8R8A8_UNORM 256x256>"
        with pytest.raises(gen4emu.SelectionError, match="unknown surface format 'NOPE'"):
            moment.surface(0, "NOPE", 1, 1, 4)
        assert "3DPRIMITIVE" in trace._repr_html_()


def test_a_trace_that_is_cut_short_says_so_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "cut.aub"
    path.write_bytes(lzma.decompress(MPEG2.read_bytes())[:-3000])
    with gen4emu.open(path) as trace, pytest.raises(gen4emu.TraceError, match=r"cut\.aub: 0x.*the file ends"):
        list(trace.draws())
    for read in (gen4emu.Trace.info, gen4emu.Trace.kernels, lambda trace: list(trace.decode())):
        with gen4emu.open(path) as trace, pytest.raises(gen4emu.TraceError, match=r"cut\.aub: 0x.*the file ends"):
            read(trace)
    with gen4emu.open(path, partial=True) as trace:
        assert trace.damage(read_on=False) == []
        assert len(list(trace.draws())) < 5
        assert len(trace.damage(read_on=False)) == 1
        assert trace.damage(read_on=False) == trace.damage()
        assert len(trace.kernels()) == 7


def test_a_hang_is_raised_where_it_happens(tmp_path: Path) -> None:
    path = tmp_path / "hang.bin"
    path.write_bytes(bytes([1, 2, 3, 0x7A, 0, 0, 0, 5]))
    with gen4emu.open(path, kind="raw", device="g45", options=gen4emu.Options(strict=True)) as trace, \
            pytest.raises(gen4emu.HangError):
        list(trace.submissions())


def test_a_draw_that_hangs_is_counted_before_the_error_that_names_file_and_place(tmp_path: Path) -> None:
    path = tmp_path / "hang.aub"
    whole = lzma.decompress(TRIANGLE.read_bytes())
    with gen4emu.open(TRIANGLE) as trace:
        kernel = trace.kernels()[-1]
    assert (kernel.stages, kernel.draws_text) == (["ps"], "2") and whole.count(kernel.code.code) == 1
    illegal = bytes(len(kernel.code.code))
    path.write_bytes(whole.replace(kernel.code.code, illegal))
    numbers = []
    with gen4emu.open(path) as trace, pytest.raises(gen4emu.HangError) as caught:
        for draw in trace.draws(counting=True):
            numbers.append((draw.number, draw.counters.fragments.written))
    assert numbers == [(0, 65536), (1, 20106), (2, 0)]
    assert str(caught.value) == f"{path}: {caught.value.reason} (frame 0, submission 0, draw 2)"
    assert caught.value.reason.startswith("hang at 0x00100364 in 3DPRIMITIVE: ")


def test_closing_a_trace_that_runs_ends_it_behind_the_draw() -> None:
    """As Ctrl-C does: `advance` is left while the other thread runs."""
    with gen4emu.open(GEARS) as trace:
        stepper = trace._stepper()

        def close(unit: str, numbers: range) -> bool:
            stepper.closed = True
            return False

        stepper.advance(close)
        assert (stepper.ended, stepper.counts["draw"]) == (True, 1)
        stepper.replay.close()


def test_a_trace_that_is_forgotten_ends_its_thread() -> None:
    gc.collect()
    before = threading.active_count()
    trace = gen4emu.open(GEARS)
    trace.at(draw=1)
    assert threading.active_count() == before + 1
    del trace
    gc.collect()
    assert threading.active_count() == before


def test_draws_have_counters_and_the_state_in_force() -> None:
    with gen4emu.open(GEARS) as trace:
        draws = {d.number: (d.counters.fragments.written, d.state()) for d in trace.draws("1-2")}
        again = trace.at(draw=1)
        assert isinstance(again, gen4emu.Draw)
        assert again.counters.fragments.written == draws[1][0] == 256 * 256
        clear, gear = draws[1][1], draws[2][1]
        assert clear.place.draw == 1 and gear.place.draw == 2
        (target,) = clear.blocks("SURFACE_STATE")
        assert target.body.view.surface_base_address == 0x10E000
        assert again.state().as_json() == clear.as_json()
        assert gear["3DSTATE_DRAWING_RECTANGLE"].body.view.clipped_drawing_rectangle_x_max == 255
        assert "WM_STATE" in gear.text()
    with gen4emu.open(MPEG2) as trace:
        assert [d.counters.media.media_roots > 0 for d in trace.draws("5,29")] == [True, True]


@pytest.mark.parametrize(("trace", "numbers", "found"), [
    (GEARS, None, range(6)), (GEARS, "1-2", [1, 2]), (MPEG2, "2,7-8,20", [2, 7, 8, 20])])
def test_draws_can_be_counted_while_they_are_executed(trace: Path, numbers: str | None, found: Sequence[int]) -> None:
    """Media objects come one by one; memory is that after the last of those that ran together."""
    with gen4emu.open(trace) as counted:
        draws = [(d.number, d.place.draw, d.kind, d.command.address, [t.digest for t in d.targets],
                  d.counters) for d in counted.draws(numbers, counting=True)]
        assert [d[0] for d in draws] == list(found)
        for number, place, kind, address, digests, counters in draws:
            alone = counted.at(draw=number)
            assert isinstance(alone, gen4emu.Draw)
            assert (place, counters) == (number, counted._counters_of(number))
            if alone.number == number:
                assert (kind, address) == (alone.kind, alone.command.address)
                assert digests == [t.digest for t in alone.targets]
        with pytest.raises(gen4emu.SelectionError, match="no draw 77: it has"):
            list(counted.draws(77, counting=True))


def test_progress_says_where_the_work_is() -> None:
    seen: list[tuple[str, int]] = []
    with gen4emu.open(GEARS, progress=lambda unit, number: seen.append((unit, number))) as trace:
        list(trace.draws())
        assert seen == [*(("draw", n) for n in range(6)), ("submission", 0), ("frame", 0)]
        assert trace.fraction == 1
        seen.clear()
        trace.kernels()
        assert set(seen) == {("submission", 0)}


def test_kernels_of_draws() -> None:
    with gen4emu.open(TRIANGLE) as trace:
        assert [k.stages for k in trace.kernels(1)] == [["vs"], ["clip"], ["sf"], ["ps"]]
        assert {k.draws_text for k in trace.kernels([1])} == {"1"}
        with pytest.raises(gen4emu.SelectionError, match="no draw 9: it has 3 draws, 0 to 2"):
            trace.kernels(9)


def test_the_history_of_a_pixel_begins_with_why() -> None:
    with gen4emu.open(GEARS) as trace:
        assert trace.history(100, 100, draw=4).why.startswith("drawn last by draw 4, object 974, ps kernel 0x")
        assert trace.history(8000, 8000).why == "nothing covered it"
