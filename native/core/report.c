#include "core/report.h"

#include <string.h>

/* The recorded case of an event has the smallest address, then value: independent of the order of workers. */
static bool before(g4_address address, uint32_t value, const struct g4_event_count *recorded) {
    return recorded->count == 0 || address < recorded->address ||
           (address == recorded->address && value < recorded->value);
}

void g4_report(struct g4_report_log *log, enum g4_event event, g4_address address, uint32_t value) {
    struct g4_event_count *const e = &log->event[event];
    if (before(address, value, e)) {
        e->address = address;
        e->value = value;
    }
    e->count++;
}

static int compare(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int compare_records(const struct g4_error_record *a, const struct g4_error_record *b) {
    const uint64_t left[] = {a->address, a->descriptor, a->header[0], a->header[1], a->unit, a->cause, a->euid, a->tid};
    const uint64_t right[] = {b->address, b->descriptor, b->header[0], b->header[1],
                              b->unit,    b->cause,      b->euid,      b->tid};
    int order = 0;
    for (size_t i = 0; i < sizeof left / sizeof *left && order == 0; i++) {
        order = compare(left[i], right[i]);
    }
    return order;
}

/* The first error wins, and must not depend on the order in which workers run. */
void g4_report_error(struct g4_report_log *log, uint32_t function, const struct g4_error_record *record) {
    struct g4_error_record *const recorded = &log->error[function % G4_ERROR_RECORDS];
    const uint32_t bit = 1u << function % G4_ERROR_RECORDS;

    if (!(log->errors & bit) || compare_records(record, recorded) < 0) {
        *recorded = *record;
        recorded->valid = true;
        log->errors |= bit;
    }
}

void g4_report_clear(struct g4_report_log *log) {
    memset(log->event, 0, sizeof log->event);
    log->errors = 0;
}

static const uint8_t bad_messages[] = {
    G4_EVENT_BAD_SFID,       G4_EVENT_BAD_MESSAGE, G4_EVENT_BAD_LENGTH, G4_EVENT_BAD_RESPONSE, G4_EVENT_EOT_IGNORED,
    G4_EVENT_EOT_WRONG_UNIT, G4_EVENT_BAD_SURFACE, G4_EVENT_BAD_FORMAT, G4_EVENT_URB_RANGE,    G4_EVENT_URB_READ_RANGE};

bool g4_report_is_bad_message(enum g4_event event) {
    for (size_t i = 0; i < sizeof bad_messages; i++) {
        if (bad_messages[i] == event) {
            return true;
        }
    }
    return false;
}

uint64_t g4_report_bad_messages(const struct g4_report_log *log) {
    uint64_t count = 0;
    for (size_t i = 0; i < sizeof bad_messages; i++) {
        count += log->event[bad_messages[i]].count;
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
    for (uint32_t left = from->errors; left; left &= left - 1) {
        const uint32_t function = (uint32_t)__builtin_ctz(left);
        g4_report_error(into, function, &from->error[function]);
    }
}
