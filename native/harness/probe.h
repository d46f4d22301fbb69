/*
 * The members of a probe, for files that drive other units through it.
 */
#ifndef G4_PROBE_H
#define G4_PROBE_H

#include "api/harness.h"
#include "eu/worker.h"

struct g4_worker *g4_probe_worker(struct g4_probe *probe);
const struct g4_dispatch *g4_probe_dispatch(const struct g4_probe *probe);

#endif
