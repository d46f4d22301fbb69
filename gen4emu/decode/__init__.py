"""Batches as a structured tree, then as text or JSON.

    from gen4emu import trace
    from gen4emu.decode import Document, TextRenderer

    render = TextRenderer().render
    for item in Document(trace.open("trace.aub.xz")):
        print(render(item), end="")

`Document` turns the events of a trace into items: `SubmissionStart`, `BatchStart`, `Command`, `BatchEnd`, `Diagnostic`.
A `Command` has an address, a `body` with `name`, `words` and `view` (its fields as attributes), and `children`: the
state blocks, kernels and data that it leads to.  `Decoder` does the same for memory that a program fills itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gen4emu.decode.document import Decoder, Document
from gen4emu.decode.json_text import SCHEMA, JsonRenderer
from gen4emu.decode.lint_rules import Severity
from gen4emu.decode.nodes import (
    BatchEnd,
    BatchStart,
    Body,
    Command,
    Data,
    Diagnostic,
    Item,
    Kernel,
    Node,
    Note,
    Registers,
    State,
    SubmissionEnd,
    SubmissionStart,
    Tally,
    TraceStart,
)
from gen4emu.decode.options import Options
from gen4emu.decode.text import TextRenderer
from gen4emu.deferred import deferred

if TYPE_CHECKING:
    from gen4emu.decode.compatible_text import RENDERERS, AubinatorRenderer, LibdrmRenderer
    from gen4emu.decode.summary import Summary, summarize

__all__ = [
    "RENDERERS", "SCHEMA", "AubinatorRenderer", "BatchEnd", "BatchStart", "Body", "Command", "Data", "Decoder",
    "Diagnostic", "Document", "Item", "JsonRenderer", "Kernel", "LibdrmRenderer", "Node", "Note", "Options",
    "Registers", "Severity", "State", "SubmissionEnd", "SubmissionStart", "Summary", "Tally", "TextRenderer",
    "TraceStart", "summarize",
]

__getattr__, __dir__ = deferred(__name__, {
    "gen4emu.decode.compatible_text": ("RENDERERS", "AubinatorRenderer", "LibdrmRenderer"),
    "gen4emu.decode.summary": ("Summary", "summarize"),
})
