/* Start of the shim in a process. */
#ifndef SHIM_START_H
#define SHIM_START_H
#include <stdbool.h>

/* True in a process that was started with GEN4EMU_LIVE. */
bool shim_active(void);

#endif
