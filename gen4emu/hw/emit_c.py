"""Pieces of C that the generators of headers share: hw/c_header, formats_c, message_shapes_c, mpeg2_c, isa/c_header."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


def c_name(name: str) -> str:
    """The name of a layout as a C identifier, without prefix."""
    return "".join(c if c.isalnum() else "_" for c in name).lower().strip("_")


def enum(name: str, prefix: str, members: type[IntEnum] | Iterable[str]) -> str:
    """`enum name { PREFIX_MEMBER = value, ... };` of an enumeration, aliases included, or of names from 0 on."""
    if isinstance(members, type):
        lines = [f"    {prefix}_{member} = {value.value}," for member, value in members.__members__.items()]
    else:
        lines = [f"    {prefix}_{member.upper()}," for member in members]
    return "\n".join([f"enum {name} {{", *lines, "};\n"])


def guarded(source: str, guard: str, body: str) -> str:
    """A header that is generated from `source`."""
    return f"/* Generated from {source}: do not edit. */\n#ifndef {guard}\n#define {guard}\n{body}#endif\n"
