"""`break nan` and `break denormal`: the first instruction of a thread that meets such a number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gen4emu.cli.main import run

TRACES = Path(__file__).parents[2] / "traces"
Text = pytest.CaptureFixture[str]
# The second instruction of the first vertex shader, which has 16 bytes: the tests replace it.
DEVICES = pytest.mark.parametrize(("trace", "at"), [
    ("gears-g4x", 0x14F390), ("gears-brw", 0x14F510), ("later/triangle-ivb", 0x10B008),
    ("later/triangle-hsw", 0x10B008)])


def debug(capsys: Text, trace: str, *commands: str) -> list[dict[str, Any]]:
    arguments = [argument for command in commands for argument in ("-c", command)]
    assert run(["debug", str(TRACES / f"{trace}.aub.xz"), "--json", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def stops(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if line["kind"] == "stop"]


def replaced(at: int, code: str) -> tuple[str, ...]:
    """Stop at the start of the first vertex shader thread, and replace its second instruction."""
    return ("trap every in vs", "c", "delete 1", "break nan in vs", f"patch {at:#x} '{code}'")


PRODUCT = "mul(8) g7<1>F g7<8,8,1>F 0F { align1 nomask };"


@DEVICES
def test_a_thread_stops_behind_infinity_times_zero(trace: str, at: int, capsys: Text) -> None:
    lines = debug(capsys, trace, *replaced(at, PRODUCT), "set g7.1:f inf", "c", "regs g7 f", "step")
    _, stop, stepped = stops(lines)
    found = stop["not_finite"]
    assert found["address"] == at and stop["address"] == at + 16 and stop["executed"] == 2
    assert found["channel"] == 1 and found["result"] == "nan" and found["sources"] == ["inf", "0"]
    assert found["text"].startswith("mul(8)") and found["pixel"] is None
    assert stop["reason"] == f"breakpoint 2 (nan in vs), 0x{at:08x} has computed a NaN in channel 1"
    registers = next(line["registers"] for line in lines if "registers" in line)
    assert registers["g7"][1] & 0x7FC00000 == 0x7FC00000, "the instruction has been executed"
    assert stepped["executed"] == stop["executed"] + 1 and stepped["address"] > stop["address"]


@DEVICES
@pytest.mark.parametrize("code", [
    "(+f0) mul(8) g7<1>F g7<8,8,1>F 0F { align1 nomask };",
    "cmp.z.f0(8) g7<1>F g8<8,8,1>F g8<8,8,1>F { align1 nomask };",
    "mov(8) g7<1>UD 0x7fc00000UD { align1 nomask };"])
def test_disabled_channels_comparisons_and_integers_do_not_count(trace: str, at: int, code: str, capsys: Text) -> None:
    lines = debug(capsys, trace, *replaced(at, code), "set g7.1:f inf", "set f0.0 0xfd", f"break ip {at + 16:#x}", "c")
    assert stops(lines)[1]["reason"].startswith("breakpoint 3 (ip")


def test_one_over_zero_is_found_in_a_message_to_the_math_function(capsys: Text) -> None:
    lines = debug(capsys, "gears-g4x", "trap every in vs", "c", "delete 1", "catch nan", "set g2.3:f -0", "c")
    found = stops(lines)[1]["not_finite"]
    assert found["text"].startswith("send(8)") and found["channel"] == 3
    assert found["result"] == "-inf" and found["sources"] == ["-0"]


def test_the_pixel_of_the_channel_is_named_and_back_leads_before_the_instruction(capsys: Text) -> None:
    lines = debug(capsys, "gears-g4x", "trap pixel 160 140 object 814", "c", "delete 1", "break nan", "set g3.4:f inf",
                  "disasm all", "c", "where", "reverse-step", "where")
    stop, back = (stops(lines)[i] for i in (1, -1))
    assert stop["not_finite"]["pixel"] == [160, 140]
    assert back["address"] == stop["not_finite"]["address"] and back["executed"] == stop["executed"] - 1


def test_scenes_without_infinities_do_not_stop(capsys: Text) -> None:
    for trace in ("gears-g4x", "texture-g4x", "later/triangle-hsw"):
        assert stops(debug(capsys, trace, "break nan", "c")) == []


# --- denormals --------------------------------------------------------------------------------------------------------
KEPT = 1 << 7  # of cr0.0 from Gen7 on: denormals of floats


def denormals(capsys: Text, trace: str, at: int, code: str, *commands: str) -> list[dict[str, Any]]:
    """The stops after `code` has replaced an instruction whose operand is g7."""
    setup = ("trap every in vs", "c", "delete 1", "break denormal in vs", f"patch {at:#x} '{code}'",
             f"break ip {at + 16:#x} in vs", *commands, "c")
    return [stop.get("denormal", {}) for stop in stops(debug(capsys, trace, *setup))[1:2]]


@DEVICES
def test_a_denormal_operand_stops_after_the_instruction_that_reads_it(trace: str, at: int, capsys: Text) -> None:
    """2^-130 times 2^100 is computed as zero times 2^100."""
    code = f"mul(8) g7<1>F g7<8,8,1>F {2.0**100!r}F {{ align1 nomask }};"
    (found,) = denormals(capsys, trace, at, code, "set g7.5:f 7.346839692639297e-40")
    assert found["address"] == at and found["channel"] == 5 and found["operand"] == 0
    assert found["sources"] == ["7.34683969e-40", "1.2676506e+30"] and found["result"] == "0"


@DEVICES
@pytest.mark.parametrize(("code", "values"), [
    ("mul(8) g7<1>F g7<8,8,1>F g8<8,8,1>F", (2.0**-70, 2.0**-60)),
    ("add(8) g7<1>F g7<8,8,1>F -g8<8,8,1>F", (1.5 * 2.0**-126, 2.0**-126))])
def test_a_flushed_denormal_result_stops(trace: str, at: int, code: str, values: tuple[float, float],
                                         capsys: Text) -> None:
    first, second = values
    (found,) = denormals(capsys, trace, at, f"{code} {{ align1 nomask }};", f"set g7.2:f {first!r}",
                         f"set g8.2:f {second!r}")
    assert found["channel"] == 2 and found["operand"] is None and found["result"] == "0"


@DEVICES
@pytest.mark.parametrize(("code", "first", "second"), [
    ("mul(8) g7<1>F g7<8,8,1>F g8<8,8,1>F", 2.0**-100, 2.0**-100),  # smaller than the smallest denormal
    ("mul(8) g7<1>F g7<8,8,1>F g8<8,8,1>F", 2.0**-63, 2.0**-63),  # the smallest normal number
    ("mul.sat(8) g7<1>F g7<8,8,1>F -g8<8,8,1>F", 2.0**-70, 2.0**-60),
    ("add(8) g7<1>F g7<8,8,1>F -g8<8,8,1>F", 2.0**-126, 2.0**-126),  # exactly 0
    ("mov(8) g7<1>F g8<8,8,1>F", 1.0, 7.346839692639297e-40)])  # copies bits: maybe an integer
def test_exact_zeros_and_copies_of_bits_do_not_stop(trace: str, at: int, code: str, first: float, second: float,
                                                    capsys: Text) -> None:
    assert denormals(capsys, trace, at, f"{code} {{ align1 nomask }};", f"set g7.2:f {first!r}",
                     f"set g8.2:f {second!r}") == [{}], "the breakpoint behind it is hit first"


@pytest.mark.parametrize(("trace", "at"), [("later/triangle-ivb", 0x10B008), ("later/triangle-hsw", 0x10B008)])
def test_a_denormal_result_that_the_thread_keeps_stops(trace: str, at: int, capsys: Text) -> None:
    (found,) = denormals(capsys, trace, at, "mul(8) g7<1>F g7<8,8,1>F g8<8,8,1>F { align1 nomask };",
                         f"set g7.2:f {2.0**-70!r}", f"set g8.2:f {2.0**-60!r}", f"set cr0.0 {KEPT:#x}")
    assert found["operand"] is None and found["result"] == "7.34683969e-40"


@DEVICES
def test_a_denormal_is_found_where_it_is_compared(trace: str, at: int, capsys: Text) -> None:
    (found,) = denormals(capsys, trace, at, "cmp.z.f0(8) null<1>F g7<8,8,1>F g8<8,8,1>F { align1 nomask };",
                         "set g8.3:f 7.346839692639297e-40")
    assert found["operand"] == 1 and found["channel"] == 3 and found["result"] is None


def test_an_inverse_that_is_denormal_is_found_in_a_message_to_the_math_function(capsys: Text) -> None:
    lines = debug(capsys, "gears-g4x", "trap every in vs", "c", "delete 1", "break denormal", "set g2.3:f 3e38", "c",
                  "reverse-step")
    stop, back = stops(lines)[1:]
    assert stop["denormal"]["text"].startswith("send(8)") and stop["denormal"]["channel"] == 3
    assert stop["denormal"]["operand"] is None and stop["denormal"]["result"] == "0"
    assert "has flushed a denormal result to 0 in channel 3" in stop["reason"]
    assert back["address"] == stop["denormal"]["address"]


def test_scenes_without_denormals_do_not_stop(capsys: Text) -> None:
    assert stops(debug(capsys, "later/triangle-kbl", "break denormal", "c")) == []


@pytest.mark.parametrize(("function", "first", "second", "stops_there"), [
    ("inv", 3e38, 0, True), ("exp", -130.5, 0, True), ("exp", -150.5, 0, False), ("fdiv", 2.0**-120, 2.0**20, True),
    ("fdiv", 0.0, 2.0**20, False)])
def test_denormal_results_of_the_math_instruction(function: str, first: float, second: float, stops_there: bool,
                                                  capsys: Text) -> None:
    operands = "g7<8,8,1>F g8<8,8,1>F" if function == "fdiv" else "g7<8,8,1>F null<8,8,1>F"
    (found,) = denormals(capsys, "later/triangle-ivb", 0x10B008,
                         f"math {function}(8) g7<1>F {operands} {{ align1 nomask }};", "set g7.2:f 1",
                         f"set g7.4:f {first!r}", f"set g8.4:f {second!r}")
    assert found.get("channel") == (4 if stops_there else None)
