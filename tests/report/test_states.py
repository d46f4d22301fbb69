"""The state of draws in a report: that of `gen4emu state`."""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import gen4emu
from gen4emu.cli.main import run
from gen4emu.decode.in_force import StateInForce
from gen4emu.decode.nodes import Command, Kernel, Node, State
from gen4emu.hw.fields import Const, Mbz
from gen4emu.report.record import Choices, Recorder
from gen4emu.selection import Selection
from gen4emu.trace.reader import open as open_trace
from tests.harness.joined import join
from tests.report.page_data import row_of

TRACES = Path(__file__).parents[2] / "traces"
KABY_LAKE = TRACES / "later" / "triangle-kbl.aub.xz"
COMMON = ["blend-brw", "fbo-g4x", "gears-4frames-g4x", "mpeg2-g4x"]
LATER = [f"later/triangle-{device}" for device in ("ivb", "byt", "hsw", "skl", "kbl")]

Block = dict[str, Any]


def chunks_of(trace: Path, **choices: Any) -> dict[str, Any]:
    """The chunks of JSON of a report."""
    with open_trace(str(trace), again=True) as opened:
        chunks = Recorder(opened, None, "x", Choices(**choices)).record().chunks
    return {name: json.loads(zlib.decompress(base64.b64decode(text))) for name, text in chunks.items()
            if name.partition("-")[0] in ("states", "rows", "kernels", "mesh")}


def shown(trace: Path, **choices: Any) -> dict[int, list[Block]]:
    """The blocks of each draw that was executed, with their fields."""
    chunks = chunks_of(trace, **choices)
    states = chunks["states-0"]
    found = {}
    for draw, numbers in zip(chunks["rows-0"]["draw"], states["draws"], strict=True):
        blocks = [row_of(states["blocks"], number) for number in numbers]
        for block in blocks:
            texts = states["fields"][block["fields"]]
            block["fields"] = list(zip(texts[::2], texts[1::2], strict=True))
        found[draw] = blocks
    return found


@cache
def all_shown(name: str) -> dict[int, list[Block]]:
    return shown(TRACES / f"{name}.aub.xz")


def parts_of(state: StateInForce) -> set[tuple[str, int]]:
    return {(f"{node.title} {node.role}".rstrip(), node.address) for node in state.nodes()}


def fields_of(node: Node) -> set[tuple[str, str]]:
    """The fields of a command or block, without those of the arrays in it."""
    if not isinstance(node, Command | State):
        return set()
    return {(f.name, f.text(raw)) for f, raw in node.body.view.fields()
            if not isinstance(f, Mbz | Const) and f.name != "dword_length"}


@pytest.mark.parametrize("name", [*COMMON, *LATER])
def test_a_draw_shows_what_the_verb_state_shows(name: str) -> None:
    with gen4emu.open(TRACES / f"{name}.aub.xz") as opened:
        for number, blocks in all_shown(name).items():
            state = opened.state(number)
            assert {(block["title"], block["address"]) for block in blocks} == parts_of(state)
            fields = {(block["title"], block["address"]): set(block["fields"]) for block in blocks}
            for node in state.nodes():
                assert fields_of(node) <= fields[f"{node.title} {node.role}".rstrip(), node.address]
            for setting in state.settings:
                (block,) = [one for one in blocks if one["address"] == setting.command.address
                            and one["title"] == setting.command.title and str(setting) in one["by"]]
                assert "/" not in block["key"]
    assert number > 0


@pytest.mark.parametrize("name", [*COMMON, *LATER])
def test_each_block_of_a_draw_has_a_key_of_its_own(name: str) -> None:
    for blocks in all_shown(name).values():
        keys = [block["key"] for block in blocks]
        assert len(set(keys)) == len(keys) > 10


def test_memory_is_as_the_draw_finds_it(tmp_path: Path) -> None:
    """The batch stores 1.0 to the blend constant before COLOR_CALC_STATE is loaded; the trace has written 0."""
    assert run(["-q", "export", str(KABY_LAKE), "--draw", "2", "-o", str(tmp_path / "repro")]) == 0
    batch = tmp_path / "repro" / "batch.txt"
    store = "dwords 0x10000002 0xfffef208 0x00000002 0x3f800000\n"  # MI_STORE_DATA_IMM
    batch.write_text(batch.read_text().replace("3DSTATE_CC_STATE_POINTERS\n", f"{store}3DSTATE_CC_STATE_POINTERS\n"))
    assert run(["-q", "build", str(batch), "-o", str(tmp_path / "store.aub")]) == 0
    (blocks,) = shown(tmp_path / "store.aub").values()
    (found,) = [block for block in blocks if block["title"] == "COLOR_CALC_STATE"]
    assert ("blend_constant_color_red", "1") in found["fields"]


def test_commands_before_the_frames_that_are_shown_count(tmp_path: Path) -> None:
    trace = Path(join(tmp_path / "app.g4c", "triangle-g4x", "gears-g4x", "fbo-g4x"))
    everything = shown(trace)
    last = shown(trace, frames=Selection.parse("2"))
    assert 0 < len(last) < len(everything)
    assert last == {draw: everything[draw] for draw in last}


def test_unchanged_blocks_are_stored_once(tmp_path: Path) -> None:
    once = chunks_of(TRACES / "gears-g4x.aub.xz")["states-0"]
    twice = chunks_of(Path(join(tmp_path / "twice.g4c", "gears-g4x", "gears-g4x")))["states-0"]
    assert len(twice["draws"]) == 2 * len(once["draws"])
    assert len(twice["fields"]) < 1.2 * len(once["fields"])


@pytest.mark.parametrize("trace", [TRACES / "gears-g4x.aub.xz", KABY_LAKE], ids=["g4x", "kbl"])
def test_kernels_have_the_numbers_of_the_pane_of_kernels(trace: Path) -> None:
    codes = {}
    with gen4emu.open(trace) as opened:
        numbers = {use.code.code: use.number for use in opened.kernels()}
        for draw in opened.draws():
            for node in opened.state(draw.number).nodes():
                if isinstance(node, Kernel):
                    codes[draw.number, node.address, node.role] = node.code.code
    found = {}
    for number, blocks in shown(trace).items():
        for block in blocks:
            if block["title"].startswith("KERNEL"):
                role = block["title"].removeprefix("KERNEL").lstrip()
                found[number, block["address"], role] = int(dict(block["fields"])["kernel"])
    assert found == {place: numbers[code] for place, code in codes.items()}
    assert len(set(found.values())) > 2
