"""`-k EXPRESSION`: which cases of a manifest are run."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from gen4emu.check.manifest import Case
from gen4emu.errors import SelectionError

_TOKEN = re.compile(r"""\s*(?:([()])|(=?)"([^"]*)"|(=?)'([^']*)'|([^\s()"']+))""")
_MAX_DEPTH = 100

Match = Callable[[str], bool]


def parse_expression(text: str) -> Match:
    """A test of names: words joined by `and`, `or`, `not` and parentheses.

    A word matches names that contain it, in upper or lower case; a word with * or ? must match the whole name, and
    `=word` is the name itself.  A word in quotes may hold any character.
    """
    return _Parser(text).parse()


def name_expression(name: str) -> str:
    """An expression that selects this name alone."""
    if re.fullmatch(r"[^\s()\"'=*?]+", name):
        return f"={name}"
    return f'="{name}"'


def select(cases: list[Case], text: str) -> list[Case]:
    """The cases that an expression names; an error if there are none."""
    matches = parse_expression(text)
    chosen = [case for case in cases if matches(case.name)]
    if not chosen:
        near = get_close_matches(text, [case.name for case in cases], 3, 0.6)
        raise SelectionError(f"no trace matches -k {text!r}" + (f" (did you mean {', '.join(near)}?)" if near else ""))
    return chosen


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.kind = self.word = ""  # of the current token: "(", ")", "word", "exact" or "" at the end
        self._advance()

    def parse(self) -> Match:
        found = self._either(0)
        if self.kind:
            raise self._error()
        return found

    def _advance(self) -> None:
        rest = self.text[self.position:]
        if not rest.strip():
            self.kind = self.word = ""
            return
        found = _TOKEN.match(rest)
        if found is None:
            raise SelectionError(f"invalid expression {self.text!r}: a quote is not closed")
        self.position += found.end()
        bracket, exact, double, exact_too, single, plain = found.groups()
        if bracket:
            self.kind = self.word = bracket
        elif plain is not None:
            self.kind, self.word = ("exact", plain[1:]) if plain[0] == "=" else (plain, plain)
            if self.kind not in ("and", "or", "not", "exact"):
                self.kind = "word"
        else:
            self.kind = "exact" if exact or exact_too else "quoted"
            self.word = double if double is not None else single

    def _error(self) -> SelectionError:
        where = f"{self.word!r} is out of place" if self.kind else "it ends too early"
        return SelectionError(f"invalid expression {self.text!r}: {where}")

    def _either(self, depth: int) -> Match:
        terms = [self._both(depth)]
        while self.kind == "or":
            self._advance()
            terms.append(self._both(depth))
        return lambda name: any(term(name) for term in terms)

    def _both(self, depth: int) -> Match:
        terms = [self._one(depth)]
        while self.kind == "and":
            self._advance()
            terms.append(self._one(depth))
        return lambda name: all(term(name) for term in terms)

    def _one(self, depth: int) -> Match:
        if depth > _MAX_DEPTH:
            raise SelectionError(f"invalid expression: more than {_MAX_DEPTH} levels")
        kind, word = self.kind, self.word
        if kind not in ("not", "(", "word", "quoted", "exact"):
            raise self._error()
        self._advance()
        if kind == "not":
            inner = self._one(depth + 1)
            return lambda name: not inner(name)
        if kind == "(":
            found = self._either(depth + 1)
            if self.kind != ")":
                raise self._error()
            self._advance()
            return found
        if kind == "exact":
            return lambda name: name == word
        if kind == "word" and any(c in word for c in "*?"):
            return lambda name: fnmatchcase(name.lower(), word.lower())
        return lambda name: word.lower() in name.lower()
