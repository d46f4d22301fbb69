/*
 * The message gateway, SFID 3: threads write to registers that other threads have opened (965 PRM vol. 4, 7).  The
 * generations encode its messages differently.
 */
#ifndef G4_FUNCTIONS_GATEWAY_H
#define G4_FUNCTIONS_GATEWAY_H

#include "eu/message.h"

/* A message without its payload. */
struct g4_gateway_request {
    enum {
        G4_GATEWAY_OPEN,
        G4_GATEWAY_CLOSE,
        G4_GATEWAY_FORWARD,
        G4_GATEWAY_TIME_STAMP,
        G4_GATEWAY_UNKNOWN,
    } kind;
    bool notify, acknowledge;
};

/* The payload of a message that opens registers. */
struct g4_gateway_open {
    uint32_t key, register_base;
    uint32_t size; /* registers are 1 << size */
};

/* The payload of a message to another thread; its data are the dwords from the first one on. */
struct g4_gateway_forward {
    uint32_t euid, tid, key;
    uint32_t offset; /* in bytes, from the first open register */
    uint32_t length; /* enum g4_gateway_length */
};

struct g4_gateway_loader {
    void (*load_open)(uint32_t gen, const uint32_t *payload, struct g4_gateway_open *open);
    void (*load_forward)(uint32_t gen, const uint32_t *payload, struct g4_gateway_forward *message);
};

/* Serves a message of the threads that send it. */
enum g4_status g4_gateway_serve(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                                const struct g4_gateway_request *request, const struct g4_gateway_loader *loader);

#endif
