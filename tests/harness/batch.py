"""A small machine for tests: memory that blocks are packed into, and batches made of packed commands."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gen4emu.decode import Command, Decoder, Diagnostic, Item, Node, Options, State
from gen4emu.hw import catalogue
from gen4emu.hw.chips import device_named
from gen4emu.isa import assemble
from gen4emu.trace.events import Engine, Submission

BATCH = 0x0010_0000
END = 0x05000000
# A pixel shader that writes one colour to render target 0, a vertex shader that only ends.
PS = "send(16) 1 null<1>UW g0<8,8,1>UW 0x85a04800 { align1 };"


class Machine:
    """Packs state and commands for one device, decodes them."""

    def __init__(self, device: str = "gm45", **options: Any) -> None:
        found = device_named(device)
        assert found is not None
        self.device, self.gen = found, found.gen
        self.decoder = Decoder(found, options=Options(**options))

    def put(self, name: str, address: int, **values: Any) -> int:
        block = catalogue.block_named(name, self.gen)
        self.decoder.memory.write(address, block.build(self.gen, **values))
        return address

    def dwords(self, address: int, *words: int) -> int:
        self.decoder.memory.write(address, struct.pack(f"<{len(words)}I", *words))
        return address

    def kernel(self, address: int, text: str) -> int:
        self.decoder.memory.write(address, assemble(text, self.gen))
        return address

    def command(self, name: str, **values: Any) -> list[int]:
        return catalogue.command_named(name, self.gen).pack(self.gen, **values)

    def batch(self, *commands: Sequence[int], address: int = BATCH, end: bool = True) -> int:
        words = [w for c in commands for w in c]
        return self.dwords(address, *words, *([END] if end else []))

    def run(self, *commands: Sequence[int]) -> list[Item]:
        """Decode a batch of these commands."""
        self.batch(*commands)
        return self.decode()

    def decode(self, address: int = BATCH) -> list[Item]:
        return list(self.decoder.batch(address))

    def submit(self, *ring: int, acthd: int | None = None) -> list[Item]:
        event = Submission(0, Engine.RENDER, struct.pack(f"<{len(ring)}I", *ring), 0x1000, acthd=acthd,
                           hung=acthd is not None)
        self.decoder.changed()
        return list(self.decoder.submission(event))


def commands(items: Sequence[Item]) -> list[Command]:
    return [i for i in items if isinstance(i, Command)]


def names(items: Sequence[Item]) -> list[str]:
    return [c.body.name for c in commands(items)]


def nodes(items: Sequence[Item]) -> list[Node]:
    return [n for c in commands(items) for n in c.walk()]


def states(items: Sequence[Item], name: str) -> list[State]:
    return [n for n in nodes(items) if isinstance(n, State) and n.body.name == name]


def diagnostics(items: Sequence[Item]) -> list[Diagnostic]:
    return [d for n in nodes(items) for d in n.diagnostics] + [i for i in items if isinstance(i, Diagnostic)]


def rules(items: Sequence[Item]) -> list[str]:
    return [d.rule for d in diagnostics(items)]
