/*
 * The state of one g4_gang_run, and the handlers of instructions.
 */
#ifndef G4_EU_RUN_H
#define G4_EU_RUN_H

#include "core/model.h"
#include "eu/eu.h"
#include "eu/fpenv.h"
#include "eu/op.h"

struct g4_fast_handlers;
struct g4_jit_block;

/* Runs a group: the threads at the lowest ip.  The group ends when its threads jump to different places, or when it
 * reaches the ip of other threads. */
struct g4_run {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_kernel *kernel;
    const struct g4_fast_handlers *const *tables;  /* by the high byte of a handler number (fast/fast.h) */
    const struct g4_fast_handlers *const *usual;   /* `tables`, unless threads have float modes of their own */
    const struct g4_fast_handlers *const *counted; /* those that counting handlers call; NULL: nothing is counted */
    bool observed;                                 /* `tables` belongs to an observer, and stays */
    const struct g4_op *op;
    g4_lanes exec[2];                       /* AMask & IMask & LMask & CMask of the group; machine code reads on */
    g4_lanes group;                         /* all lanes of the threads of the group */
    g4_lanes upper[2];                      /* wide threads: AMask of channels 16 to 31 */
    g4_lanes alternate;                     /* lanes of threads in ALT floating point mode */
    uint8_t threads;                        /* threads of the group */
    uint8_t single;                         /* threads in single program flow mode */
    bool split;                             /* the threads have different ips, in gang->ip */
    bool translated;                        /* machine code may run (jit/jit.h) */
    bool may_be_translated;                 /* `translated`, unless threads have float modes of their own */
    const struct g4_jit_block *failed_loop; /* the last one in which threads failed */
    bool own_floats;                        /* cr0 of a thread has another rounding mode, or keeps denormals */
    bool keeps_denormals;                   /* all threads do, for floats and doubles (cr0), and so does `inside` */
    bool stopped;                           /* a thread has stopped with an error */
    enum g4_status status;
    g4_fpenv outside, inside;         /* floating point environments of the caller and of instructions */
    bool is_inside;                   /* the one that is set */
    bool may_have_raised;             /* exceptions, since `inside` was set */
    uint64_t clock_base, clock_reads; /* instructions counted at the last read of tm0, and reads since they changed */
    uint32_t next;                    /* ip of the next instruction of the group */
    float one;                        /* 1, unknown to the compiler: products with it are not optimized away */
};

typedef void g4_handler_fn(struct g4_run *run, const struct g4_op *op);

/* Handlers that are the same for all vector variants. */
enum g4_handler {
    G4_HANDLER_GENERAL,
    G4_HANDLER_FLOW,
    G4_HANDLER_SEND,
    G4_HANDLER_WAIT,
    G4_HANDLER_MASK_STACK, /* msave, mrest, push, pop */
    G4_HANDLER_NOP,
    G4_HANDLER_ILLEGAL,
    G4_HANDLER_BREAKPOINT,  /* general, after checking cr0 for breakpoints */
    G4_HANDLER_DOT_INTEGER, /* dot products of words and dwords of media kernels */
    G4_HANDLER_DWORDS,      /* products through the accumulator */
    G4_HANDLER_INDIRECT,    /* a fast one, if all addresses are in range */
    G4_HANDLER_STRAY,       /* not decoded with the kernel */
    G4_HANDLER_FLOW_GEN6,   /* branches that work on channel pointers */
    G4_HANDLER_JOIN,        /* lets parked channels join, and runs g4_op.joined */
    G4_HANDLER_UPPER,       /* runs g4_op.in_upper for channels 16 to 31 */
    G4_HANDLER_HALVES,      /* runs each of g4_op.halves */
    G4_HANDLERS,
};

/* The handler of an instruction without a fast one. */
enum g4_handler g4_handler_of(const struct g4_op *op);

g4_handler_fn g4_general, g4_flow, g4_send_message, g4_wait, g4_mask_stack_op, g4_nop, g4_illegal, g4_breakpoint,
    g4_dot_integer, g4_dwords, g4_indirect, g4_stray, g4_flow_gen6, g4_join, g4_upper, g4_halves;

bool g4_is_dot_integer(const struct g4_op *op);

/* Run a gang with the handlers of an observer, which end in g4_execute. */
enum g4_status g4_gang_run_observed(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel,
                                    const struct g4_fast_handlers *const *tables);

/* Run a gang without machine code, and count each instruction (line_counts.h). */
enum g4_status g4_gang_run_counting(struct g4_eu *eu, struct g4_gang *gang, const struct g4_kernel *kernel);

/* The floating point mode of instructions, unless a thread has chosen another one. */
static inline g4_fpenv g4_fpenv_of(const struct g4_context *ctx) {
    return g4_fpenv_eu(ctx->options.round_to_nearest || ctx->model->quirks.rounds_by_control_register);
}

