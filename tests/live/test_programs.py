"""Real programs with the installed, unmodified Mesa on the emulated GPU."""

from __future__ import annotations

import gc
import json
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gen4emu.check.execute import draw
from gen4emu.check.manifest import Case
from gen4emu.device import bookmark_file
from gen4emu.device.options import Options
from gen4emu.device.replay import Replay
from gen4emu.hw.chips import BY_NAME
from gen4emu.image.compare import load
from gen4emu.image.digest import pixels_digest
from gen4emu.live.connection import Connection, Observer
from gen4emu.live.recorder import watch_capture
from gen4emu.live.server import Server
from gen4emu.trace import events
from gen4emu.trace.events import Submission
from gen4emu.trace.reader import open as open_trace
from tests.live import real_client
from tests.live.real_client import needs_client

SIZE, FRAMES, TOLERANCE = 256, 2, 4
SCENES = ["clear", "triangle", "texture", "gears", "blend", "stencil", "grid", "fbo", "sprites", "cubemap",
          "mandelbrot", "volumes"]
ES_SCENES = ["triangle", "gears", "fbo"]
NAMES = {"g41": "G41", "g45": "G45", "gm45": "GM45", "g965": "965G", "965gm": "965GM"}

# The share of pixels within 4/255 of those of llvmpipe, whose bilinear filter rounds its weights differently and whose
# arithmetic rounds to nearest, which is visible in chaotic pictures.
SHARE = {"texture": 94.0, "fbo": 94.0, "mandelbrot": 97.0}


def run_scene(server: Server, api: str, scene: str, path: Path, frames: int = FRAMES) -> str:
    """Run a scene; return the name of the renderer."""
    done = subprocess.run([real_client.scenes(api), scene, str(path), str(SIZE), str(frames)], check=False,
                          env=real_client.on_server(server.directory), capture_output=True, text=True,
                          timeout=real_client.TIMEOUT)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def share(drawn: np.ndarray, reference: np.ndarray) -> float:
    error = np.abs(drawn[..., :3].astype(int) - reference[..., :3]).max(axis=-1)
    return 100.0 * float((error <= TOLERANCE).mean())


@needs_client
@pytest.mark.parametrize(("api", "scene"), [("gl", s) for s in SCENES] + [("es", s) for s in ES_SCENES])
def test_a_program_draws_like_llvmpipe_and_its_capture_replays_exactly(api: str, scene: str,
                                                                               tmp_path: Path) -> None:
    trace = tmp_path / "app.aub"
    with Server(BY_NAME["g45"], Options(workers=2)) as server:
        watch_capture(server, trace)
        assert "G45" in run_scene(server, api, scene, tmp_path / "live.raw")
    live = real_client.frames(tmp_path / "live.raw", SIZE)
    assert share(live, real_client.reference(api, scene, SIZE, FRAMES, tmp_path / "soft.raw")) >= SHARE.get(scene, 99)
    assert not server.totals.complaints and not server.totals.hangs and not server.totals.errors
    replayed = {pixels_digest(pixels) for _, pixels in draw(Case(scene, trace, tmp_path))}
    assert {pixels_digest(frame) for frame in live} <= replayed


@needs_client
@pytest.mark.parametrize("scene", ["clear", "triangle"])
@pytest.mark.parametrize("device", ["ivb", "byt", "hsw", "kbl"])
def test_a_program_on_later_chips_draws_like_llvmpipe_and_its_capture_replays_exactly(device: str, scene: str,
                                                                                tmp_path: Path) -> None:
    trace = tmp_path / "app.aub"
    with Server(BY_NAME[device], Options(workers=2)) as server:
        watch_capture(server, trace)
        run_scene(server, "gl", scene, tmp_path / "live.raw")
    live = real_client.frames(tmp_path / "live.raw", SIZE)
    soft = real_client.reference("gl", scene, SIZE, FRAMES, tmp_path / "soft.raw")
    assert np.abs(live.astype(int) - soft).max() <= 1
    assert not server.totals.complaints and not server.totals.hangs and not server.totals.errors
    replayed = {pixels_digest(pixels) for _, pixels in draw(Case(scene, trace, tmp_path))}
    assert {pixels_digest(frame) for frame in live} <= replayed


@needs_client
@pytest.mark.parametrize(("device", "scene"), [
    *(("ivb", scene) for scene in SCENES if scene not in ("clear", "triangle")), ("hsw", "gears"), ("hsw", "fbo"),
    *(("kbl", scene) for scene in SCENES if scene not in ("clear", "triangle")), ("skl", "gears")])
