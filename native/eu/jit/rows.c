/*
 * Rows, elements, masks and flags during a translation (translator.h).
 */
#include <string.h>

#include "core/variant.h"
#include "eu/jit/operands.h"

#if G4_HAVE_X86_VARIANTS

void g4_translator_clear(struct translator *t) {
    ir_clear(&t->ir);
    t->loop = t->failed = t->raises = t->ieee_only = t->flushes = t->wide_only = false;
    t->top = 0;
    t->at = t->end = t->exit = 0;
    memset(t->exec, 0, sizeof t->exec); /* IR_NONE */
    t->group = t->largest = IR_NONE;
    t->element_count = t->widened_count = t->widened_row_count = t->writing_count = 0;
    memset(t->flags, 0, sizeof t->flags);
    memset(t->sums, 0, sizeof t->sums);
    memset(t->rows, 0, sizeof t->rows);
}

/* ---- masks ---- */

_Static_assert(offsetof(struct g4_run, upper) == offsetof(struct g4_run, exec) + 3 * sizeof(g4_lanes),
               "g4_exec() has the order of masks");

ir_operand g4_exec(struct translator *t, unsigned eight) {
    static const uint8_t word[] = {0, 1, 3, 4}; /* of the masks from g4_run.exec on: exec, group, upper */
    if (t->exec[eight] == IR_NONE) {
        t->exec[eight] = ir_value(&t->ir, IR_MASK);
        ir_add(&t->ir, (struct ir_instruction){.op = IR_LOAD_EXEC, .imm = word[eight], .dst = t->exec[eight]});
        t->wide_only |= eight > 1;
    }
    return t->exec[eight];
}

/* A unit of one thread is only executed if the thread is in the group. */
ir_operand g4_group(struct translator *t) {
    if (t->group == IR_NONE && t->backend->threads > 1) {
        t->group = ir_value(&t->ir, IR_MASK);
        ir_add(&t->ir, (struct ir_instruction){.op = IR_LOAD_GROUP, .dst = t->group});
    }
    return t->group;
}

ir_operand g4_whole_threads(struct translator *t) {
    if (!t->loop || t->backend->threads == 1) {
        return g4_group(t);
    }
    return mask_of(t, IR_MASK_THREAD, mask_of(t, IR_MASK_OR, t->exec[0], t->exec[1]), IR_NONE);
}

/* The mask of some lanes. */
static ir_operand mask_of_lanes(struct translator *t, enum lanes lanes) {
    switch (lanes) {
    case LANES_GROUP:
        return g4_group(t);
    case LANES_EXEC_0:
        return g4_exec(t, 0);
    case LANES_EXEC_1:
        return g4_exec(t, 1);
    case LANES_EXEC_2:
        return g4_exec(t, 2);
    default:
        return g4_exec(t, 3);
    }
}

void g4_begin_checks(struct translator *t) {
    t->largest = ir_variable(&t->ir, IR_VECTOR);
    t->checks = false;
    ir_add(&t->ir, (struct ir_instruction){.op = IR_CONSTANT, .dst = t->largest, .b = g4_uniform(t, 0)});
}

void g4_check_number(struct translator *t, ir_operand value, ir_operand mask) {
    if (t->largest == IR_NONE) {
        g4_begin_checks(t);
    }
    t->checks = true;
    ir_add(&t->ir, (struct ir_instruction){.op = IR_LARGEST,
                                           .keep = true,
                                           .dst = t->largest,
                                           .a = value,
                                           .b = g4_uniform(t, 0x7fffffff),
                                           .mask = mask});
}

void g4_jump_if_special(struct translator *t, ir_operand mask, uint32_t label) {
    if (t->largest != IR_NONE && t->checks) {
        ir_operand special = mask_of(t, IR_MASK_SPECIAL, t->largest, IR_NONE);
        if (mask != IR_NONE) {
            special = mask_of(t, IR_MASK_AND, special, mask);
        }
        ir_add(&t->ir, (struct ir_instruction){.op = IR_JUMP_IF_ANY, .a = special, .at = label});
    }
}

