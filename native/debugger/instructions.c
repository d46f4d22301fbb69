/*
 * Observed threads: every instruction goes through one handler, which checks breakpoints and steps before it executes
 * the instruction (965 PRM vol. 4, 3.6, "Breakpoints" and "Single Stepping").
 */
#include <string.h>

#include "core/report.h"
#include "debugger/debug.h"
#include "eu/fast/fast.h"
#include "eu/kernel.h"
#include "hw_messages.h"

enum {
    /* of cr0.1: the system routine was entered for a breakpoint */
    EXTENDED_STATUS = 1u << (G4_CR0_STATUS_SHIFT + G4_EXCEPTION_BREAKPOINT),
};

/* ---- breakpoints ---- */

static uint32_t function_of(const struct g4_run *run, const struct g4_op *op, int t) {
    const uint32_t descriptor = g4_descriptor_of(run->gang, op, t);
    return op->grf_payload ? op->function : g4_message_descriptor_shared_function(descriptor);
}

static bool stands_at(const struct g4_run *run, const struct g4_op *op, int t, const struct g4_debug_breakpoint *b) {
    const g4_address address = run->gang->dispatch->kernel_address + op->ip;
    switch (b->kind) {
    case G4_BREAK_ADDRESS:
        return address >= b->low && address <= b->high;
    case G4_BREAK_OPCODE:
        return op->opcode == b->low;
    case G4_BREAK_END:
        return g4_op_ends_thread(op);
    case G4_BREAK_MESSAGE:
        return op->opcode == G4_OPCODE_SEND && (g4_descriptor_of(run->gang, op, t) & b->mask) == b->low;
    case G4_BREAK_FUNCTION:
        return op->opcode == G4_OPCODE_SEND && function_of(run, op, t) == b->low;
    case G4_BREAK_DEBUG_CONTROL:
        return op->breakpoint;
    case G4_BREAK_EVERY:
        return true;
    default:
        return false;
    }
}

static uint32_t find_breakpoint(const struct g4_debug *debug, const struct g4_run *run, const struct g4_op *op, int t,
                                const struct g4_debug_thread *thread) {
    for (uint32_t i = 0; i < debug->setup.breakpoint_count; i++) {
        const struct g4_debug_breakpoint *const b = &debug->setup.breakpoint[i];
        if (g4_debug_unit_in(b->units, thread->unit) && (thread->flagged || !b->flagged) && stands_at(run, op, t, b)) {
            return i;
        }
    }
    return G4_DEBUG_NONE;
}

/* ---- one instruction ---- */

/* Report an event with the floating point environment of the host, which the callback expects. */
static bool report(struct g4_debug *debug, struct g4_run *run, int t, uint32_t ip, struct g4_debug_event *event) {
    const bool was_inside = run->is_inside;
    g4_floats_leave(run);
    const bool proceed = g4_debug_report_thread(debug, run->gang, t, ip, run, event);
    if (was_inside) {
        g4_floats_enter(run);
    }
    return proceed;
}

static void stop_run(struct g4_run *run, enum g4_status status) {
    g4_run_place(run, run->op->ip);
    run->status = status;
    run->split = true;
}

/* Breakpoints for the client's own system routine: taken unless suppressed, and before every instruction while the
 * status bit stays set (965 PRM vol. 4, 3.6, "Single Stepping"). */
static bool enter_routine(struct g4_run *run, int t, bool stands) {
    uint32_t *const cr0 = run->gang->cr0[t];
    if ((cr0[0] & G4_CR0_MASTER) || !(stands || (cr0[1] & EXTENDED_STATUS))) {
        return false;
    }
    if (cr0[0] & G4_CR0_SUPPRESS) {
        cr0[0] &= ~(uint32_t)G4_CR0_SUPPRESS;
        return false;
    }
    return g4_exception_take(run, t, G4_EXCEPTION_BREAKPOINT);
}

/* Checks before thread t executes.  False: the draw is to end, or the thread has left. */
static bool before(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, int t) {
    struct g4_debug_gang *const known = debug->current;
    const struct g4_debug_thread *const thread = &known->thread[t];
    const uint32_t found = find_breakpoint(debug, run, op, t, thread);

    if (debug->setup.errors == G4_ERRORS_HARDWARE) {
        const int reg = g4_debug_touches_in_flight(known, t, op);
        if (reg >= 0) {
            struct g4_debug_event event = {.kind = G4_DEBUG_IN_FLIGHT, .which = G4_DEBUG_NONE, .value = (uint32_t)reg};
            (void)report(debug, run, t, op->ip, &event);
            g4_run_stop(run, t, G4_EVENT_BAD_RESPONSE, (uint32_t)reg);
            return false;
        }
    }
    if (debug->setup.system_routine) {
        if (enter_routine(run, t, found != G4_DEBUG_NONE || op->breakpoint)) {
            g4_run_leave(run, t);
        }
        return true;
    }
    const bool hardware =
        op->breakpoint && (run->gang->cr0[t][1] >> (G4_CR0_ENABLE_SHIFT + G4_EXCEPTION_BREAKPOINT) & 1);
    const bool mine = debug->stepping == thread->serial;
    const bool stepped = mine && !debug->before_first;
    debug->before_first = mine ? false : debug->before_first;
    const bool finished = debug->finishing == thread->serial && g4_op_ends_thread(op);
    const bool arrived = debug->goal == thread->serial && debug->goal_executed == known->executed[t];
    if (found == G4_DEBUG_NONE && !stepped && !finished && !arrived && !hardware) {
        return true;
    }
    debug->goal = arrived ? 0 : debug->goal;
    debug->stepping = stepped ? 0 : debug->stepping;
    debug->finishing = finished ? 0 : debug->finishing;
    struct g4_debug_event event = {
        .kind = G4_DEBUG_INSTRUCTION, .which = found, .stepped = stepped || finished || arrived};
    return report(debug, run, t, op->ip, &event);
}

