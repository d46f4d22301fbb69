/*
 * Exceptions and the system routine.  No known driver enables an exception.
 */
#include "core/hooks.h"
#include "eu/run.h"

/* The start of the system routine, as an offset from the kernel; false: STATE_SIP has not set one. */
static bool system_routine(const struct g4_run *run, uint32_t *ip) {
    const struct g4_state *const state = run->eu->ctx->state;
    if (!state || state->system_instruction_pointer == 0) {
        return false;
    }
    *ip = (uint32_t)(state->system_instruction_pointer - run->gang->dispatch->kernel_address);
    return true;
}

bool g4_exception_take(struct g4_run *run, int thread, enum g4_exception which) {
    struct g4_gang *const gang = run->gang;
    uint32_t *const cr0 = gang->cr0[thread];
    uint32_t routine;

    if (!(cr0[1] >> (G4_CR0_ENABLE_SHIFT + (unsigned)which) & 1) || (cr0[0] & G4_CR0_MASTER)) {
        return false;
    }
    struct g4_hooks *const hooks = run->eu->hooks;
    if (hooks && hooks->exception(hooks, run, thread, (uint32_t)which)) {
        return false; /* handled by the debugger: the thread continues */
    }
    cr0[1] |= 1u << (G4_CR0_STATUS_SHIFT + (unsigned)which);
    if (!system_routine(run, &routine)) {
        g4_run_stop(run, thread, G4_EVENT_EXCEPTION, cr0[1]);
        return true;
    }
    g4_run_report(run, G4_EVENT_EXCEPTION, cr0[1]);
    cr0[2] = (uint32_t)(gang->dispatch->kernel_address - gang->dispatch->instruction_base) + run->op->ip;
    cr0[0] |= G4_CR0_MASTER;
    g4_run_jump_one(run, thread, routine);
    return true;
}

static bool each_thread(struct g4_run *run, enum g4_exception which) {
    bool taken = false;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (run->threads >> t & 1) {
            taken |= g4_exception_take(run, t, which);
        }
    }
    return taken;
}

/* Opcode 0 terminates the thread; undefined opcodes are no-ops and are reported. */
void g4_illegal(struct g4_run *run, const struct g4_op *op) {
    if (each_thread(run, G4_EXCEPTION_ILLEGAL)) {
        return;
    }
    if (op->opcode != G4_OPCODE_ILLEGAL) {
        g4_run_report(run, G4_EVENT_ILLEGAL_OPCODE, op->word0);
        return;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (run->threads >> t & 1) {
            g4_run_stop(run, t, G4_EVENT_ILLEGAL_OPCODE, op->word0);
        }
    }
}

/* Taken before the instruction.  Breakpoint suppress in cr0.0 skips one breakpoint and clears itself. */
void g4_breakpoint(struct g4_run *run, const struct g4_op *op) {
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        uint32_t *const cr0 = run->gang->cr0[t];
        if (!(run->threads >> t & 1)) {
            continue;
        }
        if (cr0[0] & G4_CR0_SUPPRESS) {
            cr0[0] &= ~(uint32_t)G4_CR0_SUPPRESS;
        } else if (g4_exception_take(run, t, G4_EXCEPTION_BREAKPOINT)) {
            g4_run_leave(run, t);
        }
    }
    if (run->threads) {
        g4_execute(run, op);
    }
}
