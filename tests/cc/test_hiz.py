"""Hierarchical depth by the numbers: entries, the first level, updates, and what they save (US patent 9412195)."""

from __future__ import annotations

import struct
from itertools import product

import pytest

from gen4emu.hw.gen4.state import CompareFunction
from tests.harness.hiz import (
    D16,
    D24,
    D32F,
    EVERYWHERE,
    FAIL,
    PASS,
    UNDECIDED,
    Half,
    Model,
    bounds,
    encode,
    is_plane,
    plane_entry,
    plane_value,
    verdict,
)

C = CompareFunction
SAMPLES = (1, 2, 4, 8, 16)
ONE = 0xFFFFFF  # depth 1.0
HALF = 16  # pixels
FULL = range(32)
FLAT = (0.25, 0.0, 0.0)  # a plane that every format stores exactly in part: 0.25 rounds to 0x400000
SLOPE = (0.5, -0.002, 0.001)


def d24(value: float) -> int:
    return int(value * ONE + 0.5)


def bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def f32(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def all_samples(samples: int) -> dict[int, int]:
    return dict.fromkeys(FULL, (1 << samples) - 1)


# --- entries ---------------------------------------------------------------------------------------------------------
def test_a_range_is_a_mask_a_maximum_and_a_minimum_without_its_lowest_bit() -> None:
    slot = encode(0x00FF, 0x400001, 0xC00000)
    assert slot == 0x2000_00C0_0000_00FF
    assert Half.decode(slot) == Half(0x00FF, 0x400000, 0xC00000)


def test_a_clear_to_one_decodes_below_one_and_compares_as_one() -> None:
    model = Model()
    model.clear(1.0)
    assert model.entry() == (0x7FFF_FFFF_FFFF_0000,) * 2
    assert model.half() == Half(0, 0xFFFFFE, ONE)
    assert model.pixels({0: 1}, ONE - 1, function=C.GEQUAL) == 0  # the range alone could not decide that
    assert model.counts["failed"] == 1
    assert model.pixels({0: 1}, ONE, function=C.EQUAL) == 1
    assert model.counts["passed"] == 1


def test_a_plane_is_a_mask_and_three_floats() -> None:
    entry = plane_entry(*SLOPE)
    assert entry == (0x3A83126F_FFFFFFFF, 0xBF000000_BB03126F)
    assert is_plane(entry)
    assert plane_value(entry, 0, 0) == 0.5


@pytest.mark.parametrize(("samples", "low", "high"), [(1, 0.4855, 0.5025), (2, 0.48525, 0.50275),
                                                      (4, 0.484625, 0.503375)])
def test_the_range_of_a_plane_is_that_of_its_samples(samples: int, low: float, high: float) -> None:
    model = Model(samples=samples)
    model.clear(1.0)
    model.draw(SLOPE, kill_seed=0, computed=True)  # computed depths never become planes
    found = [model.depth(x, y, s) for x, y, s in product(range(8), range(4), range(samples))]
    assert (min(found), max(found)) == (d24(f32(low)), d24(f32(high)))  # depth is interpolated as a float
    assert min(model.half(0).minimum, model.half(1).minimum) == min(found) & ~1
    assert max(model.half(0).maximum, model.half(1).maximum) == max(found)
    if samples == 1:
        assert (d24(low), d24(high)) == (0x7C49BA, 0x80A3D7)


def test_bit_127_alone_says_plane() -> None:
    down = plane_entry(0.5, 0.0, -0.001)
    assert down is not None
    assert down[0] >> 63  # the sign of Cy
    assert is_plane(down)
    ranges = (encode(0xFFFF, 0, ONE), encode(0xFFFF, 0, ONE))
    assert not is_plane(ranges)
    assert not is_plane((ranges[0] | 1 << 63, ranges[1]))


@pytest.mark.parametrize("c0", [-0.001, float("nan"), float("inf")])
def test_c0_has_no_sign_bit(c0: float) -> None:
    assert plane_entry(c0, 0.0, 0.0) is None
    assert plane_entry(-0.0, 0.0, 0.0) == plane_entry(0.0, 0.0, 0.0)


def test_entries_survive_a_round_trip() -> None:
    model = Model(32, 16, samples=4)
    model.clear(1.0)
    model.draw(FLAT)
    model.draw(SLOPE, ((0, 0), (20, 0), (0, 20)), function=C.LESS)
    entries = {(x, y): model.entry(x, y) for x, y in product(range(4), range(4))}
    depths = [model.depth(x, y, s) for x, y, s in product(range(32), range(16), range(4))]
    for (x, y), entry in entries.items():
        model.set_entry((0, 0), x, y)
        model.set_entry(entry, x, y)
    assert [model.depth(x, y, s) for x, y, s in product(range(32), range(16), range(4))] == depths


@pytest.mark.parametrize(("depth_format", "depth", "expected"), [
    (D24, 0x123456, (0x123456, 0x123456)), (D24, ONE, (ONE, ONE)), (D16, 0x8001, (0x800100, 0x800100)),
    (D32F, bits(0.0), (0, 0)), (D32F, bits(1.0), (ONE, ONE)), (D32F, bits(0.5), (0x7FFFFF, 0x800000)),
    (D32F, bits(-0.0), (0, 0)), (D32F, bits(1.5), None), (D32F, bits(-1e-9), None), (D32F, 0x7FC00000, None)])
def test_bounds_of_a_depth_round_outward(depth_format: int, depth: int, expected: tuple[int, int] | None) -> None:
    assert bounds(depth_format, depth) == expected


# --- the first level -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("function", CompareFunction)
def test_a_verdict_never_contradicts_a_pair_of_depths(function: CompareFunction) -> None:
    """All ranges of depths 0 to 3; and every verdict that could be certain is given."""
    compare = {C.ALWAYS: lambda a, b: True, C.NEVER: lambda a, b: False, C.LESS: lambda a, b: a < b,
               C.EQUAL: lambda a, b: a == b, C.LEQUAL: lambda a, b: a <= b, C.GREATER: lambda a, b: a > b,
               C.NOTEQUAL: lambda a, b: a != b, C.GEQUAL: lambda a, b: a >= b}[function]
    ranges = [(low, high) for low in range(4) for high in range(low, 4)]
    for source, destination in product(ranges, ranges):
        found = {compare(a, b) for a in range(source[0], source[1] + 1)
                 for b in range(destination[0], destination[1] + 1)}
        certain = UNDECIDED if len(found) == 2 else PASS if found == {True} else FAIL
        is_one = destination[0] == destination[1]
        assert verdict(function, source, destination, is_clear=is_one) == certain
        coarse = verdict(function, source, destination)
        exact_only = function in (C.EQUAL, C.NOTEQUAL) and source == destination and is_one
        assert coarse == (UNDECIDED if exact_only else certain)  # a range may be wider than its depths


def test_only_covered_pixels_count_for_the_destination() -> None:
    model = Model()
    model.clear(1.0)
    model.pixels({0: 1}, d24(0.2))
    before = model.counts
    assert model.pixels({1: 1}, d24(0.5), function=C.LESS) == 1  # pixel 0 would make it undecided
    after = model.counts
    assert (after["passed"] - before["passed"], after["undecided"]) == (1, 0)
    assert after["depth_read_bytes"] == before["depth_read_bytes"] == 0


def test_halves_are_decided_alone_and_a_group_is_one_test_for_any_number_of_samples() -> None:
    for samples in SAMPLES:
        model = Model(samples=samples)
        model.clear(1.0)
        model.pixels(dict.fromkeys(range(HALF), (1 << samples) - 1), d24(0.2))
        before = model.counts
        model.pixels(all_samples(samples), d24(0.5), function=C.LESS)
        gained = {name: count - before[name] for name, count in model.counts.items()}
        assert (gained["groups_tested"], gained["halves_tested"]) == (1, 2)
        assert (gained["failed"], gained["passed"], gained["undecided"]) == (1, 1, 0)


def test_a_plane_decides_every_sample_without_the_depth_buffer() -> None:
    model = Model(samples=4)
    model.clear(1.0)
    model.draw((0.5, 1 / 1024, 0.0))
    assert model.is_plane
    passed = model.draw((0.5 + 4 / 1024, 0.0, 0.0), function=C.GREATER)
    assert 0 < passed < 128
    assert (model.counts["plane_exact"], model.counts["undecided"], model.counts["depth_read_bytes"]) == (2, 0, 0)


def test_a_group_that_fails_writes_nothing() -> None:
    model = Model()
    model.clear(0.25)
    entry, before = model.entry(), model.counts
    assert model.draw((0.5, 0.0, 0.0), function=C.LESS) == 0
    gained = {name: count - before[name] for name, count in model.counts.items()}
    assert model.entry() == entry
    assert (gained["entry_read_bytes"], gained["entry_write_bytes"]) == (16, 0)
    assert (gained["depth_read_bytes"], gained["depth_write_bytes"]) == (0, 0)


@pytest.mark.parametrize("write", [False, True])
def test_without_depth_writes_nothing_changes(write: bool) -> None:
    model = Model()
    model.clear(1.0)
    entry = model.entry()
    assert model.draw(FLAT, function=C.LESS, write=write) == 32
    assert (model.entry() == entry) is not write


# --- updates ---------------------------------------------------------------------------------------------------------
A, B = 0, 1  # pixels


def lit(*masks: int) -> dict[int, int]:
    return {pixel: mask for pixel, mask in enumerate(masks) if mask}


OLD, NEW, CLEAR = 0x300000, 0x900000, 0xE00000
EVERY = dict.fromkeys(range(HALF), 3)
PARTLY = dict.fromkeys(range(HALF), 1)


@pytest.mark.parametrize(("old", "new", "expected"), [
    (EVERY, EVERY, (NEW, NEW)),  # case 1
    (EVERY, PARTLY, (OLD, NEW)),  # case 2
    (EVERY, lit(3, 1), (OLD, NEW)),  # case 3
    ({}, EVERY, (NEW, NEW)),  # case 4
    ({}, PARTLY, (NEW, CLEAR)),  # case 5
    ({}, lit(3, 3), (NEW, NEW)),  # case 6 with whole pixels
    ({}, lit(3, 1), (NEW, CLEAR)),  # case 6 with a pixel in part
    (lit(3), lit(0, 3), (OLD, NEW)),  # L3
    (lit(3), lit(3, 3), (NEW, NEW)),  # L4
    (lit(3), lit(1), (OLD, NEW)),  # L5
    (lit(3), lit(1, 1), (OLD, CLEAR)),  # L6
    (lit(3), lit(0, 1), (OLD, CLEAR))])  # L7, with the old range
def test_the_new_range_follows_the_masks(old: dict[int, int], new: dict[int, int], expected: tuple[int, int]) -> None:
    model = Model(samples=2)
    model.clear(CLEAR / ONE)
    if old:
        model.pixels(old, OLD)
    model.pixels(new, NEW)
    assert model.half().range == expected
    mask = sum(1 << pixel for pixel in old.keys() | new.keys())
    assert model.half().mask == mask
    assert not model.difference.found


def test_leaf_7_as_printed_loses_depths() -> None:
    """OM = {A}, a part of B: without A's range, a later draw over A passes wrongly."""
    for literal in (False, True):
        model = Model(samples=2)
        model.clear(1.0)
        model.pixels({A: 1}, d24(0.2))
        model.pixels({A: 2}, d24(0.3))
        model.pixels({B: 1}, d24(0.9), literal=literal)
        assert model.half().mask == 3
        assert model.half().range == ((d24(0.9) if literal else d24(0.2)) & ~1, ONE)
        before = model.counts["undecided"]
        assert model.pixels({A: 1}, d24(0.5), function=C.LESS) == 0
        assert model.counts["undecided"] - before == (0 if literal else 1)
        assert model.difference.found is literal
        if literal:
            assert (model.difference.is_verdict, model.difference.x, model.difference.y) == (True, A, 0)


def test_partly_lit_pixels_get_the_clear_value_in_their_other_samples() -> None:
    model = Model(samples=2)
    model.clear(1.0)
    assert model.pixels(dict.fromkeys(FULL, 1), d24(0.3)) == 32
    assert model.half() == Half(0xFFFF, d24(0.3) & ~1, ONE)
    assert (model.stored(0, 0, 0), model.stored(0, 0, 1)) == (d24(0.3), ONE)
    assert model.counts["fill_bytes"] == 32 * 4
    model.clear(1.0)
    model.pixels(all_samples(2), d24(0.3))
    assert model.half().range == (d24(0.3) & ~1, d24(0.3))


@pytest.mark.parametrize("samples", SAMPLES)
def test_a_fully_lit_group_becomes_a_plane_and_leaves_the_depth_buffer_alone(samples: int) -> None:
    model = Model(samples=samples)
    model.clear(1.0)
    model.draw((0.5, 1 / 1024, -1 / 2048))
    assert model.entry() == plane_entry(0.5, 1 / 1024, -1 / 2048)  # whatever the number of samples
    assert model.counts["depth_write_bytes"] == 0
    assert {model.stored(x, y, s) for x, y, s in product(range(8), range(4), range(samples))} == {0}
    model.draw(FLAT, ((0, 0), (8, 0), (0, 4)), function=C.LESS)
    assert not model.is_plane  # both halves
    assert model.counts["expand_bytes"] == 32 * samples * 4
    model.resolve()
    assert model.stored(7, 3, 0) == model.depth(7, 3, 0)
    assert not model.difference.found


@pytest.mark.parametrize("why", [{"kill_seed": 7}, {"computed": True}, {"maximum": 0.5}, {"minimum": 0.6}])
def test_no_plane_if_the_shader_or_a_clamp_has_a_say(why: dict[str, float]) -> None:
    model = Model()
    model.clear(1.0)
    model.draw((0.5, 1 / 1024, 0.0), **why)
    assert not model.is_plane
    assert not model.difference.found


def test_no_plane_if_its_floats_do_not_give_the_same_depths() -> None:
    model = Model(64, 64, depth_format=D32F)
    model.clear(1.0)
    model.draw((1 / 3, 1 / 3000, 1 / 7000))  # three doubles
    planes, ranges, *_ = model.census
    assert ranges > planes
    model.resolve()
    assert not model.difference.found


@pytest.mark.parametrize("depth_format", [D16, D24, D32F])
def test_a_full_clear_touches_entries_only(depth_format: int) -> None:
    model = Model(64, 64, samples=4, depth_format=depth_format)
    model.draw(FLAT)
    before = [model.stored(x, y, s) for x, y, s in product(range(64), range(64), range(4))]
    counts = model.counts
    model.clear(0.75)
    assert [model.stored(x, y, s) for x, y, s in product(range(64), range(64), range(4))] == before
    assert model.counts["entry_write_bytes"] - counts["entry_write_bytes"] == 16 * 128
    assert model.census == (0, 0, 128, 0)


def test_another_clear_value_resolves_first_if_groups_rely_on_the_old_one() -> None:
    model = Model(16, 8)
    model.clear(1.0)
    model.clear(0.5, (2, 1, 9, 5))
    assert model.counts["resolve_bytes"] == 16 * 8 * 4
    assert (model.depth(0, 0), model.depth(2, 1), model.depth(8, 4), model.depth(9, 5)) == (
        ONE, d24(0.5), d24(0.5), ONE)
    assert not model.difference.found


def test_a_part_of_a_group_can_be_cleared() -> None:
    model = Model()
    model.clear(1.0)
    model.draw((0.5, 1 / 1024, 0.0))
    model.clear(1.0, (0, 0, 3, 4))
    assert model.half(0).mask == 0x8888
    model.clear(1.0, (3, 0, 8, 4))
    assert model.entry() == (0x7FFF_FFFF_FFFF_0000,) * 2
    assert not model.difference.found


def test_a_resolve_is_complete_and_repeatable() -> None:
    model = Model(40, 24, samples=4)
    model.clear(1.0)
    model.draw(FLAT, ((0, 0), (16, 0), (0, 16)))
    model.draw((0.5, 1 / 1024, 0.0), ((8, 8), (200, 8), (8, 200)), function=C.LESS)
    model.resolve()
    for x, y, s in product(range(40), range(24), range(4)):
        assert model.stored(x, y, s) == model.depth(x, y, s)
    once = model.counts
    model.resolve()
    assert model.counts["resolve_bytes"] == once["resolve_bytes"]
    assert not model.difference.found


@pytest.mark.parametrize("depth_format", [D24, D32F])
def test_an_ambiguated_group_decides_nothing_and_is_right(depth_format: int) -> None:
    model = Model(depth_format=depth_format)
    model.clear(1.0)
    model.resolve()
    model.ambiguate()
    assert model.census[3 if depth_format == D32F else 1] == 1
    assert model.draw(FLAT, function=C.LESS) == 32
    assert model.counts["undecided"] == 2
    assert not model.difference.found


def test_depths_outside_0_to_1_make_a_range_unknown() -> None:
    model = Model(depth_format=D32F)
    model.clear(1.0)
    model.draw((2.0, 0.0, 0.0), function=C.GREATER, maximum=3.0, computed=True)
    assert model.census == (0, 0, 0, 1)
    assert model.draw((1.5, 0.0, 0.0), function=C.LESS, maximum=3.0) == 32
    assert model.counts["undecided"] == 2
    assert not model.difference.found


@pytest.mark.parametrize(("width", "height"), list(product((1, 3, 4, 7, 9, 13), (1, 3, 5, 6))))
def test_groups_at_the_edges_count_only_pixels_of_the_surface(width: int, height: int) -> None:
    model = Model(width, height, samples=2)
    model.clear(1.0)
    model.draw((0.5, 1 / 1024, 0.0))
    planes = model.census[0]
    assert planes == -(-width // 8) * -(-height // 4)
    model.draw(FLAT, ((0, 0), (width, 0), (0, height)), function=C.LESS)
    model.resolve()
    assert not model.difference.found
    assert model.base == tuple(model.counts[f"base_{name}_bytes"] for name in ("read", "write", "clear"))


def test_the_model_stops_at_the_first_difference() -> None:
    model = Model(16, 8)
    model.clear(1.0)
    model.set_entry((encode(0xFFFF, 0, 1), encode(0xFFFF, 0, 1)), 1, 1)  # depths that the buffer does not have
    model.draw(FLAT, function=C.LESS)
    found = model.difference
    assert (found.found, found.is_verdict, found.x, found.y, found.sample) == (True, True, 8, 4, 0)
    assert (found.actual, found.expected) == (0, 1)
    assert model.soak(1, 10) == 0


def test_an_exact_depth_buffer_shows_entries_that_contradict_it() -> None:
    model = Model(exact=True)
    model.clear(1.0)
    assert model.counts["contradictions"] == 0
    model.set_entry((encode(0xFFFF, 0, 1), encode(0xFFFF, 0, 1)))
    model.draw(FLAT, function=C.LESS)
    assert model.counts["contradictions"] == 3  # the entry, and the verdicts of both halves


# --- all together ----------------------------------------------------------------------------------------------------
def test_all_pairs_of_draws_over_four_pixels_of_two_samples() -> None:
    model = Model(4, 1, samples=2)
    assert model.exhaust() == 768 * 6144, model.difference


@pytest.mark.parametrize("samples", SAMPLES)
@pytest.mark.parametrize("depth_format", [D24, D16, D32F])
def test_random_draws_clears_and_resolves(samples: int, depth_format: int) -> None:
    """7000 steps each, 105000 in all; no depth or verdict differs, and the bytes of the plain buffer are counted twice
    alike."""
    model = Model(29, 18, samples=samples, depth_format=depth_format)
    model.clear(1.0)
    assert model.soak(samples + 100 * depth_format, 7000) == 7000, model.difference
    model.resolve()
    assert not model.difference.found
    assert model.base == tuple(model.counts[f"base_{name}_bytes"] for name in ("read", "write", "clear"))
    assert all(model.counts[name] for name in ("passed", "failed", "undecided", "plane_exact", "expand_bytes"))


def test_ranges_of_corners_give_the_same_depths_and_decide_less() -> None:
    found = []
    for corners in (False, True):
        model = Model(64, 64, samples=4)
        model.clear(1.0)
        for i in range(24):
            model.draw((0.9 - i / 40, i / 5000, -i / 7000), ((i, 0), (60, 3 * i), (0, 50)), function=C.LEQUAL,
                       corners=corners)
        found.append((model.counts["undecided"],
                      [model.depth(x, y, s) for x, y, s in product(range(64), range(64), range(4))]))
        assert not model.difference.found
    assert found[0][1] == found[1][1]
    assert found[0][0] <= found[1][0]


@pytest.mark.parametrize("samples", SAMPLES)
def test_what_a_full_screen_triangle_saves(samples: int) -> None:
    """64x64, D24: a clear, a triangle, and one behind it."""
    model = Model(64, 64, samples=samples)
    whole = 64 * 64 * samples * 4
    model.clear(1.0)
    assert model.counts["entry_write_bytes"] == 2048
    assert model.base == (0, 0, whole)
    model.draw(FLAT, EVERYWHERE, function=C.LESS)
    counts = model.counts
    assert (counts["entry_read_bytes"], counts["entry_write_bytes"]) == (2048, 4096)
    assert counts["depth_read_bytes"] == counts["depth_write_bytes"] == 0
    assert model.base == (whole, whole, whole)
    assert model.census == (128, 0, 0, 0)
    assert model.draw((0.5, 0.0, 0.0), EVERYWHERE, function=C.LESS) == 0
    after = model.counts
    changed = {name for name in after if after[name] != counts[name]}
    assert changed == {"groups_tested", "halves_tested", "plane_exact", "entry_read_bytes", "base_read_bytes"}
    assert after["entry_read_bytes"] == 4096
