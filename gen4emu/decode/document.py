"""Decodes a whole trace: events are written to memory, submissions become nodes.

The memory, the context of the command streamer and the kernels last as long as the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gen4emu.decode.address_space import AddressSpace
from gen4emu.decode.commands import CommandWalker, Yielded
from gen4emu.decode.error_state import registers
from gen4emu.decode.gl_calls import GlCalls
from gen4emu.decode.kernels import Kernels
from gen4emu.decode.memory_reader import MemoryReader
from gen4emu.decode.models import model_of
from gen4emu.decode.nodes import (
    BatchStart,
    Body,
    Command,
    Item,
    Note,
    SubmissionEnd,
    SubmissionStart,
    TraceStart,
)
from gen4emu.decode.options import Options
from gen4emu.decode.pointers import PointerFollower
from gen4emu.device.landmarks import Landmark
from gen4emu.device.memory import MAX_GTT_ENTRIES, Memory, MemoryFault
from gen4emu.errors import DecodeError, FieldError
from gen4emu.hw.chips import BY_PCI_ID, Device
from gen4emu.hw.gen import Gen
from gen4emu.trace import events
from gen4emu.trace.devices import unnamed

if TYPE_CHECKING:
    from gen4emu.decode.lint import Linter
    from gen4emu.decode.lint_order import LaterLinter

_WRITES_KEPT = 1 << 20
_TABLES_KEPT = 256


class Decoder:
    """Decodes submissions of one device.

    >>> decoder = Decoder(device)
    >>> decoder.memory.write(0x100000, batch)
    >>> for item in decoder.batch(0x100000): print(TextRenderer().render(item), end="")
    """

    def __init__(self, device: Device, memory: Memory | AddressSpace | None = None,
                 options: Options | None = None) -> None:
        self.device, self.gen = device, device.gen
        self.options = Options() if options is None else options
        self.memory = memory_of(device, self.options) if memory is None else memory
        self.model = model_of(self.gen)
        self.context = self.model.new_context(device.address_bits)
        self.peek = MemoryReader(self.memory)
        self.kernels = Kernels(self.gen, self.model.resource_of)
        self.follower = PointerFollower(self.peek, self.gen, self.model, self.context, self.kernels, self.options)
        self.walker = CommandWalker(self.peek, self.gen, self.context, self.follower, self.options)
        self.linter = self._linter() if self.options.lint else None

    def _linter(self) -> Linter | LaterLinter:
        """The rules of the device's generation, which are imported only for `lint`."""
        if self.gen & Gen.ALL4:
            from gen4emu.decode.lint import Linter

            return Linter(self.device, self.context, self.kernels)
        from gen4emu.decode.lint_order import LaterLinter

        return LaterLinter(self.device, self.context, self.peek)

    def changed(self) -> None:
        """Memory was written: drop cached contents."""
        self.peek.forget()
        self.kernels.forget()

    def submission(self, event: events.Submission, number: int = 0) -> Iterator[Item]:
        """One submission, from its start to its end."""
        self.follower.new_submission()
        if isinstance(self.memory, AddressSpace) and self.memory.select(event.page_table):
            self.changed()
        if self.device.address_bits > 32:  # contexts belong to submissions
            self.context.switch(event.context)
        if self.linter is not None:
            self.linter.submission(event.engine.value)
        yield SubmissionStart(number, event.engine.value, event.ring_address, len(event.ring), self.device,
                              event.hung, event.acthd)
        yield from self._linted(self.walker.submission(event))
        if event.batch_address is not None:
            yield from self._linted(self.walker.batch(event.batch_address, "object"))
        if event.hung and self.follower.missing:
            wanted = ", ".join(f"0x{a:08x} ({what})" for a, what in sorted(self.follower.missing.items())[:64])
            yield Note("missing", f"not in the dump: {wanted}", event.offset)
        yield SubmissionEnd(number)

    def batch(self, address: int) -> Iterator[Item]:
        """One batch in memory, without a ring."""
        self.changed()
        self.follower.new_submission()
        self.walker.begin()
        yield from self._linted(self.walker.batch(address, "object"))

    def block(self, name: str, address: int, count: int = 1) -> Iterator[Item]:
        """The contents of memory at an address as blocks of this name, as a KERNEL, or as a BATCH."""
        if name.upper() in ("BATCH", "COMMANDS"):
            yield from self.batch(address)
            return
        self.changed()
        self.follower.new_submission()
        holder = Command(address, Body(f"({name.upper()} at 0x{address:08x})", None, (), self.gen))
        self.follower.named(holder, name.upper(), address, count)
        yield holder

    def _linted(self, items: Iterator[Yielded]) -> Iterator[Item]:
        return items if self.linter is None else self._lint(self.linter, items)

    def _lint(self, linter: Linter | LaterLinter, items: Iterator[Yielded]) -> Iterator[Item]:
        for item in items:
            if isinstance(item, Command):
                linter.command(item)
            elif isinstance(item, BatchStart):
                linter.batch(item)
            yield item


