"""Ring, batches and commands."""

from __future__ import annotations

from gen4emu.decode import BatchEnd, BatchStart, Command
from tests.harness.batch import BATCH, END, BatchDecoder, commands, diagnostics, names, rules


def test_lengths_of_a_real_batch_consume_it_exactly() -> None:
    """The headers of a GM45 capture and their lengths."""
    headers = [(0x69040000, 1), (0x79090000, 2), (0x61020000, 2), (0x680B0000, 1), (0x61010004, 6), (0x78010004, 6),
               (0x79010003, 5), (0x79050004, 6), (0x78000005, 7), (0x60003F01, 3), (0x60010000, 2), (0x79000002, 4),
               (0x78080003, 5), (0x78090001, 3), (0x60020000, 2), (0x7B001804, 6)]
    machine = BatchDecoder(follow=False)
    found = commands(machine.run(*([h] + [0] * (n - 1) for h, n in headers)))
    assert [(c.body.words[0], len(c.body.words)) for c in found[:-1]] == headers
    assert [c.address for c in found] == [BATCH + 4 * sum(n for _, n in headers[:i]) for i in range(len(headers) + 1)]
    assert found[-1].body.name == "MI_BATCH_BUFFER_END"


def test_both_encodings_of_pipeline_select_and_vf_statistics_are_known_everywhere() -> None:
    for device in ("965gm", "gm45"):
        found = names(BatchDecoder(device).run([0x61040000], [0x69040000], [0x780B0001], [0x680B0001]))
        assert found == ["PIPELINE_SELECT"] * 2 + ["3DSTATE_VF_STATISTICS"] * 2 + ["MI_BATCH_BUFFER_END"]


def test_ring_calls_a_batch_and_continues_after_it() -> None:
    machine = BatchDecoder()
    machine.batch([0x02000000])
    items = machine.submit(0x18800180, BATCH, 0x01000000)
    assert names(items) == ["MI_BATCH_BUFFER_START", "MI_FLUSH", "MI_BATCH_BUFFER_END", "MI_USER_INTERRUPT"]
    assert [c.address for c in commands(items)] == [0x1000, BATCH, BATCH + 4, 0x1008]


def test_batch_that_starts_another_leaves_for_good() -> None:
    """END of the second returns to the ring, not to the first."""
    machine = BatchDecoder()
    machine.batch([0x18800000, 0x200000], [0x02000000])
    machine.batch([0x04000000], address=0x200000)
    items = machine.submit(0x18800000, BATCH)
    assert names(items) == ["MI_BATCH_BUFFER_START"] * 2 + ["MI_ARB_ON_OFF", "MI_BATCH_BUFFER_END"]
    starts = [i for i in items if isinstance(i, BatchStart)]
    assert [(s.address, s.origin) for s in starts] == [(BATCH, "ring"), (0x200000, "chain")]


def test_loop_of_batches_ends() -> None:
    machine = BatchDecoder()
    machine.batch([0x18800000, 0x200000])
    machine.batch([0x18800000, BATCH], address=0x200000)
    items = machine.submit(0x18800000, BATCH)
    assert rules(items) == ["batch-loop"]
    assert f"0x{BATCH:08x}" in str(diagnostics(items)[0])


def test_batch_called_twice_is_decoded_once() -> None:
    machine = BatchDecoder()
    machine.batch([0x02000000])
    items = machine.submit(0x18800000, BATCH, 0x18800000, BATCH)
    assert names(items).count("MI_FLUSH") == 1
    assert rules(items) == ["batch-again"]


def test_batch_with_end_address_ends_there() -> None:
    machine = BatchDecoder()
    machine.dwords(BATCH, 0x02000000, 0x02000001, 0x02000002)
    items = machine.submit(0x18000001, BATCH, BATCH + 4)
    assert [c.body.words for c in commands(items)[1:]] == [(0x02000000,), (0x02000001,)]
    assert not rules(items)


def test_run_of_noops_is_one_node() -> None:
    items = BatchDecoder().run([0] * 100, [0x02000000])
    assert [(c.body.name, c.repeat) for c in commands(items)] == [
        ("MI_NOOP", 100), ("MI_FLUSH", 1), ("MI_BATCH_BUFFER_END", 1)]
    assert commands(items)[1].address == BATCH + 400


def test_short_command_reads_missing_dwords_as_zero() -> None:
    items = BatchDecoder().run([0x79000000, 0x00020001])
    command = commands(items)[0]
    assert rules(items) == ["short-command"]
    assert "2 dwords, needs 4" in str(diagnostics(items)[0])
    assert command.body.view.clipped_drawing_rectangle_x_min == 1
    assert command.body.view.clipped_drawing_rectangle_x_max == 0


