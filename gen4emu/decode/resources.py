"""The surface and the sampler that a message names, by its immediate descriptor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from gen4emu.hw.gen import Gen
from gen4emu.isa.instruction import Descriptor


class Kind(Enum):
    """How a message uses its surface."""

    SURFACE = "surface"  # reads or writes it by way of a data port
    TEXTURE = "texture"  # samples it
    TARGET = "render target"


@dataclass(slots=True, frozen=True)
class Resource:
    """One entry of the binding table, and the sampler if the message needs one."""

    kind: Kind
    index: int
    sampler: int | None = None
    media_state: str = ""  # the block of the sampler's state, for the media functions; the surface is a media surface


# Finds the resource that a message uses: None if it accesses no surface.
ResourceOf = Callable[[Descriptor, Gen], Resource | None]
