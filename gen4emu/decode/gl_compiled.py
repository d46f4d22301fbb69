"""The shaders that a driver has compiled, as it printed them: NIR, and code with the SHA-1 of its bytes.

A kernel of the trace is found by that SHA-1.  NIR names the program and has the SHA-1 of the GLSL source.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from hashlib import sha1

_STAGES = {"vertex": "vertex", "tessellation control": "tess ctrl", "tessellation evaluation": "tess eval",
           "geometry": "geometry", "fragment": "fragment", "compute": "compute"}
_STAGE = "|".join(_STAGES)
_NIR = re.compile(rf"NIR \((.+)\) for ({_STAGE}) shader:$")
_NAME = re.compile(r"^name: (.*)$", re.MULTILINE)
_SOURCE = re.compile(r"^source_sha1: \{(0x[0-9a-f]{8}(?:, 0x[0-9a-f]{8}){4})\}$", re.MULTILINE)
_CODE = re.compile(rf"Native code for (?:.* )?({_STAGE}) shader (.*?) \(")
_SHA1 = re.compile(r"sha1 ([0-9a-f]{40})\):?$")
_PROGRAM = re.compile(r"GLSL(\d{1,10})$")
_MOST = 1 << 14
_MOST_HEAD = 512  # characters of the first line of a section
_MOST_SAME = 64  # shaders with the same code
_PADDING = struct.pack("<Q", 0x2000007E)  # a compacted nop: the driver's code ends at a multiple of 16 bytes


@dataclass(slots=True, frozen=True)
class CompiledShader:
    """Code that the driver has made of one shader.  The driver's texts end with a line end."""

    stage: str  # as those of GlShader
    name: str  # that the driver gives it: "GLSL3" of program 3, "BLORP-copy" of its own
    summary: str  # "SIMD16 shader: 7 instructions. 0 loops. ..."
    assembly: str  # as the driver prints it
    nir: tuple[tuple[str, str], ...]  # form and text
    source: bytes | None  # SHA-1 of its GLSL

    @property
    def program(self) -> int | None:
        """GL's name of the program."""
        found = _PROGRAM.match(self.name)
        return int(found[1]) if found else None


class CompiledShaders:
    """Collects what a driver prints."""

    def __init__(self) -> None:
        self._by_code: dict[bytes, list[CompiledShader]] = {}  # by SHA-1: several shaders may have one code
        self._nir: dict[tuple[str, str], dict[str, str]] = {}  # the last of each stage and name: text by form

    def add(self, section: str) -> CompiledShader | None:
        """The next section; returns the shader whose code it has, if it is a new one."""
        head, _, text = section.partition("\n")
        if len(head) > _MOST_HEAD:
            return None
        if (found := _NIR.match(head)) is not None:
            name = _NAME.search(text)
            key = found[2], name[1] if name is not None else ""
            forms = self._nir.get(key, {})
            if found[1] in forms:
                forms = {}  # of another variant
            if len(self._nir) < _MOST or key in self._nir:
                self._nir[key] = forms | {found[1]: text}
        elif ((found := _CODE.match(head)) is not None and (digest := _SHA1.search(head)) is not None
              and len(self._by_code) < _MOST):
            nir = self._nir.get((found[1], found[2]), {})
            source = next((match[1] for form in nir.values() if (match := _SOURCE.search(form))), None)
            summary, _, assembly = text.partition("\n")
            shader = CompiledShader(_STAGES[found[1]], found[2], summary, assembly, tuple(nir.items()),
                                    None if source is None else _digest(source))
            same = self._by_code.setdefault(bytes.fromhex(digest[1]), [])
            if len(same) < _MOST_SAME and all((s.name, s.source) != (shader.name, shader.source) for s in same):
                same.append(shader)
                return shader
        return None

    def of_code(self, code: bytes) -> list[CompiledShader]:
        """The shaders that a kernel was compiled from."""
        for data in (code, code + _PADDING) if len(code) % 16 else (code,):
            found = self._by_code.get(sha1(data, usedforsecurity=False).digest())
            if found is not None:
                return found
        return []

    def all(self) -> list[tuple[bytes, list[CompiledShader]]]:
        """The shaders of each SHA-1."""
        return list(self._by_code.items())


def _digest(words: str) -> bytes:
    return struct.pack("<5I", *(int(word, 16) for word in words.split(", ")))