/* After an instruction: report threads that have met their first NaN, infinity or denormal. */
static void check_results(struct g4_debug *debug, struct g4_run *run, const struct g4_op *op, uint8_t threads) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        struct g4_debug_event not_finite = {0}, denormal = {0};
        if ((threads >> t & 1) &&
            ((g4_debug_find_not_finite(debug, run, op, t, &not_finite) &&
              !report(debug, run, t, op->next, &not_finite)) ||
             (g4_debug_find_denormal(debug, run, op, t, &denormal) && !report(debug, run, t, op->next, &denormal)))) {
            stop_run(run, G4_STOPPED);
            return;
        }
    }
    g4_run_masks(run);
}

static void observe(struct g4_run *run, const struct g4_op *op) {
    struct g4_debug *const debug = g4_debug_of(run->eu->hooks);
    struct g4_op fresh;

    if (op->handler == G4_HANDLER_STRAY) {
        debug->saved.serial = 0; /* decoding counts as an instruction, and happens once */
        g4_stray(run, op);       /* decodes the instruction and runs it through this handler */
        return;
    }
    if (debug->code_changed) {
        uint32_t words[4];
        uint32_t length;
        const struct g4_model *const model = run->eu->ctx->model;
        g4_kernel_fetch(model, &debug->quiet_port, run->gang->dispatch->kernel_address + op->ip, words, &length);
        model->decode_instruction(&fresh, words, model, op->ip, length);
        op = run->op = &fresh;
        run->next = fresh.next;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if ((run->threads >> t & 1) && !before(debug, run, op, t)) {
            if (run->stopped) {
                g4_run_leave(run, t);
                continue;
            }
            stop_run(run, G4_STOPPED);
            return;
        }
        debug->current->executed[t] += run->threads >> t & 1;
    }
    if (run->threads == 0) {
        return;
    }
    g4_run_masks(run); /* the debugger may have changed them */
    debug->channel_ops += op->exec_size;
    if (!debug->see_results) {
        g4_execute(run, op);
    } else {
        const uint8_t threads = run->threads;
        g4_debug_copy_operands(debug, run, op);
        g4_execute(run, op);
        check_results(debug, run, op, threads);
    }
    if (debug->has_effect) {
        g4_debug_save_after(debug, run);
    }
}

/* ---- gangs ---- */

static const struct g4_fast_handlers observed = {{[0 ... G4_FAST_ROOM - 1] = observe}};
static const struct g4_fast_handlers *const observed_tables[G4_TABLES] = {[0 ... G4_TABLES - 1] = &observed};

static bool holds_goal(const struct g4_debug *debug) {
    bool found = false;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        found |= debug->goal && debug->current->thread[t].serial == debug->goal;
    }
    return found;
}

/* Report each thread that waits for attention.  *cleared: some of them may continue. */
static enum g4_status attend(struct g4_debug *debug, struct g4_gang *gang, uint8_t threads, bool *cleared) {
    *cleared = false;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(threads >> t & 1)) {
            continue;
        }
        struct g4_debug_event event = {
            .kind = G4_DEBUG_ATTENTION, .which = G4_DEBUG_NONE, .value = (gang->cr0[t][0] & G4_CR0_SINGLE_FLOW) != 0};
        if (!g4_debug_report_thread(debug, gang, t, gang->ip[t], NULL, &event)) {
            return G4_STOPPED;
        }
        *cleared |= gang->notify[t][1] != 0;
    }
    return G4_OK;
}

enum g4_status g4_debug_run_gang(struct g4_hooks *hooks, struct g4_eu *eu, struct g4_gang *gang,
                                 const struct g4_kernel *kernel) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    for (;;) {
        debug->current = g4_debug_gang_of(debug, gang);
        debug->bad_messages = g4_report_bad_messages(eu->log);
        const bool each =
            debug->see_instructions || debug->stepping || debug->finishing || debug->code_changed || holds_goal(debug);
        debug->current->counted &= each;
        if (each) {
            g4_debug_save_start(debug, eu, gang, kernel);
        }
        enum g4_status status =
            each ? g4_gang_run_observed(eu, gang, kernel, observed_tables) : g4_gang_run_unobserved(eu, gang, kernel);
        while (debug->goes_back) {
            debug->goes_back = false;
            g4_debug_go_to_saved(debug, eu, gang);
            debug->bad_messages = g4_report_bad_messages(eu->log);
            status = g4_gang_run_observed(eu, gang, kernel, observed_tables);
        }
        debug->saved.serial = 0;
        if (debug->abandoned) {
            return G4_STOPPED;
        }
        if (status != G4_OK) {
            return status;
        }
        const uint8_t threads = g4_gang_waits_for_host(gang);
        bool cleared = false;
        if (threads) {
            status = attend(debug, gang, threads, &cleared);
        }
        if (status != G4_OK || !cleared) {
            return status;
        }
    }
}

bool g4_debug_exception(struct g4_hooks *hooks, struct g4_run *run, int thread, uint32_t which) {
    struct g4_debug *const debug = g4_debug_of(hooks);
    if (debug->setup.system_routine) {
        return false;
    }
    struct g4_debug_event event = {.kind = G4_DEBUG_EXCEPTION, .which = G4_DEBUG_NONE, .value = which};
    if (!report(debug, run, thread, run->op->ip, &event)) {
        stop_run(run, G4_STOPPED);
    }
    return true;
}
