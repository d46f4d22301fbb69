#include "functions/gateway.h"

#include <string.h>

#include "core/report.h"
#include "eu/message.h"
#include "functions/table.h"
#include "hw_messages.h"

enum {
    QUARTERS_OF_AN_INSTRUCTION = 4 * 4, /* in quarters of a nanosecond */
    QUARTERS_OF_A_TICK = 1024 * 4,      /* a tick is 1.024 microseconds */
    REGISTER_FILE_BYTES = G4_GRF_COUNT * 32
};

static enum g4_gateway_error open_gateway(const struct g4_eu *eu, struct g4_gang *gang, int thread,
                                          const struct g4_gateway_open *open) {
    /* G4x also opens 64 registers, which the manual does not list. */
    const uint32_t largest = G4_GATEWAY_SIZE_REGISTERS_32 + (eu->ctx->model->quirks.gateway_opens_64_registers ? 1 : 0);

    if (open->size > largest) {
        return G4_GATEWAY_ERROR_GATEWAY_SIZE_EXCEEDED;
    }
    gang->gateway[thread] = (struct g4_gateway){
        .open = true,
        .key = (uint16_t)open->key,
        .register_base = (uint8_t)open->register_base,
        .registers = (uint8_t)(1u << open->size),
    };
    return G4_GATEWAY_ERROR_SUCCESSFUL;
}

/* Without a scheduler the gang holds all threads. */
static bool find_in_gang(const struct g4_eu *eu, struct g4_gang *gang, uint32_t euid, uint32_t tid, int *thread) {
    const uint32_t tid_mask = eu->ctx->model->chip->tid_mask;
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        const uint32_t *const identity = &gang->sr0[t];
        if ((gang->live >> t & 1) && (g4_thread_state_tid(identity) & tid_mask) == tid &&
            g4_thread_state_euid(identity) == euid) {
            *thread = t;
            return true;
        }
    }
    return false;
}

static bool find_recipient(const struct g4_eu *eu, struct g4_gang *gang, const struct g4_gateway_forward *to,
                           struct g4_gang **recipient, int *thread) {
    if (gang->owner.find_thread) {
        return gang->owner.find_thread(gang, to->euid, to->tid, recipient, thread);
    }
    *recipient = gang;
    return find_in_gang(eu, gang, to->euid, to->tid, thread);
}

/* Bytes by length code; 0: reserved. */
static uint32_t forward_bytes(uint32_t length) {
    switch (length) {
    case G4_GATEWAY_LENGTH_BYTE:
        return 1;
    case G4_GATEWAY_LENGTH_DWORDS_1:
        return 4;
    case G4_GATEWAY_LENGTH_DWORDS_2:
        return 8;
    case G4_GATEWAY_LENGTH_DWORDS_4:
        return 16;
    default:
        return 0;
    }
}

/* The manual does not give the order of the checks. */
static enum g4_gateway_error forward(const struct g4_eu *eu, struct g4_gang *gang,
                                     const struct g4_gateway_forward *message, const uint32_t *payload, bool notify) {
    struct g4_gang *recipient;
    int thread;

    if (!find_recipient(eu, gang, message, &recipient, &thread) || !recipient->gateway[thread].open ||
        !(recipient->live >> thread & 1)) {
        return G4_GATEWAY_ERROR_GATEWAY_CLOSED;
    }
    const struct g4_gateway *const gateway = &recipient->gateway[thread];
    const uint32_t bytes = forward_bytes(message->length);
    if (!gateway->any_key && gateway->key != message->key) {
        return G4_GATEWAY_ERROR_KEY_MISMATCHED;
    }
    if (bytes == 0) {
        return G4_GATEWAY_ERROR_INVALID_MESSAGE_SIZE;
    }
    const uint32_t offset = message->offset & ~(bytes - 1); /* aligned to its length */
    const uint32_t target = gateway->register_base * 32u + offset;
    if (offset + bytes > gateway->registers * 32u || target + bytes > REGISTER_FILE_BYTES) {
        return G4_GATEWAY_ERROR_LIMIT_EXCEEDED;
    }
    const uint8_t *const data = (const uint8_t *)payload + (bytes == 1 ? offset & 3 : 0);
    memcpy(&recipient->grf[target / 32].ub[thread][target % 32], data, bytes);
    if (notify) {
        recipient->notify[thread][0]++;
        recipient->waiting &= (uint8_t) ~(1u << thread);
    }
    return G4_GATEWAY_ERROR_SUCCESSFUL;
}

/* A thread that ends only closes its gateway, whatever the message says (965 PRM vol. 4, 7.1.2). */
static enum g4_gateway_error serve(const struct g4_eu *eu, struct g4_gang *gang, int thread,
                                   const struct g4_gateway_request *request, const struct g4_gateway_loader *loader,
                                   bool eot, const uint32_t *payload) {
    struct g4_gateway_open open;
    struct g4_gateway_forward message;

    switch (request->kind) {
    case G4_GATEWAY_OPEN:
        if (!eot) {
            loader->load_open(eu->ctx->gen, payload, &open);
            return open_gateway(eu, gang, thread, &open);
        }
        break;
    case G4_GATEWAY_CLOSE:
        gang->gateway[thread].open = false;
        break;
    case G4_GATEWAY_FORWARD:
        loader->load_forward(eu->ctx->gen, payload, &message);
        return forward(eu, gang, &message, payload, request->notify);
    default:
        return G4_GATEWAY_ERROR_OPCODE_ERROR;
    }
    return G4_GATEWAY_ERROR_SUCCESSFUL;
}

