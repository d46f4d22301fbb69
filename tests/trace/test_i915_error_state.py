"""i915 error states of every kernel variant."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from gen4emu import trace
from gen4emu.errors import TraceError
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.registers import REGISTERS
from gen4emu.trace import error_state
from gen4emu.trace.events import (
    Engine,
    ErrorState,
    Event,
    Header,
    MemoryWrite,
    Submission,
    Warning,
)
from gen4emu.trace.ring import command_is_in_ring, head_offset, ring_enabled, ring_size
from tests.trace.trace_files import (
    ERROR_STATES,
    RING,
    VARIANT_A,
    VARIANT_B,
    VARIANT_C,
    VARIANT_D,
    VARIANT_E,
    dwords,
    encoded,
    rows,
)

_Kind = TypeVar("_Kind")
PREAMBLE = "PCI ID: 0x2a42\nEIR: 0x00000000\nrcs0 command stream:\n"


def events(text: str, **options: Any) -> list[Event]:
    return list(trace.open_bytes(text.encode(), "error", **options))


def of(kind: type[_Kind], text: str) -> list[_Kind]:
    return [event for event in events(text) if isinstance(event, kind)]


def registers(text: str) -> dict[str, int]:
    return {k: v for e in of(ErrorState, text) for k, v in e.registers.items()}


def submissions(text: str) -> list[Submission]:
    return of(Submission, text)


# --- whole files ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("variant", ERROR_STATES)
def test_every_variant_gives_header_registers_memory_and_submissions(variant: str) -> None:
    text = ERROR_STATES[variant]
    found = events(text, strict=True)
    assert [type(e) for e in found[:2]] == [Header, ErrorState]
    assert isinstance(found[0], Header)
    assert found[0].pci_id == 0x2A42
    memory = {(e.kind, e.address): bytes(e.data) for e in found if isinstance(e, MemoryWrite)}
    assert memory["batch", 0x100000] == dwords(0x61040000, 0x02000000, 0x05000000)
    assert memory["ring", 0x1000] == dwords(*RING)
    assert registers(text)["render.ACTHD"] == 0x100004
    assert registers(text)["render.IPEHR"] == 0x02000000
    (run,) = submissions(text)
    assert (run.engine, run.hung, run.acthd, run.batch_address) == (Engine.RENDER, True, 0x100004, 0x100000)


def test_registers_without_indentation_are_read() -> None:
    lines = [line.strip() for line in VARIANT_A.splitlines()]
    (run,) = submissions("\n".join(lines) + "\n")
    assert (run.engine, run.hung, run.acthd, run.batch_address) == (Engine.RENDER, True, 0x100004, 0x100000)


def test_variant_a_without_a_head_starts_from_its_batch() -> None:
    assert submissions(VARIANT_A)[0].ring == dwords(0x18800000, 0x100000)


@pytest.mark.parametrize("text", [VARIANT_B, VARIANT_C, VARIANT_D, VARIANT_E])
def test_ring_runs_from_the_head_of_the_request_to_the_tail(text: str) -> None:
    (run,) = submissions(text)
    assert (run.ring, run.ring_address) == (dwords(*RING[:10]), 0x1000)


def test_variant_a_shows_its_table_and_fence() -> None:
    (state,) = of(ErrorState, VARIANT_A)
    assert state.buffers == (("Active", 0x100000, 16384), ("Active", 0x200000, 4096))
    assert state.registers["fence[0]"] == 0x0013F0000010003D
    assert state.fields == {"Time": "1331234567 s 123456 us", "PCI ID": "0x2a42"}
    assert "PCI ID" not in state.registers


def test_variant_b_dumps_its_context_four_dwords_a_line() -> None:
    memory = {e.address: bytes(e.data) for e in of(MemoryWrite, VARIANT_B)}
    assert memory[0x300000] == dwords(0, 0x0C000000, 0x300108, 0)


def test_variant_c_names_program_tables_and_kinds() -> None:
    found = events(VARIANT_C)
    assert found[0] == Header(found[0].offset, 0x2A42, "glxgears", "i915 error state")
    assert isinstance(found[1], ErrorState)
    assert found[1].buffers == (("Active (render)", 0x100000, 16384), ("Pinned (global)", 0x1000, 16384))
    assert found[1].registers["render.BBADDR"] == 0x100005
    assert found[1].registers["render.ring->tail"] == 0x28
    assert found[1].fields["render.hangcheck"] == "hung [40]"
    kinds = [(e.kind, e.address) for e in found if isinstance(e, MemoryWrite)]
    assert kinds == [("batch", 0x100000), ("wa_batch", 0x500000), ("ring", 0x1000), ("hw_status", 0x2000)]


def test_variant_d_reads_positions_of_the_request_and_plain_ascii85() -> None:
    values = registers(VARIANT_D)
    assert values["render.HEAD"] == 0x200010
    assert values["render.request_head"] == 0
    assert (values["render.request_post"], values["render.request_tail"]) == (0x20, 0x28)
    assert (values["render.batch_start"], values["render.batch_end"]) == (0x100000, 0x104000)
    assert MemoryWrite(VARIANT_D.index("~"), 0x2000, bytes(64), kind="hw_status") in events(VARIANT_D)


def test_variant_e_has_the_registers_of_the_second_engine_afterwards() -> None:
    first, second = of(ErrorState, VARIANT_E)
    assert first.registers["render.hung"] == 1
    assert first.fields["Kernel"] == "6.1.0-13-amd64 x86_64"
    assert second.fields == {}
    assert second.registers == {"bsd.START": 0x4000, "bsd.HEAD": 0, "bsd.request_head": 0, "bsd.TAIL": 0,
                                "bsd.request_post": 0, "bsd.request_tail": 0, "bsd.CTL": 0x3001, "bsd.hung": 0}


# --- line ends and log prefixes ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("variant", ERROR_STATES)
@pytest.mark.parametrize("mangle", [
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "".join(f"[ 1234.567890] {line}\n" for line in text.splitlines()),
    lambda text: "".join(f"<6>[12.345678] {line}\n" for line in text.splitlines()),
    lambda text: "".join(f"Jan  1 12:00:00 box kernel: [    1.000001] {line}\r\n" for line in text.splitlines()),
])
def test_line_ends_and_log_prefixes_change_nothing(variant: str, mangle: Callable[[str], str]) -> None:
    def essence(text: str) -> list[object]:
        return [(e.registers, e.fields, e.buffers) if isinstance(e, ErrorState)
                else (e.address, bytes(e.data)) if isinstance(e, MemoryWrite)
                else (e.ring, e.acthd) if isinstance(e, Submission) else type(e) for e in events(text)]

    text = ERROR_STATES[variant]
    assert essence(mangle(text)) == essence(text)


def test_concatenated_states_are_split() -> None:
    for first, second in [(VARIANT_A, VARIANT_E), (VARIANT_E, VARIANT_A), (VARIANT_D, VARIANT_D)]:
        found = events(first + second)
        heads = [i for i, e in enumerate(found) if isinstance(e, Header)]
        assert len(heads) == 2
        assert len([e for e in found if isinstance(e, Submission)]) == 2
        assert isinstance(found[heads[1] - 1], Submission)


def test_unknown_pci_id_is_an_error_unless_the_device_is_given() -> None:
    text = VARIANT_A.replace("0x2a42", "0x8a52")
    with pytest.raises(TraceError, match=r"error: 0x0000001d: unknown PCI id 0x8a52"):
        events(text)
    assert events(text, device="gm45")[0] == Header(0x1D, 0x2A42, "", "i915 error state")


def test_no_error_state_says_so() -> None:
    with pytest.raises(TraceError, match="the kernel had no error state"):
        events("No error state collected\n")


# --- lines ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("line", "engine", "kind", "address"), [
    ("render ring --- gtt_offset = 0x00100000", "render", "batch", 0x100000),
    ("--- ringbuffer = 0x00001000", "render", "ring", 0x1000),
    ("render ring (submitted by Xorg [7]) --- gtt_offset = 0x00000001 00100000", "render", "batch", 0x100100000),
    ("rcs0 --- batch = 0x00000000 00100000", "render", "batch", 0x100000),
    ("vcs0 --- ring = 0x00000000 00100000", "bsd", "ring", 0x100000),
    ("bsd ring --- ringbuffer = 0x00100000", "bsd", "ring", 0x100000),
    ("bcs0 --- user = 0x00000000 00100000", "blt", "user", 0x100000),
    ("rcs0 --- HW Status = 0x00000000 00100000", "render", "hw_status", 0x100000),
    ("rcs0 --- HW context = 0x00000000 00100000", "render", "hw_context", 0x100000),
    ("rcs0 --- WA context = 0x00000000 00100000", "render", "wa_context", 0x100000),
    ("rcs0 --- WA batchbuffer = 0x00000000 00100000", "render", "wa_batch", 0x100000),
    ("rcs0 --- NULL context = 0x00000000 00100000", "render", "null_context", 0x100000),
    ("render ring --- batch buffer = 0x00100000", "render", "batch", 0x100000),
    ("vecs0 --- mystery = 0x00000000 00100000", "vebox", "unknown", 0x100000),
])
def test_titles(line: str, engine: str, kind: str, address: int) -> None:
    found = error_state.parse_title(line)
    assert found is not None
    assert (found.engine, found.kind, found.address) == (engine, kind, address)


def test_a_line_without_an_address_is_not_a_title() -> None:
    assert error_state.parse_title("render ring --- 3 requests") is None


def test_a_long_line_takes_linear_time() -> None:
    begun = time.process_time()
    assert error_state.parse_title("--- " * (1 << 15)) is None
    assert time.process_time() - begun < 3


def test_head_line_with_the_head_of_the_request() -> None:
    found = error_state.parse_register("  HEAD:  0x00200010 [0x00000000]")
    assert found is not None
    value = error_state.parse_values(*found)
    assert value == {"HEAD": 0x200010, "request_head": 0}
    assert head_offset(value["HEAD"]) == 0x10
    (head,) = (register for register in REGISTERS if register.name == "RENDER_RING_HEAD")
    assert head.view([value["HEAD"]], gen=Gen.CTG).wrap_count == 1


def test_ctl_of_an_enabled_ring_of_16_kib() -> None:
    assert (ring_size(0x3001), ring_enabled(0x3001), ring_enabled(0x3000)) == (16384, True, False)


@pytest.mark.parametrize(("acthd", "start", "in_ring"), [
    (0x1234, 0x1000, True), (0x5234, 0x1000, False), (0x1234, None, True), (0x5234, None, False),
])
def test_acthd_is_in_the_ring_or_in_a_batch(acthd: int, start: int | None, in_ring: bool) -> None:
    assert command_is_in_ring(acthd, start, 0x4000) is in_ring


# --- rings ------------------------------------------------------------------------------------------------------------
def ring_text(registers: str, data: str, title: str = "ringbuffer = 0x00001000") -> str:
    return PREAMBLE + registers + f"render ring --- {title}\n" + data


def test_ring_that_wraps_is_unwrapped() -> None:
    values = list(range(1024))
    text = ring_text("  HEAD: 0x00000ff8\n  TAIL: 0x00000008\n  CTL: 0x00000001\n", rows(values))
    (run,) = submissions(text)
    assert (run.ring, run.ring_address, run.wrap) == (dwords(1022, 1023, 0, 1), 0x1FF8, (0x1000, 0x1000))
    assert run.address_of(8) == 0x1000


def test_head_behind_a_batch_start_steps_back_over_it() -> None:
    text = ring_text("  HEAD: 0x00000010\n  TAIL: 0x00000028\n  CTL: 0x00003001\n", rows(RING))
    (run,) = submissions(text)
    assert (run.ring, run.ring_address) == (dwords(*RING[2:10]), 0x1008)


def test_ring_dump_that_ends_before_the_tail_is_reported() -> None:
    text = ring_text("  HEAD: 0x00000000\n  TAIL: 0x00000100\n  CTL: 0x00003001\n", rows(RING))
    found = events(text)
    assert found[-2] == Warning(0, "render ring: the dump ends before the tail 0x100")
    assert isinstance(found[-1], Submission)
    assert found[-1].ring == dwords(*RING)


def test_ring_without_head_or_batch_is_shown_whole() -> None:
    found = events(ring_text("  ACTHD: 0x00000008\n", rows(RING)))
    assert found[-2] == Warning(0, "render ring: the dump does not have its head: showing the whole ring")
    assert isinstance(found[-1], Submission)
    assert (found[-1].ring, found[-1].acthd) == (dwords(*RING), 0x1008)


def test_idle_ring_runs_nothing() -> None:
    assert submissions(ring_text("  HEAD: 0x00000010\n  TAIL: 0x00000010\n  CTL: 0x00003001\n", rows([0] * 12))) == []


def test_acthd_selects_the_running_batch() -> None:
    sections = "".join(f"rcs0 --- batch = 0x00000000 {a:08x}\n" + encoded(bytes(4096)) for a in (0x10000, 0x20000))
    assert submissions(PREAMBLE + "  ACTHD: 0x00000000 00020011\n" + sections)[0].batch_address == 0x20000
    assert submissions(PREAMBLE + "  ACTHD: 0x00000000 00020011\n" + sections)[0].acthd == 0x20010
    assert submissions(PREAMBLE + sections)[0].batch_address == 0x10000


def test_state_of_another_engine_is_kept_but_not_followed() -> None:
    found = events(PREAMBLE + "vecs0 --- ring = 0x00000000 00001000\n" + encoded(b"abcd"))
    assert isinstance(found[2], MemoryWrite)
    assert found[2].data == b"abcd"
    assert found[-1] == Warning(0, "engine vebox does not exist on this device: its ring is not followed")


def test_many_rings_take_little_memory() -> None:
    """Each of these is as long as a ring can be."""
    lines = "".join(f"{a}{b} --- ring = 0x00001000\n001ffff8 : 02000000\n" for a in "abcdefghij" for b in "klmnopqrst")
    tracemalloc.start()
    found = events(PREAMBLE + lines)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20
    assert len([e for e in found if isinstance(e, MemoryWrite)]) == 100
    texts = [e.text for e in found if isinstance(e, Warning)]
    assert texts.count("ring at 0x00001000: more than 32 rings: it is not followed") == 68
    assert texts.count("engine ak does not exist on this device: its ring is not followed") == 1


# --- damaged contents -------------------------------------------------------------------------------------------------
TITLE = PREAMBLE + "rcs0 --- user = 0x00000000 00010000\n"


def test_truncated_compressed_data_keep_their_beginning() -> None:
    data = bytes(range(256)) * 64
    text = encoded(data)
    found = events(TITLE + text[:-41] + "\n")
    good = b"".join(bytes(e.data) for e in found if isinstance(e, MemoryWrite))
    assert 0 < len(good) < len(data)
    assert data.startswith(good)
    assert any(isinstance(e, Warning) and "the compressed data end early" in e.text for e in found)


def test_padding_after_the_compressed_stream_is_dropped() -> None:
    text = TITLE + ":?t5^OJ7;no'nC+.!0I6]!!!!+\n"
    assert of(MemoryWrite, text) == [
        MemoryWrite(len(TITLE), 0x10000, dwords(0x02000000, 0x02000000, 0, 0, 0, 0, 0, 0x05000000), kind="user")]
    assert [e.text for e in of(Warning, text)] == ["the error state holds neither a ring nor a batch"]


@pytest.mark.parametrize(("line", "what"), [
    (":!!!z!", "a 'z' inside a group"), ("~zzwwwww", "a character between 'v' and 'y'"),
    (":zzzzz", "unknown compression method"), ("~zz!!", "2 characters after the last group of five"),
])
def test_broken_section_is_skipped_and_the_rest_read(line: str, what: str) -> None:
    found = events(TITLE + line + "\nrcs0 --- batch = 0x00000000 00100000\n" + encoded(b"abcd"))
    assert any(isinstance(e, Warning) and what in e.text for e in found)
    assert any(isinstance(e, MemoryWrite) and e.address == 0x100000 and e.data == b"abcd" for e in found)


def test_long_lines_are_decoded_in_pieces() -> None:
    data = bytes(range(1, 252)) * 20000
    for compress in (True, False):
        found = [e for e in events(TITLE + encoded(data, compress=compress)) if isinstance(e, MemoryWrite)]
        assert b"".join(bytes(e.data) for e in found) == data
        assert max(len(e.data) for e in found) <= 1 << 20
        assert found[-1].address == 0x10000 + len(data) - len(found[-1].data)


def test_rows_are_placed_at_their_offsets() -> None:
    found = events(PREAMBLE + "rcs0 --- user = 0x00010000\n00000000 :  00000001\n00000100 :  00000002\n")
    assert [(e.address, e.data) for e in found if isinstance(e, MemoryWrite)] == [
        (0x10000, dwords(1)), (0x10100, dwords(2))]


@pytest.mark.parametrize(("line", "found"), [
    (b"00000010 :  61040000", (0x10, [0x61040000])), (b"[0020] 00000001 00000002", (0x20, [1, 2])),
    (b"[0020] 00000001 00000002 00000003 00000004 ", (0x20, [1, 2, 3, 4])), (b"[0020] 0000000100000002", None),
    (b"00000010 :  610400000", None), (b"00000010 61040000", None),
])
def test_rows(line: bytes, found: tuple[int, list[int]] | None) -> None:
    assert error_state.parse_dwords(line) == found


def test_contents_without_a_title_are_reported() -> None:
    assert Warning(len(PREAMBLE), "buffer contents without a title: skipped") in events(PREAMBLE + ":zzz\n")
