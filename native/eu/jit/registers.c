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

static void record_element(struct loop *r, unsigned row, unsigned dword, bool floats, uint32_t score) {
    for (int i = 0; i < r->element_count; i++) {
        struct element *const e = &r->elements[i];
        if (e->row == row && e->dword == dword) {
            e->floats |= floats;
            e->score += score;
            return;
        }
    }
    if (r->element_count < MAX_ELEMENTS) {
        r->elements[r->element_count++] =
            (struct element){.row = (uint8_t)row, .dword = (uint8_t)dword, .floats = floats, .score = score};
    }
}

/* `ordinary`: all lanes that will ever look at what is written here pass this way. */
static void record_op(struct loop *r, const struct g4_op *op, uint32_t score, bool ordinary) {
    struct g4_op_rows rows;

    g4_op_rows_of(op, &rows);
    for (int i = 0; i < rows.ins; i++) {
        const unsigned row = rows.in[i].row;
        r->read[row] = true;
        r->exposed[row] |= !(r->covered[row] >> rows.in[i].half & 1);
        if (rows.in[i].single) {
            record_element(r, row, rows.in[i].element, rows.in[i].floats, score);
        } else {
            r->floats[row] |= rows.in[i].floats;
            r->score[row] += score;
        }
    }
    for (int i = 0; i < rows.outs; i++) {
        const unsigned row = rows.out[i].row;
        r->written[row] = true;
        r->score[row] += score;
        r->covered[row] |= (uint8_t)((ordinary && rows.out[i].whole) << rows.out[i].half);
        if (rows.out[i].number) {
            continue;
        }
        if (rows.out[i].copies >= 0 && r->copy_count < MAX_COPIES) {
            r->copy_to[r->copy_count] = (uint8_t)row;
            r->copy_from[r->copy_count++] = (uint8_t)rows.out[i].copies;
        } else {
            r->may_be_nan[row] = true;
        }
    }
}

static void record_all(struct loop *r) {
    uint32_t score = 1;
    int depth = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct g4_op *const op = &r->ops[i];
        if (!is_flow(op)) {
            record_op(r, op, score, depth == 1 && r->ops[0].opcode == G4_OPCODE_DO);
        } else if (g4_op_opens(op)) {
            depth++;
            score *= op->opcode == G4_OPCODE_DO && score < 4096 ? 8 : 1;
        } else if (g4_op_closes(op)) {
            depth--;
            score /= op->opcode == G4_OPCODE_WHILE && score > 1 ? 8 : 1;
        }
    }
}

static int vreg_count(const struct translator *t) {
    int count = 0;
    while (count < LOOP_VREGS && t->s.vregs[count].content != HOLDS_NOTHING) {
        count++;
    }
    return count;
}

static bool is_in_vreg(const struct translator *t, unsigned row) {
    for (int i = 0; i < LOOP_VREGS; i++) {
        if (t->s.vregs[i].content == HOLDS_ROW && t->s.vregs[i].row == row) {
            return true;
        }
    }
    return false;
}

uint32_t g4_loop_stored_rows(const struct loop *r, uint8_t rows[ROWS]) {
    uint32_t count = 0;
    for (unsigned row = 0; row < ROWS; row++) {
        if (r->written[row] && !r->read[row]) {
            rows[count++] = (uint8_t)row;
        }
    }
    return count;
}

static bool spill(struct loop *r, unsigned row, int *spilled) {
    if (*spilled == G4_LOOP_SPILLS) {
        return false;
    }
    r->t->spilled[row] = (uint8_t)(1 + (*spilled)++);
    return true;
}

/* The row that is most worth a register, of those that are written and read or of those that are only read; -1: none.
 */
static int best_row(const struct loop *r, bool written, uint32_t *score) {
    int best = -1;
    for (int row = 0; row < ROWS; row++) {
        if (r->read[row] && r->written[row] == written && r->score[row] > *score && !is_in_vreg(r->t, (unsigned)row)) {
            best = row;
            *score = r->score[row];
        }
    }
    return best;
}

