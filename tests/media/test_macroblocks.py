"""Threads as lines of JSON, `replay --macroblocks`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from gen4emu.cli.main import run
from gen4emu.device import macroblocks
from gen4emu.hw.catalogue import block_named
from gen4emu.hw.gen4.media import VfeMode
from gen4emu.hw.gen4.media_inline import PAYLOAD_VLD_R1
from gen4emu.selection import ALL, Selection
from tests.harness.media import DESCRIPTORS, END, KERNEL_ROOM, KERNELS, Media, machine, packed, unit, vld, words
from tests.harness.spawning import CHILD_END, fill, parent, spawn, urb_write

from .va_capture import decode

TRACES = Path(__file__).parents[2] / "traces"

P_MACROBLOCK = "1 01 1011 10 10"  # a pattern of Y1 that holds one coefficient


def lines(media: Media, submission: int = 0, only: Selection = ALL) -> list[dict[str, Any]]:
    output = io.StringIO()
    media.device.submissions = submission
    macroblocks.MacroblockWriter(media.device, output, only).start()
    media.execute()
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_a_line_has_the_whole_payload_of_a_macroblock() -> None:
    """An intra macroblock."""
    media = vld()
    media.slice(bytes.fromhex("EDD4921153C0"), q=4)
    (line,) = lines(media)
    fields = line.pop("macroblock")
    assert line == {
        "submission": 0, "draw": 0, "thread": 0, "mode": "VLD", "descriptor": f"0x{DESCRIPTORS:08x}",
        "kernel": f"0x{KERNELS:08x}", "count": 0,
        "blocks": {"y0": [[0, 5], [1, 1]], "y1": [[0, 5]], "y2": [[0, 2]], "y3": [[0, 1]], "cb": [],
                   "cr": [[0, 2], [8, -1]]}}
    assert PAYLOAD_VLD_R1.pack(media.gen, **fields) == [0x00010000, 0, 0x00070FC4, 0, 0, 0, 0, 0]
    assert fields["picture_coding_type"] == "I_PICTURE"
    assert fields["quantizer_scale_code"] == 4


def test_vectors_are_in_samples() -> None:
    """A vector of +3, -1 half samples."""
    media = vld(picture_coding_type=2)
    media.slice(bytes.fromhex("91356554"), y=1, q=4)
    found = lines(media)
    assert [line["thread"] for line in found] == [0, 1, 2, 3]
    first = found[0]["macroblock"]
    assert (first["motion_vector_0_0_horizontal"], first["motion_vector_0_0_vertical"]) == (1.5, -0.5)
    assert [line["macroblock"]["horizontal_origin"] for line in found] == [0, 1, 2, 3]
    assert [line["blocks"] for line in found] == [{}, {}, {}, {"y0": [[0, 1]]}]


def test_is_mode_knows_blocks_behind_long_inline_data() -> None:
    media = Media(mode=VfeMode.IS)
    media.select()
    media.object(words(media, "y0", "cr", count=18), unit(0, 5) + unit(19, -3, True) + unit(63, 7, True))
    (line,) = lines(media)
    assert line["mode"] == "IS"
    assert line["macroblock"]["picture_coding_type"] == "P_PICTURE"
    assert line["blocks"] == {"y0": [[0, 5], [19, -3]], "cr": [[63, 7]]}
    assert line["registers"] == ["00000006 00000007" + " 00000000" * 6]


def test_avc_has_registers_behind_its_fields() -> None:
    media = machine(VfeMode.AVC_MC, residual_data_fixed_source_offset_flag=True)
    media.object(block_named("MEDIA_INLINE_AVC_MC", media.gen).pack(media.gen, vertical_origin=3, intra_mb_flag=True,
                                                         coded_block_y0=True),
                 b"\x01\x02" * 64, name="MEDIA_OBJECT_EX")
    (line,) = lines(media)
    assert (line["mode"], line["macroblock"]["vertical_origin"]) == ("AVC_MC", 3)
    assert line["registers"][0] == " ".join(["02010201"] * 8)
    assert len(line["registers"]) == 24


def test_generic_threads_and_children_are_registers() -> None:
    media = parent()
    media.kernel(0, fill(40, 0xA0) + fill(41, 0xA1) + urb_write(4, 40, 41) + spawn(1, 4, 1) + END)
    media.kernel(1, CHILD_END)
    media.object((1, 2))
    root, child = lines(media)
    assert root == {"submission": 0, "draw": 0, "thread": 0, "mode": "GENERIC", "descriptor": f"0x{DESCRIPTORS:08x}",
                    "kernel": f"0x{KERNELS:08x}", "count": 0,
                    "registers": ["00000001 00000002" + " 00000000" * 6]}
    assert child == {"submission": 0, "draw": 0, "thread": 1, "child": True, "mode": "GENERIC",
                     "descriptor": f"0x{DESCRIPTORS + 16:08x}", "kernel": f"0x{KERNELS + KERNEL_ROOM:08x}",
                     "count": 0xA0, "registers": [" ".join(["000000a1"] * 8)]}


def test_threads_beyond_the_capacity_of_a_command_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(macroblocks, "MAX_THREADS", 3)
    media = vld(picture_coding_type=2)
    media.slice(packed(P_MACROBLOCK * 20), q=4)
    media.command("MI_FLUSH")
    media.slice(packed(P_MACROBLOCK), y=1, q=4, at=0x180000)
    found = lines(media)
    seen = [line for line in found if "lost" not in line]
    assert sum(line["lost"] for line in found if "lost" in line) + len(seen) == 21
    assert len(seen) == 4
    assert [line["thread"] + line.get("lost", 1) for line in found] == [*(line["thread"] for line in found[1:]), 21]


def test_one_submission_alone_can_be_wanted() -> None:
    for wanted, expected in (("all", 1), ("4", 1), ("3", 0)):
        media = vld()
        media.slice(bytes.fromhex("EDD4921153C0"), q=4)
        found = lines(media, submission=4, only=Selection.parse(wanted))
        assert [line["submission"] for line in found] == [4] * expected


def test_a_replay_writes_all_threads(tmp_path: Path) -> None:
    trace, file = TRACES / "interlaced-g4x.aub.xz", tmp_path / "macroblocks.jsonl"
    assert run(["replay", str(trace), "-o", str(tmp_path), "--macroblocks", str(file)]) == 0
    found = [json.loads(line) for line in file.read_text().splitlines()]
    pictures = list(decode(trace))
    assert [(line["submission"], line["thread"]) for line in found] == [
        (n, i) for n, picture in enumerate(pictures) for i in range(len(picture.threads))]
    for line, thread in zip(found, (t for picture in pictures for t in picture.threads), strict=True):
        blocks = [[[i, v] for i, v in enumerate(block.reshape(-1).tolist()) if v] for block in thread.blocks]
        assert list(line["blocks"].values()) == blocks
        assert line["macroblock"]["horizontal_origin"] == thread.bit(3, 4, 7)
        assert line["macroblock"]["macroblock_intra_type"] == thread.intra


def test_the_threads_of_one_submission(tmp_path: Path) -> None:
    file = tmp_path / "macroblocks.jsonl"
    trace = str(TRACES / "mpeg2-g4x.aub.xz")
    assert run(["replay", trace, "-o", str(tmp_path), "--macroblocks", str(file), "--submission", "2"]) == 0
    assert {json.loads(line)["submission"] for line in file.read_text().splitlines()} == {2}
