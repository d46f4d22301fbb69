"""The commands of the debugger, on captures and small scenes."""

from __future__ import annotations

import io
import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from gen4emu.cli.main import run
from gen4emu.debugger.shell import COMMANDS, completions
from gen4emu.device.device import Device
from gen4emu.device.replay import Bookmark, Replay
from gen4emu.device.timeline import Bookmarks
from gen4emu.hw.command_reader import Words
from gen4emu.image.compare import compare, load, pair
from tests.harness.commands import endless_batch
from tests.harness.joined import join

TRACES = Path(__file__).parent.parent.parent / "traces"
FBO = str(TRACES / "fbo-g4x.aub.xz")
CLEAR = str(TRACES / "clear-g4x.aub.xz")
GEARS = str(TRACES / "gears-g4x.aub.xz")

Text = pytest.CaptureFixture[str]


def debug(capsys: Text, trace: str, *commands: str, options: tuple[str, ...] = (), status: int = 0) -> list[str]:
    arguments = [a for command in commands for a in ("-c", command)]
    assert run(["debug", trace, *options, *arguments]) == status
    return capsys.readouterr().out.splitlines()


def errors(capsys: Text, trace: str, *commands: str) -> list[str]:
    """The messages of failing commands on standard error, without their prefix."""
    arguments = [a for command in commands for a in ("-c", command)]
    assert run(["debug", trace, "--keep-going", *arguments]) == 2
    return [line.removeprefix("gen4emu: ") for line in capsys.readouterr().err.splitlines()]


def as_json(capsys: Text, trace: str, *commands: str) -> list[dict[str, object]]:
    """The lines after the first, which names schema and file."""
    lines = [json.loads(line) for line in debug(capsys, trace, *commands, options=("--json",))]
    assert lines[0] == {"kind": "session", "schema": "gen4emu.debug/1", "file": trace}
    return lines[1:]


def test_next_goes_from_draw_to_draw(capsys: Text) -> None:
    lines = debug(capsys, FBO, *["next"] * 5)
    heads = [line for line in lines if "3DPRIMITIVE" in line]
    assert [line.split(":")[0] for line in heads] == ["draw 0", "draw 1", "draw 2", "draw 3"]
    assert heads[1] == "draw 1: 3DPRIMITIVE TRILIST, 3 vertices from 0, sequential"
    assert "  kernels: vs 0x0010e500, clip 0x0010e800, sf 0x0010f300, wm 0x0010e5c0" in lines
    assert lines[-1] == "the trace has ended"


