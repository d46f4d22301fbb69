/*
 * The processors that threads run on.
 *
 * Threads that poll look busy to the system.  If there is one more of them than processors, it may leave two that work
 * on one processor for tens of milliseconds, and give another one to a thread that only polls.  So a thread that finds
 * itself beside the wrong one moves.
 */
#ifndef G4_PROCESSORS_H
#define G4_PROCESSORS_H

#include <stdint.h>

/* The processor of the calling thread; below 0: not known. */
int g4_processor(void);
/* Move the calling thread from the processor that it runs on to another one that it may use; if possible, to none of
 * these `count` numbers.  *last is the time of its last attempt: it makes none so soon after another that moving would
 * take a notable part of its time.  It may use the same processors as before, but not those that its cpuset gains
 * later: for threads of the emulator only. */
void g4_leave_processor(uint64_t *last, const int16_t *taken, uint32_t count);

#endif
