"""The debugger's commands on captures and small scenes (spec/60 9.4 D2 to D8, D15 to D18)."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from gen4emu.cli.main import run
from gen4emu.debug.shell import COMMANDS

TRACES = Path(__file__).parent.parent.parent / "traces"
FBO = str(TRACES / "fbo-g4x.aub.xz")
CLEAR = str(TRACES / "clear-g4x.aub.xz")
GEARS = str(TRACES / "gears-g4x.aub.xz")

Text = pytest.CaptureFixture[str]


def debug(capsys: Text, trace: str, *commands: str, options: tuple[str, ...] = ()) -> list[str]:
    arguments = [a for command in commands for a in ("-c", command)]
    assert run(["debug", trace, *options, *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def as_json(capsys: Text, trace: str, *commands: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in debug(capsys, trace, *commands, options=("--json",))]


def test_next_goes_from_draw_to_draw(capsys: Text) -> None:
    lines = debug(capsys, FBO, *["next"] * 5)
    heads = [line for line in lines if "3DPRIMITIVE" in line]
    assert [line.split(":")[0] for line in heads] == ["draw 0", "draw 1", "draw 2", "draw 3"]
    assert heads[1] == "draw 1: 3DPRIMITIVE TRILIST, 3 vertices from 0, sequential"
    assert "  kernels: vs 0x0010e500, clip 0x0010e800, sf 0x0010f300, wm 0x0010e5c0" in lines
    assert lines[-1] == "the trace has ended"


def test_a_trapped_pixel_stops_before_its_thread_and_the_draw_goes_on_as_ever(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100", "c", "c", "where", "list", "delete 1", "c")
    assert lines[0] == "trap 1: pixel 100 100"
    stops = [line for line in lines if "trap 1 (pixel" in line]
    assert [line.split(",")[0] for line in stops] == ["draw 0", "draw 1", "draw 1"]
    assert stops[1].startswith("draw 1, wm thread ")
    assert stops[1].endswith("of object 1: trap 1 (pixel 100 100), instance 2")
    assert "1: pixel 100 100, 2 hits" in lines
    assert lines[-1] == "the trace has ended"


def test_a_pixel_in_one_object_only(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100 object 3", *["c"] * 9)
    assert [line for line in lines if "trap 1 (" in line] == [
        "draw 2, wm thread 7168 of object 3: trap 1 (pixel 100 100 object 3), instance 1"] or \
        ["object 3" in line for line in lines if "trap 1 (" in line] == [True]


@pytest.mark.parametrize(("trap", "stop"), [
    ("trap primitive 1", "draw 1, sf thread 1 of object 1: trap 1 (primitive 1)"),
    ("trap vertex 2 in vs", "draw 0: trap 1 (vertex 2 in vs), not shaded"),
    ("trap sequence 5", "draw 1, vs thread 1: trap 1 (sequence 5)"),
    ("trap thread 1 in sf", "draw 1, sf thread 1 of object 1: trap 1 (thread 1 in sf)"),
    ("trap every in vs", "draw 1, vs thread 0: trap 1 (every in vs)"),
    ("trap id 1 in vs", "draw 1, vs thread 1: trap 1 (id 1 in vs)"),
    ("halt in vs", "draw 1, vs thread 0: trap 1 (halt)"),
])
def test_traps_of_other_units(trap: str, stop: str, capsys: Text) -> None:
    assert stop in debug(capsys, FBO, trap, "c")


@pytest.mark.parametrize(("where", "expected"), [
    ("break ip 0x0010e5c0", "0x0010e5c0"),
    ("break opcode send in vs", "send(8)"),
    ("break eot in sf", "EOT"),
    ("break sfid urb in vs", "urb"),
    ("break message 0x05000000 0x0f000000", "write"),
])
def test_breakpoints(where: str, expected: str, capsys: Text) -> None:
    lines = debug(capsys, FBO, where, "c")
    assert f"breakpoint 1 ({where.removeprefix('break ')})" in lines[1]
    assert lines[2].startswith("=> 0x")
    assert expected in lines[2]


def test_breakpoints_in_flagged_threads_only(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100 2 quiet", "break eot flagged", "c", "c")
    stops = [line for line in lines if "breakpoint 2 (" in line]
    assert len(stops) == 1
    assert stops[0].startswith("draw 1, wm thread ")


def test_single_steps_show_one_instruction_after_the_other(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100 2", "c", "step", "step", "step 2", "finish", "step")
    at = [int(line[5:13], 16) for line in lines if line.startswith("=> 0x")]
    code = debug(capsys, FBO, "disasm 0x0010e5c0")
    known = [int(line[5:13], 16) for line in code if line.startswith("   0x")]
    assert at[:4] == [known[0], known[1], known[2], known[4]]
    assert at[4] == known[-1]  # the message that ends the thread
    assert len(at) == 5  # and there is nothing behind it


def test_until_runs_to_an_instruction_once(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100 2", "c", "delete 1", "until 0x0010e5e0", "list", "c")
    assert any("(until 0x0010e5e0)" in line for line in lines)
    assert "no traps, no breakpoints" in lines
    assert lines[-1] == "the trace has ended"


def test_a_thread_shows_masks_and_payload(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100 2", "c", "thread", "regs g0..g1", "regs g1 f", "surfaces", "bases")
    text = "\n".join(lines)
    assert "channels ffff: dispatched ffff" in text
    assert "snapshot_flag True" in text
    assert "subspan_2_x 0x64" in text.replace("\n    ", " ")
    assert "0: 2D 0x00113000 R8G8B8A8_UNORM 256x256x1" in text
    assert "surface state base 0x0010" in text
    assert next(line for line in lines if line.startswith("g1 ")).split()[3] == "00640060"


def test_registers_can_be_set_and_change_the_picture(capsys: Text) -> None:
    """The colour of a pixel is what its thread was told it is."""
    lines = debug(capsys, FBO, "trap pixel 100 100 2", "c", "finish", "set m5.0:f 0.25", "set m5.7:f 0.5", "regs m5 f",
                  "trace messages flagged", "break ip 0x0010e0c0", "c", "x 0x00113000")
    written = next(line.split() for line in lines if line.startswith("    m5 "))
    assert (written[1], written[8]) == ("0.25", "0.5")
    assert sum("0x85a04800" in line for line in lines) == 2  # where it stood, and what it sent


def test_every_message_is_traced_with_payload_and_response(capsys: Text) -> None:
    found = as_json(capsys, FBO, "draw 1", "trace messages in vs,sf", "next", "trace off", "c")
    messages = [m for m in found if m["kind"] == "message"]
    assert {m["thread"]["stage"] for m in messages} == {"vs", "sf"}  # type: ignore[index]
    urb = [m for m in messages if m["function"] == "urb"]
    assert len(urb) >= 3
    assert all(m["end"] for m in urb if m["thread"]["stage"] == "vs")  # type: ignore[index]
    math = [m for m in messages if m["function"] == "math"]
    assert math
    assert all(len(m["payload"]) == 1 and len(m["response"]) == 1 for m in math)  # type: ignore[arg-type]
    assert {m["draw"] for m in messages} == {1}


def test_code_can_be_changed_while_it_runs(capsys: Text) -> None:
    """D17: what is patched is what the thread executes next."""
    lines = debug(capsys, FBO, "trap pixel 100 100 2", "c",
                  "patch 0x0010e5c0 'mov(8) g100<1>F 3.5F { align1 nomask };'", "disasm", "step", "regs g100 f")
    assert any(line.startswith("=> 0x0010e5c0  mov(8)") for line in lines)
    assert lines[-1].split()[1:] == ["3.5"] * 8


def test_watched_memory_stops_whoever_writes_it(capsys: Text) -> None:
    lines = debug(capsys, FBO, "draw 1", "break write 0x00113000..0x00122fff", "c", "thread")
    stop = next(line for line in lines if "has changed" in line)
    assert stop.startswith("draw 1, wm thread ")
    assert "0x00113" in stop


def test_histories_go_as_far_as_the_session_has_come(capsys: Text) -> None:
    lines = debug(capsys, FBO, "history 100 100", "draw 2", "history 100 100", "bt 100 100", "q")
    whole = lines.index("draw 2: 3DPRIMITIVE TRISTRIP, 4 vertices from 0, sequential")
    assert sum("written" in line for line in lines[:whole]) == 4
    part = lines[whole:]
    back = part.index("draw 1, object 1: written", part.index("draw 1, object 1: written") + 1)
    assert sum("written" in line for line in part[:back]) == 2
    assert sum("vs thread" in line for line in part[back:]) == 3


def test_a_restart_keeps_the_traps(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap primitive 1", "c", "restart", "c", "list")
    assert sum("sf thread 1 of object 1: trap 1" in line for line in lines) == 2


def test_answers_are_json_too(capsys: Text) -> None:
    found = as_json(capsys, GEARS, "trap pixel 100 100 2", "c", "thread", "history 100 100", "frobnicate", "errors")
    kinds = [line["kind"] for line in found]
    assert kinds == ["answer", "stop", "answer", "history", "error", "answer"]
    assert found[1]["thread"]["object"] == 974  # type: ignore[index]
    assert len(found[2]["state"]["grf"]) == 128  # type: ignore[index]
    assert found[5]["errors"] == []


NONSENSE = (
    "frobnicate", "trap", "trap pixel", "trap pixel a b", "trap pixel 1 2 object x", "trap nothing", "trap every in xx",
    "break", "break ip", "break ip 5..2", "break opcode frob", "break sfid nobody", "break nowhere", "step", "thread",
    "regs", "regs q3", "set g1 2", "delete 7", "x", "x zz", "disasm", "surfaces", "history 1", "trace", "gang 9",
    "exceptions", "exceptions frob", "policy mild", "limit 9", "eu xx 1", "eu vs", "clear", "sip maybe",
    "patch 0 nonsense", "break write 0..0x20000", "'", "until", "draw",
)
NO_REGISTERS = ("regs g200", "regs m16", "set g0.9 1", "set g0.0:f x", "set f0.2 1", "set m20.0 1", "regs q1", "clear")


def test_commands_that_make_no_sense_say_so_and_the_session_goes_on(capsys: Text) -> None:
    lines = debug(capsys, CLEAR, *NONSENSE, "c")
    assert len(lines) == len(NONSENSE) + 1
    assert lines[-1] == "the trace has ended"


def test_registers_that_are_none(capsys: Text) -> None:
    lines = debug(capsys, CLEAR, "halt", "c", *NO_REGISTERS, "c")
    assert len(lines) == 3 + len(NO_REGISTERS) + 1
    assert lines[-1] == "the trace has ended"


def test_after_the_end_there_is_nothing_to_go_on_with(capsys: Text) -> None:
    lines = debug(capsys, FBO, "c", "c", "next", "where")
    assert lines == ["the trace has ended", *["the trace has ended; `restart` starts it anew"] * 2,
                     "at the end of the trace"]


def test_help_lists_every_command(capsys: Text) -> None:
    lines = debug(capsys, FBO, "help")
    assert [line.split()[0] for line in lines] == [name.split()[0] for name, _, _ in COMMANDS]


def test_commands_come_from_standard_input_too(capsys: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("# to the first draw\nnext\n\nquit\n"))
    assert run(["debug", FBO]) == 0
    assert capsys.readouterr().out.startswith("draw 0: 3DPRIMITIVE RECTLIST")


def test_skipped_draws_are_not_there(capsys: Text) -> None:
    lines = debug(capsys, FBO, "next", options=("--skip-prims", "2"))
    assert lines[0] == "draw 0: 3DPRIMITIVE TRISTRIP, 4 vertices from 0, sequential"
