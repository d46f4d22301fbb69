"""The descriptor of a `send` from named fields."""

from __future__ import annotations

from typing import Any

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.gen import Gen


def descriptor(name: str, gen: Gen, *, length: int = 1, response: int = 0, **fields: Any) -> int:
    """Of the message NAME, with the registers of its payload and response.

    From Gen6 on, the shared function is in the instruction.
    """
    message = next(m for m in catalogue_of(gen).messages if m.name == name)
    if gen in Gen.ALL4:
        fields["shared_function"] = message.sfid
    (word,) = message.pack(gen, message_length=length, response_length=response, **fields)
    return word
