/* The functions behind our hooks: what the program would have called without us.
 *
 * Inside of the shim every call of a hooked function goes through REAL(), so that we never hook ourselves.
 */
#ifndef SHIM_REAL_H
#define SHIM_REAL_H

#define HOOK __attribute__((visibility("default")))

/* dlsym() of the next library's function; never NULL for the functions of libc which we hook. */
void *real_next(const char *name);

#define REAL(name)                                                                                                     \
    (__extension__({                                                                                                   \
        static void *slot;                                                                                             \
        void *next = __atomic_load_n(&slot, __ATOMIC_RELAXED);                                                         \
        if (!next) {                                                                                                   \
            next = real_next(#name);                                                                                   \
            __atomic_store_n(&slot, next, __ATOMIC_RELAXED);                                                           \
        }                                                                                                              \
        (__typeof__(&name))next;                                                                                       \
    }))

#endif
