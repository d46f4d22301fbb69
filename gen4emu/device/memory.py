"""Memory of a device: a graphics address space of 4 KiB pages, of 32 bits behind a page table or of up to 48 bits.

The pages and the table belong to the C core (native/core/memory.h); this module loads captures into
them, inspects state and reports faults.  Tiling is in gen4emu.device.tiling.  No ring, no registers: see the device.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import itemgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from gen4emu._native import ffi, lib
from gen4emu.core_enums import PAGE_SIZE as PAGE_SIZE
from gen4emu.core_enums import FaultKind as FaultKind
from gen4emu.core_enums import PageFlags as PageFlags
from gen4emu.core_enums import Unit as Unit
from gen4emu.errors import FieldError, Gen4emuError
from gen4emu.hw.chips import BY_NAME
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.registers import GTT_ENTRY, PageTableEntryType

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

GTT_ENTRIES_GEN4 = BY_NAME["965gm"].gtt_entries
GTT_ENTRIES_GEN45 = BY_NAME["g45"].gtt_entries
MAX_GTT_ENTRIES = 1 << 20  # a 32-bit address space
MAX_ADDRESS_BITS = 48
DEFAULT_LIMIT_BYTES = 1 << 30
_NEAR = 1 << 32  # what page tables map
_PHYSICAL = 1 << 36  # what their entries reach
_FEW_MISSED = 256  # pages


class Missing(Enum):
    """The result of a read of memory that does not exist."""

    RAISE = "raise"
    ZERO = "zero"  # reads as zeros, silently
    REPORT = "report"  # reads as zeros, and is entered in Memory.faults


@dataclass(slots=True, frozen=True)
class Pte:
    """A page table entry.  Types 1 and 2 are reserved, but captures contain them."""

    physical: int
    type: int = PageTableEntryType.UNCACHED
    valid: bool = True

    def encode(self) -> int:
        high, low = divmod(self.physical, _NEAR)
        return GTT_ENTRY.pack(Gen.EL, physical_address_low=low, physical_address_high=high, entry_type=self.type,
                              valid=self.valid)[0]

    @staticmethod
    def decode(entry: int) -> Pte:
        _check_dword(entry, "page table entry")
        view = GTT_ENTRY.view((entry,), gen=Gen.EL)
        return Pte(view.physical_address_high << 32 | view.physical_address_low, view.raw("entry_type"), view.valid)


@dataclass(slots=True, frozen=True)
class Fault:
    """One access that failed; `entry` is the page table entry of the address."""

    kind: FaultKind
    address: int
    unit: Unit
    entry: int

    def __str__(self) -> str:
        return f"0x{self.address:08x}: {self.unit.name}: {self.kind.text} (page table entry 0x{self.entry:08x})"


@dataclass(slots=True, frozen=True)
class Faults:
    """Failed accesses: their number by kind, and the first of each.  One count is one access to one page."""

    counts: dict[FaultKind, int]
    first: dict[FaultKind, Fault]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def __add__(self, other: Faults) -> Faults:
        counts = {kind: self.counts.get(kind, 0) + other.counts.get(kind, 0)
                  for kind in FaultKind if kind in self.counts or kind in other.counts}
        return Faults(counts, other.first | self.first)


@dataclass(slots=True, frozen=True)
class Page:
    """A page that is mapped or has contents, or was missed."""

    address: int
    flags: PageFlags


class MemoryFault(Gen4emuError):
    """A host access to memory that does not exist or is read-only."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(str(fault))


_NOT_MAPPED = (1 << 64) - 1


