"""Every layout of every unit, and how to find one: commands by header, blocks by name, registers by offset."""

from __future__ import annotations

import enum
from functools import cache

from gen4emu.hw import blt, common, gen9, media, messages, mi, pipeline, registers, sampler, state, surface
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Client, Command, Message, Register

COMMANDS: tuple[Command, ...] = (*mi.COMMANDS, *blt.COMMANDS, *common.COMMANDS, *pipeline.COMMANDS,
                                 *sampler.COMMANDS, *media.COMMANDS)
GEN9_COMMANDS: tuple[Command, ...] = gen9.COMMANDS
BLOCKS: tuple[Block, ...] = (*pipeline.BLOCKS, *state.BLOCKS, *surface.BLOCKS, *sampler.BLOCKS, *messages.BLOCKS,
                             *media.BLOCKS, *registers.BLOCKS)
MESSAGES: tuple[Message, ...] = messages.MESSAGES
REGISTERS: tuple[Register, ...] = registers.REGISTERS
EXTRA_ENUMS: tuple[type[enum.IntEnum], ...] = (*surface.ENUMS, *messages.ENUMS, *pipeline.ENUMS)


def all_layouts() -> tuple[Block, ...]:
    """Every Gen4 layout that C may want to unpack, items of arrays before the layouts that hold them."""
    ordered: dict[str, Block] = {}
    for block in (*COMMANDS, *BLOCKS, *MESSAGES, *REGISTERS):
        for a in block.all_arrays:
            ordered.setdefault(a.item.name, a.item)
        ordered.setdefault(block.name, block)
    return tuple(ordered.values())


@cache
def _by_opcode(gen: Gen) -> dict[tuple[int, int], Command]:
    commands = GEN9_COMMANDS if gen & Gen.GEN9 else COMMANDS
    return {(c.header >> 29, c.header >> c.opcode_low): c for c in commands if c.gens & gen}


_LONG_MI_OPCODES = (0x22, 0x24)  # MI_LOAD_REGISTER_IMM and MI_STORE_REGISTER_MEM have 8 bits of length, not 6
_OPCODE_LOW = {Client.MI: 23, Client.BLT: 22, Client.GFXPIPE: 16}


def command_for(header: int, gen: Gen) -> Command | None:
    """The command that a header dword starts on one part, or None."""
    low = _OPCODE_LOW.get(header >> 29)
    return None if low is None else _by_opcode(gen).get((header >> 29, header >> low))


def command_length(header: int) -> int:
    """Total dwords by the rule of the command's client, whether the command is known or not (spec/05 2.1)."""
    client = header >> 29
    if client == Client.MI:
        opcode = header >> 23
        return 1 if opcode < 0x10 else (header & (0xFF if opcode in _LONG_MI_OPCODES else 0x3F)) + 2
    if client == Client.BLT:
        return (header & 0xFF) + 2
    if client == Client.GFXPIPE:
        code = header >> 16
        pipeline_number = header >> 27 & 3
        if pipeline_number == 1 or code in (0x6104, 0x780B):
            return 1
        return (header & (0xFFFF if pipeline_number == 2 else 0xFF)) + 2
    return 1


@cache
def command_named(name: str, gen: Gen) -> Command:
    commands = GEN9_COMMANDS if gen & Gen.GEN9 else COMMANDS
    for c in commands:
        if c.name == name and c.written_for & gen:
            return c
    raise KeyError(f"{name} on {gen!r}")


@cache
def block_named(name: str) -> Block:
    for b in all_layouts():
        if b.name == name:
            return b
    raise KeyError(name)


@cache
def register_at(offset: int, gen: Gen) -> Register | None:
    for r in REGISTERS:
        if r.gens & gen and r.offset <= offset < r.offset + 4 * r.size(gen):
            return r
    return None


@cache
def register_named(name: str, gen: Gen) -> Register:
    for r in REGISTERS:
        if r.name == name and r.gens & gen:
            return r
    raise KeyError(f"{name} on {gen!r}")
