"""The text of the dwords of commands and blocks, one line each: raw bits, then the fields that say something.

Made for `gen4emu.decode.compiled`: what is expensive here happens once for each value of a dword.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from gen4emu.decode.compiled import Compiled, Conditional, named_source, number_source, raw_source, showable, shown
from gen4emu.hw import catalogue
from gen4emu.hw.fields import Address, Array, Bool, Enum, Field, Fixed, Float, Ignored, Mbz, Uint
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Command

_WIDTH = 130  # columns
# Items of one dword that have a line each; the dwords of others flow together.
_LISTED = frozenset({"MI_MATH_ALU_INSTRUCTION", "BINDING_TABLE_EDIT_ENTRY", "GATHER_CONSTANT_ENTRY",
                     "SF_OUTPUT_ATTRIBUTE_DETAIL"})
_ALU_OPERANDS = {"LOAD": 2, "LOADINV": 2, "STORE": 2, "STOREINV": 2, "LOAD0": 1, "LOAD1": 1}
_REGISTER_FIELDS = frozenset({"register_offset", "register_address", "source_register_address",
                              "destination_register_address"})


@dataclass(slots=True, frozen=True)
class Theme:
    """Terminal colors; empty strings without colors."""

    name: str = ""  # commands
    block: str = ""  # state blocks, kernels, data
    value: str = ""
    dim: str = ""  # addresses and raw bits
    error: str = ""
    lint: str = ""
    title: str = ""
    off: str = ""


PLAIN = Theme()
COLOR = Theme("\x1b[1;36m", "\x1b[1;34m", "\x1b[32m", "\x1b[2m", "\x1b[1;31m", "\x1b[33m", "\x1b[1m", "\x1b[0m")


@dataclass(slots=True, frozen=True)
class Style:
    """The options that change the lines of a dword, and so the compiled functions."""

    theme: Theme = PLAIN
    offsets: bool = True  # addresses and raw bits
    indent: str = ""


def address_digits(gen: Gen) -> int:
    """Hexadecimal digits of the addresses of commands."""
    return 12 if gen & (Gen.GEN8 | Gen.GEN9) else 8


class _Lines:
    """One line a dword.  The header of a command ends the line that its address began."""

    zero = ""

    def __init__(self, style: Style, command: bool, gen: Gen) -> None:
        self.style, self.command, self.gen = style, command, gen
        self.before = style.indent
        self.address = 4 + address_digits(gen) if style.offsets else 0  # columns of an address
        if command:
            self.before += " " * (self.address or 2)
        self.capacity = _WIDTH - len(self.before) - 13  # columns for the fields of a line, without colors

    def dword(self, layout: Block, index: int, word: int, alive: Sequence[tuple[Field, int]]) -> str:
        t = self.style.theme
        header = index == 0 and isinstance(layout, Command)
        quiet = Bool | Uint if header else Bool  # options in a header are shown if they are set
        fields = [self._field(f, raw) for f, raw in alive if shown(f, raw) and (raw or not isinstance(f, quiet))]
        bits = f"{t.dim}{word:08x}{t.off}  " if self.style.offsets else ""
        if layout.name == "MI_MATH_ALU_INSTRUCTION" and alive:
            return f"{self.before}{bits}  {t.value}{_alu_text(alive)}{t.off}\n"
        if header:
            column = self.address + 10 if self.style.offsets else 0
            start = len(self.style.indent) + column + len(layout.name) + 2
            text = self._wrapped(fields, start)
            return f"{bits}{t.name}{layout.name}{t.off}{'  ' if text else ''}{text}\n"
        if not fields and not self.style.offsets:
            return ""
        text = self._wrapped(fields, len(self.before) + (12 if self.style.offsets else 2))
        return f"{self.before}{bits}  {text}".rstrip() + "\n"

    def relevant(self, f: Field) -> bool:
        return showable(f)

    def source(self, layout: Block, index: int, fields: Sequence[Conditional], scope: dict[str, Any]) -> str | None:
        """The line as formatted strings; flags come and go, so a line with some is joined when it is made."""
        t = self.style.theme
        if not self.style.offsets or layout.name == "MI_MATH_ALU_INSTRUCTION":
            return None
        header = isinstance(layout, Command) and index == 0
        bits = f'f"{self.before}{t.dim}{{v:08x}}{t.off}'
        texts = []
        optional = False
        for f, condition in fields:
            text = self._field_source(f, scope)
            if text is None:
                return None
            optional |= isinstance(f, Bool | Mbz) or bool(condition)
            if header and isinstance(f, Uint):  # options in a header are shown if they are set
                text = f'{text} if {raw_source(f)} else ""'
            texts.append(f'({text}) if {condition} else ""' if condition else text)
        if header:
            scope["header"] = partial(self._header, layout.name)
            return f'header(v, ({", ".join(texts)}{"," if texts else ""}))'
        if not texts:
            return f'{bits}\\n"'
        scope["line"], scope["room"] = self._line, self.capacity
        if optional:
            return f'line({bits}    ", ({", ".join(texts)},))'
        # Fields that are always present are joined into one string, which is split only if it is too long.
        whole = "f\"" + ", ".join(text[2:-1] for text in texts) + "\""
        return f'{bits}    {{text}}\\n" if len(text := {whole}) <= room else line({bits}    ", text.split(", "))'

    def _header(self, name: str, word: int, texts: Sequence[str]) -> str:
        """The line of a command's header after its address."""
        t = self.style.theme
        before = f"{t.dim}{word:08x}{t.off}  {t.name}{name}{t.off}"
        fields = self._measured(texts)
        if not fields:
            return f"{before}\n"
        column = len(self.style.indent) + self.address + 12
        return f"{before}  {self._wrapped(fields, column + len(name))}\n"

    def _measured(self, texts: Sequence[str]) -> list[tuple[str, int]]:
        """The fields that have a text, with the columns they take."""
        marks = len(self.style.theme.value) + len(self.style.theme.off)
        return [(text, len(text) - (marks if "=" in text else 0)) for text in texts if text]

    def _line(self, before: str, texts: Sequence[str]) -> str:
        """The fields that have a text, wrapped only if they must be."""
        text = ", ".join([t for t in texts if t])
        if not text:
            return f"{before[:-4]}\n"
        if len(text) <= self.capacity:
            return f"{before}{text}\n"
        return f"{before}{self._wrapped(self._measured(texts), len(self.before) + 12)}\n"

    def _field_source(self, f: Field, scope: dict[str, Any]) -> str | None:
        """`name=value` as an expression; an empty string for a flag that is clear."""
        t = self.style.theme
        if isinstance(f, Bool):
            return f'"{f.name}" if v >> {f.lo} & 1 else ""'
        if isinstance(f, Mbz):
            name = f"{'ignored' if isinstance(f, Ignored) else 'reserved'}[{f.hi}:{f.lo}]"
            raw = raw_source(f)
            return f'f"{name}={t.value}0x{{{raw}:x}}{t.off}" if {raw} else ""'
        if isinstance(f, Enum):
            return f'f"{f.name}={t.value}{{{named_source(f, scope, f.text)}}}{t.off}"'
        if f.name in _REGISTER_FIELDS:
            return None
        number = number_source(f, scope)
        if number is None:
            return None
        form = ""
        if isinstance(f, Address):
            form = ":08x"
        elif isinstance(f, Uint) and f.hex:
            form = f":0{(f.width + 3) // 4}x"
        elif isinstance(f, Float):
            form = ":.9g"
        elif isinstance(f, Fixed):
            form = ":g"
        return f'f"{f.name}={t.value}{"0x" if form.endswith("x") else ""}{{{number}{form}}}{t.off}"'

    def _wrapped(self, fields: Sequence[tuple[str, int]], start: int) -> str:
        """The fields with commas; long lines continue below the second column."""
        out, column = "", start
        margin = f"{self.before}{' ' * 14 if self.style.offsets else '    '}"
        for i, (text, length) in enumerate(fields):
            if i:
                out += ","
                if column + 3 + length > _WIDTH:  # with the comma that may follow
                    out, column = f"{out}\n{margin}", len(margin)
                else:
                    out, column = f"{out} ", column + 2
            out, column = out + text, column + length
        return out

    def _field(self, f: Field, raw: int) -> tuple[str, int]:
        """The text and its number of columns."""
        t = self.style.theme
        if isinstance(f, Bool):
            return f.name, len(f.name)
        value = f.text(raw)
        if f.name in _REGISTER_FIELDS:
            register = _registers(self.gen).get(int(f.decode(raw)))
            value += f" ({register})" if register is not None else ""
        name = f.name
        if isinstance(f, Mbz):
            name = f"{'ignored' if isinstance(f, Ignored) else 'reserved'}[{f.hi}:{f.lo}]"
        return f"{name}={t.value}{value}{t.off}", len(name) + 1 + len(value)

    def array(self, array: Array, items: Sequence[str]) -> str:
        """Items of several dwords start with a dash; items of one flow together."""
        if array.item.size(self.gen) == 1:
            return "".join(items) if array.item.name in _LISTED else self._flow(array, items)
        n = len(self.before)
        if self.style.offsets:
            n += len(self.style.theme.dim) + 8 + len(self.style.theme.off) + 2
        return "".join(f"{item[:n]}- {item[n + 2:]}" if item[n:n + 2] == "  " else item for item in items)

    def _flow(self, array: Array, items: Sequence[str]) -> str:
        per = 8
        rows = [" ".join(item.split()[0] for item in items[i:i + per]) for i in range(0, len(items), per)]
        return "".join(f"{self.before}{row}{f'  {array.name}' if not i else ''}\n" for i, row in enumerate(rows))


@cache
def _registers(gen: Gen) -> dict[int, str]:
    """Names by offset, of both halves of the wide ones."""
    registers = catalogue.catalogue_of(gen).registers
    return {r.offset + 4 * i: r.name for r in reversed(registers) for i in range(r.size(gen))}


def _alu_text(fields: Sequence[tuple[Field, int]]) -> str:
    """An instruction of MI_MATH: `LOAD SRCA R0`, `ADD`, `STORE R2 ACCU`."""
    texts = [f.text(raw) for f, raw in fields if not isinstance(f, Mbz)]
    return " ".join(texts[:1 + _ALU_OPERANDS.get(texts[0], 0)])


@cache
def lines_of(layout: Block, gen: Gen, style: Style) -> Compiled[str]:
    """`lines_of(...)(words)`: the text of a command or block."""
    return Compiled(layout, gen, _Lines(style, isinstance(layout, Command), gen))
