"""Operands of EU assembly: registers, regions, immediates, IGT's declared registers and expressions.

The access mode of an instruction follows its operands, so a register is read into a `Draft`, which
`OperandParser.resolve` turns into an operand.  Numbers are checked here, where their column is known.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace

from gen4emu.core_enums import GRF_COUNT
from gen4emu.isa.fields import Encoding
from gen4emu.isa.instruction import (
    Align1Region,
    Align16Region,
    DestRegion,
    DirectOperand,
    Immediate,
    IndirectOperand,
    MessageRegion,
    Operand,
    Region,
    RegisterOperand,
    TernaryRegion,
)
from gen4emu.isa.lexer import Kind, Lexer, Number, Syntax, Token, integer
from gen4emu.isa.registers import (
    CHANNELS,
    HSTRIDE_CODES,
    IMM64_TYPES,
    REGISTER_BYTES,
    SWIZZLE_XYZW,
    TYPE_BYTES,
    VSTRIDE_CODES,
    VSTRIDE_INDEXED,
    WIDTH_CODES,
    WRITEMASK_XYZW,
    Arf,
    ImmType,
    RegFile,
    RegType,
)

_REG_TYPE_NAMES = "|".join(t.name for t in RegType if t is not RegType.RESERVED)
# lower-case letters are channels, capitals a type (.W is an empty write mask of words); IGT ignores case
_CHANNELS_AND_TYPE = re.compile(rf"([xyzw]*)({_REG_TYPE_NAMES})?")
_ANY_CASE = re.compile(_CHANNELS_AND_TYPE.pattern, re.IGNORECASE)
_REGISTER = re.compile(r"([a-z]+)([0-9]{0,9})")

_ARF_PREFIXES = {a.name.lower(): a for a in Arf if a not in (Arf.NULL, Arf.IP)} | {"ce": Arf.MASK}
# IGT's names for parts of registers: register, byte offset
_ALIASES = {"amask": (Arf.MASK, 0), "imask": (Arf.MASK, 2), "lmask": (Arf.MASK, 4), "cmask": (Arf.MASK, 6),
            "ims": (Arf.MS, 0), "lms": (Arf.MS, 16), "imsd": (Arf.MSD, 0), "lmsd": (Arf.MSD, 2)}
_WHOLE_REGISTER = re.compile(r"(?:([gr])([0-9]{1,9})|null)UD")
_MAX_NESTING = 32


@dataclass(slots=True)
class Draft:
    """A register operand as written, before the access mode is known."""

    token: Token
    destination: bool
    file: RegFile = RegFile.ARF
    nr: int = 0
    sub: int = 0  # as written
    sub_bytes: int | None = None  # for names of a part of a register
    indirect: bool = False
    addr_imm: int = 0
    type: RegType = RegType.F
    region: tuple[int | None, ...] = ()  # strides as written; None is VxH
    channels: str | None = None
    negate: bool = False
    abs: bool = False


@dataclass(slots=True)
class Declared:
    """A register named by `.declare`."""

    base: Draft | None = None
    element_size: int = 1
    src_region: tuple[int | None, ...] = (0, 1, 0)
    dst_region: tuple[int | None, ...] = (1,)
    type: RegType = RegType.F


class OperandParser:
    def __init__(self, lex: Lexer, encoding: Encoding, syntax: Syntax, declared: dict[str, Declared]) -> None:
        self.lex, self.encoding, self.syntax, self.declared = lex, encoding, syntax, declared
        self._reg_types = {t.name: t for t in encoding.register_types.values()}
        self._imm_types = {t.name: t for t in encoding.immediate_types.values()}
        self.default_type = RegType.F
        # dim, which only Gen7.5 has, takes an F of 64 bits
        self._wide_types = {ImmType.F} if "immediate64" in encoding.by_name else set()

    # --- entry points --------------------------------------------------------------------------------------------

    def destination(self) -> Draft:
        return self._register(destination=True)

    def source(self) -> Draft | Immediate:
        token, after = self.lex.token, self.lex.peek()
        if token.kind in (Kind.NUMBER, Kind.FLOAT) or token.is_("[") or (
                token.is_("-") and after.kind in (Kind.NUMBER, Kind.FLOAT)):
            return self.number_operand(None)
        return self._register(destination=False)

    def is_register(self, token: Token) -> bool:
        """Whether a name is that of a register and so cannot be a label."""
        word = token.text.lower()
        if word in ("null", "ip", "g", "r", "m") or word in _ALIASES:
            return True
        found = _REGISTER.fullmatch(word)
        return bool(found and found[2] and (found[1] in ("g", "r", "m") or self._is_arf(found[1])))

    def _is_arf(self, prefix: str) -> bool:
        """Whether a name without its number is that of an architecture register."""
        return _ARF_PREFIXES.get(prefix) in self.encoding.architecture_registers

    def resolve(self, operand: Draft | Immediate, align16: bool) -> Operand:
        """The operand, when the access mode is known."""
        if isinstance(operand, Immediate):
            return operand
        return self._resolve_destination(operand, align16) if operand.destination else self._resolve_source(
            operand, align16)

    def resolve_ternary(self, operand: Draft | Immediate, align16: bool) -> Operand:
        """An operand of an instruction with three sources, which all are in g registers."""
        lex = self.lex
        if isinstance(operand, Immediate):
            lex.fail("no source of an instruction with three may be an immediate")
        if operand.indirect or operand.file not in (RegFile.GRF, RegFile.MRF):
            lex.fail("the operands of an instruction with three sources are g registers", operand.token)
        region = tuple(operand.region)
        if operand.destination:
            if region not in ((), (1,)):
                lex.fail("the destination of an instruction with three sources is <1>", operand.token)
            return self._resolve_destination(replace(operand, region=(1,)), True, unit=4)
        if region == (0, 1, 0):
            swizzle = self._swizzle(operand) if operand.channels is not None else 0
            return self._operand(operand, TernaryRegion(True, swizzle), align16=True, unit_bytes=2)
        if region not in ((), (4, 4, 1), (4,)):
            lex.fail("a source of an instruction with three is <4,4,1> or <0,1,0>", operand.token)
        return self._operand(operand, TernaryRegion(False, self._swizzle(operand)), align16=True, unit_bytes=2)

    def whole_registers(self) -> RegisterOperand:
        """An operand of a split send: g5UD, g5.1UD (its second half), nullUD, g[a0.1 16]UD."""
        lex = self.lex
        token = lex.token
        merged = _WHOLE_REGISTER.fullmatch(token.text) if token.kind is Kind.IDENT else None
        if merged:  # g5UD is one name
            lex.advance()
            if merged[2] is None:
                return DirectOperand(RegFile.ARF, RegType.UD, Arf.NULL << 4, 0, MessageRegion())
            nr = self._number(token, int(merged[2]), GRF_COUNT, merged[1])
            return DirectOperand(RegFile.GRF, RegType.UD, nr, 0, MessageRegion())
        draft = self._base(Draft(token, destination=False))
        self._optional_type()
        if draft.indirect:
            if draft.addr_imm % 16:
                lex.fail("the address offset of a split send is a multiple of 16", token)
            return IndirectOperand(draft.file, RegType.UD, draft.sub, draft.addr_imm, MessageRegion())
        if draft.file is RegFile.MRF or draft.sub > 1:
            lex.fail("an operand of a split send is a g register or its second half, .1", token)
        return DirectOperand(draft.file, RegType.UD, draft.nr, 16 * draft.sub, MessageRegion())

    def address_register(self) -> DirectOperand:
        """a0<0>UD or a0.2<0>UD: a descriptor in a register.  Older disassemblers of Mesa write g[a0]UD."""
        lex = self.lex
        draft = self._register(destination=False)
        if draft.indirect and not draft.sub and not draft.addr_imm:
            return DirectOperand(RegFile.ARF, RegType.UD, Arf.A << 4, 0, Align1Region(0, 0, 0))
        if draft.file is not RegFile.ARF or draft.nr >> 4 != Arf.A or draft.type is not RegType.UD or draft.sub > 7:
            lex.fail("a descriptor is a number or in a0, such as a0.2<0>UD", draft.token)
        return DirectOperand(RegFile.ARF, RegType.UD, Arf.A << 4, 4 * draft.sub, Align1Region(0, 0, 0))

    def register_type(self) -> RegType:
        kind = self._optional_type()
        if kind is None:
            *names, last = self._reg_types
            self.lex.fail(f"expected a register type: {', '.join(names)} or {last}")
        return kind

    def immediate_type(self) -> ImmType:
        token = self.lex.token
        found = self._imm_types.get(token.text.upper()) if token.kind is Kind.IDENT else None
        if found is None:
            self.lex.fail("expected an immediate type")
        self.lex.advance()
        return found

    def declaration(self, declared: Declared, key: Token) -> None:
        """The value of one `Key=` of .declare."""
        word = key.text.lower()
        if word == "base":
            declared.base = self._base(Draft(self.lex.token, destination=False))
        elif word == "elementsize":
            declared.element_size = self.expression()
        elif word == "srcregion":
            declared.src_region = self._region()
        elif word == "dstregion":
            declared.dst_region = self._region()
        elif word == "type":
            declared.type = self.register_type()
        else:
            self.lex.fail(f".declare has no {key.text}", key)

    # --- registers -----------------------------------------------------------------------------------------------

    def _register(self, *, destination: bool) -> Draft:
        lex = self.lex
        draft = Draft(lex.token, destination, type=self.default_type)
        if not destination:
            if lex.token.is_("-") or lex.token.is_("~"):
                lex.advance()
                draft.negate = True
            if lex.token.is_("(") and lex.peek().text.lower() == "abs":
                lex.advance()
                lex.advance()
                self.lex.punct(")")
                draft.abs = True
        declared = self.declared.get(lex.token.text) if lex.token.kind is Kind.IDENT else None
        if declared is not None and declared.base is not None:
            self._declared_register(draft, declared)
        else:
            self._base(draft)
        self._tail(draft, declared)
        return draft

    def _declared_register(self, draft: Draft, declared: Declared) -> None:
        base = declared.base
        assert base is not None
        draft.file, draft.nr, draft.sub, draft.indirect = base.file, base.nr, base.sub, base.indirect
        draft.addr_imm, draft.type = base.addr_imm, declared.type
        self.lex.advance()
        if not self.lex.token.is_("("):
            return
        self.lex.advance()
        draft.nr += self.expression()
        if self.lex.token.is_(","):
            self.lex.advance()
            sub = draft.sub + self.expression()
            draft.nr += sub // REGISTER_BYTES
            draft.sub = sub % REGISTER_BYTES
        self.lex.punct(")")

    def _base(self, draft: Draft) -> Draft:
        """File, number and subregister, or the address in brackets."""
        lex = self.lex
        token = lex.token
        if token.kind is not Kind.IDENT:
            lex.fail(f"expected a register, not {token.shown()}")
        word = token.text.lower()
        if word in ("g", "r", "m") and lex.peek().is_("["):
            return self._indirect(draft, RegFile.MRF if word == "m" else RegFile.GRF)
        lex.advance()
        if word in _ALIASES:
            kind, draft.sub_bytes = _ALIASES[word]
            draft.nr, draft.type = kind << 4, RegType.UW
            return draft
        found = _REGISTER.fullmatch(word)
        if word in ("null", "ip"):
            draft.nr = (Arf.NULL if word == "null" else Arf.IP) << 4
            if word == "ip" or (self.syntax is Syntax.IGT and not draft.destination):
                draft.type = RegType.UD
        elif found is None or not found[2]:
            lex.fail(f"unknown register {token.text[:40]}", token)
        elif found[1] in ("g", "r", "m"):
            draft.file = RegFile.MRF if found[1] == "m" else RegFile.GRF
            draft.nr = self._number(token, int(found[2]), self._mrf_count(token) if found[1] == "m" else GRF_COUNT)
        elif self._is_arf(found[1]):
            kind = _ARF_PREFIXES[found[1]]
            count = 16 if self.syntax is Syntax.MESA else self.encoding.architecture_registers[kind]
            draft.nr = kind << 4 | self._number(token, int(found[2]), count)
            if kind in (Arf.CR, Arf.SR, Arf.N):
                draft.type = RegType.UD
            elif kind is Arf.MS:
                draft.type = RegType.UW
        else:
            lex.fail(f"unknown register {token.text[:40]}", token)
        if lex.token.is_(".") and lex.peek().kind is Kind.NUMBER:
            lex.advance()
            draft.sub = integer(lex, self.syntax).value
        return draft

    def _mrf_count(self, token: Token) -> int:
        if not self.encoding.mrf_count:
            self.lex.fail(f"{token.text} does not exist on {self.encoding.name}: messages are in g registers", token)
        return self.encoding.mrf_count

    def _number(self, token: Token, nr: int, count: int, prefix: str = "") -> int:
        if nr >= count:
            last = f"{prefix or token.text.rstrip('0123456789')}{count - 1}"
            self.lex.fail(f"register {token.text} is out of range: the last is {last}", token)
        return nr

    def _indirect(self, draft: Draft, file: RegFile) -> Draft:
        """g[a0.3 16], g[a0.3, -16]."""
        lex = self.lex
        draft.file, draft.indirect = file, True
        if file is RegFile.MRF:
            self._mrf_count(lex.token)
        lex.advance()
        lex.advance()
        if lex.token.text.lower() != "a0":
            lex.fail("an indirect operand is addressed by a0")
        lex.advance()
        token = lex.token
        if token.is_("."):
            lex.advance()
            token = lex.token
            draft.sub = integer(lex, self.syntax).value
        unit = 2 if self.syntax is Syntax.IGT else 1
        index, rest = divmod(draft.sub, unit)
        if rest or index >= self.encoding.address_subregs:
            lex.fail(f"address subregister {draft.sub} is out of range or odd", token)
        draft.sub = index
        if lex.token.is_(","):
            lex.advance()
        token = lex.token
        if not token.is_("]"):
            draft.addr_imm = self.expression()
            if not -512 <= draft.addr_imm <= 511:
                lex.fail(f"address offset {draft.addr_imm} is out of range: -512 to 511", token)
        self.lex.punct("]")
        return draft

    def _tail(self, draft: Draft, declared: Declared | None) -> None:
        """Region, channels and type, with the defaults of the syntax."""
        lex = self.lex
        if lex.token.is_("<"):
            draft.region = self._region()
        elif declared is not None:
            draft.region = declared.dst_region if draft.destination else declared.src_region
        kind: RegType | None = None
        if lex.token.is_(".") and lex.peek().kind is Kind.IDENT:
            lex.advance()
            token = lex.advance()
            found = _CHANNELS_AND_TYPE.fullmatch(token.text)
            if found is None and self.syntax is Syntax.IGT:
                found = _ANY_CASE.fullmatch(token.text)
            if found is None or (found[2] is None and not found[1]):
                lex.fail(f"not a channel selection: .{token.text[:40]}", token)
            draft.channels = found[1].lower()
            if found[2]:
                kind = self._reg_types.get(found[2].upper())
                if kind is None:
                    lex.fail(f"{found[2]} is not a register type of {self.encoding.name}", token)
        if kind is None:
            kind = self._optional_type()
        if kind is not None:
            draft.type = kind
        if draft.indirect and draft.channels is None and lex.token.is_(".") and lex.peek().kind is Kind.IDENT:
            lex.advance()  # IGT writes the swizzle of an indirect operand after its type
            draft.channels = lex.advance().text.lower()

    def _region(self) -> tuple[int | None, ...]:
        lex = self.lex
        self.lex.punct("<")
        values: list[int | None] = []
        while True:
            token = lex.token
            if token.kind is Kind.IDENT and token.text.lower() in ("vxh", "vx1") and not values:
                lex.advance()
                values.append(None)
            else:
                values.append(self.expression())
            if lex.token.is_(">"):
                break
            if not (lex.token.is_(",") or lex.token.is_(";")) or len(values) == 3:
                lex.fail("a region is <h>, <v>, <w,h> or <v,w,h>")
            lex.advance()
        lex.advance()
        return tuple(values)

    def _optional_type(self) -> RegType | None:
        lex = self.lex
        token = lex.token
        if token.is_(":"):
            lex.advance()
            token = lex.token
            if token.kind is not Kind.IDENT or token.text.upper() not in self._reg_types:
                lex.fail("expected a register type after ':'")
        elif token.kind is not Kind.IDENT or token.text.upper() not in self._reg_types:
            if token.kind is Kind.IDENT and token.text in RegType.__members__:
                lex.fail(f"{token.text} is not a register type of {self.encoding.name}")
            return None
        lex.advance()
        return self._reg_types[token.text.upper()]

    # --- resolving -----------------------------------------------------------------------------------------------

    def _resolve_destination(self, draft: Draft, align16: bool, unit: int = 0) -> RegisterOperand:
        lex = self.lex
        region = draft.region or (1,)
        if len(region) != 1 or region[0] not in HSTRIDE_CODES:
            lex.fail("the region of a destination is <1>, <2> or <4>", draft.token)
        mask = None
        if align16:
            mask = WRITEMASK_XYZW
            if draft.channels is not None:
                if list(draft.channels) != sorted(set(draft.channels), key=CHANNELS.index):
                    lex.fail(f"write mask .{draft.channels}: channels once each, in the order xyzw", draft.token)
                mask = sum(1 << CHANNELS.index(c) for c in draft.channels)
        elif draft.channels is not None and draft.channels != CHANNELS:
            lex.fail("only align16 instructions have a write mask", draft.token)
        target = DestRegion(HSTRIDE_CODES[region[0]], mask)
        return self._operand(draft, target, align16, unit)

    def _resolve_source(self, draft: Draft, align16: bool) -> RegisterOperand:
        lex = self.lex
        region = draft.region
        if align16:
            if len(region) > 1 or (region and region[0] not in VSTRIDE_CODES):
                # an Align1 scalar is a scalar in Align16, too
                if tuple(region) != (0, 1, 0):
                    lex.fail("the region of an align16 source is <4> or <0>", draft.token)
                region = (0,)
            vstride = VSTRIDE_CODES[region[0]] if region and region[0] is not None else 0
            return self._operand(draft, Align16Region(vstride, self._swizzle(draft)), align16)
        if draft.channels is not None:
            lex.fail("only align16 instructions have a swizzle", draft.token)
        if len(region) == 2:  # <w,h>: one address register per row
            region = (None, *region)
        elif len(region) == 1:
            region = (region[0], 1, 0)
        v, w, h = region or (0, 1, 0)
        if v is not None and v not in VSTRIDE_CODES:
            lex.fail(f"vertical stride {v}: must be 0, 1, 2, 4, 8, 16, 32 or VxH", draft.token)
        if w not in WIDTH_CODES:
            lex.fail(f"width {w}: must be 1, 2, 4, 8 or 16", draft.token)
        if h not in HSTRIDE_CODES:
            # irrelevant for a width of 1; IGT does not check it, and the MPEG-2 kernels have <8,1,8>
            if self.syntax is not Syntax.IGT or w != 1 or h not in VSTRIDE_CODES:
                lex.fail(f"horizontal stride {h}: must be 0, 1, 2 or 4", draft.token)
            h = 0
        vstride = VSTRIDE_INDEXED if v is None else VSTRIDE_CODES[v]
        return self._operand(draft, Align1Region(vstride, WIDTH_CODES[w], HSTRIDE_CODES[h]), align16)

    def _swizzle(self, draft: Draft) -> int:
        if draft.channels is None:
            return SWIZZLE_XYZW
        letters = draft.channels * 4 if len(draft.channels) == 1 else draft.channels
        if len(letters) != 4 or set(letters) - set(CHANNELS):
            self.lex.fail(f"swizzle .{draft.channels}: one or four of x, y, z, w", draft.token)
        return sum(CHANNELS.index(c) << 2 * i for i, c in enumerate(letters))

    def _operand(self, draft: Draft, region: Region, align16: bool, unit_bytes: int = 0) -> RegisterOperand:
        """The operand with this region; its subregister is a multiple of `unit_bytes`, if not of the access mode's."""
        lex = self.lex
        if draft.indirect:
            if align16 and draft.addr_imm % 16:
                lex.fail("the address offset of an align16 operand is a multiple of 16", draft.token)
            return IndirectOperand(draft.file, draft.type, draft.sub, draft.addr_imm, region, draft.negate, draft.abs)
        unit = TYPE_BYTES[draft.type] if self.syntax is Syntax.MESA else 1
        byte = draft.sub * unit if draft.sub_bytes is None else draft.sub_bytes
        if byte >= REGISTER_BYTES:
            lex.fail(f"subregister {draft.sub} of type {draft.type.name} is out of range", draft.token)
        if align16 and byte % (unit_bytes or 16):
            lex.fail(f"the subregister of an align16 operand is a multiple of {unit_bytes or 16} bytes", draft.token)
        if draft.file is RegFile.GRF and not 0 <= draft.nr < GRF_COUNT:
            lex.fail(f"register g{draft.nr} is out of range: the last is g{GRF_COUNT - 1}", draft.token)
        return DirectOperand(draft.file, draft.type, draft.nr, byte, region, draft.negate, draft.abs)

    # --- immediates ----------------------------------------------------------------------------------------------

    def number_operand(self, default: ImmType | None) -> Immediate:
        """A number with its type: [-]12D, 0x3f800000F, 1.5F, [0x30, 0x40, 0, 0]VF."""
        lex = self.lex
        token = lex.token
        if token.is_("["):
            return self._vector()
        negative = token.is_("-")
        if negative:
            lex.advance()
        if lex.token.kind is Kind.FLOAT:
            return self._float_literal(token, negative)
        number = integer(lex, self.syntax)
        kind = number.kind if number.kind is not None else self._optional_imm_type()
        if kind is None:
            if default is None and self.syntax is Syntax.MESA:
                lex.fail("an immediate needs a type", token)
            kind = default if default is not None else ImmType.D
        value = -number.value if negative else number.value
        return Immediate(kind, self._immediate_bits(token, value, kind, number))

    def _immediate_bits(self, token: Token, value: int, kind: ImmType, number: Number) -> int:
        lex = self.lex
        if kind is ImmType.F and self.syntax is Syntax.IGT and number.kind is None:
            return _float_bits(float(value))
        wide = kind in IMM64_TYPES or (kind is ImmType.F and ImmType.F in self._wide_types)
        bits = 64 if wide else 32
        if not -(1 << bits - 1) <= value < 1 << bits:
            lex.fail(f"{value} does not fit {bits} bits", token)
        if wide:
            return value & (1 << 64) - 1
        if kind is ImmType.HF and number.digits <= 4:
            return (value & 0xFFFF) * 0x10001
        if kind in (ImmType.UW, ImmType.W) and number.digits <= 4:
            if not -(1 << 15) <= value < 1 << 16:
                lex.fail(f"{value} does not fit 16 bits", token)
            low = value & 0xFFFF
            return low | low << 16
        if kind is ImmType.UB and number.digits <= 2 and not 0 <= value < 256:
            lex.fail(f"{value} does not fit 8 bits", token)
        return value & 0xFFFFFFFF

    def _float_literal(self, token: Token, negative: bool) -> Immediate:
        lex = self.lex
        value = float(lex.advance().text)
        kind = self._optional_imm_type()
        if kind not in (None, ImmType.F):
            lex.fail("a number with a point has type F", token)
        try:
            return Immediate(ImmType.F, _float_bits(-value if negative else value))
        except OverflowError:
            lex.fail("the number does not fit a 32-bit float", token)

    def _vector(self) -> Immediate:
        lex = self.lex
        lex.advance()
        bits = 0
        for i in range(4):
            if i:
                self.lex.punct(",")
            token = lex.token
            value = integer(lex, self.syntax).value
            if value > 255:
                lex.fail(f"{value} does not fit 8 bits", token)
            bits |= value << 8 * i
        self.lex.punct("]")
        kind = self._optional_imm_type()
        if kind not in (None, ImmType.VF):
            lex.fail("four bytes in brackets are a VF")
        return Immediate(ImmType.VF, bits)

    def _optional_imm_type(self) -> ImmType | None:
        lex = self.lex
        if lex.token.is_(":"):
            lex.advance()
            return self.immediate_type()
        token = lex.token
        if token.kind is Kind.IDENT and token.text.upper() in self._imm_types:
            lex.advance()
            return self._imm_types[token.text.upper()]
        return None

    # --- expressions ---------------------------------------------------------------------------------------------

    def expression(self) -> int:
        """Integer arithmetic with + - * / and parentheses, in the usual order."""
        start = self.lex.token
        value = self._sum(0)
        if not -(1 << 63) <= value < 1 << 63:
            self.lex.fail("number too large", start)
        return value

    def _sum(self, depth: int) -> int:
        value = self._product(depth)
        while self.lex.token.is_("+") or self.lex.token.is_("-"):
            minus = self.lex.advance().is_("-")
            term = self._product(depth)
            value = value - term if minus else value + term
        return value

    def _product(self, depth: int) -> int:
        value = self._factor(depth)
        while self.lex.token.is_("*") or self.lex.token.is_("/"):
            operator = self.lex.advance()
            factor = self._factor(depth)
            if operator.is_("*"):
                value *= factor
            elif factor:
                value = int(abs(value) // abs(factor)) * (1 if (value < 0) == (factor < 0) else -1)
            else:
                self.lex.fail("division by zero", operator)
            if abs(value) >= 1 << 63:  # also limits the size of a long product
                self.lex.fail("number too large", operator)
        return value

    def _factor(self, depth: int) -> int:
        lex = self.lex
        if depth > _MAX_NESTING:
            lex.fail("expression nested too deep")
        if lex.token.is_("-"):
            lex.advance()
            return -self._factor(depth + 1)
        if lex.token.is_("("):
            lex.advance()
            value = self._sum(depth + 1)
            self.lex.punct(")")
            return value
        return integer(lex, self.syntax).value


def _float_bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
