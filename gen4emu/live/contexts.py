"""Hardware contexts of one connection, switched as the kernel does it: with MI_SET_CONTEXT in the ring.

Each context has a whole copy of the state (docs/decisions.md 19).  The switches are part of the ring contents, so the
replay of a capture performs the same ones.  A new context is initialised from a pristine one, in which nothing runs.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from gen4emu._native import lib
from gen4emu.errors import Gen4emuError
from gen4emu.hw.catalogue import catalogue_of, command_named
from gen4emu.hw.chips import Device
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Command
from gen4emu.trace.ring import start_batch

RING_ADDRESS = 0x1000  # the shim binds buffers from 1 MiB up
_PRISTINE_IMAGE = 0x10000
_IMAGE_BYTES = 0x1000
_MAX_CONTEXTS = int(lib.G4_LIVE_MAX_CONTEXTS)
_SLOT = 1 << 32  # numbers of the hardware contexts of the second slots of engine maps start here, and so on



class InvalidContext(Gen4emuError):
    """The shim named a context that does not exist, or exists already; the connection ends."""


class Contexts:
    """Which contexts exist and which one is loaded; builds the ring contents of a submission."""

    def __init__(self, gen: Gen) -> None:
        self._gen = gen
        self._set = command_named("MI_SET_CONTEXT", gen)
        self._load = command_named("MI_LOAD_REGISTER_IMM", gen)
        self._start = struct.Struct("<2I")
        start = command_named("MI_BATCH_BUFFER_START", gen)
        self._start_header = _pack(start, gen, address_space_indicator=1, non_privileged=True)[0]
        self._images = {0: _PRISTINE_IMAGE + _IMAGE_BYTES}  # hardware context: address of its image
        self._free: list[int] = []
        self._next = _PRISTINE_IMAGE + 2 * _IMAGE_BYTES
        self._fresh = {0}  # contexts that have run nothing yet
        self._loaded: int | None = None

    def create(self, context: int) -> None:
        if context in self._images:
            raise InvalidContext(f"context {context} exists already")
        if context % _SLOT >= _MAX_CONTEXTS or len(self._images) >= 4 * _MAX_CONTEXTS:
            raise InvalidContext(f"more than {_MAX_CONTEXTS} contexts")
        if self._free:
            self._images[context] = self._free.pop()
        else:
            self._images[context] = self._next
            self._next += _IMAGE_BYTES
        self._fresh.add(context)

    def destroy(self, context: int) -> None:
        if context == 0 or context not in self._images:
            raise InvalidContext(f"context {context} does not exist")
        for part in [number for number in self._images if number % _SLOT == context]:
            self._free.append(self._images.pop(part))
            self._fresh.discard(part)
            if self._loaded == part:
                self._loaded = None

    def reset(self, context: int) -> None:
        """After a hang: initialise the context again before its next batch."""
        self._fresh.update(number for number in self._images if number % _SLOT == context)

    def number(self, context: int, slot: int) -> int:
        """The hardware context of a slot of a context's engine map."""
        return slot * _SLOT + context

    def ring(self, context: int, batch: int, slot: int = 0, resets_offsets: bool = False) -> bytes:
        """The ring contents with which the kernel runs a batch in a context, or in one slot of its engine map.

        With `resets_offsets`, stream output begins again at the start of its buffers.
        """
        reset = self._reset_offsets() if resets_offsets else b""
        return self._switch_to(context, slot) + reset + self.bare_ring(batch)

    def _reset_offsets(self) -> bytes:
        """MI_LOAD_REGISTER_IMM of all SO_WRITE_OFFSET, and an MI_NOOP that keeps the length even."""
        registers = [catalogue_of(self._gen).register(f"SO_WRITE_OFFSET{i}").offset for i in range(4)]
        words = self._load.pack(self._gen, writes=[{"register_offset": offset, "data": 0} for offset in registers])
        return struct.pack(f"<{len(words) + 1}I", *words, 0)

    def _switch_to(self, context: int, slot: int) -> bytes:
        """The commands that switch to a context, if it is not loaded."""
        if slot:
            if context not in self._images:
                raise InvalidContext(f"context {context} does not exist")
            context = self.number(context, slot)
            if context not in self._images:
                self.create(context)
        if context == self._loaded and context not in self._fresh:
            return b""
        image = self._images.get(context)
        if image is None:
            raise InvalidContext(f"context {context} does not exist")
        if context in self._fresh:
            switch = self._switch(_PRISTINE_IMAGE) + self._switch(image, inhibit=True)
            self._fresh.discard(context)
        else:
            switch = self._switch(image)
        self._loaded = context
        return switch

    def bare_ring(self, batch: int) -> bytes:
        """The ring contents with which the kernel runs a batch on an engine without contexts."""
        return self._start.pack(self._start_header, batch)

    def _switch(self, image: int, inhibit: bool = False) -> bytes:
        """MI_SET_CONTEXT between two MI_NOOPs, as the kernel writes it: one must follow, and the length stays even."""
        words = _pack(self._set, self._gen, logical_context_address=image, address_space="GTT",
                      extended_state_save_enable=True, extended_state_restore_enable=True, restore_inhibit=inhibit)
        return struct.pack(f"<{len(words) + 2}I", 0, *words, 0)


@lru_cache(_MAX_CONTEXTS)
def _pack(command: Command, gen: Gen, **values: int | str) -> tuple[int, ...]:
    """The dwords of a command, without the fields that the chip does not have."""
    known = {field.name for field in command.fields_for(gen)}
    return tuple(command.pack(gen, **{name: value for name, value in values.items() if name in known}))


class LogicalContexts:
    """The contexts of execution lists (Gen8 and later), which the hardware switches: no command names them."""

    def __init__(self) -> None:
        self._known = {0}
        self._numbers: dict[tuple[int, int], int] = {}  # of hardware contexts, by context and slot
        self._last = 0

    def create(self, context: int) -> None:
        if context in self._known:
            raise InvalidContext(f"context {context} exists already")
        if context >= _MAX_CONTEXTS:
            raise InvalidContext(f"more than {_MAX_CONTEXTS} contexts")
        self._known.add(context)

    def destroy(self, context: int) -> None:
        if context == 0 or context not in self._known:
            raise InvalidContext(f"context {context} does not exist")
        self._known.remove(context)
        for key in [key for key in self._numbers if key[0] == context]:
            del self._numbers[key]

    def reset(self, context: int) -> None:
        """Contexts have no state here."""

    def number(self, context: int, slot: int) -> int:
        """The hardware context of a slot of a context's engine map; one of a context that is gone never returns."""
        found = self._numbers.get((context, slot))
        if found is None:
            self._last += 1
            found = self._numbers[context, slot] = self._last
        return found

    def ring(self, context: int, batch: int, slot: int = 0, resets_offsets: bool = False) -> bytes:
        """The ring contents with which the kernel runs a batch in a context.  No offsets are reset on these chips."""
        if context not in self._known:
            raise InvalidContext(f"context {context} does not exist")
        return self.bare_ring(batch)

    def bare_ring(self, batch: int) -> bytes:
        return start_batch(batch, is_wide=True)


def contexts_of(chip: Device) -> Contexts | LogicalContexts:
    """Contexts as the kernel has them on a chip."""
    return LogicalContexts() if chip.address_bits > 32 else Contexts(chip.gen)