def test_a_trapped_pixel_stops_before_its_thread_and_the_draw_continues_unchanged(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100", "c", "c", "where", "list", "delete 1", "c")
    assert lines[0] == "trap 1: pixel 100 100"
    stops = [line for line in lines if "trap 1 (pixel" in line]
    assert [line.split(",")[0] for line in stops] == ["draw 0", "draw 1", "draw 1"]
    assert stops[1].startswith("draw 1, wm thread ")
    assert stops[1].endswith("of object 1: trap 1 (pixel 100 100), instance 2")
    assert "1: pixel 100 100, 2 hits" in lines
    assert lines[-1] == "the trace has ended"


def test_a_pixel_in_one_object_only(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100 object 3", "c", "c")
    assert [line for line in lines if "trap 1 (" in line] == [
        "draw 2, wm thread 7168 of object 3: trap 1 (pixel 100 100 object 3), instance 1"]
    assert lines[-1] == "the trace has ended"


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


@pytest.mark.parametrize(("trace", "function", "expected"), [
    ("triangle-ivb", "urb", "urb"), ("triangle-ivb", "render", "render"), ("triangle-kbl", "sfid5", "render"),
    ("triangle-kbl", "urb", "urb")])
def test_breakpoints_at_functions_of_later_generations(trace: str, function: str, expected: str, capsys: Text) -> None:
    """The number of the function is in the instruction, not in the descriptor."""
    lines = debug(capsys, str(TRACES / "later" / f"{trace}.aub.xz"), f"break sfid {function}", "c")
    assert f"breakpoint 1 (sfid {function})" in lines[1]
    assert expected in lines[2]
    assert "send" in lines[2]


def test_functions_have_the_names_of_their_generation(capsys: Text) -> None:
    (line,) = errors(capsys, str(TRACES / "later" / "triangle-kbl.aub.xz"), "break sfid nobody")
    assert "unknown shared function 'nobody' (known: null, sampler, gateway" in line


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
    assert len(at) == 5  # and there is nothing after it


def test_until_runs_to_an_instruction_once(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100 2", "c", "delete 1", "until 0x0010e5e0", "list", "c")
    assert any("(until 0x0010e5e0)" in line for line in lines)
    assert "there are no traps or breakpoints" in lines
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
    """The color of a pixel is the one that the command wrote into its thread."""
    lines = debug(capsys, FBO, "trap pixel 100 100 2", "c", "finish", "set m5.0:f 0.25", "set m5.7:f 0.5", "regs m5 f",
                  "trace messages flagged", "break ip 0x0010e0c0", "c", "x 0x00113000")
    written = next(line.split() for line in lines if line.startswith("    m5 "))
    assert (written[1], written[8]) == ("0.25", "0.5")
    assert sum("0x85a04800" in line for line in lines) == 2  # where it stood, and what it sent


def test_every_message_is_traced_with_payload_and_response(capsys: Text) -> None:
    found = as_json(capsys, FBO, "draw 1", "trace messages in vs,sf", "next", "trace off", "c")
    messages = [m for m in found if m["kind"] == "message"]
    assert {m["thread"]["stage"] for m in messages} == {"vs", "sf"}
    urb = [m for m in messages if m["function"] == "urb"]
    assert len(urb) >= 3
    assert all(m["end"] for m in urb if m["thread"]["stage"] == "vs")
    math = [m for m in messages if m["function"] == "math"]
    assert math
    assert all(len(m["payload"]) == 1 and len(m["response"]) == 1 for m in math)
    assert {m["draw"] for m in messages} == {1}


def test_code_can_be_changed_while_it_runs(capsys: Text) -> None:
    """The thread executes the patched instruction."""
    lines = debug(capsys, FBO, "trap pixel 100 100 2", "c",
                  "patch 0x0010e5c0 'mov(8) g100<1>F 3.5F { align1 nomask };'", "disasm", "step", "regs g100 f")
    assert any(line.startswith("=> 0x0010e5c0  mov(8)") for line in lines)
    assert lines[-1].split()[1:] == ["3.5"] * 8


def test_watched_memory_stops_any_thread_that_writes_it(capsys: Text) -> None:
    lines = debug(capsys, FBO, "draw 1", "break write 0x00113000..0x00122fff", "c", "thread")
    stop = next(line for line in lines if "has changed" in line)
    assert stop.startswith("draw 1, wm thread ")
    assert "0x00113" in stop


def test_histories_go_as_far_as_the_session_has_come(capsys: Text) -> None:
    lines = debug(capsys, FBO, "history 100 100", "draw 2", "history 100 100", "bt 100 100", "q")
    whole = lines.index("draw 2: 3DPRIMITIVE TRISTRIP, 4 vertices from 0, sequential")
    assert sum(line.endswith(": written") for line in lines[:whole]) == 4
    part = lines[whole:]
    back = part.index("frame 0, submission 0, draw 1, object 1: written")
    assert sum(line.endswith(": written") for line in part[:back]) == 2
    assert sum("vs thread" in line for line in part[back:]) == 3


def test_a_history_begins_with_the_verdict(capsys: Text) -> None:
    lines = debug(capsys, GEARS, "history 100 100 0x0010e000")
    assert lines[0] == ("pixel 100,100: drawn last by draw 4, object 974, ps kernel 0x0014f200; "
                        "1 later fragment failed the depth test before the shader")
    assert lines[1] == "3 fragments, 1 target, 1 frame"
    assert [line.strip() for line in lines if ", object " in line and line.startswith("  frame")] == [
        "frame 0, submission 0, draw 4, object 983: failed the depth test before the shader",
        "frame 0, submission 0, draw 4, object 974: written", "frame 0, submission 0, draw 1, object 2: written"]


def test_a_history_is_grouped_by_target_and_frame_newest_first(tmp_path: Path, capsys: Text) -> None:
    path = tmp_path / "twice.aub"
    path.write_bytes(2 * lzma.decompress(Path(FBO).read_bytes()))
    lines = debug(capsys, str(path), "history 100 100")
    assert lines[1] == "8 fragments, 3 targets, 2 frames"
    heads = [line.split(":")[0] for line in lines if line.startswith("target ")]
    assert [head.split(" ", 3)[1] + head.split(",")[1] for head in heads] == [
        f"{target} frame {frame}" for frame in (1, 0) for target in ("0x003d8000", "0x00356000", "0x00113000")]
    chosen = debug(capsys, str(path), "history 100 100 frame 0")
    assert chosen[1] == "4 fragments, 3 targets, 1 frame"
    assert not any("frame 1" in line for line in chosen)
    assert errors(capsys, str(path), "history 100 100 frame 2") == [f"{path}: no frame 2: it has 2 frames, 0 to 1"]


def test_a_pixel_that_nothing_covers(capsys: Text) -> None:
    assert debug(capsys, FBO, "history 8000 8000") == ["pixel 8000,8000: nothing covered it"]


def test_on_the_way_to_a_draw_the_device_has_no_debugger(monkeypatch: pytest.MonkeyPatch, capsys: Text) -> None:
    """Full speed: the core is attached only where there is something to stop at."""
    attached: list[bool] = []
    real = Device._run_draw

    def run_draw(self: Device, words: Words) -> None:
        real(self, words)
        attached.append(self.observer.attached)

    monkeypatch.setattr(Device, "_run_draw", run_draw)
    debug(capsys, GEARS, "draw 4", "trap pixel 100 100", "c", "delete 1", "c")
    assert attached[:4] == [False] * 4
    assert attached[4]
    attached.clear()
    debug(capsys, GEARS, "trap pixel 8000 8000", "draw 4")
    assert attached[:4] == [True] * 4


def test_the_first_command_that_fails_ends_a_script(capsys: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["debug", FBO, "-c", "where", "-c", "foo", "-c", "list"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "before the first submission\n"
    assert captured.err == "gen4emu: unknown command 'foo'; `help` lists all\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("foo\nlist\n"))
    assert run(["debug", FBO]) == 2
    assert capsys.readouterr().out == ""
    assert run(["debug", FBO, "--keep-going", "-c", "foo", "-c", "where"]) == 2
    assert capsys.readouterr().out == "before the first submission\n"


@pytest.mark.parametrize(("command", "text"), [
    ("contnue", "unknown command 'contnue'; did you mean 'continue'?; `help` lists all"),
    ("e", "ambiguous command 'e': edit, errors, exceptions, eu"),
    ("history 9999 1", "x must be 0 to 8191, not 9999"), ("history 1 -1", "y must be 0 to 8191, not -1"),
    ("history a 1", "x must be a number, not 'a'"), ("gang 9", "count of threads must be 1 to 8, not 9"),
    ("trap pxel 1 2", "unknown trap 'pxel'; did you mean 'pixel'?"),
    ("break opcode snd", "unknown opcode 'snd'; did you mean send?"),
    ("trap every in pz", "unknown stage 'pz' (known: clip, ds, gs, hs, media, ps, sf, ts, vs, wm)"),
    ("delete 7", "no trap or breakpoint 7"), ("regs g3", "no thread is stopped"),
    ("regs q3", "invalid register 'q3' (examples: g4, g0..g9, m2..m5)"),
])
def test_errors_say_what_would_be_right(command: str, text: str, capsys: Text) -> None:
    assert errors(capsys, FBO, command) == [text]


def test_a_draw_that_never_comes_is_an_error(capsys: Text) -> None:
    assert errors(capsys, FBO, "draw 99") == ["no draw 99: the trace has 4 draws, 0 to 3"]
    assert debug(capsys, FBO, "draw 3", "next")[-1] == "the trace has ended"


def heads(lines: list[str]) -> list[str]:
    return [line for line in lines if "3DPRIMITIVE" in line]


def test_previous_goes_back_a_draw(capsys: Text) -> None:
    lines = debug(capsys, FBO, "draw 3", "bases", "previous", "previous", "next", "next", "bases")
    assert [line.split(":")[0] for line in heads(lines)] == ["draw 3", "draw 2", "draw 1", "draw 2", "draw 3"]
    bases = lines[2:lines.index(heads(lines)[1])]
    assert bases
    assert lines[-len(bases):] == bases
    assert errors(capsys, FBO, "previous", "draw 0", "previous") == ["no draw has begun before this one"] * 2


def test_checkpoints_show_the_draws_that_the_trace_shows(tmp_path: Path, capsys: Text,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    path = join(tmp_path / "joined.g4c", "fbo-g4x", "gears-g4x", "texture-g4x", "stencil-g4x")
    look = ("bases", "x 0x0010e000 64")
    forwards = debug(capsys, path, *(command for _ in range(8) for command in ("next", *look)))
    begun: list[int] = []

    class Counted(Replay):
        def bookmark(self) -> Bookmark | None:
            begun.append(self.submissions)
            return super().bookmark()

    monkeypatch.setattr("gen4emu.debugger.session.Replay", Counted)
    monkeypatch.setattr("gen4emu.debugger.session.Bookmarks", lambda: Bookmarks(interval=0))
    order = (7, 3, 6, 0, 5, 5, 1)
    jumps = debug(capsys, path, "draw 7", *(c for draw in order for c in (f"draw {draw}", *look)))
    shown = "\n".join(forwards).split("\ndraw ")
    for part, draw in zip("\n".join(jumps).split("\ndraw ")[1:], order, strict=True):
        assert part == shown[draw].removeprefix("draw ")
    assert begun


def test_draw_goes_back_too(capsys: Text) -> None:
    lines = debug(capsys, FBO, "draw 3", "draw 1", "draw 1", "draw 2")
    assert [line.split(":")[0] for line in lines if "3DPRIMITIVE" in line] == ["draw 3", "draw 1", "draw 1", "draw 2"]


def test_the_end_of_a_trace_is_not_final(capsys: Text) -> None:
    lines = debug(capsys, FBO, "c", "previous", "c", "draw 1")
    assert [line.split(":")[0] for line in lines if "3DPRIMITIVE" in line or "ended" in line] == [
        "the trace has ended", "draw 3", "the trace has ended", "draw 1"]


def test_traps_count_on_the_way_back_and_stop_again_behind_it(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap pixel 100 100", "c", "c", "c", "previous", "where", "list", "c")
    stops = [line for line in lines if "trap 1 (pixel" in line]
    assert [line.split(",")[0] for line in stops] == ["draw 0", "draw 1", "draw 2", "draw 1"]
    assert stops[3] == stops[1]
    assert "1: pixel 100 100, 1 hit" in lines


def test_a_patch_does_not_survive_the_way_back(capsys: Text) -> None:
    code = "x 0x0010e0c0 16"
    patch = "patch 0x0010e0c0 'mov(8) g2<1>F g3<8,8,1>F { align1 };'"
    lines = debug(capsys, FBO, "draw 2", code, patch, code, "draw 3", "draw 2", code)
    dumps = [line for line in lines if line.startswith("0x0010e0c0")]
    assert dumps[0] == dumps[2] != dumps[1]


def test_memory_that_is_not_there_is_an_error(capsys: Text) -> None:
    assert errors(capsys, FBO, "draw 1", "x 0x7f000000") == ["nothing has written memory at 0x7f000000"]


def test_a_history_ends_at_a_hang_with_status_3(tmp_path: Path, capsys: Text) -> None:
    path = tmp_path / "endless.bin"
    path.write_bytes(endless_batch())
    lines = debug(capsys, str(path), "history 1 1", options=("--raw", "-d", "g45"), status=3)
    assert lines[0] == "pixel 1,1: nothing covered it"
    assert lines[1].startswith("the GPU hung: hang at 0x0000")


def test_words_are_completed() -> None:
    assert completions("", "b") == ["back-trace", "bases", "break", "breakpoints-all", "breakpoints-flagged"]
    assert completions("break ", "op") == ["opcode"]
    assert completions("break opcode ", "sen") == ["send"]
    assert completions("trap every in ", "w") == ["wm"]
    assert completions("regs ", "g12") == ["g12", *(f"g{n}" for n in range(120, 128))]
    assert completions("frobnicate ", "x") == []


def test_a_restart_keeps_the_traps(capsys: Text) -> None:
    lines = debug(capsys, FBO, "trap primitive 1", "c", "restart", "c", "list")
    assert sum("sf thread 1 of object 1: trap 1" in line for line in lines) == 2


def test_answers_are_json_too(capsys: Text) -> None:
    found = as_json(capsys, GEARS, "trap pixel 100 100 2", "c", "thread", "history 100 100", "errors")
    kinds = [line["kind"] for line in found]
    assert kinds == ["answer", "stop", "answer", "history", "answer"]
    assert found[3]["schema"] == "gen4emu.history/1"
    assert found[1]["thread"]["object"] == 974
    assert len(found[2]["state"]["grf"]) == 128
    assert found[4]["errors"] == []


def test_errors_are_json_too(capsys: Text) -> None:
    lines = debug(capsys, FBO, "frobnicate", options=("--json",), status=2)
    assert json.loads(lines[1]) == {"kind": "error", "error": "unknown command 'frobnicate'; `help` lists all"}


NONSENSE = (
    "frobnicate", "trap", "trap pixel", "trap pixel a b", "trap pixel 1 2 object x", "trap nothing", "trap every in xx",
    "break", "break ip", "break ip 5..2", "break opcode frob", "break sfid nobody", "break nowhere", "step", "thread",
    "regs", "regs q3", "set g1 2", "delete 7", "x", "x zz", "disasm", "surfaces", "history 1", "trace", "gang 9",
    "exceptions", "exceptions frob", "policy mild", "limit 9", "eu xx 1", "eu vs", "clear", "sip maybe",
    "patch 0 nonsense", "break write 0..0x20000", "'", "until", "draw",
)
NO_REGISTERS = ("regs g200", "regs m16", "set g0.9 1", "set g0.0:f x", "set f0.2 1", "set m20.0 1", "regs q1", "clear")


def test_commands_that_make_no_sense_say_so_and_the_session_may_go_on(capsys: Text) -> None:
    assert len(errors(capsys, CLEAR, *NONSENSE, "c")) == len(NONSENSE)


def test_registers_that_are_none(capsys: Text) -> None:
    assert len(errors(capsys, CLEAR, "halt", "c", *NO_REGISTERS, "c")) == len(NO_REGISTERS)


def test_after_the_end_there_is_nothing_to_go_on_with(capsys: Text) -> None:
    assert debug(capsys, FBO, "c", "where") == ["the trace has ended", "at the end of the trace"]
    assert errors(capsys, FBO, "c", "c", "next") == ["the trace has ended; `restart` runs it again"] * 2


def test_help_lists_every_command(capsys: Text) -> None:
    lines = debug(capsys, FBO, "help")
    assert [line.split()[0] for line in lines] == [name.split()[0] for name, _, _ in COMMANDS]


def test_commands_come_from_standard_input_too(capsys: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("# to the first draw\nnext\n\nquit\n"))
    assert run(["debug", FBO]) == 0
    assert capsys.readouterr().out.startswith("draw 0: 3DPRIMITIVE RECTLIST")


def test_skipped_draws_are_not_there(capsys: Text) -> None:
    lines = debug(capsys, FBO, "next", options=("--skip-prims", "2"))
    assert lines[0] == "draw 2: 3DPRIMITIVE TRISTRIP, 4 vertices from 0, sequential"


# --- memory and pictures ----------------------------------------------------------------------------------------------
PATCH = "patch 0x0014f2f0 'mov(8) g20<1>F 0.5F { align1 };'"  # instead of the alpha of a gear


def test_memory_is_shown_as_a_state_block(capsys: Text) -> None:
    surface = next(line for line in debug(capsys, GEARS, "draw 4", "trap pixel 60 60", "c", "surfaces")
                   if line.startswith("0: "))
    assert "256x256" in surface
    lines = debug(capsys, GEARS, "draw 4", "struct cc_viewport 0x00150d00")
    assert lines[-3] == "CC_VIEWPORT at 0x00150d00, 8 bytes"
    assert [line.split()[0] for line in lines[-2:]] == ["minimum_depth", "maximum_depth"]
    (answer,) = [a for a in as_json(capsys, GEARS, "draw 4", "struct CC_VIEWPORT 0x00150d00") if a["kind"] == "answer"]
    assert (answer["name"], answer["address"], answer["bytes"]) == ("CC_VIEWPORT", 0x150D00, 8)
    assert "SURFACE_STATE" in debug(capsys, GEARS, "struct")
    assert errors(capsys, GEARS, "struct SURFACE_STAT 0x1000") == ["unknown block 'SURFACE_STAT'; did you mean "
                                                                   "'SURFACE_STATE'?"]


def test_targets_and_memory_become_pictures(capsys: Text, tmp_path: Path) -> None:
    path, other = tmp_path / "target.png", tmp_path / "memory.png"
    lines = debug(capsys, GEARS, "draw 5", "image", f"image {path}",
                  f"image {other} 0x0010e000 B8G8R8A8_UNORM 256 256 1024 x")
    assert lines[-4:-2] == ["0: color 0x0010e000 B8G8R8A8_UNORM 256x256",
                            "1: depth 0x00154000 R24_UNORM_X8_TYPELESS 256x256"]
    assert run(["replay", GEARS, "-q", "--draws", "-o", str(tmp_path / "frames")]) == 0
    replayed = load(tmp_path / "frames/draw-00004-color-0010e000.png")
    assert np.array_equal(load(path), replayed)
    assert load(other).shape == load(path).shape
    assert errors(capsys, GEARS, "image x.png") == ["nothing has been drawn yet"]
    assert errors(capsys, GEARS, f"image {other} 0 NONE 1 1 4 x") == ["unknown format 'NONE'"]
    assert errors(capsys, GEARS, f"image {other} 0 R8_UNORM 1 1 4 w") == ["unknown tiling 'w' (known: linear, x, y)"]


def test_an_edit_is_compared_with_the_unchanged_trace(capsys: Text, tmp_path: Path) -> None:
    lines = debug(capsys, GEARS, "draw 4", PATCH, "next", f"compare {tmp_path / 'pictures'}")
    assert lines[-2].startswith("color 0x0010e000 B8G8R8A8_UNORM 256x256: 2113 of 65536 pixels differ, "
                                "in 49,37 to 119,110; first 89,37: ")
    assert lines[-1] == "depth 0x00154000 R24_UNORM_X8_TYPELESS 256x256: no pixel differs"
    pictures = pair(*(tmp_path / "pictures" / f"target-0-{name}.png" for name in ("unchanged", "now")))
    assert compare(*pictures).differing == 2113
    assert "no pixel differs" in debug(capsys, GEARS, "c", "compare")[-1]
    assert "2113 of 65536 pixels differ" in debug(capsys, GEARS, "draw 4", PATCH, "c", "compare")[-1]
    assert errors(capsys, GEARS, "compare") == ["nothing has been drawn yet"]