class Memory:
    """A graphics address space of `size` bytes, 2^`address_bits`.

    Without `strict_pte` every page below `gtt_entries`, and every page of a space of more than 32 bits, exists, reads
    as zeros until it is written, and is its own physical page: what captures need.  With it, only pages with a valid
    entry (`set_gtt`) exist, and pages of others (`map_external`).  `strict` makes a fault stop the unit that meets it;
    else reads give 0 and writes are dropped.  All pages are freed by `close()` or at the end of a `with` block.
    """

    def __init__(self, gtt_entries: int = GTT_ENTRIES_GEN45, strict: bool = False, *, strict_pte: bool = False,
                 address_bits: int = 32, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        if not 0 < gtt_entries <= MAX_GTT_ENTRIES:
            raise FieldError(f"gtt_entries: {gtt_entries} is not between 1 and {MAX_GTT_ENTRIES}")
        if not 32 <= address_bits <= MAX_ADDRESS_BITS:
            raise FieldError(f"address_bits: {address_bits} is not between 32 and {MAX_ADDRESS_BITS}")
        self.gtt_entries = gtt_entries
        self.size = 1 << address_bits
        self.page_count = self.size // PAGE_SIZE if address_bits > 32 else gtt_entries  # that may exist
        self.strict = strict
        self.strict_pte = strict_pte
        max_pages = min(max(limit_bytes, 0) // PAGE_SIZE, 1 << 24)
        handle = lib.g4_mem_create(gtt_entries, address_bits, max_pages, strict_pte)
        if handle == ffi.NULL:
            raise MemoryError("no memory for a page table")
        self._mem = ffi.gc(handle, lib.g4_mem_destroy)
        self._port = self._new_port(Unit.CPU, quiet=False)
        self._external: list[tuple[int, int, Any]] = []  # start, end, reference to the buffer; disjoint, sorted

    # --- life ---

    def close(self) -> None:
        """Free everything.  The memory cannot be used afterwards."""
        if self._mem is not None:
            ffi.release(self._mem)
            self._mem = None
            self._port = None
            self._external.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def clear(self) -> None:
        """Forget all contents, mappings, page table entries and faults."""
        if lib.g4_mem_clear(self.handle) != lib.G4_OK:
            raise MemoryError("no memory for a page table")
        self._external.clear()
        self._port = self._new_port(Unit.CPU, quiet=False)

    @property
    def handle(self) -> Any:
        """The core's `struct g4_mem *`."""
        if self._mem is None:
            raise ValueError("this memory is closed")
        return self._mem

    @property
    def port(self) -> Any:
        """The core's `struct g4_port *` whose log is `faults`.  Threads of the core have their own and merge them."""
        if self._port is None:
            raise ValueError("this memory is closed")
        return self._port

    def new_port(self, unit: Unit) -> Any:
        """A port for one unit: a `struct g4_port *` with an empty log."""
        return self._new_port(unit, quiet=False)

    def _new_port(self, unit: Unit, quiet: bool) -> Any:
        port = ffi.new("struct g4_port *")
        lib.g4_port_init(port, self.handle, unit, self.strict and not quiet)
        port.quiet = quiet
        return port

    # --- contents ---

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Place bytes as the CPU or a capture does.  With `strict_pte`, pages without entry get one.

        On a MemoryFault the bytes before the page that failed are written.
        """
        source = _source(data)
        _check_range(address, len(source), self.size)
        if self.strict_pte:
            self._create_entries(address, len(source))
        fault = ffi.new("struct g4_fault *")
        if lib.g4_mem_poke(self.handle, address, source, len(source), fault) != lib.G4_OK:
            raise MemoryFault(_fault(fault))

    def _create_entries(self, address: int, size: int) -> None:
        """Map pages without entry to physical pages that no capture uses: in the last 4 GiB of the 36-bit space."""
        for start, end in self._runs(PageFlags.PRESENT, PageFlags(0), address, address + size):
            pages = range(start // PAGE_SIZE, min(end // PAGE_SIZE, self.gtt_entries))
            self.set_gtt(pages.start, [Pte(0xF_0000_0000 + page * PAGE_SIZE).encode() for page in pages])

    def read(self, address: int, size: int, missing: Missing = Missing.RAISE, unit: Unit = Unit.CPU) -> bytes:
        return bytes(self._read(address, size, missing, unit))

    def read_dwords(self, address: int, count: int, missing: Missing = Missing.RAISE,
                    unit: Unit = Unit.CPU) -> memoryview:
        """`count` dwords as a view of format 'I', over a copy."""
        return memoryview(self._read(address, count * 4, missing, unit)).cast("I")

    def _read(self, address: int, size: int, missing: Missing, unit: Unit) -> bytearray:
        _check_range(address, size, self.size)
        data = bytearray(size)
        place = ffi.from_buffer(data)
        if not lib.g4_mem_peek(self.handle, address, place, size):
            with ProbePort(self, missing, unit) as port:
                lib.g4_mem_read(port, address, place, size)
        return data

    def write_physical(self, physical: int, data: bytes | bytearray | memoryview) -> None:
        """Place bytes at a physical address, below the page table."""
        source = _source(data)
        _check_range(physical, len(source), max(self.size, _PHYSICAL))
        if lib.g4_mem_write_physical(self.handle, physical, source, len(source)) != lib.G4_OK:
            raise MemoryFault(Fault(FaultKind.NO_MEMORY_WRITE, physical & 0xFFFFFFFF, Unit.CPU, 0))

    def read_physical(self, physical: int, size: int) -> bytes:
        """Bytes at a physical address; zeros where nothing was written."""
        _check_range(physical, size, max(self.size, _PHYSICAL))
        data = bytearray(size)
        lib.g4_mem_read_physical(self.handle, physical, ffi.from_buffer(data), size)
        return bytes(data)

    def holds_physical(self, physical: int, data: bytes) -> bool:
        """Whether `read_physical` would return these bytes."""
        return bool(lib.g4_mem_holds_physical(self.handle, physical, ffi.from_buffer(data), len(data)))

    # --- the map ---

    def set_gtt(self, first: int, entries: Sequence[int]) -> None:
        """Write page table entries from number `first` on.  They are always stored, but used only with `strict_pte`."""
        if not entries:
            return
        if first < 0 or first + len(entries) > self.gtt_entries:
            raise FieldError(f"page table entries {first} to {first + len(entries) - 1} do not fit a table of "
                             f"{self.gtt_entries}")
        for entry in entries:
            _check_dword(entry, "page table entry")
        lib.g4_mem_set_gtt(self.handle, first, ffi.new("uint32_t[]", list(entries)), len(entries))

    def map_physical(self, page: int, physical: int | None) -> None:
        """Let a graphics page be a physical page, both by number; None: what it is without."""
        status = lib.g4_mem_map_physical(self.handle, page, _NOT_MAPPED if physical is None else physical)
        if status == lib.G4_NO_MEMORY:
            raise MemoryError("no memory for a page")
        if status != lib.G4_OK:
            raise FieldError(f"page 0x{page:x} cannot be physical page {physical}")

    def gtt_entry(self, index: int) -> int:
        if not 0 <= index < self.gtt_entries:
            raise FieldError(f"page table entry {index} does not exist: the table has {self.gtt_entries}")
        return int(lib.g4_mem_gtt_entry(self.handle, index))

    def physical(self, address: int) -> int:
        """The physical address behind a graphics address; without translation, the address itself."""
        _check_range(address, 0, self.size)
        return int(lib.g4_mem_physical(self.handle, address))

    def map_external(self, address: int, buffer: Any, read_only: bool = False) -> None:
        """Back pages by an external buffer, such as an mmap, without a copy, until `unmap_external` or `clear`.

        `read_only` keeps the device from writing; it is required for read-only buffers.
        """
        view = ffi.from_buffer("uint8_t[]", buffer, require_writable=not read_only)
        size = len(view)
        status = lib.g4_mem_map_external(self.handle, address, view, size, read_only) \
            if 0 <= address < self.size else lib.G4_BAD_VALUE
        if status != lib.G4_OK:
            raise FieldError(f"0x{address:08x}: {size} bytes cannot be mapped: address and size are multiples of "
                             f"{PAGE_SIZE} below 0x{self.page_count * PAGE_SIZE:x}, the buffer is aligned to 64 bytes")
        self._forget_external(address, address + size)
        if size:
            insort(self._external, (address, address + size, view), key=itemgetter(0))

    def unmap_external(self, address: int, size: int) -> None:
        _check_range(address, size, self.size)
        if lib.g4_mem_unmap_external(self.handle, address, size) != lib.G4_OK:
            raise FieldError(f"0x{address:08x}: {size} bytes are not whole pages")
        self._forget_external(address, address + size)

    def _forget_external(self, start: int, end: int) -> None:
        """Release buffers whose last page is unmapped.  The pages of a buffer on either side of the range stay."""
        first = bisect_right(self._external, start, key=itemgetter(1))
        last = bisect_left(self._external, end, key=itemgetter(0))
        kept = [part for low, high, view in self._external[first:last]
                for part in ((low, start, view), (end, high, view)) if part[0] < part[1]]
        self._external[first:last] = kept

    def bind(self, address: int, host: Any, size: int) -> bool:
        """Back whole pages by host memory (`uint8_t *`), which the caller keeps until `unbind`; false: not possible."""
        return bool(lib.g4_mem_map_external(self.handle, address, host, size, False) == lib.G4_OK)

    def unbind(self, address: int, size: int) -> None:
        lib.g4_mem_unmap_external(self.handle, address, size)

    def uses(self, host: Any, size: int) -> bool:
        """Whether a page lies in this range of host memory."""
        return bool(lib.g4_mem_uses(self.handle, host, size))

    # --- queries of the map ---

    def page_flags(self, address: int) -> PageFlags:
        _check_range(address, 0, self.size)
        return PageFlags(lib.g4_mem_page_flags(self.handle, address // PAGE_SIZE))

    def is_mapped(self, address: int, size: int = 1) -> bool:
        """Whether all these bytes exist, that is, have contents or (`strict_pte`) a valid page table entry."""
        return not self.unmapped(address, size)

    def unmapped(self, address: int, size: int) -> list[tuple[int, int]]:
        """The (address, size) parts of a range that do not exist."""
        if address < 0 or size < 0:
            raise FieldError(f"0x{address:x}: {size} bytes are not a range")
        inside = max(0, min(size, self.size - address))
        holes = [(max(start, address), min(end, address + inside))
                 for start, end in self._runs(PageFlags.PRESENT, PageFlags(0), address, address + inside)]
        if inside < size:
            holes.append((address + inside, address + size))
        return [(start, end - start) for start, end in holes]

    def ranges(self) -> list[tuple[int, int]]:
        """The (address, size) of everything that has contents, in order, neighbours joined."""
        return [(start, end - start) for start, end in self._runs(PageFlags.WRITTEN, PageFlags.WRITTEN)]

    def missed_reads(self) -> list[tuple[int, int]]:
        """The (address, size) of pages that a unit read although nothing had written or mapped them."""
        return [(start, end - start) for start, end in self._runs(PageFlags.MISSED_READ, PageFlags.MISSED_READ)]

    def pages(self) -> Iterator[Page]:
        """Every page that has contents, in order."""
        for start, size in self.ranges():
            for address in range(start, start + size, PAGE_SIZE):
                yield Page(address, self.page_flags(address))

    def _runs(self, mask: PageFlags, flags: PageFlags, address: int = 0,
              end: int | None = None) -> Iterator[tuple[int, int]]:
        """The (start, end) of pages with these flags under this mask, neighbours joined."""
        page, last = address // PAGE_SIZE, -(-(self.size if end is None else end) // PAGE_SIZE)
        while page < last:
            page = lib.g4_mem_find_page(self.handle, page, last, mask, flags, True)
            stop = lib.g4_mem_find_page(self.handle, page, last, mask, flags, False)
            if page < stop:
                yield page * PAGE_SIZE, stop * PAGE_SIZE
            page = stop

    @property
    def owned_bytes(self) -> int:
        """Host memory used for pages that are not external."""
        return int(lib.g4_mem_owned_pages(self.handle)) * PAGE_SIZE

    # --- the whole ---

    def owned_pages(self) -> npt.NDArray[np.uint64]:
        """The numbers of the physical pages that have contents, in order."""
        import numpy as np

        pages = np.empty(self.owned_bytes // PAGE_SIZE, np.uint64)
        count = lib.g4_mem_list_pages(self.handle, ffi.cast("uint64_t *", ffi.from_buffer(pages)), len(pages))
        return pages[:count]

    def copy_pages(self, pages: npt.NDArray[np.uint64]) -> list[bytes]:
        """The contents of physical pages."""
        data = bytearray(len(pages) * PAGE_SIZE)
        numbers = ffi.cast("uint64_t *", ffi.from_buffer(pages))
        lib.g4_mem_copy_pages(self.handle, numbers, len(pages), ffi.from_buffer("uint8_t[]", data))
        view = memoryview(data)
        return [bytes(view[at:at + PAGE_SIZE]) for at in range(0, len(data), PAGE_SIZE)]

    def write_pages(self, pages: Mapping[int, bytes]) -> None:
        """Replace the contents of physical pages, by number."""
        numbers, host = ffi.new("uint64_t[]", list(pages)), [ffi.from_buffer("uint8_t[]", data) for data in
                                                              pages.values()]
        if any(len(data) != PAGE_SIZE for data in host):
            raise FieldError(f"a page has {PAGE_SIZE} bytes")
        if lib.g4_mem_write_pages(self.handle, numbers, len(host), ffi.new("uint8_t *[]", host)) != lib.G4_OK:
            raise MemoryError("no memory for pages")

    @property
    def is_external(self) -> bool:
        """Whether `map_external` has backed pages."""
        return bool(self._external)

    def gtt(self) -> bytes:
        """The page table entries up to the last that is not 0, for `load_gtt`."""
        import numpy as np

        table = np.frombuffer(ffi.buffer(lib.g4_mem_gtt(self.handle), 4 * self.gtt_entries), np.uint32)
        used = np.flatnonzero(table)
        return table[:used[-1] + 1].tobytes() if len(used) else b""

    def load_gtt(self, entries: bytes) -> None:
        """Write the first page table entries."""
        lib.g4_mem_set_gtt(self.handle, 0, ffi.from_buffer("uint32_t[]", entries), len(entries) // 4)

    def missed(self) -> list[tuple[int, int]]:
        """The numbers of graphics pages that a unit missed, with their flags MISSED_READ and MISSED_WRITE."""
        capacity, count = 0, _FEW_MISSED
        while count > capacity:  # the core reads the flags of all pages each time, so once is the rule
            capacity = count
            pages, flags = ffi.new("uint64_t[]", capacity), ffi.new("uint8_t[]", capacity)
            count = lib.g4_mem_list_missed(self.handle, pages, flags, capacity)
        return list(zip(pages[0:count], flags[0:count], strict=True))

    def set_missed(self, missed: Sequence[tuple[int, int]]) -> None:
        """Add flags of pages that a unit missed."""
        for page, flags in missed:
            lib.g4_mem_set_missed(self.handle, page, flags)

    # --- changes and faults ---

    def mark(self) -> int:
        """A point in time, for `changed_since`."""
        return int(lib.g4_mem_mark(self.handle))

    def changed_since(self, mark: int, address: int, size: int) -> bool:
        """Whether these pages may have changed since.  Always true for external pages and with `strict_pte`."""
        _check_range(address, size, self.size)
        return bool(lib.g4_mem_changed_since(self.handle, address, size, mark))

    def hash_pages(self, first: int, count: int) -> npt.NDArray[np.uint64]:
        """128 bits for the contents of each page, as two numbers.  Absent pages are like pages of zeros."""
        import numpy as np

        hashes = np.empty((count, 2), np.uint64)
        lib.g4_mem_hash(self.handle, first, count, ffi.cast("uint64_t *", ffi.from_buffer(hashes)))
        return hashes

    def written_since(self, pages: npt.NDArray[np.uint64], mark: int) -> npt.NDArray[np.bool_]:
        """Whether the device has written each of these pages, by number, since a mark."""
        import numpy as np

        written = np.zeros(len(pages), np.uint8)
        numbers = ffi.cast("uint64_t *", ffi.from_buffer(pages))
        lib.g4_mem_written_since(self.handle, numbers, len(pages), mark,
                                 ffi.cast("uint8_t *", ffi.from_buffer(written)))
        return written.astype(bool)

    def written_pages(self, mark: int) -> list[int]:
        """The addresses of the pages that the device has written since a mark, in order."""
        import numpy as np

        numbers = [np.arange(start // PAGE_SIZE, (start + size) // PAGE_SIZE, dtype=np.uint64)
                   for start, size in self.ranges()]
        pages = np.concatenate(numbers) if numbers else np.empty(0, np.uint64)
        return [page * PAGE_SIZE for page in pages[self.written_since(pages, mark)].tolist()]

    @property
    def faults(self) -> Faults:
        return port_faults(self.port)


class ProbePort:
    """A port for one host access.  Its log is handled at the end as `missing` says."""

    def __init__(self, memory: Memory, missing: Missing, unit: Unit) -> None:
        self._memory, self._missing = memory, missing
        self._port = memory._new_port(unit, quiet=missing is not Missing.REPORT)

    def __enter__(self) -> Any:
        return self._port

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not None or self._missing is Missing.ZERO:
            return
        if self._missing is Missing.REPORT:
            lib.g4_port_merge(self._memory.port, self._port)
            return
        faults = port_faults(self._port)
        if faults.first:
            raise MemoryFault(min(faults.first.values(), key=lambda fault: fault.address))


def port_faults(port: Any) -> Faults:
    """The log of a `struct g4_port *`."""
    return log_faults(port.log)


def save_log(port: Any) -> bytes:
    """The log of a `struct g4_port *`, for `load_log`."""
    return bytes(ffi.buffer(ffi.addressof(port.log)))


def load_log(port: Any, saved: bytes) -> None:
    """Replace the log of a port."""
    ffi.memmove(ffi.addressof(port.log), saved, len(saved))


def log_faults(log: Any) -> Faults:
    """A `struct g4_fault_log`."""
    counts = {kind: int(log.count[kind]) for kind in FaultKind if log.count[kind]}
    return Faults(counts, {kind: _fault(log.first[kind]) for kind in counts})


def _fault(fault: Any) -> Fault:
    return Fault(FaultKind(fault.what), fault.address, Unit(fault.unit), fault.value)


def _source(data: bytes | bytearray | memoryview) -> Any:
    return ffi.from_buffer("uint8_t[]", data)


def _check_range(address: int, size: int, end: int) -> None:
    if address < 0 or size < 0 or address + size > end:
        raise FieldError(f"0x{address:x}: {size} bytes reach out of the address space of 0x{end:x} bytes")


def _check_dword(value: int, what: str) -> None:
    if not 0 <= value <= 0xFFFFFFFF:
        raise FieldError(f"{what}: 0x{value:x} does not fit 32 bits")
