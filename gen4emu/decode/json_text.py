"""Nodes as JSON, written as they come: one document, one command a line (docs/decode-json.md describes the schema).

Addresses and dwords are numbers; fields have the values of the hardware description, enumerations by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from enum import IntEnum
from functools import cache, partial
from typing import Any

from gen4emu.decode.compiled import Compiled, Conditional, named_source, number_source, raw_source, showable, shown
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
    Shared,
    State,
    SubmissionEnd,
    SubmissionStart,
    Tally,
    TraceStart,
)
from gen4emu.hw.chips import Device
from gen4emu.hw.fields import Array, Bool, Enum, Field, Float, Mbz
from gen4emu.hw.gen import Gen, generation_name
from gen4emu.hw.layout import Block

SCHEMA = "gen4emu.decode/1"


class _Members:
    """`"name":value,` for every field of a dword."""

    zero = ""

    def dword(self, layout: Block, index: int, word: int, alive: Sequence[tuple[Field, int]]) -> str:
        return "".join(f'"{f.name}":{_value(f, raw)},' for f, raw in alive if shown(f, raw))

    def relevant(self, f: Field) -> bool:
        return showable(f)

    def source(self, layout: Block, index: int, fields: Sequence[Conditional], scope: dict[str, Any]) -> str | None:
        texts = []
        for f, condition in fields:
            text = self._member(f, scope)
            if text is None:
                return None
            texts.append(f"({text} if {condition} else '')" if condition else text)
        return " + ".join(texts) or "''"

    def _member(self, f: Field, scope: dict[str, Any]) -> str | None:
        """One member as an expression, with its comma; None for floats, which may be infinite."""
        if isinstance(f, Bool):
            return f"""('"{f.name}":true,' if v >> {f.lo} & 1 else '"{f.name}":false,')"""
        if isinstance(f, Mbz):
            raw = raw_source(f)
            return f"""(f'"{f.name}":{{{raw}}},' if {raw} else '')"""
        if isinstance(f, Enum):
            return f"""f'"{f.name}":{{{named_source(f, scope, partial(_value, f))}}},'"""
        value = None if isinstance(f, Float) else number_source(f, scope)
        return None if value is None else f"""f'"{f.name}":{{{value}}},'"""

    def array(self, array: Array, items: Sequence[str]) -> str:
        return f'"{array.name}":[{",".join(f"{{{item[:-1]}}}" for item in items)}],'


def _value(f: Field, raw: int) -> str:
    if isinstance(f, Bool):
        return "true" if raw else "false"
    value = f.decode(raw)
    if isinstance(value, IntEnum):
        return f'"{value.name}"'
    return number(value)


def number(value: float) -> str:
    """A number as JSON; a string for NaN and infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else ('"Infinity"' if value > 0 else '"-Infinity"')
    return repr(value) if isinstance(value, float) else str(value)


@cache
def members_of(layout: Block, gen: Gen) -> Compiled[str]:
    return Compiled(layout, gen, _Members())


