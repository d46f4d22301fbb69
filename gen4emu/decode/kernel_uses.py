"""The kernels of a trace, each with its stages, addresses and the draws that run it (`gen4emu kernels`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from gen4emu.decode.document import Document
from gen4emu.decode.gl_calls import GlShader, KernelOrigin, source_texts
from gen4emu.decode.nodes import Command, Item, Kernel, KernelCode, State
from gen4emu.hw.gen import Gen
from gen4emu.isa import disassemble
from gen4emu.selection import ALL, Selection

_ADDRESSES = 64  # that are listed of one kernel


@dataclass(slots=True)
class KernelUse:
    """One kernel.  Kernels with equal code are the same kernel, at any address."""

    number: int  # from 1, in the order in which the trace names them
    code: KernelCode
    gen: Gen
    stages: list[str] = field(default_factory=list)
    addresses: list[int] = field(default_factory=list)
    draws: list[tuple[int, int]] = field(default_factory=list)  # first and last of each run of draws that execute it
    origin: KernelOrigin | None = None  # with GL notes
    sources: list[GlShader] = field(default_factory=list)  # of the origin, else of the programs of these draws

    @property
    def draw_count(self) -> int:
        return sum(last - first + 1 for first, last in self.draws)

    @property
    def draws_text(self) -> str:
        """The draws in the notation of `--draws`; empty if none runs it."""
        return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.draws)

    @property
    def name(self) -> str:
        """The start of the names of its files: `kernel-003-ps-00825d40`."""
        stage = re.sub(r"\W+", "-", self.stages[0]) if self.stages else "unused"
        return f"kernel-{self.number:03}-{stage}-{self.addresses[0]:08x}"

    def text(self) -> str:
        """Assembly that `gen4emu asm` reads."""
        lines = disassemble(self.code.code, self.gen, end=len(self.code.code))
        return "".join(f"{line.render(offsets=False)}\n" for line in lines)

    def as_json(self) -> dict[str, Any]:
        return {"number": self.number, "stages": self.stages, "addresses": self.addresses,
                "bytes": len(self.code.code), "instructions": self.code.instructions, "complete": self.code.complete,
                "draws": self.draws_text, "draw_count": self.draw_count,
                "digest": f"sha256:{sha256(self.code.code).hexdigest()}",
                **({"origin": self.origin.as_json()} if self.origin is not None else {})}

    def source_texts(self) -> list[tuple[str, str]]:
        """Titles and texts of the forms in which the shader was before it became this kernel, GLSL first."""
        return source_texts(self.origin, self.sources)

    def _ran_in(self, draw: int) -> None:
        if self.draws and draw <= self.draws[-1][1]:
            return  # in another stage
        if self.draws and draw == self.draws[-1][1] + 1:
            self.draws[-1] = self.draws[-1][0], draw
        else:
            self.draws.append((draw, draw))


class KernelUses:
    """Collects the kernels of a document that is being decoded."""

    def __init__(self, document: Document, draws: Selection | None = None) -> None:
        self.document, self.draws = document, draws
        self._by_code: dict[bytes, KernelUse] = {}
        self._media: dict[int, KernelUse] = {}  # by the address of their interface descriptor

    def add(self, item: Item) -> None:
        """The next item of the document."""
        if isinstance(item, Command):
            self._command(item)

    def found(self) -> list[KernelUse]:
        """Those that the trace names; with a selection of draws, those that one of these runs."""
        found = list(self._by_code.values())
        gl = self.document.gl
        for use in found if gl.present else ():
            use.origin = gl.origin(use.code.code)
            use.sources = list(use.origin.shaders) if use.origin is not None else gl.sources(use.stages, use.draws)
        return found if self.draws is None else [use for use in found if use.draws]

    def _command(self, command: Command) -> None:
        decoder = self.document.decoder
        for node in command.walk() if command.children else ():
            if isinstance(node, Kernel):
                self.add_kernel(node)
            elif isinstance(node, State) and decoder is not None and node.title == decoder.model.descriptor:
                for child in node.children:
                    if isinstance(child, Kernel):
                        self._media[node.address] = self._use(child.code)
        draw = command.draw
        if draw is None or decoder is None or draw not in (self.draws or ALL):
            return
        context, body = decoder.context, command.body
        if body.name == "3DPRIMITIVE":
            for stage in decoder.model.stages:
                unit = context.units.get(stage)
                for kernel in unit.kernels if unit is not None else ():
                    self._use(kernel)._ran_in(draw)
        elif body.layout is not None and "BLT" not in body.name:
            for _, address in decoder.model.descriptors(decoder.follower, body.view):
                use = self._media.get(address)
                if use is not None:
                    use._ran_in(draw)

    def add_kernel(self, node: Kernel) -> None:
        """A kernel that a draw may run."""
        use = self._use(node.code)
        if node.address not in use.addresses and len(use.addresses) < _ADDRESSES:
            use.addresses.append(node.address)
        if node.role and node.role not in use.stages and len(use.stages) < _ADDRESSES:
            use.stages.append(node.role)

    def _use(self, code: KernelCode) -> KernelUse:
        use = self._by_code.get(code.code)
        if use is None:
            assert self.document.decoder is not None
            use = KernelUse(len(self._by_code) + 1, code, self.document.decoder.gen)
            self._by_code[code.code] = use
        return use
