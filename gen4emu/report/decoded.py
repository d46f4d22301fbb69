"""What one pass of the decoder over a trace finds: kernels with their sources, broken rules, comments, debug groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gen4emu.decode.document import Document
from gen4emu.decode.findings import Finding, findings
from gen4emu.decode.kernel_uses import KernelUse, KernelUses
from gen4emu.decode.nodes import Command, Item, Kernel, Note
from gen4emu.decode.options import Options
from gen4emu.errors import DecodeError
from gen4emu.trace.reader import Trace


@dataclass(slots=True)
class Decoded:
    """The kernels of a trace, and the rules that it breaks."""

    kernels: list[KernelUse] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    groups: dict[int, str] = field(default_factory=dict)  # of captures with GL notes, by draw


def decoded(trace: Trace, executed: Iterable[Kernel], lint: bool = True, end: int | None = None) -> Decoded:
    """Decode a trace up to its end, or to the place where it cannot be decoded any further.

    `executed` are kernels that the trace may not show, as the GPU can write them.  `end` is the first draw that is not
    decoded.
    """
    found = Decoded()
    document = Document(trace, file=trace.path, container=trace.kind, device=trace.named_device,
                        options=Options(lint=lint, max_rows=0))
    uses = KernelUses(document)

    def watched() -> Iterator[Item]:
        for item in document:
            if isinstance(item, Command):
                if end is not None and item.draw is not None and item.draw >= end:
                    break
                uses.add(item)
            elif isinstance(item, Note) and item.kind == "comment" and not document.draws:
                found.comments.append(item.text)
            yield item

    try:
        for finding in findings(watched(), document, trace.has_marks()):
            found.findings.append(finding)
    except DecodeError as e:
        found.comments.append(str(e))
    if document.decoder is not None:
        for kernel in executed:
            uses.add_kernel(kernel)
    found.kernels = uses.found()
    found.groups = {draw: group.text for draw, group in document.gl.groups.items()}
    return found
