"""`gen4emu minimise`: small traces that still show a problem."""

from __future__ import annotations

import lzma
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import gen4emu
from gen4emu.cli.main import run
from gen4emu.decode import Command, Decoder, Kernel
from gen4emu.device.options import Options
from gen4emu.repro import edits, minimise
from gen4emu.repro.minimise import Minimiser, SameHang, SamePixel, Trial, pixel_bytes, whole
from gen4emu.repro.reduction import leave_out
from gen4emu.repro.trim import Part
from gen4emu.trace.events import Event, MemoryWrite, Submission
from gen4emu.trace.reader import open as open_trace
from tests.harness.endless import endless

TRACES = Path(__file__).parents[2] / "traces"
TEXTURE = TRACES / "texture-g4x.aub.xz"


def reason(trace: Path, watchdog: int = 0) -> str:
    with pytest.raises(gen4emu.HangError) as found, gen4emu.open(trace, options=Options(watchdog=watchdog)) as opened:
        list(opened.draws())
    return found.value.reason


def with_hang(path: Path) -> Path:
    """A trace whose last command is none of the chip's: the parser hangs after the draw."""
    assert run(["export", str(TEXTURE), "--draw", "0", "-o", str(path.parent / "repro")]) == 0
    batch = path.parent / "repro" / "batch.txt"
    batch.write_text(f"{batch.read_text()}dwords 0x7fff0000\n")
    assert run(["build", str(batch), "-o", str(path)]) == 0
    return path


def test_of_a_hang_the_command_that_hangs_stays(tmp_path: Path) -> None:
    whole, small = with_hang(tmp_path / "whole.aub"), tmp_path / "min.aub"
    assert run(["minimise", str(whole), "--hang", "--budget", "60s", "-o", str(small)]) == 0
    assert reason(small) == reason(whole)
    assert small.stat().st_size < 8192 < whole.stat().st_size
    with gen4emu.open(small) as opened, pytest.raises(gen4emu.HangError):
        assert not list(opened.draws())


ENDLESS = [("texture-g4x", "0"), ("later/triangle-ivb", "4"), ("later/triangle-kbl", "2")]