def test_long_command_is_reported_and_skipped_by_its_length() -> None:
    items = BatchDecoder().run([0x79000004, 0, 0, 0, 0, 0], [0x02000000])
    assert rules(items) == ["long-command"]
    assert names(items)[1] == "MI_FLUSH"


def test_reserved_bits_name_place_and_value() -> None:
    items = BatchDecoder().run([0x79060000, 0x00100000])
    (d,) = diagnostics(items)
    assert (d.rule, d.address, d.where, d.field, d.value) == (
        "reserved-bits", BATCH, "3DSTATE_POLY_STIPPLE_OFFSET", "dword 1 bits 31:13", 0x80)


def test_out_of_range_value_names_field_and_value() -> None:
    items = BatchDecoder().run([0x60010000, 0x00000007])
    (d,) = diagnostics(items)
    assert (d.rule, d.field, d.value) == ("out-of-range", "number_of_urb_entries", 7)


def test_unknown_command_is_skipped_by_its_length_when_a_command_follows() -> None:
    items = BatchDecoder().run([0x7A7F0002, 1, 2, 3], [0x02000000])
    assert names(items) == ["UNKNOWN_GFXPIPE", "MI_FLUSH", "MI_BATCH_BUFFER_END"]
    assert rules(items) == ["unknown-command"]
    assert "skipped 4 dwords" in str(diagnostics(items)[0])


def test_after_nonsense_the_next_plausible_header_is_found() -> None:
    items = BatchDecoder().run([0xE0000000, 0x3F800000, 0xFFFFFFFF], [0x79060000, 0x00000101], [0x02000000])
    assert names(items) == ["UNKNOWN", "3DSTATE_POLY_STIPPLE_OFFSET", "MI_FLUSH", "MI_BATCH_BUFFER_END"]
    assert commands(items)[1].address == BATCH + 12


def test_commands_of_later_generations_have_their_names() -> None:
    assert names(BatchDecoder().run([0x13000002, 0, 0, 0]))[0] == "MI_FLUSH_DW"


def test_batch_that_runs_out_of_memory_is_reported() -> None:
    machine = BatchDecoder()
    machine.batch([0x02000000] * 1024, end=False, address=0x300000)
    items = machine.decode(0x300000)
    assert rules(items) == ["batch-end"]
    assert diagnostics(items)[0].address == 0x301000
    assert [i.why for i in items if isinstance(i, BatchEnd)] == ["truncated"]


def test_command_cut_by_the_end_of_memory_is_reported() -> None:
    machine = BatchDecoder()
    machine.batch([0x02000000] * 1023, [0x79000002], end=False, address=0x300000)
    items = machine.decode(0x300000)
    assert rules(items) == ["truncated", "batch-end"]
    assert "4 dwords according to its header; only 1 are present" in str(diagnostics(items)[0])


def test_command_across_the_fetch_window_is_whole() -> None:
    machine = BatchDecoder()
    fetched = (1 << 18) // 4
    machine.batch([0x02000000] * (fetched - 1), [0x79000002, 1, 2, 3])
    last = commands(machine.decode())[-2]
    assert last.body.words == (0x79000002, 1, 2, 3)
    assert last.address == BATCH + 4 * (fetched - 1)


def test_end_in_the_ring_is_reported_and_ignored() -> None:
    items = BatchDecoder().submit(END, 0x02000000)
    assert rules(items) == ["stray-end"]
    assert names(items) == ["MI_BATCH_BUFFER_END", "MI_FLUSH"]


def test_guilty_command_contains_the_address() -> None:
    machine = BatchDecoder()
    machine.batch([0x02000000], [0x79000002, 0, 0, 0], [0x02000000])
    items = machine.submit(0x18800180, BATCH, acthd=BATCH + 8)
    assert [c.body.name for c in commands(items) if c.guilty] == ["3DSTATE_DRAWING_RECTANGLE"]


def test_overlapping_batches_do_not_multiply_the_work() -> None:
    machine = BatchDecoder()
    size = 1 << 14
    machine.batch([0x02000000] * size)
    ring = [w for i in range(2000) for w in (0x18800000, BATCH + 4 * i)]
    items = machine.submit(*ring)
    assert "too-long" in rules(items)
    assert sum(isinstance(i, Command) for i in items) < 20 * size
