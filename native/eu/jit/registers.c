/*
 * The registers of a region (region.c): which rows stay in vector registers all the way, and where NaN may be.
 *
 * Paths meet at the tops of loops and the ends of branches, so who holds what is settled before the first instruction.
 * A row whose every write is a result of arithmetic in floats is looked at once, when the region begins.
 */
#include <string.h>

#include "core/variant.h"
#include "eu/jit/loops.h"

#if G4_HAVE_X86_VARIANTS

static void note_element(struct region *r, unsigned row, unsigned dword, bool floats, uint32_t score) {
    for (int i = 0; i < r->element_count; i++) {
        struct element *const e = &r->elements[i];
        if (e->row == row && e->dword == dword) {
            e->floats |= floats;
            e->score += score;
            return;
        }
    }
    if (r->element_count < MOST_ELEMENTS) {
        r->elements[r->element_count++] =
            (struct element){.row = (uint8_t)row, .dword = (uint8_t)dword, .floats = floats, .score = score};
    }
}

/* `ordinary`: all lanes that will ever look at what is written here pass this way. */
static void note_op(struct region *r, const struct g4_op *op, uint32_t score, bool ordinary) {
    struct g4_touched touched;

    g4_translate_touched(op, &touched);
    for (int i = 0; i < touched.ins; i++) {
        const unsigned row = touched.in[i].row;
        r->read[row] = true;
        r->exposed[row] |= !(r->covered[row] >> touched.in[i].half & 1);
        if (touched.in[i].single) {
            note_element(r, row, touched.in[i].element, touched.in[i].floats, score);
        } else {
            r->floats[row] |= touched.in[i].floats;
            r->score[row] += score;
        }
    }
    for (int i = 0; i < touched.outs; i++) {
        const unsigned row = touched.out[i].row;
        r->written[row] = true;
        r->score[row] += score;
        r->covered[row] |= (uint8_t)((ordinary && touched.out[i].whole) << touched.out[i].half);
        if (touched.out[i].number) {
            continue;
        }
        if (touched.out[i].copies >= 0 && r->copy_count < MOST_COPIES) {
            r->copy_to[r->copy_count] = (uint8_t)row;
            r->copy_from[r->copy_count++] = (uint8_t)touched.out[i].copies;
        } else {
            r->unclean[row] = true;
        }
    }
}

static void note_all(struct region *r) {
    uint32_t score = 1;
    int depth = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct g4_op *const op = &r->ops[i];
        if (!is_flow(op)) {
            note_op(r, op, score, depth == 1 && r->ops[0].opcode == G4_OPCODE_DO);
        } else if (g4_op_opens(op)) {
            depth++;
            score *= op->opcode == G4_OPCODE_DO && score < 4096 ? 8 : 1;
        } else if (g4_op_closes(op)) {
            depth--;
            score /= op->opcode == G4_OPCODE_WHILE && score > 1 ? 8 : 1;
        }
    }
}

static int holder_count(const struct translator *t) {
    int count = 0;
    while (count < HELD_IN_REGION && t->s.held[count].what != HOLDS_NOTHING) {
        count++;
    }
    return count;
}

static bool is_held(const struct translator *t, unsigned row) {
    for (int i = 0; i < HELD_IN_REGION; i++) {
        if (t->s.held[i].what == HOLDS_ROW && t->s.held[i].row == row) {
            return true;
        }
    }
    return false;
}

uint32_t g4_region_unheld(const struct region *r, uint8_t rows[ROWS]) {
    uint32_t count = 0;
    for (unsigned row = 0; row < ROWS; row++) {
        if (r->written[row] && !r->read[row]) {
            rows[count++] = (uint8_t)row;
        }
    }
    return count;
}

static bool spill(struct region *r, unsigned row, int *spilled) {
    if (*spilled == G4_REGION_SPILLED) {
        return false;
    }
    r->t->spilled[row] = (uint8_t)(1 + (*spilled)++);
    return true;
}

/* The row that is most worth a register, of those that are written and read or of those that are only read; -1: none.
 */
static int best_row(const struct region *r, bool written, uint32_t *score) {
    int best = -1;
    for (int row = 0; row < ROWS; row++) {
        if (r->read[row] && r->written[row] == written && r->score[row] > *score && !is_held(r->t, (unsigned)row)) {
            best = row;
            *score = r->score[row];
        }
    }
    return best;
}

static int best_element(const struct region *r, uint32_t *score) {
    int best = -1;
    for (int i = 0; i < r->element_count; i++) {
        if (!r->written[r->elements[i].row] && r->elements[i].score > *score) {
            best = i;
            *score = r->elements[i].score;
        }
    }
    return best;
}

/* Registers for rows that are written and read, then for what is read most; rows of the former that find none go to the
 * region's room. */
