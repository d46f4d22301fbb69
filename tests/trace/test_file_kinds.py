"""Files of other kinds are named in the error, and never mistaken for a raw batch."""

from __future__ import annotations

import gzip
import io
import lzma
import sqlite3
import struct
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gen4emu import trace
from gen4emu.errors import TraceError
from gen4emu.trace.raw import is_batch
from tests.trace.trace_files import BATCH, aub, dwords

NOOP, FLUSH, END, PRIMITIVE = 0x00000000, 0x02000000, 0x05000000, 0x7B000004


def picture(form: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, form)
    return file.getvalue()


def archive() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        tar.add(__file__, "trace.aub")
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as z:
        z.writestr("trace.aub", aub())
    return file.getvalue()


def array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(4))
    return file.getvalue()


def database(directory: Path) -> bytes:
    path = directory / "x.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (x)")
    return path.read_bytes()


@pytest.mark.parametrize(("data", "name"), [
    (picture("PNG"), "is a PNG picture: `gen4emu diff` compares pictures"),
    (picture("JPEG"), "is a JPEG picture"),
    (picture("GIF"), "is a GIF picture"),
    (picture("WEBP"), "is a WebP picture"),
    (array(), "is a NumPy array: "),
    (Path(sys.executable).resolve().read_bytes()[:4096], "is an ELF program or library: run it with `gen4emu run`"),
    (archive(), "is a tar archive: unpack it first"),
    (gzip.compress(archive()), r"is a tar archive: unpack it first \(gzip compressed\)"),
    (lzma.compress(archive()), r"is a tar archive: unpack it first \(xz compressed\)"),
    (zipped(), "is a zip archive"),
    (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "is a PDF document"),
    (b"at\x10\0\0\0" + bytes(100), "is an apitrace trace: it holds API calls"),
    (b"RDOC\0\0\0\0" + bytes(100), "is a RenderDoc capture: it holds API calls"),
    (b"GFXR\0\0\0\0" + bytes(100), "is a gfxreconstruct capture: it holds API calls"),
    (b"BZh91AY&SY", "is compressed with bzip2: unpack it first"),
    (b'{"schema": "gen4emu.info/2", "file": "x"}', "is JSON written by gen4emu: name the trace itself"),
    (b'{"a": [1, 2]}', "is JSON"), (b'[{"a": 1}]', "is JSON"), (b"[[1, 2], [3]]", "is JSON"), (b"{}\n", "is JSON"),
    (b'[[trace]]\nfile = "x.aub"\n', "is a manifest"),
    (b'# comment\n[[trace]]\nfile = "x.aub"\n', "is a manifest: `gen4emu check` reads manifests"),
    (b"#!/usr/bin/env python3\nprint()\n", "is a Python program"),
    (b'"""Doc."""\n\nimport os\n', "is a Python program"),
    (b"#!/bin/sh\nexit 0\n", "is a script"),
    (b"<!DOCTYPE html>\n<html></html>\n", "is an HTML page"),
    (b"mov(8) g1<1>F g2<8,8,1>F { align1 };\n", "is EU assembly: `gen4emu asm` reads it"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "is a Git LFS pointer"),
    (b"Dear diary,\n", "is text without dwords"),
    (bytes(4096), "unknown kind of file: .* use --raw for a raw batch or ring"),
    (bytes(range(128, 256)), "unknown kind of file"),
])
def test_the_kind_is_named(data: bytes, name: str) -> None:
    with pytest.raises(TraceError, match=f"^x: {name}"):
        trace.open_bytes(data, "x")


@pytest.mark.parametrize("line", [b"\n", b" (\n", b"[\n"])
def test_many_lines_take_linear_time(line: bytes) -> None:
    begun = time.process_time()
    with pytest.raises(TraceError, match="is text without dwords"):
        trace.open_bytes(line * (1 << 17), "x")
    assert time.process_time() - begun < 3


def test_a_database_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is an SQLite database"):
        trace.open_bytes(database(tmp_path))


def test_raw_can_be_forced() -> None:
    assert trace.open_bytes(picture("PNG"), kind="raw").kind == "raw"


@pytest.mark.parametrize(("words", "expected"), [
    ((END,), True),
    ((FLUSH, END), True),
    ((NOOP, FLUSH, PRIMITIVE, 3, 0, 1, 0, 0, END, 0xDEADBEEF), True),  # state may follow the end
    ((NOOP, NOOP), False),  # no end
    ((FLUSH, PRIMITIVE, 3, 0, END), False),  # ends inside a command
    ((0xDEADBEEF, END), False),
    ((FLUSH, 0x7FFF0000, END), False),  # an unknown command
])
def test_a_batch_is_raw_if_it_is_known_commands_up_to_its_end(words: tuple[int, ...], expected: bool) -> None:
    data = dwords(*words)
    assert is_batch(data, complete=True) is expected
    if expected:
        assert trace.open_bytes(data).kind == "raw"


def test_a_batch_longer_than_the_head_is_raw_if_the_whole_head_is() -> None:
    head = dwords(*[FLUSH] * 1000)
    assert is_batch(head, complete=False)
    assert not is_batch(head, complete=True)
    assert is_batch(head[:-4] + dwords(PRIMITIVE), complete=False)


def test_the_batches_of_the_tests_are_batches() -> None:
    assert is_batch(BATCH, complete=True)
    assert not is_batch(struct.pack("<2I", 0x12345678, 0x9ABCDEF0), complete=True)
