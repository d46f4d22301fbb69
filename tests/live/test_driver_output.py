"""The output of a driver about shaders is kept, and everything else that a program prints passes through."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from gen4emu.hw.chips import BY_NAME
from gen4emu.live.driver_output import DriverOutput, Sections
from gen4emu.trace.gl_notes import GlNote, NoteKind

SHA1 = "5f1b911f0814cdf6e0e91c4bf2d88fb552631bda"
NIR = "NIR (SSA form) for vertex shader:\nshader: MESA_SHADER_VERTEX\nname: GLSL3\n\nimpl main {\n\tblock block_0:\n}\n"
MAP = "VS Output VUE map (2 slots, non-SSO)\n  [0] VARYING_SLOT_PSIZ\n  [1] VARYING_SLOT_POS\n\n"
DUMP = "   0: tcs_get_instance_id(8) g6.x:UD, null.xyzw:UD\n   1: (+f0.0) if(8) null:UD\n"
CODE = (f"Native code for unnamed vertex shader GLSL3 (sha1 {SHA1}):\nVS vec4 shader: 2 instructions.\n"
        "   START B0 (2 cycles)\nmov(8)          g3<1>F          g4<4>F                          { align16 };\n"
        "   END B0\n   START B1 (2 cycles)\nnop;\n   END B1\n")
NOTICES = ("ATTENTION: default value of option mesa_glthread overridden by environment.\n"
           "ATTENTION: default value of option sync_compile overridden by environment.\n"
           "crocus_resolve_color to res 0x5645a3b523d0 level 0 layer 0\n"
           "crocus_hiz_exec depth clear to res 0x5645a3b523d0 level 0 layers 0-1\n")


def separated(*parts: str) -> tuple[list[str], str]:
    kept: list[bytes] = []
    sections = Sections(kept.append)
    passed = b"".join(sections.feed(part.encode()) for part in parts) + sections.rest()
    return [section.decode() for section in kept], passed.decode()


def test_sections_are_kept_and_other_lines_pass() -> None:
    text = f"before\n{NIR}\n{MAP}between\n\n{NOTICES}{CODE}\nafter\n"
    assert separated(text) == ([NIR, CODE], "before\nbetween\n\nafter\n")


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_the_size_of_reads_does_not_matter(size: int) -> None:
    text = f"a\n{NIR}\n{MAP}{DUMP}{CODE}\n{NOTICES}b"
    assert separated(*(text[at:at + size] for at in range(0, len(text), size))) == ([NIR, CODE], "a\nb")


def test_instructions_are_the_drivers_only_behind_a_map_and_in_order() -> None:
    other = "   0: of the program\n"
    assert separated(f"{other}{MAP}{MAP}{DUMP}{other}{DUMP}") == ([], f"{other}{other}{DUMP}")
    assert separated(f"{MAP}{NIR}\n{DUMP}") == ([NIR], DUMP)


def test_a_line_that_is_not_complete_passes_at_once() -> None:
    sections = Sections(lambda section: None)
    assert sections.feed(b"Password: ") == b"Password: "
    assert sections.feed(b"NI") == b""
    assert sections.feed(b"CE\n") == b"NICE\n"


def test_lines_like_those_of_a_driver_pass() -> None:
    text = ("NIR (not the driver's)\nNative code for nothing\nVS Output is fine\ncrocus_resolve_color is slow\n"
            "ATTENTION: default value of option always_flush_cache overridden by environment.\n")
    assert separated(text) == ([], text)


def test_a_section_without_an_end_passes() -> None:
    assert separated(f"a\n{CODE}") == ([], f"a\n{CODE}")


def test_a_section_inside_another_ends_it() -> None:
    assert separated(f"{NIR[:-2]}{CODE}\n") == ([NIR[:-2], CODE], "")


def test_the_size_of_a_section_is_limited() -> None:
    (kept,), passed = separated(NIR[:-2], *(["\tvec1 32 ssa_0 = load_const\n"] * 60000), "}\n\nafter\n")
    assert 1 << 20 < len(kept) < (1 << 20) + 200 and passed == "after\n"


def test_a_long_line_takes_little_time() -> None:
    line = "NIR (" + ") for " * 40000 + "\n"
    begun = time.process_time()
    assert separated(line) == ([], line)
    assert time.process_time() - begun < 3


def run(script: str, environment: dict[str, str], capfd: pytest.CaptureFixture[str]) -> tuple[list[GlNote], str]:
    with DriverOutput(BY_NAME["ivb"], environment) as output:
        done = subprocess.Popen([sys.executable, "-c", script], stderr=output.descriptor,
                                env=os.environ | output.variables)
        output.started()
        done.wait()
        notes = list(output.notes(0))
    return notes, capfd.readouterr().err


SCRIPT = f"import sys; sys.stderr.write('start\\n' + {NIR!r} + '\\n' + 'end')"


def test_notes_have_all_that_was_printed_before(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(SCRIPT, {}, capfd) == ([GlNote(NoteKind.DRIVER, 0, (), NIR)], "start\nend")


def test_output_that_the_user_wants_passes_as_well(capfd: pytest.CaptureFixture[str]) -> None:
    notes, passed = run(SCRIPT, {"INTEL_DEBUG": "bat,vs"}, capfd)
    assert (len(notes), passed) == (1, f"start\n{NIR}\nend")
    cut = f"import sys; sys.stderr.write({CODE!r})"
    assert run(cut, {"INTEL_DEBUG": "fs"}, capfd) == ([], CODE)


def test_a_process_that_stays_behind_does_not_hold_the_capture(capfd: pytest.CaptureFixture[str]) -> None:
    script = ("import os, sys, time\nif os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\nsys.stderr.write('bye')")
    assert run(script, {}, capfd) == ([], "bye")


@pytest.mark.parametrize(("device", "own", "expected"), [
    ("g45", "", {"INTEL_DEBUG": "vs,fs,cs,blorp"}), ("hsw", "bat", {"INTEL_DEBUG": "bat,vs,fs,cs,blorp,gs,tcs,tes"}),
    ("kbl", "", {"INTEL_DEBUG": "vs,fs,cs,blorp,gs,tcs,tes", "sync_compile": "true"}),
])
def test_variables(device: str, own: str, expected: dict[str, str]) -> None:
    output = DriverOutput(BY_NAME[device], {"INTEL_DEBUG": own} if own else {})
    assert output.variables == expected | {"MESA_SHADER_CACHE_DISABLE": "true"}
