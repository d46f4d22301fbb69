"""Interrupt and error registers: ISR, IMR, IIR, IER, HWSTAM and the status page's copy; EIR, EMR, ESR, PGTBL_ER
(spec/05 2.4, 2.7, 2.9).

Nobody waits for an interrupt here: what is modelled is what software can read afterwards.
"""

from __future__ import annotations

from collections.abc import Callable

from gen4emu.device.registers import RegisterFile


class Interrupts:
    """Raises interrupts and errors in the register file."""

    def __init__(self, registers: RegisterFile, write_status_page: Callable[[int, int], None]) -> None:
        self._registers = registers
        self._write_status_page = write_status_page
        offset = registers.offset
        self._isr, self._imr, self._iir = offset("ISR"), offset("IMR"), offset("IIR")
        self._eir, self._emr, self._esr = offset("EIR"), offset("EMR"), offset("ESR")
        self._hwstam, self._pgtbl_er = offset("HWSTAM"), offset("PGTBL_ER")
        self._bits, self._errors, self._table_errors = (registers.masks(name) for name in ("IIR", "EIR", "PGTBL_ER"))
        for clear in (self._iir, self._eir):
            registers.on_clear(clear)

    def notify(self, name: str) -> None:
        """An interrupt by its bit's name in IIR: ISR shows it, IIR latches it unless IMR masks it."""
        r, bit = self._registers, self._bits[name]
        r.poke(self._isr, r.read(self._isr) | bit)
        if not r.read(self._imr) & bit:
            r.poke(self._iir, r.read(self._iir) | bit)
        if not r.read(self._hwstam) & bit:
            self._write_status_page(0, r.read(self._isr))

    def error(self, name: str) -> None:
        """An error by its bit's name in EIR: latched there unless EMR masks it."""
        r, bit = self._registers, self._errors[name]
        r.poke(self._esr, r.read(self._esr) | bit)
        if not r.read(self._emr) & bit:
            r.poke(self._eir, r.read(self._eir) | bit)
            self.notify("master_error")

    def page_fault(self, unit: str) -> None:
        """An access without a valid page table entry; `unit` is the bit's name in PGTBL_ER."""
        r = self._registers
        r.poke(self._pgtbl_er, r.read(self._pgtbl_er) | self._table_errors[unit])
        self.error("page_table")
