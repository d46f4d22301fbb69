"""The kernel's variant of ascii85: dwords in host order, `z` for zero, no line breaks, no delimiters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_FIRST, _LAST, _ZERO = ord("!"), ord("u"), ord("z")
_POWERS = np.array([85**4, 85**3, 85**2, 85, 1], dtype=np.uint64)


class Ascii85Error(Exception):
    """The text is not valid ascii85."""


def encode(data: bytes) -> bytes:
    """Encode dwords; the last one is padded with zeros."""
    values = np.frombuffer(data + bytes(-len(data) % 4), dtype="<u4").astype(np.uint64)
    digits = (values[:, None] // _POWERS % 85 + _FIRST).astype(np.uint8)
    zeros = values == 0
    digits[zeros, 0] = _ZERO
    keep = np.ones(digits.shape, dtype=bool)
    keep[zeros, 1:] = False
    return digits[keep].tobytes()


class Decoder:
    """Decodes text in pieces.  `ended` is set after the first character outside `!`..`z`."""

    def __init__(self) -> None:
        self._rest = b""
        self.ended = False

    def feed(self, text: bytes) -> bytes:
        """Decode a piece; return the dwords that are complete."""
        if self.ended:
            return b""
        codes = np.frombuffer(self._rest + text, dtype=np.uint8)
        outside = np.flatnonzero((codes < _FIRST) | (codes > _ZERO))
        if len(outside):
            self.ended = True
            codes = codes[:outside[0]]
        if np.any((codes > _LAST) & (codes != _ZERO)):
            raise Ascii85Error("a character between 'v' and 'y'")
        zeros = np.flatnonzero(codes == _ZERO)
        if np.any((zeros - np.arange(len(zeros))) % 5):
            raise Ascii85Error("a 'z' inside a group")
        whole = len(codes) - (len(codes) - len(zeros)) % 5
        self._rest = codes[whole:].tobytes()
        return _decode_groups(codes[:whole], zeros)

    def finish(self) -> None:
        """End the text; an incomplete group is an error."""
        if self._rest:
            raise Ascii85Error(f"{len(self._rest)} characters after the last group of five")


def _decode_groups(codes: npt.NDArray[np.uint8], zeros: npt.NDArray[np.intp]) -> bytes:
    digits = codes if not len(zeros) else np.frombuffer(codes.tobytes().replace(b"z", b"!!!!!"), dtype=np.uint8)
    values = (digits.reshape(-1, 5).astype(np.uint64) - _FIRST) @ _POWERS
    if np.any(values > 0xFFFFFFFF):
        raise Ascii85Error("a group above 0xffffffff")
    return values.astype("<u4").tobytes()
