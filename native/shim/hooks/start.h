/* Whether the shim has anything to do, the one lock, and what happens at a fork. */
#ifndef SHIM_START_H
#define SHIM_START_H
#include <stdbool.h>
#include <stdint.h>

/* True in a process that was started with GEN4EMU_LIVE. */
bool shim_active(void);

/* All state of the shim is behind one lock.  Waits for the server give it up (connection.h). */
void shim_lock(void);
void shim_unlock(void);
/* Wait, without the lock, until shim_announce() or the time (CLOCK_MONOTONIC, ns) has come, or for a short while. */
void shim_pause(int64_t deadline);
/* Something that somebody may wait for has happened. */
void shim_announce(void);
/* CLOCK_MONOTONIC in ns. */
int64_t shim_now(void);

#endif