def test_scenes_on_later_chips_draw_like_llvmpipe(device: str, scene: str, tmp_path: Path) -> None:
    with Server(BY_NAME[device], Options(workers=2)) as server:
        run_scene(server, "gl", scene, tmp_path / "live.raw")
    live = real_client.frames(tmp_path / "live.raw", SIZE)
    assert share(live, real_client.reference("gl", scene, SIZE, FRAMES, tmp_path / "soft.raw")) >= 99
    assert not server.totals.complaints and not server.totals.hangs and not server.totals.errors


@needs_client
@pytest.mark.parametrize("client", ["draws", "geometry"])
@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
def test_clients_print_the_numbers_of_llvmpipe(device: str, client: str) -> None:
    """Instances, base vertices, cuts, indirect and conditional draws, queries, transform feedback with overflow;
    geometry shaders with all objects, streams, layers and viewports; tessellation.
    """
    program = real_client.client(client)
    soft = subprocess.run([program], check=True, capture_output=True, text=True, timeout=real_client.TIMEOUT,
                          env=real_client.environment(LIBGL_ALWAYS_SOFTWARE="1", GALLIUM_DRIVER="llvmpipe")).stdout
    with Server(BY_NAME[device], Options(workers=2)) as server:
        drawn = subprocess.run([program], check=True, capture_output=True, text=True, timeout=real_client.TIMEOUT,
                               env=real_client.on_server(server.directory)).stdout
    assert drawn == soft
    assert not server.totals.complaints and not server.totals.hangs and not server.totals.errors


@needs_client
@pytest.mark.parametrize("name", NAMES)
def test_every_chip_has_its_renderer_name_and_draws(name: str, tmp_path: Path) -> None:
    with Server(BY_NAME[name], Options(workers=2)) as server:
        assert NAMES[name] in run_scene(server, "gl", "gears", tmp_path / "live.raw")
    live = real_client.frames(tmp_path / "live.raw", SIZE)
    assert share(live, real_client.reference("gl", "gears", SIZE, FRAMES, tmp_path / "soft.raw")) >= 99


@needs_client
def test_alternating_contexts_and_the_replay_of_their_capture(tmp_path: Path) -> None:
    program, trace = str(real_client.SOURCES / "two_contexts.py"), tmp_path / "two.g4c"
    subprocess.run([sys.executable, program, str(tmp_path / "soft")], check=True, timeout=real_client.TIMEOUT,
                   env=real_client.environment(LIBGL_ALWAYS_SOFTWARE="1"))
    with Server(BY_NAME["g45"], Options(workers=1)) as server:
        watch_capture(server, trace)
        subprocess.run([sys.executable, program, str(tmp_path / "live")], check=True, timeout=real_client.TIMEOUT,
                       env=real_client.on_server(server.directory))
    live = real_client.frames(tmp_path / "live", 64)
    assert share(live, real_client.frames(tmp_path / "soft", 64)) == 100
    run = Replay(open_trace(trace), options=Options(workers=2))
    switches = sum(len(e.ring) > 8 for e in open_trace(trace) if isinstance(e, events.Submission))
    assert switches >= 8  # the program draws eight times, in the other context each time
    for _ in run.frames():
        pass
    run.close()
    assert run.submissions >= 8 and run.differences == 0 and not run.warnings


@needs_client
def test_eight_programs_at_once(tmp_path: Path) -> None:
    scenes = ["gears", "texture", "fbo", "blend"]
    with Server(BY_NAME["g45"], Options(workers=1)) as server:
        for scene in scenes:
            run_scene(server, "gl", scene, tmp_path / f"{scene}.raw")
        commands = [[real_client.scenes("gl"), scenes[i % 4], str(tmp_path / f"{i}.raw"), str(SIZE), str(FRAMES)]
                    for i in range(8)]
        programs = [subprocess.Popen(c, env=real_client.on_server(server.directory), stdout=subprocess.DEVNULL)
                    for c in commands]
        assert [p.wait(real_client.TIMEOUT) for p in programs] == [0] * 8
    for i in range(8):
        assert (tmp_path / f"{i}.raw").read_bytes() == (tmp_path / f"{scenes[i % 4]}.raw").read_bytes()


