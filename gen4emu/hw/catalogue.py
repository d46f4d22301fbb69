"""Every layout of every unit, and how to find one: commands by header, blocks by name, registers by offset.

`Catalogue(gen)` holds what one part has; the functions that take a `gen` use its catalogue.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TypeVar

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import GEN4, messages, pipeline, surface
from gen4emu.hw.gen6 import GEN6
from gen4emu.hw.gen7 import GEN7
from gen4emu.hw.gen8 import GEN8
from gen4emu.hw.gen9 import GEN9
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.generation import Generation
from gen4emu.hw.layout import Block, Command, Engine, Message, Register, client_of

B = TypeVar("B", bound=Block)

COMMANDS, BLOCKS, MESSAGES, REGISTERS = GEN4.commands, GEN4.blocks, GEN4.messages, GEN4.registers
EXTRA_ENUMS: tuple[type[enum.IntEnum], ...] = (*surface.ENUMS, *messages.ENUMS, *pipeline.ENUMS)
GENERATIONS: tuple[Generation, ...] = (GEN4, GEN6, GEN7, GEN75, GEN8, GEN9)  # a new generation is entered here


def all_layouts() -> tuple[Block, ...]:
    """Every Gen4 layout, items of arrays before the layouts that hold them."""
    return _ordered((*COMMANDS, *BLOCKS, *MESSAGES, *REGISTERS))


def _ordered(blocks: Iterable[Block]) -> tuple[Block, ...]:
    ordered: dict[str, Block] = {}
    for block in blocks:
        for a in block.all_arrays:
            ordered.setdefault(a.item.name, a.item)
        ordered.setdefault(block.name, block)
    return tuple(ordered.values())


class Catalogue:
    """The layouts that one part has, or that any part of a set has.  `generation` is the table that lists them."""

    def __init__(self, gen: Gen, generation: Generation | None = None) -> None:
        self.gen = gen
        self.generation = generation or next(g for g in reversed(GENERATIONS) if g.parts & gen)
        table = self.generation
        self.commands: tuple[Command, ...] = tuple(c for c in table.commands if c.gens & gen)
        self.blocks: tuple[Block, ...] = tuple(b for b in table.blocks if b.gens & gen)
        self.messages: tuple[Message, ...] = tuple(m for m in table.messages if m.gens & gen)
        self.registers: tuple[Register, ...] = tuple(r for r in table.registers if r.gens & gen)
        self._opcode_low = {c.client: c.opcode_low for c in self.commands}
        self._by_opcode = {(c.engine, c.client, c.header >> c.opcode_low): c for c in self.commands}
        self._written = {c.name: c for c in reversed(self.commands) if c.written_for & gen}
        self._blocks = {b.name: b for b in self.all_layouts()}
        self._registers = {r.name: r for r in reversed(self.registers)}
        self._by_offset = {r.offset + 4 * i: r for r in reversed(self.registers) for i in range(r.size(gen))}

    def all_layouts(self) -> tuple[Block, ...]:
        """Every layout, items of arrays before the layouts that hold them."""
        return _ordered((*self.commands, *self.blocks, *self.messages, *self.registers))

    def command_for(self, header: int, engine: Engine = Engine.RENDER) -> Command | None:
        """The command that a header dword starts on an engine, or None."""
        client = client_of(header)
        low = self._opcode_low.get(client)
        if low is None:
            return None
        opcode = header >> low
        return self._by_opcode.get((engine, client, opcode)) or self._by_opcode.get((None, client, opcode))

    def length(self, header: int, engine: Engine = Engine.RENDER) -> int:
        """Total dwords of a command, known or not, by its header."""
        command = self.command_for(header, engine)
        return self.generation.unknown_length(header) if command is None else command.length(header)

    def command(self, name: str) -> Command:
        """The command with a name, in the encoding that drivers write."""
        return self._find(self._written, name)

    def block(self, name: str) -> Block:
        """The block, message, register or command with a name."""
        return self._find(self._blocks, name)

    def register(self, name: str) -> Register:
        return self._find(self._registers, name)

    def register_at(self, offset: int) -> Register | None:
        return self._by_offset.get(offset - offset % 4)

    def _find(self, table: Mapping[str, B], name: str) -> B:
        try:
            return table[name]
        except KeyError:
            raise KeyError(f"{name} on {self.gen!r}") from None


@cache
def catalogue_of(gen: Gen) -> Catalogue:
    """The catalogue of a part, or of a set of parts of one generation."""
    return Catalogue(gen)


def command_for(header: int, gen: Gen) -> Command | None:
    """The command that a header dword starts on one part, or None."""
    return catalogue_of(gen).command_for(header)


def command_named(name: str, gen: Gen) -> Command:
    return catalogue_of(gen).command(name)


@cache
def block_named(name: str) -> Block:
    for b in all_layouts():
        if b.name == name:
            return b
    raise KeyError(name)


def register_at(offset: int, gen: Gen) -> Register | None:
    return catalogue_of(gen).register_at(offset)


def register_named(name: str, gen: Gen) -> Register:
    return catalogue_of(gen).register(name)
