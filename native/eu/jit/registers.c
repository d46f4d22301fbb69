/*
 * Register allocation of a loop: which rows stay in vector registers from start to end, and which may hold NaN.
 *
 * Control flow joins at the tops of loops and the ends of branches, so registers are allocated before the first
 * instruction is translated.  A row that is only written by float arithmetic is checked for NaN once, at the start.
 */
#include <string.h>

#include "core/variant.h"
#include "eu/jit/loops.h"

#if G4_HAVE_X86_VARIANTS

static void record_element(struct loop *loop, unsigned row, unsigned dword, bool floats, uint32_t score) {
    for (int i = 0; i < loop->element_count; i++) {
        struct element *const e = &loop->elements[i];
        if (e->row == row && e->dword == dword) {
            e->floats |= floats;
            e->score += score;
            return;
        }
    }
    if (loop->element_count < MAX_ELEMENTS) {
        loop->elements[loop->element_count++] =
            (struct element){.row = (uint8_t)row, .dword = (uint8_t)dword, .floats = floats, .score = score};
    }
}

/* `ordinary`: every lane that reads the results of the op executes it first. */
static void record_op(struct loop *loop, const struct g4_op *op, uint32_t score, bool ordinary) {
    struct g4_op_rows rows;

    g4_op_rows_of(op, &rows);
    for (int i = 0; i < rows.ins; i++) {
        const unsigned row = rows.in[i].row;
        loop->read[row] = true;
        loop->exposed[row] |= !(loop->covered[row] >> rows.in[i].half & 1);
        if (rows.in[i].single) {
            record_element(loop, row, rows.in[i].element, rows.in[i].floats, score);
        } else {
            loop->floats[row] |= rows.in[i].floats;
            loop->score[row] += score;
        }
    }
    for (int i = 0; i < rows.outs; i++) {
        const unsigned row = rows.out[i].row;
        loop->written[row] = true;
        loop->score[row] += score;
        loop->covered[row] |= (uint8_t)((ordinary && rows.out[i].whole) << rows.out[i].half);
        if (rows.out[i].number) {
            continue;
        }
        if (rows.out[i].copies >= 0 && loop->copy_count < MAX_COPIES) {
            loop->copy_to[loop->copy_count] = (uint8_t)row;
            loop->copy_from[loop->copy_count++] = (uint8_t)rows.out[i].copies;
        } else {
            loop->may_be_nan[row] = true;
        }
    }
}

