/*
 * The log of rule violations by kernels and messages: a counter and a first case for each kind.
 */
#ifndef G4_REPORT_H
#define G4_REPORT_H

#include "api/status.h"

enum {
    G4_ERROR_RECORDS = 16 /* by shared function */
};

struct g4_report_log {
    struct g4_event_count event[G4_EVENTS];
    uint32_t errors; /* bit n: error[n] is valid */
    struct g4_error_record error[G4_ERROR_RECORDS];
};

void g4_report(struct g4_report_log *log, enum g4_event event, g4_address address, uint32_t value);
/* Clear all counts and records. */
void g4_report_clear(struct g4_report_log *log);
/* Record a bad message, unless its function has a record already. */
void g4_report_error(struct g4_report_log *log, uint32_t function, const struct g4_error_record *record);
/* Whether the event is about a bad message. */
bool g4_report_is_bad_message(enum g4_event event);
/* The number of bad messages. */
uint64_t g4_report_bad_messages(const struct g4_report_log *log);
/* Add a worker's log.  Of two first cases, the one of the log merged first remains. */
void g4_report_merge(struct g4_report_log *into, const struct g4_report_log *from);

#endif