@pytest.mark.parametrize(("name", "draw"), ENDLESS)
def test_threads_without_end_are_minimised_within_a_minute(name: str, draw: str, tmp_path: Path,
                                                           capsys: pytest.CaptureFixture[str]) -> None:
    """The watchdog of a replay takes minutes.  Processor time counts: other tests run at the same time."""
    path, small = endless(name, draw, tmp_path), tmp_path / "min.aub.xz"
    capsys.readouterr()
    started = time.process_time()
    assert run(["minimise", str(path), "--hang", "-o", str(small)]) == 0
    assert time.process_time() - started < 60
    assert small.stat().st_size < 8192
    assert "endless after 200 million instructions of a draw, in candidates after 2 million" in capsys.readouterr().err
    assert "threads do not end" in reason(small, watchdog=300)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_threads_that_end_after_all_are_tried_for_longer(jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    path, small = endless(*ENDLESS[0], tmp_path), tmp_path / "min.aub"
    answers = iter([False, True])
    monkeypatch.setattr(SameHang, "surely", lambda self, events: next(answers))
    assert run(["minimise", str(path), "--hang", "--tries", "20", "-j", jobs, "-o", str(small)]) == 0
    assert "again, with a watchdog of 10 million instructions" in capsys.readouterr().err
    assert "threads do not end" in reason(small, watchdog=50)


def test_a_higher_watchdog_of_candidates_ends_with_that_of_the_trace(tmp_path: Path) -> None:
    path = endless(*ENDLESS[0], tmp_path)
    with gen4emu.open(path) as trace:
        part, why = whole(trace, open_trace(str(path), again=True), Options(watchdog=20))
    stays = SameHang(part, why, Options(watchdog=20))
    found = [stays.quick.watchdog]
    while stays.wait_longer():
        found.append(stays.quick.watchdog)
    assert found == [2, 10, 20]


def test_a_kernel_that_becomes_a_loop_costs_no_minutes(tmp_path: Path) -> None:
    """A candidate may lose the end of a loop: it is stopped after the instructions that the whole trace needs."""
    def parts(trace: Path) -> Part:
        with gen4emu.open(trace) as opened:
            return whole(opened, open_trace(str(trace), again=True), Options(watchdog=2))[0]

    def stays(part: Part) -> bool:
        kept = Minimiser(part, pixel, 1, lambda level, kept: None).kept
        return pixel(list(Trial(part, pixel, 0.0).events(kept)))

    name, draw = ENDLESS[0]
    pixel = SamePixel(parts(TRACES / f"{name}.aub.xz"), 60, 60)
    assert pixel._quick.watchdog in minimise.WATCHDOGS
    assert stays(parts(TRACES / f"{name}.aub.xz"))
    assert not stays(parts(endless(name, draw, tmp_path)))


def test_the_pixel_of_a_trace_that_hangs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole_trace = with_hang(tmp_path / "whole.aub")
    assert run(["minimise", str(whole_trace), "--pixel", "1,1", "-o", str(tmp_path / "min.aub")]) == 2
    assert "the whole trace hangs: " in capsys.readouterr().err
    assert not (tmp_path / "min.aub").exists()


def test_a_pixel_keeps_its_value_and_most_of_the_trace_is_left_out(tmp_path: Path,
                                                                    capsys: pytest.CaptureFixture[str]) -> None:
    trace, small = TRACES / "triangle-g4x.aub.xz", tmp_path / "min.aub.xz"
    with gen4emu.open(trace) as opened:
        moment = opened.at(submission=0)
        target = moment.device.targets.latest[0]
        wanted = pixel_bytes(moment.device, target, 60, 60)
    assert any(wanted)
    assert run(["minimise", str(trace), "--pixel", "60,60", "--budget", "8s", "-o", str(small)]) == 0
    with gen4emu.open(small) as opened:
        moment = opened.at(submission=0)
        assert pixel_bytes(moment.device, target, 60, 60) == wanted
        assert len(list(opened.draws())) == 2  # of 3: the triangle, and the copy of it to the last target
    assert small.stat().st_size < trace.stat().st_size
    assert "pages: " in capsys.readouterr().err


def test_a_command_decides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It looks for a draw in the summary of the trace."""
    small = tmp_path / "min.aub"
    look = f'{sys.executable} -m gen4emu info "$0" | grep -q "[1-9][0-9]* draw"'
    assert run(["minimise", str(TEXTURE), "--budget", "10m", "--tries", "15", "-o", str(small), "--", "sh", "-c",
                look]) == 0
    capsys.readouterr()
    assert run(["info", str(small)]) == 0
    assert "draws        1 draw of" in capsys.readouterr().out


def test_a_difference_between_devices_stays(tmp_path: Path) -> None:
    trace, small = TRACES / "triangle-brw.aub.xz", tmp_path / "min.aub.xz"
    assert run(["minimise", str(trace), "--differs-between", "965gm,g45", "--tries", "40", "-o", str(small)]) == 0
    assert run(["bisect", str(small), "--devices", "965gm,g45"]) == 1
    assert small.stat().st_size < trace.stat().st_size


def test_the_search_ends_with_its_time_and_writes_the_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, small = with_hang(tmp_path / "whole.aub"), tmp_path / "min.aub"
    assert run(["minimise", str(whole), "--hang", "--budget", "0.001s", "-o", str(small)]) == 0
    assert reason(small) == reason(whole)
    assert "candidate" in capsys.readouterr().err


# --- levels -----------------------------------------------------------------------------------------------------------
def dword(events: Sequence[Event], address: int) -> int:
    """The bytes of the last write of a trace that covers an address."""
    for event in reversed(events):
        if isinstance(event, MemoryWrite) and event.address <= address < event.address + len(event.data):
            at = address - event.address
            return int.from_bytes(event.data[at:at + 4], "little")
    return 0


def test_of_the_objects_of_a_draw_those_that_matter_stay() -> None:
    """Of 1,920 vertices, those from 700 to 704 are needed: two triangles."""
    source = open_trace(str(TRACES / "gears-g4x.aub.xz"), again=True)
    with gen4emu.open(TRACES / "gears-g4x.aub.xz") as trace:
        part = whole(trace, source)[0]
    draws = edits.find(part.device, part.pages, list(enumerate(part.events))).draws
    draw = next(draw for draw in draws if draw.fields["vertex_count_per_instance"][2] == 1920)
    assert draw.unit == 3
    start_at, count_at = (key[1] + offset for (key, offset, _) in
                          (draw.fields[name] for name in ("start_vertex_location", "vertex_count_per_instance")))
    header_at = start_at - 8  # the topology
    page = part.pages[header_at & -4096]
    header = int.from_bytes(page[header_at % 4096:header_at % 4096 + 4], "little")

    def stays(events: Sequence[Event], deadline: float | None = None) -> bool:
        start, count = dword(events, start_at), dword(events, count_at)
        return start <= 700 and start + count >= 705 and dword(events, header_at) == header

    search = Minimiser(part, stays, 60, lambda level, kept: None)
    events = list(search.events(search.run()))
    assert (dword(events, start_at), dword(events, count_at)) == (699, 6)


@pytest.mark.parametrize(("unit", "first", "last", "found"), [
    (3, 0, 0, (0, 3)), (3, 299, 299, (297, 3)), (1, 17, 17, (17, 1)), (1, 0, 299, (0, 300)), (4, 8, 15, (8, 8))])
def test_a_range_shrinks_to_whole_objects(unit: int, first: int, last: int, found: tuple[int, int]) -> None:
    best = 0, 300

    def stays(start: int, count: int) -> bool:
        nonlocal best
        good = start <= first and last < start + count
        best = (start, count) if good else best
        return good

    edits.shrink(0, 300, unit, stays)
    assert best == found


def kernels(path: Path) -> list[Kernel]:
    with gen4emu.open(path) as trace:
        assert trace.device is not None
        decoder, found = Decoder(trace.device), list[Kernel]()
    for event in open_trace(str(path)):
        if isinstance(event, MemoryWrite):
            decoder.memory.write(event.address, event.data)
        elif isinstance(event, Submission):
            decoder.changed()
            items = [item for item in decoder.submission(event) if isinstance(item, Command)]
            found += [node for item in items for node in item.walk() if isinstance(node, Kernel)]
    return found


def test_kernels_and_state_become_small(tmp_path: Path) -> None:
    """Instructions are removed, not only replaced; of the state stay the fields without which the pixel changes."""
    trace, small = TRACES / "later" / "triangle-ivb.aub.xz", tmp_path / "min.aub"
    assert run(["minimise", "-q", str(trace), "--pixel", "32,40", "--tries", "1300", "-o", str(small)]) == 0
    before, after = kernels(trace), kernels(small)
    assert 0 < sum(k.code.instructions for k in after) < sum(k.code.instructions for k in before)
    assert not any(" nop" in line for kernel in after for line in kernel.code.lines)
    contents = b"".join(event.data for event in open_trace(str(small)) if isinstance(event, MemoryWrite))
    assert len(contents) - contents.count(0) < 320
    with gen4emu.open(small) as opened:
        (draw,) = opened.draws()
        assert (draw.topology, draw.vertex_count, draw.instance_count) == ("TRILIST", 3, 1)


def test_a_candidate_that_reads_memory_that_was_left_out_is_none(tmp_path: Path) -> None:
    """Haswell's driver loads registers from memory."""
    trace, small = TRACES / "later" / "triangle-hsw.aub.xz", tmp_path / "min.aub"
    assert run(["minimise", "-q", str(trace), "--pixel", "32,40", "--tries", "150", "-o", str(small)]) == 0


@pytest.mark.parametrize(("name", "pixel", "tries"), [
    ("texture-g4x", "60,60", "60"), ("later/triangle-ivb", "32,40", "900")])
def test_a_number_of_tries_makes_the_result_the_same_everywhere(name: str, pixel: str, tries: str,
                                                                tmp_path: Path) -> None:
    """However many candidates are tried at a time."""
    found = []
    for jobs in ("1", "2", "5"):
        small = tmp_path / f"{jobs}.aub"
        assert run(["minimise", "-q", str(TRACES / f"{name}.aub.xz"), "--pixel", pixel, "--tries", tries, "-j", jobs,
                    "-o", str(small)]) == 0
        found.append(small.read_bytes())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("length", [1, 2, 7, 16])
def test_the_lists_that_are_announced_come_next_if_all_are_refused(length: int) -> None:
    asked, announced = [], []

    def refuse(fewer: list[int]) -> bool:
        asked.append(fewer)
        return False

    leave_out(range(length), refuse, 1000, lambda following: announced.append(list(following)))
    assert [announced[i] for i in range(len(asked))] == [asked[i + 1:] for i in range(len(asked))]


def test_candidates_are_tried_before_their_turn(tmp_path: Path) -> None:
    """Two commands run at the same time: each waits until there were two."""
    both = f'echo . >> {tmp_path}/calls; for i in $(seq 100); do [ $(wc -l < {tmp_path}/calls) -ge 3 ] && exit 1; ' \
           'sleep 0.1; done; exit 0'
    first = f'[ -e {tmp_path}/calls ] || {{ echo . > {tmp_path}/calls; exit 0; }}; {both}'
    assert run(["minimise", "-q", str(TEXTURE), "--tries", "1", "-j", "2", "-o", str(tmp_path / "min.aub"), "--", "sh",
                "-c", first]) == 2, "the result is verified, and the command fails"
    assert len((tmp_path / "calls").read_text().split()) >= 3


def test_a_process_that_dies_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kill = f"[ -e {tmp_path}/called ] && kill -9 $(ps -o ppid= -p $$); touch {tmp_path}/called"
    assert run(["minimise", "-q", str(TEXTURE), "-j", "2", "-o", str(tmp_path / "min.aub"), "--", "sh", "-c",
                kill]) == 2
    assert "the process that runs the command has ended" in capsys.readouterr().err
    assert not (tmp_path / "min.aub").exists()


# --- the end ----------------------------------------------------------------------------------------------------------
def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gen4emu", "minimise", *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_keeps_the_best_so_far(tmp_path: Path) -> None:
    trace, small = TRACES / "gears-g4x.aub.xz", tmp_path / "min.aub.xz"
    with gen4emu.open(trace) as opened:
        moment = opened.at(submission=0)
        target = moment.device.targets.latest[0]
        wanted = pixel_bytes(moment.device, target, 60, 60)
    with started(str(trace), "--pixel", "60,60", "--budget", "1h", "-o", str(small)) as process:
        assert process.stderr is not None
        while not process.stderr.readline().startswith("pages: "):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 0, said
    assert "candidates tried" in said
    assert [path.name for path in tmp_path.iterdir()] == ["min.aub.xz"]
    with gen4emu.open(small) as opened:
        moment = opened.at(submission=0)
        assert pixel_bytes(moment.device, target, 60, 60) == wanted
        assert len(list(opened.draws())) < 6  # as many as the whole trace has


SLOW = """\
echo . >> calls
if [ $(wc -l < calls) = 3 ]; then echo $$ > pid; exec sleep 600; fi
grep -q "" "$0"
"""


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def slow_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A command that is content, but does not end when it is run for the third time."""
    monkeypatch.chdir(tmp_path)
    return ["sh", "-c", SLOW]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_the_command_that_runs(jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = slow_command(tmp_path, monkeypatch)
    with started(str(TEXTURE), "--budget", "1h", "-j", jobs, "-o", "min.aub", "--", *command) as process:
        pid = tmp_path / "pid"
        while not pid.exists() or not pid.read_text().strip():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 0
    assert not is_running(int(pid.read_text()))
    assert (tmp_path / "min.aub").exists()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_command_that_does_not_end_ends_with_the_budget(jobs: str, tmp_path: Path,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    command = slow_command(tmp_path, monkeypatch)
    begin = time.monotonic()
    assert run(["minimise", "-q", str(TEXTURE), "--budget", "3s", "-j", jobs, "-o", "min.aub", "--", *command]) == 0
    assert time.monotonic() - begin < 60
    assert not is_running(int((tmp_path / "pid").read_text()))
    assert (tmp_path / "min.aub").exists()


# --- hostile traces ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["triangle-g4x", "later/triangle-ivb"])
@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_trace_gives_a_result_or_an_error(name: str, seed: int, tmp_path: Path) -> None:
    with lzma.open(TRACES / f"{name}.aub.xz") as file:
        data = bytearray(file.read())
    numbers = random.Random(seed)
    for _ in range(30):
        data[numbers.randrange(64, len(data))] = numbers.choice((0, 255, numbers.randrange(256)))
    trace, small = tmp_path / "x.aub", tmp_path / "min.aub"
    trace.write_bytes(data)
    for arguments in (["--hang"], ["--pixel", "1,1"]):
        status = run(["minimise", "-q", str(trace), "--tries", "40", "-o", str(small), *arguments])
        assert status in (0, 2)
        assert small.exists() is (status == 0)
        small.unlink(missing_ok=True)


# --- bad requests -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("arguments", "error"), [
    ([], "name exactly one of --hang, --pixel, --differs-between and a command"),
    (["--hang", "--pixel", "1,1"], "name exactly one of"),
    (["--hang"], "nothing hangs"),
    (["--pixel", "1"], "'1' is not a pixel such as 512,384"),
    (["--pixel", "9999,1"], "pixel 9999,1 is outside the render target of 256x256"),
    (["--differs-between", "g45"], "are not two devices"),
    (["--differs-between", "g45,g46"], "unknown device 'g46'"),
    (["--differs-between", "g45,gm45"], "the whole trace does not have the problem"),
    (["--hang", "--budget", "soon"], "'soon' is not a time such as 100ms, 30s, 5m or 1h"),
    (["--", "false"], "the whole trace does not have the problem"),
    (["--", "/nowhere/at-all"], "/nowhere/at-all: cannot be run: No such file or directory"),
])
def test_bad_requests_write_nothing(arguments: list[str], error: str, tmp_path: Path,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["minimise", str(TEXTURE), "-o", str(tmp_path / "x.aub"), *arguments]) == 2
    assert error in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
