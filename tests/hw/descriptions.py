"""Checks and data that the tests of several generations share."""

from __future__ import annotations

from collections import defaultdict

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.fields import Address
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Block, Engine

BASES = {"", "general_state", "surface_state", "dynamic_state", "indirect_object", "instruction"}
DATA = {"", "KERNEL", "SCRATCH", "VERTEX_DATA", "INDEX_DATA", "CONSTANTS", "SURFACE_DATA", "INDIRECT_DATA", "BATCH",
        "DATA"}


def dangling_pointers(part: Gen) -> list[tuple[str, str, str]]:
    """The pointers of a part whose target, base or count does not exist."""
    catalogue = catalogue_of(part)
    layouts: tuple[Block, ...] = (*catalogue.commands, *catalogue.all_layouts())
    targets = {layout.name for layout in layouts} | DATA
    wrong = []
    for layout in layouts:
        names = layout.by_name(part)
        for f in names.values():
            if isinstance(f, Address) and not (
                    f.target in targets and f.base in BASES and (isinstance(f.count, int) or f.count in names)):
                wrong.append((layout.name, f.name, f.target))
    return wrong


def duplicates(part: Gen) -> list[str]:
    """What a part has twice: headers of one engine, names, registers; each with the layouts that claim it."""
    catalogue = catalogue_of(part)
    claims: defaultdict[str, list[str]] = defaultdict(list)
    for c in catalogue.commands:
        claims[f"header 0x{c.header:08x} of {'all engines' if c.engine is None else c.engine.name}"].append(c.name)
        if c.written:
            claims[f"the name {c.name}"].append(f"0x{c.header:08x}")
    for block in (*catalogue.blocks, *catalogue.registers):
        claims[f"the name {block.name}"].append(type(block).__name__)
    for r in catalogue.registers:
        for i in range(r.size(part)):
            claims[f"register 0x{r.offset + 4 * i:x}"].append(r.name)
    return [f"{key}: {', '.join(claimants)}" for key, claimants in claims.items() if len(claimants) > 1]


def header_of(name: str, part: Gen) -> int:
    """The header that a builder writes for a command without any list."""
    return catalogue_of(part).command(name).pack(part)[0]


def found(header: int, part: Gen, engine: Engine = Engine.RENDER) -> str | None:
    command = catalogue_of(part).command_for(header, engine)
    return None if command is None else command.name


def packed(name: str, part: Gen, **values: object) -> list[int]:
    """The dwords of a command, block or register."""
    return catalogue_of(part).block(name).pack(part, **values)


def shown(name: str, part: Gen, *words: int) -> dict[str, object]:
    """The fields of a command or block that are not zero."""
    view = catalogue_of(part).block(name).view(words, gen=part)
    return {key: value for key, value in view.to_dict().items() if value not in (0, False, [])}


def unclaimed(name: str, part: Gen, *words: int) -> list[str]:
    """The rules that the dwords of a command break."""
    return [str(complaint) for complaint in catalogue_of(part).block(name).complaints(words, gen=part)]
