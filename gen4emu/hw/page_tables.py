"""Graphics addresses of Gen8 and later, and the tables that map them: four levels of 512 entries of 64 bits.

Plain numbers, for code that follows many entries; `gen8.registers` describes the fields.
"""

from __future__ import annotations

import struct

ADDRESS_MASK = (1 << 48) - 1  # the bits of an address that count
PHYSICAL_BITS = 52
TABLE_BITS = 9  # of a page number that one level translates
LEVELS = 4
ENTRIES = struct.Struct("<512Q")
PRESENT = 1
PRESENT_WRITEABLE = 3
LARGE_PAGE = 1 << 7  # in the level above the last: the entry maps 2 MiB, not a table
PAGE_OF_ENTRY = 0x0000_FFFF_FFFF_F000
_HIGH_OF_NARROW, _HIGH_SHIFT = 0xFF0, 28  # bits 39:32 of an address in the entries of 32 bits of Gen6 and Gen7


def address_of_global(entry: int) -> int:
    """The physical address in an entry of the global table: of 64 bits, or of 32 before Gen8."""
    high = (entry & _HIGH_OF_NARROW) << _HIGH_SHIFT if entry < 1 << 32 else 0
    return entry & PAGE_OF_ENTRY | high