/* Another floating point environment takes as long as some fifty instructions: it changes only when it has to. */
static inline void g4_floats_enter(struct g4_run *run) {
    if (!run->is_inside) {
        g4_fpenv_set(run->inside);
        run->is_inside = true;
        run->may_have_raised = false;
    }
}

static inline void g4_floats_leave(struct g4_run *run) {
    if (run->is_inside) {
        g4_fpenv_set(run->outside);
        run->is_inside = false;
    }
}

/* ---- masks ---- */

#define G4_EVERY_LANE  (~(g4_lanes)0)
#define G4_FIRST_LANES UINT64_C(0x0101010101010101)

/* The number of threads of a set: all of a gang, most of the time.  Other sets call a function of the compiler. */
static inline unsigned g4_thread_count(uint8_t threads) {
    return threads == (1u << G4_GANG_THREADS) - 1 ? G4_GANG_THREADS : (unsigned)__builtin_popcount(threads);
}

static inline g4_lanes g4_lanes_of(uint8_t threads) {
    const g4_lanes spread = (threads * G4_FIRST_LANES) & UINT64_C(0x8040201008040201);
    return (((spread + UINT64_C(0x7f7f7f7f7f7f7f7f)) | spread) >> 7 & G4_FIRST_LANES) * 0xff;
}

/* The threads that have any lane set. */
static inline uint8_t g4_threads_any(g4_lanes lanes) {
    const g4_lanes low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    const g4_lanes any = (((lanes & low) + low) | lanes) >> 7 & G4_FIRST_LANES;
    return (uint8_t)(any * UINT64_C(0x0102040810204080) >> 56);
}

static inline unsigned g4_mask16(const g4_lanes lanes[2], int t) {
    return g4_thread_lanes(lanes[0], t) | g4_thread_lanes(lanes[1], t) << 8;
}

static inline void g4_set_mask16(g4_lanes lanes[2], int t, unsigned mask) {
    for (int half = 0; half < 2; half++) {
        const g4_lanes bits = mask >> (8 * half) & 0xff;
        lanes[half] = (lanes[half] & ~((g4_lanes)0xff << (8 * t))) | bits << (8 * t);
    }
}

static inline uint32_t g4_mask32(const g4_lanes lanes[4], int t) {
    return g4_mask16(lanes, t) | g4_mask16(lanes + 2, t) << 16;
}

static inline void g4_set_mask32(g4_lanes lanes[4], int t, uint32_t mask) {
    g4_set_mask16(lanes, t, mask & 0xffff);
    g4_set_mask16(lanes + 2, t, mask >> 16);
}

/* The flags of a thread: f0 in the low half, f1 in the high half. */
static inline uint64_t g4_flags_of(const struct g4_gang *gang, int t) {
    uint64_t flags = 0;
    for (int i = 0; i < 4; i++) {
        flags |= (uint64_t)g4_mask16(gang->flag[i], t) << (16 * i);
    }
    return flags;
}

static inline void g4_set_flags_of(struct g4_gang *gang, int t, uint64_t flags) {
    for (int i = 0; i < 4; i++) {
        g4_set_mask16(gang->flag[i], t, (unsigned)(flags >> (16 * i) & 0xffff));
    }
}

/* Bring exec up to date after a change of masks. */
static inline void g4_run_masks(struct g4_run *run) {
    const struct g4_gang *const gang = run->gang;
    for (int h = 0; h < 2; h++) {
        run->exec[h] = gang->amask[h] & gang->imask[h] & gang->lmask[h] & gang->cmask[h] & run->group;
    }
    for (int h = 0; gang->wide && h < 2; h++) {
        run->upper[h] = gang->amask[2 + h] & run->group;
    }
}

/* Channels 16 to 31 take the place of channels 0 to 15 for an instruction, until g4_run_masks. */
static inline void g4_run_upper(struct g4_run *run) {
    run->exec[0] = run->upper[0];
    run->exec[1] = run->upper[1];
}

/* The predicate of a half of the channels, for modes that combine flags (registers.c: inlined in
 * flow.c, it made its callers spill registers, 23 % more instructions in predicate()). */
g4_lanes g4_predicate_combined(const struct g4_gang *gang, const struct g4_op *op, int half);

static inline g4_lanes g4_predicate(const struct g4_gang *gang, const struct g4_op *op, int half) {
    if (op->predicate == G4_PRED_NONE) {
        return G4_EVERY_LANE;
    }
    const g4_lanes p =
        op->predicate == G4_PRED_NORMAL ? gang->flag[op->flag][half] : g4_predicate_combined(gang, op, half);
    return op->predicate_inverse ? ~p : p;
}

/* ---- threads ---- */

