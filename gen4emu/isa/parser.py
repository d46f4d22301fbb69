"""Parses statements of EU assembly: Mesa's syntax and IGT's, with one grammar.

The two differ in the unit of subregister numbers, the meaning of integers with a float type, implied operand bits, and
the message of a `send`; `Syntax` selects them.  Labels remain names until assembler.py resolves them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from gen4emu.hw.gen import Gen, family_name
from gen4emu.hw.gen4.messages import MESSAGE_DESCRIPTOR
from gen4emu.isa.encodings import encoding_of
from gen4emu.isa.fields import Implied
from gen4emu.isa.igt_messages import parse_igt_target
from gen4emu.isa.instruction import (
    DirectOperand,
    Immediate,
    IndirectOperand,
    Instruction,
    is_float,
)
from gen4emu.isa.lexer import Kind, Lexer, Syntax, Token, integer
from gen4emu.isa.message_text import SFIDS
from gen4emu.isa.opcodes import Flag, Opcode, OpcodeInfo, Shape, is_opcode_name, opcode_named
from gen4emu.isa.operands import Declared, OperandParser
from gen4emu.isa.registers import (
    EXEC_SIZE_CODES,
    MRF_COMPR4,
    MRF_COUNT,
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
_NO_EFFECT = frozenset({"align1", "1q", "1h", "1n"})
_COMPRESSIONS = {"sechalf": Compression.SECHALF, "2q": Compression.SECHALF, "compr": Compression.COMPR,
                 "compr4": Compression.COMPR}
_THREADS = {"atomic": ThreadCtrl.ATOMIC, "switch": ThreadCtrl.SWITCH}

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
    use: LabelUse | None = None
    data: bytes = b""


@dataclass(slots=True)
class _Draft:
    """The members of an instruction that have been read."""

    info: OpcodeInfo
    pos: int
    members: dict[str, Any] = field(default_factory=dict)
    use: LabelUse | None = None
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
        self.operands = OperandParser(self.lex, encoding_of(gen), syntax, self.declared)

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
            lex.fail(f"{word} does not exist on {family_name(self.gen)}", name)
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
        members: dict[str, Any] = {"predicate_inverse": inverse, "predicate": int(Predicate.NORMAL),
                                   "flag_subreg": self._flag()}
        if lex.token.is_("."):
            lex.advance()
            name = self._ident("a predicate control")
            code = _PREDICATES.get(name.text.lower())
            if code is None:
                lex.fail(f"unknown predicate control .{name.text}", name)
            members["predicate"] = code
        self.lex.punct(")")
        return members

    def _flag(self) -> int:
        """f0, f0.0 or f0.1: the number of the flag subregister."""
        name = self._ident("a flag register")
        if name.text.lower() != "f0":
            self.lex.fail(f"{name.text} is not a flag register: there is only f0", name)
        # `f0.1` and `f0.any4h` both continue with a dot
        if not (self.lex.token.is_(".") and self.lex.peek().kind is Kind.NUMBER):
            return 0
        self.lex.advance()
        token = self.lex.token
        sub = integer(self.lex, self.syntax).value
        if sub > 1:
            self.lex.fail(f"flag subregister {sub} is out of range: f0.0 or f0.1", token)
        return sub

    def _modifiers(self, draft: _Draft) -> None:
        lex = self.lex
        while lex.token.is_("."):
            lex.advance()
            name = self._ident("a modifier")
            word = name.text.lower()
            if draft.info.shape not in (Shape.UNARY, Shape.BINARY):
                lex.fail(f"{draft.info.name} takes no modifier .{name.text}", name)
            if word == "sat":
                draft.members["saturate"] = True
            elif word in _CONDITIONS:
                draft.members["cond_modifier"] = int(_CONDITIONS[word])
                if lex.token.is_(".") and lex.peek().text.lower() == "f0":
                    lex.advance()
                    flag = self._flag()
                    if draft.members.get("predicate") and flag != draft.members["flag_subreg"]:
                        lex.fail("predicate and condition use different flag subregisters", name)
                    draft.members["flag_subreg"] = flag
            else:
                lex.fail(f"unknown modifier .{name.text}", name)

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
        if shape in (Shape.UNARY, Shape.BINARY):
            draft.members["dst"] = read.destination()
            draft.members["src0"] = read.source()
            if shape is Shape.BINARY:
                draft.members["src1"] = read.source()
        elif shape is Shape.SEND:
            self._send(draft)
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
            if word in _SWITCHES:
                draft.members[_SWITCHES[word]] = True
            elif word in _COMPRESSIONS:
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

    # --- putting it together -------------------------------------------------------------------------------------

    def _finish(self, draft: _Draft) -> Statement:
        lex, info, members = self.lex, draft.info, draft.members
        align16 = bool(members.get("align16"))
        for name in ("dst", "src0", "src1"):
            if name in members:
                members[name] = self.operands.resolve(members[name], align16)
        dst, src0, src1 = (members.get(n) for n in ("dst", "src0", "src1"))
        if info.shape is Shape.BINARY and isinstance(src0, Immediate):
            lex.fail(f"{info.name}: only the last source may be an immediate", draft.pos)
        if info.flags & Flag.FLOAT and not all(s is None or is_float(s) for s in (src0, src1)):
            lex.fail(f"{info.name} takes float sources only", draft.pos)
        if info.shape is Shape.WAIT and not (isinstance(src0, DirectOperand) and src0.file is RegFile.ARF
                                             and src0.nr >> 4 == Arf.N):
            lex.fail("wait takes a notification register, n0 or n1", draft.pos)
        if info.shape is Shape.NONE and (set(members) - {"compacted"} or draft.residue):
            lex.fail(f"{info.name} takes no options but compacted", draft.pos)
        if draft.eot:
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
        return Statement(draft.pos, inst=inst, use=draft.use)

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
