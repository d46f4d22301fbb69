/*
 * Shared by all functions that receive messages: error reports and the check of message lengths.
 */
#ifndef G4_EU_MESSAGE_H
#define G4_EU_MESSAGE_H

#include "eu/eu.h"

/* Report an event of thread t, and record its message for the error state. */
void g4_message_error(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, int t,
                      enum g4_event event, uint32_t value);
/* Report an event of every sending thread, with the descriptor as its value. */
void g4_message_report(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, enum g4_event event);

/* Compare the lengths in the descriptor with those of the message, and report differences.  False: the payload is too
 * short, and the message must be dropped. */
bool g4_message_lengths(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, unsigned mlen,
                        unsigned rlen);

#endif
