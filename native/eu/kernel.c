/*
 * Decodes kernels and caches them by content: memory is mutable, so an address may hold another kernel in the next
 * draw.
 */
#include "eu/kernel.h"
#include "hw_messages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "eu/fast/fast.h"
#include "eu/jit/jit.h"
#include "eu/run.h"

enum {
    BUCKETS = 256,
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    MAX_KERNELS = 32, /* hardly any kernel comes twice */
#else
    MAX_KERNELS = 2048,
#endif
    MAX_BYTES = 256 << 20,  /* a decoded kernel of 64 KiB takes 3 to 7 MiB */
    KERNELS_OF_A_DRAW = 10, /* VS, GS, CLIP, SF, HS, DS, and four entry points of the pixel shader */
};

struct g4_kernel_cache {
    struct g4_kernel *bucket[BUCKETS]; /* by address */
    uint32_t count;
    size_t bytes; /* of all kernels with their parts */
    uint64_t clock;
    uint32_t waiting; /* draws whose kernels stay, besides those of the one that is loaded */
};

struct g4_kernel_cache *g4_kernel_cache_new(void) {
    return calloc(1, sizeof(struct g4_kernel_cache));
}

void g4_kernel_free(struct g4_kernel *kernel) {
    if (kernel) {
        for (uint32_t i = 0; kernel->parts && i < kernel->parts->count; i++) {
            g4_kernel_free(kernel->parts->part[i]);
        }
        free(kernel->parts);
        g4_translation_free(kernel->translation);
        free(kernel->ops);
        free(kernel->halves);
        free(kernel->index);
        free(kernel->targets);
        free(kernel->content);
        free(kernel);
    }
}

void g4_kernel_cache_free(struct g4_kernel_cache *cache) {
    if (!cache) {
        return;
    }
    for (int i = 0; i < BUCKETS; i++) {
        struct g4_kernel *kernel = cache->bucket[i];
        while (kernel) {
            struct g4_kernel *const next = kernel->chain;
            g4_kernel_free(kernel);
            kernel = next;
        }
    }
    free(cache);
}

/* ---- the walk ---- */

/* As g4_kernel_fetch(); `raw` receives the instruction as it is in memory.  Returns its length in bytes. */
static uint32_t fetch_raw(const struct g4_model *model, struct g4_port *port, g4_address address, uint32_t raw[4],
                          uint32_t words[4]) {
    raw[0] = g4_mem_read32(port, address);
    raw[1] = g4_mem_read32(port, address + 4);
    if (model->expand_instruction(raw, words)) {
        return 8;
    }
    raw[2] = g4_mem_read32(port, address + 8);
    raw[3] = g4_mem_read32(port, address + 12);
    memcpy(words, raw, 16);
    return 16;
}

void g4_kernel_fetch(const struct g4_model *model, struct g4_port *port, g4_address address, uint32_t words[4],
                     uint32_t *length) {
    uint32_t raw[4];
    *length = fetch_raw(model, port, address, raw, words);
}

void g4_kernel_finish_branch(const struct g4_model *model, struct g4_port *port, struct g4_op *op, g4_address address) {
    uint32_t words[4];
    uint32_t length;

    if (op->opcode == G4_OPCODE_BREAK && op->channel_pointers) {
        g4_kernel_fetch(model, port, address + (op->uip - op->ip), words, &length);
        op->uip += length;
    }
}

bool g4_op_branches(const struct g4_op *op) {
    return op->channel_pointers || (!op->undefined && (g4_opcode_info[op->opcode].flags & G4_OPF_BRANCH));
}

void g4_op_use_upper(struct g4_op *op) {
    if (op->upper && op->handler != G4_HANDLER_UPPER && op->handler != G4_HANDLER_BREAKPOINT) {
        op->in_upper = op->handler;
        op->handler = G4_HANDLER_UPPER;
    }
}

bool g4_op_writes_ip(const struct g4_op *op) {
    return op->dst.kind == G4_KIND_ARF && op->dst.reg >> 4 == G4_ARF_IP && !g4_op_branches(op) &&
           op->opcode != G4_OPCODE_SEND;
}

