"""Generates native/generated/mpeg2.h, the MPEG-2 code tables."""

from __future__ import annotations

from gen4emu.hw import mpeg2
from gen4emu.hw.emit_c import enum, guarded

_TOP = """#include <stdint.h>

struct g4_mpeg2_code {
    uint16_t bits;
    uint8_t length;
    uint16_t value; /* a number, macroblock flags, or run * 256 + level */
};

"""


def generate() -> str:
    """The whole header."""
    parts = [_TOP, f"#define G4_MPEG2_ESCAPE 0x{mpeg2.ESCAPE:x}u\n",
             f"#define G4_MPEG2_END_OF_BLOCK 0x{mpeg2.END_OF_BLOCK:x}u\n",
             enum("g4_mpeg2_macroblock", "G4_MPEG2", mpeg2.MacroblockFlag), "\n"]
    for name, codes in mpeg2.TABLES.items():
        parts.append(f"static const struct g4_mpeg2_code g4_mpeg2_{name}[{len(codes)}] = {{\n")
        parts += [f"    {{0x{int(c.bits, 2):x}, {len(c.bits)}, 0x{c.value:x}}},\n" for c in codes]
        parts.append("};\n\n")
    for name, places in mpeg2.SCANS.items():
        parts.append(f"static const uint8_t g4_mpeg2_{name}[64] = {{{', '.join(map(str, places))}}};\n\n")
    return guarded("gen4emu/hw/mpeg2.py", "G4_GENERATED_MPEG2_H", "".join(parts))
