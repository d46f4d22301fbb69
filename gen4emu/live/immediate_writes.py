"""The writes of a batch that programs poll for: stores of immediate data, and post-sync writes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from enum import IntEnum

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.chips import Device
from gen4emu.hw.layout import Command

_MAX_COMMANDS = 1 << 18
_MAX_BATCHES = 1 << 12  # a batch that chains to itself never ends
_MAX_DEPTH = 3  # of batches that return

Read = Callable[[int, int], bytes]
Clock = Callable[[], int]


class PostSync(IntEnum):
    """Post-Sync Operation of PIPE_CONTROL and MI_FLUSH_DW, which has no depth count."""

    NOTHING = 0
    IMMEDIATE_DATA = 1
    DEPTH_COUNT = 2
    TIMESTAMP = 3


class ImmediateWrites:
    """Finds these writes in batches for one chip."""

    def __init__(self, chip: Device) -> None:
        self._gen = chip.gen
        self._catalogue = catalogue_of(chip.gen)
        start, end = (self._catalogue.command(f"MI_BATCH_BUFFER_{name}") for name in ("START", "END"))
        self._start, self._end = start, end
        self._returns = "second_level_batch_buffer" in {field.name for field in start.fields_for(chip.gen)}
        stores = (self._catalogue.command(name) for name in ("MI_STORE_DATA_IMM", "PIPE_CONTROL", "MI_FLUSH_DW"))
        self._stores = {command: _data_start(command, chip) for command in stores}

    def of(self, batch: int, read: Read, clock: Clock) -> Iterator[tuple[int, bytes]]:
        """(address, data) of each write, in order.  Depth counts are 0; `clock` gives the timestamps."""
        callers: list[int] = []
        address = batch
        batches = 0
        for _ in range(_MAX_COMMANDS):
            header = int.from_bytes(read(address, 4), "little")
            command = self._catalogue.command_for(header)
            length = self._catalogue.length(header)
            end = address + 4 * length
            if command is self._end:
                if not callers:
                    return
                end = callers.pop()
            elif command is self._start and length >= command.size(self._gen):
                batches += 1
                if batches == _MAX_BATCHES:
                    return
                view = command.view(_words(read, address, length), gen=self._gen)
                if self._returns and view.raw("second_level_batch_buffer") and len(callers) < _MAX_DEPTH:
                    callers.append(end)
                end = view.batch_buffer_start_address
            elif command in self._stores and length > self._stores[command]:
                yield from self._written(command, _words(read, address, length), clock)
            address = end

    def _written(self, command: Command, words: list[int], clock: Clock) -> Iterator[tuple[int, bytes]]:
        view = command.view(words, gen=self._gen)
        operation = PostSync.IMMEDIATE_DATA
        if command.name != "MI_STORE_DATA_IMM":
            operation = PostSync(view.raw("post_sync_operation"))
        if operation is PostSync.IMMEDIATE_DATA:
            data = words[self._stores[command]:]
            yield view.address, struct.pack(f"<{len(data)}I", *data)
        elif operation is not PostSync.NOTHING:
            yield view.address, struct.pack("<Q", clock() if operation is PostSync.TIMESTAMP else 0)


def _data_start(command: Command, chip: Device) -> int:
    """The dword after the address."""
    field = next(field for field in command.fields_for(chip.gen) if field.name == "address")
    return field.dword + 1 + field.hi // 32


def _words(read: Read, address: int, count: int) -> list[int]:
    return list(struct.unpack(f"<{count}I", read(address, 4 * count)))
