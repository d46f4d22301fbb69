#define _GNU_SOURCE
#include "core/processors.h"

#include <sched.h>
#include <string.h>

#include "core/clock.h"

enum {
    BETWEEN_MOVES_NS = 5000000, /* a move takes some ten microseconds */
};

int g4_processor(void) {
    return sched_getcpu();
}

/* The processors of a set, or if there are others, those without the `count` taken ones. */
static cpu_set_t without_taken(const cpu_set_t *set, const int16_t *taken, uint32_t count) {
    cpu_set_t rest = *set;
    for (uint32_t i = 0; i < count; i++) {
        if (taken[i] >= 0 && taken[i] < CPU_SETSIZE) {
            CPU_CLR((size_t)taken[i], &rest);
        }
    }
    return CPU_COUNT(&rest) ? rest : *set;
}

/* Allow the calling thread to use these processors, or if its cpuset has changed meanwhile, all that this has. */
static void allow_again(const cpu_set_t *processors) {
    if (sched_setaffinity(0, sizeof *processors, processors) != 0) {
        cpu_set_t all;
        memset(&all, 0xff, sizeof all);
        (void)sched_setaffinity(0, sizeof all, &all);
    }
}

void g4_leave_processor(uint64_t *last, const int16_t *taken, uint32_t count) {
    const uint64_t now = g4_now_ns();
    const int here = sched_getcpu();
    cpu_set_t allowed;

    if (*last && now - *last < BETWEEN_MOVES_NS) {
        return;
    }
    *last = now;
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof allowed, &allowed) != 0 ||
        CPU_COUNT(&allowed) < 2) {
        return;
    }
    cpu_set_t others = allowed;
    CPU_CLR((size_t)here, &others);
    others = without_taken(&others, taken, count);
    if (sched_setaffinity(0, sizeof others, &others) == 0) {
        allow_again(&allowed); /* it stays where it is now */
    }
}
