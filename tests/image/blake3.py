"""BLAKE3 as section 2 of its specification defines it, without any thought of speed: what the core is compared with."""

from __future__ import annotations

import struct

_INITIAL = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
_PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_CHUNK_START, _CHUNK_END, _PARENT, _ROOT = 1, 2, 4, 8
_MASK = 0xFFFFFFFF

Words = tuple[int, ...]


def _mix(s: list[int], a: int, b: int, c: int, d: int, x: int, y: int) -> None:
    for word, (first, second) in zip((x, y), ((16, 12), (8, 7)), strict=True):
        s[a] = s[a] + s[b] + word & _MASK
        s[d] ^= s[a]
        s[d] = (s[d] >> first | s[d] << 32 - first) & _MASK
        s[c] = s[c] + s[d] & _MASK
        s[b] ^= s[c]
        s[b] = (s[b] >> second | s[b] << 32 - second) & _MASK


def _compress(value: Words, block: bytes, counter: int, flags: int) -> Words:
    m = struct.unpack("<16I", block.ljust(64, b"\0"))
    s = [*value, *_INITIAL[:4], counter & _MASK, counter >> 32, len(block), flags]
    for _ in range(7):
        for i in range(4):
            _mix(s, i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1])
        for i in range(4):
            _mix(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i])
        m = tuple(m[i] for i in _PERMUTATION)
    return tuple(s[i] ^ s[i + 8] for i in range(8))


def _tree(data: bytes, counter: int, root: int) -> Words:
    """The chaining value of a subtree whose first chunk has the number `counter`."""
    chunks = max(1, -(-len(data) // 1024))
    if chunks > 1:
        left = 1024 << (chunks - 1).bit_length() - 1  # the largest power of two that leaves something
        values = _tree(data[:left], counter, 0) + _tree(data[left:], counter + left // 1024, 0)
        return _compress(_INITIAL, struct.pack("<16I", *values), 0, _PARENT | root)
    blocks = [data[i:i + 64] for i in range(0, max(1, len(data)), 64)]
    value: Words = _INITIAL
    for i, block in enumerate(blocks):
        last = _CHUNK_END | root if block is blocks[-1] and i == len(blocks) - 1 else 0
        value = _compress(value, block, counter, (0 if i else _CHUNK_START) | last)
    return value


def blake3(data: bytes) -> bytes:
    return struct.pack("<8I", *_tree(data, 0, _ROOT))
