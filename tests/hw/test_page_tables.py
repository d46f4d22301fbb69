"""The plain numbers of page tables say what the layouts of their entries say."""

from __future__ import annotations

from gen4emu.hw import page_tables
from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.registers import GTT_ENTRY
from gen4emu.hw.gen8.registers import PAGE_DIRECTORY_ENTRY, PAGE_TABLE_ENTRY

GEN = Gen.SKL


def test_bits_of_entries_are_those_of_the_layouts() -> None:
    assert PAGE_TABLE_ENTRY.pack(GEN, present=True)[0] == page_tables.PRESENT
    assert PAGE_TABLE_ENTRY.pack(GEN, present=True, writeable=True)[0] == page_tables.PRESENT_WRITEABLE
    assert PAGE_DIRECTORY_ENTRY.pack(GEN, large_page=True)[0] == page_tables.LARGE_PAGE


def test_the_page_of_an_entry_is_its_physical_address() -> None:
    low, high = PAGE_TABLE_ENTRY.pack(GEN, physical_address=0x7F_1234_5000, present=True, pat=True)
    assert (low | high << 32) & page_tables.PAGE_OF_ENTRY == 0x7F_1234_5000


def test_a_narrow_entry_of_the_global_table_has_high_bits_below_the_page() -> None:
    (entry,) = GTT_ENTRY.pack(Gen.IVB, physical_address_low=0x1234_5000, physical_address_high=0x7F, valid=True,
                              cacheability_control=2)
    assert page_tables.address_of_global(entry) == 0x7F_1234_5000


def test_a_wide_entry_of_the_global_table_has_them_in_the_second_dword() -> None:
    low, high = PAGE_TABLE_ENTRY.pack(GEN, physical_address=0x7F_1234_5000, present=True)
    assert page_tables.address_of_global(low | high << 32) == 0x7F_1234_5000
