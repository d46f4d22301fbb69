/* Memory that is needed soon, provided and mapped by the system in one call: a fault for each page takes several times
 * as long.  See api/live.h for more. */
#ifndef G4_PROVIDE_H
#define G4_PROVIDE_H

#include <stddef.h>

/* For writing.  The contents stay; parts of pages at both ends are left out. */
void g4_provide(void *start, size_t size);

#endif
