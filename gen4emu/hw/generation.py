"""A generation: the layouts that its parts have, as a table that starts from its predecessor's.

A later generation lives in files of its own:

    GEN6 = GEN45.derive("gen6", Gen.GEN6, like=Gen.EL,
                        replace=[STATE_BASE_ADDRESS, URB], add=[CONSTANT_VS], remove=["CS_URB_STATE", "URB_FENCE"])

Entries are named, so nothing that the new generation shares with the old one is written again, and no existing file
changes but for the list in gen4emu.hw.catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Command, Message, Register

B = TypeVar("B", bound=Block)


@dataclass(frozen=True, eq=False, slots=True)
class Generation:
    """The layouts of one generation.  Two encodings of one command share a name."""

    name: str
    parts: Gen
    unknown_length: Callable[[int], int]  # total dwords of a command that is not in the table, by its header
    commands: tuple[Command, ...]
    blocks: tuple[Block, ...] = ()
    messages: tuple[Message, ...] = ()
    registers: tuple[Register, ...] = ()

    def layouts(self) -> tuple[Block, ...]:
        """Every layout, items of arrays before the layouts that hold them."""
        return ordered((*self.commands, *self.blocks, *self.messages, *self.registers))

    def layout(self, name: str) -> Block:
        """The layout with a name; of two encodings of a command, the one that drivers write."""
        return next(block for block in (*self.commands, *self.blocks, *self.messages, *self.registers)
                    if block.name == name and (not isinstance(block, Command) or block.written))

    def command(self, name: str) -> Command:
        """The command with a name, in the encoding that drivers write."""
        return next(c for c in self.commands if c.name == name and c.written)

    def derive(self, name: str, parts: Gen, *, like: Gen, replace: Iterable[Block] = (), add: Iterable[Block] = (),
               remove: Collection[str] = (), unknown_length: Callable[[int], int] | None = None) -> Generation:
        """The table of a successor, which has everything that the part `like` has, with these differences.

        `replace` takes the place of the entries with the same names, also where an array contains one of them.
        """
        items: dict[str, Block] = {}  # of arrays
        replaced: dict[str, list[Block]] = {}
        for block in sorted(replace, key=lambda block: bool(block.all_arrays)):
            new = block.as_on(like, parts, items)
            replaced.setdefault(block.name, []).append(new)
            items.setdefault(block.name, new)
        added: list[Block] = []
        for block in sorted(add, key=lambda block: bool(block.all_arrays)):
            added.append(block.as_on(like, parts, items))
            items.setdefault(block.name, added[-1])
        known = {block.name for block in (*self.commands, *self.blocks, *self.messages, *self.registers)}
        unknown = sorted({*replaced, *remove} - known)
        if unknown:
            raise KeyError(f"{self.name} has no {', '.join(unknown)}")

        def table(kind: type[B], entries: Iterable[B]) -> tuple[B, ...]:
            found: list[Block] = []
            for entry in entries:
                if entry.name in replaced:
                    found += [block for block in replaced[entry.name] if block not in found]
                elif entry.name not in remove and entry.gens & like:
                    found.append(entry.as_on(like, parts, items))
            found += [block for block in added if _kind(block) is kind]
            return tuple(block for block in found if isinstance(block, kind))

        return Generation(name, parts, unknown_length or self.unknown_length, table(Command, self.commands),
                          table(Block, self.blocks), table(Message, self.messages), table(Register, self.registers))


def ordered(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """These layouts by name, items of arrays before the layouts that hold them."""
    found: dict[str, Block] = {}
    for block in blocks:
        for array in block.all_arrays:
            found.setdefault(array.item.name, array.item)
        found.setdefault(block.name, block)
    return tuple(found.values())


def _kind(block: Block) -> type[Block]:
    return next((kind for kind in (Command, Message, Register) if isinstance(block, kind)), Block)