def memory_of(device: Device | None, options: Options) -> Memory | AddressSpace:
    """Empty memory for the traces of a device."""
    if device is None or device.gen & Gen.ALL4:
        return Memory(MAX_GTT_ENTRIES, strict_pte=options.strict_pte)
    return AddressSpace(device.address_bits, MAX_GTT_ENTRIES, strict_pte=options.strict_pte)


class Document:
    """A trace as a stream of nodes.  Iterate once."""

    def __init__(self, trace: Iterable[events.Event], *, file: str = "", container: str = "",
                 device: Device | None = None, options: Options | None = None) -> None:
        self.trace, self.file, self.container, self.device = trace, file, container, device
        self.options = Options() if options is None else options
        self.memory = memory_of(device, self.options)
        self.decoder: Decoder | None = None
        self.number = 0  # submissions so far
        self.frames = 0  # that the trace has marked so far
        self.damage: list[events.Warning] = []  # truncations of the file
        self.written: list[tuple[int, int, str]] = []  # start, end, kind of each write of the trace
        self.gl = GlCalls()
        self._tables: dict[int, int] = {}  # page tables of contexts: root, number of the context
        self._batches: list[int] = []
        self._dirty = False
        self._draws = 0  # of error states before this one
        self._named = device is not None
        self._landmark: Landmark | None = None
        self._known: tuple[bytes, ...] = ()
        self._needed: dict[int, int] = {}

    def begin_at(self, landmark: Landmark, kernels: Sequence[bytes]) -> None:
        """Decode a trace from a landmark on; `kernels` are those of the whole trace."""
        self._landmark, self._needed = landmark, dict(landmark.needed)
        self._known = tuple(kernels[:landmark.kernels])

    def __iter__(self) -> Iterator[Item]:
        started = False
        for event in self.trace:
            if isinstance(event, events.Header):
                self._header(event)
                if not started:
                    started = True
                    yield TraceStart(self.file, self.container, self.device, event.application)
                continue
            if not started and isinstance(event, events.Submission):
                started = True
                yield TraceStart(self.file, self.container, self.device)
            yield from self._event(event)
        if not started:
            yield TraceStart(self.file, self.container, self.device)
        if self.decoder is not None and self.options.all_batches:
            yield from self._unreached()

    def block(self, name: str, address: int, count: int = 1) -> Iterator[Item]:
        """Read the trace, or up to one submission; then show one address of memory as a block."""
        application = ""
        for event in self.trace:
            if isinstance(event, events.Header):
                self._header(event)
                application = event.application
            elif isinstance(event, events.Submission):
                self.number += 1
                if self.options.submissions.is_over(self.number):
                    break
            else:
                for _ in self._event(event):
                    pass
        yield TraceStart(self.file, self.container, self.device, application)
        yield from self._decoder().block(name, address, count)

    @property
    def draws(self) -> int:
        """Draw commands so far."""
        return self._draws if self.decoder is None else self.decoder.walker.draws

    def contents(self) -> list[tuple[int, int, str]]:
        """Start, end and kind of what the trace has written so far, and of what the tables of contexts map now."""
        mapped = [(start, start + size, f"context {number}")
                  for root, number in self._tables.items() if isinstance(self.memory, AddressSpace)
                  for start, size in self.memory.mapped(root)]
        return [*self.written, *mapped]

    def has(self, address: int) -> bool:
        """Whether the trace has written an address, as far as it was read."""
        return any(start <= address < start + size for start, size in self.memory.ranges())

    def _header(self, event: events.Header) -> None:
        if self.container == "error-state" and self.number:
            self._restart()
        if not self._named and event.pci_id is not None:
            self.device = BY_PCI_ID.get(event.pci_id)
            if self.device is None:
                raise DecodeError(f"{self.file}: unknown device, PCI id 0x{event.pci_id:04x} (`gen4emu devices` lists "
                                  "the known ones)")
            if not self.device.gen & Gen.ALL4 and isinstance(self.memory, Memory):
                self.memory = memory_of(self.device, self.options)

    def _restart(self) -> None:
        """Start with the next error state of a file, which may be of another machine."""
        self.memory.close()
        self.memory = memory_of(self.device, self.options)
        if self.decoder is not None:
            self._draws = self.decoder.walker.draws
        self.decoder = None
        self._batches.clear()

    def _event(self, event: events.Event) -> Iterator[Item]:
        if isinstance(event, events.MemoryWrite):
            self._write(event)
        elif isinstance(event, events.Submission):
            yield from self._submission(event)
        elif isinstance(event, events.ErrorState):
            yield registers(event, self.device)
        elif isinstance(event, events.GttWrite):
            self._gtt(event)
        elif isinstance(event, events.Comment):
            yield Note("comment", event.text, event.offset)
        elif isinstance(event, events.GlNotes):
            yield from (Note("gl", line, event.offset) for line in self.gl.add(event.notes))
        elif isinstance(event, events.FrameBoundary):
            yield Note("frame", event.note or "frame boundary", event.offset, self._frame())
        elif isinstance(event, events.SurfaceDump):
            text = (f"{event.width}x{event.height} at 0x{event.address:08x}, {event.bytes_per_pixel} bytes a pixel, "
                    f"pitch {event.pitch_bytes}, {event.tiling}")
            yield Note("surface dump", text, event.offset, self._frame())
        elif isinstance(event, events.Warning):
            if event.damage:
                self.damage.append(event)
            yield Note("warning", event.text, event.offset)

    def _write(self, event: events.MemoryWrite) -> None:
        self._dirty = True
        try:
            if event.space is events.Space.PHYSICAL:
                self.memory.write_physical(event.address, event.data)
            else:
                self.memory.write(event.address, event.data)
        except (FieldError, MemoryFault) as e:
            raise DecodeError(f"{self.file}: 0x{event.offset:08x}: {e}") from None
        if event.space is events.Space.GRAPHICS and len(self.written) < _WRITES_KEPT:
            self.written.append((event.address, event.address + len(event.data), event.kind))
        if event.kind == "batch" and self.options.all_batches and len(self._batches) < 4096:
            self._batches.append(event.address)

    def _frame(self) -> int:
        """The number of the frame that ends here."""
        self.frames += 1
        return self.frames - 1

    def _gtt(self, event: events.GttWrite) -> None:
        last = min(event.first + len(event.entries), self.memory.gtt_entries)
        if event.first < last:
            self.memory.set_gtt(event.first, event.entries[:last - event.first])

    def _submission(self, event: events.Submission) -> Iterator[Item]:
        number = self.number
        self.number += 1
        if event.page_table is not None and len(self._tables) < _TABLES_KEPT:
            self._tables.setdefault(event.page_table, event.context)
        landmark = self._landmark
        is_before = landmark is not None and number < landmark.submission
        if landmark is not None and number <= landmark.submission:
            self.gl.skip(landmark.calls, landmark.topology)
            if is_before and number not in self._needed:
                return
            self._decoder().walker.draws = self._needed[number] if is_before else landmark.draws
        decoder = self._decoder()
        if self._dirty:
            decoder.changed()
            self._dirty = False
        items = decoder.submission(event, number)
        if self.gl.present and not is_before:
            items = self._with_gl(items, event.offset)
        if number in self.options.submissions:
            yield from items
        else:
            for _ in items:  # later submissions depend on its state, and its draws are counted
                pass
        if self.options.forget:
            self.memory.clear()
            self._dirty = True

    def _with_gl(self, items: Iterator[Item], offset: int) -> Iterator[Item]:
        """A submission, and the debug groups of its draws before its end."""
        for item in items:
            if isinstance(item, Command):
                self.gl.command(item)
            elif isinstance(item, SubmissionEnd):
                yield from (Note("gl", line, offset) for line in self.gl.submission_ended())
            yield item

    def _decoder(self) -> Decoder:
        if self.decoder is None:
            if self.device is None:
                raise unnamed(self.file)
            self.decoder = Decoder(self.device, self.memory, self.options)
            self.decoder.walker.draws = self._draws
            self.decoder.kernels.know(self._known)
        return self.decoder

    def _unreached(self) -> Iterator[Item]:
        """Batch objects of an error state that no ring leads to."""
        decoder = self._decoder()
        for address in dict.fromkeys(self._batches):
            if not decoder.walker.reached(address, 1):
                yield from decoder.walker.batch(address, "object")


__all__ = ["Decoder", "Document"]
