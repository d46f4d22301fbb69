"""Calls on the workers of a Dask cluster, with their answers as they come."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gen4emu.cluster.files import code_digest
from gen4emu.errors import Gen4emuError, SelectionError

if TYPE_CHECKING:
    from distributed import Client, Future

_LOCAL = re.compile(r"local:(\d{1,4})")
_REMOTE = re.compile(r"(tcp|tls|ucx|ws|wss)://[^\s/]+(:\d+)?")
_PATIENCE = 60.0  # seconds without any worker
_NEWS = 1.0  # seconds until workers that came and went are noticed
_OUTAGE = 10.0  # seconds without the scheduler
_AHEAD = 2  # calls of a worker: one runs, one waits
# Dask's profiles and charts, which a local cluster does not need, take a tenth of the time of short cases.
_WITHOUT_CHARTS = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False, "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False, "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False, "distributed.admin.tick.interval": "1s"}


class ClusterLost(Gen4emuError):
    """Calls that are left cannot be made."""


@dataclass(slots=True)
class Call:
    """A function of a module that workers have, and where it may run."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    tag: Any = None  # of the caller
    not_on: tuple[str, ...] = ()  # addresses of workers
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """The answer to a call that ended the workers that tried it, or whose data got lost."""

    how: str
    data_is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Worker:
    host: str
    code: str = field(default_factory=code_digest)


def check_address(where: str) -> None:
    """SelectionError unless this is an address that `--dask` takes."""
    local = _LOCAL.fullmatch(where)
    if local is None and not _REMOTE.fullmatch(where):
        raise SelectionError(f"{where!r} is not a Dask cluster (examples: tcp://scheduler:8786, local:4)")
    if local is not None and not 1 <= int(local[1]) <= 1024:
        raise SelectionError(f"{where!r}: a local cluster has 1 to 1024 workers")


