"""The history of a pixel: the draws that reached it, the fate of every fragment, and its origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest

from gen4emu.cli.main import run
from gen4emu.debugger.history import Change, History, Recorder, history_lines, record, trap_pixel
from gen4emu.debugger.model import Fate, Fragment, Place
from gen4emu.debugger.session import Session
from gen4emu.device.memory import Unit
from gen4emu.device.options import Options
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.blt import XY_COLOR_BLT
from gen4emu.hw.topology import PrimitiveTopology as T
from gen4emu.isa import assemble
from gen4emu.trace.reader import open as open_trace
from tests.harness.messages import WRITE_8_WITH_DEPTH, urb_write
from tests.harness.scene import KERNELS, TARGET, Scene, vertex

TRACES = Path(__file__).parent.parent.parent / "traces"
GENS = pytest.mark.parametrize("gen", [Gen.CL, Gen.CTG])
RED, GREEN = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)
D24S8 = 2


def triangle(z: float = 0.5, color: tuple[float, float, float, float] = RED) -> list[tuple[float, ...]]:
    """Covers the upper left half of 16x16 pixels."""
    return [vertex(0, 0, z, color=color), vertex(16, 0, z, color=color), vertex(0, 16, z, color=color)]


def history(scene: Scene, x: int, y: int, vertices: list[tuple[float, ...]], topology: T = T.TRILIST) -> History:
    recorder = Recorder(scene.device, x, y)
    scene.draw(vertices, topology)
    recorder.close()
    return recorder.history


def fates(found: History) -> list[Fate]:
    return [e.fate for e in found.entries if isinstance(e, Fragment)]


# --- objects and threads --------------------------------------------------------------------------------------------
@GENS
def test_the_second_overdraw_of_a_pixel_is_instance_2_of_the_second_primitive(gen: Gen) -> None:
    scene = Scene(gen, 16, 16)
    every, second = trap_pixel(scene.device, 3, 3), trap_pixel(scene.device, 2, 3, 2)
    scene.draw([*triangle(), *triangle()])
    assert [(o.instance, o.thread.object) for o in every] == [(1, 0), (2, 1)]
    assert [(o.instance, o.thread.object) for o in second] == [(2, 1)]  # the lowest bit of a coordinate is ignored
    assert second[0].thread.unit is Unit.WM
    assert (2, 2) in second[0].thread.subspans


def test_occurrences_count_over_draws_until_a_flush_resets_them() -> None:
    scene = Scene(Gen.CTG, 16, 16)
    found = trap_pixel(scene.device, 1, 1)
    scene.draw(triangle())
    scene.draw(triangle())
    scene.run(bytes.fromhex("08000002"))  # MI_FLUSH with the global snapshot count reset
    scene.draw(triangle())
    assert [(o.instance, o.thread.object, o.place.draw) for o in found] == [(1, 0, 0), (2, 1, 1), (1, 0, 2)]


def test_culled_objects_have_numbers_too() -> None:
    """965 PRM vol. 4, 3.3.8: culled primitives are counted, too."""
    scene = Scene(Gen.CTG, 16, 16, sf={"cull_mode": "FRONT"})
    found = trap_pixel(scene.device, 1, 1)
    front = triangle()
    scene.draw([*front, *reversed(front), *front, *reversed(front)])
    assert sorted(o.thread.object or 0 for o in found) in ([0, 2], [1, 3])


def test_replay_says_which_threads_a_pixel_goes_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", str(TRACES / "fbo-g4x.aub.xz"), "-o", str(tmp_path)]
    assert run([*arguments, "--trap-pixel", "100,100,2"]) == 0
    trapped = [line for line in capsys.readouterr().out.splitlines() if line.startswith("pixel")]
    assert len(trapped) == 1
    assert trapped[0].startswith("pixel 100,100: instance 2, draw 1, object 1, wm thread ")
    assert run([*arguments, "--trap-pixel", "100,100"]) == 0
    trapped = [line for line in capsys.readouterr().out.splitlines() if line.startswith("pixel")]
    assert [line.split(",")[2].strip() for line in trapped] == [f"draw {n}" for n in (0, 1, 2, 2, 3)]


def test_skipped_primitives_count_towards_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", str(TRACES / "fbo-g4x.aub.xz"), "-o", str(tmp_path), "--max-prims", "1"]
    assert run([*arguments, "--skip-prims", "1"]) == 0
    assert ", 4 draws, 0 pictures" in capsys.readouterr().err
    assert run(arguments) == 0
    assert ", 4 draws, 1 picture, " in capsys.readouterr().err


@pytest.mark.parametrize("pixel", ["1", "1,2,0", "9999,1", "a,b", "-1,2", "1,2,3,4"])
def test_a_pixel_that_is_none_is_bad_usage(pixel: str, tmp_path: Path) -> None:
    assert run(["replay", str(TRACES / "clear-g4x.aub.xz"), f"--trap-pixel={pixel}", "-o", str(tmp_path)]) == 2


# --- fates ----------------------------------------------------------------------------------------------------------
@GENS
def test_a_written_fragment_says_what_was_there_and_what_is(gen: Gen) -> None:
    found = history(Scene(gen, 16, 16), 3, 4, [*triangle(color=RED), *triangle(color=GREEN)])
    assert fates(found) == [Fate.WRITTEN, Fate.WRITTEN]
    first, second = found.fragments()
    assert (first.object, second.object) == (0, 1)
    assert first.target == TARGET
    assert first.before == {"R": 0, "G": 0, "B": 0, "A": 0}
    assert first.after == second.before == {"R": 1, "G": 0, "B": 0, "A": 1}
    assert second.after == {"R": 0, "G": 1, "B": 0, "A": 1}
    assert second.sent == GREEN
    assert first.depth_before is None


def test_outside_of_all_objects_nothing_happens() -> None:
    found = history(Scene(Gen.CTG, 16, 16), 15, 15, triangle())
    assert found.entries == []
    assert list(history_lines(found)) == ["pixel 15,15: nothing covered it"]


@pytest.mark.parametrize("early", [True, False])
def test_fragments_that_fail_the_depth_test_leave_the_pixel_unchanged(early: bool) -> None:
    scene = Scene(Gen.CTG, 16, 16, depth_format=D24S8, depth_clear=0x07FFFFFF, cc={
        "depth_test_enable": True, "depth_buffer_write_enable": True, "depth_test_function": "LESS"},
        wm={"pixel_shader_kill_pixel": not early})
    if not early:  # the source depth arrives in g2 and is passed on with the message
        code = scene.pixel_kernel[:-16] + assemble(
            "mov(8) m6<1>F g2<8,8,1>F { align1 };"
            f"send(8) 0 null<1>UW g0<8,8,1>UW {WRITE_8_WITH_DEPTH} write {{ align1 EOT }};", Gen.CTG)
        scene.pixel_kernel = code
    found = history(scene, 2, 2, [*triangle(0.25), *triangle(0.75)])
    passed, failed = found.fragments()
    assert (passed.fate, failed.fate) == (Fate.WRITTEN, Fate.EARLY_DEPTH if early else Fate.DEPTH)
    assert passed.z == 0.25
    assert passed.depth_before is not None
    assert passed.depth_after is not None
    assert failed.depth_before is not None
    assert failed.depth_after is not None
    assert (passed.depth_before.raw, passed.depth_before.stencil) == (0xFFFFFF, 7)
    assert passed.depth_after.raw == failed.depth_before.raw == failed.depth_after.raw == 0x400000
    assert (failed.thread is None) == early


def test_fragments_that_fail_the_stencil_test_have_a_fate_of_their_own() -> None:
    scene = Scene(Gen.CTG, 16, 16, depth_format=D24S8, depth_clear=0x03FFFFFF, cc={
        "stencil_test_enable": True, "stencil_test_function": "EQUAL", "stencil_reference_value": 3,
        "stencil_test_mask": 255, "stencil_write_mask": 255, "stencil_buffer_write_enable": True,
        "stencil_pass_depth_pass_op": "INCRSAT"})
    found = history(scene, 2, 2, [*triangle(), *triangle()])
    assert fates(found) == [Fate.WRITTEN, Fate.EARLY_STENCIL]
    before, after = found.fragments()[0].depth_before, found.fragments()[0].depth_after
    assert before is not None
    assert after is not None
    assert (before.stencil, after.stencil) == (3, 4)


def test_the_alpha_test_s_victims() -> None:
    half = (1.0, 1.0, 1.0, 0.25)
    scene = Scene(Gen.CTG, 16, 16, cc={"alpha_test_enable": True, "alpha_test_function": "GREATER",
                                       "alpha_test_format": "FLOAT32", "alpha_reference_value_as_float32": 0.5})
    found = history(scene, 2, 2, [*triangle(color=half), *triangle()])
    assert fates(found) == [Fate.ALPHA, Fate.WRITTEN]
    assert found.fragments()[0].sent[3] == 0.25
    assert found.fragments()[0].after == {"R": 0, "G": 0, "B": 0, "A": 0}


def test_pixels_that_the_shader_kills() -> None:
    scene = Scene(Gen.CTG, 16, 16, wm={"pixel_shader_kill_pixel": True})
    kill = assemble("mov(1) g0<1>UW 0x0000UW { align1 nomask };", Gen.CTG)
    scene.pixel_kernel = kill + scene.pixel_kernel
    assert fates(history(scene, 2, 2, triangle())) == [Fate.KILLED]


def test_pixels_that_the_stipple_leaves_out() -> None:
    scene = Scene(Gen.CTG, 16, 16, wm={"polygon_stipple_enable": True})  # the pattern is all zeros
    assert fates(history(scene, 2, 2, triangle())) == [Fate.STIPPLED]


def test_without_pixel_shaders_the_depth_buffer_is_all_there_is() -> None:
    scene = Scene(Gen.CTG, 16, 16, depth_format=D24S8, wm={"thread_dispatch_enable": False}, cc={
        "depth_test_enable": True, "depth_buffer_write_enable": True, "depth_test_function": "ALWAYS"})
    found = history(scene, 2, 2, triangle(0.5))
    assert fates(found) == [Fate.DEPTH_ONLY]
    after = found.fragments()[0].depth_after
    assert after is not None
    assert after.raw == 0x800000


def test_a_target_of_no_kind_takes_no_color() -> None:
    scene = Scene(Gen.CTG, 16, 16, surface={"surface_type": "SURFTYPE_NULL"})
    assert fates(history(scene, 2, 2, triangle())) == [Fate.NO_COLOR]


def test_outside_of_the_target_is_outside() -> None:
    scene = Scene(Gen.CTG, 16, 16, surface={"width": 8, "height": 8})
    assert fates(history(scene, 10, 2, triangle())) == [Fate.OUTSIDE]


# --- back traces ----------------------------------------------------------------------------------------------------
def test_a_fragment_leads_back_to_its_vertices() -> None:
    scene = Scene(Gen.CTG, 16, 16)
    recorder = Recorder(scene.device, 2, 2)
    scene.draw([vertex(20, 20), *triangle(), vertex(9, 9)], indices=[1, 2, 3], base_vertex_location=0)
    recorder.close()
    (fragment,) = recorder.history.fragments()
    of = recorder.history.object_of(fragment)
    assert of is not None
    assert of.thread.unit is Unit.SF
    assert of.thread.number == 0
    assert sorted(c.index for c in of.corners if c is not None) == [1, 2, 3]
    assert sorted(c.output for c in of.corners if c is not None) == [0, 1, 2]
    assert {p[:2] for p in of.positions} == {(0, 0), (16, 0), (0, 16)}


def test_real_draws_lead_back_through_vertex_shader_threads() -> None:
    found = record(open_trace(str(TRACES / "triangle-g4x.aub.xz")), None, Options(), 128, 128)
    shaded = [of for of in found.objects.values() if all(c is not None and c.thread is not None for c in of.corners)]
    assert shaded
    (of,) = shaded
    assert [c.unit for c in of.corners if c is not None] == [Unit.VF] * 3
    assert sorted(c.index for c in of.corners if c is not None) == [0, 1, 2]
    assert {c.thread for c in of.corners if c is not None} == {0, 1}  # two vertices a thread


def test_a_history_ends_at_the_given_draw() -> None:
    trace = open_trace(str(TRACES / "fbo-g4x.aub.xz"))
    whole = record(trace, None, Options(), 100, 100)
    part = record(trace, None, Options(), 100, 100, Place(0, 0, 1))
    assert [e.place.draw for e in whole.entries] == [0, 1, 2, 3]
    assert part.entries == whole.entries[:2]
    assert whole.targets() == [0x113000, 0x356000, 0x3D8000]


def test_histories_are_the_same_however_often_and_wherever() -> None:
    trace = open_trace(str(TRACES / "gears-g4x.aub.xz"))
    first = record(trace, None, Options(workers=1), 100, 100)
    assert first.entries == record(trace, None, Options(workers=4), 100, 100).entries
    places = [(e.place.draw, e.object) for e in first.entries if isinstance(e, Fragment)]
    assert places == sorted(places)


def test_a_history_includes_blits() -> None:
    scene = Scene(Gen.CTG, 16, 16)
    recorder = Recorder(scene.device, 2, 2)
    scene.draw(triangle())
    for color in (0, 0xFF00FF00):
        scene.run(XY_COLOR_BLT.build(Gen.CTG, raster_operation=0xF0, color_depth="BPP_32", write_alpha=True,
                                     write_rgb=True, destination_pitch=scene.pitch, destination_x2=16,
                                     destination_y2=16, destination_base_address=TARGET, color=color))
    recorder.close()
    assert [type(e) for e in recorder.history.entries] == [Fragment, Change]
    change = recorder.history.entries[1]
    assert isinstance(change, Change)
    assert list(change.before.values()) == [0, 0, 0, 0]
    assert list(change.after.values()) == [0, 1, 0, 1]
    assert change.place.draw == 2


def test_pictures_are_the_same_with_an_observer(tmp_path: Path) -> None:
    """The bits of a draw do not depend on the debugger."""
    for name in ("gears-g4x", "blend-brw", "stencil-g4x"):
        plain, watched = tmp_path / name / "plain", tmp_path / name / "watched"
        assert run(["replay", str(TRACES / f"{name}.aub.xz"), "--npy", "-o", str(plain)]) == 0
        assert run(["replay", str(TRACES / f"{name}.aub.xz"), "--npy", "--trap-pixel", "90,90", "-o",
                    str(watched)]) == 0
        assert sorted(p.name for p in plain.iterdir()) == sorted(p.name for p in watched.iterdir())
        for path in plain.iterdir():
            assert path.read_bytes() == (watched / path.name).read_bytes()


def test_a_history_is_json_too() -> None:
    found = history(Scene(Gen.CTG, 16, 16), 3, 4, triangle())
    document = json.loads(json.dumps(found.as_json()))
    assert document["pixel"] == [3, 4]
    (entry,) = document["history"]
    assert entry["fate"] == "written"
    assert entry["from"]["vertices"][0]["origin"]["unit"] == "vf"


def test_a_fragment_leads_back_through_a_clipper_s_thread() -> None:
    """Its object is a point that a CLIP thread made of the first vertex of a triangle."""
    scene = Scene(Gen.CTG, 16, 16, clip={
        "clip_mode": "ALL", "kernel_start_pointer": KERNELS + 0x6000, "grf_register_count": 128,
        "dispatch_grf_start_register": 1, "vertex_urb_entry_read_length": 2, "urb_entry_allocation_size": 2,
        "number_of_urb_entries": 8, "maximum_number_of_threads": 1})
    scene.memory.write(KERNELS + 0x6000, assemble(f"""
        mov(1) g0.2<1>UD 7UD {{ align1 nomask }};
        mov(8) m1<1>UD g1<8,8,1>UD {{ align1 nomask }};
        mov(8) m2<1>UD g2<8,8,1>UD {{ align1 nomask }};
        send(8) 0 null<1>UD g0<8,8,1>UD {urb_write(3)} urb {{ align1 nomask EOT }};
    """, Gen.CTG))
    recorder = Recorder(scene.device, 5, 6)
    scene.draw([vertex(0, 0), vertex(0, 1), vertex(1, 0), vertex(5.5, 6.5), vertex(0, 9), vertex(9, 0)])
    recorder.close()
    (fragment,) = recorder.history.fragments()
    of = recorder.history.object_of(fragment)
    assert of is not None
    assert of.topology is T.POINTLIST
    (corner,) = of.corners
    assert corner is not None
    assert (corner.unit, corner.thread, corner.output) == (Unit.CLIP, 1, 0)
    assert [i.index for i in corner.inputs if i is not None] == [3, 4, 5]
    text = "\n".join(history_lines(recorder.history))
    assert "clip thread 1, its vertex 0, out of" in text
    assert "vertex index 5 (sequence 5)" in text


@pytest.mark.parametrize("trace", ["gears-4frames-g4x", "stencil-brw", "fbo-g4x"])
def test_a_known_history_has_those_that_end_earlier(trace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(place: object) -> NoReturn:
        raise AssertionError("is not known")

    with open_trace(str(TRACES / f"{trace}.aub.xz"), again=True) as opened:
        session = Session(opened, None, Options(), on_stop=lambda stop: fail(stop), on_draw=lambda words: None,
                          on_message=lambda message: None)
        session.prepare(lambda: None)
        session.run()
        last = session.place().draw
        session.close()
        alone = [record(opened, None, Options(), 128, 128, Place(0, 0, draw)) for draw in range(last + 1)]
        whole = session.history(128, 128, None)
        assert whole.entries
        monkeypatch.setattr("gen4emu.debugger.session.record", lambda *rest: fail(rest))
        for draw, expected in enumerate(alone):
            assert session.history(128, 128, Place(0, 0, draw)) == expected
        assert session.history(128, 128, None) is whole
