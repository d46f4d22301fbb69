/*
 * Runs a gang.  Threads with the same instruction pointer run as a group, the one with the lowest pointer first, and
 * groups merge when they meet.
 */
#include <string.h>

#include "core/hooks.h"
#include "core/report.h"
#include "core/variant.h"
#include "eu/counters.h"
#include "eu/fast/fast.h"
#include "eu/fpenv.h"
#include "eu/jit/jit.h"
#include "eu/kernel.h"
#include "eu/line_counts.h"
#include "eu/run.h"
#include "eu/worker.h"
#include "hw_messages.h"

const union g4_reg g4_zero_register;

/* ---- start ---- */

uint32_t g4_thread_identity(uint32_t gen, uint32_t unit, uint32_t thread) {
    const struct g4_thread_state state = {.euid = unit, .tid = thread};
    uint32_t packed;

    g4_thread_state_pack(&state, gen, &packed);
    return packed;
}

uint32_t g4_thread_identity_of_slot(const struct g4_context *ctx, uint32_t slot) {
    const uint32_t units = ctx->model->chip->execution_units;
    return g4_thread_identity(ctx->gen, slot % units, slot / units);
}

static void start(struct g4_gang *gang, const struct g4_dispatch *dispatch, int count) {
    const uint8_t live = (uint8_t)((1u << count) - 1);
    const uint32_t cr0 = (dispatch->alternate_fp ? G4_CR0_ALTERNATE : 0u) |
                         (dispatch->single_program_flow ? G4_CR0_SINGLE_FLOW : 0u) |
                         (uint32_t)dispatch->rounding_mode << G4_CR0_ROUNDING_SHIFT |
                         (dispatch->retains_denormals ? G4_CR0_KEEP_FLOATS : 0u);

    gang->dispatch = dispatch;
    gang->live = live;
    for (int t = 0; t < count; t++) {
        gang->cr0[t][0] = cr0;
        gang->cr0[t][1] = (uint32_t)dispatch->exceptions << G4_CR0_ENABLE_SHIFT;
        gang->sr0[t] = (uint32_t)t;
    }
    for (int h = 0; h < 2; h++) {
        gang->imask[h] = gang->lmask[h] = gang->cmask[h] = G4_EVERY_LANE;
    }
}

#define CLEAR(gang, from, to)                                                                                          \
    memset((uint8_t *)(gang) + offsetof(struct g4_gang, from), 0,                                                      \
           offsetof(struct g4_gang, to) - offsetof(struct g4_gang, from))
#define CLEAR_REST(gang, from)                                                                                         \
    memset((uint8_t *)(gang) + offsetof(struct g4_gang, from), 0, sizeof *(gang)-offsetof(struct g4_gang, from))

void g4_gang_start(struct g4_gang *gang, const struct g4_dispatch *dispatch, int count) {
    const size_t owned = dispatch->grf_count < G4_GRF_COUNT ? dispatch->grf_count : G4_GRF_COUNT;

    memset(gang->grf, 0, owned * sizeof gang->grf[0]);
    CLEAR_REST(gang, mrf);
    start(gang, dispatch, count);
}

/* Clear the registers of a set that threads own, neighbours at once. */
static void clear_rows(struct g4_gang *gang, const struct g4_row_set *set, unsigned owned) {
    for (unsigned word = 0; word < G4_GRF_COUNT / 64 && 64 * word < owned; word++) {
        const unsigned here = owned - 64 * word;
        uint64_t left = set->bits[word] & (here < 64 ? (UINT64_C(1) << here) - 1 : UINT64_MAX);
        while (left) {
            const unsigned first = (unsigned)__builtin_ctzll(left);
            const uint64_t from = ~(left >> first); /* its lowest bit: beyond the neighbours */
            const unsigned count = from ? (unsigned)__builtin_ctzll(from) : 64;
            memset(&gang->grf[64 * word + first], 0, count * sizeof gang->grf[0]);
            left &= count < 64 ? ~(((UINT64_C(1) << count) - 1) << first) : 0;
        }
    }
}

/* Clear these registers of the MRF, and accumulators if they may be read. */
static void clear_mrf_and_sums(struct g4_gang *gang, const struct g4_kernel *kernel, unsigned mrf) {
    for (; mrf; mrf &= mrf - 1) {
        memset(&gang->mrf[__builtin_ctz(mrf)], 0, sizeof gang->mrf[0]);
    }
    if (kernel->start.acc) {
        CLEAR(gang, acc, flag);
    }
}

