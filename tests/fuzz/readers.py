"""Targets in Python: functions that take bytes and raise only for a finding."""

from __future__ import annotations

import lzma
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from gen4emu import trace
from gen4emu.check import history, manifest
from gen4emu.check.results import Outcome
from gen4emu.decode import RENDERERS, Decoder, Options
from gen4emu.device import bookmark_file
from gen4emu.errors import AssemblyError, DecodeError, Gen4emuError
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.isa import Syntax, assemble, detect_syntax, kernel_length, listing
from gen4emu.suite import combine, lines, reports
from gen4emu.trace import capture
from gen4emu.trace.events import Engine, MemoryWrite, Submission
from tests.decode import fuzz_decode
from tests.fuzz import connection
from tests.isa import fuzz_isa
from tests.trace import fuzz_trace
from tests.trace.trace_files import BATCH, ERROR_STATES, everything

TRACES = Path(__file__).resolve().parents[2] / "traces"
DEVICES = (None, "gm45", "ivb", "kbl")
DECODED = ("965gm", "gm45", "g45", "snb", "ivb", "hsw", "bdw", "kbl")


@dataclass(frozen=True, slots=True)
class Reader:
    subject: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]
    most_bytes: int = 4096


@cache
def folder() -> Path:
    """For files that are read by name."""
    made = tempfile.TemporaryDirectory(prefix="gen4emu-fuzz-")
    _kept.append(made)
    return Path(made.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []  # removed at the end of the program


# --- traces: a byte of options, then the file ---
def check_trace(kind: str, data: bytes) -> None:
    options = data[0] if data else 0
    fuzz_trace.read_as(data[1:], kind=kind, device=DEVICES[options & 3], base=(0, 0xFFFFFFF0)[options >> 2 & 1],
                       strict=options >> 4 == 15)


def _traces(names: str) -> Iterator[bytes]:
    for name, data in everything().items():
        if name in names.split():
            yield b"\0" + data
            yield b"\0" + lzma.compress(data)


def error_states() -> Iterator[bytes]:
    for text in [*ERROR_STATES.values(), *fuzz_trace.later_error_states()]:
        yield b"\0" + text.encode()


# --- captures: records that the target packs; a first byte of 255 is a file as it is ---
def check_capture(data: bytes) -> None:
    if data[:1] != b"\xff":
        data = b"\0" + packed_records(data[1:])
    check_trace("capture", b"\0" + data[1:])


def packed_records(data: bytes) -> bytes:
    """A file of the records in `data`: a byte with kind (3:0) and codec (4), two with the length, contents."""
    parts, at = [capture.MAGIC], 0
    while at + 3 <= len(data):
        head, size = struct.unpack_from("<BH", data, at)
        contents = data[at + 3:at + 3 + size]
        at += 3 + size
        codec = capture.Codec.ZLIB if head & 16 else capture.Codec.RAW
        stored = zlib.compress(contents, 1) if codec else contents
        parts += [capture.RECORD.pack(head & 15, codec, len(stored), len(contents), zlib.crc32(stored)), stored]
    return b"".join(parts)


def captures() -> Iterator[bytes]:
    page = bytes(range(256)) * 16
    records = (
        (capture.Kind.HEADER, capture.HEADER.pack(0x2A42, b"gears") + b"gen4emu"), (capture.Kind.PAGES, page),
        (capture.Kind.WRITE, capture.WRITE.pack(16, 2) + struct.pack("<2I", 1, 0)),
        (capture.Kind.BYTES, capture.BYTES.pack(0x10000, 0, 5) + b"batch" + BATCH),
        (capture.Kind.REGISTER, capture.REGISTER.pack(0x2040, 5)),
        (capture.Kind.PAGE_TABLE, capture.PAGE_TABLE.pack(7, 4) + bytes(8)),
        (capture.Kind.SUBMISSION, capture.SUBMISSION.pack(0, 0x1000) + struct.pack("<2I", 0x18800000, 0x10000)),
        (capture.Kind.EXPECT, capture.EXPECT.pack(0x10000, 4096, capture.digest(page))),
        (capture.Kind.DUMP, capture.DUMP.pack(0x10000, 0, 0, 8, 8, 4, 32, 7, 0, 0)),
        (capture.Kind.WIDE_SUBMISSION, capture.WIDE_SUBMISSION.pack(0, 1, 0x1000, capture.NO_TABLES) + bytes(8)),
        (capture.Kind.WIDE_WRITE, capture.WIDE_WRITE.pack(16, 1) + struct.pack("<I", 1)),
        (capture.Kind.COMMENT, b"hello"), (capture.Kind.FRAME, b"first"))
    encoded = b"".join(struct.pack("<BH", kind | (number & 1) << 4, len(data)) + data
                       for number, (kind, data) in enumerate(records))
    yield b"\0" + encoded
    yield b"\xff" + packed_records(encoded)


# --- indexes: the file of bookmarks, and the index at the end of a capture ---
def check_index(data: bytes) -> None:
    file = folder() / "trace.g4c"
    file.write_bytes(data)
    with file.open("rb") as opened:
        found = capture.read_index(opened)
    assert found is None or all(isinstance(offset, int) for part in found for offset in part)
    with suppress(Gen4emuError), trace.open(file) as opened_trace:
        opened_trace.frame_count()
    bookmark_file.path_of(str(file)).write_bytes(data)
    complaints: list[str] = []
    assert bookmark_file.signed_if_valid(str(file), complaints.append) is None and len(complaints) == 1
    packed = memoryview(zlib.compress(data))
    signed = bookmark_file.Signed(file, (len(data), len(data)), (packed, packed))  # by a process that was taken over
    with suppress(bookmark_file.BadIndexError):
        signed.contents()
    signed.landmarks_if_valid(complaints.append)


def indexes() -> Iterator[bytes]:
    file = next(seed[1:] for seed in captures() if seed[0] == 0xFF)
    index = capture.INDEX.pack(1, 1) + struct.pack("<2Q", 8, 16)
    yield (file + capture.RECORD.pack(capture.Kind.INDEX, 0, len(index), len(index), zlib.crc32(index)) + index
           + capture.TRAILER.pack(len(file), capture.INDEX_MAGIC))
    yield bookmark_file.MAGIC + bytes(88) + zlib.compress(b"x")


# --- decoder: the device, renderer and options in three bytes, sixteen dwords of state, and a batch ---
_BATCH, _STATE, _STATE_BYTES = 0x1000, 0x4000, 256
_BATCH_END = struct.pack("<I", 0x05000000)


def check_decoder(data: bytes) -> None:
    device, renderer, lint, *_ = data.ljust(3, b"\0")
    decoder = Decoder(BY_NAME[DECODED[device % len(DECODED)]], options=Options(lint=bool(lint & 1),
                                                                               repeat=bool(lint & 2)))
    try:
        decoder.memory.write(_STATE, data[3:3 + _STATE_BYTES] * 8 or bytes(4))
        batch = data[3 + _STATE_BYTES:]
        decoder.memory.write(_BATCH, batch + bytes(-len(batch) % 4) + _BATCH_END)
        start = fuzz_decode.starts(decoder.gen)
        ring = struct.pack(f"<{len(start)}I", *start)
        engine = (Engine.RENDER, Engine.RENDER, Engine.BLT, Engine.BSD)[lint >> 2 & 3]
        items = list(decoder.submission(Submission(0, engine, ring, 0x800)))
        names = list(RENDERERS)
        if renderer % (len(names) + 1) == len(names):
            fuzz_decode.check_json(items)
        else:
            shown = RENDERERS[names[renderer % (len(names) + 1)]](offsets=bool(lint & 16))
            for item in items:
                shown.render(item)
    finally:
        decoder.memory.close()


def batches() -> Iterator[bytes]:
    """Parts of the batches of committed traces."""
    for file, device in (("triangle-g4x.aub.xz", 1), ("cubemap-brw.aub.xz", 0), ("mpeg2-g4x.aub.xz", 2),
                         ("later/triangle-snb.aub.xz", 3), ("later/triangle-ivb.aub.xz", 4),
                         ("later/triangle-hsw.aub.xz", 5), ("later/triangle-bdw.aub.xz", 6),
                         ("later/triangle-kbl.aub.xz", 7)):
        written = {bytes(event.data[:1024]) for event in trace.open(TRACES / file)
                   if isinstance(event, MemoryWrite) and _BATCH_END in bytes(event.data)}
        for data in sorted(written)[:8]:
            for renderer in range(2):
                yield bytes((device, renderer, 1)) + data[:_STATE_BYTES] + data


# --- assembler and disassembler: the part, the syntax, and a text or code ---
_PARTS = (Gen.CL, Gen.EL, Gen.SNB, Gen.IVB, Gen.HSW, Gen.BDW, Gen.KBL)
_SYNTAXES = (None, *Syntax)


def check_assembler(data: bytes) -> None:
    part, syntax, *_ = data.ljust(2, b"\0")
    gen = _PARTS[part % len(_PARTS)]
    text = data[2:].decode("utf-8", "replace")
    detect_syntax(text)
    try:
        code = assemble(text, gen, syntax=_SYNTAXES[syntax % len(_SYNTAXES)])
    except AssemblyError as e:
        assert e.line >= 0 and e.column >= 1
    else:
        check_listing(code, gen)


def check_disassembler(data: bytes) -> None:
    check_listing(data[1:], _PARTS[(data[0] if data else 0) % len(_PARTS)])


def check_listing(code: bytes, gen: Gen) -> None:
    kernel_length(code, gen)
    text = listing(code, gen, end=len(code))
    assert assemble(text, gen, syntax=Syntax.MESA) == code, text


def assemblies() -> Iterator[bytes]:
    for number in range(len(_PARTS)):
        for text in (*fuzz_isa.SEEDS, *fuzz_isa.LATER_SEEDS):
            yield bytes((number, number % len(_SYNTAXES))) + text.encode()


def codes() -> Iterator[bytes]:
    for number, gen in enumerate(_PARTS):
        for code in fuzz_isa.SEEDS_OF.get(gen, fuzz_isa.CODE_SEEDS):
            yield bytes((number,)) + code


# --- manifests ---
def check_manifest(data: bytes) -> None:
    file = folder() / manifest.MANIFEST
    file.write_bytes(data)
    try:
        found = manifest.read_manifest(file)
    except DecodeError as e:
        assert str(file) in str(e)
        return
    manifest.unknown_names(found)
    for case in found.cases:
        for kind in manifest.LISTS:
            manifest.listing_for(found.listings, case, case.device, kind)


def manifests() -> Iterator[bytes]:
    yield (TRACES / "manifest.toml").read_bytes()[:3000]
    yield (b'timeout = 20\n[[trace]]\nfile = "a"\nname = "b"\nraw = true\nbase = 0x1000\ndevice = "g45"\n'
           b'partial = true\nexpect = "0123456789abcdef0123456789abcdef"\n[[trace.accept]]\n'
           b'expect = "fedcba9876543210fedcba9876543210"\nreason = "x"\n[[fail]]\nnames = ["b*"]\nreason = "y"\n'
           b'result = ["crash"]\n[[skip]]\nnames = ["c"]\nreason = "z"\ndevice = "ivb"\n')
    yield b'[[trace]]\nfile = "a.g4c"\ntolerance = 2.5\n[trace.expect]\n"1" = "0123456789abcdef0123456789abcdef"\n'


# --- results: files of `suite`, and the history of `check` ---
def check_results(data: bytes) -> None:
    file = folder() / "results"
    file.write_bytes(data)
    with suppress(DecodeError):
        history.read(file)
    try:
        found = lines.read(file, cut_is_fine=True)
    except DecodeError as e:
        assert str(file) in str(e)
        return
    merged, conflicts = combine.merge([found, found])
    texts = conflicts + [change.text for change in combine.diff(combine.by_key(found[1:]), combine.by_key(merged))]
    texts += [combine.label(line) for line in merged] + [line.to_json() for line in merged]
    assert all(isinstance(text, str) for text in texts)
    combine.history([combine.by_key(found), combine.by_key(merged)])
    lines.durations(found, "traces")
    reports.write_junit(folder() / "results.xml", merged)
    reports.write_html(folder() / "results.html", merged, "results")


def results() -> Iterator[bytes]:
    made = [lines.Line("traces", f"a/{outcome}", "gm45", outcome, 1.5, "12", ["a\nb"], "because", "host", "1",
                       {"x": [1]}) for outcome in Outcome]
    yield b"".join(line.to_json().encode() + b"\n" for line in made)
    for line in made[:3]:
        yield line.to_json().encode() + b"\n"
    yield b'{"schema":"%b","revision":"1","cases":{"a":["pass","12"]}}\n' % history.SCHEMA.encode()


READERS = {
    "aub": Reader("AUB traces", partial(check_trace, "aub"),
                  partial(_traces, "aub execlist registers scattered wide")),
    "error-state": Reader("error states", partial(check_trace, "error-state"), error_states),
    "raw": Reader("raw batches", partial(check_trace, "raw"), partial(_traces, "raw")),
    "hexdump": Reader("hexdumps", partial(check_trace, "hexdump"), partial(_traces, "hexdump")),
    "capture": Reader("captures", check_capture, captures, 8192),
    "index": Reader("indexes of traces", check_index, indexes, 8192),
    "decoder": Reader("decoder, lint, text and JSON", check_decoder, batches, 2048),
    "assembler": Reader("assembler", check_assembler, assemblies, 512),
    "disassembler": Reader("disassembler, and its listing back through the assembler", check_disassembler, codes, 256),
    "manifest": Reader("manifests of `check`", check_manifest, manifests),
    "results": Reader("files of results and histories", check_results, results, 2048),
    "connection": Reader("the device server: packets, descriptors, batches", connection.check, connection.seeds, 2048),
}
