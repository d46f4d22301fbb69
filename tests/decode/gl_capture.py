"""A trace with GL notes that lead to its pixel shader."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path

import gen4emu
from gen4emu.hw.chips import BY_NAME
from gen4emu.trace import CaptureWriter
from gen4emu.trace import open as open_events
from gen4emu.trace.conversion import copy_event
from gen4emu.trace.events import Submission
from gen4emu.trace.gl_notes import GlNote, NoteKind

HOSTILE = "<img src=x onerror=document.title='owned'>"
GLSL = f"// {HOSTILE}\nvoid main() {{ gl_FragColor = vec4(1.0); }}\n"
FRAGMENT, TRIANGLES = 0x8B30, 4


def noted(source: Path, path: Path, draw: int = 1, device: str = "g45", printed: bool = True) -> Path:
    """Copy a trace with notes about program 3, its one shader, and the call of a draw; `printed`: with NIR as well."""
    with gen4emu.open(source) as trace:
        kernel = next(use for use in trace.kernels(draws=draw) if use.stages[0].startswith("ps"))
    digest = sha1(GLSL.encode()).digest()
    words = ", ".join(f"0x{int.from_bytes(digest[at:at + 4], 'little'):08x}" for at in range(0, 20, 4))
    notes = [GlNote(NoteKind.SOURCE, 0, (2, FRAGMENT), GLSL), GlNote(NoteKind.COMPILE, 0, (2,)),
             GlNote(NoteKind.ATTACH, 0, (3, 2)), GlNote(NoteKind.LINK, 0, (3,)),
             GlNote(NoteKind.LABEL, 0, (0x82E2, 3), HOSTILE), GlNote(NoteKind.PUSH, 0, (0, 0), HOSTILE),
             GlNote(NoteKind.USE, 0, (3,)), GlNote(NoteKind.DRAW, 0, (TRIANGLES, 3, 1, 1))]
    if printed:
        notes += [GlNote(NoteKind.DRIVER, 0, (), f"NIR ({form}) for fragment shader:\nsource_sha1: {{{words}}}\n"
                                                 f"name: GLSL3\n\nimpl main {{\n\t{HOSTILE} {form}\n}}\n")
                  for form in ("SSA form", "final form")]
        notes.append(GlNote(NoteKind.DRIVER, 0, (), "Native code for unnamed fragment shader GLSL3 (sha1 "
                                                    f"{sha1(kernel.code.code).hexdigest()})\nSIMD8 shader.\nnop;\n"))
    with CaptureWriter(path, BY_NAME[device]) as writer:
        for event in open_events(source):
            if notes and isinstance(event, Submission):
                writer.gl_notes(notes)
                notes = []
            copy_event(event, writer)
    return path
