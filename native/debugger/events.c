/*
 * Events: the threads that they name, and the client that they are reported to.
 */
#include <string.h>

#include "debugger/debug.h"

struct g4_debug_gang *g4_debug_gang_of(struct g4_debug *debug, const struct g4_gang *gang) {
    struct g4_debug_gang *unused = NULL;
    for (int i = 0; i < G4_DEBUG_GANGS; i++) {
        struct g4_debug_gang *const known = &debug->gang[i];
        if (known->gang == gang) {
            return known;
        }
        if (!unused && !known->gang) {
            unused = known;
        }
    }
    if (!unused) { /* not reached: a device has fewer gangs */
        unused = &debug->gang[0];
    }
    memset(unused, 0, sizeof *unused);
    unused->gang = gang;
    return unused;
}

bool g4_debug_report(struct g4_debug *debug, struct g4_debug_event *event) {
    if (debug->abandoned) {
        return false;
    }
    event->origin = debug->origin;
    event->origins = debug->origins;
    const uint32_t action = debug->fn(debug->data, event);
    debug->stepping = action == G4_DEBUG_STEP ? event->thread.serial : debug->stepping;
    const bool is_between =
        event->kind == G4_DEBUG_THREAD || event->kind == G4_DEBUG_NOT_FINITE || event->kind == G4_DEBUG_DENORMAL;
    debug->before_first = action == G4_DEBUG_STEP ? is_between : debug->before_first;
    debug->finishing = action == G4_DEBUG_FINISH ? event->thread.serial : debug->finishing;
    debug->abandoned = action == G4_DEBUG_ABANDON;
    debug->goes_back = action == G4_DEBUG_BACK && debug->may_go_back;
    debug->may_go_back = false;
    return !debug->abandoned && !debug->goes_back;
}

bool g4_debug_report_thread(struct g4_debug *debug, struct g4_gang *gang, int t, uint32_t ip, struct g4_run *run,
                            struct g4_debug_event *event) {
    const struct g4_debug_gang *const known = g4_debug_gang_of(debug, gang);
    event->thread = known->thread[t];
    event->counted = known->counted;
    event->executed = known->executed[t];
    event->address = gang->dispatch->kernel_address + ip;
    debug->seen = gang;
    debug->seen_thread = t;
    debug->seen_ip = ip;
    debug->seen_run = run;
    const bool proceed = g4_debug_report(debug, event);
    debug->seen = NULL;
    debug->seen_run = NULL;
    return proceed;
}

bool g4_debug_stop_at(struct g4_device *device, uint64_t serial, uint64_t executed, bool flagged) {
    struct g4_debug *const debug = g4_debug_of(device->ctx.hooks);
    if (!debug) {
        return false;
    }
    debug->goal = serial;
    debug->goal_executed = executed;
    debug->goal_flagged = flagged;
    return true;
}