def kill_in_the_middle(times: int) -> None:
    """Start a program and kill it while it draws, many times; then nothing of it may be left."""
    rng = random.Random(5)
    begun: list[Submission] = []

    class Counter(Observer):
        def before(self, submission: Submission, buffers: object) -> None:
            begun.append(submission)

    server = Server(BY_NAME["g45"], Options(workers=1))
    server.add_observer(lambda client, device: Counter())
    with server:
        def settled() -> tuple[int, int, int]:
            end = time.monotonic() + 60
            while server.connections or threading.active_count() > threads:
                assert time.monotonic() < end
                time.sleep(0.01)
            maps = Path("/proc/self/maps").read_text().splitlines()
            return len(os.listdir("/proc/self/fd")), len([m for m in maps if "memfd:" in m]), len(server.shared)

        gc.collect()  # leftovers of other tests: the server must free everything of a client itself
        threads = threading.active_count()
        before = settled()
        for _ in range(times):
            with subprocess.Popen([real_client.scenes("gl"), "mandelbrot", "-", "512", "100000"],
                                  env=real_client.on_server(server.directory), stdout=subprocess.DEVNULL) as victim:
                patience, before_it = time.monotonic() + real_client.TIMEOUT, len(begun)
                while len(begun) < before_it + 2:  # while it draws
                    assert time.monotonic() < patience
                    time.sleep(0.005)
                time.sleep(0.2 * rng.random())
                victim.send_signal(signal.SIGKILL)
        assert settled() == before


@needs_client
def test_killed_programs_leave_nothing_behind() -> None:
    kill_in_the_middle(5)


@needs_client
@pytest.mark.long
def test_a_hundred_killed_programs_leave_nothing_behind() -> None:
    kill_in_the_middle(100)


def command(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gen4emu.cli.main", *arguments], check=False, capture_output=True,
                          text=True, timeout=real_client.TIMEOUT, env=real_client.environment(**options))


@needs_client
def test_the_exit_status_is_the_program_s() -> None:
    assert command("run", "--", "sh", "-c", "exit 7").returncode == 7
    assert command("run", "--", "sh", "-c", "kill -TERM $$").returncode == 128 + signal.SIGTERM
    assert command("run", "true").returncode == 0


@needs_client
def test_a_missing_program_is_127_and_one_that_is_not_executable_126(tmp_path: Path) -> None:
    missing = command("run", "--", "no-such-program")
    assert (missing.returncode, missing.stderr) == (127, "gen4emu: no-such-program: no such program\n")
    assert command("run", "--", str(tmp_path)).returncode == 126


@needs_client
def test_a_program_sees_its_arguments_and_streams() -> None:
    done = command("run", "-q", "--", "printf", "%s.", "-v", "--stats", "a b")
    assert (done.stdout, done.stderr) == ("-v.--stats.a b.", "")


@needs_client
def test_a_program_says_which_processor_it_polls_on(monkeypatch: pytest.MonkeyPatch) -> None:
    said = set()
    report = Connection._report

    def note(connection: Connection, *arguments: Any) -> bool:
        assert connection._progress is not None
        said.add(int(connection._progress[3][0]))
        return report(connection, *arguments)

    monkeypatch.setattr(Connection, "_report", note)
    with Server(BY_NAME["g45"], Options()) as server:
        subprocess.run([real_client.scenes("gl"), "clear", "-", "64", "300"], check=True, stdout=subprocess.DEVNULL,
                       env=real_client.on_server(server.directory), timeout=real_client.TIMEOUT)
    processors = os.sched_getaffinity(0)
    assert said <= {0} | {processor + 1 for processor in processors}
    assert len(said - {0}) > 0 or len(processors) == 1  # with one, it sleeps at once


UNUSED = "never opened the GPU\n"


@needs_client
def test_run_says_when_a_program_never_opened_the_gpu() -> None:
    done = command("run", "--", "true")
    assert (done.returncode, done.stderr) == (0, f"gen4emu: true {UNUSED}")
    assert command("run", "-q", "--", "true").stderr == ""
    for quiet in ((), ("-q",)):
        done = command("run", "--require-gpu", *quiet, "--", "true")
        assert (done.returncode, done.stderr) == (1, f"gen4emu: true {UNUSED}")
    done = command("run", "--require-gpu", "--", "sh", "-c", "exit 5")
    assert (done.returncode, done.stderr) == (5, f"gen4emu: sh {UNUSED}")