/* The target of `add ip ip imm`; false for other writes of ip, whose target is known only at run time. */
bool g4_op_ip_target(const struct g4_op *op, uint32_t *target) {
    const bool relative = op->opcode == G4_OPCODE_ADD && op->src[0].kind == G4_KIND_ARF &&
                          op->src[0].reg >> 4 == G4_ARF_IP && op->src[1].kind == G4_KIND_IMM;
    *target = op->ip + (relative ? op->src[1].imm[0] : 0);
    return relative;
}

/* The highest offset from `base` that the instruction is known to jump to. */
static uint32_t reach(const struct g4_op *op, uint32_t base) {
    uint32_t target = 0;
    uint32_t other = base;
    if (g4_op_branches(op)) {
        target = op->target;
        other = op->channel_pointers ? op->uip : base;
    } else if (!g4_op_writes_ip(op) || !g4_op_ip_target(op, &target)) {
        target = base;
    }
    target = target - base < G4_KERNEL_MAX_BYTES ? target - base : 0;
    other = other - base < G4_KERNEL_MAX_BYTES ? other - base : 0;
    return target > other ? target : other;
}

bool g4_op_ends_thread(const struct g4_op *op) {
    return op->opcode == G4_OPCODE_SEND && op->eot;
}

/* One more than the highest register of a direct source. */
static uint32_t src_top(const struct g4_op *op, const struct g4_src *src) {
    uint32_t furthest = 0;
    if (op->grf_payload || src->kind != G4_KIND_GRF) {
        return 0;
    }
    const unsigned moved = op->opcode == G4_OPCODE_SEND ? G4_REGISTER_BYTES / src->size : 0; /* whole registers */
    const unsigned channels = moved ? moved : op->channels;

    for (unsigned c = 0; c < channels; c++) {
        const uint32_t at = g4_region_offset(src, c);
        furthest = at > furthest ? at : furthest;
    }
    if (op->opcode == G4_OPCODE_PLN && src == &op->src[1]) {
        furthest += G4_REGISTER_BYTES; /* the second coordinate */
    }
    return (src->base + (op->passes > 1 ? src->pass_bytes : 0u) + furthest + src->size - 1) / G4_REGISTER_BYTES + 1;
}

static uint32_t op_top(const struct g4_op *op) {
    const unsigned sources = g4_opcode_info[op->opcode].sources;
    uint32_t top = op->dst.kind == G4_KIND_GRF && op->opcode != G4_OPCODE_SEND
                       ? (op->dst.base + (op->passes - 1u) * op->dst.pass_bytes +
                          (op->channels - 1u) * op->dst.hstride * op->dst.size + op->dst.size - 1) /
                                 G4_REGISTER_BYTES +
                             1
                       : 0;
    for (unsigned s = 0; s < sources && op->opcode != G4_OPCODE_SEND;
         s++) { /* its implied move checks registers at run time */
        const uint32_t other = src_top(op, &op->src[s]);
        top = other > top ? other : top;
    }
    return top;
}

/* The maximum number of ops of a walk: all compacted, and the end. */
enum {
    MAX_OPS = G4_KERNEL_MAX_BYTES / 8 + 1
};

/* Make ops and content large enough for this number of ops. */
static bool reserve(struct g4_kernel *kernel, uint32_t capacity) {
    struct g4_op *const ops = realloc(kernel->ops, capacity * sizeof *ops);
    kernel->ops = ops ? ops : kernel->ops;
    uint8_t *const content = realloc(kernel->content, capacity * (size_t)16);
    kernel->content = content ? content : kernel->content;
    return ops && content;
}

/* Ops and content come from the same read of an instruction, because a program that shares the memory may change it
 * meanwhile; only the length of the instruction at the second target of `break` is read for itself. */
