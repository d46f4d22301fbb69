"""`--dask`: cases on a cluster have the results that they have here, whatever happens to workers and scheduler."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gen4emu import children as children_module
from gen4emu.check.execute import Task
from gen4emu.check.manifest import Case, read_manifest
from gen4emu.check.results import Outcome, Result
from gen4emu.check.runner import Limits
from gen4emu.cli.main import run
from gen4emu.cluster import files, pool, programs, traces
from gen4emu.cluster.files import Store, Wanted, default_store
from gen4emu.cluster.traces import ClusterRunner
from gen4emu.device.options import Options
from gen4emu.suite.deqp import Program
from gen4emu.suite.lines import read
from gen4emu.suite.piglit import profiles
from tests.suite.fake_deqp import FAKE
from tests.suite.processes import alive, descendants

pytest.importorskip("distributed", reason="Dask is not installed")
TRACES = Path(__file__).parents[2] / "traces"
SOME = "clear or triangle"  # four traces
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def spoiled(tmp_path: Path) -> Path:
    """A manifest of two cases, of which one has a wrong golden picture."""
    directory = tmp_path / "some"
    directory.mkdir()
    for name in ("clear-g4x", "triangle-g4x"):
        shutil.copy(TRACES / f"{name}.aub.xz", directory)
    shutil.copytree(TRACES / "golden" / "clear-g4x", directory / "golden" / "triangle-g4x")
    shutil.copytree(TRACES / "golden" / "clear-g4x", directory / "golden" / "clear-g4x")
    (directory / "manifest.toml").write_text('[[trace]]\nfile = "clear-g4x.aub.xz"\n\n'
                                             '[[trace]]\nfile = "triangle-g4x.aub.xz"\n')
    return directory


def cases(count: int) -> list[Case]:
    return read_manifest(TRACES).cases[:count]


def cluster(where: str = "local:2") -> ClusterRunner:
    return ClusterRunner(Task(options=Options(workers=1)), Limits(), where)


def test_a_cluster_finds_what_this_machine_finds(spoiled: Path, capsys: Capture) -> None:
    reports = []
    for options in (["-j", "1"], ["--dask", "local:2"]):
        assert run(["check", str(spoiled), "--json", "--results", "found", *options]) == 1
        report = json.loads(capsys.readouterr().out)
        for case in report["cases"]:
            del case["seconds"]
        pictures = {path: path.read_bytes() for path in sorted(Path("found").rglob("*.png"))}
        assert len(pictures) >= 3
        reports.append((report["cases"], pictures))
        shutil.rmtree("found")
    assert reports[0] == reports[1]


def test_children_of_a_local_cluster_are_forked_before_dask_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # other tests may have left threads
    with ClusterRunner(Task(options=Options(workers=1)), Limits(), "local:2", cases(4)) as runner:
        children = [child for hands in traces._all for child in hands.runner._workers]
        assert len(children) == 2 and all(isinstance(child._process, children_module._Forked) for child in children)
        outcomes = [result.outcome for _, result in runner.run(cases(4))]
        assert [child for hands in traces._all for child in hands.runner._workers] == children
    assert outcomes == [Outcome.PASS] * 4 and traces._all == traces._ready == []


def test_the_summary_counts_machines_and_second_runs(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "TWICE", 1)
    assert run(["check", str(TRACES), "-k", SOME, "--dask", "local:2"]) == 0
    out = capsys.readouterr().out
    assert "ran on 1 machine, 4 traces on two workers" in out and "4 passed, 0 failed" in out


def test_second_runs_that_differ_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the workers draws something else."""
    addresses: list[str] = []
    execute = traces._execute

    def wrong(job: traces.Job, *sent: tuple[str, ...]) -> traces.Answer:
        answer = execute(job, *sent)
        addresses.append(answer.worker)
        assert answer.result is not None
        if answer.worker == addresses[0]:
            answer.result.pictures[0].digest = "0" * 32
        return answer

    monkeypatch.setattr(traces, "TWICE", 1)
    monkeypatch.setattr(traces, "_execute", wrong)
    with cluster() as runner:
        found = [result for _, result in runner.run(cases(3))]
    assert runner.twice == 3 and len(set(addresses)) == 2
    for result in found:
        assert result.outcome is Outcome.FAIL
        assert re.search(r"inproc://\S+ \(\S+\) and inproc://\S+ \(\S+\) differ: picture \w+", result.messages[-1])


