"""Expressions over a stopped thread: registers, memory, arithmetic (docs/debugger.md).

    parse("g12.3:f + 0.5 > [0x1000]:f").values(Context(device, live_thread))
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from gen4emu.debugger.inspect import LiveThread, State
from gen4emu.debugger.special_numbers import pixel_of
from gen4emu.device.device import Device
from gen4emu.errors import Gen4emuError

MOST_CHARACTERS = 1000
MOST_DEPTH = 30

Number = int | float
_Value = Callable[["Context", int], Number]  # of a lane

_TYPES = {"f": "f", "df": "d", "d": "i", "ud": "I", "w": "h", "uw": "H", "b": "b", "ub": "B"}
_TOKEN = re.compile(r"""\s*(?:
    (?P<register>[gm]\d+(?:\.\d+)?(?::\w+)?) | (?P<flag>(?:f0|cr0|a0)\.\d+) |
    (?P<number>0[xX][0-9a-fA-F]+ | (?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?) | (?P<name>[A-Za-z_]\w*) |
    (?P<operator>&&|\|\||<<|>>|<=|>=|==|!=|[-+*/%&|^~!<>()\[\],:]))""", re.VERBOSE)
_REGISTER = re.compile(r"([gm])(\d+)(?:\.(\d+))?(?::(\w+))?")
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"))
NAMES = ("draw", "object", "thread", "ip", "lane", "x", "y", "inf", "nan")
FUNCTIONS = ("min", "max", "abs", "isnan", "isinf")


class ExpressionError(Gen4emuError):
    """An expression that cannot be read, or that has no value here."""


@dataclass(slots=True)
class Context:
    """The thread and the memory that an expression reads."""

    device: Device
    live_thread: LiveThread | None
    _state: State | None = field(default=None, init=False)

    @property
    def thread(self) -> LiveThread:
        if self.live_thread is None:
            raise ExpressionError("no thread is stopped")
        return self.live_thread

    @property
    def state(self) -> State:
        if self._state is None:
            self._state = self.thread.state()
        return self._state

    @property
    def lanes(self) -> int:
        """The number of channels that the thread was dispatched with."""
        dispatched = self.state.dmask if self.live_thread is not None else 0
        return 32 if dispatched > 0xFFFF else 16 if dispatched > 0xFF else 8

    def register(self, file: str, number: int, offset: int, code: str) -> Number:
        size = struct.calcsize(code)
        number, offset = number + offset // 32, offset % 32
        words = self.thread.grf(number) if file == "g" else self.thread.mrf(number)
        (value,) = struct.unpack_from(f"<{code}", words.tobytes()[offset:offset + size])
        return value  # type: ignore[no-any-return]  # struct returns anything

    def memory(self, address: Number, code: str) -> Number:
        if not isinstance(address, int):
            raise ExpressionError("an address must be an integer")
        size = struct.calcsize(code)
        memory = self.device.memory
        if not 0 <= address <= memory.size - size:
            raise ExpressionError(f"address 0x{address:x} is beyond {memory.size.bit_length() - 1} bits" if address >= 0
                                  else f"address {address} is negative")
        (value,) = struct.unpack(f"<{code}", memory.read(address, size))
        return value  # type: ignore[no-any-return]  # struct returns anything


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that has been read; `is_wide`: it has a value for each lane."""

    text: str
    is_wide: bool
    _value: _Value

    def values(self, context: Context) -> list[Number]:
        """One value, or one for each lane."""
        return [self._value(context, lane) for lane in range(context.lanes if self.is_wide else 1)]

    def is_true(self, context: Context) -> bool:
        """Whether it is not 0; of the values of lanes, in any channel that is enabled."""
        if not self.is_wide:
            return bool(self._value(context, 0))
        enabled = context.state.channels
        return any(self._value(context, lane) for lane in range(context.lanes) if enabled >> lane & 1)


def parse(text: str) -> Expression:
    """Raises ExpressionError."""
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(f"an expression has at most {MOST_CHARACTERS} characters")
    parser = _Parser(text)
    value = parser.level(0, 0)
    if parser.token:
        raise ExpressionError(f"unexpected {parser.token!r} in {text!r}")
    return Expression(text, parser.is_wide, value)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.is_wide = False
        self.kind, self.token = "", ""
        self._advance()

    def _advance(self) -> str:
        """To the next token; returns the present one."""
        before = self.token
        rest = self._text[self._at:]
        found = _TOKEN.match(rest)
        if found is None and rest.strip():
            raise ExpressionError(f"unexpected {rest.strip()[0]!r} in {self._text!r}")
        self.kind = found.lastgroup or "" if found else ""
        self.token = found[self.kind] if found else ""
        self._at += found.end() if found else len(rest)
        return before

    def _expect(self, token: str) -> None:
        if self.token != token:
            raise ExpressionError(f"expected {token!r}, not {self.token!r}" if self.token
                                  else f"expected {token!r} at the end of {self._text!r}")
        self._advance()

    def level(self, level: int, depth: int) -> _Value:
        if depth > MOST_DEPTH:
            raise ExpressionError(f"more than {MOST_DEPTH} levels of parentheses, brackets and signs")
        if level == len(_LEVELS):
            return self._unary(depth)
        left = self.level(level + 1, depth)
        chain = 0
        while self.kind == "operator" and self.token in _LEVELS[level]:
            chain += 1
            if chain > MOST_DEPTH:
                raise ExpressionError(f"more than {MOST_DEPTH} operators in a row")
            left = _binary(self._advance(), left, self.level(level + 1, depth))
        return left

    def _unary(self, depth: int) -> _Value:
        if self.kind == "operator" and self.token in "-+~!":
            sign = self._advance()
            return _signed(sign, self._deeper(depth))
        return self._primary(depth)

    def _deeper(self, depth: int) -> _Value:
        if depth >= MOST_DEPTH:
            raise ExpressionError(f"more than {MOST_DEPTH} levels of parentheses, brackets and signs")
        return self._unary(depth + 1)

    def _primary(self, depth: int) -> _Value:
        kind, token = self.kind, self.token
        if kind in ("register", "flag", "number", "name"):
            self._advance()
            return (self._register(token) if kind == "register" else self._special(token) if kind == "flag"
                    else _literal(token) if kind == "number" else self._name(token, depth))
        if token == "(":
            self._advance()
            value = self.level(0, depth + 1)
            self._expect(")")
            return value
        if token == "[":
            self._advance()
            address = self.level(0, depth + 1)
            self._expect("]")
            code = _TYPES["ud"]
            if self.token == ":":
                self._advance()
                code = _type(self._advance())
            return lambda context, lane: context.memory(address(context, lane), code)
        raise ExpressionError(f"expected a value, not {token!r}" if token
                              else f"expected a value at the end of {self._text!r}")

    def _register(self, token: str) -> _Value:
        found = _REGISTER.fullmatch(token)
        assert found is not None
        file, number, code = found[1], int(found[2][:4]), _type(found[4] or "ud")
        size = struct.calcsize(code)
        if found[3] is None:
            self.is_wide = True
            return lambda context, lane: context.register(file, number, lane * size, code)
        offset = int(found[3][:4]) * size
        if offset >= 32:
            raise ExpressionError(f"{token}: a register has {32 // size} elements of that type")
        return lambda context, lane: context.register(file, number, offset, code)

    def _special(self, token: str) -> _Value:
        name, _, digit = token.partition(".")
        n = int(digit)
        if n >= {"f0": 2, "cr0": 3, "a0": 16}[name]:
            raise ExpressionError(f"unknown register {token}")
        if name == "f0":
            return lambda context, lane: context.state.flags[n]
        if name == "cr0":
            return lambda context, lane: context.state.cr0[n]
        return lambda context, lane: context.state.a0[n]

    def _name(self, name: str, depth: int) -> _Value:
        if name in FUNCTIONS:
            self._expect("(")
            values = [self.level(0, depth + 1)]
            while self.token == ",":
                self._advance()
                values.append(self.level(0, depth + 1))
            self._expect(")")
            return _call(name, values)
        if name not in NAMES:
            raise ExpressionError(f"unknown name {name!r} (known: {', '.join((*NAMES, *FUNCTIONS))})")
        if name in ("lane", "x", "y"):
            self.is_wide = True
        return _named(name)


def _type(name: str) -> str:
    if name not in _TYPES:
        raise ExpressionError(f"unknown type {name!r} (known: {', '.join(_TYPES)})")
    return _TYPES[name]


def _literal(token: str) -> _Value:
    value: Number = float(token) if not token.lower().startswith("0x") and re.search(r"[.eE]", token) else (
        int(token, 16) if token.lower().startswith("0x") else int(token))
    _fitting(value)
    return lambda context, lane: value


def _named(name: str) -> _Value:
    if name in ("inf", "nan"):
        return lambda context, lane: float(name)
    if name == "draw":
        return lambda context, lane: context.device.place.draw
    if name == "lane":
        return lambda context, lane: lane
    if name == "thread":
        return lambda context, lane: context.thread.thread.number
    if name == "ip":
        return lambda context, lane: context.thread.address
    if name == "object":
        return lambda context, lane: _known(context.thread.thread.object, "the thread works on no single object")

    def coordinate(context: Context, lane: int) -> Number:
        pixel = pixel_of(context.thread.thread, lane)
        return -1 if pixel is None else pixel[name == "y"]

    return coordinate


def _known(value: int | None, error: str) -> int:
    if value is None:
        raise ExpressionError(error)
    return value


def _fitting(value: Number) -> Number:
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        raise ExpressionError("an integer does not fit 64 bits")
    return value


def _integers(sign: str, *values: Number) -> tuple[int, ...]:
    if not all(isinstance(value, int) for value in values):
        raise ExpressionError(f"{sign} needs integers")
    return tuple(int(value) for value in values)


def _signed(sign: str, value: _Value) -> _Value:
    def run(context: Context, lane: int) -> Number:
        found = value(context, lane)
        if sign == "~":
            return ~_integers("~", found)[0]
        return int(not found) if sign == "!" else _fitting(-found) if sign == "-" else found

    return run


def _divide(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        if not b:
            raise ExpressionError("division by zero")
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _remainder(a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return a - b * int(_divide(a, b))
    return math.fmod(a, b) if b and math.isfinite(a) else math.nan


def _shift(sign: str, a: int, b: int) -> int:
    if not 0 <= b < 64:
        raise ExpressionError(f"{sign} by {b}: a shift is 0 to 63")
    return a << b if sign == "<<" else a >> b


_ARITHMETIC: dict[str, Callable[[Number, Number], Number]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": _remainder,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_BITS: dict[str, Callable[[int, int], int]] = {
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": lambda a, b: _shift("<<", a, b), ">>": lambda a, b: _shift(">>", a, b)}


def _binary(sign: str, left: _Value, right: _Value) -> _Value:
    def run(context: Context, lane: int) -> Number:
        a = left(context, lane)
        if sign in ("&&", "||"):
            return int(bool(a)) if bool(a) == (sign == "||") else int(bool(right(context, lane)))
        b = right(context, lane)
        if sign in _BITS:
            return _fitting(_BITS[sign](*_integers(sign, a, b)))
        try:
            found = _ARITHMETIC[sign](a, b)
        except OverflowError:
            raise ExpressionError(f"the result of {sign} is too large") from None
        return _fitting(int(found) if isinstance(found, bool) else found)

    return run


def _call(name: str, values: list[_Value]) -> _Value:
    if name in ("abs", "isnan", "isinf") and len(values) != 1:
        raise ExpressionError(f"{name} needs one value")

    def run(context: Context, lane: int) -> Number:
        found = [value(context, lane) for value in values]
        if name == "abs":
            return abs(found[0])
        if name == "isnan":
            return int(math.isnan(found[0]))
        if name == "isinf":
            return int(math.isinf(found[0]))
        return min(found) if name == "min" else max(found)

    return run


def value_text(value: Number) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def json_values(values: list[Number] | None) -> list[Number | str] | None:
    """NaN and infinities, which JSON lacks, are strings."""
    if values is None:
        return None
    return [value if math.isfinite(value) else str(value) for value in values]
