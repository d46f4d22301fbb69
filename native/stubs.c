/*
 * Units that are still to come.  Every definition is weak: the unit's own replaces it, and this file goes when none is
 * left.
 */
#include <stdlib.h>
#include <string.h>

#include "ff/wm.h"
#include "report.h"

#define WEAK __attribute__((weak))

/* fixed functions */
