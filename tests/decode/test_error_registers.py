"""The registers of error states in words and the guilty command."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.decode import Document, Item, Note, Options, Registers, TextRenderer
from gen4emu.decode.error_state import meaning
from gen4emu.hw.gen import Gen
from tests.harness.batch import commands, diagnostics, names

TRIANGLE = Path(__file__).parents[2] / "traces" / "triangle-g4x.aub.xz"


@pytest.mark.parametrize(("name", "value", "text"), [
    ("render.HEAD", 0x00200010, "wrap_count=1, head_offset=0x00010"),
    ("render.CTL", 0x00003001, "buffer_length=16384, automatic_head_report=OFF, enable"),
    ("fence[0]", 0x0013F0000010003D, "X-tiled, pitch 2048, 0x00100000 to 0x0013ffff"),
    ("fence[2]", 0x0020F0000020000F, "Y-tiled, pitch 512, 0x00200000 to 0x0020ffff"),
    ("fence[1]", 0, "not valid"),
    ("EIR", 0x20, "page_table"),
    ("PGTBL_ER", 0x05000002, "sampler, render, illegal_memory"),
    ("render.INSTDONE", 0xFFFFFFFF, "idle"),
    ("render.INSTDONE", 0xFFDFFFFD, "busy: windower, command_parser"),
    ("render.IPEHR", 0x7B001804, "3DPRIMITIVE"),
    ("nonsense", 1, ""),
])
def test_registers_in_words(name: str, value: int, text: str) -> None:
    assert meaning(name, value, Gen.CTG) == text


def test_page_table_error_has_another_bit_on_965() -> None:
    assert meaning("EIR", 0x10, Gen.CL) == "page_table"
    assert meaning("EIR", 0x10, Gen.CTG) == "memory_privilege"


def dump(acthd: int, state: bool) -> str:
    """An error state of the triangle capture, with its state object or without."""
    lines = ["Time: 1331234567 s 123456 us", "PCI ID: 0x2a42", "EIR: 0x00000020", "render command stream:",
             "  START: 0x00001000", "  HEAD: 0x00000010", "  TAIL: 0x00000018", "  CTL: 0x00003001",
             f"  ACTHD: 0x{acthd:08x}", "  INSTDONE: 0xfffffffd"]
    for event in trace.open(TRIANGLE):
        if isinstance(event, trace.events.MemoryWrite) and (state or event.address == 0x100000):
            kind = "gtt_offset" if event.address == 0x100000 else "user"
            lines.append(f"render ring --- {kind} = 0x{event.address:08x}")
            lines += _rows(bytes(event.data))
    lines.append("render ring --- ringbuffer = 0x00001000")
    lines += _rows(struct.pack("<6I", 0x02000000, 0, 0, 0, 0x18800180, 0x100000) + bytes(4072))
    return "\n".join(lines) + "\n"


def _rows(data: bytes) -> list[str]:
    return [f"{4 * i:08x} :  {w:08x}" for i, w in enumerate(struct.unpack(f"<{len(data) // 4}I", data))]


def decoded(text: str, **options: bool) -> list[Item]:
    opened = trace.open_bytes(text.encode())
    return list(Document(opened, container=opened.kind, options=Options(**options)))


def test_guilty_command_of_a_hang_is_marked() -> None:
    items = decoded(dump(0x00100268, state=True))
    assert [(c.address, c.body.name) for c in commands(items) if c.guilty] == [(0x00100268, "3DPRIMITIVE")]
    assert not diagnostics(items)
    assert any(isinstance(i, Registers) for i in items)


def test_what_the_dump_does_not_hold_is_listed() -> None:
    """Kernels that capture only flagged objects leave the others out."""
    items = decoded(dump(0x00100268, state=False))
    (note,) = [i for i in items if isinstance(i, Note) and i.kind == "missing"]
    assert "0x001092e0 (VS_STATE)" in note.text
    assert "MI_BATCH_BUFFER_END" in names(items)


def test_two_error_states_in_one_file_are_two_machines() -> None:
    """Memory of the first is not there in the second."""
    items = decoded(dump(0x00100268, state=True) + dump(0x00100000, state=False))
    assert [c.address for c in commands(items) if c.guilty] == [0x00100268, 0x00100000]
    assert any("0x001092e0" in i.text for i in items if isinstance(i, Note) and i.kind == "missing")


def test_text_of_an_error_state_names_registers_and_units() -> None:
    render = TextRenderer().render
    out = "".join(render(i) for i in decoded(dump(0x00100268, state=True)))
    assert "render.INSTDONE      0xfffffffd  busy: command_parser" in out
    assert "EIR                  0x00000020  page_table" in out
    assert "render.ACTHD         0x00100268  in a batch" in out
    assert "==> the command streamer stopped here\n0x00100268  7b001004  3DPRIMITIVE" in out


def test_all_batches_shows_what_the_ring_does_not_reach() -> None:
    text = dump(0x00100268, state=True) + "render ring --- gtt_offset = 0x00900000\n00000000 :  02000000\n" \
                                          "00000004 :  05000000\n"
    assert 0x00900000 not in [c.address for c in commands(decoded(text))]
    assert 0x00900000 in [c.address for c in commands(decoded(text, all_batches=True))]
