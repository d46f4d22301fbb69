"""Candidates of a search that are tried before their turn, in copies of this process.

The copies are made before anything is read, so that they and this process can be confined afterwards: a confined
process cannot create processes or send them signals.  A copy ends when this process closes the connection with it.
"""

from __future__ import annotations

import io
import json
import os
import pickle
import select
import signal
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, Protocol, TypeVar

from gen4emu.children import Child, forked
from gen4emu.errors import Gen4emuError

_GRACE_SECONDS = 10.0
_ANSWER_BYTES = 100


class Candidate(Protocol):
    """Candidates are equal if they have the same answer."""

    def difference(self, before: Any) -> Any:
        """A value from which `restored` of the previous candidate makes this one."""

    def restored(self, difference: Any) -> Any:
        """The candidate after this one, from its difference."""


_C = TypeVar("_C", bound=Candidate)
Answer = tuple[bool, bool]  # whether the search is over, and the answer


@dataclass(slots=True)
class _Worker(Generic[_C]):
    child: Child
    last: _C | None = None  # the candidate that it has
    asked: _C | None = None  # None: it is idle, or its answer is no longer needed
    answer: Answer | None = None
    is_busy: bool = False


@dataclass(frozen=True, slots=True)
class _Begin:
    trial: Any
    first: Any


class ParallelTrials(Generic[_C]):
    """Tests candidates.  Meanwhile, copies of this process test those that come next if every answer is no."""

    def __init__(self, prepare: Callable[[int], Any], workers: int) -> None:
        """`prepare` is called first in each copy, with its number.  No other thread may run.

        A result other than None becomes `stays` of the trial that `begin` receives.
        """
        self._workers: list[_Worker[_C]] = []
        try:
            for number in range(workers):
                self._workers.append(_Worker(Child(forked(_asking(prepare, number)))))
        except OSError as e:
            self.close()
            raise Gen4emuError(f"no process for a candidate: {e.strerror}") from None

    def begin(self, trial: Any, first: _C) -> None:
        """Give the copies the test, a picklable function of a candidate, and the first candidate.

        Answers to earlier tests are dropped.
        """
        data = _pickled(_Begin(trial, first))
        for worker in self._workers:
            worker.last, worker.asked, worker.answer = first, None, None
            self._send(worker, data)

    def close(self) -> None:
        for worker in self._workers:
            worker.child.connection.close()
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
        """Give a worker a candidate; it may still be busy with another one."""
        while (free := next((w for w in self._workers if not w.is_busy and w.asked is None), None)) is None:
            self._listen()
        assert free.last is not None
        self._send(free, _pickled(candidate.difference(free.last)))
        free.last = free.asked = candidate
        free.answer, free.is_busy = None, True
        return free

    def _send(self, worker: _Worker[_C], data: memoryview) -> None:
        try:
            worker.child.connection.send_bytes(data)
        except OSError:
            raise self._death(worker) from None

    def _listen(self) -> None:
        """Take the answers that are there, at least one."""
        busy = {worker.child.connection: worker for worker in self._workers if worker.is_busy}
        for connection in wait(list(busy)):
            assert isinstance(connection, Connection)
            worker = busy[connection]
            try:
                is_over, stays = json.loads(connection.recv_bytes(_ANSWER_BYTES))
            except (EOFError, OSError, ValueError, TypeError):
                raise self._death(worker) from None
            worker.is_busy = False
            worker.answer = (is_over is True, stays is True) if worker.asked is not None else None

    def _death(self, worker: _Worker[_C]) -> Gen4emuError:
        self._workers.remove(worker)
        how, log = worker.child.end(1.0)
        last = (log.strip().splitlines() or [""])[-1]
        return Gen4emuError(f"the process of a candidate ended with {how}{': ' * bool(last)}{last}")


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        """The data of events are views of the trace."""
        return (bytes, (bytes(obj),)) if isinstance(obj, memoryview) else NotImplemented


def _pickled(value: Any) -> memoryview:
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=5).dump(value)
    return buffer.getbuffer()


def _asking(prepare: Callable[[int], Any], number: int) -> Callable[[int], None]:
    def run(handle: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends its copies
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        stays = prepare(number)
        threading.Thread(target=_end_with, args=(handle,), daemon=True).start()
        connection = Connection(handle)
        try:
            trial: Any = None
            candidate: Any = None
            while True:
                message = pickle.loads(connection.recv_bytes())
                if isinstance(message, _Begin):
                    trial, candidate = message.trial, message.first
                    if stays is not None:
                        trial = replace(trial, stays=stays)
                else:
                    candidate = candidate.restored(message)
                    connection.send_bytes(json.dumps(trial(candidate)).encode())
        except EOFError:  # the parent has ended
            return

    return run


def _end_with(handle: int) -> None:
    """End this process, even while it works, when the other side of a connection is closed."""
    closed = select.poll()
    closed.register(handle, select.POLLRDHUP)
    closed.poll()
    os._exit(0)


Changes = tuple[dict[int, bytes], list[int]]


def changes(before: Mapping[int, bytes], after: Mapping[int, bytes]) -> Changes:
    """Entries that are new or have other contents, and keys that are gone."""
    return ({key: data for key, data in after.items() if before.get(key) is not data},
            [key for key in before if key not in after])


def changed(before: Mapping[int, bytes], by: Changes) -> dict[int, bytes]:
    new, gone = by[0], set(by[1])
    return {key: data for key, data in before.items() if key not in gone} | new
