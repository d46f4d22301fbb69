"""The tree from a pixel's color back to the bytes of constants, vertices and texels."""

from __future__ import annotations

import json
import lzma
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gen4emu.cli.main import run
from gen4emu.debugger import provenance, why
from gen4emu.hw.gen import Gen
from gen4emu.isa import assemble

TRACES = Path(__file__).parents[2] / "traces"
Tree = dict[str, Any]
gen4 = pytest.mark.parametrize("device", ["g4x", "brw"])
gen7 = pytest.mark.parametrize("device", ["ivb", "hsw", "byt"])


def tree(capsys: pytest.CaptureFixture[str], trace: str, *words: object) -> Tree:
    command = " ".join(["why", *(str(word) for word in words)])
    assert run(["debug", "--json", str(TRACES / f"{trace}.aub.xz"), "-c", command]) == 0
    found: Tree = next(answer["tree"] for answer in map(json.loads, capsys.readouterr().out.splitlines())
                       if answer["kind"] == "why")
    return found


def lines(capsys: pytest.CaptureFixture[str], trace: str, *words: object) -> list[str]:
    command = " ".join(["why", *(str(word) for word in words)])
    assert run(["debug", str(TRACES / f"{trace}.aub.xz"), "-c", command]) == 0
    return capsys.readouterr().out.splitlines()


def nodes(node: Tree, kind: str = "") -> Iterator[Tree]:
    if not kind or node["kind"] == kind:
        yield node
    for child in node["children"]:
        yield from nodes(child, kind)


def leaves(node: Tree) -> list[Tree]:
    return [one for one in nodes(node) if not one["children"]]


def floats(node: Tree) -> tuple[float, ...]:
    data = bytes.fromhex(node["bytes"])
    return struct.unpack(f"<{len(data) // 4}f", data)


def sent(node: Tree) -> list[float]:
    """The color in the text of a fragment."""
    text: str = next(nodes(node, "fragment"))["text"]
    return [float(part) for part in text.split("sent (")[1].split(")")[0].split(", ")]