/* ---- flags ---- */

static uint32_t flag_at(unsigned flag, unsigned half) {
    return (uint32_t)(offsetof(struct g4_gang, flag) + (2 * flag + half) * sizeof(g4_lanes));
}

ir_operand g4_flag(struct translator *t, unsigned flag, unsigned half) {
    struct flag_state *const state = &t->flags[flag][half];
    if (state->value == IR_NONE) {
        state->value = t->loop ? ir_variable(&t->ir, IR_MASK) : ir_value(&t->ir, IR_MASK);
        state->variable = state->value;
        ir_add(&t->ir, (struct ir_instruction){.op = IR_LOAD_FLAG, .dst = state->value, .at = flag_at(flag, half)});
    }
    return state->value;
}

/* After a break, `bits` may have lanes outside of the mask: those that have left, which do not read the flag. */
static void set_flag_variable(struct translator *t, struct flag_state *state, ir_operand bits, ir_operand mask) {
    ir_add(&t->ir, (struct ir_instruction){
                       .op = IR_MASK_BLEND, .dst = state->variable, .a = state->variable, .b = bits, .mask = mask});
    state->value = state->variable;
    state->pending = false;
}

void g4_set_flag(struct translator *t, unsigned flag, unsigned half, ir_operand bits, ir_operand mask) {
    struct flag_state *const state = &t->flags[flag][half];
    state->dirty = true;
    if (mask == IR_NONE) {
        state->value = bits;
        return;
    }
    const ir_operand old = g4_flag(t, flag, half);
    if (!t->loop) {
        state->value = ir_value(&t->ir, IR_MASK);
        ir_add(&t->ir,
               (struct ir_instruction){.op = IR_MASK_BLEND, .dst = state->value, .a = old, .b = bits, .mask = mask});
        return;
    }
    if (mask == t->exec[half]) {
        state->value = bits;
        state->pending = true;
        return;
    }
    if (state->pending) {
        set_flag_variable(t, state, state->value, t->exec[half]);
    }
    set_flag_variable(t, state, bits, mask);
}

/* Whether a flag has to be in its variable after the instruction `end` if that is control flow and no loop begins
 * there, else before it. */
static bool flag_is_joined(const struct translator *t, unsigned flag) {
    if (!t->live) {
        return true;
    }
    const struct g4_live *const at_end = &t->live[t->first + t->end];
    const bool flows = g4_op_is_flow(&t->ops[t->end]) && !t->begins[t->first + t->end];
    const unsigned needed = t->exit ? t->live[t->first + t->exit].flags | at_end->flags_across
                            : flows ? at_end->flags_after
                                    : at_end->flags;
    return needed >> flag & 1;
}

static void join_flags(struct translator *t) {
    for (unsigned flag = 0; flag < FLAGS; flag++) {
        for (unsigned half = 0; half < 2; half++) {
            struct flag_state *const state = &t->flags[flag][half];
            if (state->pending && flag_is_joined(t, flag)) {
                set_flag_variable(t, state, state->value, t->exec[half]);
            }
        }
    }
}

void g4_drop_flags(struct translator *t) {
    for (unsigned flag = 0; flag < FLAGS && !t->exit; flag++) {
        for (unsigned half = 0; half < 2; half++) {
            struct flag_state *const state = &t->flags[flag][half];
            state->value = state->pending ? state->variable : state->value;
            state->pending = false;
        }
    }
}

/* ---- rows ---- */

uint32_t g4_row_at(unsigned number) {
    return number * (uint32_t)sizeof(union g4_reg);
}

bool g4_row_is_live(const struct translator *t, unsigned number) {
    return !t->live || g4_live_has(&t->live[t->first + t->end], number);
}

