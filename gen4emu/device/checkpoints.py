"""Checkpoints: the whole state of a device between two commands, kept in memory.

A page that has not changed since the checkpoint before is shared with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

from gen4emu.device.device import Device, DeviceState
from gen4emu.device.memory import PAGE_SIZE, Memory
from gen4emu.device.options import Options
from gen4emu.device.page_tables import Mapping as PageMapping
from gen4emu.device.page_tables import PageTables
from gen4emu.hw.chips import Device as Part


@dataclass(frozen=True, slots=True)
class MemoryImage:
    """The contents of a memory."""

    pages: Mapping[int, bytes]  # by physical page number
    gtt: bytes
    mapped: PageMapping  # by page tables
    missed: tuple[tuple[int, int], ...]  # pages that units missed, and their flags
    mark: int  # when it was taken
    new_bytes: int  # of pages that are not shared with the image before
    written: frozenset[int] | None = None  # pages that may have changed since the image before; None: not known


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A device between two submissions, or inside one after a draw."""

    part: Part
    options: Options
    state: DeviceState
    memory: MemoryImage

    @property
    def draws(self) -> int:
        """The number of draw commands that have begun, and ended."""
        total = self.state.numbers[0]
        assert isinstance(total, int)
        return total


def take(device: Device, before: Checkpoint | None = None) -> Checkpoint | None:
    """The state of a device that rests (Device.save); None if a part of it cannot be kept.

    `before` is an earlier checkpoint of this very device, or the one that it was restored from.
    """
    if device.memory.is_external:
        return None
    state = device.save()
    if state is None:
        return None
    image = _take_memory(device, None if before is None else before.memory)
    return Checkpoint(device.info, device.options, state, image)


@dataclass(frozen=True, slots=True)
class Spare:
    """The memory of a device that is gone, for a device in another state of the same execution."""

    memory: Memory
    page_tables: PageTables
    image: MemoryImage  # that this memory once was

    def close(self) -> None:
        self.memory.close()


def restore(checkpoint: Checkpoint, spare: Spare | None = None) -> tuple[Device, Checkpoint]:
    """A new device in the state of a checkpoint, and the checkpoint as the one before its next.

    `spare` must be of a device of the same part with the same options.  It is used, which takes less time the fewer
    pages differ, or closed.
    """
    memory = None
    if spare is not None:
        if _rewrite(spare, checkpoint.memory):
            memory = spare.memory
        else:
            spare.close()
    device = Device(checkpoint.part, checkpoint.options, memory=memory)
    try:
        if memory is not None and spare is not None:
            device.page_tables.take_over(spare.page_tables)
            device.page_tables.load(checkpoint.memory.mapped)
            mark = memory.mark()
        else:
            mark = _restore_memory(device, checkpoint.memory)
        device.load(checkpoint.state)
    except BaseException:
        device.close()
        raise
    image = replace(checkpoint.memory, mark=mark, new_bytes=0)
    return device, Checkpoint(checkpoint.part, checkpoint.options, checkpoint.state, image)


def _take_memory(device: Device, before: MemoryImage | None) -> MemoryImage:
    import numpy as np  # slow, and most programs take no checkpoint

    memory, mapped = device.memory, device.page_tables.save()
    numbers = memory.owned_pages()
    known: Mapping[int, bytes] = {} if before is None else before.pages
    changed = np.ones(len(numbers), bool)
    if before is not None and not memory.strict_pte:
        changed = _changed(memory, device.page_tables, numbers, before.mark)
        changed |= ~np.isin(numbers, np.fromiter(known, np.uint64, len(known)))
    pages = {number: known[number] for number in numbers[~changed].tolist()}
    new = 0
    candidates = np.ascontiguousarray(numbers[changed])
    for number, data in zip(candidates.tolist(), memory.copy_pages(candidates), strict=True):
        old = known.get(number)
        if old == data:
            data = old
        else:
            new += 1
        pages[number] = data
    gtt = memory.gtt()
    if before is not None and gtt == before.gtt:
        gtt = before.gtt
    is_known = before is not None and not memory.strict_pte and not any(mapped) and not any(before.mapped)
    written = frozenset(candidates.tolist()) if is_known else None
    return MemoryImage(pages, gtt, mapped, tuple(memory.missed()), memory.mark(), new * PAGE_SIZE, written)


def _changed(memory: Memory, page_tables: PageTables, numbers: npt.NDArray[np.uint64], mark: int) \
        -> npt.NDArray[np.bool_]:
    """Which of these physical pages may have been written since.

    With `strict_pte` this is not known: a page does not know whether another address wrote it.
    """
    import numpy as np

    changed = np.ones(len(numbers), bool)
    translated = numbers < memory.page_count
    changed[translated] = memory.written_since(np.ascontiguousarray(numbers[translated]), mark)
    mapped = page_tables.written_since(mark)
    return changed | np.isin(numbers, mapped) if len(mapped) else changed


def _rewrite(spare: Spare, image: MemoryImage) -> bool:
    """Make memory equal to an image by writing the pages that differ; false: it has other pages, or flags of them."""
    import numpy as np

    memory = spare.memory
    if memory.strict_pte or memory.is_external or memory.gtt() != image.gtt:
        return False
    numbers = memory.owned_pages()
    if len(numbers) != len(image.pages) or tuple(memory.missed()) != image.missed:
        return False
    if not np.array_equal(numbers, np.sort(np.fromiter(image.pages, np.uint64, len(numbers)))):
        return False
    known = spare.image.pages
    changed = _changed(memory, spare.page_tables, numbers, spare.image.mark)
    differing = set(numbers[changed].tolist())
    if known is not image.pages:  # else it goes back to where it began
        differing.update(number for number, data in image.pages.items() if known.get(number) is not data)
    memory.write_pages({number: image.pages[number] for number in differing})
    return True


def _restore_memory(device: Device, image: MemoryImage) -> int:
    memory = device.memory
    memory.load_gtt(image.gtt)
    memory.write_pages(image.pages)
    device.page_tables.load(image.mapped)
    memory.set_missed(image.missed)
    return memory.mark()
