/*
 * Digests of pictures (image/blake3.c).
 */
#ifndef G4_API_BLAKE3_H
#define G4_API_BLAKE3_H

#include <stddef.h>
#include <stdint.h>

enum {
    G4_BLAKE3_CHUNK_BYTES = 1024,
    G4_BLAKE3_VALUE_BYTES = 32, /* of a chaining value, and of a digest */
    G4_BLAKE3_CHUNKS = 16,      /* in the buffer: a power of two */
};

/* BLAKE3 of bytes that come in pieces. */
struct g4_blake3 {
    uint64_t chunks;       /* in complete subtrees on the stack */
    uint32_t depth;        /* of the stack */
    size_t filled;         /* bytes of the buffer */
    uint8_t stack[64][32]; /* deep enough for any size */
    uint8_t buffer[16384]; /* G4_BLAKE3_CHUNKS chunks */
};

void g4_blake3_start(struct g4_blake3 *hash);
void g4_blake3_add(struct g4_blake3 *hash, const void *data, size_t size);
/* 32 bytes; `hash` is to be started again. */
void g4_blake3_end(struct g4_blake3 *hash, uint8_t *digest);

#endif
