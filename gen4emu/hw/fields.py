"""The kinds of fields a command, state block, message or register is made of.

A field has a range of bits (`hi`..`lo`, counted from bit 0 of dword `dword`; up to 64 bits may cross dwords), a
meaning, the parts on which it exists and, in a union, a condition.  It converts raw bits to a value and back; no other
module knows the position of a bit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from gen4emu.errors import FieldError
from gen4emu.hw.gen import Gen

if TYPE_CHECKING:
    from gen4emu.hw.layout import Block


@dataclass(frozen=True, slots=True)
class When:
    """A field of a union exists when another field of the same layout has (or has not) one of these raw values."""

    field: str
    values: frozenset[int]
    negate: bool = False

    def holds(self, raw: int) -> bool:
        return (raw in self.values) != self.negate


def when(field: str, *values: int) -> When:
    return When(field, frozenset(int(v) for v in values))


def unless(field: str, *values: int) -> When:
    return When(field, frozenset(int(v) for v in values), negate=True)


@dataclass(frozen=True, slots=True)
class Field:
    """Bits `hi`..`lo` of dword `dword`."""

    name: str
    dword: int
    hi: int
    lo: int
    _: KW_ONLY
    gens: Gen = Gen.ALL
    when: tuple[When, ...] = ()
    doc: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.lo <= self.hi < 64 or self.dword < 0:
            raise ValueError(f"{self.name}: bits {self.hi}:{self.lo} of dword {self.dword}")

    @property
    def width(self) -> int:
        return self.hi - self.lo + 1

    @property
    def mask(self) -> int:
        """The mask of the raw value, not shifted to its position."""
        return (1 << self.width) - 1

    def mask_in(self, dword: int) -> int:
        """The mask in a dword, for code that expects the field there: it is an error if the field is elsewhere."""
        if self.dword != dword or self.hi >= 32:
            raise ValueError(f"{self.name} is not in dword {dword}")
        return self.mask << self.lo

    @property
    def last_dword(self) -> int:
        return self.dword + self.hi // 32

    def extract(self, words: Any, at: int = 0) -> int:
        """The raw bits, from a sequence of dwords that starts at index `at`."""
        first, lo, hi = at + self.dword, self.lo, self.hi
        if hi < 32:
            return int(words[first]) >> lo & (2 << hi - lo) - 1
        return (int(words[first]) | int(words[first + 1]) << 32) >> lo & (2 << hi - lo) - 1

    def insert(self, words: list[int], raw: int) -> None:
        value = (raw & self.mask) << self.lo
        cleared = self.mask << self.lo
        words[self.dword] = words[self.dword] & ~cleared & 0xFFFFFFFF | value & 0xFFFFFFFF
        if self.hi >= 32:
            words[self.dword + 1] = words[self.dword + 1] & ~(cleared >> 32) & 0xFFFFFFFF | value >> 32

    # --- overridden by the kinds ---------------------------------------------------------------------------------
    def decode(self, raw: int) -> Any:
        return raw

    def encode(self, value: Any) -> int:
        return self._fit(int(value), 0, self.mask)

    def complaint(self, raw: int) -> str | None:
        """The rule that these bits break, or None."""
        return None

    def text(self, raw: int) -> str:
        """The value as a person reads it."""
        return str(self.decode(raw))

    @property
    def default(self) -> Any:
        return 0

    def _fit(self, raw: int, low: int, high: int, shown: object = None) -> int:
        if not low <= raw <= high:
            value = raw if shown is None else shown
            raise FieldError(f"{self.name}: {value} does not fit bits {self.hi}:{self.lo} of dword {self.dword}")
        return raw


def _out_of_range(value: int, low: int | None, high: int | None) -> str | None:
    """The complaint about a number outside its legal range."""
    if low is not None and value < low:
        return f"{value} is below {low}"
    if high is not None and value > high:
        return f"{value} is above {high}"
    return None


@dataclass(frozen=True, slots=True)
class Uint(Field):
    """An unsigned number.  value = (raw + bias) * scale; `low`/`high` bound the legal values, not the raw bits."""

    _: KW_ONLY
    bias: int = 0
    scale: int = 1
    low: int | None = None
    high: int | None = None
    hex: bool = False

    def decode(self, raw: int) -> int:
        return (raw + self.bias) * self.scale

    def encode(self, value: Any) -> int:
        raw, rest = divmod(int(value), self.scale)
        if rest:
            raise FieldError(f"{self.name}: {value} is not a multiple of {self.scale}")
        return self._fit(raw - self.bias, 0, self.mask, value)

    def complaint(self, raw: int) -> str | None:
        return _out_of_range(self.decode(raw), self.low, self.high)

    def text(self, raw: int) -> str:
        value = self.decode(raw)
        return f"0x{value:0{(self.width + 3) // 4}x}" if self.hex else str(value)

    @property
    def default(self) -> int:
        return self.decode(0)


@dataclass(frozen=True, slots=True)
class Sint(Field):
    """A two's complement number."""

    _: KW_ONLY
    low: int | None = None
    high: int | None = None

    def decode(self, raw: int) -> int:
        return raw - (1 << self.width) if raw >> (self.width - 1) else raw

    def encode(self, value: Any) -> int:
        half = 1 << (self.width - 1)
        return self._fit(int(value), -half, half - 1) & self.mask

    def complaint(self, raw: int) -> str | None:
        return _out_of_range(self.decode(raw), self.low, self.high)


