"""Opening traces: detection by contents, compression, pipes, repeated reading."""

from __future__ import annotations

import builtins
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Generator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from gen4emu import trace
from gen4emu.errors import TraceError
from gen4emu.trace.events import Header, MemoryWrite, Warning
from gen4emu.trace.source import CHUNK_BYTES, Source
from tests.trace.trace_files import aub, block, everything, header

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "xz": lzma.compress, "gzip": gzip.compress, "zstd": zstd.compress, "": bytes}
KINDS = {"aub": "aub", "execlist": "aub", "registers": "aub", "scattered": "aub", "wide": "aub", "raw": "raw",
         "hexdump": "hexdump"}


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("name", everything())
def test_kind_is_detected_from_the_contents_in_any_compression(name: str, compression: str, tmp_path: Path) -> None:
    data = everything()[name]
    path = tmp_path / "no-telling-suffix.png"
    path.write_bytes(COMPRESS[compression](data))
    opened = trace.open(path)
    assert opened.kind == KINDS.get(name, "error-state")
    assert opened.compression == compression
    assert opened.path == str(path)
    assert list(opened) == list(trace.open_bytes(data))
    assert list(opened) == list(opened)


@pytest.mark.parametrize("compression", ["xz", "gzip", "zstd"])
def test_concatenated_streams_are_one(compression: str) -> None:
    data = aub()
    compress = COMPRESS[compression]
    assert list(trace.open_bytes(compress(data[:100]) + compress(data[100:]))) == list(trace.open_bytes(data))


def test_padding_between_xz_streams_is_skipped() -> None:
    data = aub()
    packed = lzma.compress(data[:100]) + bytes(8) + lzma.compress(data[100:]) + bytes(4)
    assert list(trace.open_bytes(packed, strict=True)) == list(trace.open_bytes(data))