static bool walk(struct g4_kernel *kernel, struct g4_port *port, const struct g4_model *model) {
    uint32_t capacity = 64;
    uint32_t ip = 0;
    uint32_t furthest = 0;

    if (!reserve(kernel, capacity)) {
        return false;
    }
    while (ip < G4_KERNEL_MAX_BYTES) {
        uint32_t raw[4];
        uint32_t words[4];
        if (kernel->count + 1 >= capacity) {
            capacity *= 2;
            if (!reserve(kernel, capacity)) {
                return false;
            }
        }
        const uint32_t length = fetch_raw(model, port, kernel->address + ip, raw, words);
        memcpy(kernel->content + ip, raw, length);
        struct g4_op *const op = &kernel->ops[kernel->count++];
        model->decode_instruction(op, words, model, kernel->base + ip, length);
        g4_kernel_finish_branch(model, port, op, kernel->address + ip);
        const uint32_t top = op_top(op);
        kernel->grf_top = top > kernel->grf_top ? top : kernel->grf_top;
        const uint32_t target = reach(op, kernel->base);
        furthest = target > furthest ? target : furthest;
        ip += length;
        if ((g4_op_ends_thread(op) || op->opcode == G4_OPCODE_ILLEGAL) && ip > furthest) {
            break;
        }
    }
    kernel->bytes = ip;
    struct g4_op *const ops = realloc(kernel->ops, (kernel->count + 1) * sizeof *ops);
    uint8_t *const content = realloc(kernel->content, kernel->bytes);
    kernel->ops = ops ? ops : kernel->ops;
    kernel->content = content ? content : kernel->content;
    return true;
}

/* True if the walk decoded no instruction that starts at `ip`, which may be inside another one. */
static bool is_outside(const struct g4_kernel *kernel, uint32_t ip) {
    return !g4_kernel_find_own(kernel, ip);
}

/* Whether threads may jump to code that the walk has not found. */
static bool may_leave(const struct g4_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        const bool computed = op->opcode == G4_OPCODE_JMPI && op->src[1].kind != G4_KIND_IMM;
        uint32_t target = 0;
        if (g4_op_branches(op) &&
            (computed || is_outside(kernel, op->target) || (op->channel_pointers && is_outside(kernel, op->uip)) ||
             op->opcode == G4_OPCODE_RET)) {
            return true;
        }
        if (g4_op_writes_ip(op) && (!g4_op_ip_target(op, &target) || is_outside(kernel, target))) {
            return true;
        }
    }
    return kernel->count == 0 || !g4_op_ends_thread(&kernel->ops[kernel->count - 1]);
}

static uint32_t functions_of(const struct g4_kernel *kernel) {
    uint32_t functions = kernel->leaves ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        if (op->opcode == G4_OPCODE_SEND) {
            functions |= op->grf_payload || op->src[1].kind == G4_KIND_IMM ? 1u << op->function : UINT32_MAX;
        }
    }
    return functions;
}

static bool writes_memory(const struct g4_kernel *kernel, const struct g4_model *model) {
    if (!model->message_writes) {
        return false;
    }
    bool writes = kernel->leaves;
    for (uint32_t i = 0; i < kernel->count && !writes; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        writes = op->opcode == G4_OPCODE_SEND &&
                 model->message_writes(op->function, op->descriptor, op->src[1].kind == G4_KIND_IMM);
    }
    return writes;
}

uint32_t g4_kernel_functions(const struct g4_kernel *kernel) {
    return kernel->functions;
}

bool g4_kernel_writes_memory(const struct g4_kernel *kernel) {
    return kernel->writes_memory;
}

static bool reads_clock(const struct g4_kernel *kernel, const struct g4_model *model) {
    bool reads = kernel->leaves;
    for (uint32_t i = 0; i < kernel->count && !reads; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        for (unsigned s = 0; s < g4_opcode_info[op->opcode].sources && op->opcode != G4_OPCODE_SEND; s++) {
            reads |= op->src[s].kind == G4_KIND_ARF && op->src[s].reg == G4_ARF_TM << 4;
        }
    }
    return reads && model->quirks.has_channel_pointers; /* Gen4 has no clock */
}

bool g4_kernel_reads_clock(const struct g4_kernel *kernel) {
    return kernel->reads_clock;
}

