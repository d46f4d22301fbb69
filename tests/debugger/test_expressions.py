"""Expressions: print, watch, lanes, and conditions of traps and breakpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gen4emu.cli.main import run
from gen4emu.debugger.expressions import MOST_CHARACTERS, MOST_DEPTH, Context, ExpressionError, parse
from gen4emu.device.device import Device
from gen4emu.hw.chips import BY_NAME

GEARS = str(Path(__file__).parents[2] / "traces" / "gears-g4x.aub.xz")
HASWELL = str(Path(__file__).parents[2] / "traces" / "later" / "triangle-hsw.aub.xz")
Text = pytest.CaptureFixture[str]
PIXEL = ("trap pixel 160 140 object 814", "c")


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(Device(BY_NAME["g45"]), None)


def debug(capsys: Text, trace: str, *commands: str, status: int = 0) -> list[dict[str, Any]]:
    arguments = [argument for command in commands for argument in ("-c", command)]
    assert run(["debug", trace, "--json", *arguments]) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def values(lines: list[dict[str, Any]]) -> list[Any]:
    return [line["values"] for line in lines if "expression" in line]


@pytest.mark.parametrize(("text", "value"), [
    ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("7 / -2", -3), ("-7 % 3", -1), ("7 / 2.0", 3.5), ("1 / 0.0", float("inf")),
    ("-1.0 / 0", float("-inf")), ("0x10 | 1 << 2", 0x14), ("~0 & 0xff", 0xFF), ("6 ^ 3", 5), ("1 < 2 == 1", 1),
    ("!0 && 2", 1), ("0 || 0", 0), ("0 && 1 / 0", 0), ("min(3, 1.5, 2)", 1.5), ("max(1, abs(-4))", 4),
    ("isnan(nan)", 1), ("isinf(-inf)", 1), ("10 - 4 - 3", 3), ("1e3 + .5", 1000.5), ("- - 2", 2), ("7.5 % 2", 1.5)])
def test_operators_are_those_of_c(text: str, value: float, context: Context) -> None:
    found = parse(text).values(context)
    assert found == [value] and type(found[0]) is type(value)


@pytest.mark.parametrize(("text", "error"), [
    ("", "expected a value at the end of ''"), ("1 +", "expected a value at the end of '1 +'"),
    ("(1", "expected ')' at the end of '(1'"), ("1 2", "unexpected '2' in '1 2'"), ("$", "unexpected '$' in '$'"),
    ("foo", "unknown name 'foo'"), ("g1.0:z", "unknown type 'z' (known: f, df,"), ("[4]:q", "unknown type 'q'"),
    ("g1.8", "a register has 8 elements of that type"), ("f0.2", "unknown register f0.2"),
    ("1 / 0", "division by zero"), ("1 % 0", "division by zero"), ("1.0 & 1", "& needs integers"),
    ("1 << 64", "a shift is 0 to 63"), ("1 << 63 << 2", "does not fit 64 bits"), ("99999999999999999999", "64 bits"),
    ("[0xffffffff]:ud", "is beyond 32 bits"), ("[0 - 4]", "address -4 is negative"), ("[0.5]", "must be an integer"),
    ("g1.0", "no thread is stopped"), ("abs(1, 2)", "abs needs one value"), ("min()", "expected a value"),
    ("(" * 400 + "1", "levels of parentheses"), ("-" * 900 + "1", "levels of parentheses"),
    ("[" * 31 + "0" + "]" * 31, "levels of parentheses"), ("+".join("1" * 400), "operators in a row"),
    ("1" * 1001, "at most 1000 characters"), ("g" + "9" * 900, "no thread is stopped")])
def test_errors_are_clear(text: str, error: str, context: Context) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse(text).values(context)
    assert error in str(raised.value)


def test_the_deepest_expression_is_evaluated(context: Context) -> None:
    assert parse("(" * MOST_DEPTH + "1" + ")" * MOST_DEPTH).values(context) == [1]
    text = "(" * MOST_DEPTH + "1" + "+1" * MOST_DEPTH + (")" + "+1" * 14) * MOST_DEPTH
    assert len(text) <= MOST_CHARACTERS
    assert parse(text).values(context) == [1 + MOST_DEPTH + 14 * MOST_DEPTH]


def test_registers_and_memory_have_types(capsys: Text) -> None:
    lines = debug(capsys, GEARS, *PIXEL, "set g8.0:f 1.5", "print g8.0:f * 2", "print g8.0", "p g8.1:uw", "p g8:f",
                  "p object + draw", "p f0.0 | cr0.0", "p [0x14f200] == 0x00800040 || 1")
    assert values(lines)[:3] == [[3.0], [0x3FC00000], [0x3FC0]]
    assert len(values(lines)[3]) == 16 and values(lines)[4] == [814 + 3] and values(lines)[6] == [1]


@pytest.mark.parametrize(("condition", "draws"), [("draw == 3 && x == 160", [3]), ("draw < 3", [1]), ("0", [])])
def test_a_trap_with_a_condition_stops_and_counts_where_it_holds(condition: str, draws: list[int],
                                                                 capsys: Text) -> None:
    lines = debug(capsys, GEARS, f"trap pixel 160 140 if {condition}", "c", "list")
    stops = [line for line in lines if line["kind"] == "stop"]
    assert sorted({stop["draw"] for stop in stops}) == draws
    item = next(line["items"] for line in lines if "items" in line)[0]
    assert item["hits"] == len(stops) and item["text"] == f"pixel 160 140 if {condition}"


@pytest.mark.parametrize("trace", [GEARS, HASWELL])
def test_a_condition_of_lanes_holds_in_enabled_channels_only(trace: str, capsys: Text) -> None:
    commands = ("trap every in vs", "c", "delete 1", "set g6.7:f 5")
    for test, hit in (("g6:f == 5", True), ("g6:f == 5 && lane != 7", False), ("lane == 8 || lane == 15", False)):
        lines = debug(capsys, trace, *commands, f"break opcode mov in vs if {test}", "c", "list")
        found = [line for line in lines if line["kind"] == "stop"][1:]
        assert (bool(found) and found[0]["thread"]["number"] == 0) == hit, test


def test_a_condition_without_a_value_stops_with_the_error(capsys: Text) -> None:
    lines = debug(capsys, GEARS, "trap every in vs if 1 / (draw - draw)", "c")
    assert lines[-1]["reason"].endswith("its condition has no value: division by zero")


def test_a_condition_survives_the_way_back(capsys: Text) -> None:
    lines = debug(capsys, GEARS, "trap pixel 160 140 if object == 814", "trap every in sf if object == 812", "c", "c",
                  "reverse-continue", "list")
    stops = [(line["thread"]["stage"], line["thread"]["object"]) for line in lines if line["kind"] == "stop"]
    assert stops[2] == stops[0]


def test_watched_expressions_show_values_and_those_before(capsys: Text) -> None:
    lines = debug(capsys, GEARS, *PIXEL, "watch g8.0:f", "watch 1 / 0", "step 3", "unwatch 2", "watch", "unwatch all",
                  "step")
    seen = [line["watches"] for line in lines if line["kind"] == "watch"]
    assert seen[0] == [{"expression": "g8.0:f", "values": [0.0], "before": None, "error": None}]
    assert seen[2][0] == {"expression": "g8.0:f", "values": [8.234375], "before": [0.0], "error": None}
    assert seen[2][1]["error"] == "division by zero"
    assert len(seen) == 4 and len(seen[3]) == 1 and lines[-1]["kind"] == "stop"


def test_lanes_are_blocks_of_pixels(capsys: Text) -> None:
    arguments = [a for command in (*PIXEL, "step 3", "lanes g8.0:f + x") for a in ("-c", command)]
    assert run(["debug", GEARS, *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()[-7:]
    assert lines[0].split() == ["160,140:", "168.2344", "169.2344"]
    assert lines[1].split() == ["168.2344", "169.2344"]
    assert lines[-1].split() == ["channels", "12", "to", "15:", *["(7.234375)"] * 4]


def test_a_quiet_trap_takes_no_condition(capsys: Text) -> None:
    assert run(["debug", GEARS, "-c", "trap every in vs quiet if 1"]) == 2
    assert "a quiet trap does not stop" in capsys.readouterr().err


def test_a_thread_runs_until_an_expression_changes(capsys: Text) -> None:
    lines = debug(capsys, GEARS, *PIXEL, "print g6.3:f", "until g6.3:f changes", "print g6.3:f", "reverse-step",
                  "print g6.3:f", "until g6.3:f changes", "until g127.7 changes", "until g127.7 changes")
    stops = [line for line in lines if line["kind"] == "stop"]
    before, after, again = values(lines)
    assert before == again != after
    assert [stop["executed"] for stop in stops[1:3]] == [stops[1]["executed"], stops[1]["executed"] - 1]
    assert stops[3]["address"] == stops[1]["address"]
    assert stops[4]["address"] == 0x14F310, "the send that ends the thread"
    assert len(stops) == 5 or stops[5]["thread"]["number"] != stops[4]["thread"]["number"]


def test_until_needs_an_address_or_a_change(capsys: Text) -> None:
    debug(capsys, GEARS, *PIXEL, "until g6.3 grows", status=2)
    debug(capsys, GEARS, "until g6.3 changes", status=2)


def test_memory_names_the_draw_that_changed_it(capsys: Text) -> None:
    lines = debug(capsys, GEARS, "origin 0x0010e000", "draw 5", "origin 0x0010e000", "origin 0x003ab000 16")
    found = [(line["change"]["kind"], line["change"]["draw"], line["bytes"]) for line in lines if "change" in line]
    assert found == [("none", None, 4), ("draw", 1, 4), ("upload", 0, 16)]
