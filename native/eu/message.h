/*
 * What the shared functions have in common: how they complain, and whether a message has the length it should.
 */
#ifndef G4_EU_MESSAGE_H
#define G4_EU_MESSAGE_H

#include "eu/eu.h"

/* Record an event of thread t, and what its message was (spec/60 9.3). */
void g4_message_error(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, int t,
                      enum g4_event event, uint32_t value);
/* Record an event of every thread that sends, with the descriptor as its value. */
void g4_message_report(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, enum g4_event event);

/* Compare the lengths with what the message takes and gives, and report what differs.  False: payload is missing, the
 * message is dropped (spec/60 3.4). */
bool g4_message_lengths(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, unsigned mlen,
                        unsigned rlen);

#endif
