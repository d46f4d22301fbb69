"""Tokens of EU assembly, in the syntax of Mesa's assembler and of IGT's.

Time is linear in the length of the text.  Skips comments, and follows the line markers of a preprocessor, so that error
messages name file, line and column.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import Enum
from typing import NamedTuple, NoReturn

from gen4emu.errors import AssemblyError
from gen4emu.isa.registers import ImmType


class Syntax(Enum):
    """The assembler whose language a text is in."""

    MESA = "mesa"
    IGT = "igt"


class Number(NamedTuple):
    value: int
    kind: ImmType | None  # a type suffix of hexadecimal digits
    digits: int  # of a hexadecimal number, 0 for a decimal one


class Kind(Enum):
    IDENT = "a name"
    NUMBER = "a number"
    FLOAT = "a floating point number"
    PUNCT = "punctuation"
    END = "the end of the text"


class Token(NamedTuple):
    kind: Kind
    text: str
    pos: int

    def is_(self, text: str) -> bool:
        return self.kind is Kind.PUNCT and self.text == text

    def shown(self) -> str:
        """The token as error messages quote it."""
        return self.kind.value if self.kind is Kind.END else repr(self.text[:40])


_TOKEN = re.compile(r"""
    \s* (?:
    (?P<ident>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?)
  | (?P<number>0[xX][0-9A-Za-z]+|[0-9]+)
  | (?P<punct>[;:(){}\[\]<>,.+\-*=^~]|/(?![/*]))
    )
""", re.VERBOSE)
_COMMENT_START = re.compile(r"//|/\*")
_SPACE = re.compile(r"\s+")
_LINE_MARKER = re.compile(r"#[ \t]*(?:line[ \t]*)?([0-9]{1,9})(?![^\s])(?:[ \t]+\"([^\"\n]*)\")?[^\n]*")
_TYPE_NAMES = "|".join(t.name for t in ImmType if t is not ImmType.RESERVED)
_HEX_LOWER = re.compile(rf"0x([0-9a-f]+)({_TYPE_NAMES})?")
_HEX_ANY = re.compile(r"0[xX]([0-9a-fA-F]+?)(UD|UW|UB|UQ|UV|VF|HF|V|W|Q)?")
_HEX_GREEDY = re.compile(rf"0[xX]([0-9a-fA-F]+)({_TYPE_NAMES})?", re.IGNORECASE)
_MAX_DIGITS = 20
_KINDS = (Kind.END, Kind.IDENT, Kind.FLOAT, Kind.NUMBER, Kind.PUNCT)  # by the group that matches


class Lexer:
    """A cursor over the text with one token of look-ahead: `token` is the current one, `peek()` the next."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self._pos = 0
        self._markers: list[tuple[int, int, str]] = []  # position after the marker, line number there, file
        self._next: Token | None = None
        self.token = self._scan()

    def advance(self) -> Token:
        """Return the current token and move to the next one."""
        token = self.token
        self.token = self._next if self._next is not None else self._scan()
        self._next = None
        return token

    def peek(self) -> Token:
        if self._next is None:
            self._next = self._scan()
        return self._next

    def punct(self, text: str) -> None:
        """Skip a required punctuation mark."""
        if not self.token.is_(text):
            self.fail(f"expected '{text}', not {self.token.shown()}")
        self.advance()

    def skip_line(self) -> None:
        """Skip the rest of the line, from the current token on."""
        end = self.text.find("\n", self.token.pos)
        self._pos = len(self.text) if end < 0 else end
        self._next = None
        self.token = self._scan()

    def skip_to(self, stop: str) -> None:
        """Skip text up to `stop`, without reading tokens."""
        end = self.text.find(stop, self.token.pos)
        if end < 0:
            self.fail(f"no '{stop}' follows")
        self._pos = end
        self._next = None
        self.token = self._scan()

    def fail(self, what: str, at: Token | int | None = None) -> NoReturn:
        """Raise an error at a position, by default that of the current token."""
        pos = self.token.pos if at is None else at.pos if isinstance(at, Token) else at
        raise AssemblyError(*self.where(pos), what)

    def where(self, pos: int) -> tuple[str, int, int]:
        """File, line and column of a position."""
        column = pos - (self.text.rfind("\n", 0, pos) + 1) + 1
        index = bisect_right(self._markers, pos, key=lambda m: m[0]) - 1
        if index < 0:
            return self.file, self.text.count("\n", 0, pos) + 1, column
        start, line, file = self._markers[index]
        return file, max(line + self.text.count("\n", start, pos), 1), column

    def _scan(self) -> Token:
        while (found := _TOKEN.match(self.text, self._pos)) is None:
            if not self._skip_one():
                return Token(Kind.END, "", len(self.text))
        self._pos = found.end()
        group = found.lastindex or 0
        return Token(_KINDS[group], found[group], found.start(group))

    def _skip_one(self) -> bool:
        """Skip space and what follows it: a comment or a line marker.  False: the text ends there."""
        text = self.text
        space = _SPACE.match(text, self._pos)
        pos = self._pos if space is None else space.end()
        if pos >= len(text):
            return False
        if text.startswith("//", pos):
            end = text.find("\n", pos)
            self._pos = len(text) if end < 0 else end
        elif text.startswith("/*", pos):
            end = text.find("*/", pos + 2)
            if end < 0:
                self.fail("comment without end", pos)
            self._pos = end + 2
        elif text.startswith("#", pos):
            self._line_marker(pos)
        else:
            self.fail(f"unexpected character {text[pos]!r}", pos)
        return True

    def _line_marker(self, pos: int) -> None:
        found = _LINE_MARKER.match(text := self.text, pos)
        if found is None or text[text.rfind("\n", 0, pos) + 1:pos].strip():
            self.fail("only line markers (# 12 \"file\") may start with '#'", pos)
        self._pos = found.end()
        # the marker names the line after it
        file = found.group(2) or (self._markers[-1][2] if self._markers else self.file)
        self._markers.append((self._pos, int(found.group(1)) - 1, file))


def integer(lex: Lexer, syntax: Syntax) -> Number:
    """The number at the cursor, and a type suffix that follows hexadecimal digits directly."""
    token = lex.token
    if token.kind is not Kind.NUMBER:
        lex.fail(f"expected a number, not {token.shown()}")
    lex.advance()
    text = token.text
    if len(text) > _MAX_DIGITS:
        lex.fail(f"number too large: {text[:40]}", token)
    if text[:2].lower() != "0x":
        return Number(int(text), None, 0)
    if syntax is Syntax.IGT:  # all digits belong to the number, unless it is too long
        found = _HEX_GREEDY.fullmatch(text)
        if found and len(found[1]) == 9 and not found[2] and found[1][-1] in "FD":
            return Number(int(found[1][:-1], 16), ImmType[found[1][-1]], 8)
    else:  # capital letters after lower-case digits are a type
        found = _HEX_LOWER.fullmatch(text) or _HEX_ANY.fullmatch(text)
    if found is None:
        lex.fail(f"not a hexadecimal number with a type: {text}", token)
    return Number(int(found[1], 16), ImmType[found[2].upper()] if found[2] else None, len(found[1]))


def without_comments(text: str) -> str:
    """The text with a blank for each comment.  An unterminated comment extends to the end of the text."""
    parts, pos = [], 0
    while (found := _COMMENT_START.search(text, pos)) is not None:
        parts.append(text[pos:found.start()])
        stop = "\n" if found.group() == "//" else "*/"
        end = text.find(stop, found.end())
        if end < 0:
            return " ".join(parts)
        pos = end if stop == "\n" else end + 2
    parts.append(text[pos:])
    return " ".join(parts)