@gen4
def test_a_texture_ends_in_its_texels_with_their_weights(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = tree(capsys, f"texture-{device}", 100, 100, "red")
    copied, drawn = (one for one in nodes(found, "message"))
    copy = next(child for child in copied["children"] if child["kind"] == "texel")  # the copy to the front buffer
    assert (copy["x"], copy["y"], copy["weight"], copy["written"]["kind"]) == (100, 155, 1.0, "draw")
    texels = [child for child in drawn["children"] if child["kind"] == "texel"]
    assert [(t["x"], t["y"]) for t in texels] == [(36, 36), (37, 36), (36, 37), (37, 37)]
    assert {t["written"]["kind"] for t in texels} == {"upload"}
    assert [t["memory"] for t in texels] == sorted(t["memory"] for t in texels)
    assert sum(t["weight"] for t in texels) == pytest.approx(1)
    fragment = list(nodes(found, "fragment"))[1]
    for channel in range(3):
        mean = sum(bytes.fromhex(t["bytes"])[channel] / 255 * t["weight"] for t in texels)
        assert mean == pytest.approx(sent(fragment)[channel], abs=1e-6)


@gen4
def test_texture_coordinates_end_in_the_vertices_through_setup_and_vertex_threads(
        device: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = tree(capsys, f"texture-{device}", 100, 155, "red")
    assert len({one["index"] for one in nodes(found, "vertex") if "index" in one}) >= 3
    coordinates = {floats(one) for one in nodes(found, "memory")
                   if "vertex element 1," in one["text"] and len(one["bytes"]) == 16}
    assert coordinates == {(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)}
    assert any("sf thread" in one.get("thread", "") for one in nodes(found))
    assert any("vs thread" in one.get("thread", "") for one in nodes(found))


@gen7
def test_an_interpolated_color_ends_in_the_bytes_of_three_vertices(device: str,
                                                                   capsys: pytest.CaptureFixture[str]) -> None:
    found = tree(capsys, f"later/triangle-{device}", 16, 16)
    colors: dict[int, tuple[float, ...]] = {}
    for vertex in nodes(found, "vertex"):
        for one in nodes(vertex, "memory"):
            colors[vertex["index"]] = floats(one)
    assert colors == {0: (1.0, 0.0, 0.0, 1.0), 1: (0.0, 1.0, 0.0, 1.0), 2: (0.0, 0.0, 1.0, 1.0)}
    assert all(one["written"]["kind"] == "upload" for one in nodes(found, "memory"))
    red, green, blue, _ = sent(found)
    weights = [one["text"] for one in leaves(found) if "wm thread" in one["text"]]
    assert f"= {green:.6g}"[:8] in weights[0] and f"= {blue:.6g}"[:8] in weights[1]
    assert red == pytest.approx(1 - green - blue, abs=2e-6)


@pytest.mark.parametrize("device", ["skl", "kbl"])
def test_a_thread_with_a_vertex_in_each_channel_is_followed_to_bytes(device: str,
                                                                     capsys: pytest.CaptureFixture[str]) -> None:
    """The three corners are channels of one thread, and a split send writes them."""
    trace = str(TRACES / f"later/triangle-{device}.aub.xz")
    assert run(["debug", "--json", trace, "-c", "draw 3", "-c", "why 32 40"]) == 0
    found = next(answer["tree"] for answer in map(json.loads, capsys.readouterr().out.splitlines())
                 if answer["kind"] == "why")
    colors: dict[int, tuple[float, ...]] = {}
    for vertex in nodes(found, "vertex"):
        for one in nodes(vertex, "memory"):
            colors[vertex["index"]] = floats(one)
            assert one["written"]["kind"] == "upload"
        for one in nodes(vertex, "instruction"):
            assert one["channel"] == vertex["index"]
    assert colors == {0: (1.0, 0.0, 0.0, 1.0), 1: (0.0, 1.0, 0.0, 1.0), 2: (0.0, 0.0, 1.0, 1.0)}
    assert not list(nodes(found, "limit"))


def test_a_split_send_may_have_its_descriptor_in_a_register(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The vertex shader of the trace is changed to send its inputs, with the descriptor in a0."""
    data = lzma.decompress((TRACES / "later/triangle-kbl.aub.xz").read_bytes())
    message = "sends(8) nullUD g126UD g{}UD {} 0x00000200 urb {{ align1 1Q EOT }};"
    copies = "".join(f"mov(8) g{118 + n}<1>F g{2 + n}<8,8,1>F {{ align1 1Q compacted }};\n" for n in range(2))
    at = data.index(assemble(copies, Gen.KBL))
    end = data.index(assemble(message.format(118, "0x02080017"), Gen.KBL), at)
    changed = bytearray(data)
    changed[at:at + 16] = assemble("mov(1) a0<1>UD 0x02080017UD { align1 WE_all 1N };", Gen.KBL)
    changed[end:end + 16] = assemble(message.format(2, "a0<0,1,0>UD"), Gen.KBL)
    trace = tmp_path / "changed.aub"
    trace.write_bytes(changed)
    assert run(["debug", "--json", str(trace), "-c", "draw 3", "-c", "why 32 40 red"]) == 0
    found = next(answer["tree"] for answer in map(json.loads, capsys.readouterr().out.splitlines())
                 if answer["kind"] == "why")
    reds = {vertex["index"]: floats(next(nodes(vertex, "memory")))[0] for vertex in nodes(found, "vertex")}
    assert reds == {0: 1.0, 1: 0.0, 2: 0.0}


def test_integers_in_a_payload_are_shown_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    """The last draw of the trace copies a picture as integers."""
    trace = str(TRACES / "later/triangle-kbl.aub.xz")
    assert run(["debug", trace, "-c", "why 32 40 alpha"]) == 0
    assert "alpha g125.0:f = 255 (3.57331108e-43 as a float) <- " in capsys.readouterr().out


@gen4
def test_a_blended_pixel_names_the_value_before_and_the_constant(device: str,
                                                                 capsys: pytest.CaptureFixture[str]) -> None:
    found = tree(capsys, f"blend-{device}", 130, 130)
    before = next(nodes(found, "before"))
    assert "blended" in before["text"] and "written by draw " in before["text"]
    assert [one["kind"] for one in before["children"]] == []
    fragment = next(one for one in nodes(found, "fragment") if any(c["kind"] == "before" for c in one["children"]))
    constants = list(nodes(fragment, "constant"))
    values = [floats(next(nodes(one, "memory")))[0] for one in constants]
    assert values == pytest.approx(sent(fragment), abs=1e-6)


def test_vertex_shaders_end_in_push_constants(capsys: pytest.CaptureFixture[str]) -> None:
    found = tree(capsys, "gears-g4x", 130, 130, "red")
    constants = list(nodes(found, "constant"))
    assert len(constants) > 10
    for one in constants:
        memory = next(nodes(one, "memory"))
        assert memory["written"]["kind"] == "upload"
        value = one["text"].split(" = ")[1].split(":")[0].split(" as a float")[0].split("(")[-1]
        assert floats(memory)[0] == pytest.approx(float(value), rel=1e-6)


def test_one_channel_and_a_depth_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    text = lines(capsys, "later/triangle-ivb", 16, 16, "green", "depth", 2)
    assert [line.split()[0] for line in text[2:]] == ["green"]
    assert text[2].endswith(" more below")
    assert [line.split()[0] for line in lines(capsys, "later/triangle-ivb", 16, 16, "depth", 2)[2:]] == [
        "red", "green", "blue", "alpha"]


def test_a_pixel_that_nothing_drew_has_no_tree(capsys: pytest.CaptureFixture[str]) -> None:
    found = tree(capsys, "later/triangle-ivb", 8000, 10)
    assert found["children"] == [] and "nothing covered it" in found["text"]


def test_unknown_channels_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["debug", str(TRACES / "later/triangle-ivb.aub.xz"), "-c", "why 16 16 violet"]) == 2
    assert "unknown channel 'violet' (known: red, green, blue, alpha)" in capsys.readouterr().err


def test_the_number_of_nodes_is_limited(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(why, "MOST_NODES", 50)
    found = tree(capsys, "gears-g4x", 130, 130, "red")
    assert any(one["kind"] == "limit" for one in nodes(found))
    assert len(list(nodes(found))) < 4 * 120


def test_long_threads_are_recorded_up_to_a_limit(monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(provenance, "MOST_STEPS", 5)  # of 6 in a vertex thread, and 5 in a pixel thread
    found = tree(capsys, "later/triangle-ivb", 16, 16, "red")
    assert {one["text"] for one in nodes(found, "limit")} == {
        f"vs thread {n} executes more instructions than are recorded" for n in (0, 1)}


def test_a_session_continues_after_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(TRACES / "later" / "triangle-ivb.aub.xz")
    assert run(["debug", trace, "-c", "draw 4", "-c", "why 16 16 red", "-c", "trap pixel 16 16", "-c", "continue"]) == 0
    text = capsys.readouterr().out
    assert "vertex element 1, component 0 of vertex 2" not in text.split("trap 1")[1]
    assert "instance 1" in text