void g4_gang_start_for(struct g4_gang *gang, const struct g4_dispatch *dispatch, const struct g4_kernel *kernel,
                       int count, bool is_full) {
    if (dispatch->exceptions || dispatch->observed) { /* a system routine or a debugger may read any register */
        g4_gang_start(gang, dispatch, count);
        return;
    }
    clear_rows(gang, is_full ? &kernel->start.grf_if_full : &kernel->start.grf, dispatch->grf_count);
    clear_mrf_and_sums(gang, kernel, is_full ? kernel->start.mrf_if_full : kernel->start.mrf);
    CLEAR(gang, flag, if_stack);
    if (kernel->start.stacks) {
        CLEAR(gang, if_stack, a0);
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) { /* entries above the top of a stack are never read */
        gang->if_stack[t].depth = gang->loop_stack[0][t].depth = gang->loop_stack[1][t].depth = 0;
    }
    CLEAR_REST(gang, a0);
    start(gang, dispatch, count);
}

void g4_gang_start_again(struct g4_gang *gang, const struct g4_kernel *kernel, int count, bool is_full,
                         const struct g4_row_set *cleared) {
    clear_rows(gang, cleared, gang->dispatch->grf_count);
    clear_mrf_and_sums(gang, kernel, is_full ? kernel->start.mrf_if_full : kernel->start.mrf);
    CLEAR(gang, flag, dmask);
    CLEAR(gang, a0, cr0);
    gang->live = (uint8_t)((1u << count) - 1);
}

void g4_gang_set_dmask(struct g4_gang *gang, int thread, uint16_t mask) {
    g4_set_mask16(gang->dmask, thread, mask);
    g4_set_mask16(gang->amask, thread, mask);
    gang->parked_hint[thread] = 0;
}

void g4_gang_set_wide_dmask(struct g4_gang *gang, int thread, uint32_t mask) {
    gang->wide = true;
    g4_set_mask32(gang->dmask, thread, mask);
    g4_set_mask32(gang->amask, thread, mask);
    gang->parked_hint[thread] = 0;
}

void g4_gang_set_all_dmasks(struct g4_gang *gang, const g4_lanes lanes[2]) {
    memcpy(gang->dmask, lanes, 2 * sizeof *lanes);
    memcpy(gang->amask, lanes, 2 * sizeof *lanes);
    memset(gang->parked_hint, 0, sizeof gang->parked_hint);
}

/* ---- the group ---- */

static void group_set(struct g4_run *run, uint8_t threads) {
    run->threads = threads;
    run->group = g4_lanes_of(threads);
    g4_run_masks(run);
}

void g4_run_place(struct g4_run *run, uint32_t ip) {
    if (run->threads == (1u << G4_GANG_THREADS) - 1) { /* without a condition: a few vectors */
        for (int t = 0; t < G4_GANG_THREADS; t++) {
            run->gang->ip[t] = ip;
        }
        return;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (run->threads >> t & 1) {
            run->gang->ip[t] = ip;
        }
    }
}

static void scatter(struct g4_run *run) {
    if (!run->split) {
        g4_run_place(run, run->next);
        run->split = true;
    }
}

void g4_run_jump_one(struct g4_run *run, int thread, uint32_t target) {
    scatter(run);
    run->gang->ip[thread] = target & ~7u;
}

void g4_run_jump(struct g4_run *run, uint8_t threads, uint32_t target) {
    if (threads == run->threads && !run->split) {
        run->next = target;
        return;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (threads >> t & 1) {
            g4_run_jump_one(run, t, target);
        }
    }
}

void g4_run_leave(struct g4_run *run, int thread) {
    scatter(run);
    group_set(run, run->threads & (uint8_t) ~(1u << thread));
}

void g4_run_report(struct g4_run *run, enum g4_event event, uint32_t value) {
    g4_report(run->eu->log, event, run->gang->dispatch->kernel_address + run->op->ip, value);
}

void g4_run_stop(struct g4_run *run, int thread, enum g4_event why, uint32_t value) {
    struct g4_fault *const fault = &run->eu->fault;
    const g4_address address = run->gang->dispatch->kernel_address + run->op->ip;

    g4_report(run->eu->log, why, address, value);
    if (!run->stopped) {
        *fault = (struct g4_fault){
            .unit = run->gang->dispatch->unit, .address = address, .what = (uint32_t)why, .value = value};
    }
    run->stopped = true;
    scatter(run);
    run->gang->live &= (uint8_t) ~(1u << thread);
}

