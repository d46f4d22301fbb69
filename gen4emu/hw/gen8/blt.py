"""The commands of the 2D blitter of Gen8: those of Haswell with addresses of 48 bits, which move what follows them.

Lengths as Linux (intel_migrate.c) and xf86-video-intel (gen8 paths of sna_blt.c) send them.
"""

from __future__ import annotations

from dataclasses import replace

from gen4emu.hw.fields import Address, Array, Field, Ignored, Mbz
from gen4emu.hw.gen75 import GEN75
from gen4emu.hw.layout import Client, Command


def with_wide_addresses(command: Command) -> Command:
    """This command with a second dword after each address."""
    wide = [f.dword for f in command.all_fields if isinstance(f, Address)]

    def moved(dword: int) -> int:
        return dword + sum(address < dword for address in wide)

    fields: list[Field | Array] = []
    for f in command.all_fields:
        dword = moved(f.dword)
        if isinstance(f, Address):
            fields += [replace(f, dword=dword, hi=47), Ignored(dword, 63, 48)]
        elif isinstance(f, Mbz):
            fields.append(type(f)(dword, f.hi, f.lo))
        else:
            fields.append(f if dword == f.dword else replace(f, dword=dword))
    arrays = [replace(a, dword=moved(a.dword)) for a in command.all_arrays]
    return command.with_fields(moved(command.size(command.gens)), [*fields, *arrays], ref="Linux intel_migrate.c")


REPLACED: tuple[Command, ...] = tuple(
    with_wide_addresses(command) for command in GEN75.commands
    if command.client == Client.BLT and any(isinstance(f, Address) for f in command.all_fields))
