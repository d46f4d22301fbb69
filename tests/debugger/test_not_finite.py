"""`break nan`: the first instruction of a thread that computes a NaN or an infinity."""

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
