"""Every layout of every unit, and how to find one: commands by header, blocks by name, registers by offset.

`Catalogue(gen)` holds what one part has; the functions that take a `gen` use its catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TypeVar, cast

from gen4emu.hw.family import Family
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4 import GEN4
from gen4emu.hw.gen45 import GEN45
from gen4emu.hw.generation import Generation, ordered
from gen4emu.hw.layout import Block, Command, Engine, Message, Register, client_of

B = TypeVar("B", bound=Block)

# A new generation is entered here: its folder has this name, and its table is the constant of that name in capitals.
# A table is imported when a device of that generation is first used.
_TABLES: dict[str, Gen] = {"gen4": Gen.GEN4, "gen45": Gen.GEN45, "gen6": Gen.GEN6, "gen7": Gen.GEN7,
                           "gen75": Gen.GEN75, "gen8": Gen.GEN8, "gen9": Gen.GEN9}
FAMILIES: tuple[Family, ...] = (Family("g4", (GEN4, GEN45)),)  # any other generation is a family of its own


def generation_of(gen: Gen) -> Generation:
    """The generation of a part, or of several parts that belong to one."""
    for name, parts in _TABLES.items():
        if gen & parts == gen:
            return _generation(name)
    raise ValueError(f"{gen!r} is not a part of one generation")


def generations() -> tuple[Generation, ...]:
    """All generations, the oldest first."""
    return tuple(_generation(name) for name in _TABLES)


@cache
def _generation(name: str) -> Generation:
    return cast(Generation, getattr(import_module(f"gen4emu.hw.{name}"), name.upper()))


@cache
def family_of(gen: Gen) -> tuple[Generation, ...]:
    """The generations whose commands a part executes: its own first, then those with which it shares a loader."""
    own = generation_of(gen)
    family = next((family.generations for family in FAMILIES if own in family.generations), ())
    return own, *(generation for generation in family if generation is not own)


class Catalogue:
    """The layouts that one part has, or that any part of a set has.  `generation` is the table that lists them."""

    def __init__(self, gen: Gen, generation: Generation | None = None) -> None:
        self.gen = gen
        self.generation = generation or generation_of(gen)
        table = self.generation
        self.commands: tuple[Command, ...] = tuple(c for c in table.commands if c.gens & gen)
        self.blocks: tuple[Block, ...] = tuple(b for b in table.blocks if b.gens & gen)
        self.messages: tuple[Message, ...] = tuple(m for m in table.messages if m.gens & gen)
        self.registers: tuple[Register, ...] = tuple(r for r in table.registers if r.gens & gen)
        self.names = frozenset(c.name for c in self.commands)
        self._opcode_low = {c.client: c.opcode_low for c in self.commands}
        self._by_opcode = {(c.engine, c.client, c.header >> c.opcode_low): c for c in self.commands}
        self._written = {c.name: c for c in reversed(self.commands) if c.written}
        self._blocks = {b.name: b for b in self.all_layouts()}
        self._registers = {r.name: r for r in reversed(self.registers)}
        self._messages = {m.sfid: m for m in self.messages}
        self._by_offset = {r.offset + 4 * i: r for r in reversed(self.registers) for i in range(r.size(gen))}

    def all_layouts(self) -> tuple[Block, ...]:
        """Every layout, items of arrays before the layouts that hold them."""
        return ordered((*self.commands, *self.blocks, *self.messages, *self.registers))

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

    def message(self, sfid: int) -> Message | None:
        """The layout of the descriptors that a shared function takes, or None."""
        return self._messages.get(sfid)

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
def executed_command(name: str, gen: Gen) -> Command:
    """A command as a part executes it: with the layout of another generation if its own does not document it."""
    catalogues = [catalogue_of(gen), *(catalogue_of(generation.parts) for generation in family_of(gen))]
    for catalogue in catalogues:
        if name in catalogue.names:
            return catalogue.command(name)
    raise KeyError(f"{name} on {gen!r} and its relatives")


def block_named(name: str, gen: Gen) -> Block:
    return catalogue_of(gen).block(name)


@cache
def surface_state_of(gen: Gen) -> Block:
    """The state block of surfaces, whose name is another one from Gen7 on."""
    catalogue = catalogue_of(gen)
    names = {block.name for block in catalogue.blocks}
    return catalogue.block("RENDER_SURFACE_STATE" if "RENDER_SURFACE_STATE" in names else "SURFACE_STATE")


def register_at(offset: int, gen: Gen) -> Register | None:
    return catalogue_of(gen).register_at(offset)


def register_named(name: str, gen: Gen) -> Register:
    return catalogue_of(gen).register(name)
