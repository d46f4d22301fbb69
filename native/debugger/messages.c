/*
 * Messages of observed threads: reported when they are answered; watched memory is compared before and after.  Bad
 * messages are handled by the error policy.
 */
#include <string.h>

#include "core/report.h"
#include "debugger/debug.h"
#include "functions/table.h"

/* ---- watched memory ---- */

static bool is_range(const struct g4_debug_breakpoint *b) {
    return b->kind == G4_BREAK_WRITE && b->high >= b->low;
}

static void copy_ranges(struct g4_debug *debug) {
    uint8_t *at = debug->range_copy;
    for (uint32_t i = 0; i < debug->setup.breakpoint_count; i++) {
        const struct g4_debug_breakpoint *const b = &debug->setup.breakpoint[i];
        if (is_range(b)) {
            (void)g4_mem_read(&debug->quiet_port, b->low, at, b->high - b->low + 1);
            at += b->high - b->low + 1;
        }
    }
}

/* Find the first byte of a range that has changed. */
static bool changed(struct g4_debug *debug, const struct g4_debug_breakpoint *b, const uint8_t *was,
                    g4_address *address) {
    uint8_t now[4096];
    const uint32_t size = b->high - b->low + 1;
    for (uint32_t done = 0; done < size; done += sizeof now) {
        const uint32_t part = size - done < sizeof now ? size - done : (uint32_t)sizeof now;
        (void)g4_mem_read(&debug->quiet_port, b->low + done, now, part);
        for (uint32_t i = 0; i < part; i++) {
            if (now[i] != was[done + i]) {
                *address = b->low + done + i;
                return true;
            }
        }
    }
    return false;
}

static bool report_write(struct g4_debug *debug, struct g4_gang *gang, int t, uint32_t which, g4_address address) {
    struct g4_debug_event event = {.kind = G4_DEBUG_WRITE, .which = which, .value = address};
    return g4_debug_report_thread(debug, gang, t, gang->ip[t], NULL, &event);
}

/* A change by several threads in one message is reported for the lowest. */
static bool check_ranges(struct g4_debug *debug, struct g4_gang *gang, const struct g4_send *send) {
    const struct g4_debug_gang *const known = debug->current;
    const uint32_t generation = debug->generation;
    const uint8_t *was = debug->range_copy;
    const int t = __builtin_ctz(send->threads);
    for (uint32_t i = 0; i < debug->setup.breakpoint_count; i++) {
        const struct g4_debug_breakpoint *const b = &debug->setup.breakpoint[i];
        g4_address address;
        if (!is_range(b)) {
            continue;
        }
        if (g4_debug_unit_in(b->units, known->thread[t].unit) && (known->thread[t].flagged || !b->flagged) &&
            changed(debug, b, was, &address)) {
            const bool proceed = report_write(debug, gang, t, i, address);
            if (!proceed || debug->generation != generation) {
                return proceed; /* a changed setup has no copies of its ranges */
            }
        }
        was += b->high - b->low + 1;
    }
    return true;
}

static bool watches_memory(const struct g4_debug *debug) {
    for (uint32_t i = 0; i < debug->setup.breakpoint_count; i++) {
        if (is_range(&debug->setup.breakpoint[i])) {
            return true;
        }
    }
    return false;
}

/* ---- bad messages ---- */

static void put_in_flight(struct g4_debug_gang *known, const struct g4_send *send) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        for (uint32_t r = send->dst; send->has_dst && (send->threads >> t & 1) && r < send->dst + send->rlen; r++) {
            if (r < G4_GRF_COUNT) {
                known->in_flight[t][r / 32] |= 1u << (r % 32);
            }
        }
    }
}

static bool in_flight(const uint32_t *set, uint32_t first, uint32_t last) {
    for (uint32_t r = first; r <= last && r < G4_GRF_COUNT; r++) {
        if (set[r / 32] >> (r % 32) & 1) {
            return true;
        }
    }
    return false;
}

static uint32_t last_of_source(const struct g4_op *op, const struct g4_src *src) {
    const uint32_t channel = op->opcode == G4_OPCODE_SEND ? 0 : op->channels - 1u;
    const uint32_t bytes = op->opcode == G4_OPCODE_SEND ? 31 : g4_region_offset(src, channel) + src->size - 1u;
    return (src->base + (op->passes - 1u) * src->pass_bytes + bytes) / 32;
}

