"""Our own container of captures, `.g4c`: what its writer and its reader share (docs/formats.md).

Records follow each other, each with its length and checksum, so a file is good up to where it was cut.  Pages of memory
are stored once and named by number afterwards; page 0 is the page of zeros and is not stored.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from enum import IntEnum

MAGIC = b"G4CAP\0\1\n"
INDEX_MAGIC = b"G4INDEX\n"
SUFFIX = ".g4c"
PAGE_BYTES = 4096
MAX_RECORD_BYTES = 8 << 20
DIGEST_BYTES = 16

RECORD = struct.Struct("<HHIII")  # kind, codec, bytes in the file, bytes when unpacked, CRC-32 of those in the file
TRAILER = struct.Struct("<Q8s")  # where the index is, INDEX_MAGIC


class Kind(IntEnum):
    """What a record is."""

    HEADER = 1
    PAGES = 2  # numbered on from the last such record
    WRITE = 3  # pages of memory take the contents of stored pages
    BYTES = 4  # writes that are not whole pages
    SUBMISSION = 5
    FRAME = 6
    DUMP = 7
    EXPECT = 8  # what memory holds now
    COMMENT = 9
    REGISTER = 10
    PAGE_TABLE = 11
    INDEX = 12


class Codec(IntEnum):
    RAW = 0
    ZLIB = 1


ENGINES = ("render", "bsd", "blt")
TILINGS = ("linear", "x", "y")

HEADER = struct.Struct("<I32s")  # PCI id, program; the name of the writer follows
WRITE = struct.Struct("<II")  # first page, count; as many page numbers follow
BYTES = struct.Struct("<QII")  # address, space (0 graphics, 1 physical), length of the kind; kind and bytes follow
SUBMISSION = struct.Struct("<II")  # engine, address of the ring contents, which follow
DUMP = struct.Struct("<10I")  # address, x, y, width, height, bytes of a pixel, pitch, format, tiling, 0
EXPECT = struct.Struct("<QI16s")  # address, bytes, digest
REGISTER = struct.Struct("<II")  # offset, value
PAGE_TABLE = struct.Struct("<II")  # first entry, bytes of an entry; the entries follow
INDEX = struct.Struct("<II")  # submissions, frames; the offsets of their records follow, eight bytes each


def digest(data: bytes | memoryview) -> bytes:
    """By which pages are told apart and contents are checked."""
    return digest_of((data,))


def digest_of(pieces: Iterable[bytes | memoryview]) -> bytes:
    """The digest of contents that come in pieces."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for piece in pieces:
        found.update(piece)
    return found.digest()
