/*
 * The data port: the messages of its read function (SFID 4) and of its write function (SFID 5).
 */
#ifndef G4_DATAPORT_H
#define G4_DATAPORT_H

#include "eu/eu.h"

enum {
    G4_BTI_STATELESS = 255,
    G4_DATAPORT_TYPES = 8,
    G4_BLOCK_SIZES = 16,
};

struct g4_block_access;

/* The size of a block message. */
struct g4_block_size {
    uint8_t count;            /* OWords, OWords of each of two blocks, or registers of elements; 0: reserved */
    uint8_t first_half;       /* 1: a single OWord is in the high half of its register */
    uint8_t offset_registers; /* in the payload, after the header */
    uint8_t data_registers;   /* after the offsets of a write, or in the response of a read */
};

/* One message type.  Either `sizes` and `transfer` are set, or `handler`, or `is_unmodelled`; else the type is
 * reserved. */
struct g4_dataport_message {
    const struct g4_block_size *sizes; /* by message specific control, G4_BLOCK_SIZES of them */
    void (*transfer)(const struct g4_block_access *access, const struct g4_block_size *size); /* for one thread */
    uint32_t alignment;     /* of the surface's base address, in bytes */
    g4_message_fn *handler; /* does everything, including the check of the lengths */
    /* Bytes that a thread accesses, for counters; NULL: not counted here. */
    uint32_t (*bytes)(const struct g4_eu *eu, const uint32_t *header, const struct g4_block_size *size,
                      const unsigned enable[2], bool write);
    uint8_t reserved_control; /* bits of the message specific control that must be 0 */
    bool is_media_block;
    bool is_unmodelled; /* the message exists, but no public document has its layout */
    bool may_end_thread;
};

/* The messages of a data port function of a model, by message type. */
struct g4_dataport_messages {
    struct g4_dataport_message type[G4_DATAPORT_TYPES];
};

extern const struct g4_dataport_messages g4_gen4_dataport_reads, g4_gen4_dataport_writes;
extern const struct g4_dataport_messages g4_gen45_dataport_reads, g4_gen45_dataport_writes;

/* Models point to this: the memory that messages access, those of other functions included. */
g4_message_use_fn g4_message_use_gen4;

/* Media blocks (media_block.c). */
g4_message_fn g4_media_block_read, g4_media_block_write;
g4_message_fn g4_media_block_read_gen7, g4_media_block_write_gen7;
/* Bytes of the block that a header describes; 0 if it is too large for a message. */
uint32_t g4_media_block_bytes(const uint32_t *header, uint32_t gen);

#endif
