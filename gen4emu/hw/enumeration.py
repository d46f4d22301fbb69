"""Enumerations that extend others: a class with members cannot have subclasses."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


def enumeration(name: str, doc: str, codes: Mapping[str, int], module: str) -> type[IntEnum]:
    """An enumeration with these members; `module` is the one that defines it."""
    make: Any = IntEnum  # which mypy knows with literals only
    made: type[IntEnum] = make(name, dict(codes), module=module)
    made.__doc__ = doc
    return made
