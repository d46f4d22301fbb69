"""Error states of Gen7 to Gen9: 64-bit addresses, several engines, the formats of three kernels."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from gen4emu import trace
from gen4emu.decode.address_space import AddressSpace
from gen4emu.trace.events import Engine as TraceEngine
from gen4emu.trace.events import ErrorState, Event, GttWrite, Header, MemoryWrite, Space, Submission, Warning
from tests.trace.hang_reports import Engine, Section, linux_3_16, linux_4_19, linux_6_1

BATCH = 0xFFFEFFFEE000
CANONICAL = BATCH | 0xFFFF << 48
START = struct.pack("<IQI", 0x18800101, BATCH, 0)  # MI_BATCH_BUFFER_START of Gen8, and MI_NOOP
CONTENTS = struct.pack("<8I", 0x7A000004, 0x00101021, 0, 0, 0, 0, 0x05000000, 0)
RING = START + struct.pack("<4I", 0x01000000, 0, 0, 0) + bytes(0x3FE0)


def render(address: int = BATCH, hung: int = 1) -> Engine:
    return Engine("rcs0", acthd=address + 0x18, hung=hung, sections=[
        Section("batch", address, CONTENTS), Section("user", 0x1_0000_0000, b"\x11" * 64),
        Section("ring", 0x12000, RING), Section("HW Status", 0xFFFE6000, bytes(4096)),
        Section("HW context", 0xFFFC0000, b"\x22" * 8192)])


def video() -> Engine:
    start = struct.pack("<IQI", 0x18800101, 0x2_0000_0000, 0)
    return Engine("vcs0", start=0x22000, acthd=0x2_0000_0010, hung=0, sections=[
        Section("batch", 0x2_0000_0000, CONTENTS), Section("ring", 0x22000, start + bytes(0x3FF0))])


def events(text: str) -> list[Event]:
    return list(trace.open_bytes(text.encode(), "error"))


def submissions(found: list[Event]) -> list[Submission]:
    return [e for e in found if isinstance(e, Submission)]


def registers(found: list[Event]) -> dict[str, int]:
    return {name: value for e in found if isinstance(e, ErrorState) for name, value in e.registers.items()}


Report = Callable[[int, str, list[Engine]], str]
WIDE = pytest.mark.parametrize("report", [linux_4_19, linux_6_1])


@WIDE
def test_every_engine_has_its_submission(report: Report) -> None:
    found = events(report(0x5912, "KABYLAKE", [render(), video()]))
    assert isinstance(found[0], Header)
    assert found[0].pci_id == 0x5912
    assert found[0].application == "glxgears"
    runs = submissions(found)
    assert [(e.engine, e.ring, e.ring_address, e.acthd, e.batch_address) for e in runs] == [
        (TraceEngine.RENDER, RING[:0x20], 0x12000, BATCH + 0x18, BATCH),
        (TraceEngine.BSD, struct.pack("<IQI", 0x18800101, 0x2_0000_0000, 0) + bytes(16), 0x22000, 0x2_0000_0010,
         0x2_0000_0000)]
    assert not [e for e in found if isinstance(e, Warning)]


def test_an_engine_that_does_not_hang_is_not_called_hung() -> None:
    found = events(linux_6_1(0x1912, "SKYLAKE", [render(), video()]))
    assert [e.hung for e in submissions(found)] == [True, False]


@WIDE
def test_rings_and_contexts_lie_in_the_global_space(report: Report) -> None:
    found = events(report(0x1616, "BROADWELL", [render()]))
    spaces = {(e.kind, e.space, e.address) for e in found if isinstance(e, MemoryWrite)}
    assert spaces == {
        ("batch", Space.GRAPHICS, BATCH), ("user", Space.GRAPHICS, 0x1_0000_0000), ("ring", Space.GLOBAL, 0x12000),
        ("hw_status", Space.GLOBAL, 0xFFFE6000), ("hw_context", Space.GLOBAL, 0xFFFC0000)}


@WIDE
def test_canonical_addresses_are_the_same_addresses(report: Report) -> None:
    """Kernels print the addresses of buffers as they have 48 bits, ACHTD may be sign-extended."""
    plain, signed = (events(report(0x5912, "KABYLAKE", [render(a)])) for a in (BATCH, CANONICAL))
    keys = ("render.ACTHD", "render.BBADDR", "render.FADDR", "render.batch_start", "render.batch_end")
    assert [registers(plain)[k] for k in keys] == [registers(signed)[k] for k in keys]
    where, there = ([(e.address, bytes(e.data)) for e in f if isinstance(e, MemoryWrite)] for f in (plain, signed))
    assert where == there
    assert submissions(plain)[0].acthd == BATCH + 0x18


def test_registers_of_linux_6_1() -> None:
    found = events(linux_6_1(0x5912, "KABYLAKE", [render(), video()]))
    expected = {
        "render.START": 0x12000, "render.HEAD": 0xC, "render.request_head": 0, "render.request_tail": 0x20,
        "render.SC_INSTDONE": 0xFFFFFFFE, "render.SAMPLER_INSTDONE[0][1]": 0xFFFFFFFD,
        "render.ROW_INSTDONE[0][2]": 0xFFFFFFFC, "render.PDP0": 0x22A3B4000, "render.GFX_MODE": 0x8000,
        "render.hung": 1, "bsd.hung": 0, "bsd.START": 0x22000, "FAULT_TLB_DATA": 0x11, "FAULT_TLB_DATA_1": 0x22,
        "DONE_REG": 0x07FFFFFF, "render.batch_start": BATCH, "render.batch_end": BATCH + 32}
    assert {name: registers(found).get(name) for name in expected} == expected
    fields = {name: text for e in found if isinstance(e, ErrorState) for name, text in e.fields.items()}
    assert (fields["Platform"], fields["EU total"], fields["GPU HANG"]) == (
        "KABYLAKE", "23", "ecode 9:1:85dffffb, in glxgears [1234]")


def test_the_buffer_tables_of_linux_4_19() -> None:
    found = events(linux_4_19(0x5912, "KABYLAKE", [render()]))
    buffers = [b for e in found if isinstance(e, ErrorState) for b in e.buffers]
    assert buffers[:2] == [("Active (rcs0)", BATCH, 32), ("Active (rcs0)", 0x1_0000_0000, 64)]


def test_all_engines_of_linux_3_16_on_haswell() -> None:
    start = struct.pack("<2I", 0x18800000, 0x100000)
    engines = [Engine(name, start=0x10000 * n, tail=8, acthd=0x100000, sections=[
        Section("batch", 0x100000 * n, CONTENTS), Section("ring", 0x10000 * n, start + bytes(0x3FF8)),
        Section("HW Status", 0x8000, bytes(64))]) for n, name in enumerate(("rcs0", "vcs0", "bcs0", "vecs0"), 1)]
    found = events(linux_3_16(0x0412, engines))
    runs = submissions(found)
    assert [(e.engine, e.ring, e.ring_address) for e in runs] == [
        (TraceEngine.RENDER, start, 0x10000), (TraceEngine.BSD, start, 0x20000), (TraceEngine.BLT, start, 0x30000),
        (TraceEngine.VEBOX, start, 0x40000)]
    spaces = {e.space for e in found if isinstance(e, MemoryWrite)}
    assert spaces == {Space.GRAPHICS}  # programs have the addresses of the GTT
    assert registers(found)["vebox.PP_DIR_BASE"] == 0x01310000


def test_a_second_video_engine_is_kept_apart() -> None:
    second = video()
    second.name, second.start = "vcs1", 0x32000
    second.sections = [Section("batch", 0x3_0000_0000, CONTENTS), Section("ring", 0x32000, START + bytes(0x3FF0))]
    found = events(linux_6_1(0x193B, "SKYLAKE", [render(), video(), second]))
    runs = [(e.engine, e.ring_address, e.batch_address) for e in submissions(found)]
    assert runs == [(TraceEngine.RENDER, 0x12000, BATCH), (TraceEngine.BSD, 0x22000, 0x2_0000_0000),
                    (TraceEngine.BSD, 0x32000, 0x3_0000_0000)]
    assert registers(found)["bsd1.START"] == 0x32000


def test_a_batch_without_its_ring_is_run_at_its_48_bit_address() -> None:
    engine = render()
    engine.sections = engine.sections[:2]
    run = submissions(events(linux_6_1(0x5912, "KABYLAKE", [engine])))[0]
    assert run.ring == START
    assert run.batch_address == BATCH


@pytest.mark.parametrize("container", ["aub", "g4c"])
def test_converted_states_keep_both_address_spaces(container: str, tmp_path: Path) -> None:
    """A buffer of the program and a context image may have one address."""
    engine = render()
    engine.sections.append(Section("user", 0xFFFC0000, b"\x33" * 8192))
    source, copy = tmp_path / "error", tmp_path / f"a.{container}"
    source.write_text(linux_6_1(0x5912, "KABYLAKE", [engine]))
    trace.convert(source, copy)
    memory, seen = AddressSpace(48, 1 << 20), []
    for event in trace.open(copy, strict=True):
        if isinstance(event, GttWrite):
            memory.set_gtt(event.first, event.entries)
        elif isinstance(event, MemoryWrite) and event.space is Space.PHYSICAL:
            memory.write_physical(event.address, event.data)
        elif isinstance(event, MemoryWrite) and (event.space is Space.GRAPHICS or container == "aub"):
            memory.write(event.address, event.data)
        elif isinstance(event, Submission):
            memory.select(event.page_table)
            seen.append((event.engine, event.ring, memory.read(BATCH, 32), memory.read(0xFFFC0000, 8192)))
    assert seen == [(TraceEngine.RENDER, RING[:0x20], CONTENTS, b"\x33" * 8192)]