/* At a break, the value stays right for the lanes that stay.  The others need theirs if they read it where they
 * continue, or if those that stay do; messages read all lanes of the MRF. */
bool g4_row_is_joined(const struct translator *t, unsigned number) {
    return g4_row_is_live(t, number) && (!t->live || !t->exit || g4_live_has(&t->live[t->first + t->exit], number) ||
                                         g4_row_set_has(&t->live[t->first + t->end].rows_across, number));
}

static ir_operand load(struct translator *t, unsigned number) {
    const ir_operand value = ir_value(&t->ir, IR_VECTOR);
    ir_add(&t->ir, (struct ir_instruction){.op = IR_LOAD, .dst = value, .at = g4_row_at(number)});
    return value;
}

static void store_row(struct translator *t, unsigned number, ir_operand value, ir_operand mask) {
    ir_add(&t->ir, (struct ir_instruction){.op = IR_STORE, .a = value, .mask = mask, .at = g4_row_at(number)});
}

/* The mask of the lanes in which a value is right. */
static ir_operand valid_mask(struct translator *t, const struct row_state *row) {
    return row->valid == LANES_ALL ? IR_NONE : mask_of_lanes(t, row->valid);
}

static void store_valid(struct translator *t, unsigned number) {
    struct row_state *const row = &t->rows[number];
    store_row(t, number, row->value, valid_mask(t, row));
    row->pending = false;
}

/* Join the value with the lanes of the variable that it does not have. */
static void set_variable(struct translator *t, struct row_state *row, ir_operand value, ir_operand mask) {
    ir_add(&t->ir,
           (struct ir_instruction){.op = IR_MOVE, .keep = true, .dst = row->variable, .a = value, .mask = mask});
}

static void flush_variable(struct translator *t, struct row_state *row) {
    if (row->pending) {
        set_variable(t, row, row->value, valid_mask(t, row));
    }
    row->pending = false;
    row->value = IR_NONE;
}

/* A value that is right in the lanes of the group is right wherever an instruction looks. */
static bool is_valid(const struct row_state *row, enum lanes lanes) {
    return row->value != IR_NONE && (row->valid & (lanes | LANES_GROUP));
}

ir_operand g4_row(struct translator *t, unsigned number, enum lanes lanes) {
    struct row_state *const row = &t->rows[number];
    if (is_valid(row, lanes)) {
        return row->value;
    }
    if (row->home == ROW_VARIABLE) {
        flush_variable(t, row);
        return row->variable;
    }
    /* Storing the value and loading the row again would be slower: hosts cannot forward what is stored under a mask. */
    const ir_operand old = load(t, number);
    row->value = row->pending ? vector_of(t, IR_BLEND, old, row->value, valid_mask(t, row)) : old;
    row->valid = LANES_ALL;
    row->numbers = 0;
    return row->value;
}

void g4_load_variable(struct translator *t, unsigned number) {
    struct row_state *const row = &t->rows[number];
    row->home = ROW_VARIABLE;
    row->variable = ir_variable(&t->ir, IR_VECTOR);
    ir_add(&t->ir, (struct ir_instruction){.op = IR_LOAD, .dst = row->variable, .at = g4_row_at(number)});
}

static void join_rows(struct translator *t) {
    for (unsigned number = 0; number < ROWS; number++) {
        struct row_state *const row = &t->rows[number];
        if (row->home == ROW_VARIABLE) {
            row->pending &= g4_row_is_live(t, number);
            if (!row->pending || g4_row_is_joined(t, number)) {
                flush_variable(t, row);
            }
        }
    }
}

void g4_join_values(struct translator *t) {
    join_rows(t);
    join_flags(t);
}