/* Store `ip` as the ip of each thread of the group. */
void g4_run_place(struct g4_run *run, uint32_t ip);
/* Gen6 and later: let the channels of the group's threads that wait at `ip` continue (flow_gen6.c). */
void g4_flow_join(struct g4_run *run, uint32_t ip);
/* Let these threads jump, and the others of the group continue at run->next. */
void g4_run_jump(struct g4_run *run, uint8_t threads, uint32_t target);
/* Let a thread jump, and split the group. */
void g4_run_jump_one(struct g4_run *run, int thread, uint32_t target);
/* Report an event of the current instruction. */
void g4_run_report(struct g4_run *run, enum g4_event event, uint32_t value);
/* Stop a thread with an error, and report it. */
void g4_run_stop(struct g4_run *run, int thread, enum g4_event why, uint32_t value);
/* Remove a thread that has jumped from the group. */
void g4_run_leave(struct g4_run *run, int thread);
/* Run an instruction whose breakpoint has been handled. */
void g4_execute(struct g4_run *run, const struct g4_op *op);
/* Update the run after cr0 of a thread has changed. */
void g4_run_control(struct g4_run *run);

/* ---- registers (registers.c) ---- */

/* The number of registers that a thread owns. */
static inline unsigned g4_owned(const struct g4_gang *gang) {
    const uint32_t count = gang->dispatch->grf_count;
    return count - 1 < G4_GRF_COUNT ? count : G4_GRF_COUNT;
}

/* A byte of the register file; NULL if the thread does not own the register. */
static inline uint8_t *g4_grf_byte(struct g4_gang *gang, int thread, unsigned byte) {
    return byte < g4_owned(gang) * G4_REGISTER_BYTES ? &gang->grf[byte / 32].ub[thread][byte % 32] : 0;
}

/* The byte offset in the register file of an indirect operand.  An address whose low five bits carry is an event,
 * counted once for each thread, pass, operand and row. */
unsigned g4_indirect_base(struct g4_run *run, int thread, unsigned addr_sub, int addr_imm);
/* How far the addresses of the second pass are above those of the first, which has `rows` of them. */
static inline unsigned g4_second_pass_addresses(const struct g4_src *src, unsigned rows) {
    return !src->flat ? 1 : src->separate_rows ? rows : 0;
}

/* As g4_indirect_base, without counting an event. */
unsigned g4_indirect_byte(const struct g4_gang *gang, int thread, unsigned addr_sub, int addr_imm);

/* The descriptor of a send: an immediate, or in an address register, which is a0.0 before Gen7. */
static inline uint32_t g4_descriptor_of(const struct g4_gang *gang, const struct g4_op *op, int thread) {
    const uint16_t *const a0 = &gang->a0[thread][op->grf_payload ? op->src[1].base / 2u & 6 : 0];
    return op->src[1].kind == G4_KIND_IMM ? op->descriptor : a0[0] | (uint32_t)a0[1] << 16;
}

/* The number of registers of the second part of a split payload. */
unsigned g4_second_length(const struct g4_gang *gang, const struct g4_op *op, int thread);
/* Read an architecture register as 32 bytes. */
void g4_arf_read(struct g4_run *run, int thread, unsigned reg, uint8_t image[32]);
/* Write the bytes of an architecture register whose bits are set in `written`. */
void g4_arf_write(struct g4_run *run, int thread, unsigned reg, const uint8_t image[32], uint32_t written);

/* Read the elements of a source for `channels` channels of one thread, at most 8, as 32 bits and without modifiers. */
void g4_read_raw(struct g4_run *run, const struct g4_src *src, int pass, int thread, unsigned channels, uint32_t *raw);
/* As g4_read_raw, for elements of 64 bits. */
void g4_read_raw64(struct g4_run *run, const struct g4_src *src, int pass, int thread, unsigned channels,
                   uint64_t *raw);

/* ---- the general handler (general.c) ---- */

/* The channels of a thread, of 32, whose predicate is true, in the order of the masks. */
uint32_t g4_predicate_channels(const struct g4_run *run, const struct g4_op *op, int thread);
/* Execute one pass of an instruction, for those of its channels that are in `channels`. */
void g4_general_pass(struct g4_run *run, const struct g4_op *op, int pass, uint32_t channels);
/* The channels of one pass of an instruction that the masks of a thread enable and, if asked for, the predicate. */
uint32_t g4_enabled_channels(const struct g4_run *run, const struct g4_op *op, int pass, int thread, bool predicated);
/* Store the results of a thread to the destination. */
void g4_general_store(struct g4_run *run, const struct g4_op *op, int pass, int thread, const uint32_t *bits,
                      uint32_t enabled);

/* ---- exceptions (exceptions.c) ---- */

#define G4_CR0_FLOATS (G4_CR0_ROUNDING | G4_CR0_KEEP_DOUBLES | G4_CR0_KEEP_FLOATS)

/* Let a thread enter the system routine if the exception is enabled; false: it is not, and nothing has changed. */
bool g4_exception_take(struct g4_run *run, int thread, enum g4_exception which);

#endif
