"""Four clients at once on device servers, for as long as wanted: drawing, killed, hanging, sending damaged data.

    python -m tests.soak --minutes N [--seed S]

One server (`gen4emu run --serve`) for each of DEVICES.  In rounds of ROUND_SECONDS, each client chooses a device and an
action by chance.  Pictures must be those of the first, undisturbed run.  After each round, when all clients have left,
each server must live and have the descriptors, threads and shared pages of the first round, and memory within
GROWTH_KIB.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gen4emu._native import lib
from gen4emu.live import program
from tests.live import real_client
from tests.live.fake_client import FakeClient, Gone

DEVICES = ("gm45", "g45", "ivb", "hsw", "kbl")
SCENES = ("clear", "triangle", "texture", "gears", "blend", "stencil", "fbo", "cubemap")
SIZE, FRAMES, ENDLESS = 64, 2, 100_000
CLIENTS = 4
ROUND_SECONDS = 20
START_SECONDS = 60
SETTLE_SECONDS = 30
# Of a server that is asked to end.  It needs 0.15 s of the processor, for which it may wait long beside other programs.
END_SECONDS = 180
# Servers have one arena of malloc: each connection is a thread, and with more arenas than one the memory that is kept
# grows for many minutes.
GROWTH_KIB = 64 << 10
WARM_ROUNDS = 2  # before the memory is compared: modules are imported, arenas of threads made

BATCH, UNBOUND, MEMORY = 0x100000, 0x7F000000, 0x10000
BATCH_START, BATCH_END = 0x18800000, 0x05000000
HANG = int(lib.G4_LIVE_HANG)


class SoakError(Exception):
    """A leak, a wrong picture or a dead server."""


@dataclass(frozen=True)
class Usage:
    """The resources of a process."""

    descriptors: int
    threads: int
    shared_kib: int
    resident_kib: int

    @classmethod
    def of(cls, pid: int) -> Usage:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return cls(len(os.listdir(f"/proc/{pid}/fd")), int(status["Threads"]), int(status["RssShmem"].split()[0]),
                   int(status["VmRSS"].split()[0]))


def _threads(pid: int) -> str:
    """For each thread of a process its state, its processor time after a second, and where it waits."""
    time.sleep(1)
    found = []
    for task in sorted(Path(f"/proc/{pid}/task").iterdir()):
        name, _, fields = (task / "stat").read_text().rpartition(")")
        ticks = sum(map(int, fields.split()[11:13]))
        found.append(f"{name.partition('(')[2]} {fields.split()[0]} {ticks / os.sysconf('SC_CLK_TCK'):.2f} s "
                     f"{(task / 'wchan').read_text()}")
    return ", ".join(found)


class Process:
    """One server: the process that was started, and its child, which serves."""

    def __init__(self, device: str, folder: Path) -> None:
        self.device, self.directory, self._log = device, folder / device, folder / f"{device}.log"
        self.usage: Usage | None = None
        command = [sys.executable, "-m", "gen4emu", "run", "--device", device, "-j", "2", "--watchdog", "20", "--serve",
                   str(self.directory)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log,
                                            env=real_client.environment(TMPDIR=str(folder), MALLOC_ARENA_MAX="1"))
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], START_SECONDS)[0] or not self.process.stdout.readline():
            raise SoakError(f"{device}: the server does not start: {self.log}")
        pid = self.process.pid
        self.server = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])  # which serves

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def check(self, compare_memory: bool) -> None:
        """Raise SoakError unless the server lives and has given back what the clients of the round used."""
        if self.process.poll() is not None:
            raise SoakError(f"{self.device}: the server has ended with status {self.process.returncode}: {self.log}")
        if "Traceback" in self.log:
            raise SoakError(f"{self.device}: {self.log}")
        usage = self._settled()
        first = self.usage
        if first is None or not compare_memory:
            self.usage = usage
        elif usage.resident_kib > first.resident_kib + GROWTH_KIB:
            raise SoakError(f"{self.device}: {usage}, and {first} before")

    def _settled(self) -> Usage:
        """The usage when the last connection has ended."""
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            usage = Usage.of(self.server)
            before = self.usage
            if before is None or (usage.descriptors <= before.descriptors and usage.threads <= before.threads
                                  and usage.shared_kib <= before.shared_kib):
                return usage
            if time.monotonic() > end:
                raise SoakError(f"{self.device}: {usage} without clients, and {before} before")
            time.sleep(0.2)

    def _progress(self) -> str:
        """The processor time of both processes and what they do: a wait that does not end, or too few turns."""
        found = []
        for pid in (self.process.pid, self.server):
            try:
                _, _, fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
            except FileNotFoundError:
                found.append(f"process {pid} has ended")
                continue
            ticks = sum(map(int, fields.split()[11:13]))
            found.append(f"process {pid} {fields.split()[0]} after {ticks / os.sysconf('SC_CLK_TCK'):.2f} s")
        return ", ".join(found)

    def end(self) -> None:
        before = self._progress()
        self.process.terminate()
        try:
            status = self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            after = self._progress()
            self.process.kill()
            self.process.wait()
            raise SoakError(f"{self.device}: the server does not end: {before} before, {after} now") from None
        if status != 0:
            raise SoakError(f"{self.device}: the server has ended with status {status}: {self.log}")


class Soak:
    """The servers, the pictures they must draw, and counts of the actions."""

    def __init__(self, servers: list[Process], folder: Path) -> None:
        self.servers, self._folder = servers, folder
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self._actions = (self.draw, self.draw, self.draw, self.kill, self.hang, self.damage, self.damage_packet)
        self._lock = threading.Lock()
        self._pictures: dict[tuple[str, str], bytes] = {}

    def learn_pictures(self) -> None:
        for server in self.servers:
            for scene in SCENES:
                self._pictures[server.device, scene] = self._picture(server, scene, self._folder / "first.raw")

    def _start(self, server: Process, scene: str, path: Path, frames: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen([real_client.scenes("gl"), scene, str(path), str(SIZE), str(frames)],
                                env=real_client.on_server(server.directory), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def _picture(self, server: Process, scene: str, path: Path) -> bytes:
        child = self._start(server, scene, path, FRAMES)
        try:
            _, messages = child.communicate(timeout=real_client.TIMEOUT)
        except subprocess.TimeoutExpired:
            states = [f"{who}: {_threads(pid)}" for _ in range(2) for who, pid in (("program", child.pid),
                                                                                   ("server", server.server))]
            raise SoakError(f"{server.device}: {scene} does not end: {'; '.join(states)}") from None
        finally:
            child.kill()
            child.wait()
        if child.returncode != 0:
            raise SoakError(f"{server.device}: {scene} ends with status {child.returncode}: {messages!r}")
        return path.read_bytes()

    def round(self, rng: random.Random, seconds: float) -> None:
        """Let all clients work for a while; the failures are in `failures`."""
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self._client, args=(number, random.Random(rng.random()), end))
                   for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _client(self, number: int, rng: random.Random, end: float) -> None:
        while time.monotonic() < end and not self.failures:
            action = rng.choice(self._actions)
            try:
                action(rng.choice(self.servers), rng, self._folder / f"client-{number}.raw")
            except Exception as e:
                with self._lock:
                    self.failures.append(f"{action.__name__}: {e!r}")
                return
            with self._lock:
                self.counts[action.__name__] += 1

    # --- actions ------------------------------------------------------------------------------------------------------
    def draw(self, server: Process, rng: random.Random, path: Path) -> None:
        scene = rng.choice(SCENES)
        if self._picture(server, scene, path) != self._pictures[server.device, scene]:
            raise SoakError(f"{server.device}: another picture of {scene}")

    def kill(self, server: Process, rng: random.Random, path: Path) -> None:
        """End a program while it draws."""
        child = self._start(server, rng.choice(SCENES), path, ENDLESS)
        time.sleep(rng.uniform(0.05, 2))
        if child.poll() is not None:
            _, messages = child.communicate()
            raise SoakError(f"{server.device}: ended with status {child.returncode}: {messages!r}")
        child.send_signal(rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
        child.communicate()

    def hang(self, server: Process, rng: random.Random, path: Path) -> None:
        """Submit a batch at an address that is not bound, or one that goes there."""
        with _fake(server) as client:
            client.words(MEMORY, BATCH_START, UNBOUND)
            status = client.run(rng.choice((BATCH, UNBOUND)))
            if status != HANG:
                raise SoakError(f"{server.device}: status {status} instead of a hang")

    def damage(self, server: Process, rng: random.Random, path: Path) -> None:
        """Submit batches of random commands, some of them headers of real ones; leave before the last has ended."""
        with _fake(server) as client:
            for _ in range(rng.randrange(1, 6)):
                words = [rng.choice((rng.getrandbits(32), 0x78000000 | rng.getrandbits(24) & 0x7F0003, 0x7A000002, 0))
                         for _ in range(rng.randrange(1, 400))]
                client.words(MEMORY, *words, BATCH_END, 0)
                client.run(BATCH)
            client.start(BATCH)

    def damage_packet(self, server: Process, rng: random.Random, path: Path) -> None:
        """Send bytes that are not a packet: the server ends this connection."""
        with _fake(server) as client:
            try:
                client.send_raw(rng.randbytes(rng.randrange(1, 200)))
                client.receive("result")
            except Gone:
                return
            raise SoakError(f"{server.device}: a damaged packet was answered")


@contextmanager
def _fake(server: Process) -> Iterator[FakeClient]:
    with FakeClient(server.directory, 1 << 20, "soak") as client:
        client.bind(BATCH, 0x20000, MEMORY)
        yield client


def soak(minutes: float, seed: int) -> None:
    """Raise SoakError on the first leak, wrong picture or dead server."""
    rng = random.Random(seed)
    end = time.monotonic() + 60 * minutes
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gen4emu-soak-")))
        servers = []
        for device in DEVICES:
            servers.append(Process(device, folder))
            stack.callback(servers[-1].process.kill)
        work = Soak(servers, folder)
        work.learn_pictures()
        for server in servers:
            server.check(False)
        rounds = 0
        while time.monotonic() < end:
            work.round(rng, min(ROUND_SECONDS, max(1, end - time.monotonic())))
            if work.failures:
                logs = "".join(f"\n--- {server.device}:\n{server.log}" for server in servers)
                raise SoakError("; ".join(work.failures) + logs)
            for server in servers:
                server.check(rounds >= WARM_ROUNDS)
            rounds += 1
            _report(rounds, work)
        for server in servers:
            server.end()


def _report(rounds: int, work: Soak) -> None:
    actions = ", ".join(f"{name} {count}" for name, count in sorted(work.counts.items()))
    now = "; ".join(f"{s.device} {u.resident_kib >> 10} MiB, {u.descriptors} fds, {u.threads} threads"
                    for s in work.servers for u in [Usage.of(s.server)])
    print(f"round {rounds}: {actions}; {now}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    reason = real_client.missing()
    if reason or not program.SHIM.exists():
        print(f"soak: {reason}", file=sys.stderr)
        return 2
    try:
        soak(arguments.minutes, arguments.seed)
    except SoakError as e:
        print(f"soak: {e}", file=sys.stderr)
        return 1
    print("soak: no leak, no wrong picture, no dead server")
    return 0


if __name__ == "__main__":
    sys.exit(main())