@needs_client
def test_software_rendering_is_not_mistaken_for_the_gpu(tmp_path: Path) -> None:
    """Mesa opens the device to probe it, then falls back."""
    scene = real_client.scenes("gl")
    what = "opened the GPU but never used it\n"
    for setting in ("LIBGL_ALWAYS_SOFTWARE=1", "MESA_LOADER_DRIVER_OVERRIDE=kms_swrast"):
        done = command("run", "--require-gpu", "--", "env", setting, scene, "triangle", "-", "32", "1")
        assert (done.returncode, done.stderr) == (1, f"gen4emu: env {what}")
        assert "llvmpipe" in done.stdout
    done = command("run", "--require-gpu", "--", scene, "triangle", "-", "32", "1")
    assert (done.returncode, done.stderr) == (0, "")


@needs_client
def test_a_capture_of_nothing_is_one_message_and_status_1(tmp_path: Path) -> None:
    trace = tmp_path / "app.aub"
    for quiet in ((), ("-q",)):
        done = command("capture", "-o", str(trace), *quiet, "--", "true")
        assert (done.returncode, done.stderr) == (1, f"gen4emu: {trace}: not written, true {UNUSED}")
    assert not trace.exists()


@needs_client
def test_quiet_leaves_errors_and_verbose_reports_connections(tmp_path: Path) -> None:
    scene = (real_client.scenes("gl"), "triangle", "-", "32", "1")
    trace = tmp_path / "app.g4c"
    assert command("capture", "-o", str(trace), "--", *scene).stderr == f"gen4emu: {trace}: 1 submission of scenes-gl\n"
    assert command("capture", "-q", "-o", str(trace), "--", *scene).stderr == ""
    lines = command("run", "-v", "--", *scene).stderr.splitlines()
    assert "opened the device" in lines[0] and "closed the device after 1 batch" in lines[-1]
    both = command("run", "-q", "-v", "--", *scene)
    assert both.returncode == 2 and "--quiet and --verbose exclude each other" in both.stderr
    missing = command("run", "-q", "--", "no-such-program")
    assert (missing.returncode, missing.stderr) == (127, "gen4emu: no-such-program: no such program\n")


@needs_client
def test_the_result_of_a_run_as_json(tmp_path: Path) -> None:
    scene = (real_client.scenes("gl"), "triangle", "-", "32", "1")
    done = command("run", "--json", "-", "--", *scene)
    assert done.returncode == 0 and "G45" in done.stderr  # standard output of the program
    result = json.loads(done.stdout)
    assert result["schema"] == "gen4emu.run/1"
    assert result["program"] == {"command": list(scene), "status": 0}
    assert (result["status"], result["gpu"], result["device"]) == (0, "used", "g45")
    assert (result["connections"], result["batches"], result["frames"], result["hangs"]) == (1, 1, 0, 0)
    assert result["counts"]["draws"] >= 2 and result["milliseconds"]["batches"] > 0
    assert result["complaints"] == result["events"] == result["errors"] == result["hang_reports"] == []
    assert "files" not in result

    for program, status in (("sh -c 'exit 3'", 3), ("no-such-program", 127)):
        file = tmp_path / "result.json"
        assert command("run", "--json", str(file), "--", *shlex.split(program)).returncode == status
        result = json.loads(file.read_text())
        assert (result["status"], result["gpu"], result["program"]["status"]) == (
            status, "unused", None if status == 127 else status)
    assert result["errors"] == ["no-such-program: no such program"]


@needs_client
def test_the_result_of_a_capture_as_json_names_its_files(tmp_path: Path) -> None:
    trace, file = tmp_path / "app.g4c", tmp_path / "result.json"
    done = command("capture", "-o", str(trace), "--json", str(file), "--", real_client.scenes("gl"), "triangle", "-",
                   "32", "2")
    assert done.returncode == 0
    result = json.loads(file.read_text())
    assert result["schema"] == "gen4emu.capture/1"
    (written,) = result["files"]
    assert written == {"file": str(trace), "program": "scenes-gl", "submissions": result["batches"],
                       "bytes": trace.stat().st_size}


def test_a_result_that_cannot_be_written_is_an_error_before_the_program_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    done = command("run", "--json", str(tmp_path / "no" / "file"), "--", "touch", str(ran))
    assert done.returncode == 2 and str(tmp_path / "no" / "file") in done.stderr
    assert not ran.exists()


