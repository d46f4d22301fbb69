"""Hardware contexts of one connection, switched as the kernel does: MI_SET_CONTEXT in the ring (spec/05 3.2).

Decision 19.  What the ring holds is all there is to it, so a capture replays the same switches.  A new context starts
from the state of the pristine one, in which nothing ever runs.
"""

from __future__ import annotations

import struct

from gen4emu.hw.catalogue import command_named
from gen4emu.hw.gen import Gen
from gen4emu.live.link import ProtocolError

RING_ADDRESS = 0x1000  # the shim's buffers live elsewhere (spec/80 3.3: from 1 MiB up)
_IMAGES = 0x10000
_IMAGE_BYTES = 0x1000
_MAX_CONTEXTS = 4096


class Contexts:
    """Which contexts exist, which is loaded; makes the ring contents of a submission."""

    def __init__(self, gen: Gen) -> None:
        self._gen = gen
        self._set = command_named("MI_SET_CONTEXT", gen)
        self._start = struct.Struct("<2I")
        self._start_header = command_named("MI_BATCH_BUFFER_START", gen).pack(gen)[0]
        self._images = {0: _IMAGES + _IMAGE_BYTES}
        self._free: list[int] = []
        self._next = _IMAGES + 2 * _IMAGE_BYTES
        self._fresh = {0}  # have run nothing yet
        self._loaded: int | None = None

    def create(self, context: int) -> None:
        if context in self._images:
            raise ProtocolError(f"context {context} exists already")
        if len(self._images) >= _MAX_CONTEXTS:
            raise ProtocolError(f"more than {_MAX_CONTEXTS} contexts")
        if self._free:
            self._images[context] = self._free.pop()
        else:
            self._images[context] = self._next
            self._next += _IMAGE_BYTES
        self._fresh.add(context)

    def destroy(self, context: int) -> None:
        if context == 0 or context not in self._images:
            raise ProtocolError(f"context {context} does not exist")
        self._free.append(self._images.pop(context))
        self._fresh.discard(context)
        if self._loaded == context:
            self._loaded = None

    def reset(self, context: int) -> None:
        """After a hang, a context starts from its first state."""
        self._fresh.add(context)

    def ring(self, context: int, batch: int) -> bytes:
        """What the kernel would put into the ring to run a batch in a context."""
        start = self._start.pack(self._start_header, batch)
        if context == self._loaded and context not in self._fresh:
            return start
        image = self._images.get(context)
        if image is None:
            raise ProtocolError(f"context {context} does not exist")
        if context in self._fresh:
            switch = self._switch(_IMAGES) + self._switch(image, inhibit=True)
            self._fresh.discard(context)
        else:
            switch = self._switch(image)
        self._loaded = context
        return switch + start

    def bare_ring(self, batch: int) -> bytes:
        """The same on an engine without contexts."""
        return self._start.pack(self._start_header, batch)

    def _switch(self, image: int, inhibit: bool = False) -> bytes:
        """MI_SET_CONTEXT between two MI_NOOPs, as the kernel writes it: one must follow, and the length stays even."""
        words = self._set.pack(self._gen, logical_context_address=image, address_space="GTT",
                               extended_state_save_enable=True, extended_state_restore_enable=True,
                               restore_inhibit=inhibit)
        return struct.pack(f"<{len(words) + 2}I", 0, *words, 0)
