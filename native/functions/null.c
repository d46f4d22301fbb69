/*
 * The null function: takes any message and drops it.  Only good for ending a thread.
 */
#include "eu/eu.h"
#include "functions/table.h"

enum g4_status g4_message_null(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    (void)eu;
    (void)gang;
    (void)send;
    return G4_OK;
}