static const struct g4_fast_handlers *const general_tables[G4_TABLES];

/* Fast handlers and machine code compute in the mode of the host, which all threads share: rounding to nearest, and
 * denormals either flushed, or kept for floats and doubles.  If threads have another mode, or different ones, the
 * general handler executes each in its own. */
static void choose_float_mode(struct g4_run *run, uint32_t some, uint32_t all, bool alternate) {
    const uint32_t kept = G4_CR0_KEEP_FLOATS | G4_CR0_KEEP_DOUBLES;
    const bool keeps = some == kept && all == kept && !alternate;
    const bool general = some && !keeps;

    run->own_floats = some != 0;
    run->translated = run->may_be_translated && !general;
    if (!run->observed) { /* an observer's handlers execute with the general one (g4_execute) */
        run->tables = general ? general_tables : run->usual;
    }
    if (run->keeps_denormals != keeps) {
        run->keeps_denormals = keeps;
        run->inside = keeps ? g4_fpenv_of_control(0, true) : g4_fpenv_of(run->eu->ctx);
        if (run->is_inside) {
            g4_fpenv_set(run->inside);
        }
    }
}

/* Whether all threads have the same control register, as they start with. */
static bool have_same_control(const struct g4_gang *gang) {
    uint32_t different = 0;
    for (int t = 1; t < G4_GANG_THREADS; t++) {
        different |= gang->cr0[t][0] ^ gang->cr0[0][0];
    }
    return different == 0;
}

void g4_run_control(struct g4_run *run) {
    const struct g4_gang *const gang = run->gang;
    const bool same = have_same_control(gang);
    uint8_t alternate = 0;
    uint8_t single = 0;
    uint32_t some = 0;
    uint32_t all = UINT32_MAX;
    for (int t = 0; t < (same ? 1 : G4_GANG_THREADS); t++) {
        const uint8_t threads = same ? UINT8_MAX : (uint8_t)(1u << t);
        const uint32_t cr0 = gang->cr0[t][0];
        alternate |= cr0 & G4_CR0_ALTERNATE ? threads : 0;
        single |= cr0 & G4_CR0_SINGLE_FLOW ? threads : 0;
        if (gang->live & threads) {
            some |= cr0 & G4_CR0_FLOATS;
            all &= cr0 & G4_CR0_FLOATS;
        }
    }
    if (run->eu->ctx->model->quirks.rounds_by_control_register) {
        choose_float_mode(run, some, all, (alternate & gang->live) != 0);
    }
    run->single = single;
    run->alternate = g4_lanes_of(alternate);
}

/* ---- instructions that are neither arithmetic nor flow ---- */

void g4_nop(struct g4_run *run, const struct g4_op *op) {
    (void)run;
    (void)op;
}

/* Clears the notification count.  A thread whose count is 0 waits, and executes the instruction again when resumed. */
void g4_wait(struct g4_run *run, const struct g4_op *op) {
    struct g4_gang *const gang = run->gang;
    const struct g4_src *const src = &op->src[0];
    /* n0 and n1; since Gen6 n0.0 and n0.1 */
    const unsigned n = src->kind == G4_KIND_ARF ? (src->reg | src->base >> 2) & 1 : 0;

    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(run->threads >> t & 1)) {
            continue;
        }
        if (gang->notify[t][n]) {
            gang->notify[t][n] = 0;
        } else {
            g4_run_jump_one(run, t, op->ip);
            gang->waiting |= (uint8_t)(1u << t);
            gang->waiting_for_host = (uint8_t)((gang->waiting_for_host & ~(1u << t)) | n << t);
        }
    }
}