bool g4_check_elements(struct translator *t, unsigned number, unsigned dwords) {
    struct row_state *const row = &t->rows[number];
    int32_t magnitude[8];
    if (t->loop || (row->value != IR_NONE && !is_valid(row, LANES_GROUP))) {
        return false;
    }
    if (!row->checked) {
        g4_check_number(t, g4_row(t, number, LANES_GROUP), g4_group(t));
        row->check = t->ir.count - 1;
    }
    row->checked |= (uint8_t)dwords;
    for (int c = 0; c < 8; c++) {
        magnitude[c] = row->checked >> c & 1 ? INT32_MAX : 0;
    }
    const ir_operand all = g4_by_channel(t, magnitude, 0);
    if (!t->ir.failed) {
        t->ir.instructions[row->check].b = all;
    }
    return true;
}

static struct element_state *find_element(struct translator *t, unsigned number, unsigned dword) {
    for (uint32_t i = 0; i < t->element_count; i++) {
        struct element_state *const found = &t->elements[i];
        if (found->row == number && found->dword == dword) {
            return found;
        }
    }
    return NULL;
}

const struct element_state *g4_known_element(const struct translator *t, unsigned number, unsigned dword) {
    const struct element_state *const found = find_element((struct translator *)t, number, dword);
    return found && found->is_constant ? found : NULL;
}

uint8_t *g4_element_numbers(struct translator *t, unsigned number, unsigned dword) {
    struct element_state *const found = find_element(t, number, dword);
    return found ? &found->numbers : NULL;
}

void g4_know_element(struct translator *t, unsigned number, unsigned dword, uint32_t bits) {
    if (t->element_count < ELEMENTS) {
        t->elements[t->element_count++] = (struct element_state){.row = (uint8_t)number,
                                                                 .dword = (uint8_t)dword,
                                                                 .numbers = g4_is_finite(bits) ? LANES_ALL : 0,
                                                                 .is_constant = true,
                                                                 .bits = bits};
    }
}

ir_operand g4_element(struct translator *t, unsigned number, unsigned dword) {
    struct element_state *const found = find_element(t, number, dword);
    if (found) {
        return found->is_constant ? vector_of(t, IR_CONSTANT, IR_NONE, g4_uniform(t, found->bits), IR_NONE)
                                  : found->value;
    }
    ir_operand value = IR_NONE;
    if (t->rows[number].pending || t->rows[number].written) {
        value = vector_imm(t, IR_SPREAD, g4_row(t, number, LANES_GROUP), IR_NONE, dword);
    } else {
        value = ir_value(&t->ir, IR_VECTOR);
        ir_add(&t->ir,
               (struct ir_instruction){.op = IR_LOAD_ELEMENT, .dst = value, .at = g4_row_at(number) + 4 * dword});
    }
    if (!t->loop && t->element_count < ELEMENTS) {
        t->elements[t->element_count++] =
            (struct element_state){.value = value, .row = (uint8_t)number, .dword = (uint8_t)dword};
    }
    return value;
}

/* The row as rows of doubles; NULL: it is not in memory, or there are too many. */
static const struct widened_row *widen_row(struct translator *t, unsigned number) {
    for (uint32_t i = 0; i < t->widened_row_count; i++) {
        if (t->widened_rows[i].row == number) {
            return &t->widened_rows[i];
        }
    }
    if (t->rows[number].pending || t->widened_row_count == WIDENED_ROWS) {
        return NULL;
    }
    struct widened_row *const added = &t->widened_rows[t->widened_row_count++];
    *added = (struct widened_row){.row = (uint8_t)number};
    for (unsigned thread = 0; thread < t->backend->threads; thread++) {
        added->thread[thread] = ir_row(&t->ir);
        ir_add(&t->ir,
               (struct ir_instruction){
                   .op = IR_WIDEN_ROW, .imm = (uint8_t)thread, .dst = added->thread[thread], .at = g4_row_at(number)});
    }
    if (t->backend->threads == 1) { /* both halves are channels of one thread */
        added->thread[1] = added->thread[0];
    }
    return added;
}

