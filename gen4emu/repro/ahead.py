"""Candidates of a search that are tried before their turn, in copies of this process."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

from gen4emu.children import Child, forked
from gen4emu.errors import Gen4emuError

_GRACE_SECONDS = 10.0  # for a command that a copy runs


class Candidate(Protocol):
    """Two of them are equal if they have the same answer."""

    def difference(self, before: Any) -> Any:
        """A value that `restored` makes this candidate from, with the one before."""

    def restored(self, difference: Any) -> Any:
        """The candidate after this one."""


_C = TypeVar("_C", bound=Candidate)
Answer = tuple[bool, bool]  # whether no more may be asked, and the answer


@dataclass(slots=True)
class _Worker(Generic[_C]):
    child: Child
    last: _C  # candidate that it has
    asked: _C | None = None  # None: it is idle, or its answer is not wanted any more
    answer: Answer | None = None
    is_busy: bool = False


class Ahead(Generic[_C]):
    """Answers questions about candidates.  The next ones are asked meanwhile, as if all answers were no."""

    def __init__(self, ask: Callable[[_C], Answer], first: _C, workers: int) -> None:
        """`ask` runs in the copies, which begin with `first`.  No other thread may run."""
        self._workers: list[_Worker[_C]] = []
        try:
            for _ in range(workers):
                self._workers.append(_Worker(Child(forked(_asking(ask, first))), first))
        except OSError as e:
            self.close()
            raise Gen4emuError(f"no process for a candidate: {e.strerror}") from None

    def close(self) -> None:
        for worker in self._workers:
            worker.child.ask_to_end()
            worker.child.connection.close()  # a signal just before a read does not end the read
        for worker in self._workers:
            worker.child.end(_GRACE_SECONDS)
        self._workers.clear()

    def ask(self, candidate: _C, following: Iterable[_C]) -> Answer:
        """The answer for a candidate.  `following` are those whose turn comes next if it is no."""
        mine = self._that_has(candidate)
        if mine is None:
            for worker in self._workers:
                worker.asked = None
            mine = self._give(candidate)
        for later in following:
            if all(worker.is_busy or worker.asked is not None for worker in self._workers):
                break
            if self._that_has(later) is None:
                self._give(later)
        while mine.answer is None:
            self._listen()
        answer, mine.answer, mine.asked = mine.answer, None, None
        return answer

    def _that_has(self, candidate: _C) -> _Worker[_C] | None:
        return next((worker for worker in self._workers if worker.asked == candidate), None)

    def _give(self, candidate: _C) -> _Worker[_C]:
        """Ask a worker, which may have to end something else before."""
        while (free := next((w for w in self._workers if not w.is_busy and w.asked is None), None)) is None:
            self._listen()
        try:
            free.child.connection.send(candidate.difference(free.last))
        except OSError:
            raise self._death(free) from None
        free.last = free.asked = candidate
        free.answer, free.is_busy = None, True
        return free

    def _listen(self) -> None:
        """Take the answers that are there, at least one."""
        busy = {worker.child.connection: worker for worker in self._workers if worker.is_busy}
        for connection in wait(list(busy)):
            assert isinstance(connection, Connection)
            worker = busy[connection]
            try:
                answer = connection.recv()
            except (EOFError, OSError):
                raise self._death(worker) from None
            worker.is_busy = False
            worker.answer = answer if worker.asked is not None else None

    def _death(self, worker: _Worker[_C]) -> Gen4emuError:
        self._workers.remove(worker)
        how, log = worker.child.end(1.0)
        last = (log.strip().splitlines() or [""])[-1]
        return Gen4emuError(f"the process of a candidate ended with {how}{': ' * bool(last)}{last}")


def _asking(ask: Callable[[_C], Answer], first: _C) -> Callable[[int], None]:
    def run(handle: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its copies
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
        connection, candidate = Connection(handle), first
        while True:
            try:
                difference = connection.recv()
            except EOFError:  # the parent has ended
                return
            candidate = candidate.restored(difference)
            connection.send(ask(candidate))

    return run


Changes = tuple[dict[int, bytes], list[int]]


def changes(before: Mapping[int, bytes], after: Mapping[int, bytes]) -> Changes:
    """Entries that are new or have other contents, and keys that are gone."""
    return ({key: data for key, data in after.items() if before.get(key) is not data},
            [key for key in before if key not in after])


def changed(before: Mapping[int, bytes], by: Changes) -> dict[int, bytes]:
    new, gone = by[0], set(by[1])
    return {key: data for key, data in before.items() if key not in gone} | new
