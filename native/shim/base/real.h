/* The libc functions behind the shim's hooks.
 *
 * Inside the shim, every call of a hooked function goes through REAL(), so that the shim never calls its own hooks.
 */
#ifndef SHIM_REAL_H
#define SHIM_REAL_H

#define HOOK __attribute__((visibility("default")))

/* dlsym(RTLD_NEXT); never NULL for the hooked functions of libc. */
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