static bool surely_ends(const struct g4_kernel *kernel) {
    bool ends = !kernel->leaves && !kernel->loops;
    for (uint32_t i = 0; i < kernel->count && ends; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        ends = !op->undefined && !op->breakpoint && op->opcode != G4_OPCODE_ILLEGAL && op->opcode != G4_OPCODE_WAIT &&
               !g4_op_writes_ip(op);
    }
    return ends;
}

bool g4_kernel_surely_ends(const struct g4_kernel *kernel) {
    return kernel->surely_ends;
}

uint32_t g4_kernel_instructions(const struct g4_kernel *kernel) {
    return kernel->count;
}

/* Sends to URB and math have no memory that others see, but are listed, too. */
static void find_messages(struct g4_kernel *kernel) {
    kernel->sents = kernel->leaves ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < kernel->count && kernel->sents != UINT32_MAX; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        const struct g4_sent sent = {op->function, op->descriptor, op->writes_target};
        uint32_t n = 0;
        if (op->opcode != G4_OPCODE_SEND) {
            continue;
        }
        while (n < kernel->sents &&
               (kernel->sent[n].function != sent.function || kernel->sent[n].descriptor != sent.descriptor)) {
            n++;
        }
        if (op->src[1].kind != G4_KIND_IMM || n == G4_KERNEL_MESSAGES) {
            kernel->sents = UINT32_MAX;
        } else if (n == kernel->sents) {
            kernel->sent[kernel->sents++] = sent;
        }
    }
}

uint32_t g4_kernel_messages(const struct g4_kernel *kernel, const struct g4_sent **sent) {
    *sent = kernel->sent;
    return kernel->sents;
}

enum {
    KERNEL_TARGETS = 256 /* binding table entries that a descriptor can name */
};

static bool find_targets(struct g4_kernel *kernel) {
    bool seen[KERNEL_TARGETS] = {false};

    kernel->targets = malloc(KERNEL_TARGETS);
    for (uint32_t i = 0; kernel->targets && i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        const uint8_t entry = op->target_entry;
        if (op->opcode == G4_OPCODE_SEND && op->writes_target && !seen[entry]) {
            seen[entry] = true;
            kernel->targets[kernel->target_count++] = entry;
        }
    }
    return kernel->targets != NULL;
}

uint32_t g4_kernel_targets(const struct g4_kernel *kernel, const uint8_t **entries) {
    *entries = kernel->targets;
    return kernel->target_count;
}

/* ---- implicit accumulator writes ----
 *
 * Nearly every instruction writes the accumulator, but hardly any reads it.  A backward data flow analysis finds the
 * writes that may be read.  Implicit writes are not masked, so each one hides all earlier writes of its slots.
 */

/* Slots of acc0 in the low half, of acc1 in the high half. */
typedef uint32_t slots;

#define ALL_SLOTS UINT32_MAX

static slots slots_of(unsigned acc, unsigned channels) {
    return (channels < 16 ? (1u << channels) - 1 : 0xffffu) << (16 * (acc & 1));
}

/* The implicit accumulators of the passes.  An explicit accumulator operand overrides them. */
static slots implicit_slots(const struct g4_op *op) {
    slots found = 0;
    for (unsigned pass = 0; pass < op->passes; pass++) {
        found |= slots_of(op->acc + pass, op->channels);
    }
    return found;
}

static bool names_accumulator(const struct g4_op *op) {
    return op->src[0].kind == G4_KIND_ACC || op->src[1].kind == G4_KIND_ACC || op->dst.kind == G4_KIND_ACC;
}

static slots reads(const struct g4_op *op) {
    if (!g4_op_reads_acc(op)) {
        return 0;
    }
    return names_accumulator(op) ? ALL_SLOTS : implicit_slots(op);
}

static slots hides(const struct g4_op *op) {
    return op->acc_write && !op->undefined && !names_accumulator(op) ? implicit_slots(op) : 0;
}

static slots live_at(const struct g4_kernel *kernel, const slots *live, uint32_t ip) {
    const struct g4_op *const op = g4_kernel_find_own(kernel, ip);
    return op ? live[op - kernel->ops] : ALL_SLOTS;
}

