"""Reads the commands of a ring or a batch, one after another.

The command streamer executes what this reader finds and the decoder shows it, so both agree on where each command
starts and ends.  A header dword decides the command and its length (gen4emu.hw.catalogue).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Words = Any  # a memoryview of dwords: one whole command, header first, or everything that was fetched
Fetch = Callable[[int, int], Words]  # address and dwords; returns fewer dwords where memory ends
Skip = Callable[[int, int, int], int]  # the window's address, two indices in it; returns an index between them
Extend = Callable[[], int]  # returns a number of dwords


class Decoded(Protocol):
    """The information that a client of the reader derives from a header; the reader needs only the length."""

    dwords: int


T = TypeVar("T", bound=Decoded)


class EndlessBatch(Exception):
    """A batch and those it chains to have more dwords and jumps than the client allows."""


class Headers(dict[int, T]):
    """Decoded headers.  Each is decoded once, by `decode`; `capacity` bounds the memory that hostile input can use."""

    __slots__ = ("capacity", "decode")

    def __init__(self, decode: Callable[[int], T], capacity: int) -> None:
        super().__init__()
        self.decode, self.capacity = decode, capacity

    def __missing__(self, header: int) -> T:
        if len(self) >= self.capacity:
            self.clear()
        decoded = self[header] = self.decode(header)
        return decoded


@dataclass(slots=True)
class Position:
    """The address and the header of a command, for messages and for the error registers."""

    address: int = 0
    in_batch: bool = False
    header: int = 0


@dataclass(slots=True, frozen=True)
class ReaderState:
    """A reader of a batch between two commands, for `resume`."""

    start: int  # the address of the next command, from which on the window is kept
    requested: int  # dwords
    stop: int  # of those, the number that is usable
    left: int  # dwords that the batch may still have, from the start of the window on
    window: bytes  # as it was fetched: memory may have changed since
    moved: bool
    is_stale: bool
    target: int | None
    limit: int | None


def wrapped(address: int, ring: tuple[int, int]) -> int:
    """The address in a ring of this start and size, after whose end its start follows."""
    start, size = ring
    return start + (address - start) % size


class CommandReader(Generic[T]):
    """Yields the commands of one ring or batch through a window of memory.

    While a command that was yielded is processed, `jump`, `skip_to` and `stop` decide where the reader continues; by
    default it is the end of that command.  `skip` may process commands of a batch itself, from the next one on: it
    returns the index of the first that it leaves.  `extend` is called when a batch has all dwords that it may have, and
    returns how many more are allowed.  `loop` is an address to which the last batch has jumped at least twice.

    The first window after a jump has `window_dwords`, and each that follows twice as many, up to `most_dwords`.
    """

    __slots__ = ("_bounds", "_fetch", "_is_stale", "_limit", "_most_dwords", "_moved", "_resumed", "_skip",
                 "_window_dwords", "at", "end", "extend", "following", "headers", "loop", "position", "skip", "target",
                 "window")

    def __init__(self, headers: Headers[T], fetch: Fetch, window_dwords: int, position: Position | None = None,
                 skip: Skip | None = None, extend: Extend | None = None, most_dwords: int = 0) -> None:
        self.headers = headers
        self.skip = skip
        self.extend = extend
        self.loop: int | None = None
        self.position = position or Position()
        self.window: Words = memoryview(b"").cast("I")
        self.at = 0  # index of the current command in `window`
        self.following = 0  # index after it
        self.end = 0  # address at which a batch ran out of commands
        self._fetch, self._window_dwords, self._most_dwords = fetch, window_dwords, max(most_dwords, window_dwords)
        self._moved = self._is_stale = False
        self._skip: int | None = None
        self.target: int | None = None  # the address that `jump` set, until the reader is there
        self._limit: int | None = None
        self._bounds = 0, 0, 0, 0  # of the window: start, requested, stop, left
        self._resumed: ReaderState | None = None

    # --- where to continue -----------------------------------------------------------------------------------------
    def jump(self, address: int, limit: int | None = None) -> None:
        """Continue at another address; no command starts at `limit` or after it.  Memory is read again."""
        self.target, self._limit, self._moved = address, limit, True

    def skip_to(self, index: int) -> None:
        """Continue at an index of `window`."""
        self._skip, self._moved = index, True

    def stop(self) -> None:
        """Read no more commands."""
        self.target, self._moved = None, True

    def written(self, address: int, size: int) -> None:
        """Bytes of memory have changed: if commands of the window are among them, read these again."""
        start = self._bounds[0]
        if address < start + 4 * len(self.window) and address + size > start:
            self.read_again()

    def read_again(self) -> None:
        """Read the next command, and what follows it, from memory."""
        self._is_stale = True

    def save(self) -> ReaderState:
        """The state of a batch after the command that was yielded last, for `resume`."""
        start, requested, stop, left = self._bounds
        done = self.following
        return ReaderState(start + 4 * done, requested - done, stop - done, left - done, self.window[done:].tobytes(),
                           self._moved, self._is_stale, self.target, self._limit)

    def resume(self, saved: ReaderState) -> None:
        """Make the next `batch` continue at a state that `save` has returned."""
        self._resumed = saved
        self._bounds = saved.start, saved.requested, saved.stop, saved.left
        self._moved, self._is_stale, self.target, self._limit = saved.moved, saved.is_stale, saved.target, saved.limit
        self.window = memoryview(bytearray(saved.window)).cast("I")

    # --- reading ---------------------------------------------------------------------------------------------------
    def ring(self, words: Words, start: int, wrap: tuple[int, int] | None = None,
             at: int = 0) -> Iterator[tuple[T, Words]]:
        """The commands of a ring's contents at address `start`, from index `at` on.

        `wrap` is the start and size of a ring whose end lies inside of the contents.  The last command has fewer dwords
        than its header says if the contents end inside it.
        """
        self.window, position = words, self.position
        self._moved = False
        end = len(words)
        while at < end:
            address = start + 4 * at
            position.address = address if wrap is None else wrapped(address, wrap)
            position.header = words[at]
            self.at = at
            decoded = self.headers[words[at]]
            self.following = following = at + decoded.dwords
            yield decoded, words[at:following]
            if self._moved:
                following = self._skip if self._skip is not None else end
                self._moved, self._skip = False, None
            at = following

    def batch(self, max_dwords: int | None = None, jump_dwords: int = 0) -> Iterator[tuple[T, Words]]:
        """The commands from the target of `jump` on, chained batches included.  A jump counts as `jump_dwords`.

        Ends where `stop` was called, the limit of `jump` is reached or nothing is fetched.  A command is shorter than
        its header says only if memory ends inside it.
        """
        position = self.position
        left = 1 << 62 if max_dwords is None else max_dwords  # dwords from the start of the window on
        start = at = requested = available = stop = 0  # window: address, next command, dwords requested, read, usable
        words: Words = self.window
        next_dwords = self._window_dwords
        targets: set[int] = set()
        self.loop = None
        resumed, self._resumed = self._resumed, None
        if resumed is None:
            self._moved, self._is_stale = True, False
        else:
            available = len(words)
            start, requested, stop, left = self._bounds
        while True:
            if self._moved:
                self._moved = False
                if self._skip is not None:
                    at, self._skip = self._skip, None
                elif self.target is None:
                    return
                else:
                    left -= at + jump_dwords
                    start, at, stop, self.target = self.target, 0, 0, None
                    next_dwords = self._window_dwords
                    if start in targets:
                        self.loop = start
                    targets.add(start)
            if at >= stop or self._is_stale:
                start, left, at, self._is_stale = start + 4 * at, left - at, 0, False
                requested = self._before_limit(start, next_dwords)
                next_dwords = min(2 * next_dwords, self._most_dwords)
                self.window = words = self._fetch(start, requested) if requested else memoryview(b"").cast("I")
                available = stop = len(words)
                self._bounds = start, requested, stop, left
                if not stop:
                    self.end = start
                    return
            if self.skip is not None and left > at:
                at = self.skip(start, at, min(stop, left))
                if at >= stop or self._is_stale:
                    continue
            header = words[at]
            decoded = self.headers[header]
            following = at + decoded.dwords
            if following > available and (at or following > requested):  # the window ends inside the command
                start, left, at, following = start + 4 * at, left - at, 0, decoded.dwords
                requested = max(self._before_limit(start, next_dwords), following)
                next_dwords = min(2 * next_dwords, self._most_dwords)
                self.window = words = self._fetch(start, requested)
                available = len(words)
                stop = self._before_limit(start, available)
                self._bounds = start, requested, stop, left
            position.address = start + 4 * at
            position.header = header
            while following > left:
                more = 0 if self.extend is None else self.extend()
                if more <= 0:
                    raise EndlessBatch
                left += more
                self._bounds = start, requested, stop, left
            self.at = at
            self.following = following if following <= available else available
            yield decoded, words[at:following]
            at = self.following

    def _before_limit(self, start: int, dwords: int) -> int:
        """The number of these dwords that are below the limit."""
        return dwords if self._limit is None else max(0, min(dwords, self._limit - start >> 2))
