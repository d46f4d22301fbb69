/* Hooks of functions that install signal handlers: the shim delays signals only if there are any (base/lock.h). */
#define _GNU_SOURCE
#include <signal.h>

#include "shim/base/lock.h"
#include "shim/base/real.h"
#include "shim/hooks/start.h"

static void expect(int number, sighandler_t handler) {
    if (handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR && shim_active()) {
        lock_expect_handler(number);
    }
}

HOOK int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (action) {
        expect(number, action->sa_handler); /* a union with sa_sigaction */
    }
    return REAL(sigaction)(number, action, old);
}

#define HOOK_SIGNAL(name)                                                                                              \
    HOOK sighandler_t name(int number, sighandler_t handler) {                                                         \
        expect(number, handler);                                                                                       \
        return REAL(name)(number, handler);                                                                            \
    }

HOOK_SIGNAL(signal)
HOOK_SIGNAL(ssignal)
HOOK_SIGNAL(sysv_signal)

/* Old names, which headers do not declare, or only with a warning. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
sighandler_t bsd_signal(int number, sighandler_t handler);
HOOK_SIGNAL(bsd_signal)
HOOK_SIGNAL(__sysv_signal)
HOOK_SIGNAL(sigset)