/* The slots that may be read after op i. */
static slots live_after(const struct g4_kernel *kernel, const slots *live, uint32_t i) {
    const struct g4_op *const op = &kernel->ops[i];
    uint32_t target = 0;

    if (op->opcode == G4_OPCODE_ILLEGAL || g4_op_ends_thread(op)) {
        return 0;
    }
    if (op->breakpoint) {
        return ALL_SLOTS;
    }
    slots after = live_at(kernel, live, op->next);
    if (g4_op_branches(op)) {
        const bool computed = op->opcode == G4_OPCODE_JMPI && op->src[1].kind != G4_KIND_IMM;
        after |= computed || op->opcode == G4_OPCODE_RET ? ALL_SLOTS : live_at(kernel, live, op->target);
        after |= op->channel_pointers ? live_at(kernel, live, op->uip) : 0;
    } else if (g4_op_writes_ip(op)) {
        after |= g4_op_ip_target(op, &target) ? live_at(kernel, live, target) : ALL_SLOTS;
    }
    return after;
}

bool g4_kernel_writes_control(const struct g4_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_dst *const dst = &kernel->ops[i].dst;
        if (dst->kind == G4_KIND_ARF && dst->reg >> 4 == G4_ARF_CR) {
            return true;
        }
    }
    return false;
}

static bool spread(const struct g4_kernel *kernel, slots *live) {
    bool changed = false;
    for (uint32_t i = kernel->count; i-- > 0;) {
        const struct g4_op *const op = &kernel->ops[i];
        const slots before = reads(op) | (live_after(kernel, live, i) & ~hides(op));
        changed |= before != live[i];
        live[i] = before;
    }
    return changed;
}

/* Clear acc_write of ops whose implicit accumulator write is never read.  `live` is zeroed scratch memory, a word per
 * op and one more. */
static void find_liveness(struct g4_kernel *kernel, uint32_t *live) {
    if (g4_kernel_writes_control(kernel)) { /* cr0 can disable implicit writes */
        return;
    }
    while (spread(kernel, live)) {
        /* sets only grow, so this terminates */
    }
    for (uint32_t i = 0; i < kernel->count; i++) {
        struct g4_op *const op = &kernel->ops[i];
        const slots written = names_accumulator(op) ? ALL_SLOTS : implicit_slots(op);
        if ((live_after(kernel, live, i) & written) == 0) {
            op->acc_write = false;
        }
    }
}

/* ---- joins ----
 *
 * Parked channels continue at the targets of branches.  Branches let them join at the next instruction and at the one
 * they jump to, and at themselves; other targets that are reached by straight code need a handler that does.
 */

static void mark_join(struct g4_kernel *kernel, uint32_t ip) {
    const struct g4_op *const own = g4_kernel_find_own(kernel, ip);
    if (!own) {
        return;
    }
    struct g4_op *const op = &kernel->ops[own - kernel->ops];
    const bool follows_branch = op > kernel->ops && g4_op_branches(op - 1);
    op->joins = true;
    if (!follows_branch && !op->channel_pointers && op->handler != G4_HANDLER_JOIN) {
        op->joined = op->handler;
        op->handler = G4_HANDLER_JOIN;
    }
}

/* Must not run before the analyses, which look at handlers.  Branches know all channels themselves. */
static void mark_upper(struct g4_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->count; i++) {
        g4_op_use_upper(&kernel->ops[i]);
    }
}

static void mark_joins(struct g4_kernel *kernel) {
    for (uint32_t i = 0; i < kernel->count; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        if (g4_op_branches(op)) {
            mark_join(kernel, op->target);
            mark_join(kernel, op->uip);
            mark_join(kernel, op->next);
        }
    }
}

/* ---- machine code ----
 *
 * Translating an instruction takes as long as running it for some tens of gangs, so kernels are translated when they
 * have run often, or are going to; earlier if they loop.  Gangs of parts are not counted: they are translated at once.
 */

