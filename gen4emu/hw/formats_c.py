"""Generates hw_formats.h with the C format table, `g4_formats`: one entry for each code.

It has no names; those are in the enumeration of SURFACE_STATE.
"""

from __future__ import annotations

from gen4emu.hw.added_formats import ALL_FORMATS
from gen4emu.hw.emit_c import enum, guarded
from gen4emu.hw.format_support import parts_with, supporting
from gen4emu.hw.formats import Channel, ChannelType, DataClass, Encoding, FormatInfo

_CODES = 0x280  # of Gen9; older parts have 512
_USES = ("sample", "filter", "filter_on_silicon", "shadow", "chroma_key", "render_target", "blend", "vertex_fetch",
         "typed_read", "typed_write")

_STRUCTS = """/* Where one output channel comes from: `bits` bits from bit `at` of a block, which is little endian. */
struct g4_format_channel {
    uint8_t type; /* enum g4_channel_type */
    uint8_t bits; /* 0 for constants and in compressed blocks */
    uint8_t at;
};

/* One surface format.  The masks say which parts support what, in the bits of G4_GEN_*. */
struct g4_format {
    uint16_t block_bits; /* 0: the code is reserved */
    uint8_t block_width;
    uint8_t block_height;
    uint8_t encoding;   /* enum g4_format_encoding */
    uint8_t data_class; /* enum g4_format_class: of the values that kernels receive, and write to a render target */
    uint8_t components; /* number of channels of R, G, B, A that are stored */
    uint8_t srgb;
    uint8_t palette; /* 0: none, else 1 + the number of the palette */
    uint16_t parts;  /* that have the code */
    uint16_t sample;
    uint16_t filter;            /* as documented */
    uint16_t filter_on_silicon; /* on real chips */
    uint16_t shadow;            /* sample_c */
    uint16_t chroma_key;
    uint16_t render_target;
    uint16_t blend;
    uint16_t vertex_fetch;
    uint16_t typed_read; /* messages to the data port */
    uint16_t typed_write;
    /* R, G, B, A of the sampler, of vertex fetch and of render target writes.  YUV: Cr, the first Y, Cb; the second Y
     * is 16 bits after the first.  Shared exponent: nine bits each, the exponent in the topmost five bits. */
    struct g4_format_channel channel[4];
};
"""

# 0x00f is reserved on all parts.
_LOOKUP = """/* The format of a code on a part; all zeros if the code is reserved there. */
static inline const struct g4_format *g4_format_of(uint32_t code, uint32_t gen) {
    const struct g4_format *const format = &g4_formats[code < G4_FORMATS ? code : 15];
    return format->parts & gen ? format : &g4_formats[15];
}
"""


def generate() -> str:
    """The text: enumerations, structs and the table."""
    rows = "\n".join(_row(f) for f in ALL_FORMATS)
    return guarded("gen4emu/hw/formats.py", "G4_HW_FORMATS_H", "\n".join([
        "\n#include <stdint.h>\n",
        enum("g4_channel_type", "G4_CHANNEL", ChannelType),
        enum("g4_format_encoding", "G4_ENCODING", Encoding),
        enum("g4_format_class", "G4_CLASS", DataClass),
        _STRUCTS,
        f"enum {{\n    G4_FORMATS = {_CODES}\n}};\n",
        f"static const struct g4_format g4_formats[G4_FORMATS] = {{\n{rows}\n}};\n",
        _LOOKUP,
    ]))


def _row(f: FormatInfo) -> str:
    masks = [supporting(int(f.format), use) for use in _USES]
    palette = 0 if f.palette is None else f.palette + 1
    numbers = [f.block_bits, f.block_width, f.block_height, int(f.encoding), int(f.data_class), f.components,
               int(f.srgb), palette, int(parts_with(int(f.format))), *map(int, masks)]
    channels = ", ".join(_channel(c) for c in f.outputs)
    return f"    [0x{int(f.format):03x}] = {{{', '.join(map(str, numbers))}, {{{channels}}}}}, /* {f.name} */"


def _channel(c: Channel) -> str:
    return f"{{{int(c.type)}, {c.bits}, {c.at}}}"
