/*
 * The rows of a loop: how it uses them, and which may hold NaN.
 *
 * Control flow joins at the tops of loops and the ends of branches, so all rows that are read are variables, loaded
 * before the first instruction.  A row that is only written by float arithmetic is checked for NaN once, at the start.
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

static void record_op(struct loop *loop, const struct g4_op *op, uint32_t score) {
    struct g4_op_rows rows;

    g4_op_rows_of(op, &rows);
    for (int i = 0; i < rows.ins; i++) {
        const unsigned row = rows.in[i].row;
        loop->exposed[row] |= !(loop->covered[row] >> rows.in[i].half & 1);
        if (rows.in[i].single) {
            record_element(loop, row, rows.in[i].element, rows.in[i].floats, score);
            loop->singles[row] = true;
        } else {
            loop->read[row] = true;
            loop->floats[row] |= rows.in[i].floats;
        }
    }
    for (int i = 0; i < rows.outs; i++) {
        const unsigned row = rows.out[i].row;
        loop->written[row] = true;
        loop->covered[row] |= (uint8_t)(rows.out[i].whole << rows.out[i].half);
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

static struct constant_write *find_constant(struct loop *loop, unsigned row, unsigned dword) {
    for (int i = 0; i < loop->constant_count; i++) {
        if (loop->constants[i].row == row && loop->constants[i].dword == dword) {
            return &loop->constants[i];
        }
    }
    return NULL;
}

static bool is_read_before(const struct loop *loop, unsigned row, unsigned dword) {
    for (int i = 0; i < loop->element_count; i++) {
        if (loop->elements[i].row == row && loop->elements[i].dword == dword) {
            return true;
        }
    }
    return loop->element_count == MAX_ELEMENTS;
}

static void record_constant(struct loop *loop, uint32_t at, bool by_all) {
    const struct g4_op *const op = &loop->ops[at];
    const unsigned row = op->dst.base / G4_REGISTER_BYTES;
    const unsigned dword = op->dst.base % G4_REGISTER_BYTES / 4u;
    struct constant_write *const earlier = find_constant(loop, row, dword);
    loop->has_constants[row] = true;
    if (earlier) {
        earlier->by_all = earlier->only = false;
    } else if (loop->constant_count == MAX_CONSTANTS) {
        loop->too_many_constants = true;
    } else {
        loop->constants[loop->constant_count++] =
            (struct constant_write){.at = at,
                                    .row = (uint8_t)row,
                                    .dword = (uint8_t)dword,
                                    .by_all = by_all && !is_read_before(loop, row, dword),
                                    .only = true,
                                    .bits = (uint32_t)op->in[0].imm[0]};
    }
}

/* The rows that have been written before each open loop or branch.  What is written inside counts until its end or
 * other side: the lanes that are still there have written it. */
struct covered_before {
    uint8_t rows[G4_LOOP_DEPTH][ROWS];
};

static bool record_all(struct loop *loop) {
    struct covered_before before;
    uint32_t score = 1;
    int depth = 0;
    bool may_leave = false; /* threads may have left the loop */
    for (uint32_t i = 0; i < loop->count; i++) {
        const struct g4_op *const op = &loop->ops[i];
        const unsigned begun = begins_at(loop, i) + (g4_op_opens(op) ? 1 : 0);
        if (depth + (int)begun > G4_LOOP_DEPTH) {
            return false;
        }
        for (unsigned n = 0; n < begun; n++) {
            memcpy(before.rows[(unsigned)depth + n], loop->covered, sizeof loop->covered);
        }
        for (unsigned n = begins_at(loop, i); n > 0; n--) {
            depth++;
            score *= score < 4096 ? 8 : 1;
        }
        if (g4_is_constant_element(op)) {
            record_constant(loop, i, depth == 1 && begins_with_loop(loop) && !may_leave);
        } else if (!is_flow(op)) {
            record_op(loop, op, score);
        }
        may_leave |= is_flow(op) && op->opcode != G4_OPCODE_DO;
        if (g4_op_opens(op)) {
            depth++;
            score *= op->opcode == G4_OPCODE_DO && score < 4096 ? 8 : 1;
        } else if (depth > 0 && (g4_op_closes(op) || (is_flow(op) && op->opcode == G4_OPCODE_ELSE))) {
            memcpy(loop->covered, before.rows[depth - 1], sizeof loop->covered);
        }
        if (g4_op_closes(op)) {
            depth--;
            score /= op->opcode == G4_OPCODE_WHILE && score > 1 ? 8 : 1;
        }
    }
    for (unsigned row = 0; row < ROWS; row++) { /* elements of rows that change are taken from their values */
        loop->read[row] |= loop->singles[row] && loop->written[row];
    }
    return true;
}

