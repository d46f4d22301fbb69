"""The GL notes of a capture for the draws and kernels of a session (`gl`, `source`)."""

from __future__ import annotations

from gen4emu.decode.document import Document
from gen4emu.decode.gl_calls import DrawGroup, GlCalls, KernelOrigin, source_texts
from gen4emu.decode.options import Options
from gen4emu.hw.chips import Device as Part
from gen4emu.trace.events import GlNotes
from gen4emu.trace.reader import Trace

FORMS = {"glsl": "GLSL", "nir": "NIR", "assembly": "driver's assembly"}


class GlKnowledge:
    """The notes of a trace.  They are decoded, with all of its commands, when they are first needed."""

    def __init__(self, trace: Trace, part: Part | None) -> None:
        self._trace, self._part = trace, part
        self._calls: GlCalls | None = None

    @property
    def present(self) -> bool:
        """Whether the trace has notes."""
        return self._decoded().present

    def group(self, draw: int) -> DrawGroup | None:
        """Where in the program a draw was made."""
        return self._decoded().groups.get(draw)

    def sources(self, code: bytes, stage: str, draw: int) -> tuple[KernelOrigin | None, list[tuple[str, str]]]:
        """The origin of a kernel, and the titles and texts of its forms.

        A kernel that the driver did not print has the GLSL of its stage in the program of the draw, if that is certain.
        """
        calls = self._decoded()
        origin = calls.origin(code)
        shaders = origin.shaders if origin is not None else calls.sources([stage], [(draw, draw)])
        return origin, source_texts(origin, shaders)

    def _decoded(self) -> GlCalls:
        if self._calls is None:
            self._calls = GlCalls()
            if any(isinstance(event, GlNotes) for event in self._trace):
                document = Document(self._trace, file=self._trace.path, container=self._trace.kind,
                                    device=self._part or self._trace.named_device, options=Options(max_rows=0))
                for _ in document:
                    pass
                self._calls = document.gl
        return self._calls
