#include "eu/row_set.h"

void g4_row_set_add_region(struct g4_row_set *set, const struct g4_op *op, const struct g4_src *src) {
    const unsigned moved = op->opcode == G4_OPCODE_SEND ? G4_REGISTER_BYTES / src->size : 0; /* whole registers */
    const unsigned channels = op->channels > moved ? op->channels : moved;
    const bool pairs = src->align16 && src->size == 8; /* halves of doubles, from 16 bytes for each two channels */

    for (unsigned pass = 0; pass < op->passes; pass++) {
        for (unsigned c = 0; c < channels; c++) {
            const unsigned from = pairs ? (src->vstride ? c / 2 * 16 : 0) : g4_region_offset(src, c);
            const unsigned first = src->base + pass * src->pass_bytes + from;
            const unsigned last = first + (pairs ? 16 : src->size) - 1;
            for (unsigned row = first / G4_REGISTER_BYTES; row <= last / G4_REGISTER_BYTES; row++) {
                g4_row_set_add(set, row);
                if (op->opcode == G4_OPCODE_PLN && src == &op->src[1]) { /* the second coordinate */
                    g4_row_set_add(set, row + 1);
                }
            }
        }
    }
}