class Pool:
    """A connection to a scheduler, or a cluster of this machine's own: `where` is tcp://HOST:PORT or local:N."""

    def __init__(self, where: str) -> None:
        check_address(where)
        self.where = where
        self._stack = ExitStack()
        self._client: Client
        self._size = 1

    @property
    def locals(self) -> int:
        """The number of workers that are threads of this process."""
        local = _LOCAL.fullmatch(self.where)
        return 0 if local is None else int(local[1])

    def __enter__(self) -> Self:
        try:
            import dask.config
            import distributed
        except ImportError:
            raise SelectionError("--dask needs Dask: pip install 'gen4emu[cluster]'") from None
        # Lost workers and connections are reported here, in our words.
        for name in [name for name in logging.root.manager.loggerDict if name.startswith(("distributed", "tornado"))]:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            if self.locals:
                self._stack.enter_context(dask.config.set(_WITHOUT_CHARTS))
                # Threads of this process are enough: every case runs in a child process.  Without an address for its
                # pages, Dask would serve them on all interfaces of the machine.
                cluster = self._stack.enter_context(distributed.LocalCluster(
                    n_workers=self.locals, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL))
                self._client = self._stack.enter_context(distributed.Client(cluster, set_as_default=False))
            else:
                self._client = self._stack.enter_context(
                    distributed.Client(self.where, timeout=_OUTAGE, set_as_default=False))
            self._client.wait_for_workers(max(1, self.locals), timeout=_PATIENCE)
        except TimeoutError:
            self._close()
            raise ClusterLost(f"{self.where}: has no worker after {_PATIENCE:.0f} s") from None
        except OSError:
            self._close()
            raise ClusterLost(f"{self.where}: no scheduler answers") from None
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        # A connection to a lost cluster cannot be closed cleanly.
        with suppress(OSError, TimeoutError, RuntimeError):
            self._stack.close()

    @property
    def workers(self) -> dict[str, str]:
        """The host of each worker, by address."""
        return {address: about["host"] for address, about in self._client.scheduler_info(-1)["workers"].items()}

    @property
    def size(self) -> int:
        """The number of workers when they were asked for last."""
        return self._size

    def check_versions(self, about: Callable[[], Worker]) -> None:
        """ClusterLost if a worker has no gen4emu, or another one."""
        mine = code_digest()
        try:
            found: dict[str, Any] = self._client.run(about, on_error="return")
        except (OSError, TimeoutError):
            raise ClusterLost(f"{self.where}: the scheduler does not answer") from None
        for address, worker in found.items():
            if not isinstance(worker, Worker):
                raise ClusterLost(f"{address}: cannot run gen4emu: {worker}")
            if worker.code != mine:
                raise ClusterLost(f"{address} ({worker.host}): has a different gen4emu from this machine")

    def everywhere(self, function: Callable[[], Any]) -> list[Any]:
        """The results of a function on the workers that answer."""
        with suppress(OSError, TimeoutError):
            return list(self._client.run(function, on_error="ignore").values())
        return []

    def send(self, content: bytes) -> Future:
        """Data for arguments of calls, which stays in the cluster as long as the future exists."""
        return self._client.scatter(content, hash=False)

    def run(self, following: Callable[[], Call | None]) -> Iterator[tuple[Call, Any]]:
        """Each call with its answer, or Failed.

        `following` gives the next call; None if there is none until the caller has seen more answers.  ClusterLost if
        the scheduler or all workers are gone.  Calls that are still running when the pool closes are cancelled.
        """
        from distributed import wait

        running: dict[Future, Call] = {}
        given: dict[Future, str] = {}  # the worker that a call was meant for
        workers: dict[str, str] = {}
        asked = 0.0  # when the scheduler was asked for them
        seen = time.monotonic()  # when there were some
        call: Call | None = None
        while True:
            if self._client.status != "running":
                workers = {}
            elif time.monotonic() > asked + _NEWS or not workers:
                with suppress(OSError, TimeoutError, CancelledError):  # its status shows it
                    workers = self.workers
                self._size = len(workers)
                asked = time.monotonic()
            while workers and len(running) < _AHEAD * len(workers):
                call = call or following()
                if call is None:
                    break
                place = None if call.not_on else self._least_busy(workers, given.values())
                future = self._submit(call, workers, place)
                running[future] = call
                if place is not None:
                    given[future] = place
                call = None
            seen = time.monotonic() if workers else seen
            self._check(seen, bool(workers))
            if not running and workers:
                return
            if not running:
                time.sleep(0.2)  # until there is a worker
                continue
            with suppress(TimeoutError, CancelledError), self._client.as_current():
                wait(list(running), timeout=0.5, return_when="FIRST_COMPLETED")
            for future in [f for f in running if f.status != "pending"]:
                given.pop(future, None)
                yield running.pop(future), self._answer(future)

    @staticmethod
    def _least_busy(workers: Iterable[str], given: Iterable[str]) -> str:
        """Choose a worker.  Dask's own choice sometimes leaves one idle for up to a second, until it steals a call."""
        calls = Counter(given)
        return min(workers, key=lambda address: calls[address])

    def _submit(self, call: Call, workers: dict[str, str], place: str | None) -> Future:
        """`place` is a preference: if this worker ends, the call runs on another one."""
        allowed = [address for address in workers if address not in call.not_on]
        where: dict[str, Any] = {"workers": allowed} if call.not_on and allowed else {}
        if place is not None:
            where = {"workers": [place], "allow_other_workers": True}
        return self._client.submit(call.function, *call.arguments, pure=False, retries=0, **where)

    def _check(self, seen: float, has_workers: bool) -> None:
        quiet = time.monotonic() - seen
        if self._client.status == "closed" or (self._client.status != "running" and quiet > _OUTAGE):
            raise ClusterLost(f"{self.where}: the scheduler is gone")
        if not has_workers and quiet > _PATIENCE:
            raise ClusterLost(f"{self.where}: all workers are gone")

    def _answer(self, future: Future) -> Any:
        if future.status == "finished":
            try:
                return future.result()
            except (OSError, TimeoutError) as e:
                return Failed(f"its answer did not arrive: {e}", True)
        if future.status in ("cancelled", "lost"):
            return Failed("the cluster has lost it", True)
        error = future.exception()
        if type(error).__name__ in ("KilledWorker", "NoValidWorkerError"):
            return Failed(f"{type(error).__name__}: the workers that tried it have ended")
        raise ClusterLost(f"{self.where}: a worker failed: {type(error).__name__}: {error}")