struct wide_element g4_wide_element(struct translator *t, unsigned number, unsigned dword) {
    const struct widened_row *const row = widen_row(t, number);
    if (row) {
        return (struct wide_element){{row->thread[0], row->thread[1]}, true, (uint8_t)dword};
    }
    const struct wide wide = g4_widened(t, g4_element(t, number, dword));
    return (struct wide_element){{wide.half[0], wide.half[1]}, false, 0};
}

struct wide g4_widened(struct translator *t, ir_operand value) {
    const bool keeps = !t->loop && !ir_is_variable(&t->ir, value);
    for (uint32_t i = 0; i < t->widened_count && keeps; i++) {
        if (t->widened[i].value == value) {
            return t->widened[i].wide;
        }
    }
    const struct wide wide = {{vector_imm(t, IR_WIDEN, value, IR_NONE, 0), vector_imm(t, IR_WIDEN, value, IR_NONE, 1)}};
    if (keeps && t->widened_count < WIDENED) {
        t->widened[t->widened_count++] = (struct widened_value){value, wide};
    }
    return wide;
}

void g4_forget_elements(struct translator *t, unsigned number, unsigned dwords) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < t->element_count; i++) {
        if (t->elements[i].row != number || !(dwords >> t->elements[i].dword & 1)) {
            t->elements[kept++] = t->elements[i];
        }
    }
    t->element_count = kept;
    kept = 0;
    for (uint32_t i = 0; i < t->widened_row_count; i++) {
        if (t->widened_rows[i].row != number) {
            t->widened_rows[kept++] = t->widened_rows[i];
        }
    }
    t->widened_row_count = kept;
}

/* Lanes of a row that are numbers after a write. */
static void update_numbers(struct row_state *row, enum lanes lanes, bool whole, uint8_t numbers) {
    if (whole && lanes == LANES_GROUP) {
        row->numbers = numbers;
    } else if (whole) { /* only these lanes have changed */
        row->numbers = (uint8_t)((row->numbers & numbers) | (numbers & lanes));
    } else {
        row->numbers &= numbers;
    }
}

/* A value that does not change when its row or variable is written. */
static ir_operand constant_value(struct translator *t, ir_operand value) {
    return ir_is_variable(&t->ir, value) ? vector_of(t, IR_MOVE, value, IR_NONE, IR_NONE) : value;
}

/* Make the lanes of a mask those of a value; `whole`: they are all of `lanes`. */
static void replace_value(struct translator *t, unsigned number, enum lanes lanes, ir_operand mask, bool whole,
                          ir_operand value) {
    struct row_state *const row = &t->rows[number];
    const bool other_lanes = row->pending && lanes != LANES_GROUP && row->valid != lanes;
    if (whole && other_lanes && row->home == ROW_EARLY) {
        store_valid(t, number);
    }
    if (whole && !(other_lanes && row->home == ROW_LATE)) {
        row->value = constant_value(t, value);
        row->valid = (uint8_t)lanes;
    } else {
        const ir_operand old = g4_row(t, number, whole ? LANES_GROUP : lanes);
        row->value = vector_of(t, IR_BLEND, old, value, mask);
    }
    row->pending = true;
}

/* Whether an instruction before control flow joins writes a row again. */
static bool is_rewritten(const struct translator *t, unsigned number) {
    struct g4_op_rows rows;
    for (uint32_t i = t->at + 1; i < t->end; i++) {
        g4_op_rows_of(&t->ops[i], &rows);
        for (int o = 0; o < rows.outs; o++) {
            if (rows.out[o].row == number) {
                return true;
            }
        }
    }
    return false;
}

/* Whether the instruction, or a later one, may read the current value of a row. */
static bool is_needed(const struct translator *t, unsigned number) {
    return !t->live || g4_live_has(&t->live[t->first + t->at], number);
}

