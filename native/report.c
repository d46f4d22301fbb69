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

/* "First error wins" (spec/60 9.3); which that is must not depend on the order in which workers run. */
void g4_report_error(struct g4_report_log *log, uint32_t function, const struct g4_error_record *record) {
    struct g4_error_record *const kept = &log->error[function % G4_ERROR_RECORDS];
    if (!kept->valid || record->address < kept->address ||
        (record->address == kept->address && record->descriptor < kept->descriptor)) {
        *kept = *record;
        kept->valid = true;
    }
}

uint64_t g4_report_bad_messages(const struct g4_report_log *log) {
    static const uint8_t kinds[] = {G4_EVENT_BAD_SFID,     G4_EVENT_BAD_MESSAGE, G4_EVENT_BAD_LENGTH,
                                    G4_EVENT_BAD_RESPONSE, G4_EVENT_EOT_IGNORED, G4_EVENT_EOT_WRONG_UNIT,
                                    G4_EVENT_BAD_SURFACE,  G4_EVENT_BAD_FORMAT,  G4_EVENT_URB_RANGE};
    uint64_t count = 0;
    for (size_t i = 0; i < sizeof kinds; i++) {
        count += log->event[kinds[i]].count;
    }
    return count;
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
    for (uint32_t f = 0; f < G4_ERROR_RECORDS; f++) {
        if (from->error[f].valid) {
            g4_report_error(into, f, &from->error[f]);
        }
    }
}