static bool has_loop(const struct g4_kernel *kernel) {
    bool found = false;
    for (uint32_t i = 0; i < kernel->count && !found; i++) {
        const struct g4_op *const op = &kernel->ops[i];
        const bool second = op->channel_pointers && op->uip <= op->ip;
        found = g4_op_branches(op) && (op->target <= op->ip || second);
    }
    return found;
}

static void translate(struct g4_kernel *kernel, const struct g4_context *ctx) {
    kernel->tried = true;
    for (uint32_t i = 0; i < kernel->count; i++) {
        struct g4_op *const op = &kernel->ops[i];
        op->handler = op->handler == G4_HANDLER_JOIN ? op->joined : op->handler;
        op->handler = op->handler == G4_HANDLER_UPPER ? op->in_upper : op->handler;
    }
    g4_translate(kernel, ctx);
    if (ctx->model->quirks.has_channel_pointers) {
        mark_upper(kernel);
        mark_joins(kernel);
    }
}

void g4_kernel_expect(const struct g4_kernel *kernel, const struct g4_context *ctx, uint32_t gangs) {
    if (!kernel || !kernel->ready || kernel->tried) {
        return;
    }
    const uint32_t run = kernel->parts ? __atomic_load_n(&kernel->parts->gangs, __ATOMIC_RELAXED) : 0;
    const uint32_t worth = kernel->loops ? G4_KERNEL_LOOP_WORTH : G4_KERNEL_WORTH;
    if (run + (uint64_t)gangs >= worth) {
        translate((struct g4_kernel *)kernel, ctx);
    }
}

/* ---- the cache ---- */

/* The memory of a kernel without its parts. */
static size_t own_memory(const struct g4_kernel *kernel) {
    return sizeof *kernel + (kernel->count + 1 + kernel->half_count) * sizeof *kernel->ops +
           (kernel->bytes / 8 + 1) * sizeof *kernel->index + kernel->bytes + KERNEL_TARGETS +
           g4_translation_memory(kernel->translation);
}

static size_t memory_with_parts(const struct g4_kernel *kernel) {
    size_t memory = kernel->memory + sizeof *kernel->parts;
    for (uint32_t i = 0; i < kernel->parts->count; i++) {
        memory += kernel->parts->part[i]->memory;
    }
    return memory;
}

/* Decode a kernel, and find its properties that draws need before it runs. */
static struct g4_kernel *decode(const struct g4_context *ctx, g4_address address, uint32_t base) {
    struct g4_kernel *const kernel = calloc(1, sizeof *kernel);
    struct g4_port port;
    if (!kernel) {
        return NULL;
    }
    g4_port_init(&port, ctx->mem, G4_UNIT_EU, false);
    kernel->address = address;
    kernel->base = base;
    if (!walk(kernel, &port, ctx->model)) {
        g4_kernel_free(kernel);
        return NULL;
    }
    const size_t slots = kernel->bytes / 8 + 1;
    kernel->index = malloc(slots * sizeof *kernel->index);
    if (!kernel->index || !find_targets(kernel)) {
        g4_kernel_free(kernel);
        return NULL;
    }
    memset(kernel->index, 0xff, slots * sizeof *kernel->index);
    for (uint32_t i = 0; i < kernel->count; i++) {
        kernel->index[(kernel->ops[i].ip - base) >> 3] = i;
    }
    /* the end of the decoded code */
    struct g4_op *const end = &kernel->ops[kernel->count];
    memset(end, 0, sizeof *end);
    end->ip = base + kernel->bytes;
    end->next = G4_KERNEL_NOWHERE;
    end->handler = G4_HANDLER_STRAY;
    kernel->leaves = base || may_leave(kernel); /* threads come to a part from elsewhere, too */
    kernel->functions = functions_of(kernel);
    kernel->writes_memory = writes_memory(kernel, ctx->model);
    kernel->reads_clock = reads_clock(kernel, ctx->model);
    kernel->loops = has_loop(kernel);
    kernel->surely_ends = surely_ends(kernel);
    find_messages(kernel);
    kernel->memory = own_memory(kernel);
    return kernel;
}