static enum g4_handler common_handler(const struct g4_op *op) {
    if (op->undefined || op->opcode == G4_OPCODE_ILLEGAL) {
        return G4_HANDLER_ILLEGAL;
    }
    switch (op->opcode) {
    case G4_OPCODE_JMPI:
    case G4_OPCODE_IF:
    case G4_OPCODE_IFF:
    case G4_OPCODE_ELSE:
    case G4_OPCODE_ENDIF:
    case G4_OPCODE_DO:
    case G4_OPCODE_WHILE:
    case G4_OPCODE_BREAK:
    case G4_OPCODE_CONT:
    case G4_OPCODE_HALT:
        return op->channel_pointers ? G4_HANDLER_FLOW_GEN6 : G4_HANDLER_FLOW;
    case G4_OPCODE_BRD:
    case G4_OPCODE_BRC:
    case G4_OPCODE_CALL:
    case G4_OPCODE_RET:
    case G4_OPCODE_GOTO:
    case G4_OPCODE_JOIN:
        return G4_HANDLER_FLOW_GEN6;
    case G4_OPCODE_PUSH:
    case G4_OPCODE_POP:
        return G4_HANDLER_MASK_STACK;
    case G4_OPCODE_WAIT:
        return G4_HANDLER_WAIT;
    case G4_OPCODE_SEND:
        return G4_HANDLER_SEND;
    case G4_OPCODE_NOP:
    case G4_OPCODE_NENOP:
        return G4_HANDLER_NOP;
    default:
        return G4_HANDLER_GENERAL;
    }
}

enum g4_handler g4_handler_of(const struct g4_op *op) {
    return op->breakpoint ? G4_HANDLER_BREAKPOINT : common_handler(op);
}

/* Handlers that are the same for all vector variants.  The arguments may be the general handler. */
#define COMMON_HANDLERS(dot, dwords, indirect, halves)                                                                 \
    {                                                                                                                  \
        {                                                                                                              \
            [G4_HANDLER_GENERAL] = g4_general, [G4_HANDLER_FLOW] = g4_flow, [G4_HANDLER_SEND] = g4_send_message,       \
            [G4_HANDLER_WAIT] = g4_wait, [G4_HANDLER_MASK_STACK] = g4_mask_stack_op, [G4_HANDLER_NOP] = g4_nop,        \
            [G4_HANDLER_ILLEGAL] = g4_illegal, [G4_HANDLER_BREAKPOINT] = g4_breakpoint,                                \
            [G4_HANDLER_DOT_INTEGER] = (dot), [G4_HANDLER_DWORDS] = (dwords), [G4_HANDLER_INDIRECT] = (indirect),      \
            [G4_HANDLER_STRAY] = g4_stray, [G4_HANDLER_FLOW_GEN6] = g4_flow_gen6, [G4_HANDLER_JOIN] = g4_join,         \
            [G4_HANDLER_UPPER] = g4_upper, [G4_HANDLER_HALVES] = (halves),                                             \
        }                                                                                                              \
    }

static const struct g4_fast_handlers common_handlers =
    COMMON_HANDLERS(g4_dot_integer, g4_dwords, g4_indirect, g4_halves);
static const struct g4_fast_handlers common_general_handlers =
    COMMON_HANDLERS(g4_general, g4_general, g4_general, g4_general);

/* Run a handler of an instruction for channels 16 to 31.  Threads of 16 channels have the same masks again. */
static void run_upper(struct g4_run *run, const struct g4_op *op, g4_handler_fn *handler) {
    if (!run->gang->wide) {
        handler(run, op);
        return;
    }
    g4_run_upper(run);
    handler(run, op);
    g4_run_masks(run);
}

void g4_upper(struct g4_run *run, const struct g4_op *op) {
    run_upper(run, op, run->tables[op->in_upper >> 8]->handler[op->in_upper & 0xff]);
}

void g4_execute(struct g4_run *run, const struct g4_op *op) {
    g4_handler_fn *const handler = common_handlers.handler[common_handler(op)];
    if (op->joins) {
        g4_flow_join(run, op->ip);
    }
    if (op->upper) {
        run_upper(run, op, handler);
    } else {
        handler(run, op);
    }
}

/* Code that was not decoded with the kernel: decode it as a part of the kernel and run it from there.  If parts cannot
 * be added, decode and run this one instruction. */
void g4_stray(struct g4_run *run, const struct g4_op *op) {
    const uint32_t ip = op->ip;
    uint32_t words[4];
    uint32_t length;
    struct g4_op decoded;

    if (run->eu->alone && g4_kernel_extend(run->eu->kernels, run->kernel, run->eu->ctx, ip, g4_owned(run->gang))) {
        run->next = ip;
        g4_run_place(run, ip);
        run->split = true;
        return;
    }
    const struct g4_model *const model = run->eu->ctx->model;
    const g4_address address = run->gang->dispatch->kernel_address + ip;
    g4_kernel_fetch(model, &run->eu->worker->port, address, words, &length);
    model->decode_instruction(&decoded, words, model, ip, length);
    g4_kernel_finish_branch(model, &run->eu->worker->port, &decoded, address);
    if (model->quirks.has_channel_pointers) {
        g4_op_use_upper(&decoded);
        g4_flow_join(run, ip);
    }
    run->op = &decoded;
    run->next = decoded.next;
    run->tables[G4_TABLE_COMMON]->handler[decoded.handler](run, &decoded);
    run->op = op;
}

