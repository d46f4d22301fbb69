"""Cases of `check` on a cluster: the same interface as check/runner.py has for processes of this machine."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gen4emu.check.execute import Task, remove_evidence
from gen4emu.check.history import key
from gen4emu.check.manifest import Case
from gen4emu.check.results import EVIDENCE, Outcome, Result
from gen4emu.check.runner import Limits, Runner
from gen4emu.cluster.files import Store, Wanted, code_digest, default_store
from gen4emu.cluster.pool import Call, ClusterLost, Failed, Pool, Worker
from gen4emu.image.picture import replacing
from gen4emu.suite.traces import input_files

if TYPE_CHECKING:
    from distributed import Future

TWICE = 100  # one case of so many is run on two workers
_CALL_SECONDS = 0.5  # of short cases, one call runs several
_MOST_SENT = 1 << 30  # bytes that stay in the memory of the cluster
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Job:
    case: Case
    task: Task
    limits: Limits
    files: tuple[Wanted, ...]
    code: str


@dataclass(slots=True)
class Answer:
    worker: str
    host: str
    result: Result | None = None  # None if files are missing, or the worker has another gen4emu
    missing: tuple[Wanted, ...] = ()
    evidence: dict[str, bytes] = field(default_factory=dict)  # by path in the directory of results


# ---- on a worker -----------------------------------------------------------------------------------------------------

@dataclass(eq=False, slots=True)
class _Slot:
    """The child process that runs the cases of a thread, and its directory of results, which is mostly empty."""

    runner: Runner
    results: tempfile.TemporaryDirectory[str]


_local = threading.local()  # each thread of a worker has a slot of its own
_ready: list[_Slot] = []  # for threads that have none: for local:N, forked before Dask had threads
_all: list[_Slot] = []


def about() -> Worker:
    return Worker(socket.gethostname())


def execute(jobs: Sequence[Job], names: Sequence[str] = (), *contents: bytes) -> list[Answer]:
    """Run cases in the child process of this thread.  `contents` are files that were missing, `names` their digests."""
    return [_execute(job, names, contents) for job in jobs]


def _execute(job: Job, names: Sequence[str], contents: Sequence[bytes]) -> Answer:
    from distributed import get_worker

    answer = Answer(get_worker().address, socket.gethostname())
    if job.code != code_digest():
        return answer
    with ExitStack() as stack:
        case = job.case
        if not all(wanted.is_here for wanted in job.files):
            kept = Store(default_store())
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=kept.directory, prefix="case-")))
            answer.missing = _fill(job.files, dict(zip(names, contents, strict=True)), kept, place)
            if answer.missing:
                return answer
            case = _moved(case, place)
        slot = _slot_of(job.task, job.limits)
        results = Path(slot.results.name)
        slot.runner.task = replace(job.task, results=None if job.task.results is None else results)
        ((_, result),) = slot.runner.run([case])
        answer.evidence = _take_evidence(result, results)
    result.messages = [_renamed(text, case, job.case) for text in result.messages]
    result.notes = [_renamed(text, case, job.case) for text in result.notes]
    result.case = job.case
    answer.result = result
    return answer


def _slot_of(task: Task, limits: Limits) -> _Slot:
    slot: _Slot | None = getattr(_local, "slot", None)
    if slot not in _all:  # none, or one of a cluster that has ended
        slot = _ready.pop() if _ready else None
    if slot is None or slot.runner.limits != limits:
        if slot is not None:
            _drop(slot)
        slot = _new_slot(task, limits)
    _local.slot = slot
    return slot


def _new_slot(task: Task, limits: Limits) -> _Slot:
    results = tempfile.TemporaryDirectory(prefix="gen4emu-results-")
    slot = _Slot(Runner(replace(task, results=Path(results.name)), limits, reads=[default_store()]), results)
    _all.append(slot)
    return slot


def _drop(slot: _Slot) -> None:
    _all.remove(slot)
    slot.runner.close()
    slot.results.cleanup()


def _fill(files: Sequence[Wanted], sent: Mapping[str, bytes], kept: Store, place: Path) -> tuple[Wanted, ...]:
    """Lay out the files of a case below a directory; those that are not on this machine."""
    missing = []
    for wanted in files:
        if wanted.digest in sent and not kept.has(wanted):
            kept.keep(wanted, sent[wanted.digest])
        target = _place_of(wanted.path, place)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not kept.link(wanted, target):
            missing.append(wanted)
    return tuple(missing)


def _place_of(path: Path, place: Path) -> Path:
    """Where a file of another machine is laid out; files of one directory stay together."""
    directory = blake2b(str(path.parent).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return place / directory / path.name


def _moved(case: Case, place: Path) -> Case:
    def directory(golden: Path) -> Path:
        return _place_of(golden.absolute() / "x", place).parent

    accepted = tuple(one if one.golden is None else replace(one, golden=directory(one.golden)) for one in case.accepted)
    return replace(case, trace=_place_of(case.trace.absolute(), place), golden=directory(case.golden),
                   accepted=accepted)


def _renamed(text: str, there: Case, here: Case) -> str:
    return text.replace(str(there.trace), str(here.trace)).replace(str(there.golden), str(here.golden))


def _take_evidence(result: Result, results: Path) -> dict[str, bytes]:
    """The files that a failure has left; the result then has their paths in the directory of results."""
    found = {}
    for picture in result.pictures:
        for kind in EVIDENCE:
            path = getattr(picture, kind)
            if path is not None:
                relative = path.relative_to(results)
                setattr(picture, kind, relative)
                found[str(relative)] = path.read_bytes()
                path.unlink()
    return found


# ---- on the submitting machine ---------------------------------------------------------------------------------------

@dataclass(slots=True)
class _Asked:
    """A case in the tag of a call."""

    index: int
    job: Job
    first: Answer | None = None  # of a case that runs a second time, on another worker


def _call(asked: Sequence[_Asked], not_on: tuple[str, ...] = (), tries: int = 0) -> Call:
    return Call(execute, (tuple(one.job for one in asked),), asked, not_on, tries)


class ClusterRunner:
    """Runs cases on a cluster.  `task` may change between runs.

    The children of local:N start at once, ready for `cases`: by fork, which takes a second less than an import.
    """

    def __init__(self, task: Task, limits: Limits, where: str, cases: Sequence[Case] = ()) -> None:
        self.task, self._limits, self._cases = task, limits, cases
        self._pool = Pool(where)
        self._sent: OrderedDict[str, tuple[int, Future]] = OrderedDict()
        self.twice = 0  # cases that were run on two workers
        self.hosts: set[str] = set()

    def __enter__(self) -> Self:
        if threading.active_count() == 1:
            for _ in range(min(self._pool.locals, len(self._cases))):
                slot = _new_slot(self.task, self._limits)
                slot.runner.start(self._cases)
                _ready.append(slot)
        try:
            self._pool.__enter__()
            self._pool.check_versions(about)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._sent.clear()
        self._pool.__exit__(kind, value, trace)
        _ready.clear()
        while _all:  # of local:N
            _drop(_all[-1])

    def run(self, cases: Sequence[Case]) -> Iterator[tuple[int, Result]]:
        """The index and the result of each case as it ends."""
        code = code_digest()
        waiting: deque[_Asked] = deque()
        again: deque[Call] = deque()
        seconds: deque[float] = deque(maxlen=50)  # that cases took
        for index, case in enumerate(cases):
            try:
                files = tuple(Wanted.of(path) for path in input_files(case))
            except OSError as e:
                yield index, Result(case, Outcome.FAIL, is_error=True, messages=[f"{e.filename}: {e.strerror}"])
                continue
            waiting.append(_Asked(index, Job(case, self.task, self._limits, files, code)))

        def following() -> Call | None:
            if again or not waiting:
                return again.popleft() if again else None
            usual = sum(seconds) / len(seconds) if seconds else _CALL_SECONDS
            share = -(-len(waiting) // (2 * max(1, self._pool.size)))  # so that workers end at the same time
            count = max(1, min(int(_CALL_SECONDS / max(usual, 0.001)), share))
            return _call([waiting.popleft() for _ in range(min(count, len(waiting)))])

        for call, answers in self._pool.run(following):
            if isinstance(answers, Failed):
                for asked in call.tag:
                    if len(call.tag) > 1:
                        again.append(_call([asked]))
                    elif answers.data_is_lost and call.tries + 1 < _TRIES:
                        self._forget(asked.job)
                        again.append(_call([asked], call.not_on, call.tries + 1))
                    else:
                        yield asked.index, Result(asked.job.case, Outcome.CRASH, messages=[answers.how])
                continue
            for asked, answer in zip(call.tag, answers, strict=True):
                if answer.result is None:
                    again.append(self._with_files(asked, call, answer))
                elif asked.first is None and self._runs_twice(asked.job.case, answer):
                    again.append(_call([replace(asked, first=answer)], self._beside(answer)))
                else:
                    seconds.append(answer.result.seconds)
                    yield asked.index, self._finish(asked, answer)

    def _forget(self, job: Job) -> None:
        """Files that the cluster has lost."""
        for wanted in job.files:
            self._sent.pop(wanted.digest, None)

    def _with_files(self, asked: _Asked, call: Call, answer: Answer) -> Call:
        """The call with the files that the worker did not have."""
        if not answer.missing:
            raise ClusterLost(f"{answer.worker} ({answer.host}): has a different gen4emu from this machine")
        if call.tries + 1 >= 2 * _TRIES:  # of a store that is too small, or was emptied
            raise ClusterLost(f"{answer.worker} ({answer.host}): does not keep {answer.missing[0].path}")
        by_digest = {wanted.digest: wanted for wanted in answer.missing}
        futures = [self._future(wanted) for wanted in by_digest.values()]
        return Call(execute, ((asked.job,), tuple(by_digest), *futures), [asked], call.not_on, call.tries + 1)

    def _future(self, wanted: Wanted) -> Future:
        if wanted.digest not in self._sent:
            self._sent[wanted.digest] = wanted.size, self._pool.send(wanted.path.read_bytes())
        self._sent.move_to_end(wanted.digest)
        while len(self._sent) > 1 and sum(size for size, _ in self._sent.values()) > _MOST_SENT:
            self._sent.popitem(last=False)
        return self._sent[wanted.digest][1]

    def _runs_twice(self, case: Case, answer: Answer) -> bool:
        chosen = int.from_bytes(blake2b(key(case).encode(), digest_size=8).digest(), "little") % TWICE == 0
        return chosen and set(self._pool.workers) - set(self._beside(answer)) != set()

    def _beside(self, answer: Answer) -> tuple[str, ...]:
        """Workers to exclude from a second run: all of the same machine if there are others, else only the same one."""
        hosts = self._pool.workers
        same = tuple(address for address, host in hosts.items() if host == hosts.get(answer.worker))
        return same if len(same) < len(hosts) else (answer.worker,)

    def _finish(self, asked: _Asked, answer: Answer) -> Result:
        """The result of a case, with its evidence in the directory of results."""
        first = asked.first or answer
        result, other = first.result, answer.result
        assert result is not None and other is not None
        self.hosts |= {first.host, answer.host}
        if asked.first is not None:
            self.twice += 1
            if _drawn(result) != _drawn(other):
                result.outcome = Outcome.FAIL
                result.messages.append(f"{first.worker} ({first.host}) and {answer.worker} ({answer.host}) differ: "
                                       + _difference(result, other))
        if asked.job.task.results is not None:
            _put_evidence(result, first.evidence, asked.job.task.results)
        return result


def _drawn(result: Result) -> tuple[Outcome, str, dict[str, str]]:
    return result.outcome, result.digest, {p.name: p.digest for p in result.pictures}


def _difference(one: Result, other: Result) -> str:
    pictures = {p.name: p.digest for p in other.pictures}
    names = [p.name for p in one.pictures if pictures.get(p.name) != p.digest]
    return f"picture {names[0]}" if names else f"{one.outcome} and {other.outcome}"


def _put_evidence(result: Result, evidence: Mapping[str, bytes], results: Path) -> None:
    remove_evidence(results / result.case.name)
    for name, content in evidence.items():
        path = results / name
        if not path.absolute().is_relative_to(results.absolute()) or ".." in path.parts[len(results.parts):]:
            raise ClusterLost(f"a worker has sent a file with the name {name!r}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(content)
    for picture in result.pictures:
        for kind in EVIDENCE:
            relative: Any = getattr(picture, kind)
            if relative is not None:
                setattr(picture, kind, results / relative)
