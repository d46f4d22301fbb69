/*
 * The log of what kernels and messages do against the rules: a counter and the first case of each kind.
 */
#ifndef G4_REPORT_H
#define G4_REPORT_H

#include "border.h"

struct g4_report_log {
    struct g4_event_count event[G4_EVENTS];
};

void g4_report(struct g4_report_log *log, enum g4_event event, uint32_t address, uint32_t value);
/* Add a worker's log; the first case kept is the one of the log merged first. */
void g4_report_merge(struct g4_report_log *into, const struct g4_report_log *from);

#endif
