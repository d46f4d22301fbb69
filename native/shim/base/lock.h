/* The lock around all state of the shim, waiting, and the clock. */
#ifndef SHIM_LOCK_H
#define SHIM_LOCK_H
#include <stdint.h>

/* Called once, before any other function here. */
void lock_init(void);
/* In the child of a fork, where the parent's thread held the lock: the caller holds a new one. */
void lock_after_fork(void);

/* The program installs a handler for a signal.  Before the first one, threads that hold the lock block no signals,
 * because those do nothing, or end or stop the whole process. */
void lock_expect_handler(int signal);

/* One lock guards all state of the shim.  Waits for the server release it (connection.h). */
void shim_lock(void);
void shim_unlock(void);
/* Release the lock and wait for shim_announce(), for the deadline (CLOCK_MONOTONIC, ns), or 50 ms at most. */
void shim_pause(int64_t deadline);
/* Wake all threads in shim_pause(). */
void shim_announce(void);
/* CLOCK_MONOTONIC in ns. */
int64_t shim_now(void);

#endif
