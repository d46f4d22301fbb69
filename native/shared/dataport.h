/*
 * What the read and the write port share: buffers, their bounds, the block messages' shapes (spec/60 4.1 to 4.6).
 */
#ifndef G4_SHARED_DATAPORT_H
#define G4_SHARED_DATAPORT_H

#include "../eu/eu.h"
#include "../worker.h"

enum {
    G4_BTI_STATELESS = 255
};

/* A buffer as one thread sees it. */
struct g4_buffer {
    bool present; /* false: reads are 0, writes are dropped */
    uint32_t base;
    uint64_t bytes; /* accesses at or beyond are out of bounds */
};

/* The buffer a message names: a BUFFER surface, or stateless memory from M0.5. */
struct g4_buffer g4_dataport_buffer(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send,
                                    int thread);

/* OWords of a block message by its control field, 0 when the field is reserved. */
uint32_t g4_oword_block_size(uint32_t control);

/* Sixteen bytes (or four) at an offset that has its low bits dropped; out of bounds reads are 0, writes go nowhere. */
void g4_buffer_read(struct g4_port *port, const struct g4_buffer *buffer, uint32_t offset, uint32_t *dw,
                    uint32_t count);
/* enable: one bit a dword */
void g4_buffer_write(struct g4_port *port, const struct g4_buffer *buffer, uint32_t offset, const uint32_t *dw,
                     uint32_t count, unsigned enable);

/* A media block, taken from its header and surface (spec/60 4.7). */
struct g4_media_block {
    const struct g4_surface *surface;
    int32_t x, y;           /* bytes, rows */
    uint32_t width, height; /* of the block: bytes, rows */
    uint32_t pitch;         /* bytes from row to row in the registers */
    int32_t surface_width;  /* bytes */
    int32_t surface_rows;   /* in the fields that the message sees */
    uint32_t line_stride;   /* VLS, with the override applied */
    uint32_t line_offset;   /* VLSO */
};

/* False, and reported, when the message or the surface is no good. */
bool g4_media_block(struct g4_eu *eu, const struct g4_gang *gang, const struct g4_send *send, int thread,
                    struct g4_media_block *block);
/* The graphics address of byte x of memory line `line` of a media surface. */
uint32_t g4_media_address(const struct g4_surface *surface, uint32_t x, uint32_t line);

g4_message_fn g4_media_block_read, g4_media_block_write;

#endif
