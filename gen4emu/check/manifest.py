"""Manifests: which traces are replayed, what each must draw, and what is known to fail (docs/check.md)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gen4emu.errors import DecodeError, Gen4emuError
from gen4emu.hw.chips import BY_NAME, Device, device_named
from gen4emu.image.digest import DIGEST_BYTES

MANIFEST = "manifest.toml"
EXPECTATIONS = "expect.toml"  # beside a manifest: more lists
DEFAULT_TIMEOUT = 300.0
LISTS = ("fail", "flake", "skip")
FAILING_RESULTS = ("fail", "crash", "timeout")

_MAX_BYTES = 16 << 20
_MOST_TOLERANCE = 1e9
_DIGEST = re.compile(rf"[0-9a-f]{{{2 * DIGEST_BYTES}}}")
_NAME = re.compile(r'[^/"\x00-\x1f\x7f]{1,200}')
_TOP_KEYS = {"trace", "timeout", *LISTS}
_CASE_KEYS = {"file", "name", "golden", "expect", "accept", "tolerance", "device", "raw", "base", "partial", "timeout"}
_ACCEPT_KEYS = {"expect", "golden", "reason", "device"}
_LIST_KEYS = {"names", "reason", "device", "result"}

Digests = str | dict[str, str]  # one of the whole case, or one for each picture


@dataclass(frozen=True, slots=True)
class Accepted:
    """Another result that is right: digests or a directory of pictures."""

    reason: str
    digests: Digests | None = None
    golden: Path | None = None
    device: Device | None = None  # None: on any device


@dataclass(frozen=True, slots=True)
class Listing:
    """Names that are listed as failing, flaking or skipped, and why."""

    list: str  # one of LISTS
    names: tuple[str, ...]
    reason: str
    file: Path
    device: Device | None = None
    results: tuple[str, ...] = ("fail",)  # the results that a `fail` entry covers

    def matches(self, case: Case, device: Device | None) -> bool:
        return (self.device is None or self.device == device) and any(fnmatchcase(case.name, n) for n in self.names)


@dataclass(frozen=True, slots=True)
class Case:
    """One trace of a manifest."""

    name: str
    trace: Path
    golden: Path
    tolerance: float = 0
    device: Device | None = None
    digests: Digests | None = None  # instead of golden pictures; "" or {} until --update fills it in
    accepted: tuple[Accepted, ...] = ()
    is_raw: bool = False
    base: int = 0
    allows_damage: bool = False
    timeout: float = DEFAULT_TIMEOUT
    manifest: Path = Path(MANIFEST)
    index: int = 0  # of the [[trace]] table


@dataclass(frozen=True, slots=True)
class Manifest:
    """The cases of a file, and the lists of expectations that go with it."""

    file: Path
    cases: list[Case]
    listings: list[Listing] = field(default_factory=list)


def read_manifest(path: Path) -> Manifest:
    """The manifest in a file, or the one of a directory."""
    file = path / MANIFEST if path.is_dir() else path
    return parse_manifest(file, _read(file))


def parse_manifest(file: Path, table: dict[str, Any]) -> Manifest:
    """A manifest whose TOML has been read; its expect.toml is read, too."""
    entries = table.get("trace")
    if not isinstance(entries, list) or not entries:
        raise DecodeError(f"{file}: has no [[trace]] table")
    _check_keys(str(file), table, _TOP_KEYS)
    timeout = _seconds(str(file), table, DEFAULT_TIMEOUT)
    cases = [_case(file, i, entry, timeout) for i, entry in enumerate(entries)]
    seen: set[str] = set()
    for case in cases:
        if case.name in seen:
            raise DecodeError(f"{file}: trace {case.index}: another trace is called {case.name!r}; give one a name")
        seen.add(case.name)
    listings = _listings(file, table)
    more = file.parent / EXPECTATIONS
    if more != file and more.is_file():
        lists = _read(more)
        _check_keys(str(more), lists, set(LISTS))
        listings += _listings(more, lists)
    return Manifest(file, cases, listings)


def unknown_names(manifest: Manifest) -> list[str]:
    """A text for each listed name that matches no trace of the manifest."""
    names = [case.name for case in manifest.cases]
    return [f"{listing.file}: {listing.list}: no trace matches {name!r}" for listing in manifest.listings
            for name in listing.names if not any(fnmatchcase(n, name) for n in names)]


def listing_for(listings: Iterable[Listing], case: Case, device: Device | None, kind: str) -> Listing | None:
    """The first entry of a list that a case is on."""
    return next((one for one in listings if one.list == kind and one.matches(case, device)), None)


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            data = opened.read(_MAX_BYTES + 1)
    except OSError as e:
        raise DecodeError(f"{file}: {e.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise _not_a_manifest(file, f"a manifest of more than {_MAX_BYTES >> 20} MiB")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as e:
        raise _not_a_manifest(file, f"not a manifest: byte {e.start} is not UTF-8 text") from None
    except (ValueError, RecursionError) as e:  # a TOMLDecodeError, or of a number with thousands of digits
        raise _not_a_manifest(file, f"not a manifest: {e}") from None


def _not_a_manifest(file: Path, text: str) -> DecodeError:
    kind = trace_kind(file)
    if kind is None:
        return DecodeError(f"{file}: {text}")
    return DecodeError(f"{file}: is a trace ({kind}); check takes manifests (TOML files with [[trace]] tables), replay "
                       "executes a trace")


def trace_kind(path: Path) -> str | None:
    """The container of a trace; None for any file that does not say by its contents that it is a trace."""
    from gen4emu.trace.reader import Kind
    from gen4emu.trace.reader import open as open_trace

    try:
        with open_trace(path) as trace:
            return trace.kind if trace.kind in (Kind.AUB.value, Kind.CAPTURE.value, Kind.ERROR_STATE.value) else None
    except Gen4emuError:
        return None


def _check_keys(where: str, table: dict[str, Any], known: set[str]) -> None:
    for key in table:
        if key not in known:
            raise DecodeError(f"{where}: unknown key {key} (known: {', '.join(sorted(known))})")


def _case(file: Path, index: int, entry: Any, timeout: float) -> Case:
    where = f"{file}: trace {index}"
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str) or not entry["file"]:
        raise DecodeError(f"{where}: has no file")
    where += f" ({entry['file']})"
    _check_keys(where, entry, _CASE_KEYS)
    trace = file.parent / entry["file"]
    name = _text(where, entry, "name", trace.name.partition(".")[0] or trace.name)
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise DecodeError(f"{where}: invalid name {name!r}: a name has no slash, quote or control character")
    tolerance = entry.get("tolerance", 0)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance <= _MOST_TOLERANCE:
        raise DecodeError(f"{where}: tolerance is not a number of at least 0, and at most {_MOST_TOLERANCE:.0e}")
    digests = _digests(where, entry["expect"], may_be_empty=True) if "expect" in entry else None
    if digests is not None and tolerance:
        raise DecodeError(f"{where}: a tolerance needs golden pictures; digests in `expect` are exact")
    accepted = entry.get("accept", [])
    if not isinstance(accepted, list):
        raise DecodeError(f"{where}: accept is not an array of tables ([[trace.accept]])")
    return Case(name, trace, file.parent / _text(where, entry, "golden", f"golden/{name}"), float(tolerance),
                _device(where, entry), digests, tuple(_accepted(file, where, one) for one in accepted),
                _flag(where, entry, "raw"), _base(where, entry), _flag(where, entry, "partial"),
                _seconds(where, entry, timeout), file, index)


def _accepted(file: Path, where: str, entry: Any) -> Accepted:
    where += ": accept"
    if not isinstance(entry, dict):
        raise DecodeError(f"{where}: is not a table")
    _check_keys(where, entry, _ACCEPT_KEYS)
    if ("expect" in entry) == ("golden" in entry):
        raise DecodeError(f"{where}: needs either expect or golden")
    digests = _digests(where, entry["expect"], may_be_empty=False) if "expect" in entry else None
    golden = file.parent / _text(where, entry, "golden", "") if "golden" in entry else None
    return Accepted(_reason(where, entry), digests, golden, _device(where, entry))


def _digests(where: str, value: Any, may_be_empty: bool) -> Digests:
    """`expect`: a digest, or a table of picture names and digests."""
    if value in ("", {}) and may_be_empty:
        return "" if value == "" else {}
    for name, digest in value.items() if isinstance(value, dict) else [("", value)]:
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise DecodeError(f"{where}: expect{f': {name}' if name else ''}: {digest!r} is not a digest of "
                              f"{2 * DIGEST_BYTES} hexadecimal digits")
        if name.endswith(".png"):
            raise DecodeError(f"{where}: expect: {name}: pictures are named without .png")
    if value == {}:
        raise DecodeError(f"{where}: expect: is empty")
    assert isinstance(value, str | dict)
    return value


def _listings(file: Path, table: dict[str, Any]) -> list[Listing]:
    found = []
    for kind in LISTS:
        entries = table.get(kind, [])
        if not isinstance(entries, list):
            raise DecodeError(f"{file}: {kind} is not an array of tables ([[{kind}]])")
        found += [_listing(file, kind, entry) for entry in entries]
    return found


def _listing(file: Path, kind: str, entry: Any) -> Listing:
    where = f"{file}: {kind}"
    if not isinstance(entry, dict):
        raise DecodeError(f"{where}: is not an array of tables ([[{kind}]])")
    _check_keys(where, entry, _LIST_KEYS if kind == "fail" else _LIST_KEYS - {"result"})
    names = entry.get("names")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
        raise DecodeError(f"{where}: needs names, a list of names of traces (* and ? match any)")
    result = entry.get("result", "fail")
    if result not in FAILING_RESULTS:
        raise DecodeError(f"{where}: result {result!r} is not one of {', '.join(FAILING_RESULTS)}")
    return Listing(kind, tuple(names), _reason(where, entry), file, _device(where, entry), (result,))


def _text(where: str, table: dict[str, Any], key: str, default: str) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or "\0" in value:
        raise DecodeError(f"{where}: {key} is not a string")
    return value


def _reason(where: str, table: dict[str, Any]) -> str:
    reason = _text(where, table, "reason", "")
    if not reason.strip():
        raise DecodeError(f"{where}: needs a reason")
    return reason


def _flag(where: str, table: dict[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise DecodeError(f"{where}: {key} is not true or false")
    return value


def _seconds(where: str, table: dict[str, Any], default: float) -> float:
    value = table.get("timeout", default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e6:
        raise DecodeError(f"{where}: timeout is not a number of seconds above 0")
    return float(value)


def _base(where: str, table: dict[str, Any]) -> int:
    value = table.get("base", 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise DecodeError(f"{where}: base is not an address, such as 0x10000")
    if "base" in table and not table.get("raw"):
        raise DecodeError(f"{where}: base is for raw batches (raw = true)")
    return value


def _device(where: str, table: dict[str, Any]) -> Device | None:
    if "device" not in table:
        return None
    name = str(table["device"])
    device = device_named(name)
    if device is None:
        raise DecodeError(f"{where}: unknown device {name!r} (known: {', '.join(sorted(BY_NAME))})")
    return device