static int best_element(const struct loop *r, uint32_t *score) {
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
static bool allocate_vregs(struct loop *r) {
    struct translator *const t = r->t;
    int count = 0;
    int spilled = 0;

    memset(&t->s, 0, sizeof t->s);
    memset(t->spilled, 0, sizeof t->spilled);
    while (count < LOOP_VREGS) {
        uint32_t score = 0;
        const int row = best_row(r, true, &score);
        if (row < 0) {
            break;
        }
        t->s.vregs[count++] = (struct vreg){.content = HOLDS_ROW, .row = (uint8_t)row, .dirty = true};
    }
    for (unsigned row = 0; row < ROWS; row++) {
        if (r->written[row] && r->read[row] && !is_in_vreg(t, row) && !spill(r, row, &spilled)) {
            return false;
        }
    }
    while (count < LOOP_VREGS) {
        uint32_t score = 0;
        const int row = best_row(r, false, &score);
        const int element = best_element(r, &score);
        if (element >= 0) {
            struct element *const e = &r->elements[element];
            t->s.vregs[count++] = (struct vreg){
                .content = HOLDS_ELEMENT, .row = e->row, .element = e->dword, .finite = e->floats ? ALL_FINITE : 0};
            e->score = 0;
        } else if (row >= 0) {
            t->s.vregs[count++] = (struct vreg){.content = HOLDS_ROW, .row = (uint8_t)row};
        } else {
            break;
        }
    }
    return true;
}

/* Where NaN may come from: rows that get other than results of arithmetic in floats. */
static void find_finite(struct loop *r) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (int i = 0; i < r->copy_count; i++) {
            const unsigned to = r->copy_to[i];
            const unsigned from = r->copy_from[i];
            if ((r->may_be_nan[from] || !(is_in_vreg(r->t, from) || r->t->spilled[from])) && !r->may_be_nan[to]) {
                r->may_be_nan[to] = changed = true;
            }
            if (r->floats[to] && !r->floats[from]) {
                r->floats[from] = changed = true;
            }
        }
    }
    for (int i = 0; i < LOOP_VREGS; i++) {
        struct vreg *const h = &r->t->s.vregs[i];
        if (h->content == HOLDS_ROW) {
            h->finite = r->floats[h->row] && !r->may_be_nan[h->row] ? ALL_FINITE : 0;
        }
    }
    for (int row = 0; row < ROWS; row++) {
        r->t->spilled_finite[row] = r->t->spilled[row] && r->floats[row] && !r->may_be_nan[row] ? ALL_FINITE : 0;
    }
}

void g4_loop_load(struct loop *r) {
    struct translator *const t = r->t;
    const int count = vreg_count(t);

    emit_masks(&t->code, G4_K_OR, K_LANES, K_EXEC_0, K_EXEC_1);
    for (int i = 0; i < count; i++) {
        const struct vreg *const h = &t->s.vregs[i];
        if (h->content == HOLDS_ROW) {
            emit_evex(&t->code, G4_X_LOAD, (unsigned)i, 0, g4_row_in_memory(h->row, 0), 0, G4_MERGE);
        } else {
            broadcast_element(t, (unsigned)i, h->row, h->element);
        }
        if (h->finite && (h->content == HOLDS_ELEMENT || r->exposed[h->row])) {
            check_finite(t, (unsigned)i, K_LANES);
        }
    }
    for (unsigned row = 0; row < ROWS; row++) {
        if (t->spilled[row]) {
            emit_evex(&t->code, G4_X_LOAD, TEMP_A, 0, g4_row_in_memory(row, 0), 0, G4_MERGE);
            emit_evex(&t->code, G4_X_STORE, TEMP_A, 0, row_at(t, row, 0), 0, G4_MERGE);
            if (t->spilled_finite[row] && r->exposed[row]) {
                check_finite(t, TEMP_A, K_LANES);
            }
        }
    }
}

void g4_loop_store(struct loop *r) {
    const struct translator *const t = r->t;
    struct g4_code *const code = &r->t->code;
    const int count = vreg_count(t);

    for (int i = 0; i < count; i++) {
        if (t->s.vregs[i].dirty) {
            emit_evex(code, G4_X_STORE, (unsigned)i, 0, g4_row_in_memory(t->s.vregs[i].row, 0), 0, G4_MERGE);
        }
    }
    for (unsigned row = 0; row < ROWS; row++) {
        if (t->spilled[row]) {
            emit_evex(code, G4_X_LOAD, TEMP_A, 0, row_at(t, row, 0), 0, G4_MERGE);
            emit_evex(code, G4_X_STORE, TEMP_A, 0, g4_row_in_memory(row, 0), 0, G4_MERGE);
        }
    }
}

bool g4_loop_allocate(struct loop *r) {
    record_all(r);
    if (!allocate_vregs(r)) {
        return false;
    }
    find_finite(r);
    return true;
}

#endif
