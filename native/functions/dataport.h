/*
 * What the read and the write port share: buffers, their bounds, the block messages' shapes (spec/60 4.1 to 4.6).
 */
#ifndef G4_SHARED_DATAPORT_H
#define G4_SHARED_DATAPORT_H

#include "eu/worker.h"
#include "eu/message.h"

enum {
    G4_BTI_STATELESS = 255
};

/* A buffer as one thread sees it. */
struct g4_buffer {
    bool present; /* false: reads are 0, writes are dropped */
    uint32_t base;
    uint64_t bytes; /* accesses at or beyond are out of bounds */
};

/* A block message of one thread after the other: the surface is the same for all of them, stateless memory is not. */
struct g4_block {
    struct g4_eu *eu;
    struct g4_gang *gang;
    const struct g4_send *send;
    int thread;
    bool stateless;
    struct g4_buffer buffer;
    uint32_t global_offset; /* M0.2 */
    unsigned enable[2];     /* channels 0 to 7 and 8 to 15 */
};

/* Ready for the first thread; `unit` is what a base address must be a multiple of. */
void g4_block_begin(struct g4_block *block, struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                    uint32_t unit);
/* The header of another thread. */
void g4_block_thread(struct g4_block *block, int thread);

/* OWords of a block message by its control field, 0 when the field is reserved. */
uint32_t g4_oword_block_size(uint32_t control);
/* The same for dual blocks and, in elements of 8, for scattered messages. */
uint32_t g4_oword_dual_size(uint32_t control);
uint32_t g4_scattered_registers(uint32_t control);

/* `count` dwords at an offset that has its low bits dropped; out of bounds reads are 0, writes go nowhere. */
void g4_block_read(const struct g4_block *block, uint32_t offset, uint32_t *dw, uint32_t count);
/* enable: one bit a dword */
void g4_block_write(const struct g4_block *block, uint32_t offset, const uint32_t *dw, uint32_t count, unsigned enable);

g4_message_fn g4_media_block_read, g4_media_block_write;
/* Bytes of the block that a header describes, 0 of one that is too large. */
uint32_t g4_media_block_bytes(const uint32_t *header, uint32_t gen);

#endif