static bool hand_out(struct region *r) {
    struct translator *const t = r->t;
    int count = 0;
    int spilled = 0;

    memset(&t->s, 0, sizeof t->s);
    memset(t->spilled, 0, sizeof t->spilled);
    while (count < HELD_IN_REGION) {
        uint32_t score = 0;
        const int row = best_row(r, true, &score);
        if (row < 0) {
            break;
        }
        t->s.held[count++] = (struct holder){.what = HOLDS_ROW, .row = (uint8_t)row, .dirty = true};
    }
    for (unsigned row = 0; row < ROWS; row++) {
        if (r->written[row] && r->read[row] && !is_held(t, row) && !spill(r, row, &spilled)) {
            return false;
        }
    }
    while (count < HELD_IN_REGION) {
        uint32_t score = 0;
        const int row = best_row(r, false, &score);
        const int element = best_element(r, &score);
        if (element >= 0) {
            struct element *const e = &r->elements[element];
            t->s.held[count++] = (struct holder){
                .what = HOLDS_ELEMENT, .row = e->row, .element = e->dword, .numbers = e->floats ? ALL_NUMBERS : 0};
            e->score = 0;
        } else if (row >= 0) {
            t->s.held[count++] = (struct holder){.what = HOLDS_ROW, .row = (uint8_t)row};
        } else {
            break;
        }
    }
    return true;
}

/* Where NaN may come from: rows that get other than results of arithmetic in floats. */
static void find_numbers(struct region *r) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (int i = 0; i < r->copy_count; i++) {
            const unsigned to = r->copy_to[i];
            const unsigned from = r->copy_from[i];
            if ((r->unclean[from] || !(is_held(r->t, from) || r->t->spilled[from])) && !r->unclean[to]) {
                r->unclean[to] = changed = true;
            }
            if (r->floats[to] && !r->floats[from]) {
                r->floats[from] = changed = true;
            }
        }
    }
    for (int i = 0; i < HELD_IN_REGION; i++) {
        struct holder *const h = &r->t->s.held[i];
        if (h->what == HOLDS_ROW) {
            h->numbers = r->floats[h->row] && !r->unclean[h->row] ? ALL_NUMBERS : 0;
        }
    }
    for (int row = 0; row < ROWS; row++) {
        r->t->spilled_numbers[row] = r->t->spilled[row] && r->floats[row] && !r->unclean[row] ? ALL_NUMBERS : 0;
    }
}

void g4_region_load(struct region *r) {
    struct translator *const t = r->t;
    const int count = holder_count(t);

    emit_masks(&t->code, G4_K_OR, K_LANES, K_EXEC_0, K_EXEC_1);
    for (int i = 0; i < count; i++) {
        const struct holder *const h = &t->s.held[i];
        if (h->what == HOLDS_ROW) {
            emit_evex(&t->code, G4_X_LOAD, (unsigned)i, 0, g4_row_in_memory(h->row, 0), 0, G4_MERGE);
        } else {
            broadcast_element(t, (unsigned)i, h->row, h->element);
        }
        if (h->numbers && (h->what == HOLDS_ELEMENT || r->exposed[h->row])) {
            check_numbers(t, (unsigned)i, K_LANES);
        }
    }
    for (unsigned row = 0; row < ROWS; row++) {
        if (t->spilled[row]) {
            emit_evex(&t->code, G4_X_LOAD, TEMP_A, 0, g4_row_in_memory(row, 0), 0, G4_MERGE);
            emit_evex(&t->code, G4_X_STORE, TEMP_A, 0, row_at(t, row, 0), 0, G4_MERGE);
            if (t->spilled_numbers[row] && r->exposed[row]) {
                check_numbers(t, TEMP_A, K_LANES);
            }
        }
    }
}

void g4_region_store(struct region *r) {
    const struct translator *const t = r->t;
    struct g4_code *const code = &r->t->code;
    const int count = holder_count(t);

    for (int i = 0; i < count; i++) {
        if (t->s.held[i].dirty) {
            emit_evex(code, G4_X_STORE, (unsigned)i, 0, g4_row_in_memory(t->s.held[i].row, 0), 0, G4_MERGE);
        }
    }
    for (unsigned row = 0; row < ROWS; row++) {
        if (t->spilled[row]) {
            emit_evex(code, G4_X_LOAD, TEMP_A, 0, row_at(t, row, 0), 0, G4_MERGE);
            emit_evex(code, G4_X_STORE, TEMP_A, 0, g4_row_in_memory(row, 0), 0, G4_MERGE);
        }
    }
}

bool g4_region_registers(struct region *r) {
    note_all(r);
    if (!hand_out(r)) {
        return false;
    }
    find_numbers(r);
    return true;
}

#endif