/* The time stamp (965 PRM vol. 4, 7.1.5).  Time advances by four nanoseconds for each instruction executed, so that
 * runs repeat.  There is one context, hence one time.  Like an acknowledgement it is only returned if requested. */
static void time_stamp(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send, int thread) {
    const uint64_t quarters = (eu->past_instructions + eu->instructions) * QUARTERS_OF_AN_INSTRUCTION;
    const struct g4_gateway_time_stamp_response stamp = {
        .absolute_fraction = (uint32_t)(quarters % QUARTERS_OF_A_TICK),
        .absolute_ticks = (uint32_t)(quarters / QUARTERS_OF_A_TICK),
        .relative_fraction = (uint32_t)(quarters % QUARTERS_OF_A_TICK),
        .relative_ticks = (uint32_t)(quarters / QUARTERS_OF_A_TICK),
    };
    uint32_t *const response = g4_response(gang, send, 0, thread);

    if (response) {
        const bool high = g4_gateway_time_stamp_payload_to_high_half(g4_payload(gang, send, 0, thread));
        g4_gateway_time_stamp_response_pack(&stamp, eu->ctx->gen, response + (high ? 4 : 0));
    }
}

/* The other dwords of the register keep their contents. */
static void put_result(uint32_t *response, uint32_t gen, enum g4_gateway_error error) {
    const struct g4_gateway_response result = {.shared_function = G4_SHARED_FUNCTION_MESSAGE_GATEWAY,
                                               .error_code = error};
    uint32_t packed[8];

    g4_gateway_response_pack(&result, gen, packed);
    response[0] = packed[0];
}

enum g4_status g4_gateway_serve(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                                const struct g4_gateway_request *request, const struct g4_gateway_loader *loader) {
    if (!g4_message_lengths(eu, gang, send, 1, request->acknowledge ? 1 : 0)) {
        return G4_OK;
    }
    for (int t = 0; t < G4_GANG_THREADS; t++) {
        if (!(send->threads >> t & 1)) {
            continue;
        }
        if (request->kind == G4_GATEWAY_TIME_STAMP && request->acknowledge) {
            time_stamp(eu, gang, send, t);
            continue;
        }
        const enum g4_gateway_error error =
            serve(eu, gang, t, request, loader, send->eot, g4_payload(gang, send, 0, t));
        if (error != G4_GATEWAY_ERROR_SUCCESSFUL) {
            g4_message_error(eu, gang, send, t, G4_EVENT_BAD_MESSAGE, send->descriptor);
        }
        if (send->eot) {
            gang->gateway[t].open = false;
        }
        uint32_t *const response = request->acknowledge ? g4_response(gang, send, 0, t) : NULL;
        if (response) {
            put_result(response, eu->ctx->gen, error);
        }
    }
    return G4_OK;
}

/* ---- Gen4 ---- */

enum {
    GET_TIME_STAMP = 3 /* reserved in the descriptors */
};

static void load_open(uint32_t gen, const uint32_t *payload, struct g4_gateway_open *open) {
    struct g4_gateway_open_payload in;

    g4_gateway_open_payload_unpack(payload, gen, &in);
    *open = (struct g4_gateway_open){.key = in.key, .register_base = in.register_base, .size = in.gateway_size};
}

static void load_forward(uint32_t gen, const uint32_t *payload, struct g4_gateway_forward *message) {
    struct g4_gateway_forward_payload in;

    g4_gateway_forward_payload_unpack(payload, gen, &in);
    *message = (struct g4_gateway_forward){
        .euid = in.euid, .tid = in.tid, .key = in.key, .offset = in.offset, .length = in.length};
}

enum g4_status g4_message_gateway(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    static const struct g4_gateway_loader loader = {load_open, load_forward};
    struct g4_gateway_message message;

    g4_gateway_message_unpack(&send->descriptor, eu->ctx->gen, &message);
    struct g4_gateway_request request = {.notify = message.notify, .acknowledge = message.acknowledge};
    switch (message.gateway_function) {
    case G4_GATEWAY_FUNCTION_OPEN_GATEWAY:
        request.kind = G4_GATEWAY_OPEN;
        break;
    case G4_GATEWAY_FUNCTION_CLOSE_GATEWAY:
        request.kind = G4_GATEWAY_CLOSE;
        break;
    case G4_GATEWAY_FUNCTION_FORWARD_MSG:
        request.kind = G4_GATEWAY_FORWARD;
        break;
    default:
        request.kind = message.gateway_function == GET_TIME_STAMP && eu->ctx->options.gateway_time
                           ? G4_GATEWAY_TIME_STAMP
                           : G4_GATEWAY_UNKNOWN;
        break;
    }
    return g4_gateway_serve(eu, gang, send, &request, &loader);
}