@needs_client
def test_run_prints_statistics_and_writes_frames(tmp_path: Path) -> None:
    done = command("run", "--stats", "--frames", str(tmp_path / "frames"), "--", real_client.scenes("gl"), "triangle",
                   str(tmp_path / "live.raw"), str(SIZE), "1")
    assert done.returncode == 0
    assert "1 open device," in done.stderr and "draws" in done.stderr
    live = real_client.frames(tmp_path / "live.raw", SIZE)[0]
    assert pixels_digest(live) in {pixels_digest(load(p)) for p in (tmp_path / "frames").glob("*.png")}


@needs_client
@pytest.mark.parametrize("suffix", ["aub.xz", "g4c"])
def test_capture_and_replay_on_the_command_line(suffix: str, tmp_path: Path) -> None:
    trace = tmp_path / f"app.{suffix}"
    done = command("capture", "-o", str(trace), "--", real_client.scenes("gl"), "gears", str(tmp_path / "live.raw"),
                   str(SIZE), "3")
    assert done.returncode == 0 and str(trace) in done.stderr
    checks = [e for e in open_trace(trace) if isinstance(e, events.ExpectedMemory)]
    assert bool(checks) == (suffix == "g4c")
    assert command("replay", str(trace), "-o", str(tmp_path / "frames"), "--strict").returncode == 0
    pictures = {pixels_digest(load(p)) for p in (tmp_path / "frames").glob("*.png")}
    for frame in real_client.frames(tmp_path / "live.raw", SIZE):
        assert pixels_digest(frame) in pictures


@needs_client
def test_a_capture_with_checkpoints_has_the_index_that_replays_use(tmp_path: Path,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    trace = tmp_path / "app.g4c"
    done = command("capture", "--checkpoints", "0", "-o", str(trace), "--", real_client.scenes("gl"), "gears",
                   str(tmp_path / "live.raw"), str(SIZE), "3")
    assert done.returncode == 0 and f"{trace}.index: " in done.stderr
    assert len(bookmark_file.signed(str(trace)).contents().bookmarks) > 3


@needs_client
def test_a_server_for_many_programs(tmp_path: Path) -> None:
    directory = tmp_path / "gpu"
    with subprocess.Popen([sys.executable, "-m", "gen4emu.cli.main", "run", "--serve", str(directory), "--stats"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        contract = dict(server.stdout.readline().rstrip("\n").split("=", 1) for _ in range(2))
        assert set(contract) == {"GEN4EMU_LIVE", "LD_PRELOAD"}
        scene = [real_client.scenes("gl"), "triangle", str(tmp_path / "a.raw"), str(SIZE), "1"]
        assert command("run", "--attach", str(directory), "--", *scene).returncode == 0
        scene[2] = str(tmp_path / "b.raw")
        subprocess.run(scene, check=True, env=real_client.environment() | contract, capture_output=True)
        server.send_signal(signal.SIGTERM)
        _, talk = server.communicate(timeout=real_client.TIMEOUT)
    assert server.returncode == 0 and "2 open devices" in talk
    assert (tmp_path / "a.raw").read_bytes() == (tmp_path / "b.raw").read_bytes()
    assert not directory.exists()


def test_a_server_without_programs_fails_when_the_gpu_is_required(tmp_path: Path) -> None:
    serve = [sys.executable, "-m", "gen4emu.cli.main", "run", "--serve", str(tmp_path / "gpu"), "--json",
             str(tmp_path / "result.json")]
    for options, status, said in (([], 0, ""), (["--require-gpu"], 1, "gen4emu: no program used the GPU\n")):
        with subprocess.Popen(serve + options, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            server.stdout.readline()
            server.send_signal(signal.SIGTERM)
            _, talk = server.communicate(timeout=real_client.TIMEOUT)
        assert (server.returncode, talk) == (status, said)
        result = json.loads((tmp_path / "result.json").read_text())
        assert (result["status"], result["program"], result["gpu"]) == (status, None, "unused")


@needs_client
def test_a_program_gets_errors_when_the_server_dies(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-m", "gen4emu.cli.main", "run", "--serve", str(tmp_path / "gpu")],
                          stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        contract = dict(server.stdout.readline().rstrip("\n").split("=", 1) for _ in range(2))
        scene = [real_client.scenes("gl"), "mandelbrot", "-", "512", "1000000"]
        with subprocess.Popen(scene, env=real_client.environment() | contract, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as client:
            time.sleep(2)
            server.kill()
            assert client.wait(30) is not None  # Mesa exits when the device is gone: it does not freeze
