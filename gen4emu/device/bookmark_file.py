"""Files of bookmarks, beside a trace: later executions begin near the draw that they need, without a first pass.

A bookmark holds structs of the core, which a wrong byte would make unsafe to load.  So a file is accepted only from
this user's own gen4emu: a key that is kept in the user's directory of state signs it, together with the trace and the
program.  Any other file is refused, before anything in it is read.

A process that executes a trace may be taken over by it and does not get the key: it packs the contents, and its parent
signs them unread.  So the signature is checked before the confinement, which takes the key away,
and the contents are read only in processes that are confined like the one that made them.  Reading creates values of
this program and calls nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import io
import os
import pickle
import pickletools
import secrets
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import gen4emu._native
from gen4emu.device.landmarks import Landmarks
from gen4emu.device.options import Options
from gen4emu.device.replay import Bookmark, Order
from gen4emu.device.timeline import Bookmarks
from gen4emu.errors import Gen4emuError
from gen4emu.hw import chips

MAGIC = b"G4BOOK\2\n"
SUFFIX = ".index"
# Magic, signature of what follows, digest of the trace; bytes of the landmarks, unpacked and packed; of the bookmarks,
# unpacked.
_HEAD = struct.Struct("<8s32s32sQQQ")
MOST_BYTES = 4 << 30  # unpacked
_KEY_BYTES = 32
_PIECE_BYTES = 1 << 20
_MODULES = ("device", "hw", "isa", "decode", "repro", "trace")
_WRITER = ("cli", "index.py")
_VALUES = ("gen4emu.device.", "gen4emu.hw.", "gen4emu.core_enums", "gen4emu.trace.events")  # modules of values


class BadIndexError(Gen4emuError):
    """An index that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The commands that have set the state in force at a bookmark, as two readers need them."""

    tracked: Any  # decode.in_force.StateTracker; None before the first command
    commands: Any  # repro.commands.StateCommands


@dataclass(frozen=True, slots=True)
class Index:
    """The contents of an index: the places at which executions can begin."""

    bookmarks: tuple[Bookmark, ...]  # in the order of the trace
    primitives: tuple[int, ...]  # the numbers of the draws that are primitives
    tables: dict[Order, Tables] = field(default_factory=dict)  # of the bookmarks

    def with_options(self, options: Options) -> tuple[Bookmark, ...]:
        """The bookmarks for executions with these options; none if those draw anything else."""
        if replace(options, workers=0, general_only=False) != Options():
            return ()
        return tuple(replace(bookmark, checkpoint=replace(bookmark.checkpoint, options=options))
                     for bookmark in self.bookmarks)

    def start_before(self, number: int, unit: str = "draw", options: Options | None = None) -> Start | None:
        """The last bookmark before a draw, or a unit of `Bookmarks.before`, with its tables; None if there is none."""
        bookmarks = Bookmarks()
        bookmarks.add(bookmark for bookmark in self.with_options(options or Options()) if bookmark.order in self.tables)
        found = bookmarks.before(number, unit)
        return None if found is None else Start(found, self.tables[found.order])


@dataclass(frozen=True, slots=True)
class Start:
    """A bookmark, and the commands whose state is in force there."""

    bookmark: Bookmark
    tables: Tables


@dataclass(frozen=True, slots=True)
class Signed:
    """An index of this user and program, for this trace, which has not been read yet."""

    path: Path
    sizes: tuple[int, int]  # of landmarks and bookmarks, unpacked
    data: tuple[memoryview, memoryview]

    def contents(self) -> Index:
        """Read the bookmarks.  Raises BadIndexError."""
        index = self._unpacked(1)
        if not isinstance(index, Index):
            raise BadIndexError(f"{self.path}: has no valid contents")
        return index

    def landmarks_if_valid(self, complain: Callable[[str], None]) -> Landmarks:
        """Read the landmarks; `complain` is called if that is not possible."""
        try:
            landmarks = self._unpacked(0)
            if not isinstance(landmarks, Landmarks):
                raise BadIndexError(f"{self.path}: has no valid landmarks")
            return landmarks
        except BadIndexError as e:
            complain(_complaint(e))
            return Landmarks()

    def _unpacked(self, part: int) -> Any:
        size = self.sizes[part]
        if size > MOST_BYTES:
            raise BadIndexError(f"{self.path}: is larger than {MOST_BYTES >> 30} GiB")
        try:
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(self.data[part], size + 1)
            if len(data) != size or not unpacker.eof or _numbers_its_memo(data):
                raise pickle.UnpicklingError
            return _Unpickler(io.BytesIO(data)).load()
        except (zlib.error, pickle.UnpicklingError, ValueError, TypeError, KeyError, IndexError, AttributeError,
                EOFError, RecursionError, ImportError, OverflowError, MemoryError):
            return None

    def start_before(self, number: int, complain: Callable[[str], None], unit: str = "draw",
                     options: Options | None = None) -> Start | None:
        """Read the bookmarks, and return the last one before a draw, or a unit of `Bookmarks.before`, with its tables.

        None if there is none for executions with these options; `complain` is called if it cannot be read.
        """
        index = self.contents_if_valid(complain)
        return None if index is None else index.start_before(number, unit, options)

    def bookmark_before(self, wanted: Iterable[tuple[int, str]], options: Options,
                        complain: Callable[[str], None]) -> Bookmark | None:
        """Read it, and return the last bookmark before all of these: numbers, and units of `Bookmarks.before`.

        None if there is none for executions with these options; `complain` is called if it cannot be read.
        """
        index = self.contents_if_valid(complain)
        if index is None:
            return None
        bookmarks = Bookmarks()
        bookmarks.add(index.with_options(options))
        found = [bookmarks.before(number, unit) for number, unit in wanted]
        return None if None in found else min((b for b in found if b is not None), key=lambda b: b.order, default=None)

    def contents_if_valid(self, complain: Callable[[str], None]) -> Index | None:
        """Read it; `complain` is called if that is not possible."""
        try:
            return self.contents()
        except BadIndexError as e:
            complain(_complaint(e))
            return None


def signed_if_valid(trace: str, complain: Callable[[str], None]) -> Signed | None:
    """The index of a trace, if it has one; `complain` is called if that cannot be used."""
    if not path_of(trace).is_file():
        return None
    try:
        return signed(trace)
    except BadIndexError as e:
        complain(_complaint(e))
        return None


def _complaint(error: BadIndexError) -> str:
    return f"warning: {error}; `gen4emu index` writes a new one"


def path_of(trace: str) -> Path:
    """Where the index of a trace is, if there is one."""
    return Path(trace + SUFFIX)


@dataclass(frozen=True, slots=True)
class Packed:
    """An index that is not signed yet."""

    sizes: tuple[int, int, int]  # of the landmarks, unpacked and packed; of the bookmarks, unpacked
    data: bytes


def pack(landmarks: Landmarks, index: Index) -> Packed:
    first, second = _packed(landmarks), _packed(index)
    return Packed((first[0], len(first[1]), second[0]), first[1] + second[1])


def _packed(value: Landmarks | Index) -> tuple[int, bytes]:
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=5).dump(value)
    return len(buffer.getbuffer()), zlib.compress(buffer.getbuffer(), 1)


def write(trace: str, index: Packed) -> int:
    """Sign and write the index of a trace; returns its bytes."""
    found = _digest_of_file(trace)
    signature = _signature(_key(create=True), found, index.sizes, index.data)
    data = _HEAD.pack(MAGIC, signature, found, *index.sizes) + index.data
    path = path_of(trace)
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as e:
        with suppress(OSError):
            part.unlink()
        raise BadIndexError(f"{path}: cannot be written: {e.strerror or e}") from None
    return len(data)


def signed(trace: str) -> Signed:
    """The index of a trace.  Raises BadIndexError if it is not one that this gen4emu has written of this very file."""
    path = path_of(trace)
    try:
        data = path.read_bytes()
    except OSError as e:
        raise BadIndexError(f"{path}: cannot be read: {e.strerror or e}") from None
    if len(data) < _HEAD.size or not data.startswith(MAGIC):
        raise BadIndexError(f"{path}: is not an index of this version")
    _, signature, found, *sizes = _HEAD.unpack_from(data)
    packed = memoryview(data)[_HEAD.size:]
    if not hmac.compare_digest(signature, _signature(_key(create=False), found, sizes, packed)):
        raise BadIndexError(f"{path}: was damaged, or written by another user or version of gen4emu")
    if found != _digest_of_file(trace):
        raise BadIndexError(f"{path}: belongs to another file: {trace} has changed")
    return Signed(path, (sizes[0], sizes[2]), (packed[:sizes[1]], packed[sizes[1]:]))


def _signature(key: bytes, trace: bytes, sizes: Sequence[int], packed: bytes | memoryview) -> bytes:
    found = hashlib.blake2b(key=key, digest_size=32)
    for part in (_program(), trace, struct.pack("<QQQ", *sizes), packed):
        found.update(part)
    return found.digest()


def _key(create: bool) -> bytes:
    """The key of this user; made if there is none and `create`."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    path = Path(state) / "gen4emu" / "index.key"
    try:
        if create and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make_key(path)
        key = path.read_bytes()
    except OSError as e:
        raise BadIndexError(f"{path}: the key of indexes: {e.strerror or e}") from None
    if len(key) != _KEY_BYTES:
        raise BadIndexError(f"{path}: the key of indexes has {len(key)} bytes instead of {_KEY_BYTES}")
    return key


