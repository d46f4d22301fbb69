"""The MMIO register file of a device: 512 KiB, sparse, and interrupts and errors, which are bits in it.

Masked registers, ring registers and statistics behave as documented; all others return the value that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from gen4emu.hw.catalogue import catalogue_of
from gen4emu.hw.fields import Field
from gen4emu.hw.gen import Gen
from gen4emu.hw.layout import Register, View, written_bits

SPACE = 512 * 1024

Read = Callable[[], int]
Write = Callable[[int], None]


@cache
def _masks(register: Register, gen: Gen) -> Mapping[str, int]:
    return {f.name: f.mask << f.lo for f in register.fields_for(gen)}


class RegisterFile:
    """Registers by byte offset.  Units hook the offsets whose reads or writes have an effect."""

    def __init__(self, gen: Gen) -> None:
        self._gen = gen
        self._values: dict[int, int] = {}
        self._masked: set[int] = set()
        self._reads: dict[int, Read] = {}
        self._writes: dict[int, Write] = {}
        self._cleared: set[int] = set()  # writing a 1 clears the bit
        self._names: dict[str, Register] = {}
        for register in catalogue_of(gen).registers:
            self._names[register.name] = register
            for i in range(register.size(gen)):
                self._values[register.offset + 4 * i] = register.reset >> (32 * i) & 0xFFFFFFFF
            if register.masked:
                self._masked.add(register.offset)

    def has(self, name: str) -> bool:
        return name in self._names

    def offset(self, name: str) -> int:
        return self._names[name].offset

    def is_masked(self, offset: int) -> bool:
        """Whether the upper half of a value names the bits of the lower half that a write changes."""
        return offset in self._masked

    def bits(self, name: str, fields: Iterable[str]) -> int:
        """The bits of a register that these fields have.  Fields that it does not have are ignored."""
        masks = self.masks(name)
        return sum(masks.get(field, 0) for field in set(fields))

    def masks(self, name: str) -> Mapping[str, int]:
        """The bits of each field of a register."""
        return _masks(self._names[name], self._gen)

    def view(self, name: str) -> View:
        """A register's fields."""
        register = self._names[name]
        words = [self.read(register.offset + 4 * i) for i in range(register.size(self._gen))]
        return register.view(words, gen=self._gen)

    def field(self, name: str, field: str) -> Field:
        return self._names[name].field(field, self._gen)

    def pack(self, name: str, **values: int) -> int:
        """The dword of a register with these fields."""
        return self._names[name].pack(self._gen, **values)[0]

    def on_read(self, offset: int, read: Read) -> None:
        self._reads[offset] = read

    def on_write(self, offset: int, write: Write) -> None:
        """`write` sees the value that the register takes, masks applied."""
        self._writes[offset] = write

    def on_clear(self, offset: int) -> None:
        """Bits written as 1 are cleared, as in IIR and EIR."""
        self._cleared.add(offset)

    def read(self, offset: int) -> int:
        """The dword at an offset; 0 beyond the register space."""
        hook = self._reads.get(offset)
        return hook() & 0xFFFFFFFF if hook is not None else self._values.get(offset, 0)

    def write(self, offset: int, value: int, keep_bytes: int = 0) -> None:
        """Store a dword.  Bit i of `keep_bytes` leaves byte i as it is (MI_LOAD_REGISTER_IMM's write disables)."""
        if not 0 <= offset < SPACE:
            return
        keep = sum(0xFF << (8 * i) for i in range(4) if keep_bytes >> i & 1)
        if keep:
            value = value & ~keep | self.read(offset) & keep
        if offset in self._masked:
            mask = written_bits(value)
            value = self._values.get(offset, 0) & ~mask & 0xFFFF | value & mask
        if offset in self._cleared:
            value = self._values.get(offset, 0) & ~value
        self.restore(offset, value)

    def is_stored(self, offset: int) -> bool:
        """Whether the value is kept here: there is such a register, and no unit computes it."""
        return 0 <= offset < SPACE and offset not in self._reads

    def restore(self, offset: int, value: int) -> None:
        """Store a value that the register has had, with the effects of a write."""
        self._values[offset] = value
        hook = self._writes.get(offset)
        if hook is not None:
            hook(value)

    def poke(self, offset: int, value: int) -> None:
        """Store a value as the hardware does: without masks and hooks."""
        self._values[offset] = value & 0xFFFFFFFF

    def save(self) -> dict[int, int]:
        """The stored values, for `load`.  Values that reads compute belong to the units that hook them."""
        return dict(self._values)

    def load(self, values: dict[int, int]) -> None:
        """Take over stored values, without the effects of writes."""
        self._values = dict(values)

    def dump(self) -> dict[str, int]:
        """All registers by name."""
        return {name: self.read(r.offset) for name, r in self._names.items()}


@dataclass(frozen=True, slots=True)
class InterruptNames:
    """The names of the registers and bits of interrupts and errors on a generation."""

    status: str = "ISR"
    mask: str = "IMR"
    identity: str = "IIR"
    error_identity: str = "EIR"
    error_mask: str = "EMR"
    error_status: str = "ESR"
    status_page_mask: str = "HWSTAM"
    prefix: str = ""  # of interrupts
    error: str = "master_error"  # the interrupt of an error
    page_fault: tuple[str, str] = ("PGTBL_ER", "")  # the register, and the bit of all units if they have none of theirs


class Interrupts:
    """Raises interrupts and errors in the register file.  Software polls: no interrupt is delivered."""

    def __init__(self, registers: RegisterFile, write_status_page: Callable[[int, int], None],
                 names: InterruptNames) -> None:
        self._registers = registers
        self._write_status_page = write_status_page
        self._names = names
        offset = registers.offset
        self._isr, self._imr, self._iir = offset(names.status), offset(names.mask), offset(names.identity)
        self._eir, self._emr, self._esr = (offset(name) for name in (
            names.error_identity, names.error_mask, names.error_status))
        self._hwstam, self._pgtbl_er = offset(names.status_page_mask), offset(names.page_fault[0])
        self._bits, self._errors, self._table_errors = (
            registers.masks(name) for name in (names.identity, names.error_identity, names.page_fault[0]))
        for clear in (self._iir, self._eir):
            registers.on_clear(clear)

    def notify(self, name: str) -> None:
        """Raise the interrupt with this bit name in IIR: ISR shows it, IIR latches it unless IMR masks it."""
        r, bit = self._registers, self._bits[self._names.prefix + name]
        r.poke(self._isr, r.read(self._isr) | bit)
        if not r.read(self._imr) & bit:
            r.poke(self._iir, r.read(self._iir) | bit)
        if not r.read(self._hwstam) & bit:
            self._write_status_page(0, r.read(self._isr))

    def error(self, name: str) -> None:
        """Raise the error with this bit name in EIR: latched there unless EMR masks it."""
        r, bit = self._registers, self._errors.get(name, self._errors["instruction"])
        r.poke(self._esr, r.read(self._esr) | bit)
        if not r.read(self._emr) & bit:
            r.poke(self._eir, r.read(self._eir) | bit)
            self.notify(self._names.error)

    def page_fault(self, unit: str) -> None:
        """Report an access without a valid page table entry; `unit` is the name of a bit in PGTBL_ER."""
        r = self._registers
        r.poke(self._pgtbl_er, r.read(self._pgtbl_er) | self._table_errors[self._names.page_fault[1] or unit])
        self.error("page_table")
