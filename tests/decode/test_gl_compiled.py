"""Kernels are found among the shaders that a driver printed, by their machine code."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest

from gen4emu.decode.gl_calls import GlCalls
from gen4emu.trace import gl_notes
from gen4emu.trace.gl_notes import GlNote
from gen4emu.trace.gl_notes import NoteKind as K

CODE = bytes(range(64))
GLSL = "void main() {\n}\n"
FRAGMENT, VERTEX = 0x8B30, 0x8B31


def nir(name: str, source: bytes = b"", form: str = "SSA form", stage: str = "fragment", body: str = "") -> GlNote:
    words = ", ".join(f"0x{word:08x}" for word in struct.unpack("<5I", hashlib.sha1(source).digest()))
    return GlNote(K.DRIVER, 0, (), f"NIR ({form}) for {stage} shader:\nsource_sha1: {{{words}}}\nname: {name}\n\n"
                                   f"impl main {{\n{body}}}\n")


def code(name: str, data: bytes = CODE, stage: str = "fragment", label: str = "unnamed", extra: str = "") -> GlNote:
    return GlNote(K.DRIVER, 0, (), f"Native code for {label} {stage} shader {name} ({extra}sha1 "
                                   f"{hashlib.sha1(data).hexdigest()})\nSIMD8 shader: 4 instructions.\nnop;\n")


def linked(program: int, shader: int, source: str, stage: int = FRAGMENT) -> list[GlNote]:
    return [GlNote(K.SOURCE, 0, (shader, stage), source), GlNote(K.COMPILE, 0, (shader,)),
            GlNote(K.ATTACH, 0, (program, shader)), GlNote(K.LINK, 0, (program,))]


def calls(*notes: GlNote) -> GlCalls:
    gl = GlCalls()
    list(gl.add(notes))
    return gl


def origin(*notes: GlNote, data: bytes = CODE) -> dict[str, Any] | None:
    found = calls(*notes).origin(data)
    return None if found is None else found.as_json()


def test_a_kernel_has_the_source_whose_digest_its_nir_has() -> None:
    found = calls(*linked(3, 1, "other\n", VERTEX), *linked(3, 2, GLSL), nir("GLSL3", GLSL.encode()),
                  nir("GLSL3", GLSL.encode(), "final form"), code("GLSL3")).origin(CODE)
    assert found is not None
    assert [(s.name, s.source) for s in found.shaders] == [(2, GLSL)]
    assert found.title == "program 3, fragment shader 2"
    assert [form for form, _ in found.compiled.nir] == ["SSA form", "final form"]
    assert (found.compiled.summary, found.compiled.assembly) == ("SIMD8 shader: 4 instructions.", "nop;\n")


def test_other_code_has_no_origin() -> None:
    assert origin(nir("GLSL3"), code("GLSL3"), data=CODE[:-1] + b"x") is None


def test_code_that_the_driver_padded_is_found() -> None:
    short = CODE[:56]
    assert origin(code("GLSL3", short + struct.pack("<Q", 0x2000007E)), data=short) is not None
    assert origin(code("GLSL3", CODE + struct.pack("<Q", 0x2000007E))) is None


def test_a_program_that_was_linked_again_has_the_source_of_each_time() -> None:
    again = "void main() { discard; }\n"
    gl = calls(*linked(3, 2, GLSL), nir("GLSL3", GLSL.encode()), code("GLSL3"), *linked(3, 2, again),
               nir("GLSL3", again.encode()), code("GLSL3", b"again"))
    sources = [[s.source for s in found.shaders] for found in (gl.origin(CODE), gl.origin(b"again")) if found]
    assert sources == [[GLSL], [again]]


def test_the_digest_is_that_of_the_bytes_which_gl_got() -> None:
    raw = b"// \x1b[1m\r\nvoid main() {}"
    head = struct.pack("<HHIII", 1, 0, 8 + len(raw), 2, FRAGMENT)
    _, *rest = linked(3, 2, "")
    found = origin(*gl_notes.unpack(head + raw), *rest, nir("GLSL3", raw), code("GLSL3"))
    assert found is not None and found["shaders"] == [2]


def test_programs_with_the_same_code_are_all_named() -> None:
    found = origin(*linked(3, 2, GLSL), *linked(5, 4, "// 5\n"), nir("GLSL3", GLSL.encode()), code("GLSL3"),
                   nir("GLSL5", b"// 5\n"), code("GLSL5"), code("GLSL5"))
    assert found is not None
    assert ([p["name"] for p in found["programs"]], found["shaders"]) == ([3, 5], [2, 4])


def test_a_title_names_few_programs() -> None:
    notes = [note for n in range(6) for note in (*linked(n, 10 + n, f"// {n}\n"), nir(f"GLSL{n}", f"// {n}\n".encode()),
                                                 code(f"GLSL{n}"))]
    found = calls(*notes).origin(CODE)
    assert found is not None and found.title == (
        "program 0, program 1, program 2, 3 more programs, "
        "fragment shader 10, fragment shader 11, fragment shader 12, 3 more shaders")


def test_the_drivers_own_shaders_have_no_source() -> None:
    assert origin(nir("BLORP-clear", bytes(20)), code("BLORP-clear")) == {
        "stage": "fragment", "name": "BLORP-clear", "summary": "SIMD8 shader: 4 instructions.", "programs": [],
        "shaders": []}


def test_shaders_with_labels_and_heads_of_later_drivers_are_found() -> None:
    found = origin(nir("GLSL3", stage="tessellation control"), code("GLSL3", stage="tessellation control",
                                                                    label="my (own)", extra="src_hash 0x1a) ("))
    assert found is not None and (found["stage"], found["name"]) == ("tess ctrl", "GLSL3")


def test_nir_of_another_shader_or_variant_is_not_taken() -> None:
    gl = calls(nir("GLSL3", body="old\n"), nir("GLSL3", form="final form", body="old\n"), nir("GLSL3", body="new\n"),
               nir("GLSL4"), nir("GLSL3", stage="vertex"), code("GLSL3"))
    found = gl.origin(CODE)
    assert found is not None and len(found.compiled.nir) == 1 and "new" in found.compiled.nir[0][1]


@pytest.mark.parametrize("text", [
    "", "\n", "Native code for", "NIR () for vertex shader:", "Native code for x (sha1 00)\n",
    f"Native code for {'vertex shader ( ' * 70000}sha1 {'0' * 40})",
    f"Native code for fragment shader x (sha1 {'0' * 39})",
])
def test_hostile_sections_are_no_shaders(text: str) -> None:
    assert calls(GlNote(K.DRIVER, 0, (), text)).as_json()["compiled"] == []


def test_a_program_number_that_is_too_long_is_a_name() -> None:
    found = calls(nir("GLSL99999999999"), code("GLSL99999999999")).origin(CODE)
    assert found is not None and found.compiled.program is None