def _make_key(path: Path) -> None:
    """Make a file that is whole when it has its name; another process may be faster."""
    made, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # for this user only
    try:
        with os.fdopen(made, "wb") as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        os.unlink(name)


@cache
def _program() -> bytes:
    """A digest of the core, and of the modules that write and read indexes."""
    package = Path(__file__).parents[1]
    found = hashlib.blake2b(digest_size=32)
    native = importlib.util.find_spec(gen4emu._native.__name__)
    sources = [] if native is None or native.origin is None else [Path(native.origin)]
    sources += [file for name in _MODULES for file in sorted((package / name).rglob("*.py"))]
    sources.append(package.joinpath(*_WRITER))
    for source in sources:
        found.update(hashlib.blake2b(source.read_bytes()).digest())
    return found.digest()


def _digest_of_file(path: str) -> bytes:
    found = hashlib.blake2b(digest_size=32)
    try:
        with open(path, "rb") as file:
            while piece := file.read(_PIECE_BYTES):
                found.update(piece)
    except OSError as e:
        raise BadIndexError(f"{path}: cannot be read: {e.strerror or e}") from None
    return found.digest()


def _numbers_its_memo(data: bytes) -> bool:
    """Whether a pickle says at which number a value is kept, which `pack` leaves open: the memo is as large as that."""
    return any(opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") for opcode, _, _ in pickletools.genops(data))


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        """Chips by their names."""
        return obj.name if isinstance(obj, chips.Device) else None

    def reducer_override(self, obj: Any) -> Any:
        """Enumerations by value: some versions of Python refer to `getattr` instead, which `find_class` refuses."""
        return (type(obj), (obj.value,)) if isinstance(obj, Enum) else NotImplemented


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        return chips.BY_NAME[pid]

    def find_class(self, module: str, name: str) -> Any:
        """Only values of the device: a constructor of another class, or a function, could do anything."""
        found = super().find_class(module, name) if module.startswith(_VALUES) and "." not in name else None
        if not isinstance(found, type) or found.__module__ != module or \
                not (is_dataclass(found) or issubclass(found, Enum | tuple)):
            raise pickle.UnpicklingError(f"{module}.{name} is not part of a bookmark")
        return found