/* ---- the loop ---- */

/* The threads at the lowest instruction pointer; *limit receives the next higher one. */
static uint8_t lowest(const struct g4_gang *gang, uint8_t runnable, uint32_t *ip, uint32_t *limit) {
    uint8_t threads = 0;
    uint32_t different = 0;
    *ip = *limit = UINT32_MAX;
    for (int t = 1; t < G4_GANG_THREADS; t++) {
        different |= gang->ip[t] ^ gang->ip[0];
    }
    if (!different) { /* as at the start */
        *ip = gang->ip[0];
        return runnable;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(runnable >> t & 1)) {
            continue;
        }
        if (gang->ip[t] < *ip) {
            *limit = *ip;
            *ip = gang->ip[t];
            threads = 0;
        }
        if (gang->ip[t] == *ip) {
            threads |= (uint8_t)(1u << t);
        } else if (gang->ip[t] < *limit) {
            *limit = gang->ip[t];
        }
    }
    return threads;
}

/* The op at an address.  `stray` becomes that of code that is not decoded. */
static const struct g4_op *op_at(const struct g4_run *run, uint32_t ip, struct g4_op *stray) {
    const struct g4_op *const op = g4_kernel_find(run->kernel, ip);
    if (op) {
        return op;
    }
    *stray = (struct g4_op){.handler = G4_HANDLER_STRAY, .ip = ip, .next = G4_KERNEL_NOWHERE};
    return stray;
}

/* The remaining fuel of each thread, after a loop has counted the instructions of all threads. */
static uint64_t fuel_left(const struct g4_run *run, uint64_t fuel, uint64_t instructions) {
    const unsigned width = g4_thread_count(run->threads);
    const uint64_t used = (instructions + width - 1) / width;
    return used < fuel ? fuel - used : 0;
}

/* Run the group until it splits, reaches `limit`, or has executed `fuel` instructions.  Returns the number of executed
 * instructions that eu->instructions does not include yet. */
static uint64_t run_group(struct g4_run *run, uint32_t ip, uint32_t limit, uint64_t fuel) {
    struct g4_op stray;
    uint64_t count = 0;
    uint64_t channels = 0;
    const struct g4_op *op;

    op = op_at(run, ip, &stray);
    run->split = false;
    for (;;) {
        const struct g4_jit_block *const block = op->block;
        const uint64_t counted = run->eu->instructions;
        if (block && run->translated && block->last_ip < limit && g4_jit_run(run, op, fuel - count)) {
            channels += block->total.channels;
            count += block->total.count;
            if (run->split) {
                break;
            }
            if (block->loop) {
                fuel = fuel_left(run, fuel, run->eu->instructions - counted);
            }
            op += block->count;
            if (op->ip >= limit || count >= fuel) {
                g4_run_place(run, op->ip);
                break;
            }
            continue;
        }
        run->op = op;
        run->next = op->next;
        channels += op->exec_size;
        count++;
        run->may_have_raised = true;
        run->tables[op->handler >> 8]->handler[op->handler & 0xff](run, op);
        if (run->split) {
            break;
        }
        op = run->next == op->next ? op + 1 : op_at(run, run->next, &stray);
        if (op->ip >= limit || count >= fuel) {
            g4_run_place(run, op->ip);
            break;
        }
    }
    run->eu->channel_ops += channels * g4_thread_count(run->threads);
    return count;
}

