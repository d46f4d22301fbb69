"""Parses statements of EU assembly: Mesa's syntax and IGT's, with one grammar.

The two differ in the unit of subregister numbers, the meaning of integers with a float type, implied operand bits, and
the message of a `send`; `Syntax` selects them.  Labels remain names until assembler.py resolves them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from gen4emu.core_enums import MRF_COUNT
from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen, generation_name
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR
from gen4emu.isa.codec import codec_of
from gen4emu.isa.encodings import encoding_of
from gen4emu.isa.fields import Implied
from gen4emu.isa.igt_messages import parse_igt_target
from gen4emu.isa.instruction import (
    SENDS,
    DirectOperand,
    Immediate,
    IndirectOperand,
    Instruction,
    is_float,
    null_compared,
)
from gen4emu.isa.lexer import Kind, Lexer, Syntax, Token, integer
from gen4emu.isa.message_text import SFIDS, sfid_names
from gen4emu.isa.opcodes import Flag, Opcode, OpcodeInfo, Shape, is_opcode_name, opcode_named
from gen4emu.isa.operands import Declared, OperandParser
from gen4emu.isa.registers import (
    EXEC_SIZE_CODES,
    IMM64_TYPES,
    MRF_COMPR4,
    TYPE_BYTES,
    Align16Predicate,
    Arf,
    Compression,
    CondMod,
    ImmType,
    Predicate,
    RegFile,
    ThreadCtrl,
)

_PREDICATES: dict[str, int] = {p.name.lower(): int(p) for e in (Predicate, Align16Predicate) for p in e if p > 1}
_CONDITIONS: dict[str, int] = {c.name.lower(): int(c) for c in CondMod if c} | {"e": CondMod.Z, "ne": CondMod.NZ}

# option and the member of Instruction that it sets
_SWITCHES = {
    "align16": "align16", "nomask": "nomask", "mask_disable": "nomask", "noddclr": "no_dd_clear",
    "noddchk": "no_dd_check", "breakpoint": "breakpoint", "maskctrlex": "mask_control_ex", "compacted": "compacted",
}
_LATER_SWITCHES = {"align16": "align16", "we_all": "nomask", "nomask": "nomask", "mask_disable": "nomask",
                   "noddclr": "no_dd_clear", "noddchk": "no_dd_check", "breakpoint": "breakpoint",
                   "compacted": "compacted"}
_NO_EFFECT = frozenset({"align1", "1q", "1h", "1n"})
_GROUP = re.compile(r"([1-8])n|([1-4])q|([12])h")
_COMPRESSIONS = {"sechalf": Compression.SECHALF, "2q": Compression.SECHALF, "compr": Compression.COMPR,
                 "compr4": Compression.COMPR}
_THREADS = {"atomic": ThreadCtrl.ATOMIC, "switch": ThreadCtrl.SWITCH}

_MODIFIED = (Shape.UNARY, Shape.BINARY, Shape.MATH, Shape.TERNARY)  # destination, sources and modifiers
_FLAGS = ("f0", "f1")

# IGT's execution size if neither the statement nor a pragma gives one
_IGT_NO_EXEC_SIZE = 7


class DataUnit(Enum):
    BYTE = 1
    DWORD = 4


@dataclass(frozen=True, slots=True)
class LabelUse:
    """A branch whose count is still a name."""

    name: str
    pos: int


@dataclass(frozen=True, slots=True)
class Statement:
    pos: int
    label: str | None = None  # a definition
    inst: Instruction | None = None
    uses: tuple[LabelUse | None, ...] = ()  # the labels of a branch; None is a count that inst has
    data: bytes = b""


@dataclass(slots=True)
class _Draft:
    """The members of an instruction that have been read."""

    info: OpcodeInfo
    pos: int
    members: dict[str, Any] = field(default_factory=dict)
    use: LabelUse | None = None
    uses: tuple[LabelUse | None, ...] = ()
    last_dword: int | None = None
    eot: bool = False
    compr4: bool = False
    residue: int = 0


class Parser:
    def __init__(self, text: str, gen: Gen, file: str, syntax: Syntax) -> None:
        self.lex = Lexer(text, file)
        self.gen = gen
        self.syntax = syntax
        self.declared: dict[str, Declared] = {}
        self.default_exec_size: int | None = None
        self.encoding = encoding_of(gen)
        self.operands = OperandParser(self.lex, self.encoding, syntax, self.declared)
        self._is_gen4 = self.encoding.sends_from_mrf  # the language of Gen4 and Gen4.5
        self._switches = _SWITCHES if self._is_gen4 else _LATER_SWITCHES

    def statement(self) -> Statement | None:
        """The next statement; None at the end of the text."""
        lex = self.lex
        while lex.token.is_(";"):
            lex.advance()
        token = lex.token
        if token.kind is Kind.END:
            return None
        if token.is_("."):
            return self._pragma()
        if token.kind is Kind.IDENT and lex.peek().is_(":"):
            lex.advance()
            lex.advance()
            return Statement(token.pos, label=token.text)
        return self._instruction()

    # --- pragmas -------------------------------------------------------------------------------------------------

    def _pragma(self) -> Statement:
        lex = self.lex
        pos = lex.advance().pos
        name = self._ident("the name of a directive")
        word = name.text.lower()
        if word in ("dword", "byte"):
            return Statement(pos, data=self._data(DataUnit[word.upper()]))
        if word == "declare":
            self._declare()
        elif word == "default_execution_size":
            size = self._expect_size(lambda: self.operands.expression())
            self.default_exec_size = size
        elif word == "default_register_type":
            self.operands.default_type = self.operands.register_type()
        elif word in ("reg_count_total", "reg_count_payload"):
            self.operands.expression()
        elif word in ("kernel", "end_kernel", "code", "end_code"):
            lex.skip_line()
        elif word == "syntax":  # read by detect_syntax
            self._ident("mesa or igt")
        else:
            lex.fail(f"unknown directive .{name.text}", name)
        return Statement(pos)

    def _data(self, unit: DataUnit) -> bytes:
        out = bytearray()
        while not self.lex.token.is_(";"):
            token = self.lex.token
            value = integer(self.lex, self.syntax).value
            if value >= 1 << 8 * unit.value:
                self.lex.fail(f"{token.text} does not fit {unit.value} bytes", token)
            out += value.to_bytes(unit.value, "little")
        self.lex.advance()
        return bytes(out)

    def _declare(self) -> None:
        name = self._ident("the name of the register")
        declared = Declared()
        while self.lex.token.kind is Kind.IDENT and self.lex.peek().is_("="):
            key = self.lex.advance()
            self.lex.advance()
            self.operands.declaration(declared, key)
        if declared.base is None:
            self.lex.fail(f".declare {name.text} has no Base", name)
        self.declared[name.text] = declared

    # --- instructions --------------------------------------------------------------------------------------------

    def _instruction(self) -> Statement:
        lex = self.lex
        pos = lex.token.pos
        predicate = self._predicate() if lex.token.is_("(") else None
        name = self._ident("an opcode")
        word = name.text.lower()
        info = opcode_named(word, self.gen)
        if info is None and is_opcode_name(word):
            lex.fail(f"{word} does not exist on {generation_name(self.gen)}", name)
        if info is None:
            lex.fail(f"unknown opcode {name.text}", name)
        draft = _Draft(info, pos)
        if predicate is not None:
            if info.shape is Shape.NONE:
                lex.fail(f"{info.name} takes no predicate", pos)
            draft.members.update(predicate)
        self._modifiers(draft)
        self._exec_size(draft)
        self._operand_list(draft)
        if lex.token.is_("{"):
            self._options(draft)
        if not lex.token.is_(";"):
            lex.fail(f"expected ';', not {lex.token.shown()}")
        lex.advance()
        return self._finish(draft)

    def _predicate(self) -> dict[str, Any]:
        lex = self.lex
        lex.advance()
        inverse = lex.token.is_("-")
        if inverse or lex.token.is_("+"):
            lex.advance()
        members: dict[str, Any] = {"predicate_inverse": inverse, "predicate": int(Predicate.NORMAL), **self._flag()}
        if lex.token.is_("."):
            lex.advance()
            name = self._ident("a predicate control")
            code = _PREDICATES.get(name.text.lower())
            if code is None:
                lex.fail(f"unknown predicate control .{name.text}", name)
            members["predicate"] = code
        self.lex.punct(")")
        return members

    def _flag(self) -> dict[str, int]:
        """f0, f0.0 or f0.1: the members for a flag subregister."""
        name = self._ident("a flag register")
        known = _FLAGS[:self.encoding.flag_registers]
        word = name.text.lower()
        if word not in known:
            there = "there is only f0" if len(known) == 1 else "f0 or f1"
            self.lex.fail(f"{name.text} is not a flag register: {there}", name)
        members = {"flag_reg": known.index(word)} if len(known) > 1 else {}
        # `f0.1` and `f0.any4h` both continue with a dot
        if not (self.lex.token.is_(".") and self.lex.peek().kind is Kind.NUMBER):
            return {**members, "flag_subreg": 0}
        self.lex.advance()
        token = self.lex.token
        sub = integer(self.lex, self.syntax).value
        if sub > 1:
            self.lex.fail(f"flag subregister {sub} is out of range: {word}.0 or {word}.1", token)
        return {**members, "flag_subreg": sub}

    def _modifiers(self, draft: _Draft) -> None:
        lex = self.lex
        shape = draft.info.shape
        while lex.token.is_("."):
            lex.advance()
            name = self._ident("a modifier")
            word = name.text.lower()
            if shape not in (*_MODIFIED, Shape.BRANCH_COMPARE):
                lex.fail(f"{draft.info.name} takes no modifier .{name.text}", name)
            if word == "sat" and shape is not Shape.BRANCH_COMPARE:
                draft.members["saturate"] = True
            elif word in _CONDITIONS and shape is not Shape.MATH:
                draft.members["cond_modifier"] = int(_CONDITIONS[word])
                if lex.token.is_(".") and lex.peek().text.lower() in _FLAGS:
                    lex.advance()
                    flag = self._flag()
                    if draft.members.get("predicate") and any(flag[f] != draft.members[f] for f in flag):
                        lex.fail("predicate and condition use different flag subregisters", name)
                    draft.members |= flag
            else:
                lex.fail(f"unknown modifier .{name.text}", name)
        if shape is Shape.MATH:
            name = self._ident("a math function")
            functions = {known: code for code, known in self.encoding.math_functions.items()}
            function = functions.get(name.text.lower())
            if function is None:
                lex.fail(f"unknown math function {name.text[:40]} (known: {', '.join(functions)})", name)
            draft.members["math_function"] = function

    def _exec_size(self, draft: _Draft) -> None:
        lex = self.lex
        if lex.token.is_("(") and lex.peek().kind is Kind.NUMBER:
            lex.advance()
            draft.members["exec_size"] = self._expect_size(lambda: integer(lex, self.syntax).value)
            self.lex.punct(")")
        elif self.default_exec_size is not None:
            draft.members["exec_size"] = self.default_exec_size
        elif self.syntax is Syntax.IGT and draft.info.shape in (Shape.UNARY, Shape.BINARY):
            draft.members["exec_size"] = _IGT_NO_EXEC_SIZE

    def _expect_size(self, read: Any) -> int:
        token = self.lex.token
        size: int = read()
        code = EXEC_SIZE_CODES.get(size)
        if code is None:
            self.lex.fail(f"execution size {size}: must be 1, 2, 4, 8, 16 or 32", token)
        return code

    def _operand_list(self, draft: _Draft) -> None:
        shape = draft.info.shape
        read = self.operands
        # the access mode follows the operands but selects their meaning: operands keep both until then
        if shape in _MODIFIED:
            draft.members["dst"] = read.destination()
            for i in range(draft.info.sources):
                draft.members[f"src{i}"] = read.source()
        elif shape is Shape.SEND:
            self._send(draft)
        elif shape is Shape.SPLIT_SEND:
            self._split_send(draft)
        elif shape is Shape.WAIT_DESTINATION:
            draft.members["dst"] = read.destination()
        elif shape in (Shape.BRANCH_JIP, Shape.BRANCH_JIP_UIP, Shape.BRANCH_COMPARE):
            self._jip_branch(draft)
        elif shape is Shape.WAIT:
            draft.members["src0"] = read.source()
        elif shape is Shape.JUMP:
            self._jump_index(draft)
        elif shape is Shape.BRANCH:
            self._branch(draft)

    def _jump_index(self, draft: _Draft) -> None:
        lex = self.lex
        if lex.token.kind is Kind.IDENT and lex.token.text.lower() == "jump" and lex.peek().is_(":"):
            lex.advance()
            lex.advance()
        token = lex.token
        if token.kind is Kind.IDENT and not self.operands.is_register(token) and token.text not in self.declared:
            lex.advance()
            kind = ImmType.D
            if lex.token.is_(":"):
                lex.advance()
                kind = self.operands.immediate_type()
                if kind not in (ImmType.D, ImmType.UD):
                    lex.fail(f"the distance to a label is D or UD, not {kind.name}", token)
            draft.use = LabelUse(token.text, token.pos)
            draft.members["src1"] = Immediate(kind, 0)
        else:
            draft.members["src1"] = self.operands.source()

    def _branch(self, draft: _Draft) -> None:
        info, igt = draft.info, self.syntax is Syntax.IGT
        pop = 1 if igt and info.number in (Opcode.ELSE, Opcode.ENDIF) else 0
        if info.number != Opcode.ENDIF:
            token = self._field("jump", "jip")
            if token.kind is Kind.IDENT:
                self.lex.advance()
                draft.use = LabelUse(token.text, token.pos)
            else:
                jump = self._signed()
                if igt and jump > 0x7FFF and jump >> 20 == 0:  # jump and pop count in one number, as in the word
                    jump, pop = (jump & 0xFFFF ^ 0x8000) - 0x8000, jump >> 16
                if not -0x8000 <= jump <= 0x7FFF:
                    self.lex.fail(f"jump count {jump} does not fit 16 bits", token)
                draft.members["jump"] = jump
        if self._has_field("pop", "uip") or self.lex.token.kind is Kind.NUMBER:
            token = self._field("pop", "uip")
            pop = self._signed()
            if not 0 <= pop <= 15:
                self.lex.fail(f"pop count {pop} does not fit 4 bits", token)
        draft.members["pop"] = pop

    def _jip_branch(self, draft: _Draft) -> None:
        """`JIP: label`, and `UIP: label` where the opcode has two targets."""
        lex, shape = self.lex, draft.info.shape
        uses: list[LabelUse | None] = []
        for member in ("jip", "uip") if shape is Shape.BRANCH_JIP_UIP else ("jip",):
            token = self._field(member, "jump") if member == "jip" else self._field(member)
            if token.kind is Kind.IDENT:
                lex.advance()
                uses.append(LabelUse(token.text, token.pos))
            else:
                uses.append(None)
                draft.members[member] = self._signed()
                f = codec_of(self.gen).jump_field(shape, member)
                if not -(f.mask + 1 >> 1) <= draft.members[member] <= f.mask >> 1:
                    lex.fail(f"{member.upper()} {draft.members[member]} does not fit {f.width} bits", token)
        draft.uses = tuple(uses)
        if shape is Shape.BRANCH_COMPARE and not lex.token.is_("{") and not lex.token.is_(";"):
            draft.members["src0"] = self.operands.source()
            draft.members["src1"] = self.operands.source()

    def _has_field(self, *names: str) -> bool:
        token = self.lex.token
        return token.kind is Kind.IDENT and token.text.lower() in names and self.lex.peek().is_(":")

    def _field(self, *names: str) -> Token:
        """Skip an optional `Jump:` or `Pop:`, and return the token of the value."""
        if self._has_field(*names):
            self.lex.advance()
            self.lex.advance()
        return self.lex.token

    def _signed(self) -> int:
        negative = self.lex.token.is_("-")
        if negative:
            self.lex.advance()
        value = integer(self.lex, self.syntax).value
        return -value if negative else value

    def _send(self, draft: _Draft) -> None:
        """`send(n) mrf dst src0 desc sfid ...` (both), `send(n) dst [mreg] src0 desc` (IGT's other forms)."""
        lex, members = self.lex, draft.members
        if not self._is_gen4:
            self._later_send(draft)
            return
        if lex.token.kind is Kind.NUMBER or lex.token.is_("("):
            token = lex.token
            members["base_mrf"] = self.operands.expression()
            if not 0 <= members["base_mrf"] < MRF_COUNT:
                lex.fail(f"message register {members['base_mrf']} is out of range: m0 to m15", token)
            members["dst"] = self.operands.destination()
            members["src0"] = self.operands.source()
        else:
            members["dst"] = self.operands.destination()
            token = lex.token
            first = self.operands.source()
            if isinstance(first, DirectOperand) and first.file is RegFile.MRF:
                members["base_mrf"] = first.nr
                first = self.operands.source()
            members["src0"] = first
        if isinstance(members["src0"], Immediate):
            lex.fail("the payload of send is a register", token)
        token = lex.token
        if token.kind is Kind.NUMBER or (token.is_("-") and lex.peek().kind is Kind.NUMBER):
            members["src1"] = self._descriptor(token)
        elif token.kind is Kind.IDENT and token.text.lower() in SFIDS and not self._null_operand():
            kind = ImmType.D if self.syntax is Syntax.IGT else ImmType.UD
            members["src1"] = Immediate(kind, parse_igt_target(lex, self.gen, self.syntax))
        else:
            members["src1"] = self.operands.source()
            if isinstance(members["src1"], Immediate):
                lex.fail("the descriptor of send is a number, a message or a register", token)

    def _later_send(self, draft: _Draft) -> None:
        """`send(n) dst payload 0x02410001 sampler ...`, or `... a0<0,1,0>UD 0x00000200 sampler ...` since Gen6."""
        lex, members = self.lex, draft.members
        members["dst"] = self.operands.destination()
        members["src0"] = self.operands.source()
        if isinstance(members["src0"], Immediate):
            lex.fail("the payload of send is a register", draft.pos)
        token = lex.token
        if token.kind is Kind.NUMBER or (token.is_("-") and lex.peek().kind is Kind.NUMBER):
            value = self.operands.number_operand(ImmType.UD)
            if value.type not in (ImmType.UD, ImmType.D):
                lex.fail(f"a descriptor is UD or D, not {value.type.name}", token)
            members["end_of_thread"] = bool(value.bits >> 31)
            members["src1"] = Immediate(value.type, value.bits & 0x7FFFFFFF)
        else:
            members["src1"] = self.operands.source()
            if lex.token.kind is Kind.NUMBER:  # Mesa writes the dword that holds the register
                draft.last_dword = integer(lex, Syntax.MESA).value
        self._shared_function(draft)

    def _split_send(self, draft: _Draft) -> None:
        """`sends(n) g1UD g2UD g3UD 0x04035001 0x00000100 dp data 1 ...`; descriptors may be a0<0>UD and a0.2<0>UD."""
        lex, members = self.lex, draft.members
        members["dst"] = self.operands.whole_registers()
        for name in ("src0", "src1"):
            token = lex.token
            members[name] = self.operands.whole_registers()
            if name == "src0" and members[name].file is not RegFile.GRF:
                lex.fail("the first payload of a split send is in g registers", token)
            if name == "src1" and (isinstance(members[name], IndirectOperand) or members[name].subnr):
                lex.fail("the second payload of a split send is a whole register", token)
        for name in ("desc", "ex_desc"):
            token = lex.token
            if token.kind is Kind.NUMBER:
                value = integer(lex, Syntax.MESA).value
                if value >> 32 or (name == "ex_desc" and value & 0xFC3F):
                    lex.fail(f"0x{value:x} is not {'an extended' if name == 'ex_desc' else 'a'} descriptor", token)
                if name == "desc":
                    members["end_of_thread"] = bool(value >> 31)
                    value &= 0x7FFFFFFF
                members[name] = Immediate(ImmType.UD, value)
            else:
                members[name] = self.operands.address_register()
                if name == "desc" and members[name].subnr:
                    lex.fail("a descriptor in a register is in a0.0", token)
        self._shared_function(draft)

    def _shared_function(self, draft: _Draft) -> None:
        """The name of the shared function, and words after MsgDesc that are only for people."""
        lex = self.lex
        token = lex.token
        words = ""
        while lex.token.kind in (Kind.IDENT, Kind.NUMBER) and lex.token.text.lower() != "msgdesc":
            words += f" {lex.advance().text.lower()}"
        names = {name: sfid for sfid, name in sfid_names(self.gen).items()} | {f"sfid{i}": i for i in range(16)}
        sfid = names.get(words.strip())
        if sfid is None:
            lex.fail(f"expected a shared function, not {words.strip()[:40]!r} (known: "
                     f"{', '.join(n for n in names if 'sfid' not in n)})", token)
        draft.members["sfid"] = sfid
        if lex.token.text.lower() == "msgdesc" and lex.peek().is_(":"):
            lex.skip_to("{")

    def _null_operand(self) -> bool:
        return self.lex.token.text.lower() == "null" and self.lex.peek().text.lower() != "mlen"

    def _descriptor(self, token: Token) -> Immediate:
        lex = self.lex
        value = self.operands.number_operand(ImmType.UD)
        if value.type not in (ImmType.UD, ImmType.D):
            lex.fail(f"a descriptor is UD or D, not {value.type.name}", token)
        bits = value.bits
        name = lex.token
        if name.kind is Kind.IDENT and name.text.lower() in SFIDS:
            lex.advance()
            sfid = SFIDS[name.text.lower()]
            named = bits >> 24 & 15
            if named not in (0, sfid):
                lex.fail(f"the descriptor 0x{bits:08x} is not for {name.text}", name)
            bits |= MESSAGE_DESCRIPTOR.pack(self.gen, shared_function=sfid)[0]
        if lex.token.kind is Kind.IDENT and lex.token.text.lower() == "msgdesc" and lex.peek().is_(":"):
            lex.skip_to("{")
        return Immediate(value.type, bits)

    # --- options -------------------------------------------------------------------------------------------------

    def _options(self, draft: _Draft) -> None:
        lex = self.lex
        lex.advance()
        while not lex.token.is_("}"):
            if lex.token.is_(","):
                lex.advance()
                continue
            token = lex.advance()
            word = token.text.lower()
            if token.kind is Kind.NUMBER and lex.token.kind is Kind.IDENT and lex.token.pos == token.pos + len(word):
                word += lex.advance().text.lower()
            if word in self._switches:
                draft.members[self._switches[word]] = True
            elif not self._is_gen4 and (group := _GROUP.fullmatch(word)):
                self._channel_group(draft, token, group)
            elif not self._is_gen4 and word in ("accwrenable", "branchctrl"):
                if (word == "branchctrl") != bool(draft.info.flags & Flag.BRANCH_CONTROL):
                    lex.fail(f"{draft.info.name} has no {token.text}", token)
                draft.members["acc_write"] = True
            elif self._is_gen4 and word in _COMPRESSIONS:
                draft.members["compression"] = Compression(
                    draft.members.get("compression", Compression.NONE) | _COMPRESSIONS[word])
                draft.compr4 = draft.compr4 or word == "compr4"
            elif word in _THREADS:
                draft.members["thread_control"] = draft.members.get("thread_control", 0) | _THREADS[word]
            elif word == "eot":
                draft.eot = True
            elif word == "igt":
                draft.members["implied"] = Implied.IGT
            elif word in ("dw0", "dw1", "dw2", "dw3") and lex.token.is_("^"):
                lex.advance()
                value = integer(lex, Syntax.MESA).value
                if value >> 32:
                    lex.fail("a dword has 32 bits", token)
                draft.residue ^= value << 32 * int(word[2])
            elif word not in _NO_EFFECT:
                lex.fail(f"unknown option {token.shown()}", token)
        lex.advance()

    def _channel_group(self, draft: _Draft, token: Token, group: re.Match[str]) -> None:
        nibble, quarter, half = (int(text) - 1 if text else None for text in group.groups())
        if nibble is not None:
            if nibble & 1 and "nibble_control" not in self.encoding.by_name:
                self.lex.fail(f"{token.text}{'' if len(token.text) > 1 else 'N'}: {self.encoding.name} has no odd "
                              "nibbles", token)
            draft.members["quarter"], draft.members["nibble"] = nibble >> 1, nibble & 1
        else:
            draft.members["quarter"] = quarter if quarter is not None else 2 * (half or 0)

    # --- putting it together -------------------------------------------------------------------------------------

    def _finish(self, draft: _Draft) -> Statement:
        lex, info, members = self.lex, draft.info, draft.members
        align16 = bool(members.get("align16"))
        for name in ("dst", "src0", "src1", "src2") if info.shape is not Shape.SPLIT_SEND else ():
            if name in members:
                resolve = self.operands.resolve_ternary if info.shape is Shape.TERNARY else self.operands.resolve
                members[name] = resolve(members[name], align16)
        dst, src0, src1 = (members.get(n) for n in ("dst", "src0", "src1"))
        if info.shape in (Shape.BINARY, Shape.MATH) and isinstance(src0, Immediate):
            lex.fail(f"{info.name}: only the last source may be an immediate", draft.pos)
        if isinstance(src0, Immediate) and src0.bits >> 32 and src0.type is ImmType.F and not (
                info.flags & Flag.IMMEDIATE64):
            lex.fail(f"0x{src0.bits:x} does not fit 32 bits", draft.pos)
        if isinstance(src1, Immediate) and src1.type in IMM64_TYPES | {ImmType.F} and src1.bits >> 32:
            lex.fail("only the source of an instruction with one may have 64 bits", draft.pos)
        if info.shape is Shape.BRANCH_COMPARE and src0 is None:
            members["src0"] = members["src1"] = null_compared(align16)
        if info.flags & Flag.FLOAT and not all(s is None or is_float(s) for s in (src0, src1, members.get("src2"))):
            lex.fail(f"{info.name} takes float sources only", draft.pos)
        notified = src0 if info.shape is Shape.WAIT else dst
        if info.shape in (Shape.WAIT, Shape.WAIT_DESTINATION) and not (
                isinstance(notified, DirectOperand) and notified.file is RegFile.ARF and notified.nr >> 4 == Arf.N):
            lex.fail("wait takes a notification register, n0 or n1", draft.pos)
        if info.shape is Shape.NONE and (set(members) - {"compacted"} or draft.residue):
            lex.fail(f"{info.name} takes no options but compacted", draft.pos)
        if draft.eot and not self._is_gen4:
            if info.shape not in SENDS:
                lex.fail("EOT needs a send", draft.pos)
            members["end_of_thread"] = True
        elif draft.eot:
            if info.shape is not Shape.SEND or not isinstance(src1, Immediate):
                lex.fail("EOT needs a send with an immediate descriptor", draft.pos)
            members["src1"] = Immediate(src1.type, src1.bits | MESSAGE_DESCRIPTOR.pack(self.gen, end_of_thread=True)[0])
        if draft.compr4:
            if not isinstance(dst, DirectOperand) or dst.file is not RegFile.MRF:
                lex.fail("compr4 needs a message register as destination", draft.pos)
            members["dst"] = DirectOperand(dst.file, dst.type, dst.nr | MRF_COMPR4, dst.subnr, dst.region)
        if self.syntax is Syntax.IGT:
            self._igt_habits(draft)
        inst = Instruction(int(info.number), self.gen, residue=draft.residue, **members)
        if "flag_subreg" not in members and inst.unused_flag_subreg:
            inst = replace(inst, flag_subreg=inst.unused_flag_subreg)
        if draft.last_dword is not None:
            inst = self._with_last_dword(inst, draft.last_dword, draft.pos)
        return Statement(draft.pos, inst=inst, uses=draft.uses if draft.use is None else (draft.use,))

    def _with_last_dword(self, inst: Instruction, dword: int, pos: int) -> Instruction:
        """The instruction with these bits in its last dword."""
        if dword >> 32:
            self.lex.fail("a dword has 32 bits", pos)
        inst = replace(inst, end_of_thread=bool(dword >> 31))
        try:
            word = codec_of(self.gen).pack(inst) ^ inst.residue
        except FieldError as e:
            self.lex.fail(str(e), pos)
        return replace(inst, residue=inst.residue ^ (word >> 96 ^ dword) << 96)

    def _igt_habits(self, draft: _Draft) -> None:
        """Conventions of IGT's assembler: its implied operands, and compression for results of two registers."""
        members = draft.members
        shape = draft.info.shape
        # the region of ip in IGT's tests, where jmpi has a number; kernels have another one
        jumps_by_number = shape is Shape.JUMP and draft.use is None and isinstance(members["src1"], Immediate)
        if shape in (Shape.BRANCH, Shape.BARE, Shape.WAIT, Shape.UNARY) or jumps_by_number:
            members["implied"] = Implied.IGT
        dst = members.get("dst")
        if shape in (Shape.UNARY, Shape.BINARY) and isinstance(dst, DirectOperand | IndirectOperand):
            size = members.get("exec_size", 0)
            if TYPE_BYTES[dst.type] << size == 64:
                members["compression"] = Compression.COMPR

    # --- tokens --------------------------------------------------------------------------------------------------

    def _ident(self, what: str) -> Token:
        if self.lex.token.kind is not Kind.IDENT:
            self.lex.fail(f"expected {what}, not {self.lex.token.shown()}")
        return self.lex.advance()
