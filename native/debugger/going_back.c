/*
 * Going back within a thread: it is executed again from a moment that was saved, with the memory as it is now.
 *
 * That has the same results if nothing that the thread has done since is visible outside of it, so the moment is saved
 * again after each message that may have an effect; instructions before it are only reached by executing the draw
 * again.
 */
#include <string.h>

#include "debugger/debug.h"
#include "eu/kernel.h"

#define REST(gang) ((uint8_t *)(gang) + offsetof(struct g4_gang, flag))

_Static_assert(sizeof(union g4_acc) == sizeof(uint64_t) * G4_GANG_THREADS * 16, "an accumulator has 16 channels");

static void save_registers(struct g4_debug_saved *saved, const struct g4_gang *gang) {
    const int t = saved->t;
    for (unsigned r = 0; r < g4_owned(gang); r++) {
        memcpy(saved->grf[r], gang->grf[r].ud[t], sizeof saved->grf[r]);
    }
    for (unsigned r = 0; r < G4_MRF_COUNT; r++) {
        memcpy(saved->mrf[r], gang->mrf[r].ud[t], sizeof saved->mrf[r]);
    }
    for (int a = 0; a < 2; a++) {
        memcpy(saved->acc[a], gang->acc[a].i[t], sizeof saved->acc[a]);
    }
    memcpy(saved->rest, (const uint8_t *)gang + offsetof(struct g4_gang, flag), sizeof saved->rest);
}

static void save(struct g4_debug *debug, const struct g4_eu *eu, const struct g4_gang *gang, int t) {
    struct g4_debug_saved *const saved = &debug->saved;
    const struct g4_debug_gang *const known = debug->current;

    saved->serial = known->thread[t].serial;
    saved->gang = gang;
    saved->t = t;
    saved->executed = known->executed[t];
    save_registers(saved, gang);
    memcpy(saved->in_flight, known->in_flight[t], sizeof saved->in_flight);
    saved->not_finite = known->not_finite[t];
    saved->denormal = known->denormal[t];
    memcpy(saved->messages, eu->messages, sizeof saved->messages);
    saved->log = *eu->log;
    saved->faults = eu->worker->port.log;
}

void g4_debug_save_start(struct g4_debug *debug, const struct g4_eu *eu, const struct g4_gang *gang,
                         const struct g4_kernel *kernel) {
    struct g4_debug_saved *const saved = &debug->saved;
    const int t = gang->live ? __builtin_ctz(gang->live) : 0;

    saved->serial = 0;
    debug->has_effect = false;
    /* The clock counts from the start of a run. */
    if (gang->live != 1u << t || gang->dispatch->unit == G4_UNIT_TS || eu->counters || eu->turn ||
        debug->current->executed[t] || kernel->reads_clock) {
        return;
    }
    saved->instruction_budget = eu->instruction_budget;
    saved->instructions = eu->instructions;
    saved->channel_ops = debug->channel_ops = eu->channel_ops;
    save(debug, eu, gang, t);
}

void g4_debug_save_after(struct g4_debug *debug, const struct g4_run *run) {
    struct g4_debug_saved *const saved = &debug->saved;
    const int t = saved->t;
    const uint64_t more = debug->current->executed[t] - saved->executed;

    debug->has_effect = false;
    if (saved->serial != debug->current->thread[t].serial || !(run->gang->live >> t & 1) || run->status != G4_OK) {
        saved->serial = 0;
        return;
    }
    /* The run adds to these when its group ends. */
    saved->instruction_budget -= more < saved->instruction_budget ? more : saved->instruction_budget;
    saved->instructions += more;
    saved->channel_ops = debug->channel_ops;
    save(debug, run->eu, run->gang, t);
    if (!run->split) {
        memcpy(saved->rest + offsetof(struct g4_gang, ip) - offsetof(struct g4_gang, flag) +
                   sizeof run->next * (unsigned)t,
               &run->next, sizeof run->next);
    }
}

void g4_debug_go_to_saved(struct g4_debug *debug, struct g4_eu *eu, struct g4_gang *gang) {
    const struct g4_debug_saved *const saved = &debug->saved;
    struct g4_debug_gang *const known = debug->current;
    const int t = saved->t;

    for (unsigned r = 0; r < g4_owned(gang); r++) {
        memcpy(gang->grf[r].ud[t], saved->grf[r], sizeof saved->grf[r]);
    }
    for (unsigned r = 0; r < G4_MRF_COUNT; r++) {
        memcpy(gang->mrf[r].ud[t], saved->mrf[r], sizeof saved->mrf[r]);
    }
    for (int a = 0; a < 2; a++) {
        memcpy(gang->acc[a].i[t], saved->acc[a], sizeof saved->acc[a]);
    }
    memcpy(REST(gang), saved->rest, sizeof saved->rest);
    known->executed[t] = saved->executed;
    memcpy(known->in_flight[t], saved->in_flight, sizeof saved->in_flight);
    known->not_finite[t] = saved->not_finite;
    known->denormal[t] = saved->denormal;
    eu->instruction_budget = saved->instruction_budget;
    eu->instructions = saved->instructions;
    eu->channel_ops = debug->channel_ops = saved->channel_ops;
    memcpy(eu->messages, saved->messages, sizeof saved->messages);
    *eu->log = saved->log;
    eu->worker->port.log = saved->faults;
    debug->stepping = debug->finishing = 0;
    debug->before_first = false;
}

bool g4_debug_go_back(struct g4_device *device, uint64_t executed, uint64_t *from) {
    struct g4_debug *const debug = g4_debug_of(device->ctx.hooks);
    if (!debug || !debug->seen_run || debug->seen != debug->saved.gang || debug->seen_thread != debug->saved.t) {
        return false;
    }
    const struct g4_debug_gang *const known = debug->current;
    const struct g4_debug_saved *const saved = &debug->saved;
    if (debug->has_effect || known->thread[saved->t].serial != saved->serial || executed < saved->executed ||
        executed >= known->executed[saved->t]) {
        return false;
    }
    *from = saved->executed;
    debug->may_go_back = g4_debug_stop_at(device, saved->serial, executed, known->thread[saved->t].flagged);
    return debug->may_go_back;
}