static void out_of_budget(struct g4_run *run, uint8_t runnable) {
    const int first = __builtin_ctz(runnable);
    run->eu->fault = (struct g4_fault){.unit = run->gang->dispatch->unit,
                                       .address = g4_gang_address(run->gang, first),
                                       .what = G4_EVENTS,
                                       .value = runnable};
    run->status = G4_HANG;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Most groups are all threads of a gang; a division by another number takes the host tens of cycles. */
static uint64_t per_thread(uint64_t instructions, unsigned threads) {
    return threads == G4_GANG_THREADS ? instructions / G4_GANG_THREADS : instructions / threads;
}

/* How gangs run. */
struct run_mode {
    const struct g4_fast_handlers *const *tables;
    bool translated;                                /* machine code may run */
    bool observed;                                  /* `tables` belongs to an observer */
    const struct g4_fast_handlers *const *counting; /* replaces `tables`, which it calls; NULL: nothing is counted */
};

static struct g4_run begin_run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel,
                               const struct run_mode *mode) {
    return (struct g4_run){.eu = eu,
                           .gang = gang,
                           .kernel = kernel,
                           .tables = mode->tables,
                           .usual = mode->tables,
                           .observed = mode->observed,
                           .status = G4_OK,
                           .one = 1,
                           .translated = mode->translated,
                           .may_be_translated = mode->translated,
                           .outside = g4_fpenv_get(),
                           .inside = g4_fpenv_of(eu->ctx)};
}

/* Run the threads of a gang that have been started; `run` has what their control registers say. */
static __attribute__((noinline)) enum g4_status run_groups(struct g4_run *run) {
    struct g4_eu *const eu = run->eu;
    struct g4_gang *const gang = run->gang;
    const uint64_t until = eu->turn ? eu->instructions + eu->turn : UINT64_MAX - G4_GANG_THREADS;
    uint8_t runnable;

    gang->waiting = 0; /* set again by each wait whose notification has not come */
    run->failed_loop = NULL;
    while (run->status == G4_OK && eu->instructions < until &&
           (runnable = gang->live & (uint8_t) ~(gang->waiting | gang->stalled)) != 0) {
        uint32_t ip;
        uint32_t limit;
        const uint8_t threads = lowest(gang, runnable, &ip, &limit);
        const unsigned width = g4_thread_count(threads);
        const uint64_t fuel = per_thread(smaller(eu->instruction_budget, until - eu->instructions + width), width);

        if (eu->instruction_budget < width) {
            out_of_budget(run, runnable);
            break;
        }
        group_set(run, threads);
        g4_floats_enter(run);
        const uint64_t count = run_group(run, ip, limit, fuel) * width;
        eu->instructions += count;
        eu->instruction_budget -= count < eu->instruction_budget ? count : eu->instruction_budget;
    }
    g4_floats_leave(run);
    return run->stopped && run->status == G4_OK ? G4_HANG : run->status;
}

static enum g4_status run_gang(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel,
                               const struct run_mode *mode) {
    struct g4_run run = begin_run(eu, gang, kernel, mode);
    g4_run_control(&run);
    if (mode->counting) {
        run.counted = run.tables;
        run.tables = mode->counting;
    }
    return run_groups(&run);
}

enum g4_status g4_gang_run_observed(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel,
                                    const struct g4_fast_handlers *const *tables) {
    return run_gang(eu, gang, kernel, &(struct run_mode){.tables = tables, .observed = true});
}

G4_VARIANT_DECLARE(struct g4_fast_handlers, g4_fast_float);
G4_VARIANT_DECLARE(struct g4_fast_handlers, g4_fast_int);
G4_VARIANT_DECLARE(struct g4_fast_handlers, g4_fast_double);
G4_VARIANT_DECLARE(struct g4_fast_handlers, g4_fast_quad);

static const struct g4_fast_handlers *const float_variants[] = G4_VARIANT_TABLE(g4_fast_float);
static const struct g4_fast_handlers *const int_variants[] = G4_VARIANT_TABLE(g4_fast_int);
static const struct g4_fast_handlers *const double_variants[] = G4_VARIANT_TABLE(g4_fast_double);
static const struct g4_fast_handlers *const quad_variants[] = G4_VARIANT_TABLE(g4_fast_quad);

static const struct g4_fast_handlers general_handlers = {{[0 ... G4_FAST_ROOM - 1] = g4_general}};
static const struct g4_fast_handlers *const general_tables[G4_TABLES] = {
    &common_general_handlers, &general_handlers, &general_handlers, &general_handlers, &general_handlers};

enum g4_status g4_gang_run_general(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel) {
    return run_gang(eu, gang, kernel, &(struct run_mode){.tables = general_tables});
}

