/*
 * The threads of one thread group: they run on one worker and take turns at barriers.
 */
#ifndef G4_COMPUTE_GROUP_H
#define G4_COMPUTE_GROUP_H

#include "compute/state.h"
#include "eu/worker.h"

struct g4_group;

/* The memory for the threads of one group at a time; NULL: the host has none. */
struct g4_group *g4_group_new(void);
void g4_group_free(struct g4_group *group);

/* Read the indirect data of a dispatch, if any, as the constants of `state`. */
void g4_group_read_indirect(struct g4_group *group, struct g4_port *port, struct g4_compute_state *state);

/* Run all threads of a group to their ends; their numbers are their scratch slots.  G4_HANG: threads wait for each
 * other, or the watchdog has expired; worker->eu.fault says where. */
enum g4_status g4_group_run(struct g4_group *group, struct g4_worker *worker, const struct g4_compute_state *state,
                            const uint32_t id[3]);

#endif