static void write_variable(struct translator *t, unsigned number, enum lanes lanes, ir_operand mask, bool whole,
                           ir_operand value) {
    struct row_state *const row = &t->rows[number];
    if (value == row->variable) { /* computed in place */
        row->value = IR_NONE;
        row->pending = false;
        return;
    }
    if (row->pending && row->valid != lanes) {
        row->pending = is_needed(t, number);
        flush_variable(t, row);
    }
    if (whole && lanes != LANES_GROUP) {
        row->value = constant_value(t, value);
        row->valid = (uint8_t)lanes;
        row->pending = true;
        if (g4_row_is_joined(t, number) && !is_rewritten(t, number)) {
            set_variable(t, row, row->value, mask);
            row->pending = false;
        }
    } else if (row->pending) {
        row->value = vector_of(t, IR_BLEND, row->value, value, mask);
    } else {
        set_variable(t, row, value, mask);
        row->value = IR_NONE;
    }
}

void g4_write_row(struct translator *t, unsigned number, enum lanes lanes, ir_operand mask, bool whole,
                  ir_operand value, uint8_t numbers) {
    struct row_state *const row = &t->rows[number];
    row->words[0].value = row->words[1].value = IR_NONE;
    row->checked = 0;
    switch (row->home) {
    case ROW_EARLY:
    case ROW_LATE:
        replace_value(t, number, lanes, mask, whole || mask == IR_NONE, value);
        if (row->home == ROW_EARLY && row->last_write == t->at && g4_row_is_live(t, number)) {
            store_valid(t, number);
        }
        update_numbers(row, lanes, whole, numbers);
        break;
    case ROW_VARIABLE:
        write_variable(t, number, lanes, mask, whole, value);
        break;
    default: /* ROW_DIRECT */
        if (g4_row_is_live(t, number)) {
            store_row(t, number, value, mask);
        }
        break;
    }
}

/* Whether a row of a basic block is stored when the block has succeeded. */
static bool is_stored_late(const struct translator *t, unsigned number) {
    const struct row_state *const row = &t->rows[number];
    return row->home == ROW_LATE && row->pending && g4_row_is_live(t, number);
}

bool g4_stores_late(const struct translator *t) {
    bool stores = t->sums[0].dirty || t->sums[1].dirty;
    for (unsigned number = 0; number < ROWS; number++) {
        stores |= is_stored_late(t, number);
    }
    for (unsigned flag = 0; flag < FLAGS; flag++) {
        stores |= t->flags[flag][0].dirty || t->flags[flag][1].dirty;
    }
    return stores;
}

/* Whether a flag may be read after the block.  What basic blocks write is always stored. */
static bool flag_is_live(const struct translator *t, unsigned flag) {
    return !t->live || !t->loop || t->live[t->first + t->end].flags >> flag & 1;
}

void g4_store_late(struct translator *t) {
    for (unsigned number = 0; number < ROWS; number++) {
        const struct row_state *const row = &t->rows[number];
        if (row->home == ROW_VARIABLE && row->written && g4_row_is_live(t, number)) {
            store_row(t, number, row->variable, IR_NONE);
        } else if (is_stored_late(t, number)) {
            store_valid(t, number);
        }
    }
    for (unsigned acc = 0; acc < 2; acc++) {
        for (unsigned half = 0; half < 2 && t->sums[acc].dirty; half++) {
            ir_add(&t->ir, (struct ir_instruction){
                               .op = IR_STORE_SUM, .imm = (uint8_t)half, .a = t->sums[acc].half[half], .at = acc});
        }
    }
    for (unsigned flag = 0; flag < FLAGS; flag++) {
        for (unsigned half = 0; half < 2; half++) {
            if (t->flags[flag][half].dirty && flag_is_live(t, flag)) {
                ir_add(&t->ir, (struct ir_instruction){
                                   .op = IR_STORE_FLAG, .a = t->flags[flag][half].value, .at = flag_at(flag, half)});
            }
        }
    }
}

#endif
