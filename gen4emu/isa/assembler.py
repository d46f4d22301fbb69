"""The assembler: text to bytes, with labels and errors that name file, line and column.

Reads the syntax of Mesa's and of IGT's assembler, as chosen by `syntax` or detected.  One pass reads the text, a second
one resolves branches; time and memory are linear in the length of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen
from gen4emu.isa.codec import codec_of, encode_bytes
from gen4emu.isa.instruction import Immediate, Instruction
from gen4emu.isa.lexer import Syntax, without_comments
from gen4emu.isa.opcodes import Flag, Shape
from gen4emu.isa.parser import LabelUse, Parser, Statement

MAX_CODE_BYTES = 64 << 20
Labels = dict[str, list[int]]
_SAMPLE = 1 << 18  # bytes of text that detection reads


def assemble(text: str, gen: Gen, file: str = "<string>", *, syntax: Syntax | None = None) -> bytes:
    """Assemble a text for one device.  Raises AssemblyError."""
    parser = Parser(text, gen, file, syntax or detect_syntax(text))
    code = bytearray()
    labels: Labels = {}
    branches: list[tuple[int, Statement]] = []
    while (statement := parser.statement()) is not None:
        if statement.label is not None:
            places = labels.setdefault(statement.label, [])
            if places and parser.syntax is Syntax.MESA:
                parser.lex.fail(f"label {statement.label[:40]} is defined twice", statement.pos)
            places.append(len(code))
        elif statement.inst is not None:
            if any(statement.uses):  # written below, when the addresses of all labels are known
                branches.append((len(code), statement))
                code += bytes(statement.inst.size)
            else:
                code += _encoded(parser, statement, statement.inst)
        code += statement.data
        if len(code) > MAX_CODE_BYTES:
            parser.lex.fail("program too large", statement.pos)
    for offset, statement in branches:
        assert statement.inst is not None
        inst = _linked(parser, statement.inst, statement.uses, offset, labels)
        code[offset:offset + inst.size] = _encoded(parser, statement, inst)
    return bytes(code)


def detect_syntax(text: str) -> Syntax:
    """The syntax of a text: by a `.syntax` directive, else by words that only one of the two has, else by the way most
    statements write their execution size (`mov(8)` or `mov (8)`)."""
    sample = text[:_SAMPLE]
    chosen = _DIRECTIVE.search(sample)
    if chosen:
        return Syntax(chosen[1].lower())
    sample = without_comments(sample)
    if _ONLY_MESA.search(sample):
        return Syntax.MESA
    if _ONLY_IGT.search(sample):
        return Syntax.IGT
    glued, apart = len(_GLUED.findall(sample)), len(_APART.findall(sample))
    return Syntax.IGT if apart > glued else Syntax.MESA


_DIRECTIVE = re.compile(r"^[ \t]*\.syntax[ \t]+(mesa|igt)\b", re.MULTILINE | re.IGNORECASE)
_ONLY_MESA = re.compile(r"\bMsgDesc:|\b(?:Jump|Pop|JIP|UIP):|\bcompacted\b|\bcompr4\b|\bdw[0-3]\^")
_ONLY_IGT = re.compile(
    r"^[ \t]*\.(?:declare|kernel|code|default_execution_size|default_register_type|reg_count_\w+)\b"
    r"|\bmask_disable\b|\b[mr]len[ \t]+[0-9]|\b(?:endif|do)\s*;", re.MULTILINE)
_STATEMENT = r"(?:^|;)[ \t]*(?:\([^()\n]{0,32}\)[ \t]*)?[a-z][a-z0-9]{1,5}(?:\.[a-z0-9]{1,4}){0,4}"
_GLUED = re.compile(_STATEMENT + r"\([0-9]", re.MULTILINE)
_APART = re.compile(_STATEMENT + r"[ \t]+(?:\([0-9]|[^\s(:])", re.MULTILINE)


def _linked(parser: Parser, inst: Instruction, uses: Sequence[LabelUse | None], offset: int,
            labels: Labels) -> Instruction:
    """The branch with its jump counts, in the units of the device from itself or from the next instruction."""
    info = inst.info
    assert info is not None
    encoding = parser.encoding
    members = {Shape.BRANCH: ("jump",), Shape.JUMP: ("src1",)}.get(info.shape, ("jip", "uip"))
    for member, use in zip(members, uses, strict=False):
        if use is None:
            continue
        base = encoding.compacted_jump_size if inst.compacted else 16
        distance = _distance(parser, use, offset, labels)
        unit = encoding.jmpi_unit if info.shape is Shape.JUMP else encoding.jump_unit
        count, rest = divmod(distance - (base if info.flags & Flag.JUMP_NEXT else 0), unit)
        if rest:
            parser.lex.fail(f"label {use.name[:40]} is {distance} bytes away, not a multiple of {unit}", use.pos)
        if isinstance(inst.src1, Immediate) and member == "src1":
            inst = replace(inst, src1=Immediate(inst.src1.type, count & 0xFFFFFFFF))
            continue
        f = codec_of(parser.gen).jump_field(info.shape, member)
        if not -(f.mask + 1 >> 1) <= count <= f.mask >> 1:
            parser.lex.fail(f"label {use.name[:40]} is too far away", use.pos)
        change: dict[str, Any] = {member: count}
        inst = replace(inst, **change)
    return inst


def _distance(parser: Parser, use: LabelUse, offset: int, labels: Labels) -> int:
    places = labels.get(use.name)
    if places is None:
        parser.lex.fail(f"unknown label {use.name[:40]}", use.pos)
    # IGT's kernels define a name several times: the next definition counts, else the first
    following = bisect_left(places, offset)
    return places[following if following < len(places) else 0] - offset


def _encoded(parser: Parser, statement: Statement, inst: Instruction) -> bytes:
    try:
        return encode_bytes(inst)
    except FieldError as e:
        parser.lex.fail(str(e), statement.pos)