/* Choose the handlers of a kernel, and find what a gang needs to start. */
static void finish(struct g4_kernel *kernel, const struct g4_context *ctx) {
    uint32_t *const live = calloc(kernel->count + 1, sizeof *live);
    if (live) { /* on failure, all accumulator writes are kept */
        find_liveness(kernel, live);
        free(live);
    }
    for (uint32_t i = 0; i < kernel->count; i++) {
        (void)g4_fast_select(&kernel->ops[i], &ctx->model->quirks);
    }
    g4_kernel_find_halves(kernel, &ctx->model->quirks);
    g4_find_start_state(kernel);
    g4_uniform_color_find(kernel, &kernel->flat);
    if (kernel->base || ctx->options.translate_at_once) {
        translate(kernel, ctx);
    } else if (ctx->model->quirks.has_channel_pointers) { /* last: replaces handlers */
        mark_upper(kernel);
        mark_joins(kernel);
    }
}

void g4_kernel_make_ready(const struct g4_kernel *kernel, const struct g4_context *ctx) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* several workers may be the first ones */
    struct g4_kernel *const own = (struct g4_kernel *)kernel;

    if (__atomic_load_n(&own->ready, __ATOMIC_ACQUIRE)) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (!own->ready) {
        finish(own, ctx);
        __atomic_store_n(&own->ready, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

struct g4_kernel *g4_kernel_decode(const struct g4_context *ctx, g4_address address, uint32_t base) {
    struct g4_kernel *const kernel = decode(ctx, address, base);
    if (kernel) {
        g4_kernel_make_ready(kernel, ctx);
        kernel->memory = own_memory(kernel);
    }
    return kernel;
}

static bool has_same_content(const struct g4_kernel *kernel, struct g4_port *port) {
    uint32_t done = 0;
    while (done < kernel->bytes) {
        const g4_address address = kernel->address + done;
        uint32_t size = G4_PAGE_SIZE - (address & G4_PAGE_OFFSET);
        size = size < kernel->bytes - done ? size : kernel->bytes - done;
        if (memcmp(g4_mem_read_ptr(port, address), kernel->content + done, size) != 0) {
            return false;
        }
        done += size;
    }
    return true;
}

void g4_kernel_cache_keep(struct g4_kernel_cache *cache, uint32_t draws) {
    cache->waiting = draws;
}

bool g4_kernel_cache_is_full(const struct g4_kernel_cache *cache) {
    return cache->count > MAX_KERNELS || cache->bytes > MAX_BYTES;
}

/* Free the least recently used kernel; false: those that are left may belong to draws that wait or run. */
static bool evict(struct g4_kernel_cache *cache) {
    struct g4_kernel **oldest = NULL;
    for (int i = 0; i < BUCKETS; i++) {
        for (struct g4_kernel **k = &cache->bucket[i]; *k; k = &(*k)->chain) {
            if (!oldest || (*k)->last_use < (*oldest)->last_use) {
                oldest = k;
            }
        }
    }
    if (!oldest || cache->clock - (*oldest)->last_use < KERNELS_OF_A_DRAW * (cache->waiting + UINT64_C(1))) {
        return false;
    }
    struct g4_kernel *const gone = *oldest;
    *oldest = gone->chain;
    cache->bytes -= memory_with_parts(gone);
    cache->count--;
    g4_kernel_free(gone);
    return true;
}

/* Add to the size of the cache, and evict kernels while it exceeds its limits.  The kernels of draws that wait or
 * run, or of the media command, stay, because they were looked up last. */
static void grow(struct g4_kernel_cache *cache, size_t bytes) {
    cache->bytes += bytes;
    while (g4_kernel_cache_is_full(cache) && evict(cache)) {
    }
}

/* The kernel may have been made ready or translated since it was counted. */
static void count_growth(struct g4_kernel_cache *cache, struct g4_kernel *kernel) {
    const size_t memory = own_memory(kernel);
    const size_t more = memory - kernel->memory;
    if (more) {
        kernel->memory = memory;
        grow(cache, more);
    }
}

const struct g4_kernel *g4_kernel_get(struct g4_kernel_cache *cache, const struct g4_context *ctx, g4_address address,
                                      struct g4_fault *fault) {
    const struct g4_kernel *const kernel = g4_kernel_get_unready(cache, ctx, address, fault);
    if (kernel && !kernel->ready) {
        g4_kernel_make_ready(kernel, ctx);
        count_growth(cache, (struct g4_kernel *)kernel);
    }
    return kernel;
}

const struct g4_kernel *g4_kernel_get_unready(struct g4_kernel_cache *cache, const struct g4_context *ctx,
                                              g4_address address, struct g4_fault *fault) {
    struct g4_kernel **const bucket = &cache->bucket[(address >> 6 ^ address >> 14) % BUCKETS];
    struct g4_port port;

    address &= ~(g4_address)7;
    g4_port_init(&port, ctx->mem, G4_UNIT_EU, false);
    for (struct g4_kernel *kernel = *bucket; kernel; kernel = kernel->chain) {
        if (kernel->address == address && has_same_content(kernel, &port)) {
            cache->bytes -= g4_kernel_drop_stale_parts(kernel, &port);
            kernel->last_use = ++cache->clock;
            g4_kernel_expect(kernel, ctx, 0);
            count_growth(cache, kernel);
            return kernel;
        }
    }
    if (!g4_mem_ptr(ctx->mem, address)) {
        *fault = (struct g4_fault){.unit = G4_UNIT_EU, .address = address, .what = G4_FAULT_UNMAPPED_READ};
        return NULL;
    }
    struct g4_kernel *const kernel = decode(ctx, address, 0);
    if (kernel) {
        kernel->parts = calloc(1, sizeof *kernel->parts);
    }
    if (!kernel || !kernel->parts) {
        g4_kernel_free(kernel);
        *fault = (struct g4_fault){.unit = G4_UNIT_EU, .address = address, .what = G4_FAULT_NO_MEMORY_WRITE};
        return NULL;
    }
    kernel->last_use = ++cache->clock;
    kernel->chain = *bucket;
    *bucket = kernel;
    cache->count++;
    grow(cache, memory_with_parts(kernel));
    return kernel;
}

/* ---- parts ----
 *
 * Code in other buffers that threads reach by writing ip.  It is decoded when the first thread arrives, with
 * instruction pointers relative to the kernel that reaches it.
 */

const struct g4_op *g4_kernel_find_part(const struct g4_kernel *kernel, uint32_t ip) {
    for (uint32_t i = 0; i < kernel->parts->count; i++) {
        const struct g4_op *const op = g4_kernel_find(kernel->parts->part[i], ip);
        if (op) {
            return op;
        }
    }
    return NULL;
}

bool g4_kernel_extend(struct g4_kernel_cache *cache, const struct g4_kernel *kernel, const struct g4_context *ctx,
                      uint32_t ip, unsigned registers) {
    struct g4_kernel_parts *const parts = kernel->parts;

    if (!parts || parts->count + parts->refused >= G4_KERNEL_PARTS || !g4_mem_ptr(ctx->mem, kernel->address + ip)) {
        return false;
    }
    struct g4_kernel *const part = g4_kernel_decode(ctx, kernel->address + ip, ip);
    if (!part || part->grf_top > registers) { /* fast handlers do not check whether a thread owns a register */
        g4_kernel_free(part);
        parts->refused++;
        return false;
    }
    parts->part[parts->count++] = part;
    grow(cache, part->memory);
    return true;
}

size_t g4_kernel_drop_stale_parts(const struct g4_kernel *kernel, struct g4_port *port) {
    struct g4_kernel_parts *const parts = kernel->parts;
    uint32_t kept = 0;
    size_t freed = 0;

    for (uint32_t i = 0; i < parts->count; i++) {
        if (has_same_content(parts->part[i], port)) {
            parts->part[kept++] = parts->part[i];
        } else {
            freed += parts->part[i]->memory;
            g4_kernel_free(parts->part[i]);
        }
    }
    parts->count = kept;
    return freed;
}