def test_files_are_sent_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that do not see the files of the submitting machine."""
    sent: list[int] = []
    send = pool.Pool.send
    monkeypatch.setattr(Wanted, "is_here", property(lambda self: False))
    monkeypatch.setattr(pool.Pool, "send", lambda self, content: (sent.append(len(content)), send(self, content))[1])
    wanted = {file.digest: file.size for case in cases(2) for file in map(Wanted.of, traces.input_files(case))}
    for _ in range(2):
        with cluster("local:1") as runner:
            results = dict(runner.run(cases(2)))
        assert [results[i].outcome for i in (0, 1)] == [Outcome.PASS] * 2, results
        assert [results[i].case for i in (0, 1)] == cases(2)
        assert sorted(sent) == sorted(wanted.values())
    assert {path.name for path in default_store().iterdir()} == set(wanted)


def test_messages_name_the_files_of_the_machine_that_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wanted, "is_here", property(lambda self: False))
    bad = tmp_path / "bad.aub"
    bad.write_bytes(b"no trace")
    with cluster("local:1") as runner:
        ((_, result),) = runner.run([Case("bad", bad, tmp_path / "golden")])
    assert any(text.startswith(f"{bad}: ") for text in result.messages), result.messages
    assert str(default_store()) not in str(result.messages)


def test_a_store_checks_and_forgets(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", most=25)
    store.directory.mkdir()
    found = []
    for text in (b"0123456789", b"abcdefghij", b"klmnopqrst"):
        path = tmp_path / text.decode()
        path.write_bytes(text)
        found.append(Wanted.of(path))
        store.keep(found[-1], text)
        time.sleep(0.01)
    assert [store.has(wanted) for wanted in found] == [False, True, True]  # the oldest went
    assert not store.link(found[0], tmp_path / "x") and store.link(found[1], tmp_path / "y")
    with pytest.raises(ValueError, match="0123456789: arrived damaged"):
        store.keep(found[0], b"something else")


def test_calls_are_spread_evenly_over_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[str, ...]] = []
    with pool.Pool("local:2") as cluster:
        submit = cluster._client.submit

        def recorded(*arguments: object, **options: Any) -> object:
            given.append(tuple(options["workers"]))
            return submit(*arguments, **options)

        monkeypatch.setattr(cluster._client, "submit", recorded)
        calls = [pool.Call(time.sleep, (0.01,)) for _ in range(12)]
        first = sorted(cluster.workers)
        answers = list(cluster.run(lambda: calls.pop() if calls else None))
    assert len(answers) == len(given) == 12
    assert sorted(given[:4]) == [(first[0],)] * 2 + [(first[1],)] * 2  # one runs and one waits on each


def test_another_gen4emu_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(traces, "about", other_version)
    assert run(["check", str(TRACES), "-k", SOME, "--dask", "local:1"]) == 2
    assert "(far): has a different gen4emu from this machine; the results so far:" in capsys.readouterr().err


def other_version() -> pool.Worker:
    return pool.Worker("far", "0" * 32)


@pytest.mark.parametrize(("where", "says"), [
    ("tcp", "'tcp' is not a Dask cluster (examples: tcp://scheduler:8786, local:4)"),
    ("local:0", "'local:0': a local cluster has 1 to 1024 workers"),
    ("tcp://127.0.0.1:9", "tcp://127.0.0.1:9: no scheduler answers"),
])
def test_clusters_that_do_not_exist(where: str, says: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_OUTAGE", 1.0)
    assert run(["check", str(TRACES), "-k", SOME, "--dask", where]) == 2
    assert says in capsys.readouterr().err


def test_what_is_missing_is_named(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run(["check", str(TRACES), "-k", SOME, "--dask", "local:1"]) == 2
    assert "--dask needs Dask: pip install 'gen4emu[cluster]'" in capsys.readouterr().err
    assert run(["check", str(TRACES), "--dask", "local:1", "--update"]) == 2
    assert "--dask and --update exclude each other" in capsys.readouterr().err


def test_names_of_files_from_workers_stay_below_the_results(tmp_path: Path) -> None:
    for name in ("../x.png", "/x.png", "a/../../x.png"):
        with pytest.raises(pool.ClusterLost, match="a worker has sent a file with the name"):
            traces._put_evidence(Result(cases(1)[0]), {name: b""}, tmp_path / "results")
    assert not (tmp_path / "x.png").exists()


def test_programs_run_on_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "deqp-fake"
    program.write_text(FAKE)
    program.chmod(0o755)
    (tmp_path / "list").write_text("t.one\nt.env\nt.fail\nt.skip\nt.three\n")
    found = []
    for options in (["-j", "1"], ["--dask", "local:1"]):
        assert run(["suite", "deqp", str(program), "list", "--env", "WANTED=a b=c", "--jsonl", "r.jsonl",
                    *options]) == 1
        found.append({line.name: (line.outcome, line.messages) for line in read(Path("r.jsonl"))})
    assert found[0] == found[1] and len(found[0]) == 5 and found[0]["t.env"][0] == "pass"


def part(program: Path, *names: str) -> programs.Part:
    return programs.Part(tuple(profiles.Case(name, ()) for name in names), Program(program), "g41", 1, 30, 0)


@pytest.mark.parametrize("text", ["", "=1", "NAME"])
def test_variables_have_names_and_values(text: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "list").write_text("t.one\n")
    assert run(["suite", "deqp", "/bin/true", "list", "--env", text]) == 2
    assert f"{text.partition('=')[0]!r} is not NAME=VALUE" in capsys.readouterr().err


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Path]:
    program = tmp_path / "deqp-fake"
    program.write_text(FAKE)
    program.chmod(0o755)
    yield program
    programs.end_children()


def test_parts_share_a_server_that_ends_with_them(fake: Path) -> None:
    assert [outcome.result for outcome in programs.execute(part(fake, "t.one", "t.fail")).outcomes] == ["pass", "fail"]
    (child,) = programs._idle
    assert [outcome.name for outcome in programs.execute(part(fake, "t.two")).outcomes] == ["t.two"]
    assert programs._idle == [child] and child._process.poll() is None
    ended = programs.end_children()
    assert (ended.rest, ended.error) == ([], "") and not programs._idle
    assert child._process.returncode == 0


def test_a_child_that_ended_meanwhile_costs_no_test(fake: Path) -> None:
    programs.execute(part(fake, "t.one"))
    (child,) = programs._idle
    servers = descendants(child._process.pid)
    child._process.kill()
    child._process.wait()
    assert [outcome.result for outcome in programs.execute(part(fake, "t.two")).outcomes] == ["pass"]
    assert child not in programs._idle
    end = time.monotonic() + 50
    while any(alive(pid) for pid in servers) and time.monotonic() < end:
        time.sleep(0.05)
    assert servers and not any(alive(pid) for pid in servers)


def test_a_server_that_died_is_an_error_of_its_part(fake: Path) -> None:
    programs.execute(part(fake, "t.one"))
    (child,) = programs._idle
    killed = descendants(child._process.pid)
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 50
    while any(alive(pid) for pid in killed):  # on a busy machine, it may run for a while
        assert time.monotonic() < end
        time.sleep(0.01)
    ended = programs.execute(part(fake, "t.two"))
    assert "the server ended with -9" in ended.error and not programs._idle


def test_a_child_ends_with_the_worker_that_began_it(fake: Path) -> None:
    programs.execute(part(fake, "t.one"))
    (child,) = programs._idle
    child.ask(part(fake, "t.sleep"))
    end = time.monotonic() + 50
    while "t.sleep" not in Path(f"{fake}.tests").read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    assert child._process.stdin is not None
    child._process.stdin.close()
    begin = time.monotonic()
    assert child._process.wait(50) == 0 and time.monotonic() < begin + 50
    programs._idle.remove(child)


def test_parts_hold_whole_batches() -> None:
    def cases(runner: str, count: int) -> list[profiles.Case]:
        return [profiles.Case(f"{runner}@{i}", (f"bin/{runner}", f"{i}.shader_test", "-auto", "-fbo"))
                for i in range(count)]

    pairs = zip(cases("shader_runner", 60), cases("shader_runner_gles2", 60), strict=True)
    both = [case for pair in pairs for case in pair]
    found = [Counter(case.command[0] for case in some) for some in programs._parts(both, None)]
    assert sum(found, Counter()) == Counter({"bin/shader_runner": 60, "bin/shader_runner_gles2": 60})
    assert found[0] == Counter({"bin/shader_runner": 50}) and all(sum(some.values()) <= programs.PART for some in found)


# ---- processes of Dask's own -----------------------------------------------------------------------------------------

@contextmanager
def dask(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]], text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
                          start_new_session=True) as process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def scheduler() -> Iterator[tuple[subprocess.Popen[str], str]]:
    with dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard") as process:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(r"Scheduler at: +(tcp://\S+)", line):
                yield process, found[1]
                return
        raise AssertionError("the scheduler did not start")


def worker(address: str, place: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    return dask("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(place))


@pytest.mark.client
def test_a_killed_worker_loses_nothing_and_a_lost_scheduler_keeps_the_results(tmp_path: Path, capsys: Capture) -> None:
    manifest = tmp_path / "many" / "manifest.toml"
    manifest.parent.mkdir()
    manifest.write_text("".join(
        f'[[trace]]\nfile = "{case.trace}"\nname = "{case.name}-{n}"\ngolden = "{case.golden}"\n'
        for n in range(12) for case in cases(6)))
    with scheduler() as (process, address), worker(address, tmp_path) as first, worker(address, tmp_path):
        with ClusterRunner(Task(options=Options(workers=1)), Limits(), address) as runner:
            outcomes = {}
            for index, result in runner.run(read_manifest(manifest).cases):
                outcomes[index] = result.outcome
                if len(outcomes) == 5:
                    os.killpg(first.pid, signal.SIGKILL)
        assert outcomes == dict.fromkeys(range(72), Outcome.PASS)

        command = [sys.executable, "-m", "gen4emu.cli.main", "check", str(manifest), "--jsonl", "r.jsonl", "--dask",
                   address]
        with subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as check:
            while not Path("r.jsonl").exists() or Path("r.jsonl").stat().st_size == 0:
                assert check.poll() is None
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)
            assert check.stderr is not None
            said = check.stderr.read()
    assert check.returncode == 2 and f"{address}: the scheduler is gone; the results so far:" in said, said
    assert "Traceback" not in said
    before = len(read(Path("r.jsonl"), cut_is_fine=True))
    assert 0 < before < 72
    assert run(["check", str(manifest), "--jsonl", "r.jsonl", "--resume"]) == 0
    assert len(read(Path("r.jsonl"))) == 72
    assert files.code_digest() == files.code_digest.__wrapped__()
