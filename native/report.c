#include "report.h"

/* The case kept for a kind is the one with the smallest address, then value: the same whoever came first. */
static bool before(uint32_t address, uint32_t value, const struct g4_event_count *kept) {
    return kept->count == 0 || address < kept->address || (address == kept->address && value < kept->value);
}

void g4_report(struct g4_report_log *log, enum g4_event event, uint32_t address, uint32_t value) {
    struct g4_event_count *const e = &log->event[event];
    if (before(address, value, e)) {
        e->address = address;
        e->value = value;
    }
    e->count++;
}

void g4_report_merge(struct g4_report_log *into, const struct g4_report_log *from) {
    for (int i = 0; i < G4_EVENTS; i++) {
        const struct g4_event_count *const e = &from->event[i];
        if (e->count == 0) {
            continue;
        }
        if (before(e->address, e->value, &into->event[i])) {
            into->event[i].address = e->address;
            into->event[i].value = e->value;
        }
        into->event[i].count += e->count;
    }
}