int g4_debug_touches_in_flight(const struct g4_debug_gang *known, int t, const struct g4_op *op) {
    const uint32_t *const set = known->in_flight[t];
    for (int s = 0; s < 2; s++) {
        const struct g4_src *const src = &op->src[s];
        if (src->kind == G4_KIND_GRF && in_flight(set, src->base / 32u, last_of_source(op, src))) {
            return (int)(src->base / 32u);
        }
    }
    if (op->dst.kind == G4_KIND_GRF && op->opcode != G4_OPCODE_SEND) {
        const uint32_t bytes = (op->channels - 1u) * op->dst.hstride * op->dst.size + op->dst.size - 1u;
        const uint32_t last = (op->dst.base + (op->passes - 1u) * op->dst.pass_bytes + bytes) / 32;
        if (in_flight(set, op->dst.base / 32u, last)) {
            return (int)(op->dst.base / 32u);
        }
    }
    return -1;
}

/* ---- one message ---- */

/* Whether a message only reads, or computes. */
static bool is_repeatable(const struct g4_model *model, const struct g4_send *send) {
    uint32_t entry, sampler;
    return send->sfid != G4_SHARED_FUNCTION_URB && !send->eot && model->message_use &&
           model->message_use(send->sfid, send->descriptor, &entry, &sampler) != G4_USES_ANYTHING;
}

static bool report_message(struct g4_debug *debug, struct g4_gang *gang, const struct g4_send *send, int t, bool bad) {
    struct g4_debug_event event = {
        .kind = G4_DEBUG_MESSAGE,
        .which = G4_DEBUG_NONE,
        .sfid = send->sfid,
        .descriptor = send->descriptor,
        .emask = g4_mask16(send->emask, t),
        .mrf = send->mrf,
        .grf_payload = send->grf_payload,
        .dst = send->dst,
        .end = send->eot,
        .has_dst = send->has_dst,
        .bad = bad,
    };
    return g4_debug_report_thread(debug, gang, t, gang->ip[t], NULL, &event);
}

static enum g4_status observe_message(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    struct g4_debug *const debug = g4_debug_of(eu->hooks);
    const struct g4_debug_setup *const setup = &debug->setup;
    const bool ranges = send->sfid == G4_SHARED_FUNCTION_DATA_PORT_WRITE && watches_memory(debug);

    if (ranges) {
        copy_ranges(debug);
    }
    if (debug->texels_of) {
        g4_debug_log_message(debug, eu, gang, send);
    }
    debug->has_effect |= !is_repeatable(eu->ctx->model, send);
    enum g4_status status = eu->ctx->model->functions[send->sfid](eu, gang, send);
    const uint64_t errors = g4_report_bad_messages(eu->log);
    const bool bad = errors != debug->bad_messages; /* errors of the send instruction itself are earlier */
    debug->bad_messages = errors;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        const struct g4_debug_thread *const thread = &debug->current->thread[t];
        if ((send->threads >> t & 1) && setup->messages && g4_debug_unit_in(setup->message_units, thread->unit) &&
            (thread->flagged || !setup->messages_flagged) && !report_message(debug, gang, send, t, bad)) {
            return G4_STOPPED;
        }
    }
    if (ranges && !check_ranges(debug, gang, send)) {
        return G4_STOPPED;
    }
    if (bad && setup->errors == G4_ERRORS_HARDWARE) {
        put_in_flight(debug->current, send);
    }
    if (bad && setup->errors == G4_ERRORS_STRICT && status == G4_OK) {
        const int t = __builtin_ctz(send->threads);
        eu->fault = (struct g4_fault){.unit = gang->dispatch->unit,
                                      .address = g4_gang_address(gang, t),
                                      .what = G4_EVENT_BAD_MESSAGE,
                                      .value = send->descriptor};
        return G4_HANG;
    }
    return status == G4_OK && debug->abandoned ? G4_STOPPED : status;
}

g4_message_fn *const g4_debug_functions[G4_FUNCTIONS] = {[0 ... G4_FUNCTIONS - 1] = observe_message};