/* Not exact if several workers count: it only decides when the kernel is translated. */
static void count_gang(const struct g4_kernel *kernel) {
    struct g4_kernel_parts *const parts = kernel->parts;
    const uint32_t gangs = parts ? __atomic_load_n(&parts->gangs, __ATOMIC_RELAXED) : G4_KERNEL_WORTH;
    if (gangs < G4_KERNEL_WORTH) {
        __atomic_store_n(&parts->gangs, gangs + 1, __ATOMIC_RELAXED);
    }
}

/* The handlers of a vector variant. */
struct tables {
    const struct g4_fast_handlers *table[G4_TABLES];
};

static struct tables usual_tables(void) {
    const enum g4_variant variant = g4_variant_current();
    return (struct tables){{&common_handlers, float_variants[variant], int_variants[variant], double_variants[variant],
                            quad_variants[variant]}};
}

/* Only the general handler checks whether a thread owns a register. */
static bool needs_general(const struct g4_eu *eu, const struct g4_gang *gang, const struct g4_kernel *kernel) {
    return eu->ctx->options.general_only || kernel->grf_top > g4_owned(gang);
}

enum g4_status g4_gang_run_series(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel,
                                  uint32_t count, g4_next_gang_fn *next, void *data) {
    const struct tables tables = usual_tables();
    const bool general = needs_general(eu, gang, kernel);
    const struct run_mode mode = {
        .tables = general ? general_tables : tables.table,
        .translated = !general && g4_may_run_translated(eu, gang, kernel),
    };
    struct g4_run run = begin_run(eu, gang, kernel, &mode);

    count_gang(kernel);
    g4_run_control(&run);
    enum g4_status status = run_groups(&run);
    for (uint32_t i = 1; i < count && status == G4_OK; i++) {
        next(data, i);
        count_gang(kernel);
        if (!kernel->start.can_start_again) { /* it may have changed control registers */
            g4_run_control(&run);
        }
        status = run_groups(&run);
    }
    return status;
}

enum g4_status g4_gang_run_unobserved(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel) {
    return g4_gang_run_series(eu, gang, kernel, 1, NULL, NULL);
}

static const struct g4_fast_handlers *const counting_tables[G4_TABLES];

static void count_and_run(struct g4_run *run, const struct g4_op *op) {
    uint16_t handler = op->handler;

    if (handler == G4_HANDLER_STRAY) {
        g4_stray(run, op); /* decodes the instruction and runs it through this handler */
        return;
    }
    if (handler == G4_HANDLER_JOIN) {
        g4_flow_join(run, op->ip);
        handler = op->joined;
    }
    const bool upper = handler == G4_HANDLER_UPPER && run->gang->wide;
    handler = handler == G4_HANDLER_UPPER ? op->in_upper : handler;
    if (upper) {
        g4_run_upper(run);
    }
    struct g4_line_counts *const lines = run->eu->counters->lines;
    struct g4_float_channels floats;
    g4_line_counts_add(lines, run, op);
    g4_line_counts_find_floats(&floats, run, op);
    run->tables = run->counted; /* which the handler may replace (g4_run_control), and calls itself (g4_indirect) */
    run->tables[handler >> 8]->handler[handler & 0xff](run, op);
    run->counted = run->tables;
    run->tables = counting_tables;
    if (floats.threads) {
        g4_line_counts_add_results(lines, run, op, &floats);
    }
    if (upper) {
        g4_run_masks(run);
    }
}

static const struct g4_fast_handlers counting = {{[0 ... G4_FAST_ROOM - 1] = count_and_run}};
static const struct g4_fast_handlers *const counting_tables[G4_TABLES] = {[0 ... G4_TABLES - 1] = &counting};

enum g4_status g4_gang_run_counting(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel) {
    const struct tables tables = usual_tables();
    return run_gang(eu, gang, kernel,
                    &(struct run_mode){.tables = needs_general(eu, gang, kernel) ? general_tables : tables.table,
                                       .counting = counting_tables});
}

enum g4_status g4_gang_run_uncounted(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel) {
    return eu->hooks ? eu->hooks->run_gang(eu->hooks, eu, gang, kernel) : g4_gang_run_unobserved(eu, gang, kernel);
}

static enum g4_status run_observed(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel) {
    return eu->counters ? g4_counted_run(eu, gang, kernel) : eu->hooks->run_gang(eu->hooks, eu, gang, kernel);
}

enum g4_status g4_gang_run(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel) {
    return eu->observed ? run_observed(eu, gang, kernel) : g4_gang_run_unobserved(eu, gang, kernel);
}