@pytest.mark.parametrize("compression", ["xz", "gzip", "zstd"])
def test_truncated_stream_gives_the_bytes_before_it_and_a_warning(compression: str) -> None:
    data = header() + b"".join(block(os.urandom(4096), 0x10000 + 0x1000 * i) for i in range(200))
    packed = COMPRESS[compression](data)
    found = list(trace.open_bytes(packed[:len(packed) * 2 // 3]))
    whole = list(trace.open_bytes(data))
    assert isinstance(found[-1], Warning)
    assert found[-1].text == f"the {compression} stream ends early"
    good = [e for e in found if isinstance(e, MemoryWrite) and len(e.data) == 4096]
    assert len(good) > 50
    assert good == whole[1:1 + len(good)]
    with pytest.raises(TraceError):
        list(trace.open_bytes(packed[:len(packed) * 2 // 3], strict=True))


@pytest.mark.parametrize("compression", ["xz", "gzip"])
def test_corrupt_stream_is_damage_after_the_bytes_before_it(compression: str) -> None:
    data = header() + b"".join(block(os.urandom(4096), 0x10000 + 0x1000 * i) for i in range(200))
    packed = bytearray(COMPRESS[compression](data))
    packed[-6] ^= 0xFF  # the checksum at the end
    found = list(trace.open_bytes(bytes(packed)))
    assert len([e for e in found if isinstance(e, MemoryWrite)]) > 50
    assert isinstance(found[-1], Warning) and found[-1].damage
    assert found[-1].text.startswith(f"the {compression} stream is broken")
    with pytest.raises(TraceError, match=r"bytes: 0x[0-9a-f]+: the (file|.* stream) "):
        list(trace.open_bytes(bytes(packed), strict=True))


def test_other_bytes_after_a_stream_are_reported() -> None:
    found = list(trace.open_bytes(lzma.compress(aub()) + b"garbage"))
    assert found[-1] == Warning(len(aub()), "data after the end of the xz stream are not xz")


def test_missing_zstd_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "backports", None)
    with pytest.raises(TraceError, match=r"zstd needs the package backports.zstd: pip install"):
        trace.open_bytes(zstd.compress(aub()))


@pytest.mark.parametrize("compression", ["xz", "gzip", "zstd"])
def test_decompression_bomb_is_read_in_bounded_memory(compression: str) -> None:
    size = 64 << 20
    packed = COMPRESS[compression](header() + block(b"", 0, size=size) + bytes(size))
    tracemalloc.start()
    total = sum(len(e.data) for e in trace.open_bytes(packed) if isinstance(e, MemoryWrite))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == size
    assert peak < 32 * CHUNK_BYTES  # the largest default window of the three programs is 8 MiB


def test_xz_dictionary_beyond_the_limit_is_an_error() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    packed = bytearray(lzma.compress(aub(), filters=filters))
    at = packed.index(b"\x21\x01") + 2  # the dictionary size in the block header
    packed[at] = 40  # 4 GiB - 1
    end = 12 + (packed[12] + 1) * 4 - 4
    packed[end:end + 4] = zlib.crc32(packed[12:end]).to_bytes(4, "little")
    with pytest.raises(TraceError, match="the xz stream is broken: Memory usage limit exceeded"):
        list(trace.open_bytes(bytes(packed)))


def test_the_fraction_read_goes_from_0_to_1(tmp_path: Path) -> None:
    data = header() + b"".join(block(os.urandom(4096), 0x10000 + 0x1000 * i) for i in range(2000))
    for compression, compress in COMPRESS.items():
        path = tmp_path / f"trace{compression}"
        path.write_bytes(compress(data))
        opened = trace.open(path)
        assert opened.fraction == 0
        fractions = []
        for _ in opened:
            assert opened.fraction is not None
            fractions.append(opened.fraction)
        assert fractions == sorted(fractions)
        assert fractions[0] < 0.2 < 0.4 < fractions[len(fractions) // 2] < 0.7
        assert fractions[-1] == 1


def test_the_fraction_of_a_pipe_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(aub()))
    thread.start()
    opened = trace.open(path)
    assert [opened.fraction for _ in opened][-1] is None
    thread.join()


# --- files, pipes, standard input -------------------------------------------------------------------------------------
def test_missing_file_and_directory_are_errors(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="absent: cannot be opened: No such file"):
        trace.open(tmp_path / "absent")
    with pytest.raises(TraceError, match="cannot be opened: Is a directory"):
        trace.open(tmp_path)
    with pytest.raises(TraceError, match="cannot be opened"):
        trace.open("a\0b")


@pytest.mark.parametrize(("data", "what"), [
    (b"", "the file is empty"), (b"\0\1", "unknown kind of file: neither an AUB file"),
    (b"Dear diary,\n", "is text without dwords"),
    (lzma.compress(aub())[:20], "the file is empty: the xz stream ends early"),
])
def test_a_file_that_is_not_a_trace_is_an_error(data: bytes, what: str) -> None:
    with pytest.raises(TraceError, match=what):
        trace.open_bytes(data)


def test_unknown_device_name_is_an_error() -> None:
    with pytest.raises(TraceError, match="unknown device 'voodoo' \\(known: g965, "):
        trace.open_bytes(aub(), device="voodoo")
    with pytest.raises(TraceError, match="unknown device 0x1234"):
        trace.open_bytes(aub(), device=0x1234)


def test_pipe_can_be_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    thread = threading.Thread(target=lambda: path.write_bytes(lzma.compress(aub())))
    thread.start()
    opened = trace.open(path)
    assert list(opened) == list(trace.open_bytes(aub()))
    thread.join()
    with pytest.raises(TraceError, match="is a pipe, which can be read only once"):
        list(opened)


def test_standard_input_from_a_pipe_and_from_a_file(tmp_path: Path) -> None:
    code = ("import gen4emu.trace as t\nx = t.open('-')\nprint(x.path, x.kind, len(list(x)))\n"
            "try:\n  print(len(list(x)))\nexcept Exception as e:\n  print(e)\n")
    count = len(list(trace.open_bytes(aub())))
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(aub()))
    piped = subprocess.run([sys.executable, "-c", code], input=gzip.compress(aub()), capture_output=True, check=True)
    with path.open("rb") as file:
        direct = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, check=True)
    first = f"standard input aub {count}\n"
    assert piped.stdout.decode() == first + "standard input: is a pipe, which can be read only once\n"
    assert direct.stdout.decode() == first + f"{count}\n"


def test_standard_input_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(aub())))
    opened = trace.open("-")
    assert list(opened) == list(opened) == list(trace.open_bytes(aub()))
    assert not sys.stdin.buffer.closed


def test_read_errors_are_trace_errors() -> None:
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(TraceError, match="disk: cannot be read: Input/output error"):
        Source(Failing(), "disk")


def test_files_are_closed_even_if_reading_stops_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.aub"
    path.write_bytes(aub())
    opened: list[Any] = []
    real = builtins.open

    def watched(*args: Any, **options: Any) -> Any:
        opened.append(real(*args, **options))
        return opened[-1]

    monkeypatch.setattr(builtins, "open", watched)
    iterator = iter(trace.open(path))
    assert isinstance(iterator, Generator)
    assert isinstance(next(iterator), Header)
    iterator.close()
    assert [file.closed for file in opened] == [True, True]


def test_two_iterations_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "x.aub"
    path.write_bytes(aub())
    opened = trace.open(path)
    assert list(zip(opened, opened, strict=True)) == [(e, e) for e in opened]


@pytest.mark.parametrize("limit", [1, 5000, 1 << 30])
@pytest.mark.parametrize("name", ["triangle-g4x.aub.xz", "mpeg2-g4x.aub.xz"])
def test_events_that_are_kept_are_those_of_the_file(name: str, limit: int) -> None:
    path = str(Path(__file__).parents[2] / "traces" / name)
    plain = list(trace.open(path))
    kept = trace.open(path)
    kept.keep(limit)
    for end in (3, 0, len(plain) // 2, 1, None, 7, None):
        assert list(islice(kept, end)) == plain[:end]
    assert kept.damage() == []


def test_kept_events_end_with_the_damage_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "cut.aub"
    whole = lzma.decompress((Path(__file__).parents[2] / "traces" / "triangle-g4x.aub.xz").read_bytes())
    path.write_bytes(whole[:len(whole) // 2])
    kept = trace.open(path)
    kept.keep(1 << 30)
    first = list(kept)
    assert isinstance(first[-1], Warning)
    assert first[-1].damage
    path.unlink()
    assert list(kept) == first
    assert kept.damage() == [first[-1]]