static void record_all(struct loop *loop) {
    uint32_t score = 1;
    int depth = 0;
    for (uint32_t i = 0; i < loop->count; i++) {
        const struct g4_op *const op = &loop->ops[i];
        if (!is_flow(op)) {
            record_op(loop, op, score, depth == 1 && loop->ops[0].opcode == G4_OPCODE_DO);
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

uint32_t g4_loop_stored_rows(const struct loop *loop, uint8_t rows[ROWS]) {
    uint32_t count = 0;
    for (unsigned row = 0; row < ROWS; row++) {
        if (loop->written[row] && !loop->read[row]) {
            rows[count++] = (uint8_t)row;
        }
    }
    return count;
}

static bool spill(struct loop *loop, unsigned row, int *spilled) {
    if (*spilled == G4_LOOP_SPILLS) {
        return false;
    }
    loop->t->spilled[row] = (uint8_t)(1 + (*spilled)++);
    return true;
}

/* The row with the highest score that has no register, among those that are read and (un)written; -1: none. */
static int best_row(const struct loop *loop, bool written, uint32_t *score) {
    int best = -1;
    for (int row = 0; row < ROWS; row++) {
        if (loop->read[row] && loop->written[row] == written && loop->score[row] > *score &&
            !is_in_vreg(loop->t, (unsigned)row)) {
            best = row;
            *score = loop->score[row];
        }
    }
    return best;
}

static int best_element(const struct loop *loop, uint32_t *score) {
    int best = -1;
    for (int i = 0; i < loop->element_count; i++) {
        if (!loop->written[loop->elements[i].row] && loop->elements[i].score > *score) {
            best = i;
            *score = loop->elements[i].score;
        }
    }
    return best;
}

/* Allocate registers to rows that are written and read, then to rows and elements that are read most.  Rows of the
 * first kind without a register are spilled. */
static bool allocate_vregs(struct loop *loop) {
    struct translator *const t = loop->t;
    int count = 0;
    int spilled = 0;

    memset(&t->s, 0, sizeof t->s);
    memset(t->spilled, 0, sizeof t->spilled);
    while (count < LOOP_VREGS) {
        uint32_t score = 0;
        const int row = best_row(loop, true, &score);
        if (row < 0) {
            break;
        }
        t->s.vregs[count++] = (struct vreg){.content = HOLDS_ROW, .row = (uint8_t)row, .dirty = true};
    }
    for (unsigned row = 0; row < ROWS; row++) {
        if (loop->written[row] && loop->read[row] && !is_in_vreg(t, row) && !spill(loop, row, &spilled)) {
            return false;
        }
    }
    while (count < LOOP_VREGS) {
        uint32_t score = 0;
        const int row = best_row(loop, false, &score);
        const int element = best_element(loop, &score);
        if (element >= 0) {
            struct element *const e = &loop->elements[element];
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

/* Find the rows that may hold NaN: those with writes that are not results of float arithmetic. */
static void find_finite(struct loop *loop) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (int i = 0; i < loop->copy_count; i++) {
            const unsigned to = loop->copy_to[i];
            const unsigned from = loop->copy_from[i];
            if ((loop->may_be_nan[from] || !(is_in_vreg(loop->t, from) || loop->t->spilled[from])) &&
                !loop->may_be_nan[to]) {
                loop->may_be_nan[to] = changed = true;
            }
            if (loop->floats[to] && !loop->floats[from]) {
                loop->floats[from] = changed = true;
            }
        }
    }
    for (int i = 0; i < LOOP_VREGS; i++) {
        struct vreg *const h = &loop->t->s.vregs[i];
        if (h->content == HOLDS_ROW) {
            h->finite = loop->floats[h->row] && !loop->may_be_nan[h->row] ? ALL_FINITE : 0;
        }
    }
    for (int row = 0; row < ROWS; row++) {
        loop->t->spilled_finite[row] =
            loop->t->spilled[row] && loop->floats[row] && !loop->may_be_nan[row] ? ALL_FINITE : 0;
    }
}

void g4_loop_load(struct loop *loop) {
    struct translator *const t = loop->t;
    const int count = vreg_count(t);

    emit_masks(&t->code, G4_K_OR, K_LANES, K_EXEC_0, K_EXEC_1);
    for (int i = 0; i < count; i++) {
        const struct vreg *const h = &t->s.vregs[i];
        if (h->content == HOLDS_ROW) {
            emit_evex(&t->code, G4_X_LOAD, (unsigned)i, 0, g4_row_in_memory(h->row, 0), 0, G4_MERGE);
        } else {
            broadcast_element(t, (unsigned)i, h->row, h->element);
        }
        if (h->finite && (h->content == HOLDS_ELEMENT || loop->exposed[h->row])) {
            check_finite(t, (unsigned)i, K_LANES);
        }
    }
    for (unsigned row = 0; row < ROWS; row++) {
        if (t->spilled[row]) {
            emit_evex(&t->code, G4_X_LOAD, TEMP_A, 0, g4_row_in_memory(row, 0), 0, G4_MERGE);
            emit_evex(&t->code, G4_X_STORE, TEMP_A, 0, row_at(t, row, 0), 0, G4_MERGE);
            if (t->spilled_finite[row] && loop->exposed[row]) {
                check_finite(t, TEMP_A, K_LANES);
            }
        }
    }
}

void g4_loop_store(struct loop *loop) {
    const struct translator *const t = loop->t;
    struct g4_code *const code = &loop->t->code;
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

bool g4_loop_allocate(struct loop *loop) {
    record_all(loop);
    if (!allocate_vregs(loop)) {
        return false;
    }
    find_finite(loop);
    return true;
}

#endif