class JsonRenderer:
    """Renders a stream of nodes to pieces of one JSON document.  Begin with `begin()`, close with `finish()`."""

    def __init__(self) -> None:
        self._first: list[bool] = []  # for each open array: nothing was written into it yet
        self._is_first = False  # in the innermost one
        self._closing: list[str] = []

    # --- the document --------------------------------------------------------------------------------------------
    def begin(self, trace: TraceStart) -> str:
        head = {"schema": SCHEMA, "file": trace.file, "container": trace.container,
                "device": None if trace.device is None else device_dict(trace.device), "application": trace.application}
        return f'{json.dumps(head)[:-1]}, "items": {self._open("]")}'

    def finish(self, tally: Tally) -> str:
        parts = [self._close() for _ in range(len(self._closing))]
        summary = {"submissions": tally.submissions, "commands": tally.commands, "dwords": tally.dwords,
                   "errors": tally.errors, "lint": tally.lint}
        return f'{"".join(parts)},\n"summary": {json.dumps(summary)}}}\n'

    def render(self, item: Item) -> str:
        if isinstance(item, Command):
            return self.command(item, self._separator() if self._is_first else ",\n")
        if isinstance(item, BatchStart):
            return f'{self._separator()}{{"kind":"batch","address":{item.address},"origin":"{item.origin}",' \
                   f'"commands":{self._open("]")}'
        if isinstance(item, BatchEnd):
            return f'{self._close()},"dwords":{item.dwords},"end":"{item.why}"}}'
        if isinstance(item, SubmissionStart):
            head = {"kind": "submission", "number": item.number, "engine": item.engine,
                    "ring_address": item.ring_address, "ring_bytes": item.ring_bytes, "hung": item.hung,
                    "acthd": item.acthd}
            return f'{self._separator()}{json.dumps(head)[:-1]}, "commands":{self._open("]")}'
        if isinstance(item, SubmissionEnd):
            return f"{self._close()}}}"
        return self._separator() + self._other(item)

    def _other(self, item: Item) -> str:
        if isinstance(item, Diagnostic):
            return diagnostic_text(item, kind=True)
        if isinstance(item, Registers):
            return json.dumps({"kind": "registers", "fields": item.state.fields, "registers": [
                {"name": name, "value": value, "meaning": text} for name, value, text in item.lines],
                "buffers": [{"list": b[0], "address": b[1], "bytes": b[2]} for b in item.state.buffers]})
        if isinstance(item, Note):
            frame = {} if item.frame is None else {"frame": item.frame}
            return json.dumps({"kind": "note", "what": item.kind, "text": item.text, "offset": item.offset, **frame})
        return "null"

    def _open(self, closing: str) -> str:
        self._first.append(True)
        self._is_first = True
        self._closing.append(closing)
        return "["

    def _close(self) -> str:
        self._first.pop()
        self._is_first = bool(self._first) and self._first[-1]
        return self._closing.pop()

    def _separator(self) -> str:
        if self._is_first:
            self._first[-1] = self._is_first = False
            return "\n"
        return ",\n"

    # --- nodes ---------------------------------------------------------------------------------------------------
    def command(self, node: Command, separator: str = "") -> str:
        body = node.body
        text = body.json
        if text is None:
            text = body.json = body_text(body)
        more = self._more(node) if node.children or node.diagnostics else ""
        if node.draw is not None:
            more = f',"draw":{node.draw}{more}'
        if node.repeat > 1:
            more = f',"repeat":{node.repeat}{more}'
        if node.guilty:
            more = f',"guilty":true{more}'
        return f'{separator}{{"kind":"command","address":{node.address},{text}{more}}}'

    def _more(self, node: Node) -> str:
        parts = ""
        children = node.children
        if isinstance(children, Shared):
            if children.json is None:
                children.json = ",".join([self._child(c) for c in children])
            parts = f',"state":[{children.json}]'
        elif children:
            parts = f',"state":[{",".join([self._child(c) for c in children])}]'
        if node.diagnostics:
            parts += f',"diagnostics":[{",".join(diagnostic_text(d) for d in node.diagnostics)}]'
        return parts

    def _child(self, node: Node) -> str:
        head = f'{{"kind":"{node.kind}","address":{node.address},"role":{json.dumps(node.role)}'
        if isinstance(node, State):
            name = f'"name":"{node.body.name}","same":true' if node.same else body_text(node.body)
            return f"{head},{name}{self._more(node)}}}"
        if isinstance(node, Kernel):
            code = node.code
            text = f',"number":{code.number},"bytes":{len(code.code)},"instructions":{code.instructions}'
            if node.first:
                text += f',"code":"{code.code.hex()}","text":{json.dumps(code.lines)}'
            return f"{head}{text}{self._more(node)}}}"
        if isinstance(node, Data):
            return f'{head},"name":{json.dumps(node.name)},"bytes":{node.length},"rows":{_rows(node.values)},' \
                   f'"more":{node.more}{self._more(node)}}}'
        return f"{head}{self._more(node)}}}"


def body_text(body: Body) -> str:
    """Name, dwords and fields, without braces."""
    fields = "" if body.layout is None else members_of(body.layout, body.gen)(body.words)[:-1]
    dwords = ",".join(map(str, body.words))
    return f'"name":"{body.name}","dwords":[{dwords}],"fields":{{{fields}}}'


def diagnostic_text(d: Diagnostic, kind: bool = False) -> str:
    values: dict[str, Any] = {"kind": "diagnostic"} if kind else {}
    values |= {"severity": d.severity.value, "rule": d.rule, "address": d.address, "where": d.where, "text": d.text}
    if d.field:
        values["field"] = d.field
    if d.value is not None:
        values["value"] = d.value
    return json.dumps(values)


def device_dict(device: Device) -> dict[str, object]:
    return {"name": device.name, "marketing": device.marketing, "pci_id": device.pci_id,
            "generation": generation_name(device.gen)}


def _rows(values: Sequence[Any]) -> str:
    try:
        return json.dumps(values, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(values))


def _finite(value: Any) -> Any:
    """The value with strings in place of NaN and infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else json.loads(number(value))
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    return value


def counted(tally: Tally, item: Item) -> None:
    """Count an item and all below it."""
    if isinstance(item, Command):
        tally.commands += item.repeat
        tally.dwords += len(item.body.words) * item.repeat
        tally.kinds[item.body.name] = tally.kinds.get(item.body.name, 0) + item.repeat
        if item.children or item.diagnostics:
            for node in item.walk():
                for d in node.diagnostics:
                    _severity(tally, d)
    elif isinstance(item, Diagnostic):
        _severity(tally, item)
    elif isinstance(item, SubmissionStart):
        tally.submissions += 1


def _severity(tally: Tally, d: Diagnostic) -> None:
    if d.severity is Severity.ERROR:
        tally.errors += 1
    else:
        tally.lint += 1