@dataclass(frozen=True, slots=True)
class Fixed(Field):
    """Fixed point with `frac` fraction bits; the value is a float, C sees the integer."""

    _: KW_ONLY
    frac: int = 0
    signed: bool = False
    low: float | None = None
    high: float | None = None

    def decode(self, raw: int) -> float:
        if self.signed and raw >> (self.width - 1):
            raw -= 1 << self.width
        return raw / (1 << self.frac)

    def encode(self, value: Any) -> int:
        raw = float(value) * (1 << self.frac)
        if raw != raw or raw in (float("inf"), float("-inf")):
            raise FieldError(f"{self.name}: {value} is not a number that fits")
        half = 1 << (self.width - 1)
        low, high = (-half, half - 1) if self.signed else (0, self.mask)
        return self._fit(round(raw), low, high, value) & self.mask

    def complaint(self, raw: int) -> str | None:
        value = self.decode(raw)
        if self.low is not None and value < self.low:
            return f"{value:g} is below {self.low:g}"
        if self.high is not None and value > self.high:
            return f"{value:g} is above {self.high:g}"
        return None

    def text(self, raw: int) -> str:
        return f"{self.decode(raw):g}"


@dataclass(frozen=True, slots=True)
class Float(Field):
    """An IEEE single in a whole dword.  NaN payloads survive only through the raw bits."""

    def __post_init__(self) -> None:
        Field.__post_init__(self)
        if self.width != 32:
            raise ValueError(f"{self.name}: a float has 32 bits")

    def decode(self, raw: int) -> float:
        return float(struct.unpack("<f", struct.pack("<I", raw))[0])

    def encode(self, value: Any) -> int:
        try:
            return int(struct.unpack("<I", struct.pack("<f", value))[0])
        except OverflowError:
            raise FieldError(f"{self.name}: {value} does not fit a 32-bit float") from None

    def text(self, raw: int) -> str:
        return f"{self.decode(raw):.9g}"

    @property
    def default(self) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Bool(Field):
    """One bit.  Declare as `Bool(name, dword, bit)`."""

    def __init__(self, name: str, dword: int, bit: int, *, gens: Gen = Gen.ALL, when: tuple[When, ...] = (),
                 doc: str = "") -> None:
        Field.__init__(self, name, dword, bit, bit, gens=gens, when=when, doc=doc)

    def decode(self, raw: int) -> bool:
        return bool(raw)

    def text(self, raw: int) -> str:
        return "true" if raw else "false"

    @property
    def default(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Enum(Field):
    """A number with named values.  A value without a name is legal to hold and a complaint to lint."""

    enum: type[IntEnum]

    def decode(self, raw: int) -> IntEnum | int:
        try:
            return self.enum(raw)
        except ValueError:
            return raw

    def encode(self, value: Any) -> int:
        if isinstance(value, str):
            try:
                value = self.enum[value]
            except KeyError:
                raise FieldError(f"{self.name}: no value is called {value}") from None
        return self._fit(int(value), 0, self.mask)

    def complaint(self, raw: int) -> str | None:
        return None if raw in self.enum._value2member_map_ else f"{raw} is reserved"

    def text(self, raw: int) -> str:
        member = self.enum._value2member_map_.get(raw)
        return f"{raw} (reserved)" if member is None else str(member._name_)


@dataclass(frozen=True, slots=True)
class Address(Field):
    """A byte address whose low bits are not stored: the value is the bits at their position.

    `base` names the base register it is relative to: "general_state", "surface_state", "indirect_object",
    "instruction", from Gen6 on "dynamic_state", and those of later generations.  `target` names the block, kernel or
    data it points to and `count` how many of them (a number or the name of a field), which is what lets the decoder
    follow it.
    """

    _: KW_ONLY
    base: str = ""  # "" is a graphics address
    target: str = ""
    count: int | str = 1

    def decode(self, raw: int) -> int:
        return raw << self.lo

    def encode(self, value: Any) -> int:
        value = int(value)
        if value & ((1 << self.lo) - 1):
            raise FieldError(f"{self.name}: 0x{value:x} is not aligned to {1 << self.lo} bytes")
        return self._fit(value >> self.lo, 0, self.mask, f"0x{value:x}")

    def complaint(self, raw: int) -> str | None:
        """A field that reaches bit 63 holds an address of 48 bits, sign-extended.

        Hardware ignores bits 63:48, and Intel's compute driver leaves them 0.
        """
        address = raw << self.lo
        if self.hi < 63 or address >> 48 == 0 or address >> 47 == 0x1FFFF:
            return None
        return f"{self.text(raw)} is not canonical: bits 63:48 must equal bit 47, or be 0"

    def text(self, raw: int) -> str:
        return f"0x{self.decode(raw):08x}"


@dataclass(frozen=True, slots=True)
class Mbz(Field):
    """Reserved bits that must be zero.  Declare as `Mbz(dword, hi, lo)`; their name comes from their position."""

    def __init__(self, dword: int, hi: int = 31, lo: int = 0, *, gens: Gen = Gen.ALL, when: tuple[When, ...] = (),
                 doc: str = "") -> None:
        Field.__init__(self, f"reserved_{dword}_{hi}_{lo}", dword, hi, lo, gens=gens, when=when, doc=doc)

    def complaint(self, raw: int) -> str | None:
        return f"reserved bits are 0x{raw:x}, must be zero" if raw else None

    def text(self, raw: int) -> str:
        return f"0x{raw:x}"


@dataclass(frozen=True, slots=True, init=False)
class Ignored(Mbz):
    """Bits that the hardware ignores: any value is valid."""

    def complaint(self, raw: int) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Const(Field):
    """Bits with one right value, such as an opcode."""

    value: int

    def encode(self, value: Any) -> int:
        return self._fit(int(value), self.value, self.value)

    def complaint(self, raw: int) -> str | None:
        return None if raw == self.value else f"is 0x{raw:x}, must be 0x{self.value:x}"

    @property
    def default(self) -> int:
        return self.value


@dataclass(frozen=True, slots=True)
class Array:
    """`count` blocks one after the other from dword `dword` on; count None: to the end of the command or block."""

    name: str
    dword: int
    item: Block
    count: int | None = None
    _: KW_ONLY
    gens: Gen = Gen.ALL
    doc: str = ""


def claimed_bits(fields: Iterable[Field]) -> dict[tuple[int, int], list[Field]]:
    """The fields that own each bit, by (dword, bit): the basis of the every-bit-once test."""
    owners: dict[tuple[int, int], list[Field]] = {}
    for f in fields:
        for bit in range(f.lo, f.hi + 1):
            owners.setdefault((f.dword + bit // 32, bit % 32), []).append(f)
    return owners


def value_from_text(f: Field, text: str) -> Any:
    """A value as a person writes it, for `encode`.  Raises FieldError."""
    if isinstance(f, Bool):
        if text not in ("true", "false"):
            raise FieldError(f"{f.name}: {text!r} is neither true nor false")
        return text == "true"
    if isinstance(f, Float | Fixed):
        try:
            return float(text)
        except ValueError:
            raise FieldError(f"{f.name}: {text!r} is not a number") from None
    if isinstance(f, Enum) and (text in f.enum.__members__ or not text[:1].isdigit()):  # 3D is a name
        return text
    try:
        value = int(text, 0)
    except ValueError:
        raise FieldError(f"{f.name}: {text!r} is not a number") from None
    if not -(1 << 63) <= value < 1 << 64:
        raise FieldError(f"{f.name}: {text} does not fit 64 bits")
    return value
