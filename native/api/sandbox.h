/*
 * Confinement of the process (core/sandbox.c).
 */
#ifndef G4_API_SANDBOX_H
#define G4_API_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

enum g4_sandbox_access {
    G4_SANDBOX_READ = 1,       /* read files and directories below a path */
    G4_SANDBOX_WRITE = 2,      /* read, create, write, rename and remove files and directories below a path */
    G4_SANDBOX_REMOVE_DIR = 4, /* remove empty directories below a path */
};

struct g4_sandbox_path {
    const char *path;
    uint32_t access; /* of enum g4_sandbox_access */
};

/* True if the kernel can confine this process. */
bool g4_sandbox_available(void);
/* Confine the process for good; paths that do not exist are ignored.  The process must have one thread; those that it
 * starts later are confined, too.  0, or an errno. */
int g4_sandbox_enter(const struct g4_sandbox_path *paths, uint32_t count);

#endif