/* Whether constants of a row are stored before the end. */
static bool stores_constants(const struct loop *loop, unsigned row) {
    for (int i = 0; i < loop->constant_count; i++) {
        if (loop->constants[i].row == row && !loop->constants[i].by_all) {
            return true;
        }
    }
    return false;
}

uint32_t g4_loop_stored_rows(const struct loop *loop, uint8_t rows[ROWS]) {
    uint32_t count = 0;
    for (unsigned row = 0; row < ROWS; row++) {
        if ((loop->written[row] && !loop->read[row]) || stores_constants(loop, row)) {
            rows[count++] = (uint8_t)row;
        }
    }
    return count;
}

/* Find the rows that may hold NaN: those with writes that are not results of float arithmetic. */
static void find_numbers(struct loop *loop) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (int i = 0; i < loop->copy_count; i++) {
            const unsigned to = loop->copy_to[i];
            const unsigned from = loop->copy_from[i];
            if (loop->may_be_nan[from] && !loop->may_be_nan[to]) {
                loop->may_be_nan[to] = changed = true;
            }
            if (loop->floats[to] && !loop->floats[from]) {
                loop->floats[from] = changed = true;
            }
        }
    }
}

bool g4_loop_record(struct loop *loop) {
    if (!record_all(loop)) {
        return false;
    }
    find_numbers(loop);
    for (unsigned row = 0; row < ROWS; row++) {
        if (loop->has_constants[row] && (loop->read[row] || loop->written[row])) {
            return false;
        }
    }
    return !loop->too_many_constants;
}

/* ---- constants ---- */

static void store_constant(struct loop *loop, const struct constant_write *constant, ir_operand threads) {
    struct translator *const t = loop->t;
    const ir_operand value = vector_of(t, IR_CONSTANT, IR_NONE, g4_uniform(t, constant->bits), IR_NONE);
    ir_operand lanes = mask_constant(t, 1u << constant->dword);
    if (threads != IR_NONE) {
        lanes = mask_of(t, IR_MASK_AND, lanes, threads);
    }
    ir_add(&t->ir,
           (struct ir_instruction){
               .op = IR_STORE, .a = value, .mask = lanes, .at = constant->row * (uint32_t)sizeof(union g4_reg)});
}

bool g4_loop_write_constant(struct loop *loop, uint32_t at) {
    const struct g4_op *const op = &loop->ops[at];
    const struct constant_write *const constant =
        find_constant(loop, op->dst.base / G4_REGISTER_BYTES, op->dst.base % G4_REGISTER_BYTES / 4u);
    if (!constant->by_all) {
        struct constant_write other = *constant;
        other.bits = (uint32_t)op->in[0].imm[0];
        store_constant(loop, &other, g4_whole_threads(loop->t));
    }
    if (constant->only) {
        g4_know_element(loop->t, constant->row, constant->dword, constant->bits);
    }
    /* in memory, or known */
    return !constant->by_all || g4_known_element(loop->t, constant->row, constant->dword);
}

void g4_loop_store_constants(struct loop *loop) {
    for (int i = 0; i < loop->constant_count; i++) {
        if (loop->constants[i].by_all) {
            store_constant(loop, &loop->constants[i], g4_group(loop->t));
        }
    }
}

static void load_elements(struct loop *loop) {
    struct translator *const t = loop->t;
    for (int i = 0; i < loop->element_count; i++) {
        const struct element *const e = &loop->elements[i];
        if (loop->written[e->row] || t->element_count == ELEMENTS || find_constant(loop, e->row, e->dword)) {
            continue;
        }
        const ir_operand value = g4_element(t, e->row, e->dword);
        t->elements[t->element_count++] = (struct element_state){
            .value = value, .row = e->row, .dword = e->dword, .numbers = e->floats ? LANES_ALL : 0};
    }
}

void g4_loop_load(struct loop *loop) {
    struct translator *const t = loop->t;

    for (unsigned row = 0; row < ROWS; row++) {
        const bool numbers = loop->floats[row] && !loop->may_be_nan[row];
        if (!loop->read[row]) {
            t->rows[row].home = ROW_DIRECT;
            continue;
        }
        g4_load_variable(t, row);
        t->rows[row].written = loop->written[row];
        if (numbers && loop->exposed[row]) {
            g4_check_number(t, t->rows[row].variable, IR_NONE);
        }
        t->rows[row].numbers = numbers ? LANES_ALL : 0;
    }
    load_elements(loop);
    for (uint32_t i = 0; i < t->element_count; i++) {
        if (t->elements[i].numbers) {
            g4_check_number(t, t->elements[i].value, IR_NONE);
        }
    }
    g4_jump_if_special(t, mask_of(t, IR_MASK_OR, t->exec[0], t->exec[1]), loop->failure);
}

#endif
